"""A message as one line of a terminal."""

from __future__ import annotations

from rageval_report.render.display import clean


def one_line(text: str) -> str:
    r"""The text without line breaks and control characters.

    Examples
    --------
    >>> one_line("a file\nof two lines")
    'a file of two lines'
    """
    return clean(text)
