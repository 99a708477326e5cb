"""What an engine counts of queries: why scores are missing, and which answers are correct."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, pairwise
from operator import add, and_
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import EvaluationSubset
from rageval_report.analysis.breakdown import CauseCounts, failure_causes
from rageval_report.analysis.gate import RowsBehind
from rageval_report.analysis.gate_figures import GatedRun
from rageval_report.analysis.report import UnscoredQueries
from rageval_report.scale.tables import (
    MOST_WORST,
    ScannedTable,
    count_rows,
    needs_memory,
    to_pandas,
)
from rageval_report.scores import normalise_name, resolver
from rageval_report.scores.correct_notion import (
    CorrectCounts,
    CorrectNotion,
    answers_by,
)
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.states import ERROR, MISSING, REASON, STATE
from rageval_report.types import BoolArray, FloatArray

if TYPE_CHECKING:
    import narwhals as nw

    from rageval_report.scale.counted import LazyTable

_SIDES = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
# The metrics that say of a query whether it was refused rightly, and why it failed.
_OF_ANSWERS = ("hallucinated_answer", "abstention_recall", "false_refusal")
OF_RETRIEVAL = ("hit", "recall", "reachable_recall")
# What decides about answers and causes, beside the thresholds of rules and the ends of scales.
_CUTS = (0.0, 0.5, 1.0)


def count_unscored(table: ScannedTable, metrics: Iterable[str]) -> UnscoredQueries:
    """The queries without a score, by metric, state and reason."""
    import narwhals as nw

    states: dict[str, Counter[str]] = {}
    reasons: dict[str, Counter[str]] = {}
    for name in metrics:
        own = (f"{name}{STATE}", f"{name}{REASON}")
        key = [d for d in table.details if d == ERROR or normalise_name(d) in own]
        blank = table.frame.filter(nw.col(name).is_null())
        if not key:
            if n_unscored := count_rows(blank):
                states[name], reasons[name] = Counter({MISSING: n_unscored}), Counter()
            continue
        part = to_pandas(blank.group_by(*key).agg(nw.len().alias("_n")))
        part = part.sort_values(["_n", *key], ascending=False, ignore_index=True)
        times, scores = part.pop("_n"), pd.DataFrame({name: np.full(len(part), np.nan)})
        group = EvaluationSubset(table.name, scores, part, {name: table.metrics[name]})
        unscored = UnscoredQueries.of(group, [name], times=times)
        states |= unscored.states
        reasons |= unscored.reasons
    return UnscoredQueries(table.n_rows, states, reasons)


@dataclass(frozen=True, eq=False)
class Combinations:
    """The combinations of some columns that occur, of scores those that decide alike.

    Parameters
    ----------
    rows : EvaluationSubset
        One query for each.
    n : ndarray
        How many queries have each.
    keys : DataFrame
        What was counted: for each metric the place of its score among the cuts, and details.
    columns : dict of str to Expr
        The same of every row.
    """

    rows: EvaluationSubset
    n: FloatArray
    keys: pd.DataFrame
    columns: Mapping[str, nw.Expr]

    def condition(self, is_chosen: BoolArray) -> nw.Expr:
        """Whether a query has one of the chosen combinations."""
        import narwhals as nw

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
    """The combinations of what decides whether an answer is correct, and of more metrics.

    Parameters
    ----------
    table : ScannedTable
        The pipeline.
    notion : CorrectNotion
        What a correct answer is.
    known_as : iterable of str
        The names in the catalogue of other metrics that are needed.

    Raises
    ------
    DataError
        If the rule is a function, which needs every row.
    """
    import narwhals as nw

    if callable(notion.rule):
        raise needs_memory("correct: a function", table)
    cuts, wanted = _cuts_of_rule(table, notion), {*_OF_ANSWERS, *known_as}
    columns: dict[str, nw.Expr] = {}
    levels: dict[str, dict[int, float]] = {}
    for name, metric in table.metrics.items():
        if name in cuts or metric.known_as in wanted:
            ends = sorted({*cuts.get(name, ()), *_CUTS, *(metric.bounds or ())})
            # Whether a score is below, at or above each; every place has a score of its own.
            x = nw.col(name)
            beyond = [(x >= cut).cast(nw.Int64) + (x > cut).cast(nw.Int64) for cut in ends]
            columns[name] = reduce(add, beyond)
            middles = [ends[0] - 1.0, *((low + high) / 2.0 for low, high in pairwise(ends))]
            pairs = chain.from_iterable(zip(middles, ends, strict=True))
            levels[name] = dict(enumerate([*pairs, ends[-1] + 1.0]))
    details = [d for d in table.details if d in (notion.rule, notion.column)]
    columns |= {name: nw.col(name) for name in details}
    aliases = {f"_{place}": name for place, name in enumerate(columns)}
    reduced = table.frame.select(*(columns[name].alias(key) for key, name in aliases.items()))
    counted = to_pandas(reduced.group_by(*aliases).agg(nw.len().alias("_n")))
    keys = counted.rename(columns=aliases)
    n = keys.pop("_n").to_numpy(np.float64)
    scores = pd.DataFrame({name: keys[name].map(levels[name]) for name in levels}, keys.index)
    # The other metrics are there as well, for messages.
    scores = scores.reindex(columns=list(table.metrics)).astype(np.float64)
    group = (table.name, scores, keys[details], table.metrics, table.head.config)
    return Combinations(EvaluationSubset(*group), n, keys, columns)


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
    stems = [f"{stem}{cutoff}" for stem in OF_RETRIEVAL for cutoff in (f"@{k}", "")]
    combined = count_combinations(table, notion, ("citation_hit", *stems))
    return combined, failure_causes(combined.rows, k=k, correct=notion)


def count_causes(table: ScannedTable, notion: CorrectNotion, k: int) -> CauseCounts:
    """How many queries fail for each cause."""
    combined, causes = find_causes(table, notion, k)
    unmeasured = CauseCounts.of(combined.rows, causes).unmeasured
    sums = pd.Series(combined.n).groupby(causes.to_numpy()).sum().astype(int)
    return CauseCounts(
        table.n_rows, Counter({str(cause): int(n) for cause, n in sums.items()}), unmeasured
    )


def answers_of(table: ScannedTable, notion: CorrectNotion) -> LazyTable:
    """Whether each query is answered correctly, as 1 or 0; 2 if that is not known."""
    import narwhals as nw

    combined = count_combinations(table, notion)
    answers = answers_by(combined.rows, notion)
    is_right = combined.condition(answers.fillna(value=False).to_numpy(bool))
    is_unknown = combined.condition(answers.isna().to_numpy())
    answer = nw.when(is_unknown).then(2).when(is_right).then(1).otherwise(0)
    return table.frame.select(QUERY_ID, answer.alias("is_right"))


# -- gates


class ScannedRun(GatedRun):
    """A scanned pipeline and the settings of its gate; rows are fetched where people read them."""

    evaluation: Any

    def select_rows(self, select: Callable[[GatedRun], Any]) -> Any:
        """The worst of the queries behind a rule, and the number of all."""
        import narwhals as nw

        if not isinstance(select, RowsBehind):
            return None
        metric, by, descending = select.request.metric, None, False
        table, settings = self.evaluation.table, self.settings
        if metric is None:
            notion = self.notion()
            settings, combined = (
                replace(settings, correct=notion),
                count_combinations(table, notion),
            )
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
