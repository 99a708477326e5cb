"""A rule meets a pipeline: names become figures, metrics and numbers, or an error in place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rageval_report.analysis.comparing.metric_comparison import ComparisonLike
from rageval_report.analysis.comparing.pairing import Pairing
from rageval_report.analysis.gates.figures import (
    FIGURES,
    LIMITS,
    GatedRun,
    GateFigure,
    Measurement,
    Range,
    as_scored,
    percentile_figure,
)
from rageval_report.analysis.gates.grammar import Argument, Call, Rule, UnknownInRuleError, Word
from rageval_report.analysis.gates.pair_figures import (
    NO_REGRESSION,
    PAIR_FIGURES,
    Pair,
)
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.scores import Metric, resolver

_NEEDS_A_BASELINE = "needs a baseline: compare(baseline, candidate).gate(...)"


@dataclass(frozen=True, eq=False)
class Subject:
    """Of whom a rule is asked: a pipeline, and the comparison in which it is a candidate.

    Parameters
    ----------
    run : GatedRun
        The pipeline.
    comparison : ComparisonLike, optional
        Where it stands beside a baseline.
    pairing : Pairing, optional
        The baseline beside it.
    """

    run: GatedRun
    comparison: ComparisonLike | None = None
    pairing: Pairing | None = None

    @property
    def name(self) -> str:
        """The pipeline's name."""
        return self.run.evaluation.name

    @property
    def figures(self) -> dict[str, GateFigure]:
        """The figures that can be asked of it."""
        return {**FIGURES, **(PAIR_FIGURES if self.comparison is not None else {})}

    def metrics(self, figure: GateFigure) -> Mapping[str, Metric]:
        """The metrics of which a figure can be asked."""
        if figure.of == "pair" and self.pairing is not None:
            return {ours.name: ours for ours, _ in self.pairing.metrics}
        return self.run.evaluation.metrics

    def pair(self, metric: Metric) -> Pair | None:
        """The row of the comparison that a metric has; None where nothing is compared."""
        if self.comparison is None or self.pairing is None:
            return None
        theirs = next(two for one, two in self.pairing.metrics if one.name == metric.name)
        return Pair(self.comparison, self.pairing, metric, theirs)

    def measure(self, asked: ResolvedRule) -> Measurement:
        """The value of what is asked."""
        figure, metric = asked.figure, asked.metric
        if metric is None:
            return figure.measure(self.run, **asked.numbers)
        of = self.pair(metric) if figure.of == "pair" else self.run.column(metric)
        measured = figure.measure(of, **asked.numbers)
        if asked.limit:
            value = measured.low if asked.limit == "ci_low" else measured.high
            return replace(measured, value=value)
        return measured


@dataclass(frozen=True, eq=False)
class ResolvedRule:
    """What a rule asks of one pipeline.

    Parameters
    ----------
    rule : Rule
        As it was parsed.
    name : str
        The figure's name.
    figure : GateFigure
        What is measured.
    metric : Metric, optional
        Of which metric; None where it is of the whole run.
    numbers : dict of str to float
        The other arguments.
    limit : str
        "ci_low" or "ci_high" where the end of the figure's interval is asked for.
    """

    rule: Rule
    name: str
    figure: GateFigure
    metric: Metric | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    limit: str = ""

    @property
    def is_claim(self) -> bool:
        """Whether the figure is a claim of its own, without operator and threshold."""
        return self.name == NO_REGRESSION and not self.limit

    @property
    def told_figure(self) -> str:
        """The figure in a table: "mean", "ci_low", "ci_low(difference)"."""
        if not self.limit:
            return self.name
        return self.limit if self.name == "mean" else f"{self.limit}({self.name})"

    @property
    def told(self) -> str:
        """What is asked for, as it was written but for blanks."""
        call = self.rule.call
        return " ".join(self.rule.text[call.place : call.end].split())

    @property
    def lies(self) -> Range | None:
        """Where the value can lie, as far as anybody knows."""
        return self.figure.lies(self.metric if self.metric is not None else Metric("run"))


def resolve_rule(rule: Rule, subject: Subject) -> ResolvedRule:
    """What a rule asks of a pipeline.

    Raises
    ------
    RuleError
        If a name is not known, an argument is missing or too much, or the rule can never fail or
        never hold; the message points at the character.
    """
    asked = _asked(rule, rule.call, subject)
    _check_operator(asked)
    _check_threshold(asked)
    return asked


def _asked(rule: Rule, call: Call, subject: Subject) -> ResolvedRule:
    name = call.figure.text.lower()
    if name in LIMITS:
        return _limit(rule, call, subject, name)
    figure = _figure(rule, call, subject)
    given = _bound(rule, call, figure.parameters)
    numbers = {key: rule.number(word) for key, word in given.items() if key != "metric"}
    if "metric" not in given:
        return ResolvedRule(rule, name, figure, None, numbers)
    metric = _metric(rule, given["metric"], subject.metrics(figure))
    for word in (word for key, word in given.items() if key != "metric"):
        _check_percent(rule, word.text, word.place, metric.bounds, metric.name)
    if "threshold" in given:
        _check_cut(rule, given["threshold"].place, numbers["threshold"], metric)
    asked = ResolvedRule(rule, name, figure, metric, numbers)
    return _with_margin(asked, given, subject) if name == NO_REGRESSION else asked


def _limit(rule: Rule, call: Call, subject: Subject, limit: str) -> ResolvedRule:
    """The end of an interval: of a figure, or of the mean where only a metric is named."""
    arguments = call.arguments or ()
    if len(arguments) == 1 and isinstance(arguments[0].value, Call):
        inner = arguments[0].value
        asked = _asked(rule, inner, subject)
        if asked.name == NO_REGRESSION or asked.limit:
            rule.refuse(f"{asked.told_figure} has no interval of its own", inner.place)
        return replace(asked, limit=limit)
    given = _bound(rule, call, ("metric",))
    metric = _metric(rule, given["metric"], subject.run.evaluation.metrics)
    return ResolvedRule(rule, "mean", FIGURES["mean"], metric, limit=limit)


def _figure(rule: Rule, call: Call, subject: Subject) -> GateFigure:
    word, name = call.figure, call.figure.text.lower()
    try:
        percentile = percentile_figure(name)
    except DataError as exc:
        rule.refuse(str(exc), word.place)
    if percentile is not None:
        return percentile
    if name in subject.figures and not word.is_quoted:
        return subject.figures[name]
    if name in PAIR_FIGURES:
        rule.refuse(f"{name} {_NEEDS_A_BASELINE}", word.place)
    known = [*subject.figures, *LIMITS, "p95"]
    if call.arguments is None and _is_metric(word, subject):
        rule.refuse(
            f"say which figure of {word.text}, as mean({_spelled(word)}); known: "
            f"{', '.join(sorted(known))}",
            word.place,
        )
    raise _unknown(rule, word, UnknownNameError("figure", word.text, known))


def _is_metric(word: Word, subject: Subject) -> bool:
    try:
        resolver(subject.run.evaluation.metrics)(word.text)
    except (UnknownNameError, DataError):
        return False
    return True


def _spelled(word: Word) -> str:
    return f'"{word.text}"' if word.is_quoted else word.text


def _unknown(rule: Rule, word: Word, error: UnknownNameError) -> UnknownInRuleError:
    return UnknownInRuleError(str(error), rule.text, word.place, rule.source)


def _metric(rule: Rule, word: Word, metrics: Mapping[str, Metric]) -> Metric:
    try:
        return metrics[resolver(metrics)(word.text)]
    except UnknownNameError as exc:
        raise _unknown(rule, word, exc) from exc
    except DataError as exc:
        rule.refuse(str(exc), word.place)


def _bound(rule: Rule, call: Call, parameters: tuple[str, ...]) -> dict[str, Word]:
    """The arguments by the names of the parameters."""
    names = [name.removesuffix("?") for name in parameters]
    shown = f"{call.figure.text}({', '.join(names)})" if names else call.figure.text
    given: dict[str, Word] = {}
    for position, argument in enumerate(call.arguments or ()):
        if argument.keyword is None and position >= len(names):
            rule.refuse(f"one argument too many: {shown}", argument.place)
        name = names[position] if argument.keyword is None else _keyword(rule, argument, names)
        if name in given:
            rule.refuse(f"{name!r} is given twice: {shown}", argument.place)
        given[name] = _word(rule, argument)
    for name in parameters:
        if name not in given and not name.endswith("?"):
            place = call.end if call.arguments is None else call.end - 1
            rule.refuse(f"{call.figure.text} needs a {name}: {shown}", place)
    return given


def _keyword(rule: Rule, argument: Argument, names: list[str]) -> str:
    word = argument.keyword
    if word is None or word.text not in names:
        told = Word("", argument.place) if word is None else word
        raise _unknown(rule, told, UnknownNameError("argument", told.text, names))
    return word.text


def _word(rule: Rule, argument: Argument) -> Word:
    if isinstance(argument.value, Call):
        rule.refuse(
            "expected a name or a number; only ci_low and ci_high are asked of a figure. A name "
            "with brackets stands in quotes",
            argument.value.place,
        )
    return argument.value


# -- what makes no sense though it can be read


def _with_margin(asked: ResolvedRule, given: Mapping[str, Word], subject: Subject) -> ResolvedRule:
    """The margin of the rule, else that of the comparison; above zero, and not all there is."""
    rule, comparison = asked.rule, subject.comparison
    if comparison is None or asked.metric is None:  # `_figure` has refused that already
        return asked
    _check_clusters(asked, comparison)
    if "margin" not in given:
        margin = comparison.plan.margin_of(asked.metric)
        if margin is None:
            told = given["metric"]
            shown = f"no_regression({_spelled(told)}, margin=0.02)"
            rule.refuse(f"say how much worse would not matter: {shown}", rule.call.end - 1)
        return replace(asked, numbers={"margin": margin})
    margin, place = asked.numbers["margin"], given["margin"].place
    if not margin > 0:
        rule.refuse("a margin is a number above 0", place)
    lies = asked.lies
    if lies is not None and margin >= lies[1]:
        rule.refuse(
            f"no difference of {asked.metric.name} is larger than {lies[1]:g}, so this never "
            f"fails. {_percent(margin, lies)}".rstrip(),
            place,
        )
    return asked


def _check_clusters(asked: ResolvedRule, comparison: ComparisonLike) -> None:
    if "clusters" not in comparison.settings or asked.metric is None:
        return
    better = asked.metric.greater_is_better
    other = "ci_low(difference(...)) >= -margin" if better else "ci_high(difference(...)) <= margin"
    asked.rule.refuse(
        f"no_regression takes queries for independent, and these are clustered; write {other}, "
        "whose interval knows the clusters",
        asked.rule.call.place,
    )


def _check_operator(asked: ResolvedRule) -> None:
    rule = asked.rule
    if asked.is_claim and rule.operator:
        rule.refuse(
            f"{asked.name} is a claim of its own: it takes no operator", rule.operator_place
        )
    if not asked.is_claim and not rule.operator:
        rule.refuse(f"expected an operator and a threshold, as {asked.told} >= 0.8", len(rule.text))


def _check_threshold(asked: ResolvedRule) -> None:
    """A threshold beyond all possible values: such a rule never fails, or never holds."""
    rule, lies = asked.rule, asked.lies
    if asked.is_claim:
        return
    _check_percent(rule, rule.text, rule.threshold_place, lies, asked.told)
    if lies is None or lies[0] <= rule.threshold <= lies[1]:
        return
    ends = f"at least {lies[0]:g}" if math.isinf(lies[1]) else f"from {lies[0]:g} to {lies[1]:g}"
    told = (
        f"{asked.told} is {ends}, so a threshold of {rule.threshold:g} decides nothing.",
        _percent(rule.threshold, lies),
        _meant_difference(asked),
        _other_bounds(asked),
    )
    rule.refuse(" ".join(sentence for sentence in told if sentence), rule.threshold_place)


def _check_cut(rule: Rule, place: int, cut: float, metric: Metric) -> None:
    """Of a share of scores: a cut beyond all possible scores has all of them on one side."""
    if metric.bounds is None or metric.bounds[0] <= cut <= metric.bounds[1]:
        return
    low, high = metric.bounds
    told = f"{metric.name} is from {low:g} to {high:g}, so a cut at {cut:g} decides nothing."
    rule.refuse(f"{told} {_percent(cut, metric.bounds)}".rstrip(), place)


def _check_percent(rule: Rule, told: str, place: int, lies: Range | None, what: str) -> None:
    """A percentage of what is no share would be taken for one of the baseline, and is not."""
    if told.endswith("%") and (lies is None or math.isinf(lies[1])):
        rule.refuse(f"{what} is no share, so write a number in its unit", place)


def _percent(number: float, lies: Range) -> str:
    return f"Did you mean {number:g}%?" if lies[1] <= 1 < number <= 100 else ""


def _meant_difference(asked: ResolvedRule) -> str:
    if asked.limit and asked.name == "mean" and asked.rule.threshold < 0 and asked.metric:
        return f"Of a difference it is {asked.limit}(difference({asked.metric.name}))."
    return ""


def _other_bounds(asked: ResolvedRule) -> str:
    if asked.metric is None or asked.figure.lies is not as_scored:
        return ""
    bounds = f"metrics={{{asked.metric.name!r}: {{'bounds': (low, high)}}}}"
    return f"If its scale is another, say so: {bounds}"
