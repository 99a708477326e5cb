"""The result of gates: one row per rule, and whether all of them hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias, get_args

from rageval_report.analysis.gates.failing_queries import failing_queries
from rageval_report.analysis.gates.rule_outcomes import (
    FAILED,
    NOT_EVALUATED,
    PASSED,
    STATES,
    UNDECIDED,
    Outcome,
)
from rageval_report.errors import GateError, check_choice
from rageval_report.results import Result

COLUMNS = (
    *("rule", "figure", "metric", "value", "ci_low", "ci_high", "operator", "threshold"),
    *("n", "n_unscored", "passed", "why", "state", "pipeline", "confidence_level"),
)
UndecidedPolicy: TypeAlias = Literal["fail", "warn", "pass"]
UNDECIDED_POLICIES: tuple[UndecidedPolicy, ...] = get_args(UndecidedPolicy)
# Not 2, which is wrong use.
EXIT_UNDECIDED = 3
HEADLINE = ("rule", "value", "ci_low", "ci_high", "n", "n_unscored", "state")


@dataclass(frozen=True, eq=False, repr=False)
class GateResult(Result):
    """Whether a pipeline passes its gates: one row per rule.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`. The frame's columns: ``rule``, ``figure``, ``metric``, ``value``,
        ``ci_low``, ``ci_high``, ``operator``, ``threshold``, ``n``, ``n_unscored``, ``passed``,
        ``why``, ``state`` ("passed", "failed", "undecided", "not evaluated"), ``pipeline``, and
        ``confidence_level`` (of the interval; rules may differ in it). With a baseline also
        ``pvalue``, ``pvalue_adjusted`` and ``margin_method`` of the no_regression rules.
    outcomes : tuple of Outcome
        The outcome of each rule, with the scores behind it.

    Notes
    -----
    As a truth value it is `passed`, so that ``assert evaluation.gate(...)`` means what it says.
    """

    outcomes: tuple[Outcome, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every rule holds; one that could not be evaluated does not."""
        return bool(self.frame["passed"].all())

    @property
    def state(self) -> str:
        """In a word: "passed", "undecided" if some rules are and no other fails, or "failed"."""
        states = set(self.frame["state"])
        if states & {FAILED, NOT_EVALUATED}:
            return FAILED
        return UNDECIDED if UNDECIDED in states else PASSED

    def exit_code(self, undecided: UndecidedPolicy = "fail") -> int:
        """The exit code of a command: 0 if the gates let pass, 1 if they fail, 3 if undecided.

        Parameters
        ----------
        undecided : {"fail", "warn", "pass"}
            What to do with rules that are neither shown to hold nor shown not to hold: "fail" gives
            3, the others give 0.

        Raises
        ------
        UnknownValueError
            If there is no such policy.
        """
        check_choice("undecided", undecided, UNDECIDED_POLICIES)
        if self.state == UNDECIDED:
            return EXIT_UNDECIDED if undecided == "fail" else 0
        return int(self.state == FAILED)

    def __bool__(self) -> bool:
        return self.passed

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence per rule, those that do not hold first and in capitals."""
        return tuple(
            f"{state if state == PASSED else state.upper()}: {why}"
            for state, why in self._states_and_reasons()
        )

    def _states_and_reasons(self) -> list[tuple[str, str]]:
        frame = self.frame.sort_values("state", kind="stable", key=lambda s: s.map(STATES.index))
        return list(zip(frame["state"], frame["why"], strict=True))

    def check(self) -> Self:
        """Raise an error if a rule does not hold; else return this result.

        Raises
        ------
        GateError
            It says why, for each such rule.
        """
        if self.passed:
            return self
        broken = self.frame[~self.frame["passed"]]
        reasons = "; ".join(broken["why"])
        raise GateError(f"{len(broken)} of {len(self.frame)} gates do not hold: {reasons}")

    def failing_queries(self) -> tuple[Result, ...]:
        """The queries to look at for each rule that does not hold, worst first."""
        results = (failing_queries(outcome) for outcome in self.outcomes)
        return tuple(result for result in results if result is not None)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts, with ``passed`` for all rules together."""
        return {**super().to_dict(), "passed": self.passed}


def gate_row(outcome: Outcome) -> dict[str, object]:
    """The row of a rule."""
    request, measurement = outcome.request, outcome.measurement
    values = (
        request.rule.text,
        request.figure_label,
        None if request.metric is None else request.metric.name,
        *(measurement.value, measurement.low, measurement.high),
        *(outcome.operator, outcome.threshold, measurement.n, measurement.n_unscored),
        *(outcome.passed, outcome.why, outcome.state, outcome.subject.name, outcome.level),
    )
    return dict(zip(COLUMNS, values, strict=True))
