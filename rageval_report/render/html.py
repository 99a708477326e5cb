"""A result as HTML: a small fragment for notebooks, and a page that stands alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice

import pandas as pd

from rageval_report.render.cell_text import LONGEST_SENTENCE
from rageval_report.render.display import note_line, shorten
from rageval_report.render.text_table import NO_ROWS, RowGroup, TextColumn, TextTable, table_of
from rageval_report.results import Result
from rageval_report.scores.names import display_width, shorten_names

MOST_BYTES = 30_000
MOST_ROWS = 50

_LONGEST_HEADING = 120
_WIDEST_COLUMN = 32  # the name of a column of queries

_LEFT = "text-align:left"
_RIGHT = "text-align:right"
_HEADING = f"{_LEFT};padding-top:.4em;font-style:italic;font-weight:normal;opacity:.8"
_RULE = "border-bottom:1px solid currentColor"
# The negative margin takes back the spacing outside the first and the last column.
_TABLE = (
    "border-collapse:separate;border-spacing:.9em .2em;margin:.4em -.9em;"
    "font-variant-numeric:tabular-nums"
)
_LIST = "margin:.4em 0;padding-left:1.4em"
_QUIET = "margin:.4em 0;opacity:.75"
_NO_BREAK = "\u00a0"

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>body {{ overflow-wrap: anywhere }} table {{ overflow-wrap: normal }}</style>
<title>{title}</title>
</head>
<body style="font-family:system-ui,sans-serif;line-height:1.4;margin:2em auto;max-width:72em;\
padding:0 1em">
{fragment}
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class _Extent:
    """How much of a result is shown; None means all of it."""

    rows: int | None
    columns: int | None
    longest: int
    texts: int | None
    longest_text: int
    is_page: bool = False


# From the fullest to the smallest, which fits whatever the data.
# Fifty rows of a usual table fit the first one.
_EXTENTS = (
    _Extent(MOST_ROWS, 40, 120, 40, LONGEST_SENTENCE),
    _Extent(MOST_ROWS, 40, 60, 20, 400),
    _Extent(MOST_ROWS, 30, 30, 20, 200),
    _Extent(30, 30, 30, 10, 200),
    _Extent(20, 20, 20, 10, 200),
    _Extent(10, 20, 20, 5, 200),
    _Extent(5, 10, 20, 3, 100),
    _Extent(3, 5, 12, 1, 60),
)
_EVERYTHING = _Extent(None, None, 1000, None, LONGEST_SENTENCE, is_page=True)


def render(
    result: Result, *, columns: Sequence[str] | None = None, max_rows: int = MOST_ROWS
) -> str:
    """The result as a fragment of HTML for notebooks, below 30 kB."""
    fragment = ""
    for extent in _EXTENTS:
        fragment = _fragment(result, columns, extent, max_rows)
        if len(fragment.encode()) < MOST_BYTES:
            break
    return fragment


def table_of_queries(frame: pd.DataFrame) -> str:
    """Rows of queries as a fragment of HTML for notebooks, below 30 kB: the table and its size."""
    wide = [name for name in map(str, frame.columns) if display_width(name) > _WIDEST_COLUMN]
    names = shorten_names(wide)
    shown = Result("Queries", pd.DataFrame(frame).rename(columns=names.of))
    rows, columns = frame.shape
    size = f"{rows:,} {'query' if rows == 1 else 'queries'}, "
    size += f"{columns:,} {'column' if columns == 1 else 'columns'}"
    fragment = ""
    for extent in _EXTENTS:
        table = table_of(
            shown, max_rows=extent.rows, max_columns=extent.columns, longest=extent.longest
        )
        legend = _first_texts(names.legend, extent)
        count = _element("div", size, _QUIET)
        parts = [*_body(shown, table, "Queries"), count, _list_items(legend)]
        fragment = "<div>\n" + "\n".join(part for part in parts if part) + "\n</div>"
        if len(fragment.encode()) < MOST_BYTES:
            break
    return fragment


def page(result: Result, *, columns: Sequence[str] | None = None) -> str:
    """The result as a page of its own, with every row and column."""
    fragment = _fragment(result, columns, _EVERYTHING, None)
    title = escape(shorten(result.title, LONGEST_SENTENCE))
    return _PAGE.format(title=title, fragment=fragment)


def join_pages(pages: Sequence[str]) -> str:
    """The first page with the contents of the others below its own."""
    first, end, rest = pages[0].partition("</body>")
    contents = [page.partition("<body")[2].partition(">")[2] for page in pages[1:]]
    return first + "\n".join(text.partition("</body>")[0] for text in contents) + end + rest


def _fragment(
    result: Result, columns: Sequence[str] | None, extent: _Extent, max_rows: int | None
) -> str:
    limits = [most for most in (extent.rows, max_rows) if most is not None]
    table = table_of(
        result,
        columns=columns,
        max_rows=min(limits, default=None),
        max_columns=extent.columns,
        longest=extent.longest,
    )
    title = _escape(table.names.in_text(result.title), extent)
    summary = table.names.in_text(result.summary)
    sentences = [table.names.in_text(text) for text in result.sentences]
    parts = [
        f'<p style="margin:.4em 0"><strong>{title}</strong></p>' if title else "",
        _summary(summary, extent),
        _list_items(_first_texts(sentences, extent)),
        *_body(result, table, title or _escape(summary, extent)),
        _list_items(_first_texts(table.names.legend, extent)),
        _list_items(_first_texts([note_line(note) for note in result.notes], extent)),
        _signature(result, extent),
    ]
    return "<div>\n" + "\n".join(part for part in parts if part) + "\n</div>"


def _summary(sentence: str, extent: _Extent) -> str:
    return _element("p", _escape(sentence, extent), "margin:.4em 0") if sentence else ""


def _signature(result: Result, extent: _Extent) -> str:
    """The settings; on a page with places to break the line, so that they do not widen it."""
    signature = _escape(result.signature, extent)
    if not signature:
        return ""
    broken = signature.replace("|", "|<wbr>") if extent.is_page else signature
    return _element("div", f"<small><code>{broken}</code></small>", _QUIET)


def _first_texts(texts: Sequence[str], extent: _Extent) -> list[str]:
    """The first texts, escaped, and the number of the others."""
    shown = [_escape(text, extent) for text in islice(texts, extent.texts)]
    left_out = len(texts) - len(shown)
    return [*shown, *([f"... and {left_out} more"] if left_out else [])]


def _escape(text: str, extent: _Extent) -> str:
    return escape(shorten(text, extent.longest_text))


def _list_items(texts: Iterable[str]) -> str:
    items = "\n".join(f"<li>{text}</li>" for text in texts)
    return f'<ul style="{_LIST}">\n{items}\n</ul>' if items else ""


def _element(tag: str, content: str, style: str) -> str:
    return f'<{tag} style="{style}">{content}</{tag}>'


def _body(result: Result, table: TextTable, title: str) -> Iterator[str]:
    if not len(result.frame):
        yield f"<p>{NO_ROWS}</p>"
    elif table.columns:
        yield _element("div", "\n".join(_table(table, title)), "overflow-x:auto")
        yield _element("div", f"... and {table.left_out}", _QUIET) if table.left_out else ""


def _table(table: TextTable, title: str) -> Iterator[str]:
    yield f'<table aria-label="{title}" style="{_TABLE}">'
    heads = "".join(
        f'<th scope="col" style="{_side(column)};{_RULE}">{escape(column.heading)}</th>'
        for column in table.columns
    )
    yield f"<thead><tr>{heads}</tr></thead>"
    for group in table.groups:
        yield from _rows(table, group)
    yield "</table>"


def _rows(table: TextTable, group: RowGroup) -> Iterator[str]:
    yield "<tbody>"
    if group.heading:
        yield (
            f'<tr><th scope="rowgroup" colspan="{len(table.columns)}" style="{_HEADING}">'
            f"{escape(shorten(group.heading, _LONGEST_HEADING))}</th></tr>"
        )
    label, *columns = table.columns
    for place in range(group.start, group.stop):
        cells = "".join(f"<td {_cell(column, place)}</td>" for column in columns)
        yield f'<tr><th scope="row" {_cell(label, place, ";font-weight:normal")}</th>{cells}</tr>'
    yield "</tbody>"


def _cell(column: TextColumn, place: int, look: str = "") -> str:
    """The attributes and the text of a cell; the browser detects the direction of the text."""
    text = escape(column.cells[place])
    if column.is_numeric:
        # An interval such as "0.1 to 0.2" stays on one line.
        return f'style="{_RIGHT}{look}">{text.replace(" ", _NO_BREAK)}'
    return f'dir="auto" style="{_LEFT}{look}">{text}'


def _side(column: TextColumn) -> str:
    return _RIGHT if column.is_numeric else _LEFT
