"""One pipeline, metric by metric: how many scores there are, their mean, interval and spread."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Unpack, get_args

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
    mean_limits,
    percentile_column,
    scores_of,
    unnamed_clusters,
)
from rageval_report.analysis.pairing import check_evaluations
from rageval_report.analysis.tables import PipelineTable, table_of
from rageval_report.errors import DataError, UnknownNameError, check_choice, check_options
from rageval_report.files.writing import write_atomically
from rageval_report.reports.sentences import number
from rageval_report.results import Answer, Result, answer_of
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
from rageval_report.stats.means import QUARTILES, percentiles_of, quantile_interval
from rageval_report.stats.units import ClusteredStandardError, interval_of_error

OutputFormat = Literal["json", "csv", "df"]
HaystackReport = dict[str, list[Any]] | str | pd.DataFrame

_MOST_REASONS, _LONGEST_REASON = 3, 80
# A mean that falls to this share of itself without its largest score says little about the others.
_DOMINATED = 0.8
_DRAWN = ("bca", "percentile", "studentised")  # intervals that need a seed


@dataclass(frozen=True)
class MeanSettings:
    """How the means of a table are described; see `summarise`."""

    percentiles: Sequence[float] = QUARTILES
    interval: str = "auto"
    confidence_level: float = 0.95
    n_resamples: int = 9999
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "percentiles", check_percentiles(self.percentiles))


def summarise(
    evaluation: Scored | PipelineTable,
    *,
    metrics: str | Iterable[str] | None = None,
    clusters: Clusters | None = None,
    **keywords: Unpack[MeanKeywords],
) -> Result:
    """Describe each metric of a pipeline: one row per metric, those of one group together.

    With clusters the intervals are those of CR2, within the metric's bounds, or without them if
    the interval is "t"; all other numbers stay as they are.
    """
    plan = MeanSettings(**keywords)
    table = table_of(evaluation, clusters)
    rule = percentile_method(table.sample)
    known = sorted(choose_metrics(table.sample, metrics), key=lambda m: GROUPS.index(m.group))
    how: dict[str, Any] = {"method": plan.interval, "confidence_level": plan.confidence_level}
    rows: list[dict[str, object]] = []
    methods: list[str] = []
    names_by_note: dict[str, list[str]] = {}
    for metric in known:
        column = table.column(metric)
        error = None if clusters is None else table.error(metric)
        if clusters is not None:
            interval = interval_of_clusters(metric, column.minimum, error, **how)
        else:
            draws: dict[str, Any] = {"n_resamples": plan.n_resamples, "seed": plan.seed}
            interval = interval_of_mean(metric, column, **how, **draws)
        methods.append(interval.method)
        for note in interval.notes:
            names_by_note.setdefault(note, []).append(metric.name)
        cuts = percentiles_of(column, plan.percentiles, method=rule).tolist()
        rows.append(
            {
                "metric": metric.name,
                "title": metric.title,
                "group": metric.group,
                "kind": metric.kind,
                "greater_is_better": metric.greater_is_better,
                "n": column.n,
                "n_unscored": table.n_queries - column.n,
                "mean": column.mean,
                "ci_low": interval.low,
                "ci_high": interval.high,
                "ci_method": interval.method,
                "std": column.std,
                "min": column.minimum,
                **dict(zip(map(percentile_column, plan.percentiles), cuts, strict=True)),
                "max": column.maximum,
            }
            | ({} if clusters is None else {"n_clusters": error.n_clusters if error else 0})
        )
    settings: dict[str, object] = {**asdict(plan), "percentile_method": rule}
    if not set(methods) & set(_DRAWN):  # a seed moves a number only where something is drawn
        del settings["n_resamples"], settings["seed"]
    settings |= {**dialect_settings([table.sample]), **table.settings, **clusters_setting(clusters)}
    notes = (f"{', '.join(names)}: {note}" for note, names in names_by_note.items())
    return Result(
        f"Evaluation of {table.sample.name}",
        pd.DataFrame(rows),
        settings,
        (*notes, *table.notes(known)),
    )


def interval_of_clusters(
    metric: Metric,
    lowest: float,
    error: ClusteredStandardError | None,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
) -> Interval:
    """The interval of a mean from its standard error by clusters; None if nothing is scored.

    Examples
    --------
    >>> from rageval_report.stats.units import clustered_standard_error
    >>> error = clustered_standard_error([1.0, 1, 0, 0, 1, 0, 1, 1], list("aabbccdd"))
    >>> interval = interval_of_clusters(Metric("recall", bounds=(0, 1)), 0.0, error)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.118, 0.954)
    """
    if method not in ("auto", "t"):
        raise DataError(
            f'interval must be "auto" or "t" with clusters; got {method!r}, which assumes '
            "independent queries"
        )
    check_level(confidence_level)
    if error is None:
        return Interval(*4 * (math.nan,), "cr2", confidence_level)
    bounds = None if method == "t" else mean_limits(metric, lowest)
    # Latency and cost are limited on one side only, which the interval within bounds cannot use.
    if bounds is not None and not math.isfinite(bounds[1] - bounds[0]):
        bounds = None
    return interval_of_error(error, confidence_level, bounds)


# -- the report


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
        What is correct, and how many queries are; empty if it is unknown.

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

    def printed(self) -> Answer:
        """How many queries are correct, the table, and at most three notes.

        Examples
        --------
        >>> from rageval_report import RAGPipelineEvaluation
        >>> data = {"query_id": ["a", "b", "c"], "exact_match": [1, 0, 1]}
        >>> RAGPipelineEvaluation("hybrid", data).evaluation_report().printed().summary
        'hybrid: 2 of 3 queries are correct (exact_match = 1).'
        """
        rule, _, counts = self.correct.partition("; ")
        name = self.title.removeprefix("Evaluation of ")
        sentence = f"{name}: {counts} ({rule.removeprefix('correct: ')})."
        return answer_of(self, sentence if counts else self.title)

    def to_dict(self) -> dict[str, Any]:
        """The whole result as dicts, lists, numbers and texts, with what is correct.

        Examples
        --------
        >>> from rageval_report import RAGPipelineEvaluation
        >>> data = {"query_id": ["a", "b", "c"], "exact_match": [1, 0, 1]}
        >>> RAGPipelineEvaluation("hybrid", data).evaluation_report().to_dict()["correct"]
        'correct: exact_match = 1; 2 of 3 queries are correct'
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
    """The report of one pipeline: every metric described, and the number of correct queries."""
    check_options("evaluation_report()", settings, MeanKeywords.__annotations__)
    table = table_of(evaluation, clusters)
    sample = table.sample
    summary = summarise(table, metrics=metrics, clusters=clusters, **settings)
    frame, notion = summary.frame, find_notion(sample, correct)
    right: CorrectCounts | None = None
    if is_scan(evaluation):
        scan: Any = evaluation
        unscored = scan.count_unscored(frame["metric"])
        if notion is not None and not callable(notion.rule):
            right = scan.count_correct(notion)
    else:
        unscored = UnscoredQueries.of(evaluation, frame["metric"])
        right = None if notion is None else CorrectCounts.of(answers_by(evaluation, notion))
    level = float(str(summary.settings["confidence_level"]))
    spent = [
        _typical_note(row, table, level, has_clusters=clusters is not None)
        for row in frame[frame["group"] == "performance"].to_dict("records")
    ]
    rule_note = why_unknown(sample) if notion is None else notion.note
    percentiles = [name for name in map(str, frame) if name.startswith("p")]
    counted = [] if clusters is None else ["n_clusters"]
    return EvaluationReport(
        summary.title,
        frame,
        summary.settings,
        (
            *unscored.notes(),
            *summary.notes,
            *spent,
            *([rule_note] if rule_note else []),
            *unnamed_clusters(evaluation, clusters),
        ),
        headline=(
            *("title", "n", *counted, "n_unscored", "mean", "ci_low", "ci_high", "std", "min"),
            *(*percentiles, "max"),
        ),
        grouped_by="group",
        counts={} if right is None else _counts(right),
        correct="" if notion is None or right is None else declare_counts(sample, notion, right),
    )


def _counts(right: CorrectCounts) -> dict[str, int]:
    counts = {"nr_correct_queries": right.n_correct, "nr_incorrect_queries": right.n_incorrect}
    return counts | ({"nr_unscored_queries": right.n_unscored} if right.n_unscored else {})


def _typical_note(
    row: Mapping[Any, Any], table: PipelineTable, level: float, *, has_clusters: bool
) -> str:
    """The typical and the bad case of latency or cost: a mean says little about a long tail."""
    column = table.column(table.sample.metrics[row["metric"]])
    cuts = percentiles_of(column, (50.0, 95.0), method=percentile_method(table.sample)).tolist()
    parts = []
    for word, share, cut in zip(("median", "p95"), (0.5, 0.95), cuts, strict=True):
        text = f"{word} {number(cut)}"
        if not has_clusters:  # the interval of a quantile assumes independent queries
            limits = quantile_interval(column, share, confidence_level=level)
            known = not math.isnan(limits.low) and not math.isnan(limits.high)
            text += (
                f" ({100 * level:g} % CI {number(limits.low)} to {number(limits.high)})"
                if known
                else " (too few queries for an interval)"
            )
        parts.append(text)
    note = f"{row['metric']}: {', '.join(parts)}"
    if row["n"] > 1 and row["mean"] != 0.0:
        without = (row["mean"] * row["n"] - row["max"]) / (row["n"] - 1)
        if 0.0 <= without <= _DOMINATED * row["mean"]:
            note += (
                f"; one score dominates the mean and its interval: without the largest, "
                f"{number(row['max'])}, the mean is {number(without)}"
            )
    return note


def aggregated_scores(evaluation: Scored) -> pd.Series:
    """The mean of each metric over the queries that were scored; NaN if none was."""
    columns = [scores_of(evaluation, metric) for metric in evaluation.metrics.values()]
    means = [
        # np.nanmean warns if every value is NaN.
        math.nan if np.isnan(values).all() else float(np.nanmean(values))
        for values in columns
    ]
    return pd.Series(means, index=pd.Index(evaluation.metrics, name="metric"), name="mean")


# -- missing scores


@dataclass(frozen=True)
class UnscoredQueries:
    """The queries without a score, by metric: how many in which state, and why they failed."""

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
        states, reasons = states_frame(scores, evaluation.details), {}
        for name in map(str, states):
            texts = unscored_reasons(evaluation.details, name)[states[name] == FAILED]
            reasons[name] = _count_texts(texts.dropna().map(_short), times)
        counts = {
            str(name): _count_texts(column[column != SCORED], times)
            for name, column in states.items()
        }
        return cls(len(scores), counts, reasons)

    def notes(self) -> tuple[str, ...]:
        """The counts in words, and the most frequent reasons of those that failed."""
        if not self.states:
            return ()
        texts = []
        for name, counts in self.states.items():
            parts = [f"{counts[state]} {state}" for state in STATES if state in counts]
            by_state = f" ({', '.join(parts)})" if {*counts} != {MISSING} else ""
            texts.append(f"{counts.total()} {name}{by_state}")
        names_by_reasons: dict[str, list[str]] = {}
        for name, reasons in self.reasons.items():
            if reasons:
                most = reasons.most_common(_MOST_REASONS)
                text = ", ".join(f"{reason!r} {n}" for reason, n in most)
                more = len(reasons) - len(most)
                text += f" and {more} other reasons" if more else ""
                names_by_reasons.setdefault(text, []).append(name)
        return (
            f"missing scores of {self.n_queries} queries, not in the means: {', '.join(texts)}",
            *(f"{', '.join(names)} failed: {text}" for text, names in names_by_reasons.items()),
        )


def _count_texts(texts: pd.Series, times: pd.Series | None) -> Counter[str]:
    """How often each text occurs, the most frequent first; of equal ones the first in the table."""
    if times is None:
        counts = texts.value_counts()
    else:
        counts = times[texts.index].groupby(texts, sort=False).sum()
        counts = counts.sort_values(ascending=False, kind="stable")
    return Counter({str(text): int(n) for text, n in counts.items()})


def _short(reason: str) -> str:
    line = " ".join(reason.split())
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 3] + "..."


# -- the three reports of Haystack's EvaluationRunResult


def aggregated_report(
    evaluation: Scored, output_format: OutputFormat = "json", csv_file: str | Path | None = None
) -> HaystackReport:
    """The mean of each metric: columns ``metrics``, ``score``."""
    return report_of_means(aggregated_scores(evaluation), output_format, csv_file)


def report_of_means(
    means: pd.Series, output_format: OutputFormat = "json", csv_file: str | Path | None = None
) -> HaystackReport:
    """The `aggregated_report` of means that are known."""
    frame = pd.DataFrame({"metrics": means.index, "score": means.to_numpy()})
    return _in_format(frame, output_format, csv_file)


def detailed_report(
    evaluation: Scored, output_format: OutputFormat = "json", csv_file: str | Path | None = None
) -> HaystackReport:
    """One row per query: ``query_id``, the details, then the metrics."""
    clash = {name: f"{name}_score" for name in evaluation.scores if name in evaluation.details}
    frame = pd.concat([evaluation.details, evaluation.scores.rename(columns=clash)], axis=1)
    return _in_format(frame.reset_index(), output_format, csv_file)


def comparative_detailed_report(
    evaluation: Scored,
    other: Scored,
    keep_columns: Iterable[str] | None = None,
    output_format: OutputFormat = "json",
    csv_file: str | Path | None = None,
) -> HaystackReport:
    """Two runs side by side by query id: this run's details, then both sides' columns.

    A query that only one run has keeps its row; the other run's cells are missing.
    """
    check_evaluations((evaluation, other), "comparative_detailed_report(other)")
    kept = [] if keep_columns is None else list(keep_columns)
    sides = []
    for run in (evaluation, other):
        for column in kept:
            if column not in run.details:
                what = f"detail column of {run.name!r}"
                raise UnknownNameError(what, column, map(str, run.details))
        side = pd.concat([run.details[kept], run.scores], axis=1)
        sides.append(side.add_prefix(f"{run.name}_"))
    ids, others = evaluation.scores.index, other.scores.index
    ids = ids.append(others.difference(ids, sort=False))
    parts = [evaluation.details.drop(columns=kept), *sides]
    frame = pd.concat([part.reindex(ids) for part in parts], axis=1)
    return _in_format(frame.rename_axis("query_id").reset_index(), output_format, csv_file)


def _in_format(
    frame: pd.DataFrame, output_format: str, csv_file: str | Path | None = None
) -> HaystackReport:
    """A frame as a dict of lists, CSV text, or itself."""
    check_choice("output_format", output_format, get_args(OutputFormat))
    if output_format == "df":
        return frame
    if output_format == "json":
        return {str(column): frame[column].tolist() for column in frame.columns}
    text = frame.to_csv(index=False)
    if csv_file is not None:
        write_atomically(csv_file, text)
    return text
