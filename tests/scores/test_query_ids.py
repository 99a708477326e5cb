import math

import numpy as np
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


@pytest.mark.parametrize("column", ["query_id", "Query ID", "query-id", "QueryId"])
def test_the_column_of_ids_is_found_in_any_spelling(column):
    table = score_table({column: ["a"], "recall": [1.0]})
    assert table.scores.index.tolist() == ["a"]
    assert table.details.columns.empty


@pytest.mark.parametrize("column", ["qid", "id", "_id", "question_id", "sample_id", "Example ID"])
def test_other_usual_names_are_looked_for_and_that_is_noted(column):
    table = score_table({"recall": [1.0], column: ["a"]})
    assert table.scores.index.tolist() == ["a"]
    assert table.notes == (f"query ids are taken from column {column!r}",)


def test_the_caller_names_the_column_of_ids():
    table = score_table({"query_id": ["x"], "my key": ["a"], "recall": [1.0]}, query_id="my key")
    assert table.scores.index.tolist() == ["a"]
    assert list(table.details) == ["query_id"]


def test_a_column_of_ids_that_is_not_there_is_told_with_the_columns_that_are():
    with pytest.raises(DataError, match=r"no column is named 'key'; columns: 'id', 'recall'"):
        score_table({"id": ["a"], "recall": [1.0]}, query_id="key")


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


def test_a_table_without_ids_index_or_questions_is_refused():
    with pytest.raises(DataError, match=r"no column holds query ids: .* columns: 'recall', 'note'"):
        score_table({"recall": [1.0], "note": ["x"]})


@pytest.mark.parametrize(
    ("ids", "texts"),
    [
        ([1, 2], ["1", "2"]),
        ([1.0, 2.0], ["1", "2"]),
        (np.array([2**53, 0], dtype=float), ["9007199254740992", "0"]),
        (pd.array([1, 2], dtype="UInt8"), ["1", "2"]),
        (["001", "NA"], ["001", "NA"]),
        (["nan", "null"], ["nan", "null"]),
        ([" a", "a"], [" a", "a"]),
        (["é", "e\u0301"], ["é", "e\u0301"]),
        ([True, False], ["True", "False"]),
    ],
)
def test_ids_are_texts_as_they_stand(ids, texts):
    assert score_table({"query_id": ids, "recall": [1, 0]}).scores.index.tolist() == texts


def test_duplicate_ids_are_named_up_to_five():
    ids = [*"abcdefg", *"abcdef"]
    message = (
        r"query ids must be unique; these appear more than once: 'a', 'b', 'c', 'd', 'e' and 1 "
        r"more\. "
        r'To average repeated runs .* duplicates="mean"'
    )
    with pytest.raises(DataError, match=message):
        score_table({"query_id": ids, "recall": [1.0] * 13})


@pytest.mark.parametrize("missing", [None, math.nan, pd.NA])
def test_missing_ids_are_told_by_row(missing):
    message = r"every row needs a query id; rows 1, 3, counted from 0, have none"
    with pytest.raises(DataError, match=message):
        score_table({"query_id": ["a", missing, "c", missing], "recall": [1.0] * 4})


@pytest.mark.parametrize("blank", ["", "  ", "\t\n", "\u00a0"])
def test_blank_ids_are_told_by_row(blank):
    with pytest.raises(DataError, match=r"rows 1, counted from 0, have a blank one"):
        score_table({"query_id": ["a", blank], "recall": [1.0, 0.0]})


def test_1_and_the_text_1_are_not_one_query():
    message = (
        r"query ids of different types must not look the same, as 1 and '1' do: '1'; make them all "
        r"te"
    )
    with pytest.raises(DataError, match=message):
        score_table({"query_id": [1, "1", "2"], "recall": [1.0] * 3})


@pytest.mark.parametrize("ids", [[0.5, 1.0], [math.inf, 1.0], [1e300, 1.0], [2.0**53 + 2, 1.0]])
def test_ids_are_no_fractions(ids):
    with pytest.raises(DataError, match=r"query ids must be texts or integers; got"):
        score_table({"query_id": ids, "recall": [1.0, 0.0]})


@arrow_texts
def test_ids_with_half_a_surrogate_pair_are_refused():
    frame = pd.DataFrame({"query_id": pd.Series(["a\ud83d", "b"], dtype=object), "recall": [1, 0]})
    with pytest.raises(DataError, match=r"query ids must be valid texts; got 'a.ud83d'"):
        score_table(frame)


# -- ids that are derived from questions


def ids_of(*questions):
    return score_table({"question": questions, "recall": [1.0] * len(questions)}).scores.index


def test_the_id_of_a_question_is_always_the_same():
    """The digest is BLAKE2b with 8 bytes, as coreutils' ``b2sum -l 64`` gives it."""
    assert ids_of("Who wrote it?").tolist() == ["q-12a6a421271550ec"]


def test_the_id_of_a_question_does_not_depend_on_white_space_or_composition():
    composed, decomposed = "Où est  l'été ?\n", "Ou\u0300 est l'e\u0301te\u0301\u00a0?"
    assert ids_of(composed).equals(ids_of(decomposed))


def test_equal_questions_are_one_query():
    assert len(ids_of("same?", "other?", "same?", " same? ")) == 2


@pytest.mark.parametrize("missing", [None, "", "  "])
def test_without_ids_every_row_needs_a_question(missing):
    with pytest.raises(DataError, match=r"no query ids, and rows 1, counted from 0, have no ques"):
        ids_of("one?", missing, "three?")


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
    assert table.notes[0] == "query ids are derived from the text of column 'question'"
    # By hand: the means of 0 and 1, of 0.2 and 0.6, of 0.4 and 0.8.
    assert sorted(table.scores["recall"]) == pytest.approx([0.4, 0.5, 0.6])


def test_records_that_no_column_numbers_are_queries_of_their_own():
    frame = pd.DataFrame({"question": ["Who?", "Who?", "When?"], "trial": [1, 1, 1], "recall": 0.5})
    ids, _, notes = query_ids(frame, "query_id")
    assert ids[1] == f"{ids[0]}#2"
    assert notes[1].startswith("1 rows repeat a question ('Who?')")
