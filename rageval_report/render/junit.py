"""A result as JUnit XML, which Jenkins, GitLab, GitHub's actions and most other CI systems show.

There is no official schema; what is written is the part on which all of them agree: suites, a suite
a result, a case a row, and in a case ``failure`` where a gate does not hold, ``error`` where it
could not be evaluated. GitLab leaves out messages in attributes, so the element's text has it all.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree as ET

from rageval_report.render.cells import cell, is_missing
from rageval_report.render.display import clean, shortened
from rageval_report.results import Result

_LONGEST_NAME = 300
_LONGEST_WHY = 1000
# What stands elsewhere in a case, so that its text need not say it again.
_TOLD_APART = frozenset(("passed", "pipeline", "state", "why"))


def render(result: Result) -> str:
    """The result as JUnit XML: a case a row.

    Parameters
    ----------
    result : Result
        Where it has a column ``passed``, as gates have, a row that is not passed is a failure, or
        an error if its ``state`` is "not evaluated"; its ``why`` is the message. The rows of any
        other result are cases that passed.

    Examples
    --------
    >>> import pandas as pd
    >>> gates = pd.DataFrame({"rule": ["mean(mrr) >= 0.8"], "passed": [False], "why": ["0.7"]})
    >>> print(render(Result("Gates", gates)).partition("<failure")[2].partition(">")[0])
     message="0.7" type="failed"
    """
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
    written = ET.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{written}\n'


def _counts(cases: list[ET.Element]) -> dict[str, str]:
    found = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": sum(case.find("error") is not None for case in cases),
        "skipped": 0,
        "time": 0,
    }
    return {name: str(n) for name, n in found.items()}


def _case(row: Mapping[str, object], result: Result) -> ET.Element:
    first = "rule" if "rule" in row else next(iter(row), "")
    case = ET.Element(
        "testcase",
        classname=_attribute(str(row.get("pipeline", result.title))),
        name=_attribute(str(row.get(first, ""))),
        time="0",
    )
    why = shortened(str(row.get("why", "")), _LONGEST_WHY)
    fields = (name for name in row if name not in (first, *_TOLD_APART))
    told = [f"{name}: {cell(row[name])}" for name in fields if not is_missing(row[name])]
    text = "\n".join([*([why] if why else []), *map(clean, told)])
    if row.get("passed", True):
        ET.SubElement(case, "system-out").text = text
    else:
        state = str(row.get("state", "failed"))
        kind = "error" if state == "not evaluated" else "failure"
        ET.SubElement(case, kind, message=why, type=state).text = text
    return case


def _attribute(text: str) -> str:
    return shortened(text, _LONGEST_NAME)
