"""What all pictures share: colours, sizes, and the texts of numbers and counts.

The hues are those of Okabe and Ito, which people with any colour vision can distinguish. No meaning
depends on hue alone: a marker, a line style, a hatch or a place repeats it, so that a picture
printed in grey says the same. Text and lines take the caller's own colours, so dark styles work.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import rgb_to_hsv, to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text

from rageval_report.plots.texts import add_fonts, wrap_evenly
from rageval_report.scores.names import ELLIPSIS, JOINT, ShortNames, short_name, shorten_names
from rageval_report.types import FloatArray

BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREEN = "#009E73"
ORANGE = "#E69F00"
SKY = "#56B4E9"
PURPLE = "#CC79A7"
GREY = "#999999"
PALE = "#D0D0D0"

HUES = (BLUE, VERMILLION, GREEN, ORANGE, SKY, PURPLE)
LINE_STYLES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 3)))

BETTER, WORSE, EQUAL = BLUE, VERMILLION, PALE
BETTER_MARKER, WORSE_MARKER, EQUAL_MARKER = "^", "v", "o"
WORSE_HATCH = "//"

SMALL = "small"
# Letters per inch of titles and of small text.
_TITLE_LETTERS, _NOTE_LETTERS = 12.0, 15.0
# The height of a line of the title and of the note, in inches, and how many lines of each have room
# in every figure.
_TITLE_LINE, _NOTE_LINE = 0.21, 0.155
_TITLE_ROOM, _NOTE_ROOM = 1, 2
_DARK_PAPER = 0.5  # in brightness, from 0 to 1
_NAMES_AN_INCH = 3.2  # of runs under an axis
_LONGEST_TICK = 28  # of a name under an axis, in letters
_MARGIN = 0.1  # around a figure, in inches
# Nothing of what is measured is as small as this: what a fraction of a query costs is above it,
# and a difference of 1e-08 on a scale from 0 to 1 is what rounding left.
_NOTHING = 5e-8
# A number beside its interval is nothing if it is this small a part of the largest of the three.
_NOTHING_BESIDE = 1e-4
_DEFAULT_LEVEL = 0.95
# Multiples of the golden ratio, modulo 1, are spread evenly for any number of them.
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class FittedAxes(Axes):
    """Axes that are alone in a figure, whose size the plot sets."""


def axes_for(ax: Axes | None, width: float = 6.4, height: float = 4.0) -> Axes:
    """The Axes to draw on."""
    if ax is None:
        figure = plt.figure(figsize=(width, height), layout=roomy_layout())
        return figure.add_subplot(axes_class=FittedAxes)
    if isinstance(ax, FittedAxes) and isinstance(ax.figure, Figure):
        ax.figure.set_size_inches(width, height)
    return ax


def roomy_layout() -> ConstrainedLayoutEngine:
    """The layout of a figure of our own: nothing overlaps, and nothing touches the edge."""
    return ConstrainedLayoutEngine(w_pad=_MARGIN, h_pad=_MARGIN)


def _grow(ax: Axes, inches: float) -> None:
    """Make a figure of our own higher, so that more lines of text do not squeeze the picture."""
    if inches > 0 and isinstance(ax, FittedAxes) and isinstance(ax.figure, Figure):
        ax.figure.set_figheight(ax.figure.get_figheight() + inches)


def ink() -> str:
    """The colour of text in the current style of matplotlib."""
    return str(mpl.rcParams["text.color"])


def mark(ax: Axes, x: float, y: float, *, filled: bool = True, **own: object) -> None:
    """Draw one mark of the data, filled with its colour or with that of the paper."""
    face = own["color"] if filled else ax.get_facecolor()
    usual: dict[str, Any] = {"zorder": 3, "markerfacecolor": face, "linestyle": "none"}
    ax.plot(x, y, **{**usual, **own})


def tidy(ax: Axes, title: str, *, grid: Literal["x", "y", ""] = "") -> None:
    """Set the title, remove the frame at the top and right, and draw a pale grid for one axis."""
    text = _wrap_to_axes(ax, title, _TITLE_LETTERS)
    _grow(ax, _TITLE_LINE * (text.count("\n") + 1 - _TITLE_ROOM))
    ax.set_title(plain(text))
    add_fonts(ax)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(visible=True, axis=grid, color=GREY, alpha=0.3, linewidth=0.6)


def inches_wide(ax: Axes) -> float:
    """The width of the axes, as estimated before the layout of the figure."""
    return float(ax.get_position().width * ax.figure.bbox.width / ax.figure.dpi)


def _wrap_to_axes(ax: Axes, text: str, letters: float) -> str:
    """Text in lines as long as the axes are wide, at this number of letters per inch."""
    width = max(int(letters * inches_wide(ax)), 20)
    return "\n".join(wrap_evenly(line, width) for line in text.split("\n"))


def note_below(ax: Axes, *sentences: str) -> None:
    """Write small text under the label of the x-axis: what a reader must know of this picture."""
    shown = [sentence for sentence in sentences if sentence]
    if not shown:
        return
    lists = [sentence for sentence in shown if "\n" in sentence]
    together = " ".join(sentence for sentence in shown if sentence not in lists)
    parts = [part for part in (together, *lists) if part]
    text = "\n".join(_wrap_to_axes(ax, part, _NOTE_LETTERS) for part in parts)
    _grow(ax, _NOTE_LINE * (text.count("\n") + 1 - _NOTE_ROOM))
    look = {"va": "top", "alpha": 0.75, "annotation_clip": False}
    write(ax, text, (0.5, 0.0), (0, -5), xycoords=ax.xaxis.label, **look)


def write(
    ax: Axes,
    text: str,
    place: tuple[float, float],
    shift: tuple[float, float] | None = None,
    **look: object,
) -> Text:
    """Write small text at a place, or moved from it by points; centred unless said otherwise."""
    usual: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": SMALL, "color": ink()}
    usual |= look
    if shift is None:
        return ax.text(*place, plain(text), **usual)
    return ax.annotate(plain(text), place, shift, textcoords="offset points", **usual)


def draw_interval(ax: Axes, place: float, low: float, high: float, **look: object) -> None:
    """Draw a horizontal interval, if both of its ends are known."""
    usual: dict[str, Any] = {"linewidth": 1.8, "zorder": 2, **look}
    if math.isfinite(low) and math.isfinite(high):
        ax.hlines(place, low, high, **usual)


def draw_rings(ax: Axes, places: pd.Series, values: pd.Series, area: float) -> None:
    """Draw rings around marks: regressions and alarms."""
    look: dict[str, Any] = {"facecolors": "none", "edgecolors": VERMILLION, "linewidths": 2.0}
    ax.scatter(places, values, s=area, zorder=4, **look)


def name_runs(ax: Axes, names: Sequence[str]) -> None:
    """Write the names of runs, or as many as have room, under an axis with one unit per run."""
    step = -(-len(names) // max(int(_NAMES_AN_INCH * inches_wide(ax)), 2))
    labels = [plain(name) for name in names[::step]]
    is_slanted = sum(map(len, labels)) > 9 * inches_wide(ax)
    turn: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(range(0, len(names), step), labels, **(turn if is_slanted else {}))
    ax.set_xlim(-0.5, len(names) - 0.5)


def names_note(names: ShortNames) -> str:
    """What the short names of a picture stand for; empty if they are the full ones."""
    cut = [line for short, line in names.full_names.items() if ELLIPSIS in short]
    if not cut:
        return names.shared_sentence
    return "\n".join(filter(None, [names.shared_sentence, *cut]))


def tick_names(names: ShortNames) -> dict[str, str]:
    """Names that have room under an axis: the values of settings alone, cut if they are long."""
    ticks = shorten_names(names.marks, most=_LONGEST_TICK)
    return {name: ticks.of(mark) for name, mark in zip(names.names, names.marks, strict=True)}


def marks_note(names: ShortNames) -> str:
    """What the values that stand for names are values of; empty if the names stand there."""
    if names.marks == names.short:
        return ""
    varied = [column for column in names.columns if len(set(column.values)) > 1]
    headings = [column.heading for column in varied if column.heading]
    return f"Names are values of {JOINT.join(headings)}."


def letters_of(hue: str) -> str:
    """A hue for small letters: on dark paper lighter, so that it has enough contrast."""
    if rgb_to_hsv(to_rgb(mpl.rcParams["axes.facecolor"]))[2] > _DARK_PAPER:
        return hue
    red, green, blue = (0.55 * part + 0.45 for part in to_rgb(hue))
    return to_hex((red, green, blue))


def plain(text: str) -> str:
    """Text with escaped dollar signs, so that matplotlib does not read it as a formula."""
    return text.replace("$", r"\$")


def shorten_label(text: str, most: int = 34) -> str:
    """A label on one line, cut in its middle so that it leaves room for the picture."""
    return short_name(text, most)


def number_text(value: float, *, signed: bool = False) -> str:
    """A number as text: three decimals for shares, fewer for large values."""
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    if size < _NOTHING:
        # "+0.000" would claim a direction that rounding made.
        value, size, signed = 0.0, 0.0, False
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1.5 else 3
    if 0 < size < 0.001:
        text = f"{value:+.2g}" if signed else f"{value:.2g}"
    else:
        text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    return text.replace("-", "−")


def interval_text(value: float, low: float, high: float, *, signed: bool = False) -> str:
    """An estimate and its interval as text."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return number_text(value, signed=signed)
    nothing = _NOTHING_BESIDE * max(map(abs, (value, low, high)))
    estimate, *ends = (
        number_text(0.0 if abs(number) < nothing else number, signed=signed)
        for number in (value, low, high)
    )
    return f"{estimate} [{', '.join(ends)}]"


def pvalue_text(pvalue: float) -> str:
    """A p-value as text."""
    if not math.isfinite(pvalue):
        return "–"
    return "< 0.001" if pvalue < 0.001 else f"{pvalue:.3f}"


def count_text(n: int, total: int) -> str:
    """The number of queries in the picture."""
    return f"n = {n:,}" if n == total else f"n = {n:,} of {total:,} scored"


def sizes_text(sizes: Iterable[int]) -> str:
    """The numbers of queries of several lines or runs."""
    known = list(sizes)
    low, high = min(known), max(known)
    return f"n = {low:,}" if low == high else f"n = {low:,} to {high:,}"


def level_text(settings: Mapping[str, object]) -> str:
    """The name of the intervals of a result, by its settings."""
    return f"{100 * _level_of(settings):g} % CI"


def alpha_of(settings: Mapping[str, object]) -> float:
    """The error rate of the tests of a result, which belongs to its confidence level."""
    return round(1.0 - _level_of(settings), 12)  # 0.1, not 0.09999999999999998


def _level_of(settings: Mapping[str, object]) -> float:
    return float(str(settings.get("confidence_level", _DEFAULT_LEVEL)))


def jitter(n: int) -> FloatArray:
    """Evenly spread offsets between -0.5 and 0.5; they are not random, so always the same."""
    steps = np.arange(1, n + 1, dtype=np.float64)
    return np.mod(steps * _GOLDEN, 1.0) - 0.5


def opacity(n: int) -> float:
    """The opacity of one of `n` dots: many dots are paler, so that dense places still show."""
    return float(np.clip(8.0 / math.sqrt(max(n, 1)), 0.08, 0.85))


def pad_limits(low: float, high: float, share: float = 0.04) -> tuple[float, float]:
    """Limits of an axis, a little outside of the data."""
    room = (high - low) * share or max(abs(high), 1.0) * share
    return low - room, high + room


def finite_limits(values: FloatArray, share: float) -> tuple[float, float]:
    """Limits of an axis, a little outside of the finite values."""
    finite = values[np.isfinite(values)]
    return pad_limits(float(finite.min()), float(finite.max()), share)


def levels_without_overlap(
    centres: Sequence[float], widths: Sequence[float], most: int = 3
) -> list[int]:
    """The line for each label, so that neighbours do not overlap."""
    ends = [-math.inf] * most
    levels = []
    for centre, width in zip(centres, widths, strict=True):
        free = [level for level in range(most) if ends[level] <= centre - width / 2]
        level = free[0] if free else most - 1
        ends[level] = centre + width / 2
        levels.append(level)
    return levels
