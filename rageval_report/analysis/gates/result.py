"""The result of gates: a row a rule, and whether all of them hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import pandas as pd

from rageval_report.analysis.gates.failing_queries import failing_queries
from rageval_report.analysis.gates.rule_outcomes import PASSED, Outcome
from rageval_report.errors import GateError
from rageval_report.results import Result

COLUMNS = (
    *("rule", "figure", "metric", "value", "ci_low", "ci_high", "operator", "threshold"),
    *("n", "n_unscored", "passed", "why", "state", "pipeline", "confidence_level"),
)
HEADLINE = ("rule", "value", "ci_low", "ci_high", "n", "n_unscored", "state")


@dataclass(frozen=True, eq=False, repr=False)
class GateResult(Result):
    """Whether a pipeline holds its gates: one row a rule.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`. The frame's columns: ``rule``, ``figure``, ``metric``, ``value``,
        ``ci_low``, ``ci_high``, ``operator``, ``threshold``, ``n``, ``n_unscored``, ``passed``,
        ``why``, ``state`` ("passed", "failed", "not evaluated"), ``pipeline``, and
        ``confidence_level`` (of the interval, which the rules need not share); against a baseline
        also ``pvalue`` and ``pvalue_adjusted`` of the no_regression rules.
    outcomes : tuple of Outcome
        What became of each rule, with all that it stands on.

    Notes
    -----
    As a truth value it is `passed`, so that ``assert evaluation.gate(...)`` means what it says.
    """

    outcomes: tuple[Outcome, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every rule holds; one that could not be evaluated does not."""
        return bool(self.frame["passed"].all())

    def __bool__(self) -> bool:
        return self.passed

    @property
    def sentences(self) -> tuple[str, ...]:
        """A sentence a rule, those that do not hold in capitals and first."""
        return tuple(
            f"{state if state == PASSED else state.upper()}: {why}"
            for state, why in self._told(self.frame.sort_values("passed", kind="stable"))
        )

    def _told(self, frame: pd.DataFrame) -> list[tuple[str, str]]:
        return list(zip(frame["state"], frame["why"], strict=True))

    def check(self) -> Self:
        """Raise where a rule does not hold; else hand back this result.

        Raises
        ------
        GateError
            It says of each such rule why.
        """
        if self.passed:
            return self
        broken = self.frame[~self.frame["passed"]]
        told = "; ".join(broken["why"])
        raise GateError(f"{len(broken)} of {len(self.frame)} gates do not hold: {told}")

    def failing_queries(self) -> tuple[Result, ...]:
        """For each rule that does not hold the queries to look at, worst first."""
        found = (failing_queries(outcome) for outcome in self.outcomes)
        return tuple(one for one in found if one is not None)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts, with ``passed`` for all rules together."""
        return {**super().to_dict(), "passed": self.passed}


def record(outcome: Outcome) -> dict[str, object]:
    """The row of a rule."""
    asked, found = outcome.asked, outcome.measured
    values = (
        asked.rule.text,
        asked.told_figure,
        None if asked.metric is None else asked.metric.name,
        *(found.value, found.low, found.high, outcome.operator, outcome.threshold),
        *(found.n, found.n_unscored, outcome.passed, outcome.why, outcome.state),
        *(outcome.subject.name, outcome.level),
    )
    return dict(zip(COLUMNS, values, strict=True))
