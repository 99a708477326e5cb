"""Axes of a page: limits that are round numbers, and places in percent of the width."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from rageval_report.render.cell_text import number

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
