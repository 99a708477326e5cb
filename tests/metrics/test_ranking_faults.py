"""Runs and judgments that cannot be read or make no sense; odd ones that are read."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest

from rageval_report import score_rankings
from rageval_report.errors import DataError, ReaderError
from rageval_report.metrics.ranking_scores import score_table_of_rankings

RUN = b"q1 Q0 a 1 0.9 t\nq1 Q0 b 2 0.8 t\n"
QRELS = b"q1 0 a 1\nq1 0 b 0\n"
BEIR = b"query-id\tcorpus-id\tscore\nq1\ta\t1\n"


def scored(path, qrels=None, names="mrr"):
    return score_table_of_rankings(path, {"q1": {"a": 1}} if qrels is None else qrels, names)


# -- what cannot be read


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (b"", "the file is empty"),
        (b"# only this\n\n", "the file has no rows"),
        (RUN + b"q1 Q0 c 3 0.7\n", "line 3: expected 6 columns, .*; got 5, in 'q1 Q0 c 3"),
        (RUN + b"q1 Q0 a b 3 0.7 t\n", "line 3: expected 6 columns, .*; got 7, in 'q1 Q0 a b"),
        (RUN + b"q1 Q0 c 3 nan t\n", "line 3: the score must be a number; got 'nan'"),
        (RUN + b"q1 Q0 c 3 high t\n", "line 3: the score must be a number; got 'high'"),
        (RUN + b"q1 Q0 c 3 1_0 t\n", "line 3: the score must be a number; got '1_0'"),
        (RUN + b"q1 Q0 c 3 \xd9\xa1 t\n", "line 3: the score must be a number; got '\u0661'"),
        (RUN + b"\nq1 Q0 a 3 0.1 t\n", "line 4: .*'q1', document 'a': appears twice, .*line 1"),
        (RUN + b"# c\nq1 Q0 c 3 x t\n", "line 4: the score must be a number; got 'x'"),
        (RUN + b"q1 Q0 a\x00 3 0.7 t\n", "expected text; this looks like binary data"),
        (gzip.compress(RUN, mtime=0)[:-9], "the gzip file is cut"),
        (QRELS, "line 1: expected 6 columns, .*; got 4"),
        (b"query Q0 doc rank score tag\n" + RUN, "line 1: the score .*; got 'score'"),
    ],
)
def test_a_run_that_cannot_be_read_is_told_by_file_line_and_value(tmp_path, run, told):
    path = tmp_path / "bad.run"
    path.write_bytes(run)
    with pytest.raises(ReaderError, match=rf"bad\.run.*{told}"):
        scored(path)


@pytest.mark.parametrize(
    ("qrels", "told"),
    [
        (b"# only this\n", "the file has no rows"),
        (QRELS + b"q1 0 c yes\n", "line 3: the relevance must be a number; got 'yes'"),
        (QRELS + b"q1 0 c inf\n", "line 3: the relevance must be a number; got 'inf'"),
        (QRELS + b"q1 0 c 9" + b"9" * 308 + b"\n", "line 3: the relevance must be a number"),
        (QRELS + b"q1 0 c\n", "line 3: expected 4 columns, .*; got 3, in 'q1 0 c'"),
        (
            QRELS + b"q1 0 a 1\n",
            "line 3: .*document 'a': appears twice, first in line 1",
        ),
        (RUN, "line 1: expected 4 columns, .*; got 6"),
        (b"query_id iter doc_id rel\n" + QRELS, "line 1: the relevance .*; got 'rel'"),
        (BEIR + b"q1\tb\tx\n", "line 3: the relevance must be a number; got 'x'"),
        (
            BEIR + b"q1\ta\t1\n",
            "line 3: .*document 'a': appears twice, first in line 2",
        ),
        (BEIR[: BEIR.index(b"\n") + 1], "expected BEIR qrels .*; the file has no rows"),
    ],
)
def test_judgments_that_cannot_be_read_are_told_by_file_line_and_value(tmp_path, qrels, told):
    path = tmp_path / "bad.qrels"
    path.write_bytes(qrels)
    with pytest.raises(ReaderError, match=rf"bad\.qrels.*{told}"):
        scored({"q1": {"a": 1}}, path)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ReaderError, match="there is no such file"):
        scored(tmp_path / "none.run")
    with pytest.raises(ReaderError, match="expected a file; this is a folder"):
        scored(tmp_path)


# -- what only looks odd


@pytest.mark.parametrize(
    "run",
    [
        b"\xef\xbb\xbf" + RUN,
        RUN.replace(b"\n", b"\r\n"),
        RUN.removesuffix(b"\n"),
        b"\n# comment\n  \n" + RUN.replace(b" ", b"\t  "),
        b"  " + RUN.replace(b"\n", b"  \n"),
        RUN.replace(b"0.9", b"+9e-1"),
        RUN.replace(b"0.9", b"inf"),
        RUN.replace(b" 1 ", b" x "),  # ranks are not asked for
        RUN.decode().encode("utf-16"),
        gzip.compress(b"\xef\xbb\xbf" + RUN, mtime=0),
    ],
)
def test_an_odd_run_is_read(tmp_path, run):
    path = tmp_path / "odd.run"
    path.write_bytes(run)
    ranked = scored(path, names=["mrr", "P@2"])
    assert ranked.scores.loc["q1"].tolist() == [1.0, 0.5]
    assert ranked.details.loc["q1", "n_retrieved"] == 2


@pytest.mark.parametrize(
    "qrels",
    [
        b"\xef\xbb\xbf" + QRELS,  # five IR tools lose the first judgment
        QRELS.replace(b"\n", b"\r\n"),
        b"# judged by hand\n\n" + QRELS.replace(b" ", b"\t"),
        QRELS.replace(b"1\n", b"1.0\n"),
        QRELS + b"q1 0 c -1\n",
        BEIR,
        b"\xef\xbb\xbf" + BEIR,
        BEIR.replace(b"\n", b"\r\n"),
        BEIR.split(b"\n", 1)[1],
        gzip.compress(BEIR, mtime=0),
    ],
)
def test_odd_judgments_are_read(tmp_path, qrels):
    path = tmp_path / "odd.qrels"
    path.write_bytes(qrels)
    ranked = scored({"q1": ["x", "a"]}, path, ["mrr", "recall"])
    assert ranked.scores.loc["q1"].tolist() == [0.5, 1.0]


@pytest.mark.parametrize("blank", ["\u00a0", "\u2003", "\u3000", "\u0085"])
def test_only_ascii_blanks_part_words(tmp_path, blank):
    # str.split() would make two words of such an id
    path = tmp_path / "odd.run"
    path.write_text(f"q1 Q0 a{blank}b 1 0.9 t\n", encoding="utf-8")
    assert scored(path, {"q1": {f"a{blank}b": 1}}).scores["mrr"].item() == 1.0


def test_ids_are_texts_even_where_they_look_like_numbers(tmp_path):
    run, qrels = tmp_path / "run", tmp_path / "qrels"
    run.write_text("1 Q0 01 1 0.9 t\n1 Q0 1.0 2 0.8 t\n1 Q0 1 3 0.7 t\n")
    qrels.write_text("1 0 1 1\n")
    assert scored(run, qrels).scores["mrr"].tolist() == [1 / 3]
    assert scored(run, {1: {1: 1}}).scores["mrr"].tolist() == [1 / 3]


JUDGED = {"q": {"a": 1, "b": 0}}


# -- dicts


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ({"q": {"a": float("nan")}}, "score of document 'a' for query 'q'.*got nan"),
        ({"q": {"a": "high"}}, "got 'high'"),
        ({"q": ["a", "b", "a"]}, "must name each document once; twice in query 'q': 'a'"),
        ({"q": "abc"}, "must give each query its documents.*got 'abc'"),
        ({"q": 3}, "got 3 for query 'q'"),
        ({"q": {"b", "a"}}, "sets have no order: 'q'"),
        ({"q": [["a", 0.5]]}, "as a mapping of ids to numbers or a list of ids; unhashable"),
        ({"q": ["a", None]}, r"the run has a document without an id \(None\): 'q'"),
        ({"q": {"a": 1, None: 2}}, r"a document without an id \(None\): 'q'"),
        ({1.5: ["a"]}, "must be texts or integers; got 1.5"),
        ({"q": {1.5: 1}}, "must be texts or integers; got 1.5"),
        ({"q": {1: 0.5, "1": 0.4}}, "are the same as texts, such as 1 and '1'"),
        ({"q": {"a": 1, 2: 1}}, "document ids must all be texts"),
        ({}, "no query in common; queries of the run: none; judged queries: 'q'"),
        (None, "must be a mapping, a DataFrame or the path of a file"),
    ],
)
def test_a_dict_that_is_no_run_is_refused(run, told):
    with pytest.raises(DataError, match=told):
        score_rankings(run, JUDGED, "mrr")


@pytest.mark.parametrize(
    ("qrels", "told"),
    [
        ({"q": {"a": "yes"}}, "the grade of document 'a' for query 'q' .* got 'yes'"),
        ({"q": {"a": float("inf")}}, "the grade of document 'a' .* got inf"),
        ({"q": ["a", "a"]}, "qrels must name each document once; twice in query 'q': 'a'"),
        ({"q": "a"}, "qrels must give each query its documents.*got 'a'"),
        ({"q": [None]}, r"qrels has a document without an id \(None\): 'q'"),
        ({}, "qrels must have at least one judged query"),
        (7, "must be a mapping, a DataFrame or the path of a file"),
    ],
)
def test_a_dict_that_is_no_judgments_is_refused(qrels, told):
    with pytest.raises(DataError, match=told):
        score_rankings({"q": {"a": 1.0}}, qrels, "mrr")


# -- frames


def frame_with(**columns):
    return pd.DataFrame(
        {"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [1.0, 2.0]} | columns
    )


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (frame_with().drop(columns="doc_id"), "needs a column 'doc_id' .*columns: 'query_id'"),
        (frame_with().drop(columns="score"), "needs a column 'score' .*columns: 'query_id'"),
        (frame_with().iloc[:0], "the run has no rows"),
        (frame_with(doc_id=["a", None]), "row 1, counted from 0, has none"),
        (frame_with(doc_id=[1.0, 1.5]), "got floating values such as 1.0"),
        (frame_with(query_id=["q", 1]), "got mixed-integer values"),
        (frame_with(score=["1", "x"]), "row 1 .*'q', document 'b'.*must be a number; got 'x'"),
        (frame_with(score=[1.0, np.nan]), "row 1 .*'q', document 'b'.*must be a number; got .*nan"),
        (frame_with(doc_id=["a", "a"]), r"row 1 .*'a'\): appears twice, first in row 0"),
        (frame_with().set_axis(["query_id"] * 2 + ["score"], axis=1), "appear twice: 'query_id'"),
    ],
)  # fmt: skip
def test_a_frame_that_is_no_run_is_refused(frame, told):
    with pytest.raises(DataError, match=told):
        score_rankings(frame, JUDGED, "mrr")


def test_a_missing_id_of_a_polars_frame_is_told():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"query_id": ["q", None], "doc_id": ["a", "b"], "score": [1.0, 2.0]})
    with pytest.raises(DataError, match="row 1, counted from 0, has none"):
        score_rankings(frame, JUDGED, "mrr")


# -- what is right, though it looks odd
