"""What is written in small on a command line: rules, bounds, lists of numbers, thresholds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from rageval_report._registry import load
from rageval_report.errors import DataError

if TYPE_CHECKING:
    from rageval_report.scores import Metric

_RULE = re.compile(r"^\s*(?P<metric>.+?)\s*(?P<sign>>=|<=)\s*(?P<threshold>\S+)\s*$")
_HOW = (
    "write the name of a metric or of a column of booleans, or thresholds as 'faithfulness>=0.8', "
    "several with commas between"
)

_MARGINS = (
    "--margin {!r}: expected a number for all metrics, as 0.02, or each metric once, as "
    "faithfulness=0.05,latency_ms=50"
)


def correct_rule(told: str) -> str | dict[str, float]:
    """What a correct answer is: a name, or the thresholds that must all hold.

    Examples
    --------
    >>> correct_rule("exact_match")
    'exact_match'
    >>> correct_rule("faithfulness>=0.8, latency_ms<=2000")
    {'faithfulness': 0.8, 'latency_ms': 2000.0}
    """
    if "," not in told and not re.search("[<>]", told):
        return told.strip()
    return {metric: threshold for metric, _, threshold in _thresholds(told)}


def metrics_in(told: str | None) -> list[str]:
    """The metrics, or the column of booleans, that a rule names."""
    rule = None if told is None else correct_rule(told)
    return [rule] if isinstance(rule, str) else list(rule or ())


def _thresholds(told: str) -> list[tuple[str, str, float]]:
    found = [_RULE.match(part) for part in told.split(",")]
    if not all(found):
        raise DataError(f"--correct {told!r} is no rule: {_HOW}")
    return [(one["metric"], one["sign"], _number(one["threshold"], told)) for one in found if one]


def _number(text: str, told: str) -> float:
    try:
        return float(text)
    except ValueError as exc:
        raise DataError(f"--correct {told!r}: {text!r} is no number; {_HOW}") from exc


def check_directions(told: str, metrics: Mapping[str, Metric]) -> None:
    """Refuse a threshold that asks for bad scores; which way is good, the metric knows.

    Raises
    ------
    DataError
        If a sign contradicts the metric's direction.
    """
    if isinstance(correct_rule(told), str):
        return
    resolve = load("rageval_report.scores:resolver")(metrics)
    for name, sign, threshold in _thresholds(told):
        metric = metrics[resolve(name)]
        right, way = (">=", "higher") if metric.greater_is_better else ("<=", "lower")
        if sign != right:
            raise DataError(
                f"{metric.name}: {way} is better, so a correct answer has "
                f"{metric.name}{right}{threshold:g}; if it is the other way, say so with "
                f"--{'lower' if metric.greater_is_better else 'higher'} {metric.name}"
            )


def overrides_of(
    lower: tuple[str, ...], higher: tuple[str, ...], bounds: tuple[tuple[str, float, float], ...]
) -> dict[str, dict[str, Any]]:
    """What the user knows better of each metric.

    Examples
    --------
    >>> overrides_of(("loss",), (), (("loss", 0.0, 9.0),))
    {'loss': {'greater_is_better': False, 'bounds': (0.0, 9.0)}}
    """
    both = set(lower) & set(higher)
    if both:
        raise DataError(f"{sorted(both)[0]!r} cannot be better both ways: --lower or --higher")
    known: dict[str, dict[str, Any]] = {}
    for name in (*lower, *higher):
        known.setdefault(name, {})["greater_is_better"] = name in higher
    for name, low, high in bounds:
        known.setdefault(name, {})["bounds"] = (low, high)
    return known


def bounds_of(told: str) -> tuple[str, float, float]:
    """The metric and its bounds in NAME=LOW:HIGH.

    Examples
    --------
    >>> bounds_of("relevance=1:5")
    ('relevance', 1.0, 5.0)
    """
    metric, _, ends = told.rpartition("=")
    low, _, high = ends.partition(":")
    try:
        return metric.strip(), float(low), float(high)
    except ValueError as exc:
        raise DataError(f"--bounds {told!r}: expected NAME=LOW:HIGH, as relevance=1:5") from exc


def pair_of(told: str) -> tuple[str, str]:
    """The two sides of NAME=VALUE.

    Examples
    --------
    >>> pair_of("delimiter=;")
    ('delimiter', ';')
    """
    name, equals, value = told.partition("=")
    if not (name and equals):
        raise DataError(f"--option {told!r}: expected NAME=VALUE, as delimiter=;")
    return name, value


def numbers_of(told: str) -> tuple[float, ...]:
    """Numbers with commas between.

    Examples
    --------
    >>> numbers_of("10, 25,50")
    (10.0, 25.0, 50.0)
    """
    try:
        return tuple(float(part) for part in told.split(","))
    except ValueError as exc:
        raise DataError(f"expected numbers with commas between, as 10,25,50; got {told!r}") from exc


def margin_of(told: str) -> float | dict[str, float]:
    """One margin for all metrics, or one a metric.

    Examples
    --------
    >>> margin_of("0.02"), margin_of("faithfulness=0.05, latency_ms=50")
    (0.02, {'faithfulness': 0.05, 'latency_ms': 50.0})
    """
    parts = [part.rpartition("=") for part in told.split(",")]
    try:
        if len(parts) == 1 and not parts[0][0]:
            return float(told)
        by_metric = {name.strip(): float(margin) for name, _, margin in parts}
    except ValueError as exc:
        raise DataError(_MARGINS.format(told)) from exc
    if not all(by_metric) or len(by_metric) < len(parts):
        raise DataError(_MARGINS.format(told))
    return by_metric


def threshold_of(told: str) -> float | str:
    """A number where it is one; else a word that the analysis knows, as "p25" or "mean".

    Examples
    --------
    >>> threshold_of("0.5"), threshold_of("p25")
    (0.5, 'p25')
    """
    try:
        return float(told)
    except ValueError:
        return told


def parsed(parse: Callable[[str], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """A callback for click that parses an option's text, or each of several."""

    def callback(_context: click.Context, _parameter: click.Parameter, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(parse(one) for one in value)
        return None if value is None else parse(value)

    return callback
