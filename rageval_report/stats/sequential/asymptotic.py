"""Intervals at every look for scores without bounds, such as latencies and costs."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rageval_report.stats.base import check_integer, check_level, finite_values
from rageval_report.stats.sequential.confidence_sequences import ConfidenceSequence
from rageval_report.types import FloatArray

# The number of scores from which on the interval is given. It is valid only for many scores: with a
# first look at 100 lognormal scores (sigma 1) all limits contained the mean in 92 % of the streams,
# with a first look at 20 in 86 %; see docs/sequential.md.
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


def _means_and_reach(
    scores: FloatArray, alpha: float, planned_n: int
) -> tuple[FloatArray, FloatArray]:
    """The mean after each score, and the distance of the limits from it."""
    count = np.arange(1, scores.size + 1, dtype=np.float64)
    shift = scores[0]  # scores far from zero would lose digits in the squares
    moved = scores - shift
    means = np.cumsum(moved) / count
    variances = np.maximum(np.cumsum(moved**2) / count - means**2, 0.0)
    # The width of the mixture that is best for the planned number, equation 24 of the paper.
    precision = (-2.0 * math.log(alpha) + math.log(1.0 - 2.0 * math.log(alpha))) / planned_n
    growth = count * precision + 1.0
    reach = np.sqrt(
        variances * 2.0 * growth / (count**2 * precision) * np.log(np.sqrt(growth) / alpha)
    )
    return means + shift, reach
