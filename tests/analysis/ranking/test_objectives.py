"""How objectives and weights are written."""

import pytest

from rageval_report.analysis.objectives import (
    OBJECTIVES,
    Objective,
    check_weights,
    objective_of,
    parse_named_objectives,
    parse_objective,
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
        (["recall@5", "ndcg@10"], Objective(("recall@5", "ndcg@10"))),
        (["p95(latency_ms)"], Objective("latency_ms", statistic="p95")),
    ],
)
def test_a_text_or_a_list_of_names_is_an_objective(text, objective):
    assert objective_of(text) == objective


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "must be metrics, or one statistic of metrics"),
        ("recall@5,", "must be metrics, or one statistic"),
        ("worst=5", "must be metrics, or one statistic"),
        ("p95(latency_ms), recall@5", "one statistic of metrics"),
        ("p95()", "one statistic of metrics"),
        ("stars, best=five", "worst and best must be numbers; got 'five'"),
        ("stars, best=nan", "worst and best must be numbers"),
        ("stars, best=5, worst=5", "best and worst must differ"),
        ("p0(latency_ms)", "a percentile must be between 0 and 100"),
    ],
)
def test_another_text_is_refused(text, told):
    with pytest.raises(DataError, match=told):
        parse_objective(text)
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
    texts = ["faithfulness", "p95(latency_ms)"]
    assert parse_named_objectives(texts) == texts
    assert parse_named_objectives([]) is None
    for text in ("=f1", "f1="):
        with pytest.raises(DataError, match="write NAME=METRIC,METRIC"):
            parse_named_objectives([text])


@pytest.mark.parametrize(
    ("weights", "error", "told"),
    [
        ({"acuracy": 1}, UnknownNameError, "Did you mean 'accuracy'"),
        ({"accuracy": -1}, DataError, ">= 0"),
        ({"accuracy": float("inf")}, DataError, ">= 0"),
        ({"accuracy": 0, "cost": 0}, DataError, "are all 0"),
    ],
)
def test_weights_that_make_no_sense_are_refused_without_scores(weights, error, told):
    with pytest.raises(error, match=told):
        check_weights(weights)
    # Objectives and rubrics of one's own are known.
    check_weights({"speed": 1, "tone_q": 2}, {"speed": "latency_ms"}, ["tone_q"])
