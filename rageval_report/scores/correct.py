"""What a correct answer is: a metric that reaches a threshold, several that all do, or a column."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Real

import numpy as np
import pandas as pd

from rageval_report.errors import DataError
from rageval_report.scores.columns import resolver
from rageval_report.scores.metric import is_binary
from rageval_report.scores.table import Scored, beside

Correct = (
    str
    | tuple[str, float]
    | Mapping[str, float]
    | Callable[[pd.DataFrame], "pd.Series | np.ndarray"]
)

_HOW = (
    "Say what a correct answer is: correct='exact_match', correct=('faithfulness', 0.8), "
    "correct={'faithfulness': 0.8, 'recall@5': 1.0}, the name of a column of booleans, or a "
    "function of the frame of rows."
)


def correctness(evaluation: Scored, correct: Correct | None = None) -> pd.Series:
    """Whether each query was answered correctly.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores and details.
    correct : str, (str, float), mapping of str to float, or callable, optional
        A metric (its best score is asked for), a metric and a threshold, thresholds that must all
        hold, a detail column of booleans, or a function of the frame of scores and details that
        gives a boolean a row. Exact match where nothing is said.

    Returns
    -------
    Series of boolean, index query_id
        NA where the scores that decide are missing: neither correct nor incorrect.

    Raises
    ------
    DataError
        If nothing is said and there is no exact match, or the rule makes no sense.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> scores = {"query_id": ["a", "b", "c"], "faithfulness": [0.9, 0.4, None]}
    >>> correctness(RAGPipelineEvaluation("hybrid", scores), ("faithfulness", 0.8)).tolist()
    [True, False, <NA>]
    """
    if correct is None:
        return _by_default(evaluation)
    if callable(correct):
        return _by_function(evaluation, correct)
    if isinstance(correct, Mapping):
        return _by_thresholds(evaluation, correct)
    if isinstance(correct, tuple):
        return _by_threshold(evaluation, *_pair(correct))
    return _by_name(evaluation, str(correct))


def _pair(correct: tuple[object, ...]) -> tuple[str, float]:
    if len(correct) != 2 or not isinstance(correct[0], str):
        raise DataError(f"expected a metric and a threshold; got {correct!r}. {_HOW}")
    return correct[0], _threshold(correct[1])


def _threshold(threshold: object) -> float:
    if isinstance(threshold, Real) and not isinstance(threshold, bool) and math.isfinite(threshold):
        return float(threshold)
    raise DataError(f"a threshold must be a finite number; got {threshold!r}. {_HOW}")


def _by_default(evaluation: Scored) -> pd.Series:
    exact = [
        name for name, metric in evaluation.metrics.items() if metric.known_as == "exact_match"
    ]
    if not exact:
        raise DataError(f"{evaluation.name!r} has no exact match to tell correct answers. {_HOW}")
    return _by_threshold(evaluation, exact[0], 1.0)


def _by_name(evaluation: Scored, name: str) -> pd.Series:
    if name in evaluation.details.columns:
        return _as_booleans(evaluation.details[name], name, evaluation.details.index)
    metric = evaluation.metrics[resolver(evaluation.metrics)(name)]
    if metric.bounds is None:
        raise DataError(f"{name!r} has no best score; give a threshold: correct=({name!r}, ...)")
    return _by_threshold(evaluation, metric.name, metric.bounds[metric.greater_is_better])


def _by_threshold(evaluation: Scored, name: str, threshold: float) -> pd.Series:
    metric = evaluation.metrics[resolver(evaluation.metrics)(name)]
    values = evaluation.scores[metric.name]
    holds = values >= threshold if metric.greater_is_better else values <= threshold
    return holds.astype("boolean").mask(values.isna()).rename("correct")


def _by_thresholds(evaluation: Scored, thresholds: Mapping[str, float]) -> pd.Series:
    if not thresholds:
        raise DataError(f"expected at least one threshold; got none. {_HOW}")
    holds = [_by_threshold(evaluation, name, _threshold(t)) for name, t in thresholds.items()]
    every = holds[0]
    for more in holds[1:]:  # three-valued: one that fails decides, whatever is missing
        every = every & more
    return every.rename("correct")


def _by_function(evaluation: Scored, rule: Callable[[pd.DataFrame], object]) -> pd.Series:
    rows = beside(evaluation.scores, evaluation.details)
    answer = rule(rows)
    name = getattr(rule, "__name__", "the function")
    if isinstance(answer, pd.Series) and len(answer) == len(rows):
        # a function may sort; where its rows are still named by query they are put back
        is_named = answer.index.is_unique and rows.index.isin(answer.index).all()
        return _as_booleans(answer.loc[rows.index] if is_named else answer, name, rows.index)
    values = np.atleast_1d(np.asarray(answer))
    if len(values) != len(rows):
        raise DataError(
            "the function that tells correct answers must give one boolean a row, "
            f"{len(rows)}; it gave {len(values)}"
        )
    return _as_booleans(pd.Series(values), name, rows.index)


def _as_booleans(column: pd.Series, name: str, index: pd.Index) -> pd.Series:
    present = column.dropna()
    if pd.api.types.is_numeric_dtype(column.dtype) and is_binary(present.to_numpy(dtype=float)):
        told = column.astype("Float64").astype("boolean")
    elif present.map(lambda cell: isinstance(cell, bool | np.bool_)).all():
        told = column.astype("boolean")
    else:
        raise DataError(f"{name!r} must say true or false for each query. {_HOW}")
    return told.set_axis(index).rename("correct")
