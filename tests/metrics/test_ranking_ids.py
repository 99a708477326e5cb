"""Doubts about the ids of a run and its judgments, and changes of their form. By hand."""

import pytest

from rageval_report.files.source import Source
from rageval_report.metrics.ranking_scores import (
    doubts_about_rankings,
    join_inputs,
    score_table_of_rankings,
)
from rageval_report.metrics.trec_files import read_trec_run


def test_ids_in_two_forms_raise_a_doubt_and_no_gold_none(write_run, write_qrels):
    run = {f"q{i}": {f"d{i}": 0.9, f"e{i}": 0.8} for i in range(4)}
    qrels = {f"q{i}": {f"D{i}": 1} for i in range(4)}
    for sources in ((run, qrels), (write_run(run), write_qrels(qrels))):
        doubts = doubts_about_rankings(score_table_of_rankings(*sources, "mrr").joined)
        assert [doubt.check for doubt in doubts] == ["ids_differ"]
    ranked = score_table_of_rankings({"q": {"a": 1.0}}, {"q": {"A": 0}}, "mrr")
    assert doubts_about_rankings(ranked.joined) == []


# -- changes of form


RUN = {"q1": {"x": 0.5, "guide#2": 0.9, "guide#1": 0.95}, "q2": {"guide#1": 0.3}}
QRELS = {"q1": {"guide": 1, "X": 2, "x": 1}, "q2": {"news": 1}}


def changed(run, qrels, match_ids):
    return join_inputs(run, qrels, ties="docid", relevance_level=1, match_ids=match_ids)


@pytest.fixture(params=["dict", "frame", "file", "path as text", "rows"])
def both_forms(request, frame_of, write_run, write_qrels):
    if request.param == "dict":
        return RUN, QRELS
    if request.param == "frame":
        return frame_of(RUN, "score"), frame_of(QRELS, "relevance")
    paths = write_run(RUN), write_qrels(QRELS)
    if request.param == "rows":
        return read_trec_run(Source(paths[0])), paths[1]
    return tuple(map(str, paths)) if request.param == "path as text" else paths


def test_the_best_chunk_stands_for_its_document(both_forms):
    joined = changed(*both_forms, ["retrieved:cut:#", "case"])
    assert joined.run == {"q1": {"x": 0.5, "guide": 0.95}, "q2": {"guide": 0.3}}
    assert joined.qrels == {"q1": {"guide": 1, "x": 2}, "q2": {"news": 1}}
    # The judgment that became equal to another one is no repeat of the run.
    note = "ids are compared after retrieved:cut:#, case; 1 repeat of a document "
    assert joined.match_note.startswith(note)


def test_a_list_is_ranked_by_its_order_and_one_side_alone_may_be_changed():
    joined = changed({"q": ["B", "a", "b"]}, {"q": ["a"]}, "case")
    assert (joined.run, joined.qrels) == ({"q": {"b": 0.0, "a": -1.0}}, {"q": {"a": 1.0}})
    joined = changed({"q": {"A": 1.0}}, {"q": {"B": 1}}, "gold:case")
    assert (joined.run, joined.qrels) == ({"q": {"A": 1.0}}, {"q": {"b": 1}})
    joined = changed({"q": {"A": 1.0}}, {"q": {"B": 1}}, "retrieved:case")
    assert (joined.run, joined.qrels) == ({"q": {"a": 1.0}}, {"q": {"B": 1}})
    assert joined.match_note == "ids are compared after retrieved:case"
