"""Decides from all cells of a column on which scale its numbers are, and reads them on that scale.

A cell alone is often ambiguous: "1,234" beside "873" is a thousand and more, beside "0,83" it is a
little over one; "0.9" beside "85 %" may be 0.9 or 0.009. A column has one scale. If two scales
remain possible, the error shows two cells and how to say which one is meant.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import NamedTuple, NoReturn

import numpy as np

from rageval_report.errors import MOST_NAMED, DataError
from rageval_report.scores.numerals import (
    SHORT_UNITS,
    Numeral,
    names_a_time,
    seconds_in,
    unit_in_name,
)
from rageval_report.types import FloatArray

# Of two readings that differ by a factor of 1,000, the one nearer to the other numbers on a
# logarithmic scale is within this factor of them.
_NEAR = math.sqrt(1000.0)

ScoreRange = tuple[float, float]


@dataclass(frozen=True)
class CellColumn:
    """What is known about a metric's column besides its cells.

    Parameters
    ----------
    name : str, optional
        The name of the column; if omitted, messages do not name it.
    labels : sequence, optional
        The id of each row, for messages; if omitted, rows are counted from 1.
    bounds : (float, float), optional
        The bounds that the caller or the file states: the scale of the scores.
    known_bounds : (float, float), optional
        The bounds of the metric in the catalogue, which rule out some readings.
    """

    name: str = ""
    labels: Sequence[object] | None = None
    bounds: ScoreRange | None = None
    known_bounds: ScoreRange | None = None

    @property
    def title(self) -> str:
        """The column in messages."""
        return f"metric {self.name!r}" if self.name else "the scores"

    def place(self, row: int) -> str:
        """A row in messages."""
        return f"row {row + 1}" if self.labels is None else repr(self.labels[row])

    def option(self, *bounds: ScoreRange) -> str:
        """The option that states the bounds."""
        return " or ".join(
            f"metrics={{{self.name!r}: {{'bounds': ({low:g}, {high:g})}}}}" for low, high in bounds
        )


class ScaledNumbers(NamedTuple):
    """The numbers of a column on one scale.

    Parameters
    ----------
    numbers : ndarray of shape (n,)
        NaN where a cell holds no number.
    notes : list of str
        What was converted, with rows.
    scale : (float, float) or None
        The range of the scale, if the cells show it.
    are_shares : bool
        Whether percent or fractions are read as shares of 1.
    """

    numbers: FloatArray
    notes: list[str]
    scale: ScoreRange | None
    are_shares: bool


class _Written(NamedTuple):
    """A numeral at its row, with the text of the cell."""

    row: int
    numeral: Numeral
    text: str


def read_numerals(
    texts: Sequence[object],
    numerals: Sequence[Numeral | None],
    reals: FloatArray,
    column: CellColumn,
) -> ScaledNumbers:
    """Read the numbers of a column on the one scale that all its cells allow.

    Parameters
    ----------
    texts : sequence
        The cells, for messages.
    numerals : sequence of Numeral or None
        What each text spells; None for cells that are no texts, or spell no number.
    reals : ndarray of shape (n,)
        The numbers of the cells that are numbers already, on which spelling has no influence; NaN
        elsewhere.
    column : CellColumn
        What is known about the column.

    Raises
    ------
    DataError
        If two scales are possible; the message shows two cells, and the option to type.

    Examples
    --------
    >>> from rageval_report.scores.numerals import parse_numeral
    >>> texts = ["1,234", "873", "12,345.6"]
    >>> numerals = [parse_numeral(text) for text in texts]
    >>> read_numerals(texts, numerals, np.full(3, np.nan), CellColumn("latency")).numbers.tolist()
    [1234.0, 873.0, 12345.6]
    """
    written = [
        _Written(row, numeral, str(texts[row]))
        for row, numeral in enumerate(numerals)
        if numeral is not None and (not numeral.is_clock or names_a_time(column.name))
    ]
    _check_limits(written, column)
    is_comma, notes = _decide_decimal_signs(written, reals, column)
    spelled = {
        cell.row: _spelled(cell.numeral, is_comma=comma)
        for cell, comma in zip(written, is_comma, strict=True)
    }
    scaled = _scale(written, spelled, reals, column)
    return scaled._replace(notes=[*notes, *scaled.notes, *_notes_on_marks(written, column)])


def _spelled(numeral: Numeral, *, is_comma: bool) -> Decimal:
    text = numeral.comma if is_comma else numeral.point
    return _decimal(text if text is not None else numeral.point or numeral.comma or "nan")


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond all bounds
        return Decimal(repr(float(text)))


def _check_limits(written: Iterable[_Written], column: CellColumn) -> None:
    limits = [cell for cell in written if cell.numeral.is_limit]
    if limits:
        raise DataError(
            f"{column.title} must hold numbers; {_list_cells(limits, column)} is a limit, and not "
            "a score. Write the number, or leave the cell empty if there is no score"
        )


def _notes_on_marks(written: Iterable[_Written], column: CellColumn) -> list[str]:
    rounded = [cell for cell in written if cell.numeral.is_rounded]
    if not rounded:
        return []
    return [
        f"signs for a rounded number or a footnote are ignored in {column.name!r}: "
        f"{_list_cells(rounded, column)}"
    ]


def _list_cells(cells: Sequence[_Written], column: CellColumn) -> str:
    first = [f"{cell.text[:40]!r} at {column.place(cell.row)}" for cell in cells[:MOST_NAMED]]
    more = len(cells) - len(first)
    return ", ".join(first) + (f" and {more} more" if more > 0 else "")


# -- the decimal sign


def _decide_decimal_signs(
    written: list[_Written], reals: FloatArray, column: CellColumn
) -> tuple[list[bool], list[str]]:
    """Whether a comma is the decimal sign of each cell, and the notes on it."""
    by_comma = [cell for cell in written if cell.numeral.point is None]
    unclear = [cell for cell in written if cell.numeral.has_two_readings]
    with_comma = [cell for cell in unclear if _is_larger_by_point(cell.numeral)]
    if not by_comma and not with_comma:  # points only, as nearly always
        return [False] * len(written), []
    by_point = [cell for cell in written if cell.numeral.comma is None]
    if by_comma and by_point:
        if unclear:
            _refuse_both_signs(unclear[0], by_point[0], by_comma[0], column)
        return [cell.numeral.point is None for cell in written], [
            f"{column.name!r} has decimal points and decimal commas, such as "
            f"{_list_cells([by_point[0], by_comma[0]], column)}; both are read as decimal signs"
        ]
    if by_comma:
        thousands = [cell for cell in unclear if not _is_larger_by_point(cell.numeral)]
        _check_thousands(thousands, written, reals, column, is_comma=True)
        return [True] * len(written), [
            f"decimal commas are read as decimal points in {column.name!r}"
        ]
    is_comma = not by_point and _may_only_be(unclear, column, is_comma=True)
    if is_comma:
        return [True] * len(written), [
            f"decimal commas are read as decimal points in {column.name!r}, because its bounds "
            "leave no other reading"
        ]
    if not _may_only_be(unclear, column, is_comma=False):
        _check_thousands(with_comma, written, reals, column, is_comma=False)
    example = _spelled(with_comma[0].numeral, is_comma=False)
    return [False] * len(written), [
        f"the commas in {column.name!r} are read as separators of thousands: "
        f"{_list_cells(with_comma[:1], column)} is {example:f}"
    ]


def _is_larger_by_point(numeral: Numeral) -> bool:
    """Whether a numeral with two readings is written with a comma."""
    return abs(_spelled(numeral, is_comma=False)) > abs(_spelled(numeral, is_comma=True))


def _may_only_be(unclear: list[_Written], column: CellColumn, *, is_comma: bool) -> bool:
    """Whether the bounds of the metric allow only one of the two decimal signs."""
    bounds = column.bounds or column.known_bounds
    if bounds is None:
        return False
    return _is_within(unclear, bounds, is_comma=is_comma) and not _is_within(
        unclear, bounds, is_comma=not is_comma
    )


def _is_within(cells: list[_Written], bounds: ScoreRange, *, is_comma: bool) -> bool:
    low, high = bounds
    return all(
        low <= _spelled(cell.numeral, is_comma=is_comma) / _divisor(cell.numeral) <= high
        for cell in cells
    )


def _divisor(numeral: Numeral) -> int:
    return 100 if numeral.kind == "percent" else 1


def _check_thousands(
    thousands: list[_Written],
    written: list[_Written],
    reals: FloatArray,
    column: CellColumn,
    *,
    is_comma: bool,
) -> None:
    """Refuse separators of thousands where the other numbers are nearer to the other reading."""
    if not thousands:
        return
    rows = {cell.row for cell in thousands}
    others = [cell for cell in written if cell.row not in rows]
    sizes = {cell.row: abs(_spelled(cell.numeral, is_comma=is_comma)) for cell in others}
    sizes |= {
        int(row): abs(Decimal(float(reals[row]))) for row in np.flatnonzero(np.isfinite(reals))
    }
    least = min(thousands, key=lambda cell: abs(_spelled(cell.numeral, is_comma=is_comma)))
    size = abs(_spelled(least.numeral, is_comma=is_comma))
    largest = max(sizes, key=lambda row: sizes[row]) if sizes else None
    if largest is not None and float(size) <= _NEAR * float(sizes[largest]):
        return
    sign = "." if is_comma else ","
    text = next((cell.text for cell in written if cell.row == largest), None)
    other = (
        ""
        if largest is None
        else f" beside {_shown(text, reals, largest)} at {column.place(largest)}"
    )
    readings = [f"{_spelled(least.numeral, is_comma=comma):f}" for comma in (False, True)]
    raise DataError(
        f"{column.title}: {least.text!r} at {column.place(least.row)}{other} may be "
        f"{' or '.join(readings)}, as the {_NAMES[sign]} may separate thousands or decimals. Say "
        "which is the decimal sign when reading the file, decimal='.' or decimal=',', or write the "
        "cells as numbers"
    )


_NAMES = {".": "point", ",": "comma"}


def _shown(text: str | None, reals: FloatArray, row: int) -> str:
    return repr(text) if text is not None else f"{reals[row]:g}"


def _refuse_both_signs(
    unclear: _Written, by_point: _Written, by_comma: _Written, column: CellColumn
) -> NoReturn:
    raise DataError(
        f"{column.title} has decimal points and decimal commas, "
        f"{_list_cells([by_point, by_comma], column)}; {unclear.text!r} at "
        f"{column.place(unclear.row)} may be {_spelled(unclear.numeral, is_comma=False)} or "
        f"{_spelled(unclear.numeral, is_comma=True)}. Write all cells with one decimal sign"
    )


# -- the kind of the numbers


def _scale(
    written: list[_Written], spelled: dict[int, Decimal], reals: FloatArray, column: CellColumn
) -> ScaledNumbers:
    by_kind: dict[str, list[_Written]] = {}
    for cell in written:
        by_kind.setdefault(cell.numeral.kind, []).append(cell)
    plain = by_kind.pop("number", [])
    numbers = reals.copy()
    _fill(numbers, plain, spelled)
    plain_rows = np.array(
        sorted({cell.row for cell in plain} | set(np.flatnonzero(~np.isnan(reals)).tolist())),
        dtype=np.int64,
    )
    beside = _Plain(plain_rows, numbers, {cell.row: cell.text for cell in plain})
    if not by_kind:
        return ScaledNumbers(numbers, [], None, False)
    measures = set(by_kind) - {"percent", "fraction"}
    if measures and len(by_kind) > 1:
        _refuse_kinds(by_kind, column)
    if measures == {"time"}:
        return _scale_times(by_kind["time"], spelled, beside, column)
    if measures == {"money"}:
        return _scale_money(by_kind["money"], spelled, beside, column)
    if measures:
        return _scale_stars(by_kind["stars"], spelled, beside)
    return _scale_shares(
        by_kind.get("percent", []), by_kind.get("fraction", []), spelled, beside, column
    )


class _Plain(NamedTuple):
    """The plain numbers of a column, to which the others are added."""

    rows: np.ndarray
    numbers: FloatArray
    texts: dict[int, str]

    def first(self, is_wanted: np.ndarray) -> int | None:
        """The first row whose number is wanted."""
        rows = self.rows[is_wanted]
        return int(rows[0]) if len(rows) else None

    def values(self) -> FloatArray:
        """The plain numbers."""
        values: FloatArray = self.numbers[self.rows]
        return values

    def show(self, row: int, column: CellColumn) -> str:
        """A plain number at its place."""
        return f"{_shown(self.texts.get(row), self.numbers, row)} at {column.place(row)}"


def _fill(numbers: FloatArray, cells: Iterable[_Written], spelled: dict[int, Decimal]) -> None:
    for cell in cells:
        numbers[cell.row] = float(spelled[cell.row])


def _refuse_kinds(by_kind: dict[str, list[_Written]], column: CellColumn) -> NoReturn:
    first, second = (cells[0] for cells in list(by_kind.values())[:2])
    raise DataError(
        f"{column.title} holds numbers of two kinds: {_list_cells([first, second], column)}. Write "
        "all of them in one way, or name the columns that are metrics: metrics=[...]"
    )


def _scale_stars(
    stars: list[_Written], spelled: dict[int, Decimal], beside: _Plain
) -> ScaledNumbers:
    _fill(beside.numbers, stars, spelled)
    lengths = {len(cell.text.strip()) for cell in stars if "☆" in cell.text}
    n_drawn = sum(cell.text.strip()[:1] in "★⭐☆" for cell in stars)
    # "★★★☆☆" shows its scale, if every cell has as many stars, filled or not.
    is_drawn = n_drawn == len(stars) and not len(beside.rows) and len(lengths) == 1
    top = float(max(lengths)) if is_drawn else math.nan
    is_scale = is_drawn and all(len(cell.text.strip()) == top for cell in stars)
    return ScaledNumbers(beside.numbers, [], (0.0, top) if is_scale else None, False)


def _scale_money(
    money: list[_Written], spelled: dict[int, Decimal], beside: _Plain, column: CellColumn
) -> ScaledNumbers:
    first = money[0]
    other = next((cell for cell in money if cell.numeral.unit != first.numeral.unit), None)
    if other is not None:
        raise DataError(
            f"{column.title} holds two currencies: {_list_cells([first, other], column)}. Convert "
            "them to one"
        )
    _fill(beside.numbers, money, spelled)
    return ScaledNumbers(beside.numbers, [], None, False)


# -- times


def _scale_times(
    times: list[_Written], spelled: dict[int, Decimal], beside: _Plain, column: CellColumn
) -> ScaledNumbers:
    units = {cell.numeral.unit for cell in times}
    in_name = unit_in_name(column.name)
    # Milliseconds, this library's unit of latency, where cells differ and the name says nothing.
    target = in_name or (next(iter(units)) if len(units) == 1 else SHORT_UNITS[Decimal("1e-3")])
    converted = {
        cell.row: spelled[cell.row] * seconds_in(cell.numeral.unit) / seconds_in(target)
        for cell in times
    }
    if in_name is None:
        _check_plain_times(times, converted, beside, column, n_units=len(units))
    _fill(beside.numbers, times, converted)
    notes = []
    if units != {target}:
        names = " and ".join(sorted(units, key=seconds_in))
        notes.append(f"the times of {column.name!r} in {names} are converted to {target}")
    elif len(beside.rows) and in_name is None:
        notes.append(
            f"numbers of {column.name!r} without a unit are taken as {target}, the unit of the "
            f"others: {beside.show(int(beside.rows[0]), column)}"
        )
    elif in_name is None:
        notes.append(f"the times of {column.name!r} are in {target}")
    return ScaledNumbers(beside.numbers, notes, None, False)


def _check_plain_times(
    times: list[_Written],
    converted: dict[int, Decimal],
    beside: _Plain,
    column: CellColumn,
    n_units: int,
) -> None:
    """Refuse a number without a unit beside two units, or too far from the others."""
    sizes = np.abs(beside.values())
    largest = max(abs(float(size)) for size in converted.values())
    is_far = (sizes > _NEAR * largest) | (n_units > 1)
    # The largest plain number decides, as single times may well be short.
    if n_units == 1 and len(sizes) and float(sizes.max()) * _NEAR < largest:
        is_far = sizes == sizes.max()
    row = beside.first(is_far & (sizes > 0))
    if row is None:
        return
    raise DataError(
        f"{column.title}: the unit of {beside.show(row, column)} is not known, beside "
        f"{_list_cells(times[:1], column)}. Write a unit in every cell or in none, or in the name "
        f"of the column, such as {column.name + '_ms'!r}"
    )


# -- percent and fractions


def _scale_shares(
    percents: list[_Written],
    fractions: list[_Written],
    spelled: dict[int, Decimal],
    beside: _Plain,
    column: CellColumn,
) -> ScaledNumbers:
    top = column.bounds[1] if column.bounds is not None else None
    notes = _note_on_fractions(fractions, beside, column)
    if top is not None:
        # The stated bounds say where the plain numbers are; the shares follow.
        whole = Decimal(100 if percents and not fractions and top == 100 else 1)
        whole = Decimal(repr(top)) if top > 1 else whole
        numbers = _shares(percents, fractions, spelled, beside.numbers, whole)
        return ScaledNumbers(numbers, notes, None, top <= 1)
    if percents:
        notes += _percent_beside_plain(percents, fractions, beside, column)
    elif fractions:
        _check_plain_beside_fractions(fractions, beside, column)
    numbers = _shares(percents, fractions, spelled, beside.numbers, Decimal(1))
    return ScaledNumbers(numbers, notes, None, True)


def _shares(
    percents: Iterable[_Written],
    fractions: Iterable[_Written],
    spelled: dict[int, Decimal],
    numbers: FloatArray,
    whole: Decimal,
) -> FloatArray:
    """Percent and fractions as shares of a whole, in decimals so that 14.1 % is 0.141."""
    for cell in percents:
        numbers[cell.row] = float(spelled[cell.row] * whole / 100)
    for cell in fractions:
        of = fraction_whole_of(cell.numeral)
        part = spelled[cell.row]
        # In floats for shares of 1, as Python divides: 1/3 has no end as a decimal.
        numbers[cell.row] = float(part) if of == whole else float(part) / float(of) * float(whole)
    return numbers


def fraction_whole_of(numeral: Numeral) -> Decimal:
    """The denominator of a fraction.

    Examples
    --------
    >>> from rageval_report.scores.numerals import parse_numeral
    >>> fraction_whole_of(parse_numeral("4 out of 5"))
    Decimal('5')
    """
    return _decimal(next((text for text in numeral.whole if text is not None), "nan"))


def _percent_beside_plain(
    percents: list[_Written], fractions: list[_Written], beside: _Plain, column: CellColumn
) -> list[str]:
    """Plain numbers over 1 are percent as well; up to 1 they may be shares, which is an error."""
    values = beside.values()
    row = beside.first((values != 0) & (np.abs(values) <= 1) & ~np.isinf(values))
    if row is not None:
        number = float(beside.numbers[row])
        raise DataError(
            f"{column.title} holds percent beside plain numbers: "
            f"{_list_cells(percents[:1], column)} and {beside.show(row, column)}, which may be "
            f"{number:g} or {number:g} %. Say where the plain numbers lie: "
            f"{column.option((0, 1), (0, 100))}"
        )
    if not (values != 0).any():
        return []
    if fractions:
        _refuse_kinds({"fraction": fractions, "number": [_as_written(beside)]}, column)
    beside.numbers[beside.rows] = [float(Decimal(repr(float(value))) / 100) for value in values]
    first = int(beside.rows[np.flatnonzero(values != 0)[0]])
    shown = _shown(beside.texts.get(first), beside.numbers * 100, first)
    return [
        f"plain numbers of {column.name!r} stand beside percent and are read as percent: {shown} "
        f"at {column.place(first)} is {beside.numbers[first]:g}"
    ]


def _as_written(beside: _Plain) -> _Written:
    row = int(beside.rows[0])
    return _Written(
        row, Numeral("number", "", ""), _shown(beside.texts.get(row), beside.numbers, row)
    )


def _note_on_fractions(fractions: list[_Written], beside: _Plain, column: CellColumn) -> list[str]:
    if not fractions or not (beside.values() != 0).any():
        return []
    return [
        f"fractions stand beside plain numbers of {column.name!r} and are read as shares: "
        f"{_list_cells(fractions, column)}"
    ]


def _check_plain_beside_fractions(
    fractions: list[_Written], beside: _Plain, column: CellColumn
) -> None:
    """Plain numbers within 0 and 1 that are not all whole are shares; others may be numerators."""
    values = beside.values()
    is_within = (values >= 0) & (values <= 1)
    has_shares = bool(((values > 0) & (values < 1)).any())
    row = beside.first(~is_within if has_shares else values != 0)
    if row is None:
        return
    whole = float(fraction_whole_of(fractions[0].numeral))
    number = float(beside.numbers[row])
    scales = [(0.0, 1.0)] if number <= 1 else []
    raise DataError(
        f"{column.title} holds fractions beside plain numbers: "
        f"{_list_cells(fractions[:1], column)} and {beside.show(row, column)}, which may be "
        f"{number:g} or {number:g}/{whole:g}. Say where the plain numbers lie: "
        f"{column.option(*scales, (0.0, whole))}"
    )
