"""Summaries and comparisons in each group of queries, by any column of the details."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, Unpack

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import Clusters, MeanKeywords, mean_limits
from rageval_report.analysis.comparing.metric_comparison import (
    ComparisonLike,
    ComparisonPlan,
    MetricComparison,
    PairedMetric,
)
from rageval_report.analysis.comparing.pairing import Pairing
from rageval_report.analysis.differing_groups import (
    count_differing_groups,
    differing_groups_note,
)
from rageval_report.analysis.family import CorrectionFamily, correct_in_family, family_of_pairings
from rageval_report.analysis.report import summarise
from rageval_report.analysis.sentence_parts import false_discovery_notes
from rageval_report.analysis.slice_pairs import paired_groups
from rageval_report.analysis.slice_pooling import (
    PooledSlices,
    SliceMean,
    pool_slices,
    pooling_notes,
)
from rageval_report.analysis.slice_reversals import (
    AllQueries,
    ComparedSlice,
    SliceTable,
    adjusted_reversals,
    opposed_verdict,
)
from rageval_report.analysis.tables import (
    NO_GROUP,
    GroupedRows,
    PipelineTable,
    count_shared,
    group_labels,
    table_of,
)
from rageval_report.errors import check_options
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored, resolver
from rageval_report.stats.pooling import HeterogeneityResult, heterogeneity_test
from rageval_report.stats.units import (
    ClusteredStandardError,
    Units,
    mean_error,
)
from rageval_report.types import FloatArray

Groups: TypeAlias = list[ComparedSlice]


# A printed table has room for one of the two.
_SPREAD_HEADLINE = ("std", "min")
_POOLED_HEADLINE = ("pooled_mean", "pooled_ci_low", "pooled_ci_high", "std")


def slice_summary(
    evaluation: Scored,
    by: str,
    metrics: str | Iterable[str] | None = None,
    *,
    clusters: Clusters | None = None,
    **settings: Unpack[MeanKeywords],
) -> Result:
    """Describe each metric in each group of queries.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores and details.
    by : str
        A column of the details.
    metrics : str or iterable of str, optional
        The metrics; all of them if omitted.
    clusters, **settings
        As in `summarise`.

    Returns
    -------
    Result
        One row per metric and group: ``metric``, the column of the groups, then the columns of
        `summarise`; after ``ci_method`` follow ``pooled_mean``, ``pooled_ci_low``,
        ``pooled_ci_high`` and ``shrinkage``: the mean moved towards the common mean of the groups
        by that share of the way, as far as chance explains how they spread (empirical Bayes, see
        `rageval_report.stats.partial_pooling`). With fewer than four groups, or no spread within
        them, these repeat the mean and its interval.

    Raises
    ------
    UnknownNameError
        If `by` is not a column of the details.
    DataError
        If every query is a group of its own.
    """
    check_options("slice_summary()", settings, MeanKeywords.__annotations__)
    table = table_of(evaluation, clusters)
    tables = table.groups(by)
    parts = {
        label: summarise(part, metrics=metrics, clusters=clusters, **settings)
        for label, part in tables.items()
    }
    first = next(iter(parts.values()))
    column = _column_for(by, first.frame)
    for label, part in parts.items():
        part.frame.insert(1, column, label)
    frame = pd.concat([part.frame for part in parts.values()], ignore_index=True)
    # The parts are group by group, the table is metric by metric.
    order = frame["metric"].map({name: i for i, name in enumerate(first.frame["metric"])})
    frame = frame.iloc[np.argsort(order.to_numpy(), kind="stable")].reset_index(drop=True)
    level = float(str(first.settings["confidence_level"]))
    pooled = _pool_means(table.sample, frame, column, tables, level)
    _insert_pooled(frame, [slices for _, slices in pooled], "mean", after="ci_method")
    are_pooled = any(slices.are_pooled for _, slices in pooled)
    n_without = tables[NO_GROUP].n_queries if NO_GROUP in tables else 0
    shared = (
        shared_clusters_note(*table.shared_clusters(by), by, "the pooling assumes")
        if are_pooled and table.are_clusters
        else ()
    )
    return Result(
        f"{table.sample.name} by {by}",
        frame,
        {**first.settings, "by": column},
        (
            *group_notes_of(n_without, by),
            *shared,
            *pooling_notes(pooled, "mean"),
            *table.notes([table.sample.metrics[name] for name in dict.fromkeys(frame["metric"])]),
        ),
        headline=(
            *(column, "n", *(["n_clusters"] if table.are_clusters else []), "n_unscored", "mean"),
            *("ci_low", "ci_high"),
            *(_POOLED_HEADLINE if are_pooled else _SPREAD_HEADLINE),
            *([] if are_pooled and table.are_clusters else ["p50"]),
            *([] if are_pooled else ["max"]),
        ),
        grouped_by="title",
    )


def slice_comparison(
    comparison: ComparisonLike,
    by: str,
    metrics: str | Iterable[str] | None = None,
    correction: str = "holm",
) -> Result:
    """Compare two runs in each group of queries, and test whether the groups agree.

    Parameters
    ----------
    comparison : Comparison
        Its settings apply to the groups too.
    by : str
        A column of the baseline's details.
    metrics : str or iterable of str, optional
        The metrics; all that were compared if omitted.
    correction : str
        The correction of the p-values of all rows of this table.

    Returns
    -------
    Result
        One row per metric, candidate and group: ``metric``, ``candidate``, the column of the
        groups, ``n``, ``n_dropped``, both means, ``difference``, ``ci_low``, ``ci_high``, ``test``,
        ``pvalue``, ``pvalue_adjusted``, ``wins``, ``ties``, ``losses``, and, for the whole metric,
        ``heterogeneity_pvalue`` (Welch's form of Cochran's Q: do the groups differ?) and
        ``crossing_pvalue`` (Gail & Simon: do they differ in opposite directions?).
        ``pooled_difference``, ``pooled_ci_low``, ``pooled_ci_high`` and ``shrinkage`` are as in
        `slice_summary`. ``reversal_pvalue_adjusted`` tests whether the group and all other queries
        differ in opposite directions. ``verdict`` is a sentence if a group is shown to differ in
        the other direction than all queries together, else missing; it says whether the other
        queries are shown to do the opposite.

    Raises
    ------
    UnknownNameError
        If `by` is not a column of the details, a metric was not compared, or there is no such
        correction.

    Notes
    -----
    A reversal needs both tests to reject: that of the group, and that of the other queries in the
    opposite direction. Its p-value is the larger of the two, corrected over all rows.
    """
    plan = comparison.plan
    notes: list[str] = []
    all_groups: list[Groups] = []
    for pairing in comparison.pairings:
        chosen_pairs = choose_pairs(pairing.metrics, metrics)
        anything: Any = pairing  # a scan counts its groups by itself
        sliced: SlicedPairs = (
            _slice_pairs(pairing, by, chosen_pairs, plan)
            if isinstance(pairing, Pairing)
            else anything.sliced(by, chosen_pairs)
        )
        names = pairing.baseline.name, pairing.candidate.name
        notes += [
            *group_notes_of(sliced.n_without, by),
            *differing_groups_note(by, names, sliced.n_differing, pairing.n_common),
            *shared_clusters_note(
                *sliced.shared_clusters, by, "the test of heterogeneity and the pooling assume"
            ),
        ]
        all_groups += _compare_groups(sliced, chosen_pairs, plan)
    chosen = [
        replace(pairing, metrics=choose_pairs(pairing.metrics, metrics))
        for pairing in comparison.pairings
    ]
    family = family_of_pairings(chosen, are_requested=metrics is not None)
    column = _column_for(by, comparison.frame)
    frame = pd.DataFrame([record for groups in all_groups for record in _records(groups, column)])
    table = _add_pvalues(frame, all_groups, family, SliceTable(by, correction, 0, comparison.plan))
    pooled = [
        (groups[0].row.metric.name, _pool_differences(groups, comparison.plan))
        for groups in all_groups
    ]
    _insert_pooled(frame, [slices for _, slices in pooled], "difference", after="ci_high")
    n_shown = int((frame["pvalue_adjusted"] <= comparison.plan.alpha).sum())
    several = len(set(comparison.frame["candidate"])) > 1
    middle = ("candidate",) if several else ()
    return Result(
        f"{comparison.title}, by {by}",
        frame,
        {
            **comparison.settings,
            "by": column,
            "correction": correction,
            "family_size": table.family_size,
        },
        (
            *dict.fromkeys(notes),
            f"p-values are adjusted ({correction}) over {table.family_size} tests",
            *false_discovery_notes(correction, n_shown, comparison.plan.alpha),
            *pooling_notes(pooled, "difference"),
            *family.notes(),
        ),
        headline=_comparison_headline(
            (column, *middle), are_pooled=any(slices.are_pooled for _, slices in pooled)
        ),
        grouped_by="metric",
    )


def _comparison_headline(first: tuple[str, ...], *, are_pooled: bool) -> tuple[str, ...]:
    # A printed table has room for either the means of both runs or the pooled columns.
    means = () if are_pooled else ("baseline_mean", "candidate_mean")
    pooled = ("pooled_difference", "pooled_ci_low", "pooled_ci_high") if are_pooled else ()
    difference = ("difference", "ci_low", "ci_high")
    return (*first, "n", *means, *difference, *pooled, "pvalue_adjusted", "wins", "ties", "losses")


def _add_pvalues(
    frame: pd.DataFrame, all_groups: list[Groups], family: CorrectionFamily, table: SliceTable
) -> SliceTable:
    """Add the corrected p-values and the verdicts; return the table with its number of tests."""
    slices = [part for groups in all_groups for part in groups]
    metrics, raw = frame["metric"].tolist(), frame["pvalue"].to_numpy(dtype=np.float64)

    def correct(pvalues: FloatArray) -> FloatArray:
        corrected = correct_in_family(family, metrics, pvalues, table.correction)
        # The best of several variants was chosen on the queries of all groups.
        return np.minimum(1.0, table.plan.tried * corrected)

    adjusted = correct(raw)
    of_reversals = adjusted_reversals(slices, correct, table.correction)
    table = replace(table, family_size=family.size(metrics, raw))
    frame.insert(list(frame).index("pvalue") + 1, "pvalue_adjusted", adjusted)
    frame["reversal_pvalue_adjusted"] = of_reversals
    verdicts = [
        opposed_verdict(part, pvalue, reversal_pvalue, table)
        for part, pvalue, reversal_pvalue in zip(
            slices, adjusted.tolist(), of_reversals.tolist(), strict=True
        )
    ]
    # As objects, because pandas 3 would make NaN of None beside texts.
    frame["verdict"] = pd.Series(verdicts, index=frame.index, dtype=object)
    return table


def _column_for(by: str, frame: pd.DataFrame) -> str:
    """The name of the column of groups: that of the details, unless the table has one like it."""
    return f"{by}_slice" if by in frame else by


def choose_pairs(
    pairs: list[tuple[Metric, Metric]], metrics: str | Iterable[str] | None
) -> list[tuple[Metric, Metric]]:
    """The pairs of metrics that a caller names; all if `metrics` is None."""
    if metrics is None:
        return pairs
    by_name = {ours.name: (ours, theirs) for ours, theirs in pairs}
    names = [metrics] if isinstance(metrics, str) else metrics
    resolve = resolver(by_name)
    return [by_name[resolve(name)] for name in names]


def group_notes_of(n_without: int, by: str) -> tuple[str, ...]:
    """That some queries have no group; nothing if all have one."""
    verb = "query has" if n_without == 1 else "queries have"
    return (f"{n_without} {verb} no {by}",) if n_without else ()


def _units_of_pairs(pairing: Pairing, plan: ComparisonPlan) -> Units:
    """The independent units of the queries that both runs have."""
    rows = pairing.alignment.baseline_rows
    return plan.units.select(slice(None) if rows is None else rows)


def shared_clusters_note(n_shared: int, n: int, by: str, assumption: str) -> tuple[str, ...]:
    """That groups depend on each other, if some clusters have queries in several of them.

    Parameters
    ----------
    n_shared, n : int
        The number of such clusters, and of all.
    by : str
        The column of the groups.
    assumption : str
        What assumes that groups are independent, such as "the pooling assumes".
    """
    if not n_shared:
        return ()
    return (
        f"{n_shared} of {n} clusters have queries in several groups of {by}, so the groups are not "
        f"independent, as {assumption}",
    )


@dataclass(frozen=True, eq=False)
class SlicedPairs:
    """Two runs in groups of queries, not yet tested.

    Parameters
    ----------
    pairing : Pairing
        The runs; `Pairing.without` takes the place of a group.
    places : list
        The label of each group, and its place: the rows of its queries among the common ones.
    paired : list of PairedMetric
        Each metric in each group, metric by metric.
    n_without, n_differing : int
        The number of queries without a group, and of those that the runs put into different ones.
    shared_clusters : (int, int)
        The number of clusters with queries in several groups, and of all clusters.
    """

    pairing: Any
    places: list[tuple[str, Any]]
    paired: list[PairedMetric]
    n_without: int
    n_differing: int
    shared_clusters: tuple[int, int]


def _slice_pairs(
    pairing: Pairing, by: str, metrics: Sequence[tuple[Metric, Metric]], plan: ComparisonPlan
) -> SlicedPairs:
    labels = group_labels(pairing.baseline, by).reindex(pairing.alignment.ids)
    grouped = GroupedRows.of(labels)
    return SlicedPairs(
        pairing,
        list(grouped),
        paired_groups(pairing, metrics, grouped, plan),
        int((labels == NO_GROUP).sum()),
        count_differing_groups(pairing, by),
        count_shared(_units_of_pairs(pairing, plan), labels),
    )


def _compare_groups(
    sliced: SlicedPairs, metrics: Sequence[tuple[Metric, Metric]], plan: ComparisonPlan
) -> list[Groups]:
    """Each metric of two runs in each group."""
    n = len(sliced.places)
    compared = [paired.tested(plan) for paired in sliced.paired]
    tables = [compared[i * n : (i + 1) * n] for i in range(len(metrics))]
    wholes = [
        AllQueries.of(sliced.pairing, pair, table, plan)
        for pair, table in zip(metrics, tables, strict=True)
    ]
    return [
        [
            ComparedSlice(label, row, place, whole)
            for (label, place), row in zip(sliced.places, table, strict=True)
        ]
        for table, whole in zip(tables, wholes, strict=True)
    ]


def _records(groups: Groups, column: str) -> list[dict[str, object]]:
    spread = _heterogeneity(groups)
    pvalues = {
        "heterogeneity_pvalue": math.nan if spread is None else spread.pvalue,
        "crossing_pvalue": math.nan if spread is None else spread.crossing_pvalue,
    }
    return [_record(part.label, part.row, column) | pvalues for part in groups]


def _heterogeneity(groups: Groups) -> HeterogeneityResult | None:
    """Whether the groups differ, by their independent units; None for fewer than two groups."""
    known = [part.row.pairs.units for part in groups if part.row.pairs.n]
    return heterogeneity_test(known) if len(known) > 1 else None


def _record(label: str, row: MetricComparison, column: str) -> dict[str, object]:
    numbers = dict(row.numbers)
    first = {name: numbers.pop(name) for name in ("metric", "candidate")}
    return {**first, column: label, **numbers}


# -- partial pooling


def _pool_means(
    evaluation: Scored,
    frame: pd.DataFrame,
    column: str,
    tables: Mapping[str, PipelineTable],
    confidence_level: float,
) -> list[tuple[str, PooledSlices]]:
    """The pooled means of each metric of a table of means."""
    pooled = []
    for name, rows in frame.groupby("metric", sort=False):
        metric = evaluation.metrics[str(name)]
        slices = [
            slice_mean_of(row, tables[str(row[column])].error(metric)) for _, row in rows.iterrows()
        ]
        limits = mean_limits(metric, float(rows["min"].min()))
        pooled.append(
            (metric.name, pool_slices(slices, confidence_level=confidence_level, limits=limits))
        )
    return pooled


def slice_mean_of(row: pd.Series, spread: ClusteredStandardError | None = None) -> SliceMean:
    """The mean of a slice by its row in the table, and its standard error by units.

    Parameters
    ----------
    row : Series
        The row.
    spread : ClusteredStandardError, optional
        The standard error by clusters; if omitted, queries are independent.
    """
    mean, low, high = (float(row[name]) for name in ("mean", "ci_low", "ci_high"))
    if spread is not None:
        return SliceMean(mean, spread.standard_error, spread.n_clusters, spread.df, low, high)
    n = int(row["n"])
    error = float(row["std"]) / math.sqrt(n) if n > 1 else math.nan
    return SliceMean(mean, error, n, n - 1.0, low, high)


def _pool_differences(groups: Groups, plan: ComparisonPlan) -> PooledSlices:
    """The pooled differences of one metric, by independent units."""
    bounds = groups[0].row.metric.bounds
    reach = math.inf if bounds is None else bounds[1] - bounds[0]
    return pool_slices(
        [_slice_difference(part.row) for part in groups],
        confidence_level=plan.confidence_level,
        limits=(-reach, reach),
        fewest_units=plan.fewest_units,
    )


def _slice_difference(row: MetricComparison) -> SliceMean:
    pairs = row.pairs
    error, degrees = mean_error(pairs.units) if pairs.n > 1 else (math.nan, 0.0)
    return SliceMean(pairs.mean, error, pairs.n, degrees, row.interval.low, row.interval.high)


def _insert_pooled(
    frame: pd.DataFrame, pooled: Sequence[PooledSlices], estimate: str, *, after: str
) -> None:
    """Insert the pooled columns; the slices are in the order of the rows."""
    place = list(frame).index(after) + 1
    columns = [slices.columns(estimate) for slices in pooled]
    for offset, name in enumerate(columns[0]):
        values: FloatArray = np.concatenate([of_metric[name] for of_metric in columns])
        frame.insert(place + offset, name, values)
