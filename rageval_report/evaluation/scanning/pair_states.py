"""The functions of paired rows that engines run to compare scans; each returns a state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rageval_report.analysis.comparing.metric_comparison import ClusteredPairs, MetricPairs
from rageval_report.analysis.comparing.pairing import MissingTreatment, count_missing, fill_missing
from rageval_report.evaluation.scanning.group_labels import ScanClusters
from rageval_report.evaluation.scanning.part_states import PartEvaluation
from rageval_report.scale.facts import TableFacts
from rageval_report.scale.mergeable import StateByName
from rageval_report.scale.pairs import PairedRows
from rageval_report.scale.score_rows import ScoreRows
from rageval_report.scores import Metric
from rageval_report.scores.fingerprints import fingerprints_of
from rageval_report.scores.states import not_applicable
from rageval_report.stats.base import paired_differences
from rageval_report.stats.states.cluster_sums import ClusterSums
from rageval_report.stats.states.flipped_sums import FlippedSums
from rageval_report.stats.states.pair_state import PairState
from rageval_report.types import BoolArray, FloatArray, WordArray


@dataclass(frozen=True, eq=False)
class MetricPairState:
    """One metric of two tables, from any part of their common queries.

    Parameters
    ----------
    pairs : PairState
        The scores of the queries to which the metric applies.
    n_not_applicable : int
        The number of the others.
    n_filled : int
        The number of missing scores that count as the worst possible one.
    logarithms : PairState, optional
        The logarithms of the scores, of latency and cost.
    clusters : ClusteredPairs, optional
        The differences by cluster.
    """

    pairs: PairState
    n_not_applicable: int = 0
    n_filled: int = 0
    logarithms: PairState | None = None
    clusters: ClusteredPairs | None = None

    def __add__(self, other: MetricPairState) -> MetricPairState:
        """The state of both parts."""
        logarithms = self.logarithms
        if logarithms is not None and other.logarithms is not None:
            logarithms = logarithms + other.logarithms
        clusters = self.clusters
        if clusters is not None and other.clusters is not None:
            clusters = clusters + other.clusters
        return MetricPairState(
            self.pairs + other.pairs,
            self.n_not_applicable + other.n_not_applicable,
            self.n_filled + other.n_filled,
            logarithms,
            clusters,
        )

    def known(self) -> MetricPairs:
        """The pairs, as a row of a comparison takes them."""
        return MetricPairs.of_state(
            self.pairs,
            n_not_applicable=self.n_not_applicable,
            n_filled=self.n_filled,
            logarithms=self.logarithms,
            clusters=self.clusters,
        )


@dataclass(frozen=True)
class PairStates:
    """Makes the state of each metric of two tables.

    Parameters
    ----------
    metrics : tuple of (Metric, Metric)
        Each metric as the first and as the second table knows it.
    sides : (PartEvaluation, PartEvaluation)
        What makes evaluations of rows, for the states of scores.
    missing : {"drop", "worst", "bounds"}
        The treatment of a missing score.
    clusters : ClusterColumn or ClusterLabels, optional
        What says which queries of the first table belong together.
    """

    metrics: tuple[tuple[Metric, Metric], ...]
    sides: tuple[PartEvaluation, PartEvaluation]
    missing: MissingTreatment = "drop"
    clusters: ScanClusters | None = None

    def __call__(self, rows: PairedRows) -> StateByName:
        """The states of some rows, by the name of the metric in the first table."""
        return self.of(rows, self.keys(rows))

    def keys(self, rows: PairedRows) -> WordArray | None:
        """The key of the cluster of each common query; None without clusters."""
        return None if self.clusters is None else self.clusters.keys(rows.before)

    def of(self, rows: PairedRows, keys: WordArray | None) -> StateByName:
        """The states of some rows whose clusters are known."""
        return StateByName(
            {ours.name: self._state_of(rows, ours, theirs, keys) for ours, theirs in self.metrics}
        )

    def _state_of(
        self, rows: PairedRows, ours: Metric, theirs: Metric, keys: WordArray | None
    ) -> MetricPairState:
        """The state of one metric of some rows; ``keys`` are those of their clusters."""
        before, after, applies = self.scores(rows, ours, theirs)
        if applies is not None:
            before, after = before[applies], after[applies]
            keys = None if keys is None else keys[applies]
        is_spent = ours.group == "performance"
        return MetricPairState(
            PairState.of(before, after),
            0 if applies is None else int((~applies).sum()),
            self._count_filled(rows, ours, theirs, applies),
            PairState.of(*logarithms_of(before, after)) if is_spent else None,
            None if keys is None else _by_cluster(keys, before, after, is_spent=is_spent),
        )

    def _count_filled(
        self, rows: PairedRows, ours: Metric, theirs: Metric, applies: BoolArray | None
    ) -> int:
        """The number of missing scores of some rows that count as the worst possible one."""
        if self.missing != "worst":
            return 0
        before, after = rows.before.scores[ours.name], rows.after.scores[theirs.name]
        return count_missing(before, after, lambda: applies)

    def scores(
        self, rows: PairedRows, ours: Metric, theirs: Metric
    ) -> tuple[FloatArray, FloatArray, BoolArray | None]:
        """Both sides of one metric with missing scores treated, and where it applies.

        Parameters
        ----------
        rows : PairedRows
            Some rows.
        ours, theirs : Metric
            The metric as either table knows it.

        Returns
        -------
        tuple
            The baseline's scores, the candidate's, and None if the metric applies to all queries.
        """
        before, after = rows.before.scores[ours.name], rows.after.scores[theirs.name]
        applies = self._applies(rows, ours, theirs)
        return *fill_missing(before, after, ours, self.missing), applies

    def _applies(self, rows: PairedRows, ours: Metric, theirs: Metric) -> BoolArray | None:
        """Whether a metric applies to each query on either side; None if it applies to all."""
        does_not = [
            does_not_apply(side, part, metric.name)
            for side, part, metric in zip(
                self.sides, (rows.before, rows.after), (ours, theirs), strict=True
            )
        ]
        if any(each is None for each in does_not):
            return None
        applies = ~(np.asarray(does_not[0]) & np.asarray(does_not[1]))
        return None if applies.all() else applies


def does_not_apply(side: PartEvaluation, rows: ScoreRows, name: str) -> BoolArray | None:
    """Whether a metric does not apply to each row; None if no row says so."""
    if side.cells_of(rows) is None or not np.isnan(rows.scores[name]).any():
        return None
    part = side.of(rows)
    return not_applicable(part.scores[name], part.details, name)


def logarithms_of(before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The logarithms of scores above 0; NaN of others."""
    first, second = (np.log(np.where(side > 0, side, np.nan)) for side in (before, after))
    return first, second


def _by_cluster(
    keys: WordArray, before: FloatArray, after: FloatArray, *, is_spent: bool
) -> ClusteredPairs:
    logarithms = _cluster_sums(keys, *logarithms_of(before, after)) if is_spent else None
    return ClusteredPairs(_cluster_sums(keys, before, after), logarithms)


def _cluster_sums(keys: WordArray, before: FloatArray, after: FloatArray) -> ClusterSums:
    complete = ~(np.isnan(before) | np.isnan(after))
    differences = paired_differences(before[complete], after[complete])
    return ClusterSums.of(keys[complete], differences)


@dataclass(frozen=True)
class FlipStates:
    """Makes the sums of differences under random signs, for Westfall and Young's correction.

    Parameters
    ----------
    states : PairStates
        The metrics, and how their missing scores are treated.
    n_resamples, seed : int
        The number of patterns of signs, and their seed.
    """

    states: PairStates
    n_resamples: int
    seed: int

    def __call__(self, rows: PairedRows) -> FlippedSums:
        """The sums of some rows, one column per metric."""
        clusters = self.states.clusters
        prints = (
            fingerprints_of(rows.before.ids) if clusters is None else clusters.keys(rows.before)
        )
        columns = np.zeros((len(rows.before), len(self.states.metrics)))
        for place, (ours, theirs) in enumerate(self.states.metrics):
            before, after, applies = self.states.scores(rows, ours, theirs)
            complete = ~(np.isnan(before) | np.isnan(after))
            if applies is not None:
                complete &= applies
            # A missing pair is 0, which no flip of its sign changes.
            columns[complete, place] = paired_differences(before[complete], after[complete])
        return FlippedSums.of(columns, prints, n_resamples=self.n_resamples, seed=self.seed)


def facts_before(rows: PairedRows) -> TableFacts:
    """The facts about the rows of the first table."""
    return TableFacts.of(rows.before) + TableFacts.of(rows.only_before)


def facts_after(rows: PairedRows) -> TableFacts:
    """The facts about the rows of the second table."""
    return TableFacts.of(rows.after) + TableFacts.of(rows.only_after)
