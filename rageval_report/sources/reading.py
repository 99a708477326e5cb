"""Several files, or one, or an address, read into one `ScoreFile` per pipeline.

Several files are parts of one table, or one evaluation each; the query ids decide. Pipelines that
are compared have answered the same queries, so their files share ids; a query stands in one part of
a table only. What was decided is a note, and ``files=`` overrules it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Unpack

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, named
from rageval_report.files.source import Source
from rageval_report.readers import (
    FileReading,
    divide_pipelines,
    reason_to_refuse,
    without_totals,
)
from rageval_report.readers import read_undivided as read_file
from rageval_report.readers.base import FileKeywords, ScoreFile
from rageval_report.readers.shared_scales import share_scales
from rageval_report.readers.table_inputs import ScoreInput, TableSource
from rageval_report.scores.query_ids import QUERY_ID, query_ids
from rageval_report.scores.query_rows import Totals
from rageval_report.scores.roles.column_role import Roles, check_roles
from rageval_report.sources.base import FilesArgument, OpenedSources, RunFacts, check_files
from rageval_report.sources.opening import open_sources

# Evaluations of the same queries may each lack some; parts of a table share none.
_SHARED_BY_EVALUATIONS = 0.5
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
    query_id, metrics = keywords.get("query_id"), keywords.get("metrics")
    opened, readings, relation = _read_each(path, files, keywords)
    _check_roles(roles, readings)
    if relation.files == "parts":
        reading = join_parts(opened, readings, relation, query_id, totals)
        pipelines = _divide(reading, query_id, roles, totals, metrics)
        if keywords.get("duplicates") != "mean":
            check_unique_ids(pipelines, query_id)
        return [replace(file, origin=opened.name) for file in pipelines]
    groups = [
        (reading.source, _divide(reading, query_id, _own(roles, reading), totals, metrics))
        for reading in readings
    ]
    if len(groups) == 1:
        [(source, pipelines)] = groups
        notes = opened.notes
        return [
            replace(file, origin=source.name, notes=(*notes, *file.notes)) for file in pipelines
        ]
    return name_evaluations(groups, relation.note, opened.notes)


def read_undivided(
    path: ScoreInput,
    *,
    files: FilesArgument = "auto",
    totals: Totals = "auto",
    **keywords: Unpack[FileKeywords],
) -> FileReading:
    """As `read`, but a wide table with a column of pipelines is not divided."""
    opened, readings, relation = _read_each(path, files, keywords)
    if relation.files == "parts":
        return join_parts(opened, readings, relation, keywords.get("query_id"), totals)
    if len(readings) == 1:
        [reading] = readings
        noted = [replace(file, notes=(*opened.notes, *file.notes)) for file in reading.files]
        sentence = opened.sentence or reading.sentence
        return replace(reading, files=tuple(noted), sentence=sentence, why=opened.why)
    groups = [(reading.source, reading.files) for reading in readings]
    named = name_evaluations(groups, relation.note, opened.notes)
    formats = list(dict.fromkeys(reading.reader for reading in readings))
    return FileReading(
        TableSource(readings[0].files[0].frame, opened.name, opened.stem),
        ", ".join(formats),
        readings[0].sentence if len(formats) == 1 else "several formats",
        tuple(named),
        why=f"recognised file by file, {len(readings)} files",
    )


def _read_each(
    path: ScoreInput, files: FilesArgument, keywords: FileKeywords
) -> tuple[OpenedSources, list[FileReading], FileRelation]:
    files = check_files(files)
    opened = open_sources(path, encoding=keywords.get("encoding"))
    readings = [read_file(source, **keywords) for source in opened.sources]
    if opened.facts:
        readings = list(map(_with_facts, readings, opened.facts))
    return opened, readings, relation_of(opened, readings, files, keywords.get("query_id"))


def _with_facts(reading: FileReading, facts: RunFacts) -> FileReading:
    """The reading with what a tracker says about the run, where the table does not say it."""
    files = tuple(
        replace(file, created=file.created or facts.created, config=file.config or facts.config)
        for file in reading.files
    )
    return replace(reading, files=files)


def _divide(
    reading: FileReading,
    query_id: str | None,
    roles: Roles | None,
    totals: Totals,
    metrics: object,
) -> list[ScoreFile]:
    pipelines = divide_pipelines(reading.files, reading.source, query_id, roles, totals)
    return share_scales(pipelines, reading.source, query_id, roles, metrics)


def _check_roles(roles: Roles | None, readings: Sequence[FileReading]) -> None:
    """Check that each role is of a column that some file has."""
    labels = [str(label) for reading in readings for file in reading.files for label in file.frame]
    check_roles(roles, dict.fromkeys(labels))


def _own(roles: Roles | None, reading: FileReading) -> Roles | None:
    """The roles of the columns that a file has; another file may have the others."""
    if roles is None:
        return None
    present = {str(label) for file in reading.files for label in file.frame}
    return {column: role for column, role in roles.items() if column in present}


# -- parts of one table, or evaluations


@dataclass(frozen=True)
class FileRelation:
    """How several files belong together."""

    files: FilesArgument
    note: str = ""


def relation_of(
    opened: OpenedSources,
    readings: Sequence[FileReading],
    files: FilesArgument,
    query_id: str | None,
) -> FileRelation:
    """Whether several files are parts of one table, or evaluations."""
    if len(readings) == 1 and not any(opened.partitions):
        return FileRelation("evaluations")
    count = f"{len(readings)} files of {opened.name}"
    if files != "auto":
        return FileRelation(files, f"{count} are {_words(files)}, because files= says so")
    if opened.files != "auto":
        note = f"{count} are {_words(opened.files)}, because {opened.why}"
        return FileRelation(opened.files, note)
    n_files = Counter(
        query for reading in readings for query in dict.fromkeys(_ids_of(reading, query_id))
    )
    n_shared = sum(n > 1 for n in n_files.values())
    if not n_shared:
        why = "no query id appears in two of them"
        return FileRelation(
            "parts", f"{count} are {_words('parts')}: {why}; {_OVERRULE['evaluations']}"
        )
    share = f"{n_shared} of {len(n_files)} query ids appear in more than one of them"
    if n_shared >= _SHARED_BY_EVALUATIONS * len(n_files):
        return FileRelation(
            "evaluations", f"{count} are {_words('evaluations')}: {share}; {_OVERRULE['parts']}"
        )
    raise DataError(
        f"{count} are neither parts of one table nor evaluations of the same queries: {share}: "
        f"{_places_of_shared(readings, n_files, query_id)}. Remove these rows, or "
        f"{_OVERRULE['evaluations']}"
    )


def _words(files: str) -> str:
    return "parts of one table" if files == "parts" else "one evaluation per file"


def _ids_of(reading: FileReading, query_id: str | None) -> list[str]:
    return [query for file in reading.files for query in _ids_of_file(file, reading, query_id)]


def _ids_of_file(file: ScoreFile, reading: FileReading, query_id: str | None) -> list[str]:
    try:
        queries = without_totals(file, query_id, file.totals)
        return [str(query) for query in query_ids(queries.frame, query_id or QUERY_ID)[0]]
    except DataError as exc:
        raise reading.source.error(reason_to_refuse(exc, reading.source)) from exc


def _places_of_shared(
    readings: Sequence[FileReading], n_files: Mapping[str, int], query_id: str | None
) -> str:
    """The first ids that appear in two files, with the files."""
    shared = [query for query, n in n_files.items() if n > 1]
    names = {reading.source.name: set(_ids_of(reading, query_id)) for reading in readings}
    examples = [
        f"{query!r} in {' and '.join([name for name, ids in names.items() if query in ids][:2])}"
        for query in shared[:3]
    ]
    return ", ".join(examples) + (f" and {len(shared) - 3} more" if len(shared) > 3 else "")


# -- parts


def join_parts(
    opened: OpenedSources,
    readings: Sequence[FileReading],
    relation: FileRelation,
    query_id: str | None,
    totals: Totals,
) -> FileReading:
    """The parts of a table as one reading."""
    by_pipeline: dict[str, list[tuple[ScoreFile, Source]]] = {}
    for reading, columns in zip(readings, _partitions(opened), strict=True):
        for file in reading.files:
            rows = file if len(readings) == 1 else _queries_of(file, reading, query_id, totals)
            labels = {name: value for name, value in columns.items() if name not in rows.frame}
            part = replace(rows, frame=rows.frame.assign(**labels)) if labels else rows
            name = opened.stem if _is_unnamed(reading) else file.pipeline
            by_pipeline.setdefault(name, []).append((part, reading.source))
    joined = tuple(
        _join_files(name, parts, (relation.note, *opened.notes))
        for name, parts in by_pipeline.items()
    )
    formats = list(dict.fromkeys(reading.reader for reading in readings))
    return FileReading(
        TableSource(joined[0].frame, opened.name, opened.stem),
        ", ".join(formats),
        readings[0].sentence if len(formats) == 1 else "several formats",
        joined,
        why=f"recognised file by file, {len(readings)} files",
    )


def _partitions(opened: OpenedSources) -> Sequence[Mapping[str, str]]:
    return opened.partitions or ({},) * len(opened.sources)


def _queries_of(
    file: ScoreFile, reading: FileReading, query_id: str | None, totals: Totals
) -> ScoreFile:
    """The rows of a part without those of its totals, which are no totals of the whole table."""
    try:
        return without_totals(file, query_id, file.totals if totals == "auto" else totals)
    except DataError as exc:
        raise reading.source.error(reason_to_refuse(exc, reading.source)) from exc


def _is_unnamed(reading: FileReading) -> bool:
    """Whether only the name of the file names the pipeline."""
    return len(reading.files) == 1 and reading.files[0].pipeline == reading.source.stem


def _join_files(
    name: str, parts: Sequence[tuple[ScoreFile, Source]], notes: Iterable[str]
) -> ScoreFile:
    _check_columns(parts)
    first = parts[0][0]
    columns = list(first.frame.columns)
    every_note = (*notes, *(note for file, _ in parts for note in file.notes))
    chosen = [file.metric_columns for file, _ in parts]
    return replace(
        first,
        frame=pd.concat([file.frame[columns] for file, _ in parts], ignore_index=True),
        pipeline=name,
        metrics={
            name: field for file, _ in reversed(parts) for name, field in file.metrics.items()
        },
        metric_columns=None if None in chosen else first.metric_columns,
        notes=tuple(dict.fromkeys(note for note in every_note if note)),
        # Tables about a part say nothing about the whole.
        results=first.results if len(parts) == 1 else {},
        line_of_row=None,
        place_of_row=_place_finder(parts),
    )


def _check_columns(parts: Sequence[tuple[ScoreFile, Source]]) -> None:
    columns = dict.fromkeys(str(name) for file, _ in parts for name in file.frame)
    for name in columns:
        lacking = [source.name for file, source in parts if name not in file.frame]
        if lacking:
            having = next(source.name for file, source in parts if name in file.frame)
            raise DataError(
                f"column {name!r} is missing in {named(lacking)}; {having} has it. Parts of one "
                f"table have the same columns: add the column, or {_OVERRULE['evaluations']}"
            )


def _place_finder(parts: Sequence[tuple[ScoreFile, Source]]) -> Callable[[int], str]:
    starts = [0, *accumulate(len(file.frame) for file, _ in parts)]

    def place_of(row: int) -> str:
        part = int(np.searchsorted(starts, row, side="right")) - 1
        file, source = parts[part]
        return f"{source.name}, {file.place(row - starts[part])}"

    return place_of


def check_unique_ids(files: Iterable[ScoreFile], query_id: str | None) -> None:
    """Check that no query stands in two parts of one table."""
    for file in files:
        if file.place_of_row is None:
            continue
        ids = query_ids(file.frame, query_id or QUERY_ID)[0].reset_index(drop=True)
        repeated = ids[ids.duplicated(keep=False)]
        if not len(repeated):
            continue
        places = [
            f"{query!r} in {' and '.join(file.place(int(row)) for row in rows.index[:2])}"
            for query, rows in list(repeated.groupby(repeated, sort=False))[:3]
        ]
        n_more = repeated.nunique() - len(places)
        more = f" and {n_more} more" if n_more > 0 else ""
        raise DataError(
            f"query ids must be unique among the parts of a table; these are in two: "
            f'{", ".join(places)}{more}. Remove one of the rows, pass duplicates="mean", or '
            f"{_OVERRULE['evaluations']}"
        )


# -- evaluations


def name_evaluations(
    groups: Sequence[tuple[Source, Sequence[ScoreFile]]], note: str, others: Sequence[str] = ()
) -> list[ScoreFile]:
    """The pipelines of several files, each with a name of its own."""
    counts = Counter(file.pipeline for _, files in groups for file in files)
    stems = Counter(source.stem for source, _ in groups)
    evaluations = []
    for source, files in groups:
        stem = source.stem if stems[source.stem] == 1 else _long_stem(source)
        for file in files:
            name = file.pipeline
            if counts[name] > 1:
                name = stem if len(files) == 1 else f"{stem}/{name}"
            notes = tuple(text for text in (note, *others, *file.notes) if text)
            evaluations.append(replace(file, pipeline=name, notes=notes, origin=source.name))
    return _check_names(evaluations)


def _long_stem(source: Source) -> str:
    folder = source.folder
    return source.name if folder is None else f"{Path(folder).resolve().name}/{source.stem}"


def _check_names(files: list[ScoreFile]) -> list[ScoreFile]:
    repeated = [name for name, n in Counter(file.pipeline for file in files).items() if n > 1]
    if repeated:
        places = [file.origin for file in files if file.pipeline == repeated[0]]
        raise DataError(
            f"two evaluations are named {repeated[0]!r}: {named(places, 2)}. Name the files in a "
            "glob, such as 'runs/*.csv', or rename one"
        )
    return files
