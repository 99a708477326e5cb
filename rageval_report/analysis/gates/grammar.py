"""The grammar of a rule: a figure, what it is asked of, an operator, a threshold.

::

    rule      = call [operator number]
    call      = figure [ "(" [argument {"," argument}] ")" ]
    argument  = [keyword "="] (call | name | number)
    operator  = ">=" | ">" | "<=" | "<" | "=="
    number    = as Python writes it, or with "%" behind
    name      = anything without ( ) , = < > and quotes, or anything in quotes

Blanks are free. Whatever is wrong is told with the place in the rule.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from typing import NoReturn

from rageval_report.errors import DataError, UnknownNameError

OPERATORS = (">=", ">", "<=", "<", "==")
LONGEST_RULE = 1000
_DEEPEST = 2  # a figure of a figure, as ci_low(difference(recall@5))

_BLANKS = re.compile(r"\s*")
_BARE = re.compile(r"""[^()<>=,"']+""")
_QUOTED = re.compile(r""""(?P<double>[^"]*)"|'(?P<single>[^']*)'""")
_OPERATOR = re.compile(r"[<>=!≤≥]+")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_MEANT = {"=": "==", "=>": ">=", "=<": "<=", "≥": ">=", "≤": "<="}


class RuleError(DataError):
    """A rule that makes no sense, with the place of what is wrong.

    Parameters
    ----------
    problem : str
        What is wrong and what to do.
    rule : str
        The rule as it was written.
    place : int
        The character that is pointed at, counted from 0.
    source : str
        Where the rule stands, as "gates.toml, line 3"; it opens the message.

    Examples
    --------
    >>> print(RuleError("expected a number", "mean(mrr) >= high", 13))
    expected a number
      mean(mrr) >= high
                   ^
    """

    def __init__(self, problem: str, rule: str, place: int, source: str = ""):
        self.problem = problem
        self.rule = rule
        self.place = place
        self.source = source
        super().__init__("\n  ".join((self.told, *self.pointer)))

    @property
    def told(self) -> str:
        """What is wrong, and where the rule stands, on one line."""
        return f"{self.source}: {self.problem}" if self.source else self.problem

    @property
    def pointer(self) -> tuple[str, str]:
        """The rule, and under it a caret below the character that is wrong."""
        line = "".join(" " if _is_unseen(one) else one for one in self.rule)
        return line, " " * _width(line[: self.place]) + "^"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.problem, self.rule, self.place, self.source)

    __str__ = Exception.__str__


class UnknownInRuleError(RuleError, UnknownNameError):
    """A rule names a metric or a figure that is not there; also an `UnknownNameError`."""

    def __init__(  # the arguments of `RuleError`: it builds the message, not its other parent
        self, problem: str, rule: str, place: int, source: str = ""
    ):
        self.problem, self.rule, self.place, self.source = problem, rule, place, source
        Exception.__init__(self, "\n  ".join((self.told, *self.pointer)))


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")


def _width(text: str) -> int:
    """How many columns of a screen a text takes, so that the caret stands where it should."""
    wide = sum(unicodedata.east_asian_width(one) in ("W", "F") for one in text)
    return len(text) + wide - sum(unicodedata.combining(one) > 0 for one in text)


@dataclass(frozen=True, slots=True)
class Word:
    """A name or a number in a rule, and where it stands."""

    text: str
    place: int
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class Argument:
    """What a figure is asked of: a word, or another figure; with its keyword if it has one."""

    value: Word | Call
    keyword: Word | None = None

    @property
    def place(self) -> int:
        """Where it begins."""
        return self.value.place if self.keyword is None else self.keyword.place


@dataclass(frozen=True, slots=True)
class Call:
    """A figure and its arguments; `arguments` is None where there are no brackets."""

    figure: Word
    arguments: tuple[Argument, ...] | None
    end: int

    @property
    def place(self) -> int:
        """Where it begins."""
        return self.figure.place


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, parsed.

    Parameters
    ----------
    text : str
        As it was written, without blanks around it.
    call : Call
        The figure that is asked for.
    operator : str
        One of `OPERATORS`; empty where the figure is a claim of its own.
    operator_place : int
        Where the operator stands, or would stand.
    threshold : float
        NaN where there is none.
    threshold_place : int
        Where the threshold stands.
    source : str
        Where the rule was read, as "gates.toml, line 3".
    """

    text: str
    call: Call
    operator: str = ""
    operator_place: int = 0
    threshold: float = math.nan
    threshold_place: int = 0
    source: str = ""

    def refuse(self, problem: str, place: int) -> NoReturn:
        """Raise, pointing at a character of this rule."""
        raise RuleError(problem, self.text, place, self.source)

    def number(self, word: Word) -> float:
        """The number that a word is; 5 % is 0.05.

        Raises
        ------
        RuleError
            If it is none.
        """
        return _Cursor(self.text, self.source).number_in(word)


def parse_rule(text: str | Rule, source: str = "") -> Rule:
    """A rule as its parts.

    Parameters
    ----------
    text : str
        As "ci_low(recall@5) >= 0.7"; a rule that is parsed already is handed back.
    source : str
        Where it stands, for error messages.

    Raises
    ------
    RuleError
        If it cannot be read; the message points at the character.
    DataError
        If it is no text.

    Examples
    --------
    >>> rule = parse_rule("share_below('Own Score', 0.5) <= 5%")
    >>> rule.call.figure.text, rule.operator, rule.threshold
    ('share_below', '<=', 0.05)
    >>> parse_rule("mean(mrr => 0.5")
    Traceback (most recent call last):
        ...
    rageval_report.analysis.gates.grammar.RuleError: expected , or ) here
      mean(mrr => 0.5
               ^
    """
    if isinstance(text, Rule):
        return text
    if not isinstance(text, str):
        raise DataError(f'a rule is a text, as "mean(faithfulness) >= 0.8"; got {text!r}')
    if len(text.strip()) > LONGEST_RULE:
        raise DataError(f"a rule has at most {LONGEST_RULE} characters; got {len(text.strip())}")
    return _Cursor(text.strip(), source).rule()


class _Cursor:
    """A rule and the place up to which it is read."""

    def __init__(self, text: str, source: str):
        self.text = text
        self.source = source
        self.place = 0

    def rule(self) -> Rule:
        if not self.text:
            self.refuse('expected a rule, as "mean(faithfulness) >= 0.8"; got nothing')
        call = self.call()
        place = self.place
        operator = self.operator()
        if not operator:
            return Rule(self.text, call, operator_place=place, source=self.source)
        word = self.word("a number")
        threshold = self.number_in(word)
        self.blanks()
        if self.place < len(self.text):
            self.refuse("expected the end of the rule; write two rules for two thresholds")
        return Rule(self.text, call, operator, place, threshold, word.place, self.source)

    def call(self, depth: int = 1) -> Call:
        return self.call_of(self.word("a figure, as mean(faithfulness)"), depth)

    def call_of(self, figure: Word, depth: int) -> Call:
        arguments = self.arguments(depth) if self.peek() == "(" else None
        bare_end = figure.place + len(figure.text) + 2 * figure.is_quoted
        end = bare_end if arguments is None else self.place
        self.blanks()
        return Call(figure, arguments, end)

    def arguments(self, depth: int) -> tuple[Argument, ...]:
        if depth > _DEEPEST:
            self.refuse("a figure of a figure is as deep as a rule goes")
        self.place += 1
        found: list[Argument] = []
        while self.peek() != ")":
            if found:
                self.expect(",", "expected , or ) here")
            found.append(self.argument(depth))
        self.place += 1
        return tuple(found)

    def argument(self, depth: int) -> Argument:
        word = self.word("a metric or a number")
        if (
            self.peek() == "="
            and not word.is_quoted
            and not self.text.startswith(("==", "=>", "=<"), self.place)
        ):
            self.place += 1
            return Argument(self.value(self.word("a value"), depth), word)
        return Argument(self.value(word, depth))

    def value(self, word: Word, depth: int) -> Word | Call:
        if self.peek() == "(" and not word.is_quoted:
            return self.call_of(word, depth + 1)
        return word

    def word(self, expected: str) -> Word:
        self.blanks()
        quoted = _QUOTED.match(self.text, self.place)
        if quoted is not None:
            place, self.place = self.place, quoted.end()
            text = quoted["double"] if quoted["double"] is not None else quoted["single"]
            return Word(text, place, is_quoted=True)
        if self.text[self.place : self.place + 1] in ('"', "'"):
            self.refuse("this quotation mark is never closed")
        bare = _BARE.match(self.text, self.place)
        if bare is None:
            self.refuse(f"expected {expected} here")
        place, self.place = self.place, bare.end()
        return Word(bare[0].strip(), place)

    def operator(self) -> str:
        if self.place == len(self.text):
            return ""
        sign = _OPERATOR.match(self.text, self.place)
        if sign is None:
            self.refuse(f"expected one of {' '.join(OPERATORS)} here")
        if sign[0] not in OPERATORS:
            meant = _MEANT.get(sign[0])
            hint = f"; did you mean {meant}?" if meant else f"; known: {' '.join(OPERATORS)}"
            self.refuse(f"{sign[0]!r} is no operator{hint}")
        self.place = sign.end()
        return sign[0]

    def number_in(self, word: Word) -> float:
        text = word.text.removesuffix("%").rstrip()
        number = float(text) if _NUMBER.fullmatch(text) and not word.is_quoted else math.nan
        if not math.isfinite(number):
            self.place = word.place
            self.refuse(f"expected a number, as 0.8 or 80%; got {word.text!r}")
        return number / 100 if word.text.endswith("%") else number

    def peek(self) -> str:
        self.blanks()
        return self.text[self.place : self.place + 1]

    def expect(self, sign: str, problem: str) -> None:
        if self.peek() != sign:
            self.refuse(problem)
        self.place += 1

    def blanks(self) -> None:
        found = _BLANKS.match(self.text, self.place)
        self.place = self.place if found is None else found.end()

    def refuse(self, problem: str) -> NoReturn:
        raise RuleError(problem, self.text, self.place, self.source)
