"""What monitoring needs of each run: the scores of the reference, and the evidence of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rageval_report.analysis.arguments import Clusters, cluster_labels, is_scan
from rageval_report.analysis.comparing.pairing import twin_of
from rageval_report.analysis.tables import PipelineTable, table_of, text_labels
from rageval_report.errors import DataError
from rageval_report.scores import Metric, Scored
from rageval_report.stats.base import Interval
from rageval_report.stats.columns import Column
from rageval_report.stats.means import mean_interval
from rageval_report.stats.sequential import ChangeBets
from rageval_report.types import FloatArray

ALL = "all"  # the slice that has every query

# The name of a metric, and a slice.
WatchedName: TypeAlias = tuple[str, str]


@dataclass(frozen=True, eq=False)
class ReferenceScores:
    """The scores of one metric and slice in a run that was good, one per unit.

    Parameters
    ----------
    column : Column
        The scores.
    """

    column: Column

    @property
    def variance(self) -> float:
        """Their variance, with denominator n."""
        return self.column.variance * (self.column.n - 1) / self.column.n

    def interval(self, bounds: tuple[float, float], confidence_level: float) -> Interval:
        """The interval of their mean."""
        return mean_interval(self.column, bounds=bounds, confidence_level=confidence_level)


@dataclass(frozen=True)
class WatchedBets:
    """One metric and slice, and the bets on its scores.

    Parameters
    ----------
    metric : Metric
        As the reference knows it.
    slice_name : str
        The group, or `ALL`.
    bets : ChangeBets
        The bets.
    """

    metric: Metric
    slice_name: str
    bets: ChangeBets

    def evidence(self, values: FloatArray | Column) -> BatchEvidence:
        """The evidence of some scores.

        Parameters
        ----------
        values : ndarray or Column
            One per unit; NaN is left out.

        Raises
        ------
        DataError
            If one lies outside the bounds.
        """
        column = Column.of(values)
        try:
            growth = self.bets.growth(column)
        except DataError as exc:
            name = self.metric.name
            raise DataError(
                f"metric {name!r}: {exc}. Give bounds that hold for the reference and for all "
                f"batches when the reference is loaded: metrics={{{name!r}: {{'bounds': "
                "(low, high)}}"
            ) from exc
        return BatchEvidence(column.n, column.mean, growth)


@dataclass(frozen=True)
class BatchEvidence:
    """What is known of one metric and slice in a batch.

    Parameters
    ----------
    n : int
        The number of the scores, one per unit.
    mean : float
        Their mean; NaN if there are none.
    growth : ndarray
        How much the capital grows on them, see `ChangeBets.growth`.
    """

    n: int
    mean: float
    growth: FloatArray


@dataclass(frozen=True)
class WatchedBatch:
    """What is known of a batch.

    Parameters
    ----------
    groups : tuple of str
        The groups that it has, in the order of the rows.
    evidence : tuple of BatchEvidence
        In the order of the bets.
    """

    groups: tuple[str, ...]
    evidence: tuple[BatchEvidence, ...]


@dataclass(frozen=True, eq=False)
class BatchClusters:
    """The clusters of a batch.

    Parameters
    ----------
    keys : ndarray
        One per cluster, equal for equal labels: the labels, or hashes of them.
    labels : callable
        Gives the labels of those of some keys that the batch has.
    """

    keys: npt.NDArray[Any]
    labels: Callable[[npt.NDArray[Any]], Iterable[str]]


# -- the scores of runs


def reference_of(
    run: Any, metrics: Sequence[Metric], by: str | None, clusters: Clusters | None
) -> dict[WatchedName, ReferenceScores]:
    """The scores of a run by metric and slice; see `DatedRun.reference_scores`."""
    groups = _groups_of(run, by, clusters)
    return {
        (metric.name, group): ReferenceScores(table.unit_means(metric))
        for metric in metrics
        for group, table in groups.items()
    }


def batch_of(
    run: Any, bets: Sequence[WatchedBets], by: str | None, clusters: Clusters | None
) -> WatchedBatch:
    """The evidence of a run; see `DatedRun.watched_batch`."""
    groups = _groups_of(run, by, clusters, is_optional=True)
    evidence = []
    for each in bets:
        table = groups.get(each.slice_name)
        twin = None if table is None else twin_of(each.metric, table.sample)
        scores = Column.of(np.zeros(0))
        if table is not None and twin is not None:
            scores = table.unit_means(twin)
        evidence.append(each.evidence(scores))
    return WatchedBatch(tuple(group for group in groups if group != ALL), tuple(evidence))


def _groups_of(
    run: Any, by: str | None, clusters: Clusters | None, *, is_optional: bool = False
) -> dict[str, PipelineTable]:
    """The table of all queries, and that of each group in the order of the rows."""
    table = table_of(run, clusters)
    if by is None or (is_optional and by not in table.sample.details):
        return {ALL: table}
    groups, firsts = table.groups(by), text_labels(table.sample, by)
    ordered = dict.fromkeys(label for label in (*firsts, *groups) if label in groups)
    return {ALL: table} | {label: groups[label] for label in ordered if label != ALL}


def clusters_in_memory(run: Any, clusters: Clusters) -> BatchClusters:
    """The clusters of a run; see `DatedRun.batch_clusters`."""
    listed = run.cluster_labels(clusters) if is_scan(run) else cluster_labels(run, clusters)
    labels = np.unique(np.asarray(listed, dtype=object))
    return BatchClusters(labels, lambda keys: map(str, keys[np.isin(keys, labels)]))
