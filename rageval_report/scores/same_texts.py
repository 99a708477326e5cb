"""Whether two columns have the same texts, without making texts of cells that are identical."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rageval_report.types import BoolArray

# Kinds of NumPy types whose cells have the same text if they have the same bits.
_PLAIN_KINDS = "biufmM"


def same_texts(left: pd.Series, right: pd.Series) -> bool:
    """Whether the cells of two columns have the same texts, row by row.

    Cells are compared as texts because NaN differs from itself and arrays have no single truth
    value. So 1 differs from 1.0, and a missing cell equals another missing one of the same kind.

    Parameters
    ----------
    left, right : Series
        Two columns of any types; their indexes do not matter.

    Examples
    --------
    >>> same_texts(pd.Series([0.5, float("nan")]), pd.Series([0.5, float("nan")]))
    True
    >>> same_texts(pd.Series([1, 2]), pd.Series([1.0, 2.0]))
    False
    """
    if len(left) != len(right):
        return False
    rest = ~_identical_cells(left, right)
    if not rest.all():
        left, right = left[rest], right[rest]
    return all(str(a) == str(b) for a, b in zip(left, right, strict=True))


def _identical_cells(left: pd.Series, right: pd.Series) -> BoolArray:
    """Which cells surely have the same text; False where that is not known."""
    if left.dtype != right.dtype:
        return np.zeros(len(left), dtype=bool)
    if isinstance(left.dtype, np.dtype) and left.dtype.kind in _PLAIN_KINDS:
        bits = f"u{left.dtype.itemsize}"
        if left.dtype.itemsize <= 8:  # longer floats have bits without a meaning
            return np.asarray(left.to_numpy().view(bits) == right.to_numpy().view(bits))
    if _has_only_texts(left) and _has_only_texts(right):
        equal = left.array == right.array
        return np.asarray(pd.array(equal, dtype="boolean").fillna(False), dtype=bool)
    return np.zeros(len(left), dtype=bool)


def _has_only_texts(column: pd.Series) -> bool:
    if isinstance(column.dtype, pd.StringDtype):
        return True
    return column.dtype == object and pd.api.types.infer_dtype(column, skipna=False) == "string"
