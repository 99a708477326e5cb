"""Queries by id: only these are asked, wherever they come from."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, evaluate
from rageval_report.errors import DataError

ROWS = [
    {"query_id": name, "question": f"{name}?", "reference": "Oslo", "relevant": {f"d-{name}": 1}}
    for name in "abcde"
]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    Path("q.csv").write_text("query_id,question,reference\na,a?,Oslo\nd,d?,Oslo\n")
    return tmp_path


@pytest.mark.parametrize(
    "queries", ["q.jsonl", "q.csv", ROWS, pd.DataFrame(ROWS)], ids=["lines", "csv", "rows", "frame"]
)
def test_only_the_named_queries_are_asked(queries):
    questions = []

    def answer(question):
        questions.append(question)
        return "Oslo"

    run = evaluate(
        queries=queries, target=answer, query_ids=["d", "a"], samples=1, metrics=["exact_match"]
    )
    assert sorted(questions) == ["a?", "d?"]  # a sample of 1 does not apply to named queries
    assert run.evaluation.scores.index.tolist() == ["a", "d"]
    assert run.evaluation.config["query_ids"] == ["d", "a"]


def test_gold_is_kept():
    target = lambda _: {"answer": "Oslo", "retrieved": ["d-c"]}  # noqa: E731
    run = evaluate(queries="q.jsonl", target=target, query_ids="c", metrics=["recall@5"])
    assert run.evaluation.scores["recall@5"].tolist() == [1.0]


def test_the_questions_of_data_sets_are_named_by_the_ids_of_the_records():
    run = evaluate(datasets="q.jsonl", target=lambda _: "Oslo", query_ids=["e"], samples=1, seed=1)
    assert run.evaluation.scores.index.tolist() == ["e"]


def test_an_id_that_is_not_there_is_an_error_before_anything_is_asked():
    with pytest.raises(DataError, match=r"query_ids: no query has the id 'x', 'y'"):
        evaluate(queries="q.jsonl", target=refuse, query_ids=["a", "x", "y"])


def refuse(question):
    raise AssertionError(question)


# -- among failures


@pytest.fixture
def evaluation():
    return RAGPipelineEvaluation("v1", {"query_id": list("abcd"), "recall": [0.1, 0.2, 0.9, 0.3]})


def test_failures_of_named_queries_have_the_threshold_of_all(evaluation):
    listed = evaluation.failures("recall", "median", query_ids=["a", "c", "d"])
    assert listed.frame.index.tolist() == ["a"]
    assert listed.settings["threshold"] == pytest.approx(0.25)
    assert listed.notes[-1] == "only 3 named queries"


def test_an_unknown_query_among_failures_is_an_error(evaluation):
    with pytest.raises(DataError, match="no query has the id 'z'"):
        evaluation.failures("recall", 0.5, query_ids=["z"])


# -- gold with documents and sections

GOLD = [
    {
        "query_id": "a",
        "question": "a?",
        "relevant": [{"doc_id": "guide", "section": "1"}, {"doc_id": "faq", "section": "1"}],
    },
    {"query_id": "b", "question": "b?", "gold_citations": [{"doc_id": "guide", "section_id": "2"}]},
    {
        "query_id": "c",
        "question": "c?",
        "gold_passages": [{"doc_id": "guide", "chunk_id": "9", "text": "Nine."}],
    },
]


def cites(question):
    sections = [("guide", "1"), ("notes", "1"), ("guide", "2")]
    return {
        "answer": "So.",
        "citations": [{"doc_id": document, "section": name} for document, name in sections],
    }


def test_documents_and_sections_of_a_golden_set_reach_the_metrics():
    Path("golden.jsonl").write_text("".join(json.dumps(item) + "\n" for item in GOLD))
    run = evaluate(
        datasets="golden.jsonl", target=cites, metrics=["section_accuracy", "document_accuracy"]
    )
    scores = run.evaluation.scores
    # Of three citations: (guide, 1) is gold of a, and (notes, 1) is not; (guide, 2) is gold of b.
    assert scores["section_accuracy"].tolist() == pytest.approx([1 / 3, 1 / 3, 0])
    assert scores["document_accuracy"].tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3])


@pytest.mark.parametrize("item", GOLD, ids=["relevant", "gold_citations", "gold_passages"])
def test_each_spelling_of_gold_reaches_the_metrics_from_records(item):
    run = evaluate(queries=[item], target=cites, metrics=["section_accuracy"])
    right = {"a": 1 / 3, "b": 1 / 3, "c": 0.0}[item["query_id"]]
    assert run.evaluation.scores["section_accuracy"].tolist() == pytest.approx([right])
