"""Tables whose formulas were neutralised for a spreadsheet: undone if that is certain, or said."""

from __future__ import annotations

import re

import pandas as pd

from rageval_report.files.outgoing_text import is_neutralised, restore_formula
from rageval_report.scores.write import BLANKS

# Whether it is worth looking at each cell.
_APOSTROPHE = re.compile(rb"'\s*(?:[=+@-]|\xef\xbc)")


def may_be_neutralised(text: bytes) -> bool:
    """Whether a text holds an apostrophe before a sign with which formulas begin.

    Examples
    --------
    >>> may_be_neutralised(b"a,'=1+1,1"), may_be_neutralised(b"a,it's,1")
    (True, False)
    """
    # One character is found four times as fast as by an expression that begins with it.
    return b"'" in text and _APOSTROPHE.search(text) is not None


def restore_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame without the apostrophes that `neutralise_formula` put before texts.

    Parameters
    ----------
    frame : DataFrame
        Texts, and other values, which stay.

    Examples
    --------
    >>> restore_formulas(pd.DataFrame({"answer": ["'=1+1", "it's"]}))["answer"].tolist()
    ['=1+1', "it's"]
    """
    columns = {
        str(name): frame[name].map(_restore) for name in frame if not _is_of_numbers(frame[name])
    }
    return frame.assign(**columns)


def find_neutralised_formulas(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The frame of a table without a description, and a note if formulas in it were neutralised.

    Parameters
    ----------
    frame : DataFrame
        The cells of a text that `may_be_neutralised`. The apostrophes are removed from a sheet for
        reviewers, which always has them.
    """
    if set(BLANKS) <= set(frame.columns):
        return restore_formulas(frame), []
    n = sum(
        isinstance(cell, str) and is_neutralised(cell)
        for name in frame
        if not _is_of_numbers(frame[name])
        for cell in frame[name].tolist()
    )
    if not n:
        return frame, []
    what = "1 cell begins" if n == 1 else f"{n} cells begin"
    return frame, [
        f"{what} with an apostrophe before =, +, - or @, as in a table whose formulas were "
        "neutralised for a spreadsheet; the apostrophes are read as part of the texts and ids. A "
        "table with its description, FILE.meta.json, is read without them"
    ]


def _restore(cell: object) -> object:
    return restore_formula(cell) if isinstance(cell, str) else cell


def _is_of_numbers(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column.dtype)
