"""JSON is parsed strictly, line by line or whole; the witness is Python's own parser."""

import json
import math
import re
from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import ReaderError
from rageval_report.files.source import Source, json_objects
from rageval_report.files.strict_json import (
    NotJSONError,
    check_depth,
    load_json,
    parse_json,
    replace_lone_surrogates,
    starts_like_json,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50)
@given(VALUES)
def test_whatever_json_can_write_is_read_back(value):
    assert parse_json(json.dumps(value)) == value


@settings(max_examples=50)
@given(VALUES.filter(lambda value: isinstance(value, dict | list) and bool(value)), st.data())
def test_a_document_cut_anywhere_is_refused_as_cut(value, data):
    text = json.dumps(value)
    with pytest.raises(NotJSONError) as caught:
        parse_json(text[: data.draw(st.integers(1, len(text) - 1))])
    assert caught.value.is_cut


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[\n {"a": 1},\n {"a": 2,, "b": 3}\n]', "not JSON"),
        ('{"recall": 1, "mrr": 1, "recall": 0}', "the key 'recall' more than once"),
        ("[" * 100_000, "too deeply"),
        ("1" * 5000, "4300 digits"),
    ],
)
def test_a_fault_is_named(text, message):
    with pytest.raises(NotJSONError, match=message) as caught:
        parse_json(text)
    assert caught.value.line in (None, 3)
    assert math.isnan(parse_json('{"recall": NaN}')["recall"])


# One more level around a text, some with siblings or texts that are full of brackets.
WRAPPINGS = ["[{}]", '{{"a": {}}}', '["[[{{\\"[", {}]', '{{"[[": [], "a": {}}}', "[{}, [1], 2]"]


def nested(levels, wrappings=WRAPPINGS):
    text = "[]"
    for _, wrapping in zip(range(1, levels), cycle(wrappings), strict=False):
        text = wrapping.format(text)
    return text


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_two_hundred_levels_are_read_and_more_refused_on_all_versions_of_python(wrapping):
    text = nested(200, [wrapping])
    assert load_json(text.encode()) == parse_json(text) == json.loads(text)
    for levels in (201, 900, 3000):
        text = nested(levels, [wrapping])
        with pytest.raises(RecursionError):
            load_json(text)
        with pytest.raises(NotJSONError, match=r"nested too deeply"):
            parse_json(text)


def test_brackets_beside_each_other_are_not_deep():
    text = json.dumps([[{"a": [[]]}] for _ in range(5000)])
    assert check_depth(load_json(text), len(text)) == parse_json(text) == json.loads(text)


def test_objects_and_arrays_look_like_json_and_headers_do_not():
    assert all(map(starts_like_json, ["{", '{"a": 1}', " [ {", "[]", "[1, 2]", '["a"]', "{}"]))
    assert not any(map(starts_like_json, ["[gpt-4] prompt,score", "{{ query }},score", "id", ""]))


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (r'"\ud83d"', r'"\ufffd"'),
        (r'"\ude00 x"', r'"\ufffd x"'),
        (r'"\ud83d\ude00"', r'"\ud83d\ude00"'),
        (r'"\ud83d\ud83d\ude00"', r'"\ufffd\ud83d\ude00"'),
        (r'"C:\\ud83d"', r'"C:\\ud83d"'),
        (r'"\\\ud83d"', r'"\\\ufffd"'),
    ],
)
def test_half_characters_become_the_replacement_character(text, changed):
    assert replace_lone_surrogates(text)[0] == changed


# -- lines


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_have_their_numbers_at_any_line_end(end):
    lines = ['{"query_id": "a"}', "  ", '{"query_id": "b\\u2028"}']
    objects = list(json_objects(Source(end.join(lines).encode())))
    assert objects == [(1, {"query_id": "a"}), (3, {"query_id": "b\u2028"})]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"query_id": "q", "query_id": "r"}', "an object has the key 'query_id' more than once"),
        ("[1]", "expected one JSON object per line; got '[1]'"),
        ('{"query_id"', "the record is cut"),
        ('{"a": 1}, {"b": 2}', "this is not JSON"),
    ],
)
def test_a_damaged_line_has_its_number_and_those_before_it_are_read(line, message):
    lines = [f'{{"query_id": "q{number}"}}' for number in range(1, 301)]
    lines[200] = line
    objects = json_objects(Source("\n".join(lines).encode()))
    assert [next(objects)[0] for _ in range(200)] == list(range(1, 201))
    with pytest.raises(ReaderError, match="line 201: " + re.escape(message)):
        next(objects)


@pytest.mark.parametrize(
    "line",
    [
        '{"a":1,"a":2}',
        '{"a" :1,"a":2}',
        '{"a"\t:1,"b":1,"b":2}',
        '{"a":1,"\\u0061":2}',
        '{"a":":","a":1}',
        '{"a":{"b":1},"a":2}',
        '{"b\\\\":1,"b\\\\":2}',
        '{"a":' + "[" * 300 + "]" * 300 + "}",
    ],
)
def test_repeated_keys_and_deep_lists_are_noticed_in_lines(line):
    with pytest.raises(ReaderError, match=r"line 1: (an object has the key|objects are nested)"):
        list(json_objects(Source(line.encode())))
