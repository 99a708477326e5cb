"""Rankings and relevance judgments become a table of scores, whatever form they come in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, UnknownNameError, named
from rageval_report.rankings.checks import checked_cutoff
from rageval_report.rankings.from_dicts import joined_dicts, plain_table
from rageval_report.rankings.hits import Floats, Hits
from rageval_report.rankings.inputs import (
    DUPLICATES,
    Duplicates,
    Matched,
    Rules,
    grade_of_listed,
    matched,
    ranks_as_scores,
)
from rageval_report.rankings.joined import TIES, Joined, Ties
from rageval_report.rankings.retrieval import n_judged_retrieved
from rageval_report.scores.metric import METRICS, Catalogue, MetricFunction

NoRelevant = Literal["zero", "skip"]
_NO_RELEVANT: tuple[NoRelevant, ...] = ("zero", "skip")
_VIEW = "rankings"


@dataclass(frozen=True, eq=False)
class RankedScores:
    """The scores of a run.

    Parameters
    ----------
    scores : DataFrame
        A row a judged query, in the order of the judgments; a column a metric, named as asked.
    details : DataFrame
        The same rows: ``n_relevant``, ``n_retrieved``, ``tied_share`` (of the retrieved documents,
        those that share their score with another), and ``n_judged@k`` for each cutoff asked for.
    notes : tuple of str
        What was missing, ignored, tied or skipped.
    hits : Hits
        The hit table, from which further metrics cost next to nothing.
    """

    scores: pd.DataFrame
    details: pd.DataFrame
    notes: tuple[str, ...]
    hits: Hits


def score_table_of_rankings(
    run: Any,
    qrels: Any,
    metrics: str | Sequence[str],
    *,
    ties: Ties = "docid",
    relevance_level: float = 1,
    no_relevant: NoRelevant = "zero",
    drop_self: bool = False,
    duplicates: Duplicates = "error",
) -> RankedScores:
    """Score what was retrieved against what was judged relevant, query by query.

    Parameters
    ----------
    run : mapping, DataFrame or path
        For each query its documents with their scores, or their ids in order; a tidy frame with
        columns ``query_id``, ``doc_id``, ``score`` (pandas, polars, pyarrow); or a TREC run file
        (six columns), also gzipped.
    qrels : mapping, DataFrame or path
        For each query its judged documents with their grades, or the ids of the relevant ones; a
        tidy frame with columns ``query_id``, ``doc_id``, ``relevance``; or a TREC qrels file (four
        columns) or BEIR qrels file (three columns split at tabs).
    metrics : str or sequence of str
        As "ndcg@10", "recall@5", "mrr", "P_5", "ndcg_cut_10".
    ties : {"docid", "input", "error"}
        Documents of equal score stand by id, descending, as trec_eval has it; as they were given;
        or are refused.
    relevance_level : float
        The lowest grade that is relevant. nDCG does not ask for it.
    no_relevant : {"zero", "skip"}
        What a query scores for which nothing is relevant: 0, or NaN.
    drop_self : bool
        Whether a retrieved document that bears its query's id is left out before ranks are
        counted, where queries are documents of the corpus, as in ArguAna. Judgments stay as they
        are.
    duplicates : {"error", "best"}
        Whether a document that was retrieved twice for a query is refused, or counts once, where
        it ranks best. Repeated judgments are always refused.

    Returns
    -------
    RankedScores
        A judged query that the run does not hold scores 0; a query that was not judged is left
        out. Both are told in the notes.

    Raises
    ------
    UnknownNameError
        If a metric is not known, or cannot be had from rankings.
    AlignmentError
        If run and judgments have no query in common.
    DataError
        If they do not have the shape above; `ReaderError` with file and line for files.

    Examples
    --------
    >>> run = {"q1": {"a": 0.9, "b": 0.8}, "q2": {"c": 0.7}}
    >>> ranked = score_table_of_rankings(run, {"q1": {"b": 1}, "q3": {"a": 1}}, ["mrr", "P@2"])
    >>> print(ranked.scores.reset_index().to_string(index=False))
    query_id  mrr  P@2
          q1  0.5  0.5
          q3  0.0  0.0
    >>> for note in ranked.notes:
    ...     print(note)
    1 of 2 judged queries is missing from the run and scores 0: 'q3'
    1 query of the run is not judged and is ignored: 'q2'
    """
    _refuse_unknown("rule for ties", ties, TIES)
    _refuse_unknown("rule for queries without a relevant document", no_relevant, _NO_RELEVANT)
    _refuse_unknown("rule for duplicates", duplicates, DUPLICATES)
    computed = {name: metric_of(name) for name in _names(metrics)}
    rules = Rules(ties, _checked_level(relevance_level), drop_self, duplicates)
    found = matched(run, qrels, rules)
    joined, hits = found.joined, found.joined.hits
    index = pd.Index(joined.query_ids, name="query_id", dtype="str")
    scores = {name: compute(hits, k) for name, (compute, k) in computed.items()}
    if no_relevant == "skip":
        scores = {name: _without_empty(column, hits) for name, column in scores.items()}
    cutoffs = dict.fromkeys(k for _, k in computed.values())
    return RankedScores(
        pd.DataFrame(scores, index=index),
        pd.DataFrame(_details(joined, cutoffs), index=index),
        (*_told_of_left_out(found), *_notes(joined, ties, no_relevant)),
        hits,
    )


def hits_of(
    retrieved: Sequence[Iterable[str]],
    relevant: Sequence[Mapping[str, float] | Iterable[str]],
    *,
    relevance_level: float = 1,
    query_ids: Sequence[str] | None = None,
) -> Hits:
    """The hit table of lists of ids, a query a place: the view "rankings" of records.

    Parameters
    ----------
    retrieved : sequence of ids
        For each query the ids of the retrieved documents, the best first.
    relevant : sequence of ids, or of mappings of id to grade
        For each query the ids of the relevant documents, or all that were judged with grades.
    relevance_level : float
        The lowest grade that is relevant.
    query_ids : sequence of str, optional
        How errors name the queries, each differently; by their places from 0 where not given.

    Raises
    ------
    DataError
        If the two are not as long, or a document is named twice for a query.

    Examples
    --------
    >>> hits_of([["a", "b"], ["c"]], [["b"], {"c": 2}]).rank
    array([1, 0])
    """
    if len(retrieved) != len(relevant):
        raise DataError(
            "expected retrieved and relevant documents of the same queries; "
            f"got {len(retrieved)} and {len(relevant)}"
        )
    if not len(retrieved):
        raise DataError("expected at least one query; got none")
    names = [str(name) for name in (range(len(retrieved)) if query_ids is None else query_ids)]
    run = plain_table(
        dict(zip(names, retrieved, strict=True)), ranks_as_scores, "the retrieved documents"
    )
    qrels = plain_table(
        dict(zip(names, relevant, strict=True)), grade_of_listed, "the relevant documents"
    )
    level = _checked_level(relevance_level)
    return joined_dicts(run, qrels, ties="input", relevance_level=level).hits


def metric_of(name: str) -> tuple[MetricFunction, int | None]:
    """The function that computes a metric of rankings, and the cutoff in the metric's name.

    Raises
    ------
    UnknownNameError
        If no metric of rankings has that name.
    DataError
        If the cutoff is 0.

    Examples
    --------
    >>> compute, k = metric_of("nDCG@10")
    >>> compute.__name__, k
    ('ndcg', 10)
    """
    metric = Catalogue().search(name)
    function = metric.function() if metric is not None and metric.needs == _VIEW else None
    if metric is None or function is None:
        known = [name for name, metric in METRICS.loaded().items() if metric.needs == _VIEW]
        raise UnknownNameError("metric of rankings", name, known)
    cutoff = metric.known_as.partition("@")[2]
    return function, checked_cutoff(int(cutoff), least=1) if cutoff else None


def _names(metrics: str | Sequence[str]) -> list[str]:
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    if not names:
        raise DataError('expected at least one metric, as "ndcg@10"; got none')
    return names


def _refuse_unknown(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise UnknownNameError(what, name, known)


def _checked_level(level: float) -> float:
    if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not level > 0:
        raise DataError(f"relevance_level must be a number above 0; got {level!r}")
    return float(level)


# -- what is told


def _without_empty(scores: Floats, hits: Hits) -> Floats:
    return np.where(hits.n_relevant > 0, scores, np.nan)


def _details(joined: Joined, cutoffs: Iterable[int | None]) -> dict[str, Any]:
    hits = joined.hits
    retrieved = np.maximum(hits.n_retrieved, 1)
    judged = partial(n_judged_retrieved, hits)
    return {
        "n_relevant": hits.n_relevant,
        "n_retrieved": hits.n_retrieved,
        "tied_share": joined.n_tied / retrieved,
        **{"n_judged" if k is None else f"n_judged@{k}": judged(k) for k in cutoffs},
    }


def _told_of_left_out(found: Matched) -> Iterable[str]:
    if found.n_self:
        bears = "document bears its query's id and is" if found.n_self == 1 else (
            "documents bear their query's id and are")  # fmt: skip
        yield f"drop_self: {found.n_self} retrieved {bears} left out"
    if found.n_repeats:
        is_again = "document was retrieved again and counts" if found.n_repeats == 1 else (
            "documents were retrieved again and count")  # fmt: skip
        yield f"duplicates: {found.n_repeats} {is_again} only where ranked best"


def _notes(joined: Joined, ties: Ties, no_relevant: NoRelevant) -> Iterable[str]:
    n = len(joined.query_ids)
    if joined.missing:
        verb = "is missing from the run and scores" if len(joined.missing) == 1 else (
            "are missing from the run and score")  # fmt: skip
        yield f"{len(joined.missing)} of {n} judged queries {verb} 0: {named(joined.missing)}"
    if joined.unjudged:
        what = "query of the run is not judged and is" if len(joined.unjudged) == 1 else (
            "queries of the run are not judged and are")  # fmt: skip
        yield f"{len(joined.unjudged)} {what} ignored: {named(joined.unjudged)}"
    n_tied = int((joined.n_tied > 0).sum())
    if n_tied:
        rule = "by document id, descending" if ties == "docid" else "as they were given"
        verb = "queries has" if n_tied == 1 else "queries have"
        yield f"{n_tied} of {n} {verb} documents of equal score, which stand {rule}"
    empty = [joined.query_ids[code] for code in np.flatnonzero(joined.hits.n_relevant == 0)]
    if empty:
        told = "0" if no_relevant == "zero" else "nothing"
        verb = "queries has no relevant document and scores" if len(empty) == 1 else (
            "queries have no relevant document and score")  # fmt: skip
        yield f"{len(empty)} of {n} {verb} {told}: {named(empty)}"
