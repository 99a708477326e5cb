"""The pipelines that no other one dominates, and how certain that is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Unpack

import numpy as np
import pandas as pd

from rageval_report.analysis.figures import Aims, Figure
from rageval_report.analysis.objectives import QUALITY
from rageval_report.analysis.weighted import percent
from rageval_report.plots import plot
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import FrontPlot, MetricNames, PlotOptions
from rageval_report.reports.sentences import correction_text, join_names, number, pvalue_text
from rageval_report.results import Result
from rageval_report.stats.corrections import adjust_pvalues
from rageval_report.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The standing of a pipeline: no other is ahead; one is ahead, which may be chance; it is dominated.
ON_FRONT, MAY_BE_ON_FRONT, DOMINATED = "on the front", "may be on the front", "dominated"


@dataclass(frozen=True, eq=False, repr=False)
class ParetoFront(Result):
    """One row per pipeline, those on the front first."""

    axes: tuple[Figure, ...] = ()
    dominance: pd.DataFrame | None = None

    @property
    def front(self) -> tuple[str, ...]:
        """The pipelines on the front of these queries; see the column standing, too."""
        return tuple(self.frame.loc[self.frame["on_front"], "pipeline"])

    def plot(
        self,
        kind: FrontPlot | Plot = "pareto",
        *args: MetricNames,
        ax: Axes | None = None,
        **options: Unpack[PlotOptions],
    ) -> Axes:
        """Draw the front; parameters as in `Ranking.plot`."""
        return plot(self, kind, *args, ax=ax, **options)


def pareto_front(aims: Aims, *, as_quality: bool) -> ParetoFront:
    """The pipelines that no other one dominates; see `Ranking.pareto`."""
    names, settings, axes = aims.lineup.names, aims.settings, _axes(aims, as_quality=as_quality)
    deciding = [axis for axis in axes if not axis.is_constant]
    observed = _dominates(deciding, [axis.values for axis in deciding], (len(names),))
    drawn = _dominates(deciding, [axis.drawn for axis in deciding], (0, len(names)))
    share = drawn.mean(axis=0) if len(drawn) else np.zeros(observed.shape)
    dominance = pd.DataFrame(
        {
            "pipeline": names[i],
            "other": names[j],
            "is_ahead": bool(observed[i, j]),
            "probability": float(share[i, j]),
            # Without an advantage on these queries there is nothing to test.
            "pvalue": _dominance_pvalue(deciding, i, j) if observed[i, j] else 1.0,
        }
        for i, j in permutations(range(len(names)), 2)
    )
    adjusted = adjust_pvalues(dominance["pvalue"].to_numpy(), settings.stepwise)
    dominance = dominance.assign(pvalue_adjusted=adjusted, dominates=adjusted <= settings.alpha)
    on_front: BoolArray = ~np.any(observed, axis=0)
    frame = _front_frame(names, axes, on_front, dominance)
    if deciding:
        frame["probability_on_front"] = (~drawn.any(axis=1)).mean(axis=0)
    order = np.lexsort((-axes[0].sign * axes[0].values, ~on_front))
    frame = frame.iloc[order].reset_index(drop=True)
    sentences = _sentences(frame, dominance, deciding, settings.stepwise)
    return ParetoFront(
        f"Pareto front over {join_names([axis.name for axis in axes])}",
        frame.assign(verdict=pd.Series([*sentences], dtype=object)),
        aims.shown_settings(objectives={axis.name: axis.made_of for axis in axes}),
        (*aims.lineup.notes, *_notes(aims, axes, deciding)),
        headline=("pipeline", "standing", "probability_on_front", *(axis.name for axis in axes)),
        axes=axes,
        dominance=dominance,
    )


def _axes(aims: Aims, *, as_quality: bool) -> tuple[Figure, ...]:
    """One figure per objective; or one for quality as a whole, if there is also cost or latency."""
    alone, axes = aims.with_data, list[Figure]()
    spent = [aim for aim in alone if aim.is_spent]
    quality = [aim for aim in alone if not aim.is_spent]
    if as_quality and spent and len(quality) > 1:
        alone, axes = spent, [aims.figure(QUALITY, quality)]
    # A single metric stands in its own unit.
    axes += [aims.figure(aim.name, [aim], as_shares=len(aim.parts) > 1) for aim in alone]
    return tuple(axes)


def dominance_matrix(values: FloatArray, tie: FloatArray) -> BoolArray:
    """Whether each pipeline dominates each other one: better somewhere, worse nowhere."""
    size = values.shape[-2]
    result = np.zeros((*values.shape[:-2], size, size), dtype=bool)
    # One pipeline at a time: all pairs on all resamples at once would take k times the memory.
    for row in range(size):
        ahead = values[..., row : row + 1, :] - values
        result[..., row, :] = (ahead >= -tie).all(axis=-1) & (ahead > tie).any(axis=-1)
    return result


def _dominates(
    figures: Sequence[Figure], values: Sequence[FloatArray], shape: tuple[int, ...]
) -> BoolArray:
    """Whether the row dominates the column; of the shape that is named if nothing decides."""
    if not figures:
        return np.zeros((*shape, shape[-1]), dtype=bool)
    signs = np.array([figure.sign for figure in figures])
    tie = np.array([figure.tie for figure in figures])
    return dominance_matrix(np.stack(values, axis=-1) * signs, tie)


def _dominance_pvalue(figures: Sequence[Figure], first: int, second: int) -> float:
    """The p-value that the first pipeline dominates the second, beyond the margins."""
    differing = [figure for figure in figures if not figure.is_same(second, first)]
    if not differing:
        return 1.0
    not_worse = max(figure.pvalue_better(second, first) for figure in differing)
    with_margin = [figure for figure in differing if figure.margin]
    if len(with_margin) < len(differing):
        # Better without a margin on one of them, which is among the claims already.
        return not_worse
    beyond = min(figure.pvalue_better(second, first, figure.margin) for figure in with_margin)
    return min(1.0, max(not_worse, len(with_margin) * beyond))


def _front_frame(
    names: Sequence[str], axes: Sequence[Figure], on_front: BoolArray, dominance: pd.DataFrame
) -> pd.DataFrame:
    shown = dominance[dominance["dominates"]]
    above, below = (
        [", ".join(shown.loc[shown[side] == name, other]) for name in names]
        for side, other in (("other", "pipeline"), ("pipeline", "other"))
    )
    behind = np.where(np.array(above) != "", DOMINATED, MAY_BE_ON_FRONT)
    columns: dict[str, object] = {
        "pipeline": list(names),
        "standing": np.where(on_front, ON_FRONT, behind),
        "on_front": on_front,
        "probability_on_front": 1.0,
    }
    for axis in axes:
        columns[axis.name] = axis.values
        columns[f"{axis.name}_ci_low"], columns[f"{axis.name}_ci_high"] = axis.mean_limits()
    return pd.DataFrame({**columns, "dominated_by": above, "dominates": below})


def _sentences(
    frame: pd.DataFrame, dominance: pd.DataFrame, figures: Sequence[Figure], correction: str
) -> Iterator[str | None]:
    """The sentence on the front, and one on each pipeline that another one is ahead of."""
    front = join_names(list(frame.loc[frame["on_front"], "pipeline"]))
    nobody = "no objective distinguishes the pipelines: all are on the front"
    yield f"on the front: {front}" if figures else nobody
    short = next((figure for figure in figures if figure.too_few), None)
    beyond = " beyond the margins" if any(figure.margin for figure in figures) else ""
    for name, standing in frame[["pipeline", "standing"]].iloc[1:].itertuples(index=False):
        if standing == ON_FRONT:
            yield None
            continue
        rivals = dominance[(dominance["other"] == name) & dominance["is_ahead"]]
        rival = rivals.sort_values(["pvalue_adjusted", "probability"], ascending=[True, False])
        other, pvalue, share = rival[["pipeline", "pvalue_adjusted", "probability"]].iloc[0]
        test = f"{correction_text(correction)} p {pvalue_text(float(pvalue))}"
        resamples = f"in {percent(share)} of the resamples of the queries"
        if standing == DOMINATED:
            yield f"{name} is dominated by {other} ({test}), and {resamples}"
            continue
        why = f"too few {short.units.word} for a test: {short.too_few}" if short else test
        yield (
            f"{name} may be on the front: {other} is ahead of it on these queries, but is not "
            f"shown to be better on every objective{beyond} ({why}, {resamples})"
        )


def _notes(aims: Aims, axes: Sequence[Figure], deciding: Sequence[Figure]) -> Iterable[str]:
    for axis in axes:
        yield f"{axis.name}: {axis.made_of}{'' if axis.sign > 0 else ', lower is better'}"
    yield from aims.notes()
    if constant := [axis.name for axis in axes if axis not in deciding]:
        yield f"equal for all pipelines, so that it decides nothing: {', '.join(constant)}"
    if len(deciding) == 1:
        yield "only one objective decides: the front is the best pipeline on it"
    margins = [f"{axis.name} {number(axis.margin)}" for axis in deciding if axis.margin]
    if margins:
        yield f"margins, beyond which a difference matters: {', '.join(margins)}"
