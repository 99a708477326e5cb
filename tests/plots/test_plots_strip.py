"""The strip: means and differences of the comparison, right is better, one line of zero."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.plots import plot
from rageval_report.plots.canvas import number_text
from rageval_report.plots.strip import _INTERVALS, _SCALE, _across, _blocks, _rows
from rageval_report.plots.subjects import compared_metrics

N = 40
MIDDLE = sum(_INTERVALS) / 2


def side(name: str, **columns) -> RAGPipelineEvaluation:
    return RAGPipelineEvaluation(name, {"query_id": [f"q{i}" for i in range(N)], **columns})


@pytest.fixture(scope="module")
def decided():
    """Better on recall, worse on latency, equal on f1, undecided on mrr, equivalent on bleu."""
    rng = np.random.default_rng(0)
    base, noise = rng.random((2, N))
    old = side("old", recall=base * 0.5, latency_ms=100 + 10 * base, f1=base, mrr=base, bleu=base)
    new = side(
        "new",
        recall=base * 0.5 + 0.2 + 0.1 * noise,
        latency_ms=150 + 10 * noise,
        f1=base,
        mrr=np.clip(base + np.where(noise > 0.5, 0.2, -0.2), 0, 1),
        bleu=base + 0.001 * (noise - 0.5),
    )
    return compare(old, new, margin={"bleu": 0.05})


def rows(comparison):
    pair = comparison.pairings[0]
    return list(_rows(comparison, pair, list(compared_metrics(comparison).values())))


def test_the_words_are_the_verdicts_of_the_comparison(decided):
    words = {row.metric.name: row.verdict for row in rows(decided)}
    assert words == {
        "recall": "better",
        "latency_ms": "worse",
        "f1": "identical",
        "mrr": "undecided",
        "bleu": "equivalent",
    }


def test_numbers_are_those_of_the_comparison(decided):
    shown = [text.get_text() for text in plot(decided, "strip").texts]
    for _, row in decided.frame.iterrows():
        assert number_text(row["baseline_mean"]) in shown
        assert number_text(row["candidate_mean"]) in shown
        assert number_text(row["difference"], signed=True) in shown


def test_better_is_right_also_where_lower_is_better(decided):
    for block in _blocks(rows(decided)):
        for row in block.rows:
            place = _across(row.sign * row.difference, block)
            if row.verdict == "better":
                assert place > MIDDLE
            if row.verdict == "worse":
                assert place < MIDDLE


def test_zero_is_one_place_for_all_scales_and_no_interval_is_cut(decided):
    for block in _blocks(rows(decided)):
        assert _across(0.0, block) == MIDDLE
        for row in block.rows:
            for end in (row.low, row.high):
                assert abs(end) <= block.reach


def test_metrics_of_one_scale_share_a_block_and_others_have_their_own(decided):
    blocks = _blocks(rows(decided))
    assert [[row.metric.name for row in block.rows] for block in blocks] == [
        ["recall", "f1", "mrr", "bleu"],
        ["latency_ms"],
    ]
    assert (blocks[0].low, blocks[0].high) == (0.0, 1.0)
    assert blocks[1].low == 0.0
    assert blocks[1].high >= 155


def test_marks_of_means_stay_on_their_scale(comparison):
    ax = plot(comparison, "strip")
    dots = [line for line in ax.lines if line.get_marker() == "o" and line.get_markersize() == 6]
    left, right = _SCALE
    assert len(dots) == len(comparison.frame)
    for dot in dots:
        assert left <= dot.get_xdata()[0] <= right


def test_too_few_queries_are_not_a_verdict():
    old, new = ({"query_id": ["a", "b"], "recall": [x, x]} for x in (0.5, 1.0))
    comparison = compare(RAGPipelineEvaluation("old", old), RAGPipelineEvaluation("new", new))
    assert [row.verdict for row in rows(comparison)] == ["not tested"]
    assert "too few queries" in [text.get_text() for text in plot(comparison, "strip").texts]


def test_a_candidate_of_several_must_be_named(bm25, hyde):
    several = compare(bm25, hyde, hyde.with_name("third"))
    with pytest.raises(DataError, match="candidate must name one of several"):
        plot(several, "strip")
    with pytest.raises(UnknownNameError, match="third"):
        plot(several, "strip", candidate="thrd")
    assert "third" in plot(several, "strip", candidate="third").get_title()


def test_unscored_metrics_are_an_error_if_nothing_else_is_there():
    nothing = {"query_id": ["a", "b"], "recall": [float("nan")] * 2}
    runs = [RAGPipelineEvaluation(name, nothing, metrics=["recall"]) for name in ("old", "new")]
    with pytest.raises(DataError, match="nothing to draw"):
        plot(compare(*runs), "strip")


def test_narrow_axes_leave_out_the_numbers_of_both_sides(decided):
    _, ax = plt.subplots(figsize=(5, 3))
    shown = [text.get_text() for text in plot(decided, "strip", ax=ax).texts]
    assert "better" in shown
    assert not any(text.startswith("better on") for text in shown)
