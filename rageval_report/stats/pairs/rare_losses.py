"""What the sampled queries cannot exclude: large losses that are too rare to be among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt
import scipy

from rageval_report.stats.base import check_level, check_positive
from rageval_report.stats.pairs.independent_pairs import independent_pairs
from rageval_report.stats.pairs.paired_scores import PairedScores


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
        """The bound in words.

        Parameters
        ----------
        verb : str
            What is done by the size: queries "lose" it, or "differ by" it.

        Examples
        --------
        >>> rare_loss_bound([0.5] * 50, [0.55] * 50, 1.0).sentence()
        'up to 5.8 % of queries could lose 1 without one among these 50'
        """
        share = f"up to {100 * self.share:.1f} % of {self.unit} could {verb} {self.size:g}"
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
    pairs = independent_pairs(baseline, candidate, clusters)
    return rare_losses_of(pairs, size, confidence_level=confidence_level)


def rare_losses_of(
    pairs: PairedScores, size: float, *, confidence_level: float = 0.95, either_sign: bool = False
) -> RareLossBound:
    """`rare_loss_bound` of pairs that are complete, and may be clusters.

    With `either_sign` every difference counts as a loss of its size.

    Examples
    --------
    >>> rare_losses_of(PairedScores.of([1, 1, 1], [1, 1, 0]), 1.0).n_losses
    1
    """
    check_positive("size", size)
    level = check_level(confidence_level)
    n_losses, others = pairs.losses_of(size, either_sign=either_sign)
    share = 1.0
    if n_losses < pairs.n:
        share = float(scipy.special.betaincinv(n_losses + 1, pairs.n - n_losses, level))
    return RareLossBound(
        float(size),
        pairs.n,
        n_losses,
        share,
        (1.0 - share) * others - share * size,
        "queries" if pairs.sizes is None else "clusters",
    )
