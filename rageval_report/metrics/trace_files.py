"""Gold sets and traces in JSON Lines; every error names the file, the line and the field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rageval_report.errors import ArgumentKindError, DataError, ReaderError, describe_kind, named
from rageval_report.files.inputs import FileInput, is_file_input
from rageval_report.files.json_lines import json_objects
from rageval_report.files.source import Source

TraceSource = FileInput | Iterable[Mapping[str, Any]]
"""A JSON Lines file, gzipped or not, "-" for standard input; or a list of the objects."""

# The reference scorer takes both names.
_QIDS = ("qid", "q_id")
_RETRIEVED, _ANSWER = "retrieved_ids", "answer_json"
_FIELDS = (_RETRIEVED, f"{_ANSWER}.claim", f"{_ANSWER}.citations")
_MOST_CHARACTERS = 60  # of a value in a message


@dataclass(frozen=True)
class GoldItem:
    """The gold of one question.

    Parameters
    ----------
    qid : str
        The id of the question.
    question : str
        Its text; empty if missing.
    answerable : bool
        Whether it has an answer.
    substrings : tuple of str
        Texts, one of which the claim should contain.
    citations : tuple of str
        Ids, one of which the answer should cite.
    """

    qid: str
    question: str
    answerable: bool
    substrings: tuple[str, ...]
    citations: tuple[str, ...]


@dataclass(frozen=True)
class TraceItem:
    """What the pipeline retrieved and answered for one question.

    Parameters
    ----------
    qid : str
        The id of the question.
    retrieved : tuple of str
        The retrieved ids in order.
    claim : str
        The answer, without surrounding blanks.
    citations : tuple of str
        The ids that it cites.
    """

    qid: str
    retrieved: tuple[str, ...] = ()
    claim: str = ""
    citations: tuple[str, ...] = ()


@dataclass(frozen=True)
class TraceFile:
    """The traces by question, and what was wrong with some lines.

    Parameters
    ----------
    by_qid : dict of str to TraceItem
        The last trace of each question.
    n_without_qid : int
        The number of lines without an id, which are ignored.
    repeated : tuple of str
        Questions with several traces.
    bare : tuple of str
        Questions whose trace has neither ``retrieved_ids`` nor ``answer_json``.
    absent : tuple of str
        The fields that no trace has, such as ``answer_json.citations``.
    """

    by_qid: dict[str, TraceItem]
    n_without_qid: int = 0
    repeated: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


@dataclass(frozen=True)
class _ObjectLine:
    """One object and its place in the file."""

    content: Mapping[str, Any]
    number: int
    path: str | None

    def error(self, message: str) -> DataError:
        if self.path is not None:
            return ReaderError(message, self.path, self.number)
        return DataError(f"item {self.number}: {message}")

    def type_error(self, field: str, expected: str, value: object) -> DataError:
        text = repr(value)
        text = text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 3] + "..."
        return self.error(f"field {field!r} must be {expected}; got {text}")

    def inner(self, field: str) -> _ObjectLine:
        """The object in a field; an empty one if the field is missing or null."""
        value = self.content.get(field)
        if value is not None and not isinstance(value, Mapping):
            raise self.type_error(field, "an object", value)
        return _ObjectLine(value or {}, self.number, self.path)

    def text(self, field: str) -> str:
        value = self.content.get(field)
        if value is not None and not isinstance(value, str):
            raise self.type_error(field, "a text", value)
        return value or ""

    def qid(self) -> str | None:
        for field in _QIDS:
            value = self.content.get(field)
            if value is None or value == "":
                continue
            if not _is_id(value):
                raise self.type_error(field, "a text or an integer", value)
            return str(value)
        return None

    def fields(self) -> set[str]:
        """The fields of a trace that are present."""
        answer = self.content.get(_ANSWER) or {}
        return {*self.content, *(f"{_ANSWER}.{name}" for name in answer)}

    def texts(self, field: str) -> tuple[str, ...]:
        """The texts in a list; none if the field is missing or null."""
        return tuple(self._list(field, lambda item: isinstance(item, str), "texts"))

    def ids(self, field: str) -> tuple[str, ...]:
        """The ids in a list, as texts; none if the field is missing or null."""
        return tuple(map(str, self._list(field, _is_id, "ids")))

    def _list(self, field: str, is_valid: Callable[[object], bool], what: str) -> list[Any]:
        items = self.content.get(field)
        if items is None:
            return []
        if not isinstance(items, list | tuple):
            raise self.type_error(field, f"a list of {what}", items)
        for place, item in enumerate(items):
            if not is_valid(item):
                raise self.type_error(f"{field}[{place}]", f"one of the {what} of a list", item)
        return list(items)


def _is_id(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def read_gold(source: TraceSource) -> dict[str, GoldItem]:
    """Read a gold set.

    Parameters
    ----------
    source : path, or iterable of mappings
        A JSON Lines file, gzipped or not ("-" is standard input), or its objects:
        ``qid``, ``answerable`` (true or false), and if known ``question``,
        ``gold_claim_substr``, ``gold_citations``. Other fields are ignored.

    Returns
    -------
    dict of str to GoldItem
        By question, in the order of the file.

    Raises
    ------
    ReaderError
        If a line is not a JSON object, has a field of the wrong type, or the id of another line:
        file, line and field. A `DataError` with the number of the item if there is no file.

    Examples
    --------
    >>> gold = read_gold([{"qid": "a", "answerable": True, "gold_citations": ["p1#2"]}])
    >>> gold["a"].citations
    ('p1#2',)
    """
    items: dict[str, GoldItem] = {}
    lines: dict[str, int] = {}
    for line in _lines(source):
        item = _gold_item(line)
        if item.qid in items:
            raise line.error(
                f"field 'qid' must be unique; {item.qid!r} is already at {lines[item.qid]}"
            )
        items[item.qid], lines[item.qid] = item, line.number
    return items


def _gold_item(line: _ObjectLine) -> GoldItem:
    qid = line.qid()
    if qid is None:
        raise line.error("field 'qid' is missing: a gold question needs an id")
    answerable = line.content.get("answerable")
    if not isinstance(answerable, bool):
        raise line.type_error("answerable", "true or false", answerable)
    return GoldItem(
        qid,
        line.text("question"),
        answerable,
        line.texts("gold_claim_substr"),
        line.ids("gold_citations"),
    )


def read_traces(source: TraceSource) -> TraceFile:
    """Read the traces of a pipeline; of several traces of a question the last one counts.

    Parameters
    ----------
    source : path, or iterable of mappings
        A JSON Lines file, gzipped or not ("-" is standard input), or its objects:
        ``qid`` (or ``q_id``), ``retrieved_ids``, and ``answer_json`` with ``claim`` and
        ``citations``. Objects without an id are counted and left out; a missing or null field is
        empty.

    Raises
    ------
    ReaderError
        If a line is not a JSON object, or has a field of the wrong type: file, line and field; or
        if no trace has ``retrieved_ids`` or ``answer_json``: the keys that it has. A `DataError`
        with the number of the item if there is no file.

    Examples
    --------
    >>> read_traces([{"qid": "a", "answer_json": {"claim": " Yes. "}}]).by_qid["a"].claim
    'Yes.'
    """
    by_qid: dict[str, TraceItem] = {}
    repeated: dict[str, None] = {}
    bare: dict[str, _ObjectLine] = {}
    present: set[str] = set()
    n_without = 0
    for line in _lines(source):
        qid = line.qid()
        if qid is None:
            n_without += 1
            continue
        if qid in by_qid:
            repeated[qid] = None
        by_qid[qid] = _trace_item(qid, line)
        present |= line.fields()
        # The last trace of a question counts, so an earlier bare one is forgiven.
        bare.pop(qid, None)
        if not {_RETRIEVED, _ANSWER} & line.content.keys():
            bare[qid] = line
    # If no trace at all has the fields, they are most likely named otherwise, and every figure
    # would be 0.
    if by_qid and len(bare) == len(by_qid):
        raise _shape_error(next(iter(bare.values())))
    absent = tuple(field for field in _FIELDS if field not in present) if by_qid else ()
    return TraceFile(by_qid, n_without, tuple(repeated), tuple(bare), absent)


def _trace_item(qid: str, line: _ObjectLine) -> TraceItem:
    answer = line.inner(_ANSWER)
    return TraceItem(
        qid, line.ids(_RETRIEVED), answer.text("claim").strip(), answer.ids("citations")
    )


def _shape_error(line: _ObjectLine) -> DataError:
    return line.error(
        f"a trace must have {_RETRIEVED!r}, a list of ids, and {_ANSWER!r}, an object with 'claim' "
        f"and 'citations'; got the keys {named(line.content, 12)}: rename them"
    )


# -- lines


def _lines(source: TraceSource) -> Iterator[_ObjectLine]:
    if is_file_input(source):
        file = Source(source, encoding="utf-8")
        yield from (_ObjectLine(row, number, file.name) for number, row in json_objects(file))
        return
    has_no_items = getattr(source, "ndim", None) == 0  # an array of one value
    if isinstance(source, Mapping) or not isinstance(source, Iterable) or has_no_items:
        raise ArgumentKindError(
            f"expected a path or a list with one mapping per question; got {describe_kind(source)}"
        )
    for number, content in enumerate(source, 1):
        if not isinstance(content, Mapping):
            raise DataError(f"item {number}: expected a mapping; got {type(content).__name__}")
        yield _ObjectLine(content, number, None)
