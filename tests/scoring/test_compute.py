"""From records to scores; each value worked out by hand."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from rageval_report import METRICS
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.metrics.views import Tools
from rageval_report.scoring.compute import computed_names, cutoff_of, score_records

ROWS = [
    {
        "query_id": "q1",
        "retrieved": ["a", "b", "c"],
        "relevant": {"b": 2},
        "answer": "Rome",
        "reference": ["Rome", "Roma"],
        "citations": ["b"],
        "answerable": True,
        "latency_ms": 30,
    },
    {
        "query_id": "q2",
        "retrieved": ["d"],
        "relevant": ["e", "d"],
        "answer": "I don't know.",
        "reference": ["Oslo"],
        "citations": [],
        "answerable": False,
        "latency_ms": 20,
    },
]
ANSWERABLE = [{**row, "answerable": True} for row in ROWS]


def scores(metrics, rows=ROWS, **options):
    return score_records(rows, metrics, **options).scores


def test_rankings_are_scored_at_their_cutoffs():
    table = scores(["recall@1", "recall@2", "mrr", "ndcg@10"], ANSWERABLE)
    assert table["recall@1"].tolist() == [0.0, 0.5]
    assert table["recall@2"].tolist() == [1.0, 0.5]
    assert table["mrr"].tolist() == [0.5, 1.0]
    ideal = 1 + 1 / math.log2(3)
    assert table["ndcg@10"].tolist() == pytest.approx([1 / math.log2(3), 1 / ideal])


def test_columns_are_named_as_asked_in_the_order_asked():
    assert list(scores(["nDCG@10", "P_5", "mrr"])) == ["ndcg@10", "p@5", "mrr"]


def test_answers_citations_and_refusals_are_scored():
    table = scores(["exact_match", "token_f1", "citation_hit", "abstention_recall"])
    assert table["exact_match"].tolist() == [1.0, 1.0]  # the second is a right refusal
    assert table["token_f1"].tolist() == [1.0, 1.0]
    assert table["citation_hit"].iloc[0] == 1.0
    assert np.isnan(table["abstention_recall"].iloc[0])
    assert table["abstention_recall"].iloc[1] == 1.0


def test_nothing_retrieved_is_zero_and_an_unknown_ranking_or_gold_is_unscored():
    rows = [
        {"query_id": "none", "retrieved": [], "relevant": ["a"]},
        {"query_id": "failed", "retrieved": None, "relevant": ["a"]},
        {"query_id": "no gold", "retrieved": ["a"], "relevant": None},
    ]
    values = scores("recall@5", rows)["recall@5"]
    assert values["none"] == 0.0
    assert values[["failed", "no gold"]].isna().all()


def test_any_map_gives_the_same_scores():
    names = ["recall@2", "mrr", "exact_match", "latency_ms"]
    with ThreadPoolExecutor(2) as pool:
        pd.testing.assert_frame_equal(scores(names, map=pool.map), scores(names))


def test_similarity_needs_a_function_that_embeds():
    with pytest.raises(DataError, match="embed="):
        scores("semantic_answer_similarity")
    letters = Tools(embed=lambda texts: [[text.count("R"), text.count("O"), 1] for text in texts])
    near = scores("semantic_answer_similarity", tools=letters)["semantic_answer_similarity"]
    assert near.iloc[0] == pytest.approx(1.0)
    assert near.iloc[1] == pytest.approx(1 / math.sqrt(2))


def test_a_field_that_is_missing_is_named_before_anything_is_computed():
    with pytest.raises(
        DataError, match=r"recall@5 cannot be computed: the records have no relevant"
    ):
        scores("recall@5", [{"query_id": "q", "retrieved": ["a"]}])


def test_an_unknown_metric_is_told_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'recall'"):
        scores("recal")


def test_a_metric_that_only_a_judge_can_give_is_refused():
    with pytest.raises(DataError, match="not computed from records"):
        scores("faithfulness")


def test_no_metric_at_all_is_refused():
    with pytest.raises(DataError, match="at least one metric"):
        scores([])


def test_every_metric_that_says_how_it_is_computed_names_a_view():
    assert computed_names()
    assert all(METRICS[name].needs for name in computed_names())


@pytest.mark.parametrize(("name", "cutoff"), [("recall@5", 5), ("P_10", 10), ("mrr", None)])
def test_the_cutoff_stands_in_the_name(name, cutoff):
    assert cutoff_of(name) == cutoff


def test_shuffling_the_records_moves_nothing():
    names = ["recall@2", "mrr", "exact_match", "citation_f1"]
    there, back = scores(names), scores(names, ROWS[::-1])
    pd.testing.assert_frame_equal(there, back.loc[there.index])


def test_a_metric_whose_field_is_nowhere_is_not_applicable_on_demand():
    rows = [{"query_id": "a", "answer": "Rome", "reference": "Rome"}]
    with pytest.raises(DataError, match="the records have no retrieved and no relevant"):
        score_records(rows, ["exact_match", "recall@5"])
    scored = score_records(rows, ["recall@5", "exact_match"], lacking="unscored")
    assert scored.scores.columns.tolist() == ["recall@5", "exact_match"]
    assert scored.scores.loc["a", "exact_match"] == 1.0
    assert np.isnan(scored.scores.loc["a", "recall@5"])
    told = scored.states.loc["a", ["recall@5_state", "recall@5_reason"]].tolist()
    assert told == ["not applicable", "the records have no retrieved and no relevant"]


def test_an_unknown_way_with_what_records_lack_is_refused():
    with pytest.raises(UnknownNameError, match='lacking must be "error" or "unscored"; got "zero"'):
        score_records([{"query_id": "a", "answer": "x"}], "exact_match", lacking="zero")
