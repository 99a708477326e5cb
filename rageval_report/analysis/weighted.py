"""One score per pipeline from weighted objectives, and the Pareto front of objectives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.analysis.lineup import Lineup
from rageval_report.analysis.objectives import (
    OBJECTIVES,
    WEIGHTS,
    Aims,
    Figure,
    ObjectiveMapping,
    RankSettings,
)
from rageval_report.errors import DataError
from rageval_report.plots.drawn import Drawn
from rageval_report.reports.sentences import join_names, number
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored
from rageval_report.stats.base import TIE_TOLERANCE
from rageval_report.stats.corrections import adjust_pvalues
from rageval_report.types import BoolArray, FloatArray

BEST, MAY_BE_BEST, WORSE = "best", "may be best", "worse"
WHOLE, QUALITY = "weighted score", "quality"
_COLUMNS = (
    *("rank", "pipeline", "standing", "score", "ci_low", "ci_high", "pvalue"),
    "share_of_resamples",
)
_PARTS = ("objective", "weight", "effective_weight", "value", "contribution", "made_of")


@dataclass(frozen=True, eq=False, repr=False)
class WeightedScores(Result):
    """One row per pipeline, the highest score first; `contributions` has one per objective, too."""

    contributions: pd.DataFrame = field(kw_only=True)


def weighted_scores(aims: Aims) -> WeightedScores:
    """Combine the objectives of each pipeline into one weighted score; see `Ranking.weighted`."""
    settings, names, with_data = aims.settings, aims.lineup.names, aims.with_data
    for aim in with_data:  # each becomes a column of the frame
        if aim.name in _COLUMNS:
            raise DataError(f"an objective cannot be named {aim.name!r}, which is another column")
    values = np.stack([aims.figure(aim.name, [aim]).values for aim in with_data], axis=-1)
    weights = np.array([aim.weight for aim in with_data])
    weights /= weights.sum()
    whole = aims.figure(WHOLE, with_data)
    low, high = whole.mean_limits()
    leader = int(whole.values.argmax())
    pvalues = _pvalues(whole)[leader]
    is_best = whole.values >= whole.values.max() - TIE_TOLERANCE
    behind = np.where(pvalues <= settings.alpha, WORSE, MAY_BE_BEST)
    frame = pd.DataFrame(
        {
            "rank": 1 + (whole.values[:, None] - whole.values > TIE_TOLERANCE).sum(axis=0),
            "pipeline": list(names),
            "standing": np.where(is_best, BEST, behind).tolist(),
            "score": whole.values,
            "ci_low": low,
            "ci_high": high,
            "pvalue": np.where(is_best, np.nan, pvalues),
            "share_of_resamples": winning_shares(whole.drawn),
            **dict(zip((aim.name for aim in with_data), (values * weights).T, strict=True)),
        }
    ).sort_values("rank", kind="stable", ignore_index=True)
    sentence = _sentence(whole, frame)
    frame["verdict"] = pd.Series([sentence], dtype=object).reindex(frame.index)
    return WeightedScores(
        "Weighted scores",
        frame,
        aims.shown_settings(weights={aim.name: aim.weight for aim in aims.every}),
        tuple(_notes(aims, whole)),
        headline=(*_COLUMNS, *(aim.name for aim in with_data)),
        contributions=_contributions(aims, values),
    )


def _pvalues(whole: Figure) -> FloatArray:
    """That two pipelines differ, adjusted over all pairs; NaN for a pipeline and itself."""
    size = whole.values.size
    square, (first, second) = np.full((size, size), np.nan), np.triu_indices(size, 1)
    if size > 1:
        raw = [whole.pvalue(*pair) for pair in zip(first.tolist(), second.tolist(), strict=True)]
        square[first, second] = adjust_pvalues(raw, whole.settings.stepwise)
    return np.where(np.isnan(square), square.T, square)


def weighted_score(
    evaluation: Scored,
    weights: Mapping[str, float] | None = None,
    objectives: ObjectiveMapping | None = None,
) -> Result:
    """The weighted score of one run by objective; see `RAGPipelineEvaluation.weighted`."""
    known: dict[str, tuple[Metric, ...]] = {n: (m,) for n, m in evaluation.metrics.items()}
    lineup = Lineup((evaluation,), evaluation.scores.index, (None,), known)
    if objectives and (weights or objectives.keys() <= OBJECTIVES.keys()):
        # Beside the caller's own, the default ones.
        objectives, weights = {**OBJECTIVES, **objectives}, weights or WEIGHTS
    scores = weighted_scores(Aims.of(lineup, RankSettings(), objectives or None, weights or None))
    whole = scores.frame[["score", "ci_low", "ci_high"]].rename(columns={"score": "value"})
    whole = whole.assign(objective=WHOLE, contribution=whole["value"])
    rows = [*whole.to_dict("records"), *scores.contributions.to_dict("records")]
    return Result(
        f"Weighted score of {evaluation.name}",
        pd.DataFrame(rows, columns=[*_PARTS, "ci_low", "ci_high"]),
        scores.settings,
        scores.notes,
        headline=("objective", "value", "ci_low", "ci_high", "weight", "contribution"),
    )


def _sentence(whole: Figure, frame: pd.DataFrame) -> str:
    """The verdict on the first of the table, as a person can repeat it."""
    first, leaders = frame.iloc[0], frame.loc[frame["rank"] == 1, "pipeline"]
    by_standing = frame.groupby("standing")["pipeline"].apply(list)
    level = f"{100 * whole.settings.confidence_level:g} % CI"
    text = (
        f"{join_names([*leaders])} {'has' if len(leaders) == 1 else 'share'} the highest "
        f"weighted score, {number(first['score'])} ({level} {number(first['ci_low'])} to "
        f"{number(first['ci_high'])})"
    )
    if worse := by_standing.get(WORSE):
        text += f", higher than that of {join_names(worse)}"
    if undecided := by_standing.get(MAY_BE_BEST):
        few = f"too few {whole.units.word} for a test against {join_names(undecided)}"
        as_good = f"but {join_names(undecided)} may be as good"
        text += f", {few}: {whole.too_few}" if whole.too_few else f", {as_good}"
    return (
        f"{text}: first in {percent(first['share_of_resamples'])} of the resamples of the queries"
    )


def percent(share: float) -> str:
    """A share in a sentence; 0 % and 100 % only if it is exactly that."""
    if 0.0 < share < 0.01:
        return "less than 1 %"
    return "more than 99 %" if 0.99 < share < 1.0 else f"{100 * share:.0f} %"


def _notes(aims: Aims, whole: Figure) -> Iterator[str]:
    total, shown = sum(aim.weight for aim in aims.with_data), []
    for aim in aims.with_data:
        # The values that count as 0 and as 1, unless they are the bounds.
        scales = dict.fromkeys(part.own_scale for part in aim.parts if part.own_scale)
        parts = "; ".join([aim.description, *scales])
        shown.append(f"{aim.name} {aim.weight:g} ({aim.weight / total:.3f}; {parts})")
    yield from aims.lineup.notes
    yield f"weights, with the effective weights in brackets: {', '.join(shown)}"
    yield from aims.notes()
    if len(aims.lineup.names) > 1 and whole.by_query is None:
        yield "the score is not a mean over queries, so it is tested by a paired bootstrap"
    elif len(aims.lineup.names) > 1:
        yield f"the score is a mean over {whole.n} {whole.units.word}, tested by sign-flips"


def _contributions(aims: Aims, values: FloatArray) -> pd.DataFrame:
    total, columns = sum(aim.weight for aim in aims.with_data), iter(values.T)
    parts = []
    for aim in aims.every:
        weight = aim.weight / total if aim.parts else 0.0
        value = next(columns) if aim.parts else np.nan
        part = {"objective": aim.name, "weight": aim.weight, "effective_weight": weight}
        part |= {"value": value, "contribution": value * weight, "made_of": aim.description}
        parts.append(pd.DataFrame({**part, "pipeline": aims.lineup.names}))
    return pd.concat(parts, ignore_index=True)


def winning_shares(scores: FloatArray) -> FloatArray:
    """The share of rows in which each column has the highest score; ties are shared."""
    if not len(scores):
        return np.full(scores.shape[1], np.nan)
    wins = scores >= scores.max(axis=1, keepdims=True) - TIE_TOLERANCE
    shares: FloatArray = (wins / wins.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares


# -- the front

ON_FRONT, DOMINATED = "on the front", "dominated"


@dataclass(frozen=True, eq=False, repr=False)
class ParetoFront(Drawn):
    """One row per pipeline, those on the front first."""

    own_plot = "pareto"

    axes: tuple[Figure, ...] = ()

    @property
    def front(self) -> tuple[str, ...]:
        """The pipelines on the front of these queries."""
        return tuple(self.frame.loc[self.frame["on_front"], "pipeline"])


def pareto_front(aims: Aims, *, as_quality: bool) -> ParetoFront:
    """The pipelines that no other one dominates; see `Ranking.pareto`."""
    names, axes = aims.lineup.names, _axes(aims, as_quality=as_quality)
    deciding = [axis for axis in axes if not axis.is_same()]
    observed = _dominates(deciding, [axis.values for axis in deciding], (len(names),))
    drawn = _dominates(deciding, [axis.drawn for axis in deciding], (0, len(names)))
    on_front: BoolArray = ~np.any(observed, axis=0)
    everyone = np.array(names, dtype=object)
    columns: dict[str, object] = {
        "pipeline": list(names),
        "standing": np.where(on_front, ON_FRONT, DOMINATED),
        "on_front": on_front,
        "probability_on_front": (~drawn.any(axis=1)).mean(axis=0) if deciding else 1.0,
    }
    for axis in axes:
        columns[axis.name] = axis.values
        columns[f"{axis.name}_ci_low"], columns[f"{axis.name}_ci_high"] = axis.mean_limits()
    columns["dominated_by"] = [", ".join(everyone[ahead]) for ahead in observed.T]
    columns["dominates"] = [", ".join(everyone[behind]) for behind in observed]
    order = np.lexsort((-axes[0].sign * axes[0].values, ~on_front))
    frame = pd.DataFrame(columns).iloc[order].reset_index(drop=True)
    sentences = [*map(_front_sentence, frame.to_dict("records"))]
    sentences[0] = f"on the front: {join_names(frame.loc[frame['on_front'], 'pipeline'].tolist())}"
    if not deciding:
        sentences[0] = "no objective distinguishes the pipelines: all are on the front"
    return ParetoFront(
        f"Pareto front over {join_names([axis.name for axis in axes])}",
        frame.assign(verdict=pd.Series(sentences, dtype=object)),
        aims.shown_settings(objectives={axis.name: axis.made_of for axis in axes}),
        (*aims.lineup.notes, *_front_notes(aims, axes)),
        headline=("pipeline", "standing", "probability_on_front", *(axis.name for axis in axes)),
        axes=axes,
    )


def _front_sentence(row: Mapping[Any, Any]) -> str | None:
    """The sentence on a pipeline that another one dominates on these queries."""
    if row["on_front"]:
        return None
    share = percent(row["probability_on_front"])
    return (
        f"{row['pipeline']} is dominated by {join_names(row['dominated_by'].split(', '), 3)} on "
        f"these queries, and on the front in {share} of the resamples of them"
    )


def _front_notes(aims: Aims, axes: Sequence[Figure]) -> Iterator[str]:
    for axis in axes:
        equal = ", equal for all pipelines" if axis.is_same() else ""
        yield f"{axis.name}: {axis.made_of}{'' if axis.sign > 0 else ', lower is better'}{equal}"
    yield from aims.notes()


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
