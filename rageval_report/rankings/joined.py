"""A run joined with its judgments: the common result of dicts, frames and files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rageval_report.errors import AlignmentError, DataError, named
from rageval_report.rankings.hits import Hits
from rageval_report.types import IntArray

Ties = Literal["docid", "input", "error"]
TIES: tuple[Ties, ...] = ("docid", "input", "error")

# Three ids of each side are enough to see how two ways of writing ids differ.
_MOST_NAMED = 3


@dataclass(frozen=True, eq=False)
class Joined:
    """A run joined with its judgments.

    Parameters
    ----------
    query_ids : list of str
        The judged queries, in the order of the judgments.
    hits : Hits
        Their hit table.
    n_tied : ndarray of shape (n_queries,)
        How many retrieved documents share their score with another of the query.
    missing : list of str
        Judged queries that are missing from the run.
    unjudged : list of str
        Queries of the run without judgments.
    """

    query_ids: list[str]
    hits: Hits
    n_tied: IntArray
    missing: list[str]
    unjudged: list[str]


def refuse_strangers(judged: list[str], missing: list[str], unjudged: list[str]) -> None:
    """Raise an error if there are no judgments, or no query is in both run and judgments."""
    if not judged:
        raise DataError("qrels must have at least one judged query; got none")
    # All zeros would look like a bad pipeline, while the cause is almost always ids that are
    # written differently.
    if len(missing) == len(judged):
        raise AlignmentError(
            "the run and the judgments have no query in common; "
            f"queries of the run: {named(unjudged, _MOST_NAMED) or 'none'}; "
            f"judged queries: {named(judged, _MOST_NAMED)}"
        )


def refuse_ties(query_ids: list[str], n_tied: IntArray) -> None:
    """Raise an error if documents of a query have equal scores."""
    tied = [query_ids[code] for code in n_tied.nonzero()[0]]
    if tied:
        raise DataError(
            f"documents have equal scores in {len(tied)} queries: {named(tied)}; "
            'ties="docid" orders them as trec_eval does, ties="input" by their order in the run'
        )
