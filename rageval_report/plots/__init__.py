"""Results become pictures: each plot takes a subject and returns the Axes that it drew on.

The subject is the object itself: a pipeline's evaluation, a comparison, or the result of slices.
A plot of a comparison takes a `Comparison`, or the evaluation of the baseline with that of the
candidate as ``other=``; if it draws one candidate of several, ``candidate=`` names it.

Every plot takes ``ax=``, the Axes on which it draws; without it, pyplot makes a figure, so that a
notebook shows it. Every plot returns the Axes, and raises `UnknownNameError` if a metric is not
known and `DataError` if there is nothing to draw or the subject is of another kind. No setting of
matplotlib is changed, and nothing is shown or saved; `save_plot` writes a picture without pyplot.

A new plot is a function and an entry in `PLOTS`; `Plot` says what an entry states. Another
distribution offers one through the entry point group ``rageval_report.plots``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import Registry, lazy_face
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import BuiltInPlot, MetricNames

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rageval_report.plots.saving import save_plot as save_plot
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__, "PLOTS", "Plot", "plot")

_HERE = "rageval_report.plots"
_ENTRIES = (
    Plot("agreement", f"{_HERE}.agreement:agreement", "calibration", 1, ()),
    Plot("box", f"{_HERE}.distribution:box", "evaluation"),
    Plot("differences", f"{_HERE}.differences:differences", "comparison", 1, ("metric",)),
    Plot("distribution", f"{_HERE}.distribution:distribution", "evaluation", None, ("metric",)),
    Plot("forest", f"{_HERE}.forest:forest", "comparison"),
    Plot("heat", f"{_HERE}.rankings:heat", "ranking"),
    Plot("leaderboard", f"{_HERE}.rankings:leaderboard", "ranking"),
    Plot("monitor", f"{_HERE}.trends:monitor", "monitoring", 1, ("metric",)),
    Plot("pareto", f"{_HERE}.pareto:pareto", "front", 2, ()),
    Plot("slices", f"{_HERE}.slices:slices", "slices"),
    Plot("strip", f"{_HERE}.strip:strip", "comparison"),
    Plot("trends", f"{_HERE}.trends:trends", "history"),
)

PLOTS: Registry[Plot] = Registry(
    "plot",
    {entry.name: entry for entry in _ENTRIES},
    group="rageval_report.plots",
    also={"boxplot": "box", "hist": "distribution", "histogram": "distribution"},
)


def plot(
    subject: object,
    kind: BuiltInPlot | Plot,
    *args: MetricNames,
    ax: Axes | None = None,
    **options: object,
) -> Axes:
    """Draw a subject.

    Parameters
    ----------
    subject : RAGPipelineEvaluation, Comparison, Ranking, ParetoFront, Calibration, Result of slices
        What to draw; "differences", "forest" and "strip" take an evaluation too, with
        ``other=``, and "slices" takes either with ``by=``.
    kind : str or Plot
        A name of the table `PLOTS`, or an entry of it. A plot from outside is known to type
        checkers by its entry alone: ``plot(evaluation, PLOTS["radar"])``.
    *args : str or iterable of str
        The metrics, by any of their names, in the order in which the plot takes them.
    ax : Axes, optional
        Where to draw; a new figure if omitted.
    **options
        The options of the plot; `rageval_report.plots.options.PlotOptions` lists those of the
        built-in plots.

    Returns
    -------
    Axes

    Raises
    ------
    UnknownNameError
        If there is no such plot, or no such metric.
    UnknownOptionError
        If the plot has no such option.
    DataError
        If nothing is scored, or the subject is not what the plot draws.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from rageval_report.demo import demo_evaluations
    >>> bm25, hybrid = demo_evaluations()
    >>> plot(bm25, "forest", "recall@5", other=hybrid, ax=Figure().subplots()).get_title()
    'hybrid against bm25'
    """
    return plot_named(kind)(subject, *args, ax=ax, **options)


def plot_named(kind: str | Plot) -> Plot:
    """The entry of a plot, by its name; an entry is returned as it is.

    Raises
    ------
    UnknownNameError
        If there is no such plot.
    """
    return kind if isinstance(kind, Plot) else PLOTS[kind]
