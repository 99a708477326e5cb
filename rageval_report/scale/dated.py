"""A scan as a run of a history: means by counts, changes by one pass over two tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import MeanKeywords
from rageval_report.analysis.cluster_labels import Clusters
from rageval_report.analysis.comparing.metric_comparison import ComparisonPlan, MetricComparison
from rageval_report.analysis.comparing.pairing import twin_of
from rageval_report.analysis.evaluation_subset import EvaluationSubset
from rageval_report.analysis.history.changes import DatedRun, flat_config
from rageval_report.analysis.history.run_pairs import PairedRuns, query_set_text
from rageval_report.analysis.history.watched_scores import (
    ALL,
    ReferenceScores,
    WatchedBatch,
    WatchedBets,
    WatchedName,
)
from rageval_report.results import Result
from rageval_report.scale.compared import check_labels, cluster_hints, with_clusters
from rageval_report.scale.grouped import summary_of_table
from rageval_report.scale.paired import SUMMED, ScannedPairing
from rageval_report.scale.tables import ScannedTable, needs_memory, same_engine, to_pandas
from rageval_report.scores import Metric
from rageval_report.scores.query_sets import reference_column
from rageval_report.scores.run_file import query_set_hash
from rageval_report.stats.columns import MOST_LISTED, Column

if TYPE_CHECKING:
    import narwhals as nw

_NO_SCORES = Column.of(np.zeros(0))


def dated_scan(table: ScannedTable, name: str) -> DatedScan:
    """The run of a table; its ids and references are read.

    Parameters
    ----------
    table : ScannedTable
        The table.
    name : str
        The name of the run.

    Raises
    ------
    DataError
        If its ids do not fit into memory.
    """
    if table.n_rows > MOST_LISTED:
        raise needs_memory("a history, which compares the ids of all queries,", table)
    head, reference = table.head, reference_column(table.details)
    rows = to_pandas(table.frame.select("query_id", *([reference] if reference else [])))
    details = rows.set_index("query_id")
    queries = EvaluationSubset(table.name, pd.DataFrame(index=details.index), details, {})
    return DatedScan(
        *(name, head, head.created, flat_config(head.config or {}), query_set_hash(queries)),
        table=table,
    )


@dataclass(frozen=True, eq=False)
class DatedScan(DatedRun):
    """A run whose scores stay in their files.

    Parameters
    ----------
    name, evaluation, created, config, query_set
        As in `DatedRun`; the evaluation is that of the first rows.
    table : ScannedTable
        The table of all rows.
    """

    table: ScannedTable

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return self.table.n_rows

    def n_unscored(self, metric: Metric) -> int:
        """The number of queries without a score."""
        return self.table.n_rows - self.table.columns()[metric.name].n

    def summary(
        self, metrics: Sequence[Metric], plan: ComparisonPlan, clusters: Clusters | None
    ) -> Result:
        """The mean of each metric with its interval, as `DatedRun.summary`."""
        self._refuse_clusters(clusters)
        settings: MeanKeywords = {
            "percentiles": (),
            "interval": "auto",
            "confidence_level": plan.confidence_level,
            "n_resamples": plan.n_resamples,
            "seed": plan.seed,
        }
        names = [metric.name for metric in metrics]
        table = self.table
        return summary_of_table(table, table.columns(), table.n_rows, names, settings)

    def reference_scores(
        self, metrics: Sequence[Metric], by: str | None, clusters: Clusters | None
    ) -> dict[WatchedName, ReferenceScores]:
        """What monitoring knows of a run that was good, as `DatedRun.reference_scores`."""
        self._refuse_clusters(clusters)
        groups = self._groups(by)
        return {
            (metric.name, group): ReferenceScores(columns[metric.name])
            for metric in metrics
            for group, columns in groups.items()
        }

    def watched_batch(
        self, bets: Sequence[WatchedBets], by: str | None, clusters: Clusters | None
    ) -> WatchedBatch:
        """What monitoring knows of a later run, as `DatedRun.watched_batch`."""
        self._refuse_clusters(clusters)
        groups = self._groups(by if by in self.table.details else None)
        evidence = []
        for each in bets:
            twin = twin_of(each.metric, self.table.head)
            columns = groups.get(each.slice_name, {})
            evidence.append(each.evidence(columns[twin.name] if twin and columns else _NO_SCORES))
        return WatchedBatch(tuple(group for group in groups if group != ALL), tuple(evidence))

    def _groups(self, by: str | None) -> dict[str, dict[str, Column]]:
        """The columns of all queries, and of each group in the order of the first rows."""
        if by is None:
            return {ALL: self.table.columns()}
        groups = self.table.columns_by(by)
        firsts = self.table.head.details[by].map(str).tolist()
        ordered = [label for label in dict.fromkeys([*firsts, *sorted(groups)]) if label in groups]
        return {ALL: self.table.columns()} | {
            label: groups[label][1] for label in ordered if label != ALL
        }

    def batch_clusters(self, clusters: Clusters) -> NoReturn:
        """Raises `DataError`."""
        del clusters
        raise needs_memory("a history with clusters", self.table)

    def _refuse_clusters(self, clusters: Clusters | None) -> None:
        if clusters is not None:
            raise needs_memory("a history with clusters", self.table)

    def beside(self, after: DatedRun) -> PairedRuns:
        """Pair the run with a later one."""
        other = after.table if isinstance(after, DatedScan) else after.evaluation
        return DatedScanPair(self, after, same_engine(self.table, other))

    def cluster_notes(self, clusters: Clusters | None) -> tuple[str, ...]:
        """A note on a column that looks like clusters, if none were named."""
        return cluster_hints(self.table, clusters)

    def engine_setting(self) -> dict[str, object]:
        """What read the files, for the signature of a result."""
        return {"engine": self.table.engine}

    @property
    def scores(self) -> NoReturn:
        """Raises `DataError`: the scores are not in memory."""
        raise needs_memory(f"what reads the scores of the run {self.name!r}", self.table)

    @property
    def details(self) -> NoReturn:
        """Raises `DataError`: the details are not in memory."""
        raise needs_memory(f"what reads the details of the run {self.name!r}", self.table)


@dataclass(frozen=True, eq=False)
class DatedScanPair:
    """Two runs on the queries that are the same in both.

    Parameters
    ----------
    before : DatedScan
        The earlier run.
    after : DatedRun
        The later one.
    table : ScannedTable
        That of the later one.
    """

    before: DatedScan
    after: DatedRun
    table: ScannedTable

    @property
    def gold_set(self) -> str:
        """How the gold set changed, in words; empty if it is the same."""
        if self._has_same_set:
            return ""
        n_common = self._count(self.table)
        n_before, n_after = self.before.n_queries, self.table.n_rows
        return query_set_text(n_after - n_common, n_before - n_common, n_common - self.n_same)

    @cached_property
    def n_same(self) -> int:
        """The number of the queries that are the same."""
        return self.before.n_queries if self._has_same_set else self._count(self._same)

    def compare(
        self,
        metrics: Sequence[tuple[Metric, Metric]],
        plan: ComparisonPlan,
        clusters: Clusters | None,
    ) -> list[MetricComparison]:
        """The test of some metrics, by one pass over both tables.

        Parameters
        ----------
        metrics : sequence of (Metric, Metric)
            The metrics, as either run knows them.
        plan : ComparisonPlan
            The settings.
        clusters : str, Series or mapping, optional
            Queries of the first run that belong together.
        """
        first, column = with_clusters(self.before.table, clusters)
        plan = plan if column is None else replace(plan, units=SUMMED)
        pairing = ScannedPairing(first, self._same, list(metrics), plan, column)
        check_labels(pairing.rows, column)
        return [pairing.paired(place).tested(plan) for place in range(len(metrics))]

    @property
    def _has_same_set(self) -> bool:
        return self.before.query_set == self.after.query_set

    def _count(self, other: ScannedTable) -> int:
        ours = self.before.table
        return ScannedPairing(ours, other, [], ComparisonPlan()).n_common

    @cached_property
    def _same(self) -> ScannedTable:
        """The later table without queries whose reference differs."""
        import narwhals as nw

        if self._has_same_set:
            return self.table
        ours = self.before.table.frame.select(
            "query_id", _reference_of(self.before.table).alias("reference_before")
        )
        theirs = self.table.frame.with_columns(_reference_of(self.table).alias("reference_after"))
        before, after = nw.col("reference_before"), nw.col("reference_after")
        is_same = (before == after) | (before.is_null() & after.is_null())
        rows = theirs.join(ours, on="query_id", how="inner").filter(is_same)
        return replace(self.table, frame=rows.drop("reference_before", "reference_after"))


def _reference_of(table: ScannedTable) -> nw.Expr:
    import narwhals as nw

    column = reference_column(table.details)
    return nw.lit(None, dtype=nw.String) if column is None else nw.col(column).cast(nw.String)
