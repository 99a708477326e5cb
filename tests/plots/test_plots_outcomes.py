"""Stacked bars of wins, ties and losses."""

from __future__ import annotations

import pytest
from matplotlib.colors import to_hex

from rageval_report import compare
from rageval_report.errors import DataError
from rageval_report.plots import plot
from rageval_report.plots.canvas import BETTER, EQUAL, WORSE

NAN = float("nan")


def pieces(ax) -> list[tuple[str, float, float]]:
    return [(to_hex(bar.get_facecolor()), bar.get_x(), bar.get_width()) for bar in ax.patches]


def test_the_pieces_are_shares_of_the_pairs(comparison):
    found = pieces(plot(comparison, "outcomes", "recall@5"))
    expected = [(BETTER, 0, 3 / 8), (EQUAL, 3 / 8, 4 / 8), (WORSE, 7 / 8, 1 / 8)]
    for (hue, start, width), (their_hue, their_start, their_width) in zip(
        found, expected, strict=True
    ):
        assert hue == their_hue.lower()
        assert (start, width) == (pytest.approx(their_start), pytest.approx(their_width))


def test_counts_stand_in_the_pieces(comparison):
    told = [text.get_text() for text in plot(comparison, "outcomes", "latency_ms").texts]
    assert {"7", "1", "8", "better", "equal", "worse"} <= set(told)


def test_an_empty_piece_is_not_drawn(comparison):
    hues = [hue for hue, _, _ in pieces(plot(comparison, "outcomes", "exact_match"))]
    assert hues == [BETTER.lower(), EQUAL.lower()]


def test_metrics_of_all_scales_stand_together(comparison):
    labels = [label.get_text() for label in plot(comparison, "outcomes").get_yticklabels()]
    assert labels == ["Recall@5", "Faithfulness", "Exact Match", "Latency (ms)"]


def test_losses_are_hatched(comparison):
    bars = plot(comparison, "outcomes", "recall@5").patches
    assert [bool(bar.get_hatch()) for bar in bars] == [False, False, True]


def test_several_candidates_have_a_bar_each(bm25, hyde):
    third = type(hyde)("third", hyde.scores.reset_index())
    ax = plot(compare(bm25, hyde, third, metrics="exact_match"), "outcomes")
    assert len(pieces(ax)) == 4
    assert "Candidates against bm25" in ax.get_title()


def test_no_pair_is_an_error(pipeline):
    old, new = pipeline("old", {"m": [0.5, NAN]}), pipeline("new", {"m": [NAN, 0.5]})
    with pytest.raises(DataError, match="no query is scored in both"):
        plot(old, "outcomes", other=new)


def test_the_pairs_are_counted(comparison, texts):
    assert "5" in [t.get_text() for t in plot(comparison, "outcomes", "faithfulness").texts]
    assert "pairs" in texts(plot(comparison, "outcomes"))
