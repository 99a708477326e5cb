from __future__ import annotations

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError, ReaderError, UnknownNameError
from rageval_report.readers import READERS, Source, read
from rageval_report.readers.delimited import best_delimiters
from rageval_report.scores import score_table

# -- what cells mean


@pytest.mark.parametrize("word", ["NA", "null", "None", "nan", "N/A", "", "-", "#N/A"])
def test_ids_that_other_readers_take_for_missing_are_ids(frame_text, word):
    ids = ["q1", word or " ", "q3"]
    frame = frame_text("query_id,recall\n" + "".join(f"{one},0.5\n" for one in ids))
    assert frame["query_id"].tolist() == ids


@pytest.mark.parametrize(
    "ids",
    [
        ["001", "002", "010"],
        ["1", "2", "3"],
        ["0", "10", "20"],
        ["1e5", "2e5", "3"],
        ["12345678901234567890", "1", "2"],
        ["True", "False", "x"],
        ["True", "False", "False "],
        ["1.0", "2.0", "3.50"],
        ["+1", "-2", "3"],
        ["inf", "nan", "1"],
        ["0", "00", "000"],
        ["1", "2 ", " 3"],
        ["9223372036854775807", "999", "1000"],
        ["9223372036854775808", "2", "3"],
    ],
)
@pytest.mark.parametrize("position", [0, 1])
def test_ids_are_the_texts_that_stand_in_the_file(frame_text, ids, position):
    lines = [("0.5", one) if position else (one, "0.5") for one in ids]
    header = "recall,query_id" if position else "query_id,recall"
    frame = frame_text(header + "\n" + "\n".join(",".join(line) for line in lines))
    assert frame["query_id"].tolist() == ids


@pytest.mark.parametrize("name", ["query_id", "Query ID", "id", "qid", "question_id", "sample_id"])
def test_ids_are_texts_under_each_usual_name(frame_text, name):
    assert frame_text(f"{name},recall\n007,1\n")[name].tolist() == ["007"]


def test_ids_of_documents_are_texts_too(frame_text):
    frame = frame_text("query_id,doc_id,recall\nq1,0042,1\nq2,0043,1\n")
    assert frame["doc_id"].tolist() == ["0042", "0043"]


def test_the_column_of_ids_may_be_named(frame_text):
    frame = frame_text("ticket,recall\n007,1\n", query_id="ticket")
    assert frame["ticket"].tolist() == ["007"]


def test_an_answer_none_is_an_answer(frame_text):
    frame = frame_text("query_id,answer,recall\nq1,None,1\nq2,NA,0\nq3,,1\n")
    assert frame["answer"].tolist()[:2] == ["None", "NA"]
    assert pd.isna(frame["answer"].iloc[2])


@pytest.mark.parametrize("answers", [["1.50", "007"], ["True", "False"], ["1e3", "None"]])
@pytest.mark.parametrize("name", ["answer", "Reference", "response", "ground_truth"])
def test_answers_that_look_like_numbers_are_texts(frame_text, name, answers):
    rows = "".join(f"q{i},{answer},1\n" for i, answer in enumerate(answers))
    assert frame_text(f"query_id,{name},recall\n{rows}")[name].tolist() == answers


@pytest.mark.parametrize("word", ["", "nan", "NaN", "NA", "None", "null", "(Failed)"])
def test_words_for_no_score_are_unscored(frame_text, word):
    frame = frame_text(f"query_id,recall\nq1,0.5\nq2,{word}\nq3,1\n")
    scores = score_table(frame).scores["recall"]
    assert np.array_equal(scores, [0.5, np.nan, 1.0], equal_nan=True)


def test_lists_written_by_python_stay_texts(frame_text):
    frame = frame_text("query_id,contexts,recall\nq1,\"['a', 'b']\",1\n")
    assert frame["contexts"].tolist() == ["['a', 'b']"]


def test_line_ends_within_cells_are_kept(frame_text):
    frame = frame_text('query_id,answer,recall\r\nq1,"one\rtwo\r\nthree\nfour",1\r\n')
    assert frame["answer"].tolist() == ["one\rtwo\r\nthree\nfour"]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_any_line_end_ends_a_row(frame_text, line_end):
    frame = frame_text(line_end.join(["query_id,recall", "q1,0.5", "q2,1", ""]))
    assert frame.to_dict("list") == {"query_id": ["q1", "q2"], "recall": [0.5, 1.0]}


def test_blank_lines_are_passed_over(frame_text):
    assert len(frame_text("\nquery_id,recall\n\nq1,1\n  \nq2,0\n\n")) == 2


def test_quoted_line_ends_in_the_header_are_kept(frame_text):
    assert list(frame_text('query_id,"my\nmetric"\nq1,1\n')) == ["query_id", "my\nmetric"]


def test_a_column_without_a_name_gets_one(frame_text):
    assert list(frame_text(",query_id,recall\n0,q1,1\n")) == ["Unnamed: 0", "query_id", "recall"]


def test_one_column_is_a_table_for_who_says_so(frame_text):
    assert frame_text("recall\n0.5\n\n1\n", reader="csv")["recall"].tolist() == [0.5, 1.0]


def test_a_carriage_return_that_pandas_left_unquoted_is_kept(frame_text):
    table = pd.DataFrame({"query_id": ["a\rb", "c"], "answer": ["x\ry", "z"], "recall": [1, 0]})
    # What pandas writes up to Python 3.12; since 3.13 the module csv puts such texts in quotes.
    assert frame_text("query_id,answer,recall\na\rb,x\ry,1\nc,z,0\n").equals(table)
    assert frame_text(table.to_csv(index=False, lineterminator="\n")).equals(table)


IDS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1),
    min_size=1,
    max_size=8,
    unique=True,
).filter(lambda ids: all(one.strip() for one in ids))


@settings(max_examples=150)
@given(IDS, st.data(), st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n"]))
def test_any_table_is_read_as_it_was_written(tmp_path_factory, ids, data, delimiter, line_end):
    # Python quotes a carriage return between such line ends only since 3.13. Unquoted and beside a
    # line feed it is a line end to us: no program writes such ids.
    beside_line_feeds = re.compile("^\r|\r\n|\n\r")
    assume(line_end == "\r\n" or not any(map(beside_line_feeds.search, ids)))
    floats = st.floats(0, 1) | st.just(float("nan"))
    scores = data.draw(st.lists(floats, min_size=len(ids), max_size=len(ids)))
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator=line_end)
    writer.writerow(["query_id", "recall", "answer"])
    for one, score in zip(ids, scores, strict=True):
        writer.writerow([one, "" if np.isnan(score) else repr(score), "x"])
    path = tmp_path_factory.mktemp("round") / "run.csv"
    path.write_bytes(buffer.getvalue().encode("utf-8"))
    [found] = read(path, delimiter=delimiter, reader="csv")
    assert found.frame["query_id"].tolist() == ids
    assert np.array_equal(found.frame["recall"], scores, equal_nan=True)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
@settings(max_examples=60)
def test_numbers_keep_their_last_bit(tmp_path_factory, numbers):
    path = tmp_path_factory.mktemp("bits") / "run.csv"
    path.write_text("query_id,x\n" + "".join(f"q{i},{x!r}\n" for i, x in enumerate(numbers)))
    assert read(path)[0].frame["x"].tolist() == numbers


# -- delimiters


@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("query_id,recall\nq1,1\n", [","]),
        ("query_id;recall;mrr\nq1;0,5;0,7\nq2;1,0;1,0\n", [";"]),
        ("query_id\tanswer\tmrr\nq1\ta, b, c\t1\n", ["\t"]),
        ("query_id|answer|mrr\nq1|a, b; c|1\n", ["|"]),
        ('query_id,answer,mrr\nq1,"a; b; c",1\nq2,"d; e",0\n', [","]),
        ("one column\nof text\n", []),
        ("a;b,c\n1;2,3\n", [",", ";"]),
        ("\n", []),
    ],
)
def test_the_delimiter_is_the_one_that_fits_all_rows(text, best):
    assert best_delimiters(Source(text.encode())) == best


def test_two_delimiters_that_fit_alike_are_asked_about(read_text):
    with pytest.raises(ReaderError, match=r"',', ';' split the table equally well.*delimiter="):
        read_text("query_id;a,b\nq1;2,3\n")


def test_the_delimiter_may_be_given(frame_text):
    assert list(frame_text("query_id;a,b\nq1;2,3\n", delimiter=";")) == ["query_id", "a,b"]


@pytest.mark.parametrize("delimiter", ["", ",,", "\n", '"', "é"])
def test_a_delimiter_that_cannot_be_one_is_refused(read_text, delimiter):
    with pytest.raises(DataError, match=r"one ASCII character"):
        read_text("query_id,recall\nq1,1\n", delimiter=delimiter)


@pytest.mark.parametrize(
    ("text", "reader"), [("query_id,recall\nq1,1\n", "csv"), ("query_id\trecall\nq1\t1\n", "tsv")]
)
def test_tables_of_text_are_recognised_by_their_delimiter(write, text, reader):
    source = Source(write(text))
    marks = {name: READERS[name].recognise(source) for name in READERS}
    assert [name for name, mark in marks.items() if mark >= 0.5] == [reader]


@pytest.mark.parametrize(
    "text", ["Dear all,\nthe scores are, as I said,\nfine.\nBest, A, B, C\n", "nothing\nhere\n"]
)
def test_prose_is_no_table(write, text):
    with pytest.raises(
        ReaderError, match=r"no reader recognises this file; (it looks like text|split at)"
    ):
        read(write(text))


# -- what is wrong


@pytest.mark.parametrize(
    ("row", "found"), [("q7,1", 2), ("q7,1,0,5", 4), ("q7", 1), ("q7,1,0,", 4)]
)
def test_a_row_of_another_width_is_told_with_its_line(read_text, row, found):
    good = [f'q{i},"two\nlines",{i % 2}' for i in range(40)]
    text = "\n".join(["query_id,answer,recall", *good[:6], row, *good[6:]])
    with pytest.raises(ReaderError, match=rf"expected 3 fields.*found {found}") as caught:
        read_text(text)
    assert caught.value.line == 1 + 6 * 2 + 1  # six rows of two lines each stand before it
    assert str(caught.value.path) in str(caught.value)


def test_a_table_whose_rows_are_all_one_longer_is_no_table_with_an_index(read_text):
    with pytest.raises(ReaderError, match=r"expected 2 fields.*found 3") as caught:
        read_text("query_id,recall\nq1,1,0\nq2,1,0\n", reader="csv")
    assert caught.value.line == 2


def test_a_file_cut_in_a_quoted_cell_is_told_with_the_line(read_text):
    with pytest.raises(ReaderError, match=r"never closed; is the file cut") as caught:
        read_text('query_id,recall,answer\nq1,1,"yes"\nq2,0,"no, be')
    assert caught.value.line == 3


def test_a_file_cut_in_a_row_is_told_with_the_line(read_text):
    rows = "".join(f"q{i},1,0\n" for i in range(9))
    with pytest.raises(ReaderError, match=r"found 2.*or the file cut") as caught:
        read_text("query_id,recall,mrr\n" + rows + "q9,1")
    assert caught.value.line == 11


def test_a_header_that_is_cut_is_told(read_text):
    with pytest.raises(ReaderError, match=r"quote in the header is never closed"):
        read_text('query_id,recall,"ans', reader="csv")


@pytest.mark.parametrize("header", ["query_id,recall,recall", "query_id,recall, recall "])
def test_names_of_columns_that_are_there_twice_are_refused(read_text, header):
    with pytest.raises(ReaderError, match=r"appear more than once: 'recall'") as caught:
        read_text(header + "\nq1,1,0\n")
    assert caught.value.line == 1


@pytest.mark.parametrize("text", ["q1,0.83,1\nq2,0.5,0\n", "q1,1,0\nq2,0,0\n"])
def test_a_first_row_in_place_of_a_header_is_noticed(read_text, text):
    with pytest.raises(ReaderError, match=r"expected names of columns; found numbers"):
        read_text(text)


def test_whole_numbers_that_count_up_may_be_names(frame_text):
    assert list(frame_text("query_id,1,5,10\nq1,0.1,0.2,0.3\n")) == ["query_id", "1", "5", "10"]


@pytest.mark.parametrize("text", ["query_id,recall", "query_id,recall\n\n\n"])
def test_a_header_without_rows_is_refused(read_text, text):
    with pytest.raises(ReaderError, match=r"the file has column names, but no rows"):
        read_text(text)


@pytest.mark.parametrize("text", ["\n\n", "   \n  "])
def test_a_file_of_blanks_is_refused(read_text, text):
    with pytest.raises(ReaderError, match=r"the file contains only blanks"):
        read_text(text)


def test_blanks_are_refused_by_the_reader_too(read_text):
    with pytest.raises(ReaderError, match=r"expected a header and rows"):
        read_text("\n \n", reader="csv")


def test_ten_thousand_columns_are_read_and_then_refused_as_metrics(frame_text):
    names = [f"m{i}" for i in range(10_000)]
    frame = frame_text(",".join(["query_id", *names]) + "\nq1" + ",0.5" * 10_000 + "\n")
    with pytest.raises(DataError, match=r"10,000 columns hold numbers"):
        score_table(frame)


@pytest.mark.parametrize("place", [0, 7, 19])
def test_a_row_too_long_beside_one_too_short_is_named(write, place):
    """Their delimiters add up to those of a regular table."""
    lines = [f"q{row},{row % 2},0.5" for row in range(20)]
    lines[place] += ",0.5"
    lines[5] = "q5,1"
    path = write("\n".join(["query_id,recall,mrr", *lines]) + "\n")
    first = min(place, 5)
    with pytest.raises(ReaderError, match="expected 3 fields") as caught:
        read(path)
    assert caught.value.line == first + 2


def test_columns_that_are_left_out_are_counted_too(write):
    path = write("query_id,recall,mrr\nq1,1,1,1\nq2,1\n")
    with pytest.raises(ReaderError, match="expected 3 fields") as caught:
        read(path, reader="csv", columns=["recall"])
    assert caught.value.line == 2


# -- columns


def test_only_the_columns_asked_for_are_read_and_the_ids(frame_text):
    frame = frame_text("mrr,id,recall,answer\n1,q1,0.5,a\n", columns=["recall"])
    assert list(frame) == ["id", "recall"]


def test_the_question_stands_in_for_ids(frame_text):
    frame = frame_text("question,recall,mrr\nwhy,0.5,1\n", columns="recall")
    assert list(frame) == ["question", "recall"]


def test_a_column_that_is_not_there_is_named(read_text):
    with pytest.raises(UnknownNameError, match=r"no column is named 'recal'\. Did you mean"):
        read_text("query_id,recall\nq1,1\n", columns=["recal"])
