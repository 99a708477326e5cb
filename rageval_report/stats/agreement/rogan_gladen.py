"""A share corrected by the judge's known errors: Rogan and Gladen, with a calibration set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy

from rageval_report.errors import DataError
from rageval_report.stats.base import Interval, check_level, finite_values, paired_values
from rageval_report.stats.means.intervals import mean_interval
from rageval_report.types import FloatArray


@dataclass(frozen=True, slots=True)
class JudgeErrors:
    """How often a judge of yes and no is right, counted on queries whose truth is known.

    Parameters
    ----------
    true_positives, positives : int
        The queries that are truly 1, and among them those that the judge called 1.
    true_negatives, negatives : int
        The queries that are truly 0, and among them those that the judge called 0.

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
        truth, verdicts = paired_values(labels, judge)
        _check_binary(truth)
        _check_binary(verdicts)
        is_one = truth == 1.0
        is_right = truth == verdicts
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
    level = check_level(confidence_level)
    verdicts = finite_values(judge)
    _check_binary(verdicts)
    _check_errors(errors, verdicts.size)
    share = float(verdicts.mean())
    raw = (share + errors.specificity - 1.0) / errors.informedness
    estimate = min(max(raw, 0.0), 1.0)
    low, high = _lang_reiczigel_limits(share, verdicts.size, errors, level)
    note = f"cut from {raw:.3g}: the calibrated errors do not fit these queries"
    notes = () if estimate == raw else (note,)
    return Interval(
        estimate,
        # The limits surround an adjusted share, so the estimate itself may lie outside them.
        min(low, estimate),
        max(high, estimate),
        _standard_error(share, verdicts.size, raw, errors),
        "lang-reiczigel",
        level,
        notes,
    )


def error_intervals(
    errors: JudgeErrors, *, confidence_level: float = 0.95
) -> tuple[Interval, Interval]:
    """Sensitivity and specificity, with Wilson's interval.

    Parameters
    ----------
    errors : JudgeErrors
        With at least one query of each kind.
    confidence_level : float
        The confidence level of the intervals.

    Examples
    --------
    >>> sensitivity, _ = error_intervals(JudgeErrors(8, 10, 9, 10))
    >>> sensitivity.estimate, round(sensitivity.low, 2), round(sensitivity.high, 2)
    (0.8, 0.49, 0.94)
    """
    ones = _verdicts(errors.true_positives, errors.positives)
    zeros = _verdicts(errors.true_negatives, errors.negatives)
    sensitivity, specificity = (
        mean_interval(right, method="wilson", confidence_level=confidence_level)
        for right in (ones, zeros)
    )
    return sensitivity, specificity


def _verdicts(right: int, every: int) -> FloatArray:
    return np.repeat([1.0, 0.0], [right, every - right])


def _check_binary(values: FloatArray) -> None:
    if not np.isin(values, (0.0, 1.0)).all():
        other = values[~np.isin(values, (0.0, 1.0))][0]
        raise DataError(
            f"verdicts must be 0, 1 or NaN; got {other:g}: apply a threshold to the scores first"
        )


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


def _standard_error(share: float, n: int, theta: float, errors: JudgeErrors) -> float:
    sensitivity, specificity = errors.sensitivity, errors.specificity
    variance = (
        share * (1.0 - share) / n
        + theta**2 * sensitivity * (1.0 - sensitivity) / errors.positives
        + (1.0 - theta) ** 2 * specificity * (1.0 - specificity) / errors.negatives
    )
    return math.sqrt(variance) / errors.informedness


def _lang_reiczigel_limits(
    share: float, n: int, errors: JudgeErrors, level: float
) -> tuple[float, float]:
    """The limits: one success and one failure more on either side, and a shift for the skew."""
    z = float(scipy.special.ndtri(0.5 + level / 2.0))
    ones, zeros = errors.positives + 2, errors.negatives + 2
    sensitivity = (errors.true_positives + 1) / ones
    specificity = (errors.true_negatives + 1) / zeros
    informed = sensitivity + specificity - 1.0
    # The added success and failure can make a judge that is barely better than a guess worse.
    if informed <= 0:
        return 0.0, 1.0
    # Lang and Reiczigel take the share with Agresti and Coull's z**2 / 2 more ones and zeros.
    apparent = (n * share + z**2 / 2.0) / (n + z**2)
    theta = (apparent + specificity - 1.0) / informed
    of_ones = sensitivity * (1.0 - sensitivity) / ones
    of_zeros = specificity * (1.0 - specificity) / zeros
    shift = 2.0 * z**2 * (theta * of_ones - (1.0 - theta) * of_zeros)
    of_share = apparent * (1.0 - apparent) / (n + z**2)
    spread = math.sqrt(of_share + theta**2 * of_ones + (1.0 - theta) ** 2 * of_zeros)
    reach = z * spread / informed
    low, high = theta + shift - reach, theta + shift + reach
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
