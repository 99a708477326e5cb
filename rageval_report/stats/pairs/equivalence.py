"""Saying "no difference": a test that the difference is smaller than a margin that matters.

The default follows the paired tests: for scores of 0 and 1 the interval of Bonett and Price, else
the sign-flip test after the margin has been subtracted from every difference, whose inversion is
the interval. Like every test of the sampled differences it sees only losses that were sampled;
"strict" also counts those that were not, up to the bounds of the scores
(`rageval_report.stats.pairs.strict_limits`). Differences that are all equal show nothing about the
spread of others, so without bounds they support no claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt
import scipy

from rageval_report.errors import DataError, check_choice
from rageval_report.stats._entries import Bounds
from rageval_report.stats.base import check_positive, check_probability
from rageval_report.stats.means.closed_forms import are_finite
from rageval_report.stats.means.intervals import BOUNDS_TOLERANCE
from rageval_report.stats.pairs.independent_pairs import independent_pairs
from rageval_report.stats.pairs.paired_intervals import bonett_price_centre
from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.pairs.rare_losses import rare_losses_of
from rageval_report.stats.pairs.strict_limits import strict_interval, strict_pvalue
from rageval_report.stats.sign_flips.inversion import pvalue_of_shift, sign_flip

Claim: TypeAlias = Literal["equivalence", "non-inferior"]
CLAIMS: tuple[Claim, ...] = get_args(Claim)
MarginMethod: TypeAlias = Literal["auto", "sign-flip", "bonett-price", "t", "strict"]
EQUIVALENCE_METHODS: tuple[MarginMethod, ...] = get_args(MarginMethod)
STRICT: Literal["strict"] = "strict"

_STRICT_COUNTS = f'the method "{STRICT}" counts'
EQUAL_DIFFERENCES = (
    "all differences are equal, so they do not show how much others may differ; with bounds of the "
    f"scores {_STRICT_COUNTS} that"
)


@dataclass(frozen=True, slots=True)
class EquivalenceResult:
    """A test that a difference lies within a margin.

    Parameters
    ----------
    pvalue : float
        Small if the difference lies within the margin; NaN if no claim can be tested.
    equivalent : bool
        Whether the claim is shown: p at most alpha.
    low, high : float
        The interval of the difference at level 1 - 2 alpha, which lies within the margin if the
        claim is shown; NaN for one query.
    margin : float
        The largest difference that does not matter.
    alternative : {"equivalence", "non-inferior"}
        The claim, as in `equivalence_test`.
    difference : float
        The mean difference, candidate minus baseline.
    n : int
        Pairs in which both scores are present.
    method : str
        The method that was used, never "auto".
    notes : tuple of str
        What a reader must know: that rare large losses, or differences, could hide; what "strict"
        supposes of clusters.
    untestable : str
        Why no claim can be tested, although there are enough pairs; else empty.
    """

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

    def times(self, unit: float) -> EquivalenceResult:
        """The result of scores that are this many times as large.

        Examples
        --------
        >>> equivalence_test([0] * 20, [0.1, -0.1] * 10, 0.1).times(2.0).margin
        0.2
        """
        return replace(
            self,
            low=self.low * unit,
            high=self.high * unit,
            margin=self.margin * unit,
            difference=self.difference * unit,
        )

    @property
    def is_below(self) -> bool:
        """Whether the whole interval lies below minus the margin: worse by more than that."""
        return self.high < -self.margin

    @property
    def is_above(self) -> bool:
        """Whether the whole interval lies above the margin."""
        return self.low > self.margin


@dataclass(frozen=True, slots=True)
class _OneSidedTests:
    """The p-values of "not far below" and of "not far above", and the interval."""

    below: float
    above: float
    low: float
    high: float

    def pvalue(self, claim: Claim) -> float:
        """The p-value of a claim; for equivalence both tests must reject."""
        # The larger one; of NaN and a number, the number.
        return self.below if claim == "non-inferior" else float(np.fmax(self.below, self.above))


def equivalence_test(
    baseline: npt.ArrayLike,
    candidate: npt.ArrayLike,
    margin: float,
    *,
    alpha: float = 0.05,
    alternative: Claim = "equivalence",
    method: str = "auto",
    bounds: Bounds | None = None,
    clusters: npt.ArrayLike | None = None,
) -> EquivalenceResult:
    """Test whether two pipelines differ by less than a margin: two one-sided tests.

    Parameters
    ----------
    baseline, candidate : array-like of shape (n_queries,)
        One score per query, both sides in the same order. Queries with NaN on a side are left out.
    margin : float
        The largest difference that does not matter, above 0, in the unit of the scores.
    alpha : float
        The level of significance.
    alternative : {"equivalence", "non-inferior"}
        "non-inferior": the candidate is not worse by the margin or more, if larger scores are
        better; if smaller ones are, exchange the sides.
    method : {"auto", "sign-flip", "bonett-price", "t", "strict"}
        "auto" is "bonett-price" for scores of 0 and 1, else "sign-flip": the test of the
        differences after the margin has been subtracted from each; it is "strict" if all
        differences are equal and there are bounds. "t" is the paired t test, which
        claims too much if a few differences dominate. "strict" is Gaffke's interval of the
        differences; it also counts losses that are too rare to be among these queries.
    bounds : (float, float), optional
        The smallest and largest possible score. "strict" needs them; with the other methods, a
        claim that "strict" would not make has a note. Without them, differences that are all equal
        and smaller than the margin have a p-value of NaN.
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
    .. [2] docs/coverage.md

    Examples
    --------
    >>> from rageval_report.stats import equivalence_test
    >>> before = [0.5, 0.6, 0.7, 0.8, 0.4, 0.9, 0.3, 0.6]
    >>> after = [0.51, 0.59, 0.71, 0.8, 0.42, 0.89, 0.3, 0.61]
    >>> result = equivalence_test(before, after, margin=0.05)
    >>> result.equivalent, round(result.low, 4), round(result.high, 4)
    (True, -0.0035, 0.0111)
    """
    check_choice("alternative", alternative, CLAIMS)
    pairs = independent_pairs(baseline, candidate, clusters)
    if pairs.sizes is not None:  # whose sums are not scores
        _width_of(bounds, PairedScores.of(baseline, candidate))
    return run_equivalence(
        pairs, margin, alpha=alpha, alternative=alternative, method=method, bounds=bounds
    )


def run_equivalence(
    pairs: PairedScores,
    margin: float,
    *,
    alpha: float = 0.05,
    alternative: Claim = "equivalence",
    method: str = "auto",
    bounds: Bounds | None = None,
    bounds_are_formal: bool = False,
) -> EquivalenceResult:
    """`equivalence_test` of pairs that are complete, and may be clusters.

    Bounds that are a formality, such as those of a cosine, say nothing about rare losses: with them
    there is no note.

    Examples
    --------
    >>> run_equivalence(PairedScores.of([0] * 20, [0.1, -0.1] * 10), 0.1).equivalent
    True
    """
    check_positive("margin", margin)
    check_probability("alpha", alpha)
    if pairs.unit > 1.0:
        in_units = run_equivalence(
            pairs.in_units,
            margin / pairs.unit,
            alpha=alpha,
            alternative=alternative,
            method=method,
            bounds=None if bounds is None else (bounds[0] / pairs.unit, bounds[1] / pairs.unit),
            bounds_are_formal=bounds_are_formal,
        )
        return in_units.times(pairs.unit)
    width = _width_of(bounds, pairs)
    check_choice("method", method, EQUIVALENCE_METHODS)
    name = _choose_method(pairs, width) if method == "auto" else method
    if name == STRICT and width is None:
        raise DataError(
            "method 'strict' needs the smallest and largest possible score: give bounds, "
            "e.g. (0, 1)"
        )
    tests = _METHODS[name](pairs, margin, alpha, width) if pairs.n > 1 else _NO_TESTS
    pvalue = tests.pvalue(alternative)
    is_shown = pvalue <= alpha
    notes = _size_notes(pairs) if name == STRICT else ()
    if is_shown and width is not None and name != STRICT and not bounds_are_formal:
        notes = _rare_losses_notes(pairs, margin, width, alpha, alternative)
    return EquivalenceResult(
        pvalue,
        is_shown,
        tests.low,
        tests.high,
        float(margin),
        alternative,
        pairs.mean,
        pairs.n,
        name,
        notes,
        EQUAL_DIFFERENCES if math.isnan(pvalue) else "",
    )


def _choose_method(pairs: PairedScores, width: float | None) -> str:
    """The method that "auto" stands for."""
    if pairs.is_binary:
        return "bonett-price"
    # Equal differences have an interval without width, however few they are; with bounds it is
    # known how much others may differ.
    return STRICT if width is not None and pairs.standard_deviation == 0.0 else "sign-flip"


def _size_notes(pairs: PairedScores) -> tuple[str, ...]:
    """What must hold of clusters of different sizes, whose largest one bounds what can be lost."""
    if pairs.sizes is None or pairs.weights is None:
        return ()
    largest = f"{pairs.sizes.max():.0f} queries"
    return (f"it is supposed that no cluster is larger than the largest one here, {largest}",)


def _rare_losses_notes(
    pairs: PairedScores, margin: float, width: float, alpha: float, claim: Claim
) -> tuple[str, ...]:
    """The share of differences of the whole range that the sample cannot exclude, if it matters."""
    tests = _strict_pvalues(pairs, margin, width)
    if tests.pvalue(claim) <= alpha:
        return ()
    level = 1 - alpha
    if claim == "non-inferior":
        losses = rare_losses_of(pairs, width, confidence_level=level).sentence()
        return (f"rare large losses could hide: {losses}; {_STRICT_COUNTS} such losses",)
    bound = rare_losses_of(pairs, width, confidence_level=level, either_sign=True)
    larger = bound.sentence("differ by")
    return (f"rare large differences could hide: {larger}; {_STRICT_COUNTS} them",)


def _width_of(bounds: Bounds | None, pairs: PairedScores) -> float | None:
    """The largest possible difference; None without bounds."""
    if not are_finite(bounds):
        return None
    low, high = bounds
    sides = pairs.side_moments if pairs.sizes is None else ()
    for end in (end for side in sides for end in (side.minimum, side.maximum)):
        if not low - BOUNDS_TOLERANCE <= end <= high + BOUNDS_TOLERANCE:
            raise DataError(
                f"scores must lie within the bounds {low:g} and {high:g}; found {end:g}: "
                "correct the score or give other bounds"
            )
    return float(high - low)


_NO_TESTS = _OneSidedTests(1.0, 1.0, math.nan, math.nan)


def _test_shares(
    pairs: PairedScores, margin: float, alpha: float, _width: float | None
) -> _OneSidedTests:
    centre, standard_error = bonett_price_centre(pairs.count_discordant("equivalence"))
    # A one-sided quantile: the interval at level 1 - 2 alpha lies within the margin exactly if both
    # tests reject at alpha.
    reach = float(scipy.special.ndtri(1 - alpha)) * standard_error
    return _OneSidedTests(
        float(scipy.special.ndtr(-(centre + margin) / standard_error)),
        float(scipy.special.ndtr((centre - margin) / standard_error)),
        max(-1.0, centre - reach),
        min(1.0, centre + reach),
    )


def _flip_at_margin(
    pairs: PairedScores, margin: float, alpha: float, _width: float | None
) -> _OneSidedTests:
    if pairs.standard_deviation == 0.0:
        return _test_equal_differences(pairs, margin)
    interval = sign_flip(pairs, confidence_level=1 - 2 * alpha)
    if interval.method != "sign-flip":  # with so few pairs no shift at all can be rejected
        return _NO_TESTS
    return _OneSidedTests(
        pvalue_of_shift(pairs, -margin, "greater"),
        pvalue_of_shift(pairs, margin, "less"),
        interval.low,
        interval.high,
    )


def _test_equal_differences(pairs: PairedScores, margin: float) -> _OneSidedTests:
    """Nothing shows that others lie within the margin; only that these are beyond it is known."""
    mean = pairs.mean
    below, above = (math.nan if inside else 1.0 for inside in (-margin < mean, mean < margin))
    limit = math.nan if -margin < mean < margin else mean
    return _OneSidedTests(below, above, limit, limit)


def _test_strictly(
    pairs: PairedScores, margin: float, alpha: float, width: float | None
) -> _OneSidedTests:
    """Gaffke's limits of the differences, which lie between minus and plus the width."""
    widest = cast(float, width)
    low, high = strict_interval(pairs, widest, alpha)
    return replace(_strict_pvalues(pairs, margin, widest), low=low, high=high)


def _strict_pvalues(pairs: PairedScores, margin: float, width: float) -> _OneSidedTests:
    """The tests without their interval, which takes longer."""
    return _OneSidedTests(
        strict_pvalue(pairs, -margin, width),
        strict_pvalue(pairs.swapped(), -margin, width),
        math.nan,
        math.nan,
    )


def _test_means(
    pairs: PairedScores, margin: float, alpha: float, _width: float | None
) -> _OneSidedTests:
    n, mean = pairs.n, pairs.mean
    deviation = pairs.standard_deviation
    if deviation == 0.0:  # the t statistic would be infinite
        return _test_equal_differences(pairs, margin)
    standard_error = deviation / math.sqrt(n)
    reach = float(scipy.special.stdtrit(n - 1, 1 - alpha)) * standard_error
    return _OneSidedTests(
        float(scipy.special.stdtr(n - 1, -(mean + margin) / standard_error)),
        float(scipy.special.stdtr(n - 1, (mean - margin) / standard_error)),
        mean - reach,
        mean + reach,
    )


_METHODS: Mapping[str, Callable[[PairedScores, float, float, float | None], _OneSidedTests]] = {
    "bonett-price": _test_shares,
    "sign-flip": _flip_at_margin,
    STRICT: _test_strictly,
    "t": _test_means,
}
