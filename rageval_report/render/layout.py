"""A table of texts on lines of a given width."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from rageval_report.render.display import NAMES, display_width, padded, shortened, wrapped
from rageval_report.render.table import Column, Table

INDENT = "  "
NARROWEST = 60  # room for a label and for the longest number, whatever they are

_GAPS = ("  ", " ")  # between columns; one blank where two would split the table
_NARROWEST_LABEL = 12
_NARROWEST_TEXT = 16
_WIDEST_NUMBER = 40
_MOST_LINES = 3


@dataclass(frozen=True, slots=True)
class _Block:
    """Columns side by side."""

    columns: tuple[Column, ...]
    widths: tuple[int, ...]
    gap: str


def table_lines(table: Table, width: int) -> list[str]:
    """The lines of a table, none wider than `width`.

    Parameters
    ----------
    table : Table
        With at least one column.
    width : int
        In columns of a terminal, at least `NARROWEST`.

    Examples
    --------
    >>> from rageval_report.render.table import Group
    >>> columns = (Column("metric", ("recall", "mrr"), False), Column("n", ("8", "12"), True))
    >>> table_lines(Table(columns, (Group("retrieval", 0, 2),)), 60)
    ['  metric   n', '  ------  --', 'retrieval', '  recall   8', '  mrr     12']
    """
    indent = INDENT if table.is_grouped else ""
    lines: list[str] = []
    for block in _blocks(table.columns, width - len(indent)):
        lines += [""] * bool(lines)
        lines += [indent + line for line in _head(block)]
        for group in table.groups:
            lines += [shortened(group.heading, width)] * bool(group.heading)
            for place in range(group.start, group.stop):
                lines += [indent + line for line in _row(block, place)]
    return lines


def _blocks(columns: tuple[Column, ...], room: int) -> Iterator[_Block]:
    """All columns side by side if they can be squeezed in; else in lots, the first before each."""
    least = _least(columns)
    for gap in _GAPS:
        if sum(least) + len(gap) * (len(least) - 1) <= room:
            yield _fitted(columns, room, gap)
            return
    gap = _GAPS[0]
    lot, taken = [columns[0]], least[0]
    for column, needed in zip(columns[1:], least[1:], strict=True):
        if taken + len(gap) + needed > room and len(lot) > 1:
            yield _fitted(tuple(lot), room, gap)
            lot, taken = [columns[0]], least[0]
        lot.append(column)
        taken += len(gap) + needed
    yield _fitted(tuple(lot), room, gap)


def _fitted(columns: tuple[Column, ...], room: int, gap: str) -> _Block:
    """Each column as wide as it likes; where that is too much, the widest ones give way."""
    for_texts = room - len(gap) * (len(columns) - 1)
    widths = [max(_body_width(column), display_width(column.heading)) for column in columns]
    if sum(widths) > for_texts:
        widths = [_needed(column) for column in columns]
    least = _least(columns)
    while sum(widths) > for_texts:
        can_give = [i for i, width in enumerate(widths) if width > least[i]]
        widths[max(can_give, key=widths.__getitem__)] -= 1
    return _Block(columns, tuple(widths), gap)


def _least(columns: tuple[Column, ...]) -> list[int]:
    """The smallest widths: numbers stay on one line, texts and headings may be broken."""
    narrowest = [_NARROWEST_LABEL, *[_NARROWEST_TEXT] * (len(columns) - 1)]
    return [
        min(_needed(column), max(_unbroken(column), most))
        for column, most in zip(columns, narrowest, strict=True)
    ]


def _needed(column: Column) -> int:
    """The width at which no cell is broken, and the heading only at its blanks."""
    words = column.heading.split()
    return max(_body_width(column), *map(display_width, words), 0)


def _unbroken(column: Column) -> int:
    return min(_body_width(column), _WIDEST_NUMBER) if column.is_numeric else 0


def _body_width(column: Column) -> int:
    return max(map(display_width, column.cells), default=0)


def _head(block: _Block) -> list[str]:
    headings = [
        wrapped(column.heading, width)
        for column, width in zip(block.columns, block.widths, strict=True)
    ]
    highest = max(map(len, headings))
    lowered = [[""] * (highest - len(lines)) + lines for lines in headings]
    rule = block.gap.join("-" * width for width in block.widths)
    return [*_side_by_side(block, lowered), rule]


def _row(block: _Block, place: int) -> list[str]:
    cells = [
        _few_lines(column.cells[place], width)
        for column, width in zip(block.columns, block.widths, strict=True)
    ]
    return _side_by_side(block, cells)


def _few_lines(text: str, width: int) -> list[str]:
    lines = wrapped(text, width, at=NAMES)
    if len(lines) <= _MOST_LINES:
        return lines
    rest = " ".join(lines[_MOST_LINES - 1 :])
    return [*lines[: _MOST_LINES - 1], shortened(rest, width)]


def _side_by_side(block: _Block, cells: list[list[str]]) -> list[str]:
    return [
        block.gap.join(
            padded(text, width, right=column.is_numeric)
            for text, width, column in zip(line, block.widths, block.columns, strict=True)
        ).rstrip()
        for line in zip_longest(*cells, fillvalue="")
    ]
