"""The leaderboard of a ranking: the mean of each pipeline with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from rageval_report.scores.names import shorten_names

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
