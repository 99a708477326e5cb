"""The functions of rows that engines run for scans; each returns a state that is added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rageval_report.analysis.evaluation_subset import EvaluationSubset
from rageval_report.analysis.summary import UnscoredQueries
from rageval_report.scale.id_order import IdOrder
from rageval_report.scale.mergeable import StateByName
from rageval_report.scale.pieces import ArrowTable
from rageval_report.scale.score_rows import ScoreRows
from rageval_report.scores import Metric
from rageval_report.scores.correct_notion import CorrectCounts, CorrectNotion, answers_by
from rageval_report.scores.states import ERROR, MISSING, REASON, STATE
from rageval_report.stats.states.metric_state import MetricState
from rageval_report.stats.states.order_brackets import OrderBracket
from rageval_report.types import FloatArray


def metric_states(rows: ScoreRows) -> StateByName:
    """The state of each metric."""
    return StateByName({name: MetricState.of(values) for name, values in rows.scores.items()})


def id_order(rows: ScoreRows) -> IdOrder:
    """The orders in which the ids stand."""
    return IdOrder.of(rows.ids)


@dataclass(frozen=True)
class PartEvaluation:
    """Makes an evaluation of some rows, for the functions of memory.

    Parameters
    ----------
    name : str
        The name of the pipeline.
    metrics : dict of str to Metric
        The descriptions.
    detail_names : dict of str to str
        The name of each column among the details.
    columns: tuple of str, optional
        The columns of the file that the details have; all that were read if omitted.
    """

    name: str
    metrics: Mapping[str, Metric]
    detail_names: Mapping[str, str]
    columns: tuple[str, ...] | None = None

    def cells_of(self, rows: ScoreRows) -> ArrowTable | None:
        """The cells of the details; None if there are none."""
        if rows.cells is None or self.columns is None:
            return rows.cells
        return rows.cells.select(list(self.columns)) if self.columns else None

    def of(self, rows: ScoreRows, *, with_ids: bool = False) -> EvaluationSubset:
        """The evaluation of some rows; without ids, which cost time, the index has numbers."""
        index = rows.index() if with_ids else pd.RangeIndex(len(rows))
        scores = pd.DataFrame(rows.scores, index=index, copy=False)
        details = pd.DataFrame(index=index)
        cells = self.cells_of(rows)
        if cells is not None:
            # One thread: engines decide how many parts are read at once.
            frame = cells.to_pandas(use_threads=False).rename(columns=dict(self.detail_names))
            details = frame.set_axis(index, axis=0)
        if rows.states is not None:
            reasons = rows.states.set_axis(index, axis=0)
            details = details.assign(**{str(n): reasons[n] for n in reasons if n not in details})
        metrics = {name: self.metrics[name] for name in rows.scores}
        return EvaluationSubset(self.name, scores, details, metrics)


@dataclass(frozen=True)
class UnscoredInPart:
    """Counts the queries without a score, by metric and state."""

    parts: PartEvaluation

    def __call__(self, rows: ScoreRows) -> UnscoredQueries:
        """The counts of some rows."""
        if self.parts.cells_of(rows) is None and rows.states is None:
            n_missing = {name: int(np.isnan(v).sum()) for name, v in rows.scores.items()}
            states = {name: Counter({MISSING: n}) for name, n in n_missing.items() if n}
            return UnscoredQueries(len(rows), states, {name: Counter() for name in states})
        evaluation = self.parts.of(rows)
        return UnscoredQueries.of(evaluation, evaluation.metrics)


def columns_of_states(detail_names: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that say why scores are missing."""
    return tuple(
        column
        for column, name in detail_names.items()
        if name == ERROR or name.endswith((STATE, REASON))
    )


@dataclass(frozen=True)
class CorrectInPart:
    """Counts the queries that are answered correctly."""

    parts: PartEvaluation
    notion: CorrectNotion

    def __call__(self, rows: ScoreRows) -> CorrectCounts:
        """The counts of some rows."""
        # A function of the caller may look at the ids.
        evaluation = self.parts.of(rows, with_ids=callable(self.notion.rule))
        return CorrectCounts.of(answers_by(evaluation, self.notion))


def columns_of_notion(notion: CorrectNotion, detail_names: Mapping[str, str]) -> tuple[str, ...]:
    """The columns of details that a rule for a correct answer may read."""
    if callable(notion.rule):
        return tuple(detail_names)
    rule = notion.rule
    names = {notion.column, *([rule] if isinstance(rule, str) else map(str, rule))}
    # A judge is recognised by the columns beside its scores.
    stems = tuple(names - {""})
    return tuple(
        column for column, name in detail_names.items() if stems and name.startswith(stems)
    )


@dataclass(frozen=True)
class ScoresInBrackets:
    """The scores of some metrics that lie in some ranges.

    Parameters
    ----------
    brackets : dict of str to tuple of OrderBracket
        The ranges of each metric.
    """

    brackets: Mapping[str, Sequence[OrderBracket]]

    def __call__(self, rows: ScoreRows) -> StateByName:
        """The scores of some rows, by metric and place of the range."""
        return StateByName(
            {
                (name, place): ScoreList((bracket.select(rows.scores[name]),))
                for name, ranges in self.brackets.items()
                for place, bracket in enumerate(ranges)
            }
        )


@dataclass(frozen=True, eq=False)
class ScoreList:
    """Scores that are put behind each other.

    Parameters
    ----------
    arrays : tuple of ndarray
        The scores of each part.
    """

    arrays: tuple[FloatArray, ...]

    def __add__(self, other: ScoreList) -> ScoreList:
        """The scores of both parts."""
        return ScoreList((*self.arrays, *other.arrays))

    def joined(self) -> FloatArray:
        """All of them."""
        return np.concatenate(self.arrays)
