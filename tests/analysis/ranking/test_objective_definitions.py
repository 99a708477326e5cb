"""How objectives are written: one form in Python, in files and on the command line."""

from __future__ import annotations

import pytest

from rageval_report.analysis.objectives import (
    OBJECTIVES,
    Objective,
    objective_of,
    parse_named_objectives,
    parse_objective,
    quantile_of,
)
from rageval_report.errors import DataError, UnknownNameError


@pytest.mark.parametrize(
    ("text", "objective"),
    [
        ("recall@5", Objective("recall@5")),
        (" recall@5 , ndcg@10", Objective(("recall@5", "ndcg@10"))),
        ("p95(latency_ms)", Objective("latency_ms", statistic="p95")),
        ("median( f1 , recall@5 )", Objective(("f1", "recall@5"), statistic="median")),
        (
            "p99.5(latency_ms), worst=5e3, best=0",
            Objective("latency_ms", statistic="p99.5", worst=5000.0, best=0.0),
        ),
        ("stars,best=5", Objective("stars", best=5.0)),
        # Brackets in the name of a metric are no statistic.
        ("f1(macro)", Objective("f1(macro)")),
    ],
)
def test_a_text_is_an_objective(text, objective):
    assert parse_objective(text) == objective
    assert objective_of(text) == objective


@pytest.mark.parametrize(
    ("text", "error", "told"),
    [
        ("", DataError, "must be metrics, or one statistic of metrics"),
        ("recall@5,", DataError, "must be metrics, or one statistic"),
        ("worst=5", DataError, "must be metrics, or one statistic"),
        ("p95(latency_ms), recall@5", DataError, "one statistic of metrics"),
        ("p95()", DataError, "one statistic of metrics"),
        ("stars, best=five", DataError, "worst and best must be numbers; got 'five'"),
        ("stars, best=nan", DataError, "worst and best must be numbers"),
        ("stars, best=5, worst=5", DataError, "best and worst must differ"),
        ("p0(latency_ms)", DataError, "a percentile must be between 0 and 100"),
    ],
)
def test_another_text_is_refused(text, error, told):
    with pytest.raises(error, match=told):
        parse_objective(text)


def test_names_of_metrics_are_an_objective():
    assert objective_of(["recall@5", "ndcg@10"]) == Objective(("recall@5", "ndcg@10"))
    assert objective_of(["p95(latency_ms)"]) == Objective("latency_ms", statistic="p95")
    with pytest.raises(DataError, match="at least one metric"):
        objective_of([])
    with pytest.raises(UnknownNameError, match='statistic must be "mean", "median" or "p95"'):
        Objective("latency_ms", statistic="average")


def test_a_name_stands_before_the_first_equals_sign():
    assert parse_named_objectives(["speed=p95(latency_ms),worst=9,best=1", "faithfulness"]) == {
        "speed": Objective("latency_ms", statistic="p95", worst=9.0, best=1.0),
        "faithfulness": Objective("faithfulness"),
    }
    named = parse_named_objectives(["q=f1", "latency"])
    assert named == {"q": Objective("f1"), "latency": OBJECTIVES["latency"]}
    assert parse_named_objectives(["stars,worst=1,best=5"]) == {
        "stars,worst=1,best=5": Objective("stars", worst=1.0, best=5.0)
    }
    assert parse_named_objectives(["faithfulness", "p95(latency_ms)"]) == [
        "faithfulness",
        "p95(latency_ms)",
    ]
    assert parse_named_objectives([]) is None
    for text in ("=f1", "f1="):
        with pytest.raises(DataError, match="write NAME=METRIC,METRIC"):
            parse_named_objectives([text])


def test_an_unknown_statistic_is_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'median'"):
        quantile_of("medians")
    with pytest.raises(UnknownNameError, match=r'must be "mean", "median" or "p95"; got 0\.95'):
        quantile_of(0.95)
    for percentile in ("p0", "p100", "p101"):
        with pytest.raises(DataError, match="a percentile must be between 0 and 100"):
            quantile_of(percentile)
