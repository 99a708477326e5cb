"""Pictures made of rows: a label at the left, a mark on the axis, numbers at the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from rageval_report.plots.style import SMALL, ink, plain, shortened

_LETTER_POINTS = 4.7
_GAP_POINTS = 14
_MARGIN_INCHES = 1.4
# Rows are one unit apart: where the axes begin, where the heads stand, what parts two blocks.
_TOP, _HEADS, _SPACE = -1.1, -0.78, 0.35


@dataclass(frozen=True)
class Row:
    """One row: what stands at its left and at its right, and under which heading it belongs."""

    label: str
    cells: tuple[str, ...] = ()
    heading: str = ""


def height_of(rows: Sequence[Row], inches: float = 0.32) -> float:
    """How tall a figure of these rows is, headings and margins included, in inches."""
    return _MARGIN_INCHES + inches * (_places(rows)[0][-1] + 1.8)


def lay_rows(ax: Axes, rows: Sequence[Row], heads: Sequence[str] = ()) -> list[float]:
    """Label the rows and print their numbers; the height of each row is given back.

    Parameters
    ----------
    ax : Axes
        Its y-axis then runs downwards, one unit a row.
    rows : sequence of Row
        From top to bottom; those of one heading stand together.
    heads : sequence of str
        Over the columns of numbers.
    """
    places, titles = _places(rows)
    ax.set_ylim(places[-1] + 0.7, _TOP)
    labels = [*(row.label for row in rows), *(heading for heading, _ in titles)]
    ticks = [*places, *(place for _, place in titles)]
    ax.set_yticks(ticks, [plain(shortened(label)) for label in labels])
    for label in ax.get_yticklabels()[len(rows) :]:
        label.set_fontweight("bold")
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    # Rows have no label of their axis; where it would stand is not worked out from every row.
    ax.yaxis.set_label_coords(0.0, 0.5)
    _print_cells(ax, rows, places, heads)
    return places


def _places(rows: Sequence[Row]) -> tuple[list[float], list[tuple[str, float]]]:
    """Where each row stands, and each heading above the first row of its own."""
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
    ax: Axes, rows: Sequence[Row], places: Sequence[float], heads: Sequence[str]
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
    """Numbers flush right, their head in the first place."""
    for position, (text, place) in enumerate(zip(texts, places, strict=True)):
        cell = ax.annotate(
            plain(text),
            (1, place),
            xycoords=("axes fraction", "data"),
            xytext=(right_edge, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=SMALL,
            color=ink(),
            alpha=0.75 if position == 0 else 1.0,
            annotation_clip=False,
        )
        # All end where the head ends, so the head alone says how much room they need.
        cell.set_in_layout(position == 0)
