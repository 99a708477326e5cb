"""What an engine counts of queries: why scores are missing, and which answers are correct."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, and_
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import EvaluationSubset
from rageval_report.analysis.breakdown import CauseCounts, failure_causes
from rageval_report.analysis.gate import RowsBehind
from rageval_report.analysis.gate_figures import GatedRun
from rageval_report.analysis.report import UnscoredQueries
from rageval_report.scale.frames import LazyTable, collect, count_rows
from rageval_report.scale.tables import MOST_WORST, ScannedTable
from rageval_report.scores import normalise_name, resolver
from rageval_report.scores.correct import CorrectCounts, CorrectNotion, answers_by
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.states import ERROR, REASON, STATE
from rageval_report.types import BoolArray, FloatArray

_SIDES = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
# The metrics that say of a query whether it was refused rightly, and why it failed.
_OF_ANSWERS = ("hallucinated_answer", "abstention_recall", "false_refusal")
_OF_RETRIEVAL = ("hit", "recall", "reachable_recall")
# What decides about answers and causes, beside the thresholds of rules and the ends of scales.
_CUTS = (0.0, 0.5, 1.0)


def count_unscored(table: ScannedTable, metrics: Iterable[str]) -> UnscoredQueries:
    """The queries without a score, by metric, state and reason."""
    states: dict[str, Counter[str]] = {}
    reasons: dict[str, Counter[str]] = {}
    for name in filter(table.has_gaps, metrics):
        own = (f"{name}{STATE}", f"{name}{REASON}")
        key = [d for d in table.details if d == ERROR or normalise_name(d) in own]
        part = pd.DataFrame({"_n": [table.n_rows - table.n_scored[name]]})
        if key:
            blank = table.frame.filter(nw.col(name).is_null())
            part = collect(blank.group_by(*key).agg(nw.len().alias("_n")))
            part = part.sort_values(["_n", *key], ascending=False, ignore_index=True)
        times, scores = part.pop("_n"), pd.DataFrame({name: np.full(len(part), np.nan)})
        group = EvaluationSubset(table.head.name, scores, part, {name: table.metrics[name]})
        unscored = UnscoredQueries.of(group, [name], times=times)
        states |= unscored.states
        reasons |= unscored.reasons
    return UnscoredQueries(table.n_rows, states, reasons)


@dataclass(frozen=True, eq=False)
class Combinations:
    """The combinations of some columns that occur, of scores those that decide alike.

    `rows` has one query for each and `n` how many there are; `keys` is what was counted, for each
    metric how many cuts its score reaches, and `columns` the same of every row.
    """

    rows: EvaluationSubset
    n: FloatArray
    keys: pd.DataFrame
    columns: Mapping[str, nw.Expr]

    def condition(self, is_chosen: BoolArray) -> nw.Expr:
        """Whether a query has one of the chosen combinations."""

        def is_like(key: Mapping[str, Any]) -> nw.Expr:
            parts = self.columns.items()
            return reduce(
                and_, [c.is_null() if pd.isna(key[name]) else c == key[name] for name, c in parts]
            )

        chosen: list[Any] = self.keys[is_chosen].to_dict("records")
        # Null is no answer to whether a row is like another one, and a row that is not chosen.
        combined = [nw.when(is_like(key)).then(1).otherwise(0) for key in chosen]
        return reduce(add, combined) > 0 if combined else nw.lit(value=False)


def count_combinations(
    table: ScannedTable, notion: CorrectNotion, known_as: Iterable[str] = ()
) -> Combinations:
    """The combinations of what decides whether an answer is correct, and of other metrics.

    Raises
    ------
    DataError
        If the rule is a function, which needs every row.
    """
    if callable(notion.rule):
        raise table.needs_memory("correct: a function")
    cuts, wanted = _cuts_of_rule(table, notion), {*_OF_ANSWERS, *known_as}
    columns: dict[str, nw.Expr] = {}
    for name, metric in table.metrics.items():
        if name in cuts or metric.known_as in wanted:
            x, ends = nw.col(name), {*cuts.get(name, ()), *_CUTS, *(metric.bounds or ())}
            # Without a cast of a truth value, which PostgreSQL refuses; null where unscored.
            reached = [
                nw.when(x > e).then(2).when(x == e).then(1).when(x < e).then(0) for e in ends
            ]
            columns[name] = reduce(add, reached)
    details = [d for d in table.details if d in (notion.rule, notion.column)]
    scored = {f"x{place}": name for place, name in enumerate(columns)}
    columns |= {name: nw.col(name) for name in details}
    keys = {f"_{place}": name for place, name in enumerate(columns)}
    reduced = table.frame.select(
        *(columns[name].alias(key) for key, name in keys.items()),
        *(nw.col(name).alias(key) for key, name in scored.items()),
    )
    # Scores that reach the same cuts decide alike: any of them stands for all.
    count = [nw.len().alias("n"), *(nw.col(key).min() for key in scored)]
    counted = collect(reduced.group_by(*keys).agg(*count))
    scores = counted[[*scored]].rename(columns=scored)
    # The other metrics are there as well, for messages.
    scores = scores.reindex(columns=list(table.metrics)).astype(np.float64)
    own = counted[[*keys]].rename(columns=keys)
    rows = (table.head.name, scores, own[details], table.metrics, table.head.config)
    return Combinations(EvaluationSubset(*rows), counted["n"].to_numpy(np.float64), own, columns)


def _cuts_of_rule(table: ScannedTable, notion: CorrectNotion) -> dict[str, set[float]]:
    """The metrics of a rule, each with its thresholds."""
    rule, resolve = notion.rule, resolver(table.metrics)
    if isinstance(rule, str):
        return {} if rule in table.details else {resolve(rule): set()}
    pairs = dict(rule) if isinstance(rule, Mapping) else dict([rule])  # type: ignore[list-item]
    return {resolve(name): {float(threshold)} for name, threshold in pairs.items()}


def count_correct(table: ScannedTable, notion: CorrectNotion) -> CorrectCounts:
    """How many queries are answered correctly."""
    combined = count_combinations(table, notion)
    right = answers_by(combined.rows, notion)
    n_correct = int(combined.n[right.fillna(value=False).to_numpy(bool)].sum())
    n_unknown = int(combined.n[right.isna().to_numpy()].sum())
    return CorrectCounts(n_correct, table.n_rows - n_correct - n_unknown, n_unknown)


def find_causes(
    table: ScannedTable, notion: CorrectNotion, k: int
) -> tuple[Combinations, pd.Series]:
    """The combinations of what decides why a query fails, and the cause of each."""
    stems = [f"{stem}{cutoff}" for stem in _OF_RETRIEVAL for cutoff in (f"@{k}", "")]
    combined = count_combinations(table, notion, ("citation_hit", *stems))
    return combined, failure_causes(combined.rows, k=k, correct=notion)


def count_causes(table: ScannedTable, notion: CorrectNotion, k: int) -> CauseCounts:
    """How many queries fail for each cause."""
    combined, causes = find_causes(table, notion, k)
    unmeasured = CauseCounts.of(combined.rows, causes).unmeasured
    sums = pd.Series(combined.n).groupby(causes.to_numpy()).sum().astype(int)
    counts = Counter({str(cause): int(n) for cause, n in sums.items()})
    return CauseCounts(table.n_rows, counts, unmeasured)


def answers_of(table: ScannedTable, notion: CorrectNotion) -> LazyTable:
    """Whether each query is answered correctly, as 1 or 0; 2 if that is not known."""
    combined = count_combinations(table, notion)
    answers = answers_by(combined.rows, notion)
    is_right = combined.condition(answers.fillna(value=False).to_numpy(bool))
    answer = nw.when(combined.condition(answers.isna().to_numpy())).then(2).when(is_right).then(1)
    return table.frame.select(QUERY_ID, answer.otherwise(0).alias("is_right"))


class ScannedRun(GatedRun):
    """A scanned pipeline and the settings of its gate; rows are fetched where people read them."""

    evaluation: Any

    def select_rows(self, select: Callable[[GatedRun], Any]) -> Any:
        """The worst of the queries behind a rule, and the number of all."""
        if not isinstance(select, RowsBehind):
            return None
        metric, by, descending = select.request.metric, None, False
        table, settings = self.evaluation.table, self.settings
        if metric is None:
            notion = self.notion()
            settings = replace(settings, correct=notion)
            combined = count_combinations(table, notion)
            right = answers_by(combined.rows, notion)
            is_wrong = ~right.fillna(value=True) if select.is_evaluated else right.isna()
            condition = combined.condition(is_wrong.to_numpy(bool))
            n = int(combined.n[is_wrong.to_numpy(bool)].sum())
        elif select.are_unscored:
            condition = nw.col(metric.name).is_null()
            n = self.column(metric).n_unscored
        else:
            side, by = select.unwanted_side() or "<", metric.name
            condition = _SIDES[side](nw.col(by), select.cut)
            n, descending = count_rows(table.frame.filter(condition)), side.startswith(">")
        rows = table.first_rows(condition, by, MOST_WORST, descending=descending)
        return replace(select(GatedRun(table.with_rows(rows), settings)), n=n)
