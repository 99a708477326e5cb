from __future__ import annotations

import json
import math
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@given(VALUES)
def test_whatever_json_can_write_is_read_back(value):
    assert parse_json(json.dumps(value)) == value


@given(VALUES.filter(lambda value: isinstance(value, dict | list) and bool(value)), st.data())
def test_a_document_cut_anywhere_is_refused_as_cut(value, data):
    text = json.dumps(value)
    kept = data.draw(st.integers(1, len(text) - 1))
    with pytest.raises(NotJSONError) as caught:
        parse_json(text[:kept])
    assert caught.value.is_cut


def test_a_fault_has_its_line():
    with pytest.raises(NotJSONError, match=r"not JSON") as caught:
        parse_json('[\n {"a": 1},\n {"a": 2,, "b": 3}\n]')
    assert caught.value.line == 3
    assert not caught.value.is_cut


def test_nan_is_read_as_nan():
    assert math.isnan(parse_json('{"recall": NaN}')["recall"])


def test_a_key_that_is_there_twice_is_refused():
    with pytest.raises(NotJSONError, match=r"the key 'recall' more than once"):
        parse_json('{"recall": 1, "mrr": 1, "recall": 0}')


def test_deep_nesting_is_refused_without_a_crash():
    with pytest.raises(NotJSONError, match=r"too deeply"):
        parse_json("[" * 100_000)


# One more level around a text, some with siblings or texts that are full of brackets.
WRAPPINGS = ["[{}]", '{{"a": {}}}', '["[[{{\\"[", {}]', '{{"[[": [], "a": {}}}', "[{}, [1], 2]"]


def nested_texts(levels):
    """A JSON text of so many levels."""

    def nest(levels, wrappings):
        text = "[]"
        for _, wrapping in zip(range(1, levels), cycle(wrappings), strict=False):
            text = wrapping.format(text)
        return text

    return st.builds(nest, levels, st.lists(st.sampled_from(WRAPPINGS), min_size=1, max_size=5))


@given(nested_texts(st.integers(196, 200)))
def test_two_hundred_levels_are_read(text):
    assert load_json(text) == load_json(text.encode()) == parse_json(text) == json.loads(text)


# Python 3.11 and 3.12 themselves refuse about 1,000 levels, later versions many more.
@given(nested_texts(st.integers(201, 220) | st.sampled_from([900, 3000])))
def test_more_than_two_hundred_levels_are_refused_on_all_versions_of_python(text):
    with pytest.raises(RecursionError):
        load_json(text)
    with pytest.raises(RecursionError):
        load_json(text.encode())
    with pytest.raises(NotJSONError, match=r"nested too deeply"):
        parse_json(text)


def test_many_brackets_beside_each_other_are_not_deep():
    text = json.dumps([[{"a": [[]]}] for _ in range(5000)])
    assert load_json(text) == parse_json(text) == json.loads(text)


def test_the_depth_of_a_document_does_not_depend_on_the_parser():
    deep = 0
    for _ in range(201):
        deep = [deep]
    assert check_depth(deep[0], 402) == deep[0]
    with pytest.raises(RecursionError, match=r"more than 200 levels deep"):
        check_depth(deep, 402)


def test_a_number_of_thousands_of_digits_is_refused():
    with pytest.raises(NotJSONError):
        parse_json("1" * 5000)


@pytest.mark.parametrize("text", ["{", '{"a": 1}', " [ {", "[]", "[1, 2]", '["a"]', "{}"])
def test_objects_and_arrays_look_like_json(text):
    assert starts_like_json(text)


@pytest.mark.parametrize("text", ["[gpt-4] prompt,score", "{{ query }},score", "query_id,a", ""])
def test_headers_do_not_look_like_json(text):
    assert not starts_like_json(text)


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        (r'"\ud83d"', r'"\ufffd"'),
        (r'"\ude00 x"', r'"\ufffd x"'),
        (r'"\ud83d\ude00"', r'"\ud83d\ude00"'),
        (r'"\ud83d\ud83d\ude00"', r'"\ufffd\ud83d\ude00"'),
        (r'"C:\\ud83d"', r'"C:\\ud83d"'),
        (r'"\\\ud83d"', r'"\\\ufffd"'),
    ],
)
def test_half_characters_become_the_replacement_sign(text, mended):
    assert replace_lone_surrogates(text)[0] == mended


@given(st.text())
def test_whole_texts_are_not_touched(text):
    assert replace_lone_surrogates(json.dumps(text)) == (json.dumps(text), 0)
