"""A result as data for other programs: JSON and delimited text. Nothing is rounded or cut."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.files.outgoing_text import neutralise_formula
from rageval_report.render.cell_text import is_missing, plain
from rageval_report.results import Result

_SURROGATE = re.compile("[\ud800-\udfff]")


def render_json(result: Result) -> str:
    """The whole result as JSON; NaN and infinities are null."""
    text = json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False, indent=2)
    # A lone surrogate cannot be written as UTF-8; every parser reads its escape as the same text.
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def join_json(texts: Sequence[str]) -> str:
    r"""The texts of several results as one JSON array."""
    return "[" + ",\n".join(texts) + "]"


def render_csv(result: Result, *, delimiter: str = ",", neutralise_formulas: bool = False) -> str:
    """The whole table as delimited text at full precision, the named index first."""
    names, columns = _named_columns(result.frame)
    if neutralise_formulas:
        names = [neutralise_formula(name) for name in names]
        columns = [
            [neutralise_formula(value) if isinstance(value, str) else value for value in column]
            for column in columns
        ]
    lines = _CsvLines()
    writer = csv.writer(lines, delimiter=delimiter, lineterminator=_CsvLines.end)
    writer.writerow(names)
    writer.writerows(zip(*columns, strict=True))
    return "".join(lines.written)


render_tsv = partial(render_csv, delimiter="\t")


class _CsvLines:
    """The output of a csv writer, row by row."""

    end = "\r\n"

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, line: str) -> None:
        self.written.append(line.removesuffix(self.end) + "\n")


def _named_columns(frame: pd.DataFrame) -> tuple[list[str], list[list[Any]]]:
    """The names and values of the named index levels, then of the columns, for a csv writer."""
    levels = [level for level, name in enumerate(frame.index.names) if name is not None]
    names = [str(frame.index.names[level]) for level in levels]
    columns = [
        *(frame.index.get_level_values(level) for level in levels),
        *(frame.iloc[:, place] for place in range(frame.shape[1])),
    ]
    fields = [[_field(value) for value in column.tolist()] for column in columns]
    return [*names, *map(str, frame.columns)], fields


def _field(value: object) -> Any:
    if isinstance(value, str | float | int):  # nearly every cell, so it comes first
        # Only NaN differs from itself.
        return value if value == value else None
    value = plain(value)
    if is_missing(value):
        return None
    if isinstance(value, Mapping | list | tuple | set | frozenset | np.ndarray):
        return json.dumps(_jsonable(value), ensure_ascii=False)
    return value


def _jsonable(value: object) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _jsonable(part) for key, part in value.items()}
    if isinstance(value, set | frozenset):
        # A set of texts has another order in every process; a file must not.
        return [_jsonable(part) for part in sorted(value, key=str)]
    if isinstance(value, list | tuple | np.ndarray):
        return [_jsonable(part) for part in value]
    value = plain(value)
    if is_missing(value):
        return None
    return value if isinstance(value, bool | int | float | str) else str(value)
