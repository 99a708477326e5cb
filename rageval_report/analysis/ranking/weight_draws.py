"""Whether a difference of weighted scores is shown under other weights, too."""

from __future__ import annotations

import numpy as np
import scipy

from rageval_report.stats.base import TIE_TOLERANCE
from rageval_report.stats.units import FEWEST_UNITS
from rageval_report.types import FloatArray


def shown_shares(
    values: FloatArray,
    drawn: FloatArray,
    margin: FloatArray | float,
    *,
    n: int,
    alpha: float = 0.05,
    n_draws: int = 9999,
    seed: int = 0,
) -> tuple[FloatArray, FloatArray]:
    """The share of all weights under which pipelines are shown to be better.

    Parameters
    ----------
    values : ndarray of shape (n_pipelines, n_objectives)
        Higher is better.
    drawn : ndarray of shape (n_resamples, n_pipelines, n_objectives)
        The same on each resample.
    margin : ndarray of shape (n_objectives,), or float
        The difference that is too small to matter, of each objective, or of the score itself.
    n : int
        The number of queries.
    alpha : float
        The error rate of one pair, two-sided.
    n_draws, seed : int
        The random weights, uniform (Dirichlet with all parameters 1).

    Returns
    -------
    tuple of ndarray
        Of shape (n_pipelines, n_pipelines): the row is shown to be better than the column. Of shape
        (n_pipelines,): shown to be better than every other.

    Examples
    --------
    >>> values = np.array([[0.9, 0.5], [0.5, 0.5]])
    >>> drawn = values + np.random.default_rng(0).normal(0, 0.02, (999, 2, 2))
    >>> pairs, alone = shown_shares(values, drawn, 0.0, n=50)
    >>> bool(pairs[0, 1] > 0.8), float(pairs[1, 0]), bool(alone[0] == pairs[0, 1])
    (True, 0.0, True)
    """
    size, n_objectives = values.shape
    pairs, alone = np.zeros((size, size)), np.zeros(size)
    if n < FEWEST_UNITS or len(drawn) < 2:
        return pairs, alone
    weights = np.random.default_rng(seed).dirichlet(np.ones(n_objectives), size=n_draws)
    limits = weights @ margin if isinstance(margin, np.ndarray) else np.full(n_draws, margin)
    # As in `rageval_report.stats.resampled.expanded_limits`.
    critical = scipy.special.stdtrit(n - 1, 1.0 - alpha / 2) * np.sqrt(n / (n - 1))
    is_alone = np.ones((size, n_draws), dtype=bool)
    for i in range(size):
        for j in range(size):
            if i != j:
                gains = drawn[:, i] - drawn[:, j]
                is_shown = _exceeds(weights, values[i] - values[j], gains, limits, critical)
                pairs[i, j] = is_shown.mean()
                is_alone[i] &= is_shown
    return pairs, is_alone.mean(axis=1) if size > 1 else alone


def _exceeds(
    weights: FloatArray, gain: FloatArray, drawn: FloatArray, limits: FloatArray, critical: float
) -> np.ndarray:
    """Whether the weighted gain is shown to exceed the limit, weights by weights."""
    covariance = np.atleast_2d(np.cov(drawn, rowvar=False))
    variance = np.einsum("ri,ij,rj->r", weights, covariance, weights)
    excess = weights @ gain - limits
    is_shown: np.ndarray = excess > critical * np.sqrt(np.maximum(variance, 0.0)) + TIE_TOLERANCE
    return is_shown
