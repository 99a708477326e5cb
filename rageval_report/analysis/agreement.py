"""How far raters agree: a judge with people, people with each other, or several judges.

A measure is a row of a table: its part and its name, an interval, and a word for its size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import IntervalSettings, choose_metrics, kind_of_mean
from rageval_report.analysis.ratings import CLOSE, Ratings, RatingScale, ScaleKind, scale_of_judges
from rageval_report.errors import DataError
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored
from rageval_report.scores.query_ids import ANSWER, QUESTION, first_named
from rageval_report.scores.states import VOTES, unscored_reasons
from rageval_report.stats import agreement as measures
from rageval_report.stats.base import Interval
from rageval_report.stats.means import mean_interval
from rageval_report.types import FloatArray

FigureRow: TypeAlias = dict[str, Any]
CorrelationKind: TypeAlias = Literal["pearson", "spearman", "kendall"]

_PEOPLE = "people with each other"
# Words for the size of a coefficient, each with the smallest value it applies to.
_LANDIS, _KRIPPENDORFF, _COHEN = "Landis & Koch 1977", "Krippendorff 2004", "Cohen 1988"
_LIMITS_OF_WORDS: dict[str, tuple[tuple[float, str], ...]] = {
    _LANDIS: (
        *((0.8, "almost perfect"), (0.6, "substantial"), (0.4, "moderate"), (0.2, "fair")),
        *((0.0, "slight"), (-math.inf, "poor")),
    ),
    _KRIPPENDORFF: ((0.8, "reliable"), (0.667, "tentative"), (-math.inf, "unreliable")),
    _COHEN: ((0.5, "large"), (0.3, "medium"), (0.1, "small"), (-math.inf, "none")),
}
_CORRELATIONS: dict[str, tuple[CorrelationKind, str | None]] = {
    "Pearson correlation": ("pearson", _COHEN),
    "Spearman correlation": ("spearman", _COHEN),
    "Kendall's tau-b": ("kendall", None),
}
_WEIGHTS: tuple[measures.Weights, ...] = ("linear", "quadratic")
_LEVELS: dict[ScaleKind, measures.MeasurementLevel] = {
    "binary": "nominal",
    "nominal": "nominal",
    "ordinal": "ordinal",
    "continuous": "interval",
}


def figure(
    part: str,
    name: str,
    interval: Interval,
    n: int,
    source: str | None = None,
    reading: str | None = None,
    verdict: str | None = None,
) -> FigureRow:
    """A row of a table of agreement; a benchmark that is named as the source gives its word."""
    if source in _LIMITS_OF_WORDS:
        words = (word for least, word in _LIMITS_OF_WORDS[source] if interval.estimate >= least)
        reading = next(words, None)  # NaN has none
        source = source if reading else None
    row = {"part": part, "figure": name, "estimate": interval.estimate, "ci_low": interval.low}
    row |= {"ci_high": interval.high, "n": n, "reading": reading, "source": source}
    return {**row, "method": interval.method, "verdict": verdict, "notes": interval.notes}


def interval_notes(rows: Iterable[FigureRow]) -> list[str]:
    """The notes of the intervals, each once with the figures it applies to."""
    names_by_note: dict[str, dict[str, None]] = {}
    for row in rows:
        for note in row["notes"]:
            names_by_note.setdefault(note, {})[row["figure"]] = None
    return [f"{', '.join(names)}: {note}" for note, names in names_by_note.items()]


# -- two ratings of each query


def pair_rows(
    part: str, a: FloatArray, b: FloatArray, scale: RatingScale, settings: IntervalSettings
) -> list[FigureRow]:
    """The measures of two ratings of the same queries, without gaps, that are for their scale."""
    level, is_steps = settings.confidence_level, scale.kind == "ordinal"
    own: dict[str, Any] = {"confidence_level": level, "categories": [*map(float, scale.categories)]}
    intervals: dict[str, tuple[Interval, str | None]] = {}
    if scale.kind == "continuous":
        for name, (kind, source) in _CORRELATIONS.items():
            intervals[name] = correlation(a, b, kind, confidence_level=level), source
    else:
        same = (a == b).astype(np.float64)
        share = mean_interval(same, bounds=(0.0, 1.0), confidence_level=level)
        intervals["percent agreement"] = share, None
        intervals["Cohen's kappa"] = measures.cohen_kappa(a, b, **own), _LANDIS
        for weights in _WEIGHTS if is_steps else ():
            kappa = measures.cohen_kappa(a, b, weights, **own)
            intervals[f"Cohen's kappa, {weights}"] = kappa, _LANDIS
        intervals["Gwet's AC1"] = measures.gwet_ac1(a, b, **own), _LANDIS
        if is_steps:
            intervals["Gwet's AC2, quadratic"] = (
                measures.gwet_ac2(a, b, "quadratic", **own),
                _LANDIS,
            )
    alpha = _alpha(np.column_stack([a, b]), scale, settings)
    intervals["Krippendorff's alpha"] = alpha, _KRIPPENDORFF
    return [figure(part, name, each, a.size, source) for name, (each, source) in intervals.items()]


def _alpha(table: FloatArray, scale: RatingScale, settings: IntervalSettings) -> Interval:
    return measures.krippendorff_alpha(table, _LEVELS[scale.kind], **asdict(settings))


def correlation(
    judge: FloatArray,
    people: FloatArray,
    kind: CorrelationKind = "pearson",
    *,
    confidence_level: float = 0.95,
) -> Interval:
    """A correlation of complete pairs with the interval of Fisher's z.

    NaN if a side is constant; the interval needs at least 4 pairs, for Kendall's tau-b 5. The
    variances are those of Bonett & Wright (2000).
    """
    from scipy.special import ndtri
    from scipy.stats import kendalltau, rankdata

    n, method = judge.size, f"fisher-z {kind}"
    if n < 2 or not (np.ptp(judge) and np.ptp(people)):
        note = "one query" if n < 2 else "a side is constant: the correlation is undefined"
        return Interval.unknown(math.nan, method, confidence_level, note)
    if kind == "kendall":
        estimate, spread, n_lost = float(kendalltau(judge, people).statistic), 0.437, 4
    else:
        sides = (rankdata(judge), rankdata(people)) if kind == "spearman" else (judge, people)
        estimate, n_lost = _pearson(*sides), 3
        spread = 1.0 + estimate**2 / 2.0 if kind == "spearman" else 1.0
    # On a line Fisher's transformation is infinite.
    if n <= n_lost or abs(estimate) >= 1.0 - 1e-12:
        why = f"{n} queries" if n <= n_lost else "all queries lie on a line"
        return Interval.unknown(estimate, method, confidence_level, f"{why}: no interval")
    error = math.sqrt(spread / (n - n_lost))
    reach = float(ndtri(0.5 + confidence_level / 2.0)) * error
    low, high = (math.tanh(math.atanh(estimate) + side) for side in (-reach, reach))
    # Back from Fisher's z to the correlation by the derivative of tanh.
    return Interval(estimate, low, high, error * (1.0 - estimate**2), method, confidence_level)


def _pearson(a: FloatArray, b: FloatArray) -> float:
    sides = []
    for values in (a, b):
        scaled = values / np.abs(values).max()  # huge and tiny numbers have squares, too
        centred = scaled - scaled.mean()
        sides.append(centred / math.sqrt(float((centred * centred).sum())))
    return min(max(float((sides[0] * sides[1]).sum()), -1.0), 1.0)


# -- several raters


def people_rows(
    ratings: Ratings, scale: RatingScale, settings: IntervalSettings
) -> Iterator[FigureRow]:
    """The agreement of people with each other: the most that can be expected of a judge."""
    rated = np.column_stack([scale.label_categories(column) for column in ratings.table.T])
    has_several = (~np.isnan(rated)).sum(axis=1) > 1
    if not has_several.any():
        return
    table = rated[has_several]
    yield from group_rows(_PEOPLE, table, scale, settings)
    # If this is below people's own alpha, the judge agrees with them less than they with each
    # other.
    joined = np.column_stack([table, scale.judge_categories(ratings.judge)[has_several]])
    alpha = _alpha(joined, scale, settings)
    yield figure(_PEOPLE, "alpha, the judge as one more", alpha, len(table), _KRIPPENDORFF)


def group_rows(
    part: str, table: FloatArray, scale: RatingScale, settings: IntervalSettings
) -> Iterator[FigureRow]:
    """The agreement of several raters, one column each; each query has two ratings or more."""
    level = settings.confidence_level
    if scale.kind != "continuous":
        # The mean over queries of the share of pairs of raters who agree.
        pairs = [table[:, list(pair)].T for pair in combinations(range(table.shape[1]), 2)]
        n_same = sum((first == second).astype(int) for first, second in pairs)
        n_pairs = sum((~np.isnan(first + second)).astype(int) for first, second in pairs)
        kind: Literal["proportion", "binary"] = "proportion" if len(pairs) > 1 else "binary"
        share = mean_interval(
            n_same / n_pairs, bounds=(0.0, 1.0), kind=kind, confidence_level=level
        )
        yield figure(part, "percent agreement", share, len(table))
        # Fleiss' kappa needs an equal number of ratings: the usual one.
        n_ratings = (~np.isnan(table)).sum(axis=1)
        rated = table[n_ratings == np.bincount(n_ratings).argmax()]
        counts = np.column_stack([(rated == value).sum(axis=1) for value in scale.categories])
        kappa = measures.fleiss_kappa(counts, confidence_level=level)
        yield figure(part, "Fleiss' kappa", kappa, len(rated), _LANDIS)
    alpha = _alpha(table, scale, settings)
    yield figure(part, "Krippendorff's alpha", alpha, len(table), _KRIPPENDORFF)


# -- several judges


def votes_of(evaluation: Scored, metric: str | Metric) -> pd.DataFrame:
    """Each judge's scores of a metric that several judges scored: one column per judge."""
    known = metric if isinstance(metric, Metric) else choose_metrics(evaluation, metric)[0]
    column = f"{known.name}{VOTES}"
    cells = evaluation.details[column].tolist() if column in evaluation.details else []
    if not any(isinstance(cell, Mapping) for cell in cells):
        raise DataError(
            f"{known.name!r} was not scored by several judges: the details have no column "
            f"{column!r}. Give a list of chats: score(..., chat=[first, second])"
        )
    rows = [cell if isinstance(cell, Mapping) else {} for cell in cells]
    return pd.DataFrame(rows, index=evaluation.scores.index).astype(np.float64)


def _judged_metrics(evaluation: Scored, metrics: str | Iterable[str] | None) -> list[Metric]:
    if metrics is not None:
        return choose_metrics(evaluation, metrics)
    known = evaluation.metrics.values()
    judged = [metric for metric in known if f"{metric.name}{VOTES}" in evaluation.details]
    if not judged:
        raise DataError(
            f"no metric of {evaluation.name!r} was scored by several judges. Give a list of "
            "chats: score(..., chat=[first, second])"
        )
    return judged


def judges_agreement(
    evaluation: Scored,
    metrics: str | Iterable[str] | None = None,
    *,
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Result:
    """How far several judges agree on each metric; see `RAGPipelineEvaluation.judges_agreement`.

    One row per metric, part and figure: ``metric``, ``part``, ``figure``, ``estimate``, ``ci_low``,
    ``ci_high``, ``n``, ``reading``, ``source``, ``method``. The parts are each judge (its mean),
    each pair of judges, and with three judges or more all of them together.
    """
    settings = IntervalSettings(confidence_level, n_resamples, seed)
    rows, notes = list[FigureRow](), list[str]()
    for metric in _judged_metrics(evaluation, metrics):
        votes = votes_of(evaluation, metric)
        new = list(_rows_of_judges(votes, metric, settings))
        rows += [{"metric": metric.name, **row} for row in new]
        notes += [f"{metric.name}: {note}" for note in _notes_on_judges(votes, new)]
    return Result(
        f"Agreement of judges: {evaluation.name}",
        pd.DataFrame(rows).drop(columns=["verdict", "notes"]),
        asdict(settings),
        tuple(notes),
        headline=("metric", "part", "figure", "estimate", "ci_low", "ci_high", "n", "reading"),
        grouped_by="metric",
    )


def _rows_of_judges(
    votes: pd.DataFrame, metric: Metric, settings: IntervalSettings
) -> Iterator[FigureRow]:
    level, kind = settings.confidence_level, kind_of_mean(metric)
    for judge in votes:
        scores = votes[judge].dropna().to_numpy()
        mean = mean_interval(scores, bounds=metric.bounds, kind=kind, confidence_level=level)
        yield figure(str(judge), "mean score", mean, len(scores))
    table, judges = votes.to_numpy(), tuple(map(str, votes))
    ratings = Ratings(votes.index, table[:, 0], table[:, 1:], judges[1:], votes.index[:0])
    scale = scale_of_judges(ratings, metric)
    categories = np.column_stack([scale.judge_categories(column) for column in table.T])
    for (i, first), (j, second) in combinations(enumerate(judges), 2):
        both = categories[:, [i, j]]
        both = both[~np.isnan(both).any(axis=1)]
        if len(both):
            part = f"{first} and {second}"
            yield from pair_rows(part, both[:, 0], both[:, 1], scale, settings)
    has_several = (~np.isnan(table)).sum(axis=1) > 1
    if len(judges) > 2 and has_several.any():
        yield from group_rows("all judges", categories[has_several], scale, settings)


def _notes_on_judges(votes: pd.DataFrame, rows: Sequence[FigureRow]) -> Iterator[str]:
    n_by_judge = votes.notna().sum()
    if (n_by_judge < len(votes)).any():
        counts = ", ".join(f"{judge} {n}" for judge, n in n_by_judge.items())
        yield f"of {len(votes)} queries, scored by {counts}; a pair counts where both scored"
    for first, second in combinations(votes, 2):
        if votes[[first, second]].dropna().empty:
            yield f"no query was scored by both {first} and {second}"
    yield from interval_notes(rows)


def judges_disagreements(evaluation: Scored, metrics: str | Iterable[str] | None = None) -> Result:
    """The queries on which several judges differ, the largest difference first.

    Index ``query_id``, one row per metric and query: ``metric``, ``spread``, the difference of the
    highest and the lowest score, ``score``, the combined one, the score of each judge under its
    name, and the question, the answer and the judges' reasons if there are any.
    """
    tables, notes, judges = [], [], dict[str, None]()
    for metric in _judged_metrics(evaluation, metrics):
        votes = votes_of(evaluation, metric)
        judges |= dict.fromkeys(map(str, votes))
        spread = votes.max(axis=1) - votes.min(axis=1)
        differs = spread[spread > CLOSE].sort_values(ascending=False, kind="stable").index
        n_compared = int((votes.notna().sum(axis=1) > 1).sum())
        notes.append(f"{metric.name}: judges differ on {len(differs)} of {n_compared} queries")
        scores = evaluation.scores[metric.name]
        head = pd.DataFrame({"metric": metric.name, "spread": spread, "score": scores})
        parts = [head, votes, text_columns(evaluation, metric)]
        tables.append(pd.concat(parts, axis=1).loc[differs])
    frame = pd.concat(tables).rename_axis("query_id")
    texts_shown = [name for name in ("question", "reason") if name in frame]
    return Result(
        f"Where judges disagree: {evaluation.name}",
        frame,
        {"judges": ", ".join(judges)},
        tuple(notes),
        headline=("metric", "spread", *judges, *texts_shown),
    )


def text_columns(evaluation: Scored, metric: Metric) -> pd.DataFrame:
    """Question, answer and the judge's reason, if the details have them."""
    details, columns = evaluation.details, dict[str, pd.Series]()
    for name, names in (("question", QUESTION), ("answer", ANSWER)):
        if (column := first_named(map(str, details), names)) is not None:
            columns[name] = details[column]
    reasons = unscored_reasons(details, metric.name)
    if reasons.notna().any():
        columns["reason"] = reasons
    return pd.DataFrame(columns, index=details.index)
