"""The strip: one metric per row, with both means, the difference, and the verdict.

Right is better in every row, also for metrics of which less is better: their axes are turned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

from rageval_report.analysis.verdicts import SHOWN_IN_ORDER, MetricVerdict, of_shown
from rageval_report.render.cell_text import confidence, interval, number, pvalue, signed_number
from rageval_report.reports.views.scales import Scale, own_scale, round_up, tick_text
from rageval_report.scores import Metric
from rageval_report.scores.names import ShortNames, display_width
from rageval_report.scores.shown import Shown

HEADINGS: Mapping[Shown, str] = {
    "worse": "Worse",
    "better": "Better",
    "equivalent": "Equivalent",
    "identical": "Equal on every query",
    "undecided": "Undecided",
    "not tested": "Not tested",
}


# In columns of a terminal.
_ROOM_FOR_NAME = 7
_ROOM_FOR_COLUMN = 18


@dataclass(frozen=True)
class Tick:
    """A label of an axis, and where it stands in percent."""

    place: str
    text: str


@dataclass(frozen=True)
class Strip:
    """Every metric of two pipelines, those with the same verdict together.

    Parameters
    ----------
    baseline, candidate : str
        Their short names.
    groups : tuple
        The metrics of which the same is shown, worse first: shown, heading, rows (the surest
        first), and ticks, the axis that metrics between 0 and 1 share, above the first of them.
    level : str
        What the intervals are called.
    has_margins : bool
        Whether a margin is drawn.
    heading : str
        The verdict on the two in one sentence, if the page has several strips.
    """

    template: ClassVar[str] = "strip.html.jinja"

    baseline: str
    candidate: str
    groups: tuple[SimpleNamespace, ...]
    level: str
    has_margins: bool
    heading: str = ""

    @property
    def columns(self) -> tuple[str, str]:
        """The headings of the two means: the pipelines, if there is room for their names."""
        return self._names(_ROOM_FOR_COLUMN) or ("Baseline", "Candidate")

    @property
    def marks(self) -> tuple[str, str]:
        """What the tick and the dot are: the pipelines, if there is room for their names."""
        return self._names(_ROOM_FOR_NAME) or ("before", "after")

    def _names(self, room: int) -> tuple[str, str] | None:
        names = (self.baseline, self.candidate)
        return names if max(map(display_width, names)) <= room else None

    @classmethod
    def of(
        cls,
        verdicts: Sequence[MetricVerdict],
        metrics: Mapping[str, Metric],
        names: ShortNames,
        *,
        level: object,
        correction: str,
        heading: str = "",
    ) -> Strip:
        """The strip of two pipelines."""
        shared = _shared_half(verdicts)
        groups: list[SimpleNamespace] = []
        for shown in SHOWN_IN_ORDER:
            rows = tuple(
                _row(verdict, metrics.get(verdict.metric), shared, (level, correction))
                for verdict in of_shown(verdicts, shown)
            )
            is_first = not any(group.ticks for group in groups)
            has_axis = is_first and any(row.verdict.is_share for row in rows)
            ticks = _ticks(shared, turned=False) if has_axis else ()
            if rows:
                group = {"shown": shown, "heading": HEADINGS[shown], "rows": rows}
                groups.append(SimpleNamespace(**group, ticks=ticks))
        return cls(
            names.of(verdicts[0].baseline),
            names.of(verdicts[0].candidate),
            tuple(groups),
            confidence(level),
            any(not math.isnan(verdict.margin) for verdict in verdicts),
            heading,
        )


def _shared_half(verdicts: Sequence[MetricVerdict]) -> float:
    """Half the width of the axis that all metrics between 0 and 1 share."""
    return round_up(max((_reach(verdict) for verdict in verdicts if verdict.is_share), default=0))


def _reach(verdict: MetricVerdict) -> float:
    """The largest size of a difference that the row must show."""
    sizes = map(abs, (verdict.ci_low, verdict.ci_high, verdict.difference, verdict.margin))
    return max((size for size in sizes if math.isfinite(size)), default=0.0)


def _row(
    verdict: MetricVerdict, metric: Metric | None, shared: float, words: tuple[object, str]
) -> SimpleNamespace:
    """One metric: both means on its own scale, the difference and its interval on an axis."""
    is_up = verdict.greater_is_better
    half = shared if verdict.is_share else round_up(_reach(verdict))
    axis = Scale(-half, half) if is_up else Scale(half, -half)
    own = own_scale(
        [1.05 * mean for mean in verdict.means],
        None if metric is None else metric.bounds,
        greater_is_better=is_up,
    )
    has_means = all(map(math.isfinite, verdict.means))
    first, second = verdict.means
    return SimpleNamespace(
        verdict=verdict,
        note="" if is_up else "lower is better",
        means=(number(first), number(second)),
        places=(own.place(first), own.place(second)) if has_means else None,
        own_ticks=(Tick("0", tick_text(own.left)), Tick("100", tick_text(own.right))),
        difference=signed_number(verdict.difference),
        limits=_limits(verdict, axis),
        margin=_margin(verdict, axis),
        ticks=() if verdict.is_share else _ticks(half, turned=not is_up),
        hover=hover_text(verdict, *words),
    )


def _limits(verdict: MetricVerdict, axis: Scale) -> tuple[str, str, str] | None:
    """The drawn interval from left to right; only the difference if it has no interval."""
    if not math.isfinite(verdict.difference):
        return None
    ends = (verdict.ci_low, verdict.ci_high)
    low, high = (
        verdict.difference if not math.isfinite(end) else end
        for end in (ends if verdict.greater_is_better else ends[::-1])
    )
    return axis.place(low), axis.place(verdict.difference), axis.place(high)


def _margin(verdict: MetricVerdict, axis: Scale) -> tuple[str, str] | None:
    if math.isnan(verdict.margin):
        return None
    ends = sorted(axis.share(side * verdict.margin) for side in (-1, 1))
    return f"{100 * ends[0]:.2f}", f"{100 * (ends[1] - ends[0]):.2f}"


def _ticks(half: float, *, turned: bool) -> tuple[Tick, ...]:
    """Three labels: 0 in the middle, and a round number on either side."""
    side = _round_down(half)
    share = 50.0 * side / half
    values = (side, 0.0, -side) if turned else (-side, 0.0, side)
    places = (50.0 - share, 50.0, 50.0 + share)
    return tuple(
        Tick(f"{place:.2f}", tick_text(value, signed=True))
        for place, value in zip(places, values, strict=True)
    )


def _round_down(half: float) -> float:
    """A number with one digit at four fifths of an axis, or a little before."""
    size = 0.8 * half
    power = 10.0 ** math.floor(math.log10(size) + 1e-9)
    return float(f"{max(math.floor(size / power + 1e-9), 1) * power:.6g}")


def hover_text(verdict: MetricVerdict, level: object, correction: str) -> str:
    """The statistics of a row in one line."""
    parts = [
        f"difference {signed_number(verdict.difference)}",
        f"{confidence(level)} {interval(verdict.ci_low, verdict.ci_high)}",
        f"p {pvalue(verdict.pvalue)}",
        f"{correction} p {pvalue(verdict.pvalue_adjusted)}" if correction != "none" else "",
        f"{verdict.n:,} queries: better on {verdict.wins:,}, equal on {verdict.ties:,}, "
        f"worse on {verdict.losses:,}",
    ]
    return ", ".join(part for part in parts if part)
