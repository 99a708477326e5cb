"""The columns of some lines by one walk over their bytes, which needs numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rageval_report.rankings.hits import Codes, Floats
from rageval_report.rankings.trec.bytes import Text, Words
from rageval_report.rankings.trec.kernels import compiled_scan
from rageval_report.rankings.trec.numbers import Flags, quotients

# A text for which NumPy takes about half a second, as long as numba takes to be loaded.
WORTH_LOADING = 1 << 25

Scanned = tuple[Codes, Codes, Words, Codes, Floats, Flags]


def scan_for(n_bytes: int) -> Callable[..., Any] | None:
    """The walk, if numba is installed and the work is worth it; nothing is loaded for less."""
    is_loaded = compiled_scan.cache_info().currsize > 0
    return compiled_scan() if is_loaded or n_bytes >= WORTH_LOADING else None


class Scanner:
    """A walk, and room for what it finds, which is used again for the next lines.

    Parameters
    ----------
    scan : callable
        `kernels.scan`, compiled or not.
    places : (int, int, int, int)
        How many columns there are, and where query, document and number stand.
    blank : int
        The last of the bytes, from 0, that separate words.
    """

    def __init__(self, scan: Callable[..., Any], places: tuple[int, ...], blank: int):
        self._scan, self._n_columns = scan, places[0]
        self._form = np.array([*places, blank], np.int64)
        self._room = _room(0)

    def scanned(self, text: Text, start: int, end: int) -> Scanned | None:
        """Some lines, numbers worked out; None if one is not as it should be.

        Returns
        -------
        blocks, docs, hashes : ndarray
            Of `kernels.scan`; blocks and docs are overwritten by the next call.
        words : ndarray of shape (n, 2)
            Where the numbers start and end; overwritten likewise.
        values, doubt : ndarray of shape (n,)
            The numbers, and which of them are left to `float`.
        """
        most = (end - start) // (2 * self._n_columns) + 2  # a word and its separator are two bytes
        if len(self._room[0]) < most:
            self._room = _room(most)
        blocks, docs, hashes, numbers, spelt = self._room
        n, n_blocks = self._scan(text.data, start, end, self._form, *self._room)
        if n < 0:
            return None
        decimals = numbers[:n, 2]
        odd = decimals < 0
        values, unsure = quotients(spelt[:n], np.where(odd, 0, decimals & 31))
        np.negative(values, out=values, where=decimals >= 32)
        words = numbers[:n, :2]
        return blocks[:n_blocks], docs[:n], hashes[:n].copy(), words, values, odd | unsure


def _room(n: int) -> tuple[Codes, Codes, Words, Codes, Words]:
    blocks, docs, numbers = (np.empty((n, width), np.int64) for width in (3, 2, 3))
    return blocks, docs, np.empty(n, np.uint64), numbers, np.empty(n, np.uint64)
