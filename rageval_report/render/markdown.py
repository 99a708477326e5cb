"""A result as GitHub-flavoured Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from tabulate import tabulate

from rageval_report.files.outgoing_text import inert_cell, inert_markdown
from rageval_report.render.cell_text import LONGEST, LONGEST_SENTENCE
from rageval_report.render.display import clean, shorten
from rageval_report.render.text_table import NO_ROWS, RowGroup, TextTable, table_of
from rageval_report.results import Result


def render(
    result: Result,
    *,
    columns: Sequence[str] | None = None,
    max_rows: int | None = 200,
    max_columns: int | None = 40,
    longest: int = LONGEST,
) -> str:
    r"""The result as Markdown: title, verdicts, one pipe table per group, notes, signature."""
    table = table_of(
        result, columns=columns, max_rows=max_rows, max_columns=max_columns, longest=longest
    )
    parts = [
        f"### {escape_sentence(table.names.in_text(result.title))}" if result.title else "",
        escape_sentence(table.names.in_text(result.summary)),
        _list_items([table.names.in_text(text) for text in result.sentences[:max_rows]]),
        *_body(result, table),
        _list_items(table.names.legend),
        _list_items(result.notes),
        code(result.signature) if result.signature else "",
    ]
    return "\n\n".join(part for part in parts if part)


render_file = partial(render, max_rows=None, max_columns=None)


def escape_sentence(text: str) -> str:
    r"""A sentence, escaped so that it may start a line and links to nothing."""
    return inert_markdown(shorten(text, LONGEST_SENTENCE))


def code(text: str) -> str:
    """The text as inline code, between more backticks than it contains in a row."""
    line = clean(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    blank = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{blank}{line}{blank}{fence}"


def _list_items(texts: Sequence[str]) -> str:
    return "\n".join(f"- {escape_sentence(text)}" for text in texts)


def _body(result: Result, table: TextTable) -> Iterator[str]:
    if not len(result.frame):
        yield NO_ROWS
    elif table.columns:
        for group in table.groups:
            yield f"#### {escape_sentence(group.heading)}" if group.heading else ""
            yield _pipe_table(table, group)
        yield f"... and {inert_cell(table.left_out)}" if table.left_out else ""


def _pipe_table(table: TextTable, group: RowGroup) -> str:
    return tabulate(
        [[inert_cell(text) for text in table.row(i)] for i in range(group.start, group.stop)],
        [inert_cell(column.heading) for column in table.columns],
        tablefmt="pipe",
        colalign=["right" if column.is_numeric else "left" for column in table.columns],
        # The texts are finished: tabulate would parse numbers and write them anew.
        disable_numparse=True,
    )
