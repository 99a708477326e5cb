"""How a sentence says a number."""

from __future__ import annotations

import math
from collections.abc import Iterable


def number(value: float) -> str:
    """A number as a sentence says it: three decimals for shares, fewer for large values.

    Examples
    --------
    >>> number(0.0432), number(12.345), number(1234.5)
    ('0.043', '12.3', '1234')
    """
    size = abs(value)
    if size >= 100:
        return f"{value:.0f}"
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.3f}" if size >= 0.001 or value == 0 else f"{value:.2g}"


def pvalue_text(pvalue: float) -> str:
    """A p-value with its sign of relation.

    Examples
    --------
    >>> pvalue_text(0.00004), pvalue_text(0.0213), pvalue_text(0.61)
    ('< 0.001', '= 0.021', '= 0.61')
    """
    if pvalue < 0.001:
        return "< 0.001"
    return f"= {pvalue:.2g}" if pvalue < 0.1 else f"= {pvalue:.2f}"


def rounded_count(n: int) -> str:
    """A count to two significant digits, rounded up, as an estimate deserves.

    Examples
    --------
    >>> rounded_count(86), rounded_count(4873)
    ('86', '4900')
    """
    if n < 100:
        return str(n)
    digits = len(str(n)) - 2
    return f"{math.ceil(n / 10**digits) * 10**digits}"


def group_notes(notes: Iterable[tuple[str, str]], n_metrics: int) -> list[str]:
    """Notes on metrics, each said once for all metrics of which it holds.

    Parameters
    ----------
    notes : iterable of (str, str)
        A metric and what is to be said of it.
    n_metrics : int
        How many metrics there are.

    Examples
    --------
    >>> group_notes([("recall", "2 left out"), ("f1", "2 left out"), ("f1", "identical")], 3)
    ['recall, f1: 2 left out', 'f1: identical']
    >>> group_notes([("recall", "2 left out"), ("f1", "2 left out")], 2)
    ['all 2 metrics: 2 left out']
    """
    by_text: dict[str, dict[str, None]] = {}
    for metric, text in notes:
        by_text.setdefault(text, {})[metric] = None
    return [
        f"all {n_metrics} metrics: {text}"
        if len(metrics) == n_metrics > 1
        else f"{', '.join(metrics)}: {text}"
        for text, metrics in by_text.items()
    ]
