"""Witness: the table of distances filled cell by cell (Wagner & Fischer), and rapidfuzz."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.analysis.repeating.edit_distance import MOST_LETTERS, edit_distance


def by_table(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        left, row[0] = row[0], i
        for j, met in enumerate(other, 1):
            left, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, left + (letter != met))
    return row[-1]


WORDS = st.text("abcé ", max_size=14)


@given(WORDS, WORDS)
@settings(max_examples=300)
def test_it_is_the_distance_of_the_whole_table(one, other):
    longest = max(len(one), len(other), 1)
    assert edit_distance(one, other) == by_table(one, other) / longest


@given(st.text(max_size=200), st.text(max_size=200))
@settings(max_examples=100)
def test_it_is_the_distance_of_rapidfuzz(one, other):
    peer = pytest.importorskip("rapidfuzz.distance")
    expected = peer.Levenshtein.normalized_distance(one, other)
    assert edit_distance(one, other) == pytest.approx(expected)


@given(WORDS, WORDS)
def test_either_text_may_come_first(one, other):
    assert edit_distance(one, other) == edit_distance(other, one)


@pytest.mark.parametrize(("one", "other", "told"), [("", "", 0.0), ("", "a", 1.0), ("a", "b", 1.0)])
def test_texts_without_letters_in_common(one, other, told):
    assert edit_distance(one, other) == told


def test_long_texts_are_compared_by_their_beginning():
    same = "a" * MOST_LETTERS
    assert edit_distance(same + "b", same + "c") == 0.0
