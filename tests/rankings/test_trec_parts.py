"""A run that is read part after part. Witnesses: the whole file read at once, plain loops."""

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import ReaderError
from rageval_report.rankings.trec import files
from rageval_report.rankings.trec.bytes import Text, read_text
from rageval_report.rankings.trec.files import _RUN, _read_parts, join_files
from rageval_report.rankings.trec.kernels import match
from rageval_report.rankings.trec.text_rows import TextRows, read_columns, scanner_for

LINES = "".join(f"q{n // 4} Q0 {'é' * (n % 5)}d{n} 1 {n / 8} t\n" for n in range(40))


def rows_of(table):
    names = np.repeat(table.queries(), np.diff(table.columns.block, append=len(table)))
    docs = table.docs(np.arange(len(table)))
    return list(zip(names.tolist(), docs, table.columns.value.tolist(), strict=True))


def in_parts(path):
    scanner = scanner_for(path.stat().st_size, _RUN)
    return [rows_of(table) for table in _read_parts(path, _RUN, scanner)]


# -- parts


@pytest.mark.parametrize("width", [1, 50, 137, 1 << 20])
@pytest.mark.parametrize(
    "text",
    [
        LINES,
        "\ufeff" + LINES,
        LINES.removesuffix("\n"),
        LINES.replace("\n", "\r\n"),
        "# told\n\n" + LINES.replace("q5", "\n  \n# told\n q5"),
        "# " + "x" * 300 + "\n" + LINES + "\n\n# the end",
        "",
        "# told\n",
    ],
)
def test_parts_are_the_rows_of_the_file_and_each_query_is_in_one(
    tmp_path, monkeypatch, width, text
):
    monkeypatch.setattr(files, "_WIDTH", width)
    path = tmp_path / "run"
    path.write_text(text, encoding="utf-8")
    found = in_parts(path)
    whole = read_text(path)
    expected = rows_of(TextRows(whole, read_columns(whole, 0, _RUN))) if "Q0" in text else []
    assert [row for rows in found for row in rows] == expected
    queries = [{query for query, _, _ in rows} for rows in found]
    assert sum(map(len, queries)) == len(set().union(*queries))


def test_a_narrow_room_makes_more_parts_than_one(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_WIDTH", 200)
    (tmp_path / "run").write_text(LINES)
    assert len(in_parts(tmp_path / "run")) > 2


@pytest.fixture
def no_other_way(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the file was read at once")

    monkeypatch.setattr(files, "join_rows", refuse)


def joined(tmp_path, run, qrels):
    for name, text in (("run", run), ("qrels", qrels)):
        (tmp_path / name).write_text(text)
    paths = tmp_path / "run", tmp_path / "qrels"
    return join_files(*paths, ties="docid", relevance_level=1)


def test_a_run_whose_queries_stand_together_is_read_in_parts(tmp_path, no_other_way):
    found = joined(tmp_path, LINES, "q9 0 d39 1\nq2 0 d10 1\nq7 0 none 1\nmissing 0 d1 1\n")
    assert found.query_ids == ["q9", "q2", "q7", "missing"]
    assert (found.hits.query.tolist(), found.hits.rank.tolist()) == ([1], [1])
    assert found.hits.n_retrieved.tolist() == [4, 4, 4, 0]
    assert found.missing == ["missing"]
    assert found.unjudged == [f"q{n}" for n in (0, 1, 3, 4, 5, 6, 8)]


def test_a_gzipped_run_is_read_in_parts(tmp_path, no_other_way, monkeypatch):
    monkeypatch.setattr(files, "_WIDTH", 64)
    (tmp_path / "run").write_bytes(gzip.compress(LINES.encode()))
    (tmp_path / "qrels").write_text("q2 0 d10 1\n")
    hits = join_files(tmp_path / "run", tmp_path / "qrels", ties="docid", relevance_level=1).hits
    assert hits.rank.tolist() == [1]


def test_judgments_of_a_query_may_stand_apart(tmp_path, no_other_way):
    found = joined(tmp_path, LINES, "q2 0 d10 1\nq0 0 d0 2\nq2 0 x 1\nq2 0 éd11 1\n")
    assert found.query_ids == ["q2", "q0"]
    assert found.hits.judged_query.tolist() == [0, 0, 0, 1]
    assert found.hits.n_relevant.tolist() == [3, 1]
    assert (found.hits.query.tolist(), found.hits.rank.tolist()) == ([0, 0, 1], [0, 1, 3])


def test_a_run_whose_queries_stand_apart_is_read_at_once(tmp_path, no_other_way):
    with pytest.raises(AssertionError, match="at once"):
        joined(tmp_path, LINES + "q0 Q0 new 1 1 t\n", "q0 0 d0 1\n")


def test_a_judgment_that_stands_twice_is_told_though_its_query_was_not_retrieved(tmp_path):
    with pytest.raises(ReaderError, match=r"line 3: query 'z', document 'a': appears twice"):
        joined(tmp_path, LINES, "q0 0 d0 1\nz 0 a 1\nz 0 a 2\n")


def test_a_line_is_told_by_its_number_in_the_file_not_in_the_part(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_WIDTH", 100)
    with pytest.raises(ReaderError, match=r"run.*line 41: expected 6 columns"):
        joined(tmp_path, LINES + "q9 Q0 short\n", "q0 0 d0 1\n")


# -- words


def test_words_are_taken_from_anywhere_in_a_text():
    text = "".join(f"w{n} " for n in range(2000)).encode()
    starts = np.array([text.index(b"w%d " % n) for n in range(2000)])
    lengths = np.array([len(b"w%d" % n) for n in range(2000)])
    whole = Text("a file", np.frombuffer(text + bytes(9), np.uint8), len(text))
    assert whole.words(starts, lengths) == text.split()
    assert whole.words(starts[::-1], lengths[::-1]) == text.split()[::-1]


@pytest.mark.parametrize("first", [b"", b"a", b"x" * 79, b"x" * 80, b"x" * 1000])
def test_a_line_ends_with_its_newline(first):
    text = first + b"\nsecond\n"
    whole = Text("a file", np.frombuffer(text + bytes(9), np.uint8), len(text))
    assert whole.line_at(0) == first + b"\n"
    assert whole.line_at(len(first) + 1) == b"second\n"


# -- the loop that matches; here as plain Python, compiled by the tests of files


def matched(judged, retrieved, hashed):
    """Lists of words, matched by `match`: pairs of their numbers."""
    sides = []
    for lists in (judged, retrieved):
        words = [word for one in lists for word in one]
        lengths = np.array([len(word) for word in words], np.uint16)
        starts = (np.cumsum(lengths, dtype=np.int64) - lengths).astype(np.uint32)
        hashes = np.array([hashed(word) for word in words], np.uint64)
        data = np.frombuffer(b"".join(words) + bytes(8), np.uint8)
        sides += [data, starts, lengths, hashes, np.array([len(one) for one in lists])]
    most = max(len(a) + len(b) for a, b in zip(judged, retrieved, strict=True))
    found = np.empty((2, sum(map(len, retrieved))), np.int64)
    n = match(*sides, np.empty(4 * most + 16, np.int64), *found)
    return None if n < 0 else [tuple(pair) for pair in found[:, :n].T.tolist()]


LISTS = st.lists(
    st.tuples(*[st.lists(st.integers(0, 30).map(b"%x".__mod__), max_size=12)] * 2),
    min_size=1,
    max_size=5,
)


@settings(max_examples=100)
@given(LISTS, st.sampled_from([lambda _: 0, len, lambda word: int(word, 16) % 8 << 60 | 15]))
def test_the_loop_finds_what_plain_python_finds(lists, hashed):
    judged, retrieved = zip(*lists, strict=True)
    flat = [[(n, word) for n, one in enumerate(side) for word in one]
            for side in (judged, retrieved)]  # fmt: skip
    expected = [(flat[0].index(word), row) for row, word in enumerate(flat[1]) if word in flat[0]]
    if any(len(set(side)) < len(side) for side in flat):
        expected = None
    assert matched(judged, retrieved, hashed) == expected


def test_scores_of_parts_are_those_of_the_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_WIDTH", 64)
    qrels = "".join(f"q{n} 0 d{4 * n + n % 3} {n % 3}\n" for n in range(9, -1, -1))
    by_parts = joined(tmp_path, LINES, qrels)
    monkeypatch.setattr(files, "_collect_in_parts", lambda *_, **__: None)
    whole = joined(tmp_path, LINES, qrels)
    for name in ("query", "rank", "grade", "judged_query", "judged_grade", "n_retrieved"):
        one, other = getattr(by_parts.hits, name), getattr(whole.hits, name)
        pd.testing.assert_series_equal(pd.Series(one), pd.Series(other))
    assert by_parts.n_tied.tolist() == whole.n_tied.tolist()
