"""Scanned pipelines compared query by query: one pass over both tables for each candidate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack, cast

import numpy as np

from rageval_report.analysis.cluster_labels import clusters_setting
from rageval_report.analysis.comparing.comparison import comparison_of_rows, plan_comparison
from rageval_report.analysis.comparing.keywords import ComparisonKeywords, PlanKeywords
from rageval_report.analysis.comparing.metric_comparison import (
    ComparisonPlan,
    MetricComparison,
    compare_together,
)
from rageval_report.analysis.comparing.pairing import (
    MissingTreatment,
    on_one_scale,
    shared_metrics,
)
from rageval_report.errors import AlignmentError, DataError, check_options
from rageval_report.evaluation.scanning.cluster_labels import (
    LabelsOfBaseline,
    unnamed_clusters_of,
)
from rageval_report.evaluation.scanning.description import DescribedScan
from rageval_report.evaluation.scanning.group_labels import ScanClusters, clusters_of
from rageval_report.evaluation.scanning.matched_tables import ids_of_lone_queries, matched_pairs
from rageval_report.evaluation.scanning.pair_states import PairStates, facts_after, facts_before
from rageval_report.evaluation.scanning.scanned_comparison import ScannedComparison
from rageval_report.evaluation.scanning.scanned_pair import ScannedPair, ScannedTables
from rageval_report.scale.engines.base import Engine
from rageval_report.scale.mergeable import StateOfEach
from rageval_report.scale.pairs import CommonIds
from rageval_report.scores import Metric
from rageval_report.scores.catalogue.dialects import dialect_settings, note_on_dialects
from rageval_report.scores.guard import doubts_of
from rageval_report.scores.metric_scales import agree_on_scale
from rageval_report.scores.text_matching import no_common_text
from rageval_report.stats.maxt import uses_midp
from rageval_report.stats.states.flipped_sums import adjust_by_flips
from rageval_report.stats.units import Units
from rageval_report.types import FloatArray


def compare_scans(
    baseline: DescribedScan,
    candidates: Sequence[DescribedScan],
    engine: Engine,
    **options: Unpack[ComparisonKeywords],
) -> ScannedComparison:
    """The comparison of a baseline with its candidates, as that of evaluations in memory.

    Parameters
    ----------
    baseline : DescribedScan
        The table of the pipeline in use.
    candidates : sequence of DescribedScan
        The tables of those that might replace it.
    engine : Engine
        What reads them.
    **options
        As in `rageval_report.compare`.

    Raises
    ------
    DataError
        If an option needs every score in memory: what to do instead.
    """
    check_options("compare()", options, ComparisonKeywords.__annotations__)
    if not candidates:
        raise DataError(
            "candidates must hold at least one scan to compare with the baseline; got none"
        )
    names = [scan.head.name for scan in (baseline, *candidates)]
    check_distinct_names(names)
    metrics = options.get("metrics")
    listed = [metrics] if isinstance(metrics, str) else metrics
    chosen = None if listed is None else list(listed)
    plan = plan_comparison(baseline.head, len(candidates), **_plan_keywords(options))
    named_clusters = options.get("clusters")
    clusters = clusters_of(baseline, named_clusters)
    if clusters is not None:
        plan = replace(plan, units=Units(np.arange(0)))  # which are those of the states
    engines = matched_pairs(options.get("on"), baseline, candidates, engine)
    pairs = tuple(
        pair_scans(baseline, candidate, reader, chosen, plan.missing, clusters)
        for candidate, reader in zip(candidates, engines, strict=True)
    )
    heads = [pairs[0].baseline, *(pair.candidate for pair in pairs)]
    first = pairs[0].common
    comparison = comparison_of_rows(
        f"{', '.join(names[1:])} against {names[0]}",
        pairs,
        compare_together([metric for pair in pairs for metric in pair.paired()], plan),
        plan,
        correction=options.get("correction", "holm"),
        n_queries=first.n_common + first.n_only_before,
        settings={
            **dialect_settings(heads),
            **clusters_setting(named_clusters),
            **({} if options.get("on") is None else {"on": options["on"]}),
            "engine": engine.name,
        },
        notes=(
            *doubts_of(heads),
            *unnamed_clusters_of(pairs[0].labels, named_clusters),
            *note_on_dialects(heads),
        ),
        flips=lambda rows: _adjust_by_flips(rows, pairs, plan),
    )
    return ScannedComparison.of(comparison, pairs)


def check_distinct_names(names: Sequence[str]) -> None:
    """Refuse two scans of the same name.

    Raises
    ------
    DataError
        If two have one.
    """
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(
            f"two scans are named {twice[0]!r}; give each its own name: "
            "RAGPipelineEvaluation.scan(source, name=...)"
        )


def _plan_keywords(options: ComparisonKeywords) -> PlanKeywords:
    kept = {name: options[name] for name in PlanKeywords.__annotations__ if name in options}  # type: ignore[literal-required]
    return cast("PlanKeywords", kept)


def _adjust_by_flips(
    rows: Sequence[MetricComparison], pairs: Sequence[ScannedPair], plan: ComparisonPlan
) -> FloatArray:
    """The p-values of rows, by signs that all metrics and candidates share."""
    flipped = {pair.candidate.name: pair.flipped(plan.n_resamples, plan.seed) for pair in pairs}
    adjusted = np.full(len(rows), np.nan)
    # What was not tested for want of units is not a test.
    tested = [place for place, row in enumerate(rows) if not math.isnan(row.test.pvalue)]
    if tested:
        chosen = [rows[place] for place in tested]
        adjusted[tested] = adjust_by_flips(
            [flipped[row.names[1]][row.metric.name] for row in chosen],
            [uses_midp(row.test.test) for row in chosen],
        )
    return adjusted


def pair_scans(
    baseline: DescribedScan,
    candidate: DescribedScan,
    engine: Engine,
    metrics: Sequence[str] | None,
    missing: MissingTreatment = "drop",
    clusters: ScanClusters | None = None,
) -> ScannedPair:
    """Read two tables side by side; a second time if all rows say more than the first ones.

    Which scores lie slightly outside their bounds, and which score is the worst possible, is known
    only after all rows were read.

    Raises
    ------
    AlignmentError
        If they share no query or no metric.
    """
    tables = ScannedTables(baseline, candidate, engine)
    shared = _shared_by(tables, metrics)
    labels = LabelsOfBaseline.of(baseline, are_named=clusters is not None)
    before, after = tables.columns_of(clusters)
    columns = (*before, *labels.columns), after
    for _ in range(2):
        states = PairStates(tuple(shared), tables.parts_of_states, missing, clusters)
        partial = StateOfEach((CommonIds.of, facts_before, facts_after, labels, states))
        common, first, second, counts, by_metric = tables.fold(partial, shared, columns).parts
        tables = replace(
            tables, before=tables.before.with_facts(first), after=tables.after.with_facts(second)
        )
        known, shared = shared, _shared_by(tables, metrics)
        is_settled = missing != "worst" or known == shared
        if is_settled and not any(side.table.shape.bounds for side in tables.sides):
            break
    _check_common(tables, common)
    heads = tables.before.head, tables.after.head
    on_one_scale(heads, shared_metrics(*heads, metrics))  # or an error
    if tables.on is not None and common.only_after:
        shown = ids_of_lone_queries(tables.before, tables.names[1], common.only_after)
        common = replace(common, only_after=shown)
    return ScannedPair(tables, shared, by_metric.states, common, states, counts.states)


def _shared_by(tables: ScannedTables, metrics: Sequence[str] | None) -> list[tuple[Metric, Metric]]:
    """The metrics of both tables, as far as their first rows and the witnesses tell."""
    heads = tables.before.head, tables.after.head
    scores = [head.scores for head in heads]
    agreed = (agree_on_scale(pair, scores) for pair in shared_metrics(*heads, metrics))
    return [(ours, theirs) for ours, theirs in agreed]


def _check_common(tables: ScannedTables, common: CommonIds) -> None:
    if not common.n_common and tables.on is not None:
        raise no_common_text(tables.on, *tables.names)
    if not common.n_common:
        raise AlignmentError(
            f"{tables.names[0]!r} and {tables.names[1]!r} share no query id; ids of the "
            f"first: {', '.join(map(repr, common.only_before[:3]))}, of the second: "
            f"{', '.join(map(repr, common.only_after[:3]))}"
        )
