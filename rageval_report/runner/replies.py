"""The reply of a pipeline becomes fields of a record, each checked; or an error says why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from rageval_report.errors import PipelineError, named
from rageval_report.http import RequestError
from rageval_report.records import FIELDS, cells
from rageval_report.records.levels import Section
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
        if not any(ids) or None in ids:
            continue
        pairs = zip(replies, ids, strict=True)
        n_met = sum(not reply.gold.isdisjoint(names or ()) for reply, names in pairs)
        places = _places(path, _IDS)
        if n_met or (places is not None and not only_gold):
            ranked.append((-n_met, *(places or (len(_LISTS), len(_IDS))), path.count("."), path))
    return min(ranked)[-1] if ranked else None


def _text_path(replies: Sequence[SampledReply], beside: str) -> str | None:
    """The path at which most replies have texts of documents, in the list of their ids."""
    ranked = []
    for path in _list_paths(replies):
        texts = [value_at(reply.document, path) for reply in replies]
        places = _places(path, _TEXTS)
        is_beside = places is not None and _list_of(path) == _list_of(beside)
        if places is not None and is_beside and all(map(_are_texts, texts)) and any(texts):
            ranked.append((*places, path.count("."), path))
    return min(ranked)[-1] if ranked else None


def _list_paths(replies: Sequence[SampledReply]) -> list[str]:
    """The paths through one list that most replies have."""
    counts: Counter[str] = Counter()
    for reply in replies:
        leaves = {steps for steps, _ in _leaves(reply.document, (), _EACH, _MOST_ITEMS)}
        clear = (s for s in leaves if s.count(_EACH) == 1 and not any("." in step for step in s))
        # A list of ids alone is taken as it is.
        counts.update({".".join(s[:-1] if s[-1] == _EACH else s) for s in clear})
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
        (steps, words, text)
        for steps, text in _leaves(document, (), "0", 1)
        if steps and isinstance(text, str) and text.strip() and not any("." in s for s in steps)
        if not _NOT_ANSWERS.union(_SOURCES) & {*(words := [normalise_name(s) for s in steps])}
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


FailureKind = Literal[
    "connection",  # cannot be made, or is lost
    "certificate",  # not trusted
    "timeout",  # no complete answer in time
    "busy",  # status 429
    "server",  # status 5xx
    "refused",  # any other status that is not a success
    "size",  # larger than allowed
    "content",  # not JSON, no answer in it, or a field of the wrong kind
    "exception",  # a Python function raised
    "exited",  # a command ended
]
KINDS: tuple[FailureKind, ...] = get_args(FailureKind)
_BUSY = 429


class TargetError(PipelineError):
    """One attempt at a query failed.

    A function that is asked may raise it, to say the kind of its failure.

    Parameters
    ----------
    message : str
        What was expected, what happened, what to do.
    kind : str
        The kind of failure, e.g. "busy"; it decides how often the query is asked again.
    retry_after : float, optional
        The seconds that the pipeline asks to wait.

    Examples
    --------
    >>> TargetError("too many questions", "busy", retry_after=2.0).kind
    'busy'
    """

    def __init__(self, message: str, kind: FailureKind, retry_after: float | None = None):
        self.message = message
        self.kind: FailureKind = kind
        self.retry_after = retry_after
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.kind, self.retry_after)


def target_error(error: RequestError) -> TargetError:
    """The error of a target for a failed request."""
    kind: FailureKind = "server" if error.is_temporary else "refused"
    if error.failure != "status":
        kind = error.failure
    elif error.status == _BUSY:
        kind = "busy"
    return TargetError(str(error), kind, error.retry_after)


@dataclass(frozen=True)
class ResponsePaths:
    """The paths of the fields of a record in a reply, as for `value_at`.

    Parameters
    ----------
    answer, retrieved, contexts, citations : str
        Where the answer, the ranked passages or ids, the passages that were used, and the cited
        passages are.
    prompt_tokens, completion_tokens, cost_usd, model : str
        Where the amounts and the name of the model are.

    Examples
    --------
    >>> ResponsePaths(answer="choices.0.message.content").retrieved
    'retrieved'
    """

    answer: str = "answer"
    retrieved: str = "retrieved"
    contexts: str = "contexts"
    citations: str = "citations"
    prompt_tokens: str = "usage.prompt_tokens"
    completion_tokens: str = "usage.completion_tokens"
    cost_usd: str = "cost_usd"
    model: str = "model"


@dataclass(frozen=True)
class TargetReply:
    """One reply of a target: the fields that were read, how long it took, the whole document."""

    fields: dict[str, Any]
    latency_ms: float
    first_byte_ms: float | None = None
    document: object = None
    hidden: tuple[str, ...] = ()  # the variables whose values were replaced by stars

    def entry(self) -> dict[str, Any]:
        """The fields, the timing, and which variables were hidden, for the journal."""
        times = {"latency_ms": self.latency_ms, "first_byte_ms": self.first_byte_ms}
        return self.fields | _present({**times, "hidden_values": list(self.hidden) or None})


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def record_fields(document: object, paths: ResponsePaths) -> dict[str, Any]:
    """The fields of a record in a reply.

    Raises
    ------
    TargetError
        If there is no answer, or a field is of the wrong kind.
    """
    if isinstance(document, str):
        return {"answer": document}
    # A path of one's own may lead into a list; only the default one needs an object.
    if not isinstance(document, Mapping) and paths.answer == ResponsePaths.answer:
        shown = cells.short_repr(document)
        raise TargetError(f"expected a text or an object; got {shown}", "content")
    at = {name: value_at(document, path) for name, path in asdict(paths).items()}
    if at["answer"] is None:
        advice = answer_advice(document)
        message = f"expected an answer at {paths.answer!r}; got {cells.short_repr(document)}"
        raise TargetError(message + (advice and f". {advice}"), "content")
    name, fields = "answer", {}
    try:
        fields["answer"] = cells.text(at["answer"])
        name = "retrieved"
        # Before the citations, which may be positions in the retrieved list.
        ranking, read = _read_ranking(at["retrieved"])
        fields |= read
        # Contexts that the server states replace the texts that came with its retrieved documents.
        for name, convert in _CONVERTERS.items():
            fields |= _present({name: cells.optional(convert)(at[name])})
        name = "citations"
        if not cells.is_missing(at["citations"]):
            cited = cells.citations(at["citations"], ranking)
            fields |= _present({"citations": cited.ids, "cited_sections": cited.sections or None})
    except cells.CellError as exc:
        raise TargetError(f"{name}: {exc}", "content") from exc
    return fields


def _read_ranking(cell: object) -> tuple[list[Section], dict[str, Any]]:
    # A path through items without ids gives a list of nulls, which means unknown.
    is_unknown = isinstance(cell, list) and bool(cell) and all(item is None for item in cell)
    if is_unknown or cells.is_missing(cell):
        return [], {}
    ranking = cells.ranking(cell)
    spans = [span and (span.filename, span.start, span.end) for span in ranking.spans]
    fields = {
        "retrieved_scores": ranking.scores or None,
        "retrieved_sections": ranking.sections or None,
        "contexts": ranking.texts or None,
        "retrieved_spans": spans or None,
    }
    sections = ranking.sections or [(None, name) for name in ranking.ids]
    return sections, {"retrieved": ranking.ids, **_present(fields)}


_CONVERTERS: dict[str, Any] = {
    "contexts": cells.texts,
    "model": cells.text,
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "cost_usd"), cells.amount),
}
