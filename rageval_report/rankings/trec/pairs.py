"""Which judged documents were retrieved, and which documents stand twice, in files.

A row is known by a hash of its query and document. The rows of both files are sorted by it, query
by query: neighbours that share it are compared byte by byte, and are a document that stands twice
in a file, or a judged document that was retrieved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rageval_report.errors import ReaderError
from rageval_report.rankings.hits import Codes
from rageval_report.rankings.order import starts_of
from rageval_report.rankings.trec.bytes import WORD, Words
from rageval_report.rankings.trec.lists import (
    PART,
    Lists,
    low_bits,
    sort_within,
    with_numbers,
)

_SPREAD = np.uint64(0xD6E8FEB86659FD93)


def matches(judged: Lists, run: Lists, names: list[str]) -> tuple[Codes, Codes]:
    """The rows of judged documents that were retrieved, in both tables.

    Parameters
    ----------
    judged, run : Lists
        The rows, by the same codes of queries.
    names : list of str
        The queries.

    Raises
    ------
    ReaderError
        If a document stands twice for a query.
    """
    first, second = _pairs_of(judged, run, len(names))
    n = len(judged.table)
    _refuse_twice(judged, first, second, second < n, 0, names)
    _refuse_twice(run, first, second, first >= n, n, names)
    return first, second - n


def _pairs_of(judged: Lists, run: Lists, n_queries: int) -> tuple[Codes, Codes]:
    """Rows of one query and document, each with the next such; the judged rows count first.

    Two of one file are of a document that stands twice.
    """
    first, second, others = _of_one_hash(_sorted_keys(judged, run, n_queries))
    cuts = [slice(part, part + PART) for part in range(0, len(first), PART)]
    checked = [_are_of_one(judged, run, first[part], second[part]) for part in cuts]
    equal = np.concatenate([np.zeros(0, dtype=bool), *checked])
    more = np.array(_pairs_one_by_one(judged, run, others), np.int64).reshape(-1, 2)
    return (
        np.concatenate([first[equal], more[:, 0]]),
        np.concatenate([second[equal], more[:, 1]]),
    )


def _of_one_hash(keys: Words) -> tuple[Codes, Codes, Codes]:
    """Pairs of rows that share a hash with one another alone, and all rows of larger groups."""
    low = low_bits(len(keys))
    same = (keys[1:] ^ keys[:-1]) <= low
    crowded = np.zeros(len(same), dtype=bool)
    crowded[1:] |= same[1:] & same[:-1]
    crowded[:-1] |= same[1:] & same[:-1]
    pairs, others = np.flatnonzero(same & ~crowded), np.flatnonzero(crowded)
    others = np.unique(keys[np.concatenate([others, others + 1])] & low)
    first, second = keys[pairs] & low, keys[pairs + 1] & low
    return first.astype(np.int64), second.astype(np.int64), others.astype(np.int64)


def _sorted_keys(judged: Lists, run: Lists, n_queries: int) -> Words:
    """The hashes of all rows with their numbers, sorted query by query."""
    lengths = judged.per_query(judged.lengths, n_queries), run.per_query(run.lengths, n_queries)
    starts = starts_of(lengths[0] + lengths[1])
    n_judged = len(judged.table)
    keys = np.empty(n_judged + len(run.table), np.uint64)
    _put_keys(keys, judged, starts, 0)
    _put_keys(keys, run, starts + lengths[0], n_judged)
    sort_within(keys, starts)
    return keys


def _put_keys(keys: Words, lists: Lists, starts: Codes, n_before: int) -> None:
    """Put the keys of rows where the rows of their query start, counted on from `n_before`."""
    offset, spread = starts[lists.code] - lists.starts, lists.code.astype(np.uint64) * _SPREAD
    for places, rows in lists.parts():
        its_list = lists.list_of_row[rows]
        hashes = (lists.table.columns.doc_hash[rows] ^ spread[its_list]) * _SPREAD
        keys[places + offset[its_list]] = with_numbers(hashes, rows + n_before, len(keys))


def are_equal(judged: Lists, run: Lists, first: Codes, second: Codes) -> NDArray[np.bool_]:
    """Whether judged rows and rows of the run are, pair by pair, of one query and document.

    A hash holds as many bits as a word of eight bytes, and none of them gets lost on the way: if
    all words but the first are equal, and the hashes, the first ones are too.
    """
    ours, theirs = judged.table.columns, run.table.columns
    same: NDArray[np.bool_] = judged.query(first) == run.query(second)
    same &= ours.doc_length[first] == theirs.doc_length[second]
    same &= ours.doc_hash[first] == theirs.doc_hash[second]
    words = judged.table.eights(first, after=WORD), run.table.eights(second, after=WORD)
    for left, right in zip(*words, strict=False):
        same &= left == right  # where one column has longer words, lengths have told already
    return same


def _are_of_one(judged: Lists, run: Lists, first: Codes, second: Codes) -> NDArray[np.bool_]:
    """Whether rows of one hash are of one query and document; but for hits, checked singly."""
    n = len(judged.table)
    equal = np.zeros(len(first), dtype=bool)
    across = np.flatnonzero((first < n) & (second >= n))
    equal[across] = are_equal(judged, run, first[across], second[across] - n)
    for place in np.flatnonzero((second < n) | (first >= n)).tolist():
        rows = np.array([first[place], second[place]])
        equal[place] = len(_pairs_one_by_one(judged, run, rows)) == 1
    return equal


def _pairs_one_by_one(judged: Lists, run: Lists, rows: Codes) -> list[tuple[int, int]]:
    """Of ascending rows, each with the next of its query and document."""
    n = len(judged.table)
    ours, theirs = rows[rows < n], rows[rows >= n] - n
    query = [*judged.query(ours).tolist(), *run.query(theirs).tolist()]
    doc = [*judged.table.docs(ours), *run.table.docs(theirs)]
    last: dict[tuple[int, bytes], int] = {}
    pairs = []
    for row, identity in zip(rows.tolist(), zip(query, doc, strict=True), strict=True):
        if identity in last:
            pairs.append((last[identity], row))
        last[identity] = row
    return pairs


def _refuse_twice(
    lists: Lists,
    first: Codes,
    second: Codes,
    of_this_file: NDArray[np.bool_],
    n_before: int,
    names: list[str],
) -> None:
    """Refuse a document that stands twice for a query, and name the first that is repeated."""
    pairs = np.flatnonzero(of_this_file)
    if not pairs.size:
        return
    pair = pairs[second[pairs].argmin()]
    rows = np.array([first[pair], second[pair]]) - n_before
    text = lists.table.text
    lines = [text.line(place) for place in lists.table.columns.doc_start[rows].tolist()]
    raise ReaderError(
        f"query {names[lists.query(rows)[1]]!r}, document "
        f"{lists.table.docs(rows)[1].decode()!r}: stands twice, first in line {lines[0]}; "
        "a document counts once a query",
        text.path,
        lines[1],
    )
