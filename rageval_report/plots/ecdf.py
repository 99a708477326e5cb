"""The empirical distribution function: the share of queries up to each score, as lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Unpack

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from rageval_report.errors import DataError
from rageval_report.plots import canvas, subjects
from rageval_report.plots.options import ArtistOptions, MetricNames
from rageval_report.scores import Metric
from rageval_report.scores.names import shorten_names

# A legend of more lines would cover the lines, so it is beside the axes.
_MOST_INSIDE = 2


@dataclass(frozen=True, eq=False)
class EcdfLine:
    """One line: its label and its scores."""

    label: str
    counted: subjects.ScoreCounts
    total: int


def ecdf(
    subject: subjects.Evaluation,
    metric: MetricNames = None,
    *,
    other: subjects.Evaluation | Sequence[subjects.Evaluation] | None = None,
    ax: Axes | None = None,
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw the empirical distribution function.

    Parameters
    ----------
    subject : RAGPipelineEvaluation
        A pipeline's scores.
    metric : str or iterable of str, optional
        By any of their names; one line per metric, up to six. If omitted, all that share an axis.
    other : RAGPipelineEvaluation or sequence of them, optional
        Further pipelines, drawn beside the first on one metric.
    ax, **style
        As for every plot, see `rageval_report.plots`; the style is that of the lines.

    Raises
    ------
    DataError
        If there are more than six lines, or the metrics do not share an axis.

    Notes
    -----
    At a score x the line shows the share of scored queries with x or less, so the share below a
    threshold can be read from it.
    """
    evaluation = subjects.evaluation_of(subject)
    drawn, lines, notes = (
        _of_metrics(evaluation, metric)
        if other is None
        else _of_pipelines(evaluation, other, metric)
    )
    if len(lines) > len(canvas.HUES):
        names = ", ".join(line.label for line in lines)
        raise DataError(
            f"{len(lines)} lines cannot be distinguished; choose up to {len(canvas.HUES)} of: "
            f"{names}"
        )
    axes = canvas.axes_for(ax, 6.4 if len(lines) <= _MOST_INSIDE else 8.4, 4.2)
    limits = subjects.data_limits(np.concatenate([line.counted.levels for line in lines]), drawn)
    _draw_lines(axes, lines, canvas.pad_limits(*limits), style)
    _label_axes(axes, drawn, lines)
    canvas.note_below(axes, *notes)
    canvas.tidy(axes, _title(drawn, evaluation, alone=other is None), grid="y")
    return axes


def _of_metrics(
    evaluation: subjects.Evaluation, metrics: MetricNames
) -> tuple[list[Metric], list[EcdfLine], list[str]]:
    requested = subjects.select_metrics(evaluation.metrics, metrics)
    drawn, left_out = subjects.of_one_scale(requested, named=metrics is not None)
    lines = [_line(subjects.directed_title(metric), evaluation, metric) for metric in drawn]
    return (
        drawn,
        lines,
        [
            subjects.direction_note(drawn) if len(drawn) > 1 else "",
            subjects.left_out_note(left_out),
        ],
    )


def _of_pipelines(
    evaluation: subjects.Evaluation,
    other: subjects.Evaluation | Sequence[subjects.Evaluation],
    metric: MetricNames,
) -> tuple[list[Metric], list[EcdfLine], list[str]]:
    if metric is not None and not isinstance(metric, str):
        raise DataError("several pipelines are drawn on one metric; name one, such as 'recall'")
    others = list(other) if isinstance(other, Sequence) else [other]
    known = subjects.single_metric(evaluation.metrics, metric)
    pipelines = [evaluation, *map(subjects.evaluation_of, others)]
    names = shorten_names(each.name for each in pipelines)
    lines = [
        _line(names.of(each.name), each, subjects.select_metrics(each.metrics, known.name)[0])
        for each in pipelines
    ]
    return [known], lines, [canvas.names_note(names)]


def _line(label: str, evaluation: subjects.Evaluation, metric: Metric) -> EcdfLine:
    return EcdfLine(label, subjects.counted_scores(evaluation, metric), len(evaluation.scores))


def _draw_lines(
    ax: Axes, lines: Sequence[EcdfLine], limits: tuple[float, float], style: ArtistOptions
) -> None:
    """Draw steps from the left edge to the right, so that every line spans the axes."""
    left, right = limits
    for line, hue, pattern in zip(lines, canvas.HUES, canvas.LINE_STYLES, strict=False):
        steps, counts = line.counted.levels, line.counted.counts
        shares = np.cumsum(counts) / line.counted.n
        look = canvas.look_of(style, color=hue, linestyle=pattern, linewidth=1.8)
        ax.step(
            [left, *steps, right],
            [0.0, *shares, 1.0],
            # At a score the line already includes the queries with that score.
            where="post",
            label=canvas.plain(
                f"{canvas.shorten_label(line.label)} (mean {canvas.number_text(line.counted.mean)})"
            ),
            **look,
        )
    ax.set_xlim(left, right)
    ax.set_ylim(0, 1.02)


def _label_axes(ax: Axes, drawn: Sequence[Metric], lines: Sequence[EcdfLine]) -> None:
    counts = dict.fromkeys(canvas.count_text(line.counted.n, line.total) for line in lines)
    sizes = [line.counted.n for line in lines]
    count = next(iter(counts)) if len(counts) == 1 else f"n = {min(sizes):,} to {max(sizes):,}"
    ax.set_xlabel(
        canvas.plain(f"{subjects.axis_text(drawn[0]) if len(drawn) == 1 else 'score'}, {count}")
    )
    ax.set_ylabel("queries scoring at most this")
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    if len(lines) > _MOST_INSIDE:
        ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, handlelength=3.4)
    elif len(lines) > 1:
        ax.legend(loc=_free_corner(ax, lines), frameon=False, handlelength=3.4)


def _free_corner(ax: Axes, lines: Sequence[EcdfLine]) -> Literal["upper left", "lower right"]:
    """The corner with the most room: the lines run from lower left to upper right."""
    left, right = ax.get_xlim()
    early, late = left + 0.3 * (right - left), left + 0.7 * (right - left)
    highest_early = max(line.counted.share_at_most(early) for line in lines)
    lowest_late = min(line.counted.share_at_most(late) for line in lines)
    return "upper left" if 1.0 - highest_early > lowest_late else "lower right"


def _title(drawn: Sequence[Metric], evaluation: subjects.Evaluation, *, alone: bool) -> str:
    if len(drawn) > 1:
        return f"Scores of {evaluation.name}"
    return f"{drawn[0].title} — {evaluation.name}" if alone else drawn[0].title
