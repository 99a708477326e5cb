"""The intervals of a comparison, drawn as characters beside the numbers of its table.

All rows share one axis, of which the unit is the standard deviation of a query's difference, so
that metrics of any scale can be read side by side. The difference is turned: right is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from rageval_report.analysis.compare import Comparison
from rageval_report.render.cell_text import confidence
from rageval_report.render.display import wrap
from rageval_report.render.plain_text import NARROWEST, WIDTH, table_lines
from rageval_report.render.text_table import TextColumn, TextTable, table_of
from rageval_report.results import Result

COLUMNS = 20
# Beyond it, the eye loses the row between a name and its number.
WIDEST = 130
# Effects beyond half a standard deviation ("medium", Cohen 1988), and beyond twice the usual width
# of an interval, are drawn at the edge: they would squeeze all others.
_MEDIUM_EFFECT = 0.5
_WIDTHS = 2.0
# The layout of tables drops blanks at the ends of a cell, so it places these first.
_PLACEHOLDER = "\ue000" * COLUMNS
# In a narrow terminal these stand beside the drawing, and all others in a second block.
_DECIDING = ("metric", "candidate", "difference", "ci_low", "ci_high", "pvalue_adjusted")
_LABELS = ("metric", "candidate")

Outcome = Literal["better", "worse", "equivalent", "undecided"]
OUTCOMES: tuple[Outcome, ...] = ("better", "worse", "equivalent", "undecided")


@dataclass(frozen=True)
class ForestGlyphs:
    """The characters of the drawing.

    Parameters
    ----------
    line, zero, crossing : str
        An interval, the line of zero, and where they cross.
    marks : tuple of str
        The point of an interval, in the order of `OUTCOMES`.
    """

    line: str
    zero: str
    crossing: str
    marks: tuple[str, str, str, str]

    def mark(self, outcome: Outcome) -> str:
        """The character of an outcome."""
        return self.marks[OUTCOMES.index(outcome)]


UNICODE_GLYPHS = ForestGlyphs("─", "│", "┼", ("▲", "▼", "◆", "○"))
ASCII_GLYPHS = ForestGlyphs("-", "|", "+", ("^", "v", "=", "o"))


class StandardisedRow(NamedTuple):
    """An improvement with the ends of its interval, in standard deviations, and its outcome."""

    low: float
    point: float
    high: float
    outcome: Outcome


def glyphs_for(encoding: str | None) -> ForestGlyphs:
    """The characters that an encoding can write.

    Parameters
    ----------
    encoding : str, optional
        The encoding of the terminal, such as "utf-8".

    Examples
    --------
    >>> glyphs_for("utf-8").zero, glyphs_for("latin-1").zero
    ('│', '|')
    """
    glyphs = UNICODE_GLYPHS
    try:
        "".join((glyphs.line, glyphs.zero, glyphs.crossing, *glyphs.marks)).encode(
            encoding or "ascii"
        )
    except (UnicodeEncodeError, LookupError):
        return ASCII_GLYPHS
    return glyphs


def add_forest(
    text: str, comparison: Comparison, width: int | None, encoding: str | None = "utf-8"
) -> str:
    """The text of a comparison with its intervals drawn beside the numbers, if there is room.

    Parameters
    ----------
    text : str
        The comparison as a page of text.
    comparison : Comparison
        The same comparison.
    width : int, optional
        The width of the terminal; that of a page if None.
    encoding : str, optional
        The encoding of the terminal.
    """
    page_width = WIDTH if width is None else max(NARROWEST, min(WIDTH, width))
    table = table_of(comparison.printed())
    if not table.columns:
        return text
    plain = "\n".join(table_lines(table, page_width))
    drawn = forest_lines(comparison, WIDTH if width is None else width, glyphs_for(encoding))
    return text.replace(plain, "\n".join(drawn), 1) if drawn else text


def forest_lines(comparison: Comparison, width: int, glyphs: ForestGlyphs) -> list[str]:
    """The lines of the table with the drawing, and its key; empty without room for them.

    Parameters
    ----------
    comparison : Comparison
        The comparison.
    width : int
        The width of the terminal.
    glyphs : ForestGlyphs
        The characters to draw with.
    """
    every, shown = standardised_rows(comparison), comparison.printed()
    rows = [every[place] for place in shown.frame.index]
    ends = axis_of(rows)
    lines = _lines_with_room(shown, min(width, WIDEST)) if ends[0] < ends[1] else []
    if not lines:
        return []
    drawings = iter([_head(ends, glyphs), *(draw_row(row, ends, glyphs) for row in rows)])
    drawn = [
        line.replace(_PLACEHOLDER, next(drawings)).rstrip() if _PLACEHOLDER in line else line
        for line in lines
    ]
    key = wrap(_key(comparison, rows, glyphs), min(width, WIDTH), hanging=len("Drawn: "))
    return [*drawn, "", *key]


# -- the axis


def standardised_rows(comparison: Comparison) -> list[StandardisedRow]:
    """The rows of the drawing, in the order of the table.

    Parameters
    ----------
    comparison : Comparison
        The comparison; where lower is better, the sign is turned.
    """
    alpha = 1.0 - float(str(comparison.settings["confidence_level"]))
    frame = comparison.frame
    missing = np.full(len(frame), np.nan)
    rows = []
    for metric, candidate, difference, gain, low, high, pvalue, equivalence_pvalue in zip(
        *(frame[name] for name in ("metric", "candidate", "difference", "improvement")),
        *(frame[name] for name in ("ci_low", "ci_high", "pvalue_adjusted")),
        frame.get("equivalence_pvalue_adjusted", missing),
        strict=True,
    ):
        differences = comparison.differences(metric, candidate)
        unit = float(differences.std()) if len(differences) > 1 else math.nan
        sign = 1.0 if gain == difference else -1.0
        ends = sorted(_standardise(sign * end, unit) for end in (low, high))
        outcome = _outcome(gain, pvalue <= alpha, equivalence_pvalue <= alpha)
        rows.append(StandardisedRow(ends[0], _standardise(gain, unit), ends[1], outcome))
    return rows


def _outcome(gain: float, is_shown: bool, is_equivalent: bool) -> Outcome:
    if is_shown:
        return "better" if gain > 0 else "worse"
    return "equivalent" if is_equivalent else "undecided"


def _standardise(value: float, unit: float) -> float:
    """A difference in units of a standard deviation; infinite if the differences are all equal."""
    if value == 0 or math.isnan(value + unit):
        return 0.0 if value == 0 else math.nan
    return value / unit if unit > 0 else math.copysign(math.inf, value)


def axis_of(rows: Sequence[StandardisedRow]) -> tuple[float, float]:
    """The ends of the axis: zero and all intervals, as far as they are not extreme.

    Parameters
    ----------
    rows : sequence of StandardisedRow
        The rows.

    Examples
    --------
    >>> axis_of([StandardisedRow(-0.1, 0.2, 0.5, "undecided")])
    (-0.1, 0.5)
    """
    farthest = _farthest(rows)
    values = [value for row in rows for value in row[:3] if not math.isnan(value)]
    near = [min(max(value, -farthest), farthest) for value in values]
    low, high = min([0.0, *near]), max([0.0, *near])
    # There is at least one column on either side of zero.
    return min(low, -high / (COLUMNS - 4)), max(high, -low / (COLUMNS - 4))


def _farthest(rows: Sequence[StandardisedRow]) -> float:
    """The effect beyond which a row is drawn at the edge."""
    widths = [row.high - row.low for row in rows if math.isfinite(row.high - row.low)]
    return max(_MEDIUM_EFFECT, _WIDTHS * float(np.median(widths)) if widths else 0.0)


def draw_row(row: StandardisedRow, ends: tuple[float, float], glyphs: ForestGlyphs) -> str:
    """One interval on the axis, as `COLUMNS` characters.

    An interval that leaves out zero does not touch the line of zero, however near it comes.

    Parameters
    ----------
    row : StandardisedRow
        The improvement and its interval.
    ends : (float, float)
        The ends of the axis.
    glyphs : ForestGlyphs
        The characters to draw with.

    Examples
    --------
    >>> draw_row(StandardisedRow(-0.2, 0.2, 0.6, "undecided"), (-1.0, 0.9), ASCII_GLYPHS)
    '        --+-o----   '
    """
    zero = _column(0.0, ends)
    cells = [" "] * COLUMNS
    cells[zero] = glyphs.zero
    if not math.isnan(row.point):
        first, place, last = _columns_of(row, ends, zero)
        for column in range(first, last + 1):
            cells[column] = glyphs.crossing if column == zero else glyphs.line
        cells[place] = glyphs.mark(row.outcome)
    return "".join(cells)


def _columns_of(row: StandardisedRow, ends: tuple[float, float], zero: int) -> tuple[int, int, int]:
    """The columns of both ends and of the point, which stands alone without an interval."""
    low, high = (row.point if math.isnan(end) else end for end in (row.low, row.high))
    nearest = zero + 1 if low > 0 else 0
    farthest = zero - 1 if high < 0 else COLUMNS - 1
    first, place, last = (
        min(max(_column(value, ends), nearest), farthest) for value in (low, row.point, high)
    )
    return first, min(max(place, first), last), last


def _column(value: float, ends: tuple[float, float]) -> int:
    """The column of a value; values beyond the axis are at its edge."""
    low, high = ends
    return round((min(max(value, low), high) - low) / (high - low) * (COLUMNS - 1))


# -- the table around it


def _lines_with_room(comparison: Result, width: int) -> list[str]:
    """The lines of the table with a place for the drawing; empty if a line would be too wide.

    The drawing stands after the interval. If the columns do not fit side by side, those that decide
    are beside it, and the others in a second block.
    """
    columns = tuple(comparison.headline or comparison.frame.columns)
    columns = tuple(name for name in columns if name != comparison.grouped_by)
    after_interval = columns.index("ci_high") + 1
    whole = _table_with_place(comparison, columns[:after_interval], columns[after_interval:])
    lines = table_lines(whole, width)
    if _is_one_block(lines) and _has_whole_rows(lines, whole.n_rows):
        return lines
    deciding = [name for name in columns if name in _DECIDING and not name.startswith("pvalue")]
    others = [name for name in columns if name not in _DECIDING or name in _LABELS]
    first = table_lines(_table_with_place(comparison, deciding, ["pvalue_adjusted"]), width)
    second = table_lines(table_of(comparison, columns=others), width)
    return [*first, "", *second] if _is_one_block(first) else []


def _table_with_place(comparison: Result, before: Sequence[str], after: Sequence[str]) -> TextTable:
    left, right = (table_of(comparison, columns=names) for names in (before, after))
    place = TextColumn(_PLACEHOLDER, (_PLACEHOLDER,) * left.n_rows, is_numeric=True)
    return replace(left, columns=(*left.columns, place, *right.columns))


def _is_one_block(lines: Sequence[str]) -> bool:
    return "" not in lines


def _has_whole_rows(lines: Sequence[str], n_rows: int) -> bool:
    """Whether no row takes more than one line."""
    first = next(place for place, line in enumerate(lines) if _PLACEHOLDER in line)
    rows = [line for line in lines[first + 1 :] if not set(line) <= {"-", " "}]
    return len(rows) == n_rows


def _head(ends: tuple[float, float], glyphs: ForestGlyphs) -> str:
    """The heading of the drawing, with the line of zero where the rows have it."""
    zero = _column(0.0, ends)
    left, right = "worse ", " better"
    before = left if zero >= len(left) else ""
    after = right if COLUMNS - zero > len(right) else ""
    return before.rjust(zero) + glyphs.zero + after.ljust(COLUMNS - zero - 1)


def _key(comparison: Comparison, rows: Sequence[StandardisedRow], glyphs: ForestGlyphs) -> str:
    """What the characters mean."""
    present = {row.outcome for row in rows}
    marks = [f"{glyphs.mark(outcome)} {outcome}" for outcome in OUTCOMES if outcome in present]
    level = confidence(comparison.settings.get("confidence_level"))
    farthest = _farthest(rows)
    is_cut = any(abs(value) > farthest for row in rows for value in row[:3])
    edge = ", larger ones at the edge" if is_cut else ""
    return (
        f"Drawn: the improvement and its {level} in standard deviations of a query's "
        f"difference{edge}; right is better; {', '.join(marks)}"
    )
