"""The walk over lines as plain Python. Witness: the columns that NumPy finds in the same text."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.rankings.trec import kernels
from rageval_report.rankings.trec.bytes import text_of
from rageval_report.rankings.trec.files import _BEIR_RUN, _QRELS, _RUN
from rageval_report.rankings.trec.text_rows import _BLANK, columns_of_chunk

COLUMNS = ["block", "query_start", "query_length", "doc_start", "doc_length", "doc_hash", "value"]
QUERIES = st.sampled_from(["q", "q1", "q2", "qq", "p1", "#q", "é"])
DOCS = st.one_of(
    st.sampled_from(["d", "12345678", "123456789", "d" * 16, "d" * 17, "é" * 9, "a#b", "-"]),
    st.integers(0, 10**12).map(str),
)
NUMBERS = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.integers(-50, 10**20).map(str),
    st.from_regex(r"\A-?[0-9]{0,20}\.?[0-9]{1,21}\Z"),
    st.sampled_from(["0", "-0", "-0.5", ".5", "5.", "-.5", "+1", "1e5", "inf", "-inf", "00.10",
                     "9" * 19, "9" * 20, "0" + "9" * 19, "0." + "9" * 19, "0." + "9" * 20,
                     "1.5", "12.25", "-7", "9007199254740993"]),
)  # fmt: skip
GAPS = st.sampled_from([" ", "\t", "  ", " \t "])
OTHERS = st.sampled_from(["", "  ", "# comment 1 2 3 4 5 6", "#", "\r"])
ENDS = st.sampled_from(["\n", " \n", "\r\n"])
LINES = st.lists(
    st.one_of(
        st.tuples(QUERIES, GAPS, DOCS, GAPS, NUMBERS, ENDS),
        st.tuples(OTHERS, st.just("\n")),
    ),
    max_size=12,
)


def scanner_of(form):
    return kernels.Scanner(kernels.scan, (form.n_columns, *form.places), _BLANK - form.by_tabs)


def assert_same_columns(text, form, scanner=None, start=0):
    with np.errstate(over="ignore"):  # words of 64 bits overflow on purpose
        scanned = columns_of_chunk(text, start, text.end, form, scanner or scanner_of(form))
    split = columns_of_chunk(text, start, text.end, form, None)
    for name in COLUMNS:
        found, expected = getattr(scanned, name), getattr(split, name)
        assert list(map(repr, found.tolist())) == list(map(repr, expected.tolist())), name


def run_line(line):
    if len(line) == 2:
        return "".join(line)
    query, gap, doc, other_gap, number, end = line
    # A line that begins with # is a comment; with a blank before it, it is none.
    before = " " if query.startswith("#") else ""
    return f"{before}{query}{gap}Q0{other_gap}{doc} 1{gap}{number} tag{end}"


@given(LINES)
@settings(max_examples=120, deadline=None)
def test_a_run_is_walked_over_as_it_is_split(lines):
    text = text_of("a run", "".join(map(run_line, lines)).encode())
    assert_same_columns(text, _RUN)


@given(LINES)
@settings(max_examples=60, deadline=None)
def test_judgments_are_walked_over_as_they_are_split(lines):
    rows = [line if len(line) == 2 else (line[0].lstrip("#"), " 0 ", line[2], " ", "2\n")
            for line in lines]  # fmt: skip
    assert_same_columns(text_of("qrels", "".join(map("".join, rows)).encode()), _QRELS)


@given(st.lists(st.tuples(st.sampled_from(["q 1", "q", " q"]), DOCS, NUMBERS), max_size=9))
@settings(max_examples=40, deadline=None)
def test_blanks_are_part_of_ids_that_tabs_separate(rows):
    text = "".join(f"{query}\tthe {doc}\t{number}\n" for query, doc, number in rows)
    assert_same_columns(text_of("a run", text.encode()), _BEIR_RUN)


def test_a_scanner_is_used_again_for_more_and_for_fewer_lines():
    scanner = scanner_of(_RUN)
    for n in (2, 40, 1):
        lines = "".join(f"q{n // 3} Q0 d{n} 1 {n}.5 t\n" for n in range(n))
        assert_same_columns(text_of("a run", lines.encode()), _RUN, scanner)


def test_what_was_scanned_stays_when_the_scanner_is_used_again():
    scanner = scanner_of(_RUN)
    texts = [text_of("a run", f"{q} Q0 {q}{q} 1 {n} t\n".encode()) for n, q in enumerate("ab")]
    with np.errstate(over="ignore"):
        first, second = (columns_of_chunk(text, 0, text.end, _RUN, scanner) for text in texts)
    assert first.doc_hash.tolist() != second.doc_hash.tolist()
    assert (first.value.tolist(), second.value.tolist()) == ([0.0], [1.0])


@pytest.mark.parametrize(
    "line", ["q Q0 d 1 0.5", "q Q0 d 1 0.5 t more", "q", f"q Q0 {'d' * 4097} 1 0.5 t"]
)
def test_a_line_of_another_form_is_left_to_the_code_that_names_it(line):
    text = text_of("a run", f"q Q0 d 1 2 t\n{line}\n".encode())
    with np.errstate(over="ignore"):
        assert scanner_of(_RUN).scan(text, 0, text.end) is None


def test_the_longest_id_is_read():
    assert_same_columns(text_of("a run", f"q Q0 {'d' * 4096} 1 0.5 t\n".encode()), _RUN)


def test_only_the_lines_in_question_are_walked_over():
    text = text_of("a run", b"bad\nq Q0 d 1 0.5 t\n")
    assert_same_columns(text, _RUN, start=4)


def test_plain_numbers_are_not_left_to_float():
    words = ["0", "7", "-7", "0.5", "-12.25", "123456789.125", "0." + "1" * 15]
    lines = "".join(f"q Q0 d{n} 1 {word} t\n" for n, word in enumerate(words))
    text = text_of("a run", lines.encode())
    with np.errstate(over="ignore"):
        *_, values, doubt = scanner_of(_RUN).scan(text, 0, text.end)
    assert values.tolist() == list(map(float, words))
    assert not doubt.any()
