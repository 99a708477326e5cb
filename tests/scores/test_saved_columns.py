"""Columns of details: what stands in a file, and that the description gives back what it loses."""

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from rageval_report.errors import DataError
from rageval_report.scores.saved_columns import (
    SavedColumn,
    are_same,
    changed_cells_notes,
    python_value,
    restore_column,
    save_column,
    text_cell,
)

IDS = ["q1", "q2", "q3"]


def objects(*values):
    return pd.Series(values, dtype=object)


@pytest.mark.parametrize("medium", ["text", "json", "arrow"])
@pytest.mark.parametrize(
    "column",
    [
        objects("", None, "x"),
        objects("None", "nan", " "),
        objects(math.nan, None, pd.NA),
        objects(True, None, False),
        objects(1, 2, None),
        objects(0.0, -0.0, math.nan),
        objects(date(2026, 8, 1), None, date(2025, 1, 2)),
        objects(datetime(2026, 8, 1, 9, 30, tzinfo=UTC), None, None),
        objects(time(9, 30), time(0), None),
        objects(timedelta(seconds=90), None, timedelta(0)),
        objects(pd.Timestamp("2026-08-01"), None, pd.NaT),
        objects(pd.Timedelta(seconds=90), None, None),
        objects(Decimal("1.50"), None, Decimal("0")),
        objects(["1", "x"], [], None),
        objects({"a": 1}, {"a": None}, {"b": [math.inf]}),
        pd.Series([1.5, math.nan, -0.0]),
        pd.Series([2**63 - 1, 0, -1]),
        pd.Series([True, False, True]),
        pd.Series([0.1, math.nan, 3.0], dtype="float32"),
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([True, None, False], dtype="boolean"),
        pd.Series(["a", None, ""], dtype="string"),
        pd.Series(["b", None, "a"], dtype=pd.CategoricalDtype(["b", "a", "c"], ordered=True)),
        pd.Series(pd.to_datetime(["2026-08-01", None, "2025-01-02"])),
    ],
    ids=lambda column: f"{column.dtype} {column[0]!r}",
)
def test_a_column_reads_back_with_its_values_and_its_type(column, medium):
    cells, saved = save_column(column, "topic", IDS, medium)
    again = restore_column(list(cells), saved, IDS)
    assert again.dtype == column.dtype
    assert are_same(list(map(python_value, again)), list(map(python_value, column)))
    # The description may be written as JSON and read on another day.
    document = SavedColumn.of_document(saved.to_document(), "topic")
    assert document.to_document() == saved.to_document()
    assert saved.n_changed == 0


@pytest.mark.parametrize(
    ("column", "medium", "cells", "rule"),
    [
        (objects("a", None, "007"), "text", ["a", None, "007"], "plain"),
        (objects(1, None, 2), "text", ["1", None, "2"], "json"),
        (objects("1", None, 2), "text", ["1", None, "2"], "json"),
        (objects(1, None, 2), "json", [1, None, 2], "plain"),
        (objects([1], None, {"a": 2}), "text", ["[1]", None, '{"a": 2}'], "json"),
        (objects([1], None, {"a": 2}), "json", [[1], None, {"a": 2}], "plain"),
        (objects({"a": 1}, {"b": 2}, None), "arrow", ['{"a": 1}', '{"b": 2}', None], "json"),
        (objects({"a": 1}, {"a": 2}, None), "arrow", [{"a": 1}, {"a": 2}, None], "plain"),
        (objects(date(2026, 8, 1), None, None), "json", ["2026-08-01", None, None], "date"),
        (objects(1.5, date(2026, 8, 1), None), "text", ["1.5", "2026-08-01", None], "json"),
    ],
)
def test_any_program_can_read_the_cells(column, medium, cells, rule):
    written, saved = save_column(column, "topic", IDS, medium)
    assert written.tolist() == cells
    assert saved.cells == rule


@pytest.mark.parametrize("medium", ["text", "json", "arrow"])
def test_columns_of_numbers_are_not_copied(medium):
    column = pd.Series([1, 2, 3])
    cells, saved = save_column(column, "n", IDS, medium)
    assert cells is column
    assert saved.to_document() == {"name": "n", "dtype": "int64"}
    assert restore_column(column, saved, IDS) is column


def test_floats_are_cells_of_json_because_it_has_no_nan():
    cells, saved = save_column(pd.Series([0.5, math.nan, math.inf]), "n", IDS, "json")
    assert cells.tolist() == [0.5, None, None]
    assert saved.exceptions == (({"$float": "inf"}, ("q3",)),)


def test_the_most_frequent_kind_of_blank_is_what_blank_cells_stand_for():
    cells, saved = save_column(objects(None, pd.NA, pd.NA), "topic", IDS, "text")
    assert cells.tolist() == [None, None, None]
    assert saved.blank == {"$missing": "NA"}
    assert saved.exceptions == ((None, ("q1",)),)


def test_equal_values_that_a_cell_does_not_show_are_listed_once():
    column = objects("", "", None)
    _, saved = save_column(column, "topic", IDS, "text")
    assert saved.exceptions == (("", ("q1", "q2")),)
    # In another order of rows, or with rows left out, the ids still say which cells are meant.
    assert restore_column([None, None], saved, ["q3", "q1"]).tolist() == [None, ""]


def test_a_cell_that_was_edited_since_keeps_what_it_says_now():
    _, saved = save_column(objects("", "a", "b"), "topic", IDS, "text")
    assert restore_column(["new", "a", "b"], saved, IDS).tolist() == ["new", "a", "b"]


def test_values_that_no_file_can_hold_are_counted_and_noted():
    _, saved = save_column(objects(1 + 2j, "x", 3j), "topic", IDS, "json")
    assert saved.n_changed == 2
    kept = SavedColumn("other")
    assert changed_cells_notes([kept]) == []
    assert changed_cells_notes([saved, kept, saved]) == [
        "some cells held values that no file can hold and are read as texts; details and numbers "
        "of cells: 'topic' (2), 'topic' (2)"
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (pd.NaT, None),
        (math.nan, None),
        ("", ""),
        (0, "0"),
        (("é", None), '["é", null]'),
        ({1: math.inf}, '{"1": null}'),
        (np.array([1.5]), "[1.5]"),
        (date(2026, 8, 1), "2026-08-01"),
    ],
)
def test_a_cell_is_a_text_for_any_reader(value, text):
    assert text_cell(value) == text


def test_the_description_holds_only_what_is_unusual():
    assert SavedColumn("a").to_document() == {"name": "a", "dtype": "object"}
    saved = SavedColumn(
        *("a", "category", "json", {"$missing": "NA"}, (("", ("q1",)),)),
        categories=("x", None),
        is_ordered=True,
        n_changed=3,
    )
    assert saved.to_document() == {
        "name": "a",
        "dtype": "category",
        "cells": "json",
        "blank": {"$missing": "NA"},
        "exceptions": [["", ["q1"]]],
        "categories": ["x", None],
        "ordered": True,
        "changed": 3,
    }
    again = SavedColumn.of_document(saved.to_document(), "b")
    assert vars(again) == vars(saved)


def test_a_description_without_parts_is_a_column_of_objects():
    assert vars(SavedColumn.of_document({}, "b")) == vars(SavedColumn("b"))


@pytest.mark.parametrize(
    "document",
    [
        [],
        "text",
        {"name": 1},
        {"dtype": None},
        {"cells": 1},
        {"cells": "unknown"},
        {"changed": "1"},
        {"categories": "ab"},
        {"exceptions": {}},
        {"exceptions": ["ab"]},
        {"exceptions": [["x"]]},
        {"exceptions": [["x", ["q1"], 1]]},
        {"exceptions": [["x", "q1"]]},
        {"exceptions": [["x", ["q1", 2]]]},
        {"exceptions": [("x", ["q1"])]},
        {"exceptions": [[{"$new": 1}, []]]},
        {"blank": {"$new": 1}},
        {"categories": [{"$new": 1}]},
    ],
)
def test_a_damaged_description_is_refused_with_the_name_of_the_detail(document):
    with pytest.raises(DataError, match=r"detail 'topic'|is not a value that this version"):
        SavedColumn.of_document(document, "topic")


def test_cells_that_do_not_fit_the_description_stay_as_they_are():
    numbers = SavedColumn("n", "Int64")
    assert restore_column([1, "two"], numbers, IDS[:2]).tolist() == [1, "two"]
    dates = SavedColumn("n", "object", "date")
    assert restore_column(["2026-08-01", "x", 5], dates, IDS).tolist() == [
        date(2026, 8, 1),
        "x",
        5,
    ]
    words = SavedColumn("n", "object", "json")
    assert restore_column(["NaN", "True", "1.0"], words, IDS).tolist() == ["NaN", True, 1.0]
    unknown = SavedColumn("n", "no such type")
    assert restore_column(["a"], unknown, IDS[:1]).tolist() == ["a"]


def test_blank_cells_of_objects_become_what_they_stood_for():
    read = objects("a", math.nan, None)
    assert restore_column(read, SavedColumn("topic"), IDS).tolist() == ["a", None, None]
    missing = restore_column(read, SavedColumn("topic", blank={"$missing": "NA"}), IDS)
    assert missing[1] is missing[2] is pd.NA
