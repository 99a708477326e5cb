from __future__ import annotations

import gzip
import io

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, read_scores
from rageval_report.errors import ReaderError

ROWS = [("q1", 0.5, 1), ("q2", 0.25, 0), ("q3", 1.0, 1), ("q4", 0.125, 0), ("q5", 0.75, 1)]
FRAME = pd.DataFrame(ROWS, columns=["query_id", "recall", "hit"])
MEANS = {"recall": 0.525, "hit": 0.6}  # (0.5 + 0.25 + 1 + 0.125 + 0.75) / 5 and 3 / 5


def lines(delimiter=","):
    rows = [delimiter.join(map(str, row)) for row in ROWS]
    return [delimiter.join(FRAME.columns), *rows]


@pytest.fixture
def evaluation(write):
    def load(content, **options):
        text = content if isinstance(content, bytes | str) else "\n".join(content) + "\n"
        return RAGPipelineEvaluation.load("a", write(text), **options)

    return load


def check(evaluation, note, line=None):
    """The five queries and their means, and a note with the line."""
    assert list(evaluation.scores.index) == ["q1", "q2", "q3", "q4", "q5"]
    assert evaluation.scores.mean().round(12).to_dict() == MEANS
    place = "" if line is None else f"line {line}"
    assert any(note in text and place in text for text in evaluation.notes), evaluation.notes


# -- in each kind of file


def as_csv(frame):
    return frame.to_csv(index=False).encode()


def as_tsv(frame):
    return frame.to_csv(index=False, sep="\t").encode()


def as_semicolons(frame):
    return frame.to_csv(index=False, sep=";", decimal=",").encode()


def as_bars(frame):
    return frame.to_csv(index=False, sep="|").encode()


def as_records(frame):
    return frame.to_json(orient="records").encode()


def as_split(frame):
    return frame.to_json(orient="split").encode()


def as_jsonl(frame):
    return frame.to_json(orient="records", lines=True).encode()


def as_parquet(frame):
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


def as_excel(frame):
    buffer = io.BytesIO()
    frame.to_excel(buffer, index=False)
    return buffer.getvalue()


def as_long(frame):
    return frame.melt("query_id", var_name="metric").to_csv(index=False).encode()


def as_gzip(frame):
    return gzip.compress(as_csv(frame))


FORMATS = [
    *(as_csv, as_tsv, as_semicolons, as_bars, as_records, as_split, as_jsonl),
    *(as_parquet, as_excel, as_long, as_gzip),
]
WITH_LINES = (as_csv, as_tsv, as_semicolons, as_bars, as_gzip)


@pytest.mark.parametrize("write_frame", FORMATS)
def test_a_total_is_left_out_of_every_kind_of_file(evaluation, write_frame):
    label = "Overall"
    total = pd.DataFrame([{"query_id": label, **MEANS}])
    content = write_frame(pd.concat([FRAME, total], ignore_index=True))
    line = {as_jsonl: 6}.get(write_frame, 7 if write_frame in WITH_LINES else None)
    check(evaluation(content), repr(label), line)


@pytest.mark.parametrize("write_frame", [as_csv, as_jsonl, as_excel])
def test_a_second_header_is_left_out_of_every_kind_of_file(evaluation, write_frame):
    header = pd.DataFrame([list(FRAME.columns)], columns=FRAME.columns)
    content = write_frame(pd.concat([FRAME[:2], header, FRAME[2:]], ignore_index=True))
    line = {as_jsonl: 3}.get(write_frame)
    check(evaluation(content), "header", line)


@pytest.mark.parametrize("write_frame", [as_csv, as_records, as_jsonl, as_parquet])
def test_a_blank_row_is_left_out_of_every_kind_of_file(evaluation, write_frame):
    blank = pd.DataFrame([[None] * 3], columns=FRAME.columns)
    frame = pd.concat([FRAME[:4].astype(object), blank.astype(object), FRAME[4:].astype(object)])
    frame = frame.astype({"query_id": "str", "recall": float, "hit": float}).reset_index(drop=True)
    frame.loc[4, "query_id"] = None
    check(evaluation(write_frame(frame)), "blank row")


def test_all_in_a_long_table_is_left_out(evaluation):
    content = (
        "qid,measure,score\na,map,1\nall,map,0.75\nb,map,0.5\na,P_5,0.2\nb,P_5,0\nall,P_5,.1\n"
    )
    scores = evaluation(content).scores
    assert list(scores.index) == ["a", "b"]
    assert scores["map"].tolist() == [1, 0.5]


def test_a_total_of_each_pipeline_of_a_long_table_is_left_out(write):
    rows = [
        (p, q, v)
        for p, vs in (("x", (1, 0)), ("y", (0.5, 0.25)))
        for q, v in zip("ab", vs, strict=True)
    ]
    rows += [("x", "mean", 0.5), ("y", "mean", 0.375)]
    text = "pipeline,query_id,metric,value\n" + "".join(f"{p},{q},mrr,{v}\n" for p, q, v in rows)
    every = read_scores(write(text))
    assert {name: one.n_queries for name, one in every.items()} == {"x": 2, "y": 2}


PIPELINES = [("a", "x", 0.5), ("b", "x", 0.25), ("a", "y", 0.75), ("b", "y", 1.0)]


@pytest.mark.parametrize(
    "totals",
    [
        ["overall,,0.625"],
        ["mean,all,0.625"],
        ["mean,x,0.375", "mean,y,0.875"],
        ["Average,x,0.375", "Average,y,0.875", "All,-,0.625"],
        [",,0.625"],
    ],
)
def test_totals_of_a_table_of_several_pipelines_are_no_pipeline(write, totals):
    rows = [",".join(map(str, row)) for row in PIPELINES]
    every = read_scores(write("\n".join(["query_id,model,recall", *rows, *totals]) + "\n"))
    assert {name: list(one.scores.index) for name, one in every.items()} == {
        "x": ["a", "b"],
        "y": ["a", "b"],
    }
    assert any("line 6" in note for note in every["x"].notes)


def test_a_doubtful_row_of_the_second_pipeline_is_named_by_its_line(write):
    rows = [",".join(map(str, row)) for row in PIPELINES]
    path = write("\n".join(["query_id,model,recall", *rows, "mean,y,0.1"]) + "\n")
    with pytest.raises(ReaderError, match="line 6 is labelled 'mean'"):
        read_scores(path)
    assert read_scores(path, totals="keep")["y"].n_queries == 3
    assert read_scores(path, totals="drop")["y"].n_queries == 2


def test_a_run_file_keeps_what_was_saved(tmp_path):
    data = {"query_id": ["q1", "q2", "mean"], "recall": [0.5, 1.0, 0.75]}
    evaluation = RAGPipelineEvaluation("a", data, totals="keep")
    evaluation.save(tmp_path / "run.json")
    assert RAGPipelineEvaluation.load("a", tmp_path / "run.json").n_queries == 3


# -- lines of delimited text


@pytest.mark.parametrize("delimiter", [",", "|"])
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("# a comment", "comment"),
        ("// another", "comment"),
        ("-----------", "dashes"),
        ("(5 rows)", "footer"),
        ("5 rows selected.", "footer"),
        ("Time: 3.2 ms", "footer"),
    ],
)
@pytest.mark.parametrize("place", [1, 6])
def test_a_line_that_is_not_a_row_is_left_out(evaluation, line, reason, place, delimiter):
    table = lines(delimiter)
    check(evaluation([*table[:place], line, *table[place:]]), reason, place + 1)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_for_each_line_end(evaluation, end):
    table = lines()
    text = end.join([*table[:2], "", "# x", *table[2:], "Sum,2.625,3"]) + end
    loaded = evaluation(text)
    check(loaded, "comment", 4)
    check(loaded, "'Sum'", 9)


@pytest.mark.parametrize(
    "row",
    [
        "---,---,---",
        "# query_id, recall, hit",
        "// ids, from 0 to 1, yes or no",
        ",ratio,%",
        "varchar,double,integer",
        ",,",
        "QUERY_ID,Recall,Hit",
    ],
)
@pytest.mark.parametrize("place", [1, 4])
def test_a_row_of_the_same_width_that_is_not_a_query_is_left_out(evaluation, row, place):
    table = lines()
    loaded = evaluation([*table[:place], row, *table[place:]])
    check(loaded, "left out", place + 1)
    assert str(loaded.scores["hit"].dtype) == "float64"


def test_ids_are_read_as_texts_after_a_second_header(evaluation):
    loaded = evaluation("id,f1\n007,1\nid,f1\n08,0\n")
    assert list(loaded.scores.index) == ["007", "08"]


@pytest.mark.parametrize("header", ["query_id,hit,recall", "query_id,mrr,ndcg"])
def test_a_second_header_with_other_columns_is_refused(evaluation, header):
    with pytest.raises(ReaderError, match="line 7 is another header"):
        evaluation([*lines(), header, "q9,1,0.5"])


@pytest.mark.parametrize(
    "first", ["# run 7, of 3 May, final", "// x", "-- made by a tool", "sep=,"]
)
def test_lines_before_the_header_are_left_out(evaluation, first):
    check(evaluation([first, *lines()]), "line 1")


@pytest.mark.parametrize("header", ["#query_id,recall,hit", "# query_id,recall,hit"])
def test_a_header_may_be_written_as_a_comment(evaluation, header):
    loaded = evaluation(["# from a tool", header, *lines()[1:]])
    assert loaded.scores.mean().to_dict() == pytest.approx(MEANS)


@pytest.mark.parametrize("mark", ["#", "//"])
def test_questions_may_begin_like_comments(evaluation, mark):
    rows = [f"{mark}{number},0.5,1" for number in range(4)]
    assert evaluation([lines()[0], *rows]).n_queries == 4


def test_a_broken_row_that_begins_like_a_comment_is_refused(evaluation):
    with pytest.raises(ReaderError, match="line 3: expected 3 fields"):
        evaluation([*lines()[:2], "#hash, or not,0.5,1", *lines()[2:]])


def test_the_doubt_names_the_line_and_the_option(evaluation):
    table = [*lines(), "mean,0.9,0.1"]
    with pytest.raises(ReaderError, match=r'line 7 is labelled .*totals="drop".*totals="keep"'):
        evaluation(table)
    assert evaluation(table, totals="drop").n_queries == 5
    assert evaluation(table, totals="keep").n_queries == 6


def test_any_order_of_the_rows_gives_the_same_means(evaluation):
    rng = np.random.default_rng(0)
    body = [*lines()[1:], "mean,0.525,0.6", "# x", "query_id,recall,hit", ",,"]
    for _ in range(6):
        shuffled = [body[place] for place in rng.permutation(len(body))]
        scores = evaluation([lines()[0], *shuffled]).scores
        assert sorted(scores.index) == ["q1", "q2", "q3", "q4", "q5"]
        assert scores.mean().to_dict() == pytest.approx(MEANS)
