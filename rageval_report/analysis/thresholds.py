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
from rageval_report.scores.texts import ANSWER, QUESTION, REASON, REFERENCE
from rageval_report.stats.columns import Column
from rageval_report.stats.means import PercentileMethod, percentiles_of
from rageval_report.types import BoolArray

_TEXTS = (*QUESTION, *ANSWER, *REFERENCE)


def find_thresholds(
    evaluation: Scored,
    metrics: str | Iterable[str] | None = None,
    percentiles: Sequence[float] = (25, 50, 75),
    method: PercentileMethod | None = None,
) -> Result:
    """The percentiles and the mean of each metric.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores.
    metrics : str or iterable of str, optional
        The metrics; all of them if omitted.
    percentiles : sequence of float
        0 to 100.
    method : {"linear", "exclusive", "upper"}, optional
        As in NumPy, as in the ``statistics`` module's default, or the score at the place n * p, as
        in ragbench. If omitted, that of the dialect of the evaluation, or "linear".

    Returns
    -------
    Result
        One row per metric: ``metric``, one column per percentile (``p25``), ``mean``, ``n``,
        ``n_unscored``; NaN if nothing is scored.

    Raises
    ------
    DataError
        If a percentile lies outside 0 to 100, or the method is not known.
    """
    table = table_of(evaluation)
    sample = table.sample
    checked = check_percentiles(percentiles)
    rule = method or percentile_method(sample)
    chosen = choose_metrics(sample, metrics)
    rows = [
        _threshold_row(metric, table.column(metric), table.n_queries, checked, rule)
        for metric in chosen
    ]
    settings = {
        "percentiles": checked,
        "percentile_method": rule,
        **dialect_settings([sample]),
        **table.settings,
    }
    notes = (*note_on_percentiles(sample, rule), *table.notes(chosen))
    return Result(f"Thresholds of {sample.name}", pd.DataFrame(rows), settings, notes)


def _threshold_row(
    metric: Metric,
    column: Column,
    n_queries: int,
    percentiles: tuple[float, ...],
    method: PercentileMethod,
) -> dict[str, object]:
    cuts = percentiles_of(column, percentiles, method=method)
    named_cuts = {percentile_column(p): cut for p, cut in zip(percentiles, cuts, strict=True)}
    return {
        "metric": metric.name,
        **named_cuts,
        "mean": column.mean,
        "n": column.n,
        "n_unscored": n_queries - column.n,
    }


def below_threshold(
    evaluation: Scored,
    metric: str,
    threshold: float | str,
    method: PercentileMethod | None = None,
) -> pd.DataFrame:
    """The queries that score strictly below a threshold, worst first.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores.
    metric : str
        By any of its names.
    threshold : float, or "p25" and the like, "median", "mean"
        A number, or one computed from the scores.
    method : {"linear", "exclusive", "upper"}, optional
        The rule of percentiles, as in `find_thresholds`.

    Returns
    -------
    DataFrame, index query_id
        The metric, the other metrics, the details. Unscored queries are never below.

    Raises
    ------
    DataError
        If the threshold lies outside the bounds of the metric.
    """
    known = choose_metrics(evaluation, metric)[0]
    values = scores_of(evaluation, known)
    cut = threshold_value(known, values, threshold, method or percentile_method(evaluation))
    # NaN is not below anything, so unscored queries are left out here and in `failures`.
    return QueryFrame(_query_rows(evaluation, known, values < cut))


def _query_rows(evaluation: Scored, metric: Metric, is_selected: BoolArray) -> pd.DataFrame:
    """Scores and details, the metric first, the worst query first; ties keep their order."""
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

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores.
    metric : str
        By any of its names; its direction decides which side is wrong.
    threshold : float, or "p25" and the like, "median", "mean"
        The threshold; a score equal to it is on the right side.
    only : Series of bool, index query_id, optional
        The queries to look at; the threshold is computed from all.
    method : {"linear", "exclusive", "upper"}, optional
        The rule of percentiles, as in `find_thresholds`.

    Returns
    -------
    Result
        Its frame has index ``query_id``, then the metric, then question, answer, reference and
        reason if the details have them, then all other metrics and details, uncut.

    Raises
    ------
    DataError
        If the threshold lies outside the bounds of the metric.
    """
    known = choose_metrics(evaluation, metric)[0]
    values = scores_of(evaluation, known)
    rule = method or percentile_method(evaluation)
    cut = threshold_value(known, values, threshold, rule)
    is_wrong = values < cut if known.greater_is_better else values > cut
    if only is not None:
        is_wrong &= only.to_numpy(dtype=bool)
    rows = _query_rows(evaluation, known, is_wrong)
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
    """The table of `failures`, of rows that are selected.

    Parameters
    ----------
    evaluation : Scored
        The pipeline, for the title and the dialect.
    known : Metric
        The metric.
    rows : DataFrame
        The rows, the worst first; of many the worst only.
    counts : FailureCounts
        The numbers of queries.
    cut : float
        The threshold as a number.
    threshold, rule
        The threshold and the rule of percentiles as the caller passed them.
    """
    texts = _text_columns(rows, known)
    ordered = rows[[known.name, *texts, *(c for c in rows if c not in (known.name, *texts))]]
    side = "below" if known.greater_is_better else "above"
    n_wrong, n_scored, n_unscored = counts
    note = f"{n_wrong} of {n_scored} scored queries lie {side} {cut:.4g} on {known.name}"
    notes = (note,) if not n_unscored else (note, _unscored_note(n_unscored, known))
    settings: dict[str, object] = {
        "metric": known.name,
        "threshold": cut,
        "threshold_rule": str(threshold),
        "side": side,
    }
    if is_percentile(threshold):
        notes = (*notes, *note_on_percentiles(evaluation, rule))
        settings["percentile_method"] = rule
    return Result(
        f"Failures of {evaluation.name} on {known.title}",
        ordered,
        {**settings, **dialect_settings([evaluation])},
        notes,
        headline=(known.name, *texts),
    )


def _unscored_note(n_unscored: int, metric: Metric) -> str:
    verb = "query is" if n_unscored == 1 else "queries are"
    return f"{n_unscored} {verb} unscored on {metric.name}, and not listed"


def _text_columns(rows: pd.DataFrame, metric: Metric) -> list[str]:
    """Question, answer, reference, and the reasons for this metric's score."""
    by_name = {normalise_name(str(column)): column for column in rows.columns}
    reasons = [f"{stem}_{word}" for stem in (metric.name, metric.known_as) for word in REASON]
    names = dict.fromkeys((*_TEXTS, *reasons, *REASON))
    return [by_name[name] for name in names if name in by_name and by_name[name] != metric.name]
