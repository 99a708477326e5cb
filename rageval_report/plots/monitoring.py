"""The means of batches of production beside the reference run, and where the alarm was raised."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from rageval_report.errors import DataError
from rageval_report.plots import canvas, subjects
from rageval_report.plots.options import ArtistOptions
from rageval_report.scores import resolver
from rageval_report.scores.names import shorten_names

ALL = "all"


def monitor(
    subject: subjects.Monitoring,
    metric: str | None = None,
    *,
    group: str | None = None,
    ax: Axes | None = None,
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw the mean of each batch, the reference, the limit, and the alarm.

    Parameters
    ----------
    subject : subjects.Monitoring
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
    monitoring: subjects.Monitoring = subjects.result_with(
        subject, "batches", "a monitoring: monitor('runs/')"
    )
    row = _row_of(monitoring.frame, metric, group)
    path = monitoring.batches
    path = path[(path["metric"] == row["metric"]) & (path["slice"] == row["slice"])]
    axes = canvas.axes_for(ax, float(np.clip(5.5 + 0.09 * len(path), 6.4, 11.0)), 4.0)
    axes.axhline(
        float(row["reference_mean"]), color=canvas.ink(), linewidth=1.0, linestyle=":", zorder=1
    )
    axes.axhline(float(row["limit"]), color=canvas.GREY, linewidth=1.2, linestyle="--", zorder=1)
    look = canvas.look_of(style, color=canvas.BLUE, linewidth=1.8, marker="o", markersize=5)
    axes.plot(path["place"], path["mean"], zorder=3, **look)
    alarms = path[path["alarm"]]
    canvas.draw_rings(axes, alarms["place"], alarms["mean"], 110)
    _mark_since(axes, row, path)
    _label_axes(axes, row, path)
    canvas.note_below(
        axes,
        f"Dotted: the mean of {canvas.shorten_label(str(monitoring.settings['reference']))}. "
        "Dashed: the worst mean that is as good, given what is known of it.",
        "Rings: batches since the alarm." if len(alarms) else "No alarm.",
        canvas.marks_note(shorten_names(path["batch"])),
        shorten_names(path["batch"]).shared_sentence,
    )
    where = "" if row["slice"] == ALL else f", {row['slice']}"
    canvas.tidy(axes, f"{row['title']}{where} — {monitoring.title}", grid="y")
    return axes


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
        ax.axvspan(place - 0.5, len(path) - 0.5, color=canvas.VERMILLION, alpha=0.08, linewidth=0)


def _label_axes(ax: Axes, row: pd.Series, path: pd.DataFrame) -> None:
    marks = canvas.tick_names(shorten_names(path["batch"]))
    canvas.name_runs(ax, [marks[str(name)] for name in path["batch"]])
    ax.set_xlabel(f"batches in the order of time, {canvas.sizes_text(path['n'])} per batch")
    ax.set_ylabel(canvas.plain(f"mean of {row['title']}"))
    drawn = [*path["mean"], row["reference_mean"], row["limit"]]
    ax.set_ylim(*canvas.finite_limits(np.array(drawn, dtype=np.float64), 0.15))
