"""The order of a ranking: scores in double precision, then ids; ties told. By hand."""

import pytest

from rageval_report.metrics.ranking_scores import score_table_of_rankings

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


def test_a_constant_score_gives_no_perfect_ranking(given_run):
    # a scorer that says 1 of everything once got an MRR of 1 where the input's order was kept
    run = given_run({"q": {f"d{one}": 1.0 for one in range(10)}})
    assert score_table_of_rankings(run, {"q": ["d0"]}, "mrr").scores["mrr"].item() == 1 / 10
