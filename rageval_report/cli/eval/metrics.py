"""Which metrics eval computes and lets judge, where they are not all named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

Fields = tuple[str, ...]
Names = tuple[str, ...]

# What is computed where nothing is asked for: the metrics for which the fields are there.
_DEFAULTS: tuple[tuple[Fields, Names], ...] = (
    (("relevant", "retrieved"), ("recall@5", "ndcg@10", "reciprocal_rank")),
    (("reference", "answer"), ("exact_match", "token_f1")),
    (("relevant", "citations"), ("citation_f1",)),
    (("answerable", "answer"), ("false_refusal", "hallucinated_answer")),
    (("latency_ms",), ("latency_ms",)),
)

# What is judged where a judge is named and no rubric: those for which the fields are there.
JUDGED: tuple[tuple[Fields, str], ...] = (
    (("answer", "contexts"), "faithfulness"),
    (("answer", "reference"), "answer_correctness"),
    (("answer",), "answer_relevancy"),
)


@dataclass(frozen=True)
class MetricGroups:
    """Groups of metrics instead of names, as ragbench's file has them.

    Parameters
    ----------
    retrieval, generation, citation, abstention, performance : bool
        Which groups; of each, the metrics for which the fields are there.
    recall_k_values, precision_k_values : tuple of int
        The cutoffs of recall and precision.

    Examples
    --------
    >>> MetricGroups(citation=False, recall_k_values=(5,), precision_k_values=()).named()[0]
    (('relevant', 'retrieved'), ('recall@5', 'reciprocal_rank', 'ndcg@10'))
    """

    retrieval: bool = True
    generation: bool = True
    citation: bool = True
    abstention: bool = True
    performance: bool = True
    recall_k_values: tuple[int, ...] = (1, 3, 5, 10)
    precision_k_values: tuple[int, ...] = (1, 3, 5)

    def named(self) -> tuple[tuple[Fields, Names], ...]:
        """The metrics of the groups, by the fields that they need."""
        recalls = tuple(f"recall@{k}" for k in self.recall_k_values)
        precisions = tuple(f"precision@{k}" for k in self.precision_k_values)
        found: list[tuple[bool, Fields, Names]] = [
            (
                self.retrieval,
                ("relevant", "retrieved"),
                (*recalls, *precisions, "reciprocal_rank", "ndcg@10"),
            ),
            (self.generation, ("reference", "answer"), ("exact_match", "token_f1")),
            (self.citation, ("relevant", "citations"), ("citation_precision", "citation_recall")),
            (
                self.abstention,
                ("answerable", "answer"),
                ("unanswerable_accuracy", "false_refusal", "hallucinated_answer"),
            ),
            (self.performance, ("latency_ms",), ("latency_ms",)),
            (self.performance, ("cost_usd",), ("cost_usd",)),
        ]
        return tuple((fields, names) for is_on, fields, names in found if is_on)


def allowed(records: pd.DataFrame, groups: MetricGroups | None = None) -> list[str]:
    """The metrics for which the fields are there.

    Parameters
    ----------
    records : DataFrame
        As `rageval_report.records.record_table` gives them.
    groups : MetricGroups, optional
        Which groups; a few metrics of each where not given.
    """
    wanted = _DEFAULTS if groups is None else groups.named()
    return [name for fields, names in wanted if _has(records, fields) for name in names]


def judgeable(records: pd.DataFrame) -> list[str]:
    """The rubrics of `JUDGED` for which the fields are there."""
    return [name for fields, name in JUDGED if _has(records, fields)]


def _has(records: pd.DataFrame, fields: Fields) -> bool:
    return all(one in records and records[one].notna().any() for one in fields)
