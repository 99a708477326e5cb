"""Vectors that came from outside: checked once, in single precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval_report.errors import DataError

Vectors = NDArray[np.float32]


def checked_texts(texts: Sequence[str]) -> list[str]:
    """The texts as a list.

    Raises
    ------
    DataError
        If they are not texts; a single one, not in a list, included.

    Examples
    --------
    >>> checked_texts(("a", "b"))
    ['a', 'b']
    """
    if isinstance(texts, str):
        raise DataError("expected a list of texts, got a single text: put it in a list")
    listed = list(texts)
    for place, text in enumerate(listed):
        if not isinstance(text, str):
            raise DataError(
                f"expected texts, got {type(text).__name__} at place {place}: leave out what has "
                "no text"
            )
    return listed


def checked_vectors(rows: Any, n: int, width: int | None = None) -> Vectors:
    """One vector a text, of equal length and finite, in single precision.

    Parameters
    ----------
    rows : array-like of shape (n, d)
        The vectors.
    n : int
        How many texts there were.
    width : int, optional
        How long a vector must be.

    Raises
    ------
    DataError
        If they are anything else.

    Examples
    --------
    >>> checked_vectors([[3, 4]], 1)
    array([[3., 4.]], dtype=float32)
    """
    try:
        table = np.asarray(rows)
    except ValueError as exc:  # how NumPy calls rows of several lengths
        raise DataError("the vectors are not of one length") from exc
    if table.ndim != 2 or table.dtype.kind not in "fiu" or not table.size:
        raise DataError(
            f"expected {n} vectors of numbers, got an array of shape {table.shape} that holds "
            f"{table.dtype}"
        )
    if len(table) != n:
        raise DataError(f"expected a vector for each of {n} texts, got {len(table)}")
    if width is not None and table.shape[1] != width:
        raise DataError(f"expected vectors of {width} numbers, got {table.shape[1]}")
    with np.errstate(over="ignore"):  # said below, in words
        vectors = table.astype(np.float32, copy=False)
    if not np.isfinite(vectors).all():
        place = int((~np.isfinite(vectors)).any(axis=1).argmax())
        raise DataError(f"the vector of text {place} holds NaN, infinity or too large a number")
    return vectors


def no_vectors() -> Vectors:
    """What no text becomes: no row, and no length."""
    return np.empty((0, 0), dtype=np.float32)
