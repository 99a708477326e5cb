"""Files that nobody on the project wrote, loaded, reported, compared; skipped where absent.

The means that a report must reproduce stand beside the files (``score_report_*.csv``) or were taken
with pandas in the test.
"""

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare

METRICS = ["context_relevance", "faithfulness", "sas"]


@pytest.fixture
def aragog(real_data):
    folder = real_data("haystack_aragog")
    return {
        path.stem.split("__", 1)[1]: RAGPipelineEvaluation.load(path.stem.split("__", 1)[1], path)
        for path in sorted(folder.glob("detailed_*.csv"))
    }


def test_the_nine_aragog_pipelines_have_the_means_that_haystack_reported(aragog, real_data):
    assert len(aragog) == 9
    for name, evaluation in aragog.items():
        report = next(real_data("haystack_aragog").glob(f"score_report_*{name}.csv"))
        told = pd.read_csv(report).set_index("metrics")["score"].dropna()
        ours = evaluation.get_aggregated_scores()
        for metric, score in told.items():
            assert ours[metric] == pytest.approx(score, abs=1e-9)


def test_the_one_empty_cell_of_aragog_is_counted_not_averaged(aragog):
    rows = {name: run.evaluation_report().frame.set_index("metric") for name, run in aragog.items()}
    unscored = {name: int(frame["n_unscored"].sum()) for name, frame in rows.items()}
    assert {name for name, n in unscored.items() if n} == {"top_k=3__chunk_size=128"}
    assert rows["top_k=3__chunk_size=128"].loc["faithfulness", "n"] == 106


def test_the_nine_aragog_pipelines_are_compared_with_one_family(aragog):
    baseline, *candidates = aragog.values()
    comparison = compare(baseline, *candidates)
    assert len(comparison.frame) == 24
    assert comparison.settings["family_size"] == 24
    assert (comparison.frame["n"] >= 106).all()
    shown = comparison.frame.query("pvalue_adjusted <= 0.05")
    assert set(shown["candidate"]) == {
        *("top_k=1__chunk_size=64", "top_k=2__chunk_size=256"),
        *("top_k=3__chunk_size=128", "top_k=3__chunk_size=256"),
    }
    assert max(map(len, str(comparison).splitlines())) <= 100
