"""The checks on options that the paired statistics, power and equivalence share."""

from __future__ import annotations

from rageval_report.errors import DataError, UnknownNameError

ALTERNATIVES = ("two-sided", "less", "greater")


def check_alternative(alternative: str) -> str:
    """The alternative hypothesis, if it is one of SciPy's three.

    Examples
    --------
    >>> check_alternative("greater")
    'greater'
    """
    if alternative not in ALTERNATIVES:
        raise UnknownNameError("alternative", alternative, ALTERNATIVES)
    return alternative


def check_probability(name: str, value: float) -> float:
    """An error rate or a power, if it lies strictly between 0 and 1.

    Examples
    --------
    >>> check_probability("alpha", 0.05)
    0.05
    """
    if not 0.0 < value < 1.0:
        hint = f"; did you mean {value / 100}?" if 1 <= value < 100 else ""
        raise DataError(f"{name} must lie between 0 and 1; got {value}{hint}")
    return float(value)


def check_positive(name: str, value: float) -> float:
    """A finite number above zero.

    Examples
    --------
    >>> check_positive("margin", 0.02)
    0.02
    """
    if not 0.0 < value < float("inf"):
        raise DataError(f"{name} must be a finite number above 0; got {value}")
    return float(value)


def check_queries(n: int) -> int:
    """A number of queries from which a spread can be had: a whole number of at least 2.

    Examples
    --------
    >>> check_queries(40)
    40
    """
    if not 2 <= n < float("inf") or int(n) != n:
        raise DataError(f"n must be a whole number of at least 2 queries; got {n}")
    return int(n)
