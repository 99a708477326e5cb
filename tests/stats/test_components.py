"""Witnesses: Shrout & Fleiss (1979), pingouin 0.7.0, statsmodels 0.15.0, SciPy, lme4."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from scipy import stats

from rageval_report.errors import DataError
from rageval_report.stats.components import crossed_components, variance_components

# Table 2 of Shrout & Fleiss: six targets, four judges; table 3 has the mean squares.
RATINGS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float
)
# Davies and Goldsmith (1972), in lme4 as Penicillin: 24 plates by 6 samples, diameters in mm.
PENICILLIN = """
27 23 26 23 23 21 27 23 26 23 23 21 25 21 25 24 24 20 26 23 25 23 23 20 25 22 26 22 23 20
24 22 25 23 22 19 24 20 23 21 22 19 26 22 26 24 24 21 24 21 24 22 22 20 24 21 24 23 22 19
26 23 26 24 24 21 25 22 26 24 24 20 26 24 26 24 25 22 26 23 26 23 23 20 26 23 25 24 24 22
25 22 25 23 23 20 25 21 24 23 23 20 25 22 24 23 23 19 24 21 23 21 21 19 26 23 26 24 24 21
25 21 24 22 22 18 25 22 25 22 22 20 24 21 24 22 24 19 24 21 24 22 21 18
"""
# Davies (1947), in lme4 as Dyestuff: 6 batches, 5 yields of each.
DYESTUFF = [[1545, 1440, 1440, 1520, 1580], [1540, 1555, 1490, 1560, 1495]]
DYESTUFF += [[1595, 1550, 1605, 1510, 1560], [1445, 1440, 1595, 1465, 1545]]
DYESTUFF += [[1595, 1630, 1515, 1635, 1625], [1520, 1455, 1450, 1480, 1445]]


def cells(table):
    """The scores of a table of queries, runs and perhaps judges, and the codes of their cells."""
    scores = np.asarray(table, dtype=float)
    scores = scores if scores.ndim == 3 else scores[:, :, np.newaxis]
    return scores.ravel(), *(codes.ravel() for codes in np.indices(scores.shape))


def drawn(shape=(12, 4, 3), seed=0, missing=0):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=shape) * 0.6
    for axes, deviation in (((1, 2), 1.0), ((0, 2), 0.5), ((0, 1), 0.7), ((2,), 0.3), ((1,), 0.4)):
        size = [1 if axis in axes else n for axis, n in enumerate(shape)]
        table += deviation * rng.normal(size=size)
    table.ravel()[rng.choice(table.size, missing, replace=False)] = np.nan
    return table


def variances(found):
    return {source.name: source.variance for source in found.sources}


# -- repeated runs


def test_the_published_correlation_and_mean_squares_and_their_interval():
    found = variance_components(RATINGS)
    assert found.within == pytest.approx(6.26, abs=0.005)
    assert found.between * 4 + found.within == pytest.approx(11.24, abs=0.005)
    assert found.icc.estimate == pytest.approx(0.1657417684054755, rel=1e-12)
    # The quantiles of SciPy's F distribution.
    ratio = 11.241666666666667 / 6.263888888888889
    ratios = np.array([ratio / stats.f(5, 18).ppf(0.975), ratio * stats.f(18, 5).ppf(0.975)])
    assert [found.icc.low, found.icc.high] == pytest.approx((ratios - 1) / (ratios + 3), rel=1e-9)
    assert found.share_between == pytest.approx(found.between / (found.between + found.within))


def test_shifted_runs_have_the_p_value_of_statsmodels_two_way_analysis():
    api = pytest.importorskip("statsmodels.formula.api")
    anova = pytest.importorskip("statsmodels.stats.anova")
    score, query, run, _ = cells(RATINGS)
    frame = pd.DataFrame({"y": score, "query": query, "run": run})
    table = anova.anova_lm(api.ols("y ~ C(query) + C(run)", frame).fit())
    expected = table.loc["C(run)", "PR(>F)"]
    assert variance_components(RATINGS).run_effect_pvalue == pytest.approx(expected, rel=1e-9)


def test_the_noise_of_two_runs_of_yes_and_no_is_the_share_of_queries_that_changed():
    table = np.array([[1, 1]] * 14 + [[0, 1]] * 3 + [[0, 0]] * 3, float)
    found = variance_components(table).sd_within
    share = stats.binomtest(3, 20).proportion_ci()  # SciPy's is Clopper and Pearson's interval
    # Scores that differ have the variance 1/2.
    expected = [math.sqrt(share_changed / 2) for share_changed in (share.low, 0.15, share.high)]
    assert [found.low, found.estimate, found.high] == pytest.approx(expected, rel=1e-6)
    assert found.method == "gaffke"


def test_without_bounds_equal_variances_have_the_chi_square_interval_of_scipy():
    table = np.column_stack([np.arange(6), np.arange(6) + 2.0, np.arange(6) + 1.0])
    found = variance_components(table).sd_within  # every query has the variance 1
    expected = [math.sqrt(12 / stats.chi2(12).ppf(q)) for q in (0.975, 0.025)]
    assert [found.low, found.high] == pytest.approx(expected, rel=1e-9)


def test_without_bounds_unequal_variances_have_fewer_degrees_of_freedom():
    found = variance_components([[0.0, 0.0], [5.0, 5.0], [1.0, 1.0], [1.0, 5.0]]).sd_within
    # Satterthwaite, with the variances 0, 0, 0 and 8 of mean 2: twice 2**2 over 8**2 / 4 / 4.
    expected = [math.sqrt(2 * 2 / stats.chi2(2).ppf(q)) for q in (0.975, 0.025)]
    assert [found.low, found.high] == pytest.approx(expected, rel=1e-9)


def test_extremes():
    same = variance_components([[0.0, 0.0], [1.0, 1.0]])
    assert (same.within, same.icc.low, same.icc.high) == (0.0, 1.0, 1.0)
    assert math.isnan(same.run_effect_pvalue)
    opposite = variance_components([[0.0, 1.0], [1.0, 0.0]])
    assert opposite.between == 0.0
    assert opposite.icc.estimate == pytest.approx(-1.0)  # (0 - 1/2) / (0 + 1/2)
    single = variance_components([[1.0, 3.0, 5.0]])
    assert single.within == 4.0
    assert np.isnan([single.between, single.icc.estimate, single.run_effect_pvalue]).all()
    assert variance_components([[0.0, 1.0], [0.0, 1.0]]).run_effect_pvalue == 0.0


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e8])
def test_rounding_is_no_noise_on_any_scale(scale):
    table = scale * np.array([[0.3, 0.1 + 0.2], [0.7, 0.7]])
    assert variance_components(table).within == 0.0
    # A millionth of the scale is noise: (1e-6)**2 / 2 in one of two queries.
    table[1, 1] += 1e-6 * scale
    assert variance_components(table).within == pytest.approx(scale**2 * 1e-12 / 4, rel=1e-6, abs=0)


TABLES = st.integers(2, 5).flatmap(
    lambda k: st.lists(
        st.lists(st.integers(-20, 20).map(float), min_size=k, max_size=k), min_size=2, max_size=8
    )
)


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        ([[1.0], [2.0]], {}, r"at least two runs; got shape \(2, 1\)"),
        ([[1.0, float("nan")]], {}, "scored in every run"),
        ([[1.0, 1e300], [0.0, 1.0]], {}, r"scores must lie within \+-1e\+150"),
        (RATINGS, {"confidence_level": 95}, r"did you mean 0\.95"),
        (RATINGS, {"bounds": (0, 5)}, "bounds"),
    ],
)
def test_bad_tables_are_refused(scores, options, message):
    with pytest.raises(DataError, match=message):
        variance_components(scores, **options)


# -- queries, runs and judges


def test_crossed_plates_and_samples_as_in_lme4():
    table = np.array(PENICILLIN.split(), dtype=float).reshape(24, 6)
    found = crossed_components(*cells(table))
    # lmer(diameter ~ (1 | plate) + (1 | sample)), REML: standard deviations 0.8467, 1.9316, 0.5499.
    plate, sample, rest = (source.variance for source in found.sources)
    assert np.sqrt([plate, sample, rest]) == pytest.approx([0.8467, 1.9316, 0.5499], abs=5e-5)
    assert found.mean == pytest.approx(22.9722, abs=5e-5)
    assert found.standard_error() == pytest.approx(0.8086, abs=5e-5)  # of the intercept, there
    # The interval by hand, with Satterthwaite's degrees of freedom.
    parts = np.array([plate / 24, sample / 6, rest / 144])
    df = parts.sum() ** 2 / (parts**2 / [23, 5, 115]).sum()
    reach = stats.t.ppf(0.975, df) * math.sqrt(parts.sum())
    assert found.interval().high == pytest.approx(table.mean() + reach)


def test_repeats_of_batches_are_as_in_lme4():
    repeated = variance_components(DYESTUFF)
    # lmer(Yield ~ (1 | Batch)), REML: variances 1764 and 2451.
    assert (repeated.between, repeated.within) == pytest.approx((1764.05, 2451.25))
    assert repeated.standard_error(repeats=5) == pytest.approx(19.38, abs=5e-3)
    of_seven = math.sqrt((repeated.between + repeated.within / 4) / 7)  # by hand
    assert repeated.standard_error(repeats=4, n=7) == pytest.approx(of_seven)


def test_missing_cells_against_dense_matrices():
    values, *codes = cells(drawn(missing=25, seed=8))
    found = crossed_components(values, *codes)
    kept = ~np.isnan(values)
    scores, n = values[kept], int(kept.sum())
    levels = dict(zip(("query", "run", "judge"), (code[kept] for code in codes), strict=True))
    same = {name: code[:, None] == code for name, code in levels.items()}
    kernels = [
        np.logical_and.reduce([same[name] for name in source.factors]).astype(float)
        for source in found.sources[:-1]
    ] + [np.eye(n)]
    centre = np.eye(n) - 1 / n
    inner = [centre @ kernel @ centre for kernel in kernels]
    # The expectation of y' P K P y is linear in the variances: traces of P K P K'.
    matrix = [[np.trace(left @ right) for right in inner] for left in inner]
    expected = np.linalg.solve(matrix, [scores @ kernel @ scores for kernel in inner])
    assert expected.min() > 0  # otherwise one is read as 0, and the others differ
    assert list(variances(found).values()) == pytest.approx(expected, rel=1e-9)
    assert (found.n_scores, found.n_missing) == (119, 25)
    sizes = np.bincount(levels["query"])
    weights = 1 / (sizes[levels["query"]] * len(sizes))
    covariance = sum(v * kernel for v, kernel in zip(expected, kernels, strict=True))
    assert found.mean == pytest.approx(weights @ scores)
    assert found.standard_error() ** 2 == pytest.approx(weights @ covariance @ weights)


def test_a_negative_source_is_0_and_the_others_are_estimated_without_it():
    # Each query's scores differ, but the means of the queries are equal, and those of the runs.
    found = crossed_components(*cells([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]))
    assert set(found.negative) == {"query", "run"}
    # Then all six scores are one sample; its variance is 1.0 / 5.
    assert variances(found) == {"query": 0.0, "run": 0.0, "residual": pytest.approx(0.2)}


QUERIES, RUNS = np.tile(np.arange(5), 3), np.repeat([0, 1, 2], 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (cells([[1.0], [2.0]]), "at least 2 runs or 2 judges"),
        (cells([[math.nan, math.nan]]), "at least 2 queries; got 0"),
        (cells([[1.0, math.inf], [1.0, 2.0]]), "must be finite"),
        (([1, 2, 3, 4], ["a", "a", "a", "b"], [1, 2, 2, 1]), "query 0, run 1 and judge 0"),
        (
            ([1, 2, 3, 4], list("aabb"), [1, 2, None, 2]),
            "run must have a label for every score",
        ),
        ((np.arange(15.0), QUERIES, RUNS, RUNS), "cannot tell run and judge"),
    ],
)
def test_cells_that_show_nothing_are_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        crossed_components(*arguments)


def test_equal_scores_have_no_noise():
    found = crossed_components(*cells(np.full((5, 3), 0.1)))
    assert found.standard_error() == 0
    assert found.interval().low == found.interval().high == found.mean
    assert math.isnan(found.degrees_of_freedom())
