"""Sizes that matter: usual differences of a metric, margins, losses too rare to be seen."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rageval_report.analysis.arguments import has_formal_bounds
from rageval_report.analysis.sentence_parts import number
from rageval_report.errors import DataError
from rageval_report.scores import Metric
from rageval_report.stats.equivalence import (
    STRICT,
    Claim,
    EquivalenceResult,
    RareLossBound,
    equivalence_test,
    hidden_losses,
    rare_loss_bound,
)
from rageval_report.stats.pairs import Pairs

# What "auto" is, unless all differences are equal; a sentence names the other methods.
_USUAL = ("sign-flip", "mcnemar")
# One size of a loss, or one per metric.
LossSize = float | Mapping[str, float]
RARE_LOSS_COLUMNS = ("rare_loss_size", "rare_loss_share", "rare_loss_difference")
# As shares of the range. The larger one comes first, because it needs fewer queries.
USUAL_SHARES = (0.05, 0.02)


def scale_of(metric: Metric, mean: float, sd: float) -> float:
    """The range of a metric; without bounds, as for latency, the size of its mean.

    Parameters
    ----------
    metric : Metric
        The metric.
    mean : float
        The mean of its scores.
    sd : float
        Their standard deviation, which is the scale of a metric without bounds whose mean is 0.

    Examples
    --------
    >>> rating = Metric("rating", bounds=(1.0, 5.0))
    >>> scale_of(rating, 3.2, 1.1), scale_of(Metric("latency_ms"), 250.0, 80.0)
    (4.0, 250.0)
    """
    bounds = metric.bounds
    if bounds is not None and all(math.isfinite(bound) for bound in bounds):
        return bounds[1] - bounds[0]
    size = abs(mean)
    return size if size > 0.0 else sd


def usual_sizes(metric: Metric, mean: float, sd: float) -> tuple[float, ...]:
    """Differences of 5 and 2 % of the range of a metric.

    Examples
    --------
    >>> usual_sizes(Metric("rating", bounds=(1.0, 5.0)), 3.2, 1.1)
    (0.2, 0.08)
    """
    scale = scale_of(metric, mean, sd)
    return tuple(share * scale for share in USUAL_SHARES)


# -- margins


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


# -- rare losses


def find_rare_losses(
    pairs: Pairs, metric: Metric, size: LossSize | None, confidence_level: float
) -> RareLossBound | None:
    """The bound for one metric; None without a pair, or if it is not known how much can be lost.

    Parameters
    ----------
    pairs : Pairs
        Independent pairs.
    metric : Metric
        What is compared; its direction says which changes are losses.
    size : float or mapping of str to float, optional
        The size of the loss, for all metrics or by metric; if omitted, the range of the scores,
        unless it is a formality.
    confidence_level : float
        The level of the limit of the share.

    Raises
    ------
    DataError
        If no query can lose so much.

    Examples
    --------
    >>> recall = Metric("recall", kind="proportion")
    >>> bound = find_rare_losses(Pairs.of([0.5] * 50, [0.6] * 50), recall, None, 0.95)
    >>> bound.size, round(bound.share, 4), round(bound.difference, 4)
    (1.0, 0.0582, 0.036)
    """
    loss = _size_of_loss(metric, size)
    if loss is None or not pairs.n:
        return None
    # If lower is better, a loss is a rise.
    sides = pairs if metric.greater_is_better else pairs.swapped()
    return rare_loss_bound(sides, loss, confidence_level=confidence_level)


def _size_of_loss(metric: Metric, size: LossSize | None) -> float | None:
    width = math.inf if metric.bounds is None else metric.bounds[1] - metric.bounds[0]
    chosen = size.get(metric.name) if isinstance(size, Mapping) else size
    if chosen is None:
        return None if math.isinf(width) or has_formal_bounds(metric) else width
    if chosen > width:
        raise DataError(
            f"rare_loss must be at most {width:g} for {metric.name}, whose scores differ by no "
            f"more; got {chosen:g}. Sizes by metric: rare_loss={{{metric.name!r}: {width:g}}}"
        )
    return chosen


def rare_loss_numbers(bound: RareLossBound | None, metric: Metric) -> dict[str, object]:
    """The columns of a row; the difference is candidate minus baseline, as everywhere."""
    if bound is None:
        return dict.fromkeys(RARE_LOSS_COLUMNS, math.nan)
    difference = bound.difference if metric.greater_is_better else -bound.difference
    return dict(zip(RARE_LOSS_COLUMNS, (bound.size, bound.share, difference), strict=True))


def rare_loss_notes(
    pairs: Pairs, metric: Metric, size: LossSize | None, confidence_level: float, candidate: str
) -> tuple[str, ...]:
    """A sentence if losses that are too rare to be seen could turn an improvement; else empty.

    Parameters
    ----------
    pairs, metric, size, confidence_level
        As in `find_rare_losses`. Without a size, losses are as large as the sample allows.
    candidate : str
        The name of the candidate.
    """
    widest = _size_of_loss(metric, None)
    if size is not None:
        bound = find_rare_losses(pairs, metric, size, confidence_level)
    elif widest is not None:
        sides = pairs if metric.greater_is_better else pairs.swapped()
        bound = hidden_losses(sides, widest, confidence_level=confidence_level)
    else:
        bound = None
    if bound is None or bound.difference > 0:
        return ()
    return (
        f"rare large losses could hide: {bound.sentence()}; {candidate} would then be worse by "
        f"{number(-bound.difference)}",
    )
