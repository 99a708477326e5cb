from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise

ROWS = [
    {"query_id": "q1", "answer": "None", "recall": 0.5},
    {"query_id": "q2", "answer": "NA", "recall": None},
]
FRAME = pd.DataFrame(ROWS)


def cells_of(frame):
    """The columns in order, with None where cells are missing, whatever pandas stores for it."""
    return [
        (name, [None if pd.isna(cell) else cell for cell in frame[name].tolist()]) for name in frame
    ]


@pytest.mark.parametrize("orient", ["records", "split", "columns", "table"])
def test_what_pandas_writes_is_read(frame_text, orient):
    frame = frame_text(FRAME.to_json(orient=orient))
    assert cells_of(frame.drop(columns="index", errors="ignore")) == cells_of(FRAME)


def test_columns_of_lists_are_read(frame_text):
    assert cells_of(frame_text(json.dumps(FRAME.to_dict("list")))) == cells_of(FRAME)


def test_the_one_list_of_objects_in_a_document_is_the_table(read_text):
    found = read_text(json.dumps({"run": "a", "results": ROWS, "seeds": [1, 2]}))
    assert cells_of(found.frame) == cells_of(FRAME)
    assert found.notes == ("read the rows of 'results'; left out: 'run', 'seeds'",)


GRADES = [{"question": f"Q{n}?", "f1_score": n / 10, "llm_score": n % 2} for n in (5, 6, 7)]


@pytest.mark.parametrize("sizes", [(2, 1), (1, 1, 1)])
def test_groups_of_records_are_one_table(read_text, sizes):
    ends = np.cumsum(sizes)
    groups = {
        str(n): GRADES[end - size : end]
        for n, (size, end) in enumerate(zip(sizes, ends, strict=True))
    }
    found = read_text(json.dumps(groups))
    assert found.frame["f1_score"].tolist() == [0.5, 0.6, 0.7]
    assert found.frame["group"].tolist() == [key for key, group in groups.items() for _ in group]
    assert "whose keys are in the column 'group'" in found.notes[0]


@pytest.mark.parametrize("indent", [None, 1])
def test_columns_beside_texts_that_hold_for_all_rows(read_text, indent):
    columns = {"subset": ["a", "a", "b"], "id": ["30", "31", "0"], "results": [1, 0, 1]}
    found = read_text(json.dumps({**columns, "model": "m/rm", "seed": 7}, indent=indent))
    assert found.frame["results"].tolist() == [1, 0, 1]
    assert found.frame["model"].tolist() == ["m/rm"] * 3
    assert any("left out: 'seed'" in note for note in found.notes)


def test_lists_of_other_things_are_no_groups(read_text):
    with pytest.raises(
        ReaderError, match="several lists of objects with different keys: 'rows', 'prompts'"
    ):
        read_text(json.dumps({"rows": [{"id": 1, "f1": 1}], "prompts": [{"text": "a"}, {"n": 1}]}))


def test_labels_of_rows_are_ids_where_there_are_no_others(read_text):
    scores = pd.DataFrame({"recall": [0.5, 1.0]}, index=["q7", "q9"])
    found = read_text(scores.to_json(orient="split"))
    assert found.frame["query_id"].tolist() == ["q7", "q9"]
    assert found.notes == ("the row labels are the query ids",)


def test_labels_of_rows_are_details_beside_ids(frame_text):
    filtered = pd.DataFrame({"query_id": ["a", "b", "c"], "recall": [1, 0, 1]}).iloc[[0, 2]]
    frame = frame_text(filtered.to_json(orient="split"))
    assert frame["index"].tolist() == [0, 2]
    assert frame["query_id"].tolist() == ["a", "c"]


@pytest.mark.parametrize(
    "document",
    [
        {"recall": {"mean": 0.5, "std": 0.1}, "mrr": {"mean": 0.4, "std": 0.2}},
        {"gpt": {"recall": 0.5}, "llama": {"recall": 0.6}},
        {"q1": {"recall": 0.5}, "q2": {"recall": 0.6}},
    ],
)
def test_what_may_be_queries_or_statistics_is_not_guessed(read_text, document):
    with pytest.raises(ReaderError, match=r"which may be queries, pipelines or statistics"):
        read_text(json.dumps(document, indent=1))


def test_a_key_of_some_records_is_missing_in_the_others(frame_text):
    rows = [{"id": "a"}, {"id": "b", "recall": 1}, {"id": "c", "mrr": 0.5}, {"id": "d"}]
    frame = frame_text(json.dumps(rows))
    assert np.array_equal(frame["recall"], [np.nan, 1, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(frame["mrr"], [np.nan, np.nan, 0.5, np.nan], equal_nan=True)


def test_nan_is_unscored_and_infinity_is_kept_to_be_refused(frame_text):
    frame = frame_text('[{"id": "a", "recall": NaN}, {"id": "b", "recall": Infinity}]')
    assert np.array_equal(frame["recall"], [np.nan, np.inf], equal_nan=True)


# -- nested scores


def test_scores_one_level_down_become_columns_with_their_reasons(read_text):
    rows = [
        {"id": "a", "metrics": {"f1": {"score": 0.5, "reason": "half"}, "em": {"score": 0}}},
        {"id": "b", "metrics": {"f1": {"score": None, "reason": "no answer"}}},
    ]
    found = read_text(json.dumps(rows))
    assert list(found.frame) == ["id", "f1", "f1_reason", "em"]
    assert np.array_equal(found.frame["f1"], [0.5, np.nan], equal_nan=True)
    assert found.frame["f1_reason"].tolist() == ["half", "no answer"]
    assert found.notes == ("the scores within 'metrics' became columns: f1, f1_reason, em",)


def test_plain_scores_one_level_down_become_columns(frame_text):
    rows = [{"id": "a", "scores": {"f1": 0.5, "passed": True}}, {"id": "b", "scores": None}]
    frame = frame_text(json.dumps(rows))
    assert np.array_equal(frame["f1"], [0.5, np.nan], equal_nan=True)
    assert frame["passed"].tolist()[0] is True


def test_what_stands_beside_a_score_is_kept(frame_text):
    score = {"value": 0.5, "threshold": 0.7, "judge": "gpt"}
    frame = frame_text(json.dumps([{"id": "a", "scores": {"f1": score}}]))
    assert frame["f1_details"].tolist() == [{"threshold": 0.7, "judge": "gpt"}]


def test_a_nested_score_does_not_cover_a_column(frame_text):
    frame = frame_text(json.dumps([{"id": "a", "f1": 1, "scores": {"f1": 0.5}}]))
    assert frame.to_dict("list") == {"id": ["a"], "f1": [1], "scores.f1": [0.5]}


# -- recognition and faults


@pytest.mark.parametrize(
    ("text", "reader"),
    [
        ('[{"id": 1}]', "json"),
        (' {\n"id": [1]}', "json"),
        ('{"results": [{"id": 1}]}', "json"),
        ('{"id": 1}\n{"id": 2}', "jsonl"),
        ('{"id": 1, "f1": 0.5}\n', "jsonl"),
        ('{"id": 1}\n\n{"id": 2', "jsonl"),
        ('{"id": 1\n{"id": 2}\n', "jsonl"),
        ('{"a": {"b": 1}}', "json"),
        ('[{"id": 1},', "json"),
        ("[]", "json"),
    ],
)
def test_json_and_json_lines_are_told_apart(write, text, reader):
    assert recognise(Source(write(text))) == reader


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "the list of records is empty"),
        ("[{}]", "the records are empty"),
        ("{}", r"expected a list with one object per query.*got an object"),
        ('[{"id": 1}, 5]', "entry 2 is a number"),
        ('[1, "a"]', "entry 1 is a number"),
        ('{"id": [1, 2], "f1": [1]}', "equal length; 'id' has 2, 'f1' has 1"),
        ('{"id": 1, "f1": [1], "x": {}}', r"got an object with 'id', 'f1', 'x'"),
        ('{"columns": ["id", "f1"], "data": [[1, 2], [3]]}', "row 2 of 'data'.*got 1 cells"),
        ('{"columns": ["id", "f1"], "data": [1]}', "row 1 of 'data'.*got a number"),
        ('{"columns": ["f1", "f1"], "data": [[1, 2]]}', "appear more than once: 'f1'"),
        ('{"columns": ["f1"], "data": [[1]], "index": [1, 2]}', "'index' must be a list of 1"),
        ('{"columns": "f1", "data": []}', "must be lists"),
        ('{"columns": ["f1"], "data": []}', "column names, but no rows"),
        ('[{"id": 1, "id": 2}]', "the key 'id' more than once"),
        ('"text"', "expected a list with one object per query.*got a text"),
        ("null", "got null"),
    ],
)
def test_a_document_that_is_no_table_is_refused_with_the_reason(read_text, text, message):
    with pytest.raises(ReaderError, match=message):
        read_text(text, reader="json")


def test_a_document_that_ends_early_is_called_cut_with_its_line(read_text):
    with pytest.raises(ReaderError, match=r"ends in the middle; the file may be cut") as caught:
        read_text(json.dumps(ROWS, indent=1)[:-30])
    assert caught.value.line == 9


CELLS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5)


@settings(max_examples=30)
@given(st.lists(st.dictionaries(st.sampled_from("abc"), CELLS), min_size=1, max_size=6))
def test_any_records_are_read_back(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("records") / "run.json"
    rows = [{"id": f"q{i}", **record} for i, record in enumerate(records)]
    path.write_text(json.dumps(rows))
    [found] = read(path)
    for row, record in zip(found.frame.to_dict("records"), rows, strict=True):
        for name, cell in row.items():
            assert record.get(name) is None if pd.isna(cell) else cell == record[name]


# -- JSON Lines

LINES = ['{"query_id": "q1", "recall": 0.5}', '{"query_id": "q2", "recall": 1}']


def test_separators_that_are_no_line_ends_may_stand_in_texts(frame_text):
    line = json.dumps({"id": "a", "answer": "one\u2028two\x85three\x0b", "recall": 1})
    text = json.dumps({"id": "b", "answer": "x\u2029y", "recall": 1}, ensure_ascii=False)
    frame = frame_text(line + "\n" + text)
    assert frame["answer"].tolist() == ["one\u2028two\x85three\x0b", "x\u2029y"]


def test_a_metric_of_one_record_in_a_hundred_is_unscored_elsewhere(frame_text):
    rows = [{"id": f"q{i}", "recall": 1, **({"mrr": 0.5} if i == 60 else {})} for i in range(100)]
    frame = frame_text("\n".join(json.dumps(row) for row in rows))
    assert frame["mrr"].notna().sum() == 1
    assert frame["mrr"].iloc[60] == 0.5
