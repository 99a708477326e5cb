"""Digests: any flipped bit is seen, and what is whole is never taken for damaged."""

from __future__ import annotations

import json
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.files.digests import (
    Line,
    LineNumbers,
    document_digest,
    file_digest,
    is_whole,
    open_line,
    seal_line,
    sealed_document,
    separate_lines,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
LINE = seal_line(b'{"row": 0, "query_id": "q1", "answer": "a \\"digest\\": \\"b\\""}', 2, b"salt")


def test_each_flipped_bit_of_a_line_is_seen():
    for place in range(len(LINE) - 1):
        for bit in range(8):
            damaged = bytearray(LINE)
            damaged[place] ^= 1 << bit
            assert open_line(bytes(damaged), b"salt") is None


def test_each_cut_of_a_line_is_seen():
    body = LINE.rstrip(b"\n")
    assert [n for n in range(len(body)) if open_line(body[:n], b"salt") is not None] == []


def test_a_line_belongs_to_its_salt():
    assert open_line(LINE, b"salt") is not None
    assert open_line(LINE, b"other") is None


def test_the_digest_is_that_of_blake2b():
    # The second witness is hashlib: the lengths of the parts before each part.
    numbered = b'{"row": 0, "line": 2'
    parts = b"".join(len(part).to_bytes(8, "big") + part for part in (b"", numbered))
    expected = blake2b(parts, digest_size=16).hexdigest().encode()
    assert seal_line(b'{"row": 0}', 2) == numbered + b', "digest": "' + expected + b'"}\n'


def test_a_sealed_line_is_json_that_any_program_reads():
    assert json.loads(LINE)["answer"] == 'a "digest": "b"'


def test_an_entry_with_a_member_of_the_same_name_comes_back():
    entry = b'{"digest": "mine", "line": 7}'
    assert open_line(seal_line(entry, 3)) == (entry, 3)


@pytest.mark.parametrize("ending", [b"\r\n", b"\n", b""])
def test_the_end_of_the_line_is_not_part_of_it(ending):
    assert open_line(LINE.rstrip(b"\n") + ending, b"salt") is not None


def test_lines_whose_line_feed_is_damaged_are_separated():
    first, second = seal_line(b'{"row": 0}', 2), seal_line(b'{"row": 1}', 3)
    joined = Line(5, 100, first[:-1] + b"\x0b" + second)
    parts = list(separate_lines(joined))
    assert [open_line(part.content) for part in parts] == [(b'{"row": 0}', 2), (b'{"row": 1}', 3)]
    assert [part.place - 100 for part in parts] == [0, len(first)]


def test_the_query_of_a_damaged_line_is_named_where_it_can_be_read():
    assert Line(3, 0, b'{"row": 1, "query_id": "q\\u00e9", "ans').name == "line 3 (query 'q\u00e9')"
    assert Line(3, 0, b'{"row": 1, "query_id": "q\\u00').name == "line 3"


def problems(numbers):
    check = LineNumbers().check
    return [problem for problem in map(check, numbers) if problem is not None]


def test_lines_that_are_missing_copied_or_moved_are_named():
    assert problems([1, 2, 3]) == []
    assert problems([1, 3]) == ["line 2 is missing"]
    assert problems([1, 5]) == ["3 of the lines 2 to 4 are missing"]
    assert problems([1, 2, 2, 3]) == ["line 2 is there again, or was moved"]
    assert problems([1, 3, 2]) == ["line 2 is missing", "line 2 is there again, or was moved"]


def test_a_damaged_line_is_not_missing_as_well():
    numbers = LineNumbers()
    numbers.check(1)
    numbers.count_damaged()
    assert numbers.check(3) is None
    assert numbers.next() == 4


@given(st.dictionaries(st.text(), JSON))
def test_a_document_is_whole_after_it_was_written_and_read(document):
    document.pop("digest", None)
    sealed = sealed_document(document)
    assert is_whole(json.loads(json.dumps(sealed, ensure_ascii=False)))
    assert is_whole(json.loads(json.dumps(sealed, indent=2, sort_keys=True)))


@given(st.dictionaries(st.text(), JSON, min_size=1), JSON)
def test_a_document_with_another_value_is_not_whole(document, value):
    document.pop("digest", None)
    sealed = sealed_document(document)
    key = next(iter(sealed))
    if json.dumps(value, sort_keys=True) != json.dumps(sealed[key], sort_keys=True):
        assert not is_whole({**sealed, key: value})


def test_half_a_character_keeps_its_digest_as_the_sign_for_lost():
    # Readers replace half a character, so the digest is the same before and after.
    assert document_digest({"a": "\ud83d"}) == document_digest({"a": "\ufffd"})


def test_the_digest_of_a_file_is_that_of_its_bytes(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"x" * 3_000_000)
    assert file_digest(path) == blake2b(b"x" * 3_000_000, digest_size=16).hexdigest()
