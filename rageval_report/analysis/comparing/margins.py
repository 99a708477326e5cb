"""Margins: tests that a difference of a metric is too small to matter, and their names."""

from __future__ import annotations

from rageval_report.analysis.arguments import has_formal_bounds
from rageval_report.errors import DataError
from rageval_report.scores import Metric
from rageval_report.stats.equivalence import (
    STRICT,
    Claim,
    EquivalenceResult,
    equivalence_test,
)
from rageval_report.stats.pairs import Pairs

# What "auto" is, unless all differences are equal; a sentence names the other methods.
_USUAL = ("sign-flip", "mcnemar")


def what_strict_lacks(metric: Metric) -> str:
    """What must be said of a metric before it can be tested strictly; empty if nothing.

    Examples
    --------
    >>> what_strict_lacks(Metric("latency_ms")).partition(";")[0]
    'margin_method "strict" needs the smallest and largest possible score of latency_ms'
    >>> what_strict_lacks(Metric("recall", kind="proportion"))
    ''
    """
    if metric.bounds is not None and not has_formal_bounds(metric):
        return ""
    problem = f"needs the smallest and largest possible score of {metric.name}"
    if metric.bounds is not None:
        low, high = metric.bounds
        problem = (
            f"{problem}, and its bounds of {low:g} and {high:g} are a formality, with which "
            "nothing would be shown"
        )
    return (
        f'margin_method "{STRICT}" {problem}; say them with '
        f"metrics={{{metric.name!r}: {{'bounds': (low, high)}}}}, or choose another method"
    )


def compare_with_margin(
    pairs: Pairs,
    metric: Metric,
    margin: float,
    *,
    method: str,
    alpha: float,
    alternative: Claim = "equivalence",
) -> EquivalenceResult:
    """The test of a claim about a metric, with the bounds that the metric has.

    Parameters
    ----------
    pairs : Pairs
        Independent pairs.
    metric : Metric
        What is compared.
    margin : float
        The largest difference that does not matter.
    method : str
        As in `rageval_report.stats.equivalence_test`.
    alpha : float
        The error rate.
    alternative : {"equivalence", "non-inferior"}
        The claim.

    Raises
    ------
    DataError
        If the method is "strict" and the metric's bounds are missing, or a formality.

    Examples
    --------
    >>> pairs = Pairs.of([0.5] * 100, [0.5, 0.6] * 50)
    >>> recall = Metric("recall", kind="proportion")
    >>> compare_with_margin(pairs, recall, 0.1, method="strict", alpha=0.05).method
    'strict'
    """
    if method == STRICT and (problem := what_strict_lacks(metric)):
        raise DataError(problem)
    return equivalence_test(
        pairs,
        None,
        margin,
        alpha=alpha,
        alternative=alternative,
        method=method,
        bounds=metric.bounds,
        bounds_are_formal=has_formal_bounds(metric),
    )


def is_usual(test: EquivalenceResult) -> bool:
    """Whether a sentence need not name the method.

    Examples
    --------
    >>> pairs = Pairs.of([0] * 20, [0.1, -0.1] * 10)
    >>> [is_usual(equivalence_test(pairs, None, 0.1, method=name)) for name in ("auto", "t")]
    [True, False]
    """
    return test.method in _USUAL


def interval_name(test: EquivalenceResult, level: float) -> str:
    """What the interval of a test is called: its level, after the method if it is not a default.

    Examples
    --------
    >>> found = equivalence_test([0] * 20, [0.1, -0.1] * 10, 0.1)
    >>> interval_name(found, 0.9)
    '90 % CI'
    """
    method = "" if is_usual(test) else f"{test.method} "
    return f"{method}{100 * level:g} % CI"
