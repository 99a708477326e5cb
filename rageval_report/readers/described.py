"""Tables that rageval_report wrote: read by their description, so that nothing is guessed.

`described_files` is called by the readers of delimited text, JSON Lines and Parquet; each passes
the description that the file holds, or has beside it, and its columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, named
from rageval_report.files.outgoing_text import restore_formula
from rageval_report.files.source import Source
from rageval_report.files.strict_json import NotJSONError, parse_json
from rageval_report.readers.base import ScoreFile, select_columns
from rageval_report.readers.delimited_rows import cell_text, rows
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.saved_columns import SavedColumn, restore_column
from rageval_report.scores.saved_tables import (
    COMPANION,
    TABLE_FORMAT,
    TableDescription,
    parse_table_description,
)

_GZIP_ENDING = ".gz"


@dataclass(frozen=True, eq=False)
class DescribedTable:
    """What a file says about its own table.

    Parameters
    ----------
    description : TableDescription, optional
        None if there is none, or it cannot be used.
    notes : tuple of str
        Why a description that exists is not used.
    text : bytes
        The text that is described, of delimited text.
    place : str
        Where the description stands.
    """

    description: TableDescription | None = None
    notes: tuple[str, ...] = ()
    text: bytes = b""
    place: str = ""


_NOTHING = DescribedTable()
_COMPANIONS: WeakKeyDictionary[Source, DescribedTable] = WeakKeyDictionary()


def parse_description(document: object, place: str) -> DescribedTable:
    """The description in a file, or a note that says why it is not used.

    Parameters
    ----------
    document : object
        Parsed JSON.
    place : str
        Where it stands, for the note.
    """
    try:
        return DescribedTable(parse_table_description(document), place=place)
    except DataError as exc:
        return DescribedTable(notes=(unused_note(place, str(exc)),))


def unused_note(place: str, reason: str) -> str:
    """The note that a description is not used."""
    return (
        f"{place} is not used: {reason}. Metrics and details are recognised as in any table; name "
        "the metrics with metrics=[...], or save the table again"
    )


# -- delimited text: a file beside it


def description_beside(source: Source) -> DescribedTable:
    """The description of a table of delimited text, in the file FILE.meta.json beside it.

    Parameters
    ----------
    source : Source
        The table. Standard input and open files have no file beside them.
    """
    if source not in _COMPANIONS:
        _COMPANIONS[source] = _read_companion(source)
    return _COMPANIONS[source]


def _read_companion(source: Source) -> DescribedTable:
    path = None if source.path is None else _companion(str(source.path))
    if path is None:
        return _NOTHING
    try:
        document = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, NotJSONError) as exc:
        reason = (str(exc).strip() or type(exc).__name__).rstrip(".")
        return DescribedTable(notes=(unused_note(path.name, f"it cannot be read ({reason})"),))
    if not isinstance(document, dict) or document.get("format") != TABLE_FORMAT:
        return _NOTHING  # a file of somebody else
    parsed = parse_description(document, path.name)
    if parsed.description is None:
        return parsed
    description = parsed.description
    text = source.utf8
    first_line = text.partition(b"\n")[0]
    if first_line.endswith(b"\r"):  # a version control system changed the ends of the lines
        text = text.replace(b"\r\n", b"\n")
    header = next(rows(text, description.delimiter, ends=b"\n"))
    names = [cell_text(cell) for cell in header.cells]
    if description.is_neutralised:
        names = [restore_formula(name) for name in names]
    if names != description.columns:
        reason = "its columns are not those of the file"
        return DescribedTable(notes=(unused_note(path.name, reason),))
    return DescribedTable(description, text=text)


def _companion(name: str) -> Path | None:
    names = [name, name[: -len(_GZIP_ENDING)]] if name.lower().endswith(_GZIP_ENDING) else [name]
    paths = [Path(f"{stem}{COMPANION}") for stem in names]
    return next((path for path in paths if path.is_file()), None)


# -- all formats


def described_files(
    source: Source,
    description: TableDescription,
    frame: pd.DataFrame,
    present: Sequence[str],
    *,
    columns: Iterable[str] | None,
    query_id: str | None,
) -> list[ScoreFile]:
    """The pipeline of a table that describes itself.

    Parameters
    ----------
    source : Source
        The file.
    description : TableDescription
        Its description.
    frame : DataFrame
        The rows, as `restored_frame` returns them; columns that are not wanted may be absent.
    present : sequence of str
        The columns of the file.
    columns : iterable of str, optional
        The columns that the caller wants besides the ids.
    query_id : str, optional
        The column of ids.

    Raises
    ------
    ReaderError
        If there are no rows.
    """
    if not len(frame):
        raise source.error("the file has column names, but no rows")
    kept = select_columns(present, columns, query_id)
    metrics = [name for name in description.metrics if name in kept]
    details = [name for name in kept if name not in metrics and name != QUERY_ID]
    frame = frame[[QUERY_ID, *details, *metrics]]
    return [
        ScoreFile(
            frame,
            description.name,
            metrics={name: description.metrics[name] for name in metrics},
            metric_columns=tuple(metrics),
            notes=(*description.notes, *_notes(description, present, len(frame))),
            config=description.config,
            created=description.created,
            correct=description.correct,
            detail_names=description.detail_names,
            # Tables of more queries say nothing about those that are left.
            results=description.results if len(frame) == description.n_queries else {},
            written_by=f"rageval_report {description.version}",
            # Whoever saved the table has decided which rows are queries; later rows may be totals.
            totals="keep" if len(frame) == description.n_queries else "auto",
        )
    ]


def _notes(description: TableDescription, present: Sequence[str], n_rows: int) -> list[str]:
    """What changed in a file since it was written."""
    notes = []
    absent = [name for name in description.metrics if name not in present]
    if absent:
        notes.append(f"the file was written with the metrics {named(absent)}, which it lacks now")
    added = [name for name in present if name not in description.columns]
    if added:
        notes.append(
            f"the columns {named(added)} were added after the file was written and are read as "
            "details; if they are metrics, name all metrics with metrics=[...]"
        )
    if description.n_queries and n_rows != description.n_queries:
        notes.append(f"the file was written with {description.n_queries} rows and has {n_rows} now")
    return notes


def restored_frame(
    raw: pd.DataFrame | Mapping[str, list[Any]],
    details: Mapping[str, SavedColumn],
    metrics: Iterable[str],
) -> pd.DataFrame:
    """The frame of some rows, with the details as they were when they were saved.

    Parameters
    ----------
    raw : DataFrame or dict of lists
        The cells as they are in the file.
    details : dict of str to SavedColumn
        The details to restore.
    metrics : iterable of str
        The metrics.

    Raises
    ------
    DataError
        If the description of a detail is damaged.
    """
    frame = {QUERY_ID: pd.Series(list(raw[QUERY_ID]), dtype=object)}
    ids = frame[QUERY_ID].tolist()
    for name, saved in details.items():
        frame[name] = restore_column(raw[name], saved, ids)
    return pd.DataFrame(frame | {name: _numbers(raw[name]) for name in metrics})


def _numbers(cells: pd.Series | list[Any]) -> pd.Series:
    """The cells of a metric as numbers; as they are if some are not, to be read cell by cell."""
    if isinstance(cells, pd.Series) and cells.dtype == np.float64:
        return cells
    values = list(cells)
    if all(cell is None or isinstance(cell, int | float) for cell in values):
        try:
            return pd.Series(values, dtype=np.float64)
        except OverflowError:  # an integer that no float can hold
            pass
    return pd.Series(values, dtype=object)
