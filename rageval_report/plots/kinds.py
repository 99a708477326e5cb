"""What a plot is: the function that draws it, its subject, and how many metrics it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from rageval_report._registry import resolve
from rageval_report.errors import DataError, check_options
from rageval_report.plots.options import MetricNames

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PlotSubject: TypeAlias = Literal[
    "evaluation",
    "comparison",
    "slices",
    "ranking",
    "front",
    "calibration",
    "history",
    "monitoring",
]
DrawFunction: TypeAlias = "Callable[..., Axes]"


@dataclass(frozen=True)
class Plot:
    """A plot: all that a caller, the command line included, must know of it.

    Parameters
    ----------
    name : str
        Its name, the same in Python and for ``--kind``.
    draw : callable or "module:attribute"
        The function that draws: it takes the subject, then the metrics, then keywords; draws on the
        keyword ``ax``, or on Axes of a new figure if that is None; and returns the Axes. A text is
        loaded on first use, so that the table of plots does not import matplotlib.
    subject : str
        What it draws, and so what the command line makes of the FILEs that a user names:

        - "evaluation": one pipeline; exactly one FILE.
        - "comparison": ``compare(first, *others, metrics=metrics)``; two FILEs or more.
        - "slices": one pipeline, passed with ``by=``, the column of ``--by``; or the slices of a
          comparison, ``compare(...).slices(by)``.
        - "ranking": ``rank(*all)``; two FILEs or more.
        - "front": ``rank(*all).pareto(metrics)``, or the ranking itself if no metric is named.
        - "calibration": ``calibrate(judged, metric, people)``; two FILEs and one metric.
        - "history": ``history(runs)``; the FILEs are runs or folders of runs.
        - "monitoring": ``monitor(runs)``; the FILEs are runs or folders of runs, the first of them
          is the reference.
    most_metrics : int, optional
        The largest number of metrics; any number if omitted.
    metric_parameters : tuple of str
        The parameters of the function that take the metrics. A single one takes one name or a list
        of names; of several, each takes one name. Empty if the metrics are part of the subject,
        as those of a front.

    Examples
    --------
    A plot of one pipeline, added from outside; ``rageval-report plot --kind radar`` draws it too::

        PLOTS.add("radar", Plot("radar", draw_radar, subject="evaluation"))

    >>> from rageval_report.plots import PLOTS
    >>> forest = PLOTS["forest"]
    >>> forest.subject, forest.function.__name__, list(forest.parameters)[:2]
    ('comparison', 'forest', ['subject', 'metrics'])
    """

    name: str
    draw: DrawFunction | str
    subject: PlotSubject = "evaluation"
    most_metrics: int | None = None
    metric_parameters: tuple[str, ...] = ("metrics",)

    def __call__(
        self, subject: object, *args: MetricNames, ax: Axes | None = None, **options: object
    ) -> Axes:
        """Draw the subject on `ax`, or on Axes of a new figure, and return the Axes."""
        self._check_options(options)
        return self.function(subject, *args, ax=ax, **options)

    @property
    def function(self) -> DrawFunction:
        """The function that draws; its module is imported now."""
        function: DrawFunction = resolve(self.draw)
        return function

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The parameters of the function, by name."""
        return inspect.signature(self.function).parameters

    def metric_options(self, names: Sequence[str]) -> dict[str, str | list[str]]:
        """The names of metrics as keywords of the function.

        Raises
        ------
        DataError
            If there are more metrics than the plot takes.

        Examples
        --------
        >>> Plot("box", "a:b").metric_options(["recall", "mrr"])
        {'metrics': ['recall', 'mrr']}
        """
        if self.most_metrics is not None and len(names) > self.most_metrics:
            raise DataError(
                f"plot {self.name!r} takes at most {self.most_metrics} "
                f"{'metric' if self.most_metrics == 1 else 'metrics'}; got {', '.join(names)}"
            )
        if len(self.metric_parameters) != 1:
            return dict(zip(self.metric_parameters, names, strict=False))
        parameter = self.metric_parameters[0]
        return {parameter: names[0] if len(names) == 1 else list(names)} if names else {}

    def _check_options(self, options: Mapping[str, object]) -> None:
        """Check the keywords; those of a plot from outside may be any."""
        own = list(self.parameters.values())[1:]
        if not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in own):
            check_options(f"plot {self.name!r}", options, [each.name for each in own])
