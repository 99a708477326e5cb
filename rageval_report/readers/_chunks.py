"""Large files of records become frames a piece at a time, so that no Python value stays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import pandas as pd
from tqdm import tqdm

from rageval_report.readers._columns import NESTS, columns_of, series_of, with_nested_scores
from rageval_report.readers.base import kept_columns
from rageval_report.scores.query_ids import first_named, id_column_of
from rageval_report.scores.texts import QUESTION

_RECORDS = 5_000
_NUMBERS = ("int64", "float64")


class MixedShapeError(ValueError):
    """Pieces of one file are not of one shape; it has to be looked at as a whole."""


class _Piece(NamedTuple):
    """Some records, turned into columns."""

    n: int
    columns: dict[str, pd.Series]

    @property
    def nothing(self) -> pd.Series:
        """A column in which nothing stands."""
        return pd.Series([None] * self.n, dtype=object)


def frame_in_pieces(
    records: Iterable[Mapping[str, Any]],
    *,
    columns: Iterable[str] | None = None,
    query_id: str | None = None,
    total: int | None = None,
) -> tuple[pd.DataFrame, list[str]]:
    """The records as a frame, as if all had been turned at once.

    Parameters
    ----------
    records : iterable of mappings
        One a query; they are let go as soon as their piece is a frame.
    columns : iterable of str, optional
        Which columns to keep besides the ids; the others are never held.
    query_id : str, optional
        The column of ids.
    total : int, optional
        About how many records there are, for the bar on standard error.

    Returns
    -------
    frame : DataFrame
    notes : list of str
        What was brought up from within cells.

    Raises
    ------
    MixedShapeError
        If scores stand one level down in some pieces only.
    UnknownNameError
        If a column is asked for that is not there.

    Examples
    --------
    >>> frame_in_pieces([{"id": "a", "f1": 1}, {"id": "b", "f1": 0.5}])[0]["f1"].tolist()
    [1.0, 0.5]
    """
    wanted = None if columns is None else {*([columns] if isinstance(columns, str) else columns)}
    seen: dict[str, None] = {}
    pieces: list[_Piece] = []
    notes: dict[str, None] = {}
    bar = tqdm(records, total=total, desc="records", unit="", leave=False, delay=2, disable=None)
    for piece in _pieces(bar):
        kept = piece if wanted is None else _with_columns(piece, wanted, query_id, seen)
        flat, told = with_nested_scores(columns_of(kept))
        notes |= dict.fromkeys(told)
        seen |= dict.fromkeys(flat)
        pieces.append(_Piece(len(kept), series_of(flat, query_id)))
    _check_one_shape(pieces)
    order = list(dict.fromkeys(name for piece in pieces for name in piece.columns))
    chosen = order if wanted is None else kept_columns(seen, wanted, query_id)
    return _joined(pieces, [name for name in order if name in chosen]), list(notes)


def _pieces(records: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    iterator = iter(records)
    while piece := list(islice(iterator, _RECORDS)):
        yield piece


def _with_columns(
    piece: list[Mapping[str, Any]],
    wanted: set[str],
    query_id: str | None,
    seen: dict[str, None],
) -> list[Mapping[str, Any]]:
    """The records without what is not asked for; all their keys are remembered for the error."""
    keys = dict.fromkeys(key for record in piece for key in record)
    seen |= keys
    key_of_ids = query_id or id_column_of(seen) or first_named(seen, QUESTION)
    chosen = {key for key in keys if key in wanted or key in NESTS or key == key_of_ids}
    return [{key: value for key, value in record.items() if key in chosen} for record in piece]


def _check_one_shape(pieces: list[_Piece]) -> None:
    for name in NESTS:
        there = [name in one.columns and bool(one.columns[name].notna().any()) for one in pieces]
        if any(there) and not all(there):
            raise MixedShapeError(name)


def _joined(pieces: list[_Piece], names: list[str]) -> pd.DataFrame:
    """The pieces one below the other, column by column, each let go when it is joined."""
    columns = {}
    for name in names:
        parts = [one.columns.pop(name, one.nothing) for one in pieces]
        columns[name] = _one_column(parts)
        del parts
    return pd.DataFrame(columns, copy=False)


def _one_column(parts: list[pd.Series]) -> pd.Series:
    """A part in which nothing stands has no type, and takes that of the others."""
    kinds: set[Any] = {part.dtype for part in parts if not part.isna().all()}
    if kinds and all(kind in _NUMBERS for kind in kinds):
        return pd.concat([_of_kind(part, "float64", kinds) for part in parts], ignore_index=True)
    kind = next(iter(kinds)) if len(kinds) == 1 else "bool"
    if kind != "bool":
        return pd.concat([_of_kind(part, kind, kinds) for part in parts], ignore_index=True)
    return pd.Series([cell for part in parts for cell in part.tolist()])


def _of_kind(part: pd.Series, kind: Any, kinds: set[Any]) -> pd.Series:
    return part if part.dtype in kinds else pd.Series([None] * len(part), dtype=kind)
