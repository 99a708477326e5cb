from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from rageval_report.readers.cell_values import parse_objects
from rageval_report.readers.frameworks.row_parts import split_parts

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
).filter(lambda value: isinstance(value, list | dict))


@given(VALUES)
def test_json_in_a_cell_is_the_value_again(value):
    assert parse_objects([json.dumps(value)]) == [value]


@given(VALUES)
def test_a_python_literal_in_a_cell_is_the_value_again(value):
    assert parse_objects([repr(value)]) == [value]


def test_code_in_a_cell_stays_text():
    cells = ["[__import__('os').getcwd()]", "{'a': open('x')}"]
    assert parse_objects(cells) == cells


def test_a_cell_nested_too_deeply_stays_text():
    cells = ["[" * n + "]" * n for n in (201, 900, 5000)]
    assert parse_objects(cells) == cells
    [parsed] = parse_objects(["[" * 200 + "]" * 200])
    assert json.dumps(parsed) == "[" * 200 + "]" * 200


def test_the_only_part_of_an_object_is_its_text():
    assert split_parts([{"anything": "why?"}], "question", "input") == {"question": ["why?"]}


def test_an_object_without_a_name_for_the_text_is_its_own_text():
    found = split_parts([{"a": 1, "b": 2}], "question", "input")
    assert found == {"question": ['{"a": 1, "b": 2}'], "a": [1], "b": [2]}


def test_a_part_that_would_be_taken_for_an_id_goes_by_its_origin():
    found = split_parts([{"question": "why?", "id": 7}], "question", "input")
    assert found == {"question": ["why?"], "input.id": [7]}
