"""A comparison in one picture: the improvement on each metric, with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import PercentFormatter

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.plots.options import ArtistOptions, MetricNames
from rageval_report.plots.rows import Row, height_of, lay_rows
from rageval_report.plots.style import (
    BETTER,
    EQUAL_MARKER,
    GREY,
    WORSE,
    axes_for,
    ink,
    interval_text,
    level_text,
    look_of,
    note_below,
    padded,
    plain,
    pvalue_text,
    shortened,
    tidy,
)
from rageval_report.plots.subjects import (
    Compared,
    Evaluation,
    chosen,
    comparison_of,
    direction_note,
    left_out_note,
    metrics_compared,
    of_one_scale,
    scale_of,
    told_title,
)
from rageval_report.scores import Metric

Scale = Literal["own", "range", "baseline"]
SCALES = ("own", "range", "baseline")

_INSTEAD = ', or scale="baseline" (percent of the baseline\'s mean) or "range" (of the bounds)'
_WHY_NOT: dict[Scale, str] = {
    "own": "on other scales",
    "range": "without bounds",
    "baseline": "the baseline's mean is 0",
}
_NO_CORRECTION = "none"
_WIDE = "\u2003\u2003"  # a page puts several plain blanks together, not these


@dataclass(frozen=True)
class Finding:
    """One row of a forest plot: an improvement with its interval, on the axis that is drawn."""

    metric: Metric
    candidate: str
    improvement: float
    low: float
    high: float
    pvalue: float
    n: int

    def is_shown(self, alpha: float) -> bool:
        """Whether a difference is shown, after correction."""
        return self.pvalue <= alpha


def forest(
    subject: Compared | Evaluation,
    metrics: MetricNames = None,
    *,
    other: Evaluation | None = None,
    scale: Scale | None = None,
    ax: Axes | None = None,
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw the improvement on each metric with its interval, a row a metric and a candidate.

    Parameters
    ----------
    subject : Comparison, or RAGPipelineEvaluation with `other`
        What to draw; an evaluation is the baseline.
    metrics : str or iterable of str, optional
        By any of their names.
    other : RAGPipelineEvaluation, optional
        The candidate, where the subject is an evaluation.
    scale : {"own", "range", "baseline"}, optional
        What the axis counts. "own": the metrics' own unit, so only metrics of one scale; where none
        are named, the largest such group, and a line under the axis that says what is left out.
        "range": shares of the metric's range, for metrics with bounds. "baseline": percent of the
        baseline's mean. Where not given, "own" if any metric shares its scale with another or is
        alone, else "baseline".
    ax : Axes, optional
        Where to draw; a new figure where not given.
    **style
        For the marks.

    Returns
    -------
    Axes

    Raises
    ------
    UnknownNameError
        If a metric or the scale is not known.
    DataError
        If the metrics named cannot stand on the axis that is asked for.

    Notes
    -----
    Improvements are differences turned so that right is better. Filled triangles mark rows where a
    difference is shown after correction, hollow circles all others; the intervals themselves are
    not corrected.
    """
    comparison = comparison_of(subject, other, metrics)
    known = metrics_compared(comparison)
    asked = chosen(known, metrics)
    scale = _checked_scale(scale, asked)
    drawn = _on_the_axis(asked, scale, asked_for=metrics is not None)
    findings = list(_findings(comparison, drawn, scale))
    if not findings:
        raise DataError("nothing to draw: no metric has a baseline mean to take a percentage of")
    there = {finding.metric.name for finding in findings}
    left_out = [metric for metric in asked if metric.name not in there]
    rows = _rows(findings, scale, several=len(comparison.pairings) > 1)
    made = axes_for(ax, 9.0, height_of(rows))
    level = comparison.settings.get("confidence_level", 0.95)
    heads = (f"improvement [{level_text(level)}]", _pvalue_head(comparison), "n")
    places = lay_rows(made, rows, heads)
    alpha = alpha_of(comparison)
    for finding, place in zip(findings, places, strict=True):
        _draw_finding(made, finding, place, finding.is_shown(alpha), style)
        if scale == "own":
            _draw_margin(made, _margin_of(comparison, finding.metric), place)
    _finish(made, comparison, findings, scale, left_out)
    return made


def _checked_scale(scale: Scale | None, metrics: Sequence[Metric]) -> Scale:
    if scale is None:
        scales = [scale_of(metric) for metric in metrics]
        alone = len(scales) == len(set(scales)) > 1 and "0 to 1" not in scales
        return "baseline" if alone else "own"
    if scale not in SCALES:
        raise UnknownNameError("scale of a forest plot", scale, SCALES)
    return scale


def _on_the_axis(metrics: list[Metric], scale: Scale, *, asked_for: bool) -> list[Metric]:
    """The metrics that the axis can hold."""
    if scale == "own":
        return of_one_scale(metrics, asked=asked_for, instead=_INSTEAD)[0]
    if scale == "baseline":
        return metrics
    unbounded = [metric for metric in metrics if metric.bounds is None]
    if (asked_for and unbounded) or len(unbounded) == len(metrics):
        names = ", ".join(metric.name for metric in unbounded)
        raise DataError(
            f'scale="range" needs bounds, and these metrics have none: {names}; give them when '
            'loading, or take scale="baseline"'
        )
    return [metric for metric in metrics if metric.bounds is not None]


def _findings(comparison: Compared, drawn: Sequence[Metric], scale: Scale) -> Iterator[Finding]:
    """The rows of the frame on the axis, the metrics in order; a mean of 0 has no percentages."""
    frame = comparison.frame
    for metric in drawn:
        for _, row in frame[frame["metric"] == metric.name].iterrows():
            unit = _unit(metric, row, scale)
            if unit > 0 or row["n"] == 0:
                yield _finding(metric, row, unit)


def _unit(metric: Metric, row: pd.Series, scale: Scale) -> float:
    if scale == "range" and metric.bounds is not None:
        return metric.bounds[1] - metric.bounds[0]
    return abs(float(row["baseline_mean"])) if scale == "baseline" else 1.0


def _finding(metric: Metric, row: pd.Series, unit: float) -> Finding:
    """Turned so that right is better, in units of the axis."""
    sign = 1.0 if metric.greater_is_better else -1.0
    ends = sorted(sign * float(row[name]) / unit for name in ("ci_low", "ci_high"))
    return Finding(
        metric=metric,
        candidate=str(row["candidate"]),
        improvement=sign * float(row["difference"]) / unit,
        low=ends[0],
        high=ends[1],
        pvalue=float(row["pvalue_adjusted"]),
        n=int(row["n"]),
    )


def _rows(findings: Sequence[Finding], scale: Scale, *, several: bool) -> list[Row]:
    """Candidates under the headings of their metrics, where there are several."""
    rows = []
    for finding in findings:
        cells = (_improvement_text(finding, scale), pvalue_text(finding.pvalue), f"{finding.n:,}")
        title = told_title(finding.metric)
        rows.append(Row(finding.candidate, cells, title) if several else Row(title, cells))
    return rows


def _improvement_text(finding: Finding, scale: Scale) -> str:
    if finding.n == 0:
        return "not compared"
    numbers = (finding.improvement, finding.low, finding.high)
    if scale == "own":
        return interval_text(*numbers, signed=True)
    told = [f"{100 * value:+.1f}".replace("-", "−") for value in numbers]
    ends = f" [{told[1]}, {told[2]}]" if np.isfinite(numbers).all() else ""
    return f"{told[0]}{ends} %"


def _pvalue_head(comparison: Compared) -> str:
    corrected = comparison.settings.get("correction", _NO_CORRECTION) != _NO_CORRECTION
    return "adj. p" if corrected and len(comparison.frame) > 1 else "p"


def _draw_finding(
    ax: Axes, finding: Finding, place: float, shown: bool, style: ArtistOptions
) -> None:
    better = finding.improvement > 0
    hue = ink() if not shown else BETTER if better else WORSE
    if np.isfinite([finding.low, finding.high]).all():
        ax.hlines(place, finding.low, finding.high, color=hue, linewidth=1.8, zorder=2)
    look = look_of(
        style,
        marker=EQUAL_MARKER if not shown else ">" if better else "<",
        markersize=9 if shown else 7,
        color=hue,
        markerfacecolor=hue if shown else ax.get_facecolor(),
        linestyle="none",
    )
    ax.plot(finding.improvement, place, zorder=3, **look)


def _margin_of(comparison: Compared, metric: Metric) -> float | None:
    """The margin of equivalence in a metric, where one was given."""
    margin = comparison.settings.get("margin")
    told = margin.get(metric.name) if isinstance(margin, Mapping) else margin
    return None if told is None else float(str(told))


def _draw_margin(ax: Axes, margin: float | None, place: float) -> None:
    if margin is not None:
        corner = -margin, place - 0.5
        band = Rectangle(corner, 2 * margin, 1.0, color=GREY, alpha=0.25, linewidth=0, zorder=0)
        ax.add_patch(band)


def _finish(
    ax: Axes,
    comparison: Compared,
    findings: Sequence[Finding],
    scale: Scale,
    left_out: Sequence[Metric],
) -> None:
    names = [pair.candidate.name for pair in comparison.pairings]
    baseline = comparison.pairings[0].baseline.name
    ax.axvline(0, color=ink(), linewidth=1.0, zorder=1)
    has_margin = any(_margin_of(comparison, finding.metric) for finding in findings)
    ax.set_xlim(*_limits(findings))
    if scale != "own":
        ax.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    unit = {"own": "", "range": " in % of the range", "baseline": " in % of its mean"}[scale]
    told = f"improvement over {shortened(baseline, 24)}{unit}"
    ax.set_xlabel(plain(f"← worse{_WIDE}{told}{_WIDE}better →"))
    note_below(
        ax,
        _key(comparison, with_margin=scale == "own" and has_margin),
        direction_note(finding.metric for finding in findings),
        left_out_note(left_out, _WHY_NOT[scale]),
    )
    tidy(ax, f"{names[0] if len(names) == 1 else 'Candidates'} against {baseline}", grid="x")


def _limits(findings: Sequence[Finding]) -> tuple[float, float]:
    """Zero, every mark and every interval that is there."""
    values = np.array([[f.improvement, f.low, f.high] for f in findings])
    finite = np.append(values[np.isfinite(values)], 0.0)
    return padded(float(finite.min()), float(finite.max()), 0.06)


def _key(comparison: Compared, *, with_margin: bool) -> str:
    """What the marks mean, and what the intervals are not."""
    alpha = alpha_of(comparison)
    correction = str(comparison.settings.get("correction", _NO_CORRECTION))
    corrected = _pvalue_head(comparison) == "adj. p"
    told = f"Triangle: a difference is shown, p ≤ {alpha:g}; hollow circle: none is."
    if corrected:
        told = told.replace("p ≤", f"p ({correction}) ≤") + " Intervals are not adjusted."
    return told + (" Grey band: the margin of equivalence." if with_margin else "")


def alpha_of(comparison: Compared) -> float:
    """The error rate that belongs to the comparison's confidence level."""
    return round(1.0 - float(str(comparison.settings.get("confidence_level", 0.95))), 12)
