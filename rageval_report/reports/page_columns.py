"""The columns of a page's data, in the form that makes the page small."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report.files.strict_json import load_json
from rageval_report.render.cell_text import is_missing, plain
from rageval_report.types import FloatArray

# All are one byte in UTF-8, and JSON escapes none of them.
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
DIGITS = 6  # of a score, significant ones
ABSENT = -1

_LARGEST = 1e15  # above it, and below its inverse, scaling by a power of ten loses digits
_LONGEST_REPR = 10_000  # of a value that JSON cannot write


class TextPool:
    """Every distinct text once, and its place in the list."""

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
        """The place of a text, which is added if it is new."""
        return self._places.setdefault(text, len(self._places))

    def _cut(self, text: str) -> str:
        longest = self._longest or len(text)
        if len(text) <= longest:
            return text
        self.n_cut += 1
        return f"{text[:longest]}… [{len(text) - longest} more characters are left out]"


def score_column(values: FloatArray) -> dict[str, Any]:
    """Scores with six significant digits; null where unscored."""
    rounded = round_significant(values)
    levels, codes = np.unique(rounded, return_inverse=True)
    if len(levels) > len(LETTERS):
        return {"n": _nan_to_none(rounded)}
    return {"v": _nan_to_none(levels), "c": encode_letters(codes)}


def round_significant(values: FloatArray) -> FloatArray:
    """The numbers rounded to six significant digits."""
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
    """A column of which each row has one of a few values."""
    if len(levels) > len(LETTERS):
        return {"v": levels, "c": [int(code) for code in codes]}
    return {"v": levels, "c": encode_letters(np.asarray(codes, dtype=np.intp))}


def encode_letters(codes: npt.NDArray[np.intp]) -> str:
    """Integers from 0 to 63 as a text of one letter each."""
    letters = np.frombuffer(LETTERS.encode(), dtype=np.uint8)
    return letters[codes].tobytes().decode()


def text_column(cells: Sequence[object], pool: TextPool) -> list[Any]:
    """The place of the text of each cell in the pool; a list of places if it holds several."""
    return [_cell_places(cell, pool) for cell in cells]


def _cell_places(cell: object, pool: TextPool) -> int | list[int]:
    if isinstance(cell, str):  # nearly every cell, so it comes first
        return pool.place(cell)
    if cell is None:
        return ABSENT
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, list | tuple):
        return [pool.place(part if isinstance(part, str) else cell_text(part)) for part in cell]
    return ABSENT if is_missing(plain(cell)) else pool.place(cell_text(cell))


def parse_list_cell(cell: object) -> object:
    """The list that a cell holds as JSON text, as CSV files have it; any other cell as it is."""
    if not (isinstance(cell, str) and cell[:1] == "[" and cell[-1:] == "]"):
        return cell
    try:
        parsed = load_json(cell)
    except (ValueError, RecursionError):
        return cell
    return parsed if parsed and all(isinstance(part, str | dict) for part in parsed) else cell


def cell_text(value: object) -> str:
    """A value as text: whole numbers without decimals, dicts and lists as JSON."""
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
        return _json_text(value)
    return str(value)


def _json_text(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):  # keys of other types, circles, depth
        return str(value)[:_LONGEST_REPR]


def _nan_to_none(values: FloatArray) -> list[float | None]:
    missing = np.isnan(values)
    if not missing.any():
        numbers: list[float | None] = values.tolist()
        return numbers
    objects = values.astype(object)
    objects[missing] = None
    with_none: list[float | None] = objects.tolist()
    return with_none


def row_numbers(ids: pd.Index, page_ids: pd.Index) -> npt.NDArray[np.intp]:
    """The row of each id of the page among `ids`; -1 if it is not one of them."""
    return np.asarray(ids.get_indexer(page_ids), dtype=np.intp)
