"""A judge against people: who gave what, how far they agree, what the mean is."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Protocol, Unpack, cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from rageval_report.errors import DataError
from rageval_report.plots.options import ArtistOptions
from rageval_report.plots.rows import Row, lay_rows
from rageval_report.plots.style import (
    BLUE,
    GREY,
    SMALL,
    VERMILLION,
    axes_for,
    inches_wide,
    ink,
    interval_text,
    level_text,
    look_of,
    number,
    opacity,
    padded,
    plain,
    shortened,
    tidy,
)
from rageval_report.plots.subjects import Evaluation, data_limits
from rageval_report.results import Result
from rageval_report.scores import Metric
from rageval_report.types import FloatArray

# Shares of the axes: the picture at the left; labels, marks and numbers at the right.
_PICTURE, _MARKS, _NUMBERS = 0.36, (0.625, 0.825), 1.0
# Axes narrower than this, in inches, have room for the picture alone.
_NARROW = 6.0
_INCHES_A_ROW = 0.26
_LETTERS = 15.0  # of small text, in an inch
_MOST_WITH_SHARES = 4
_DARK = 0.62
_SAME = LinearSegmentedColormap.from_list("rageval_report_same", ["#F3F3F3", BLUE])
_OTHER = LinearSegmentedColormap.from_list("rageval_report_other", ["#F3F3F3", VERMILLION])
# The limits within which nineteen of twenty differences lie, if they are normal.
_LIMITS = 1.96

_JUDGE, _PEOPLE, _MEAN = "judge and people", "people with each other", "mean of all queries"
_MARKERS = {"judge alone": ("s", VERMILLION), "people alone": ("o", ""), "": ("D", BLUE)}


class Calibrated(Protocol):
    """A judge's scores beside people's labels."""

    @property
    def frame(self) -> pd.DataFrame:
        """One row a figure."""

    @property
    def settings(self) -> dict[str, object]:
        """How the numbers were made."""

    @property
    def evaluation(self) -> Evaluation:
        """Holds the judge's scores."""

    @property
    def metric(self) -> Metric:
        """What was judged."""

    @property
    def pairs(self) -> pd.DataFrame:
        """The queries that both rated."""

    def confusion(self) -> Result:
        """How often the judge gave what, where people gave what."""


def calibration_of(subject: object) -> Calibrated:
    """The subject, if it is a calibration.

    Raises
    ------
    DataError
        If it is something else.
    """
    if isinstance(subject, Result) and hasattr(subject, "confusion"):
        return cast("Calibrated", subject)
    raise DataError(
        "this plot draws a judge against people: calibrate(evaluation, metric, people); got "
        f"{type(subject).__name__}"
    )


def agreement(
    subject: Calibrated, *, ax: Axes | None = None, **style: Unpack[ArtistOptions]
) -> Axes:
    """Draw a judge against people: the confusion matrix, the agreement, the means.

    Parameters
    ----------
    subject : Calibration
        What `rageval_report.calibrate` gives.
    ax : Axes, optional
        Where to draw; a new figure where not given. Narrow axes hold the matrix alone.
    **style
        For the cells of the matrix, or for the dots.

    Returns
    -------
    Axes

    Raises
    ------
    DataError
        If the subject is no calibration.

    Notes
    -----
    A cell is the darker, the larger its share of the queries to which people gave the same label.
    Continuous scores are drawn as dots, a query each: the line is where judge and people say the
    same, the dashed line lies aside by the judge's bias, and nineteen of twenty differences lie
    within the band (Bland and Altman).
    """
    found = calibration_of(subject)
    parts = _parts(found)
    rows = sum(len(part) + 3 for part in parts)
    made = axes_for(ax, 10.4, max(4.4, 1.5 + _INCHES_A_ROW * rows))
    share = _PICTURE if inches_wide(made) >= _NARROW else 1.0
    draw = _draw_cloud if _is_continuous(found) else _draw_matrix
    told = draw(made, found, share, style)
    if share < 1.0:
        _draw_parts(made, found, parts)
    _note(made, told, found, whole=share < 1.0)
    tidy(made, f"Judge and people on {found.metric.title} — {found.evaluation.name}")
    made.spines["left"].set_visible(_is_continuous(found))
    if not _is_continuous(found):
        made.spines["bottom"].set_visible(False)
    return made


def _is_continuous(found: Calibrated) -> bool:
    return found.settings.get("scale") == "continuous"


# -- the picture at the left


def _draw_matrix(ax: Axes, found: Calibrated, share: float, style: ArtistOptions) -> str:
    """People's labels downwards, the judge's across, each cell with its count."""
    frame = found.confusion().frame
    counts = frame.drop(columns="total").to_numpy(dtype=np.float64)
    names, q = [str(name) for name in frame.index], len(frame)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    same = np.eye(q, dtype=bool)
    paper = ax.get_facecolor()
    look = look_of(style, vmin=0.0, vmax=1.0, edgecolors=paper, linewidth=2.0)
    for cells, colours in ((same, _SAME), (~same, _OTHER)):
        drawn = np.ma.masked_where(~cells, shares)
        ax.pcolormesh(drawn, **{"cmap": colours, **look})
    _write_counts(ax, counts, shares)
    ax.set_xlim(0, q / share)
    ax.set_ylim(q, 0)
    ax.set_xticks(np.arange(q) + 0.5, [plain(name) for name in names])
    ax.set_yticks(np.arange(q) + 0.5, [plain(name) for name in names])
    ax.tick_params(length=0)
    ax.set_xlabel("judge", x=share / 2)
    ax.set_ylabel("people")
    return f"{int(np.trace(counts)):,} of {int(counts.sum()):,} on the diagonal, where both agree"


def _write_counts(ax: Axes, counts: FloatArray, shares: FloatArray) -> None:
    q = len(counts)
    size = "large" if q <= 3 else "medium" if q <= _MOST_WITH_SHARES else SMALL
    for row in range(q):
        for column in range(q):
            told = f"{int(counts[row, column]):,}"
            if q <= _MOST_WITH_SHARES and counts[row].sum():
                told += f"\n{100 * shares[row, column]:.0f} %"
            hue = "white" if shares[row, column] > _DARK else "black"
            ax.text(
                *(column + 0.5, row + 0.5, told),
                ha="center",
                va="center",
                fontsize=size,
                color=hue,
                linespacing=1.4,
            )


def _draw_cloud(ax: Axes, found: Calibrated, share: float, style: ArtistOptions) -> str:
    """A dot a query, the line of agreement, the judge's bias and its limits."""
    people, judge = (found.pairs[name].to_numpy(dtype=np.float64) for name in ("people", "judge"))
    low, high = padded(*_limits(people, judge, found.metric))
    line = np.array([low, high])
    bias = float((judge - people).mean())
    if judge.size > 1:
        spread = _LIMITS * float((judge - people).std(ddof=1))
        places = np.linspace(low, high, 200)
        lower, upper = (np.clip(places + bias + side, low, high) for side in (-spread, spread))
        ax.fill_between(places, lower, upper, color=GREY, alpha=0.18, linewidth=0, zorder=0)
    ax.plot(line, line, color=GREY, linewidth=1.0, zorder=1)
    ax.plot(*_inside(line, bias), color=VERMILLION, linewidth=1.2, linestyle="--", zorder=2)
    n = people.size
    dots = look_of(style, s=34 if n <= 200 else 14, alpha=opacity(n), color=BLUE, linewidth=0)
    ax.scatter(people, judge, rasterized=n > 2000, zorder=3, **dots)
    _set_cloud_axes(ax, low, high, share)
    told = f"{n:,} queries. Line: both say the same; dashed: the judge's bias of "
    band = "; band: 19 of 20 differences" if n > 1 else ""
    return f"{told}{number(bias, signed=True)}{band}"


def _inside(line: FloatArray, bias: float) -> tuple[FloatArray, FloatArray]:
    """The shifted line, as far as it stays in the square."""
    start, end = max(line[0], line[0] - bias), min(line[1], line[1] - bias)
    places = np.array([start, max(start, end)])
    return places, places + bias


def _limits(people: FloatArray, judge: FloatArray, metric: Metric) -> tuple[float, float]:
    low, high = data_limits(np.concatenate([people, judge]), [metric])
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _set_cloud_axes(ax: Axes, low: float, high: float, share: float) -> None:
    """The square of the dots takes its share; no ticks beyond it."""
    ax.set_xlim(low, low + (high - low) / share)
    ax.set_ylim(low, high)
    ticks = [tick for tick in ax.get_yticks() if low <= tick <= high]
    ax.set_yticks(ticks)
    ax.set_xticks(ticks)
    ax.spines["bottom"].set_bounds(low, high)
    ax.set_xlabel("people", x=share / 2)
    ax.set_ylabel("judge")


# -- the intervals at the right


def _parts(found: Calibrated) -> list[pd.DataFrame]:
    """The rows of agreement, and those of means."""
    part = found.frame["part"]
    parts = (found.frame[part.isin((_JUDGE, _PEOPLE))], found.frame[part == _MEAN])
    return [one for one in parts if len(one)]


def _draw_parts(ax: Axes, found: Calibrated, parts: Sequence[pd.DataFrame]) -> None:
    """One below the other, each as high as its rows ask."""
    heights = np.array([len(part) + 2.0 * len(set(part["part"])) for part in parts])
    gap = 0.16 if len(parts) > 1 else 0.0
    room = (1.0 - gap * (len(parts) - 1)) / heights.sum()
    top = 1.0
    for part, height in zip(parts, heights * room, strict=True):
        left, right = _MARKS
        inner = ax.inset_axes((left, top - height, right - left, height))
        _draw_part(inner, part, found)
        top -= height + gap


def _draw_part(ax: Axes, part: pd.DataFrame, found: Calibrated) -> None:
    of_means = bool((part["part"] == _MEAN).all())
    numbers = part[["estimate", "ci_low", "ci_high"]].to_numpy(dtype=np.float64).tolist()
    names = part["figure"].astype(str).tolist()
    headings = part["part"].astype(str).tolist() if len(set(part["part"])) > 1 else [""] * len(part)
    rows = [
        Row(shortened(name, 28), (interval_text(*one),), heading)
        for name, one, heading in zip(names, numbers, headings, strict=True)
    ]
    level = level_text(found.settings.get("confidence_level", 0.95))
    heights = lay_rows(ax, rows, (level,))
    for label in ax.get_yticklabels():
        label.set_fontsize(SMALL)
    for height, name, (estimate, low, high) in zip(heights, names, numbers, strict=True):
        _draw_interval(ax, height, name, (estimate, low, high))
    _set_part_axis(ax, part, found, of_means=of_means)


def _draw_interval(ax: Axes, height: float, name: str, numbers: tuple[float, ...]) -> None:
    estimate, low, high = numbers
    marker, hue = _MARKERS.get(name, _MARKERS[""])
    hue = hue or ink()
    if np.isfinite([low, high]).all():
        ax.plot([low, high], [height, height], color=hue, linewidth=1.6, zorder=2)
    if np.isfinite(estimate):
        ax.plot([estimate], [height], color=hue, marker=marker, markersize=6, zorder=3)


def _set_part_axis(ax: Axes, part: pd.DataFrame, found: Calibrated, *, of_means: bool) -> None:
    numbers = part[["estimate", "ci_low", "ci_high"]].to_numpy(dtype=np.float64)
    known = numbers[np.isfinite(numbers)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    if of_means:
        ax.set_xlim(*padded(low, high, 0.12))
        told = f"mean of {shortened(found.metric.title, 24)}"
    else:
        ax.set_xlim(*padded(min(low, 0.0), 1.0))
        what = "correlation" if _is_continuous(found) else "agreement"
        told = f"{what}: 1 all alike, 0 as by chance"
    ax.locator_params(axis="x", nbins=4)
    ax.tick_params(axis="x", labelsize=SMALL)
    ax.set_xlabel(plain(told), fontsize=SMALL)
    ax.spines[["top", "right"]].set_visible(False)
    ax.patch.set_alpha(0.0)
    ax.grid(visible=True, axis="x", color=GREY, alpha=0.3, linewidth=0.6)


def _note(ax: Axes, told: str, found: Calibrated, *, whole: bool) -> None:
    """What a reader must know, across the whole width."""
    percent = "" if _is_continuous(found) else " Percent agreement is not corrected for chance."
    words = f"{told}.{percent if whole else ''}"
    ax.annotate(
        plain(textwrap.fill(words, int(_LETTERS * inches_wide(ax)))),
        xy=(0.5, 0.0),
        xycoords=("axes fraction", ax.xaxis.label),
        xytext=(0, -6),
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=SMALL,
        color=ink(),
        alpha=0.75,
        annotation_clip=False,
    )
