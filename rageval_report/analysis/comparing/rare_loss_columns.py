"""The rare-loss bound of each row of a comparison: what the sampled queries cannot exclude."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rageval_report.analysis.arguments import has_formal_bounds
from rageval_report.analysis.sentence_parts import number
from rageval_report.errors import DataError
from rageval_report.scores import Metric
from rageval_report.stats.equivalence import RareLossBound, hidden_losses, rare_loss_bound
from rageval_report.stats.pairs import Pairs

# One size of a loss, or one per metric.
LossSize = float | Mapping[str, float]
RARE_LOSS_COLUMNS = ("rare_loss_size", "rare_loss_share", "rare_loss_difference")


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
