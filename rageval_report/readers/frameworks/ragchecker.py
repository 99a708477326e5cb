"""RAGChecker's JSON: claims, the texts that entail them, and the metrics of each query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rageval_report.files.source import Source
from rageval_report.readers.base import ScoreFile
from rageval_report.readers.frameworks.format import SURE, Format
from rageval_report.readers.frameworks.rows import Judgement
from rageval_report.readers.json_shapes import check_object, check_records, is_records
from rageval_report.scores.metric import Metric
from rageval_report.types import JsonObject

_MARKS = {"query_id", "query", "gt_answer", "response"}

# The conditions under which a metric has nothing to count, and why.
_NEEDS = {
    "answer": "the answer makes no claim",
    "reference": "the reference makes no claim",
    "context": "nothing was retrieved",
    "use": "no claim of the reference was retrieved",
}
# Name, our name if it differs, group, whether higher is better, what it needs, description.
# RAGChecker's precision is about claims, not about documents, so it has a name of its own.
_DESCRIBED: tuple[tuple[str, str, str, bool, tuple[str, ...], str], ...] = (
    ("precision", "claim_precision", "generation", True, ("answer",),
     "The share of the answer's claims that are correct."),
    ("recall", "answer_claim_recall", "generation", True, ("reference",),
     "The share of the reference's claims that are answered."),
    ("f1", "claim_f1", "generation", True, ("answer", "reference"),
     "Of the precision and the recall of claims."),
    ("claim_recall", "", "retrieval", True, ("reference",),
     "The share of the reference's claims that the contexts hold."),
    ("context_precision", "", "retrieval", True, ("reference", "context"),
     "The share of the contexts that hold a relevant claim."),
    ("context_utilization", "", "generation", True, ("reference", "context", "use"),
     "The share of the retrieved claims that are answered."),
    ("noise_sensitivity_in_relevant", "", "generation", False, ("answer", "context"),
     "The share of the answer's claims that are wrong and come from relevant contexts."),
    ("noise_sensitivity_in_irrelevant", "", "generation", False, ("answer", "context"),
     "The share of the answer's claims that are wrong and come from irrelevant contexts."),
    ("hallucination", "", "generation", False, ("answer", "context"),
     "The share of the answer's claims that are wrong and in no context."),
    ("self_knowledge", "", "generation", False, ("answer", "context"),
     "The share of the answer's claims that are correct and in no context."),
    ("faithfulness", "", "generation", True, ("answer", "context"),
     "The share of the answer's claims that the contexts hold."),
)  # fmt: skip
_METRICS = {
    name: Metric(
        ours or name,
        group=group,
        kind="proportion",
        greater_is_better=higher,
        description=description,
        source="RAGChecker",
    )
    for name, ours, group, higher, _, description in _DESCRIBED
}
_NEEDED = {name: needs for name, _, _, _, needs, _ in _DESCRIBED}


def _recognise(source: Source) -> float:
    document = source.document_or_none()
    rows = document.get("results") if isinstance(document, dict) else None
    return SURE if is_records(rows) and all(row.keys() >= _MARKS for row in rows) else 0.0


def _read_ragchecker(source: Source) -> list[ScoreFile]:
    """Read the JSON that RAGChecker writes after the evaluation."""
    rows = check_records(check_object(source.document, "the document").get("results"), "results")
    if not rows:
        raise source.error("expected RAGChecker's results: a list of objects")
    if not any(map(_scores_of, rows)):
        raise source.error(
            f"these {len(rows)} results have no metrics: the file is RAGChecker's input, or was "
            "checked but not evaluated. Evaluate it with RAGChecker, and pass the resulting file"
        )
    return [_RESULTS.score_file(source.stem, list(map(_with_documents, rows)))]


def _with_documents(row: JsonObject) -> JsonObject:
    contexts = row.get("retrieved_context")
    documents = contexts if isinstance(contexts, list) else []
    ids = [each.get("doc_id") if isinstance(each, dict) else None for each in documents]
    return {
        **{key: value for key, value in row.items() if value is not None},
        "texts": [each.get("text") if isinstance(each, dict) else each for each in documents],
        "documents": ids if any(each is not None for each in ids) else None,
    }


def _scores_of(row: JsonObject) -> JsonObject:
    return check_object(row.get("metrics"), f"the metrics of query {row.get('query_id')!r}")


def _judgements(rows: Iterable[JsonObject]) -> Iterator[dict[str, Judgement]]:
    for row in rows:
        scores = _scores_of(row)
        reasons = {name: _missing_need(name, score, row) for name, score in scores.items()}
        yield {
            name: Judgement("n/a", reasons[name]) if reasons[name] else Judgement(score)
            for name, score in scores.items()
        }


def _missing_need(name: str, score: object, row: JsonObject) -> str | None:
    """Why a score of 0 had nothing to count; None if it had something."""
    # RAGChecker (0.1.9) writes 0.0 both for a bad score and for nothing to score.
    if isinstance(score, bool) or score != 0:
        return None
    is_missing = {
        "answer": [] in (row.get("response_claims"), row.get("answer2response")),
        "reference": [] in (row.get("gt_answer_claims"), row.get("response2answer")),
        "context": row.get("retrieved_context") == [],
        "use": _nothing_recalled(row),
    }
    return next((_NEEDS[need] for need in _NEEDED.get(name, ()) if is_missing[need]), None)


def _nothing_recalled(row: JsonObject) -> bool:
    """Whether no claim of the reference is in any context, so that nothing could be used."""
    claims = row.get("retrieved2answer")
    labels = [label for claim in claims or () if isinstance(claim, list) for label in claim]
    return isinstance(claims, list) and bool(labels) and "Entailment" not in labels


def _notes(rows: Sequence[JsonObject]) -> Iterator[str]:
    empty = Counter(
        name
        for row in rows
        for name, score in _scores_of(row).items()
        if _missing_need(name, score, row)
    )
    if empty:
        names = dict.fromkeys(name for row in rows for name in _scores_of(row))
        counts = ", ".join(f"{name} ({empty[name]})" for name in names if empty[name])
        yield (
            "RAGChecker wrote 0 if there was nothing to score, and its own means count that; here "
            f"the score is not applicable: {counts}"
        )


_RESULTS = Format(
    "ragchecker",
    "RAGChecker's JSON of results with their metrics",
    "checking_outputs.json",
    judge=_judgements,
    notes=_notes,
    metrics=_METRICS,
    texts={
        "query_id": "query_id",
        "question": "query",
        "answer": "response",
        "reference": "gt_answer",
        "contexts": "texts",
        "retrieved": "documents",
    },
    others="ragchecker",
    own=("metrics", "retrieved_context"),
)
RAGCHECKER = _RESULTS.reader(_recognise, _read_ragchecker)
