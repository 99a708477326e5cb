"""The forest plot of a comparison: the improvement on each metric, with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import PercentFormatter

from rageval_report.errors import DataError, check_choice
from rageval_report.plots import canvas, subjects
from rageval_report.plots.labelled_rows import PlotRow, height_of, lay_rows
from rageval_report.plots.options import ForestScale, MetricNames
from rageval_report.scores import Metric

SCALES: tuple[ForestScale, ...] = ("own", "baseline")

_INSTEAD = ', or scale="baseline" (percent of the baseline\'s mean)'
_WHY_NOT: dict[ForestScale, str] = {
    "own": "on other scales",
    "baseline": "the baseline's mean is 0",
}
_NO_CORRECTION = "none"
# The axis of scores with bounds is never shorter, so that rounding does not look like a difference.
_LEAST_SPAN = 1e-3
_WIDE = "\u2003\u2003"  # em spaces: HTML collapses ordinary ones


@dataclass(frozen=True)
class ForestRow:
    """One row of a forest plot: an improvement with its interval, in units of the axis."""

    metric: Metric
    candidate: str
    improvement: float
    low: float
    high: float
    pvalue: float
    n: int


def forest(
    subject: subjects.Comparison | subjects.Evaluation,
    metrics: MetricNames = None,
    *,
    other: subjects.Evaluation | None = None,
    scale: ForestScale | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the improvement on each metric with its interval, one row per metric and candidate.

    Parameters
    ----------
    subject, other
        The comparison, as for every plot of one; see `rageval_report.plots`.
    metrics : str or iterable of str, optional
        By any of their names.
    scale : {"own", "baseline"}, optional
        The unit of the axis. "own": the metrics' own unit, so only metrics of one scale; if no
        metric is named, the largest such group, and a note that says which are left out.
        "baseline": percent of the baseline's mean. If omitted, "own" if there is one metric or two
        share a scale, else "baseline".
    ax : Axes, optional
        Where to draw; a new figure if omitted.

    Raises
    ------
    UnknownValueError
        If the scale is not one of them.
    DataError
        If the named metrics cannot share an axis of that scale.

    Notes
    -----
    Improvements are differences with a sign such that right is better. Filled triangles mark rows
    with a significant difference after correction, hollow circles all others; the intervals
    themselves are not corrected.
    """
    comparison = subjects.comparison_of(subject, other, metrics)
    known = subjects.compared_metrics(comparison)
    requested = subjects.select_metrics(known, metrics)
    scale = _choose_scale(scale, requested)
    named = metrics is not None
    on_axis = requested
    if scale == "own":
        on_axis = subjects.of_one_scale(requested, named=named, instead=_INSTEAD)[0]
    fitting, no_room = subjects.fitting_metrics(comparison, on_axis, named=named)
    forest_rows = list(_forest_rows(comparison, fitting, scale))
    if not forest_rows:
        raise DataError("nothing to draw: no metric has a baseline mean to take a percentage of")
    in_picture = {row.metric.name for row in forest_rows} | {metric.name for metric in no_room}
    left_out = [metric for metric in requested if metric.name not in in_picture]
    names = subjects.names_of_comparison(comparison)
    rows = [
        replace(row, label=names.of(row.label))
        for row in _rows(forest_rows, scale, several=len(comparison.pairings) > 1)
    ]
    axes = canvas.axes_for(ax, 9.0, height_of(rows))
    heads = (
        f"improvement [{canvas.level_text(comparison.settings)}]",
        _pvalue_head(comparison),
        "n",
    )
    places = lay_rows(axes, rows, heads)
    alpha = canvas.alpha_of(comparison.settings)
    for row, place in zip(forest_rows, places, strict=True):
        _draw_forest_row(axes, row, place, row.pvalue <= alpha)
        if scale == "own":
            # The margin is in the unit of the metric, which only this axis has.
            _draw_margin(axes, subjects.margin_of(comparison, row.metric), place)
    notes = (
        subjects.left_out_note(left_out, _WHY_NOT[scale]),
        subjects.left_out_note(no_room, "for lack of room"),
    )
    _finish(axes, comparison, forest_rows, scale, notes)
    return axes


def _choose_scale(scale: ForestScale | None, metrics: Sequence[Metric]) -> ForestScale:
    if scale is None:
        scales = [subjects.scale_of(metric) for metric in metrics]
        alone = len(scales) == len(set(scales)) > 1 and "0 to 1" not in scales
        return "baseline" if alone else "own"
    check_choice("scale", scale, SCALES)
    return scale


def _forest_rows(
    comparison: subjects.Comparison, drawn: Sequence[Metric], scale: ForestScale
) -> Iterator[ForestRow]:
    """The rows in the order of the metrics; a baseline mean of 0 has no percentages."""
    frame = comparison.frame
    for metric in drawn:
        for _, row in frame[frame["metric"] == metric.name].iterrows():
            unit = _unit(row, scale)
            # A row without pairs has no baseline mean either; it stays, and says "not compared".
            if unit > 0 or row["n"] == 0:
                yield _forest_row(metric, row, unit)


def _unit(row: pd.Series, scale: ForestScale) -> float:
    return abs(float(row["baseline_mean"])) if scale == "baseline" else 1.0


def _forest_row(metric: Metric, row: pd.Series, unit: float) -> ForestRow:
    """One row, with a sign such that right is better, in units of the axis."""
    sign = 1.0 if metric.greater_is_better else -1.0
    # A turned sign exchanges the ends of the interval.
    low, high = sorted(sign * float(row[name]) / unit for name in ("ci_low", "ci_high"))
    improvement, pvalue = sign * float(row["difference"]) / unit, float(row["pvalue_adjusted"])
    name, n = str(row["candidate"]), int(row["n"])
    return ForestRow(metric, name, improvement, low, high, pvalue, n)


def _rows(forest_rows: Sequence[ForestRow], scale: ForestScale, *, several: bool) -> list[PlotRow]:
    """The rows; if there are several candidates, under headings of their metrics."""
    rows = []
    for row in forest_rows:
        cells = (_improvement_text(row, scale), canvas.pvalue_text(row.pvalue), f"{row.n:,}")
        title = subjects.directed_title(row.metric)
        rows.append(PlotRow(row.candidate, cells, title) if several else PlotRow(title, cells))
    return rows


def _improvement_text(row: ForestRow, scale: ForestScale) -> str:
    if row.n == 0:
        return "not compared"
    numbers = (row.improvement, row.low, row.high)
    if scale == "own":
        return canvas.interval_text(*numbers, signed=True)
    numbers_text = [f"{100 * value:+.1f}".replace("-", "−") for value in numbers]
    ends = f" [{numbers_text[1]}, {numbers_text[2]}]" if np.isfinite(numbers).all() else ""
    return f"{numbers_text[0]}{ends} %"


def _pvalue_head(comparison: subjects.Comparison) -> str:
    corrected = comparison.settings.get("correction", _NO_CORRECTION) != _NO_CORRECTION
    return "adj. p" if corrected and len(comparison.frame) > 1 else "p"


def _draw_forest_row(ax: Axes, row: ForestRow, place: float, is_significant: bool) -> None:
    better = row.improvement > 0
    hue = canvas.ink() if not is_significant else canvas.BETTER if better else canvas.WORSE
    canvas.draw_interval(ax, place, row.low, row.high, color=hue)
    marker = canvas.EQUAL_MARKER if not is_significant else ">" if better else "<"
    look = {"marker": marker, "markersize": 9 if is_significant else 7, "color": hue}
    canvas.mark(ax, row.improvement, place, filled=is_significant, **look)


def _draw_margin(ax: Axes, margin: float | None, place: float) -> None:
    if margin is not None:
        look: dict[str, Any] = {"color": canvas.GREY, "alpha": 0.25, "linewidth": 0, "zorder": 0}
        ax.add_patch(Rectangle((-margin, place - 0.5), 2 * margin, 1.0, **look))


def _finish(
    ax: Axes,
    comparison: subjects.Comparison,
    forest_rows: Sequence[ForestRow],
    scale: ForestScale,
    notes: Sequence[str],
) -> None:
    baselines = {pairing.baseline.name for pairing in comparison.pairings}
    baseline = baselines.pop() if len(baselines) == 1 else "the first level"
    ax.axvline(0, color=canvas.ink(), linewidth=1.0, zorder=1)
    has_margin = any(subjects.margin_of(comparison, row.metric) for row in forest_rows)
    ax.set_xlim(*_limits(forest_rows))
    if scale != "own":
        ax.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    unit = " in % of its mean" if scale == "baseline" else ""
    names = subjects.names_of_comparison(comparison)
    label = f"improvement over {names.of(baseline)}{unit}"
    ax.set_xlabel(canvas.plain(f"← worse{_WIDE}{label}{_WIDE}better →"))
    canvas.note_below(
        ax,
        _key(comparison, with_margin=scale == "own" and has_margin),
        subjects.direction_note(row.metric for row in forest_rows),
        *notes,
        canvas.names_note(names),
    )
    canvas.tidy(ax, subjects.comparison_title(comparison), grid="x")


def _limits(forest_rows: Sequence[ForestRow]) -> tuple[float, float]:
    """The limits of the axis: zero, every mark and every interval."""
    values = np.append([[row.improvement, row.low, row.high] for row in forest_rows], 0.0)
    if np.nanmax(np.abs(values)) < _LEAST_SPAN and all(row.metric.bounds for row in forest_rows):
        values = np.append(values, [-_LEAST_SPAN, _LEAST_SPAN])
    return canvas.finite_limits(values, 0.06)


def _key(comparison: subjects.Comparison, *, with_margin: bool) -> str:
    """The meaning of the marks and of the intervals."""
    alpha = canvas.alpha_of(comparison.settings)
    correction = str(comparison.settings.get("correction", _NO_CORRECTION))
    corrected = _pvalue_head(comparison) == "adj. p"
    pvalue = f"p ({correction})" if corrected else "p"
    key = f"Triangle: a difference is shown, {pvalue} ≤ {alpha:g}; hollow circle: none is."
    intervals = " Intervals are not adjusted." if corrected else ""
    return key + intervals + (" Grey band: the margin of equivalence." if with_margin else "")
