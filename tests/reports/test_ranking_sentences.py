"""Every case of the headline of a ranking, in the words that a reader meets."""

import math

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, compare, rank, read_scores
from rageval_report.analysis.verdicts import comparison_verdicts
from rageval_report.reports.ranking_sentences import (
    RankedPipelines,
    ranking_headline,
)
from rageval_report.reports.views.pair_matrix import both_pair_texts, pair_verdicts

N = 60
QUERIES = [f"q{place}" for place in range(N)]
BASE = 0.2 + 0.5 * np.random.default_rng(5).random(N)


def pipeline(name, **gains):
    """A pipeline that is better than the others by these gains, as sure as can be."""
    rng = np.random.default_rng(len(name))
    columns = {
        metric: np.clip(BASE + gain + 0.01 * rng.standard_normal(N), 0, 1)
        for metric, gain in gains.items()
    }
    return RAGPipelineEvaluation(name, {"query_id": QUERIES, **columns})


def noisy(name, seed, **metrics):
    rng = np.random.default_rng(seed)
    columns = {metric: rng.random(N) for metric in metrics}
    return RAGPipelineEvaluation(name, {"query_id": QUERIES, **columns})


def test_a_leader_alone():
    runs = [pipeline("a", recall=0.0), pipeline("bb", recall=0.1), pipeline("ccc", recall=0.2)]
    told = ranking_headline(rank(*runs))
    assert told.text == "ccc is best: better than all others on recall."
    assert told.details[0] == "Best mean on 1 of 1 metric."


def test_a_leader_alone_on_some_of_the_metrics():
    first = pipeline("ccc", recall=0.2, faithfulness=0.1)
    others = [
        pipeline("a", recall=0.0, faithfulness=0.0),
        pipeline("bb", recall=0.1, faithfulness=0.1),
    ]
    told = ranking_headline(rank(first, *others))
    assert told.text == "ccc is best: better than all others on 1 of 2 metrics."


def test_a_leader_with_others_that_may_be_as_good():
    close = [pipeline(name, recall=0.2) for name in ("ccc", "dddd", "eeeee")]
    told = ranking_headline(rank(pipeline("a", recall=0.0), *close))
    assert told.text.endswith(" leads, but 2 others may be as good.")
    assert told.details[1] == (
        "2 of the other 3 may be as good; 1 is worse than the best on at least one metric."
    )


def test_a_leader_with_one_rival_names_it():
    runs = [pipeline("a", recall=0.0), pipeline("ccc", recall=0.2), pipeline("dddd", recall=0.2)]
    ranking = rank(*runs)
    leader, rival = RankedPipelines.of(ranking, {}).in_front
    assert {leader, rival} == {"ccc", "dddd"}
    assert ranking_headline(ranking).text == f"{leader} leads, but {rival} may be as good."


def test_nobody_wins_everything():
    first = pipeline("a", recall=0.2, faithfulness=0.0)
    second = pipeline("bb", recall=0.0, faithfulness=0.2)
    told = ranking_headline(rank(first, second), labels={"recall": "Recall"})
    assert told.text == "No single winner: a leads on Recall, bb on faithfulness."


def test_nobody_leads_where_all_are_equal():
    first = pipeline("a", recall=0.2, faithfulness=0.0)
    second = pipeline("bb", recall=0.0, faithfulness=0.2)
    runs = [
        RAGPipelineEvaluation(run.name, run.to_frame().assign(hit=[0.0, 1.0] * (N // 2)))
        for run in (first, second)
    ]
    ranking = rank(*runs)
    assert ranking.best("hit") == ("a", "bb")
    assert ranking_headline(ranking).text == (
        "No single winner: a leads on recall, bb on faithfulness."
    )


def test_nothing_is_shown():
    runs = [noisy(f"p{seed}", seed, recall=0, precision=0) for seed in range(3)]
    told = ranking_headline(rank(*runs))
    assert told.text == "None of 3 pipelines is shown to be better than another."
    assert ranking_headline(rank(*runs[:2])).text == (
        "Neither of 2 pipelines is shown to be better than another."
    )
    assert told.details[0].startswith("60 queries can detect only differences above about 0.")


def test_too_few_queries():
    runs = [
        RAGPipelineEvaluation(name, {"query_id": list("abcde"), "recall": scores})
        for name, scores in (("x", [0.1, 0.2, 0.3, 0.4, 0.5]), ("y", [0.9, 0.8, 0.7, 0.6, 0.5]))
    ]
    assert ranking_headline(rank(*runs)).text == (
        "Too few queries to rank 2 pipelines: 5 in common, at least 6 are needed."
    )


def test_the_cheapest_in_front_is_named():
    rng = np.random.default_rng(3)
    latency = 100.0 + 30.0 * rng.random(N)
    # The gain in quality is far below the noise, and so is the price; the last one is worse.
    runs = [
        RAGPipelineEvaluation(
            name,
            {
                "query_id": QUERIES,
                "recall": np.clip(BASE + gain + 0.1 * rng.standard_normal(N), 0, 1),
                "latency_ms": latency + price + 60.0 * rng.standard_normal(N),
            },
        )
        for name, gain, price in (("rich", 0.03, 0.0), ("cheap", 0.02, -1.0), ("bad", -0.2, 300.0))
    ]
    frames = {run.name: run.to_frame() for run in runs}
    # The two in front differ by what they are given here, on average.
    for name, recall, price in (("rich", 0.5, 120.0), ("cheap", 0.49, 119.0)):
        frame = frames[name]
        frame["recall"] += recall - frame["recall"].mean()
        frame["latency_ms"] += price - frame["latency_ms"].mean()
    told = ranking_headline(
        rank(*(RAGPipelineEvaluation(name, frame) for name, frame in frames.items()))
    )
    assert told.text == "rich leads, but cheap may be as good."
    assert (
        "Of the 2 in front, cheap has the lowest latency_ms (119 instead of 120)." in told.details
    )


def test_unscored_queries_are_in_the_basis():
    first, second = pipeline("a", recall=0.0), pipeline("bb", recall=0.1)
    frame = first.to_frame()
    frame.loc[frame["query_id"] == "q3", "recall"] = math.nan
    told = ranking_headline(rank(RAGPipelineEvaluation("a", frame), second))
    assert told.basis == (
        "2 pipelines · 59 queries · 1 metric · every pair compared · up to 1 scores missing per "
        "metric"
    )


def test_a_pair_of_a_ranking_is_the_comparison_of_the_two():
    first, second = pipeline("a", recall=0.2, hit=0.0), pipeline("bb", recall=0.0, hit=0.1)
    ranking = rank(first, second)
    [pair] = pair_verdicts(ranking)
    alone = {own.metric: own for own in comparison_verdicts(compare(first, second))}
    for verdict in pair:
        same = alone[verdict.metric]
        assert verdict.shown == same.shown
        assert (verdict.wins, verdict.losses) == (same.wins, same.losses)
        assert verdict.difference == pytest.approx(same.difference, abs=1e-15)
        assert verdict.pvalue_adjusted == pytest.approx(same.pvalue_adjusted, rel=1e-9)
    forth, back = both_pair_texts(pair, RankedPipelines.of(ranking, {}).names)
    assert forth == "bb is better than a on 1 of 2 metrics and worse on recall."
    assert back == "a is better than bb on 1 of 2 metrics and worse on hit."


def test_nine_real_pipelines(real_data):
    folder = real_data("haystack_aragog")
    runs = [
        run for path in sorted(folder.glob("detailed_*.csv")) for run in read_scores(path).values()
    ]
    told = ranking_headline(rank(*runs))
    assert told.text == "top_k=3 · chunk_size=128 leads, but 5 others may be as good."
    assert told.details[1] == (
        "5 of the other 8 may be as good; 3 are worse than the best on at least one metric."
    )
