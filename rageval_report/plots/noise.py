"""Where the noise of a mean comes from: one stacked bar per metric."""

from __future__ import annotations

from typing import Unpack

from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.plots import canvas, subjects
from rageval_report.plots.labelled_rows import PlotRow, height_of, lay_rows, stack_pieces
from rageval_report.plots.options import ArtistOptions, MetricNames

# Combinations are drawn with the factor that a reader would add more of: judges, then runs.
_PARTS: tuple[tuple[str, tuple[str, ...], str, str | None, str], ...] = (
    ("queries", ("query",), canvas.BLUE, None, "white"),
    ("runs", ("run", "query x run"), canvas.ORANGE, "..", ""),
    ("judges", ("judge", "query x judge", "run x judge"), canvas.VERMILLION, "//", ""),
    ("the rest", ("residual",), canvas.GREY, None, "black"),
)
# A share is printed in its piece of the bar if the piece is at least this wide.
_LEAST_WIDTH = 0.07


def noise(
    subject: subjects.Variance,
    metrics: MetricNames = None,
    *,
    ax: Axes | None = None,
    **style: Unpack[ArtistOptions],
) -> Axes:
    """Draw what the uncertainty of each mean comes from: queries, runs, judges or the rest.

    Parameters
    ----------
    subject : subjects.Variance
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
    split: subjects.Variance = subjects.result_with(
        subject, "sources", "the sources of noise: variance(first, second, ...)"
    )
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
                canvas.number_text(float(table["naive_standard_error"][name])),
                canvas.number_text(float(table["standard_error"][name])),
            ),
        )
        for name in names
    ]
    axes = canvas.axes_for(ax, 8.2, height_of(rows, 0.42))
    places = lay_rows(axes, rows, ("SE, queries", "SE, all"))
    for place, name in zip(places, names, strict=True):
        pieces = []
        for _, sources, hue, hatch, letters in _PARTS:
            share = sum(shares[name].get(source, 0.0) for source in sources)
            text = f"{100 * share:.0f} %" if share >= _LEAST_WIDTH else ""
            pieces.append((share, text, hue, hatch, letters))
        stack_pieces(axes, place, pieces, style)
    _finish(axes, split)
    return axes


def _chosen(split: subjects.Variance, metrics: MetricNames) -> list[str]:
    known = list(split.components)
    names = known if metrics is None else [metrics] if isinstance(metrics, str) else list(metrics)
    for name in names:
        if name not in known:
            raise UnknownNameError("metric of this result", name, known)
    return names


def _shares(split: subjects.Variance) -> dict[str, dict[str, float]]:
    """The share of each source in the variance of the mean, metric by metric."""
    frame = split.sources().frame.dropna(subset="share_of_mean")
    return {
        str(metric): dict(zip(rows["source"], rows["share_of_mean"], strict=True))
        for metric, rows in frame.groupby("metric")
    }


def _finish(ax: Axes, split: subjects.Variance) -> None:
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    ax.set_xlabel("share of the variance of the mean")
    canvas.tidy(ax, f"{split.title}: where the uncertainty of the mean comes from")
    edge = ax.get_facecolor()
    keys = [
        Patch(facecolor=hue, edgecolor=edge, hatch=hatch, label=label)
        for label, _, hue, hatch, _ in _PARTS
    ]
    # Between the title and the bars, which leave no room beside them.
    ax.legend(
        handles=keys,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=len(keys),
        frameon=False,
        fontsize=canvas.SMALL,
        borderaxespad=0.0,
    )
    # The larger pad makes room for the legend below the title.
    ax.set_title(ax.get_title(), pad=24)
    counts = split.frame[["n", "n_runs", "n_judges"]].drop_duplicates()
    if len(counts) == 1:
        n, runs, judges = (int(count) for count in counts.iloc[0])
        several = (
            f"{runs} run{'s' if runs != 1 else ''}, {judges} judge{'s' if judges != 1 else ''}"
        )
        canvas.note_below(ax, f"{n:,} queries, {several}")
