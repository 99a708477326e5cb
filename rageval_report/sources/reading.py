"""Several files, or one, or an address, read into one `ScoreFile` per pipeline.

Several files are parts of one table, or one evaluation each; the query ids decide. Pipelines that
are compared have answered the same queries, so their files share ids; a query stands in one part of
a table only. What was decided is a note, and ``files=`` overrules it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Unpack, get_args

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, check_choice, named
from rageval_report.files.source import Source
from rageval_report.readers import (
    FileReading,
    divide_pipelines,
    reason_to_refuse,
    without_totals,
)
from rageval_report.readers import read_undivided as read_file
from rageval_report.readers.base import FileKeywords, ScoreFile
from rageval_report.readers.table_files import ScoreInput, TableSource
from rageval_report.scores.query_ids import QUERY_ID, query_ids
from rageval_report.scores.query_rows import Totals
from rageval_report.scores.roles import Roles, check_roles
from rageval_report.sources.base import FilesArgument, OpenedSources
from rageval_report.sources.files import open_sources

# Evaluations of the same queries may each lack some; parts of a table share none.
_SHARED_BY_EVALUATIONS = 0.5
_WORDS = {"parts": "parts of one table", "evaluations": "one evaluation per file"}
_OVERRULE = {
    "parts": 'files="parts" (--files parts) puts them together',
    "evaluations": 'files="evaluations" (--files evaluations) reads one evaluation per file',
}


def read(
    path: ScoreInput,
    *,
    files: FilesArgument = "auto",
    roles: Roles | None = None,
    totals: Totals = "auto",
    **keywords: Unpack[FileKeywords],
) -> list[ScoreFile]:
    r"""Read a file, a folder, a glob, a list of these, or an address.

    Parameters
    ----------
    path : str, PathLike, bytes, open file, frame, mapping, or iterable
        As for `rageval_report.read_scores`.
    files : {"auto", "parts", "evaluations"}
        How several files belong together.
    roles, totals, **keywords
        As for `rageval_report.readers.read`, for every file.

    Returns
    -------
    list of ScoreFile
        One per pipeline, with different names.

    Raises
    ------
    ReaderError
        If a file cannot be read: the file, the line, what to do.
    DataError
        If the files are neither parts of one table nor evaluations, or a part lacks a column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, id_ in (("part-1.csv", "q1"), ("part-2.csv", "q2")):
    ...         _ = Path(folder, name).write_text(f"query_id,recall\n{id_},0.5\n")
    ...     [file] = read(f"{folder}/part-*.csv")
    >>> file.frame["query_id"].tolist()
    ['q1', 'q2']
    """
    query_id = keywords.get("query_id")
    _, readings, notes = _read_each(path, files, totals, keywords)
    labels = [str(label) for reading in readings for file in reading.files for label in file.frame]
    check_roles(roles, dict.fromkeys(labels))
    groups = []
    for reading in readings:
        present = {str(label) for file in reading.files for label in file.frame}
        own = roles and {column: role for column, role in roles.items() if column in present}
        files_of = divide_pipelines(reading.files, reading.source, query_id, own, totals)
        groups.append((reading.source, files_of))
    if len(groups) > 1:
        return _name_evaluations(groups, notes)
    [(source, pipelines)] = groups
    return [replace(file, origin=source.name, notes=(*notes, *file.notes)) for file in pipelines]


def read_undivided(
    path: ScoreInput,
    *,
    files: FilesArgument = "auto",
    totals: Totals = "auto",
    **keywords: Unpack[FileKeywords],
) -> FileReading:
    """As `read`, but a wide table with a column of pipelines is not divided."""
    opened, readings, notes = _read_each(path, files, totals, keywords)
    if len(readings) == 1:
        [reading] = readings
        noted = [replace(file, notes=(*notes, *file.notes)) for file in reading.files]
        return replace(reading, files=tuple(noted))
    groups = [(reading.source, reading.files) for reading in readings]
    return _together(opened, readings, _name_evaluations(groups, notes))


def _read_each(
    path: ScoreInput, files: FilesArgument, totals: Totals, keywords: FileKeywords
) -> tuple[OpenedSources, list[FileReading], tuple[str, ...]]:
    """What was opened, a reading for each file, or one of all their parts, and notes."""
    check_choice("files", files, get_args(FilesArgument))
    opened = open_sources(path, encoding=keywords.get("encoding"))
    readings = [read_file(source, **keywords) for source in opened.sources]
    # What a tracker says about the run, where the table does not say it.
    for place, facts in enumerate(opened.facts):
        of_run = tuple(
            replace(file, created=file.created or facts.created, config=file.config or facts.config)
            for file in readings[place].files
        )
        readings[place] = replace(readings[place], files=of_run)
    query_id = keywords.get("query_id")
    relation, note = _relation_of(opened, readings, files, query_id)
    if relation == "parts":
        readings = [_join_parts(opened, readings, query_id, totals)]
    return opened, readings, (*([note] if note else []), *opened.notes)


# -- parts of one table, or evaluations


def _relation_of(
    opened: OpenedSources,
    readings: Sequence[FileReading],
    files: FilesArgument,
    query_id: str | None,
) -> tuple[FilesArgument, str]:
    """Whether several files are "parts" of one table, or "evaluations", and a note."""
    if len(readings) == 1:
        return "evaluations", ""
    count = f"{len(readings)} files of {opened.name} are"
    for choice, why in ((files, "files= says so"), (opened.files, opened.why)):
        if choice != "auto":
            return choice, f"{count} {_WORDS[choice]}, because {why}"
    ids = {reading.source.name: _ids_of(reading, query_id) for reading in readings}
    n_files = Counter(query for own in ids.values() for query in own)
    shared = [query for query, n in n_files.items() if n > 1]
    if not shared:
        why = "no query id appears in two of them"
        return "parts", f"{count} {_WORDS['parts']}: {why}; {_OVERRULE['evaluations']}"
    share = f"{len(shared)} of {len(n_files)} query ids appear in more than one of them"
    if len(shared) >= _SHARED_BY_EVALUATIONS * len(n_files):
        return "evaluations", f"{count} {_WORDS['evaluations']}: {share}; {_OVERRULE['parts']}"
    names = [name for name, own in ids.items() if shared[0] in own]
    raise DataError(
        f"{count} neither parts of one table nor evaluations of the same queries: {share}, such as "
        f"{shared[0]!r} in {' and '.join(names[:2])}. Remove these rows, or "
        f"{_OVERRULE['evaluations']}"
    )


def _ids_of(reading: FileReading, query_id: str | None) -> dict[str, None]:
    files = _queries_of(reading, query_id, "auto")
    try:
        ids = [query_ids(file.frame, query_id or QUERY_ID)[0] for file in files]
    except DataError as exc:
        raise reading.source.error(reason_to_refuse(exc, reading.source)) from exc
    return dict.fromkeys(str(query) for part in ids for query in part)


def _queries_of(reading: FileReading, query_id: str | None, totals: Totals) -> list[ScoreFile]:
    """The files without the rows of their totals, which are no totals of the whole table."""
    try:
        return [
            without_totals(file, query_id, file.totals if totals == "auto" else totals)
            for file in reading.files
        ]
    except DataError as exc:
        raise reading.source.error(reason_to_refuse(exc, reading.source)) from exc


def _together(
    opened: OpenedSources, readings: Sequence[FileReading], files: Sequence[ScoreFile]
) -> FileReading:
    """Several files as one reading."""
    formats = list(dict.fromkeys(reading.reader for reading in readings))
    return FileReading(
        TableSource(files[0].frame, opened.name, opened.stem),
        ", ".join(formats),
        readings[0].sentence if len(formats) == 1 else "several formats",
        tuple(files),
        why=f"recognised file by file, {len(readings)} files",
    )


def _join_parts(
    opened: OpenedSources, readings: Sequence[FileReading], query_id: str | None, totals: Totals
) -> FileReading:
    """The parts of a table as one reading."""
    by_pipeline: dict[str, list[tuple[ScoreFile, Source]]] = {}
    for reading in readings:
        # Whether only the name of the file names the pipeline.
        is_unnamed = len(reading.files) == 1 and reading.files[0].pipeline == reading.source.stem
        for file in _queries_of(reading, query_id, totals):
            name = opened.stem if is_unnamed else file.pipeline
            by_pipeline.setdefault(name, []).append((file, reading.source))
    joined = [_join_files(name, parts) for name, parts in by_pipeline.items()]
    return _together(opened, readings, joined)


def _join_files(name: str, parts: Sequence[tuple[ScoreFile, Source]]) -> ScoreFile:
    columns = dict.fromkeys(str(column) for file, _ in parts for column in file.frame)
    for column in columns:
        lacking = [source.name for file, source in parts if column not in file.frame]
        if lacking:
            raise DataError(
                f"column {column!r} is missing in {named(lacking)}. Parts of one table have the "
                f"same columns: add the column, or {_OVERRULE['evaluations']}"
            )
    first = parts[0][0]
    is_chosen = all(file.metric_columns is not None for file, _ in parts)
    return replace(
        first,
        frame=pd.concat([file.frame[list(first.frame)] for file, _ in parts], ignore_index=True),
        pipeline=name,
        metrics={
            name: field for file, _ in reversed(parts) for name, field in file.metrics.items()
        },
        metric_columns=first.metric_columns if is_chosen else None,
        notes=tuple(dict.fromkeys(note for file, _ in parts for note in file.notes)),
        results={},  # tables about a part say nothing about the whole
        line_of_row=None,
        place_of_row=_place_finder(parts),
    )


def _place_finder(parts: Sequence[tuple[ScoreFile, Source]]) -> Callable[[int], str]:
    starts = [0, *accumulate(len(file.frame) for file, _ in parts)]

    def place_of(row: int) -> str:
        part = int(np.searchsorted(starts, row, side="right")) - 1
        file, source = parts[part]
        return f"{source.name}, {file.place(row - starts[part])}"

    return place_of


def _name_evaluations(
    groups: Sequence[tuple[Source, Iterable[ScoreFile]]], notes: Sequence[str]
) -> list[ScoreFile]:
    """The pipelines of several files, each with a name of its own."""
    pairs = [(source, file) for source, files in groups for file in files]
    counts = Counter(file.pipeline for _, file in pairs)
    stems = Counter(source.stem for source, _ in groups)
    evaluations: dict[str, ScoreFile] = {}
    for source, file in pairs:
        name = file.pipeline
        if counts[name] > 1:
            folder = source.folder
            place = f"{folder.resolve().name}/{source.stem}" if folder else source.name
            stem = source.stem if stems[source.stem] == 1 else place
            is_alone = sum(other is source for other, _ in pairs) == 1
            name = stem if is_alone else f"{stem}/{name}"
        if name in evaluations:
            raise DataError(
                f"two evaluations are named {name!r}: "
                f"{named([evaluations[name].origin, source.name], 2)}. Name the files in a "
                "glob, such as 'runs/*.csv', or rename one"
            )
        every_note = (*notes, *file.notes)
        evaluations[name] = replace(file, pipeline=name, notes=every_note, origin=source.name)
    return list(evaluations.values())
