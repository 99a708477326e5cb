"""The two levels of ids: a chunk is part of a document, and a passage may carry both ids.

A passage is written as a *section*: its document, None if unknown, and its id, which is that of the
chunk, or the only id that is known. The fields ``retrieved_sections``, ``relevant_sections`` and
``cited_sections`` hold them beside the ids.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import pandas as pd

from rageval_report.errors import check_choice

# The names of fields and keys.
FIELD_NAMES: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("fields.toml").read_text(encoding="utf-8")
)

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
class LevelChoice:
    """The level at which metrics are computed, and how it was chosen."""

    level: Level | None = None
    has_both: bool = False
    note: str = ""


def sections_in(records: pd.DataFrame, field: str) -> list[list[Section] | None]:
    """The sections of the retrieved or cited passages of each query; None where unknown."""
    return [
        None if ids is None else list(sections or [(None, name) for name in ids])
        for ids, sections in _ids_and_sections(records, field)
    ]


def gold_sections(records: pd.DataFrame) -> list[list[GoldSection] | None]:
    """The sections of the gold of each query with their grades; None where unknown."""
    gold: list[list[GoldSection] | None] = []
    for grades, sections in _ids_and_sections(records, "relevant"):
        named = {name for _, name, _ in sections or ()}
        rest = [(None, name, grade) for name, grade in (grades or {}).items() if name not in named]
        gold.append(None if grades is None else [*(sections or ()), *rest])
    return gold


def _ids_and_sections(records: pd.DataFrame, field: str) -> list[tuple[Any, Any]]:
    columns = [
        records[name].tolist() if name in records else [None] * len(records)
        for name in (field, SECTION_FIELDS[field])
    ]
    return list(zip(*columns, strict=True))


def choose_level(
    records: pd.DataFrame, level: LevelOption = "auto", field: PassageField = "retrieved"
) -> LevelChoice:
    """The level at which metrics are computed: that at which gold and passages have ids."""
    check_choice("level", level, LEVEL_OPTIONS)
    chosen = None if level == "auto" else level
    if not {SECTION_FIELDS[field], "relevant_sections"} & set(records):
        return LevelChoice(chosen)  # one id each: there is nothing to choose
    counts = Counter[str]()
    for passages, gold in zip(sections_in(records, field), gold_sections(records), strict=True):
        counts.update(_count_row(passages or [], [item for item in gold or [] if item[2] > 0]))
    has_both = counts["gold with both"] + counts["passages with both"] > 0
    if chosen is not None or not has_both:
        return LevelChoice(chosen, has_both)
    words, metrics = _WORDS[field]
    if counts["gold"] == counts["gold with both"] and (
        counts["passages"] == counts["passages with both"]
    ):
        note = (
            f"level: gold and {words} carry both ids; {metrics} are computed at the level of "
            'chunks; level="document" counts documents'
        )
        return LevelChoice("chunk", has_both, note)
    # Equal counts, above all 0 and 0, say nothing about the level; chunks are the ids that the
    # records have had all along.
    met: Level = "document" if counts["documents met"] > counts["chunks met"] else "chunk"
    return LevelChoice(
        met,
        has_both,
        f"level: {counts['documents met']} of {counts['gold']} gold ids meet documents of the "
        f"{words} and {counts['chunks met']} meet chunks, so {metrics} are computed at the level "
        f"of {met}s",
    )


def _count_row(passages: list[Section], gold: list[GoldSection]) -> dict[str, int]:
    """At which levels the gold and the passages of one query have ids, and where they meet."""
    with_both = [section for section in passages if section[0] is not None]
    documents, chunks = {document for document, _ in with_both}, {name for _, name in with_both}
    plain = {name for document, name in passages if document is None}
    pairs = [section[:2] for section in gold if section[0] is not None]
    names = {name for document, name, _ in gold if document is None}
    # Ids of unknown level are compared with both ids of the other side.
    return {
        "gold": len(gold),
        "gold with both": len(pairs),
        "passages": len(passages),
        "passages with both": len(with_both),
        "chunks met": len(names & chunks) + sum(name in plain for _, name in pairs),
        "documents met": len(names & documents) + sum(document in plain for document, _ in pairs),
    }


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


# -- the ids of a passage: beside its text, in its metadata, or in the object of a node

KEYS = {name: tuple(names) for name, names in FIELD_NAMES["passages"].items()}
_OWN, _OF_DOCUMENTS, _DOCUMENT_NAMES = KEYS["own"], KEYS["of_documents"], KEYS["document_names"]
_UNCERTAIN = frozenset((*_DOCUMENT_NAMES, *KEYS["chunk_numbers"]))
_OBJECTS = frozenset((*KEYS["objects"], *_OF_DOCUMENTS))
# LlamaIndex numbers the relationships of a node; 1 is the document that it was made from.
_RELATIONSHIPS, _SOURCES = "relationships", ("1", "SOURCE", "source")
_DEEPEST = 4

IdCandidate = tuple[str, Any]  # a key, squeezed, and its value


class PassageIds(NamedTuple):
    """The ids of the document and of the chunk of a passage, None if it has none."""

    document: Any
    chunk: Any
    is_certain: bool  # some key says that it holds an id


@lru_cache(maxsize=1024)
def _squeezed(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")


def passage_ids(item: Mapping[str, Any]) -> PassageIds:
    """The ids of a passage, or of a gold item or citation written like one."""
    objects = list(_objects_in(item))
    inner = objects[1:]
    outer_keys = (*KEYS["chunk"], *KEYS["only_beside"], *_OWN, *KEYS["also_chunk"])
    chunks = list(_at(item, outer_keys, is_inner=False))
    documents = list(_at(item, KEYS["document"], is_inner=False))
    # The id of {"document": {"id": ...}} is that of a document if the passage has one of its own.
    of_documents: list[IdCandidate] = []
    own_within: list[IdCandidate] = []
    names: list[IdCandidate] = []
    related = list(_related(item))
    for name, content in inner:
        own = list(_at(content, _OWN))
        if name in _OF_DOCUMENTS:
            of_documents += own
        else:
            own_within += own
        chunks += _at(content, KEYS["chunk"])
        chunks += own if name not in _OF_DOCUMENTS else []
        chunks += _at(content, KEYS["also_chunk"])
        documents += _at(content, KEYS["document"])
        names += _at(content, _DOCUMENT_NAMES)
        related += _related(content)
    documents += related
    if chunks or not (documents or names):
        documents += of_documents
    else:
        chunks += of_documents
    documents += names
    if not chunks and documents:
        chunks += [c for _, content in inner for c in _at(content, KEYS["chunk_numbers"])]
    # An id within the metadata of a passage that has its own may be that of its document.
    documents += [own for own in own_within if chunks and own[1] != chunks[0][1]]
    is_certain = any(key not in _UNCERTAIN for key, _ in (*chunks, *documents))
    if not (documents or chunks):
        documents += list(_at(item, _DOCUMENT_NAMES, is_inner=False))[:1]
    key, document = documents[0] if documents else ("", None)
    chunk = chunks[0][1] if chunks else None
    # A name of the document that repeats the id says nothing more.
    is_repeat = chunks != [] and document == chunk and key in _DOCUMENT_NAMES
    return PassageIds(None if is_repeat else document, chunk, is_certain)


# Passages of one server have the same keys, so that looking at them once saves most of the time.
@lru_cache(maxsize=1024)
def _present_keys(keys: tuple[str, ...]) -> dict[str, str]:
    """The keys of an object by their squeezed names."""
    present: dict[str, str] = {}
    for key in keys:
        name = _squeezed(str(key))
        if name not in present or key == name:  # id before _id
            present[name] = key
    return present


def _objects_in(item: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The passage and the objects within it with their squeezed keys, the outermost first."""
    level: list[tuple[str, Mapping[str, Any]]] = [("", item)]
    for _ in range(_DEEPEST):
        yield from level  # the caller may need no more than the first
        level = [
            (name, value)
            for _, content in level
            for key, value in content.items()
            if isinstance(value, Mapping) and (name := _squeezed(str(key))) in _OBJECTS
        ]


def _at(
    content: Mapping[str, Any], keys: Iterable[str], *, is_inner: bool = True
) -> Iterator[IdCandidate]:
    """The candidates at the keys of an object, in the order of the keys."""
    present = _present_keys(tuple(content))
    for name in keys:
        if name in present and _may_be_id(content[present[name]], is_inner=is_inner):
            yield name, content[present[name]]


def _may_be_id(value: object, *, is_inner: bool) -> bool:
    """Whether a value is an id; beside the passage, a wrong one is left to raise an error."""
    if value is None or value != value or isinstance(value, list | tuple | Mapping):
        return False
    if not is_inner:
        return True
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    return is_integer or (isinstance(value, str) and bool(value.strip()))


def _related(content: Mapping[str, Any]) -> Iterator[IdCandidate]:
    """The document of a LlamaIndex node."""
    relationships = content.get(_RELATIONSHIPS)
    for name in _SOURCES if isinstance(relationships, Mapping) else ():
        related = relationships.get(name)  # type: ignore[union-attr]
        if isinstance(related, Mapping):
            yield from _at(related, ("nodeid",))


def passage_text(item: Mapping[str, Any]) -> object:
    """The text of a passage, also of an object within it; None if there is none."""
    for key, content in _objects_in(item):
        present = _present_keys(tuple(content))
        for name in KEYS["texts"]:
            value = _text_within(content[present[name]]) if name in present else None
            # A wrong text beside a passage is left to raise an error.
            if value is not None and (not key or isinstance(value, str)):
                return value
    return None


def _text_within(value: object) -> object:
    """The text of an object such as ``{"text": ...}``, or of a list of them."""
    if isinstance(value, Mapping):
        inner = value.get("text")
        return inner if isinstance(inner, str) else value
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        texts = [item.get("text") for item in value]
        return "\n".join(texts) if all(isinstance(text, str) for text in texts) else value
    return value
