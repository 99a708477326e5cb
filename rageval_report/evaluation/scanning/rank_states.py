"""The functions of aligned rows that engines run to rank scans; each returns a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from rageval_report.analysis.comparing.pairing import MissingTreatment
from rageval_report.analysis.ranking.lineup import filled_with_bounds, treat_missing
from rageval_report.evaluation.scanning.group_labels import ScanClusters
from rageval_report.evaluation.scanning.pair_states import does_not_apply
from rageval_report.evaluation.scanning.part_states import PartEvaluation
from rageval_report.scale.aligned_rows import AlignedRows
from rageval_report.scale.mergeable import StateByName
from rageval_report.scores import Metric
from rageval_report.scores.fingerprints import fingerprints_of
from rageval_report.stats.ranks import RankSums
from rageval_report.stats.states.block_state import BlockState
from rageval_report.stats.states.block_sums import BlockSums
from rageval_report.stats.states.flipped_blocks import FlippedBlocks
from rageval_report.stats.states.metric_state import MetricState
from rageval_report.types import BoolArray, FloatArray, IntArray, WordArray

Rows = TypeVar("Rows", FloatArray, WordArray)


@dataclass(frozen=True, eq=False)
class MetricRankState:
    """One metric of several tables, from any part of the queries that all have.

    Parameters
    ----------
    n_scored : ndarray of int
        The number of these queries that each table scores.
    n_unscored : ndarray of int
        The number that it does not score, of those to which the metric applies.
    n_not_applicable : int
        The number of queries to which it applies in no table.
    block : BlockState
        The scores of the queries that all ranked tables scored.
    extremes : tuple of (MetricState, MetricState)
        The scores of each table, missing ones as low, and as high, as they can be; empty if they
        are not asked for.
    clusters : BlockSums, optional
        The scores of `block` by cluster.
    """

    n_scored: IntArray
    n_unscored: IntArray
    n_not_applicable: int
    block: BlockState
    extremes: tuple[tuple[MetricState, MetricState], ...] = ()
    clusters: BlockSums | None = None

    def __add__(self, other: MetricRankState) -> MetricRankState:
        """The state of both parts."""
        clusters = self.clusters
        if clusters is not None and other.clusters is not None:
            clusters = clusters + other.clusters
        return MetricRankState(
            self.n_scored + other.n_scored,
            self.n_unscored + other.n_unscored,
            self.n_not_applicable + other.n_not_applicable,
            self.block + other.block,
            tuple(
                (ours[0] + theirs[0], ours[1] + theirs[1])
                for ours, theirs in zip(self.extremes, other.extremes, strict=True)
            ),
            clusters,
        )


@dataclass(frozen=True)
class AlignedScores:
    """Takes the scores of metrics out of aligned rows.

    Parameters
    ----------
    metrics : dict of str to tuple of Metric
        Each metric as each table knows it, by the name in the first.
    ranked : dict of str to tuple of int
        The places of the tables that are ranked on each metric.
    sides : tuple of PartEvaluation
        What makes evaluations of rows, for the states of scores.
    missing : {"drop", "worst", "bounds"}
        The treatment of a missing score.
    """

    metrics: Mapping[str, tuple[Metric, ...]]
    ranked: Mapping[str, tuple[int, ...]]
    sides: tuple[PartEvaluation, ...]
    missing: MissingTreatment = "drop"

    def scores(self, rows: AlignedRows, name: str) -> FloatArray:
        """The scores of a metric, one column per table."""
        columns = zip(rows.common, self.metrics[name], strict=True)
        return np.column_stack([part.scores[metric.name] for part, metric in columns])

    def applies(self, rows: AlignedRows, name: str) -> BoolArray | None:
        """Whether a metric applies to each query in any table; None if it applies to all."""
        does_not = [
            does_not_apply(side, part, metric.name)
            for side, part, metric in zip(self.sides, rows.common, self.metrics[name], strict=True)
        ]
        if any(each is None for each in does_not):
            return None
        applies: BoolArray = ~np.all(np.array(does_not), axis=0)
        return None if applies.all() else applies

    def treated(self, scores: FloatArray, name: str, applies: BoolArray | None) -> FloatArray:
        """The scores of the ranked tables; a query that some of them did not score is NaN."""
        chosen, metric = scores[:, list(self.ranked[name])], self.metrics[name][0]
        # A table without any score is not ranked, which is known after all rows were read. Whether
        # the others need a worst score is asked then.
        needs_bounds = self.missing == "worst" and metric.bounds is None
        return treat_missing(chosen, metric, "drop" if needs_bounds else self.missing, applies)

    def complete(self, scores: FloatArray, name: str, applies: BoolArray | None) -> FloatArray:
        """The scores of the ranked tables on the queries that all of them scored."""
        treated = self.treated(scores, name, applies)
        return _select_rows(treated, _are_complete(treated))


def _are_complete(scores: FloatArray) -> BoolArray:
    return np.asarray(~np.isnan(scores).any(axis=1))


def _select_rows(rows: Rows, is_selected: BoolArray) -> Rows:
    return rows if is_selected.all() else rows[is_selected]


@dataclass(frozen=True)
class RankClusters:
    """Makes the sums by cluster of several tables.

    Parameters
    ----------
    labels : ClusterColumn or ClusterLabels
        What says which queries of the first table belong together.
    centres : dict of str to float
        What is subtracted from the scores of each metric; see `ClusterSums.error`.
    """

    labels: ScanClusters
    centres: Mapping[str, float]

    def keys(self, rows: AlignedRows) -> WordArray:
        """The key of the cluster of each query that all tables have."""
        return self.labels.keys(rows.common[0])

    def sums(self, name: str, keys: WordArray, treated: FloatArray) -> BlockSums:
        """The sums of the queries that all ranked tables scored.

        Parameters
        ----------
        name : str
            The metric.
        keys : ndarray of uint64
            The key of the cluster of each query.
        treated : ndarray
            What `AlignedScores.treated` gives.
        """
        is_complete = _are_complete(treated)
        return BlockSums.of(
            _select_rows(keys, is_complete), _select_rows(treated, is_complete), self.centres[name]
        )


@dataclass(frozen=True)
class RankStates:
    """Makes the state of each metric of several tables.

    Parameters
    ----------
    ranked : AlignedScores
        What takes the scores out of rows.
    clusters : RankClusters, optional
        What sums up the queries that belong together.
    """

    ranked: AlignedScores
    clusters: RankClusters | None = None

    def __call__(self, rows: AlignedRows) -> StateByName:
        """The states of some rows, by the name of the metric in the first table."""
        keys = None if self.clusters is None else self.clusters.keys(rows)
        return StateByName({name: self.state_of(rows, name, keys) for name in self.ranked.metrics})

    def state_of(self, rows: AlignedRows, name: str, keys: WordArray | None) -> MetricRankState:
        """The state of one metric of some rows; ``keys`` are those of their clusters."""
        scores, applies = self.ranked.scores(rows, name), self.ranked.applies(rows, name)
        metric = self.ranked.metrics[name][0]
        is_missing = np.isnan(scores)
        is_unscored = is_missing if applies is None else is_missing & applies[:, None]
        treated = self.ranked.treated(scores, name, applies)
        complete = _select_rows(treated, _are_complete(treated))
        extremes: Sequence[tuple[MetricState, MetricState]] = ()
        if self.ranked.missing == "bounds":
            extremes = [_extremes_of(column, metric) for column in scores.T]
        return MetricRankState(
            (~is_missing).sum(axis=0),
            is_unscored.sum(axis=0),
            0 if applies is None else int((~applies).sum()),
            BlockState.of(complete, greater_is_better=metric.greater_is_better),
            tuple(extremes),
            None
            if self.clusters is None or keys is None
            else self.clusters.sums(name, keys, treated),
        )


def _extremes_of(scores: FloatArray, metric: Metric) -> tuple[MetricState, MetricState]:
    low, high = map(MetricState.of, filled_with_bounds(scores, metric))
    return low, high


@dataclass(frozen=True)
class RankSumStates:
    """Makes the ranks within queries, for Friedman's test.

    Parameters
    ----------
    ranked : AlignedScores
        What takes the scores out of rows.
    """

    ranked: AlignedScores

    def __call__(self, rows: AlignedRows) -> StateByName:
        """The sums of some rows, by metric."""
        sums = {}
        for name, (metric, *_) in self.ranked.metrics.items():
            scores, applies = self.ranked.scores(rows, name), self.ranked.applies(rows, name)
            complete = self.ranked.complete(scores, name, applies)
            sums[name] = RankSums.of(complete, greater_is_better=metric.greater_is_better)
        return StateByName(sums)


@dataclass(frozen=True)
class RankFlipStates:
    """Makes the sums of scores under random signs, for Westfall and Young's correction.

    Parameters
    ----------
    ranked : AlignedScores
        What takes the scores out of rows.
    n_resamples, seed : int
        The number of patterns of signs, and their seed.
    clusters : ClusterColumn or ClusterLabels, optional
        What says which queries of the first table flip together.
    """

    ranked: AlignedScores
    n_resamples: int
    seed: int
    clusters: ScanClusters | None = None

    def __call__(self, rows: AlignedRows) -> FlippedBlocks:
        """The sums of some rows, one block per metric."""
        blocks = [
            self.ranked.treated(
                self.ranked.scores(rows, name), name, self.ranked.applies(rows, name)
            )
            for name in self.ranked.metrics
        ]
        first, clusters = rows.common[0], self.clusters
        prints = fingerprints_of(first.ids) if clusters is None else clusters.keys(first)
        return FlippedBlocks.of(blocks, prints, n_resamples=self.n_resamples, seed=self.seed)
