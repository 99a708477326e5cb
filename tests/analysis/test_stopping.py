"""Stopping rules, against the e-values, tests and intervals of `stats` that they are made of."""

import math

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.rules import RuleError
from rageval_report.analysis.stopping import (
    StopPlan,
    StopRequest,
    decide,
    parse_stop_rules,
)
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats import mean_interval
from rageval_report.stats.sequential import SizeBets, mean_evalues, mean_sequence

N = 200


def evaluation(name, **scores):
    ids = [f"q{row}" for row in range(len(next(iter(scores.values()))))]
    return RAGPipelineEvaluation(name, {"query_id": ids, **scores}, metrics=list(scores))


def decided(rules, new, old=None, *, n_planned=N):
    plan = StopPlan(parse_stop_rules(rules, has_baseline=old is not None), n_planned)
    return decide(plan, new, old)


def first_row(*args, **options):
    return decided(*args, **options).frame.iloc[0]


def goal_of(text, new, old=None, n_planned=40):
    """What a rule claims of the scores so far."""
    [rule] = parse_stop_rules(text, has_baseline=old is not None)
    return rule.kind.goal(StopRequest(rule, new, old, n_planned))


@pytest.fixture(scope="module")
def pair():
    rng = np.random.default_rng(4)
    before, after = rng.uniform(0.0, 0.7, (2, N))
    return (
        evaluation("old", recall=before, mrr=before),
        evaluation("new", recall=after + 0.15, mrr=after),
    )


# -- at any time


def test_a_rule_holds_from_the_query_at_which_the_evidence_is_enough(pair):
    old, new = pair
    row = first_row("better(recall)", new, old)
    evalues = mean_evalues(
        new.scores["recall"] - old.scores["recall"],
        0.0,
        bounds=(-1, 1),
        alternative="greater",
        bets=SizeBets.up_to(N),
    )
    assert row["decided_at"] == int((evalues >= 40).argmax()) + 1  # one side of alpha: 2 / 0.05
    assert row["evidence"] == pytest.approx(evalues.max() / 2)


def test_the_interval_passes_the_limit_exactly_if_the_rule_holds():
    rng, outcomes = np.random.default_rng(5), set()
    for shift in np.linspace(0.0, 0.25, 8):
        before, after = rng.uniform(0.0, 0.7, (2, N))
        old, new = evaluation("old", recall=before), evaluation("new", recall=after + shift)
        row = first_row("better(recall)", new, old)
        interval = mean_sequence(after + shift - before, bounds=(-1, 1), bets=SizeBets.up_to(N))
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((interval.low, interval.high))
        assert row["holds"] == (row["ci_low"] > 0)
        row = first_row("no_regression(recall, margin=0.02)", new, old)
        assert row["confidence_level"] == pytest.approx(0.9)
        assert row["holds"] == (row["ci_low"] > -0.02)
        outcomes.add(bool(row["holds"]))
    assert outcomes == {True, False}


def test_more_queries_never_take_a_decision_back(pair):
    old, new = pair
    found = []
    for n in range(20, N + 1, 20):
        part = RAGPipelineEvaluation("new", new.scores.iloc[:n].reset_index())
        rows = decided(["better(recall)", "better(mrr)"], part, old).frame
        found.append(rows["decided_at"].iloc[0])
    first = next(place for place, value in enumerate(found) if not math.isnan(value))
    assert set(found[first:]) == {found[first]}


# -- the rules


@pytest.fixture
def runs():
    rng = np.random.default_rng(0)
    before, after = rng.random((2, 40))
    late, later = rng.uniform(100, 900, (2, 40))
    return (
        evaluation("old", recall=before, latency_ms=late),
        evaluation("new", recall=after, latency_ms=later),
    )


@pytest.mark.parametrize(
    ("text", "alternative", "limit", "share"),
    [
        ("better(recall)", "greater", 0.0, 0.5),
        ("better(latency_ms)", "less", 0.0, 0.5),
        ("worse(recall)", "less", 0.0, 0.5),
        ("different(recall)", "two-sided", 0.0, 1.0),
        ("no_regression(recall, margin=5%)", "greater", -0.05, 1.0),
        ("no_regression(latency_ms, margin=50)", "less", 50.0, 1.0),
        ("ci_low(recall) >= 0.4", "greater", 0.4, 0.5),
        ("ci_high(recall) <= 40%", "less", 0.4, 0.5),
    ],
)
def test_a_rule_claims_a_side_of_a_limit(runs, text, alternative, limit, share):
    old, new = runs
    claim = goal_of(text, new, old)
    assert (claim.alternative, claim.limit, claim.share) == (alternative, limit, share)
    assert (claim.bounds is None) == ("latency" in text)
    if not text.startswith("ci_"):
        metric = "latency_ms" if "latency" in text else "recall"
        np.testing.assert_allclose(claim.values, new.scores[metric] - old.scores[metric])


def test_pairs_meet_by_id_and_a_missing_side_is_no_value(runs):
    old, new = runs
    part = old.scores[["recall"]].iloc[:0:-1].reset_index()
    claim = goal_of("better(recall)", new, RAGPipelineEvaluation("old", part))
    assert np.isnan(claim.values[0])
    np.testing.assert_allclose(claim.values[1:], goal_of("better(recall)", new, old).values[1:])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("better(recall) >= 0.1", "better is complete without an operator"),
        ("ci_low(recall) <= 0.1", "ci_low needs >= and a threshold"),
        ("ci_low(recall)", "ci_low needs >= and a threshold"),
        ("no_regression(recall)", "no_regression needs a margin"),
        ("no_regression(recall, margin=-1)", "margin must be a number above 0"),
        ("better()", "better needs a metric"),
        ("ci_low(recall) >= 80", "so 80 cannot be right"),
        ("no_regression(recall, margin=2)", "no difference of recall is larger than 1"),
        ("ci_width(latency_ms) <= 5", "ci_width needs a metric with bounds"),
        ("ci_width(recall) <= 0", "a width must be a number above 0"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_with_its_place(runs, text, told):
    old, new = runs
    with pytest.raises(RuleError, match=told):
        decided(text, new, old)


def test_an_unknown_rule_names_the_nearest_and_a_rule_may_need_a_baseline(runs):
    with pytest.raises(UnknownNameError, match="better"):
        parse_stop_rules("beter(recall)", has_baseline=True)
    with pytest.raises(RuleError, match="better needs a baseline"):
        parse_stop_rules("better(recall)", has_baseline=False)
    with pytest.raises(DataError, match="stop_when must be a rule"):
        parse_stop_rules([], has_baseline=True)
    with pytest.raises(RuleError, match="the baseline has no scores of recall"):
        decided("better(recall)", runs[1], evaluation("old", mrr=[0.5] * 40))


# -- ci_width: the interval of the mean is looked at after every twentieth query

SCORES = np.random.default_rng(0).beta(8, 2, 200)


def row_after(n, scores=SCORES, **options):
    run = evaluation("new", faithfulness=scores[:n])
    return first_row("ci_width(faithfulness) <= 0.1", run, **options)


def width_of(n):
    interval = mean_interval(SCORES[:n], method="gaffke", bounds=(0, 1))
    return interval.high - interval.low


def test_it_holds_at_the_first_twentieth_query_at_which_gaffkes_interval_is_narrow_enough():
    first = next(n for n in range(20, 201, 20) if width_of(n) <= 0.1)
    assert not row_after(first - 20)["holds"]
    row = row_after(first)
    assert row["evidence"] == pytest.approx(width_of(first))
    assert row[["holds", "decided_at", "needed"]].tolist() == [True, first, 0.1]
    # Between two looks the earlier one counts; without a score it does not hold.
    assert row_after(79)["evidence"] == row_after(60)["evidence"] == pytest.approx(width_of(60))
    assert not row_after(15)["holds"]
    assert not row_after(40, scores=np.full(200, np.nan))["holds"]
