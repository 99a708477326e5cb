"""Whether a rule holds, and the sentence that says why."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from rageval_report.analysis.gates.figures import Measurement
from rageval_report.analysis.gates.rule_resolution import ResolvedRule, Subject
from rageval_report.analysis.sentence_parts import number, pvalue_text
from rageval_report.stats.base import TIE_TOLERANCE
from rageval_report.stats.pairs.equivalence import EquivalenceResult

PASSED, FAILED, NOT_EVALUATED = "passed", "failed", "not evaluated"

_PHRASES = {">=": "at least", ">": "above", "<=": "at most", "<": "below", "==": "equal to"}
_BY_DIRECTION = frozenset(("mean", "median", "min", "max"))


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of a rule.

    Parameters
    ----------
    asked : ResolvedRule
        The rule.
    subject : Subject
        Of whom it was asked.
    measured : Measurement
        What was found.
    test : EquivalenceResult, optional
        Where the rule is a claim of non-inferiority.
    pvalue_adjusted : float
        Its p-value after correction for the other claims.
    family_size : int
        How many claims there are.
    """

    asked: ResolvedRule
    subject: Subject
    measured: Measurement
    test: EquivalenceResult | None = None
    pvalue_adjusted: float = math.nan
    family_size: int = 1

    @property
    def alpha(self) -> float:
        """The error rate of a claim."""
        return round(1.0 - self.subject.run.settings.confidence_level, 12)

    @property
    def operator(self) -> str:
        """The operator, or the one that the claim stands for."""
        return (">" if self._better else "<") if self.asked.is_claim else self.asked.rule.operator

    @property
    def threshold(self) -> float:
        """The threshold, or the one that the claim stands for: minus the margin."""
        if not self.asked.is_claim:
            return self.asked.rule.threshold
        margin = self.asked.numbers["margin"]
        return -margin if self._better else margin

    @property
    def is_evaluated(self) -> bool:
        """Whether there is a value to judge by."""
        return not math.isnan(self.measured.value)

    @property
    def passed(self) -> bool:
        """Whether the rule holds; one that could not be evaluated does not."""
        if not self.is_evaluated:
            return False
        if self.asked.is_claim:
            return self.pvalue_adjusted <= self.alpha
        return holds(self.measured.value, self.operator, self.threshold)

    @property
    def state(self) -> str:
        """In a word: "passed", "failed" or "not evaluated"."""
        if not self.is_evaluated:
            return NOT_EVALUATED
        return PASSED if self.passed else FAILED

    @property
    def straddles(self) -> bool:
        """Whether the threshold lies inside the interval, so that other queries might decide."""
        found = self.measured
        if self.asked.limit or self.asked.is_claim or not self.is_evaluated:
            return False
        return found.low < self.threshold < found.high

    @property
    def why(self) -> str:
        """One sentence: the value, what was asked, and what it stands on."""
        if not self.is_evaluated:
            return f"{self.asked.told} is not evaluated: {self._reason}"
        return self._claim_told if self.asked.is_claim else self._value_told

    @property
    def _better(self) -> bool:
        metric = self.asked.metric
        return metric is None or metric.greater_is_better

    @property
    def _reason(self) -> str:
        found, metric = self.measured, self.asked.metric
        where = "" if metric is None else f" on {metric.name}"
        if found.n:
            few = "1 score gives" if found.n == 1 else f"{found.n} scores give"
            return found.notes[0] if found.notes else f"{few} no such value{where}"
        what = "no query is scored in both runs" if self._is_paired else "nothing is scored"
        return f"{what}{where}{self._unscored_told}"

    @property
    def _is_paired(self) -> bool:
        return self.asked.figure.of == "pair"

    @property
    def _unscored_told(self) -> str:
        n = self.measured.n_unscored
        return f", {n} {'left out' if self._is_paired else 'unscored'}" if n else ""

    @property
    def _value_told(self) -> str:
        value, limit = distinct(self.measured.value, self.threshold)
        negation = "" if self.passed else "not "
        return (
            f"{self.asked.told} is {value}, {negation}{_PHRASES[self.operator]} {limit} "
            f"({self._basis})" + ("; the interval holds the threshold" if self.straddles else "")
        )

    @property
    def _basis(self) -> str:
        n, unit = self.measured.n, "paired" if self._is_paired else "scored"
        return f"{n} {unit}{self._unscored_told}{self._interval_told}"

    @property
    def level(self) -> float:
        """The confidence level of the interval around the value; NaN where there is none.

        A claim is tested on one side, and so has the interval of twice the error rate.
        """
        found = self.measured
        if math.isnan(found.low) and math.isnan(found.high):
            return math.nan
        return round(1 - 2 * self.alpha if self.asked.is_claim else 1 - self.alpha, 12)

    @property
    def _interval_told(self) -> str:
        found = self.measured
        if math.isnan(found.low) or math.isnan(found.high) or self.asked.limit:
            return ""
        return f"; {100 * self.level:g} % CI {number(found.low)} to {number(found.high)}"

    @property
    def _claim_told(self) -> str:
        metric, margin = self.asked.metric, number(self.asked.numbers["margin"])
        shown = "is shown not to be" if self.passed else "is not shown not to be"
        corrected = self.family_size > 1
        kind = f"Holm-adjusted over {self.family_size} rules p" if corrected else "p"
        return (
            f"{self.subject.name} {shown} worse on {metric.name if metric else ''} by {margin} or "
            f"more: difference {number(self.measured.value)} ({self._basis}), {kind} "
            f"{pvalue_text(self.pvalue_adjusted)}"
        )

    def notes(self) -> Iterator[str]:
        """What a reader of the table must know of this rule."""
        if self.straddles:
            yield (
                f"{self.asked.told}: the interval {number(self.measured.low)} to "
                f"{number(self.measured.high)} holds the threshold {self.threshold:g}, so other "
                f"queries might decide otherwise{self._firmer}"
            )
        if self.asked.metric is not None and self._asks_for_bad:
            way = "higher" if self._better else "lower"
            yield f"{self.asked.rule.text}: {way} is better of {self.asked.metric.name}"
        yield from (f"{self.asked.told}: {note}" for note in self.measured.notes)

    @property
    def _firmer(self) -> str:
        """The rule that would ask for the interval instead."""
        if self.operator == "==" or not self.asked.metric:
            return ""
        end = "ci_low" if self.operator in (">=", ">") else "ci_high"
        inner = self.asked.metric.name if self.asked.name == "mean" else self.asked.told
        return f"; {end}({inner}) {self.operator} {self.threshold:g} asks for certainty"

    @property
    def _asks_for_bad(self) -> bool:
        """Whether a rule of scores asks for worse ones; rules of shares and counts may."""
        is_score = self.asked.name in _BY_DIRECTION or self.asked.name[1:].isdigit()
        good = (">=", ">") if self._better else ("<=", "<")
        return is_score and not self.asked.is_claim and self.operator not in (*good, "==")


def holds(value: float, operator: str, threshold: float) -> bool:
    """Whether a value is on the right side of a threshold; what differs by rounding is equal.

    Examples
    --------
    >>> holds(0.1 + 0.2, "<=", 0.3), holds(0.1 + 0.2, ">", 0.3), holds(0.31, "<=", 0.3)
    (True, False, False)
    """
    near = abs(value - threshold) <= TIE_TOLERANCE * max(1.0, abs(value), abs(threshold))
    if operator in (">=", "<=", "=="):
        beyond = {">=": value > threshold, "<=": value < threshold}
        return near or beyond.get(operator, False)
    return not near and (value > threshold if operator == ">" else value < threshold)


def distinct(value: float, threshold: float) -> tuple[str, str]:
    """Both numbers in as few digits as tell them apart.

    Examples
    --------
    >>> distinct(0.7996, 0.8), distinct(0.79996, 0.8), distinct(3.0, 5.0)
    (('0.7996', '0.8'), ('0.79996', '0.8'), ('3', '5'))
    """
    digits = (d for d in range(4, 17) if f"{value:.{d}g}" != f"{threshold:.{d}g}")
    return f"{value:.{next(digits, 4)}g}", f"{threshold:g}"
