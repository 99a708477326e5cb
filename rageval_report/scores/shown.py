"""What the scores of two pipelines show of one metric: the words, and the rule for each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

Shown = Literal[
    "worse", "better", "equivalent", "identical", "undecided", "not tested", "direction unknown"
]

WORSE: Shown = "worse"
BETTER: Shown = "better"
EQUIVALENT: Shown = "equivalent"
IDENTICAL: Shown = "identical"
UNDECIDED: Shown = "undecided"
NOT_TESTED: Shown = "not tested"
DIRECTION_UNKNOWN: Shown = "direction unknown"  # a difference, and nobody said what is better
# Verdicts of tables, for what is not tested and for what is undecided but not worse.
TOO_FEW, NOT_WORSE = "too few", "not worse than the margin"


def shown_by(row: Mapping[str, Any], alpha: float) -> Shown:
    """What a row of a table of paired comparisons shows of its metric.

    Parameters
    ----------
    row : mapping
        Its columns: ``n``, ``ties``, ``pvalue``, ``pvalue_adjusted``, ``difference``,
        ``greater_is_better``, and ``equivalence_pvalue_adjusted`` if there is a margin.
    alpha : float
        The error rate.

    Examples
    --------
    >>> row = {"n": 90, "ties": 7, "pvalue": 0.01, "pvalue_adjusted": 0.02, "difference": 320.0}
    >>> shown_by({**row, "greater_is_better": False}, 0.05)
    'worse'
    """
    if row["n"] and row["ties"] == row["n"]:
        return IDENTICAL
    if math.isnan(row["pvalue"]):
        return NOT_TESTED
    # To the last bit 1 - 0.95 is above 0.05, as in every verdict of the library.
    if row["pvalue_adjusted"] <= alpha:
        if not row.get("direction_is_known", True):
            return DIRECTION_UNKNOWN
        gain = row["difference"] if row["greater_is_better"] else -row["difference"]
        return BETTER if gain > 0 else WORSE
    is_equivalent = row.get("equivalence_pvalue_adjusted", math.nan) <= alpha
    return EQUIVALENT if is_equivalent else UNDECIDED


def verdict_word(row: Mapping[str, Any], alpha: float) -> str:
    """The verdict of a row of a table of paired comparisons, in a word or a few.

    Examples
    --------
    >>> row = {"n": 4, "ties": 1, "pvalue": math.nan, "pvalue_adjusted": math.nan}
    >>> verdict_word(row, 0.05)
    'too few'
    """
    shown = shown_by(row, alpha)
    is_known = row.get("direction_is_known", True)
    if (
        shown == UNDECIDED
        and is_known
        and row.get("non_inferiority_pvalue_adjusted", math.nan) <= alpha
    ):
        return NOT_WORSE
    return TOO_FEW if shown == NOT_TESTED else shown


def changed_text(wins: int, losses: int, *, noun: str = "") -> str:
    """On how many queries a pipeline is better and worse, and whether one more would undo it.

    Examples
    --------
    >>> changed_text(59, 24), changed_text(2, 1, noun="query")
    ('better on 59, worse on 24', 'better on 2, worse on 1 query')
    """
    counts = f"better on {wins:,}, worse on {losses:,}"
    return f"{counts}{f' {noun}' if noun else ''}"
