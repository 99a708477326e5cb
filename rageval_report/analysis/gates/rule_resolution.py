"""A rule meets a pipeline: names become figures, metrics and numbers, or errors with a place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rageval_report.analysis.gates.columns import GatedRun, Measurement
from rageval_report.analysis.gates.figures import (
    FIGURES,
    LIMITS,
    GateFigure,
    ValueRange,
    percentile_figure,
)
from rageval_report.analysis.gates.grammar import Argument, Call, Rule, UnknownInRuleError, Word
from rageval_report.analysis.gates.pair_figures import (
    MARGIN_METHOD,
    NO_REGRESSION,
    PAIR_FIGURES,
    ComparedPair,
    PlannedPairing,
    problem_of_method,
)
from rageval_report.analysis.paired_metric import ComparisonLike
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.scores import Metric, resolver

IN_PYTHON = "compare(baseline, candidate).gate(...)"
NEEDS_A_BASELINE = f"needs a baseline: {IN_PYTHON}"


@dataclass(frozen=True, eq=False)
class Subject:
    """The pipeline that a rule is about, and the comparison in which it is a candidate.

    Parameters
    ----------
    run : GatedRun
        The pipeline.
    comparison : ComparisonLike, optional
        The comparison with a baseline.
    pairing : PlannedPairing, optional
        The baseline beside the pipeline.
    """

    run: GatedRun
    comparison: ComparisonLike | None = None
    pairing: PlannedPairing | None = None

    @property
    def name(self) -> str:
        """The pipeline's name."""
        return self.run.evaluation.name

    @property
    def figures(self) -> dict[str, GateFigure]:
        """The figures that a rule on this subject can use."""
        return {**FIGURES, **(PAIR_FIGURES if self.comparison is not None else {})}

    def metrics(self, figure: GateFigure) -> Mapping[str, Metric]:
        """The metrics to which a figure can be applied."""
        if figure.of == "pair" and self.pairing is not None:
            return {ours.name: ours for ours, _ in self.pairing.metrics}
        return self.run.evaluation.metrics

    def pair(self, metric: Metric) -> ComparedPair | None:
        """The row of the comparison that a metric has; None without a comparison."""
        if self.comparison is None or self.pairing is None:
            return None
        return ComparedPair(self.comparison, self.pairing, metric)

    def measure(self, request: RuleRequest) -> Measurement:
        """The value that a rule asks for."""
        figure, metric = request.figure, request.metric
        if metric is None:
            return figure.measure(self.run, **request.numbers)
        target = self.pair(metric) if figure.of == "pair" else self.run.column(metric)
        measurement = figure.measure(target, **request.numbers, **request.words)
        if request.limit:
            value = measurement.low if request.limit == "ci_low" else measurement.high
            return replace(measurement, value=value, estimate=measurement.value)
        return measurement


@dataclass(frozen=True, eq=False)
class RuleRequest:
    """What a rule asks of one pipeline.

    Parameters
    ----------
    rule : Rule
        The parsed rule.
    name : str
        The figure's name.
    figure : GateFigure
        What is measured.
    metric : Metric, optional
        The metric; None if the figure is of the whole run.
    numbers : dict of str to float
        The other arguments.
    limit : str
        "ci_low" or "ci_high" if the rule is on that end of the figure's interval.
    words : dict of str to str
        The arguments that are words, such as the method of a margin.
    """

    rule: Rule
    name: str
    figure: GateFigure
    metric: Metric | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    limit: str = ""
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_claim(self) -> bool:
        """Whether the rule is a claim of its own, without operator and threshold."""
        return self.name == NO_REGRESSION and not self.limit

    @property
    def figure_label(self) -> str:
        """The figure in a table: "mean", "ci_low", "ci_low(difference)"."""
        if not self.limit:
            return self.name
        return self.limit if self.name == "mean" else f"{self.limit}({self.name})"

    @property
    def text(self) -> str:
        """The figure with its arguments as written in the rule, with single blanks."""
        call = self.rule.call
        return " ".join(self.rule.text[call.place : call.end].split())

    @property
    def value_range(self) -> ValueRange | None:
        """The possible values; None if they are unknown."""
        return self.figure.value_range(self.metric if self.metric is not None else Metric("run"))


def resolve_rule(rule: Rule, subject: Subject) -> RuleRequest:
    """The request that a rule is for one pipeline.

    Raises
    ------
    RuleError
        If a name is unknown, an argument is missing or superfluous, or the rule can never fail or
        never hold; the message points at the character.
    """
    request = _resolve_call(rule, rule.call, subject)
    _check_operator(request)
    _check_threshold(request)
    return request


def _resolve_call(rule: Rule, call: Call, subject: Subject) -> RuleRequest:
    name = call.figure.text.lower()
    if name in LIMITS:
        return _resolve_limit(rule, call, subject, name)
    figure = _find_figure(rule, call, subject)
    words = bind_arguments(rule, call, figure.parameters)
    number_words = {
        key: word for key, word in words.items() if key != "metric" and key not in figure.choices
    }
    numbers = {key: rule.number(word) for key, word in number_words.items()}
    if "metric" not in words:
        return RuleRequest(rule, name, figure, None, numbers)
    metric = find_metric(rule, words["metric"], subject.metrics(figure))
    for word in number_words.values():
        _check_percentage(rule, word.text, word.place, metric.bounds, metric.name)
    if "threshold" in words:
        _check_cut(rule, words["threshold"].place, numbers["threshold"], metric)
    request = RuleRequest(rule, name, figure, metric, numbers, words=_choices(rule, figure, words))
    return _with_margin(request, words, subject) if name == NO_REGRESSION else request


def _choices(rule: Rule, figure: GateFigure, words: Mapping[str, Word]) -> dict[str, str]:
    """The arguments that are words, if each is one of those that it can be."""
    chosen = {key: word for key, word in words.items() if key in figure.choices}
    for key, word in chosen.items():
        if word.text not in figure.choices[key]:
            raise unknown_name(rule, word, UnknownNameError(key, word.text, figure.choices[key]))
    return {key: word.text for key, word in chosen.items()}


def _resolve_limit(rule: Rule, call: Call, subject: Subject, limit: str) -> RuleRequest:
    """The end of an interval: of a figure, or of the mean if only a metric is named."""
    arguments = call.arguments or ()
    if len(arguments) == 1 and isinstance(arguments[0].value, Call):
        inner = arguments[0].value
        request = _resolve_call(rule, inner, subject)
        if request.name == NO_REGRESSION or request.limit:
            rule.refuse(f"{request.figure_label} has no interval of its own", inner.place)
        return replace(request, limit=limit)
    words = bind_arguments(rule, call, ("metric",))
    metric = find_metric(rule, words["metric"], subject.run.evaluation.metrics)
    return RuleRequest(rule, "mean", FIGURES["mean"], metric, limit=limit)


def _find_figure(rule: Rule, call: Call, subject: Subject) -> GateFigure:
    word, name = call.figure, call.figure.text.lower()
    # A word in quotes is a name, so a metric may be called "mean".
    if name in subject.figures and not word.is_quoted:
        return subject.figures[name]
    try:
        percentile = percentile_figure(name)
    except DataError as exc:
        rule.refuse(str(exc), word.place)
    if percentile is not None:
        return percentile
    if name in PAIR_FIGURES:
        rule.refuse(f"{name} {NEEDS_A_BASELINE}", word.place)
    known = [*subject.figures, *LIMITS, "p95"]
    if call.arguments is None and _is_metric(word, subject):
        rule.refuse(
            f"{word.text} is a metric; name one of its figures, such as "
            f"mean({_quote_if_needed(word)}). Known: {', '.join(sorted(known))}",
            word.place,
        )
    raise unknown_name(rule, word, UnknownNameError("figure", word.text, known))


def _is_metric(word: Word, subject: Subject) -> bool:
    try:
        resolver(subject.run.evaluation.metrics)(word.text)
    except (UnknownNameError, DataError):
        return False
    return True


def _quote_if_needed(word: Word) -> str:
    return f'"{word.text}"' if word.is_quoted else word.text


def unknown_name(rule: Rule, word: Word, error: UnknownNameError) -> UnknownInRuleError:
    """The error that points at a word of a rule that is not a known name."""
    return UnknownInRuleError(str(error), rule.text, word.place, rule.source)


def find_metric(rule: Rule, word: Word, metrics: Mapping[str, Metric]) -> Metric:
    """The metric that a word of a rule names.

    Raises
    ------
    RuleError
        If there is no such metric; the message points at the word.
    """
    try:
        return metrics[resolver(metrics)(word.text)]
    except UnknownNameError as exc:
        raise unknown_name(rule, word, exc) from exc
    except DataError as exc:
        rule.refuse(str(exc), word.place)


def bind_arguments(rule: Rule, call: Call, parameters: tuple[str, ...]) -> dict[str, Word]:
    """The words in the brackets, by the names of the parameters.

    Parameters
    ----------
    rule : Rule
        The rule.
    call : Call
        The figure with its brackets.
    parameters : tuple of str
        The names in order; a name that ends with "?" may be omitted.

    Raises
    ------
    RuleError
        If an argument is missing, superfluous, repeated or unknown.
    """
    names = [name.removesuffix("?") for name in parameters]
    usage = f"{call.figure.text}({', '.join(names)})" if names else call.figure.text
    words: dict[str, Word] = {}
    for position, argument in enumerate(call.arguments or ()):
        if argument.keyword is None and position >= len(names):
            rule.refuse(f"too many arguments; write {usage}", argument.place)
        name = names[position] if argument.keyword is None else _keyword(rule, argument, names)
        if name in words:
            rule.refuse(f"{name!r} is given twice; write {usage}", argument.place)
        words[name] = _plain_word(rule, argument)
    for name in parameters:
        if name not in words and not name.endswith("?"):
            # At the closing bracket, where the argument would go.
            place = call.end if call.arguments is None else call.end - 1
            rule.refuse(f"{call.figure.text} needs a {name}: {usage}", place)
    return words


def _keyword(rule: Rule, argument: Argument, names: list[str]) -> str:
    word = argument.keyword or Word("", argument.place)
    if word.text not in names:
        raise unknown_name(rule, word, UnknownNameError("argument", word.text, names))
    return word.text


def _plain_word(rule: Rule, argument: Argument) -> Word:
    if isinstance(argument.value, Call):
        rule.refuse(
            "expected a name or a number; only ci_low and ci_high take a figure. Quote a name that "
            "has brackets",
            argument.value.place,
        )
    return argument.value


# -- rules that can be read but make no sense


def _with_margin(request: RuleRequest, words: Mapping[str, Word], subject: Subject) -> RuleRequest:
    """The margin of the rule, or else that of the comparison; positive, and not the whole range."""
    rule, comparison = request.rule, subject.comparison
    if comparison is None or request.metric is None:  # `_find_figure` has refused that already
        return request
    method = request.words.get(MARGIN_METHOD, comparison.plan.margin_method)
    if problem := problem_of_method(request.metric, method):
        rule.refuse(problem, words.get(MARGIN_METHOD, words["metric"]).place)
    if "margin" not in words:
        margin = comparison.plan.margin_of(request.metric)
        if margin is None:
            usage = f"no_regression({_quote_if_needed(words['metric'])}, margin=0.02)"
            rule.refuse(f"say how much worse would not matter: {usage}", rule.call.end - 1)
        return replace(request, numbers={"margin": margin})
    margin, place = request.numbers["margin"], words["margin"].place
    if not margin > 0:
        rule.refuse("margin must be a number above 0", place)
    value_range = request.value_range
    if value_range is not None and margin >= value_range[1]:
        rule.refuse(
            f"no difference of {request.metric.name} is larger than {value_range[1]:g}, so this "
            f"never fails. {_percent_hint(margin, value_range)}".rstrip(),
            place,
        )
    return request


def _check_operator(request: RuleRequest) -> None:
    rule = request.rule
    if request.is_claim and rule.operator:
        rule.refuse(f"{request.name} is complete without an operator", rule.operator_place)
    if not request.is_claim and not rule.operator:
        rule.refuse(
            f"expected an operator and a threshold, such as {request.text} >= 0.8", len(rule.text)
        )


def _check_threshold(request: RuleRequest) -> None:
    """A threshold outside the possible values: such a rule never fails, or never holds."""
    rule, value_range = request.rule, request.value_range
    if request.is_claim:
        return
    _check_percentage(rule, rule.text, rule.threshold_place, value_range, request.text)
    if value_range is None or value_range[0] <= rule.threshold <= value_range[1]:
        return
    low, high = value_range
    ends = f"at least {low:g}" if math.isinf(high) else f"from {low:g} to {high:g}"
    sentences = (
        f"{request.text} is {ends}, so a threshold of {rule.threshold:g} decides nothing.",
        _percent_hint(rule.threshold, value_range),
        _difference_hint(request),
        _bounds_hint(request),
    )
    rule.refuse(" ".join(filter(None, sentences)), rule.threshold_place)


def _check_cut(rule: Rule, place: int, cut: float, metric: Metric) -> None:
    """The cut of a share of scores: outside the possible scores, all of them are on one side."""
    if metric.bounds is None or metric.bounds[0] <= cut <= metric.bounds[1]:
        return
    low, high = metric.bounds
    problem = f"{metric.name} is from {low:g} to {high:g}, so a cut at {cut:g} decides nothing."
    rule.refuse(f"{problem} {_percent_hint(cut, metric.bounds)}".rstrip(), place)


def _check_percentage(
    rule: Rule, text: str, place: int, value_range: ValueRange | None, what: str
) -> None:
    """A percentage of an unbounded value would read as one of the baseline's value, and is not."""
    if text.endswith("%") and (value_range is None or math.isinf(value_range[1])):
        rule.refuse(f"{what} is not a share, so write a number in its unit", place)


def _percent_hint(number: float, value_range: ValueRange) -> str:
    return f"Did you mean {number:g}%?" if value_range[1] <= 1 < number <= 100 else ""


def _difference_hint(request: RuleRequest) -> str:
    is_mean_limit = request.limit and request.name == "mean"
    if is_mean_limit and request.rule.threshold < 0 and request.metric:
        return f"For a difference, write {request.limit}(difference({request.metric.name}))."
    return ""


def _bounds_hint(request: RuleRequest) -> str:
    if request.metric is None or request.figure.queries != "scores":
        return ""
    bounds = f"metrics={{{request.metric.name!r}: {{'bounds': (low, high)}}}}"
    return f"If its scale is another, say so: {bounds}"
