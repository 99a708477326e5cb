"""Where each pipeline stands on one metric, and the sentence about the best one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rageval_report.analysis.ranking.lineup import ScoreBlock
from rageval_report.analysis.sentence_parts import number
from rageval_report.stats.all_pairs import AllPairs
from rageval_report.stats.base import TIE_TOLERANCE, Interval
from rageval_report.types import FloatArray

BEST, MAY_BE_BEST, WORSE = "best", "may be best", "worse"
_MOST_NAMED = 6
_CORRECTIONS = {
    "bh": "Benjamini–Hochberg",
    "bonferroni": "Bonferroni",
    "by": "Benjamini–Yekutieli",
    "hochberg": "Hochberg",
    "holm": "Holm",
    "westfall-young": "Westfall–Young",
}


def alpha_of(settings: Mapping[str, Any]) -> float:
    """The error rate that belongs to the confidence level.

    Examples
    --------
    >>> alpha_of({"confidence_level": 0.95})
    0.05
    """
    return round(1.0 - float(settings["confidence_level"]), 12)


@dataclass(frozen=True, eq=False)
class Standing:
    """The order of the pipelines on one metric, and what is shown of each pair.

    Parameters
    ----------
    block : ScoreBlock
        The scores.
    means : ndarray
        Of each column of the block.
    order : tuple of int
        The columns, the best first.
    ranks : ndarray of int
        Of each column; 1 is best, equal means share a rank.
    average_ranks : ndarray
        Of each column within the queries; 1 is best, ties share.
    alone_best : ndarray of int
        On how many queries each column is better than all others.
    beats : ndarray of bool
        Whether the column of the row is shown to be better than that of the column.
    """

    block: ScoreBlock
    means: FloatArray
    order: tuple[int, ...]
    ranks: npt.NDArray[np.int64]
    average_ranks: FloatArray
    alone_best: npt.NDArray[np.int64]
    beats: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, block: ScoreBlock, tests: AllPairs, alpha: float) -> Standing:
        """The standing that the tests of all pairs show."""
        scores = block.complete if block.metric.greater_is_better else -block.complete
        sign = 1.0 if block.metric.greater_is_better else -1.0
        means = scores.mean(axis=0)
        tie = TIE_TOLERANCE * max(1.0, float(np.abs(scores).max()))
        differs = tests.matrix(tests.pvalue_adjusted <= alpha, diagonal=False)
        ahead = means[:, np.newaxis] - means > tie
        return cls(
            block=block,
            means=sign * means,
            order=tuple(np.argsort(-np.round(means / tie) * tie, kind="stable").tolist()),
            ranks=1 + ahead.sum(axis=0),
            average_ranks=_average_ranks(tests, sign, scores.shape[1]),
            alone_best=_alone_best(scores, tie),
            beats=differs & ahead,
        )

    @property
    def ordered(self) -> tuple[str, ...]:
        """The pipelines, the best first."""
        return tuple(self.block.names[place] for place in self.order)

    @property
    def apart(self) -> npt.NDArray[np.bool_]:
        """Whether a difference is shown between any two, the best first."""
        either = self.beats | self.beats.T
        return np.asarray(either[np.ix_(self.order, self.order)])

    def word(self, place: int) -> str:
        """The standing of a column: best, perhaps best, shown to be worse than the best."""
        if self.ranks[place] == 1:
            return BEST
        return WORSE if self.beats[self.order[0], place] else MAY_BE_BEST

    def sentence(self, interval: Interval, settings: Mapping[str, Any]) -> str:
        """What is shown of the best pipeline, as a person can repeat it."""
        leader, first = self.order[0], self.order[: int((self.ranks == 1).sum())]
        rivals = self.order[len(first) :]
        level = f"{100 * interval.confidence_level:g} % CI"
        n = len(self.block.complete)
        limits = f"{level} {number(interval.low)} to {number(interval.high)}, "
        counted = f"{n} {'query' if n == 1 else 'queries'}"
        told = f"mean {number(interval.estimate)}, {limits}{counted}"
        beaten = [self.block.names[one] for one in rivals if self.beats[leader, one]]
        level_with = [self.block.names[one] for one in rivals if not self.beats[leader, one]]
        name, leaders = self.block.metric.name, [self.block.names[one] for one in first]
        verb, are = ("has", "is") if len(first) == 1 else ("share", "are")
        opening = f"{_listed(leaders)} {verb} the best {name} ({told})"
        if not rivals:
            return f"{opening}: their means are equal"
        if not beaten:
            return f"{opening}, and {are} not shown to be better than {_listed(level_with, 'any')}"
        family = int(settings["family_size"])
        how = "" if family == 1 else f" ({_adjusted(str(settings['correction']))}, {family} tests)"
        rest = f"; not told apart from {_listed(level_with)}" if level_with else ""
        return f"{opening}, and {are} shown to be better than {_listed(beaten)}{how}{rest}"


def _adjusted(correction: str) -> str:
    return (
        "uncorrected"
        if correction == "none"
        else f"{_CORRECTIONS.get(correction, correction)}-adjusted"
    )


def _listed(names: list[str], word: str = "") -> str:
    """The names, or their number where they are many."""
    if len(names) > _MOST_NAMED:
        return f"any of the {len(names)} others" if word == "any" else f"{len(names)} pipelines"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _average_ranks(tests: AllPairs, sign: float, size: int) -> FloatArray:
    """One more than the number of those ahead, a tie counting half: from the pairs alone."""
    second_ahead = (tests.wins if sign > 0 else tests.losses) + tests.ties / 2
    first_ahead = tests.n - second_ahead
    ranks = np.ones(size)
    np.add.at(ranks, tests.first, second_ahead / tests.n)
    np.add.at(ranks, tests.second, first_ahead / tests.n)
    return ranks


def _alone_best(scores: FloatArray, tie: float) -> npt.NDArray[np.int64]:
    near = scores >= scores.max(axis=1, keepdims=True) - tie
    counts: npt.NDArray[np.int64] = near[near.sum(axis=1) == 1].sum(axis=0)
    return counts
