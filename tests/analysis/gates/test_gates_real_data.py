"""Gates on results that nobody on the project made: nine pipelines of Haystack on ARAGOG."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from rageval_report import RAGPipelineEvaluation, compare

METRICS = ("context_relevance", "faithfulness", "sas")


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


def test_no_regression_is_scipys_one_sided_test(runs):
    (before, _), (after, _) = runs
    pairs = pd.concat([before.scores["sas"], after.scores["sas"]], axis=1).dropna().to_numpy()
    witness = scipy_stats.ttest_1samp(pairs[:, 1] - pairs[:, 0], -0.03, alternative="greater")
    found = compare(before, after).gate("no_regression(sas, margin=0.03)").frame
    assert found["pvalue"][0] == pytest.approx(witness.pvalue, rel=1e-9)
    assert found["passed"][0] == (witness.pvalue <= 0.05)
