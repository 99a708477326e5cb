"""A judge beside people: agreement, the corrected mean, and the queries to label next."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report.analysis import agreement
from rageval_report.analysis.agreement import (
    CLOSE,
    FigureRow,
    LabelColumns,
    People,
    Ratings,
    RatingScale,
    ScaleArgument,
    figure,
    ratings_of,
    scale_of,
    text_columns,
)
from rageval_report.analysis.arguments import IntervalSettings, choose_metrics, kind_of_mean
from rageval_report.errors import AlignmentError, DataError, UnknownNameError, named
from rageval_report.plots.drawn import Drawn
from rageval_report.reports.sentences import number, pvalue_text
from rageval_report.results import Answer, Result, answer_of
from rageval_report.scores import Correct, Metric, Scored
from rageval_report.scores.align import align
from rageval_report.scores.states import states_frame
from rageval_report.stats import prediction_powered as ppi
from rageval_report.stats.base import Interval, check_seed
from rageval_report.stats.means import interval_of_count, mean_interval
from rageval_report.stats.pairs import paired_interval
from rageval_report.stats.prediction_powered import JudgeErrors, PredictionPowered
from rageval_report.types import BoolArray, FloatArray, IndexArray

# "judge", a column of the details, or the group of each query by its id.
Strata: TypeAlias = str | pd.Series | Mapping[str, object]
QueryGroups: TypeAlias = npt.NDArray[np.object_]

NAIVE, LABELLED, CORRECTED = "judge alone", "people alone", "corrected (PPI++)"
# Up to this many scores of a judge are groups; more are cut into groups of about equal size.
_MOST_LEVELS, _BINS = 5, 4
_PLANNED = (25, 50, 100, 200, 400)
_FEWEST = 2  # an interval needs two labels in each group
# With fewer labels that differ from the judge, their spread cannot be estimated.
_FEWEST_MOVED = 5


def rare_corrections(labels: FloatArray, judge: FloatArray, lam: float) -> str:
    """A warning if too few labels differ from the judge for a valid interval; else empty."""
    n_different = int((np.abs(labels - judge) > CLOSE).sum())
    # With a weight below 1, labels that equal the judge's score still show a spread, unless all of
    # these are the same.
    if n_different >= _FEWEST_MOVED or (lam != 1.0 and np.ptp(judge) > CLOSE):
        return ""
    return (
        f"only {n_different} of {labels.size} labels differ from the judge, which makes the "
        "interval too narrow"
    )


# -- which queries to label next


def groups_of(evaluation: Scored, ratings: Ratings, strata: Strata) -> QueryGroups:
    """The group of each query: by the judge's score, a column of the details, or by query id."""
    if isinstance(strata, str) and strata == "judge":
        return _groups_of_scores(ratings.judge)
    if isinstance(strata, str) and strata not in evaluation.details:
        raise UnknownNameError("column of the details", strata, map(str, evaluation.details))
    values = evaluation.details[strata] if isinstance(strata, str) else pd.Series(strata)
    groups = values.reindex(ratings.ids)
    missing = ratings.ids[ratings.is_judged & groups.isna().to_numpy()]
    if len(missing):
        raise DataError(
            f"strata: {len(missing)} judged queries have no group, e.g. {missing[0]!r}; give them "
            "a group of their own"
        )
    return groups.astype(str).to_numpy(dtype=object)


def _groups_of_scores(judge: FloatArray) -> QueryGroups:
    scores = judge[~np.isnan(judge)]
    if np.unique(scores).size <= _MOST_LEVELS:
        return np.array([f"judge {score:g}" for score in judge], dtype=object)
    edges = np.unique(np.quantile(scores, np.linspace(0, 1, _BINS + 1)))
    places = np.clip(np.searchsorted(edges, judge, side="right") - 1, 0, edges.size - 2)
    names = [f"judge {low:.3g} to {high:.3g}" for low, high in pairwise(edges)]
    return np.array(names, dtype=object)[places]


def queries_to_label(calibration: Calibration, n: int, *, strata: Strata, seed: int) -> Result:
    """The queries to label next, for the narrowest interval of the corrected mean."""
    evaluation, ratings = calibration.evaluation, calibration.ratings
    groups, rng = groups_of(evaluation, ratings, strata), np.random.default_rng(check_seed(seed))
    corrected, free = calibration.means.corrected, ratings.unlabelled
    lam = 1.0 if corrected is None or math.isnan(corrected.lam) else corrected.lam
    if not free.any():
        raise DataError(
            "every query with a score of the judge has a label; there is none to choose"
        )
    if isinstance(n, bool) or not 1 <= int(n) == n <= free.sum():
        raise DataError(
            f"n must be an integer from 1 to {int(free.sum())}, the number of queries without a "
            f"label; got {n!r}"
        )
    # By id, so that the order in which the queries stand does not decide which ones are drawn.
    by_id = np.argsort(ratings.ids.astype(str).to_numpy(), kind="stable")
    names = list(dict.fromkeys(groups[by_id][ratings.is_judged[by_id]].tolist()))
    inside = [groups == name for name in names]
    state = np.array([[int((rows & own).sum()) for own in inside] for rows in (ratings.both, free)])
    pull = np.array([_pull(ratings, own, lam) for own in inside])
    counts, chosen = allocate(pull, state, n), list[int]()
    for own, count in zip(inside, counts, strict=True):
        members = by_id[(free & own)[by_id]]
        chosen.extend(rng.choice(members, count, replace=False).tolist())
    rows = np.array(chosen)[rng.permutation(len(chosen))]
    texts, index = (
        text_columns(evaluation, calibration.metric),
        ratings.ids[rows].rename("query_id"),
    )
    frame = pd.DataFrame({"stratum": groups[rows], "judge": ratings.judge[rows]}, index=index)
    split = ", ".join(f"{count} of {name}" for name, count in zip(names, counts, strict=True))
    by = strata if isinstance(strata, str) else "by query id"
    return Result(
        f"Queries to label next: {evaluation.name}, {calibration.metric.name}",
        pd.concat([frame, texts.reindex(index)], axis=1),
        {"n": int(n), "seed": seed, "strata": by},
        (
            f"labels by group: {split}",
            f"pass strata={by!r} to calibrate then: these labels are a random sample within "
            "each group, not of all queries",
        ),
        headline=("stratum", "judge", *(name for name in ("question",) if name in texts)),
    )


def _pull(ratings: Ratings, inside: BoolArray, lam: float) -> float:
    """The share of a group times the standard deviation of what is left to correct in it."""
    rated = ratings.both & inside
    rest = ratings.labels[rated] - lam * ratings.judge[rated]
    share = float((ratings.is_judged & inside).sum()) / int(ratings.is_judged.sum())
    low, high = (-1.0, 1.0) if rest.size else (0.0, 1.0)
    n = rest.size + 2.0 * share
    mean = (rest.sum() + share * (low + high)) / n
    squares = ((rest - mean) ** 2).sum() + share * ((low - mean) ** 2 + (high - mean) ** 2)
    return float(share * math.sqrt(squares / n))


def allocate(pull: FloatArray, state: IndexArray, n: int) -> list[int]:
    """How many of the next n labels each group gets, in proportion to its pull."""
    has, free = state.copy()
    for _ in range(n):
        # A label of the group with the largest variance per label, that is the greatest gain; first
        # the groups without the two that an interval needs.
        gain = np.where(has < _FEWEST, np.inf, pull**2 / np.maximum(has, 1) / (has + 1.0))
        best = int(np.argmax(np.where(free > 0, gain, -1.0)))
        has[best] += 1
        free[best] -= 1
    counts: list[int] = (has - state[0]).tolist()
    return counts


# -- how many labels


def label_plan(calibration: Calibration, labels: Iterable[int] | None) -> Result:
    """The interval of the mean for numbers of labels, with the judge and without."""
    from scipy.special import stdtrit

    metric, ratings = calibration.metric, calibration.ratings
    level, most = calibration.plan.confidence_level, int(ratings.is_judged.sum())
    rows = []
    if ratings.n < 2:
        raise DataError("a plan needs at least 2 queries that are rated by both")
    for count in [n for n in _PLANNED if n <= most] if labels is None else labels:
        if isinstance(count, bool) or int(count) != count or not 2 <= count <= most:
            raise DataError(
                f"labels must be integers from 2 to {most}, the number of queries that the judge "
                f"scored; got {count!r}"
            )
        alone, corrected, of_interval = _expected_errors(ratings, int(count), metric.bounds)
        reach = float(stdtrit(count - 1, 0.5 + level / 2.0))
        worth = count * (alone / corrected) ** 2 if corrected else math.nan
        rows.append((int(count), reach * alone, reach * of_interval, worth))
    return Result(
        f"Labels for {metric.name} of {calibration.evaluation.name}",
        pd.DataFrame(rows, columns=["labels", "half_width_alone", "half_width_corrected", "worth"]),
        {"metric": metric.name, "confidence_level": level, "n_queries": most},
        (
            f"estimated from {ratings.n} queries rated by both; half_width: of the interval of "
            "the mean of all queries",
            "worth: the number of labels that would do the same without a judge",
        ),
    )


def _expected_errors(
    ratings: Ratings, n_labels: int, bounds: tuple[float, float] | None
) -> tuple[float, float, float]:
    """The expected standard errors of people's mean, of the corrected one, and of its interval."""
    people, judge = ratings.labels[ratings.both], ratings.judge[ratings.both]
    all_scores = ratings.judge[ratings.is_judged]
    n_others, spread = all_scores.size - n_labels, float(all_scores.var(ddof=1))
    alone = math.sqrt(float(people.var(ddof=1)) / n_labels)
    # The judge's weight is tuned if there are enough labels, else 1, or 0 with fewer others.
    lam = 1.0 if n_others >= n_labels else 0.0
    if n_labels >= ppi.ENOUGH_TO_TUNE and n_others >= 2 and spread:
        covariance = float(np.cov(people, judge, ddof=1)[0, 1])
        lam = float(np.clip(covariance / ((1.0 + n_labels / n_others) * spread), 0.0, 1.0))
    if lam == 0.0 or n_others < 2 or not spread:
        return alone, alone, alone
    rest = people - lam * judge
    mean, variance = float(rest.mean()), float(rest.var(ddof=1))
    of_judge = lam**2 * spread / n_others
    corrected = math.sqrt(of_judge + variance / n_labels)
    of_interval = math.sqrt(of_judge + ppi.variance_of_rest(mean, variance, n_labels, lam, bounds))
    is_tuned = bounds is None or n_labels >= ppi.ENOUGH_TO_TUNE
    # `ppi_mean` uses the judge with few labels if its interval is 0.9 of that of the labels alone.
    if not is_tuned and of_interval > 0.9 * alone:
        return alone, alone, alone
    return alone, corrected, of_interval


# -- the difference of two pipelines


def difference_of(baseline: Calibration, candidate: Calibration) -> Result:
    """The difference of two pipelines, corrected using people's labels."""
    metric, lam, settings = baseline.metric, baseline.lam, baseline.plan
    first, second, plan = baseline.ratings, candidate.ratings, asdict(settings)
    names = baseline.evaluation.name, candidate.evaluation.name
    aligned = align(first.ids, second.ids)
    judge, labels = (
        np.vstack([aligned.baseline(pd.Series(ours)), aligned.candidate(pd.Series(theirs))])
        for ours, theirs in ((first.judge, second.judge), (first.labels, second.labels))
    )
    is_judged = ~np.isnan(judge).any(axis=0)
    is_labelled = is_judged & ~np.isnan(labels).any(axis=0)
    n, n_judged, rest = int(is_labelled.sum()), int(is_judged.sum()), is_judged & ~is_labelled
    if n < 2:
        raise AlignmentError(
            f"expected at least 2 queries with labels of both {names[0]!r} and {names[1]!r}; "
            f"got {n}"
        )
    judged, labelled, both = judge[:, is_judged], labels[:, is_labelled], judge[:, is_labelled]
    differences: list[tuple[str, int, float, float, Interval]] = [
        (figure, sides.shape[1], *sides.mean(axis=1).tolist(), paired_interval(*sides, **plan))
        for figure, sides in ((NAIVE, judged), (LABELLED, labelled))
    ]
    notes = [f"{n} queries with labels of both pipelines, of {n_judged} judged for both"]
    used = lam
    if rest.sum() >= 2:
        sides = zip(labelled, both, judge[:, rest], strict=True)
        corrected = ppi.ppi_difference(*sides, lam=lam, confidence_level=settings.confidence_level)
        used = corrected.lam
        # The difference itself is corrected, so there are no corrected means of the two sides.
        differences.append((CORRECTED, n_judged, math.nan, math.nan, corrected))
        if warning := rare_corrections(labelled[1] - labelled[0], both[1] - both[0], used):
            notes.append(f"the corrected difference: {warning}")
        if _is_significant(differences[0][-1]) and not _is_significant(corrected):
            notes.append(
                f"people do not confirm the difference that the judge sees on {metric.name}"
            )
    columns = ["figure", "n", "baseline_mean", "candidate_mean", "difference", "ci_low", "ci_high"]
    rows = [
        (*row, gap.estimate, gap.low, gap.high, gap.method, _verdict(gap, row[0], names[1], metric))
        for *row, gap in differences
    ]
    return Result(
        f"{names[1]} against {names[0]} on {metric.name}: judge and people",
        pd.DataFrame(rows, columns=[*columns, "method", "verdict"]),
        {**plan, "metric": metric.name, "lam": used},
        tuple(notes),
        headline=tuple(columns),
    )


def _is_significant(difference: Interval) -> bool:
    return difference.low > 0 or difference.high < 0


def _verdict(difference: Interval, figure: object, candidate: str, metric: Metric) -> str:
    if not _is_significant(difference):
        return f"{figure}: undecided on {metric.name}, difference {_text(difference)}"
    way = "better" if (difference.estimate > 0) == metric.greater_is_better else "worse"
    if difference.estimate < 0:
        low, high = -difference.high, -difference.low
        difference = replace(difference, estimate=-difference.estimate, low=low, high=high)
    return f"{figure}: {candidate} is {way} on {metric.name} by {_text(difference)}"


BIAS, MEAN, ERRORS = "bias", "mean of all queries", "errors of the judge"
JUDGE_AND_PEOPLE = "judge and people"
# The measure that gets the sentence on agreement: the first of these that is computed.
_LEADING = ("Cohen's kappa, quadratic", "Cohen's kappa", "Spearman correlation")
_FEW = 30
# If labelled and other queries differ at this p-value, the former are hardly a random sample.
_NOT_RANDOM = 0.01
# The paradox of kappa: agreement and the largest category are this frequent, and kappa is this far
# below AC1 (Feinstein & Cicchetti 1990 describe it; the limits are ours).
_AGREE, _PREVALENT, _BELOW = 0.8, 0.8, 0.2


@dataclass(frozen=True, eq=False)
class JudgeMeans:
    """The means of judge and people, as intervals."""

    bias: Interval
    naive: Interval
    people: Interval
    corrected: PredictionPowered | None = None
    errors: JudgeErrors | None = None

    @property
    def labels_worth(self) -> float:
        """The number of labels that would give an equally certain mean without a judge."""
        if self.corrected is None or not self.corrected.standard_error:
            return math.nan
        return self.corrected.n * (self.people.standard_error / self.corrected.standard_error) ** 2


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Drawn):
    """A judge compared with people on one metric: one row per figure, in parts."""

    own_plot = "agreement"

    evaluation: Scored = field(kw_only=True)
    metric: Metric = field(kw_only=True)
    ratings: Ratings = field(kw_only=True)
    scale: RatingScale = field(kw_only=True)
    means: JudgeMeans = field(kw_only=True)
    lam: float | str = field(kw_only=True)
    plan: IntervalSettings = field(kw_only=True)

    @property
    def errors(self) -> JudgeErrors | None:
        """How often the judge is right on yes and no; another calibration takes it as errors=."""
        return self.means.errors

    @property
    def pairs(self) -> pd.DataFrame:
        """The queries that both rated: ``judge``, ``people``, and the categories of both."""
        ratings, both = self.ratings, self.ratings.both
        columns = {
            "judge": ratings.judge,
            "people": ratings.labels,
            "judge_category": self.scale.judge_categories(ratings.judge),
            "people_category": self.scale.agreed_labels(ratings.table),
        }
        return pd.DataFrame(columns, index=ratings.ids.rename("query_id"))[both]

    def printed(self) -> Answer:
        """How far judge and people agree, the table, and at most three notes."""
        first = next(iter(self.sentences), self.title)
        return answer_of(self, f"{self.metric.name} of {self.evaluation.name}: {first}.")

    def _table(self, title: str, frame: pd.DataFrame, note: str, *shown: str) -> Result:
        settings: dict[str, object] = {"metric": self.metric.name, "scale": self.scale.kind}
        if self.scale.threshold is not None:
            settings["threshold"] = self.scale.threshold
        title = f"{title}: {self.evaluation.name}, {self.metric.name}"
        return Result(title, frame, settings, (note,), headline=shown)

    def confusion(self) -> Result:
        """How often the judge gave each category, by the category that people gave."""
        categories = self.scale.categories
        if not categories.size:
            raise DataError(
                "continuous ratings have no confusion matrix; calibrate with threshold= or "
                "categories="
            )
        rated = self.pairs[["people_category", "judge_category"]].dropna().to_numpy()
        people, judge = (side[:, np.newaxis] == categories for side in rated.T)
        counts = people.astype(int).T @ judge.astype(int)
        names = [f"{category:g}" for category in categories]
        columns = [f"judge {name}" for name in names]
        frame = pd.DataFrame(counts, index=pd.Index(names, name="people"), columns=columns)
        note = f"they agree on {int(np.trace(counts))} of {len(rated)} queries"
        frame = frame.assign(total=counts.sum(axis=1))
        return self._table("Confusion of people and judge", frame, note)

    def disagreements(self) -> Result:
        """The queries on which judge and people differ, the largest difference first."""
        ratings, pairs = self.ratings, self.pairs
        # Labels to which a threshold was applied are shown unchanged, like the scores.
        shown = "people" if self.scale.bins_labels else "people_category"
        pairs = pairs[(pairs["judge_category"] - pairs["people_category"]).abs() > CLOSE]
        frame = pd.DataFrame({"people": pairs[shown], "judge": pairs["judge"]})
        frame["difference"] = frame["judge"] - frame["people"]
        order = np.argsort(-frame["difference"].abs().to_numpy(), kind="stable")
        frame = frame.iloc[order]
        if len(ratings.raters) > 1:
            names = [f"people_{name}" for name in ratings.raters]
            table = pd.DataFrame(ratings.table, index=ratings.ids, columns=names)
            frame = pd.concat([frame, table.reindex(frame.index)], axis=1)
        texts = agreement.text_columns(self.evaluation, self.metric).reindex(frame.index)
        return self._table(
            "Where judge and people disagree",
            pd.concat([frame, texts], axis=1),
            f"{len(frame)} of {ratings.n} queries that both rated",
            *("people", "judge", "difference"),
            *(name for name in ("question", "reason") if name in texts),
        )

    def planning(self, labels: Iterable[int] | None = None) -> Result:
        """The interval of the mean for larger numbers of labels, with the judge and without."""
        return label_plan(self, labels)

    def to_label(self, n: int, *, strata: Strata = "judge", seed: int = 0) -> Result:
        """The n queries to label next, for the narrowest interval of the corrected mean."""
        return queries_to_label(self, n, strata=strata, seed=seed)

    def difference(self, candidate: Calibration) -> Result:
        """The difference of another pipeline from this one, corrected using labels of both."""
        return difference_of(self, candidate)


class CalibrateKeywords(TypedDict, total=False):
    """The keywords of `calibrate`."""

    scale: ScaleArgument
    threshold: float | None
    categories: Iterable[float] | None
    label_bounds: tuple[float, float] | None
    errors: JudgeErrors | None
    correct: Correct | None
    lam: float | str
    strata: Strata | None
    confidence_level: float
    n_resamples: int
    seed: int


def calibrate(
    evaluation: Scored,
    metric: str,
    people: People,
    label: LabelColumns = None,
    *,
    scale: ScaleArgument = "auto",
    threshold: float | None = None,
    categories: Iterable[float] | None = None,
    label_bounds: tuple[float, float] | None = None,
    errors: JudgeErrors | None = None,
    correct: Correct | None = None,
    lam: float | str = "auto",
    strata: Strata | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Calibration:
    """Compare a judge with people: their agreement, and the mean that people would give.

    Parameters
    ----------
    evaluation : RAGPipelineEvaluation
        The evaluation with the judge's scores of many queries.
    metric : str
        The judged metric, by any of its names.
    people : RAGPipelineEvaluation, Series, DataFrame, or mapping
        People's labels of some of the queries, by query id: another evaluation (see `label`); one
        label per query; or a frame of several raters, one column each. Yes and no, pass and fail
        are 1 and 0; an empty cell means not rated.
    label : str or iterable of str, optional
        The columns of `people` with labels, one per rater. If omitted, the metric of the same name
        for an evaluation, all columns for a frame.
    scale : {"auto", "binary", "nominal", "ordinal", "continuous"}
        "auto" looks at the values: 0 and 1, up to ten steps, or numbers.
    threshold : float, optional
        The judge's scores from here on count as 1. If omitted, and people say yes or no while the
        judge gives numbers: the threshold in `correct`, else the middle of the metric's bounds.
    categories : iterable of float, optional
        All possible ratings, in order; those that occur if omitted.
    label_bounds : (float, float), optional
        The scale of the labels if it is not the metric's, such as ``(1, 5)``; they are converted.
    errors : JudgeErrors, optional
        How often the judge is right, counted on another set: for Rogan and Gladen's share.
    correct : see `rageval_report.scores.correctness`, optional
        If it has a threshold for the metric, that is the default of `threshold`.
    lam : float or "auto"
        The weight of the judge in the corrected mean, as in `rageval_report.stats.ppi_mean`.
    strata : str, Series or mapping, optional
        The groups of queries from which labels were drawn, if some got more labels than others:
        "judge" for groups by the judge's score, as `Calibration.to_label` draws them; a column of
        the details; or the group of each query by its id. Each group needs two labels.
    confidence_level : float
        The level of the intervals.
    n_resamples, seed : int
        For the intervals that resample: Krippendorff's alpha, and means without bounds.

    Returns
    -------
    Calibration
        One row per figure: ``part``, ``figure``, ``estimate``, ``ci_low``, ``ci_high``, ``n``,
        ``reading`` (a word for the estimate), ``source`` (of that word), ``method``, ``verdict``.
        Its methods give the confusion matrix, the disagreements, a plan for the number of labels,
        and the difference of two pipelines.

    Notes
    -----
    The corrected mean is unbiased however bad the judge is, if the labelled queries are a random
    sample of all; a bad judge only makes its interval wide. A word like "substantial" is a
    convention: look at the interval, and at the agreement of people with each other.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> scores = {"query_id": list("abcdefgh"), "faithfulness": [1, 1, 0, 1, 1, 0, 1, 1]}
    >>> judged = RAGPipelineEvaluation("hybrid", scores)
    >>> labels = {"a": 1, "b": 0, "c": 0, "d": 1, "e": 1, "f": 0}
    >>> calibration = calibrate(judged, "faithfulness", labels)
    >>> float(calibration.frame.set_index("figure").loc["Cohen's kappa", "estimate"]).__round__(3)
    0.667
    >>> calibration.disagreements().frame["difference"].to_dict()
    {'b': 1.0}
    """
    plan = IntervalSettings(confidence_level, n_resamples, seed)
    known = choose_metrics(evaluation, metric)[0]
    ratings = ratings_of(evaluation, known, people, label, label_bounds)
    chosen = scale_of(
        *(ratings, known), scale=scale, threshold=threshold, categories=categories, correct=correct
    )
    labels = chosen.agreed_labels(ratings.table)
    groups = None if strata is None else groups_of(evaluation, ratings, strata)
    means = _means_of(ratings, chosen, known, plan, lam, groups)
    is_rated = ratings.both & ~np.isnan(labels)
    rows, notes = list[FigureRow](), list[str]()
    if is_rated.any():
        judge = chosen.judge_categories(ratings.judge)[is_rated]
        rows = agreement.pair_rows(JUDGE_AND_PEOPLE, judge, labels[is_rated], chosen, plan)
        _say_agreement(rows, confidence_level)
    notes += _weaknesses(ratings, chosen, labels, rows)
    rows += agreement.people_rows(ratings, chosen, plan)
    if chosen.kind != "nominal":  # names have no mean
        notes += _weaknesses_of_mean(ratings, means, known, is_stratified=groups is not None)
        rows += _rows_of_means(ratings, known, means, confidence_level)
        verdicts = chosen.judge_categories(ratings.judge)
        # Errors counted on these queries correct the unlabelled ones, external errors all.
        for name, rates, used, reading in (
            ("Rogan-Gladen", means.errors, ratings.unlabelled, "share of 1, unlabelled"),
            ("Rogan-Gladen, external", errors, ratings.is_judged, "share of 1"),
        ):
            if rates is None or not used.any():
                continue
            try:
                share = ppi.rogan_gladen(verdicts[used], rates, confidence_level=confidence_level)
            except DataError as exc:
                notes.append(f"no {name}: {exc}")
            else:
                source, n = "Rogan & Gladen 1978", int(used.sum())
                rows.append(figure(MEAN, name, share, n, source, reading))
    notes += [*_coverage_notes(evaluation, known, ratings), *_scale_notes(ratings, chosen, labels)]
    settings: dict[str, object] = {
        "metric": known.name,
        "labels": ratings.raters,
        "scale": chosen.kind,
        "threshold": chosen.threshold,
        "categories": tuple(chosen.categories.tolist()) or None,
        # The weight that was used: "auto" would not say what moved the numbers.
        "lam": lam if means.corrected is None else means.corrected.lam,
        "strata": strata if strata is None or isinstance(strata, str) else "by query id",
        "label_bounds": None if label_bounds is None else tuple(map(float, label_bounds)),
        "external_errors": None if errors is None else "{}/{},{}/{}".format(*astuple(errors)),
        **asdict(plan),
    }
    return Calibration(
        f"The judge of {known.name} against people: {evaluation.name}",
        pd.DataFrame(rows).drop(columns="notes", errors="ignore"),
        {name: value for name, value in settings.items() if value is not None},
        (*notes, *agreement.interval_notes(rows)),
        headline=("figure", "estimate", "ci_low", "ci_high", "n", "reading"),
        grouped_by="part",
        evaluation=evaluation,
        metric=known,
        ratings=ratings,
        scale=chosen,
        means=means,
        lam=lam,
        plan=plan,
    )


def _means_of(
    ratings: Ratings,
    scale: RatingScale,
    metric: Metric,
    plan: IntervalSettings,
    lam: float | str,
    groups: np.ndarray | None,
) -> JudgeMeans:
    """The means of the scores themselves, whatever the scale."""
    people, judge = ratings.labels[ratings.both], ratings.judge[ratings.both]
    others = ratings.judge[ratings.unlabelled]
    own: dict[str, Any] = {"bounds": metric.bounds, "confidence_level": plan.confidence_level}
    corrected = errors = None
    if len(people) >= 2 and others.size >= 2:
        if groups is None:
            corrected = ppi.ppi_mean(people, judge, others, lam=lam, **own)
        else:
            corrected = ppi.stratified_ppi_mean(ratings.labels, ratings.judge, groups, **own)
    naive, alone = (
        mean_interval(scores, bounds=metric.bounds, kind=kind_of_mean(metric), **asdict(plan))
        for scores in (ratings.judge, people)
    )
    # A plain standard error, to compare with the corrected mean's.
    error = float(people.std(ddof=1)) / math.sqrt(people.size) if people.size > 1 else math.nan
    if scale.kind == "binary":
        categories = scale.judge_categories(ratings.judge)
        errors = JudgeErrors.of(scale.agreed_labels(ratings.table), categories)
    bias = paired_interval(people, judge, **asdict(plan))  # second minus first
    return JudgeMeans(bias, naive, replace(alone, standard_error=error), corrected, errors)


def _rows_of_means(
    ratings: Ratings, metric: Metric, means: JudgeMeans, level: float
) -> Iterator[FigureRow]:
    bias, name = means.bias, metric.name
    sentence = (
        f"no significant bias of the judge on {name}: judge minus people {_text(bias)}, "
        f"{ratings.n} queries"
    )
    if bias.low > 0:
        sentence = f"the judge scores {name} higher than people by {_text(bias)}"
    elif bias.high < 0:
        turned = replace(bias, estimate=-bias.estimate, low=-bias.high, high=-bias.low)
        sentence = f"the judge scores {name} lower than people by {_text(turned)}"
    yield figure(BIAS, "judge minus people", bias, ratings.n, verdict=sentence)
    if (errors := means.errors) is not None:
        for rate, right, n in (
            ("sensitivity", errors.true_positives, errors.positives),
            ("specificity", errors.true_negatives, errors.negatives),
        ):
            if n:
                yield figure(ERRORS, rate, interval_of_count(right, n, level), n)
    n_judged = int(ratings.is_judged.sum())
    yield figure(MEAN, NAIVE, means.naive, n_judged)
    yield figure(MEAN, LABELLED, means.people, ratings.n)
    if (corrected := means.corrected) is not None:
        worth = means.labels_worth
        reading = None if math.isnan(worth) else f"worth {worth:.0f} labels"
        sentence = (
            f"the mean of {name}, corrected using {corrected.n} labels, is {_text(corrected)}; "
            f"the judge alone says {number(means.naive.estimate)}"
        ) + (f"; {reading} without a judge" if reading else "")
        source = "Angelopoulos et al. 2023"
        yield figure(MEAN, CORRECTED, corrected, n_judged, source, reading, sentence)


def _text(interval: Interval) -> str:
    if math.isnan(interval.low):
        return number(interval.estimate)
    limits = f"{number(interval.low)} to {number(interval.high)}"
    return f"{number(interval.estimate)} ({100 * interval.confidence_level:g} % CI {limits})"


def _say_agreement(rows: Sequence[FigureRow], level: float) -> None:
    """Write the sentence on agreement of judge and people beside the leading measure."""
    by_name = {row["figure"]: row for row in rows}
    row = next((by_name[name] for name in _LEADING if name in by_name), None)
    if row is None:
        return
    sentence, same = "judge and people", by_name.get("percent agreement")
    if same is not None:
        sentence += f" agree on {round(same['estimate'] * same['n'])} of {same['n']} queries"
    estimate, low, high = (row[name] for name in ("estimate", "ci_low", "ci_high"))
    text = _text(Interval(estimate, low, high, math.nan, row["method"], level))
    word = f", {row['reading']} ({row['source']})" if row["reading"] else ""
    row["verdict"] = f"{sentence}{':' if same is None else ';'} {row['figure']} {text}{word}"


# -- the notes


def _coverage_notes(evaluation: Scored, metric: Metric, ratings: Ratings) -> Iterator[str]:
    """Which queries were rated by whom."""
    only_people = ratings.is_labelled & ~ratings.is_judged
    n_nobody = int((~ratings.is_labelled & ~ratings.is_judged).sum())
    text = f"{ratings.n} queries rated by both, {int(ratings.unlabelled.sum())} by the judge alone"
    text += f", {int(only_people.sum())} by people alone" if only_people.any() else ""
    yield text + (f", {n_nobody} by nobody" if n_nobody else "")
    if only_people.any():
        states = states_frame(evaluation.scores[[metric.name]], evaluation.details)[metric.name]
        by_state = sorted(Counter(states.to_numpy()[only_people].tolist()).items())
        why = ", ".join(f"{n} {state}" for state, n in by_state)
        yield f"labelled but not scored ({why}): {named(ratings.ids[only_people])}"
    if n := len(ratings.strangers):
        verb = "labelled query is" if n == 1 else "labelled queries are"
        yield f"{n} {verb} not in {evaluation.name!r}: {named(ratings.strangers)}"


def _scale_notes(ratings: Ratings, scale: RatingScale, labels: FloatArray) -> Iterator[str]:
    """How ratings were converted to categories."""
    if scale.threshold is not None:
        whose = "scores and labels" if scale.bins_labels else "the judge's scores"
        yield f"{whose} of at least {scale.threshold:g} count as 1, all others as 0"
    elif scale.categories.size:
        moved = np.abs(scale.judge_categories(ratings.judge) - ratings.judge) > CLOSE
        if moved.any():
            yield f"{int(moved.sum())} scores are moved to the nearest category"
    if len(ratings.raters) > 1:
        how = {"ordinal": "median", "continuous": "mean"}.get(scale.kind, "most frequent label")
        yield (
            f"{len(ratings.raters)} raters; people's label of a query is their {how}, "
            "in means and bias it is their mean"
        )
    if n := int((ratings.both & np.isnan(labels)).sum()):
        what = "query" if n == 1 else "queries"
        yield f"{n} {what} without a label: the raters are evenly split"


def _weaknesses(
    ratings: Ratings, scale: RatingScale, labels: FloatArray, rows: Sequence[FigureRow]
) -> Iterator[str]:
    """What weakens the figures of agreement: few labels, constant raters, rare categories."""
    if ratings.n < _FEW:
        yield f"only {ratings.n} queries are rated by both, so every figure here is rough"
    people, judge = labels[ratings.both], scale.judge_categories(ratings.judge)[ratings.both]
    people = people[~np.isnan(people)]
    for who, rated in (("the judge", judge), ("people", people)):
        if rated.size > 1 and not np.ptp(rated):
            yield (
                f"{who} gave {rated[0]:g} to all {rated.size} queries rated by both: agreement "
                "beyond chance is undefined"
            )
    known = {row["figure"]: row["estimate"] for row in rows}
    if not people.size or not scale.categories.size:
        return
    measures = ("percent agreement", "Cohen's kappa", "Gwet's AC1")
    same, kappa, ac1 = (known.get(name, math.nan) for name in measures)
    shares = np.array([(people == category).mean() for category in scale.categories])
    if same >= _AGREE and shares.max() >= _PREVALENT and ac1 - kappa >= _BELOW:
        yield (
            f"{shares.max():.0%} of people's labels are {scale.categories[shares.argmax()]:g}, "
            f"which makes kappa low ({number(kappa)}) although {same:.0%} agree; use Gwet's AC1 "
            f"({number(ac1)})"
        )


def _weaknesses_of_mean(
    ratings: Ratings, means: JudgeMeans, metric: Metric, *, is_stratified: bool
) -> Iterator[str]:
    corrected, n = means.corrected, ratings.n
    if is_stratified:
        yield "the corrected mean assumes labels of a random sample of each group"
    if corrected is None:
        if not is_stratified:
            yield "fewer than two queries are without a label: people's mean needs no correction"
        return
    people, judge = ratings.labels[ratings.both], ratings.judge[ratings.both]
    warning = rare_corrections(people, judge, corrected.lam)
    # With bounds the interval counts errors that the labels may have missed.
    if warning and metric.bounds is None:
        yield f"the corrected mean: {warning}"
    if means.labels_worth < n:
        yield (
            f"the corrected mean is worth {means.labels_worth:.0f} labels, fewer than the {n} "
            "that were used: use people's mean"
        )
    if not is_stratified:
        yield from _sample_notes(ratings)


def _sample_notes(ratings: Ratings) -> Iterator[str]:
    """Whether the judge scores the labelled queries differently from the rest: Welch's test."""
    from scipy.stats import ttest_ind_from_stats

    yield "the corrected mean assumes that the labelled queries are a random sample of all"
    sides = ratings.judge[ratings.both], ratings.judge[ratings.unlabelled]
    if not any(np.ptp(side) for side in sides):
        return
    summary = [(side.mean(), side.std(ddof=1), side.size) for side in sides]
    pvalue = float(ttest_ind_from_stats(*summary[0], *summary[1], equal_var=False).pvalue)
    if pvalue < _NOT_RANDOM:
        yield (
            f"they do not look like one: the judge's mean is {number(float(sides[0].mean()))} on "
            f"them and {number(float(sides[1].mean()))} on the rest (Welch p {pvalue_text(pvalue)})"
            "; do not use the corrected mean, and draw the queries to label at random"
        )
