"""Rankings of every form, arguments, order and coverage. Witnesses: arithmetic by hand, loops."""

from __future__ import annotations

import numpy as np
import pytest

from rageval_report import score_rankings
from rageval_report.errors import AlignmentError, DataError, UnknownNameError
from rageval_report.metrics.ranking_scores import metric_of, score_table_of_rankings

# -- forms of input


@pytest.mark.parametrize("run", [{1: {7: 1.0}}, {"1": {"7": 1.0}}, {np.int64(1): [7]}])
@pytest.mark.parametrize("qrels", [{1: {7: 1}}, {"1": {"7": 1}}, {1: ["7"]}])
def test_whole_numbers_as_ids_are_texts_on_both_sides(run, qrels):
    ranked = score_table_of_rankings(run, qrels, "mrr")
    assert ranked.scores["mrr"].to_dict() == {"1": 1.0}


# -- names of metrics


@pytest.mark.parametrize(
    ("name", "function", "k"),
    [
        ("nDCG@10", "ndcg", 10), ("ndcg_cut_10", "ndcg", 10), ("P_5", "precision", 5),
        ("precision@5", "precision", 5), ("mrr", "reciprocal_rank", None), ("hit@1", "hit", 1),
        ("success_1", "hit", 1), ("hit_rate@1", "hit", 1), ("ndcg_exp@10", "ndcg_exp", 10),
        ("recip_rank", "reciprocal_rank", None), ("map@100", "average_precision", 100),
        ("MRR@10", "reciprocal_rank", 10), ("Rprec", "r_precision", None),
        ("Single Hit", "single_hit", None), ("multi-hit@3", "multi_hit", 3),
        ("document_recall_multi_hit", "document_recall_multi_hit", None),
        ("recall_single_hit@5", "document_recall_single_hit", 5),
    ],
)  # fmt: skip
def test_the_fields_names_are_understood(name, function, k):
    compute, cutoff = metric_of(name)
    assert (compute.__name__, cutoff) == (function, k)


def test_an_unknown_metric_gets_the_nearest(run, qrels):
    with pytest.raises(UnknownNameError, match=r"named 'recal@5'. Did you mean 'recall'"):
        score_table_of_rankings(run, qrels, "recal@5")


# -- arguments


@pytest.mark.parametrize(
    ("metrics", "options", "told"),
    [
        ([], {}, "metrics must name at least one metric"),
        ("recall@0", {}, "k must be an integer >= 1"),
        ("mrr", {"ties": "random"}, 'ties must be "docid", "input" or "error"; got "random"'),
        ("mrr", {"no_relevant": "one"}, 'no_relevant must be "zero" or "skip"; got "one"'),
        ("mrr", {"duplicates": "last"}, 'duplicates must be "error", "best" or "keep"; got "last"'),
        ("mrr", {"relevance_level": 0}, "relevance_level must be a number > 0"),
        ("mrr", {"relevance_level": "2"}, "relevance_level must be a number > 0"),
    ],
)
def test_arguments_are_checked(run, qrels, metrics, options, told):
    with pytest.raises((DataError, UnknownNameError), match=told):
        score_rankings(run, qrels, metrics, **options)


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


def test_no_query_in_common_is_an_error_that_shows_three_of_each_side(given_as):
    pair = given_as(
        {f"q{one}": {"a": 1.0} for one in range(4)}, {str(one): {"a": 1} for one in range(5)}
    )
    told = (
        "queries of the run: 'q0', 'q1', 'q2' and 1 more; judged queries: '0', '1', '2' and 2 more"
    )
    with pytest.raises(AlignmentError, match=told):
        score_table_of_rankings(*pair, "mrr")


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


FORMS = ["dict", "frame", "file"]


@pytest.fixture(params=FORMS)
def given_run(request, frame_of, write_run):
    """A run as a dict, a frame or a file."""
    forms = {"dict": dict, "frame": lambda run: frame_of(run, "score"), "file": write_run}
    return forms[request.param]


def ranks_of(run, docs, ties="docid"):
    ranked = (score_table_of_rankings(run, {"q": [doc]}, "mrr", ties=ties) for doc in docs)
    return [int(one.joined.hits.rank[0]) for one in ranked]


def test_of_equal_scores_the_later_id_goes_first(given_run):
    run = given_run({"q": {"d1": 0.5, "d3": 0.5, "d2": 0.5, "d0": 0.9}})
    assert ranks_of(run, ["d3", "d2", "d1"]) == [1, 2, 3]


def test_scores_differ_in_double_precision(given_run):
    # in single precision, as in trec_eval 9 and pytrec_eval, the two are one number
    ranked = score_table_of_rankings(
        given_run({"q": {"a": 16777217, "b": 16777216}}), {"q": ["a"]}, "mrr"
    )
    assert ranked.scores["mrr"].tolist() == [1.0]
    assert ranked.details["tied_share"].tolist() == [0.0]
