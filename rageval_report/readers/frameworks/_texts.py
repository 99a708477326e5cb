"""Texts of frameworks' tables: their columns under the names of this library, lists as lists."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers._shapes import ShapeError
from rageval_report.readers.tables import header_of

# A longer cell is left the text that it is, one that is no plain list of texts already earlier.
_LONGEST = 1_000_000
_LONGEST_LITERAL = 100_000

_TEXT = r"""(?:'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+")"""
# What Python writes of a list of texts, and what NumPy writes of an array, without commas. Python
# would read the latter as one text.
_TEXTS = re.compile(rf"\[\s*+(?:{_TEXT}(?:(?:\s*+,\s*+|\s++){_TEXT})*+\s*+,?+)?+\s*+\]", re.DOTALL)
_ONE_TEXT = re.compile(_TEXT, re.DOTALL)


def names_in(source: Source) -> tuple[str, ...]:
    """The names of a table's columns; none where the file holds no table.

    Parameters
    ----------
    source : Source
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.json"
    ...     _ = path.write_text('{"run": {"recall": {"mean": 0.5}}}')
    ...     names_in(Source(path))
    ()
    """
    try:
        return header_of(source)
    except ShapeError:  # an object of objects, which may be a table by its outside alone
        return ()


def read_list(cell: object) -> Any:
    r"""The list that a cell holds, or that its text is in JSON, Python or NumPy; else the cell.

    Parameters
    ----------
    cell : object
        A cell of a table.

    Examples
    --------
    >>> read_list("['a', \"b's\"]"), read_list("['a' 'b']"), read_list('["a"]')
    (['a', "b's"], ['a', 'b'], ['a'])
    >>> read_list("[see above]"), read_list("[__import__('os')]")
    ('[see above]', "[__import__('os')]")
    """
    if isinstance(cell, np.ndarray):
        return cell.tolist()
    if not isinstance(cell, str) or len(cell) > _LONGEST:
        return cell
    text = cell.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return cell
    found = _of_texts(text) if _TEXTS.fullmatch(text) else read_literal(text)
    return found if isinstance(found, list) else cell


def _of_texts(text: str) -> object:
    """A list of texts, with commas between them where NumPy writes none."""
    try:
        found = json.loads(text)
    except ValueError:
        return read_literal(f"[{', '.join(_ONE_TEXT.findall(text))}]", 2 * _LONGEST)
    return found if _is_writable(found) else text


def read_literal(text: str, longest: int = _LONGEST_LITERAL) -> object:
    """The value of a Python literal; the text itself where it is none, or too long.

    Parameters
    ----------
    text : str
        What a framework wrote.
    longest : int
        How many characters are looked at.

    Examples
    --------
    >>> read_literal("{'a': [1]}"), read_literal("open('x')")
    ({'a': [1]}, "open('x')")
    """
    if len(text) > longest:
        return text
    try:
        with warnings.catch_warnings():  # of escapes like "\\d", which stay what they are
            warnings.simplefilter("ignore")
            found = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return text
    return found if _is_writable(found) else text


def _is_writable(found: object) -> bool:
    """Whether no text holds half a character, which no file can."""
    try:
        json.dumps(found, ensure_ascii=False, default=str).encode("utf-8")
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def with_lists(frame: pd.DataFrame, columns: Iterable[str]) -> tuple[pd.DataFrame, list[str]]:
    """The frame with lists where cells of these columns are lists written as text, and a note.

    Parameters
    ----------
    frame : DataFrame
        The table.
    columns : iterable of str
        Where lists are expected.

    Examples
    --------
    >>> frame, notes = with_lists(pd.DataFrame({"contexts": ["['a', 'b']"]}), ["contexts"])
    >>> frame["contexts"].tolist(), notes
    ([['a', 'b']], ["lists written as text are read as lists: 'contexts'"])
    """
    read, parsed = {}, []
    for name in columns:
        if name not in frame or pd.api.types.is_numeric_dtype(frame[name].dtype):
            continue
        cells = frame[name].tolist()
        found = [read_list(cell) for cell in cells]
        read[name] = pd.Series(found, index=frame.index, dtype=object)
        if any(
            isinstance(cell, str) and cell is not one
            for cell, one in zip(cells, found, strict=True)
        ):
            parsed.append(name)
    notes = [f"lists written as text are read as lists: {named(parsed, 12)}"] if parsed else []
    return (frame.assign(**read) if read else frame), notes


def with_our_names(
    frame: pd.DataFrame, names: Mapping[str, Iterable[str]], keep: str | None = None
) -> pd.DataFrame:
    """The frame with a framework's columns under the names of this library, unless these are taken.

    Parameters
    ----------
    frame : DataFrame
        The table.
    names : mapping of str to iterable of str
        Our name to theirs, the likeliest first.
    keep : str, optional
        A column that keeps its name, because somebody asked for it by that.

    Examples
    --------
    >>> list(with_our_names(pd.DataFrame(columns=["user_input"]), {"question": ["user_input"]}))
    ['question']
    """
    renamed: dict[str, str] = {}
    for ours, theirs in names.items():
        found = [name for name in theirs if name in frame and name != keep]
        if found and ours not in frame:
            renamed[found[0]] = ours
    return frame.rename(columns=str).rename(columns=renamed)
