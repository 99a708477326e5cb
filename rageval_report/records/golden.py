"""Golden sets: what is right for each question, read from JSON Lines, written, drawn, recorded."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd

from rageval_report.errors import (
    ArgumentKindError,
    DataError,
    ReaderError,
    UnknownNameError,
    check_choice,
    named,
)
from rageval_report.files.source import Source, json_objects
from rageval_report.files.writing import write_atomically
from rageval_report.records import cells
from rageval_report.records.cells import Span
from rageval_report.records.datasets import (
    Dataset,
    DatasetPart,
    DatasetRequest,
    RecordFields,
    table_of_rows,
)
from rageval_report.records.draws import count_unanswerable, equal_shares, proportional_shares
from rageval_report.records.levels import FIELD_NAMES, GoldSection
from rageval_report.records.table import FIELDS
from rageval_report.scores.query_ids import QUERY_ID, plain_text
from rageval_report.types import JsonObject

GoldKind = Literal["auto", "ids", "spans", "texts", "documents"]

# The fields of an item, and their names in other golden sets.
ITEM_FIELDS = {name: tuple(names) for name, names in FIELD_NAMES["items"].items()}
_UNANSWERABLE = "is_unanswerable"
_PASSAGES = ("gold_passages", "evidence")  # lists of objects, or of texts
_PASSAGE_IDS = frozenset(("doc_id", "document_id", "chunk_id", "node_id", "id"))
_FIELD_KEYS = {*ITEM_FIELDS, *sum(ITEM_FIELDS.values(), ()), _UNANSWERABLE, *_PASSAGES}
# The names of a record's fields, which metadata must not replace.
_RECORD_NAMES = {QUERY_ID, *FIELDS, *sum(FIELDS.values(), ())}

HIGHLY_RELEVANT = 2.0  # nfcorpus, for which ADR-013 defined this evaluation, grades 1 and 2


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
    >>> item = GoldenItem("a", "Who wrote it?", references=("Ann",), metadata={"domain": "books"})
    >>> item.as_dict()["references"], item.value_of("domain")
    (['Ann'], 'books')
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

    def value_of(self, key: str) -> Any:
        """What the item says about a key of its metadata, or about "answerable"."""
        return self.answerable if key == "answerable" else self.metadata.get(key)

    def as_dict(self) -> dict[str, Any]:
        """The JSON object of the item, without empty fields."""
        values = {name: _plain(getattr(self, name)) for name in ITEM_FIELDS}
        return {name: value for name, value in values.items() if value not in (None, [], {})}


def _plain(value: object) -> object:
    """A value of an item as JSON knows it."""
    if isinstance(value, tuple):
        return [list(item) if isinstance(item, tuple) else item for item in value]
    return dict(value) if isinstance(value, Mapping) else value


# -- files


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
    are_lines = not isinstance(document, list)
    rows: Iterable[tuple[int, object]]
    rows = json_objects(source) if are_lines else enumerate(document, 1)
    items: list[GoldenItem] = []
    places: dict[str, int] = {}
    for number, row in rows:
        try:
            items.append(golden_item(row))
        except DataError as exc:
            where = "" if are_lines else f"entry {number}: "
            raise source.error(f"{where}{exc}", line=number if are_lines else None) from exc
        query_id = items[-1].query_id
        if places.setdefault(query_id, number) != number:
            raise source.error(
                f"the id {query_id!r} appears in {'lines' if are_lines else 'entries'} "
                f"{places[query_id]} and {number}; give each question its own"
            )
    if not items:
        raise source.error("expected questions; there are none")
    return items


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
    return write_atomically(path, golden_text(check_items(items)))


def golden_text(items: Iterable[GoldenItem]) -> str:
    """The lines of a golden set."""
    return "".join(json.dumps(item.as_dict(), ensure_ascii=False) + "\n" for item in items)


# -- one object


def golden_item(row: object) -> GoldenItem:
    """The item of a JSON object, a parsed line of a golden set."""
    if not isinstance(row, Mapping):
        raise DataError(f"expected an object; got {row!r:.60}")
    question = _value(row, "question")
    if not isinstance(question, str) or not question.strip():
        raise DataError(f"every item needs a question, a text; got {question!r:.60}")
    query_id = _value(row, "query_id")
    if query_id is None:
        # Without an id the question is its own: it keeps the same id in every file.
        plain = plain_text(question).encode("utf-8", "surrogatepass")
        query_id = "q-" + blake2b(plain, digest_size=8).hexdigest()
    others = {str(key): value for key, value in row.items() if key not in _FIELD_KEYS}
    try:
        fields: dict[str, Any] = {
            "query_id": cells.doc_id(query_id),
            "question": question,
            **_read_gold(row),
            **{name: _read_texts(row, name) for name in ("references", "negative_references")},
            "metadata": {**_read_object(row, "metadata"), **others},
            "provenance": _read_object(row, "provenance"),
        }
    except cells.CellError as exc:
        raise DataError(str(exc)) from exc
    answerable = _read_answerable(row, fields["metadata"], fields["references"])
    return GoldenItem(**fields, answerable=answerable)


def _value(row: JsonObject, name: str) -> Any:
    """The first value that is not missing, under any name of the field."""
    values = (row[key] for key in (name, *ITEM_FIELDS[name]) if key in row)
    return next((value for value in values if not cells.is_missing(value)), None)


def _read_texts(row: JsonObject, name: str) -> tuple[str, ...]:
    value = _value(row, name)
    try:
        return _distinct(() if value is None else cells.texts(value))
    except cells.CellError as exc:
        raise DataError(f"{name}: {exc}") from exc


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


def _read_object(row: JsonObject, name: str) -> dict[str, Any]:
    value = _value(row, name)
    if value is None or isinstance(value, Mapping):
        return dict(value or {})
    raise DataError(f"{name}: expected an object; got {value!r:.60}")


def _read_gold(row: JsonObject) -> dict[str, Any]:
    """The fields of the item that say what is relevant."""
    grades: dict[str, float] = {}
    spans: list[Span] = []
    sections: list[GoldSection] = []
    for name in ("relevant", "relevant_spans"):
        gold = cells.optional(cells.gold)(_value(row, name)) or cells.GoldCell()
        grades |= gold.grades
        spans += [span for span, _ in gold.spans]
        sections += gold.sections
    written = cells.optional(cells.graded_sections)(_value(row, "relevant_sections"))
    for document, chunk, grade in written or []:
        grades.setdefault(chunk, 1.0 if grade is None else grade)
        sections.append((document, chunk, grades[chunk] if grade is None else grade))
    texts = list(_read_texts(row, "relevant_texts"))
    for value in (row.get(name) for name in _PASSAGES):
        for passage in [] if value is None else value if isinstance(value, list) else [value]:
            sections += _add_passage(passage, grades, texts)
    return {
        "relevant": grades,
        "relevant_texts": _distinct(texts),
        "relevant_spans": tuple(dict.fromkeys(spans)),
        "relevant_sections": tuple(dict.fromkeys(sections)),
    }


def _add_passage(passage: object, grades: dict[str, float], texts: list[str]) -> list[GoldSection]:
    """Add a passage as other sets write it: a text, or an object with an id, a text or a fact."""
    fields = {"text": passage} if isinstance(passage, str) else passage
    text, has_id = None, False
    if isinstance(fields, Mapping):
        text = fields.get("text", fields.get("fact"))
        has_id = not _PASSAGE_IDS.isdisjoint(fields)
    if text is None and not has_id:
        raise DataError(f"expected a passage with a text or an id; got {passage!r:.60}")
    if isinstance(text, str):
        texts.append(text)
    gold = cells.gold([passage]) if has_id else cells.GoldCell()
    for chunk, grade in gold.grades.items():
        grades[chunk] = max(grade, grades.get(chunk, grade)) if gold.sections else grade
    return gold.sections


def _read_answerable(
    row: JsonObject, metadata: Mapping[str, Any], references: tuple[str, ...]
) -> bool | None:
    """The item's own field, else what its type implies, else True if there is a reference."""
    answerable, unanswerable = _value(row, "answerable"), row.get(_UNANSWERABLE)
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


def check_items(items: Iterable[GoldenItem]) -> list[GoldenItem]:
    """The items as a list, after a check that there are some and that each id is unique."""
    every = list(items)
    if not all(isinstance(item, GoldenItem) for item in every):
        raise ArgumentKindError("items must be golden items, which read_golden(path) gives")
    counts = Counter(item.query_id for item in every)
    repeated = [query_id for query_id, n in counts.items() if n > 1]
    if repeated:
        raise DataError(f"query ids must be unique; these appear more than once: {named(repeated)}")
    if not every:
        raise DataError("expected golden items; there are none")
    return every


def check_keys(items: Sequence[GoldenItem], by: Iterable[str] | None) -> tuple[str, ...]:
    """The keys, of which some item must have a value; if omitted, "query_type" if there is any."""
    keys = ("query_type",) if by is None else tuple(by)
    known = {*(key for item in items for key in item.metadata), "answerable"}
    filled = {key for key in known if any(item.value_of(key) is not None for item in items)}
    unknown = [key for key in keys if key not in filled]
    if unknown and by is not None:
        raise UnknownNameError("key of the items", unknown[0], filled)
    return () if unknown else keys


# -- records


def golden_records(items: Iterable[GoldenItem], *, gold: GoldKind = "auto") -> pd.DataFrame:
    """The records of golden items, to ask a pipeline and score it.

    Parameters
    ----------
    items : iterable of GoldenItem
        The items.
    gold : {"auto", "ids", "spans", "texts", "documents"}
        What decides whether a retrieved chunk is relevant: ids; places in files, for which each
        retrieved chunk needs its place; exact texts, for which it needs its text; or the files of
        the spans as ids, for a pipeline that names the documents it retrieved. "auto" takes for
        each item the first of ids, spans and texts that it has.

    Returns
    -------
    DataFrame
        As `rageval_report.records.record_table` returns it, with metadata in columns of their own.

    Raises
    ------
    DataError
        If there is no item, or two have the same id.

    Examples
    --------
    >>> item = GoldenItem("a", "Who?", references=("Ann",), relevant={"d1": 1.0})
    >>> golden_records([item]).loc["a", "relevant"]
    {'d1': 1.0}
    """
    check_choice("gold", gold, get_args(GoldKind))
    return table_of_rows([_record(item, gold) for item in check_items(items)])


def _record(item: GoldenItem, gold: GoldKind = "auto") -> RecordFields:
    values: dict[str, Any] = {
        "ids": dict(item.relevant),
        "spans": [tuple(span) for span in item.relevant_spans],
        "texts": list(item.relevant_texts),
        "documents": {span.filename: 1.0 for span in item.relevant_spans},
    }
    # Ids first: they are compared exactly, spans and texts need a match.
    kind = next((name for name in values if values[name]), "ids") if gold == "auto" else gold
    field_name = {"spans": "relevant_spans", "texts": "relevant_texts"}.get(kind, "relevant")
    sections = {"relevant_sections": list(item.relevant_sections) or None} if kind == "ids" else {}
    return {
        **{f"{k}_given" if k in _RECORD_NAMES else k: v for k, v in item.metadata.items()},
        QUERY_ID: item.query_id,
        "question": item.question,
        "reference": list(item.references) or None,
        "negative_reference": list(item.negative_references) or None,
        "answerable": item.answerable,
        field_name: values[kind] or None,
        **sections,
    }


def records_text(records: pd.DataFrame) -> str:
    """Records as JSON Lines, without missing values."""
    rows = records.astype(object).reset_index().to_dict("records")
    filled = (
        {key: cell for key, cell in row.items() if not cells.is_missing(cell)} for row in rows
    )
    return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in filled)


def _parts(request: DatasetRequest) -> list[DatasetPart]:
    if request.path is None:
        raise DataError("path is missing: a golden set is a file of yours, so give its path")
    if request.subset or request.split:
        raise DataError("a golden set has no subsets or splits")
    items = read_golden(request.path)
    return [DatasetPart(str(request.path), items, _record)]


GOLDEN = Dataset(
    "golden",
    "Your own questions, in JSON Lines: references, gold, what has no answer, where it comes from",
    "yours",
    "as many as you have",
    _parts,
)


# -- highly relevant documents


def highly_relevant(records: pd.DataFrame, *, grade: float | None = None) -> pd.DataFrame:
    """The queries with highly relevant documents, which become their gold.

    Parameters
    ----------
    records : DataFrame
        With ``relevant``, a dict of id to grade, as `load_dataset` returns them.
    grade : float, optional
        The lowest grade that counts as highly relevant; as `high_grade` says if omitted.

    Returns
    -------
    DataFrame
        The rows of these queries; ``relevant`` contains only the highly relevant documents, and
        ``highly_relevant_count`` their number.

    Raises
    ------
    DataError
        If there is no gold, or no grade is that high.

    Examples
    --------
    >>> records = pd.DataFrame({"relevant": [{"a": 2.0, "b": 1.0}, {"b": 1.0}]}, index=["q", "r"])
    >>> highly_relevant(records)["relevant"].to_dict()
    {'q': {'a': 2.0}}
    """
    lowest, _ = high_grade(records, grade)
    high = [
        {name: value for name, value in (grades or {}).items() if value >= lowest}
        for grades in records["relevant"].tolist()
    ]
    if not any(high):
        raise DataError(f"no query has a document of grade {lowest:g} or higher")
    rows = records.assign(relevant=pd.Series(high, index=records.index, dtype=object))
    if "relevant_sections" in rows:
        sections = [
            [section for section in cell or () if section[2] >= lowest] or None
            for cell in rows["relevant_sections"].tolist()
        ]
        rows["relevant_sections"] = pd.Series(sections, index=rows.index, dtype=object)
    rows = rows[list(map(bool, high))]
    return rows.assign(highly_relevant_count=rows["relevant"].map(len))


def high_grade(records: pd.DataFrame, grade: float | None = None) -> tuple[float, str]:
    """The lowest grade that counts as highly relevant, and a note if the judgments decide it."""
    if "relevant" not in records:
        raise DataError("expected records with a column 'relevant'; there is none")
    if grade is not None:
        return grade, ""
    highest = max(
        (value for grades in records["relevant"].tolist() for value in (grades or {}).values()),
        default=HIGHLY_RELEVANT,
    )
    if highest >= HIGHLY_RELEVANT or highest <= 0:
        return HIGHLY_RELEVANT, ""
    return highest, (
        f"the highest grade of the judgments is {highest:g}, below {HIGHLY_RELEVANT:g}: documents "
        "of this grade count as highly relevant"
    )


# -- samples

Allocation = Literal["proportional", "equal"]


def sample_golden(
    items: Iterable[GoldenItem],
    n: int,
    *,
    by: Sequence[str] | None = None,
    how: Allocation = "proportional",
    unanswerable_ratio: float | None = None,
    seed: int = 0,
) -> list[GoldenItem]:
    """Draw items, stratum by stratum.

    Parameters
    ----------
    items : iterable of GoldenItem
        The set.
    n : int
        The number of items to draw, without replacement.
    by : sequence of str, optional
        The metadata keys that make the strata, or "answerable"; an empty sequence draws from all
        items alike. If omitted, "query_type", if the items have it.
    how : {"proportional", "equal"}
        In proportion to the size of each stratum, rounded by largest remainders; or the same number
        of each stratum, as far as it has them.
    unanswerable_ratio : float, optional
        The share of the sample that has no answer, from 0 to 1; as in the set if omitted. Items
        that do not say whether they have an answer are then left out.
    seed : int
        The seed of the draw.

    Returns
    -------
    list of GoldenItem
        In the order of the set. Which items are drawn depends on their ids and the seed, not on
        their order.

    Raises
    ------
    DataError
        If there are too few items, or too few with or without an answer.
    UnknownNameError
        If no item has a key of `by`.

    Examples
    --------
    >>> items = [GoldenItem(f"q{n}", "Who?", metadata={"query_type": n % 2}) for n in range(10)]
    >>> drawn = sample_golden(items, 4)
    >>> sorted(item.metadata["query_type"] for item in drawn)
    [0, 0, 1, 1]
    """
    every = check_items(items)
    check_choice("how", how, get_args(Allocation))
    if isinstance(n, bool) or not 1 <= n <= len(every):
        raise DataError(
            f"n must be an integer from 1 to {len(every)}, the number of items; got {n!r}"
        )
    keys = check_keys(every, by)
    share = proportional_shares if how == "proportional" else equal_shares
    drawn: set[str] = set()
    for pool, n_drawn in _pools(every, n, unanswerable_ratio):
        strata: defaultdict[tuple[str, ...], list[GoldenItem]] = defaultdict(list)
        for item in pool:
            strata[tuple(str(item.value_of(key)) for key in keys)].append(item)
        groups = [strata[stratum] for stratum in sorted(strata, key=str)]
        for group, size in zip(groups, share(list(map(len, groups)), n_drawn), strict=True):
            # By lots of the ids, so that a larger sample contains the smaller one and new items
            # change few others.
            by_lot = sorted(group, key=lambda item: _lot(item.query_id, seed))
            drawn |= {item.query_id for item in by_lot[:size]}
    return [item for item in every if item.query_id in drawn]


def _pools(
    items: list[GoldenItem], n: int, unanswerable_ratio: float | None
) -> list[tuple[list[GoldenItem], int]]:
    """The items to draw from with their number: all, or those without and with an answer."""
    if unanswerable_ratio is None:
        return [(items, n)]
    without = [item for item in items if item.answerable is False]
    answerable = [item for item in items if item.answerable is True]
    n_without = count_unanswerable(n, unanswerable_ratio)
    if n_without > len(without) or n - n_without > len(answerable):
        raise DataError(
            f"cannot reach unanswerable_ratio={unanswerable_ratio:g}: {n} questions are "
            f"{n_without} without and {n - n_without} with an answer; there are "
            f"{len(without)} and {len(answerable)}"
        )
    return [(without, n_without), (answerable, n - n_without)]


def _lot(query_id: str, seed: int) -> bytes:
    """A random number of an id: the same wherever the item stands, and whatever the other items."""
    return blake2b(f"{seed}\x00{query_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()


# -- the documents that a golden set is about

_SUFFIXES = (".txt", ".md", ".rst", ".text", ".markdown")


class Documents(dict[str, str]):
    r"""Texts by name, from a folder or a mapping.

    Parameters
    ----------
    source : path or mapping of str to str
        A folder, whose text files are named by their relative paths, with slashes; one file; or
        texts by name.

    Raises
    ------
    ReaderError
        If the folder or file does not exist.

    Examples
    --------
    >>> Documents({"a.md": "One.\n\nTwo."})["a.md"]
    'One.\n\nTwo.'
    """

    def __init__(self, source: str | Path | Mapping[str, str]):
        if isinstance(source, Mapping):
            super().__init__({str(name): str(text) for name, text in source.items()})
            return
        path = Path(source)
        if not path.exists():
            raise ReaderError("there is no such folder or file of documents; check the path", path)
        root, files = path.parent, [path]
        if path.is_dir():
            texts = (file for file in path.rglob("*") if file.suffix.lower() in _SUFFIXES)
            root, files = path, sorted(file for file in texts if file.is_file())
        # An empty file is no error here, as it is for a source.
        super().__init__(
            (file.relative_to(root).as_posix(), Source(file).text if file.stat().st_size else "")
            for file in files
        )
