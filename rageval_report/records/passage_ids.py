"""Finds the ids of a passage: of its document and of its chunk, also in an object within it.

Frameworks write a passage as an object with its text, and put ids beside it, into its metadata, or
into the object of a node. Each key that may hold an id is a candidate; the surest is taken.
"""

from __future__ import annotations

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
    """The candidates for the ids of a passage, the surest first.

    Parameters
    ----------
    documents, chunks : list of IdCandidate
        For the id of its document, and for its own.
    names : list of IdCandidate
        Names of its document, which count if nothing else is there.
    """

    documents: list[IdCandidate] = field(default_factory=list)
    chunks: list[IdCandidate] = field(default_factory=list)
    names: list[IdCandidate] = field(default_factory=list)

    @property
    def is_certain(self) -> bool:
        """Whether some key says that it holds an id."""
        return any(
            _last_key(candidate.place) not in _UNCERTAIN
            for candidate in (*self.chunks, *self.documents)
        )

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


def passage_ids(item: Mapping[str, Any]) -> PassageIds:
    """The candidates for the ids of a passage.

    Parameters
    ----------
    item : mapping
        The passage, or a gold item or a citation that is written like one.

    Examples
    --------
    >>> found = passage_ids({"node": {"node_id": "n1", "metadata": {"file_name": "a.md"}}})
    >>> found.documents, found.chunks
    ([IdCandidate(place='node.metadata.file_name', value='a.md')], \
[IdCandidate(place='node.node_id', value='n1')])
    """
    if not any(isinstance(value, Mapping) for value in item.values()):
        return _ids_beside(item)
    objects = list(_objects_in(item))
    chunks = [
        candidate
        for depth, (path, content) in enumerate(objects)
        for candidate in _at(path, content, _chunk_keys(path, is_beside=depth == 0))
    ]
    documents = [c for path, content in objects for c in _at(path, content, _DOCUMENT)]
    documents += [c for path, content in objects for c in _related(path, content)]
    # The id of {"document": {"id": ...}} is that of a document if the passage has one of its own.
    ids_of_documents = [
        candidate
        for path, content in objects
        if _is_of_document(path)
        for candidate in _at(path, content, _OWN)
    ]
    names = [c for path, content in objects if path for c in _at(path, content, _DOCUMENT_NAMES)]
    if chunks or not (documents or names):
        documents += ids_of_documents
    else:
        chunks += ids_of_documents
    documents += names
    if not chunks and documents:
        chunks += [
            c for path, content in objects if path for c in _at(path, content, _CHUNK_NUMBERS)
        ]
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
    groups = (_DOCUMENT, _chunk_keys("", is_beside=True), _DOCUMENT_NAMES, _TEXTS)
    return _FlatKeys(*(tuple(present[n] for n in names if n in present) for names in groups))


def _present_keys(keys: Iterable[str]) -> dict[str, str]:
    """The keys of an object by their squeezed names."""
    present: dict[str, str] = {}
    for key in keys:
        name = _squeezed(str(key))
        if name not in present or key == name:  # id before _id
            present[name] = key
    return present


def _ids_beside(item: Mapping[str, Any]) -> PassageIds:
    """The candidates of a passage without objects within it."""
    keys = _flat_keys(tuple(item))
    return PassageIds(
        *(
            [IdCandidate(key, item[key]) for key in names if _may_be_id(item[key], is_beside=True)]
            for names in (keys.documents, keys.chunks, keys.names)
        )
    )


def _chunk_keys(path: str, *, is_beside: bool) -> tuple[str, ...]:
    own = () if _is_of_document(path) else _OWN
    return (*_CHUNK, *(_ONLY_BESIDE if is_beside else ()), *own, *_ALSO_CHUNK)


def _is_of_document(path: str) -> bool:
    return _last_key(path) in _OF_DOCUMENTS


@lru_cache(maxsize=1024)
def _last_key(place: str) -> str:
    return _squeezed(place.rpartition(".")[2])


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
        if not level:
            return


def _at(path: str, content: Mapping[str, Any], keys: Iterable[str]) -> Iterator[IdCandidate]:
    """The candidates at the keys of an object, in the order of the keys."""
    present = _present_keys(content)
    for name in keys:
        if name in present:
            value = content[present[name]]
            if _may_be_id(value, is_beside=not path):
                yield IdCandidate(f"{path}.{present[name]}" if path else present[name], value)


def _may_be_id(value: object, *, is_beside: bool) -> bool:
    """Whether a value is an id; beside the passage, a wrong one is left to raise an error."""
    if value is None or value != value or isinstance(value, list | tuple | Mapping):
        return False
    if is_beside:
        return True
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    return is_integer or (isinstance(value, str) and bool(value.strip()))


def _related(path: str, content: Mapping[str, Any]) -> Iterator[IdCandidate]:
    """The document of a LlamaIndex node."""
    relationships = content.get(_RELATIONSHIPS)
    if not isinstance(relationships, Mapping):
        return
    for name in _SOURCES:
        related = relationships.get(name)
        if isinstance(related, Mapping):
            before = f"{path}." if path else ""
            place = f"{before}{_RELATIONSHIPS}.{name}"
            yield from _at(place, related, ("nodeid",))


def passage_text(item: Mapping[str, Any]) -> object:
    """The text of a passage, also of an object within it; None if there is none.

    Examples
    --------
    >>> passage_text({"node": {"text": "Oslo."}, "score": 0.5})
    'Oslo.'
    >>> passage_text({"content": [{"type": "text", "text": "Oslo."}]})
    'Oslo.'
    """
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


# -- the note


_WHOSE = {
    "retrieved": "retrieved passages",
    "relevant": "gold items",
    "citations": "citations",
}


def note_on_places(places: Mapping[str, Iterable[IdPlaces]]) -> str:
    """The note that says where ids within passages were read; empty if none was.

    Parameters
    ----------
    places : mapping of str to iterable of IdPlaces
        By field, the places that were read.

    Examples
    --------
    >>> note_on_places({"retrieved": [IdPlaces("metadata.source", "metadata.id")]})
    'ids: of retrieved passages, metadata.source is taken for the id of the document and \
metadata.id for that of the chunk'
    """
    parts = []
    for name, pairs in places.items():
        listed = dict.fromkeys(_in_words(pair) for pair in sorted(set(pairs)))
        if listed:
            parts.append(f"of {_WHOSE.get(name, name)}, {', or '.join(listed)}")
    return f"ids: {'; '.join(parts)}" if parts else ""


def _in_words(pair: IdPlaces) -> str:
    if pair.document and pair.chunk:
        return (
            f"{pair.document} is taken for the id of the document and {pair.chunk} for that of "
            "the chunk"
        )
    if pair.document:
        return f"{pair.document} is taken for the id of the document; they have none of a chunk"
    return f"{pair.chunk} is taken for the only id"
