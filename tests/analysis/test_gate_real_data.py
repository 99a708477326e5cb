"""Gates on results that nobody on the project made: nine pipelines of Haystack on ARAGOG."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from rageval_report import RAGPipelineEvaluation, compare

METRICS = ("context_relevance", "faithfulness", "sas")
MARGIN = 0.16


@pytest.fixture(scope="module")
def runs(real_data):
    folder = real_data("haystack_aragog")
    paths = (folder / f"detailed_all-mpnet-base-v2__top_k={k}__chunk_size=128.csv" for k in (1, 3))
    return [
        (RAGPipelineEvaluation.load(f"top {k}", path), path)
        for k, path in zip((1, 3), paths, strict=True)
    ]


def test_means_and_shares_are_those_of_the_columns(runs):
    evaluation, path = runs[0]
    frame = pd.read_csv(path)
    for metric in METRICS:
        values = frame[metric].dropna().to_numpy()
        found = evaluation.gate(
            f"mean({metric}) >= 0", f"share_below({metric}, 0.5) <= 1", f"p90({metric}) <= 1"
        ).frame["value"]
        witness = [values.mean(), (values < 0.5).mean(), np.percentile(values, 90)]
        assert found.tolist() == pytest.approx(witness)


def test_no_regression_is_scipys_permutation_test_of_the_differences_from_the_margin(runs):
    (after, _), (before, _) = runs  # with one passage sas is 0.1 lower than with three
    pairs = pd.concat([before.scores["sas"], after.scores["sas"]], axis=1).dropna().to_numpy()
    witness = scipy_stats.permutation_test(  # scipy 1.17.1; single samples: signs are flipped
        (pairs[:, 1] - pairs[:, 0] + MARGIN,),
        np.mean,
        permutation_type="samples",
        alternative="greater",
        n_resamples=49_999,
        rng=np.random.default_rng(0),
    )
    found = compare(before, after).gate(f"no_regression(sas, margin={MARGIN})").frame
    assert witness.pvalue > 0.01  # so that more than 500 of 50,000 patterns count
    assert found["pvalue"][0] == pytest.approx(witness.pvalue, rel=0.1)
    assert found["passed"][0] == (witness.pvalue <= 0.05)
