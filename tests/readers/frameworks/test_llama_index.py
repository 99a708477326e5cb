"""Files that llama-index-core 0.14.25 wrote; ``make_llama_index.py`` beside them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rageval_report import read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise

FILES = Path(__file__).parents[2] / "golden" / "llama_index"
TOLD = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))


def result(**more):
    fields = dict.fromkeys(("query", "contexts", "response", "passing", "feedback", "score"))
    return fields | {"query": "why?", "invalid_result": False, "invalid_reason": None} | more


def by_query(rows):
    """The scores of four rows, of which the last repeats the question of the first."""
    first, second, third, last = np.array(rows, dtype=float)
    return np.array([(first + last) / 2, second, third])


@pytest.mark.parametrize("metric", ["faithfulness", "correctness"])
def test_scores_of_a_batch_are_those_of_the_evaluators(metric):
    [evaluation] = read_scores(FILES / "batch.json").values()
    told = by_query(TOLD["scores"][metric])
    np.testing.assert_allclose(evaluation.scores[metric], told)


def test_results_a_line_have_one_metric_without_a_name():
    [evaluation] = read_scores(FILES / "results.jsonl").values()
    told = by_query(TOLD["scores"]["correctness"])
    np.testing.assert_allclose(evaluation.scores["score"], told)


@pytest.mark.parametrize("name", ["frame.csv", "frame.json"])
def test_each_rag_of_a_frame_is_a_pipeline_with_its_mean(name):
    runs = read_scores(FILES / name)
    assert list(runs) == ["base", "rerank"]
    # LlamaIndex has the mean over rows; ours is over queries, and the last row repeats one of them.
    base = np.nanmean(by_query(TOLD["scores"]["faithfulness"]))
    for pipeline, mean in {"base": base, "rerank": TOLD["means_by_rag"]["rerank"]}.items():
        ours = runs[pipeline].get_aggregated_scores("score")
        assert ours == pytest.approx(mean, abs=1e-10)


def test_an_invalid_result_failed_with_its_reason():
    [found] = read(FILES / "batch.json")
    assert found.frame["faithfulness_state"].tolist() == ["scored", "scored", "failed", "scored"]
    assert found.frame["faithfulness_reason"].tolist()[2] == "no answer"


def test_grades_from_one_to_five_keep_their_scale():
    [evaluation] = read_scores(FILES / "batch.json").values()
    assert evaluation.metrics["correctness"].bounds == (1, 5)
    assert evaluation.metrics["faithfulness"].bounds == (0, 1)


def test_equal_questions_are_repeats_of_one_query():
    [evaluation] = read_scores(FILES / "batch.json").values()
    assert evaluation.n_queries == 3
    assert any("1 rows repeat a question" in note for note in evaluation.notes)


def test_contexts_of_a_csv_are_lists_again():
    assert read(FILES / "frame.csv")[0].frame["contexts"].tolist()[0] == [
        "Dune is a novel.",
        "It is by Herbert.",
    ]


def test_evaluators_are_joined_by_question_not_by_place(write):
    document = {
        "one": [result(query="a", score=1), result(query="b", score=0)],
        "two": [result(query="b", score=0.25), result(query="a", score=0.75)],
    }
    [found] = read(write(json.dumps(document)))
    assert found.frame[["question", "one", "two"]].to_numpy().tolist() == [
        ["a", 1, 0.75],
        ["b", 0, 0.25],
    ]


def test_without_scores_passing_is_the_score(write):
    [found] = read(write(json.dumps([result(passing=True), result(passing=False)])))
    assert found.frame["score"].tolist() == [1, 0]
    assert "'score' has no scores: the score is whether it passed" in found.notes


def test_another_table_is_refused(write):
    with pytest.raises(ReaderError, match="expected the columns rag, query, scores"):
        read(write("query,score\nwhy?,1\n"), reader="llama_index")


# -- results of a retriever

RETRIEVAL = json.loads((FILES / "retrieval_expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["retrieval.json", "retrieval.csv"])
def test_means_of_a_retriever_are_those_that_the_library_gives(name):
    assert recognise(Source(FILES / name)) == "llama_index"
    [evaluation] = read_scores(FILES / name).values()
    assert evaluation.scores.mean().to_dict() == pytest.approx(RETRIEVAL["means"], abs=1e-15)
    assert evaluation.details["relevant"].tolist()[1] == ["n4", "n9"]
    assert evaluation.details["retrieved"].tolist()[0] == ["n1", "n2"]


def test_results_by_retriever_are_several_pipelines(write):
    results = json.loads((FILES / "retrieval.json").read_text(encoding="utf-8"))
    runs = read_scores(write(json.dumps({"bm25": results, "dense": results[::-1]})))
    assert list(runs) == ["bm25", "dense"]
    assert runs["dense"].scores.loc[runs["bm25"].scores.index].equals(runs["bm25"].scores)


def test_a_retriever_without_scores_is_refused(write):
    rows = [{"query": "a", "expected_ids": [], "retrieved_ids": [], "metric_dict": {}}]
    with pytest.raises(ReaderError, match="no score in metric_dict"):
        read(write(json.dumps(rows)))
