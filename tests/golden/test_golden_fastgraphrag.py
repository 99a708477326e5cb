"""Four retrievers on 51 questions of 2WikiMultihopQA: the figures that fast-graphrag reports."""

import json

import pytest

from rageval_report import score, score_rankings

RETRIEVERS = ["graph", "nano", "vdb", "lightrag"]


@pytest.fixture(scope="module")
def rankings(real_data):
    """Retrieved titles, each once, and gold titles, by retriever and question."""
    folder = real_data("fastgraphrag_2wiki_51")
    rows = {
        name: json.loads((folder / f"{name}.2wikimultihopqa_51.json").read_text(encoding="utf-8"))
        for name in RETRIEVERS
    }
    return {
        name: (
            {row["question"]: row["evidence"] for row in asked},
            {row["question"]: row["ground_truth"] for row in asked},
        )
        for name, asked in rows.items()
    }


def perfect(evaluation, metric="recall"):
    return (evaluation.scores[metric] == 1).mean()


@pytest.mark.parametrize("name", RETRIEVERS)
def test_the_share_of_perfect_recall_is_the_reported_one(golden, rankings, name):
    told = golden("fastgraphrag.json")["values"][name]
    evaluation = score_rankings(*rankings[name], ["recall", "recall@8"], duplicates="best")
    assert len(evaluation.scores) == 51
    assert perfect(evaluation) == pytest.approx(told, abs=5.1e-4)
    assert perfect(evaluation, "recall@8") == pytest.approx(told, abs=5.1e-4)  # eight at most


@pytest.mark.parametrize("name", RETRIEVERS)
def test_records_give_the_same_as_rankings(rankings, name):
    retrieved, gold = rankings[name]
    records = [
        {
            "query_id": question,
            "retrieved": list(dict.fromkeys(retrieved[question])),
            "relevant": titles,
        }
        for question, titles in gold.items()
    ]
    names = ["recall", "mrr", "multi_hit@4", "document_recall_multi_hit"]
    by_rankings = score_rankings(retrieved, gold, names, duplicates="best").scores
    assert score(records, names).scores[names].equals(by_rankings.loc[list(gold), names])
