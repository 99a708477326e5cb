"""One pipeline, metric by metric: the number of scores, the mean with its interval, the spread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import (
    Clusters,
    MeanKeywords,
    check_percentiles,
    choose_metrics,
    clusters_setting,
    interval_of_mean,
    is_scan,
    percentile_column,
    scores_of,
    unnamed_clusters,
)
from rageval_report.analysis.cluster_means import interval_of_clusters
from rageval_report.analysis.tables import PipelineTable, table_of
from rageval_report.errors import check_options
from rageval_report.reports.sentences import number
from rageval_report.results import Result
from rageval_report.scores import Correct, Metric, Scored
from rageval_report.scores.catalogue.dialects import dialect_settings, percentile_method
from rageval_report.scores.correct_notion import (
    CorrectCounts,
    CorrectNotion,
    answers_by,
    declare_counts,
    find_notion,
    why_unknown,
)
from rageval_report.scores.metric import GROUPS
from rageval_report.scores.states import (
    FAILED,
    MISSING,
    SCORED,
    STATES,
    states_frame,
    unscored_reasons,
)
from rageval_report.stats.base import Interval, check_level
from rageval_report.stats.columns import Column
from rageval_report.stats.means import (
    QUARTILES,
    PercentileMethod,
    percentiles_of,
    quantile_interval,
)

MOST_REASONS = 3
_LONGEST_REASON = 80
# A mean that falls to this share of itself without its largest score says little about the others.
_DOMINATED = 0.8


def summarise(
    evaluation: Scored | PipelineTable,
    *,
    metrics: str | Iterable[str] | None = None,
    percentiles: Sequence[float] = QUARTILES,
    interval: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
    clusters: Clusters | None = None,
) -> Result:
    """Describe each metric of a pipeline.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores.
    metrics : str or iterable of str, optional
        The metrics; all of them if omitted.
    percentiles : sequence of float
        0 to 100.
    interval : str
        The method of the interval of the mean; "auto" chooses by the kind of metric.
    confidence_level : float
        Between 0 and 1.
    n_resamples, seed : int
        For the intervals that resample.
    clusters : str, Series or mapping, optional
        Queries that belong together and are not independent: the name of a details column or a
        cluster label by query id. The intervals are then those of CR2, within the metric's bounds,
        or with the interval "t" without them; all other numbers stay as they are.

    Returns
    -------
    Result
        One row per metric: ``metric``, ``title``, ``group``, ``kind``, ``greater_is_better``,
        ``n``, ``n_unscored``, ``mean``, ``ci_low``, ``ci_high``, ``ci_method``, ``std``, ``min``,
        one column per percentile (``p25``), ``max``. With clusters also ``n_clusters``. Metrics of
        one group are together.

    Raises
    ------
    UnknownNameError
        If a metric or an interval is not known.
    DataError
        If a setting makes no sense, a query has no cluster, or there are clusters and the interval
        assumes independent queries.
    """
    checked = check_percentiles(percentiles)
    table = table_of(evaluation, clusters)
    sample = table.sample
    known = sorted(choose_metrics(sample, metrics), key=lambda m: GROUPS.index(m.group))
    columns = [table.column(metric) for metric in known]
    method = percentile_method(sample)
    described = [describe(column, table.n_queries, checked, method) for column in columns]
    if table.are_clusters:
        level = check_level(confidence_level)
        errors = [table.error(metric) for metric in known]
        intervals = [
            interval_of_clusters(
                *(metric, column.minimum, error), method=interval, confidence_level=level
            )
            for metric, column, error in zip(known, columns, errors, strict=True)
        ]
    else:
        intervals = [
            interval_of_mean(
                metric,
                column,
                method=interval,
                confidence_level=confidence_level,
                n_resamples=n_resamples,
                seed=seed,
            )
            for metric, column in zip(known, columns, strict=True)
        ]
    plan = MeanPlan(checked, method, interval, confidence_level, n_resamples, seed)
    summary = _summary_of_columns(sample, known, described, intervals, plan)
    settings = {**summary.settings, **table.settings}
    summary = replace(summary, settings=settings).with_notes(*table.notes(known))
    if clusters is None:
        return summary
    counts = [0 if error is None else error.n_clusters for error in errors]
    return replace(
        summary,
        frame=summary.frame.assign(n_clusters=counts),
        settings={**summary.settings, **clusters_setting(clusters)},
    )


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """The numbers that a report shows of one column.

    Parameters
    ----------
    column : Column
        The scores that are present.
    n_unscored : int
        The number of queries whose score is missing.
    percentiles : tuple of float
        In the order of the arguments; NaN if nothing is scored.
    """

    column: Column
    n_unscored: int
    percentiles: tuple[float, ...]


def describe(
    column: Column, n_queries: int, percentiles: Sequence[float], method: PercentileMethod
) -> ColumnDescription:
    """The numbers of one column, of which not all queries need be scored."""
    cuts = percentiles_of(column, percentiles, method=method)
    return ColumnDescription(column, n_queries - column.n, tuple(cuts.tolist()))


@dataclass(frozen=True)
class MeanPlan:
    """The settings of a table of means; see `summarise`."""

    percentiles: tuple[float, ...] = QUARTILES
    method: PercentileMethod = "linear"
    interval: str = "auto"
    confidence_level: float = 0.95
    n_resamples: int = 9999
    seed: int = 0


def _summary_of_columns(
    evaluation: Scored,
    metrics: Sequence[Metric],
    described: Sequence[ColumnDescription],
    intervals: Sequence[Interval],
    plan: MeanPlan,
) -> Result:
    """The table of `summarise`, of columns that are described already.

    Parameters
    ----------
    evaluation : Scored
        The pipeline, for the title and the dialect.
    metrics : sequence of Metric
        The metrics.
    described : sequence of ColumnDescription
        The numbers of each.
    intervals : sequence of Interval
        The interval of each mean.
    plan : MeanPlan
        The settings.
    """
    rows = [
        _summary_row(metric, numbers, limits, plan.percentiles)
        for metric, numbers, limits in zip(metrics, described, intervals, strict=True)
    ]
    settings = {
        "interval": plan.interval,
        "confidence_level": plan.confidence_level,
        "percentiles": plan.percentiles,
        "percentile_method": plan.method,
        **dialect_settings([evaluation]),
        **_resampling_settings(intervals, plan.n_resamples, plan.seed),
    }
    notes = _interval_notes(metrics, intervals)
    return Result(f"Evaluation of {evaluation.name}", pd.DataFrame(rows), settings, notes)


def _summary_row(
    metric: Metric, numbers: ColumnDescription, interval: Interval, percentiles: tuple[float, ...]
) -> dict[str, object]:
    column = numbers.column
    cuts = zip(map(percentile_column, percentiles), numbers.percentiles, strict=True)
    return {
        "metric": metric.name,
        "title": metric.title,
        "group": metric.group,
        "kind": metric.kind,
        "greater_is_better": metric.greater_is_better,
        "n": column.n,
        "n_unscored": numbers.n_unscored,
        "mean": column.mean,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "ci_method": interval.method,
        "std": column.std,
        "min": column.minimum,
        **dict(cuts),
        "max": column.maximum,
    }


def _resampling_settings(
    intervals: Sequence[Interval], n_resamples: int, seed: int
) -> dict[str, int]:
    """The seed belongs to the signature only if something was drawn."""
    if any(interval.method in ("bca", "percentile", "studentised") for interval in intervals):
        return {"n_resamples": n_resamples, "seed": seed}
    return {}


def _interval_notes(metrics: Sequence[Metric], intervals: Sequence[Interval]) -> tuple[str, ...]:
    metrics_by_note: dict[str, list[str]] = {}
    for metric, interval in zip(metrics, intervals, strict=True):
        for note in interval.notes:
            metrics_by_note.setdefault(note, []).append(metric.name)
    return tuple(f"{', '.join(names)}: {note}" for note, names in metrics_by_note.items())


@dataclass(frozen=True, eq=False, repr=False)
class EvaluationReport(Result, Mapping[str, float | int]):
    """The report of a pipeline: prints as the full table, and is a mapping of titles to means.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    counts : mapping of str to int
        ``nr_correct_queries`` and ``nr_incorrect_queries``, and ``nr_unscored_queries`` if there
        are any; empty if it is unknown what is correct.
    correct : str
        What is correct, and how many queries are: the sentence above the table; empty if it is
        unknown.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> data = {"query_id": ["a", "b", "c"], "exact_match": [1, 0, 1]}
    >>> report = RAGPipelineEvaluation("hybrid", data).evaluation_report()
    >>> dict(report)
    {'Exact Match': 0.6666666666666666, 'nr_correct_queries': 2, 'nr_incorrect_queries': 1}
    >>> report.sentences
    ('correct: exact_match = 1; 2 of 3 queries are correct',)
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    correct: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is correct, and how many queries are."""
        return (self.correct,) if self.correct else ()

    def to_dict(self) -> dict[str, Any]:
        """The whole result as dicts, lists, numbers and texts, with what is correct.

        Examples
        --------
        >>> from rageval_report import RAGPipelineEvaluation
        >>> data = {"query_id": ["a", "b", "c"], "exact_match": [1, 0, 1]}
        >>> RAGPipelineEvaluation("hybrid", data).evaluation_report().to_dict()["title"]
        'Evaluation of hybrid'
        """
        return {**super().to_dict(), **({"correct": self.correct} if self.correct else {})}

    def _means(self) -> dict[str, float | int]:
        titles = self.frame["title"]
        # Where two metrics share a title, only their names tell them apart.
        keys = titles.where(~titles.duplicated(keep=False), self.frame["metric"])
        return {**dict(zip(keys, self.frame["mean"].tolist(), strict=True)), **self.counts}

    def __getitem__(self, key: str) -> float | int:
        return self._means()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._means())

    def __len__(self) -> int:
        return len(self._means())


def evaluation_report(
    evaluation: Scored,
    correct: Correct | CorrectNotion | None = None,
    *,
    metrics: str | Iterable[str] | None = None,
    clusters: Clusters | None = None,
    **settings: Unpack[MeanKeywords],
) -> EvaluationReport:
    """The report of one pipeline: every metric described, and the number of correct queries.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores.
    correct : see `correctness`, optional
        What a correct answer is; if omitted, the evaluation's own rule, else what
        `rageval_report.scores.correctness` chooses. Without any nothing is counted.
    metrics, clusters, **settings
        As in `summarise`.

    Returns
    -------
    EvaluationReport
        A mapping of each metric's title to its mean; its frame is that of `summarise`.
    """
    check_options("evaluation_report()", settings, MeanKeywords.__annotations__)
    table = table_of(evaluation, clusters)
    summary = summarise(table, metrics=metrics, clusters=clusters, **settings)
    sample, names = table.sample, summary.frame["metric"]
    notion = find_notion(sample, correct)
    if is_scan(evaluation):
        scan: Any = evaluation
        unscored, right = scan.count_unscored(names), None
        if notion is not None and not callable(notion.rule):
            right = scan.count_correct(notion)
    else:
        unscored = UnscoredQueries.of(evaluation, names)
        right = None if notion is None else CorrectCounts.of(answers_by(evaluation, notion))
    spent = {
        name: table.column(sample.metrics[name])
        for name in names[summary.frame["group"] == "performance"]
    }
    rule_note = why_unknown(sample) if notion is None else notion.note
    percentiles = [name for name in summary.frame.columns if name.startswith("p")]
    return EvaluationReport(
        summary.title,
        summary.frame,
        summary.settings,
        (
            *unscored.notes(),
            *summary.notes,
            *_typical_notes(sample, summary, spent, has_clusters=clusters is not None),
            *([rule_note] if rule_note else []),
            *unnamed_clusters(evaluation, clusters),
        ),
        headline=(
            *("title", "n", *([] if clusters is None else ["n_clusters"]), "n_unscored", "mean"),
            *("ci_low", "ci_high", "std", "min"),
            *percentiles,
            "max",
        ),
        grouped_by="group",
        counts={} if right is None else _count_mapping(right),
        correct="" if notion is None or right is None else declare_counts(sample, notion, right),
    )


def _count_mapping(counts: CorrectCounts) -> dict[str, int]:
    named = {
        "nr_correct_queries": counts.n_correct,
        "nr_incorrect_queries": counts.n_incorrect,
    }
    return {**named, "nr_unscored_queries": counts.n_unscored} if counts.n_unscored else named


def unscored_notes(evaluation: Scored, metrics: Iterable[str]) -> tuple[str, ...]:
    """The number of unscored queries by state, and the reasons of those that failed.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores.
    metrics : iterable of str
        The metrics to describe.
    """
    return UnscoredQueries.of(evaluation, metrics).notes()


@dataclass(frozen=True)
class UnscoredQueries:
    """The queries without a score: how many, in which state, and why they failed.

    Parameters
    ----------
    n_queries : int
        The number of all queries.
    states : dict of str to Counter
        The number of unscored queries by state, by metric; of metrics that have some.
    reasons : dict of str to Counter
        The number of failed queries by reason, by metric.
    """

    n_queries: int
    states: Mapping[str, Counter[str]]
    reasons: Mapping[str, Counter[str]]

    @classmethod
    def of(
        cls, evaluation: Scored, metrics: Iterable[str], times: pd.Series | None = None
    ) -> UnscoredQueries:
        """The unscored queries of an evaluation, each of which occurs once, or so many times."""
        scores = evaluation.scores[list(metrics)]
        scores = scores.loc[:, scores.isna().any()]
        if not scores.shape[1]:
            return cls(len(scores), {}, {})
        states = states_frame(scores, evaluation.details)
        return cls(
            len(scores),
            {
                str(name): _count_texts(states[name][states[name] != SCORED], times)
                for name in states
            },
            {str(name): _count_reasons(evaluation, states, str(name), times) for name in states},
        )

    def notes(self, metrics: Iterable[str] | None = None) -> tuple[str, ...]:
        """The counts of these metrics in words; of all metrics if omitted."""
        names = [name for name in (metrics or self.states) if name in self.states]
        if not names:
            return ()
        counts = ", ".join(f"{name} {_count_states(self.states[name])}" for name in names)
        return (
            f"unscored of {self.n_queries} queries, left out of the means: {counts}",
            *self._failure_notes(names),
        )

    def _failure_notes(self, names: Sequence[str]) -> Iterator[str]:
        metrics_by_text: dict[str, list[str]] = {}
        for name in names:
            counts = self.reasons[name]
            if counts:
                first = counts.most_common(MOST_REASONS)
                shown = ", ".join(f"{reason!r} {n}" for reason, n in first)
                more = len(counts) - MOST_REASONS
                text = shown + (f" and {more} other reasons" if more > 0 else "")
                metrics_by_text.setdefault(text, []).append(name)
        for text, metrics in metrics_by_text.items():
            yield f"{', '.join(metrics)} failed: {text}"


def _count_reasons(
    evaluation: Scored, states: pd.DataFrame, name: str, times: pd.Series | None
) -> Counter[str]:
    is_failed = states[name] == FAILED
    if not is_failed.any():
        return Counter()
    reasons = unscored_reasons(evaluation.details, name)[is_failed].dropna().map(_short)
    return _count_texts(reasons, times)


def _count_texts(texts: pd.Series, times: pd.Series | None) -> Counter[str]:
    # By number, as pandas counts; of equal numbers the first in the table goes first.
    if times is None:
        counts = texts.value_counts()
    else:
        counts = times[texts.index].groupby(texts, sort=False).sum()
        counts = counts.sort_values(ascending=False, kind="stable")
    return Counter({str(text): int(n) for text, n in counts.items()})


def _count_states(counts: Counter[str]) -> str:
    """The counts as "3" if all are missing, else such as "3 (2 failed, 1 missing)"."""
    parts = [f"{counts[state]} {state}" for state in STATES if state in counts]
    return str(counts.total()) + (f" ({', '.join(parts)})" if {*counts} != {MISSING} else "")


def _short(reason: str) -> str:
    line = " ".join(reason.split())
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 3] + "..."


def _typical_notes(
    evaluation: Scored,
    summary: Result,
    spent: Mapping[str, Column],
    *,
    has_clusters: bool,
) -> tuple[str, ...]:
    """The typical and the bad case of latency and cost: a mean says little about a long tail."""
    rows_of_cost = summary.frame[summary.frame["group"] == "performance"]
    level = float(str(summary.settings["confidence_level"]))
    method = percentile_method(evaluation)
    return tuple(
        _typical_note(name, spent[name], level, method, has_clusters=has_clusters)
        + _dominance_part(row)
        for name, (_, row) in zip(rows_of_cost["metric"], rows_of_cost.iterrows(), strict=True)
    )


def _dominance_part(row: pd.Series) -> str:
    """That one score decides the mean, if the mean falls by a fifth or more without it."""
    if row["n"] < 2:
        return ""
    without = (row["mean"] * row["n"] - row["max"]) / (row["n"] - 1)
    if not 0.0 <= without <= _DOMINATED * row["mean"] or row["mean"] == 0.0:
        return ""
    return (
        f"; one score dominates the mean and its interval: without the largest, "
        f"{number(row['max'])}, the mean is {number(without)}"
    )


def _typical_note(
    name: str, scores: Column, level: float, method: PercentileMethod, *, has_clusters: bool
) -> str:
    parts = []
    estimates = percentiles_of(scores, (50.0, 95.0), method=method).tolist()
    for word, share, estimate in zip(("median", "p95"), (0.5, 0.95), estimates, strict=True):
        # The interval of a quantile assumes independent queries.
        limits = (
            ""
            if has_clusters
            else _limits(quantile_interval(scores, share, confidence_level=level))
        )
        parts.append(f"{word} {number(estimate)}{limits}")
    return f"{name}: {', '.join(parts)}"


def _limits(interval: Interval) -> str:
    if np.isnan([interval.low, interval.high]).any():
        return " (too few queries for an interval)"
    level = f"{100 * interval.confidence_level:g} % CI"
    return f" ({level} {number(interval.low)} to {number(interval.high)})"


def aggregated_scores(evaluation: Scored) -> pd.Series:
    """The mean of each metric over the queries that were scored.

    Returns
    -------
    Series of float, index metric
        NaN if nothing was scored.
    """
    means = [
        # np.nanmean warns if every value is NaN.
        float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")
        for values in (scores_of(evaluation, metric) for metric in evaluation.metrics.values())
    ]
    return pd.Series(means, index=pd.Index(evaluation.metrics, name="metric"), name="mean")
