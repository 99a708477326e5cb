"""The pairs of every group of queries, from one sort of the rows by group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from rageval_report.analysis.comparing.metric_comparison import ComparisonPlan, PairedMetric
from rageval_report.analysis.comparing.pairing import Pairing
from rageval_report.analysis.tables import GroupedRows
from rageval_report.scores import Metric

T = TypeVar("T", bound=np.generic)


def paired_groups(
    pairing: Pairing,
    metrics: Sequence[tuple[Metric, Metric]],
    grouped: GroupedRows,
    plan: ComparisonPlan,
) -> list[PairedMetric]:
    """Each metric in each group, metric by metric.

    Parameters
    ----------
    pairing : Pairing
        The runs.
    metrics : sequence of (Metric, Metric)
        The metrics, as the baseline and as the candidate know them.
    grouped : GroupedRows
        The groups of the common queries.
    plan : ComparisonPlan
        The settings.
    """
    return [
        paired
        for ours, theirs in metrics
        for paired in _paired_metric(pairing, ours, theirs, grouped, plan)
    ]


def _paired_metric(
    pairing: Pairing, ours: Metric, theirs: Metric, grouped: GroupedRows, plan: ComparisonPlan
) -> Iterator[PairedMetric]:
    """One metric in each group."""
    before, after = map(grouped.sort, pairing.treated(ours, theirs, plan.missing))
    places = pairing.alignment.baseline_rows
    rows = grouped.rows if places is None else places[grouped.rows]
    is_missing = np.isnan(before).any() or np.isnan(after).any()
    applies = grouped.sort(pairing.applies(ours, theirs)) if is_missing else None
    names = pairing.baseline.name, pairing.candidate.name
    for part in grouped.parts:
        yield PairedMetric.of_scores(
            names,
            ours,
            (before[part], after[part]),
            plan.units,
            rows[part],
            applies=None if applies is None else applies[part],
        )
