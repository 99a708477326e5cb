"""P-values of a family of tests, adjusted for how many there are.

Each member of ``CORRECTIONS`` takes an array of p-values without NaN, of shape (n_tests,), and
returns the adjusted ones in the same order. An adjusted value is compared with the level itself.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.stats import CORRECTIONS
from rageval_report.stats._entries import DiscreteCorrection
from rageval_report.types import FloatArray, IndexArray


def adjust_pvalues(
    pvalues: npt.ArrayLike, method: str = "holm", *, smallest: npt.ArrayLike | None = None
) -> FloatArray:
    """Adjust the p-values of a family for their number.

    Parameters
    ----------
    pvalues : array-like
        Of any shape; all of it is one family. NaN is a test that could not be made: it stays NaN
        and does not count.
    method : str
        A member of ``CORRECTIONS``: "holm", "tarone", "hochberg" and "bonferroni" control the
        probability of a single false finding, "bh" and "by" the expected share of false ones among
        the findings, "none" nothing.
    smallest : array-like, optional
        The smallest p-value that each test can have, for "tarone", which is "holm" without it.

    Returns
    -------
    ndarray
        Adjusted p-values, in the shape of `pvalues`.

    Raises
    ------
    UnknownNameError
        If there is no such method.
    DataError
        If a p-value lies outside 0 to 1.

    Examples
    --------
    >>> from rageval_report.stats import adjust_pvalues
    >>> adjust_pvalues([0.01, 0.04, float("nan"), 0.03])
    array([0.03, 0.06,  nan, 0.06])
    """
    member = CORRECTIONS[method]
    family = np.array(pvalues, dtype=np.float64)
    is_test = ~np.isnan(family)
    outside = family[is_test & ~((family >= 0.0) & (family <= 1.0))]
    if outside.size:
        raise DataError(f"p-values must lie between 0 and 1, or be NaN; got {float(outside[0])}")
    if smallest is not None and isinstance(member, DiscreteCorrection):
        floors = np.asarray(smallest, dtype=np.float64)[is_test]
        family[is_test] = member.of_attainable(family[is_test], floors)
    else:
        family[is_test] = member(family[is_test])
    return family


def level_left(n_tests: int, n_shown: int, method: str = "holm", *, alpha: float = 0.05) -> float:
    """The p-value with which one more test would be shown, beside those that are.

    For "holm" the error rate over the number of tests that are not shown.

    Parameters
    ----------
    n_tests : int
        The number of tests of the family.
    n_shown : int
        The number of those that are shown; if all are, the level of the last one.
    method : str
        A member of ``CORRECTIONS``.
    alpha : float
        The error rate.

    Raises
    ------
    UnknownNameError
        If there is no such method.

    Examples
    --------
    >>> from rageval_report.stats.corrections import level_left
    >>> [round(level_left(10, 6, method), 6) for method in ("holm", "bonferroni", "bh", "none")]
    [0.0125, 0.005, 0.035, 0.05]
    """
    place = min(n_shown, n_tests - 1)
    if place < 0:
        return alpha
    # Each correction multiplies a small p-value by a number that does not depend on it.
    probe = alpha * 1e-3 / n_tests**2
    family = np.ones(n_tests)
    family[:place], family[place] = 0.0, probe
    factor = float(adjust_pvalues(family, method)[place]) / probe
    return alpha / max(factor, 1.0)


def keep_uncorrected(pvalues: FloatArray) -> FloatArray:
    """The p-values without a correction; a table that shows them should say so.

    Examples
    --------
    >>> keep_uncorrected(np.array([0.01, 0.04]))
    array([0.01, 0.04])
    """
    return pvalues.copy()


def bonferroni(pvalues: FloatArray) -> FloatArray:
    """Each p-value times the number of tests.

    Examples
    --------
    >>> bonferroni(np.array([0.01, 0.04, 0.6]))
    array([0.03, 0.12, 1.  ])
    """
    return np.minimum(1.0, pvalues.size * pvalues)


def holm(pvalues: FloatArray) -> FloatArray:
    """Bonferroni's correction step by step: the smallest p-value times n, the next times n - 1.

    As safe as Bonferroni's under any dependence, and never less powerful.

    References
    ----------
    .. [1] Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian
           Journal of Statistics 6:65-70.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(pvalues)
    steps = np.arange(pvalues.size, 0, -1) * pvalues[order]
    # The running maximum: a larger p-value must not be adjusted to a smaller one.
    return _restore_order(np.minimum(1.0, np.maximum.accumulate(steps)), order)


def tarone(pvalues: FloatArray, smallest: FloatArray) -> FloatArray:
    """Holm's correction without the tests that cannot be significant at the level in question.

    Each p-value is multiplied by the number of tests, of those not yet passed, whose smallest
    possible p-value does not exceed it. A metric on which hardly any query differs can have no
    small p-value, so it costs the others nothing.

    Notes
    -----
    If p times this number is at most the level, p is too, and so are all smaller p-values; the
    tests that can reach p reject by chance in p of all cases each. So the probability of a false
    finding stays below the level, under any dependence.

    References
    ----------
    .. [1] Tarone (1990). A modified Bonferroni method for discrete data. Biometrics 46:515-522.
    .. [2] Hommel, Krummenauer (1998). Improvements and modifications of Tarone's multiple test
           procedure for discrete data. Biometrics 54:673-681.

    Examples
    --------
    >>> tarone(np.array([0.01, 0.5, 0.03]), np.array([0.001, 0.25, 0.001]))
    array([0.02, 0.5 , 0.03])
    """
    order = np.argsort(pvalues, kind="stable")
    ascending, floors = pvalues[order], smallest[order]
    # Equal but for rounding is reached.
    can_reach = np.triu(floors[np.newaxis, :] <= ascending[:, np.newaxis] * (1.0 + 1e-9))
    steps = np.maximum(can_reach.sum(axis=1), 1) * ascending
    return _restore_order(np.minimum(1.0, np.maximum.accumulate(steps)), order)


def hochberg(pvalues: FloatArray) -> FloatArray:
    """Holm's factors from the largest p-value down; for independent or positively dependent tests.

    References
    ----------
    .. [1] Hochberg (1988). A sharper Bonferroni procedure for multiple tests of significance.
           Biometrika 75:800-802.

    Examples
    --------
    >>> hochberg(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.04, 0.04])
    """
    order = np.argsort(pvalues)
    steps = np.arange(pvalues.size, 0, -1) * pvalues[order]
    # From the largest p-value down: whatever is rejected takes all smaller ones with it.
    return _restore_order(_smallest_from_here(steps), order)


def benjamini_hochberg(pvalues: FloatArray) -> FloatArray:
    """False discovery rate, for independent or positively dependent tests.

    References
    ----------
    .. [1] Benjamini, Hochberg (1995). Controlling the false discovery rate. Journal of the Royal
           Statistical Society B 57:289-300.

    Examples
    --------
    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.04, 0.04])
    """
    order = np.argsort(pvalues)
    steps = pvalues.size / np.arange(1, pvalues.size + 1) * pvalues[order]
    return _restore_order(_smallest_from_here(steps), order)


def benjamini_yekutieli(pvalues: FloatArray) -> FloatArray:
    """False discovery rate under any dependence: Benjamini and Hochberg's times 1 + 1/2 + ... 1/n.

    References
    ----------
    .. [1] Benjamini, Yekutieli (2001). The control of the false discovery rate in multiple testing
           under dependency. Annals of Statistics 29:1165-1188.

    Examples
    --------
    >>> benjamini_yekutieli(np.array([0.01, 0.04]))
    array([0.03, 0.06])
    """
    harmonic = float((1.0 / np.arange(1, pvalues.size + 1)).sum())
    order = np.argsort(pvalues)
    steps = harmonic * pvalues.size / np.arange(1, pvalues.size + 1) * pvalues[order]
    return _restore_order(_smallest_from_here(steps), order)


def _smallest_from_here(steps: FloatArray) -> FloatArray:
    """At each place the smallest value from there to the end, at most 1."""
    return np.minimum(1.0, np.minimum.accumulate(steps[::-1])[::-1])


def _restore_order(ascending: FloatArray, order: IndexArray) -> FloatArray:
    adjusted = np.empty_like(ascending)
    adjusted[order] = ascending
    return adjusted
