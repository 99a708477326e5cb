"""Why a score is not there: failed, not applicable and missing are kept apart.

Scores hold NaN for all three. The details say which: the column ``<metric>_state``, where it says
more than NaN does, and ``<metric>_reason``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rageval_report.scores.metric import normalised

SCORED, FAILED, NOT_APPLICABLE, MISSING = "scored", "failed", "not applicable", "missing"
STATES = (SCORED, FAILED, NOT_APPLICABLE, MISSING)

# The endings of the columns of details that belong to a metric, and the column of a whole row.
STATE, REASON, ERROR = "_state", "_reason", "error"


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


def with_states(
    name: str,
    states: Iterable[str],
    reasons: Iterable[str | None] | None = None,
) -> dict[str, list[Any]]:
    """The columns of details that say why scores of a metric are missing; none where none is.

    Parameters
    ----------
    name : str
        The metric's.
    states : iterable of str
        A state a query.
    reasons : iterable of str or None, optional
        Why a score is missing, or what a judge said of it.

    Examples
    --------
    >>> with_states("recall", ["scored", "failed"], [None, "timeout"])
    {'recall_state': ['scored', 'failed'], 'recall_reason': [None, 'timeout']}
    >>> with_states("recall", ["scored", "missing"])
    {}
    """
    told, why = list(states), list(reasons or [])
    found: dict[str, list[Any]] = {}
    if not {SCORED, MISSING}.issuperset(told):
        found[f"{name}{STATE}"] = told
    if any(reason is not None for reason in why):
        found[f"{name}{REASON}"] = why
    return found


def states_frame(scores: pd.DataFrame, details: pd.DataFrame) -> pd.DataFrame:
    """The state of every score.

    Parameters
    ----------
    scores : DataFrame
        A column a metric, NaN where unscored.
    details : DataFrame
        The same index; ``<metric>_state`` says it where somebody knew, and where a row has a text
        in ``error`` its unscored metrics failed.

    Returns
    -------
    DataFrame of str
        Index and columns of `scores`.

    Examples
    --------
    >>> scores = pd.DataFrame({"recall": [1.0, None, None]})
    >>> details = pd.DataFrame({"error": [None, "timeout", None]})
    >>> states_frame(scores, details)["recall"].tolist()
    ['scored', 'failed', 'missing']
    """
    failed = _errors(details).notna().to_numpy()
    columns = {
        name: _told(states_of(numbers, failed=failed), _column(details, str(name), STATE), numbers)
        for name, numbers in scores.items()
    }
    return pd.DataFrame(columns, index=scores.index)


def unscored_reasons(details: pd.DataFrame, name: str) -> pd.Series:
    """Why each query has no score of a metric, as far as somebody knew; else None.

    Examples
    --------
    >>> unscored_reasons(pd.DataFrame({"recall_reason": ["timeout", None]}), "recall").tolist()
    ['timeout', None]
    """
    errors = _errors(details)
    told = _column(details, name, REASON)
    return errors if told is None else told.astype(object).where(told.notna(), errors)


def is_state_column(label: str, others: Collection[str]) -> bool:
    """Whether a column says why scores of another column are missing, or what was said of them.

    Examples
    --------
    >>> is_state_column("recall_state", ["recall"]), is_state_column("solid_state", ["recall"])
    (True, False)
    """
    return any(
        label.endswith(ending) and label.removesuffix(ending) in others
        for ending in (STATE, REASON)
    )


def _errors(details: pd.DataFrame) -> pd.Series:
    if ERROR not in details:
        return pd.Series([None] * len(details), index=details.index, dtype=object)
    errors = details[ERROR]
    told = [one if isinstance(one, str) and one.strip() else None for one in errors.tolist()]
    return pd.Series(told, index=details.index, dtype=object)


def _column(details: pd.DataFrame, name: str, ending: str) -> pd.Series | None:
    for label in details:
        if str(label).endswith(ending) and normalised(str(label).removesuffix(ending)) == name:
            return details[label]
    return None


def _told(
    derived: NDArray[np.object_], column: pd.Series | None, numbers: pd.Series
) -> NDArray[np.object_]:
    """What a column says of unscored cells goes before what was derived; a score is scored."""
    if column is None:
        return derived
    says = column.isin(STATES).to_numpy() & numbers.isna().to_numpy()
    return np.where(says & (column != SCORED).to_numpy(), column.astype(object), derived)
