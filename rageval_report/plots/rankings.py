"""A ranking: the leaderboard, means with intervals; and the heat table, all metrics at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, rgb_to_hsv, to_rgb
from matplotlib.ticker import NullLocator

from rageval_report.errors import DataError
from rageval_report.plots import canvas, subjects
from rageval_report.plots.labelled_rows import PlotRow, height_of, lay_rows
from rageval_report.plots.options import MetricNames
from rageval_report.plots.subjects import directed_title, direction_note, select_metrics
from rageval_report.plots.texts import wrap_text
from rageval_report.scores import Metric
from rageval_report.scores.names import ShortNames, display_width, shorten_names
from rageval_report.types import FloatArray

_BEST, _MAY_BE, _WORSE = "best", "may be best", "worse"
# The marks of the best pipeline, of those may be as good, and of worse ones.
_LEADER_MARKS: dict[str, dict[str, Any]] = {
    _BEST: {"marker": "D", "markersize": 7, "color": canvas.BLUE},
    _MAY_BE: {"marker": "o", "markersize": 6.5, "color": canvas.BLUE},
    _WORSE: {"marker": "s", "markersize": 5, "color": canvas.GREY},
}


def ranking_of(subject: object) -> subjects.Ranking:
    """The subject, if it is a ranking; else `DataError`."""
    ranking: subjects.Ranking = subjects.result_with(
        subject, "groups", "a ranking: rank(first, second, ...)"
    )
    return ranking


def leaderboard(
    subject: subjects.Ranking,
    metrics: MetricNames = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean of each pipeline with its interval, the best first.

    Parameters
    ----------
    subject : Ranking
        The result of `rank`.
    metrics : str or iterable of str, optional
        By any of their names. If omitted, the largest group that shares an axis, as far as it fits,
        and a note that says which are left out.
    ax : Axes, optional
        Where to draw; a new figure if omitted.

    Raises
    ------
    DataError
        If the named metrics do not share an axis.

    Notes
    -----
    Diamond: the best mean. Hollow circle: may be as good. Grey square: worse than it.
    """
    ranking = ranking_of(subject)
    known = metrics_ranked(ranking)
    drawn, left_out = _fit_metrics(
        ranking, subjects.select_metrics(known, metrics), named=metrics is not None
    )
    frame = ranking.frame
    rows = frame[frame["metric"].isin([metric.name for metric in drawn]) & frame["rank"].notna()]
    level = canvas.level_text(ranking.settings)
    names = shorten_names(frame["pipeline"])
    lines = [replace(line, label=names.of(line.label)) for line in _lines(rows, drawn)]
    axes = canvas.axes_for(ax, 8.6, height_of(lines))
    places = lay_rows(axes, lines, (f"mean [{level}]", "group"))
    for (_, row), place in zip(rows.iterrows(), places, strict=True):
        _draw_mean(axes, row, place)
    values = rows[["mean", "ci_low", "ci_high"]].to_numpy(dtype=np.float64)
    axes.set_xlim(*canvas.finite_limits(values, 0.06))
    axes.set_xlabel(canvas.plain(subjects.axis_text(drawn[0])) if len(drawn) == 1 else "mean")
    canvas.note_below(
        axes,
        _leader_key(ranking, set(rows["standing"]), drawn),
        subjects.direction_note(drawn) if len(drawn) > 1 else "",
        subjects.left_out_note(left_out),
        canvas.names_note(names),
    )
    canvas.tidy(axes, ranking_title(ranking, drawn), grid="x")
    return axes


# -- the leaderboard


def metrics_ranked(ranking: subjects.Ranking) -> dict[str, Metric]:
    """The metrics with an order of pipelines."""
    frame = ranking.frame
    names = dict.fromkeys(frame.loc[frame["rank"].notna(), "metric"])
    if not names:
        raise DataError("nothing to draw: no query is scored by all pipelines on any metric")
    return {name: ranking.blocks[name].metric for name in names}


def _fit_metrics(
    ranking: subjects.Ranking, metrics: list[Metric], *, named: bool
) -> tuple[list[Metric], list[Metric]]:
    """The metrics that share an axis and have room on it, and the others."""
    drawn, left_out = subjects.of_one_scale(metrics, named=named)
    each = max(1, int(ranking.frame.groupby("metric").size().max()))
    most = len(drawn) if named else max(1, subjects.MOST_ROWS // each)
    return drawn[:most], [*drawn[most:], *left_out]


def _lines(rows: pd.DataFrame, drawn: Sequence[Metric]) -> list[PlotRow]:
    titles = {metric.name: subjects.directed_title(metric) for metric in drawn}
    several = len(drawn) > 1
    return [
        PlotRow(
            str(row["pipeline"]),
            (canvas.interval_text(row["mean"], row["ci_low"], row["ci_high"]), str(row["letters"])),
            titles[row["metric"]] if several else "",
        )
        for _, row in rows.iterrows()
    ]


def _draw_mean(ax: Axes, row: pd.Series, place: float) -> None:
    look = _LEADER_MARKS[row["standing"]]
    canvas.draw_interval(ax, place, row["ci_low"], row["ci_high"], color=look["color"])
    is_open = row["standing"] == _MAY_BE
    canvas.mark(ax, row["mean"], place, filled=not is_open, **look)


def _leader_key(ranking: subjects.Ranking, standings: set[str], drawn: Iterable[Metric]) -> str:
    """The meaning of the marks and the letters."""
    marks = ["Diamond: best mean"]
    if _MAY_BE in standings:
        marks.append("hollow circle: may be as good")
    if _WORSE in standings:
        marks.append("grey square: worse")
    return f"{', '.join(marks)} ({tests_of(ranking, drawn)}). Shared letter: no difference shown."


def tests_of(ranking: subjects.Ranking, drawn: Iterable[Metric]) -> str:
    """How pipelines were tested on the drawn metrics, in brackets behind a sentence."""
    correction, family = ranking.settings.get("correction"), ranking.settings.get("family_size")
    alpha = canvas.alpha_of(ranking.settings)
    how = "" if correction == "none" else f", {correction}"
    groups = {block.metric.group == "performance" for block in ranking.blocks.values()}
    if len(groups) > 1 and {metric.group for metric in drawn} == {"performance"}:
        return f"p ≤ {alpha:g}{how}"  # the setting is the number of pairs of quality metrics
    return f"p ≤ {alpha:g}{how}, {family} {'pair' if family == 1 else 'pairs'}"


def ranking_title(ranking: subjects.Ranking, drawn: Sequence[Metric]) -> str:
    """The title of a picture of a ranking: its pipelines, and the metric if there is one."""
    names = shorten_names(ranking.frame["pipeline"]).short
    subject = f"{len(names)} pipelines" if len(names) > 3 else ", ".join(names)
    return f"{subject}: {drawn[0].title}" if len(drawn) == 1 else f"Ranking of {subject}"


# In units of the axes: the width of a letter and of the mark in a cell, and the height of headings.
_LETTER, _MARK, _PADDING = 0.092, 0.2, 0.12
# ... and between the two parts, in rows.
_NARROWEST, _HEADING_LINE, _SPLIT, _PART_GAP = 0.95, 0.42, 0.95, 1.15
_LEAST_WIDTH = 5.6  # the notes and the headings of the parts have room on it
_ROW_INCHES, _COLUMN_INCHES, _MARGIN_INCHES = 0.3, 0.9, 1.3
_HEADING_LETTERS, _MOST_HEADING_LINES = 15, 4
# The shades of a column, as parts of the blue: text on the darkest one keeps its contrast.
_PALEST, _DARKEST, _DARKEST_ON_BLACK = 0.03, 0.34, 0.62
_DARK_PAPER = 0.5  # in brightness, from 0 to 1
_MARKS: Mapping[str, Mapping[str, Any]] = {
    _BEST: {"marker": "o", "markersize": 6.5, "color": canvas.BLUE},
    _MAY_BE: {"marker": "o", "markersize": 6, "color": canvas.BLUE, "markerfacecolor": "none"},
    _WORSE: {"marker": "v", "markersize": 6, "color": canvas.VERMILLION},
}


@dataclass(frozen=True, eq=False)
class HeatTable:
    """What the cells show: pipelines in rows, metrics in columns."""

    pipelines: tuple[str, ...]
    n_leading: int
    metrics: tuple[Metric, ...]
    cells: pd.DataFrame

    @property
    def means(self) -> FloatArray:
        """The means, of shape (n_pipelines, n_metrics); NaN where nothing is ranked."""
        order = pd.MultiIndex.from_product(
            [self.pipelines, [metric.name for metric in self.metrics]]
        )
        means = self.cells["mean"].reindex(order).to_numpy(dtype=np.float64)
        return means.reshape(len(self.pipelines), len(self.metrics))

    @property
    def shades(self) -> FloatArray:
        """The means between 0, the worst of the column, and 1, the best; 1/2 if all are equal."""
        signs = np.array([1.0 if metric.greater_is_better else -1.0 for metric in self.metrics])
        gains = self.means * signs
        low, high = np.nanmin(gains, axis=0), np.nanmax(gains, axis=0)
        span = np.where(high > low, high - low, 1.0)
        return np.asarray(np.where(high > low, (gains - low) / span, 0.5 + 0.0 * gains))

    @property
    def top(self) -> float:
        """The height of the lower edge of the headings; rows run downwards from 0."""
        return -0.6 - (_SPLIT if self.is_split else 0.0)

    @property
    def is_split(self) -> bool:
        """Whether some pipelines are shown to be worse and others are not."""
        return 0 < self.n_leading < len(self.pipelines)


def heat(
    subject: subjects.Ranking,
    metrics: MetricNames = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the means of all pipelines on all metrics as a table whose cells are darker if better.

    Parameters
    ----------
    subject : Ranking
        The result of `rank`.
    metrics : str or iterable of str, optional
        By any of their names; all ranked metrics if omitted. Each column has a scale of its own, so
        metrics need not share one.
    ax : Axes, optional
        Where to draw; a new figure if omitted.

    Raises
    ------
    DataError
        If the subject is not a ranking, or no metric is ranked.

    Notes
    -----
    A cell has the mean, a mark (dot: the best mean; ring: may be as good; triangle:
    shown to be worse) and letters: of pipelines that share one no difference is shown.
    The darkest cell of a column is its best mean, the palest its worst. Pipelines that are shown to
    be worse on at least one metric stand below the others; within both parts the order is that of
    the mean place. Settings in the names, such as ``top_k=3``, have columns of their own.
    """
    ranking = ranking_of(subject)
    drawn = select_metrics(metrics_ranked(ranking), metrics)
    table = heat_table(ranking, drawn)
    names = shorten_names(ranking.frame["pipeline"])
    settings = _setting_columns(names)
    left = sum(width for _, width, _ in settings)
    # A blank that does not break keeps the arrow beside the last word.
    heads = [
        wrap_text(directed_title(metric).replace(" ↓", "\u00a0↓"), _HEADING_LETTERS)
        for metric in drawn
    ]
    widths = [_width_of(table, *pair) for pair in zip(drawn, heads, strict=True)]
    head_lines = min(max(head.count("\n") + 1 for head in heads), _MOST_HEADING_LINES)
    places = _places(table)
    right = max(left + sum(widths), _LEAST_WIDTH)
    axes = canvas.axes_for(
        ax,
        _MARGIN_INCHES + _COLUMN_INCHES * right + _inches_of_names(names, settings),
        _MARGIN_INCHES + _ROW_INCHES * (places[-1] + 1.0 - table.top + _HEADING_LINE * head_lines),
    )
    edges = left + np.concatenate([[0.0], np.cumsum(widths)])
    _draw_shades(axes, table, edges, places)
    for column, metric in enumerate(drawn):
        _draw_head(axes, heads[column], (edges[column] + edges[column + 1]) / 2, table.top)
        _draw_column(axes, table, metric, edges[column], places)
    _draw_settings(axes, table, settings, places)
    _draw_parts(axes, table, places, edges[-1])
    _label_rows(axes, table, names, places, has_settings=bool(settings))
    axes.set_xlim(0.0, right)
    axes.set_ylim(places[-1] + 0.55, table.top - _HEADING_LINE * head_lines)
    axes.xaxis.set_major_locator(NullLocator())
    axes.set_xlabel("")
    canvas.note_below(axes, _key(ranking, table), direction_note(drawn), canvas.names_note(names))
    canvas.tidy(axes, ranking_title(ranking, drawn))
    axes.spines[:].set_visible(False)
    return axes


def heat_table(ranking: subjects.Ranking, metrics: Sequence[Metric]) -> HeatTable:
    """The rows and columns of the picture of a ranking."""
    wanted = [metric.name for metric in metrics]
    frame = ranking.frame[ranking.frame["metric"].isin(wanted) & ranking.frame["rank"].notna()]
    cells = frame.set_index(["pipeline", "metric"])
    places = frame.groupby("pipeline", sort=False)["rank"].mean()
    is_worse = frame["standing"].eq(_WORSE).groupby(frame["pipeline"], sort=False).any()
    order = pd.DataFrame({"is_worse": is_worse, "place": places}).sort_values(
        ["is_worse", "place"], kind="stable"
    )
    n_leading = int((~order["is_worse"]).sum())
    return HeatTable(tuple(map(str, order.index)), n_leading, tuple(metrics), cells)


def _width_of(table: HeatTable, metric: Metric, head: str) -> float:
    """The width of a column: its longest mean and letters, with the mark, or its heading."""
    rows = table.cells.xs(metric.name, level="metric")
    texts = [
        f"{canvas.number_text(float(mean))} {letters}"
        for mean, letters in zip(rows["mean"], rows["letters"], strict=True)
    ]
    widest_line = max(map(display_width, head.split("\n")))
    cells = _MARK + _LETTER * max(map(len, texts)) + _PADDING
    return max(_NARROWEST, cells, _LETTER * widest_line)


def _places(table: HeatTable) -> list[float]:
    """The height of each row, with room for the headings of the two parts."""
    gap = _PART_GAP if table.is_split else 0.0
    return [row + (gap if row >= table.n_leading else 0.0) for row in range(len(table.pipelines))]


def _setting_columns(names: ShortNames) -> list[tuple[str, float, Mapping[str, str]]]:
    """The heading, the width and the values by pipeline of the settings in the names."""
    columns = [column for column in names.columns if len(set(column.values)) > 1]
    if not columns or not all(column.heading for column in columns):
        return []
    return [
        (
            column.heading,
            _PADDING + _LETTER * max(map(display_width, (column.heading, *column.values))),
            dict(zip(names.names, column.values, strict=True)),
        )
        for column in columns
    ]


def _inches_of_names(names: ShortNames, settings: Sequence[object]) -> float:
    return 0.0 if settings else 0.08 * max(map(display_width, names.short))


def _draw_shades(ax: Axes, table: HeatTable, edges: FloatArray, places: Sequence[float]) -> None:
    paper, blue = (np.array(to_rgb(hue)) for hue in (ax.get_facecolor(), canvas.BLUE))
    darkest = _DARKEST_ON_BLACK if rgb_to_hsv(paper)[2] < _DARK_PAPER else _DARKEST
    ends = [(1.0 - part) * paper + part * blue for part in (_PALEST, darkest)]
    shades = LinearSegmentedColormap.from_list("rageval_report_heat", np.array(ends))
    look: dict[str, Any] = {
        "cmap": shades,
        "vmin": 0.0,
        "vmax": 1.0,
        "edgecolors": ax.get_facecolor(),
        "linewidth": 1.5,
    }
    values = np.ma.masked_invalid(table.shades)
    # The rows of a part touch each other; between the parts there is a gap.
    for start, stop in ((0, table.n_leading), (table.n_leading, len(places))):
        if stop > start:
            rows = [place - 0.5 for place in places[start:stop]] + [places[stop - 1] + 0.5]
            ax.pcolormesh(edges, rows, values[start:stop], **look)


def _draw_head(ax: Axes, head: str, centre: float, top: float) -> None:
    lines = head.split("\n")[:_MOST_HEADING_LINES]
    canvas.write(ax, "\n".join(lines), (centre, top), va="bottom", fontweight="bold")


def _draw_column(
    ax: Axes, table: HeatTable, metric: Metric, left: float, places: Sequence[float]
) -> None:
    """Draw the mark, the mean and the letters of each pipeline."""
    cells = table.cells.xs(metric.name, level="metric")
    columns = cells[["standing", "mean", "letters"]].to_numpy(dtype=object).tolist()
    by_name = dict(zip(map(str, cells.index), columns, strict=True))
    start = left + _MARK + 0.06
    look: dict[str, Any] = {"va": "center", "color": canvas.ink(), "fontsize": canvas.SMALL}
    look["zorder"] = 3
    for pipeline, place in zip(table.pipelines, places, strict=True):
        if pipeline not in by_name:
            ax.text(start, place, "–", **look)
            continue
        standing, mean, letters = by_name[pipeline]
        mark = _MARKS[str(standing)]
        hue = canvas.letters_of(str(mark["color"]))
        ax.plot(left + 0.14, place, **{**mark, "color": hue, "linestyle": "none", "zorder": 3})
        text = canvas.number_text(float(mean))
        weight = "bold" if standing == _BEST else "normal"
        ax.text(start, place, canvas.plain(text), fontweight=weight, **look)
        ax.text(start + _LETTER * (len(text) + 0.7), place, str(letters), alpha=0.75, **look)


def _draw_settings(
    ax: Axes,
    table: HeatTable,
    settings: Sequence[tuple[str, float, Mapping[str, str]]],
    places: Sequence[float],
) -> None:
    """Print the settings in the names at the right of their columns, as numbers are."""
    right = 0.0
    for heading, width, values in settings:
        right += width
        edge = right - _PADDING
        look: dict[str, Any] = {"ha": "right", "fontsize": canvas.SMALL, "color": canvas.ink()}
        ax.text(edge, table.top, canvas.plain(heading), va="bottom", fontweight="bold", **look)
        for pipeline, place in zip(table.pipelines, places, strict=True):
            ax.text(edge, place, canvas.plain(values[pipeline]), va="center", **look)


def _draw_parts(ax: Axes, table: HeatTable, places: Sequence[float], right: float) -> None:
    """Write over each part what its pipelines have in common."""
    if not table.is_split:
        return
    n_worse = len(table.pipelines) - table.n_leading
    first = f"May be as good as the best: {table.n_leading}"
    second = f"Shown to be worse on at least one metric: {n_worse}"
    for text, place in ((first, places[0]), (second, places[table.n_leading])):
        look: dict[str, Any] = {"ha": "left", "va": "bottom", "fontstyle": "italic", "alpha": 0.8}
        canvas.write(ax, text, (0.0, place - 0.62), **look)
    line = places[table.n_leading] - 0.58
    ax.hlines(line, 0.0, right, color=canvas.ink(), linewidth=0.6, alpha=0.5)


def _label_rows(
    ax: Axes, table: HeatTable, names: ShortNames, places: Sequence[float], *, has_settings: bool
) -> None:
    labels = ["" if has_settings else canvas.plain(names.of(name)) for name in table.pipelines]
    ax.set_yticks(list(places), labels)
    ax.tick_params(axis="y", length=0)


def _key(ranking: subjects.Ranking, table: HeatTable) -> str:
    """The meaning of the marks, the letters and the shades."""
    standings = set(table.cells["standing"])
    marks = ["Dot: best mean"]
    if _MAY_BE in standings:
        marks.append("ring: may be as good")
    if _WORSE in standings:
        marks.append("triangle: shown to be worse")
    return (
        f"{', '.join(marks)} ({tests_of(ranking, table.metrics)}). Shared letter: no difference "
        "shown. Darker is better, from the worst to the best mean of each column."
    )
