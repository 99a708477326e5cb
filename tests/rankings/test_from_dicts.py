"""Runs and judgments as dicts. Witness: each list sorted by Python, score by score and id by id."""

from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.rankings.dict_columns import NotPlainError
from rageval_report.rankings.from_dicts import join_dicts
from rageval_report.rankings.score_tables import score_table_of_rankings

DOCS = [f"d{one}" for one in range(60)] + ["d", "D", "é", "z\U0001f600", "z\uffff", ""]
SCORES = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-12, 2.5, float("inf"), float("-inf")])
TABLES = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(st.sampled_from(DOCS), SCORES, max_size=60),
    min_size=1,
)


def hits_by_sorting(run, qrels, by_id):
    """Query, rank and grade of each judged document that was retrieved."""
    rows = []
    for code, (query, judged) in enumerate(qrels.items()):
        ranking = list(run.get(query, {}).items())
        if by_id:
            ranking.sort(key=lambda row: row[0], reverse=True)
        ranking.sort(key=lambda row: -row[1])  # stable
        places = [(rank, doc) for rank, (doc, _) in enumerate(ranking)]
        rows += [(code, rank, judged[doc]) for rank, doc in places if doc in judged]
    return rows


@settings(max_examples=200)
@given(run=TABLES, share=st.integers(1, 20), by_id=st.booleans(), part=st.sampled_from([1, 2, 512]))
def test_ranks_are_those_of_sorted_lists(run, share, by_id, part):
    qrels = {
        query: {doc: place for place, doc in enumerate(DOCS) if place % share == 0}
        for query in (*run, "q9")
    }
    ties = "docid" if by_id else "input"
    # From the second part on, rows are sorted with the scores if most queries before had ties.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rageval_report.rankings.from_dicts._PART", part)
        hits = join_dicts(run, qrels, ties=ties, relevance_level=1).hits
    found = zip(hits.query.tolist(), hits.rank.tolist(), hits.grade.tolist(), strict=True)
    assert list(found) == hits_by_sorting(run, qrels, by_id)


@pytest.mark.parametrize("by_id", [True, False])
@pytest.mark.parametrize("depth", [3, 16, 17, 200])
def test_a_list_of_one_score_is_ranked_whatever_its_length(depth, by_id):
    docs = [f"{(7 * one) % depth:04d}" for one in range(depth) if one % 7 or depth % 7]
    run = {"q1": dict.fromkeys(docs, 0.5)}
    qrels = {"q1": dict.fromkeys(docs[::2], 1)}
    hits = join_dicts(run, qrels, ties="docid" if by_id else "input", relevance_level=1).hits
    assert hits.rank.tolist() == [rank for _, rank, _ in hits_by_sorting(run, qrels, by_id)]


@pytest.mark.parametrize("n", [63, 64, 65, 200])
def test_queries_that_are_read_in_several_goes_stay_apart(n):
    run = {f"q{one}": {"a": 3.0, "b": 2.0, "c": 2.0, "x": 1.0} for one in range(n)}
    qrels = {f"q{one}": {"abcx"[one % 4]: 1, "y": 1} for one in reversed(range(n))}
    hits = join_dicts(run, qrels, ties="docid", relevance_level=1).hits
    assert hits.query.tolist() == list(range(n))
    assert hits.rank.tolist() == [[0, 2, 1, 3][one % 4] for one in reversed(range(n))]


def test_other_mappings_are_read_as_dicts_are():
    run = {"q1": OrderedDict(a=0.5, b=0.5, c=0.1)}
    ranked = score_table_of_rankings(run, {"q1": OrderedDict(a=1)}, "mrr")
    assert ranked.scores["mrr"].tolist() == [0.5]


@pytest.mark.parametrize("size", [2, 40])
def test_ids_of_a_tie_that_cannot_be_compared_are_refused(size):
    docs = {"a": 0.5, 1: 0.5, **{f"b{one}": 0.5 for one in range(size - 2)}}
    with pytest.raises(DataError, match="document ids must all be texts"):
        join_dicts({"q1": docs}, {"q1": {"a": 1}}, ties="docid", relevance_level=1)


@pytest.mark.parametrize("wrong", ["high", None, float("nan"), [1]])
def test_what_is_no_number_is_named_wherever_it_stands(wrong):
    run = {f"q{one}": {"a": 1.0, "b": 0.5} for one in range(50)}
    run["q41"]["b"] = wrong
    with pytest.raises(DataError, match="score of document 'b' for query 'q41'"):
        score_table_of_rankings(run, {query: {"a": 1} for query in run}, "mrr")


@pytest.mark.parametrize("part", [1, 2, 5])
def test_parts_of_the_queries_change_nothing(monkeypatch, part):
    run = {f"q{n}": {f"d{m}": float(m * n % 5) for m in range(n)} for n in range(1, 9)}
    qrels = {f"q{n}": {f"d{m}": m % 3 for m in range(0, 9, 2)} for n in range(10)}
    whole = score_table_of_rankings(run, qrels, ["mrr", "ndcg@3", "bpref"])
    monkeypatch.setattr("rageval_report.rankings.from_dicts._PART", part)
    in_parts = score_table_of_rankings(run, qrels, ["mrr", "ndcg@3", "bpref"])
    assert in_parts.scores.equals(whole.scores)
    assert in_parts.details.equals(whole.details)
    assert in_parts.notes == whole.notes


def test_ids_that_are_numbers_in_a_later_query_are_read_as_texts():
    run, qrels = {"a": {"x": 1.0}, "b": {7: 2.0, 8: 1.0}}, {"a": {"x": 1}, "b": {"8": 1}}
    assert score_table_of_rankings(run, qrels, "mrr").scores["mrr"].tolist() == [1.0, 0.5]


def test_ids_of_a_kind_of_text_are_texts():
    run = {"a": {np.str_("x"): 1.0, np.str_("y"): 0.5}}
    assert score_table_of_rankings(run, {"a": {"y": 1}}, "mrr").scores["mrr"].tolist() == [0.5]


def test_a_document_without_an_id_is_named_by_its_query():
    run = {"a": {"x": 1.0}, "b": {"x": 1.0, None: 2.0}}
    with pytest.raises(DataError, match=r"the run has a document without an id \(None\): 'b'"):
        score_table_of_rankings(run, {"a": {"x": 1}, "b": {"x": 1}}, "mrr")


@pytest.mark.parametrize("docs", [["x"], "x", None, 3])
def test_a_query_whose_documents_are_no_mapping_is_left_to_plain_table(docs):
    run = {"a": {"x": 1.0}, "b": docs}
    for qrels in ({"a": {"x": 1}, "b": {"x": 1}}, {"a": {"x": 1}}, {"c": {"x": 1}}):
        with pytest.raises(NotPlainError, match="must be a mapping"):
            join_dicts(run, qrels, ties="input", relevance_level=1)


def test_query_ids_that_are_numbers_on_one_side_are_matched_as_texts():
    run, qrels = {1: {"x": 1.0}, "2": {"x": 1.0}}, {"1": {"x": 1}, "2": {"y": 1}}
    for pair in ((run, qrels), ({1: {"x": 1.0}}, {"1": {"x": 1}}), (qrels, run)):
        assert score_table_of_rankings(*pair, "mrr").scores["mrr"].tolist()[0] == 1.0


def test_tables_that_were_not_made_plain_are_refused():
    with pytest.raises(NotPlainError, match="must all be texts"):
        join_dicts({"a": {1: 1.0}}, {"a": {1: 1}}, ties="input", relevance_level=1)


@pytest.mark.parametrize("score", [np.float32(2), np.int64(2), 2, "2"])
def test_numbers_of_any_kind_are_scores(score):
    run, qrels = {"a": {"x": score, "y": 1.0}}, {"a": {"x": 1}}
    assert score_table_of_rankings(run, qrels, "mrr").scores["mrr"].tolist() == [1.0]
