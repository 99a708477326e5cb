"""Samples of a golden set by strata."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Literal, get_args

from rageval_report.errors import DataError, check_choice
from rageval_report.records.draws import count_unanswerable, equal_shares, proportional_shares
from rageval_report.records.golden import GoldenItem, check_items, check_keys

Allocation = Literal["proportional", "equal"]
Stratum = tuple[str, ...]


def sample_golden(
    items: Iterable[GoldenItem],
    n: int,
    *,
    by: Sequence[str] | None = None,
    how: Allocation = "proportional",
    unanswerable_ratio: float | None = None,
    seed: int = 0,
) -> list[GoldenItem]:
    """Draw items, stratum by stratum.

    Parameters
    ----------
    items : iterable of GoldenItem
        The set.
    n : int
        The number of items to draw, without replacement.
    by : sequence of str, optional
        The metadata keys that make the strata, or "answerable"; an empty sequence draws from all
        items alike. If omitted, "query_type", if the items have it.
    how : {"proportional", "equal"}
        In proportion to the size of each stratum, rounded by largest remainders; or the same number
        of each stratum, as far as it has them.
    unanswerable_ratio : float, optional
        The share of the sample that has no answer, from 0 to 1; as in the set if omitted. Items
        that do not say whether they have an answer are then left out.
    seed : int
        The seed of the draw.

    Returns
    -------
    list of GoldenItem
        In the order of the set. Which items are drawn depends on their ids and the seed, not on
        their order.

    Raises
    ------
    DataError
        If there are too few items, or too few with or without an answer.
    UnknownNameError
        If no item has a key of `by`.

    Examples
    --------
    >>> items = [GoldenItem(f"q{n}", "Who?", metadata={"query_type": n % 2}) for n in range(10)]
    >>> drawn = sample_golden(items, 4)
    >>> sorted(item.metadata["query_type"] for item in drawn)
    [0, 0, 1, 1]
    """
    every = check_items(items)
    check_choice("how", how, get_args(Allocation))
    if isinstance(n, bool) or not 1 <= n <= len(every):
        raise DataError(
            f"n must be an integer from 1 to {len(every)}, the number of items; got {n!r}"
        )
    keys = check_keys(every, by)
    share = proportional_shares if how == "proportional" else equal_shares
    drawn: set[str] = set()
    for pool, n_drawn in _pools(every, n, unanswerable_ratio):
        strata: defaultdict[Stratum, list[GoldenItem]] = defaultdict(list)
        for item in pool:
            strata[_stratum_of(item, keys)].append(item)
        groups = [strata[stratum] for stratum in sorted(strata, key=str)]
        for group, size in zip(groups, share(list(map(len, groups)), n_drawn), strict=True):
            # By lots of the ids, so that a larger sample contains the smaller one and new items
            # change few others.
            by_lot = sorted(group, key=lambda item: _lot(item.query_id, seed))
            drawn |= {item.query_id for item in by_lot[:size]}
    return [item for item in every if item.query_id in drawn]


def _stratum_of(item: GoldenItem, keys: Sequence[str]) -> Stratum:
    return tuple(str(item.value_of(key)) for key in keys)


def _pools(
    items: list[GoldenItem], n: int, unanswerable_ratio: float | None
) -> list[tuple[list[GoldenItem], int]]:
    """The items to draw from with their number: all, or those without and with an answer."""
    if unanswerable_ratio is None:
        return [(items, n)]
    without = [item for item in items if item.answerable is False]
    answerable = [item for item in items if item.answerable is True]
    n_without = count_unanswerable(n, unanswerable_ratio)
    if n_without > len(without) or n - n_without > len(answerable):
        raise DataError(
            f"cannot reach unanswerable_ratio={unanswerable_ratio:g}: {n} questions are "
            f"{n_without} without and {n - n_without} with an answer; there are "
            f"{len(without)} and {len(answerable)}"
        )
    return [(without, n_without), (answerable, n - n_without)]


def _lot(query_id: str, seed: int) -> bytes:
    """A random number of an id: the same wherever the item stands, and whatever the other items."""
    return blake2b(f"{seed}\x00{query_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
