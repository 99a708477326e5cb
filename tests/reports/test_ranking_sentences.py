"""Every case of the headline of a ranking, in the words that a reader meets."""

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, compare, rank, read_scores
from rageval_report.analysis.verdicts import comparison_verdicts
from rageval_report.reports.ranking_sentences import (
    RankedPipelines,
    ranking_headline,
)
from rageval_report.reports.ranking_views import pair_verdicts, pairs_document

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


def test_a_leader_alone():
    runs = [pipeline("a", recall=0.0), pipeline("bb", recall=0.1), pipeline("ccc", recall=0.2)]
    told = ranking_headline(rank(*runs))
    assert told.text == "ccc is best: better than all others on recall."
    assert told.details[0] == "Best mean on 1 of 1 metric."


def test_nobody_wins_everything():
    first = pipeline("a", recall=0.2, faithfulness=0.0)
    second = pipeline("bb", recall=0.0, faithfulness=0.2)
    told = ranking_headline(rank(first, second), labels={"recall": "Recall"})
    assert told.text == "No single winner: a leads on Recall, bb on faithfulness."


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
    ranked = RankedPipelines.of(ranking, {})
    [forth, back] = pairs_document(ranked, [pair], (0.95, "holm"))[0]["texts"]
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
