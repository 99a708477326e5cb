"""The pairs of every group of queries, from one sort of the rows by group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report.analysis.comparing.metric_comparison import ComparisonPlan, PairedMetric
from rageval_report.analysis.comparing.pairing import Pairing
from rageval_report.scores import Metric
from rageval_report.types import IntArray

T = TypeVar("T", bound=np.generic)


def order_of_groups(sizes: Mapping[str, int]) -> list[str]:
    """The groups in the order of a table: the largest first, equal ones by name.

    Examples
    --------
    >>> order_of_groups({"tax": 3, "trade": 5, "law": 3})
    ['trade', 'law', 'tax']
    """
    return sorted(sizes, key=lambda label: (-sizes[label], label))


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows sorted by group, the largest group first; within a group they keep their order.

    Parameters
    ----------
    labels : tuple of str
        The groups.
    rows : ndarray of int, shape (n_rows,)
        The rows, group by group.
    ends : ndarray of int, shape (n_groups,)
        Where each group ends among them.
    codes : ndarray of int, shape (n_rows,)
        For each row the place of its group among the labels.

    Examples
    --------
    >>> grouped = GroupedRows.of(pd.Series(["b", "a", "b"]))
    >>> [(label, rows.tolist()) for label, rows in grouped]
    [('b', [0, 2]), ('a', [1])]
    """

    labels: tuple[str, ...]
    rows: IntArray
    ends: IntArray
    codes: npt.NDArray[np.integer[Any]]

    @classmethod
    def of(cls, labels: pd.Series) -> GroupedRows:
        """The rows of a column of labels."""
        codes, groups = pd.factorize(labels)
        sizes = np.bincount(codes, minlength=len(groups))
        by_label = dict(zip(map(str, groups), sizes.tolist(), strict=True))
        places = {label: place for place, label in enumerate(by_label)}
        ordered = [places[label] for label in order_of_groups(by_label)]
        largest_first = np.array(ordered, dtype=np.intp)
        ranks = np.empty_like(largest_first)
        ranks[largest_first] = np.arange(largest_first.size)
        # Small numbers are sorted by their digits, in a sixth of the time.
        small = ranks.astype(np.min_scalar_type(ranks.size))[codes]
        rows = np.argsort(small, kind="stable")
        names = tuple(str(groups[place]) for place in largest_first.tolist())
        return cls(names, rows, np.cumsum(sizes[largest_first]), small)

    def __iter__(self) -> Iterator[tuple[str, IntArray]]:
        """Each group and its rows."""
        return zip(self.labels, np.split(self.rows, self.ends[:-1]), strict=False)

    @property
    def parts(self) -> list[slice]:
        """Where each group lies among the sorted rows."""
        ends = self.ends.tolist()
        return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]

    @cached_property
    def places(self) -> IntArray:
        """For each row its place among the sorted ones."""
        places = np.empty_like(self.rows)
        places[self.rows] = np.arange(self.rows.size)
        return places

    def sort(self, column: npt.NDArray[T]) -> npt.NDArray[T]:
        """One number per row, sorted as the rows are.

        Examples
        --------
        >>> GroupedRows.of(pd.Series(["b", "a", "b"])).sort(np.array([0.25, 0.5, 0.75]))
        array([0.25, 0.75, 0.5 ])
        """
        # Row by row, each to its group: to read the rows group by group would go through all of
        # the column for each of them, past the cache.
        ordered = np.empty_like(column)
        ordered[self.places] = column
        return ordered


def paired_groups(
    pairing: Pairing,
    metrics: Sequence[tuple[Metric, Metric]],
    grouped: GroupedRows,
    plan: ComparisonPlan,
) -> list[PairedMetric]:
    """Each metric in each group, metric by metric.

    Parameters
    ----------
    pairing : Pairing
        The runs.
    metrics : sequence of (Metric, Metric)
        The metrics, as the baseline and as the candidate know them.
    grouped : GroupedRows
        The groups of the common queries.
    plan : ComparisonPlan
        The settings.
    """
    return [
        paired
        for ours, theirs in metrics
        for paired in _paired_metric(pairing, ours, theirs, grouped, plan)
    ]


def _paired_metric(
    pairing: Pairing, ours: Metric, theirs: Metric, grouped: GroupedRows, plan: ComparisonPlan
) -> Iterator[PairedMetric]:
    """One metric in each group."""
    before, after = map(grouped.sort, pairing.treated(ours, theirs, plan.missing))
    places = pairing.alignment.baseline_rows
    rows = grouped.rows if places is None else places[grouped.rows]
    is_missing = np.isnan(before).any() or np.isnan(after).any()
    applies = grouped.sort(pairing.applies(ours, theirs)) if is_missing else None
    names = pairing.baseline.name, pairing.candidate.name
    for part in grouped.parts:
        yield PairedMetric.of_scores(
            names,
            ours,
            (before[part], after[part]),
            plan.units,
            rows[part],
            applies=None if applies is None else applies[part],
        )
