"""How many queries an evaluation needs to show a difference that matters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.analysis import arguments, pairing
from rageval_report.errors import AlignmentError, DataError
from rageval_report.reports.sentences import rounded_count
from rageval_report.results import Result
from rageval_report.scores import METRICS, Metric, Scored
from rageval_report.stats import planning
from rageval_report.stats.base import check_integer, check_level, check_positive, check_probability
from rageval_report.stats.columns import Column
from rageval_report.stats.units import FEWEST_UNITS, Units

# The correlation of two pipelines' scores of one query. In 45 pairs of pipelines of public
# evaluations the quartiles were 0.31, 0.51 and 0.76, the tenth and ninetieth percentiles 0.15 and
# 0.80.
USUAL_CORRELATION = 0.5
_CORRELATIONS = (0.8, 0.2)
# Differences that people ask about, as shares of the metric's scale.
_USUAL_DIFFERENCES = (0.02, 0.05, 0.1)
# The spread between fewer clusters than this is known to a third at best.
_FEW_CLUSTERS = 20
_HEADLINE = (
    *("metric", "difference", "n_clusters_needed", "n_needed", "n_needed_low", "n_needed_high"),
    *("n_no_regression", "n", "n_clusters", "cluster_size", "share_between", "power"),
)


def plan(
    baseline: Scored | None = None,
    *,
    metrics: str | Iterable[str] | None = None,
    differences: float | Iterable[float] | None = None,
    candidate: Scored | None = None,
    mean: float | None = None,
    sd: float | None = None,
    n: int | None = None,
    correlation: float | None = None,
    n_tests: int | None = None,
    power: float = 0.8,
    confidence_level: float = 0.95,
    clusters: arguments.Clusters | None = None,
) -> Result:
    """How many queries show a difference that matters: from a baseline, a mean or nothing.

    Parameters
    ----------
    baseline : RAGPipelineEvaluation, optional
        The pipeline in use. Without it the plan is made from `mean` and `sd`, or for scores of 0
        and 1 with the mean 0.5, which vary most.
    metrics : str or iterable of str, optional
        The metrics; all of the baseline if omitted. Without a baseline, one name.
    differences : float or iterable of float, optional
        The differences that matter, in the unit of the metric; if omitted, 2, 5 and 10 % of its
        range, or of the mean of a metric without bounds, such as latency.
    candidate : RAGPipelineEvaluation, optional
        A pilot run of the candidate on the same queries. Then paired differences are measured, and
        nothing is assumed on the correlation.
    mean, sd : float, optional
        A published mean, and the standard deviation of its scores; without `sd` the scores are
        planned for as 0 and 1.
    n : int, optional
        The queries of the set; those of the baseline if omitted.
    correlation : float, optional
        The correlation of the two pipelines' scores of a query, between -1 and 1; if omitted 0.5,
        and the plan shows what 0.8 and 0.2 would need.
    n_tests : int, optional
        The tests that will be corrected together; the number of metrics if omitted.
    power : float
        The probability with which the difference should be shown.
    confidence_level : float
        One minus the level of significance.
    clusters : str, Series or mapping, optional
        Queries of the baseline that belong together and are not independent: the name of a details
        column or a cluster label by query id. Then clusters are counted, of as many queries as
        those of the baseline, and vary as those do.

    Returns
    -------
    Result
        One row per metric and difference: ``metric``, ``title``, ``difference``, ``sd_difference``
        (of a query's paired difference), ``n_needed`` to show the difference, ``n_needed_low`` and
        ``n_needed_high`` (for correlations of 0.8 and 0.2; NaN if the correlation is known),
        ``n_no_regression`` (queries that the gate ``no_regression`` with this margin needs, if the
        pipeline is as good), ``n`` (queries of the set), ``power`` with these, ``smallest_pvalue``
        that they can give, ``verdict``. With clusters also ``n_clusters_needed``, ``n_clusters``
        (of the set), ``cluster_size`` (queries of a cluster, on average) and ``share_between`` (of
        the variance, between clusters); all numbers of queries are then those of whole clusters.

    Notes
    -----
    The tests are those of `compare`: the sign-flip test (see
    `rageval_report.stats.planning`), McNemar's mid-p test for scores of 0 and 1. The level of
    each test is one minus the confidence level over `n_tests`, as for the first step of Holm's
    correction. Never fewer than 6 queries, or clusters.

    With clusters the test flips whole clusters, also for scores of 0 and 1. How much the pipelines'
    differences vary between clusters is known from a pilot run alone; without one the share is
    taken that the baseline's scores have, by the mean squares between and within clusters.

    Examples
    --------
    >>> frame = plan(mean=0.85, differences=0.05, n=100).frame
    >>> int(frame["n_needed"][0]), round(float(frame["power"][0]), 2)
    (343, 0.3)
    """
    level = check_level(confidence_level)
    check_probability("power", power)
    if correlation is not None and not -1.0 < correlation < 1.0:
        raise DataError(f"correlation must lie between -1 and 1; got {correlation}")
    shared = USUAL_CORRELATION if correlation is None else float(correlation)
    n_planned = None if n is None else check_integer("n", n, 1)
    source, hints = "" if mean is None else f", from a mean of {mean:g}", tuple[str, ...]()
    if baseline is not None:
        source, hints = f", from {baseline.name}", arguments.unnamed_clusters(baseline, clusters)
        if mean is not None or sd is not None:
            raise DataError("mean and sd are for a plan without a baseline; its scores have both")
        units = arguments.resolve_units(baseline, clusters)
        chosen = arguments.choose_metrics(baseline, metrics)
        learnt = [_learn(baseline, own, shared, candidate, units) for own in chosen]
        known = [replace(each, n=n_planned or each.n) for each in learnt if each is not None]
        if not known:
            raise DataError("nothing to plan: no metric has two different scores")
    else:
        for name, value in (("candidate", candidate), ("clusters", clusters)):
            if value is not None:
                raise DataError(f"{name} needs a baseline: plan(baseline, {name}=...)")
        known = [_assume(metrics, mean, sd, n_planned, shared)]
    tests = len(known) if n_tests is None else check_integer("n_tests", n_tests, 1)
    is_guessed = correlation is None and candidate is None
    rows = [
        _row(each, difference, (1.0 - level) / tests, power, is_guessed=is_guessed)
        for each in known
        for difference in _differences_of(each, differences)
    ]
    return Result(
        f"Queries needed{source}",
        pd.DataFrame(rows),
        {
            "confidence_level": level,
            "correlation": "measured" if candidate is not None else known[0].correlation,
            "n_tests": tests,
            "power": power,
            **arguments.clusters_setting(clusters),
        },
        (*_notes(known, tests, is_guessed=is_guessed, is_assumed=baseline is None), *hints),
        headline=_HEADLINE,
    )


def _differences_of(known: _Known, differences: float | Iterable[float] | None) -> list[float]:
    if differences is None:
        scale = arguments.scale_of(known.metric, known.mean, known.sd)
        return [share * scale for share in _USUAL_DIFFERENCES]
    values = [differences] if isinstance(differences, int | float) else list(differences)
    for value in values:
        if not (math.isfinite(value) and value > 0):
            raise DataError(f"differences must be numbers above 0, such as 0.05; got {value}")
    return [float(value) for value in values]


# -- what is known of a metric


@dataclass(frozen=True)
class _Shares:
    """McNemar's test of scores of 0 and 1, with the names of a `PlannedTest`."""

    baseline: float
    candidate: float

    def needed(self, _difference: float, power: float, *, alpha: float) -> float:
        """The queries that show the difference of the shares; NaN if there is none."""
        if self.baseline == self.candidate:
            return math.nan
        return planning.binary_queries_needed(self.baseline, self.candidate, power, alpha=alpha)

    def power(self, _difference: float, n: int, *, alpha: float) -> float:
        """The probability that so many queries show it."""
        return planning.mcnemar_power(self.baseline, self.candidate, n, alpha=alpha)


@dataclass(frozen=True)
class _Known:
    """What is known or assumed of one metric."""

    metric: Metric
    mean: float
    sd: float
    correlation: float
    is_binary: bool
    n: int | None = None
    sd_difference: float = math.nan
    changed: float = math.nan
    clusters: planning.ClusterVariance | None = None

    @property
    def sd_of_differences(self) -> float:
        """The standard deviation of a query's difference between two pipelines."""
        is_measured = not math.isnan(self.sd_difference)
        guess = self.sd * math.sqrt(2.0 * (1.0 - self.correlation))
        return self.sd_difference if is_measured else guess

    def test_of_sd(self, sd: float) -> planning.PlannedTest:
        """The test of queries, or of whole clusters, whose differences have this deviation."""
        clusters = self.clusters
        if clusters is None:
            return planning.PlannedTest(sd)
        return clusters.planned_test(sd**2, clusters.share_between)

    def test(self, difference: float) -> planning.PlannedTest | _Shares | None:
        """The test that shows a difference; None if the mean cannot move so far."""
        if not self.is_binary:
            return self.test_of_sd(self.sd_of_differences)
        shares = self._discordant(difference)
        if shares is None or self.clusters is None:
            return shares
        # Of scores of 0 and 1 the variance follows from the shares that change.
        variance = shares.baseline + shares.candidate - difference**2
        return self.test_of_sd(math.sqrt(variance)) if variance > 0.0 else None

    def _discordant(self, difference: float) -> _Shares | None:
        """The shares after a gain of this size, or a loss if a gain does not fit; or None."""
        if not math.isnan(self.changed):
            changed = min(max(self.changed, difference), 1.0)
            return _Shares((changed - difference) / 2.0, (changed + difference) / 2.0)
        before = self.mean
        after = before + difference if before + difference <= 1.0 + 1e-12 else before - difference
        if after < -1e-12:
            return None
        after = min(max(after, 0.0), 1.0)
        shared = self.correlation * math.sqrt(before * (1 - before) * after * (1 - after))
        both = min(before * after + shared, before, after)
        return _Shares(min(before, after) - both, max(before, after) - both)


def _assume(
    metrics: str | Iterable[str] | None,
    mean: float | None,
    sd: float | None,
    n: int | None,
    correlation: float,
) -> _Known:
    """What a published mean says, or nothing: scores of 0 and 1 vary most, with a mean of 0.5."""
    names = [metrics] if isinstance(metrics, str) else list(metrics or ["score"])
    if len(names) != 1:
        raise DataError(f"metrics must name one metric if no baseline is given; got {len(names)}")
    known = METRICS[names[0]] if names[0] in METRICS else Metric(names[0], bounds=(0.0, 1.0))
    if sd is not None:
        own_mean = math.nan if mean is None else mean
        return _Known(known, own_mean, check_positive("sd", sd), correlation, is_binary=False, n=n)
    mean = 0.5 if mean is None else mean
    if not 0.0 < mean < 1.0:
        raise DataError(
            f"mean must lie between 0 and 1 if sd is not given; got {mean}. For another scale, or "
            "a mean at an end, give the standard deviation of the scores: sd=0.2"
        )
    return _Known(known, mean, math.sqrt(mean * (1.0 - mean)), correlation, is_binary=True, n=n)


def _learn(
    baseline: Scored, metric: Metric, correlation: float, candidate: Scored | None, units: Units
) -> _Known | None:
    """What the scores of a baseline, and of a pilot run, show; None if they do not vary."""

    def column_and_clusters(by_query: pd.Series) -> tuple[Column, planning.ClusterVariance | None]:
        values = by_query.to_numpy(dtype=np.float64)
        codes = units.select(baseline.scores.index.get_indexer(by_query.index)).codes
        column = Column.of(values)
        if codes is None or not column.std > 0.0:
            return column, None
        return column, planning.ClusterVariance.of(values, codes)

    column, clusters = column_and_clusters(baseline.scores[metric.name].dropna())
    if not column.std > 0.0:  # NaN for fewer than two scores
        return None
    own = metric, column.mean, column.std, correlation, metric.kind == "binary", column.n
    known = _Known(*own, clusters=clusters)
    if candidate is None:
        return known
    twin = pairing.twin_of(metric, candidate)
    if twin is None:
        raise AlignmentError(f"{candidate.name} has no metric {metric.name!r}")
    # pandas pairs them by query id.
    differences = (candidate.scores[twin.name] - baseline.scores[metric.name]).dropna()
    if differences.empty:
        names = f"{baseline.name} and {candidate.name}"
        raise AlignmentError(f"no query has a score of {metric.name!r} in both {names}")
    column, clusters = column_and_clusters(differences)
    changed = float(np.square(differences.to_numpy(dtype=np.float64)).mean())
    known = replace(known, n=column.n, clusters=clusters, correlation=math.nan)
    measured = replace(known, sd_difference=column.std, changed=changed)
    return measured if column.std > 0.0 else None


# -- what a difference needs


def _row(
    known: _Known, difference: float, alpha: float, power: float, *, is_guessed: bool
) -> dict[str, object]:
    """The row of a difference to show, at a level and with a power."""
    clusters, n = known.clusters, math.nan if known.n is None else known.n
    size = 1.0 if clusters is None else clusters.size
    units = n if clusters is None or math.isnan(n) else max(1, round(n / size))

    def needed(of: _Known) -> float:
        """The units that show the difference; NaN if none or more than ten million do."""
        test = of.test(difference)
        return math.nan if test is None else test.needed(difference, power, alpha=alpha)

    def queries(count: float) -> float:
        return count if math.isnan(count) else math.ceil(count * size - 1e-9)

    ends = [math.nan, math.nan]
    if is_guessed:
        ends = [needed(replace(known, correlation=r)) for r in _CORRELATIONS]
    test, sd = known.test(difference), known.sd_of_differences
    power_of_set = math.nan if math.isnan(units) else 0.0
    if units >= 2:
        power_of_set = math.nan
        if test is not None:
            power_of_set = test.power(difference, int(units), alpha=alpha)
    # A gate has a test of its own, one-sided and without correction for other metrics.
    of_gate = known.test_of_sd(sd).needed_for_margin(difference, power)
    row: dict[str, Any] = {"metric": known.metric.name, "title": known.metric.title}
    row |= {"difference": difference, "sd_difference": sd, "n_needed": queries(needed(known))}
    row |= {"n_needed_low": queries(ends[0]), "n_needed_high": queries(ends[1])}
    row |= {"n_no_regression": queries(of_gate), "n": n}
    row |= {"power": power_of_set, "smallest_pvalue": 2.0 ** (1 - units)}
    if clusters is not None:
        row |= {"n_clusters_needed": needed(known), "n_clusters": units, "cluster_size": size}
        row |= {"share_between": clusters.share_between}
    return row | {"verdict": f"{known.metric.name}: {_verdict(row)}"}


def _verdict(row: Mapping[str, Any]) -> str:
    size, in_clusters = f"{row['difference']:.3g}", "n_clusters" in row
    if math.isnan(row["n_needed"]):
        why = "the mean cannot move so far, or no set is large enough"
        return f"a difference of {size} cannot be resolved: {why}"
    needed = f"{rounded_count(int(row['n_needed']))} queries"
    n, word = row["n"], "queries"
    if in_clusters:
        n, word = row["n_clusters"], "clusters"
        n_clusters = rounded_count(int(row["n_clusters_needed"]))
        needed = f"{n_clusters} clusters of {row['cluster_size']:.3g} queries, {needed} in all"
    sentence = f"to detect {size}, ask about {needed}"
    if not math.isnan(row["n_needed_low"]):
        low, high = row["n_needed_low"], row["n_needed_high"]
        most = "more than ten million" if math.isnan(high) else rounded_count(int(high))
        unit = " queries" if in_clusters else ""
        alike = f"{unit} if the pipelines' scores are more or less alike"
        sentence += f" ({rounded_count(int(low))} to {most}{alike})"
    if math.isnan(n):
        return sentence
    if n < FEWEST_UNITS:
        return f"{sentence}; {int(n)} {word} are too few for any test"
    these = f"the {int(n)}{' clusters' if in_clusters else ''} of this set"
    if row["n"] >= row["n_needed"]:
        return f"{sentence}; {these} are enough"
    chance = f"would show it in {100 * row['power']:.0f} % of the comparisons"
    # Below one half, most of the evaluations would miss the difference.
    if row["power"] < 0.5:
        return f"{sentence}; it cannot be resolved with {these}, which {chance}"
    return f"{sentence}; {these} {chance}"


def _notes(
    known: Sequence[_Known], tests: int, *, is_guessed: bool, is_assumed: bool
) -> Iterator[str]:
    if is_guessed:
        yield (
            f"the correlation of the two pipelines' scores is taken as {USUAL_CORRELATION:g}, the "
            "range shows 0.8 and 0.2; give correlation=, or a pilot run as candidate="
        )
    if is_assumed and known[0].is_binary:
        yield "the scores are taken as 0 and 1, which vary most; give sd= if they do not"
    counts = [each.clusters.sizes.size for each in known if each.clusters is not None]
    if counts and min(counts) < _FEW_CLUSTERS:
        yield f"how much clusters differ was measured on {min(counts)} only: the plan is rough"
    if tests > 1:
        yield f"the level is that of {tests} tests corrected together (n_tests=)"
