"""Gates with margin_method strict, and gates on values that are all equal.

Witnesses: `equivalence_test`, Gaffke's limits by hand, and Clopper-Pearson by scipy 1.17.1.
"""

import numpy as np
import pytest
import scipy.stats

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.gate import gate
from rageval_report.analysis.gates_file import read_gates
from rageval_report.analysis.rules import RuleError
from rageval_report.errors import ReaderError
from rageval_report.stats import equivalence_test

BEFORE = np.linspace(0.3, 0.6, 60)
AFTER = BEFORE + np.tile([-0.03, 0.01, 0.01, 0.01], 15)
SLOW = np.linspace(200.0, 900.0, 60)


def pipeline(name, metrics=None, **columns):
    n = len(next(iter(columns.values())))
    data = {"query_id": [f"q{i}" for i in range(n)], **columns}
    return RAGPipelineEvaluation(name, data, metrics=metrics)


OLD = pipeline("old", faithfulness=BEFORE, sas=BEFORE, latency_ms=SLOW)
NEW = pipeline("new", faithfulness=AFTER, sas=AFTER, latency_ms=SLOW + np.tile([-6, 5], 30))


# -- strict


@pytest.mark.parametrize("margin", [0.04, 0.1])
def test_the_method_of_a_rule_is_that_of_the_equivalence_test(margin):
    rule = f"no_regression(faithfulness, margin={margin}, margin_method=strict)"
    found = compare(OLD, NEW).gate(rule).frame.iloc[0]
    expected = equivalence_test(
        *(BEFORE, AFTER, margin), alternative="non-inferior", method="strict", bounds=(0, 1)
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
    strict = compare(OLD, NEW, margin_method="strict")
    inner = "no_regression(faithfulness, margin=0.04"
    frame = strict.gate(f"{inner})", f"{inner}, margin_method=auto)").frame
    assert frame["margin_method"].tolist() == ["strict", "sign-flip"]
    assert frame["state"].tolist() == ["undecided", "passed"]


def test_a_sentence_names_the_method_unless_it_is_the_default():
    rule = "no_regression(faithfulness, margin=0.1)"
    default, strict = (
        compare(OLD, NEW, margin_method=method).gate(rule) for method in ("auto", "strict")
    )
    assert "(60 paired; 90 % CI -0.00" in default.frame["why"][0]
    assert "(60 paired; strict 90 % CI -0.0" in strict.frame["why"][0]
    assert strict.notes == ()


def test_where_lower_is_better_the_losses_are_rises():
    worse = compare(
        pipeline("old", hallucination=1 - BEFORE), pipeline("new", hallucination=1 - AFTER)
    ).gate("no_regression(hallucination, margin=0.1, margin_method=strict)")
    higher = compare(OLD, NEW).gate("no_regression(faithfulness, margin=0.1, margin_method=strict)")
    assert worse.frame["pvalue"][0] == pytest.approx(higher.frame["pvalue"][0], rel=1e-9)
    assert worse.frame["ci_high"][0] == pytest.approx(-higher.frame["ci_low"][0], rel=1e-9)


def test_clusters_are_counted_once():
    documents = np.repeat(np.arange(12), 5)
    pair = (
        pipeline("old", faithfulness=BEFORE, document=documents),
        pipeline("new", faithfulness=AFTER, document=documents),
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
    comparison = compare(OLD, NEW, margin_method="auto" if word else "strict")
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
        compare(OLD, NEW).gate(rule)
    assert error.value.place == rule.index(at)


# -- a file of gates


def test_a_file_of_gates_names_the_method(tmp_path):
    path = tmp_path / "gates.toml"
    path.write_text(
        'rules = ["no_regression(faithfulness, margin=0.1)"]\nmargin_method = "strict"\n'
    )
    result = read_gates(path).check(NEW, OLD)
    assert result.frame["margin_method"].tolist() == ["strict"]
    assert "margin_method:strict" in result.signature


def test_without_a_baseline_the_method_is_not_used(tmp_path):
    path = tmp_path / "gates.toml"
    path.write_text('rules = ["mean(faithfulness) >= 0.1"]\nmargin_method = "strict"\n')
    assert read_gates(path).check(NEW).passed


def test_an_unknown_method_in_a_file_is_named_with_its_line(tmp_path):
    path = tmp_path / "gates.toml"
    path.write_text('rules = ["n(faithfulness) > 1"]\nmargin_method = "exact"\n')
    with pytest.raises(ReaderError, match='margin_method must be "auto", "t" or "strict"') as error:
        read_gates(path)
    assert error.value.line == 2


# -- no interval of zero width opens a gate


@pytest.mark.parametrize("gain", [0.0, 1.0])
@pytest.mark.parametrize("method", ["auto", "t"])
def test_equal_differences_without_bounds_leave_no_regression_undecided(gain, method):
    slow = pipeline("old", latency_ms=SLOW), pipeline("new", latency_ms=SLOW + gain)
    result = compare(*slow, margin_method=method).gate("no_regression(latency_ms, margin=50)")
    assert (result.state, result.exit_code()) == ("undecided", 3)
    assert result.frame["why"][0].startswith("the queries do not tell whether new is worse on lat")
    assert "all differences are equal, so they do not show" in result.frame["why"][0]
    assert np.isnan(result.frame["pvalue"][0])


def test_bounds_let_many_equal_differences_decide():
    limited = {"latency_ms": {"bounds": (0, 1000)}}
    slow = (pipeline(name, limited, latency_ms=np.tile(SLOW, 4)) for name in ("old", "new"))
    found = compare(*slow).gate("no_regression(latency_ms, margin=50)").frame.iloc[0]
    # Gaffke's limit of 240 differences of 0 between -1000 and 1000
    assert found["ci_high"] == pytest.approx(1000 * (1 - 0.05 ** (1 / 240)), rel=1e-9)
    assert (found["state"], found["margin_method"]) == ("passed", "strict")


def test_equal_differences_beyond_the_margin_fail():
    slow = pipeline("old", latency_ms=SLOW), pipeline("new", latency_ms=SLOW + 80)
    result = compare(*slow).gate("no_regression(latency_ms, margin=50)")
    assert result.state == "failed"
    assert result.frame["why"][0].startswith("new is worse on latency_ms by more than 50.0")


def test_a_claim_that_cannot_be_tested_is_not_in_the_family():
    slow = (
        pipeline("old", faithfulness=BEFORE, latency_ms=SLOW),
        pipeline("new", faithfulness=AFTER, latency_ms=SLOW),
    )
    result = compare(*slow).gate(
        "no_regression(latency_ms, margin=50)", "no_regression(faithfulness, margin=0.02)"
    )
    assert result.settings["no_regression_family"] == 1
    assert result.frame["pvalue"][1] == result.frame["pvalue_adjusted"][1]


@pytest.mark.parametrize(
    ("rule", "state"),
    [
        ("ci_high(difference(latency_ms)) <= 5", "undecided"),
        ("ci_low(difference(latency_ms)) >= 0", "undecided"),
        ("ci_low(difference(latency_ms)) >= 2", "failed"),
        ("difference(latency_ms) <= 5", "passed"),
    ],
)
def test_a_limit_of_equal_differences_opens_no_gate(rule, state):
    slow = pipeline("old", latency_ms=SLOW), pipeline("new", latency_ms=SLOW + 1)
    assert compare(*slow).gate(rule).state == state


@pytest.mark.parametrize(
    ("rule", "state"),
    [
        ("ci_high(latency_ms) <= 300", "undecided"),
        ("ci_high(latency_ms) <= 200", "failed"),
        ("mean(latency_ms) <= 300", "passed"),
        ("ci_high(median(latency_ms)) <= 300", "passed"),  # order statistics need no spread
    ],
)
def test_a_limit_of_equal_scores_opens_no_gate(rule, state):
    result = gate(pipeline("new", latency_ms=np.full(40, 250.0)), rule)
    assert result.state == state


def test_the_sentence_on_equal_scores_says_why_they_do_not_decide():
    result = gate(pipeline("new", latency_ms=np.full(40, 250.0)), "ci_high(latency_ms) <= 300")
    assert result.frame["why"][0] == (
        "the queries do not tell whether ci_high(latency_ms) is at most 300: all scores are 250 "
        "(40 scored), so the interval has no width and does not show how much others may differ"
    )


def test_a_limit_of_equal_scores_in_clusters_opens_no_gate():
    documents = np.repeat(np.arange(10), 4)
    perfect = pipeline("new", faithfulness=np.ones(40), document=documents)
    result = gate(perfect, "ci_low(faithfulness) >= 0.9", clusters="document")
    assert result.state == "undecided"
    # Without clusters Gaffke's interval has a width: 0.025^(1/40) is 0.912.
    assert gate(perfect, "ci_low(faithfulness) >= 0.9").passed
