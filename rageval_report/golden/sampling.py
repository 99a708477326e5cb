"""Parts of a golden set: a sample by strata, and splits that do not leak into each other."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Literal

from rageval_report.datasets.drawing import count_unanswerable
from rageval_report.datasets.golden_items import GoldenItem, checked_ids, checked_keys, known_keys
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.golden.near_duplicates import near_pairs

How = Literal["proportional", "equal"]
_HOW: tuple[How, ...] = ("proportional", "equal")

Stratum = tuple[Hashable, ...]

_TYPES = ("query_type",)  # where nobody says what makes a stratum
_DOCUMENT = "document"


def sample_golden(
    items: Iterable[GoldenItem],
    n: int,
    *,
    by: Sequence[str] | None = None,
    how: How = "proportional",
    unanswerable_ratio: float | None = None,
    seed: int = 0,
) -> list[GoldenItem]:
    """Draw items, stratum by stratum.

    Parameters
    ----------
    items : iterable of GoldenItem
        The set.
    n : int
        How many to draw, without replacement.
    by : sequence of str, optional
        The metadata that make the strata, or "answerable"; an empty one draws from all alike.
        Where not given, "query_type", if the items say it.
    how : {"proportional", "equal"}
        As many of each stratum as it has of the set, rounded by largest remainders; or of each the
        same, as far as it has them.
    unanswerable_ratio : float, optional
        The share of the sample that shall have no answer, from 0 to 1; as in the set where not
        given. Items that do not say whether they have one are then left out.
    seed : int
        What is drawn.

    Returns
    -------
    list of GoldenItem
        In the order of the set. Which items are drawn hangs on their ids and the seed, not on
        their order.

    Raises
    ------
    DataError
        If there are not so many items, or not so many with and without an answer.
    UnknownNameError
        If no item has a key of `by`.

    Examples
    --------
    >>> items = [GoldenItem(f"q{n}", "Who?", metadata={"query_type": n % 2}) for n in range(10)]
    >>> drawn = sample_golden(items, 4)
    >>> sorted(one.metadata["query_type"] for one in drawn)
    [0, 0, 1, 1]
    """
    every = checked_ids(items)
    if how not in _HOW:
        raise UnknownNameError("way to draw", str(how), _HOW)
    if isinstance(n, bool) or not 1 <= n <= len(every):
        raise DataError(f"expected n from 1 to the {len(every)} items that are there; got {n!r}")
    keys = _keys(every, by)
    drawn: set[str] = set()
    for kind, n_of_it in _kinds(every, n, unanswerable_ratio):
        drawn |= _drawn(_strata(kind, keys), n_of_it, how, seed)
    return [item for item in every if item.query_id in drawn]


def _keys(items: Sequence[GoldenItem], by: Sequence[str] | None) -> tuple[str, ...]:
    if by is None:
        return tuple(one for one in _TYPES if one in known_keys(items))
    return checked_keys(items, by)


def _kinds(
    items: list[GoldenItem], n: int, unanswerable_ratio: float | None
) -> list[tuple[list[GoldenItem], int]]:
    """What is drawn from, and how many: all alike, or those without and with an answer apart."""
    if unanswerable_ratio is None:
        return [(items, n)]
    lack = [one for one in items if one.answerable is False]
    have = [one for one in items if one.answerable is True]
    n_lack = count_unanswerable(n, unanswerable_ratio)
    if n_lack > len(lack) or n - n_lack > len(have):
        raise DataError(
            f"{n} questions at an unanswerable_ratio of {unanswerable_ratio:g} are {n_lack} "
            f"without and {n - n_lack} with an answer; there are {len(lack)} and {len(have)}"
        )
    return [(lack, n_lack), (have, n - n_lack)]


def _drawn(strata: Mapping[Stratum, list[GoldenItem]], n: int, how: How, seed: int) -> set[str]:
    sizes = [len(held) for held in strata.values()]
    shares = proportional(sizes, n) if how == "proportional" else _equal(sizes, n)
    return {
        item.query_id
        for held, share in zip(strata.values(), shares, strict=True)
        for item in sorted(held, key=lambda one: _lot(one.query_id, seed))[:share]
    }


def split_golden(
    items: Iterable[GoldenItem],
    parts: Mapping[str, float],
    *,
    by: Sequence[str] | None = None,
    together: Sequence[str] = (),
    near: float = 0.8,
    seed: int = 0,
) -> dict[str, list[GoldenItem]]:
    """Part a golden set, so that nothing learnt from one part is asked again in another.

    Parameters
    ----------
    items : iterable of GoldenItem
        The set.
    parts : mapping of str to float
        Names and shares, which must add up to 1: ``{"dev": 0.3, "test": 0.7}``.
    by : sequence of str, optional
        The metadata, or "answerable", that each part should have alike. Where not given,
        "query_type", if the items say it.
    together : sequence of str
        Metadata whose equal values stay in one part. "document" is also what the gold names: the
        files of its spans, its ids, and where there are neither its texts.
    near : float
        Questions of at least this similarity stay in one part; see `nearness.near_pairs`.
    seed : int
        Which items go where.

    Returns
    -------
    dict of str to list of GoldenItem
        The parts, each in the order of the set.

    Raises
    ------
    DataError
        If the shares do not add up to 1, or no item has what is to stay together.
    UnknownNameError
        If no item has a key of `by`.

    Examples
    --------
    >>> items = [GoldenItem(f"q{n}", f"What is {n * 7919}?") for n in range(10)]
    >>> {name: len(part) for name, part in split_golden(items, {"dev": 0.3, "test": 0.7}).items()}
    {'dev': 3, 'test': 7}
    """
    every = checked_ids(items)
    if len(parts) < 2 or min(parts.values()) <= 0 or not math.isclose(sum(parts.values()), 1.0):
        raise DataError(f"expected at least two shares that add up to 1; got {dict(parts)!r}")
    keys = _keys(every, by)
    places: dict[str, str] = {}
    filled: dict[Stratum, dict[str, int]] = {}
    for group in _groups(every, together, near, seed):
        stratum = _stratum(group[0], keys)
        counts = filled.setdefault(stratum, dict.fromkeys(parts, 0))
        chosen = _neediest(counts, parts, len(group), filled)
        counts[chosen] += len(group)
        places |= dict.fromkeys((item.query_id for item in group), chosen)
    return {name: [one for one in every if places[one.query_id] == name] for name in parts}


def _neediest(
    counts: Mapping[str, int],
    parts: Mapping[str, float],
    n: int,
    filled: Mapping[Stratum, Mapping[str, int]],
) -> str:
    """The part that is furthest below its share of the stratum; on ties, of the whole set."""
    here = sum(counts.values()) + n
    everywhere = {name: sum(one[name] for one in filled.values()) for name in parts}
    whole = sum(everywhere.values()) + n

    def lack(name: str) -> tuple[float, float]:
        share = parts[name]
        return round(share * here - counts[name], 9), share * whole - everywhere[name]

    return max(parts, key=lack)


def _groups(
    items: Sequence[GoldenItem], together: Sequence[str], near: float, seed: int
) -> list[list[GoldenItem]]:
    """Items that belong together, in an order drawn by seed; large groups first, small ones fit."""
    leader = list(range(len(items)))

    def root(place: int) -> int:
        while leader[place] != place:
            leader[place] = leader[leader[place]]
            place = leader[place]
        return place

    for one, two in [*_near(items, near), *_alike(items, together)]:
        leader[root(two)] = root(one)
    groups: defaultdict[int, list[GoldenItem]] = defaultdict(list)
    for place, item in enumerate(items):
        groups[root(place)].append(item)
    lots = {id(held): min(_lot(one.query_id, seed) for one in held) for held in groups.values()}
    return sorted(groups.values(), key=lambda held: (-len(held), lots[id(held)]))


def _near(items: Sequence[GoldenItem], near: float) -> list[tuple[int, int]]:
    return [(one, two) for one, two, _ in near_pairs([item.question for item in items], near)]


def _alike(items: Sequence[GoldenItem], together: Sequence[str]) -> list[tuple[int, int]]:
    first: dict[tuple[str, str], int] = {}
    pairs = []
    for name in together:
        held = [documents_of(item) if name == _DOCUMENT else _value(item, name) for item in items]
        if not any(held):
            raise DataError(f"no item says its {name!r}, so nothing can be kept together by it")
        for place, values in enumerate(held):
            pairs += [(first.setdefault((name, one), place), place) for one in values]
    return pairs


def _value(item: GoldenItem, name: str) -> list[str]:
    return [] if item.metadata.get(name) is None else [str(item.metadata[name])]


def documents_of(item: GoldenItem) -> list[str]:
    """The documents that an item is about: what its metadata name, else what its gold names.

    Parameters
    ----------
    item : GoldenItem
        The item.

    Examples
    --------
    >>> documents_of(GoldenItem("a", "Why?", relevant={"d1": 1.0, "d2": 0.0}))
    ['d1']
    """
    said = _value(item, _DOCUMENT)
    if said:
        return said
    asked_of = item.provenance.get("passages")
    passages = asked_of if isinstance(asked_of, list) else []
    named = [
        *(span.filename for span in item.relevant_spans),
        *(one for one, grade in item.relevant.items() if grade > 0),
        *(str(one[0]) for one in passages if isinstance(one, list) and one),
    ]
    return list(dict.fromkeys(named)) or [" ".join(one.split()) for one in item.relevant_texts]


def shared_documents(parts: Mapping[str, Sequence[GoldenItem]]) -> list[str]:
    """The documents that questions of several parts are about.

    Examples
    --------
    >>> one, two = (GoldenItem(name, "Why?", relevant={"d1": 1.0}) for name in "ab")
    >>> shared_documents({"dev": [one], "test": [two]})
    ['d1']
    """
    seen: defaultdict[str, set[str]] = defaultdict(set)
    for name, items in parts.items():
        for document in {one for item in items for one in documents_of(item)}:
            seen[document].add(name)
    return sorted(document for document, names in seen.items() if len(names) > 1)


def _lot(query_id: str, seed: int) -> bytes:
    """A number drawn for an id: the same wherever the item stands, whatever stands beside it."""
    return blake2b(f"{seed}\x00{query_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _strata(items: Sequence[GoldenItem], by: Sequence[str]) -> dict[Stratum, list[GoldenItem]]:
    strata: defaultdict[Stratum, list[GoldenItem]] = defaultdict(list)
    for item in items:
        strata[_stratum(item, by)].append(item)
    return dict(sorted(strata.items(), key=lambda pair: str(pair[0])))


def _stratum(item: GoldenItem, by: Sequence[str]) -> Stratum:
    values = (item.answerable if one == "answerable" else item.metadata.get(one) for one in by)
    return tuple(str(value) for value in values)


def proportional(sizes: Sequence[int], n: int) -> list[int]:
    """How many of each stratum, in proportion to its size, by largest remainders.

    Examples
    --------
    >>> proportional([70, 20, 10], 8)
    [6, 1, 1]
    """
    whole = sum(sizes)
    shares = [size * n // whole for size in sizes]
    left = n - sum(shares)
    by_remainder = sorted(range(len(sizes)), key=lambda place: -(sizes[place] * n % whole))
    for place in by_remainder[:left]:
        shares[place] += 1
    return shares


def _equal(sizes: Sequence[int], n: int) -> list[int]:
    shares = [0] * len(sizes)
    while sum(shares) < n:
        open_ = [place for place, size in enumerate(sizes) if shares[place] < size]
        for place in open_[: n - sum(shares)]:
            shares[place] += 1
    return shares
