"""The paired differences of one metric: one dot a query, from the smallest to the largest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from rageval_report.errors import DataError
from rageval_report.plots.options import ArtistOptions
from rageval_report.plots.style import (
    BETTER,
    BETTER_MARKER,
    EQUAL_MARKER,
    GREY,
    SMALL,
    WORSE,
    WORSE_HATCH,
    WORSE_MARKER,
    axes_for,
    ink,
    interval_text,
    level_text,
    look_of,
    note_below,
    plain,
    shortened,
    tidy,
)
from rageval_report.plots.subjects import (
    Compared,
    Evaluation,
    Pair,
    comparison_of,
    metrics_compared,
    one_candidate,
    one_metric,
)
from rageval_report.scores import Metric
from rageval_report.types import FloatArray

# With more pairs than this, dots would merge into a band: the curve is filled instead.
_MOST_DOTS = 400
_TIED = 1e-12

BoolArray = npt.NDArray[np.bool_]
# What the words at the upper left take of the axes.
_WORDS_WIDTH, _WORDS_HEIGHT = 0.5, 0.24


@dataclass(frozen=True, eq=False)
class Sorted:
    """The differences in rising order, and which of them are better, worse, equal."""

    values: FloatArray
    better: BoolArray
    worse: BoolArray

    @property
    def equal(self) -> BoolArray:
        """Neither better nor worse."""
        return ~(self.better | self.worse)


def differences(
    subject: Compared | Evaluation,
    metric: str | None = None,
    *,
    other: Evaluation | None = None,
    candidate: str | None = None,
    ax: Axes | None = None,
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw the paired differences of one metric, sorted, with their mean and its interval.

    Parameters
    ----------
    subject : Comparison, or RAGPipelineEvaluation with `other`
        What to draw; an evaluation is the baseline.
    metric : str, optional
        By any of its names; needed where several were compared.
    other : RAGPipelineEvaluation, optional
        The candidate, where the subject is an evaluation.
    candidate : str, optional
        Which candidate, where the comparison has several.
    ax : Axes, optional
        Where to draw; a new figure where not given.
    **style
        For the dots, or the filled areas.

    Returns
    -------
    Axes

    Raises
    ------
    UnknownNameError
        If the metric or the candidate is not known.
    DataError
        If no query is scored in both runs, or it is not clear what is meant.

    Notes
    -----
    Up to 400 pairs are dots: upright triangles where the candidate is better, by the metric's
    direction, hanging ones where it is worse. More are a filled curve, hatched where worse.
    """
    comparison = comparison_of(subject, other, metric)
    known = one_metric(metrics_compared(comparison), metric)
    pair = one_candidate(comparison, candidate)
    values = np.sort(comparison.differences(known.name, pair.candidate.name).to_numpy())
    if not values.size:
        raise DataError(
            f"nothing to draw: no query is scored on {known.name!r} in both "
            f"{pair.baseline.name!r} and {pair.candidate.name!r}"
        )
    drawn = _sorted(values, known)
    made = axes_for(ax, 6.4, 4.2)
    made.axhline(0, color=GREY, linewidth=1.0, zorder=1)
    draw = _draw_dots if values.size <= _MOST_DOTS else _draw_areas
    draw(made, drawn, style)
    row = _row_of(comparison, known, pair)
    _mark_mean(made, row)
    _limit(made, drawn)
    _label(made, known, pair, drawn, row)
    _words(made, drawn, row, comparison.settings.get("confidence_level", 0.95))
    return made


def _sorted(values: FloatArray, metric: Metric) -> Sorted:
    gain = values if metric.greater_is_better else -values
    return Sorted(values, gain > _TIED, gain < -_TIED)


def _row_of(comparison: Compared, metric: Metric, pair: Pair) -> pd.Series:
    frame = comparison.frame
    mine = (frame["metric"] == metric.name) & (frame["candidate"] == pair.candidate.name)
    return frame[mine].iloc[0]


def _draw_dots(ax: Axes, drawn: Sorted, style: ArtistOptions) -> None:
    places = np.arange(1, drawn.values.size + 1)
    size = 40 if drawn.values.size <= 60 else 20
    for shown, hue, marker, scale in (
        (drawn.equal, GREY, EQUAL_MARKER, 0.5),
        (drawn.worse, WORSE, WORSE_MARKER, 1.0),
        (drawn.better, BETTER, BETTER_MARKER, 1.0),
    ):
        ax.vlines(places[shown], 0, drawn.values[shown], color=hue, alpha=0.35, linewidth=0.8)
        look = look_of(style, color=hue, marker=marker, s=size * scale, linewidth=0)
        ax.scatter(places[shown], drawn.values[shown], zorder=3, **look)


def _draw_areas(ax: Axes, drawn: Sorted, style: ArtistOptions) -> None:
    places = np.arange(1, drawn.values.size + 1)
    for shown, hue, hatch in ((drawn.worse, WORSE, WORSE_HATCH), (drawn.better, BETTER, None)):
        look = look_of(style, facecolor=hue, edgecolor=ax.get_facecolor(), hatch=hatch)
        ax.fill_between(places, 0, drawn.values, where=list(shown), step="mid", linewidth=0, **look)
    ax.step(places, drawn.values, where="mid", color=ink(), linewidth=0.8)


def _mark_mean(ax: Axes, row: pd.Series) -> None:
    """A line at the mean difference, a band over its interval."""
    mean, low, high = (float(row[name]) for name in ("difference", "ci_low", "ci_high"))
    if np.isfinite([low, high]).all():
        ax.axhspan(low, high, color=GREY, alpha=0.3, linewidth=0, zorder=0)
    if np.isfinite(mean):
        ax.axhline(mean, color=ink(), linewidth=1.2, linestyle="--", zorder=2)


def _limit(ax: Axes, drawn: Sorted) -> None:
    """Room around the data, and above the smallest differences for the words at the upper left."""
    values = drawn.values
    largest = float(np.abs(values).max()) or 1.0
    low, high = min(values[0], 0.0) - 0.12 * largest, max(values[-1], 0.0) + 0.12 * largest
    under_words = max(float(values[int(_WORDS_WIDTH * (values.size - 1))]), 0.0)
    needed = low + (under_words + 0.04 * largest - low) / (1.0 - _WORDS_HEIGHT)
    ax.set_ylim(low, max(high, needed))
    ax.set_xlim(0.5 - 0.02 * values.size, 0.5 + 1.02 * values.size)


def _label(ax: Axes, metric: Metric, pair: Pair, drawn: Sorted, row: pd.Series) -> None:
    n, n_dropped = drawn.values.size, int(row["n_dropped"])
    dropped = f"; {n_dropped:,} more unscored" if n_dropped else ""
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlabel(
        f"queries, sorted by difference (n = {n:,} {'pair' if n == 1 else 'pairs'}{dropped})"
    )
    way = "" if metric.greater_is_better else "\n(lower is better)"
    ax.set_ylabel(
        plain(" − ".join(shortened(run.name, 18) for run in (pair.candidate, pair.baseline)) + way)
    )
    tidy(ax, f"{metric.title}: {pair.candidate.name} against {pair.baseline.name}", grid="y")
    if int(row["n"]) != n:
        note_below(
            ax, f"The mean and its interval are over {row['n']:,} pairs, see the comparison."
        )


def _words(ax: Axes, drawn: Sorted, row: pd.Series, level: object) -> None:
    """How many are better, equal, worse; and the mean."""
    mean, low, high = (float(row[name]) for name in ("difference", "ci_low", "ci_high"))
    estimate = interval_text(mean, low, high, signed=True)
    if np.isfinite([low, high]).all():
        estimate += f", {level_text(level)}"
    lines = (
        (f"better: {drawn.better.sum():,}", BETTER, "bold"),
        (f"worse: {drawn.worse.sum():,}", WORSE, "bold"),
        (f"equal: {drawn.equal.sum():,}", ink(), "normal"),
        (f"– –  mean {estimate}", ink(), "normal"),
    )
    for position, (told, hue, weight) in enumerate(lines):
        ax.annotate(
            told,
            (0.02, 0.98),
            xycoords="axes fraction",
            xytext=(0, -13 * position),
            textcoords="offset points",
            ha="left",
            va="top",
            color=hue,
            fontweight=weight,
            fontsize=SMALL,
        )
