"""Paths into the reply of a pipeline: read, and guessed where something is missing.

A pipeline whose reply has other keys than expected gives records without ids, contexts or answers.
So the first replies are looked at for lists of documents and for texts, and a doubt names the path
to type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rageval_report.errors import named
from rageval_report.records import FIELDS, cells
from rageval_report.records.levels import IdPlaces, note_on_places
from rageval_report.runner.query_source import Query
from rageval_report.scores.guard import Doubt
from rageval_report.scores.metric import normalise_name
from rageval_report.scores.query_ids import first_named

# Words in the names of keys, the most telling first. They are those of LangChain, LlamaIndex,
# Haystack, OpenAI, Bedrock, Azure, Vertex, Cohere, Dify and RAGFlow.
_LISTS = (
    "retrieved sources source_nodes source_documents documents docs nodes chunks passages hits "
    "contexts context references citations retrieval_results retrieved_references results matches "
    "records items data"
).split()
_IDS = (
    "chunk_id node_id doc_id document_id passage_id source_id file_id docid docno id _id id_ uuid "
    "key ref_doc_id uri url link source filename file_name file_path path title name"
).split()
_TEXTS = "text content page_content passage chunk body snippet excerpt".split()
_ANSWERS = (
    "answer response output output_text reply result generated_text completion content text "
    "message answers generation data"
).split()
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

Steps = tuple[str, ...]


def value_at(document: object, path: str) -> Any:
    """The value at a path of keys and positions, separated by dots; None if there is none.

    Examples
    --------
    >>> value_at({"sources": [{"id": "a"}, {"id": "b"}]}, "sources.*.id")
    ['a', 'b']
    """
    return _within(document, path.split(".") if path else [])


def _within(value: Any, steps: list[str]) -> Any:
    for place, step in enumerate(steps):
        if isinstance(value, dict):
            value = value.get(step)  # on an object "*" stays an ordinary key
        elif isinstance(value, list) and step == _EACH:
            return [_within(item, steps[place + 1 :]) for item in value]
        else:
            is_there = isinstance(value, list) and step.isdecimal() and int(step) < len(value)
            value = value[int(step)] if is_there else None
    return value


@dataclass(frozen=True)
class SampledReply:
    """A reply as it came, with the relevant ids of its query and the ids that were read."""

    document: object
    gold: frozenset[str] = frozenset()
    retrieved: tuple[str, ...] = ()
    documents: frozenset[str] = frozenset()


def sampled_reply(query: Query, fields: Mapping[str, Any], document: object) -> SampledReply:
    """A reply, and the fields that were read from it, with the gold of its query."""
    name = first_named(list(query.other_fields), ("relevant", *FIELDS["relevant"]))
    cell = None if name is None else query.other_fields[name]
    gold: set[str] = set()
    try:
        if not cells.is_missing(cell):
            relevant = cells.gold(cell)
            gold = {doc for doc, grade in relevant.grades.items() if grade > 0}
            gold |= {doc for doc, _, grade in relevant.sections if doc and grade > 0}
    except cells.CellError:  # the records say what is wrong with it
        pass
    sections = fields.get("retrieved_sections") or ()
    documents = frozenset(doc for doc, _ in sections if doc is not None)
    return SampledReply(document, frozenset(gold), tuple(fields.get("retrieved") or ()), documents)


def doubts_about_replies(replies: Sequence[SampledReply], present: Collection[str]) -> list[Doubt]:
    """The doubts that the keys of replies raise; `present` has the fields that any reply gave."""
    if not replies:
        return []
    return _unread_ids(replies) if "retrieved" in present else _unread_keys(replies, present)


def _unread_keys(replies: Sequence[SampledReply], present: Collection[str]) -> list[Doubt]:
    """A doubt if no reply has ids where they were expected, but some key looks like them."""
    path = id_path(replies)
    if path is None:
        return []
    paths = {"retrieved": _list_of(path) if _has_both_ids(replies, path) else path}
    # Contexts alone may be missing on purpose; beside the ids they are usually forgotten too.
    if "contexts" not in present and (texts := _text_path(replies, paths["retrieved"])):
        paths["contexts"] = texts
    keys = named(dict.fromkeys(place.partition(".")[0] for place in paths.values()))
    text = (
        f"no reply has {' or '.join(paths)} where expected, but all {len(replies)} that were "
        f"looked at have {keys}, for example {_example(replies, paths['retrieved'])}"
    )
    return [Doubt("unread_keys", text, _advice(paths))]


def _has_both_ids(replies: Sequence[SampledReply], path: str) -> bool:
    """Whether the passages of the list carry the ids of their chunk and of their document."""
    lists = [value_at(reply.document, _list_of(path)) for reply in replies]
    try:
        rankings = [cells.ranking(passages) for passages in lists if passages]
    except cells.CellError:
        return False
    return _EACH in path and bool(rankings) and all(ranking.sections for ranking in rankings)


def _unread_ids(replies: Sequence[SampledReply]) -> list[Doubt]:
    """A doubt if the gold ids are in the replies, but not where the retrieved ids were read."""
    if any(not reply.gold.isdisjoint((*reply.retrieved, *reply.documents)) for reply in replies):
        return []
    path = id_path(replies, only_gold=True)
    if path is None:
        return []
    text = (
        "no gold id is among the retrieved ids, but the replies have gold ids at another path, for "
        f"example {_example(replies, path)}"
    )
    return [Doubt("unread_keys", text, _advice({"retrieved": path}))]


def notes_on_id_places(replies: Sequence[SampledReply]) -> list[str]:
    """The note that says where within the retrieved passages their ids were read, if it is one."""
    places: list[IdPlaces] = []
    paths: list[str] = []
    for reply in replies:
        for path, ranking in _rankings_in(reply.document, ()):
            if tuple(ranking.ids) == reply.retrieved and ranking.places:
                places += ranking.places
                first = ranking.places[0]
                paths.append(".".join((*path, _EACH, first.document or first.chunk)))
                break
    note = note_on_places({"retrieved": places})
    if not note:
        return []
    return [f"{note}; to take others, name their path, such as --path retrieved={paths[0]}"]


def _rankings_in(value: object, steps: Steps) -> Iterator[tuple[Steps, cells.RankingCell]]:
    """The lists of passages in a reply, with their paths."""
    if isinstance(value, Mapping) and len(steps) <= _DEEPEST:
        for key, item in value.items():
            yield from _rankings_in(item, (*steps, str(key)))
    elif isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value):
        try:
            yield steps, cells.ranking(value)
        except cells.CellError:  # a list of something else
            return


def answer_advice(document: object) -> str:
    """The path at which a reply may have its answer, as advice; empty if there is none."""
    path = answer_path(document)
    return "" if path is None else _advice({"answer": path})


def _advice(paths: Mapping[str, str]) -> str:
    """What to type so that fields are read at these paths."""
    options = " ".join(f"--path {field}={path}" for field, path in paths.items())
    arguments = ", ".join(f"{field}={path!r}" for field, path in paths.items())
    return f"Name the path: {options} (in Python: ResponsePaths({arguments}))"


# -- where ids and texts are


def id_path(replies: Sequence[SampledReply], *, only_gold: bool = False) -> str | None:
    """The path at which most replies have ids of documents; None if none looks like it."""
    ranked = []
    for path in _list_paths(replies):
        ids = [_ids_at(reply.document, path) for reply in replies]
        if not any(ids) or any(names is None for names in ids):
            continue
        n_met = sum(
            not reply.gold.isdisjoint(names or ())
            for reply, names in zip(replies, ids, strict=True)
        )
        places = _places(path, _IDS)
        if n_met or (places is not None and not only_gold):
            ranked.append((-n_met, *(places or (len(_LISTS), len(_IDS))), path.count("."), path))
    return min(ranked)[-1] if ranked else None


def _text_path(replies: Sequence[SampledReply], beside: str) -> str | None:
    """The path at which most replies have texts of documents, in the list of their ids."""
    ranked = []
    for path in _list_paths(replies):
        places = _places(path, _TEXTS)
        if places is None or _list_of(path) != _list_of(beside):
            continue
        texts = [value_at(reply.document, path) for reply in replies]
        if all(map(_are_texts, texts)) and any(texts):
            ranked.append((*places, path.count("."), path))
    return min(ranked)[-1] if ranked else None


def _list_paths(replies: Sequence[SampledReply]) -> list[str]:
    """The paths through one list that most replies have."""
    counts: Counter[str] = Counter()
    for reply in replies:
        leaves = {steps for steps, _ in _leaves(reply.document, (), _EACH, _MOST_ITEMS)}
        # A list of ids alone is taken as it is.
        counts.update(
            {
                ".".join(steps[:-1] if steps[-1] == _EACH else steps)
                for steps in leaves
                if steps.count(_EACH) == 1 and not any("." in step for step in steps)
            }
        )
    return [path for path, n in counts.items() if 2 * n > len(replies)]


def _leaves(
    value: object, steps: Steps, each: str, most_items: int
) -> Iterator[tuple[Steps, str | int]]:
    """The texts and integers of a document with their paths; `each` stands for an item."""
    if len(steps) > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, (*steps, str(key)), each, most_items)
    elif isinstance(value, list):
        for item in value[:most_items]:
            yield from _leaves(item, (*steps, each), each, most_items)
    elif isinstance(value, str | int) and not isinstance(value, bool):
        yield steps, value


def _list_of(path: str) -> str:
    return path.partition(f".{_EACH}")[0]


def _places(path: str, leaves: Sequence[str]) -> tuple[int, int] | None:
    """How telling the names of the list and of the key in it are, 0 the most; None if not."""
    lists = [normalise_name(step) for step in _list_of(path).split(".")]
    place = next((_LISTS.index(name) for name in reversed(lists) if name in _LISTS), None)
    if _EACH not in path:  # a list of ids, such as doc_ids, or of texts
        if leaves is _IDS and lists[-1].endswith("ids"):
            return 0, 0
        return None if place is None else (place, len(leaves))
    leaf = normalise_name(path.rpartition(".")[2])
    return None if place is None or leaf not in leaves else (place, leaves.index(leaf))


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


def answer_path(document: object) -> str | None:
    """The path at which a reply may have its answer; None if no key looks like it.

    Examples
    --------
    >>> answer_path({"choices": [{"message": {"role": "assistant", "content": "So."}}]})
    'choices.0.message.content'
    """
    texts = [
        (steps, [normalise_name(step) for step in steps], text)
        for steps, text in _leaves(document, (), "0", 1)
        if steps and isinstance(text, str) and text.strip()
    ]
    texts = [
        (steps, words, text)
        for steps, words, text in texts
        if not any("." in step for step in steps) and not _NOT_ANSWERS.union(_SOURCES) & {*words}
    ]
    ranked = [
        (_ANSWERS.index(name), len(steps), place, steps)
        for place, (steps, words, _) in enumerate(texts)
        if (name := next((word for word in reversed(words) if word in _ANSWERS), ""))
        and not steps[-1].isdecimal()
    ]
    if ranked:
        return ".".join(min(ranked)[-1])
    sentences = [steps for steps, _, text in texts if " " in text.strip()]
    return ".".join(sentences[0]) if len(sentences) == 1 else None


def _example(replies: Iterable[SampledReply], path: str) -> str:
    """One value at a path, short."""
    values = (value_at(reply.document, path) for reply in replies)
    first = next((value for value in values if value), None)
    return cells.short_repr(first[0] if isinstance(first, list) else first)
