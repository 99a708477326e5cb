"""Golden items: what is right for one question, read from JSON Lines and written to them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rageval_report._argument_kinds import describe_kind
from rageval_report.errors import (
    ArgumentKindError,
    DataError,
    UnknownNameError,
    explain_keywords,
    named,
)
from rageval_report.files.json_lines import json_objects
from rageval_report.files.source import Source
from rageval_report.files.writing import write_atomically
from rageval_report.records import cells
from rageval_report.records.levels import GoldSection
from rageval_report.records.spans import Span
from rageval_report.scores.query_ids import plain_text
from rageval_report.types import JsonObject

# The fields of an item, and their names in other golden sets.
ITEM_FIELDS: dict[str, tuple[str, ...]] = {
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
    "relevant_sections": (),
    "answerable": ("is_answerable",),
    "metadata": (),
    "provenance": (),
}
_UNANSWERABLE = "is_unanswerable"
_PASSAGES = ("gold_passages", "evidence")  # lists of objects, or of texts
_PASSAGE_IDS = frozenset(("doc_id", "document_id", "chunk_id", "node_id", "id"))
_FIELD_KEYS = frozenset(
    (
        *ITEM_FIELDS,
        *(alias for aliases in ITEM_FIELDS.values() for alias in aliases),
        _UNANSWERABLE,
        *_PASSAGES,
    )
)


@dataclass(frozen=True)
class GoldenItem:
    """What is right for one question.

    Parameters
    ----------
    query_id : str
        The id of the question.
    question : str
        Its text.
    references : tuple of str
        Right answers.
    negative_references : tuple of str
        Wrong answers that a system might give.
    relevant : mapping of str to float
        Ids of the documents or chunks that contain the answer, with grades.
    relevant_texts : tuple of str
        The exact texts that contain the answer.
    relevant_spans : tuple of Span
        Their places: filename, start and end in characters.
    answerable : bool, optional
        Whether there is an answer at all; None if the set does not say so.
    metadata : mapping
        Such as ``query_type``, ``domain``, ``difficulty``; reports can be sliced by it.
    provenance : mapping
        The origin of the item.
    relevant_sections : tuple of (str, str, float)
        Document, chunk and grade of the passages in `relevant` whose document is known too.

    Examples
    --------
    >>> GoldenItem("a", "Who wrote it?", references=("Ann",)).fingerprint
    '136acdf49d14'
    >>> GoldenItem("a", "Who wrote it?", references=("Ann",)).as_dict()["references"]
    ['Ann']
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
    relevant_sections: tuple[GoldSection, ...] = ()

    @property
    def fingerprint(self) -> str:
        """A digest of what a reviewer sees, so that a review of another version is noticed."""
        # The empty line parts right from wrong answers, so that moving one between them is noticed.
        parts = [self.question, *self.references, "", *self.negative_references]
        text = "\n".join(parts).encode("utf-8", "surrogatepass")
        return blake2b(text, digest_size=6).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """The JSON object of the item, without empty fields.

        Examples
        --------
        >>> GoldenItem("a", "Who?", answerable=False).as_dict()
        {'query_id': 'a', 'question': 'Who?', 'answerable': False}
        """
        fields: dict[str, Any] = {
            "query_id": self.query_id,
            "question": self.question,
            "references": list(self.references),
            "negative_references": list(self.negative_references),
            "relevant": dict(self.relevant),
            "relevant_texts": list(self.relevant_texts),
            "relevant_spans": [list(span) for span in self.relevant_spans],
            "relevant_sections": [list(section) for section in self.relevant_sections],
            "answerable": self.answerable,
            "metadata": dict(self.metadata),
            "provenance": dict(self.provenance),
        }
        return {name: value for name, value in fields.items() if value not in (None, [], {})}


# -- files


@explain_keywords
def read_golden(path: str | Path) -> list[GoldenItem]:
    r"""Read a golden set.

    Parameters
    ----------
    path : str or Path
        JSON Lines, one object per question, or a JSON list of them; gzipped or not; "-" is standard
        input. The field names of other golden sets are known; other keys become metadata.

    Raises
    ------
    ReaderError
        If a line is not an object, lacks a question, or has a field of the wrong kind, or if an id
        appears twice.

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
        rows: Iterable[tuple[int, object]] = enumerate(document, 1)
        unit = "entry"
    else:
        rows, unit = json_objects(source), "line"
    items: dict[str, tuple[int, GoldenItem]] = {}
    for number, row in rows:
        item = _read_item(row, source, number, unit)
        if item.query_id in items:
            first = items[item.query_id][0]
            units = "lines" if unit == "line" else "entries"
            raise source.error(
                f"the id {item.query_id!r} appears in {units} {first} and {number}; give each "
                "question its own"
            )
        items[item.query_id] = (number, item)
    if not items:
        raise source.error("expected questions; there are none")
    return [item for _, item in items.values()]


def _read_item(row: object, source: Source, number: int, unit: str) -> GoldenItem:
    try:
        return golden_item(row)
    except DataError as exc:
        if unit == "line":
            raise source.error(str(exc), line=number) from exc
        raise source.error(f"entry {number}: {exc}") from exc


@explain_keywords
def write_golden(path: str | Path, items: Iterable[GoldenItem]) -> Path:
    """Write a golden set as JSON Lines; the file is complete or not written at all.

    Parameters
    ----------
    path : str or Path
        The file.
    items : iterable of GoldenItem
        The items, one per line.

    Raises
    ------
    DataError
        If the file cannot be written, there are no items, or an id appears twice.

    Examples
    --------
    >>> import tempfile
    >>> items = [GoldenItem("a", "Who?", references=("Ann",))]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_golden(write_golden(f"{folder}/gold.jsonl", items))[0].references
    ('Ann',)
    """
    return write_atomically(path, golden_text(check_item_ids(items)))


def golden_text(items: Iterable[GoldenItem]) -> str:
    r"""The lines of a golden set.

    Examples
    --------
    >>> golden_text([GoldenItem("a", "Who?")])
    '{"query_id": "a", "question": "Who?"}\n'
    """
    return "".join(json.dumps(item.as_dict(), ensure_ascii=False) + "\n" for item in items)


# -- one object


def golden_item(row: object) -> GoldenItem:
    """The item of a JSON object.

    Parameters
    ----------
    row : mapping
        A line of a golden set, parsed.

    Raises
    ------
    DataError
        If it is not an object, lacks a question, or has a field of the wrong kind.

    Examples
    --------
    >>> golden_item({"question": "Who?", "query_type": "unanswerable"}).answerable
    False
    """
    if not isinstance(row, Mapping):
        raise DataError(f"expected an object; got {row!r:.60}")
    question = _first_value(row, "question")
    if not isinstance(question, str) or not question.strip():
        raise DataError(f"every item needs a question, a text; got {question!r:.60}")
    try:
        return _make_item(row, question)
    except cells.CellError as exc:
        raise DataError(str(exc)) from exc


def _make_item(row: JsonObject, question: str) -> GoldenItem:
    grades, texts, spans, sections = _read_gold(row)
    references = _read_texts(row, "references")
    others = {str(key): value for key, value in row.items() if key not in _FIELD_KEYS}
    metadata = {**_read_object(row, "metadata"), **others}
    return GoldenItem(
        query_id=_read_query_id(row, question),
        question=question,
        references=references,
        negative_references=_read_texts(row, "negative_references"),
        relevant=grades,
        relevant_texts=texts,
        relevant_spans=spans,
        answerable=_read_answerable(row, metadata, references),
        metadata=metadata,
        provenance=_read_object(row, "provenance"),
        relevant_sections=sections,
    )


def _first_value(row: JsonObject, name: str) -> Any:
    """The first value that is not missing, under any name of the field."""
    values = (row[key] for key in (name, *ITEM_FIELDS[name]) if key in row)
    return next((value for value in values if not cells.is_missing(value)), None)


def _read_query_id(row: JsonObject, question: str) -> str:
    query_id = _first_value(row, "query_id")
    if query_id is not None:
        return cells.doc_id(query_id)
    # Without an id the question is its own: it keeps the same id in every file.
    plain = plain_text(question).encode("utf-8", "surrogatepass")
    return "q-" + blake2b(plain, digest_size=8).hexdigest()


def _read_texts(row: JsonObject, name: str) -> tuple[str, ...]:
    value = _first_value(row, name)
    try:
        texts = () if value is None else cells.texts(value)
    except cells.CellError as exc:
        raise DataError(f"{name}: {exc}") from exc
    return _unique_texts(texts)


def _unique_texts(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


def _read_object(row: JsonObject, name: str) -> dict[str, Any]:
    value = _first_value(row, name)
    if value is None or isinstance(value, Mapping):
        return dict(value or {})
    raise DataError(f"{name}: expected an object; got {value!r:.60}")


def _read_gold(
    row: JsonObject,
) -> tuple[dict[str, float], tuple[str, ...], tuple[Span, ...], tuple[GoldSection, ...]]:
    grades: dict[str, float] = {}
    spans: list[Span] = []
    sections: list[GoldSection] = []
    for name in ("relevant", "relevant_spans"):
        value = _first_value(row, name)
        if value is not None:
            gold = cells.gold(value)
            grades |= gold.grades
            spans += [span for span, _ in gold.spans]
            sections += gold.sections
    written = _first_value(row, "relevant_sections")
    for document, chunk, grade in [] if written is None else cells.graded_sections(written):
        grades.setdefault(chunk, 1.0 if grade is None else grade)
        sections.append((document, chunk, grades[chunk] if grade is None else grade))
    texts = list(_read_texts(row, "relevant_texts"))
    for name in _PASSAGES:
        sections += _add_passages(row.get(name), grades, texts)
    unique = tuple(dict.fromkeys(sections))
    return grades, _unique_texts(texts), tuple(dict.fromkeys(spans)), unique


def _add_passages(value: object, grades: dict[str, float], texts: list[str]) -> list[GoldSection]:
    """Add passages in the forms of other sets: texts, or objects with an id, a text or a fact."""
    sections: list[GoldSection] = []
    passages = [] if value is None else value if isinstance(value, list) else [value]
    for passage in passages:
        if isinstance(passage, str):
            texts.append(passage)
            continue
        text, has_id = None, False
        if isinstance(passage, Mapping):
            text = passage.get("text", passage.get("fact"))
            has_id = not _PASSAGE_IDS.isdisjoint(passage)
        if text is None and not has_id:
            raise DataError(f"expected a passage with a text or an id; got {passage!r:.60}")
        if isinstance(text, str):
            texts.append(text)
        if has_id:
            gold = cells.gold([passage])
            sections += gold.sections
            for chunk, grade in gold.grades.items():
                grades[chunk] = max(grade, grades.get(chunk, grade)) if gold.sections else grade
    return sections


def _read_answerable(
    row: JsonObject, metadata: Mapping[str, Any], references: tuple[str, ...]
) -> bool | None:
    """The item's own field, else what its type implies, else True if there is a reference."""
    answerable = _first_value(row, "answerable")
    unanswerable = row.get(_UNANSWERABLE)
    try:
        if answerable is not None:
            return cells.truth(answerable)
        if unanswerable is not None:
            return not cells.truth(unanswerable)
    except cells.CellError as exc:
        raise DataError(f"answerable: {exc}") from exc
    # ragbench's sets say it by the type alone.
    if metadata.get("query_type") == "unanswerable":
        return False
    return True if references else None


# -- several items


def count_metadata_keys(items: Iterable[GoldenItem]) -> Counter[str]:
    """The number of items with each key of the metadata, to find misspelt fields."""
    return Counter(key for item in items for key in item.metadata)


def check_keys(items: Sequence[GoldenItem], by: Iterable[str]) -> tuple[str, ...]:
    """Check that some item has a value for each of the keys.

    Parameters
    ----------
    items : sequence of GoldenItem
        The set.
    by : iterable of str
        Keys of the metadata, or "answerable".

    Returns
    -------
    tuple of str
        The keys.

    Raises
    ------
    UnknownNameError
        If no item has a key.

    Examples
    --------
    >>> check_keys([GoldenItem("a", "Who?", answerable=True)], ["answerable"])
    ('answerable',)
    """
    keys, known = tuple(by), filled_keys(items)
    for key in keys:
        if key not in known:
            raise UnknownNameError("key of the items", key, known)
    return keys


def filled_keys(items: Iterable[GoldenItem]) -> set[str]:
    """The keys of the metadata that some item has; also "answerable", if an item says so."""
    every = list(items)
    keys = {key for item in every for key, value in item.metadata.items() if value is not None}
    says_answerable = any(item.answerable is not None for item in every)
    return keys | ({"answerable"} if says_answerable else set())


def golden_list(items: Iterable[GoldenItem]) -> list[GoldenItem]:
    """The items as a list.

    Raises
    ------
    ArgumentKindError
        If one of them is not a `GoldenItem`.
    """
    every = list(items)
    wrong = [item for item in every if not isinstance(item, GoldenItem)]
    if wrong:
        raise ArgumentKindError(
            "items must be golden items, which read_golden(path) gives; got "
            f"{describe_kind(wrong[0])}"
        )
    return every


def check_item_ids(items: Iterable[GoldenItem]) -> list[GoldenItem]:
    """The items as a list, after a check that each id is unique.

    Raises
    ------
    DataError
        If there are none, or an id appears twice.
    """
    every = golden_list(items)
    counts = Counter(item.query_id for item in every)
    repeated = [query_id for query_id, n in counts.items() if n > 1]
    if repeated:
        raise DataError(f"query ids must be unique; these appear more than once: {named(repeated)}")
    if not every:
        raise DataError("expected golden items; there are none")
    return every
