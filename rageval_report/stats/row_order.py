"""An order of rows that depends on what the rows hold, so that shuffled rows draw the same.

Random numbers are handed out row by row. Whatever draws at random brings its rows into this order
first, so the order in which somebody stored them moves no result.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from rageval_report.types import BoolArray, FloatArray, IndexArray, IntArray

# The steps on either side of the middle by which columns are compared: sums of integers are the
# same in any order of the rows, and 2 ** 33 rows of at most 2 ** 30 still fit 64 bits.
_STEPS = 2.0**30
_Key: TypeAlias = FloatArray | IntArray


def canonical_order(columns: FloatArray, then_by: _Key | None = None) -> IndexArray:
    """The places of the rows in an order that is the same however the rows are shuffled.

    Nor does it change if all columns change their sign, as the differences do when two pipelines
    are exchanged, or if one is measured in another unit or from another zero. The order of the
    columns decides only between columns whose scores are, all in all, as far apart.

    Parameters
    ----------
    columns : ndarray of shape (n,) or (n, k)
        Numbers; NaN comes last.
    then_by : ndarray of shape (n,), optional
        What decides between rows that are equal, such as their clusters.

    Returns
    -------
    ndarray of int, shape (n,)
        Rows that are still equal come in the order in which they stand.

    Examples
    --------
    >>> scores = np.array([0.75, 0.25, 1.0, 0.5, 1.0])
    >>> scores[canonical_order(scores)], (-scores)[canonical_order(-scores)]
    (array([0.25, 0.5 , 0.75, 1.  , 1.  ]), array([-0.25, -0.5 , -0.75, -1.  , -1.  ]))
    >>> canonical_order(np.array([0.5, 0.5, 0.5]), np.array([2, 3, 1]))
    array([2, 0, 1])
    """
    matrix = columns.reshape(len(columns), -1).T
    steps = [_in_steps(column) for column in matrix]
    ranked = sorted(range(len(steps)), key=lambda place: _measure(steps[place]), reverse=True)
    totals = [int(steps[place].sum()) for place in ranked]
    sign = -1 if next(filter(None, totals), 0) < 0 else 1
    # First in steps: who computed the scores may have rounded equal ones differently.
    keys: list[_Key] = [
        *(np.where(np.isnan(matrix[place]), 2 * _STEPS, sign * steps[place]) for place in ranked),
        *(np.where(np.isnan(matrix[place]), np.inf, sign * matrix[place]) for place in ranked),
    ]
    return _sorted_by(keys if then_by is None else [*keys, then_by])


def canonical_units(columns: FloatArray, codes: IndexArray) -> IndexArray:
    """The number of each row's unit, the same however rows are shuffled and units are numbered.

    Parameters
    ----------
    columns : ndarray of shape (n, k)
        Numbers; NaN is equal to NaN.
    codes : ndarray of int, shape (n,)
        The unit of each row.

    Examples
    --------
    >>> canonical_units(np.array([[0.5], [0.25], [0.5]]), np.array([7, 7, 3]))
    array([0, 0, 1])
    """
    order = canonical_order(columns)
    ordered = columns[order]
    is_equal = (ordered[1:] == ordered[:-1]) | (np.isnan(ordered[1:]) & np.isnan(ordered[:-1]))
    kinds = np.empty(len(columns), dtype=np.int64)
    kinds[order] = np.cumsum(np.append(True, ~is_equal.all(axis=1)))
    # Units are ordered by their rows, the least row first.
    by_unit = np.lexsort((kinds, codes))
    starts = np.flatnonzero(_starts(codes[by_unit]))
    rows_of_units = [rows.tolist() for rows in np.split(kinds[by_unit], starts[1:])]
    numbers = np.empty(starts.size, dtype=np.int64)
    numbers[sorted(range(starts.size), key=rows_of_units.__getitem__)] = np.arange(starts.size)
    return np.asarray(numbers[np.unique(codes, return_inverse=True)[1]])


def _sorted_by(keys: list[_Key]) -> IndexArray:
    """As `np.lexsort`, but a further key is read only where the keys before it are equal."""
    order: IndexArray = np.argsort(keys[0], kind="stable")
    is_new = _starts(keys[0][order])
    for key in keys[1:]:
        tied = np.flatnonzero(~is_new | ~np.append(is_new[1:], True))
        rows = order[tied]
        if not (_starts(key[rows]) & ~is_new[tied]).any():
            continue  # all that are tied are equal in this key too
        order[tied] = rows[np.lexsort((key[rows], np.cumsum(is_new)[tied]))]
        is_new[tied] |= _starts(key[order[tied]])
    return order


def _starts(ordered: _Key) -> BoolArray:
    """Where another value begins."""
    return np.append(True, ordered[1:] != ordered[:-1])[: ordered.size]


def _in_steps(column: FloatArray) -> IntArray:
    """How far each score is from the middle of the scores, in whole parts of the way; NaN is 0."""
    # The scores are halved first: the difference of two very large scores could exceed the largest
    # float64 and become infinite.
    halves = column / 2
    low, high = (float(end) for end in (np.fmin.reduce(halves), np.fmax.reduce(halves)))
    shares = (halves - (low + high) / 2) / ((high - low) / 2 or 1.0)
    return np.asarray(np.rint(np.nan_to_num(shares) * _STEPS).astype(np.int64))


def _measure(steps: IntArray) -> tuple[int, int, int]:
    """What columns are ranked by: the same in any order of the rows, and with either sign."""
    return abs(int(steps.sum())), int(np.abs(steps).sum()), int(np.count_nonzero(steps))
