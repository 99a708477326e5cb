"""Pairs that are independent of each other: those of queries, or one per cluster of queries."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.units import Units, check_labels, number_labels


def independent_pairs(
    baseline: npt.ArrayLike, candidate: npt.ArrayLike, clusters: npt.ArrayLike | None = None
) -> PairedScores:
    """The pairs in which both scores are present, one per cluster if there are clusters.

    Parameters
    ----------
    baseline, candidate : array-like of shape (n_queries,)
        One score per query, both sides in the same order. NaN is left out, pairwise.
    clusters : array-like of shape (n_queries,), optional
        The cluster of each query.

    Raises
    ------
    DataError
        If no query has a score on both sides, a query has no cluster, or the lengths differ.

    Examples
    --------
    >>> independent_pairs([0.5, 0.5, 0.5], [0.5, 0.75, 0.75], ["a", "a", "b"]).n
    2
    """
    pairs = PairedScores.of(baseline, candidate)
    if clusters is None:
        return pairs
    labels = check_labels(clusters)
    before, after = np.asarray(baseline, np.float64), np.asarray(candidate, np.float64)
    if labels.shape != before.shape:
        raise DataError(
            f"clusters must have one label per query; got shape {labels.shape} for {before.shape}"
        )
    complete = ~(np.isnan(before) | np.isnan(after))
    return Units(number_labels(labels[complete])).collapse(pairs)
