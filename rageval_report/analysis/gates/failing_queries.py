"""The queries behind a rule that failed: those that move the figure to the wrong side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Self

import pandas as pd

from rageval_report.analysis.gates.columns import GatedRun
from rageval_report.analysis.gates.figures import QueriesBehind
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


@dataclass(frozen=True, eq=False)
class FailingRows:
    """The queries behind a rule, all of them or the worst.

    Parameters
    ----------
    n : int
        The number of all.
    frame : DataFrame, index query_id
        The queries with all columns.
    first : tuple of str
        The columns that come first.
    order : str
        The column by which they are in order; empty if they are in the order of the table.
    ascending : bool
        Whether the smallest comes first.
    """

    n: int
    frame: pd.DataFrame
    first: tuple[str, ...] = ()
    order: str = ""
    ascending: bool = True

    def ordered(self) -> FailingRows:
        """The same in order."""
        if not self.order:
            return self
        frame = self.frame.sort_values(self.order, ascending=self.ascending, kind="stable")
        return replace(self, frame=frame)


@dataclass(frozen=True)
class RowsBehind:
    """Selects the queries behind a rule that failed, of a run or of a part of its queries.

    Parameters
    ----------
    queries : str, optional
        Which queries; see `QueriesBehind`.
    metric : Metric, optional
        The metric of the rule.
    operator : str
        The operator of the rule.
    threshold : float
        Its threshold.
    numbers : mapping of str to float
        Its other arguments.
    is_evaluated : bool
        Whether there was a value to judge by.
    """

    queries: QueriesBehind | None
    metric: Metric | None
    operator: str
    threshold: float
    numbers: Mapping[str, float]
    is_evaluated: bool

    @classmethod
    def of(cls, outcome: Outcome) -> Self:
        """The queries behind the outcome of a rule."""
        request = outcome.request
        return cls(
            *(request.figure.queries, request.metric, outcome.operator, outcome.threshold),
            *(dict(request.numbers), outcome.is_evaluated),
        )

    @property
    def description(self) -> str:
        """What they have in common; empty if no query is to blame more than another."""
        if self.metric is None:
            if self.queries != "wrong answers":
                return ""
            known = "whose answer is not correct"
            return known if self.is_evaluated else "whose correctness is unknown"
        if self.queries == "unscored" or not self.is_evaluated:
            return f"unscored on {self.metric.name}"
        sign = self.unwanted_side()
        return "" if sign is None else f"{_SIDES[sign][0]} {self.cut:g} on {self.metric.name}"

    def __call__(self, run: GatedRun) -> FailingRows:
        """Those of a run."""
        if self.metric is None:
            rows = self._wrong_answers(run)
        elif self.queries == "unscored" or not self.is_evaluated:
            rows = _unscored_queries(run.evaluation, self.metric)
        else:
            rows = self._scores_beyond(run.evaluation, self.metric)
        return rows.ordered()

    def _wrong_answers(self, run: GatedRun) -> FailingRows:
        is_correct = run.is_correct()
        is_wrong = ~is_correct.fillna(value=True) if self.is_evaluated else is_correct.isna()
        frame = _with_details(run.evaluation, {})[is_wrong.to_numpy(bool)]
        return FailingRows(len(frame), frame)

    @property
    def cut(self) -> float:
        """The score at which the wrong side begins."""
        # A share of scores has its cut in the brackets; the threshold of its rule is a share.
        return self.numbers.get("threshold", self.threshold)

    def _scores_beyond(self, evaluation: Scored, metric: Metric) -> FailingRows:
        """The scores on the side of which the rule wants fewer, the farthest first."""
        sign = self.unwanted_side() or "<"
        values = evaluation.scores[metric.name]
        is_beyond = _SIDES[sign][1](values, self.cut).to_numpy()
        frame = _with_details(evaluation, {metric.name: values})[is_beyond]
        return FailingRows(len(frame), frame, (metric.name,), metric.name, sign in ("<", "<="))

    def unwanted_side(self) -> str | None:
        """The side of the cut on which the rule wants fewer scores; None if it wants one value."""
        if self.operator == "==":
            return None
        wants_less = self.operator in ("<=", "<")
        # A small share below the cut is spoilt by the queries below it, a large one by the others.
        if self.queries == "scores below":
            return "<" if wants_less else ">="
        if self.queries == "scores above":
            return ">" if wants_less else "<="
        return _OPPOSITE[self.operator]


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
        more than another, as for a standard deviation. Of a scan the table has the worst 1,000.
    """
    figure = outcome.request.figure
    if outcome.passed or (figure.queries is None and outcome.is_evaluated):
        return None
    if figure.of == "pair":
        return _regressions(outcome)
    behind = RowsBehind.of(outcome)
    if not behind.description:
        return None
    rows: FailingRows | None = outcome.subject.run.select_rows(behind)
    return None if rows is None else _titled_result(outcome, behind.description, rows)


def _titled_result(outcome: Outcome, description: str, rows: FailingRows) -> Result | None:
    n, frame = rows.n, rows.frame
    if not n:
        return None
    title = f"{n} {'query' if n == 1 else 'queries'} {description}"
    texts = [
        column for column in frame.columns if _is_text(str(column)) and column not in rows.first
    ]
    ordered = frame[[*rows.first, *texts]]
    settings = {"rule": outcome.request.rule.text, "of": outcome.subject.name}
    notes = (f"the table has the {len(frame)} worst",) if len(frame) < n else ()
    return Result(title, ordered, settings, notes)


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
    first = tuple(str(column) for column in frame.columns[:3])
    # The comparison of scans gives the largest ones, and the number of all.
    rows = FailingRows(int(frame.attrs.get("n", len(frame))), frame, first)
    return _titled_result(outcome, f"worse on {metric.name}", rows)


def _with_details(evaluation: Scored, columns: dict[str, pd.Series]) -> pd.DataFrame:
    """The columns first, then the details that have other names."""
    first = pd.DataFrame(columns, index=evaluation.scores.index)
    rest = evaluation.details[[c for c in evaluation.details.columns if c not in columns]]
    return pd.concat([first, rest], axis=1)


def _unscored_queries(evaluation: Scored, metric: Metric) -> FailingRows:
    scores = evaluation.scores[[metric.name]]
    states = states_frame(scores, evaluation.details)[metric.name]
    reasons = unscored_reasons(evaluation.details, metric.name)
    columns = {"state": states, "reason": reasons.where(reasons.notna(), None)}
    is_unscored = scores[metric.name].isna() & (states != NOT_APPLICABLE)
    frame = _with_details(evaluation, columns)[is_unscored.to_numpy()]
    is_explained = frame["reason"].notna().any() or (frame["state"] != MISSING).any()
    return FailingRows(len(frame), frame, tuple(columns) if is_explained else ())
