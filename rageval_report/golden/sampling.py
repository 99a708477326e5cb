"""Samples of a golden set by strata, and splits that do not leak into each other."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Literal, get_args

from rageval_report.datasets.drawing import count_unanswerable
from rageval_report.datasets.golden_items import (
    GoldenItem,
    check_item_ids,
    check_keys,
    filled_keys,
)
from rageval_report.errors import DataError, check_choice, explain_keywords
from rageval_report.golden.near_duplicates import near_pairs

Allocation = Literal["proportional", "equal"]
Stratum = tuple[Hashable, ...]

_DEFAULT_KEYS = ("query_type",)
_DOCUMENT = "document"


@explain_keywords
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
    every = check_item_ids(items)
    check_choice("how", how, get_args(Allocation))
    if isinstance(n, bool) or not 1 <= n <= len(every):
        raise DataError(
            f"n must be an integer from 1 to {len(every)}, the number of items; got {n!r}"
        )
    keys = _stratum_keys(every, by)
    drawn: set[str] = set()
    for pool, n_drawn in _pools(every, n, unanswerable_ratio):
        drawn |= _draw_ids(_group_by_stratum(pool, keys), n_drawn, how, seed)
    return [item for item in every if item.query_id in drawn]


def _stratum_keys(items: Sequence[GoldenItem], by: Sequence[str] | None) -> tuple[str, ...]:
    if by is None:
        return tuple(key for key in _DEFAULT_KEYS if key in filled_keys(items))
    return check_keys(items, by)


def _pools(
    items: list[GoldenItem], n: int, unanswerable_ratio: float | None
) -> list[tuple[list[GoldenItem], int]]:
    """The items to draw from with their number: all, or those without and with an answer."""
    if unanswerable_ratio is None:
        return [(items, n)]
    unanswerable = [item for item in items if item.answerable is False]
    answerable = [item for item in items if item.answerable is True]
    n_unanswerable = count_unanswerable(n, unanswerable_ratio)
    if n_unanswerable > len(unanswerable) or n - n_unanswerable > len(answerable):
        raise DataError(
            f"cannot reach unanswerable_ratio={unanswerable_ratio:g}: {n} questions are "
            f"{n_unanswerable} without and {n - n_unanswerable} with an answer; there are "
            f"{len(unanswerable)} and {len(answerable)}"
        )
    return [(unanswerable, n_unanswerable), (answerable, n - n_unanswerable)]


def _draw_ids(
    strata: Mapping[Stratum, list[GoldenItem]], n: int, how: Allocation, seed: int
) -> set[str]:
    sizes = [len(items) for items in strata.values()]
    shares = allocate_proportionally(sizes, n) if how == "proportional" else _equally(sizes, n)
    return {
        item.query_id
        for items, share in zip(strata.values(), shares, strict=True)
        # By lots of the ids, so that a larger sample contains the smaller one and new items change
        # few others.
        for item in sorted(items, key=lambda item: _lot(item.query_id, seed))[:share]
    }


@explain_keywords
def split_golden(
    items: Iterable[GoldenItem],
    parts: Mapping[str, float],
    *,
    by: Sequence[str] | None = None,
    together: Sequence[str] = (),
    near: float = 0.8,
    seed: int = 0,
) -> dict[str, list[GoldenItem]]:
    """Split a golden set, so that nothing learnt from one part is asked again in another.

    Parameters
    ----------
    items : iterable of GoldenItem
        The set.
    parts : mapping of str to float
        Names and shares, which must add up to 1: ``{"dev": 0.3, "test": 0.7}``.
    by : sequence of str, optional
        The metadata keys, or "answerable", whose values each part should have in the same shares.
        If omitted, "query_type", if the items have it.
    together : sequence of str
        Metadata keys whose equal values stay in one part. "document" is also what the gold names:
        the files of its spans, its ids, and without these its texts.
    near : float
        Questions of at least this similarity stay in one part; see `near_duplicates.near_pairs`.
    seed : int
        The seed of the assignment.

    Returns
    -------
    dict of str to list of GoldenItem
        The parts, each in the order of the set.

    Raises
    ------
    DataError
        If the shares do not add up to 1, or no item has a key of `together`.
    UnknownNameError
        If no item has a key of `by`.

    Examples
    --------
    >>> items = [GoldenItem(f"q{n}", f"What is {n * 7919}?") for n in range(10)]
    >>> {name: len(part) for name, part in split_golden(items, {"dev": 0.3, "test": 0.7}).items()}
    {'dev': 3, 'test': 7}
    """
    every = check_item_ids(items)
    if len(parts) < 2 or min(parts.values()) <= 0 or not math.isclose(sum(parts.values()), 1.0):
        raise DataError(f"parts must be at least two shares that add up to 1; got {dict(parts)!r}")
    keys = _stratum_keys(every, by)
    part_of: dict[str, str] = {}
    filled: dict[Stratum, dict[str, int]] = {}
    for group in _indivisible_groups(every, together, near, seed):
        stratum = _stratum_of(group[0], keys)
        counts = filled.setdefault(stratum, dict.fromkeys(parts, 0))
        part = _neediest_part(counts, parts, len(group), filled)
        counts[part] += len(group)
        part_of |= dict.fromkeys((item.query_id for item in group), part)
    return {name: [item for item in every if part_of[item.query_id] == name] for name in parts}


def _neediest_part(
    counts: Mapping[str, int],
    parts: Mapping[str, float],
    n: int,
    filled: Mapping[Stratum, Mapping[str, int]],
) -> str:
    """The part that is furthest below its share of the stratum; on ties, of the whole set."""
    n_stratum = sum(counts.values()) + n
    totals = {name: sum(row[name] for row in filled.values()) for name in parts}
    n_total = sum(totals.values()) + n

    def need(name: str) -> tuple[float, float]:
        share = parts[name]
        # Rounded, so that float noise does not decide what is a tie.
        return round(share * n_stratum - counts[name], 9), share * n_total - totals[name]

    return max(parts, key=need)


def _indivisible_groups(
    items: Sequence[GoldenItem], together: Sequence[str], near: float, seed: int
) -> list[list[GoldenItem]]:
    """Items that stay together, in an order drawn by seed; large groups first, small ones fit."""
    leader = list(range(len(items)))  # union-find, with path halving

    def root(position: int) -> int:
        while leader[position] != position:
            leader[position] = leader[leader[position]]
            position = leader[position]
        return position

    for first, second in [*_near_positions(items, near), *_equal_positions(items, together)]:
        leader[root(second)] = root(first)
    groups: defaultdict[int, list[GoldenItem]] = defaultdict(list)
    for position, item in enumerate(items):
        groups[root(position)].append(item)
    lots = {
        id(group): min(_lot(item.query_id, seed) for item in group) for group in groups.values()
    }
    return sorted(groups.values(), key=lambda group: (-len(group), lots[id(group)]))


def _near_positions(items: Sequence[GoldenItem], near: float) -> list[tuple[int, int]]:
    pairs = near_pairs([item.question for item in items], near)
    return [(first, second) for first, second, _ in pairs]


def _equal_positions(items: Sequence[GoldenItem], together: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of items with an equal value of a key, each with the first item that has it."""
    first: dict[tuple[str, str], int] = {}
    pairs = []
    for key in together:
        lists = [
            documents_of(item) if key == _DOCUMENT else _metadata_values(item, key)
            for item in items
        ]
        if not any(lists):
            raise DataError(f"together: no item has the key {key!r}")
        for position, values in enumerate(lists):
            pairs += [(first.setdefault((key, value), position), position) for value in values]
    return pairs


def _metadata_values(item: GoldenItem, key: str) -> list[str]:
    return [] if item.metadata.get(key) is None else [str(item.metadata[key])]


def documents_of(item: GoldenItem) -> list[str]:
    """The documents that an item is about: those of its metadata, else those that its gold names.

    Parameters
    ----------
    item : GoldenItem
        The item.

    Examples
    --------
    >>> documents_of(GoldenItem("a", "Why?", relevant={"d1": 1.0, "d2": 0.0}))
    ['d1']
    """
    in_metadata = _metadata_values(item, _DOCUMENT)
    if in_metadata:
        return in_metadata
    passages = item.provenance.get("passages")
    sources = [
        *(span.filename for span in item.relevant_spans),
        *(name for name, grade in item.relevant.items() if grade > 0),
        *(
            str(passage[0])
            for passage in (passages if isinstance(passages, list) else [])
            if isinstance(passage, list) and passage
        ),
    ]
    # Without any name the gold text stands for its document.
    return list(dict.fromkeys(sources)) or [" ".join(text.split()) for text in item.relevant_texts]


def shared_documents(parts: Mapping[str, Sequence[GoldenItem]]) -> list[str]:
    """The documents that questions of several parts are about.

    Examples
    --------
    >>> dev, test = (GoldenItem(name, "Why?", relevant={"d1": 1.0}) for name in "ab")
    >>> shared_documents({"dev": [dev], "test": [test]})
    ['d1']
    """
    parts_of: defaultdict[str, set[str]] = defaultdict(set)
    for name, items in parts.items():
        for item in items:
            for document in documents_of(item):
                parts_of[document].add(name)
    return sorted(document for document, names in parts_of.items() if len(names) > 1)


def _lot(query_id: str, seed: int) -> bytes:
    """A random number of an id: the same wherever the item stands, and whatever the other items."""
    return blake2b(f"{seed}\x00{query_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _group_by_stratum(
    items: Sequence[GoldenItem], keys: Sequence[str]
) -> dict[Stratum, list[GoldenItem]]:
    strata: defaultdict[Stratum, list[GoldenItem]] = defaultdict(list)
    for item in items:
        strata[_stratum_of(item, keys)].append(item)
    return dict(sorted(strata.items(), key=lambda pair: str(pair[0])))


def _stratum_of(item: GoldenItem, keys: Sequence[str]) -> Stratum:
    values = (item.answerable if key == "answerable" else item.metadata.get(key) for key in keys)
    return tuple(str(value) for value in values)


def allocate_proportionally(sizes: Sequence[int], n: int) -> list[int]:
    """The number of items of each stratum, in proportion to its size, by largest remainders.

    Examples
    --------
    >>> allocate_proportionally([70, 20, 10], 8)
    [6, 1, 1]
    """
    total = sum(sizes)
    # Integers, because rounded shares need not add up to n.
    shares = [size * n // total for size in sizes]
    n_left = n - sum(shares)
    by_remainder = sorted(range(len(sizes)), key=lambda stratum: -(sizes[stratum] * n % total))
    for stratum in by_remainder[:n_left]:
        shares[stratum] += 1
    return shares


def _equally(sizes: Sequence[int], n: int) -> list[int]:
    """The same number of items of each stratum, as far as it has them."""
    shares = [0] * len(sizes)
    while sum(shares) < n:
        unfilled = [stratum for stratum, size in enumerate(sizes) if shares[stratum] < size]
        for stratum in unfilled[: n - sum(shares)]:
            shares[stratum] += 1
    return shares
