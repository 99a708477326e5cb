"""The mean that people would have given to all queries, from few labels and many scores of a judge.

`ppi_mean` takes labels of a random sample of the same queries. `rogan_gladen` takes a judge's error
rates that were counted elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from rageval_report.errors import DataError
from rageval_report.stats import base
from rageval_report.stats.base import Bounds, Interval
from rageval_report.stats.columns import Column, check_bounds
from rageval_report.stats.means import mean_interval
from rageval_report.types import FloatArray

# With fewer labels the tuned weight of the judge is itself too uncertain: fitted on 30 labels, 95 %
# intervals covered 83 to 94 % in simulations.
ENOUGH_TO_TUNE = 100
# With fewer labels and bounds, the judge is used if its interval is shorter by a tenth. Choosing
# after a look at both costs little, because either covers more than it must: of 320 simulated
# populations the worst had a coverage of 94.3 %, and of 93.6 % with no more others than labels.
_SHORTER = 0.9
# The squares of larger scores are beyond what a double can hold.
_LARGEST = 1e150

# Labels, the judge's scores of the labelled queries, the judge's scores of the others.
LabelledSide: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]


@dataclass(frozen=True, slots=True)
class PredictionPowered(Interval):
    """A mean of labels, made more precise by a judge."""

    lam: float = math.nan
    n: int = 0
    n_judged: int = 0


def ppi_mean(
    labels: npt.ArrayLike,
    judge_on_labelled: npt.ArrayLike,
    judge: npt.ArrayLike,
    *,
    lam: float | str = "auto",
    bounds: Bounds | None = None,
    confidence_level: float = 0.95,
) -> PredictionPowered:
    """The mean that people would have given to all queries, from a few labels and a judge.

    Parameters
    ----------
    labels, judge_on_labelled : array-like of shape (n,)
        People's and the judge's scores of the same queries, which must be a random sample of all;
        a query with NaN on a side is left out.
    judge : array-like of shape (n_judged,)
        The judge's scores of the other queries.
    lam : float or "auto"
        The weight of the judge, 0 to 1. "auto" takes the weight of least variance from 100 labels
        on. Fewer cannot determine it well: with them it is 1, but 0 if there are fewer other
        queries than labels, or if with bounds 1 does not make the interval shorter by a tenth at
        least. A judge that always gives the same score has no weight.
    bounds : (float, float), optional
        The smallest and the largest possible score, of people and judge. With them the interval
        counts the errors of the judge that the labels may have missed, and lies within the bounds;
        without them it is too narrow where few labels differ from the judge.
    confidence_level : float
        The confidence level of the interval.

    Returns
    -------
    PredictionPowered
        Without a weight the mean of the labels, with the interval of `mean_interval` if there are
        bounds. With a weight the estimate is unbiased however bad the judge, unless a note says
        that it was moved to a bound; a bad judge makes the interval wide.

    Raises
    ------
    DataError
        If there are fewer than two labels or two other queries, a score is beyond the bounds, or
        `lam` makes no sense.

    Notes
    -----
    ``lam * mean(judge) + mean(labels - lam * judge_on_labelled)``; the variance is the sum of those
    of the two means, the interval Student's t with n - 1 degrees of freedom.

    With bounds the interval, not the estimate, is computed with two more labels that are as wrong
    as the bounds allow, one in each direction. For scores of 0 and 1 and a weight of 1 this is what
    Bonett and Price do for paired shares. If no label differs from the judge's score, the interval
    reaches as far as the bias that so many labels cannot exclude. See docs/validity.md for how
    often it covers.

    References
    ----------
    .. [1] Angelopoulos, Bates, Fannjiang, Jordan & Zrnic (2023). Prediction-powered inference.
    .. [2] Angelopoulos, Duchi & Zrnic (2023). PPI++: efficient prediction-powered inference.
    .. [3] Bonett & Price (2012). Adjusted Wald confidence interval for a difference of binomial
           proportions based on paired data.

    Examples
    --------
    >>> mean = ppi_mean([1, 0, 1, 1], [1, 1, 1, 1], [1, 1, 0, 1, 1, 1, 1, 0, 1, 1])
    >>> round(mean.estimate, 2), mean.lam, mean.method
    (0.55, 1.0, 'ppi')
    """
    level = base.check_level(confidence_level)
    truth, judged = base.paired_values(labels, judge_on_labelled)
    others = base.finite_values(judge)
    if truth.size < 2 or others.size < 2:
        raise DataError(
            "a corrected mean needs at least two labelled queries and two others; got "
            f"{truth.size} with label and judge's score, {others.size} with a judge's score alone"
        )
    _check_scores(bounds, truth, judged, others)
    if lam != "auto" and (isinstance(lam, str) or not 0.0 <= lam <= 1.0):
        raise DataError(f'lam must be a number from 0 to 1, or "auto"; got {lam!r}')
    weight = _tune_weight(truth, judged, others) if lam == "auto" else float(lam)
    group = _group(truth, judged, others, weight, bounds)
    corrected = _corrected([group], weight, truth - judged, bounds, level)
    if bounds is None:
        return corrected
    of_labels = asdict(mean_interval(truth, bounds=bounds, confidence_level=level))
    of_labels["standard_error"] = float(truth.std(ddof=1)) / math.sqrt(truth.size)
    alone = PredictionPowered(**of_labels, lam=0.0, n=truth.size, n_judged=others.size)
    if weight == 0.0:
        return alone
    width, width_alone = corrected.high - corrected.low, alone.high - alone.low
    if lam == "auto" and truth.size < ENOUGH_TO_TUNE and width > _SHORTER * width_alone:
        note = (
            f"{truth.size} labels: corrected by them, the judge's mean would have an interval of "
            f"width {width:.3g}; that of the labels alone is {width_alone:.3g}, so the judge's "
            "scores are not used. Label more queries"
        )
        return replace(alone, notes=(*alone.notes, note))
    return corrected


def ppi_difference(
    baseline: LabelledSide,
    candidate: LabelledSide,
    *,
    lam: float | str = "auto",
    confidence_level: float = 0.95,
) -> PredictionPowered:
    """The mean paired difference that people would have seen, candidate minus baseline.

    Parameters
    ----------
    baseline, candidate : tuple of three array-likes
        Labels, judge's scores of the labelled queries, judge's scores of the others, as in
        `ppi_mean`; both pipelines' queries in the same order.
    lam, confidence_level
        As in `ppi_mean`.

    Returns
    -------
    PredictionPowered

    Raises
    ------
    DataError
        As in `ppi_mean`, or if the sides are of unequal length.

    Notes
    -----
    `ppi_mean` of the differences, query by query: errors of the judge that favour both pipelines
    cancel, and do not widen the interval.

    Examples
    --------
    >>> old = ([0, 0, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1])
    >>> new = ([1, 0, 1, 1], [1, 0, 1, 1], [1, 1, 1, 1])
    >>> ppi_difference(old, new).estimate
    0.5
    """
    parts = []
    for side in zip(baseline, candidate, strict=True):
        before, after = (np.asarray(scores, dtype=np.float64) for scores in side)
        if before.shape != after.shape:
            raise DataError(
                "baseline and candidate must have scores of the same queries in the same order; "
                f"got {before.size} and {after.size}"
            )
        parts.append(after - before)
    labels, judge_on_labelled, judge = parts
    return ppi_mean(labels, judge_on_labelled, judge, lam=lam, confidence_level=confidence_level)


def stratified_ppi_mean(
    labels: npt.ArrayLike,
    judge: npt.ArrayLike,
    strata: npt.ArrayLike,
    *,
    bounds: Bounds | None = None,
    confidence_level: float = 0.95,
) -> PredictionPowered:
    """The mean that people would have given, if the labelled queries were drawn group by group.

    Parameters
    ----------
    labels : array-like of shape (n_queries,)
        People's scores; NaN where there is no label. Within each group the labelled queries must
        be a random sample; between groups their shares may differ.
    judge : array-like of shape (n_queries,)
        The judge's scores of all queries; a query with NaN is left out.
    strata : array-like of shape (n_queries,)
        The group of each query: texts, numbers or other labels.
    bounds : (float, float), optional
        The smallest and the largest possible score, as in `ppi_mean`.
    confidence_level : float
        The confidence level of the interval.

    Returns
    -------
    PredictionPowered
        The mean of the groups' corrected means, weighted by their queries. `lam` is NaN if the
        weights differ between groups.

    Raises
    ------
    DataError
        If a group has fewer than two labels, or a score is beyond the bounds.

    Notes
    -----
    The judge's weight is tuned in each group with 100 labels or more. Elsewhere it is 1, or 0 if
    all its scores are equal, or if the group has fewer other queries than labels. The interval is
    Student's t with Satterthwaite's degrees of freedom.

    References
    ----------
    .. [1] Fisch et al. (2024). Stratified prediction-powered inference for hybrid language model
           evaluation. arXiv 2406.04291.

    Examples
    --------
    >>> labels = [1, 1, 0, 1, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan]
    >>> judge = [1, 1, 0, 0, 1, 1, 1, 1, 0, 0]
    >>> mean = stratified_ppi_mean(labels, judge, judge)
    >>> round(mean.estimate, 2), mean.n, mean.method
    (0.8, 4, 'ppi++ stratified')
    """
    level = base.check_level(confidence_level)
    truth, scores, names = _check_strata(labels, judge, strata)
    known = ~np.isnan(truth)
    _check_scores(bounds, truth[known], scores)
    groups, weights = [], set()
    for name in dict.fromkeys(names.tolist()):
        inside = names == name
        labelled, others = inside & known, inside & ~known
        if labelled.sum() < 2:
            raise DataError(
                f"strata: the group {name!r} has {int(labelled.sum())} labels; each group needs "
                "at least two. Join it with another group, or label more of it"
            )
        parts = truth[labelled], scores[labelled], scores[others]
        # Where (nearly) all queries are labelled, the labels alone have the mean.
        weight = _tune_weight(*parts) if others.sum() >= 2 else 0.0
        weights.add(weight)
        groups.append(_group(*parts, weight, bounds, float(inside.mean())))
    lam = weights.pop() if len(weights) == 1 else math.nan
    return _corrected(groups, lam, truth[known] - scores[known], bounds, level)


def variance_of_rest(
    mean: float, variance: float, n: int, lam: float, bounds: Bounds | None
) -> float:
    """The variance of the mean of ``labels - lam * judge_on_labelled``, for a number of labels."""
    return _with_worst(mean, variance, n, lam, bounds, 1.0)[1]


# -- the parts of a corrected mean


def _group(
    labels: FloatArray,
    judged: FloatArray,
    others: FloatArray,
    lam: float,
    bounds: Bounds | None,
    share: float = 1.0,
) -> tuple[float, ...]:
    """The figures of one group of queries, from its labels and the judge's scores."""
    rest = labels - lam * judged
    mean, variance, n = float(rest.mean()), float(rest.var(ddof=1)), rest.size
    # Without a weight the judge's scores are not used, and there may be none.
    of_judge = lam**2 * float(others.var(ddof=1)) / others.size if lam else 0.0
    whole = lam * float(others.mean()) if lam else 0.0
    # Two labels in all, so that many small groups do not add two each.
    centre, spread = _with_worst(mean, variance, n, lam, bounds, share)
    variance = of_judge + variance / n
    return share, n, others.size, whole + mean, variance, whole + centre, of_judge + spread


def _with_worst(
    mean: float, variance: float, n: int, lam: float, bounds: Bounds | None, weight: float
) -> tuple[float, float]:
    """The mean and its variance, with two numbers of a weight that are as wrong as bounds allow."""
    wrong = np.empty(0)
    if base.are_finite(bounds):
        wrong = np.subtract(bounds, lam * np.flip(bounds))
    total = n + weight * wrong.size
    centre = (n * mean + weight * float(wrong.sum())) / total
    squares = (n - 1) * variance + n * (mean - centre) ** 2
    squares += weight * float(((wrong - centre) ** 2).sum())
    return centre, squares / (total - 1.0) / total


def _corrected(
    groups: Sequence[tuple[float, ...]],
    lam: float,
    errors: FloatArray,
    bounds: Bounds | None,
    level: float,
) -> PredictionPowered:
    """The corrected mean of all groups; `errors` are the labels minus the judge's scores."""
    share, n, n_judged, estimates, variances, centres, spreads = np.array(groups).T
    n_labels, n_all = int(n.sum()), int((n + n_judged).sum())
    estimate, centre = float(share @ estimates), float(share @ centres)
    # Other queries would be spread over the groups otherwise.
    of_shares = float(share @ (estimates - estimate) ** 2) / n_all
    error = math.sqrt(float(share**2 @ variances) + of_shares)
    parts, df = np.append(share**2 * spreads, of_shares), np.append(n, n_all) - 1.0
    # Satterthwaite's degrees of freedom; of one group n - 1.
    freedom = float(parts.sum() ** 2 / (parts**2 / df).sum() if parts.any() else df.sum())
    reach = float(stdtrit(freedom, 0.5 + level / 2.0)) * math.sqrt(float(parts.sum()))
    least = _unseen(errors, bounds, level)
    low, high = min(centre - reach, estimate - least), max(centre + reach, estimate + least)
    on_scale = np.clip((estimate, low, high), *(bounds or (-math.inf, math.inf))).tolist()
    notes = []
    if n_labels < 10:
        notes.append(f"{n_labels} labels: fewer than 10 say little, however good the judge is")
    if on_scale[0] != estimate:
        notes.append(
            f"{n_labels} labels correct the judge's mean to {estimate:.3f}, beyond the scale, so "
            f"{on_scale[0]:g}, the nearest value of the scale, stands for it; label more queries"
        )
    method = ("ppi" if lam == 1.0 else "ppi++") + (" stratified" if len(groups) > 1 else "")
    estimate, low, high = on_scale
    counts = (lam, n_labels, n_all - n_labels)
    return PredictionPowered(estimate, low, high, error, method, level, tuple(notes), *counts)


def _unseen(errors: FloatArray, bounds: Bounds | None, level: float) -> float:
    """The bias that labels which all equal the judge's scores cannot exclude; 0 if one differs."""
    if not base.are_finite(bounds) or (np.abs(errors) > base.TIE_TOLERANCE).any():
        return 0.0
    share = -math.expm1(math.log((1.0 - level) / 2.0) / errors.size)
    return share * (bounds[1] - bounds[0])


def _tune_weight(labels: FloatArray, judged: FloatArray, others: FloatArray) -> float:
    """The weight of least variance (PPI++); 1 if there are too few labels for it."""
    every, n = np.concatenate([judged, others]), labels.size
    if np.ptp(every) <= base.TIE_TOLERANCE * max(1.0, float(np.abs(every).max())):
        return 0.0  # a judge that always gives the same score adds no information
    if n < ENOUGH_TO_TUNE:
        # The mean of fewer others adds more noise than even a perfect judge takes away.
        return 1.0 if others.size >= n else 0.0
    # The weight of PPI++; the noise of a sample can put it outside the 0 to 1 that `lam` allows.
    covariance = float(np.cov(labels, judged, ddof=1)[0, 1])
    weight = covariance / ((1.0 + n / others.size) * float(every.var(ddof=1)))
    return min(max(weight, 0.0), 1.0)


# -- checks


def _check_scores(bounds: Bounds | None, *scores: FloatArray) -> None:
    every = np.concatenate(scores)
    if every.size and (largest := float(np.abs(every).max())) > _LARGEST:
        raise DataError(f"scores must lie within +-{_LARGEST:g} to have a variance; got {largest}")
    if bounds is not None:
        check_bounds(Column.of(every), bounds)


def _check_strata(
    labels: npt.ArrayLike, judge: npt.ArrayLike, strata: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, npt.NDArray[Any]]:
    """Labels, scores and groups of the queries that the judge scored."""
    truth, scores = np.asarray(labels, np.float64), np.asarray(judge, np.float64)
    groups = strata if isinstance(strata, np.ndarray) else np.asarray(strata, dtype=object)
    if not truth.shape == scores.shape == groups.shape or truth.ndim != 1:
        raise DataError(
            "labels, judge and strata must be of equal length; got the shapes "
            f"{truth.shape}, {scores.shape} and {groups.shape}"
        )
    judged = ~np.isnan(scores)
    return truth[judged], scores[judged], groups[judged]


# -- a judge whose errors were counted elsewhere


@dataclass(frozen=True, slots=True)
class JudgeErrors:
    """How often a judge of yes and no is right, counted on queries whose truth is known.

    Parameters
    ----------
    true_positives, positives : int
        Queries that are truly 1 and that the judge called 1, and all queries that are truly 1.
    true_negatives, negatives : int
        Queries that are truly 0 and that the judge called 0, and all queries that are truly 0.

    Examples
    --------
    >>> errors = JudgeErrors(true_positives=45, positives=50, true_negatives=40, negatives=50)
    >>> errors.sensitivity, errors.specificity, round(errors.informedness, 3)
    (0.9, 0.8, 0.7)
    """

    true_positives: int
    positives: int
    true_negatives: int
    negatives: int

    def __post_init__(self) -> None:
        right = ((self.true_positives, self.positives), (self.true_negatives, self.negatives))
        for n_right, n in right:
            if not 0 <= n_right <= n or int(n_right) != n_right or int(n) != n:
                raise DataError(
                    "counts must be integers >= 0, and the judge cannot be right more often than "
                    f"there are queries; got {n_right} of {n}"
                )

    @classmethod
    def of(cls, labels: npt.ArrayLike, judge: npt.ArrayLike) -> Self:
        """The counts of the truth and the judge's verdicts, 0 or 1; NaN is left out.

        Raises
        ------
        DataError
            If a value is neither 0 nor 1.

        Examples
        --------
        >>> JudgeErrors.of([1, 1, 0, 0, 1], [1, 0, 0, 0, float("nan")])
        JudgeErrors(true_positives=1, positives=2, true_negatives=2, negatives=2)
        """
        truth, verdicts = map(_check_binary, base.paired_values(labels, judge))
        is_one, is_right = truth == 1.0, truth == verdicts
        cells = (is_right & is_one, is_one, is_right & ~is_one, ~is_one)
        return cls(*(int(cell.sum()) for cell in cells))

    @property
    def sensitivity(self) -> float:
        """The share of true ones that the judge calls 1; NaN if there is none."""
        return self.true_positives / self.positives if self.positives else math.nan

    @property
    def specificity(self) -> float:
        """The share of true zeros that the judge calls 0; NaN if there is none."""
        return self.true_negatives / self.negatives if self.negatives else math.nan

    @property
    def informedness(self) -> float:
        """Sensitivity + specificity - 1: 0 for a judge that guesses."""
        return self.sensitivity + self.specificity - 1.0


def rogan_gladen(
    judge: npt.ArrayLike, errors: JudgeErrors, *, confidence_level: float = 0.95
) -> Interval:
    """The true share of ones among queries that only the judge has scored.

    Parameters
    ----------
    judge : array-like of shape (n,)
        The judge's verdicts, 0 or 1; NaN is left out.
    errors : JudgeErrors
        How often the judge is right, counted on other queries. The share of ones may differ there;
        `ppi_mean` needs a random sample of the same queries.
    confidence_level : float
        The confidence level of the interval.

    Returns
    -------
    Interval
        Between 0 and 1. The standard error is that of the delta method.

    Raises
    ------
    DataError
        If a verdict is neither 0 nor 1, nothing is judged, the calibration lacks ones or zeros,
        or the judge is no better there than a guess.

    Notes
    -----
    ``(share + specificity - 1) / (sensitivity + specificity - 1)``, cut to 0 and 1, with the
    interval of Lang and Reiczigel. If the labels come from the queries themselves, `ppi_mean` is
    narrower, by a factor of 1.3 to 3.6 in simulations.

    References
    ----------
    .. [1] Rogan & Gladen (1978). Estimating prevalence from the results of a screening test.
    .. [2] Lang & Reiczigel (2014). Confidence limits for prevalence of disease adjusted for
       estimated sensitivity and specificity.

    Examples
    --------
    >>> errors = JudgeErrors(true_positives=45, positives=50, true_negatives=40, negatives=50)
    >>> share = rogan_gladen([1] * 62 + [0] * 38, errors)
    >>> round(share.estimate, 3), round(share.low, 3), round(share.high, 3)
    (0.6, 0.427, 0.772)
    """
    level = base.check_level(confidence_level)
    verdicts = _check_binary(base.finite_values(judge))
    _check_errors(errors, verdicts.size)
    share, n = float(verdicts.mean()), verdicts.size
    raw, error, _ = _true_share(share, n, errors)
    estimate = min(max(raw, 0.0), 1.0)
    # Lang and Reiczigel: one success and one failure more of either kind, Agresti and Coull's
    # z**2 / 2 more ones and zeros, and a shift for the skew.
    z = float(ndtri(0.5 + level / 2.0))
    counts = (errors.true_positives, errors.positives, errors.true_negatives, errors.negatives)
    adjusted = JudgeErrors(*np.add(counts, (1, 2, 1, 2)).tolist())
    low, high = 0.0, 1.0
    # The added success and failure can make a judge that is barely better than a guess worse.
    if adjusted.informedness > 0:
        apparent = (n * share + z**2 / 2.0) / (n + z**2)
        centre, spread, skew = _true_share(apparent, n + z**2, adjusted)
        ends = np.add(centre + 2.0 * z**2 * skew, (-z * spread, z * spread))
        # They surround an adjusted share, so the estimate itself may lie outside them.
        low, high = np.clip(ends, (0.0, estimate), (estimate, 1.0)).tolist()
    note = f"cut from {raw:.3g}: the calibrated errors do not fit these queries"
    notes = () if estimate == raw else (note,)
    return Interval(estimate, low, high, error, "lang-reiczigel", level, notes)


def _true_share(share: float, n: float, errors: JudgeErrors) -> tuple[float, float, float]:
    """The share of true ones, its standard error, and how much more the ones make of it."""
    true = (share + errors.specificity - 1.0) / errors.informedness
    of_ones = errors.sensitivity * (1.0 - errors.sensitivity) / errors.positives
    of_zeros = errors.specificity * (1.0 - errors.specificity) / errors.negatives
    variance = share * (1.0 - share) / n + true**2 * of_ones + (1.0 - true) ** 2 * of_zeros
    skew = true * of_ones - (1.0 - true) * of_zeros
    return true, math.sqrt(variance) / errors.informedness, skew


def _check_binary(verdicts: FloatArray) -> FloatArray:
    other = verdicts[(verdicts != 0.0) & (verdicts != 1.0)]
    if other.size:
        raise DataError(
            f"verdicts must be 0, 1 or NaN; got {other[0]:g}: apply a threshold to the scores first"
        )
    return verdicts


def _check_errors(errors: JudgeErrors, n: int) -> None:
    if not n:
        raise DataError("verdicts must hold at least one verdict of the judge; got none")
    if not (errors.positives and errors.negatives):
        raise DataError(
            "errors must be counted on queries of both kinds; got "
            f"{errors.positives} true ones and {errors.negatives} true zeros"
        )
    if errors.informedness <= 0:
        raise DataError(
            "the judge is not better than a guess: sensitivity "
            f"{errors.sensitivity:.3g} and specificity {errors.specificity:.3g} sum to 1 or less"
        )
