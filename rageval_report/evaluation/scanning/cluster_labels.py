"""The labels of columns that may be clusters, counted in the pass that reads the scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from rageval_report.evaluation.scanning.description import DescribedScan
from rageval_report.evaluation.scanning.group_labels import GroupColumn
from rageval_report.scale.mergeable import StateByName
from rageval_report.scale.pairs import PairedRows
from rageval_report.scale.score_rows import ScoreRows
from rageval_report.scores.cluster_hint import counted_clusters, hint_of
from rageval_report.scores.fingerprints import fingerprints_of
from rageval_report.scores.roles.usual_names import cluster_noun
from rageval_report.stats.states.label_counts import LabelCounts


@dataclass(frozen=True)
class LabelsInPart:
    """Counts the labels of columns of details whose name is usual for clusters.

    Parameters
    ----------
    groups : tuple of GroupColumn
        The columns, in the order of the details.
    """

    groups: tuple[GroupColumn, ...]

    @classmethod
    def of(cls, described: DescribedScan) -> Self:
        """The columns of a table."""
        known = {str(name) for name in described.table.shape.detail_names.values()}
        names = [str(name) for name in described.head.details if str(name) in known]
        return cls(tuple(GroupColumn.of(described, name) for name in names if cluster_noun(name)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read, by their names in the files."""
        return tuple(group.column for group in self.groups)

    def __call__(self, rows: ScoreRows) -> StateByName:
        """The counts of some rows, by the name of the detail."""
        counts = {}
        for group in self.groups if len(rows) else ():
            texts, numbers = group.counts(rows)
            counts[group.name] = LabelCounts.of(fingerprints_of(texts), numbers)
        return StateByName(counts)


@dataclass(frozen=True)
class LabelsOfBaseline:
    """Counts the labels of all rows of the first of two tables.

    Parameters
    ----------
    labels : LabelsInPart
        The columns.
    """

    labels: LabelsInPart

    @classmethod
    def of(cls, baseline: DescribedScan, *, are_named: bool) -> Self:
        """The columns of a table; none if the caller names clusters."""
        return cls(LabelsInPart(()) if are_named else LabelsInPart.of(baseline))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read of the first table."""
        return self.labels.columns

    def __call__(self, rows: PairedRows) -> StateByName:
        """The counts of some rows."""
        return self.labels(rows.before) + self.labels(rows.only_before)


def unnamed_clusters_of(
    labels: Mapping[str, LabelCounts], clusters: object | None
) -> tuple[str, ...]:
    """A note on the first column that looks like clusters, if none were named.

    Parameters
    ----------
    labels : dict of str to LabelCounts
        The labels of columns, in the order of the details.
    clusters : object
        The clusters that the caller named, if any.
    """
    if clusters is not None:
        return ()
    for column, counts in labels.items():
        counted = counted_clusters(
            column, counts.n, counts.n_labels, counts.n_shared, is_estimate=counts.level > 0
        )
        if counted is not None:
            return (hint_of(column, counted),)
    return ()
