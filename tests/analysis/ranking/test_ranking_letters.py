"""Witnesses: two published displays, and what letters mean."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.analysis.rank import groups_of, letters_of


def matrix_of(names, differing):
    """Whether a difference is shown, from the pairs that differ."""
    square = np.zeros((len(names), len(names)), dtype=bool)
    for one, other in differing:
        i, j = names.index(one), names.index(other)
        square[i, j] = square[j, i] = True
    return square


def test_the_example_of_gramm_and_others_2007_figure_2():
    # Treatments 1 to 5, H = {{1,5}, {2,3}, {2,5}, {3,5}}; the cliques of the rest.
    apart = matrix_of([1, 2, 3, 4, 5], [(1, 5), (2, 3), (2, 5), (3, 5)])
    assert groups_of(apart) == [(0, 1, 3), (0, 2, 3), (3, 4)]
    assert letters_of(apart) == ["ab", "a", "b", "abc", "c"]


def test_the_feeds_of_chickwts_as_the_r_package_cld_shows_them():
    # pairwise.wilcox.test(chickwts$weight, chickwts$feed), Holm; the guide of the R package cld.
    shown = {
        "casein": "a",
        "horsebean": "b",
        "linseed": "bc",
        "meatmeal": "ac",
        "soybean": "c",
        "sunflower": "a",
    }
    names = list(shown)
    pairs = combinations(names, 2)
    differing = [(one, other) for one, other in pairs if not {*shown[one]} & {*shown[other]}]
    assert len(differing) == 8
    assert dict(zip(names, letters_of(matrix_of(names, differing)), strict=True)) == shown


def test_nothing_shown_is_one_group():
    assert letters_of(np.zeros((4, 4), dtype=bool)) == ["a"] * 4


def test_everything_shown_is_a_letter_each():
    assert letters_of(~np.eye(4, dtype=bool)) == ["a", "b", "c", "d"]


def test_letters_go_beyond_the_alphabet():
    told = letters_of(~np.eye(54, dtype=bool))
    assert told[26] == "A"
    assert told[52:] == ["(53)", "(54)"]


@settings(max_examples=150)
@given(
    st.integers(2, 9).flatmap(lambda k: st.tuples(st.just(k), st.sets(st.integers(0, k * k - 1))))
)
def test_two_share_a_letter_if_and_only_if_they_are_not_told_apart(drawn):
    k, cells = drawn
    apart = np.zeros((k, k), dtype=bool)
    apart.flat[list(cells)] = True
    apart = (apart | apart.T) & ~np.eye(k, dtype=bool)
    groups = groups_of(apart)
    for i, j in combinations(range(k), 2):
        assert any(i in group and j in group for group in groups) != apart[i, j]
    assert not any({*one} < {*other} for one in groups for other in groups)
    assert {member for group in groups for member in group} == {*range(k)}
