"""Characters without a font: one is found where the machine has one."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest
from matplotlib import font_manager

from rageval_report.plots import texts as fonts
from rageval_report.plots.canvas import tidy

HIRAGANA = "あ"


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_latin_texts_keep_their_font(ax):
    families = list(ax.title.get_fontfamily())
    tidy(ax, "Faithfulness, é and ß")
    assert list(ax.title.get_fontfamily()) == families


def test_a_font_that_has_the_character_is_added(ax, monkeypatch):
    monkeypatch.setattr(fonts, "_family_with", lambda _: "STIXGeneral")
    tidy(ax, f"再現率 {HIRAGANA}")
    assert list(ax.title.get_fontfamily())[-1] == "STIXGeneral"


def test_installed_fonts_are_searched():
    # The first character of STIX, which matplotlib brings along, that DejaVu Sans does not have.
    stix, dejavu = (
        set(font_manager.get_font(font_manager.findfont(name)).get_charmap())
        for name in ("STIXGeneral", "DejaVu Sans")
    )
    character = chr(min(code for code in stix - dejavu if fonts._is_special(chr(code))))
    family = fonts._family_with(character)
    assert family is not None
    path = font_manager.findfont(font_manager.FontProperties(family=[family]))
    assert "last resort" not in family.lower()
    assert ord(character) in font_manager.get_font(path).get_charmap()


def test_a_family_that_is_not_installed_has_no_characters():
    assert fonts._has(("No Such Family At All",), HIRAGANA) is False
    assert fonts._has(("sans-serif",), "α") is True
