"""Documents of files matched without the compiled loop. Witness: dicts of plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.rankings.trec.bytes import PADDING, Text
from rageval_report.rankings.trec.join import _pairs_by_sorting
from rageval_report.rankings.trec.text_rows import TextColumns, TextRows, hashes

WORD = st.one_of(
    st.integers(0, 20).map(b"%x".__mod__), st.integers(0, 9).map(b"document-%020d".__mod__)
)
LISTS = st.lists(st.tuples(*[st.lists(WORD, max_size=12)] * 2), min_size=1, max_size=5)


def rows_of(lists):
    """Lists of words as rows of a file, and how many each list has."""
    words = [word for one in lists for word in one]
    text = b" ".join(words) + b" "
    data = Text("a file", np.frombuffer(text + PADDING, np.uint8), len(text))
    lengths = np.array([len(word) for word in words], np.uint16)
    starts = np.cumsum(lengths + 1, dtype=np.int64) - lengths - 1
    none = np.zeros(0, np.int64)
    hashed, values = hashes(data, starts, lengths), np.zeros(len(words))
    rows = TextRows(data, TextColumns(none, none, none, starts, lengths, hashed, values))
    return rows, np.array([len(one) for one in lists])


def matched(judged, run):
    if not any(map(len, (*judged, *run))):
        return []
    found = _pairs_by_sorting(*rows_of(judged), *rows_of(run))
    return None if found is None else sorted(zip(*(rows.tolist() for rows in found), strict=True))


def expected(judged, run):
    """The same pairs, each row looked up in a dict."""
    flat = [[(n, word) for n, one in enumerate(side) for word in one] for side in (judged, run)]
    if any(len(set(side)) < len(side) for side in flat):
        return None
    row_of = {document: row for row, document in enumerate(flat[1])}
    return [(row, row_of[one]) for row, one in enumerate(flat[0]) if one in row_of]


@settings(max_examples=150)
@given(LISTS, st.sampled_from([None, 0, 1]))
def test_sorting_finds_what_plain_python_finds_however_many_share_a_hash(lists, n_hashes):
    judged, run = zip(*lists, strict=True)
    with pytest.MonkeyPatch.context() as patch:
        if n_hashes is not None:  # all documents share one hash, or two
            patch.setattr(TextRows, "hashes", lambda rows: rows.columns.doc_hash & n_hashes)
        assert matched(judged, run) == expected(judged, run)


@pytest.mark.parametrize("twice", [([b"a", b"b", b"a"], [b"c"]), ([b"c"], [b"a", b"b", b"a"]),
                                   ([b"a", b"a"], [b"a"]), ([b"a"], [b"a", b"a"]),
                                   ([b"a", b"a"], [])])  # fmt: skip
def test_a_document_that_stands_twice_is_not_matched_but_told(twice):
    judged, run = twice
    assert matched([judged], [run]) is None


def test_a_document_of_two_queries_does_not_stand_twice():
    assert matched([[b"a"], [b"a"]], [[b"a"], [b"b", b"a"]]) == [(0, 0), (1, 2)]


def of_one_hash():
    """Two words of sixteen bytes whose hashes are equal: the second half makes up for the first."""
    halves = np.array([b"document", b"Document", b"-number1"]).view(np.uint64)
    text = Text("a file", np.frombuffer(halves.tobytes() + PADDING, np.uint8), 24)
    first, second = hashes(text, np.array([0, 8]), np.array([8, 8]))
    other_half = halves[2] ^ first ^ second
    return b"document-number1", b"Document" + other_half.tobytes()


def test_different_documents_of_one_hash_are_no_match():
    one, other = of_one_hash()
    (judged, _), (run, _) = rows_of([[one]]), rows_of([[other]])
    assert judged.columns.doc_hash == run.columns.doc_hash
    assert matched([[one]], [[other]]) == []
    assert matched([[one]], [[one]]) == [(0, 0)]


@pytest.mark.parametrize(
    ("one", "other"),
    [(b"a", b"b"), (b"a", b"aa"), (b"document", b"Document"), (b"document1", b"document2"),
     (b"document1", b"Document1"), (b"0" * 30, b"1" + b"0" * 29), (b"0" * 30, b"0" * 29 + b"1"),
     (b"0" * 16, b"0" * 17), of_one_hash()],
)  # fmt: skip
def test_words_that_differ_anywhere_are_not_equal(one, other):
    rows = np.array([0, 0]), np.array([0, 1])
    judged, run = rows_of([[one]])[0], rows_of([[one, other]])[0]
    assert judged.are_equal(rows[0], run, rows[1]).tolist() == [True, False]
