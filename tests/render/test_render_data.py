"""Witnesses: Python's json and csv modules, and pandas' own reader."""

import csv
import io
import json
import math

import numpy as np
import pandas as pd
import pytest

from rageval_report.render.data import render_csv, render_json
from rageval_report.results import Result

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
