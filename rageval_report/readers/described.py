"""Run files, and tables that rageval_report wrote: read by their description, without a guess.

The description stands beside delimited text, in the first row of JSON Lines, in the metadata of
Parquet, or in a table of a database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, named
from rageval_report.files.source import Source
from rageval_report.files.strict_json import NotJSONError, parse_json
from rageval_report.readers.base import Reader, ScoreFile, select_columns
from rageval_report.readers.record_columns import frame_of
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.run_file import FORMAT, parse_run_document
from rageval_report.scores.saved_columns import restore_column
from rageval_report.scores.saved_tables import (
    COMPANION,
    TABLE_FORMAT,
    TableDescription,
    parse_table_description,
)


@dataclass(frozen=True, eq=False)
class DescribedTable:
    """The description of a table, or notes that say why there is one that is not used."""

    description: TableDescription | None = None
    notes: tuple[str, ...] = ()


def parse_description(text: str | bytes | None, place: str) -> DescribedTable:
    """The description in a JSON text, which stands at some place, or a note that it is not used."""
    if text is None:
        return DescribedTable()
    try:
        return description_in(parse_json(text if isinstance(text, str) else text.decode()), place)
    except (UnicodeDecodeError, NotJSONError) as exc:
        return unused(place, f"it cannot be read ({str(exc).rstrip('.')})")


def description_in(document: object, place: str) -> DescribedTable:
    """The description in a JSON document, or a note that it is not used."""
    # Without the name of the format it is a file of somebody else.
    if not isinstance(document, dict) or document.get("format") != TABLE_FORMAT:
        return DescribedTable()
    try:
        return DescribedTable(parse_table_description(document))
    except DataError as exc:
        return unused(place, str(exc))


def unused(place: str, reason: str) -> DescribedTable:
    """No description, and a note that says why."""
    note = (
        f"{place} is not used: {reason}. Metrics and details are recognised as in any table; name "
        "the metrics with metrics=[...], or save the table again"
    )
    return DescribedTable(notes=(note,))


def description_beside(source: Source) -> DescribedTable:
    """The description of a table of delimited text, in the file FILE.meta.json beside it."""
    name = "" if source.path is None else str(source.path)
    for path in {Path(f"{name}{COMPANION}"), Path(f"{name.removesuffix('.gz')}{COMPANION}")}:
        if name and path.is_file():
            return parse_description(path.read_bytes(), path.name)
    return DescribedTable()


def described_file(
    source: Source,
    description: TableDescription,
    raw: pd.DataFrame | Mapping[str, list[Any] | pd.Series],
    *,
    columns: Iterable[str] | None,
    query_id: str | None,
) -> list[ScoreFile]:
    """The pipeline of a table that describes itself, from its cells as they are in the file."""
    present = list(map(str, raw))
    if QUERY_ID not in raw or not len(raw[QUERY_ID]):
        what = "no rows" if QUERY_ID in raw else f"no column {QUERY_ID!r} any more"
        raise source.error(f"the file has column names, but {what}")
    ids = pd.Series(list(raw[QUERY_ID]), dtype=object)
    kept = select_columns(present, columns, query_id)
    metrics = [name for name in description.metrics if name in kept]
    cells = {QUERY_ID: ids}
    try:
        for name in (name for name in kept if name not in (QUERY_ID, *metrics)):
            saved = description.details.get(name)
            cells[name] = (
                pd.Series(raw[name]).reset_index(drop=True)
                if saved is None
                else restore_column(raw[name], saved, ids.tolist())
            )
    except DataError as exc:
        raise source.error(
            f"the description of this table is damaged: {exc}; write the table again"
        ) from exc
    frame = pd.DataFrame(cells | {name: _numbers(raw[name]) for name in metrics})
    n_written = description.n_queries
    is_whole = len(frame) == n_written
    notes = []
    if absent := [name for name in description.metrics if name not in present]:
        notes.append(f"the file was written with the metrics {named(absent)}, which it lacks now")
    if added := [name for name in present if name not in description.columns]:
        notes.append(
            f"the columns {named(added)} were added after the file was written and are read as "
            "details; if they are metrics, name all metrics with metrics=[...]"
        )
    if n_written and not is_whole:
        notes.append(f"the file was written with {n_written} rows and has {len(frame)} now")
    return [
        ScoreFile(
            frame,
            description.name,
            metrics={name: description.metrics[name] for name in metrics},
            metric_columns=tuple(metrics),
            notes=(*description.notes, *notes),
            config=description.config,
            created=description.created,
            correct=description.correct,
            detail_names=description.detail_names,
            # Tables of more queries say nothing about those that are left.
            results=description.results if is_whole else {},
            written_by=f"rageval_report {description.version}",
            # Whoever saved the table has decided which rows are queries; later rows may be totals.
            totals="keep" if is_whole else "auto",
        )
    ]


def _numbers(cells: pd.Series | list[Any]) -> pd.Series:
    """The cells of a metric as numbers; as they are if some are not, to be read cell by cell."""
    if isinstance(cells, pd.Series) and cells.dtype == np.float64:
        return cells.reset_index(drop=True)
    values = [None if cell is pd.NA else cell for cell in cells]
    if all(cell is None or isinstance(cell, int | float) for cell in values):
        try:
            return pd.Series(values, dtype=np.float64)
        except OverflowError:  # an integer that no float can hold
            pass
    return pd.Series(values, dtype=object)


# -- run files


def _recognise(source: Source) -> float:
    document = source.document_or_none()
    # The file names its format itself, so nothing is surer.
    is_ours = isinstance(document, dict) and document.get("format") in (FORMAT, TABLE_FORMAT)
    return 1.0 if is_ours else 0.0


def read_run_file(source: Source) -> list[ScoreFile]:
    """Read a run file: everything that the evaluation held when it was saved."""
    document = source.document
    if isinstance(document, dict) and document.get("format") == TABLE_FORMAT:
        raise source.error(
            "this file describes a table and holds no scores; read the table itself, which has the "
            f"same name without {COMPANION}"
        )
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise source.error(f'expected a run file: an object with "format": "{FORMAT}"')
    try:
        run = parse_run_document(document)
    except DataError as exc:
        raise source.error(str(exc)) from exc
    return [
        ScoreFile(
            frame_of(run.rows, QUERY_ID),
            run.name,
            metrics=run.metrics,
            metric_columns=tuple(run.metrics),
            notes=run.notes,
            config=run.config,
            created=run.created,
            correct=run.correct,
            detail_names=run.detail_names,
            results=run.results,
            written_by=f"rageval_report {document.get('version', '')}".rstrip(),
            is_one_pipeline=True,
            totals="keep",  # whoever saved the evaluation has decided which rows are queries
        )
    ]


RUN_FILE = Reader(
    "run_file",
    "a run file of rageval_report, as save('run.json') writes it",
    _recognise,
    read_run_file,
    ("encoding",),
    example="run.json",
)
