"""Tables of an engine side by side by query id, counted: the columns that analyses take.

A column is cut into cells whose width is a power of two, at most 2^16 of them between its least and
its largest number. One ``group_by`` per column gives of each cell the number, the mean, the
variance and the extremes of what lies in it. If every cell holds one or two values, these are known
with their counts; otherwise the cells stand for them, and the number, the mean and the standard
deviation are those of the numbers themselves. Reports, comparisons and rankings take the scores,
the differences of every two tables and the sums of clusters from here, of all queries or by group.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from itertools import combinations
from operator import add, or_
from typing import Any, Self, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report.analysis import pairing
from rageval_report.analysis.arguments import Clusters
from rageval_report.analysis.tables import PipelineTable, order_of_groups
from rageval_report.errors import DataError, named
from rageval_report.scale.tables import (
    MOST_LISTED_ROWS,
    LazyTable,
    Range,
    ScannedTable,
    collect,
    kept_rows,
)
from rageval_report.scores import Metric
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.states import NOT_APPLICABLE
from rageval_report.stats import units
from rageval_report.stats.base import TIE_TOLERANCE
from rageval_report.stats.columns import Column, merge_ties
from rageval_report.stats.pairs import Pairs
from rageval_report.types import FloatArray

# Columns that are counted, and within what their numbers lie.
CountedNumbers: TypeAlias = dict[str, tuple[nw.Expr, Range]]
# The cells of a group and a column.
Cells: TypeAlias = dict[tuple[str, str], pd.DataFrame]
# Takes the ends of cells; gives the numbers between them, and how often each occurs.
NumbersIn: TypeAlias = Callable[[FloatArray], FloatArray]

# Columns of joined tables that are no scores; ROWS is 0 in every row.
CLUSTER, GROUP, ROWS = "cluster", "group", "rows"
_ZERO = Range(0.0, 0.0)
# How far, relative to their distance, the numbers of a cell may lie from one of two values.
_TWO_VALUES = 1e-9
# That units are clusters, whose sums the engine makes.
SUMMED = units.Units(np.arange(0))


# -- cells


def count_cells(
    rows: LazyTable,
    numbers: CountedNumbers,
    by: Sequence[str] = (),
    clusters: Sequence[str] = (),
    *,
    are_listed: bool = False,
) -> Cells:
    """The cells of each column, or of the sums of its clusters, by group and column.

    A row is a cell, in ascending order: ``n``, in widths of a cell ``low``, ``high``, ``mean`` and
    ``variance``, and of sums their ``size``. `are_listed` makes every number a cell.
    """
    x, offset, index, names = nw.col("x"), nw.col("offset"), [*by, *clusters], list(numbers)
    # No cell has numbers on both sides of zero.
    whole: Any = nw.when(x > 0).then(x.ceil()).otherwise(x.floor())
    cell = x if are_listed else whole.cast(nw.Int64)
    scaled = {str(i): each / spread.width for i, (each, spread) in enumerate(numbers.values())}
    ends = offset.min().alias("low"), offset.max().alias("high")
    moments = offset.mean().alias("mean"), offset.var(ddof=0).alias("variance")

    keys = [*by, *(["size"] if clusters else [])]

    def cells_of(part: LazyTable, *column: str) -> LazyTable:
        known = part.filter(~x.is_null())
        if clusters:
            known = known.group_by(*column, *index).agg(x.sum(), nw.len().alias("size"))
        known = known.select(*column, *keys, cell.alias("cell"), (x - cell).alias("offset"))
        return known.group_by(*column, *keys, "cell").agg(nw.len().alias("n"), *ends, *moments)

    if rows.implementation.is_dask() or rows.implementation.is_spark_like():
        # These have much to do for each group_by, DuckDB for each row of a key.
        wide = rows.select(*index, *(each.alias(place) for place, each in scaled.items()))
        long = wide.unpivot([*scaled], index=index, variable_name="column", value_name="x")
        counted = cells_of(long, "column")
    else:
        counted = nw.concat(
            [
                cells_of(rows.select(*index, each.alias("x"))).with_columns(
                    nw.lit(int(place)).alias("column")
                )
                for place, each in scaled.items()
            ]
        )
    frame = collect(counted).sort_values(["column", *keys, "cell"], kind="stable")
    frame[["low", "high", "mean"]] += frame[["cell"]].to_numpy()
    return {
        (str(key[1]) if by else "", names[int(key[0])]): own.reset_index(drop=True)
        for key, own in frame.groupby(["column", *by], sort=False)
    }


def column_of_cells(
    cells: pd.DataFrame, width: float, numbers_in: NumbersIn | None = None
) -> Column:
    """The column that its cells are, which are in ascending order; see `GridColumn`."""
    names = ["n", "low", "high", "mean", "variance"]
    n, low, high, mean, variance = cells[names].to_numpy(np.float64).T
    noise = TIE_TOLERANCE * max(1.0 / width, float(np.abs([low, high]).max(initial=0.0)))
    spread = high - low
    above = np.rint(n * (mean - low) / np.maximum(spread, noise))
    share = above / n
    # No other numbers with these extremes and this mean vary as much as two values do.
    is_two = np.abs(share * (1.0 - share) * spread**2 - variance) <= _TWO_VALUES * spread**2
    if (is_two | (spread <= noise)).all():
        above[spread <= noise] = 0.0
        is_used = np.column_stack([np.full(n.size, fill_value=True), above > 0])
        values, counts = np.column_stack([low, high]), np.column_stack([n - above, above])
        return Column.of_counts(values[is_used] * width, counts[is_used])
    between = Column.of_counts(mean, n)
    std = math.sqrt(between.variance + float((variance * n).sum()) / (between.n - 1)) * width
    grid: Any = Column(mean * width, n, between.mean * width, std, is_exact=False)
    if numbers_in is None:
        return grid  # type: ignore[no-any-return]
    return GridColumn(**vars(grid), ends=np.array([low, high]) * width, numbers_in=numbers_in)


@dataclass(frozen=True, eq=False)
class GridColumn(Column):
    """A grid between the numbers of a column, whose order statistics are the numbers themselves.

    `ends` are the least and the largest number of each cell; `numbers_in` gives the numbers that
    lie between some of them in ascending order, and how often each occurs.
    """

    ends: FloatArray = field(kw_only=True)
    numbers_in: NumbersIn = field(kw_only=True)

    @property
    def minimum(self) -> float:
        """The least number."""
        return float(self.ends[0, 0])

    @property
    def maximum(self) -> float:
        """The largest number."""
        return float(self.ends[1, -1])

    def at_ranks(self, ranks: npt.NDArray[np.intp]) -> FloatArray:
        """As `Column.at_ranks`, by one query for the numbers of the cells that hold these ranks."""
        places = np.searchsorted(np.cumsum(self.counts), ranks, side="right")
        wanted, own = np.unique(places, return_inverse=True)
        values, counts = self.numbers_in(self.ends[:, wanted])
        n_before, n_fetched = (np.cumsum(n) - n for n in (self.counts, self.counts[wanted]))
        inside = ranks - n_before[places] + n_fetched[own.reshape(places.shape)]
        return np.asarray(values[np.searchsorted(np.cumsum(counts), inside, side="right")])


# -- tables side by side


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Tables of one engine side by side, with what is counted of them.

    The columns that are counted of metric i: ``s{i}_{p}`` the scores in table p of the queries that
    all tables scored, ``o{i}_{p}`` those of the other queries, ``d{i}_{p}_{q}`` the differences,
    ``l{i}_0_1`` those of logarithms; by 0 are marked in ``n{i}`` the queries to which the metric
    does not apply, and in ``f{i}_{p}`` the scores that were filled in.

    Parameters
    ----------
    tables : sequence of ScannedTable
        The tables.
    metrics : sequence of tuple of Metric
        Each metric as each table knows it.
    missing : {"drop", "worst"}
        The treatment of an unscored query.
    clusters, by : str, optional
        The columns of the first table with the clusters and with the groups.
    ranked : sequence of sequence of int, optional
        For each metric of a ranking the tables that are ranked.
    """

    tables: Sequence[ScannedTable]
    metrics: Sequence[tuple[Metric, ...]]
    missing: str = "drop"
    clusters: str | None = None
    by: str | None = None
    ranked: Sequence[Sequence[int]] | None = None

    @classmethod
    def of(
        cls,
        tables: Sequence[ScannedTable],
        metrics: Sequence[tuple[Metric, ...]],
        missing: str = "drop",
        clusters: Clusters | None = None,
        ranked: Sequence[Sequence[int]] | None = None,
    ) -> Self:
        """Tables with clusters, a column of the first table.

        Raises
        ------
        DataError
            If a common query has no cluster, two engines hold the tables, or rows are needed.
        """
        engines = dict.fromkeys(table.opened.engine for table in tables)
        if len(engines) > 1:
            what = f"compared tables need one engine; got {named(engines)}"
            raise DataError(f"{what}. Open them alike, or bring one into memory: scan.collect()")
        if missing == "bounds":
            raise tables[0].needs_memory('missing="bounds"')
        if clusters is None:
            return cls(tables, metrics, missing, ranked=ranked)
        if not isinstance(clusters, str):
            raise tables[0].needs_memory("clusters that are no column")
        tables[0].labels(clusters)  # or an error that names the columns
        sides = cls(tables, metrics, missing, clusters, ranked=ranked)
        label = nw.col(CLUSTER).cast(nw.String)
        without = sides.rows.filter(label.is_null() | (label.str.strip_chars() == ""))
        ids = collect(without.select(QUERY_ID).sort(QUERY_ID).head(6))[QUERY_ID]
        if len(ids):
            raise DataError(f"clusters must have a label for every query; {named(ids)} have none")
        return sides

    @property
    def unit_of_rows(self) -> units.Units:
        """What is independent."""
        return units.QUERIES if self.clusters is None else SUMMED

    def scored(self, i: int) -> Sequence[int]:
        """The tables of which the scores of a metric are paired."""
        return range(len(self.tables)) if self.ranked is None else self.ranked[i]

    # -- the common queries

    @cached_property
    def rows(self) -> LazyTable:
        """The common queries: ``r{i}_{p}`` the score, ``na{i}_{p}`` 1 if none applies."""
        joined: Any = None
        for p, table in enumerate(self.tables):
            columns = [nw.col(QUERY_ID)]
            if self.clusters and not p:
                columns.append(nw.col(self.clusters).alias(CLUSTER))
            if self.by is not None and not p:
                columns.append(table.labels(self.by).alias(GROUP))
            for i, known in enumerate(self.metrics):
                score, state = nw.col(known[p].name), table.state_column(known[p].name)
                columns.append(score.alias(f"r{i}_{p}"))
                if state is not None:
                    is_stated = nw.col(state).cast(nw.String) == NOT_APPLICABLE
                    lacks = nw.when(score.is_null() & is_stated).then(1.0).otherwise(0.0)
                    columns.append(lacks.alias(f"na{i}_{p}"))
            own = table.frame.select(*columns)
            joined = own if joined is None else joined.join(own, on=QUERY_ID, how="inner")
        return joined.with_columns(nw.lit(0.0).alias(ROWS))  # type: ignore[no-any-return]

    # -- what is counted

    def _columns(self, i: int, known: set[str]) -> CountedNumbers:
        metric, places = self.metrics[i][0], self.scored(i)
        score = {p: nw.col(f"r{i}_{p}") for p in places}
        gap = {p: raw.is_null() for p, raw in score.items()}
        numbers: CountedNumbers = {}
        lacking = [f"na{i}_{p}" for p in range(len(self.tables))]
        if known.issuperset(lacking):
            # Not by a horizontal sum, whose result Dask does not align with the other columns.
            does_not_apply = reduce(add, map(nw.col, lacking)) == len(lacking)
            numbers[f"n{i}"] = (nw.when(does_not_apply).then(0.0), _ZERO)
            gap = {p: is_gap & ~does_not_apply for p, is_gap in gap.items()}
        if self.missing == "worst" and (self.ranked is None or metric.bounds):
            worst = pairing.require_bounds(metric)[0 if metric.greater_is_better else 1]
            score = {p: nw.when(gap[p]).then(worst).otherwise(raw) for p, raw in score.items()}
            numbers |= {f"f{i}_{p}": (nw.when(gap[p]).then(0.0), _ZERO) for p in places}
        spread = {p: self._range(i, p) for p in places}
        has_gaps = any(self.tables[p].has_gaps(self.metrics[i][p].name) for p in places)
        if has_gaps and len(places) > 1:
            lack = (each.is_null() for each in score.values())
            lacks = nw.any_horizontal(*lack, ignore_nulls=True)
            numbers |= {f"o{i}_{p}": (nw.when(lacks).then(score[p]), spread[p]) for p in places}
            score = {p: nw.when(~lacks).then(score[p]) for p in places}
        numbers |= {f"s{i}_{p}": (score[p], spread[p]) for p in places}
        changes = {
            (p, q): difference(score[p], score[q], list(spread.values()))
            for p, q in combinations(places, 2)
        }
        for (p, q), change in changes.items():
            numbers[f"d{i}_{p}_{q}"] = (change, spread[q].difference(spread[p]))
        is_compared = metric.group == "performance" and self.ranked is None and changes
        if is_compared and min(each.low for each in spread.values()) > 0.0:
            logs = [Range(*np.log([each.low, each.high]).tolist()) for each in spread.values()]
            change = difference(score[0].log(), score[1].log(), logs)
            numbers[f"l{i}_0_1"] = (change, logs[1].difference(logs[0]))
        return numbers

    def _range(self, i: int, p: int) -> Range:
        """Within what the scores of a table lie, with those that are filled in."""
        metric, known = self.metrics[i][0], self.tables[p].ranges.get(self.metrics[i][p].name)
        ends = [] if known is None else [known.low, known.high]
        if self.missing == "worst" and metric.bounds is not None:
            ends.append(metric.bounds[0 if metric.greater_is_better else 1])
        return Range(min(ends), max(ends)) if ends else _ZERO

    @cached_property
    def _cells(self) -> tuple[dict[str, Range], Cells, Cells]:
        """The ranges of the columns, and the cells of columns and of the sums of clusters."""
        known = set(self.rows.collect_schema().names())
        numbers: CountedNumbers = {ROWS: (nw.col(ROWS), _ZERO)}
        for i in range(len(self.metrics)):
            numbers |= self._columns(i, known)
        by = [GROUP] if self.by is not None else []
        keys = [CLUSTER] if self.clusters else []
        are_listed = min(table.n_queries for table in self.tables) <= MOST_LISTED_ROWS
        # Of two tables the tests need the sums of the differences alone.
        kinds = "dl" if self.ranked is None and len(self.tables) > 1 else "ds"
        summed = {name: own for name, own in numbers.items() if name[0] in kinds and keys}
        # Of a Parquet file each column is read once anyway.
        is_read_once = len(self.tables) == 1 and self.tables[0].opened.kind == "parquet"
        rows = self.rows.drop(QUERY_ID)
        with nullcontext(rows) if is_read_once and not (by or keys) else kept_rows(rows) as kept:
            cells = count_cells(kept, numbers, by, are_listed=are_listed)
            sums = count_cells(kept, summed, by, keys, are_listed=are_listed) if summed else {}
        return {name: spread for name, (_, spread) in numbers.items()}, cells, sums

    @property
    def groups(self) -> dict[str, int]:
        """The groups, and the number of rows of each; without groups all are in ""."""
        return {group: self.n(ROWS, group) for group, name in self._cells[1] if name == ROWS}

    @property
    def n_common(self) -> int:
        """The number of queries that all tables have."""
        return sum(self.groups.values())

    def n(self, name: str, group: str = "") -> int:
        """The number of rows in which a column is not null."""
        cells = self._cells[1].get((group, name))
        return 0 if cells is None else int(cells["n"].sum())

    def column(self, name: str, group: str = "") -> Column:
        """A column of numbers."""
        cells = self._cells[1].get((group, name))
        if cells is None:
            return Column.of(np.zeros(0))
        spread = self._cells[0][name]
        is_score = len(self.tables) == 1 and self.missing == "drop"
        numbers_in = partial(self._numbers_in, f"r{name[1:]}", group) if is_score else None
        column = column_of_cells(cells, spread.width, numbers_in)
        if not column.is_exact:
            return column
        # Values that only rounding separates may be in two cells.
        return Column.of_counts(*merge_ties(column.values, column.counts, tie_of([spread])))

    def _numbers_in(self, name: str, group: str, ends: FloatArray) -> FloatArray:
        x = nw.col("x")
        rows = self.rows.filter(nw.col(GROUP) == group) if self.by else self.rows
        cells = [x.is_between(low, high) for low, high in ends.T.tolist()]
        inside = rows.select(nw.col(name).alias("x")).filter(reduce(or_, cells))
        counted = collect(inside.group_by("x").agg(nw.len().alias("n"))).sort_values("x")
        return np.asarray(counted[["x", "n"]].to_numpy(np.float64).T)

    def sums(self, name: str, group: str) -> tuple[FloatArray, FloatArray, FloatArray, bool]:
        """The sums of clusters, how many numbers each adds up, how often, and if they are exact."""
        cells = self._cells[2].get((group, name))
        parts = [] if cells is None else list(cells.groupby("size"))
        columns = [column_of_cells(own, self._cells[0][name].width) for _, own in parts]
        sizes = np.array([size for size, _ in parts], dtype=np.float64)
        return (
            np.concatenate([np.zeros(0), *(own.values for own in columns)]),
            np.repeat(sizes, [own.values.size for own in columns]),
            np.concatenate([np.zeros(0), *(own.counts for own in columns)]),
            all(own.is_exact for own in columns),
        )

    def error(self, name: str, group: str = "") -> units.ClusteredStandardError | None:
        """The standard error of a mean by clusters; None if nothing is scored."""
        sums, sizes, counts, _ = self.sums(name, group)
        return units.error_of_sums(sums, sizes, counts) if sums.size else None

    def pairs(self, i: int, p: int = 0, q: int = 1, group: str = "", kind: str = "d") -> Pairs:
        """The pairs of two tables; by kind with logarithms ("l")."""
        name, clusters = f"{kind}{i}_{p}_{q}", None
        if self.clusters:
            sums, sizes, counts, is_exact = self.sums(name, group)
            if (sizes != 1).any():
                own = units.column_of_sums(sums, sizes, counts)
                clusters = replace(own, is_exact=own.is_exact and is_exact)
        before, after = (self.column(f"s{i}_{place}", group) for place in (p, q))
        return Pairs(before, after, self.column(name, group), clusters)

    def n_unscored(self, i: int, p: int) -> int:
        """The number of queries that a table did not score, although the metric applies to them."""
        if f"f{i}_{p}" in self._cells[0]:
            return self.n(f"f{i}_{p}")
        n_scored = self.n(f"s{i}_{p}") + self.n(f"o{i}_{p}")
        return self.n_common - self.n(f"n{i}") - n_scored

    def measured(self, i: int, group: str = "") -> pairing.MetricPairs:
        """A metric of two tables, as comparisons take it."""
        pairs, n_without = self.pairs(i, group=group), self.n(f"n{i}", group)
        lone = [self.column(f"o{i}_{p}", group) for p in (0, 1)]
        n_known = n_without + pairs.differences.n + lone[0].n + lone[1].n
        has_logs = f"l{i}_0_1" in self._cells[0] and pairs.differences.n
        return pairing.MetricPairs(
            pairs,
            (lone[0], lone[1]),
            self.groups[group] - n_known,
            self.unit_of_rows,
            n_not_applicable=n_without,
            n_filled=sum(self.n(f"f{i}_{p}", group) for p in (0, 1)),
            logarithms=self.pairs(i, group=group, kind="l") if has_logs else None,
        )


def grid_notes(columns: Mapping[str, Column]) -> tuple[str, ...]:
    """A note on the metrics of which only a grid of their scores is known."""
    names = [name for name, column in columns.items() if not column.is_exact]
    if not names:
        return ()
    return (
        f"the scores of {named(names)} are counted in 65,536 cells between the least and the "
        "largest; means are exact, and limits change by less than a 10,000th of the interval",
    )


def difference(before: nw.Expr, after: nw.Expr, ranges: Sequence[Range]) -> nw.Expr:
    """The second score less the first one; 0 if only rounding separates them."""
    change = after - before
    return nw.when(change.abs() <= tie_of(ranges)).then(0.0).otherwise(change)


def tie_of(ranges: Sequence[Range]) -> float:
    """The largest difference between two scores that is only rounding."""
    return TIE_TOLERANCE * max(1.0, *(max(-each.low, each.high) for each in ranges))


@dataclass(frozen=True, eq=False)
class CountedTable(PipelineTable):
    """The table of a scan, or of a group of its queries: `sides` is the scan alone."""

    sides: SideBySide = field(kw_only=True)
    group: str = ""

    @classmethod
    def of(cls, table: ScannedTable, clusters: Clusters | None = None) -> Self:
        """The table of all queries."""
        metrics = [(metric,) for metric in table.head.metrics.values()]
        sides = SideBySide.of([table], metrics, clusters=clusters)
        return cls(table.head, sides.unit_of_rows, sides=sides)

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return self.sides.groups[self.group]

    @property
    def settings(self) -> dict[str, object]:
        """The engine."""
        return {"engine": self.sides.tables[0].opened.engine}

    def notes(self, metrics: Iterable[Metric]) -> tuple[str, ...]:
        """A note on the metrics of which only a grid of their scores is known."""
        # The table of all groups says it.
        return () if self.group else grid_notes({each.name: self.column(each) for each in metrics})

    def _name(self, metric: Metric) -> str:
        return f"s{list(self.sample.metrics).index(metric.name)}_0"

    def column(self, metric: Metric) -> Column:
        """The scores of a metric."""
        return self.sides.column(self._name(metric), self.group)

    def error(self, metric: Metric) -> units.ClusteredStandardError | None:
        """The standard error of a mean by clusters."""
        return self.sides.error(self._name(metric), self.group) if self.units.are_clusters else None

    def unit_means(self, metric: Metric) -> Column:
        """The mean score of each query, or of each cluster."""
        if not self.units.are_clusters:
            return self.column(metric)
        sums, sizes, counts, is_exact = self.sides.sums(self._name(metric), self.group)
        order = np.argsort(sums / sizes, kind="stable")
        means = merge_ties((sums / sizes)[order], counts[order], tie_of([_ZERO]))
        return replace(Column.of_counts(*means), is_exact=is_exact)

    def groups(self, by: str) -> dict[str, PipelineTable]:
        """The tables of groups."""
        self.sides.tables[0].check_groups(by)
        sides = replace(self.sides, by=by)
        labels = order_of_groups(sides.groups)
        return {label: replace(self, sides=sides, group=label) for label in labels}
