"""The reasons why a score is missing: failed, not applicable and missing are different states.

Scores hold NaN for all three. The details hold the state in the column ``<metric>_state``, if it
says more than NaN does, and the reason in ``<metric>_reason``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rageval_report.scores.metric import normalise_name

SCORED, FAILED, NOT_APPLICABLE, MISSING = "scored", "failed", "not applicable", "missing"
STATES = (SCORED, FAILED, NOT_APPLICABLE, MISSING)

# The endings of the detail columns that belong to a metric, and the column for a failed row.
STATE, REASON, ERROR = "_state", "_reason", "error"
# The ending of the column with the score of each of several judges, as a dict by judge.
VOTES = "_judges"


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, NaT or NA."""
    if isinstance(value, float):  # a NumPy float is one too
        return value != value
    return value is None or value is pd.NA or value is pd.NaT


def states_of(
    scores: ArrayLike, *, applies: ArrayLike | None = None, failed: ArrayLike | None = None
) -> NDArray[np.object_]:
    """The state of each query's score."""
    numbers = np.asarray(scores, dtype=np.float64)
    states = np.full(numbers.shape, MISSING, dtype=object)
    if failed is not None:
        states[np.asarray(failed, dtype=bool)] = FAILED
    if applies is not None:
        states[~np.asarray(applies, dtype=bool)] = NOT_APPLICABLE
    # Last, because a score that exists outweighs every reason for its absence.
    states[~np.isnan(numbers)] = SCORED
    return states


def state_columns(
    name: str,
    states: Iterable[str],
    reasons: Iterable[str | None] | None = None,
) -> dict[str, list[Any]]:
    """The columns of details that say why scores of a metric are missing; no column if needless."""
    state_list, reason_list = list(states), list(reasons or [])
    columns: dict[str, list[Any]] = {}
    # Scored and missing can be told from the numbers alone.
    if not {SCORED, MISSING}.issuperset(state_list):
        columns[f"{name}{STATE}"] = state_list
    if any(reason is not None for reason in reason_list):
        columns[f"{name}{REASON}"] = reason_list
    return columns


def states_frame(scores: pd.DataFrame, details: pd.DataFrame) -> pd.DataFrame:
    """The state of every score.

    Parameters
    ----------
    scores : DataFrame
        One column per metric, NaN where unscored.
    details : DataFrame
        The same index; ``<metric>_state`` holds the states that are known, and in a row with a text
        in ``error`` the unscored metrics failed.

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
        name: _merge_states(
            states_of(numbers, failed=failed), _find_column(details, str(name), STATE), numbers
        )
        for name, numbers in scores.items()
    }
    return pd.DataFrame(columns, index=scores.index)


def not_applicable(numbers: pd.Series, details: pd.DataFrame, name: str) -> NDArray[np.bool_]:
    """Whether a metric does not apply to each query."""
    is_unscored: NDArray[np.bool_] = np.isnan(numbers.to_numpy(dtype=np.float64))
    column = _find_column(details, name, STATE) if is_unscored.any() else None
    if column is None:
        return np.zeros(len(numbers), dtype=bool)
    return is_unscored & column.eq(NOT_APPLICABLE).to_numpy(dtype=bool)


def unscored_reasons(details: pd.DataFrame, name: str) -> pd.Series:
    """The reason why each query has no score of a metric; None if it is not known."""
    errors = _errors(details)
    reasons = _find_column(details, name, REASON)
    return errors if reasons is None else reasons.astype(object).where(reasons.notna(), errors)


def state_column_kind(label: str, others: Collection[str]) -> Literal["state", "reason"] | None:
    """Whether a column holds the states or the reasons of another column; None if neither."""
    if label.endswith(STATE) and label.removesuffix(STATE) in others:
        return "state"
    if label.endswith(REASON) and label.removesuffix(REASON) in others:
        return "reason"
    return None


def _errors(details: pd.DataFrame) -> pd.Series:
    if ERROR not in details:
        return pd.Series([None] * len(details), index=details.index, dtype=object)
    cells = details[ERROR].tolist()
    errors = [cell if isinstance(cell, str) and cell.strip() else None for cell in cells]
    return pd.Series(errors, index=details.index, dtype=object)


def _find_column(details: pd.DataFrame, name: str, ending: str) -> pd.Series | None:
    for label in details:
        if str(label).endswith(ending) and normalise_name(str(label).removesuffix(ending)) == name:
            return details[label]
    return None


def _merge_states(
    derived: NDArray[np.object_], column: pd.Series | None, numbers: pd.Series
) -> NDArray[np.object_]:
    """The states of a column for unscored cells, and the derived states for all others."""
    if column is None:
        return derived
    is_stated = column.isin(STATES).to_numpy() & numbers.isna().to_numpy()
    return np.where(is_stated & (column != SCORED).to_numpy(), column.astype(object), derived)
