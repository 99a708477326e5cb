"""JSON, CSV, TSV and JUnit XML: results for programs."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from rageval_report.files.outgoing_text import neutralise_formula
from rageval_report.reports.cells import cell, clean, is_missing, plain, shorten
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
    frame = result.frame
    levels = [level for level, name in enumerate(frame.index.names) if name is not None]
    names = [str(frame.index.names[level]) for level in levels] + list(map(str, frame.columns))
    columns = [
        *(frame.index.get_level_values(level) for level in levels),
        *(frame.iloc[:, place] for place in range(frame.shape[1])),
    ]
    rows = zip(*(map(_field, column.tolist()) for column in columns), strict=True)
    lines = [names, *rows]
    if neutralise_formulas:
        lines = [
            [neutralise_formula(value) if isinstance(value, str) else value for value in line]
            for line in lines
        ]
    # Written row by row, because only the end of a row becomes a line feed.
    written: list[str] = []
    file: Any = SimpleNamespace(write=lambda line: written.append(line.removesuffix("\r\n") + "\n"))
    csv.writer(file, delimiter=delimiter, lineterminator="\r\n").writerows(lines)
    return "".join(written)


render_tsv = partial(render_csv, delimiter="\t")


def _field(value: object) -> Any:
    if isinstance(value, str | float | int):  # nearly every cell, so it comes first
        # Only NaN differs from itself.
        return value if value == value else None
    value = _jsonable(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def _jsonable(value: object) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _jsonable(part) for key, part in value.items()}
    if isinstance(value, set | frozenset):
        # A set of texts has another order in every process; a file must not.
        value = sorted(value, key=str)
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
    kinds = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    n = {name: sum(case.find(kind) is not None for case in cases) for name, kind in kinds.items()}
    counts = {key: str(value) for key, value in {"tests": len(cases), **n, "time": 0}.items()}
    suites = ET.Element("testsuites", {"name": "rageval-report", **counts})
    suite = ET.SubElement(suites, "testsuite", {"name": _attribute(result.title), **counts})
    properties = ET.SubElement(suite, "properties")
    ET.SubElement(properties, "property", name="signature", value=_attribute(result.signature))
    suite.extend(cases)
    if result.notes:
        ET.SubElement(suite, "system-out").text = "\n".join(map(clean, result.notes))
    ET.indent(suites)
    xml = ET.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{xml}\n'


def _junit_case(row: Mapping[str, object], result: Result) -> ET.Element:
    first = "rule" if "rule" in row else next(iter(row), "")
    name, pipeline = str(row.get(first, "")), str(row.get("pipeline", result.title))
    attributes = {"classname": _attribute(pipeline), "name": _attribute(name), "time": "0"}
    case = ET.Element("testcase", attributes)
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


def _attribute(text: str) -> str:
    return shorten(text, _LONGEST_NAME)
