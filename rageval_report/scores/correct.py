"""The answers that a rule calls correct: thresholds, a column of yes and no, a function."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.errors import DataError
from rageval_report.scores.cells import read_cells
from rageval_report.scores.exact_values import plain_value
from rageval_report.scores.metric import Metric, is_binary
from rageval_report.scores.roles.columns import resolver
from rageval_report.scores.table import Scored, join_details
from rageval_report.types import BoolArray

Correct = (
    str
    | tuple[str, float]
    | Mapping[str, float]
    | Callable[[pd.DataFrame], "pd.Series | np.ndarray"]
)

HOW_TO_SAY = (
    "Pass the rule for a correct answer: correct='exact_match', correct=('faithfulness', 0.8), "
    "correct={'faithfulness': 0.8, 'recall@5': 1.0}, the name of a column of booleans, or a "
    "function of the frame of rows."
)


def apply_rule(evaluation: Scored, correct: Correct) -> pd.Series:
    """Whether a rule calls each answer correct.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores and details.
    correct : str, (str, float), mapping of str to float, or callable
        A metric (correct means its best score), a metric and a threshold, thresholds that must all
        hold, a detail column of yes and no, or a function of the frame of scores and details that
        returns one boolean per row.

    Returns
    -------
    Series of boolean, index query_id
        NA if the scores that decide are missing.

    Raises
    ------
    DataError
        If the rule makes no sense.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> scores = {"query_id": ["a", "b", "c"], "faithfulness": [0.9, 0.4, None]}
    >>> apply_rule(RAGPipelineEvaluation("hybrid", scores), ("faithfulness", 0.8)).tolist()
    [True, False, <NA>]
    """
    if callable(correct):
        return _by_function(evaluation, correct)
    if isinstance(correct, Mapping):
        return _by_thresholds(evaluation, correct)
    if isinstance(correct, tuple):
        return _by_threshold(evaluation, *_pair(correct))
    return _by_name(evaluation, str(correct))


def yes_or_no(holds: BoolArray, unknown: BoolArray, index: pd.Index) -> pd.Series:
    """The answers as a Series, NA where they are unknown.

    Examples
    --------
    >>> ids = pd.Index(["a", "b"])
    >>> yes_or_no(np.array([True, True]), np.array([False, True]), ids).tolist()
    [True, <NA>]
    """
    return pd.Series(pd.arrays.BooleanArray(holds, unknown), index=index, name="correct")


def rule_in_words(evaluation: Scored, correct: Correct) -> str:
    """A rule as a report shows it.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> run = RAGPipelineEvaluation("a", {"query_id": ["q"], "recall@5": [1], "latency_ms": [9]})
    >>> rule_in_words(run, {"latency_ms": 2000, "recall@5": 0.5})
    'latency_ms <= 2000 and recall@5 >= 0.5'
    >>> rule_in_words(run, "recall@5")
    'recall@5 = 1'
    """
    if callable(correct):
        return f"the function {getattr(correct, '__name__', 'given')} says so"
    if isinstance(correct, str):
        if correct in evaluation.details.columns:
            return f"{correct} says so"
        metric = evaluation.metrics[resolver(evaluation.metrics)(correct)]
        return f"{metric.name} = {_best_score(metric):g}"
    pairs = correct.items() if isinstance(correct, Mapping) else [correct]
    return " and ".join(_condition(evaluation, *pair) for pair in pairs)


def _condition(evaluation: Scored, name: str, threshold: float) -> str:
    metric = evaluation.metrics[resolver(evaluation.metrics)(name)]
    return f"{metric.name} {'>=' if metric.greater_is_better else '<='} {threshold:g}"


def _pair(correct: tuple[object, ...]) -> tuple[str, float]:
    if len(correct) != 2 or not isinstance(correct[0], str):
        raise DataError(f"correct must be a metric and a threshold; got {correct!r}. {HOW_TO_SAY}")
    return correct[0], _threshold(correct[1])


def _threshold(threshold: object) -> float:
    if isinstance(threshold, Real) and not isinstance(threshold, bool) and math.isfinite(threshold):
        return float(threshold)
    raise DataError(
        f"correct: a threshold must be a finite number; got {threshold!r}. {HOW_TO_SAY}"
    )


def _by_name(evaluation: Scored, name: str) -> pd.Series:
    if name in evaluation.details.columns:
        column = evaluation.details[name]
        if column.map(lambda cell: isinstance(cell, str)).any():
            # A sheet that people filled in says yes and no, and leaves cells blank.
            column = _read_words(column, name)
        return _as_booleans(column, name, evaluation.details.index)
    metric = evaluation.metrics[resolver(evaluation.metrics)(name)]
    return _by_threshold(evaluation, metric.name, _best_score(metric))


def _best_score(metric: Metric) -> float:
    if metric.bounds is None:
        name = metric.name
        raise DataError(f"{name!r} has no best score; pass a threshold: correct=({name!r}, ...)")
    return metric.bounds[metric.greater_is_better]


def _by_threshold(evaluation: Scored, name: str, threshold: float) -> pd.Series:
    metric = evaluation.metrics[resolver(evaluation.metrics)(name)]
    column = evaluation.scores[metric.name]
    values = column.to_numpy(dtype=np.float64)
    holds = values >= threshold if metric.greater_is_better else values <= threshold
    # A missing score is neither correct nor incorrect; a comparison with NaN alone would give
    # False.
    return yes_or_no(holds, np.isnan(values), column.index)


def _by_thresholds(evaluation: Scored, thresholds: Mapping[str, float]) -> pd.Series:
    if not thresholds:
        raise DataError(f"correct must hold at least one threshold; got none. {HOW_TO_SAY}")
    holds = [_by_threshold(evaluation, name, _threshold(t)) for name, t in thresholds.items()]
    result = holds[0]
    for other in holds[1:]:  # three-valued logic: False & NA is False, so one failure decides
        result = result & other
    return result.rename("correct")


def _by_function(evaluation: Scored, rule: Callable[[pd.DataFrame], object]) -> pd.Series:
    rows = join_details(evaluation.scores, evaluation.details)
    answers = rule(rows)
    name = getattr(rule, "__name__", "the function")
    if isinstance(answers, pd.Series) and len(answers) == len(rows):
        # A function may sort; rows that still have their query ids are put back in order.
        has_ids = answers.index.is_unique and rows.index.isin(answers.index).all()
        return _as_booleans(answers.loc[rows.index] if has_ids else answers, name, rows.index)
    values = np.atleast_1d(np.asarray(answers))
    if len(values) != len(rows) or values.ndim > 1:
        raise DataError(
            f"correct: {name} must return one boolean per row ({len(rows)}); it returned "
            f"{' x '.join(map(str, values.shape))}"
        )
    return _as_booleans(pd.Series(values), name, rows.index)


def _as_booleans(column: pd.Series, name: str, index: pd.Index) -> pd.Series:
    present = column.dropna()
    if pd.api.types.is_numeric_dtype(column.dtype) and is_binary(present.to_numpy(dtype=float)):
        booleans = column.astype("Float64").astype("boolean")
    elif present.map(lambda cell: isinstance(cell, bool | np.bool_)).all():
        booleans = column.astype("boolean")
    else:
        raise DataError(f"correct: {name!r} must be true or false for each query. {HOW_TO_SAY}")
    return booleans.set_axis(index).rename("correct")


def _read_words(column: pd.Series, name: str) -> pd.Series:
    numbers = read_cells(column.tolist()).numbers
    is_blank = column.map(lambda cell: isinstance(cell, str) and not cell.strip()) | column.isna()
    if (np.isnan(numbers) & ~is_blank.to_numpy()).any():
        raise DataError(f"correct: {name!r} must be true or false for each query. {HOW_TO_SAY}")
    return pd.Series(numbers, index=column.index)


# -- in files


def correct_fields(correct: Correct | None) -> dict[str, Any]:
    """The rule for a correct answer as fields of a file; a function is only named.

    Examples
    --------
    >>> correct_fields(("faithfulness", 0.8)), correct_fields(None)
    ({'correct': ['faithfulness', 0.8]}, {})
    """
    if correct is None:
        return {}
    if callable(correct):
        return {"correct_function": getattr(correct, "__name__", type(correct).__name__)}
    return {"correct": plain_value(correct)}


def parse_correct(document: Mapping[str, Any]) -> tuple[Correct | None, tuple[str, ...]]:
    """The rule for a correct answer in a file, and a note if the file could not hold it.

    Raises
    ------
    DataError
        If the rule has another shape.

    Examples
    --------
    >>> parse_correct({"correct": ["faithfulness", 0.8]})
    (('faithfulness', 0.8), ())
    """
    if "correct_function" in document:
        note = (
            f"the rule for a correct answer was the function {document['correct_function']!r}, "
            "which a file cannot hold; pass correct=..."
        )
        return None, (note,)
    rule = document.get("correct")
    if rule is None or isinstance(rule, str):
        return rule, ()
    pairs = list(rule.items()) if isinstance(rule, dict) else [rule]
    if not pairs or not all(map(_is_threshold, pairs)):
        raise DataError(f"correct has the wrong shape: {rule!r:.60}")
    return (rule if isinstance(rule, dict) else (rule[0], rule[1])), ()


def _is_threshold(pair: object) -> bool:
    return (
        isinstance(pair, list | tuple)
        and len(pair) == 2
        and isinstance(pair[0], str)
        and type(pair[1]) in (int, float)
    )
