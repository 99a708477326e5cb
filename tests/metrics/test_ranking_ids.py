"""Doubts about the ids of a run and its judgments, and changes of their form. By hand."""

import pytest

from rageval_report.metrics.ranking_scores import (
    doubts_about_rankings,
    match_ranking_ids,
    score_table_of_rankings,
)
from rageval_report.metrics.trec_files import read_trec_run


def doubts(run, qrels, level=1):
    ranked = score_table_of_rankings(run, qrels, "mrr", relevance_level=level)
    return doubts_about_rankings(run, qrels, ranked.hits, ranked.scores.index.tolist())


def tables(n, n_meet, *, n_other=None):
    """Queries with a gold id in capitals that was retrieved in small letters.

    The first `n_meet` also have a gold id that was retrieved as it is.
    """
    rows = range(n if n_other is None else n_other)
    run = {f"q{i}": {f"d{i}": 0.9, f"e{i}": 0.8} for i in range(n)}
    qrels = {f"q{i}": {f"D{i}": 1} if i in rows else {} for i in range(n)}
    for i in range(n_meet):
        qrels[f"q{i}"][f"e{i}"] = 1
    return run, qrels


def as_frames(run, qrels, frame_of):
    return frame_of(run, "score"), frame_of(qrels, "relevance")


def test_queries_without_relevant_documents_raise_no_doubt():
    assert doubts({"q": {"a": 1.0}}, {"q": {"A": 0}}) == []


def test_files_are_compared_again_but_not_what_can_be_read_once(write_run, write_qrels, tmp_path):
    run, qrels = tables(4, 0)
    paths = write_run(run), write_qrels(qrels)
    for sources in (paths, tuple(map(str, paths))):
        assert [doubt.check for doubt in doubts(*sources)] == ["ids_differ"]
    ranked = score_table_of_rankings(*paths, "mrr")
    gone = tmp_path / "none"
    queries = ranked.scores.index.tolist()
    assert doubts_about_rankings(gone, paths[1], ranked.hits, queries) == []
    assert doubts_about_rankings(paths[0], gone, ranked.hits, queries) == []


# -- changes of form


RUN = {"q1": {"x": 0.5, "guide#2": 0.9, "guide#1": 0.95}, "q2": {"guide#1": 0.3}}
QRELS = {"q1": {"guide": 1, "X": 2, "x": 1}, "q2": {"news": 1}}
CHANGED_RUN = [("q1", "guide", 0.95), ("q1", "x", 0.5), ("q2", "guide", 0.3)]
CHANGED_QRELS = [("q1", "guide", 1.0), ("q1", "x", 2.0), ("q2", "news", 1.0)]


@pytest.fixture(params=["dict", "frame", "file", "path as text", "rows"])
def both_forms(request, frame_of, write_run, write_qrels):
    if request.param == "dict":
        return RUN, QRELS
    if request.param == "frame":
        return as_frames(RUN, QRELS, frame_of)
    paths = write_run(RUN), write_qrels(QRELS)
    if request.param == "rows":
        return read_trec_run(paths[0]), paths[1]
    return tuple(map(str, paths)) if request.param == "path as text" else paths


def test_the_best_chunk_stands_for_its_document(both_forms):
    run, qrels, note = match_ranking_ids(*both_forms, ["retrieved:cut:#", "case"])
    assert list(run.columns) == ["query_id", "doc_id", "score"]
    assert list(qrels.columns) == ["query_id", "doc_id", "relevance"]
    assert sorted(run.itertuples(index=False, name=None)) == CHANGED_RUN
    assert sorted(qrels.itertuples(index=False, name=None)) == CHANGED_QRELS
    # The judgment that became equal to another one is no repeat of the run.
    assert note.startswith("ids are compared after retrieved:cut:#, case; 1 repeat of a document ")


def test_a_list_is_ranked_by_its_order():
    run, qrels, note = match_ranking_ids({"q": ["B", "a", "b"]}, {"q": ["a"]}, "case")
    assert run.to_dict("list") == {
        "query_id": ["q", "q"], "doc_id": ["b", "a"], "score": [0.0, -1.0]
    }  # fmt: skip
    assert qrels["relevance"].tolist() == [1.0]
    assert "1 repeat" in note


def test_one_side_alone_is_changed():
    run, qrels, _ = match_ranking_ids({"q": {"A": 1.0}}, {"q": {"B": 1}}, "gold:case")
    assert (run["doc_id"].tolist(), qrels["doc_id"].tolist()) == (["A"], ["b"])
    run, qrels, note = match_ranking_ids({"q": {"A": 1.0}}, {"q": {"B": 1}}, "retrieved:case")
    assert (run["doc_id"].tolist(), qrels["doc_id"].tolist()) == (["a"], ["B"])
    assert note == "ids are compared after retrieved:case"
