"""The pipelines that no other one dominates, and how certain that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import numpy as np
import pandas as pd

from rageval_report.analysis.ranking.figures import (
    Figure,
    Term,
    margin_of,
    share_terms,
    stepwise,
)
from rageval_report.analysis.ranking.lineup import Lineup
from rageval_report.analysis.ranking.margins import QUALITY, check_margins
from rageval_report.analysis.ranking.objective_definitions import ObjectivesArgument
from rageval_report.analysis.ranking.objectives import Aim, resolve_objectives
from rageval_report.analysis.ranking.resampled_objectives import (
    ResampledObjectives,
    percent,
    resample_objectives,
)
from rageval_report.errors import DataError, explain_keywords_of
from rageval_report.plots import plot
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import FrontPlot, MetricNames, PlotOptions
from rageval_report.reports.sentences import (
    correction_text,
    join_names,
    number,
    pvalue_text,
)
from rageval_report.results import Result
from rageval_report.stats.base import TIE_TOLERANCE, check_level, check_resamples, check_seed
from rageval_report.stats.corrections import adjust_pvalues
from rageval_report.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FRONT = ("pipeline", "standing", "probability_on_front")
# The standing of a pipeline: no other is ahead; one is ahead, which may be chance; it is dominated.
ON_FRONT, MAY_BE_ON_FRONT, DOMINATED = "on the front", "may be on the front", "dominated"


@dataclass(frozen=True, slots=True)
class Axis:
    """One objective of a Pareto front.

    Parameters
    ----------
    name : str
        The objective, or its metric if it has only one.
    greater_is_better : bool
        The direction.
    values : ndarray of shape (n_pipelines,)
        In the metric's own unit, or between 0 and 1 if it has several metrics.
    drawn : ndarray of shape (n_resamples, n_pipelines)
        The same on each resample.
    made_of : str
        Such as "median of latency_ms".
    terms : tuple of Term
        The metrics of which it is made.
    """

    name: str
    greater_is_better: bool
    values: FloatArray
    drawn: FloatArray
    made_of: str
    terms: tuple[Term, ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether all pipelines are equal on it on every resample, so that it decides nothing."""
        spread = np.ptp(self.drawn, axis=1).max(initial=0.0)
        return bool(max(np.ptp(self.values), spread) <= self.tie)

    @property
    def tie(self) -> float:
        """The largest difference between two values that is only rounding."""
        return TIE_TOLERANCE * max(1.0, float(np.abs(self.values).max()))


@explain_keywords_of
@dataclass(frozen=True, eq=False, repr=False)
class ParetoFront(Result):
    """One row per pipeline, those on the front first.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    axes : tuple of Axis
        The objectives that decide.
    dominance : DataFrame
        One row per ordered pair: pipeline, other, is_ahead (it dominates the other on these
        queries), probability (the share of the resamples in which it does), pvalue,
        pvalue_adjusted, dominates (it is shown to).
    """

    axes: tuple[Axis, ...] = ()
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


def pareto_front(
    lineup: Lineup,
    objectives: ObjectivesArgument = None,
    weights: Mapping[str, float] | None = None,
    *,
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
    correction: str = "holm",
    margins: Mapping[str, float] | None = None,
) -> ParetoFront:
    """The pipelines that no other one dominates.

    One dominates another if it is better on at least one objective and worse on none. It is said to
    dominate only where that is shown.

    Parameters
    ----------
    lineup : Lineup
        The pipelines.
    objectives : mapping or sequence of str, optional
        As in `rageval_report.analysis.ranking.objectives.resolve_objectives`. If omitted: quality
        (accuracy, faithfulness, citation and retrieval, weighted), cost and latency; the parts of
        quality one by one if not every pipeline has cost or latency.
    weights : mapping of str to float, optional
        Which objectives make up the quality, with their weights; or which to use.
    confidence_level : float
        The level of the intervals. An objective that is a mean over queries has the interval of any
        mean (Gaffke's if it is bounded); any other has percentiles of resamples of the queries.
    n_resamples, seed : int
        For the resamples.
    correction : str
        As in `rageval_report.rank`; "westfall-young" is Holm's here.
    margins : mapping of str to float, optional
        Differences that are too small to matter, by objective or metric, or "quality".

    Returns
    -------
    ParetoFront
        Columns: pipeline, standing ("on the front"; "may be on the front": another pipeline is
        ahead on these queries, which is not shown to be more than chance; "dominated": that is
        shown), on_front (on these queries), probability_on_front (the share of resamples), each
        objective with ``{objective}_ci_low`` and ``_high``, and the names of those that are shown
        to dominate it and to be dominated by it, dominated_by and dominates.

    Raises
    ------
    DataError
        If no objective has data in every pipeline, or a margin makes no sense.

    Notes
    -----
    Dominance is an intersection of claims, so it is shown if each of them is [1]_: the pipeline is
    better on every objective on which the two are not identical, and by more than the margin on at
    least one of those with a margin, unless one without a margin is among them. The p-value of a
    pair is the largest of the one-sided p-values of these claims, adjusted for the number of
    ordered pairs. A margin can only make it larger. Each objective is tested as in
    `rageval_report.analysis.ranking.figures`.

    References
    ----------
    .. [1] Berger (1982). Multiparameter hypothesis testing and acceptance sampling. Technometrics
       24(4).
    """
    level, start = check_level(confidence_level), check_seed(seed)
    resamples = check_resamples(n_resamples)
    aims = resolve_objectives(lineup, objectives, weights)
    with_data = [aim for aim in aims if aim.parts]
    if not with_data:
        reasons = "; ".join(f"{aim.name}: {aim.missing}" for aim in aims)
        raise DataError(f"no objective has data in every pipeline ({reasons})")
    resampled = resample_objectives(with_data, n_resamples=resamples, seed=start)
    axes = _axes(resampled, as_quality=objectives is None)
    deciding = tuple(axis for axis in axes if not axis.is_constant)
    described = {name: metric for name, (metric, *_) in lineup.metrics.items()}
    checked = check_margins(margins, described, [aim.name for aim in aims])
    figures = tuple(_figure(axis, checked, start) for axis in deciding)
    method = stepwise(correction)
    dominance = _dominance_table(
        lineup.names, deciding, resampled, figures, (method, round(1.0 - level, 12))
    )
    frame = _front_frame(lineup.names, axes, deciding, level, start, dominance)
    settings = {
        "objectives": {axis.name: axis.made_of for axis in axes},
        "confidence_level": level,
        "missing": lineup.missing,
        "correction": method,
        **({"margins": checked} if checked else {}),
        "n_resamples": resamples,
        "seed": start,
    }
    return ParetoFront(
        f"Pareto front over {join_names([axis.name for axis in axes])}",
        frame.assign(verdict=pd.Series(_verdicts(frame, dominance, figures, method), dtype=object)),
        settings,
        (*_notes(lineup, aims, axes, deciding, resampled), *_margin_notes(figures)),
        headline=(*_FRONT, *(axis.name for axis in axes)),
        axes=axes,
        dominance=dominance,
    )


def dominance_matrix(values: FloatArray, tie: FloatArray) -> BoolArray:
    """Whether each pipeline dominates each other one.

    Parameters
    ----------
    values : ndarray of shape (..., n_pipelines, n_objectives)
        Higher is better.
    tie : ndarray of shape (n_objectives,)
        The largest difference per objective that is only rounding.

    Returns
    -------
    ndarray of bool, shape (..., n_pipelines, n_pipelines)
        The row dominates the column: better somewhere, worse nowhere.

    Examples
    --------
    >>> dominance_matrix(np.array([[1.0, 2.0], [1.0, 1.0], [0.0, 3.0]]), np.zeros(2)).astype(int)
    array([[0, 1, 0],
           [0, 0, 0],
           [0, 0, 0]])
    """
    size = values.shape[-2]
    result = np.zeros((*values.shape[:-2], size, size), dtype=bool)
    # One pipeline at a time: all pairs on all resamples at once would take k times the memory.
    for row in range(size):
        ahead = values[..., row : row + 1, :] - values
        result[..., row, :] = (ahead >= -tie).all(axis=-1) & (ahead > tie).any(axis=-1)
    return result


# -- the axes


def _axes(resampled: ResampledObjectives, *, as_quality: bool) -> tuple[Axis, ...]:
    """One axis per objective; or one for quality as a whole, if there is also cost or latency."""
    aims = resampled.aims
    spent = [aim for aim in aims if _is_spent(aim)]
    quality = [aim for aim in aims if not _is_spent(aim)]
    if not (as_quality and spent and len(quality) > 1):
        return tuple(_axis(resampled, aim) for aim in aims)
    return (_quality_axis(resampled, quality), *(_axis(resampled, aim) for aim in spent))


def _is_spent(aim: Aim) -> bool:
    return all(part.block.metric.group == "performance" for part in aim.parts)


def _axis(resampled: ResampledObjectives, aim: Aim) -> Axis:
    """The metric in its own unit if there is only one, else a value between 0 and 1."""
    if len(aim.parts) > 1:
        terms = share_terms(aim.parts, 1.0)
        return Axis(aim.name, True, *resampled.shares(aim), aim.description, terms)
    part = aim.parts[0]
    terms = (Term(part, 1.0, is_share=False),)
    return Axis(aim.name, part.greater_is_better, *resampled.raw(aim), aim.description, terms)


def _quality_axis(resampled: ResampledObjectives, aims: Sequence[Aim]) -> Axis:
    weights = np.array([aim.weight for aim in aims])
    weights /= weights.sum()
    shares = [resampled.shares(aim) for aim in aims]
    weighted = [
        (observed * weight, drawn * weight)
        for (observed, drawn), weight in zip(shares, weights, strict=True)
    ]
    values, drawn_values = (np.asarray(sum(parts)) for parts in zip(*weighted, strict=True))
    made_of = " + ".join(
        f"{weight:.3f} {aim.name} ({aim.description})"
        for aim, weight in zip(aims, weights, strict=True)
    )
    pairs = zip(aims, weights.tolist(), strict=True)
    terms = tuple(term for aim, weight in pairs for term in share_terms(aim.parts, weight))
    return Axis(QUALITY, True, values, drawn_values, made_of, terms)


def _figure(axis: Axis, margins: Mapping[str, float], seed: int) -> Figure:
    return Figure(
        *(axis.name, axis.values, axis.drawn, axis.greater_is_better, axis.terms),
        margin=margin_of([axis.name], axis.terms, margins),
        seed=seed,
    )


# -- the tables


def _higher_is_better(axes: Sequence[Axis], *, drawn: bool) -> FloatArray:
    """The values with the sign that makes higher better, one column per objective."""
    sides = [
        (axis.drawn if drawn else axis.values) * (1.0 if axis.greater_is_better else -1.0)
        for axis in axes
    ]
    return np.stack(sides, axis=-1)


def _ties(axes: Sequence[Axis]) -> FloatArray:
    return np.array([axis.tie for axis in axes])


def _front_frame(
    names: Sequence[str],
    axes: Sequence[Axis],
    deciding: Sequence[Axis],
    level: float,
    seed: int,
    dominance: pd.DataFrame,
) -> pd.DataFrame:
    on_front = ~_observed_dominance(names, deciding).any(axis=0)
    dominates = np.zeros((len(names), len(names)), dtype=bool)
    places = {name: place for place, name in enumerate(names)}
    for _, pair in dominance[dominance["dominates"]].iterrows():
        dominates[places[pair["pipeline"]], places[pair["other"]]] = True
    is_dominated = dominates.any(axis=0)
    standing = np.where(on_front, ON_FRONT, np.where(is_dominated, DOMINATED, MAY_BE_ON_FRONT))
    frame = pd.DataFrame(
        {
            "pipeline": list(names),
            "standing": standing,
            "on_front": on_front,
            "probability_on_front": _probability_on_front(names, deciding),
        }
    )
    for axis in axes:
        low, high = _figure(axis, {}, seed).mean_limits(level)
        frame[axis.name] = axis.values
        frame[f"{axis.name}_ci_low"], frame[f"{axis.name}_ci_high"] = low, high
    frame["dominated_by"] = [_names_where(names, column) for column in dominates.T]
    frame["dominates"] = [_names_where(names, row) for row in dominates]
    best = axes[0].values * (1.0 if axes[0].greater_is_better else -1.0)
    order = np.lexsort((-best, ~frame["on_front"].to_numpy()))
    return frame.iloc[order].reset_index(drop=True)


def _observed_dominance(names: Sequence[str], axes: Sequence[Axis]) -> BoolArray:
    if not axes:
        return np.zeros((len(names), len(names)), dtype=bool)
    return dominance_matrix(_higher_is_better(axes, drawn=False), _ties(axes))


def _probability_on_front(names: Sequence[str], axes: Sequence[Axis]) -> FloatArray:
    if not axes:
        return np.ones(len(names))
    drawn = dominance_matrix(_higher_is_better(axes, drawn=True), _ties(axes))
    share: FloatArray = (~drawn.any(axis=1)).mean(axis=0)
    return share


def _dominance_table(
    names: Sequence[str],
    axes: Sequence[Axis],
    resampled: ResampledObjectives,
    figures: Sequence[Figure],
    test: tuple[str, float],
) -> pd.DataFrame:
    """One row per ordered pair; see `ParetoFront`. The test is a correction and its alpha."""
    correction, alpha = test
    size = len(names)
    observed = _observed_dominance(names, axes)
    share = np.zeros((size, size))
    if axes and len(resampled.drawn):
        share = dominance_matrix(_higher_is_better(axes, drawn=True), _ties(axes)).mean(axis=0)
    rows = [
        {
            "pipeline": names[i],
            "other": names[j],
            "is_ahead": bool(observed[i, j]),
            "probability": float(share[i, j]),
            # Without an advantage on these queries there is nothing to test.
            "pvalue": dominance_pvalue(figures, i, j) if observed[i, j] else 1.0,
        }
        for i in range(size)
        for j in range(size)
        if i != j
    ]
    frame = pd.DataFrame(rows)
    adjusted = adjust_pvalues(frame["pvalue"].to_numpy(), correction)
    return frame.assign(pvalue_adjusted=adjusted, dominates=adjusted <= alpha)


def dominance_pvalue(figures: Sequence[Figure], first: int, second: int) -> float:
    """The p-value that the first pipeline dominates the second, beyond the margins.

    Parameters
    ----------
    figures : sequence of Figure
        The objectives.
    first, second : int
        The columns of the pipelines.
    """
    differing = [figure for figure in figures if not figure.is_identical(second, first)]
    if not differing:
        return 1.0
    not_worse = max(figure.pvalue_better(second, first) for figure in differing)
    with_margin = [figure for figure in differing if figure.margin]
    if len(with_margin) < len(differing):
        # Better without a margin on one of them, which is among the claims already.
        return not_worse
    beyond = min(figure.pvalue_better(second, first, figure.margin) for figure in with_margin)
    return min(1.0, max(not_worse, len(with_margin) * beyond))


def _names_where(names: Sequence[str], holds: BoolArray) -> str:
    return ", ".join(name for name, is_held in zip(names, holds, strict=True) if is_held)


# -- verdicts and notes


def _verdicts(
    frame: pd.DataFrame, dominance: pd.DataFrame, figures: Sequence[Figure], correction: str
) -> list[str | None]:
    """The sentence on the front, and one on each pipeline that another one is ahead of."""
    first = f"on the front: {join_names(list(frame.loc[frame['on_front'], 'pipeline']))}"
    if not figures:
        first = "no objective distinguishes the pipelines: all are on the front"
    sentences: list[str | None] = [first]
    for name, standing in frame[["pipeline", "standing"]].iloc[1:].itertuples(index=False):
        rivals = dominance[(dominance["other"] == name) & dominance["is_ahead"]]
        if standing == ON_FRONT:
            sentences.append(None)
            continue
        surest = rivals.sort_values(["pvalue_adjusted", "probability"], ascending=[True, False])
        sentences.append(_sentence(name, standing, surest.iloc[0], figures, correction))
    return sentences


def _sentence(
    name: str, standing: str, rival: pd.Series, figures: Sequence[Figure], correction: str
) -> str:
    pvalue = f"{correction_text(correction)} p {pvalue_text(float(rival['pvalue_adjusted']))}"
    resamples = f"in {percent(rival['probability'])} of the resamples of the queries"
    if standing == DOMINATED:
        return f"{name} is dominated by {rival['pipeline']} ({pvalue}), and {resamples}"
    short = next((figure for figure in figures if figure.too_few), None)
    why = f"too few {short.units.word} for a test: {short.too_few}" if short else pvalue
    why = f"{why}, {resamples}"
    beyond = " beyond the margins" if any(figure.margin for figure in figures) else ""
    return (
        f"{name} may be on the front: {rival['pipeline']} is ahead of it on these queries, but "
        f"is not shown to be better on every objective{beyond} ({why})"
    )


def _margin_notes(figures: Sequence[Figure]) -> tuple[str, ...]:
    shown = ", ".join(
        f"{figure.name} {number(figure.margin)}" for figure in figures if figure.margin
    )
    return (f"margins, beyond which a difference matters: {shown}",) if shown else ()


def _notes(
    lineup: Lineup,
    aims: Sequence[Aim],
    axes: Sequence[Axis],
    deciding: Sequence[Axis],
    resampled: ResampledObjectives,
) -> list[str]:
    notes = [*lineup.notes]
    notes += [f"{axis.name}: {axis.made_of}{_direction(axis)}" for axis in axes]
    left_out = [f"{aim.name} ({aim.missing})" for aim in aims if not aim.parts]
    if left_out:
        notes.append(f"objectives without data in every pipeline, left out: {'; '.join(left_out)}")
    constant = [axis.name for axis in axes if axis not in deciding]
    if constant:
        notes.append(f"equal for all pipelines, so that it decides nothing: {', '.join(constant)}")
    if len(deciding) == 1:
        notes.append("only one objective decides: the front is the best pipeline on it")
    if resampled.n_undefined:
        notes.append(resampled.undefined_note())
    return notes


def _direction(axis: Axis) -> str:
    return "" if axis.greater_is_better else ", lower is better"
