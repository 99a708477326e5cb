"""The queries behind a rule that failed: those that drag the figure to the wrong side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from rageval_report.analysis.gates.rule_outcomes import Outcome
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored, normalised
from rageval_report.scores.states import MISSING, NOT_APPLICABLE, states_frame, unscored_reasons
from rageval_report.scores.texts import ANSWER, QUESTION, REFERENCE

_NOT_OF_QUERIES = frozenset(("std", "n", "ties", "wins"))
_OPPOSITE = {">=": "<", ">": "<=", "<=": ">", "<": ">="}
_SIDES: dict[str, tuple[str, Callable[[np.ndarray, float], np.ndarray]]] = {
    "<": ("below", np.less),
    "<=": ("at most", np.less_equal),
    ">": ("above", np.greater),
    ">=": ("at least", np.greater_equal),
}


def failing_queries(outcome: Outcome) -> Result | None:
    """The queries to look at where a rule failed, worst first.

    Parameters
    ----------
    outcome : Outcome
        What became of a rule.

    Returns
    -------
    Result or None
        Index ``query_id``; the score, or both scores and their difference; then question, answer
        and reference as far as the details have them. None where the rule holds, or no query is to
        blame more than another, as for a standard deviation.
    """
    asked = outcome.asked
    if outcome.passed or (asked.name in _NOT_OF_QUERIES and outcome.is_evaluated):
        return None
    if asked.figure.of == "pair":
        return _regressions(outcome)
    if asked.metric is None:
        return _incorrect(outcome)
    if asked.name == "unscored" or not outcome.is_evaluated:
        return _unscored(outcome, asked.metric)
    return _beyond(outcome, asked.metric)


def _titled(
    outcome: Outcome, told: str, frame: pd.DataFrame, first: Sequence[str]
) -> Result | None:
    n = len(frame)  # a frame of ids alone has no column, and is no empty one
    if not n:
        return None
    title = f"{n} {'query' if n == 1 else 'queries'} {told}"
    texts = [column for column in frame.columns if _is_text(str(column)) and column not in first]
    ordered = frame[[*first, *texts]]
    return Result(title, ordered, {"rule": outcome.asked.rule.text, "of": outcome.subject.name})


def _is_text(column: str) -> bool:
    name = normalised(column)
    return any(
        name == text or name.endswith(f"_{text}") for text in (*QUESTION, *ANSWER, *REFERENCE)
    )


def _regressions(outcome: Outcome) -> Result | None:
    metric, comparison = outcome.asked.metric, outcome.subject.comparison
    if metric is None or comparison is None:
        return None
    frame = comparison.regressions(metric.name, outcome.subject.name)
    return _titled(outcome, f"worse on {metric.name}", frame, [str(c) for c in frame.columns[:3]])


def _with_details(evaluation: Scored, columns: dict[str, pd.Series]) -> pd.DataFrame:
    """The columns first, then the details under other names than theirs."""
    first = pd.DataFrame(columns, index=evaluation.scores.index)
    rest = evaluation.details[[c for c in evaluation.details.columns if c not in columns]]
    return pd.concat([first, rest], axis=1)


def _incorrect(outcome: Outcome) -> Result | None:
    run = outcome.subject.run
    right = run.right()
    wrong = (right.isna() if not outcome.is_evaluated else ~right.fillna(value=True)).to_numpy(bool)
    frame = _with_details(run.evaluation, {})[wrong]
    told = "whose answer is not correct" if outcome.is_evaluated else "of which nobody can tell"
    return _titled(outcome, told, frame, ())


def _unscored(outcome: Outcome, metric: Metric) -> Result | None:
    evaluation = outcome.subject.run.evaluation
    scores = evaluation.scores[[metric.name]]
    states = states_frame(scores, evaluation.details)[metric.name]
    reasons = unscored_reasons(evaluation.details, metric.name)
    columns = {"state": states, "reason": reasons.where(reasons.notna(), None)}
    lacking = scores[metric.name].isna() & (states != NOT_APPLICABLE)
    frame = _with_details(evaluation, columns)[lacking.to_numpy()]
    known = frame["reason"].notna().any() or (frame["state"] != MISSING).any()
    return _titled(outcome, f"unscored on {metric.name}", frame, list(columns) if known else ())


def _beyond(outcome: Outcome, metric: Metric) -> Result | None:
    """The scores on the side that the rule wants fewer of, the farthest first."""
    sign = _unwanted(outcome)
    if sign is None:
        return None
    side, is_there = _SIDES[sign]
    evaluation, numbers = outcome.subject.run.evaluation, outcome.asked.numbers
    values = evaluation.scores[metric.name]
    cut = numbers.get("threshold", outcome.threshold)
    frame = _with_details(evaluation, {metric.name: values})[is_there(values.to_numpy(), cut)]
    ordered = frame.sort_values(metric.name, ascending=sign in ("<", "<="), kind="stable")
    return _titled(outcome, f"{side} {cut:g} on {metric.name}", ordered, (metric.name,))


def _unwanted(outcome: Outcome) -> str | None:
    """The sign of the scores that the rule wants fewer of; None where it wants one value."""
    fewer = outcome.operator in ("<=", "<")
    if outcome.operator == "==":
        return None
    if outcome.asked.name == "share_below":
        return "<" if fewer else ">="
    if outcome.asked.name == "share_above":
        return ">" if fewer else "<="
    return _OPPOSITE[outcome.operator]
