"""What a member of each table of `rageval_report.stats` is: what it takes, and what it returns.

A member is a function, or an object that can be called like one and says more about itself:
`PairedTest` names the interval that belongs to a test, `ClosedFormInterval` needs no scores but
their moments, `BatchInterval` and `DrawnInterval` compute several columns
together. Nothing else in the package lists
the members or knows one of them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from rageval_report._registry import resolve
from rageval_report.stats.base import Interval
from rageval_report.stats.means.moments import Moments, moments
from rageval_report.types import FloatArray

if TYPE_CHECKING:
    from rageval_report.stats.means.score_bins import CountedScores
    from rageval_report.stats.pairs.paired_scores import PairedScores

Bounds: TypeAlias = tuple[float, float]
# The interval of a mean at a confidence level, from the moments of the scores and their bounds.
ClosedForm: TypeAlias = Callable[[Moments, float, Bounds | None], Interval]


class MeanInterval(Protocol):
    """An interval of the mean of finite scores; there is at least one score."""

    def __call__(
        self,
        values: FloatArray,
        *,
        confidence_level: float,
        bounds: Bounds | None,
        n_resamples: int,
        seed: int,
    ) -> Interval: ...


@dataclass(frozen=True, slots=True)
class ClosedFormInterval:
    """A member of ``INTERVALS`` whose formula needs only the moments of the scores.

    Parameters
    ----------
    formula : ClosedForm or str
        The formula, or "module:attribute", loaded when it is first needed.
    has_limits_for_one_score : bool
        Whether the formula has limits for a single score. If not, `mean_interval` gives the bounds.
    """

    formula: ClosedForm | str
    has_limits_for_one_score: bool = False

    def of_moments(
        self, known: Moments, confidence_level: float, bounds: Bounds | None
    ) -> Interval:
        """The interval of a column whose moments are known."""
        return resolve(self.formula)(known, confidence_level, bounds)

    def __call__(
        self,
        values: FloatArray,
        *,
        confidence_level: float,
        bounds: Bounds | None = None,
        **_options: object,
    ) -> Interval:
        return self.of_moments(moments(values), confidence_level, bounds)


# The intervals of the means of several columns, from their scores, moments and bounds.
ManyIntervals: TypeAlias = Callable[
    [Sequence["FloatArray | CountedScores"], Sequence[Moments], Sequence[Bounds | None], float],
    list[Interval],
]


@dataclass(frozen=True, slots=True)
class BatchInterval:
    """A member of ``INTERVALS`` that takes less time for several columns together.

    Parameters
    ----------
    function : ManyIntervals or str
        The function, or "module:attribute", loaded when it is first needed. It has limits for a
        single score.
    """

    function: ManyIntervals | str

    def of_columns(
        self,
        columns: Sequence[FloatArray | CountedScores],
        known: Sequence[Moments],
        bounds: Sequence[Bounds | None],
        confidence_level: float,
    ) -> list[Interval]:
        """The intervals of some columns."""
        return resolve(self.function)(columns, known, bounds, confidence_level)

    def __call__(
        self,
        values: FloatArray,
        *,
        confidence_level: float,
        bounds: Bounds | None = None,
        **_options: object,
    ) -> Interval:
        return self.of_columns([values], [moments(values)], [bounds], confidence_level)[0]


# The intervals of the means of several columns, from resamples that these share.
DrawnIntervals: TypeAlias = Callable[..., list[Interval]]


@dataclass(frozen=True, slots=True)
class DrawnInterval:
    """A member of ``INTERVALS`` that is simulated, once for several columns.

    Parameters
    ----------
    function : DrawnIntervals or str
        The function, or "module:attribute", loaded when it is first needed. It takes the columns,
        and by keyword the confidence level, the number of resamples and the seed.
    """

    function: DrawnIntervals | str

    def of_columns(
        self,
        columns: Sequence[FloatArray],
        *,
        confidence_level: float,
        n_resamples: int,
        seed: int,
    ) -> list[Interval]:
        """The intervals of some columns."""
        return resolve(self.function)(
            columns, confidence_level=confidence_level, n_resamples=n_resamples, seed=seed
        )

    def __call__(
        self,
        values: FloatArray,
        *,
        confidence_level: float,
        n_resamples: int,
        seed: int,
        **_options: object,
    ) -> Interval:
        options = {"n_resamples": n_resamples, "seed": seed}
        return self.of_columns([values], confidence_level=confidence_level, **options)[0]


class PairedInterval(Protocol):
    """An interval of the mean difference; there is at least one pair."""

    def __call__(
        self, pairs: PairedScores, *, confidence_level: float, n_resamples: int, seed: int
    ) -> Interval: ...


class PairedTestFunction(Protocol):
    """A test of the mean difference: the statistic and the p-value; there is at least one pair.

    The alternative is "two-sided", "less" or "greater".
    """

    def __call__(
        self, pairs: PairedScores, *, alternative: str, n_resamples: int, seed: int
    ) -> tuple[float, float]: ...


def smallest_of_signs(n: int) -> float:
    """The smallest two-sided p-value of n signs: all of them alike.

    Examples
    --------
    >>> smallest_of_signs(0), smallest_of_signs(5)
    (1.0, 0.0625)
    """
    return min(1.0, 2.0 ** (1 - n))


def smallest_of_signs_midp(n: int) -> float:
    """The same if the observed signs count half.

    Examples
    --------
    >>> smallest_of_signs_midp(0), smallest_of_signs_midp(5)
    (1.0, 0.03125)
    """
    return 2.0**-n


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A member of ``TESTS``: the function, and what its results mean.

    Parameters
    ----------
    function : PairedTestFunction or str
        The test, or "module:attribute", loaded when it is first needed.
    statistic : str
        What the statistic is, e.g. "mean difference".
    interval : str, optional
        The member of ``PAIRED_INTERVALS`` that belongs to the test, or "auto" for the default one:
        the inversion of the sign-flip test, Bonett and Price's interval for scores of 0 and 1. If
        omitted, no interval belongs to the test, and whoever compares with it must choose one.
    smallest : callable, optional
        The smallest two-sided p-value of a number of pairs that differ; any, if omitted.

    Examples
    --------
    >>> from rageval_report.stats import TESTS
    >>> TESTS["t"].interval, TESTS["t"].statistic
    ('t', 't statistic')
    """

    function: PairedTestFunction | str
    statistic: str = ""
    interval: str | None = None
    smallest: Callable[[int], float] | None = None

    def __call__(
        self, pairs: PairedScores, *, alternative: str, n_resamples: int, seed: int
    ) -> tuple[float, float]:
        return resolve(self.function)(
            pairs, alternative=alternative, n_resamples=n_resamples, seed=seed
        )


class Correction(Protocol):
    """Adjusted p-values of a family without NaN, in the same order."""

    def __call__(self, pvalues: FloatArray) -> FloatArray: ...


class CorrectionOfAttainable(Protocol):
    """Adjusted p-values of a family, from the p-values and the smallest that each can have."""

    def __call__(self, pvalues: FloatArray, smallest: FloatArray) -> FloatArray: ...


@dataclass(frozen=True, slots=True)
class DiscreteCorrection:
    """A member of ``CORRECTIONS`` that takes account of the p-values that a test can have.

    Parameters
    ----------
    function : CorrectionOfAttainable or str
        The correction, or "module:attribute", loaded when it is first needed.
    """

    function: CorrectionOfAttainable | str

    def __call__(self, pvalues: FloatArray) -> FloatArray:
        return self.of_attainable(pvalues, np.zeros_like(pvalues))

    def of_attainable(self, pvalues: FloatArray, smallest: FloatArray) -> FloatArray:
        """The adjusted p-values, if the smallest that each test can have is known."""
        return resolve(self.function)(pvalues, smallest)


class Effect(Protocol):
    """An effect size of a paired comparison; there is at least one pair."""

    def __call__(self, pairs: PairedScores) -> float: ...
