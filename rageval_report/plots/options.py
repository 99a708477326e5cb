"""What a caller may say beside the subject: the names of the plots, and every option with its type.

Type checkers read this; at run time `Plot` checks the same names against the function that draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from rageval_report.scores import Scored

# One metric by any of its names, several, or (None) those that the plot chooses itself.
MetricNames: TypeAlias = str | Iterable[str] | None
ForestScale: TypeAlias = Literal["own", "baseline"]

# The built-in plots of each subject. A plot from outside is passed as its entry, `PLOTS["radar"]`.
EvaluationPlot: TypeAlias = Literal[
    "box", "differences", "distribution", "forest", "slices", "strip"
]
ComparisonPlot: TypeAlias = Literal["differences", "forest", "slices", "strip"]
RankingPlot: TypeAlias = Literal["heat", "leaderboard", "pareto"]
FrontPlot: TypeAlias = Literal["pareto"]
OwnPlot: TypeAlias = RankingPlot | Literal["agreement", "monitor", "trends"]
BuiltInPlot: TypeAlias = EvaluationPlot | OwnPlot


class PlotOptions(TypedDict, total=False):
    """Every option of every built-in plot; the docstring of a plot says which ones it takes."""

    by: str | None
    candidate: str | None
    metric: MetricNames
    metrics: MetricNames
    other: Scored | Sequence[Scored] | None
    percentiles: Sequence[float]
    scale: ForestScale | None
    threshold: float | str | None
    x: str | None
    y: str | None
