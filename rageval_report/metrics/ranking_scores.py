"""Rankings and judgments of any form become a table of scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from operator import contains
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, UnknownNameError, check_choice, named
from rageval_report.files.inputs import is_file_input
from rageval_report.files.source import Source
from rageval_report.metrics.checks import check_cutoff
from rageval_report.metrics.joining import (
    ADVICE_ON_REPEATS,
    RUNS,
    TIES,
    IdRows,
    Joined,
    NumberTable,
    Ties,
    from_frame,
    join_tables,
    refuse_ties,
)
from rageval_report.metrics.retrieval import Hits, n_judged_retrieved
from rageval_report.metrics.trec_files import Rows, read_trec_qrels, read_trec_run
from rageval_report.records.id_changes import (
    IdChange,
    IdSide,
    MatchIds,
    change_id,
    note_of_changes,
    parse_changes,
)
from rageval_report.records.id_search import QueryIds, doubts_about_ids, find_different_ids
from rageval_report.scores.catalogue.dialects import Dialect, DialectName, dialect_of_name
from rageval_report.scores.frames import to_pandas
from rageval_report.scores.guard import Doubt
from rageval_report.scores.metric import METRICS, Catalogue, Metric, MetricFunction
from rageval_report.scores.states import REASON, STATE, state_columns, states_of
from rageval_report.types import FloatArray

DuplicateDocs = Literal["error", "best", "keep"]
DUPLICATE_DOCS: tuple[DuplicateDocs, ...] = get_args(DuplicateDocs)
NoRelevant = Literal["zero", "skip"]
NO_RELEVANT: tuple[NoRelevant, ...] = get_args(NoRelevant)
NO_RELEVANT_REASON = "the query has no relevant documents"
VIEW = "rankings"

_RUN, _QRELS = "the run", "qrels"
# Frames are recognised by the protocols they offer, so that neither polars nor pyarrow is imported.
_FRAMES = ("__arrow_c_stream__", "__dataframe__", "__narwhals_dataframe__")

# Queries and retrieved documents of which a doubt about ids looks.
_MOST_QUERIES, _MOST_RETRIEVED = 500, 100
_FEW_QUERIES = 25  # if many queries meet their gold, only a few ids can be written otherwise
_FEW_MEET, _MOST_EMPTY = 0.2, 0.5


def join_inputs(
    run: object,
    qrels: object,
    *,
    ties: Ties,
    relevance_level: float,
    drop_self: bool = False,
    duplicates: DuplicateDocs = "error",
    match_ids: MatchIds = (),
) -> Joined:
    """A run joined with its judgments; see `score_table_of_rankings`."""
    right = qrels if isinstance(qrels, Mapping) else rows_of(qrels, is_run=False)
    judged: NumberTable = (
        right.by_query() if isinstance(right, IdRows) else plain_table(right, lambda _: 1.0, _QRELS)
    )
    left: IdRows | Mapping[Any, Any]
    left = run if isinstance(run, Mapping) else rows_of(run, is_run=True)
    n_tied = None
    n_repeats = n_self = 0
    # Repeats go first: a document with the id of its query is then counted once.
    if isinstance(left, IdRows) and duplicates != "error" and left.is_repeat().any():
        left, n_tied = _ranked_lists(left, ties, duplicates)
    if isinstance(left, IdRows):
        retrieved: NumberTable = left.by_query()
    else:
        _refuse_sets(left)
        if duplicates != "error":
            left, n_repeats = _credit_lists_once(left, duplicates)
        # Negated, so that the first of a list has the highest score.
        retrieved = plain_table(left, lambda place: -float(place), _RUN)
    note = ""
    if match_ids:
        changes = parse_changes(match_ids)
        n_before = sum(map(len, retrieved.values()))
        retrieved = _changed_table(retrieved, changes, "retrieved")
        judged = _changed_table(judged, changes, "gold")
        note = note_of_changes(changes, n_before - sum(map(len, retrieved.values())))
    if drop_self:
        retrieved, n_self = _table_without_self(retrieved)
    order: Ties = ties if n_tied is None else "input"
    joined = join_tables(retrieved, judged, ties=order, relevance_level=relevance_level)
    if n_tied is not None:
        counts = n_tied.reindex(joined.query_ids, fill_value=0).to_numpy(np.int64)
        joined = replace(joined, n_tied=counts)
        if ties == "error":
            refuse_ties(joined.query_ids, counts)
    return replace(joined, n_self=n_self, n_repeats=n_repeats, match_note=note)


def check_level(level: float) -> float:
    """The lowest relevant grade, which must be above 0: documents without a judgment have 0."""
    if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not level > 0:
        raise DataError(f"relevance_level must be a number > 0; got {level!r}")
    return float(level)


def rows_of(source: object, *, is_run: bool) -> Rows:
    """The rows of a run or of judgments: a frame, a path, the contents of a file, or rows."""
    if isinstance(source, IdRows):
        return source
    what = _RUN if is_run else _QRELS
    if is_file_input(source):
        if isinstance(source, str | Path) and Path(source).is_fifo():
            source = Path(source).read_bytes()  # a pipe can be read only once
        return (read_trec_run if is_run else read_trec_qrels)(Source(source))
    if any(hasattr(source, protocol) for protocol in _FRAMES):
        source = to_pandas(source)
        if not source.columns.is_unique:
            twice = source.columns[source.columns.duplicated()].unique()
            raise DataError(
                f"the columns of {what} must differ; these appear twice: {named(twice)}"
            )
        if source.empty:
            raise DataError(f"{what} has no rows; expected one row per document")
    return from_frame(source, what, "score" if is_run else "relevance")


# -- mappings


def plain_table(table: Mapping[Any, Any], value: Callable[[int], float], what: str) -> NumberTable:
    """Documents and numbers by query, with all ids as texts; a list gives numbers by place."""
    listed = {query: docs for query, docs in table.items() if isinstance(docs, dict | list | tuple)}
    if any(map(contains, listed.values(), repeat(None))):
        without = [query for query, docs in listed.items() if None in docs]
        raise DataError(f"{what} has a document without an id (None): {named(without)}")
    try:
        plain = {
            query: docs if isinstance(docs, Mapping) else _number_list(docs, value, query, what)
            for query, docs in table.items()
        }
    except TypeError as exc:
        raise DataError(
            f"{what} must give each query its documents, as a mapping of ids to numbers or a list "
            f"of ids; {exc}"
        ) from exc
    # To check every id would take a fifth of the time; ids of one table are of one kind.
    firsts = map(next, map(iter, plain.values()), repeat(""))
    if all(isinstance(query, str) for query in plain) and all(isinstance(d, str) for d in firsts):
        return plain
    by_text = {query: _by_text(docs, f"document ids of query {query!r} in {what}")
               for query, docs in plain.items()}  # fmt: skip
    return _by_text(by_text, f"query ids of {what}")


def _number_list(
    docs: object, value: Callable[[int], float], query: object, what: str
) -> Mapping[Any, Any]:
    if isinstance(docs, str | bytes) or not isinstance(docs, Iterable):
        raise TypeError(f"got {docs!r} for query {query!r}")
    ids = list(docs)
    # A dict keeps one of two equal ids, so a shorter dict shows a repeat.
    numbered = {doc: value(place) for place, doc in enumerate(ids)}
    if len(numbered) < len(ids):
        twice = sorted({str(doc) for doc in ids if ids.count(doc) > 1})
        raise DataError(
            f"{what} must name each document once; twice in query {query!r}: {named(twice)}"
            f"{ADVICE_ON_REPEATS if what in RUNS else ''}"
        )
    return numbered


def _by_text(table: Mapping[Any, Any], what: str) -> dict[str, Any]:
    texts = {_id_text(key, what): value for key, value in table.items()}
    # 1 and "1" become one text; keeping either would silently lose documents.
    if len(texts) < len(table):
        raise DataError(f"{what} are the same as texts, such as 1 and '1'; make them all texts")
    return texts


def _id_text(key: object, what: str) -> str:
    if isinstance(key, str):
        return key
    # Floats are refused: as a text 1.0 matches no "1", and the scores would be 0 without a word.
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        return str(key)
    raise DataError(f"{what} must be texts or integers; got {key!r}")


def _refuse_sets(run: Mapping[Any, Any]) -> None:
    # The order of a set changes with each process, so its ranks would be random.
    unordered = [query for query, docs in run.items() if isinstance(docs, set | frozenset)]
    if unordered:
        raise DataError(
            "the run must give each query its documents in order, or with scores; sets have no "
            f"order: {named(unordered)}"
        )


# -- what is left out on request


def _table_without_self(run: NumberTable) -> tuple[NumberTable, int]:
    queries = [query for query, docs in run.items() if query in docs]
    # A new dict, because the caller's must not change; BEIR's own evaluation deletes from its
    # input.
    others = dict(run)
    for query in queries:
        others[query] = {doc: score for doc, score in run[query].items() if doc != query}
        if not others[query]:  # as in a frame, where a query without rows is missing
            del others[query]
    return others, len(queries)


def _credit_lists_once(
    run: Mapping[Any, Any], duplicates: DuplicateDocs
) -> tuple[Mapping[Any, Any], int]:
    """The run with each id once in its lists, and how many repeats there were."""
    lists = {query: docs for query, docs in run.items()
             if isinstance(docs, list | tuple | np.ndarray)}  # fmt: skip
    credited = {query: credit_once(docs, duplicates) for query, docs in lists.items()}
    return {**run, **credited}, sum(len(docs) - len(set(docs)) for docs in lists.values())


def credit_once(docs: Iterable[Any], duplicates: DuplicateDocs) -> list[Any]:
    """The ids of a ranking, each once: "keep" names the repeats anew, so that the ranks stay."""
    ranked = list(docs)
    if duplicates == "best":
        return list(dict.fromkeys(ranked))
    if duplicates == "keep" and len(set(ranked)) < len(ranked):
        seen: set[Any] = set()
        for place, doc in enumerate(ranked):
            if doc in seen:
                # No document has such an id: texts of tables and files hold no control characters.
                ranked[place] = f"{doc}\x01repeat {place}"
            seen.add(doc)
    return ranked


def _ranked_lists(
    rows: IdRows, ties: Ties, duplicates: DuplicateDocs
) -> tuple[dict[str, list[str]], pd.Series]:
    """The documents of each query in the order of their ranks, and how many have equal scores."""
    table = pd.DataFrame({"query": rows.query, "doc": rows.doc, "value": rows.value})
    by_id = ["doc"] if ties == "docid" else []
    table = table.sort_values(["value", *by_id], ascending=False, kind="stable")
    once = table if duplicates == "keep" else table.drop_duplicates(["query", "doc"])
    is_tied = once.duplicated(["query", "value"], keep=False)
    lists = table.groupby("query", sort=False)["doc"].agg(list).to_dict()
    in_order = {query: lists[query] for query in dict.fromkeys(rows.query)}
    return in_order, is_tied.groupby(once["query"]).sum()


def _changed_table(
    table: NumberTable, changes: Sequence[IdChange], side: IdSide
) -> dict[str, dict[str, float]]:
    """The documents with their ids changed; of several with one id the highest number counts."""
    changed: dict[str, dict[str, float]] = {}
    for query, docs in table.items():
        best = changed[query] = {}
        for doc, number in docs.items():
            name = change_id(doc, changes, side)
            if name not in best or float(number) > float(best[name]):
                best.pop(name, None)  # so that it stands where its best one does
                best[name] = number
    return changed


# -- scores


@dataclass(frozen=True, eq=False)
class RankedScores:
    """The scores of a run."""

    scores: pd.DataFrame
    details: pd.DataFrame
    notes: tuple[str, ...]
    joined: Joined


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
    match_ids: MatchIds = (),
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
    match_ids : str or iterable of str
        Changes of form after which ids are compared, as in `rageval_report.score_rankings`.

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
    joined = join_inputs(
        run,
        qrels,
        ties=ties,
        relevance_level=check_level(relevance_level),
        drop_self=drop_self,
        duplicates=duplicates,
        match_ids=match_ids,
    )
    hits = joined.hits
    index = pd.Index(joined.query_ids, name="query_id", dtype="str")
    scores = {name: compute(hits, k) for name, (compute, k) in computed.items()}
    if no_relevant == "skip":
        applies = hits.n_relevant > 0
        scores = {name: np.where(applies, column, np.nan) for name, column in scores.items()}
    cutoffs = dict.fromkeys(k for _, k in computed.values())
    details = pd.DataFrame(_details(joined, cutoffs), index=index)
    states = _states(scores, hits, no_relevant)
    return RankedScores(
        pd.DataFrame(scores, index=index),
        pd.concat([details, pd.DataFrame(states, index=index, dtype=object)], axis=1),
        tuple(_notes(joined, ties, no_relevant, duplicates)),
        joined,
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


def _notes(
    joined: Joined, ties: Ties, no_relevant: NoRelevant, duplicates: DuplicateDocs
) -> Iterable[str]:
    n = len(joined.query_ids)
    if joined.match_note:
        yield joined.match_note
    if joined.n_self:
        is_are = "document has its query's id and is" if joined.n_self == 1 else (
            "documents have their query's id and are")  # fmt: skip
        yield f"drop_self: {joined.n_self} retrieved {is_are} left out"
    if joined.n_repeats:
        counts = "document was retrieved again and counts" if joined.n_repeats == 1 else (
            "documents were retrieved again and count")  # fmt: skip
        ranks = "; the repeats keep their ranks" if duplicates == "keep" else ""
        yield f"duplicates: {joined.n_repeats} {counts} only at the best rank{ranks}"
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


def doubts_about_rankings(joined: Joined) -> list[Doubt]:
    """The doubts that the ids of a run and its judgments raise."""
    hits = joined.hits
    n_meet = np.unique(hits.query[hits.grade >= hits.relevance_level]).size
    with_gold = np.flatnonzero(hits.n_relevant > 0)
    if not with_gold.size:
        return []
    n_empty = int((hits.n_retrieved[with_gold] == 0).sum())
    are_few = n_meet < _FEW_MEET * with_gold.size or n_empty >= _MOST_EMPTY * with_gold.size
    step = max(1, -(-with_gold.size // (_MOST_QUERIES if are_few else _FEW_QUERIES)))
    queries = []
    for query in (joined.query_ids[code] for code in with_gold[::step].tolist()):
        judged, docs = joined.qrels[query], joined.run.get(query, {})
        best_first = sorted(docs, key=lambda doc: -float(docs[doc]))[:_MOST_RETRIEVED]
        gold = tuple(doc for doc, grade in judged.items() if float(grade) >= hits.relevance_level)
        queries.append(QueryIds(query, gold, tuple(best_first)))
    # Of a run that meets its gold here and there, a sample may not say that it never does.
    return doubts_about_ids(queries) if not n_meet else list(find_different_ids(queries))
