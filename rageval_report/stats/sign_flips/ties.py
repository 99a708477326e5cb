"""Equal values among many, up to rounding."""

from __future__ import annotations

import numpy as np

from rageval_report.types import FloatArray

# Values closer than this, relative to the largest, are tied.
_TIED = 1e-11


def group_ties(
    values: FloatArray, counts: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """The distinct values in ascending order, and how often each occurs.

    Rounding does not make values distinct.

    Parameters
    ----------
    values : ndarray
        At least one.
    counts : ndarray, optional
        How often each occurs; once by default.

    Examples
    --------
    >>> group_ties(np.array([0.3, -1.0, 0.1 + 0.2]))
    (array([-1. ,  0.3]), array([1., 2.]))
    """
    # To sort values takes a fifth of the time of sorting their places.
    order = None if counts is None else np.argsort(values)
    ordered = np.sort(values) if order is None else values[order]
    top = max(-float(ordered[0]), float(ordered[-1]))
    is_first = np.ones(ordered.size, dtype=bool)
    np.greater(ordered[1:] - ordered[:-1], _TIED * top, out=is_first[1:])
    if counts is None and is_first.all():
        return ordered, np.ones(ordered.size)
    starts = np.flatnonzero(is_first)
    if counts is None:
        return ordered[starts], np.diff(np.append(starts, ordered.size)).astype(np.float64)
    return ordered[starts], np.add.reduceat(np.asarray(counts)[order], starts)
