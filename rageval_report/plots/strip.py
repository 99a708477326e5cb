"""The strip: one metric per row, both pipelines on its own scale, and the difference beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator

from rageval_report.errors import DataError
from rageval_report.plots import canvas, subjects
from rageval_report.plots.options import MetricNames
from rageval_report.scores import Metric, shown
from rageval_report.scores.names import display_width
from rageval_report.scores.shown import Shown

# The columns, in inches from the left edge of the axes: where numbers end, where scales begin and
# end, where words begin.
_BASELINE, _CANDIDATE, _SCALE = 0.7, 1.5, (1.75, 3.55)
_DIFFERENCE, _INTERVALS, _VERDICT = 4.3, (4.55, 6.75), 6.95
_WIDTH = 8.7
# Narrower axes have no room for the numbers of both sides and for the reason of a verdict.
_NARROW = 6.5
_HEAD, _BLOCK = 0.75, 0.75  # heights, in rows: of the headings, and of the ends of a scale
_ROW_INCHES, _MARGIN_INCHES, _LABEL_INCHES = 0.44, 1.3, 1.7
_LINE = 0.19  # half the distance of the verdict and its reason, in rows
_WIDEST_WORD = 12  # of the names over the means; longer ones would touch each other
_MARKS: dict[Shown, dict[str, Any]] = {
    shown.BETTER: {"marker": canvas.BETTER_MARKER, "color": canvas.BETTER, "markersize": 8},
    shown.WORSE: {"marker": canvas.WORSE_MARKER, "color": canvas.WORSE, "markersize": 8},
    shown.EQUIVALENT: {"marker": "D", "markersize": 5.5},
    shown.IDENTICAL: {"marker": "D", "markersize": 5.5},
    shown.UNDECIDED: {"marker": canvas.EQUAL_MARKER, "markersize": 6.5, "is_hollow": True},
    shown.DIRECTION_UNKNOWN: {"marker": canvas.EQUAL_MARKER, "markersize": 6.5},
    shown.NOT_TESTED: {"marker": canvas.EQUAL_MARKER, "markersize": 6.5, "is_hollow": True},
}
_WORDS: dict[Shown, str] = {shown.NOT_TESTED: "too few queries"}


@dataclass(frozen=True)
class StripMetric:
    """One metric of two pipelines, and what is shown of it."""

    metric: Metric
    baseline: float
    candidate: float
    difference: float
    low: float
    high: float
    verdict: Shown
    reason: str
    margin: float | None

    @property
    def sign(self) -> float:
        """1 if higher is better, else -1: improvements point to the right."""
        return 1.0 if self.metric.greater_is_better else -1.0


@dataclass(frozen=True)
class StripBlock:
    """Rows that share a scale, and the ends of their axes."""

    rows: tuple[StripMetric, ...]
    low: float
    high: float
    reach: float


def strip(
    subject: subjects.Comparison | subjects.Evaluation,
    metrics: MetricNames = None,
    *,
    other: subjects.Evaluation | None = None,
    candidate: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw two pipelines metric by metric: both means, the difference, the verdict in a word.

    Parameters
    ----------
    subject, other, candidate
        The comparison, as for every plot of one; see `rageval_report.plots`.
    metrics : str or iterable of str, optional
        By any of their names; all compared metrics if omitted. Metrics of different scales stand
        below each other, each with its own scale.
    ax : Axes, optional
        Where to draw; a new figure if omitted.

    Raises
    ------
    UnknownNameError
        If the candidate is not known.
    DataError
        If no query is scored in both runs, or the candidate is ambiguous.

    Notes
    -----
    At the left the baseline is a tick and the candidate a dot, on the metric's own scale. At the
    right is the difference with its interval, turned so that right is better, on an axis that
    metrics of one scale share; the line of zero is the same for all. The verdict is a colour, a
    shape and a word; an undecided one has no colour. The grey band is the margin of equivalence.
    """
    comparison = subjects.comparison_of(subject, other, metrics)
    drawn = subjects.select_metrics(subjects.compared_metrics(comparison), metrics)
    pair = subjects.select_candidate(comparison, candidate)
    blocks = _blocks(list(_rows(comparison, pair, drawn)))
    if not blocks:
        raise DataError("nothing to draw: no query is scored in both runs")
    places = list(_places(blocks))
    height = places[-1][-1] + 1.0 + _HEAD
    axes = canvas.axes_for(ax, _WIDTH + _LABEL_INCHES, _MARGIN_INCHES + _ROW_INCHES * height)
    is_wide = canvas.inches_wide(axes) >= _NARROW
    names = subjects.names_of_pair(pair)
    _write_heads(axes, names.of(pair.baseline.name), names.of(pair.candidate.name), is_wide=is_wide)
    for block, heights in zip(blocks, places, strict=True):
        _draw_scales(axes, block, heights)
        for row, place in zip(block.rows, heights, strict=True):
            _draw_row(axes, row, block, place, is_wide=is_wide)
    _finish(axes, comparison, pair, blocks, places)
    return axes


def _rows(
    comparison: subjects.Comparison, pair: subjects.Pairing, drawn: Sequence[Metric]
) -> Iterator[StripMetric]:
    frame = comparison.frame[comparison.frame["candidate"] == pair.candidate.name]
    alpha = canvas.alpha_of(comparison.settings)
    for metric in drawn:
        rows = frame[(frame["metric"] == metric.name) & (frame["n"] > 0)]
        for values in rows.to_dict("records"):
            row = {str(key): value for key, value in values.items()}
            row["greater_is_better"] = metric.greater_is_better
            verdict = shown.shown_by(row, alpha)
            names = ("baseline_mean", "candidate_mean", "difference", "ci_low", "ci_high")
            before, after, difference, low, high = (float(row[name]) for name in names)
            margin = subjects.margin_of(comparison, metric)
            numbers, reason = (before, after, difference, low, high), _reason_of(row, verdict)
            yield StripMetric(metric, *numbers, verdict, reason, margin)


def _reason_of(row: Mapping[str, Any], verdict: Shown) -> str:
    if verdict == shown.IDENTICAL:
        return f"on all {int(row['n']):,} queries"
    if verdict == shown.NOT_TESTED:
        return f"{int(row['n']):,} in common"
    return shown.changed_text(int(row["wins"]), int(row["losses"]))


def _blocks(rows: Sequence[StripMetric]) -> list[StripBlock]:
    """The rows by scale, in the order in which the scales first come."""
    by_scale: dict[str, list[StripMetric]] = {}
    for row in rows:
        by_scale.setdefault(subjects.scale_of(row.metric), []).append(row)
    return [_block(tuple(members)) for members in by_scale.values()]


def _block(rows: tuple[StripMetric, ...]) -> StripBlock:
    means = [mean for row in rows for mean in (row.baseline, row.candidate)]
    bounds = [row.metric.bounds for row in rows if row.metric.bounds is not None]
    if subjects.scale_of(rows[0].metric) == "0 to 1":
        low, high = min(0.0, *means), 1.0
    elif bounds:
        low, high = min(b[0] for b in bounds), max(b[1] for b in bounds)
    else:
        # From 0, so that the marks show proportions; the end is a round number.
        ticks = MaxNLocator(2).tick_values(min(0.0, *means), max(0.0, *means))
        low, high = float(ticks[0]), float(ticks[-1])
    ends = np.array([[row.difference, row.low, row.high, row.margin or 0.0] for row in rows])
    reach = float(np.nanmax(np.abs(ends))) or (high - low) / 10.0
    return StripBlock(rows, low, high, 1.08 * reach)


def _places(blocks: Sequence[StripBlock]) -> Iterator[list[float]]:
    """The heights of the rows of each block, which stand below the ends of its scales."""
    top = 0.0
    for block in blocks:
        top += _BLOCK
        yield [top + place for place in range(len(block.rows))]
        top += len(block.rows)


def _write_heads(ax: Axes, baseline: str, candidate: str, *, is_wide: bool) -> None:
    heads: list[tuple[float, str, str]] = [
        (_DIFFERENCE, "difference", "right"),
        (_INTERVALS[0], "← worse", "left"),
        (_INTERVALS[1], "better →", "right"),
        (_VERDICT, "verdict", "left"),
    ]
    # Long names stand in the title; here the sides are enough.
    if max(map(display_width, (baseline, candidate))) > _WIDEST_WORD:
        baseline, candidate = "baseline", "candidate"
    if is_wide:
        heads += [(_BASELINE, baseline, "right"), (_CANDIDATE, candidate, "right")]
    for place, text, side in heads:
        _write(ax, place, -_HEAD / 2, text, ha=side, alpha=0.75)


def _write(ax: Axes, across: float, place: float, text: str, **look: Any) -> None:
    canvas.write(ax, text, (across, place), **{"ha": "left", **look})


def _draw_scales(ax: Axes, block: StripBlock, heights: Sequence[float]) -> None:
    """Draw the ends of both scales over the rows of a block, and the line of zero."""
    top, bottom = heights[0] - 0.5, heights[-1] + 0.5
    for end, place in zip((block.low, block.high), _SCALE, strict=True):
        _write(ax, place, top - 0.12, f"{end:g}", ha="center", alpha=0.75)
        ax.vlines(place, top + 0.1, bottom - 0.1, color=canvas.GREY, linewidth=0.6, alpha=0.5)
    sign = block.rows[0].sign if len({row.sign for row in block.rows}) == 1 else 1.0
    tick = _round_tick(block.reach)
    for step in (-1.0, 0.0, 1.0):
        place = _across(step * tick, block)
        text = "0" if step == 0.0 else f"{sign * step * tick:+g}".replace("-", "−")
        _write(ax, place, top - 0.12, text, ha="center", alpha=0.75)
        ax.vlines(place, top + 0.1, bottom - 0.1, color=canvas.GREY, linewidth=0.6, alpha=0.5)


def _round_tick(reach: float) -> float:
    """The largest round number, 1, 2 or 5 times a power of ten, that is not beyond the axis."""
    power = 10.0 ** math.floor(math.log10(reach))
    return max(step * power for step in (1.0, 2.0, 5.0) if step * power <= reach)


def _across(improvement: float, block: StripBlock) -> float:
    """The place of an improvement on the axis of differences; beyond its ends at its end."""
    left, right = _INTERVALS
    share = np.clip(improvement / block.reach, -1.0, 1.0)
    return float((left + right) / 2.0 + share * (right - left) / 2.0)


def _draw_row(
    ax: Axes, row: StripMetric, block: StripBlock, place: float, *, is_wide: bool
) -> None:
    hue = str(_MARKS[row.verdict].get("color", canvas.ink()))
    _draw_means(ax, row, block, place, hue)
    _draw_difference(ax, row, block, place, hue)
    _draw_mark(ax, row.verdict, _across(row.sign * row.difference, block), place)
    if is_wide:
        _write(ax, _BASELINE, place, canvas.number_text(row.baseline), ha="right")
        _write(ax, _CANDIDATE, place, canvas.number_text(row.candidate), ha="right")
    words = {"color": canvas.ink(), "fontweight": "normal"}
    if row.verdict in (shown.BETTER, shown.WORSE):
        words = {"color": canvas.letters_of(hue), "fontweight": "bold"}
    difference = canvas.number_text(row.difference, signed=True)
    _write(ax, _DIFFERENCE, place, difference, ha="right", **words)
    upper = place - _LINE if is_wide else place
    _draw_mark(ax, row.verdict, _VERDICT + 0.07, upper)
    _write(ax, _VERDICT + 0.22, upper, _WORDS.get(row.verdict, row.verdict), **words)
    if is_wide:
        _write(ax, _VERDICT + 0.22, place + _LINE, row.reason, fontsize="x-small", alpha=0.75)


def _draw_difference(ax: Axes, row: StripMetric, block: StripBlock, place: float, hue: str) -> None:
    """Draw the interval of the difference over the margin of equivalence."""
    if row.margin is not None:
        left, right = (_across(sign * row.margin, block) for sign in (-1.0, 1.0))
        ax.barh(place, right - left, left=left, height=0.7, color=canvas.GREY, alpha=0.25, zorder=0)
    ends = [_across(row.sign * end, block) for end in (row.low, row.high)]
    canvas.draw_interval(ax, place, min(ends), max(ends), color=hue)


def _draw_means(ax: Axes, row: StripMetric, block: StripBlock, place: float, hue: str) -> None:
    """Draw the baseline as a tick and the candidate as a dot on the scale of the metric."""
    left, right = _SCALE
    baseline, candidate = (
        left + (mean - block.low) / (block.high - block.low) * (right - left)
        for mean in (row.baseline, row.candidate)
    )
    ax.hlines(place, left, right, color=canvas.GREY, linewidth=0.6, alpha=0.5, zorder=0)
    ax.hlines(place, baseline, candidate, color=hue, linewidth=2.2, zorder=2)
    ax.vlines(baseline, place - 0.2, place + 0.2, color=canvas.ink(), linewidth=2.0, zorder=3)
    ax.plot(candidate, place, "o", color=hue, markersize=6, zorder=4)


def _draw_mark(ax: Axes, verdict: Shown, across: float, place: float) -> None:
    own = {"color": canvas.ink(), **_MARKS[verdict]}
    filled = not own.pop("is_hollow", False)
    canvas.mark(ax, across, place, filled=filled, zorder=5, **own)


def _finish(
    ax: Axes,
    comparison: subjects.Comparison,
    pair: subjects.Pairing,
    blocks: Sequence[StripBlock],
    places: Sequence[Sequence[float]],
) -> None:
    rows = [row for block in blocks for row in block.rows]
    heights = [place for block in places for place in block]
    zero = (_INTERVALS[0] + _INTERVALS[1]) / 2.0
    ax.vlines(
        zero, heights[0] - 0.4, heights[-1] + 0.5, color=canvas.ink(), linewidth=1.0, zorder=1
    )
    ax.set_yticks(heights, [canvas.plain(subjects.directed_title(row.metric)) for row in rows])
    ax.tick_params(axis="y", length=0)
    ax.xaxis.set_major_locator(NullLocator())
    ax.set_xlim(0.0, _WIDTH)
    ax.set_ylim(heights[-1] + 0.6, -_HEAD)
    names = subjects.names_of_pair(pair)
    baseline, candidate = (names.of(run.name) for run in (pair.baseline, pair.candidate))
    margins = any(row.margin is not None for row in rows)
    canvas.note_below(
        ax,
        f"Tick: {baseline}; dot: {candidate}. Lines: {canvas.level_text(comparison.settings)} of "
        "the difference, right is better.",
        "Grey band: the margin of equivalence." if margins else "",
        subjects.direction_note(row.metric for row in rows),
        canvas.names_note(names),
    )
    canvas.tidy(ax, f"{candidate} against {baseline}")
    ax.spines[:].set_visible(False)
