"""Intervals at every look for scores without bounds, such as latencies and costs."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rageval_report.stats.base import (
    Alternative,
    check_alternative,
    check_integer,
    check_level,
    check_probability,
    finite_values,
)
from rageval_report.stats.sequential.confidence_sequences import ConfidenceSequence
from rageval_report.stats.sequential.evalues import to_evalues
from rageval_report.types import FloatArray

# The number of scores from which on the interval is given. It is valid only for many scores: with a
# first look at 100 lognormal scores (sigma 1) all limits contained the mean in 91 % of the streams,
# with a first look at 20 in 86 %, at 400 in 95 %; see docs/sequential.md.
FIRST_LOOK = 100


def asymptotic_sequence(
    values: npt.ArrayLike,
    *,
    planned_n: int = 400,
    first_look: int = FIRST_LOOK,
    confidence_level: float = 0.95,
) -> ConfidenceSequence:
    """The interval of a mean of scores without bounds, which may be looked at after every score.

    It is what the t interval is for one look: valid for many scores of finite variance, too narrow
    for a few with a long tail. Bounded scores have `mean_sequence`, which needs no such trust.

    Parameters
    ----------
    values : array-like of shape (n,)
        Scores, or paired differences, in the order in which they came; NaN is left out.
    planned_n : int
        The number of scores at which the interval is to be narrowest.
    first_look : int
        The number of scores from which on limits are given.
    confidence_level : float
        The probability that the limits contain the mean at all looks together.

    Returns
    -------
    ConfidenceSequence
        With infinite limits before the first look.

    References
    ----------
    .. [1] Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas (2024). Time-uniform central limit theory
           and asymptotic confidence sequences. Annals of Statistics 52:2613-2640, theorem 2.2.

    Examples
    --------
    >>> interval = asymptotic_sequence([1.2, 0.8, 1.9, 0.7] * 50)
    >>> round(interval.estimate, 3), round(interval.low, 3), round(interval.high, 3)
    (1.15, 1.049, 1.252)
    """
    alpha = 1.0 - check_level(confidence_level)
    check_integer("planned_n", planned_n, 1)
    check_integer("first_look", first_look, 2)
    scores = finite_values(values)
    method = f"asymptotic, {planned_n} queries"
    estimate = float(scores.mean()) if scores.size else math.nan
    if scores.size < first_look:
        note = f"no limits before {first_look} scores"
        return ConfidenceSequence(
            estimate, -math.inf, math.inf, scores.size, method, confidence_level, (note,)
        )
    means, reach = _means_and_reach(scores, alpha, planned_n)
    looks = slice(first_look - 1, None)
    return ConfidenceSequence(
        estimate,
        float((means - reach)[looks].max()),
        float((means + reach)[looks].min()),
        scores.size,
        method,
        confidence_level,
    )


def asymptotic_evalues(
    values: npt.ArrayLike,
    mean: float,
    *,
    alternative: Alternative = "two-sided",
    planned_n: int = 400,
    first_look: int = FIRST_LOOK,
    alpha: float = 0.05,
) -> FloatArray:
    """The e-value against a mean of scores without bounds after each score.

    A mean lies within the limits of `asymptotic_sequence` exactly while its two-sided e-value is
    below 1 / alpha, if both are planned alike.

    Parameters
    ----------
    values : array-like of shape (n,)
        Scores, or paired differences, in the order in which they came; NaN is left out.
    mean : float
        The hypothesis.
    alternative : {"two-sided", "greater", "less"}
        "greater": the hypothesis is that the mean is `mean` or less. Then the e-value is 0 as long
        as the scores lie on the other side.
    planned_n, first_look
        As for `asymptotic_sequence`; before the first look the e-value is 0.
    alpha : float
        The error rate for which the e-values are planned; they are valid for every other one.

    Returns
    -------
    ndarray of shape (n,)
        One e-value per score that is present.

    Examples
    --------
    >>> evalues = asymptotic_evalues([1.2, 0.8, 1.9, 0.7] * 50, 1.0, alternative="greater")
    >>> float(evalues[50]), evalues[[99, 199]].round(1)
    (0.0, array([  16.7, 1444.3]))
    """
    check_alternative(alternative)
    scores = finite_values(values)
    if not scores.size:
        return scores
    count, means, variances = _running_moments(scores)
    precision = _precision(
        check_probability("alpha", alpha), check_integer("planned_n", planned_n, 1)
    )
    growth = count * precision + 1.0
    away = means - mean
    # The mixture of a normal bettor, with the variance that was seen. Scores without any spread
    # have shown nothing yet about the spread that others may have.
    with np.errstate(divide="ignore", invalid="ignore"):
        exponent = precision * (count * away) ** 2 / (2.0 * growth * variances)
    logarithms = np.where(variances > 0.0, exponent, 0.0) - np.log(growth) / 2.0
    evalues = to_evalues(logarithms)
    sides = {"greater": away > 0.0, "less": away < 0.0}
    is_seen = count >= check_integer("first_look", first_look, 2)
    return np.where(is_seen & sides.get(alternative, is_seen), evalues, 0.0)


def _running_moments(scores: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The number, the mean and the variance of the scores after each one."""
    count = np.arange(1, scores.size + 1, dtype=np.float64)
    shift = scores[0]  # scores far from zero would lose digits in the squares
    moved = scores - shift
    means = np.cumsum(moved) / count
    variances = np.maximum(np.cumsum(moved**2) / count - means**2, 0.0)
    return count, means + shift, variances


def _precision(alpha: float, planned_n: int) -> float:
    """The width of the mixture that is best for the planned number, equation 24 of the paper."""
    return (-2.0 * math.log(alpha) + math.log(1.0 - 2.0 * math.log(alpha))) / planned_n


def _means_and_reach(
    scores: FloatArray, alpha: float, planned_n: int
) -> tuple[FloatArray, FloatArray]:
    """The mean after each score, and the distance of the limits from it."""
    count, means, variances = _running_moments(scores)
    precision = _precision(alpha, planned_n)
    growth = count * precision + 1.0
    reach = np.sqrt(
        variances * 2.0 * growth / (count**2 * precision) * np.log(np.sqrt(growth) / alpha)
    )
    return means, reach
