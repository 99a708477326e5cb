"""How many queries, runs and judges an evaluation needs to show a difference that matters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from rageval_report.analysis.arguments import (
    Clusters,
    check_count,
    clusters_setting,
    resolve_units,
    scale_of,
    unnamed_clusters,
)
from rageval_report.analysis.noise import shared_metrics
from rageval_report.analysis.planning.assumptions import (
    CORRELATIONS,
    USUAL_CORRELATION,
    Assumptions,
    assume,
    learn,
)
from rageval_report.analysis.planning.needs import Needs
from rageval_report.errors import DataError, explain_keywords
from rageval_report.reports.sentences import number, rounded_count
from rageval_report.results import Result
from rageval_report.scores import METRICS, Metric, Scored
from rageval_report.stats.base import check_level, check_probability
from rageval_report.stats.units import FEWEST_UNITS, QUERIES, Units

# Differences that people ask about, as shares of the metric's scale.
_USUAL_DIFFERENCES = (0.02, 0.05, 0.1)
_HEADLINE = (
    *("metric", "difference", "repeats", "judges", "n_needed", "n_needed_low", "n_needed_high"),
    *("n_no_regression", "n", "power"),
)
_CLUSTER_HEADLINE = (
    *("metric", "difference", "repeats", "judges", "n_clusters_needed", "n_needed"),
    *("n_needed_low", "n_needed_high", "n_no_regression", "n", "n_clusters", "cluster_size"),
    *("share_between", "power"),
)
# The spread between fewer clusters than this is known to a third at best.
_FEW_CLUSTERS = 20
# Half of the evaluations would miss the difference.
_TOSS_OF_A_COIN = 0.5


@explain_keywords
def plan(
    *evaluations: Scored,
    metrics: str | Iterable[str] | None = None,
    differences: float | Iterable[float] | None = None,
    candidate: Scored | None = None,
    mean: float | None = None,
    sd: float | None = None,
    n: int | None = None,
    correlation: float | None = None,
    repeats: int | Iterable[int] = 1,
    judges: int | Iterable[int] = 1,
    n_tests: int | None = None,
    power: float = 0.8,
    confidence_level: float = 0.95,
    clusters: Clusters | None = None,
) -> Result:
    """How many queries show a difference that matters: from a baseline, a mean or nothing.

    Parameters
    ----------
    *evaluations : RAGPipelineEvaluation, optional
        The baseline; several runs of it also show what repeats of each query gain. Without any, the
        plan is made from `mean` and `sd`, or for scores of 0 and 1 with the mean 0.5, which vary
        most.
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
    repeats, judges : int or iterable of int
        Runs of each query and judges of each answer; other numbers than 1 need a baseline that was
        run several times, or judged by several judges.
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
        One row per metric, difference, repeats and judges: ``metric``, ``title``, ``difference``,
        ``repeats``, ``judges``, ``sd_difference`` (of a query's paired difference), ``n_needed`` to
        show the difference, ``n_needed_low`` and ``n_needed_high`` (for correlations of 0.8 and
        0.2; NaN if the correlation is known), ``n_no_regression`` (queries with which a pipeline
        that is no worse passes ``no_regression`` with this margin), ``n`` (queries of the set),
        ``power`` with these, ``smallest_pvalue`` that they can give, ``verdict``. With clusters
        also ``n_clusters_needed``, ``n_clusters`` (of the set), ``cluster_size`` (queries of a
        cluster, on average) and ``share_between`` (of the variance, between clusters); all numbers
        of queries are then those of whole clusters.

    Raises
    ------
    DataError
        If a setting makes no sense, no metric varies, a query has no cluster, or all are in one.
    AlignmentError
        If the candidate has no scored query or metric in common with the baseline.
    UnknownNameError
        If a metric is not known.

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
    units = _units(evaluations, clusters)
    known = _assumptions(evaluations, metrics, candidate, mean, sd, n, correlation, units)
    tests = check_count("n_tests", n_tests) if n_tests is not None else len(known)
    alpha = (1.0 - level) / tests
    is_guessed = correlation is None and candidate is None
    rows = [
        _row(
            Needs(parts, difference, many, voices, alpha, power),
            is_correlation_guessed=is_guessed,
        )
        for parts in known
        for difference in _differences_of(parts, differences)
        for many, voices in _designs(parts, repeats, judges)
    ]
    return Result(
        _title(evaluations, mean),
        pd.DataFrame(rows),
        {
            "confidence_level": level,
            "correlation": "measured" if candidate is not None else known[0].correlation,
            "n_tests": tests,
            "power": power,
            **clusters_setting(clusters),
        },
        (
            *_notes(known, tests, evaluations, is_guessed=is_guessed),
            *(unnamed_clusters(evaluations[0], clusters) if evaluations else ()),
        ),
        headline=_HEADLINE if clusters is None else _CLUSTER_HEADLINE,
    )


# -- what is known


def _units(evaluations: Sequence[Scored], clusters: Clusters | None) -> Units:
    if clusters is None:
        return QUERIES
    if not evaluations:
        raise DataError(
            "clusters needs a baseline, whose clusters show how much they differ: "
            'plan(baseline, clusters="document")'
        )
    return resolve_units(evaluations[0], clusters)


def _assumptions(
    evaluations: Sequence[Scored],
    metrics: str | Iterable[str] | None,
    candidate: Scored | None,
    mean: float | None,
    sd: float | None,
    n: int | None,
    correlation: float | None,
    units: Units,
) -> list[Assumptions]:
    shared = USUAL_CORRELATION if correlation is None else _check_correlation(correlation)
    count = None if n is None else check_count("n", n)
    if not evaluations:
        if candidate is not None:
            raise DataError("candidate needs a baseline: plan(baseline, candidate=pilot)")
        return [assume(_single_metric(metrics), mean, sd, count, shared)]
    if mean is not None or sd is not None:
        raise DataError("mean and sd are for a plan without a baseline; its scores have both")
    learned = [
        parts
        for own in shared_metrics(evaluations, metrics)
        if (parts := learn(evaluations, own, shared, candidate, units)) is not None
    ]
    if not learned:
        raise DataError("nothing to plan: no metric has two different scores")
    return [parts.with_n(count) for parts in learned]


def _single_metric(metrics: str | Iterable[str] | None) -> Metric:
    names = [metrics] if isinstance(metrics, str) else list(metrics or ["score"])
    if len(names) != 1:
        raise DataError(f"metrics must be one name if there is no baseline; got {len(names)}")
    return METRICS[names[0]] if names[0] in METRICS else Metric(names[0], bounds=(0.0, 1.0))


def _check_correlation(correlation: float) -> float:
    if not -1.0 < correlation < 1.0:
        raise DataError(f"correlation must lie between -1 and 1; got {correlation}")
    return float(correlation)


def _differences_of(parts: Assumptions, differences: float | Iterable[float] | None) -> list[float]:
    if differences is None:
        scale = scale_of(parts.metric, parts.mean, parts.sd)
        return [share * scale for share in _USUAL_DIFFERENCES]
    values = [differences] if isinstance(differences, int | float) else list(differences)
    for value in values:
        if not (math.isfinite(value) and value > 0):
            raise DataError(f"differences must be numbers above 0, such as 0.05; got {value}")
    return [float(value) for value in values]


def _designs(
    parts: Assumptions, repeats: int | Iterable[int], judges: int | Iterable[int]
) -> Iterator[tuple[int, int]]:
    for many in _counts("repeats", repeats):
        for voices in _counts("judges", judges):
            if parts.noise is None and (many, voices) != (1, 1):
                raise DataError(
                    "repeats and judges above 1 need a baseline that was run several times, or "
                    "judged by several judges: plan(first_run, second_run, repeats=[1, 2, 3])"
                )
            yield many, voices


def _counts(parameter: str, counts: int | Iterable[int]) -> list[int]:
    values = [counts] if isinstance(counts, int) else list(counts)
    return [check_count(parameter, count) for count in values]


# -- the rows


def _row(needs: Needs, *, is_correlation_guessed: bool) -> dict[str, object]:
    known = needs.known
    nan = math.nan
    fewest, most = (
        (needs.units(other) if is_correlation_guessed else nan) for other in CORRELATIONS
    )
    size = 1.0 if known.clusters is None else known.clusters.size
    needed = needs.units()
    row = {
        "metric": known.metric.name,
        "title": known.metric.title,
        "difference": needs.difference,
        "repeats": needs.repeats,
        "judges": needs.judges,
        "sd_difference": needs.sd_difference,
        "n_needed": _queries(needed, size),
        "n_needed_low": _queries(fewest, size),
        "n_needed_high": _queries(most, size),
        "n_no_regression": _queries(needs.units_of_a_gate(), size),
        "n": nan if known.n is None else known.n,
        "power": needs.power_now(),
        "smallest_pvalue": 2.0 ** (1 - needs.units_now),
    }
    if known.clusters is not None:
        row |= {
            "n_clusters_needed": needed,
            "n_clusters": needs.units_now,
            "cluster_size": size,
            "share_between": known.clusters.share_between,
        }
    return row | {"verdict": _verdict(needs, row)}


def _queries(units: float, size: float) -> float:
    """The queries of so many units, of so many queries each."""
    return units if math.isnan(units) else math.ceil(units * size - 1e-9)


def _verdict(needs: Needs, row: Mapping[str, Any]) -> str:
    what = f"{row['metric']}: a difference of {number(needs.difference)}"
    if math.isnan(row["n_needed"]):
        return f"{what} cannot be resolved: the mean cannot move so far, or no set is large enough"
    sentence = f"{what} needs {_needed_text(needs, row)}{_design_text(needs)}"
    if not math.isnan(row["n_needed_low"]):
        low, high = (_count_or_many(row[name]) for name in ("n_needed_low", "n_needed_high"))
        unit = "" if needs.known.clusters is None else " queries"
        sentence += f" ({low} to {high}{unit} if the pipelines' scores are more or less alike)"
    return sentence + _set_part(needs, row)


def _needed_text(needs: Needs, row: Mapping[str, Any]) -> str:
    queries = f"{rounded_count(int(row['n_needed']))} queries"
    if needs.known.clusters is None:
        return f"about {queries}"
    n, size = int(row["n_clusters_needed"]), needs.known.clusters.size
    return f"about {rounded_count(n)} clusters of {size:.3g} queries, {queries} in all"


def _set_part(needs: Needs, row: Mapping[str, Any]) -> str:
    """What the queries, or clusters, of the set can do."""
    if needs.known.n is None:
        return ""
    n, word = int(needs.units_now), "queries"
    counted = f"{n}"
    if needs.known.clusters is not None:
        word = "clusters"
        counted = f"{n} clusters"
    if n < FEWEST_UNITS:
        return f"; {n} {word} are too few for any test"
    chance = f"{100 * row['power']:.0f} % of the comparisons"
    if row["n"] >= row["n_needed"]:
        return f"; the {counted} of this set are enough"
    if row["power"] < _TOSS_OF_A_COIN:
        return (
            f"; it cannot be resolved with the {counted} of this set, which would show it in "
            f"{chance}"
        )
    return f"; the {counted} of this set would show it in {chance}"


def _design_text(needs: Needs) -> str:
    if needs.repeats == needs.judges == 1:
        return ""
    runs = f"{needs.repeats} run{'s' if needs.repeats > 1 else ''}"
    judges = f"{needs.judges} judge{'s' if needs.judges > 1 else ''}"
    return f" with {runs} and {judges} of each"


def _count_or_many(count: float) -> str:
    return "more than ten million" if math.isnan(count) else rounded_count(int(count))


# -- title and notes


def _title(evaluations: Sequence[Scored], mean: float | None) -> str:
    if evaluations:
        return f"Queries needed, from {evaluations[0].name}"
    return "Queries needed" if mean is None else f"Queries needed, from a mean of {mean:g}"


def _notes(
    known: Sequence[Assumptions], tests: int, evaluations: Sequence[Scored], *, is_guessed: bool
) -> Iterator[str]:
    if is_guessed:
        yield (
            "the correlation of the two pipelines' scores of a query is taken as "
            f"{USUAL_CORRELATION:g}, the median of public evaluations; the range shows 0.8 and "
            "0.2. Give correlation=, or a pilot run as candidate="
        )
    if not evaluations and known[0].is_binary:
        yield (
            "without the standard deviation of the scores they are taken as 0 and 1, which vary "
            "most; give sd= if they do not"
        )
    yield from _cluster_notes(known)
    if tests > 1:
        yield f"the level is that of {tests} tests corrected together (n_tests=)"
    shifted = [
        parts.metric.name
        for parts in known
        if parts.noise is not None and parts.noise.variance_of("run") > 0.0
    ]
    if shifted:
        yield (
            f"{', '.join(shifted)}: whole runs are shifted against each other, which no number of "
            "queries removes; compare several runs, and see variance()"
        )


def _cluster_notes(known: Sequence[Assumptions]) -> Iterator[str]:
    """How much clusters differ, and how that is known."""
    counts = [parts.clusters.sizes.size for parts in known if parts.clusters is not None]
    if not counts:
        return
    if any(math.isnan(parts.sd_difference) for parts in known):
        yield (
            "clusters are taken to differ as much in the pipelines' differences as in the "
            "baseline's scores; a pilot run as candidate= measures it"
        )
    if min(counts) < _FEW_CLUSTERS:
        yield (
            f"how much clusters differ was measured on {min(counts)} clusters only, so the plan is "
            "rough"
        )
