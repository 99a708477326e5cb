"""A result as a LaTeX table (booktabs)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rageval_report.reports.cells import LONGEST, LONGEST_SENTENCE, clean, note_line, shorten
from rageval_report.reports.tables import NO_ROWS, TextColumn, TextTable, table_of, words
from rageval_report.results import Result

# LaTeX sets two hyphens in a row as a dash, so the second one is kept apart.
_SPECIALS = re.compile("|".join(map(re.escape, words("latex"))) + "|(?<=-)-")
_MINUS = re.compile(r"(?<![\w.\-])-(?=[\d.i])")
# pdfLaTeX with its T1 fonts has the Latin letters up to here, the end of Latin Extended-A.
_OTHER_SCRIPTS = re.compile("[^\x00-\u017f]")
_NOT_FOR_LABELS = re.compile(r"[^A-Za-z0-9:]+")

_NEEDS = r"% Needs \usepackage{booktabs} in the preamble."
_NEEDS_UNICODE = "% Some texts need XeLaTeX or LuaLaTeX, and a font with their script."


def render(
    result: Result,
    *,
    columns: Sequence[str] | None = None,
    longest: int = LONGEST,
    label: str | None = None,
) -> str:
    r"""The result as a ``table`` environment, its notes below the rules."""
    table = table_of(result, columns=columns, longest=longest)
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{escape_sentence(table.title)}}}",
        rf"  \label{{{label_of(label or f'tab:{result.title.lower()}')}}}",
        *(f"  {line}" for line in (*_tabular(table), *_below(result, table))),
        r"\end{table}",
    ]
    needs = [_NEEDS_UNICODE] if any(map(_OTHER_SCRIPTS.search, lines)) else []
    return "\n".join([_NEEDS, *needs, f"% {clean(result.signature)}", *lines])


def escape_latex(text: str) -> str:
    r"""The text with every special character of LaTeX escaped."""
    # In one pass, because the escapes contain characters that are escaped themselves.
    return _SPECIALS.sub(lambda match: words("latex").get(match[0], "{}-"), text)


def escape_sentence(text: str) -> str:
    r"""A sentence of any length or number of lines, escaped, on one line."""
    return escape_latex(shorten(text, LONGEST_SENTENCE))


def label_of(text: str) -> str:
    r"""The text as a label: letters, digits, colons and hyphens."""
    return _NOT_FOR_LABELS.sub("-", text[:LONGEST]).strip("-:") or "tab"


def _tabular(table: TextTable) -> Iterator[str]:
    if not table.columns or not table.has_rows:
        yield "" if table.has_rows else NO_ROWS
        return
    sides = "".join("r" if column.is_numeric else "l" for column in table.columns)
    yield rf"\begin{{tabular}}{{{sides}}}"
    yield r"  \toprule"
    yield rf"  {' & '.join(escape_latex(column.heading) for column in table.columns)} \\"
    for group in table.groups:
        yield r"  \midrule"
        if group.heading:
            heading = rf"\textit{{{escape_latex(shorten(group.heading, LONGEST))}}}"
            yield rf"  \multicolumn{{{len(table.columns)}}}{{l}}{{{heading}}} \\"
        for place in group.places:
            yield rf"  {' & '.join(_cell(column, place) for column in table.columns)} \\"
    yield r"  \bottomrule"
    yield r"\end{tabular}"


def _cell(column: TextColumn, place: int) -> str:
    text = escape_latex(column.cells[place])
    return _MINUS.sub("$-$", text) if column.is_numeric else text


def _below(result: Result, table: TextTable) -> Iterator[str]:
    """The verdicts, the short names and the notes in small type, one paragraph each."""
    summary = [table.summary] if table.summary else []
    texts = [*summary, *table.sentences, *table.names.legend, *map(note_line, result.notes)]
    if texts:
        yield r"\par\medskip"
        yield r"\begin{minipage}{\linewidth}"
        yield r"  \footnotesize"
        yield from (rf"  {escape_sentence(text)}\par" for text in texts)
        yield r"\end{minipage}"
