"""The metrics that are computed and the rubrics that are judged if none are named."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from rageval_report.metrics.record_scores import computable
from rageval_report.metrics.views import VIEWS
from rageval_report.scores.catalogue.dialects import DialectName, dialect_of_name

Fields = tuple[str, ...]
Names = tuple[str, ...]

# What is computed if no metric is named: those whose fields the records have.
_DEFAULTS: tuple[tuple[Fields, Names], ...] = (
    (("relevant", "retrieved"), ("recall@5", "ndcg@10", "reciprocal_rank")),
    (("reference", "answer"), ("exact_match", "token_f1")),
    (("negative_reference", "answer"), ("negative_reference_hit",)),
    (("relevant", "citations"), ("citation_f1",)),
    (("answerable", "answer"), ("false_refusal", "hallucinated_answer")),
    (("latency_ms",), ("latency_ms",)),
)

# What is judged if a judge is named but no rubric: those whose fields the records have.
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
        Whether to compute the group: those of its metrics whose fields the records have.
    recall_k_values, precision_k_values : tuple of int
        The cutoffs of recall and precision.

    Examples
    --------
    >>> MetricGroups(citation=False, recall_k_values=(5,), precision_k_values=()).by_fields()[0]
    (('relevant', 'retrieved'), ('recall@5', 'reciprocal_rank', 'ndcg@10'))
    """

    retrieval: bool = True
    generation: bool = True
    citation: bool = True
    abstention: bool = True
    performance: bool = True
    # The cutoffs of ragbench's configuration.
    recall_k_values: tuple[int, ...] = (1, 3, 5, 10)
    precision_k_values: tuple[int, ...] = (1, 3, 5)

    def by_fields(self) -> tuple[tuple[Fields, Names], ...]:
        """The metrics of the groups, by the fields that they need."""
        recalls = tuple(f"recall@{k}" for k in self.recall_k_values)
        precisions = tuple(f"precision@{k}" for k in self.precision_k_values)
        groups: list[tuple[bool, Fields, Names]] = [
            (
                self.retrieval,
                ("relevant", "retrieved"),
                (*recalls, *precisions, "reciprocal_rank", "ndcg@10"),
            ),
            (self.generation, ("reference", "answer"), ("exact_match", "token_f1")),
            (self.generation, ("negative_reference", "answer"), ("negative_reference_hit",)),
            (
                self.citation,
                ("relevant", "citations"),
                ("citation_precision", "citation_recall", "section_accuracy"),
            ),
            (
                self.abstention,
                ("answerable", "answer"),
                ("unanswerable_accuracy", "false_refusal", "hallucinated_answer"),
            ),
            (self.performance, ("latency_ms",), ("latency_ms",)),
            (self.performance, ("cost_usd",), ("cost_usd",)),
        ]
        return tuple((fields, names) for is_on, fields, names in groups if is_on)


def allowed_metrics(
    records: pd.DataFrame,
    groups: MetricGroups | None = None,
    dialect: DialectName | None = None,
) -> list[str]:
    """The metrics whose fields the records have.

    Parameters
    ----------
    records : DataFrame
        As `rageval_report.records.record_table` gives them.
    groups : MetricGroups, optional
        The groups; if omitted, a few metrics of each.
    dialect : str, optional
        The system whose metrics are computed, instead of groups.
    """
    rules = dialect_of_name(dialect)
    if rules is not None:
        return [
            name
            for name, metric in computable(rules.default_names(), rules).items()
            if _has_fields(records, VIEWS[metric.needs].fields or (metric.known_as,))
        ]
    candidates = _DEFAULTS if groups is None else groups.by_fields()
    return [name for fields, names in candidates if _has_fields(records, fields) for name in names]


def allowed_rubrics(records: pd.DataFrame) -> list[str]:
    """The rubrics of `JUDGED` whose fields the records have."""
    return [name for fields, name in JUDGED if _has_fields(records, fields)]


def _has_fields(records: pd.DataFrame, fields: Fields) -> bool:
    return all(name in records and records[name].notna().any() for name in fields)
