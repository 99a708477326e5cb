"""Checks of the arguments that several metrics have in common."""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from rageval_report.errors import DataError

Item = TypeVar("Item", bound=Hashable)


def check_cutoff(k: object, *, least: int = 0) -> int:
    """The cutoff as an integer that is not below `least`."""
    try:
        # NumPy 1 gives the index of its booleans with a warning.
        cutoff = None if isinstance(k, np.bool_) else operator.index(k)  # type: ignore[arg-type]
    except TypeError:
        cutoff = None
    # operator.index accepts True as 1, but a flag in place of a cutoff is a mistake.
    if cutoff is None or isinstance(k, bool) or cutoff < least:
        raise DataError(f"k must be an integer >= {least}; got {k!r}")
    return cutoff


def check_between(name: str, value: object, low: float, high: float) -> float:
    """An argument as a number of the closed range."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not low <= number <= high:
        rule = f">= {low:g}" if math.isinf(high) else f"between {low:g} and {high:g}"
        raise DataError(f"{name} must be a number {rule}; got {value!r}")
    return number


def check_list(name: str, items: Iterable[Any]) -> list[Any]:
    """A list of what may be an array or a Series; a single text is not split into its letters."""
    # A text is iterable too: list() would make one document of each letter.
    if isinstance(items, str | bytes):
        raise DataError(f"{name} must be a list of texts; got one text: put it in a list")
    try:
        return list(items)
    except TypeError:
        raise DataError(f"{name} must be a list; got {items!r}") from None


def distinct_items(name: str, items: Sequence[Item]) -> set[Item]:
    """The distinct items of a list of texts or ids."""
    try:
        return set(items)
    except TypeError as exc:
        raise DataError(f"{name} must contain texts or ids: {exc}") from exc
