"""The reply of a pipeline becomes fields of a record, each checked; or an error says why not."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rageval_report.errors import PipelineError
from rageval_report.http import RequestError
from rageval_report.records import cells
from rageval_report.records.levels import Section
from rageval_report.scores.guard import Doubt
from rageval_report.scores.metric import normalise_name

# Names of the keys of lists and texts, the most telling first. They are those of LangChain,
# LlamaIndex, Haystack, OpenAI, Bedrock, Azure, Vertex, Cohere, Dify and RAGFlow.
_LISTS = (
    "retrieved sources source_nodes source_documents documents docs nodes chunks passages hits "
    "contexts context references citations retrieval_results retrieved_references results matches "
    "records items data"
).split()
_ANSWERS = (
    "answer response output output_text reply result generated_text completion content text "
    "message answers generation data"
).split()
_EACH = "*"
_DEEPEST = 8

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


# -- keys that look like what was not found


def doubts_about_replies(documents: Sequence[object], present: Collection[str]) -> list[Doubt]:
    """A doubt if no reply has ids where they were expected, but all have a list of passages."""
    lists = [dict(_lists_in(document, ())) for document in documents]
    shared = set.intersection(*map(set, lists)) if lists else set()
    if "retrieved" in present or not shared:
        return []
    path = min(shared, key=lambda steps: (_LISTS.index(normalise_name(steps[-1])), len(steps)))
    example = cells.short_repr(next(iter(lists[0][path]), None))
    text = (
        f"no reply has retrieved where expected, but all {len(lists)} that were looked at have "
        f"{'.'.join(path)}, for example {example}"
    )
    return [Doubt("unread_keys", text, _advice("retrieved", path))]


def _lists_in(value: object, steps: Steps) -> Iterator[tuple[Steps, list[str]]]:
    """The paths of the lists of passages in a reply, and the ids in them."""
    if not isinstance(value, Mapping) or len(steps) > _DEEPEST:
        return
    for key, item in value.items():
        path = (*steps, str(key))
        yield from _lists_in(item, path)
        if isinstance(item, list) and item and normalise_name(str(key)) in _LISTS:
            with suppress(cells.CellError):  # a list of something else
                yield path, cells.ranking(item).ids


def answer_path(document: object) -> str | None:
    """The path at which a reply may have its answer; None if no key looks like it.

    Examples
    --------
    >>> answer_path({"choices": [{"message": {"role": "assistant", "content": "So."}}]})
    'choices.0.message.content'
    """
    texts = [
        (_ANSWERS.index(names[-1]), len(steps), steps)
        for steps in _texts_in(document, ())
        if (names := [*map(normalise_name, steps)])[-1] in _ANSWERS and {*_LISTS}.isdisjoint(names)
    ]
    return ".".join(min(texts)[-1]) if texts else None


def _texts_in(value: object, steps: Steps) -> Iterator[Steps]:
    """The paths of the texts in a reply; of a list its first item is looked at."""
    if isinstance(value, str) and value.strip() and steps:
        yield steps
    elif len(steps) <= _DEEPEST:
        items = value.items() if isinstance(value, Mapping) else []
        items = [("0", value[0])] if isinstance(value, list) and value else items
        for key, item in items:
            yield from _texts_in(item, (*steps, str(key)))


def _advice(field: str, path: Sequence[str]) -> str:
    """What to type so that a field is read at a path."""
    place = ".".join(path)
    return f"Name the path: --path {field}={place} (in Python: ResponsePaths({field}={place!r}))"


# -- failures


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
# What may pass; all others would come again.
TEMPORARY: tuple[FailureKind, ...] = ("connection", "timeout", "busy", "server", "exited")
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
    document: object = None


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
        path = answer_path(document)
        advice = "" if path is None else f". {_advice('answer', path.split('.'))}"
        message = f"expected an answer at {paths.answer!r}; got {cells.short_repr(document)}"
        raise TargetError(message + advice, "content")
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
