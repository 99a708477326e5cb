"""The order of a ranking: scores in double precision, then ids; ties told. By hand."""

import pytest

from rageval_report.errors import DataError
from rageval_report.rankings.score_tables import score_table_of_rankings

FORMS = ["dict", "frame", "file"]


@pytest.fixture(params=FORMS)
def given_run(request, frame_of, write_run):
    """A run as a dict, a frame or a file."""
    forms = {"dict": dict, "frame": lambda run: frame_of(run, "score"), "file": write_run}
    return forms[request.param]


def ranks_of(run, docs, ties="docid"):
    ranked = (score_table_of_rankings(run, {"q": [doc]}, "mrr", ties=ties) for doc in docs)
    return [int(one.hits.rank[0]) for one in ranked]


def test_of_equal_scores_the_later_id_goes_first(given_run):
    run = given_run({"q": {"d1": 0.5, "d3": 0.5, "d2": 0.5, "d0": 0.9}})
    assert ranks_of(run, ["d3", "d2", "d1"]) == [1, 2, 3]


def test_on_request_equal_scores_stand_as_given(given_run):
    run = given_run({"q": {"d1": 0.5, "d3": 0.5, "d2": 0.5, "d0": 0.9}})
    assert ranks_of(run, ["d1", "d3", "d2"], "input") == [1, 2, 3]


def test_ids_are_compared_by_code_point(given_run):
    # a private-use character of two UTF-16 units still comes after one of a single unit
    run = given_run({"q": {"z": 1, "é": 1, "\uffee": 1, "\U0001f600": 1}})
    assert ranks_of(run, ["\U0001f600", "\uffee", "é", "z"]) == [0, 1, 2, 3]


def test_scores_differ_in_double_precision(given_run):
    # in single precision, as in trec_eval 9 and pytrec_eval, the two are one number
    ranked = score_table_of_rankings(
        given_run({"q": {"a": 16777217, "b": 16777216}}), {"q": ["a"]}, "mrr"
    )
    assert ranked.scores["mrr"].tolist() == [1.0]
    assert ranked.details["tied_share"].tolist() == [0.0]


def test_scores_rank_and_not_the_order_of_the_rows(given_run):
    assert ranks_of(given_run({"q": {"low": -3.5, "top": 2e3, "mid": 0}}), ["top", "mid", "low"]) \
        == [0, 1, 2]  # fmt: skip


def test_the_column_of_ranks_of_a_file_is_not_asked_for(tmp_path):
    path = tmp_path / "run"
    path.write_text("q Q0 a 1 0.1 t\nq Q0 b 2 0.9 t\n")
    assert ranks_of(path, ["b", "a"]) == [0, 1]


def test_infinite_scores_rank(given_run):
    run = given_run({"q": {"a": float("-inf"), "b": 0.0, "c": float("inf")}})
    assert ranks_of(run, ["c", "b", "a"]) == [0, 1, 2]


def test_ties_can_be_refused(given_run):
    run = given_run({"q1": {"a": 0.5, "b": 0.5}, "q2": {"a": 1.0}})
    with pytest.raises(DataError, match="equal scores in 1 queries: 'q1'"):
        score_table_of_rankings(run, {"q1": ["a"], "q2": ["a"]}, "mrr", ties="error")


def test_the_share_of_tied_documents_is_told(given_run):
    run = given_run({"q1": {"a": 0.5, "b": 0.5, "c": 0.1, "d": 0.0}, "q2": {"a": 1.0}})
    ranked = score_table_of_rankings(run, {"q1": ["c"], "q2": ["a"]}, "mrr")
    assert ranked.details["tied_share"].tolist() == [0.5, 0.0]
    assert "1 of 2 queries has documents of equal score" in ranked.notes[0]


def test_neighbouring_queries_of_equal_scores_are_not_tied(given_run):
    run = given_run({"q1": {"a": 1}, "q2": {"b": 1}})
    ranked = score_table_of_rankings(run, {"q1": ["a"], "q2": ["b"]}, "mrr", ties="error")
    assert ranked.notes == ()


def test_a_constant_score_gives_no_perfect_ranking(given_run):
    # a scorer that says 1 of everything once got an MRR of 1 where the input's order was kept
    run = given_run({"q": {f"d{one}": 1.0 for one in range(10)}})
    assert score_table_of_rankings(run, {"q": ["d0"]}, "mrr").scores["mrr"].item() == 1 / 10
