"""What cells say, by the table of words in the module and by arithmetic."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.scores import score_table
from rageval_report.scores.cells import (
    CellColumn,
    count_numbers,
    read_cell,
    read_cells,
)
from rageval_report.scores.states import FAILED, MISSING, NOT_APPLICABLE, SCORED


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        (0.83, 0.83),
        ("0.83", 0.83),
        (" 1e-3 ", 0.001),
        (np.float32(0.5), 0.5),
        (Decimal("0.1"), 0.1),
        (True, 1.0),
        (np.bool_(False), 0.0),
        ("83 %", 0.83),
        ("83%", 0.83),
        ("7%", 0.07),
        ("4/5", 0.8),
        ("8/10", 0.8),
        ("3 / 4", 0.75),
        ("PASS", 1.0),
        ("fail", 0.0),
        ("Correct", 1.0),
        ("0.9999999999", 0.9999999999),
        ({"score": 0.5, "reason": "half"}, 0.5),
        ({"value": "4/5"}, 0.8),
        ('{"score": 0.25, "reason": "a quarter"}', 0.25),
        ("{'score': 1, 'explanation': None}", 1.0),
    ],
)
def test_what_people_write_for_a_score_is_read(cell, number):
    read = read_cell(cell)
    assert read.number == number
    assert read.state == SCORED
    assert read.is_read


@pytest.mark.parametrize(
    ("cell", "state"),
    [
        (None, MISSING),
        (math.nan, MISSING),
        (pd.NA, MISSING),
        (pd.NaT, MISSING),
        ("", MISSING),
        ("None", MISSING),
        ("(Failed)", FAILED),
        ("ERROR", FAILED),
        ("n/a", NOT_APPLICABLE),
        ({"score": None, "error": "timeout"}, FAILED),
        ({"score": None}, MISSING),
    ],
)
def test_what_frameworks_write_for_no_score_has_its_state(cell, state):
    read = read_cell(cell)
    assert math.isnan(read.number)
    assert read.state == state
    assert read.is_read


@pytest.mark.parametrize(
    "cell",
    [
        *(
            "good",
            "1 000 0",
            "1,5,5",
            "6/5",
            "1/0",
            "9 (1-5)",
            "4 (5-1)",
            "{'score': __import__('os')}",
        ),
        *([0.5, 1.0], {"other": 1}, {"score": {"score": 1}}, "{" * 50_000, object()),
        *(10**400, Decimal("sNaN")),
    ],
)
def test_anything_else_failed_with_its_text_as_the_reason(cell):
    read = read_cell(cell)
    assert math.isnan(read.number)
    assert read.state == FAILED
    assert not read.is_read
    assert read.reason is not None
    assert read.reason[:20] == str(cell)[:20]
    assert len(read.reason) <= 500


def test_failed_is_a_score_beside_passed_and_none_beside_numbers():
    assert read_cells(["passed", "failed"]).numbers.tolist() == [1.0, 0.0]
    beside_numbers = read_cells(["0.5", "failed"])
    assert math.isnan(beside_numbers.numbers[1])
    assert beside_numbers.states[1] == FAILED


def test_letters_are_scores_where_all_cells_are_letters():
    read = read_cells(["C", "I", "P", "N", ""])
    np.testing.assert_equal(read.numbers, [1.0, 0.0, 0.5, 0.0, math.nan])
    assert read.words == {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
    assert read_cells(["C", "0.5"]).unread == [0]


@given(st.recursive(st.none() | st.floats() | st.text() | st.booleans(), st.lists))
def test_every_cell_is_a_number_or_has_a_state(cell):
    read = read_cell(cell)
    assert (read.state == SCORED) == (not math.isnan(read.number))


@given(st.floats(allow_nan=False))
def test_numbers_are_read_to_the_last_bit(number):
    assert read_cell(number).number == read_cell(repr(number)).number == number


# -- one cell


@pytest.mark.parametrize("cell", ["< 0.5", "1:30", "4 (1-5)", [[0.5]], {"error": " "}])
def test_limits_clocks_and_scales_of_one_step_are_no_scores(cell):
    assert not read_cell(cell).is_read


# -- the words of a column


def test_y_and_n_are_scores_only_together_with_a_y():
    assert read_cells(["y", "N", "Y"]).numbers.tolist() == [1.0, 0.0, 1.0]
    assert read_cells(["n", "n"]).unread == [0, 1]
    assert read_cells(["y", "n", "maybe"]).unread == [0, 1, 2]


# -- guesses: columns of which nobody said that they are metrics


@pytest.mark.parametrize(
    ("cells", "counts"),
    [
        (["1,05", "2,5"], (2, 0)),  # decimals that begin with 0: no list of documents
        (["0,5", "2,5"], (2, 0)),
        (["-,5", "2,5"], (2, 0)),
        (["1.234,5", "2,5"], (2, 0)),
        (["1,5 %", "2,5"], (2, 0)),
        (["1,2", "3,4"], (0, 2)),
        (["1,050", "1,2"], (1, 1)),  # 1050, which does not say how to read 1,2
        (["4/5", "3/5"], (2, 0)),
        (["4/5", "3/4"], (0, 2)),
        (["4/11", "3/11"], (0, 2)),
        (["40/100"], (1, 0)),
        (["1:30"], (0, 1)),
        (["< 5"], (0, 1)),
        (["yes", "no"], (0, 2)),
        (["pass", "fail", "true"], (3, 0)),
        (["", None, "n/a", math.nan], (0, 0)),
        (["(Failed)", "0.5"], (1, 0)),
        ([[0.5], (1,), np.array([1])], (0, 3)),
        ([{"score": 1}, {"passed": True}], (2, 0)),
        ([{"value": 1}, {"other": 1}], (0, 2)),
        ([{"value": 1, "reason": "x"}], (1, 0)),
        ([pd.Timedelta(seconds=3)], (0, 1)),
        ([True, 1, 0.5], (3, 0)),
    ],
)
def test_cells_are_counted_as_scores_or_as_texts(cells, counts):
    assert count_numbers(cells) == counts


def table_of(cells, name="my_metric", **options):
    ids = [f"q{i}" for i in range(len(cells))]
    return score_table({"query_id": ids, "recall": [1.0] * len(cells), name: cells}, **options)


@pytest.mark.parametrize(
    ("name", "cells", "numbers"),
    [
        ("latency", [pd.Timedelta("1.5s"), pd.Timedelta("250ms")], [1.5, 0.25]),
        ("latency_ms", [pd.Timedelta("1.5s"), None], [1500.0, math.nan]),
        ("my_metric", [np.float32(0.5), Decimal("0.25")], [0.5, 0.25]),
        ("faithfulness", [[0.5], np.array([1.0])], [0.5, 1.0]),
    ],
)
def test_cells_of_other_types_are_read(name, cells, numbers):
    np.testing.assert_array_equal(table_of(cells, name).scores[name], numbers)


def test_moments_are_no_scores():
    with pytest.raises(DataError, match=r"must hold numbers; got '2025-03-05 00:00:00' at 'q1'"):
        table_of(["0.5", pd.Timestamp("2025-03-05"), "1"])
    assert "happened" in table_of(pd.to_datetime(["2025-11-03", "2025-11-04"]), "happened").details


def test_objects_become_scores_with_states_reasons_and_their_other_fields():
    cells = [{"score": 0.5, "reason": "half", "claims": 4}, {"score": None, "error": "timeout"}]
    table = table_of([*cells, None])
    np.testing.assert_array_equal(table.scores["my_metric"], [0.5, math.nan, math.nan])
    assert table.details["my_metric_state"].tolist() == ["scored", "failed", "missing"]
    assert table.details["my_metric_reason"].tolist() == ["half", "timeout", None]
    assert table.details["my_metric_details"].tolist() == [{"claims": 4}, None, None]


# -- properties


def write_comma(text):
    return text.replace(".", ",")


def group(text, separator, point="."):
    """Digits in groups of three, as ``format`` writes them, with other signs."""
    written = f"{Decimal(text):,f}"
    return written.replace(".", "P").replace(",", separator).replace("P", point)


# The witnesses of each convention: how a number is written, and nothing else.
CONVENTIONS = {
    "plain": str,
    "decimal comma": write_comma,
    "1,234.5": lambda text: group(text, ","),
    "1.234,5": lambda text: group(text, ".", ","),
    "1 234,5": lambda text: group(text, "\u202f", ","),
    "1'234.5": lambda text: group(text, "'"),
    "full width": lambda text: text.translate({ord(c): ord(c) + 0xFEE0 for c in "0123456789.-"}),
    "minus": lambda text: text.replace("-", "\u2212"),
    "plus": lambda text: text if text.startswith("-") else f"+{text}",
    "milliseconds": lambda text: f"{text} ms",
}
# Two decimals, the second not 0, so that a number in any convention has one reading.
NUMBERS = st.lists(
    st.integers(-(10**9), 10**9).map(
        lambda n: f"{Decimal(n * 10 + (1 if n >= 0 else -1)) / 100:.2f}"
    ),
    min_size=1,
    max_size=8,
)


@given(numbers=NUMBERS, convention=st.sampled_from(sorted(CONVENTIONS)))
def test_one_convention_for_all_cells_gives_the_same_scores(numbers, convention):
    cells = [CONVENTIONS[convention](text) for text in numbers]
    parsed = read_cells(cells, CellColumn("latency_ms"))
    assert parsed.numbers.tolist() == [float(text) for text in numbers]
    assert not parsed.unread


@given(shares=st.lists(st.integers(0, 1000), min_size=1, max_size=8))
def test_percent_are_hundredths(shares):
    cells = [f"{Decimal(share) / 10} %" for share in shares]
    assert read_cells(cells).numbers.tolist() == [float(Decimal(share) / 1000) for share in shares]


CELLS = st.lists(
    st.sampled_from(
        [
            *("0.5", "0,5", "1", "4", "873", "1,234", "1.234", "1.234,5", "85 %", "3/5", "4/5", ""),
            *("12 ms", "3 s", "yes", "fail", "n/a", "<1", "2025-11-03", "x"),
            *(0.25, 3, True, None, {"score": "0,5"}, [1]),
        ]
    ),
    min_size=1,
    max_size=6,
)


@given(cells=CELLS, data=st.data())
def test_the_order_of_rows_never_changes_the_reading(cells, data):
    order = data.draw(st.permutations(range(len(cells))))

    def outcome(values):
        try:
            parsed = read_cells(values, CellColumn("my_metric"))
        except DataError:
            return None
        return parsed.numbers, parsed.states, sorted(parsed.unread)

    first, second = outcome(cells), outcome([cells[row] for row in order])
    assert (first is None) == (second is None)
    if first is not None:
        np.testing.assert_array_equal(first[0][order], second[0])
        assert first[1][order].tolist() == second[1].tolist()
