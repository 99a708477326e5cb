"""Whether queries seem to come in clusters: several about one document, or from one conversation.

This is the one place that guesses it. A guess becomes a note that says what to pass; it is never
applied by itself, because only the person who made the queries can say which are independent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from rageval_report.scores.roles.usual_names import cluster_noun

if TYPE_CHECKING:
    from rageval_report.scores.table import Scored

# Below this share of queries with a neighbour in their cluster, clusters hardly matter.
_LEAST_SHARED = 0.5
# "source" is often a kind of source, such as web or file: two or three values are no clusters.
_FEWEST = 4


def cluster_hint(run: Scored) -> str | None:
    """A note on the first column of the details that looks like clusters; None without one.

    Parameters
    ----------
    run : Scored
        A pipeline's scores and details.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> data = {"query_id": range(12), "recall": [0.5] * 12, "document": list("aabbccddeeff")}
    >>> cluster_hint(RAGPipelineEvaluation("rag", data))
    "12 queries come from 6 documents; if these are not independent, pass clusters='document'"
    """
    clusters = likely_clusters(run)
    if clusters is None:
        return None
    column, counted = clusters
    return f"{counted}; if these are not independent, pass clusters={column!r}"


def likely_clusters(run: Scored) -> tuple[str, str] | None:
    """The first column of the details that looks like clusters, and what it counts.

    Parameters
    ----------
    run : Scored
        A pipeline's scores and details.

    Returns
    -------
    (str, str) or None
        Such as "document" and "12 queries come from 6 documents".
    """
    for column in run.details.columns:
        noun = cluster_noun(str(column))
        if noun is not None and (counts := _counts(run.details[column])):
            n_queries, n_clusters = counts
            return str(column), f"{n_queries} queries come from {n_clusters} {noun}"
    return None


def _counts(labels: pd.Series) -> tuple[int, int] | None:
    """The number of labelled queries and of their clusters, if most queries share one."""
    # As texts, because a cell may be a list, which has no hash.
    sizes = labels[labels.notna()].map(str).value_counts()
    n_queries, n_shared = int(sizes.sum()), int(sizes[sizes > 1].sum())
    if len(sizes) < _FEWEST or n_shared < _LEAST_SHARED * n_queries:
        return None
    return n_queries, len(sizes)
