"""Means from run to run: the trends of a history, and a metric that is watched."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from rageval_report.errors import DataError
from rageval_report.plots import canvas, subjects
from rageval_report.plots.options import MetricNames
from rageval_report.scores import Metric, resolver
from rageval_report.scores.names import ShortNames, shorten_names

_MARKERS = ("o", "s", "D", "^", "P", "X")
# Up to this many runs have bars for intervals, and lines are shifted a little from each other; more
# runs have bands, if there are few lines, because bands of many lines would hide each other.
_MOST_BARS, _MOST_BANDS, _SHIFT = 12, 3, 0.09
_MANY_RUNS = 25  # from here on, marks are smaller
_BREAK_LETTERS = 40
_MOST_NAMED = 5


def trends(
    subject: subjects.History,
    metrics: MetricNames = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the means of a history from run to run, with their intervals.

    Parameters
    ----------
    subject : subjects.History
        The result of `rageval_report.run_history.history`.
    metrics : str or iterable of str, optional
        By any of their names, up to six that share an axis. If omitted, the largest group that
        shares an axis, and a note that says which are left out.
    ax : Axes, optional
        Where to draw; a new figure if omitted.

    Raises
    ------
    DataError
        If the named metrics do not share an axis or are more than six.

    Notes
    -----
    A line breaks where a run is not comparable with the one before it; a dashed line says why. A
    ring marks the first run with a regression against the baseline. If one metric is drawn, the
    dotted line is the mean of the baseline.
    """
    history: subjects.History = subjects.result_with(
        subject, "changes", "a history: history('runs/')"
    )
    frame = history.frame
    known = subjects.metrics_of_frame(frame)
    requested = subjects.select_metrics(known, metrics)
    drawn, left_out = subjects.of_one_scale(requested, named=metrics is not None)
    more = drawn[len(canvas.HUES) :]
    if more and metrics is not None:
        raise DataError(
            f"{len(drawn)} lines cannot be distinguished; choose up to {len(canvas.HUES)}"
        )
    drawn = drawn[: len(canvas.HUES)]
    names = shorten_names(run.name for run in history.runs)
    runs = [run.name for run in history.runs]
    axes = canvas.axes_for(ax, _width_of(len(runs), len(drawn)), 4.4)
    as_bars = len(runs) <= _MOST_BARS
    for number, metric in enumerate(drawn):
        rows = frame[(frame["metric"] == metric.name) & frame["mean"].notna()]
        shift = _SHIFT * (number - (len(drawn) - 1) / 2) if as_bars else 0.0
        stretches = _stretches(rows, shift)
        if as_bars or len(drawn) <= _MOST_BANDS:
            _draw_intervals(axes, stretches, canvas.HUES[number], as_bars=as_bars)
        size = 3 if len(runs) > _MANY_RUNS else 5
        _draw_line(axes, stretches, metric, number, size)
    if not axes.has_data():
        raise DataError("nothing to draw: no query of these runs is scored")
    shown = frame[frame["metric"].isin([metric.name for metric in drawn])]
    _draw_baseline(axes, shown, str(history.settings["baseline"]))
    marks = canvas.tick_names(names)
    _label_axes(axes, [marks[run] for run in runs], drawn, shown)
    _mark_breaks(axes, shown)
    canvas.note_below(
        axes,
        _interval_note(len(runs), len(drawn), canvas.level_text(history.settings)),
        _regression_note(shown, history, names),
        names.in_text(_undrawn_note(frame, drawn, str(history.settings["baseline"]))),
        subjects.direction_note(drawn) if len(drawn) > 1 else "",
        subjects.left_out_note(more, f"more than {len(canvas.HUES)} lines"),
        subjects.left_out_note(left_out),
        canvas.marks_note(names),
        names.shared_sentence,
    )
    head = f"{drawn[0].title} — " if len(drawn) == 1 else ""
    canvas.tidy(axes, f"{head}{names.in_text(history.title)}", grid="y")
    return axes


def _width_of(n_runs: int, n_lines: int) -> float:
    return float(np.clip(5.5 + 0.09 * n_runs, 6.4, 11.0)) + (2.0 if n_lines > 1 else 0.0)


def _stretches(rows: pd.DataFrame, shift: float) -> list[pd.DataFrame]:
    """The rows of a line, split where runs are not comparable or lack the metric."""
    place, segment = rows["place"].to_numpy(), rows["segment"].to_numpy()
    breaks = 1 + np.flatnonzero((np.diff(place) > 1) | (np.diff(segment) > 0))
    ends = [0, *breaks.tolist(), len(rows)]
    moved = rows.assign(place=place + shift)
    return [moved.iloc[start:stop] for start, stop in pairwise(ends) if stop > start]


def _draw_intervals(
    ax: Axes, stretches: Sequence[pd.DataFrame], hue: str, *, as_bars: bool
) -> None:
    for stretch in stretches:
        place, low, high = (stretch[name] for name in ("place", "ci_low", "ci_high"))
        if as_bars or len(stretch) == 1:
            ax.vlines(place, low, high, color=hue, linewidth=1.4, alpha=0.7)
        else:
            ax.fill_between(place, low, high, color=hue, alpha=0.15, linewidth=0)


def _draw_line(
    ax: Axes, stretches: Sequence[pd.DataFrame], metric: Metric, number: int, size: float
) -> None:
    """Draw the line of one metric, and a ring at its first regression."""
    look: dict[str, Any] = {
        "color": canvas.HUES[number],
        "linestyle": canvas.LINE_STYLES[number],
        "linewidth": 1.8,
        "marker": _MARKERS[number],
        "markersize": size,
    }
    label = canvas.plain(canvas.shorten_label(subjects.directed_title(metric)))
    for stretch in stretches:
        ax.plot(stretch["place"], stretch["mean"], label=label, zorder=3, **look)
        # The stretches of one line share one entry of the legend.
        label = "_nolegend_"
        first = stretch[stretch["first_regression"]]
        canvas.draw_rings(ax, first["place"], first["mean"], 130)


def _draw_baseline(ax: Axes, shown: pd.DataFrame, baseline: str) -> None:
    """Draw the baseline's mean as a line, up to the last run that is comparable with it."""
    at = shown[shown["run"] == baseline]
    if len(set(shown["metric"])) != 1 or not at["mean"].notna().any():
        return
    mean, place, segment = (float(at[name].iloc[0]) for name in ("mean", "place", "segment"))
    end = float(shown.loc[shown["segment"] == segment, "place"].max()) + 0.3
    ax.hlines(mean, place, end, color=canvas.ink(), linewidth=1.0, linestyle=":", zorder=2)
    edge = canvas.ink()
    ax.plot(place, mean, "*", markersize=13, color=canvas.HUES[0], markeredgecolor=edge, zorder=5)


def _mark_breaks(ax: Axes, shown: pd.DataFrame) -> None:
    """Draw a dashed line before each run that is not comparable, with the reason."""
    why = shown.dropna(subset=["differs"]).groupby("place")["differs"].first()
    top = ax.get_xaxis_transform()
    for number, (place, reason) in enumerate(why.items()):
        before = float(str(place)) - 0.5
        ax.axvline(before, color=canvas.GREY, linewidth=1.2, linestyle="--", zorder=1)
        # More reasons would overlap each other.
        if len(why) <= 4:
            side = "left" if before < 0.6 * len(shown["run"].unique()) - 0.5 else "right"
            look: dict[str, Any] = {"xycoords": top, "ha": side, "va": "baseline", "alpha": 0.75}
            at = before, 0.02 + 0.055 * (number % 2)
            canvas.write(ax, canvas.shorten_label(str(reason), _BREAK_LETTERS), at, (3, 0), **look)


def _label_axes(
    ax: Axes, names: Sequence[str], drawn: Sequence[Metric], shown: pd.DataFrame
) -> None:
    canvas.name_runs(ax, names)
    ax.set_xlabel(f"runs in the order of time, {canvas.sizes_text(shown['n'])} per run")
    ax.set_ylabel(canvas.plain(subjects.axis_text(drawn[0]) if len(drawn) == 1 else "mean score"))
    values = shown[["mean", "ci_low", "ci_high"]].to_numpy(dtype=np.float64)
    ax.set_ylim(*canvas.finite_limits(values, 0.12))
    if len(drawn) > 1:
        ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, handlelength=3.4)


def _interval_note(n_runs: int, n_lines: int, level: str) -> str:
    if n_runs <= _MOST_BARS:
        return f"Bars: {level} of the mean."
    return f"Bands: {level} of the mean." if n_lines <= _MOST_BANDS else ""


def _regression_note(shown: pd.DataFrame, history: subjects.History, names: ShortNames) -> str:
    baseline = names.of(history.settings["baseline"])
    key = "Star and dotted line: the baseline." if len(set(shown["metric"])) == 1 else ""
    if shown["first_regression"].any():
        return f"{key} Ring: the first run with a regression against {baseline}.".strip()
    if len(history.runs) > 1:
        return f"{key} No run shows a regression against {baseline} on these metrics.".strip()
    return key


def _undrawn_note(frame: pd.DataFrame, drawn: Sequence[Metric], baseline: str) -> str:
    """A note on regressions of metrics that are not in the picture."""
    undrawn = ~frame["metric"].isin([metric.name for metric in drawn])
    first = frame[undrawn & frame["first_regression"].astype(bool)]
    regressions = [
        f"{title} at {run}" for title, run in zip(first["title"], first["run"], strict=True)
    ]
    names = ", ".join(regressions[:_MOST_NAMED]) + (
        " ..." if len(regressions) > _MOST_NAMED else ""
    )
    return f"Not drawn, worse than {baseline}: {names}." if regressions else ""


def monitor(
    subject: subjects.Monitoring,
    metric: str | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean of each batch, the reference, the limit, and the alarm.

    Parameters
    ----------
    subject : subjects.Monitoring
        The result of `rageval_report.run_history.monitor`.
    metric : str, optional
        The metric, by any of its names; if omitted, the first with an alarm, else the first.
    ax : Axes, optional
        Where to draw; a new figure if omitted.

    Raises
    ------
    UnknownNameError
        If there is no such metric.
    DataError
        If the subject is not a monitoring.
    """
    monitoring: subjects.Monitoring = subjects.result_with(
        subject, "batches", "a monitoring: monitor('runs/')"
    )
    rows = monitoring.frame
    if metric is not None:
        rows = rows[rows["metric"] == resolver(rows["metric"].unique())(metric)]
    row = rows.sort_values("alarm", ascending=False, kind="stable").iloc[0]
    path = monitoring.batches
    path = path[path["metric"] == row["metric"]]
    axes = canvas.axes_for(ax, float(np.clip(5.5 + 0.09 * len(path), 6.4, 11.0)), 4.0)
    axes.axhline(
        float(row["reference_mean"]), color=canvas.ink(), linewidth=1.0, linestyle=":", zorder=1
    )
    axes.axhline(float(row["limit"]), color=canvas.GREY, linewidth=1.2, linestyle="--", zorder=1)
    look: dict[str, Any] = {"color": canvas.BLUE, "linewidth": 1.8, "marker": "o", "markersize": 5}
    axes.plot(path["place"], path["mean"], zorder=3, **look)
    alarms = path[path["alarm"]]
    canvas.draw_rings(axes, alarms["place"], alarms["mean"], 110)
    _mark_since(axes, row, path)
    _label_batches(axes, row, path)
    canvas.note_below(
        axes,
        f"Dotted: the mean of {canvas.shorten_label(str(monitoring.settings['reference']))}. "
        "Dashed: the worst mean that is as good, given what is known of it.",
        "Rings: batches since the alarm." if len(alarms) else "No alarm.",
        canvas.marks_note(shorten_names(path["batch"])),
        shorten_names(path["batch"]).shared_sentence,
    )
    canvas.tidy(axes, f"{row['title']} — {monitoring.title}", grid="y")
    return axes


def _mark_since(ax: Axes, row: pd.Series, path: pd.DataFrame) -> None:
    if row["alarm"]:
        place = float(path.loc[path["batch"] == row["since"], "place"].iloc[0])
        ax.axvspan(place - 0.5, len(path) - 0.5, color=canvas.VERMILLION, alpha=0.08, linewidth=0)


def _label_batches(ax: Axes, row: pd.Series, path: pd.DataFrame) -> None:
    marks = canvas.tick_names(shorten_names(path["batch"]))
    canvas.name_runs(ax, [marks[str(name)] for name in path["batch"]])
    ax.set_xlabel(f"batches in the order of time, {canvas.sizes_text(path['n'])} per batch")
    ax.set_ylabel(canvas.plain(f"mean of {row['title']}"))
    drawn = [*path["mean"], row["reference_mean"], row["limit"]]
    ax.set_ylim(*canvas.finite_limits(np.array(drawn, dtype=np.float64), 0.15))
