from __future__ import annotations

import json

import pytest

from rageval_report.errors import ReaderError

LINES = ['{"query_id": "q1", "recall": 0.5}', '{"query_id": "q2", "recall": 1}']


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_any_line_end_ends_a_record(frame_text, line_end):
    frame = frame_text(line_end.join(LINES))
    assert frame.to_dict("list") == {"query_id": ["q1", "q2"], "recall": [0.5, 1.0]}


def test_blank_lines_are_passed_over(frame_text):
    assert len(frame_text("\n\n" + LINES[0] + "\n   \n" + LINES[1] + "\n\n")) == 2


def test_separators_that_are_no_line_ends_may_stand_in_texts(frame_text):
    line = json.dumps({"id": "a", "answer": "one\u2028two\x85three\x0b", "recall": 1})
    text = json.dumps({"id": "b", "answer": "x\u2029y", "recall": 1}, ensure_ascii=False)
    frame = frame_text(line + "\n" + text)
    assert frame["answer"].tolist() == ["one\u2028two\x85three\x0b", "x\u2029y"]


def test_a_broken_line_is_told_with_its_number(read_text):
    with pytest.raises(ReaderError, match=r"run, line 4: this is not JSON"):
        read_text("\n".join([LINES[0], "", LINES[1], '{"query_id": "q3" "recall": 1}']))


def test_a_file_cut_in_a_record_is_told_with_the_line(read_text):
    with pytest.raises(ReaderError, match=r"line 2: the record is cut"):
        read_text("\n".join(LINES)[:-4])


@pytest.mark.parametrize("line", ["[1, 2]", "5", '"text"', "null"])
def test_a_line_that_is_no_object_is_told(read_text, line):
    with pytest.raises(ReaderError, match=r"line 2: expected one JSON object per line; got") as e:
        read_text("\n".join([LINES[0], line, LINES[1]]))
    assert line in str(e.value)


def test_a_key_that_is_there_twice_is_told_with_its_line(read_text):
    with pytest.raises(ReaderError, match=r"line 2: an object has the key 'recall' more than once"):
        read_text("\n".join([LINES[0], '{"query_id": "q", "recall": 1, "recall": 0}']))


def test_one_line_is_one_record(frame_text):
    assert frame_text(LINES[0]).to_dict("list") == {"query_id": ["q1"], "recall": [0.5]}


def test_nested_scores_become_columns(frame_text):
    lines = [json.dumps({"id": one, "metrics": {"f1": {"score": 0.5}}}) for one in "ab"]
    assert frame_text("\n".join(lines))["f1"].tolist() == [0.5, 0.5]


def test_only_the_columns_asked_for_are_kept(frame_text):
    line = '{"query_id": "q1", "recall": 0.5, "mrr": 1}\n'
    assert list(frame_text(line + line, columns=["mrr"])) == ["query_id", "mrr"]


def test_a_metric_of_one_record_in_a_hundred_is_unscored_elsewhere(frame_text):
    rows = [{"id": f"q{i}", "recall": 1, **({"mrr": 0.5} if i == 60 else {})} for i in range(100)]
    frame = frame_text("\n".join(json.dumps(row) for row in rows))
    assert frame["mrr"].notna().sum() == 1
    assert frame["mrr"].iloc[60] == 0.5
