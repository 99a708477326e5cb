"""RAGChecker's JSON: claims, the texts that entail them, and the metrics of each query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.json_shapes import check_object, check_records, is_records
from rageval_report.readers.record_columns import columns_of, frame_of, score_columns
from rageval_report.scores.metric import Metric
from rageval_report.types import JsonObject

_MARKS = {"query_id", "query", "gt_answer", "response"}
_DETAILS = {
    "query_id": "query_id",
    "query": "question",
    "response": "answer",
    "gt_answer": "reference",
}


def _metric(name: str, group: str, description: str, *, higher: bool = True) -> Metric:
    return Metric(
        name,
        group=group,
        kind="proportion",
        greater_is_better=higher,
        description=description,
        source="RAGChecker",
    )


# RAGChecker's precision is about claims, not about documents, so it has a name of its own.
_METRICS: dict[str, Metric] = {
    "precision": _metric(
        "claim_precision", "generation", "The share of the answer's claims that are correct."
    ),
    "recall": _metric(
        "answer_claim_recall",
        "generation",
        "The share of the reference's claims that are answered.",
    ),
    "f1": _metric("claim_f1", "generation", "Of the precision and the recall of claims."),
    "claim_recall": _metric(
        "claim_recall", "retrieval", "The share of the reference's claims that the contexts hold."
    ),
    "context_precision": _metric(
        "context_precision", "retrieval", "The share of the contexts that hold a relevant claim."
    ),
    "context_utilization": _metric(
        "context_utilization", "generation", "The share of the retrieved claims that are answered."
    ),
    "noise_sensitivity_in_relevant": _metric(
        "noise_sensitivity_in_relevant",
        "generation",
        "The share of the answer's claims that are wrong and come from relevant contexts.",
        higher=False,
    ),
    "noise_sensitivity_in_irrelevant": _metric(
        "noise_sensitivity_in_irrelevant",
        "generation",
        "The share of the answer's claims that are wrong and come from irrelevant contexts.",
        higher=False,
    ),
    "hallucination": _metric(
        "hallucination",
        "generation",
        "The share of the answer's claims that are wrong and in no context.",
        higher=False,
    ),
    "self_knowledge": _metric(
        "self_knowledge",
        "generation",
        "The share of the answer's claims that are correct and in no context.",
        higher=False,
    ),
    "faithfulness": _metric(
        "faithfulness", "generation", "The share of the answer's claims that the contexts hold."
    ),
}


def _recognise(source: Source) -> float:
    document = source.document_or_none()
    rows = document.get("results") if isinstance(document, dict) else None
    if not isinstance(rows, list) or not is_records(rows):
        return 0.0
    return 0.95 if all(set(row) >= _MARKS for row in rows) else 0.0


def read_ragchecker(source: Source) -> list[ScoreFile]:
    """Read the JSON that RAGChecker writes after the evaluation.

    If there is nothing to score, RAGChecker writes 0; here such a score is not applicable. The
    metrics of the whole file, in percent, are left out.

    Raises
    ------
    ReaderError
        If the file contains no metrics: it is the input, or was not evaluated yet.
    """
    rows = check_records(check_object(source.document, "the document").get("results"), "results")
    if not rows:
        raise source.error("expected RAGChecker's results: a list of objects")
    names = list(dict.fromkeys(name for row in rows for name in _metrics(row)))
    if not names:
        raise source.error(
            f"these {len(rows)} results have no metrics: the file is RAGChecker's input, or was "
            "checked but not evaluated. Evaluate it with RAGChecker, and pass the resulting file"
        )
    columns = columns_of(_details(row) for row in rows)
    scored = {name: _metric_columns(name, rows) for name in names}
    for metric_columns, _ in scored.values():
        columns |= metric_columns
    return [
        ScoreFile(
            frame_of(columns),
            source.stem,
            metrics={name: _METRICS[name] for name in names if name in _METRICS},
            metric_columns=tuple(names),
            notes=tuple(_notes({name: n for name, (_, n) in scored.items()})),
        )
    ]


def _notes(n_empty: Mapping[str, int]) -> Iterable[str]:
    empty = {name: n for name, n in n_empty.items() if n}
    if empty:
        counts = [f"{name} ({n})" for name, n in empty.items()]
        yield (
            "RAGChecker wrote 0 if there was nothing to score, and its own means count that; here "
            f"the score is not applicable: {', '.join(counts)}"
        )


def _metrics(row: JsonObject) -> JsonObject:
    return check_object(row.get("metrics"), f"the metrics of query {row.get('query_id')!r}")


def _details(row: JsonObject) -> dict[str, Any]:
    details: dict[str, Any] = {ours: row.get(theirs) for theirs, ours in _DETAILS.items()}
    contexts = row.get("retrieved_context")
    docs = contexts if isinstance(contexts, list) else []
    details["contexts"] = [doc.get("text") if isinstance(doc, dict) else doc for doc in docs]
    details["retrieved"] = [doc.get("doc_id") if isinstance(doc, dict) else None for doc in docs]
    if all(doc_id is None for doc_id in details["retrieved"] or []):
        del details["retrieved"]
    rest = {
        key: value
        for key, value in row.items()
        if key not in (*_DETAILS, "retrieved_context", "metrics") and value is not None
    }
    taken = {*details, *_METRICS}
    return details | {f"ragchecker.{k}" if k in taken else k: rest[k] for k in rest}


# -- scores that do not apply


def _metric_columns(name: str, rows: list[JsonObject]) -> tuple[dict[str, list[Any]], int]:
    """The columns of a metric, and the number of its scores of 0 that are not applicable."""
    cells = [_metrics(row).get(name) for row in rows]
    reasons = [
        # RAGChecker (0.1.9) writes 0.0 both for a bad score and for nothing to score.
        _missing_need(name, row) if _is_zero(cell) else None
        for cell, row in zip(cells, rows, strict=True)
    ]
    scores = ["n/a" if reason else cell for cell, reason in zip(cells, reasons, strict=True)]
    return score_columns(name, scores, reasons), sum(reason is not None for reason in reasons)


def _is_zero(cell: object) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool) and cell == 0


def _missing_need(name: str, row: JsonObject) -> str | None:
    """Why a metric had nothing to count for this query; None if it had something."""
    return next((reason for is_missing, reason in _NEEDS.get(name, ()) if is_missing(row)), None)


def _is_empty(*keys: str) -> Callable[[JsonObject], bool]:
    """A function that says whether one of the lists is present, and empty."""
    return lambda row: any(row.get(key) == [] for key in keys)


def _nothing_retrieved(row: JsonObject) -> bool:
    return row.get("retrieved_context") == []


def _nothing_recalled(row: JsonObject) -> bool:
    """Whether no claim of the reference is in any context, so that nothing could be used."""
    claims = row.get("retrieved2answer")
    if not isinstance(claims, list) or not claims:
        return False
    labels = [label for claim in claims if isinstance(claim, list) for label in claim]
    return bool(labels) and "Entailment" not in labels


_NO_ANSWER = (_is_empty("response_claims", "answer2response"), "the answer makes no claim")
_NO_REFERENCE = (_is_empty("gt_answer_claims", "response2answer"), "the reference makes no claim")
_NO_CONTEXT = (_nothing_retrieved, "nothing was retrieved")
_NO_USE = (_nothing_recalled, "no claim of the reference was retrieved")

# The conditions under which a metric has nothing to count, and why.
_NEEDS: dict[str, tuple[tuple[Callable[[JsonObject], bool], str], ...]] = {
    "precision": (_NO_ANSWER,),
    "recall": (_NO_REFERENCE,),
    "f1": (_NO_ANSWER, _NO_REFERENCE),
    "claim_recall": (_NO_REFERENCE,),
    "context_precision": (_NO_REFERENCE, _NO_CONTEXT),
    "context_utilization": (_NO_REFERENCE, _NO_CONTEXT, _NO_USE),
    **dict.fromkeys(
        (
            *("noise_sensitivity_in_relevant", "noise_sensitivity_in_irrelevant"),
            *("hallucination", "self_knowledge", "faithfulness"),
        ),
        (_NO_ANSWER, _NO_CONTEXT),
    ),
}

RAGCHECKER = Reader(
    "ragchecker",
    "RAGChecker's JSON of results with their metrics",
    _recognise,
    read_ragchecker,
    ("encoding",),
    example="checking_outputs.json",
)
