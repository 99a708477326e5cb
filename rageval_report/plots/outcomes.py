"""On how many queries a candidate is better, equal, worse: one stacked bar a metric."""

from __future__ import annotations

from typing import Unpack

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from rageval_report.errors import DataError
from rageval_report.plots.options import ArtistOptions, MetricNames
from rageval_report.plots.rows import Row, height_of, lay_rows
from rageval_report.plots.style import (
    BETTER,
    EQUAL,
    SMALL,
    WORSE,
    WORSE_HATCH,
    axes_for,
    ink,
    look_of,
    tidy,
    words_above,
)
from rageval_report.plots.subjects import (
    Compared,
    Evaluation,
    chosen,
    comparison_of,
    metrics_compared,
)

# A count is printed in its piece of the bar where that is at least this share of the axis wide.
_LEAST_WIDTH = 0.022
_PIECES = (
    ("wins", "better", BETTER, None, "white"),
    ("ties", "equal", EQUAL, None, "black"),
    ("losses", "worse", WORSE, WORSE_HATCH, ""),
)


def outcomes(
    subject: Compared | Evaluation,
    metrics: MetricNames = None,
    *,
    other: Evaluation | None = None,
    ax: Axes | None = None,
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw the shares of queries that are won, tied and lost, a bar a metric and a candidate.

    Parameters
    ----------
    subject : Comparison, or RAGPipelineEvaluation with `other`
        What to draw; an evaluation is the baseline.
    metrics : str or iterable of str, optional
        By any of their names; all that were compared where not given.
    other : RAGPipelineEvaluation, optional
        The candidate, where the subject is an evaluation.
    ax : Axes, optional
        Where to draw; a new figure where not given.
    **style
        For the bars.

    Returns
    -------
    Axes

    Raises
    ------
    UnknownNameError
        If a metric is not known.
    DataError
        If no query is scored in both runs.

    Notes
    -----
    Better and worse go by the metric's direction, so metrics of any scale stand beside each other.
    Each bar is 100 % of the pairs of its row; the numbers in it count queries.
    """
    comparison = comparison_of(subject, other, metrics)
    names = [metric.name for metric in chosen(metrics_compared(comparison), metrics)]
    frame = pd.concat([comparison.frame[comparison.frame["metric"] == name] for name in names])
    frame = frame[frame["n"] > 0]
    if not len(frame):
        raise DataError("nothing to draw: no query is scored in both runs")
    rows = _rows(comparison, frame)
    made = axes_for(ax, 8.2, height_of(rows, 0.36))
    places = lay_rows(made, rows, ("pairs",))
    for place, (_, row) in zip(places, frame.iterrows(), strict=True):
        _draw_bar(made, row, place, style)
    _finish(made, comparison)
    return made


def _rows(comparison: Compared, frame: pd.DataFrame) -> list[Row]:
    """Candidates under the headings of their metrics, where there are several."""
    known = metrics_compared(comparison)
    several = len(comparison.pairings) > 1
    rows = []
    for name, candidate, n in zip(frame["metric"], frame["candidate"], frame["n"], strict=True):
        title = known[name].title
        cells = (f"{n:,}",)
        rows.append(Row(candidate, cells, title) if several else Row(title, cells))
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
        told = f"{row[column]:,}"
        if share >= _LEAST_WIDTH * len(told):
            box = {"facecolor": edge, "edgecolor": "none", "pad": 1.2} if hatch else None
            ax.text(
                start + share / 2,
                place,
                told,
                ha="center",
                va="center",
                fontsize=SMALL,
                color=letters or ink(),
                bbox=box,
            )
        start += share


def _finish(ax: Axes, comparison: Compared) -> None:
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    ax.set_xlabel("share of queries scored in both")
    names = [pair.candidate.name for pair in comparison.pairings]
    baseline = comparison.pairings[0].baseline.name
    tidy(ax, f"{names[0] if len(names) == 1 else 'Candidates'} against {baseline}")
    words_above(ax, [("better", BETTER), ("equal", ink()), ("worse", WORSE)])
