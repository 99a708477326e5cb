"""Repeated runs of one pipeline: how much its scores vary by themselves, and what to do about it.

Nothing was changed between the runs, so all differences are noise: of sampling in the model, of a
judge, of a server. Compare the difference of two pipelines with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import check_count, kind_of_mean
from rageval_report.analysis.repeating.repeats_notes import (
    noise_limit,
    repeats_notes,
    repeats_verdict,
    repeats_worth,
)
from rageval_report.analysis.repeating.shared_runs import common_queries, shared_metrics
from rageval_report.analysis.repeating.stability import stability
from rageval_report.errors import DataError, explain_keywords
from rageval_report.results import Result
from rageval_report.scores import Correct, Metric, Scored
from rageval_report.stats.base import check_level
from rageval_report.stats.components import VarianceComponents, variance_components
from rageval_report.stats.corrections import adjust_pvalues
from rageval_report.types import FloatArray

_HEADLINE = (
    *("metric", "n", "n_dropped", "mean", "sd_within", "icc", "icc_ci_low", "icc_ci_high"),
    *("noise_limit", "n_repeats"),
)
_REPEATS = (1, 2, 3, 5, 10)


@dataclass(frozen=True, eq=False, repr=False)
class Repeats(Result):
    """The noise in repeated runs of a pipeline: one row per metric.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    runs : tuple of Scored
        The runs, in the order given.
    components : mapping of str to VarianceComponents
        For each metric that has queries scored in every run.
    correct : see `rageval_report.scores.correctness`, optional
        What a correct answer is.
    """

    runs: tuple[Scored, ...] = ()
    components: Mapping[str, VarianceComponents] = field(default_factory=dict)
    correct: Correct | None = None

    def stability(self) -> Result:
        """The agreement of the runs on each query, the least stable first.

        Returns
        -------
        Result
            See `rageval_report.analysis.repeating.stability.stability`.
        """
        return stability(self.runs, self.correct)

    def planning(
        self, repeats: Iterable[int] = _REPEATS, *, n_queries: int | None = None
    ) -> Result:
        """The standard error of the mean with more runs of each query, or with more queries.

        Parameters
        ----------
        repeats : iterable of int
            Numbers of runs.
        n_queries : int, optional
            The number of queries; as many as in these runs if omitted.

        Returns
        -------
        Result
            One row per metric and number: ``metric``, ``repeats``, ``n_queries``,
            ``standard_error`` of the mean, ``variance``, ``noise_limit`` (the difference between
            the means of two such measurements by noise alone), ``with_more_queries`` (the standard
            error of one run of that many times the queries, which costs the same).

        Raises
        ------
        DataError
            If a number is below 1.
        """
        counts = [check_count("repeats", count) for count in repeats]
        n = None if n_queries is None else check_count("n_queries", n_queries)
        level = float(str(self.settings["confidence_level"]))
        rows = [
            _plan_row(name, components, count, n or components.n, level)
            for name, components in self.components.items()
            # A single query has no variance between queries.
            if components.n > 1
            for count in counts
        ]
        return Result(
            f"Repeats of each query: {self.title}",
            pd.DataFrame(rows),
            {"confidence_level": level},
            ("with_more_queries: one run of that many times the queries, at the same cost",),
            grouped_by="metric",
        )


@explain_keywords
def repeats(
    *evaluations: Scored,
    metrics: str | Iterable[str] | None = None,
    correct: Correct | None = None,
    confidence_level: float = 0.95,
    tolerance: float = 0.05,
) -> Repeats:
    """Measure the noise in repeated runs of one pipeline.

    Parameters
    ----------
    *evaluations : RAGPipelineEvaluation
        Two or more runs of the same pipeline on the same queries; they may have the same name.
    metrics : str or iterable of str, optional
        The metrics; all that every run has if omitted.
    correct : see `rageval_report.scores.correctness`, optional
        What a correct answer is, for the stability of each query; if omitted, as in `correctness`.
    confidence_level : float
        The level of the intervals.
    tolerance : float
        Repeats are worthwhile until the standard error of the mean is within this share of its
        value without noise.

    Returns
    -------
    Repeats
        One row per metric: ``metric``, ``title``, ``n`` (queries scored in every run),
        ``n_dropped``, ``n_runs``, ``mean``, ``sd_within`` (the variation of one query's score from
        run to run) with its interval, ``sd_between`` (that between queries beyond it), ``icc`` with
        its interval, ``share_between`` and ``share_within`` of the variance, ``standard_error`` of
        the mean of one run, ``noise_limit`` (the means of two runs differ by less, in the share of
        pairs that is the confidence level), ``n_repeats`` (the number of worthwhile runs),
        ``run_effect_pvalue`` and ``run_effect_pvalue_adjusted`` (Holm: whether whole runs are
        shifted), ``verdict``.

    Raises
    ------
    DataError
        If there are fewer than two runs, or a setting makes no sense.
    AlignmentError
        If no query, or no metric, is in all runs.
    UnknownNameError
        If a metric is not known.

    Notes
    -----
    One-way random effects of the queries that every run scored: the variance of a score is that
    between queries plus that within a query, and the intraclass correlation ICC(1,1) is the share
    of the former. The mean of n queries, each run m times, has the variance (between + within/m)/n:
    repeats reduce only the second part.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> ids = ["a", "b", "c", "d"]
    >>> first = RAGPipelineEvaluation("hybrid", {"query_id": ids, "rating": [9.0, 2, 5, 8]})
    >>> again = RAGPipelineEvaluation("hybrid", {"query_id": ids, "rating": [8.0, 3, 5, 8]})
    >>> frame = repeats(first, again).frame
    >>> float(frame["sd_within"][0]), round(float(frame["icc"][0]), 3)
    (0.5, 0.969)
    """
    level = check_level(confidence_level)
    if not (math.isfinite(tolerance) and tolerance > 0):
        raise DataError(f"tolerance must be a number above 0, such as 0.05; got {tolerance}")
    if len(evaluations) < 2:
        raise DataError(
            "expected at least 2 runs of one pipeline, to measure how they differ; "
            f"got {len(evaluations)}"
        )
    ids = common_queries(evaluations)
    shared = shared_metrics(evaluations, metrics)
    tables = {own[0].name: _table(evaluations, own, ids) for own in shared}
    components = {
        own[0].name: _components(own[0], tables[own[0].name], level)
        for own in shared
        if len(tables[own[0].name])
    }
    rows = [_row(own[0], len(ids), components.get(own[0].name), tolerance) for own in shared]
    frame = _complete_frame(pd.DataFrame(rows), shared, components, level, tolerance)
    names = dict.fromkeys(run.name for run in evaluations)
    return Repeats(
        f"{len(evaluations)} runs of {', '.join(names)}",
        frame,
        {"n_runs": len(evaluations), "confidence_level": level, "tolerance": tolerance},
        tuple(repeats_notes(evaluations, shared, frame, ids, level)),
        headline=_HEADLINE,
        runs=tuple(evaluations),
        components=components,
        correct=correct,
    )


# -- the scores


def _table(runs: Sequence[Scored], own: Sequence[Metric], ids: pd.Index) -> FloatArray:
    """The scores of the queries that every run scored, one column per run."""
    columns = [
        run.scores[metric.name].reindex(ids).to_numpy(dtype=np.float64)
        for run, metric in zip(runs, own, strict=True)
    ]
    table: FloatArray = np.column_stack(columns)
    return table[~np.isnan(table).any(axis=1)]


def _components(metric: Metric, table: FloatArray, level: float) -> VarianceComponents:
    """The components of a metric, by its bounds unless these are a formality."""
    bounds = metric.bounds if kind_of_mean(metric) != "real" else None
    return variance_components(table, bounds=bounds, confidence_level=level)


# -- the table


def _row(
    metric: Metric, n_common: int, components: VarianceComponents | None, tolerance: float
) -> dict[str, object]:
    nan = float("nan")
    row: dict[str, object] = {"metric": metric.name, "title": metric.title}
    if components is None:
        return row | {"n": 0, "n_dropped": n_common}
    return row | {
        "n": components.n,
        "n_dropped": n_common - components.n,
        "n_runs": components.k,
        "mean": components.mean,
        "sd_within": components.sd_within.estimate,
        "sd_within_ci_low": components.sd_within.low,
        "sd_within_ci_high": components.sd_within.high,
        "sd_between": math.sqrt(components.between) if components.n > 1 else nan,
        "icc": components.icc.estimate,
        "icc_ci_low": components.icc.low,
        "icc_ci_high": components.icc.high,
        "share_between": components.share_between,
        "share_within": 1.0 - components.share_between,
        "standard_error": components.standard_error() if components.n > 1 else nan,
        "n_repeats": repeats_worth(components.between, components.within, tolerance),
        "run_effect_pvalue": components.run_effect_pvalue,
    }


def _plan_row(
    name: str, components: VarianceComponents, count: int, n: int, level: float
) -> dict[str, object]:
    error = components.standard_error(count, n)
    return {
        "metric": name,
        "repeats": count,
        "n_queries": n,
        "standard_error": error,
        "variance": error**2,
        "noise_limit": noise_limit(components.within, n, count, level),
        "with_more_queries": components.standard_error(1, n * count),
    }


def _complete_frame(
    frame: pd.DataFrame,
    shared: Sequence[Sequence[Metric]],
    components: Mapping[str, VarianceComponents],
    level: float,
    tolerance: float,
) -> pd.DataFrame:
    """The table with the columns that need all rows, and the verdicts."""
    all_components = [components.get(own[0].name) for own in shared]
    missing = [name for name in _HEADLINE if name not in frame and name != "noise_limit"]
    frame = frame.assign(**{name: float("nan") for name in missing})
    frame["noise_limit"] = [
        float("nan") if parts is None else noise_limit(parts.within, parts.n, 1, level)
        for parts in all_components
    ]
    # The column is missing if no metric has a query that every run scored.
    pvalues = frame.get("run_effect_pvalue", pd.Series(float("nan"), index=frame.index))
    frame["run_effect_pvalue"] = pvalues
    frame["run_effect_pvalue_adjusted"] = adjust_pvalues(pvalues.to_numpy(dtype=np.float64))
    frame["verdict"] = [
        repeats_verdict(own[0], parts, level, tolerance)
        for own, parts in zip(shared, all_components, strict=True)
    ]
    return frame
