"""The pairs of every group of queries, from one sort of the rows by group."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report.analysis.comparing.metric_comparison import (
    KEPT_TESTS,
    ComparisonPlan,
    MetricPairs,
    PairedMetric,
)
from rageval_report.analysis.comparing.pairing import Pairing
from rageval_report.scores import Metric
from rageval_report.stats.base import paired_differences
from rageval_report.stats.pairs.paired_scores import PairedScores, SideRulers
from rageval_report.stats.states.column_state import FEW_VALUES
from rageval_report.stats.states.counted_steps import CountedSteps, StepRuler, steps_may_fit
from rageval_report.stats.states.grouped_steps import summarise_groups
from rageval_report.stats.states.pair_state import NO_LONE_SCORES
from rageval_report.stats.states.state_pairs import PairSummary, StatePairs
from rageval_report.stats.threads import lock_free_property
from rageval_report.stats.units import QUERIES
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

    @lock_free_property
    def places(self) -> IntArray:
        """For each row its place among the sorted ones."""
        places = np.empty_like(self.rows)
        places[self.rows] = np.arange(self.rows.size)
        return places

    def sort(self, column: FloatArray) -> FloatArray:
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


class CountedGroup(StatePairs):
    """The pairs of a group, counted; the scores themselves are gathered if something asks for them.

    Parameters
    ----------
    summary : PairSummary
        The counts.
    gather : callable
        Gives the scores of both sides.

    Examples
    --------
    >>> scores = np.array([0.5, 0.25]), np.array([1.0, 0.25])
    >>> [summary] = summarise_groups(*scores, np.zeros(2, dtype=np.intp), 1)
    >>> pairs = CountedGroup(summary, lambda: scores)
    >>> pairs.n, pairs.mean, pairs.differences, pairs.baseline, pairs.candidate
    (2, 0.25, array([0.5, 0. ]), array([0.5 , 0.25]), array([1.  , 0.25]))
    """

    def __init__(self, summary: PairSummary, gather: Callable[[], tuple[FloatArray, FloatArray]]):
        super().__init__(summary)
        object.__setattr__(self, "_gather", gather)

    @lock_free_property
    def n(self) -> int:
        """The number of pairs, which is asked for some thirty times."""
        return self.summary.differences.n

    @lock_free_property
    def _scores(self) -> tuple[FloatArray, FloatArray]:
        gather: Callable[[], tuple[FloatArray, FloatArray]] = self.__dict__["_gather"]
        return gather()

    @property
    def baseline(self) -> FloatArray:
        """The scores of the baseline."""
        return self._scores[0]

    @property
    def candidate(self) -> FloatArray:
        """The scores of the candidate."""
        return self._scores[1]

    @lock_free_property
    def differences(self) -> FloatArray:
        """Candidate minus baseline, with rounding noise set to exactly zero."""
        return paired_differences(*self._scores)


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
        counted = self._counted
        if counted is not None:
            return counted
        before, after = self._sorted
        rows = self._rows
        rulers = ruler_of(before), ruler_of(after)
        if not (np.isnan(before).any() or np.isnan(after).any()):
            return self._complete(rulers)
        return [
            PairedMetric.of_scores(
                self._names,
                self.ours,
                (before[part], after[part]),
                self.plan.units,
                rows[part],
                applies=functools.partial(self._applies_in, part),
                rulers=rulers,
            )
            for part in self.grouped.parts
        ]

    def _complete(self, rulers: SideRulers) -> list[PairedMetric]:
        """The metric in each group, if no score is missing."""
        parts, units = self.grouped.parts, self.plan.units
        sides = [
            (side, ruler, steps_may_fit(side, parts))
            for side, ruler in zip(self._sorted, rulers, strict=True)
        ]
        # One array for all groups: the memory of many small ones is asked of the system again and
        # again.
        moved = sides[1][0] - sides[0][0]
        known = []
        for place, part in enumerate(parts):
            before, after = (
                CountedSteps.of(side[part], ruler) if may_fit[place] else None
                for side, ruler, may_fit in sides
            )
            scores = [side[part] for side, _, _ in sides]
            pairs = PairedScores.of_columns(scores[0], scores[1], (before, after), moved[part])
            chosen = units.select(self._rows[part])
            known.append(
                MetricPairs(
                    *(pairs, chosen.collapse(pairs), NO_LONE_SCORES, chosen),
                    baseline_rows=self._rows[part],
                )
            )
        return [PairedMetric(self._names, self.ours, each) for each in known]

    @property
    def _counted(self) -> list[PairedMetric] | None:
        """The metric in large groups, if its scores are on a lattice and only counts are needed."""
        sizes = np.diff(self.grouped.ends, prepend=0)
        if not sizes.size or sizes.min() <= FEW_VALUES or not _needs_counts(self.plan):
            return None
        before, after = self._scores
        summaries = summarise_groups(before, after, self.grouped.codes, sizes.size)
        if summaries is None:
            return None
        rows = self._rows
        known = []
        for summary, part in zip(summaries, self.grouped.parts, strict=True):
            pairs = CountedGroup(summary, functools.partial(self._scores_in, part))
            known.append(
                MetricPairs(pairs, pairs, NO_LONE_SCORES, QUERIES, baseline_rows=rows[part])
            )
        return [PairedMetric(self._names, self.ours, each) for each in known]

    @property
    def _names(self) -> tuple[str, str]:
        return self.pairing.baseline.name, self.pairing.candidate.name

    @lock_free_property
    def _rows(self) -> IntArray:
        """The rows of the baseline, group by group."""
        places = self.pairing.alignment.baseline_rows
        return self.grouped.rows if places is None else places[self.grouped.rows]

    @lock_free_property
    def _scores(self) -> tuple[FloatArray, FloatArray]:
        return self.pairing.treated(self.ours, self.theirs, self.plan.missing)

    def _scores_in(self, part: slice) -> tuple[FloatArray, FloatArray]:
        rows = self.grouped.rows[part]
        return self._scores[0].take(rows), self._scores[1].take(rows)

    @lock_free_property
    def _sorted(self) -> tuple[FloatArray, FloatArray]:
        before, after = self._scores
        return self.grouped.sort(before), self.grouped.sort(after)

    def _applies_in(self, part: slice) -> BoolArray:
        return self._applies[part]

    @lock_free_property
    def _applies(self) -> BoolArray:
        return self.pairing.applies(self.ours, self.theirs)[self.grouped.rows]


def _needs_counts(plan: ComparisonPlan) -> bool:
    """Whether the test and the interval of large groups need no scores one by one."""
    is_usual = plan.test in KEPT_TESTS and plan.interval_method in KEPT_TESTS
    return is_usual and not plan.units.are_clusters


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
