"""What a plan assumes of the scores to come: how much paired differences vary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from rageval_report.analysis.agreement import votes_of
from rageval_report.analysis.pairing import twin_of
from rageval_report.errors import AlignmentError, DataError
from rageval_report.scores import Metric, Scored
from rageval_report.scores.states import VOTES
from rageval_report.stats.base import check_positive
from rageval_report.stats.columns import Column
from rageval_report.stats.components import CrossedComponents, crossed_components
from rageval_report.stats.planning import ClusterVariance, PlannedTest
from rageval_report.stats.units import QUERIES, Units

# The correlation of two pipelines' scores of one query. In 45 pairs of pipelines of public
# evaluations the quartiles were 0.31, 0.51 and 0.76, the tenth and ninetieth percentiles 0.15 and
# 0.80.
USUAL_CORRELATION = 0.5
CORRELATIONS = (0.8, 0.2)


@dataclass(frozen=True)
class Assumptions:
    """What is known or assumed of one metric.

    Parameters
    ----------
    metric : Metric
        What is planned for.
    mean : float
        The baseline's mean; NaN if it is not known.
    sd : float
        The standard deviation of a query's score over queries, one run and one judge.
    correlation : float
        Of the two pipelines' scores of a query; NaN if the differences were measured.
    is_binary : bool
        Whether each score is 0 or 1, or is planned for as if it were, which is the worst case.
    n : int or None
        The queries of the set; None if there is none.
    sd_difference : float
        The measured standard deviation of paired differences; NaN if it is derived.
    changed : float
        The measured mean square of the differences, for 0 and 1 the share of queries that one
        pipeline alone gets right; NaN if it is derived.
    noise : CrossedComponents or None
        The sources of noise, from repeated runs or several judges.
    clusters : ClusterVariance or None
        How the scores of the baseline, or the measured differences, vary between and within
        clusters; None if each query counts for itself.
    """

    metric: Metric
    mean: float
    sd: float
    correlation: float
    is_binary: bool
    n: int | None = None
    sd_difference: float = math.nan
    changed: float = math.nan
    noise: CrossedComponents | None = None
    clusters: ClusterVariance | None = None

    def sd_of_differences(self, repeats: int = 1, judges: int = 1) -> float:
        """The standard deviation of a query's difference between two pipelines.

        Parameters
        ----------
        repeats, judges : int
            Runs of each query and judges of each answer, whose mean is the query's score.

        Notes
        -----
        The query's own part is shared by the pipelines to the extent of their correlation; noise
        is not. How much a judge differs from others cancels out, as the same judges score both.
        """
        if not math.isnan(self.sd_difference):
            return self.sd_difference
        own = 2.0 * (1.0 - self.correlation)
        if self.noise is None:
            return self.sd * math.sqrt(own)
        parts = self.noise.variance_of
        noise = (
            parts("query x run") / repeats
            + parts("query x judge") / judges
            + parts("residual") / (repeats * judges)
        )
        return math.sqrt(own * parts("query") + 2.0 * noise)

    def planned_clusters(self, clusters: ClusterVariance, variance: float) -> PlannedTest:
        """The test of whole clusters, of queries whose differences have this variance.

        Parameters
        ----------
        clusters : ClusterVariance
            Those of these assumptions.
        variance : float
            The variance of a query's difference.

        Notes
        -----
        Clusters differ in their differences to the extent to which they differ in the baseline's
        scores, unless differences were measured. Noise from run to run, or from judge to judge, is
        within clusters.
        """
        if self.noise is None:
            return clusters.planned_test(variance, clusters.share_between)
        between = 2.0 * (1.0 - self.correlation) * clusters.between
        return clusters.planned_test(variance, min(1.0, between / variance))

    def with_correlation(self, correlation: float) -> Assumptions:
        """The same with another correlation of the pipelines."""
        return replace(self, correlation=correlation)

    def with_n(self, n: int | None) -> Assumptions:
        """The same for another number of queries, if it is given."""
        return self if n is None else replace(self, n=n)

    def discordant(self, difference: float) -> tuple[float, float] | None:
        """The shares of queries that only the baseline, only the candidate gets right.

        Parameters
        ----------
        difference : float
            The gain in the share of right answers; a loss of that size if a gain cannot be.

        Returns
        -------
        (float, float) or None
            None if the mean can neither rise nor fall by so much.
        """
        if not math.isnan(self.changed):
            changed = min(max(self.changed, difference), 1.0)
            return ((changed - difference) / 2.0, (changed + difference) / 2.0)
        before = self.mean
        after = before + difference if before + difference <= 1.0 + 1e-12 else before - difference
        if after < -1e-12:
            return None
        after = min(max(after, 0.0), 1.0)
        shared = self.correlation * math.sqrt(before * (1 - before) * after * (1 - after))
        both = min(before * after + shared, before, after)
        lost, gained = before - both, after - both
        return (lost, gained) if after >= before else (gained, lost)


def assume(
    metric: Metric, mean: float | None, sd: float | None, n: int | None, correlation: float
) -> Assumptions:
    """Assumptions without scores: a published mean, or nothing.

    Parameters
    ----------
    metric : Metric
        What is planned for.
    mean : float, optional
        A published mean between 0 and 1, or on another scale if `sd` is given; 0.5 if omitted,
        where scores of 0 and 1 vary most.
    sd : float, optional
        The standard deviation of the scores; if omitted, that of scores of 0 and 1, which is the
        largest that scores from 0 to 1 with this mean can have.
    n : int, optional
        The queries of the set.
    correlation : float
        Of the two pipelines' scores.

    Raises
    ------
    DataError
        If the mean or the standard deviation makes no sense.
    """
    if sd is not None:
        check_positive("sd", sd)
        return Assumptions(
            metric, math.nan if mean is None else mean, sd, correlation, is_binary=False, n=n
        )
    mean = 0.5 if mean is None else mean
    if not 0.0 < mean < 1.0:
        raise DataError(
            f"mean must lie between 0 and 1 if sd is not given; got {mean}. For another scale, or "
            "a mean at an end, give the standard deviation of the scores: sd=0.2"
        )
    sd = math.sqrt(mean * (1.0 - mean))
    return Assumptions(metric, mean, sd, correlation, is_binary=True, n=n)


def learn(
    runs: Sequence[Scored],
    own: Sequence[Metric],
    correlation: float,
    candidate: Scored | None,
    units: Units = QUERIES,
) -> Assumptions | None:
    """Assumptions from the scores of a baseline; None if they do not vary.

    Parameters
    ----------
    runs : sequence of Scored
        One or more runs of the baseline.
    own : sequence of Metric
        The metric, as each run defines it.
    correlation : float
        Of the two pipelines' scores; not used with a candidate.
    candidate : Scored, optional
        A pilot run of the candidate, from which differences are measured.
    units : Units
        The unit of each row of the first run.

    Raises
    ------
    AlignmentError
        If the candidate shares no scored query with the baseline, or has not the metric.
    DataError
        If there are clusters, and all scored queries are in one.
    """
    metric = own[0]
    scores = runs[0].scores[metric.name].dropna()
    column = Column.of(scores.to_numpy(dtype=np.float64))
    if not column.std > 0.0:  # NaN for fewer than two scores
        return None
    known = Assumptions(
        metric,
        column.mean,
        column.std,
        correlation,
        is_binary=metric.kind == "binary",
        n=len(scores),
        noise=_noise(runs, own),
        clusters=_cluster_variance(runs[0], scores, units),
    )
    if candidate is None:
        return known
    by_query = _differences(runs[0], metric, candidate)
    differences = by_query.to_numpy(dtype=np.float64)
    sd = Column.of(differences).std
    if not sd > 0.0:
        return None
    return replace(
        known,
        sd_difference=sd,
        changed=float(np.square(differences).mean()),
        correlation=math.nan,
        n=len(differences),
        noise=None,
        clusters=_cluster_variance(runs[0], by_query, units),
    )


def _cluster_variance(
    baseline: Scored, by_query: pd.Series, units: Units
) -> ClusterVariance | None:
    """How the values of queries of the baseline vary between and within their clusters."""
    rows = baseline.scores.index.get_indexer(by_query.index)
    codes = units.select(rows).codes
    return None if codes is None else ClusterVariance.of(by_query.to_numpy(np.float64), codes)


def _differences(baseline: Scored, metric: Metric, candidate: Scored) -> pd.Series:
    twin = twin_of(metric, candidate)
    if twin is None:
        raise AlignmentError(f"{candidate.name} has no metric {metric.name!r}")
    # pandas pairs them by query id.
    differences = (candidate.scores[twin.name] - baseline.scores[metric.name]).dropna()
    if differences.empty:
        raise AlignmentError(
            f"no query has a score of {metric.name!r} in both {baseline.name} and {candidate.name}"
        )
    return differences


def _noise(runs: Sequence[Scored], own: Sequence[Metric]) -> CrossedComponents | None:
    """The sources of noise, if there are several runs, or judges."""
    tables = []
    for number, (run, metric) in enumerate(zip(runs, own, strict=True)):
        has_votes = f"{metric.name}{VOTES}" in run.details
        table = (
            votes_of(run, metric)
            if has_votes
            else run.scores[[metric.name]].set_axis(["judge"], axis=1)
        )
        cells = table.melt(ignore_index=False, var_name="judge", value_name="score")
        tables.append(cells.assign(run=number, query=cells.index.astype(str)))
    cells = pd.concat(tables)
    if len(runs) < 2 and cells["judge"].nunique() < 2:
        return None
    columns = (cells[name].to_numpy() for name in ("score", "query", "run", "judge"))
    return crossed_components(*columns)
