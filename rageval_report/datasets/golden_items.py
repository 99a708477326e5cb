"""Golden items: what is right for one question, read from JSON Lines and written to them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rageval_report.errors import DataError, UnknownNameError, named
from rageval_report.files.json_lines import json_objects
from rageval_report.files.source import Source
from rageval_report.files.writing import write_atomically
from rageval_report.records import cells
from rageval_report.records.spans import Span
from rageval_report.scores.query_ids import plain_text

# The fields of an item, and how other golden sets call them.
FIELDS: dict[str, tuple[str, ...]] = {
    "query_id": ("qid", "q_id", "id", "_id"),
    "question": ("query", "q", "query_text", "user_input", "input"),
    "references": (
        *("reference", "answer", "answers", "expected_answer", "ground_truth"),
        *("ground_truth_answer", "reference_answer", "gold_claim_substr"),
    ),
    "negative_references": ("negative_reference", "wrong_answers"),
    "relevant": ("gold_doc_ids", "gold_citations", "expected_document_ids", "relevant_ids"),
    "relevant_texts": ("context_passages", "gold_texts", "gold_contexts"),
    "relevant_spans": ("gold_spans",),
    "answerable": ("is_answerable",),
    "metadata": (),
    "provenance": (),
}
_UNANSWERABLE = "is_unanswerable"
_PASSAGES = ("gold_passages", "evidence")  # lists of objects, or of texts
_NAMES = frozenset(
    (*FIELDS, *(name for also in FIELDS.values() for name in also), _UNANSWERABLE, *_PASSAGES)
)


@dataclass(frozen=True)
class GoldenItem:
    """What is right for one question.

    Parameters
    ----------
    query_id : str
        Its id.
    question : str
        Its text.
    references : tuple of str
        Right answers.
    negative_references : tuple of str
        Wrong answers that a system might give.
    relevant : mapping of str to float
        Ids of what holds the answer, with grades.
    relevant_texts : tuple of str
        The exact texts that hold the answer.
    relevant_spans : tuple of Span
        Where they stand: filename, start, end, in characters.
    answerable : bool, optional
        Whether there is an answer at all; None where nobody said.
    metadata : mapping
        As ``query_type``, ``domain``, ``difficulty``; reports can be cut by it.
    provenance : mapping
        Where the item comes from.

    Examples
    --------
    >>> GoldenItem("a", "Who wrote it?", references=("Ann",)).fingerprint
    '136acdf49d14'
    """

    query_id: str
    question: str
    references: tuple[str, ...] = ()
    negative_references: tuple[str, ...] = ()
    relevant: Mapping[str, float] = field(default_factory=dict)
    relevant_texts: tuple[str, ...] = ()
    relevant_spans: tuple[Span, ...] = ()
    answerable: bool | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """A digest of what a reviewer sees, so that a review of another version is noticed."""
        parts = [self.question, *self.references, "", *self.negative_references]
        text = "\n".join(parts).encode("utf-8", "surrogatepass")
        return blake2b(text, digest_size=6).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """The object of its line; what is empty is left out."""
        told: dict[str, Any] = {
            "query_id": self.query_id,
            "question": self.question,
            "references": list(self.references),
            "negative_references": list(self.negative_references),
            "relevant": dict(self.relevant),
            "relevant_texts": list(self.relevant_texts),
            "relevant_spans": [list(span) for span in self.relevant_spans],
            "answerable": self.answerable,
            "metadata": dict(self.metadata),
            "provenance": dict(self.provenance),
        }
        return {name: value for name, value in told.items() if value not in (None, [], {})}


# -- files


def read_golden(path: str | Path) -> list[GoldenItem]:
    r"""Read a golden set.

    Parameters
    ----------
    path : str or Path
        JSON Lines, an object a question, or a JSON list of them; gzipped or not; "-" is standard
        input. The names that other golden sets give to a field are known; other keys become
        metadata.

    Raises
    ------
    ReaderError
        If a line is no object, lacks a question, or a field is of the wrong kind; or an id stands
        there twice.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "gold.jsonl"
    ...     _ = file.write_text('{"query_id": "a", "question": "Who?", "references": ["Ann"]}\n')
    ...     read_golden(file)[0].references
    ('Ann',)
    """
    source = Source(path)
    document = source.document_or_none()
    if isinstance(document, list):
        rows: Iterable[tuple[int, Any]] = enumerate(document, 1)
        what = "entry"
    else:
        rows, what = json_objects(source), "line"
    items: dict[str, tuple[int, GoldenItem]] = {}
    for number, row in rows:
        item = _read(row, source, number, what)
        if item.query_id in items:
            told = f"the id {item.query_id!r} stands in {what}s {items[item.query_id][0]} and"
            raise source.error(f"{told} {number}; give each question its own")
        items[item.query_id] = (number, item)
    if not items:
        raise source.error("expected questions; there are none")
    return [item for _, item in items.values()]


def _read(row: Any, source: Source, number: int, what: str) -> GoldenItem:
    try:
        return golden_item(row)
    except DataError as exc:
        if what == "line":
            raise source.error(str(exc), line=number) from exc
        raise source.error(f"entry {number}: {exc}") from exc


def write_golden(path: str | Path, items: Iterable[GoldenItem]) -> Path:
    """Write a golden set as JSON Lines, whole or not at all.

    Parameters
    ----------
    path : str or Path
        The file.
    items : iterable of GoldenItem
        The items, a line each.

    Raises
    ------
    DataError
        If the file cannot be written, there are no items, or an id stands there twice.
    """
    return write_atomically(path, golden_text(checked_ids(items)))


def golden_text(items: Iterable[GoldenItem]) -> str:
    r"""The lines of a golden set.

    Examples
    --------
    >>> golden_text([GoldenItem("a", "Who?")])
    '{"query_id": "a", "question": "Who?"}\n'
    """
    return "".join(json.dumps(one.as_dict(), ensure_ascii=False) + "\n" for one in items)


# -- one object


def golden_item(row: object) -> GoldenItem:
    """The item of an object.

    Parameters
    ----------
    row : mapping
        As a line of a golden set holds it.

    Raises
    ------
    DataError
        If it is no object, lacks a question, or a field is of the wrong kind.

    Examples
    --------
    >>> golden_item({"question": "Who?", "query_type": "unanswerable"}).answerable
    False
    """
    if not isinstance(row, Mapping):
        raise DataError(f"expected an object; got {row!r:.60}")
    question = _value(row, "question")
    if not isinstance(question, str) or not question.strip():
        raise DataError(f"every item needs a question, a text; got {question!r:.60}")
    try:
        return _item(row, question)
    except cells.CellError as exc:
        raise DataError(str(exc)) from exc


def _item(row: Mapping[str, Any], question: str) -> GoldenItem:
    grades, texts, spans = _gold(row)
    references = _texts(row, "references")
    metadata = {**_object(row, "metadata"), **_others(row)}
    return GoldenItem(
        query_id=_query_id(row, question),
        question=question,
        references=references,
        negative_references=_texts(row, "negative_references"),
        relevant=grades,
        relevant_texts=texts,
        relevant_spans=spans,
        answerable=_answerable(row, metadata, references),
        metadata=metadata,
        provenance=_object(row, "provenance"),
    )


def _value(row: Mapping[str, Any], name: str) -> Any:
    """The first filled value under any name of the field."""
    values = (row[one] for one in (name, *FIELDS[name]) if one in row)
    return next((value for value in values if not cells.is_missing(value)), None)


def _query_id(row: Mapping[str, Any], question: str) -> str:
    given = _value(row, "query_id")
    if given is not None:
        return cells.doc_id(given)
    plain = plain_text(question).encode("utf-8", "surrogatepass")
    return "q-" + blake2b(plain, digest_size=8).hexdigest()


def _texts(row: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = _value(row, name)
    try:
        texts = () if value is None else cells.texts(value)
    except cells.CellError as exc:
        raise DataError(f"{name}: {exc}") from exc
    return tuple(dict.fromkeys(one for one in texts if one.strip()))


def _object(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = _value(row, name)
    if value is None or isinstance(value, Mapping):
        return dict(value or {})
    raise DataError(f"{name}: expected an object; got {value!r:.60}")


def _others(row: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key): value for key, value in row.items() if key not in _NAMES}


def _gold(
    row: Mapping[str, Any],
) -> tuple[dict[str, float], tuple[str, ...], tuple[Span, ...]]:
    grades: dict[str, float] = {}
    spans: list[Span] = []
    for name in ("relevant", "relevant_spans"):
        value = _value(row, name)
        if value is not None:
            found = cells.gold(value)
            grades |= found.grades
            spans += [span for span, _ in found.spans]
    texts = list(_texts(row, "relevant_texts"))
    for name in _PASSAGES:
        _add_passages(row.get(name), grades, texts)
    told = dict.fromkeys(one for one in texts if one.strip())
    return grades, tuple(told), tuple(dict.fromkeys(spans))


def _add_passages(value: object, grades: dict[str, float], texts: list[str]) -> None:
    """Passages as other sets write them: texts, or objects with ids, with a text, with a fact."""
    for one in [] if value is None else value if isinstance(value, list) else [value]:
        if isinstance(one, str):
            texts.append(one)
            continue
        text = one.get("text", one.get("fact")) if isinstance(one, Mapping) else None
        has_id = isinstance(one, Mapping) and bool({"doc_id", "chunk_id", "id"} & set(one))
        if text is None and not has_id:
            raise DataError(f"expected a passage with a text or an id; got {one!r:.60}")
        if isinstance(text, str):
            texts.append(text)
        if has_id:
            grades |= cells.gold([one]).grades


def _answerable(
    row: Mapping[str, Any], metadata: Mapping[str, Any], references: tuple[str, ...]
) -> bool | None:
    """What the item says; else what its type says; else true where there is a reference."""
    given = _value(row, "answerable")
    inverse = row.get(_UNANSWERABLE)
    try:
        if given is not None:
            return cells.truth(given)
        if inverse is not None:
            return not cells.truth(inverse)
    except cells.CellError as exc:
        raise DataError(f"answerable: {exc}") from exc
    if metadata.get("query_type") == "unanswerable":
        return False
    return True if references else None


def unknown_fields(items: Iterable[GoldenItem]) -> Counter[str]:
    """How often each key stands in the metadata, to find those that were meant for a field."""
    return Counter(key for item in items for key in item.metadata)


def checked_keys(items: Sequence[GoldenItem], by: Iterable[str]) -> tuple[str, ...]:
    """The keys that items are told apart by, if some item says something of each.

    Parameters
    ----------
    items : sequence of GoldenItem
        The set.
    by : iterable of str
        Keys of the metadata, or "answerable".

    Raises
    ------
    UnknownNameError
        If no item has the key.

    Examples
    --------
    >>> checked_keys([GoldenItem("a", "Who?", answerable=True)], ["answerable"])
    ('answerable',)
    """
    known = known_keys(items)
    for key in by:
        if key not in known:
            raise UnknownNameError("key of the items", key, known)
    return tuple(by)


def known_keys(items: Iterable[GoldenItem]) -> set[str]:
    """The keys of the metadata that some item fills; "answerable" where one says it."""
    every = list(items)
    filled = {key for one in every for key, value in one.metadata.items() if value is not None}
    is_said = any(one.answerable is not None for one in every)
    return filled | ({"answerable"} if is_said else set())


def checked_ids(items: Iterable[GoldenItem]) -> list[GoldenItem]:
    """The items as a list, if each has an id of its own.

    Raises
    ------
    DataError
        If there are none, or an id stands there twice.
    """
    every = list(items)
    twice = [one for one, n in Counter(item.query_id for item in every).items() if n > 1]
    if twice:
        raise DataError(f"query ids must be unique; these appear more than once: {named(twice)}")
    if not every:
        raise DataError("expected golden items; there are none")
    return every
