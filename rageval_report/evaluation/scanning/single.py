"""The report, the thresholds and the failures of one scanned pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Unpack

import pandas as pd

from rageval_report.analysis.arguments import (
    MeanKeywords,
    check_percentiles,
    choose_metrics,
    kind_of_mean,
    mean_limits,
    percentile_column,
)
from rageval_report.analysis.cluster_labels import Clusters
from rageval_report.analysis.cluster_means import ClusteredMean
from rageval_report.analysis.summary import (
    EvaluationReport,
    MeanPlan,
    ScoresByRank,
    report_of_summary,
    summary_of_columns,
    with_cluster_counts,
)
from rageval_report.evaluation.scanning.clustered import OwnClusters, clustered_columns
from rageval_report.evaluation.scanning.group_labels import clusters_of
from rageval_report.evaluation.scanning.profile import ScanProfile, merge_ranks, ranked_scores
from rageval_report.results import Result
from rageval_report.scale.engines.base import Engine
from rageval_report.scores import Metric
from rageval_report.scores.catalogue.dialects import (
    dialect_settings,
    note_on_percentiles,
    percentile_method,
)
from rageval_report.scores.metric import GROUPS
from rageval_report.stats.base import Interval, check_level
from rageval_report.stats.means.column_description import (
    QUARTILES,
    ColumnDescription,
    PercentileMethod,
    percentile_ranks,
    percentiles_by_rank,
)
from rageval_report.stats.means.intervals import DescribedColumn, described_intervals
from rageval_report.stats.means.quantiles import quantile_ranks
from rageval_report.stats.states.metric_state import MetricState
from rageval_report.types import IndexArray

_TYPICAL = (50.0, 95.0)


def plan_of(head: object, settings: MeanKeywords) -> MeanPlan:
    """The settings of a table of means."""
    return MeanPlan(
        check_percentiles(settings.get("percentiles", QUARTILES)),
        percentile_method(head),
        settings.get("interval", "auto"),
        settings.get("confidence_level", 0.95),
        settings.get("n_resamples", 9999),
        settings.get("seed", 0),
    )


def report_of_scan(
    profile: ScanProfile,
    engine: Engine,
    metrics: str | Iterable[str] | None = None,
    *,
    clusters: Clusters | None = None,
    **settings: Unpack[MeanKeywords],
) -> EvaluationReport:
    """The report of one pipeline, as `rageval_report.analysis.summary.evaluation_report`.

    Parameters
    ----------
    profile : ScanProfile
        What one pass found.
    engine : Engine
        The engine of a second pass, for percentiles of scores that are no lattice, and of one for
        clusters.
    metrics, clusters, **settings
        As in `evaluation_report`.
    """
    head = profile.described.head
    known, summary, ranked = _summary(
        profile, engine, metrics, clusters, settings, with_typical=True
    )
    spent = {m.name: ranked[m.name] for m in known if m.group == "performance"}
    names = {metric.name for metric in known}
    unscored = replace(
        profile.unscored,
        states={n: profile.unscored.states[n] for n in _in_order(profile, names)},
    )
    return report_of_summary(
        *(head, summary, unscored, spent, profile.notion, profile.right),
        clusters=clusters,
        hints=profile.unnamed_clusters(clusters),
    )


def summary_of_scan(
    profile: ScanProfile,
    engine: Engine,
    metrics: str | Iterable[str] | None = None,
    *,
    clusters: Clusters | None = None,
    **settings: Unpack[MeanKeywords],
) -> Result:
    """The table of means of one pipeline, as `rageval_report.analysis.summary.summarise`.

    Parameters
    ----------
    profile, engine
        As in `report_of_scan`.
    metrics, clusters, **settings
        As in `summarise`.
    """
    return _summary(profile, engine, metrics, clusters, settings, with_typical=False)[1]


def _summary(
    profile: ScanProfile,
    engine: Engine,
    metrics: str | Iterable[str] | None,
    clusters: Clusters | None,
    settings: MeanKeywords,
    *,
    with_typical: bool,
) -> tuple[list[Metric], Result, dict[str, ScoresByRank]]:
    """The metrics, their table of means, and the scores at the ranks that were looked up."""
    head = profile.described.head
    known = sorted(choose_metrics(head, metrics), key=lambda m: GROUPS.index(m.group))
    plan = plan_of(head, settings)
    ranks = {
        metric.name: _ranks_of_report(profile, metric, plan, with_typical=with_typical)
        for metric in known
    }
    ranked = ranked_scores(profile, engine, ranks)
    described = [
        describe_state(profile.states[m.name], ranked[m.name], plan.percentiles, plan.method)
        for m in known
    ]
    column = clusters_of(profile.described, clusters)
    states = [profile.states[metric.name] for metric in known]
    if column is None or clusters is None:
        intervals = intervals_of_states(known, states, plan)
        return known, summary_of_columns(head, known, described, intervals, plan), ranked
    by_cluster = clustered_columns(profile, OwnClusters(engine, column), known)
    means = [by_cluster[m.name].mean(m, s.moments) for m, s in zip(known, states, strict=True)]
    intervals = intervals_of_clusters(means, plan)
    summary = summary_of_columns(head, known, described, intervals, plan)
    counts = [mean.n_clusters for mean in means]
    return known, with_cluster_counts(summary, counts, clusters), ranked


def intervals_of_states(
    metrics: Sequence[Metric], states: Sequence[MetricState], plan: MeanPlan
) -> list[Interval]:
    """The interval of the mean of each metric, by independent queries."""
    return described_intervals(
        [column_of_state(metric, state) for metric, state in zip(metrics, states, strict=True)],
        method=plan.interval,
        confidence_level=plan.confidence_level,
        n_resamples=plan.n_resamples,
        seed=plan.seed,
    )


def intervals_of_clusters(means: Sequence[ClusteredMean], plan: MeanPlan) -> list[Interval]:
    """The interval of each mean, by clusters."""
    level = check_level(plan.confidence_level)
    return [mean.interval(method=plan.interval, confidence_level=level) for mean in means]


def _in_order(profile: ScanProfile, names: set[str]) -> list[str]:
    """The metrics with unscored queries, in the order of the report."""
    by_group = sorted(
        profile.described.metrics.values(), key=lambda metric: GROUPS.index(metric.group)
    )
    return [m.name for m in by_group if m.name in names and m.name in profile.unscored.states]


def _ranks_of_report(
    profile: ScanProfile, metric: Metric, plan: MeanPlan, *, with_typical: bool
) -> IndexArray:
    """The ranks of the percentiles, and of typical latencies and costs."""
    n = profile.states[metric.name].n
    ranks = percentile_ranks(n, plan.percentiles, plan.method)
    if not with_typical or metric.group != "performance" or not n:
        return ranks
    typical = [
        quantile_ranks(n, percentile / 100, confidence_level=plan.confidence_level)
        for percentile in _TYPICAL
    ]
    return merge_ranks(ranks, percentile_ranks(n, _TYPICAL, plan.method), *typical)


def describe_state(
    state: MetricState,
    ranked: ScoresByRank,
    percentiles: Sequence[float],
    method: PercentileMethod,
) -> ColumnDescription:
    """The numbers of one metric, with percentiles from its scores by rank."""
    cuts = percentiles_by_rank(state.n, percentiles, method, ranked.at_ranks)
    return ColumnDescription(state.moments, state.n_unscored, tuple(cuts.tolist()))


def column_of_state(metric: Metric, state: MetricState) -> DescribedColumn:
    """The scores of a metric with what decides the interval of their mean."""
    return state.column(mean_limits(metric, state.moments.minimum), kind_of_mean(metric))


def thresholds_of_scan(
    profile: ScanProfile,
    engine: Engine,
    metrics: str | Iterable[str] | None = None,
    percentiles: Sequence[float] = (25, 50, 75),
    method: PercentileMethod | None = None,
) -> Result:
    """The percentiles and the mean of each metric, as `find_thresholds` of a table in memory.

    Parameters
    ----------
    profile : ScanProfile
        What one pass found.
    engine : Engine
        The engine of a second pass.
    metrics, percentiles, method
        As in `rageval_report.analysis.thresholds.find_thresholds`.
    """
    head = profile.described.head
    checked = check_percentiles(percentiles)
    rule = method or percentile_method(head)
    known = choose_metrics(head, metrics)
    ranks = {m.name: percentile_ranks(profile.states[m.name].n, checked, rule) for m in known}
    ranked = ranked_scores(profile, engine, ranks)
    rows = []
    for metric in known:
        numbers = describe_state(profile.states[metric.name], ranked[metric.name], checked, rule)
        cuts = zip(map(percentile_column, checked), numbers.percentiles, strict=True)
        rows.append(
            {
                "metric": metric.name,
                **dict(cuts),
                "mean": numbers.moments.mean,
                "n": numbers.moments.n,
                "n_unscored": numbers.n_unscored,
            }
        )
    settings = {
        "percentiles": checked,
        "percentile_method": rule,
        **dialect_settings([head]),
    }
    notes = note_on_percentiles(head, rule)
    return Result(f"Thresholds of {head.name}", pd.DataFrame(rows), settings, notes)
