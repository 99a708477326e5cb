"""On how many queries a candidate is better, equal and worse: one stacked bar per metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from rageval_report.errors import DataError
from rageval_report.plots import canvas, subjects
from rageval_report.plots.labelled_rows import Piece, PlotRow, height_of, lay_rows, stack_pieces
from rageval_report.plots.options import ArtistOptions, MetricNames
from rageval_report.scores.names import ShortNames

# A count is printed in its piece of the bar if the piece has this share of the axis per digit.
_LEAST_WIDTH = 0.022
_PIECES = (
    ("wins", canvas.BETTER, None, "white"),
    ("ties", canvas.EQUAL, None, "black"),
    ("losses", canvas.WORSE, canvas.WORSE_HATCH, ""),
)


def outcomes(
    subject: subjects.Comparison | subjects.Evaluation,
    metrics: MetricNames = None,
    *,
    other: subjects.Evaluation | None = None,
    ax: Axes | None = None,
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw the shares of queries that are won, tied and lost, one bar per metric and candidate.

    Parameters
    ----------
    subject : Comparison, or RAGPipelineEvaluation with `other`
        The comparison; an evaluation is the baseline.
    metrics : str or iterable of str, optional
        By any of their names; all compared metrics if omitted.
    other : RAGPipelineEvaluation, optional
        The candidate, if the subject is an evaluation.
    ax, **style
        As for every plot, see `rageval_report.plots`; the style is that of the bars.

    Raises
    ------
    DataError
        If no query is scored in both runs.

    Notes
    -----
    Better and worse follow the metric's direction, so metrics of any scale can be compared. A bar
    is 100 % of the pairs of its row; the numbers in it count queries.
    """
    comparison = subjects.comparison_of(subject, other, metrics)
    requested = subjects.select_metrics(subjects.compared_metrics(comparison), metrics)
    drawn, no_room = subjects.fitting_metrics(comparison, requested, named=metrics is not None)
    frame = pd.concat(
        [comparison.frame[comparison.frame["metric"] == metric.name] for metric in drawn]
    )
    frame = frame[frame["n"] > 0]
    if not len(frame):
        raise DataError("nothing to draw: no query is scored in both runs")
    names = subjects.names_of_comparison(comparison)
    rows = _rows(comparison, frame, names)
    axes = canvas.axes_for(ax, 8.2, height_of(rows, 0.36))
    places = lay_rows(axes, rows, ("pairs",))
    for place, (_, row) in zip(places, frame.iterrows(), strict=True):
        stack_pieces(axes, place, _pieces(row), style)
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    axes.set_xlabel("share of queries scored in both")
    canvas.note_below(
        axes, subjects.left_out_note(no_room, "for lack of room"), canvas.names_note(names)
    )
    canvas.tidy(axes, subjects.comparison_title(comparison))
    canvas.words_above(
        axes, [("better", canvas.BETTER), ("equal", canvas.ink()), ("worse", canvas.WORSE)]
    )
    return axes


def _rows(comparison: subjects.Comparison, frame: pd.DataFrame, names: ShortNames) -> list[PlotRow]:
    """The rows; if there are several candidates, under headings of their metrics."""
    known = subjects.compared_metrics(comparison)
    several = len(comparison.pairings) > 1
    rows = []
    for name, candidate, n in zip(frame["metric"], frame["candidate"], frame["n"], strict=True):
        title = known[name].title
        cells = (f"{n:,}",)
        label = names.of(candidate)
        rows.append(PlotRow(label, cells, title) if several else PlotRow(title, cells))
    return rows


def _pieces(row: pd.Series) -> Iterator[Piece]:
    for column, hue, hatch, letters in _PIECES:
        share, count = float(row[column]) / float(row["n"]), f"{row[column]:,}"
        yield share, count if share >= _LEAST_WIDTH * len(count) else "", hue, hatch, letters
