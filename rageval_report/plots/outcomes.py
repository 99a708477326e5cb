"""On how many queries a candidate is better, equal and worse: one stacked bar per metric."""

from __future__ import annotations

from typing import Unpack

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from rageval_report.errors import DataError
from rageval_report.names.short_names import ShortNames
from rageval_report.plots.labelled_rows import PlotRow, height_of, lay_rows
from rageval_report.plots.options import ArtistOptions, MetricNames
from rageval_report.plots.style import (
    BETTER,
    EQUAL,
    SMALL,
    WORSE,
    WORSE_HATCH,
    axes_for,
    ink,
    look_of,
    names_note,
    note_below,
    tidy,
    words_above,
)
from rageval_report.plots.subjects import (
    DrawnComparison,
    Evaluation,
    compared_metrics,
    comparison_of,
    comparison_title,
    fitting_metrics,
    left_out_note,
    names_of_comparison,
    select_metrics,
)

# A count is printed in its piece of the bar if the piece has this share of the axis per digit.
_LEAST_WIDTH = 0.022
_PIECES = (
    ("wins", "better", BETTER, None, "white"),
    ("ties", "equal", EQUAL, None, "black"),
    ("losses", "worse", WORSE, WORSE_HATCH, ""),
)


def outcomes(
    subject: DrawnComparison | Evaluation,
    metrics: MetricNames = None,
    *,
    other: Evaluation | None = None,
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
    comparison = comparison_of(subject, other, metrics)
    requested = select_metrics(compared_metrics(comparison), metrics)
    drawn, no_room = fitting_metrics(comparison, requested, named=metrics is not None)
    frame = pd.concat(
        [comparison.frame[comparison.frame["metric"] == metric.name] for metric in drawn]
    )
    frame = frame[frame["n"] > 0]
    if not len(frame):
        raise DataError("nothing to draw: no query is scored in both runs")
    names = names_of_comparison(comparison)
    rows = _rows(comparison, frame, names)
    axes = axes_for(ax, 8.2, height_of(rows, 0.36))
    places = lay_rows(axes, rows, ("pairs",))
    for place, (_, row) in zip(places, frame.iterrows(), strict=True):
        _draw_bar(axes, row, place, style)
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    axes.set_xlabel("share of queries scored in both")
    note_below(axes, left_out_note(no_room, "for lack of room"), names_note(names))
    tidy(axes, comparison_title(comparison))
    words_above(axes, [("better", BETTER), ("equal", ink()), ("worse", WORSE)])
    return axes


def _rows(comparison: DrawnComparison, frame: pd.DataFrame, names: ShortNames) -> list[PlotRow]:
    """The rows; if there are several candidates, under headings of their metrics."""
    known = compared_metrics(comparison)
    several = len(comparison.pairings) > 1
    rows = []
    for name, candidate, n in zip(frame["metric"], frame["candidate"], frame["n"], strict=True):
        title = known[name].title
        cells = (f"{n:,}",)
        label = names.of(candidate)
        rows.append(PlotRow(label, cells, title) if several else PlotRow(title, cells))
    return rows


def _draw_bar(ax: Axes, row: pd.Series, place: float, style: ArtistOptions) -> None:
    start = 0.0
    for column, _, hue, hatch, letters in _PIECES:
        share = float(row[column]) / float(row["n"])
        if share == 0.0:
            continue
        edge = ax.get_facecolor()
        look = look_of(style, height=0.7, facecolor=hue, edgecolor=edge, hatch=hatch)
        ax.barh(place, share, left=start, linewidth=0.8, **look)
        count = f"{row[column]:,}"
        if share >= _LEAST_WIDTH * len(count):
            # Without a background, the hatching would cross the digits.
            box = {"facecolor": edge, "edgecolor": "none", "pad": 1.2} if hatch else None
            ax.text(
                start + share / 2,
                place,
                count,
                ha="center",
                va="center",
                fontsize=SMALL,
                color=letters or ink(),
                bbox=box,
            )
        start += share
