"""Four retrievers on 51 questions of 2WikiMultihopQA: the figures that fast-graphrag reports."""

import json

import pytest

from rageval_report import compare, score, score_rankings

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
def test_recall_is_what_sets_of_titles_give(rankings, name):
    retrieved, gold = rankings[name]
    by_hand = {
        question: len(set(titles) & set(retrieved[question])) / len(set(titles))
        for question, titles in gold.items()
    }
    evaluation = score_rankings(retrieved, gold, "recall", duplicates="best")
    assert evaluation.scores["recall"].to_dict() == by_hand


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


def test_titles_that_were_retrieved_twice_are_counted(rankings):
    evaluation = score_rankings(*rankings["graph"], "recall", duplicates="best")
    notes = evaluation.evaluation_report().notes
    n = sum(len(titles) - len(set(titles)) for titles in rankings["graph"][0].values())
    assert n >= 7  # in seven questions
    assert any(note.startswith(f"duplicates: {n} documents") for note in notes)


def test_the_graph_beats_each_other_retriever_on_recall(rankings):
    graph, *others = (
        score_rankings(*rankings[name], "recall", duplicates="best", name=name)
        for name in RETRIEVERS
    )
    frame = compare(graph, *others).frame
    assert (frame["difference"] < 0).all()
    assert (frame["pvalue_adjusted"] < 0.05).all()
