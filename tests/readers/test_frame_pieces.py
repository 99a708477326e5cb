"""Large files read in pieces give the very frame that small ones give."""

import json
from collections import defaultdict

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import UnknownNameError
from rageval_report.readers import frame_pieces, read
from rageval_report.readers.frame_pieces import frame_in_pieces
from rageval_report.readers.record_columns import (
    add_records,
    columns_of,
    frame_of,
    lift_nested_scores,
)

VALUES = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(0, 1) | st.text(max_size=2)
NESTS = st.dictionaries(st.sampled_from(["f1", "mrr"]), st.none() | st.floats(0, 1), max_size=2)
RECORDS = st.lists(
    st.fixed_dictionaries(
        {"id": st.text(max_size=3) | st.integers(0, 9)},
        optional={"recall": VALUES, "answer": VALUES, "scores": NESTS},
    ),
    min_size=1,
    max_size=8,
)


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(frame_pieces, "_RECORDS", 2)


@given(records=RECORDS)
@settings(max_examples=200)
def test_pieces_give_the_frame_of_the_whole(records):
    flat, told = lift_nested_scores(columns_of(records))
    whole = frame_of(flat)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(frame_pieces, "_RECORDS", 2)
        try:
            frame, notes = frame_in_pieces(records)
        except frame_pieces.MixedShapeError:
            return
    assert sorted(frame) == sorted(whole)  # what stands one level down may come later
    for name in whole:
        ours, theirs = frame[name], whole[name]
        assert ours.isna().tolist() == theirs.isna().tolist()
        assert ours.dropna().tolist() == theirs.dropna().tolist()
        if theirs.notna().any():
            assert ours.dtype == theirs.dtype
    assert notes[:1] == told[:1] or len(notes) > 1


@given(records=RECORDS, size=st.integers(1, 3))
def test_columns_of_a_few_records_at_a_time_are_those_of_all(records, size):
    columns = {}
    for n in range(0, len(records), size):
        add_records(columns, records[n : n + size], n)
    names = dict.fromkeys(name for record in records for name in record)
    assert columns == {name: [record.get(name) for record in records] for name in names}
    assert list(columns) == list(names)


def test_a_dict_with_a_default_gets_no_key_that_it_lacks():
    lacking = defaultdict(int, b=2)
    assert columns_of([{"a": 1}, lacking]) == {"a": [1, None], "b": [None, 2]}
    assert dict(lacking) == {"b": 2}


def test_records_without_keys_are_rows(small_pieces):
    assert frame_in_pieces([{}, {}, {}, {"f1": 1}])[0]["f1"].isna().tolist() == [True] * 3 + [False]


@pytest.fixture
def large(monkeypatch, small_pieces):
    """Every file is a large one."""
    monkeypatch.setattr("rageval_report.readers.jsonl.LARGE", 0)
    monkeypatch.setattr("rageval_report.files.source.LARGE", 0)


def test_only_columns_asked_for_are_held(write, large):
    lines = [json.dumps({"id": f"q{i}", "answer": "long", "f1": i / 4}) for i in range(5)]
    [found] = read(write("\n".join(lines)), columns=["f1"])
    assert list(found.frame) == ["id", "f1"]
    assert found.frame["f1"].tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    with pytest.raises(UnknownNameError, match=r"column is named 'answr'\. Did you mean 'answer'"):
        read(write("\n".join(lines)), columns=["answr"])


def test_ids_keep_their_types_over_the_pieces(write, large):
    ids = ["001", "002", "3", "x"]
    path = write("\n".join(json.dumps({"id": one, "f1": 1}) for one in ids))
    assert list(RAGPipelineEvaluation.load(None, path).scores.index) == ids


def test_scores_one_level_down_in_some_pieces_only_are_read_as_a_whole(write, large):
    records = [{"id": "a", "scores": {"f1": 1}}, {"id": "b"}, {"id": "c", "scores": [1]}]
    [found] = read(write("\n".join(map(json.dumps, records))))
    assert list(found.frame) == ["id", "scores"]


def test_a_large_file_in_another_encoding_and_with_half_characters_is_read(write, large):
    line = '{"id": "é", "f1": 1, "answer": "\\ud83d"}\n'
    [found] = read(write(line + line.replace("é", "e")))
    assert any("2 half characters" in note for note in found.notes)
    [latin] = read(write((line + line.replace("é", "e")).encode("cp1252")))
    assert found.frame["id"].tolist() == latin.frame["id"].tolist() == ["é", "e"]
    assert any("cp1252" in note for note in latin.notes)


def test_a_broken_line_of_a_large_file_has_its_number(write, large):
    with pytest.raises(ValueError, match="line 3: the record is cut"):
        read(write('{"id": "a", "f1": 1}\n{"id": "b", "f1": 1}\n{"id": "c'))


def test_a_frame_of_pieces_is_scored_like_any(small_pieces):
    records = [{"query_id": f"q{i}", "passed": i % 2 == 0} for i in range(4)]
    frame, _ = frame_in_pieces(records)
    assert pd.api.types.is_bool_dtype(frame["passed"])


def test_a_large_table_in_a_windows_encoding_keeps_its_header_and_its_first_row(write, large):
    text = "query_id,größe,recall\nq1,éé,0.5\nq2,x,1\n"
    [found] = read(write(text.encode("cp1252")))
    assert list(found.frame) == ["query_id", "größe", "recall"]
    assert found.frame["recall"].tolist() == [0.5, 1.0]
    assert found.frame["größe"].tolist() == ["éé", "x"]


def test_time_grows_as_the_file_does(small_pieces, monkeypatch):
    """No column as long as the file is made for each piece of it."""
    made = []
    blank_piece = frame_pieces._blank_piece
    monkeypatch.setattr(frame_pieces, "_blank_piece", lambda n: made.append(n) or blank_piece(n))
    records = [{"query_id": f"q{i}", "f1": i / 100, "answer": "text"} for i in range(100)]
    frame, _ = frame_in_pieces(records)
    assert len(frame) == 100
    assert sum(made) == 0
    frame, _ = frame_in_pieces([*records, {"query_id": "late", "late": 1}])
    assert sum(made) <= 101 + 3
