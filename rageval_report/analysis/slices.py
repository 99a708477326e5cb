"""The same numbers group by group: by any column of the details."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pandas as pd

from rageval_report.analysis.comparing.metric_comparison import (
    ComparisonLike,
    ComparisonPlan,
    MetricComparison,
    compare_metric,
)
from rageval_report.analysis.comparing.pairing import Pairing
from rageval_report.analysis.comparing.verdicts import AdjustedPvalues, verdict
from rageval_report.analysis.summary import summarise
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored, resolver
from rageval_report.scores.align import Alignment
from rageval_report.stats import adjust_pvalues, heterogeneity_test

NO_GROUP = "(none)"

_Groups: TypeAlias = list[tuple[str, MetricComparison]]


@dataclass(frozen=True, eq=False)
class Subset:
    """Some queries of an evaluation."""

    name: str
    scores: pd.DataFrame
    details: pd.DataFrame
    metrics: dict[str, Metric]


@dataclass(frozen=True)
class _Telling:
    """What a sentence about a group must know of the table."""

    by: str
    correction: str
    family_size: int
    plan: ComparisonPlan

    def reversal(self, label: str, row: MetricComparison, pvalue: float, overall: float) -> str:
        """That a group differs the other way than all queries together."""
        adjusted = AdjustedPvalues(pvalue, float("nan"), self.correction, self.family_size)
        sentence = verdict(row.finding(adjusted, self.plan))
        return f"where {self.by} is {label}, {sentence}; over all queries it is {overall:+.3f}"


def slice_summary(
    evaluation: Scored, by: str, metrics: str | Iterable[str] | None = None, **settings: object
) -> Result:
    """Describe each metric in each group of queries.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores and details.
    by : str
        A column of the details.
    metrics : str or iterable of str, optional
        Which metrics; all of them where nothing is asked.
    **settings
        As in `summarise`.

    Returns
    -------
    Result
        One row a metric and a group: ``metric``, the groups' column, then what `summarise` has.

    Raises
    ------
    UnknownNameError
        If `by` is not a column of the details.
    DataError
        If every query is a group of its own.
    """
    labels = group_labels(evaluation, by)
    parts = []
    for label, rows in _rows_by_group(labels):
        subset = _subset(evaluation, rows)
        part = summarise(subset, metrics=metrics, **settings)  # type: ignore[arg-type]
        column = _column_for(by, part.frame)
        part.frame.insert(1, column, label)
        parts.append(part)
    frame = pd.concat([part.frame for part in parts], ignore_index=True)
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
    """Compare two runs in each group of queries, and ask whether the groups agree.

    Parameters
    ----------
    comparison : Comparison
        Its settings hold for the groups too.
    by : str
        A column of the baseline's details.
    metrics : str or iterable of str, optional
        Which metrics; all that were compared where nothing is asked.
    correction : str
        Over all rows of this table.

    Returns
    -------
    Result
        One row a metric, a candidate and a group: ``metric``, ``candidate``, the groups' column,
        ``n``, ``n_dropped``, both means, ``difference``, ``ci_low``, ``ci_high``, ``test``,
        ``pvalue``, ``pvalue_adjusted``, ``wins``, ``ties``, ``losses``, and, of the whole metric,
        ``heterogeneity_pvalue`` (Welch's form of Cochran's Q: do
        the groups differ?) and ``crossing_pvalue``
        (Gail & Simon: do they point different ways?). ``verdict`` is a sentence where a group is
        shown to differ the other way than all queries together, and missing elsewhere.

    Raises
    ------
    UnknownNameError
        If `by` is not a column of the details, or a metric was not compared.
    """
    notes: list[str] = []
    found: list[_Groups] = []
    column = _column_for(by, comparison.frame)
    for pairing in comparison.pairings:
        labels = group_labels(pairing.baseline, by).reindex(pairing.alignment.ids)
        notes += _label_notes(labels, by)
        for ours, theirs in _asked(pairing, metrics):
            found.append(
                [
                    (
                        label,
                        compare_metric(
                            _restricted(pairing, rows), ours, theirs, None, comparison.plan
                        ),
                    )
                    for label, rows in _rows_by_group(labels)
                ]
            )
    frame = pd.DataFrame([record for groups in found for record in _records(groups, column)])
    adjusted = adjust_pvalues(frame["pvalue"].to_numpy(), method=correction)
    frame.insert(list(frame).index("pvalue") + 1, "pvalue_adjusted", adjusted)
    told = _Telling(by, correction, len(frame), comparison.plan)
    frame["verdict"] = _reversals(found, adjusted.tolist(), told)
    several = len(comparison.pairings) > 1
    middle = ("candidate",) if several else ()
    return Result(
        f"{comparison.title}, by {by}",
        frame,
        {**comparison.settings, "by": column, "correction": correction, "family_size": len(frame)},
        (
            *dict.fromkeys([*notes, *_disagreements(found, frame["verdict"].tolist(), told)]),
            f"p-values are adjusted ({correction}) over {len(frame)} rows",
        ),
        headline=(
            *(column, *middle, "n", "baseline_mean", "candidate_mean", "difference", "ci_low"),
            *("ci_high", "pvalue_adjusted", "wins", "ties", "losses"),
        ),
        grouped_by="metric",
    )


def group_labels(evaluation: Scored, by: str) -> pd.Series:
    """The group of each query as text; "(none)" where the column says nothing."""
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
    """The column that tells the groups: named like the details' one, unless that name is taken."""
    return f"{by}_slice" if by in frame else by


def _rows_by_group(labels: pd.Series) -> Iterator[tuple[str, np.ndarray]]:
    """Each group and its rows, the largest first."""
    for label in labels.value_counts(sort=True).index:
        yield str(label), np.flatnonzero((labels == label).to_numpy())


def _subset(evaluation: Scored, rows: np.ndarray) -> Subset:
    return Subset(
        evaluation.name,
        evaluation.scores.iloc[rows],
        evaluation.details.iloc[rows],
        dict(evaluation.metrics),
    )


def _restricted(pairing: Pairing, rows: np.ndarray) -> Pairing:
    whole = pairing.alignment
    part = Alignment(
        whole.ids[rows],
        rows if whole.baseline_rows is None else whole.baseline_rows[rows],
        rows if whole.candidate_rows is None else whole.candidate_rows[rows],
        whole.only_baseline,
        whole.only_candidate,
    )
    return replace(pairing, alignment=part)


def _asked(pairing: Pairing, metrics: str | Iterable[str] | None) -> list[tuple[Metric, Metric]]:
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


def _records(groups: _Groups, column: str) -> list[dict[str, object]]:
    spread = heterogeneity_test([row.differences for _, row in groups if row.differences.size])
    told = {"heterogeneity_pvalue": spread.pvalue, "crossing_pvalue": spread.crossing_pvalue}
    return [_record(label, row, column) | told for label, row in groups]


def _record(label: str, row: MetricComparison, column: str) -> dict[str, object]:
    numbers = dict(row.numbers)
    head = {name: numbers.pop(name) for name in ("metric", "candidate")}
    return {**head, column: label, **numbers}


def _reversals(found: list[_Groups], adjusted: list[float], told: _Telling) -> list[str | None]:
    """A sentence for each group that is shown to differ the other way than all queries together."""
    sentences: list[str | None] = []
    for groups in found:
        overall = _overall(groups)
        for label, row in groups:
            pvalue = adjusted[len(sentences)]
            is_against = row.test.difference * overall < 0 and pvalue <= told.plan.alpha
            sentences.append(told.reversal(label, row, pvalue, overall) if is_against else None)
    return sentences


def _overall(groups: _Groups) -> float:
    """The mean difference of all queries together."""
    every = np.concatenate([row.differences for _, row in groups])
    return float(every.mean()) if every.size else float("nan")


def _disagreements(
    found: list[_Groups], verdicts: list[str | None], told: _Telling
) -> Iterator[str]:
    """Where groups point the other way than the whole does, and no verdict says so."""
    place = 0
    for groups in found:
        place += len(groups)
        if not any(verdicts[place - len(groups) : place]):
            yield from _disagreement(groups, told)


def _disagreement(groups: _Groups, told: _Telling) -> Iterator[str]:
    overall, n = _overall(groups), sum(row.test.n for _, row in groups)
    against = [(label, row) for label, row in groups if row.test.difference * overall < 0]
    if not against:
        return
    first = groups[0][1]
    name = f"{first.metric.name} ({first.names[1]})"
    clear = [(label, row) for label, row in against if row.test.pvalue <= told.plan.alpha]
    if 2 * sum(row.test.n for _, row in against) > n:
        yield (
            f"{name}: {overall:+.3f} overall, but most queries are in groups of {told.by} that "
            f"point the other way: {_listed(against)}"
        )
    elif clear:
        spread = heterogeneity_test([row.differences for _, row in groups if row.differences.size])
        yield (
            f"{name}: {overall:+.3f} overall, but the other way in {_listed(clear)}; the groups "
            f"differ with heterogeneity p = {spread.pvalue:.2g}"
        )


def _listed(groups: _Groups) -> str:
    return ", ".join(f"{label} ({row.test.difference:+.3f})" for label, row in groups[:5])
