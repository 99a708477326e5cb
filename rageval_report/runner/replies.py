"""Convert the reply of a pipeline to fields of a record, each checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rageval_report.records import cells
from rageval_report.records.levels import Section
from rageval_report.runner.paths import value_at
from rageval_report.runner.reply_keys import answer_advice
from rageval_report.runner.target_errors import TargetError

_AMOUNTS = ("prompt_tokens", "completion_tokens", "cost_usd")


@dataclass(frozen=True)
class ResponsePaths:
    """The paths of the fields of a record in a reply, as for `paths.value_at`.

    All but the answer may be missing, and are then unknown. ``retrieved`` may contain ids, or
    mappings with the id of the document, of the chunk, or of both, and optionally ``score`` and
    ``text``.

    Examples
    --------
    >>> ResponsePaths(answer="choices.0.message.content").answer
    'choices.0.message.content'
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
    """One reply of a target, and how long it took.

    Parameters
    ----------
    fields : dict
        Fields of a record; unknown ones are left out.
    latency_ms : float
        From the request to the complete answer, measured on this side.
    first_byte_ms : float, optional
        From the request to the first byte of the answer, or for a stream to the first piece of its
        text.
    document : JSON value, optional
        The whole reply, which is not kept in the journal.
    hidden : tuple of str
        The environment variables whose values were in the reply, if ``***`` stands in a field
        instead.
    """

    fields: dict[str, Any]
    latency_ms: float
    first_byte_ms: float | None = None
    document: object = None
    hidden: tuple[str, ...] = ()

    def entry(self) -> dict[str, Any]:
        """The fields, the timing, and which variables were hidden, for the journal."""
        more = {
            "latency_ms": self.latency_ms,
            "first_byte_ms": self.first_byte_ms,
            "hidden_values": list(self.hidden) or None,
        }
        return self.fields | {name: value for name, value in more.items() if value is not None}


@dataclass(frozen=True)
class _ReplyFields:
    """The fields so far."""

    values: dict[str, Any] = field(default_factory=dict)

    def put(self, name: str, value: object) -> None:
        if value is not None:
            self.values[name] = value


def record_fields(document: object, paths: ResponsePaths) -> dict[str, Any]:
    """The fields of a record in a reply.

    Parameters
    ----------
    document : JSON value
        An object, or a text that is the answer itself.
    paths : ResponsePaths
        The path of each field.

    Returns
    -------
    dict
        The fields that are known; ids as texts, contexts as a list of texts.

    Raises
    ------
    TargetError
        If there is no answer, or a field has the wrong type; the kind of failure is "content".

    Examples
    --------
    >>> document = {"answer": "Paris", "retrieved": [{"doc_id": "d1", "text": "Paris is ..."}]}
    >>> record_fields(document, ResponsePaths())
    {'answer': 'Paris', 'retrieved': ['d1'], 'contexts': ['Paris is ...']}
    """
    if isinstance(document, str):
        return {"answer": document}
    # A path of one's own may lead into a list; only the default ones need an object.
    if not isinstance(document, Mapping) and paths.answer in ResponsePaths().answer:
        raise TargetError(
            f"expected a text or an object; got {cells.short_repr(document)}", "content"
        )
    at = {name: value_at(document, path) for name, path in asdict(paths).items()}
    if at["answer"] is None:
        raise TargetError(
            f"expected an answer at {paths.answer!r}; got {cells.short_repr(document)}"
            + (f". {advice}" if (advice := answer_advice(document)) else ""),
            "content",
        )
    name = "answer"
    fields = _ReplyFields()
    try:
        fields.put(name, cells.text(at[name]))
        name = "retrieved"
        # Before the citations, which may be positions in the retrieved list.
        ranking = _put_retrieved(fields, at[name])
        # Contexts that the server states replace the texts that came with its retrieved documents.
        for name in ("contexts", "model", *_AMOUNTS):
            fields.put(name, _CONVERTERS[name](at[name]))
        name = "citations"
        _put_citations(fields, at[name], ranking)
    except cells.CellError as exc:
        raise TargetError(f"{name}: {exc}", "content") from exc
    return fields.values


def _put_retrieved(fields: _ReplyFields, cell: object) -> list[Section]:
    ranking = cells.optional(cells.ranking)(_none_if_all_missing(cell))
    if ranking is None:
        return []
    fields.put("retrieved", ranking.ids)
    fields.put("retrieved_scores", ranking.scores or None)
    fields.put("retrieved_sections", ranking.sections or None)
    fields.put("contexts", ranking.texts or None)
    spans = [span and (span.filename, span.start, span.end) for span in ranking.spans]
    fields.put("retrieved_spans", spans or None)
    return ranking.sections or [(None, name) for name in ranking.ids]


def _none_if_all_missing(cell: object) -> object:
    """A path through items without ids gives a list of nulls, which means unknown."""
    if isinstance(cell, list) and cell and all(item is None for item in cell):
        return None
    return cell


def _put_citations(fields: _ReplyFields, cell: object, ranking: list[Section]) -> None:
    cited = None if cells.is_missing(cell) else cells.citations(cell, ranking)
    if cited is not None:
        fields.put("citations", cited.ids)
        fields.put("cited_sections", cited.sections or None)


_CONVERTERS = {
    "contexts": cells.optional(cells.texts),
    "model": cells.optional(cells.text),
    **{name: cells.optional(cells.amount) for name in _AMOUNTS},
}
