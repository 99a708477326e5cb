"""The leaderboard; witnesses: compare(), statsmodels 0.15, SciPy 1.17, published letters."""

from __future__ import annotations

import itertools
import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from rageval_report import RAGPipelineEvaluation, compare, rank
from rageval_report.analysis.rank import groups_of, letters_of
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats import mean_interval
from rageval_report.stats.units import clustered_interval


def row_of(ranking, metric, pipeline):
    frame = ranking.frame
    return frame[(frame["metric"] == metric) & (frame["pipeline"] == pipeline)].iloc[0]


def test_a_small_ranking_worked_out_by_hand(three):
    ranking = rank(*three)
    recall = ranking.of("recall")
    assert recall["pipeline"].tolist() == ["hybrid", "dense", "bm25"]
    assert recall["rank"].tolist() == [1, 2, 3]
    assert recall["letters"].tolist() == ["a", "a", "b"]
    assert recall["standing"].tolist() == ["best", "may be best", "worse"]
    assert recall["is_best"].tolist() == [True, False, False]
    assert recall["beats"].tolist() == [1, 1, 0]
    assert recall["beaten_by"].tolist() == [0, 0, 2]
    assert recall["mean"].tolist() == pytest.approx([0.538, 0.532, 0.492])


def test_pvalues_of_pairs_are_those_of_compare_and_holm_runs_over_all_of_them(noisy):
    noisy = noisy[:3]
    ranking = rank(*noisy, metrics=["exact_match", "latency_ms"], n_resamples=99)
    table = ranking.pairs.frame
    for _, row in table.iterrows():
        two = [run for run in noisy if run.name in (row["baseline"], row["candidate"])]
        told = compare(*two, metrics=row["metric"]).frame.iloc[0]
        for name in ("n", "difference", "ci_low", "ci_high", "wins", "ties", "losses", "test"):
            assert row[name] == pytest.approx(told[name]), name
        assert row["pvalue"] == pytest.approx(told["pvalue"], rel=1e-9)
    # Quality is one family, latency another.
    for _, family in table.groupby("metric"):
        holm = multipletests(family["pvalue"], method="holm")[1]
        np.testing.assert_allclose(family["pvalue_adjusted"], holm, rtol=1e-12)
    assert ranking.settings["family_size"] == 3


def test_means_and_intervals_stand_on_the_queries_that_all_scored(noisy):
    ranking = rank(*noisy, n_resamples=99)
    every = pd.concat({run.name: run.scores["faithfulness"] for run in noisy}, axis=1)
    complete = every.dropna()
    assert 0 < len(complete) < 60
    for name, column in complete.items():
        row = row_of(ranking, "faithfulness", name)
        told = mean_interval(column, bounds=(0, 1))
        assert (row["n"], row["n_unscored"]) == (len(complete), every[name].isna().sum())
        assert (row["mean"], row["ci_low"], row["ci_high"]) == pytest.approx(
            (told.estimate, told.low, told.high)
        )
    assert any(f"{60 - len(complete)} of 60 shared queries" in note for note in ranking.notes)


def test_the_order_in_which_pipelines_are_handed_in_moves_nothing(noisy):
    keys = ["metric", "pipeline"]
    there, back = rank(*noisy, n_resamples=99), rank(*noisy[::-1], n_resamples=99)
    numbers = ["rank", "mean", "ci_low", "ci_high", "beats"]
    one, other = (made.frame.set_index(keys).sort_index() for made in (there, back))
    np.testing.assert_allclose(one[numbers].astype(float), other[numbers].astype(float))


def test_a_pipeline_without_any_score_is_not_ranked_and_empties_nothing(runs_of):
    nothing = [float("nan")] * 8
    runs = runs_of(
        a={"recall": [0.5, 1] * 4, "f1": [0.5] * 8},
        b={"recall": [1.0] * 8, "f1": [0.5] * 8},
        c={"recall": nothing, "f1": [1.0] * 8},
    )
    ranking = rank(*runs, metrics="recall")
    assert ranking.frame["pipeline"].tolist() == ["b", "a", "c"]
    last = row_of(ranking, "recall", "c")
    assert (np.isnan(last["rank"]), last["n"], last["standing"]) == (True, 0, "not ranked")
    assert any("not scored at all by c" in note for note in ranking.notes)


def test_a_metric_that_no_query_has_of_all_is_not_ranked(runs_of):
    nan = float("nan")
    runs = runs_of(a={"f1": [1.0, nan], "mrr": [1, 1]}, b={"f1": [nan, 1.0], "mrr": [0, 1]})
    ranking = rank(*runs)
    assert ranking.of("f1")["standing"].tolist() == ["not ranked", "not ranked"]
    assert ranking.groups("f1") == []
    assert any("f1: 2 of 2 shared queries are left out" in note for note in ranking.notes)


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"runs": 1}, DataError, "rank needs at least two pipelines; got only 'bm25'"),
        ({"runs": 0}, DataError, "rank needs at least two pipelines; got none"),
        ({"metrics": "recal"}, UnknownNameError, "Did you mean 'recall'"),
        ({"correction": "hom"}, UnknownNameError, "Did you mean 'holm'"),
        ({"missing": "wurst"}, UnknownNameError, "Did you mean 'worst'"),
        ({"confidence_level": 95}, DataError, "did you mean 0.95"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(three, change, error, told):
    runs = three[: change.pop("runs", 3)]
    with pytest.raises(error, match=told):
        rank(*runs, **change)


def test_nine_real_pipelines_are_ranked_as_their_authors_reported(real_data):
    folder = real_data("haystack_aragog")
    runs, reported = [], {}
    for path in sorted(folder.glob("detailed_*.csv")):
        name = path.stem.removeprefix("detailed_")
        runs.append(RAGPipelineEvaluation.load(name, path))
        report = pd.read_csv(folder / f"score_report_{name}.csv")
        reported[name] = dict(zip(report["metrics"], report["score"], strict=True))
    ranking = rank(*runs)
    assert len(ranking.frame) == 27
    assert ranking.settings["family_size"] == 108
    for name, scores in reported.items():
        for metric in ("context_relevance", "sas"):
            assert row_of(ranking, metric, name)["mean"] == pytest.approx(scores[metric], abs=1e-6)
    best = max(reported, key=lambda name: reported[name]["sas"])
    assert ranking.best("semantic_answer_similarity") == (best,)
    worst = min(reported, key=lambda name: reported[name]["sas"])
    assert row_of(ranking, "sas", worst)["standing"] == "worse"
    letters = {(r["metric"], r["pipeline"]): {*r["letters"]} for _, r in ranking.frame.iterrows()}
    for metric, pairs in ranking.tests.items():
        shown = pairs.pvalue_adjusted <= 0.05
        for place, (one, other) in enumerate(combinations(reported, 2)):
            apart = not letters[metric, one] & letters[metric, other]
            assert apart == shown[place]


def test_a_mean_without_limits_is_shown_without_them():
    scores = {"query_id": ["a", "b"], "recall": [0.3, 0.5], "mrr": [0.2, 0.4]}
    old = RAGPipelineEvaluation("old", scores)
    new = RAGPipelineEvaluation("new", {**scores, "recall": [0.4, None], "mrr": [None, None]})
    ranking = rank(old, new, clusters={"a": "one", "b": "two"})
    assert "nan" not in ranking.to_markdown()
    assert "new has the best recall (mean 0.400, 1 query in 1 cluster)" in ranking.to_markdown()
    assert any("not scored at all by new, which is not ranked" in note for note in ranking.notes)


def matrix_of(names, differing):
    """Whether a difference is shown, from the pairs that differ."""
    square = np.zeros((len(names), len(names)), dtype=bool)
    for one, other in differing:
        i, j = names.index(one), names.index(other)
        square[i, j] = square[j, i] = True
    return square


def test_the_example_of_gramm_and_others_2007_figure_2():
    # Treatments 1 to 5, H = {{1,5}, {2,3}, {2,5}, {3,5}}; the cliques of the rest.
    apart = matrix_of([1, 2, 3, 4, 5], [(1, 5), (2, 3), (2, 5), (3, 5)])
    assert groups_of(apart) == [(0, 1, 3), (0, 2, 3), (3, 4)]
    assert letters_of(apart) == ["ab", "a", "b", "abc", "c"]


def test_the_feeds_of_chickwts_as_the_r_package_cld_shows_them():
    # pairwise.wilcox.test(chickwts$weight, chickwts$feed), Holm; the guide of the R package cld.
    shown = {
        "casein": "a",
        "horsebean": "b",
        "linseed": "bc",
        "meatmeal": "ac",
        "soybean": "c",
        "sunflower": "a",
    }
    names = list(shown)
    pairs = combinations(names, 2)
    differing = [(one, other) for one, other in pairs if not {*shown[one]} & {*shown[other]}]
    assert len(differing) == 8
    assert dict(zip(names, letters_of(matrix_of(names, differing)), strict=True)) == shown


def run(name, scores, state="not applicable"):
    data = {
        "query_id": [f"q{n}" for n in range(len(scores))],
        "recall": scores,
        "recall_state": ["missing" if not math.isnan(x) else state for x in scores],
    }
    return RAGPipelineEvaluation(name, data)


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
    assert weighted.frame["pvalue"].iloc[1] == pytest.approx(expected["pvalue"])
    assert any("9 clusters" in note for note in weighted.notes)


def test_five_clusters_distinguish_nothing():
    five = {f"q{i}": i // SIZE % 5 for i in range(N * SIZE)}
    ranking = rank(*runs(gain=0.15), clusters=five)
    assert set(ranking.frame["letters"]) == {"a"}
    assert ranking.pairs.frame[["pvalue", "ci_low", "ci_high"]].isna().all(axis=None)
    assert any("too few clusters for a test: 5" in note for note in ranking.notes)
    assert ranking.settings["family_size"] == 0
    assert ranking.settings["clusters"] == "given"
