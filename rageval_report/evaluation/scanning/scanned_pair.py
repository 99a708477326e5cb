"""Two scanned tables side by side, and what one pass over both found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rageval_report.analysis.comparing.metric_comparison import PairedMetric
from rageval_report.analysis.comparing.pairing import (
    note_on_lone_ids,
    notes_on_bounds,
    notes_on_lone_metrics,
)
from rageval_report.errors import DataError
from rageval_report.evaluation.scanning.clustered import ClusterReader, ClustersOfBaseline
from rageval_report.evaluation.scanning.description import DescribedScan, HeadEvaluation
from rageval_report.evaluation.scanning.group_labels import ScanClusters
from rageval_report.evaluation.scanning.matched_tables import matched_by
from rageval_report.evaluation.scanning.pair_states import (
    FlipStates,
    MetricPairState,
    PairStates,
)
from rageval_report.evaluation.scanning.part_states import PartEvaluation, columns_of_states
from rageval_report.scale.engines.base import Engine, PairedColumns
from rageval_report.scale.mergeable import Partial, S
from rageval_report.scale.pairs import CommonIds, PairedRows
from rageval_report.scores import Metric
from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.states.flipped_sums import FlippedSums
from rageval_report.stats.states.label_counts import LabelCounts


@dataclass(frozen=True, eq=False)
class ScannedTables:
    """Two scanned tables side by side, and the engine that reads them.

    Parameters
    ----------
    before, after : DescribedScan
        The tables of the baseline and of the candidate.
    engine : Engine
        What reads them.
    """

    before: DescribedScan
    after: DescribedScan
    engine: Engine

    @property
    def sides(self) -> tuple[DescribedScan, DescribedScan]:
        """Both tables."""
        return self.before, self.after

    @property
    def names(self) -> tuple[str, str]:
        """The names of the pipelines."""
        return self.before.head.name, self.after.head.name

    @property
    def on(self) -> str | None:
        """The column of texts that matches the queries; None if their ids do."""
        return matched_by(self.engine)

    @property
    def parts(self) -> tuple[PartEvaluation, PartEvaluation]:
        """What makes evaluations of rows of either table."""
        first, second = (
            PartEvaluation(side.head.name, side.metrics, side.table.shape.detail_names)
            for side in self.sides
        )
        return first, second

    @property
    def parts_of_states(self) -> tuple[PartEvaluation, PartEvaluation]:
        """The same, whose details only say why scores are missing."""
        first, second = (
            replace(part, columns=columns_of_states(part.detail_names)) for part in self.parts
        )
        return first, second

    def columns_of(self, clusters: ScanClusters | None) -> tuple[Sequence[str], Sequence[str]]:
        """The columns of either table that say why scores are missing, and which queries cluster.

        Parameters
        ----------
        clusters : ClusterColumn or ClusterLabels, optional
            What says which queries of the first table belong together.
        """
        before, after = (columns_of_states(side.table.shape.detail_names) for side in self.sides)
        return (*before, *(() if clusters is None else clusters.columns)), after

    def fold(
        self,
        partial: Partial[PairedRows, S],
        metrics: Sequence[tuple[Metric, Metric]],
        details: tuple[Sequence[str], Sequence[str]],
    ) -> S:
        """The sum of what a function returns for all rows of both tables.

        Parameters
        ----------
        partial : callable
            Takes `PairedRows` and returns a state.
        metrics : sequence of (Metric, Metric)
            The metrics to read.
        details : (sequence of str, sequence of str)
            The columns of details to read, by their names in the files.

        Raises
        ------
        DataError
            If neither table has a row.
        """
        columns = PairedColumns(
            tuple(ours.name for ours, _ in metrics),
            tuple(theirs.name for _, theirs in metrics),
            *(tuple(dict.fromkeys(names)) for names in details),
        )
        return self._fold(partial, columns)

    def fold_whole(self, partial: Partial[PairedRows, S]) -> S:
        """As `fold`, with all metrics and all details of both tables."""
        before, after = (tuple(side.table.shape.detail_names) for side in self.sides)
        return self.fold_scores(partial, (before, after))

    def fold_scores(
        self,
        partial: Partial[PairedRows, S],
        details: tuple[Sequence[str], Sequence[str]],
    ) -> S:
        """As `fold`, with all metrics of both tables."""
        columns = PairedColumns(
            *(tuple(side.metrics) for side in self.sides),
            *(tuple(dict.fromkeys(names)) for names in details),
        )
        return self._fold(partial, columns)

    def _fold(self, partial: Partial[PairedRows, S], columns: PairedColumns) -> S:
        state = self.engine.fold_pairs(self.before.table, self.after.table, partial, columns)
        if state is None:
            raise DataError(f"{' and '.join(self.names)}: no rows")
        return state


@dataclass(frozen=True, eq=False)
class ScannedPair:
    """Two scanned runs after one pass over both.

    Parameters
    ----------
    tables : ScannedTables
        The tables, described by all rows.
    metrics : list of (Metric, Metric)
        The metrics that both have.
    states : mapping of str to MetricPairState
        The state of each metric.
    common : CommonIds
        The queries of both.
    partial : PairStates
        What made the states.
    labels : mapping of str to LabelCounts
        The labels of columns of the baseline that may be clusters.
    """

    tables: ScannedTables
    metrics: list[tuple[Metric, Metric]]
    states: Mapping[str, MetricPairState]
    common: CommonIds
    partial: PairStates
    labels: Mapping[str, LabelCounts]

    @property
    def baseline(self) -> HeadEvaluation:
        """The first rows of the baseline, described by all rows."""
        return self.tables.before.head

    @property
    def candidate(self) -> HeadEvaluation:
        """The first rows of the candidate, described by all rows."""
        return self.tables.after.head

    @property
    def n_common(self) -> int:
        """The number of queries that both runs have."""
        return self.common.n_common

    @property
    def n_alone(self) -> int:
        """The number of queries that one run has alone."""
        return self.common.n_only_before + self.common.n_only_after

    @property
    def cluster_reader(self) -> ClusterReader | None:
        """What reads the candidate with the clusters of the baseline; None without clusters."""
        clusters, tables = self.partial.clusters, self.tables
        if clusters is None:
            return None
        return ClustersOfBaseline(tables.engine, clusters, tables.before.table)

    def notes(self) -> tuple[str, ...]:
        """The ids and the metrics that only one run has, and bounds that do not hold for both."""
        common = self.common
        return (
            *note_on_lone_ids(self.baseline.name, common.only_before, common.n_only_before),
            *note_on_lone_ids(self.candidate.name, common.only_after, common.n_only_after),
            *notes_on_lone_metrics(self.baseline, self.candidate),
            *notes_on_bounds((self.baseline, self.candidate), self.metrics),
        )

    def by_unit(self, metric: Metric) -> PairedScores:
        """One metric, one pair per independent unit, with missing scores as the pass treated them.

        Parameters
        ----------
        metric : Metric
            As the baseline knows it.
        """
        return self.states[metric.name].known().by_unit

    def flipped(self, n_resamples: int, seed: int) -> dict[str, FlippedSums]:
        """The differences of each metric under random signs; both tables are read once more.

        Parameters
        ----------
        n_resamples, seed : int
            The number of patterns of signs, and their seed.
        """
        partial = FlipStates(self.partial, n_resamples, seed)
        sums = self.tables.fold(
            partial, self.metrics, self.tables.columns_of(self.partial.clusters)
        )
        by_cluster = [self.states[ours.name].clusters for ours, _ in self.metrics]
        if self.partial.clusters is not None:
            squares = [float(np.square(each.differences.sums).sum()) for each in by_cluster if each]
            sums = replace(sums, squares=np.array(squares))
        names = [ours.name for ours, _ in self.metrics]
        return dict(zip(names, sums.by_column(), strict=True))

    def paired(self) -> list[PairedMetric]:
        """Every metric, not yet tested."""
        return [
            PairedMetric(self.tables.names, ours, self.states[ours.name].known())
            for ours, _ in self.metrics
        ]
