"""Saying "no difference": a test that the difference is smaller than a margin that matters.

The default is the default test of a difference, made at the margin: the exact sign-flip test after
the margin has been subtracted from every difference; for scores of 0 and 1 McNemar's exact test at
the margin (`rageval_report.stats.binary`). Like every test of the sampled differences it sees only
losses that were sampled; "strict" also counts those that were not, up to the bounds of the scores.
Differences that are all equal show nothing about the spread of others, so without bounds they
support no claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from rageval_report.errors import DataError, check_choice
from rageval_report.stats import base
from rageval_report.stats.base import Bounds
from rageval_report.stats.binary import PairedTable, difference_limits, difference_pvalue
from rageval_report.stats.columns import Column, check_bounds
from rageval_report.stats.effects import hidden_losses
from rageval_report.stats.gaffke import gaffke_pvalue
from rageval_report.stats.pairs import Pairs
from rageval_report.stats.sign_flips import sign_flip_interval, sign_flip_pvalue
from rageval_report.stats.units import mean_error

Claim: TypeAlias = Literal["equivalence", "non-inferior"]
CLAIMS: tuple[Claim, ...] = get_args(Claim)
MarginMethod: TypeAlias = Literal["auto", "t", "strict"]
EQUIVALENCE_METHODS: tuple[MarginMethod, ...] = get_args(MarginMethod)
STRICT: Literal["strict"] = "strict"

# The error of a strict limit, as a share of the range.
_PRECISION = 1e-10

_STRICT_COUNTS = f'the method "{STRICT}" counts'
EQUAL_DIFFERENCES = (
    "all differences are equal, so they do not show how much others may differ; with bounds of the "
    f"scores {_STRICT_COUNTS} that"
)


@dataclass(frozen=True, slots=True)
class EquivalenceResult:
    """A test that a difference lies within a margin."""

    pvalue: float
    equivalent: bool
    low: float
    high: float
    margin: float
    alternative: Claim
    difference: float
    n: int
    method: str = "sign-flip"
    notes: tuple[str, ...] = ()
    untestable: str = ""

    @property
    def is_below(self) -> bool:
        """Whether the whole interval lies below minus the margin: worse by more than that."""
        return self.high < -self.margin


# The p-values of "not far below" and of "not far above", and the limits.
_OneSidedTests: TypeAlias = tuple[float, float, float, float]
_NO_TESTS: _OneSidedTests = (1.0, 1.0, math.nan, math.nan)


def equivalence_test(
    baseline: npt.ArrayLike | Pairs,
    candidate: npt.ArrayLike | None,
    margin: float,
    *,
    alpha: float = 0.05,
    alternative: Claim = "equivalence",
    method: str = "auto",
    bounds: Bounds | None = None,
    bounds_are_formal: bool = False,
    clusters: npt.ArrayLike | None = None,
) -> EquivalenceResult:
    """Test whether two pipelines differ by less than a margin: two one-sided tests.

    Parameters
    ----------
    baseline, candidate : array-like of shape (n_queries,)
        One score per query, both sides in the same order. Queries with NaN on a side are left out.
        `Pairs` that are at hand, and None, may take the place of both.
    margin : float
        The largest difference that does not matter, above 0, in the unit of the scores.
    alpha : float
        The level of significance.
    alternative : {"equivalence", "non-inferior"}
        "non-inferior": the candidate is not worse by the margin or more, if larger scores are
        better; if smaller ones are, exchange the sides.
    method : {"auto", "t", "strict"}
        "auto" is the exact sign-flip test of the differences after the margin has been subtracted
        from each, for scores of 0 and 1 McNemar's exact test at the margin; it is "strict" if all
        differences are equal and there are bounds. "t" is the paired t test, which claims too much
        if a few differences dominate. "strict" is Gaffke's interval of the differences; it also
        counts losses that are too rare to be among these queries.
    bounds : (float, float), optional
        The smallest and largest possible score. "strict" needs them; with the other methods, a
        claim that losses too rare to be seen could turn has a note. Without them, differences that
        are all equal and smaller than the margin have a p-value of NaN.
    bounds_are_formal : bool
        Whether the bounds are a formality, such as those of a cosine, which say nothing about rare
        losses. Such bounds give no note.
    clusters : array-like of shape (n_queries,), optional
        The cluster of each query, if some are not independent: the test then flips the signs of
        clusters, after the margin has been subtracted from every query. "strict" supposes that
        no cluster has more queries than the largest one here.

    Returns
    -------
    EquivalenceResult

    Raises
    ------
    DataError
        If no query has a score on both sides, the margin is not above 0, a score is outside the
        bounds, or "strict" has no bounds.
    UnknownNameError
        If the alternative is neither of the two.

    Notes
    -----
    With a true difference of minus the margin, t claims non-inferiority in 25 % of cases at n = 20
    instead of 5 % if most differences are 0, and in up to 61 % with rare large losses [2]_.

    References
    ----------
    .. [1] Schuirmann (1987). A comparison of the two one-sided tests procedure and the power
           approach for assessing the equivalence of average bioavailability. Journal of
           Pharmacokinetics and Biopharmaceutics 15:657-680.
    .. [2] docs/validity.md

    Examples
    --------
    >>> before = [0.5, 0.6, 0.7, 0.8, 0.4, 0.9, 0.3, 0.6]
    >>> after = [0.51, 0.59, 0.71, 0.8, 0.42, 0.89, 0.3, 0.61]
    >>> result = equivalence_test(before, after, margin=0.05)
    >>> result.equivalent, round(result.low, 4), round(result.high, 4)
    (True, -0.0035, 0.0111)
    """
    check_choice("alternative", alternative, CLAIMS)
    check_choice("method", method, EQUIVALENCE_METHODS)
    base.check_positive("margin", margin)
    base.check_probability("alpha", alpha)
    pairs = Pairs.of(baseline, candidate, clusters)
    width = _width_of(bounds, pairs)
    name = method
    if method == "auto":
        # Equal differences have an interval without width, however few they are; with bounds it is
        # known how much others may differ.
        is_flat = width is not None and pairs.std == 0.0
        name = "mcnemar" if pairs.is_binary else STRICT if is_flat else "sign-flip"
    if name == STRICT and width is None:
        raise DataError(
            "method 'strict' needs the smallest and largest possible score: give bounds, "
            "e.g. (0, 1)"
        )
    tests = _METHODS[name](pairs, margin, alpha, width or math.inf) if pairs.n > 1 else _NO_TESTS
    below, above, low, high = tests
    # Equivalence needs both tests: the larger p-value; of NaN and a number, the number.
    pvalue = below if alternative == "non-inferior" else float(np.fmax(below, above))
    notes: tuple[str, ...] = ()
    if name == STRICT and pairs.units.weights is not None:
        largest = f"{round(float(pairs.sizes.max()) * pairs.differences.n / pairs.n)} queries"
        notes = (f"it is supposed that no cluster is larger than the largest one here, {largest}",)
    elif name != STRICT and pvalue <= alpha and width is not None and not bounds_are_formal:
        notes = _rare_loss_notes(pairs, margin, width, alpha, alternative)
    return EquivalenceResult(
        *(pvalue, pvalue <= alpha, low, high, float(margin)),
        *(alternative, pairs.mean, pairs.n, name, notes),
        untestable=EQUAL_DIFFERENCES if math.isnan(pvalue) else "",
    )


def _width_of(bounds: Bounds | None, pairs: Pairs) -> float | None:
    """The largest possible difference; None without bounds."""
    if not base.are_finite(bounds):
        return None
    for side in (pairs.baseline, pairs.candidate):
        low, high = check_bounds(side, bounds)
    return high - low


def _rare_loss_notes(
    pairs: Pairs, margin: float, width: float, alpha: float, claim: Claim
) -> tuple[str, ...]:
    """That losses, or gains, too rare to be seen could turn the claim."""
    level = 1.0 - alpha
    losses = hidden_losses(pairs, width, margin=margin, confidence_level=level)
    if losses is not None:
        return (f"{losses.sentence()}; {_STRICT_COUNTS} such losses",)
    if claim == "non-inferior":
        return ()
    gains = hidden_losses(pairs.swapped(), width, margin=margin, confidence_level=level)
    if gains is None:
        return ()
    return (f"rare large gains could hide: {gains.sentence('gain')}; {_STRICT_COUNTS} such gains",)


def _test_shares(pairs: Pairs, margin: float, alpha: float, _width: float) -> _OneSidedTests:
    table = PairedTable.of(pairs, "mcnemar")
    below, above = (
        difference_pvalue(sides, -margin, ties=1.0) for sides in (table, table.swapped())
    )
    return (below, above, *difference_limits(table, alpha, ties=1.0))


def _test_by_flips(pairs: Pairs, margin: float, alpha: float, _width: float) -> _OneSidedTests:
    column = pairs.units
    if column.is_constant:
        return _test_equal_differences(pairs, margin)
    interval = sign_flip_interval(column, confidence_level=1.0 - 2.0 * alpha)
    if interval.method != "sign-flip":  # with so few pairs no shift at all can be rejected
        return _NO_TESTS
    return (
        sign_flip_pvalue(column, alternative="greater", shift=-margin),
        sign_flip_pvalue(column, alternative="less", shift=margin),
        interval.low,
        interval.high,
    )


def _test_means(pairs: Pairs, margin: float, alpha: float, _width: float) -> _OneSidedTests:
    if pairs.std == 0.0:  # the t statistic would be infinite
        return _test_equal_differences(pairs, margin)
    error, degrees = mean_error(pairs.units)
    mean, reach = pairs.mean, float(stdtrit(degrees, 1.0 - alpha)) * error
    return (
        float(stdtr(degrees, -(mean + margin) / error)),
        float(stdtr(degrees, (mean - margin) / error)),
        mean - reach,
        mean + reach,
    )


def _test_equal_differences(pairs: Pairs, margin: float) -> _OneSidedTests:
    """Nothing shows that others lie within the margin; only that these are beyond it is known."""
    mean = pairs.mean
    below, above = (math.nan if inside else 1.0 for inside in (-margin < mean, mean < margin))
    limit = math.nan if -margin < mean < margin else mean
    return below, above, limit, limit


def _test_strictly(pairs: Pairs, margin: float, alpha: float, width: float) -> _OneSidedTests:
    """Gaffke's limits of the differences, which lie between minus and plus the width."""
    swapped = pairs.swapped()
    return (
        _strict_pvalue(pairs, -margin, width),
        _strict_pvalue(swapped, -margin, width),
        _strict_lower_limit(pairs, width, alpha),
        -_strict_lower_limit(swapped, width, alpha),
    )


def _strict_pvalue(pairs: Pairs, shift: float, width: float) -> float:
    """Gaffke's test that the mean difference is above a shift."""
    column, sizes = pairs.units, pairs.sizes
    # Rounding may have added to the largest possible differences.
    left = np.clip(column.values, -width * sizes, width * sizes) - shift * sizes
    order, largest = np.argsort(left), float(sizes.max())
    bounds = (-largest * (width + shift), largest * (width - shift))
    return gaffke_pvalue(Column.of_counts(left[order], column.counts[order]), 0.0, bounds)


def _strict_lower_limit(pairs: Pairs, width: float, alpha: float) -> float:
    """The largest shift that is rejected: the p-value rises with the shift."""
    from scipy.optimize import brentq

    highest = min(width, float((pairs.units.values / pairs.sizes).max()))
    if highest <= -width:
        return -width
    limit = brentq(
        lambda shift: _strict_pvalue(pairs, shift, width) - alpha,
        *(-width, highest),
        xtol=_PRECISION * width,
    )
    return min(float(limit), pairs.mean)  # rounding must not put the limit beyond the mean


_METHODS: Mapping[str, Callable[[Pairs, float, float, float], _OneSidedTests]] = {
    "mcnemar": _test_shares,
    "sign-flip": _test_by_flips,
    STRICT: _test_strictly,
    "t": _test_means,
}
