"""What a paired difference amounts to: effect sizes, and losses too rare to be among the queries.

An effect size says how large a difference is in units that do not depend on the metric's scale.
Each member of ``EFFECTS`` takes `Pairs` and returns a float, of queries also where these are
clustered. It is positive if the candidate's scores are the larger ones, and 0 if no query differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, gammaln

from rageval_report._registry import Registry
from rageval_report.stats import base
from rageval_report.stats.binary import PairedTable
from rageval_report.stats.pairs import Pairs, signed_sizes

# What happens to more than one query in ten is not rare; few queries could not exclude it.
_RARE = 0.1


def effect_size(baseline: npt.ArrayLike, candidate: npt.ArrayLike, kind: str = "d_z") -> float:
    """Effect size of a paired comparison.

    Parameters
    ----------
    baseline, candidate : array-like of shape (n_queries,)
        One score per query, both sides in the same order. Queries with NaN on a side are left out.
    kind : str
        A member of ``EFFECTS``: "d_z", "hedges_g_z", "d_av", "cliffs_delta", "rank_biserial",
        "paired_dominance", and for scores of 0 and 1 "risk_difference" and "odds_ratio".

    Returns
    -------
    float

    Raises
    ------
    UnknownNameError
        If `kind` is not the name of an effect size.
    DataError
        If no query has a score on both sides, or the scores do not suit the kind.

    Examples
    --------
    >>> round(effect_size([0.1, 0.2, 0.3], [0.2, 0.4, 0.6]), 6)
    2.0
    >>> effect_size([0, 0, 1, 1], [1, 1, 0, 1], "odds_ratio")
    2.0
    """
    return EFFECTS[kind](Pairs.of(baseline, candidate))


def d_z(pairs: Pairs) -> float:
    """Cohen's d of the differences: their mean over their standard deviation."""
    return _mean_in_units(pairs, pairs.differences.std)


def hedges_g_z(pairs: Pairs) -> float:
    """Cohen's d_z without its small-sample bias: times Hedges' exact factor for n - 1.

    For two queries the factor is not defined, so that the size is NaN.

    References
    ----------
    .. [1] Hedges (1981). Distribution theory for Glass's estimator of effect size and related
           estimators. Journal of Educational Statistics 6:107-128.
    """
    size, degrees = d_z(pairs), pairs.differences.n - 1
    if size == 0.0 or not math.isfinite(size):
        return size
    if degrees < 2:
        return math.nan
    # By logarithms, because gamma functions overflow from 171 degrees on.
    log_ratio = float(gammaln(degrees / 2) - gammaln((degrees - 1) / 2))
    return size * math.exp(log_ratio - 0.5 * math.log(degrees / 2))


def d_av(pairs: Pairs) -> float:
    """Cohen's d in units of the scores: mean difference over the average standard deviation.

    The variances of the two sides are averaged. Unlike d_z it does not grow when the sides are
    correlated, so that it compares with studies of independent groups. Infinite if both sides are
    constant and differ, NaN for one shifted query.

    References
    ----------
    .. [1] Cumming (2012). Understanding the New Statistics, chapter 11.
    """
    return _mean_in_units(pairs, math.hypot(pairs.baseline.std, pairs.candidate.std) / math.sqrt(2))


def _mean_in_units(pairs: Pairs, unit: float) -> float:
    """The mean of the differences in these units; a unit of 0 makes any shift infinite."""
    mean = pairs.differences.mean
    if not pairs.by_query.n_changed or mean == 0.0:
        return 0.0
    return mean / unit if unit else math.copysign(math.inf, mean)


def cliffs_delta(pairs: Pairs) -> float:
    """Cliff's delta: how much more often a candidate's score is larger than smaller.

    Over all pairs of a candidate's and a baseline's score, of the same query or not: the pairing is
    ignored. Between -1 and 1.

    References
    ----------
    .. [1] Cliff (1993). Dominance statistics: ordinal analyses to answer ordinal questions.
           Psychological Bulletin 114:494-509.
    """
    before, after = pairs.baseline, pairs.candidate
    below = np.append(0.0, np.cumsum(before.counts))
    smaller = below[np.searchsorted(before.values, after.values - pairs.tolerance, side="left")]
    not_larger = below[np.searchsorted(before.values, after.values + pairs.tolerance, side="right")]
    return float((smaller + not_larger - before.n) @ after.counts) / before.n / after.n


def rank_biserial(pairs: Pairs) -> float:
    """Matched-pairs rank-biserial correlation: the balance of the signed ranks.

    The rank sum of the gains minus that of the losses, over both; between -1 and 1. Queries without
    a difference are left out.

    References
    ----------
    .. [1] Kerby (2014). The simple difference formula: an approach to teaching nonparametric
           correlation. Comprehensive Psychology 3:1.
    """
    sizes, gains, losses = signed_sizes(pairs.differences, pairs.tolerance)
    gains, losses = gains[sizes > 0.0], losses[sizes > 0.0]
    counts = gains + losses
    ranks = np.cumsum(counts) - (counts - 1.0) / 2.0
    return float(ranks @ (gains - losses)) / float(ranks @ counts) if counts.size else 0.0


def paired_dominance(pairs: Pairs) -> float:
    """Paired dominance: the share of queries won minus the share lost; between -1 and 1."""
    queries = pairs.by_query
    return (queries.wins - queries.losses) / queries.n


def risk_difference(pairs: Pairs) -> float:
    """Risk difference: the candidate's share of right answers minus the baseline's."""
    return PairedTable.of(pairs.by_query, "risk_difference").difference


def odds_ratio(pairs: Pairs) -> float:
    """Conditional odds ratio of paired 0 and 1: queries won over queries lost."""
    table = PairedTable.of(pairs.by_query, "odds_ratio")
    if table.losses:
        return table.wins / table.losses
    return math.inf if table.wins else math.nan


EFFECTS: Registry[Callable[[Pairs], float]] = Registry(
    "effect size",
    {
        "cliffs_delta": cliffs_delta,
        "d_av": d_av,
        "d_z": d_z,
        "hedges_g_z": hedges_g_z,
        "odds_ratio": odds_ratio,
        "paired_dominance": paired_dominance,
        "rank_biserial": rank_biserial,
        "risk_difference": risk_difference,
    },
)


# -- losses that are too rare to be among the sampled queries


@dataclass(frozen=True, slots=True)
class RareLossBound:
    """The largest share of queries with a large loss that the sample cannot exclude."""

    size: float
    n: int
    n_losses: int
    share: float
    difference: float
    unit: str = "queries"

    def sentence(self, verb: str = "drop by") -> str:
        """The bound in words: queries "drop by" the size, or "differ by" it."""
        share = f"up to {100 * self.share:.1f} % of all {self.unit} could {verb} {self.size:.3g}"
        if self.n_losses:
            return f"{share}, as {self.n_losses} of these {self.n} do"
        return f"{self.n} {self.unit} can miss rare failures: {share}"


def rare_loss_bound(pairs: Pairs, size: float, *, confidence_level: float = 0.95) -> RareLossBound:
    """How many queries could lose much although the sample hardly shows it.

    A rare but large loss can hide behind many small gains: if it happens on 2 % of queries, 100
    queries show none in 13 of 100 samples, and each test then calls the gain real.

    Parameters
    ----------
    pairs : Pairs
        The pairs; of clusters, the bound is one of the share of clusters.
    size : float
        The loss, in units of the scores; the range of the scores is the worst one.
    confidence_level : float
        The nominal coverage of the limit, which has one side.

    Returns
    -------
    RareLossBound

    Raises
    ------
    DataError
        If the size is not above 0, or the level makes no sense.

    Notes
    -----
    The share has Clopper and Pearson's upper limit. If no pair loses so much it is
    1 - (1 - level)^(1 / n), about 3 / n at a level of 95 %.

    Examples
    --------
    >>> bound = rare_loss_bound(Pairs.of([0.5] * 50, [0.55] * 50), 1.0)
    >>> round(bound.share, 4), round(bound.difference, 4)  # the gain of 0.05 could be a loss
    (0.0582, -0.0111)
    """
    base.check_positive("size", size)
    level, column = base.check_level(confidence_level), pairs.units
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
    """The losses that could turn a verdict although they are too rare to be seen; None if none."""
    if pairs.is_binary:
        return None
    worst, n_losses = -float((pairs.units.values / pairs.sizes).min()), pairs.losses
    size = min(widest, worst * 0.05 ** (-1.0 / n_losses)) if n_losses else widest
    bound = rare_loss_bound(pairs, size, confidence_level=confidence_level)
    if bound.n_losses == 0 and bound.share > _RARE:
        difference = (1.0 - _RARE) * pairs.mean - _RARE * size
        bound = replace(bound, share=_RARE, difference=difference)
    return bound if bound.difference <= -margin else None
