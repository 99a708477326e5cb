"""The ids of a run and its judgments: doubts about them, and changes of their form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from rageval_report.metrics.ranking_inputs import rows_of
from rageval_report.metrics.retrieval import Hits
from rageval_report.records.id_changes import (
    IdSide,
    MatchIds,
    change_id,
    note_of_changes,
    parse_changes,
)
from rageval_report.records.id_search import QueryIds, doubts_about_ids, find_different_ids
from rageval_report.scores.guard import Doubt

# Where fewer of the queries have a relevant document among their results, a run is read again to
# compare its ids; reading it every time would cost as much as the metrics.
_FEW_MEET = 0.2
_MOST_QUERIES = 500
_FEW_QUERIES = 25  # if many queries meet their gold, only a few ids can be written otherwise
_MOST_RETRIEVED = 100
_MOST_EMPTY = 0.5

_QUERY, _DOC, _SCORE, _GRADE = "query_id", "doc_id", "score", "relevance"


def doubts_about_rankings(
    run: object, qrels: object, hits: Hits, query_ids: Sequence[str]
) -> list[Doubt]:
    """The doubts that the ids of a run and its judgments raise."""
    n_meet = np.unique(hits.query[hits.grade >= hits.relevance_level]).size
    with_gold = np.flatnonzero(hits.n_relevant > 0)
    n_empty = int((hits.n_retrieved[with_gold] == 0).sum())
    are_few = n_meet < _FEW_MEET * with_gold.size
    is_read_again = are_few or n_empty >= _MOST_EMPTY * max(with_gold.size, 1)
    is_in_memory = isinstance(run, Mapping) and isinstance(qrels, Mapping)
    if not with_gold.size or not (is_read_again or is_in_memory):
        return []
    if not all(_can_be_read_again(source) for source in (run, qrels)):
        return []
    most = _MOST_QUERIES if is_read_again else _FEW_QUERIES
    step = max(1, -(-with_gold.size // most))
    chosen = [query_ids[code] for code in with_gold[::step].tolist()]
    queries = _ids_of(run, qrels, chosen, hits.relevance_level)
    # Of a run that meets its gold here and there, a sample may not say that it never does.
    return doubts_about_ids(queries) if not n_meet else list(find_different_ids(queries))


def _can_be_read_again(source: object) -> bool:
    """Whether it is not a pipe, which can be read only once."""
    return Path(source).is_file() if isinstance(source, str | Path) else True


def _ids_of(run: object, qrels: object, chosen: Sequence[str], level: float) -> list[QueryIds]:
    """The ids of some of the queries."""
    retrieved, judged = _docs_of(run, chosen, is_run=True), _docs_of(qrels, chosen, is_run=False)
    return [
        QueryIds(
            query,
            tuple(doc for doc, grade in judged.get(query, ()) if grade >= level),
            tuple(doc for doc, _ in retrieved.get(query, ())[:_MOST_RETRIEVED]),
        )
        for query in chosen
    ]


def _docs_of(
    source: object, chosen: Sequence[str], *, is_run: bool
) -> dict[str, list[tuple[str, float]]]:
    """The documents of some queries with their numbers, the highest first."""
    wanted = set(chosen)
    if isinstance(source, Mapping):
        source = {query: docs for query, docs in source.items() if str(query) in wanted}
    table = _table_of(source, is_run=is_run)
    table = table.sort_values(table.columns[2], ascending=False, kind="stable")
    docs_of: dict[str, list[tuple[str, float]]] = {query: [] for query in chosen}
    for query, doc, number in table[table[_QUERY].isin(wanted)].itertuples(index=False):
        docs_of[query].append((doc, number))
    return docs_of


def _table_of(source: object, *, is_run: bool) -> pd.DataFrame:
    """One row per document: query, document and number, with ids as texts."""
    columns = [_QUERY, _DOC, _SCORE if is_run else _GRADE]
    if not isinstance(source, Mapping):
        rows = rows_of(source, is_run=is_run)
        values = rows.query, rows.documents(), rows.value
        return pd.DataFrame(dict(zip(columns, values, strict=True)))
    triples = [
        (str(query), str(doc), float(number))
        for query, docs in source.items()
        for doc, number in (docs.items() if isinstance(docs, Mapping) else _listed(docs, is_run))
    ]
    return pd.DataFrame(triples, columns=columns)


def _listed(docs: Iterable[object], is_run: bool) -> Iterator[tuple[object, float]]:
    """The documents of a list: those of a run get their order, those of judgments the grade 1."""
    return ((doc, -place if is_run else 1.0) for place, doc in enumerate(docs))


# -- changes of form


def match_ranking_ids(
    run: object, qrels: object, match_ids: MatchIds
) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """A run and its judgments with ids changed on both sides, and a note that says how."""
    changes = parse_changes(match_ids)
    tables = []
    n_repeats = 0
    sides: tuple[tuple[object, IdSide], ...] = ((run, "retrieved"), (qrels, "gold"))
    for source, side in sides:
        table = _table_of(source, is_run=side == "retrieved")
        names = {name: change_id(name, changes, side) for name in table[_DOC].unique()}
        changed = table.assign(**{_DOC: table[_DOC].map(names)})
        best_first = changed.sort_values(changed.columns[2], ascending=False, kind="stable")
        first = best_first.drop_duplicates([_QUERY, _DOC]).sort_index()
        n_repeats += len(table) - len(first) if side == "retrieved" else 0
        tables.append(first)
    return tables[0], tables[1], note_of_changes(changes, n_repeats)
