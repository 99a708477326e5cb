import math
import re

import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.demo import demo_evaluations
from rageval_report.loggers import content_of
from rageval_report.stats import mean_interval

# mlflow.utils.validation of MLflow 3.17.2
MLFLOW_NAME = re.compile(r"^[/\w.\- :]*$")


@pytest.fixture(scope="module")
def pipelines():
    return demo_evaluations()


def test_an_evaluation_has_the_mean_the_interval_and_the_counts_of_each_metric():
    scores = [0.0, 0.25, 0.5, 1.0]
    data = {"query_id": list("abcde"), "recall@5": [*scores, None], "mrr": [None] * 5}
    content = content_of(RAGPipelineEvaluation("v1", data, metrics=["recall@5", "mrr"]))
    interval = mean_interval(scores, bounds=(0, 1))
    assert content.numbers == {
        "recall_at_5/mean": pytest.approx(1.75 / 4),
        "recall_at_5/ci_low": pytest.approx(interval.low),
        "recall_at_5/ci_high": pytest.approx(interval.high),
        "recall_at_5/n": 4,
        "recall_at_5/n_unscored": 1,
        "mrr/n": 0,
        "mrr/n_unscored": 5,
    }


def test_a_comparison_has_the_differences_and_a_verdict_per_metric():
    ids = [f"q{i}" for i in range(12)]
    before = {"query_id": ids, "recall@5": [i / 12 for i in range(12)], "mrr": [0.5] * 12}
    after = {**before, "recall@5": [i / 24 + 0.5 for i in range(12)]}
    comparison = compare(RAGPipelineEvaluation("a", before), RAGPipelineEvaluation("b", after))
    content = content_of(comparison)
    row = comparison.frame.set_index("metric").loc["recall@5"]
    for figure in ("difference", "ci_low", "ci_high", "pvalue_adjusted", "wins", "losses"):
        assert content.numbers[f"recall_at_5/{figure}"] == row[figure], figure
    assert content.texts["recall_at_5/verdict"] == row["verdict"]
    assert content.texts["report/verdicts"].splitlines() == [
        verdict.text for verdict in comparison.report().verdicts
    ]


def test_gates_are_counted_and_the_reasons_of_those_that_fail_are_kept(pipelines):
    gates = pipelines[0].gate("n(mrr) >= 1", "mean(mrr) >= 0.999", "mean(mrr) <= 0.001")
    content = content_of(pipelines[0], gates)
    assert (content.numbers["gates/n_passed"], content.numbers["gates/n_failed"]) == (1, 2)
    assert content.texts["gates/state"] == "failed"
    assert content.texts["gates/reasons"].splitlines() == gates.frame["why"].tolist()[1:]
    assert "2 of 3 failed" in content.files["gates.md"]


def test_every_name_is_allowed_and_every_number_is_finite(pipelines):
    data = {"query_id": ["a", "b"], "été@10": [0.5, 1], "a/b:c (d)": [1, 0], "..": [0, 1]}
    content = content_of(RAGPipelineEvaluation("v1", data)).with_prefix("my run/")
    names = [*content.numbers, *content.texts, *content.files]
    assert "my run/été_at_10/mean" in names
    assert all(MLFLOW_NAME.match(name) and ".." not in name.split("/") for name in names)
    assert all(name.startswith("my run/") for name in names)
    assert all(math.isfinite(value) for value in content.numbers.values())
