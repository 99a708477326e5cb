"""Checks of texts and of the vectors that a model returns, in single precision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from rageval_report.errors import DataError
from rageval_report.types import Float32Array


def check_texts(texts: Sequence[str]) -> list[str]:
    """The texts as a list.

    Raises
    ------
    DataError
        If an item is not a text, or a single text is not in a list.

    Examples
    --------
    >>> check_texts(("a", "b"))
    ['a', 'b']
    """
    if isinstance(texts, str):
        raise DataError("texts must be a list; got a single text: put it in a list")
    listed = list(texts)
    for place, text in enumerate(listed):
        if not isinstance(text, str):
            raise DataError(
                f"texts must contain texts; got {type(text).__name__} at position {place}: leave "
                "out what has no text"
            )
    return listed


def check_vectors(rows: ArrayLike, n: int, width: int | None = None) -> Float32Array:
    """The vectors of some texts, one each, finite and of one length, in single precision.

    Parameters
    ----------
    rows : array-like of shape (n, d)
        The vectors.
    n : int
        The number of texts.
    width : int, optional
        The length that a vector must have.

    Raises
    ------
    DataError
        If they are not.

    Examples
    --------
    >>> check_vectors([[3, 4]], 1)
    array([[3., 4.]], dtype=float32)
    """
    try:
        table = np.asarray(rows)
    except ValueError as exc:  # NumPy raises it for rows of several lengths
        raise DataError("the vectors must have one length") from exc
    if table.ndim != 2 or table.dtype.kind not in "fiu" or not table.size:
        raise DataError(
            f"expected {n} vectors of numbers; got an array of shape {table.shape} and type "
            f"{table.dtype}"
        )
    if len(table) != n:
        raise DataError(f"expected a vector for each of {n} texts; got {len(table)}")
    if width is not None and table.shape[1] != width:
        raise DataError(f"expected vectors of {width} numbers; got {table.shape[1]}")
    with np.errstate(over="ignore"):  # checked below
        vectors = table.astype(np.float32, copy=False)
    if not np.isfinite(vectors).all():
        place = int((~np.isfinite(vectors)).any(axis=1).argmax())
        raise DataError(f"the vector of text {place} has NaN, infinity or too large a number")
    return vectors


def no_vectors() -> Float32Array:
    """The vectors of no text: no row, and no length."""
    return np.empty((0, 0), dtype=np.float32)
