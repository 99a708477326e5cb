"""Two runs are paired by query id, never by position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from rageval_report.scores.fingerprints import ABSENT, places


@dataclass(frozen=True, eq=False)
class Alignment:
    """Which rows of two tables belong to the same query.

    Parameters
    ----------
    ids : Index
        The common query ids, in the order of the baseline.
    baseline_rows, candidate_rows : ndarray of int, or None
        Where each of them stands in either table; None where the rows are all common and in
        the same order, so that nothing needs to be moved.
    only_baseline, only_candidate : Index
        The ids that one table alone has.
    """

    ids: pd.Index
    baseline_rows: np.ndarray | None
    candidate_rows: np.ndarray | None
    only_baseline: pd.Index
    only_candidate: pd.Index

    def baseline(self, column: pd.Series) -> np.ndarray:
        """The baseline's values of the common queries."""
        return _taken(column, self.baseline_rows)

    def candidate(self, column: pd.Series) -> np.ndarray:
        """The candidate's values of the common queries, in the order of the baseline."""
        return _taken(column, self.candidate_rows)


def _taken(column: pd.Series, rows: np.ndarray | None) -> np.ndarray:
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
    if baseline.equals(candidate):
        return Alignment(baseline, None, None, baseline[:0], candidate[:0])
    found = places(candidate, baseline)
    common = found != ABSENT
    candidate_rows = found[common]
    alone = np.ones(len(candidate), dtype=bool)
    alone[candidate_rows] = False
    return Alignment(
        baseline[common],
        np.flatnonzero(common),
        candidate_rows,
        baseline[~common],
        candidate[alone],
    )
