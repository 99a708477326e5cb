"""Doubts about ids: gold that never meets what was retrieved, and rankings that say nothing."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence

from rageval_report.errors import named
from rageval_report.records.id_changes import IdChange
from rageval_report.records.id_search import IdMatch, QueryIds, find_id_match
from rageval_report.scores.guard import Doubt

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
    """The doubts that gold ids and retrieved ids raise.

    Parameters
    ----------
    queries : sequence of QueryIds
        Those queries whose ranking is known; it may be empty.

    Examples
    --------
    >>> queries = [QueryIds("q1", ("guide.md",), ("guide", "news"))]
    >>> [doubt.check for doubt in doubts_about_ids(queries)]
    ['ids_differ']
    """
    return [doubt for check in ID_CHECKS.values() for doubt in check(queries)]


def find_different_ids(queries: Sequence[QueryIds]) -> Iterator[Doubt]:
    """A doubt if gold ids are among the retrieved ids only after a change of their form."""
    match = find_id_match(queries)
    if match is not None:
        yield doubt_about_forms(match)


def doubt_about_forms(match: IdMatch) -> Doubt:
    """The doubt that the gold ids and the retrieved ids are written differently."""
    side = match.chunked_side
    chunked = f" {'Gold' if side == 'gold' else 'Retrieved'} ids are those of chunks, the others of"
    levels = f".{chunked} documents" if side is not None else ""
    pairs = ", ".join(f"gold {gold!r} is retrieved as {name!r}" for gold, name in match.examples)
    share = f"{match.n_before} of {match.n} gold ids ({match.n_before / match.n:.0%})"
    return Doubt(
        "ids_differ",
        f"{share} were retrieved, and {match.n_after} ({match.n_after / match.n:.0%}) after a "
        f"change of form: {pairs}{levels}",
        advice_to_match(match.changes),
        match.query_ids,
    )


def advice_to_match(changes: Sequence[IdChange]) -> str:
    """What to type so that ids are compared after changes of their form.

    Examples
    --------
    >>> advice_to_match([IdChange("case")])
    "To compare them so: match_ids='case' (on the command line: --match-ids case)"
    """
    names = [str(change) for change in changes]
    options = " ".join(f"--match-ids {shlex.quote(name)}" for name in names)
    listed = names[0] if len(names) == 1 else names
    return f"To compare them so: match_ids={listed!r} (on the command line: {options})"


def find_joined_ids(queries: Sequence[QueryIds]) -> Iterator[Doubt]:
    """A doubt if an id is a list of ids in one text, such as "d1;d2", and its parts meet."""
    joined_by_query = []
    # A query that meets its gold has lists, and looking at each of its ids takes time.
    for query in (query for query in _with_both(queries) if not query.n_met()):
        pairs = ((query.gold, query.retrieved), (query.retrieved, query.gold))
        joined = [name for names, others in pairs for name in names if _parts(name) & {*others}]
        if joined:
            joined_by_query.append((query.query_id, joined[0]))
    if not joined_by_query:
        return
    examples = ", ".join(
        f"{name!r} at {query_id!r}" for query_id, name in joined_by_query[:_MOST_SHOWN]
    )
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


def find_strange_ids(queries: Sequence[QueryIds]) -> Iterator[Doubt]:
    """A doubt if no gold id was retrieved, whatever the form, for any query."""
    usable = _with_both(queries)
    if len(usable) < _FEWEST or _any_meet(usable) or _known_share(usable) >= _KNOWN:
        return
    if find_id_match(usable) is not None:
        return
    gold = list(dict.fromkeys(name for query in usable for name in query.gold))
    retrieved = list(dict.fromkeys(name for query in usable for name in query.retrieved))
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
    n_texts = sum(len(name) >= _LONG and " " in name.strip() for name in names)
    return 2 * n_texts > len(names)


def find_other_rows(queries: Sequence[QueryIds]) -> Iterator[Doubt]:
    """A doubt if gold was retrieved for other queries only."""
    usable = _with_both(queries)
    if len(usable) < _FEWEST or _any_meet(usable) or _known_share(usable) < _KNOWN:
        return
    places: dict[str, str] = {}
    for query in usable:
        for name in query.retrieved:
            places.setdefault(name, query.query_id)
    pairs = [(query, name) for query in usable for name in query.gold if name in places]
    listed = "; ".join(
        f"{name!r}, gold of {query.query_id!r}, was retrieved for {places[name]!r}"
        for query, name in pairs[:_MOST_SHOWN]
    )
    yield Doubt(
        "other_rows",
        f"no gold id was retrieved for its own query, but {_known_share(usable):.0%} of them for "
        f"other queries: {listed}",
        "The rows of gold and of rankings may be shifted: join them by query id, as "
        "gold.merge(runs, on='query_id') does (on the command line: check FILE)",
        tuple(dict.fromkeys(query.query_id for query, _ in pairs))[:5],
    )


def find_empty_rankings(queries: Sequence[QueryIds]) -> Iterator[Doubt]:
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


def find_equal_rankings(queries: Sequence[QueryIds]) -> Iterator[Doubt]:
    """A doubt if the same documents, in the same order, were retrieved for every query."""
    if len(queries) < _FEWEST_ALIKE or not queries[0].retrieved:
        return
    is_same = all(query.retrieved == queries[0].retrieved for query in queries)
    # Where all questions are about one document, it is right for all of them.
    differs = len({query.gold for query in queries}) > 1
    if is_same and differs:
        yield Doubt(
            "same_retrieved",
            f"the same documents were retrieved for all {len(queries)} queries: "
            f"{named(queries[0].retrieved, _MOST_SHOWN)}",
            "The pipeline may not get the question: look at what is sent to it, body="
            '{"question": "{question}"} (on the command line: --body JSON)',
            tuple(query.query_id for query in queries[:5]),
        )


ID_CHECKS: dict[str, Callable[[Sequence[QueryIds]], Iterator[Doubt]]] = {
    "ids_differ": find_different_ids,
    "joined_ids": find_joined_ids,
    "ids_never_meet": find_strange_ids,
    "other_rows": find_other_rows,
    "no_retrieved": find_empty_rankings,
    "same_retrieved": find_equal_rankings,
}


def _with_both(queries: Sequence[QueryIds]) -> list[QueryIds]:
    return [query for query in queries if query.gold and query.retrieved]


def _any_meet(queries: Sequence[QueryIds]) -> bool:
    return any(not set(query.gold).isdisjoint(query.retrieved) for query in queries)


def _known_share(queries: Sequence[QueryIds]) -> float:
    """The share of the gold ids that were retrieved for any query."""
    gold = {name for query in queries for name in query.gold}
    return len(gold & {name for query in queries for name in query.retrieved}) / len(gold)


def _shown(names: Sequence[str]) -> str:
    cut = [name if len(name) <= _LONG else f"{name[: _LONG - 1]}…" for name in names[:_MOST_SHOWN]]
    return named(cut) + (f" and {len(names) - len(cut)} more" if len(names) > len(cut) else "")
