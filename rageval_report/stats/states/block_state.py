"""The scores of one metric of several runs: a state of any part of the queries that is added.

Few rows are kept as they are. Of more rows each run has one state, and each pair of runs has the
state of its differences, so a run's scores are kept once, and not once for each pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.ranks import count_alone_best
from rageval_report.stats.states.column_state import FEW_VALUES, SIDE_OF_PAIRS, ColumnState
from rageval_report.stats.states.metric_state import MetricState
from rageval_report.stats.states.pair_state import summarise_pairs
from rageval_report.stats.states.state_pairs import PairSummary, StatePairs
from rageval_report.types import FloatArray, IntArray

_ELSEWHERE = ColumnState.of(np.zeros(0), SIDE_OF_PAIRS)


@dataclass(frozen=True, slots=True, eq=False)
class BlockSummary:
    """What is known of many rows.

    Parameters
    ----------
    columns : tuple of MetricState
        The scores of each run.
    pairs : tuple of PairSummary
        The differences of each pair of runs, in the order (0, 1), (0, 2), ..., (1, 2), ...; their
        sides are `columns`.
    alone_best : ndarray of int
        On how many queries each run is better than all others.
    """

    columns: tuple[MetricState, ...]
    pairs: tuple[PairSummary, ...]
    alone_best: IntArray

    @classmethod
    def of(
        cls, rows: FloatArray, *, greater_is_better: bool, known: BlockSummary | None = None
    ) -> BlockSummary:
        """The summary of some rows, of which there is at least one.

        Parameters
        ----------
        rows : ndarray of shape (n, n_runs)
            The scores.
        greater_is_better : bool
            The metric's direction.
        known : BlockSummary, optional
            That of other rows: a few differences are near multiples of some step by chance, many
            are not.
        """
        columns = np.asfortranarray(rows)
        places = combinations(range(rows.shape[1]), 2)
        noisy = [known is None or pair.differences.steps is not None for pair in known_pairs(known)]
        may_be_noisy = noisy or [True] * _n_pairs(rows.shape[1])
        pairs = []
        for (i, j), is_noisy in zip(places, may_be_noisy, strict=True):
            summary = summarise_pairs(columns[:, i], columns[:, j], may_be_noisy=is_noisy)
            pairs.append(replace(summary, baseline=_ELSEWHERE, candidate=_ELSEWHERE))
        return cls(
            tuple(MetricState.of(column) for column in columns.T),
            tuple(pairs),
            count_alone_best(rows, greater_is_better=greater_is_better),
        )

    def __add__(self, other: BlockSummary) -> BlockSummary:
        """The summary of both parts."""
        return BlockSummary(
            tuple(a + b for a, b in zip(self.columns, other.columns, strict=True)),
            tuple(a + b for a, b in zip(self.pairs, other.pairs, strict=True)),
            self.alone_best + other.alone_best,
        )


def known_pairs(summary: BlockSummary | None) -> tuple[PairSummary, ...]:
    """The pairs of a summary, if there is one."""
    return () if summary is None else summary.pairs


def _n_pairs(size: int) -> int:
    return size * (size - 1) // 2


@dataclass(frozen=True, slots=True, eq=False)
class BlockState:
    """What a ranking shows of one metric, from any part of the queries that all runs scored.

    Parameters
    ----------
    greater_is_better : bool
        The metric's direction.
    rows : ndarray of shape (n, n_runs), optional
        The scores, as long as they are few.
    summary : BlockSummary, optional
        What is known of more rows; None if there are `rows`.

    Examples
    --------
    >>> first = BlockState.of(np.array([[0.0, 1.0], [1.0, 1.0]]), greater_is_better=True)
    >>> state = first + BlockState.of(np.array([[0.0, 0.5]]), greater_is_better=True)
    >>> state.n, next(state.pairs()).mean
    (3, 0.5)
    """

    greater_is_better: bool
    rows: FloatArray | None = None
    summary: BlockSummary | None = None

    @classmethod
    def of(cls, rows: FloatArray, *, greater_is_better: bool) -> BlockState:
        """The state of some rows without NaN."""
        if len(rows) <= FEW_VALUES:
            return cls(greater_is_better, rows)
        return cls(
            greater_is_better, summary=BlockSummary.of(rows, greater_is_better=greater_is_better)
        )

    def __add__(self, other: BlockState) -> BlockState:
        """The state of both parts."""
        if not self.n or not other.n:
            return self if self.n else other
        if self.rows is not None and other.rows is not None:
            rows = np.concatenate((self.rows, other.rows))
            return BlockState.of(rows, greater_is_better=self.greater_is_better)
        known = self.summary or other.summary
        total = self._summarised(known) + other._summarised(known)
        return BlockState(self.greater_is_better, summary=total)

    @property
    def n(self) -> int:
        """The number of rows."""
        if self.rows is not None:
            return len(self.rows)
        return self._summarised(None).columns[0].n

    def _summarised(self, known: BlockSummary | None) -> BlockSummary:
        if self.summary is not None:
            return self.summary
        if self.rows is None:
            raise ValueError("a state has rows or a summary")
        return BlockSummary.of(self.rows, greater_is_better=self.greater_is_better, known=known)

    def summarised(self) -> BlockSummary:
        """Counts or sums of the rows, of which there is at least one."""
        return self._summarised(None)

    def pairs(self) -> Iterator[PairedScores]:
        """The pairs of runs, as every test, interval and effect size takes them."""
        if self.rows is not None:
            for i, j in combinations(range(self.rows.shape[1]), 2):
                yield PairedScores(self.rows[:, i], self.rows[:, j])
            return
        known = self.summarised()
        sides = [column.scores for column in known.columns]
        for (i, j), pair in zip(combinations(range(len(sides)), 2), known.pairs, strict=True):
            yield StatePairs(replace(pair, baseline=sides[i], candidate=sides[j]))
