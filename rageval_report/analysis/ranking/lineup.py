"""Several runs side by side: the queries and the metrics that all of them have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import Clusters, resolve_units, unnamed_clusters
from rageval_report.analysis.pairing import (
    MISSING_TREATMENTS,
    MissingTreatment,
    Pairing,
    check_evaluations,
    notes_on_bounds,
    on_one_scale,
    pair_rows,
    require_bounds,
    twin_of,
)
from rageval_report.analysis.ranking.ranked_columns import MatrixColumns
from rageval_report.errors import (
    MOST_NAMED,
    AlignmentError,
    DataError,
    UnknownNameError,
    check_choice,
    doubts_of,
    named,
)
from rageval_report.scores import Metric, Scored, resolver
from rageval_report.scores.fingerprints import find_rows
from rageval_report.scores.states import not_applicable
from rageval_report.scores.text_matching import match_all
from rageval_report.stats.columns import Column
from rageval_report.stats.units import QUERIES, Units
from rageval_report.types import BoolArray, FloatArray, IndexArray, IntArray


@dataclass(frozen=True, eq=False)
class ScoreBlock:
    """The scores of one metric, one row per common query, one column per pipeline.

    Parameters
    ----------
    metric : Metric
        The metric as the first pipeline knows it.
    names : tuple of str
        The columns: the pipelines that have any score.
    values : ndarray of shape (n_queries, n_pipelines)
        A row that is left out, because a pipeline has no score there, is all NaN.
    unscored : ndarray of int
        The number of common queries that each of these pipelines did not score, of those to which
        the metric applies.
    empty : tuple of str
        The pipelines without any score, which are left out.
    n_not_applicable : int
        The number of common queries to which the metric applies in no pipeline.
    units : Units
        The independent units of the queries.
    """

    metric: Metric
    names: tuple[str, ...]
    values: FloatArray
    unscored: IntArray
    empty: tuple[str, ...] = ()
    n_not_applicable: int = 0
    units: Units = QUERIES

    @property
    def is_complete(self) -> BoolArray:
        """Whether every pipeline scored each row."""
        return ~np.isnan(self.values[:, 0]) if self.names else np.zeros(len(self.values), bool)

    @property
    def complete(self) -> FloatArray:
        """The rows that every pipeline scored."""
        rows = self.is_complete
        return self.values if rows.all() else self.values[rows]

    @cached_property
    def columns(self) -> MatrixColumns:
        """The rows that every pipeline scored, with what a ranking needs of them."""
        return MatrixColumns(self.complete, self.units.select(self.is_complete))

    @property
    def n_units(self) -> int:
        """The number of units of the rows that every pipeline scored."""
        return self.columns.n_units


@dataclass(frozen=True, eq=False)
class Lineup:
    """Runs side by side by query id.

    Parameters
    ----------
    runs : tuple of Scored
        At least two, of different names.
    ids : Index
        The queries that all have, in the order of the first run.
    rows : tuple of ndarray, or None
        The rows of these queries in each run; None if they are all rows in order.
    metrics : dict of str to tuple of Metric
        The metrics that all have, by the first run's name for them, as each run knows them.
    notes : tuple of str
        Notes on queries and metrics that not all runs have.
    missing : {"drop", "worst", "bounds"}
        The treatment of an unscored query.
    units : Units
        The independent units of the common queries.
    """

    runs: tuple[Scored, ...]
    ids: pd.Index
    rows: tuple[IndexArray | None, ...]
    metrics: dict[str, tuple[Metric, ...]]
    notes: tuple[str, ...]
    missing: MissingTreatment = "drop"
    units: Units = QUERIES

    @property
    def names(self) -> tuple[str, ...]:
        """The pipelines' names."""
        return tuple(run.name for run in self.runs)

    @property
    def n_queries(self) -> int:
        """The number of queries that all have."""
        return len(self.ids)

    def scores(self, name: str) -> FloatArray:
        """The scores of one metric, one column per pipeline, NaN if unscored."""
        # Column-major, because each column is written, and later read, as a whole.
        matrix = np.empty((len(self.ids), len(self.runs)), order="F")
        for column, (run, rows, metric) in enumerate(
            zip(self.runs, self.rows, self.metrics[name], strict=True)
        ):
            values = run.scores[metric.name].to_numpy()
            matrix[:, column] = values if rows is None else values.take(rows)
        return matrix

    def extreme_means(self, metric: Metric, pipeline: str) -> tuple[float, float]:
        """The mean of all common queries if missing scores were as low, or high, as they can be.

        Parameters
        ----------
        metric : Metric
            As the first run knows it.
        pipeline : str
            The name of the run.
        """
        scores = self.scores(metric.name)[:, self.names.index(pipeline)]
        low, high = (Column.of(column).mean for column in filled_with_bounds(scores, metric))
        return low, high

    def block(self, name: str) -> ScoreBlock:
        """The scores of one metric on the queries that every pipeline scored.

        A pipeline without any score is left out; else no query would be scored by all.
        """
        scores = self.scores(name)
        applies = self._applies(name) if np.isnan(scores).any() else None
        return self.block_of(self.metrics[name][0], scores, applies)

    def _applies(self, name: str) -> BoolArray:
        """Whether a metric applies to each common query, by the states of any pipeline."""
        applies = np.zeros(len(self.ids), dtype=bool)
        for run, rows, metric in zip(self.runs, self.rows, self.metrics[name], strict=True):
            does_not = not_applicable(run.scores[metric.name], run.details, metric.name)
            applies |= ~(does_not if rows is None else does_not.take(rows))
        return applies

    def block_of(
        self, metric: Metric, scores: FloatArray, applies: BoolArray | None = None
    ) -> ScoreBlock:
        """The same for scores that are not a column of the pipelines.

        Parameters
        ----------
        metric : Metric
            The metric of the scores.
        scores : ndarray of shape (n_queries, n_pipelines)
            NaN where unscored.
        applies : ndarray of bool, optional
            Whether the metric applies to each query; to all if omitted.
        """
        is_missing = np.isnan(scores)
        has_any: BoolArray = np.any(~is_missing, axis=0)
        is_unscored = is_missing if applies is None else is_missing & applies[:, None]
        unscored = is_unscored.sum(axis=0)[has_any]
        with_scores = scores[:, has_any] if not has_any.all() else scores
        names = list(zip(self.names, has_any.tolist(), strict=True))
        return ScoreBlock(
            metric,
            tuple(pipeline for pipeline, is_scored in names if is_scored),
            treat_missing(with_scores, metric, self.missing, applies),
            unscored,
            tuple(pipeline for pipeline, is_scored in names if not is_scored),
            0 if applies is None else int((~applies).sum()),
            self.units,
        )


def treat_missing(
    scores: FloatArray,
    metric: Metric,
    missing: MissingTreatment,
    applies: BoolArray | None = None,
) -> FloatArray:
    """The scores with missing ones as the worst possible, or with their rows left out.

    Parameters
    ----------
    scores : ndarray of shape (n_queries, n_pipelines)
        NaN where unscored.
    metric : Metric
        What decides the worst score.
    missing : {"drop", "worst", "bounds"}
        The treatment.
    applies : ndarray of bool, optional
        Whether the metric applies to each query; to all if omitted.

    Returns
    -------
    ndarray of shape (n_queries, n_pipelines)
        A row that is left out is all NaN.
    """
    is_missing = np.isnan(scores)
    if not is_missing.any():
        return scores
    if missing == "worst":
        worst = require_bounds(metric)[0 if metric.greater_is_better else 1]
        fills = is_missing if applies is None else is_missing & applies[:, None]
        return np.where(fills, worst, scores)
    complete = scores.copy(order="F")
    complete[is_missing.any(axis=1)] = np.nan
    return complete


def filled_with_bounds(scores: FloatArray, metric: Metric) -> tuple[FloatArray, FloatArray]:
    """The scores with missing ones as low, and as high, as they can be."""
    is_missing = np.isnan(scores)
    low, high = (np.where(is_missing, bound, scores) for bound in require_bounds(metric))
    return low, high


def line_up(
    evaluations: Iterable[Scored],
    *,
    missing: MissingTreatment = "drop",
    on: str | None = None,
    clusters: Clusters | None = None,
) -> Lineup:
    """Put runs side by side.

    Parameters
    ----------
    evaluations : iterable of Scored
        At least two, each with its own name.
    missing : {"drop", "worst", "bounds"}
        The treatment of an unscored query.
    on : str, optional
        A column of texts that matches queries with those of the first run.
    clusters : str, Series or mapping, optional
        A detail column of the first run, or labels by query id.

    Raises
    ------
    DataError
        If there are fewer than two, two have the same name, or one is not an evaluation.
    AlignmentError
        If they share no query, or no metric.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> ours = RAGPipelineEvaluation("a", {"query_id": ["q1", "q2"], "f1": [0.5, 1], "mrr": [1, 1]})
    >>> theirs = RAGPipelineEvaluation("b", {"query_id": ["q2", "q3"], "f1": [0.25, 1]})
    >>> both = line_up([ours, theirs])
    >>> both.scores("f1")
    array([[1.  , 0.25]])
    >>> both.notes[1]
    "metrics that not every pipeline has are left out: 'mrr'"
    """
    runs = tuple(evaluations)
    _check_runs(runs)
    check_choice("missing", missing, MISSING_TREATMENTS)
    first = runs[0]
    others = list(runs[1:]) if on is None else match_all(first, runs[1:], on)
    pairings = [pair_rows(first, run) for run in others]
    ids, moved = _common_ids(first, pairings)
    metrics = common_metrics((first, *others))
    is_common = np.asarray(first.scores.index.isin(ids), dtype=bool)
    units = resolve_units(first, clusters, is_common)
    hints = unnamed_clusters(first, clusters)
    return Lineup(
        runs=(first, *others),
        ids=ids,
        rows=moved,
        metrics=metrics,
        notes=(*doubts_of((first, *others)), *hints, *_notes((first, *others), ids, metrics)),
        missing=missing,
        units=units.select(is_common),
    )


def _check_runs(runs: tuple[Scored, ...]) -> None:
    check_evaluations(runs, "rank(*runs)")
    check_several([run.name for run in runs])


def check_several(names: Sequence[str]) -> None:
    """Refuse fewer than two pipelines.

    Raises
    ------
    DataError
        If there are fewer.
    """
    if len(names) < 2:
        got = f"only {names[0]!r}" if names else "none"
        raise DataError(f"rank needs at least two pipelines; got {got}")


def _common_ids(
    first: Scored, pairings: list[Pairing]
) -> tuple[pd.Index, tuple[IndexArray | None, ...]]:
    ids = first.scores.index
    # None stands for all rows in order: runs over one file of queries need no look-up.
    if all(pairing.alignment.baseline_rows is None for pairing in pairings):
        return ids, (None,) * (len(pairings) + 1)
    in_all = np.ones(len(ids), dtype=bool)
    for pairing in pairings:
        rows = pairing.alignment.baseline_rows
        if rows is not None:
            in_pair = np.zeros(len(ids), dtype=bool)
            in_pair[rows] = True
            in_all &= in_pair
    common = ids[in_all]
    if not len(common):
        raise AlignmentError(
            f"no query is in all {len(pairings) + 1} pipelines, though each shares some with "
            f"{first.name!r}; rank fewer of them, or compare them two by two"
        )
    indexes = [first.scores.index, *(pairing.candidate.scores.index for pairing in pairings)]
    return common, tuple(find_rows(index, common) for index in indexes)


def common_metrics(runs: Sequence[Scored]) -> dict[str, tuple[Metric, ...]]:
    """The metrics that all pipelines have, by the first one's name, as each pipeline knows them.

    Each has the kind and the bounds that hold for all pipelines.

    Parameters
    ----------
    runs : sequence of Scored
        The pipelines.

    Raises
    ------
    AlignmentError
        If there are none.
    DataError
        If two pipelines disagree on the direction or the scale of a metric.
    """
    first, *others = runs
    known = [
        (metric, *(twin for other in others if (twin := twin_of(metric, other))))
        for metric in first.metrics.values()
    ]
    shared = [metrics for metrics in known if len(metrics) == len(runs)]
    if not shared:
        raise AlignmentError(
            f"no metric is in all {len(runs)} pipelines, though each shares some with "
            f"{first.name!r}; rank fewer of them, or compare them two by two"
        )
    return {metrics[0].name: metrics for metrics in on_one_scale(runs, shared)}


def _notes(
    runs: tuple[Scored, ...], ids: pd.Index, metrics: dict[str, tuple[Metric, ...]]
) -> Iterable[str]:
    if any(len(run.scores) > len(ids) for run in runs):
        alone = dict.fromkeys(i for run in runs for i in run.scores.index.difference(ids))
        yield note_on_lone_queries([*alone], len(alone))
    yield from note_on_lone_metrics(runs, metrics)
    yield from notes_on_bounds(runs, metrics.values())


def note_on_lone_queries(ids: Sequence[str], n: int) -> str:
    """The note on queries that not every pipeline has.

    Parameters
    ----------
    ids : sequence of str
        The ids, or the first of them.
    n : int
        Their number.

    Examples
    --------
    >>> note_on_lone_queries(["q1", "q2"], 2)
    "2 queries are not in every pipeline, and are left out: 'q1', 'q2'"
    """
    several = "queries are not in every pipeline, and are"
    what = "query that not every pipeline has is" if n == 1 else several
    shown = ids[:MOST_NAMED]
    more = f" and {n - len(shown)} more" if n > len(shown) else ""
    return f"{n} {what} left out: {named(shown)}{more}"


def note_on_lone_metrics(
    runs: Sequence[Scored], metrics: Mapping[str, tuple[Metric, ...]]
) -> Iterator[str]:
    """The note on metrics that not every pipeline has, if there are any."""
    shared = [{known[place].name for known in metrics.values()} for place in range(len(runs))]
    alone_in = [
        name
        for run, known in zip(runs, shared, strict=True)
        for name in run.metrics
        if name not in known
    ]
    if alone_in:
        names = named(dict.fromkeys(alone_in), 10)
        yield f"metrics that not every pipeline has are left out: {names}"


def choose_shared_metrics(
    first: Mapping[str, Metric],
    shared: Mapping[str, tuple[Metric, ...]],
    metrics: str | Iterable[str] | None,
) -> list[str]:
    """The metrics by any of their names; all that the pipelines share if `metrics` is None.

    Parameters
    ----------
    first : mapping of str to Metric
        The metrics of the first pipeline.
    shared : mapping of str to tuple of Metric
        Those that every pipeline has.
    metrics : str or iterable of str, optional
        What the caller chose.

    Raises
    ------
    UnknownNameError
        If a name is not a metric that every pipeline has.
    """
    if metrics is None:
        return list(shared)
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    resolve = resolver(first)
    chosen = list(dict.fromkeys(resolve(name) for name in names))
    for name in chosen:
        if name not in shared:
            raise UnknownNameError("metric of every pipeline", name, shared)
    return chosen
