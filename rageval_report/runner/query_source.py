"""The queries of a run, one after the other, as often as they are needed; a file is not held."""

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
from rageval_report.files.json_lines import json_objects
from rageval_report.files.source import STANDARD_INPUT, Source
from rageval_report.records import FIELDS
from rageval_report.records.cells import CellError, doc_id, is_missing
from rageval_report.runner.file_lines import LineByLine, version_of
from rageval_report.runner.templates import field_of
from rageval_report.scores.frames import to_pandas
from rageval_report.scores.metric import normalise_name
from rageval_report.scores.query_ids import QUERY_ID, first_named, id_column_of, query_ids

# What a pipeline is never shown: it is what it will be measured against, or tells of it, as the
# type "unanswerable" does. The beginnings are those of all names that sets give their gold.
_GOLD = (
    *("reference", "negative_reference", "relevant", "relevant_texts", "relevant_spans"),
    *("relevant_sections", "answerable"),
)
_TELLING = frozenset(
    (
        *("query_type", "question_type", "difficulty", "passages", "provenance", "evidence"),
        *("evidences", "supporting_facts", "is_unanswerable", "is_impossible", "qrels"),
        *("correct_answer", "correct_answers", "best_answer", "incorrect_answers"),
    )
)
_GOLDEN_BEGINNINGS = (
    *("gold", "ground_truth", "expected", "reference", "negative_reference", "relevan"),
    *("answerable", "unanswerable", "is_relevant"),
)
# What an earlier run of a pipeline said, which is not what this one says.
_SAID = (
    *("retrieved", "retrieved_scores", "retrieved_spans", "contexts", "answer", "citations"),
    *("cited_sections", "latency_ms", "prompt_tokens", "completion_tokens", "cost_usd", "model"),
    "error",
)
RUN_COLUMNS = ("first_byte_ms", "attempts", "error_kind", "asked_at")
_NAMES_OF_GOLD = _TELLING.union(*((field, *FIELDS[field]) for field in _GOLD))
_NAMES_OF_SAID = frozenset(RUN_COLUMNS).union(*((field, *FIELDS[field]) for field in _SAID))
_KEPT_AS = "{}_given"
_AS_KEPT = _KEPT_AS.format("")

_LOOKS_EVERY = 100  # rows of a file, whether it is still the same


@dataclass(frozen=True)
class Query:
    """One query of a run.

    Parameters
    ----------
    row : int
        Its place among the queries, from 0.
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
        """What may be sent where it is named: id, question, metadata; never what tells the gold.

        Examples
        --------
        >>> given = {"reference": "So.", "query_type": "unanswerable", "language": "en"}
        >>> Query(0, "a", "Why?", given).public_fields
        {'language': 'en', 'query_id': 'a', 'question': 'Why?'}
        """
        told = {key: value for key, value in self.other_fields.items() if not _was_said(key)}
        return {**_without_gold(told), "query_id": self.query_id, "question": self.question}

    def request_fields(self, names: Iterable[str] = ()) -> dict[str, Any]:
        """What is sent where no template says it: id, question, and the fields that are named.

        Parameters
        ----------
        names : iterable of str
            Of metadata.

        Raises
        ------
        UnknownNameError
            If the query has no such field, or it tells the gold.

        Examples
        --------
        >>> query = Query(0, "a", "Why?", {"language": "en", "tenant": "north"})
        >>> query.request_fields(["language"])
        {'query_id': 'a', 'question': 'Why?', 'language': 'en'}
        """
        shown = self.public_fields
        return {name: field_of(name, shown) for name in ("query_id", "question", *names)}

    def kept_fields(self) -> dict[str, Any]:
        """What of it goes into the records: an earlier answer only under another name.

        Examples
        --------
        >>> Query(0, "a", "Why?", {"reference": "So.", "answer": "No."}).kept_fields()
        {'query_id': 'a', 'question': 'Why?', 'reference': 'So.', 'answer_given': 'No.'}
        """
        names = _kept_names(tuple(self.other_fields))
        rest = {names[key]: value for key, value in self.other_fields.items()}
        return {"query_id": self.query_id, "question": self.question, **rest}


# Queries of a file have the same few sets of names, and are gone through several times.
_MANY = 1024


@lru_cache(_MANY)
def _own_names(given: tuple[str, ...], fields: tuple[str, ...]) -> frozenset[str]:
    """How those of the fields that are there are named."""
    found = (first_named(given, (field, *FIELDS[field])) for field in fields)
    return frozenset(name for name in found if name is not None)


@lru_cache(_MANY)
def _kept_names(given: tuple[str, ...]) -> dict[str, str]:
    """What is kept under which name: nothing takes the place of what had the name before."""
    stale = _own_names(given, _SAID) | set(RUN_COLUMNS)
    names = {key: key for key in given if key not in stale}
    for key in [one for one in given if one in stale]:
        first = _KEPT_AS.format(key)
        free = (first if n == 1 else f"{first}_{n}" for n in count(1))
        names[key] = next(one for one in free if one not in names.values() and one not in given)
    return names


@lru_cache(_MANY)
def _tells_gold(name: str) -> bool:
    """Whether a pipeline that sees the field knows more than the question."""
    plain = normalise_name(name)
    return plain in _NAMES_OF_GOLD or plain.startswith(_GOLDEN_BEGINNINGS)


@lru_cache(_MANY)
def _was_said(name: str) -> bool:
    """Whether the field is an earlier answer, by its own name or that under which it is kept."""
    plain = normalise_name(name)
    return plain in _NAMES_OF_SAID or plain.removesuffix(_AS_KEPT) in _NAMES_OF_SAID


def _without_gold(value: Any) -> Any:
    """The value without the keys that tell the gold, however deep, as in ``metadata``."""
    if isinstance(value, Mapping):
        return {
            key: _without_gold(item) for key, item in value.items() if not _tells_gold(str(key))
        }
    if isinstance(value, list | tuple):
        return [_without_gold(item) for item in value]
    return value


@lru_cache(_MANY)
def _id_and_question(found: tuple[str, ...]) -> tuple[str | None, str | None]:
    """How id and question are named."""
    return id_column_of(found), first_named(found, ("question", *FIELDS["question"]))


class Queries(Protocol):
    """Queries that can be gone through again and again."""

    def __iter__(self) -> Iterator[Query]:
        """The queries in their order."""

    def __len__(self) -> int:
        """How many there are."""

    @property
    def fingerprint(self) -> str:
        """A hash of ids and questions."""


class _Checked(ABC):
    """What all queries have once they were gone through."""

    def __init__(self) -> None:
        ids = array("Q")
        digest = blake2b(digest_size=16)
        for query in self:
            told = f"{len(query.query_id)} {query.query_id} {query.question}\n"
            digest.update(told.encode("utf-8", "surrogatepass"))
            ids.append(_number_of(query.query_id))
        if not ids:
            raise DataError("expected one query a row; there is none")
        self._refuse_doubles(np.sort(np.frombuffer(ids, dtype=np.uint64)))
        self._n, self.fingerprint = len(ids), digest.hexdigest()

    def _refuse_doubles(self, ids: np.ndarray) -> None:
        """The numbers of the ids, sorted, tell in little memory whether one is there twice."""
        again = set(ids[1:][ids[1:] == ids[:-1]].tolist())
        if not again:
            return
        told = Counter(one.query_id for one in self if _number_of(one.query_id) in again)
        twice = [name for name, n in told.items() if n > 1]
        if twice:
            raise DataError(
                f"query ids must be unique; these appear more than once: {named(twice)}"
            )

    def __len__(self) -> int:
        return self._n

    @abstractmethod
    def __iter__(self) -> Iterator[Query]:
        """The queries, from the first on, each time."""


class FileQueries(_Checked):
    """The queries of a JSON Lines file, which is read line by line each time.

    Parameters
    ----------
    path : str or Path
        An object a line, with an id and a question.

    Raises
    ------
    ReaderError
        If a line is broken, or has no id or no question: the file and the line. Later on, if the
        file is no longer what it was.
    """

    def __init__(self, path: str | Path):
        self._path = Path(path)
        self._version = version_of(self._path)
        super().__init__()

    def __iter__(self) -> Iterator[Query]:
        source = LineByLine(self._path)
        for row, (line, found) in enumerate(json_objects(source)):
            if row % _LOOKS_EVERY == 0:
                self._refuse_change()
            try:
                yield _query(row, found)
            except CellError as exc:
                raise source.error(str(exc), line=line) from exc
        self._refuse_change()

    def _refuse_change(self) -> None:
        """Answers are kept by the number of a row, which must mean the same query throughout."""
        if version_of(self._path) != self._version:
            raise ReaderError(
                "the file changed while its queries were asked. What was answered is kept: put the "
                "file back as it was and resume, or begin in a new folder",
                self._path,
            )


class TableQueries(_Checked):
    """The queries of a table in memory.

    Parameters
    ----------
    data : frame, dict of lists, or list of dicts
        A row a query; ids are derived from the questions where there are none.

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
        super().__init__()

    def __iter__(self) -> Iterator[Query]:
        names = [str(name) for name in self._frame]
        columns = [self._frame[name] for name in self._frame]
        for row, (one, *values) in enumerate(zip(self._ids, *columns, strict=True)):
            known = dict(zip(names, map(_plain, values), strict=True))
            try:
                yield _query(row, {QUERY_ID: one, **known})
            except CellError as exc:
                raise DataError(f"query {one!r}: {exc}") from exc


def queries_of(source: object) -> Queries:
    """The queries of a file or table.

    Parameters
    ----------
    source : path, frame, dict of lists, or list of dicts
        A JSON Lines file is read line by line, so that no more than a line is held; gzipped, from
        standard input, or without ids it is read whole, and they are derived from the questions.

    Raises
    ------
    DataError
        If ids are missing or twice there, or a question is missing.

    Examples
    --------
    >>> queries = queries_of([{"query_id": "a", "question": "Why?"}])
    >>> [query.question for query in queries], len(queries)
    (['Why?'], 1)
    """
    if not isinstance(source, str | Path):
        return TableQueries(source)
    if str(source) == STANDARD_INPUT:
        return TableQueries([found for _, found in json_objects(Source(source))])
    first = next(json_objects(LineByLine(source)), None)
    if first is None:
        raise ReaderError("expected one query a line; there is none", source)
    if id_column_of(first[1]) is not None:
        return FileQueries(source)
    return TableQueries([found for _, found in json_objects(Source(source))])


def sample_mask(n: int, samples: int | None, seed: int) -> np.ndarray:
    """Which of n queries are asked: all, or some drawn at random, as a mask.

    Parameters
    ----------
    n : int
        How many there are.
    samples : int, optional
        How many are wanted; all of them where None, or more than there are.
    seed : int
        For the draw.

    Examples
    --------
    >>> sample_mask(5, 2, seed=0).sum()
    np.int64(2)
    """
    if samples is None or samples >= n:
        return np.ones(n, dtype=bool)
    mask = np.zeros(n, dtype=bool)
    mask[np.random.default_rng(seed).choice(n, samples, replace=False)] = True
    return mask


def _number_of(query_id: str) -> int:
    """64 bits for an id; equal ids have equal numbers."""
    return int.from_bytes(
        blake2b(query_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    )


def _query(row: int, found: dict[str, Any]) -> Query:
    id_name, question_name = _id_and_question(tuple(found))
    if id_name is None or question_name is None:
        missing = "id" if id_name is None else "question"
        raise CellError(f"expected a query with an id and a question; it has no {missing}")
    question = found[question_name]
    if not isinstance(question, str) or not question.strip():
        raise CellError(f"expected a question, a text; got {question!r}")
    given = {key: value for key, value in found.items() if key not in (id_name, question_name)}
    return Query(row, doc_id(found[id_name]), question, given)


def _plain(value: Any) -> Any:
    """A cell as JSON has it: arrays are lists, NumPy's numbers Python's, missing is None."""
    if isinstance(value, np.ndarray):
        return [_plain(item) for item in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, date):
        return None if is_missing(value) else value.isoformat()
    return None if is_missing(value) else value
