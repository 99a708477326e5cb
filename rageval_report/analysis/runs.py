"""Runs of a pipeline: their time and configuration, and what differs between two of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Self

import pandas as pd

from rageval_report.analysis.arguments import Clusters, EvaluationSubset, is_scan, resolve_units
from rageval_report.analysis.paired_metric import ComparisonPlan, MetricComparison, PairedMetric
from rageval_report.analysis.pairing import PairedRuns, Pairing, compared_rows, twin_of
from rageval_report.analysis.tables import PipelineTable, table_of
from rageval_report.scores import Metric, Scored
from rageval_report.scores.align import align, places_on_two_scales, range_text
from rageval_report.scores.run_file import query_set, query_set_hash
from rageval_report.scores.saved_columns import plain_value

UNKNOWN = "unknown"
_LONGEST = 40


@dataclass(frozen=True, eq=False)
class DatedRun:
    """A run of a history: an evaluation with its own name, its time and its configuration.

    Parameters
    ----------
    name : str
        Unique in its history.
    evaluation : Scored
        The scores, in memory or a scan.
    created : datetime, optional
        The time of the run.
    config : mapping of str to object
        The configuration; unknown fields are absent. Names of nested fields contain dots.
    query_set : str
        The hash of its query ids and references.
    """

    name: str
    evaluation: Scored
    created: datetime | None
    config: Mapping[str, Any]
    query_set: str

    @classmethod
    def of(
        cls,
        evaluation: Any,
        *,
        name: str | None = None,
        created: datetime | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> Self:
        """A run from an evaluation, named like it if the name is omitted.

        Examples
        --------
        >>> from rageval_report import RAGPipelineEvaluation
        >>> scores = RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "recall": [0.5]})
        >>> DatedRun.of(scores, config={"retriever": {"top_k": 5}}).config
        {'retriever.top_k': 5}
        """
        queries = evaluation.queries() if is_scan(evaluation) else evaluation
        flat = dict(_flat(config or {}))
        return cls(name or evaluation.name, evaluation, created, flat, query_set_hash(queries))

    @property
    def table(self) -> PipelineTable:
        """The scores as columns."""
        return table_of(self.evaluation)

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """The description of each metric."""
        return self.evaluation.metrics

    def metric(self, known: Metric) -> Metric | None:
        """A metric as this run knows it, by its name or else its meaning; None without it."""
        return twin_of(known, self.evaluation)


def _flat(config: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in config.items():
        # An empty mapping is a value of its own; without fields inside, its own would vanish.
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", plain_value(value)


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field that differs between two runs as text, or that one of them does not have."""

    field: str
    before: str
    after: str
    is_known: bool = True

    def __str__(self) -> str:
        if self.before == self.after == UNKNOWN:
            return f"{self.field}: {UNKNOWN}"
        return f"{self.field}: {self.before} → {self.after}"


def config_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], fields: Iterable[str]
) -> list[FieldChange]:
    """The fields that differ between two configurations, or that one of them does not have.

    Examples
    --------
    >>> changes = config_changes({"k": 5, "model": "a"}, {"k": 10}, ["k", "model", "seed"])
    >>> [str(change) for change in changes]
    ['k: 5 → 10', 'model: a → unknown', 'seed: unknown']
    """
    changes = []
    for field in fields:
        is_known = field in before and field in after
        if not is_known or before[field] != after[field]:
            texts = []
            for config in (before, after):
                text = " ".join(str(config.get(field, UNKNOWN)).split())
                texts.append(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")
            changes.append(FieldChange(field, texts[0], texts[1], is_known))
    return changes


def fields_of(runs: Iterable[DatedRun]) -> list[str]:
    """The fields of all runs, in the order of first appearance."""
    return list(dict.fromkeys(field for run in runs for field in run.config))


def measurement_changes(
    before: DatedRun, after: DatedRun, metric: Metric, fixed: Iterable[str]
) -> list[FieldChange]:
    """The changes that prevent a comparison on a metric, and those that may, being unknown."""
    changes = config_changes(before.config, after.config, fixed)
    ours, theirs = before.metric(metric), after.metric(metric)
    if ours is None or theirs is None:
        return changes
    if ours.greater_is_better != theirs.greater_is_better:
        way = {True: "higher is better", False: "lower is better"}
        old, new = way[ours.greater_is_better], way[theirs.greater_is_better]
        changes.append(FieldChange("direction", old, new))
    if ours.bounds and theirs.bounds and tuple(ours.bounds) != tuple(theirs.bounds):
        changes.append(FieldChange("bounds", str(ours.bounds), str(theirs.bounds)))
    else:
        scores = before.table.sample.scores, after.table.sample.scores
        if places_on_two_scales((ours, theirs), scores):
            old, new = map(range_text, (ours, theirs), scores)
            changes.append(FieldChange("scale", old, new))
    return changes


# -- two runs on the queries that are the same in both


@dataclass(frozen=True, eq=False)
class SameQueries:
    """Two runs in memory on the queries that have the same id and the same reference in both."""

    before: DatedRun
    after: DatedRun

    @property
    def gold_set(self) -> str:
        """How the gold set changed, in words; empty if it is the same."""
        if self.before.query_set == self.after.query_set:
            return ""
        counts = zip(("added", "removed", "with another reference"), self._changes(), strict=True)
        return "query set: " + ", ".join(f"{n} {what}" for what, n in counts if n)

    @property
    def n_same(self) -> int:
        """The number of the queries that are the same."""
        return self._pairing.n_common

    def compare(
        self,
        metrics: Sequence[tuple[Metric, Metric]],
        plan: ComparisonPlan,
        clusters: Clusters | None,
    ) -> list[MetricComparison]:
        """The test of some metrics, as either run knows them."""
        pairing, own = self._paired(metrics, plan, clusters)
        pairs = [PairedMetric.of(pairing, ours, theirs, own) for ours, theirs in metrics]
        return [pair.tested(own) for pair in pairs]

    def _paired(
        self,
        metrics: Sequence[tuple[Metric, Metric]],
        plan: ComparisonPlan,
        clusters: Clusters | None,
    ) -> tuple[PairedRuns, ComparisonPlan]:
        """The pairs of some metrics, and the settings with the units of this pair of runs."""
        del metrics
        units = resolve_units(self.before.evaluation, clusters, compared_rows([self._pairing]))
        return self._pairing, replace(plan, units=units)

    def _changes(self) -> tuple[int, int, int]:
        """The number of queries that are new, gone, and kept with another reference."""
        ids, others = (run.evaluation.scores.index for run in (self.before, self.after))
        common = len(ids.intersection(others))
        return len(others) - common, len(ids) - common, common - len(self._same_ids)

    @cached_property
    def _same_ids(self) -> pd.Index:
        ids = self.before.evaluation.scores.index
        if self.before.query_set == self.after.query_set:
            return ids
        later = frozenset(query_set(self.after.evaluation))
        return ids[[query in later for query in query_set(self.before.evaluation)]]

    @cached_property
    def _pairing(self) -> Pairing:
        before, after = (
            EvaluationSubset(run.name, own.scores, own.details, dict(own.metrics))
            for run in (self.before, self.after)
            for own in (run.evaluation,)
        )
        alignment, same = align(before.scores.index, after.scores.index), self._same_ids
        if len(same) < len(alignment.ids):
            scores, details = after.scores.loc[same], after.details.loc[same]
            after = replace(after, scores=scores, details=details)
            alignment = align(before.scores.index, same)
        return Pairing(before, after, [], alignment)


def pair_of(before: DatedRun, after: DatedRun) -> SameQueries:
    """Two runs on the queries that are the same in both; scans pair by their engine.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> runs = [
    ...     DatedRun.of(RAGPipelineEvaluation("hybrid", {"query_id": ids, "recall": [0.5, 1.0]}))
    ...     for ids in (["a", "b"], ["b", "c"])
    ... ]
    >>> pair_of(*runs).gold_set
    'query set: 1 added, 1 removed'
    """
    scan: Any = before.evaluation
    return scan.run_beside(before, after) if is_scan(scan) else SameQueries(before, after)
