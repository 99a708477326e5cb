"""The functions of aligned rows that engines run to rank scans; each returns a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rageval_report.analysis.comparing.pairing import MissingTreatment
from rageval_report.analysis.ranking.lineup import filled_with_bounds, treat_missing
from rageval_report.evaluation.scanning.pair_states import does_not_apply
from rageval_report.evaluation.scanning.part_states import PartEvaluation
from rageval_report.scale.aligned_rows import AlignedRows
from rageval_report.scale.mergeable import StateByName
from rageval_report.scores import Metric
from rageval_report.stats.ranks import RankSums
from rageval_report.stats.states.block_state import BlockState
from rageval_report.stats.states.metric_state import MetricState
from rageval_report.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class MetricRankState:
    """One metric of several tables, from any part of the queries that all have.

    Parameters
    ----------
    n_scored : ndarray of int
        The number of these queries that each table scores.
    n_unscored : ndarray of int
        The number that it does not score, of those to which the metric applies.
    n_not_applicable : int
        The number of queries to which it applies in no table.
    block : BlockState
        The scores of the queries that all ranked tables scored.
    extremes : tuple of (MetricState, MetricState)
        The scores of each table, missing ones as low, and as high, as they can be; empty if they
        are not asked for.
    """

    n_scored: IntArray
    n_unscored: IntArray
    n_not_applicable: int
    block: BlockState
    extremes: tuple[tuple[MetricState, MetricState], ...] = ()

    def __add__(self, other: MetricRankState) -> MetricRankState:
        """The state of both parts."""
        return MetricRankState(
            self.n_scored + other.n_scored,
            self.n_unscored + other.n_unscored,
            self.n_not_applicable + other.n_not_applicable,
            self.block + other.block,
            tuple(
                (ours[0] + theirs[0], ours[1] + theirs[1])
                for ours, theirs in zip(self.extremes, other.extremes, strict=True)
            ),
        )


@dataclass(frozen=True)
class AlignedScores:
    """Takes the scores of metrics out of aligned rows.

    Parameters
    ----------
    metrics : dict of str to tuple of Metric
        Each metric as each table knows it, by the name in the first.
    ranked : dict of str to tuple of int
        The places of the tables that are ranked on each metric.
    sides : tuple of PartEvaluation
        What makes evaluations of rows, for the states of scores.
    missing : {"drop", "worst", "bounds"}
        The treatment of a missing score.
    """

    metrics: Mapping[str, tuple[Metric, ...]]
    ranked: Mapping[str, tuple[int, ...]]
    sides: tuple[PartEvaluation, ...]
    missing: MissingTreatment = "drop"

    def scores(self, rows: AlignedRows, name: str) -> FloatArray:
        """The scores of a metric, one column per table."""
        columns = zip(rows.common, self.metrics[name], strict=True)
        return np.column_stack([part.scores[metric.name] for part, metric in columns])

    def applies(self, rows: AlignedRows, name: str) -> BoolArray | None:
        """Whether a metric applies to each query in any table; None if it applies to all."""
        does_not = [
            does_not_apply(side, part, metric.name)
            for side, part, metric in zip(self.sides, rows.common, self.metrics[name], strict=True)
        ]
        if any(each is None for each in does_not):
            return None
        applies: BoolArray = ~np.all(np.array(does_not), axis=0)
        return None if applies.all() else applies

    def complete(self, scores: FloatArray, name: str, applies: BoolArray | None) -> FloatArray:
        """The scores of the ranked tables on the queries that all of them scored."""
        chosen = scores[:, list(self.ranked[name])]
        treated = treat_missing(chosen, self.metrics[name][0], self.missing, applies)
        is_complete = ~np.isnan(treated).any(axis=1)
        return treated if is_complete.all() else treated[is_complete]


@dataclass(frozen=True)
class RankStates:
    """Makes the state of each metric of several tables.

    Parameters
    ----------
    ranked : AlignedScores
        What takes the scores out of rows.
    """

    ranked: AlignedScores

    def __call__(self, rows: AlignedRows) -> StateByName:
        """The states of some rows, by the name of the metric in the first table."""
        return StateByName({name: self.state_of(rows, name) for name in self.ranked.metrics})

    def state_of(self, rows: AlignedRows, name: str) -> MetricRankState:
        """The state of one metric of some rows."""
        scores, applies = self.ranked.scores(rows, name), self.ranked.applies(rows, name)
        metric = self.ranked.metrics[name][0]
        is_missing = np.isnan(scores)
        is_unscored = is_missing if applies is None else is_missing & applies[:, None]
        complete = self.ranked.complete(scores, name, applies)
        extremes: Sequence[tuple[MetricState, MetricState]] = ()
        if self.ranked.missing == "bounds":
            extremes = [_extremes_of(column, metric) for column in scores.T]
        return MetricRankState(
            (~is_missing).sum(axis=0),
            is_unscored.sum(axis=0),
            0 if applies is None else int((~applies).sum()),
            BlockState.of(complete, greater_is_better=metric.greater_is_better),
            tuple(extremes),
        )


def _extremes_of(scores: FloatArray, metric: Metric) -> tuple[MetricState, MetricState]:
    low, high = map(MetricState.of, filled_with_bounds(scores, metric))
    return low, high


@dataclass(frozen=True)
class RankSumStates:
    """Makes the ranks within queries, for Friedman's test.

    Parameters
    ----------
    ranked : AlignedScores
        What takes the scores out of rows.
    """

    ranked: AlignedScores

    def __call__(self, rows: AlignedRows) -> StateByName:
        """The sums of some rows, by metric."""
        sums = {}
        for name, (metric, *_) in self.ranked.metrics.items():
            scores, applies = self.ranked.scores(rows, name), self.ranked.applies(rows, name)
            complete = self.ranked.complete(scores, name, applies)
            sums[name] = RankSums.of(complete, greater_is_better=metric.greater_is_better)
        return StateByName(sums)
