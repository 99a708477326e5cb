"""What two runs have in common: rows by query id or by text, metrics on one scale, clusters.

Rows are never paired by position, and scores on different scales are never compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.errors import AlignmentError, DataError, UnknownNameError
from rageval_report.scores.cells import ScoreRange
from rageval_report.scores.correct import Correct
from rageval_report.scores.descriptions import LEAST_TOP, UNIT, bounds_option
from rageval_report.scores.metric import KINDS, Metric, extremes_of, normalise_name
from rageval_report.scores.query_ids import (
    QUERY_ID,
    QUESTION,
    first_named,
    plain_text,
)
from rageval_report.scores.query_ids import cluster_noun as cluster_noun
from rageval_report.scores.states import is_missing
from rageval_report.scores.table import Scored
from rageval_report.types import IndexArray

# Below this share of queries with a neighbour in their cluster, clusters hardly matter.
_LEAST_SHARED = 0.5
# "source" is often a kind of source, such as web or file: two or three values are no clusters.
_FEWEST = 4


@dataclass(frozen=True, eq=False)
class Alignment:
    """The rows of two tables that belong to the same queries."""

    ids: pd.Index  # the common query ids, in the order of the baseline
    # The row of each common query; None if all rows are common and in the same order.
    baseline_rows: IndexArray | None
    candidate_rows: IndexArray | None
    only_baseline: pd.Index
    only_candidate: pd.Index

    def baseline(self, column: pd.Series) -> np.ndarray:
        """The values of the baseline for the common queries."""
        values, rows = column.to_numpy(), self.baseline_rows
        return values if rows is None else values.take(rows)

    def candidate(self, column: pd.Series) -> np.ndarray:
        """The values of the candidate for the common queries, in the order of the baseline."""
        values, rows = column.to_numpy(), self.candidate_rows
        return values if rows is None else values.take(rows)


def align(baseline: pd.Index, candidate: pd.Index) -> Alignment:
    """Pair two indexes of unique ids.

    Examples
    --------
    >>> pair = align(pd.Index(["a", "b", "c"]), pd.Index(["c", "a", "x"]))
    >>> list(pair.ids), list(pair.only_baseline), list(pair.only_candidate)
    (['a', 'c'], ['b'], ['x'])
    """
    # Two runs over one set mostly have the same ids in the same order: then nothing is looked up or
    # copied.
    if baseline.equals(candidate):
        return Alignment(baseline, None, None, baseline[:0], candidate[:0])
    rows = candidate.get_indexer(baseline)
    common = rows >= 0
    only_candidate = np.ones(len(candidate), dtype=bool)
    only_candidate[rows[common]] = False
    return Alignment(
        baseline[common],
        np.flatnonzero(common),
        rows[common],
        baseline[~common],
        candidate[only_candidate],
    )


# -- metrics on one scale


def check_scales(
    runs: Sequence[str], scores: Sequence[pd.DataFrame], shared: Iterable[tuple[Metric, ...]]
) -> None:
    """Refuse to compare runs whose scores of a shared metric are on different scales.

    Raises
    ------
    DataError
        If the bounds of a metric differ, or those of one run are not known and most of its scores
        are at least 2 where those of another are shares of 1.
    """
    for metrics in shared:
        places = places_on_two_scales(metrics, scores)
        if places is not None:
            first, second = (
                f"{range_text(metrics[place], scores[place])} in {runs[place]!r}"
                for place in places
            )
            raise DataError(
                f"metric {metrics[0].name!r} has scores {first} and {second}, which cannot be "
                "compared. If both are on one scale, say so when loading: "
                f"{bounds_option(metrics[0])}"
            )


def places_on_two_scales(
    metrics: tuple[Metric, ...], scores: Sequence[pd.DataFrame]
) -> list[int] | None:
    """The first two runs with a metric on different scales; None if all are on one."""
    known = [place for place, metric in enumerate(metrics) if metric.bounds is not None]
    for place in known:
        if metrics[place].bounds != metrics[known[0]].bounds:
            return [known[0], place]
    # Of an unknown metric the bounds are only guessed: counts may well be 0 and 1 in one of the
    # runs, but shares in one and larger numbers in the other are two scales.
    share = next((place for place in known if metrics[place].kind == "proportion"), None)
    if share is None or metrics[share].bounds != UNIT:
        return None
    for place, metric in enumerate(metrics):
        if metric.bounds is None and scores[place][metric.name].median() >= LEAST_TOP:
            return sorted((share, place))
    return None


def range_text(metric: Metric, scores: pd.DataFrame) -> str:
    """The bounds of a metric, or else the least and the largest score."""
    low, high = metric.bounds or (scores[metric.name].min(), scores[metric.name].max())
    return f"from {low:g} to {high:g}"


def agree_on_scale(
    metrics: tuple[Metric, ...], scores: Sequence[pd.DataFrame]
) -> tuple[Metric, ...]:
    """A metric as several runs know it, with the same kind and bounds.

    Those of a metric that is not in the catalogue are guessed from the scores of one run, such as 0
    and 1; another run with a score of 0.4 is of another kind, and one with -0.1 has no bounds. The
    widest kind holds for all, and bounds do if no run has scores beyond them.
    """
    first = metrics[0]
    if all(each.kind == first.kind and each.bounds == first.bounds for each in metrics):
        return metrics
    kind = max((metric.kind for metric in metrics), key=KINDS.index)
    bounds = next((metric.bounds for metric in metrics if metric.bounds is not None), None)
    for metric, frame in zip(metrics, scores, strict=True):
        if bounds and metric.bounds is None and not is_within(bounds, frame[metric.name]):
            bounds = None
    return tuple(replace(metric, kind=kind, bounds=bounds) for metric in metrics)


def is_within(bounds: ScoreRange, scores: pd.Series) -> bool:
    """Whether all scores that are known lie within the bounds."""
    low, high = extremes_of(scores.to_numpy(dtype=np.float64))
    return not (low < bounds[0] or high > bounds[1])


# -- rows by a text


@dataclass(frozen=True, eq=False)
class RenamedQueries:
    """An evaluation with the query ids of another one; queries only it has keep their own."""

    name: str
    scores: pd.DataFrame
    details: pd.DataFrame
    metrics: dict[str, Metric]
    config: Mapping[str, Any] = field(default_factory=dict)
    correct_rule: Correct | None = None


def match_queries(evaluation: Scored, to: Scored, on: str) -> RenamedQueries:
    """An evaluation with the query ids that the same texts have in another one.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> ours = RAGPipelineEvaluation("a", {"query_id": ["q1"], "question": ["Why?"], "f1": [1]})
    >>> theirs = RAGPipelineEvaluation("b", {"id": ["x7"], "user_input": [" Why? "], "f1": [0]})
    >>> list(match_queries(theirs, ours, "question").scores.index)
    ['q1']
    """
    return match_all(to, [evaluation], on)[0]


def match_all(first: Scored, others: Sequence[Scored], on: str) -> list[RenamedQueries]:
    """Evaluations with the query ids that the same texts have in the first one.

    `on` is a column of details; "question" stands for all names that frameworks give that column.
    White space and Unicode forms are ignored; the second of two equal texts matches the second. A
    text that the first one lacks has the same id in all others, too.

    Raises
    ------
    UnknownNameError
        If an evaluation has no such column.
    AlignmentError
        If no text occurs in both.
    """
    ids = first.scores.index
    id_by_key: dict[tuple[str, int] | None, str]
    id_by_key = {key: own for key, own in zip(_text_keys(first, on), ids, strict=True) if key}
    keys_of_first, used = frozenset(id_by_key), set(ids)
    renamed = []
    for run in others:
        keys = _text_keys(run, on)
        if keys_of_first.isdisjoint(keys):
            raise AlignmentError(
                f"on={on!r}: {first.name!r} and {run.name!r} have no text in common"
            )
        new_ids = [
            id_by_key[key] if key in id_by_key else _lone_id(run.name, own, used)
            for key, own in zip(keys, run.scores.index, strict=True)
        ]
        id_by_key |= {key: own for key, own in zip(keys, new_ids, strict=True) if key}
        used.update(new_ids)
        index = pd.Index(new_ids, name=QUERY_ID)
        renamed.append(
            RenamedQueries(
                run.name,
                run.scores.set_axis(index, axis=0),
                run.details.set_axis(index, axis=0),
                dict(run.metrics),
                getattr(run, "config", {}),
                getattr(run, "correct_rule", None),
            )
        )
    return renamed


def _lone_id(name: str, own: str, used: Collection[str]) -> str:
    """The id of a query whose text the first run lacks; another query may have its own."""
    return f"{name}:{own}" if own in used else own


def _text_keys(evaluation: Scored, on: str) -> list[tuple[str, int] | None]:
    """The text of each query, and how many before it have the same; None without a text."""
    name = normalise_name(on)
    labels = [str(label) for label in evaluation.details]
    column = first_named(labels, (name, *QUESTION) if name in QUESTION else (name,))
    if column is None:
        raise UnknownNameError(f"detail column of {evaluation.name!r}", on, labels)
    cells = evaluation.details[column].tolist()
    # An empty cell makes floats of whole numbers, in one of the tables.
    whole = [int(c) if isinstance(c, float) and c.is_integer() else c for c in cells]
    texts = pd.Series(["" if is_missing(cell) else plain_text(str(cell)) for cell in whole])
    pairs = zip(texts.tolist(), texts.groupby(texts).cumcount().tolist(), strict=True)
    return [(text, n) if text else None for text, n in pairs]


def same_texts(left: pd.Series, right: pd.Series) -> bool:
    """Whether the cells of two columns have the same texts, row by row.

    Cells are compared as texts because NaN differs from itself and arrays have no single truth
    value. So 1 differs from 1.0, and a missing cell equals another missing one of the same kind.
    """
    if left.dtype == right.dtype and left.dtype != object:
        return left.reset_index(drop=True).equals(right.reset_index(drop=True))
    return len(left) == len(right) and all(map(str.__eq__, map(str, left), map(str, right)))


# -- clusters: a guess becomes a note that says what to pass; it is never applied by itself, because
# only the person who made the queries can say which are independent


def cluster_hint(run: Scored) -> str | None:
    """A note on the first column of the details that looks like clusters; None without one.

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
    """The note on a column that looks like clusters, and on what it counts."""
    return f"{counted}; if these are not independent, pass clusters={column!r}"


def likely_clusters(run: Scored) -> tuple[str, str] | None:
    """The first detail that looks like clusters, and its counts, "12 queries come from 6 chats"."""
    for column in filter(cluster_noun, map(str, run.details.columns)):
        # As texts, because a cell may be a list, which has no hash.
        labels = run.details[column]
        sizes = labels[labels.notna()].map(str).value_counts()
        n_shared = int(sizes[sizes > 1].sum())
        counted = counted_clusters(column, int(sizes.sum()), len(sizes), n_shared)
        if counted is not None:
            return column, counted
    return None


def counted_clusters(column: str, n_queries: int, n_clusters: int, n_shared: int) -> str | None:
    """What a column counts if it looks like clusters; None if it does not.

    `n_shared` queries share their label with another one.
    """
    noun = cluster_noun(column)
    if noun is None or n_clusters < _FEWEST or n_shared < _LEAST_SHARED * n_queries:
        return None
    return f"{n_queries} queries come from {n_clusters} {noun}"
