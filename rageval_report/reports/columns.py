"""Columns as a page carries them: few values once and a letter a row, texts once for all columns.

JSON has no types and no compression, so the form of a column decides how large a page is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report.render.cells import is_missing, plain

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
DIGITS = 6  # of a score, significant ones
ABSENT = -1

_LARGEST = 1e15  # above it, and below its inverse, scaling by a power of ten loses digits

FloatArray = npt.NDArray[np.float64]


class TextPool:
    """Every different text once, and its place.

    Parameters
    ----------
    longest : int, optional
        Longer texts are cut to so many characters, and counted; all is kept where None.

    Examples
    --------
    >>> pool = TextPool()
    >>> [pool.place(text) for text in ("a", "b", "a")], pool.texts
    ([0, 1, 0], ['a', 'b'])
    """

    def __init__(self, longest: int | None = None):
        self._longest = longest
        self._places: dict[str, int] = {}
        self.n_cut = 0

    @property
    def texts(self) -> list[str]:
        """The texts in the order of their places."""
        if self._longest is None:
            return list(self._places)
        return [self._cut(text) for text in self._places]

    def place(self, text: str) -> int:
        """Where a text stands."""
        return self._places.setdefault(text, len(self._places))

    def _cut(self, text: str) -> str:
        longest = self._longest or len(text)
        if len(text) <= longest:
            return text
        self.n_cut += 1
        return f"{text[:longest]}… [{len(text) - longest} more characters are left out]"


def score_column(values: FloatArray) -> dict[str, Any]:
    """Scores with six significant digits; null where unscored.

    Parameters
    ----------
    values : array of float
        NaN where unscored.

    Returns
    -------
    dict
        ``{"v": values, "c": letters}`` where there are up to 64 different ones, else
        ``{"n": numbers}``.

    Examples
    --------
    >>> score_column(np.array([1.0, 0.0, np.nan, 1.0]))
    {'v': [0.0, 1.0, None], 'c': 'BACB'}
    """
    rounded = significant(values)
    levels, codes = np.unique(rounded, return_inverse=True)
    if len(levels) > len(LETTERS):
        return {"n": _with_none(rounded)}
    return {"v": _with_none(levels), "c": lettered(codes)}


def significant(values: FloatArray) -> FloatArray:
    """Numbers rounded to six significant digits.

    Examples
    --------
    >>> significant(np.array([0.123456789, 1234.56789, 0.0, np.nan])).tolist()
    [0.123457, 1234.57, 0.0, nan]
    """
    size = np.abs(values)
    usual = (size < _LARGEST) & (size > 1 / _LARGEST)
    with np.errstate(divide="ignore", invalid="ignore"):
        decimals = DIGITS - 1 - np.floor(np.log10(np.where(usual, size, 1.0)))
    # Dividing by a whole power of ten gives the float nearest to the short decimal.
    scale = 10.0 ** np.abs(decimals)
    up = np.round(values * scale) / scale
    down = np.round(values / scale) * scale
    rounded: FloatArray = np.where(usual, np.where(decimals >= 0, up, down), values)
    return rounded


def coded_column(codes: Sequence[int] | npt.NDArray[np.intp], levels: list[Any]) -> dict[str, Any]:
    """A value of few for each row.

    Examples
    --------
    >>> coded_column([0, 1, 0], ["low", "high"])
    {'v': ['low', 'high'], 'c': 'ABA'}
    """
    if len(levels) > len(LETTERS):
        return {"v": levels, "c": [int(code) for code in codes]}
    return {"v": levels, "c": lettered(np.asarray(codes, dtype=np.intp))}


def lettered(codes: npt.NDArray[np.intp]) -> str:
    """Small whole numbers as a text of one letter each.

    Examples
    --------
    >>> lettered(np.array([0, 25, 63]))
    'AZ_'
    """
    letters = np.frombuffer(LETTERS.encode(), dtype=np.uint8)
    return letters[codes].tobytes().decode()


def text_column(cells: Sequence[object], pool: TextPool) -> list[Any]:
    """The place in the pool of each cell's text; a list of places for a cell of several.

    Parameters
    ----------
    cells : sequence of object
        Texts, lists of texts, numbers, or nothing, which becomes -1.
    pool : TextPool
        Takes the texts.

    Examples
    --------
    >>> pool = TextPool()
    >>> text_column(["a", None, ["a", "b"], 2.0], pool), pool.texts
    ([0, -1, [0, 1], 2], ['a', 'b', '2'])
    """
    return [_placed(cell, pool) for cell in cells]


def _placed(cell: object, pool: TextPool) -> int | list[int]:
    if isinstance(cell, str):  # nearly every cell, so it comes first
        return pool.place(cell)
    if cell is None:
        return ABSENT
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, list | tuple):
        return [pool.place(part if isinstance(part, str) else told(part)) for part in cell]
    return ABSENT if is_missing(plain(cell)) else pool.place(told(cell))


def parted(cell: object) -> object:
    """A cell with the list that it holds as JSON, as files of plain texts write lists.

    Examples
    --------
    >>> parted('["a", "b"]'), parted("[1] a footnote")
    (['a', 'b'], '[1] a footnote')
    """
    if not (isinstance(cell, str) and cell[:1] == "[" and cell[-1:] == "]"):
        return cell
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return cell
    return found if found and all(isinstance(part, str | dict) for part in found) else cell


def told(value: object) -> str:
    """A value as a text: whole numbers without decimals, dicts and lists as JSON.

    Examples
    --------
    >>> told(2.0), told({"doc": "d1"}), told(True), told(None)
    ('2', '{"doc": "d1"}', 'yes', '–')
    """
    value = plain(value)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if is_missing(value):
        return "–"
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST:
        return str(int(value))
    if isinstance(value, Mapping | list | tuple):
        return _as_json(value)
    return str(value)


def _as_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):  # keys of other types, circles, depth
        return str(value)[:_MOST_OF_THE_ODD]


_MOST_OF_THE_ODD = 10_000


def _with_none(values: FloatArray) -> list[float | None]:
    missing = np.isnan(values)
    if not missing.any():
        numbers: list[float | None] = values.tolist()
        return numbers
    with_none = values.astype(object)
    with_none[missing] = None
    told_: list[float | None] = with_none.tolist()
    return told_


def rows_of(ids: pd.Index, wanted: pd.Index) -> npt.NDArray[np.intp]:
    """Where each wanted id stands; -1 where it does not."""
    return np.asarray(ids.get_indexer(wanted), dtype=np.intp)
