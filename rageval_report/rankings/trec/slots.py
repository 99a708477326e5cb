"""Which judged documents were retrieved, without sorting: NumPy's way beside `kernels.match`.

Rows are known by keys, hashes of query and document. Some bits of a key are the slot of its row in
a table. Where several rows want one slot, one has it: what shares its key has met its match, and
the others try again by other bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rageval_report.rankings.hits import Codes
from rageval_report.rankings.trec.bytes import Words
from rageval_report.rankings.trec.lists import Lists
from rageval_report.rankings.trec.pairs import are_equal

_SPREAD = np.uint64(0xD6E8FEB86659FD93)
_KEY_BITS = 64

# So many slots a row at least, so that few find theirs taken.
_SLOTS = 6


class Slots:
    """Matches lists whose rows stand together; its table is used again for the next ones."""

    def __init__(self) -> None:
        self._table, self._unused_bits = _table(1)

    def matched(self, judged: Lists, run: Lists) -> tuple[Codes, Codes] | None:
        """The rows of judged documents that were retrieved, in both tables.

        Parameters
        ----------
        judged, run : Lists
            The rows, by the same codes of queries; those of a list stand together.

        Returns
        -------
        (ndarray, ndarray) or None
            None if a document may stand twice in a list.
        """
        n = len(judged.table)
        found = self._pairs(np.concatenate([_keys(judged), _keys(run)]))
        if found is None:
            return None
        first, second = np.minimum(*found), np.maximum(*found) - n
        if (first >= n).any() or (second < 0).any():  # both of one table
            return None
        equal = are_equal(judged, run, first, second)
        return first[equal], second[equal]

    def _pairs(self, keys: Words) -> tuple[Codes, Codes] | None:
        """The places of keys that are equal, pair by pair; None if there are three of a key."""
        if len(self._table) < _SLOTS * len(keys):
            self._table, self._unused_bits = _table(len(keys))
        places = np.arange(len(keys))
        pairs = [(places[:0], places[:0])]
        while keys.size:
            loser, winner = self._rivals(keys)
            is_equal = keys[loser] == keys[winner]
            equal, others = np.flatnonzero(is_equal), np.flatnonzero(~is_equal)
            if np.bincount(winner[equal]).max(initial=0) > 1:
                return None
            pairs.append((places[loser[equal]], places[winner[equal]]))
            places, keys = places[loser[others]], keys[loser[others]] * _SPREAD
        first, second = map(np.concatenate, zip(*pairs, strict=True))
        return first, second

    def _rivals(self, keys: Words) -> tuple[Codes, NDArray[np.int32]]:
        """The keys that find their slot taken, and those that have it."""
        slots = (keys >> self._unused_bits).view(np.int64)
        numbers = np.arange(len(keys), dtype=np.int32)
        self._table[slots] = numbers
        winner = self._table.take(slots)
        loser = np.flatnonzero(winner != numbers)
        return loser, winner[loser]


def _table(n_rows: int) -> tuple[NDArray[np.int32], np.uint64]:
    """Room for so many rows, and how many bits of a key are not asked for."""
    n_bits = (_SLOTS * n_rows).bit_length()
    return np.empty(1 << n_bits, np.int32), np.uint64(_KEY_BITS - n_bits)


def _keys(lists: Lists) -> Words:
    keys = np.repeat(lists.code.astype(np.uint64) * _SPREAD, lists.lengths)
    keys ^= lists.table.columns.doc_hash
    keys *= _SPREAD
    return keys
