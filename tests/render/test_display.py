"""Widths are those of Unicode's East Asian Width table; the expected ones are counted by hand."""

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rageval_report.render.display import (
    NAMES,
    SETTINGS,
    clean,
    display_width,
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


@given(ANY_TEXT)
@settings(max_examples=200)
def test_a_clean_text_is_one_line_of_printable_characters_and_stays_so(text):
    told = clean(text)
    unwanted = {"Cc", "Cs", "Zl", "Zp"}
    assert not unwanted & {unicodedata.category(character) for character in told}
    assert clean(told) == told
    assert told.encode("utf-8").decode("utf-8") == told


@given(ANY_TEXT, st.integers(1, 30))
@settings(max_examples=200)
def test_a_shortened_text_never_exceeds_its_width(text, most):
    assert display_width(shorten(text, most)) <= most


@given(ANY_TEXT, st.integers(4, 40), st.integers(0, 2))
@example("漢" * 50, 5, 2)
@settings(max_examples=200)
def test_wrapping_keeps_every_letter_and_the_width(text, width, hanging):
    told = clean(text)
    for at in (NAMES, SETTINGS, None):
        lines = wrap(told, width, hanging=hanging, **({"at": at} if at else {}))
        assert max(map(display_width, lines)) <= width
        assert "".join("".join(lines).split()) == "".join(told.split())
