"""The two levels of ids: a chunk is part of a document, and a passage may carry both ids.

A passage is written as a *section*: its document, None if unknown, and its id, which is that of the
chunk, or the only id that is known. The fields ``retrieved_sections``, ``relevant_sections`` and
``cited_sections`` hold them beside the ids.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
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


# -- the ids of a passage: beside its text, in its metadata, or in the object of a node

KEYS = {name: tuple(names) for name, names in FIELD_NAMES["passages"].items()}
_OWN, _OF_DOCUMENTS, _DOCUMENT_NAMES = KEYS["own"], KEYS["of_documents"], KEYS["document_names"]
_UNCERTAIN = frozenset((*_DOCUMENT_NAMES, *KEYS["chunk_numbers"]))
_OBJECTS = frozenset((*KEYS["objects"], *_OF_DOCUMENTS))
# LlamaIndex numbers the relationships of a node; 1 is the document that it was made from.
_RELATIONSHIPS, _SOURCES = "relationships", ("1", "SOURCE", "source")
_DEEPEST = 4


class IdCandidate(NamedTuple):
    """A key of a passage that may hold an id: its path, and the value."""

    place: str
    value: Any


class IdPlaces(NamedTuple):
    """The paths at which the ids of a document and of a chunk were read; empty for none."""

    document: str
    chunk: str


NO_PLACES = IdPlaces("", "")


@dataclass(frozen=True)
class PassageIds:
    """The candidates for the ids of a passage, the surest first."""

    documents: list[IdCandidate] = field(default_factory=list)
    chunks: list[IdCandidate] = field(default_factory=list)
    names: list[IdCandidate] = field(default_factory=list)

    @property
    def is_certain(self) -> bool:
        """Whether some key says that it holds an id."""
        candidates = (*self.chunks, *self.documents)
        return any(_last_key(candidate.place) not in _UNCERTAIN for candidate in candidates)

    def choose(
        self, preferred: IdPlaces = NO_PLACES
    ) -> tuple[IdCandidate | None, IdCandidate | None]:
        """The candidates for the document and for the chunk, those of preferred places first."""
        chunk = _first_at(self.chunks, preferred.chunk)
        others = [c for c in self.documents if chunk is None or c.place != chunk.place]
        names = [] if self.documents or self.chunks else self.names[:1]
        document = _first_at(others or names, preferred.document)
        if document is not None and chunk is not None and document.value == chunk.value:
            # A name of the document that repeats the id says nothing more.
            document = None if _last_key(document.place) in _DOCUMENT_NAMES else document
        return document, chunk


def _first_at(candidates: Sequence[IdCandidate], place: str) -> IdCandidate | None:
    at_place = (item for item in candidates if item.place == place)
    return next(at_place, candidates[0] if candidates else None)


@lru_cache(maxsize=1024)
def _squeezed(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")


@lru_cache(maxsize=1024)
def _last_key(place: str) -> str:
    return _squeezed(place.rpartition(".")[2])


def passage_ids(item: Mapping[str, Any]) -> PassageIds:
    """The candidates for the ids of a passage, or of a gold item or citation written like one."""
    objects = list(_objects_in(item))
    inner = objects[1:]
    chunks = [c for path, content in objects for c in _at(path, content, _chunk_keys(path))]
    documents = [c for path, content in objects for c in _at(path, content, KEYS["document"])]
    documents += [c for path, content in objects for c in _related(path, content)]
    # The id of {"document": {"id": ...}} is that of a document if the passage has one of its own.
    ids_of_documents = [
        candidate
        for path, content in inner
        if _last_key(path) in _OF_DOCUMENTS
        for candidate in _at(path, content, _OWN)
    ]
    names = [c for path, content in inner for c in _at(path, content, _DOCUMENT_NAMES)]
    if chunks or not (documents or names):
        documents += ids_of_documents
    else:
        chunks += ids_of_documents
    documents += names
    if not chunks and documents:
        chunks += [c for path, content in inner for c in _at(path, content, KEYS["chunk_numbers"])]
    # An id within the metadata of a passage that has its own may be that of its document.
    documents += [
        candidate
        for candidate in chunks[1:]
        if "." in candidate.place
        and _last_key(candidate.place) in _OWN
        and candidate.value != chunks[0].value
    ]
    return PassageIds(documents, chunks, list(_at("", item, _DOCUMENT_NAMES)))


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


def _chunk_keys(path: str) -> tuple[str, ...]:
    own = () if _last_key(path) in _OF_DOCUMENTS else _OWN
    beside = () if path else KEYS["only_beside"]
    return (*KEYS["chunk"], *beside, *own, *KEYS["also_chunk"])


def _objects_in(item: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The passage and the objects within it with their paths, the outermost first."""
    level: list[tuple[str, Mapping[str, Any]]] = [("", item)]
    for _ in range(_DEEPEST):
        yield from level  # the caller may need no more than the first
        level = [
            (f"{path}.{key}" if path else str(key), value)
            for path, content in level
            for key, value in content.items()
            if isinstance(value, Mapping) and _squeezed(str(key)) in _OBJECTS
        ]


def _at(path: str, content: Mapping[str, Any], keys: Iterable[str]) -> Iterator[IdCandidate]:
    """The candidates at the keys of an object, in the order of the keys."""
    present = _present_keys(tuple(content))
    for name in keys:
        if name in present and _may_be_id(content[present[name]], path):
            key = present[name]
            yield IdCandidate(f"{path}.{key}" if path else key, content[key])


def _may_be_id(value: object, path: str) -> bool:
    """Whether a value is an id; beside the passage, a wrong one is left to raise an error."""
    if value is None or value != value or isinstance(value, list | tuple | Mapping):
        return False
    if not path:
        return True
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    return is_integer or (isinstance(value, str) and bool(value.strip()))


def _related(path: str, content: Mapping[str, Any]) -> Iterator[IdCandidate]:
    """The document of a LlamaIndex node."""
    relationships = content.get(_RELATIONSHIPS)
    for name in _SOURCES if isinstance(relationships, Mapping) else ():
        related = relationships.get(name)  # type: ignore[union-attr]
        if isinstance(related, Mapping):
            place = f"{path}." if path else ""
            yield from _at(f"{place}{_RELATIONSHIPS}.{name}", related, ("nodeid",))


def passage_text(item: Mapping[str, Any]) -> object:
    """The text of a passage, also of an object within it; None if there is none."""
    for path, content in _objects_in(item):
        present = _present_keys(tuple(content))
        for name in KEYS["texts"]:
            value = _text_within(content[present[name]]) if name in present else None
            # A wrong text beside a passage is left to raise an error.
            if value is not None and (not path or isinstance(value, str)):
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


# -- which place, if several keys may hold the ids


def preferred_places(queries: Iterable[tuple[Sequence[object], set[str]]]) -> IdPlaces:
    """The places at which ids of retrieved passages meet the gold of their query most often."""
    by_document, by_chunk = Counter[str](), Counter[str]()
    for items, gold in queries:
        first = (item[0] if isinstance(item, list | tuple) and item else item for item in items)
        passages = [passage_ids(item) for item in first if gold and isinstance(item, Mapping)]
        by_document.update(_places_met([(p.documents, p.choose()[0]) for p in passages], gold))
        by_chunk.update(_places_met([(p.chunks, p.choose()[1]) for p in passages], gold))
    return IdPlaces(_best_place(by_document), _best_place(by_chunk))


_USUAL = ""  # counts the queries at which the usual choice meets the gold


def _places_met(
    passages: Sequence[tuple[list[IdCandidate], IdCandidate | None]], gold: set[str]
) -> set[str]:
    """The places at which some passage of a query meets its gold."""
    met = {item.place for items, _ in passages for item in items if str(item.value) in gold}
    if any(usual is not None and str(usual.value) in gold for _, usual in passages):
        met.add(_USUAL)
    return met


def _best_place(counts: Counter[str]) -> str:
    best = max(counts, key=lambda place: (counts[place], place == _USUAL, place), default=_USUAL)
    return best if counts[best] > counts[_USUAL] else _USUAL


def all_ids_in(items: Iterable[object]) -> set[str]:
    """All ids that the items of a gold cell may hold."""
    ids = set()
    for item in items:
        if isinstance(item, Mapping):
            candidates = passage_ids(item)
            ids |= {
                str(c.value) for c in (*candidates.documents, *candidates.chunks, *candidates.names)
            }
        else:
            ids.add(str(item[0] if isinstance(item, list | tuple) and item else item))
    return ids


_WHOSE = {"retrieved": "retrieved passages", "relevant": "gold items", "citations": "citations"}


def note_on_places(places: Mapping[str, Iterable[IdPlaces]]) -> str:
    """The note that says, by field, where ids within passages were read; empty if none was."""
    parts = []
    for name, pairs in places.items():
        listed = dict.fromkeys(_in_words(pair) for pair in sorted(set(pairs)))
        if listed:
            parts.append(f"of {_WHOSE.get(name, name)}, {', or '.join(listed)}")
    return f"ids: {'; '.join(parts)}" if parts else ""


def _in_words(pair: IdPlaces) -> str:
    if not pair.document:
        return f"{pair.chunk} is taken for the only id"
    taken = f"{pair.document} is taken for the id of the document"
    return (
        f"{taken} and {pair.chunk} for that of the chunk"
        if pair.chunk
        else (f"{taken}; they have none of a chunk")
    )
