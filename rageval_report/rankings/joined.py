"""What becomes of a run and its judgments, whatever they came as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rageval_report.errors import AlignmentError, DataError, named
from rageval_report.rankings.hits import Codes, Hits

Ties = Literal["docid", "input", "error"]
TIES: tuple[Ties, ...] = ("docid", "input", "error")

_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Joined:
    """A run matched with its judgments.

    Parameters
    ----------
    query_ids : list of str
        The judged queries, in the order of the judgments.
    hits : Hits
        Their hit table.
    n_tied : ndarray of shape (n_queries,)
        How many retrieved documents share their score with another of the query.
    missing : list of str
        Judged queries that the run does not hold.
    unjudged : list of str
        Queries of the run without judgments.
    """

    query_ids: list[str]
    hits: Hits
    n_tied: Codes
    missing: list[str]
    unjudged: list[str]


def refuse_strangers(judged: list[str], missing: list[str], unjudged: list[str]) -> None:
    """Refuse judgments that are empty, and a run that has no query in common with them."""
    if not judged:
        raise DataError("there are no judgments: expected at least one judged query")
    if len(missing) == len(judged):
        raise AlignmentError(
            "the run and the judgments have no query in common; "
            f"the run's: {named(unjudged, _SHOWN) or 'none'}; judged: {named(judged, _SHOWN)}"
        )


def refuse_ties(query_ids: list[str], n_tied: Codes) -> None:
    """Refuse equal scores, for who asked for it."""
    tied = [query_ids[code] for code in n_tied.nonzero()[0]]
    if tied:
        raise DataError(
            f'ties="error", and documents have equal scores in {len(tied)} queries: '
            f'{named(tied)}; ties="docid" orders them as trec_eval does, ties="input" as they stand'
        )
