"""Which queries both runs answer correctly, neither, or only one of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

import pandas as pd

from rageval_report.errors import AlignmentError, DataError
from rageval_report.scores import Correct, Scored, correctness, resolver
from rageval_report.scores.align import align


def outcome_table(
    evaluation: Scored,
    other: Scored,
    correct: Correct | None = None,
    *,
    other_correct: Correct | None = None,
) -> pd.DataFrame:
    """The ids of the queries that both, neither, or only one of two runs answers correctly.

    Parameters
    ----------
    evaluation, other : Scored
        Two runs; rows are paired by query id.
    correct : see `correctness`, optional
        What a correct answer is.
    other_correct : see `correctness`, optional
        The same for the other run, if it differs.

    Returns
    -------
    DataFrame
        Columns of query ids, padded with None to the length of the longest: ``both_correct``,
        ``both_incorrect``, ``only_{name}_correct``, ``only_{other}_correct``. If there are any,
        also ``unscored`` (common queries whose correctness is unknown in one run or both) and
        ``only_in_{name}``, ``only_in_{other}`` (queries that only one run has).

    Raises
    ------
    AlignmentError
        If the runs share no query.
    DataError
        If both have the same name.
    """
    # The names are part of the columns' names.
    if evaluation.name == other.name:
        raise DataError(f"both runs are named {other.name!r}; give each its own name")
    pair = align(evaluation.scores.index, other.scores.index)
    if not len(pair.ids):
        raise AlignmentError(f"{evaluation.name!r} and {other.name!r} share no query id")
    ours = correctness(evaluation, correct).reindex(pair.ids)
    theirs = correctness(other, correct if other_correct is None else other_correct).reindex(
        pair.ids
    )
    known = ours.notna() & theirs.notna()
    ours_right, theirs_right = ours.fillna(False), theirs.fillna(False)
    columns = {
        "both_correct": pair.ids[known & ours_right & theirs_right],
        "both_incorrect": pair.ids[known & ~ours_right & ~theirs_right],
        f"only_{evaluation.name}_correct": pair.ids[known & ours_right & ~theirs_right],
        f"only_{other.name}_correct": pair.ids[known & ~ours_right & theirs_right],
    }
    apart = {
        "unscored": pair.ids[~known],
        f"only_in_{evaluation.name}": pair.only_baseline,
        f"only_in_{other.name}": pair.only_candidate,
    }
    columns |= {name: ids for name, ids in apart.items() if len(ids)}
    # Padded here, because pandas would pad with NaN instead of None.
    rows = itertools.zip_longest(*(ids.tolist() for ids in columns.values()))
    return pd.DataFrame(list(rows), columns=list(columns), dtype=object)


def correct_rule_of(run: Scored) -> Correct | None:
    """The rule for a correct answer of a run: its own, else an exact match if there is one.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> correct_rule_of(RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "exact_match": [1]}))
    'exact_match'
    """
    own: Correct | None = getattr(run, "correct_rule", None)
    if own is not None:
        return own
    matches = (metric for metric in run.metrics.values() if metric.known_as == "exact_match")
    return next((metric.name for metric in matches), None)


def describe_correct_rules(rules: Iterable[tuple[Scored, Correct]]) -> tuple[str, ...]:
    """What a correct answer is, in one sentence, or in one per run if the rules differ.

    Parameters
    ----------
    rules : iterable of (Scored, Correct)
        The runs, and the rule of each.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> run = RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "faithfulness": [0.9]})
    >>> describe_correct_rules([(run, ("faithfulness", 0.8))])
    ('an answer is correct if faithfulness is at least 0.8',)
    """
    conditions = {run.name: _condition(run, rule) for run, rule in rules}
    distinct = list(dict.fromkeys(conditions.values()))
    if len(distinct) <= 1:
        return tuple(f"an answer is correct if {condition}" for condition in distinct)
    return tuple(
        f"an answer of {name} is correct if {condition}" for name, condition in conditions.items()
    )


def _condition(run: Scored, rule: Correct) -> str:
    if callable(rule):
        return f"the function {getattr(rule, '__name__', 'given')} says so"
    if isinstance(rule, str):
        return f"{rule} says so" if rule in run.details else _threshold_condition(run, rule, None)
    pairs = rule.items() if isinstance(rule, Mapping) else [rule]
    return " and ".join(_threshold_condition(run, *pair) for pair in pairs)


def _threshold_condition(run: Scored, name: str, threshold: float | None) -> str:
    """That a metric reaches its threshold, or its best score."""
    metric = run.metrics[resolver(run.metrics)(name)]
    if threshold is not None:
        side = "at least" if metric.greater_is_better else "at most"
        return f"{metric.name} is {side} {threshold:g}"
    best = metric.bounds[metric.greater_is_better] if metric.bounds else float("nan")
    return f"{metric.name} is {best:g}"
