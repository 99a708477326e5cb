"""Repeated runs of one pipeline: how much its scores move by themselves, and what to do about it.

Nothing was changed between the runs, so whatever differs is noise: of sampling in the model, of a
judge, of a server. What two pipelines differ by must be held against it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import choose_metrics
from rageval_report.analysis.repeating.repeats_notes import (
    noise_limit,
    repeats_notes,
    repeats_verdict,
    repeats_worth,
)
from rageval_report.analysis.repeating.stability import stability
from rageval_report.errors import AlignmentError, DataError, named
from rageval_report.results import Result
from rageval_report.scores import Correct, Metric, Scored
from rageval_report.stats import adjust_pvalues
from rageval_report.stats.base import check_level
from rageval_report.stats.variance_components import VarianceComponents, variance_components
from rageval_report.types import FloatArray

_HEADLINE = (
    *("metric", "n", "n_dropped", "mean", "sd_within", "icc", "icc_ci_low", "icc_ci_high"),
    *("noise_limit", "n_repeats"),
)
_REPEATS = (1, 2, 3, 5, 10)


@dataclass(frozen=True, eq=False, repr=False)
class Repeats(Result):
    """What repeated runs of a pipeline say of its noise: one row a metric.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    runs : tuple of Scored
        The runs, in the order given.
    components : mapping of str to VarianceComponents
        Of each metric that has queries scored in every run.
    correct : see `rageval_report.scores.correctness`, optional
        What a correct answer is.
    """

    runs: tuple[Scored, ...] = ()
    components: Mapping[str, VarianceComponents] = field(default_factory=dict)
    correct: Correct | None = None

    def stability(self) -> Result:
        """How far the runs agree on each query, the least stable first.

        Returns
        -------
        Result
            As of `rageval_report.analysis.repeating.stability.stability`.
        """
        return stability(self.runs, self.correct)

    def planning(
        self, repeats: Iterable[int] = _REPEATS, *, n_queries: int | None = None
    ) -> Result:
        """How sure the mean becomes with more runs of each query, and what else that would buy.

        Parameters
        ----------
        repeats : iterable of int
            Numbers of runs.
        n_queries : int, optional
            Of how many queries; as many as there were where not given.

        Returns
        -------
        Result
            One row a metric and a number: ``metric``, ``repeats``, ``n_queries``,
            ``standard_error`` of the mean, ``variance``, ``noise_limit`` (how far the means of two
            such measurements differ by noise alone), ``with_more_queries`` (the standard error of
            one run of so many times the queries, which costs the same).

        Raises
        ------
        DataError
            If a number is below 1.
        """
        counts = [_count("repeats", one) for one in repeats]
        n = None if n_queries is None else _count("n_queries", n_queries)
        level = float(str(self.settings["confidence_level"]))
        rows = [
            _plan_row(name, one, count, n or one.n, level)
            for name, one in self.components.items()
            if one.n > 1
            for count in counts
        ]
        return Result(
            f"Repeats of each query: {self.title}",
            pd.DataFrame(rows),
            {"confidence_level": level},
            ("with_more_queries: one run of that many times the queries, at the same cost",),
            grouped_by="metric",
        )


def repeats(
    *evaluations: Scored,
    metrics: str | Iterable[str] | None = None,
    correct: Correct | None = None,
    confidence_level: float = 0.95,
    tolerance: float = 0.05,
) -> Repeats:
    """What repeated runs of one pipeline say of its noise.

    Parameters
    ----------
    *evaluations : RAGPipelineEvaluation
        Two or more runs of the same pipeline on the same queries; they may be of one name.
    metrics : str or iterable of str, optional
        Which metrics; all that every run has where nothing is asked.
    correct : see `rageval_report.scores.correctness`, optional
        What a correct answer is, for the stability of each query; exact match where there is one.
    confidence_level : float
        Of the intervals.
    tolerance : float
        Repeats are worth it until the standard error of the mean is within this share of what it
        would be without noise.

    Returns
    -------
    Repeats
        One row a metric: ``metric``, ``title``, ``n`` (queries scored in every run), ``n_dropped``,
        ``n_runs``, ``mean``, ``sd_within`` (how far one query's score moves from run to run) with
        its interval, ``sd_between`` (how far queries differ beyond that), ``icc`` with its
        interval, ``share_between`` and ``share_within`` of the variance, ``standard_error`` of the
        mean of one run, ``noise_limit`` (the means of two runs differ by less in so many of 100
        pairs as the confidence level says), ``n_repeats`` (so many runs are worth it),
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
    repeats cut the second part alone.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> ids = ["a", "b", "c", "d"]
    >>> first = RAGPipelineEvaluation("hybrid", {"query_id": ids, "rating": [9.0, 2, 5, 8]})
    >>> again = RAGPipelineEvaluation("hybrid", {"query_id": ids, "rating": [8.0, 3, 5, 8]})
    >>> found = repeats(first, again).frame
    >>> float(found["sd_within"][0]), round(float(found["icc"][0]), 3)
    (0.5, 0.969)
    """
    level = check_level(confidence_level)
    if not (math.isfinite(tolerance) and tolerance > 0):
        raise DataError(f"tolerance must be a number above 0, as 0.05; got {tolerance}")
    ids = _common_ids(evaluations)
    shared = _shared_metrics(evaluations, metrics)
    tables = {own[0].name: _table(evaluations, own, ids) for own in shared}
    components = {
        name: variance_components(table, confidence_level=level)
        for name, table in tables.items()
        if len(table)
    }
    rows = [_row(own[0], len(ids), components.get(own[0].name), tolerance) for own in shared]
    frame = _finished(pd.DataFrame(rows), shared, components, level, tolerance)
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


def _count(what: str, told: int) -> int:
    if isinstance(told, bool) or int(told) != told or told < 1:
        raise DataError(f"{what} must be a whole number of at least 1; got {told!r}")
    return int(told)


# -- what is measured


def _common_ids(runs: Sequence[Scored]) -> pd.Index:
    if len(runs) < 2:
        raise DataError(
            f"expected two or more runs of one pipeline, to see how they differ; got {len(runs)}"
        )
    ids = runs[0].scores.index
    for run in runs[1:]:
        ids = ids[ids.isin(run.scores.index)]
    if not len(ids):
        raise AlignmentError(
            f"no query id is in all {len(runs)} runs; ids of the first: "
            f"{named(runs[0].scores.index, 3)}, of the last: {named(runs[-1].scores.index, 3)}"
        )
    return ids


def _shared_metrics(
    runs: Sequence[Scored], metrics: str | Iterable[str] | None
) -> list[list[Metric]]:
    """Each metric that all runs have, as each of them knows it."""
    shared = []
    for known in choose_metrics(runs[0], metrics):
        own = [one for run in runs if (one := _twin(known, run))]
        if len(own) == len(runs):
            shared.append(own)
        elif metrics is not None:
            raise AlignmentError(f"{known.name!r} is in {len(own)} of {len(runs)} runs only")
    if not shared:
        raise AlignmentError(f"no metric is in all {len(runs)} runs")
    return shared


def _twin(known: Metric, run: Scored) -> Metric | None:
    by_meaning = {one.known_as: one for one in run.metrics.values()}
    return run.metrics.get(known.name) or by_meaning.get(known.known_as)


def _table(runs: Sequence[Scored], own: Sequence[Metric], ids: pd.Index) -> FloatArray:
    """The queries that every run scored, a row each, a column a run."""
    columns = [
        run.scores[metric.name].reindex(ids).to_numpy(dtype=np.float64)
        for run, metric in zip(runs, own, strict=True)
    ]
    table: FloatArray = np.column_stack(columns)
    return table[~np.isnan(table).any(axis=1)]


# -- what is told


def _row(
    metric: Metric, n_common: int, one: VarianceComponents | None, tolerance: float
) -> dict[str, object]:
    nan = float("nan")
    row: dict[str, object] = {"metric": metric.name, "title": metric.title}
    if one is None:
        return row | {"n": 0, "n_dropped": n_common}
    return row | {
        "n": one.n,
        "n_dropped": n_common - one.n,
        "n_runs": one.k,
        "mean": one.mean,
        "sd_within": one.sd_within.estimate,
        "sd_within_ci_low": one.sd_within.low,
        "sd_within_ci_high": one.sd_within.high,
        "sd_between": math.sqrt(one.between) if one.n > 1 else nan,
        "icc": one.icc.estimate,
        "icc_ci_low": one.icc.low,
        "icc_ci_high": one.icc.high,
        "share_between": one.share_between,
        "share_within": 1.0 - one.share_between,
        "standard_error": one.standard_error() if one.n > 1 else nan,
        "n_repeats": repeats_worth(one.between, one.within, tolerance),
        "run_effect_pvalue": one.run_effect_pvalue,
    }


def _plan_row(
    name: str, one: VarianceComponents, count: int, n: int, level: float
) -> dict[str, object]:
    error = one.standard_error(count, n)
    return {
        "metric": name,
        "repeats": count,
        "n_queries": n,
        "standard_error": error,
        "variance": error**2,
        "noise_limit": noise_limit(one.within, n, count, level),
        "with_more_queries": one.standard_error(1, n * count),
    }


def _finished(
    frame: pd.DataFrame,
    shared: Sequence[Sequence[Metric]],
    components: Mapping[str, VarianceComponents],
    level: float,
    tolerance: float,
) -> pd.DataFrame:
    """The columns that need all rows, and the sentences."""
    found = [components.get(own[0].name) for own in shared]
    missing = [name for name in _HEADLINE if name not in frame and name != "noise_limit"]
    frame = frame.assign(**{name: float("nan") for name in missing})
    frame["noise_limit"] = [
        float("nan") if one is None else noise_limit(one.within, one.n, 1, level) for one in found
    ]
    pvalues = frame.get("run_effect_pvalue", pd.Series(float("nan"), index=frame.index))
    frame["run_effect_pvalue"] = pvalues
    frame["run_effect_pvalue_adjusted"] = adjust_pvalues(pvalues.to_numpy(dtype=np.float64))
    frame["verdict"] = [
        repeats_verdict(own[0], one, level, tolerance)
        for own, one in zip(shared, found, strict=True)
    ]
    return frame
