"""The reply of a pipeline becomes fields of a record, each checked; or an error says why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from rageval_report.errors import PipelineError
from rageval_report.http import RequestError
from rageval_report.records import cells
from rageval_report.records.levels import Section
from rageval_report.runner.reply_keys import answer_advice, value_at

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
    kind: FailureKind
    if error.failure != "status":
        kind = error.failure
    elif error.status == _BUSY:
        kind = "busy"
    else:
        kind = "server" if error.is_temporary else "refused"
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
        more = {
            "latency_ms": self.latency_ms,
            "first_byte_ms": self.first_byte_ms,
            "hidden_values": list(self.hidden) or None,
        }
        return self.fields | _present(more)


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
