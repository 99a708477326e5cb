"""How much is staked on each score, before it is seen.

A betting test of "the mean is m" starts with a capital of 1 and stakes a part of it on each score:
the capital is multiplied by ``1 + stake * (score - m)`` where scores above m are expected, by
``1 - stake * (score - m)`` where scores below m are. Whatever the stakes, the expected capital
stays 1 if the mean is m, so that it reaches 1 / alpha with a probability of at most alpha, however
often one looks (Ville 1939). The stakes decide only how soon a mean that is not m is noticed.

A stake may depend on the scores before its own, never on its own. All bets here work on scores
between 0 and 1; each has one or more rows of stakes, and the capital is shared evenly among the
rows (a mixture).

Stakes may depend on the capital too, because it comes from earlier scores. A bettor who has won
much needs little more, and stakes less; one who has lost needs larger stakes to reach the goal in
time. `SizeBets` work in this way: after the planned number of queries their interval is 1.1 times
as wide as one for a single look if there are enough queries, where stakes that ignore the capital
need 1.3 times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from rageval_report.errors import DataError
from rageval_report.stats.base import check_positive
from rageval_report.types import FloatArray

# The mixture of a plan: effects are often larger than planned, and a stake for the planned one
# alone is then slow.
MULTIPLES = (1.0, 1.5, 2.25)

# The numbers of queries of an evaluation of which nothing is known.
_USUAL_SIZES = (25.0, 100.0, 400.0, 1600.0)

# The variance that is assumed before the first score where something was planned. The largest
# possible one, 1/4, makes the first stakes so small that 5 % more queries are needed; with 1/36,
# scores of 0 and 1 need 5 to 10 % more, because early stakes are lost.
_PLANNED_VARIANCE = 1 / 16

# It counts as much as so many scores. With one, a few equal scores at the start make the stakes so
# large that a rare loss is a disaster: with 5 % whole losses, the interval of 100 queries is 1.65
# times as wide as one for a single look; with five 1.5 times.
_PLANNED_WEIGHT = 5.0

# A stake that could lose the whole capital on one score would end the test there, because nothing
# would be left to bet with. Scores of little variance need large stakes: with a plan of 100 queries
# and 1.5 times the planned effect they need 0.58 of them if a twentieth is kept, 0.56 if a
# hundredth is kept, and 0.55 with the best stakes that exist (docs/sequential.md).
_LARGEST_LOSS = 0.99
_LARGEST_LOSS_OF_EFFECTS = 0.95

# The stakes grow while the planned number of queries comes near. The last tenth of them has the
# stakes of its beginning, so that the capital is not lost there for all later looks.
_LEAST_LEFT = 0.1


class Bets(Protocol):
    """A rule for the stakes."""

    @property
    def largest_loss(self) -> float:
        """The largest share of the capital that one score may cost, below 1."""
        ...

    def stakes(self, scores: FloatArray, alpha: float) -> FloatArray:
        """The stakes, of shape (n_rows, ..., n), above 0; column i depends on the scores before i.

        Parameters
        ----------
        scores : ndarray of shape (..., n)
            Between 0 and 1; the last axis is time, the others are streams of their own.
        alpha : float
            The error rate, of both sides together.
        """
        ...

    def goal(self, alpha: float) -> float | None:
        """The capital that a row, which starts with 1, has to reach; None if stakes ignore it.

        With a goal, the stakes are those of a capital of 1, and are recalculated from what is still
        to be won; see `Bettor`.
        """
        ...

    def describe(self) -> str:
        """The rule in a few words, for settings and signatures."""
        ...


@dataclass(frozen=True, slots=True)
class SizeBets:
    """Stakes for the narrowest interval after a planned number of queries, or a mixture of several.

    The stake is ``sqrt(2 * log(goal / capital) / (left * variance))``: what is still to be won, the
    queries that are left of the planned number, and the variance of the scores so far. When the
    planned number has come, the next plan is twice as large.

    Parameters
    ----------
    sizes : tuple of float
        Numbers of queries. A single one gives the narrowest interval at this number.

    Raises
    ------
    DataError
        If there is no number, or one is not above 0.

    References
    ----------
    .. [1] Voracek, Orabona (2025). STaR-Bets: Sequential target-recalculating bets for tighter
           confidence intervals. arXiv 2505.22422.

    Examples
    --------
    >>> SizeBets((100,)).stakes(np.array([0.4, 0.6]), 0.05).round(2)
    array([[1.09, 1.18]])
    >>> SizeBets.hedged().describe(), SizeBets.up_to(200).sizes
    ('hedged over 25, 100, 400 and 1600 queries', (200.0, 88.88888888888889, 39.50617283950617))
    >>> SizeBets((100,)).largest_loss
    0.99
    """

    sizes: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.sizes:
            raise DataError("sizes must have at least one number of queries; got none")
        for size in self.sizes:
            check_positive("sizes", size)

    @classmethod
    def hedged(cls) -> Self:
        """The stakes where nothing was planned: a mixture for 25, 100, 400 and 1600 queries.

        Examples
        --------
        >>> SizeBets.hedged().sizes
        (25.0, 100.0, 400.0, 1600.0)
        """
        return cls(_USUAL_SIZES)

    @classmethod
    def up_to(cls, n: int) -> Self:
        """The stakes where at most `n` queries can be asked.

        The mixture is that of the effects which `n` queries just show, of 1.5 and of 2.25 times
        these effects.

        Examples
        --------
        >>> [round(size) for size in SizeBets.up_to(200).sizes]
        [200, 89, 40]
        """
        return cls(tuple(float(n) / multiple**2 for multiple in MULTIPLES))

    @property
    def largest_loss(self) -> float:
        """99 of 100 parts."""
        return _LARGEST_LOSS

    def stakes(self, scores: FloatArray, alpha: float) -> FloatArray:
        """The stakes of a capital of 1; see `Bets`.

        Examples
        --------
        >>> SizeBets((20,)).stakes(np.array([0.5, 0.5]), 0.05).round(2)
        array([[2.43, 2.73]])
        """
        variances = earlier_variances(scores, _PLANNED_VARIANCE, _PLANNED_WEIGHT)
        left = np.stack([_queries_left(size, scores.shape[-1]) for size in self.sizes])
        spread = rows_beside(left, scores.ndim) * variances
        stakes: FloatArray = np.sqrt(2.0 * math.log(self.goal(alpha)) / spread)
        return stakes

    def goal(self, alpha: float) -> float:
        """What a row needs so that the mixture has 2 / alpha, if the others have lost all.

        Examples
        --------
        >>> SizeBets((25, 100)).goal(0.05)
        80.0
        """
        return 2.0 * len(self.sizes) / alpha

    def describe(self) -> str:
        """The rule in a few words.

        Examples
        --------
        >>> SizeBets((100,)).describe()
        '100 queries'
        """
        *others, last = (f"{size:.0f}" for size in self.sizes)
        start = f"hedged over {', '.join(others)} and " if others else ""
        return f"{start}{last} queries"


def _queries_left(size: float, n: int) -> FloatArray:
    """The queries that are left of a plan before each score; the plan is doubled when it is over.

    Examples
    --------
    >>> _queries_left(20, 42)[[0, 1, 19, 20, 39, 40]]
    array([20., 19.,  2., 20.,  4., 40.])
    """
    place = np.arange(n)
    plan = size * 2.0 ** np.ceil(np.log2(np.maximum((place + 1) / size, 1.0)))
    return np.maximum(plan - place, _LEAST_LEFT * plan)


@dataclass(frozen=True, slots=True)
class EffectBets:
    """Stakes for a mean that lies a planned distance from the one that is tested.

    For each of three effects, 1, 1.5 and 2.25 times the planned one, the stake is the one under
    which the capital grows fastest: the effect over the variance plus its own square.

    Parameters
    ----------
    effect : float
        The planned distance, as a share of the range of the scores. For a paired difference the
        range is twice that of the scores of a side.

    Examples
    --------
    >>> EffectBets(0.05).stakes(np.array([0.4, 0.6]), 0.05).round(2)
    array([[0.77, 1.43],
           [1.1 , 1.97],
           [1.5 , 2.49]])
    >>> EffectBets(0.05).largest_loss
    0.95
    """

    effect: float

    def __post_init__(self) -> None:
        check_positive("effect", self.effect)

    @property
    def largest_loss(self) -> float:
        """19 of 20 parts."""
        return _LARGEST_LOSS_OF_EFFECTS

    def stakes(self, scores: FloatArray, alpha: float) -> FloatArray:  # noqa: ARG002 - see `Bets`
        """The stakes; see `Bets`.

        Examples
        --------
        >>> EffectBets(0.1).stakes(np.array([0.5, 0.5]), 0.05).shape
        (3, 2)
        """
        effects = rows_beside(self.effect * np.array(MULTIPLES)[:, np.newaxis], scores.ndim)
        stakes: FloatArray = effects / (earlier_variances(scores, _PLANNED_VARIANCE) + effects**2)
        return stakes

    def goal(self, alpha: float) -> None:  # noqa: ARG002 - see `Bets`
        """None: the stakes are for the fastest growth, without an end.

        Examples
        --------
        >>> EffectBets(0.1).goal(0.05) is None
        True
        """
        return

    def describe(self) -> str:
        """The rule in a few words.

        Examples
        --------
        >>> EffectBets(0.1).describe()
        'effect 0.1 of the range'
        """
        return f"effect {self.effect:g} of the range"


@dataclass(frozen=True, slots=True)
class PlugInBets:
    """The predictable plug-in stakes of Waudby-Smith and Ramdas, which fall with every score.

    Kept to compare with other programs; `SizeBets.hedged` is better on all data of
    docs/sequential.md but a few.

    References
    ----------
    .. [1] Waudby-Smith, Ramdas (2024). Estimating means of bounded random variables by betting.
           Journal of the Royal Statistical Society B 86:1-27, equation 26.

    Examples
    --------
    >>> PlugInBets().stakes(np.array([0.0, 1.0, 0.5]), 0.05).round(2)
    array([[6.52, 4.64, 3.08]])
    >>> PlugInBets().largest_loss
    0.5
    """

    @property
    def largest_loss(self) -> float:
        """One half, as in the paper."""
        return 0.5

    def stakes(self, scores: FloatArray, alpha: float) -> FloatArray:
        """The stakes; see `Bets`.

        Examples
        --------
        >>> PlugInBets().stakes(np.array([0.5, 0.5]), 0.05).round(2)
        array([[6.52, 5.18]])
        """
        place = np.arange(1, scores.shape[-1] + 1)
        spread = earlier_variances(scores) * place * np.log1p(place)
        stakes: FloatArray = np.sqrt(2.0 * math.log(2.0 / alpha) / spread)[np.newaxis]
        return stakes

    def goal(self, alpha: float) -> None:  # noqa: ARG002 - see `Bets`
        """None: the stakes of the paper ignore the capital.

        Examples
        --------
        >>> PlugInBets().goal(0.05) is None
        True
        """
        return

    def describe(self) -> str:
        """The rule in a few words.

        Examples
        --------
        >>> PlugInBets().describe()
        'plug-in'
        """
        return "plug-in"


def earlier_variances(scores: FloatArray, first: float = 0.25, weight: float = 1.0) -> FloatArray:
    """The variance of the scores before each one.

    Parameters
    ----------
    scores : ndarray of shape (..., n)
        Between 0 and 1.
    first : float
        The variance that is assumed before the first score, with a score in the middle; 1/4 is the
        largest possible.
    weight : float
        The number of scores that the assumption counts for.

    Examples
    --------
    >>> earlier_variances(np.array([0.5, 0.5, 1.0])).round(4)
    array([0.25  , 0.125 , 0.0833])
    """
    count = weight + np.arange(1, scores.shape[-1] + 1)
    means = (0.5 * weight + np.cumsum(scores, axis=-1)) / count
    squares = np.cumsum((scores - means) ** 2, axis=-1)
    variances = (first * weight + squares) / count
    at_first = np.full_like(scores[..., :1], first)
    return np.concatenate((at_first, variances[..., :-1]), axis=-1)


def rows_beside(rows: FloatArray, n_axes: int) -> FloatArray:
    """One value per row and time, with an axis of length 1 for each axis of the streams.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n)
        Equal for all streams.
    n_axes : int
        The number of axes of the scores, time included.

    Examples
    --------
    >>> rows_beside(np.ones((3, 10)), 2).shape
    (3, 1, 10)
    """
    return rows.reshape(len(rows), *(1,) * (n_axes - 1), -1)
