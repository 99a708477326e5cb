"""Scanned pipelines compared query by query: one pass over both tables for each candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rageval_report.analysis.comparing.comparison import Comparison, comparison_of_rows
from rageval_report.analysis.comparing.metric_comparison import (
    ComparisonPlan,
    MetricComparison,
    MetricPairs,
    compare_pairs,
)
from rageval_report.analysis.comparing.pairing import (
    check_directions,
    note_on_lone_ids,
    notes_on_lone_metrics,
    shared_metrics,
)
from rageval_report.errors import AlignmentError, DataError
from rageval_report.evaluation.scanning.description import DescribedScan, HeadEvaluation
from rageval_report.scale.engines.base import Engine, PairedColumns
from rageval_report.scale.facts import TableFacts
from rageval_report.scale.mergeable import StateByName, StateOfEach
from rageval_report.scale.pairs import CommonIds, PairedRows
from rageval_report.scores import Metric
from rageval_report.scores.catalogue.dialects import dialect_settings, note_on_dialects
from rageval_report.scores.guard import doubts_of
from rageval_report.scores.metric_scales import check_scales
from rageval_report.stats.states.pair_state import PairState


@dataclass(frozen=True)
class PairStates:
    """Makes the state of each pair of metrics; of latency and cost also that of the logarithms.

    Parameters
    ----------
    metrics : tuple of (str, str)
        The name of each metric in either table.
    spent : frozenset of str
        The metrics of latency and cost, by their names in the first table.
    """

    metrics: tuple[tuple[str, str], ...]
    spent: frozenset[str]

    def __call__(self, rows: PairedRows) -> StateByName:
        """The states of some rows, by metric."""
        states: dict[Any, Any] = {}
        for ours, theirs in self.metrics:
            before, after = rows.before.scores[ours], rows.after.scores[theirs]
            states[ours] = PairState.of(before, after)
            if ours in self.spent:
                sides = (np.where(side > 0, side, np.nan) for side in (before, after))
                states[ours, "log"] = PairState.of(*map(np.log, sides))
        return StateByName(states)


def facts_before(rows: PairedRows) -> TableFacts:
    """The facts about the rows of the first table."""
    return TableFacts.of(rows.before) + TableFacts.of(rows.only_before)


def facts_after(rows: PairedRows) -> TableFacts:
    """The facts about the rows of the second table."""
    return TableFacts.of(rows.after) + TableFacts.of(rows.only_after)


@dataclass(frozen=True, eq=False)
class ScannedPair:
    """Two scanned runs after one pass over both.

    Parameters
    ----------
    baseline, candidate : HeadEvaluation
        The first rows of the tables, described by all rows.
    metrics : list of (Metric, Metric)
        The metrics that both have.
    states : mapping
        The state of each metric.
    common : CommonIds
        The queries of both.
    """

    baseline: HeadEvaluation
    candidate: HeadEvaluation
    metrics: list[tuple[Metric, Metric]]
    states: Mapping[Any, PairState]
    common: CommonIds

    def notes(self) -> tuple[str, ...]:
        """The ids and the metrics that only one run has."""
        common = self.common
        return (
            *note_on_lone_ids(self.baseline.name, common.only_before, common.n_only_before),
            *note_on_lone_ids(self.candidate.name, common.only_after, common.n_only_after),
            *notes_on_lone_metrics(self.baseline, self.candidate),
        )

    def rows(self, plan: ComparisonPlan) -> list[MetricComparison]:
        """Every metric, tested."""
        names = (self.baseline.name, self.candidate.name)
        return [
            compare_pairs(
                names,
                ours,
                plan,
                MetricPairs.of_state(
                    self.states[ours.name], logarithms=self.states.get((ours.name, "log"))
                ),
            )
            for ours, _ in self.metrics
        ]


def pair_scans(
    baseline: DescribedScan,
    candidate: DescribedScan,
    engine: Engine,
    metrics: Sequence[str] | None,
) -> ScannedPair:
    """Read two tables side by side; a second time if scores lie slightly outside their bounds.

    Raises
    ------
    AlignmentError
        If they share no query or no metric.
    """
    for _ in range(2):
        shared = shared_metrics(baseline.head, candidate.head, metrics)
        names = tuple((ours.name, theirs.name) for ours, theirs in shared)
        spent = frozenset(ours.name for ours, _ in shared if ours.group == "performance")
        states = engine.fold_pairs(
            baseline.table,
            candidate.table,
            StateOfEach((CommonIds.of, facts_before, facts_after, PairStates(names, spent))),
            PairedColumns(tuple(n for n, _ in names), tuple(n for _, n in names)),
        )
        if states is None:
            raise DataError(f"{baseline.head.name} and {candidate.head.name}: no rows")
        common, first, second, by_metric = states.parts
        baseline, candidate = baseline.with_facts(first), candidate.with_facts(second)
        if not (baseline.table.shape.bounds or candidate.table.shape.bounds):
            break
    _check_common(baseline, candidate, common)
    shared = shared_metrics(baseline.head, candidate.head, metrics)
    check_directions(shared)
    check_scales(
        (baseline.head.name, candidate.head.name),
        (baseline.head.scores, candidate.head.scores),
        shared,
    )
    return ScannedPair(baseline.head, candidate.head, shared, by_metric.states, common)


def _check_common(baseline: DescribedScan, candidate: DescribedScan, common: CommonIds) -> None:
    if not common.n_common:
        raise AlignmentError(
            f"{baseline.head.name!r} and {candidate.head.name!r} share no query id; ids of the "
            f"first: {', '.join(map(repr, common.only_before[:3]))}, of the second: "
            f"{', '.join(map(repr, common.only_after[:3]))}"
        )


def compare_scans(
    pairs: Sequence[ScannedPair], plan: ComparisonPlan, *, correction: str, engine: str
) -> Comparison:
    """The comparison of a baseline with its candidates, as that of evaluations in memory.

    Parameters
    ----------
    pairs : sequence of ScannedPair
        The baseline beside each candidate.
    plan : ComparisonPlan
        The settings.
    correction : str
        As in `rageval_report.compare`; not "westfall-young", which needs every score.
    engine : str
        The name of the engine, for the signature.
    """
    if correction == "westfall-young":
        raise DataError(
            "correction 'westfall-young' needs every score in memory; choose another one, such as "
            "'holm', or bring the scores into memory with .collect()"
        )
    heads = [pairs[0].baseline, *(pair.candidate for pair in pairs)]
    title = f"{', '.join(head.name for head in heads[1:])} against {heads[0].name}"
    first = pairs[0].common
    return comparison_of_rows(
        title,
        pairs,
        [row for pair in pairs for row in pair.rows(plan)],
        plan,
        correction=correction,
        n_queries=first.n_common + first.n_only_before,
        settings={**dialect_settings(heads), "engine": engine},
        notes=(*doubts_of(heads), *note_on_dialects(heads)),
    )
