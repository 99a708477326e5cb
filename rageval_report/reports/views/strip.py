"""Every metric of two pipelines as a strip, and the differences in each group as a matrix."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar
from urllib.parse import urlencode

import pandas as pd

from rageval_report.analysis.verdicts import SHOWN_IN_ORDER, MetricVerdict, of_shown, verdicts_of
from rageval_report.render.cell_text import confidence, interval, number, pvalue, signed_number
from rageval_report.reports.sentences import correction_text
from rageval_report.results import Result
from rageval_report.scores import Metric
from rageval_report.scores.names import ShortNames, display_width
from rageval_report.scores.shown import Shown


def view_address(**parameters: str) -> str:
    """The fragment of the page's address that shows some queries."""
    return f"#{urlencode(parameters)}"


# A round limit is one of these times a power of ten.
_ROUND = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def round_up(value: float) -> float:
    """The next round number that is not smaller."""
    if not (math.isfinite(value) and value > 0):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    # One part in a million of room, so that 0.3 is not rounded up for its last bit.
    step = next(step for step in (*_ROUND, 20.0) if step * power >= value * (1 - 1e-6))
    return float(f"{step * power:.6g}")


@dataclass(frozen=True)
class Scale:
    """A straight axis."""

    left: float
    right: float

    def share(self, value: float) -> float:
        """Where a value stands, 0 to 1; values beyond an end stand at it."""
        share = (value - self.left) / (self.right - self.left)
        return min(max(share, 0.0), 1.0)

    def place(self, value: float) -> str:
        """Where a value stands, in percent of the width."""
        return percent_text(100.0 * self.share(value))


def percent_text(value: float) -> str:
    """A place in percent, with two decimals at most."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def own_scale(
    values: Iterable[float], bounds: tuple[float, float] | None, *, greater_is_better: bool
) -> Scale:
    """The axis of a metric: its range if it has one, else from 0 to a round number."""
    known = [value for value in values if math.isfinite(value)]
    if bounds is not None and all(map(math.isfinite, bounds)):
        low, high = bounds
    else:
        high = round_up(max(known, default=1.0))
        low = -round_up(-min(known)) if known and min(known) < 0 else 0.0
        high = 0.0 if known and max(known) <= 0 and low < 0 else high
    return Scale(low, high) if greater_is_better else Scale(high, low)


def tick_text(value: float, *, signed: bool = False) -> str:
    """A round number as the label of an axis."""
    if value == 0:
        return "0"
    text = f"{value:,.6g}" if 1e-4 <= abs(value) < 1e9 else number(value)
    return f"+{text}" if signed and value > 0 else text


HEADINGS: Mapping[Shown, str] = {
    "worse": "Worse",
    "better": "Better",
    "equivalent": "Equivalent",
    "identical": "Equal on every query",
    "undecided": "Undecided",
    "direction unknown": "Is higher better?",
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
    """Every metric of two pipelines, those with the same verdict together."""

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


_MOST_ROWS = 24
_NAMED = frozenset(("better", "worse", "equivalent"))


@dataclass(frozen=True)
class MatrixCell:
    """The difference of one metric in one group."""

    text: str
    shown: str
    hover: str


@dataclass(frozen=True)
class MatrixRow:
    """One group of queries."""

    label: str
    n: int
    cells: tuple[MatrixCell | None, ...]
    address: str = ""


@dataclass(frozen=True)
class SliceMatrix:
    """The differences of two pipelines in each group of queries."""

    template: ClassVar[str] = "slice_matrix.html.jinja"

    by: str
    sentence: str
    metrics: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    n_left_out: int

    @classmethod
    def of(
        cls,
        slices: Result,
        overall: Sequence[MetricVerdict],
        names: ShortNames,
        labels: Mapping[str, str],
    ) -> SliceMatrix:
        """The matrix of one column of groups."""
        by, level = str(slices.settings["by"]), float(str(slices.settings["confidence_level"]))
        known = verdicts_of(slices.frame, alpha=1.0 - level, labels=labels)
        groups: dict[str, dict[str, MetricVerdict]] = {}
        for verdict, group in zip(known, slices.frame[by], strict=True):
            groups.setdefault(str(group), {})[verdict.metric] = verdict
        metrics = [verdict.metric for verdict in overall]
        words = (level, str(slices.settings["correction"]))
        rows = [
            _matrix_row(group, own, metrics, words, view_address(**{f"slice.{by}": group}))
            for group, own in groups.items()
        ]
        everything = _matrix_row(
            "all queries", {own.metric: own for own in overall}, metrics, words
        )
        first = overall[0]
        sentence = (
            f"{names.of(first.candidate)} minus {names.of(first.baseline)} by {by}. Colour only "
            f"where a difference is shown ({correction_text(words[1])} over "
            f"{slices.settings['family_size']} tests)."
        )
        return cls(
            by,
            sentence,
            tuple(verdict.label for verdict in overall),
            (everything, *rows[:_MOST_ROWS]),
            max(len(rows) - _MOST_ROWS, 0),
        )


def _matrix_row(
    label: str,
    by_metric: Mapping[str, MetricVerdict],
    metrics: Sequence[str],
    words: tuple[float, str],
    address: str = "",
) -> MatrixRow:
    cells = tuple(
        _matrix_cell(by_metric[name], words) if name in by_metric else None for name in metrics
    )
    return MatrixRow(label, max(own.n for own in by_metric.values()), cells, address)


def _matrix_cell(verdict: MetricVerdict, words: tuple[float, str]) -> MatrixCell | None:
    if pd.isna(verdict.difference):
        return None
    shown = verdict.shown if verdict.shown in _NAMED else "undecided"
    return MatrixCell(signed_number(verdict.difference), shown, hover_text(verdict, *words))
