"""Gwet's AC1, which rare categories do not upset, and its weighted form AC2."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy.typing as npt

from rageval_report.stats.agreement.ratings import (
    Weights,
    agreement_weights,
    chance_corrected,
    rated_pairs,
)
from rageval_report.stats.base import Interval, check_level


def gwet_ac1(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    categories: Iterable[object] | None = None,
    confidence_level: float = 0.95,
) -> Interval:
    """Agreement of two raters beyond chance, where chance is a guess among the categories.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        One rating per query, numbers or names; a query with None or NaN on a side is left out.
    categories : iterable, optional
        All possible ratings; if omitted, those that occur. Their number matters here.
    confidence_level : float
        The confidence level of the interval.

    Returns
    -------
    Interval
        1 if all agree, 0 for agreement by chance.

    Raises
    ------
    DataError
        If nothing was rated by both, or a rating is not among the categories.

    Notes
    -----
    If nearly all queries are of one category, Cohen's kappa falls to 0 although the raters agree on
    most; AC1 does not. With the share pi of each of q categories, chance is the sum of
    pi (1 - pi) over q - 1. The interval is Gwet's, with t.

    References
    ----------
    .. [1] Gwet (2008). Computing inter-rater reliability and its variance in the presence of high
       agreement.

    Examples
    --------
    >>> judge = [1] * 18 + [0, 1]
    >>> people = [1] * 18 + [1, 0]
    >>> round(gwet_ac1(judge, people).estimate, 2)  # Cohen's kappa is -0.05
    0.89
    """
    return gwet_ac2(a, b, None, categories=categories, confidence_level=confidence_level)


def gwet_ac2(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    weights: Weights | None = "quadratic",
    *,
    categories: Iterable[object] | None = None,
    confidence_level: float = 0.95,
) -> Interval:
    """`gwet_ac1` with weights, for ratings on a scale: near ratings agree in part.

    Parameters
    ----------
    a, b, categories, confidence_level
        As in `gwet_ac1`.
    weights : {None, "linear", "quadratic"}
        As in `cohen_kappa`.

    Returns
    -------
    Interval

    Raises
    ------
    DataError, UnknownNameError
        As in `cohen_kappa`.

    Examples
    --------
    >>> round(gwet_ac2([1, 2, 3, 4, 4], [1, 2, 4, 4, 3]).estimate, 2)
    0.86
    """
    level = check_level(confidence_level)
    pairs = rated_pairs(a, b, categories)
    # The agreement by chance divides by q - 1.
    if pairs.q == 1:
        note = "only one category occurs; list all possible ones with categories="
        return Interval(math.nan, math.nan, math.nan, math.nan, "delta", level, (note,))
    weight = agreement_weights(pairs.categories, weights)
    shares = (pairs.shares(pairs.a) + pairs.shares(pairs.b)) / 2.0
    # Without weights this is 1 / (q - 1), the factor of AC1.
    scale = float(weight.sum()) / (pairs.q * (pairs.q - 1))
    chance = scale * float((shares * (1.0 - shares)).sum())
    # The influence of each query on the agreement by chance (Gwet 2008); its mean is 0.
    rest = (1.0 - shares)[pairs.a] + (1.0 - shares)[pairs.b]
    influence = scale * rest - 2.0 * chance
    return chance_corrected(weight[pairs.a, pairs.b], influence, chance, "delta", level)
