"""What changed from one run to another: its configuration, its gold set, how it was measured.

A field that a run does not have is unknown, and never assumed to be equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

import pandas as pd

from rageval_report.analysis.arguments import Clusters, engine_setting, is_scan, unnamed_clusters
from rageval_report.analysis.history.run_pairs import LoadedPair, PairedRuns
from rageval_report.analysis.history.watched_scores import (
    BatchClusters,
    ReferenceScores,
    WatchedBatch,
    WatchedBets,
    WatchedName,
    batch_of,
    clusters_in_memory,
    reference_of,
)
from rageval_report.analysis.paired_metric import ComparisonPlan
from rageval_report.analysis.pairing import twin_of
from rageval_report.analysis.summary import summarise
from rageval_report.analysis.tables import PipelineTable, table_of
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored
from rageval_report.scores.align import places_on_two_scales, range_text
from rageval_report.scores.run_file import plain_value, query_set_hash

UNKNOWN = "unknown"

# Words in the name of a field that says how answers were measured, not how they were generated.
_OF_MEASUREMENT = frozenset(
    "judge judges evaluator evaluators grader dataset datasets split gold qrels testset".split()
)
_WORDS = re.compile(r"[a-z]+")
_LONGEST = 40
_SHORT_HASH = 8


@dataclass(frozen=True, eq=False)
class DatedRun:
    """A run of a history: an evaluation with its own name, its time and its configuration.

    Parameters
    ----------
    name : str
        Unique in its history.
    evaluation : Scored
        The scores.
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
        """A run from an evaluation.

        Parameters
        ----------
        evaluation : Scored
            The scores.
        name : str, optional
            The evaluation's name if omitted.
        created, config
            As in the class.

        Examples
        --------
        >>> from rageval_report import RAGPipelineEvaluation
        >>> scores = RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "recall": [0.5]})
        >>> DatedRun.of(scores, config={"retriever": {"top_k": 5}}).config
        {'retriever.top_k': 5}
        """
        return cls(
            name or evaluation.name,
            evaluation,
            created,
            flat_config(config or {}),
            query_set_hash(evaluation.queries() if is_scan(evaluation) else evaluation),
        )

    @property
    def table(self) -> PipelineTable:
        """The scores as columns."""
        return table_of(self.evaluation)

    @property
    def short_query_set(self) -> str:
        """The first characters of the hash, for tables."""
        return self.query_set[:_SHORT_HASH]

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return self.table.n_queries

    def n_unscored(self, metric: Metric) -> int:
        """The number of queries without a score.

        Parameters
        ----------
        metric : Metric
            As this run knows it.
        """
        return self.table.n_queries - self.table.column(metric).n

    def summary(
        self, metrics: Sequence[Metric], plan: ComparisonPlan, clusters: Clusters | None
    ) -> Result:
        """The mean of each metric with its interval.

        Parameters
        ----------
        metrics : sequence of Metric
            As this run knows them.
        plan : ComparisonPlan
            The confidence level, the number of resamples and the seed.
        clusters : str, Series or mapping, optional
            Queries that belong together.
        """
        return summarise(
            self.evaluation,
            metrics=[metric.name for metric in metrics],
            percentiles=(),
            confidence_level=plan.confidence_level,
            n_resamples=plan.n_resamples,
            seed=plan.seed,
            clusters=clusters,
        )

    def beside(self, after: DatedRun) -> PairedRuns:
        """Pair the run with a later one, on the queries that are the same in both.

        Parameters
        ----------
        after : DatedRun
            The later run.
        """
        if is_scan(self.evaluation):
            scan: Any = self.evaluation
            pair: PairedRuns = scan.run_beside(self, after)
            return pair
        return LoadedPair(self, after)

    def reference_scores(
        self, metrics: Sequence[Metric], by: str | None, clusters: Clusters | None
    ) -> dict[WatchedName, ReferenceScores]:
        """What monitoring knows of a run that was good, by metric and slice.

        Parameters
        ----------
        metrics : sequence of Metric
            As this run knows them.
        by : str, optional
            A column of details, whose groups are slices too.
        clusters : str, Series or mapping, optional
            Queries that belong together.
        """
        return reference_of(self.evaluation, metrics, by, clusters)

    def watched_batch(
        self, bets: Sequence[WatchedBets], by: str | None, clusters: Clusters | None
    ) -> WatchedBatch:
        """What monitoring knows of a later run.

        Parameters
        ----------
        bets : sequence of WatchedBets
            What is watched, and how.
        by, clusters
            As in `reference_scores`.
        """
        return batch_of(self.evaluation, bets, by, clusters)

    def batch_clusters(self, clusters: Clusters) -> BatchClusters:
        """The clusters that the run has."""
        return clusters_in_memory(self.evaluation, clusters)

    def cluster_notes(self, clusters: Clusters | None) -> tuple[str, ...]:
        """A note on a column that looks like clusters, if none were named."""
        return unnamed_clusters(self.evaluation, clusters)

    def engine_setting(self) -> dict[str, object]:
        """What read the files of a scan; nothing for scores in memory."""
        return engine_setting(self.evaluation)

    @property
    def scores(self) -> pd.DataFrame:
        """One row per query, one column per metric."""
        return self.evaluation.scores

    @property
    def details(self) -> pd.DataFrame:
        """The other columns of the queries."""
        return self.evaluation.details

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """The description of each metric."""
        return self.evaluation.metrics

    def metric(self, known: Metric) -> Metric | None:
        """A metric as this run knows it, by its name or else its meaning; None without it."""
        return twin_of(known, self.evaluation)


def flat_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a configuration; names of nested fields contain dots.

    Examples
    --------
    >>> flat_config({"retriever": {"top_k": 5}})
    {'retriever.top_k': 5}
    """
    return dict(_flat(config))


def _flat(config: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in config.items():
        # An empty mapping is a value of its own; without fields inside, its own would vanish.
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", plain_value(value)


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field that differs between two runs, or that one of them does not have.

    Parameters
    ----------
    field : str
        Its name.
    before, after : str
        Its values as text; "unknown" if the run does not have it.
    is_known : bool
        Whether both runs have it.
    """

    field: str
    before: str
    after: str
    is_known: bool

    def __str__(self) -> str:
        if self.before == self.after == UNKNOWN:
            return f"{self.field}: {UNKNOWN}"
        return f"{self.field}: {self.before} → {self.after}"


def config_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], fields: Iterable[str]
) -> list[FieldChange]:
    """The fields that differ between two configurations, or that one of them does not have.

    Parameters
    ----------
    before, after : mapping of str to object
        Two configurations.
    fields : iterable of str
        The fields to compare.

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
            old, new = _value_text(before, field), _value_text(after, field)
            changes.append(FieldChange(field, old, new, is_known))
    return changes


def _value_text(config: Mapping[str, Any], field: str) -> str:
    if field not in config:
        return UNKNOWN
    text = " ".join(str(config[field]).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def is_of_measurement(field: str) -> bool:
    """Whether a field says how answers were measured, judging by its name.

    Examples
    --------
    >>> is_of_measurement("judge_model"), is_of_measurement("retriever.model")
    (True, False)
    """
    return not _OF_MEASUREMENT.isdisjoint(_WORDS.findall(field.lower()))


def fields_of(runs: Iterable[DatedRun]) -> list[str]:
    """The fields of all runs, in the order of first appearance."""
    return list(dict.fromkeys(field for run in runs for field in run.config))


def measurement_changes(
    before: DatedRun, after: DatedRun, metric: Metric, fixed: Iterable[str]
) -> list[FieldChange]:
    """The changes that prevent a comparison on a metric, and those that may, being unknown.

    Parameters
    ----------
    before, after : DatedRun
        Two runs that both have the metric.
    metric : Metric
        The metric.
    fixed : iterable of str
        The fields of the configuration that must be equal for scores to mean the same.
    """
    changes = config_changes(before.config, after.config, fixed)
    ours, theirs = before.metric(metric), after.metric(metric)
    if ours is None or theirs is None:
        return changes
    if ours.greater_is_better != theirs.greater_is_better:
        changes.append(
            FieldChange("direction", _direction_text(ours), _direction_text(theirs), is_known=True)
        )
    if ours.bounds and theirs.bounds and tuple(ours.bounds) != tuple(theirs.bounds):
        changes.append(FieldChange("bounds", str(ours.bounds), str(theirs.bounds), is_known=True))
    else:
        scores = before.table.sample.scores, after.table.sample.scores
        if places_on_two_scales((ours, theirs), scores):
            old, new = map(range_text, (ours, theirs), scores)
            changes.append(FieldChange("scale", old, new, is_known=True))
    return changes


def _direction_text(metric: Metric) -> str:
    return "higher is better" if metric.greater_is_better else "lower is better"


def run_row(before: DatedRun | None, run: DatedRun, fields: Sequence[str]) -> dict[str, object]:
    """The row of a run in the table of changes.

    Parameters
    ----------
    before : DatedRun or None
        The previous run; None for the first.
    run : DatedRun
        The run.
    fields : sequence of str
        The fields of all runs.
    """
    moment = run.created
    row: dict[str, object] = {
        "run": run.name,
        "created": None if moment is None else moment.isoformat(sep=" ", timespec="minutes"),
        "pipeline": run.evaluation.name,
        "n_queries": run.n_queries,
        "query_set": run.short_query_set,
        "gold_set": None,
        "config": None if fields else UNKNOWN,
    }
    if before is not None:
        change = before.beside(run).gold_set.removeprefix("query set: ")
        row["gold_set"] = change or "the same"
        if fields:
            row["config"] = config_change_text(before, run, fields) or "the same"
    return row


def config_change_text(before: DatedRun, after: DatedRun, fields: Sequence[str]) -> str:
    """The changes of the configuration, on one line; empty if there are none."""
    return "; ".join(map(str, config_changes(before.config, after.config, fields)))
