"""Summaries and comparisons in each group of queries, by any column of the details."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias, Unpack

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import MeanKeywords
from rageval_report.analysis.comparing.metric_comparison import (
    ComparisonLike,
    ComparisonPlan,
    MetricComparison,
    compare_metric,
)
from rageval_report.analysis.comparing.pairing import Clusters, Pairing
from rageval_report.analysis.comparing.verdicts import AdjustedPvalues, verdict
from rageval_report.analysis.evaluation_subset import EvaluationSubset
from rageval_report.analysis.family import correct_in_family, family_of_pairings
from rageval_report.analysis.summary import summarise
from rageval_report.errors import DataError, UnknownNameError, check_options
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored, resolver
from rageval_report.scores.align import Alignment
from rageval_report.stats import heterogeneity_test
from rageval_report.stats.pairs.heterogeneity import HeterogeneityResult
from rageval_report.types import IntArray

NO_GROUP = "(none)"

_Groups: TypeAlias = list[tuple[str, MetricComparison]]


@dataclass(frozen=True)
class _SliceTable:
    """The facts about a table of slices that its sentences need."""

    by: str
    correction: str
    family_size: int
    plan: ComparisonPlan

    def reversal(self, label: str, row: MetricComparison, pvalue: float, overall: float) -> str:
        """The verdict on a group that differs in the other direction than all queries together."""
        adjusted = AdjustedPvalues(pvalue, float("nan"), self.correction, self.family_size)
        sentence = verdict(row.finding(adjusted, self.plan))
        return f"where {self.by} is {label}, {sentence}; over all queries it is {overall:+.3f}"


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
        `summarise`.

    Raises
    ------
    UnknownNameError
        If `by` is not a column of the details.
    DataError
        If every query is a group of its own.
    """
    check_options("slice_summary()", settings, MeanKeywords.__annotations__)
    labels = group_labels(evaluation, by)
    parts = []
    for label, rows in _rows_by_group(labels):
        subset = _subset(evaluation, rows)
        part = summarise(subset, metrics=metrics, clusters=clusters, **settings)
        column = _column_for(by, part.frame)
        part.frame.insert(1, column, label)
        parts.append(part)
    frame = pd.concat([part.frame for part in parts], ignore_index=True)
    # The parts are group by group, the table is metric by metric.
    order = frame["metric"].map({name: i for i, name in enumerate(parts[0].frame["metric"])})
    frame = frame.iloc[np.argsort(order.to_numpy(), kind="stable")].reset_index(drop=True)
    return Result(
        f"{evaluation.name} by {by}",
        frame,
        {**parts[0].settings, "by": column},
        _label_notes(labels, by),
        headline=(
            column,
            "n",
            *([] if clusters is None else ["n_clusters"]),
            "n_unscored",
            "mean",
            "ci_low",
            "ci_high",
            "std",
            "min",
            "p50",
            "max",
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
        ``crossing_pvalue`` (Gail & Simon: do they differ in opposite directions?). ``verdict`` is a
        sentence if a group is shown to differ in the other direction than all queries together,
        else missing.

    Raises
    ------
    UnknownNameError
        If `by` is not a column of the details, or a metric was not compared.
    """
    notes: list[str] = []
    all_groups: list[_Groups] = []
    column = _column_for(by, comparison.frame)
    for pairing in comparison.pairings:
        labels = group_labels(pairing.baseline, by).reindex(pairing.alignment.ids)
        notes += [
            *_label_notes(labels, by),
            *_shared_cluster_notes(pairing, labels, comparison, by),
        ]
        for ours, theirs in _choose_pairs(pairing, metrics):
            all_groups.append(
                [
                    (
                        label,
                        compare_metric(
                            _select_queries(pairing, rows), ours, theirs, comparison.plan
                        ),
                    )
                    for label, rows in _rows_by_group(labels)
                ]
            )
    frame = pd.DataFrame([record for groups in all_groups for record in _records(groups, column)])
    chosen = [
        replace(pairing, metrics=_choose_pairs(pairing, metrics)) for pairing in comparison.pairings
    ]
    family = family_of_pairings(chosen, are_requested=metrics is not None)
    of_rows, pvalues = frame["metric"].tolist(), frame["pvalue"].to_numpy(dtype=np.float64)
    smallest = [row.smallest_pvalue for groups in all_groups for _, row in groups]
    adjusted = correct_in_family(family, of_rows, pvalues, correction, smallest)
    # The best of several variants was chosen on the queries of all groups.
    adjusted = np.minimum(1.0, comparison.plan.tried * adjusted)
    n_tests = family.size(of_rows, pvalues)
    frame.insert(list(frame).index("pvalue") + 1, "pvalue_adjusted", adjusted)
    table = _SliceTable(by, correction, n_tests, comparison.plan)
    verdicts = _reversals(all_groups, adjusted.tolist(), table)
    # As objects, because pandas 3 would make NaN of None beside texts.
    frame["verdict"] = pd.Series(verdicts, index=frame.index, dtype=object)
    several = len(comparison.pairings) > 1
    middle = ("candidate",) if several else ()
    return Result(
        f"{comparison.title}, by {by}",
        frame,
        {**comparison.settings, "by": column, "correction": correction, "family_size": n_tests},
        (
            *dict.fromkeys([*notes, *_disagreement_notes(all_groups, verdicts, table)]),
            f"p-values are adjusted ({correction}) over {n_tests} tests",
            *family.notes(),
        ),
        headline=(
            *(column, *middle, "n", "baseline_mean", "candidate_mean", "difference", "ci_low"),
            *("ci_high", "pvalue_adjusted", "wins", "ties", "losses"),
        ),
        grouped_by="metric",
    )


def group_labels(evaluation: Scored, by: str) -> pd.Series:
    """The group of each query as text; "(none)" for an empty cell."""
    if by not in evaluation.details:
        raise UnknownNameError("detail column", by, map(str, evaluation.details.columns))
    column = evaluation.details[by]
    labels = column.map(str).where(column.notna(), NO_GROUP).astype(str)
    if len(labels) > 1 and labels.nunique() == len(labels):
        raise DataError(
            f"every query has its own value of {by!r}, so there are no groups to compare; "
            f"the first is {labels.iloc[0][:40]!r}"
        )
    return labels


def _column_for(by: str, frame: pd.DataFrame) -> str:
    """The name of the column of groups: that of the details, unless the table has one like it."""
    return f"{by}_slice" if by in frame else by


def _rows_by_group(labels: pd.Series) -> Iterator[tuple[str, IntArray]]:
    """Each group and its rows, the largest first."""
    for label in labels.value_counts(sort=True).index:
        yield str(label), np.flatnonzero((labels == label).to_numpy())


def _subset(evaluation: Scored, rows: IntArray) -> EvaluationSubset:
    return EvaluationSubset(
        evaluation.name,
        evaluation.scores.iloc[rows],
        evaluation.details.iloc[rows],
        dict(evaluation.metrics),
        getattr(evaluation, "config", None) or {},
    )


def _select_queries(pairing: Pairing, rows: IntArray) -> Pairing:
    # None stands for all rows in order, so a place among the pairs is the row itself.
    whole = pairing.alignment
    part = Alignment(
        whole.ids[rows],
        rows if whole.baseline_rows is None else whole.baseline_rows[rows],
        rows if whole.candidate_rows is None else whole.candidate_rows[rows],
        whole.only_baseline,
        whole.only_candidate,
    )
    return replace(pairing, alignment=part)


def _choose_pairs(
    pairing: Pairing, metrics: str | Iterable[str] | None
) -> list[tuple[Metric, Metric]]:
    if metrics is None:
        return pairing.metrics
    by_name = {ours.name: (ours, theirs) for ours, theirs in pairing.metrics}
    names = [metrics] if isinstance(metrics, str) else metrics
    resolve = resolver(by_name)
    return [by_name[resolve(name)] for name in names]


def _label_notes(labels: pd.Series, by: str) -> tuple[str, ...]:
    n_without = int((labels == NO_GROUP).sum())
    verb = "query has" if n_without == 1 else "queries have"
    return (f"{n_without} {verb} no {by}",) if n_without else ()


def _shared_cluster_notes(
    pairing: Pairing, labels: pd.Series, comparison: ComparisonLike, by: str
) -> Iterator[str]:
    """That groups depend on each other, because a cluster has queries in several of them."""
    rows = pairing.alignment.baseline_rows
    units = comparison.plan.units.select(slice(None) if rows is None else rows)
    if units.codes is None:
        return
    groups = labels.groupby(units.codes).nunique()
    n_shared = int((groups > 1).sum())
    if n_shared:
        yield (
            f"{n_shared} of {len(groups)} clusters have queries in several groups of {by}, so the "
            "groups are not independent, as the test of heterogeneity assumes"
        )


def _records(groups: _Groups, column: str) -> list[dict[str, object]]:
    spread = _heterogeneity(groups)
    pvalues = {
        "heterogeneity_pvalue": math.nan if spread is None else spread.pvalue,
        "crossing_pvalue": math.nan if spread is None else spread.crossing_pvalue,
    }
    return [_record(label, row, column) | pvalues for label, row in groups]


def _heterogeneity(groups: _Groups) -> HeterogeneityResult | None:
    """Whether the groups differ, by their independent units; None for fewer than two groups."""
    values = [row.by_unit.values for _, row in groups if row.by_unit.n]
    return heterogeneity_test(values) if len(values) > 1 else None


def _record(label: str, row: MetricComparison, column: str) -> dict[str, object]:
    numbers = dict(row.numbers)
    first = {name: numbers.pop(name) for name in ("metric", "candidate")}
    return {**first, column: label, **numbers}


def _reversals(
    all_groups: list[_Groups], adjusted: list[float], table: _SliceTable
) -> list[str | None]:
    """The verdict of each group that is shown to differ in the other direction than the whole."""
    sentences: list[str | None] = []
    for groups in all_groups:
        overall = _overall(groups)
        for label, row in groups:
            pvalue = adjusted[len(sentences)]
            is_against = row.test.difference * overall < 0 and pvalue <= table.plan.alpha
            sentences.append(table.reversal(label, row, pvalue, overall) if is_against else None)
    return sentences


def _overall(groups: _Groups) -> float:
    """The mean difference of all queries together."""
    every = np.concatenate([row.differences for _, row in groups])
    return float(every.mean()) if every.size else float("nan")


def _disagreement_notes(
    all_groups: list[_Groups], verdicts: list[str | None], table: _SliceTable
) -> Iterator[str]:
    """Notes on groups that differ in the other direction than the whole without a verdict."""
    place = 0
    for groups in all_groups:
        place += len(groups)
        if not any(verdicts[place - len(groups) : place]):
            yield from _disagreement_note(groups, table)


def _disagreement_note(groups: _Groups, table: _SliceTable) -> Iterator[str]:
    overall, n = _overall(groups), sum(row.test.n for _, row in groups)
    against = [(label, row) for label, row in groups if row.test.difference * overall < 0]
    if not against:
        return
    first = groups[0][1]
    name = f"{first.metric.name} ({first.names[1]})"
    clear = [(label, row) for label, row in against if row.test.pvalue <= table.plan.alpha]
    # A majority against the whole is Simpson's paradox: a large group, or a large difference, hides
    # the others.
    if 2 * sum(row.test.n for _, row in against) > n:
        yield (
            f"{name}: {overall:+.3f} overall, but most queries are in groups of {table.by} that "
            f"differ in the other direction: {_list_groups(against)}"
        )
    elif clear:
        spread = heterogeneity_test([row.by_unit.values for _, row in groups if row.by_unit.n])
        yield (
            f"{name}: {overall:+.3f} overall, but the other direction in "
            f"{_list_groups(clear)}; the groups differ with heterogeneity p = {spread.pvalue:.2g}"
        )


def _list_groups(groups: _Groups) -> str:
    return ", ".join(f"{label} ({row.test.difference:+.3f})" for label, row in groups[:5])
