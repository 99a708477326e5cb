"""Two runs query by query: both right, both wrong, only the one, only the other."""

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
        The same for the other run, where it differs.

    Returns
    -------
    DataFrame
        Columns of query ids, as long as the longest, padded with None: ``both_correct``,
        ``both_incorrect``, ``only_{name}_correct``, ``only_{other}_correct``. Where there are any,
        also ``unscored`` (common queries on which one run or both cannot be told) and
        ``only_in_{name}``, ``only_in_{other}`` (queries that one run alone has).

    Raises
    ------
    AlignmentError
        If the runs share no query.
    DataError
        If both have one name.
    """
    if evaluation.name == other.name:
        raise DataError(f"both runs are named {other.name!r}; give each its own name")
    pair = align(evaluation.scores.index, other.scores.index)
    if not len(pair.ids):
        raise AlignmentError(f"{evaluation.name!r} and {other.name!r} share no query id")
    ours = correctness(evaluation, correct).reindex(pair.ids)
    theirs = correctness(other, other_correct or correct).reindex(pair.ids)
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
    rows = itertools.zip_longest(*(ids.tolist() for ids in columns.values()))
    return pd.DataFrame(list(rows), columns=list(columns), dtype=object)


def correct_rule_of(run: Scored) -> Correct | None:
    """What a correct answer of a run is: as it was told, else an exact match if there is one.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> correct_rule_of(RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "exact_match": [1]}))
    'exact_match'
    """
    own: Correct | None = getattr(run, "correct_rule", None)
    if own is not None:
        return own
    return next((one.name for one in run.metrics.values() if one.known_as == "exact_match"), None)


def describe_correct_rules(rules: Iterable[tuple[Scored, Correct]]) -> tuple[str, ...]:
    """What a correct answer is, in one sentence, or in one a run where they differ.

    Parameters
    ----------
    rules : iterable of (Scored, Correct)
        The runs, and the rule of each.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> run = RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "faithfulness": [0.9]})
    >>> describe_correct_rules([(run, ("faithfulness", 0.8))])
    ('an answer is right where faithfulness is at least 0.8',)
    """
    told = {run.name: _told(run, rule) for run, rule in rules}
    if len(set(told.values())) <= 1:
        return tuple(f"an answer is right where {one}" for one in dict.fromkeys(told.values()))
    return tuple(f"an answer of {name} is right where {one}" for name, one in told.items())


def _told(run: Scored, rule: Correct) -> str:
    if callable(rule):
        return f"the function {getattr(rule, '__name__', 'given')} says so"
    if isinstance(rule, str):
        return f"{rule} says so" if rule in run.details else _reached(run, rule, None)
    pairs = rule.items() if isinstance(rule, Mapping) else [rule]
    return " and ".join(_reached(run, *pair) for pair in pairs)


def _reached(run: Scored, name: str, threshold: float | None) -> str:
    """A metric and its threshold, or its best score."""
    metric = run.metrics[resolver(run.metrics)(name)]
    if threshold is not None:
        side = "at least" if metric.greater_is_better else "at most"
        return f"{metric.name} is {side} {threshold:g}"
    best = metric.bounds[metric.greater_is_better] if metric.bounds else float("nan")
    return f"{metric.name} is {best:g}"
