"""All metrics of a pipeline in one picture: small histograms, or boxes over every query's dot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

import numpy as np
from matplotlib.axes import Axes

from rageval_report.plots.bars import bars_of, is_lattice
from rageval_report.plots.options import ArtistOptions, MetricNames
from rageval_report.plots.rows import Row, height_of, lay_rows
from rageval_report.plots.style import (
    BLUE,
    GREY,
    SKY,
    axes_for,
    ink,
    jitter,
    look_of,
    note_below,
    opacity,
    padded,
    tidy,
)
from rageval_report.plots.subjects import (
    Described,
    Evaluation,
    chosen,
    data_limits,
    described,
    direction_note,
    evaluation_of,
    left_out_note,
    of_one_scale,
    scored_values,
    told_title,
)
from rageval_report.scores import Metric
from rageval_report.types import FloatArray

# The tallest bar of a row, and the largest dot of a level that queries share.
_TALLEST = 0.78
_LARGEST_DOT = 220.0
_WHISKER = 1.5
_BOX_KEY = (
    "Box: quartiles and median; diamond: mean; dots: queries, by area where they share a score."
)
_RIDGE_KEY = "Bars: queries, scaled to the tallest of the row; diamond: mean with its interval."


def box(
    subject: Evaluation,
    metrics: MetricNames = None,
    *,
    ax: Axes | None = None,
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw every query's score as a dot, and a box over them, a row a metric.

    Parameters
    ----------
    subject : RAGPipelineEvaluation
        A pipeline's scores.
    metrics : str or iterable of str, optional
        By any of their names. Where none is named, the largest group that shares an axis, and a
        line under the axis that says what is left out: nothing is rescaled to fit.
    ax : Axes, optional
        Where to draw; a new figure where not given.
    **style
        For the dots.

    Returns
    -------
    Axes

    Raises
    ------
    UnknownNameError
        If a metric is not known.
    DataError
        If the metrics named share no axis, or a metric named has no score.

    Notes
    -----
    The box spans the quartiles, its line is the median, the whiskers reach the furthest score
    within 1.5 box lengths; 0/1 scores have no box. The diamond is the mean.
    """
    evaluation = evaluation_of(subject)
    drawn, notes = _drawn_metrics(evaluation, metrics)
    told = described(evaluation, drawn)
    drawn = [evaluation.metrics[name] for name in told]
    rows, heads = _rows(drawn, told, len(evaluation.scores))
    made = axes_for(ax, 8.2, height_of(rows, 0.46))
    places = lay_rows(made, rows, heads)
    for metric, place in zip(drawn, places, strict=True):
        values, one = scored_values(evaluation, metric), told[metric.name]
        _draw_dots(made, values, place + 0.19, style)
        if metric.kind == "binary":
            _draw_interval(made, one, place - 0.19)
        else:
            _draw_box(made, values, one, place - 0.19)
            _draw_mean(made, one.mean, place - 0.19)
    _finish(made, evaluation, drawn, _BOX_KEY, notes)
    return made


def ridges(
    subject: Evaluation,
    metrics: MetricNames = None,
    *,
    ax: Axes | None = None,
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw a small histogram of each metric, a row each; what `distribution` does with several.

    Parameters, errors and the axis as in `box`; the bars of a row are scaled to its tallest.
    """
    evaluation = evaluation_of(subject)
    drawn, notes = _drawn_metrics(evaluation, metrics)
    told = described(evaluation, drawn)
    drawn = [evaluation.metrics[name] for name in told]
    rows, heads = _rows(drawn, told, len(evaluation.scores))
    made = axes_for(ax, 8.2, height_of(rows, 0.46))
    places = lay_rows(made, rows, heads)
    every = [scored_values(evaluation, metric) for metric in drawn]
    look = look_of(style, color=SKY, edgecolor=made.get_facecolor(), linewidth=0.5)
    ends = data_limits(np.concatenate(every), drawn)
    for metric, values, place in zip(drawn, every, places, strict=True):
        bars, bottom = bars_of(values, metric), place + 0.34
        heights = -_TALLEST * bars.counts / bars.counts.max()
        made.bar(bars.centres, heights, bars.widths, bottom, **look)
        made.hlines(bottom, *ends, color=GREY, linewidth=0.6)
        _draw_interval(made, told[metric.name], bottom)
    _finish(made, evaluation, drawn, _RIDGE_KEY, notes)
    return made


def _drawn_metrics(evaluation: Evaluation, metrics: MetricNames) -> tuple[list[Metric], list[str]]:
    """The metrics to draw, and what is to be said of those that are not."""
    asked = chosen(evaluation.metrics, metrics)
    if metrics is not None:
        for metric in asked:
            scored_values(evaluation, metric)
        return of_one_scale(asked, asked=True)[0], []
    scored = [metric for metric in asked if evaluation.scores[metric.name].notna().any()]
    if not scored:
        scored_values(evaluation, asked[0])
    drawn, left_out = of_one_scale(scored, asked=False)
    empty = ", ".join(metric.title for metric in asked if metric not in scored)
    return drawn, [left_out_note(left_out), f"Nothing scored: {empty}." if empty else ""]


def _rows(
    metrics: Sequence[Metric], told: Mapping[str, Described], total: int
) -> tuple[list[Row], tuple[str, str]]:
    """The rows, and the heads of their numbers."""
    rows = []
    for metric in metrics:
        one = told[metric.name]
        count = f"{one.n:,}" if one.n == total else f"{one.n:,} of {total:,}"
        rows.append(Row(told_title(metric), (one.text, count)))
    return rows, (f"mean [{told[metrics[0].name].level}]", "n")


def _draw_dots(ax: Axes, values: FloatArray, place: float, style: ArtistOptions) -> None:
    """One dot a query, spread a little; one dot a level, its area the queries, where they share."""
    look = look_of(style, color=BLUE, linewidth=0)
    if not is_lattice(values):
        dots = {"alpha": opacity(values.size), "s": 12, **look}
        heights = place + 0.26 * jitter(values.size)
        ax.scatter(values, heights, rasterized=values.size > 2000, **dots)
        return
    levels, counts = np.unique(values, return_counts=True)
    areas = np.maximum(_LARGEST_DOT * counts / values.size, 4.0)
    ax.scatter(levels, np.full(levels.size, place), **{"s": areas, **look})


def _draw_box(ax: Axes, values: FloatArray, one: Described, place: float) -> None:
    """Quartiles and median from the report, whiskers to the furthest score within reach."""
    low, middle, high = one.quartiles
    reach = _WHISKER * (high - low)
    inside = values[(values >= low - reach) & (values <= high + reach)]
    ax.hlines(place, inside.min(), inside.max(), color=ink(), linewidth=1.0, zorder=3)
    ax.barh(
        place,
        high - low,
        left=low,
        height=0.26,
        color=ax.get_facecolor(),
        edgecolor=ink(),
        linewidth=1.0,
        zorder=4,
    )
    ax.vlines(middle, place - 0.13, place + 0.13, color=ink(), linewidth=2.2, zorder=5)


def _draw_mean(ax: Axes, mean: float, place: float) -> None:
    ax.plot(
        mean,
        place,
        "D",
        markersize=5.5,
        markerfacecolor=ax.get_facecolor(),
        markeredgecolor=ink(),
        zorder=6,
    )


def _draw_interval(ax: Axes, one: Described, place: float) -> None:
    if one.has_interval:
        ax.hlines(place, one.low, one.high, color=ink(), linewidth=2.4, zorder=5)
    _draw_mean(ax, one.mean, place)


def _finish(
    ax: Axes, evaluation: Evaluation, drawn: list[Metric], key: str, notes: list[str]
) -> None:
    values = np.concatenate([scored_values(evaluation, metric) for metric in drawn])
    ax.set_xlim(*padded(*data_limits(values, drawn), 0.02))
    ax.set_xlabel("score")
    note_below(ax, key, direction_note(drawn), *notes)
    tidy(ax, f"Scores of {evaluation.name}", grid="x")
