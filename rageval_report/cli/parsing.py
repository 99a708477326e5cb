"""The small notations of the command line: rules, bounds, lists of numbers, thresholds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import click

from rageval_report.errors import DataError

_THRESHOLD = re.compile(r"^\s*(?P<metric>.+?)\s*(?P<sign>>=|<=)\s*(?P<threshold>\S+)\s*$")
_RULE_HELP = (
    "write the name of a metric or of a column of booleans, or thresholds such as "
    "'faithfulness>=0.8', separated by commas"
)
_SIZES = (
    "{} {!r}: expected one number for all metrics, such as 0.02, or each metric once, such "
    "as faithfulness=0.05,latency_ms=50"
)


class Threshold(NamedTuple):
    """A part of a rule, such as ``faithfulness>=0.8``."""

    metric: str
    sign: str
    value: float


def parse_correct_rule(text: str) -> str | dict[str, float]:
    """What a correct answer is: a name, or the thresholds that must all hold.

    Examples
    --------
    >>> parse_correct_rule("exact_match")
    'exact_match'
    >>> parse_correct_rule("faithfulness>=0.8, latency_ms<=2000")
    {'faithfulness': 0.8, 'latency_ms': 2000.0}
    """
    if "," not in text and not re.search("[<>]", text):
        return text.strip()
    return {threshold.metric: threshold.value for threshold in parse_thresholds(text)}


def metrics_in_rule(text: str | None) -> list[str]:
    """The metrics, or the column of booleans, that a rule names.

    Examples
    --------
    >>> metrics_in_rule("faithfulness>=0.8, latency_ms<=2000")
    ['faithfulness', 'latency_ms']
    """
    rule = None if text is None else parse_correct_rule(text)
    return [rule] if isinstance(rule, str) else list(rule or ())


def parse_thresholds(text: str) -> list[Threshold]:
    """The thresholds of a rule.

    Examples
    --------
    >>> parse_thresholds("faithfulness>=0.8")
    [Threshold(metric='faithfulness', sign='>=', value=0.8)]
    """
    thresholds = []
    for part in text.split(","):
        match = _THRESHOLD.match(part)
        if match is None:
            raise DataError(f"--correct {text!r} is not a rule: {_RULE_HELP}")
        try:
            value = float(match["threshold"])
        except ValueError as exc:
            raise DataError(
                f"--correct {text!r}: {match['threshold']!r} is not a number; {_RULE_HELP}"
            ) from exc
        thresholds.append(Threshold(match["metric"], match["sign"], value))
    return thresholds


def metric_overrides(
    lower: Sequence[str], higher: Sequence[str], bounds: Sequence[tuple[str, float, float]]
) -> dict[str, dict[str, Any]]:
    """What ``--lower``, ``--higher`` and ``--bounds`` say about each metric.

    Examples
    --------
    >>> metric_overrides(("loss",), (), (("loss", 0.0, 9.0),))
    {'loss': {'greater_is_better': False, 'bounds': (0.0, 9.0)}}
    """
    both = sorted(set(lower) & set(higher))
    if both:
        raise DataError(f"{both[0]!r} is given to --lower and to --higher; give it to one of them")
    overrides: dict[str, dict[str, Any]] = {}
    for name in (*lower, *higher):
        overrides.setdefault(name, {})["greater_is_better"] = name in higher
    for name, low, high in bounds:
        overrides.setdefault(name, {})["bounds"] = (low, high)
    return overrides


def parse_bounds(text: str) -> tuple[str, float, float]:
    """The metric and its bounds in NAME=LOW:HIGH.

    Examples
    --------
    >>> parse_bounds("relevance=1:5")
    ('relevance', 1.0, 5.0)
    """
    metric, _, ends = text.rpartition("=")
    low, _, high = ends.partition(":")
    try:
        return metric.strip(), float(low), float(high)
    except ValueError as exc:
        raise DataError(
            f"--bounds {text!r}: expected NAME=LOW:HIGH, such as relevance=1:5"
        ) from exc


def parse_range(text: str) -> tuple[float, float]:
    """The two numbers of LOW:HIGH.

    Examples
    --------
    >>> parse_range("1:5")
    (1.0, 5.0)
    """
    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError as exc:
        raise DataError(f"--label-bounds {text!r}: expected LOW:HIGH, such as 1:5") from exc


def parse_pair(text: str) -> tuple[str, str]:
    """The two sides of NAME=VALUE.

    Examples
    --------
    >>> parse_pair("delimiter=;")
    ('delimiter', ';')
    """
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise DataError(f"--option {text!r}: expected NAME=VALUE, such as delimiter=;")
    return name, value


def parse_role(text: str) -> tuple[str, str]:
    """The column and its role in COLUMN=ROLE; a column's name may contain "=".

    Examples
    --------
    >>> parse_role("model=pipeline")
    ('model', 'pipeline')
    """
    column, equals, role = text.rpartition("=")
    if not (column.strip() and equals):
        raise DataError(f"--role {text!r}: expected COLUMN=ROLE, such as model=pipeline")
    return column, role.strip()


def parse_pairs(texts: tuple[str, ...]) -> dict[str, str]:
    """The values by name of several NAME=VALUE; of one name, the last.

    Examples
    --------
    >>> parse_pairs(("answer=choices.0.text", "cost = usd"))
    {'answer': 'choices.0.text', 'cost': 'usd'}
    """
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            # Of 'Authorization: Bearer sk-...' the value is a key.
            shown = re.split(r"[=:\s]", text, maxsplit=1)[0]
            raise click.BadParameter(f"expected NAME=VALUE; got a text that begins with {shown!r}")
        values[name.strip()] = value.strip()
    return values


def parse_share(text: str) -> tuple[str, float]:
    """The name and the number of NAME=SHARE.

    Examples
    --------
    >>> parse_share("500=0.05")
    ('500', 0.05)
    """
    name, _, share = text.partition("=")
    try:
        return name.strip(), float(share)
    except ValueError as exc:
        raise click.BadParameter(f"expected NAME=SHARE, such as 500=0.05; got {text!r}") from exc


def parse_numbers(text: str) -> tuple[float, ...]:
    """Numbers that are separated by commas.

    Examples
    --------
    >>> parse_numbers("10, 25,50")
    (10.0, 25.0, 50.0)
    """
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as exc:
        raise DataError(
            f"expected numbers separated by commas, such as 10,25,50; got {text!r}"
        ) from exc


def parse_margin(text: str) -> float | dict[str, float]:
    """One margin for all metrics, or one per metric.

    Examples
    --------
    >>> parse_margin("0.02"), parse_margin("faithfulness=0.05, latency_ms=50")
    (0.02, {'faithfulness': 0.05, 'latency_ms': 50.0})
    """
    parts = [part.rpartition("=") for part in text.split(",")]
    try:
        if len(parts) == 1 and not parts[0][0]:
            return float(text)
        by_metric = {name.strip(): float(size) for name, _, size in parts}
    except ValueError as exc:
        raise DataError(_SIZES.format("--margin", text)) from exc
    if not all(by_metric) or len(by_metric) < len(parts):
        raise DataError(_SIZES.format("--margin", text))
    return by_metric


def parse_named_margins(text: str) -> dict[str, float]:
    """Margins of which each has a name.

    Examples
    --------
    >>> parse_named_margins("latency_ms=50")
    {'latency_ms': 50.0}
    """
    margins = parse_margin(text)
    if isinstance(margins, float):
        raise DataError(f"--margin {text!r}: write NAME=NUMBER, such as latency_ms=50")
    return margins


def parse_threshold(text: str) -> float | str:
    """A number, or else a word that the analysis knows, such as "p25" or "mean".

    Examples
    --------
    >>> parse_threshold("0.5"), parse_threshold("p25")
    (0.5, 'p25')
    """
    try:
        return float(text)
    except ValueError:
        return text
