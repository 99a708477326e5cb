"""The result of gates as a comment on a pull request, in GitHub's and GitLab's Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from tabulate import tabulate

from rageval_report.render.markdown import code, escaped, told
from rageval_report.render.table import table_of
from rageval_report.results import Result

LONGEST = 64_500
"""GitHub takes 65,536 characters; what a program puts around a comment fits besides."""

MARKER = "<!-- rageval-report gate -->"
"""The first line, by which a program finds the comment that it wrote before."""

_SIGNS = {"passed": "✅", "failed": "❌", "not evaluated": "⚠️"}
_MOST_RULES, _MOST_QUERIES, _MOST_NOTES = 200, 20, 20
_COLUMNS = ("rule", "value", "ci_low", "ci_high", "n", "n_unscored")
_NO_BREAK = "\u200b"

# What GitHub turns into a message to somebody, a reference from another thread, or a link: the
# texts of queries come from anywhere.
_LIVE = re.compile(
    r"(?<!\w)@(?=\w)|#(?=\d)|\bGH-(?=\d)|\bwww\.(?=\w)|:(?=//)|\bmailto:(?=\w)", re.I
)


def pull_request_comment(
    result: Result, failing: Sequence[Result] = (), *, longest: int = LONGEST
) -> str:
    """The comment: how many gates failed, a row a rule, why, and the queries to look at.

    Parameters
    ----------
    result : Result
        With the columns ``rule``, ``passed``, ``state`` and ``why``, as gates have them.
    failing : sequence of Result
        Tables of queries; each is folded away under its title, and cut where there is no room.
    longest : int
        The most characters.

    Returns
    -------
    str
        Texts are escaped; names, numbers and addresses in them are no mentions and no links.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"rule": "mean(mrr) >= 0.8", "passed": False, "state": "failed", "why": "it is 0.7"}
    >>> print(pull_request_comment(Result("Gates of v2", pd.DataFrame([row]))).splitlines()[1])
    ### ❌ Gates of v2: 1 of 1 failed
    """
    head = [
        MARKER + "\n" + _heading(result),
        _fitting(partial(_gates, result), _MOST_RULES, longest // 3),
    ]
    why = _fitting(partial(_reasons, result), _MOST_RULES, longest // 6)
    end = [_fitting(partial(_notes, result), _MOST_NOTES, longest // 6), code(result.signature)]
    fixed = "\n\n".join(part for part in (*head, why, *end) if part)
    room = longest - len(fixed) - len(_left_out(len(failing))) - 8
    folded = list(_folded(failing, room))
    lost = len(failing) - len(folded)
    parts = (*head, why, *folded, _left_out(lost) if lost else "", *end)
    return "\n\n".join(part for part in parts if part) + "\n"


def _heading(result: Result) -> str:
    broken, n = int((~result.frame["passed"].astype(bool)).sum()), len(result.frame)
    sign = _SIGNS["failed" if broken else "passed"]
    count = f"{broken} of {n} failed" if broken else f"all {n} passed"
    return _inert(f"### {sign} {told(result.title)}: {count}")


def _gates(result: Result, most: int) -> str:
    """A row a rule, those that do not hold first."""
    frame = result.frame.sort_values("passed", kind="stable")
    columns = [name for name in _COLUMNS if name in frame.columns]
    shown = replace(result, frame=frame, grouped_by="")
    signs = [_SIGNS.get(str(state), "") for state in frame["state"]]
    return _table(shown, most, columns, signs)


def _table(
    result: Result, most: int, columns: Sequence[str] | None = None, signs: Sequence[str] = ()
) -> str:
    """A pipe table of the first rows, with signs before them where there are any."""
    table = table_of(result, columns=columns, max_rows=most)
    alignment = ["right" if column.is_numeric else "left" for column in table.columns]
    rows = [[escaped(text) for text in table.row(place)] for place in range(table.n_rows)]
    heads = [escaped(column.heading) for column in table.columns]
    if signs:
        rows = [[sign, *row] for sign, row in zip(signs, rows, strict=False)]
        heads, alignment = ["", *heads], ["left", *alignment]
    text = tabulate(rows, heads, tablefmt="pipe", colalign=alignment, disable_numparse=True)
    return _inert(text + (f"\n\n... and {table.left_out}" if table.left_out else ""))


def _reasons(result: Result, most: int) -> str:
    broken = result.frame[~result.frame["passed"].astype(bool)]["why"]
    more = len(broken) - most
    lines = [f"- {told(str(why))}" for why in broken.head(most)]
    return _inert("\n".join([*lines, *([f"- ... and {more} more"] if more > 0 else [])]))


def _notes(result: Result, most: int) -> str:
    if not result.notes:
        return ""
    more = len(result.notes) - most
    lines = [f"- {told(note)}" for note in result.notes[:most]]
    listed = "\n".join([*lines, *([f"- ... and {more} more"] if more > 0 else [])])
    return _inert(_fold("Notes", listed))


def _folded(failing: Sequence[Result], room: int) -> Iterator[str]:
    """The tables of queries, each folded away, as long as there is room."""
    for place, result in enumerate(failing):
        share = room // (len(failing) - place)
        text = _fitting(partial(_queries, result), _MOST_QUERIES, share - 2)
        if text:
            room -= len(text) + 2
            yield text


def _queries(result: Result, most: int) -> str:
    title = (
        f"{result.title} ({result.settings['rule']})" if "rule" in result.settings else result.title
    )
    return _inert(_fold(told(title), _table(result, most)))


def _fold(summary: str, content: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>"


def _fitting(build: Callable[[int], str], most: int, room: int) -> str:
    """With as many rows as there is room for; nothing where not one fits."""
    while most >= 1:
        text = build(most)
        if len(text) <= room:
            return text
        most //= 2
    return ""


def _left_out(n: int) -> str:
    what = "table of queries is" if n == 1 else "tables of queries are"
    return f"{n} more {what} left out for want of room."


def _inert(text: str) -> str:
    return _LIVE.sub(lambda found: found[0] + _NO_BREAK, text)
