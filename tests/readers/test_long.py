from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise
from rageval_report.readers.long import LONG
from rageval_report.scores import score_table

LINES = """query_id,pipeline,metric,value
q1,bm25,recall,1
q1,bm25,mrr,0.5
q2,bm25,recall,0.25
q1,dense,recall,0.75
"""


@pytest.fixture
def read_long(write):
    def read_long_(text, **options):
        return {one.pipeline: one for one in read(write(text), reader=LONG, **options)}

    return read_long_


@pytest.mark.parametrize(
    "header",
    [
        "query_id,pipeline,metric,value",
        "Query ID,System,Metric Name,Score",
        "question,metric,score",
        "id,evaluator,result,reason",
    ],
)
def test_any_spelling_is_recognised(write, header):
    text = f"{header}\n{','.join(['x'] * (header.count(',') + 1))}\n"
    assert recognise(Source(write(text))) == "long"


def test_each_pipeline_has_a_column_a_metric(read_long):
    found = read_long(LINES)
    assert list(found) == ["bm25", "dense"]
    assert found["bm25"].frame["query_id"].tolist() == ["q1", "q2"]
    assert found["bm25"].frame["recall"].tolist() == [1, 0.25]
    assert np.array_equal(found["bm25"].frame["mrr"], [0.5, np.nan], equal_nan=True)
    assert found["dense"].metric_columns == ("recall",)


def test_ids_stay_texts(read_long):
    found = read_long("qid,metric,value\n001,mrr,1\n1,mrr,0\n")["run"]
    assert found.frame["qid"].tolist() == ["001", "1"]


def test_questions_tell_queries_apart_where_there_are_no_ids(read_long):
    found = read_long("question,metric,value\nWhy?,mrr,1\nWho?,mrr,0\nWhy?,recall,1\n")["run"]
    table = score_table(found.frame, only=found.metric_columns)
    assert table.scores["mrr"].tolist() == [1, 0]
    assert table.scores["recall"].isna().tolist() == [False, True]


def test_cells_are_read_as_scores(read_long):
    found = read_long("qid,metric,value\na,f,83 %\nb,f,4/5\nc,f,(Failed)\nd,g,pass\n")["run"]
    assert found.frame["f"].tolist()[:2] == [0.83, 0.8]
    assert found.frame["f_state"].tolist() == ["scored", "scored", "failed", "missing"]
    assert found.frame["g"].tolist()[3] == 1.0


# -- twice


def test_repeats_are_averaged_on_request(read_long):
    found = read_long(LINES + "q1,bm25,recall,0\n", repeats="mean")["bm25"]
    assert found.frame["recall"].tolist() == [0.5, 0.25]
    assert found.frame["n_repeats"].tolist() == [2, 1]
    assert any("the mean over its repeats" in note for note in found.notes)


@pytest.mark.parametrize("column", ["epoch", "trial_id"])
def test_repetitions_that_are_told_apart_are_averaged(read_long, column):
    found = read_long(f"qid,metric,{column},value\na,mrr,1,1\na,mrr,2,0.5\na,mrr,3,\nb,mrr,1,1\n")[
        "run"
    ]
    assert found.frame["mrr"].tolist() == [0.75, 1]  # the one without score does not count
    assert found.frame["n_repeats"].tolist() == [3, 1]


# -- reasons, states, errors


def test_reasons_stand_beside_their_metric(read_long):
    found = read_long("qid,metric,value,explanation\na,mrr,1,first\na,f1,0.5,half\n")["run"]
    assert found.frame["mrr_reason"].tolist() == ["first"]
    assert found.frame["f1_reason"].tolist() == ["half"]


def test_an_error_is_no_score_whatever_stands_there(read_long):
    found = read_long("qid,metric,value,error\na,mrr,0,timeout\nb,mrr,1,\n")["run"]
    assert np.array_equal(found.frame["mrr"], [np.nan, 1], equal_nan=True)
    assert found.frame["mrr_state"].tolist() == ["failed", "scored"]
    assert found.frame["mrr_reason"].tolist()[0] == "timeout"


@pytest.mark.parametrize(
    ("state", "read_as"),
    [
        ("ok", "scored"),
        ("Failed", "failed"),
        ("timeout", "failed"),
        ("skipped", "not applicable"),
        ("not applicable", "not applicable"),
    ],
)
def test_a_state_says_what_the_value_is(read_long, state, read_as):
    found = read_long(f"qid,metric,value,status\na,mrr,0,{state}\nb,mrr,0,error\n")["run"]
    assert found.frame["mrr_state"].tolist()[0] == read_as
    assert (found.frame["mrr"].tolist()[0] == 0) == (read_as == "scored")


def test_a_score_that_is_told_to_be_missing_did_not_fail(read_long):
    found = read_long("qid,metric,value,state,reason\na,mrr,,missing,later\nb,mrr,,failed,\n")[
        "run"
    ]
    assert found.frame["mrr_state"].tolist() == ["missing", "failed"]


def test_a_query_is_scored_where_one_of_its_repeats_is(read_long):
    found = read_long(
        "qid,metric,epoch,value,error\na,mrr,1,,timeout\na,mrr,2,0.5,\nb,mrr,1,,timeout\n"
    )["run"]
    assert found.frame["mrr_state"].tolist() == ["scored", "failed"]
    assert found.frame["mrr"].tolist()[0] == 0.5


# -- other columns


def test_what_is_one_for_a_query_is_a_detail(read_long):
    found = read_long("qid,metric,value,topic\na,mrr,1,low\na,f1,1,low\nb,mrr,1,high\n")["run"]
    assert found.frame["topic"].tolist() == ["low", "high"]


# -- bad input


@pytest.mark.parametrize("column", ["query_id", "pipeline", "metric"])
def test_a_row_that_names_nothing_is_named(write, column):
    rows = [{"query_id": "a", "pipeline": "p", "metric": "m", "value": 1} for _ in range(2)]
    rows[1][column] = None
    message = f"every row needs a text or a number in '{column}'; the data row 2"
    with pytest.raises(ReaderError, match=message):
        read(write(json.dumps(rows)), reader=LONG)


def test_a_metric_that_is_named_like_a_column_is_refused(read_long):
    with pytest.raises(ReaderError, match="two columns would be named 'topic'"):
        read_long("qid,metric,value,topic\na,topic,1,low\n")


@pytest.mark.parametrize("cell", [[1], {"a": 1}])
@pytest.mark.parametrize("column", ["query_id", "metric"])
def test_a_name_that_is_no_text_is_refused(write, column, cell):
    row = {"query_id": "a", "metric": "m", "value": 1, column: cell}
    with pytest.raises(ReaderError, match=f"every row needs a text or a number in '{column}'"):
        read(write(json.dumps([row, row])), reader=LONG)


def test_another_table_is_refused(read_long):
    with pytest.raises(ReaderError, match=r"expected a long table.*: 'query_id', 'recall'"):
        read_long("query_id,recall\na,1\n")


CELLS = st.dictionaries(
    st.tuples(st.sampled_from(["a", "b", "001"]), *[st.sampled_from(["x", "y"])] * 2),
    st.floats(0, 1),
    min_size=1,
)


@settings(max_examples=25)
@given(CELLS, st.randoms(use_true_random=False))
def test_every_cell_comes_back_whatever_the_order_of_the_rows(tmp_path_factory, cells, random):
    rows = list(cells.items())
    random.shuffle(rows)
    path = tmp_path_factory.mktemp("long") / "run"
    lines = [f"{query},{pipeline},m{metric},{value!r}" for (query, pipeline, metric), value in rows]
    # With the last line end: without it a short last number looks as if the file were cut.
    path.write_text("".join(f"{line}\n" for line in ["query_id,pipeline,metric,value", *lines]))
    found = {one.pipeline: one.frame.set_index("query_id") for one in read(path, reader=LONG)}
    for (query, pipeline, metric), value in cells.items():
        assert found[pipeline].loc[query, f"m{metric}"] == value
    n_scores = sum(int(frame.notna().to_numpy().sum()) for frame in found.values())
    assert n_scores == len(cells)


# -- other spellings, decided by the cells

SCORES = {
    ("a", "faithfulness"): 0.5,
    ("a", "tone"): 1.0,
    ("b", "faithfulness"): 0.25,
    ("b", "tone"): 0.0,
}
SPELLINGS = [
    "query_id,score_name,score",
    "traceId,name,value",
    "run_id,key,score",
    "item_id,criterion,rating",
    "testCaseId,evaluator,result",
    "spanId,feedback_key,feedback_score",
    "question,name,value",
]


def written(header, rows, numbered=True):
    """The scores as CSV, the first column a number of the score."""
    lines = [f"id,{header}" if numbered else header]
    for number, ((query, metric), score) in enumerate(rows):
        lines.append(f"{f's{number},' if numbered else ''}{query},{metric},{score}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("header", SPELLINGS)
@pytest.mark.parametrize("numbered", [False, True])
def test_one_row_a_score_is_read_in_any_spelling(write, header, numbered):
    rows = [list(SCORES.items())[at] for at in (3, 1, 0, 2)]
    path = write(written(header, rows, numbered))
    assert recognise(Source(path)) == "long"
    [evaluation] = read_scores(path).values()
    scores = evaluation.scores
    if header.startswith("question"):
        scores = scores.set_axis(evaluation.details["question"])
    assert {(q, m): scores.loc[q, m] for q, m in SCORES} == SCORES
    assert scores.shape == (2, 2)


@pytest.mark.parametrize(
    "text",
    [
        "id,name,score\n1,Anna,0.5\n2,Ben,0.75\n",
        "id,name,score\n1,Anna,0.5\n2,Ben,0.75\n3,Anna,0.25\n",  # a name twice
        "query_id,name,score\n1,Anna,0.5\n1,Anna,0.75\n2,Ben,0.5\n",  # a query twice
        "query_id,key,rating,score\nq1,k1,5,1\nq2,k2,4,0\n",
    ],
)
def test_titles_beside_a_metric_called_score_are_a_wide_table(write, text):
    assert recognise(Source(write(text))) == "csv"


def test_a_single_known_metric_by_name_is_not_called_score(write):
    [found] = read(write("id,name,score\n1,faithfulness,0.5\n2,faithfulness,1\n"))
    assert found.metric_columns == ("faithfulness",)


def test_a_score_of_an_observation_belongs_to_the_observation(write):
    text = "trace_id,observation_id,name,value\nt,o1,f1,1\nt,o2,f1,0\nt,o1,em,1\nt,o2,em,0\n"
    [evaluation] = read_scores(write(text)).values()
    assert evaluation.scores.index.tolist() == ["o1", "o2"]


@pytest.mark.parametrize(
    ("rows", "pipelines"),
    [
        ("e1,r1,f1,1\ne2,r2,f1,0\ne3,r3,f1,0\n", ["run"]),  # a run is a call
        ("e1,r1,f1,1\ne2,r1,f1,0\ne1,r2,f1,0\ne2,r2,f1,1\n", ["r1", "r2"]),
        ("e1,r1,f1,1\ne1,r2,f1,0\n", ["r1", "r2"]),
    ],
)
def test_the_id_of_a_run_is_a_pipeline_only_if_it_covers_queries(write, rows, pipelines):
    path = write(f"example_id,run_id,evaluator,score\n{rows}")
    assert [found.pipeline for found in read(path)] == pipelines


def test_means_by_run_are_not_scores_of_queries(write):
    text = "run_id,key,value,step\nr1,f1,0.5,0\nr1,em,0.4,0\nr2,f1,0.5,0\nr2,em,0.4,0\n"
    assert recognise(Source(write(text))) != "long"


def test_words_are_labels_and_not_failed_scores(read_long):
    found = read_long("qid,metric,value\na,tone,good\nb,tone,bad\na,f1,1\nb,f1,0.5\n")["run"]
    assert found.metric_columns == ("f1",)
    assert found.frame["tone_label"].tolist() == ["good", "bad"]


# -- lists of scores within records

NESTED = [
    ("results", {"metric": "f1", "score": 0.5}),
    ("scores", {"name": "f1", "value": 0.5}),
    ("Feedback", {"key": "f1", "score": 0.5, "id": "x"}),
    ("metricResults", {"metricName": "f1", "numericValue": 0.5}),
]


@pytest.mark.parametrize(("nest", "score"), NESTED)
@pytest.mark.parametrize("kind", ["json", "inner", "jsonl", "csv"])
def test_scores_within_records_are_rows(write, nest, score, kind):
    key = list(score)[1]
    other = {**score, next(iter(score)): "em", key: 1}
    records = [
        {"id": "q1", "topic": "x", nest: [score, other]},
        {"id": "q2", "topic": "y", nest: [{**other, key: 0}, {**score, key: None}]},
        {"id": "q3", "topic": "y", nest: []},
    ]
    lines = "\n".join(map(json.dumps, records))
    cells = "".join(
        '{},{},"{}"\n'.format(row["id"], row["topic"], json.dumps(row[nest]).replace('"', '""'))
        for row in records
    )
    text = {
        "json": json.dumps(records),
        "inner": json.dumps({"results": records, "model": "m"}),
        "jsonl": lines,
        "csv": f"id,topic,{nest}\n{cells}",
    }[kind]
    path = write(text)
    assert recognise(Source(path)) == "long"
    [evaluation] = read_scores(path).values()
    assert evaluation.scores.index.tolist() == ["q1", "q2", "q3"]
    assert evaluation.scores["em"].tolist()[:2] == [1, 0]
    assert evaluation.scores["f1"].tolist()[0] == 0.5
    assert evaluation.scores.isna().to_numpy().sum() == 3  # one null, and q3 has none
    assert evaluation.details["topic"].tolist() == ["x", "y", "y"]


@pytest.mark.parametrize("nest", ["results", "scores", "feedback"])
def test_lists_of_passages_are_not_scores(write, nest):
    rows = [{"id": q, "recall": 1, nest: [{"text": "a passage", "score": 0.5}]} for q in "ab"]
    assert recognise(Source(write(json.dumps(rows)))) == "json"


def test_a_failed_record_fails_its_scores(write):
    rows = [
        {"id": "a", "evals": [{"name": "f1", "score": 1}]},
        {"id": "b", "error": "timeout", "evals": []},
        {"id": "c", "evals": [{"name": "f1", "score": 0, "error": "no verdict"}]},
    ]
    [found] = read(write(json.dumps(rows)))
    assert found.frame["f1_state"].tolist() == ["scored", "failed", "failed"]
    assert found.frame["f1_reason"].tolist()[1:] == ["timeout", "no verdict"]
