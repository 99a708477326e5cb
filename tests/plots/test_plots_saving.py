"""Pictures as files."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.plots import save_plot
from rageval_report.plots.saving import draw_figure

BEGINNINGS = {".pdf": b"%PDF", ".png": b"\x89PNG", ".svg": b"<?xml"}


@pytest.mark.parametrize("suffix", BEGINNINGS)
def test_the_suffix_chooses_the_format(bm25, tmp_path, suffix):
    path = save_plot(bm25, "distribution", tmp_path / f"a{suffix}", "recall@5")
    assert path.read_bytes().startswith(BEGINNINGS[suffix])


@pytest.mark.parametrize("suffix", BEGINNINGS)
def test_the_same_picture_is_the_same_file(bm25, tmp_path, suffix):
    one = save_plot(bm25, "box", tmp_path / f"one{suffix}")
    two = save_plot(bm25, "box", tmp_path / f"two{suffix}")
    assert one.read_bytes() == two.read_bytes()


def test_a_picture_that_is_there_is_replaced_or_kept(bm25, tmp_path):
    path = tmp_path / "a.svg"
    path.write_text("mine")
    with pytest.raises(DataError, match=r"exists already; replace it with force=True"):
        save_plot(bm25, "box", path, force=False)
    assert path.read_text() == "mine"
    assert save_plot(bm25, "box", path).read_bytes().startswith(BEGINNINGS[".svg"])


def test_pyplot_knows_nothing_of_it(comparison, tmp_path):
    before = dict(mpl.rcParams)
    save_plot(comparison, "forest", tmp_path / "a.png")
    assert plt.get_fignums() == []
    assert dict(mpl.rcParams) == before


def test_a_file_has_the_size_that_the_plot_asks_for(many):
    few = draw_figure(many("one", 8, 1, 1), "box").get_size_inches()
    more = draw_figure(many("one", 8, 12, 1), "box").get_size_inches()
    assert more[0] == few[0]
    assert more[1] > few[1] + 2


def test_an_unknown_format_names_the_known(bm25, tmp_path):
    with pytest.raises(UnknownNameError, match=r"Known: \.pdf, \.png, \.svg"):
        save_plot(bm25, "box", tmp_path / "a.bmp")
    assert list(tmp_path.iterdir()) == []


def test_axes_of_ones_own_do_not_go_into_a_file(bm25, tmp_path):
    with pytest.raises(TypeError, match=r"multiple values for keyword argument .ax."):
        save_plot(bm25, "box", tmp_path / "a.png", ax=None)


def test_nothing_is_left_of_a_picture_that_fails(bm25, tmp_path):
    with pytest.raises(UnknownNameError):
        save_plot(bm25, "distribution", tmp_path / "a.png", "nonsense")
    assert list(tmp_path.iterdir()) == []
