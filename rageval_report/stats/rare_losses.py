"""What the sampled queries cannot exclude: large losses that are too rare to be among them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy.typing as npt

from rageval_report.stats.base import check_level, check_positive
from rageval_report.stats.pairs import Pairs

# What happens to more than one query in ten is not rare; few queries could not exclude it.
_RARE = 0.1


@dataclass(frozen=True, slots=True)
class RareLossBound:
    """The largest share of queries with a large loss that the sample cannot exclude.

    Parameters
    ----------
    size : float
        The loss, above 0.
    n : int
        Pairs in which both scores are present, or clusters of them.
    n_losses : int
        Pairs that lose at least as much; of clusters, those that lose as much on average.
    share : float
        The upper limit of the share of such losses among all queries, or among all clusters.
    difference : float
        The mean difference, candidate minus baseline, if there were so many of them and the others
        were as those that were sampled; clusters that lose are taken to be of average size.
    unit : {"queries", "clusters"}
        What is counted.
    """

    size: float
    n: int
    n_losses: int
    share: float
    difference: float
    unit: str = "queries"

    def sentence(self, verb: str = "lose") -> str:
        """The bound in words: queries "lose" the size, or "differ by" it.

        Examples
        --------
        >>> rare_loss_bound([0.5] * 50, [0.55] * 50, 1.0).sentence()
        'up to 5.8 % of queries could lose 1 without one among these 50'
        """
        share = f"up to {100 * self.share:.1f} % of {self.unit} could {verb} {self.size:.3g}"
        if self.n_losses:
            return f"{share}, as {self.n_losses} of these {self.n} do"
        return f"{share} without one among these {self.n}"


def rare_loss_bound(
    baseline: npt.ArrayLike,
    candidate: npt.ArrayLike,
    size: float,
    *,
    confidence_level: float = 0.95,
    clusters: npt.ArrayLike | None = None,
) -> RareLossBound:
    """How many queries could lose much although the sample hardly shows it.

    Parameters
    ----------
    baseline, candidate : array-like of shape (n_queries,)
        One score per query, both sides in the same order; larger scores are better. Queries with
        NaN on a side are left out.
    size : float
        The loss, above 0, in the unit of the scores; the range of the scores is the worst one.
    confidence_level : float
        The nominal coverage of the limit, which has one side.
    clusters : array-like of shape (n_queries,), optional
        The cluster of each query, if some are not independent: the bound is then one of the share
        of clusters.

    Returns
    -------
    RareLossBound

    Raises
    ------
    DataError
        If no query has a score on both sides, the size is not above 0, or the level makes no sense.

    Notes
    -----
    The share has Clopper and Pearson's upper limit. If no pair loses so much it is
    1 - (1 - level)^(1 / n), about 3 / n at a level of 95 %.

    Examples
    --------
    >>> bound = rare_loss_bound([0.5] * 50, [0.55] * 50, 1.0)
    >>> round(bound.share, 4), round(bound.difference, 4)  # the gain of 0.05 could be a loss
    (0.0582, -0.0111)
    """
    pairs = Pairs.of(baseline, candidate, clusters)
    return rare_losses_of(pairs, size, confidence_level=confidence_level)


def rare_losses_of(pairs: Pairs, size: float, *, confidence_level: float = 0.95) -> RareLossBound:
    """`rare_loss_bound` of pairs that are at hand.

    Examples
    --------
    >>> rare_losses_of(Pairs.of([1, 1, 1], [1, 1, 0]), 1.0).n_losses
    1
    """
    from scipy.special import betaincinv

    check_positive("size", size)
    level, column = check_level(confidence_level), pairs.units
    is_loss = column.values <= (pairs.tolerance - size) * pairs.sizes
    n, n_losses = pairs.n, round(float(column.counts[is_loss].sum()))
    share = float(betaincinv(n_losses + 1, n - n_losses, level)) if n_losses < n else 1.0
    others = column.mean
    if n_losses:
        kept = column.counts[~is_loss]
        weight = float(kept @ pairs.sizes[~is_loss])
        others = float(kept @ column.values[~is_loss]) / weight if weight else 0.0
    difference = (1.0 - share) * others - share * size
    unit = "queries" if pairs.clusters is None else "clusters"
    return RareLossBound(float(size), n, n_losses, share, difference, unit)


def hidden_losses(
    pairs: Pairs, widest: float, *, margin: float = 0.0, confidence_level: float = 0.95
) -> RareLossBound | None:
    """The losses that could turn a verdict although they are too rare to be seen; None if none.

    The verdict is that the candidate is better, or not worse by the margin. A loss is taken to be
    as large as the losses in the sample allow: with k of them, up to 0.05^(-1 / k) times the
    largest one, which is the upper 95 % limit of the largest loss if all sizes up to it are equally
    likely; without losses, all of the range. As many queries lose it as the sample cannot exclude,
    and at most one in ten. Scores of 0 and 1 hide nothing: their test knows the size of a loss.

    Parameters
    ----------
    pairs : Pairs
        Larger scores are better.
    widest : float
        The largest possible loss: the range of the scores.
    margin : float
        The loss that does not matter.
    confidence_level : float
        The level of the limit of the share.

    Notes
    -----
    Simulated: of sound verdicts on nine usual metrics and on 282 real pairs of score columns it
    marks 8 and 17 % at n = 6, 2 and 8 % at n = 20, and at most 1 % from n = 50 on. Of false ones,
    where all or half of the queries gain a little and 2 to 10 % lose half of the range or all of
    it, it marks 90 to 100 % up to n = 50 and 77 to 84 % at n = 100; but only 2 to 50 % where usual
    losses beside the rare ones make the sample look like any other.

    Examples
    --------
    >>> hidden_losses(Pairs.of([0.5] * 50, [0.55] * 50), 1.0).size
    1.0
    >>> usual = Pairs.of([0.5] * 50, [0.6, 0.7, 0.4, 0.6, 0.5] * 10)
    >>> print(hidden_losses(usual, 1.0))
    None
    """
    if pairs.is_binary:
        return None
    worst, n_losses = -float((pairs.units.values / pairs.sizes).min()), pairs.losses
    size = min(widest, worst * 0.05 ** (-1.0 / n_losses)) if n_losses else widest
    bound = rare_losses_of(pairs, size, confidence_level=confidence_level)
    if bound.n_losses == 0 and bound.share > _RARE:
        difference = (1.0 - _RARE) * pairs.mean - _RARE * size
        bound = replace(bound, share=_RARE, difference=difference)
    return bound if bound.difference <= -margin else None
