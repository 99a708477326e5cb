"""Several runs side by side: the queries and metrics that all have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.analysis import pairing
from rageval_report.analysis.arguments import Clusters, pick, resolve_units, unnamed_clusters
from rageval_report.errors import (
    MOST_NAMED,
    AlignmentError,
    DataError,
    UnknownNameError,
    check_choice,
    doubts_of,
    named,
)
from rageval_report.scores import Metric, Scored, align, states
from rageval_report.stats import many_pairs
from rageval_report.stats.columns import Column
from rageval_report.stats.pairs import Pairs
from rageval_report.stats.units import (
    QUERIES,
    ClusteredStandardError,
    Units,
    clustered_standard_error,
)
from rageval_report.types import BoolArray, FloatArray, IndexArray, IntArray


@dataclass(frozen=True, eq=False, kw_only=True)
class RankedBlock:
    """One metric on the queries that every pipeline scored, in memory or of scans.

    Both have ``columns``, the scores of each pipeline, ``pairs`` and ``error``.
    """

    metric: Metric
    names: tuple[str, ...]
    unscored: IntArray
    empty: tuple[str, ...] = ()
    n_not_applicable: int = 0
    units: Units = QUERIES

    @property
    def n(self: Any) -> int:
        """The number of these queries."""
        return int(self.columns[0].n) if self.columns else 0

    @property
    def n_units(self: Any) -> int:
        """The number of their independent units."""
        return int(self.pairs[0].n) if self.pairs else 0

    @cached_property
    def means(self: Any) -> FloatArray:
        """The mean of each column."""
        return np.array([column.mean for column in self.columns])

    @property
    def tie(self: Any) -> float:
        """The largest difference between two scores that is only rounding."""
        return many_pairs.rounding_tie(
            max(max(-each.minimum, each.maximum) for each in self.columns)
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoreBlock(RankedBlock):
    """The scores of one metric: one row per common query, one column per pipeline."""

    values: FloatArray

    @cached_property
    def is_complete(self) -> BoolArray:
        """Whether every pipeline scored each row."""
        return ~np.isnan(self.values[:, 0]) if self.names else np.zeros(len(self.values), bool)

    @cached_property
    def complete(self) -> FloatArray:
        """The rows that every pipeline scored."""
        return self.values if self.is_complete.all() else self.values[self.is_complete]

    @cached_property
    def _units(self) -> Units:
        return self.units.select(self.is_complete)

    @property
    def n_units(self) -> int:
        """The number of independent units of these rows."""
        return self._units.count(len(self.complete))

    @cached_property
    def columns(self) -> list[Column]:
        """The scores of each pipeline."""
        return [Column.of(column) for column in self.complete.T]

    @property
    def pairs(self) -> list[Pairs]:
        """All pairs; not kept, because those of all metrics may be large."""
        return many_pairs.pairs_of_columns(self.complete, units=self._units)

    def error(self, place: int) -> ClusteredStandardError | None:
        """The standard error of the mean of a column by clusters."""
        return clustered_standard_error(self.complete[:, place], np.asarray(self._units.codes))


@dataclass(frozen=True, eq=False)
class Lineup:
    """Runs side by side by query id."""

    runs: tuple[Scored, ...]
    ids: pd.Index
    rows: tuple[IndexArray | None, ...]
    metrics: dict[str, tuple[Metric, ...]]
    notes: tuple[str, ...] = ()
    missing: pairing.MissingTreatment = "drop"
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
        for column, (run, rows, metric) in enumerate(self._sides(name)):
            values = run.scores[metric.name].to_numpy()
            matrix[:, column] = values if rows is None else values.take(rows)
        return matrix

    def block(self, name: str) -> ScoreBlock:
        """The scores of one metric on the queries that every pipeline scored."""
        scores, applies = self.scores(name), None
        if np.isnan(scores).any():
            applies = np.zeros(len(self.ids), dtype=bool)
            for run, rows, metric in self._sides(name):
                does_not = states.not_applicable(run.scores[metric.name], run.details, metric.name)
                applies |= ~(does_not if rows is None else does_not.take(rows))
        return self.block_of(self.metrics[name][0], scores, applies)

    def block_of(
        self, metric: Metric, scores: FloatArray, applies: BoolArray | None = None
    ) -> ScoreBlock:
        """The same for scores that are not a column of the pipelines, NaN where unscored."""
        is_missing = np.isnan(scores)
        has_any: BoolArray = np.any(~is_missing, axis=0)
        is_unscored = is_missing if applies is None else is_missing & applies[:, None]
        if not has_any.all():
            scores, is_missing = scores[:, has_any], is_missing[:, has_any]
        if is_missing.any():
            if self.missing == "worst" and is_unscored[:, has_any].any():
                worst = pairing.require_bounds(metric)[0 if metric.greater_is_better else 1]
                scores = np.where(is_unscored[:, has_any], worst, scores)
            else:
                scores = scores.copy(order="F")
                scores[is_missing.any(axis=1)] = np.nan
        return ScoreBlock(
            metric=metric,
            names=tuple(compress(self.names, has_any)),
            values=scores,
            unscored=is_unscored.sum(axis=0)[has_any],
            empty=tuple(compress(self.names, ~has_any)),
            n_not_applicable=0 if applies is None else int((~applies).sum()),
            units=self.units,
        )

    def _sides(self, name: str) -> Iterator[tuple[Scored, IndexArray | None, Metric]]:
        return zip(self.runs, self.rows, self.metrics[name], strict=True)


def line_up(
    evaluations: Iterable[Scored],
    *,
    missing: pairing.MissingTreatment = "drop",
    on: str | None = None,
    clusters: Clusters | None = None,
) -> Lineup:
    """Put runs side by side; the keywords are those of `rank`."""
    runs = pairing.check_evaluations(tuple(evaluations), "rank(*runs)", "evaluations")
    check_several([run.name for run in runs])
    check_choice("missing", missing, pairing.MISSING_TREATMENTS)
    first = runs[0]
    others = list(runs[1:]) if on is None else align.match_all(first, runs[1:], on)
    runs = (first, *others)
    pairs = [pairing.pair_rows(first, run) for run in others]
    ids = first.scores.index
    is_common = np.ones(len(ids), dtype=bool)
    for pair in pairs:
        if pair.alignment.baseline_rows is not None:
            is_common &= np.isin(np.arange(len(ids)), pair.alignment.baseline_rows)
    rows: tuple[IndexArray | None, ...] = (None,) * len(runs)
    # None stands for all rows in order: runs over one file of queries need no look-up.
    if any(pair.alignment.baseline_rows is not None for pair in pairs):
        ids = ids[is_common]
        rows = tuple(run.scores.index.get_indexer(ids) for run in runs)
    if not len(ids):
        raise AlignmentError(_NOTHING_SHARED.format("query", len(runs), first.name))
    metrics = common_metrics(runs)
    notes = [*doubts_of(runs), *unnamed_clusters(first, clusters)]
    if any(len(run.scores) > len(ids) for run in runs):
        alone = dict.fromkeys(i for run in runs for i in run.scores.index.difference(ids))
        notes.append(note_on_lone_queries([*alone], len(alone)))
    notes += note_on_lone_metrics(runs, metrics)
    units = resolve_units(first, clusters, is_common).select(is_common)
    return Lineup(runs, ids, rows, metrics, tuple(notes), missing, units)


_NOTHING_SHARED = (
    "no {} is in all {} pipelines, though each shares some with {!r}; rank fewer of them, or "
    "compare them two by two"
)


def check_several(names: Sequence[str]) -> None:
    """Refuse fewer than two pipelines."""
    if len(names) < 2:
        got = f"only {names[0]!r}" if names else "none"
        raise DataError(f"rank needs at least two pipelines; got {got}")


def common_metrics(runs: Sequence[Scored]) -> dict[str, tuple[Metric, ...]]:
    """The metrics that all pipelines have, by the first one's name, as each pipeline knows them."""
    first, *others = runs
    known = [
        (metric, *(twin for other in others if (twin := pairing.twin_of(metric, other))))
        for metric in first.metrics.values()
    ]
    shared = [metrics for metrics in known if len(metrics) == len(runs)]
    if not shared:
        raise AlignmentError(_NOTHING_SHARED.format("metric", len(runs), first.name))
    return {metrics[0].name: metrics for metrics in pairing.on_one_scale(runs, shared)}


def note_on_lone_queries(ids: Sequence[str], n: int) -> str:
    """The note on n queries that not every pipeline has, from the first ids of them."""
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
    sides = zip(runs, shared, strict=True)
    alone = dict.fromkeys(name for run, known in sides for name in run.metrics if name not in known)
    if alone:
        yield f"metrics that not every pipeline has are left out: {named(alone, 10)}"


def choose_shared_metrics(
    first: Mapping[str, Metric],
    shared: Mapping[str, tuple[Metric, ...]],
    metrics: str | Iterable[str] | None,
) -> list[str]:
    """The shared metrics by any of their names; all of them if `metrics` is None."""
    if metrics is None:
        return list(shared)
    chosen = list(dict.fromkeys(metric.name for metric in pick(first, metrics)))
    for name in chosen:
        if name not in shared:
            raise UnknownNameError("metric of every pipeline", name, shared)
    return chosen
