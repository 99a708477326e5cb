from __future__ import annotations

import io
import sys
import zipfile

import numpy as np
import pytest

from rageval_report.errors import (
    DataError,
    MissingDependencyError,
    ReaderError,
    UnknownNameError,
)
from rageval_report.readers import Source, read, recognise

openpyxl = pytest.importorskip("openpyxl")

ROWS = [
    ["query_id", "answer", "recall"],
    ["001", "None", 0.5],
    ["NA", "NA", None],
    ["null", None, 1],
]


def workbook_bytes(**sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def test_a_sheet_is_read_with_its_texts_as_they_are(write):
    path = write(workbook_bytes(scores=ROWS), "scores")
    assert recognise(Source(path)) == "excel"
    [found] = read(path)
    assert found.frame["query_id"].tolist() == ["001", "NA", "null"]
    assert found.frame["answer"].tolist()[:2] == ["None", "NA"]
    assert np.array_equal(found.frame["recall"], [0.5, np.nan, 1], equal_nan=True)
    assert found.notes == ()


def test_the_first_of_several_sheets_is_read_with_a_note(write):
    [found] = read(write(workbook_bytes(a=ROWS, b=ROWS[:2])))
    assert len(found.frame) == 3
    assert found.notes == ("read from sheet 'a'; the other sheets are 'b'",)


@pytest.mark.parametrize("sheet", ["b", 1])
def test_a_sheet_may_be_chosen(write, sheet):
    [found] = read(write(workbook_bytes(a=ROWS, b=ROWS[:2])), sheet=sheet)
    assert len(found.frame) == 1
    assert found.notes == ()


def test_a_sheet_that_is_not_there_is_named(write):
    path = write(workbook_bytes(scores=ROWS))
    with pytest.raises(UnknownNameError, match=r"no sheet is named 'score'\. Did you mean"):
        read(path, sheet="score")
    with pytest.raises(DataError, match="from 0 to 0; got 1"):
        read(path, sheet=1)


def test_blank_rows_and_columns_are_passed_over(write):
    rows = [[], [None, "id", None, "recall"], [], [None, "a", None, 1], []]
    assert read(write(workbook_bytes(a=rows)))[0].frame.to_dict("list") == {
        "id": ["a"],
        "recall": [1],
    }


def test_errors_of_formulas_are_missing(write):
    rows = [["id", "recall"], ["a", 1], ["b", "#DIV/0!"], ["c", "#N/A"]]
    [found] = read(write(workbook_bytes(a=rows)))
    assert np.array_equal(found.frame["recall"], [1, np.nan, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    ("rows", "message"),
    [([], "the sheet 'a' is empty"), ([["id", "recall"]], "has column names, but no rows")],
)
def test_an_empty_sheet_is_refused(write, rows, message):
    with pytest.raises(ReaderError, match=message):
        read(write(workbook_bytes(a=rows)))


@pytest.mark.parametrize("share", [0.4, 0.9])
def test_a_cut_workbook_is_called_cut(write, share):
    data = workbook_bytes(a=ROWS)
    with pytest.raises(ReaderError, match=r"cut|no reader recognises this file"):
        read(write(data[: int(len(data) * share)]))


def test_a_workbook_with_a_broken_sheet_is_refused(write):
    with zipfile.ZipFile(io.BytesIO(workbook_bytes(a=ROWS))) as whole:
        members = {name: whole.read(name) for name in whole.namelist()}
    members["xl/worksheets/sheet1.xml"] = members["xl/worksheets/sheet1.xml"][:200]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as broken:
        for name, content in members.items():
            broken.writestr(name, content)
    with pytest.raises(ReaderError, match=r"cannot be read; is it cut"):
        read(write(buffer.getvalue()))


def test_another_zip_archive_is_no_workbook(write):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("scores.csv", "query_id,recall\n")
    with pytest.raises(ReaderError, match="it looks like a zip archive"):
        read(write(buffer.getvalue()))
    with pytest.raises(ReaderError, match="cannot be read"):
        read(write(buffer.getvalue()), reader="excel")


def test_a_workbook_that_swells_beyond_measure_is_refused(write, monkeypatch):
    monkeypatch.setattr("rageval_report.readers.binary_tables._HARMLESS", 1 << 16)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"0" * (1 << 22))
    with pytest.raises(ReaderError, match="expands to more than 300 times"):
        read(write(buffer.getvalue()))


def test_an_old_workbook_is_called_by_its_name(write):
    with pytest.raises(ReaderError, match=r"looks like an old Excel workbook \(\.xls\)"):
        read(write(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 100))


def test_a_missing_openpyxl_names_the_extra(write, monkeypatch):
    path = write(workbook_bytes(a=ROWS))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingDependencyError, match=r'install "rageval-report\[excel\]"'):
        read(path)


@pytest.mark.parametrize("name", [0.5, "0.25", "-.5"])
def test_a_first_row_of_data_is_no_header(write, name):
    content = workbook_bytes(one=[["q1", "Paris", name], ["q2", "Rome", 1]])
    with pytest.raises(ReaderError, match=f"expected names of columns; found .*'{name}'"):
        read(write(content))


def test_a_sheet_is_parsed_once_to_be_recognised_and_read(write, monkeypatch):
    library, times = openpyxl.load_workbook, []

    def count(*args, **options):
        times.append(1)
        return library(*args, **options)

    monkeypatch.setattr(openpyxl, "load_workbook", count)
    path = write(workbook_bytes(one=ROWS, two=[["query_id", "mrr"], ["q1", 0.5], ["q2", 1.0]]))
    [run] = read(path)
    assert run.frame["recall"].notna().any()
    assert times == [1]
    [other] = read(path, sheet="two")
    assert other.frame["mrr"].tolist() == [0.5, 1.0]
