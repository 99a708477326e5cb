"""Searches for the change of form after which gold ids are among the retrieved ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from rageval_report.records.id_changes import ID_CHANGES, IdChange, IdSide, change_id

# A search looks at so many queries, which is enough to see a difference that matters. Where many
# queries have a gold id among their results the search is for the few ids that are written
# otherwise, and it must cost less than the metrics.
_MOST_QUERIES, _MOST_GOLD, _MOST_RETRIEVED = 100, 20, 50
_FEW_QUERIES, _FEW_GOLD, _FEW_RETRIEVED = 25, 10, 20
_MANY_MEET = 0.2
# One change must bring this share of the gold together that was apart before, and at least two ids
# of several; several changes together must bring more, because they meet by chance more often.
_LEAST_GAIN, _LEAST_GAIN_OF_SEVERAL = 0.05, 0.2
_SEVERAL = 4
# A change is refused that makes more of the ids equal to another one of their side: it would bring
# ids together that are different documents.
_LEAST_DISTINCT = 0.9
# A change that does almost as much as all changes together is taken instead of them.
_NEARLY_ALL = 0.9
_MOST_EXAMPLES = 3
_CHUNK = "chunk"

_DIGITS = re.compile(r"[0-9]")
_WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True)
class QueryIds:
    """The ids of one query: what is relevant, and what was retrieved."""

    query_id: str
    gold: tuple[str, ...]
    retrieved: tuple[str, ...]

    def changed(self, changes: Sequence[IdChange]) -> QueryIds:
        """The ids after a change of their form."""
        return QueryIds(
            self.query_id,
            tuple(change_id(name, changes, "gold") for name in self.gold),
            tuple(change_id(name, changes, "retrieved") for name in self.retrieved),
        )

    def n_met(self) -> int:
        """How many gold ids were retrieved."""
        return len(set(self.gold) & set(self.retrieved))


@dataclass(frozen=True)
class IdMatch:
    """The change of form after which gold ids are among the retrieved ids.

    Parameters
    ----------
    changes : tuple of IdChange
        In the order in which they are applied.
    n : int
        The number of gold ids that were looked at.
    n_before, n_after : int
        How many of them were retrieved, before and after the change.
    examples : tuple of (str, str)
        Pairs of a gold id and the retrieved id that it meets.
    query_ids : tuple of str
        The first queries that the change affects.
    """

    changes: tuple[IdChange, ...]
    n: int
    n_before: int
    n_after: int
    examples: tuple[tuple[str, str], ...]
    query_ids: tuple[str, ...]

    @property
    def chunked_side(self) -> IdSide | None:
        """The side that has ids of chunks where the other has ids of documents, if any."""
        return next((change.side for change in self.changes if change.name == "cut"), None)


def find_id_match(queries: Sequence[QueryIds]) -> IdMatch | None:
    """The smallest change of form after which clearly more gold ids were retrieved; None if none.

    Parameters
    ----------
    queries : sequence of QueryIds
        The queries of an evaluation.

    Examples
    --------
    >>> match = find_id_match([QueryIds("q1", ("guide.md",), ("Guide", "news"))])
    >>> [str(change) for change in match.changes]
    ['case', 'extension']
    """
    usable = [query for query in queries if query.gold and query.retrieved]
    sample = _unmet_sample(usable)
    if not sample:
        return None
    n_gold = sum(len(query.gold) for query in sample)
    least = max(2.0 if n_gold >= _SEVERAL else 1.0, _LEAST_GAIN * n_gold)
    best = _best_changes(sample, least)
    if best is None:
        return None
    if len(best) > 1 and _count_after(sample, best) < _LEAST_GAIN_OF_SEVERAL * n_gold:
        return None
    cached = _cached_changes(best)
    n_before = n_after = 0
    examples: dict[str, str] = {}
    affected = []
    for query in usable:
        retrieved = {cached["retrieved"](name): name for name in reversed(query.retrieved)}
        names = {gold: cached["gold"](gold) for gold in query.gold}
        before = set(query.gold).intersection(query.retrieved)
        after = {gold: retrieved[name] for gold, name in names.items() if name in retrieved}
        n_before += len(before)
        n_after += len(after)
        if new := [gold for gold in after if gold not in before]:
            affected.append(query.query_id)
            examples.update((gold, after[gold]) for gold in new[:_MOST_EXAMPLES])
    pairs = tuple(examples.items())[:_MOST_EXAMPLES]
    n = sum(len(set(query.gold)) for query in usable)
    return IdMatch(best, n, n_before, n_after, pairs, tuple(affected[:5]))


def _unmet_sample(usable: list[QueryIds]) -> list[QueryIds]:
    """Queries with their gold ids that were not retrieved, evenly spread over all of them."""
    unmet = []
    for query in usable:
        missed = tuple(sorted(set(query.gold).difference(query.retrieved)))
        if missed:
            unmet.append((query, missed, len(missed) < len(set(query.gold))))
    n_meet = len(usable) - len(unmet) + sum(meets for *_, meets in unmet)
    are_many = n_meet >= _MANY_MEET * len(usable)
    most = _FEW_QUERIES if are_many else _MOST_QUERIES
    most_gold = _FEW_GOLD if are_many else _MOST_GOLD
    most_retrieved = _FEW_RETRIEVED if are_many else _MOST_RETRIEVED
    step = max(1, -(-len(unmet) // most))
    return [
        QueryIds(query.query_id, missed[:most_gold], query.retrieved[:most_retrieved])
        for query, missed, _ in unmet[::step]
    ]


def _count_met(queries: Iterable[QueryIds]) -> int:
    return sum(query.n_met() for query in queries)


def _best_changes(sample: list[QueryIds], least: float) -> tuple[IdChange, ...] | None:
    """The smallest set of changes that brings nearly as many ids together as all of them."""
    every = tuple(IdChange(name) for name in ID_CHANGES if name != _CHUNK)
    # Usually nothing brings more ids together, so the most that could is tried first; without the
    # last change too, which of "guide/chunk/4" leaves the number alone.
    if max(*_counts_of(sample, every), *_counts_of(sample, every[:-1])) < least:
        return None
    changes: tuple[IdChange, ...] = ()
    for change in every:
        if _keeps_apart(sample, (*changes, change)):
            changes = (*changes, change)
    whole = max(_complete(sample, changes), key=lambda changes: _count_after(sample, changes))
    n_whole = _count_after(sample, whole)
    if n_whole < least:
        return None
    needed = max(least, _NEARLY_ALL * n_whole)
    # One change alone is the usual case, and the clearest advice.
    for change in (*whole, *_part_changes(sample)):
        if _count_after(sample, (change,)) >= needed and _keeps_apart(sample, (change,)):
            return (change,)
    # Otherwise every change goes that is not needed, those first that lose most.
    for name in [change.name for change in reversed(whole) if not change.part]:
        kept = tuple(change for change in whole if not change.part and change.name != name)
        fewer = _with_part(sample, kept)
        if len(fewer) < len(whole) and _count_after(sample, fewer) >= needed:
            whole = fewer
    return whole if _keeps_apart(sample, whole) else None


def _counts_of(sample: list[QueryIds], changes: tuple[IdChange, ...]) -> list[int]:
    return [_count_after(sample, whole) for whole in _complete(sample, changes)]


def _complete(
    sample: list[QueryIds], changes: tuple[IdChange, ...]
) -> Iterator[tuple[IdChange, ...]]:
    """The changes, each time with another one after them that concerns chunks."""
    # Chunks are numbered on both sides or on one; the two need different changes.
    yield (*changes, IdChange(_CHUNK))
    yield _with_part(sample, changes)


def _with_part(sample: list[QueryIds], changes: tuple[IdChange, ...]) -> tuple[IdChange, ...]:
    """The changes, and after them the removal of the part that brings most ids together, if any."""
    changed = [query.changed(changes) for query in sample]
    n_without = _count_met(changed)
    best: tuple[IdChange, ...] = ()
    for part in _part_changes(changed):
        n_met = _count_met(query.changed((part,)) for query in changed)
        if n_met > n_without:
            best, n_without = (part,), n_met
    return (*changes, *best)


def _count_after(sample: list[QueryIds], changes: tuple[IdChange, ...]) -> int:
    cached = _cached_changes(changes)
    return sum(
        len(
            {cached["gold"](name) for name in query.gold}
            & {cached["retrieved"](name) for name in query.retrieved}
        )
        for query in sample
    )


def _cached_changes(changes: tuple[IdChange, ...]) -> dict[IdSide, Callable[[str], str]]:
    # A document is retrieved for many queries; its id is changed once.
    sides: tuple[IdSide, IdSide] = ("gold", "retrieved")
    return {side: _cached_change(changes, side) for side in sides}


def _cached_change(changes: tuple[IdChange, ...], side: IdSide) -> Callable[[str], str]:
    return lru_cache(maxsize=None)(lambda name: change_id(name, changes, side))


def _keeps_apart(sample: list[QueryIds], changes: tuple[IdChange, ...]) -> bool:
    """Whether different ids of one side stay different, except for chunks of one document."""
    sides: tuple[tuple[IdSide, set[str]], ...] = (
        ("gold", {name for query in sample for name in query.gold}),
        ("retrieved", {name for query in sample for name in query.retrieved}),
    )
    for side, names in sides:
        if any(change.name == "cut" and change.applies_to(side) for change in changes):
            continue
        if len({change_id(name, changes, side) for name in names}) < _LEAST_DISTINCT * len(names):
            return False
    return True


# -- parts that one side has and the other has not


def _part_changes(sample: list[QueryIds]) -> list[IdChange]:
    """Prefixes, suffixes and separators of chunks that the ids of one side have."""
    gold, retrieved = _pools(sample)
    cuts, others = [], []
    sides: tuple[tuple[IdSide, list[str], list[str]], ...] = (
        ("retrieved", retrieved, gold),
        ("gold", gold, retrieved),
    )
    for side, own, opposite in sides:
        cuts += [IdChange("cut", part, side) for part in _chunk_separators(sample, side)]
        parts = (("prefix", _common_prefix(own)), ("suffix", _common_suffix(own)))
        others += [
            IdChange(name, part, side)
            for name, part in parts
            if part and not all(_has_part(other, name, part) for other in opposite)
        ]
    # An end with digits, such as "#0" of all first chunks, is the number of a chunk.
    words = [change for change in others if not _DIGITS.search(change.part)]
    return [*words, *cuts, *(change for change in others if change not in words)]


def _pools(sample: list[QueryIds]) -> tuple[list[str], list[str]]:
    gold = list(dict.fromkeys(name for query in sample for name in query.gold))
    retrieved = list(dict.fromkeys(name for query in sample for name in query.retrieved))
    return gold, retrieved


def _has_part(name: str, kind: str, part: str) -> bool:
    return name.startswith(part) if kind == "prefix" else name.endswith(part)


def _common_prefix(names: list[str]) -> str:
    """The beginning that all ids share, up to a boundary of words or the first digit."""
    if len(names) < 2:  # of one id alone every beginning is shared
        return _boundary(names[0]) if names else ""
    shared = _shared_beginning(names)
    if all(_DIGITS.match(name[len(shared.rstrip("0123456789")) :]) for name in names):
        return shared.rstrip("0123456789")
    return _boundary(shared)


def _shared_beginning(names: list[str]) -> str:
    # What the first and the last in order share, all between them share too.
    first, last = min(names), max(names)
    pairs = zip(first, last, strict=False)
    return "".join(letter for letter, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _boundary(shared: str) -> str:
    """The beginning of a text up to its last character that is neither letter nor digit."""
    ends = [place for place, character in enumerate(shared[:-1] or shared, 1)
            if not _WORD.match(character)]  # fmt: skip
    return shared[: ends[-1]] if ends else ""


def _common_suffix(names: list[str]) -> str:
    """The end that all ids share, from a boundary of words."""
    if len(names) < 2:
        return ""
    shared = _shared_beginning([name[::-1] for name in names])[::-1]
    starts = [place for place, character in enumerate(shared) if not _WORD.match(character)]
    return shared[starts[0] :] if starts else ""


def _chunk_separators(sample: list[QueryIds], side: IdSide) -> list[str]:
    """The texts between a document's id and the number of its chunk, the most frequent first."""
    counts: Counter[str] = Counter()
    for query in sample:
        longer, shorter = query.retrieved, query.gold
        if side == "gold":
            longer, shorter = shorter, longer
        documents = tuple(shorter)
        for name in longer if documents else ():
            if name.startswith(documents):
                document = max(filter(name.startswith, documents), key=len)
                counts[_separator(name[len(document) :])] += 1
    return [separator for separator, _ in counts.most_common(3) if separator]


def _separator(rest: str) -> str:
    """What stands between a document's id and the number or name of its chunk; "" if nothing."""
    if len(rest) < 2:
        return ""
    if _WORD.match(rest[0]):  # as in "doc7c2": letters alone and then digits
        match = re.fullmatch(r"([A-Za-z]{1,8})[0-9]+", rest)
        return match[1] if match else ""
    digit = _DIGITS.search(rest)
    if digit:
        return rest[: digit.start()]
    word = _WORD.search(rest)
    return rest[: word.start()] if word else ""
