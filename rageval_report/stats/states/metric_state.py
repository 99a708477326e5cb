"""The scores of one metric of one run: a state that any part of the rows has, and that is added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rageval_report.stats._entries import Bounds
from rageval_report.stats.base import finite_values
from rageval_report.stats.means.column_description import (
    QUARTILES,
    ColumnDescription,
    PercentileMethod,
    percentile_ranks,
    percentiles_by_rank,
)
from rageval_report.stats.means.intervals import DescribedColumn, ScoreKind
from rageval_report.stats.means.moments import Moments
from rageval_report.stats.states.column_state import ColumnState
from rageval_report.stats.states.counted_steps import Scores
from rageval_report.stats.states.moments_of_state import moments_of_state
from rageval_report.stats.states.order_brackets import OrderBracket, bracket_ranks, in_brackets


@dataclass(frozen=True, slots=True, eq=False)
class MetricState:
    """What a report shows of one metric of one run, from any part of its rows.

    Parameters
    ----------
    scores : ColumnState
        The scores that are present.
    n_unscored : int
        The number of queries whose score is NaN.

    Examples
    --------
    >>> state = MetricState.of(np.array([1.0, 0.0])) + MetricState.of(np.array([np.nan, 1.0]))
    >>> state.n, state.n_unscored, round(state.moments.mean, 3)
    (3, 1, 0.667)
    """

    scores: ColumnState
    n_unscored: int = 0

    @classmethod
    def of(cls, values: npt.ArrayLike) -> MetricState:
        """The state of a part of the rows.

        Parameters
        ----------
        values : array-like of shape (n,)
            The scores, in double or single precision; NaN is unscored.

        Raises
        ------
        DataError
            If a score is infinite.
        """
        every = np.asarray(values)
        scores = present_scores(every)
        return cls(ColumnState.of(scores), int(every.size - scores.size))

    def __add__(self, other: MetricState) -> MetricState:
        """The state of both parts."""
        return MetricState(self.scores + other.scores, self.n_unscored + other.n_unscored)

    @property
    def n(self) -> int:
        """The number of scores."""
        return self.scores.n

    @property
    def nbytes(self) -> int:
        """The memory of the arrays, in bytes."""
        return self.scores.nbytes

    @property
    def moments(self) -> Moments:
        """Number, mean, standard deviation and extremes; the functions of memory compute them."""
        return moments_of_state(self.scores)

    def brackets(
        self, percentiles: Sequence[float] = QUARTILES, method: PercentileMethod = "linear"
    ) -> tuple[OrderBracket, ...]:
        """The ranges in which a second pass must look for the percentiles; empty as a rule.

        Parameters
        ----------
        percentiles, method
            As in `describe`.

        Returns
        -------
        tuple of OrderBracket
            Disjoint and in ascending order. Empty if the percentiles are known: always for scores
            on a lattice, and for up to 131,072 others.
        """
        if self.scores.sums is None:
            return ()
        ranks = percentile_ranks(self.n, percentiles, method)
        return bracket_ranks(self.scores.sums, ranks)

    def describe(
        self,
        percentiles: Sequence[float] = QUARTILES,
        method: PercentileMethod = "linear",
        inside: Sequence[npt.ArrayLike] = (),
    ) -> ColumnDescription:
        """The numbers that a report shows.

        Parameters
        ----------
        percentiles : sequence of float
            Which percentiles, each from 0 to 100.
        method : {"linear", "exclusive", "upper"}
            As in `rageval_report.stats.means.column_description.describe`.
        inside : sequence of array-like
            For each of `brackets`, the scores inside it, in any order. Without them the percentiles
            of scores that were summed up are those of the histogram, good to 1 / 65,536 of the
            range.

        Examples
        --------
        >>> MetricState.of(np.array([0.2, 0.8, np.nan, 0.5])).describe((50.0,)).percentiles
        (0.5,)
        """
        scores = self.scores
        if scores.steps is not None:
            cuts = percentiles_by_rank(self.n, percentiles, method, scores.steps.at_ranks)
        elif scores.sums is not None:
            brackets = self.brackets(percentiles, method)
            at_ranks = in_brackets(brackets, inside)
            cuts = percentiles_by_rank(self.n, percentiles, method, at_ranks)
        else:
            ordered = np.sort(scores.listed())
            cuts = percentiles_by_rank(self.n, percentiles, method, ordered.__getitem__)
        return ColumnDescription(self.moments, self.n_unscored, tuple(cuts.tolist()))

    def column(
        self, bounds: Bounds | None = None, kind: ScoreKind | None = None
    ) -> DescribedColumn:
        """The column as `rageval_report.stats.means.intervals.described_intervals` takes it.

        Parameters
        ----------
        bounds, kind
            As in `rageval_report.stats.mean_interval`.

        Examples
        --------
        >>> from rageval_report.stats.means.intervals import described_intervals
        >>> column = MetricState.of(np.array([1.0, 0.0, 1.0, 1.0])).column()
        >>> described_intervals([column])[0].method
        'wilson'
        """
        scores = self.scores
        values = scores.counted() if scores.values is None else scores.listed()
        return DescribedColumn(values, self.moments, bounds, kind)


def present_scores(values: Scores) -> Scores:
    """The scores that are present, in the precision that they have; infinities raise `DataError`.

    Examples
    --------
    >>> present_scores(np.array([1.0, np.nan], dtype=np.float32)).dtype
    dtype('float32')
    """
    if values.dtype not in (np.float32, np.float64) or values.ndim != 1:
        return finite_values(values)
    # A single NaN or infinity is enough to make the sum one; so may very large scores.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return values
    finite_values(values)
    is_missing = np.isnan(values)
    return values[~is_missing] if is_missing.any() else values
