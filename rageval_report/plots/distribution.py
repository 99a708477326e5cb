"""How the scores of a metric are spread: bars, the mean with its interval, the thresholds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from rageval_report.errors import DataError
from rageval_report.plots.bars import Bars, bars_of
from rageval_report.plots.options import ArtistOptions, MetricNames
from rageval_report.plots.style import (
    BLUE,
    PALE,
    SKY,
    SMALL,
    VERMILLION,
    axes_for,
    count_text,
    inches_wide,
    ink,
    levels_without_overlap,
    look_of,
    note_below,
    number,
    opacity,
    padded,
    plain,
    tidy,
)
from rageval_report.plots.subjects import (
    Described,
    Evaluation,
    axis_text,
    described,
    evaluation_of,
    one_metric,
    scored_values,
)
from rageval_report.plots.summary import ridges
from rageval_report.scores import Metric
from rageval_report.types import FloatArray

_MOST_RUG = 1000
_PERCENTILE = re.compile(r"^p(\d+(?:\.\d+)?)$")
# One line of labels above the bars, as a share of the tallest bar.
_LINE = 0.085
# A letter of a label, in inches.
_LETTER = 0.067


def distribution(
    subject: Evaluation,
    metric: MetricNames = None,
    *,
    percentiles: Sequence[float] = (25, 50, 75),
    threshold: float | str | None = None,
    ax: Axes | None = None,
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw how the scores of one metric are spread, or of all metrics, a row each.

    Parameters
    ----------
    subject : RAGPipelineEvaluation
        A pipeline's scores.
    metric : str or iterable of str, optional
        By any of its names. Several, or none named where there are several, are drawn as rows of
        small histograms, as far as they share an axis.
    percentiles : sequence of float
        Marked by dotted lines, 0 to 100; empty for none.
    threshold : float, or "p25" and the like, "median", "mean", optional
        A line of the caller's own; the label says how many queries lie on the wrong side. Of one
        metric that is not 0/1.
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
        If the metric is not known.
    DataError
        If none of its queries is scored, or several metrics share no axis.

    Notes
    -----
    0/1 scores are two bars with counts and shares, a few levels a bar each; anything else is a
    histogram (10, 20 or 40 bars by the number of queries) over a rug of one tick a query.
    """
    evaluation = evaluation_of(subject)
    if not isinstance(metric, str) and (metric is not None or len(evaluation.metrics) > 1):
        if threshold is not None:
            raise DataError("a threshold belongs to one metric; name it")
        return ridges(evaluation, metric, ax=ax, **style)
    known = one_metric(evaluation.metrics, metric)
    values = scored_values(evaluation, known)
    binary = known.kind == "binary"
    cut = None if threshold is None else _cut(evaluation, known, threshold)
    made = axes_for(ax, 4.4, 3.8) if binary else axes_for(ax, 6.4, 4.2)
    if binary:
        _two_bars(evaluation, known, values, made, style)
    else:
        bars = bars_of(values, known)
        _draw_bars(made, evaluation, known, values, bars, style)
        # Lines would run through the counts on top of levels, so they begin above them.
        foot = made.get_ylim()[1] if bars.levels else 0.0
        _mark_mean(made, described(evaluation, [known])[known.name], foot)
        _mark_thresholds(made, _thresholds(evaluation, known, percentiles), foot)
        if cut is not None:
            _mark_own_threshold(made, known, values, cut)
    tidy(made, f"{known.title} — {evaluation.name}", grid="y")
    return made


# -- 0/1 scores


def _two_bars(
    evaluation: Evaluation, metric: Metric, values: FloatArray, ax: Axes, style: ArtistOptions
) -> None:
    n, ones = values.size, int(values.sum())
    shares = (n - ones) / n, ones / n
    ax.bar([0, 1], shares, **look_of(style, width=0.62, color=[PALE, BLUE]))
    one = described(evaluation, [metric])[metric.name]
    if one.has_interval:
        ends = [[one.mean - one.low], [one.high - one.mean]]
        ax.errorbar(1, one.mean, ends, color=ink(), capsize=4, linewidth=1.3)
    _label_bar(ax, 0, n - ones, shares[0], shares[0])
    _label_bar(ax, 1, ones, shares[1], one.high if one.has_interval else shares[1])
    ax.set_xticks([0, 1], ["0", "1"])
    ax.set_xlim(-0.6, 1.6)
    ax.set_ylim(0, 1.12)
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.spines["left"].set_bounds(0, 1)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    ax.set_ylabel("share of scored queries")
    ax.set_xlabel(plain(f"{axis_text(metric)}\n{count_text(n, len(evaluation.scores))}"))
    note_below(ax, f"Share of 1: {one.text}, {one.level}.")


def _label_bar(ax: Axes, level: int, count: int, share: float, top: float) -> None:
    """The count and the share, over the bar or over the interval that stands on it."""
    ax.annotate(
        f"{count:,}  ({_percent(share)})",
        (level, top),
        xytext=(0, 4),
        textcoords="offset points",
        ha="center",
        va="bottom",
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


# -- all other scores


def _draw_bars(
    ax: Axes,
    evaluation: Evaluation,
    metric: Metric,
    values: FloatArray,
    bars: Bars,
    style: ArtistOptions,
) -> None:
    look = look_of(style, color=SKY, edgecolor=ax.get_facecolor(), linewidth=0.6)
    ax.bar(bars.centres, bars.counts, bars.widths, **look)
    ax.set_xlim(*padded(*bars.limits, 0.02 if bars.levels else 0.04))
    ax.set_ylim(0, bars.counts.max() * 1.05)
    if bars.levels:
        _label_levels(ax, bars, values.size)
    elif values.size <= _MOST_RUG:
        ax.plot(
            values,
            np.full(values.size, 0.012),
            "|",
            transform=ax.get_xaxis_transform(),
            color=ink(),
            markersize=7,
            markeredgewidth=0.8,
            alpha=opacity(values.size),
        )
    _tick_counts(ax, int(bars.counts.max()))
    ax.set_ylabel("queries")
    count = count_text(values.size, len(evaluation.scores))
    ax.set_xlabel(plain(f"{axis_text(metric)}, {count}"))


def _tick_counts(ax: Axes, tallest: int) -> None:
    """Whole numbers up to the tallest bar; what is above it holds words, not counts."""
    ticks = MaxNLocator(integer=True, nbins=6).tick_values(0, tallest)
    ax.set_yticks([tick for tick in ticks if 0 <= tick <= tallest])
    ax.spines["left"].set_bounds(0, tallest)


def _label_levels(ax: Axes, bars: Bars, n: int) -> None:
    """Counts on top of the bars; with their shares where there is room."""
    roomy = bars.centres.size <= 6
    for centre, count in zip(bars.centres, bars.counts, strict=True):
        if count:
            share = f"\n({_percent(count / n)})" if roomy else ""
            ax.annotate(
                f"{count:,.0f}{share}",
                (centre, count),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=SMALL,
                bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.4},
            )
    ax.set_ylim(0, bars.counts.max() * (1.2 if roomy else 1.12))


# -- marks above the bars


def _mark_mean(ax: Axes, one: Described, foot: float) -> None:
    """A diamond with its interval above the bars, and over it what it says."""
    top = ax.get_ylim()[1]
    height = top * (1 + 0.4 * _LINE)
    ax.vlines(one.mean, foot, height, color=ink(), linewidth=1.2)
    if one.has_interval:
        ends = [[one.mean - one.low], [one.high - one.mean]]
        ax.errorbar(one.mean, height, xerr=ends, color=ink(), capsize=3, linewidth=1.4)
    ax.plot(one.mean, height, "D", color=ink(), markersize=5)
    label = f"mean {one.text}, {one.level}" if one.has_interval else f"mean {one.text}"
    _label_above(ax, label, _fitted(ax, one.mean, label), height)
    ax.set_ylim(0, top * (1 + 1.75 * _LINE))


def _fitted(ax: Axes, value: float, label: str) -> float:
    """The middle of a label at a value, in shares of the axis, moved so that it stays inside."""
    left, right = ax.get_xlim()
    half = min(_width(ax, label) / 2, 0.5)
    return float(np.clip((value - left) / (right - left), half, 1 - half))


def _width(ax: Axes, label: str) -> float:
    """How wide a label is, in shares of the axis."""
    return _LETTER * len(label) / inches_wide(ax)


def _label_above(ax: Axes, label: str, place: float, height: float, **look: Any) -> None:
    """A label over a mark; the paper behind it keeps lines from running through the words."""
    left, right = ax.get_xlim()
    ax.annotate(
        label,
        (left + place * (right - left), height),
        xytext=(0, 5),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=SMALL,
        bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.6},
        **look,
    )


def _thresholds(
    evaluation: Evaluation, metric: Metric, percentiles: Sequence[float]
) -> list[tuple[float, str]]:
    """Where the lines stand and what they are called; those that coincide are one line."""
    if not len(percentiles):
        return []
    row = evaluation.find_thresholds([metric.name], percentiles=percentiles).frame.iloc[0]
    names: dict[float, list[str]] = {}
    for percentile in percentiles:
        name = f"p{percentile:g}"
        names.setdefault(float(row[name]), []).append(name)
    return [(value, f"{' = '.join(names[value])} = {number(value)}") for value in sorted(names)]


def _cut(evaluation: Evaluation, metric: Metric, threshold: float | str) -> float:
    """The caller's threshold as a number."""
    if metric.kind == "binary":
        raise DataError(f"{metric.name!r} is 0 or 1, so there is no threshold to draw")
    if not isinstance(threshold, str):
        cut = float(threshold)
    elif threshold == "mean":
        cut = described(evaluation, [metric])[metric.name].mean
    else:
        told = _PERCENTILE.match("p50" if threshold == "median" else threshold)
        if told is None:
            raise DataError(
                f'a threshold is a number, "mean", "median" or a percentile as "p25"; got '
                f"{threshold!r}"
            )
        cut = _thresholds(evaluation, metric, [float(told[1])])[0][0]
    if not np.isfinite(cut):
        raise DataError(f"a threshold must be a finite number; got {threshold!r}")
    return cut


def _mark_thresholds(ax: Axes, thresholds: list[tuple[float, str]], foot: float) -> None:
    """Dotted lines with labels above, on as many lines as keep the labels apart."""
    if not thresholds:
        return
    places = [_fitted(ax, value, label) for value, label in thresholds]
    levels = levels_without_overlap(places, [_width(ax, label) for _, label in thresholds])
    top = ax.get_ylim()[1]
    for (value, label), place, level in zip(thresholds, places, levels, strict=True):
        height = top * (1 + _LINE * (level + 0.1))
        ax.vlines(value, foot, height, color=ink(), linewidth=1.0, linestyle=":", zorder=1.5)
        _label_above(ax, label, place, height)
    ax.set_ylim(0, top * (1 + _LINE * (max(levels) + 1.3)))


def _mark_own_threshold(ax: Axes, metric: Metric, values: FloatArray, threshold: float) -> None:
    """A line over the whole height, and how many queries are on the wrong side of it."""
    up = metric.greater_is_better
    wrong = int((values < threshold).sum() if up else (values > threshold).sum())
    label = f"threshold {number(threshold)}: {wrong:,} {'below' if up else 'above'}"
    left, right = ax.get_xlim()
    room = padded(threshold, threshold, 0.04)
    ax.set_xlim(min(left, room[0]), max(right, room[1]))
    top = ax.get_ylim()[1]
    ax.vlines(threshold, 0, top, color=VERMILLION, linewidth=1.6, linestyle="--")
    place = _fitted(ax, threshold, label)
    _label_above(ax, label, place, top, color=VERMILLION, fontweight="bold")
    ax.set_ylim(0, top * (1 + 1.2 * _LINE))
