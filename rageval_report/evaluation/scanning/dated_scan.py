"""A scan as a run of a history: means by states, changes by one pass over two tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import pandas as pd

from rageval_report.analysis.cluster_labels import Clusters
from rageval_report.analysis.comparing.metric_comparison import (
    ComparisonPlan,
    MetricComparison,
    PairedMetric,
    compare_together,
)
from rageval_report.analysis.history.changes import DatedRun, flat_config
from rageval_report.analysis.history.run_pairs import PairedRuns, query_set_text
from rageval_report.analysis.history.watched_scores import (
    BatchClusters,
    ReferenceScores,
    WatchedBatch,
    WatchedBets,
    WatchedName,
)
from rageval_report.errors import ArgumentKindError
from rageval_report.evaluation.scanning.group_labels import clusters_of
from rageval_report.evaluation.scanning.needs_memory import needs_memory
from rageval_report.evaluation.scanning.pair_states import PairStates
from rageval_report.evaluation.scanning.profile import ScanProfile
from rageval_report.evaluation.scanning.query_set_states import (
    CountedQueries,
    OnSameQueries,
    QuerySetChange,
    QuerySetOfRows,
    ReferenceColumn,
    SameReferences,
)
from rageval_report.evaluation.scanning.scanned_pair import ScannedTables
from rageval_report.evaluation.scanning.single import summary_of_scan
from rageval_report.evaluation.scanning.watched_scan import WatchedScan
from rageval_report.results import Result
from rageval_report.scale.engines.base import Engine
from rageval_report.scale.mergeable import Partial, StateByName
from rageval_report.scale.pairs import PairedRows
from rageval_report.scores import Metric
from rageval_report.scores.query_sets import QuerySet
from rageval_report.stats.units import Units


@dataclass(frozen=True, eq=False)
class DatedScan(DatedRun):
    """A run whose scores stay in their files.

    Parameters
    ----------
    name, evaluation, created, config, query_set
        As in `DatedRun`; the evaluation is that of the first rows, described by all rows.
    profile : ScanProfile
        What one pass over the table found.
    engine : Engine
        What reads the tables of two runs side by side.
    """

    profile: ScanProfile
    engine: Engine

    @classmethod
    def of_profile(cls, profile: ScanProfile, engine: Engine, name: str) -> Self:
        """The run of a table; its ids and references are read.

        Parameters
        ----------
        profile : ScanProfile
            What one pass over the table found.
        engine : Engine
            What reads it.
        name : str
            The name of the run.
        """
        described = profile.described
        references = ReferenceColumn.of(described)
        details = [] if references is None else [references.column]
        queries = engine.fold(described.table, QuerySetOfRows(references), [], details)
        return cls(
            name,
            described.head,
            described.head.created,
            flat_config(described.head.config),
            (queries or QuerySet(0, 0)).digits,
            profile=profile,
            engine=engine,
        )

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return self.profile.n_queries

    def n_unscored(self, metric: Metric) -> int:
        """The number of queries without a score."""
        return self.profile.states[metric.name].n_unscored

    def summary(
        self, metrics: Sequence[Metric], plan: ComparisonPlan, clusters: Clusters | None
    ) -> Result:
        """The mean of each metric with its interval, as `DatedRun.summary`."""
        return summary_of_scan(
            self.profile,
            self.engine,
            [metric.name for metric in metrics],
            percentiles=(),
            confidence_level=plan.confidence_level,
            n_resamples=plan.n_resamples,
            seed=plan.seed,
            clusters=clusters,
        )

    def reference_scores(
        self, metrics: Sequence[Metric], by: str | None, clusters: Clusters | None
    ) -> dict[WatchedName, ReferenceScores]:
        """What monitoring knows of a run that was good, as `DatedRun.reference_scores`.

        The files are read once more for groups or clusters.
        """
        return WatchedScan(self.profile, self.engine, by, clusters).reference_scores(metrics)

    def watched_batch(
        self, bets: Sequence[WatchedBets], by: str | None, clusters: Clusters | None
    ) -> WatchedBatch:
        """What monitoring knows of a later run, as `DatedRun.watched_batch`, by another pass."""
        return WatchedScan(self.profile, self.engine, by, clusters).batch(bets)

    def batch_clusters(self, clusters: Clusters) -> BatchClusters:
        """The clusters that the run has, by another pass."""
        return WatchedScan(self.profile, self.engine, None, clusters).batch_clusters()

    def beside(self, after: DatedRun) -> PairedRuns:
        """Pair the run with a later one, which is a scan too."""
        if not isinstance(after, DatedScan):
            raise ArgumentKindError(
                f"a history takes either scans or evaluations in memory, not both: {self.name!r} "
                f"is a scan, and {after.name!r} is not"
            )
        return DatedScanPair(self, after)

    def cluster_notes(self, clusters: Clusters | None) -> tuple[str, ...]:
        """A note on a column that looks like clusters, if none were named."""
        return self.profile.unnamed_clusters(clusters)

    def engine_setting(self) -> dict[str, object]:
        """What read the files, for the signature of a result."""
        return {"engine": self.engine.name}

    @property
    def scores(self) -> pd.DataFrame:
        """Raises `DataError`: the scores are not in memory."""
        raise needs_memory(f"what reads the scores of the run {self.name!r} one by one")

    @property
    def details(self) -> pd.DataFrame:
        """Raises `DataError`: the details are not in memory."""
        raise needs_memory(f"what reads the details of the run {self.name!r} one by one")


@dataclass(frozen=True, eq=False)
class DatedScanPair:
    """Two scanned runs on the queries that are the same in both.

    Parameters
    ----------
    before, after : DatedScan
        The runs.
    """

    before: DatedScan
    after: DatedScan

    @property
    def gold_set(self) -> str:
        """How the gold set changed, in words; empty if it is the same."""
        if self._has_same_set:
            return ""
        counts = self._counts
        return query_set_text(counts.n_added, counts.n_removed, counts.n_edited)

    @property
    def n_same(self) -> int:
        """The number of the queries that are the same."""
        return self.before.n_queries if self._has_same_set else self._counts.n_same

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
        column = clusters_of(self._tables.before, clusters)
        states: Partial[PairedRows, StateByName] = PairStates(
            tuple(metrics), self._tables.parts_of_states, plan.missing, column
        )
        before, after = self._tables.columns_of(column)
        if column is not None:
            plan = replace(plan, units=Units(np.arange(0)))  # which are those of the states
        if not self._has_same_set:
            states = OnSameQueries(self._same, states)
            first, second = self._same.columns
            before, after = (*before, *first), (*after, *second)
        by_name = self._tables.fold(states, metrics, (before, after)).states
        names = self.before.name, self.after.name
        return compare_together(
            [PairedMetric(names, ours, by_name[ours.name].known()) for ours, _ in metrics],
            plan,
        )

    @property
    def _has_same_set(self) -> bool:
        return self.before.query_set == self.after.query_set

    @cached_property
    def _tables(self) -> ScannedTables:
        sides = self.before.profile.described, self.after.profile.described
        return ScannedTables(*sides, self.before.engine)

    @cached_property
    def _same(self) -> SameReferences:
        before, after = (ReferenceColumn.of(side) for side in self._tables.sides)
        return SameReferences(before, after)

    @cached_property
    def _counts(self) -> QuerySetChange:
        """The numbers of queries by what changed, by a pass over ids and references."""
        return self._tables.fold(CountedQueries(self._same), [], self._same.columns)
