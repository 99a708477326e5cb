"""Large files of records become frames a piece at a time, so that no Python value stays."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from rageval_report.readers.base import select_columns
from rageval_report.readers.record_columns import NESTS, columns_of, lift_nested_scores, series_of
from rageval_report.scores.query_ids import first_named, id_column_of
from rageval_report.scores.texts import QUESTION

_RECORDS = 5_000
_NUMBERS = ("int64", "float64")
_MOST_EXACT = 2**53


class MixedShapeError(ValueError):
    """Pieces of one file are not of one shape; it has to be looked at as a whole."""


class _Column:
    """A column that grows piece by piece: numbers in one buffer, anything else as it came."""

    def __init__(self, n_before: int):
        self._parts = [_nothing(n_before)] if n_before else []
        self._numbers: array[float] | None = None
        self._is_whole = True
        self.n = n_before

    def add(self, part: pd.Series) -> None:
        """The cells of the next piece."""
        is_missing = bool(part.isna().all())
        self._is_whole = self._is_whole and not is_missing and part.dtype == "int64"
        self.n += len(part)
        if self._numbers is not None and (is_missing or _fits(part)):
            self._numbers.frombytes(part.to_numpy(np.float64, na_value=np.nan).tobytes())
        elif self._numbers is None and _fits(part) and all(one.isna().all() for one in self._parts):
            self._numbers = array("d", [np.nan] * (self.n - len(part)))
            self._numbers.frombytes(part.to_numpy(np.float64).tobytes())
            self._is_whole = self._is_whole and not self._parts
            self._parts = []
        else:
            self._parts = [*self._taken_back(), part]

    def _taken_back(self) -> list[pd.Series]:
        """The parts so far, the buffer among them, because a piece came that is no number."""
        if self._numbers is None:
            return self._parts
        told, self._numbers = self._of_numbers(), None
        return [told]

    def _of_numbers(self) -> pd.Series:
        numbers = np.frombuffer(self._numbers or b"", dtype=np.float64)
        return pd.Series(numbers.astype(np.int64) if self._is_whole else numbers)

    def whole(self) -> pd.Series:
        """The column, as if all cells had come at once."""
        return self._of_numbers() if self._numbers is not None else _one_column(self._parts)


def _fits(part: pd.Series) -> bool:
    """Whether a piece is of numbers that a float holds exactly."""
    if part.dtype == "int64":
        return bool(part.abs().max() <= _MOST_EXACT)
    return bool(part.dtype == "float64")


def _nothing(n: int) -> pd.Series:
    """A piece in which nothing stands."""
    return pd.Series([None] * n, dtype=object)


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
    notes: dict[str, None] = {}
    grown: dict[str, _Column] = {}
    nests: dict[str, set[bool]] = {name: set() for name in NESTS}
    n = 0
    bar = tqdm(records, total=total, desc="records", unit="", leave=False, delay=2, disable=None)
    for piece in _pieces(bar):
        kept = piece if wanted is None else _with_columns(piece, wanted, query_id, seen)
        flat, told = lift_nested_scores(columns_of(kept))
        notes |= dict.fromkeys(told)
        seen |= dict.fromkeys(flat)
        _check_one_shape(flat, nests)
        for name, cells in series_of(flat, query_id).items():
            grown.setdefault(name, _Column(n)).add(cells)
        n += len(kept)
        for column in grown.values():
            if column.n < n:
                column.add(_nothing(n - column.n))
    chosen = list(grown) if wanted is None else select_columns(seen, wanted, query_id)
    names = [name for name in grown if name in chosen]
    return pd.DataFrame({name: grown.pop(name).whole() for name in names}, copy=False), list(notes)


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


def _check_one_shape(flat: Mapping[str, list[Any]], nests: dict[str, set[bool]]) -> None:
    """Scores one level down must stand there in every piece, or in none."""
    for name, seen in nests.items():
        seen.add(name in flat and any(cell is not None for cell in flat[name]))
        if len(seen) > 1:
            raise MixedShapeError(name)


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
