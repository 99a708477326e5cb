"""Pictures of a scanned pipeline, drawn from the counts of its scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from rageval_report.analysis.arguments import scans_among
from rageval_report.plots import plot_named
from rageval_report.stats.columns import Column
from rageval_report.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rageval_report.plots.kinds import Plot
    from rageval_report.scale.scan import EvaluationScan

# Plots of the counts of one metric at a time, and of tables.
_DRAWN_FROM_COUNTS = ("distribution", "ecdf", "box", "forest", "slices")
# Texts of the page of a large table are cut, so that it stays below five megabytes.
_LONGEST_TEXT = 300


@dataclass(frozen=True, eq=False)
class DrawnScan:
    """What plots of one metric at a time use of a scan, which has the other attributes."""

    scan: EvaluationScan

    def __getattr__(self, name: str) -> Any:
        return getattr(self.scan, name)

    @property
    def scores(self) -> DrawnScan:
        """The scores, metric by metric: this object itself."""
        return self

    def __len__(self) -> int:
        return self.scan.n_queries

    def __getitem__(self, metric: str) -> pd.Series:
        return pd.Series(self._column(metric).listed("this plot"))

    def _column(self, metric: str) -> Column:
        return self.scan.counted_table().column(self.scan.metrics[metric])

    def counted(self, metric: str) -> tuple[FloatArray, FloatArray]:
        """The distinct scores of a metric in ascending order, and how often each occurs."""
        column = self._column(metric)
        return column.values, column.counts


def plot_of_scan(
    scan: EvaluationScan,
    kind: str | Plot,
    args: tuple[Any, ...],
    ax: Axes | None,
    options: dict[str, Any],
) -> Axes:
    """Draw a scan; see `EvaluationScan.plot`."""
    entry = plot_named(kind)
    others = options.get("other")
    if entry.name == "forest" and others is not None:
        compared = scan.comparative_summary(options.pop("other"), metrics=next(iter(args), None))
        result: Axes = compared.plot(entry, ax=ax, **options)
        return result
    if entry.name not in _DRAWN_FROM_COUNTS:
        raise scan.needs_memory(f"the plot {entry.name!r}")
    if others is not None:
        listed = others if isinstance(others, list | tuple) else [others]
        scans = scans_among((scan, *listed), f"plot({entry.name!r})")[1:]
        options["other"] = [DrawnScan(other) for other in scans]
    drawn: Axes = entry(DrawnScan(scan), *args, ax=ax, **options)
    return drawn
