"""A direction that was only guessed gives a difference and a question, not a verdict."""

from dataclasses import replace

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, compare, history, monitor, rank
from rageval_report.errors import DataError

N = 60


def run(name, shift=0.0, *, is_known=False):
    """Scores of a metric that no catalogue has, beside recall."""
    rng = np.random.default_rng(int(100 * shift))
    rows = {
        "query_id": [f"q{i}" for i in range(N)],
        "rmse": 3.0 + shift + rng.normal(0, 1, N),
        "recall@5": rng.integers(0, 6, N) / 5,
        "topic": ["a", "b"] * (N // 2),
    }
    evaluation = RAGPipelineEvaluation(name, rows)
    guessed = replace(
        evaluation.metrics["rmse"], greater_is_better=not is_known, direction_is_known=is_known
    )
    table = replace(evaluation._table, metrics={**evaluation.metrics, "rmse": guessed})
    return RAGPipelineEvaluation.from_table(name, table)


@pytest.fixture
def guessed():
    return run("old"), run("new", 1.5)


def test_a_comparison_has_the_numbers_and_asks(guessed):
    comparison, known = compare(*guessed), compare(run("old", is_known=True), guessed[1])
    row = comparison.frame.set_index("metric").loc["rmse"]
    assert row["verdict"] == "direction unknown"
    numbers = ["difference", "ci_low", "ci_high", "pvalue", "pvalue_adjusted"]
    assert row[numbers].tolist() == known.frame.set_index("metric").loc["rmse", numbers].tolist()
    assert "new is higher on rmse by " in comparison.sentences[0]
    assert "is higher better? --higher rmse / --lower rmse" in comparison.sentences[0]
    assert "is higher better?" in str(comparison)


def test_what_one_run_knows_holds_for_the_other():
    comparison = compare(run("old", is_known=True), run("new", 1.5))
    assert comparison.frame["verdict"].iloc[0] == "worse"  # an error rate is better low


def test_no_difference_is_undecided_whatever_the_direction():
    assert compare(run("old"), run("new", 0.01)).frame["verdict"].iloc[0] == "undecided"


def test_slices_rankings_and_histories_ask_too(guessed):
    slices = compare(*guessed).slices("topic", "rmse")
    assert set(slices.frame["verdict"]) == {"direction unknown"}
    ranking = rank(*guessed, run("third", 0.1))
    assert set(ranking.of("rmse")["standing"]) == {"direction unknown"}
    assert ranking.best("rmse") == ()
    assert not ranking.of("rmse")["beats"].any()
    last = history(guessed).frame.dropna(subset="verdict").set_index("metric")
    assert last.loc["rmse", "verdict"] == "direction unknown"


def test_a_gate_on_a_value_needs_no_direction_and_a_claim_does(guessed):
    gates = compare(*guessed).gate("mean(rmse) >= 1", "no_regression(rmse, margin=0.5)")
    assert gates.frame["state"].tolist() == ["passed", "not evaluated"]
    assert "is higher better?" in gates.frame["why"].iloc[1]


def test_a_metric_without_a_direction_is_not_watched_and_refused_by_name(guessed):
    assert monitor(guessed).frame["metric"].tolist() == ["recall@5"]
    with pytest.raises(DataError, match="is higher better"):
        monitor(guessed, metrics=["rmse"])
