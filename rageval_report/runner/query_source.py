"""The queries of a run: their ids checked, their gold kept from the pipeline, drawn by a seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from rageval_report.errors import DataError, ReaderError, UnknownNameError, named
from rageval_report.files.source import Source, json_objects
from rageval_report.records import FIELDS
from rageval_report.records.cells import CellError, doc_id, is_missing, short_repr
from rageval_report.records.draws import DrawKeys, draw_rows, number_of, number_of_content
from rageval_report.scores.frames import to_pandas
from rageval_report.scores.metric import normalise_name
from rageval_report.scores.query_ids import QUERY_ID, first_named, id_column_of, query_ids
from rageval_report.types import IndexArray

# What is never sent to a pipeline: its gold, and whatever reveals it, such as the query type
# "unanswerable". The prefixes are those that data sets use for names of gold.
_GOLD = (
    "reference negative_reference relevant relevant_texts relevant_spans relevant_sections "
    "answerable"
).split()
_REVEALING = frozenset(
    "query_type question_type difficulty passages provenance evidence evidences supporting_facts "
    "is_unanswerable is_impossible qrels correct_answer correct_answers best_answer "
    "incorrect_answers".split()
)
_GOLD_PREFIXES = (
    *("gold", "ground_truth", "expected", "reference", "negative_reference", "relevan"),
    *("answerable", "unanswerable", "is_relevant"),
)
# The answers of an earlier run, which must not be mixed with those of this run.
_ANSWERS = (
    "retrieved retrieved_sections retrieved_scores retrieved_spans contexts answer citations "
    "cited_sections latency_ms prompt_tokens completion_tokens cost_usd model error"
).split()
RUN_COLUMNS = ("first_byte_ms", "hidden_values", "attempts", "error_kind", "asked_at")
_GOLD_NAMES = _REVEALING.union(*((field, *FIELDS[field]) for field in _GOLD))
_ANSWER_NAMES = frozenset(RUN_COLUMNS).union(*((field, *FIELDS[field]) for field in _ANSWERS))
_KEPT_SUFFIX = "_given"
# Queries have few different sets of names, so what depends on the names alone is cached.
_CACHE_SIZE = 1024
_ORDER = 1  # distinguishes the order of asking from the sample, which is drawn with the same seed


@dataclass(frozen=True)
class Query:
    """One query of a run: its row, its id, its question and all other fields."""

    row: int
    query_id: str
    question: str
    other_fields: dict[str, Any]

    @property
    def public_fields(self) -> dict[str, Any]:
        """The fields that a template may name: id, question, metadata; never what reveals the gold.

        Examples
        --------
        >>> Query(0, "a", "Why?", {"relevant": ["d1"], "language": "en"}).public_fields
        {'language': 'en', 'query_id': 'a', 'question': 'Why?'}
        """
        metadata = {
            key: value for key, value in self.other_fields.items() if not _is_earlier_answer(key)
        }
        return {**_without_gold(metadata), "query_id": self.query_id, "question": self.question}

    @property
    def row_as_given(self) -> dict[str, Any]:
        """All fields, as a row of a table of queries."""
        return {**self.other_fields, "query_id": self.query_id, "question": self.question}

    def request_fields(self, names: Iterable[str] = ()) -> dict[str, Any]:
        """The fields that are sent without a template: id, question, and named metadata."""
        fields = self.public_fields
        return {name: field_of(name, fields) for name in ("query_id", "question", *names)}

    def kept_fields(self) -> dict[str, Any]:
        """The fields that are copied to the records; an earlier answer gets another name."""
        names = _kept_names(tuple(self.other_fields))
        rest = {names[key]: value for key, value in self.other_fields.items()}
        return {"query_id": self.query_id, "question": self.question, **rest}


def field_of(name: str, fields: Mapping[str, object]) -> object:
    """The value of a field that may be sent."""
    if name not in fields:
        raise UnknownNameError("field that may be sent", name, fields)
    return fields[name]


@lru_cache(_CACHE_SIZE)
def _kept_names(original: tuple[str, ...]) -> dict[str, str]:
    """The name of each field in the records; no field replaces another."""
    own = {first_named(original, (field, *FIELDS[field])) for field in _ANSWERS}
    stale = own | set(RUN_COLUMNS)
    names = {key: key for key in original if key not in stale}
    for key in original:
        if key in stale:
            first = f"{key}{_KEPT_SUFFIX}"
            candidates = (first if n == 1 else f"{first}_{n}" for n in count(1))
            taken = {*names.values(), *original}
            names[key] = next(name for name in candidates if name not in taken)
    return names


@lru_cache(_CACHE_SIZE)
def _reveals_gold(name: str) -> bool:
    """Whether a pipeline that sees the field would know more than the question."""
    plain = normalise_name(name)
    return plain in _GOLD_NAMES or plain.startswith(_GOLD_PREFIXES)


@lru_cache(_CACHE_SIZE)
def _is_earlier_answer(name: str) -> bool:
    """Whether the field is an earlier answer, by its own name or by the name in records."""
    plain = normalise_name(name)
    return plain in _ANSWER_NAMES or plain.removesuffix(_KEPT_SUFFIX) in _ANSWER_NAMES


def _without_gold(value: Any) -> Any:
    """The value without keys that reveal the gold, at any depth, as in ``metadata``."""
    if isinstance(value, Mapping):
        return {
            key: _without_gold(item) for key, item in value.items() if not _reveals_gold(str(key))
        }
    if isinstance(value, list | tuple):
        return [_without_gold(item) for item in value]
    return value


@dataclass(frozen=True, eq=False)
class Queries:
    """The queries of a run, in order; each stands in the row of its number."""

    rows: tuple[Query, ...]
    draw_keys: DrawKeys  # a number per query that is the same wherever the query stands

    def __iter__(self) -> Iterator[Query]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def fingerprint(self) -> str:
        """A hash of all ids and questions."""
        digest = blake2b(digest_size=16)
        for query in self.rows:
            # With the length of the id, so that "a b" + "c" and "a" + "b c" differ.
            line = f"{len(query.query_id)} {query.query_id} {query.question}\n"
            digest.update(line.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def queries_of(source: object) -> Queries:
    """The queries of a JSON Lines file, a table, or a list of mappings.

    Raises
    ------
    ReaderError
        If a line of a file is not a query.
    DataError
        If there are no queries, or ids are missing or repeated.
    """
    if not isinstance(source, str | Path):
        return _queries_of_table(source)
    file = Source(source)
    lines = list(json_objects(file))
    if not lines:
        raise ReaderError("expected one query per line; there is none", source)
    if id_column_of(lines[0][1]) is None:  # they are derived from all questions together
        return _queries_of_table([fields for _, fields in lines])
    queries = []
    for row, (line, fields) in enumerate(lines):
        try:
            queries.append(_query(row, fields))
        except CellError as exc:
            raise file.error(str(exc), line=line) from exc
    return _checked(queries)


def _queries_of_table(data: object) -> Queries:
    frame = to_pandas(data)
    if not len(frame):
        raise DataError("expected one query per row; there is none")
    ids, column, _ = query_ids(frame, QUERY_ID)
    rest = frame if column is None else frame.drop(columns=column)
    queries = []
    names = [str(name) for name in rest]
    for row, (query_id, *values) in enumerate(
        zip(ids, *(rest[name] for name in rest), strict=True)
    ):
        fields = dict(zip(names, map(_to_json_value, values), strict=True))
        try:
            queries.append(_query(row, {QUERY_ID: query_id, **fields}))
        except CellError as exc:
            raise DataError(f"query {query_id!r}: {exc}") from exc
    # Derived ids of a repeated question are numbered by position; what the rows hold is not.
    has_ids = column is not None or ids.tolist() == frame.index.astype(str).tolist()
    return _checked(queries, has_ids=has_ids)


def _checked(queries: list[Query], *, has_ids: bool = True) -> Queries:
    ids = [query.query_id for query in queries]
    if len(set(ids)) < len(ids):
        repeated = [name for name, n in Counter(ids).items() if n > 1]
        raise DataError(f"query ids must be unique; these appear more than once: {named(repeated)}")
    keys = (
        number_of(query.query_id)
        if has_ids
        else number_of_content([query.question, query.other_fields])
        for query in queries
    )
    return Queries(tuple(queries), np.fromiter(keys, dtype=np.uint64, count=len(queries)))


def sample_mask(queries: Queries, samples: int | None, seed: int) -> np.ndarray:
    """A mask of the queries: all of them, or a random sample."""
    n = len(queries)
    if samples is None or samples >= n:
        return np.ones(n, dtype=bool)
    mask = np.zeros(n, dtype=bool)
    # A mask, so that the sample is asked in the order of the file.
    mask[draw_rows(queries.draw_keys, samples, np.random.default_rng(seed))] = True
    return mask


def asking_order(keys: DrawKeys, chosen: np.ndarray, seed: int) -> IndexArray:
    """The rows of the chosen queries in a random order, the same for the same seed."""
    rows = np.flatnonzero(chosen)
    drawn = draw_rows(keys[rows], rows.size, np.random.default_rng([seed, _ORDER]))
    return np.asarray(rows[drawn])


@lru_cache(_CACHE_SIZE)
def _id_and_question(names: tuple[str, ...]) -> tuple[str | None, str | None]:
    return id_column_of(names), first_named(names, ("question", *FIELDS["question"]))


def _query(row: int, fields: dict[str, Any]) -> Query:
    id_name, question_name = _id_and_question(tuple(fields))
    if id_name is None or question_name is None:
        missing = "id" if id_name is None else "question"
        raise CellError(f"expected a query with an id and a question; the {missing} is missing")
    question = fields[question_name]
    if not isinstance(question, str) or not question.strip():
        raise CellError(f"expected a question that is a text; got {short_repr(question)}")
    others = {key: value for key, value in fields.items() if key not in (id_name, question_name)}
    return Query(row, doc_id(fields[id_name]), question, others)


def _to_json_value(value: Any) -> Any:
    """A cell as a JSON value: lists for arrays, Python's numbers for NumPy's, None if missing."""
    if isinstance(value, np.ndarray):
        return [_to_json_value(item) for item in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, date):
        return None if is_missing(value) else value.isoformat()
    return None if is_missing(value) else value
