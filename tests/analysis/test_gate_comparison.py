"""The figures of a comparison; witnesses: SciPy 1.16, statsmodels 0.14, the comparison itself."""

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.gate_figures import PAIR_FIGURES
from rageval_report.analysis.rules import RuleError
from rageval_report.errors import UnknownNameError, UnknownValueError
from rageval_report.render import render
from rageval_report.render.markdown import pull_request_comment
from rageval_report.stats import equivalence_test, paired_interval

NAN = float("nan")
RNG = np.random.default_rng(5)
BEFORE = RNG.uniform(0.3, 0.9, 60).round(3)
AFTER = (BEFORE + RNG.normal(-0.005, 0.03, 60)).clip(0, 1).round(3)
SLOW = RNG.uniform(100, 200, 60).round(1)
SLOWER = (SLOW + RNG.normal(8, 5, 60)).round(1)
RIGHT, WRONG = RNG.integers(0, 2, 60), RNG.integers(0, 2, 60)


def pipeline(name, metrics=None, **columns):
    n = len(next(iter(columns.values())))
    data = {"query_id": [f"q{i}" for i in range(n)], **columns}
    return RAGPipelineEvaluation(name, data, metrics=metrics)


OLD = pipeline("old", faithfulness=BEFORE, recall=BEFORE, latency_ms=SLOW, exact_match=RIGHT)
NEW = pipeline("new", faithfulness=AFTER, recall=BEFORE, latency_ms=SLOWER, exact_match=WRONG)


@pytest.fixture(scope="module")
def comparison():
    return compare(OLD, NEW)


def refused(comparison, rule):
    with pytest.raises(RuleError) as error:
        comparison.gate(rule)
    return error.value


# -- no_regression


def flipped_share(differences):
    """The share of random signs whose mean is at least the mean of the differences."""
    signs = np.random.default_rng(0).integers(0, 2, (400_000, differences.size)) * 2 - 1
    return np.mean(signs @ differences >= differences.sum() - 1e-9)


def test_no_regression_flips_the_signs_of_the_differences_from_the_margin(comparison):
    found = comparison.gate("no_regression(faithfulness, margin=0.02)").frame.iloc[0]
    witness = flipped_share(AFTER - BEFORE + 0.02)
    assert found["pvalue"] == pytest.approx(witness, rel=0.15)  # some 370 of 400,000 patterns
    assert found["passed"] == (witness <= 0.05)
    interval = paired_interval(BEFORE, AFTER, method="sign-flip", confidence_level=0.9)
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((interval.low, interval.high))
    assert (found["operator"], found["threshold"]) == (">", -0.02)
    assert found["value"] == pytest.approx(np.mean(AFTER - BEFORE))


def test_where_lower_is_better_the_margin_lies_above(comparison):
    found = comparison.gate("no_regression(latency_ms, margin=10)").frame.iloc[0]
    witness = flipped_share(10 - (SLOWER - SLOW))
    assert found["pvalue"] == pytest.approx(witness, rel=0.03)  # some 18,000 of 400,000 patterns
    assert (found["operator"], found["threshold"]) == ("<", 10)
    assert found["ci_low"] < found["value"] < found["ci_high"]
    assert found["value"] == pytest.approx(np.mean(SLOWER - SLOW))


def test_scores_of_0_and_1_use_the_test_of_shares(comparison):
    found = comparison.gate("no_regression(exact_match, margin=30%)").frame.iloc[0]
    witness = equivalence_test(RIGHT, WRONG, 0.3, alternative="non-inferior")
    assert found["pvalue"] == witness.pvalue


def test_not_finding_a_difference_is_no_proof_that_there_is_none():
    few = compare(
        pipeline("old", recall=[0.5, 0.9, 0.1, 0.4, 0.3, 0.6]),
        pipeline("new", recall=[0.9, 0.4, 0.2, 0.1, 0.2, 0.7]),
    )
    frame = few.gate("pvalue(recall) > 0.05", "no_regression(recall, margin=0.05)").frame
    assert frame["passed"].tolist() == [True, False]


def test_the_claims_of_one_call_are_holm_adjusted(comparison):
    rules = [
        "no_regression(faithfulness, margin=0.012)",
        "no_regression(latency_ms, margin=10)",
        "no_regression(exact_match, margin=0.3)",
    ]
    result = comparison.gate(*rules, "losses(faithfulness) >= 0")
    pvalues = result.frame["pvalue"][:3]
    witness = multipletests(pvalues, alpha=0.05, method="holm")  # statsmodels 0.14
    assert result.frame["pvalue_adjusted"][:3].tolist() == pytest.approx(list(witness[1]))
    assert result.frame["passed"][:3].tolist() == list(witness[0])
    assert "no_regression_family:3" in result.signature
    assert any("adjusted (holm) over the 3 such rules" in note for note in result.notes)
    assert "Holm-adjusted over 3 rules p" in result.frame["why"][0]
    assert np.isnan(result.frame["pvalue"][3])


def test_ten_identical_scores_do_not_show_that_nothing_is_lost():
    same = pipeline("old", recall=BEFORE[:10]), pipeline("new", recall=BEFORE[:10])
    found = compare(*same).gate("no_regression(recall, margin=0.05)").frame.iloc[0]
    assert not found["passed"]
    # Gaffke's lower limit of ten differences of 0 between -1 and 1
    assert found["ci_low"] == pytest.approx(0.05**0.1 - 1, rel=1e-9)


def test_the_level_is_that_of_the_comparison():
    differences = AFTER - BEFORE
    margin = 2.5 * differences.std(ddof=1) / np.sqrt(60) - differences.mean()  # p is about 0.008
    rule = f"no_regression(faithfulness, margin={margin})"
    loose, strict = (
        compare(OLD, NEW, confidence_level=level).gate(rule) for level in (0.95, 0.999)
    )
    assert loose.frame["pvalue"][0] == strict.frame["pvalue"][0]
    assert (loose.passed, strict.passed) == (True, False)


def test_the_margin_of_the_comparison_is_the_default():
    found = compare(OLD, NEW, margin={"faithfulness": 0.02}).gate("no_regression(faithfulness)")
    expected = compare(OLD, NEW).gate("no_regression(faithfulness, margin=0.02)")
    assert found.frame["pvalue"][0] == expected.frame["pvalue"][0]


TENTHS = st.integers(1, 9).map(lambda tenths: tenths / 10)


@settings(max_examples=20)
@given(st.lists(st.tuples(TENTHS, TENTHS), min_size=6, max_size=20))
def test_turning_a_metric_round_changes_no_verdict(pairs):
    before, after = map(np.array, zip(*pairs, strict=True))
    higher = pipeline("old", quality=before), pipeline("new", quality=after)
    lower = pipeline("old", word_error_rate=1 - before), pipeline("new", word_error_rate=1 - after)
    one = compare(*higher).gate("no_regression(quality, margin=0.1)").frame
    other = compare(*lower).gate("no_regression(word_error_rate, margin=0.1)").frame
    assert one["pvalue"][0] == pytest.approx(other["pvalue"][0], abs=1e-9)
    assert one["value"][0] == pytest.approx(-other["value"][0], abs=1e-12)
    assert one["ci_low"][0] == pytest.approx(-other["ci_high"][0], abs=1e-9, nan_ok=True)


# -- the other figures


@pytest.mark.parametrize(
    ("rule", "column"),
    [
        ("difference(faithfulness) >= -1", "difference"),
        ("pvalue(faithfulness) <= 1", "pvalue"),
        ("pvalue_adjusted(faithfulness) <= 1", "pvalue_adjusted"),
        ("wins(faithfulness) >= 0", "wins"),
        ("losses(faithfulness) >= 0", "losses"),
        ("ties(faithfulness) >= 0", "ties"),
        ("ci_low(difference(faithfulness)) >= -1", "ci_low"),
        ("ci_high(difference(faithfulness)) <= 1", "ci_high"),
    ],
)
def test_a_figure_is_that_of_the_comparison(comparison, rule, column):
    found = comparison.gate(rule).frame.iloc[0]
    expected = comparison.frame.set_index("metric").loc["faithfulness"]
    assert found["value"] == expected[column]
    assert (found["n"], found["n_unscored"]) == (expected["n"], expected["n_dropped"])


def test_wins_and_losses_are_counted_by_the_metrics_direction(comparison):
    frame = comparison.gate("losses(latency_ms) >= 0", "wins(latency_ms) >= 0").frame
    assert frame["value"].tolist() == [np.sum(SLOWER > SLOW), np.sum(SLOWER < SLOW)]


def test_every_figure_of_the_table_can_be_asked(comparison):
    asked = {"no_regression": "no_regression(faithfulness, margin=0.1)"}
    rules = [asked.get(name, f"{name}(faithfulness) >= 0") for name in PAIR_FIGURES]
    assert comparison.gate(*rules).frame["value"].notna().all()


def test_the_figures_of_an_evaluation_are_asked_of_the_candidate(comparison):
    rules = (
        "mean(faithfulness) >= 0.1",
        "ci_low(recall) >= 0.1",
        "p95(latency_ms) <= 900",
        "correct >= 0",
    )
    pair, alone = comparison.gate(*rules).frame, NEW.gate(*rules).frame
    assert pair["value"].tolist() == alone["value"].tolist()
    assert set(pair["pipeline"]) == {"new"}


def test_a_limit_is_of_the_mean_with_and_without_a_baseline_and_says_so(comparison):
    notes = comparison.gate("ci_low(recall) >= 0.1").notes
    assert (
        "ci_low(recall) is a limit of new's mean; "
        "the limit of the difference is ci_low(difference(recall))" in notes
    )


def test_the_candidates_own_rule_says_what_is_correct():
    ours = {"query_id": ["a", "b"], "f1": [0.6, 0.2], "exact_match": [0, 0]}
    old = RAGPipelineEvaluation("old", ours)
    new = RAGPipelineEvaluation("new", ours, correct=("f1", 0.5))
    assert compare(old, new).gate("correct >= 0").frame["value"][0] == 0.5
    assert compare(old, new).gate("correct >= 0", correct=("f1", 0.1)).frame["value"][0] == 1.0


def test_each_of_several_candidates_has_its_rows_and_all_claims_are_one_family():
    third = pipeline("third", faithfulness=BEFORE, recall=AFTER, latency_ms=SLOW, exact_match=RIGHT)
    result = compare(OLD, NEW, third).gate(
        "no_regression(faithfulness, margin=0.02)", "n(recall) >= 60"
    )
    assert result.frame["pipeline"].tolist() == ["new", "new", "third", "third"]
    assert result.settings["no_regression_family"] == 2


# -- what is missing


def test_only_pairs_count_and_the_others_are_told():
    before, after = [0.5, NAN, *[0.5] * 6], [0.5, 0.5, *[0.9] * 6]
    result = compare(pipeline("old", recall=before), pipeline("new", recall=after)).gate(
        "difference(recall) >= 0"
    )
    found = result.frame.iloc[0]
    assert (found["value"], found["n"], found["n_unscored"]) == (pytest.approx(2.4 / 7), 7, 1)


def test_without_a_pair_nothing_is_evaluated():
    old = pipeline("old", recall=[0.5, NAN], mrr=[1, 1])
    new = pipeline("new", recall=[NAN, 0.5], mrr=[1, 1])
    result = compare(old, new).gate(
        "no_regression(recall, margin=0.1)", "losses(recall) <= 5", "pvalue(recall) <= 1"
    )
    assert result.frame["state"].tolist() == ["not evaluated"] * 3
    assert "no query is scored in both runs on recall" in result.frame["why"][0]


def test_missing_scores_may_count_as_the_worst():
    # Not all equal, as equal differences do not show how much others may differ.
    scores = [0.51, 0.49, 0.52, 0.48, 0.505, 0.495, 0.5]
    old, new = pipeline("old", recall=[0.5] * 8), pipeline("new", recall=[*scores, NAN])
    rules = ("no_regression(recall, margin=0.1)", "mean(recall) >= 0.45")
    assert compare(old, new).gate(*rules).passed
    worst = compare(old, new, missing="worst").gate(*rules)
    assert worst.frame["passed"].tolist() == [False, False]
    assert worst.frame["value"].tolist() == pytest.approx([-0.0625, 0.4375])


# -- what makes no sense


@pytest.mark.parametrize(
    ("rule", "place", "told"),
    [
        ("no_regression(faithfulness)", 26, "no_regression(faithfulness, margin=0.02)"),
        ("no_regression(faithfulness, margin=0)", 35, "margin must be a number above 0"),
        ("no_regression(faithfulness, margin=-0.1)", 35, "margin must be a number above 0"),
        ("no_regression(faithfulness, margin=2)", 35, "never fails. Did you mean 2%?"),
        ("no_regression(latency_ms, margin=2%)", 33, "latency_ms is not a share"),
        ("no_regression(faithfulness, margin=0.1) >= 0", 40, "complete without an operator"),
        ("no_regression(faithfulness, slack=0.1)", 28, "no argument is named 'slack'"),
        ("ci_low(no_regression(faithfulness, 0.1)) > 0", 7, "no interval of its own"),
        ("loses(faithfulness) <= 5", 0, "Did you mean 'losses'?"),
        ("losses(faithfulnes) <= 5", 7, "Did you mean 'faithfulness'?"),
        ("difference(faithfulness) >= -2", 28, "from -1 to 1"),
        ("difference(latency_ms) <= 10%", 26, "latency_ms) is not a share"),
        ("pvalue(faithfulness) <= 5", 24, "Did you mean 5%?"),
        ("losses(faithfulness)", 20, "expected an operator"),
    ],
)
def test_a_rule_that_makes_no_sense_is_pointed_at(comparison, rule, place, told):
    error = refused(comparison, rule)
    assert told in error.problem
    assert error.place == place


def test_a_metric_that_was_not_compared_is_unknown_to_a_comparison():
    only = compare(OLD, NEW, metrics=["recall"])
    assert only.gate("mean(faithfulness) >= 0.1")
    with pytest.raises(UnknownNameError, match="Known: recall"):
        only.gate("losses(faithfulness) <= 5")


def test_no_regression_flips_the_signs_of_clusters_at_the_margin():
    clustered = compare(OLD, NEW, clusters={f"q{i}": i // 6 for i in range(60)})
    found = clustered.gate("no_regression(faithfulness, margin=0.012)").frame.iloc[0]
    # All 1024 patterns of signs of ten sums, each moved by the margin of its six queries.
    sums = (AFTER - BEFORE).reshape(10, 6).sum(axis=1) + 6 * 0.012
    signs = np.array(list(itertools.product([1, -1], repeat=10)))
    flipped = signs @ sums
    at_least = np.mean(flipped >= sums.sum() - 1e-9)
    ties = np.mean(np.abs(flipped - sums.sum()) < 1e-9)
    assert found["pvalue"] == pytest.approx(at_least - ties / 2, rel=1e-9)  # thousandths: mid-p
    assert found["passed"] == (found["pvalue"] <= 0.05) == (found["ci_low"] > -0.012)
    assert "60 paired in 10 clusters" in found["why"]


# -- too few for a test


@pytest.mark.parametrize(
    "rule",
    [
        "ci_low(difference(faithfulness)) > -1",
        "difference(faithfulness) > -1",
        "pvalue(faithfulness) <= 0.05",
        "pvalue_adjusted(faithfulness) > 0.05",
        "no_regression(faithfulness, margin=0.5)",
    ],
)
@pytest.mark.parametrize("units", ["queries", "clusters"])
def test_a_rule_on_five_units_is_undecided_and_has_no_value(rule, units):
    old, new, of = (OLD, NEW, {f"q{i}": i // 12 for i in range(60)})
    if units == "queries":
        old, new = (
            pipeline(run.name, faithfulness=run.scores["faithfulness"][:5]) for run in (OLD, NEW)
        )
    result = compare(old, new, clusters=of if units == "clusters" else None).gate(rule)
    assert (result.passed, result.state, result.exit_code()) == (False, "undecided", 3)
    assert result.frame["value"].isna().all()
    assert result.frame["why"][0].endswith(f"too few {units} for a test: 5, at least 6 are needed")


def test_the_candidates_own_figures_take_the_clusters_of_the_comparison():
    labels = {f"q{i}": i // 6 for i in range(60)}
    by_column = NEW.gate("ci_low(faithfulness) >= 0.1", clusters=labels).frame
    # In another order, and with one more query that the baseline does not have.
    order = [*range(59, -1, -1)]
    data = {"query_id": [*(f"q{i}" for i in order)], "faithfulness": AFTER[order]}
    compared = compare(OLD, RAGPipelineEvaluation("new", data), clusters=labels)
    found = compared.gate("ci_low(faithfulness) >= 0.1")
    assert found.frame["value"][0] == pytest.approx(by_column["value"][0], rel=1e-9)
    assert found.settings["clusters"] == "given"


def test_counts_of_queries_need_no_test():
    few = compare(pipeline("old", recall=[0.1, 0.2]), pipeline("new", recall=[0.2, 0.1]))
    rules = ("wins(recall) >= 1", "losses(recall) <= 1", "ties(recall) == 0")
    assert few.gate(*rules).frame["state"].tolist() == ["passed"] * 3


def test_every_format_says_the_level_of_a_claims_interval(comparison):
    result = comparison.gate("no_regression(faithfulness, margin=0.05)")
    assert result.title == "Gates of new against old"
    assert result.frame["confidence_level"].tolist() == [0.9]
    for text in (str(result), result.to_markdown(), result.to_html(), pull_request_comment(result)):
        assert "90 % CI" in text
        assert "95 % CI" not in text
    assert "confidence_level: 0.900" in render(result, "junit")
    two = comparison.gate("no_regression(faithfulness, margin=0.05)", "difference(recall) >= 0")
    assert two.frame["confidence_level"].tolist() == [0.9, 0.95]
    assert all(f"{level} %: " in str(two) for level in (90, 95))


# -- the queries to look at


def test_of_a_claim_that_failed_the_queries_that_got_worse_are_shown(comparison):
    [found] = comparison.gate("no_regression(latency_ms, margin=1)").failing_queries()
    assert found.title == f"{np.sum(SLOWER > SLOW)} queries worse on latency_ms"
    assert found.frame.columns.tolist() == ["old_latency_ms", "new_latency_ms", "difference"]
    assert found.frame["difference"].is_monotonic_decreasing


def test_gates_work_on_runs_that_were_matched_by_question():
    ours = {"query_id": ["a", "b"], "question": ["x?", "y?"], "recall": [0.5, 0.9]}
    theirs = {"query_id": ["1", "2"], "question": ["y?", "x?"], "recall": [0.9, 0.5]}
    comparison = compare(
        RAGPipelineEvaluation("old", ours), RAGPipelineEvaluation("new", theirs), on="question"
    )
    assert comparison.gate("losses(recall) == 0", "mean(recall) == 0.7").passed


# -- three outcomes


def moved(name, shift, n=40, sd=0.1, seed=11):
    rng = np.random.default_rng(seed)
    base = rng.uniform(0.3, 0.6, n)
    return (
        pipeline("old", faithfulness=base),
        pipeline(name, faithfulness=(base + shift + rng.normal(0, sd, n)).clip(0, 1)),
    )


@pytest.mark.parametrize(
    ("shift", "state", "words"),
    [
        (0.1, "passed", "new loses less than 0.050 on faithfulness: difference 0.1"),
        (-0.2, "failed", "new is worse on faithfulness by more than 0.050"),
        (
            -0.05,
            "undecided",
            "too few queries: the true loss of new on faithfulness may be above or below 0.050",
        ),
    ],
)
def test_a_claim_passes_fails_or_is_undecided(shift, state, words):
    result = compare(*moved("new", shift)).gate("no_regression(faithfulness, margin=0.05)")
    row = result.frame.iloc[0]
    assert row["state"] == result.state == state
    assert words in row["why"]
    assert result.passed == (state == "passed")
    # Undecided is the interval that contains minus the margin.
    assert (row["ci_low"] < -0.05 < row["ci_high"]) == (state == "undecided")
    assert ("more queries would decide" in row["why"]) == (state == "undecided")


@pytest.mark.parametrize(("shift", "state"), [(-20, "passed"), (40, "failed"), (10, "undecided")])
def test_the_opposite_claim_where_lower_is_better(shift, state):
    rng = np.random.default_rng(3)
    base = rng.uniform(100, 200, 40)
    slow = pipeline("new", latency_ms=base + shift + rng.normal(0, 15, 40))
    [row] = (
        compare(pipeline("old", latency_ms=base), slow)
        .gate("no_regression(latency_ms, margin=10)")
        .frame.to_dict("records")
    )
    assert row["state"] == state
    assert row["why"].startswith("new is worse on latency_ms by more than") == (state == "failed")


def test_the_queries_that_would_decide_by_hand():
    old, new = moved("new", -0.04, sd=0.15)
    row = compare(old, new).gate("no_regression(faithfulness, margin=0.05)").frame.iloc[0]
    # The distance to the limit shrinks with the root of n until it is that to the margin.
    factor = ((row["value"] - row["ci_low"]) / (row["value"] + 0.05)) ** 2
    more = 40 * (factor - 1)
    number = int(row["why"].split("about ")[1].split(" more")[0])
    assert more <= number <= max(more * 1.1, more + 1)


def test_so_many_more_queries_do_decide():
    rule = "no_regression(faithfulness, margin=0.05)"
    decided = 0
    for seed in range(40):
        why = compare(*moved("new", -0.02, seed=seed)).gate(rule).frame["why"][0]
        if "more queries would decide" in why:
            n = 40 + int(why.split("about ")[1].split(" more")[0])
            big = compare(*moved("new", -0.02, n=n, seed=seed + 1000)).gate(rule)
            decided += big.state != "undecided"
        else:
            decided += 1
    # The number is for half of the cases: the mean may come out nearer to the margin.
    assert decided >= 20


def test_undecided_rules_have_an_exit_code_of_their_own():
    undecided = compare(*moved("new", -0.05)).gate("no_regression(faithfulness, margin=0.05)")
    assert [undecided.exit_code(policy) for policy in ("fail", "warn", "pass")] == [3, 0, 0]
    failed = compare(*moved("new", -0.05)).gate(
        "no_regression(faithfulness, margin=0.05)", "mean(faithfulness) >= 0.9"
    )
    assert (failed.state, failed.exit_code("pass")) == ("failed", 1)
    assert failed.sentences[0].startswith("FAILED: mean(faithfulness)")
    assert failed.sentences[1].startswith("UNDECIDED: too few queries: the true loss")
    with pytest.raises(UnknownValueError, match='undecided must be "fail", "warn" or "pass"'):
        undecided.exit_code("skip")


def test_a_claim_that_only_the_correction_holds_back_says_so():
    rng = np.random.default_rng(2)
    base = rng.uniform(0.3, 0.6, 40)
    old = pipeline("old", **{f"metric_{i}": base for i in range(6)})
    new = pipeline("new", **{f"metric_{i}": base - 0.02 + rng.normal(0, 0.1, 40) for i in range(6)})
    rules = [f"no_regression(metric_{i}, margin=0.05)" for i in range(6)]
    frame = compare(old, new).gate(*rules).frame
    held_back = frame[(frame["pvalue"] <= 0.05) & (frame["pvalue_adjusted"] > 0.05)]
    assert len(held_back)
    assert (held_back["state"] == "undecided").all()
    assert held_back["why"].str.contains("without the correction for the other rules").all()


# -- strict margins, and values that are all equal


SCORES = np.linspace(0.3, 0.6, 60)
SHIFTED = SCORES + np.tile([-0.03, 0.01, 0.01, 0.01], 15)
SLOW_STRICT = np.linspace(200.0, 900.0, 60)


STRICT_OLD = pipeline("old", faithfulness=SCORES, sas=SCORES, latency_ms=SLOW_STRICT)
STRICT_NEW = pipeline(
    "new", faithfulness=SHIFTED, sas=SHIFTED, latency_ms=SLOW_STRICT + np.tile([-6, 5], 30)
)


# -- strict


@pytest.mark.parametrize("margin", [0.04, 0.1])
def test_the_method_of_a_rule_is_that_of_the_equivalence_test(margin):
    rule = f"no_regression(faithfulness, margin={margin}, margin_method=strict)"
    found = compare(STRICT_OLD, STRICT_NEW).gate(rule).frame.iloc[0]
    expected = equivalence_test(
        *(SCORES, SHIFTED, margin), alternative="non-inferior", method="strict", bounds=(0, 1)
    )
    assert found["pvalue"] == pytest.approx(expected.pvalue, rel=1e-12)
    assert (found["ci_low"], found["ci_high"]) == (expected.low, expected.high)
    assert found["passed"] == expected.equivalent
    assert found["margin_method"] == "strict"


def test_whole_losses_are_counted_by_clopper_pearson():
    # 1 of 200 answers is lost: the limit of the share of losses decides.
    before, after = np.ones(200), np.repeat([0.0, 1.0], [1, 199])
    pair = pipeline("old", exact_match=before), pipeline("new", exact_match=after)
    low = scipy.stats.beta(199, 2).ppf(0.05) - 1
    result = compare(*pair, margin_method="strict").gate(
        f"no_regression(exact_match, margin={-low + 1e-4})",
        f"no_regression(exact_match, margin={-low - 1e-4})",
    )
    assert result.frame["ci_low"].tolist() == pytest.approx([low, low], rel=1e-9)
    # Holm doubles the smaller p-value of the two, so each is looked at alone.
    assert (result.frame["pvalue"] <= 0.05).tolist() == [True, False]


def test_the_method_of_the_comparison_is_the_default_of_its_rules():
    strict = compare(STRICT_OLD, STRICT_NEW, margin_method="strict")
    inner = "no_regression(faithfulness, margin=0.04"
    frame = strict.gate(f"{inner})", f"{inner}, margin_method=auto)").frame
    assert frame["margin_method"].tolist() == ["strict", "sign-flip"]
    assert frame["state"].tolist() == ["undecided", "passed"]


def test_a_sentence_names_the_method_unless_it_is_the_default():
    rule = "no_regression(faithfulness, margin=0.1)"
    default, strict = (
        compare(STRICT_OLD, STRICT_NEW, margin_method=method).gate(rule)
        for method in ("auto", "strict")
    )
    assert "(60 paired; 90 % CI -0.00" in default.frame["why"][0]
    assert "(60 paired; strict 90 % CI -0.0" in strict.frame["why"][0]
    assert strict.notes == ()


def test_where_lower_is_better_the_losses_are_rises():
    worse = compare(
        pipeline("old", hallucination=1 - SCORES), pipeline("new", hallucination=1 - SHIFTED)
    ).gate("no_regression(hallucination, margin=0.1, margin_method=strict)")
    higher = compare(STRICT_OLD, STRICT_NEW).gate(
        "no_regression(faithfulness, margin=0.1, margin_method=strict)"
    )
    assert worse.frame["pvalue"][0] == pytest.approx(higher.frame["pvalue"][0], rel=1e-9)
    assert worse.frame["ci_high"][0] == pytest.approx(-higher.frame["ci_low"][0], rel=1e-9)


def test_clusters_are_counted_once():
    documents = np.repeat(np.arange(12), 5)
    pair = (
        pipeline("old", faithfulness=SCORES, document=documents),
        pipeline("new", faithfulness=SHIFTED, document=documents),
    )
    rule = "no_regression(faithfulness, margin=0.15, margin_method=strict)"
    by_query, by_document = (
        compare(*pair, clusters=clusters).gate(rule) for clusters in (None, "document")
    )
    assert (by_query.state, by_document.state) == ("passed", "undecided")


@pytest.mark.parametrize(
    ("metric", "problem"),
    [
        ("latency_ms", "needs the smallest and largest possible score of latency_ms; say them"),
        ("sas", "its bounds of -1 and 1 are a formality"),
    ],
)
@pytest.mark.parametrize("place", ["rule", "comparison"])
def test_strict_without_true_bounds_is_refused_at_its_place(metric, problem, place):
    word = "margin_method=strict" if place == "rule" else ""
    rule = f"no_regression({metric}, margin=0.05{', ' + word if word else ''})"
    comparison = compare(STRICT_OLD, STRICT_NEW, margin_method="auto" if word else "strict")
    with pytest.raises(RuleError, match=problem) as error:
        comparison.gate(rule)
    assert error.value.place == rule.index("strict" if word else metric)


@pytest.mark.parametrize(
    ("rule", "problem", "at"),
    [
        ("no_regression(faithfulness, margin=0.1, margin_method=exact)", "margin_method", "exact"),
        ("no_regression(faithfulness, margin=0.1, method=strict)", "no argument", "method"),
        ("difference(faithfulness, margin_method=strict) > 0", "no argument", "margin_method"),
    ],
)
def test_other_words_are_refused_at_their_place(rule, problem, at):
    with pytest.raises(RuleError, match=problem) as error:
        compare(STRICT_OLD, STRICT_NEW).gate(rule)
    assert error.value.place == rule.index(at)


# -- no interval of zero width opens a gate


@pytest.mark.parametrize(
    ("rule", "gain", "state"),
    [
        ("no_regression(latency_ms, margin=50)", 0, "undecided"),
        ("no_regression(latency_ms, margin=50)", 1, "undecided"),
        ("no_regression(latency_ms, margin=50, margin_method=t)", 1, "undecided"),
        ("no_regression(latency_ms, margin=50)", 80, "failed"),
        ("ci_high(difference(latency_ms)) <= 5", 1, "undecided"),
        ("ci_low(difference(latency_ms)) >= 0", 1, "undecided"),
        ("ci_low(difference(latency_ms)) >= 2", 1, "failed"),
        ("difference(latency_ms) <= 5", 1, "passed"),
    ],
)
def test_equal_differences_without_bounds_open_no_gate_on_others(rule, gain, state):
    slow = pipeline("old", latency_ms=SLOW_STRICT), pipeline("new", latency_ms=SLOW_STRICT + gain)
    result = compare(*slow).gate(rule)
    assert (result.state, result.exit_code()) == (
        state,
        ["passed", "failed", "", "undecided"].index(state),
    )
    [why] = result.frame["why"]
    if rule.startswith("no_regression") and state == "undecided":
        assert why.startswith("the queries do not tell whether new is worse on lat")
        assert "all differences are equal, so they do not show" in why
        assert result.frame["pvalue"].isna().all()


def test_bounds_let_many_equal_differences_decide():
    limited = {"latency_ms": {"bounds": (0, 1000)}}
    slow = (pipeline(name, limited, latency_ms=np.tile(SLOW_STRICT, 4)) for name in ("old", "new"))
    found = compare(*slow).gate("no_regression(latency_ms, margin=50)").frame.iloc[0]
    # Gaffke's limit of 240 differences of 0 between -1000 and 1000
    assert found["ci_high"] == pytest.approx(1000 * (1 - 0.05 ** (1 / 240)), rel=1e-9)
    assert (found["state"], found["margin_method"]) == ("passed", "strict")


def test_a_claim_that_cannot_be_tested_is_not_in_the_family():
    slow = (
        pipeline("old", faithfulness=SCORES, latency_ms=SLOW_STRICT),
        pipeline("new", faithfulness=SHIFTED, latency_ms=SLOW_STRICT),
    )
    result = compare(*slow).gate(
        "no_regression(latency_ms, margin=50)", "no_regression(faithfulness, margin=0.02)"
    )
    assert result.settings["no_regression_family"] == 1
    assert result.frame["pvalue"][1] == result.frame["pvalue_adjusted"][1]
