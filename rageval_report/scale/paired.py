"""Tables side by side by query id, and one metric of two of them as columns with counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from rageval_report.analysis.comparing.metric_comparison import (
    ComparisonPlan,
    MetricPairs,
    PairedMetric,
)
from rageval_report.analysis.comparing.pairing import (
    LoneScores,
    MissingTreatment,
    note_on_lone_ids,
    notes_on_bounds,
    notes_on_lone_metrics,
    on_one_scale,
    require_bounds,
    shared_metrics,
)
from rageval_report.errors import AlignmentError, named
from rageval_report.scale.counted import (
    Range,
    column_of_cells,
    count_cells,
    group_cells,
    long_rows,
)
from rageval_report.scale.tables import MOST_LISTED_ROWS, ScannedTable
from rageval_report.scores import Metric, Scored
from rageval_report.scores.metric import normalise_name
from rageval_report.scores.states import NOT_APPLICABLE, STATE
from rageval_report.stats.base import TIE_TOLERANCE
from rageval_report.stats.columns import Column, merge_ties
from rageval_report.stats.pairs import Pairs
from rageval_report.stats.units import QUERIES, Units, column_of_sums
from rageval_report.types import FloatArray

if TYPE_CHECKING:
    import narwhals as nw

    from rageval_report.scale.counted import LazyTable

# Columns of a joined table that are no scores.
CLUSTER, GROUP, OTHER_GROUP = "cluster", "group", "other_group"
# A column of 0 in every row, by which rows are counted.
ROWS = "rows"
_ALL = Range(0.0, 0.0)
# What says that units are clusters, whose sums the engine has made.
SUMMED = Units(np.arange(0))


# -- any number of tables


def side_by_side(
    tables: Sequence[ScannedTable],
    metrics: Sequence[tuple[Metric, ...]],
    details: Sequence[Mapping[str, str]] = (),
) -> LazyTable:
    """The queries that all tables have.

    Parameters
    ----------
    tables : sequence of ScannedTable
        The tables.
    metrics : sequence of tuple of Metric
        Each metric as each table knows it.
    details : sequence of mapping of str to str
        For each table the columns that are kept, and their new names.

    Returns
    -------
    LazyFrame
        ``query_id``, the score of metric i in table j as ``i_j``, null where unscored, and where
        a metric may not apply to a query, ``na_i``.
    """
    import narwhals as nw

    joined: LazyTable | None = None
    for place, table in enumerate(tables):
        names = [known[place].name for known in metrics]
        states = {
            name: column for name in names if (column := _state_column(table, name)) is not None
        }
        kept = dict(details[place]) if details else {}
        own = table.numbers(names, list(dict.fromkeys([*kept, *states.values()])))
        own = own.select(
            "query_id",
            *(nw.col(column).alias(new) for column, new in kept.items()),
            *(nw.col(name).alias(f"{i}_{place}") for i, name in enumerate(names)),
            *(
                _lacks(nw.col(name), nw.col(states[name])).alias(f"na_{i}_{place}")
                for i, name in enumerate(names)
                if name in states
            ),
        )
        joined = own if joined is None else joined.join(own, on="query_id", how="inner")
    if joined is None:
        raise ValueError("tables must hold at least one table")
    return _with_states(joined, len(tables), len(metrics))


def _state_column(table: ScannedTable, name: str) -> str | None:
    """The detail column that says why scores of a metric are missing."""
    for label in map(str, table.head.details):
        if label.endswith(STATE) and normalise_name(label.removesuffix(STATE)) == name:
            return label
    return None


def _lacks(score: nw.Expr, state: nw.Expr) -> nw.Expr:
    import narwhals as nw

    is_stated = score.is_null() & (state.cast(nw.String) == NOT_APPLICABLE)
    return nw.when(is_stated).then(1.0).otherwise(0.0)


def _with_states(joined: LazyTable, n_tables: int, n_metrics: int) -> LazyTable:
    """A metric does not apply to a query if all tables say so: ``na_i`` is 0 there, else null."""
    import narwhals as nw

    known = set(joined.collect_schema().names())
    all_say = []
    for i in range(n_metrics):
        columns = [f"na_{i}_{place}" for place in range(n_tables)]
        if known.issuperset(columns):
            said = nw.sum_horizontal(*columns)
            all_say.append(nw.when(said == n_tables).then(0.0).alias(f"na_{i}"))
    return joined.with_columns(*all_say) if all_say else joined


def treated(
    joined: LazyTable,
    metrics: Sequence[tuple[Metric, ...]],
    missing: MissingTreatment,
    filled: Sequence[Sequence[int]],
) -> LazyTable:
    """The same with missing scores filled in; ``filled_i`` is their number, else null.

    Parameters
    ----------
    joined : LazyFrame
        What `side_by_side` gives.
    metrics : sequence of tuple of Metric
        The metrics.
    missing : {"drop", "worst", "bounds"}
        The treatment.
    filled : sequence of sequence of int
        For each metric the places of the tables whose scores are filled in.
    """
    import narwhals as nw

    if missing != "worst":
        return joined
    known = set(joined.collect_schema().names())
    columns = []
    for i, (metric, *_) in enumerate(metrics):
        if not filled[i]:
            continue
        low, high = require_bounds(metric)
        worst = low if metric.greater_is_better else high
        applies = nw.col(f"na_{i}").is_null() if f"na_{i}" in known else nw.lit(value=True)
        names = [f"{i}_{place}" for place in filled[i]]
        gaps = {name: nw.col(name).is_null() & applies for name in names}
        columns += [
            nw.when(gap).then(worst).otherwise(nw.col(name)).alias(name)
            for name, gap in gaps.items()
        ]
        n_gaps = nw.sum_horizontal(
            *(nw.when(gap).then(1.0).otherwise(0.0).alias(name) for name, gap in gaps.items())
        )
        columns.append(nw.when(n_gaps > 0).then(n_gaps).alias(f"filled_{i}"))
    return joined.with_columns(*columns) if columns else joined


def range_of(table: ScannedTable, metric: Metric, missing: MissingTreatment) -> Range:
    """Within what the scores of a table lie, with those that are filled in."""
    known = table.ranges.get(metric.name)
    ends = [] if known is None else [known.low, known.high]
    if missing == "worst" and metric.bounds is not None:
        ends.append(metric.bounds[0 if metric.greater_is_better else 1])
    return Range(min(ends), max(ends)) if ends else _ALL


def difference(before: nw.Expr, after: nw.Expr, ranges: Sequence[Range]) -> nw.Expr:
    """The second score less the first one; 0 if only rounding separates them."""
    import narwhals as nw

    change = after - before
    return nw.when(change.abs() <= tie_of(ranges)).then(0.0).otherwise(change)


def tie_of(ranges: Sequence[Range]) -> float:
    """The largest difference between two scores that is only rounding."""
    return TIE_TOLERANCE * max(1.0, *(max(-each.low, each.high) for each in ranges))


# -- counts


class ClusterSums(NamedTuple):
    """The sums of the numbers of clusters, how many numbers each adds up, and how often."""

    sums: FloatArray
    sizes: FloatArray
    counts: FloatArray
    is_exact: bool


@dataclass(frozen=True, eq=False)
class Counts:
    """The cells of some columns of a table, by group.

    Parameters
    ----------
    cells : dict
        By group (empty without groups) and column.
    ranges : mapping of str to Range
        The columns.
    sums : dict, optional
        The cells of the sums of clusters, with the numbers of their queries as ``size``.
    """

    cells: Mapping[tuple[str, str], pd.DataFrame]
    ranges: Mapping[str, Range]
    sums: Mapping[tuple[str, str], pd.DataFrame] | None = None

    @classmethod
    def of(
        cls,
        table: LazyTable,
        ranges: Mapping[str, Range],
        *,
        n_rows: int,
        by: str | None = None,
        summed: Iterable[str] = (),
    ) -> Counts:
        """The counts of columns; those in `summed` also by cluster.

        Every number of a table of at most 2^16 rows, of which there are `n_rows` at most, is a
        value of its own.
        """
        keys, are_listed = [by] if by else [], n_rows <= MOST_LISTED_ROWS
        cells = _by_column(count_cells(table, ranges, keys, are_listed=are_listed), by)
        names = {name: ranges[name] for name in summed}
        if not names:
            return cls(cells, ranges)
        sums = group_cells(
            _sums_of_clusters(table, names, keys), [*keys, "size"], are_listed=are_listed
        )
        return cls(cells, ranges, _by_column(sums, by))

    @property
    def groups(self) -> dict[str, int]:
        """The groups, and the number of rows of each."""
        return {group: self.n(ROWS, group) for group, name in self.cells if name == ROWS}

    def n(self, name: str, group: str = "") -> int:
        """The number of rows in which a column is not null."""
        cells = self.cells.get((group, name))
        return 0 if cells is None else int(cells["n"].sum())

    def column(self, name: str, group: str = "") -> Column:
        """A column of numbers."""
        cells = self.cells.get((group, name))
        if cells is None:
            return Column.of(np.zeros(0))
        spread = self.ranges[name]
        column = column_of_cells(cells, spread.width)
        if not column.is_exact:
            return column
        # Values that only rounding separates may be in two cells.
        return Column.of_counts(*merge_ties(column.values, column.counts, tie_of([spread])))

    def sums_of(self, name: str, group: str = "") -> ClusterSums:
        """The sums of the clusters of a column."""
        cells = None if self.sums is None else self.sums.get((group, name))
        parts = [] if cells is None else list(cells.groupby("size"))
        columns = [column_of_cells(own, self.ranges[name].width) for _, own in parts]
        sizes = np.array([size for size, _ in parts], dtype=np.float64)
        nothing = np.zeros(0)
        return ClusterSums(
            np.concatenate([nothing, *(own.values for own in columns)]),
            np.repeat(sizes, [own.values.size for own in columns]),
            np.concatenate([nothing, *(own.counts for own in columns)]),
            is_exact=all(own.is_exact for own in columns),
        )

    def clusters(self, name: str, group: str = "") -> Column | None:
        """The differences of the clusters; None if no two queries belong together."""
        sums = self.sums_of(name, group)
        if (sums.sizes == 1).all():
            return None
        column = column_of_sums(sums.sums, sums.sizes, sums.counts)
        return column if sums.is_exact else replace(column, is_exact=False)


def _by_column(cells: pd.DataFrame, by: str | None) -> dict[tuple[str, str], pd.DataFrame]:
    keys = [by, "column"] if by else ["column"]
    return {
        (str(key[0]) if by else "", str(key[-1])): own.reset_index(drop=True)
        for key, own in cells.groupby(keys, sort=False)
    }


def _sums_of_clusters(
    table: LazyTable, ranges: Mapping[str, Range], keys: Sequence[str]
) -> LazyTable:
    """One row per cluster and column: the sum ``x`` of its numbers, and their ``size``."""
    import narwhals as nw

    rows = long_rows(table, ranges, [*keys, CLUSTER]).group_by(*keys, CLUSTER, "column")
    return rows.agg(nw.col("x").sum(), nw.len().alias("size"))


# -- two tables


@dataclass(frozen=True, eq=False)
class ScannedPairing:
    """Two tables side by side; what comparisons and gates ask of a `Pairing` in memory.

    Parameters
    ----------
    before, after : ScannedTable
        The baseline and the candidate, of one engine.
    metrics : list of (Metric, Metric)
        The metrics that both have, as the baseline and as the candidate knows them.
    plan : ComparisonPlan
        The settings.
    clusters : str, optional
        The column of the baseline with the clusters.
    by : str, optional
        The column of the baseline by whose groups everything is counted.
    left_out : str, optional
        A group whose queries are left out.
    """

    before: ScannedTable
    after: ScannedTable
    metrics: list[tuple[Metric, Metric]]
    plan: ComparisonPlan
    clusters: str | None = None
    by: str | None = None
    left_out: str | None = None

    @classmethod
    def of(
        cls,
        before: ScannedTable,
        after: ScannedTable,
        plan: ComparisonPlan,
        *,
        metrics: Sequence[str] | None = None,
        clusters: str | None = None,
    ) -> ScannedPairing:
        """Two tables with the metrics that they share.

        Raises
        ------
        AlignmentError
            If they share no query or no metric.
        DataError
            If they disagree on the direction or the scale of a metric.
        """
        heads = before.head, after.head
        agreed = on_one_scale(heads, shared_metrics(*heads, metrics))
        pairing = cls(before, after, [(ours, theirs) for ours, theirs in agreed], plan, clusters)
        if not pairing.n_common:
            raise AlignmentError(
                f"{before.name!r} and {after.name!r} share no query id; ids of the first: "
                f"{named(before.head.scores.index, 3)}, of the second: "
                f"{named(after.head.scores.index, 3)}"
            )
        return pairing

    @property
    def baseline(self) -> ScannedTable:
        """The pipeline in use."""
        return self.before

    @property
    def candidate(self) -> ScannedTable:
        """The pipeline that might replace it."""
        return self.after

    @property
    def n_common(self) -> int:
        """The number of queries that both have."""
        return sum(self.counts.groups.values())

    @property
    def units(self) -> Units:
        """What is independent."""
        return QUERIES if self.clusters is None else SUMMED

    @cached_property
    def rows(self) -> LazyTable:
        """The common queries, with missing scores treated."""
        ours: dict[str, str] = {}
        if self.clusters is not None:
            ours[self.clusters] = CLUSTER
        joined = side_by_side([self.before, self.after], self.metrics, [ours, {}])
        if self.by is not None:
            joined = self._with_groups(joined, self.by)
        return treated(joined, self.metrics, self.plan.missing, [(0, 1)] * len(self.metrics))

    def _with_groups(self, joined: LazyTable, by: str) -> LazyTable:
        """The rows with their groups, and 0 where the candidate has another one."""
        import narwhals as nw

        own = [nw.col(by).alias("by_0"), self.before.labels(by).alias(GROUP)]
        joined = _beside(joined, self.before, own)
        if by in self.after.details:
            joined = _beside(joined, self.after, [nw.col(by).alias("by_1")])
            sides = [nw.col("by_0"), nw.col("by_1")]
            kinds = joined.collect_schema()
            if not (kinds["by_0"].is_numeric() and kinds["by_1"].is_numeric()):
                sides = [side.cast(nw.String) for side in sides]
            # Where a side has no group the comparison is null.
            joined = joined.with_columns(nw.when(sides[0] != sides[1]).then(0.0).alias(OTHER_GROUP))
        return joined if self.left_out is None else joined.filter(nw.col(GROUP) != self.left_out)

    @cached_property
    def counts(self) -> Counts:
        """What one pass over both tables counts; with clusters it takes two."""
        known = set(self.rows.collect_schema().names())
        columns, ranges = self._columns(known)
        keys = [name for name in (CLUSTER, GROUP) if name in known]
        by = GROUP if self.by is not None and self.left_out is None else None
        summed = [name for name in ranges if name[0] in "dl"] if self.clusters else []
        n_rows = min(self.before.n_rows, self.after.n_rows)
        rows = self.rows.select(*keys, *columns)
        return Counts.of(rows, ranges, n_rows=n_rows, by=by, summed=summed)

    def _columns(self, known: set[str]) -> tuple[list[nw.Expr], dict[str, Range]]:
        import narwhals as nw

        columns, ranges = [nw.lit(0.0).alias(ROWS)], {ROWS: _ALL}
        if OTHER_GROUP in known:
            columns.append(nw.col(OTHER_GROUP))
            ranges[OTHER_GROUP] = _ALL
        for i, (ours, theirs) in enumerate(self.metrics):
            before, after = nw.col(f"{i}_0"), nw.col(f"{i}_1")
            sides = [
                range_of(self.before, ours, self.plan.missing),
                range_of(self.after, replace(ours, name=theirs.name), self.plan.missing),
            ]
            own = {
                f"b{i}": (nw.when(~after.is_null()).then(before), sides[0]),
                f"c{i}": (nw.when(~before.is_null()).then(after), sides[1]),
                f"d{i}": (difference(before, after, sides), sides[1].difference(sides[0])),
                f"x{i}": (nw.when(after.is_null()).then(before), sides[0]),
                f"y{i}": (nw.when(before.is_null()).then(after), sides[1]),
            }
            if ours.group == "performance" and min(side.low for side in sides) > 0.0:
                logs = [Range(*np.log([side.low, side.high]).tolist()) for side in sides]
                own[f"l{i}"] = (
                    difference(before.log(), after.log(), logs),
                    logs[1].difference(logs[0]),
                )
            for name in {f"na_{i}", f"filled_{i}"} & known:
                own[name] = (nw.col(name), _ALL)
            columns += [expression.alias(name) for name, (expression, _) in own.items()]
            ranges |= {name: spread for name, (_, spread) in own.items()}
        return columns, ranges

    def known(self, place: int, group: str = "") -> MetricPairs:
        """The pairs of a metric, by its place, of all queries or of a group."""
        counts = self.counts
        before, after, change = (counts.column(f"{side}{place}", group) for side in "bcd")
        pairs = Pairs(before, after, change, counts.clusters(f"d{place}", group))
        lone = [counts.column(f"{side}{place}", group) for side in "xy"]
        n_without = counts.n(f"na_{place}", group)
        n_neither = counts.groups[group] - n_without - pairs.differences.n - lone[0].n - lone[1].n
        filled = counts.column(f"filled_{place}", group)
        logarithms = None
        if f"l{place}" in counts.ranges and pairs.differences.n:
            logarithms = replace(
                pairs,
                differences=counts.column(f"l{place}", group),
                clusters=counts.clusters(f"l{place}", group),
            )
        return MetricPairs(
            pairs,
            LoneScores(lone[0], lone[1], n_neither),
            self.units,
            n_not_applicable=n_without,
            n_filled=round(filled.mean * filled.n) if filled.n else 0,
            logarithms=logarithms,
        )

    def paired(self, place: int, group: str = "") -> PairedMetric:
        """A metric by its place, paired but not yet tested."""
        names = self.before.name, self.after.name
        return PairedMetric(names, self.metrics[place][0], self.known(place, group))

    def by_unit(self, metric: Metric) -> Pairs:
        """One metric, one pair per independent unit of the queries that both scored."""
        names = [ours.name for ours, _ in self.metrics]
        return self.known(names.index(metric.name)).pairs

    def notes(self) -> tuple[str, ...]:
        """The ids and the metrics that only one table has, and bounds that do not hold for both."""
        heads = self.before.head, self.after.head
        return (*self._lone_ids(), *notes_on_lone_metrics(*heads), *self._bounds(heads))

    def _bounds(self, heads: tuple[Scored, Scored]) -> Iterator[str]:
        return notes_on_bounds(heads, self.metrics)

    def _lone_ids(self) -> Iterator[str]:
        for own, other in ((self.before, self.after), (self.after, self.before)):
            if n := own.n_rows - self.n_common:
                yield from note_on_lone_ids(own.name, lone_ids(own, other), n)


def _beside(joined: LazyTable, table: ScannedTable, columns: Sequence[nw.Expr]) -> LazyTable:
    """Rows with further columns of a table."""
    return joined.join(table.frame.select("query_id", *columns), on="query_id", how="inner")


def lone_ids(own: ScannedTable, other: ScannedTable, k: int = 5) -> list[str]:
    """The first ids, in their order, that another table does not have."""
    alone = own.frame.select("query_id").join(
        other.frame.select("query_id"), on="query_id", how="anti"
    )
    first = alone.sort("query_id").head(k).collect("pandas").to_native()
    return [str(query_id) for query_id in first["query_id"]]
