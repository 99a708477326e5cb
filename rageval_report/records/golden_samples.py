"""Samples of a golden set by strata, and splits that do not leak into each other."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Literal, get_args

from rageval_report.errors import DataError, check_choice
from rageval_report.records.draws import count_unanswerable, equal_shares, proportional_shares
from rageval_report.records.golden import GoldenItem, check_items, check_keys
from rageval_report.records.golden_checks import near_pairs

Allocation = Literal["proportional", "equal"]
Stratum = tuple[str, ...]

_DOCUMENT = "document"


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
        Questions whose runs of three characters have at least this Jaccard similarity stay in one
        part.
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
    every = check_items(items)
    if len(parts) < 2 or min(parts.values()) <= 0 or not math.isclose(sum(parts.values()), 1.0):
        raise DataError(f"parts must be at least two shares that add up to 1; got {dict(parts)!r}")
    keys = check_keys(every, by)
    part_of: dict[str, str] = {}
    filled: dict[Stratum, dict[str, int]] = {}
    for group in _indivisible_groups(every, together, near, seed):
        counts = filled.setdefault(_stratum_of(group[0], keys), dict.fromkeys(parts, 0))
        n_stratum = sum(counts.values()) + len(group)
        totals = {name: sum(row[name] for row in filled.values()) for name in parts}
        n_total = sum(totals.values()) + len(group)
        # The part that is furthest below its share of the stratum; on ties, of the whole set.
        # Rounded, so that float noise does not decide what is a tie.
        needs = {
            name: (round(share * n_stratum - counts[name], 9), share * n_total - totals[name])
            for name, share in parts.items()
        }
        part = max(parts, key=needs.__getitem__)
        counts[part] += len(group)
        part_of |= dict.fromkeys((item.query_id for item in group), part)
    return {name: [item for item in every if part_of[item.query_id] == name] for name in parts}


def _indivisible_groups(
    items: Sequence[GoldenItem], together: Sequence[str], near: float, seed: int
) -> list[list[GoldenItem]]:
    """Items that stay together, in an order drawn by seed; large groups first, small ones fit."""
    from scipy.sparse import coo_array  # loads when it is needed
    from scipy.sparse.csgraph import connected_components

    near_items = [(a, b) for a, b, _ in near_pairs([item.question for item in items], near)]
    pairs = [*near_items, *_equal_positions(items, together)]
    firsts, seconds = [first for first, _ in pairs], [second for _, second in pairs]
    links = coo_array(([1] * len(pairs), (firsts, seconds)), shape=(len(items), len(items)))
    groups: defaultdict[int, list[GoldenItem]] = defaultdict(list)
    for group, item in zip(connected_components(links, directed=False)[1], items, strict=True):
        groups[int(group)].append(item)
    lots = {key: min(_lot(item.query_id, seed) for item in groups[key]) for key in groups}
    return [groups[key] for key in sorted(groups, key=lambda key: (-len(groups[key]), lots[key]))]


def _equal_positions(items: Sequence[GoldenItem], together: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of items with an equal value of a key, each with the first item that has it."""
    first: dict[tuple[str, str], int] = {}
    pairs = []
    for key in together:
        values_of = documents_of if key == _DOCUMENT else partial(_metadata_values, key=key)
        lists = list(map(values_of, items))
        if not any(lists):
            raise DataError(f"together: no item has the key {key!r}")
        for position, values in enumerate(lists):
            pairs += [(first.setdefault((key, value), position), position) for value in values]
    return pairs


def _metadata_values(item: GoldenItem, key: str) -> list[str]:
    return [] if item.metadata.get(key) is None else [str(item.metadata[key])]


def documents_of(item: GoldenItem) -> list[str]:
    """The documents that an item is about: those of its metadata, else those of its gold."""
    if in_metadata := _metadata_values(item, _DOCUMENT):
        return in_metadata
    passages = item.provenance.get("passages")
    made_from = passages if isinstance(passages, list) else []
    sources = [
        *(span.filename for span in item.relevant_spans),
        *(name for name, grade in item.relevant.items() if grade > 0),
        *(str(place[0]) for place in made_from if isinstance(place, list) and place),
    ]
    # Without any name the gold text stands for its document.
    return list(dict.fromkeys(sources)) or [" ".join(text.split()) for text in item.relevant_texts]


def shared_documents(parts: Mapping[str, Sequence[GoldenItem]]) -> list[str]:
    """The documents that questions of several parts are about."""
    parts_of: defaultdict[str, set[str]] = defaultdict(set)
    for name, items in parts.items():
        for item in items:
            for document in documents_of(item):
                parts_of[document].add(name)
    return sorted(document for document, names in parts_of.items() if len(names) > 1)
