"""The rules at which an evaluation may stop, in the grammar of gates.

::

    better(metric)  worse(metric)  different(metric)     against the baseline
    no_regression(metric, margin=0.02)                   against the baseline
    ci_low(metric) >= 0.8    ci_high(metric) <= 0.7      of the mean
    ci_width(metric) <= 0.05                             of the mean

The first three take ``effect=``, the size of the difference that is expected. One more rule is one
function, which makes a `MeanClaim` or a `Width` of a `StopRequest`, and one line in ``STOP_RULES``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from rageval_report._registry import Registry
from rageval_report.analysis.gates.grammar import Rule, UnknownInRuleError, Word, parse_rule
from rageval_report.analysis.gates.rule_resolution import (
    bind_arguments,
    find_metric,
    unknown_name,
)
from rageval_report.analysis.pairing import twin_of
from rageval_report.analysis.stopping.evidence import MeanClaim
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.scores import Metric, Scored
from rageval_report.stats.base import Alternative
from rageval_report.types import FloatArray


@dataclass(frozen=True, eq=False)
class Width:
    """A goal for the width of the interval of a mean, which says nothing about the mean itself.

    Parameters
    ----------
    values : ndarray of shape (n_queries,)
        Scores in the order in which the queries were asked; NaN where unscored.
    bounds : tuple of float
        The smallest and the largest possible score.
    widest : float
        The largest width that is narrow enough.
    """

    values: FloatArray
    bounds: tuple[float, float]
    widest: float


@dataclass(frozen=True, eq=False)
class StopRequest:
    """What a rule asks of the scores so far.

    Parameters
    ----------
    rule : Rule
        The parsed rule.
    metric : Metric
        The metric as the evaluation knows it.
    candidate : Scored
        The evaluation, its queries in the order in which they were asked.
    baseline : Scored, optional
        The earlier run that it is compared with.
    n_planned : int
        The number of queries that can be asked.
    numbers : dict of str to float
        The other arguments: margin, effect.
    """

    rule: Rule
    metric: Metric
    candidate: Scored
    baseline: Scored | None
    n_planned: int
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def scores(self) -> FloatArray:
        """The candidate's scores."""
        return np.asarray(self.candidate.scores[self.metric.name], dtype=np.float64)

    @property
    def differences(self) -> FloatArray:
        """Candidate minus baseline; NaN where a side has no score.

        Raises
        ------
        RuleError
            If the baseline does not have the metric.
        """
        twin = None if self.baseline is None else twin_of(self.metric, self.baseline)
        if self.baseline is None or twin is None:
            self.rule.refuse(
                f"the baseline has no scores of {self.metric.name}", self.rule.call.place
            )
        before = self.baseline.scores[twin.name].reindex(self.candidate.scores.index)
        return self.scores - np.asarray(before, dtype=np.float64)

    @property
    def difference_bounds(self) -> tuple[float, float] | None:
        """The smallest and the largest possible difference; None without bounds."""
        if self.metric.bounds is None:
            return None
        width = self.metric.bounds[1] - self.metric.bounds[0]
        return -width, width


@dataclass(frozen=True, slots=True)
class StopRule:
    """A member of ``STOP_RULES``.

    Parameters
    ----------
    description : str
        What has been shown when the rule holds.
    goal : callable
        Makes a `MeanClaim` or a `Width` of a `StopRequest`.
    parameters : tuple of str
        The names of the arguments; one that ends with "?" may be omitted.
    operator : str
        The operator that the rule needs; empty if it is a claim of its own.
    needs_baseline : bool
        Whether it is about a difference from a baseline.
    """

    description: str
    goal: Callable[[StopRequest], MeanClaim | Width]
    parameters: tuple[str, ...] = ("metric",)
    operator: str = ""
    needs_baseline: bool = False


def _difference(request: StopRequest, *, is_better: bool | None) -> MeanClaim:
    """The claim that there is a difference: to the better, to the worse, or in any direction."""
    alternative: Alternative = "two-sided"
    if is_better is not None:
        alternative = "greater" if is_better == request.metric.greater_is_better else "less"
    return MeanClaim(
        request.differences,
        request.difference_bounds,
        0.0,
        alternative,
        request.n_planned,
        # As the verdicts of a comparison: two-sided, whichever side the rule names.
        share=1.0 if alternative == "two-sided" else 0.5,
        effect=request.numbers.get("effect"),
    )


def _no_regression(request: StopRequest) -> MeanClaim:
    """The claim that the candidate is not worse by the margin or more; one-sided, as in gates."""
    margin, rises = request.numbers["margin"], request.metric.greater_is_better
    bounds = request.difference_bounds
    if bounds is not None and margin >= bounds[1]:
        request.rule.refuse(
            f"no difference of {request.metric.name} is larger than {bounds[1]:g}",
            request.rule.call.end - 1,
        )
    return MeanClaim(
        request.differences,
        bounds,
        -margin if rises else margin,
        "greater" if rises else "less",
        request.n_planned,
    )


def _mean_beyond(request: StopRequest, *, alternative: Alternative) -> MeanClaim:
    """The claim that the mean lies on one side of the threshold."""
    bounds, threshold = request.metric.bounds, request.rule.threshold
    if bounds is not None and not bounds[0] <= threshold <= bounds[1]:
        request.rule.refuse(
            f"{request.metric.name} is from {bounds[0]:g} to {bounds[1]:g}, so a threshold of "
            f"{threshold:g} decides nothing",
            request.rule.threshold_place,
        )
    return MeanClaim(request.scores, bounds, threshold, alternative, request.n_planned, share=0.5)


def _ci_width(request: StopRequest) -> Width:
    """The goal that the interval of the mean is narrow enough."""
    if request.metric.bounds is None:
        request.rule.refuse(
            f"ci_width needs a metric with bounds, and {request.metric.name} has none",
            request.rule.call.place,
        )
    if not request.rule.threshold > 0.0:
        request.rule.refuse("a width must be a number above 0", request.rule.threshold_place)
    return Width(request.scores, request.metric.bounds, request.rule.threshold)


STOP_RULES: Registry[StopRule] = Registry(
    "stopping rule",
    {
        "better": StopRule(
            "the candidate is better than the baseline",
            partial(_difference, is_better=True),
            ("metric", "effect?"),
            needs_baseline=True,
        ),
        "worse": StopRule(
            "the candidate is worse than the baseline",
            partial(_difference, is_better=False),
            ("metric", "effect?"),
            needs_baseline=True,
        ),
        "different": StopRule(
            "the candidate differs from the baseline",
            partial(_difference, is_better=None),
            ("metric", "effect?"),
            needs_baseline=True,
        ),
        "no_regression": StopRule(
            "the candidate is not worse by the margin or more",
            _no_regression,
            ("metric", "margin"),
            needs_baseline=True,
        ),
        "ci_low": StopRule(
            "the mean is above the threshold",
            partial(_mean_beyond, alternative="greater"),
            operator=">=",
        ),
        "ci_high": StopRule(
            "the mean is below the threshold",
            partial(_mean_beyond, alternative="less"),
            operator="<=",
        ),
        "ci_width": StopRule("the interval of the mean is narrow enough", _ci_width, operator="<="),
    },
)


@dataclass(frozen=True, slots=True)
class ParsedStopRule:
    """A rule whose names and numbers are checked; its metric is looked up when there are scores.

    Parameters
    ----------
    rule : Rule
        The rule, parsed.
    kind : StopRule
        The member of ``STOP_RULES``.
    metric : Word
        The metric as it is written.
    numbers : dict of str to float
        The other arguments.
    """

    rule: Rule
    kind: StopRule
    metric: Word
    numbers: Mapping[str, float]

    @property
    def text(self) -> str:
        """The rule with single blanks."""
        return " ".join(self.rule.text.split())

    def request(self, candidate: Scored, baseline: Scored | None, n_planned: int) -> StopRequest:
        """What the rule asks of the scores so far.

        Raises
        ------
        RuleError
            If the evaluation does not have the metric.
        """
        metric = find_metric(self.rule, self.metric, candidate.metrics)
        return StopRequest(self.rule, metric, candidate, baseline, n_planned, self.numbers)


def parse_stop_rules(
    rules: str | Rule | Sequence[str | Rule], *, has_baseline: bool
) -> tuple[ParsedStopRule, ...]:
    """The rules, parsed and checked as far as this is possible without scores.

    Parameters
    ----------
    rules : str or sequence of str
        Such as "better(recall@5)".
    has_baseline : bool
        Whether there is a run to compare with.

    Raises
    ------
    RuleError
        If a rule makes no sense; the message points at the character.
    DataError
        If there is no rule.

    Examples
    --------
    >>> rule, *_ = parse_stop_rules("no_regression(mrr, margin=2%)", has_baseline=True)
    >>> rule.kind.description, rule.metric.text, rule.numbers
    ('the candidate is not worse by the margin or more', 'mrr', {'margin': 0.02})
    """
    texts = [rules] if isinstance(rules, str | Rule) else list(rules)
    if not texts:
        raise DataError('stop_when must be a rule such as "better(recall@5)", or several; got none')
    parsed = tuple(_parse(parse_rule(text)) for text in texts)
    for stop in parsed:
        if stop.kind.needs_baseline and not has_baseline:
            stop.rule.refuse(
                f"{stop.rule.call.figure.text} needs a baseline: name an earlier run",
                stop.rule.call.place,
            )
    return parsed


def _parse(rule: Rule) -> ParsedStopRule:
    kind = _find_kind(rule)
    words = bind_arguments(rule, rule.call, kind.parameters)
    numbers = {name: rule.number(word) for name, word in words.items() if name != "metric"}
    for name, number in numbers.items():
        if not number > 0.0:
            rule.refuse(f"{name} must be a number above 0", words[name].place)
    if rule.operator != kind.operator:
        _refuse_operator(rule, kind)
    return ParsedStopRule(rule, kind, words["metric"], numbers)


def _find_kind(rule: Rule) -> StopRule:
    word = rule.call.figure
    try:
        return STOP_RULES[word.text.lower()]
    except UnknownNameError as exc:
        error: UnknownInRuleError = unknown_name(rule, word, exc)
        raise error from exc


def _refuse_operator(rule: Rule, kind: StopRule) -> None:
    name = rule.call.figure.text
    if not kind.operator:
        rule.refuse(f"{name} is complete without an operator", rule.operator_place)
    place = rule.operator_place if rule.operator else len(rule.text)
    rule.refuse(f"{name} needs {kind.operator} and a threshold", place)
