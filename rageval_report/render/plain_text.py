"""Plain text: tables, verdicts and notes on lines of a limited width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest

from rageval_report.errors import DataError
from rageval_report.render.cell_text import LONGEST, LONGEST_SENTENCE
from rageval_report.render.display import (
    NAMES,
    SETTINGS,
    clean,
    display_width,
    note_line,
    pad,
    shorten,
    wrap,
)
from rageval_report.render.text_table import NO_ROWS, TextColumn, TextTable, table_of
from rageval_report.results import Result

INDENT = "  "
NARROWEST = 60  # room for a label and for the longest number, whatever they are

_GAPS = ("  ", " ")  # between columns; one blank where two would split the table
_NARROWEST_LABEL = 12
_NARROWEST_TEXT = 16
_WIDEST_NUMBER = 40
_MOST_LINES = 3


@dataclass(frozen=True, slots=True)
class _TableBlock:
    """Columns side by side, with their widths."""

    columns: tuple[TextColumn, ...]
    widths: tuple[int, ...]
    gap: str


def table_lines(table: TextTable, width: int) -> list[str]:
    """The lines of a table, none wider than `width`."""
    indent = INDENT if table.is_grouped else ""
    lines: list[str] = []
    room = width - len(indent)
    for block in _blocks(table.columns, room):
        lines += [""] * bool(lines)
        lines += [indent + line for line in _head(block)]
        for group in table.groups:
            lines += [shorten(group.heading, width)] * bool(group.heading)
            for place in range(group.start, group.stop):
                lines += [indent + line for line in _row(block, place)]
    return lines


def _blocks(columns: tuple[TextColumn, ...], room: int) -> Iterator[_TableBlock]:
    """All columns in one block if they fit; else in several, which all start with the first."""
    least = _least_widths(columns)
    for gap in _GAPS:
        if sum(least) + len(gap) * (len(least) - 1) <= room:
            yield _fit_widths(columns, room, gap)
            return
    gap = _GAPS[0]
    members, used = [columns[0]], least[0]
    for column, width in zip(columns[1:], least[1:], strict=True):
        # A block without a column besides the label would say nothing, however wide the column.
        if used + len(gap) + width > room and len(members) > 1:
            yield _fit_widths(tuple(members), room, gap)
            members, used = [columns[0]], least[0]
        members.append(column)
        used += len(gap) + width
    yield _fit_widths(tuple(members), room, gap)


def _fit_widths(columns: tuple[TextColumn, ...], room: int, gap: str) -> _TableBlock:
    """Each column at its full width; if that is too wide, the widest ones get narrower."""
    room_for_texts = room - len(gap) * (len(columns) - 1)
    widths = [max(_body_width(column), display_width(column.heading)) for column in columns]
    if sum(widths) > room_for_texts:
        widths = [_unbroken_width(column) for column in columns]
    least = _least_widths(columns)
    while sum(widths) > room_for_texts:
        reducible = [i for i, width in enumerate(widths) if width > least[i]]
        widths[max(reducible, key=widths.__getitem__)] -= 1
    return _TableBlock(columns, tuple(widths), gap)


def _least_widths(columns: tuple[TextColumn, ...]) -> list[int]:
    """The smallest widths: numbers stay on one line, texts and headings may be broken."""
    narrowest = [_NARROWEST_LABEL, *[_NARROWEST_TEXT] * (len(columns) - 1)]
    return [
        min(_unbroken_width(column), max(_number_width(column), _word_width(column), most))
        for column, most in zip(columns, narrowest, strict=True)
    ]


def _word_width(column: TextColumn) -> int:
    """The width at which the heading is broken between words, or at the parts of a name."""
    widest = max(
        (display_width(part.rstrip()) for part in NAMES.findall(column.heading)), default=0
    )
    return min(widest, _NARROWEST_TEXT)


def _unbroken_width(column: TextColumn) -> int:
    """The width at which no cell is broken, and the heading only at its blanks."""
    words = column.heading.split()
    return max(_body_width(column), *map(display_width, words), 0)


def _number_width(column: TextColumn) -> int:
    return min(_body_width(column), _WIDEST_NUMBER) if column.is_numeric else 0


def _body_width(column: TextColumn) -> int:
    return max(map(display_width, column.cells), default=0)


def _head(block: _TableBlock) -> list[str]:
    headings = [
        wrap(column.heading, width, at=NAMES)
        for column, width in zip(block.columns, block.widths, strict=True)
    ]
    highest = max(map(len, headings))
    at_bottom = [[""] * (highest - len(lines)) + lines for lines in headings]
    rule = block.gap.join("-" * width for width in block.widths)
    return [*_side_by_side(block, at_bottom), rule]


def _row(block: _TableBlock, place: int) -> list[str]:
    cells = [
        _cell_lines(column.cells[place], width)
        for column, width in zip(block.columns, block.widths, strict=True)
    ]
    return _side_by_side(block, cells)


def _cell_lines(text: str, width: int) -> list[str]:
    lines = wrap(text, width, at=NAMES)
    if len(lines) <= _MOST_LINES:
        return lines
    rest = " ".join(lines[_MOST_LINES - 1 :])
    return [*lines[: _MOST_LINES - 1], shorten(rest, width)]


def _side_by_side(block: _TableBlock, cells: list[list[str]]) -> list[str]:
    return [
        block.gap.join(
            pad(text, width, right=column.is_numeric)
            for text, width, column in zip(line, block.widths, block.columns, strict=True)
        ).rstrip()
        for line in zip_longest(*cells, fillvalue="")
    ]


WIDTH = 100


def render(
    result: Result,
    *,
    width: int = WIDTH,
    columns: Sequence[str] | None = None,
    max_rows: int | None = 200,
    max_columns: int | None = 40,
    longest: int = LONGEST,
) -> str:
    """The result as plain text: title, verdicts, table, notes, signature."""
    if width < NARROWEST:
        raise DataError(f"width must be an integer >= {NARROWEST}; got {width}")
    table = table_of(
        result, columns=columns, max_rows=max_rows, max_columns=max_columns, longest=longest
    )
    parts = [
        _paragraphs([table.names.in_text(result.title)], width),
        _paragraphs([table.names.in_text(result.summary)], width) if result.summary else [],
        _paragraphs(
            [f"- {table.names.in_text(sentence)}" for sentence in result.sentences[:max_rows]],
            width,
            hanging=2,
        ),
        _body(result, table, width),
        _paragraphs(table.names.legend, width, hanging=4),
        _paragraphs([note_line(note) for note in result.notes], width, hanging=6),
        wrap(clean(result.signature), width, at=SETTINGS),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if any(lines))


render_file = partial(render, max_rows=None, max_columns=None)


def _paragraphs(texts: Sequence[str], width: int, *, hanging: int = 0) -> list[str]:
    sentences = (shorten(text, LONGEST_SENTENCE) for text in texts)
    return [line for text in sentences for line in wrap(text, width, hanging=hanging)]


def _body(result: Result, table: TextTable, width: int) -> list[str]:
    if not len(result.frame):
        return [NO_ROWS]
    if not table.columns:
        return []
    more = [f"... and {table.left_out}"] if table.left_out else []
    return [*table_lines(table, width), *more]
