"""Metrics as other systems define them, where the definition is not ours.

The entries of `rageval_report.scores.catalogue.dialects` name these functions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, named
from rageval_report.metrics.refusal import RefusalRule
from rageval_report.metrics.retrieval import Hits
from rageval_report.metrics.traces import score_gold_and_traces
from rageval_report.types import BoolArray, FloatArray

# -- ragbench

# The fragments of its configuration, which it looks for in the answer in lower case.
_RAGBENCH_PHRASES = (
    "i don't have enough information",
    "i do not have enough information",
    "cannot answer",
    "can't answer",
    "unable to answer",
    "not enough information",
    "insufficient information",
    "no information available",
    "don't know",
    "do not know",
    "cannot be determined",
    "can't be determined",
    "not mentioned",
    "not found",
    "no relevant information",
)


@dataclass(frozen=True)
class LiteralRefusals(RefusalRule):
    """Refusals as ragbench finds them: an empty answer, or one with a fragment as it is."""

    phrases: Any = _RAGBENCH_PHRASES

    def refuses(self, answer: str) -> bool:
        """Whether an answer is a refusal."""
        lowered = answer.lower()
        return not answer or any(phrase in lowered for phrase in self.phrases)


@dataclass(frozen=True, eq=False)
class ListedHits(Hits):
    """The hit table with the lists that it was made from, for rules that count repeats."""

    retrieved: Sequence[Sequence[str]] = ()
    relevant: Sequence[Mapping[str, float]] = ()


def precision_of_retrieved(hits: ListedHits, k: int | None = None) -> FloatArray:
    """The share of the distinct first `k` results that is relevant; 0 if there is none."""
    values = []
    for docs, gold in zip(hits.retrieved, hits.relevant, strict=True):
        first = set(docs[:k])
        right = {doc for doc, grade in gold.items() if grade > 0}
        values.append(len(first & right) / len(first) if first else 0.0)
    return np.array(values, dtype=np.float64)


def ndcg_with_repeats(hits: ListedHits, k: int | None = None) -> FloatArray:
    """Discounted cumulative gain in which a repeated document gains again; it may exceed 1."""
    values = []
    for docs, gold in zip(hits.retrieved, hits.relevant, strict=True):
        grades = {doc: max(grade, 0.0) for doc, grade in gold.items()}
        ideal = _discounted(sorted(grades.values(), reverse=True)[:k])
        actual = _discounted([grades.get(doc, 0.0) for doc in docs[:k]])
        values.append(actual / ideal if ideal > 0 else 0.0)
    return np.array(values, dtype=np.float64)


def _discounted(gains: Sequence[float]) -> float:
    total = 0.0
    for place, gain in enumerate(gains):
        total += gain / math.log2(place + 2)
    return total


# -- the gold and trace scorer


@dataclass(frozen=True, eq=False)
class GoldAndTraces:
    """The records as the gold set and the traces of which the scorer computes its figures."""

    gold: list[dict[str, Any]]
    traces: list[dict[str, Any]]
    answerable: BoolArray

    def applies(self, metric: str) -> BoolArray:
        """Whether a question is one of those that a metric divides by, whatever was answered."""
        if metric == "hallucinated_answer":
            return ~self.answerable
        if metric == "false_refusal" or metric.startswith("full_recall"):
            return self.answerable
        scores = self.column("answered_citation_hit")
        return ~np.isnan(scores)

    def column(self, metric: str, k: int | None = None) -> FloatArray:
        """The scores of a metric of the scorer, in the order of the records."""
        scored = score_gold_and_traces(self.gold, self.traces, k=5 if k is None else k)
        name = metric if k is None else f"{metric}@{k}"
        return scored.scores[name].to_numpy(dtype=np.float64)


def gold_and_traces(records: pd.DataFrame) -> GoldAndTraces:
    """Checked records as a gold set and traces; references are the substrings of a right claim."""

    def column(name: str) -> list[Any]:
        return records[name].tolist() if name in records else [None] * len(records)

    flags = column("answerable")
    unknown = [
        str(query) for query, flag in zip(records.index, flags, strict=True) if pd.isna(flag)
    ]
    if unknown:
        raise DataError(
            'dialect="wfgy" needs answerable for every query, true or false; it is missing for '
            f"{named(unknown)}"
        )
    gold, traces = [], []
    names = ("reference", "relevant", "retrieved", "answer", "citations")
    for query, flag, *texts in zip(records.index, flags, *map(column, names), strict=True):
        reference, relevant, retrieved, answer, citations = texts
        gold.append(
            {
                "qid": str(query),
                "answerable": bool(flag),
                "gold_claim_substr": None if reference is None else list(reference),
                "gold_citations": [doc for doc, grade in (relevant or {}).items() if grade > 0],
            }
        )
        traces.append(
            {
                "qid": str(query),
                "retrieved_ids": list(retrieved or ()),
                "answer_json": {"claim": answer or "", "citations": list(citations or ())},
            }
        )
    return GoldAndTraces(gold, traces, np.array(flags, dtype=bool))


def _column(view: GoldAndTraces, *, metric: str) -> FloatArray:
    return view.column(metric)


# Whether an answer to an answerable question has a gold text and a hit, or a hit, of all answers.
answered_precision = partial(_column, metric="answered_precision")
answered_citation_hit = partial(_column, metric="answered_citation_hit")
# Whether a question without an answer was answered, or an answerable one refused, of these.
under_refusal = partial(_column, metric="hallucinated_answer")
over_refusal = partial(_column, metric="false_refusal")


def full_recall(view: GoldAndTraces, k: int | None = None) -> FloatArray:
    """Whether all gold is among the first `k`, of the answerable questions."""
    return view.column("full_recall", 5 if k is None else k)
