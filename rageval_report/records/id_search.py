"""Doubts about ids, and the search for the change of form after which gold ids are retrieved."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import takewhile

from rageval_report.errors import named
from rageval_report.records.id_changes import ID_CHANGES, IdChange, IdSide, change_id
from rageval_report.scores.guard import Doubt

# A search looks at so many queries, gold ids and retrieved ids: enough to see a difference that
# matters, and cheap beside the metrics.
_MOST_QUERIES, _MOST_GOLD, _MOST_RETRIEVED = 50, 20, 30
# A change must bring this share of the gold together that was apart before, and at least two ids
# of several.
_LEAST_GAIN = 0.05
_SEVERAL = 4
# A change is refused that makes more of the ids equal to another one of their side: it would bring
# ids together that are different documents.
_LEAST_DISTINCT = 0.9
_MOST_EXAMPLES = 3
# With fewer queries a pipeline may well have retrieved nothing that is relevant.
_FEWEST = 5
# With fewer queries the same documents may well be the best ones for all of them.
_FEWEST_ALIKE = 10
_MOST_SHOWN = 2
# If more than this share of the rankings are empty, a note says so.
_MOST_EMPTY = 0.5
_FEWEST_EMPTY = 2
# Gold ids of which this share was retrieved for other queries are known to the pipeline.
_KNOWN = 0.5
_LONG = 40  # characters: longer ids with blanks are texts

_DIGITS = re.compile(r"[0-9]")
_WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True)
class QueryIds:
    """The ids of one query: what is relevant, and what was retrieved."""

    query_id: str
    gold: tuple[str, ...]
    retrieved: tuple[str, ...]


def doubts_about_ids(queries: Sequence[QueryIds]) -> list[Doubt]:
    """The doubts that gold ids and retrieved ids raise; of queries whose ranking is known."""
    different = list(find_different_ids(queries))
    others = [doubt for check in (_empty_rankings, _equal_rankings) for doubt in check(queries)]
    return [*(different or _strange_ids(queries)), *others]


# -- the change of form


def find_different_ids(queries: Sequence[QueryIds]) -> Iterator[Doubt]:
    """A doubt if gold ids are among the retrieved ids only after a change of their form."""
    usable = _with_both(queries)
    change = _best_change(_unmet_sample(usable))
    if change is None:
        return
    of_gold, of_retrieved = _on_both_sides(change)
    n = n_before = n_after = 0
    examples: dict[str, str] = {}
    affected = []
    for query in usable:
        retrieved = {of_retrieved(name): name for name in reversed(query.retrieved)}
        gold, before = set(query.gold), set(query.gold).intersection(query.retrieved)
        after = [name for name in query.gold if of_gold(name) in retrieved]
        n, n_before, n_after = n + len(gold), n_before + len(before), n_after + len({*after})
        if new := [name for name in after if name not in before]:
            affected.append(query.query_id)
            examples |= {name: retrieved[of_gold(name)] for name in new[:_MOST_EXAMPLES]}
    levels = ""
    if change.name == "cut":
        whose = "Gold" if change.side == "gold" else "Retrieved"
        levels = f". {whose} ids are those of chunks, the others of documents"
    shown = list(examples.items())[:_MOST_EXAMPLES]
    pairs = ", ".join(f"gold {name!r} is retrieved as {other!r}" for name, other in shown)
    yield Doubt(
        "ids_differ",
        f"{n_before} of {n} gold ids ({n_before / n:.0%}) were retrieved, and {n_after} "
        f"({n_after / n:.0%}) after a change of form: {pairs}{levels}",
        f"To compare them so: match_ids={str(change)!r} (on the command line: --match-ids "
        f"{shlex.quote(str(change))})",
        tuple(affected[:5]),
    )


def _with_both(queries: Sequence[QueryIds]) -> list[QueryIds]:
    return [query for query in queries if query.gold and query.retrieved]


def _unmet_sample(usable: list[QueryIds]) -> list[QueryIds]:
    """Queries with their gold ids that were not retrieved, evenly spread over all of them."""
    missed = [
        (query, unmet)
        for query in usable
        if (unmet := sorted(set(query.gold).difference(query.retrieved)))
    ]
    step = max(1, -(-len(missed) // _MOST_QUERIES))
    return [
        QueryIds(query.query_id, tuple(unmet[:_MOST_GOLD]), query.retrieved[:_MOST_RETRIEVED])
        for query, unmet in missed[::step]
    ]


def _best_change(sample: list[QueryIds]) -> IdChange | None:
    """The first of the changes after which clearly more gold ids are retrieved, and most are."""
    if not sample:
        return None
    n_gold = sum(len(query.gold) for query in sample)
    least = max(2.0 if n_gold >= _SEVERAL else 1.0, _LEAST_GAIN * n_gold)
    names: dict[IdSide, list[str]] = {
        "retrieved": list(dict.fromkeys(name for query in sample for name in query.retrieved)),
        "gold": list(dict.fromkeys(name for query in sample for name in query.gold)),
    }
    gains = {
        change: _count_met(sample, change)
        for change in (*map(IdChange, ID_CHANGES), *_part_changes(sample, names))
    }
    possible = (change for change in sorted(gains, key=lambda change: -gains[change])
                if gains[change] >= least and _keeps_apart(names, change))  # fmt: skip
    return next(possible, None)


def _count_met(sample: list[QueryIds], change: IdChange) -> int:
    of_gold, of_retrieved = _on_both_sides(change)
    return sum(
        len(set(map(of_gold, query.gold)) & set(map(of_retrieved, query.retrieved)))
        for query in sample
    )


def _on_both_sides(change: IdChange) -> tuple[Callable[[str], str], Callable[[str], str]]:
    """The change of gold and of retrieved ids; a document is retrieved often, and changed once."""
    sides: tuple[IdSide, IdSide] = ("gold", "retrieved")
    gold, retrieved = (partial(change_id, changes=(change,), side=side) for side in sides)
    return lru_cache(maxsize=None)(gold), lru_cache(maxsize=None)(retrieved)


def _keeps_apart(names: dict[IdSide, list[str]], change: IdChange) -> bool:
    """Whether different ids of one side stay different, except for chunks of one document."""
    return not any(
        len({change_id(name, (change,), side) for name in own}) < _LEAST_DISTINCT * len(own)
        for side, own in names.items()
        if change.name != "cut"
    )


def _part_changes(sample: list[QueryIds], names: dict[IdSide, list[str]]) -> list[IdChange]:
    """Prefixes, suffixes and separators of chunks that the ids of one side have."""
    changes = []
    for side, own in names.items():
        if len(own) > 1:  # of one id alone every beginning is shared
            prefix, suffix = _common_prefix(own), _common_suffix(own)
            changes += [IdChange("prefix", prefix, side)] if prefix else []
            changes += [IdChange("suffix", suffix, side)] if suffix else []
        changes += [IdChange("cut", part, side) for part in _chunk_separators(sample, side)]
    return changes


def _shared_beginning(names: list[str]) -> str:
    # What the first and the last in order share, all between them share too.
    pairs = zip(min(names), max(names), strict=False)
    return "".join(letter for letter, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _common_prefix(names: list[str]) -> str:
    """The beginning that all ids share, up to a boundary of words or the first digit."""
    shared = _shared_beginning(names)
    without_digits = shared.rstrip("0123456789")
    if all(_DIGITS.match(name[len(without_digits) :]) for name in names):
        return without_digits
    return re.sub(r"[^\W_]*$", "", shared)


def _common_suffix(names: list[str]) -> str:
    """The end that all ids share, from a boundary of words; not the number of a chunk."""
    suffix = re.sub(r"^[^\W_]*", "", _shared_beginning([name[::-1] for name in names])[::-1])
    return "" if _DIGITS.search(suffix) else suffix


def _chunk_separators(sample: list[QueryIds], side: IdSide) -> list[str]:
    """The texts between a document's id and the number of its chunk, the most frequent first."""
    counts: Counter[str] = Counter()
    for query in sample:
        pair = (query.gold, query.retrieved)
        longer, documents = pair if side == "gold" else reversed(pair)
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
    end = _DIGITS.search(rest) or _WORD.search(rest)
    return rest[: end.start()] if end else ""


# -- other doubts


def _strange_ids(queries: Sequence[QueryIds]) -> Iterator[Doubt]:
    """A doubt if no gold id was retrieved for its query: for no query, or for others only."""
    usable = _with_both(queries)
    if len(usable) < _FEWEST or any({*query.gold} & {*query.retrieved} for query in usable):
        return
    gold = list(dict.fromkeys(name for query in usable for name in query.gold))
    retrieved = list(dict.fromkeys(name for query in usable for name in query.retrieved))
    known_share = len(set(gold).intersection(retrieved)) / len(gold)
    query_ids = tuple(query.query_id for query in usable[:5])
    if known_share >= _KNOWN:
        yield Doubt(
            "other_rows",
            f"no gold id was retrieved for its own query, but {known_share:.0%} of them for "
            "other queries",
            "The rows of gold and of rankings may be shifted: join them by query id, as "
            "gold.merge(runs, on='query_id') does (on the command line: check FILE)",
            query_ids,
        )
        return
    yield Doubt(
        "ids_never_meet",
        f"none of {len(gold)} gold ids was retrieved for any of {len(usable)} queries; gold: "
        f"{_shown(gold)}; retrieved: {_shown(retrieved)}",
        "Name the column, or the path in the replies, that has the ids of the gold: rename it to "
        "retrieved (on the command line: --path retrieved=PATH, such as "
        "retrieved=sources.*.metadata.doc_id). Gold that is texts belongs in relevant_texts, and "
        "retrieved texts in contexts",
        query_ids,
    )


def _shown(names: Sequence[str]) -> str:
    cut = [name if len(name) <= _LONG else f"{name[: _LONG - 1]}…" for name in names[:_MOST_SHOWN]]
    return named(cut) + (f" and {len(names) - len(cut)} more" if len(names) > len(cut) else "")


def _empty_rankings(queries: Sequence[QueryIds]) -> Iterator[Doubt]:
    """A doubt if nothing was retrieved for most queries."""
    empty = [query.query_id for query in queries if not query.retrieved]
    if len(empty) >= max(_FEWEST_EMPTY, _MOST_EMPTY * len(queries)):
        yield Doubt(
            "no_retrieved",
            f"the list of retrieved documents is empty for {len(empty)} of {len(queries)} queries: "
            f"{named(empty)}",
            "Check the filter or the index of the pipeline, and where its replies have the "
            "documents: rename that column to retrieved (on the command line: --path "
            "retrieved=PATH)",
            tuple(empty[:5]),
        )


def _equal_rankings(queries: Sequence[QueryIds]) -> Iterator[Doubt]:
    """A doubt if the same documents, in the same order, were retrieved for every query."""
    if len(queries) < _FEWEST_ALIKE or not queries[0].retrieved:
        return
    is_same = all(query.retrieved == queries[0].retrieved for query in queries)
    # Where all questions are about one document, it is right for all of them.
    if is_same and len({query.gold for query in queries}) > 1:
        yield Doubt(
            "same_retrieved",
            f"the same documents were retrieved for all {len(queries)} queries: "
            f"{named(queries[0].retrieved, _MOST_SHOWN)}",
            "The pipeline may not get the question: look at what is sent to it, body="
            '{"question": "{question}"} (on the command line: --body JSON)',
            tuple(query.query_id for query in queries[:5]),
        )
