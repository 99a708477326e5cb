"""Two scans as a pairing: counted by `Sides`, and the rows that a person reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

import pandas as pd

from rageval_report.analysis.cluster_labels import Clusters
from rageval_report.analysis.comparing.answer_outcomes import (
    check_two_names,
    notes_on_notions,
    notions_of,
    outcome_columns,
    outcome_frame,
)
from rageval_report.analysis.comparing.comparison import merge_details
from rageval_report.analysis.comparing.metric_comparison import (
    ComparisonPlan,
    MetricComparison,
    MetricPairs,
    PairedMetric,
)
from rageval_report.analysis.comparing.pairing import (
    MissingTreatment,
    note_on_lone_ids,
    notes_on_bounds,
    notes_on_lone_metrics,
    on_one_scale,
    shared_metrics,
)
from rageval_report.analysis.history.run_pairs import query_set_text
from rageval_report.analysis.slices import SlicedPairs
from rageval_report.analysis.tables import NO_GROUP, order_of_groups
from rageval_report.errors import AlignmentError, named
from rageval_report.results import QueryFrame
from rageval_report.scale.answers import answers_of
from rageval_report.scale.opening import write_rows
from rageval_report.scale.sides import OTHER_GROUP, Sides, difference, grid_notes
from rageval_report.scale.tables import MOST_WORST, ScannedTable, count_rows, to_pandas
from rageval_report.scores import Correct, Metric, join_details
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.query_sets import reference_column
from rageval_report.stats.pairs import Pairs
from rageval_report.stats.units import Units

if TYPE_CHECKING:
    import narwhals as nw

    from rageval_report.analysis.history.changes import DatedRun
    from rageval_report.scale.scan import EvaluationScan


@dataclass(frozen=True, eq=False)
class CountedPairing:
    """Two scans side by side, with the names of a `Pairing`.

    Parameters
    ----------
    baseline, candidate : EvaluationScan
        The scans.
    metrics : list of (Metric, Metric)
        The metrics that both have, as the baseline and as the candidate knows them.
    sides : Sides
        Their tables.
    """

    baseline: EvaluationScan
    candidate: EvaluationScan
    metrics: list[tuple[Metric, ...]]
    sides: Sides

    @classmethod
    def of(
        cls,
        baseline: EvaluationScan,
        candidate: EvaluationScan,
        metrics: str | Iterable[str] | None,
        missing: MissingTreatment,
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
        agreed = on_one_scale(heads, shared_metrics(*heads, metrics))
        sides = Sides.of([baseline.table, candidate.table], agreed, missing, clusters)
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

    def independent_pairs(
        self, ours: Metric, theirs: Metric, missing: MissingTreatment, units: Units
    ) -> Pairs:
        """The pairs of a metric by independent unit; the other settings are those of the sides."""
        del theirs, missing, units
        return self.measured(ours).pairs

    def both(self, ours: Metric, theirs: Metric) -> NoReturn:
        """Raises `DataError`: the scores are not in memory one by one."""
        del ours, theirs
        raise self.baseline.needs_memory("differences()")

    @property
    def alignment(self) -> NoReturn:
        """Raises `DataError`: the queries are not in memory one by one."""
        raise self.baseline.needs_memory("what shows every query of a comparison")

    def sliced(self, by: str, metrics: Sequence[tuple[Metric, Metric]]) -> SlicedPairs:
        """The pairs of each group of a column of the baseline."""
        self.baseline.table.check_groups(by)
        sides = replace(self.sides, metrics=metrics, by=by)
        whole = replace(self, metrics=list(metrics), sides=sides)
        names, groups = (self.baseline.name, self.candidate.name), sides.groups
        labels = order_of_groups(groups)
        return SlicedPairs(
            whole,
            [(label, label) for label in labels],
            [
                PairedMetric(names, ours, sides.measured(i, label))
                for i, (ours, _) in enumerate(metrics)
                for label in labels
            ],
            groups.get(NO_GROUP, 0),
            sum(sides.n(OTHER_GROUP, label) for label in labels),
            sides.shared_clusters(),
        )

    def without(self, group: str) -> Self:
        """The same without the queries of a group, by another pass."""
        return replace(self, sides=replace(self.sides, left_out=group))

    def notes(self) -> tuple[str, ...]:
        """The ids and the metrics that only one has, bounds that do not hold, and grids."""
        heads = self.baseline.head, self.candidate.head
        pairs = {ours.name: self.measured(ours).pairs.units for ours, *_ in self.metrics}
        return (
            *self._lone_ids(),
            *notes_on_lone_metrics(*heads),
            *notes_on_bounds(heads, self.metrics),
            *grid_notes(pairs),
        )

    def _lone_ids(self) -> Iterator[str]:
        tables = self.baseline.table, self.candidate.table
        for own, other in (tables, tables[::-1]):
            if n := own.n_rows - self.n_common:
                yield from note_on_lone_ids(own.name, lone_ids(own, other), n)

    def changed(
        self,
        pair: tuple[Metric, Metric],
        k: int | None,
        path: str | Path | None,
        *,
        better: bool,
    ) -> pd.DataFrame:
        """The queries that changed in one direction; see `Comparison.regressions`."""
        import narwhals as nw

        names, tables = (self.baseline.name, self.candidate.name), self.sides.tables
        sides = Sides(tables, [pair])
        before, after = nw.col("r0_0"), nw.col("r0_1")
        ranges = [
            table.ranges[m.name]
            for table, m in zip(tables, pair, strict=True)
            if m.name in table.ranges
        ]
        change, rises = nw.col("difference"), pair[0].greater_is_better == better
        scores = [
            each.alias(f"{name}_{pair[0].name}")
            for each, name in zip((before, after), names, strict=True)
        ]
        rows = (
            sides.rows.with_columns(difference(before, after, ranges).alias("difference"))
            .filter(change > 0 if rises else change < 0)
            .select(QUERY_ID, *scores, change)
            .sort("difference", QUERY_ID, descending=[rises, False])
        )
        if path is not None:
            write_rows(rows, path)
        most = MOST_WORST if k is None else k
        listed = to_pandas(rows.head(most)).set_index(QUERY_ID)
        known = [table.details_of(listed.index) for table in tables]
        details = merge_details(names, known[0], known[1], listed.index)
        frame = QueryFrame(join_details(listed.astype("float64"), details))
        is_whole = len(listed) < most
        frame.attrs["n"] = len(listed) if is_whole else count_rows(rows)
        return frame


def lone_ids(own: ScannedTable, other: ScannedTable, k: int = 5) -> list[str]:
    """The first ids, in their order, that another table does not have."""
    theirs = other.frame.select(QUERY_ID)
    alone = own.frame.select(QUERY_ID).join(theirs, on=QUERY_ID, how="anti")
    return _first_ids(alone, k)


def _first_ids(rows: Any, k: int) -> list[str]:
    return [str(query_id) for query_id in to_pandas(rows.sort(QUERY_ID).head(k))[QUERY_ID]]


def outcomes_of_scans(
    runs: tuple[EvaluationScan, EvaluationScan],
    correct: Correct | None,
    k: int,
    path: str | Path | None,
) -> pd.DataFrame:
    """The ids of the queries that both, neither, or only one of two scans answers correctly."""
    import narwhals as nw

    heads = runs[0].head, runs[1].head
    names = check_two_names(*heads)
    notions = notions_of(heads, correct)
    first, second = (answers_of(run.table, n) for run, n in zip(runs, notions, strict=True))
    rows = first.join(second.rename({"is_right": "other"}), on=QUERY_ID, how="inner")
    right, other, columns = nw.col("is_right"), nw.col("other"), outcome_columns(*names)
    # Unknown is 2, and decides before the rest.
    outcome = nw.when((right > 1) | (other > 1)).then(nw.lit(columns[4]))
    for place, (ours, theirs) in enumerate(((1, 1), (0, 0), (1, 0), (0, 1))):
        outcome = outcome.when((right == ours) & (other == theirs)).then(nw.lit(columns[place]))
    rows = rows.select(QUERY_ID, outcome.alias("outcome"))
    if path is not None:
        write_rows(rows.sort(QUERY_ID), path)
    counted = to_pandas(rows.group_by("outcome").agg(nw.len().alias("n")))
    counts = dict.fromkeys(columns, 0) | dict(counted.itertuples(index=False, name=None))
    n_common = sum(counts.values())
    if not n_common:
        raise AlignmentError(f"{names[0]!r} and {names[1]!r} share no query id")
    ids = {name: _first_ids(rows.filter(nw.col("outcome") == name), k) for name in columns[:5]}
    tables = [run.table for run in runs]
    for column, own, twin in zip(columns[5:], tables, tables[::-1], strict=True):
        counts[column] = own.n_rows - n_common
        ids[column] = lone_ids(own, twin, k) if counts[column] else []
    table = outcome_frame(ids, counts, notes=notes_on_notions(heads, notions))
    table.attrs["engine"] = runs[0].engine
    return table


@dataclass(frozen=True, eq=False)
class ScannedRuns:
    """Two scanned runs of a history on the queries that are the same in both.

    Parameters
    ----------
    before, after : DatedRun
        The runs.
    tables : (ScannedTable, ScannedTable)
        Their tables, of one engine.
    """

    before: DatedRun
    after: DatedRun
    tables: tuple[ScannedTable, ScannedTable]

    @property
    def _has_same_set(self) -> bool:
        return self.before.query_set == self.after.query_set

    @property
    def gold_set(self) -> str:
        """How the gold set changed, in words; empty if it is the same."""
        if self._has_same_set:
            return ""
        n_common, (ours, theirs) = Sides(self.tables, []).n_common, self.tables
        return query_set_text(
            theirs.n_rows - n_common, ours.n_rows - n_common, n_common - self.n_same
        )

    @cached_property
    def n_same(self) -> int:
        """The number of the queries that are the same."""
        return Sides([self.tables[0], self._same], []).n_common

    def compare(
        self,
        metrics: Sequence[tuple[Metric, Metric]],
        plan: ComparisonPlan,
        clusters: Clusters | None,
    ) -> list[MetricComparison]:
        """The test of some metrics, by one pass over both tables."""
        sides = Sides.of([self.tables[0], self._same], metrics, plan.missing, clusters)
        own, names = replace(plan, units=sides.units), (self.before.name, self.after.name)
        return [
            PairedMetric(names, ours, sides.measured(i)).tested(own)
            for i, (ours, _) in enumerate(metrics)
        ]

    @cached_property
    def _same(self) -> ScannedTable:
        """The later table without queries whose reference differs."""
        import narwhals as nw

        ours, theirs = self.tables
        if self._has_same_set:
            return theirs
        own = ours.frame.select(QUERY_ID, _reference_of(ours).alias("reference_before"))
        rows = theirs.frame.with_columns(_reference_of(theirs).alias("reference_after"))
        before, after = nw.col("reference_before"), nw.col("reference_after")
        is_same = (before == after) | (before.is_null() & after.is_null())
        rows = rows.join(own, on=QUERY_ID, how="inner").filter(is_same)
        return replace(theirs, frame=rows.drop("reference_before", "reference_after"))


def _reference_of(table: ScannedTable) -> nw.Expr:
    import narwhals as nw

    column = reference_column(table.details)
    return nw.lit(None, dtype=nw.String) if column is None else nw.col(column).cast(nw.String)
