"""The number of threads moves no bit of a comparison, its slices or a ranking."""

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare, rank
from rageval_report.analysis.ranking import ranked_columns
from rageval_report.errors import DataError
from rageval_report.stats import threads


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
    with pytest.raises(DataError, match="n_jobs"):
        rank(*runs_of(10, 0), n_jobs=n_jobs)


@pytest.mark.parametrize("n", [30, 300])
@pytest.mark.parametrize("options", [{}, {"test": "t"}, {"correction": "westfall-young"}])
def test_two_threads_rank_as_one_does(n, options):
    runs = [*runs_of(n, n), RAGPipelineEvaluation("c", runs_of(n, 7)[0].data)]
    one, two = (rank(*runs, n_jobs=jobs, n_resamples=99, **options) for jobs in (1, 2))
    pd.testing.assert_frame_equal(one.frame, two.frame, check_exact=True)
    assert (one.notes, one.settings) == (two.notes, two.settings)
    pd.testing.assert_frame_equal(one.pairs.frame, two.pairs.frame, check_exact=True)


@pytest.fixture
def started(monkeypatch):
    """The sizes of the pools of threads that are started."""
    sizes = []

    class Pool(threads.ThreadPoolExecutor):
        def __init__(self, size, **options):
            sizes.append(size)
            super().__init__(size, **options)

    monkeypatch.setattr(threads, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(threads, "available_cores", lambda: 2)
    return sizes


def test_small_work_starts_no_thread(started):
    runs = runs_of(3000, 0)
    comparison = compare(*runs)
    comparison.slices("topic")
    rank(*runs)
    assert not started


def test_large_work_starts_as_many_threads_as_there_are_cores(started, monkeypatch):
    # What counts as large, made small.
    monkeypatch.setattr(threads, "FEWEST_PAIRS", 1000)
    monkeypatch.setattr(threads, "_SECONDS_PER_PAIR", 1e-3)
    monkeypatch.setattr(ranked_columns, "FEWEST_PAIRS", 1000)
    runs = runs_of(3000, 0)
    by_default, alone = compare(*runs), compare(*runs, n_jobs=1)
    assert set(started) == {2}
    pd.testing.assert_frame_equal(by_default.frame, alone.frame, check_exact=True)
    started.clear()
    by_default, alone = rank(*runs), rank(*runs, n_jobs=1)
    assert set(started) == {2}
    pd.testing.assert_frame_equal(by_default.frame, alone.frame, check_exact=True)
    started.clear()
    compare(*runs, n_jobs=1).slices("topic")  # 750 queries in each group
    assert not started


def test_groups_start_the_wanted_threads_only_if_one_is_large(started, monkeypatch):
    comparison = compare(*runs_of(3000, 0), n_jobs=2)
    started.clear()
    alone = comparison.slices("topic")  # 750 queries in each group
    assert not started
    monkeypatch.setattr(threads, "FEWEST_PAIRS", 750)
    in_threads = comparison.slices("topic")
    assert set(started) == {2}
    pd.testing.assert_frame_equal(alone.frame, in_threads.frame, check_exact=True)
