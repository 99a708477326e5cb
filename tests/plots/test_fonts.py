"""Characters without a font: one is found where the machine has one, else the picture says so."""

from __future__ import annotations

import shutil

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from matplotlib import font_manager

from rageval_report.plots import texts as fonts
from rageval_report.plots.canvas import note_below, tidy

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


def test_a_picture_says_which_characters_it_cannot_draw(ax, monkeypatch):
    monkeypatch.setattr(fonts, "_family_with", lambda _: None)
    note_below(ax, "A note.")
    tidy(ax, HIRAGANA * 3)
    [note] = [text.get_text() for text in ax.texts]
    assert note.startswith("A note.\n")
    assert "No font of this machine has 1 of the characters (U+3042)" in " ".join(note.split())


def test_a_picture_without_a_note_says_it_too(ax, monkeypatch):
    monkeypatch.setattr(fonts, "_family_with", lambda _: None)
    tidy(ax, HIRAGANA)
    [note] = [text.get_text() for text in ax.texts]
    assert "(U+3042)" in note


def test_nothing_is_missing_where_text_stays_text(monkeypatch):
    monkeypatch.setattr(fonts, "_family_with", lambda _: None)
    with mpl.rc_context({"svg.fonttype": "none"}):
        assert fonts.missing_characters([HIRAGANA]) == ""
    assert fonts.missing_characters([HIRAGANA, "abc", HIRAGANA]) == HIRAGANA


def test_a_family_that_is_not_installed_has_no_characters():
    assert fonts._has(("No Such Family At All",), HIRAGANA) is False
    assert fonts._has(("sans-serif",), "α") is True


def test_a_font_that_was_installed_after_the_list_was_made_is_found(monkeypatch, tmp_path):
    new = tmp_path / "new.ttf"
    shutil.copy(font_manager.findfont("DejaVu Serif"), new)
    broken = tmp_path / "broken.ttf"
    broken.write_bytes(b"no font")
    manager = font_manager.fontManager
    monkeypatch.setattr(manager, "ttflist", list(manager.ttflist))
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [str(broken), str(new)])
    fonts._entries.cache_clear()
    try:
        assert str(new) in {entry.fname for entry in fonts._entries()}
    finally:
        fonts._entries.cache_clear()
