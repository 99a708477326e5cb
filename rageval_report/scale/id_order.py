"""Whether the ids of a table are in order, which shows that none occurs twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from rageval_report._registry import import_arrow_module
from rageval_report.scale.score_rows import ArrowTexts

# "text": by code points, as "q007" < "q010"; "length": the shorter first, as "q7" < "q10".
OrderName = Literal["text", "length"]
ORDERS: tuple[OrderName, ...] = get_args(OrderName)

SortKey: TypeAlias = Callable[[str], Any]


def sort_key(order: OrderName) -> SortKey:
    """The function whose values are compared in an order.

    Examples
    --------
    >>> sorted(["q10", "q9"], key=sort_key("length")), sorted(["q10", "q9"], key=sort_key("text"))
    (['q9', 'q10'], ['q10', 'q9'])
    """
    # UTF-8 bytes, which Arrow compares, are in the order of the code points, as str is.
    return _KEYS[order]


def _length_key(text: str) -> tuple[int, str]:
    # In bytes, as Arrow counts.
    return len(text.encode()), text


_KEYS: dict[OrderName, SortKey] = {"text": str, "length": _length_key}


@dataclass(frozen=True)
class IdOrder:
    """The orders in which the ids of some rows stand.

    Parameters
    ----------
    n : int
        The number of ids.
    first, last : str
        The first and the last id.
    orders : frozenset of {"text", "length"}
        The orders in which each id comes after the one before it.
    """

    n: int
    first: str
    last: str
    orders: frozenset[OrderName]

    @classmethod
    def of(cls, ids: ArrowTexts, orders: frozenset[OrderName] = frozenset(ORDERS)) -> IdOrder:
        """The orders of some ids; of an empty array every one.

        Parameters
        ----------
        ids : pyarrow.Array of str
            The ids, in the order of the rows.
        orders : frozenset of {"text", "length"}
            The orders to look at.
        """
        if not len(ids):
            return cls(0, "", "", orders)
        kept = frozenset(order for order in orders if _CHECKS[order](ids[:-1], ids[1:]))
        return cls(len(ids), ids[0].as_py(), ids[-1].as_py(), kept)

    def __add__(self, other: IdOrder) -> IdOrder:
        """The orders of both parts, the rows of `other` after those of this one."""
        if not self.n or not other.n:
            kept = self if self.n else other
            return IdOrder(kept.n, kept.first, kept.last, self.orders & other.orders)
        orders = frozenset(
            order
            for order in self.orders & other.orders
            if sort_key(order)(self.last) < sort_key(order)(other.first)
        )
        return IdOrder(self.n + other.n, self.first, other.last, orders)


def _increases(before: ArrowTexts, after: ArrowTexts) -> bool:
    compute = import_arrow_module("compute")
    return bool(compute.all(compute.less(before, after)).as_py() is not False)


def _increases_in_length(before: ArrowTexts, after: ArrowTexts) -> bool:
    compute = import_arrow_module("compute")
    shorter, longer = compute.binary_length(before), compute.binary_length(after)
    is_later = compute.and_(compute.equal(shorter, longer), compute.less(before, after))
    in_order = compute.or_(compute.less(shorter, longer), is_later)
    return bool(compute.all(in_order).as_py() is not False)


_CHECKS: dict[OrderName, Callable[[ArrowTexts, ArrowTexts], bool]] = {
    "text": _increases,
    "length": _increases_in_length,
}
