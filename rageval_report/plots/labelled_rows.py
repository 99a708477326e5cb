"""Pictures made of rows: a label at the left, a mark on the axis, numbers at the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from rageval_report.plots import canvas

# An estimate for small text, 15 letters to an inch: measuring each text would need a renderer.
_LETTER_POINTS = 4.7
_GAP_POINTS = 14
_MARGIN_INCHES = 1.4
# In units of the distance between rows: the top of the axes, the heads, the gap between blocks.
_TOP, _HEADS, _SPACE = -1.1, -0.78, 0.35


@dataclass(frozen=True)
class PlotRow:
    """One row: its label at the left, its cells at the right, and the heading above its block."""

    label: str
    cells: tuple[str, ...] = ()
    heading: str = ""


def height_of(rows: Sequence[PlotRow], inches: float = 0.32) -> float:
    """The height of a figure of these rows, with headings and margins, in inches."""
    return _MARGIN_INCHES + inches * (_places(rows)[0][-1] + 1.8)


def lay_rows(ax: Axes, rows: Sequence[PlotRow], heads: Sequence[str] = ()) -> list[float]:
    """Label the rows and print their numbers; return the place of each row on the y-axis."""
    places, titles = _places(rows)
    ax.set_ylim(places[-1] + 0.7, _TOP)
    labels = [*(row.label for row in rows), *(heading for heading, _ in titles)]
    ticks = [*places, *(place for _, place in titles)]
    ax.set_yticks(ticks, [canvas.plain(canvas.shorten_label(label)) for label in labels])
    for label in ax.get_yticklabels()[len(rows) :]:
        label.set_fontweight("bold")
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    # There is no label of the y-axis; a fixed place saves matplotlib from measuring every row.
    ax.yaxis.set_label_coords(0.0, 0.5)
    _print_cells(ax, rows, places, heads)
    return places


def _places(rows: Sequence[PlotRow]) -> tuple[list[float], list[tuple[str, float]]]:
    """The place of each row, and of each heading above its first row."""
    places: list[float] = []
    titles: list[tuple[str, float]] = []
    height, heading = 0.0, ""
    for row in rows:
        if row.heading and row.heading != heading:
            height += _SPACE if heading else 0.0
            heading = row.heading
            titles.append((heading, height))
            height += 1.0
        places.append(height)
        height += 1.0
    return places, titles


def _print_cells(
    ax: Axes, rows: Sequence[PlotRow], places: Sequence[float], heads: Sequence[str]
) -> None:
    offset = 8.0
    for column, head in enumerate(heads):
        texts = [row.cells[column] for row in rows]
        width = _LETTER_POINTS * max(len(text) for text in (head, *texts))
        _print_column(ax, [head, *texts], [_HEADS, *places], offset + width)
        offset += width + _GAP_POINTS


def _print_column(
    ax: Axes, texts: Sequence[str], places: Sequence[float], right_edge: float
) -> None:
    """Print numbers aligned at the right, below their head."""
    for position, (text, place) in enumerate(zip(texts, places, strict=True)):
        look: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "annotation_clip": False}
        look |= {"ha": "right", "alpha": 0.75 if position == 0 else 1.0}
        cell = canvas.write(ax, text, (1, place), (right_edge, 0), **look)
        # All are aligned with the head, so the layout needs to measure only the head.
        cell.set_in_layout(position == 0)
