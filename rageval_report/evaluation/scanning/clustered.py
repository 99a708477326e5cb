"""Queries of a scanned table that belong together: passes that know the cluster of each row."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol

import numpy as np

from rageval_report.analysis.cluster_means import ClusteredMean
from rageval_report.analysis.gates.columns import ScoresBeyond
from rageval_report.evaluation.scanning.group_labels import ScanClusters
from rageval_report.evaluation.scanning.part_states import PartEvaluation, columns_of_states
from rageval_report.evaluation.scanning.profile import ScanProfile
from rageval_report.scale.engines.base import Engine, PairedColumns
from rageval_report.scale.mergeable import S, StateByName
from rageval_report.scale.pairs import PairedRows
from rageval_report.scale.scan_table import ScanTable
from rageval_report.scale.score_rows import ScoreRows
from rageval_report.scores import Metric
from rageval_report.scores.correct_notion import CorrectNotion, answers_by
from rageval_report.scores.fingerprints import fingerprints_of
from rageval_report.scores.states import not_applicable
from rageval_report.stats.base import Interval
from rageval_report.stats.clusters import interval_of_error
from rageval_report.stats.means.counted_share import interval_of_count
from rageval_report.stats.means.moments import Moments
from rageval_report.stats.states.cluster_sums import ClusterSums
from rageval_report.types import BoolArray, FloatArray, WordArray

# The names of what is kept of a metric: the scores, and the queries that should have one.
SCORED, UNSCORED = "scored", "unscored"


# A function of rows, and of the key of the cluster of each, that engines run.
KeyedPartial = Callable[[ScoreRows, WordArray], S]


@dataclass(frozen=True)
class WithKeys(Generic[S]):
    """Runs a function of rows and of their clusters, which their own table states.

    Parameters
    ----------
    clusters : ClusterColumn or ClusterLabels
        The clusters.
    partial : callable
        Takes rows and the key of the cluster of each.
    """

    clusters: ScanClusters
    partial: KeyedPartial[S]

    def __call__(self, rows: ScoreRows) -> S:
        """The state of some rows."""
        return self.partial(rows, self.clusters.keys(rows))


@dataclass(frozen=True)
class WithKeysOfBaseline(Generic[S]):
    """Runs a function of a candidate's rows and of their clusters, which the baseline states.

    A row that the baseline lacks is a cluster of its own, as in memory.

    Parameters
    ----------
    clusters, partial
        As in `WithKeys`; the clusters are those of the baseline.
    """

    clusters: ScanClusters
    partial: KeyedPartial[S]

    def __call__(self, rows: PairedRows) -> S:
        """The state of the candidate's part of some rows."""
        common = self.partial(rows.after, self.clusters.keys(rows.before))
        if not len(rows.only_after):
            return common
        # Turned around, because the id of a query may be the label of a cluster.
        alone = self.partial(rows.only_after, ~fingerprints_of(rows.only_after.ids))
        return common + alone


class ClusterReader(Protocol):
    """Reads a table with the cluster of each row."""

    def fold(
        self,
        table: ScanTable,
        partial: KeyedPartial[S],
        metrics: Sequence[str],
        details: Sequence[str],
    ) -> S | None:
        """The sum of what a function of rows and of their clusters returns."""


@dataclass(frozen=True, eq=False)
class OwnClusters:
    """Reads a table that states the cluster of each row.

    Parameters
    ----------
    engine : Engine
        What reads it.
    clusters : ClusterColumn or ClusterLabels
        The clusters.
    """

    engine: Engine
    clusters: ScanClusters

    def fold(
        self,
        table: ScanTable,
        partial: KeyedPartial[S],
        metrics: Sequence[str],
        details: Sequence[str],
    ) -> S | None:
        """The sum of what a function of rows and of their clusters returns.

        Parameters
        ----------
        table : ScanTable
            The table.
        partial : callable
            Takes rows and the key of the cluster of each.
        metrics, details : sequence of str
            What is read beside the clusters.
        """
        columns = list(dict.fromkeys((*details, *self.clusters.columns)))
        return self.engine.fold(table, WithKeys(self.clusters, partial), metrics, columns)


@dataclass(frozen=True, eq=False)
class ClustersOfBaseline:
    """Reads a candidate's table, of whose rows the baseline states the cluster.

    Parameters
    ----------
    engine, clusters
        As in `OwnClusters`.
    baseline : ScanTable
        The table of the baseline.
    """

    engine: Engine
    clusters: ScanClusters
    baseline: ScanTable

    def fold(
        self,
        table: ScanTable,
        partial: KeyedPartial[S],
        metrics: Sequence[str],
        details: Sequence[str],
    ) -> S | None:
        """The sum of what a function of rows and of their clusters returns.

        Parameters
        ----------
        table, partial, metrics, details
            As in `OwnClusters.fold`.
        """
        columns = PairedColumns((), tuple(metrics), self.clusters.columns, tuple(details))
        keyed = WithKeysOfBaseline(self.clusters, partial)
        return self.engine.fold_pairs(self.baseline, table, keyed, columns)


# -- what is kept of a metric


@dataclass(frozen=True)
class ClusterStates:
    """Makes the sums by cluster of the scores of metrics, and of their unscored queries.

    Parameters
    ----------
    parts : PartEvaluation
        Makes evaluations of rows, for the states of scores.
    centres : dict of str to float
        What is subtracted from the scores of each metric; see `ClusterSums.error`.
    """

    parts: PartEvaluation
    centres: Mapping[str, float]

    def __call__(self, rows: ScoreRows, keys: WordArray) -> StateByName:
        """The sums of some rows, by metric and by whether they are scored."""
        distinct, places = np.unique(keys, return_inverse=True)
        states = {}
        for name, centre in self.centres.items():
            values = rows.scores[name]
            is_scored = ~np.isnan(values)
            unscored = places[:0]
            if not is_scored.all():
                unscored = places[~is_scored & self._applies(rows, name)]
            states[name, SCORED] = ClusterSums.at_places(
                distinct, places[is_scored], values[is_scored] - centre
            )
            states[name, UNSCORED] = ClusterSums.at_places(
                distinct, unscored, np.zeros(unscored.size)
            )
        return StateByName(states)

    def _applies(self, rows: ScoreRows, name: str) -> BoolArray:
        part = self.parts.of(rows)
        return ~not_applicable(part.scores[name], part.details, name)


def scored_sums(values: FloatArray, keys: WordArray, centre: float) -> ClusterSums:
    """The sums by cluster of the scores that are present.

    Parameters
    ----------
    values : ndarray
        The scores, NaN if unscored.
    keys : ndarray of uint64
        The key of the cluster of each.
    centre : float
        What is subtracted from each score.
    """
    is_scored = ~np.isnan(values)
    return ClusterSums.of(keys[is_scored], values[is_scored] - centre)


@dataclass(frozen=True)
class ShareStates:
    """Makes the numbers of scores beyond a threshold by cluster.

    Parameters
    ----------
    metric : str
        The metric.
    holds : ScoresBeyond
        Says which scores count.
    """

    metric: str
    holds: ScoresBeyond

    def __call__(self, rows: ScoreRows, keys: WordArray) -> ClusterSums:
        """The numbers of some rows."""
        values = rows.scores[self.metric]
        is_scored = ~np.isnan(values)
        return ClusterSums.of(keys[is_scored], self.holds(values[is_scored]).astype(np.float64))


@dataclass(frozen=True)
class AnswerStates:
    """Makes the numbers of correct answers by cluster, and of those that nobody judged.

    Parameters
    ----------
    parts : PartEvaluation
        Makes evaluations of rows.
    notion : CorrectNotion
        What a correct answer is.
    """

    parts: PartEvaluation
    notion: CorrectNotion

    def __call__(self, rows: ScoreRows, keys: WordArray) -> StateByName:
        """The numbers of some rows."""
        evaluation = self.parts.of(rows, with_ids=callable(self.notion.rule))
        answers = answers_by(evaluation, self.notion)
        is_unknown = answers.isna().to_numpy(dtype=bool)
        known = answers[~is_unknown].to_numpy(dtype=np.float64)
        unknown = keys[is_unknown]
        return StateByName(
            {
                SCORED: ClusterSums.of(keys[~is_unknown], known),
                UNSCORED: ClusterSums.of(unknown, np.zeros(unknown.size)),
            }
        )


# -- what is computed of it


@dataclass(frozen=True, eq=False)
class ClusteredColumn:
    """One metric of a scanned table by cluster.

    Parameters
    ----------
    scored : ClusterSums
        The scores, less the centre.
    unscored : ClusterSums
        The queries that should have a score; each counts 0.
    centre : float
        What was subtracted from each score.
    """

    scored: ClusterSums
    unscored: ClusterSums
    centre: float

    def mean(self, metric: Metric, moments: Moments, filled: float | None = None) -> ClusteredMean:
        """The mean of the metric.

        Parameters
        ----------
        metric : Metric
            The metric.
        moments : Moments
            The moments of all scores that count.
        filled : float, optional
            The score of each query without one; if omitted, these do not count.
        """
        sums = self.scored
        if filled is not None:
            sums = sums + self.unscored.times(filled - self.centre)
        return ClusteredMean(metric, moments, sums, self.centre)


def clustered_columns(
    profile: ScanProfile, reader: ClusterReader, metrics: Sequence[Metric]
) -> dict[str, ClusteredColumn]:
    """The sums by cluster of some metrics, by one pass.

    Parameters
    ----------
    profile : ScanProfile
        What one pass over the table found.
    reader : ClusterReader
        What reads it with the clusters.
    metrics : sequence of Metric
        The metrics.
    """
    described = profile.described
    centres = centres_of(profile, metrics)
    table, names = described.table, [metric.name for metric in metrics]
    details = table.shape.detail_names
    columns = columns_of_states(details)
    parts = PartEvaluation(described.head.name, described.metrics, details, columns)
    total = reader.fold(table, ClusterStates(parts, centres), names, columns)
    nothing = ClusterSums.of(np.empty(0, dtype=np.uint64), np.empty(0))
    states = {} if total is None else total.states
    return {
        name: ClusteredColumn(
            states.get((name, SCORED), nothing), states.get((name, UNSCORED), nothing), centre
        )
        for name, centre in centres.items()
    }


def centres_of(profile: ScanProfile, metrics: Sequence[Metric]) -> dict[str, float]:
    """A number in the middle of the scores of each metric, which any division of the rows shares.

    Parameters
    ----------
    profile : ScanProfile
        What one pass over the table found.
    metrics : sequence of Metric
        The metrics.
    """
    head = profile.described.head.scores
    medians = {metric.name: head[metric.name].median() for metric in metrics}
    return {name: 0.0 if np.isnan(centre) else float(centre) for name, centre in medians.items()}


def share_of_clusters(sums: ClusterSums, level: float) -> Interval:
    """The share of rows that count 1, with the interval of clusters.

    Parameters
    ----------
    sums : ClusterSums
        The sums of ones and zeros.
    level : float
        The confidence level.
    """
    n = int(sums.sizes.sum())
    n_true = round(float(sums.sums.sum()))
    if not n:
        return interval_of_count(0, 0, level)
    return interval_of_error(sums.error(n_true / n, math.nan), level, (0.0, 1.0))
