"""Widths are those of Unicode's East Asian Width table; the expected ones are counted by hand."""

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rageval_report.render.display import (
    NAMES,
    SETTINGS,
    clean,
    cut_to_width,
    display_width,
    pad,
    shorten,
    wrap,
)

ANY_TEXT = st.text(st.characters(), max_size=200)


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("recall@5", 8),
        ("再現率", 6),
        ("ｶﾅ", 2),  # halfwidth katakana
        ("한국", 4),
        ("e\u0301", 1),  # e and a combining acute accent
        ("\u1112\u1161\u11ab", 2),  # one Korean syllable in three parts
        ("👍", 2),
        ("क्ष", 2),  # two consonants around a virama
    ],
)
def test_a_text_is_as_wide_as_a_terminal_draws_it(text, width):
    assert display_width(text) == width


def test_line_breaks_and_runs_of_blanks_become_one_blank():
    assert clean(" a\r\n\tb\u2028c\u00a0\x85 d ") == "a b c d"


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\x9b", "\u202e", "\u2066", "\ud800"])
def test_what_could_disturb_the_page_is_replaced_where_it_stood(character):
    assert clean(f"a{character}b") == "a\ufffdb"


@pytest.mark.parametrize("character", ["\u00ad", "\u200b", "\u200f", "\ufe0f", "\U000e0041"])
def test_invisible_helpers_are_left_out(character):
    assert clean(f"a{character}b") == "ab"


def test_joiners_stay_because_scripts_need_them():
    assert clean("می\u200cخواهم") == "می\u200cخواهم"


@given(ANY_TEXT)
@settings(max_examples=200)
def test_a_clean_text_is_one_line_of_printable_characters_and_stays_so(text):
    told = clean(text)
    unwanted = {"Cc", "Cs", "Zl", "Zp"}
    assert not unwanted & {unicodedata.category(character) for character in told}
    assert clean(told) == told
    assert told.encode("utf-8").decode("utf-8") == told


def test_a_text_that_fits_is_not_cut():
    assert shorten("exactly ten", 11) == "exactly ten"


def test_a_text_is_cut_with_an_ellipsis_inside_its_width():
    assert shorten("再現率とは", 6) == "再現…"


def test_a_megabyte_is_cut_without_being_looked_at_to_its_end():
    assert shorten("x" * 1_000_000, 10) == "xxxxxxxxx…"
    assert shorten(" " * 1_000_000 + "x", 10) == "…"


def test_piled_up_accents_are_cut_although_they_take_no_width():
    assert len(shorten("e" + "\u0301" * 5000, 10)) <= 21


@given(ANY_TEXT, st.integers(1, 30))
@settings(max_examples=200)
def test_a_shortened_text_never_exceeds_its_width(text, most):
    assert display_width(shorten(text, most)) <= most


def test_the_longest_beginning_keeps_accents_with_their_letter():
    assert cut_to_width("ae\u0301b", 2) == "ae\u0301"


def test_lines_break_at_blanks_and_hang():
    assert wrap("- one two three", 9, hanging=2) == ["- one two", "  three"]


def test_a_word_wider_than_the_page_is_broken():
    assert wrap("aaaaaaa bb", 4) == ["aaaa", "aaa", "bb"]


def test_names_break_after_underscores():
    assert wrap("semantic_answer_similarity", 18, at=NAMES) == ["semantic_answer_", "similarity"]


def test_signatures_break_after_a_setting():
    assert wrap("seed:0|test:t|x:1,2", 15, at=SETTINGS) == ["seed:0|test:t|", "x:1,2"]


def test_an_empty_text_is_one_empty_line():
    assert wrap("", 10) == [""]


@given(ANY_TEXT, st.integers(4, 40), st.integers(0, 2))
@example("漢" * 50, 5, 2)
@settings(max_examples=200)
def test_wrapping_keeps_every_letter_and_the_width(text, width, hanging):
    told = clean(text)
    for at in (NAMES, SETTINGS, None):
        lines = wrap(told, width, hanging=hanging, **({"at": at} if at else {}))
        assert max(map(display_width, lines)) <= width
        assert "".join("".join(lines).split()) == "".join(told.split())


def test_padding_counts_columns_not_characters():
    assert pad("再現", 6, right=True) == "  再現"
