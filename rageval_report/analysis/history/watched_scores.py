"""What monitoring needs of each run: the scores of the reference, and the evidence of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rageval_report.analysis.cluster_labels import Clusters, cluster_labels, resolve_units
from rageval_report.analysis.comparing.pairing import twin_of
from rageval_report.analysis.slices import group_labels
from rageval_report.errors import DataError
from rageval_report.scores import Metric, Scored
from rageval_report.stats.base import Interval
from rageval_report.stats.columns import Column
from rageval_report.stats.means import mean_interval
from rageval_report.stats.sequential import ChangeBets
from rageval_report.stats.units import Units
from rageval_report.types import BoolArray, FloatArray

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


# -- runs in memory


def reference_in_memory(
    run: Scored, metrics: Sequence[Metric], by: str | None, clusters: Clusters | None
) -> dict[WatchedName, ReferenceScores]:
    """The scores of a run by metric and slice; see `DatedRun.reference_scores`."""
    units = resolve_units(run, clusters)
    groups = {ALL: None} | _groups_of(run, by)
    return {
        (metric.name, group): ReferenceScores(Column.of(_scores(run, metric, is_inside, units)))
        for metric in metrics
        for group, is_inside in groups.items()
    }


def batch_in_memory(
    run: Scored, bets: Sequence[WatchedBets], by: str | None, clusters: Clusters | None
) -> WatchedBatch:
    """The evidence of a run; see `DatedRun.watched_batch`."""
    units = resolve_units(run, clusters)
    groups = _groups_of(run, by if by in run.details else None)
    evidence = []
    for each in bets:
        is_all, is_inside = each.slice_name == ALL, groups.get(each.slice_name)
        values = np.zeros(0)
        if is_all or is_inside is not None:
            values = _scores(run, each.metric, None if is_all else is_inside, units)
        evidence.append(each.evidence(values))
    return WatchedBatch(tuple(groups), tuple(evidence))


def clusters_in_memory(run: Scored, clusters: Clusters) -> BatchClusters:
    """The clusters of a run; see `DatedRun.batch_clusters`."""
    labels = np.unique(np.asarray(cluster_labels(run, clusters), dtype=object))
    return BatchClusters(labels, lambda keys: map(str, keys[np.isin(keys, labels)]))


def _groups_of(run: Scored, by: str | None) -> dict[str, BoolArray | None]:
    """The rows of each group, in the order of the rows."""
    if by is None:
        return {}
    labels = group_labels(run, by)
    return {
        str(label): np.asarray(labels == label, dtype=bool)
        for label in dict.fromkeys(labels.tolist())
        if label != ALL
    }


def _scores(run: Scored, metric: Metric, is_inside: BoolArray | None, units: Units) -> FloatArray:
    """The scores of a metric in some rows by unit; none if the run does not have the metric."""
    twin = twin_of(metric, run)
    if twin is None:
        return np.zeros(0)
    column = np.asarray(run.scores[twin.name], dtype=np.float64)
    if is_inside is not None:
        column, units = column[is_inside], units.select(is_inside)
    return units.means(column)
