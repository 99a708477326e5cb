"""Colour for the verdicts in a table of text, where a person reads it in a terminal.

Only words that decide are coloured: better and passed in green, worse and failed in red, undecided
in yellow. Texts of the user, such as questions in a table, are left alone.
"""

from __future__ import annotations

import os
import re
import sys

import click

_BETTER, _WORSE, _OPEN = "green", "red", "yellow"
# In a sentence, which begins with "- "; of several, the first decides.
_VERDICT = re.compile(
    r"(?P<yellow>no\s+difference\s+shown|not\s+shown\s+to\s+be\s+better|UNDECIDED|undecided)"
    r"|(?P<red>is\s+worse|FAILED|NOT\s+EVALUATED)"
    r"|(?P<green>is\s+better|shown\s+to\s+be\s+better|passed|equivalent)"
)
_SENTENCE = re.compile(r"^- .*\n(?:^  .*\n)*", re.MULTILINE)
# The last cell of a line of a table, such as the state of a gate.
_STATE = re.compile(
    r"(?<=[ ] )(?:(?P<green>passed)|(?P<red>failed|not evaluated)|(?P<yellow>undecided))(?= *$)",
    re.MULTILINE,
)


def wants_colour(*, is_terminal: bool) -> bool:
    """Whether text is coloured.

    Parameters
    ----------
    is_terminal : bool
        Whether the text goes to a terminal.

    Returns
    -------
    bool
        False with ``--no-color`` or where NO_COLOR is set (https://no-color.org), true where
        FORCE_COLOR is set, else true in a terminal that is not dumb.
    """
    context = click.get_current_context(silent=True)
    if (context is not None and context.params.get("no_color")) or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_terminal and os.environ.get("TERM") != "dumb"


def with_colour(text: str) -> str:
    r"""A page of text with coloured verdicts.

    Examples
    --------
    >>> with_colour("- b is worse on recall@5 by 0.1\n")
    '- b \x1b[31mis worse\x1b[0m on recall@5 by 0.1\n'
    """
    text = _SENTENCE.sub(lambda sentence: _VERDICT.sub(_paint, sentence[0], count=1), text)
    return _STATE.sub(_paint, text)


def echo_page(text: str, *, is_text: bool) -> None:
    """Write a page to standard output.

    Parameters
    ----------
    text : str
        The page.
    is_text : bool
        Whether it is plain text, which may be coloured.
    """
    if is_text and wants_colour(is_terminal=sys.stdout.isatty()):
        click.echo(with_colour(text), nl=False, color=True)
        return
    click.echo(text, nl=False)


def _paint(match: re.Match[str]) -> str:
    # Word by word, so that a colour does not run over the end of a line.
    return re.sub(r"\S+(?: +\S+)*", lambda part: click.style(part[0], fg=match.lastgroup), match[0])
