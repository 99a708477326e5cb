"""Markdown: results for a repository or a chat, and the comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from tabulate import tabulate

from rageval_report.files.outgoing_text import inert_cell, inert_markdown
from rageval_report.reports.cells import LONGEST, LONGEST_SENTENCE, clean, shorten
from rageval_report.reports.tables import NO_ROWS, TextTable, table_of
from rageval_report.results import Result


def render(
    result: Result,
    *,
    columns: Sequence[str] | None = None,
    max_rows: int | None = 200,
    max_columns: int | None = 40,
    longest: int = LONGEST,
    signature: bool = False,
) -> str:
    r"""The result as Markdown: title, verdicts, one pipe table per group, notes."""
    table = table_of(
        result, columns=columns, max_rows=max_rows, max_columns=max_columns, longest=longest
    )
    parts = [
        f"### {escape_sentence(table.title)}" if table.title else "",
        escape_sentence(table.summary),
        listed(table.sentences[:max_rows]),
        *_body(table),
        listed(table.names.legend),
        listed(result.notes),
        code(result.signature) if signature and result.signature else "",
    ]
    return "\n\n".join(filter(None, parts))


render_file = partial(render, max_rows=None, max_columns=None, signature=True)


def escape_sentence(text: str) -> str:
    r"""A sentence, escaped so that it may start a line and links to nothing."""
    return inert_markdown(shorten(text, LONGEST_SENTENCE))


def code(text: str) -> str:
    """The text as inline code, between more backticks than it contains in a row."""
    line = clean(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    blank = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{blank}{line}{blank}{fence}"


def listed(texts: Sequence[str], most: int | None = None) -> str:
    """The first texts as a list, and the number of the others."""
    shown = [escape_sentence(text) for text in texts[:most]]
    more = len(texts) - len(shown) if most is not None else 0
    return "\n".join(f"- {text}" for text in [*shown, *([f"... and {more} more"] if more else [])])


def _body(table: TextTable) -> Iterator[str]:
    if not table.has_rows:
        yield NO_ROWS
    elif table.columns:
        for group in table.groups:
            yield f"#### {escape_sentence(group.heading)}" if group.heading else ""
            yield _pipe_table(table, group.places)
        yield f"... and {inert_cell(table.left_out)}" if table.left_out else ""


def _pipe_table(table: TextTable, places: Iterable[int], signs: Sequence[str] = ()) -> str:
    """Rows as a pipe table, with the signs in front of them."""
    rows = [list(map(inert_cell, table.row(place))) for place in places]
    heads = [inert_cell(column.heading) for column in table.columns]
    sides = ["right" if column.is_numeric else "left" for column in table.columns]
    if signs:
        rows = [[sign, *row] for sign, row in zip(signs, rows, strict=False)]
        heads, sides = ["", *heads], ["left", *sides]
    # The texts are finished: tabulate would parse numbers and write them anew.
    return tabulate(rows, heads, tablefmt="pipe", colalign=sides, disable_numparse=True)


# -- the comment on a pull request

MOST_CHARACTERS = 64_500
"""GitHub accepts 65,536 characters; the rest is for what a program adds to the comment."""

MARKER = "<!-- rageval-report gate -->"
"""The first line, by which a program finds its earlier comment."""

# The worst first.
_SIGNS = {"failed": "❌", "not evaluated": "⚠️", "undecided": "❔", "passed": "✅"}
_MOST_RULES, _MOST_QUERIES, _MOST_NOTES = 200, 20, 20
_COLUMNS = ("rule", "value", "ci_low", "ci_high", "n", "n_unscored")


def pull_request_comment(
    result: Result, failing: Sequence[Result] = (), *, longest: int = MOST_CHARACTERS
) -> str:
    """The comment: how many gates failed, the rules, the reasons, and the queries to read."""
    # A third of the room at most for the rules, a sixth each for reasons and notes: about a third
    # is left for the queries.
    reasons = result.frame[~result.frame["passed"].astype(bool)]["why"].map(str).tolist()
    why = _fit_rows(partial(listed, reasons), _MOST_RULES, longest // 6)
    head = [
        MARKER + "\n" + _head_line(result),
        _fit_rows(partial(_gates, result), _MOST_RULES, longest // 3),
    ]
    notes = ""
    if result.notes:
        fold = partial(_fold, "Notes")
        notes = _fit_rows(lambda most: fold(listed(result.notes, most)), _MOST_NOTES, longest // 6)
    end = [notes, code(result.signature)]
    fixed = "\n\n".join(filter(None, (*head, why, *end)))
    room = longest - len(fixed) - len(_left_out(len(failing))) - 8
    tables = list(_folded_tables(failing, room))
    lost = len(failing) - len(tables)
    parts = (*head, why, *tables, _left_out(lost) if lost else "", *end)
    return "\n\n".join(filter(None, parts)) + "\n"


def _head_line(result: Result) -> str:
    states, n = result.frame["state"], len(result.frame)
    undecided = int((states == "undecided").sum())
    broken = n - undecided - int((states == "passed").sum())
    sign = _SIGNS["failed" if broken else "undecided" if undecided else "passed"]
    parts = [f"{broken} of {n} failed"] if broken else []
    parts += [f"{undecided} of {n} undecided"] if undecided else []
    count = ", ".join(parts) or f"all {n} passed"
    return f"### {sign} {escape_sentence(result.title)}: {count}"


def _gates(result: Result, most: int) -> str:
    """One row per rule, those that do not hold first."""
    order = result.frame["state"].map(list(_SIGNS).index)
    frame = result.frame.loc[order.sort_values(kind="stable").index]
    columns = [name for name in _COLUMNS if name in frame.columns]
    signs = [_SIGNS[state] for state in frame["state"]]
    return _table(replace(result, frame=frame, grouped_by=""), most, columns, signs)


def _table(
    result: Result, most: int, columns: Sequence[str] | None = None, signs: Sequence[str] = ()
) -> str:
    table = table_of(result, columns=columns, max_rows=most)
    left_out = [f"... and {table.left_out}"] if table.left_out else []
    below = map(inert_cell, [*left_out, *table.names.legend])
    return "\n\n".join([_pipe_table(table, range(table.n_rows), signs), *below])


def _folded_tables(failing: Sequence[Result], room: int) -> Iterator[str]:
    """The tables of queries, each of them folded, as long as there is room."""
    for place, result in enumerate(failing):
        share = room // (len(failing) - place)
        text = _fit_rows(partial(_queries, result), _MOST_QUERIES, share - 2)
        if text:
            room -= len(text) + 2
            yield text


def _queries(result: Result, most: int) -> str:
    rule = f" ({result.settings['rule']})" if "rule" in result.settings else ""
    return _fold(escape_sentence(f"{result.title}{rule}"), _table(result, most))


def _fold(summary: str, content: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>"


def _fit_rows(build: Callable[[int], str], most: int, room: int) -> str:
    """The text with as many rows as there is room for; empty if not one fits."""
    while most >= 1:
        text = build(most)
        if len(text) <= room:
            return text
        # Halved, so that even 200 rows take no more than eight attempts.
        most //= 2
    return ""


def _left_out(n: int) -> str:
    what = "table of queries is" if n == 1 else "tables of queries are"
    return f"{n} more {what} left out because there is no room."
