"""A format of a framework as a description, the engine that reads it, and the rows of any file."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, TypeVar

import pandas as pd

from rageval_report.errors import RagevalError, ReaderError
from rageval_report.files.encoding import head_text
from rageval_report.files.source import Source, json_objects
from rageval_report.readers.base import CellsByColumn, Reader, ScoreFile
from rageval_report.readers.cell_values import json_text, number_or_none, parse_rows, text_or_none
from rageval_report.readers.frameworks.rows import (
    Judgement,
    Overrides,
    collect_details,
    drop_empty,
    judge,
    rename_clashes,
    rename_partial_ids,
    score_file,
)
from rageval_report.readers.json_shapes import check_object, is_records
from rageval_report.readers.record_columns import columns_of
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.types import JsonObject

SURE = 0.95
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MOST_BYTES = 1 << 28  # a larger file beside the scores is not read for details

T = TypeVar("T")
Judge = Callable[[Sequence[JsonObject]], Iterable[Mapping[str, Judgement]]]
Select = Callable[[Sequence[JsonObject]], tuple[Sequence[JsonObject], tuple[str, ...]]]


# -- the fields of a record


def at(record: object, path: str) -> Any:
    """The value at a path such as "output.text"; "a|b" is b where a is None."""
    for option in path.split("|"):
        value = record
        if isinstance(value, dict) and option in value:
            value = value[option]
        else:
            for step in option.split("."):
                value = value.get(step) if isinstance(value, dict) else None
        if value is not None:
            return value
    return None


def part(record: object, path: str) -> JsonObject:
    """The object at a path; empty if there is none, or something else."""
    value = at(record, path)
    return value if isinstance(value, dict) else {}


def without(record: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The fields of a record but for some."""
    return {key: value for key, value in record.items() if key not in names}


def snake(name: str) -> str:
    """A name in snake case: "metricsData" is metrics_data."""
    return _HUMP.sub("_", name).lower()


def spelled(record: Mapping[str, Any], name: str) -> Any:
    """The value of a name in snake case, which the record may write in camel case."""
    first, *others = name.split("_")
    return record.get(name, record.get(first + "".join(word.title() for word in others)))


def groups_of(rows: Iterable[T], key: Callable[[T], str]) -> dict[str, list[T]]:
    """The rows by their key, in the order in which the keys first appear."""
    groups: dict[str, list[T]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


# -- the rows of a file


def first_fields(source: Source, *keys: str) -> frozenset[str]:
    """The names of the fields of the first row; of a table, the names of all columns."""
    listed = _rows_in_document(source.document_or_none(), keys)
    if listed:
        return frozenset(map(str, listed[0]))
    if not source.starts_like_json:
        return frozenset(header_of(source))
    try:
        return frozenset(key for _, row in islice(json_objects(source), 1) for key in row)
    except ReaderError:
        return frozenset()


def first_row(source: Source, *keys: str) -> JsonObject:
    """The first row, if it is an object of a JSON document or of JSON Lines; else empty."""
    if not source.starts_like_json:
        return {}
    listed = _rows_in_document(source.document_or_none(), keys)
    if listed:
        return listed[0]
    try:
        return next((row for _, row in json_objects(source)), {})
    except ReaderError:
        return {}


def read_rows(source: Source, *keys: str) -> list[JsonObject]:
    """The rows of a JSON document, of JSON Lines or of a table, whose cells may hold JSON.

    `keys` are the keys of a JSON document that may hold the rows.
    """
    document = source.document_or_none()
    listed = _rows_in_document(document, keys)
    if listed:
        return listed
    if isinstance(document, list):
        raise source.error("expected a list of objects")
    if document is None and _is_single_document(source):
        _ = source.document  # damaged: the error names the line
    rows: list[JsonObject] = (
        [row for _, row in json_objects(source)]
        if source.starts_like_json
        else [*parse_rows(read_table(source).frame)]
    )
    if not rows:
        raise source.error("the file contains no records")
    return rows


def _rows_in_document(document: object, keys: Iterable[str]) -> list[JsonObject]:
    if is_records(document):
        return document
    if isinstance(document, dict):
        return next((document[key] for key in keys if is_records(document.get(key))), [])
    return []


def _is_single_document(source: Source) -> bool:
    """Whether the text starts like one document over several lines, and not like JSON Lines."""
    start = head_text(source.head).lstrip() if source.starts_like_json else ""
    return start.startswith("[") or start.partition("\n")[0].strip() == "{"


# -- the other files of a run, in the folder of the file that is read


def document_beside(source: Source, name: str) -> object:
    """The JSON document in a file of the same folder; None if it is not there, or broken."""
    other = _source_beside(source, name)
    return None if other is None else other.document_or_none()


def lines_beside(source: Source, name: str) -> list[JsonObject]:
    """The objects of a JSON Lines file of the same folder; none if it cannot be read."""
    other = _source_beside(source, name)
    try:
        return [] if other is None else [record for _, record in json_objects(other)]
    except RagevalError:
        return []


def _source_beside(source: Source, name: str) -> Source | None:
    if source.folder is None:
        return None
    try:
        path = source.folder / name
        is_readable = path.is_file() and path.stat().st_size <= _MOST_BYTES
        return Source(path) if is_readable else None
    except (OSError, RagevalError):
        return None


def run_name(source: Source, *usual_names: str) -> str:
    """The name of the file; of its folder if the framework names the files of all runs so."""
    stems = {name.partition(".")[0] for name in usual_names}
    if source.stem in stems and source.folder is not None:
        return source.folder.absolute().name or source.stem
    return source.stem


# -- descriptions


@dataclass(frozen=True)
class Format:
    """Where a framework keeps its rows, and in them scores, ids, texts, measures and errors.

    Paths are those of `at`. `has` are the fields of each row; `scores` holds an object or a list of
    objects, or is a prefix "x." of columns; `parts` are objects or texts, by their origin with
    their role; `texts` are columns by our names; `nests` are objects whose fields are details, by
    origin; the other fields of a row are details if they have an origin, `others`.
    """

    name: str
    sentence: str
    example: str
    has: frozenset[str] = frozenset()
    rows: tuple[str, ...] = ()
    scores: str = "scores"
    value: str = "score|value"
    reason: str = "reason"
    unscored: str | None = None
    judge: Judge | None = None
    id: str = ""
    id_note: str = ""
    case: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    nests: Mapping[str, str] = field(default_factory=dict)
    others: str | None = None
    origin: str = ""
    own: Collection[str] = ()
    error: str = ""
    measures: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    metrics: Overrides | None = None
    pipeline: str = ""
    select: Select | None = None
    notes: Callable[[Sequence[JsonObject]], Iterable[str]] | None = None
    expected: str = ""
    empty: str = ""
    measures_first: bool = False
    is_one_pipeline: bool = False
    averages: bool = True

    def reader(
        self,
        recognise: Callable[[Source], float] | None = None,
        read: Callable[[Source], list[ScoreFile]] | None = None,
    ) -> Reader:
        """The reader of the format."""
        return Reader(
            self.name,
            self.sentence,
            recognise or self.recognise,
            read or self.read,
            ("encoding",),
            example=self.example,
        )

    def recognise(self, source: Source) -> float:
        """The mark of a file: whether its first row has the fields of this format."""
        return SURE if self._fits(first_fields(source, *self.rows)) else 0.0

    def _fits(self, names: Collection[str]) -> bool:
        return all(
            any(name == each or name.startswith(f"{each}.") for name in names) for each in self.has
        )

    def read(self, source: Source) -> list[ScoreFile]:
        """Read the file: a pipeline for each name in `pipeline`, else one named after the file."""
        rows = read_rows(source, *self.rows)
        if self.expected and not all(map(self._fits, rows)):
            raise source.error(self.expected)
        stem = text_or_none(at(source.document_or_none(), self.pipeline)) or source.stem
        groups = groups_of(rows, lambda row: text_or_none(at(row, self.pipeline)) or stem)
        return [self.score_file(name, group) for name, group in groups.items()]

    def read_frame(self, source: Source, frame: pd.DataFrame) -> list[ScoreFile]:
        """Read the frame of a table: one pipeline, named after the file."""
        return [self.score_file(source.stem, parse_rows(frame))]

    def score_file(
        self,
        name: str,
        rows: Sequence[JsonObject],
        notes: Iterable[str] = (),
        config: Mapping[str, Any] | None = None,
        created: datetime | None = None,
        drop: Collection[str] = (),
    ) -> ScoreFile:
        """The pipeline in some rows, without the details in `drop`."""
        if self.select is not None:
            rows, selected = self.select(rows)
            notes = (*notes, *selected)
        of_rows = self.notes(rows) if self.notes else ()
        ids = [at(row, self.id) for row in rows] if self.id else [None]
        has_ids = None not in ids
        return score_file(
            name,
            self.judge(rows) if self.judge else map(self.judgements, rows),
            without(self.details(rows), drop),
            ids=ids if has_ids else None,
            cases=[[at(row, path) for path in self.case] for row in rows] if self.case else None,
            errors=[at(row, self.error) for row in rows] if self.error else None,
            measures={
                ours: [_times(at(row, path), factor) for row in rows]
                for ours, (path, factor) in self.measures.items()
            },
            measures_first=self.measures_first,
            origin=self.origin or self.others or next(iter(self.nests), "row"),
            metrics=self.metrics,
            notes=(*notes, *([self.id_note] if has_ids and self.id_note else ()), *of_rows),
            config=config,
            created=created,
            is_one_pipeline=self.is_one_pipeline,
            averages=self.averages,
            empty=self.empty.format(name=name),
        )

    def judgements(self, row: JsonObject) -> dict[str, Judgement]:
        """The judgements of a row, without a function of the format."""
        if self.scores.endswith("."):
            start = self.scores
            scores = {key.removeprefix(start): row[key] for key in row if key.startswith(start)}
            return {name: Judgement(score) for name, score in scores.items()}
        results = check_object(at(row, self.scores), self.scores)
        return {str(name): self._judgement(result) for name, result in results.items()}

    def _judgement(self, result: object) -> Judgement:
        is_object = isinstance(result, dict)
        value = at(result, self.value) if is_object else result
        reason = text_or_none(at(result, self.reason)) if is_object else None
        return judge(value, reason, self.unscored) if self.unscored else Judgement(value, reason)

    def details(self, rows: Sequence[JsonObject]) -> CellsByColumn:
        """The texts and other fields of the rows as columns."""
        fields = (
            (origin, role, [at(row, path) for row in rows])
            for origin, (role, path) in self.parts.items()
        )
        # Without ids the questions identify the rows, also if all of them are missing.
        kept = (each for each in fields if any(each[2]) or (each[1] == "question" and not self.id))
        details = collect_details(*kept)
        for ours, path in self.texts.items():
            cells = [at(row, path) for row in rows]
            details[ours] = [json_text(cell) for cell in cells] if ours == "question" else cells
        for origin, path in self.nests.items():
            nest = columns_of({str(k): v for k, v in part(row, path).items()} for row in rows)
            details |= rename_clashes(rename_partial_ids(nest, origin), details, origin)
        if self.others is not None:
            paths = (*self.texts.values(), *(path for _, path in self.parts.values()))
            used = {*self.own, *(option for path in paths for option in path.split("|"))}
            used |= {*self.nests.values(), *self.has, self.error}
            starts = tuple(f"{name}." for name in used if name)
            rest = columns_of(
                {
                    str(key): cell
                    for key, cell in row.items()
                    if key not in used and not key.startswith(starts)
                }
                for row in rows
            )
            details |= rename_clashes(rest, details, self.others)
        if self.error:
            details["error"] = [json_text(at(row, self.error)) for row in rows]
        return drop_empty(details)


def _times(value: object, factor: float) -> float | None:
    number = number_or_none(value)
    return None if number is None else number * factor
