"""The pipelines that no other one beats on all objectives, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report._registry import load
from rageval_report.analysis.ranking.lineup import Lineup
from rageval_report.analysis.ranking.objectives import (
    Aim,
    ObjectivesArgument,
    resolve_objectives,
)
from rageval_report.analysis.ranking.tally import Tally, limits, percent, tally
from rageval_report.errors import DataError
from rageval_report.results import Result
from rageval_report.stats.base import TIE_TOLERANCE, check_level, check_resamples, check_seed
from rageval_report.types import FloatArray

_FRONT = ("pipeline", "on_front", "probability_on_front")


@dataclass(frozen=True, slots=True)
class Axis:
    """One objective as the front takes it.

    Parameters
    ----------
    name : str
        The objective, or its metric where it has only one.
    greater_is_better : bool
        The direction.
    values : ndarray of shape (n_pipelines,)
        In the metric's own unit, or between 0 and 1 where several metrics make it.
    drawn : ndarray of shape (n_resamples, n_pipelines)
        The same on each resample.
    made_of : str
        As "median of latency_ms".
    """

    name: str
    greater_is_better: bool
    values: FloatArray
    drawn: FloatArray
    made_of: str

    @property
    def is_constant(self) -> bool:
        """Whether all pipelines have one value, however queries are drawn: it decides nothing."""
        spread = np.ptp(self.drawn, axis=1).max(initial=0.0)
        return bool(max(np.ptp(self.values), spread) <= self.tie)

    @property
    def tie(self) -> float:
        """How close two values may be and still be equal but for rounding."""
        return TIE_TOLERANCE * max(1.0, float(np.abs(self.values).max()))


@dataclass(frozen=True, eq=False, repr=False)
class ParetoFront(Result):
    """A row a pipeline, those on the front first.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    axes : tuple of Axis
        The objectives that decide.
    dominance : DataFrame
        A row an ordered pair: pipeline, other, dominates, probability (the share of the resamples
        in which it does).
    """

    axes: tuple[Axis, ...] = ()
    dominance: pd.DataFrame | None = None

    @property
    def front(self) -> tuple[str, ...]:
        """The pipelines on the front."""
        return tuple(self.frame.loc[self.frame["on_front"], "pipeline"])

    def plot(self, kind: str = "pareto", *args: Any, **options: Any) -> Any:
        """Draw the front; see `rageval_report.plots`."""
        return load("rageval_report.plots:plot")(self, kind, *args, **options)


def pareto_front(
    lineup: Lineup,
    objectives: ObjectivesArgument = None,
    weights: Mapping[str, float] | None = None,
    *,
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
) -> ParetoFront:
    """Which pipelines no other one dominates.

    One dominates another if it is better on at least one objective and worse on none.

    Parameters
    ----------
    lineup : Lineup
        The pipelines.
    objectives : mapping or sequence of str, optional
        As in `rageval_report.analysis.ranking.objectives.resolve_objectives`. If omitted: quality
        (accuracy, faithfulness, citation and retrieval, weighted), cost and latency; the parts of
        quality one by one if not every pipeline has cost or latency.
    weights : mapping of str to float, optional
        Which objectives make the quality, and how much of it; or which to take.
    confidence_level : float
        Of the intervals, which are percentiles of bootstrap resamples of the queries.
    n_resamples, seed : int
        For the resamples.

    Returns
    -------
    ParetoFront
        Columns: pipeline, on_front, probability_on_front (the share of resamples), each objective
        with ``{objective}_ci_low`` and ``_high``, dominated_by, dominates.

    Raises
    ------
    DataError
        If no objective has data in every pipeline.
    """
    level, start = check_level(confidence_level), check_seed(seed)
    resamples = check_resamples(n_resamples)
    aims = resolve_objectives(lineup, objectives, weights)
    there = [aim for aim in aims if aim.parts]
    if not there:
        told = "; ".join(f"{aim.name}: {aim.missing}" for aim in aims)
        raise DataError(f"no objective has data in every pipeline ({told})")
    counted = tally(there, n_resamples=resamples, seed=start)
    axes = _axes(counted, as_quality=objectives is None)
    deciding = tuple(axis for axis in axes if not axis.is_constant)
    frame = _frame(lineup.names, axes, deciding, level)
    dominance = _dominance(lineup.names, deciding, counted)
    settings = {
        "objectives": {axis.name: axis.made_of for axis in axes},
        "confidence_level": level,
        "missing": lineup.missing,
        "n_resamples": resamples,
        "seed": start,
    }
    return ParetoFront(
        f"Pareto front over {_listed([axis.name for axis in axes])}",
        frame.assign(verdict=pd.Series(_verdicts(frame, dominance, deciding), dtype=object)),
        settings,
        tuple(_notes(lineup, aims, axes, deciding, counted)),
        headline=(*_FRONT, *(axis.name for axis in axes)),
        axes=axes,
        dominance=dominance,
    )


def dominance_matrix(values: FloatArray, tie: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether each pipeline dominates each other one.

    Parameters
    ----------
    values : ndarray of shape (..., n_pipelines, n_objectives)
        Higher is better.
    tie : ndarray of shape (n_objectives,)
        Differences up to this are none.

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
    for row in range(size):
        ahead = values[..., row : row + 1, :] - values
        result[..., row, :] = (ahead >= -tie).all(axis=-1) & (ahead > tie).any(axis=-1)
    return result


# -- the axes


def _axes(counted: Tally, *, as_quality: bool) -> tuple[Axis, ...]:
    """One an objective; those of quality as one where nothing is asked and others are there."""
    aims = counted.aims
    spent = [aim for aim in aims if _is_spent(aim)]
    quality = [aim for aim in aims if not _is_spent(aim)]
    if not (as_quality and spent and len(quality) > 1):
        return tuple(_axis(counted, aim) for aim in aims)
    return (_quality(counted, quality), *(_axis(counted, aim) for aim in spent))


def _is_spent(aim: Aim) -> bool:
    return all(part.block.metric.group == "performance" for part in aim.parts)


def _axis(counted: Tally, aim: Aim) -> Axis:
    """In the metric's own unit where there is one, else between 0 and 1."""
    if len(aim.parts) > 1:
        return Axis(aim.name, True, *counted.shares(aim), aim.told)
    part = aim.parts[0]
    return Axis(aim.name, part.greater_is_better, *counted.raw(aim), aim.told)


def _quality(counted: Tally, aims: Sequence[Aim]) -> Axis:
    weights = np.array([aim.weight for aim in aims])
    weights /= weights.sum()
    both = [counted.shares(aim) for aim in aims]
    seen = sum(one * weight for (one, _), weight in zip(both, weights, strict=True))
    drawn = sum(one * weight for (_, one), weight in zip(both, weights, strict=True))
    told = " + ".join(
        f"{weight:.3f} {aim.name} ({aim.told})" for aim, weight in zip(aims, weights, strict=True)
    )
    return Axis("quality", True, np.asarray(seen), np.asarray(drawn), told)


# -- the tables


def _turned(axes: Sequence[Axis], *, drawn: bool) -> FloatArray:
    """The values so that higher is better, an objective a column."""
    sides = [
        (axis.drawn if drawn else axis.values) * (1.0 if axis.greater_is_better else -1.0)
        for axis in axes
    ]
    return np.stack(sides, axis=-1)


def _ties(axes: Sequence[Axis]) -> FloatArray:
    return np.array([axis.tie for axis in axes])


def _frame(
    names: Sequence[str], axes: Sequence[Axis], deciding: Sequence[Axis], level: float
) -> pd.DataFrame:
    dominates = _observed_dominance(names, deciding)
    frame = pd.DataFrame(
        {
            "pipeline": list(names),
            "on_front": ~dominates.any(axis=0),
            "probability_on_front": _probability_on_front(names, deciding),
        }
    )
    for axis in axes:
        low, high = limits(axis.drawn, level)
        frame[axis.name] = axis.values
        frame[f"{axis.name}_ci_low"], frame[f"{axis.name}_ci_high"] = low, high
    frame["dominated_by"] = [_names_where(names, column) for column in dominates.T]
    frame["dominates"] = [_names_where(names, row) for row in dominates]
    best = axes[0].values * (1.0 if axes[0].greater_is_better else -1.0)
    order = np.lexsort((-best, ~frame["on_front"].to_numpy()))
    return frame.iloc[order].reset_index(drop=True)


def _observed_dominance(names: Sequence[str], axes: Sequence[Axis]) -> npt.NDArray[np.bool_]:
    if not axes:
        return np.zeros((len(names), len(names)), dtype=bool)
    return dominance_matrix(_turned(axes, drawn=False), _ties(axes))


def _probability_on_front(names: Sequence[str], axes: Sequence[Axis]) -> FloatArray:
    if not axes:
        return np.ones(len(names))
    drawn = dominance_matrix(_turned(axes, drawn=True), _ties(axes))
    share: FloatArray = (~drawn.any(axis=1)).mean(axis=0)
    return share


def _dominance(names: Sequence[str], axes: Sequence[Axis], counted: Tally) -> pd.DataFrame:
    size = len(names)
    seen = _observed_dominance(names, axes)
    share = np.zeros((size, size))
    if axes and len(counted.drawn):
        share = dominance_matrix(_turned(axes, drawn=True), _ties(axes)).mean(axis=0)
    rows = [
        {
            "pipeline": names[i],
            "other": names[j],
            "dominates": bool(seen[i, j]),
            "probability": float(share[i, j]),
        }
        for i in range(size)
        for j in range(size)
        if i != j
    ]
    return pd.DataFrame(rows)


def _names_where(names: Sequence[str], holds: npt.NDArray[np.bool_]) -> str:
    return ", ".join(name for name, one in zip(names, holds, strict=True) if one)


# -- what is said


def _verdicts(
    frame: pd.DataFrame, dominance: pd.DataFrame, axes: Sequence[Axis]
) -> list[str | None]:
    """Of the front, and of each pipeline that is dominated."""
    first = f"on the front: {_listed(list(frame.loc[frame['on_front'], 'pipeline']))}"
    if not axes:
        first = "no objective tells the pipelines apart: all are on the front"
    told: list[str | None] = [first]
    shown = dominance[dominance["dominates"]]
    for name in frame["pipeline"].iloc[1:]:
        above = shown[shown["other"] == name]
        if above.empty:
            told.append(None)
            continue
        surest = above.loc[above["probability"].idxmax()]
        told.append(
            f"{name} is dominated by {surest['pipeline']}, and in "
            f"{percent(surest['probability'])} of the resamples of the queries"
        )
    return told


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _notes(
    lineup: Lineup,
    aims: Sequence[Aim],
    axes: Sequence[Axis],
    deciding: Sequence[Axis],
    counted: Tally,
) -> list[str]:
    notes = [*lineup.notes]
    notes += [f"{axis.name}: {axis.made_of}{_direction(axis)}" for axis in axes]
    left_out = [f"{aim.name} ({aim.missing})" for aim in aims if not aim.parts]
    if left_out:
        notes.append(f"objectives without data in every pipeline, left out: {'; '.join(left_out)}")
    constant = [axis.name for axis in axes if axis not in deciding]
    if constant:
        notes.append(
            f"the same for all pipelines, so that it decides nothing: {', '.join(constant)}"
        )
    if len(deciding) == 1:
        notes.append("only one objective decides: the front is whoever is best at it")
    if counted.n_undefined:
        notes.append(
            f"{counted.n_undefined} resamples hold no scored query of some metric, and are dropped"
        )
    return notes


def _direction(axis: Axis) -> str:
    return "" if axis.greater_is_better else ", lower is better"
