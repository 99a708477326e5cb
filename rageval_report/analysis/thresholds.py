"""Thresholds from the scores of a metric, and the queries on the wrong side of a threshold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import (
    check_percentiles,
    choose_metrics,
    is_percentile,
    percentile_column,
    scores_of,
    threshold_value,
)
from rageval_report.analysis.tables import table_of
from rageval_report.results import QueryFrame, Result
from rageval_report.scores import Metric, Scored, join_details, normalise_name
from rageval_report.scores.catalogue.dialects import (
    dialect_settings,
    note_on_percentiles,
    percentile_method,
)
from rageval_report.scores.query_ids import ANSWER, QUESTION, REASON, REFERENCE
from rageval_report.stats.means import PercentileMethod, percentiles_of
from rageval_report.types import BoolArray


def find_thresholds(
    evaluation: Scored,
    metrics: str | Iterable[str] | None = None,
    percentiles: Sequence[float] = (25, 50, 75),
    method: PercentileMethod | None = None,
) -> Result:
    """The percentiles (``p25``), the mean and the counts of each metric.

    The rule of percentiles is that of the dialect of the evaluation if it is omitted.
    """
    table = table_of(evaluation)
    sample, checked = table.sample, check_percentiles(percentiles)
    rule = method or percentile_method(sample)
    names, chosen, rows = [*map(percentile_column, checked)], choose_metrics(sample, metrics), []
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
    notes = (*note_on_percentiles(sample, rule), *table.notes(chosen))
    return Result(f"Thresholds of {sample.name}", pd.DataFrame(rows), settings, notes)


def below_threshold(
    evaluation: Scored, metric: str, threshold: float | str, method: PercentileMethod | None = None
) -> pd.DataFrame:
    """The queries that score strictly below a threshold, worst first; unscored ones never do.

    The threshold is a number, or "p25" and the like, "median" or "mean" of the scores.
    """
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
    """The queries on the wrong side of a threshold, worst first, with texts and reasons.

    The metric's direction decides which side is wrong; a score equal to the threshold is right.
    The threshold is computed from all queries, also if `only` selects some.
    """
    known = choose_metrics(evaluation, metric)[0]
    values = scores_of(evaluation, known)
    rule = method or percentile_method(evaluation)
    cut = threshold_value(known, values, threshold, rule)
    is_wrong = values < cut if known.greater_is_better else values > cut  # NaN is neither
    if only is not None:
        is_wrong &= only.to_numpy(dtype=bool)
    rows = _worst_first(evaluation, known, is_wrong)
    n_scored = int((~np.isnan(values)).sum())
    counts = FailureCounts(len(rows), n_scored, values.size - n_scored)
    return failures_of_rows(evaluation, known, rows, counts, cut, threshold, rule)


class FailureCounts(NamedTuple):
    """How many queries lie on the wrong side, are scored, and are not."""

    n_wrong: int
    n_scored: int
    n_unscored: int


def failures_of_rows(
    evaluation: Scored,
    known: Metric,
    rows: pd.DataFrame,
    counts: FailureCounts,
    cut: float,
    threshold: float | str,
    rule: PercentileMethod,
) -> Result:
    """The table of `failures`, of the worst rows; ``cut`` is the threshold as a number."""
    by_name = {normalise_name(str(column)): column for column in rows.columns}
    reasons = [f"{stem}_{word}" for stem in (known.name, known.known_as) for word in REASON]
    wanted = dict.fromkeys((*QUESTION, *ANSWER, *REFERENCE, *reasons, *REASON))
    texts = [by_name[name] for name in wanted if by_name.get(name, known.name) != known.name]
    side = "below" if known.greater_is_better else "above"
    n_wrong, n_scored, n_unscored = counts
    notes = [f"{n_wrong} of {n_scored} scored queries lie {side} {cut:.4g} on {known.name}"]
    if n_unscored:
        what = "query without a score is" if n_unscored == 1 else "queries without scores are"
        notes.append(f"{n_unscored} {what} not listed")
    settings: dict[str, object] = {
        "metric": known.name,
        "threshold": cut,
        "threshold_rule": str(threshold),
        "side": side,
    }
    if is_percentile(threshold):
        notes += note_on_percentiles(evaluation, rule)
        settings["percentile_method"] = rule
    return Result(
        f"Failures of {evaluation.name} on {known.title}",
        rows[[known.name, *texts, *(c for c in rows if c not in (known.name, *texts))]],
        {**settings, **dialect_settings([evaluation])},
        tuple(notes),
        headline=(known.name, *texts),
    )
