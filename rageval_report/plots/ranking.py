"""Pictures of a ranking: the leaderboard, and the groups without a shown difference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from rageval_report.errors import DataError
from rageval_report.plots import canvas, subjects
from rageval_report.plots.labelled_rows import PlotRow, height_of, lay_rows
from rageval_report.plots.options import ArtistOptions, MetricNames
from rageval_report.scores import Metric
from rageval_report.scores.names import ShortNames, display_width, shorten_names

_INCHES_A_LETTER = 0.067
_BEST, _WORSE = "best", "worse"
# The marks of the best pipeline, of those may be as good, and of worse ones.
_MARKS: dict[str, dict[str, Any]] = {
    _BEST: {"marker": "D", "markersize": 7, "color": canvas.BLUE},
    "may be best": {
        "marker": "o",
        "markersize": 6.5,
        "color": canvas.BLUE,
        "markerfacecolor": "none",
    },
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
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw the mean of each pipeline with its interval, the best first.

    Parameters
    ----------
    subject : Ranking
        The result of `rank`.
    metrics : str or iterable of str, optional
        By any of their names. If omitted, the largest group that shares an axis, as far as it fits,
        and a note that says which are left out.
    ax, **style
        As for every plot, see `rageval_report.plots`; the style is that of the marks.

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
        _draw_mean(axes, row, place, style)
    values = rows[["mean", "ci_low", "ci_high"]].to_numpy(dtype=np.float64)
    axes.set_xlim(*canvas.finite_limits(values, 0.06))
    axes.set_xlabel(canvas.plain(subjects.axis_text(drawn[0])) if len(drawn) == 1 else "mean")
    canvas.note_below(
        axes,
        _key(ranking, set(rows["standing"]), drawn),
        subjects.direction_note(drawn) if len(drawn) > 1 else "",
        subjects.left_out_note(left_out),
        canvas.names_note(names),
    )
    canvas.tidy(axes, ranking_title(ranking, drawn), grid="x")
    return axes


def groups(
    subject: subjects.Ranking,
    metric: str | None = None,
    *,
    ax: Axes | None = None,
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw the pipelines along their means, and a bar over each group without a shown difference.

    Parameters
    ----------
    subject : Ranking
        The result of `rank`.
    metric : str, optional
        By any of its names; needed if several are ranked.
    ax, **style
        As for every plot, see `rageval_report.plots`; the style is that of the bars.

    Raises
    ------
    DataError
        If there are several metrics and none is named.

    Notes
    -----
    Like a critical-difference diagram, but of means, and with one test per pair: a bar joins the
    pipelines on which it has a dot, the best at the right.
    """
    ranking = ranking_of(subject)
    known = subjects.single_metric(metrics_ranked(ranking), metric)
    frame = ranking.frame
    rows = frame[(frame["metric"] == known.name) & frame["rank"].notna()]
    means = dict(zip(rows["pipeline"], rows["mean"].astype(float), strict=True))
    bars = [group for group in ranking.groups(known.name) if len(group) > 1]
    depth = len(bars) + (len(means) + 1) // 2
    names = shorten_names(means)
    widest = max(map(display_width, names.short))
    axes = canvas.axes_for(ax, max(8.6, 5.6 + 2 * _INCHES_A_LETTER * widest), 1.6 + 0.26 * depth)
    ends = canvas.pad_limits(min(means.values()), max(means.values()), 0.08)
    axes.set_xlim(*(ends if known.greater_is_better else ends[::-1]))
    axes.set_ylim(depth + 0.5, -0.6)
    for level, group in enumerate(bars, start=1):
        _draw_group(axes, [means[name] for name in group], level, style)
    _lead_to_names(axes, means, names, first=len(bars) + 1)
    _move_axis_to_top(axes)
    axes.set_xlabel(f"mean {canvas.plain(subjects.axis_text(known))}")
    canvas.note_below(axes, _groups_key(ranking, bars, known), canvas.names_note(names))
    canvas.tidy(axes, ranking_title(ranking, [known]))
    axes.spines[["left", "bottom"]].set_visible(False)
    # `tidy` has hidden the top, where this picture has its axis.
    axes.spines["top"].set_visible(True)
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


def _draw_mean(ax: Axes, row: pd.Series, place: float, style: ArtistOptions) -> None:
    mark = _MARKS[row["standing"]]
    canvas.draw_interval(ax, place, row["ci_low"], row["ci_high"], color=mark["color"])
    face = ax.get_facecolor() if mark.get("markerfacecolor") == "none" else mark["color"]
    look = {**mark, "markerfacecolor": face, "linestyle": "none", "zorder": 3}
    ax.plot(row["mean"], place, **canvas.look_of(style, **look))


def _key(ranking: subjects.Ranking, standings: set[str], drawn: Iterable[Metric]) -> str:
    """The meaning of the marks and the letters."""
    marks = ["Diamond: best mean"]
    if "may be best" in standings:
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


# -- the groups


def _draw_group(ax: Axes, means: Sequence[float], level: int, style: ArtistOptions) -> None:
    look = canvas.look_of(style, color=canvas.BLUE, linewidth=4.0, solid_capstyle="round")
    ax.plot([min(means), max(means)], [level, level], zorder=3, **look)
    dots: dict[str, Any] = {
        "markerfacecolor": ax.get_facecolor(),
        "markeredgecolor": look["color"],
        "zorder": 4,
    }
    ax.plot(means, [level] * len(means), "o", markersize=5.5, **dots)


def _lead_to_names(ax: Axes, means: Mapping[str, float], short: ShortNames, first: int) -> None:
    """Draw a line from each mean to its name: the better half at the right, others at the left."""
    names = list(means)
    half = (len(names) + 1) // 2
    sides = [(names[:half], 1.0, "left", 6), (names[half:][::-1], 0.0, "right", -6)]
    for side, edge, align, offset in sides:
        for place, name in enumerate(side):
            height = first + place
            line: dict[str, Any] = {"color": canvas.ink(), "linewidth": 0.7, "alpha": 0.6}
            arrow: dict[str, Any] = {"arrowstyle": "-", "shrinkA": 0, "shrinkB": 0, **line}
            at: dict[str, Any] = {"xycoords": ("axes fraction", "data")}
            ax.plot([means[name]] * 2, [0, height], **line)
            ax.annotate(
                "", (edge, height), (means[name], height), textcoords="data", arrowprops=arrow, **at
            )
            look = {"ha": align, "annotation_clip": False, **at}
            canvas.write(ax, short.of(name), (edge, height), (offset, 0), **look)
    ax.plot(
        list(means.values()), [0] * len(means), "o", color=canvas.ink(), markersize=4, clip_on=False
    )


def _move_axis_to_top(ax: Axes) -> None:
    """Move the axis to the top, where the means are."""
    ax.xaxis.set_ticks_position("top")
    ax.xaxis.set_label_position("bottom")
    ax.set_yticks([])
    ax.spines["top"].set_position(("data", 0))


def _groups_key(ranking: subjects.Ranking, bars: Sequence[tuple[str, ...]], drawn: Metric) -> str:
    tests = tests_of(ranking, [drawn])
    if not bars:
        return f"All pipelines differ from each other ({tests})."
    return (
        f"A bar joins the pipelines on which it has a dot: no difference of them is shown "
        f"({tests}). Best at the right."
    )
