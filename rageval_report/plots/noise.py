"""Where the noise of a mean comes from: one stacked bar per metric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Unpack, cast

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.plots.labelled_rows import PlotRow, height_of, lay_rows
from rageval_report.plots.options import ArtistOptions, MetricNames
from rageval_report.plots.style import (
    BLUE,
    GREY,
    ORANGE,
    SMALL,
    VERMILLION,
    axes_for,
    ink,
    look_of,
    note_below,
    number_text,
    tidy,
)
from rageval_report.results import Result

# Combinations are drawn with the factor that a reader would add more of: judges, then runs.
_PARTS: tuple[tuple[str, tuple[str, ...], str, str, str], ...] = (
    ("queries", ("query",), BLUE, "", "white"),
    ("runs", ("run", "query x run"), ORANGE, "..", "black"),
    ("judges", ("judge", "query x judge", "run x judge"), VERMILLION, "//", ""),
    ("the rest", ("residual",), GREY, "", "black"),
)
# A share is printed in its piece of the bar if the piece is at least this wide.
_LEAST_WIDTH = 0.07


class SplitNoise(Protocol):
    """The noise of each metric by source."""

    @property
    def title(self) -> str:
        """The title of the table."""

    @property
    def frame(self) -> pd.DataFrame:
        """One row per metric."""

    @property
    def components(self) -> Mapping[str, Any]:
        """The sources of each metric."""

    def sources(self) -> Result:
        """The share of each source."""


def noise_of(subject: object) -> SplitNoise:
    """The subject, if it is the noise of metrics by source.

    Raises
    ------
    DataError
        If it is something else.
    """
    if isinstance(subject, Result) and hasattr(subject, "sources"):
        return cast("SplitNoise", subject)
    raise DataError(
        "this plot draws the sources of noise: variance(first, second, ...); got "
        f"{type(subject).__name__}"
    )


def noise(
    subject: SplitNoise,
    metrics: MetricNames = None,
    *,
    ax: Axes | None = None,
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw what the uncertainty of each mean comes from: queries, runs, judges or the rest.

    Parameters
    ----------
    subject : Variance
        The result of `rageval_report.variance`.
    metrics : str or iterable of str, optional
        By name; all metrics of the result if omitted.
    ax, **style
        As for every plot, see `rageval_report.plots`; the style is that of the bars.

    Raises
    ------
    DataError
        If nothing varies.
    UnknownNameError
        If a metric is not in the result.

    Notes
    -----
    A bar is the whole variance of the mean, 100 %. Combinations with judges are in the part of
    judges, the combination of queries and runs in that of runs. The columns at the right are the
    standard error of queries alone and that of all sources.
    """
    split = noise_of(subject)
    names = _chosen(split, metrics)
    shares = _shares(split)
    names = [name for name in names if name in shares]
    if not names:
        raise DataError("nothing to draw: all scores are equal")
    table = split.frame.set_index("metric")
    rows = [
        PlotRow(
            str(table["title"][name]),
            (
                number_text(float(table["naive_standard_error"][name])),
                number_text(float(table["standard_error"][name])),
            ),
        )
        for name in names
    ]
    axes = axes_for(ax, 8.2, height_of(rows, 0.42))
    places = lay_rows(axes, rows, ("SE, queries", "SE, all"))
    for place, name in zip(places, names, strict=True):
        _draw_bar(axes, shares[name], place, style)
    _finish(axes, split)
    return axes


def _chosen(split: SplitNoise, metrics: MetricNames) -> list[str]:
    known = list(split.components)
    names = known if metrics is None else [metrics] if isinstance(metrics, str) else list(metrics)
    for name in names:
        if name not in known:
            raise UnknownNameError("metric of this result", name, known)
    return names


def _shares(split: SplitNoise) -> dict[str, dict[str, float]]:
    """The share of each source in the variance of the mean, metric by metric."""
    frame = split.sources().frame.dropna(subset="share_of_mean")
    return {
        str(metric): dict(zip(rows["source"], rows["share_of_mean"], strict=True))
        for metric, rows in frame.groupby("metric")
    }


def _draw_bar(ax: Axes, shares: Mapping[str, float], place: float, style: ArtistOptions) -> None:
    start = 0.0
    for _, sources, hue, hatch, letters in _PARTS:
        share = sum(shares.get(source, 0.0) for source in sources)
        if share == 0.0:
            continue
        edge = ax.get_facecolor()
        look = look_of(style, height=0.7, facecolor=hue, edgecolor=edge, hatch=hatch or None)
        ax.barh(place, share, left=start, linewidth=0.8, **look)
        if share >= _LEAST_WIDTH:
            # Without a background, the hatching would cross the digits.
            box = {"facecolor": edge, "edgecolor": "none", "pad": 1.2} if hatch else None
            ax.text(
                start + share / 2,
                place,
                f"{100 * share:.0f} %",
                ha="center",
                va="center",
                fontsize=SMALL,
                color=letters if letters and not hatch else ink(),
                bbox=box,
            )
        start += share


def _finish(ax: Axes, split: SplitNoise) -> None:
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    ax.set_xlabel("share of the variance of the mean")
    tidy(ax, f"{split.title}: where the uncertainty of the mean comes from")
    edge = ax.get_facecolor()
    keys = [
        Patch(facecolor=hue, edgecolor=edge, hatch=hatch or None, label=label)
        for label, _, hue, hatch, _ in _PARTS
    ]
    # Between the title and the bars, which leave no room beside them.
    ax.legend(
        handles=keys,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=len(keys),
        frameon=False,
        fontsize=SMALL,
        borderaxespad=0.0,
    )
    # The larger pad makes room for the legend below the title.
    ax.set_title(ax.get_title(), pad=24)
    counts = split.frame[["n", "n_runs", "n_judges"]].drop_duplicates()
    if len(counts) == 1:
        n, runs, judges = (int(count) for count in counts.iloc[0])
        note_below(ax, f"{n:,} queries, {_count(runs, 'run')}, {_count(judges, 'judge')}")


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
