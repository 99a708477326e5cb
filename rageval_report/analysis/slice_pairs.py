"""The pairs of every group of queries, from one sort of the rows by group."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rageval_report.analysis.comparing.metric_comparison import ComparisonPlan, PairedMetric
from rageval_report.analysis.comparing.pairing import Pairing
from rageval_report.scores import Metric
from rageval_report.stats.states.counted_steps import StepRuler
from rageval_report.types import BoolArray, FloatArray, IntArray


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

    Examples
    --------
    >>> grouped = GroupedRows.of(pd.Series(["b", "a", "b"]))
    >>> [(label, rows.tolist()) for label, rows in grouped]
    [('b', [0, 2]), ('a', [1])]
    """

    labels: tuple[str, ...]
    rows: IntArray
    ends: IntArray

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
        rows = np.argsort(ranks.astype(np.min_scalar_type(ranks.size))[codes], kind="stable")
        names = tuple(str(groups[place]) for place in largest_first.tolist())
        return cls(names, rows, np.cumsum(sizes[largest_first]))

    def __iter__(self) -> Iterator[tuple[str, IntArray]]:
        """Each group and its rows."""
        return zip(self.labels, np.split(self.rows, self.ends[:-1]), strict=False)

    @property
    def parts(self) -> list[slice]:
        """Where each group lies among the sorted rows."""
        ends = self.ends.tolist()
        return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]


@dataclass(frozen=True, eq=False)
class SortedScores:
    """One metric of two runs on their common queries, sorted by group.

    Parameters
    ----------
    pairing : Pairing
        The runs.
    ours, theirs : Metric
        The metric as the baseline and as the candidate knows it.
    plan : ComparisonPlan
        The settings.
    grouped : GroupedRows
        The groups of the common queries.
    """

    pairing: Pairing
    ours: Metric
    theirs: Metric
    plan: ComparisonPlan
    grouped: GroupedRows

    def paired(self) -> list[PairedMetric]:
        """The metric in each group."""
        names = self.pairing.baseline.name, self.pairing.candidate.name
        before, after = self._sorted
        rows = self.grouped.rows
        places = self.pairing.alignment.baseline_rows
        rows = rows if places is None else places[rows]
        rulers = ruler_of(before), ruler_of(after)
        return [
            PairedMetric.of_scores(
                names,
                self.ours,
                (before[part], after[part]),
                self.plan.units,
                rows[part],
                applies=functools.partial(self._applies_in, part),
                rulers=rulers,
            )
            for part in self.grouped.parts
        ]

    @functools.cached_property
    def _sorted(self) -> tuple[FloatArray, FloatArray]:
        before, after = self.pairing.treated(self.ours, self.theirs, self.plan.missing)
        return before.take(self.grouped.rows), after.take(self.grouped.rows)

    def _applies_in(self, part: slice) -> BoolArray:
        return self._applies[part]

    @functools.cached_property
    def _applies(self) -> BoolArray:
        return self.pairing.applies(self.ours, self.theirs)[self.grouped.rows]


def ruler_of(scores: FloatArray) -> StepRuler | None:
    """The step that may fit a column, looked for once and not in each group.

    Examples
    --------
    >>> ruler_of(np.array([0.5, 0.25])).denominator, ruler_of(np.array([0.5, np.nan]))
    (4, None)
    """
    # Unscored queries make the ends NaN, and nothing fits.
    return next(StepRuler.fitting(scores), None) if scores.size else None


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
        for paired in SortedScores(pairing, ours, theirs, plan, grouped).paired()
    ]
