"""A result as JUnit XML, which Jenkins, GitLab, GitHub's actions and most other CI systems show."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree as ET

from rageval_report.render.cell_text import cell, is_missing
from rageval_report.render.display import clean, shorten
from rageval_report.results import Result

_KINDS = {"not evaluated": "error", "undecided": "skipped"}
_LONGEST_NAME = 300
_LONGEST_WHY = 1000
# Columns that have an attribute or element of their own in a case, so its text leaves them out.
_OWN_ELEMENTS = frozenset(("passed", "pipeline", "state", "why"))


def render(result: Result) -> str:
    """The result as JUnit XML, one case per row."""
    frame = result.frame
    named = [name for name in frame.index.names if name is not None]
    rows = (frame.reset_index(named) if named else frame).to_dict("records")
    cases = [_case({str(key): value for key, value in row.items()}, result) for row in rows]
    suite = ET.Element("testsuite", {"name": _attribute(result.title), **_counts(cases)})
    properties = ET.SubElement(suite, "properties")
    ET.SubElement(properties, "property", name="signature", value=_attribute(result.signature))
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


def _case(row: Mapping[str, object], result: Result) -> ET.Element:
    first = "rule" if "rule" in row else next(iter(row), "")
    case = ET.Element(
        "testcase",
        classname=_attribute(str(row.get("pipeline", result.title))),
        name=_attribute(str(row.get(first, ""))),
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


def _attribute(text: str) -> str:
    return shorten(text, _LONGEST_NAME)
