import json
import math

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.scores.write import save_scores, scores_text

ANSWERS = ['He said "no"', "a\rb", "line\r\nbreak\nend", "comma, tab\t", "🦶 ümlaut \u2028 x", None]
COLUMNS = {
    "query_id": ["001", "NA", "q 3", "q,4", 'q"5"', "query\n6"],
    "answer": ANSWERS,
    "contexts": [["x", "y, z"], [], ['"'], [{"id": 1, "text": "é"}], None, [None, math.nan]],
    "turn": [1, 2, 3, 4, 5, 6],
    "recall": [0.1 + 0.2, math.nan, 1 / 3, 5e-324, 1.0, 0.0],
    "latency_ms": [1e22, 123456.789, math.nan, 0.1, 1e-7, 2.0**53],
}


@pytest.fixture
def evaluation():
    return RAGPipelineEvaluation("hybrid", COLUMNS)


def assert_scores_are_those_of(frame, evaluation):
    for name, values in evaluation.scores.items():
        np.testing.assert_array_equal(frame[name].to_numpy(dtype=float), values.to_numpy())


@pytest.mark.parametrize(("suffix", "delimiter"), [(".csv", ","), (".tsv", "\t"), (".CSV", ",")])
def test_a_table_of_text_is_read_back_by_pandas(evaluation, tmp_path, suffix, delimiter):
    path = save_scores(evaluation, tmp_path / f"scores{suffix}")
    frame = pd.read_csv(path, sep=delimiter, dtype=str, keep_default_na=False, na_values=[""])
    assert frame["query_id"].tolist() == COLUMNS["query_id"]
    assert frame["answer"].tolist()[:5] == ANSWERS[:5]
    assert pd.isna(frame["answer"][5])
    contexts = [None if isinstance(c, float) else json.loads(c) for c in frame["contexts"]]
    assert contexts == [*COLUMNS["contexts"][:5], [None, None]]
    assert_scores_are_those_of(frame, evaluation)


def test_the_id_comes_first_then_the_details_then_the_metrics(evaluation, tmp_path):
    saved = pd.read_csv(evaluation.save(tmp_path / "scores.csv"))
    assert list(saved) == ["query_id", "answer", "contexts", "turn", "recall", "latency_ms"]


def test_cells_are_quoted_only_where_they_must_be(tmp_path):
    rows = {"query_id": ["a"], "answer": ["yes"], "recall": [0.5]}
    path = RAGPipelineEvaluation("x", rows).save(tmp_path / "scores.csv")
    assert path.read_bytes() == b"query_id,answer,recall\na,yes,0.5\n"


def test_json_lines_hold_a_query_each(evaluation, tmp_path):
    text = save_scores(evaluation, tmp_path / "scores.jsonl").read_text(encoding="utf-8")
    lines = text.split("\n")
    assert lines.pop() == ""
    rows = [json.loads(line, parse_constant=pytest.fail) for line in lines]
    assert [row["answer"] for row in rows] == ANSWERS
    assert_scores_are_those_of(pd.DataFrame(rows), evaluation)


def test_parquet_is_read_back_by_pandas(tmp_path):
    columns = {**COLUMNS, "contexts": [["x"], [], ["y", "z"], None, ["é"], ["f"]]}
    evaluation = RAGPipelineEvaluation("hybrid", columns)
    frame = pd.read_parquet(save_scores(evaluation, tmp_path / "scores.parquet"))
    assert frame["query_id"].tolist() == COLUMNS["query_id"]
    assert frame["contexts"].iloc[2].tolist() == ["y", "z"]
    assert_scores_are_those_of(frame, evaluation)


def test_cells_that_parquet_has_no_type_for_are_refused_and_nothing_is_left(tmp_path):
    columns = {"query_id": ["a", "b"], "recall": [1, 0], "answer": ["x", ["y"]]}
    with pytest.raises(DataError, match=r"scores\.parquet: Parquet has no type for these cells"):
        RAGPipelineEvaluation("x", columns).save(tmp_path / "scores.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_a_file_that_was_saved_makes_the_same_table_again(suffix, tmp_path):
    columns = {**COLUMNS, "contexts": ["x"] * 6}
    evaluation = RAGPipelineEvaluation("hybrid", columns)
    path = evaluation.save(tmp_path / f"scores{suffix}")
    readers = {
        ".csv": lambda: pd.read_csv(path, dtype={"query_id": str}, keep_default_na=False),
        ".tsv": lambda: pd.read_csv(path, sep="\t", dtype={"query_id": str}, keep_default_na=False),
        ".jsonl": lambda: [
            json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line
        ],
        ".parquet": lambda: pd.read_parquet(path),
    }
    again = RAGPipelineEvaluation("again", readers[suffix]())
    pd.testing.assert_index_equal(again.scores.index, evaluation.scores.index)
    np.testing.assert_allclose(again.scores, evaluation.scores, rtol=1e-15)


def test_details_of_any_kind_become_text_or_numbers(tmp_path):
    columns = {
        "query_id": ["a", "b"],
        "recall": [1, 0],
        "doc_id": [np.int64(3), 4],
        "asked": pd.to_datetime(["2026-01-02", None]),
        "gold": [np.array([1, 2]), ("x", {"y": np.float64("inf")})],
        "meta_id": pd.array([1, None], dtype="Int64"),
        "extra": [{1: pd.NA}, {2.5}],
    }
    evaluation = RAGPipelineEvaluation("x", pd.DataFrame(columns))
    path = evaluation.save(tmp_path / "scores.jsonl")
    first, second = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert (first["doc_id"], first["meta_id"], second["meta_id"]) == (3, 1, None)
    assert (first["asked"], second["asked"]) == ("2026-01-02 00:00:00", None)
    assert (first["gold"], second["gold"]) == ([1, 2], ["x", {"y": None}])
    assert (first["extra"], second["extra"]) == ({"1": None}, [2.5])
    evaluation.save(tmp_path / "scores.csv")
    cells = pd.read_csv(tmp_path / "scores.csv")
    assert json.loads(cells["gold"][1]) == ["x", {"y": None}]


def test_a_detail_named_like_the_ids_or_a_metric_gets_an_ending(tmp_path):
    frame = pd.DataFrame({"key": ["a"], "query_id": ["x"], "Recall": [1.0], "recall": ["all"]})
    evaluation = RAGPipelineEvaluation("x", frame, query_id="key", metrics=["Recall"])
    saved = pd.read_csv(evaluation.save(tmp_path / "scores.csv"))
    assert list(saved) == ["query_id", "query_id_detail", "recall_detail", "recall"]
    assert saved.iloc[0].tolist() == ["a", "x", "all", 1.0]


def test_an_unknown_suffix_is_told_with_the_known_ones(evaluation, tmp_path):
    with pytest.raises(UnknownNameError, match=r"named '\.jsn'\. Did you mean '\.json'\? Known"):
        save_scores(evaluation, tmp_path / "scores.jsn")
    with pytest.raises(UnknownNameError, match=r"named 'scores'\. Known"):
        save_scores(evaluation, "scores")


def test_formulas_are_written_as_they_are_unless_the_caller_asks(tmp_path):
    evaluation = RAGPipelineEvaluation(
        "hybrid", {"query_id": ["a"], "recall": [0.5], "answer": ["=1+1"]}
    )
    assert scores_text(evaluation, ".csv") == "query_id,answer,recall\na,=1+1,0.5\n"
    assert scores_text(evaluation, ".csv", neutralise_formulas=True) == (
        "query_id,answer,recall\na,'=1+1,0.5\n"
    )
    with pytest.raises(DataError, match=r"is for \.csv and \.tsv, which spreadsheets open; \.json"):
        scores_text(evaluation, ".jsonl", neutralise_formulas=True)


@pytest.mark.parametrize(
    "text", ["[1]", '"text"', '{"format": "other"}', "{}", "not JSON", "\udcff"]
)
def test_a_file_of_somebody_else_beside_the_table_is_not_replaced(text, tmp_path):
    evaluation = RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "recall": [0.5]})
    companion = tmp_path / "scores.csv.meta.json"
    content = text.encode("utf-8", "surrogateescape")
    companion.write_bytes(content)
    with pytest.raises(DataError, match="holds something else; move it"):
        evaluation.save(tmp_path / "scores.csv", force=True)
    assert companion.read_bytes() == content
    assert not (tmp_path / "scores.csv").exists()


def test_a_description_that_is_left_over_is_replaced_only_if_the_caller_says_so(tmp_path):
    evaluation = RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "recall": [0.5]})
    path = evaluation.save(tmp_path / "scores.csv")
    path.unlink()
    with pytest.raises(DataError, match=r"scores\.csv\.meta\.json exists already"):
        evaluation.save(path, force=False)
    assert not path.exists()
    assert evaluation.save(path, force=True).read_text() == "query_id,recall\na,0.5\n"
