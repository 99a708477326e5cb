"""Slices: one dot with an interval per group of queries, and a line at the mean of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.plots import canvas, subjects
from rageval_report.plots.labelled_rows import PlotRow, height_of, lay_rows
from rageval_report.plots.options import MetricNames
from rageval_report.results import Result
from rageval_report.scores import Metric
from rageval_report.scores.names import ShortNames, shorten_names

_MOST_GROUPS = 30  # more rows would not be readable


@dataclass(frozen=True, eq=False)
class SliceBlock:
    """The groups of one metric (and one candidate), the largest first."""

    heading: str
    frame: pd.DataFrame
    n_hidden: int


def slices(
    subject: Result | subjects.Evaluation,
    metrics: MetricNames = None,
    *,
    by: str | None = None,
    candidate: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a dot and an interval for each group of queries.

    Parameters
    ----------
    subject : Result of slices, or RAGPipelineEvaluation or Comparison with `by`
        Means by group, or the differences of a comparison by group.
    metrics : str or iterable of str, optional
        By any of their names. If omitted, the largest group of metrics that shares an axis, and a
        note that says which are left out.
    by : str, optional
        The column of the details, if the subject is not a result of slices.
    candidate : str, optional
        Only this candidate, if several were compared.
    ax : Axes, optional
        Where to draw; a new figure if omitted.

    Raises
    ------
    UnknownNameError
        If the candidate is not known.
    DataError
        If the named metrics do not share an axis, or the subject has no groups.

    Notes
    -----
    The dashed line is the mean over all queries of the groups. A filled dot of a comparison means
    that a difference is shown in that group after correction. The thirty largest groups are
    drawn.
    """
    result = subjects.slices_of(subject, by, metrics)
    known = _known_metrics(subject, result.frame)
    requested = subjects.select_metrics(known, metrics)
    drawn, left_out = subjects.of_one_scale(requested, named=metrics is not None)
    estimate = "difference" if "difference" in result.frame else "mean"
    names = _names_of(result)
    blocks = _blocks(_of_candidate(result.frame, candidate), drawn, names)
    if not any(block.frame[estimate].notna().any() for block in blocks):
        raise DataError("nothing to draw: no query of these groups is scored")
    rows = [row for block in blocks for row in _rows(block, result, estimate, len(blocks) > 1)]
    axes = canvas.axes_for(ax, 8.2, height_of(rows))
    places = lay_rows(axes, rows, _heads(result, estimate))
    for block in blocks:
        own, places = places[: len(block.frame)], places[len(block.frame) :]
        _draw_block(axes, block, estimate, own, canvas.alpha_of(result.settings))
    notes = (subjects.left_out_note(left_out), canvas.names_note(names))
    _finish(axes, result, blocks, drawn, estimate, notes)
    return axes


def _known_metrics(subject: object, frame: pd.DataFrame) -> dict[str, Metric]:
    """The metrics of the frame: as the evaluation has them, else by the frame and their names."""
    metrics = getattr(subject, "metrics", None)
    if isinstance(metrics, Mapping):
        return {name: metrics[name] for name in dict.fromkeys(frame["metric"])}
    return subjects.metrics_of_frame(frame)


def _of_candidate(frame: pd.DataFrame, candidate: str | None) -> pd.DataFrame:
    if candidate is None:
        return frame
    names = list(frame["candidate"].unique()) if "candidate" in frame else []
    if candidate not in names:
        raise UnknownNameError("candidate", candidate, names)
    return frame[frame["candidate"] == candidate]


def _names_of(result: Result) -> ShortNames:
    """Short names of the pipelines: of the one that the groups are of, or of those compared."""
    columns = [name for name in ("baseline", "candidate", "pipeline") if name in result.frame]
    return shorten_names(name for column in columns for name in result.frame[column].unique())


def _blocks(frame: pd.DataFrame, metrics: Sequence[Metric], names: ShortNames) -> list[SliceBlock]:
    candidates = list(frame["candidate"].unique()) if "candidate" in frame else [None]
    blocks = []
    for metric in metrics:
        for candidate in candidates:
            mine = frame[frame["metric"] == metric.name]
            mine = mine if candidate is None else mine[mine["candidate"] == candidate]
            several = f" — {names.of(candidate)}" if len(candidates) > 1 else ""
            heading, n_hidden = subjects.directed_title(metric) + several, len(mine) - _MOST_GROUPS
            blocks.append(SliceBlock(heading, mine.head(_MOST_GROUPS), max(n_hidden, 0)))
    return blocks


def _rows(block: SliceBlock, result: Result, estimate: str, several: bool) -> list[PlotRow]:
    rows = []
    for _, row in block.frame.iterrows():
        numbers = (float(row[name]) for name in (estimate, "ci_low", "ci_high"))
        cells = [canvas.interval_text(*numbers, signed=estimate == "difference")]
        if estimate == "difference":
            cells.append(canvas.pvalue_text(float(row["pvalue_adjusted"])))
        cells.append(f"{int(row['n']):,}")
        label = str(row[str(result.settings["by"])])
        rows.append(PlotRow(label, tuple(cells), block.heading if several else ""))
    return rows


def _heads(result: Result, estimate: str) -> tuple[str, ...]:
    middle = ("adj. p",) if estimate == "difference" else ()
    return (f"{estimate} [{canvas.level_text(result.settings)}]", *middle, "n")


def _draw_block(
    ax: Axes, block: SliceBlock, estimate: str, places: Sequence[float], alpha: float
) -> None:
    weights = block.frame["n"].to_numpy(dtype=np.float64)
    values = block.frame[estimate].to_numpy(dtype=np.float64)
    scored = ~np.isnan(values)
    # The groups that are shown have another mean than all queries.
    if scored.any() and not block.n_hidden:
        whole = float(np.average(values[scored], weights=weights[scored]))
        ends = places[0] - 0.45, places[-1] + 0.45
        ax.vlines(whole, *ends, color=canvas.GREY, linewidth=1.2, linestyle="--", zorder=1)
    for (_, row), place in zip(block.frame.iterrows(), places, strict=True):
        filled = estimate == "mean" or float(row["pvalue_adjusted"]) <= alpha
        canvas.draw_interval(ax, place, row["ci_low"], row["ci_high"], color=canvas.BLUE)
        look = {"marker": "o", "markersize": 7, "color": canvas.BLUE}
        canvas.mark(ax, row[estimate], place, filled=filled, **look)


def _finish(
    ax: Axes,
    result: Result,
    blocks: Sequence[SliceBlock],
    drawn: Sequence[Metric],
    estimate: str,
    notes: Sequence[str],
) -> None:
    frame = pd.concat([block.frame for block in blocks])
    values = frame[[estimate, "ci_low", "ci_high"]].to_numpy(dtype=np.float64).ravel()
    if estimate == "difference":
        ax.axvline(0, color=canvas.ink(), linewidth=1.0, zorder=1)
        values = np.append(values, 0.0)
    ax.set_xlim(*canvas.finite_limits(values, 0.06))
    alone = f" — {subjects.axis_text(drawn[0])}" if len(drawn) == 1 else ""
    ax.set_xlabel(canvas.plain(estimate + alone))
    hidden = sum(block.n_hidden for block in blocks)
    shown = f"Filled: a difference is shown, adjusted p ≤ {canvas.alpha_of(result.settings):g}."
    canvas.note_below(
        ax,
        f"Dashed: all queries together. {shown if estimate == 'difference' else ''}".strip(),
        subjects.direction_note(drawn),
        f"{hidden} smaller groups are not drawn." if hidden else "",
        *notes,
    )
    head = f"{drawn[0].title} — " if len(blocks) == 1 else ""
    canvas.tidy(ax, f"{head}{_names_of(result).in_text(result.title)}", grid="x")
