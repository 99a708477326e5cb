"""Figures that are made of objectives, such as a weighted score, compared between pipelines.

A figure that is a mean over queries is tested as `rageval_report.compare` tests a metric: by the
signs of the paired differences of its parts per query. Any other figure, such as one with a median,
a percentile or a value beyond the worst that counts, is tested on bootstrap resamples of the
queries; for a percentile there must be enough queries beyond it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rageval_report.analysis.ranking.objectives import ObjectivePart
from rageval_report.stats.base import TIE_TOLERANCE, Interval
from rageval_report.stats.bootstrap import bootstrap_pvalue, expanded_limits
from rageval_report.stats.columns import Column
from rageval_report.stats.corrections import WESTFALL_YOUNG, adjust_pvalues
from rageval_report.stats.means import mean_interval
from rageval_report.stats.pairs import Pairs, paired_interval
from rageval_report.stats.sign_flips import sign_flip_pvalue
from rageval_report.stats.units import FEWEST_UNITS, QUERIES, Units, clustered_interval
from rageval_report.types import BoolArray, FloatArray

BOOTSTRAP = "paired bootstrap"


@dataclass(frozen=True, eq=False)
class Term:
    """One metric of a figure.

    Parameters
    ----------
    part : ObjectivePart
        The metric on the queries that every pipeline scored.
    slope : float
        By how much the figure changes if the statistic of the metric changes by 1.
    is_share : bool
        Whether values beyond the worst and the best are cut.
    """

    part: ObjectivePart
    slope: float
    is_share: bool

    @property
    def is_linear(self) -> bool:
        """Whether the figure is a mean over queries as far as this metric decides."""
        if self.part.statistic != "mean":
            return False
        if not self.is_share or self.part.worst is None or self.part.best is None:
            return True
        means = self.part.block.complete.mean(axis=0)
        low, high = sorted((self.part.worst, self.part.best))
        return bool(((means >= low) & (means <= high)).all())


def share_terms(parts: Sequence[ObjectivePart], weight: float) -> tuple[Term, ...]:
    """The terms of an objective between 0 and 1, the mean of its metrics, with this weight."""
    return tuple(
        Term(part, weight / len(parts) / (part.best - part.worst), is_share=True)
        for part in parts
        if part.best is not None and part.worst is not None
    )


@dataclass(frozen=True, eq=False)
class Figure:
    """A number of each pipeline, on the queries and on resamples of them.

    Parameters
    ----------
    name : str
        Such as "weighted score".
    values : ndarray of shape (n_pipelines,)
        The number.
    drawn : ndarray of shape (n_resamples, n_pipelines)
        The same on each resample.
    greater_is_better : bool
        The direction.
    terms : tuple of Term
        The metrics of which it is made.
    margin : float
        The difference that is too small to matter.
    seed : int
        For intervals that draw.
    """

    name: str
    values: FloatArray
    drawn: FloatArray
    greater_is_better: bool
    terms: tuple[Term, ...]
    margin: float = 0.0
    seed: int = 0

    @cached_property
    def by_query(self) -> FloatArray | None:
        """What each query contributes: one row per query; None if the figure is not a mean.

        Up to a number that all pipelines share, its mean is the figure. A query that a metric does
        not score contributes nothing to it, and the others accordingly more.
        """
        if not all(term.is_linear for term in self.terms):
            return None
        scored, is_used = self._scored_rows, self._used_rows
        total = np.zeros((int(is_used.sum()), len(self.values)))
        for term, rows in zip(self.terms, scored, strict=True):
            weight = term.slope * len(total) / rows.sum()
            total += weight * np.where(rows[:, None], term.part.block.values, 0.0)[is_used]
        return total

    @property
    def _scored_rows(self) -> list[BoolArray]:
        """The rows that every pipeline scored, metric by metric."""
        return [term.part.block.is_complete for term in self.terms]

    @property
    def _used_rows(self) -> BoolArray:
        """The rows that any of the metrics uses."""
        return np.asarray(np.any(self._scored_rows, axis=0), dtype=bool)

    @cached_property
    def units(self) -> Units:
        """The independent units of the rows of `by_query`."""
        every = self.terms[0].part.block.units if self.terms else QUERIES
        return every.select(self._used_rows)

    @property
    def _clusters(self) -> Units | None:
        return self.units if self.units.are_clusters else None

    @cached_property
    def n(self) -> int:
        """The number of units; of a figure that is not a mean, those of its rarest metric."""
        if self.by_query is not None:
            return self.units.count(len(self.by_query))
        return min((term.part.block.n_units for term in self.terms), default=0)

    @cached_property
    def too_few(self) -> str:
        """Why there is no test: the units are too few; empty if they suffice."""
        if self.by_query is not None:
            return "" if self.n >= FEWEST_UNITS else _too_few(self.n, FEWEST_UNITS)
        for term in self.terms:
            n, fewest = term.part.block.n_units, term.part.fewest
            if n < fewest:
                what = f"{term.part.statistic} of {term.part.block.metric.name}"
                of_what = f" for {what}" if fewest > FEWEST_UNITS else ""
                return f"{_too_few(n, fewest)}{of_what}"
        return ""

    @property
    def test(self) -> str:
        """The test of a difference."""
        return BOOTSTRAP if self.by_query is None else "auto"

    @property
    def tie(self) -> float:
        """The largest difference between two values that is only rounding."""
        return TIE_TOLERANCE * max(1.0, float(np.abs(self.values).max(initial=0.0)))

    def improvement(self, first: int, second: int) -> float:
        """By how much the second pipeline is better than the first."""
        difference = float(self.values[second] - self.values[first])
        return difference if self.greater_is_better else -difference

    def is_identical(self, first: int, second: int) -> bool:
        """Whether two pipelines are equal on the queries and on every resample."""
        spread = np.abs(self.drawn[:, second] - self.drawn[:, first]).max(initial=0.0)
        return max(abs(self.improvement(first, second)), float(spread)) <= self.tie

    def pvalue_better(self, first: int, second: int, margin: float = 0.0) -> float:
        """The one-sided p-value that the second pipeline is better by more than a margin.

        1 if it is not better on these queries, or if they are too few for a test.
        """
        is_ahead = self.improvement(first, second) > max(margin, self.tie)
        if not is_ahead or self.too_few:
            return 1.0
        sign = 1.0 if self.greater_is_better else -1.0
        if self.by_query is None:
            gains = sign * (self.drawn[:, second] - self.drawn[:, first])
            return min(1.0, bootstrap_pvalue(gains, self.n, margin + self.tie))
        before, after = sign * self.by_query[:, first], sign * self.by_query[:, second]
        differences = Pairs.of(before, after, self._clusters).units
        return sign_flip_pvalue(differences, alternative="greater", shift=margin)

    def mean_limits(self, level: float) -> tuple[FloatArray, FloatArray]:
        """The interval of each pipeline's figure, by the same rule as that of any mean.

        A figure that is no mean over queries has the expanded percentiles of its resamples.
        """
        if self.by_query is None:
            return expanded_limits(self.drawn, self.n, level)
        limits = [
            self._limits_of_mean(column, value, level)
            for column, value in zip(self.by_query.T, self.values.tolist(), strict=True)
        ]
        low, high = np.array(limits, dtype=np.float64).T
        return low, high

    def _limits_of_mean(
        self, contributions: FloatArray, value: float, level: float
    ) -> tuple[float, float]:
        """The interval of the mean of the contributions, moved to the figure."""
        bounds = self._bounds_of_contributions
        interval: Interval
        if self._clusters is not None:
            codes = np.asarray(self.units.codes)
            interval = clustered_interval(
                contributions, codes, confidence_level=level, bounds=bounds
            )
        else:
            interval = mean_interval(
                Column.of(contributions),
                confidence_level=level,
                bounds=bounds,
                kind="real" if bounds is None else "proportion",
                n_resamples=max(1, len(self.drawn)),
                seed=self.seed,
            )
        shift = value - interval.estimate
        return interval.low + shift, interval.high + shift

    @cached_property
    def _bounds_of_contributions(self) -> tuple[float, float] | None:
        """What a query can contribute at least and at most; None if a metric has no bounds."""
        low = high = 0.0
        n_used = int(self._used_rows.sum())
        for term, rows in zip(self.terms, self._scored_rows, strict=True):
            bounds = term.part.block.metric.bounds
            if bounds is None:
                return None
            weight = term.slope * n_used / rows.sum()
            ends = sorted((weight * bounds[0], weight * bounds[1]))
            if int(rows.sum()) < n_used:  # a query that is not scored contributes nothing
                ends = [min(0.0, ends[0]), max(0.0, ends[1])]
            low, high = low + ends[0], high + ends[1]
        return low, high

    def limits(self, first: int, second: int, level: float) -> tuple[float, float]:
        """The interval of the difference, second minus first."""
        if self.too_few:
            return float("nan"), float("nan")
        if self.by_query is None:
            low, high = expanded_limits(self.drawn[:, second] - self.drawn[:, first], self.n, level)
            return float(low), float(high)
        pairs = Pairs.of(self.by_query[:, first], self.by_query[:, second], self._clusters)
        interval = paired_interval(
            pairs,
            confidence_level=level,
            n_resamples=max(1, len(self.drawn)),
            seed=self.seed,
        )
        return interval.low, interval.high


def _too_few(n: int, fewest: int) -> str:
    return f"{n}; at least {fewest} are needed"


@dataclass(frozen=True, eq=False)
class FigureTests:
    """The tests of a figure between all pipelines.

    Parameters
    ----------
    figure : Figure
        The figure.
    pvalue, pvalue_adjusted : ndarray of shape (n_pipelines, n_pipelines)
        That the two pipelines differ by more than the margin; symmetric, with NaN on the diagonal.
    correction : str
        The correction for the number of pairs.
    alpha : float
        The error rate.
    """

    figure: Figure
    pvalue: FloatArray
    pvalue_adjusted: FloatArray
    correction: str
    alpha: float

    @property
    def beats(self) -> BoolArray:
        """Whether the pipeline of the row is shown to be better than that of the column."""
        values = self.figure.values if self.figure.greater_is_better else -self.figure.values
        return (self.pvalue_adjusted <= self.alpha) & (values[:, None] > values[None, :])

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        size = len(self.figure.values)
        return size * (size - 1) // 2


def figure_tests(figure: Figure, *, correction: str = "holm", alpha: float = 0.05) -> FigureTests:
    """Test all pairs of pipelines on a figure.

    Parameters
    ----------
    figure : Figure
        The figure; a pair is shown to differ only beyond its margin.
    correction : str
        A member of ``CORRECTIONS``; "westfall-young" is Holm's here.
    alpha : float
        The error rate.
    """
    size = len(figure.values)
    first, second = np.triu_indices(size, 1)
    pvalues = np.array(
        [_pvalue_of_pair(figure, int(i), int(j)) for i, j in zip(first, second, strict=True)],
        dtype=np.float64,
    )
    method = stepwise(correction)
    return FigureTests(
        figure,
        _symmetric(pvalues, size),
        _symmetric(adjust_pvalues(pvalues, method) if len(pvalues) else pvalues, size),
        method,
        alpha,
    )


def stepwise(correction: str) -> str:
    """The correction of figures: Westfall and Young's needs the flips of every test."""
    return "holm" if correction == WESTFALL_YOUNG else correction


def _pvalue_of_pair(figure: Figure, first: int, second: int) -> float:
    """Two-sided; never smaller with a margin than without."""
    if figure.is_identical(first, second):
        return 1.0
    if figure.improvement(first, second) < 0:
        first, second = second, first
    sides = [figure.pvalue_better(first, second, margin) for margin in {0.0, figure.margin}]
    return min(1.0, 2.0 * max(sides))


def _symmetric(pairs: FloatArray, size: int) -> FloatArray:
    matrix = np.full((size, size), np.nan)
    first, second = np.triu_indices(size, 1)
    matrix[first, second] = matrix[second, first] = pairs
    return matrix


# -- margins


def margin_of(names: Sequence[str], terms: Sequence[Term], margins: Mapping[str, float]) -> float:
    """The margin of a figure: its own, or what the margins of its metrics add up to.

    Parameters
    ----------
    names : sequence of str
        The names under which the figure itself may have a margin.
    terms : sequence of Term
        Its metrics.
    margins : mapping of str to float
        Checked margins, by metric, objective or figure.
    """
    own = [margins[name] for name in names if name in margins]
    if own:
        return own[0]
    return float(
        sum(abs(term.slope) * margins.get(term.part.block.metric.name, 0.0) for term in terms)
    )
