"""Formats of frameworks: their descriptions in ``formats.toml``, and the engine that reads them."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from rageval_report.errors import RagevalError, ReaderError, named
from rageval_report.files.encoding import head_text
from rageval_report.files.source import Source, json_objects
from rageval_report.readers.base import CellsByColumn, Reader, ScoreFile
from rageval_report.readers.cell_values import json_text, parse_rows, text_or_none
from rageval_report.readers.frameworks.rows import (
    Judgement,
    Overrides,
    drop_empty,
    judge,
    mean_judgement,
    rename_clashes,
    rename_partial_ids,
    score_file,
    split_parts,
    times,
)
from rageval_report.readers.json_shapes import check_object, is_records
from rageval_report.readers.record_columns import columns_of
from rageval_report.readers.table_files import dialect, header_of, read_table
from rageval_report.scores.metric import Metric
from rageval_report.types import JsonObject

SURE = 0.95
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MOST_BYTES = 1 << 28  # a larger file beside the scores is not read for details
_DESCRIPTIONS = tomllib.loads(Path(__file__).with_name("formats.toml").read_text("utf-8"))

T = TypeVar("T")
Judge = Callable[[Sequence[JsonObject]], Iterable[Mapping[str, Judgement]]]


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


def list_at(record: object, path: str) -> list[Any]:
    """The list at a path; empty if there is none, or something else."""
    value = at(record, path)
    return value if isinstance(value, list) else []


def without(record: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The fields of a record but for some."""
    return {key: value for key, value in record.items() if key not in names}


def snake(name: str) -> str:
    """A name in snake case: "metricsData" is metrics_data."""
    return _HUMP.sub("_", name).lower()


def snake_keys(record: Mapping[str, Any]) -> JsonObject:
    """The record with its keys in snake case."""
    return {snake(str(key)): value for key, value in record.items()}


def nested(row: Mapping[str, Any], starts: Collection[str], depth: int = 1) -> JsonObject:
    """The row with keys such as "output.f1" as objects, if they begin with one of `starts`."""
    objects: dict[str, Any] = {}
    for key, value in row.items():
        *outer, last = str(key).split(".", depth)
        if not outer or outer[0] not in starts:
            objects[str(key)] = value
            continue
        place: Any = objects
        for step in outer:
            place = place.setdefault(step, {}) if isinstance(place, dict) else None
        if isinstance(place, dict):
            place[last] = value
    return objects


def groups_of(rows: Iterable[T], key: Callable[[T], str]) -> dict[str, list[T]]:
    """The rows by their key, in the order in which the keys first appear."""
    groups: dict[str, list[T]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


# -- the rows of a file


def first_row(source: Source, *keys: str) -> JsonObject:
    """The first row, if it is an object of a JSON document or of JSON Lines; else empty."""
    if not source.starts_like_json:
        return {}
    listed = _rows_in_document(source.document_or_none(), keys)
    if listed:
        return listed[0]
    try:
        return next((row for _, row in islice(json_objects(source), 1)), {})
    except ReaderError:
        return {}


def first_fields(source: Source, *keys: str) -> frozenset[str]:
    """The names of the fields of the first row; of a table, the names of all columns."""
    names = first_row(source, *keys) if source.starts_like_json else header_of(source)
    return frozenset(map(str, names))


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
    listed = (at(document, key) for key in keys)
    return next((rows for rows in listed if is_records(rows)), [])


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
    path = (source.folder or Path()) / name
    try:
        is_readable = path.is_file() and path.stat().st_size <= _MOST_BYTES
        return Source(path) if is_readable and source.folder is not None else None
    except (OSError, RagevalError):
        return None


def run_name(source: Source, *usual_names: str) -> str:
    """The name of the file; of its folder if the framework names the files of all runs so."""
    stems = {name.partition(".")[0] for name in usual_names}
    if source.stem in stems and source.folder is not None:
        return source.folder.absolute().name or source.stem
    return source.stem


# -- descriptions


def described(name: str, kind: str = "words") -> dict[str, Any]:
    """A table of names in the description of a format; lists of names are sets."""
    return {
        key: frozenset(value) if isinstance(value, list) else value
        for key, value in _DESCRIPTIONS[name].get(kind, {}).items()
    }


def metrics_of(name: str) -> dict[str, Metric]:
    """The metrics that a format describes, by the names that it gives them."""
    described_metrics = _DESCRIPTIONS[name]["metrics"]
    shared = _DESCRIPTIONS[name].get("all_metrics", {})
    return {
        key: Metric(
            **{"name": key, **shared, **fields}
            | ({"bounds": tuple(fields["bounds"])} if "bounds" in fields else {})
        )
        for key, fields in described_metrics.items()
    }


def reader_of(
    name: str,
    recognise: Callable[[Source], float],
    read: Callable[..., list[ScoreFile]],
    *options: str,
) -> Reader:
    """The reader of a format, with its sentence and its example."""
    about = _DESCRIPTIONS[name]
    all_options = (*options, "encoding")
    return Reader(name, about["sentence"], recognise, read, all_options, example=about["example"])


def reader_of_frames(
    name: str,
    recognise: Callable[[frozenset[str]], float],
    read: Callable[[Source, pd.DataFrame], list[ScoreFile]],
) -> Reader:
    """The reader of a frame in any kind of table, recognised by its columns."""
    about = _DESCRIPTIONS[name]
    return dialect(name, about["sentence"], recognise, read, about["example"])


@dataclass(frozen=True)
class Format:
    """Where a framework keeps its rows, and in them scores, ids, texts, measures and errors.

    Paths are those of `at`. `has` are the fields of each row; `scores` is an object of scores, or a
    list of objects whose fields are `named`, `value`, `reason` and `failed` (`unscored` is the
    reason if there is none); `parts` are objects or texts, by their origin with their role; `texts`
    are columns by our names; `nests` are objects whose fields are details, by origin; the other
    fields of a row are details if they have an origin, `others`.
    """

    name: str
    has: Collection[str] = ()
    rows: Collection[str] = ()
    scores: str = "scores"
    named: str = "name"
    value: str = "score|value"
    reason: str = "reason"
    failed: str = "error"
    unscored: str | None = None
    judge: Judge | None = None
    id: str = ""
    id_note: str = ""
    case: Collection[str] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    nests: Mapping[str, str] = field(default_factory=dict)
    others: str | None = None
    origin: str = ""
    own: Collection[str] = ()
    error: str = ""
    measures: Mapping[str, Any] = field(default_factory=dict)
    metrics: Overrides | None = None
    measures_first: bool = False
    is_one_pipeline: bool = False
    averages: bool = True

    @classmethod
    def of(cls, name: str, judge: Judge | None = None, metrics: Overrides | None = None) -> Format:
        """The format of that name in ``formats.toml``, with what a table cannot say."""
        fields = {
            key: value
            for key, value in _DESCRIPTIONS[name].items()
            if key in cls.__dataclass_fields__ and key != "metrics"
        }
        return cls(name, judge=judge, metrics=metrics, **fields)

    def recognise(self, source: Source) -> float:
        """The mark of a file: whether its first row has the fields of this format."""
        return SURE if self.fits(first_fields(source, *self.rows)) else 0.0

    def fits(self, names: Collection[str]) -> bool:
        """Whether a row with these fields has those of the format."""
        return all(
            any(name == each or name.startswith(f"{each}.") for name in names) for each in self.has
        )

    def score_file(
        self,
        name: str,
        rows: Sequence[JsonObject],
        notes: Iterable[str] = (),
        config: Mapping[str, Any] | None = None,
        created: datetime | None = None,
        metrics: Overrides | None = None,
    ) -> ScoreFile:
        """The pipeline in some rows."""
        ids = [at(row, self.id) for row in rows] if self.id else [None]
        has_ids = None not in ids
        return score_file(
            name,
            self.judge(rows) if self.judge else map(self.judgements, rows),
            self.details(rows),
            ids=ids if has_ids else None,
            cases=[[at(row, path) for path in self.case] for row in rows] if self.case else None,
            errors=[at(row, self.error) for row in rows] if self.error else None,
            measures={
                ours: [times(at(row, path), factor) for row in rows]
                for ours, (path, factor) in self.measures.items()
            },
            measures_first=self.measures_first,
            origin=self.origin or self.others or next(iter(self.nests), "row"),
            metrics=metrics or self.metrics,
            notes=(
                *notes,
                *([self.id_note] if has_ids and self.id_note else ()),
                *self._averaged(rows),
            ),
            config=config,
            created=created,
            is_one_pipeline=self.is_one_pipeline,
            averages=self.averages,
        )

    def judgements(self, row: JsonObject) -> dict[str, Judgement]:
        """The judgements of a row; several of one name are averaged."""
        results = at(row, self.scores)
        if is_records(results):
            by_name = groups_of(results, lambda result: str(at(result, self.named)))
            return {
                name: mean_judgement(map(self.judgement, same)) for name, same in by_name.items()
            }
        listed = check_object(results or None, self.scores)
        return {str(name): self.judgement(result) for name, result in listed.items()}

    def _averaged(self, rows: Iterable[JsonObject]) -> Iterator[str]:
        """A note on scores that stand several times in one row."""
        listed = [at(row, self.scores) for row in rows] if self.judge is None else []
        lists = [results for results in listed if is_records(results)]
        counts = (Counter(str(at(each, self.named)) for each in results) for results in lists)
        several = {name for count in counts for name in count if count[name] > 1}
        if several:
            names = named(sorted(several))
            yield f"averaged, because a row has several scores of one name: {names}"

    def judgement(self, result: object) -> Judgement:
        """The judgement in an object, or of a plain score."""
        if isinstance(result, Judgement):
            return result
        if not isinstance(result, dict):
            return judge(result, None, self.unscored) if self.unscored else Judgement(result)
        reason, failure = text_or_none(at(result, self.reason)), at(result, self.failed)
        if failure is True or text_or_none(failure):
            return Judgement(None, text_or_none(failure) or reason, is_failed=True)
        value = at(result, self.value)
        return judge(value, reason, self.unscored) if self.unscored else Judgement(value, reason)

    def details(self, rows: Sequence[JsonObject]) -> CellsByColumn:
        """The texts and other fields of the rows as columns."""
        details: CellsByColumn = {}
        for origin, (role, path) in self.parts.items():
            cells = [at(row, path) for row in rows]
            # Without ids the questions identify the rows, also if all of them are missing.
            if any(cells) or (role == "question" and not self.id):
                details |= rename_clashes(split_parts(cells, role, origin), details, origin)
        for ours, path in self.texts.items():
            cells = [at(row, path) for row in rows]
            details[ours] = [json_text(cell) for cell in cells] if ours == "question" else cells
        for origin, path in self.nests.items():
            nest = columns_of({str(k): v for k, v in part(row, path).items()} for row in rows)
            details |= rename_clashes(rename_partial_ids(nest, origin), details, origin)
        if self.others is not None:
            used = {option for path in self._paths() for option in path.split("|") if option}
            starts = tuple(f"{name}." for name in used)
            rest = columns_of(
                {
                    str(key): cell
                    for key, cell in row.items()
                    if key not in used and not str(key).startswith(starts)
                }
                for row in rows
            )
            details |= rename_clashes(rest, details, self.others)
        if self.error:
            details["error"] = [json_text(at(row, self.error)) for row in rows]
        return drop_empty(details)

    def _paths(self) -> Iterable[str]:
        """The paths of the fields that have a place of their own."""
        yield from (*self.own, *self.has, *self.texts.values(), *self.nests.values())
        yield from (self.error, self.id, self.scores)
        yield from (path for _, path in self.parts.values())
        yield from (path for path, _ in self.measures.values())
