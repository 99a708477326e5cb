"""Delimited text: what cells mean, which delimiter splits, and what is refused with its line."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import DataError, ReaderError, UnknownNameError, UnknownValueError
from rageval_report.readers import READERS, Source, read
from rageval_report.scores import score_table


@pytest.fixture
def load(write):
    return lambda text, **options: RAGPipelineEvaluation.load("a", write(text), **options)


# -- what cells mean


@pytest.mark.parametrize(
    "ids",
    [
        ["001", "002", "010"],
        ["1e5", "2e5", "3"],
        ["12345678901234567890", "1", "2"],
        ["True", "False", "False "],
        ["1.0", "2.0", "3.50"],
        ["+1", "-2", "3"],
        ["inf", "nan", "1"],
        ["NA", "null", "#N/A"],
        ["None", "-", " "],
    ],
)
@pytest.mark.parametrize("position", [0, 1])
def test_ids_are_the_texts_in_the_file(frame_text, ids, position):
    lines = [("0.5", one) if position else (one, "0.5") for one in ids]
    header = "recall,query_id" if position else "query_id,recall"
    frame = frame_text(header + "\n" + "\n".join(",".join(line) for line in lines))
    assert frame["query_id"].tolist() == ids


@pytest.mark.parametrize("name", ["Query ID", "id", "qid", "doc_id", "ticket"])
def test_ids_are_texts_under_each_usual_name_and_the_one_that_is_named(frame_text, name):
    query_id = "ticket" if name == "ticket" else None
    assert frame_text(f"{name},recall\n007,1\n", query_id=query_id)[name].tolist() == ["007"]


@pytest.mark.parametrize("name", ["answer", "Reference", "ground_truth"])
def test_answers_that_look_like_numbers_or_blanks_are_texts(frame_text, name):
    answers = ["1.50", "True", "None", "1e3", "['a']"]
    rows = "".join(f"q{i},{answer},1\n" for i, answer in enumerate(answers))
    column = frame_text(f"query_id,{name},recall\n{rows}q9,,1\n")[name]
    assert column.tolist()[:5] == answers
    assert pd.isna(column.iloc[5])


@pytest.mark.parametrize("word", ["", "nan", "NA", "None", "(Failed)"])
def test_words_for_no_score_are_unscored(frame_text, word):
    frame = frame_text(f"query_id,recall\nq1,0.5\nq2,{word}\nq3,1\n")
    scores = score_table(frame).scores["recall"]
    assert np.array_equal(scores, [0.5, np.nan, 1.0], equal_nan=True)


def test_line_ends_and_blank_lines(frame_text):
    text = 'query_id,answer,recall\r\nq1,"one\rtwo\r\nthree\nfour",1\r\n'
    assert frame_text(text)["answer"].tolist() == ["one\rtwo\r\nthree\nfour"]
    for line_end in ("\n", "\r\n", "\r"):
        frame = frame_text(line_end.join(["", "query_id,recall", "", "q1,0.5", "  ", "q2,1", ""]))
        assert frame.to_dict("list") == {"query_id": ["q1", "q2"], "recall": [0.5, 1.0]}


@pytest.mark.parametrize("ends", [("\n", "\r\n"), ("\r\n", "\r"), ("\r", "\n", "\r\n")])
def test_line_ends_may_be_mixed(load, ends):
    table = ["query_id,recall,mrr", *(f"q{n},0.{n}5,0.5" for n in range(1, 8))]
    evaluation = load("".join(line + ends[n % len(ends)] for n, line in enumerate(table)))
    assert evaluation.scores["recall"].tolist() == [0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75]


def test_names_of_columns(frame_text, read_text):
    assert list(frame_text('query_id,"my\nmetric",\nq1,1,x\n')) == [
        *("query_id", "my\nmetric", "Unnamed: 2")
    ]
    assert list(frame_text("query_id,1,5,10\nq1,0.1,0.2,0.3\n")) == ["query_id", "1", "5", "10"]
    assert frame_text("recall\n0.5\n\n1\n", reader="csv")["recall"].tolist() == [0.5, 1.0]


IDS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1),
    min_size=1,
    max_size=8,
    unique=True,
).filter(lambda ids: all(one.strip() for one in ids))


@settings(max_examples=60)
@given(IDS, st.data(), st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n"]))
def test_any_table_is_read_as_it_was_written(tmp_path_factory, ids, data, delimiter, line_end):
    # Python quotes a carriage return between such line ends only since 3.13.
    assume(line_end == "\r\n" or not any("\r" in one for one in ids))
    floats = st.floats(allow_infinity=False)
    scores = data.draw(st.lists(floats, min_size=len(ids), max_size=len(ids)))
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator=line_end)
    writer.writerow(["query_id", "recall", "answer"])
    for one, score in zip(ids, scores, strict=True):
        writer.writerow([one, "" if np.isnan(score) else repr(score), "x"])
    [found] = read(buffer.getvalue().encode(), delimiter=delimiter, reader="csv")
    assert found.frame["query_id"].tolist() == ids
    assert np.array_equal(found.frame["recall"], scores, equal_nan=True)  # to the last bit


# -- delimiters


def test_a_delimiter_may_be_given_and_is_asked_for_if_two_fit(read_text, frame_text):
    with pytest.raises(ReaderError, match=r"',', ';' split the table equally well.*delimiter="):
        read_text("query_id;a,b\nq1;2,3\n")
    assert list(frame_text("query_id;a,b\nq1;2,3\n", delimiter=";")) == ["query_id", "a,b"]
    for delimiter in ("", ",,", "\n", '"', "é"):
        with pytest.raises(DataError, match=r"one ASCII character"):
            read_text("query_id,recall\nq1,1\n", delimiter=delimiter)


def test_tables_are_recognised_and_prose_is_not(write):
    for text, reader in (("query_id,recall\nq1,1\n", "csv"), ("query_id\tmrr\nq1\t1\n", "tsv")):
        source = Source(write(text))
        assert [name for name in READERS if READERS[name].recognise(source) >= 0.5] == [reader]
    for text in ("Dear all,\nthe scores are, as I said,\nfine.\nBest, A, B, C\n", "nothing\nhere"):
        with pytest.raises(
            ReaderError, match=r"no reader recognises this file; (it looks|as a table)"
        ):
            read(write(text))


# -- what is wrong


@pytest.mark.parametrize(("row", "n"), [("q7,1", 2), ("q7,1,0,5", 4), ("q7", 1)])
def test_a_row_of_another_width_is_named_by_its_line(read_text, row, n):
    good = [f'q{i},"two\nlines",{i % 2}' for i in range(40)]
    text = "\n".join(["query_id,answer,recall", *good[:6], row, *good[6:]])
    with pytest.raises(ReaderError, match=rf"expected 3 fields.*found {n}") as caught:
        read_text(text)
    assert caught.value.line == 1 + 6 * 2 + 1  # six rows of two lines each stand before it


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("query_id,recall\nq1,1,0\nq2,1,0\n", 2, r"expected 2 fields.*found 3"),
        ('query_id,recall,answer\nq1,1,"yes"\nq2,0,"no, be', 3, "never closed; is the file cut"),
        ("query_id,recall,mrr\nq1,1,0\nq2,1,0\nq3,1", 4, r"found 2.*or the file cut"),
        ('query_id,recall,"ans', 1, r"quote in the header is never closed"),
        ("query_id,recall,recall \nq1,1,0\n", 1, r"appear more than once: 'recall'"),
        ("q1,0.83,1\nq2,0.5,0\n", 1, r"expected names of columns; found numbers"),
        ("q1,1,0\nq2,0,0\n", 1, r"expected names of columns; found numbers"),
        ("query_id,recall\n\n\n", None, r"the file has column names, but no rows"),
        ("\n \n", None, r"expected a header and rows"),
        ("query_id,recall,mrr\nq1,1,1,1\nq2,1\n", 2, "expected 3 fields"),
        ("a,b,c\nq1,1,1\nq2,1,1,1\nq3,1\n", 3, "expected 3 fields"),
        ('a,b\n5" ,1\nx,"2\nc,3\n', 3, "never closed"),
    ],
)
def test_a_broken_table_is_refused_with_its_line(read_text, text, line, message):
    with pytest.raises(ReaderError, match=message) as caught:
        read_text(text, reader="csv")
    assert caught.value.line == line


# -- columns


def test_only_the_columns_asked_for_are_read_and_the_ids(frame_text, read_text):
    assert list(frame_text("mrr,id,recall,a\n1,q1,0.5,a\n", columns=["recall"])) == ["id", "recall"]
    frame = frame_text("question,recall,mrr\nwhy,0.5,1\n", columns="recall")
    assert list(frame) == ["question", "recall"]
    with pytest.raises(UnknownNameError, match=r"no column is named 'recal'\. Did you mean"):
        read_text("query_id,recall\nq1,1\n", columns=["recal"])
    with pytest.raises(ReaderError, match="line 2: expected 3 fields"):
        read_text("query_id,recall,mrr\nq1,1,1,1\n", reader="csv", columns=["recall"])


# -- a quote that swallows rows. pandas 3.1.1 reads every text that is refused here without an
# error, and with rows missing.

HEADER = "query_id,answer,recall,mrr\n"


def rows_of(n):
    return [f"q{number},fine,0.{number}5,0.5\n" for number in range(1, n + 1)]


@pytest.mark.parametrize("n_swallowed", [1, 3])
@pytest.mark.parametrize("close", ['"ok"', '"ok, too"'])
def test_a_quote_that_swallows_rows_is_refused_with_the_lines(load, n_swallowed, close):
    table = rows_of(9)
    table[2] = table[2].replace("fine", '"fine')
    table[2 + n_swallowed] = table[2 + n_swallowed].replace("fine", close)
    text = HEADER + "".join(table)
    assert len(pd.read_csv(io.StringIO(text), on_bad_lines="skip")) < 9
    # A comma in the cell makes the row too long.
    message = (
        "expected 4 fields"
        if "," in close
        else f"a quote opens in this row and closes in line {4 + n_swallowed}"
    )
    with pytest.raises(ReaderError, match=f"line 4: {message}"):
        load(text)


@pytest.mark.parametrize(
    "text",
    [
        'id;recall;why\nq1;0,5;good\nq2;0,25;"bad\nq3;1;fine\nq4;0;"ok"\nq5;1;x\n',
        'question,f1\nq one?,0.5\n"q two?,0.25\nq three?,1\n"q four?",0\nq five?,1\n',
    ],
)
def test_swallowed_rows_with_other_delimiters_and_places(load, text):
    with pytest.raises(ReaderError, match="line 3: a quote opens in this row"):
        load(text)


@pytest.mark.parametrize(
    "answer",
    [
        "a list:\n- one, two\n- three, four",
        "a table:\nname,score\nx,0.5\ny,0.25",
        'a "quoted" word\nand, more, and, more',
        "\n\n",
        "code:\nfor i in (1, 2, 3, 4):\n    print(i, 1, 2, 0.5, end='')",
    ],
)
def test_answers_of_several_lines_are_read(load, answer):
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(["query_id", "answer", "recall", "mrr"])
    writer.writerows([f"q{n}", answer if n % 2 else "short", 0.5, 0.25] for n in range(8))
    assert load(buffer.getvalue()).details["answer"].tolist()[1] == answer


@settings(max_examples=60)
@given(st.lists(st.text(st.sampled_from('ab,"\n .;'), max_size=30), min_size=1, max_size=8))
def test_a_table_of_the_csv_module_is_never_refused(answers):
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(["query_id", "answer", "recall"])
    writer.writerows([[f"q{n}", text, 0.5] for n, text in enumerate(answers)])
    [file] = read(buffer.getvalue().encode(), reader="csv")
    assert len(file.frame) == len(answers)


@pytest.mark.parametrize(
    "cells",
    [
        ["0.5", "0.25", "1", "0", "0.75", "0.5", "1"],
        ["0.51", "0.62", "0.73", "0.84", "0.95", "0.16", "0.27"],
        ["12", "250", "31", "9", "120", "88", "7"],
        ["scored", "failed", "scored", "scored", "failed", "scored", "failed"],
        ["short", "a long answer", "x", "another one", "why", "no", "a longer answer"],
        ['"quoted"', '"more"', '"and, more"', '"x"', '"y"', '"z"', '"a"'],
    ],
)
def test_a_whole_last_row_without_a_line_end_is_read_without_a_note(write, cells):
    text = "query_id,recall,x\n" + "\n".join(f"q{i},0.5,{cell}" for i, cell in enumerate(cells))
    [file] = read(write(text))
    assert (len(file.frame), file.notes) == (len(cells), ())


# -- decimal commas


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_decimal_commas_are_read_as_numbers_with_a_note(read_text, delimiter):
    text = "query_id;recall;mrr;n;answer\nq1;0,83;1;3;0,5\nq2;-0,5e1;0,25;4;a, b\n"
    found = read_text(text.replace(";", delimiter))
    assert found.frame["recall"].tolist() == [0.83, -5.0]
    assert found.frame["mrr"].tolist() == [1.0, 0.25]
    assert found.frame["n"].dtype == np.int64
    assert found.frame["answer"].tolist() == ["0,5", "a, b"]
    assert found.notes == ("decimal commas are read as decimal points in 'recall', 'mrr'",)


def test_what_may_be_thousands_is_asked_about(read_text, frame_text):
    text = "query_id;latency\nq1;1,234\nq2;2,345\n"
    with pytest.raises(ReaderError, match=r"'1,234' in column 'latency'.*decimal="):
        read_text(text)
    assert frame_text(text, decimal=",")["latency"].tolist() == [1.234, 2.345]
    assert frame_text(text, decimal=".")["latency"].tolist() == [1234.0, 2345.0]
    assert frame_text("query_id;recall\nq1;0,830\nq2;1,000\n")["recall"].tolist() == [0.83, 1.0]
    with pytest.raises(UnknownValueError, match=r'decimal must be "\." or ","; got "'):
        read_text(text, decimal="'")
    with pytest.raises(ReaderError, match=r"'0\.5' in column 'latency' cannot have .*decimal=','"):
        read_text('query_id,latency\nq1,"1,234"\nq2,0.5\n', decimal=",")


@pytest.mark.parametrize("suffix", [".csv", ".json", ".jsonl", ".parquet", ".xlsx"])
@pytest.mark.parametrize(("decimal", "numbers"), [(",", [1.234, 0.5]), (".", [1234.0, 500.0])])
def test_every_kind_of_table_takes_the_decimal_sign(tmp_path, suffix, decimal, numbers):
    latency = ["1,234", "0,5" if decimal == "," else "500"]
    frame = pd.DataFrame({"query_id": ["q1", "q2"], "latency": latency, "answer": ["1,5", "x"]})
    path = tmp_path / f"scores{suffix}"
    write = {
        ".csv": lambda: frame.to_csv(path, index=False),
        ".json": lambda: frame.to_json(path, orient="records"),
        ".jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        ".parquet": lambda: frame.to_parquet(path),
        ".xlsx": lambda: frame.to_excel(path, index=False),
    }
    write[suffix]()
    evaluation = RAGPipelineEvaluation.load(None, path, decimal=decimal)
    assert evaluation.scores["latency"].tolist() == numbers
    assert evaluation.details["answer"].tolist() == ["1,5", "x"]


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (['"1,234"', "873"], [1234.0, 873.0]),
        (['"12,345.6 ms"', "873"], [12345.6, 873.0]),
        (['"0,83"', '"1,25"'], [0.83, 1.25]),
    ],
)
def test_no_score_is_lost_because_of_a_quoted_comma(read_text, cells, numbers):
    found = read_text("query_id,latency\n" + "".join(f"q{i},{c}\n" for i, c in enumerate(cells)))
    assert score_table(found.frame, unreadable="failed").scores["latency"].tolist() == numbers
