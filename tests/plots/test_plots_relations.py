"""Scatter plots and correlations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from scipy import stats

from rageval_report.errors import DataError
from rageval_report.plots import plot
from rageval_report.plots.canvas import BETTER, EQUAL, WORSE
from rageval_report.plots.relations import rank_correlations

NAN = float("nan")


def clouds(ax) -> dict[str, np.ndarray]:
    """The places of the dots by hue."""
    return {to_hex(c.get_facecolor()[0]): c.get_offsets().data for c in ax.collections}


def test_each_query_with_both_scores_is_a_dot(bm25, texts):
    ax = plot(bm25, "scatter", "faithfulness", "latency_ms")
    (dots,) = ax.collections
    expected = [[0.1, 100], [0.25, 200], [0.4, 300], [0.55, 400], [0.7, 500], [0.85, 600]]
    np.testing.assert_allclose(dots.get_offsets(), expected)
    assert "n = 6 of 8 scored" in texts(ax)


def test_the_correlation_of_a_scatter_is_told(bm25, texts):
    told = texts(plot(bm25, "scatter", "faithfulness", "latency_ms"))
    assert "Spearman correlation +1.000" in told


def test_places_that_queries_share_are_one_dot_of_their_area(bm25):
    (dots,) = plot(bm25, "scatter", "recall@5", "exact_match").collections
    areas = dict(zip(map(tuple, dots.get_offsets().data), dots.get_sizes(), strict=True))
    assert areas[0.5, 0.0] == pytest.approx(3 * areas[0.0, 0.0])  # q1, q2, q5 against q4


def test_two_metrics_need_no_names(pipeline):
    both = pipeline("bm25", {"a": [0.1, 0.2], "b": [0.3, 0.4]})
    assert plot(both, "scatter").get_xlabel().startswith("A ")


def test_one_metric_is_not_enough(bm25):
    with pytest.raises(DataError, match="needs two metrics"):
        plot(bm25, "scatter", "recall@5")


def test_no_query_with_both_scores_is_an_error(pipeline):
    apart = pipeline("bm25", {"a": [0.1, NAN], "b": [NAN, 0.4]})
    with pytest.raises(DataError, match="no query is scored on both 'a' and 'b'"):
        plot(apart, "scatter")


def test_two_pipelines_are_parted_into_better_worse_equal(bm25, hyde, texts):
    ax = plot(bm25, "scatter", "faithfulness", other=hyde)
    found = clouds(ax)
    np.testing.assert_allclose(found[BETTER.lower()], [[0.1, 0.2], [0.55, 0.75], [0.7, 0.9]])
    np.testing.assert_allclose(found[WORSE.lower()], [[0.4, 0.3]])
    np.testing.assert_allclose(found[EQUAL.lower()], [[0.25, 0.25]])
    told = texts(ax)
    assert all(words in told for words in ("better: 3", "worse: 1", "equal: 1"))


def test_where_lower_is_better_the_lower_half_is_better(bm25, hyde):
    found = clouds(plot(bm25, "scatter", "latency_ms", other=hyde))
    assert (found[BETTER.lower()][:, 1] < found[BETTER.lower()][:, 0]).all()
    assert len(found[BETTER.lower()]) == 7


def test_pipelines_are_paired_by_id_not_by_place(bm25, hyde):
    rows = hyde.scores.reset_index().iloc[::-1]
    turned = type(hyde)("hyde", rows)
    straight = clouds(plot(bm25, "scatter", "faithfulness", other=hyde))
    back = clouds(plot(bm25, "scatter", "faithfulness", other=turned))
    for hue, places in straight.items():
        np.testing.assert_allclose(places, back[hue])


def test_the_axes_of_two_pipelines_are_alike(bm25, hyde):
    ax = plot(bm25, "scatter", "latency_ms", other=hyde)
    assert ax.get_xlim() == ax.get_ylim()


def test_correlations_are_those_of_scipy(many):
    # second witness: scipy.stats.spearmanr, SciPy 1.17, on the complete rows of each pair
    scores = many("one", 60, 12, 1).scores.copy()
    scores.iloc[3:9, 1] = np.nan
    values, counts = rank_correlations(scores)
    for row in range(12):
        for column in range(row):
            pair = scores.iloc[:, [row, column]].dropna()
            theirs = stats.spearmanr(pair.iloc[:, 0], pair.iloc[:, 1]).statistic
            assert values[row, column] == pytest.approx(theirs, abs=1e-12)
            assert counts[row, column] == len(pair)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=30))
@settings(max_examples=60)
def test_a_correlation_does_not_move_with_a_rising_transformation(pairs):
    frame = pd.DataFrame(pairs, columns=["a", "b"], dtype=float)
    bent = frame.assign(a=np.exp(frame["a"]), b=frame["b"] ** 3)
    np.testing.assert_allclose(rank_correlations(frame)[0], rank_correlations(bent)[0])


def test_the_printed_correlations_are_the_lower_triangle(bm25, texts):
    ax = plot(bm25, "correlation")
    numbers = [t.get_text() for t in ax.texts if t.get_text()[-3:-2] == "." or t.get_text() == "–"]
    assert len(numbers) == 4 * 3 / 2
    assert "n = 6 to 8 of 8 scored on both" in texts(ax).replace("\n", " ")


def test_a_correlation_that_rounds_to_zero_has_no_sign(pipeline):
    n = 101
    flat = {"a": np.arange(n, dtype=float) + 0.5, "b": np.abs(np.arange(n) - 50.0)}
    flat["b"][-1] -= 1e-3
    assert "0.00" in [text.get_text() for text in plot(pipeline("x", flat), "correlation").texts]


def test_the_colours_are_centred_on_zero(bm25):
    (cells,) = [c for c in plot(bm25, "correlation").collections if c.get_array() is not None]
    assert cells.get_clim() == (-1, 1)


def test_a_constant_metric_has_a_dash(bm25, pipeline):
    flat = pipeline("bm25", {"a": [0.1, 0.2, 0.3], "b": [0.5, 0.5, 0.5]})
    assert "–" in [text.get_text() for text in plot(flat, "correlation").texts]


def test_one_metric_has_no_correlations(bm25):
    with pytest.raises(DataError, match="at least two metrics"):
        plot(bm25, "correlation", ["recall@5"])


def test_correlations_of_nothing_are_an_error(pipeline):
    empty = pipeline("bm25", {"a": [NAN, NAN], "b": [NAN, NAN]}, metrics=["a", "b"])
    with pytest.raises(DataError, match="nothing to draw"):
        plot(empty, "correlation")
