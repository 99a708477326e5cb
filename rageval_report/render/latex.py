"""A result as a LaTeX table (booktabs)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rageval_report.render.cells import LONGEST, LONGEST_TOLD
from rageval_report.render.display import clean, shortened
from rageval_report.render.table import NO_ROWS, Column, Group, Table, table_of
from rageval_report.results import Result

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
_SPECIALS = re.compile("|".join(map(re.escape, _ESCAPES)) + "|(?<=-)-")
_MINUS = re.compile(r"(?<![\w.\-])-(?=[\d.i])")
_OTHER_SCRIPTS = re.compile("[^\x00-\u017f]")
_NOT_FOR_LABELS = re.compile(r"[^A-Za-z0-9:]+")

_NEEDS = r"% Needs \usepackage{booktabs} in the preamble."
_NEEDS_UNICODE = "% Some texts need XeLaTeX or LuaLaTeX, and a font that has their script."


def render(
    result: Result,
    *,
    columns: Sequence[str] | None = None,
    longest: int = LONGEST,
    label: str | None = None,
) -> str:
    r"""The result as a ``table`` environment, its notes below the rules.

    Parameters
    ----------
    result : Result
        What is shown.
    columns : sequence of str, optional
        The columns to show, in order; the headline where None.
    longest : int
        The width to which texts are cut.
    label : str, optional
        For ``\ref``; made of the title where None.

    Raises
    ------
    UnknownNameError
        If `columns` names one that the result does not have.

    Examples
    --------
    >>> import pandas as pd
    >>> lines = render(Result("Means", pd.DataFrame({"metric": ["mrr"], "mean": [0.5]})))
    >>> print("\n".join(lines.splitlines()[5:13]))
      \label{tab:means}
      \begin{tabular}{lr}
        \toprule
        metric & mean \\
        \midrule
        mrr & 0.500 \\
        \bottomrule
      \end{tabular}
    """
    table = table_of(result, columns=columns, longest=longest)
    body = [*_tabular(result, table), *_below(result)]
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{told(result.title)}}}",
        rf"  \label{{{label_of(label or f'tab:{result.title.lower()}')}}}",
        *(f"  {line}" for line in body),
        r"\end{table}",
    ]
    needs = [_NEEDS_UNICODE] if any(map(_OTHER_SCRIPTS.search, lines)) else []
    return "\n".join([_NEEDS, *needs, f"% {clean(result.signature)}", *lines])


def escaped(text: str) -> str:
    r"""The text with every character that LaTeX would act upon made harmless.

    Parameters
    ----------
    text : str
        On one line.

    Examples
    --------
    >>> print(escaped("50 % of $x_1$ -- [a]"))
    50 \% of \$x\_1\$ -{}- {[}a{]}
    """
    return _SPECIALS.sub(lambda found: _ESCAPES.get(found[0], "{}-"), text)


def told(text: str) -> str:
    r"""A sentence of any length or number of lines, as LaTeX.

    Examples
    --------
    >>> print(told("recall@5\nrose by 10 %"))
    recall@5 rose by 10 \%
    """
    return escaped(shortened(text, LONGEST_TOLD))


def label_of(text: str) -> str:
    r"""The text as a label: letters, digits, colons and hyphens.

    Examples
    --------
    >>> label_of("tab:Means, by group")
    'tab:Means-by-group'
    """
    return _NOT_FOR_LABELS.sub("-", text[:LONGEST]).strip("-:") or "tab"


def _tabular(result: Result, table: Table) -> Iterator[str]:
    if not table.columns or not len(result.frame):
        yield "" if len(result.frame) else NO_ROWS
        return
    sides = "".join("r" if column.is_numeric else "l" for column in table.columns)
    yield rf"\begin{{tabular}}{{{sides}}}"
    yield r"  \toprule"
    yield f"  {_joined([escaped(column.heading) for column in table.columns])}"
    for group in table.groups:
        yield r"  \midrule"
        yield from _rows(table, group)
    yield r"  \bottomrule"
    yield r"\end{tabular}"


def _rows(table: Table, group: Group) -> Iterator[str]:
    if group.heading:
        heading = rf"\textit{{{escaped(shortened(group.heading, LONGEST))}}}"
        yield rf"  \multicolumn{{{len(table.columns)}}}{{l}}{{{heading}}} \\"
    for place in range(group.start, group.stop):
        yield f"  {_joined([_cell(column, place) for column in table.columns])}"


def _joined(texts: list[str]) -> str:
    return rf"{' & '.join(texts)} \\"


def _cell(column: Column, place: int) -> str:
    text = escaped(column.cells[place])
    return _MINUS.sub("$-$", text) if column.is_numeric else text


def _below(result: Result) -> Iterator[str]:
    """The verdicts and the notes, small, each a paragraph."""
    texts = [*result.sentences, *(f"Note: {note}" for note in result.notes)]
    if not texts:
        return
    yield r"\par\medskip"
    yield r"\begin{minipage}{\linewidth}"
    yield r"  \footnotesize"
    yield from (rf"  {told(text)}\par" for text in texts)
    yield r"\end{minipage}"
