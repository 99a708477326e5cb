"""A result as HTML: a small fragment for notebooks, and a page that stands alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from importlib import resources
from typing import NamedTuple

import pandas as pd
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from rageval_report.reports.cells import LONGEST_SENTENCE, note_line, shorten
from rageval_report.reports.tables import TextTable, table_of
from rageval_report.results import Result
from rageval_report.scores.names import display_width, shorten_names

MOST_BYTES = 30_000
MOST_ROWS = 50

_LONGEST_HEADING = 120
_WIDEST_COLUMN = 32  # the name of a column of queries


class _Extent(NamedTuple):
    """How much of a result is shown; None means all of it."""

    rows: int | None
    columns: int | None
    longest: int
    texts: int | None
    longest_text: int
    is_page: bool = False

    def escape(self, text: str) -> Markup:
        """A text as HTML, cut to its length."""
        return Markup(escape(shorten(text, self.longest_text)))  # noqa: S704  (escaped here)

    def first(self, texts: Sequence[str]) -> list[Markup]:
        """The first texts as HTML, and the number of the others."""
        shown = [self.escape(text) for text in texts[: self.texts]]
        left_out = len(texts) - len(shown)
        return [*shown, *([self.escape(f"... and {left_out} more")] if left_out else [])]


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


# -- templates


@lru_cache(maxsize=32)
def package_text(name: str) -> str:
    """A file in the folder of templates."""
    folder = resources.files("rageval_report.reports")
    return folder.joinpath("templates", name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates. Strict: a misspelt name in one is an error and not an empty place."""
    templates = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(package_text),
    )
    templates.filters |= {"minus": minus, "tone": _tone}
    return templates


_HYPHEN = re.compile(r"(?<![\w.-])-(?=\.?\d)")
_TONES = {"best": "better", "identical": "equivalent"}
_TONES |= {tone: tone for tone in ("better", "worse", "equivalent")}


def minus(text: object) -> str:
    """A text with true minus signs before its numbers."""
    return _HYPHEN.sub("\N{MINUS SIGN}", str(text))


def _tone(shown: str) -> str:
    """The class of what is shown: "undecided" has no colour."""
    return _TONES.get(shown, "undecided")


# -- the forms


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
        fragment = _filled(table, extent, label="Queries", size=size, lists=[[], names.legend])
        if len(fragment.encode()) < MOST_BYTES:
            break
    return fragment


def page(result: Result, *, columns: Sequence[str] | None = None) -> str:
    """The result as a page of its own, with every row and column."""
    fragment = Markup(_fragment(result, columns, _EVERYTHING, None))  # noqa: S704  (escaped)
    title = _EVERYTHING.escape(result.title)
    template = environment().get_template("result_page.html.jinja")
    return template.render(title=title, fragment=fragment) + "\n"


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
    # On a page, with places to break the line, so that it does not widen the page.
    signature = extent.escape(result.signature if extent.is_page else "")
    signature = signature.replace("|", Markup("|<wbr>"))
    notes = list(map(note_line, result.notes))
    lists = [table.sentences, table.names.legend, notes]
    title, summary = extent.escape(table.title), extent.escape(table.summary)
    return _filled(
        table,
        extent,
        label=title or summary,
        title=title,
        summary=summary,
        signature=signature,
        lists=lists,
    )


def _filled(
    table: TextTable, extent: _Extent, *, lists: Sequence[Sequence[str]], **texts: str
) -> str:
    template = environment().get_template("result.html.jinja")
    headings = [Markup(escape(shorten(g.heading, _LONGEST_HEADING))) for g in table.groups]  # noqa: S704
    parts = {"title": "", "summary": "", "signature": "", "size": "", **texts}
    return template.render(
        table=table,
        groups=list(zip(headings, table.groups, strict=True)),
        html=lambda text: Markup(escape(text)),  # noqa: S704  (escaped here)
        lists=list(map(extent.first, lists)),
        **parts,
    )
