"""One score per pipeline from weighted objectives: which differ, and whatever the weights are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd

from rageval_report.analysis.ranking.figures import (
    BOOTSTRAP,
    Figure,
    FigureTests,
    Term,
    figure_tests,
    margin_of,
    share_terms,
)
from rageval_report.analysis.ranking.lineup import Lineup
from rageval_report.analysis.ranking.margins import SCORE, check_margins
from rageval_report.analysis.ranking.objective_definitions import ObjectivesArgument
from rageval_report.analysis.ranking.objectives import Aim, resolve_objectives
from rageval_report.analysis.ranking.resampled_objectives import (
    ResampledObjectives,
    percent,
    resample_objectives,
)
from rageval_report.analysis.ranking.standing import BEST, MAY_BE_BEST, WORSE
from rageval_report.analysis.ranking.weight_draws import shown_shares
from rageval_report.errors import DataError
from rageval_report.reports.sentences import (
    correction_text,
    join_names,
    number,
    pvalue_text,
)
from rageval_report.results import Result
from rageval_report.scores import Metric
from rageval_report.stats.base import TIE_TOLERANCE, check_level, check_resamples, check_seed
from rageval_report.types import FloatArray

_FRONT = ("rank", "pipeline", "standing", "score", "ci_low", "ci_high")
_SHARES = ("share_of_resamples", "share_of_weights", "share_of_weights_shown")
_NAME = "weighted score"


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
    tests : FigureTests, optional
        The tests of all pairs of pipelines.
    weight_shares : ndarray of shape (n_pipelines, n_pipelines)
        The share of all weights under which the pipeline of the row is shown to be better than that
        of the column.
    names : tuple of str
        The pipelines, in the order of the tests.
    """

    objectives: pd.DataFrame | None = None
    tests: FigureTests | None = None
    weight_shares: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    names: tuple[str, ...] = ()

    @cached_property
    def pairs(self) -> Result:
        """Every pair of pipelines: the difference of the scores, its interval and its test.

        Columns: baseline, candidate, n, baseline_score, candidate_score, difference, ci_low,
        ci_high, margin, test, pvalue and pvalue_adjusted (that the difference is no larger than the
        margin), is_shown, share_of_weights_shown and share_of_weights_reversed (under which the
        difference is shown in this direction, in the opposite one), verdict.
        """
        rows = [] if self.tests is None else [*_pair_rows(self, self.tests)]
        notes = _pair_notes(self.tests) if rows and self.tests is not None else ()
        return Result(
            "Differences of the weighted scores",
            pd.DataFrame(rows),
            self.settings,
            notes,
            headline=(
                *("baseline", "candidate", "n", "difference", "ci_low", "ci_high"),
                *("pvalue_adjusted", "is_shown", "share_of_weights_shown"),
            ),
        )

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
    correction: str = "holm",
    margins: Mapping[str, float] | None = None,
) -> WeightedScores:
    """Combine the objectives of each pipeline into one weighted score.

    Parameters
    ----------
    lineup : Lineup
        The pipelines.
    weights, objectives : mapping, optional
        As in `rageval_report.analysis.ranking.objectives.resolve_objectives`.
    confidence_level : float
        The level of the intervals. A score that is a mean over queries has the interval of any
        bounded mean (Gaffke's); any other has percentiles of bootstrap resamples of the queries.
    n_resamples, seed : int
        For the resamples, and for the random weights.
    correction : str
        As in `rageval_report.rank`; "westfall-young" is Holm's here.
    margins : mapping of str to float, optional
        Differences that are too small to matter, by metric (in its own unit), by objective (between
        0 and 1), or of the score itself under "score".

    Returns
    -------
    WeightedScores
        Columns: rank, pipeline, standing ("best", "may be best": not shown to be worse than the
        best, "worse"), score, ci_low, ci_high, share_of_resamples and share_of_weights (in which
        the pipeline has the highest score; ties, and differences up to the margin, are shared),
        share_of_weights_shown (under which it is shown to be better than every other), and the
        contribution of each objective under its name.

    Raises
    ------
    DataError
        If no objective has data in every pipeline, or a weight or a margin makes no sense.

    Notes
    -----
    The score is the weighted mean of the objectives that have data in every pipeline; the weights
    of the others are distributed among them. If every objective is a mean over queries, each query
    contributes to the score, and the difference of two pipelines is tested as in
    `rageval_report.compare`: by the signs of the paired differences, with the interval that belongs
    to the test. With a median, a percentile, or a mean beyond the worst value that counts, the
    score is not a mean over queries; then the test and the interval come from paired bootstrap
    resamples (expanded percentiles). Margins of metrics and objectives add up, by their weights, to
    the difference of scores that they can cause; a pair is shown to differ only beyond it.

    `share_of_weights` takes all weights to be equally likely (uniform on the simplex): exact for
    one and two objectives, from random weights for more. `share_of_weights_shown` tests each of the
    random weights, by the t approximation with the covariance of the resamples, Bonferroni-adjusted
    for the number of pairs.
    """
    aims = resolve_objectives(lineup, objectives, weights)
    with_data = [aim for aim in aims if aim.parts]
    _check_data(aims, with_data)
    level, start = check_level(confidence_level), check_seed(seed)
    resamples = check_resamples(n_resamples)
    checked = check_margins(margins, _metrics(lineup), [aim.name for aim in aims])
    resampled = resample_objectives(with_data, n_resamples=resamples, seed=start)
    values, drawn = resampled.all_shares()
    effective = np.array([aim.weight for aim in with_data])
    effective /= effective.sum()
    scores, spread = values @ effective, drawn @ effective
    limits = _margins_of_aims(with_data, checked)
    margin = checked.get(SCORE, float(limits @ effective))
    figure = Figure(
        *(_NAME, scores, spread, True),
        _weighted_terms(with_data, effective),
        margin=margin,
        seed=start,
    )
    tests = figure_tests(figure, correction=correction, alpha=round(1.0 - level, 12))
    weight_shares, shares_best = shown_shares(
        values,
        drawn,
        checked.get(SCORE, limits),
        n=0 if figure.too_few else figure.n,
        alpha=tests.alpha / (1 if tests.correction == "none" else max(1, tests.n_pairs)),
        n_draws=resamples,
        seed=start,
    )
    ends = figure.mean_limits(level)
    frame = _score_frame(lineup.names, scores, ends, values * effective, with_data)
    frame["standing"] = _standings(scores, tests)
    frame["share_of_resamples"] = winning_shares(spread, margin)
    frame["share_of_weights"] = simplex_shares(values, n_draws=resamples, seed=start)
    frame["share_of_weights_shown"] = shares_best
    frame = _sort_by_rank(frame, [aim.name for aim in with_data])
    result = WeightedScores(
        "Weighted scores",
        frame,
        {
            "weights": {aim.name: aim.weight for aim in aims},
            "confidence_level": level,
            "missing": lineup.missing,
            "correction": tests.correction,
            **({"margins": checked} if checked else {}),
            "n_resamples": resamples,
            "seed": start,
        },
        (*_notes(lineup, aims, effective, resampled), *_test_notes(tests, weight_shares)),
        headline=(*_FRONT, *_SHARES, *(aim.name for aim in with_data)),
        objectives=_contributions(lineup.names, aims, values, effective),
        tests=tests,
        weight_shares=weight_shares,
        names=lineup.names,
    )
    verdicts = pd.Series(_verdicts(result, tests, level), dtype=object)
    return replace(result, frame=frame.assign(verdict=verdicts))


def _metrics(lineup: Lineup) -> dict[str, Metric]:
    return {name: metrics[0] for name, metrics in lineup.metrics.items()}


def _margins_of_aims(aims: Sequence[Aim], margins: Mapping[str, float]) -> FloatArray:
    """The difference in each objective that its margins, and those of its metrics, can cause."""
    terms = (share_terms(aim.parts, 1.0) for aim in aims)
    limits = [margin_of([aim.name], part, margins) for aim, part in zip(aims, terms, strict=True)]
    return np.array(limits)


def _weighted_terms(aims: Sequence[Aim], effective: FloatArray) -> tuple[Term, ...]:
    pairs = zip(aims, effective.tolist(), strict=True)
    return tuple(term for aim, weight in pairs for term in share_terms(aim.parts, weight))


def _standings(scores: FloatArray, tests: FigureTests) -> list[str]:
    """The standing of each pipeline beside the one with the highest score."""
    best = int(scores.argmax())
    is_first = scores >= scores[best] - TIE_TOLERANCE
    return [
        BEST if first else WORSE if beaten else MAY_BE_BEST
        for first, beaten in zip(is_first.tolist(), tests.beats[best].tolist(), strict=True)
    ]


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


def winning_shares(scores: FloatArray, margin: float = 0.0) -> FloatArray:
    """The share of rows in which each column has the highest score; ties are shared.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_columns)
        Higher is better.
    margin : float
        Scores that are no further below the highest one are ties with it.

    Examples
    --------
    >>> winning_shares(np.array([[1.0, 0.0], [1.0, 1.0]]))
    array([0.75, 0.25])
    """
    if not len(scores):
        return np.full(scores.shape[1], np.nan)
    top = scores.max(axis=1, keepdims=True)
    wins = (scores >= top - max(margin, TIE_TOLERANCE)).astype(np.float64)
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


def _verdicts(result: WeightedScores, tests: FigureTests, level: float) -> list[str | None]:
    """One sentence, beside the first."""
    frame = result.frame
    first, leaders = frame.iloc[0], frame.loc[frame["rank"] == 1, "pipeline"]
    verb = "has" if len(leaders) == 1 else "share"
    sentence = (
        f"{join_names([*leaders])} {verb} the highest weighted score, {number(first['score'])} "
        f"({100 * level:g} % CI {number(first['ci_low'])} to {number(first['ci_high'])})"
        f"{_tested_part(result, tests)}: first in "
        f"{percent(first['share_of_resamples'])} of the resamples of the queries, and under "
        f"{percent(first['share_of_weights'])} of all weights"
        f"{'' if len(leaders) == 1 else ' each'}"
    )
    return [sentence, *[None] * (len(frame) - 1)]


def _tested_part(result: WeightedScores, tests: FigureTests) -> str:
    """Which pipelines the first is shown to be better than, and which not."""
    frame = result.frame
    best = result.names.index(frame["pipeline"].iloc[0])
    by_standing = {word: frame.loc[frame["standing"] == word, "pipeline"] for word in _RIVALS}
    worse, open_ = (list(by_standing[word]) for word in _RIVALS)
    margin = tests.figure.margin
    beyond = f" by more than {number(margin)}" if margin else ""
    parts = []
    if worse:
        pvalue = max(float(tests.pvalue_adjusted[best, result.names.index(name)]) for name in worse)
        parts.append(
            f"shown to be higher than that of {join_names(worse)}{beyond} "
            f"({correction_text(tests.correction)} p {pvalue_text(pvalue)})"
        )
    if open_ and tests.figure.too_few:
        parts.append(
            f"too few {tests.figure.units.word} for a test against {join_names(open_)}: "
            f"{tests.figure.too_few}"
        )
    elif open_:
        also = f" beyond the margin of {number(margin)}" if margin else ""
        joined = "and not" if parts else "not"
        parts.append(f"{joined} distinguishable from that of {join_names(open_)}{also}")
    return "".join(f", {part}" for part in parts)


_RIVALS = (WORSE, MAY_BE_BEST)


def _pair_rows(result: WeightedScores, tests: FigureTests) -> Iterator[dict[str, object]]:
    figure, level, beats = tests.figure, 1.0 - tests.alpha, tests.beats
    for i, j in combinations(range(len(result.names)), 2):
        low, high = figure.limits(i, j, level)
        ahead, behind = (j, i) if figure.improvement(i, j) >= 0 else (i, j)
        is_shown = bool(beats[ahead, behind])
        row: dict[str, object] = {
            "baseline": result.names[i],
            "candidate": result.names[j],
            "n": figure.n,
            "baseline_score": float(figure.values[i]),
            "candidate_score": float(figure.values[j]),
            "difference": float(figure.values[j] - figure.values[i]),
            "ci_low": low,
            "ci_high": high,
            "margin": figure.margin,
            "test": BOOTSTRAP if figure.by_query is None else "sign-flip",
            "pvalue": float(tests.pvalue[i, j]),
            "pvalue_adjusted": float(tests.pvalue_adjusted[i, j]),
            "is_shown": is_shown,
            "share_of_weights_shown": float(result.weight_shares[ahead, behind]),
            "share_of_weights_reversed": float(result.weight_shares[behind, ahead]),
        }
        names = result.names[ahead], result.names[behind]
        yield {**row, "verdict": _pair_sentence(names, row, tests, is_shown=is_shown)}


def _pair_sentence(
    names: tuple[str, str], row: Mapping[str, object], tests: FigureTests, *, is_shown: bool
) -> str:
    """That the first is better than the second, or that they are not distinguishable."""
    figure = tests.figure
    difference, low, high = (float(str(row[key])) for key in ("difference", "ci_low", "ci_high"))
    if figure.too_few:
        word = figure.units.word
        return f"too few {word} for a test of {names[0]} and {names[1]}: {figure.too_few}"
    if difference < 0:  # the first of the sentence is the better one
        low, high = -high, -low
    pvalue = (
        f"{correction_text(tests.correction)} p {pvalue_text(float(str(row['pvalue_adjusted'])))}"
    )
    how = f"{100 * (1 - tests.alpha):g} % CI {number(low)} to {number(high)}"
    beyond = f" beyond the margin of {number(figure.margin)}" if figure.margin else ""
    unit = figure.units.word if figure.units.are_clusters else "paired queries"
    if is_shown:
        return (
            f"{names[0]} has a higher weighted score than {names[1]}{beyond}, by "
            f"{number(abs(difference))} ({how}), {pvalue}, {figure.n} {unit}"
        )
    return (
        f"{names[0]} and {names[1]} are not distinguishable by their weighted scores{beyond}: "
        f"difference {number(abs(difference))} ({how}), {pvalue}, {figure.n} {unit}"
    )


def _pair_notes(tests: FigureTests) -> tuple[str, ...]:
    if tests.correction == "none" or tests.n_pairs < 2:
        return ()
    return (
        f"p-values are adjusted ({tests.correction}) over these {tests.n_pairs} pairs; the "
        "intervals are not",
    )


def _test_notes(tests: FigureTests, weight_shares: FloatArray) -> tuple[str, ...]:
    """How differences were tested, and under which weights the order that is shown holds."""
    if not tests.n_pairs:
        return ()
    figure = tests.figure
    how = (
        f"the score is a mean over {figure.n} {figure.units.word}, so its differences are tested "
        f"by their signs, {'cluster by cluster' if figure.units.are_clusters else 'query by query'}"
        if figure.by_query is not None
        else "the score is not a mean over queries (a median, a percentile, or a value beyond the "
        f"worst that counts, is part of it), so its differences are tested by a {BOOTSTRAP}"
    )
    shown = np.argwhere(tests.beats)
    if not len(shown):
        return (how,)
    shares = weight_shares[shown[:, 0], shown[:, 1]]
    return (
        how,
        f"the differences that are shown here are shown under at least {percent(shares.min())} of "
        "all weights each, in the same direction",
    )


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
