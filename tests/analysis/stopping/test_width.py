"""ci_width: the interval of the mean is looked at after every twentieth query."""

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.stopping import StopPlan, decide, parse_stop_rules
from rageval_report.stats import mean_interval

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
