"""Gates of scanned pipelines: their figures from columns with counts, and the worst rows."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from rageval_report.analysis.comparing.pairing import require_bounds
from rageval_report.analysis.gates.columns import GateColumn, GatedRun, GateSettings, Measurement
from rageval_report.analysis.gates.failing_queries import RowsBehind
from rageval_report.errors import DataError
from rageval_report.scale.answers import count_combinations, count_correct, count_unscored
from rageval_report.scale.tables import ScannedTable
from rageval_report.scores import Metric
from rageval_report.scores.catalogue.dialects import percentile_method
from rageval_report.scores.correct import HOW_TO_SAY
from rageval_report.scores.correct_notion import (
    CorrectNotion,
    answers_by,
    declare_counts,
    find_notion,
    why_unknown,
)
from rageval_report.scores.states import NOT_APPLICABLE
from rageval_report.stats.columns import Column
from rageval_report.stats.means import interval_of_count

# Rows that a person may read of a metric.
MOST_WORST = 1000
_SIDES = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


class ScannedRun(GatedRun):
    """A scanned pipeline and the settings of its gate."""

    table: ScannedTable

    @classmethod
    def of(cls, table: ScannedTable, settings: GateSettings) -> ScannedRun:
        """The run of a table."""
        run = cls(table.head, settings)
        object.__setattr__(run, "table", table)
        return run

    def column(self, metric: Metric) -> GateColumn:
        """One metric's scores, as figures take them."""
        scores = self.table.columns()[metric.name]
        n, n_not_applicable = scores.n, self._n_not_applicable(metric.name)
        n_unscored = self.table.n_rows - n - n_not_applicable
        if self.settings.missing == "worst" and n_unscored:
            worst = require_bounds(metric)[0 if metric.greater_is_better else 1]
            scores = with_more(scores, worst, n_unscored)
        return GateColumn(
            *(metric, n, n_unscored, n_not_applicable, self.settings, scores),
            percentile_method(self.table.head),
        )

    def _n_not_applicable(self, name: str) -> int:
        states = count_unscored(self.table, [name]).states
        return states[name][NOT_APPLICABLE] if name in states else 0

    def correct_share(self) -> Measurement:
        """The share of correct answers, with its interval."""
        counts = count_correct(self.table, self.notion())
        n = counts.n_correct + counts.n_incorrect
        filled = counts.n_unscored if self.settings.missing == "worst" else 0
        level = self.settings.confidence_level
        interval = interval_of_count(counts.n_correct, n + filled, level)
        return Measurement(interval.estimate, interval.low, interval.high, n, counts.n_unscored)

    def declare_correct(self) -> str | None:
        """What is correct, and how many queries are."""
        notion = self.notion()
        return declare_counts(self.table.head, notion, count_correct(self.table, notion))

    def notion(self) -> CorrectNotion:
        """What a correct answer is."""
        notion = find_notion(self.table.head, self.settings.correct)
        if notion is None:
            name = self.table.name
            why = why_unknown(self.table.head) or f"{name!r} has no metric of correct answers"
            raise DataError(f"{why}. {HOW_TO_SAY}")
        return notion

    def select_rows(self, select: Callable[[GatedRun], Any]) -> Any:
        """The worst of the queries behind a rule, and the number of all."""
        import narwhals as nw

        if not isinstance(select, RowsBehind):
            return None
        metric, by, descending = select.metric, None, False
        condition, settings = nw.lit(value=True), self.settings
        if metric is None:
            notion = self.notion()
            settings, found = (
                replace(settings, correct=notion),
                count_combinations(self.table, notion),
            )
            right = answers_by(found.rows, notion)
            is_wrong = ~right.fillna(value=True) if select.is_evaluated else right.isna()
            condition = found.condition(is_wrong.to_numpy(bool))
            n = int(found.n[is_wrong.to_numpy(bool)].sum())
        elif select.queries == "unscored" or not select.is_evaluated:
            condition = nw.col(metric.name).is_null()
            n = self.table.count(condition) - self._n_not_applicable(metric.name)
        else:
            side, by = select.unwanted_side() or "<", metric.name
            condition = _SIDES[side](nw.col(by), select.cut)
            n, descending = self.table.count(condition), side.startswith(">")
        rows = self.table.first_rows(condition, by, MOST_WORST, descending=descending)
        return replace(select(GatedRun(self.table.with_rows(rows), settings)), n=n)


def with_more(column: Column, value: float, n: int) -> Column:
    """A column with more numbers, all of them equal.

    Examples
    --------
    >>> more = with_more(Column.of([0.5, 1.0]), 0.0, 2)
    >>> more.values, more.counts, more.mean
    (array([0. , 0.5, 1. ]), array([2., 1., 1.]), 0.375)
    """
    values, places = np.unique(np.append(column.values, value), return_inverse=True)
    counts = np.bincount(places, np.append(column.counts, float(n))).astype(np.float64)
    if column.is_exact:
        return Column.of_counts(values, counts)
    total, added = column.n + n, column.n * n / (column.n + n) * (column.mean - value) ** 2
    mean = (column.mean * column.n + value * n) / total
    squares = column.variance * (column.n - 1) + added
    return Column(values, counts, mean, math.sqrt(squares / (total - 1)), is_exact=False)
