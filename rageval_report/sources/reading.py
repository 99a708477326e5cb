"""Several files, or one, or an address, read into one `ScoreFile` per pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

from rageval_report.readers import FileReading, divide_pipelines
from rageval_report.readers import read_undivided as read_file
from rageval_report.readers.base import FileKeywords, ScoreFile
from rageval_report.readers.shared_scales import share_scales
from rageval_report.readers.table_inputs import ScoreInput, TableSource
from rageval_report.scores.query_rows import Totals
from rageval_report.scores.roles import Roles, check_roles
from rageval_report.sources.base import FilesArgument, OpenedSources, RunFacts, check_files
from rageval_report.sources.file_parts import (
    FileRelation,
    check_unique_ids,
    join_parts,
    name_evaluations,
    relation_of,
)
from rageval_report.sources.opening import open_sources


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
    """As `read`, but a wide table with a column of pipelines is not divided.

    Raises
    ------
    ReaderError, DataError
        As `read`.

    Examples
    --------
    >>> reading = read_undivided(b'[{"query_id": "q1", "recall": 0.5}]')
    >>> reading.reader, [len(file.frame) for file in reading.files]
    ('json', [1])
    """
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
