"""Results become pictures: each plot takes a subject and gives back the Axes that it drew on.

The subject is the object itself: a pipeline's evaluation, a comparison, or the result of slices.
Every plot takes ``ax=``; without it, it makes a figure through pyplot, so that a notebook shows it.
No setting of matplotlib is changed, and nothing is shown or saved; `save_plot` writes a picture
without pyplot. Further keywords go to the artists of the data, as ``color=`` or ``alpha=``.

A new plot is a function and a line in `PLOTS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from rageval_report._registry import Registry, lazy_face

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rageval_report.plots.files import save_plot as save_plot
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__, "PLOTS", "Plot", "plot")

_HERE = "rageval_report.plots"


class Plot(Protocol):
    """A function that draws a subject."""

    def __call__(self, subject: Any, *args: Any, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the subject on `ax`, or on Axes of a new figure, and give them back."""


PLOTS: Registry[Plot] = Registry(
    "plot",
    {
        "agreement": f"{_HERE}.agreement:agreement",
        "box": f"{_HERE}.summary:box",
        "correlation": f"{_HERE}.relations:correlation",
        "differences": f"{_HERE}.differences:differences",
        "distribution": f"{_HERE}.distribution:distribution",
        "ecdf": f"{_HERE}.ecdf:ecdf",
        "forest": f"{_HERE}.comparison:forest",
        "groups": f"{_HERE}.ranking:groups",
        "leaderboard": f"{_HERE}.ranking:leaderboard",
        "outcomes": f"{_HERE}.outcomes:outcomes",
        "pareto": f"{_HERE}.pareto:pareto",
        "scatter": f"{_HERE}.relations:scatter",
        "slices": f"{_HERE}.slices:slices",
        "trends": f"{_HERE}.trends:trends",
    },
)


def plot(subject: Any, kind: str, *args: Any, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw a subject.

    Parameters
    ----------
    subject : RAGPipelineEvaluation, Comparison, Ranking, ParetoFront, Calibration, Result of slices
        What to draw; "differences", "forest" and "outcomes" take an evaluation too, with
        ``other=``, and "slices" takes either with ``by=``.
    kind : str
        A name of the table `PLOTS`.
    *args, **options
        The plot's own, as the metric.
    ax : Axes, optional
        Where to draw; a new figure where not given.

    Returns
    -------
    Axes

    Raises
    ------
    UnknownNameError
        If there is no such plot, or no such metric.
    DataError
        If nothing is scored, or the subject is of another kind than the plot needs.
    """
    return PLOTS[kind](subject, *args, ax=ax, **options)
