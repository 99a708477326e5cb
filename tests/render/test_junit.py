"""JUnit XML, parsed again, against what Jenkins (its xUnit schema) and GitLab read of it."""

from xml.etree import ElementTree as ET

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.render import render
from rageval_report.results import Result

# By element: the attributes it must have, those it may have, and its children in order; from the
# schema of Jenkins' xUnit plug-in (junit-10.xsd) and GitLab's documentation of unit test reports.
SHAPE = {
    "testsuites": ({"tests", "failures", "errors"}, {"name", "time", "skipped"}, ["testsuite"]),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"skipped", "time"},
        ["properties", "testcase", "system-out"],
    ),
    "properties": (set(), set(), ["property"]),
    "property": ({"name", "value"}, set(), []),
    "testcase": ({"name", "classname"}, {"time"}, ["skipped", "error", "failure", "system-out"]),
    "skipped": (set(), {"message"}, []),
    "failure": (set(), {"message", "type"}, []),
    "error": (set(), {"message", "type"}, []),
    "system-out": (set(), set(), []),
}


def check_shape(element):
    needed, allowed, children = SHAPE[element.tag]
    assert needed <= set(element.attrib) <= needed | allowed
    tags = [child.tag for child in element]
    assert tags == sorted(tags, key=children.index)
    for child in element:
        check_shape(child)


def parsed(result):
    root = ET.fromstring(render(result, "junit"))
    check_shape(root)
    return root


def gates(*rows) -> Result:
    columns = ["rule", "passed", "state", "why", "pipeline", "value"]
    frame = pd.DataFrame(list(rows), columns=columns, dtype=object)  # may hold halves of characters
    return Result("Gates of v1", frame, {"seed": 0}, ("a note",))


PASSED = ("n(a) >= 1", True, "passed", "n(a) is 3", "v1", 3.0)
FAILED = ("mean(a) >= 0.8", False, "failed", "mean(a) is 0.7", "v1", 0.7)
UNKNOWN = ("mean(b) >= 0.8", False, "not evaluated", "nothing is scored", "v1", float("nan"))


def test_a_gate_that_fails_says_why_in_the_attribute_and_in_the_text():
    failure = parsed(gates(FAILED)).find(".//failure")
    assert failure.get("message") == "mean(a) is 0.7"
    assert failure.text.splitlines() == ["mean(a) is 0.7", "value: 0.700"]


def test_what_could_not_be_evaluated_is_an_error_and_no_failure():
    case = parsed(gates(UNKNOWN)).find(".//testcase")
    assert [child.tag for child in case] == ["error"]
    assert case[0].get("type") == "not evaluated"
    assert "value" not in case[0].text


@pytest.mark.parametrize(
    "text", ["\x00", "\x1b[31m", "\ud800", "\ufffe", "]]>", "<a>&\"'", "a\r\nb"]
)
def test_what_xml_forbids_is_replaced(text):
    row = (f"mean({text}) >= 1", False, "failed", f"why {text}", text, 1.0)
    case = parsed(gates(row)).find(".//testcase")
    assert case.get("name").startswith("mean(")
    assert case[0].get("message").startswith("why")


@given(st.lists(st.tuples(st.text(max_size=20), st.booleans(), st.text(max_size=20)), max_size=4))
def test_any_texts_make_xml_that_parses(rows):
    result = gates(*((rule, ok, "failed", why, why, 0.0) for rule, ok, why in rows))
    root = parsed(result)
    assert root.get("failures") == str(sum(not ok for _, ok, _ in rows))


def test_an_undecided_gate_is_skipped_with_its_message():
    undecided = ("ci_low(a) >= 0.8", False, "undecided", "not enough queries to tell", "v1", 0.7)
    root = parsed(gates(PASSED, undecided))
    assert (root.get("skipped"), root.get("failures"), root.get("errors")) == ("1", "0", "0")
    skipped = root.find(".//skipped")
    assert skipped.get("message") == "not enough queries to tell"
    assert skipped.text.startswith("not enough queries to tell")
