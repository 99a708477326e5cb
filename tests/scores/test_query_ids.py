import pandas as pd
import pytest

from rageval_report.errors import DataError
from rageval_report.scores import score_table
from rageval_report.scores.query_ids import query_ids
from rageval_report.scores.table import question_text

arrow_texts = pytest.mark.skipif(
    getattr(pd.Series(["a"]).dtype, "storage", None) != "pyarrow",
    reason="pandas keeps texts as Python's own",
)

# -- where the ids stand


def test_an_index_of_texts_holds_the_ids():
    table = score_table(pd.DataFrame({"recall": [0.5, 1.0]}, index=["a", "b"]))
    assert table.scores.index.tolist() == ["a", "b"]


def test_a_named_index_of_ids_goes_before_a_column_of_other_ids():
    index = pd.Index([3, 1], name="query_id")
    table = score_table(pd.DataFrame({"recall": [0.5, 1.0], "id": ["x", "y"]}, index=index))
    assert table.scores.index.tolist() == ["3", "1"]


def test_an_index_of_numbers_holds_the_ids_where_nothing_else_does():
    table = score_table(pd.DataFrame({"recall": [0.5, 1.0]}, index=[7, 3]))
    assert table.scores.index.tolist() == ["7", "3"]
    assert table.notes == ("query ids are the numbers of the index",)


def test_an_index_of_levels_is_refused():
    index = pd.MultiIndex.from_tuples([("a", 1), ("b", 1)])
    with pytest.raises(DataError, match=r"the index has 2 levels\. Make columns .* reset_index"):
        score_table(pd.DataFrame({"recall": [0.5, 1.0]}, index=index))


@arrow_texts
def test_ids_with_half_a_surrogate_pair_are_refused():
    frame = pd.DataFrame({"query_id": pd.Series(["a\ud83d", "b"], dtype=object), "recall": [1, 0]})
    with pytest.raises(DataError, match=r"query ids must be valid texts; got 'a.ud83d'"):
        score_table(frame)


# -- ids that are derived from questions


def ids_of(*questions):
    return score_table({"question": questions, "recall": [1.0] * len(questions)}).scores.index


def test_the_id_of_a_question_does_not_depend_on_white_space_or_composition():
    composed, decomposed = "Où est  l'été ?\n", "Ou\u0300 est l'e\u0301te\u0301\u00a0?"
    assert ids_of(composed).equals(ids_of(decomposed))


def test_equal_questions_are_one_query():
    assert len(ids_of("same?", "other?", "same?", " same? ")) == 2


# -- the columns by name


def test_the_question_is_found_under_the_names_of_frameworks():
    assert question_text(pd.DataFrame(columns=["User Input", "answer"])) == "User Input"
    assert question_text(pd.DataFrame(columns=["answer"])) is None


@pytest.mark.parametrize(
    "reorder",
    [
        lambda frame: frame,
        lambda frame: frame[::-1],
        lambda frame: frame.sample(frac=1, random_state=1),
        lambda frame: frame.set_axis(range(10, 16)),
        lambda frame: frame.set_axis([0, 1, 2] * 2),  # of two frames that were concatenated
    ],
)
def test_numbered_repeats_of_a_question_are_one_query_whatever_the_index_is(reorder):
    questions = ["Who?", "Where?", "When?"] * 2
    frame = pd.DataFrame(
        {"question": questions, "trial": [1] * 3 + [2] * 3, "recall": [0.0, 0.2, 0.4, 1, 0.6, 0.8]}
    )
    table = score_table(reorder(frame))
    assert table.notes[0] == "queries are matched by the text in 'question'"
    # By hand: the means of 0 and 1, of 0.2 and 0.6, of 0.4 and 0.8.
    assert sorted(table.scores["recall"]) == pytest.approx([0.4, 0.5, 0.6])


def test_records_that_no_column_numbers_are_queries_of_their_own():
    frame = pd.DataFrame({"question": ["Who?", "Who?", "When?"], "trial": [1, 1, 1], "recall": 0.5})
    ids, _, notes = query_ids(frame, "query_id")
    assert ids[1] == f"{ids[0]}#2"
    assert notes[1].startswith("1 rows repeat a question ('Who?')")
