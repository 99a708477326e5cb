"""Why a score is not there: failed, not applicable and missing are kept apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

SCORED, FAILED, NOT_APPLICABLE, MISSING = "scored", "failed", "not applicable", "missing"


def states_of(
    scores: ArrayLike, *, applies: ArrayLike | None = None, failed: ArrayLike | None = None
) -> NDArray[np.object_]:
    """The state of each query's score.

    Parameters
    ----------
    scores : array-like of shape (n_queries,)
        NaN where unscored.
    applies : array-like of bool, optional
        Whether the metric is about the query at all; all of them where not given.
    failed : array-like of bool, optional
        Whether the pipeline failed on the query; none of them where not given.

    Returns
    -------
    ndarray of str
        "scored", "failed", "not applicable" or "missing". What the metric is not about is not
        applicable even if it failed.

    Examples
    --------
    >>> nan = float("nan")
    >>> states_of([1.0, nan, nan], applies=[True, False, True]).tolist()
    ['scored', 'not applicable', 'missing']
    """
    numbers = np.asarray(scores, dtype=np.float64)
    states = np.full(numbers.shape, MISSING, dtype=object)
    if failed is not None:
        states[np.asarray(failed, dtype=bool)] = FAILED
    if applies is not None:
        states[~np.asarray(applies, dtype=bool)] = NOT_APPLICABLE
    states[~np.isnan(numbers)] = SCORED
    return states
