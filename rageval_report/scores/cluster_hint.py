"""Whether queries seem to come in clusters: several about one document, or from one conversation.

This is the one place that guesses it. A guess becomes a note that says what to pass; it is never
applied by itself, because only the person who made the queries can say which are independent.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rageval_report.scores.metric import normalise_name

if TYPE_CHECKING:
    from rageval_report.scores.table import Scored

# Below this share of queries with a neighbour in their cluster, clusters hardly matter.
_LEAST_SHARED = 0.5
# "source" is often a kind of source, such as web or file: two or three values are no clusters.
_FEWEST = 4

# What a column of clusters is called, and what its values are.
_CLUSTERS = {
    "article": "articles",
    "chat": "chats",
    "cluster": "clusters",
    "conversation": "conversations",
    "customer": "customers",
    "dialog": "dialogs",
    "dialogue": "dialogues",
    "doc": "documents",
    "document": "documents",
    "paper": "papers",
    "session": "sessions",
    "source": "sources",
    "source_doc": "source documents",
    "source_document": "source documents",
    "thread": "threads",
    "user": "users",
}
_OF_KEYS = re.compile(r"_(id|no|nr|number|name|key|uuid|hash)$")


def cluster_noun(column: str) -> str | None:
    """What the values of a column are, if its name is usual for clusters of queries.

    Examples
    --------
    >>> [cluster_noun(name) for name in ("document", "Conversation ID", "source_doc", "topic")]
    ['documents', 'conversations', 'source documents', None]
    """
    return _CLUSTERS.get(_OF_KEYS.sub("", normalise_name(column)))


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
    return None if clusters is None else hint_of(*clusters)


def hint_of(column: str, counted: str) -> str:
    """The note on a column that looks like clusters.

    Parameters
    ----------
    column : str
        The column.
    counted : str
        What it counts, such as "12 queries come from 6 documents".
    """
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
        if cluster_noun(str(column)) is None:
            continue
        # As texts, because a cell may be a list, which has no hash.
        labels = run.details[column]
        sizes = labels[labels.notna()].map(str).value_counts()
        n_shared = int(sizes[sizes > 1].sum())
        counted = counted_clusters(str(column), int(sizes.sum()), len(sizes), n_shared)
        if counted is not None:
            return str(column), counted
    return None


def counted_clusters(
    column: str, n_queries: int, n_clusters: int, n_shared: int, *, is_estimate: bool = False
) -> str | None:
    """What a column counts if it looks like clusters; None if it does not.

    Parameters
    ----------
    column : str
        The column.
    n_queries, n_clusters : int
        The number of labelled queries and of their labels.
    n_shared : int
        The number of queries that share their label with another one.
    is_estimate : bool
        Whether the number of labels is an estimate, of which three digits are shown.

    Examples
    --------
    >>> counted_clusters("document", 12, 6, 12), counted_clusters("topic", 12, 6, 12)
    ('12 queries come from 6 documents', None)
    >>> counted_clusters("document", 10**7, 2_468_013, 10**7, is_estimate=True)
    '10000000 queries come from about 2470000 documents'
    """
    noun = cluster_noun(column)
    if noun is None or n_clusters < _FEWEST or n_shared < _LEAST_SHARED * n_queries:
        return None
    shown = f"about {int(float(f'{n_clusters:.3g}'))}" if is_estimate else str(n_clusters)
    return f"{n_queries} queries come from {shown} {noun}"
