from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import ReaderError
from rageval_report.readers import read

# Every text here that is refused is read by pandas 3.1.1 without an error, and with rows missing
# or a wrong last score; the tests check that too, so that they test what they say.

HEADER = "query_id,answer,recall,mrr\n"


def rows(n, answer="fine"):
    return [f"q{number},{answer},0.{number}5,0.5\n" for number in range(1, n + 1)]


@pytest.fixture
def load(write):
    return lambda text: RAGPipelineEvaluation.load("a", write(text))


# -- a quote that spans lines


@pytest.mark.parametrize("first", [0, 2, 5])
@pytest.mark.parametrize("n_swallowed", [1, 2, 3])
@pytest.mark.parametrize("close", ['"ok"', '"ok, too"', '"ok" or so'])
def test_a_quote_that_swallows_rows_is_refused_with_its_line(load, first, n_swallowed, close):
    table = rows(9)
    table[first] = table[first].replace("fine", '"fine')
    table[first + n_swallowed] = table[first + n_swallowed].replace("fine", close)
    text = HEADER + "".join(table)
    assert len(pd.read_csv(io.StringIO(text), on_bad_lines="skip")) < 9
    with pytest.raises(ReaderError, match=f"line {first + 2}: "):
        load(text)


@pytest.mark.parametrize(
    "text",
    [
        'id;recall;why\nq1;0,5;good\nq2;0,25;"bad\nq3;1;fine\nq4;0;"ok"\nq5;1;x\n',
        'id\twhy\tpass\nq1\ta\ttrue\nq2\t"b\tfalse\nq3\t"c"\ttrue\nq4\td\ttrue\n',
        'question,f1\nq one?,0.5\n"q two?,0.25\nq three?,1\n"q four?",0\nq five?,1\n',
    ],
)
def test_other_tables_and_delimiters(load, text):
    with pytest.raises(ReaderError, match="line 3: a quote opens in this row"):
        load(text)


def test_the_lines_that_would_be_lost_are_named(load):
    table = rows(6)
    table[1], table[4] = table[1].replace("fine", '"fine'), table[4].replace("fine", '"fine"')
    with pytest.raises(ReaderError, match=r"line 3: .* closes 3 lines below; lines 4 to 6"):
        load(HEADER + "".join(table))


@pytest.mark.parametrize(
    "answer",
    [
        "two\nlines",
        "a list:\n- one, two\n- three, four",
        "a table:\nname,score\nx,0.5\ny,0.25",
        "numbers\n1,2,3\n4,5,6",
        'a "quoted" word\nand, more, and, more',
        "\n\n",
        "code:\nfor i in (1, 2, 3, 4):\n    print(i, 1, 2, 0.5, end='')",
    ],
)
def test_answers_of_several_lines_are_read(load, answer):
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(["query_id", "answer", "recall", "mrr"])
    for number in range(8):
        writer.writerow([f"q{number}", answer if number % 2 else "short", 0.5, 0.25])
    evaluation = load(buffer.getvalue())
    assert evaluation.n_queries == 8
    assert evaluation.details["answer"].iloc[1] == answer


texts = st.text(st.sampled_from('ab,"\n .;'), max_size=30)


@settings(max_examples=150)
@given(answers=st.lists(texts, min_size=1, max_size=8))
def test_a_table_of_the_csv_module_is_never_refused(tmp_path_factory, answers):
    path = tmp_path_factory.mktemp("csv") / "scores.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["query_id", "answer", "recall"])
        writer.writerows([[f"q{n}", text, 0.5] for n, text in enumerate(answers)])
    [file] = read(path, reader="csv")
    assert len(file.frame) == len(answers)


# -- a file that is cut inside its last cell


def six_digits(n):
    numbers = np.random.default_rng(2).integers(100_001, 999_999, n)
    return "query_id,recall\n" + "".join(f"q{i},0.{value:06d}\n" for i, value in enumerate(numbers))


@pytest.mark.parametrize("last", ["0.8", "0.", "0", "0.12", "0.1234"])
def test_a_number_cut_within_its_decimals_is_refused(load, last):
    text = six_digits(150) + f"cut,{last}"
    assert pd.read_csv(io.StringIO(text))["recall"].iloc[-1] == float(last)
    with pytest.raises(ReaderError, match="line 152: the file is cut in its last row"):
        load(text)
    # A line end says that the row is whole.
    assert load(text.replace("0.\n", "0.0\n") + "\n").n_queries == 151


def test_a_number_that_may_have_lost_a_zero_is_noted_with_its_row(load):
    text = six_digits(7) + "q9,0.81250"
    evaluation = load(text)
    assert evaluation.n_queries == 8
    assert any("line 9" in note and "q9,0.81250" in note for note in evaluation.notes)


@pytest.mark.parametrize(
    ("column", "cells", "last"),
    [
        ("state", ["scored", "failed", "scored"], "sco"),
        ("correct", ["True", "False", "True"], "Tr"),
        ("latency_ms", ["1.5e-05", "2.25e-04", "3.5e-06"], "4.5e-"),
    ],
)
def test_a_word_or_an_exponent_that_is_cut_is_refused(load, column, cells, last):
    body = "".join(f"q{i},0.5,{cells[i % 3]}\n" for i in range(9))
    with pytest.raises(ReaderError, match="line 11: the file is cut"):
        load(f"query_id,recall,{column}\n{body}q9,0.25,{last}")


@pytest.mark.parametrize(("cells", "last"), [("0.{}", "0"), ("12{}.5", "9"), ("yes{}", "")])
def test_a_short_last_cell_is_noted(load, cells, last):
    body = "".join(f"q{i},0.5,{cells.format(i + 11)}\n" for i in range(9))
    evaluation = load(f"query_id,recall,other\n{body}q9,0.25,{last}")
    assert evaluation.n_queries == 10
    assert any("line 11, the last row, may be cut" in note for note in evaluation.notes)


@pytest.mark.parametrize(
    "cells",
    [
        ["0.5", "0.25", "1", "0", "0.75", "0.5", "1"],
        ["1", "0", "1", "1", "0", "1", "0"],
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
    assert len(file.frame) == len(cells)
    assert not file.notes


@pytest.mark.parametrize("last", ["q9", "q9,0.5", '{"query_id": "c", "rec'])
def test_a_last_row_that_is_cut_between_cells_is_refused(load, last):
    if last.startswith("{"):
        text = '{"query_id": "a", "recall": 1}\n{"query_id": "b", "recall": 0}\n' + last
        with pytest.raises(ReaderError, match=r"line 3: the record is cut.*delete this line"):
            load(text)
    else:
        with pytest.raises(ReaderError, match="line 6: expected 4 fields"):
            load(HEADER + "".join(rows(4)) + last)


# -- several kinds of line ends


@pytest.mark.parametrize(
    "ends", [("\n", "\r\n"), ("\r\n", "\n"), ("\r\n", "\r"), ("\r", "\n", "\r\n"), ("\r", "\r\n")]
)
def test_line_ends_may_be_mixed(load, ends):
    table = [HEADER.strip(), *[row.strip() for row in rows(7)]]
    text = "".join(line + ends[number % len(ends)] for number, line in enumerate(table))
    evaluation = load(text)
    assert evaluation.n_queries == 7
    assert evaluation.scores["recall"].tolist() == [0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75]


def test_a_carriage_return_between_line_feeds_is_refused_with_the_cause(load):
    table = "".join(rows(4)).replace("\n", "\r", 1)
    with pytest.raises(ReaderError, match=r"line 2: .* several kinds of line ends"):
        load(HEADER + table)
