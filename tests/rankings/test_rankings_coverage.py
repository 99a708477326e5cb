"""Queries and documents that do not match: missing, not judged, the query itself, repeats.

The outcomes are worked out by hand.
"""

import numpy as np
import pytest

from rageval_report.errors import AlignmentError, DataError
from rageval_report.metrics.ranking_scores import score_table_of_rankings

NAMES = ["mrr", "ndcg@10", "map", "bpref", "recall@2"]


@pytest.fixture(params=["dict", "frame", "file"])
def given_as(request, frame_of, write_run, write_qrels):
    """A run and its judgments as dicts, frames or files."""

    def given_as(run, qrels):
        return {
            "dict": lambda: (run, qrels),
            "frame": lambda: (frame_of(run, "score"), frame_of(qrels, "relevance")),
            "file": lambda: (write_run(run), write_qrels(qrels)),
        }[request.param]()

    return given_as


# -- queries


def test_a_judged_query_that_is_missing_scores_zero_and_is_counted(given_as):
    pair = given_as({"q1": {"a": 1.0}}, {"q1": {"a": 1}, "q2": {"b": 1}})
    ranked = score_table_of_rankings(*pair, NAMES)
    assert ranked.scores.loc["q2"].tolist() == [0] * len(NAMES)
    assert ranked.details.loc["q2", "n_retrieved"] == 0
    assert ranked.notes == ("1 of 2 judged queries is missing from the run and scores 0: 'q2'",)


def test_an_unjudged_query_is_ignored_and_listed(given_as):
    pair = given_as({"q1": {"a": 1.0}, "q9": {"a": 1.0}}, {"q1": {"a": 1}})
    ranked = score_table_of_rankings(*pair, "mrr")
    assert ranked.scores.index.tolist() == ["q1"]
    assert ranked.notes == ("1 query of the run is not judged and is ignored: 'q9'",)


def test_one_query_in_common_is_scored_and_the_others_are_told(given_as):
    pair = given_as(
        {"q1": {"a": 1.0}, "x2": {"a": 1.0}, "x3": {"a": 1.0}},
        {"q1": {"a": 1}, "y2": {"a": 1}, "y3": {"a": 1}},
    )
    ranked = score_table_of_rankings(*pair, "mrr")
    assert ranked.scores["mrr"].to_dict() == {"q1": 1.0, "y2": 0.0, "y3": 0.0}
    assert ranked.notes == (
        "2 of 3 judged queries are missing from the run and score 0: 'y2', 'y3'",
        "2 queries of the run are not judged and are ignored: 'x2', 'x3'",
    )


def test_no_query_in_common_is_an_error_that_shows_three_of_each_side(given_as):
    pair = given_as(
        {f"q{one}": {"a": 1.0} for one in range(4)}, {str(one): {"a": 1} for one in range(5)}
    )
    told = (
        "queries of the run: 'q0', 'q1', 'q2' and 1 more; judged queries: '0', '1', '2' and 2 more"
    )
    with pytest.raises(AlignmentError, match=told):
        score_table_of_rankings(*pair, "mrr")


@pytest.mark.parametrize("other", ["1.0", "01", " 1", "1 "])
def test_ids_that_only_look_alike_are_no_queries_in_common(other):
    with pytest.raises(AlignmentError, match=f"queries of the run: '1'; judged queries: '{other}'"):
        score_table_of_rankings({"1": ["a"]}, {other: ["a"]}, "mrr")


def test_no_judgments_are_an_error():
    with pytest.raises(DataError, match="qrels must have at least one judged query"):
        score_table_of_rankings({"q1": ["a"]}, {}, "mrr")


@pytest.mark.parametrize("grades", [(0, 0), (-1, -2)])
def test_a_query_without_relevant_documents_scores_zero_or_nothing(given_as, grades):
    # trec_eval 9 stops at a query of negative judgments alone
    judged = {"q1": dict(zip("ab", grades, strict=True)), "q2": {"a": 1}}
    pair = given_as({"q1": {"a": 1.0}, "q2": {"a": 1.0}}, judged)
    zero = score_table_of_rankings(*pair, "mrr", no_relevant="zero")
    skip = score_table_of_rankings(*pair, "mrr")
    assert zero.scores["mrr"].tolist() == [0.0, 1.0]
    np.testing.assert_array_equal(skip.scores["mrr"], [np.nan, 1.0])
    assert zero.notes == ("1 of 2 queries has no relevant documents, and scores 0: 'q1'",)
    assert skip.notes == (
        "1 of 2 queries has no relevant documents; retrieval metrics do not apply to it: 'q1'",
    )
    assert skip.details["mrr_state"].tolist() == ["not applicable", "scored"]
    assert skip.details["mrr_reason"].tolist() == ["the query has no relevant documents", None]
    assert "mrr_state" not in zero.details


def test_the_details_count_relevant_retrieved_and_judged(given_as, run, qrels):
    details = score_table_of_rankings(*given_as(run, qrels), ["recall@1", "ndcg@2", "map"]).details
    assert list(details) == [
        *("n_relevant", "n_retrieved", "tied_share"), "n_judged@1", "n_judged@2", "n_judged",
    ]  # fmt: skip
    assert details.loc["q1"].tolist() == [2, 3, 0, 0, 1, 2]
    assert details.loc["q2"].tolist() == [1, 2, 0, 1, 2, 2]


# -- the query itself among the documents


SELF_RUN = {"q1": {"q1": 9.0, "a": 1.0, "b": 0.5}, "q2": {"b": 2.0, "q1": 1.0}}
SELF_QRELS = {"q1": {"b": 1}, "q2": {"q1": 1}}


def test_on_request_it_is_left_out_and_counted(given_as):
    # of q1 the first; what bears the id of another query stays
    ranked = score_table_of_rankings(*given_as(SELF_RUN, SELF_QRELS), "mrr", drop_self=True)
    assert ranked.scores["mrr"].tolist() == [1 / 2, 1 / 2]
    assert ranked.details["n_retrieved"].tolist() == [2, 2]
    assert ranked.notes == ("drop_self: 1 retrieved document has its query's id and is left out",)


def test_a_run_of_nothing_but_its_queries_has_no_query_left(given_as):
    pair = given_as({"q1": {"q1": 1.0}, "q2": {"q2": 1.0}}, {"q1": {"a": 1}, "q2": {"a": 1}})
    with pytest.raises(
        AlignmentError, match="queries of the run: none; judged queries: 'q1', 'q2'"
    ):
        score_table_of_rankings(*pair, "mrr", drop_self=True)


def test_arguana_whose_queries_are_documents_loses_a_rank_to_each(real_data):
    # each query's own text is its nearest; without it the judged one, here second, is first
    lines = (real_data("beir_arguana_sample") / "qrels" / "test.tsv").read_text().splitlines()
    judged = dict(line.split("\t")[:2] for line in lines[1:])
    run = {query: [query, doc] for query, doc in judged.items()}
    path = real_data("beir_arguana_sample") / "qrels" / "test.tsv"
    kept, dropped = (
        score_table_of_rankings(run, path, "mrr", drop_self=flag) for flag in (False, True)
    )
    assert len(judged) == 150
    assert kept.scores["mrr"].unique().tolist() == [0.5]
    assert dropped.scores["mrr"].unique().tolist() == [1.0]
    assert dropped.notes[0].startswith("drop_self: 150 retrieved documents")


# -- repeats
