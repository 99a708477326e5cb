"""What is left out of a run before it is joined with its judgments. By hand, and by plain loops."""

import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.rankings.inputs import JoinRules, credit_once, join_inputs
from rageval_report.rankings.score_tables import score_table_of_rankings

DOCS = st.sampled_from(["a", "b", "c", "q1", "q2"])
# Rows of a run with repeats, of few scores, so that repeats and others are equal.
ROWS = st.lists(
    st.tuples(st.sampled_from(["q1", "q2"]), DOCS, st.sampled_from([0.0, 0.5, 1.0])),
    min_size=1,
    max_size=14,
)
QRELS = {"q1": {"a": 1, "b": 2, "q1": 1}, "q2": {"a": 1, "c": 0, "q2": 3}}


def frame_of_rows(rows):
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])


def joined(run, rules):
    found = join_inputs(run, QRELS, rules)
    hits = found.joined.hits
    by_query = {
        query: [
            (rank, grade)
            for code, rank, grade in zip(hits.query, hits.rank, hits.grade, strict=True)
            if code == number
        ]
        for number, query in enumerate(found.joined.query_ids)
    }
    return by_query, hits.n_retrieved.tolist(), found.n_self, found.n_repeats


def expected(rows, rules):
    """The same, row by row: the best place of a document counts, ties by `rules.ties`."""
    by_query, n_retrieved, n_self, n_repeats = {}, [], 0, 0
    for query, judged in QRELS.items():
        ranking = [(doc, score) for name, doc, score in rows if name == query]
        ranking.sort(key=lambda row: -row[1])  # stable
        firsts = {doc: place for place, (doc, _) in reversed([*enumerate(ranking)])}
        is_repeat = [firsts[doc] != place for place, (doc, _) in enumerate(ranking)]
        kept = list(zip(ranking, is_repeat, strict=True))
        own = [row for row in kept if rules.drop_self and row[0][0] == query]
        if rules.duplicates == "best":
            n_repeats += sum(is_repeat)
            own = [row for row in own if not row[1]]
            kept = [row for row in kept if not row[1]]
        n_self += len(own)
        kept = [row for row in kept if not (rules.drop_self and row[0][0] == query)]
        if rules.duplicates == "keep":
            n_repeats += sum(repeats for _, repeats in kept)
        if rules.ties == "docid":  # of equal scores the later id goes first, a repeat after it
            kept.sort(key=lambda row: row[1])
            kept.sort(key=lambda row: row[0][0], reverse=True)
            kept.sort(key=lambda row: -row[0][1])
        by_query[query] = [
            (place, judged[doc])
            for place, ((doc, _), repeats) in enumerate(kept)
            if doc in judged and not repeats
        ]
        n_retrieved.append(len(kept))
    return by_query, n_retrieved, n_self, n_repeats


@given(ROWS, st.sampled_from(["docid", "input"]), st.booleans(), st.sampled_from(["best", "keep"]))
@settings(max_examples=150, deadline=None)
def test_repeats_and_the_query_itself_are_left_out_as_a_loop_does(rows, ties, drop_self, rule):
    rules = JoinRules(ties, 1, drop_self, rule)
    wanted = expected(rows, rules)
    assume(any(wanted[1]))  # something must be left
    assert joined(frame_of_rows(rows), rules) == wanted


@given(
    st.dictionaries(st.sampled_from(["q1", "q2"]), st.lists(DOCS, max_size=9), min_size=1),
    st.booleans(),
    st.sampled_from(["best", "keep"]),
)
@settings(max_examples=100, deadline=None)
def test_lists_of_ids_are_filtered_as_rows_are(lists, drop_self, rule):
    rules = JoinRules("input", 1, drop_self, rule)
    rows = [
        (query, doc, -float(place))
        for query, docs in lists.items()
        for place, doc in enumerate(docs)
    ]
    by_query, n_retrieved, n_self, n_repeats = expected(rows, rules)
    if drop_self and rule == "keep":
        # Repeats of a list become names of no document first, so that only the first is the query.
        own = {q: max(0, docs.count(q) - 1) for q, docs in lists.items()}
        assume(not any(own.values()))
    assume(any(n_retrieved))
    assert joined(lists, rules) == (by_query, n_retrieved, n_self, n_repeats)
    assert joined({q: tuple(docs) for q, docs in lists.items()}, rules) == (
        by_query, n_retrieved, n_self, n_repeats
    )  # fmt: skip


def test_repeats_of_a_file_keep_their_ranks(tmp_path):
    path = tmp_path / "run"
    path.write_text("".join(f"q1 Q0 {doc} 1 {9 - n} t\n" for n, doc in enumerate("xaxab")))
    by_query, n_retrieved, _, n_repeats = joined(path, JoinRules("docid", 1, False, "keep"))
    assert by_query["q1"] == [(1, 1), (4, 2)]
    assert (n_retrieved, n_repeats) == ([5, 0], 2)
    by_query, n_retrieved, _, n_repeats = joined(path, JoinRules("docid", 1, False, "best"))
    assert by_query["q1"] == [(1, 1), (2, 2)]
    assert (n_retrieved, n_repeats) == ([3, 0], 2)


def test_equal_scores_are_counted_as_they_were_before_repeats_got_other_names():
    rows = [("q1", "a", 1.0), ("q1", "a", 1.0), ("q1", "b", 0.5), ("q2", "c", 1.0), ("q2", "a", 0)]
    found = join_inputs(frame_of_rows(rows), QRELS, JoinRules("docid", 1, False, "keep"))
    assert found.joined.n_tied.tolist() == [2, 0]
    with pytest.raises(DataError, match="equal scores in 1 queries: 'q1'"):
        join_inputs(frame_of_rows(rows), QRELS, JoinRules("error", 1, False, "keep"))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("best", ["a", "b", "c"]), ("error", ["a", "b", "a", "c", "b"])],
)
def test_each_id_of_a_list_is_credited_once(rule, expected):
    assert credit_once(iter("abacb"), rule) == expected
    assert credit_once("abc", rule) == ["a", "b", "c"]


def test_repeats_of_a_list_get_names_of_no_document():
    first, second, third, fourth, fifth = credit_once("abacb", "keep")
    assert (first, second, fourth) == ("a", "b", "c")
    assert len({first, second, third, fourth, fifth}) == 5
    assert third.startswith("a\x01")
    assert fifth.startswith("b\x01")
    assert credit_once("abc", "keep") == ["a", "b", "c"]


def test_a_run_is_not_changed_by_leaving_the_query_out():
    run = {"q1": {"q1": 1.0, "a": 0.5}, "q2": {"q2": 1.0}}
    ranked = score_table_of_rankings(run, QRELS, "mrr", drop_self=True)
    assert ranked.scores["mrr"].tolist() == [1.0, 0.0]
    assert run == {"q1": {"q1": 1.0, "a": 0.5}, "q2": {"q2": 1.0}}
    assert ranked.notes[0] == (
        "drop_self: 2 retrieved documents have their query's id and are left out"
    )
    # Nothing is left of q2, so it is missing, as it is from a frame.
    assert ranked.notes[1].startswith("1 of 2 judged queries is missing")


@pytest.mark.parametrize("wrong", [3, None, [1], object])
def test_what_is_no_table_is_named_by_its_type(wrong):
    kind = type(wrong).__name__
    with pytest.raises(DataError, match=f"the run must be a mapping.*; got {kind}"):
        score_table_of_rankings(wrong, QRELS, "mrr")
    with pytest.raises(DataError, match=f"qrels must be a mapping.*; got {kind}"):
        score_table_of_rankings({"q1": ["a"]}, wrong, "mrr")


@pytest.mark.parametrize("run", [{"q1": ["a"]}, frame_of_rows([("q1", "a", 1.0)])])
def test_a_frame_has_rows_and_columns_of_different_names(run):
    with pytest.raises(DataError, match="qrels has no rows; expected one row per document"):
        score_table_of_rankings(run, frame_of_rows([]), "mrr")
    twice = pd.DataFrame([("q1", "a", 1, 2)], columns=["query_id", "doc_id", "rel", "rel"])
    with pytest.raises(DataError, match=r"columns of qrels must differ; .* twice: 'rel'"):
        score_table_of_rankings(run, twice, "mrr")
