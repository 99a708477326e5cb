"""Whether a rule holds, and the sentence that says why."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from rageval_report.analysis.gates.columns import Measurement
from rageval_report.analysis.gates.rule_resolution import RuleRequest, Subject
from rageval_report.analysis.paired_metric import interval_name
from rageval_report.reports.sentences import number, pvalue_text, rounded_count
from rageval_report.stats.base import TIE_TOLERANCE
from rageval_report.stats.equivalence import EquivalenceResult

PASSED, FAILED, NOT_EVALUATED = "passed", "failed", "not evaluated"
# Neither shown to hold nor shown not to hold: more queries would decide.
UNDECIDED = "undecided"
# The worst first, as a reader looks at them.
STATES = (FAILED, NOT_EVALUATED, UNDECIDED, PASSED)
# More queries than this are not a plan.
_MOST_QUERIES_NAMED = 1_000_000

_PHRASES = {">=": "at least", ">": "above", "<=": "at most", "<": "below", "==": "equal to"}


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of one rule on one pipeline.

    Parameters
    ----------
    request : RuleRequest
        What the rule asks for.
    subject : Subject
        The pipeline.
    measurement : Measurement
        The value.
    test : EquivalenceResult, optional
        The test, if the rule is a claim of non-inferiority.
    pvalue_adjusted : float
        Its p-value after correction for the other claims.
    family_size : int
        The number of claims.
    """

    request: RuleRequest
    subject: Subject
    measurement: Measurement
    test: EquivalenceResult | None = None
    pvalue_adjusted: float = math.nan
    family_size: int = 1

    @property
    def alpha(self) -> float:
        """The error rate of a claim."""
        # Rounded, because 1 - 0.95 is 0.050000000000000044.
        return round(1.0 - self.subject.run.settings.confidence_level, 12)

    @property
    def operator(self) -> str:
        """The operator of the rule, or the one that the claim implies."""
        if self.request.is_claim:
            return ">" if self._greater_is_better else "<"
        return self.request.rule.operator

    @property
    def threshold(self) -> float:
        """The threshold of the rule, or the one that the claim implies: minus the margin."""
        if not self.request.is_claim:
            return self.request.rule.threshold
        margin = self.request.numbers["margin"]
        return -margin if self._greater_is_better else margin

    @property
    def is_evaluated(self) -> bool:
        """Whether there is a value to judge by."""
        return not (self.measurement.undecidable or math.isnan(self.measurement.value))

    @property
    def passed(self) -> bool:
        """Whether the rule holds; one that could not be evaluated does not."""
        if not self.is_evaluated:
            return False
        if self.request.is_claim:
            return self.pvalue_adjusted <= self.alpha
        # No interval of zero width opens a gate: equal values do not show how much others differ.
        return self._is_on_the_right_side and not self._lacks_spread

    @property
    def _is_on_the_right_side(self) -> bool:
        return holds(self.measurement.value, self.operator, self.threshold)

    @property
    def _lacks_spread(self) -> bool:
        """Whether the rule is on a limit of an interval that equal values leave without width."""
        return bool(self.request.limit and self.measurement.without_spread)

    @property
    def state(self) -> str:
        """In a word: "passed", "failed", "undecided" or "not evaluated"."""
        if not self.is_evaluated:
            return NOT_EVALUATED
        if self.passed:
            return PASSED
        return UNDECIDED if self._may_hold else FAILED

    @property
    def _may_hold(self) -> bool:
        """Whether a rule that asks for certainty is not shown to hold, nor shown not to hold.

        A rule on a value, such as a mean, asks for the value of these queries, which is known.
        """
        if self.request.is_claim:
            return not self._is_worse
        if not self.request.limit:
            return False
        if self._lacks_spread:
            return self._is_on_the_right_side
        low, high = self.measurement.low, self.measurement.high
        other = high if self.request.limit == "ci_low" else low
        return holds(other, self.operator, self.threshold)

    @property
    def _more_to_decide(self) -> str:
        """How many more queries would decide if the value stays as it is.

        The reach of an interval shrinks with the root of the number of queries, until the threshold
        is outside it.
        """
        value, low, high = self._estimate, self.measurement.low, self.measurement.high
        gap = abs(value - self.threshold)
        reach = value - low if value > self.threshold else high - value
        n = self.measurement.n
        if not (gap > 0.0 and math.isfinite(reach)):
            return "no number of queries decides if the value stays at the threshold"
        more = n * ((reach / gap) ** 2 - 1.0)
        if more <= 0.0:
            return "without the correction for the other rules it would pass"
        if more > _MOST_QUERIES_NAMED:
            return "over a million more queries would decide if the value stays"
        return f"about {rounded_count(max(1, math.ceil(more)))} more queries would decide"

    @property
    def _estimate(self) -> float:
        """The value itself, also where the rule is on a limit of its interval."""
        measurement = self.measurement
        return measurement.estimate if self.request.limit else measurement.value

    @property
    def straddles(self) -> bool:
        """Whether the threshold lies inside the interval, so that other queries might decide."""
        # A rule on a limit, and a claim, take the uncertainty into account already.
        if self.request.limit or self.request.is_claim or not self.is_evaluated:
            return False
        return self.measurement.low < self.threshold < self.measurement.high

    @property
    def why(self) -> str:
        """One sentence: the value, the threshold, and the scores behind it."""
        if not self.is_evaluated:
            return f"{self.request.text} is not evaluated: {self._missing_reason}"
        return self._claim_sentence if self.request.is_claim else self._value_sentence

    @property
    def _greater_is_better(self) -> bool:
        metric = self.request.metric
        return metric is None or metric.greater_is_better

    @property
    def _missing_reason(self) -> str:
        measurement, metric = self.measurement, self.request.metric
        where = "" if metric is None else f" on {metric.name}"
        if measurement.undecidable:
            return measurement.undecidable
        if measurement.notes and measurement.n:
            return measurement.notes[0]
        if measurement.n:
            few = "1 score gives" if measurement.n == 1 else f"{measurement.n} scores give"
            return f"{few} no such value{where}"
        nothing = "no query is scored in both runs" if self._is_paired else "nothing is scored"
        return f"{nothing}{where}{self._unscored_part}"

    @property
    def _is_paired(self) -> bool:
        return self.request.figure.of == "pair"

    @property
    def _unscored_part(self) -> str:
        n = self.measurement.n_unscored
        return f", {n} {'left out' if self._is_paired else 'unscored'}" if n else ""

    @property
    def _value_sentence(self) -> str:
        value, limit = distinct(self.measurement.value, self.threshold)
        if self.state == UNDECIDED and self._lacks_spread:
            return self._equal_values_sentence
        negation = "" if self.passed else "not "
        sentence = (
            f"{self.request.text} is {value}, {negation}{_PHRASES[self.operator]} {limit} "
            f"({self._basis})"
        )
        if self.state == UNDECIDED:
            return f"not enough queries to tell: {sentence}; {self._more_to_decide}"
        return sentence + ("; the interval contains the threshold" if self.straddles else "")

    @property
    def _equal_values_sentence(self) -> str:
        values = self.measurement.without_spread
        return (
            f"the queries do not tell whether {self.request.text} is {_PHRASES[self.operator]} "
            f"{self.threshold:g}: all {values} are {number(self.measurement.value)} "
            f"({self._basis}), so the interval has no width and does not show how much others "
            "may differ"
        )

    @property
    def _basis(self) -> str:
        n, unit = self.measurement.n, "paired" if self._is_paired else "scored"
        n_clusters = self.measurement.n_clusters
        clusters = f" in {n_clusters} clusters" if n_clusters else ""
        return f"{n} {unit}{clusters}{self._unscored_part}{self._interval_part}"

    @property
    def level(self) -> float:
        """The confidence level of the interval around the value; NaN if there is none.

        A claim is tested on one side, so its interval has twice the error rate.
        """
        if math.isnan(self.measurement.low) and math.isnan(self.measurement.high):
            return math.nan
        return round(1 - 2 * self.alpha if self.request.is_claim else 1 - self.alpha, 12)

    @property
    def _interval_part(self) -> str:
        low, high = self.measurement.low, self.measurement.high
        if math.isnan(low) or math.isnan(high) or self.request.limit:
            return ""
        name = f"{100 * self.level:g} % CI"
        if self.test is not None:
            name = interval_name(self.test, self.level)
        return f"; {name} {number(low)} to {number(high)}"

    @property
    def _claim_sentence(self) -> str:
        metric, margin = self.request.metric, number(self.request.numbers["margin"])
        name = metric.name if metric else ""
        how_much = f"more than {margin}" if self._is_worse else f"{margin} or more"
        claim = f"{self.subject.name} {self._claim_verb} worse on {name} by {how_much}"
        if self.test is not None and self.test.untestable:
            return (
                f"the queries do not tell whether {claim}: difference "
                f"{number(self.measurement.value)} ({self._basis}); {self.test.untestable}"
            )
        if self.state == UNDECIDED:
            claim = f"not enough queries to tell whether {claim}"
        is_corrected = self.family_size > 1
        kind = f"Holm-adjusted over {self.family_size} rules p" if is_corrected else "p"
        sentence = (
            f"{claim}: difference {number(self.measurement.value)} ({self._basis}), {kind} "
            f"{pvalue_text(self.pvalue_adjusted)}"
        )
        return f"{sentence}; {self._more_to_decide}" if self.state == UNDECIDED else sentence

    @property
    def _is_worse(self) -> bool:
        """Whether the whole interval lies beyond the margin, on the side of worse."""
        return self.test is not None and self.test.is_below

    @property
    def _claim_verb(self) -> str:
        return "is shown not to be" if self.passed else "is"

    def notes(self) -> Iterator[str]:
        """What a reader of the table must know of this rule."""
        if self.straddles:
            yield (
                f"{self.request.text}: the interval {number(self.measurement.low)} to "
                f"{number(self.measurement.high)} contains the threshold {self.threshold:g}, so "
                f"other queries might decide otherwise{self._firmer_rule}"
            )
        if self.request.metric is not None and self._asks_for_bad:
            way = "higher" if self._greater_is_better else "lower"
            yield f"{self.request.rule.text}: {way} {self.request.metric.name} is better"
        yield from (f"{self.request.text}: {note}" for note in self.measurement.notes)

    @property
    def _firmer_rule(self) -> str:
        """The rule on the interval instead of the value."""
        if self.operator == "==" or not self.request.metric:
            return ""
        end = "ci_low" if self.operator in (">=", ">") else "ci_high"
        inner = self.request.metric.name if self.request.name == "mean" else self.request.text
        return f"; {end}({inner}) {self.operator} {self.threshold:g} would rule that out"

    @property
    def _asks_for_bad(self) -> bool:
        """Whether a rule on scores asks for worse ones; rules on shares and counts may."""
        is_score = self.request.figure.queries == "scores"
        good = (">=", ">") if self._greater_is_better else ("<=", "<")
        return is_score and not self.request.is_claim and self.operator not in (*good, "==")


def holds(value: float, operator: str, threshold: float) -> bool:
    """Whether a value is on the right side of a threshold; a rounding difference does not decide.

    Examples
    --------
    >>> holds(0.1 + 0.2, "<=", 0.3), holds(0.1 + 0.2, ">", 0.3), holds(0.31, "<=", 0.3)
    (True, False, False)
    """
    is_equal = abs(value - threshold) <= TIE_TOLERANCE * max(1.0, abs(value), abs(threshold))
    if operator in (">=", "<=", "=="):
        beyond = {">=": value > threshold, "<=": value < threshold}
        return is_equal or beyond.get(operator, False)
    return not is_equal and (value > threshold if operator == ">" else value < threshold)


def distinct(value: float, threshold: float) -> tuple[str, str]:
    """Both numbers in as few digits as distinguish them.

    Examples
    --------
    >>> distinct(0.7996, 0.8), distinct(0.79996, 0.8), distinct(3.0, 5.0)
    (('0.7996', '0.8'), ('0.79996', '0.8'), ('3', '5'))
    """
    digits = (d for d in range(4, 17) if f"{value:.{d}g}" != f"{threshold:.{d}g}")
    return f"{value:.{next(digits, 4)}g}", f"{threshold:g}"
