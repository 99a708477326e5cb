import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.errors import AlignmentError, UnknownNameError
from rageval_report.scores.align import align, cluster_hint, cluster_noun, match_queries

IDS = st.lists(st.text(max_size=12), unique=True, max_size=30)


def test_rows_are_paired_by_id_in_the_order_of_the_baseline():
    pair = align(pd.Index(["a", "b", "c", "d"]), pd.Index(["d", "x", "a", "c"]))
    assert pair.ids.tolist() == ["a", "c", "d"]
    assert pair.baseline_rows.tolist() == [0, 2, 3]
    assert pair.candidate_rows.tolist() == [2, 3, 0]
    assert pair.only_baseline.tolist() == ["b"]
    assert pair.only_candidate.tolist() == ["x"]


def test_the_columns_of_both_come_in_the_same_order():
    pair = align(pd.Index(["a", "b", "c"]), pd.Index(["c", "x", "a"]))
    assert pair.baseline(pd.Series([1.0, 2.0, 3.0])).tolist() == [1.0, 3.0]
    assert pair.candidate(pd.Series([30.0, 0.0, 10.0])).tolist() == [10.0, 30.0]


@pytest.mark.parametrize("dtype", ["str", "string", "object", "category"])
@pytest.mark.parametrize("other", ["str", "string", "object", "category"])
def test_ids_are_paired_whatever_pandas_keeps_them_in(dtype, other):
    pair = align(pd.Index(["a", "b"], dtype=dtype), pd.Index(["b", "c", "a"], dtype=other))
    assert pair.candidate_rows.tolist() == [2, 0]


@given(IDS, IDS)
@settings(max_examples=60)
def test_a_pairing_is_an_inner_join_that_loses_nothing(ours, theirs):
    pair = align(pd.Index(ours, dtype="str"), pd.Index(theirs, dtype="str"))
    assert pair.ids.tolist() == [one for one in ours if one in theirs]
    assert pair.only_baseline.tolist() == [one for one in ours if one not in theirs]
    assert pair.only_candidate.tolist() == [one for one in theirs if one not in ours]
    column = pd.Series(range(len(theirs)), index=theirs)
    assert pair.candidate(column).tolist() == [theirs.index(one) for one in pair.ids]


OURS = RAGPipelineEvaluation(
    "ours",
    {
        "query_id": ["a", "b", "c", "d"],
        "question": ["Who?", "Why so?", "Why so?", "Ｗhen?"],
        "f1": [0.0, 0.25, 0.5, 1.0],
    },
)


def theirs(questions, ids=None, column="user_input"):
    ids = ids or [f"x{i}" for i in range(len(questions))]
    scores = [1.0] * len(questions)
    return RAGPipelineEvaluation("theirs", {"id": ids, column: questions, "f1": scores})


def test_blanks_and_unicode_forms_make_no_difference_and_equal_texts_match_in_order():
    run = theirs([" Why\u00a0so? ", "When?", "Why\nso?", "Who?"])
    assert list(match_queries(run, OURS, "question").scores.index) == ["b", "d", "c", "a"]


def test_a_query_of_one_run_keeps_its_own_id_and_takes_nobody_elses():
    run = theirs(["Who?", "How?", "Where?"], ids=["b", "a", "z"])
    assert list(match_queries(run, OURS, "question").scores.index) == ["a", "theirs:a", "z"]


def test_a_comparison_on_questions_pairs_what_ids_cannot():
    run = theirs(["Who?", "How?"])
    with pytest.raises(AlignmentError, match="share no query id"):
        compare(OURS, run)
    found = compare(OURS, run, on="question")
    assert found.frame.loc[0, "n"] == 1
    assert found.frame.loc[0, "difference"] == 1.0
    assert found.settings["on"] == "question"
    assert any("1 query is in 'theirs' only: 'x1'" in note for note in found.notes)
    assert any("3 queries are in 'ours' only" in note for note in found.notes)
    assert list(found.improvements("f1").index) == ["a"]


def test_matching_by_ids_and_by_questions_agree_where_both_can():
    run = theirs(list(OURS.details["question"]), ids=list(OURS.scores.index), column="question")
    by_id, by_text = compare(OURS, run).frame, compare(OURS, run, on="question").frame
    assert by_id.equals(by_text)


def test_a_column_that_is_not_there_and_texts_that_never_meet_are_told():
    with pytest.raises(UnknownNameError, match="detail column of 'ours'"):
        compare(OURS, theirs(["Who?"]), on="topic")
    with pytest.raises(AlignmentError, match=r"on='question': .* have no text in common"):
        compare(OURS, theirs(["How?"]), on="question")


HINT = "24 queries come from 8 documents; if these are not independent, pass clusters='document'"


def run(name="rag", scores=None, **details):
    n = len(next(iter(details.values())))
    scores = [0.5] * n if scores is None else scores
    data = {"query_id": [f"q{i}" for i in range(n)], "recall": scores, **details}
    return RAGPipelineEvaluation(name, data)


def documents(n=24, questions=3):
    return [f"d{i // questions}" for i in range(n)]


@pytest.mark.parametrize(
    ("column", "noun"),
    [
        ("document", "documents"),
        ("Document ID", "documents"),
        ("doc_id", "documents"),
        ("conversationId", "conversations"),
        ("cluster_id", "clusters"),
        ("user", "users"),
        ("source", "sources"),
        ("session-id", "sessions"),
        ("user_input", None),
        ("resource", None),
        ("topic", None),
        ("query_id", None),
    ],
)
def test_a_column_is_known_by_its_name(column, noun):
    assert cluster_noun(column) == noun


@pytest.mark.parametrize(
    "values",
    [
        [f"d{i}" for i in range(24)],  # each query has its own
        [f"d{max(i - 6, 0)}" for i in range(24)],  # few share one
        ["web", "file"] * 12,  # kinds, not clusters
        [None] * 24,
    ],
)
def test_what_few_queries_share_is_no_cluster(values):
    assert cluster_hint(run(source=values)) is None


def test_cells_that_have_no_hash_are_counted_as_texts():
    assert "8 documents" in cluster_hint(run(document=[[name] for name in documents()]))


def test_a_comparison_and_its_gates_give_the_hint_and_apply_nothing():
    before, after = (
        [0.3 + i / 50 for i in range(24)],
        [0.3 + i / 50 + (i % 5 - 2) / 31 for i in range(24)],
    )
    a, b = run("a", before, document=documents()), run("b", after, document=documents())
    comparison = compare(a, b)
    assert HINT in comparison.notes
    assert HINT in comparison.gate("losses(recall) <= 24").notes
    assert HINT in b.gate("mean(recall) >= 0").notes
    assert not comparison.frame["test"].str.startswith("cluster").any()
    assert HINT in b.evaluation_report().notes
    assert HINT in b.report().sections[0].results[0].notes
