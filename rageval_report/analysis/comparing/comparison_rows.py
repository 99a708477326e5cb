"""The rows of a comparison: tested, corrected over the table, put into a frame, noted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from rageval_report.analysis.comparing.metric_comparison import (
    ComparisonPlan,
    MetricComparison,
    compare_metric,
    notes_of,
)
from rageval_report.analysis.comparing.pairing import Clusters, Pairing, cluster_labels
from rageval_report.analysis.comparing.verdicts import AdjustedPvalues, MetricFinding, verdict
from rageval_report.analysis.sentence_parts import group_notes
from rageval_report.errors import UnknownNameError
from rageval_report.stats import CORRECTIONS, adjust_pvalues
from rageval_report.stats.all_pairs import WESTFALL_YOUNG
from rageval_report.stats.maxt import westfall_young
from rageval_report.types import FloatArray

_COLUMNS = (
    *("metric", "baseline", "candidate", "n", "n_dropped", "baseline_mean", "candidate_mean"),
    *("difference", "ci_low", "ci_high", "test", "statistic", "pvalue", "pvalue_adjusted"),
    *("effect_size", "effect_name", "wins", "ties", "losses", "min_detectable_difference"),
    "verdict",
)


def compare_metrics(
    pairing: Pairing, plan: ComparisonPlan, clusters: Clusters | None
) -> list[MetricComparison]:
    """One row a metric that both runs have, tested."""
    labels = cluster_labels(pairing, clusters)
    return [compare_metric(pairing, ours, theirs, labels, plan) for ours, theirs in pairing.metrics]


def count_tests(rows: list[MetricComparison]) -> int:
    """How many tests the correction is over: those that could be made."""
    return sum(np.isfinite(row.test.pvalue) for row in rows)


def correct_pvalues(
    rows: list[MetricComparison], correction: str, plan: ComparisonPlan, n_queries: int
) -> list[AdjustedPvalues]:
    """The p-values of all rows after correction: of difference, and of equivalence."""
    if correction not in (known := [*CORRECTIONS, WESTFALL_YOUNG]):
        raise UnknownNameError("correction", correction, known)
    by_step = "holm" if correction == WESTFALL_YOUNG else correction
    pvalues = adjust_pvalues([row.test.pvalue for row in rows], method=by_step)
    if correction == WESTFALL_YOUNG:
        pvalues = _by_max_t(rows, plan, n_queries)
    equivalence = [np.nan if row.equivalence is None else row.equivalence.pvalue for row in rows]
    within = adjust_pvalues(equivalence, method=by_step)
    family = count_tests(rows)
    return [
        AdjustedPvalues(float(one), float(other), correction, family)
        for one, other in zip(pvalues, within, strict=True)
    ]


def _by_max_t(rows: list[MetricComparison], plan: ComparisonPlan, n_queries: int) -> FloatArray:
    """Signs are flipped query by query, the same for all metrics and candidates."""
    differences = np.zeros((n_queries, len(rows)), order="F")
    for column, row in enumerate(rows):
        differences[row.places, column] = row.differences
    return westfall_young(differences, n_resamples=plan.n_resamples, seed=plan.seed)


def comparison_frame(
    rows: list[MetricComparison],
    adjusted: list[AdjustedPvalues],
    plan: ComparisonPlan,
    *,
    n_candidates: int,
) -> pd.DataFrame:
    """One row a finding; the columns of every comparison first, what settings add behind."""
    records = [
        _record(row, one, plan, n_candidates) for row, one in zip(rows, adjusted, strict=True)
    ]
    frame = pd.DataFrame(records)
    rest = [column for column in frame.columns if column not in _COLUMNS]
    return frame[[*_COLUMNS, *rest]]


def _record(
    row: MetricComparison, adjusted: AdjustedPvalues, plan: ComparisonPlan, n_candidates: int
) -> dict[str, object]:
    finding = row.finding(adjusted, plan)
    told: dict[str, object] = {
        **row.numbers,
        "pvalue_adjusted": adjusted.pvalue,
        "verdict": _addressed(finding, n_candidates),
        "fragile": finding.fragile,
    }
    if plan.margin is not None:
        told["equivalence_pvalue_adjusted"] = adjusted.equivalence_pvalue
    return told


def _addressed(finding: MetricFinding, n_candidates: int) -> str:
    """The verdict, opened with the candidate's name where several are told apart."""
    told = verdict(finding)
    return (
        told if n_candidates == 1 or finding.candidate in told else f"{finding.candidate}: {told}"
    )


def comparison_notes(
    pairings: tuple[Pairing, ...],
    rows: list[MetricComparison],
    correction: str,
    plan: ComparisonPlan,
) -> list[str]:
    """What a reader must know of pairing, tests, margins and correction, each said once."""
    notes = [note for pairing in pairings for note in pairing.notes()]
    told = [(row.metric.name, note) for row in rows for note in notes_of(row, plan)]
    notes += group_notes(told, len({row.metric.name for row in rows}))
    notes += _margin_notes(pairings, plan)
    family = count_tests(rows)
    if family > 1 and correction != "none":
        notes.append(f"p-values are adjusted ({correction}) over the {family} tests of this table")
    if family > 1 and correction == "none":
        notes.append(
            f"{family} tests without correction: about {family * plan.alpha:.1g} false alarms are "
            "expected where nothing differs"
        )
    return notes


def _margin_notes(pairings: tuple[Pairing, ...], plan: ComparisonPlan) -> list[str]:
    """That one margin cannot suit metrics of different ranges."""
    metrics = {ours.name: ours for pairing in pairings for ours, _ in pairing.metrics}
    ranges = {one.bounds and one.bounds[1] - one.bounds[0] for one in metrics.values()}
    unbounded = [name for name, one in metrics.items() if one.bounds is None]
    if plan.margin is None or isinstance(plan.margin, Mapping) or len(metrics) == 1:
        return []
    if not unbounded and len(ranges) == 1:
        return []
    verb = "has" if len(unbounded) == 1 else "have"
    names = f" ({', '.join(unbounded[:5])} {verb} no bounds)" if unbounded else ""
    return [
        f"one margin of {plan.margin:g} is taken for metrics of different scales{names}; give one "
        "a metric where it does not suit"
    ]
