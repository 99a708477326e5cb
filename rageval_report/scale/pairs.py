"""The rows of two tables side by side, by id, when both tables are in the order of their ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rageval_report._registry import import_arrow_module
from rageval_report.errors import MOST_NAMED, DataError
from rageval_report.scale.id_order import IdOrder, OrderName, SortKey, sort_key
from rageval_report.scale.score_rows import ArrowTexts, ScoreRows


class UnorderedIdsError(DataError):
    """The ids of two tables are in no order in which their rows could be put side by side."""


@dataclass(frozen=True, eq=False)
class PairedRows:
    """Some rows of two tables.

    Parameters
    ----------
    before, after : ScoreRows
        The rows of the common queries, in the same order.
    only_before, only_after : ScoreRows
        The rows of the queries that one table lacks.
    """

    before: ScoreRows
    after: ScoreRows
    only_before: ScoreRows
    only_after: ScoreRows

    @classmethod
    def complete(cls, before: ScoreRows, after: ScoreRows) -> PairedRows:
        """Rows of the same queries in the same order."""
        return cls(before, after, before.slice(0, 0), after.slice(0, 0))


@dataclass(frozen=True)
class CommonIds:
    """How many queries two tables share.

    Parameters
    ----------
    n_common, n_only_before, n_only_after : int
        The queries of both, and those that one table lacks.
    only_before, only_after : tuple of str
        The first of these by code point, so that they do not depend on the order of the rows.
    """

    n_common: int
    n_only_before: int
    n_only_after: int
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()

    @classmethod
    def of(cls, rows: PairedRows) -> CommonIds:
        """The counts of some rows."""
        return cls(
            len(rows.before),
            len(rows.only_before),
            len(rows.only_after),
            _first_ids(rows.only_before),
            _first_ids(rows.only_after),
        )

    def __add__(self, other: CommonIds) -> CommonIds:
        """The counts of both parts."""
        return CommonIds(
            self.n_common + other.n_common,
            self.n_only_before + other.n_only_before,
            self.n_only_after + other.n_only_after,
            tuple(sorted((*self.only_before, *other.only_before))[:MOST_NAMED]),
            tuple(sorted((*self.only_after, *other.only_after))[:MOST_NAMED]),
        )


def _first_ids(rows: ScoreRows) -> tuple[str, ...]:
    if rows.ids is None or not len(rows):
        return ()
    return tuple(sorted(rows.ids.to_pylist())[:MOST_NAMED])


def match_rows(before: ScoreRows, after: ScoreRows) -> PairedRows:
    """The rows of two parts by id, whatever their order; ids occur once in each."""
    if len(before) == len(after) and before.ids.equals(after.ids):
        return PairedRows.complete(before, after)
    places = import_arrow_module("compute").index_in(before.ids, value_set=after.ids)
    is_common = places.is_valid().to_numpy(zero_copy_only=False)
    rows = places.drop_null().to_numpy().astype(np.intp)
    is_alone = np.ones(len(after), dtype=bool)
    is_alone[rows] = False
    return PairedRows(
        before.take(is_common), after.take(rows), before.take(~is_common), after.take(is_alone)
    )


def first_row_after(ids: ArrowTexts, key: SortKey, bound: str) -> int:
    """The first row whose id comes after a bound, among ids in order.

    Examples
    --------
    >>> import pyarrow
    >>> first_row_after(pyarrow.array(["q1", "q3", "q5"]), str, "q3")
    2
    """
    low, high, limit = 0, len(ids), key(bound)
    while low < high:
        middle = (low + high) // 2
        if key(ids[middle].as_py()) <= limit:
            low = middle + 1
        else:
            high = middle
    return low


class OrderedSide:
    """One of several tables, read part by part, with a check of the order of its ids."""

    def __init__(
        self, name: str, parts: Iterator[ScoreRows], metrics: Sequence[str], order: OrderName
    ):
        self._name, self._parts = name, parts
        self._key = sort_key(order)
        self._order = IdOrder(0, "", "", frozenset({order}))
        self._is_checked = False
        self.rows = ScoreRows.without_rows(metrics)

    def fill(self) -> bool:
        """Read the next part if no row is waiting; False at the end of the table."""
        if len(self.rows):
            return True
        rows = next(self._parts, None)
        if rows is None:
            return False
        self.rows, self._is_checked = rows, False
        return True

    def check(self) -> None:
        """Check the order of the rows that wait, once."""
        if not self._is_checked:
            self._add(IdOrder.of(self.rows.ids, self._order.orders))
            self._is_checked = True

    def pop(self, n: int) -> ScoreRows:
        """The next n rows, which then no longer wait."""
        first, self.rows = self.rows.slice(0, n), self.rows.slice(n, len(self.rows))
        return first

    def pop_equal(self, n: int, order: IdOrder) -> ScoreRows:
        """The next n rows, whose order is known."""
        if not self._is_checked:
            self._add(order)
        return self.pop(n)

    def _add(self, order: IdOrder) -> None:
        """Put the order of some rows behind that of the rows before.

        Raises
        ------
        UnorderedIdsError
            If an id does not come after the one before it.
        """
        self._order += order
        if not self._order.orders:
            raise UnorderedIdsError(f"the ids of {self._name!r} are not in order")

    def pop_until(self, last: str) -> ScoreRows:
        """The waiting rows up to an id."""
        return self.pop(first_row_after(self.rows.ids, self._key, last))


def ordered_pairs(
    names: tuple[str, str],
    before: Iterator[ScoreRows],
    after: Iterator[ScoreRows],
    metrics: tuple[Sequence[str], Sequence[str]],
    order: OrderName,
) -> Iterator[PairedRows]:
    """The rows of two tables whose ids are in order, part by part.

    Parameters
    ----------
    names : (str, str)
        The names of the tables.
    before, after : iterator of ScoreRows
        Their rows, with ids.
    metrics : (sequence of str, sequence of str)
        The metrics that were read of either table.
    order : {"text", "length"}
        The order of the ids of both.

    Raises
    ------
    UnorderedIdsError
        If the ids of a table are not in this order, or one occurs twice.
    """
    first = OrderedSide(names[0], before, metrics[0], order)
    second = OrderedSide(names[1], after, metrics[1], order)
    while first.fill() and second.fill():
        yield _next_pairs(first, second, order)
    while first.fill():
        first.check()
        rows = first.pop(len(first.rows))
        yield PairedRows(rows.slice(0, 0), second.rows, rows, second.rows)
    while second.fill():
        second.check()
        rows = second.pop(len(second.rows))
        yield PairedRows(first.rows, rows.slice(0, 0), first.rows, rows)


def rows_in_same_order(
    names: tuple[str, str], before: Iterator[ScoreRows], after: Iterator[ScoreRows]
) -> Iterator[PairedRows]:
    """The rows of two tables that have the same ids in the same order, whatever it is.

    Parameters
    ----------
    names, before, after
        As in `ordered_pairs`. That no id occurs twice is not checked here.

    Raises
    ------
    UnorderedIdsError
        If the ids differ at some row.
    """
    first, second = ScoreRows({}), ScoreRows({})
    while True:
        first = first if len(first) else next(before, first)
        second = second if len(second) else next(after, second)
        n = min(len(first), len(second))
        if not n and not len(first) and not len(second):
            return
        if not n or not first.ids.slice(0, n).equals(second.ids.slice(0, n)):
            raise UnorderedIdsError(
                f"the ids of {names[0]!r} and of {names[1]!r} are neither sorted nor in the same "
                "order"
            )
        yield PairedRows.complete(first.slice(0, n), second.slice(0, n))
        first, second = first.slice(n, len(first)), second.slice(n, len(second))


def _next_pairs(first: OrderedSide, second: OrderedSide, order: OrderName) -> PairedRows:
    """The rows up to the smaller of the two last ids that wait."""
    n = min(len(first.rows), len(second.rows))
    ids = first.rows.ids.slice(0, n)
    if ids.equals(second.rows.ids.slice(0, n)):
        known = IdOrder.of(ids, frozenset({order}))
        return PairedRows.complete(first.pop_equal(n, known), second.pop_equal(n, known))
    first.check()
    second.check()
    last = min(first.rows.ids[-1].as_py(), second.rows.ids[-1].as_py(), key=sort_key(order))
    return match_rows(first.pop_until(last), second.pop_until(last))
