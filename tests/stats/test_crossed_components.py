"""Witnesses: lme4 1.1 on its own data, statsmodels' analysis of variance, dense matrices, hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats.crossed_components import as_cells, crossed_components
from rageval_report.stats.variance_components import variance_components

# With this seed no estimate of the drawn scores is negative.
SEED = 4
# Davies and Goldsmith (1972), in lme4 as Penicillin: 24 plates by 6 samples, diameters in mm.
PENICILLIN = """
27 23 26 23 23 21 27 23 26 23 23 21 25 21 25 24 24 20 26 23 25 23 23 20 25 22 26 22 23 20
24 22 25 23 22 19 24 20 23 21 22 19 26 22 26 24 24 21 24 21 24 22 22 20 24 21 24 23 22 19
26 23 26 24 24 21 25 22 26 24 24 20 26 24 26 24 25 22 26 23 26 23 23 20 26 23 25 24 24 22
25 22 25 23 23 20 25 21 24 23 23 20 25 22 24 23 23 19 24 21 23 21 21 19 26 23 26 24 24 21
25 21 24 22 22 18 25 22 25 22 22 20 24 21 24 22 24 19 24 21 24 22 21 18
"""
# Davies (1947), in lme4 as Dyestuff: 6 batches, 5 yields of each.
DYESTUFF = [
    [1545, 1440, 1440, 1520, 1580],
    [1540, 1555, 1490, 1560, 1495],
    [1595, 1550, 1605, 1510, 1560],
    [1445, 1440, 1595, 1465, 1545],
    [1595, 1630, 1515, 1635, 1625],
    [1520, 1455, 1450, 1480, 1445],
]


def penicillin():
    return np.array(PENICILLIN.split(), dtype=float).reshape(24, 6)


def variances(found):
    return {source.name: source.variance for source in found.sources}


def drawn(shape=(12, 4, 3), seed=0, missing=0):
    rng = np.random.default_rng(seed)
    n_queries, n_runs, n_judges = shape
    table = (
        rng.normal(size=(n_queries, 1, 1))
        + 0.5 * rng.normal(size=(1, n_runs, 1))
        + 0.7 * rng.normal(size=(1, 1, n_judges))
        + 0.3 * rng.normal(size=(n_queries, n_runs, 1))
        + 0.4 * rng.normal(size=(n_queries, 1, n_judges))
        + 0.2 * rng.normal(size=(1, n_runs, n_judges))
        + 0.6 * rng.normal(size=shape)
    )
    table.ravel()[rng.choice(table.size, missing, replace=False)] = np.nan
    return table


def test_crossed_plates_and_samples_as_in_lme4():
    found = crossed_components(*as_cells(penicillin()))
    # lmer(diameter ~ (1 | plate) + (1 | sample)), REML: standard deviations 0.8467, 1.9316, 0.5499.
    deviations = [math.sqrt(source.variance) for source in found.sources]
    assert deviations == pytest.approx([0.8467, 1.9316, 0.5499], abs=5e-5)
    assert found.mean == pytest.approx(22.9722, abs=5e-5)
    assert found.standard_error() == pytest.approx(0.8086, abs=5e-5)  # of the intercept, there


def test_batches_alone_as_in_lme4():
    found = crossed_components(*as_cells(DYESTUFF), sources=["query"])
    # lmer(Yield ~ (1 | Batch)), REML: variances 1764 and 2451.
    assert variances(found) == pytest.approx({"query": 1764.05, "residual": 2451.25})
    assert found.standard_error() == pytest.approx(19.38, abs=5e-3)


def test_runs_without_anything_in_common_are_the_components_of_repeats():
    table = np.random.default_rng(4).normal(size=(20, 3)) + np.arange(20)[:, None] / 5
    found = crossed_components(*as_cells(table), sources=["query"])
    repeated = variance_components(table)
    assert found.variance_of("query") == pytest.approx(repeated.between, rel=1e-12)
    assert found.variance_of("residual") == pytest.approx(repeated.within, rel=1e-12)
    error = repeated.standard_error(repeats=3)
    assert found.standard_error() == pytest.approx(error, rel=1e-12)


def test_three_factors_as_the_mean_squares_of_statsmodels_say():
    sm = pytest.importorskip("statsmodels.api")
    ols = pytest.importorskip("statsmodels.formula.api").ols
    table = drawn((30, 4, 3), seed=1)
    values, query, run, judge = as_cells(table)
    model = ols(
        "y ~ (C(q) + C(r) + C(j))**2",
        pd.DataFrame({"y": values, "q": query, "r": run, "j": judge}),
    )
    anova = sm.stats.anova_lm(model.fit())
    square = (anova["sum_sq"] / anova["df"]).to_dict()
    q, r, j = 30, 4, 3
    rest, qr, qj, rj = (
        square[name] for name in ("Residual", "C(q):C(r)", "C(q):C(j)", "C(r):C(j)")
    )
    # The expected mean squares of a complete crossing, solved for the variances by hand.
    expected = {
        "query": (square["C(q)"] - qr - qj + rest) / (r * j),
        "run": (square["C(r)"] - qr - rj + rest) / (q * j),
        "judge": (square["C(j)"] - qj - rj + rest) / (q * r),
        "query x run": (qr - rest) / j,
        "query x judge": (qj - rest) / r,
        "run x judge": (rj - rest) / q,
        "residual": rest,
    }
    assert min(expected.values()) > 0
    found = crossed_components(values, query, run, judge)
    assert variances(found) == pytest.approx(expected, rel=1e-9)


def dense_moments(cells, names):
    """The same equations with whole matrices: traces of P K P K', and y' P K P y."""
    values, *codes = (part[~np.isnan(cells[0])] for part in cells)
    codes = dict(zip(("query", "run", "judge"), codes, strict=True))
    n = len(values)
    centre = np.eye(n) - 1 / n
    kernels = []
    for name in names:
        kernel = np.eye(n)
        if name != "residual":
            same = [codes[part][:, None] == codes[part] for part in name.split(" x ")]
            kernel = np.logical_and.reduce(same).astype(float)
        kernels.append(centre @ kernel @ centre)
    matrix = [[np.trace(left @ right) for right in kernels] for left in kernels]
    return np.linalg.solve(matrix, [values @ kernel @ values for kernel in kernels])


def test_missing_cells_against_dense_matrices():
    cells = as_cells(drawn(missing=25, seed=SEED))
    found = crossed_components(*cells)
    names = [source.name for source in found.sources]
    expected = dense_moments(cells, names)
    assert expected.min() > 0  # otherwise one is read as 0, and the others differ
    assert list(variances(found).values()) == pytest.approx(expected, rel=1e-9)
    assert (found.n_scores, found.n_missing) == (119, 25)


def test_the_variance_of_the_mean_with_missing_cells_against_dense_matrices():
    cells = as_cells(drawn(missing=25, seed=SEED))
    found = crossed_components(*cells)
    kept = ~np.isnan(cells[0])
    query, run, judge = (codes[kept] for codes in cells[1:])
    sizes = np.bincount(query)
    weights = 1 / (sizes[query] * len(sizes))
    codes = {"query": query, "run": run, "judge": judge}
    covariance = found.variance_of("residual") * np.eye(len(query))
    for source in found.sources[:-1]:
        same = [codes[name][:, None] == codes[name] for name in source.factors]
        covariance += source.variance * np.logical_and.reduce(same)
    assert found.mean == pytest.approx(weights @ cells[0][kept])
    assert found.standard_error() ** 2 == pytest.approx(weights @ covariance @ weights)


def test_estimates_are_right_on_average():
    true = {"query": 1.0, "run": 0.25, "judge": 0.49, "residual": 0.36}
    found = [
        variances(crossed_components(*as_cells(drawn((10, 4, 4), seed=seed, missing=20))))
        for seed in range(400)
    ]
    for name, variance in true.items():
        values = np.array([one[name] for one in found])
        error = values.std() / math.sqrt(len(values))
        assert abs(values.mean() - variance) < 4 * error + 0.02  # negative ones are read as 0


def test_a_source_with_a_negative_estimate_is_0_and_the_others_are_estimated_without_it():
    # Each query's scores differ, but the means of the queries are equal.
    found = crossed_components(*as_cells([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]), sources=["query"])
    assert found.negative == ("query",)
    # Then all six scores are one sample; its variance is 1.0 / 5.
    assert variances(found) == {"query": 0.0, "residual": pytest.approx(0.2)}


def test_the_interval_of_a_crossing_by_hand():
    table = penicillin()
    found = crossed_components(*as_cells(table))
    plate, sample, rest = (source.variance for source in found.sources)
    parts = np.array([plate / 24, sample / 6, rest / 144])
    df = parts.sum() ** 2 / (parts**2 / [23, 5, 115]).sum()
    interval = found.interval()
    assert found.degrees_of_freedom() == pytest.approx(df)
    reach = stats.t.ppf(0.975, df) * math.sqrt(parts.sum())
    assert interval.low == pytest.approx(table.mean() - reach)
    assert interval.high == pytest.approx(table.mean() + reach)


def test_fixed_factors_do_not_count_but_their_combinations_do():
    found = crossed_components(*as_cells(drawn()))
    names = [source.name for source in found.counted(["judge"])]
    assert "judge" not in names
    assert "query x judge" in names
    assert found.standard_error(["judge"]) < found.standard_error()


def test_a_complete_design_of_the_same_size_has_the_same_standard_error():
    found = crossed_components(*as_cells(drawn()))
    again = found.standard_error_of({"query": 12, "run": 4, "judge": 3})
    assert again == pytest.approx(found.standard_error(), rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 30))
def test_order_names_shift_and_scale(seed, missing):
    values, query, run, judge = as_cells(drawn((8, 3, 3), seed=seed, missing=missing))
    try:
        found = crossed_components(values, query, run, judge)
    except DataError:
        return  # too few cells are left to tell the sources apart
    order = np.random.default_rng(seed).permutation(len(values))
    names = np.array([f"judge {code}" for code in judge], dtype=object)
    again = crossed_components(3 * values[order] + 7, query[order], run[order], names[order])
    assert again.mean == pytest.approx(3 * found.mean + 7)
    assert again.standard_error() == pytest.approx(3 * found.standard_error(), abs=1e-9)
    assert again.naive_standard_error == pytest.approx(3 * found.naive_standard_error)


def test_equal_scores_have_no_noise():
    found = crossed_components(*as_cells(np.full((5, 3), 0.1)))
    assert found.standard_error() == 0
    assert (found.interval().low, found.interval().high) == (found.mean, found.mean)
    assert math.isnan(found.degrees_of_freedom())


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[1.0], [2.0]], "at least 2 runs or 2 judges"),
        ([[1.0, 2.0]], "at least 2 queries; got 1"),
        ([1.0, 2.0], "must have the shape"),
        ([[1.0, math.inf], [1.0, 2.0]], "must be finite"),
    ],
)
def test_tables_that_show_nothing_are_refused(scores, message):
    with pytest.raises(DataError, match=message):
        crossed_components(*as_cells(scores))


def test_two_scores_of_one_cell_are_refused():
    with pytest.raises(DataError, match="query 0, run 1 and judge 0"):
        crossed_components([1, 2, 3, 4], ["a", "a", "a", "b"], [1, 2, 2, 1])


def test_runs_that_each_have_a_judge_of_their_own_are_refused():
    query = np.tile(np.arange(5), 3)
    run = np.repeat([0, 1, 2], 5)
    with pytest.raises(DataError, match=r"cannot tell run and judge apart"):
        crossed_components(np.arange(15.0), query, run, run)


def test_an_unknown_source_is_refused():
    with pytest.raises(UnknownNameError, match="no source of these scores is named 'judge'"):
        crossed_components(*as_cells(np.eye(3)), sources=["judge"])


def test_labels_are_checked():
    with pytest.raises(DataError, match="run must have one label per score, 4 in all"):
        crossed_components([1, 2, 3, 4], list("aabb"), [1, 2])
    with pytest.raises(DataError, match="run is missing for 1 scores"):
        crossed_components([1, 2, 3, 4], list("aabb"), [1, 2, None, 2])
