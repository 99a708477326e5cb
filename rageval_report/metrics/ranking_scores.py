"""Rankings and judgments of any form become a table of scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, UnknownNameError, check_choice, named
from rageval_report.metrics.checks import check_cutoff
from rageval_report.metrics.joining import TIES, Joined, Ties
from rageval_report.metrics.ranking_inputs import (
    DUPLICATE_DOCS,
    DuplicateDocs,
    JoinedInputs,
    JoinRules,
    check_level,
    join_inputs,
)
from rageval_report.metrics.retrieval import Hits, n_judged_retrieved
from rageval_report.scores.catalogue.dialects import Dialect, DialectName, dialect_of_name
from rageval_report.scores.metric import METRICS, Catalogue, Metric, MetricFunction
from rageval_report.scores.states import REASON, STATE, state_columns, states_of
from rageval_report.types import FloatArray

NoRelevant = Literal["zero", "skip"]
NO_RELEVANT: tuple[NoRelevant, ...] = get_args(NoRelevant)
NO_RELEVANT_REASON = "the query has no relevant documents"
VIEW = "rankings"


@dataclass(frozen=True, eq=False)
class RankedScores:
    """The scores of a run."""

    scores: pd.DataFrame
    details: pd.DataFrame
    notes: tuple[str, ...]
    hits: Hits


def score_table_of_rankings(
    run: object,
    qrels: object,
    metrics: str | Sequence[str],
    *,
    ties: Ties = "docid",
    relevance_level: float = 1,
    no_relevant: NoRelevant = "skip",
    drop_self: bool = False,
    duplicates: DuplicateDocs = "error",
) -> RankedScores:
    """Score a run against relevance judgments, query by query.

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
        Names such as "ndcg@10", "recall@5", "mrr", "P_5", "ndcg_cut_10".
    ties : {"docid", "input", "error"}
        The order of documents of equal score: by id, descending, as in trec_eval; as in the run;
        or an error.
    relevance_level : float
        The lowest grade that is relevant. nDCG does not depend on it.
    no_relevant : {"skip", "zero"}
        The score of a query without a relevant document, also if all its judgments have grade 0:
        NaN, because the metrics are not applicable to it, or 0 as in trec_eval.
    drop_self : bool
        Whether to leave out a retrieved document whose id is that of its query before ranks are
        counted. Use it if queries are documents of the corpus, as in ArguAna. The judgments are
        not changed.
    duplicates : {"error", "best", "keep"}
        What to do with a document that was retrieved twice for a query: raise an error; count it
        once, at its best rank, and close up the ranks below its repeats ("best"); or count it once
        and keep the ranks of its repeats, which are then not relevant ("keep", as Haystack's
        evaluators and ragbench compute it). Repeated judgments are always an error.

    Returns
    -------
    RankedScores
        A judged query that is missing from the run scores 0; a query without judgments is left
        out. The notes report both.

    Raises
    ------
    UnknownNameError
        If a metric is not known, or is not a metric of rankings.
    AlignmentError
        If run and judgments have no query in common.
    DataError
        If they do not have the form above; `ReaderError` with file and line for files.

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
    check_choice("ties", ties, TIES)
    check_choice("no_relevant", no_relevant, NO_RELEVANT)
    check_choice("duplicates", duplicates, DUPLICATE_DOCS)
    # Names are resolved before any file is read, so that a misspelt one fails at once.
    computed = {name: metric_of(name) for name in _names(metrics)}
    rules = JoinRules(ties, check_level(relevance_level), drop_self, duplicates)
    inputs = join_inputs(run, qrels, rules)
    joined, hits = inputs.joined, inputs.joined.hits
    index = pd.Index(joined.query_ids, name="query_id", dtype="str")
    scores = {name: compute(hits, k) for name, (compute, k) in computed.items()}
    if no_relevant == "skip":
        scores = {name: _without_empty(column, hits) for name, column in scores.items()}
    cutoffs = dict.fromkeys(k for _, k in computed.values())
    details = pd.DataFrame(_details(joined, cutoffs), index=index)
    states = _states(scores, hits, no_relevant)
    return RankedScores(
        pd.DataFrame(scores, index=index),
        pd.concat([details, pd.DataFrame(states, index=index, dtype=object)], axis=1),
        (*_notes_on_left_out(inputs, duplicates), *_notes(joined, ties, no_relevant)),
        hits,
    )


def metric_of(name: str) -> tuple[MetricFunction, int | None]:
    """The function that computes a metric of rankings, and the cutoff in the metric's name."""
    metric = Catalogue().search(name)
    function = metric.function() if metric is not None and metric.needs == VIEW else None
    if metric is None or function is None:
        known = [name for name, metric in METRICS.loaded().items() if metric.needs == VIEW]
        raise UnknownNameError("metric of rankings", name, known)
    # A cutoff in a name is always used: pytrec_eval accepts recip_rank.1 and ignores the 1.
    cutoff = metric.known_as.partition("@")[2]
    return function, check_cutoff(int(cutoff), least=1) if cutoff else None


def _names(metrics: str | Sequence[str]) -> list[str]:
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    if not names:
        raise DataError('metrics must name at least one metric, such as "ndcg@10"; got none')
    return names


# -- details and notes


def _without_empty(scores: FloatArray, hits: Hits) -> FloatArray:
    return np.where(hits.n_relevant > 0, scores, np.nan)


def _details(joined: Joined, cutoffs: Iterable[int | None]) -> dict[str, Any]:
    hits = joined.hits
    # Avoids 0/0 for a query that retrieved nothing; its number of ties is 0 anyway.
    retrieved = np.maximum(hits.n_retrieved, 1)
    judged = partial(n_judged_retrieved, hits)
    return {
        "n_relevant": hits.n_relevant,
        "n_retrieved": hits.n_retrieved,
        "tied_share": joined.n_tied / retrieved,
        **{"n_judged" if k is None else f"n_judged@{k}": judged(k) for k in cutoffs},
    }


def _states(
    scores: Mapping[str, FloatArray], hits: Hits, no_relevant: NoRelevant
) -> dict[str, list[Any]]:
    """The states of the metrics, if they do not apply to some queries."""
    applies = hits.n_relevant > 0
    columns: dict[str, list[Any]] = {}
    if no_relevant == "skip" and not applies.all():
        reasons = [None if ok else NO_RELEVANT_REASON for ok in applies.tolist()]
        for name, column in scores.items():
            columns |= state_columns(name, states_of(column, applies=applies), reasons)
    return columns


def _notes_on_left_out(inputs: JoinedInputs, duplicates: DuplicateDocs) -> Iterable[str]:
    if inputs.n_self:
        is_are = "document has its query's id and is" if inputs.n_self == 1 else (
            "documents have their query's id and are")  # fmt: skip
        yield f"drop_self: {inputs.n_self} retrieved {is_are} left out"
    if inputs.n_repeats:
        counts = "document was retrieved again and counts" if inputs.n_repeats == 1 else (
            "documents were retrieved again and count")  # fmt: skip
        ranks = "; the repeats keep their ranks" if duplicates == "keep" else ""
        yield f"duplicates: {inputs.n_repeats} {counts} only at the best rank{ranks}"


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
    # Ties are reported because tools order them differently: on a real TREC run (rutcor03100) MAP
    # is 0.074 by trec_eval and 0.059 by ranx.
    n_tied = int((joined.n_tied > 0).sum())
    if n_tied:
        rule = "by document id, descending" if ties == "docid" else "as in the run"
        verb = "queries has" if n_tied == 1 else "queries have"
        yield f"{n_tied} of {n} {verb} documents of equal score, which are ordered {rule}"
    empty = [joined.query_ids[code] for code in np.flatnonzero(joined.hits.n_relevant == 0)]
    if empty:
        yield note_on_no_relevant(empty, n, no_relevant)


def note_on_no_relevant(empty: Sequence[str], n: int, no_relevant: NoRelevant) -> str:
    """The note on queries without relevant documents."""
    has, them, score = ("has", "it", "scores") if len(empty) == 1 else ("have", "them", "score")
    what = f", and {score} 0" if no_relevant == "zero" else (
        f"; retrieval metrics do not apply to {them}")  # fmt: skip
    return f"{len(empty)} of {n} queries {has} no relevant documents{what}: {named(empty)}"


# The dialects whose metrics of rankings need no more than the first place of each document.
_OF_RANKINGS = ("datapizza", "haystack")


def ranking_dialect(name: DialectName | None) -> Dialect | None:
    """The dialect of that name, if it needs no more than rankings; None for None."""
    rules = dialect_of_name(name)
    if rules is not None and rules.name not in _OF_RANKINGS:
        raise DataError(
            f'dialect must be "datapizza" or "haystack" for rankings; got "{rules.name}", whose '
            "metrics need records: score(records, ..., "
            f'dialect="{rules.name}")'
        )
    return rules


def default_ranking_metrics(rules: Dialect) -> list[str]:
    """The metrics of rankings in the system's own configuration."""
    names = ((name, rules.find(name)) for name in rules.default_names())
    return [name for name, metric in names if metric is not None and metric.needs == VIEW]


def ranked_metrics(names: Iterable[str], rules: Dialect) -> dict[str, Metric]:
    """The metrics of rankings under the names of a dialect."""
    known = metrics_in_dialect(names, rules)
    for name, metric in known.items():
        if metric.needs != VIEW:
            raise DataError(f"metrics: {name!r} cannot be computed from rankings; pass records")
    return known


def metrics_in_dialect(names: Iterable[str], rules: Dialect) -> dict[str, Metric]:
    """The metrics of those names, with the names and definitions of a dialect."""
    known: dict[str, Metric] = {}
    for name in names:
        metric = rules.find(name)
        if metric is None:
            raise DataError(
                f'metrics: dialect="{rules.name}" has no metric {name!r}; it has: '
                f"{', '.join(rules.names())}. Score {name!r} without the dialect"
            )
        known[metric.name] = metric
    if not known:
        raise DataError("metrics must name at least one metric; got none")
    return known


def tables_in_dialect(
    scores: pd.DataFrame, details: pd.DataFrame, known: dict[str, Metric]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The scores and their states under the names of a dialect."""
    columns: dict[str, Any] = {name: scores[metric.known_as] for name, metric in known.items()}
    endings = [f"{column}{ending}" for column in scores for ending in (STATE, REASON)]
    kept = details.drop(columns=[column for column in endings if column in details])
    states = {
        f"{name}{ending}": details[f"{metric.known_as}{ending}"]
        for name, metric in known.items()
        for ending in (STATE, REASON)
        if f"{metric.known_as}{ending}" in details
    }
    renamed = pd.DataFrame(columns)
    return renamed, pd.concat([kept, pd.DataFrame(states, index=kept.index)], axis=1)
