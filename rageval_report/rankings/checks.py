"""What the metrics ask of their arguments, each question in one place."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

from rageval_report.errors import DataError


def checked_cutoff(k: Any, *, least: int = 0) -> int:
    """The cutoff as a whole number, which is not below `least`."""
    try:
        cutoff = operator.index(k)
    except TypeError:
        cutoff = None
    if cutoff is None or isinstance(k, bool):
        raise DataError(f"k must be a whole number, as 5; got {k!r}")
    if cutoff < least:
        rule = f"be at least {least}" if least else "not be negative"
        raise DataError(f"k must {rule}: it counts the first results; got {cutoff}")
    return cutoff


def checked_between(name: str, value: Any, low: float, high: float) -> float:
    """An argument as a number of the closed range."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not low <= number <= high:
        upper = "up" if math.isinf(high) else f"to {high:g}"
        raise DataError(f"{name} must be a number from {low:g} {upper}; got {value!r}")
    return number


def checked_list(name: str, things: Iterable[Any]) -> list[Any]:
    """A list, of what may be an array or a Series; one text is not taken for its letters."""
    if isinstance(things, str | bytes):
        raise DataError(f"{name} must be a list of texts; got one text: put it in a list")
    try:
        return list(things)
    except TypeError:
        raise DataError(f"{name} must be a list; got {things!r}") from None


def distinct(name: str, things: list[Any]) -> set[Any]:
    """The different ones of a list of texts or ids."""
    try:
        return set(things)
    except TypeError as exc:
        raise DataError(f"{name} must hold texts or ids: {exc}") from exc


def refused_cutoff(metric: str, k: int | None) -> None:
    """Raise where a cutoff is asked of a metric that has no ranking to cut."""
    if k is not None:
        raise DataError(f"{metric!r} has no cutoff: ask for it without @{k}")
