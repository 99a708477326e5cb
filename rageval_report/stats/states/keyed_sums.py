"""Numbers by key that are added key by key, such as sums by cluster or counts by label."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rageval_report.types import WordArray


def merge_keyed(
    keys: WordArray,
    columns: tuple[npt.NDArray[Any], ...],
    other_keys: WordArray,
    other_columns: tuple[npt.NDArray[Any], ...],
) -> tuple[WordArray, tuple[npt.NDArray[Any], ...]]:
    """The numbers of both sides, added where a key occurs in both.

    Parameters
    ----------
    keys, other_keys : ndarray of uint64
        Different keys in ascending order.
    columns, other_columns : tuple of ndarray
        Numbers by key; the second side has as many columns as the first.

    Examples
    --------
    >>> first, second = np.array([3, 7], dtype=np.uint64), np.array([5, 7], dtype=np.uint64)
    >>> keys, (sums,) = merge_keyed(first, (np.array([1, 2]),), second, (np.array([10, 20]),))
    >>> keys.tolist(), sums.tolist()
    ([3, 5, 7], [1, 10, 22])
    """
    if not keys.size or not other_keys.size:
        return (keys, columns) if keys.size else (other_keys, other_columns)
    # A part has few keys beside all parts before it: they are looked up, and nothing is sorted.
    places = np.searchsorted(keys, other_keys)
    is_known = keys[np.minimum(places, keys.size - 1)] == other_keys
    known, new = places[is_known], places[~is_known]
    merged = []
    for ours, theirs in zip(columns, other_columns, strict=True):
        total = ours.copy()
        total[known] += theirs[is_known]
        merged.append(np.insert(total, new, theirs[~is_known]) if new.size else total)
    all_keys = np.insert(keys, new, other_keys[~is_known]) if new.size else keys
    return all_keys, tuple(merged)
