"""One pipeline, metric by metric: how many scores there are, their mean, interval and spread."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Unpack, get_args

import numpy as np
import pandas as pd

from rageval_report.analysis import arguments
from rageval_report.analysis.arguments import (
    check_percentiles,
    choose_metrics,
    scores_of,
    threshold_value,
)
from rageval_report.analysis.pairing import check_evaluations
from rageval_report.analysis.tables import PipelineTable, table_of
from rageval_report.errors import UnknownNameError, check_choice, check_options
from rageval_report.files.writing import write_atomically
from rageval_report.reports.sentences import counted, direction_notes, group_notes, number
from rageval_report.results import Answer, QueryFrame, Result, answer_of
from rageval_report.scores import Correct, Metric, Scored, join_details, normalise_name
from rageval_report.scores.catalogue.dialects import (
    dialect_settings,
    note_on_percentiles,
    percentile_method,
)
from rageval_report.scores.correct import (
    CorrectCounts,
    CorrectNotion,
    answers_by,
    declare_counts,
    find_notion,
    why_unknown,
)
from rageval_report.scores.metric import GROUPS
from rageval_report.scores.query_ids import ANSWER, QUESTION, REASON, REFERENCE
from rageval_report.scores.states import (
    FAILED,
    MISSING,
    SCORED,
    STATES,
    states_frame,
    unscored_reasons,
)
from rageval_report.stats.means import (
    QUARTILES,
    PercentileMethod,
    percentiles_of,
    quantile_interval,
)
from rageval_report.types import BoolArray

OutputFormat = Literal["json", "csv", "df"]
HaystackReport = dict[str, list[Any]] | str | pd.DataFrame

_MOST_REASONS, _LONGEST_REASON = 3, 80
_DRAWN = ("bca", "percentile", "studentised")  # intervals that need a seed


def summarise(
    evaluation: Scored | PipelineTable,
    *,
    metrics: str | Iterable[str] | None = None,
    clusters: arguments.Clusters | None = None,
    percentiles: Sequence[float] = QUARTILES,
    interval: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Result:
    """Describe each metric of a pipeline: one row per metric, those of one group together."""
    cuts, table = arguments.check_percentiles(percentiles), table_of(evaluation, clusters)
    rule, names = percentile_method(table.sample), [f"p{cut:g}" for cut in cuts]
    chosen = choose_metrics(table.sample, metrics)
    known = sorted(chosen, key=lambda metric: GROUPS.index(metric.group))
    plan = arguments.IntervalSettings(confidence_level, n_resamples, seed)
    rows, notes = list[dict[str, object]](), list[tuple[str, str]]()
    for metric in known:
        column, units = table.column(metric), {}
        if clusters is None:
            mean = arguments.interval_of_mean(metric, column, plan, interval)
        else:
            error = table.error(metric)
            mean = arguments.interval_of_clusters(metric, column, error, plan, interval)
            units = {"n_clusters": error.n_clusters if error else 0}
        notes += [(metric.name, note) for note in mean.notes]
        row: dict[str, object] = {"metric": metric.name, "title": metric.title}
        row |= {"group": metric.group, "kind": metric.kind}
        row |= {"greater_is_better": metric.greater_is_better, "n": column.n}
        row |= {"n_unscored": table.n_queries - column.n, "mean": column.mean}
        row |= {"ci_low": mean.low, "ci_high": mean.high, "ci_method": mean.method}
        row |= {"std": column.std, "min": column.minimum}
        row |= zip(names, percentiles_of(column, cuts, method=rule).tolist(), strict=True)
        rows.append({**row, "max": column.maximum, **units})
    is_drawn = any(row["ci_method"] in _DRAWN for row in rows)  # else no seed moves a number
    settings = {
        "percentiles": cuts,
        "interval": interval,
        "confidence_level": confidence_level,
        **(plan.draws if is_drawn else {}),
        "percentile_method": rule,
        **dialect_settings([table.sample]),
        **table.settings,
        **arguments.clusters_setting(clusters),
    }
    questions = arguments.notes_on_small_percentiles(cuts)
    shown = (*questions, *group_notes(notes, 0), *table.notes(known))
    return Result(f"Evaluation of {table.sample.name}", pd.DataFrame(rows), settings, shown)


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
    >>> report.to_dict()["correct"]
    'correct: exact_match = 1; 2 of 3 queries are correct'
    >>> report.printed().summary
    'hybrid: 2 of 3 queries are correct (exact_match = 1).'
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    correct: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is correct, and how many queries are."""
        return (self.correct,) if self.correct else ()

    def printed(self) -> Answer:
        """How many queries are correct, the table, and at most three notes."""
        rule, _, counts = self.correct.partition("; ")
        name = self.title.removeprefix("Evaluation of ")
        sentence = f"{name}: {counts} ({rule.removeprefix('correct: ')})."
        return answer_of(self, sentence if counts else self.title)

    def to_dict(self) -> dict[str, Any]:
        """The whole result as dicts, lists, numbers and texts, with what is correct."""
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
    clusters: arguments.Clusters | None = None,
    **settings: Unpack[arguments.MeanKeywords],
) -> EvaluationReport:
    """The report of one pipeline: every metric described, and the number of correct queries."""
    check_options("evaluation_report()", settings, arguments.MeanKeywords.__annotations__)
    table = table_of(evaluation, clusters)
    summary = summarise(table, metrics=metrics, clusters=clusters, **settings)
    frame, notion = summary.frame, find_notion(table.sample, correct)
    right: CorrectCounts | None = None
    if arguments.is_scan(evaluation):
        scan: Any = evaluation
        unscored = scan.count_unscored(frame["metric"])
        if notion is not None and not callable(notion.rule):
            right = scan.count_correct(notion)
    else:
        unscored = UnscoredQueries.of(evaluation, frame["metric"])
        right = None if notion is None else CorrectCounts.of(answers_by(evaluation, notion))
    counts, rule = {}, ""
    if notion is not None and right is not None:
        rule = declare_counts(table.sample, notion, right)
        counts = {"nr_correct_queries": right.n_correct, "nr_incorrect_queries": right.n_incorrect}
        counts |= {"nr_unscored_queries": right.n_unscored} if right.n_unscored else {}
    # The interval of a quantile assumes independent queries.
    level = float(str(summary.settings["confidence_level"])) if clusters is None else None
    spent: list[Any] = frame[frame["group"] == "performance"].to_dict("records")
    doubt = why_unknown(table.sample) if notion is None else notion.note
    percentiles = [name for name in map(str, frame) if name.startswith("p")]
    return EvaluationReport(
        summary.title,
        frame,
        summary.settings,
        (
            *unscored.notes(),
            *summary.notes,
            *(_typical_note(row, table, level) for row in spent),
            *filter(None, [doubt]),
            *arguments.unnamed_clusters(evaluation, clusters),
        ),
        (
            *("title", "n", "n_clusters", "n_unscored", "mean", "ci_low", "ci_high", "std", "min"),
            *(*percentiles, "max"),
        ),
        grouped_by="group",
        counts=counts,
        correct=rule,
    )


def _typical_note(row: Mapping[str, Any], table: PipelineTable, level: float | None) -> str:
    """The typical and the bad case of latency or cost: a mean says little about a long tail."""
    column = table.column(table.sample.metrics[row["metric"]])
    cuts = percentiles_of(column, (50.0, 95.0), method=percentile_method(table.sample)).tolist()
    parts = []
    for name, share, cut in zip(("median", "p95"), (0.5, 0.95), cuts, strict=True):
        limits = quantile_interval(column, share, confidence_level=level or 0.95)
        ends = f" ({100 * (level or 0.95):g} % CI {number(limits.low)} to {number(limits.high)})"
        is_known = level is not None and not math.isnan(limits.low + limits.high)
        parts.append(f"{name} {number(cut)}{ends if is_known else ''}")
    return f"{row['metric']}: {', '.join(parts)}"


def aggregated_scores(evaluation: Scored) -> pd.Series:
    """The mean of each metric over the queries that were scored; NaN if none was."""
    columns = [arguments.scores_of(evaluation, metric) for metric in evaluation.metrics.values()]
    # np.nanmean warns if every value is NaN.
    means = [math.nan if np.isnan(own).all() else float(np.nanmean(own)) for own in columns]
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
        counts, reasons = {}, {}
        for name, states in states_frame(scores, evaluation.details).items():
            texts = unscored_reasons(evaluation.details, str(name))[states == FAILED]
            reasons[str(name)] = _count_texts(texts.dropna().map(_short), times)
            counts[str(name)] = _count_texts(states[states != SCORED], times)
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
        failed = [
            (name, ", ".join(f"{why!r} {n}" for why, n in reasons.most_common(_MOST_REASONS)))
            for name, reasons in self.reasons.items()
            if reasons
        ]
        return (
            f"missing scores of {self.n_queries} queries, not in the means: {', '.join(texts)}",
            *(f"{name} failed: {text}" for name, text in failed),
        )


def _count_texts(texts: pd.Series, times: pd.Series | None) -> Counter[str]:
    """How often each text occurs, the most frequent first; of equal ones the first in the table."""
    often = pd.Series(1, index=texts.index) if times is None else times[texts.index]
    counts = often.groupby(texts, sort=False).sum().sort_values(ascending=False, kind="stable")
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
    """Two runs side by side by query id: this run's details, then both sides' columns."""
    check_evaluations((evaluation, other), "(other)", "evaluation", "other")
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


def find_thresholds(
    evaluation: Scored,
    metrics: str | Iterable[str] | None = None,
    percentiles: Sequence[float] = (25, 50, 75),
    method: PercentileMethod | None = None,
) -> Result:
    """The percentiles (``p25``), the mean and the counts of each metric."""
    table = table_of(evaluation)
    sample, checked = table.sample, check_percentiles(percentiles)
    rule = method or percentile_method(sample)
    names, chosen, rows = [f"p{cut:g}" for cut in checked], choose_metrics(sample, metrics), []
    for metric in chosen:
        column = table.column(metric)
        cuts = percentiles_of(column, checked, method=rule)
        counts = {"mean": column.mean, "n": column.n, "n_unscored": table.n_queries - column.n}
        rows.append({"metric": metric.name, **dict(zip(names, cuts, strict=True)), **counts})
    settings = {
        "percentiles": checked,
        "percentile_method": rule,
        **dialect_settings([sample]),
        **table.settings,
    }
    questions = arguments.notes_on_small_percentiles(checked)
    notes = (*questions, *note_on_percentiles(sample, rule), *table.notes(chosen))
    return Result(f"Thresholds of {sample.name}", pd.DataFrame(rows), settings, notes)


def below_threshold(
    evaluation: Scored, metric: str, threshold: float | str, method: PercentileMethod | None = None
) -> pd.DataFrame:
    """The queries that score strictly below a threshold, worst first; unscored ones never do."""
    known = choose_metrics(evaluation, metric)[0]
    values = scores_of(evaluation, known)
    cut = threshold_value(known, values, threshold, method or percentile_method(evaluation))
    return QueryFrame(_worst_first(evaluation, known, values < cut))


def _worst_first(evaluation: Scored, metric: Metric, is_selected: BoolArray) -> pd.DataFrame:
    """Scores and details of some queries, the metric first; equal ones keep their order."""
    scores = evaluation.scores[is_selected]
    first = scores[[metric.name, *(name for name in scores if name != metric.name)]]
    rows = join_details(first, evaluation.details[is_selected])
    return rows.sort_values(metric.name, ascending=metric.greater_is_better, kind="stable")


def failures(
    evaluation: Scored,
    metric: str,
    threshold: float | str,
    only: pd.Series | None = None,
    method: PercentileMethod | None = None,
) -> Result:
    """The queries on the wrong side of a threshold, worst first, with texts and reasons."""
    known = choose_metrics(evaluation, metric)[0]
    values = scores_of(evaluation, known)
    rule = method or percentile_method(evaluation)
    cut = threshold_value(known, values, threshold, rule)
    is_wrong = values < cut if known.greater_is_better else values > cut  # NaN is neither
    if only is not None:
        is_wrong &= only.to_numpy(dtype=bool)
    rows = _worst_first(evaluation, known, is_wrong)
    n_scored = int((~np.isnan(values)).sum())
    counts = len(rows), n_scored, values.size - n_scored
    return failures_of_rows(evaluation, known, rows, counts, cut, threshold, rule)


def failures_of_rows(
    evaluation: Scored,
    known: Metric,
    rows: pd.DataFrame,
    counts: tuple[int, int, int],
    cut: float,
    threshold: float | str,
    rule: PercentileMethod,
) -> Result:
    """The table of `failures`; ``counts`` are of wrong, scored and unscored queries."""
    by_name = {normalise_name(str(column)): column for column in rows.columns}
    reasons = [f"{stem}_{word}" for stem in (known.name, known.known_as) for word in REASON]
    wanted = dict.fromkeys((*QUESTION, *ANSWER, *REFERENCE, *reasons, *REASON))
    texts = [by_name[name] for name in wanted if by_name.get(name, known.name) != known.name]
    side = "below" if known.greater_is_better else "above"
    n_wrong, n_scored, n_unscored = counts
    notes = [f"{n_wrong} of {n_scored} scored queries lie {side} {cut:.4g} on {known.name}"]
    notes += direction_notes([known])
    if n_unscored:
        notes.append(f"{counted(n_unscored, 'query', 'queries')} without a score: not listed")
    settings: dict[str, object] = {"metric": known.name, "threshold": cut}
    settings |= {"threshold_rule": str(threshold), "side": side}
    if arguments.is_percentile(threshold):
        notes += note_on_percentiles(evaluation, rule)
        settings["percentile_method"] = rule
    return Result(
        f"Failures of {evaluation.name} on {known.title}",
        rows[[known.name, *texts, *(c for c in rows if c not in (known.name, *texts))]],
        {**settings, **dialect_settings([evaluation])},
        tuple(notes),
        headline=(known.name, *texts),
    )
