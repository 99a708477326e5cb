"""Scores of production in batches, watched for a mean that gets worse than a reference run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import (
    Clusters,
    cluster_labels,
    clusters_setting,
    engine_setting,
    pick,
    unnamed_clusters,
)
from rageval_report.analysis.history import DatedRun
from rageval_report.analysis.pairing import require_bounds, twin_of
from rageval_report.analysis.tables import PipelineTable, table_of
from rageval_report.errors import DataError, named
from rageval_report.plots.drawn import Drawn
from rageval_report.reports.sentences import direction_notes
from rageval_report.results import Answer, answer_of
from rageval_report.scores import Metric
from rageval_report.stats import means, sequential
from rageval_report.stats.columns import Column
from rageval_report.types import FloatArray, IntArray

# A single score has no variance, which decides the stakes.
_FEWEST_IN_REFERENCE = 2


@dataclass(frozen=True, eq=False, repr=False)
class Monitoring(Drawn):
    """Which metrics have got worse than in the reference run, and since when."""

    own_plot = "monitor"

    batches: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def has_alarm(self) -> bool:
        """Whether any metric raises an alarm."""
        return bool(self.frame["alarm"].any())

    def printed(self) -> Answer:
        """What has got worse since when, the table with alarms first, and at most three notes."""
        frame = self.frame.sort_values("alarm", ascending=False, kind="stable")
        frame = frame.assign(verdict=frame["alarm"].map({True: "worse", False: "no alarm"}))
        columns = ("metric", "n", "mean", "reference_mean", "limit", "since", "verdict")
        n, n_batches = len(frame), self.batches["batch"].nunique()
        none = f"No alarm: none of {n} means is worse than in {self.settings['reference']}"
        sentence = "; ".join(self.sentences) or f"{none}, after {n_batches} batches"
        return answer_of(self, f"{sentence}.", frame, columns=columns, grouped_by="")


@dataclass(frozen=True, eq=False)
class _Watched:
    """One metric: its reference, the bets that its mean is worse, and its batches."""

    metric: Metric
    reference: Column
    bets: sequential.ChangeBets
    batches: list[Column]

    def evidence(self) -> sequential.ChangeEvidence:
        """How much the capital grows, batch by batch."""
        try:
            return sequential.combine_growth([self.bets.growth(scores) for scores in self.batches])
        except DataError as exc:
            raise DataError(
                f"metric {self.metric.name!r}: {exc}. Give bounds that hold for the reference and "
                "for all batches when the reference is loaded: metrics={...: {'bounds': ...}}"
            ) from exc

    def path(self, batches: Sequence[DatedRun], evalues: FloatArray, needed: float) -> pd.DataFrame:
        """The evidence after each batch."""
        path = {
            "metric": self.metric.name,
            "batch": [batch.name for batch in batches],
            "place": range(len(batches)),
            "created": [batch.created for batch in batches],
            "n": [scores.n for scores in self.batches],
            "mean": [scores.mean for scores in self.batches],
            "evidence": evalues,
            "alarm": np.maximum.accumulate(evalues) >= needed,
        }
        return pd.DataFrame(path)

    def finding(
        self, path: pd.DataFrame, starts: IntArray, needed: float, unit: str
    ) -> dict[str, Any]:
        """Whether and since when the metric is worse than in the reference."""
        metric, names, is_worse = self.metric, path["batch"].tolist(), bool(path["alarm"].any())
        at = int(path["alarm"].argmax())
        since = int(starts[at]) if is_worse else 0
        # What is shown is the time since the change, or the whole time if there was none.
        shown = path[since:][path["n"][since:] > 0]
        n = int(shown["n"].sum())
        mean = math.fsum(shown["n"] * shown["mean"]) / n if n else math.nan
        side = "below" if metric.greater_is_better else "above"
        verdict = (
            f"{metric.name} is worse since {names[since]}: mean {mean:.3g} of {n} {unit}, "
            f"{side} {self.bets.limit:.3g}; the reference has {self.reference.mean:.3g} "
            f"(alarm at {names[at]})"
        )
        row: dict[str, Any] = {"metric": metric.name, "title": metric.title, "alarm": is_worse}
        row |= {"since": names[since] if is_worse else None}
        row |= {"alarm_at": names[at] if is_worse else None, "n": n, "mean": mean}
        row |= {"reference_n": self.reference.n, "reference_mean": self.reference.mean}
        row |= {"limit": self.bets.limit, "evidence": float(path["evidence"].max())}
        return row | {"needed": needed, "verdict": verdict if is_worse else None}


def monitor_batches(
    reference: DatedRun,
    batches: Sequence[DatedRun],
    *,
    metrics: Sequence[str] | None = None,
    tolerance: float | Mapping[str, float] = 0.0,
    alpha: float = 0.05,
    clusters: Clusters | None = None,
) -> Monitoring:
    """Watch batches of scores, in the order of time; see `rageval_report.monitor`."""
    if not batches:
        raise DataError("runs must hold a reference and at least one batch after it")
    chosen, notes = _choose_metrics(reference, metrics)
    unit = "queries" if clusters is None else "clusters"
    if clusters is not None:
        _check_whole_clusters(batches, clusters)
    first, *tables = (table_of(run.evaluation, clusters) for run in (reference, *batches))
    watched = _watch(first, chosen, tables, alpha / 2.0, tolerance)
    evidence = [each.evidence() for each in watched]
    adjusted, needed = sequential.adjust_evalues([own.evalues for own in evidence]), 2.0 / alpha
    paths = [
        each.path(batches, evalues, needed) for each, evalues in zip(watched, adjusted, strict=True)
    ]
    rows = [
        each.finding(path, bets.starts, needed, unit)
        for each, path, bets in zip(watched, paths, evidence, strict=True)
    ]
    return Monitoring(
        f"Monitoring against {reference.name}",
        pd.DataFrame(rows),
        {
            "reference": reference.name,
            "alpha": alpha,
            "family_size": len(watched),
            "tolerance": tolerance if isinstance(tolerance, float | int) else dict(tolerance),
            **clusters_setting(clusters),
            **engine_setting(reference.evaluation),
        },
        (*notes, *unnamed_clusters(reference.evaluation, clusters)),
        headline=(
            *("alarm", "since", "n", "mean", "reference_mean", "limit", "evidence", "needed"),
        ),
        grouped_by="title",
        batches=pd.concat(paths, ignore_index=True),
    )


def _choose_metrics(
    reference: DatedRun, names: Sequence[str] | None
) -> tuple[list[Metric], list[str]]:
    """The named metrics, or all that have bounds, and a note on the others."""
    known = reference.metrics
    chosen = [m for m in pick(known, names) if names is not None or m.direction_is_known]
    if unknown := direction_notes(chosen):
        raise DataError(unknown[0])
    bounded = [metric for metric in chosen if metric.bounds is not None]
    others = [metric.name for metric in chosen if metric.bounds is None]
    if others and (names is not None or not bounded):
        raise DataError(
            f"{others[0]!r} has no bounds, so no rate of false alarms can be promised; "
            f"give them: metrics={{{others[0]!r}: {{'bounds': (low, high)}}}}"
        )
    note = f"not watched, because they have no bounds: {', '.join(others)}"
    return bounded, [note] if others else []


def _check_whole_clusters(batches: Sequence[DatedRun], clusters: Clusters) -> None:
    """Refuse clusters of which a part comes later: their means depend on each other."""
    n_batches: Counter[Any] = Counter()
    for batch in batches:
        n_batches.update(set(cluster_labels(batch.evaluation, clusters)))
    split = sorted(label for label, n in n_batches.items() if n > 1)
    if split:
        raise DataError(
            f"clusters must each be in one batch; {named(split)} are in several, so that batches "
            "depend on each other. Name a column whose values end with a batch"
        )


def _watch(
    reference: PipelineTable,
    metrics: Sequence[Metric],
    batches: Sequence[PipelineTable],
    alpha: float,
    tolerance: float | Mapping[str, float],
) -> list[_Watched]:
    """What is watched, each with the worst mean that is still as good."""
    columns = {metric: reference.unit_means(metric) for metric in metrics}
    columns = {metric: own for metric, own in columns.items() if own.n >= _FEWEST_IN_REFERENCE}
    if not columns:
        raise DataError(
            f"{reference.sample.name}: no metric has {_FEWEST_IN_REFERENCE} scores or more to "
            "compare with"
        )
    watched = []
    for metric, column in columns.items():
        bounds, level = require_bounds(metric), 1.0 - 2.0 * alpha / len(columns)
        interval = means.mean_interval(column, bounds=bounds, confidence_level=level)
        allowed = tolerance.get(metric.name, 0.0) if isinstance(tolerance, Mapping) else tolerance
        if not allowed >= 0.0:
            raise DataError(f"tolerance must be a number >= 0; got {allowed}")
        up = metric.greater_is_better
        limit = float(interval.low - allowed if up else interval.high + allowed)
        spread = column.variance * (column.n - 1) / column.n
        bets = sequential.ChangeBets(limit, bounds, "less" if up else "greater", spread, alpha)
        own = [_scores(metric, table) for table in batches]
        watched.append(_Watched(metric, column, bets, own))
    return watched


def _scores(metric: Metric, table: PipelineTable) -> Column:
    """The scores of a batch by independent unit; none if it lacks the metric."""
    twin = twin_of(metric, table.sample)
    return Column.of([]) if twin is None else table.unit_means(twin)
