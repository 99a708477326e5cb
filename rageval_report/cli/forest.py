"""The intervals of a comparison, drawn as characters in a column of its table, and what to do next.

All rows share one axis, of which the unit is the standard deviation of a query's difference, so
that metrics of any scale can be read side by side. The difference is turned: right is better.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rageval_report.analysis.compare import Comparison
    from rageval_report.results import Result

SIZES = (20, 16, 12)  # columns of a drawing, the first that leaves the table room
# Effects beyond half a standard deviation ("medium", Cohen 1988), and beyond twice the usual width
# of an interval, are drawn at the edge: they would squeeze all others.
_MEDIUM_EFFECT = 0.5
_WIDTHS = 2.0
# The layout of tables drops blanks at the ends of a cell, so it places these first.
_PLACE = "\ue000"
_OUTCOMES = ("better", "worse", "equivalent", "undecided")
# The line of an interval, the line of zero, where they cross, and a point for each outcome.
UNICODE, ASCII = "─│┼▲▼◆○", "-|+^v=o"

_LIMIT = "5"
_MOST_METRICS = 4  # named in one command


class StandardisedRow(NamedTuple):
    """An improvement with the ends of its interval, in standard deviations, and its outcome."""

    low: float
    point: float
    high: float
    outcome: str


def glyphs_for(encoding: str | None) -> str:
    """The characters that an encoding can write.

    Examples
    --------
    >>> glyphs_for("utf-8")[1], glyphs_for("latin-1")[1]
    ('│', '|')
    """
    try:
        UNICODE.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def with_place(comparison: Comparison, glyphs: str, size: int) -> Result | None:
    """What is printed of a comparison, with a column for the drawing; None if there is no interval.

    The drawing is put into its text by `fill_place`.
    """
    shown = comparison.printed()
    place, ends = _PLACE * size, _axis_of(standardised_rows(comparison), size)
    if not ends[0] < ends[1] or "ci_high" not in shown.headline:
        return None
    after = shown.headline.index("ci_high") + 1
    return replace(
        shown,
        frame=shown.frame.assign(**{place: place}),
        headline=(*shown.headline[:after], place, *shown.headline[after:]),
        notes=(*shown.notes, _key(comparison, glyphs)),
    )


def fill_place(text: str, comparison: Comparison, glyphs: str, size: int) -> str | None:
    """A page of text with the drawings in their places; None if the table broke them."""
    every = standardised_rows(comparison)
    rows = [every[index] for index in comparison.printed().frame.index]
    ends, place = _axis_of(rows, size), _PLACE * size
    drawings = iter([draw_row(row, ends, glyphs, size) for row in rows])
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if place in line:  # a head stands above the line under it
            is_head = lines[number + 1 : number + 2] and lines[number + 1].startswith("--")
            drawing = _head(ends, glyphs, size) if is_head else next(drawings, "")
            lines[number] = line.replace(place, drawing).rstrip()
    filled = "\n".join(lines)
    return None if _PLACE in filled or next(drawings, None) is not None else filled


def standardised_rows(comparison: Comparison) -> list[StandardisedRow]:
    """The rows of the drawing, in the order of the table; where lower is better, turned."""
    rows = []
    for row in comparison.frame.to_dict("records"):
        differences = comparison.differences(row["metric"], row["candidate"])
        unit = float(differences.std()) if len(differences) > 1 else math.nan
        sign = 1.0 if row["improvement"] == row["difference"] else -1.0
        low, high = sorted(_in_units(sign * row[end], unit) for end in ("ci_low", "ci_high"))
        outcome = row["verdict"] if row["verdict"] in _OUTCOMES else "undecided"
        rows.append(StandardisedRow(low, _in_units(row["improvement"], unit), high, outcome))
    return rows


def _in_units(value: float, unit: float) -> float:
    """A difference in units of a standard deviation; infinite if the differences are all equal."""
    if value == 0 or math.isnan(value + unit):
        return 0.0 if value == 0 else math.nan
    return value / unit if unit > 0 else math.copysign(math.inf, value)


def _axis_of(rows: Sequence[StandardisedRow], size: int) -> tuple[float, float]:
    """The ends of the axis: zero and all intervals, as far as they are not extreme."""
    farthest = _farthest(rows)
    values = [value for row in rows for value in row[:3] if not math.isnan(value)]
    near = [min(max(value, -farthest), farthest) for value in values]
    low, high = min([0.0, *near]), max([0.0, *near])
    # There is at least one column on either side of zero.
    return min(low, -high / (size - 4)), max(high, -low / (size - 4))


def _farthest(rows: Sequence[StandardisedRow]) -> float:
    """The effect beyond which a row is drawn at the edge."""
    widths = sorted(row.high - row.low for row in rows if math.isfinite(row.high - row.low))
    return max(_MEDIUM_EFFECT, _WIDTHS * widths[len(widths) // 2] if widths else 0.0)


def draw_row(
    row: StandardisedRow, ends: tuple[float, float], glyphs: str, size: int = SIZES[0]
) -> str:
    """One interval on the axis, as `size` characters.

    An interval that leaves out zero does not touch the line of zero, however near it comes.

    Examples
    --------
    >>> draw_row(StandardisedRow(-0.2, 0.2, 0.6, "undecided"), (-1.0, 0.9), ASCII)
    '        --+-o----   '
    """
    line, zero_line, crossing, *marks = list(glyphs)
    zero = _column(0.0, ends, size)
    cells = [" "] * size
    cells[zero] = zero_line
    if not math.isnan(row.point):
        # A point stands alone without an interval.
        low, high = (row.point if math.isnan(end) else end for end in (row.low, row.high))
        nearest, farthest = zero + 1 if low > 0 else 0, zero - 1 if high < 0 else size - 1
        first, place, last = (
            min(max(_column(value, ends, size), nearest), farthest)
            for value in (low, row.point, high)
        )
        for column in range(first, last + 1):
            cells[column] = crossing if column == zero else line
        cells[min(max(place, first), last)] = marks[_OUTCOMES.index(row.outcome)]
    return "".join(cells)


def _column(value: float, ends: tuple[float, float], size: int) -> int:
    """The column of a value; values beyond the axis are at its edge."""
    low, high = ends
    return round((min(max(value, low), high) - low) / (high - low) * (size - 1))


def _head(ends: tuple[float, float], glyphs: str, size: int) -> str:
    """The heading of the drawing, with the line of zero where the rows have it."""
    zero = _column(0.0, ends, size)
    left, right = "worse ", " better"
    before = left if zero >= len(left) else ""
    after = right if size - zero > len(right) else ""
    return before.rjust(zero) + glyphs[1] + after.ljust(size - zero - 1)


def _key(comparison: Comparison, glyphs: str) -> str:
    """What the characters mean."""
    rows = standardised_rows(comparison)
    present = {row.outcome for row in rows}
    marks = [
        f"{mark} {outcome}"
        for mark, outcome in zip(glyphs[3:], _OUTCOMES, strict=True)
        if outcome in present
    ]
    level = 100 * float(str(comparison.settings["confidence_level"]))
    farthest = _farthest(rows)
    is_cut = any(abs(value) > farthest for row in rows for value in row[:3])
    edge = ", larger ones at the edge" if is_cut else ""
    return (
        f"drawn: the improvement and its {level:g} % interval in standard deviations of a query's "
        f"difference{edge}; right is better; {', '.join(marks)}"
    )


# -- what to do next


def drill_down(comparison: Comparison, files: Mapping[str, str]) -> list[str]:
    """The words of the command that lists the queries which got worse on the worst metric.

    A metric on which the candidate is shown to be worse comes before all others; then the largest
    loss in standard deviations of a query's difference counts. Empty if no query got worse.
    """
    rows = standardised_rows(comparison)
    order = [
        (row.outcome != "worse", 0.0 if math.isnan(row.point) else row.point, place)
        for place, (row, losses) in enumerate(zip(rows, comparison.frame["losses"], strict=True))
        if losses > 0
    ]
    if not order:
        return []
    worst = comparison.frame.iloc[min(order)[-1]]
    runs = (files[worst["baseline"]], files[worst["candidate"]])
    return ["regressions", *runs, "--metric", worst["metric"], "--limit", _LIMIT]


def plan_for_undecided(comparison: Comparison, files: Mapping[str, str]) -> list[str]:
    """The words of the command that plans the queries for the metrics that are not decided.

    The plan is at the level that the correction leaves to the tests that are not shown. Empty if
    all tested metrics are decided.
    """
    frame = comparison.frame
    outcomes = [row.outcome for row in standardised_rows(comparison)]
    is_tested = list(frame["pvalue"].notna())
    undecided = frame[
        [
            outcome == "undecided" and tested
            for outcome, tested in zip(outcomes, is_tested, strict=True)
        ]
    ]
    if undecided.empty:
        return []
    rows = undecided[undecided["candidate"] == undecided["candidate"].iloc[0]][:_MOST_METRICS]
    first = rows.iloc[0]
    words = ["plan", files[first["baseline"]], "--candidate", files[first["candidate"]]]
    words += ["--metric", ",".join(rows["metric"])]
    margin = comparison.settings.get("margin")
    if isinstance(margin, float):
        words += ["--difference", f"{margin:g}"]
    n_tests = sum(
        tested and outcome in ("undecided", "equivalent")
        for outcome, tested in zip(outcomes, is_tested, strict=True)
    )
    if comparison.settings.get("correction") == "none":
        n_tests = 1
    return words if n_tests == len(rows) else [*words, "--tests", str(n_tests)]


def pasted(words: Sequence[str]) -> str:
    """A command line that a shell reads as these words.

    Examples
    --------
    >>> pasted(["report", "my run.csv"])
    "rageval-report report 'my run.csv'"
    """
    return shlex.join(["rageval-report", *words])
