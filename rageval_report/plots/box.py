"""All metrics of a pipeline in rows: boxes over one dot per query, or small histograms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.axes import Axes

from rageval_report.plots import canvas, subjects
from rageval_report.plots.bars import bars_of, is_lattice
from rageval_report.plots.labelled_rows import PlotRow, height_of, lay_rows
from rageval_report.plots.options import ArtistOptions, MetricNames
from rageval_report.scores import Metric
from rageval_report.types import FloatArray

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
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw one dot per query and a box over them, one row per metric.

    Parameters
    ----------
    subject : RAGPipelineEvaluation
        A pipeline's scores.
    metrics : str or iterable of str, optional
        By any of their names. If omitted, the largest group that shares an axis, and a note that
        says which are left out: nothing is rescaled to fit.
    ax, **style
        As for every plot, see `rageval_report.plots`; the style is that of the dots.

    Raises
    ------
    DataError
        If the named metrics do not share an axis, or one has no score.

    Notes
    -----
    The box spans the quartiles, its line is the median, the whiskers reach the furthest score
    within 1.5 box lengths; 0/1 scores have no box. The diamond is the mean.
    """
    evaluation = subjects.evaluation_of(subject)
    drawn, notes = _drawn_metrics(evaluation, metrics)
    summaries = subjects.summarise_metrics(evaluation, drawn)
    drawn = [evaluation.metrics[name] for name in summaries]
    rows, heads = _rows(drawn, summaries, len(evaluation.scores))
    axes = canvas.axes_for(ax, 8.2, height_of(rows, 0.46))
    places = lay_rows(axes, rows, heads)
    for metric, place in zip(drawn, places, strict=True):
        values, summary = subjects.scored_values(evaluation, metric), summaries[metric.name]
        _draw_dots(axes, values, place + 0.19, style)
        # The quartiles of 0 and 1 are 0 or 1 themselves, so a box would say nothing.
        if metric.kind == "binary":
            _draw_interval(axes, summary, place - 0.19)
        else:
            _draw_box(axes, values, summary, place - 0.19)
            _draw_mean(axes, summary.mean, place - 0.19)
    _finish(axes, evaluation, drawn, _BOX_KEY, notes)
    return axes


def ridges(
    subject: subjects.Evaluation,
    metrics: MetricNames = None,
    *,
    ax: Axes | None = None,
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw one small histogram per metric, in rows; `distribution` does so for several metrics."""
    evaluation = subjects.evaluation_of(subject)
    drawn, notes = _drawn_metrics(evaluation, metrics)
    summaries = subjects.summarise_metrics(evaluation, drawn)
    drawn = [evaluation.metrics[name] for name in summaries]
    rows, heads = _rows(drawn, summaries, len(evaluation.scores))
    axes = canvas.axes_for(ax, 8.2, height_of(rows, 0.46))
    places = lay_rows(axes, rows, heads)
    every = [subjects.counted_scores(evaluation, metric) for metric in drawn]
    look = canvas.look_of(style, color=canvas.SKY, edgecolor=axes.get_facecolor(), linewidth=0.5)
    ends = subjects.data_limits(np.concatenate([counted.levels for counted in every]), drawn)
    for metric, counted, place in zip(drawn, every, places, strict=True):
        bars, bottom = bars_of(counted, metric), place + 0.34
        heights = -_TALLEST * bars.counts / bars.counts.max()
        axes.bar(bars.centres, heights, bars.widths, bottom, **look)
        axes.hlines(bottom, *ends, color=canvas.GREY, linewidth=0.6)
        _draw_interval(axes, summaries[metric.name], bottom)
    _finish(axes, evaluation, drawn, _RIDGE_KEY, notes)
    return axes


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


def _rows(
    metrics: Sequence[Metric], summaries: Mapping[str, subjects.MetricSummary], total: int
) -> tuple[list[PlotRow], tuple[str, str]]:
    """The rows, and the heads of their numbers."""
    rows = []
    for metric in metrics:
        summary = summaries[metric.name]
        count = f"{summary.n:,}" if summary.n == total else f"{summary.n:,} of {total:,}"
        rows.append(PlotRow(subjects.directed_title(metric), (summary.text, count)))
    return rows, (f"mean [{summaries[metrics[0].name].level}]", "n")


def _draw_dots(ax: Axes, values: FloatArray, place: float, style: ArtistOptions) -> None:
    """Draw one dot per query, spread a little; or one per level, with an area for its queries."""
    look = canvas.look_of(style, color=canvas.BLUE, linewidth=0)
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
    look: dict[str, Any] = {
        "color": ax.get_facecolor(),
        "edgecolor": canvas.ink(),
        "linewidth": 1.0,
        "zorder": 4,
    }
    ax.barh(place, high - low, left=low, height=0.26, **look)
    ax.vlines(middle, place - 0.13, place + 0.13, color=canvas.ink(), linewidth=2.2, zorder=5)


def _draw_mean(ax: Axes, mean: float, place: float) -> None:
    look: dict[str, Any] = {
        "markerfacecolor": ax.get_facecolor(),
        "markeredgecolor": canvas.ink(),
        "zorder": 6,
    }
    ax.plot(mean, place, "D", markersize=5.5, **look)


def _draw_interval(ax: Axes, summary: subjects.MetricSummary, place: float) -> None:
    look: dict[str, Any] = {"color": canvas.ink(), "linewidth": 2.4, "zorder": 5}
    canvas.draw_interval(ax, place, summary.low, summary.high, **look)
    _draw_mean(ax, summary.mean, place)


def _finish(
    ax: Axes, evaluation: subjects.Evaluation, drawn: list[Metric], key: str, notes: list[str]
) -> None:
    levels = np.concatenate(
        [subjects.counted_scores(evaluation, metric).levels for metric in drawn]
    )
    ax.set_xlim(*canvas.pad_limits(*subjects.data_limits(levels, drawn), 0.02))
    ax.set_xlabel("score")
    canvas.note_below(ax, key, subjects.direction_note(drawn), *notes)
    canvas.tidy(ax, f"Scores of {evaluation.name}", grid="x")
