"""A result as a LaTeX table (booktabs)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rageval_report.render.cell_text import LONGEST, LONGEST_SENTENCE
from rageval_report.render.display import clean, note_line, shorten
from rageval_report.render.text_table import NO_ROWS, RowGroup, TextColumn, TextTable, table_of
from rageval_report.results import Result
from rageval_report.scores.names import ShortNames

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': "''",
    # After the end of a row, LaTeX would take these for options of the row.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "\u2009": r"\,",
    "\u202f": r"\,",
    "\u2010": "-",
    "\u2011": "-",
    "–": "--",
    "—": "---",
    "−": "$-$",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
    "×": r"$\times$",
    "±": r"$\pm$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "≠": r"$\ne$",
    "≈": r"$\approx$",
    "∞": r"$\infty$",
    "→": r"$\to$",
    "·": r"$\cdot$",
    "µ": r"$\mu$",
    "μ": r"$\mu$",
    "\ufffd": "?",
}
# LaTeX sets two hyphens in a row as a dash, so the second one is kept apart.
_SPECIALS = re.compile("|".join(map(re.escape, _ESCAPES)) + "|(?<=-)-")
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
    body = [*_tabular(result, table), *_below(result, table.names)]
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{escape_sentence(table.names.in_text(result.title))}}}",
        rf"  \label{{{label_of(label or f'tab:{result.title.lower()}')}}}",
        *(f"  {line}" for line in body),
        r"\end{table}",
    ]
    needs = [_NEEDS_UNICODE] if any(map(_OTHER_SCRIPTS.search, lines)) else []
    return "\n".join([_NEEDS, *needs, f"% {clean(result.signature)}", *lines])


def escape_latex(text: str) -> str:
    r"""The text with every special character of LaTeX escaped."""
    # In one pass, because the escapes contain characters that are escaped themselves.
    return _SPECIALS.sub(lambda match: _ESCAPES.get(match[0], "{}-"), text)


def escape_sentence(text: str) -> str:
    r"""A sentence of any length or number of lines, escaped, on one line."""
    return escape_latex(shorten(text, LONGEST_SENTENCE))


def label_of(text: str) -> str:
    r"""The text as a label: letters, digits, colons and hyphens."""
    return _NOT_FOR_LABELS.sub("-", text[:LONGEST]).strip("-:") or "tab"


def _tabular(result: Result, table: TextTable) -> Iterator[str]:
    if not table.columns or not len(result.frame):
        yield "" if len(result.frame) else NO_ROWS
        return
    sides = "".join("r" if column.is_numeric else "l" for column in table.columns)
    yield rf"\begin{{tabular}}{{{sides}}}"
    yield r"  \toprule"
    yield f"  {_join_cells([escape_latex(column.heading) for column in table.columns])}"
    for group in table.groups:
        yield r"  \midrule"
        yield from _rows(table, group)
    yield r"  \bottomrule"
    yield r"\end{tabular}"


def _rows(table: TextTable, group: RowGroup) -> Iterator[str]:
    if group.heading:
        heading = rf"\textit{{{escape_latex(shorten(group.heading, LONGEST))}}}"
        yield rf"  \multicolumn{{{len(table.columns)}}}{{l}}{{{heading}}} \\"
    for place in range(group.start, group.stop):
        yield f"  {_join_cells([_cell(column, place) for column in table.columns])}"


def _join_cells(texts: list[str]) -> str:
    return rf"{' & '.join(texts)} \\"


def _cell(column: TextColumn, place: int) -> str:
    text = escape_latex(column.cells[place])
    return _MINUS.sub("$-$", text) if column.is_numeric else text


def _below(result: Result, names: ShortNames) -> Iterator[str]:
    """The verdicts, the short names and the notes in small type, one paragraph each."""
    summary = (result.summary,) if result.summary else ()
    texts = [
        *map(names.in_text, (*summary, *result.sentences)),
        *names.legend,
        *map(note_line, result.notes),
    ]
    if not texts:
        return
    yield r"\par\medskip"
    yield r"\begin{minipage}{\linewidth}"
    yield r"  \footnotesize"
    yield from (rf"  {escape_sentence(text)}\par" for text in texts)
    yield r"\end{minipage}"
