"""A history in a picture: lines that break, rings, the baseline; two runs, ten and sixty."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.history import DatedRun, trends
from rageval_report.analysis.paired_metric import ComparisonPlan
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.plots import plot
from rageval_report.plots.canvas import VERMILLION

SKILL = np.random.default_rng(7).uniform(0.4, 0.9, 30)


def run(name, drop=0.0, *, first=0, config=None, metrics=("recall",), seed=0):
    rng = np.random.default_rng(seed)
    ids = [f"q{i}" for i in range(first, first + 30)]
    columns = {m: np.clip(SKILL - drop + rng.normal(0, 0.03, 30), 0, 1) for m in metrics}
    made = RAGPipelineEvaluation("hybrid", {"query_id": ids, **columns}, metrics=list(metrics))
    return DatedRun.of(made, name=name, config=config)


def past(*runs, **options):
    return trends(runs, plan=ComparisonPlan(test="t", interval="t"), **options)


def lines(ax):
    """The places of each stretch of a line, without the star of the baseline."""
    return [
        np.round(line.get_xdata()).tolist()
        for line in ax.get_lines()
        if line.get_linestyle() != "--" and line.get_marker() != "*"
    ]


def rings(ax):
    hue = VERMILLION.lower()
    return [
        offset.tolist()
        for one in ax.collections
        if len(one.get_edgecolors()) and to_hex(one.get_edgecolors()[0]) == hue
        for offset in one.get_offsets()
    ]


def test_one_line_runs_through_comparable_runs():
    assert lines(plot(past(run("a"), run("b", seed=1), run("c", seed=2)), "trends")) == [[0, 1, 2]]


def test_a_changed_gold_set_breaks_the_line_and_says_why(texts):
    ax = plot(past(run("a"), run("b", seed=1), run("c", first=5, seed=2)), "trends")
    assert lines(ax) == [[0, 1], [2]]
    assert "query set: 5 added, 5 removed" in texts(ax)
    assert [line.get_xdata()[0] for line in ax.get_lines() if line.get_linestyle() == "--"] == [1.5]


def test_another_judge_breaks_the_line(texts):
    ax = plot(past(run("a", config={"judge": "x"}), run("b", config={"judge": "y"})), "trends")
    assert lines(ax) == [[0], [1]]
    assert "judge: x → y" in texts(ax)


def test_a_run_without_the_metric_leaves_a_gap():
    history = past(run("a"), run("b", metrics=("bleu",)), run("c", seed=1))
    assert lines(plot(history, "trends", "recall")) == [[0], [2]]


def test_a_ring_is_at_the_first_regression_alone(texts):
    runs = [run("a"), run("b", seed=1), run("c", 0.2, seed=2), run("d", 0.2, seed=3)]
    ax = plot(past(*runs), "trends")
    [(place, mean)] = rings(ax)
    assert place == 2
    assert mean == pytest.approx(runs[2].evaluation.scores["recall"].mean())
    assert "Ring: the first run with a regression against a" in texts(ax).replace("\n", " ")


def test_without_a_regression_that_is_said(texts):
    ax = plot(past(run("a"), run("b")), "trends")
    assert rings(ax) == []
    assert "No run shows a regression against a" in texts(ax).replace("\n", " ")


def test_the_dotted_line_of_the_baseline_ends_where_the_line_breaks():
    history = past(run("a"), run("b", seed=1), run("c", first=5, seed=2))
    ax = plot(history, "trends")
    [dotted] = [one for one in ax.collections if one.get_linestyle()[0][1] is not None]
    (left, mean), (right, _) = dotted.get_segments()[0]
    assert (left, right) == (0, 1.3)
    assert mean == pytest.approx(history.frame["mean"][0])


def test_intervals_are_those_of_the_table():
    history = past(run("a"), run("b", seed=1))
    ax = plot(history, "trends")
    bars = [
        one
        for one in ax.collections
        if one.get_linestyle()[0][1] is None and len(one.get_paths()) == 2
    ]
    low_high = [segment[:, 1].tolist() for segment in bars[0].get_segments()]
    assert low_high == history.frame[["ci_low", "ci_high"]].to_numpy().tolist()


def test_several_metrics_are_a_line_each_and_a_legend():
    metrics = ("recall", "faithfulness", "ndcg@10")
    ax = plot(past(run("a", metrics=metrics), run("b", metrics=metrics, seed=1)), "trends")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        *("Recall", "Faithfulness", "nDCG@10")
    ]


def test_more_than_six_metrics_are_left_out_aloud_or_refused(texts):
    metrics = ["recall@1", "recall@3", "recall@5", "mrr", "ndcg@10", "map", "faithfulness"]
    history = past(run("a", metrics=metrics), run("b", metrics=metrics, seed=1))
    assert "Not drawn" in texts(plot(history, "trends"))
    with pytest.raises(DataError, match="7 lines cannot be distinguished"):
        plot(history, "trends", metrics)


@pytest.mark.parametrize("n", [1, 13, 60])
def test_any_number_of_runs_is_drawn_with_names_that_do_not_touch(n):
    runs = [run(f"2026-08-{i:02d}-nightly", seed=i) for i in range(n)]
    ax = plot(past(*runs), "trends")
    ax.figure.canvas.draw()
    labels = [label for label in ax.get_xticklabels() if label.get_text()]
    assert len(labels) >= min(n, 2)
    if labels[0].get_rotation() == 0:
        boxes = [label.get_window_extent() for label in labels]
        assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
    else:
        places = ax.transData.transform([(tick, 0) for tick in ax.get_xticks()])[:, 0]
        assert (np.diff(places) > labels[0].get_fontsize() * ax.figure.dpi / 72).all()


def test_a_history_draws_itself():
    assert past(run("a"), run("b")).plot().get_title() == "Recall — History of hybrid, against a"


def test_an_unknown_metric_names_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'recall'"):
        plot(past(run("a"), run("b")), "trends", "recal")


def test_what_is_no_history_is_refused(bm25, comparison):
    for subject in (bm25, comparison, bm25.evaluation_report()):
        with pytest.raises(DataError, match=r"this plot draws a history: history\('runs/'\); got"):
            plot(subject, "trends")


def test_where_nothing_is_scored_there_is_nothing_to_draw():
    empty = RAGPipelineEvaluation("x", {"query_id": ["a"], "recall": [float("nan")]})
    with pytest.raises(DataError, match="nothing to draw"):
        plot(trends([DatedRun.of(empty)]), "trends")


def test_a_regression_that_is_not_drawn_is_told_all_the_same(texts):
    def made(name, latency, seed):
        rng = np.random.default_rng(seed)
        ids = [f"q{i}" for i in range(30)]
        columns = {"recall": SKILL, "mrr": SKILL, "latency_ms": latency + rng.normal(0, 1, 30)}
        return DatedRun.of(RAGPipelineEvaluation("hybrid", {"query_id": ids, **columns}), name=name)

    told = texts(plot(past(made("a", 100, 0), made("b", 150, 1)), "trends")).replace("\n", " ")
    assert "No run shows a regression against a on these metrics." in told
    assert "Not drawn, worse than a: Latency (ms) at b." in told


def test_a_metric_beyond_six_lines_is_not_said_to_be_on_another_scale(texts):
    names = ("recall", "mrr", "faithfulness", "answer_relevancy", "f1", "bleu", "citation_f1")
    told = texts(plot(past(run("a", metrics=names), run("b", metrics=names)), "trends"))
    assert "Not drawn, more than 6 lines: Citation F1." in told.replace("\n", " ")
    assert "on other scales" not in told
