"""The Pareto front: the trade-off between two objectives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.plots import canvas, subjects
from rageval_report.results import Result
from rageval_report.scores.names import ShortNames, display_width, shorten_names
from rageval_report.types import FloatArray

# More names do not fit beside their marks: numbers stand there, and a list is at the right.
_MOST_NAMES = 10
# Long numbers, such as costs of 0.00025, would touch each other on more ticks.
_MOST_TICKS = 6
_INCHES_A_LETTER = 0.067
# The width and the line height of a small letter, in points.
_LETTER, _LINE = 4.7, 11.0
# Places for a name beside its mark, in the order of preference: offsets in points, and the side.
_SPOTS = (
    *((7, 6, "left"), (7, -8, "left"), (-7, 6, "right"), (-7, -8, "right")),
    *((0, 11, "center"), (0, -13, "center"), (7, 17, "left"), (-7, -19, "right")),
    *((7, -19, "left"), (-7, 17, "right"), (0, 22, "center"), (0, -24, "center")),
)


def pareto(
    subject: subjects.ParetoFront,
    x: str | None = None,
    y: str | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw two objectives against each other, and mark the pipelines that no other dominates.

    Parameters
    ----------
    subject : subjects.ParetoFront, or Ranking
        For a ranking, the result of its own `pareto`.
    x, y : str, optional
        The names of two objectives; the second and the first if omitted.
    ax : Axes, optional
        Where to draw; a new figure if omitted.

    Raises
    ------
    UnknownNameError
        If an objective is not part of the front.
    DataError
        If the front has fewer than two objectives.

    Notes
    -----
    Diamonds are on the front over all its objectives; of grey circles another pipeline is ahead on
    these queries. The percentages are the shares of resamples of the queries in which a pipeline is
    on the front.
    """
    answer: Any = subject
    if isinstance(answer, Result) and not hasattr(answer, "axes") and hasattr(answer, "pareto"):
        answer = answer.pareto()
    what = "a Pareto front: rank(first, second, ...).pareto()"
    front: subjects.ParetoFront = subjects.result_with(answer, "axes", what)
    across, up = _two_of(front, x, y)
    frame = front.frame
    short = shorten_names(frame["pipeline"])
    # A list at the right takes room from the picture.
    room = _INCHES_A_LETTER * max(map(display_width, short.marks))
    width = 8.0 + (room if len(frame) > _MOST_NAMES else 0.0)
    axes = canvas.axes_for(ax, width, max(5.2, 1.8 + 0.17 * len(frame)))
    _draw_lines(axes, frame, across, up, len(front.axes))
    for _, row in frame.iterrows():
        _draw_mark(axes, row, across, up)
    _set_limits(axes, frame, across, up)
    axes.xaxis.set_major_locator(MaxNLocator(_MOST_TICKS))
    _write_names(axes, frame, across, up, short)
    axes.set_xlabel(_label(across))
    axes.set_ylabel(_label(up))
    canvas.note_below(
        axes, *_key(front, across, up), canvas.marks_note(short), canvas.names_note(short)
    )
    names = short.short
    title = f"{len(names)} pipelines" if len(names) > 3 else ", ".join(sorted(names))
    canvas.tidy(axes, f"Pareto front of {title}", grid="x")
    return axes


def _two_of(
    front: subjects.ParetoFront, x: str | None, y: str | None
) -> tuple[subjects.Figure, subjects.Figure]:
    by_name = {objective.name: objective for objective in front.axes}
    for name in (x, y):
        if name is not None and name not in by_name:
            raise UnknownNameError("objective of this front", name, by_name)
    if len(by_name) < 2:
        raise DataError(
            f"a front is drawn over two objectives; there is only {', '.join(by_name)}; name "
            "others with ranking.pareto(['faithfulness', 'latency_ms'])"
        )
    up = y or next(name for name in by_name if name != x)
    across = x or next(name for name in by_name if name != up)
    if up == across:
        raise DataError(f"x and y are both {up!r}; choose two objectives")
    return by_name[across], by_name[up]


def _draw_lines(
    ax: Axes, frame: pd.DataFrame, across: subjects.Figure, up: subjects.Figure, n_axes: int
) -> None:
    """Draw the step line along the front, if the front has only these two objectives."""
    # The front over more objectives is not a line when two of them are drawn.
    if n_axes > 2:
        return
    on = frame[frame["on_front"]].sort_values(across.name)
    steps = "steps-post" if across.greater_is_better != up.greater_is_better else "steps-pre"
    look: dict[str, Any] = {"linewidth": 1.2, "alpha": 0.6, "drawstyle": steps, "zorder": 1}
    ax.plot(on[across.name], on[up.name], color=canvas.BLUE, **look)


def _draw_mark(ax: Axes, row: pd.Series, across: subjects.Figure, up: subjects.Figure) -> None:
    hue = canvas.BLUE if row["on_front"] else canvas.GREY
    center = row[across.name], row[up.name]
    for objective, vertical in ((across, False), (up, True)):
        low, high = row[f"{objective.name}_ci_low"], row[f"{objective.name}_ci_high"]
        if np.isfinite([low, high]).all():
            draw = ax.vlines if vertical else ax.hlines
            draw(center[1 - vertical], low, high, color=hue, linewidth=1.0, alpha=0.55, zorder=2)
    marker, size = ("D", 7.5) if row["on_front"] else ("o", 6.0)
    canvas.mark(ax, *center, marker=marker, markersize=size, color=hue)


def _set_limits(
    ax: Axes, frame: pd.DataFrame, across: subjects.Figure, up: subjects.Figure
) -> None:
    for objective, limit in ((across, ax.set_xlim), (up, ax.set_ylim)):
        columns = [objective.name, f"{objective.name}_ci_low", f"{objective.name}_ci_high"]
        limit(*canvas.finite_limits(frame[columns].to_numpy(dtype=np.float64), 0.14))


def _write_names(
    ax: Axes, frame: pd.DataFrame, across: subjects.Figure, up: subjects.Figure, short: ShortNames
) -> None:
    """Write each name beside its mark, where it overlaps other names and marks the least."""
    points = _in_points(ax, frame[[across.name, up.name]].to_numpy(dtype=np.float64))
    width = _in_points(ax, np.array([[ax.get_xlim()[1], ax.get_ylim()[1]]]))[0, 0]
    occupied = [(x - 5, y - 5, x + 5, y + 5) for x, y in points.tolist()]
    names = [f"{short.mark_of(row['pipeline'])} {_share(row)}" for _, row in frame.iterrows()]
    labels = names if len(names) <= _MOST_NAMES else _write_list(ax, names)
    for (_, row), (x, y), text in zip(frame.iterrows(), points.tolist(), labels, strict=True):
        boxes = [_box(x, y, text, spot) for spot in _SPOTS]
        costs = [_overlap(box, occupied) + _outside(box, width) for box in boxes]
        best = int(np.argmin(costs))
        occupied.append(boxes[best])
        right, above, side = _SPOTS[best]
        # An outline in the colour of the paper keeps names legible where they cross lines.
        outline = [withStroke(linewidth=2.5, foreground=ax.get_facecolor())]
        # Over the intervals, under the marks.
        look: dict[str, Any] = {"ha": side, "path_effects": outline, "zorder": 2.5}
        canvas.write(ax, text, (row[across.name], row[up.name]), (right, above), **look)


def _write_list(ax: Axes, names: Sequence[str]) -> list[str]:
    """Write a numbered list at the right of the axes; returns the numbers for the marks."""
    for place, name in enumerate(names):
        look: dict[str, Any] = {"xycoords": "axes fraction", "ha": "left", "annotation_clip": False}
        at = 1.0, 1.0 - (place + 0.5) / len(names)
        canvas.write(ax, f"{place + 1}  {name}", at, (8, 0), **look)
    return [str(place + 1) for place in range(len(names))]


def _in_points(ax: Axes, values: FloatArray) -> FloatArray:
    """The distance of data from the lower left corner in points, as estimated before the layout."""
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    wide = 72.0 * canvas.inches_wide(ax)
    tall = 72.0 * float(ax.get_position().height * ax.figure.bbox.height / ax.figure.dpi)
    scaled = (values - [left, low]) / [right - left, high - low]
    return np.asarray(scaled * [wide, tall])


def _share(row: pd.Series) -> str:
    return f"({100 * float(row['probability_on_front']):.0f} %)"


_Box = tuple[float, float, float, float]


def _box(x: float, y: float, text: str, spot: tuple[int, int, str]) -> _Box:
    right, above, side = spot
    wide = _LETTER * len(text)
    left = x + right - {"left": 0.0, "center": wide / 2, "right": wide}[side]
    return left, y + above - _LINE / 2, left + wide, y + above + _LINE / 2


def _overlap(box: _Box, occupied: Sequence[_Box]) -> float:
    area = 0.0
    for other in occupied:
        wide = min(box[2], other[2]) - max(box[0], other[0])
        tall = min(box[3], other[3]) - max(box[1], other[1])
        area += max(wide, 0.0) * max(tall, 0.0)
    return area


def _outside(box: _Box, width: float) -> float:
    return 20.0 * (max(-box[0], 0.0) + max(box[2] - width, 0.0))


def _label(objective: subjects.Figure) -> str:
    way = "higher" if objective.greater_is_better else "lower"
    label = f"{objective.name}: {canvas.shorten_label(objective.made_of, 44)}"
    if objective.name == "quality":  # its parts fill a line of their own
        label = objective.name
    elif objective.name in objective.made_of.split(" of ")[-1]:
        label = objective.made_of
    return canvas.plain(f"{label} ({way} is better)")


def _key(front: subjects.ParetoFront, across: subjects.Figure, up: subjects.Figure) -> list[str]:
    others = [axis.name for axis in front.axes if axis.name not in (across.name, up.name)]
    level = canvas.level_text(front.settings)
    over = f" over these and {', '.join(others)}" if others else ""
    quality = [f"quality = {axis.made_of}" for axis in front.axes if axis.name == "quality"]
    return [
        f"Diamond: on the front{over}; circle: another is ahead. Lines: {level}. In brackets: the "
        "share of resamples of the queries in which the pipeline is on the front.",
        *quality,
    ]
