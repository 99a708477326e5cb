"""The two levels of ids: a chunk is part of a document, and a passage may carry both ids.

A passage is written as a *section*: its document, None if unknown, and its id, which is that of the
chunk, or the only id that is known. The fields ``retrieved_sections``, ``relevant_sections`` and
``cited_sections`` hold them beside the ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Literal, get_args

import pandas as pd

from rageval_report.errors import check_choice

Level = Literal["chunk", "document"]
LevelOption = Literal["auto", "chunk", "document"]
LEVEL_OPTIONS: tuple[LevelOption, ...] = get_args(LevelOption)

Section = tuple[str | None, str]
GoldSection = tuple[str | None, str, float]

PassageField = Literal["retrieved", "citations"]

# The field of sections beside each field of ids.
SECTION_FIELDS = {
    "retrieved": "retrieved_sections",
    "citations": "cited_sections",
    "relevant": "relevant_sections",
}
_WORDS: dict[PassageField, tuple[str, str]] = {
    "retrieved": ("retrieved passages", "retrieval metrics"),
    "citations": ("citations", "citation metrics"),
}


@dataclass(frozen=True)
class LevelCounts:
    """At which levels gold and passages have ids, and where these meet.

    Counts of several tables can be added up.

    Parameters
    ----------
    n_gold, n_passages : int
        The number of relevant gold items, and of retrieved or cited passages.
    n_gold_both, n_passages_both : int
        How many of them carry the id of a document beside their own.
    n_chunks_met, n_documents_met : int
        Where only one side carries both ids: how many gold items meet a passage of their query by
        the id of the chunk, and by that of the document.
    """

    n_gold: int = 0
    n_gold_both: int = 0
    n_passages: int = 0
    n_passages_both: int = 0
    n_chunks_met: int = 0
    n_documents_met: int = 0

    def __add__(self, other: LevelCounts) -> LevelCounts:
        pairs = zip(astuple(self), astuple(other), strict=True)
        return LevelCounts(*(first + second for first, second in pairs))


@dataclass(frozen=True)
class LevelChoice:
    """The level at which metrics are computed.

    Parameters
    ----------
    level : {"chunk", "document"}, optional
        None if gold and passages have one id each, which are compared as they are.
    has_both : bool
        Whether gold or passages carry both ids.
    note : str
        How the level was chosen; empty if there was nothing to choose.
    """

    level: Level | None = None
    has_both: bool = False
    note: str = ""


def levels_present(records: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """How many retrieved, relevant and cited passages there are, and how many carry both ids.

    Parameters
    ----------
    records : DataFrame
        As `rageval_report.records.record_table` returns them.

    Returns
    -------
    dict of str to (int, int)
        For each of "retrieved", "relevant" and "citations" that the records have: the number of
        passages, and how many name their document beside their own id.

    Examples
    --------
    >>> from rageval_report.records import record_table
    >>> passages = [{"document_id": "guide", "node_id": "n1"}, "n2"]
    >>> levels_present(record_table([{"query_id": "q", "retrieved": passages, "relevant": ["n1"]}]))
    {'retrieved': (2, 1), 'relevant': (1, 0)}
    """
    counts = {}
    for field in SECTION_FIELDS:
        if field in records:
            rows = gold_sections(records) if field == "relevant" else sections_in(records, field)
            documents = [section[0] for row in rows for section in row or ()]
            counts[field] = (len(documents), sum(name is not None for name in documents))
    return counts


def sections_in(records: pd.DataFrame, field: str) -> list[list[Section] | None]:
    """The sections of the retrieved or cited passages of each query; None where unknown.

    Examples
    --------
    >>> sections_in(pd.DataFrame({"retrieved": [["a"], None]}), "retrieved")
    [[(None, 'a')], None]
    """
    rows = zip(_column(records, field), _column(records, SECTION_FIELDS[field]), strict=True)
    return [
        None if ids is None else _pairs(sections) if sections else [(None, name) for name in ids]
        for ids, sections in rows
    ]


def gold_sections(records: pd.DataFrame) -> list[list[GoldSection] | None]:
    """The sections of the gold of each query with their grades; None where unknown.

    Examples
    --------
    >>> gold_sections(pd.DataFrame({"relevant": [{"a": 2.0}]}))
    [[(None, 'a', 2.0)]]
    """
    rows = zip(_column(records, "relevant"), _column(records, "relevant_sections"), strict=True)
    return [None if grades is None else _graded(grades, sections) for grades, sections in rows]


def _column(records: pd.DataFrame, field: str) -> list[Any]:
    return records[field].tolist() if field in records else [None] * len(records)


def _pairs(sections: Iterable[Sequence[Any]]) -> list[Section]:
    return [(section[0], section[1]) for section in sections]


def _graded(grades: Mapping[str, float], sections: Sequence[Any] | None) -> list[GoldSection]:
    """The sections with their grades; a pair without a grade of its own has that of its id."""
    graded = [
        (section[0], section[1], section[2] if len(section) > 2 else grades.get(section[1], 1.0))
        for section in sections or ()
    ]
    named = {name for _, name, _ in graded}
    return graded + [(None, name, grade) for name, grade in grades.items() if name not in named]


# -- which level


def count_levels(records: pd.DataFrame, field: PassageField = "retrieved") -> LevelCounts:
    """At which levels the gold and the retrieved or cited passages have ids.

    Parameters
    ----------
    records : DataFrame
        As `rageval_report.records.record_table` returns them.
    field : {"retrieved", "citations"}
        The passages.

    Examples
    --------
    >>> from rageval_report.records import record_table
    >>> passages = [{"document_id": "guide", "node_id": "n1"}]
    >>> row = {"query_id": "q", "retrieved": passages, "relevant": ["guide"]}
    >>> counts = count_levels(record_table([row]))
    >>> counts.n_passages_both, counts.n_chunks_met, counts.n_documents_met
    (1, 0, 1)
    """
    if not {SECTION_FIELDS[field], "relevant_sections"} & set(records):
        return LevelCounts()  # one id each: there is nothing to choose
    rows = zip(sections_in(records, field), gold_sections(records), strict=True)
    counts = [
        _count_row(passages or [], [item for item in gold or [] if item[2] > 0])
        for passages, gold in rows
    ]
    return LevelCounts(*(sum(column) for column in zip(*counts, strict=True)))


def _count_row(passages: list[Section], gold: list[GoldSection]) -> tuple[int, ...]:
    """The counts of one query, in the order of the fields of `LevelCounts`."""
    chunks = {name for document, name in passages if document is not None}
    documents = {document for document, _ in passages if document is not None}
    plain = {name for document, name in passages if document is None}
    chunks_met = documents_met = 0
    for document, name, _ in gold:
        # Ids of unknown level are compared with both ids of the other side.
        by_chunk, by_document = (chunks, documents) if document is None else (plain, plain)
        chunks_met += name in by_chunk
        documents_met += (name if document is None else document) in by_document
    return (
        len(gold),
        sum(document is not None for document, _, _ in gold),
        len(passages),
        sum(document is not None for document, _ in passages),
        chunks_met,
        documents_met,
    )


def choose_level(
    counts: LevelCounts, level: LevelOption = "auto", field: PassageField = "retrieved"
) -> LevelChoice:
    """The level at which metrics are computed.

    Parameters
    ----------
    counts : LevelCounts
        The result of `count_levels`.
    level : {"auto", "chunk", "document"}
        The level that the user chose. "auto" is the level of chunks if all gold and all passages
        carry both ids; if one side has a single id, the level at which more of the gold meets a
        passage.
    field : {"retrieved", "citations"}
        The passages, for the note.

    Raises
    ------
    UnknownValueError
        If `level` has another value.

    Examples
    --------
    >>> choice = choose_level(LevelCounts(4, 0, 9, 9, n_chunks_met=0, n_documents_met=3))
    >>> choice.level
    'document'
    >>> choice.note[:82]
    'level: the gold has one id each and the retrieved passages carry both ids; 3 of 4 '
    """
    check_choice("level", level, LEVEL_OPTIONS)
    has_both = counts.n_gold_both + counts.n_passages_both > 0
    if level != "auto":
        return LevelChoice(level, has_both)
    if not has_both:
        return LevelChoice()
    passages, metrics = _WORDS[field]
    ids = _ids_in_words(counts, passages)
    if counts.n_gold == counts.n_gold_both and counts.n_passages == counts.n_passages_both:
        return LevelChoice("chunk", has_both, f"level: {ids}; {metrics} are computed at the level "
                           'of chunks; level="document" counts documents')  # fmt: skip
    # Equal counts, above all 0 and 0, say nothing about the level; chunks are the ids that the
    # records have had all along.
    met: Level = "document" if counts.n_documents_met > counts.n_chunks_met else "chunk"
    return LevelChoice(
        met,
        has_both,
        f"level: {ids}; {counts.n_documents_met} of {counts.n_gold} gold ids meet documents and "
        f"{counts.n_chunks_met} meet chunks, so {metrics} are computed at the level of {met}s",
    )


def _ids_in_words(counts: LevelCounts, passages: str) -> str:
    gold = _has_in_words(counts.n_gold_both, counts.n_gold, "carries", "has")
    others = _has_in_words(counts.n_passages_both, counts.n_passages, "carry", "have")
    if gold == "carries both ids" and others == "carry both ids":
        return f"gold and {passages} carry both ids"
    return f"the gold {gold} and the {passages} {others}"


def _has_in_words(n_both: int, n: int, carries: str, has: str) -> str:
    if n_both == n:
        return f"{carries} both ids"
    return f"{carries} both ids in {n_both} of {n} items" if n_both else f"{has} one id each"


# -- ids at a level


def records_at_level(records: pd.DataFrame, level: Level | None) -> pd.DataFrame:
    """The records with the ids of one level in ``retrieved``, ``relevant`` and ``citations``.

    Parameters
    ----------
    records : DataFrame
        As `rageval_report.records.record_table` returns them.
    level : {"chunk", "document"}, optional
        The level; None leaves the ids as they are. A passage whose document is unknown has its only
        id at both levels. Of several gold chunks of one document the highest grade counts.

    Returns
    -------
    DataFrame
        The same rows and columns. If documents number their chunks alike, a chunk has both ids.

    Examples
    --------
    >>> from rageval_report.records import record_table
    >>> passages = [{"document_id": "guide", "node_id": n} for n in ("n1", "n2")]
    >>> records = record_table([{"query_id": "q", "retrieved": passages, "relevant": ["guide"]}])
    >>> records_at_level(records, "document").loc["q", "retrieved"]
    ['guide', 'guide']
    """
    has_sections = not set(SECTION_FIELDS.values()).isdisjoint(records)
    if level is None or not (has_sections or level == "document"):
        return records
    rows = zip(
        sections_in(records, "retrieved"),
        gold_sections(records),
        sections_in(records, "citations"),
        strict=True,
    )
    keyed = [_key_row(level, *row) for row in rows]
    retrieved, relevant, cited = (list(cells) for cells in zip(*keyed, strict=True))
    columns: dict[str, list[Any]] = {
        "retrieved": retrieved,
        "relevant": relevant,
        "citations": cited,
    }
    if level == "document":
        # The section of a whole document is the document itself.
        columns["relevant_sections"] = [
            gold and [(name, name, grade) for name, grade in gold.items()] for gold in relevant
        ]
        columns["cited_sections"] = [ids and [(name, name) for name in ids] for ids in cited]
    present = {
        field: pd.Series(list(cells), index=records.index, dtype=object)
        for field, cells in columns.items()
        if _main_field(field) in records
    }
    return records.drop(columns="retrieved_sections", errors="ignore").assign(**present)


def _main_field(field: str) -> str:
    mains = {sections: main for main, sections in SECTION_FIELDS.items()}
    return mains.get(field, field)


def _key_row(
    level: Level,
    retrieved: list[Section] | None,
    gold: list[GoldSection] | None,
    cited: list[Section] | None,
) -> tuple[list[str] | None, dict[str, float] | None, list[str] | None]:
    """The ids of the passages of one query at a level."""
    known = [*(retrieved or []), *((document, name) for document, name, _ in gold or [])]
    shared = set() if level == "document" else _shared_numbers(known)

    def key(section: Section) -> str:
        document, name = section
        if level == "document":
            return name if document is None else document
        return str(section) if name in shared else name

    grades: dict[str, float] = {}
    for document, name, grade in gold or []:
        gold_key = key((document, name))
        grades[gold_key] = max(grade, grades.get(gold_key, grade))
    return (
        None if retrieved is None else [key(section) for section in retrieved],
        None if gold is None else grades,
        None if cited is None else [key(section) for section in cited],
    )


def _shared_numbers(sections: Iterable[Section]) -> set[str]:
    """The ids that chunks of two documents have; none if one of them may be of any document."""
    documents: dict[str, set[str | None]] = {}
    for document, name in sections:
        documents.setdefault(name, set()).add(document)
    return {name for name, owners in documents.items() if len(owners) > 1 and None not in owners}
