"""Doubts about ids, and the search for the change of form after which gold ids are retrieved."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from rageval_report.errors import named
from rageval_report.records.id_changes import ID_CHANGES, IdChange, IdSide, change_id
from rageval_report.scores.guard import Doubt

# A search looks at so many queries, gold ids and retrieved ids, which is enough to see a difference
# that matters. Where many queries have a gold id among their results the search is for the few ids
# that are written otherwise, and it must cost less than the metrics.
_MOST, _FEW = (100, 20, 50), (25, 10, 20)
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

Changes = tuple[IdChange, ...]


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
    """The changes of form after which `n_after`, not `n_before`, of `n` gold ids are retrieved."""

    changes: Changes
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
    """The smallest change of form after which clearly more gold ids were retrieved, if any."""
    usable = _with_both(queries)
    sample = _unmet_sample(usable)
    n_gold = sum(len(query.gold) for query in sample)
    least = max(2.0 if n_gold >= _SEVERAL else 1.0, _LEAST_GAIN * n_gold)
    best = _best_changes(sample, least) if sample else None
    if best is None:
        return None
    if len(best) > 1 and _count_after(sample, best) < _LEAST_GAIN_OF_SEVERAL * n_gold:
        return None
    of_gold, of_retrieved = _cached_changes(best)
    n_before = n_after = 0
    examples: dict[str, str] = {}
    affected = []
    for query in usable:
        retrieved = {of_retrieved(name): name for name in reversed(query.retrieved)}
        names = {gold: of_gold(gold) for gold in query.gold}
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
    missed = {
        place: tuple(sorted(set(query.gold).difference(query.retrieved)))
        for place, query in enumerate(usable)
    }
    unmet = [place for place in missed if missed[place]]
    n_meet = sum(len(missed[place]) < len(set(usable[place].gold)) for place in missed)
    most, most_gold, most_retrieved = _FEW if n_meet >= _MANY_MEET * len(usable) else _MOST
    step = max(1, -(-len(unmet) // most))
    return [
        QueryIds(
            usable[place].query_id,
            missed[place][:most_gold],
            usable[place].retrieved[:most_retrieved],
        )
        for place in unmet[::step]
    ]


def _best_changes(sample: list[QueryIds], least: float) -> Changes | None:
    """The smallest set of changes that brings nearly as many ids together as all of them."""
    every = tuple(IdChange(name) for name in ID_CHANGES if name != _CHUNK)
    # Usually nothing brings more ids together, so the most that could is tried first; without the
    # last change too, which of "guide/chunk/4" leaves the number alone.
    tried = (*_complete(sample, every), *_complete(sample, every[:-1]))
    if max(_count_after(sample, changes) for changes in tried) < least:
        return None
    kept: Changes = ()
    for change in every:
        if _keeps_apart(sample, (*kept, change)):
            kept = (*kept, change)
    whole = max(_complete(sample, kept), key=lambda changes: _count_after(sample, changes))
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
        rest = tuple(change for change in whole if not change.part and change.name != name)
        fewer = _with_part(sample, rest)
        if len(fewer) < len(whole) and _count_after(sample, fewer) >= needed:
            whole = fewer
    return whole if _keeps_apart(sample, whole) else None


def _complete(sample: list[QueryIds], changes: Changes) -> tuple[Changes, Changes]:
    """The changes, each time with another one after them that concerns chunks."""
    # Chunks are numbered on both sides or on one; the two need different changes.
    return (*changes, IdChange(_CHUNK)), _with_part(sample, changes)


def _with_part(sample: list[QueryIds], changes: Changes) -> Changes:
    """The changes, and after them the removal of the part that brings most ids together, if any."""
    changed = [query.changed(changes) for query in sample]
    most = sum(query.n_met() for query in changed)
    best: Changes = ()
    for part in _part_changes(changed):
        n_met = sum(query.changed((part,)).n_met() for query in changed)
        if n_met > most:
            best, most = (part,), n_met
    return (*changes, *best)


def _count_after(sample: list[QueryIds], changes: Changes) -> int:
    of_gold, of_retrieved = _cached_changes(changes)
    return sum(
        len(set(map(of_gold, query.gold)) & set(map(of_retrieved, query.retrieved)))
        for query in sample
    )


def _cached_changes(changes: Changes) -> tuple[Callable[[str], str], Callable[[str], str]]:
    """The changes of gold and of retrieved ids; a document is retrieved often, and changed once."""
    return (
        lru_cache(maxsize=None)(lambda name: change_id(name, changes, "gold")),
        lru_cache(maxsize=None)(lambda name: change_id(name, changes, "retrieved")),
    )


def _names_by_side(sample: Iterable[QueryIds]) -> dict[IdSide, list[str]]:
    queries = list(sample)
    return {
        "retrieved": list(dict.fromkeys(name for query in queries for name in query.retrieved)),
        "gold": list(dict.fromkeys(name for query in queries for name in query.gold)),
    }


def _keeps_apart(sample: list[QueryIds], changes: Changes) -> bool:
    """Whether different ids of one side stay different, except for chunks of one document."""
    return not any(
        len({change_id(name, changes, side) for name in names}) < _LEAST_DISTINCT * len(names)
        for side, names in _names_by_side(sample).items()
        if not any(change.name == "cut" and change.applies_to(side) for change in changes)
    )


# -- parts that one side has and the other has not


def _part_changes(sample: list[QueryIds]) -> list[IdChange]:
    """Prefixes, suffixes and separators of chunks that the ids of one side have."""
    names = _names_by_side(sample)
    cuts, others = [], []
    for side, own in names.items():
        opposite = names["gold" if side == "retrieved" else "retrieved"]
        cuts += [IdChange("cut", part, side) for part in _chunk_separators(sample, side)]
        prefix, suffix = _common_prefix(own), _common_suffix(own)
        if prefix and not all(name.startswith(prefix) for name in opposite):
            others.append(IdChange("prefix", prefix, side))
        if suffix and not all(name.endswith(suffix) for name in opposite):
            others.append(IdChange("suffix", suffix, side))
    # An end with digits, such as "#0" of all first chunks, is the number of a chunk.
    words = [change for change in others if not _DIGITS.search(change.part)]
    return [*words, *cuts, *(change for change in others if change not in words)]


def _shared_beginning(names: list[str]) -> str:
    # What the first and the last in order share, all between them share too.
    pairs = zip(min(names, default=""), max(names, default=""), strict=False)
    return "".join(letter for letter, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _common_prefix(names: list[str]) -> str:
    """The beginning that all ids share, up to a boundary of words or the first digit."""
    shared = _shared_beginning(names)
    if len(names) > 1:  # of one id alone every beginning is shared
        without_digits = shared.rstrip("0123456789")
        if all(_DIGITS.match(name[len(without_digits) :]) for name in names):
            return without_digits
    ends = [
        place
        for place, character in enumerate(shared[:-1] or shared, 1)
        if not _WORD.match(character)
    ]
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


# -- doubts

# With fewer queries a pipeline may well have retrieved nothing that is relevant.
_FEWEST = 5
# With fewer queries the same documents may well be the best ones for all of them.
_FEWEST_ALIKE = 10
_MOST_SHOWN = 2
# A share of the queries above which an empty ranking is no exception any more.
_MOST_EMPTY = 0.5
_FEWEST_EMPTY = 2
# Gold ids of which this share was retrieved for other queries are known to the pipeline.
_KNOWN = 0.5
# What people write between the ids of a list.
_JOINTS = re.compile(r"[;|,\n]")
_LONG = 40  # characters: longer ids with blanks are texts


def doubts_about_ids(queries: Sequence[QueryIds]) -> list[Doubt]:
    """The doubts that gold ids and retrieved ids raise; of queries whose ranking is known."""
    checks = (find_different_ids, _joined_ids, _strange_ids, _empty_rankings, _equal_rankings)
    return [doubt for check in checks for doubt in check(queries)]


def find_different_ids(queries: Sequence[QueryIds]) -> Iterator[Doubt]:
    """A doubt if gold ids are among the retrieved ids only after a change of their form."""
    match = find_id_match(queries)
    if match is None:
        return
    side, levels = match.chunked_side, ""
    if side is not None:
        whose = "Gold" if side == "gold" else "Retrieved"
        levels = f". {whose} ids are those of chunks, the others of documents"
    pairs = ", ".join(f"gold {gold!r} is retrieved as {name!r}" for gold, name in match.examples)
    share = f"{match.n_before} of {match.n} gold ids ({match.n_before / match.n:.0%})"
    yield Doubt(
        "ids_differ",
        f"{share} were retrieved, and {match.n_after} ({match.n_after / match.n:.0%}) after a "
        f"change of form: {pairs}{levels}",
        _advice_to_match(match.changes),
        match.query_ids,
    )


def _advice_to_match(changes: Sequence[IdChange]) -> str:
    names = [str(change) for change in changes]
    options = " ".join(f"--match-ids {shlex.quote(name)}" for name in names)
    listed = names[0] if len(names) == 1 else names
    return f"To compare them so: match_ids={listed!r} (on the command line: {options})"


def _joined_ids(queries: Sequence[QueryIds]) -> Iterator[Doubt]:
    """A doubt if an id is a list of ids in one text, such as "d1;d2", and its parts meet."""
    joined_by_query = []
    # A query that meets its gold has lists, and looking at each of its ids takes time.
    for query in (query for query in _with_both(queries) if not query.n_met()):
        pairs = ((query.gold, query.retrieved), (query.retrieved, query.gold))
        joined = [name for names, others in pairs for name in names if _parts(name) & {*others}]
        if joined:
            joined_by_query.append((query.query_id, joined[0]))
    if joined_by_query:
        shown = joined_by_query[:_MOST_SHOWN]
        examples = ", ".join(f"{name!r} at {query_id!r}" for query_id, name in shown)
        yield Doubt(
            "joined_ids",
            f"ids of {len(joined_by_query)} of {len(queries)} queries look like lists in one "
            f"text: {examples}; their parts are among the ids of the other side",
            'Write a list as JSON, such as ["d1", "d2"], in the cell',
            tuple(query_id for query_id, _ in joined_by_query[:5]),
        )


def _parts(name: str) -> set[str]:
    """The ids in a text that joins several; empty for one id."""
    parts = {part.strip() for part in _JOINTS.split(name)} if _JOINTS.search(name) else set()
    return parts - {"", name}


def _strange_ids(queries: Sequence[QueryIds]) -> Iterator[Doubt]:
    """A doubt if no gold id was retrieved for its query: for no query, or for others only."""
    usable = _with_both(queries)
    if len(usable) < _FEWEST or any(query.n_met() for query in usable):
        return
    names = _names_by_side(usable)
    gold, retrieved = names["gold"], names["retrieved"]
    known_share = len(set(gold).intersection(retrieved)) / len(gold)
    if known_share >= _KNOWN:
        yield _doubt_of_other_rows(usable, known_share)
    elif find_id_match(usable) is None:
        yield Doubt(
            "ids_never_meet",
            f"none of {len(gold)} gold ids was retrieved for any of {len(usable)} queries; gold: "
            f"{_shown(gold)}; retrieved: {_shown(retrieved)}",
            _advice_for_strangers(gold, retrieved),
            tuple(query.query_id for query in usable[:5]),
        )


def _advice_for_strangers(gold: list[str], retrieved: list[str]) -> str:
    if _are_texts(gold) and not _are_texts(retrieved):
        return (
            "The gold looks like texts: name its column relevant_texts, and let the records have "
            "the contexts of the answers"
        )
    if _are_texts(retrieved) and not _are_texts(gold):
        return (
            "The retrieved items look like texts: name their column contexts, and the one with the "
            "ids retrieved (on the command line: --path contexts=PATH --path retrieved=PATH)"
        )
    return (
        "Name the column, or the path in the replies, that has the ids of the gold: rename it to "
        "retrieved (on the command line: --path retrieved=PATH, such as "
        "retrieved=sources.*.metadata.doc_id)"
    )


def _are_texts(names: list[str]) -> bool:
    return 2 * sum(len(name) >= _LONG and " " in name.strip() for name in names) > len(names)


def _shown(names: Sequence[str]) -> str:
    cut = [name if len(name) <= _LONG else f"{name[: _LONG - 1]}…" for name in names[:_MOST_SHOWN]]
    return named(cut) + (f" and {len(names) - len(cut)} more" if len(names) > len(cut) else "")


def _doubt_of_other_rows(usable: Sequence[QueryIds], known_share: float) -> Doubt:
    owners: dict[str, str] = {}
    for query in usable:
        for name in query.retrieved:
            owners.setdefault(name, query.query_id)
    pairs = [(query, name) for query in usable for name in query.gold if name in owners]
    listed = "; ".join(
        f"{name!r}, gold of {query.query_id!r}, was retrieved for {owners[name]!r}"
        for query, name in pairs[:_MOST_SHOWN]
    )
    return Doubt(
        "other_rows",
        f"no gold id was retrieved for its own query, but {known_share:.0%} of them for "
        f"other queries: {listed}",
        "The rows of gold and of rankings may be shifted: join them by query id, as "
        "gold.merge(runs, on='query_id') does (on the command line: check FILE)",
        tuple(dict.fromkeys(query.query_id for query, _ in pairs))[:5],
    )


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


def _with_both(queries: Sequence[QueryIds]) -> list[QueryIds]:
    return [query for query in queries if query.gold and query.retrieved]
