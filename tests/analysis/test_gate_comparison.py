"""The figures of a comparison; witnesses: SciPy 1.16, statsmodels 0.14, the comparison itself."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.rules import RuleError
from rageval_report.stats import paired_interval

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


TENTHS = st.integers(1, 9).map(lambda tenths: tenths / 10)


@settings(max_examples=20)
@given(st.lists(st.tuples(TENTHS, TENTHS), min_size=6, max_size=20))
def test_turning_a_metric_round_changes_no_verdict(pairs):
    before, after = map(np.array, zip(*pairs, strict=True))
    higher = pipeline("old", faithfulness=before), pipeline("new", faithfulness=after)
    lower = pipeline("old", hallucination=1 - before), pipeline("new", hallucination=1 - after)
    one = compare(*higher).gate("no_regression(faithfulness, margin=0.1)").frame
    other = compare(*lower).gate("no_regression(hallucination, margin=0.1)").frame
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


def test_each_of_several_candidates_has_its_rows_and_all_claims_are_one_family():
    third = pipeline("third", faithfulness=BEFORE, recall=AFTER, latency_ms=SLOW, exact_match=RIGHT)
    result = compare(OLD, NEW, third).gate(
        "no_regression(faithfulness, margin=0.02)", "n(recall) >= 60"
    )
    assert result.frame["pipeline"].tolist() == ["new", "new", "third", "third"]
    assert result.settings["no_regression_family"] == 2


# -- what makes no sense


@pytest.mark.parametrize(
    ("rule", "place", "told"),
    [
        ("no_regression(faithfulness)", 26, "no_regression(faithfulness, margin=0.02)"),
        ("no_regression(faithfulness, margin=0)", 35, "margin must be a number above 0"),
        ("no_regression(faithfulness, margin=2)", 35, "never fails. Did you mean 2%?"),
        ("no_regression(latency_ms, margin=2%)", 33, "latency_ms is not a share"),
        ("no_regression(faithfulness, margin=0.1) >= 0", 40, "complete without an operator"),
        ("no_regression(faithfulness, slack=0.1)", 28, "no argument is named 'slack'"),
        ("loses(faithfulness) <= 5", 0, "Did you mean 'losses'?"),
        ("difference(faithfulness) >= -2", 28, "from -1 to 1"),
        ("pvalue(faithfulness) <= 5", 24, "Did you mean 5%?"),
    ],
)
def test_a_rule_that_makes_no_sense_is_pointed_at(comparison, rule, place, told):
    error = refused(comparison, rule)
    assert told in error.problem
    assert error.place == place


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


# -- the queries to look at


def test_of_a_claim_that_failed_the_queries_that_got_worse_are_shown(comparison):
    [found] = comparison.gate("no_regression(latency_ms, margin=1)").failing_queries()
    assert found.title == f"{np.sum(SLOWER > SLOW)} queries worse on latency_ms"
    assert found.frame.columns.tolist() == ["old_latency_ms", "new_latency_ms", "difference"]
    assert found.frame["difference"].is_monotonic_decreasing


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


def test_the_queries_that_would_decide_by_hand():
    old, new = moved("new", -0.04, sd=0.15)
    row = compare(old, new).gate("no_regression(faithfulness, margin=0.05)").frame.iloc[0]
    # The distance to the limit shrinks with the root of n until it is that to the margin.
    factor = ((row["value"] - row["ci_low"]) / (row["value"] + 0.05)) ** 2
    more = 40 * (factor - 1)
    number = int(row["why"].split("about ")[1].split(" more")[0])
    assert more <= number <= max(more * 1.1, more + 1)


# -- strict margins, and values that are all equal


SCORES = np.linspace(0.3, 0.6, 60)
SHIFTED = SCORES + np.tile([-0.03, 0.01, 0.01, 0.01], 15)
SLOW_STRICT = np.linspace(200.0, 900.0, 60)


STRICT_OLD = pipeline("old", faithfulness=SCORES, sas=SCORES, latency_ms=SLOW_STRICT)
STRICT_NEW = pipeline(
    "new", faithfulness=SHIFTED, sas=SHIFTED, latency_ms=SLOW_STRICT + np.tile([-6, 5], 30)
)


# -- strict


@pytest.mark.parametrize(
    ("metric", "problem"),
    [
        ("latency_ms", "needs the smallest and largest possible score of latency_ms; say them"),
        ("sas", "needs the smallest and largest possible score of sas; say them"),
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
