"""JSON Lines are parsed together; the witness is the parse of each line by itself."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.errors import ReaderError
from rageval_report.files.json_lines import json_objects, json_records
from rageval_report.files.source import Source
from rageval_report.files.strict_json import NotJSONError, parse_json, parse_json_together

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
# Parts of documents, which are JSON only with other parts, or not at all.
PARTS = st.sampled_from(
    ['{"a": 1', "}", "[1", "]", ",", '"', '{"a": 1, "a": 2}', "1, 2", "[], 0, {}"]
)


def parsed_alone(lines):
    try:
        return [parse_json(line) for line in lines]
    except NotJSONError:
        return None


@given(st.lists(VALUES.map(json.dumps) | PARTS, min_size=1, max_size=8))
def test_lines_parsed_together_are_those_parsed_alone(lines):
    # As texts, because NaN is not equal to itself.
    assert repr(parse_json_together(lines)) == repr(parsed_alone(lines))


# Flat objects of the keys a, b and c, where keys are repeated or texts look like keys.
MEMBERS = st.builds(
    "{}{}{}".format,
    st.sampled_from(['"a"', '"b"', '"c"', r'"b\\"', '"\\u0061"']),
    st.sampled_from([":", ": ", " :", "\t: "]),
    st.sampled_from(["1", "0.5", '"x"', '":"', r'"\":"', '"a :"', r'"\\"', '{"a":1}', "[]"]),
)
OBJECTS = st.lists(MEMBERS, min_size=1, max_size=3).map(lambda members: f"{{{','.join(members)}}}")


@given(st.lists(OBJECTS, min_size=1, max_size=4))
def test_repeated_keys_are_noticed_among_lines_parsed_together(lines):
    assert parse_json_together(lines) == parsed_alone(lines)


@pytest.mark.parametrize(
    "repeated",
    [
        '{"a":1,"a":2}',
        '{"a" :1,"a":2}',
        '{"a":1,"\\u0061":2}',
        '{"a":1,"a":":"}',
        '{"b\\\\":1,"b\\\\":2}',
    ],
)
def test_as_many_keys_as_the_first_line_has_may_be_repeated(repeated):
    assert parse_json_together(['{"a":1,"b":2}', repeated]) is None


def test_a_blank_before_a_colon_hides_no_repeated_key():
    assert parse_json_together(['{"a":1}', '{"b" :1,"b":2}']) is None


def test_no_line_is_no_document():
    assert parse_json_together([]) == []


@pytest.mark.parametrize(
    "lines",
    [
        ['{"a": [{"b": 1}', '{"b": 2}]}', '{"c": 3}, {"d": 4}'],
        ['{"a": 1}, 0, {"b": 2}', '{"x": [{"c": 3}', '{"d": 4}]}'],
        ['{"a": "1', '2"}'],
        ['{"a": 1}', ""],
        ["[" * 300 + "]" * 300, "{}"],
    ],
    ids=["two in one line", "a separator in a line", "a cut text", "a blank", "too deep"],
)
def test_lines_that_are_documents_only_together_are_refused(lines):
    assert parse_json_together(lines) is None


@pytest.mark.parametrize("lines_at_once", [1, 2, 1_024])
@pytest.mark.parametrize("damaged", [1, 2, 3, 50, 2_000])
def test_a_damaged_line_has_its_number_and_those_before_it_are_read(write, lines_at_once, damaged):
    lines = [f'{{"query_id": "q{number}"}}' for number in range(1, 2_001)]
    lines[damaged - 1] = '{"query_id": "q", "query_id": "r"}'
    objects = json_objects(Source(write("\n".join(lines))), lines_at_once=lines_at_once)
    read = [next(objects) for _ in range(damaged - 1)]
    assert [number for number, _ in read] == list(range(1, damaged))
    assert [record["query_id"] for _, record in read] == [f"q{n}" for n in range(1, damaged)]
    with pytest.raises(ReaderError, match=f"line {damaged}: an object has the key 'query_id'"):
        next(objects)


@pytest.mark.parametrize("damaged", [1, 2, 300, 2_000])
@pytest.mark.parametrize("line", ['{"query_id": "q", "query_id": "r"}', "[1]", '{"query_id"'])
def test_lists_of_records_are_the_objects_and_their_error_has_the_line(write, line, damaged):
    lines = [f'{{"query_id": "q{number}"}}' for number in range(1, 2_001)]
    source = Source(write("\n".join(lines)))
    records = [record for piece in json_records(source) for record in piece]
    assert records == [record for _, record in json_objects(source)]
    assert records == [{"query_id": f"q{number}"} for number in range(1, 2_001)]
    lines[damaged - 1] = line
    with pytest.raises(ReaderError, match=f"line {damaged}: "):
        list(json_records(Source(write("\n".join(lines)))))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_long_texts_have_the_lines_of_short_ones(write, end):
    # More than a million characters, so that the text is divided.
    lines = [f'{{"query_id": "{number}", "text": "{"a" * 1_000}"}}' for number in range(1_200)]
    found = list(json_objects(Source(write(end.join(lines)))))
    assert [number for number, _ in found] == list(range(1, 1_201))
    assert [record["query_id"] for _, record in found] == [str(n) for n in range(1_200)]
