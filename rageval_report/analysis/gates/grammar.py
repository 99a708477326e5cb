"""The grammar of a rule: a figure, its arguments, an operator, a threshold.

::

    rule      = call [operator number]
    call      = figure [ "(" [argument {"," argument}] ")" ]
    argument  = [keyword "="] (call | name | number)
    operator  = ">=" | ">" | "<=" | "<" | "=="
    number    = as in Python, optionally followed by "%"
    name      = anything without ( ) , = < > and quotes, or anything in quotes

Blanks are free. An error points at the place in the rule.
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
        The character to which the message points, counted from 0.
    source : str
        Where the rule comes from, such as "gates.toml, line 3"; the message begins with it.

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
        super().__init__("\n  ".join((self.headline, *self.pointer)))

    @property
    def headline(self) -> str:
        """Where the rule comes from and what is wrong, on one line."""
        return f"{self.source}: {self.problem}" if self.source else self.problem

    @property
    def pointer(self) -> tuple[str, str]:
        """The rule, and under it a caret below the character that is wrong."""
        # A line break or a control character would move the caret away from its character.
        line = "".join(" " if _is_invisible(character) else character for character in self.rule)
        return line, " " * _width(line[: self.place]) + "^"

    # Pickle would call the class with the finished message alone.
    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.problem, self.rule, self.place, self.source)

    __str__ = Exception.__str__


class UnknownInRuleError(RuleError, UnknownNameError):
    """A rule names an unknown metric or figure; also an `UnknownNameError`."""

    def __init__(  # the arguments of `RuleError`: it builds the message, not its other parent
        self, problem: str, rule: str, place: int, source: str = ""
    ):
        self.problem, self.rule, self.place, self.source = problem, rule, place, source
        Exception.__init__(self, "\n  ".join((self.headline, *self.pointer)))


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")


def _width(text: str) -> int:
    """The number of screen columns of a text, to place the caret under the right character."""
    n_wide = sum(unicodedata.east_asian_width(character) in ("W", "F") for character in text)
    n_combining = sum(unicodedata.combining(character) > 0 for character in text)
    return len(text) + n_wide - n_combining


@dataclass(frozen=True, slots=True)
class Word:
    """A name or a number in a rule, and its place."""

    text: str
    place: int
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a figure: a word, or another figure; with its keyword if it has one."""

    value: Word | Call
    keyword: Word | None = None

    @property
    def place(self) -> int:
        """The index of its first character."""
        return self.value.place if self.keyword is None else self.keyword.place


@dataclass(frozen=True, slots=True)
class Call:
    """A figure and its arguments; `arguments` is None if there are no brackets."""

    figure: Word
    arguments: tuple[Argument, ...] | None
    end: int

    @property
    def place(self) -> int:
        """The index of its first character."""
        return self.figure.place


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, parsed.

    Parameters
    ----------
    text : str
        As it was written, without blanks around it.
    call : Call
        The figure with its arguments.
    operator : str
        One of `OPERATORS`; empty if the figure is a claim of its own.
    operator_place : int
        The index of the operator, or of the character where one is expected.
    threshold : float
        NaN if there is none.
    threshold_place : int
        The index of the threshold.
    source : str
        Where the rule was read, such as "gates.toml, line 3".
    """

    text: str
    call: Call
    operator: str = ""
    operator_place: int = 0
    threshold: float = math.nan
    threshold_place: int = 0
    source: str = ""

    def refuse(self, problem: str, place: int) -> NoReturn:
        """Raise an error that points at a character of this rule."""
        raise RuleError(problem, self.text, place, self.source)

    def number(self, word: Word) -> float:
        """The number that a word is; 5 % is 0.05.

        Raises
        ------
        RuleError
            If it is not a number.
        """
        return _Cursor(self.text, self.source).number_in(word)


def parse_rule(text: str | Rule, source: str = "") -> Rule:
    """Parse a rule.

    Parameters
    ----------
    text : str
        Such as "ci_low(recall@5) >= 0.7"; a rule that is already parsed is returned as it is.
    source : str
        Where it comes from, for error messages.

    Raises
    ------
    RuleError
        If it cannot be read; the message points at the character.
    DataError
        If it is not a text.

    Examples
    --------
    >>> rule = parse_rule("share_below('Own Score', 0.5) <= 5%")
    >>> rule.call.figure.text, rule.operator, rule.threshold
    ('share_below', '<=', 0.05)
    >>> parse_rule("mean(mrr => 0.5")
    Traceback (most recent call last):
        ...
    rageval_report.analysis.gates.grammar.RuleError: expected "," or ")" here
      mean(mrr => 0.5
               ^
    """
    if isinstance(text, Rule):
        return text
    if not isinstance(text, str):
        raise DataError(f'a rule must be a text, such as "mean(faithfulness) >= 0.8"; got {text!r}')
    if len(text.strip()) > LONGEST_RULE:
        raise DataError(f"a rule has at most {LONGEST_RULE} characters; got {len(text.strip())}")
    return _Cursor(text.strip(), source).rule()


class _Cursor:
    """A rule and the index of the next character to read."""

    def __init__(self, text: str, source: str):
        self.text = text
        self.source = source
        self.place = 0

    def rule(self) -> Rule:
        if not self.text:
            self.refuse('expected a rule, such as "mean(faithfulness) >= 0.8"; got nothing')
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
        return self.call_of(self.word("a figure, such as mean(faithfulness),"), depth)

    def call_of(self, figure: Word, depth: int) -> Call:
        arguments = self.arguments(depth) if self.peek() == "(" else None
        # The text of a word is without its quotes.
        bare_end = figure.place + len(figure.text) + 2 * figure.is_quoted
        end = bare_end if arguments is None else self.place
        self.blanks()
        return Call(figure, arguments, end)

    def arguments(self, depth: int) -> tuple[Argument, ...]:
        if depth > _DEEPEST:
            self.refuse("a rule cannot be nested deeper than a figure of a figure")
        self.place += 1
        arguments: list[Argument] = []
        while self.peek() != ")":
            if arguments:
                self.expect(",", 'expected "," or ")" here')
            arguments.append(self.argument(depth))
        self.place += 1
        return tuple(arguments)

    def argument(self, depth: int) -> Argument:
        word = self.word("a metric or a number")
        if (
            self.peek() == "="
            and not word.is_quoted
            # An operator inside the brackets is a mistake, which `expect` reports, not a keyword.
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
            self.refuse(f"{sign[0]!r} is not an operator{hint}")
        self.place = sign.end()
        return sign[0]

    def number_in(self, word: Word) -> float:
        text = word.text.removesuffix("%").rstrip()
        number = float(text) if _NUMBER.fullmatch(text) and not word.is_quoted else math.nan
        if not math.isfinite(number):
            self.place = word.place
            self.refuse(f"expected a number, such as 0.8 or 80%; got {word.text!r}")
        return number / 100 if word.text.endswith("%") else number

    def peek(self) -> str:
        self.blanks()
        return self.text[self.place : self.place + 1]

    def expect(self, sign: str, problem: str) -> None:
        if self.peek() != sign:
            self.refuse(problem)
        self.place += 1

    def blanks(self) -> None:
        match = _BLANKS.match(self.text, self.place)
        self.place = self.place if match is None else match.end()

    def refuse(self, problem: str) -> NoReturn:
        raise RuleError(problem, self.text, self.place, self.source)
