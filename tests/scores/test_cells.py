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
        ("4 (1-5)", 4.0),
        ("4 [1 to 5]", 4.0),
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


def test_the_range_of_a_scale_is_kept_where_all_agree():
    assert read_cells(["4 (1-5)", "1 (1-5)"]).scale == (1.0, 5.0)
    assert read_cells([{"score": 2, "min": 0, "max": 3}]).scale == (0.0, 3.0)
    assert read_cells([{"score": 2, "range": [0, 3]}]).scale == (0.0, 3.0)
    assert read_cells(["4 (1-5)", "4 (1-7)"]).scale is None


@given(st.recursive(st.none() | st.floats() | st.text() | st.booleans(), st.lists))
def test_every_cell_is_a_number_or_has_a_state(cell):
    read = read_cell(cell)
    assert (read.state == SCORED) == (not math.isnan(read.number))


@given(st.floats(allow_nan=False))
def test_numbers_are_read_to_the_last_bit(number):
    assert read_cell(number).number == read_cell(repr(number)).number == number


# -- one cell


@pytest.mark.parametrize("cell", ["< 0.5", "1:30", "3 (3-3)", "0 (1-5)", [[0.5]], {"error": " "}])
def test_limits_clocks_and_scales_of_one_step_are_no_scores(cell):
    assert not read_cell(cell).is_read


# -- the words of a column


def test_y_and_n_are_scores_only_together_with_a_y():
    assert read_cells(["y", "N", "Y"]).numbers.tolist() == [1.0, 0.0, 1.0]
    assert read_cells(["n", "n"]).unread == [0, 1]
    assert read_cells(["y", "n", "maybe"]).unread == [0, 1, 2]


# -- a column


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


def scores_of(cells, name="my_metric", **options):
    return table_of(cells, name, **options).scores[name].tolist()


# -- commas


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1,234", "873"], [1234.0, 873.0]),
        (["1,234", 873], [1234.0, 873.0]),
        (["873", "12,345.6 ms"], [873.0, 12345.6]),
        (["12,345.6", "1,234", "9"], [12345.6, 1234.0, 9.0]),
        (["1 234,5", "873"], [1234.5, 873.0]),
        (["1\u202f234", "873.5"], [1234.0, 873.5]),
        (["1'234.50", "873"], [1234.5, 873.0]),
        (["1_234", "873"], [1234.0, 873.0]),
        (["1.234,5", "12.345,6"], [1234.5, 12345.6]),
        (["1.234.567", "2.345"], [1234567.0, 2345.0]),
        (["12,34,567", "99,999"], [1234567.0, 99999.0]),
        (["12,5", "7,25"], [12.5, 7.25]),
    ],
)
def test_a_slow_call_is_never_unscored_because_of_its_separators(cells, numbers):
    assert scores_of(cells, "latency") == numbers


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["0,83", "0,9", "1"], [0.83, 0.9, 1.0]),
        (["1,000", "0,9", "0"], [1.0, 0.9, 0.0]),
        (["0,83", "0.9"], [0.83, 0.9]),
        (["83,5 %", "90 %"], [0.835, 0.9]),
        (["4,5/5", "3/5"], [0.9, 0.6]),
        ([{"score": "0,5", "reason": "half"}, {"score": "0,25"}], [0.5, 0.25]),
    ],
)
def test_decimal_commas_are_read_with_a_note(cells, numbers):
    table = table_of(cells)
    assert table.scores["my_metric"].tolist() == numbers
    assert any("decimal commas" in note for note in table.notes)


def test_the_bounds_of_a_known_metric_may_leave_one_reading():
    assert scores_of(["1,000", "0"], "faithfulness") == [1.0, 0.0]
    stated = {"my_metric": {"bounds": (100, 5000)}}
    assert scores_of(["1,234", "2,345"], metrics=stated) == [1234.0, 2345.0]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1,234", "0.5"], r"'1,234' at 'q0' beside '0.5' at 'q1' may be 1234 or 1.234, as the"),
        (["1,234", "2,345"], r"'1,234' at 'q0' may be 1234 or 1.234, as the comma may separate"),
        (["1,234", "12"], r"'1,234' at 'q0' beside '12' at 'q1' may be 1234 or 1.234"),
        (["0,5", "1.234"], r"'1.234' at 'q1' beside '0,5' at 'q0' may be 1.234 or 1234, as the p"),
        (
            ["0,5", "0.25", "1,234"],
            r"points and decimal commas, '0.25' at 'q1', '0,5' at 'q0'; '1,",
        ),
    ],
)
def test_two_readings_are_an_error_with_two_cells(cells, message):
    with pytest.raises(DataError, match=message):
        table_of(cells, "latency")


@pytest.mark.parametrize("cells", [["1,2", "3,4", "5"], ["1,2,3", "4", "5,6"], ["12,7", "3"]])
def test_lists_of_numbers_in_an_unknown_column_are_no_scores(cells):
    table = table_of([*cells, "7,8"], "sources_used")
    assert "sources_used" in table.details


# -- percent and fractions


@pytest.mark.parametrize("cells", [["85 %", "0.9"], ["85%", 0.9], ["85 percent", 1], ["1", "7 %"]])
def test_percent_beside_small_numbers_is_an_error_with_both_scales(cells):
    message = (
        r"holds percent beside plain numbers: .* at 'q\d' and .* at 'q\d', which "
        r"may be [\d.]+ or [\d.]+ %\. .* metrics=\{'my_metric': \{'bounds': \(0, 1\)\}\} or .*100"
    )
    with pytest.raises(DataError, match=message):
        table_of(cells)


def test_stated_bounds_say_where_plain_numbers_beside_percent_lie():
    assert scores_of(["85 %", "0.9"], metrics={"my_metric": {"bounds": (0, 1)}}) == [0.85, 0.9]
    percent = {"my_metric": {"bounds": (0, 100), "kind": "real"}}
    assert scores_of(["85 %", "0.9"], metrics=percent) == [85.0, 0.9]


def test_larger_numbers_beside_percent_are_percent_with_a_note():
    table = table_of(["85 %", "90", "0", "14.1 %"])
    assert table.scores["my_metric"].tolist() == [0.85, 0.9, 0.0, 0.141]
    assert table.notes == (
        "plain numbers of 'my_metric' stand beside percent and are read as percent: 90 at 'q1' is "
        "0.9",
    )


@pytest.mark.parametrize("bounds", [None, (0, 1)])
@pytest.mark.parametrize("cells", [["0/5", "1.0", "0.25"], ["0 of 5", 1, 0.25]])
def test_fractions_beside_shares_are_shares_with_a_note(cells, bounds):
    table = table_of(cells, metrics=None if bounds is None else {"my_metric": {"bounds": bounds}})
    assert table.scores["my_metric"].tolist() == [0, 1, 0.25]
    assert table.notes == (
        "fractions stand beside plain numbers of 'my_metric' and are read as shares: "
        f"{cells[0]!r} at 'q0'",
    )


@pytest.mark.parametrize("cells", [["3/5", "4"], ["4 out of 5", 4], ["3/5", "0.5", "4"]])
def test_fractions_beside_whole_numbers_are_an_error(cells):
    message = r"holds fractions beside plain numbers: .* may be 4 or 4/5\. .*'bounds': \(0, 5\)"
    with pytest.raises(DataError, match=message):
        table_of(cells, "correct")


def test_stated_bounds_say_of_how_many_a_plain_number_is():
    assert scores_of(["3/5", "4"], metrics={"my_metric": {"bounds": (0, 5)}}) == [3.0, 4.0]


# -- times, money, stars, words


def test_times_are_converted_to_one_unit_with_a_note():
    table = table_of(["1.2 s", "350 ms"], "latency")
    assert table.scores["latency"].tolist() == [1200.0, 350.0]
    assert table.notes == ("the times of 'latency' in ms and s are converted to ms",)


@pytest.mark.parametrize(
    ("name", "cells", "numbers"),
    [
        ("latency_ms", ["1.2 s", "350"], [1200.0, 350.0]),
        ("time_seconds", ["350 ms", "2 min", "1"], [0.35, 120.0, 1.0]),
        ("latency", ["12 ms", "15 ms"], [12.0, 15.0]),
        ("latency", [pd.Timedelta("1.5s"), pd.Timedelta("250ms")], [1.5, 0.25]),
        ("latency_ms", [pd.Timedelta("1.5s"), None], [1500.0, math.nan]),
        ("latency", ["0:00:01.5", "0:01:00"], [1.5, 60.0]),
    ],
)
def test_times_are_in_the_unit_of_the_name_or_of_the_cells(name, cells, numbers):
    np.testing.assert_array_equal(scores_of(cells, name), numbers)


@pytest.mark.parametrize("cells", [["1.2 s", "350"], ["1.2 s", "3 ms", "5"], ["9000 ms", "1.5"]])
def test_a_number_without_a_unit_that_may_have_another_is_an_error(cells):
    with pytest.raises(DataError, match=r"the unit of [\d.]+ at 'q\d' is not known.*'latency_ms'"):
        table_of(cells, "latency")


def test_money_is_read_and_two_currencies_are_refused():
    assert scores_of(["$1,234.50", "$0.02", "3"], "cost") == [1234.5, 0.02, 3.0]
    with pytest.raises(DataError, match=r"two currencies: '\$1' at 'q0', '3 €' at 'q1'"):
        table_of(["$1", "3 €"], "cost")


@pytest.mark.parametrize("cells", [["12 ms", "85 %"], ["$3", "4/5"], ["4 stars", "3 s"]])
def test_numbers_of_two_kinds_are_refused(cells):
    with pytest.raises(DataError, match=r"numbers of two kinds: .* at 'q0', .* at 'q1'"):
        table_of(cells)


def test_stars_are_counted_on_the_scale_that_they_show():
    table = table_of(["★★★☆☆", "★★★★★", "☆☆☆☆☆"])
    assert table.scores["my_metric"].tolist() == [3.0, 5.0, 0.0]
    assert table.metrics["my_metric"].bounds == (0.0, 5.0)
    assert scores_of(["4 stars", "5", "★★★"]) == [4.0, 5.0, 3.0]


@pytest.mark.parametrize("cells", [["pass", "4", "5"], [True, 3, 5], ["false", "-2", "1"]])
def test_words_beside_numbers_on_another_scale_are_refused(cells):
    with pytest.raises(DataError, match=r"holds words beside numbers: .* at 'q0' and .* at 'q1'"):
        table_of(cells)


# -- signs, limits, dates, lists, objects


def test_rounded_numbers_and_footnotes_are_noted_with_their_rows():
    table = table_of(["~0.5", "0.25", "0.75*"])
    assert table.scores["my_metric"].tolist() == [0.5, 0.25, 0.75]
    assert table.notes == (
        "signs for a rounded number or a footnote are ignored in 'my_metric': '~0.5' at 'q0', "
        "'0.75*' at 'q2'",
    )


@pytest.mark.parametrize("unreadable", ["raise", "failed"])
@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("<0.01", r"'<0.01' at 'q1' is a limit, and not a score\. Write the number"),
        ("3/5/2025", r"'3/5/2025' at 'q1' is a date\. Spreadsheets turn 3/5 into a date"),
        ("5-Mar", r"'5-Mar' at 'q1' is a date"),
        (pd.Timestamp("2025-03-05"), r"'2025-03-05 00:00:00' at 'q1' is a date"),
        ([0.5, 1.0], r"'\[0.5, 1.0\]' at 'q1' is a list\. A score is one number: take the mean"),
    ],
)
def test_limits_dates_and_lists_are_errors_with_their_row(cell, message, unreadable):
    with pytest.raises(DataError, match=message):
        table_of(["0.5", cell, "1"], unreadable=unreadable)


@pytest.mark.parametrize(
    "cells",
    [
        ["2025-11-03", "2025-11-04"],
        pd.to_datetime(["2025-11-03", "2025-11-04"]),
        ["3/5/2025", "3/6/2025"],
        [1762190000, 1762190060],
        [1762190000123.0, 1762190060456.0],
        [20251103, 20251104],
    ],
)
def test_a_column_of_dates_is_a_detail(cells):
    assert "happened" in table_of(cells, "happened").details


def test_numbers_that_count_seconds_are_noted_and_can_be_metrics():
    assert table_of([1762190000, 1762190060], "x").notes == (
        "column 'x' becomes a detail, because its cells are dates, such as 1762190000 for "
        "2025-11-03. If it is a metric, pass roles={'x': 'metric'}",
    )
    assert scores_of([1762190000, 1762190060], "x", metrics=["x"]) == [1762190000, 1762190060]


def test_a_known_metric_of_dates_or_lists_becomes_a_detail_with_a_note():
    for cells in (
        ["2025-11", "2025-12"],
        [[0.5, 1.0], [0.25, 0.5]],
        [{"claims": 3}, {"claims": 1}],
    ):
        table = table_of(cells, "faithfulness")
        assert "faithfulness" in table.details
        assert any("has the name of a metric, but holds" in note for note in table.notes)


def test_objects_become_scores_with_states_reasons_and_their_other_fields():
    cells = [
        {"score": 0.5, "reason": "half", "claims": 4},
        {"score": None, "error": "timeout"},
        {"score": "n/a"},
        {"error": "no reply"},
        None,
    ]
    table = table_of(cells)
    np.testing.assert_array_equal(table.scores["my_metric"], [0.5] + [math.nan] * 4)
    states = ["scored", "failed", "not applicable", "failed", "missing"]
    assert table.details["my_metric_state"].tolist() == states
    assert table.details["my_metric_reason"].tolist() == ["half", "timeout", None, "no reply", None]
    assert table.details["my_metric_details"].tolist() == [{"claims": 4}, None, None, None, None]


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        ([{"passed": True}, {"passed": False}], [1.0, 0.0]),
        ([{"value": 1, "explanation": ""}, {"value": 0, "explanation": "x"}], [1.0, 0.0]),
        (['{"score": 0.5}', "{'score': 1}"], [0.5, 1.0]),
        ([{"score": "85 %"}, {"score": "9 %"}], [0.85, 0.09]),
        ([np.float32(0.5), Decimal("0.25")], [0.5, 0.25]),
    ],
)
def test_objects_and_numbers_of_other_types_are_read(cells, numbers):
    assert scores_of(cells) == numbers


def test_lists_of_one_number_are_read_in_a_known_metric():
    assert scores_of([[0.5], np.array([1.0])], "faithfulness") == [0.5, 1.0]


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
    "dollars": lambda text: f"${text}",
    "footnote": lambda text: f"{text}*",
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
            *("12 ms", "3 s", "$3", "yes", "fail", "n/a", "★★★", "~0.5", "<1", "2025-11-03", "x"),
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


def test_the_unit_in_the_name_of_a_column_needs_no_note_on_plain_numbers():
    named = table_of(["12 ms", 13], "latency_ms")
    assert named.scores["latency_ms"].tolist() == [12.0, 13.0]
    assert not any("without a unit" in note for note in named.notes)
    assert any("without a unit" in note for note in table_of(["12 ms", 13], "latency").notes)


@pytest.mark.parametrize(
    ("bounds", "numbers"),
    [
        ((0, 1), [0.5, 0.25]),
        ((0, 2), [1.0, 0.5]),
        ((0, 1.5), [0.75, 0.375]),
        ((0, 100), [50.0, 25.0]),
    ],
)
def test_percent_are_parts_of_the_upper_bound_that_is_stated(bounds, numbers):
    read = read_cells(["50 %", "25 %"], CellColumn("share", bounds=bounds))
    assert read.numbers.tolist() == numbers
    assert read.are_shares == (bounds == (0, 1))
