"""The two levels of ids: a chunk is part of a document, and a passage may carry both ids.

A passage is written as a *section*: its document, None if unknown, and its id, which is that of the
chunk, or the only id that is known. The fields ``retrieved_sections``, ``relevant_sections`` and
``cited_sections`` hold them beside the ids.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """At which levels relevant gold and retrieved or cited passages have ids."""

    n_gold: int = 0
    n_gold_both: int = 0
    n_passages: int = 0
    n_passages_both: int = 0
    n_chunks_met: int = 0
    n_documents_met: int = 0

    def __add__(self, other: LevelCounts) -> LevelCounts:
        return LevelCounts(*map(sum, zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class LevelChoice:
    """The level at which metrics are computed, and how it was chosen."""

    level: Level | None = None
    has_both: bool = False
    note: str = ""


def sections_in(records: pd.DataFrame, field: str) -> list[list[Section] | None]:
    """The sections of the retrieved or cited passages of each query; None where unknown."""
    return [
        None
        if ids is None
        else [(section[0], section[1]) for section in sections]
        if sections
        else [(None, name) for name in ids]
        for ids, sections in _ids_and_sections(records, field)
    ]


def gold_sections(records: pd.DataFrame) -> list[list[GoldSection] | None]:
    """The sections of the gold of each query with their grades; None where unknown."""
    gold: list[list[GoldSection] | None] = []
    for grades, sections in _ids_and_sections(records, "relevant"):
        if grades is None:
            gold.append(None)
            continue
        # A pair without a grade of its own has that of its id.
        graded = [
            (
                section[0],
                section[1],
                section[2] if len(section) > 2 else grades.get(section[1], 1.0),
            )
            for section in sections or ()
        ]
        named = {name for _, name, _ in graded}
        rest = [(None, name, grade) for name, grade in grades.items() if name not in named]
        gold.append(graded + rest)
    return gold


def _ids_and_sections(records: pd.DataFrame, field: str) -> list[tuple[Any, Any]]:
    columns = [
        records[name].tolist() if name in records else [None] * len(records)
        for name in (field, SECTION_FIELDS[field])
    ]
    return list(zip(*columns, strict=True))


def count_levels(records: pd.DataFrame, field: PassageField = "retrieved") -> LevelCounts:
    """At which levels the gold and the retrieved or cited passages have ids."""
    if not {SECTION_FIELDS[field], "relevant_sections"} & set(records):
        return LevelCounts()  # one id each: there is nothing to choose
    rows = zip(sections_in(records, field), gold_sections(records), strict=True)
    counts = [
        _count_row(passages or [], [item for item in gold or [] if item[2] > 0])
        for passages, gold in rows
    ]
    return LevelCounts(*map(sum, zip(*counts, strict=True)))


def _count_row(passages: list[Section], gold: list[GoldSection]) -> tuple[int, ...]:
    """The counts of one query, in the order of the fields of `LevelCounts`."""
    with_both = [section for section in passages if section[0] is not None]
    documents, chunks = {document for document, _ in with_both}, {name for _, name in with_both}
    plain = {name for document, name in passages if document is None}
    n_gold_both = chunks_met = documents_met = 0
    for document, name, _ in gold:
        # Ids of unknown level are compared with both ids of the other side.
        by_chunk, by_document = (chunks, documents) if document is None else (plain, plain)
        n_gold_both += document is not None
        chunks_met += name in by_chunk
        documents_met += (name if document is None else document) in by_document
    n_both = len(with_both)
    return len(gold), n_gold_both, len(passages), n_both, chunks_met, documents_met


def choose_level(
    counts: LevelCounts, level: LevelOption = "auto", field: PassageField = "retrieved"
) -> LevelChoice:
    """The level at which metrics are computed."""
    check_choice("level", level, LEVEL_OPTIONS)
    has_both = counts.n_gold_both + counts.n_passages_both > 0
    if level != "auto":
        return LevelChoice(level, has_both)
    if not has_both:
        return LevelChoice()
    passages, metrics = _WORDS[field]
    gold = _has_in_words(counts.n_gold_both, counts.n_gold, "carries", "has")
    others = _has_in_words(counts.n_passages_both, counts.n_passages, "carry", "have")
    ids = f"the gold {gold} and the {passages} {others}"
    if (gold, others) == ("carries both ids", "carry both ids"):
        note = (
            f"level: gold and {passages} carry both ids; {metrics} are computed at the level of "
            'chunks; level="document" counts documents'
        )
        return LevelChoice("chunk", has_both, note)
    # Equal counts, above all 0 and 0, say nothing about the level; chunks are the ids that the
    # records have had all along.
    met: Level = "document" if counts.n_documents_met > counts.n_chunks_met else "chunk"
    return LevelChoice(
        met,
        has_both,
        f"level: {ids}; {counts.n_documents_met} of {counts.n_gold} gold ids meet documents and "
        f"{counts.n_chunks_met} meet chunks, so {metrics} are computed at the level of {met}s",
    )


def _has_in_words(n_both: int, n: int, carries: str, has: str) -> str:
    if n_both == n:
        return f"{carries} both ids"
    return f"{carries} both ids in {n_both} of {n} items" if n_both else f"{has} one id each"


def records_at_level(records: pd.DataFrame, level: Level | None) -> pd.DataFrame:
    """The records with the ids of one level in ``retrieved``, ``relevant`` and ``citations``."""
    has_sections = not set(SECTION_FIELDS.values()).isdisjoint(records)
    if level is None or not (has_sections or level == "document"):
        return records
    rows = zip(
        sections_in(records, "retrieved"),
        gold_sections(records),
        sections_in(records, "citations"),
        strict=True,
    )
    retrieved, relevant, cited = zip(*(_key_row(level, *row) for row in rows), strict=True)
    columns: dict[str, Sequence[Any]] = {
        "retrieved": retrieved, "relevant": relevant, "citations": cited
    }  # fmt: skip
    present = {name: cells for name, cells in columns.items() if name in records}
    if level == "document":
        # The section of a whole document is the document itself.
        if "relevant" in records:
            present["relevant_sections"] = [
                gold and [(name, name, grade) for name, grade in gold.items()] for gold in relevant
            ]
        if "citations" in records:
            present["cited_sections"] = [ids and [(name, name) for name in ids] for ids in cited]
    series = {
        name: pd.Series(list(cells), index=records.index, dtype=object)
        for name, cells in present.items()
    }
    return records.drop(columns="retrieved_sections", errors="ignore").assign(**series)


def _key_row(
    level: Level,
    retrieved: list[Section] | None,
    gold: list[GoldSection] | None,
    cited: list[Section] | None,
) -> tuple[list[str] | None, dict[str, float] | None, list[str] | None]:
    """The ids of the passages of one query at a level."""
    # The ids that chunks of two documents have; none if one of them may be of any document.
    owners: dict[str, set[str | None]] = {}
    known = [(document, name) for document, name, _ in gold or ()]
    for document, name in [*(retrieved or ()), *known]:
        owners.setdefault(name, set()).add(document)
    shared = {name for name, of_name in owners.items() if len(of_name) > 1 and None not in of_name}

    def key(section: Section) -> str:
        document, name = section
        if level == "document":
            return name if document is None else document
        return str(section) if name in shared else name

    grades: dict[str, float] = {}
    for document, name, grade in gold or ():
        gold_key = key((document, name))
        grades[gold_key] = max(grade, grades.get(gold_key, grade))
    return (
        None if retrieved is None else list(map(key, retrieved)),
        None if gold is None else grades,
        None if cited is None else list(map(key, cited)),
    )
