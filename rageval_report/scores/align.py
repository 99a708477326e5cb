"""Pairs the rows of two tables by query id, never by position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from rageval_report.scores.fingerprints import ABSENT, find_rows


@dataclass(frozen=True, eq=False)
class Alignment:
    """The rows of two tables that belong to the same queries.

    Parameters
    ----------
    ids : Index
        The common query ids, in the order of the baseline.
    baseline_rows, candidate_rows : ndarray of int, or None
        The row of each common query in either table; None if all rows are common and in the same
        order, so that nothing needs to be moved.
    only_baseline, only_candidate : Index
        The ids that occur in one table only.
    """

    ids: pd.Index
    baseline_rows: np.ndarray | None
    candidate_rows: np.ndarray | None
    only_baseline: pd.Index
    only_candidate: pd.Index

    def baseline(self, column: pd.Series) -> np.ndarray:
        """The values of the baseline for the common queries."""
        return _take_rows(column, self.baseline_rows)

    def candidate(self, column: pd.Series) -> np.ndarray:
        """The values of the candidate for the common queries, in the order of the baseline."""
        return _take_rows(column, self.candidate_rows)


def _take_rows(column: pd.Series, rows: np.ndarray | None) -> np.ndarray:
    values = column.to_numpy()
    return values if rows is None else values.take(rows)


def align(baseline: pd.Index, candidate: pd.Index) -> Alignment:
    """Pair two indexes of unique ids.

    Examples
    --------
    >>> pair = align(pd.Index(["a", "b", "c"]), pd.Index(["c", "a", "x"]))
    >>> list(pair.ids), list(pair.only_baseline), list(pair.only_candidate)
    (['a', 'c'], ['b'], ['x'])
    """
    # Two runs over one set mostly have the same ids in the same order: then nothing is looked up or
    # copied.
    if baseline.equals(candidate):
        return Alignment(baseline, None, None, baseline[:0], candidate[:0])
    rows = find_rows(candidate, baseline)
    common = rows != ABSENT
    candidate_rows = rows[common]
    only_candidate = np.ones(len(candidate), dtype=bool)
    only_candidate[candidate_rows] = False
    return Alignment(
        baseline[common],
        np.flatnonzero(common),
        candidate_rows,
        baseline[~common],
        candidate[only_candidate],
    )
