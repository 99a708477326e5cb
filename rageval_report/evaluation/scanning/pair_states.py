"""The functions of paired rows that engines run to compare scans; each returns a state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rageval_report.analysis.comparing.metric_comparison import MetricPairs
from rageval_report.analysis.comparing.pairing import MissingTreatment, fill_missing
from rageval_report.evaluation.scanning.part_states import PartEvaluation
from rageval_report.scale.facts import TableFacts
from rageval_report.scale.mergeable import StateByName
from rageval_report.scale.pairs import PairedRows
from rageval_report.scale.score_rows import ScoreRows
from rageval_report.scores import Metric
from rageval_report.scores.states import not_applicable
from rageval_report.stats.states.pair_state import PairState
from rageval_report.types import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class MetricPairState:
    """One metric of two tables, from any part of their common queries.

    Parameters
    ----------
    pairs : PairState
        The scores of the queries to which the metric applies.
    n_not_applicable : int
        The number of the others.
    logarithms : PairState, optional
        The logarithms of the scores, of latency and cost.
    """

    pairs: PairState
    n_not_applicable: int = 0
    logarithms: PairState | None = None

    def __add__(self, other: MetricPairState) -> MetricPairState:
        """The state of both parts."""
        logarithms = self.logarithms
        if logarithms is not None and other.logarithms is not None:
            logarithms = logarithms + other.logarithms
        return MetricPairState(
            self.pairs + other.pairs, self.n_not_applicable + other.n_not_applicable, logarithms
        )

    def known(self) -> MetricPairs:
        """The pairs, as a row of a comparison takes them."""
        return MetricPairs.of_state(
            self.pairs, n_not_applicable=self.n_not_applicable, logarithms=self.logarithms
        )


@dataclass(frozen=True)
class PairStates:
    """Makes the state of each metric of two tables.

    Parameters
    ----------
    metrics : tuple of (Metric, Metric)
        Each metric as the first and as the second table knows it.
    sides : (PartEvaluation, PartEvaluation)
        What makes evaluations of rows, for the states of scores.
    missing : {"drop", "worst", "bounds"}
        The treatment of a missing score.
    """

    metrics: tuple[tuple[Metric, Metric], ...]
    sides: tuple[PartEvaluation, PartEvaluation]
    missing: MissingTreatment = "drop"

    def __call__(self, rows: PairedRows) -> StateByName:
        """The states of some rows, by the name of the metric in the first table."""
        return StateByName(
            {ours.name: self.state_of(rows, ours, theirs) for ours, theirs in self.metrics}
        )

    def state_of(self, rows: PairedRows, ours: Metric, theirs: Metric) -> MetricPairState:
        """The state of one metric of some rows."""
        before, after = rows.before.scores[ours.name], rows.after.scores[theirs.name]
        applies = self._applies(rows, ours, theirs)
        if applies is not None:
            before, after = before[applies], after[applies]
        before, after = fill_missing(before, after, ours, self.missing)
        return MetricPairState(
            PairState.of(before, after),
            0 if applies is None else int((~applies).sum()),
            _state_of_logarithms(before, after) if ours.group == "performance" else None,
        )

    def _applies(self, rows: PairedRows, ours: Metric, theirs: Metric) -> BoolArray | None:
        """Whether a metric applies to each query on either side; None if it applies to all."""
        does_not = [
            _does_not_apply(side, part, metric.name)
            for side, part, metric in zip(
                self.sides, (rows.before, rows.after), (ours, theirs), strict=True
            )
        ]
        if any(each is None for each in does_not):
            return None
        applies = ~(np.asarray(does_not[0]) & np.asarray(does_not[1]))
        return None if applies.all() else applies


def _does_not_apply(side: PartEvaluation, rows: ScoreRows, name: str) -> BoolArray | None:
    """Whether a metric does not apply to each row; None if no row says so."""
    if rows.cells is None or not np.isnan(rows.scores[name]).any():
        return None
    part = side.of(rows)
    return not_applicable(part.scores[name], part.details, name)


def _state_of_logarithms(before: FloatArray, after: FloatArray) -> PairState:
    sides = (np.where(side > 0, side, np.nan) for side in (before, after))
    return PairState.of(*map(np.log, sides))


def facts_before(rows: PairedRows) -> TableFacts:
    """The facts about the rows of the first table."""
    return TableFacts.of(rows.before) + TableFacts.of(rows.only_before)


def facts_after(rows: PairedRows) -> TableFacts:
    """The facts about the rows of the second table."""
    return TableFacts.of(rows.after) + TableFacts.of(rows.only_after)
