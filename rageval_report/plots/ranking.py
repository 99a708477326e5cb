"""Rankings in pictures: the leaderboard, the groups that cannot be told apart, the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Unpack, cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from rageval_report.errors import DataError
from rageval_report.plots.options import ArtistOptions, MetricNames
from rageval_report.plots.rows import Row, height_of, lay_rows
from rageval_report.plots.style import (
    BLUE,
    GREY,
    SMALL,
    axes_for,
    ink,
    interval_text,
    level_text,
    look_of,
    note_below,
    padded,
    plain,
    shortened,
    tidy,
)
from rageval_report.plots.subjects import (
    axis_text,
    chosen,
    direction_note,
    left_out_note,
    of_one_scale,
    one_metric,
    told_title,
)
from rageval_report.results import Result
from rageval_report.scores import Metric

# More rows than this are no picture any more.
_MOST_ROWS = 60
_BEST, _WORSE = "best", "worse"
# How the marks look: the best, those not told apart from it, those shown to be worse.
_MARKS: dict[str, dict[str, Any]] = {
    _BEST: {"marker": "D", "markersize": 7, "color": BLUE},
    "may be best": {"marker": "o", "markersize": 6.5, "color": BLUE, "markerfacecolor": "none"},
    _WORSE: {"marker": "s", "markersize": 5, "color": GREY},
}
_LONGEST = 28


class Ranked(Protocol):
    """Pipelines in order."""

    @property
    def frame(self) -> pd.DataFrame:
        """One row a metric and a pipeline."""

    @property
    def settings(self) -> Mapping[str, object]:
        """How the numbers were made."""

    @property
    def blocks(self) -> Mapping[str, Any]:
        """The scores by metric, with what is known of it."""

    def groups(self, metric: str) -> list[tuple[str, ...]]:
        """The pipelines that share a letter."""


def ranking_of(subject: object) -> Ranked:
    """The subject, if it is a ranking.

    Raises
    ------
    DataError
        If it is something else.
    """
    if not (isinstance(subject, Result) and hasattr(subject, "groups")):
        raise DataError(
            f"this plot draws a ranking: rank(first, second, ...); got {type(subject).__name__}"
        )
    return cast("Ranked", subject)


def leaderboard(
    subject: Ranked,
    metrics: MetricNames = None,
    *,
    ax: Axes | None = None,
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw the mean of each pipeline with its interval, the best first.

    Parameters
    ----------
    subject : Ranking
        What `rank` gives.
    metrics : str or iterable of str, optional
        By any of their names. Where none is named, the largest group that shares an axis, as far
        as it fits, and a line under the axis that says what is left out.
    ax : Axes, optional
        Where to draw; a new figure where not given.
    **style
        For the marks.

    Returns
    -------
    Axes

    Raises
    ------
    UnknownNameError
        If a metric is not known.
    DataError
        If the metrics named share no axis, or the subject is no ranking.

    Notes
    -----
    Diamond: the best mean. Hollow circle: not told apart from it. Grey square: shown to be worse.
    """
    ranking = ranking_of(subject)
    known = _metrics_ranked(ranking)
    drawn, left_out = _fitting(ranking, chosen(known, metrics), asked=metrics is not None)
    frame = ranking.frame
    rows = frame[frame["metric"].isin([metric.name for metric in drawn]) & frame["rank"].notna()]
    level = level_text(ranking.settings.get("confidence_level", 0.95))
    made = axes_for(ax, 8.6, height_of(_lines(rows, drawn)))
    places = lay_rows(made, _lines(rows, drawn), (f"mean [{level}]", "group"))
    for (_, row), place in zip(rows.iterrows(), places, strict=True):
        _draw_mean(made, row, place, style)
    values = rows[["mean", "ci_low", "ci_high"]].to_numpy(dtype=np.float64)
    finite = values[np.isfinite(values)]
    made.set_xlim(*padded(float(finite.min()), float(finite.max()), 0.06))
    made.set_xlabel(plain(axis_text(drawn[0])) if len(drawn) == 1 else "mean")
    note_below(
        made,
        _key(ranking, set(rows["standing"])),
        direction_note(drawn) if len(drawn) > 1 else "",
        left_out_note(left_out),
    )
    tidy(made, _title(ranking, drawn), grid="x")
    return made


def groups(
    subject: Ranked,
    metric: str | None = None,
    *,
    ax: Axes | None = None,
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw the pipelines along their means, and a bar over each group that cannot be told apart.

    Parameters
    ----------
    subject : Ranking
        What `rank` gives.
    metric : str, optional
        Which one, by any of its names; needed where several are ranked.
    ax : Axes, optional
        Where to draw; a new figure where not given.
    **style
        For the bars.

    Returns
    -------
    Axes

    Raises
    ------
    UnknownNameError
        If the metric is not known.
    DataError
        If there are several metrics and none is named, or the subject is no ranking.

    Notes
    -----
    As a critical-difference diagram, but of means, and each pair by its own test: a bar holds the
    pipelines that it has a dot on, the best at the right.
    """
    ranking = ranking_of(subject)
    one = one_metric(_metrics_ranked(ranking), metric)
    frame = ranking.frame
    rows = frame[(frame["metric"] == one.name) & frame["rank"].notna()]
    means = dict(zip(rows["pipeline"], rows["mean"].astype(float), strict=True))
    bars = [group for group in ranking.groups(one.name) if len(group) > 1]
    depth = len(bars) + (len(means) + 1) // 2
    made = axes_for(ax, 8.6, 1.6 + 0.26 * depth)
    ends = padded(min(means.values()), max(means.values()), 0.08)
    made.set_xlim(*(ends if one.greater_is_better else ends[::-1]))
    made.set_ylim(depth + 0.5, -0.6)
    for level, group in enumerate(bars, start=1):
        _draw_group(made, [means[name] for name in group], level, style)
    _lead_to_names(made, means, first=len(bars) + 1)
    _as_number_line(made)
    made.set_xlabel(f"mean {plain(axis_text(one))}")
    note_below(made, _groups_key(ranking, bars))
    tidy(made, _title(ranking, [one]))
    made.spines[["left", "bottom"]].set_visible(False)
    made.spines["top"].set_visible(True)
    return made


# -- the leaderboard


def _metrics_ranked(ranking: Ranked) -> dict[str, Metric]:
    """The metrics on which there is an order."""
    frame = ranking.frame
    names = dict.fromkeys(frame.loc[frame["rank"].notna(), "metric"])
    if not names:
        raise DataError("nothing to draw: no query is scored by all pipelines on any metric")
    return {name: ranking.blocks[name].metric for name in names}


def _fitting(
    ranking: Ranked, metrics: list[Metric], *, asked: bool
) -> tuple[list[Metric], list[Metric]]:
    """The metrics that share an axis and have room on it, and those left out."""
    drawn, left_out = of_one_scale(metrics, asked=asked)
    each = max(1, int(ranking.frame.groupby("metric").size().max()))
    most = len(drawn) if asked else max(1, _MOST_ROWS // each)
    return drawn[:most], [*drawn[most:], *left_out]


def _lines(rows: pd.DataFrame, drawn: Sequence[Metric]) -> list[Row]:
    titles = {metric.name: told_title(metric) for metric in drawn}
    several = len(drawn) > 1
    return [
        Row(
            str(row["pipeline"]),
            (interval_text(row["mean"], row["ci_low"], row["ci_high"]), str(row["letters"])),
            titles[row["metric"]] if several else "",
        )
        for _, row in rows.iterrows()
    ]


def _draw_mean(ax: Axes, row: pd.Series, place: float, style: ArtistOptions) -> None:
    mark = _MARKS[row["standing"]]
    if np.isfinite([row["ci_low"], row["ci_high"]]).all():
        ax.hlines(place, row["ci_low"], row["ci_high"], color=mark["color"], linewidth=1.8)
    face = ax.get_facecolor() if mark.get("markerfacecolor") == "none" else mark["color"]
    look = {**mark, "markerfacecolor": face, "linestyle": "none", "zorder": 3}
    ax.plot(row["mean"], place, **look_of(style, **look))


def _key(ranking: Ranked, standings: set[str]) -> str:
    """What the marks and the letters mean."""
    told = ["Diamond: best mean"]
    if "may be best" in standings:
        told.append("hollow circle: not told apart from it")
    if _WORSE in standings:
        told.append("grey square: shown to be worse")
    return f"{', '.join(told)} ({_tests(ranking)}). Who shares a letter is not told apart."


def _tests(ranking: Ranked) -> str:
    correction, family = ranking.settings.get("correction"), ranking.settings.get("family_size")
    alpha = round(1.0 - float(str(ranking.settings.get("confidence_level", 0.95))), 12)
    how = "" if correction == "none" else f", {correction}"
    return f"p ≤ {alpha:g}{how}, {family} {'pair' if family == 1 else 'pairs'}"


def _title(ranking: Ranked, drawn: Sequence[Metric]) -> str:
    names = list(dict.fromkeys(ranking.frame["pipeline"]))
    told = f"{len(names)} pipelines" if len(names) > 3 else ", ".join(names)
    return f"{told}: {drawn[0].title}" if len(drawn) == 1 else f"Ranking of {told}"


# -- the groups


def _draw_group(ax: Axes, means: Sequence[float], level: int, style: ArtistOptions) -> None:
    look = look_of(style, color=BLUE, linewidth=4.0, solid_capstyle="round")
    ax.plot([min(means), max(means)], [level, level], zorder=3, **look)
    ax.plot(
        means,
        [level] * len(means),
        marker="o",
        markersize=5.5,
        markerfacecolor=ax.get_facecolor(),
        markeredgecolor=look["color"],
        linestyle="none",
        zorder=4,
    )


def _lead_to_names(ax: Axes, means: Mapping[str, float], first: int) -> None:
    """A line from each mean to a name: of the better half at the right, of others at the left."""
    names = list(means)
    half = (len(names) + 1) // 2
    sides = [(names[:half], 1.0, "left", 6), (names[half:][::-1], 0.0, "right", -6)]
    for side, edge, align, offset in sides:
        for place, name in enumerate(side):
            height = first + place
            ax.plot([means[name], means[name]], [0, height], color=ink(), linewidth=0.7, alpha=0.6)
            ax.annotate(
                "",
                (edge, height),
                xytext=(means[name], height),
                xycoords=("axes fraction", "data"),
                textcoords="data",
                arrowprops={
                    "arrowstyle": "-",
                    "color": ink(),
                    "linewidth": 0.7,
                    "alpha": 0.6,
                    "shrinkA": 0,
                    "shrinkB": 0,
                },
            )
            ax.annotate(
                plain(shortened(name, _LONGEST)),
                (edge, height),
                xycoords=("axes fraction", "data"),
                xytext=(offset, 0),
                textcoords="offset points",
                ha=align,
                va="center",
                fontsize=SMALL,
                color=ink(),
                annotation_clip=False,
            )
    ax.plot(list(means.values()), [0] * len(means), "o", color=ink(), markersize=4, clip_on=False)


def _as_number_line(ax: Axes) -> None:
    """The axis on top, where the means stand."""
    ax.xaxis.set_ticks_position("top")
    ax.xaxis.set_label_position("bottom")
    ax.set_yticks([])
    ax.spines["top"].set_position(("data", 0))


def _groups_key(ranking: Ranked, bars: Sequence[tuple[str, ...]]) -> str:
    if not bars:
        return f"Every two pipelines are told apart ({_tests(ranking)})."
    return (
        f"A bar joins the pipelines that are not told apart ({_tests(ranking)}): those that it has "
        "a dot on. Best at the right."
    )
