"""What monitoring needs of a scanned run: one pass over its files, for all metrics and slices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report.analysis.cluster_labels import Clusters
from rageval_report.analysis.comparing.pairing import twin_of
from rageval_report.analysis.history.watched_scores import (
    ALL,
    BatchClusters,
    BatchEvidence,
    ReferenceScores,
    WatchedBatch,
    WatchedBets,
    WatchedName,
)
from rageval_report.evaluation.scanning.clustered import OwnClusters, scored_sums
from rageval_report.evaluation.scanning.description import DescribedScan
from rageval_report.evaluation.scanning.group_labels import (
    ClusterColumn,
    GroupColumn,
    ScanClusters,
    clusters_of,
    ordered_groups,
)
from rageval_report.evaluation.scanning.profile import ScanProfile
from rageval_report.evaluation.scanning.slices import GroupStates, KeySet, StateOfGroups
from rageval_report.scale.engines.base import Engine
from rageval_report.scale.mergeable import StateByName, States
from rageval_report.scale.score_rows import ScoreRows
from rageval_report.scores import Metric
from rageval_report.scores.fingerprints import fingerprints_of, fingerprints_of_texts
from rageval_report.stats.states.cluster_sums import ClusterSums
from rageval_report.stats.states.metric_state import MetricState
from rageval_report.types import FloatArray, IntArray, WordArray

# The name of the number of rows of a group; no metric has an empty one.
_SIZE = ""


@dataclass(frozen=True, eq=False)
class WatchedScan:
    """A scanned run, as monitoring reads it.

    Parameters
    ----------
    profile : ScanProfile
        What one pass over the table found.
    engine : Engine
        What reads it again.
    by : str, optional
        A column of details, whose groups are watched too.
    clusters : str, Series or mapping, optional
        Queries that belong together.
    """

    profile: ScanProfile
    engine: Engine
    by: str | None
    clusters: Clusters | None

    @property
    def _described(self) -> DescribedScan:
        return self.profile.described

    @property
    def _groups(self) -> GroupColumn | None:
        return None if self.by is None else GroupColumn.of(self._described, self.by)

    # -- the reference

    def reference_scores(self, metrics: Sequence[Metric]) -> dict[WatchedName, ReferenceScores]:
        """The scores by metric and slice; see `DatedRun.reference_scores`."""
        names = [metric.name for metric in metrics]
        column, by = clusters_of(self._described, self.clusters), self._groups
        if column is not None:
            sums, sizes = self._by_cluster(names, column)
            return {
                (name, group): ReferenceScores.of(_means(sums.get((name, group))))
                for name in names
                for group in (ALL, *sizes)
            }
        states = {(name, ALL): self.profile.states[name] for name in names}
        if by is not None:
            total: StateOfGroups | None = self.engine.fold(
                self._described.table,
                GroupStates(by, dict.fromkeys(names, 0.0)),
                names,
                [by.column],
                with_ids=False,
            )
            sizes = {} if total is None else total.sizes()
            ordered_groups(by.name, sizes)  # which refuses a group for every query
            for name in names:
                for group in _known_groups(sizes):
                    states[name, group] = total.states[group].states[name]  # type: ignore[union-attr]
        return {
            (name, group): _reference_of(states[name, group])
            for name in names
            for group in dict.fromkeys(group for _, group in states)
        }

    # -- a batch

    def batch(self, bets: Sequence[WatchedBets]) -> WatchedBatch:
        """The evidence of all that is watched; see `DatedRun.watched_batch`."""
        head = self._described.head
        twins = [twin_of(each.metric, head) for each in bets]
        names = [None if twin is None else twin.name for twin in twins]
        metrics = list(dict.fromkeys(name for name in names if name is not None))
        column = clusters_of(self._described, self.clusters)
        if column is not None:
            sums, sizes = self._by_cluster(metrics, column)
            evidence = tuple(
                each.evidence(_means(sums.get((name or "", each.slice_name))))
                for each, name in zip(bets, names, strict=True)
            )
            return WatchedBatch(tuple(sizes), evidence)
        by = self._groups_of_batch()
        partial = EvidenceInPart(tuple(bets), tuple(names), by)
        details = [] if by is None else [by.column]
        state = self.engine.fold(self._described.table, partial, metrics, details, with_ids=False)
        none = tuple(each.evidence(np.zeros(0)) for each in bets)
        if state is None:
            return WatchedBatch((), none)
        sizes = {label: int(n) for label, n in state.parts[0].states.items()}
        if by is not None:
            ordered_groups(by.name, sizes)
        return WatchedBatch(tuple(_known_groups(sizes)), state.parts[1].evidence)

    def _groups_of_batch(self) -> GroupColumn | None:
        """The column of groups; a batch need not have it."""
        return self._groups if self.by in self._described.head.details else None

    # -- clusters

    def batch_clusters(self) -> BatchClusters:
        """The clusters of the table; see `DatedRun.batch_clusters`."""
        column = clusters_of(self._described, self.clusters)
        if column is None:
            return BatchClusters(np.empty(0, np.uint64), lambda _: ())
        own: KeySet | None = OwnClusters(self.engine, column).fold(
            self._described.table, _keys_of, [], []
        )
        keys = np.empty(0, np.uint64) if own is None else own.keys
        return BatchClusters(keys, lambda chosen: self._labels(column, chosen))

    def _labels(self, column: ScanClusters, keys: npt.NDArray[Any]) -> Iterable[str]:
        """The labels of some keys, by another pass if a column has them."""
        if isinstance(column, ClusterColumn):
            known = self.engine.fold(
                self._described.table, LabelsOfKeys(column, keys), [], column.columns
            )
            return known or ()
        labels = pd.Series(self.clusters, dtype=object)
        texts = sorted({str(label) for label in labels})
        return [
            text
            for text, key in zip(texts, fingerprints_of_texts(texts)[0], strict=True)
            if key in keys
        ]

    def _by_cluster(
        self, metrics: Sequence[str], column: ScanClusters
    ) -> tuple[Mapping[WatchedName, ClusterSums], dict[str, int]]:
        """The sums by cluster of each metric and slice, and the sizes of the groups."""
        by = self._groups_of_batch() if self.by is not None else None
        state: StateByName | None = OwnClusters(self.engine, column).fold(
            self._described.table,
            SumsInPart(tuple(metrics), by),
            list(metrics),
            [] if by is None else [by.column],
        )
        if state is None:
            return {}, {}
        sizes = {group: int(n) for (name, group), n in state.states.items() if name == _SIZE}
        if by is not None:
            ordered_groups(by.name, sizes)
        sums = {key: kept for key, kept in state.states.items() if key[0] != _SIZE}
        return sums, dict.fromkeys(_known_groups(sizes), 0)


def _known_groups(sizes: Mapping[str, int]) -> list[str]:
    """The groups but for one that is named like the slice of all queries."""
    return [group for group in sizes if group != ALL]


def _reference_of(state: MetricState) -> ReferenceScores:
    return ReferenceScores(state.column())


def _means(sums: ClusterSums | None) -> FloatArray:
    """The mean of each cluster that has a score."""
    return np.zeros(0) if sums is None else sums.sums / sums.sizes


def _keys_of(rows: ScoreRows, keys: WordArray) -> KeySet:
    del rows
    return KeySet.of(keys)


def _places_of_groups(by: GroupColumn | None, rows: ScoreRows) -> dict[str, IntArray]:
    return {} if by is None else dict(by.rows_by_group(rows))


@dataclass(frozen=True)
class EvidenceOfBets:
    """The evidence of several bets.

    Parameters
    ----------
    evidence : tuple of BatchEvidence
        In the order of the bets.
    """

    evidence: tuple[BatchEvidence, ...]

    def __add__(self, other: EvidenceOfBets) -> EvidenceOfBets:
        """The evidence of both parts."""
        pairs = zip(self.evidence, other.evidence, strict=True)
        return EvidenceOfBets(tuple(ours + theirs for ours, theirs in pairs))


@dataclass(frozen=True)
class EvidenceInPart:
    """Makes the evidence of some rows, and counts those of each group.

    Parameters
    ----------
    bets : tuple of WatchedBets
        What is watched.
    names : tuple of str or None
        The name of the metric of each in this table; None without it.
    by : GroupColumn, optional
        The groups.
    """

    bets: tuple[WatchedBets, ...]
    names: tuple[str | None, ...]
    by: GroupColumn | None

    def __call__(self, rows: ScoreRows) -> States:
        """The state of some rows."""
        places = _places_of_groups(self.by, rows)
        evidence = []
        for each, name in zip(self.bets, self.names, strict=True):
            values = np.zeros(0)
            if name is not None and each.slice_name == ALL:
                values = rows.scores[name]
            elif name is not None and each.slice_name in places:
                values = rows.scores[name][places[each.slice_name]]
            evidence.append(each.evidence(values))
        sizes = {label: own.size for label, own in places.items()}
        return States((StateByName(sizes), EvidenceOfBets(tuple(evidence))))


@dataclass(frozen=True)
class SumsInPart:
    """Makes the sums by cluster of some rows, by metric and slice, and counts those of each group.

    Parameters
    ----------
    metrics : tuple of str
        The metrics.
    by : GroupColumn, optional
        The groups.
    """

    metrics: tuple[str, ...]
    by: GroupColumn | None

    def __call__(self, rows: ScoreRows, keys: WordArray) -> StateByName:
        """The state of some rows."""
        states: dict[WatchedName, Any] = {
            (name, ALL): scored_sums(rows.scores[name], keys, 0.0) for name in self.metrics
        }
        for group, places in _places_of_groups(self.by, rows).items():
            states[_SIZE, group] = places.size
            if group != ALL:
                for name in self.metrics:
                    own = rows.scores[name][places]
                    states[name, group] = scored_sums(own, keys[places], 0.0)
        return StateByName(states)


@dataclass(frozen=True, eq=False)
class LabelsOfKeys:
    """Finds the labels of some clusters.

    Parameters
    ----------
    clusters : ClusterColumn
        The column that has the labels.
    keys : ndarray of uint64
        The hashes of those that are looked for.
    """

    clusters: ClusterColumn
    keys: WordArray

    def __call__(self, rows: ScoreRows) -> tuple[str, ...]:
        """Those of some rows."""
        texts, _ = self.clusters.labels.counts(rows)
        is_wanted = np.isin(fingerprints_of(texts), self.keys)
        return tuple(dict.fromkeys(texts.take(np.flatnonzero(is_wanted)).to_pylist()))
