"""The means of batches of production beside the reference run, and where the alarm was raised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, Unpack, cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from rageval_report.errors import DataError
from rageval_report.names.short_names import shorten_names
from rageval_report.plots.options import ArtistOptions
from rageval_report.plots.style import (
    BLUE,
    GREY,
    VERMILLION,
    axes_for,
    finite_limits,
    inches_wide,
    ink,
    look_of,
    marks_note,
    note_below,
    plain,
    shorten_label,
    tick_names,
    tidy,
)
from rageval_report.results import Result
from rageval_report.scores import resolver

ALL = "all"
_NAMES_AN_INCH = 3.2


class DrawnMonitoring(Protocol):
    """The outcome of a monitoring, and its batches."""

    @property
    def title(self) -> str:
        """The title."""

    @property
    def frame(self) -> pd.DataFrame:
        """One row per metric and slice."""

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings that produced the numbers."""

    @property
    def batches(self) -> pd.DataFrame:
        """One row per metric, slice and batch."""


def monitor(
    subject: DrawnMonitoring,
    metric: str | None = None,
    *,
    group: str | None = None,
    ax: Axes | None = None,
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw the mean of each batch, the reference, the limit, and the alarm.

    Parameters
    ----------
    subject : Monitoring
        The result of `rageval_report.run_history.monitor`.
    metric : str, optional
        The metric, by any of its names; if omitted, the first with an alarm, else the first.
    group : str, optional
        The slice; if omitted, "all", or the first with an alarm if that has none.
    ax, **style
        As for every plot, see `rageval_report.plots`; the style is that of the line.

    Raises
    ------
    UnknownNameError
        If there is no such metric.
    DataError
        If there is no such slice, or the subject is not a monitoring.
    """
    monitoring = monitoring_of(subject)
    row = _row_of(monitoring.frame, metric, group)
    path = monitoring.batches
    path = path[(path["metric"] == row["metric"]) & (path["slice"] == row["slice"])]
    axes = axes_for(ax, float(np.clip(5.5 + 0.09 * len(path), 6.4, 11.0)), 4.0)
    axes.axhline(float(row["reference_mean"]), color=ink(), linewidth=1.0, linestyle=":", zorder=1)
    axes.axhline(float(row["limit"]), color=GREY, linewidth=1.2, linestyle="--", zorder=1)
    look = look_of(style, color=BLUE, linewidth=1.8, marker="o", markersize=5)
    axes.plot(path["place"], path["mean"], zorder=3, **look)
    alarms = path[path["alarm"]]
    axes.scatter(
        *(alarms["place"], alarms["mean"]),
        s=110,
        facecolors="none",
        edgecolors=VERMILLION,
        linewidths=2.0,
        zorder=4,
    )
    _mark_since(axes, row, path)
    _label_axes(axes, row, path)
    note_below(
        axes,
        f"Dotted: the mean of {shorten_label(str(monitoring.settings['reference']))}. Dashed: the "
        "worst mean that is as good, given what is known of it.",
        "Rings: batches since the alarm." if len(alarms) else "No alarm.",
        marks_note(shorten_names(path["batch"])),
        shorten_names(path["batch"]).shared_sentence,
    )
    where = "" if row["slice"] == ALL else f", {row['slice']}"
    tidy(axes, f"{row['title']}{where} — {monitoring.title}", grid="y")
    return axes


def monitoring_of(subject: object) -> DrawnMonitoring:
    """The subject, if it is a monitoring.

    Raises
    ------
    DataError
        If it is something else.
    """
    if not (isinstance(subject, Result) and hasattr(subject, "batches")):
        raise DataError(
            f"this plot draws a monitoring: monitor('runs/'); got {type(subject).__name__}"
        )
    return cast("DrawnMonitoring", subject)


def _row_of(frame: pd.DataFrame, metric: str | None, group: str | None) -> pd.Series:
    """The row to draw: the one that is named, else one with an alarm."""
    rows = frame
    if metric is not None:
        rows = rows[rows["metric"] == resolver(frame["metric"].unique())(metric)]
    if group is not None:
        rows = rows[rows["slice"] == group]
    if not len(rows):
        known = ", ".join(dict.fromkeys(map(str, frame["slice"])))
        raise DataError(f"group must be a slice that was watched: {known}; got {group!r}")
    # A stable sort keeps "all" before the groups.
    return rows.sort_values("alarm", ascending=False, kind="stable").iloc[0]


def _mark_since(ax: Axes, row: pd.Series, path: pd.DataFrame) -> None:
    if row["alarm"]:
        place = float(path.loc[path["batch"] == row["since"], "place"].iloc[0])
        ax.axvspan(place - 0.5, len(path) - 0.5, color=VERMILLION, alpha=0.08, linewidth=0)


def _label_axes(ax: Axes, row: pd.Series, path: pd.DataFrame) -> None:
    marks = tick_names(shorten_names(path["batch"]))
    names = path["batch"].tolist()
    step = -(-len(names) // max(int(_NAMES_AN_INCH * inches_wide(ax)), 2))
    labels = [plain(marks[str(name)]) for name in names[::step]]
    ax.set_xticks(range(0, len(names), step))
    ax.set_xticklabels(labels)
    if sum(map(len, labels)) > 9 * inches_wide(ax):
        for label in ax.get_xticklabels():
            label.set(rotation=45, ha="right", rotation_mode="anchor")
    ax.set_xlim(-0.5, len(names) - 0.5)
    low, high = path["n"].min(), path["n"].max()
    count = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    ax.set_xlabel(plain(f"batches in the order of time, n = {count} per batch"))
    ax.set_ylabel(plain(f"mean of {row['title']}"))
    drawn = [*path["mean"], row["reference_mean"], row["limit"]]
    ax.set_ylim(*finite_limits(np.array(drawn, dtype=np.float64), 0.15))
