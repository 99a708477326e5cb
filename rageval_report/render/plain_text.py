"""A result as plain text, at most 100 columns wide, for terminals and logs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rageval_report.errors import DataError
from rageval_report.render.cell_text import LONGEST, LONGEST_SENTENCE
from rageval_report.render.display import SETTINGS, clean, note_line, shorten, wrap
from rageval_report.render.layout import NARROWEST, table_lines
from rageval_report.render.text_table import NO_ROWS, TextTable, table_of
from rageval_report.results import Result

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
