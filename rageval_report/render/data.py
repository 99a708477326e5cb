"""JSON, CSV, TSV and JUnit XML: results for programs."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd

from rageval_report.files.outgoing_text import neutralise_formula
from rageval_report.render.cell_text import cell, is_missing, plain
from rageval_report.render.display import clean, shorten
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


_KINDS = {"not evaluated": "error", "undecided": "skipped"}
_LONGEST_NAME = 300
_LONGEST_WHY = 1000
# Columns that have an attribute or element of their own in a case, so its text leaves them out.
_OWN_ELEMENTS = frozenset(("passed", "pipeline", "state", "why"))


def render_junit(result: Result) -> str:
    """The result as JUnit XML, one case per row."""
    frame = result.frame
    named = [name for name in frame.index.names if name is not None]
    rows = (frame.reset_index(named) if named else frame).to_dict("records")
    cases = [_junit_case({str(key): value for key, value in row.items()}, result) for row in rows]
    suite = ET.Element("testsuite", {"name": _junit_attribute(result.title), **_counts(cases)})
    properties = ET.SubElement(suite, "properties")
    ET.SubElement(
        properties, "property", name="signature", value=_junit_attribute(result.signature)
    )
    suite.extend(cases)
    if result.notes:
        ET.SubElement(suite, "system-out").text = "\n".join(map(clean, result.notes))
    suites = ET.Element("testsuites", {"name": "rageval-report", **_counts(cases)})
    suites.append(suite)
    ET.indent(suites)
    xml = ET.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{xml}\n'


def _counts(cases: list[ET.Element]) -> dict[str, str]:
    counts = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": sum(case.find("error") is not None for case in cases),
        "skipped": sum(case.find("skipped") is not None for case in cases),
        "time": 0,
    }
    return {name: str(n) for name, n in counts.items()}


def _junit_case(row: Mapping[str, object], result: Result) -> ET.Element:
    first = "rule" if "rule" in row else next(iter(row), "")
    case = ET.Element(
        "testcase",
        classname=_junit_attribute(str(row.get("pipeline", result.title))),
        name=_junit_attribute(str(row.get(first, ""))),
        time="0",
    )
    why = shorten(str(row.get("why", "")), _LONGEST_WHY)
    fields = (name for name in row if name not in (first, *_OWN_ELEMENTS))
    details = [f"{name}: {cell(row[name])}" for name in fields if not is_missing(row[name])]
    text = "\n".join([*([why] if why else []), *map(clean, details)])
    if row.get("passed", True):
        ET.SubElement(case, "system-out").text = text
    else:
        state = str(row.get("state", "failed"))
        kind = _KINDS.get(state, "failure")
        element = ET.SubElement(case, kind, message=why)
        element.text = text
        if kind != "skipped":  # which has no type in the schema of Jenkins
            element.set("type", state)
    return case


def _junit_attribute(text: str) -> str:
    return shorten(text, _LONGEST_NAME)
