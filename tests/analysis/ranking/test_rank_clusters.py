"""Rankings of clustered queries. Witnesses: compare(), enumeration, statistics of the sums."""

import itertools

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, compare, rank
from rageval_report.stats.units import clustered_interval

N, SIZE = 9, 5
DOCUMENTS = np.repeat(np.arange(N), SIZE)


def runs(seed=0, n_runs=3, gain=0.05):
    rng = np.random.default_rng(seed)
    base = rng.uniform(0.3, 0.6, N * SIZE)
    pipelines = []
    for place in range(n_runs):
        gains = place * gain + rng.normal(0, 0.06, N)[DOCUMENTS] + rng.normal(0, 0.03, N * SIZE)
        data = {"query_id": [f"q{i}" for i in range(N * SIZE)], "recall": base + gains}
        data["document"] = [f"d{number}" for number in DOCUMENTS]
        pipelines.append(RAGPipelineEvaluation(f"p{place}", data))
    return pipelines


def test_every_pair_has_the_test_and_the_interval_of_compare():
    pipelines = runs()
    pairs = rank(*pipelines, clusters="document", correction="none").pairs.frame
    for (before, after), (_, row) in zip(
        itertools.combinations(pipelines, 2), pairs.iterrows(), strict=True
    ):
        expected = compare(before, after, clusters="document").frame.iloc[0]
        names = ["n", "difference", "ci_low", "ci_high", "pvalue", "min_detectable_difference"]
        assert row[names].tolist() == pytest.approx(expected[names].tolist(), rel=1e-9)


def test_westfall_young_flips_the_sums_of_clusters():
    pipelines = runs(1)
    ranking = rank(*pipelines, clusters="document", correction="westfall-young", n_resamples=20_000)
    sums = np.column_stack(
        [run.scores["recall"].to_numpy().reshape(N, SIZE).sum(axis=1) for run in pipelines]
    )
    differences = np.column_stack([sums[:, j] - sums[:, i] for i, j in ((0, 1), (0, 2), (1, 2))])
    signs = np.array(list(itertools.product([1, -1], repeat=N)))
    scale = np.sqrt((differences**2).sum(axis=0))
    flipped, observed = np.abs(signs @ differences) / scale, np.abs(differences.sum(axis=0)) / scale
    order, last, expected = np.argsort(-observed), 0.0, np.empty(3)
    for place, column in enumerate(order):
        share = np.mean(flipped[:, order[place:]].max(axis=1) >= observed[column] - 1e-9)
        expected[column] = last = max(last, share)
    frame = ranking.pairs.frame
    assert frame["pvalue_adjusted"].tolist() == pytest.approx(expected.tolist(), abs=0.015)
    assert (frame["pvalue_adjusted"] >= frame["pvalue"]).all()


def test_the_intervals_of_the_means_are_those_of_clusters():
    pipelines = runs(2)
    frame = rank(*pipelines, clusters="document").frame.set_index("pipeline")
    for run in pipelines:
        expected = clustered_interval(run.scores["recall"], DOCUMENTS, bounds=(0, 1))
        row = frame.loc[run.name]
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((expected.low, expected.high))
    assert "45 queries in 9 clusters" in frame["verdict"].dropna().iloc[0]


def test_the_weighted_score_is_tested_by_cluster():
    pipelines = runs(4, 2)
    ranking = rank(*pipelines, clusters="document", n_resamples=999)
    weighted = ranking.weighted({"recall": 1.0})
    expected = compare(*pipelines, clusters="document").frame.iloc[0]
    row = weighted.pairs.frame.iloc[0]
    assert row["pvalue"] == pytest.approx(expected["pvalue"])
    assert row["n"] == N
    assert "9 clusters" in row["verdict"]
    assert any("cluster by cluster" in note for note in weighted.notes)


def test_five_clusters_distinguish_nothing():
    five = {f"q{i}": i // SIZE % 5 for i in range(N * SIZE)}
    ranking = rank(*runs(gain=0.15), clusters=five)
    assert set(ranking.frame["letters"]) == {"a"}
    assert ranking.pairs.frame[["pvalue", "ci_low", "ci_high"]].isna().all(axis=None)
    assert any("too few clusters for a test: 5" in note for note in ranking.notes)
    assert ranking.settings["family_size"] == 0
    assert ranking.settings["clusters"] == "given"
