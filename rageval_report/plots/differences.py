"""The paired differences of one metric: one dot per query, from the smallest to the largest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from rageval_report.errors import DataError
from rageval_report.plots import canvas, subjects
from rageval_report.scores import Metric
from rageval_report.scores.names import display_width
from rageval_report.types import BoolArray, FloatArray

# The dots of more pairs would merge into a band, so the area is filled instead.
_MOST_DOTS = 400
_ONE_LINE = 36  # in letters, of the label at the left
# Smaller differences are rounding, as in the tests.
_TIED = 1e-12

# The part of the axes that the words at the upper left take.
_WORDS_WIDTH, _WORDS_HEIGHT = 0.5, 0.24


@dataclass(frozen=True, eq=False)
class SortedDifferences:
    """The differences in rising order, and which of them are better or worse."""

    values: FloatArray
    better: BoolArray
    worse: BoolArray

    @property
    def equal(self) -> BoolArray:
        """Neither better nor worse."""
        return ~(self.better | self.worse)


def differences(
    subject: subjects.Comparison | subjects.Evaluation,
    metric: str | None = None,
    *,
    other: subjects.Evaluation | None = None,
    candidate: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the paired differences of one metric, sorted, with their mean and its interval.

    Parameters
    ----------
    subject, other, candidate
        The comparison, as for every plot of one; see `rageval_report.plots`.
    metric : str, optional
        By any of its names; needed if several were compared.
    ax : Axes, optional
        Where to draw; a new figure if omitted.

    Raises
    ------
    UnknownNameError
        If the candidate is not known.
    DataError
        If no query is scored in both runs, or the metric or candidate is ambiguous.

    Notes
    -----
    Up to 400 pairs are dots: triangles that point up where the candidate is better, by the metric's
    direction, and down where it is worse. More pairs are a filled curve, hatched where it is worse.
    """
    comparison = subjects.comparison_of(subject, other, metric)
    known = subjects.single_metric(subjects.compared_metrics(comparison), metric)
    pair = subjects.select_candidate(comparison, candidate)
    values = np.sort(comparison.differences(known.name, pair.candidate.name).to_numpy())
    if not values.size:
        raise DataError(
            f"nothing to draw: no query is scored on {known.name!r} in both "
            f"{pair.baseline.name!r} and {pair.candidate.name!r}"
        )
    pairs = _sort_differences(values, known)
    axes = canvas.axes_for(ax, 6.4, 4.2)
    axes.axhline(0, color=canvas.GREY, linewidth=1.0, zorder=1)
    draw = _draw_dots if values.size <= _MOST_DOTS else _draw_areas
    draw(axes, pairs)
    row = _row_of(comparison, known, pair)
    _mark_mean(axes, row)
    _set_limits(axes, pairs)
    _label(axes, known, pair, pairs, row)
    _write_counts(axes, pairs, row, canvas.level_text(comparison.settings))
    return axes


def _sort_differences(values: FloatArray, metric: Metric) -> SortedDifferences:
    gain = values if metric.greater_is_better else -values
    return SortedDifferences(values, gain > _TIED, gain < -_TIED)


def _row_of(comparison: subjects.Comparison, metric: Metric, pair: subjects.Pairing) -> pd.Series:
    frame = comparison.frame
    mine = (frame["metric"] == metric.name) & (frame["candidate"] == pair.candidate.name)
    return frame[mine].iloc[0]


def _draw_dots(ax: Axes, pairs: SortedDifferences) -> None:
    places = np.arange(1, pairs.values.size + 1)
    size = 40 if pairs.values.size <= 60 else 20
    for selected, hue, marker, scale in (
        (pairs.equal, canvas.GREY, canvas.EQUAL_MARKER, 0.5),
        (pairs.worse, canvas.WORSE, canvas.WORSE_MARKER, 1.0),
        (pairs.better, canvas.BETTER, canvas.BETTER_MARKER, 1.0),
    ):
        ax.vlines(places[selected], 0, pairs.values[selected], color=hue, alpha=0.35, linewidth=0.8)
        look: dict[str, Any] = {"color": hue, "marker": marker, "s": size * scale, "linewidth": 0}
        ax.scatter(places[selected], pairs.values[selected], zorder=3, **look)


def _draw_areas(ax: Axes, pairs: SortedDifferences) -> None:
    places = np.arange(1, pairs.values.size + 1)
    for selected, hue, hatch in (
        (pairs.worse, canvas.WORSE, canvas.WORSE_HATCH),
        (pairs.better, canvas.BETTER, None),
    ):
        look: dict[str, Any] = {"facecolor": hue, "edgecolor": ax.get_facecolor(), "hatch": hatch}
        ax.fill_between(
            places, 0, pairs.values, where=list(selected), step="mid", linewidth=0, **look
        )
    ax.step(places, pairs.values, where="mid", color=canvas.ink(), linewidth=0.8)


def _mark_mean(ax: Axes, row: pd.Series) -> None:
    """Draw a line at the mean difference and a band over its interval."""
    mean, low, high = (float(row[name]) for name in ("difference", "ci_low", "ci_high"))
    if np.isfinite([low, high]).all():
        ax.axhspan(low, high, color=canvas.GREY, alpha=0.3, linewidth=0, zorder=0)
    if np.isfinite(mean):
        ax.axhline(mean, color=canvas.ink(), linewidth=1.2, linestyle="--", zorder=2)


def _set_limits(ax: Axes, pairs: SortedDifferences) -> None:
    """Leave room around the data, and for the words at the upper left."""
    values = pairs.values
    largest = float(np.abs(values).max()) or 1.0
    low, high = min(values[0], 0.0) - 0.12 * largest, max(values[-1], 0.0) + 0.12 * largest
    under_words = max(float(values[int(_WORDS_WIDTH * (values.size - 1))]), 0.0)
    needed = low + (under_words + 0.04 * largest - low) / (1.0 - _WORDS_HEIGHT)
    ax.set_ylim(low, max(high, needed))
    ax.set_xlim(0.5 - 0.02 * values.size, 0.5 + 1.02 * values.size)


def _label(
    ax: Axes, metric: Metric, pair: subjects.Pairing, pairs: SortedDifferences, row: pd.Series
) -> None:
    n, n_dropped = pairs.values.size, int(row["n_dropped"])
    names = subjects.names_of_pair(pair)
    dropped = f"; {n_dropped:,} more unscored" if n_dropped else ""
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlabel(
        f"queries, sorted by difference (n = {n:,} {'pair' if n == 1 else 'pairs'}{dropped})"
    )
    way = "" if metric.greater_is_better else "\n(lower is better)"
    candidate, baseline = (names.of(run.name) for run in (pair.candidate, pair.baseline))
    # Two long names have no room on one line beside the axis.
    minus = " − " if display_width(candidate + baseline) < _ONE_LINE else "\n− "
    ax.set_ylabel(canvas.plain(f"{candidate}{minus}{baseline}{way}"))
    # With missing="worst" the comparison counts filled-in scores, which have no dot here.
    counted = f"The mean and its interval are over {row['n']:,} pairs, as in the comparison."
    canvas.note_below(ax, counted if int(row["n"]) != n else "", canvas.names_note(names))
    canvas.tidy(ax, f"{metric.title}: {candidate} against {baseline}", grid="y")


def _write_counts(ax: Axes, pairs: SortedDifferences, row: pd.Series, level: str) -> None:
    """Write how many queries are better, equal and worse, and the mean."""
    mean, low, high = (float(row[name]) for name in ("difference", "ci_low", "ci_high"))
    estimate = canvas.interval_text(mean, low, high, signed=True)
    if np.isfinite([low, high]).all():
        estimate += f", {level}"
    lines = (
        (f"better: {pairs.better.sum():,}", canvas.BETTER, "bold"),
        (f"worse: {pairs.worse.sum():,}", canvas.WORSE, "bold"),
        (f"equal: {pairs.equal.sum():,}", canvas.ink(), "normal"),
        (f"– –  mean {estimate}", canvas.ink(), "normal"),
    )
    for position, (text, hue, weight) in enumerate(lines):
        look: dict[str, Any] = {"ha": "left", "va": "top", "fontweight": weight}
        look |= {"color": canvas.letters_of(hue), "xycoords": "axes fraction"}
        canvas.write(ax, text, (0.02, 0.98), (0, -13 * position), **look)
