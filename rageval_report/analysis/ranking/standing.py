"""The standing of each pipeline on one metric, and the sentence about the best one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NotRequired, TypedDict

import numpy as np

from rageval_report.analysis.pairing import MissingTreatment
from rageval_report.analysis.ranking.ranked_columns import Drawing, RankedBlock
from rageval_report.reports.sentences import correction_text, join_names, number
from rageval_report.stats.base import Interval
from rageval_report.stats.many_pairs import AllPairs
from rageval_report.types import BoolArray, FloatArray, IntArray

BEST, MAY_BE_BEST, WORSE = "best", "may be best", "worse"
_MOST_NAMED = 6


class RankingSettings(TypedDict):
    """The settings of a ranking, as its result shows them."""

    test: str
    correction: str
    family_size: int
    confidence_level: float
    missing: MissingTreatment
    n_resamples: int
    seed: int
    on: NotRequired[str]
    tried: NotRequired[int]
    margins: NotRequired[Mapping[str, float]]
    clusters: NotRequired[str]


def margin_in(settings: RankingSettings, metric: str) -> float:
    """The difference in a metric that is too small to matter; 0 if the ranking has none.

    Examples
    --------
    >>> margin_in({"margins": {"latency_ms": 50.0}}, "latency_ms")
    50.0
    """
    return settings.get("margins", {}).get(metric, 0.0)


def alpha_of(settings: Mapping[str, object]) -> float:
    """The error rate that belongs to the confidence level.

    Examples
    --------
    >>> alpha_of({"confidence_level": 0.95})
    0.05
    """
    return round(1.0 - float(str(settings["confidence_level"])), 12)


def drawing_of(settings: RankingSettings) -> Drawing:
    """What the settings say to a method that draws at random."""
    return {"n_resamples": settings["n_resamples"], "seed": settings["seed"]}


@dataclass(frozen=True, eq=False)
class Standing:
    """The order of the pipelines on one metric, and which pairs are shown to differ.

    Parameters
    ----------
    block : RankedBlock
        The scores.
    means : ndarray
        The mean of each column of the block.
    order : tuple of int
        The columns, the best first.
    ranks : ndarray of int
        The rank of each column; 1 is best, equal means share a rank.
    average_ranks : ndarray
        The average rank of each column within the queries; 1 is best, ties share.
    alone_best : ndarray of int
        The number of queries on which each column is better than all others.
    beats : ndarray of bool
        Whether the pipeline of the row is shown to be better than that of the column.
    """

    block: RankedBlock
    means: FloatArray
    order: tuple[int, ...]
    ranks: IntArray
    average_ranks: FloatArray
    alone_best: IntArray
    beats: BoolArray

    @classmethod
    def of(cls, block: RankedBlock, tests: AllPairs, alpha: float) -> Standing:
        """The standing according to the tests of all pairs."""
        columns, is_better = block.columns, block.metric.greater_is_better
        sign = 1.0 if is_better else -1.0
        means, tie = sign * columns.means, columns.tie
        differs = tests.matrix(tests.pvalue_adjusted <= alpha, diagonal=False)
        ahead = means[:, np.newaxis] - means > tie
        return cls(
            block=block,
            means=sign * means,
            # Means that differ by rounding alone get the same key and keep the order of the caller.
            order=tuple(np.argsort(-np.round(means / tie) * tie, kind="stable").tolist()),
            ranks=1 + ahead.sum(axis=0),
            average_ranks=_average_ranks(tests, sign, means.size),
            alone_best=columns.alone_best(greater_is_better=is_better),
            beats=differs & ahead,
        )

    @property
    def names_in_order(self) -> tuple[str, ...]:
        """The pipelines, the best first."""
        return tuple(self.block.names[place] for place in self.order)

    @property
    def differs(self) -> BoolArray:
        """Whether each two pipelines are shown to differ, in order, the best first."""
        either = self.beats | self.beats.T
        return np.asarray(either[np.ix_(self.order, self.order)])

    def word(self, place: int) -> str:
        """The standing of a column: "best", "may be best", or "worse" if shown to be worse."""
        if self.ranks[place] == 1:
            return BEST
        return WORSE if self.beats[self.order[0], place] else MAY_BE_BEST

    def sentence(self, interval: Interval, settings: RankingSettings) -> str:
        """The verdict on the best pipeline, as a person can repeat it."""
        leader, first = self.order[0], self.order[: int((self.ranks == 1).sum())]
        rivals = self.order[len(first) :]
        level = f"{100 * interval.confidence_level:g} % CI"
        n, units = self.block.columns.n, self.block.units
        n_units = self.block.columns.n_units
        of_clusters = f" in {n_units} {'cluster' if n_units == 1 else 'clusters'}"
        clusters = of_clusters if units.are_clusters else ""
        limits = f"{level} {number(interval.low)} to {number(interval.high)}, "
        shown_limits = "" if math.isnan(interval.low) else limits
        counted = f"{n} {'query' if n == 1 else 'queries'}{clusters}"
        mean = f"mean {number(interval.estimate)}, {shown_limits}{counted}"
        beaten = [self.block.names[rival] for rival in rivals if self.beats[leader, rival]]
        unbeaten = [self.block.names[rival] for rival in rivals if not self.beats[leader, rival]]
        name, leaders = self.block.metric.name, [self.block.names[place] for place in first]
        verb, are = ("has", "is") if len(first) == 1 else ("share", "are")
        opening = f"{_list_names(leaders)} {verb} the best {name} ({mean})"
        if not rivals:
            return f"{opening}: their means are equal"
        margin = margin_in(settings, name)
        by_more = f" by more than {number(margin)}" if margin else ""
        if not beaten:
            others = _list_names(unbeaten, "any")
            return f"{opening}, and {are} not shown to be better than {others}{by_more}"
        family, correction = settings["family_size"], correction_text(settings["correction"])
        how = "" if family == 1 else f" ({correction}, {family} tests)"
        beyond = f" beyond the margin of {number(margin)}" if margin else ""
        rest = f"; not distinguishable from {_list_names(unbeaten)}{beyond}" if unbeaten else ""
        best = f"{opening}, and {are} shown to be better than {_list_names(beaten)}"
        return f"{best}{by_more}{how}{rest}"


def _list_names(names: list[str], word: str = "") -> str:
    """The names, or their number if they are many."""
    if len(names) > _MOST_NAMED:
        return f"any of the {len(names)} others" if word == "any" else f"{len(names)} pipelines"
    return join_names(names)


def _average_ranks(tests: AllPairs, sign: float, size: int) -> FloatArray:
    """One more than the number of those ahead, a tie counting half: from the pairs alone."""
    second_ahead = (tests.wins if sign > 0 else tests.losses) + tests.ties / 2
    first_ahead = tests.n - second_ahead
    ranks = np.ones(size)
    np.add.at(ranks, tests.first, second_ahead / tests.n)
    np.add.at(ranks, tests.second, first_ahead / tests.n)
    return ranks
