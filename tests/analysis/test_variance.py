"""Witnesses: `crossed_components` (tested on its own), arithmetic by hand, simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.noise import variance
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.judges import ScriptedChat
from rageval_report.metrics.scoring import score
from rageval_report.stats.components import crossed_components

JUDGES = ("gpt", "claude", "mistral")


def run(name="hybrid", ids=None, **columns):
    n = len(next(iter(columns.values())))
    return RAGPipelineEvaluation(name, {"query_id": ids or [f"q{i}" for i in range(n)], **columns})


def table(n=40, runs=4, judges=3, seed=0, sd_run=0.05, sd_judge=0.08):
    rng = np.random.default_rng(seed)
    return (
        0.6
        + rng.normal(0, 0.1, (n, 1, 1))
        + rng.normal(0, sd_run, (1, runs, 1))
        + rng.normal(0, sd_judge, (1, 1, judges))
        + rng.normal(0, 0.05, (n, runs, judges))
    )


def components_of(scores):
    cells = np.indices(scores.shape).reshape(3, -1)
    return crossed_components(scores.ravel(), *cells)


def evaluations(scores):
    """One evaluation per run and judge, with their labels."""
    n, runs, judges = scores.shape
    made = [run(rating=scores[:, r, j]) for r in range(runs) for j in range(judges)]
    labels = {
        "runs": [r for r in range(runs) for _ in range(judges)],
        "judges": [f"judge {j}" for _ in range(runs) for j in range(judges)],
    }
    assert len(made[0].scores) == n
    return made, labels


def test_the_row_is_that_of_the_components():
    scores = table()
    made, labels = evaluations(scores)
    row = variance(*made, **labels).frame.iloc[0]
    found = components_of(scores)
    assert row["standard_error"] == pytest.approx(found.standard_error())
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(
        (found.interval().low, found.interval().high)
    )
    assert row["mean"] == pytest.approx(scores.mean())
    assert (row["n"], row["n_runs"], row["n_judges"], row["n_missing"]) == (40, 4, 3, 0)


def test_the_naive_standard_error_is_that_of_the_queries_by_hand():
    scores = table()
    made, labels = evaluations(scores)
    row = variance(*made, **labels).frame.iloc[0]
    naive = scores.mean(axis=(1, 2)).std(ddof=1) / math.sqrt(40)
    assert row["naive_standard_error"] == pytest.approx(naive)
    assert row["ratio"] == pytest.approx(row["standard_error"] / naive)


def test_judges_of_the_details_count_by_name():
    rows = [{"query_id": n, "question": "Why?", "answer": n} for n in "abcd"]
    runs = []
    for votes in (("5432", "4321"), ("5431", "4221")):
        chats = [
            ScriptedChat([f"SCORE: {digit}" for digit in digits], model=name)
            for digits, name in zip(votes, JUDGES, strict=False)
        ]
        runs.append(score(rows, "answer_relevancy", chat=chats))
    row = variance(*runs).frame.iloc[0]
    assert (row["n"], row["n_runs"], row["n_judges"]) == (4, 2, 2)
    # Steps 1 to 5 are 0 to 1: 16 scores with the sum 46 of the digits.
    assert row["mean"] == pytest.approx((46 / 16 - 1) / 4)


def test_the_interval_covers_where_that_of_the_queries_does_not():
    covered = {"all": 0, "queries": 0}
    for seed in range(200):
        # The row's numbers are those of the components, as the first test here shows.
        found = components_of(table(30, 2, 6, seed=seed, sd_run=0.0, sd_judge=0.05))
        interval = found.interval()
        covered["all"] += interval.low <= 0.6 <= interval.high
        covered["queries"] += abs(found.mean - 0.6) <= 2.05 * found.naive_standard_error
    assert covered["all"] >= 182  # 95 % of 200 less 2.7 standard errors
    assert covered["queries"] <= 165


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"runs": [1]}, DataError, "runs must have one label per evaluation, 2 in all; got 1"),
        ({"judges": "abc"}, DataError, "judges must have one label per evaluation, 2 in all"),
        ({"confidence_level": 2}, DataError, "confidence_level"),
        ({"metrics": "recall"}, UnknownNameError, "recall"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        variance(run(rating=[1.0, 2]), run(rating=[1.5, 2]), **options)
