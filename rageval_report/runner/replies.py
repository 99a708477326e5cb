"""What a pipeline answered, as fields of a record, each checked before it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rageval_report.records import cells
from rageval_report.runner.paths import value_at
from rageval_report.runner.target_errors import TargetError

_AMOUNTS = ("prompt_tokens", "completion_tokens", "cost_usd")


@dataclass(frozen=True)
class ResponsePaths:
    """Where the fields of a record stand in an answer, as `paths.value_at` takes it.

    All but the answer may be missing: they are unknown then. ``retrieved`` may hold ids, or
    mappings with an id, and with ``score`` and ``text``.

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
    """One answer, and how long it took.

    Parameters
    ----------
    fields : dict
        Those of a record; unknown ones are left out.
    latency_ms : float
        From asking to the whole answer, measured here.
    first_byte_ms : float, optional
        From asking to the first byte of the answer, or to the first piece of its text where it
        comes in pieces.
    """

    fields: dict[str, Any]
    latency_ms: float
    first_byte_ms: float | None = None

    def entry(self) -> dict[str, Any]:
        """All of it, for the journal."""
        timing = {"latency_ms": self.latency_ms, "first_byte_ms": self.first_byte_ms}
        return self.fields | {name: value for name, value in timing.items() if value is not None}


@dataclass(frozen=True)
class _Fields:
    """The fields while they are read."""

    found: dict[str, Any] = field(default_factory=dict)

    def put(self, name: str, value: Any) -> None:
        if value is not None:
            self.found[name] = value


def record_fields(document: Any, paths: ResponsePaths) -> dict[str, Any]:
    """The fields of a record in an answer.

    Parameters
    ----------
    document : JSON value
        A mapping, or the answer alone as a text.
    paths : ResponsePaths
        Where each stands.

    Returns
    -------
    dict
        Known fields only; ids as texts, contexts as a list of texts.

    Raises
    ------
    TargetError
        If there is no answer, or a field is of the wrong kind; the kind of failure is "content".

    Examples
    --------
    >>> document = {"answer": "Paris", "retrieved": [{"doc_id": "d1", "text": "Paris is ..."}]}
    >>> record_fields(document, ResponsePaths())
    {'answer': 'Paris', 'retrieved': ['d1'], 'contexts': ['Paris is ...']}
    """
    if isinstance(document, str):
        return {"answer": document}
    if not isinstance(document, Mapping) and paths.answer in ResponsePaths().answer:
        raise TargetError(f"expected a text or an object; got {_shown(document)}", "content")
    at = {name: value_at(document, path) for name, path in asdict(paths).items()}
    if at["answer"] is None:
        raise TargetError(f"no answer at {paths.answer!r} in {_shown(document)}", "content")
    name = "answer"
    fields = _Fields()
    try:
        fields.put(name, cells.text(at[name]))
        name = "retrieved"
        ranking = _put_retrieved(fields, at[name])
        for name in ("contexts", "model", *_AMOUNTS):
            fields.put(name, _READ[name](at[name]))
        name = "citations"
        _put_citations(fields, at[name], ranking)
    except cells.CellError as exc:
        raise TargetError(f"{name}: {exc}", "content") from exc
    return fields.found


def _put_retrieved(fields: _Fields, cell: Any) -> list[str]:
    ranking = cells.optional(cells.ranking)(_without_missing_ids(cell))
    if ranking is None:
        return []
    fields.put("retrieved", ranking.ids)
    fields.put("retrieved_scores", ranking.scores or None)
    fields.put("contexts", ranking.texts or None)
    spans = [one and (one.filename, one.start, one.end) for one in ranking.spans]
    fields.put("retrieved_spans", spans or None)
    return ranking.ids


def _without_missing_ids(cell: Any) -> Any:
    """A list of nothing but nulls, as a path through items without ids gives, is unknown."""
    is_list = isinstance(cell, list) and cell
    return None if is_list and all(item is None for item in cell) else cell


def _put_citations(fields: _Fields, cell: Any, ranking: list[str]) -> None:
    cited = None if cells.is_missing(cell) else cells.citations(cell, ranking)
    if cited is not None:
        fields.put("citations", cited.ids)
        fields.put("cited_sections", cited.sections or None)


_READ = {
    "contexts": cells.optional(cells.texts),
    "model": cells.optional(cells.text),
    **{name: cells.optional(cells.amount) for name in _AMOUNTS},
}


def _shown(document: Any) -> str:
    shown = repr(document)
    return shown if len(shown) <= 80 else shown[:79] + "…"
