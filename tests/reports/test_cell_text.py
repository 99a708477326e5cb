"""Every expected text is rounded by hand."""

import math
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rageval_report.reports.cells import (
    NAMES,
    SETTINGS,
    clean,
    display_width,
    interval,
    number,
    pvalue,
    shorten,
    wrap,
)

NAN = float("nan")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.0, "0.000"),
        (1.0, "1.000"),
        (0.41249, "0.412"),
        (-0.5, "-0.500"),
        (9.9994, "9.999"),
        (9.9996, "10.00"),  # three decimals would make it 10.000
        (12.345678, "12.35"),
        (99.996, "100.0"),
        (812.34, "812.3"),
        (999.96, "1000"),
        (123456.7, "123457"),
        (1e15, "1.000e+15"),
        (0.00021, "0.00021"),
        (-0.0000402, "-0.000040"),
        (2.13e-7, "2.1e-07"),
        (1e-13, "0.000"),  # float noise
        (-1e-13, "0.000"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (NAN, "–"),
    ],
)
def test_a_number_has_as_many_decimals_as_its_size_deserves(value, told):
    assert number(value) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.0, "< 0.001"),
        (0.00099, "< 0.001"),
        (0.001, "0.001"),
        (0.0084, "0.008"),
        (0.5, "0.500"),
        (0.9994, "0.999"),
        (0.9996, "1"),
        (1.0, "1"),
        (NAN, "–"),
    ],
)
def test_a_pvalue_is_never_zero(value, told):
    assert pvalue(value) == told


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (0.4121, 0.5309, "0.412 to 0.531"),
        (-0.012, 0.0754, "-0.012 to 0.075"),
        (9.5, 10.25, "9.50 to 10.25"),  # both ends as the larger one
        (0.0001, 0.5, "0.000 to 0.500"),
        (0.00012, 0.00034, "0.00012 to 0.00034"),
        (0.0006, 0.0015, "0.00060 to 0.00150"),  # narrow: two digits of its width
        (0.4123, 0.4164, "0.4123 to 0.4164"),
        (0.5, 0.5 + 1e-9, "0.5000000 to 0.5000000"),
        (812.34, 812.41, "812.3 to 812.4"),
        (0.0, 0.0, "0.000 to 0.000"),
        (-math.inf, 0.5, "-inf to 0.500"),
        (NAN, 0.5, "– to 0.500"),
        (NAN, NAN, "–"),
    ],
)
def test_both_ends_of_an_interval_are_rounded_alike(low, high, told):
    assert interval(low, high) == told


@given(st.floats(-1e300, 1e300))
@settings(max_examples=300)
def test_a_shown_number_is_short_and_near(value):
    told = number(value)
    assert len(told) <= 17
    # three decimals, or two digits of what is too small or too large for them
    allowed = 0.00051 if 0.001 <= abs(value) < 10 else 0.051 * abs(value) + 1e-12
    assert abs(float(told) - value) <= allowed


@given(st.floats(0, 1))
@settings(max_examples=100)
def test_a_pvalue_is_never_told_smaller_than_it_could_be(value):
    told = pvalue(value)
    assert told != "0.000"
    assert (told == "< 0.001") == (value < 0.001)


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
