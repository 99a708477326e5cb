"""Large files of records become frames piece by piece, so that few Python objects are in memory."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.readers import delegates
from rageval_report.readers.base import CellsByColumn, select_columns
from rageval_report.readers.record_columns import (
    NESTS,
    PIECE,
    add_records,
    lift_nested_scores,
    series_of,
)
from rageval_report.scores.query_ids import QUESTION, first_named, id_column_of

# Cells that are converted together. The records themselves are released a few hundred at a time.
_RECORDS = 10_000
_NUMBERS = ("int64", "float64")
Records = list[Mapping[str, Any]]
# Beyond it a float no longer holds every integer, and an id or a count would change.
_MOST_EXACT = 2**53


class MixedShapeError(ValueError):
    """The pieces of a file differ in shape, so it must be read as a whole."""


class _GrowingColumn:
    """A column to which pieces are added: numbers in one buffer, anything else as it is."""

    def __init__(self, n_before: int):
        # The column began late: earlier records lack its key.
        self._parts = [_blank_piece(n_before)] if n_before else []
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
        elif (
            self._numbers is None
            and _fits(part)
            # Blank pieces carry no type, so numbers may still begin here.
            and all(piece.isna().all() for piece in self._parts)
        ):
            self._numbers = array("d", [np.nan] * (self.n - len(part)))
            self._numbers.frombytes(part.to_numpy(np.float64).tobytes())
            self._is_whole = self._is_whole and not self._parts
            self._parts = []
        else:
            self._keep_apart()
            self._parts.append(part)

    def _keep_apart(self) -> None:
        """Make the buffer a piece, as the next piece is not of numbers."""
        if self._numbers is not None:
            self._parts = [self._buffered_numbers()]
            self._numbers = None

    def _buffered_numbers(self) -> pd.Series:
        numbers = np.frombuffer(self._numbers or b"", dtype=np.float64)
        return pd.Series(numbers.astype(np.int64) if self._is_whole else numbers)

    def whole(self) -> pd.Series:
        """The column, as if all cells had been added at once."""
        return self._buffered_numbers() if self._numbers is not None else _one_column(self._parts)


def _fits(part: pd.Series) -> bool:
    """Whether a piece consists of numbers that a float holds exactly."""
    if part.dtype == "int64":
        return bool(part.abs().max() <= _MOST_EXACT)
    return bool(part.dtype == "float64")


def _blank_piece(n: int) -> pd.Series:
    """A piece of blank cells."""
    return pd.Series([None] * n, dtype=object)


def frame_in_pieces(
    records: Iterable[Mapping[str, Any]],
    *,
    columns: Iterable[str] | None = None,
    query_id: str | None = None,
    total: int | None = None,
) -> tuple[pd.DataFrame, list[str]]:
    """The records as a frame, the same as if all were converted at once.

    Parameters
    ----------
    records : iterable of mappings
        One per query; they are released as soon as their piece is converted.
    columns : iterable of str, optional
        The columns to read besides the ids; the others are dropped at once.
    query_id : str, optional
        The column of ids.
    total : int, optional
        The approximate number of records, for the progress bar on standard error.

    Returns
    -------
    frame : DataFrame
    notes : list of str
        Which scores were lifted from nested objects.

    Raises
    ------
    MixedShapeError
        If scores are nested in some pieces only.
    UnknownNameError
        If the records have no column of a requested name.

    Examples
    --------
    >>> frame_in_pieces([{"id": "a", "f1": 1}, {"id": "b", "f1": 0.5}])[0]["f1"].tolist()
    [1.0, 0.5]
    """
    requested = None if columns is None else {*([columns] if isinstance(columns, str) else columns)}
    seen: dict[str, None] = {}
    notes: dict[str, None] = {}
    grown: dict[str, _GrowingColumn] = {}
    nests: dict[str, set[bool]] = {name: set() for name in NESTS}
    n = 0
    drop = None if requested is None else partial(_drop_columns, requested, query_id, seen)
    for columns_of_piece, n_records in _pieces_of_columns(records, total, drop):
        flat, nest_notes = lift_nested_scores(columns_of_piece)
        notes |= dict.fromkeys(nest_notes)
        seen |= dict.fromkeys(flat)
        _check_one_shape(flat, nests)
        for name, cells in series_of(flat, query_id).items():
            if name not in grown:  # never setdefault: it makes a column as long as the file
                grown[name] = _GrowingColumn(n)
            grown[name].add(cells)
        n += n_records
        for column in grown.values():
            if column.n < n:
                column.add(_blank_piece(n - column.n))
    selected = list(grown) if requested is None else select_columns(seen, requested, query_id)
    names = [name for name in grown if name in selected]
    # pop: each column's pieces are freed before the next column is built.
    return pd.DataFrame({name: grown.pop(name).whole() for name in names}, copy=False), list(notes)


def _pieces_of_columns(
    records: Iterable[Mapping[str, Any]],
    total: int | None,
    drop: Callable[[Records], Records] | None,
) -> Iterator[tuple[CellsByColumn, int]]:
    """The columns of some thousand records at a time, and the number of records."""
    iterator = iter(records)
    # Which columns are dropped depends on all keys of a piece.
    n_at_once = PIECE if drop is None else _RECORDS
    with delegates.tqdm(
        total=total, desc="records", unit="", leave=False, delay=2, disable=None
    ) as bar:
        while True:
            columns: CellsByColumn = {}
            n = 0
            while piece := list(islice(iterator, min(n_at_once, _RECORDS - n))):
                add_records(columns, piece if drop is None else drop(piece), n)
                n += len(piece)
                bar.update(len(piece))
            if not n:
                return
            yield columns, n


def _drop_columns(
    requested: set[str], query_id: str | None, seen: dict[str, None], piece: Records
) -> Records:
    """The records with the requested columns only; all keys go into `seen`, for error messages."""
    keys = dict.fromkeys(key for record in piece for key in record)
    seen |= keys
    key_of_ids = query_id or id_column_of(seen) or first_named(seen, QUESTION)
    kept = {key for key in keys if key in requested or key in NESTS or key == key_of_ids}
    return [{key: value for key, value in record.items() if key in kept} for record in piece]


def _check_one_shape(flat: Mapping[str, list[Any]], nests: dict[str, set[bool]]) -> None:
    """Nested scores must be present in every piece, or in none."""
    for name, seen in nests.items():
        # The same key would be a cell in one piece and columns in another; then the file is read as
        # a whole.
        seen.add(name in flat and any(cell is not None for cell in flat[name]))
        if len(seen) > 1:
            raise MixedShapeError(name)


def _one_column(parts: list[pd.Series]) -> pd.Series:
    """The parts as one column; a blank part has no type and takes that of the others."""
    kinds: set[Any] = {part.dtype for part in parts if not part.isna().all()}
    if kinds and all(kind in _NUMBERS for kind in kinds):
        return pd.concat([_cast_blank(part, "float64", kinds) for part in parts], ignore_index=True)
    kind = next(iter(kinds)) if len(kinds) == 1 else "bool"
    if kind != "bool":
        return pd.concat([_cast_blank(part, kind, kinds) for part in parts], ignore_index=True)
    # Mixed kinds, or booleans beside blanks: as Python's values, so that True stays apart from 1.
    return pd.Series([cell for part in parts for cell in part.tolist()])


def _cast_blank(part: pd.Series, kind: Any, kinds: set[Any]) -> pd.Series:
    return part if part.dtype in kinds else pd.Series([None] * len(part), dtype=kind)
