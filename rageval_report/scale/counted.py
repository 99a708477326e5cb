"""Numbers of a lazy table as columns with counts, by one expression for every engine.

A column is cut into cells whose width is a power of two, at most 2^16 of them between its least and
its largest number. One ``group_by`` gives of each cell the number, the mean, the variance and the
extremes of what lies in it. If every cell holds one or two values, these are known with their
counts; otherwise the cells stand for them, and the number, the mean and the standard deviation are
those of the numbers themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report.scale.frames import LazyTable, collect
from rageval_report.stats.base import TIE_TOLERANCE
from rageval_report.stats.columns import Column
from rageval_report.types import FloatArray

# Cells between the least and the largest number of a column.
MOST_CELLS = 2**16
# How far, relative to their distance, the numbers of a cell may lie from one of two values.
_TWO_VALUES = 1e-9


@dataclass(frozen=True)
class Range:
    """The least and the largest number of a column."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """The width of its cells: a power of two, by which numbers are divided without rounding."""
        spread = max(self.high - self.low, abs(self.low) * 2.0**-52, abs(self.high) * 2.0**-52)
        return 2.0 ** math.ceil(math.log2(spread / MOST_CELLS)) if spread > 0 else 1.0

    def difference(self, baseline: Range) -> Range:
        """Within what the differences lie, this less the baseline."""
        return Range(self.low - baseline.high, self.high - baseline.low)

    def including(self, number: float) -> Range:
        """The range that holds another number, too."""
        return Range(min(self.low, number), max(self.high, number))


def long_rows(table: LazyTable, ranges: Mapping[str, Range], by: Sequence[str] = ()) -> LazyTable:
    """One row per number: the columns of `by`, ``column``, and ``x`` in widths of a cell."""
    scaled = [(nw.col(name) / spread.width).alias(name) for name, spread in ranges.items()]
    return unpivot(table.select(*by, *scaled), list(ranges), by).filter(~nw.col("x").is_null())


def unpivot(table: LazyTable, columns: Sequence[str], by: Sequence[str]) -> LazyTable:
    """One row per row and column: ``column`` and ``x``, and the columns of `by`."""
    native = table.to_native()
    if table.implementation.is_ibis():
        # On PostgreSQL its own way is by JSON, which has no null that becomes a number.
        parts = [
            table.select(*by, nw.lit(name).alias("column"), nw.col(name).alias("x"))
            for name in columns
        ]
        return nw.concat(parts)
    if not hasattr(native, "set_alias"):
        names = {"variable_name": "column", "value_name": "x"}
        return table.unpivot(on=list(columns), index=list(by) or None, **names)
    # A relation of DuckDB is asked through its own connection, which need not be the default one.
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
    query = f'unpivot wide on {quoted} into name "column" value x'
    wide: LazyTable = nw.from_native(native.query("wide", query)).lazy()
    return wide


def group_cells(
    long: LazyTable, by: Sequence[str] = (), *, are_listed: bool = False
) -> pd.DataFrame:
    """The cells of the rows that `long_rows` gives; no cell has numbers on both sides of zero.

    One row per group, column and cell: the columns of `by`, ``column``, ``n``, and in widths of a
    cell ``low``, ``high``, ``mean`` and ``variance``. `are_listed` makes every number a cell.
    """
    x, offset, whole = nw.col("x"), nw.col("offset"), nw.col("x").round()
    # Of numbers that round to 0 those above and below it are cells of their own.
    side = nw.when(x > 0).then(0.25).when(x < 0).then(-0.25).otherwise(0.0)
    cell = x if are_listed else nw.when(whole == 0).then(side).otherwise(whole)
    rows = long.with_columns(cell.alias("cell"), (x - (x if are_listed else whole)).alias("offset"))
    rows = rows.with_columns((offset * offset).alias("square"))
    offsets = [offset.min().alias("low"), offset.max().alias("high"), offset.mean().alias("mean")]
    keys = [*by, "column", "cell"]
    cells = rows.group_by(*keys).agg(nw.len().alias("n"), *offsets, nw.col("square").mean())
    frame: pd.DataFrame = collect(cells).sort_values(keys, kind="stable", ignore_index=True)
    start = frame["cell"] if are_listed else frame["cell"].round()
    variance = np.maximum(frame.pop("square") - frame["mean"] ** 2, 0.0)
    moved = {name: frame[name] + start for name in ("low", "high", "mean")}
    return frame.assign(**moved, variance=variance)


def column_of_cells(cells: pd.DataFrame, width: float) -> Column:
    """The column that its cells are, which are in ascending order."""
    names = ["n", "low", "high", "mean", "variance"]
    n, low, high, mean, variance = cells[names].to_numpy(np.float64).T
    if not n.size:
        return Column.of(np.zeros(0))
    noise = TIE_TOLERANCE * max(1.0 / width, float(np.abs(low).max()), float(np.abs(high).max()))
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
    return Column(mean * width, n, between.mean * width, std, is_exact=False)


@dataclass(frozen=True, eq=False)
class GridColumn(Column):
    """A grid between the numbers of a column, whose order statistics are the numbers themselves.

    `numbers_in` gives the numbers that lie in some cells of a width, and how often each occurs.
    """

    width: float = 1.0
    numbers_in: Callable[[tuple[float, ...]], FloatArray] = lambda _: np.zeros((2, 0))

    @property
    def minimum(self) -> float:
        """The least number."""
        return float(self.at_ranks(np.array([0]))[0])

    @property
    def maximum(self) -> float:
        """The largest number."""
        return float(self.at_ranks(np.array([self.n - 1]))[0])

    def times(self, factor: float) -> Column:
        """As `Column.times`; order statistics are those of the grid."""
        return Column(self.values, self.counts, self.mean, self.std, is_exact=False).times(factor)

    def at_ranks(self, ranks: npt.NDArray[np.intp]) -> FloatArray:
        """As `Column.at_ranks`, by one query for the numbers of the cells that hold these ranks."""
        cells = np.rint(self.values / self.width)
        places = np.searchsorted(np.cumsum(self.counts), np.ravel(ranks), side="right")
        wanted = np.unique(cells[places])
        is_kept = ~np.isin(cells, wanted)
        grid = np.array([self.values[is_kept], self.counts[is_kept]])
        values, counts = np.concatenate([grid, self.numbers_in(tuple(wanted.tolist()))], axis=1)
        if counts.sum() != self.counts.sum():  # numbers halfway between two cells
            return super().at_ranks(ranks)
        order = np.argsort(values, kind="stable")
        return Column(values[order], counts[order], self.mean, self.std).at_ranks(ranks)
