"""Runs and judgments in memory that make no sense: what is told, and what is right all the same."""

import numpy as np
import pandas as pd
import pytest

from rageval_report import score_rankings
from rageval_report.errors import DataError

QRELS = {"q": {"a": 1, "b": 0}}


# -- dicts


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ({"q": {"a": float("nan")}}, "score of document 'a' for query 'q'.*got nan"),
        ({"q": {"a": None}}, "score of document 'a' .* got None"),
        ({"q": {"a": "high"}}, "got 'high'"),
        ({"q": ["a", "b", "a"]}, "must name each document once; twice in query 'q': 'a'"),
        ({"q": "abc"}, "must give each query its documents.*got 'abc'"),
        ({"q": 3}, "got 3 for query 'q'"),
        ({"q": None}, "got None for query 'q'"),
        ({"q": {"b", "a"}}, "sets have no order: 'q'"),
        ({"q": [["a", 0.5]]}, "as a mapping of ids to numbers or a list of ids; unhashable"),
        ({"q": ["a", None]}, r"the run has a document without an id \(None\): 'q'"),
        ({"q": {"a": 1, None: 2}}, r"a document without an id \(None\): 'q'"),
        ({1.5: ["a"]}, "must be texts or integers; got 1.5"),
        ({True: ["a"]}, "must be texts or integers; got True"),
        ({b"q": ["a"]}, "must be texts or integers; got b'q'"),
        ({"q": {1.5: 1}}, "must be texts or integers; got 1.5"),
        ({"q": {1: 0.5, "1": 0.4}}, "are the same as texts, such as 1 and '1'"),
        ({"q": {"a": 1, 2: 1}}, "document ids must all be texts"),
        ({}, "no query in common; queries of the run: none; judged queries: 'q'"),
        ([1, 2], "must be a mapping, a DataFrame or the path of a file"),
        (None, "must be a mapping, a DataFrame or the path of a file"),
    ],
)
def test_a_dict_that_is_no_run_is_refused(run, told):
    with pytest.raises(DataError, match=told):
        score_rankings(run, QRELS, "mrr")


@pytest.mark.parametrize(
    ("qrels", "told"),
    [
        ({"q": {"a": "yes"}}, "the grade of document 'a' for query 'q' .* got 'yes'"),
        ({"q": {"a": float("inf")}}, "the grade of document 'a' .* got inf"),
        ({"q": {"a": float("nan")}}, "the grade of document 'a' .* got nan"),
        ({"q": {"a": None}}, "the grade of document 'a' .* got None"),
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
        (frame_with(query_id=[None, "q"]), "an id in 'query_id'; row 0, counted from 0, has none"),
        (frame_with(doc_id=[1.0, 1.5]), "got floating values such as 1.0"),
        (frame_with(query_id=[True, False]), "got boolean values such as True"),
        (frame_with(query_id=["q", 1]), "got mixed-integer values"),
        (frame_with(score=["1", "x"]), "row 1 .*'q', document 'b'.*must be a number; got 'x'"),
        (frame_with(score=[1.0, np.nan]), "row 1 .*'q', document 'b'.*must be a number; got .*nan"),
        (frame_with(score=pd.array([1, None], "Int64")), "row 1 .*must be a number; got <NA>"),
        (frame_with(doc_id=["a", "a"]), r"row 1 .*'a'\): appears twice, first in row 0"),
        (frame_with().set_axis(["query_id"] * 2 + ["score"], axis=1), "appear twice: 'query_id'"),
    ],
)  # fmt: skip
def test_a_frame_that_is_no_run_is_refused(frame, told):
    with pytest.raises(DataError, match=told):
        score_rankings(frame, QRELS, "mrr")


@pytest.mark.parametrize(
    ("relevance", "told"),
    [
        ([1, np.inf], "row 1 .*the relevance must be a number; got .*inf"),
        (["yes", "no"], "row 0 .*document 'a'.*the relevance must be a number; got 'yes'"),
        ([np.nan, 1], "row 0 .*the relevance must be a number; got .*nan"),
    ],
)
def test_judgments_of_a_frame_that_are_no_numbers_are_refused(relevance, told):
    frame = frame_with(relevance=relevance).drop(columns="score")
    with pytest.raises(DataError, match=told):
        score_rankings({"q": {"a": 1.0}}, frame, "mrr")


def test_a_missing_id_of_a_polars_frame_is_told():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"query_id": ["q", None], "doc_id": ["a", "b"], "score": [1.0, 2.0]})
    with pytest.raises(DataError, match="row 1, counted from 0, has none"):
        score_rankings(frame, QRELS, "mrr")


# -- what is right, though it looks odd
