"""The queries of a run, which can be iterated again and again; a file is not kept in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rageval_report.errors import DataError, ReaderError, named
from rageval_report.files.inputs import STANDARD_INPUT
from rageval_report.files.json_lines import json_objects
from rageval_report.files.source import Source
from rageval_report.records import FIELDS
from rageval_report.records.cells import CellError, doc_id, is_missing, short_repr
from rageval_report.records.draws import DrawKeys, draw_rows, number_of, number_of_content
from rageval_report.runner.file_lines import LineByLine, version_of
from rageval_report.runner.templates import field_of
from rageval_report.scores.frames import to_pandas
from rageval_report.scores.metric import normalise_name
from rageval_report.scores.query_ids import QUERY_ID, first_named, id_column_of, query_ids

# What is never sent to a pipeline: its gold, and whatever reveals it, such as the query type
# "unanswerable". The prefixes are those that data sets use for names of gold.
_GOLD = (
    *("reference", "negative_reference", "relevant", "relevant_texts", "relevant_spans"),
    *("relevant_sections", "answerable"),
)
_REVEALING = frozenset(
    (
        *("query_type", "question_type", "difficulty", "passages", "provenance", "evidence"),
        *("evidences", "supporting_facts", "is_unanswerable", "is_impossible", "qrels"),
        *("correct_answer", "correct_answers", "best_answer", "incorrect_answers"),
    )
)
_GOLD_PREFIXES = (
    *("gold", "ground_truth", "expected", "reference", "negative_reference", "relevan"),
    *("answerable", "unanswerable", "is_relevant"),
)
# The answers of an earlier run, which must not be mixed with those of this run.
_ANSWERS = (
    *("retrieved", "retrieved_sections", "retrieved_scores", "retrieved_spans", "contexts"),
    *("answer", "citations", "cited_sections"),
    *("latency_ms", "prompt_tokens", "completion_tokens", "cost_usd", "model"),
    "error",
)
RUN_COLUMNS = ("first_byte_ms", "hidden_values", "attempts", "error_kind", "asked_at")
_GOLD_NAMES = _REVEALING.union(*((field, *FIELDS[field]) for field in _GOLD))
_ANSWER_NAMES = frozenset(RUN_COLUMNS).union(*((field, *FIELDS[field]) for field in _ANSWERS))
_KEPT_SUFFIX = "_given"

_CHECK_EVERY = 100  # rows after which a file is checked for changes


@dataclass(frozen=True)
class Query:
    """One query of a run.

    Parameters
    ----------
    row : int
        Its position among the queries, from 0.
    query_id, question : str
    other_fields : dict
        Everything else that is known about it: gold, metadata, earlier answers.
    """

    row: int
    query_id: str
    question: str
    other_fields: dict[str, Any]

    @property
    def public_fields(self) -> dict[str, Any]:
        """The fields that a template may name: id, question, metadata; never what reveals the gold.

        Examples
        --------
        >>> fields = {"reference": "So.", "query_type": "unanswerable", "language": "en"}
        >>> Query(0, "a", "Why?", fields).public_fields
        {'language': 'en', 'query_id': 'a', 'question': 'Why?'}
        """
        metadata = {
            key: value for key, value in self.other_fields.items() if not _is_earlier_answer(key)
        }
        return {**_without_gold(metadata), "query_id": self.query_id, "question": self.question}

    def request_fields(self, names: Iterable[str] = ()) -> dict[str, Any]:
        """The fields that are sent without a template: id, question, and named metadata.

        Parameters
        ----------
        names : iterable of str
            Names of metadata.

        Raises
        ------
        UnknownNameError
            If the query has no such field, or it reveals the gold.

        Examples
        --------
        >>> query = Query(0, "a", "Why?", {"language": "en", "tenant": "north"})
        >>> query.request_fields(["language"])
        {'query_id': 'a', 'question': 'Why?', 'language': 'en'}
        """
        fields = self.public_fields
        return {name: field_of(name, fields) for name in ("query_id", "question", *names)}

    def kept_fields(self) -> dict[str, Any]:
        """The fields that are copied to the records; an earlier answer gets another name.

        Examples
        --------
        >>> Query(0, "a", "Why?", {"reference": "So.", "answer": "No."}).kept_fields()
        {'query_id': 'a', 'question': 'Why?', 'reference': 'So.', 'answer_given': 'No.'}
        """
        names = _kept_names(tuple(self.other_fields))
        rest = {names[key]: value for key, value in self.other_fields.items()}
        return {"query_id": self.query_id, "question": self.question, **rest}


# The queries of a file have few different sets of names and are iterated several times, so what
# depends on the names alone is cached.
_CACHE_SIZE = 1024


@lru_cache(_CACHE_SIZE)
def _own_names(names: tuple[str, ...], fields: tuple[str, ...]) -> frozenset[str]:
    """The names that a query uses for some fields."""
    own = (first_named(names, (field, *FIELDS[field])) for field in fields)
    return frozenset(name for name in own if name is not None)


@lru_cache(_CACHE_SIZE)
def _kept_names(original: tuple[str, ...]) -> dict[str, str]:
    """The name of each field in the records; no field replaces another."""
    stale = _own_names(original, _ANSWERS) | set(RUN_COLUMNS)
    names = {key: key for key in original if key not in stale}
    for key in [key for key in original if key in stale]:
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


@lru_cache(_CACHE_SIZE)
def _id_and_question(names: tuple[str, ...]) -> tuple[str | None, str | None]:
    """The names of the id and of the question."""
    return id_column_of(names), first_named(names, ("question", *FIELDS["question"]))


class Queries(Protocol):
    """Queries that can be iterated again and again."""

    def __iter__(self) -> Iterator[Query]:
        """The queries, in order."""

    def __len__(self) -> int:
        """Their number."""

    @property
    def fingerprint(self) -> str:
        """A hash of all ids and questions."""

    @property
    def draw_keys(self) -> DrawKeys:
        """A number per query by which queries are ordered before some are drawn at random."""


class _RepeatableQueries(ABC):
    """Queries whose ids are checked, and whose fingerprint is known, after a first pass."""

    def __init__(self) -> None:
        # Eight bytes per query: a set of the ids themselves would take over ten times as much.
        ids = array("Q")
        digest = blake2b(digest_size=16)
        for query in self:
            # With the length of the id, so that "a b" + "c" and "a" + "b c" differ.
            line = f"{len(query.query_id)} {query.query_id} {query.question}\n"
            digest.update(line.encode("utf-8", "surrogatepass"))
            ids.append(number_of(query.query_id))
        if not ids:
            raise DataError("expected one query per row; there is none")
        self._check_unique(np.sort(np.frombuffer(ids, dtype=np.uint64)))
        self._n, self.fingerprint = len(ids), digest.hexdigest()

    @property
    def draw_keys(self) -> DrawKeys:
        """A number per query by which queries are ordered before some are drawn at random."""
        # A pass of its own instead of eight bytes per query that only samples need.
        return np.fromiter(map(self._draw_key, self), dtype=np.uint64)

    def _draw_key(self, query: Query) -> int:
        """A number that is the same wherever the query stands."""
        return number_of(query.query_id)

    def _check_unique(self, ids: np.ndarray) -> None:
        """Compare 64-bit hashes of the ids, sorted, which need little memory."""
        suspects = set(ids[1:][ids[1:] == ids[:-1]].tolist())
        if not suspects:
            return
        counts = Counter(q.query_id for q in self if number_of(q.query_id) in suspects)
        repeated = [query_id for query_id, n in counts.items() if n > 1]
        if repeated:
            raise DataError(
                f"query ids must be unique; these appear more than once: {named(repeated)}"
            )

    def __len__(self) -> int:
        return self._n

    @abstractmethod
    def __iter__(self) -> Iterator[Query]:
        """The queries, from the first, each time."""


class FileQueries(_RepeatableQueries):
    """The queries of a JSON Lines file, which is read line by line in each iteration.

    Parameters
    ----------
    path : str or Path
        One object per line, with an id and a question.

    Raises
    ------
    ReaderError
        If a line is not JSON, or has no id or no question: the file and the line. Later, if the
        file has changed.
    """

    def __init__(self, path: str | Path):
        self._path = Path(path)
        self._version = version_of(self._path)
        super().__init__()

    def __iter__(self) -> Iterator[Query]:
        source = LineByLine(self._path)
        for row, (line, fields) in enumerate(json_objects(source)):
            if row % _CHECK_EVERY == 0:
                self._check_unchanged()
            try:
                yield _query(row, fields)
            except CellError as exc:
                raise source.error(str(exc), line=line) from exc
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        """Answers are stored by row number, which must mean the same query throughout."""
        if version_of(self._path) != self._version:
            raise ReaderError(
                "the file changed while its queries were asked. The answers so far are kept: "
                "restore the file and resume, or start in a new folder",
                self._path,
            )


class TableQueries(_RepeatableQueries):
    """The queries of a table in memory.

    Parameters
    ----------
    data : frame, dict of lists, or list of dicts
        One row per query; if there are no ids, they are derived from the questions.

    Raises
    ------
    DataError
        If a row has no question.
    """

    def __init__(self, data: object):
        frame = to_pandas(data)
        ids, column, _ = query_ids(frame, QUERY_ID)
        self._ids = ids.tolist()
        self._frame = frame if column is None else frame.drop(columns=column)
        # Ids come from a column, from the index, or else from the questions.
        self._has_ids = column is not None or self._ids == frame.index.astype(str).tolist()
        super().__init__()

    def _draw_key(self, query: Query) -> int:
        # Derived ids of a repeated question are numbered by position; what the rows hold is not.
        if self._has_ids:
            return super()._draw_key(query)
        return number_of_content([query.question, query.other_fields])

    def __iter__(self) -> Iterator[Query]:
        names = [str(name) for name in self._frame]
        columns = [self._frame[name] for name in self._frame]
        for row, (query_id, *values) in enumerate(zip(self._ids, *columns, strict=True)):
            fields = dict(zip(names, map(_to_json_value, values), strict=True))
            try:
                yield _query(row, {QUERY_ID: query_id, **fields})
            except CellError as exc:
                raise DataError(f"query {query_id!r}: {exc}") from exc


def queries_of(source: object) -> Queries:
    """The queries of a file or table.

    Parameters
    ----------
    source : path, frame, dict of lists, or list of dicts
        A JSON Lines file is read line by line, so that only one line is in memory. It is read whole
        if it is gzipped, is standard input, or has no ids, which are then derived from the
        questions.

    Raises
    ------
    DataError
        If ids are missing or repeated, or a question is missing.

    Examples
    --------
    >>> queries = queries_of([{"query_id": "a", "question": "Why?"}])
    >>> [query.question for query in queries], len(queries)
    (['Why?'], 1)
    """
    if not isinstance(source, str | Path):
        return TableQueries(source)
    # Standard input can be read only once, but a run iterates its queries several times.
    if str(source) == STANDARD_INPUT:
        return TableQueries([fields for _, fields in json_objects(Source(source))])
    first = next(json_objects(LineByLine(source)), None)
    if first is None:
        raise ReaderError("expected one query per line; there is none", source)
    # Without ids they are derived from all questions together, for which the table must be in
    # memory.
    if id_column_of(first[1]) is not None:
        return FileQueries(source)
    return TableQueries([fields for _, fields in json_objects(Source(source))])


def sample_mask(queries: Queries, samples: int | None, seed: int) -> np.ndarray:
    """A mask of the queries: all of them, or a random sample.

    Shuffled queries have the same sample.

    Parameters
    ----------
    queries : Queries
        The queries of a run.
    samples : int, optional
        The size of the sample; all queries if None, or if there are no more.
    seed : int
        The seed of the sampling.

    Examples
    --------
    >>> queries = queries_of([{"query_id": name, "question": "Why?"} for name in "abcde"])
    >>> int(sample_mask(queries, 2, seed=0).sum())
    2
    """
    n = len(queries)
    if samples is None or samples >= n:
        return np.ones(n, dtype=bool)
    mask = np.zeros(n, dtype=bool)
    # A mask, so that the sample is asked in the order of the file.
    mask[draw_rows(queries.draw_keys, samples, np.random.default_rng(seed))] = True
    return mask


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
    # json cannot write NumPy's numbers.
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, date):
        return None if is_missing(value) else value.isoformat()
    return None if is_missing(value) else value
