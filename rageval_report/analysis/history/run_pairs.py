"""Two runs of a history on the queries that are the same in both."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import pandas as pd

from rageval_report.analysis.arguments import Clusters, EvaluationSubset, resolve_units
from rageval_report.analysis.paired_metric import ComparisonPlan, MetricComparison, PairedMetric
from rageval_report.analysis.pairing import Pairing, compared_rows
from rageval_report.scores import Metric
from rageval_report.scores.align import align
from rageval_report.scores.run_file import query_set

if TYPE_CHECKING:
    from rageval_report.analysis.history.changes import DatedRun


class PairedRuns(Protocol):
    """Two runs on the queries that have the same id and the same reference in both."""

    @property
    def gold_set(self) -> str:
        """How the gold set changed, in words; empty if it is the same."""

    @property
    def n_same(self) -> int:
        """The number of the queries that are the same."""

    def compare(
        self,
        metrics: Sequence[tuple[Metric, Metric]],
        plan: ComparisonPlan,
        clusters: Clusters | None,
    ) -> list[MetricComparison]:
        """The test of some metrics, as either run knows them."""


@dataclass(frozen=True, eq=False)
class LoadedPair:
    """Two runs whose scores are in memory.

    Parameters
    ----------
    before, after : DatedRun
        The runs.
    """

    before: DatedRun
    after: DatedRun

    @property
    def gold_set(self) -> str:
        """How the gold set changed, in words; empty if it is the same."""
        return query_set_change(self.before, self.after)

    @property
    def n_same(self) -> int:
        """The number of the queries that are the same."""
        return len(self._pairing.alignment.ids)

    def compare(
        self,
        metrics: Sequence[tuple[Metric, Metric]],
        plan: ComparisonPlan,
        clusters: Clusters | None,
    ) -> list[MetricComparison]:
        """The test of some metrics, as either run knows them.

        Parameters
        ----------
        metrics : sequence of (Metric, Metric)
            The metrics.
        plan : ComparisonPlan
            The settings.
        clusters : str, Series or mapping, optional
            Queries that belong together.
        """
        units = resolve_units(self.before, clusters, compared_rows([self._pairing]))
        own = replace(plan, units=units)
        return [
            PairedMetric.of(self._pairing, ours, theirs, own).tested(own)
            for ours, theirs in metrics
        ]

    @cached_property
    def _pairing(self) -> Pairing:
        before, after = self.before, self.after
        alignment = align(before.scores.index, after.scores.index)
        same = common_queries(before, after)
        if len(same) == len(alignment.ids):
            return Pairing(before, after, alignment, [])
        subset = EvaluationSubset(
            after.name, after.scores.loc[same], after.details.loc[same], dict(after.metrics)
        )
        return Pairing(before, subset, align(before.scores.index, same), [])


def query_set_change(before: DatedRun, after: DatedRun) -> str:
    """How the gold set changed, in words; empty if it is the same.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> from rageval_report.analysis.history.changes import DatedRun
    >>> runs = [
    ...     DatedRun.of(RAGPipelineEvaluation("hybrid", {"query_id": ids, "recall": [0.5, 1.0]}))
    ...     for ids in (["a", "b"], ["b", "c"])
    ... ]
    >>> query_set_change(*runs)
    'query set: 1 added, 1 removed'
    """
    if before.query_set == after.query_set:
        return ""
    ids, others = before.scores.index, after.scores.index
    common = len(ids.intersection(others))
    n_edited = common - len(common_queries(before, after))
    return query_set_text(len(others) - common, len(ids) - common, n_edited)


def query_set_text(n_added: int, n_removed: int, n_edited: int) -> str:
    """The change of a gold set in words.

    Examples
    --------
    >>> query_set_text(1, 0, 2)
    'query set: 1 added, 2 with another reference'
    """
    counts = {"added": n_added, "removed": n_removed, "with another reference": n_edited}
    return "query set: " + ", ".join(f"{n} {what}" for what, n in counts.items() if n)


def common_queries(before: DatedRun, after: DatedRun) -> pd.Index:
    """The ids of the queries that are in both runs with the same reference."""
    if before.query_set == after.query_set:
        return before.scores.index
    queries_after: Collection[str] = frozenset(query_set(after.evaluation))
    same = [query in queries_after for query in query_set(before.evaluation)]
    return before.scores.index[same]
