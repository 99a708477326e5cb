"""Columns of ids, however they are stored. Witness: `==`, `hash` and dicts of plain Python."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.rankings import id_columns
from rageval_report.rankings.id_columns import (
    ByteIds,
    ObjectIds,
    block_starts,
    codes_of,
    hash_eights,
    is_bytes,
    texts,
)

# Texts that begin alike, end alike, and lie around the lengths of one and two words of 8 bytes.
WORDS = st.one_of(
    st.sampled_from(["a", "b", "é", "d1", "d11", "1234567", "12345678", "123456789", "a" * 16]),
    st.integers(0, 12).map(lambda n: "document-" + "0" * n + "7"),
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=20),
)
LISTS = st.lists(WORDS, max_size=12)


def fixed_width(words):
    encoded = [word.encode() for word in words]
    return np.array(encoded, dtype=f"S{max(map(len, encoded), default=1)}")


def arrow(words):
    return pd.array(words, dtype="str")


def sliced_arrow(words):
    """A part of a longer column, whose buffer holds more than the part."""
    return pd.array(["before", "é", *words, "after"], dtype="str")[2:-1]


def chunked_arrow(words):
    return pd.concat([pd.Series(words[n : n + 2], dtype="str") for n in range(0, len(words), 2)]
                     or [pd.Series([], dtype="str")]).array  # fmt: skip


def objects(words):
    return np.array([*words, None], dtype=object)[:-1]


FORMS = st.sampled_from([fixed_width, arrow, sliced_arrow, chunked_arrow, objects])


@given(LISTS, LISTS, FORMS, FORMS, st.sampled_from([1, 3, 1 << 14]))
@settings(max_examples=150)
def test_ids_are_compared_and_hashed_as_python_compares_them(words, others, one, other, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(id_columns, "_BLOCK", block)
        first, second = id_columns.id_columns(one(words), other(others))
        hashes = first.hashes().tolist(), second.hashes().tolist()
    assert (len(first), len(second)) == (len(words), len(others))
    pairs = [(row, place) for row in range(len(words)) for place in range(len(others))]
    rows, places = (np.array([pair[n] for pair in pairs], np.int64) for n in (0, 1))
    expected = [words[row] == others[place] for row, place in pairs]
    assert first.are_equal(rows, second, places).tolist() == expected
    same_hash = [hashes[0][row] == hashes[1][place] for row, place in pairs]
    assert [is_same for is_same, equal in zip(same_hash, expected, strict=True) if equal] == [
        True for equal in expected if equal
    ]
    if isinstance(first, ByteIds):
        # Words of up to eight bytes share no hash: each step of it can be undone.
        short = [
            len(words[row].encode()) <= 8 >= len(others[place].encode()) for row, place in pairs
        ]
        for is_same, equal, is_short in zip(same_hash, expected, short, strict=True):
            assert is_same == equal or not is_short


@given(LISTS, FORMS)
@settings(max_examples=60)
def test_ids_become_objects_that_sort_as_their_texts(words, form):
    column, _ = id_columns.id_columns(form(words), form(words))
    rows = np.arange(len(words))[::-1]
    found = column.objects(rows).tolist()
    decoded = [word.decode() if isinstance(word, bytes) else word for word in found]
    assert decoded == words[::-1]
    assert sorted(range(len(found)), key=found.__getitem__) == sorted(
        range(len(found)), key=decoded.__getitem__
    )


@given(LISTS, FORMS)
@settings(max_examples=100)
def test_ids_sort_after_others_as_python_sorts_texts(words, form):
    column, _ = id_columns.id_columns(form(words), form(words))
    pairs = [(row, other) for row in range(len(words)) for other in range(len(words))]
    rows, others = (np.array([pair[n] for pair in pairs], np.int64) for n in (0, 1))
    expected = [words[row] > words[other] for row, other in pairs]
    assert column.are_later(rows, others).tolist() == expected


def test_of_ids_that_differ_in_zero_bytes_at_the_end_the_longer_one_is_later():
    words = [b"a", b"a\0", b"eight by", b"eight by\0", b"eight by\0\0", b"eight bz", b""]
    ends = np.cumsum([len(word) for word in words])
    starts = np.concatenate([[0], ends[:-1]])
    data = np.frombuffer(b"".join(words) + bytes(8), np.uint8)
    column = ByteIds(data, starts, ends - starts)
    rows, others = (each.ravel() for each in np.indices((len(words), len(words))))
    expected = [words[row] > words[other] for row, other in zip(rows, others, strict=True)]
    assert column.are_later(rows, others).tolist() == expected


@given(LISTS, FORMS)
@settings(max_examples=60)
def test_a_block_starts_where_the_id_changes(words, form):
    expected = [n for n, word in enumerate(words) if n == 0 or words[n - 1] != word]
    assert block_starts(form(words)).tolist() == expected


@given(LISTS, LISTS, FORMS, FORMS)
@settings(max_examples=60)
def test_codes_count_ids_in_order_of_appearance(words, others, one, other):
    codes, names = codes_of(one(words), other(others))
    assert names == list(dict.fromkeys([*words, *others]))
    assert [names[code] for code in codes] == [*words, *others]
    assert codes.dtype == np.int64


def test_ids_stay_in_bytes_only_if_both_columns_do():
    pytest.importorskip("pyarrow")
    stored = [fixed_width(["a"]), pd.array(["a"], dtype="string[pyarrow]")]
    for first in stored:
        for second in stored:
            assert [type(one) for one in id_columns.id_columns(first, second)] == [ByteIds] * 2
    for first, second in ((objects(["a"]), stored[0]), (stored[1], objects(["a"]))):
        assert [type(one) for one in id_columns.id_columns(first, second)] == [ObjectIds] * 2


def test_texts_of_bytes_are_decoded():
    assert texts(fixed_width(["é", "ab"])) == ["é", "ab"]
    assert texts(arrow(["é", "ab"])) == ["é", "ab"]
    assert [is_bytes(form(["a"])) for form in (fixed_width, arrow, objects)] == [True, False, False]
    assert not is_bytes(b"a")


def test_the_hash_of_a_word_does_not_depend_on_the_words_beside_it():
    words = ["a" * n for n in range(1, 40)]
    together, _ = id_columns.id_columns(fixed_width(words), fixed_width(words))
    alone = [id_columns.id_columns(*[fixed_width([word])] * 2)[0].hashes()[0] for word in words]
    assert together.hashes().tolist() == alone
    assert len(set(alone)) == len(words)


def test_the_hash_mixes_every_eight_bytes_of_a_word():
    # By hand: ((0 ^ word) * 0x9E3779B97F4A7C15, then ^ its own upper bits), once for each word.
    def mixed(*eights):
        total = 0
        for eight in eights:
            total = (total ^ eight) * 0x9E3779B97F4A7C15 % 2**64
            total ^= total >> 29
        return total

    columns = [np.array([1, 2], np.uint64), np.array([0, 5], np.uint64)]
    assert hash_eights(columns, np.array([8, 11])).tolist() == [mixed(1), mixed(2, 5)]
    assert hash_eights(columns, np.array([9, 16])).tolist() == [mixed(1, 0), mixed(2, 5)]
    assert hash_eights(columns[:1], np.array([3, 8])).tolist() == [mixed(1), mixed(2)]
    assert hash_eights([], np.array([], np.int64)).tolist() == []
