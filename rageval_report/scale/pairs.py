"""Scans as the pairings of comparisons and histories and the lineups of rankings, counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import narwhals as nw
import numpy as np
import pandas as pd

from rageval_report.analysis import lineup, outcomes, pairing
from rageval_report.analysis.arguments import Clusters, unnamed_clusters
from rageval_report.analysis.lineup import (
    RankedColumns,
)
from rageval_report.analysis.paired_metric import ComparisonPlan, MetricComparison, PairedMetric
from rageval_report.analysis.pairing import (
    MetricPairs,
    merge_details,
)
from rageval_report.analysis.runs import query_set_text
from rageval_report.analysis.slices import SlicedPairs
from rageval_report.analysis.tables import NO_GROUP, order_of_groups
from rageval_report.errors import AlignmentError, doubts_of, named
from rageval_report.results import QueryFrame
from rageval_report.scale.answers import answers_of
from rageval_report.scale.frames import LazyTable, collect, count_rows, write_rows
from rageval_report.scale.sides import OTHER_GROUP, SideBySide, difference, grid_notes
from rageval_report.scale.tables import MOST_WORST, ScannedTable
from rageval_report.scores import Correct, Metric, join_details
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.run_file import reference_column
from rageval_report.stats.columns import Column
from rageval_report.stats.many_pairs import FriedmanResult, friedman_of_sums
from rageval_report.stats.pairs import Pairs
from rageval_report.stats.units import ClusteredStandardError, Units
from rageval_report.types import IntArray

if TYPE_CHECKING:
    from rageval_report.analysis.runs import DatedRun
    from rageval_report.scale.scan import EvaluationScan


@dataclass(frozen=True, eq=False)
class CountedPairing:
    """Two scans side by side, with the names of a `Pairing`; `sides` are their tables."""

    baseline: EvaluationScan
    candidate: EvaluationScan
    metrics: list[tuple[Metric, ...]]
    sides: SideBySide

    @classmethod
    def of(
        cls,
        baseline: EvaluationScan,
        candidate: EvaluationScan,
        metrics: str | Iterable[str] | None,
        missing: pairing.MissingTreatment,
        clusters: Clusters | None,
    ) -> Self:
        """Two scans with the metrics that they share.

        Raises
        ------
        AlignmentError
            If they share no query or no metric.
        DataError
            If they disagree on the direction or the scale of a metric.
        """
        heads = baseline.head, candidate.head
        agreed = pairing.on_one_scale(heads, pairing.shared_metrics(*heads, metrics))
        sides = SideBySide([baseline.table, candidate.table], agreed, missing).clustered(clusters)
        if not sides.n_common:
            raise AlignmentError(
                f"{baseline.name!r} and {candidate.name!r} share no query id; ids of the first: "
                f"{named(heads[0].scores.index, 3)}, of the second: "
                f"{named(heads[1].scores.index, 3)}"
            )
        return cls(baseline, candidate, agreed, sides)

    @property
    def n_common(self) -> int:
        """The number of queries that both have."""
        return self.sides.n_common

    @property
    def n_alone(self) -> int:
        """The number of queries that one of them has alone."""
        return sum(table.n_rows for table in self.sides.tables) - 2 * self.n_common

    def measured(self, metric: Metric) -> MetricPairs:
        """The pairs of a metric, by the baseline's name for it."""
        return self.sides.measured([ours.name for ours, *_ in self.metrics].index(metric.name))

    def independent_pairs(self, ours: Metric, *_: object) -> Pairs:
        """The pairs of a metric by independent unit; the settings are those of the sides."""
        return self.measured(ours).pairs

    def __getattr__(self, name: str) -> Any:
        if name in ("both", "alignment"):
            raise self.baseline.needs_memory("what shows every query of a comparison")
        raise AttributeError(name)

    def sliced(self, by: str, metrics: Sequence[tuple[Metric, Metric]]) -> SlicedPairs:
        """The pairs of each group of a column of the baseline."""
        self.baseline.table.check_groups(by)
        sides = replace(self.sides, metrics=metrics, by=by)
        labels = order_of_groups(sides.groups)
        pairs = [
            PairedMetric(self._names, ours, sides.measured(i, label))
            for i, (ours, _) in enumerate(metrics)
            for label in labels
        ]
        return SlicedPairs(
            replace(self, metrics=list(metrics), sides=sides),
            [(label, label) for label in labels],
            pairs,
            sides.groups.get(NO_GROUP, 0),
            sum(sides.n(OTHER_GROUP, label) for label in labels),
            sides.shared_clusters(),
        )

    @property
    def _names(self) -> tuple[str, str]:
        return self.baseline.name, self.candidate.name

    def without(self, group: str) -> Self:
        """The same without the queries of a group, by another pass."""
        return replace(self, sides=replace(self.sides, left_out=group))

    def notes(self) -> tuple[str, ...]:
        """The ids and the metrics that only one has, bounds that do not hold, and grids."""
        heads, tables = (self.baseline.head, self.candidate.head), self.sides.tables
        lone = [
            note
            for own, other in (tables, tables[::-1])
            if (n := own.n_rows - self.n_common)
            for note in pairing.note_on_lone_ids(own.head.name, lone_ids(own, other.frame), n)
        ]
        return (
            *lone,
            *pairing.notes_on_lone_metrics(*heads),
            *pairing.notes_on_bounds(heads, self.metrics),
            *grid_notes({ours.name: self.measured(ours).pairs.units for ours, *_ in self.metrics}),
        )

    def changed(
        self, pair: tuple[Metric, Metric], k: int | None, path: str | Path | None, *, better: bool
    ) -> pd.DataFrame:
        """The queries that changed in one direction; see `Comparison.regressions`."""
        names, tables = self._names, self.sides.tables
        known = [t.ranges.get(m.name) for t, m in zip(tables, pair, strict=True)]
        moved = difference(nw.col("r0_0"), nw.col("r0_1"), [each for each in known if each])
        change, rises = nw.col("difference"), pair[0].greater_is_better == better
        scores = [nw.col(f"r0_{p}").alias(f"{name}_{pair[0].name}") for p, name in enumerate(names)]
        rows = (
            SideBySide(tables, [pair])
            .rows.with_columns(moved.alias("difference"))
            .filter(change > 0 if rises else change < 0)
            .select(QUERY_ID, *scores, change)
            .sort("difference", QUERY_ID, descending=[rises, False])
        )
        if path is not None:
            write_rows(rows, path)
        most = MOST_WORST if k is None else k
        listed = collect(rows.head(most)).set_index(QUERY_ID)
        before, after = (table.details_of(listed.index) for table in tables)
        details = merge_details(names, before, after, listed.index)
        frame = QueryFrame(join_details(listed.astype("float64"), details))
        frame.attrs["n"] = len(listed) if len(listed) < most else count_rows(rows)
        return frame


def lone_ids(own: ScannedTable | LazyTable, other: LazyTable, k: int = 5) -> list[str]:
    """The first ids, in their order, that another table does not have."""
    rows = own.frame if isinstance(own, ScannedTable) else own
    alone = rows.select(QUERY_ID).join(other.select(QUERY_ID), on=QUERY_ID, how="anti")
    return _first_ids(alone, k)


def _first_ids(rows: LazyTable, k: int) -> list[str]:
    return [str(query_id) for query_id in collect(rows.sort(QUERY_ID).head(k))[QUERY_ID]]


def outcomes_of_scans(
    runs: tuple[EvaluationScan, EvaluationScan],
    correct: Correct | None,
    k: int,
    path: str | Path | None,
) -> pd.DataFrame:
    """The ids of the queries that both, neither, or only one of two scans answers correctly."""
    heads, tables = (runs[0].head, runs[1].head), [run.table for run in runs]
    names = outcomes.check_two_names(*heads)
    notions = outcomes.notions_of(heads, correct)
    first, second = (answers_of(table, n) for table, n in zip(tables, notions, strict=True))
    rows = first.join(second.rename({"is_right": "other"}), on=QUERY_ID, how="inner")
    right, other = nw.col("is_right"), nw.col("other")
    columns = outcomes.outcome_columns(*names)
    # Unknown is 2, and decides before the rest.
    outcome = nw.when((right > 1) | (other > 1)).then(nw.lit(columns[4]))
    for place, (ours, theirs) in enumerate(((1, 1), (0, 0), (1, 0), (0, 1))):
        outcome = outcome.when((right == ours) & (other == theirs)).then(nw.lit(columns[place]))
    rows = rows.select(QUERY_ID, outcome.alias("outcome"))
    if path is not None:
        write_rows(rows.sort(QUERY_ID), path)
    counted = collect(rows.group_by("outcome").agg(nw.len().alias("n")))
    counts = dict.fromkeys(columns, 0) | dict(counted.itertuples(index=False, name=None))
    n_common = sum(counts.values())
    if not n_common:
        raise AlignmentError(f"{names[0]!r} and {names[1]!r} share no query id")
    ids = {name: _first_ids(rows.filter(nw.col("outcome") == name), k) for name in columns[:5]}
    for column, own, twin in zip(columns[5:], tables, tables[::-1], strict=True):
        counts[column] = own.n_rows - n_common
        ids[column] = lone_ids(own, twin.frame, k) if counts[column] else []
    notes = outcomes.notes_on_notions(heads, notions)
    table = outcomes.outcome_frame(ids, counts, notes=notes)
    table.attrs["engine"] = runs[0].engine
    return table


@dataclass(frozen=True, eq=False)
class ScannedRuns:
    """Two scanned runs of a history, and their tables, on the queries that are the same in both."""

    before: DatedRun
    after: DatedRun
    tables: tuple[ScannedTable, ScannedTable]

    @property
    def gold_set(self) -> str:
        """How the gold set changed, in words; empty if it is the same."""
        if self.before.query_set == self.after.query_set:
            return ""
        n_common, (ours, theirs) = SideBySide(self.tables, []).n_common, self.tables
        return query_set_text(
            theirs.n_rows - n_common, ours.n_rows - n_common, n_common - self.n_same
        )

    @cached_property
    def n_same(self) -> int:
        """The number of the queries that are the same."""
        return SideBySide([self.tables[0], self._same], []).n_common

    def compare(
        self,
        metrics: Sequence[tuple[Metric, Metric]],
        plan: ComparisonPlan,
        clusters: Clusters | None,
    ) -> list[MetricComparison]:
        """The test of some metrics, by one pass over both tables."""
        tables = [self.tables[0], self._same]
        sides = SideBySide(tables, metrics, plan.missing).clustered(clusters)
        own, names = replace(plan, units=sides.units), (self.before.name, self.after.name)
        return [
            PairedMetric(names, ours, sides.measured(i)).tested(own)
            for i, (ours, _) in enumerate(metrics)
        ]

    @cached_property
    def _same(self) -> ScannedTable:
        """The later table without queries whose reference differs."""
        ours, theirs = self.tables
        if self.before.query_set == self.after.query_set:
            return theirs
        own = ours.frame.select(QUERY_ID, _reference_of(ours).alias("reference_before"))
        rows = theirs.frame.with_columns(_reference_of(theirs).alias("reference_after"))
        before, after = nw.col("reference_before"), nw.col("reference_after")
        is_same = (before == after) | (before.is_null() & after.is_null())
        rows = rows.join(own, on=QUERY_ID, how="inner").filter(is_same)
        return replace(theirs, frame=rows.drop("reference_before", "reference_after"))


def _reference_of(table: ScannedTable) -> nw.Expr:
    column = reference_column(table.details)
    return nw.lit(None, dtype=nw.String) if column is None else nw.col(column).cast(nw.String)


# -- rankings


@dataclass(frozen=True, eq=False)
class CountedLineup:
    """Scans side by side, with the names of a `Lineup`.

    `metrics` are those that all have, by the first one's name, `chosen` those that are ranked, and
    `sides` has the tables with these.
    """

    runs: Sequence[EvaluationScan]
    metrics: dict[str, tuple[Metric, ...]]
    chosen: list[str]
    sides: SideBySide
    clusters: Clusters | None

    @classmethod
    def of(
        cls,
        runs: Sequence[EvaluationScan],
        metrics: str | Iterable[str] | None,
        missing: pairing.MissingTreatment,
        clusters: Clusters | None,
    ) -> CountedLineup:
        """The pipelines; one without any score of a common query is not ranked on a metric.

        Raises
        ------
        AlignmentError
            If no query, or no metric, is in all of them.
        """
        heads, tables = [run.head for run in runs], [run.table for run in runs]
        lineup.check_several([run.name for run in runs])
        for other in heads[1:]:
            pairing.shared_metrics(heads[0], other, None)  # or an error that names the two
        common = lineup.common_metrics(heads)
        chosen = lineup.choose_shared_metrics(heads[0].metrics, common, metrics)
        own = [common[name] for name in chosen]
        ranked = [
            [p for p, table in enumerate(tables) if known[p].name in table.ranges] for known in own
        ]
        sides = SideBySide(tables, own, missing, ranked=ranked).clustered(clusters)
        n = sides.n_common
        if not n:
            raise AlignmentError(
                f"no query is in all {len(runs)} pipelines; of the ids, "
                + "; ".join(f"{head.name!r} has {named(head.scores.index, 3)}" for head in heads)
                + ". Rank fewer of them, or compare them two by two"
            )
        kept = [
            [p for p in places if sides.n_unscored(i, p) < n - sides.n(f"n{i}")]
            for i, places in enumerate(ranked)
        ]
        sides = sides if kept == ranked else replace(sides, ranked=kept)
        return cls(runs, common, chosen, sides, clusters)

    @property
    def names(self) -> tuple[str, ...]:
        """The pipelines."""
        return tuple(run.name for run in self.runs)

    @property
    def n_queries(self) -> int:
        """The number of queries that all have."""
        return self.sides.n_common

    @property
    def missing(self) -> pairing.MissingTreatment:
        """The treatment of an unscored query."""
        return self.sides.missing

    def __getattr__(self, name: str) -> Any:
        if name == "ids":
            raise self.runs[0].needs_memory("what shows every query of a ranking")
        raise AttributeError(name)

    def block(self, name: str) -> CountedBlock:
        """The scores of one metric on the queries that every pipeline scored."""
        if name not in self.chosen:
            raise self.runs[0].needs_memory(f"{name}, which was not ranked,")
        i = self.chosen.index(name)
        metric, ranked, sides = self.metrics[name][0], self.sides.scored(i), self.sides
        unscored = np.array([sides.n_unscored(i, p) for p in ranked], dtype=np.int64)
        if self.missing == "worst" and unscored.any():
            pairing.require_bounds(metric)
        return CountedBlock(
            metric,
            tuple(self.names[p] for p in ranked),
            unscored,
            tuple(own for p, own in enumerate(self.names) if p not in ranked),
            sides.n(f"n{i}"),
            sides.units,
            CountedColumns(sides, i, self.runs[0]),
        )

    def extreme_means(self, metric: Metric, pipeline: str) -> tuple[float, float]:
        """The mean of all common queries if missing scores were as low, or high, as they can be."""
        i, p = self.chosen.index(metric.name), self.names.index(pipeline)
        parts = [self.sides.column(f"{kind}{i}_{p}") for kind in "so"]
        total = sum(part.mean * part.n for part in parts if part.n)
        n, n_scored = self.n_queries, sum(part.n for part in parts)
        ends = pairing.require_bounds(metric)
        low, high = ((total + (n - n_scored) * end) / n for end in ends)
        return low, high

    @property
    def notes(self) -> tuple[str, ...]:
        """Doubts, clusters, and the queries and metrics that not all pipelines have."""
        heads = [run.head for run in self.runs]
        pairs = {name: self.block(name).columns.pairs for name in self.chosen}
        return (
            *doubts_of(heads),
            *unnamed_clusters(self.runs[0], self.clusters),
            *self._lone_queries(),
            *lineup.note_on_lone_metrics(heads, self.metrics),
            *pairing.notes_on_bounds(heads, self.metrics.values()),
            *grid_notes({name: own[0].differences for name, own in pairs.items() if own}),
        )

    def _lone_queries(self) -> Iterator[str]:
        tables = [run.table for run in self.runs]
        if any(table.n_rows != self.n_queries for table in tables):
            every = nw.concat([table.frame.select(QUERY_ID) for table in tables]).unique()
            alone = [i for own in tables for i in lone_ids(own, self.sides.rows, 6)]
            n_lone = count_rows(every) - self.n_queries
            yield lineup.note_on_lone_queries(list(dict.fromkeys(alone)), n_lone)


@dataclass(frozen=True, eq=False)
class CountedColumns(RankedColumns):
    """The scores of one metric on the queries that every pipeline scored, counted."""

    sides: SideBySide
    i: int
    first: EvaluationScan

    @cached_property
    def columns(self) -> list[Column]:
        """The scores of each pipeline."""
        return [self.sides.column(f"s{self.i}_{p}") for p in self.sides.scored(self.i)]

    @cached_property
    def pairs(self) -> list[Pairs]:
        """All pairs, in the order of `AllPairs`."""
        places = combinations(self.sides.scored(self.i), 2)
        return [self.sides.pairs(self.i, p, q) for p, q in places]

    @property
    def are_clusters(self) -> bool:
        """Whether queries belong together."""
        return self.sides.clusters is not None

    def error(self, place: int) -> ClusteredStandardError | None:
        """The standard error of the mean of a column by clusters."""
        return self.sides.error(f"s{self.i}_{self.sides.scored(self.i)[place]}")

    def alone_best(self, *, greater_is_better: bool) -> IntArray:
        """On how many queries each column is better than all others."""
        del greater_is_better  # the queries were counted by the direction of the metric
        return np.array([self.sides.n(f"w{self.i}_{p}") for p in self.sides.scored(self.i)])

    def friedman(self, *, greater_is_better: bool) -> FriedmanResult:
        """Friedman's test, from the wins of all pairs and the spread of the ranks."""
        if self.are_clusters:
            raise self.first.needs_memory("Friedman's test of clusters")
        k, sign = len(self.columns), 1.0 if greater_is_better else -1.0
        sums = np.zeros(k)
        for (first, second), pair in zip(combinations(range(k), 2), self.pairs, strict=True):
            lead = sign * (pair.wins - pair.losses) / 2
            sums[first] += lead
            sums[second] -= lead
        squares = self.sides.column(f"v{self.i}")
        return friedman_of_sums(sums, squares.mean * squares.n / 4, self.n)


@dataclass(frozen=True, eq=False)
class CountedBlock:
    """One metric of scans; a `RankedBlock`."""

    metric: Metric
    names: tuple[str, ...]
    unscored: IntArray
    empty: tuple[str, ...]
    n_not_applicable: int
    units: Units
    columns: CountedColumns

    def __getattr__(self, name: str) -> Any:
        if name in ("values", "complete", "is_complete"):
            raise self.columns.first.needs_memory("what resamples a ranking")
        raise AttributeError(name)
