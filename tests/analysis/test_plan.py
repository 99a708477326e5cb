"""Witnesses: `PlannedTest` (tested on its own), arithmetic by hand, simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.plan import plan
from rageval_report.errors import DataError
from rageval_report.stats import paired_test
from rageval_report.stats.planning import PlannedTest, binary_queries_needed

RNG = np.random.default_rng(5)
SKILL = RNG.normal(0.6, 0.15, 60)


def run(name="base", **columns):
    n = len(next(iter(columns.values())))
    ids = [f"q{i}" for i in range(n)]
    return RAGPipelineEvaluation(name, {"query_id": ids, **columns})


def test_from_a_baseline_by_hand():
    scores = np.array([0.2, 0.4, 0.6, 0.8, 0.5, 0.5, 0.3, 0.7])
    row = plan(run(f1=scores), differences=0.1, correlation=0.5).frame.iloc[0]
    # With a correlation of a half the differences vary as the scores do.
    sd = scores.std(ddof=1)
    assert row["sd_difference"] == pytest.approx(sd)
    assert row["n_needed"] == PlannedTest(sd).needed(0.1)
    assert row["n"] == 8
    assert row["smallest_pvalue"] == 2 / 2**8


def test_a_pilot_run_measures_the_differences():
    baseline, candidate = run(f1=SKILL), run("new", f1=SKILL + RNG.normal(0.02, 0.05, 60))
    result = plan(baseline, candidate=candidate, differences=0.02)
    sd = compare(baseline, candidate).differences("f1").std(ddof=1)
    assert result.frame["sd_difference"][0] == pytest.approx(sd)
    assert result.frame["n_needed"][0] == PlannedTest(sd).needed(0.02)
    assert math.isnan(result.frame["n_needed_low"][0])
    assert result.settings["correlation"] == "measured"


def test_scores_of_0_and_1_are_planned_by_mcnemars_test_by_hand():
    baseline, candidate = [1, 1, 1, 0, 0, 0, 0, 0, 1, 1], [1, 1, 0, 1, 1, 0, 0, 0, 1, 1]
    result = plan(
        run(exact_match=baseline), candidate=run("new", exact_match=candidate), differences=0.1
    )
    # Three of ten change; for a difference of 0.1 that is 0.1 lost and 0.2 gained.
    assert result.frame["n_needed"][0] == binary_queries_needed(0.1, 0.2)


def test_a_published_mean_by_hand():
    row = plan(mean=0.8, differences=0.1, correlation=0.0).frame.iloc[0]
    # Independent: 0.8 * 0.1 lost, 0.2 * 0.9 gained.
    assert row["n_needed"] == binary_queries_needed(0.08, 0.18)


def test_the_level_is_shared_by_the_metrics_compared_together():
    both = run(f1=SKILL, recall=SKILL[::-1].copy())
    frame = plan(both, differences=0.05, correlation=0.5).frame
    alone = plan(both, metrics="f1", differences=0.05, correlation=0.5).frame
    assert frame["n_needed"][0] > alone["n_needed"][0]
    sd = alone["sd_difference"][0]
    assert frame["n_needed"][0] == PlannedTest(sd).needed(0.05, alpha=0.05 / 2)
    five = plan(both, metrics="f1", differences=0.05, correlation=0.5, n_tests=5).frame
    assert five["n_needed"][0] == PlannedTest(sd).needed(0.05, alpha=0.05 / 5)


def test_at_the_number_needed_comparisons_show_the_difference_as_often_as_planned():
    rng = np.random.default_rng(8)
    needed = int(plan(mean=0.6, sd=0.2, differences=0.05, correlation=0.5).frame["n_needed"][0])
    shown = 0
    for _ in range(300):
        shared = rng.normal(0, 0.2 * math.sqrt(0.5), (needed, 1))
        scores = 0.6 + shared + rng.normal(0, 0.2 * math.sqrt(0.5), (needed, 2)) + [0, 0.05]
        # The test that compare takes, without its interval and its sentences.
        shown += paired_test(scores[:, 0], scores[:, 1]).pvalue <= 0.05
    assert 0.73 <= shown / 300 <= 0.87


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"differences": 0}, DataError, "differences must be numbers above 0"),
        ({"differences": [0.1, -1]}, DataError, "differences must be numbers above 0"),
        ({"mean": 1.0}, DataError, "mean must lie between 0 and 1"),
        ({"sd": 0}, DataError, "sd"),
        ({"n": 0}, DataError, "n must be an integer >= 1"),
        ({"correlation": 1}, DataError, "correlation must lie between -1 and 1"),
        ({"n_tests": 0}, DataError, "n_tests must be an integer >= 1"),
        ({"power": 2}, DataError, "power"),
        ({"metrics": ["a", "b"]}, DataError, "metrics must name one metric"),
        ({"candidate": run(f1=[0.5, 0.6])}, DataError, "candidate needs a baseline"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        plan(**options)
