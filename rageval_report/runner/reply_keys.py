"""Looks in the replies of a pipeline for what is missing from its records.

The replies have some shape of their own, and the paths of the fields may lead past what they hold:
documents under ``sources`` where ``retrieved`` was expected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rageval_report.errors import named
from rageval_report.records import FIELDS, cells
from rageval_report.records.levels import IdPlaces, note_on_places
from rageval_report.runner.paths import value_at
from rageval_report.runner.query_source import Query
from rageval_report.scores.guard import Doubt
from rageval_report.scores.metric import normalise_name
from rageval_report.scores.query_ids import first_named

# Words in the names of keys, the most telling first. They are those of LangChain, LlamaIndex,
# Haystack, OpenAI, Bedrock, Azure, Vertex, Cohere, Dify and RAGFlow.
_LISTS = (
    *("retrieved", "sources", "source_nodes", "source_documents", "documents", "docs", "nodes"),
    *("chunks", "passages", "hits", "contexts", "context", "references", "citations"),
    *(
        "retrieval_results",
        "retrieved_references",
        "results",
        "matches",
        "records",
        "items",
        "data",
    ),
)
_IDS = (
    *(
        "chunk_id",
        "node_id",
        "doc_id",
        "document_id",
        "passage_id",
        "source_id",
        "file_id",
        "docid",
    ),
    *("docno", "id", "_id", "id_", "uuid", "key", "ref_doc_id", "uri", "url", "link", "source"),
    *("filename", "file_name", "file_path", "path", "title", "name"),
)
_TEXTS = ("text", "content", "page_content", "passage", "chunk", "body", "snippet", "excerpt")
_ANSWERS = (
    *("answer", "response", "output", "output_text", "reply", "result", "generated_text"),
    *("completion", "content", "text", "message", "answers", "generation", "data"),
)
# Keys of texts that are not the answer although they are as long.
_NOT_ANSWERS = frozenset(
    "question query prompt input system instruction error id model status role type".split()
)

# Lists whose texts are the sources of an answer, not the answer.
_SOURCES = frozenset(_LISTS) - {"results", "records", "items", "data", "matches"}

# So many replies show the shape of all, and their texts do not fill the memory.
MOST_REPLIES = 10
_EACH = "*"
_DEEPEST = 8
_MOST_ITEMS = 20  # of a list
_LONGEST_ID = 300
_MOST_BLANKS = 12  # a title of a document has fewer, a passage more


@dataclass(frozen=True)
class SampledReply:
    """A reply as it came, with the relevant ids of its query and the ids that were read.

    Parameters
    ----------
    document : object
        The whole reply.
    gold : frozenset of str
        The ids of relevant documents and chunks.
    retrieved : tuple of str
        The ids of the retrieved passages, in order.
    documents : frozenset of str
        The ids of their documents, where the passages have both.
    """

    document: object
    gold: frozenset[str] = frozenset()
    retrieved: tuple[str, ...] = ()
    documents: frozenset[str] = frozenset()


class _ReadReply(Protocol):
    """A reply of a target."""

    @property
    def fields(self) -> dict[str, Any]:
        """What was read from it."""

    @property
    def document(self) -> object:
        """The whole reply."""


def sampled_reply(query: Query, reply: _ReadReply) -> SampledReply:
    """A reply with the gold of its query."""
    name = first_named(list(query.other_fields), ("relevant", *FIELDS["relevant"]))
    cell = None if name is None else query.other_fields[name]
    try:
        relevant = cells.GoldCell({}, [], []) if cells.is_missing(cell) else cells.gold(cell)
    except cells.CellError:  # the records say what is wrong with it
        relevant = cells.GoldCell({}, [], [])
    gold = {doc for doc, grade in relevant.grades.items() if grade > 0}
    gold |= {document for document, _, grade in relevant.sections if document and grade > 0}
    sections = reply.fields.get("retrieved_sections") or ()
    return SampledReply(
        reply.document,
        frozenset(gold),
        tuple(reply.fields.get("retrieved") or ()),
        frozenset(document for document, _ in sections if document is not None),
    )


def doubts_about_replies(replies: Sequence[SampledReply], present: Collection[str]) -> list[Doubt]:
    """The doubts that the keys of replies raise.

    Parameters
    ----------
    replies : sequence of SampledReply
        Some replies of one pipeline.
    present : collection of str
        The fields that were read from any reply.
    """
    if not replies:
        return []
    check = find_unread_ids(replies) if "retrieved" in present else None
    return list(find_unread_keys(replies, present) if check is None else check)


def find_unread_keys(replies: Sequence[SampledReply], present: Iterable[str]) -> Iterator[Doubt]:
    """A doubt for each field that no reply has where it was expected, but some key looks like it.

    Parameters
    ----------
    replies : sequence of SampledReply
        Some replies of one pipeline.
    present : iterable of str
        The fields that were read from any reply.

    Examples
    --------
    >>> reply = SampledReply({"answer": "Oslo.", "sources": [{"node_id": "n1", "text": "..."}]})
    >>> [doubt] = find_unread_keys([reply], ["answer"])
    >>> print(doubt.advice)
    Name the path: --path retrieved=sources.*.node_id --path contexts=sources.*.text (in Python: \
ResponsePaths(retrieved='sources.*.node_id', contexts='sources.*.text'))
    """
    has = set(present)
    paths: dict[str, str] = {}
    if "retrieved" not in has:
        path = id_path(replies)
        if path is not None:
            passages = _list_with_both_ids(replies, path)
            paths["retrieved"] = passages or path
    # Contexts alone may be missing on purpose; beside the ids they are usually forgotten too.
    if paths and "contexts" not in has:
        path = text_path(replies, paths.get("retrieved"))
        if path is not None:
            paths["contexts"] = path
    if paths:
        what = " or ".join(paths)
        keys = named(dict.fromkeys(path.partition(".")[0] for path in paths.values()))
        yield Doubt(
            "unread_keys",
            f"no reply has {what} where expected, but all {len(replies)} that were looked at have "
            f"{keys}, for example {_example(replies, next(iter(paths.values())))}",
            advice_of_paths(paths),
        )


def _list_with_both_ids(replies: Sequence[SampledReply], path: str) -> str | None:
    """The path of the list itself, if its passages carry the ids of their chunk and document."""
    if _EACH not in path:
        return None
    lists = [value_at(reply.document, _list_of(path)) for reply in replies]
    try:
        rankings = [cells.ranking(passages) for passages in lists if passages]
    except cells.CellError:
        return None
    has_both = rankings and all(ranking.sections for ranking in rankings)
    return _list_of(path) if has_both else None


def find_unread_ids(replies: Sequence[SampledReply]) -> Iterator[Doubt]:
    """A doubt if the gold ids are in the replies, but not where the retrieved ids were read.

    Parameters
    ----------
    replies : sequence of SampledReply
        Some replies of one pipeline.
    """
    if any(not reply.gold.isdisjoint((*reply.retrieved, *reply.documents)) for reply in replies):
        return
    path = id_path(replies, only_gold=True)
    if path is not None:
        yield Doubt(
            "unread_keys",
            "no gold id is among the retrieved ids, but the replies have gold ids at another path, "
            f"for example {_example(replies, path)}",
            advice_of_paths({"retrieved": path}),
        )


def notes_on_id_places(replies: Sequence[SampledReply]) -> list[str]:
    """The note that says where within the retrieved passages their ids were read, if it is one.

    Parameters
    ----------
    replies : sequence of SampledReply
        Some replies of one pipeline.

    Examples
    --------
    >>> passage = {"text": "Oslo.", "metadata": {"id": "c7", "source": "no.md"}}
    >>> [note] = notes_on_id_places([SampledReply({"hits": [passage]}, retrieved=("c7",))])
    >>> print(note)
    ids: of retrieved passages, metadata.source is taken for the id of the document and \
metadata.id for that of the chunk; to take others, name their path, such as \
--path retrieved=hits.*.metadata.source
    """
    places: list[IdPlaces] = []
    paths: dict[str, None] = {}
    for reply in replies:
        for path, ranking in _rankings_in(reply.document, ()):
            if tuple(ranking.ids) == reply.retrieved and ranking.places:
                places += ranking.places
                first = ranking.places[0]
                paths[".".join((*path, _EACH, first.document or first.chunk))] = None
                break
    note = note_on_places({"retrieved": places})
    if not note:
        return []
    return [
        f"{note}; to take others, name their path, such as --path retrieved={next(iter(paths))}"
    ]


def _rankings_in(
    value: object, steps: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], cells.RankingCell]]:
    """The lists of passages in a reply, with their paths."""
    if len(steps) > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _rankings_in(item, (*steps, str(key)))
    elif isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value):
        try:
            yield steps, cells.ranking(value)
        except cells.CellError:  # a list of something else
            return


def answer_advice(document: object) -> str:
    """The paths at which a reply may have its answer, as advice; empty if there is none.

    Examples
    --------
    >>> answer_advice({"choices": [{"message": {"role": "assistant", "content": "Oslo."}}]})
    "Name the path: --path answer=choices.0.message.content (in Python: \
ResponsePaths(answer='choices.0.message.content'))"
    >>> answer_advice({"status": 3})
    ''
    """
    path = answer_path(document)
    return "" if path is None else advice_of_paths({"answer": path})


def advice_of_paths(paths: Mapping[str, str]) -> str:
    """What to type so that fields are read at these paths.

    Examples
    --------
    >>> advice_of_paths({"answer": "response"})
    "Name the path: --path answer=response (in Python: ResponsePaths(answer='response'))"
    """
    options = " ".join(f"--path {field}={path}" for field, path in paths.items())
    arguments = ", ".join(f"{field}={path!r}" for field, path in paths.items())
    return f"Name the path: {options} (in Python: ResponsePaths({arguments}))"


# -- where ids and texts are


def id_path(replies: Sequence[SampledReply], *, only_gold: bool = False) -> str | None:
    """The path at which most replies have ids of documents; None if none looks like it.

    Parameters
    ----------
    replies : sequence of SampledReply
        Some replies of one pipeline.
    only_gold : bool
        Whether a path counts only if gold ids are there; otherwise the names of keys count too.

    Examples
    --------
    >>> reply = SampledReply({"hits": [{"_source": {"file": "a.md"}}]}, frozenset(["a.md"]))
    >>> id_path([reply])
    'hits.*._source.file'
    """
    ranked = []
    for path in _list_paths(replies):
        ids = [_ids_at(reply.document, path) for reply in replies]
        if not all(names is not None for names in ids) or not any(ids):
            continue
        n_met = sum(
            not reply.gold.isdisjoint(names or ())
            for reply, names in zip(replies, ids, strict=True)
        )
        places = _places(path, _IDS)
        if n_met or (places is not None and not only_gold):
            ranked.append((-n_met, *(places or (len(_LISTS), len(_IDS))), path.count("."), path))
    return min(ranked)[-1] if ranked else None


def text_path(replies: Sequence[SampledReply], beside: str | None) -> str | None:
    """The path at which most replies have texts of documents, in the list of their ids if known.

    Examples
    --------
    >>> reply = SampledReply({"docs": [{"id": "d1", "page_content": "Oslo is a city."}]})
    >>> text_path([reply], "docs.*.id")
    'docs.*.page_content'
    """
    ranked = []
    for path in _list_paths(replies):
        places = _places(path, _TEXTS)
        if places is None or (beside is not None and _list_of(path) != _list_of(beside)):
            continue
        texts = [value_at(reply.document, path) for reply in replies]
        if all(map(_are_texts, texts)) and any(texts):
            ranked.append((*places, path.count("."), path))
    return min(ranked)[-1] if ranked else None


def _list_paths(replies: Sequence[SampledReply]) -> list[str]:
    """The paths through one list that most replies have."""
    counts = Counter(path for reply in replies for path in _paths_through_lists(reply.document))
    return [path for path, n in counts.items() if 2 * n > len(replies)]


def _paths_through_lists(document: object) -> set[str]:
    paths = set()
    for steps in _leaf_steps(document, ()):
        if steps.count(_EACH) == 1 and not any("." in step for step in steps):
            # A list of ids alone is taken as it is.
            paths.add(".".join(steps[:-1] if steps[-1] == _EACH else steps))
    return paths


def _leaf_steps(value: object, steps: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if len(steps) > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaf_steps(item, (*steps, str(key)))
    elif isinstance(value, list):
        for item in value[:_MOST_ITEMS]:
            yield from _leaf_steps(item, (*steps, _EACH))
    elif isinstance(value, str | int) and not isinstance(value, bool):
        yield steps


def _list_of(path: str) -> str:
    return path.partition(f".{_EACH}")[0]


def _places(path: str, leaves: Sequence[str]) -> tuple[int, int] | None:
    """How telling the names of the list and of the key in it are, 0 the most; None if they are not.

    Examples
    --------
    >>> _places("sources.*.chunkId", _IDS), _places("messages.*.id", _IDS)
    ((1, 0), None)
    """
    lists = [normalise_name(step) for step in _list_of(path).split(".")]
    place = next((_LISTS.index(name) for name in reversed(lists) if name in _LISTS), None)
    if _EACH not in path:  # a list of ids, such as doc_ids, or of texts
        is_of_ids = leaves is _IDS and lists[-1].endswith(("_ids", "ids"))
        return (0, 0) if is_of_ids else None if place is None else (place, len(leaves))
    leaf = normalise_name(path.rpartition(".")[2])
    if place is None or leaf not in leaves:
        return None
    return place, leaves.index(leaf)


def _ids_at(document: object, path: str) -> list[str] | None:
    """The ids at a path; none where there is no list, None if something else is there."""
    value = value_at(document, path)
    if value is None:
        return []
    try:
        ids = cells.ranking(value).ids
    except cells.CellError:
        return None
    return ids if all(map(_is_id, ids)) else None


def _is_id(name: str) -> bool:
    # A text has blanks between its words; a title has few.
    return len(name) <= _LONGEST_ID and "\n" not in name and name.count(" ") < _MOST_BLANKS


def _are_texts(value: object) -> bool:
    return value is None or (
        isinstance(value, list) and all(isinstance(item, str) and item.strip() for item in value)
    )


# -- where the answer is


def answer_path(document: object) -> str | None:
    """The path at which a reply may have its answer; None if no key looks like it.

    Examples
    --------
    >>> answer_path({"data": {"outputs": {"text": "Oslo."}}, "question": "Where?"})
    'data.outputs.text'
    """
    leaves = [
        (path, text)
        for path, text in _first_texts(document, ())
        if not {normalise_name(step) for step in path} & _NOT_ANSWERS
    ]
    ranked = [
        (_ANSWERS.index(name), len(path), place, path)
        for place, (path, _) in enumerate(leaves)
        if (name := next((n for n in map(normalise_name, reversed(path)) if n in _ANSWERS), ""))
        and not path[-1].isdecimal()
    ]
    if ranked:
        return ".".join(min(ranked)[-1])
    sentences = [path for path, text in leaves if " " in text.strip()]
    return ".".join(sentences[0]) if len(sentences) == 1 else None


def _first_texts(value: object, steps: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The texts of a document with their paths, of lists the first item, without the sources."""
    if len(steps) > _DEEPEST or (steps and normalise_name(steps[-1]) in _SOURCES):
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            if "." not in str(key):
                yield from _first_texts(item, (*steps, str(key)))
    elif isinstance(value, list):
        for item in value[:1]:
            yield from _first_texts(item, (*steps, "0"))
    elif isinstance(value, str) and value.strip() and steps:
        yield steps, value


def _example(replies: Sequence[SampledReply], path: str) -> str:
    """One value at a path, short."""
    values = (value_at(reply.document, path) for reply in replies)
    first = next((value for value in values if value), None)
    return cells.short_repr(first[0] if isinstance(first, list) else first)
