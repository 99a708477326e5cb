"""Doubts about the ids of a run and its judgments, and changes of their form. By hand."""

import pandas as pd
import pytest

from rageval_report.rankings.ranking_ids import doubts_about_rankings, match_ranking_ids
from rageval_report.rankings.score_tables import score_table_of_rankings
from rageval_report.rankings.trec.files import read_trec_run


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


def share_in(doubt):
    return doubt.message.partition(" were retrieved, and ")[0::2]


def test_frames_are_compared_again_only_if_few_queries_meet_their_gold(frame_of):
    # 5 of 30 are fewer than a fifth, 6 of 30 are not
    (doubt,) = doubts(*as_frames(*tables(30, 5), frame_of))
    assert doubt.check == "ids_differ"
    assert share_in(doubt)[0] == "5 of 35 gold ids (14%)"
    assert share_in(doubt)[1].startswith("35 (100%) after a change of form: gold 'D0'")
    assert doubts(*as_frames(*tables(30, 6), frame_of)) == []


def test_frames_are_compared_again_if_half_of_the_queries_retrieved_nothing(frame_of):
    run, qrels = tables(6, 6)
    half = {query: run[query] for query in list(run)[:3]}
    # Only different forms are looked for, because some gold was retrieved: not "no_retrieved".
    (doubt,) = doubts(*as_frames(half, qrels, frame_of))
    assert doubt.check == "ids_differ"
    assert share_in(doubt)[0] == "3 of 6 gold ids (50%)"
    more = {query: run[query] for query in list(run)[:4]}
    assert doubts(*as_frames(more, qrels, frame_of)) == []


def test_every_check_is_made_if_no_gold_was_retrieved():
    run = {f"q{i}": {"a": 0.9, "b": 0.8} for i in range(12)}
    found = doubts(run, {query: {f"x{query}": 1} for query in run})
    assert [doubt.check for doubt in found] == ["ids_never_meet", "same_retrieved"]
    empty = {"q1": {}, "q2": {}, "q3": {"a": 1.0}}
    found = doubts(empty, {query: {f"x{query}": 1} for query in empty})
    assert [doubt.check for doubt in found] == ["no_retrieved"]


def test_dicts_are_always_compared_by_a_sample_of_their_queries():
    # 30 queries, at most 25 of them: every second one, so 15 queries with two gold ids each
    (doubt,) = doubts(*tables(30, 30))
    assert share_in(doubt)[0] == "15 of 30 gold ids (50%)"
    assert doubt.query_ids == ("q0", "q2", "q4", "q6", "q8")
    (doubt,) = doubts(*tables(25, 25))
    assert share_in(doubt)[0] == "25 of 50 gold ids (50%)"


def test_no_more_than_five_hundred_queries_are_compared_again():
    (doubt,) = doubts(*tables(500, 0))
    assert share_in(doubt)[0] == "0 of 500 gold ids (0%)"
    (doubt,) = doubts(*tables(501, 0))
    assert share_in(doubt)[0] == "0 of 251 gold ids (0%)"


def test_one_dict_and_one_frame_are_not_both_in_memory(frame_of):
    run, qrels = tables(5, 5)
    assert doubts(run, frame_of(qrels, "relevance")) == []
    assert doubts(frame_of(run, "score"), qrels) == []
    assert [doubt.check for doubt in doubts(run, qrels)] == ["ids_differ"]


def test_queries_without_relevant_documents_raise_no_doubt():
    assert doubts({"q": {"a": 1.0}}, {"q": {"A": 0}}) == []


def test_only_grades_at_the_relevance_level_are_gold():
    run = {f"q{i}": {f"d{i}": 1.0} for i in range(4)}
    qrels = {f"q{i}": {f"D{i}": 2, f"other{i}": 1} for i in range(4)}
    (doubt,) = doubts(run, qrels, level=2)
    assert share_in(doubt)[0] == "0 of 4 gold ids (0%)"
    (doubt,) = doubts(run, qrels, level=1)
    assert share_in(doubt)[0] == "0 of 8 gold ids (0%)"


def test_the_first_hundred_results_are_compared():
    def run_with(place):
        docs = [f"x{n}" for n in range(120)]
        docs[place] = "d"
        return {"q0": docs, "q1": ["e", "f"]}

    qrels = {"q0": ["D"], "q1": ["E"]}
    (doubt,) = doubts(run_with(99), qrels)
    assert share_in(doubt)[1].startswith("2 (100%)")
    (doubt,) = doubts(run_with(100), qrels)
    assert share_in(doubt)[1].startswith("1 (50%)")


def test_the_best_of_a_dict_in_any_order_come_first():
    docs = {**{f"x{n}": 1.0 for n in range(100)}, "d": 2.0}
    (doubt,) = doubts({"q0": docs, "q1": {"e": 1}}, {"q0": ["D"], "q1": ["E"]})
    assert share_in(doubt)[1].startswith("2 (100%)")
    docs["d"] = 0.5
    (doubt,) = doubts({"q0": docs, "q1": {"e": 1}}, {"q0": ["D"], "q1": ["E"]})
    assert share_in(doubt)[1].startswith("1 (50%)")


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


def test_queries_named_by_numbers_are_found():
    run, qrels = {7: {"d": 1.0}, 8: {"e": 1.0}}, {7: {"D": 1}, 8: {"E": 1}}
    assert [doubt.query_ids for doubt in doubts(run, qrels)] == [("7", "8")]


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


def test_rows_stay_in_their_order(frame_of):
    run, _, _ = match_ranking_ids(*as_frames(RUN, QRELS, frame_of), ["retrieved:cut:#", "case"])
    assert run["doc_id"].tolist() == ["x", "guide", "guide"]


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


def test_equal_documents_of_two_queries_are_no_repeats():
    run, _, note = match_ranking_ids({"p": ["A"], "q": ["a"]}, {"p": ["a"], "q": ["a"]}, "case")
    assert run["query_id"].tolist() == ["p", "q"]
    assert "repeat" not in note


def test_numbers_as_ids_are_texts():
    frame = pd.DataFrame({"query_id": [1], "doc_id": [7], "score": [0.5]})
    run, qrels, _ = match_ranking_ids(frame, {1: [7]}, "case")
    assert [table.iloc[0, :2].tolist() for table in (run, qrels)] == [["1", "7"]] * 2
