"""The distribution of scores: of one metric as bars, of several in rows of boxes or histograms."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from rageval_report.errors import DataError
from rageval_report.plots import canvas, subjects
from rageval_report.plots.labelled_rows import PlotRow, height_of, lay_rows
from rageval_report.plots.options import MetricNames
from rageval_report.plots.subjects import ScoreCounts, data_limits
from rageval_report.scores import Metric
from rageval_report.types import FloatArray

# Up to this many distinct values, far enough apart, have a bar each.
_MOST_LEVELS = 15
_LEAST_GAP = 0.03
# With fewer distinct values than this share of the queries, queries share values.
_SHARED = 0.6


@dataclass(frozen=True, eq=False)
class Bars:
    """The bars of a distribution, and the limits of its axis."""

    centres: FloatArray
    widths: FloatArray
    counts: FloatArray
    limits: tuple[float, float]
    levels: bool


def bars_of(counted: ScoreCounts, metric: Metric) -> Bars:
    """One bar per level if there are few levels, else bins of equal width from bound to bound."""
    levels = counted.levels
    low, high = data_limits(levels, [metric])
    steps = np.arange(np.floor(low), np.ceil(high) + 1.0)
    # From the bounds, so that a level that no query has keeps its place.
    if metric.kind == "ordinal" and steps.size <= _MOST_LEVELS and np.isin(levels, steps).all():
        return _bars_of_levels(counted, steps, 0.7, (low, high))
    if levels.size == 1:
        return _bars_of_levels(counted, levels, (high - low) * 0.1 or 1.0, (low, high))
    gap = float(np.diff(levels).min())
    if is_lattice(counted) and gap >= _LEAST_GAP * (high - low):
        return _bars_of_levels(counted, levels, min(0.7 * gap, 0.1 * (high - low)), (low, high))
    edges = np.linspace(low, high, _n_bins(counted.n) + 1)
    counts = np.histogram(levels, edges, weights=counted.counts)[0]
    return Bars((edges[:-1] + edges[1:]) / 2, np.diff(edges), counts, (low, high), levels=False)


def is_lattice(counted: ScoreCounts) -> bool:
    """Whether the scores have few distinct values, each shared by several queries."""
    return counted.levels.size <= min(_MOST_LEVELS, _SHARED * counted.n)


def _bars_of_levels(
    counted: ScoreCounts, levels: FloatArray, width: float, limits: tuple[float, float]
) -> Bars:
    counts = np.zeros(levels.size)
    counts[np.searchsorted(levels, counted.levels)] = counted.counts
    widths = np.full(levels.size, width)
    ends = min(limits[0], levels[0] - width / 2), max(limits[1], levels[-1] + width / 2)
    return Bars(levels, widths, counts, ends, levels=True)


def _n_bins(n: int) -> int:
    # Round numbers, so that the edges of scores between 0 and 1 are at 0.1, 0.05 or 0.025.
    return 10 if n < 50 else 20 if n < 1000 else 40


# The height of the tallest bar of a row, and the area of the largest dot.
_TALLEST = 0.78
_LARGEST_DOT = 220.0
# In box lengths: Tukey's rule, which is matplotlib's default too.
_WHISKER = 1.5
_BOX_KEY = (
    "Box: quartiles and median; diamond: mean; dots: queries, by area where they share a score."
)
_RIDGE_KEY = "Bars: queries, scaled to the tallest of the row; diamond: mean with its interval."


def box(
    subject: subjects.Evaluation,
    metrics: MetricNames = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw one dot per query and a box over them, one row per metric.

    Parameters
    ----------
    subject : RAGPipelineEvaluation
        A pipeline's scores.
    metrics : str or iterable of str, optional
        By any of their names. If omitted, the largest group that shares an axis, and a note that
        says which are left out: nothing is rescaled to fit.
    ax : Axes, optional
        Where to draw; a new figure if omitted.

    Raises
    ------
    DataError
        If the named metrics do not share an axis, or one has no score.

    Notes
    -----
    The box spans the quartiles, its line is the median, the whiskers reach the furthest score
    within 1.5 box lengths; 0/1 scores have no box. The diamond is the mean.
    """
    rows = _MetricRows.of(subject, metrics, ax)
    for metric, place in zip(rows.metrics, rows.places, strict=True):
        values = subjects.scored_values(rows.evaluation, metric)
        summary = rows.summaries[metric.name]
        _draw_dots(rows.axes, values, place + 0.19)
        # The quartiles of 0 and 1 are 0 or 1 themselves, so a box would say nothing.
        if metric.kind == "binary":
            _draw_mean_interval(rows.axes, summary, place - 0.19)
        else:
            _draw_box(rows.axes, values, summary, place - 0.19)
            _draw_mean(rows.axes, summary.mean, place - 0.19)
    return rows.finished(_BOX_KEY)


def ridges(
    subject: subjects.Evaluation,
    metrics: MetricNames = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw one small histogram per metric, in rows; `distribution` does so for several metrics."""
    rows = _MetricRows.of(subject, metrics, ax)
    axes, counts = rows.axes, rows.counts
    look: dict[str, Any] = {
        "color": canvas.SKY,
        "edgecolor": axes.get_facecolor(),
        "linewidth": 0.5,
    }
    ends = subjects.data_limits(rows.levels, rows.metrics)
    for metric, counted, place in zip(rows.metrics, counts, rows.places, strict=True):
        bars, bottom = bars_of(counted, metric), place + 0.34
        heights = -_TALLEST * bars.counts / bars.counts.max()
        axes.bar(bars.centres, heights, bars.widths, bottom, **look)
        axes.hlines(bottom, *ends, color=canvas.GREY, linewidth=0.6)
        _draw_mean_interval(axes, rows.summaries[metric.name], bottom)
    return rows.finished(_RIDGE_KEY)


@dataclass(frozen=True, eq=False)
class _MetricRows:
    """One row per metric, labelled, on Axes; what is drawn in them is the plot's own."""

    evaluation: subjects.Evaluation
    metrics: list[Metric]
    summaries: Mapping[str, subjects.MetricSummary]
    notes: list[str]
    axes: Axes
    places: list[float]

    @classmethod
    def of(cls, subject: object, metrics: MetricNames, ax: Axes | None) -> _MetricRows:
        """The rows of the metrics that share an axis, with their means and counts."""
        evaluation = subjects.evaluation_of(subject)
        drawn, notes = _drawn_metrics(evaluation, metrics)
        summaries = subjects.summarise_metrics(evaluation, drawn)
        drawn, total = [evaluation.metrics[name] for name in summaries], evaluation.n_queries
        rows = []
        for metric, own in zip(drawn, summaries.values(), strict=True):
            count = f"{own.n:,}" if own.n == total else f"{own.n:,} of {total:,}"
            rows.append(PlotRow(subjects.directed_title(metric), (own.text, count)))
        axes = canvas.axes_for(ax, 8.2, height_of(rows, 0.46))
        places = lay_rows(axes, rows, (f"mean [{next(iter(summaries.values())).level}]", "n"))
        return cls(evaluation, drawn, summaries, notes, axes, places)

    @property
    def counts(self) -> list[ScoreCounts]:
        """The scores of each metric, counted."""
        return [subjects.counted_scores(self.evaluation, metric) for metric in self.metrics]

    @property
    def levels(self) -> FloatArray:
        """The distinct scores of all metrics."""
        return np.concatenate([counted.levels for counted in self.counts])

    def finished(self, key: str) -> Axes:
        """The Axes with their limits, their title and the meaning of the marks."""
        limits = subjects.data_limits(self.levels, self.metrics)
        self.axes.set_xlim(*canvas.pad_limits(*limits, 0.02))
        self.axes.set_xlabel("score")
        canvas.note_below(self.axes, key, subjects.direction_note(self.metrics), *self.notes)
        canvas.tidy(self.axes, f"Scores of {self.evaluation.name}", grid="x")
        return self.axes


def _drawn_metrics(
    evaluation: subjects.Evaluation, metrics: MetricNames
) -> tuple[list[Metric], list[str]]:
    """The metrics to draw, and notes on the others."""
    requested = subjects.select_metrics(evaluation.metrics, metrics)
    if metrics is not None:
        for metric in requested:
            # Raises if nothing is scored: a metric that the caller named must not vanish.
            subjects.counted_scores(evaluation, metric)
        return subjects.of_one_scale(requested, named=True)[0], []
    scored = [metric for metric in requested if subjects.is_scored(evaluation, metric)]
    if not scored:
        subjects.counted_scores(evaluation, requested[0])
    drawn, left_out = subjects.of_one_scale(scored, named=False)
    empty = ", ".join(metric.title for metric in requested if metric not in scored)
    return drawn, [subjects.left_out_note(left_out), f"Nothing scored: {empty}." if empty else ""]


def _draw_dots(ax: Axes, values: FloatArray, place: float) -> None:
    """Draw one dot per query, spread a little; or one per level, with an area for its queries."""
    look: dict[str, Any] = {"color": canvas.BLUE, "linewidth": 0}
    counted = subjects.ScoreCounts.of(values)
    if not is_lattice(counted):
        dots = {"alpha": canvas.opacity(values.size), "s": 12, **look}
        heights = place + 0.26 * canvas.jitter(values.size)
        # One image instead of thousands of shapes keeps SVG and PDF files small.
        ax.scatter(values, heights, rasterized=values.size > 2000, **dots)
        return
    # Not below 4, so that a single query among thousands remains visible.
    areas = np.maximum(_LARGEST_DOT * counted.counts / counted.n, 4.0)
    ax.scatter(counted.levels, np.full(areas.size, place), **{"s": areas, **look})


def _draw_box(ax: Axes, values: FloatArray, summary: subjects.MetricSummary, place: float) -> None:
    """Draw quartiles and median of the report, and whiskers to the furthest score in reach."""
    low, middle, high = summary.quartiles
    reach = _WHISKER * (high - low)
    inside = values[(values >= low - reach) & (values <= high + reach)]
    ax.hlines(place, inside.min(), inside.max(), color=canvas.ink(), linewidth=1.0, zorder=3)
    paper, ink = ax.get_facecolor(), canvas.ink()
    look: dict[str, Any] = {"color": paper, "edgecolor": ink, "linewidth": 1.0, "zorder": 4}
    ax.barh(place, high - low, left=low, height=0.26, **look)
    ax.vlines(middle, place - 0.13, place + 0.13, color=canvas.ink(), linewidth=2.2, zorder=5)


def _draw_mean(ax: Axes, mean: float, place: float) -> None:
    look: dict[str, Any] = {"markeredgecolor": canvas.ink(), "markersize": 5.5, "zorder": 6}
    ax.plot(mean, place, "D", markerfacecolor=ax.get_facecolor(), **look)


def _draw_mean_interval(ax: Axes, summary: subjects.MetricSummary, place: float) -> None:
    look: dict[str, Any] = {"color": canvas.ink(), "linewidth": 2.4, "zorder": 5}
    canvas.draw_interval(ax, place, summary.low, summary.high, **look)
    _draw_mean(ax, summary.mean, place)


_MOST_RUG = 1000  # ticks of more queries would merge into a bar
_PERCENTILE = re.compile(r"^p(\d+(?:\.\d+)?)$")
# The height of one line of labels above the bars, as a share of the tallest bar.
_LINE = 0.085
# The width of a letter of a label, in inches.
_LETTER = 0.067


def distribution(
    subject: subjects.Evaluation,
    metric: MetricNames = None,
    *,
    percentiles: Sequence[float] = (25, 50, 75),
    threshold: float | str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the distribution of one metric, or of all metrics in rows.

    Parameters
    ----------
    subject : RAGPipelineEvaluation
        A pipeline's scores.
    metric : str or iterable of str, optional
        By any of its names. Several metrics, or all if none is named, are rows of small
        histograms, as far as they share an axis.
    percentiles : sequence of float
        Dotted lines, from 0 to 100; none if empty.
    threshold : float, or "p25" and the like, "median", "mean", optional
        A line with a label that says how many queries are on the wrong side; only for one metric
        that is not 0/1.
    ax : Axes, optional
        Where to draw; a new figure if omitted.

    Raises
    ------
    DataError
        If none of its queries is scored, or the metrics do not share an axis.

    Notes
    -----
    0/1 scores are two bars with counts and shares; a few distinct scores are one bar each; anything
    else is a histogram (10, 20 or 40 bars, by the number of queries) over a rug of one tick per
    query.
    """
    evaluation = subjects.evaluation_of(subject)
    if not isinstance(metric, str) and (metric is not None or len(evaluation.metrics) > 1):
        if threshold is not None:
            raise DataError("threshold needs one metric; name it")
        return ridges(evaluation, metric, ax=ax)
    known = subjects.single_metric(evaluation.metrics, metric)
    counted = subjects.counted_scores(evaluation, known)
    binary = known.kind == "binary"
    cut = None if threshold is None else _cut(evaluation, known, threshold)
    axes = canvas.axes_for(ax, 4.4, 3.8) if binary else canvas.axes_for(ax, 6.4, 4.2)
    if binary:
        _two_bars(evaluation, known, counted, axes)
    else:
        bars = bars_of(counted, known)
        _draw_bars(axes, evaluation, known, counted, bars)
        # Lines would cross the counts on top of the bars of levels, so they start above them.
        foot = axes.get_ylim()[1] if bars.levels else 0.0
        _mark_mean(axes, subjects.summarise_metrics(evaluation, [known])[known.name], foot)
        _mark_thresholds(axes, _thresholds(evaluation, known, percentiles), foot)
        if cut is not None:
            _mark_own_threshold(axes, known, counted, cut)
    canvas.tidy(axes, f"{known.title} — {evaluation.name}", grid="y")
    return axes


# -- 0/1 scores


def _two_bars(
    evaluation: subjects.Evaluation, metric: Metric, counted: subjects.ScoreCounts, ax: Axes
) -> None:
    n, ones = counted.n, int((counted.levels * counted.counts).sum())
    shares = (n - ones) / n, ones / n
    ax.bar([0, 1], shares, width=0.62, color=[canvas.PALE, canvas.BLUE])
    summary = subjects.summarise_metrics(evaluation, [metric])[metric.name]
    if summary.has_interval:
        ends = [[summary.mean - summary.low], [summary.high - summary.mean]]
        ax.errorbar(1, summary.mean, ends, color=canvas.ink(), capsize=4, linewidth=1.3)
    _label_bar(ax, 0, n - ones, shares[0], shares[0])
    _label_bar(ax, 1, ones, shares[1], summary.high if summary.has_interval else shares[1])
    ax.set_xticks([0, 1], ["0", "1"])
    ax.set_xlim(-0.6, 1.6)
    ax.set_ylim(0, 1.12)
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.spines["left"].set_bounds(0, 1)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    ax.set_ylabel("share of scored queries")
    count = canvas.count_text(n, evaluation.n_queries)
    ax.set_xlabel(canvas.plain(f"{subjects.axis_text(metric)}\n{count}"))
    canvas.note_below(ax, f"Share of 1: {summary.text}, {summary.level}.")


def _label_bar(ax: Axes, level: int, count: int, share: float, top: float) -> None:
    """Write the count and the share over the bar, or over the interval on top of it."""
    look: dict[str, Any] = {"va": "bottom", "fontsize": "medium"}
    canvas.write(ax, f"{count:,}  ({_percent(share)})", (level, top), (0, 4), **look)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


# -- all other scores


def _draw_bars(
    ax: Axes,
    evaluation: subjects.Evaluation,
    metric: Metric,
    counted: subjects.ScoreCounts,
    bars: Bars,
) -> None:
    look: dict[str, Any] = {"color": canvas.SKY, "edgecolor": ax.get_facecolor(), "linewidth": 0.6}
    ax.bar(bars.centres, bars.counts, bars.widths, **look)
    n = counted.n
    ax.set_xlim(*canvas.pad_limits(*bars.limits, 0.02 if bars.levels else 0.04))
    ax.set_ylim(0, bars.counts.max() * 1.05)
    if bars.levels:
        _label_levels(ax, bars, n)
    elif n <= _MOST_RUG:
        rug = np.repeat(counted.levels, counted.counts.astype(np.int64))
        look = {"color": canvas.ink(), "markersize": 7, "markeredgewidth": 0.8}
        look |= {"transform": ax.get_xaxis_transform(), "alpha": canvas.opacity(n)}
        ax.plot(rug, np.full(n, 0.012), "|", **look)
    _tick_counts(ax, int(bars.counts.max()))
    ax.set_ylabel("queries")
    count = canvas.count_text(n, evaluation.n_queries)
    ax.set_xlabel(canvas.plain(f"{subjects.axis_text(metric)}, {count}"))


def _tick_counts(ax: Axes, tallest: int) -> None:
    """Tick whole numbers up to the tallest bar; above it there are labels, not counts."""
    ticks = MaxNLocator(integer=True, nbins=6).tick_values(0, tallest)
    ax.set_yticks([tick for tick in ticks if 0 <= tick <= tallest])
    ax.spines["left"].set_bounds(0, tallest)


def _label_levels(ax: Axes, bars: Bars, n: int) -> None:
    """Write counts on top of the bars, with their shares if there is room."""
    has_room = bars.centres.size <= 6
    for centre, count in zip(bars.centres, bars.counts, strict=True):
        if count:
            share = f"\n({_percent(count / n)})" if has_room else ""
            box = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.4}
            look: dict[str, Any] = {"va": "bottom", "bbox": box}
            canvas.write(ax, f"{count:,.0f}{share}", (centre, count), (0, 2), **look)
    ax.set_ylim(0, bars.counts.max() * (1.2 if has_room else 1.12))


# -- marks above the bars


def _mark_mean(ax: Axes, summary: subjects.MetricSummary, foot: float) -> None:
    """Draw the mean as a diamond with its interval above the bars, and its label above it."""
    top = ax.get_ylim()[1]
    height = top * (1 + 0.4 * _LINE)
    ax.vlines(summary.mean, foot, height, color=canvas.ink(), linewidth=1.2)
    if summary.has_interval:
        ends = [[summary.mean - summary.low], [summary.high - summary.mean]]
        ax.errorbar(summary.mean, height, xerr=ends, color=canvas.ink(), capsize=3, linewidth=1.4)
    ax.plot(summary.mean, height, "D", color=canvas.ink(), markersize=5)
    label = (
        f"mean {summary.text}, {summary.level}" if summary.has_interval else f"mean {summary.text}"
    )
    _label_above(ax, label, _label_centre(ax, summary.mean, label), height)
    ax.set_ylim(0, top * (1 + 1.75 * _LINE))


def _label_centre(ax: Axes, value: float, label: str) -> float:
    """The centre of a label at a value, in shares of the axis, moved so that it stays inside."""
    left, right = ax.get_xlim()
    half = min(_label_width(ax, label) / 2, 0.5)
    return float(np.clip((value - left) / (right - left), half, 1 - half))


def _label_width(ax: Axes, label: str) -> float:
    """The width of a label in shares of the axis."""
    return _LETTER * len(label) / canvas.inches_wide(ax)


def _label_above(ax: Axes, label: str, place: float, height: float, **look: Any) -> None:
    """Write a label over a mark, on a background that hides the lines behind it."""
    left, right = ax.get_xlim()
    box = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.6}
    across = left + place * (right - left)
    canvas.write(ax, label, (across, height), (0, 5), va="bottom", bbox=box, **look)


def _thresholds(
    evaluation: subjects.Evaluation, metric: Metric, percentiles: Sequence[float]
) -> list[tuple[float, str]]:
    """The values and labels of the lines; equal thresholds share a line."""
    if not len(percentiles):
        return []
    row = evaluation.find_thresholds([metric.name], percentiles=percentiles).frame.iloc[0]
    names: dict[float, list[str]] = {}
    for percentile in percentiles:
        name = f"p{percentile:g}"
        names.setdefault(float(row[name]), []).append(name)
    return [
        (value, f"{' = '.join(names[value])} = {canvas.number_text(value)}")
        for value in sorted(names)
    ]


def _cut(evaluation: subjects.Evaluation, metric: Metric, threshold: float | str) -> float:
    """The threshold of the caller as a number."""
    if metric.kind == "binary":
        raise DataError(f"{metric.name!r} is 0 or 1, so it has no threshold to draw")
    if not isinstance(threshold, str):
        cut = float(threshold)
    elif threshold == "mean":
        cut = subjects.summarise_metrics(evaluation, [metric])[metric.name].mean
    else:
        match = _PERCENTILE.match("p50" if threshold == "median" else threshold)
        if match is None:
            raise DataError(
                f'threshold must be a number, "mean", "median" or a percentile such as "p25"; '
                f"got {threshold!r}"
            )
        cut = _thresholds(evaluation, metric, [float(match[1])])[0][0]
    if not np.isfinite(cut):
        raise DataError(f"threshold must be a finite number; got {threshold!r}")
    return cut


def _mark_thresholds(ax: Axes, thresholds: list[tuple[float, str]], foot: float) -> None:
    """Draw dotted lines with labels above, on several levels so that labels do not overlap."""
    if not thresholds:
        return
    places = [_label_centre(ax, value, label) for value, label in thresholds]
    levels = canvas.levels_without_overlap(
        places, [_label_width(ax, label) for _, label in thresholds]
    )
    top = ax.get_ylim()[1]
    for (value, label), place, level in zip(thresholds, places, levels, strict=True):
        height = top * (1 + _LINE * (level + 0.1))
        ax.vlines(value, foot, height, color=canvas.ink(), linewidth=1.0, linestyle=":", zorder=1.5)
        _label_above(ax, label, place, height)
    ax.set_ylim(0, top * (1 + _LINE * (max(levels) + 1.3)))


def _mark_own_threshold(
    ax: Axes, metric: Metric, counted: subjects.ScoreCounts, threshold: float
) -> None:
    """Draw a line over the whole height, and write how many queries are on its wrong side."""
    up = metric.greater_is_better
    is_wrong = counted.levels < threshold if up else counted.levels > threshold
    wrong = int(counted.counts[is_wrong].sum())
    label = f"threshold {canvas.number_text(threshold)}: {wrong:,} {'below' if up else 'above'}"
    left, right = ax.get_xlim()
    room = canvas.pad_limits(threshold, threshold, 0.04)
    ax.set_xlim(min(left, room[0]), max(right, room[1]))
    top = ax.get_ylim()[1]
    ax.vlines(threshold, 0, top, color=canvas.VERMILLION, linewidth=1.6, linestyle="--")
    place = _label_centre(ax, threshold, label)
    _label_above(ax, label, place, top, color=canvas.VERMILLION, fontweight="bold")
    ax.set_ylim(0, top * (1 + 1.2 * _LINE))
