import math

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
    open_looks,
    parse_stop_rules,
    planned_looks,
    rejected_at_looks,
)
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats import mean_interval
from rageval_report.stats.sequential import SizeBets, look_levels, mean_evalues, mean_sequence
from rageval_report.stats.sign_flips import sign_flip_pvalue

N = 200


def evaluation(name, n=N, **scores):
    ids = [f"q{row}" for row in range(n)]
    return RAGPipelineEvaluation(name, {"query_id": ids, **scores}, metrics=list(scores))


def plan_of(*rules, n_planned=N, looks=None):
    return StopPlan(parse_stop_rules(rules, has_baseline=True), n_planned, looks=looks)


@pytest.fixture
def pair():
    rng = np.random.default_rng(4)
    before, after = rng.uniform(0.0, 0.7, (2, N))
    return (
        evaluation("old", recall=before, mrr=before),
        evaluation("new", recall=after + 0.15, mrr=after),
    )


def test_a_rule_holds_from_the_query_at_which_the_evidence_is_enough(pair):
    old, new = pair
    frame = decide(plan_of("better(recall)"), new, old).result.frame
    evalues = mean_evalues(
        new.scores["recall"] - old.scores["recall"],
        0.0,
        bounds=(-1, 1),
        alternative="greater",
        bets=SizeBets.up_to(N),
    )
    expected = int((evalues >= 40).argmax()) + 1  # half of alpha for one side: 2 / 0.05
    assert frame["decided_at"].tolist() == [expected]
    assert frame["evidence"].iloc[0] == pytest.approx(evalues.max() / 2)


def test_the_interval_passes_0_exactly_if_the_rule_holds():
    rng = np.random.default_rng(5)
    for shift in np.linspace(0.0, 0.25, 12):
        before, after = rng.uniform(0.0, 0.7, (2, N))
        old, new = evaluation("old", recall=before), evaluation("new", recall=after + shift)
        row = decide(plan_of("better(recall)"), new, old).result.frame.iloc[0]
        differences = after + shift - before
        interval = mean_sequence(differences, bounds=(-1, 1), bets=SizeBets.up_to(N))
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((interval.low, interval.high))
        assert row["holds"] == (row["ci_low"] > 0)


def test_the_interval_of_no_regression_passes_the_margin_exactly_if_the_rule_holds():
    rng = np.random.default_rng(6)
    outcomes = set()
    for shift in np.linspace(0.0, 0.25, 12):
        before, after = rng.uniform(0.0, 0.7, (2, N))
        old, new = evaluation("old", recall=before), evaluation("new", recall=after + shift)
        plan = plan_of("no_regression(recall, margin=0.02)")
        row = decide(plan, new, old).result.frame.iloc[0]
        assert row["confidence_level"] == pytest.approx(0.9)
        assert row["holds"] == (row["ci_low"] > -0.02)
        outcomes.add(bool(row["holds"]))
    assert outcomes == {True, False}


def test_several_claims_share_the_error_rate(pair):
    old, new = pair
    alone = decide(plan_of("better(recall)"), new, old).result.frame
    together = decide(plan_of("better(recall)", "better(mrr)"), new, old).result.frame
    assert together["evidence"].iloc[0] < alone["evidence"].iloc[0]
    assert together["decided_at"].iloc[0] >= alone["decided_at"].iloc[0]


def test_more_queries_never_take_a_decision_back(pair):
    old, new = pair
    plan = plan_of("better(recall)", "better(mrr)")
    decided = []
    for n in range(10, N + 1, 10):
        part = RAGPipelineEvaluation("new", new.scores.iloc[:n].reset_index())
        decided.append(decide(plan, part, old).result.frame["decided_at"].tolist())
    first = next(values for values in decided if not math.isnan(values[0]))
    after = decided[decided.index(first) :]
    assert all(values[0] == first[0] for values in after)


def test_a_decision_that_is_not_made_says_what_is_known(pair):
    old, new = pair
    decision = decide(plan_of("better(mrr)"), new, old)
    assert not decision.may_stop
    [verdict] = decision.result.sentences
    assert verdict.startswith("better(mrr) is not shown with 200 scored queries: ")
    assert decision.result.settings == {"alpha": 0.05, "looks": "at any time", "n_planned": N}


def test_scores_without_bounds_are_decided_by_the_asymptotic_sequence():
    rng = np.random.default_rng(7)
    before, after = rng.lognormal(7, 0.3, (2, N))
    old, new = evaluation("old", latency_ms=before), evaluation("new", latency_ms=after * 0.8)
    row = decide(plan_of("better(latency_ms)"), new, old).result.frame.iloc[0]
    assert row["decided_at"] == 100  # its first look
    assert row["ci_high"] < 0


# -- looks


def test_looks_at_any_time_are_dense_at_first_and_end_with_the_last_query():
    sizes = open_looks(1000)
    assert sizes[:3] == [10, 20, 30]
    assert sizes[-1] == 1000
    assert max(np.diff(sizes) / sizes[:-1]) <= 1.0
    assert open_looks(7) == [7]


@pytest.mark.parametrize(
    ("n", "looks", "expected"),
    [(500, 5, [100, 200, 300, 400, 500]), (300, 3, [100, 200, 300]), (80, 2, [40, 80])],
)
def test_planned_looks_are_spread_and_not_before_100_queries(n, looks, expected):
    assert planned_looks(n, looks) == expected
    assert planned_looks(250, 5)[0] == 100
    assert planned_looks(n, 1) == [n]


def test_looks_must_be_a_number_of_looks():
    with pytest.raises(DataError, match="looks must be an integer >= 1; got 0"):
        planned_looks(100, 0)


def test_a_claim_at_a_look_is_tested_at_its_nominal_level(pair):
    old, new = pair
    frame = decide(plan_of("better(recall)", looks=2), new, old).result.frame
    difference = (new.scores["recall"] - old.scores["recall"]).to_numpy()
    levels = look_levels([0.5, 1.0]) / 2
    pvalues = [sign_flip_pvalue(difference[:n], alternative="greater") for n in (100, 200)]
    look = next(k for k in range(2) if pvalues[k] <= levels[k])
    assert frame["decided_at"].tolist() == [(100, 200)[look]]


def test_between_looks_nothing_is_tested(pair):
    old, new = pair
    part = RAGPipelineEvaluation("new", new.scores.iloc[:99].reset_index())
    row = decide(plan_of("better(recall)", looks=2), part, old).result.frame.iloc[0]
    assert not row["holds"]
    assert math.isnan(row["evidence"])


def test_a_claim_that_is_shown_leaves_its_level_to_the_others():
    # Two one-sided claims of two-sided statements at a single look: Holm at 0.05 / 2 and 0.05 / 1.
    options = {"shares": np.array([1.0]), "alpha": 0.05, "weights": [1.0, 1.0]}
    pvalues = np.array([[0.012], [0.024]])
    _, decided = rejected_at_looks(pvalues, are_two_sided=[False, False], **options)
    assert decided == [0, 0]
    _, decided = rejected_at_looks(
        np.array([[0.013], [0.024]]), are_two_sided=[False] * 2, **options
    )
    assert decided == [None, None]


def test_two_claims_at_five_looks_are_rarely_both_wrong():
    rng = np.random.default_rng(9)
    shares = np.arange(1, 6) / 5
    wrong = 0
    for _ in range(400):
        # correlated normal statistics at five looks, both nulls true
        steps = rng.normal(size=(2, 5)) + 0.5 * rng.normal(size=5)
        statistics = np.cumsum(steps, axis=1) / np.sqrt(np.arange(1, 6) * 1.25)
        pvalues = 2 * np.vectorize(lambda z: 0.5 * math.erfc(abs(z) / math.sqrt(2)))(statistics)
        _, decided = rejected_at_looks(pvalues, shares, 0.05, [1.0, 1.0], [True, True])
        wrong += any(look is not None for look in decided)
    assert wrong <= 34  # 5 % of 400 is 20, and 34 is exceeded with a probability below 0.1 %


def test_queries_that_look_like_clusters_are_said():
    data = {
        "query_id": [f"q{i}" for i in range(40)],
        "document": [f"d{i // 5}" for i in range(40)],
        "f1": [0.9, 0.8] * 20,
    }
    plan = StopPlan(parse_stop_rules("ci_low(f1) >= 0.5", has_baseline=False), 100)
    clustered = decide(plan, RAGPipelineEvaluation("rag", data)).result
    assert "40 queries come from 8 documents; stopping rules assume" in clustered.notes[0]
    del data["document"]
    assert decide(plan, RAGPipelineEvaluation("rag", data)).result.notes == ()


# -- the rules

IDS = [f"q{n}" for n in range(40)]


def evaluation_of(name, **scores):
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
        evaluation_of("old", recall=before, latency_ms=times["before"]),
        evaluation_of("new", recall=after, latency_ms=times["after"]),
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
        ("ci_low(recall) >= 80", "so 80 cannot be right"),
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
        goal_of("better(recall)", new, evaluation_of("old", mrr=[0.5] * 40))


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
    empty = evaluation_of("new", recall=[np.nan] * 40)
    plan = StopPlan(parse_stop_rules("better(recall)", has_baseline=True), 40)
    row = decide(plan, empty, old).result.frame.iloc[0]
    assert (row["n"], row["evidence"], row["holds"]) == (0, 0.0, False)


# -- ci_width: the interval of the mean is looked at after every twentieth query

SCORES = np.random.default_rng(0).beta(8, 2, 200)


def row_after(n, text="ci_width(faithfulness) <= 0.1", scores=SCORES):
    rows = {"query_id": [f"q{i}" for i in range(n)], "faithfulness": scores[:n]}
    run = RAGPipelineEvaluation("new", rows, metrics=["faithfulness"])
    plan = StopPlan(parse_stop_rules(text, has_baseline=False), 200)
    return decide(plan, run).result.frame.iloc[0]


def width_of(n):
    interval = mean_interval(SCORES[:n], method="gaffke", bounds=(0, 1))
    return interval.high - interval.low


def test_it_holds_at_the_first_twentieth_query_at_which_gaffkes_interval_is_narrow_enough():
    first = next(n for n in range(20, 201, 20) if width_of(n) <= 0.1)
    assert not row_after(first - 20)["holds"]
    row = row_after(first)
    assert row["holds"]
    assert row["decided_at"] == first
    assert row["evidence"] == pytest.approx(width_of(first))
    assert row["needed"] == 0.1


def test_between_two_looks_the_earlier_one_counts():
    assert row_after(79)["evidence"] == row_after(60)["evidence"] == pytest.approx(width_of(60))


def test_it_is_not_part_of_the_family_of_claims():
    old = RAGPipelineEvaluation(
        "old", {"query_id": [f"q{i}" for i in range(200)], "faithfulness": SCORES / 2}
    )
    new = RAGPipelineEvaluation(
        "new", {"query_id": [f"q{i}" for i in range(200)], "faithfulness": SCORES}
    )
    texts = ["better(faithfulness)", "ci_width(faithfulness) <= 0.1"]
    alone = decide(StopPlan(parse_stop_rules(texts[0], has_baseline=True), 200), new, old)
    both = decide(StopPlan(parse_stop_rules(texts, has_baseline=True), 200), new, old)
    assert both.result.frame["evidence"].iloc[0] == alone.result.frame["evidence"].iloc[0]


def test_without_a_score_it_does_not_hold():
    assert not row_after(15)["holds"]
    assert not row_after(40, scores=np.full(200, np.nan))["holds"]
