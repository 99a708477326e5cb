import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.analysis.rules import (
    LONGEST_RULE,
    OPERATORS,
    RuleError,
    UnknownInRuleError,
    parse_rule,
)
from rageval_report.errors import DataError, UnknownNameError


def words(rule):
    return [
        (one.keyword.text if one.keyword else None, one.value.text) for one in rule.call.arguments
    ]


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_is_read(operator):
    rule = parse_rule(f"mean(faithfulness) {operator} 0.8")
    assert (rule.call.figure.text, rule.operator, rule.threshold) == ("mean", operator, 0.8)


@pytest.mark.parametrize(
    "text",
    [
        "share_below(recall@5,0.5)<=5%",
        "  share_below ( recall@5 , 0.5 )  <=  5 % ",
        "share_below(metric=recall@5, threshold=0.5) <= 0.05",
        "share_below('recall@5', .5) <= 5e-2",
        'share_below("recall@5", threshold = +0.50)\n<= 0.05',
    ],
)
def test_blanks_quotes_and_keywords_are_free(text):
    rule = parse_rule(text)
    assert (rule.call.figure.text, rule.operator, rule.threshold) == ("share_below", "<=", 0.05)
    assert words(rule)[0][1] == "recall@5"
    assert rule.number(rule.call.arguments[1].value) == 0.5


def test_a_name_may_hold_anything_in_quotes():
    rule = parse_rule("mean('f1 (macro), =3') >= 1")
    assert words(rule) == [(None, "f1 (macro), =3")]


def test_a_name_may_have_blanks_without_quotes():
    assert words(parse_rule("mean(Reciprocal Rank) >= 0.5")) == [(None, "Reciprocal Rank")]


def test_a_figure_may_be_asked_of_a_figure():
    rule = parse_rule("ci_low(difference(recall@5)) >= -0.02")
    assert rule.call.arguments[0].value.figure.text == "difference"
    assert rule.threshold == -0.02


def test_a_claim_has_no_operator():
    rule = parse_rule("no_regression(faithfulness, margin=2%)")
    assert (rule.operator, math.isnan(rule.threshold)) == ("", True)
    assert words(rule) == [(None, "faithfulness"), ("margin", "2%")]


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        ("mean(mrr >= 0.8", 9, 'expected "," or ")" here'),
        ("mean(mrr", 8, 'expected "," or ")" here'),
        ("mean(mrr) = 0.8", 10, "did you mean ==?"),
        ("mean(mrr) => 0.8", 10, "did you mean >=?"),
        ("mean(mrr) ≥ 0.8", 10, "did you mean >=?"),
        ("mean(mrr) != 0.8", 10, "is not an operator; known: >= > <= < =="),
        ("mean(mrr) 0.8", 10, "expected one of >= > <= < == here"),
        ("mean(mrr) >= high", 13, "expected a number, such as 0.8 or 80%; got 'high'"),
        ("mean(mrr) >= nan", 13, "expected a number"),
        ("mean(mrr) >= inf", 13, "expected a number"),
        ("mean(mrr) >= 1e999", 13, "expected a number"),
        ("mean(mrr) >= '0.8'", 13, "expected a number"),
        ("mean(mrr) >=", 12, "expected a number here"),
        ("mean(mrr) >= 0,8", 14, "expected the end of the rule"),
        ("mean(mrr) >= 0.8 <= 0.9", 17, "write two rules for two thresholds"),
        ("mean('mrr) >= 0.8", 5, "never closed"),
        ("mean(, 0.5) >= 0.8", 5, "expected a metric or a number here"),
        ("mean(mrr,,) >= 0.8", 9, "expected a metric or a number here"),
        (">= 0.8", 0, "expected a figure, such as mean(faithfulness), here"),
        ("ci_low(ci_low(mean(mrr))) >= 0.8", 18, "deeper than a figure of a figure"),
        ("", 0, "got nothing"),
    ],
)
def test_an_error_points_at_the_character(text, place, told):
    with pytest.raises(RuleError) as error:
        parse_rule(text)
    assert told in error.value.problem
    assert error.value.place == place
    problem, rule, caret = str(error.value).split("\n")
    assert (problem, rule, caret) == (error.value.problem, f"  {text}", "  " + " " * place + "^")


def test_the_caret_stands_under_the_character_where_characters_are_wide():
    with pytest.raises(RuleError) as error:
        parse_rule("mean(再現率) >> 1")
    assert error.value.pointer[1].index("^") == len("mean(") + 6 + len(") ")


def test_an_error_says_where_the_rule_stands():
    with pytest.raises(RuleError, match=r"^gates\.toml, line 3: expected a number"):
        parse_rule("mean(mrr) >= high", "gates.toml, line 3")


@pytest.mark.parametrize("thing", [None, 0.8, b"mean(mrr) >= 1", ["mean(mrr) >= 1"]])
def test_a_rule_is_a_text(thing):
    with pytest.raises(DataError, match="a rule must be a text, such as"):
        parse_rule(thing)


def test_an_endless_rule_is_refused():
    with pytest.raises(DataError, match="at most 1000 characters"):
        parse_rule("(" * (LONGEST_RULE + 1))


@pytest.mark.parametrize("kind", [RuleError, UnknownInRuleError])
def test_an_error_survives_pickling(kind):
    error = kind("problem", "mean(mrr)", 5, "gates.toml, line 3")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.place) == (kind, str(error), 5)


def test_an_unknown_name_is_both_kinds_of_error():
    assert issubclass(UnknownInRuleError, RuleError)
    assert issubclass(UnknownInRuleError, UnknownNameError)


@given(st.text(max_size=40) | st.text("mean(x)@5,='\"<>=0.8% \n", max_size=30))
def test_any_text_is_a_rule_or_an_error_that_points_into_it(text):
    rule = error = None
    try:
        rule = parse_rule(text)
    except RuleError as exc:
        error = exc
    if rule is None:
        assert 0 <= error.place <= len(error.rule)
        assert error.pointer[1].endswith("^")
    else:
        assert rule.text == text.strip()
        assert (rule.operator == "") == math.isnan(rule.threshold)
