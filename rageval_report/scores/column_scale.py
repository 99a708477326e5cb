"""Decides from all cells of a column on which scale its numbers are, and reads them on that scale.

A cell alone is often ambiguous: "1,234" beside "873" is a thousand and more, beside "0,83" it is a
little over one; "0.9" beside "85 %" may be 0.9 or 0.009. A column has one scale. If two scales
remain possible, the error shows two cells and how to say which one is meant.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import NamedTuple, NoReturn

import numpy as np

from rageval_report.errors import MOST_NAMED, DataError
from rageval_report.scores.numerals import Numeral, names_a_time, seconds_in, unit_in_name
from rageval_report.types import BoolArray, FloatArray

# Of two readings that differ by a factor of 1,000, the one nearer to the other numbers on a
# logarithmic scale is within this factor of them.
_NEAR = math.sqrt(1000.0)

ScoreRange = tuple[float, float]


@dataclass(frozen=True)
class CellColumn:
    """What is known about a metric's column besides its cells."""

    name: str = ""
    labels: Sequence[object] | None = None  # the id of each row; if omitted, rows are counted
    bounds: ScoreRange | None = None  # that the caller or the file states
    known_bounds: ScoreRange | None = None  # of the catalogue, which rule out some readings

    @property
    def title(self) -> str:
        """The column in messages."""
        return f"metric {self.name!r}" if self.name else "the scores"

    def place(self, row: int) -> str:
        """A row in messages."""
        return f"row {row + 1}" if self.labels is None else repr(self.labels[row])

    def list_texts(self, texts: Mapping[int, str]) -> str:
        """Some cells by row, the first few with their places."""
        rows = list(texts)[:MOST_NAMED]
        more = len(texts) - len(rows)
        listed = ", ".join(f"{texts[row][:40]!r} at {self.place(row)}" for row in rows)
        return listed + (f" and {more} more" if more > 0 else "")

    def option(self, *bounds: ScoreRange) -> str:
        """The option that states the bounds."""
        return " or ".join(
            f"metrics={{{self.name!r}: {{'bounds': ({low:g}, {high:g})}}}}" for low, high in bounds
        )


class ScaledNumbers(NamedTuple):
    """The numbers of a column on one scale, NaN where a cell holds none."""

    numbers: FloatArray
    notes: list[str]  # what was converted, with rows
    scale: ScoreRange | None = None  # the range of the scale, if the cells show it
    are_shares: bool = False  # whether percent or fractions are read as shares of 1


class _Written(NamedTuple):
    """A numeral at its row, with the text of the cell, and its number as it was decided."""

    row: int
    text: str
    numeral: Numeral
    number: Decimal = Decimal("nan")

    def read(self, *, is_comma: bool) -> Decimal:
        """The number if the decimal sign is a comma, or a point; the other if it cannot be."""
        point, comma = self.numeral.point, self.numeral.comma
        text = (comma or point) if is_comma else (point or comma)
        return _decimal(text or "nan")

    @property
    def has_comma(self) -> bool:
        """Whether a numeral with two readings is written with a comma."""
        return abs(self.read(is_comma=False)) > abs(self.read(is_comma=True))


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond all bounds
        return Decimal(repr(float(text)))


def fraction_whole_of(numeral: Numeral) -> Decimal:
    """The denominator of a fraction."""
    return _decimal(numeral.whole or "nan")


def read_numerals(
    texts: Sequence[object],
    numerals: Sequence[Numeral | None],
    reals: FloatArray,
    column: CellColumn,
) -> ScaledNumbers:
    """Read the numbers of a column on the one scale that all its cells allow.

    `numerals` has what each text spells, None where it spells no number; `reals` the numbers of the
    cells that are numbers already, NaN elsewhere.

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
        _Written(row, str(texts[row]), numeral)
        for row, numeral in enumerate(numerals)
        if numeral is not None and (not numeral.is_clock or names_a_time(column.name))
    ]
    reading = _ColumnReading(column, reals)
    limits = [cell for cell in written if cell.numeral.is_limit]
    if limits:
        raise DataError(
            f"{column.title} must hold numbers; {reading.show(*limits)} is a limit, and not "
            "a score. Write the number, or leave the cell empty if there is no score"
        )
    is_comma, notes = reading.decimal_signs(written)
    decided = [
        cell._replace(number=cell.read(is_comma=comma))
        for cell, comma in zip(written, is_comma, strict=True)
    ]
    scaled = reading.scale(decided)
    rounded = [cell for cell in written if cell.numeral.is_rounded]
    if rounded:
        scaled.notes.append(
            f"signs for a rounded number or a footnote are ignored in {column.name!r}: "
            f"{reading.show(*rounded)}"
        )
    return scaled._replace(notes=[*notes, *scaled.notes])


@dataclass(frozen=True)
class _ColumnReading:
    """The numbers of a column that are numbers already, and what is known about the column."""

    column: CellColumn
    reals: FloatArray

    def show(self, *cells: _Written) -> str:
        """Some cells in a message."""
        return self.column.list_texts({cell.row: cell.text for cell in cells})

    # -- the decimal sign

    def decimal_signs(self, written: list[_Written]) -> tuple[list[bool], list[str]]:
        """Whether a comma is the decimal sign of each cell, and the notes on it."""
        name = self.column.name
        by_comma = [cell for cell in written if cell.numeral.point is None]
        by_point = [cell for cell in written if cell.numeral.comma is None]
        unclear = [cell for cell in written if cell.numeral.has_two_readings]
        with_comma = [cell for cell in unclear if cell.has_comma]
        if not by_comma and not with_comma:  # points only, as nearly always
            return [False] * len(written), []
        if by_comma and by_point:
            if unclear:
                self._refuse_both_signs(unclear[0], by_point[0], by_comma[0])
            return [cell.numeral.point is None for cell in written], [
                f"{name!r} has decimal points and decimal commas, such as "
                f"{self.show(by_point[0], by_comma[0])}; both are read as decimal signs"
            ]
        note = f"decimal commas are read as decimal points in {name!r}"
        if by_comma:
            thousands = [cell for cell in unclear if not cell.has_comma]
            self._check_thousands(thousands, written, is_comma=True)
            return [True] * len(written), [note]
        if not by_point and self._may_only_be(unclear, is_comma=True):
            note += ", because its bounds leave no other reading"
            return [True] * len(written), [note]
        if not self._may_only_be(unclear, is_comma=False):
            self._check_thousands(with_comma, written, is_comma=False)
        first = with_comma[0]
        return [False] * len(written), [
            f"the commas in {name!r} are read as separators of thousands: "
            f"{self.show(first)} is {first.read(is_comma=False):f}"
        ]

    def _may_only_be(self, unclear: list[_Written], *, is_comma: bool) -> bool:
        """Whether the bounds of the metric allow only this one of the two decimal signs."""
        bounds = self.column.bounds or self.column.known_bounds
        if bounds is None:
            return False

        def are_within(*, is_comma: bool) -> bool:
            numbers = (
                cell.read(is_comma=is_comma) / (100 if cell.numeral.kind == "percent" else 1)
                for cell in unclear
            )
            return all(bounds[0] <= number <= bounds[1] for number in numbers)

        return are_within(is_comma=is_comma) and not are_within(is_comma=not is_comma)

    def _check_thousands(
        self, thousands: list[_Written], written: list[_Written], *, is_comma: bool
    ) -> None:
        """Refuse separators of thousands where other numbers are nearer to the other reading."""
        if not thousands:
            return
        rows = {cell.row for cell in thousands}
        sizes = {
            cell.row: abs(cell.read(is_comma=is_comma)) for cell in written if cell.row not in rows
        }
        for row in np.flatnonzero(np.isfinite(self.reals)).tolist():
            sizes[row] = abs(Decimal(float(self.reals[row])))
        least = min(thousands, key=lambda cell: abs(cell.read(is_comma=is_comma)))
        beside = ""
        if sizes:
            largest = max(sizes, key=lambda row: sizes[row])
            if float(abs(least.read(is_comma=is_comma))) <= _NEAR * float(sizes[largest]):
                return
            text = next((repr(cell.text) for cell in written if cell.row == largest), None)
            text = text or f"{self.reals[largest]:g}"
            beside = f" beside {text} at {self.column.place(largest)}"
        readings = " or ".join(f"{least.read(is_comma=comma):f}" for comma in (False, True))
        raise DataError(
            f"{self.column.title}: {least.text!r} at {self.column.place(least.row)}{beside} may be "
            f"{readings}, as the {'point' if is_comma else 'comma'} may separate thousands or "
            "decimals. Say which is the decimal sign when reading the file, decimal='.' or "
            "decimal=',', or write the cells as numbers"
        )

    def _refuse_both_signs(
        self, unclear: _Written, by_point: _Written, by_comma: _Written
    ) -> NoReturn:
        raise DataError(
            f"{self.column.title} has decimal points and decimal commas, "
            f"{self.show(by_point, by_comma)}; {unclear.text!r} at "
            f"{self.column.place(unclear.row)} may be {unclear.read(is_comma=False)} or "
            f"{unclear.read(is_comma=True)}. Write all cells with one decimal sign"
        )

    # -- the kind of the numbers

    def scale(self, written: list[_Written]) -> ScaledNumbers:
        """The numbers on the scale of their kind: shares, times, money, stars or plain numbers."""
        by_kind: dict[str, list[_Written]] = {}
        for cell in written:
            by_kind.setdefault(cell.numeral.kind, []).append(cell)
        beside = _Plain.of(by_kind.pop("number", []), self.reals)
        measures = set(by_kind) - {"percent", "fraction"}
        if measures and len(by_kind) > 1:
            self._refuse_kinds(*(cells[0] for cells in list(by_kind.values())[:2]))
        if "time" in by_kind:
            return self._scale_times(by_kind["time"], beside)
        if "money" in by_kind:
            return self._scale_money(by_kind["money"], beside)
        if "stars" in by_kind:
            return self._scale_stars(by_kind["stars"], beside)
        if by_kind:
            return self._scale_shares(
                by_kind.get("percent", []), by_kind.get("fraction", []), beside
            )
        return ScaledNumbers(beside.numbers, [])

    def _refuse_kinds(self, first: _Written, second: _Written) -> NoReturn:
        raise DataError(
            f"{self.column.title} holds numbers of two kinds: {self.show(first, second)}. Write "
            "all of them in one way, or name the columns that are metrics: metrics=[...]"
        )

    def _scale_stars(self, stars: list[_Written], beside: _Plain) -> ScaledNumbers:
        beside.fill(stars)
        drawn = [cell.text.strip() for cell in stars if cell.text.strip()[:1] in "★⭐☆"]
        # "★★★☆☆" shows its scale, if every cell has as many stars, filled or not.
        lengths = set(map(len, drawn))
        is_scale = len(drawn) == len(stars) and len(lengths) == 1 and any("☆" in t for t in drawn)
        scale = (0.0, float(lengths.pop())) if is_scale and not len(beside.rows) else None
        return ScaledNumbers(beside.numbers, [], scale)

    def _scale_money(self, money: list[_Written], beside: _Plain) -> ScaledNumbers:
        for other in money:
            if other.numeral.unit != money[0].numeral.unit:
                raise DataError(
                    f"{self.column.title} holds two currencies: {self.show(money[0], other)}. "
                    "Convert them to one"
                )
        beside.fill(money)
        return ScaledNumbers(beside.numbers, [])

    def _scale_times(self, times: list[_Written], beside: _Plain) -> ScaledNumbers:
        name = self.column.name
        units = sorted({cell.numeral.unit for cell in times}, key=seconds_in)
        in_name = unit_in_name(name)
        # Milliseconds, this library's unit of latency, where cells differ and the name says none.
        target = in_name or (units[0] if len(units) == 1 else "ms")
        converted = [
            cell._replace(number=cell.number * seconds_in(cell.numeral.unit) / seconds_in(target))
            for cell in times
        ]
        if in_name is None:
            self._check_plain_times(converted, beside, n_units=len(units))
        beside.fill(converted)
        if units != [target]:
            note = f"the times of {name!r} in {' and '.join(units)} are converted to {target}"
        elif in_name is not None:
            return ScaledNumbers(beside.numbers, [])
        elif len(beside.rows):
            note = (
                f"numbers of {name!r} without a unit are taken as {target}, the unit of the "
                f"others: {self._show_plain(beside, int(beside.rows[0]))}"
            )
        else:
            note = f"the times of {name!r} are in {target}"
        return ScaledNumbers(beside.numbers, [note])

    def _check_plain_times(self, times: list[_Written], beside: _Plain, *, n_units: int) -> None:
        """Refuse a number without a unit beside two units, or too far from the others."""
        sizes = np.abs(beside.values)
        largest = max(abs(float(cell.number)) for cell in times)
        is_far = (sizes > _NEAR * largest) | (n_units > 1)
        # The largest plain number decides, as single times may well be short.
        if n_units == 1 and len(sizes) and float(sizes.max()) * _NEAR < largest:
            is_far = sizes == sizes.max()
        row = beside.first(is_far & (sizes > 0))
        if row is not None:
            raise DataError(
                f"{self.column.title}: the unit of {self._show_plain(beside, row)} is not known, "
                f"beside {self.show(times[0])}. Write a unit in every cell or in none, or in the "
                f"name of the column, such as {self.column.name + '_ms'!r}"
            )

    def _show_plain(self, beside: _Plain, row: int) -> str:
        return f"{beside.shown(row)} at {self.column.place(row)}"

    # -- percent and fractions

    def _scale_shares(
        self, percents: list[_Written], fractions: list[_Written], beside: _Plain
    ) -> ScaledNumbers:
        notes = []
        if fractions and (beside.values != 0).any():
            notes.append(
                f"fractions stand beside plain numbers of {self.column.name!r} and are read as "
                f"shares: {self.show(*fractions)}"
            )
        whole = Decimal(1)
        if self.column.bounds is not None:
            # The stated bounds say where the plain numbers are; the shares follow.
            whole = max(whole, Decimal(repr(self.column.bounds[1])))
        elif percents:
            notes += self._percent_beside_plain(percents, fractions, beside)
        else:
            self._check_plain_beside_fractions(fractions, beside)
        # In decimals, so that 14.1 % is 0.141; fractions in floats, as Python divides.
        beside.fill(cell._replace(number=cell.number * whole / 100) for cell in percents)
        for cell in fractions:
            part, of = float(cell.number), fraction_whole_of(cell.numeral)
            beside.numbers[cell.row] = part if of == whole else part / float(of) * float(whole)
        return ScaledNumbers(beside.numbers, notes, None, whole == 1)

    def _percent_beside_plain(
        self, percents: list[_Written], fractions: list[_Written], beside: _Plain
    ) -> list[str]:
        """Plain numbers over 1 are percent too; up to 1 they may be shares, which is an error."""
        values = beside.values
        row = beside.first((values != 0) & (np.abs(values) <= 1) & ~np.isinf(values))
        if row is not None:
            number = float(beside.numbers[row])
            raise DataError(
                f"{self.column.title} holds percent beside plain numbers: "
                f"{self.show(percents[0])} and {self._show_plain(beside, row)}, which may be "
                f"{number:g} or {number:g} %. Say where the plain numbers lie: "
                f"{self.column.option((0, 1), (0, 100))}"
            )
        first = beside.first(values != 0)
        if first is None:
            return []
        if fractions:
            text = beside.shown(int(beside.rows[0])).strip("'")
            plain = _Written(int(beside.rows[0]), text, Numeral("number", "", ""))
            self._refuse_kinds(fractions[0], plain)
        shown = self._show_plain(beside, first)
        beside.numbers[beside.rows] = [float(Decimal(repr(float(v))) / 100) for v in values]
        return [
            f"plain numbers of {self.column.name!r} stand beside percent and are read as percent: "
            f"{shown} is {beside.numbers[first]:g}"
        ]

    def _check_plain_beside_fractions(self, fractions: list[_Written], beside: _Plain) -> None:
        """Plain numbers within 0 and 1, not all whole, are shares; others may be numerators."""
        values = beside.values
        is_within = (values >= 0) & (values <= 1)
        has_shares = bool(((values > 0) & (values < 1)).any())
        row = beside.first(~is_within if has_shares else values != 0)
        if row is None:
            return
        whole = float(fraction_whole_of(fractions[0].numeral))
        number = float(beside.numbers[row])
        scales = [(0.0, 1.0)] if number <= 1 else []
        raise DataError(
            f"{self.column.title} holds fractions beside plain numbers: "
            f"{self.show(fractions[0])} and {self._show_plain(beside, row)}, which may be "
            f"{number:g} or {number:g}/{whole:g}. Say where the plain numbers lie: "
            f"{self.column.option(*scales, (0.0, whole))}"
        )


class _Plain(NamedTuple):
    """The plain numbers of a column and their rows; the others are filled in beside them."""

    numbers: FloatArray
    rows: np.ndarray
    texts: dict[int, str]

    @classmethod
    def of(cls, plain: list[_Written], reals: FloatArray) -> _Plain:
        """The numbers of the cells that are numbers, or texts of plain numbers."""
        numbers = reals.copy()
        beside = cls(numbers, np.array([], dtype=np.int64), {c.row: c.text for c in plain})
        beside.fill(plain)
        is_plain = ~np.isnan(reals)
        is_plain[[cell.row for cell in plain]] = True
        return beside._replace(rows=np.flatnonzero(is_plain))

    @property
    def values(self) -> FloatArray:
        """The plain numbers."""
        values: FloatArray = self.numbers[self.rows]
        return values

    def fill(self, cells: Iterable[_Written]) -> None:
        """Write the numbers of other cells into their rows."""
        for cell in cells:
            self.numbers[cell.row] = float(cell.number)

    def first(self, is_wanted: BoolArray) -> int | None:
        """The first row whose plain number is wanted."""
        rows = self.rows[is_wanted]
        return int(rows[0]) if len(rows) else None

    def shown(self, row: int) -> str:
        """A plain number as it is written."""
        return repr(self.texts[row]) if row in self.texts else f"{self.numbers[row]:g}"
