"""The share of queries that score at most so much: pipelines, or metrics, as lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Unpack

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from rageval_report.errors import DataError
from rageval_report.plots.options import ArtistOptions, MetricNames
from rageval_report.plots.style import (
    HUES,
    LINE_STYLES,
    axes_for,
    count_text,
    look_of,
    note_below,
    number,
    padded,
    plain,
    shortened,
    tidy,
)
from rageval_report.plots.subjects import (
    Evaluation,
    axis_text,
    chosen,
    data_limits,
    direction_note,
    evaluation_of,
    left_out_note,
    of_one_scale,
    one_metric,
    scored_values,
    told_title,
)
from rageval_report.scores import Metric
from rageval_report.types import FloatArray

# A longer legend than this would lie on the lines, and stands beside them.
_MOST_INSIDE = 2


@dataclass(frozen=True, eq=False)
class Line:
    """One line: what it is called, and the scores it counts."""

    label: str
    values: FloatArray
    total: int


def ecdf(
    subject: Evaluation,
    metric: MetricNames = None,
    *,
    other: Evaluation | Sequence[Evaluation] | None = None,
    ax: Axes | None = None,
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw the empirical distribution function.

    Parameters
    ----------
    subject : RAGPipelineEvaluation
        A pipeline's scores.
    metric : str or iterable of str, optional
        By any of their names; several, up to six, are a line each. Where none is named, all that
        share an axis.
    other : RAGPipelineEvaluation or sequence of them, optional
        Further pipelines, to be drawn beside the first on one metric.
    ax : Axes, optional
        Where to draw; a new figure where not given.
    **style
        For the lines.

    Returns
    -------
    Axes

    Raises
    ------
    UnknownNameError
        If a metric is not known.
    DataError
        If there are more than six lines, nothing is scored, or the metrics share no axis.

    Notes
    -----
    At a score x the line shows the share of scored queries that score x or less, so what stands
    at a threshold is read off directly.
    """
    evaluation = evaluation_of(subject)
    drawn, lines, notes = (
        _of_metrics(evaluation, metric)
        if other is None
        else _of_pipelines(evaluation, other, metric)
    )
    if len(lines) > len(HUES):
        names = ", ".join(line.label for line in lines)
        raise DataError(
            f"{len(lines)} lines cannot be told apart; choose up to {len(HUES)} of: {names}"
        )
    made = axes_for(ax, 6.4 if len(lines) <= _MOST_INSIDE else 8.4, 4.2)
    limits = data_limits(np.concatenate([line.values for line in lines]), drawn)
    _draw_lines(made, lines, padded(*limits), style)
    _label_axes(made, drawn, lines)
    note_below(made, *notes)
    tidy(made, _title(drawn, evaluation, alone=other is None), grid="y")
    return made


def _of_metrics(
    evaluation: Evaluation, metrics: MetricNames
) -> tuple[list[Metric], list[Line], list[str]]:
    asked = chosen(evaluation.metrics, metrics)
    drawn, left_out = of_one_scale(asked, asked=metrics is not None)
    lines = [_line(told_title(metric), evaluation, metric) for metric in drawn]
    return drawn, lines, [direction_note(drawn) if len(drawn) > 1 else "", left_out_note(left_out)]


def _of_pipelines(
    evaluation: Evaluation, other: Evaluation | Sequence[Evaluation], metric: MetricNames
) -> tuple[list[Metric], list[Line], list[str]]:
    if metric is not None and not isinstance(metric, str):
        raise DataError("several pipelines are drawn on one metric; name one, as 'recall'")
    others = list(other) if isinstance(other, Sequence) else [other]
    known = one_metric(evaluation.metrics, metric)
    lines = [_line(evaluation.name, evaluation, known)]
    for further in map(evaluation_of, others):
        theirs = chosen(further.metrics, known.name)[0]
        lines.append(_line(further.name, further, theirs))
    return [known], lines, []


def _line(label: str, evaluation: Evaluation, metric: Metric) -> Line:
    return Line(label, scored_values(evaluation, metric), len(evaluation.scores))


def _draw_lines(
    ax: Axes, lines: Sequence[Line], limits: tuple[float, float], style: ArtistOptions
) -> None:
    """Steps from the left edge to the right, so that no line ends in the open."""
    left, right = limits
    for line, hue, pattern in zip(lines, HUES, LINE_STYLES, strict=False):
        steps, counts = np.unique(line.values, return_counts=True)
        shares = np.cumsum(counts) / line.values.size
        look = look_of(style, color=hue, linestyle=pattern, linewidth=1.8)
        ax.step(
            [left, *steps, right],
            [0.0, *shares, 1.0],
            where="post",
            label=plain(f"{shortened(line.label)} (mean {number(float(line.values.mean()))})"),
            **look,
        )
    ax.set_xlim(left, right)
    ax.set_ylim(0, 1.02)


def _label_axes(ax: Axes, drawn: Sequence[Metric], lines: Sequence[Line]) -> None:
    counts = dict.fromkeys(count_text(line.values.size, line.total) for line in lines)
    sizes = [line.values.size for line in lines]
    told = next(iter(counts)) if len(counts) == 1 else f"n = {min(sizes):,} to {max(sizes):,}"
    ax.set_xlabel(plain(f"{axis_text(drawn[0]) if len(drawn) == 1 else 'score'}, {told}"))
    ax.set_ylabel("queries scoring at most this")
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    if len(lines) > _MOST_INSIDE:
        ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, handlelength=3.4)
    elif len(lines) > 1:
        ax.legend(loc=_free_corner(ax, lines), frameon=False, handlelength=3.4)


def _free_corner(ax: Axes, lines: Sequence[Line]) -> Literal["upper left", "lower right"]:
    """The corner from which the lines keep furthest: they run from lower left to upper right."""
    left, right = ax.get_xlim()
    early, late = left + 0.3 * (right - left), left + 0.7 * (right - left)
    highest_early = max(float((line.values <= early).mean()) for line in lines)
    lowest_late = min(float((line.values <= late).mean()) for line in lines)
    return "upper left" if 1.0 - highest_early > lowest_late else "lower right"


def _title(drawn: Sequence[Metric], evaluation: Evaluation, *, alone: bool) -> str:
    if len(drawn) > 1:
        return f"Scores of {evaluation.name}"
    return f"{drawn[0].title} — {evaluation.name}" if alone else drawn[0].title
