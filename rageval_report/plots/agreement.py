"""A judge against people: the confusion matrix, their agreement, and the mean of all queries."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from rageval_report.plots import canvas, subjects
from rageval_report.plots.labelled_rows import PlotRow, lay_rows
from rageval_report.scores import Metric
from rageval_report.types import FloatArray

# Parts of the width of the axes: the picture at the left; labels, marks and numbers at the right.
_PICTURE, _MARKS, _NUMBERS = 0.36, (0.625, 0.825), 1.0
# Axes narrower than this, in inches, have room for the picture alone.
_NARROW = 6.0
_INCHES_PER_ROW = 0.26
_LETTERS = 15.0  # of small text, in an inch
_MOST_WITH_SHARES = 4
_DARK = 0.62  # on cells with a larger share, white digits are easier to read than black ones
_SAME = LinearSegmentedColormap.from_list("rageval_report_same", ["#F3F3F3", canvas.BLUE])
_OTHER = LinearSegmentedColormap.from_list("rageval_report_other", ["#F3F3F3", canvas.VERMILLION])
# Standard deviations: 19 of 20 differences lie within, if they are normal (Bland and Altman 1986).
_LIMITS = 1.96

_JUDGE, _PEOPLE, _MEAN = "judge and people", "people with each other", "mean of all queries"
_MARKERS = {
    "judge alone": ("s", canvas.VERMILLION),
    "people alone": ("o", ""),
    "": ("D", canvas.BLUE),
}


def agreement(subject: subjects.Calibration, *, ax: Axes | None = None) -> Axes:
    """Draw a judge against people: the confusion matrix, the agreement, the means.

    Parameters
    ----------
    subject : subjects.Calibration
        What `rageval_report.calibrate` gives.
    ax : Axes, optional
        Where to draw; a new figure if omitted. Narrow axes show the matrix alone.

    Raises
    ------
    DataError
        If the subject is not a calibration.

    Notes
    -----
    The darker a cell, the larger its share of the queries to which people gave that label.
    Continuous scores are dots, one per query: the line is where judge and people agree, the dashed
    line is shifted by the judge's bias, and the band contains 19 of 20 differences (Bland and
    Altman's limits of agreement).
    """
    calibration: subjects.Calibration = subjects.result_with(
        subject, "confusion", "a judge against people: calibrate(evaluation, metric, people)"
    )
    parts = _parts(calibration)
    rows = sum(len(part) + 3 for part in parts)
    axes = canvas.axes_for(ax, 10.4, max(4.4, 1.5 + _INCHES_PER_ROW * rows))
    share = _PICTURE if canvas.inches_wide(axes) >= _NARROW else 1.0
    draw = _draw_cloud if _is_continuous(calibration) else _draw_matrix
    sentence = draw(axes, calibration, share)
    if share < 1.0:
        _draw_parts(axes, calibration, parts)
    _note(axes, sentence, calibration, with_percent=share < 1.0)
    canvas.tidy(
        axes, f"Judge and people on {calibration.metric.title} — {calibration.evaluation.name}"
    )
    axes.spines["left"].set_visible(_is_continuous(calibration))
    if not _is_continuous(calibration):
        axes.spines["bottom"].set_visible(False)
    return axes


def _is_continuous(calibration: subjects.Calibration) -> bool:
    return calibration.settings.get("scale") == "continuous"


# -- the picture at the left


def _draw_matrix(ax: Axes, calibration: subjects.Calibration, share: float) -> str:
    """Draw the counts: people's labels in rows, the judge's in columns; return a sentence."""
    frame = calibration.confusion().frame
    counts = frame.drop(columns="total").to_numpy(dtype=np.float64)
    names, q = [str(name) for name in frame.index], len(frame)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    same = np.eye(q, dtype=bool)
    paper = ax.get_facecolor()
    # Fixed ends, so that a shade means the same share in every picture.
    look: dict[str, Any] = {"vmin": 0.0, "vmax": 1.0, "edgecolors": paper, "linewidth": 2.0}
    for cells, colours in ((same, _SAME), (~same, _OTHER)):
        drawn = np.ma.masked_where(~cells, shares)
        ax.pcolormesh(drawn, **{"cmap": colours, **look})
    _write_counts(ax, counts, shares)
    # The matrix fills only its share of the axes; the intervals take the rest.
    ax.set_xlim(0, q / share)
    ax.set_ylim(q, 0)
    ax.set_xticks(np.arange(q) + 0.5, [canvas.plain(name) for name in names])
    ax.set_yticks(np.arange(q) + 0.5, [canvas.plain(name) for name in names])
    ax.tick_params(length=0)
    ax.set_xlabel("judge", x=share / 2)
    ax.set_ylabel("people")
    return f"{int(np.trace(counts)):,} of {int(counts.sum()):,} on the diagonal, where both agree"


def _write_counts(ax: Axes, counts: FloatArray, shares: FloatArray) -> None:
    q = len(counts)
    size = "large" if q <= 3 else "medium" if q <= _MOST_WITH_SHARES else canvas.SMALL
    for row in range(q):
        for column in range(q):
            text = f"{int(counts[row, column]):,}"
            # A label that people never gave has no shares.
            if q <= _MOST_WITH_SHARES and counts[row].sum():
                text += f"\n{100 * shares[row, column]:.0f} %"
            hue = "white" if shares[row, column] > _DARK else "black"
            look: dict[str, Any] = {"fontsize": size, "color": hue, "linespacing": 1.4}
            canvas.write(ax, text, (column + 0.5, row + 0.5), **look)


def _draw_cloud(ax: Axes, calibration: subjects.Calibration, share: float) -> str:
    """One dot per query, the line of agreement, the judge's bias and its limits."""
    people, judge = (
        calibration.pairs[name].to_numpy(dtype=np.float64) for name in ("people", "judge")
    )
    low, high = canvas.pad_limits(*_limits(people, judge, calibration.metric))
    line = np.array([low, high])
    bias = float((judge - people).mean())
    if judge.size > 1:
        spread = _LIMITS * float((judge - people).std(ddof=1))
        places = np.linspace(low, high, 200)
        lower, upper = (np.clip(places + bias + side, low, high) for side in (-spread, spread))
        ax.fill_between(places, lower, upper, color=canvas.GREY, alpha=0.18, linewidth=0, zorder=0)
    ax.plot(line, line, color=canvas.GREY, linewidth=1.0, zorder=1)
    ax.plot(*_inside(line, bias), color=canvas.VERMILLION, linewidth=1.2, linestyle="--", zorder=2)
    n = people.size
    dots: dict[str, Any] = {
        "s": 34 if n <= 200 else 14,
        "alpha": canvas.opacity(n),
        "color": canvas.BLUE,
        "linewidth": 0,
    }
    # One image instead of thousands of shapes keeps SVG and PDF files small.
    ax.scatter(people, judge, rasterized=n > 2000, zorder=3, **dots)
    _set_cloud_axes(ax, low, high, share)
    band = "; band: 19 of 20 differences" if n > 1 else ""
    shift = canvas.number_text(bias, signed=True)
    return f"{n:,} queries. Line: both agree; dashed: the judge's bias of {shift}{band}"


def _inside(line: FloatArray, bias: float) -> tuple[FloatArray, FloatArray]:
    """The part of the shifted line that is inside the square."""
    start, end = max(line[0], line[0] - bias), min(line[1], line[1] - bias)
    places = np.array([start, max(start, end)])
    return places, places + bias


def _limits(people: FloatArray, judge: FloatArray, metric: Metric) -> tuple[float, float]:
    low, high = subjects.data_limits(np.concatenate([people, judge]), [metric])
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _set_cloud_axes(ax: Axes, low: float, high: float, share: float) -> None:
    """Limit the axes to the square of the dots, with no ticks beyond it."""
    ax.set_xlim(low, low + (high - low) / share)
    ax.set_ylim(low, high)
    ticks = [tick for tick in ax.get_yticks() if low <= tick <= high]
    ax.set_yticks(ticks)
    ax.set_xticks(ticks)
    ax.spines["bottom"].set_bounds(low, high)
    ax.set_xlabel("people", x=share / 2)
    ax.set_ylabel("judge")


# -- the intervals at the right


def _parts(calibration: subjects.Calibration) -> list[pd.DataFrame]:
    """The rows of agreement and the rows of means, if there are any."""
    part = calibration.frame["part"]
    parts = (calibration.frame[part.isin((_JUDGE, _PEOPLE))], calibration.frame[part == _MEAN])
    return [rows for rows in parts if len(rows)]


def _draw_parts(ax: Axes, calibration: subjects.Calibration, parts: Sequence[pd.DataFrame]) -> None:
    """Draw the parts one below the other, with heights in proportion to their rows."""
    heights = np.array([len(part) + 2.0 * len(set(part["part"])) for part in parts])
    gap = 0.16 if len(parts) > 1 else 0.0
    room = (1.0 - gap * (len(parts) - 1)) / heights.sum()
    top = 1.0
    for part, height in zip(parts, heights * room, strict=True):
        left, right = _MARKS
        inner = ax.inset_axes((left, top - height, right - left, height))
        _draw_part(inner, part, calibration)
        top -= height + gap


def _draw_part(ax: Axes, part: pd.DataFrame, calibration: subjects.Calibration) -> None:
    of_means = bool((part["part"] == _MEAN).all())
    numbers = part[["estimate", "ci_low", "ci_high"]].to_numpy(dtype=np.float64).tolist()
    names = part["figure"].astype(str).tolist()
    headings = part["part"].astype(str).tolist() if len(set(part["part"])) > 1 else [""] * len(part)
    rows = [
        PlotRow(canvas.shorten_label(name, 28), (canvas.interval_text(*ends),), heading)
        for name, ends, heading in zip(names, numbers, headings, strict=True)
    ]
    level = canvas.level_text(calibration.settings)
    heights = lay_rows(ax, rows, (level,))
    for label in ax.get_yticklabels():
        label.set_fontsize(canvas.SMALL)
    for height, name, (estimate, low, high) in zip(heights, names, numbers, strict=True):
        _draw_interval(ax, height, name, (estimate, low, high))
    _set_part_axis(ax, part, calibration, of_means=of_means)


def _draw_interval(ax: Axes, height: float, name: str, numbers: tuple[float, ...]) -> None:
    estimate, low, high = numbers
    marker, hue = _MARKERS.get(name, _MARKERS[""])
    hue = hue or canvas.ink()
    if np.isfinite([low, high]).all():
        ax.plot([low, high], [height, height], color=hue, linewidth=1.6, zorder=2)
    if np.isfinite(estimate):
        ax.plot([estimate], [height], color=hue, marker=marker, markersize=6, zorder=3)


def _set_part_axis(
    ax: Axes, part: pd.DataFrame, calibration: subjects.Calibration, *, of_means: bool
) -> None:
    numbers = part[["estimate", "ci_low", "ci_high"]].to_numpy(dtype=np.float64)
    known = numbers[np.isfinite(numbers)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    if of_means:
        ax.set_xlim(*canvas.pad_limits(low, high, 0.12))
        label = f"mean of {canvas.shorten_label(calibration.metric.title, 24)}"
    else:
        ax.set_xlim(*canvas.pad_limits(min(low, 0.0), 1.0))
        what = "correlation" if _is_continuous(calibration) else "agreement"
        label = f"{what}: 1 is perfect, 0 is chance"
    ax.locator_params(axis="x", nbins=4)
    ax.tick_params(axis="x", labelsize=canvas.SMALL)
    ax.set_xlabel(canvas.plain(label), fontsize=canvas.SMALL)
    ax.spines[["top", "right"]].set_visible(False)
    ax.patch.set_alpha(0.0)
    ax.grid(visible=True, axis="x", color=canvas.GREY, alpha=0.3, linewidth=0.6)


def _note(
    ax: Axes, sentence: str, calibration: subjects.Calibration, *, with_percent: bool
) -> None:
    """Write the note below the picture, across its whole width."""
    percent = (
        "" if _is_continuous(calibration) else " Percent agreement is not corrected for chance."
    )
    words = f"{sentence}.{percent if with_percent else ''}"
    text = textwrap.fill(words, int(_LETTERS * canvas.inches_wide(ax)))
    look: dict[str, Any] = {"va": "top", "alpha": 0.75, "annotation_clip": False}
    canvas.write(ax, text, (0.5, 0.0), (0, -6), xycoords=("axes fraction", ax.xaxis.label), **look)
