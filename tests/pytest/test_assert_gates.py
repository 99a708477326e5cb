import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import GateError
from rageval_report.pytest import assert_gates


@pytest.fixture
def evaluation():
    data = {"query_id": ["q1", "q2", "q3"], "mrr": [0.25, 0.5, 1], "faithfulness": [1, None, 0]}
    return RAGPipelineEvaluation("v2", data)


@pytest.fixture
def baseline():
    data = {"query_id": ["q1", "q2", "q3"], "mrr": [1, 0.5, 1], "faithfulness": [1, None, 0]}
    return RAGPipelineEvaluation("v1", data)


def test_the_result_is_returned_if_all_rules_hold(evaluation):
    result = assert_gates(evaluation, ["mean(mrr) >= 0.5", "n(mrr) == 3"])
    assert result.frame["value"].tolist() == [pytest.approx(1.75 / 3), 3]


def test_the_error_has_every_rule_that_does_not_hold_and_no_other(evaluation):
    rules = ["min(mrr) >= 0.3", "n(mrr) == 3", "unscored(faithfulness) <= 10%"]
    with pytest.raises(GateError) as caught:
        assert_gates(evaluation, rules)
    assert str(caught.value).splitlines() == [
        "2 of 3 gates do not hold",
        "min(mrr) >= 0.3",
        "  min(mrr) is 0.25, not at least 0.3 (3 scored)",
        "  1 query below 0.3 on mrr: 'q1'",
        "unscored(faithfulness) <= 10%",
        # SciPy 1.17: binomtest(1, 3).proportion_ci("exact") is 0.0084 to 0.9057
        "  unscored(faithfulness) is 0.3333, not at most 0.1 (2 scored, 1 unscored; 95 % CI 0.008 "
        "to 0.906); the interval contains the threshold",
        "  1 query unscored on faithfulness: 'q2'",
    ]


def test_a_baseline_answers_rules_that_need_one(evaluation, baseline):
    assert assert_gates(evaluation, ["losses(mrr) == 1"], baseline=baseline).passed


def test_a_comparison_of_three_queries_does_not_open_a_gate(evaluation, baseline):
    with pytest.raises(GateError, match="too few queries for a test: 3, at least 6 are needed"):
        assert_gates(evaluation, ["ci_low(difference(mrr)) >= -1"], baseline)
