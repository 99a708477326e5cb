"""The parts of a sentence: numbers, p-values, lists of names, the name of a correction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

# Scores differ by rounding, or by more than this.
_BESIDE_ZERO = 1e-12


def number(value: float) -> str:
    """A number in a sentence: three decimals for shares, fewer for large values.

    Examples
    --------
    >>> number(0.0432), number(12.345), number(1234.5), number(2.2e-308)
    ('0.043', '12.3', '1234', 'just above 0')
    """
    size = abs(value)
    # The limit of an interval that does not contain 0, but all numbers beside it.
    if 0.0 < size < _BESIDE_ZERO:
        return "just above 0" if value > 0 else "just below 0"
    if size >= 100:
        return f"{value:.0f}"
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.3f}" if size >= 0.001 or value == 0 else f"{value:.2g}"


def pvalue_text(pvalue: float) -> str:
    """A p-value after "p", with its sign of relation.

    Examples
    --------
    >>> pvalue_text(0.00004), pvalue_text(0.0213), pvalue_text(0.61)
    ('< 0.001', '= 0.021', '= 0.61')
    """
    if pvalue < 0.001:
        return "< 0.001"
    return f"= {pvalue:.2g}" if pvalue < 0.1 else f"= {pvalue:.2f}"


def rounded_count(n: int) -> str:
    """An estimated count to two significant digits, rounded up.

    Examples
    --------
    >>> rounded_count(86), rounded_count(4873)
    ('86', '4900')
    """
    if n < 100:
        return str(n)
    digits = len(str(n)) - 2
    # Up, because fewer would not be enough.
    return f"{math.ceil(n / 10**digits) * 10**digits}"


_ADJUSTMENTS = {
    "bh": "Benjamini–Hochberg-adjusted",
    "bonferroni": "Bonferroni-adjusted",
    "by": "Benjamini–Yekutieli-adjusted",
    "hochberg": "Hochberg-adjusted",
    "holm": "Holm-adjusted",
    "none": "uncorrected",
    "westfall-young": "Westfall–Young-adjusted",
}


def correction_text(correction: str) -> str:
    """How a correction of p-values is called in a sentence.

    Examples
    --------
    >>> correction_text("holm"), correction_text("none"), correction_text("mine")
    ('Holm-adjusted', 'uncorrected', 'mine-adjusted')
    """
    return _ADJUSTMENTS.get(correction, f"{correction}-adjusted")


def correction_note(correction: str, n_tests: int, alpha: float, unit: str = "tests") -> str:
    """The note on the correction of a table of several tests.

    Examples
    --------
    >>> correction_note("none", 4, 0.05)
    '4 tests without correction: about 0.2 false alarms are expected where nothing differs'
    """
    if correction == "none":
        return (
            f"{n_tests} tests without correction: about {n_tests * alpha:.1g} false alarms are "
            "expected where nothing differs"
        )
    return f"p-values are adjusted ({correction}) over the {n_tests} {unit} of this table"


# What each correction of the false discovery rate assumes.
_FALSE_DISCOVERY = {
    "bh": (
        "it assumes that the tests are independent, as those of groups without common queries are, "
        'or positively related; correction="by" does not'
    ),
    "by": "it assumes nothing of how the tests are related",
}


def false_discovery_notes(correction: str, n_shown: int, alpha: float) -> list[str]:
    """What a false discovery rate says of the groups that are shown to differ.

    Parameters
    ----------
    correction : str
        The correction.
    n_shown : int
        The number of findings.
    alpha : float
        The error rate.

    Returns
    -------
    list of str
        Empty for other corrections, or without a finding.

    Examples
    --------
    >>> false_discovery_notes("holm", 3, 0.05)
    []
    >>> [note] = false_discovery_notes("by", 3, 0.05)
    >>> note.partition(":")[0]
    'of the slices shown to differ here (3), about one in 20 may be noise'
    """
    assumption = _FALSE_DISCOVERY.get(correction)
    if assumption is None or not n_shown:
        return []
    return [
        f"of the slices shown to differ here ({n_shown}), about one in {1 / alpha:.0f} may be "
        f"noise: {correction!r} limits the share of false findings, not the chance of a single "
        f'one, as "holm" does; {assumption}'
    ]


def join_names(names: Sequence[str]) -> str:
    """Names as a sentence lists them.

    Examples
    --------
    >>> join_names(["bm25"]), join_names(["bm25", "dense", "hybrid"])
    ('bm25', 'bm25, dense and hybrid')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def filled_notes(n: int) -> tuple[str, ...]:
    """A note on missing scores that count as the worst possible ones; none if there are none.

    Examples
    --------
    >>> filled_notes(2)
    ('2 unscored queries count as the worst possible score',)
    """
    if not n:
        return ()
    queries = "query counts" if n == 1 else "queries count"
    return (f"{n} unscored {queries} as the worst possible score",)


def group_notes(notes: Iterable[tuple[str, str]], n_metrics: int) -> list[str]:
    """Notes on metrics, each text once with all metrics to which it applies.

    Parameters
    ----------
    notes : iterable of (str, str)
        A metric and a note on it.
    n_metrics : int
        The number of metrics in the table.

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
