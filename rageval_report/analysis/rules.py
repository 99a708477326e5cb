"""A rule, such as "ci_low(recall@5) >= 0.7": its grammar, and what it asks of a pipeline."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn
from unicodedata import category

from rageval_report.analysis import gate_figures as gf
from rageval_report.analysis.paired_metric import what_strict_lacks
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.reports.sentences import direction_question
from rageval_report.scores import Metric, resolver
from rageval_report.scores.names import display_width
from rageval_report.stats.equivalence import STRICT

OPERATORS = (">=", ">", "<=", "<", "==")
LONGEST_RULE = 1000
IN_PYTHON = "compare(baseline, candidate).gate(...)"
_DEEPEST = 2  # a figure of a figure, as ci_low(difference(recall@5))

_BARE = re.compile(r"""[^()<>=,"']+""")
_QUOTED = re.compile(r""""([^"]*)"|'([^']*)'""")
_OPERATOR = re.compile(r"[<>=!≤≥]+")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_MEANT = {"=": "==", "=>": ">=", "=<": "<=", "≥": ">=", "≤": "<="}
# Characters that would move the caret away from its character.
_INVISIBLE = ("Cc", "Cf", "Zl", "Zp")


class RuleError(DataError):
    """A rule that makes no sense, with the place of what is wrong."""

    def __init__(self, problem: str, rule: str, place: int, source: str = ""):
        self.problem, self.rule, self.place, self.source = problem, rule, place, source
        # Not super(): `UnknownInRuleError` has another parent, which would build its own message.
        Exception.__init__(self, "\n  ".join((self.headline, *self.pointer)))

    @property
    def headline(self) -> str:
        """Where the rule comes from and what is wrong, on one line."""
        return f"{self.source}: {self.problem}" if self.source else self.problem

    @property
    def pointer(self) -> tuple[str, str]:
        """The rule, and under it a caret below the character that is wrong."""
        line = "".join(" " if category(c) in _INVISIBLE else c for c in self.rule)
        return line, " " * display_width(line[: self.place]) + "^"

    # Pickle would call the class with the finished message alone.
    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.problem, self.rule, self.place, self.source)

    __str__ = Exception.__str__


class UnknownInRuleError(RuleError, UnknownNameError):
    """A rule names an unknown metric or figure; also an `UnknownNameError`."""


@dataclass(frozen=True, slots=True)
class Word:
    """A name, a number or a figure in a rule; ``arguments`` is None if there are no brackets."""

    text: str
    place: int = 0
    end: int = 0
    is_quoted: bool = False
    keyword: Word | None = None
    arguments: tuple[Word, ...] | None = None

    @property
    def is_percent(self) -> bool:
        """Whether it is written with a percent sign."""
        return self.text.endswith("%")

    @property
    def written(self) -> str:
        """The name as a rule would have it."""
        return f'"{self.text}"' if self.is_quoted else self.text


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, parsed; ``operator`` is empty and ``threshold`` NaN if the figure is a claim."""

    text: str
    call: Word
    operator: str = ""
    operator_place: int = 0
    threshold: float = math.nan
    threshold_word: Word = field(default_factory=lambda: Word(""))
    source: str = ""

    def refuse(self, problem: str, place: int) -> NoReturn:
        """Raise an error that points at a character of this rule."""
        raise RuleError(problem, self.text, place, self.source)

    def unknown(self, word: Word, error: UnknownNameError) -> UnknownInRuleError:
        """The error that points at a word that is not a known name."""
        return UnknownInRuleError(str(error), self.text, word.place, self.source)

    def number(self, word: Word) -> float:
        """The number that a word is, 0.05 for 5 %; a `RuleError` if it is not a number."""
        text = word.text.removesuffix("%").rstrip()
        value = float(text) if _NUMBER.fullmatch(text) and not word.is_quoted else math.nan
        if not math.isfinite(value):
            self.refuse(f"expected a number, such as 0.8 or 80%; got {word.text!r}", word.place)
        return value / 100 if word.is_percent else value


def parse_rule(text: str | Rule, source: str = "") -> Rule:
    """Parse a rule; one that is parsed already is returned as it is."""
    if isinstance(text, Rule):
        return text
    if not isinstance(text, str):
        raise DataError(f'a rule must be a text, such as "mean(faithfulness) >= 0.8"; got {text!r}')
    if len(text.strip()) > LONGEST_RULE:
        raise DataError(f"a rule has at most {LONGEST_RULE} characters; got {len(text.strip())}")
    return _RuleReader(text.strip(), source).rule()


class _RuleReader:
    """Reads a rule from its first character to its last."""

    def __init__(self, text: str, source: str):
        self.text, self.source, self.place = text, source, 0

    def rule(self) -> Rule:
        if not self.text:
            self.refuse('expected a rule, such as "mean(faithfulness) >= 0.8"; got nothing')
        call = self.call("a figure, such as mean(faithfulness),")
        rule = Rule(self.text, call, operator_place=self.place, source=self.source)
        if self.place == len(self.text):
            return rule
        operator, word = self.operator(), self.word("a number")
        threshold = rule.number(word)
        if self.place < len(self.text):
            self.refuse("expected the end of the rule; write two rules for two thresholds")
        return replace(rule, operator=operator, threshold=threshold, threshold_word=word)

    def operator(self) -> str:
        sign = _OPERATOR.match(self.text, self.place)
        if sign is None:
            self.refuse(f"expected one of {' '.join(OPERATORS)} here")
        if sign[0] not in OPERATORS:
            meant = _MEANT.get(sign[0])
            hint = f"; did you mean {meant}?" if meant else f"; known: {' '.join(OPERATORS)}"
            self.refuse(f"{sign[0]!r} is not an operator{hint}")
        self.place = sign.end()
        return sign[0]

    def call(self, expected: str, depth: int = 0) -> Word:
        """A word, with its arguments if it has brackets; a quoted one is a figure at the top."""
        word = self.word(expected)
        if self.peek() != "(" or (word.is_quoted and depth):
            return word
        if depth == _DEEPEST:
            self.refuse("a rule cannot be nested deeper than a figure of a figure")
        self.place += 1
        arguments: list[Word] = []
        while self.peek() != ")":
            if arguments:
                if self.peek() != ",":
                    self.refuse('expected "," or ")" here')
                self.place += 1
            argument = self.call("a metric or a number", depth + 1)
            # "=" makes a keyword; an operator inside the brackets is a mistake, found above.
            is_plain = argument.arguments is None and not argument.is_quoted
            sign = _OPERATOR.match(self.text, self.place)
            if is_plain and sign is not None and sign[0] == "=":
                self.place += 1
                argument = replace(self.call("a value", depth + 1), keyword=argument)
            arguments.append(argument)
        self.place += 1
        word = replace(word, arguments=tuple(arguments), end=self.place)
        self.peek()
        return word

    def word(self, expected: str) -> Word:
        is_quoted = self.peek() in ('"', "'")
        match = (_QUOTED if is_quoted else _BARE).match(self.text, self.place)
        if match is None:
            self.refuse(
                "this quotation mark is never closed" if is_quoted else f"expected {expected} here"
            )
        place, self.place = self.place, match.end()
        written = match[0].rstrip()
        self.peek()
        text = written[1:-1] if is_quoted else written
        return Word(text, place, place + len(written), is_quoted)

    def peek(self) -> str:
        """The next character that is not a blank; empty at the end."""
        while self.text[self.place : self.place + 1].isspace():
            self.place += 1
        return self.text[self.place : self.place + 1]

    def refuse(self, problem: str) -> NoReturn:
        raise RuleError(problem, self.text, self.place, self.source)


# -- the names in a rule


def find_metric(rule: Rule, word: Word, metrics: Mapping[str, Metric]) -> Metric:
    """The metric that a word of a rule names; a `RuleError` points at the word if none has it."""
    try:
        return metrics[resolver(metrics)(word.text)]
    except UnknownNameError as exc:
        raise rule.unknown(word, exc) from exc
    except DataError as exc:
        rule.refuse(str(exc), word.place)


def bind_arguments(rule: Rule, call: Word, parameters: tuple[str, ...]) -> dict[str, Word]:
    """The words in the brackets by parameter; one whose name ends with "?" may be omitted."""
    names = [name.removesuffix("?") for name in parameters]
    usage = f"{call.text}({', '.join(names)})" if names else call.text
    words: dict[str, Word] = {}
    for position, word in enumerate(call.arguments or ()):
        first = word.keyword or word
        if word.keyword is None and position >= len(names):
            rule.refuse(f"too many arguments; write {usage}", word.place)
        name = names[position] if word.keyword is None else word.keyword.text
        if name not in names:
            raise rule.unknown(first, UnknownNameError("argument", name, names))
        if name in words:
            rule.refuse(f"{name!r} is given twice; write {usage}", first.place)
        if word.arguments is not None:
            problem = "expected a name or a number; only ci_low and ci_high take a figure"
            rule.refuse(f"{problem}. Quote a name that has brackets", word.place)
        words[name] = word
    for name in parameters:
        if name not in words and not name.endswith("?"):
            # At the closing bracket, where the argument would go.
            place = call.end if call.arguments is None else call.end - 1
            rule.refuse(f"{call.text} needs a {name}: {usage}", place)
    return words


# -- what a rule asks of a pipeline


@dataclass(frozen=True, eq=False)
class RuleRequest:
    """What a rule asks of one pipeline."""

    rule: Rule
    name: str
    figure: gf.GateFigure
    metric: Metric | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    limit: str = ""
    operator: str = ""
    threshold: float = math.nan

    @property
    def is_claim(self) -> bool:
        """Whether the rule is a claim of its own, without operator and threshold."""
        return self.name == gf.NO_REGRESSION and not self.limit

    @property
    def is_pair(self) -> bool:
        """Whether it is about a baseline and a candidate."""
        return self.figure.of == "pair"

    @property
    def rises(self) -> bool:
        """Whether higher is better."""
        return self.metric is None or self.metric.greater_is_better

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

    def measure(self, run: gf.GatedRun) -> gf.Measurement:
        """The value that the rule asks for."""
        target: gf.GatedRun | gf.GateColumn | gf.ComparedPair = run
        if self.metric is not None:
            target = run.pair(self.metric) if self.is_pair else run.column(self.metric)
        measured = self.figure.measure(target, **self.arguments)
        needs_direction = self.name in (gf.NO_REGRESSION, "wins", "losses")
        if needs_direction and self.metric and not self.metric.direction_is_known:
            question = (direction_question(self.metric.name),)
            return replace(measured, value=math.nan, test=None, notes=question, is_impossible=True)
        if not self.limit:
            return measured
        value = measured.low if self.limit == "ci_low" else measured.high
        return replace(measured, value=value, estimate=measured.value)


def resolve_rule(rule: Rule, run: gf.GatedRun) -> RuleRequest:
    """The request that a rule is for one pipeline."""
    request = _resolve_call(rule, rule.call, run)
    if request.is_claim:
        if rule.operator:
            rule.refuse(f"{request.name} is complete without an operator", rule.operator_place)
        margin = request.arguments["margin"]
        operator, threshold = (">", -margin) if request.rises else ("<", margin)
        return replace(request, operator=operator, threshold=threshold)
    if not rule.operator:
        problem = f"expected an operator and a threshold, such as {request.text} >= 0.8"
        rule.refuse(problem, len(rule.text))
    metric = request.metric
    possible = request.figure.value_range(metric if metric is not None else Metric("run"))
    threshold = _checked_number(rule, rule.threshold_word, possible, request.text, metric)
    return replace(request, operator=rule.operator, threshold=threshold)


def _resolve_call(rule: Rule, call: Word, run: gf.GatedRun) -> RuleRequest:
    name, arguments = call.text.lower(), call.arguments or ()
    if name in gf.LIMITS:
        # The end of an interval: of a figure, or of the mean if only a metric is named.
        if len(arguments) == 1 and arguments[0].arguments is not None:
            request = _resolve_call(rule, arguments[0], run)
            if request.is_claim or request.limit:
                problem = f"{request.figure_label} has no interval of its own"
                rule.refuse(problem, arguments[0].place)
            return replace(request, limit=name)
        word = bind_arguments(rule, call, ("metric",))["metric"]
        of = find_metric(rule, word, run.evaluation.metrics)
        return RuleRequest(rule, "mean", gf.FIGURES["mean"], of, limit=name)
    figure, values = _find_figure(rule, call, run), dict[str, Any]()
    words = bind_arguments(rule, call, figure.parameters)
    known = run.evaluation.metrics
    if figure.of == "pair" and run.pairing is not None:
        known = {ours.name: ours for ours, _ in run.pairing.metrics}
    metric: Metric | None = None
    if "metric" in words:
        metric = find_metric(rule, words["metric"], known)
    for key, word in words.items():
        if key in figure.choices:
            if word.text not in figure.choices[key]:
                raise rule.unknown(word, UnknownNameError(key, word.text, figure.choices[key]))
            values[key] = word.text
        elif metric is None:
            values[key] = rule.number(word)
        elif key == "threshold":
            values[key] = _checked_number(rule, word, metric.bounds, metric.name, metric)
        elif key != "metric":
            possible = gf.difference_range(metric) if key == "margin" else metric.bounds
            values[key] = _in_unit(rule, word, possible, metric.name)
    if name == gf.NO_REGRESSION and metric is not None:
        values["margin"] = _check_margin(rule, words, values.get("margin"), metric, run)
    return RuleRequest(rule, name, figure, metric, values)


def _find_figure(rule: Rule, word: Word, run: gf.GatedRun) -> gf.GateFigure:
    name = word.text.lower()
    known = {**gf.FIGURES, **({} if run.comparison is None else gf.PAIR_FIGURES)}
    # A word in quotes is a name, so a metric may be called "mean".
    if name in known and not word.is_quoted:
        return known[name]
    try:
        percentile = gf.percentile_figure(name)
    except DataError as exc:
        rule.refuse(str(exc), word.place)
    if percentile is not None:
        return percentile
    if name in gf.PAIR_FIGURES:
        rule.refuse(f"{name} needs a baseline: {IN_PYTHON}", word.place)
    names = sorted([*known, *gf.LIMITS, "p95"])
    is_metric = False
    with contextlib.suppress(UnknownNameError, DataError):
        is_metric = word.arguments is None and bool(resolver(run.evaluation.metrics)(word.text))
    if is_metric:
        example = f"mean({word.written}). Known: {', '.join(names)}"
        problem = f"{word.text} is a metric; name one of its figures, such as {example}"
        rule.refuse(problem, word.place)
    raise rule.unknown(word, UnknownNameError("figure", word.text, names))


def _check_margin(
    rule: Rule, words: Mapping[str, Word], margin: float | None, metric: Metric, run: gf.GatedRun
) -> float:
    """The margin of the rule, or else that of the comparison; positive, and not the whole range."""
    plan, method = run.pair(metric).comparison.plan, words.get(gf.MARGIN_METHOD)
    is_strict = (method.text if method else plan.margin_method) == STRICT
    if is_strict and (problem := what_strict_lacks(metric)):
        rule.refuse(problem, (method or words["metric"]).place)
    if margin is None:
        planned = plan.margin_of(metric)
        if planned is None:
            usage = f"no_regression({words['metric'].written}, margin=0.02)"
            rule.refuse(f"say how much worse would not matter: {usage}", rule.call.end - 1)
        return planned
    place, possible = words["margin"].place, gf.difference_range(metric)
    if not margin > 0:
        rule.refuse("margin must be a number above 0", place)
    if possible is not None and margin >= possible[1]:
        problem = f"no difference of {metric.name} is larger than {possible[1]:g}"
        hint = _percent_hint(margin, possible)
        rule.refuse(f"{problem}, so this never fails. {hint}".rstrip(), place)
    return margin


# -- the numbers in a rule


def _in_unit(rule: Rule, word: Word, possible: gf.ValueRange | None, what: str) -> float:
    """A number of a rule in the unit of what it is compared with: 80 % of 0 to 100 is 80."""
    value = rule.number(word)
    if not word.is_percent:
        return value
    if possible is None or math.isinf(possible[1]):
        rule.refuse(f"{what} is not a share, so write a number in its unit", word.place)
    low, high = possible
    if low > 0.0:
        problem = f"{what} runs from {low:g} to {high:g}, where a percentage has two meanings"
        rule.refuse(f"{problem}; write a number in its unit, such as {high - 1:g}", word.place)
    # Rounded, because 0.29 * 100 is 28.999999999999996.
    return value if high == 1.0 else round(value * high, 12)


def _checked_number(
    rule: Rule,
    word: Word,
    possible: gf.ValueRange | None,
    what: str,
    metric: Metric | None,
) -> float:
    """The same, if it is possible: with any other one a rule never fails, or never holds."""
    value = _in_unit(rule, word, possible, what)
    if possible is None:
        return value
    if metric is not None and not word.is_percent and gf.is_share_elsewhere(metric):
        _check_scale(rule, word, value, possible, metric)
    low, high = possible
    if not low <= value <= high:
        ends = f"at least {low:g}" if math.isinf(high) else f"from {low:g} to {high:g}"
        problem = f"{what} is {ends}, so {value:g} cannot be right."
        rule.refuse(f"{problem} {_percent_hint(value, possible)}".rstrip(), word.place)
    return value


def _check_scale(
    rule: Rule, word: Word, value: float, possible: gf.ValueRange, metric: Metric
) -> None:
    """Refuse a bare number that only fits a scale from 0 to 1, of scores on a larger one."""
    low, high = metric.bounds or (0.0, 1.0)
    size, of_scores = abs(value), possible == metric.bounds
    # One of 100 is a difference that somebody may mean; a mean of 1 is of either scale.
    is_odd = 0.0 < size < 1.0 or (of_scores and size == 1.0 and low == 0.0)
    if not is_odd or not (of_scores or (high >= 100.0 and possible[0] < 0.0)):
        return
    right = f"a number from {low:g} to {high:g}"
    if low == 0.0:
        same = f"{100 * value / high:g}%"
        right = f"{high * value:g} or {100 * value:g}%; for {value:g} of {high:g} write {same}"
    scales = f"runs from {low:g} to {high:g}, and {value:g} only fits a scale from 0 to 1"
    rule.refuse(f"{metric.name} {scales}. Write {right}", word.place)


def _percent_hint(value: float, possible: gf.ValueRange) -> str:
    return f"Did you mean {value:g}%?" if possible[1] <= 1 < value <= 100 else ""
