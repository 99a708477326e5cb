"""The cells of CSV files, which are read as texts, as what they are in a table in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

import pandas as pd

# What the cells of a column are; a column is the last of what its parts are.
CellKind = Literal["bool", "int64", "float64", "text"]
_KINDS: tuple[CellKind, ...] = get_args(CellKind)
_TRUTHS = {"true": True, "false": False}


def kind_of(cells: pd.Series) -> CellKind | None:
    """What the cells of a column are that are not missing; None if all are.

    Examples
    --------
    >>> kind_of(pd.Series(["1", "2.5"])), kind_of(pd.Series(["True", None]))
    ('float64', 'bool')
    """
    known = cells.dropna()
    if not len(known):
        return None
    if pd.api.types.is_bool_dtype(known.dtype):
        return "bool"
    if not pd.api.types.is_numeric_dtype(known.dtype):
        if known.map(lambda cell: str(cell).lower() in _TRUTHS).all():
            return "bool"
        known = pd.to_numeric(known, errors="coerce")
        if known.hasnans:
            return "text"
    # Whole numbers beside missing ones are floats in a frame.
    is_whole = known.dtype.kind in "iu" or (cells.hasnans and bool((known % 1 == 0).all()))
    return "int64" if is_whole else "float64"


def wider_kind(*kinds: CellKind | None) -> CellKind:
    """What a column is whose parts are these.

    Examples
    --------
    >>> wider_kind("int64", "float64"), wider_kind("bool", "int64"), wider_kind(None, "bool")
    ('float64', 'text', 'bool')
    """
    known = [_KINDS.index(kind) for kind in kinds if kind is not None]
    is_mixed = len(set(known)) > 1 and 0 in known  # no number is true or false
    return "text" if is_mixed else _KINDS[max(known)]


def as_kinds(frame: pd.DataFrame, kinds: Mapping[str, CellKind]) -> pd.DataFrame:
    """Texts as what they are in all parts of the table, as a table in memory has them.

    Examples
    --------
    >>> as_kinds(pd.DataFrame({"tokens": ["12", "7"]}), {"tokens": "float64"})["tokens"].tolist()
    [12.0, 7.0]
    """
    converted = {
        name: _as_kind(frame[name], kind)
        for name, kind in kinds.items()
        if kind != "text" and name in frame
    }
    return frame.assign(**converted)


def _as_kind(cells: pd.Series, kind: CellKind) -> pd.Series:
    if kind == "bool":
        truths = cells.map(lambda cell: _TRUTHS.get(str(cell).lower()), na_action="ignore")
        return truths if truths.isna().any() else truths.astype(bool)
    numbers = pd.to_numeric(cells)
    return numbers.astype("float64") if kind == "float64" else numbers


def kinds_of_parts(parts: Iterable[pd.DataFrame], names: Iterable[str]) -> dict[str, CellKind]:
    """What columns are in all parts, without those of texts; numbers with gaps are as in memory.

    Examples
    --------
    >>> parts = [pd.DataFrame({"tokens": [cells]}) for cells in ("12", None)]
    >>> kinds_of_parts(parts, ["tokens"])
    {'tokens': 'float64'}
    """
    kinds: dict[str, CellKind] = {}
    gaps: set[str] = set()
    columns = list(names)
    for part in parts:
        for name in columns:
            kind = kind_of(part[name])
            if kind is not None:
                kinds[name] = wider_kind(kinds.get(name), kind)
            if part[name].hasnans:
                gaps.add(name)
    return {
        name: "float64" if kind == "int64" and name in gaps else kind
        for name, kind in kinds.items()
        if kind != "text"
    }


def texts_to_convert(rows: pd.DataFrame, details: pd.DataFrame) -> list[str]:
    """The details that are texts in some rows, and numbers or true and false in the first rows.

    Parameters
    ----------
    rows : DataFrame
        Any rows.
    details : DataFrame
        The details of the first rows, as a table in memory has them.
    """
    return [
        str(name)
        for name in rows.columns
        if name in details
        and not pd.api.types.is_numeric_dtype(rows[name].dtype)
        and _is_of_numbers(details[name])
    ]


def _is_of_numbers(cells: pd.Series) -> bool:
    if pd.api.types.is_numeric_dtype(cells.dtype):  # also of true and false
        return True
    known = cells.dropna()
    return bool(len(known)) and all(isinstance(cell, bool) for cell in known)


def like_memory(rows: pd.DataFrame, details: pd.DataFrame) -> pd.DataFrame:
    """Numbers, and true and false, in the details as such: a CSV file is read as texts.

    Parameters
    ----------
    rows, details : DataFrame
        As in `texts_to_convert`.

    Examples
    --------
    >>> rows = pd.DataFrame({"tokens": ["12"], "cached": ["True"], "topic": ["a"]})
    >>> first = pd.DataFrame({"tokens": [7], "cached": [False], "topic": ["b"]})
    >>> like_memory(rows, first).dtypes.map(str).tolist()[:2]
    ['int64', 'bool']
    """
    return as_kinds(rows, kinds_of_parts([rows], texts_to_convert(rows, details)))
