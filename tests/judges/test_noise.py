import math

import numpy as np
import pytest
from scipy.stats import f_oneway

from rageval_report.judges.noise import noise_frame

SCORES = [[1.0, 0.75, 1.0], [0.5, 0.5, 0.5], [0.25, 0.0, 0.5], [1.0, 1.0]]


def test_the_spread_within_queries_is_that_of_an_analysis_of_variance():
    row = noise_frame({"tone": SCORES}).iloc[0]
    # SciPy 1.17's one-way F is the mean square between groups over that within.
    counts = np.array([len(one) for one in SCORES])
    means = np.array([np.mean(one) for one in SCORES])
    grand = np.mean([score for one in SCORES for score in one])
    between = (counts * (means - grand) ** 2).sum() / (len(SCORES) - 1)
    assert row["within_query_sd"] == pytest.approx(
        math.sqrt(between / f_oneway(*SCORES).statistic), rel=1e-12
    )
    assert row["between_query_sd"] == pytest.approx(np.std(means, ddof=1))
    assert (row["n"], row["n_repeats"], row["unstable"]) == (4, 3, 0.5)


def test_queries_that_were_scored_once_say_nothing_of_noise():
    row = noise_frame({"tone": [[1.0], []]}).iloc[0]
    assert row["n"] == 0
    assert math.isnan(row["within_query_sd"])


def test_a_judge_that_agrees_with_itself_has_no_noise():
    row = noise_frame({"tone": [[1.0, 1.0], [0.5, 0.5]]}).iloc[0]
    assert (row["within_query_sd"], row["unstable"]) == (0.0, 0.0)
