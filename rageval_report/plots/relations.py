"""Scatter plots of two metrics or two pipelines, and the correlations of all metrics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from rageval_report.errors import DataError
from rageval_report.plots import canvas, subjects
from rageval_report.plots.options import ArtistOptions, MetricNames
from rageval_report.scores import Metric
from rageval_report.scores.align import align
from rageval_report.scores.names import shorten_names
from rageval_report.types import FloatArray

_DIVERGING = LinearSegmentedColormap.from_list(
    "rageval_report_diverging", [canvas.VERMILLION, "#F7F7F7", canvas.BLUE]
)
# Areas in square points; all dots together cover only a part of the axes.
_LARGEST_DOT, _SMALLEST_DOT, _ALL_DOTS = 600.0, 8.0, 15_000.0
# If there are fewer places than this share of the queries, dots would hide each other.
_SHARED = 0.8
# Smaller differences are rounding, as in the tests.
_TIED = 1e-12
_DARK = 0.65  # on cells of stronger correlations, white digits are easier to read than black ones


@dataclass(frozen=True, eq=False)
class Cloud:
    """The scores of the queries that both sides have, and the number of all queries."""

    x: FloatArray
    y: FloatArray
    total: int

    @cached_property
    def counts(self) -> np.ndarray:
        """The number of queries at each place."""
        return np.unique(np.column_stack([self.x, self.y]), axis=0, return_counts=True)[1]

    @property
    def shares_places(self) -> bool:
        """Whether so many queries share a place that dots would hide each other."""
        return self.counts.size < _SHARED * self.x.size

    @property
    def area_per_query(self) -> float:
        """The area that a dot has per query; the largest dot leaves room for the others."""
        largest = min(_LARGEST_DOT, _ALL_DOTS / self.counts.size)
        return largest / float(self.counts.max())

    @property
    def margin(self) -> float:
        """The room around the data as a share of its range, so that large dots are not cut."""
        return 0.075 if self.shares_places else 0.04

    @property
    def key(self) -> str:
        """The meaning of the size of the dots."""
        return "Area of a dot: queries at that place." if self.shares_places else ""


def scatter(
    subject: subjects.Evaluation,
    x: str | None = None,
    y: str | None = None,
    *,
    other: subjects.Evaluation | None = None,
    ax: Axes | None = None,
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw one metric against another, or one pipeline against another on the same metric.

    Parameters
    ----------
    subject : RAGPipelineEvaluation
        A pipeline's scores.
    x, y : str, optional
        Two metrics by any of their names; optional if there are only two. With `other`, only `x`.
    other : RAGPipelineEvaluation, optional
        The pipeline on the y-axis; paired by query id, with the line of equal scores.
    ax, **style
        As for every plot, see `rageval_report.plots`; the style is that of the dots.

    Raises
    ------
    DataError
        If no query has both scores, or the metrics are ambiguous.

    Notes
    -----
    If many queries share places, there is one dot per place; its area is the number of queries.
    """
    evaluation = subjects.evaluation_of(subject)
    if other is not None:
        return _against(evaluation, subjects.evaluation_of(other), x or y, ax, style)
    first, second = _two_metrics(evaluation, x, y)
    cloud = _pair_scores(
        evaluation.scores[first.name].to_numpy(dtype=np.float64),
        evaluation.scores[second.name].to_numpy(dtype=np.float64),
        f"{first.name!r} and {second.name!r}",
    )
    axes = canvas.axes_for(ax, 5.6, 5.0)
    _draw_cloud(axes, cloud, np.ones(cloud.x.size, dtype=bool), canvas.BLUE, "o", style)
    axes.set_xlim(*canvas.pad_limits(*subjects.data_limits(cloud.x, [first]), cloud.margin))
    axes.set_ylim(*canvas.pad_limits(*subjects.data_limits(cloud.y, [second]), cloud.margin))
    axes.set_xlabel(canvas.plain(subjects.axis_text(first)))
    axes.set_ylabel(canvas.plain(subjects.axis_text(second)))
    correlation_text = f"Spearman correlation {canvas.number_text(_spearman(cloud), signed=True)}"
    canvas.note_below(
        axes, f"{correlation_text}, {canvas.count_text(cloud.x.size, cloud.total)}.", cloud.key
    )
    canvas.tidy(axes, f"{first.title} and {second.title} — {evaluation.name}")
    axes.grid(visible=True, color=canvas.GREY, alpha=0.3, linewidth=0.6)
    return axes


def _two_metrics(
    evaluation: subjects.Evaluation, x: str | None, y: str | None
) -> tuple[Metric, Metric]:
    names = [name for name in (x, y) if name is not None]
    if not names and len(evaluation.metrics) == 2:
        names = list(evaluation.metrics)
    if len(names) != 2:
        raise DataError(
            "a scatter plot needs two metrics, or one metric and other=pipeline; metrics: "
            f"{', '.join(evaluation.metrics)}"
        )
    first, second = subjects.select_metrics(evaluation.metrics, names)
    return first, second


def _pair_scores(x: FloatArray, y: FloatArray, names: str) -> Cloud:
    both = ~(np.isnan(x) | np.isnan(y))
    if not both.any():
        raise DataError(f"nothing to draw: no query is scored on both {names}")
    return Cloud(x[both], y[both], x.size)


def _spearman(cloud: Cloud) -> float:
    """Spearman's correlation; NaN if one side is constant."""
    ranks = pd.DataFrame({"x": cloud.x, "y": cloud.y}).rank().to_numpy()
    if cloud.x.size < 2 or np.ptp(ranks, axis=0).min() == 0:
        return float("nan")
    return float(np.corrcoef(ranks.T)[0, 1])


def _draw_cloud(
    ax: Axes, cloud: Cloud, selected: np.ndarray, hue: str, marker: str, style: ArtistOptions
) -> None:
    """Draw one dot per query; or one dot per place, with an area for the queries at that place."""
    points = np.column_stack([cloud.x[selected], cloud.y[selected]])
    look = canvas.look_of(style, color=hue, marker=marker, linewidth=0)
    if not cloud.shares_places:
        n = cloud.x.size
        dots = {"s": 34 if n <= 200 else 14, "alpha": canvas.opacity(n), **look}
        # One image instead of thousands of shapes keeps SVG and PDF files small.
        ax.scatter(points[:, 0], points[:, 1], rasterized=n > 2000, **dots)
    elif len(points):
        places, counts = np.unique(points, axis=0, return_counts=True)
        areas = np.maximum(_SMALLEST_DOT, counts * cloud.area_per_query)
        ax.scatter(places[:, 0], places[:, 1], **{"s": areas, "alpha": 0.75, **look})


# -- one pipeline against another


def _against(
    evaluation: subjects.Evaluation,
    other: subjects.Evaluation,
    metric: str | None,
    ax: Axes | None,
    style: ArtistOptions,
) -> Axes:
    known = subjects.single_metric(evaluation.metrics, metric)
    theirs = subjects.select_metrics(other.metrics, known.name)[0]
    pairs = align(evaluation.scores.index, other.scores.index)
    cloud = _pair_scores(
        pairs.baseline(evaluation.scores[known.name]),
        pairs.candidate(other.scores[theirs.name]),
        f"{evaluation.name!r} and {other.name!r} ({known.name})",
    )
    axes = canvas.axes_for(ax, 5.6, 5.4)
    both = np.concatenate([cloud.x, cloud.y])
    limits = canvas.pad_limits(*subjects.data_limits(both, [known]), cloud.margin)
    axes.axline((limits[0], limits[0]), slope=1, color=canvas.GREY, linewidth=1.0, zorder=0)
    axes.set_xlim(*limits)
    axes.set_ylim(*limits)
    axes.set_aspect("equal")
    names = shorten_names([evaluation.name, other.name])
    first, second = names.of(evaluation.name), names.of(other.name)
    axes.set_xlabel(canvas.plain(f"{first} ({_way(known)} is better)"))
    axes.set_ylabel(canvas.plain(second))
    canvas.note_below(
        axes,
        f"{canvas.count_text(cloud.x.size, cloud.total)} in both.",
        cloud.key,
        canvas.names_note(names),
    )
    canvas.tidy(axes, f"{known.title}: {second} against {first}")
    _draw_outcomes(axes, cloud, known, style)
    return axes


def _way(metric: Metric) -> str:
    return "higher" if metric.greater_is_better else "lower"


def _draw_outcomes(ax: Axes, cloud: Cloud, metric: Metric, style: ArtistOptions) -> None:
    """Draw better, worse and equal queries with markers of their own, and write their numbers."""
    difference = cloud.y - cloud.x
    gain = difference if metric.greater_is_better else -difference
    outlined: ArtistOptions = {"edgecolor": canvas.GREY, "linewidth": 0.6, **style}
    equal, worse, better = np.abs(gain) <= _TIED, gain < -_TIED, gain > _TIED
    _draw_cloud(ax, cloud, equal, canvas.EQUAL, canvas.EQUAL_MARKER, outlined)
    _draw_cloud(ax, cloud, worse, canvas.WORSE, canvas.WORSE_MARKER, style)
    _draw_cloud(ax, cloud, better, canvas.BETTER, canvas.BETTER_MARKER, style)
    words = (
        (f"better: {better.sum():,}", canvas.BETTER),
        (f"equal: {equal.sum():,}", canvas.ink()),
        (f"worse: {worse.sum():,}", canvas.WORSE),
    )
    # The better half of the picture lies above the line, or below it where lower is better.
    canvas.words_above(ax, words if metric.greater_is_better else words[::-1])


# -- all metrics with each other


def correlation(
    subject: subjects.Evaluation,
    metrics: MetricNames = None,
    *,
    ax: Axes | None = None,
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw Spearman's rank correlations of the metrics over the queries.

    Parameters
    ----------
    subject : RAGPipelineEvaluation
        A pipeline's scores.
    metrics : str or iterable of str, optional
        At least two, by any of their names; all if omitted. Ranks do not need a common scale.
    ax, **style
        As for every plot, see `rageval_report.plots`; the style is that of the coloured cells.

    Raises
    ------
    DataError
        If there are fewer than two metrics, or nothing is scored.

    Notes
    -----
    Each cell uses the queries that both of its metrics scored. A dash means that a metric is
    constant, or fewer than three queries have both.
    """
    evaluation = subjects.evaluation_of(subject)
    drawn = subjects.select_metrics(evaluation.metrics, metrics)
    if len(drawn) < 2:
        raise DataError(f"correlations need at least two metrics; got only {drawn[0].name}")
    scores = evaluation.scores[[metric.name for metric in drawn]]
    if not scores.notna().to_numpy().any():
        raise DataError(f"nothing to draw: no query of {evaluation.name!r} is scored")
    values, counts = rank_correlations(scores)
    size = 0.52 * len(drawn)
    axes = canvas.axes_for(ax, 3.0 + size, 2.2 + size)
    _draw_cells(axes, values, style)
    _label_cells(axes, drawn)
    sentence = f"Spearman's rank correlation, {_pairs_text(counts, len(scores))}."
    canvas.note_below(axes, sentence, subjects.direction_note(drawn))
    canvas.tidy(axes, f"Correlations of the metrics — {evaluation.name}")
    axes.spines[:].set_visible(False)
    return axes


def rank_correlations(scores: pd.DataFrame) -> tuple[FloatArray, np.ndarray]:
    """Spearman's correlation of each pair of columns over its complete rows, and their number."""
    columns = [scores[name].to_numpy(dtype=np.float64) for name in scores]
    values = np.full((len(columns), len(columns)), np.nan)
    counts = np.zeros(values.shape, dtype=np.int64)
    for row, first in enumerate(columns):
        for column, second in enumerate(columns[:row]):
            both = ~(np.isnan(first) | np.isnan(second))
            counts[row, column] = both.sum()
            # The correlation of two queries is always 1 or -1.
            if counts[row, column] >= 3:
                values[row, column] = _spearman(Cloud(first[both], second[both], both.size))
    return values, counts


def _draw_cells(ax: Axes, values: FloatArray, style: ArtistOptions) -> None:
    """Draw the lower triangle, each cell with its number."""
    shown = values[1:, :-1]
    look = canvas.look_of(style, cmap=_DIVERGING, vmin=-1.0, vmax=1.0)
    ax.pcolormesh(np.ma.masked_invalid(shown), edgecolors=ax.get_facecolor(), linewidth=1.5, **look)
    for row in range(shown.shape[0]):
        for column in range(row + 1):
            value = shown[row, column]
            # Adding 0.0 turns a rounded -0.0 into 0.0.
            text = f"{round(value, 2) + 0.0:.2f}".replace("-", "−") if np.isfinite(value) else "–"
            dark = np.isfinite(value) and abs(value) > _DARK
            hue = "white" if dark else "black"
            canvas.write(ax, text, (column + 0.5, row + 0.5), color=hue)
    ax.set_ylim(shown.shape[0], 0)
    ax.set_aspect("equal")


def _label_cells(ax: Axes, drawn: list[Metric]) -> None:
    n = len(drawn) - 1
    titles = [
        canvas.plain(canvas.shorten_label(subjects.directed_title(metric), 26)) for metric in drawn
    ]
    ax.set_yticks(np.arange(n) + 0.5, titles[1:])
    ax.set_xticks(np.arange(n) + 0.5, titles[:-1], rotation=40, ha="right", rotation_mode="anchor")
    ax.tick_params(length=0)


def _pairs_text(counts: np.ndarray, total: int) -> str:
    pairs = counts[np.tril_indices(len(counts), -1)]
    if pairs.min() == pairs.max():
        return canvas.count_text(int(pairs.min()), total)
    return f"n = {pairs.min():,} to {pairs.max():,} of {total:,} scored on both"
