"""Every format, and what programs read: CSV, JSON and JUnit, each by a reader of its own."""

import csv
import io
import json
import math
import subprocess
import sys
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.errors import UnknownOptionError
from rageval_report.reports.data import render_csv, render_json
from rageval_report.reports.formats import RENDERERS, render, renderer_for, save
from rageval_report.results import Result

RESULT = Result(
    "Means",
    pd.DataFrame({"metric": ["mrr"] * 250, "mean": [1 / 3] * 250, "answer": ["=ü再"] * 250}),
    {"seed": 0},
)


@pytest.mark.parametrize("name", sorted(RENDERERS))
def test_every_format_renders(name):
    text = render(RESULT, name)
    assert "mrr" in text


SUFFIXES = (".csv", ".htm", ".html", ".json", ".md", ".tex", ".tsv", ".txt", ".xml")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_suffix_is_written_whole_and_as_utf8(suffix, tmp_path):
    path = save(RESULT, tmp_path / f"means{suffix}")
    text = path.read_bytes().decode("utf-8")
    assert text.count("mrr") == 250
    assert "ü再" in text
    assert text.endswith("\n")
    assert "\r" not in text


def test_listing_the_formats_loads_no_renderer_and_no_pandas():
    program = (
        "import sys\n"
        "from rageval_report.reports.formats import RENDERERS\n"
        "print([entry.cli_name for entry in RENDERERS.values() if entry.suffixes][:3])\n"
        "print({'tabulate', 'pandas', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:2] == ["['table', 'markdown', 'html']", "set()"]


def test_a_file_is_whole_where_a_notebook_shows_some_rows():
    html = renderer_for("means.html")
    assert html is RENDERERS["html"]
    assert html(RESULT).count("mrr") == 50
    assert html.whole(RESULT).count("mrr") == 250


def test_an_unknown_option_names_the_format_and_the_nearest():
    message = r"format 'text' has no option 'max_row'\. Did you mean 'max_rows'\?"
    with pytest.raises(UnknownOptionError, match=message):
        render(RESULT, "text", max_row=3)
    with pytest.raises(TypeError, match=r"format 'json' has no option 'width'\. Its options: none"):
        render(RESULT, "json", width=80)


def test_several_texts_become_one_file():
    assert RENDERERS["text"].join_texts(["one\n", "two\n"]) == "one\n\n\ntwo"
    assert json.loads(RENDERERS["json"].join_texts(['{"a": 1}', '{"b": 2}\n'])) == [
        {"a": 1},
        {"b": 2},
    ]
    page = RENDERERS["html"].join_texts([RENDERERS["html"].whole(RESULT)] * 2)
    assert page.count("<body") == page.count("</body>") == 1
    assert page.count("mrr") == 500


FLOATS = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, 123456789.123456789, float("nan")]


def rows_of(text, **options):
    return list(csv.reader(io.StringIO(text, newline=""), **options))


def csv_of(frame, **options):
    return render_csv(Result("t", frame), **options)


def test_csv_is_written_as_laid_out_by_hand():
    frame = pd.DataFrame(
        {"score": [0.1, np.nan], "ok": [True, False], "ids": [["d1", 'd"2'], {"a": np.int64(1)}]},
        index=pd.Index(["q1", "q,2"], name="query_id"),
    )
    assert csv_of(frame) == (
        'query_id,score,ok,ids\nq1,0.1,True,"[""d1"", ""d\\""2""]"\n"q,2",,False,"{""a"": 1}"\n'
    )


def test_every_float_comes_back_as_it_was():
    back = [row[0] for row in rows_of(csv_of(pd.DataFrame({"x": FLOATS})))[1:]]
    assert [math.nan if text == "" else float(text) for text in back] == pytest.approx(
        FLOATS, rel=0, abs=0, nan_ok=True
    )
    assert math.copysign(1, float(back[4])) == -1


def test_pandas_reads_back_the_same_frame():
    frame = pd.DataFrame(
        {"x": FLOATS, "n": range(7), "t": ["a\nb", "c\rd", "e\r\nf", '"', ",", "ü再", " g "]}
    )
    text = csv_of(frame)
    # Before pandas 3 a float read back is off by an ulp unless pandas is asked not to be.
    exact = {} if int(pd.__version__.partition(".")[0]) >= 3 else {"float_precision": "round_trip"}
    back = pd.read_csv(io.StringIO(text, newline=""), **exact)
    pd.testing.assert_frame_equal(back, frame, check_exact=True)


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1+1", "-", "-inf"]
)
def test_formulas_are_neutralised_on_request(text):
    frame = pd.DataFrame({text: [text]})
    assert rows_of(csv_of(frame, neutralise_formulas=True)) == [[f"'{text}"]] * 2
    assert rows_of(csv_of(frame)) == [[text]] * 2


def test_json_holds_everything_and_no_number_that_json_does_not_know():
    frame = pd.DataFrame({"x": [0.1, np.nan, np.inf], "t": ["ü", None, "再"]})
    text = render_json(Result("Tïtle", frame, {"seed": 0}, ("note",)))
    assert "Tïtle" in text
    told = json.loads(text, parse_constant=pytest.fail)
    assert told["rows"] == [{"x": 0.1, "t": "ü"}, {"x": None, "t": None}, {"x": None, "t": "再"}]
    assert (told["settings"], told["notes"]) == ({"seed": 0}, ["note"])


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
