"""Results that have a plot of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Unpack

from rageval_report.plots import plot
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import MetricNames, OwnPlot, PlotOptions
from rageval_report.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Drawn(Result):
    """A result that draws itself: a calibration, a ranking, a front, a history, a monitoring."""

    own_plot: ClassVar[OwnPlot]

    def plot(
        self,
        kind: OwnPlot | Plot | None = None,
        *args: MetricNames,
        ax: Axes | None = None,
        **options: Unpack[PlotOptions],
    ) -> Axes:
        """Draw the result; see `rageval_report.plots`.

        Parameters
        ----------
        kind : str or Plot, optional
            The plot of this kind of result if omitted, or an entry of
            ``rageval_report.plots.PLOTS``.
        *args : str or iterable of str
            The metrics, by any of their names.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if omitted.
        **options
            The options of the plot.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return plot(self, kind or self.own_plot, *args, ax=ax, **options)
