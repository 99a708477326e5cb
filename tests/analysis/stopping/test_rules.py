import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.rules import RuleError
from rageval_report.analysis.stopping import (
    STOP_RULES,
    MeanClaim,
    StopPlan,
    Width,
    decide,
    parse_stop_rules,
)
from rageval_report.errors import DataError, UnknownNameError

IDS = [f"q{n}" for n in range(40)]


def evaluation(name, **scores):
    return RAGPipelineEvaluation(name, {"query_id": IDS, **scores})


def goal_of(text, candidate, baseline=None, n_planned=40):
    [rule] = parse_stop_rules(text, has_baseline=baseline is not None)
    return rule.kind.goal(rule.request(candidate, baseline, n_planned))


@pytest.fixture
def runs():
    rng = np.random.default_rng(0)
    before, after = rng.random((2, 40))
    times = {"before": rng.uniform(100, 900, 40), "after": rng.uniform(100, 900, 40)}
    return (
        evaluation("old", recall=before, latency_ms=times["before"]),
        evaluation("new", recall=after, latency_ms=times["after"]),
    )


def test_better_is_a_claim_on_the_side_of_the_metric_that_is_better(runs):
    old, new = runs
    higher = goal_of("better(recall)", new, old)
    lower = goal_of("better(latency_ms)", new, old)
    assert (higher.alternative, higher.limit, higher.share) == ("greater", 0.0, 0.5)
    assert (lower.alternative, lower.bounds) == ("less", None)
    np.testing.assert_allclose(higher.values, new.scores["recall"] - old.scores["recall"])
    assert goal_of("worse(recall)", new, old).alternative == "less"
    assert goal_of("different(recall)", new, old).alternative == "two-sided"


def test_pairs_meet_by_id_and_a_missing_side_is_no_value(runs):
    old, new = runs
    shuffled = RAGPipelineEvaluation(
        "old", {"query_id": IDS[:0:-1], "recall": old.scores["recall"].to_numpy()[:0:-1]}
    )
    claim = goal_of("better(recall)", new, shuffled)
    assert np.isnan(claim.values[0])
    np.testing.assert_allclose(claim.values[1:], goal_of("better(recall)", new, old).values[1:])
    assert claim.n == 39


def test_no_regression_is_one_sided_at_the_margin(runs):
    old, new = runs
    claim = goal_of("no_regression(recall, margin=5%)", new, old)
    assert (claim.alternative, claim.limit, claim.share) == ("greater", -0.05, 1.0)
    slower = goal_of("no_regression(latency_ms, margin=50)", new, old)
    assert (slower.alternative, slower.limit) == ("less", 50.0)


def test_limits_of_the_mean_need_no_baseline(runs):
    _, new = runs
    low = goal_of("ci_low(recall) >= 0.4", new)
    high = goal_of("ci_high(recall) <= 40%", new)
    assert (low.alternative, low.limit, low.bounds) == ("greater", 0.4, (0.0, 1.0))
    assert (high.alternative, high.limit) == ("less", 0.4)
    assert goal_of("ci_width(recall) <= 0.1", new).widest == 0.1


def test_an_effect_chooses_the_stakes(runs):
    old, new = runs
    claim = goal_of("better(recall, effect=0.1)", new, old)
    assert claim.bets().describe() == "hedged over 239, 106 and 47 queries"
    assert goal_of("better(recall)", new, old, 90).bets().describe() == (
        "hedged over 90, 40 and 18 queries"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("better(recall) >= 0.1", "better is complete without an operator"),
        ("ci_low(recall) <= 0.1", "ci_low needs >= and a threshold"),
        ("ci_low(recall)", "ci_low needs >= and a threshold"),
        ("no_regression(recall)", "no_regression needs a margin"),
        ("no_regression(recall, margin=-1)", "margin must be a number above 0"),
        ("better(recall, effect=0)", "effect must be a number above 0"),
        ("better()", "better needs a metric"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_with_its_place(text, message):
    with pytest.raises(RuleError, match=message):
        parse_stop_rules(text, has_baseline=True)


def test_an_unknown_rule_names_the_nearest_and_a_rule_may_need_a_baseline():
    with pytest.raises(UnknownNameError, match="better"):
        parse_stop_rules("beter(recall)", has_baseline=True)
    with pytest.raises(RuleError, match="better needs a baseline"):
        parse_stop_rules("better(recall)", has_baseline=False)
    with pytest.raises(DataError, match="stop_when must be a rule"):
        parse_stop_rules([], has_baseline=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ci_low(recall) >= 80", "so a threshold of 80 decides nothing"),
        ("no_regression(recall, margin=2)", "no difference of recall is larger than 1"),
        ("ci_width(latency_ms) <= 5", "ci_width needs a metric with bounds"),
        ("ci_width(recall) <= 0", "a width must be a number above 0"),
    ],
)
def test_what_the_metric_contradicts_is_refused(runs, text, message):
    old, new = runs
    with pytest.raises(RuleError, match=message):
        goal_of(text, new, old)


def test_a_baseline_without_the_metric_is_refused(runs):
    _, new = runs
    with pytest.raises(RuleError, match="the baseline has no scores of recall"):
        goal_of("better(recall)", new, evaluation("old", mrr=[0.5] * 40))


def test_every_rule_has_a_description_and_a_goal(runs):
    old, new = runs
    texts = {
        "better": "better(recall)",
        "worse": "worse(recall)",
        "different": "different(recall)",
        "no_regression": "no_regression(recall, margin=0.02)",
        "ci_low": "ci_low(recall) >= 0.5",
        "ci_high": "ci_high(recall) <= 0.5",
        "ci_width": "ci_width(recall) <= 0.5",
    }
    assert set(texts) == set(STOP_RULES)
    for name, text in texts.items():
        assert STOP_RULES[name].description
        assert isinstance(goal_of(text, new, old), MeanClaim | Width)


def test_a_metric_without_a_score_shows_nothing(runs):
    old, _ = runs
    empty = evaluation("new", recall=[np.nan] * 40)
    plan = StopPlan(parse_stop_rules("better(recall)", has_baseline=True), 40)
    row = decide(plan, empty, old).result.frame.iloc[0]
    assert (row["n"], row["evidence"], row["holds"]) == (0, 0.0, False)
