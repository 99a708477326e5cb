"""The figures of an evaluation; expected values by hand, SciPy and the library's own intervals."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.gate_figures import FIGURES
from rageval_report.analysis.rules import RuleError
from rageval_report.errors import DataError, GateError, UnknownNameError
from rageval_report.stats import mean_interval, quantile_interval
from rageval_report.stats.units import clustered_interval

NAN = float("nan")
FAITHFULNESS = [0.9, 0.2, 0.6, NAN, 1.0, 0.4, 0.7, 0.8, NAN, 0.4]
PRESENT = np.array([0.9, 0.2, 0.6, 1.0, 0.4, 0.7, 0.8, 0.4])
LATENCY = [100.0, 200, 300, 400, 500, 600, 700, 800, 900, 1000]
RIGHT = [1, 0, 1, 1, 1, 0, 1, 1, 1, 0]


def evaluation(**columns) -> RAGPipelineEvaluation:
    given_ = columns or {
        "faithfulness": FAITHFULNESS,
        "latency_ms": LATENCY,
        "exact_match": RIGHT,
        "Own Score": [i / 10 for i in range(10)],
    }
    n = len(next(iter(given_.values())))
    return RAGPipelineEvaluation("v1", {"query_id": [f"q{i}" for i in range(n)], **given_})


OF = evaluation()


def row(*rules, of=None, **options) -> pd.Series:
    return (of or evaluation()).gate(*rules, **options).frame.iloc[0]


def refused(rule, of=None) -> RuleError:
    with pytest.raises(RuleError) as error:
        (of or evaluation()).gate(rule)
    return error.value


# -- figures


@pytest.mark.parametrize(
    ("figure", "value"),
    [
        ("mean(faithfulness)", 5.0 / 8),
        ("median(faithfulness)", 0.65),
        ("p50(faithfulness)", 0.65),
        ("p25(faithfulness)", 0.4),
        ("p0(faithfulness)", 0.2),
        ("p100(latency_ms)", 1000.0),
        ("p95(latency_ms)", 955.0),
        ("p97.5(latency_ms)", 977.5),
        ("min(faithfulness)", 0.2),
        ("max(latency_ms)", 1000.0),
        ("n(faithfulness)", 8.0),
        ("unscored(faithfulness)", 0.2),
        ("share_below(faithfulness, 0.4)", 1 / 8),
        ("share_below(faithfulness, 0.6)", 3 / 8),
        ("share_above(faithfulness, 0.8)", 2 / 8),
        ("share_above(latency_ms, 500)", 0.5),
        ("correct", 0.7),
        ("mean('Own Score')", 0.45),
        ("mean(own_score)", 0.45),
        ("MEAN(Faithfulness)", 5.0 / 8),
    ],
)
def test_a_figure_is_what_arithmetic_says(figure, value):
    assert row(f"{figure} >= 0")["value"] == pytest.approx(value)


def test_the_standard_deviation_is_scipys():  # SciPy 1.16's tstd divides by n - 1
    assert row("std(faithfulness) <= 1")["value"] == pytest.approx(scipy_stats.tstd(PRESENT))


def test_the_interval_of_the_mean_is_that_of_the_report():
    found = row("ci_low(faithfulness) >= 0.5")
    expected = mean_interval(PRESENT, bounds=(0, 1))
    assert found["value"] == found["ci_low"] == expected.low
    assert found["ci_high"] == row("ci_high(faithfulness) <= 1")["value"] == expected.high


@pytest.mark.parametrize(
    ("figure", "k", "n"),
    [
        ("share_below(faithfulness, 0.6)", 3, 8),
        ("share_above(faithfulness, 0.8)", 2, 8),
        ("unscored(faithfulness)", 2, 10),
        ("correct", 7, 10),
    ],
)
def test_the_interval_of_a_share_is_clopper_pearsons(figure, k, n):  # SciPy 1.16
    expected = scipy_stats.binomtest(k, n).proportion_ci(method="exact")
    found = row(f"{figure} <= 1")
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((expected.low, expected.high))


def test_the_interval_of_a_percentile_is_made_of_scores():
    expected = quantile_interval(LATENCY, 0.5)
    found = row("ci_high(median(latency_ms)) <= 3000")
    assert (found["ci_low"], found["value"]) == (expected.low, expected.high)


def test_the_confidence_level_moves_the_interval():
    expected = mean_interval(PRESENT, bounds=(0, 1), confidence_level=0.8)
    assert row("ci_low(faithfulness) >= 0.5", confidence_level=0.8)["value"] == expected.low


@settings(max_examples=40)
@given(
    st.lists(st.floats(0, 1) | st.just(NAN), min_size=1, max_size=30).filter(
        lambda values: not np.isnan(values).all()
    )
)
def test_figures_agree_with_numpy_on_any_scores(values):
    of, kept = evaluation(recall=values), np.array(values)[~np.isnan(values)]
    rules = ("mean(recall) <= 1", "p90(recall) <= 1", "unscored(recall) <= 1", "n(recall) >= 0")
    found = of.gate(*rules).frame["value"]
    assert found[0] == pytest.approx(kept.mean())
    assert found[1] == pytest.approx(np.percentile(kept, 90))
    assert found[2] == pytest.approx(np.isnan(values).mean())
    assert found[3] == kept.size


def test_every_figure_of_the_table_can_be_asked():
    asked = {"share_below": "(faithfulness, 0.5)", "share_above": "(faithfulness, 0.5)"}
    rules = [f"{name}{asked.get(name, '(faithfulness)')} >= 0" for name in FIGURES]
    rules = ["correct >= 0" if rule.startswith("correct") else rule for rule in rules]
    found = evaluation().gate(*rules).frame
    assert found["value"].notna().all()
    assert found["figure"].tolist() == list(FIGURES)


# -- what becomes of a rule


@pytest.mark.parametrize(
    ("rule", "passed"),
    [
        ("median(faithfulness) >= 0.65", True),
        ("median(faithfulness) > 0.65", False),
        ("median(faithfulness) <= 0.65", True),
        ("median(faithfulness) < 0.65", False),
        ("median(faithfulness) == 0.65", True),
        ("n(faithfulness) == 8", True),
        ("n(faithfulness) == 9", False),
        ("unscored(faithfulness) <= 20%", True),
        ("unscored(faithfulness) <= 19.9%", False),
    ],
)
def test_the_operator_decides(rule, passed):
    assert row(rule)["passed"] == passed


def test_rounding_does_not_decide():
    of = evaluation(recall=[0.8, 0.8, 0.8])  # their mean is 0.8000000000000002
    assert row("mean(recall) <= 0.8", of=of)["passed"]
    assert not row("mean(recall) > 0.8", of=of)["passed"]


def test_the_columns_are_the_promised_ones():
    frame = evaluation().gate("mean(faithfulness) >= 0.5").frame
    assert list(frame.columns)[:12] == [
        *("rule", "figure", "metric", "value", "ci_low", "ci_high", "operator", "threshold"),
        *("n", "n_unscored", "passed", "why"),
    ]
    assert frame["passed"].dtype == bool


def test_the_reason_says_value_threshold_and_basis():
    assert row("unscored(faithfulness) <= 10%")["why"] == (
        "unscored(faithfulness) is 0.2, not at most 0.1 (8 scored, 2 unscored; "
        "95 % CI 0.025 to 0.556); the interval contains the threshold"
    )


def test_a_value_just_beside_the_threshold_is_not_told_as_equal():
    of = evaluation(recall=[0.79999])
    assert "is 0.79999, not at least 0.8 " in row("mean(recall) >= 0.8", of=of)["why"]


def test_a_mean_whose_interval_holds_the_threshold_gets_a_note():
    [note] = evaluation().gate("mean(faithfulness) >= 0.6").notes
    assert "contains the threshold 0.6" in note
    assert note.endswith("so another sample could fail; stricter: ci_low(faithfulness) >= 0.6")


def test_a_mean_far_from_the_threshold_gets_none():
    assert evaluation().gate("mean(faithfulness) >= 0.1").notes == ()


def test_a_rule_that_asks_for_bad_scores_gets_a_note():
    result = evaluation().gate("min(latency_ms) >= 50")
    assert result.notes == ("min(latency_ms) >= 50: lower latency_ms is better",)


def test_a_metric_without_a_score_is_not_evaluated_and_fails():
    of = evaluation(recall=[NAN, NAN], mrr=[1, 0])
    result = of.gate("mean(recall) >= 0", "ci_low(recall) >= 0", "share_below(recall, 0.5) <= 1")
    assert result.frame["state"].tolist() == ["not evaluated"] * 3
    assert not result.frame["passed"].any()
    assert "nothing is scored on recall, 2 unscored" in result.frame["why"][0]


def test_how_many_are_scored_is_known_even_where_none_is():
    of = evaluation(recall=[NAN, NAN], mrr=[1, 0])
    result = of.gate("n(recall) == 0", "unscored(recall) == 100%")
    assert result.passed
    assert result.frame["value"].tolist() == [0, 1]


def test_one_score_has_no_spread():
    result = evaluation(recall=[0.5]).gate("std(recall) <= 1")
    assert (result.state, result.exit_code()) == ("undecided", 3)
    assert math.isnan(result.frame["value"][0])


def test_queries_that_a_metric_is_not_about_do_not_count_as_unscored():
    of = evaluation(
        faithfulness=[1, NAN, NAN, 1],
        faithfulness_state=["scored", "not applicable", "failed", "scored"],
    )
    result = of.gate("unscored(faithfulness) <= 0.2")
    assert result.frame["value"][0] == pytest.approx(1 / 3)
    assert "unscored(faithfulness): 1 more are not applicable" in result.notes


# -- missing="worst"


def test_a_missing_score_may_count_as_the_worst():
    found = row("mean(faithfulness) >= 0.5", missing="worst")
    assert (found["value"], found["n"], found["n_unscored"]) == (pytest.approx(0.5), 8, 2)


def test_the_worst_score_goes_by_the_direction():
    of = evaluation(toxicity=[0.5, NAN])
    assert row("mean(toxicity) <= 0.8", of=of, missing="worst")["value"] == 0.75


def test_counting_as_the_worst_is_told():
    result = evaluation().gate("min(faithfulness) >= 0.1", missing="worst")
    assert "faithfulness: 2 missing scores count as the worst possible" in result.notes


def test_the_share_of_unscored_stays_what_it_is():
    assert row("unscored(faithfulness) <= 1", missing="worst")["value"] == 0.2


def test_an_answer_of_which_nobody_can_tell_may_count_as_wrong():
    of = RAGPipelineEvaluation(
        "v1", {"query_id": list("abcd"), "f1": [1, 0.9, 0.1, NAN]}, correct=("f1", 0.5)
    )
    assert row("correct >= 0", of=of)["value"] == pytest.approx(2 / 3)
    assert row("correct >= 0", of=of, missing="worst")["value"] == 0.5


def test_without_bounds_there_is_no_worst():
    of = evaluation(latency_ms=[1.0, NAN])
    with pytest.raises(DataError, match="missing score has no worst value"):
        of.gate("mean(latency_ms) <= 3", missing="worst")
    assert of.gate("n(latency_ms) >= 1").passed


def test_a_metric_that_is_not_asked_of_needs_no_bounds():
    of = evaluation(latency_ms=[1.0, NAN], recall=[1.0, NAN])
    assert row("mean(recall) >= 0.4", of=of, missing="worst")["value"] == 0.5


# -- correct


def test_what_is_correct_can_be_said_in_the_call():
    assert row("correct >= 0.5", correct=("faithfulness", 0.7))["value"] == pytest.approx(4 / 8)


def test_a_rule_on_correct_answers_says_what_is_correct():
    run = evaluation(answer_correctness=[0.5, 0.7, 0.1], exact_match=[0, 0, 0])
    result = run.gate("correct >= 0.5", "mean(exact_match) <= 1")
    assert result.frame["value"].tolist()[0] == pytest.approx(2 / 3)
    assert "correct: answer_correctness >= 0.5; 2 of 3 queries are correct" in result.notes


def test_without_a_rule_what_is_correct_is_asked_for():
    with pytest.raises(DataError, match="Pass the rule for a correct answer"):
        evaluation(recall=[0.5, 0.7]).gate("correct >= 0.5")


# -- the result


def test_the_result_is_true_where_all_gates_hold():
    assert evaluation().gate("n(faithfulness) >= 8")
    assert not evaluation().gate("n(faithfulness) >= 8", "n(faithfulness) >= 9")


def test_check_hands_back_what_holds_and_raises_what_does_not():
    good = evaluation().gate("n(faithfulness) >= 8")
    assert good.check() is good
    with pytest.raises(GateError, match=r"1 of 2 gates do not hold: n\(faithfulness\) is 8, not"):
        evaluation().gate("n(faithfulness) >= 8", "n(faithfulness) >= 9").check()


def test_a_failed_gate_alone_raises_nothing():
    assert evaluation().gate("n(faithfulness) >= 9").passed is False


def test_json_says_whether_all_hold():
    assert evaluation().gate("n(faithfulness) >= 9").to_dict()["passed"] is False


def test_the_printed_result_says_what_failed_first():
    result = evaluation().gate("n(faithfulness) >= 8", "n(faithfulness) >= 9")
    shown = str(result).splitlines()
    assert (
        shown[0]
        == "v1 fails 1 of 2 gates: n(faithfulness) is 8, not at least 9 (8 scored, 2 unscored)."
    )
    assert shown[4].endswith("failed")
    assert shown[5].endswith("passed")
    assert max(map(len, shown)) <= 100
    assert result.sentences[0].startswith("FAILED: n(faithfulness) is 8")


def test_the_signature_has_the_settings():
    result = evaluation().gate("n(faithfulness) >= 8", missing="worst", seed=3)
    assert result.signature.startswith(
        "confidence_level:0.95|missing:worst|n_resamples:9999|seed:3|version:"
    )


def test_the_same_gate_says_the_same_twice():
    rules = ("ci_low(latency_ms) >= 100", "mean(latency_ms) >= 100")  # the interval resamples
    pd.testing.assert_frame_equal(evaluation().gate(*rules).frame, evaluation().gate(*rules).frame)


def test_a_note_can_be_added():
    result = evaluation().gate("n(faithfulness) >= 9").with_notes("seen")
    assert (result.notes, result.passed) == (("seen",), False)


# -- rules that make no sense


@pytest.mark.parametrize(
    ("rule", "place", "told"),
    [
        ("mean(faithfulnes) >= 0.8", 5, "no metric is named 'faithfulnes'. Did you mean"),
        ("meen(faithfulness) >= 0.8", 0, "no figure is named 'meen'. Did you mean 'mean'?"),
        ("ci_low(meen(faithfulness)) >= 0.8", 7, "Did you mean 'mean'?"),
        ("faithfulness >= 0.8", 0, "such as mean(faithfulness)"),
        ("'Own Score' >= 0.8", 0, 'such as mean("Own Score")'),
        ("mean >= 0.8", 4, "mean needs a metric: mean(metric)"),
        ("mean() >= 0.8", 5, "mean needs a metric: mean(metric)"),
        ("mean(faithfulness, 0.5) >= 0.8", 19, "too many arguments; write mean(metric)"),
        ("correct(faithfulness) >= 0.8", 8, "too many arguments; write correct"),
        ("share_below(faithfulness) <= 0.1", 24, "share_below needs a threshold"),
        ("share_below(faithfulness, low) <= 0.1", 26, "expected a number"),
        ("share_below(faithfulness, thershold=1) <= 0.1", 26, "Did you mean 'threshold'?"),
        ("share_below(faithfulness, metric=mrr) <= 0.1", 26, "'metric' is given twice"),
        ("mean(p95(latency_ms)) <= 5", 5, "only ci_low and ci_high take a figure"),
        ("ci_low(ci_high(latency_ms)) <= 5", 7, "no interval of its own"),
        ("mean(faithfulness)", 18, "expected an operator and a threshold"),
        ("p101(faithfulness) >= 0.5", 0, "a percentile must be between 0 and 100; got 101"),
        ("losses(faithfulness) <= 5", 0, "losses needs a baseline"),
        ("no_regression(faithfulness, margin=0.1)", 0, "no_regression needs a baseline"),
        ("ci_low(difference(faithfulness)) >= 0", 7, "difference needs a baseline"),
        ("unscored(faithfulness) <= 2", 26, "so 2 cannot be right. Did you mean 2%?"),
        ("share_below(faithfulness, 0.5) <= 5", 34, "Did you mean 5%?"),
        ("mean(faithfulness) >= 80", 22, "Did you mean 80%? If its scale is another"),
        ("mean(faithfulness) >= -0.1", 22, "from 0 to 1, so -0.1 cannot be right"),
        ("ci_low(faithfulness) >= -0.1", 24, "write ci_low(difference(faithfulness))"),
        ("n(faithfulness) >= -1", 19, "is at least 0"),
        ("p95(latency_ms) <= 5%", 19, "is not a share, so write a number in its unit"),
        ("share_above(latency_ms, 5%) <= 5%", 24, "latency_ms is not a share"),
    ],
)
def test_a_rule_that_makes_no_sense_is_pointed_at(rule, place, told):
    error = refused(rule)
    assert told in error.problem
    assert error.place == place


def test_an_unknown_metric_is_an_unknown_name_and_lists_the_known():
    with pytest.raises(UnknownNameError, match="Known: exact_match, faithfulness, own_score"):
        evaluation(**{"Own Score": [1], "faithfulness": [1], "exact_match": [1]}).gate(
            "mean(recall) >= 1"
        )


def test_a_name_that_two_metrics_answer_to_is_refused():
    of = evaluation(reciprocal_rank=[0.5], reciprocal_rank_score=[0.5])
    assert "'MRR' may mean any of" in refused("mean(MRR) >= 0.1", of).problem


PIECES = (
    *("mean", "ci_low", "p95", "p", "share_below", "correct", "n", "losses", "no_regression"),
    *("(", ")", ",", "=", "faithfulness", "latency_ms", "nothing", "'Own Score'", "margin"),
    *("threshold", "metric", ">=", "<", "==", "0.5", "5%", "-1", "1e3", " "),
)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=10).map("".join))
def test_any_rule_is_answered_or_refused_in_our_words(rule):
    try:
        found = OF.gate(rule).frame
    except DataError:
        return
    assert len(found) == 1


def test_at_least_one_rule_is_needed():
    with pytest.raises(DataError, match="rules must hold at least one rule"):
        evaluation().gate()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"missing": "zero"}, 'missing must be "drop" or "worst"; got "zero"'),
        ({"confidence_level": 95}, "did you mean 0.95"),
        ({"seed": -1}, "seed must be"),
        ({"n_resamples": 0}, "n_resamples must be"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(options, told):
    with pytest.raises((DataError, UnknownNameError)) as error:
        evaluation().gate("n(faithfulness) >= 1", **options)
    assert told in str(error.value)


# -- the queries to look at


def queries(rule, of=None, **options):
    return (of or evaluation()).gate(rule, **options).failing_queries()


def test_below_a_mean_stand_the_scores_below_it_worst_first():
    [found] = queries("mean(faithfulness) >= 0.65")
    assert found.title == "4 queries below 0.65 on faithfulness"
    assert found.frame["faithfulness"].tolist() == [0.2, 0.4, 0.4, 0.6]


def test_above_a_percentile_stand_the_scores_above_it_worst_first():
    [found] = queries("p95(latency_ms) <= 850")
    assert found.frame["latency_ms"].tolist() == [1000, 900]


def test_of_a_share_the_queries_that_make_it_up_are_shown():
    [found] = queries("share_below(faithfulness, 0.5) <= 10%")
    assert found.frame["faithfulness"].tolist() == [0.2, 0.4, 0.4]
    [found] = queries("share_above(faithfulness, 0.8) >= 90%")
    assert (found.title, len(found.frame)) == ("6 queries at most 0.8 on faithfulness", 6)


def test_of_unscored_queries_state_and_reason_are_shown():
    of = evaluation(
        faithfulness=[1, NAN, NAN],
        faithfulness_reason=[None, "timeout", None],
        question=["a?", "b?", "c?"],
        topic=["x", "y", "z"],
    )
    [found] = queries("unscored(faithfulness) <= 10%", of)
    assert found.frame.columns.tolist() == ["state", "reason", "question"]
    assert found.frame["reason"].tolist()[0] == "timeout"


def test_of_correct_answers_the_wrong_ones_are_shown():
    [found] = queries("correct >= 90%")
    assert found.frame.index.tolist() == ["q1", "q5", "q9"]


def test_what_is_not_evaluated_shows_what_is_unscored():
    [found] = queries("mean(recall) >= 0.5", evaluation(recall=[NAN, NAN], mrr=[1, 1]))
    assert found.title == "2 queries unscored on recall"


@pytest.mark.parametrize(
    "rule", ["mean(faithfulness) >= 0.1", "std(faithfulness) <= 0.1", "median(faithfulness) == 0.5"]
)
def test_where_nothing_failed_or_no_query_is_to_blame_none_is_shown(rule):
    assert queries(rule) == ()


def test_the_value_is_a_plain_float():
    assert isinstance(row("mean(faithfulness) >= 0.1")["value"], float)
    assert math.isfinite(row("mean(faithfulness) >= 0.1")["value"])


def test_a_cost_is_never_gated_below_zero():
    found = row("ci_low(cost_usd) >= 0", of=evaluation(cost_usd=[0.01, 0.02, 0.5]))
    assert found["value"] == 0.0
    assert found["passed"]


def test_a_share_beyond_all_possible_scores_is_refused():
    problem = refused("share_below(faithfulness, 1.5) <= 0.1").problem
    assert problem.startswith("faithfulness is from 0 to 1, so 1.5 cannot be right.")


# -- clusters


CLUSTERED = evaluation(
    faithfulness=FAITHFULNESS, exact_match=RIGHT, latency_ms=LATENCY, document=list("aabbccddee")
)


def test_the_limits_of_a_mean_take_clusters_as_one():
    found = row("ci_low(faithfulness) >= 0.1", of=CLUSTERED, clusters="document")
    labels = [
        label for label, score in zip("aabbccddee", FAITHFULNESS, strict=True) if score == score
    ]
    expected = clustered_interval(PRESENT, labels, bounds=(0, 1))
    assert found["value"] == found["ci_low"] == pytest.approx(expected.low)
    assert found["ci_high"] == pytest.approx(expected.high)
    assert "8 scored in 5 clusters" in found["why"]


def test_missing_scores_that_count_as_the_worst_keep_their_clusters():
    found = row("mean(faithfulness) >= 0.1", of=CLUSTERED, clusters="document", missing="worst")
    filled = [0.0 if math.isnan(score) else score for score in FAITHFULNESS]
    expected = clustered_interval(filled, list("aabbccddee"), bounds=(0, 1))
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("correct >= 0.1", [bool(right) for right in RIGHT]),
        ("share_above(latency_ms, 450) >= 0.1", [value > 450 for value in LATENCY]),
        ("unscored(faithfulness) >= 0.1", [math.isnan(score) for score in FAITHFULNESS]),
    ],
)
def test_shares_take_clusters_as_one(rule, holds):
    found = row(rule, of=CLUSTERED, clusters="document", correct="exact_match")
    expected = clustered_interval(np.array(holds, float), list("aabbccddee"), bounds=(0, 1))
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((expected.low, expected.high))


def test_a_percentile_of_clusters_has_no_limits():
    found = row("ci_high(p95(latency_ms)) <= 900", of=CLUSTERED, clusters="document")
    assert found["state"] == "not evaluated"
    assert "the interval of a percentile assumes independent queries" in found["why"]


def test_clusters_are_in_the_signature():
    result = CLUSTERED.gate("mean(faithfulness) >= 0.1", clusters="document")
    assert "clusters:document" in result.signature
    assert "clusters" not in CLUSTERED.gate("mean(faithfulness) >= 0.1").settings


def test_clusters_that_are_not_there_are_an_error():
    with pytest.raises(UnknownNameError, match="detail column"):
        CLUSTERED.gate("mean(faithfulness) >= 0.1", clusters="topic")


# -- three outcomes


@pytest.mark.parametrize(
    ("rule", "state"),
    [
        ("ci_low(f1) >= 0.3", "passed"),
        ("ci_low(f1) >= 0.5", "undecided"),
        ("ci_low(f1) >= 0.9", "failed"),
        ("ci_high(f1) <= 0.9", "passed"),
        ("ci_high(f1) <= 0.55", "undecided"),
        ("ci_high(f1) <= 0.2", "failed"),
        # Rules on a value ask for that of these queries, which is known.
        ("mean(f1) >= 0.51", "failed"),
        ("mean(f1) >= 0.49", "passed"),
    ],
)
def test_a_rule_on_a_limit_is_undecided_if_the_threshold_is_inside_the_interval(rule, state):
    scores = np.tile([0.2, 0.8], 20)
    result = RAGPipelineEvaluation("v1", {"query_id": range(40), "f1": scores}).gate(rule)
    assert result.state == state
    assert ("not enough queries to tell" in result.frame["why"][0]) == (state == "undecided")


def test_one_rule_that_fails_makes_all_fail():
    v1 = RAGPipelineEvaluation("v1", {"query_id": range(40), "f1": np.tile([0.2, 0.8], 20)})
    assert v1.gate("ci_low(f1) >= 0.5", "mean(f1) >= 0.9").state == "failed"


# -- units: no gate passes by one


PERCENT = RAGPipelineEvaluation(
    "v1", {"query_id": range(8), "faithfulness": [31.77, 20, 40, 25, 38, 59, 12, 28]}
)


def test_a_percentage_is_read_on_the_scale_of_the_metric():
    result = PERCENT.gate("mean(faithfulness) >= 80%", "share_below(faithfulness, 29%) <= 50%")
    assert result.frame["threshold"].tolist() == [80, 0.5]  # a share runs from 0 to 1
    assert result.frame["value"].tolist() == pytest.approx([31.72125, 4 / 8])
    assert result.frame["passed"].tolist() == [False, True]


@pytest.mark.parametrize(
    ("rule", "place", "told"),
    [
        ("mean(faithfulness) >= 0.8", 22, "Write 80 or 80%; for 0.8 of 100 write 0.8%"),
        ("ci_low(faithfulness) >= 1", 24, "1 only fits a scale from 0 to 1"),
        ("p5(faithfulness) >= 0.25", 20, "faithfulness runs from 0 to 100"),
        ("share_below(faithfulness, 0.5) <= 20%", 26, "Write 50 or 50%"),
    ],
)
def test_a_number_that_fits_another_scale_is_refused_and_both_are_named(rule, place, told):
    error = refused(rule, PERCENT)
    assert told in error.problem
    assert error.place == place


def test_a_number_in_percent_or_zero_is_as_it_was_written():
    result = PERCENT.gate("min(faithfulness) >= 0.8%", "min(faithfulness) >= 0")
    assert result.frame["threshold"].tolist() == [0.8, 0]


def test_marks_from_1_to_5_take_no_percentage():
    of = evaluation(faithfulness=[1.0, 2.5, 5.0, 4.0, 3.5, 4.5])
    assert "where a percentage has two meanings" in refused("mean(faithfulness) >= 80%", of).problem
    assert "Write a number from 1 to 5" in refused("mean(faithfulness) >= 0.8", of).problem
    assert of.gate("mean(faithfulness) >= 3").passed


def test_a_number_without_a_known_scale_is_taken_as_it_is():
    of = evaluation(seconds=[0.2, 30.5, 0.6, 99.0])
    assert of.gate("min(seconds) >= 0.1").passed


def test_bounds_that_no_score_comes_near_are_told():
    scores = {"query_id": range(6), "faithfulness": [0.2, 0.5, 0.9, 0.4, 0.7, 0.6]}
    wide = {"faithfulness": {"bounds": (0, 100)}}
    result = RAGPipelineEvaluation("v1", scores, metrics=wide).gate("mean(faithfulness) <= 80%")
    assert any("its bounds are 0 to 100, but no score is above 1" in note for note in result.notes)
    assert RAGPipelineEvaluation("v1", scores).gate("mean(faithfulness) <= 80%").notes[1:] == ()


# -- few queries, and notes


def test_two_queries_pass_no_gate_on_a_mean_without_a_word():
    result = evaluation(recall=[0.9, 0.8]).gate("mean(recall) >= 0.1", "n(recall) >= 2")
    assert result.passed
    assert result.frame["why"][0].endswith("; only 2 queries")
    assert not result.frame["why"][1].endswith("only 2 queries")
    [note] = result.notes
    assert note.startswith("mean(recall): only 2 queries, which say little about others")
    six = evaluation(recall=[0.9, 0.8, 0.7, 0.9, 0.8, 0.7]).gate("mean(recall) >= 0.1")
    assert six.notes == ()


def test_notes_are_on_the_metrics_of_the_rules():
    result = (
        evaluation()
        .gate("mean(faithfulness) >= 0.1")
        .with_notes(
            "v1: the scores of 'own_score' are read as percent",
            "Doubt: v1: latency_ms is 5 for all 10 scored queries, while faithfulness varies",
            "v1: the scores of 'faithfulness' are read as percent",
            "v1: 2 rows were left out",
        )
    )
    assert result.notes == (
        "v1: the scores of 'faithfulness' are read as percent",
        "v1: 2 rows were left out",
    )


def test_the_printed_gates_are_an_answer_of_twenty_lines():
    figures = ("mean", "median", "min", "max", "p90", "ci_low", "ci_high", "p10")
    rules = [f"{name}(faithfulness) >= 0.{place}" for place, name in enumerate(figures, 1)]
    shown = str(evaluation().gate(*rules)).splitlines()
    assert len(shown) <= 20
    assert shown[0].startswith("v1 fails 2 of 8 gates (min(faithfulness) >= 0.3, p10(")
