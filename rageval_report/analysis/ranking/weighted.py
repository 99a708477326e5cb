"""One score a pipeline from weighted objectives, and how far the order rests on the weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rageval_report.analysis.ranking.lineup import Lineup
from rageval_report.analysis.ranking.objectives import Aim, ObjectivesArgument, resolve_objectives
from rageval_report.analysis.ranking.tally import Tally, limits, percent, tally
from rageval_report.analysis.sentence_parts import number
from rageval_report.errors import DataError
from rageval_report.results import Result
from rageval_report.stats.base import TIE_TOLERANCE, check_level, check_resamples, check_seed
from rageval_report.types import FloatArray

_FRONT = ("rank", "pipeline", "score", "ci_low", "ci_high")
_SHARES = ("share_of_resamples", "share_of_weights")


@dataclass(frozen=True, eq=False, repr=False)
class WeightedScores(Result):
    """A row a pipeline, the highest score first.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    objectives : DataFrame
        A row an objective and pipeline: objective, weight, effective_weight, made_of, pipeline,
        value (between 0 and 1), contribution; those without data have NaN.
    """

    objectives: pd.DataFrame | None = None

    @property
    def contributions(self) -> Result:
        """What each objective adds to each pipeline's score."""
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
    """Weigh the objectives of several pipelines into one score each.

    Parameters
    ----------
    lineup : Lineup
        The pipelines.
    weights, objectives : mapping, optional
        As in `rageval_report.analysis.ranking.objectives.resolve_objectives`.
    confidence_level : float
        Of the intervals, which are percentiles of bootstrap resamples of the queries.
    n_resamples, seed : int
        For the resamples, and for the weights that are drawn.

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
    The score is the mean of the objectives that have data in every pipeline, by weight; the weights
    of the others are shared out among them. `share_of_weights` takes all weights for equally likely
    (uniform on the simplex): exact for one and two objectives, from drawn weights for more.
    """
    aims = resolve_objectives(lineup, objectives, weights)
    there = [aim for aim in aims if aim.parts]
    _check_data(aims, there)
    level, start = check_level(confidence_level), check_seed(seed)
    resamples = check_resamples(n_resamples)
    counted = tally(there, n_resamples=resamples, seed=start)
    values, drawn = counted.all_shares()
    effective = np.array([aim.weight for aim in there])
    effective /= effective.sum()
    scores, spread = values @ effective, drawn @ effective
    frame = _frame(lineup.names, scores, limits(spread, level), values * effective, there)
    frame["share_of_resamples"] = winning_shares(spread)
    frame["share_of_weights"] = simplex_shares(values, n_draws=resamples, seed=start)
    frame = _ordered(frame, [aim.name for aim in there])
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
        tuple(_notes(lineup, aims, effective, counted)),
        headline=(*_FRONT, *_SHARES, *(aim.name for aim in there)),
        objectives=_contributions(lineup.names, aims, values, effective),
    )


def _check_data(aims: Sequence[Aim], there: Sequence[Aim]) -> None:
    if not there:
        told = "; ".join(f"{aim.name}: {aim.missing}" for aim in aims)
        raise DataError(
            f"no objective has data in every pipeline ({told}); say what they are made of, as "
            "objectives={'quality': ['recall@5', 'faithfulness']}"
        )
    taken = [aim.name for aim in there if aim.name in (*_FRONT, *_SHARES)]
    if taken:
        raise DataError(f"an objective cannot be named {taken[0]!r}, which is a column of its own")


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
        For more than two objectives: weights drawn uniformly (Dirichlet with all parameters 1).

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
    """Between the weights at which two scores cross, the one on top in the middle stays on top."""
    slope, start = values[:, 0] - values[:, 1], values[:, 1]
    steeper = slope[:, np.newaxis] - slope
    lower = start - start[:, np.newaxis]
    crossings = lower[steeper > TIE_TOLERANCE] / steeper[steeper > TIE_TOLERANCE]
    inside = crossings[(crossings > 0) & (crossings < 1)]
    ends = np.unique(np.concatenate([[0.0, 1.0], inside]))
    middles = (ends[1:] + ends[:-1]) / 2
    weights = np.column_stack([middles, 1 - middles])
    top = [winning_shares(one[np.newaxis] @ values.T) for one in weights]
    shares: FloatArray = np.diff(ends) @ np.array(top)
    return shares


def _frame(
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


def _ordered(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    ordered = frame.sort_values("rank", kind="stable", ignore_index=True)
    return ordered[[*_FRONT, *_SHARES, *names]]


def _verdicts(frame: pd.DataFrame, level: float) -> list[str | None]:
    """One sentence, beside the first."""
    first, level_with = frame.iloc[0], frame.loc[frame["rank"] == 1, "pipeline"]
    verb = "has" if len(level_with) == 1 else "share"
    told = (
        f"{' and '.join(level_with)} {verb} the highest weighted score, {number(first['score'])} "
        f"({100 * level:g} % CI {number(first['ci_low'])} to {number(first['ci_high'])}): first in "
        f"{percent(first['share_of_resamples'])} of the resamples of the queries, and under "
        f"{percent(first['share_of_weights'])} of all weights"
        f"{'' if len(level_with) == 1 else ' each'}"
    )
    return [told, *[None] * (len(frame) - 1)]


def _notes(lineup: Lineup, aims: Sequence[Aim], effective: FloatArray, counted: Tally) -> list[str]:
    there = [aim for aim in aims if aim.parts]
    shown = ", ".join(
        f"{aim.name} {aim.weight:g} ({one:.3f}; {aim.told_with_ends})"
        for aim, one in zip(there, effective, strict=True)
    )
    notes = [
        *lineup.notes,
        "a score is the sum of what it has from each objective: the weight as it counts here times "
        "a value between 0 (worst) and 1 (best)",
        f"weights, in brackets as they count here: {shown}",
    ]
    left_out = [f"{aim.name} ({aim.missing})" for aim in aims if not aim.parts]
    if left_out:
        notes.append(f"objectives without data, left out: {'; '.join(left_out)}")
    used = {part.block.metric.name for aim in aims for part in aim.parts}
    unused = [name for name in lineup.metrics if name not in used]
    if unused:
        notes.append(f"metrics that count in no objective: {', '.join(unused)}")
    if counted.n_undefined:
        notes.append(
            f"{counted.n_undefined} resamples hold no scored query of some metric, and are dropped"
        )
    return notes


def _contributions(
    names: Sequence[str], aims: Sequence[Aim], values: FloatArray, effective: FloatArray
) -> pd.DataFrame:
    places = {id(aim): place for place, aim in enumerate(one for one in aims if one.parts)}
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
                    "made_of": aim.told,
                    "pipeline": name,
                    "value": value,
                    "contribution": value * weight if place is not None else nan,
                }
            )
    return pd.DataFrame(rows)
