"""A result as GitHub-flavoured Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from tabulate import tabulate

from rageval_report.render.cells import LONGEST, LONGEST_TOLD
from rageval_report.render.display import clean, shortened
from rageval_report.render.table import NO_ROWS, Group, Table, table_of
from rageval_report.results import Result

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
# Marks of Markdown anywhere; an underscore inside a word, as in exact_match, is none.
_MARKS = re.compile(r"[\\`*|\[\]~$]|(?<![^\W_])_|_(?![^\W_])")
# A mark that opens a heading, a list or a quotation where it stands first.
_OPENING = re.compile(r"^(?:[#+=-]|\d+(?=[.)]))")


def render(
    result: Result,
    *,
    columns: Sequence[str] | None = None,
    max_rows: int | None = 200,
    max_columns: int | None = 40,
    longest: int = LONGEST,
) -> str:
    r"""The result as Markdown: title, verdicts, a pipe table a group, notes, signature.

    Parameters
    ----------
    result : Result
        What is shown.
    columns : sequence of str, optional
        The columns to show, in order; the headline where None.
    max_rows, max_columns : int, optional
        How many rows and columns are shown at most; all where None.
    longest : int
        The width to which texts are cut.

    Raises
    ------
    UnknownNameError
        If `columns` names one that the result does not have.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"metric": ["a|b"], "mean": [0.5]})
    >>> print(render(Result("Means", frame)).partition("`")[0])
    ### Means
    <BLANKLINE>
    | metric   |   mean |
    |:---------|-------:|
    | a\|b     |  0.500 |
    <BLANKLINE>
    <BLANKLINE>
    """
    table = table_of(
        result, columns=columns, max_rows=max_rows, max_columns=max_columns, longest=longest
    )
    parts = [
        f"### {told(result.title)}",
        _listed(result.sentences[:max_rows]),
        *_body(result, table),
        _listed(result.notes),
        code(result.signature),
    ]
    return "\n\n".join(part for part in parts if part)


whole = partial(render, max_rows=None, max_columns=None)


def escaped(text: str) -> str:
    r"""The text as it is, wherever in Markdown it stands.

    Parameters
    ----------
    text : str
        On one line.

    Examples
    --------
    >>> print(escaped("<b> | *exact_match* `x`"))
    &lt;b&gt; \| \*exact_match\* \`x\`
    """
    return _MARKS.sub(r"\\\g<0>", text).translate(_ENTITIES)


def told(text: str) -> str:
    r"""A sentence as it is, also where it stands at the beginning of a line.

    Examples
    --------
    >>> print(told("1. not a list"))
    1\. not a list
    """
    line = escaped(shortened(text, LONGEST_TOLD))
    opening = _OPENING.match(line)
    if opening is None:
        return line
    mark, rest = opening[0], line[opening.end() :]
    return f"{mark}\\{rest}" if mark.isdigit() else f"\\{line}"


def code(text: str) -> str:
    """The text as a piece of code, between more backticks than it has in a row.

    Examples
    --------
    >>> code("seed:0"), code("a``b")
    ('`seed:0`', '```a``b```')
    """
    line = clean(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    blank = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{blank}{line}{blank}{fence}"


def _listed(texts: Sequence[str]) -> str:
    return "\n".join(f"- {told(text)}" for text in texts)


def _body(result: Result, table: Table) -> Iterator[str]:
    if not len(result.frame):
        yield NO_ROWS
    elif table.columns:
        for group in table.groups:
            yield f"#### {told(group.heading)}" if group.heading else ""
            yield _pipe_table(table, group)
        yield f"... and {table.left_out}" if table.left_out else ""


def _pipe_table(table: Table, group: Group) -> str:
    return tabulate(
        [[escaped(text) for text in table.row(i)] for i in range(group.start, group.stop)],
        [escaped(column.heading) for column in table.columns],
        tablefmt="pipe",
        colalign=["right" if column.is_numeric else "left" for column in table.columns],
        disable_numparse=True,
    )
