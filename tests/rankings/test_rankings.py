"""From runs and judgments to a table of scores: forms of input, names of metrics, arguments.

Witnesses: arithmetic by hand, and one form of the same input for another.
"""

import numpy as np
import pytest

from rageval_report import score_rankings
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.metrics.ranking_inputs import hits_of
from rageval_report.metrics.ranking_scores import metric_of, score_table_of_rankings
from rageval_report.scores.metric import METRICS, Metric

# -- forms of input


def test_lists_of_ids_are_taken_in_their_order():
    ranked = score_table_of_rankings({"q": ["x", "b", "a"]}, {"q": ["a", "b"]}, ["mrr", "map"])
    assert ranked.scores.loc["q"].tolist() == pytest.approx([1 / 2, (1 / 2 + 2 / 3) / 2])


@pytest.mark.parametrize("run", [{1: {7: 1.0}}, {"1": {"7": 1.0}}, {np.int64(1): [7]}])
@pytest.mark.parametrize("qrels", [{1: {7: 1}}, {"1": {"7": 1}}, {1: ["7"]}])
def test_whole_numbers_as_ids_are_texts_on_both_sides(run, qrels):
    ranked = score_table_of_rankings(run, qrels, "mrr")
    assert ranked.scores["mrr"].to_dict() == {"1": 1.0}


def test_hits_of_lists_name_the_query_in_an_error():
    with pytest.raises(DataError, match="must name each document once; twice in query 'why': 'a'"):
        hits_of([["b"], ["a", "a"]], [["b"], ["a"]], query_ids=["who", "why"])


# -- names of metrics


@pytest.mark.parametrize(
    ("name", "function", "k"),
    [
        ("nDCG@10", "ndcg", 10), ("ndcg_cut_10", "ndcg", 10), ("P_5", "precision", 5),
        ("precision@5", "precision", 5), ("mrr", "reciprocal_rank", None), ("hit@1", "hit", 1),
        ("success_1", "hit", 1), ("hit_rate@1", "hit", 1), ("ndcg_exp@10", "ndcg_exp", 10),
        ("recip_rank", "reciprocal_rank", None), ("map@100", "average_precision", 100),
        ("MRR@10", "reciprocal_rank", 10), ("Rprec", "r_precision", None),
        ("Single Hit", "single_hit", None), ("multi-hit@3", "multi_hit", 3),
        ("document_recall_multi_hit", "document_recall_multi_hit", None),
        ("recall_single_hit@5", "document_recall_single_hit", 5),
    ],
)  # fmt: skip
def test_the_fields_names_are_understood(name, function, k):
    compute, cutoff = metric_of(name)
    assert (compute.__name__, cutoff) == (function, k)


def test_an_unknown_metric_gets_the_nearest(run, qrels):
    with pytest.raises(UnknownNameError, match=r"named 'recal@5'. Did you mean 'recall'"):
        score_table_of_rankings(run, qrels, "recal@5")


def test_a_metric_that_rankings_do_not_give_is_refused(run, qrels):
    with pytest.raises(UnknownNameError, match="no metric of rankings is named 'faithfulness'"):
        score_table_of_rankings(run, qrels, "faithfulness")


def test_a_metric_from_outside_is_computed(monkeypatch, run, qrels):
    counted = Metric("n_found", needs="rankings", compute=lambda hits, k: hits.n_retrieved * 1.0)
    monkeypatch.setitem(METRICS._entries, "n_found", counted)
    assert score_table_of_rankings(run, qrels, "n_found").scores["n_found"].tolist() == [3.0, 2.0]


# -- arguments


@pytest.mark.parametrize(
    ("metrics", "options", "told"),
    [
        ([], {}, "metrics must name at least one metric"),
        ("recall@0", {}, "k must be an integer >= 1"),
        ("mrr", {"ties": "random"}, 'ties must be "docid", "input" or "error"; got "random"'),
        ("mrr", {"no_relevant": "one"}, 'no_relevant must be "zero" or "skip"; got "one"'),
        ("mrr", {"duplicates": "last"}, 'duplicates must be "error", "best" or "keep"; got "last"'),
        ("mrr", {"relevance_level": 0}, "relevance_level must be a number > 0"),
        ("mrr", {"relevance_level": "2"}, "relevance_level must be a number > 0"),
    ],
)
def test_arguments_are_checked(run, qrels, metrics, options, told):
    with pytest.raises((DataError, UnknownNameError), match=told):
        score_rankings(run, qrels, metrics, **options)
