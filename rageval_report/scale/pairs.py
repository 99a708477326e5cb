"""Scans as the pairs of comparisons and histories and the lineups of rankings, counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import narwhals as nw
import numpy as np
import pandas as pd

from rageval_report.analysis import lineup, pairing
from rageval_report.analysis.arguments import Clusters, unnamed_clusters
from rageval_report.analysis.history import SameQueries
from rageval_report.analysis.paired_metric import ComparisonPlan, MetricComparison
from rageval_report.analysis.slices import SlicedPairs
from rageval_report.analysis.tables import NO_GROUP, order_of_groups
from rageval_report.errors import AlignmentError, doubts_of, named
from rageval_report.scale.counted import SideBySide, difference, grid_notes
from rageval_report.scale.frames import LazyTable, collect, count_rows
from rageval_report.scale.tables import MOST_WORST, ScannedTable
from rageval_report.scores import Metric
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.run_file import reference_column
from rageval_report.stats.columns import Column
from rageval_report.stats.pairs import Pairs
from rageval_report.stats.units import ClusteredStandardError, Units
from rageval_report.types import IntArray

if TYPE_CHECKING:
    from rageval_report.scale.scan import EvaluationScan


def lone_ids(own: LazyTable, other: LazyTable, k: int = 5) -> list[str]:
    """The first ids, in their order, that another table does not have."""
    alone = own.select(QUERY_ID).join(other.select(QUERY_ID), on=QUERY_ID, how="anti")
    return [str(query_id) for query_id in collect(alone.sort(QUERY_ID).head(k))[QUERY_ID]]


# -- comparisons


@dataclass(frozen=True, eq=False)
class CountedPairing(pairing.PairedRuns):
    """Two scans side by side; `sides` are their tables, with the settings of the comparison."""

    sides: SideBySide

    @classmethod
    def of(
        cls,
        scans: Sequence[EvaluationScan],
        metrics: str | Iterable[str] | None,
        missing: str,
        clusters: Clusters | None,
    ) -> Self:
        """Two scans with the metrics that they share, as `pair_runs`, whose errors it raises."""
        heads = scans[0].head, scans[1].head
        agreed: list[Any] = pairing.on_one_scale(heads, pairing.shared_metrics(*heads, metrics))
        sides = SideBySide.of([scan.table for scan in scans], agreed, missing, clusters)
        if not sides.n_common:
            first, second = (named(head.scores.index, 3) for head in heads)
            raise AlignmentError(
                f"{heads[0].name!r} and {heads[1].name!r} share no query id; ids of the first: "
                f"{first}, of the second: {second}"
            )
        return cls(*scans, agreed, sides)

    @property
    def n_common(self) -> int:
        """The number of queries that both have."""
        return self.sides.n_common

    @property
    def n_alone(self) -> int:
        """The number of queries that one of them has alone."""
        return sum(table.n_queries for table in self.sides.tables) - 2 * self.n_common

    def measured(self, ours: Metric, *_: object) -> pairing.MetricPairs:
        """The pairs of a metric; the settings are those of the sides."""
        return self.sides.measured([own.name for own, _ in self.metrics].index(ours.name))

    def units_of_candidate(self, units: Units) -> Units:
        """The same units; figures of clusters need the rows of the candidate."""
        return units

    def __getattr__(self, name: str) -> Any:
        if name in ("both", "alignment"):
            raise self.baseline.needs_memory("what shows every query of a comparison")
        raise AttributeError(name)

    def sliced(self, by: str, metrics: Sequence[tuple[Metric, Metric]]) -> SlicedPairs:
        """The pairs of each group of a column of the baseline."""
        self.sides.tables[0].check_groups(by)
        sides = replace(self.sides, metrics=metrics, by=by)
        labels = order_of_groups(sides.groups)
        pairs = [
            MetricComparison(self.names, ours, sides.measured(i, label))
            for i, (ours, _) in enumerate(metrics)
            for label in labels
        ]
        return SlicedPairs(
            replace(self, metrics=list(metrics), sides=sides),
            [(label, label) for label in labels],
            pairs,
            sides.groups.get(NO_GROUP, 0),
            0,  # queries that the candidate puts into another group are not counted
            sides.shared_clusters(),
        )

    def without(self, group: str) -> Self:
        """The same without the queries of a group, by another pass."""
        return replace(self, sides=replace(self.sides, left_out=group))

    def notes(self) -> tuple[str, ...]:
        """What only one has, bounds that do not hold, and grids."""
        tables, lone = self.sides.tables, []
        for own, other in (tables, tables[::-1]):
            n = own.n_queries - self.n_common
            lone.append((lone_ids(own.frame, other.frame) if n else [], n))
        columns = {ours.name: self.measured(ours).pairs.units for ours, _ in self.metrics}
        heads = [table.head for table in tables]
        return (*pairing.notes_on_sides(heads, self.metrics, lone), *grid_notes(columns))

    def _changed(
        self, pair: tuple[Metric, Metric], k: int | None, *, better: bool
    ) -> tuple[pd.DataFrame, tuple[pd.DataFrame, pd.DataFrame], int]:
        first, second = tables = self.sides.tables
        known = [t.ranges.get(m.name) for t, m in zip(tables, pair, strict=True)]
        moved = difference(nw.col("r0_0"), nw.col("r0_1"), [each for each in known if each])
        change, rises = nw.col("difference"), pair[0].greater_is_better == better
        scores = [
            nw.col(f"r0_{p}").alias(f"{name}_{pair[0].name}") for p, name in enumerate(self.names)
        ]
        rows = SideBySide(tables, [pair]).rows.with_columns(moved.alias("difference"))
        rows = rows.filter(change > 0 if rises else change < 0).select(QUERY_ID, *scores, change)
        most = MOST_WORST if k is None else k
        ordered = rows.sort("difference", QUERY_ID, descending=[rises, False])
        listed = collect(ordered.head(most)).set_index(QUERY_ID).astype("float64")
        n = len(listed) if len(listed) < most else count_rows(rows)
        return listed, (first.details_of(listed.index), second.details_of(listed.index)), n


# -- histories


@dataclass(frozen=True, eq=False)
class SameScannedQueries(SameQueries):
    """Two scanned runs of a history, and their tables, on the queries that are the same in both."""

    tables: tuple[ScannedTable, ScannedTable]

    @cached_property
    def n_same(self) -> int:
        """The number of the queries that are the same."""
        return SideBySide.of([self.tables[0], self._same], []).n_common

    def _changes(self) -> tuple[int, int, int]:
        n_common, (ours, theirs) = SideBySide(self.tables, []).n_common, self.tables
        return theirs.n_queries - n_common, ours.n_queries - n_common, n_common - self.n_same

    def _paired(
        self,
        metrics: Sequence[tuple[Metric, Metric]],
        plan: ComparisonPlan,
        clusters: Clusters | None,
    ) -> tuple[pairing.PairedRuns, ComparisonPlan]:
        tables = [self.tables[0], self._same]
        sides = SideBySide.of(tables, metrics, plan.missing, clusters)
        paired = CountedPairing(self.before, self.after, list(metrics), sides)
        return paired, replace(plan, units=sides.unit_of_rows)

    @cached_property
    def _same(self) -> ScannedTable:
        """The later table without queries whose reference differs."""
        ours, theirs = self.tables
        if self.before.query_set == self.after.query_set:
            return theirs
        keys, sides = [QUERY_ID, "_reference"], []
        for table in (ours, theirs):
            column = reference_column(table.details)
            own = nw.lit("") if column is None else nw.col(column).cast(nw.String).fill_null("")
            sides.append(table.frame.with_columns(own.alias("_reference")))
        rows = sides[1].join(sides[0].select(*keys), on=keys, how="inner")
        return replace(theirs, frame=rows.drop("_reference"))


# -- rankings


@dataclass(frozen=True, eq=False)
class CountedLineup(lineup.Lineup):
    """Scans side by side: `sides` are their tables, with the metrics that are `chosen`."""

    chosen: list[str] = field(kw_only=True)
    sides: SideBySide = field(kw_only=True)

    @classmethod
    def of(
        cls,
        runs: Sequence[EvaluationScan],
        metrics: str | Iterable[str] | None,
        missing: pairing.MissingTreatment,
        clusters: Clusters | None,
    ) -> Self:
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
        sides = SideBySide.of(tables, own, missing, clusters, ranked)
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
        differences = {
            name: sides.column(f"d{i}_{kept[i][0]}_{kept[i][1]}")
            for i, name in enumerate(chosen)
            if len(kept[i]) > 1
        }
        lone = []
        if any(table.n_queries != n for table in tables):
            every = nw.concat([table.frame.select(QUERY_ID) for table in tables]).unique()
            alone = [query for own in tables for query in lone_ids(own.frame, sides.rows, 6)]
            alone = list(dict.fromkeys(alone))
            lone.append(lineup.note_on_lone_queries(alone, count_rows(every) - n))
        notes = (
            *doubts_of(heads),
            *unnamed_clusters(runs[0], clusters),
            *lone,
            *lineup.note_on_lone_metrics(heads, common),
            *pairing.notes_on_bounds(heads, common.values()),
            *grid_notes(differences),
        )
        scans, nowhere = tuple(runs), heads[0].scores.index[:0]
        settings: Any = scans, nowhere, (), common, notes, missing, sides.unit_of_rows
        return cls(*settings, chosen=chosen, sides=sides)

    @property
    def n_queries(self) -> int:
        """The number of queries that all have."""
        return self.sides.n_common

    def block(self, name: str) -> Any:
        """The scores of one metric on the queries that every pipeline scored."""
        first: Any = self.runs[0]
        if name not in self.chosen:
            raise first.needs_memory(f"{name}, which was not ranked,")
        i, sides = self.chosen.index(name), self.sides
        metric, ranked = self.metrics[name][0], sides.scored(i)
        unscored = np.array([sides.n_unscored(i, p) for p in ranked], dtype=np.int64)
        if self.missing == "worst" and unscored.any():
            pairing.require_bounds(metric)
        return CountedBlock(
            CountedColumns(sides, i, first),
            metric=metric,
            names=tuple(self.names[p] for p in ranked),
            unscored=unscored,
            empty=tuple(own for p, own in enumerate(self.names) if p not in ranked),
            n_not_applicable=sides.n(f"n{i}"),
            units=sides.unit_of_rows,
        )


@dataclass(frozen=True, eq=False)
class CountedColumns(lineup.RankedColumns):
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
        return self.sides.unit_of_rows.are_clusters

    def error(self, place: int) -> ClusteredStandardError | None:
        """The standard error of the mean of a column by clusters."""
        return self.sides.error(f"s{self.i}_{self.sides.scored(self.i)[place]}")

    def alone_best(self, *, greater_is_better: bool) -> IntArray:
        """On how many queries each column is better than all others."""
        del greater_is_better  # the queries were counted by the direction of the metric
        return np.array([self.sides.n(f"w{self.i}_{p}") for p in self.sides.scored(self.i)])

    def friedman(self, **_: object) -> Any:
        """Friedman's test takes the ranks of every query."""
        raise self.first.needs_memory("Friedman's test")


class CountedBlock:
    """One metric of scans, with the fields and the columns of a `ScoreBlock`, but no rows."""

    def __init__(self, columns: CountedColumns, **fields: object) -> None:
        vars(self).update(fields, columns=columns)

    def __getattr__(self, name: str) -> Any:
        if name in ("values", "complete", "is_complete"):
            raise self.columns.first.needs_memory("what resamples a ranking")
        raise AttributeError(name)
