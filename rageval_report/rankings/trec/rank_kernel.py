"""The loop for numba that ranks the judged documents of a part of a run.

It gives what the NumPy code of `rageval_report.rankings.order` gives. Ids of equal scores are
compared where they lie in the text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval_report.rankings.trec.kernels import compile_loop

# In larger groups of equal scores, to compare each judged document with all takes longer than to
# sort the ids, which is left to NumPy.
_MOST_EQUAL = 64


@cache
def compiled_rank() -> Callable[..., Any] | None:
    """`rank`, compiled; None if numba is not installed or not to compile."""
    return compile_loop(rank)


def rank(
    ordered: NDArray[np.float64],
    row_at: NDArray[np.int64],
    n_retrieved: NDArray[np.int64],
    judged_at: NDArray[np.int64],
    by_id: bool,
    data: NDArray[np.uint8],
    starts: NDArray[Any],
    lengths: NDArray[Any],
    judged_row: NDArray[np.int64],
    ranks: NDArray[np.int32],
    n_hits: NDArray[np.int64],
    n_tied: NDArray[np.int64],
) -> int:
    """Rank the judged documents that were retrieved, list by list.

    Parameters
    ----------
    ordered, row_at : ndarray of shape (n,)
        The negated scores of each list, ascending, and their rows.
    n_retrieved : ndarray of shape (n_lists,)
        How many documents each list has.
    judged_at : ndarray of shape (n,)
        For each row of the run its row in the judgments, or -1.
    by_id : bool
        Whether of equal scores the later id goes first; otherwise the order of the rows decides.
    data : ndarray of uint8
        The text of the run.
    starts, lengths : ndarray of shape (n,)
        Where its documents lie.
    judged_row, ranks : ndarray
        Filled: the row in the judgments and the rank of each judged document that was retrieved,
        list after list, in the order of the ranks.
    n_hits, n_tied : ndarray of shape (n_lists,)
        Filled: how many there are, and how many documents share their score with another.

    Returns
    -------
    int
        How many judged documents were retrieved; -1 if too many documents have one score.

    Notes
    -----
    One walk over the sorted scores. Of a group of equal scores only the judged documents are
    ranked: each counts the others that go ahead of it.
    """
    n, end = 0, 0
    for query in range(len(n_retrieved)):
        first, before = end, n
        end = first + n_retrieved[query]
        n_tied[query] = 0
        low = first
        while low < end:
            high = low + 1
            while high < end and ordered[high] == ordered[low]:
                high += 1
            if high - low > 1:
                n_tied[query] += high - low
            group = n
            for place in range(low, high):
                row = row_at[place]
                if judged_at[row] < 0:
                    continue
                if high - low > _MOST_EQUAL:
                    return -1
                ahead = 0
                for other_place in range(low, high):
                    other = row_at[other_place]
                    if other == row:
                        continue
                    if not by_id:
                        ahead += other < row
                        continue
                    # As strcmp of trec_eval: the first byte that differs decides; if there is
                    # none, the longer id is the later one.
                    mine, theirs = np.int64(starts[row]), np.int64(starts[other])
                    shorter = min(np.int64(lengths[row]), np.int64(lengths[other]))
                    byte = 0
                    while byte < shorter and data[mine + byte] == data[theirs + byte]:
                        byte += 1
                    if byte < shorter:
                        ahead += data[theirs + byte] > data[mine + byte]
                    else:
                        ahead += lengths[other] > lengths[row]
                # The judged documents of one score are few: each is put in its place among them.
                slot = n
                while slot > group and ranks[slot - 1] > low - first + ahead:
                    ranks[slot], judged_row[slot] = ranks[slot - 1], judged_row[slot - 1]
                    slot -= 1
                ranks[slot], judged_row[slot] = low - first + ahead, judged_at[row]
                n += 1
            low = high
        n_hits[query] = n - before
    return n
