"""The number of threads moves no bit of a comparison or its slices."""

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.errors import DataError


def runs_of(n, seed):
    """Two runs with metrics of all kinds, and scores missing on either side."""
    rng = np.random.default_rng(seed)
    sides = []
    for name in ("a", "b"):
        scores = {
            "hit": (rng.random(n) < 0.7).astype(float),
            "rating": rng.integers(1, 6, n).astype(float),
            "mrr": 1 / np.minimum(rng.geometric(0.4, n), 10),
            "faithfulness": rng.beta(8, 2, n),
            "sparse": np.where(rng.random(n) < 0.1, rng.random(n), 0.5),
            "latency_ms": rng.lognormal(size=n),
        }
        for column in scores.values():
            column[rng.random(n) < 0.05] = np.nan
        ids = {"query_id": [f"q{i}" for i in range(n)], "topic": [f"t{i % 4}" for i in range(n)]}
        sides.append(RAGPipelineEvaluation(name, ids | scores, metrics=list(scores)))
    return sides


@pytest.mark.parametrize("n", [30, 200, 3000])
@pytest.mark.parametrize("options", [{}, {"test": "t"}, {"test": "bootstrap", "n_resamples": 99}])
def test_two_threads_give_the_bits_of_one(n, options):
    runs = runs_of(n, n)
    one, two = (compare(*runs, n_jobs=jobs, **options) for jobs in (1, 2))
    pd.testing.assert_frame_equal(one.frame, two.frame, check_exact=True)
    assert (one.notes, one.settings) == (two.notes, two.settings)
    tables = (comparison.slices("topic").frame for comparison in (one, two))
    pd.testing.assert_frame_equal(*tables, check_exact=True)


def test_clusters_and_margins_are_computed_in_threads_too():
    runs = runs_of(300, 1)
    labels = {f"q{i}": f"d{i // 5}" for i in range(300)}
    one, two = (compare(*runs, clusters=labels, margin=0.1, n_jobs=jobs).frame for jobs in (1, 3))
    pd.testing.assert_frame_equal(one, two, check_exact=True)


@pytest.mark.parametrize("n_jobs", [0, -1, 1.5, "two"])
def test_a_number_of_threads_below_one_is_refused(n_jobs):
    with pytest.raises(DataError, match="n_jobs"):
        compare(*runs_of(10, 0), n_jobs=n_jobs)
