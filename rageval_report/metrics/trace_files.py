"""Gold sets and traces in JSON Lines: read, checked, every fault with its file, line and field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rageval_report.errors import DataError, ReaderError, named
from rageval_report.files.json_lines import json_objects
from rageval_report.files.source import Source

Rows = str | Path | Iterable[Mapping[str, Any]]
"""A JSON Lines file, gzipped or not, "-" for standard input; or the objects themselves."""

_QIDS = ("qid", "q_id")
_RETRIEVED, _ANSWER = "retrieved_ids", "answer_json"
_TOLD = (_RETRIEVED, f"{_ANSWER}.claim", f"{_ANSWER}.citations")
_SHOWN = 60


@dataclass(frozen=True)
class GoldItem:
    """What is right for one question.

    Parameters
    ----------
    qid : str
        The question's id.
    question : str
        Its text; empty where not given.
    answerable : bool
        Whether it has an answer at all.
    substrings : tuple of str
        Texts of which the claim should hold one.
    citations : tuple of str
        Ids of which the answer should cite one.
    """

    qid: str
    question: str
    answerable: bool
    substrings: tuple[str, ...]
    citations: tuple[str, ...]


@dataclass(frozen=True)
class TraceItem:
    """What the pipeline did with one question.

    Parameters
    ----------
    qid : str
        The question's id.
    retrieved : tuple of str
        The retrieved ids in order.
    claim : str
        The answer, without blanks around it.
    citations : tuple of str
        The ids that it cites.
    """

    qid: str
    retrieved: tuple[str, ...] = ()
    claim: str = ""
    citations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Traces:
    """The traces by question, and which lines gave none.

    Parameters
    ----------
    by_qid : dict of str to TraceItem
        The last trace of each question.
    n_without_qid : int
        Lines without an id, which are ignored.
    repeated : tuple of str
        Questions with several traces.
    bare : tuple of str
        Questions whose trace has neither ``retrieved_ids`` nor ``answer_json``.
    absent : tuple of str
        The fields that no trace has, as ``answer_json.citations``.
    """

    by_qid: dict[str, TraceItem]
    n_without_qid: int = 0
    repeated: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Line:
    """One object and where it stands."""

    content: Mapping[str, Any]
    number: int
    path: str | None

    def error(self, message: str) -> DataError:
        if self.path is not None:
            return ReaderError(message, self.path, self.number)
        return DataError(f"item {self.number}: {message}")

    def wrong(self, field: str, expected: str, found: object) -> DataError:
        shown = repr(found)
        shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."
        return self.error(f"field {field!r} must be {expected}; got {shown}")

    def inner(self, field: str) -> _Line:
        """The object in a field; an empty one where it is missing or null."""
        found = self.content.get(field)
        if found is not None and not isinstance(found, Mapping):
            raise self.wrong(field, "an object", found)
        return _Line(found or {}, self.number, self.path)

    def text(self, field: str) -> str:
        found = self.content.get(field)
        if found is not None and not isinstance(found, str):
            raise self.wrong(field, "a text", found)
        return found or ""

    def qid(self) -> str | None:
        for field in _QIDS:
            found = self.content.get(field)
            if found is None or found == "":
                continue
            if not _is_id(found):
                raise self.wrong(field, "a text or a whole number", found)
            return str(found)
        return None

    def told(self) -> set[str]:
        """Which of the fields of a trace are there."""
        answer = self.content.get(_ANSWER) or {}
        return {*self.content, *(f"{_ANSWER}.{name}" for name in answer)}

    def texts(self, field: str) -> tuple[str, ...]:
        """The texts in a list; none where it is missing or null."""
        return tuple(self._list(field, lambda one: isinstance(one, str), "texts"))

    def ids(self, field: str) -> tuple[str, ...]:
        """The ids in a list, as texts; none where it is missing or null."""
        return tuple(map(str, self._list(field, _is_id, "ids")))

    def _list(self, field: str, is_right: Any, what: str) -> list[Any]:
        found = self.content.get(field)
        if found is None:
            return []
        if not isinstance(found, list | tuple):
            raise self.wrong(field, f"a list of {what}", found)
        for place, one in enumerate(found):
            if not is_right(one):
                raise self.wrong(f"{field}[{place}]", f"one of the {what} of a list", one)
        return list(found)


def _is_id(found: object) -> bool:
    return isinstance(found, str) or (isinstance(found, int) and not isinstance(found, bool))


def read_gold(source: Rows) -> dict[str, GoldItem]:
    """Read a gold set.

    Parameters
    ----------
    source : path, or iterable of mappings
        A JSON Lines file, gzipped or not ("-" is standard input), or its objects:
        ``qid``, ``answerable`` (true or false), and where they are known ``question``,
        ``gold_claim_substr``, ``gold_citations``. Other fields are ignored.

    Returns
    -------
    dict of str to GoldItem
        By question, in the order of the file.

    Raises
    ------
    ReaderError
        If a line is broken, no object, has a field of the wrong type, or the id of another line:
        file, line and field. A `DataError` with the item's number where no file was given.

    Examples
    --------
    >>> gold = read_gold([{"qid": "a", "answerable": True, "gold_citations": ["p1#2"]}])
    >>> gold["a"].citations
    ('p1#2',)
    """
    found: dict[str, GoldItem] = {}
    lines: dict[str, int] = {}
    for line in _lines(source):
        item = _gold_item(line)
        if item.qid in found:
            raise line.error(
                f"field 'qid' must be unique; {item.qid!r} stands at {lines[item.qid]} already"
            )
        found[item.qid], lines[item.qid] = item, line.number
    return found


def _gold_item(line: _Line) -> GoldItem:
    qid = line.qid()
    if qid is None:
        raise line.error("field 'qid' is missing: a gold question needs an id")
    answerable = line.content.get("answerable")
    if not isinstance(answerable, bool):
        raise line.wrong("answerable", "true or false", answerable)
    return GoldItem(
        qid,
        line.text("question"),
        answerable,
        line.texts("gold_claim_substr"),
        line.ids("gold_citations"),
    )


def read_traces(source: Rows) -> Traces:
    """Read what a pipeline did; of several traces of a question the last one holds.

    Parameters
    ----------
    source : path, or iterable of mappings
        A JSON Lines file, gzipped or not ("-" is standard input), or its objects:
        ``qid`` (or ``q_id``), ``retrieved_ids``, and ``answer_json`` with ``claim`` and
        ``citations``. Objects without an id are counted and left out; missing and null fields are
        empty.

    Raises
    ------
    ReaderError
        If a line is broken, no object, or has a field of the wrong type: file, line and field; or
        if no trace has ``retrieved_ids`` or ``answer_json``: the keys that it has. A `DataError`
        with the item's number where no file was given.

    Examples
    --------
    >>> read_traces([{"qid": "a", "answer_json": {"claim": " Yes. "}}]).by_qid["a"].claim
    'Yes.'
    """
    by_qid: dict[str, TraceItem] = {}
    repeated: dict[str, None] = {}
    bare: dict[str, _Line] = {}
    told: set[str] = set()
    n_without = 0
    for line in _lines(source):
        qid = line.qid()
        if qid is None:
            n_without += 1
            continue
        if qid in by_qid:
            repeated[qid] = None
        by_qid[qid] = _trace_item(qid, line)
        told |= line.told()
        bare.pop(qid, None)
        if not {_RETRIEVED, _ANSWER} & line.content.keys():
            bare[qid] = line
    if by_qid and len(bare) == len(by_qid):
        raise _of_another_shape(next(iter(bare.values())))
    absent = tuple(field for field in _TOLD if field not in told) if by_qid else ()
    return Traces(by_qid, n_without, tuple(repeated), tuple(bare), absent)


def _trace_item(qid: str, line: _Line) -> TraceItem:
    answer = line.inner(_ANSWER)
    return TraceItem(
        qid, line.ids(_RETRIEVED), answer.text("claim").strip(), answer.ids("citations")
    )


def _of_another_shape(line: _Line) -> DataError:
    return line.error(
        f"expected {_RETRIEVED!r}, a list of ids, and {_ANSWER!r}, an object with 'claim' and "
        f"'citations', in a trace; found the keys {named(line.content, 12)}. Rename them"
    )


# -- lines


def _lines(source: Rows) -> Iterator[_Line]:
    if isinstance(source, str | Path):
        file = Source(source, encoding="utf-8")
        yield from (_Line(found, number, file.name) for number, found in json_objects(file))
        return
    if isinstance(source, Mapping) or not isinstance(source, Iterable):
        raise DataError(
            f"expected a path or a list of one mapping a question; got {type(source).__name__}"
        )
    for number, content in enumerate(source, 1):
        if not isinstance(content, Mapping):
            raise DataError(f"item {number}: expected a mapping; got {type(content).__name__}")
        yield _Line(content, number, None)
