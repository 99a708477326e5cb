"""The leaderboard; witnesses: compare(), statsmodels 0.15, SciPy 1.17, published letters."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from rageval_report import RAGPipelineEvaluation, compare, rank
from rageval_report.analysis.rank import groups_of, letters_of
from rageval_report.errors import AlignmentError, DataError, UnknownNameError
from rageval_report.stats import mean_interval


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
    assert recall["wins"].tolist() == [2, 0, 0]
    assert recall["average_rank"].tolist() == [1.4, 1.6, 3.0]  # eight ties at 1.5, two at 1 and 2
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


def test_letters_say_what_the_pairs_say(noisy):
    ranking = rank(*noisy, metrics="exact_match")
    letters = {(r["metric"], r["pipeline"]): {*r["letters"]} for _, r in ranking.frame.iterrows()}
    for _, row in ranking.pairs.frame.iterrows():
        one, other = (letters[row["metric"], row[side]] for side in ("baseline", "candidate"))
        assert bool(one & other) != row["is_shown"]


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
    assert any(f"{60 - len(complete)} of 60 common queries" in note for note in ranking.notes)


def test_average_ranks_are_those_of_scipy(noisy):
    ranking = rank(*noisy, metrics="exact_match")
    scores = np.column_stack([run.scores["exact_match"] for run in noisy])
    told = scipy.stats.rankdata(-scores, axis=1).mean(axis=0)
    found = ranking.frame.set_index("pipeline").loc[[run.name for run in noisy], "average_rank"]
    np.testing.assert_allclose(found, told)


def test_friedman_is_that_of_scipy(noisy):
    table = rank(*noisy, n_resamples=99).friedman.frame.set_index("metric")
    scores = [run.scores["latency_ms"] for run in noisy]
    told = scipy.stats.friedmanchisquare(*scores)
    assert table.loc["latency_ms", "statistic"] == pytest.approx(told.statistic)
    assert table.loc["latency_ms", "pvalue"] == pytest.approx(told.pvalue)


def test_the_order_in_which_pipelines_are_handed_in_moves_nothing(noisy):
    keys = ["metric", "pipeline"]
    there, back = rank(*noisy, n_resamples=99), rank(*noisy[::-1], n_resamples=99)
    numbers = ["rank", "mean", "ci_low", "ci_high", "average_rank", "wins", "beats"]
    one, other = (made.frame.set_index(keys).sort_index() for made in (there, back))
    np.testing.assert_allclose(one[numbers].astype(float), other[numbers].astype(float))


def test_rows_are_matched_by_id_and_not_by_place(noisy):
    shuffled = [
        RAGPipelineEvaluation(run.name, run.data.sample(frac=1, random_state=seed))
        for seed, run in enumerate(noisy)
    ]
    one, other = (
        rank(*runs, metrics="exact_match").frame.set_index(["metric", "pipeline"]).sort_index()
        for runs in (noisy, shuffled)
    )
    np.testing.assert_allclose(one["mean"], other["mean"])
    assert one["letters"].tolist() == other["letters"].tolist()


def test_queries_and_metrics_that_not_all_have_are_left_out_and_told():
    ours = RAGPipelineEvaluation(
        "a", {"query_id": ["1", "2", "3"], "mrr": [1, 0, 1], "f1": [1, 1, 0]}
    )
    theirs = RAGPipelineEvaluation("b", {"query_id": ["3", "4", "1"], "mrr": [1, 1, 0]})
    ranking = rank(ours, theirs)
    assert ranking.metrics == ("mrr",)
    assert row_of(ranking, "mrr", "a")["n"] == 2
    assert "2 queries are not in every pipeline, and are left out: '2', '4'" in ranking.notes
    assert "metrics that not every pipeline has are left out: 'f1'" in ranking.notes


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
    assert any("f1: no query is scored by all of a, b" in note for note in ranking.notes)


def test_missing_scores_can_count_as_the_worst(runs_of):
    nan = float("nan")
    runs = runs_of(a={"recall": [0.5, nan, 0.5, 0.5]}, b={"recall": [0.4, 0.4, 0.4, 0.4]})
    worst = rank(*runs, missing="worst")
    assert row_of(worst, "recall", "a")["mean"] == pytest.approx(0.375)
    assert row_of(worst, "recall", "b")["rank"] == 1
    bounds = row_of(rank(*runs, missing="bounds"), "recall", "a")
    assert (bounds["mean_lowest"], bounds["mean_highest"]) == pytest.approx((0.375, 0.625))


def test_equal_means_share_the_first_rank(runs_of):
    runs = runs_of(a={"f1": [0.1, 0.2, 0.6]}, b={"f1": [0.6, 0.1, 0.2]}, c={"f1": [0.0, 0.1, 0.1]})
    ranking = rank(*runs)
    assert ranking.best("f1") == ("a", "b")
    assert ranking.frame["rank"].tolist() == [1, 1, 3]
    assert ranking.sentences[0].startswith("a and b share the best f1")


def test_one_sentence_a_metric_is_said_of_the_best(three):
    ranking = rank(*three)
    assert ranking.sentences[0] == (
        "hybrid has the best recall (mean 0.538, 95 % CI 0.310 to 0.752, 10 queries), and beats "
        "bm25 (Holm-adjusted, 3 tests); dense may be as good"
    )
    assert len(ranking.sentences) == 2


@pytest.mark.parametrize(
    ("correction", "words"),
    [
        *(("westfall-young", "(Westfall–Young)"), ("bh", "(Benjamini–Hochberg)")),
        *(("bonferroni", "(Bonferroni)"), ("none", "without correction")),
    ],
)
def test_other_corrections_are_taken_and_told(three, correction, words):
    ranking = rank(*three, correction=correction, n_resamples=999)
    assert ranking.settings["correction"] == correction
    assert ranking.of("latency_ms")["letters"].tolist() == ["a", "b", "c"]
    assert any(words in note for note in ranking.notes)


def test_queries_can_be_matched_by_what_was_asked():
    ours = RAGPipelineEvaluation(
        "a", {"id": ["1", "2"], "question": ["Why?", "How?"], "f1": [1, 0]}
    )
    theirs = RAGPipelineEvaluation(
        "b", {"id": ["x", "y"], "question": ["How?", "Why?"], "f1": [0, 1]}
    )
    ranking = rank(ours, theirs, on="question")
    assert ranking.frame["rank"].tolist() == [1, 1]
    assert ranking.settings["on"] == "question"


def test_too_few_queries_are_told(runs_of):
    ranking = rank(*runs_of(a={"f1": [0.5]}, b={"f1": [0.7]}))
    assert any("too few queries for a test: 1" in note for note in ranking.notes)
    assert "1 query)" in ranking.sentences[0]


def test_a_ranking_renders_within_100_columns(noisy):
    lines = str(rank(*noisy, n_resamples=99)).splitlines()
    assert max(map(len, lines)) <= 100
    assert len(lines) <= 20
    assert any(line.endswith("  may be as good") for line in lines)


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"runs": 1}, DataError, "rank needs at least two pipelines; got only 'bm25'"),
        ({"runs": 0}, DataError, "rank needs at least two pipelines; got none"),
        ({"metrics": "recal"}, UnknownNameError, "Did you mean 'recall'"),
        ({"correction": "hom"}, UnknownNameError, "Did you mean 'holm'"),
        ({"missing": "wurst"}, UnknownNameError, "Did you mean 'worst'"),
        ({"confidence_level": 95}, DataError, "did you mean 0.95"),
        ({"weights": {"recal": 1}}, UnknownNameError, "Did you mean 'recall'"),
        (
            {"weights": {"recall": -1}},
            DataError,
            "weight of 'recall' must be a number >= 0",
        ),
        ({"weights": {"recall": 0}}, DataError, "all 0"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(three, change, error, told):
    runs = three[: change.pop("runs", 3)]
    with pytest.raises(error, match=told):
        rank(*runs, **change)


def test_a_list_of_evaluations_is_told_how_to_be_spread(three):
    with pytest.raises(
        DataError,
        match=r"one or more evaluations, each .* got a list of 3 items\. .* rank\(\*runs\)",
    ):
        rank(three)


def test_pipelines_without_a_common_query_are_refused():
    runs = [
        RAGPipelineEvaluation(n, {"query_id": [i], "f1": [1]}) for n, i in (("a", "1"), ("b", "2"))
    ]
    with pytest.raises(AlignmentError, match="share no query id"):
        rank(*runs)


def test_three_that_share_queries_only_two_by_two_are_refused():
    ids = {"a": ["1", "2"], "b": ["2", "3"], "c": ["1", "3"]}
    runs = [RAGPipelineEvaluation(n, {"query_id": i, "f1": [1, 0]}) for n, i in ids.items()]
    with pytest.raises(AlignmentError, match="no query is in all 3 pipelines"):
        rank(*runs)


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


def test_letters_go_beyond_the_alphabet():
    told = letters_of(~np.eye(54, dtype=bool))
    assert told[26] == "A"
    assert told[52:] == ["(53)", "(54)"]


@settings(max_examples=150)
@given(
    st.integers(2, 9).flatmap(lambda k: st.tuples(st.just(k), st.sets(st.integers(0, k * k - 1))))
)
def test_two_share_a_letter_if_and_only_if_they_are_not_told_apart(drawn):
    k, cells = drawn
    apart = np.zeros((k, k), dtype=bool)
    apart.flat[list(cells)] = True
    apart = (apart | apart.T) & ~np.eye(k, dtype=bool)
    groups = groups_of(apart)
    for i, j in combinations(range(k), 2):
        assert any(i in group and j in group for group in groups) != apart[i, j]
    assert not any({*one} < {*other} for one in groups for other in groups)
    assert {member for group in groups for member in group} == {*range(k)}


NAN = math.nan

SCORES = {
    "one": [0.1, 0.5, 0.4, 0.9, 0.2, 0.3, NAN, NAN],
    "two": [0.2, 0.6, 0.5, 1.0, 0.5, 0.6, NAN, NAN],
    "three": [0.3, 0.7, 0.6, 0.8, 0.6, 0.7, NAN, NAN],
}


def run(name, scores, state="not applicable"):
    data = {
        "query_id": [f"q{n}" for n in range(len(scores))],
        "recall": scores,
        "recall_state": ["missing" if not math.isnan(x) else state for x in scores],
    }
    return RAGPipelineEvaluation(name, data)


RUNS = [run(name, scores) for name, scores in SCORES.items()]


@pytest.mark.parametrize("missing", ["drop", "worst", "bounds"])
def test_they_are_counted_in_a_note_of_their_own(missing):
    ranking = rank(*RUNS, missing=missing)
    assert "recall: does not apply to 2 of 8 common queries" in ranking.notes
    assert not any("left out" in note or "worst" in note for note in ranking.notes)
    means = ranking.frame.set_index("pipeline")["mean"].to_dict()
    assert means == {
        name: pytest.approx(sum(scores[:6]) / 6, abs=1e-15) for name, scores in SCORES.items()
    }


def test_the_worst_score_is_for_missing_ones_only():
    gap = [*SCORES["two"][:5], NAN, NAN, NAN]
    states = ["missing"] * 6 + ["not applicable"] * 2
    data = {"query_id": [f"q{n}" for n in range(8)], "recall": gap, "recall_state": states}
    ranking = rank(RUNS[0], RAGPipelineEvaluation("two", data), RUNS[2], missing="worst")
    row = ranking.frame.set_index("pipeline").loc["two"]
    assert row["n"] == 6
    assert row["mean"] == pytest.approx(sum(SCORES["two"][:5]) / 6, abs=1e-15)
    assert "recall: 1 missing score counts as the worst possible" in ranking.notes
