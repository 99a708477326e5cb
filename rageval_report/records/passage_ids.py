"""Finds the ids of a passage: of its document and of its chunk, also in an object within it.

Frameworks write a passage as an object with its text, and put ids beside it, into its metadata, or
into the object of a node. Each key that may hold an id is a candidate; the surest is taken, unless
another one meets the gold more often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from numbers import Integral
from typing import Any, NamedTuple

# The names of keys are compared in lower case, without "_" and "-": chunk_id is chunkId. Those of
# the first two rows have always been read; {"id": ..., "segment_id": ...} keeps its id.
_CHUNK = ("chunkid", "nodeid", "passageid")
_OWN = ("id", "uuid")  # of no certain level: beside the id of a document it is that of the chunk
_ALSO_CHUNK = ("segmentid", "xamzbedrockkbchunkid")
_DOCUMENT = (
    *("docid", "documentid", "refdocid", "parentdocumentid"),
    *("sourceid", "sourcedocid", "sourcedocumentid", "originaldocid", "fileid", "docno"),
)
# A section has an id beside a passage; in its metadata it is usually a heading.
_ONLY_BESIDE = ("sectionid", "section")
# Names of a document that may be something else, such as a kind of source.
_DOCUMENT_NAMES = (
    *("source", "sourceuri", "xamzbedrockkbsourceuri", "filepath", "filename", "file"),
    *("uri", "url", "path"),
)
# Numbers and places of a chunk in its document.
_CHUNK_NUMBERS = ("splitid", "chunkindex", "chunknumber", "startindex", "splitidxstart")
_UNCERTAIN = frozenset((*_DOCUMENT_NAMES, *_CHUNK_NUMBERS))
_TEXTS = ("text", "content", "pagecontent")

# The objects within a passage in which ids and texts are looked for, by LangChain, LlamaIndex,
# Haystack, Qdrant, Milvus, Elasticsearch, Weaviate, Bedrock and Dify.
_OF_DOCUMENTS = ("document", "doc", "file", "source", "parent")
_OBJECTS = frozenset(
    (
        *("metadata", "meta", "node", "chunk", "passage", "segment", "payload", "entity"),
        *("fields", "properties", "extrainfo", "attributes", "kwargs", "record", "data"),
        *("location", "s3location", "weblocation", *_OF_DOCUMENTS),
    )
)
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
    if not any(isinstance(value, Mapping) for value in item.values()):
        keys = _flat_keys(tuple(item))
        return PassageIds(
            *(
                [IdCandidate(key, item[key]) for key in names if _may_be_id(item[key], "")]
                for names in (keys.documents, keys.chunks, keys.names)
            )
        )
    objects = list(_objects_in(item))
    inner = objects[1:]
    chunks = [c for path, content in objects for c in _at(path, content, _chunk_keys(path))]
    documents = [c for path, content in objects for c in _at(path, content, _DOCUMENT)]
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
        chunks += [c for path, content in inner for c in _at(path, content, _CHUNK_NUMBERS)]
    # An id within the metadata of a passage that has its own may be that of its document.
    documents += [
        candidate
        for candidate in chunks[1:]
        if "." in candidate.place
        and _last_key(candidate.place) in _OWN
        and candidate.value != chunks[0].value
    ]
    return PassageIds(documents, chunks, list(_at("", item, _DOCUMENT_NAMES)))


class _FlatKeys(NamedTuple):
    """The keys of a passage that may hold ids and texts, the surest first."""

    documents: tuple[str, ...]
    chunks: tuple[str, ...]
    names: tuple[str, ...]
    texts: tuple[str, ...]


# Passages of one server have the same keys, so that looking at them once saves most of the time.
@lru_cache(maxsize=1024)
def _flat_keys(keys: tuple[str, ...]) -> _FlatKeys:
    present = _present_keys(keys)
    groups = (_DOCUMENT, _chunk_keys(""), _DOCUMENT_NAMES, _TEXTS)
    return _FlatKeys(*(tuple(present[n] for n in names if n in present) for names in groups))


def _present_keys(keys: Iterable[str]) -> dict[str, str]:
    """The keys of an object by their squeezed names."""
    present: dict[str, str] = {}
    for key in keys:
        name = _squeezed(str(key))
        if name not in present or key == name:  # id before _id
            present[name] = key
    return present


def _chunk_keys(path: str) -> tuple[str, ...]:
    own = () if _last_key(path) in _OF_DOCUMENTS else _OWN
    return (*_CHUNK, *(() if path else _ONLY_BESIDE), *own, *_ALSO_CHUNK)


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
    present = _present_keys(content)
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
        for key in _flat_keys(tuple(content)).texts:
            value = _text_within(content[key])
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
