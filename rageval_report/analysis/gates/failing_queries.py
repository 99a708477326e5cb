"""The queries behind a rule that failed: those that move the figure to the wrong side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from rageval_report.analysis.gates.rule_outcomes import Outcome
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored, normalise_name
from rageval_report.scores.states import MISSING, NOT_APPLICABLE, states_frame, unscored_reasons
from rageval_report.scores.texts import ANSWER, QUESTION, REFERENCE

_OPPOSITE = {">=": "<", ">": "<=", "<=": ">", "<": ">="}
_SIDES: dict[str, tuple[str, Callable[[pd.Series, float], pd.Series]]] = {
    "<": ("below", pd.Series.lt),
    "<=": ("at most", pd.Series.le),
    ">": ("above", pd.Series.gt),
    ">=": ("at least", pd.Series.ge),
}


def failing_queries(outcome: Outcome) -> Result | None:
    """The queries to look at if a rule failed, worst first.

    Parameters
    ----------
    outcome : Outcome
        The outcome of a rule.

    Returns
    -------
    Result or None
        Index ``query_id``; the score, or both scores and their difference; then question, answer
        and reference if the details have them. None if the rule holds, or if no query is to blame
        more than another, as for a standard deviation.
    """
    figure, metric = outcome.request.figure, outcome.request.metric
    if outcome.passed or (figure.queries is None and outcome.is_evaluated):
        return None
    if figure.of == "pair":
        return _regressions(outcome)
    if metric is None:
        return _wrong_answers(outcome) if figure.queries == "wrong answers" else None
    if figure.queries == "unscored" or not outcome.is_evaluated:
        return _unscored_queries(outcome, metric)
    return _scores_beyond(outcome, metric)


def _titled_result(
    outcome: Outcome, description: str, frame: pd.DataFrame, first: Sequence[str]
) -> Result | None:
    n = len(frame)  # not frame.empty, which is also true of a frame of ids without a column
    if not n:
        return None
    title = f"{n} {'query' if n == 1 else 'queries'} {description}"
    texts = [column for column in frame.columns if _is_text(str(column)) and column not in first]
    ordered = frame[[*first, *texts]]
    settings = {"rule": outcome.request.rule.text, "of": outcome.subject.name}
    return Result(title, ordered, settings)


def _is_text(column: str) -> bool:
    name = normalise_name(column)
    return any(
        name == text or name.endswith(f"_{text}") for text in (*QUESTION, *ANSWER, *REFERENCE)
    )


def _regressions(outcome: Outcome) -> Result | None:
    metric, comparison = outcome.request.metric, outcome.subject.comparison
    if metric is None or comparison is None:
        return None
    frame = comparison.regressions(metric.name, outcome.subject.name)
    first = [str(column) for column in frame.columns[:3]]
    return _titled_result(outcome, f"worse on {metric.name}", frame, first)


def _with_details(evaluation: Scored, columns: dict[str, pd.Series]) -> pd.DataFrame:
    """The columns first, then the details that have other names."""
    first = pd.DataFrame(columns, index=evaluation.scores.index)
    rest = evaluation.details[[c for c in evaluation.details.columns if c not in columns]]
    return pd.concat([first, rest], axis=1)


def _wrong_answers(outcome: Outcome) -> Result | None:
    run = outcome.subject.run
    is_correct = run.is_correct()
    if outcome.is_evaluated:
        rows, description = ~is_correct.fillna(value=True), "whose answer is not correct"
    else:
        rows, description = is_correct.isna(), "whose correctness is unknown"
    frame = _with_details(run.evaluation, {})[rows.to_numpy(bool)]
    return _titled_result(outcome, description, frame, ())


def _unscored_queries(outcome: Outcome, metric: Metric) -> Result | None:
    evaluation = outcome.subject.run.evaluation
    scores = evaluation.scores[[metric.name]]
    states = states_frame(scores, evaluation.details)[metric.name]
    reasons = unscored_reasons(evaluation.details, metric.name)
    columns = {"state": states, "reason": reasons.where(reasons.notna(), None)}
    is_unscored = scores[metric.name].isna() & (states != NOT_APPLICABLE)
    frame = _with_details(evaluation, columns)[is_unscored.to_numpy()]
    is_explained = frame["reason"].notna().any() or (frame["state"] != MISSING).any()
    first = list(columns) if is_explained else ()
    return _titled_result(outcome, f"unscored on {metric.name}", frame, first)


def _scores_beyond(outcome: Outcome, metric: Metric) -> Result | None:
    """The scores on the side of which the rule wants fewer, the farthest first."""
    sign = _unwanted_side(outcome)
    if sign is None:
        return None
    side, is_on_side = _SIDES[sign]
    evaluation, numbers = outcome.subject.run.evaluation, outcome.request.numbers
    values = evaluation.scores[metric.name]
    # A share of scores has its cut in the brackets; the threshold of its rule is a share.
    cut = numbers.get("threshold", outcome.threshold)
    frame = _with_details(evaluation, {metric.name: values})[is_on_side(values, cut).to_numpy()]
    ordered = frame.sort_values(metric.name, ascending=sign in ("<", "<="), kind="stable")
    return _titled_result(outcome, f"{side} {cut:g} on {metric.name}", ordered, (metric.name,))


def _unwanted_side(outcome: Outcome) -> str | None:
    """The side of the cut on which the rule wants fewer scores; None if it wants one value."""
    if outcome.operator == "==":
        return None
    wants_less = outcome.operator in ("<=", "<")
    # A small share below the cut is spoilt by the queries below it, a large one by the others.
    if outcome.request.figure.queries == "scores below":
        return "<" if wants_less else ">="
    if outcome.request.figure.queries == "scores above":
        return ">" if wants_less else "<="
    return _OPPOSITE[outcome.operator]
