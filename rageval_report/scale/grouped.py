"""Slices of scanned pipelines: the table of memory, of groups that the engine counted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rageval_report.analysis.arguments import (
    MeanKeywords,
    check_percentiles,
    choose_metrics,
    interval_of_mean,
)
from rageval_report.analysis.slice_pairs import order_of_groups
from rageval_report.analysis.slices import NO_GROUP, summary_of_slices
from rageval_report.analysis.summary import MeanPlan, describe, summary_of_columns
from rageval_report.results import Result
from rageval_report.scale.tables import ScannedTable
from rageval_report.scores.catalogue.dialects import percentile_method
from rageval_report.scores.metric import GROUPS
from rageval_report.stats.columns import Column
from rageval_report.stats.means import QUARTILES


def summary_of_table(
    table: ScannedTable,
    columns: dict[str, Column],
    n_rows: int,
    metrics: str | Iterable[str] | None,
    settings: MeanKeywords,
) -> Result:
    """The table of `summarise`, of all rows or of a group of them."""
    stated: dict[str, Any] = {"percentiles": QUARTILES, **settings}
    stated["percentiles"] = check_percentiles(stated["percentiles"])
    plan = MeanPlan(**stated, method=percentile_method(table.head))
    known = sorted(choose_metrics(table.head, metrics), key=lambda m: GROUPS.index(m.group))
    described = [
        describe(columns[metric.name], n_rows, plan.percentiles, plan.method) for metric in known
    ]
    intervals = [
        interval_of_mean(
            metric,
            numbers.column,
            method=plan.interval,
            confidence_level=plan.confidence_level,
            n_resamples=plan.n_resamples,
            seed=plan.seed,
        )
        for metric, numbers in zip(known, described, strict=True)
    ]
    return summary_of_columns(table.head, known, described, intervals, plan)


def slices_of_table(
    table: ScannedTable,
    by: str,
    metrics: str | Iterable[str] | None,
    settings: MeanKeywords,
) -> Result:
    """The table of `slice_summary`, of groups that the engine counted."""
    groups = table.columns_by(by)
    sizes = {label: n for label, (n, _) in groups.items()}
    parts = {
        label: summary_of_table(table, groups[label][1], sizes[label], metrics, settings)
        for label in order_of_groups(sizes)
    }
    return summary_of_slices(table.head, by, parts, sizes.get(NO_GROUP, 0))
