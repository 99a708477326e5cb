"""How far judges and people agree: their ratings, the scale of these, and the measures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import IntervalSettings, choose_metrics
from rageval_report.errors import AlignmentError, DataError, UnknownNameError, check_choice, named
from rageval_report.reports.sentences import group_notes
from rageval_report.scores import Correct, Metric, Scored, normalise_name, resolver
from rageval_report.scores.cells import read_cells
from rageval_report.scores.frames import to_pandas
from rageval_report.scores.query_ids import ANSWER, QUESTION, first_named
from rageval_report.scores.states import VOTES, unscored_reasons
from rageval_report.scores.table import id_column_of
from rageval_report.stats import agreement as measures
from rageval_report.stats.base import Interval
from rageval_report.stats.means import mean_interval
from rageval_report.types import BoolArray, FloatArray

# Labels by query id: an evaluation, a Series, a frame of raters (of any library), a dict.
People = Scored | pd.Series | pd.DataFrame | Mapping[str, object] | object
LabelColumns = str | Iterable[str] | None
ScaleKind = Literal["binary", "nominal", "ordinal", "continuous"]
ScaleArgument = Literal["auto", ScaleKind]

_GUARD = "'"  # a sheet for reviewers puts it before an id that a spreadsheet takes for a formula
_MOST_STEPS = 10  # at most this many different values are steps of a scale
CLOSE = 1e-9  # ratings that were converted from another scale carry rounding
_BINARY = np.array([0.0, 1.0])
_NUMBERS = np.array([])


@dataclass(frozen=True, eq=False)
class Ratings:
    """The judge's scores and people's labels of the same queries, NaN where there is none."""

    ids: pd.Index
    judge: FloatArray
    table: FloatArray
    raters: tuple[str, ...]
    strangers: pd.Index

    @property
    def labels(self) -> FloatArray:
        """One label per query: the mean over its raters; NaN if nobody rated it."""
        n = (~np.isnan(self.table)).sum(axis=1)
        return np.where(n > 0, np.nansum(self.table, axis=1) / np.maximum(n, 1), np.nan)

    @property
    def is_judged(self) -> BoolArray:
        """Whether the judge scored each query."""
        return ~np.isnan(self.judge)

    @property
    def is_labelled(self) -> BoolArray:
        """Whether anybody rated each query."""
        return np.asarray(~np.isnan(self.table).all(axis=1))

    @property
    def both(self) -> BoolArray:
        """Whether a query has a score and a label."""
        return self.is_judged & self.is_labelled

    @property
    def unlabelled(self) -> BoolArray:
        """Whether a query has a score and no label."""
        return self.is_judged & ~self.is_labelled

    @property
    def n(self) -> int:
        """The number of queries that have both."""
        return int(self.both.sum())


def ratings_of(
    evaluation: Scored,
    metric: Metric,
    people: People,
    label: LabelColumns = None,
    label_bounds: tuple[float, float] | None = None,
) -> Ratings:
    """The judge's scores beside people's labels; the parameters are those of `calibrate`."""
    ids = evaluation.scores.index
    frame = _label_frame(people, metric, label)
    index = _ids(frame.index, ids)
    numbers = pd.DataFrame({n: _numbers(frame[n].set_axis(index)) for n in frame}, index=index)
    if label_bounds is not None:
        numbers = _rescale(numbers, metric, label_bounds)
    rated = numbers.index[numbers.notna().any(axis=1)]
    ratings = Ratings(
        ids,
        evaluation.scores[metric.name].to_numpy(dtype=np.float64),
        numbers.reindex(ids).to_numpy(dtype=np.float64),
        tuple(map(str, numbers.columns)),
        rated[~rated.isin(ids)],
    )
    _check(ratings, evaluation, metric, rated)
    return ratings


def _label_frame(people: People, metric: Metric, label: LabelColumns) -> pd.DataFrame:
    """The labels as cells, one column per rater, by query id."""
    names = [label] if isinstance(label, str) else [] if label is None else list(label)
    if hasattr(people, "scores") and hasattr(people, "details"):
        run = cast("Scored", people)
        known = {n: n if n in run.details else resolver(run.metrics)(n) for n in names}
        chosen = [*known.values()] or [_default_label(run, metric)]
        sides = (run.details if name in run.details else run.scores for name in chosen)
        columns = {name: side[name] for name, side in zip(chosen, sides, strict=True)}
        return pd.DataFrame(columns, index=run.scores.index)
    if isinstance(people, pd.Series):
        return people.to_frame(str(people.name or "people"))
    columns_of_dict = (list, tuple, np.ndarray, pd.Series)
    if isinstance(people, Mapping) and not any(
        isinstance(value, columns_of_dict) for value in people.values()
    ):
        return pd.Series(dict(people), dtype=object).to_frame("people")
    frame = to_pandas(people)
    id_column = id_column_of(map(str, frame.columns))
    frame = frame if id_column is None else frame.set_index(id_column)
    for name in names:
        if name not in frame:
            raise UnknownNameError("column of labels", name, map(str, frame.columns))
    if not frame.shape[1]:
        raise DataError("the frame of people's labels has no column besides the ids")
    return frame[names] if names else frame


def _default_label(people: Scored, metric: Metric) -> str:
    """The metric of the same name, or of the same meaning, or the only one."""
    known = people.metrics.values()
    same_meaning = [theirs.name for theirs in known if theirs.known_as == metric.known_as]
    for names in ([metric.name] if metric.name in people.metrics else [], same_meaning):
        if len(names) == 1:
            return names[0]
    if len(people.metrics) == 1:
        return next(iter(people.metrics))
    raise DataError(
        f"label must name the column of people's labels, because none is named {metric.name!r}; "
        f"columns: {', '.join(people.metrics)}"
    )


def _numbers(cells: pd.Series) -> FloatArray:
    """Labels as numbers; yes and no, pass and fail, "4/5" are understood; a blank is none."""
    if pd.api.types.is_numeric_dtype(cells.dtype):
        return cells.to_numpy(dtype=np.float64, na_value=np.nan)
    read = read_cells(cells.tolist())
    if read.unread:
        first = cells.iloc[list(read.unread[:3])]
        shown = ", ".join(f"{str(cell)[:40]!r} at {str(name)!r}" for name, cell in first.items())
        raise DataError(
            f"labels must be numbers, yes or no, or left empty; {cells.name!r} has "
            f"{len(read.unread)} that are none of these: {shown}. If it is not a column of labels, "
            "name the right one with label="
        )
    return read.numbers


def _rescale(
    numbers: pd.DataFrame, metric: Metric, label_bounds: tuple[float, float]
) -> pd.DataFrame:
    low, high = map(float, label_bounds)
    if metric.bounds is None:
        raise DataError(
            f"{metric.name!r} has no bounds to which labels could be converted; give them: "
            f"metrics={{{metric.name!r}: {{'bounds': (low, high)}}}}"
        )
    if not low < high:
        raise DataError(f"label_bounds must be two numbers, the lower first; got {label_bounds}")
    to_low, to_high = metric.bounds
    return to_low + (numbers - low) * ((to_high - to_low) / (high - low))


def _ids(index: pd.Index, known: pd.Index) -> pd.Index:
    """The ids as texts; without the guard of a review sheet if the evaluation has none."""
    texts, ids = map(str, index), set(known)
    result = pd.Index([t if t in ids else t.removeprefix(_GUARD) for t in texts], name="query_id")
    if not result.is_unique:
        twice = result[result.duplicated()].unique().tolist()
        raise DataError(
            f"query ids of labels must be unique; seen more than once: {named(twice)}. Put several "
            "raters side by side, one column each"
        )
    return result


def _check(ratings: Ratings, evaluation: Scored, metric: Metric, rated: pd.Index) -> None:
    """Refuse labels that meet no score, or that do not fit the metric's bounds."""
    if not len(rated):
        raise DataError(f"there are no labels: {', '.join(ratings.raters)} has only empty cells")
    if not ratings.n:
        n_judged, n_labelled = int(ratings.is_judged.sum()), int(ratings.is_labelled.sum())
        raise AlignmentError(
            f"no query of {evaluation.name!r} has both a score of {metric.name!r} and a label: "
            f"{n_judged} are scored, {n_labelled} labelled; ids of the labels: {named(rated, 3)}, "
            f"of the evaluation: {named(ratings.ids, 3)}"
        )
    least, most = float(np.nanmin(ratings.table)), float(np.nanmax(ratings.table))
    if math.isinf(least) or math.isinf(most):
        raise DataError("labels must be finite numbers, or left empty; some are infinite")
    low, high = metric.bounds or (least, most)
    rounding = CLOSE * max(abs(low), abs(high), 1.0)
    if least < low - rounding or most > high + rounding:
        raise DataError(
            f"people's labels lie between {least:g} and {most:g}, {metric.name!r} "
            f"between {low:g} and {high:g}. If people used another scale, give its ends with "
            "label_bounds="
        )


# -- the scale


@dataclass(frozen=True, eq=False)
class RatingScale:
    """The categories of ratings, in order; or none, as they are plain numbers."""

    kind: ScaleKind
    categories: FloatArray
    threshold: float | None = None
    bins_labels: bool = False

    def judge_categories(self, scores: FloatArray) -> FloatArray:
        """The category of each of the judge's scores; NaN if there is none."""
        return self._categories_of(scores, self.threshold)

    def label_categories(self, labels: FloatArray) -> FloatArray:
        """The category of each label."""
        return self._categories_of(labels, self.threshold if self.bins_labels else None)

    def _categories_of(self, values: FloatArray, threshold: float | None) -> FloatArray:
        if threshold is not None:
            return np.where(np.isnan(values), np.nan, (values >= threshold - CLOSE).astype(float))
        if not self.categories.size:
            return values
        nearest = np.abs(values[:, np.newaxis] - self.categories).argmin(axis=1)
        return np.where(np.isnan(values), np.nan, self.categories[nearest])

    def agreed_labels(self, table: FloatArray) -> FloatArray:
        """The common label of the raters of each query; NaN if they have none."""
        rated = np.column_stack([self.label_categories(column) for column in table.T])
        if table.shape[1] == 1:
            return rated[:, 0]
        if self.kind in ("continuous", "ordinal"):
            middle = np.mean if self.kind == "continuous" else np.median
            agreed = np.full(len(rated), np.nan)
            ordered, n_labels = np.sort(rated, axis=1), (~np.isnan(rated)).sum(axis=1)
            for n in np.unique(n_labels[n_labels > 0]):  # NaN go last
                agreed[n_labels == n] = middle(ordered[n_labels == n, :n], axis=1)
            is_common = self.kind == "continuous" or np.isin(agreed, self.categories)
            return np.where(is_common, agreed, np.nan)
        counts = np.column_stack([(rated == category).sum(axis=1) for category in self.categories])
        most = counts.max(axis=1)
        is_unique = (counts == most[:, np.newaxis]).sum(axis=1) == 1
        return np.where(is_unique & (most > 0), self.categories[counts.argmax(axis=1)], np.nan)


def scale_of(
    ratings: Ratings,
    metric: Metric,
    *,
    scale: ScaleArgument = "auto",
    threshold: float | None = None,
    correct: Correct | None = None,
) -> RatingScale:
    """The scale on which judge and people can be compared; the parameters are `calibrate`'s."""
    check_choice("scale", scale, get_args(ScaleArgument))
    if threshold is not None and not math.isfinite(threshold):
        raise DataError(f"threshold must be a finite number; got {threshold}")
    levels, kind, are_binary = _levels(ratings), scale, _is_binary(ratings.table)
    if kind == "auto":
        # People decide: numbers of the judge can be cut at a threshold, but yes and no cannot be
        # refined. More different values than queries are measurements, not steps.
        most = _MOST_STEPS if metric.kind == "ordinal" else min(_MOST_STEPS, ratings.n)
        kind = "ordinal" if levels.size <= most else "continuous"
        if threshold is not None or are_binary:
            kind = "binary"
    if kind == "binary":
        if threshold is None and not (are_binary and _is_binary(ratings.judge)):
            threshold = _default_threshold(metric, correct)
        return RatingScale("binary", _BINARY, threshold, bins_labels=not are_binary)
    if threshold is not None:
        raise DataError(f'threshold makes ratings binary, but scale is "{kind}"; omit one of them')
    return RatingScale(kind, _NUMBERS if kind == "continuous" else levels)


def _levels(ratings: Ratings) -> FloatArray:
    """The ratings that occur; values that differ only by rounding are one."""
    values = np.concatenate([ratings.judge, ratings.table.ravel()])
    levels: FloatArray = np.unique(values[~np.isnan(values)])
    return np.asarray(levels[np.diff(levels, prepend=-math.inf) > CLOSE])


def _is_binary(values: FloatArray) -> bool:
    return bool(np.isin(values[~np.isnan(values)], _BINARY).all())


def _default_threshold(metric: Metric, correct: Correct | None) -> float:
    """The threshold of the rule for a correct answer; else the middle of the bounds."""
    rules = {correct[0]: correct[1]} if isinstance(correct, tuple) else correct
    if isinstance(rules, Mapping):
        thresholds = {normalise_name(name): float(value) for name, value in rules.items()}
        if metric.name in thresholds:
            return thresholds[metric.name]
    if metric.bounds is None:
        raise DataError(
            f"threshold is required: people say yes or no, and {metric.name!r} is a number without "
            "bounds"
        )
    return sum(metric.bounds) / 2.0


FigureRow: TypeAlias = dict[str, Any]
CorrelationKind: TypeAlias = Literal["pearson", "spearman", "kendall"]

_PEOPLE = "people with each other"
_CORRELATIONS: dict[str, CorrelationKind] = {
    "Pearson correlation": "pearson",
    "Spearman correlation": "spearman",
    "Kendall's tau-b": "kendall",
}
_WEIGHTS: tuple[measures.Weights, ...] = ("linear", "quadratic")
_LEVELS: dict[ScaleKind, measures.MeasurementLevel] = {
    "binary": "nominal",
    "nominal": "nominal",
    "ordinal": "ordinal",
    "continuous": "interval",
}


def figure(
    part: str, name: str, interval: Interval, n: int, verdict: str | None = None
) -> FigureRow:
    """A row of a table of agreement."""
    row = {"part": part, "figure": name, "estimate": interval.estimate, "ci_low": interval.low}
    row |= {"ci_high": interval.high, "n": n, "method": interval.method}
    return {**row, "verdict": verdict, "notes": interval.notes}


def interval_notes(rows: Iterable[FigureRow]) -> list[str]:
    """The notes of the intervals, each once with the figures it applies to."""
    return group_notes(((row["figure"], note) for row in rows for note in row["notes"]), 0)


# -- two ratings of each query


def pair_rows(
    part: str, a: FloatArray, b: FloatArray, scale: RatingScale, settings: IntervalSettings
) -> list[FigureRow]:
    """The measures of two ratings of the same queries, without gaps, that are for their scale."""
    level, is_steps = settings.confidence_level, scale.kind == "ordinal"
    own: dict[str, Any] = {"confidence_level": level, "categories": [*map(float, scale.categories)]}
    intervals: dict[str, Interval] = {}
    if scale.kind == "continuous":
        for name, kind in _CORRELATIONS.items():
            intervals[name] = correlation(a, b, kind, confidence_level=level)
    else:
        same = (a == b).astype(np.float64)
        share = mean_interval(same, bounds=(0.0, 1.0), confidence_level=level)
        intervals["percent agreement"] = share
        intervals["Cohen's kappa"] = measures.cohen_kappa(a, b, **own)
        for weights in _WEIGHTS if is_steps else ():
            name = f"Cohen's kappa, {weights}"
            intervals[name] = measures.cohen_kappa(a, b, weights, **own)
        intervals["Gwet's AC1"] = measures.gwet_ac1(a, b, **own)
        if is_steps:
            intervals["Gwet's AC2, quadratic"] = measures.gwet_ac2(a, b, "quadratic", **own)
    intervals["Krippendorff's alpha"] = _alpha(np.column_stack([a, b]), scale, settings)
    return [figure(part, name, each, a.size) for name, each in intervals.items()]


def _alpha(table: FloatArray, scale: RatingScale, settings: IntervalSettings) -> Interval:
    return measures.krippendorff_alpha(table, _LEVELS[scale.kind], **asdict(settings))


def correlation(
    judge: FloatArray,
    people: FloatArray,
    kind: CorrelationKind = "pearson",
    *,
    confidence_level: float = 0.95,
) -> Interval:
    """A correlation of complete pairs with the interval of Fisher's z."""
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
    level = settings.confidence_level
    rated = np.column_stack([scale.label_categories(column) for column in ratings.table.T])
    has_several = (~np.isnan(rated)).sum(axis=1) > 1
    if not has_several.any():
        return
    table = rated[has_several]
    if scale.kind != "continuous":
        # The mean over queries of the share of pairs of raters who agree.
        pairs = [table[:, list(pair)].T for pair in combinations(range(table.shape[1]), 2)]
        n_same = sum((first == second).astype(int) for first, second in pairs)
        n_pairs = sum((~np.isnan(first + second)).astype(int) for first, second in pairs)
        kind: Literal["proportion", "binary"] = "proportion" if len(pairs) > 1 else "binary"
        share = mean_interval(
            n_same / n_pairs, bounds=(0.0, 1.0), kind=kind, confidence_level=level
        )
        yield figure(_PEOPLE, "percent agreement", share, len(table))
        # Fleiss' kappa needs an equal number of ratings: the usual one.
        n_ratings = (~np.isnan(table)).sum(axis=1)
        usual = table[n_ratings == np.bincount(n_ratings).argmax()]
        counts = np.column_stack([(usual == value).sum(axis=1) for value in scale.categories])
        kappa = measures.fleiss_kappa(counts, confidence_level=level)
        yield figure(_PEOPLE, "Fleiss' kappa", kappa, len(usual))
    # If the second is below the first, the judge agrees with people less than they with each other.
    joined = np.column_stack([table, scale.judge_categories(ratings.judge)[has_several]])
    for name, each in (("Krippendorff's alpha", table), ("alpha, the judge as one more", joined)):
        yield figure(_PEOPLE, name, _alpha(each, scale, settings), len(table))


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
