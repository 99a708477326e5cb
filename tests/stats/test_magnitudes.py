"""Scores of up to 1e300 have finite results: those of the same scores divided by a power of two."""

import math

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare, rank
from rageval_report.analysis.agreement.correlations import correlation
from rageval_report.stats import (
    EFFECTS,
    INTERVALS,
    PAIRED_INTERVALS,
    TESTS,
    equivalence_test,
    friedman_test,
    heterogeneity_test,
    mean_interval,
    paired_interval,
    paired_test,
)
from rageval_report.stats.clusters import clustered_interval, clustered_standard_error
from rageval_report.stats.magnitudes import unit_of
from rageval_report.stats.maxt import westfall_young
from rageval_report.stats.means.moments import moments
from rageval_report.stats.pairs.paired_scores import PairedScores

HUGE, TINY = 2.0**994, 2.0**-994  # 1.7e299 and 6e-300
OF_SHARES = {"bonett-price", "newcombe", "tango"}
WITHOUT_SHARES = sorted(set(PAIRED_INTERVALS) - OF_SHARES)
KINDS = ["normal", "steps"]


def sides(kind):
    rng = np.random.default_rng(3)
    if kind == "normal":
        return rng.normal(size=(2, 30)) + np.array([[0.0], [0.4]])
    return rng.integers(0, 6, (2, 30)) + np.array([[0.0], [1.0]])


def limits(interval):
    return np.array([interval.estimate, interval.low, interval.high, interval.standard_error])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [HUGE, TINY])
@pytest.mark.parametrize("method", ["auto", "t", "studentised", "percentile", "bca"])
def test_a_mean_and_its_interval(method, factor, kind):
    scores = sides(kind)[0]
    here, there = (mean_interval(each, method=method) for each in (scores, scores * factor))
    assert (limits(there) == limits(here) * factor).all()
    assert there.method == here.method
    assert moments(scores * factor).std == moments(scores).std * factor


@pytest.mark.parametrize("factor", [HUGE, TINY])
def test_an_interval_within_bounds(factor):
    scores = np.array([0.25, 0.5, 1.0, 0.75, 0.0, 1.0, 0.5])
    assert "gaffke" in INTERVALS
    here = mean_interval(scores, bounds=(0.0, 1.0))
    there = mean_interval(scores * factor, bounds=(0.0, factor))
    assert there.method == here.method == "gaffke"
    assert limits(there) == pytest.approx(limits(here) * factor, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("test", ["auto", "t", "wilcoxon", "sign", "sign-flip", "bootstrap"])
def test_a_test_of_huge_scores(test, kind):
    baseline, candidate = sides(kind)
    here = paired_test(baseline, candidate, test=test, n_resamples=99)
    there = paired_test(baseline * HUGE, candidate * HUGE, test=test, n_resamples=99)
    assert there.pvalue == pytest.approx(here.pvalue, rel=1e-9)
    assert (there.test, there.wins, there.losses) == (here.test, here.wins, here.losses)
    assert there.difference == here.difference * HUGE
    unit = HUGE if TESTS[here.test].statistic == "mean difference" else 1.0
    assert there.statistic == pytest.approx(here.statistic * unit)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("clusters", [None, np.arange(30) // 3, np.arange(30) ** 2 // 90])
@pytest.mark.parametrize("method", WITHOUT_SHARES)
def test_an_interval_of_huge_differences(method, clusters, kind):
    baseline, candidate = sides(kind)
    if clusters is not None and method not in {"sign-flip", "t"}:
        clusters = None
    options = {"method": method, "clusters": clusters, "n_resamples": 99}
    here = paired_interval(baseline, candidate, **options)
    there = paired_interval(baseline * HUGE, candidate * HUGE, **options)
    assert limits(there) == pytest.approx(limits(here) * HUGE, rel=1e-9)


@pytest.mark.parametrize("method", ["auto", "t", "sign-flip", "strict"])
def test_equivalence_of_huge_scores(method):
    baseline, candidate = sides("normal")
    options = {"method": method, "bounds": (-8.0, 8.0)}
    here = equivalence_test(baseline, candidate, 2.0, **options)
    options["bounds"] = (-8.0 * HUGE, 8.0 * HUGE)
    there = equivalence_test(baseline * HUGE, candidate * HUGE, 2.0 * HUGE, **options)
    assert there.pvalue == pytest.approx(here.pvalue, rel=1e-9)
    assert (there.equivalent, there.margin) == (here.equivalent, 2.0 * HUGE)
    found, expected = (np.array([each.low, each.high, each.difference]) for each in (there, here))
    assert found == pytest.approx(expected * HUGE, rel=1e-9)


@pytest.mark.parametrize("name", sorted(set(EFFECTS) - {"risk_difference", "odds_ratio"}))
def test_an_effect_size_has_no_unit(name):
    baseline, candidate = sides("normal")
    here = EFFECTS[name](PairedScores.of(baseline, candidate))
    there = EFFECTS[name](PairedScores.of(baseline * HUGE, candidate * HUGE))
    assert there == pytest.approx(here, rel=1e-12)


@pytest.mark.parametrize("factor", [HUGE, TINY])
@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_a_correlation_has_no_unit(kind, factor):
    judge, people = sides("normal")
    here, there = correlation(judge, people, kind), correlation(judge * factor, people, kind)
    assert limits(there) == pytest.approx(limits(here), rel=1e-12)


def test_pearsons_correlation_is_numpys():
    judge, people = sides("normal")
    expected = np.corrcoef(judge, people)[0, 1]  # numpy 2.3
    assert correlation(judge, people).estimate == pytest.approx(expected, rel=1e-12)


def test_clusters_groups_ranks_and_many_metrics():
    baseline, candidate = sides("normal")
    differences, labels = candidate - baseline, np.arange(30) // 4
    here, there = (clustered_interval(each, labels) for each in (differences, differences * HUGE))
    assert limits(there) == pytest.approx(limits(here) * HUGE, rel=1e-12)
    error = clustered_standard_error(differences * HUGE, labels)
    assert error.design_effect == clustered_standard_error(differences, labels).design_effect
    groups = differences[:12], differences[12:]
    huge = heterogeneity_test([group * HUGE for group in groups])
    assert huge.pvalue == pytest.approx(heterogeneity_test(groups).pvalue, rel=1e-9)
    matrix = np.column_stack([differences, baseline])
    units = np.array([HUGE, 1.0])
    here, there = (westfall_young(each, n_resamples=99) for each in (matrix, matrix * units))
    assert (here == there).all()
    sides_of = np.column_stack([baseline, candidate])
    assert friedman_test(sides_of * HUGE).pvalue == friedman_test(sides_of).pvalue


def runs(factor):
    ids = [f"q{i}" for i in range(30)]
    details = {"query_id": ids, "topic": ["x", "y"] * 15}
    metrics = {"my_number": {"kind": "real"}}
    return [
        RAGPipelineEvaluation(name, {**details, "my_number": side * factor}, metrics=metrics)
        for name, side in zip("ab", sides("normal"), strict=True)
    ]


@pytest.mark.parametrize(
    "table",
    [
        lambda a, _: a.evaluation_report(),
        lambda a, b: compare(a, b),
        lambda a, b: compare(a, b, correction="westfall-young", n_resamples=99),
        lambda a, b: compare(a, b).slices("topic"),
        lambda a, b: rank(a, b).pairs,
    ],
)
def test_tables_of_huge_scores_are_finite_where_those_of_usual_scores_are(table):
    here, there = (table(*runs(factor)) for factor in (1.0, HUGE))
    numbers = here.frame.select_dtypes("number").columns
    assert len(numbers) > 4
    found, expected = there.frame[numbers].to_numpy(), here.frame[numbers].to_numpy()
    assert (np.isfinite(found) == np.isfinite(expected)).all()
    with np.errstate(over="ignore"):
        as_it_is = np.isclose(found, expected, rtol=1e-9, atol=0.0, equal_nan=True)
        scaled = np.isclose(found / HUGE, expected, rtol=1e-9, atol=0.0, equal_nan=True)
    assert (as_it_is | scaled).all(), pd.DataFrame(found, columns=numbers).to_string()
    assert str(there)


def test_tiny_scores_have_a_spread_and_their_differences_are_rounding():
    a, b = runs(TINY)
    assert a.evaluation_report().frame["std"].iloc[0] == pytest.approx(6e-300, rel=0.5)
    row = compare(a, b).frame.iloc[0]
    assert (row["difference"], row["pvalue"]) == (0.0, 1.0)


def test_the_unit_is_a_power_of_two_that_usual_scores_do_not_need():
    assert unit_of(np.array([0.0, 1e-60, 1e60])) == unit_of(np.zeros(3)) == unit_of() == 1.0
    assert unit_of(np.array([np.nan, 3.0 * HUGE, -1.0])) == 2.0 * HUGE
    assert unit_of(np.array([TINY, -3.0 * TINY])) == 2.0 * TINY
    assert math.frexp(unit_of(1e300))[0] == 0.5
