"""Cohen's kappa of two raters, plain and weighted; Fleiss' kappa of several."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.stats.agreement.ratings import (
    Weights,
    agreement_weights,
    chance_corrected,
    rated_pairs,
)
from rageval_report.stats.base import Interval, check_level
from rageval_report.types import FloatArray


def cohen_kappa(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    weights: Weights | None = None,
    *,
    categories: Iterable[object] | None = None,
    confidence_level: float = 0.95,
) -> Interval:
    """Agreement of two raters beyond chance, where chance follows each rater's own frequencies.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        One rating per query, numbers or names; a query with None or NaN on a side is left out.
    weights : {None, "linear", "quadratic"}
        None counts only equal ratings; the others count near ratings in part. The distance of two
        numbers is their difference, that of two names the difference of their places.
    categories : iterable, optional
        All possible ratings, in order; if omitted, those that occur.
    confidence_level : float
        The confidence level of the interval.

    Returns
    -------
    Interval
        1 if all agree, 0 for agreement by chance; NaN if both raters used only one category.

    Raises
    ------
    DataError
        If nothing was rated by both, or a rating is not among the categories.
    UnknownNameError
        If there are no such weights.

    Notes
    -----
    If one category is rare, kappa is low however well the raters agree; look at `gwet_ac1` too.
    The interval is the large-sample one of Fleiss, Cohen and Everitt with n - 1 for n, and t.

    References
    ----------
    .. [1] Cohen (1960). A coefficient of agreement for nominal scales.
    .. [2] Fleiss, Cohen & Everitt (1969). Large sample standard errors of kappa and weighted kappa.

    Examples
    --------
    >>> judge = [1, 1, 1, 1, 0, 0, 0, 1, 1, 0]
    >>> people = [1, 1, 1, 0, 0, 0, 0, 1, 1, 1]
    >>> kappa = cohen_kappa(judge, people)
    >>> round(kappa.estimate, 3), round(kappa.low, 3), round(kappa.high, 3)
    (0.583, -0.042, 1.0)
    """
    level = check_level(confidence_level)
    pairs = rated_pairs(a, b, categories)
    weight = agreement_weights(pairs.categories, weights)
    of_a, of_b = pairs.shares(pairs.a), pairs.shares(pairs.b)
    chance = float(of_a @ weight @ of_b)
    # Chance is linear in the shares of each rater, so its mean is subtracted once for each of them.
    influence = (weight @ of_b)[pairs.a] + (weight @ of_a)[pairs.b] - 2.0 * chance
    return chance_corrected(weight[pairs.a, pairs.b], influence, chance, "delta", level)


def fleiss_kappa(counts: npt.ArrayLike, *, confidence_level: float = 0.95) -> Interval:
    """Agreement of several raters beyond chance; the raters may change from query to query.

    Parameters
    ----------
    counts : array-like of shape (n, q)
        How many raters put each query in each category; the same number of raters, at least two,
        for every query.
    confidence_level : float
        The confidence level of the interval.

    Returns
    -------
    Interval

    Raises
    ------
    DataError
        If the counts are not whole numbers, or the number of raters differs between queries.

    Notes
    -----
    The interval is Gwet's, which is valid at any agreement; Fleiss' own standard error is valid
    only without agreement.

    References
    ----------
    .. [1] Fleiss (1971). Measuring nominal scale agreement among many raters.
    .. [2] Gwet (2021). Large-sample variance of Fleiss generalized kappa.

    Examples
    --------
    >>> round(fleiss_kappa([[3, 0], [2, 1], [0, 3], [3, 0]]).estimate, 3)
    0.625
    """
    level = check_level(confidence_level)
    table = _check_counts(counts)
    raters = float(table[0].sum())
    observed = (table * (table - 1.0)).sum(axis=1) / (raters * (raters - 1.0))
    shares = table.mean(axis=0) / raters
    chance = float(shares @ shares)
    # Chance is quadratic in the shares, hence the factor 2 of its derivative.
    influence = 2.0 * (table @ shares / raters - chance)
    return chance_corrected(observed, influence, chance, "delta", level)


def _check_counts(counts: npt.ArrayLike) -> FloatArray:
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2 or not table.size:
        raise DataError(
            "expected one row per query and one column per category; got an array of shape "
            f"{table.shape}"
        )
    if not (np.isfinite(table) & (table >= 0) & (table == np.floor(table))).all():
        raise DataError("counts of raters must be integers >= 0")
    raters = np.unique(table.sum(axis=1))
    if raters.size > 1 or raters[0] < 2:
        raise DataError(
            "Fleiss' kappa needs the same number of raters, at least 2, for every query; got "
            f"{raters[0]:g} to {raters[-1]:g}: leave some out, or use krippendorff_alpha"
        )
    return table
