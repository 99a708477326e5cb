"""One pipeline, metric by metric: how many were scored, the mean with its interval, the spread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import (
    check_percentiles,
    choose_metrics,
    mean_limits,
    percentile_column,
    scores_of,
)
from rageval_report.analysis.sentence_parts import number
from rageval_report.results import Result
from rageval_report.scores import Correct, Metric, Scored, correctness
from rageval_report.scores.metric import GROUPS
from rageval_report.scores.states import (
    FAILED,
    MISSING,
    SCORED,
    STATES,
    states_frame,
    unscored_reasons,
)
from rageval_report.stats.base import Interval
from rageval_report.stats.means.describe import QUARTILES, ColumnDescription, describe
from rageval_report.stats.means.intervals import described_interval
from rageval_report.stats.means.quantiles import quantile_interval
from rageval_report.types import FloatArray

MOST_REASONS = 3
_LONGEST_REASON = 80
# A mean that falls to this share of itself without its largest score says little of the others.
_RULED = 0.8


def summarise(
    evaluation: Scored,
    *,
    metrics: str | Iterable[str] | None = None,
    percentiles: Sequence[float] = QUARTILES,
    interval: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Result:
    """Describe each metric of a pipeline.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores.
    metrics : str or iterable of str, optional
        Which metrics; all of them where nothing is asked.
    percentiles : sequence of float
        0 to 100.
    interval : str
        How the interval of the mean is made; "auto" goes by the kind of metric.
    confidence_level : float
        Between 0 and 1.
    n_resamples, seed : int
        For the intervals that resample.

    Returns
    -------
    Result
        One row a metric: ``metric``, ``title``, ``group``, ``kind``, ``greater_is_better``, ``n``,
        ``n_unscored``, ``mean``, ``ci_low``, ``ci_high``, ``ci_method``, ``std``, ``min``, a column
        a percentile (``p25``), ``max``. Metrics of one group stand together.

    Raises
    ------
    UnknownNameError
        If a metric or an interval is not known.
    DataError
        If a setting makes no sense.
    """
    asked = check_percentiles(percentiles)
    known = sorted(choose_metrics(evaluation, metrics), key=lambda m: GROUPS.index(m.group))
    columns = [scores_of(evaluation, metric) for metric in known]
    described = describe(columns, percentiles=asked)
    intervals = [
        described_interval(
            column,
            numbers.moments,
            method=interval,
            confidence_level=confidence_level,
            bounds=mean_limits(metric, numbers.moments.minimum),
            n_resamples=n_resamples,
            seed=seed,
        )
        for metric, column, numbers in zip(known, columns, described, strict=True)
    ]
    rows = [
        _row(metric, numbers, one, asked)
        for metric, numbers, one in zip(known, described, intervals, strict=True)
    ]
    settings = {
        "interval": interval,
        "confidence_level": confidence_level,
        "percentiles": asked,
        "percentile_method": "linear",
        **_drawn(intervals, n_resamples, seed),
    }
    notes = _interval_notes(known, intervals)
    return Result(f"Evaluation of {evaluation.name}", pd.DataFrame(rows), settings, notes)


def _row(
    metric: Metric, numbers: ColumnDescription, interval: Interval, percentiles: tuple[float, ...]
) -> dict[str, object]:
    moments = numbers.moments
    cuts = zip(map(percentile_column, percentiles), numbers.percentiles, strict=True)
    return {
        "metric": metric.name,
        "title": metric.title,
        "group": metric.group,
        "kind": metric.kind,
        "greater_is_better": metric.greater_is_better,
        "n": moments.n,
        "n_unscored": numbers.n_unscored,
        "mean": moments.mean,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "ci_method": interval.method,
        "std": moments.std,
        "min": moments.minimum,
        **dict(cuts),
        "max": moments.maximum,
    }


def _drawn(intervals: Sequence[Interval], n_resamples: int, seed: int) -> dict[str, int]:
    """The seed belongs to the signature only where something was drawn."""
    if any(one.method == "studentised" for one in intervals):
        return {"n_resamples": n_resamples, "seed": seed}
    return {}


def _interval_notes(metrics: Sequence[Metric], intervals: Sequence[Interval]) -> tuple[str, ...]:
    told: dict[str, list[str]] = {}
    for metric, one in zip(metrics, intervals, strict=True):
        for note in one.notes:
            told.setdefault(note, []).append(metric.name)
    return tuple(f"{', '.join(names)}: {note}" for note, names in told.items())


@dataclass(frozen=True, eq=False, repr=False)
class EvaluationReport(Result, Mapping[str, float | int]):
    """A pipeline's report: printed it is the full table, read it is a mapping of titles to means.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    counts : mapping of str to int
        ``nr_correct_queries`` and ``nr_incorrect_queries``, and ``nr_unscored_queries`` where there
        are any; empty where nothing tells what is correct.
    """

    counts: Mapping[str, int] = field(default_factory=dict)

    def _means(self) -> dict[str, float | int]:
        titles = self.frame["title"]
        keys = titles.where(~titles.duplicated(keep=False), self.frame["metric"])
        return {**dict(zip(keys, self.frame["mean"].tolist(), strict=True)), **self.counts}

    def __getitem__(self, key: str) -> float | int:
        return self._means()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._means())

    def __len__(self) -> int:
        return len(self._means())


def evaluation_report(
    evaluation: Scored, correct: Correct | None = None, **settings: object
) -> EvaluationReport:
    """The report of one pipeline: every metric described, and how many queries are correct.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores.
    correct : see `correctness`, optional
        What a correct answer is; exact match where there is one, else nothing is counted.
    **settings
        As in `summarise`.

    Returns
    -------
    EvaluationReport
        A mapping of each metric's title to its mean; its frame is that of `summarise`.
    """
    summary = summarise(evaluation, **settings)  # type: ignore[arg-type]
    counts, told = _correct_counts(evaluation, correct)
    percentiles = [name for name in summary.frame.columns if name.startswith("p")]
    return EvaluationReport(
        summary.title,
        summary.frame,
        summary.settings,
        (
            *unscored_notes(evaluation, summary.frame["metric"]),
            *summary.notes,
            *_typical_notes(evaluation, summary),
            *told,
        ),
        headline=(
            *("title", "n", "n_unscored", "mean", "ci_low", "ci_high", "std", "min"),
            *percentiles,
            "max",
        ),
        grouped_by="group",
        counts=counts,
    )


def _correct_counts(
    evaluation: Scored, correct: Correct | None
) -> tuple[dict[str, int], tuple[str, ...]]:
    known = any(metric.known_as == "exact_match" for metric in evaluation.metrics.values())
    if correct is None and not known:
        return {}, ()
    right = correctness(evaluation, correct)
    n_right, n_unscored = int(right.sum()), int(right.isna().sum())
    counts = {
        "nr_correct_queries": n_right,
        "nr_incorrect_queries": len(right) - n_right - n_unscored,
    }
    told = f"{n_right} of {len(right) - n_unscored} queries are correct"
    if n_unscored:
        counts["nr_unscored_queries"] = n_unscored
        told += f"; {n_unscored} more are unscored, and counted as neither"
    return counts, (told,)


def unscored_notes(evaluation: Scored, metrics: Iterable[str]) -> tuple[str, ...]:
    """How many queries have no score, of which state they are, and why they failed.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores.
    metrics : iterable of str
        The metrics to tell of.
    """
    scores = evaluation.scores[list(metrics)]
    scores = scores.loc[:, scores.isna().any()]
    if not scores.shape[1]:
        return ()
    states = states_frame(scores, evaluation.details)
    told = ", ".join(f"{name} {_states_told(states[name])}" for name in scores)
    return (
        f"unscored of {len(scores)} queries, left out of the means: {told}",
        *_failure_notes(evaluation, states),
    )


def _states_told(states: pd.Series) -> str:
    """As "3" where all are simply missing, as "3 (2 failed, 1 missing)" where more is known."""
    counts = states[states != SCORED].value_counts()
    parts = [f"{counts[state]} {state}" for state in STATES if state in counts]
    return str(counts.sum()) + (f" ({', '.join(parts)})" if {*counts.index} != {MISSING} else "")


def _failure_notes(evaluation: Scored, states: pd.DataFrame) -> Iterator[str]:
    by_text: dict[str, list[str]] = {}
    for name in states:
        reasons = unscored_reasons(evaluation.details, str(name))[states[name] == FAILED].dropna()
        if len(reasons):
            counts = reasons.map(_short).value_counts()
            shown = ", ".join(f"{reason!r} {n}" for reason, n in counts.head(MOST_REASONS).items())
            more = len(counts) - MOST_REASONS
            text = shown + (f" and {more} other reasons" if more > 0 else "")
            by_text.setdefault(text, []).append(str(name))
    for text, names in by_text.items():
        yield f"{', '.join(names)} failed: {text}"


def _short(reason: str) -> str:
    line = " ".join(reason.split())
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 3] + "..."


def _typical_notes(evaluation: Scored, summary: Result) -> tuple[str, ...]:
    """Of what is spent, the typical and the bad case: a mean says little of a long tail."""
    spent = summary.frame[summary.frame["group"] == "performance"]
    level = float(str(summary.settings["confidence_level"]))
    return tuple(
        _typical_note(name, scores_of(evaluation, evaluation.metrics[name]), level) + _ruled(row)
        for name, (_, row) in zip(spent["metric"], spent.iterrows(), strict=True)
    )


def _ruled(row: pd.Series) -> str:
    """That one score decides the mean, where the mean falls by a fifth or more without it."""
    if row["n"] < 2:
        return ""
    without = (row["mean"] * row["n"] - row["max"]) / (row["n"] - 1)
    if not 0.0 <= without <= _RULED * row["mean"] or row["mean"] == 0.0:
        return ""
    return (
        f"; one score rules the mean and its interval: without the largest, {number(row['max'])}, "
        f"the mean is {number(without)}"
    )


def _typical_note(name: str, values: FloatArray, level: float) -> str:
    told = [
        f"{word} {number(one.estimate)}{_limits(one)}"
        for word, one in (
            ("median", quantile_interval(values, 0.5, confidence_level=level)),
            ("p95", quantile_interval(values, 0.95, confidence_level=level)),
        )
    ]
    return f"{name}: {', '.join(told)}"


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
        NaN where nothing was scored.
    """
    means = [
        float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")
        for values in (scores_of(evaluation, metric) for metric in evaluation.metrics.values())
    ]
    return pd.Series(means, index=pd.Index(evaluation.metrics, name="metric"), name="mean")
