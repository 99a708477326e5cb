"""One score per pipeline from weighted objectives, and how much the order depends on weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rageval_report.analysis.ranking.lineup import Lineup
from rageval_report.analysis.ranking.objectives import Aim, ObjectivesArgument, resolve_objectives
from rageval_report.analysis.ranking.resampled_objectives import (
    ResampledObjectives,
    percent,
    percentile_limits,
    resample_objectives,
)
from rageval_report.analysis.sentence_parts import number
from rageval_report.errors import DataError
from rageval_report.results import Result
from rageval_report.stats.base import TIE_TOLERANCE, check_level, check_resamples, check_seed
from rageval_report.types import FloatArray

_FRONT = ("rank", "pipeline", "score", "ci_low", "ci_high")
_SHARES = ("share_of_resamples", "share_of_weights")


@dataclass(frozen=True, eq=False, repr=False)
class WeightedScores(Result):
    """One row per pipeline, the highest score first.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    objectives : DataFrame
        One row per objective and pipeline: objective, weight, effective_weight, made_of, pipeline,
        value (between 0 and 1), contribution; those without data have NaN.
    """

    objectives: pd.DataFrame | None = None

    @property
    def contributions(self) -> Result:
        """The part of each objective in each pipeline's score."""
        return Result(
            "What the weighted scores are made of",
            pd.DataFrame() if self.objectives is None else self.objectives,
            self.settings,
            headline=("pipeline", "weight", "effective_weight", "value", "contribution", "made_of"),
            grouped_by="objective",
        )


def weighted_scores(
    lineup: Lineup,
    weights: Mapping[str, float] | None = None,
    objectives: ObjectivesArgument = None,
    *,
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
) -> WeightedScores:
    """Combine the objectives of each pipeline into one weighted score.

    Parameters
    ----------
    lineup : Lineup
        The pipelines.
    weights, objectives : mapping, optional
        As in `rageval_report.analysis.ranking.objectives.resolve_objectives`.
    confidence_level : float
        The level of the intervals, which are percentiles of bootstrap resamples of the queries.
    n_resamples, seed : int
        For the resamples, and for the random weights.

    Returns
    -------
    WeightedScores
        Columns: rank, pipeline, score, ci_low, ci_high, share_of_resamples and share_of_weights (in
        which the pipeline has the highest score; ties are shared), and the contribution of each
        objective under its name.

    Raises
    ------
    DataError
        If no objective has data in every pipeline, or a weight makes no sense.

    Notes
    -----
    The score is the weighted mean of the objectives that have data in every pipeline; the weights
    of the others are distributed among them. `share_of_weights` takes all weights to be equally
    likely (uniform on the simplex): exact for one and two objectives, from random weights for more.
    """
    aims = resolve_objectives(lineup, objectives, weights)
    with_data = [aim for aim in aims if aim.parts]
    _check_data(aims, with_data)
    level, start = check_level(confidence_level), check_seed(seed)
    resamples = check_resamples(n_resamples)
    resampled = resample_objectives(with_data, n_resamples=resamples, seed=start)
    values, drawn = resampled.all_shares()
    effective = np.array([aim.weight for aim in with_data])
    effective /= effective.sum()
    scores, spread = values @ effective, drawn @ effective
    ends = percentile_limits(spread, level)
    frame = _score_frame(lineup.names, scores, ends, values * effective, with_data)
    frame["share_of_resamples"] = winning_shares(spread)
    frame["share_of_weights"] = simplex_shares(values, n_draws=resamples, seed=start)
    frame = _sort_by_rank(frame, [aim.name for aim in with_data])
    settings = {
        "weights": {aim.name: aim.weight for aim in aims},
        "confidence_level": level,
        "missing": lineup.missing,
        "n_resamples": resamples,
        "seed": start,
    }
    return WeightedScores(
        "Weighted scores",
        frame.assign(verdict=pd.Series(_verdicts(frame, level), dtype=object)),
        settings,
        tuple(_notes(lineup, aims, effective, resampled)),
        headline=(*_FRONT, *_SHARES, *(aim.name for aim in with_data)),
        objectives=_contributions(lineup.names, aims, values, effective),
    )


def _check_data(aims: Sequence[Aim], with_data: Sequence[Aim]) -> None:
    if not with_data:
        reasons = "; ".join(f"{aim.name}: {aim.missing}" for aim in aims)
        raise DataError(
            f"no objective has data in every pipeline ({reasons}); name their metrics, such as "
            "objectives={'quality': ['recall@5', 'faithfulness']}"
        )
    # Each objective becomes a column of the frame.
    reserved = [aim.name for aim in with_data if aim.name in (*_FRONT, *_SHARES)]
    if reserved:
        raise DataError(f"an objective cannot be named {reserved[0]!r}, which is another column")


def winning_shares(scores: FloatArray) -> FloatArray:
    """The share of rows in which each column has the highest score; ties are shared.

    Examples
    --------
    >>> winning_shares(np.array([[1.0, 0.0], [1.0, 1.0]]))
    array([0.75, 0.25])
    """
    if not len(scores):
        return np.full(scores.shape[1], np.nan)
    top = scores.max(axis=1, keepdims=True)
    wins = (scores >= top - TIE_TOLERANCE).astype(np.float64)
    wins /= wins.sum(axis=1, keepdims=True)
    shares: FloatArray = wins.mean(axis=0)
    return shares


def simplex_shares(values: FloatArray, *, n_draws: int = 9999, seed: int = 0) -> FloatArray:
    """The share of all possible weights under which each pipeline has the highest score.

    Parameters
    ----------
    values : ndarray of shape (n_pipelines, n_objectives)
        Higher is better.
    n_draws, seed : int
        For more than two objectives: random weights, uniform (Dirichlet with all parameters 1).

    Examples
    --------
    >>> simplex_shares(np.array([[1.0, 0.0], [0.0, 0.5]])).round(4)
    array([0.6667, 0.3333])
    """
    if values.shape[1] == 1:
        return winning_shares(values.T)
    if values.shape[1] == 2:
        return _exact_shares(values)
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(values.shape[1]), size=n_draws)
    return winning_shares(weights @ values.T)


def _exact_shares(values: FloatArray) -> FloatArray:
    """The exact shares for two objectives.

    The scores are linear in the weight: between two crossings the leader does not change, so the
    leader in the middle of such a piece wins all of it.
    """
    slope, start = values[:, 0] - values[:, 1], values[:, 1]
    steeper = slope[:, np.newaxis] - slope
    lower = start - start[:, np.newaxis]
    crossings = lower[steeper > TIE_TOLERANCE] / steeper[steeper > TIE_TOLERANCE]
    inside = crossings[(crossings > 0) & (crossings < 1)]
    ends = np.unique(np.concatenate([[0.0, 1.0], inside]))
    middles = (ends[1:] + ends[:-1]) / 2
    weights = np.column_stack([middles, 1 - middles])
    top = [winning_shares(weight[np.newaxis] @ values.T) for weight in weights]
    shares: FloatArray = np.diff(ends) @ np.array(top)
    return shares


def _score_frame(
    names: Sequence[str],
    scores: FloatArray,
    ends: tuple[FloatArray, FloatArray],
    contributions: FloatArray,
    aims: Sequence[Aim],
) -> pd.DataFrame:
    ahead = scores[:, np.newaxis] - scores > TIE_TOLERANCE
    columns = {aim.name: contributions[:, place] for place, aim in enumerate(aims)}
    return pd.DataFrame(
        {
            "rank": 1 + ahead.sum(axis=0),
            "pipeline": list(names),
            "score": scores,
            "ci_low": ends[0],
            "ci_high": ends[1],
            **columns,
        }
    )


def _sort_by_rank(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    ordered = frame.sort_values("rank", kind="stable", ignore_index=True)
    return ordered[[*_FRONT, *_SHARES, *names]]


def _verdicts(frame: pd.DataFrame, level: float) -> list[str | None]:
    """One sentence, beside the first."""
    first, leaders = frame.iloc[0], frame.loc[frame["rank"] == 1, "pipeline"]
    verb = "has" if len(leaders) == 1 else "share"
    sentence = (
        f"{' and '.join(leaders)} {verb} the highest weighted score, {number(first['score'])} "
        f"({100 * level:g} % CI {number(first['ci_low'])} to {number(first['ci_high'])}): first in "
        f"{percent(first['share_of_resamples'])} of the resamples of the queries, and under "
        f"{percent(first['share_of_weights'])} of all weights"
        f"{'' if len(leaders) == 1 else ' each'}"
    )
    return [sentence, *[None] * (len(frame) - 1)]


def _notes(
    lineup: Lineup,
    aims: Sequence[Aim],
    effective: FloatArray,
    resampled: ResampledObjectives,
) -> list[str]:
    with_data = [aim for aim in aims if aim.parts]
    shown = ", ".join(
        f"{aim.name} {aim.weight:g} ({weight:.3f}; {aim.description_with_scale})"
        for aim, weight in zip(with_data, effective, strict=True)
    )
    notes = [
        *lineup.notes,
        "a score is a sum over the objectives: the effective weight times a value between 0 "
        "(worst) and 1 (best)",
        f"weights, with the effective weights in brackets: {shown}",
    ]
    left_out = [f"{aim.name} ({aim.missing})" for aim in aims if not aim.parts]
    if left_out:
        notes.append(f"objectives without data, left out: {'; '.join(left_out)}")
    used = {part.block.metric.name for aim in aims for part in aim.parts}
    used |= {notion.column for aim in aims for notion in aim.notions}
    unused = [name for name in lineup.metrics if name not in used]
    if unused:
        notes.append(f"metrics in no objective: {', '.join(unused)}")
    if resampled.n_undefined:
        notes.append(resampled.undefined_note())
    return notes


def _contributions(
    names: Sequence[str], aims: Sequence[Aim], values: FloatArray, effective: FloatArray
) -> pd.DataFrame:
    # By identity: aims hold arrays, so they have no equality of their own.
    places = {id(aim): place for place, aim in enumerate(aim for aim in aims if aim.parts)}
    nan = float("nan")
    rows = []
    for aim in aims:
        place = places.get(id(aim))
        for column, name in enumerate(names):
            value = nan if place is None else float(values[column, place])
            weight = 0.0 if place is None else float(effective[place])
            rows.append(
                {
                    "objective": aim.name,
                    "weight": aim.weight,
                    "effective_weight": weight,
                    "made_of": aim.description,
                    "pipeline": name,
                    "value": value,
                    "contribution": value * weight if place is not None else nan,
                }
            )
    return pd.DataFrame(rows)
