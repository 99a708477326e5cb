"""A judge beside people: their agreement, and the mean corrected using people's labels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from typing import Any, TypedDict

import numpy as np
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
)
from rageval_report.analysis.arguments import IntervalSettings, choose_metrics, kind_of_mean
from rageval_report.errors import AlignmentError, DataError, named
from rageval_report.plots.drawn import Drawn
from rageval_report.reports.sentences import counted, number, pvalue_text
from rageval_report.results import Answer, Result, answer_of
from rageval_report.scores import Correct, Metric, Scored
from rageval_report.scores.align import align
from rageval_report.scores.states import states_frame
from rageval_report.stats import prediction_powered as ppi
from rageval_report.stats.base import Interval
from rageval_report.stats.means import interval_of_count, mean_interval
from rageval_report.stats.pairs import paired_interval
from rageval_report.stats.prediction_powered import JudgeErrors, PredictionPowered
from rageval_report.types import FloatArray

JUDGE_AND_PEOPLE, BIAS = "judge and people", "bias"
MEAN, ERRORS = "mean of all queries", "errors of the judge"
NAIVE, LABELLED, CORRECTED = "judge alone", "people alone", "corrected (PPI++)"
# The measure that gets the sentence on agreement: the first of these that is computed.
_LEADING = ("Cohen's kappa, quadratic", "Cohen's kappa", "Spearman correlation")
_FEW = 30
# With fewer labels that differ from the judge, their spread cannot be estimated.
_FEWEST_MOVED = 5
# If labelled and other queries differ at this p-value, the former are hardly a random sample.
_NOT_RANDOM = 0.01
# The paradox of kappa: agreement and the largest category are this frequent, and kappa is this far
# below AC1 (Feinstein & Cicchetti 1990 describe it; the limits are ours).
_AGREE, _PREVALENT, _BELOW = 0.8, 0.8, 0.2


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
                "continuous ratings have no confusion matrix; calibrate with threshold="
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

    def difference(self, candidate: Calibration) -> Result:
        """The difference of another pipeline from this one, corrected using labels of both."""
        metric, plan = self.metric, asdict(self.plan)
        name = candidate.evaluation.name
        judge, labels = _both_sides(self, candidate)
        is_judged = ~np.isnan(judge).any(axis=0)
        is_labelled = is_judged & ~np.isnan(labels).any(axis=0)
        rest = is_judged & ~is_labelled
        judged, labelled, both = judge[:, is_judged], labels[:, is_labelled], judge[:, is_labelled]
        n, n_judged = int(is_labelled.sum()), int(is_judged.sum())
        lam: float | str = "auto"
        if n < 2:
            names = f"{self.evaluation.name!r} and {name!r}"
            raise AlignmentError(
                f"expected at least 2 queries with labels of both {names}; got {n}"
            )
        gaps = [
            (which, sides.shape[1], *sides.mean(axis=1).tolist(), paired_interval(*sides, **plan))
            for which, sides in ((NAIVE, judged), (LABELLED, labelled))
        ]
        notes = [f"{n} queries with labels of both pipelines, of {n_judged} judged for both"]
        if rest.sum() >= 2:
            sides = zip(labelled, both, judge[:, rest], strict=True)
            level = self.plan.confidence_level
            corrected = ppi.ppi_difference(*sides, confidence_level=level)
            lam = corrected.lam
            # The difference itself is corrected, so there are no corrected means of the two sides.
            gaps.append((CORRECTED, n_judged, math.nan, math.nan, corrected))
            if warning := rare_corrections(labelled[1] - labelled[0], both[1] - both[0], lam):
                notes.append(f"the corrected difference: {warning}")
            if _is_significant(gaps[0][-1]) and not _is_significant(corrected):
                notes.append(
                    f"people do not confirm the difference that the judge sees on {metric.name}"
                )
        means = ("baseline_mean", "candidate_mean", "difference")
        columns = ("figure", "n", *means, "ci_low", "ci_high")
        rows = [
            (*row, gap.estimate, gap.low, gap.high, gap.method, _verdict(gap, row[0], name, metric))
            for *row, gap in gaps
        ]
        return Result(
            f"{name} against {self.evaluation.name} on {metric.name}: judge and people",
            pd.DataFrame(rows, columns=[*columns, "method", "verdict"]),
            {**plan, "metric": metric.name, "lam": lam},
            tuple(notes),
            headline=columns,
        )


def _both_sides(baseline: Calibration, candidate: Calibration) -> tuple[FloatArray, FloatArray]:
    """The judge's scores, and people's labels, of the common queries: a row per pipeline."""
    first, second = baseline.ratings, candidate.ratings
    aligned = align(first.ids, second.ids)
    judge, labels = (
        np.vstack([aligned.baseline(pd.Series(ours)), aligned.candidate(pd.Series(theirs))])
        for ours, theirs in ((first.judge, second.judge), (first.labels, second.labels))
    )
    return judge, labels


def _is_significant(difference: Interval) -> bool:
    return difference.low > 0 or difference.high < 0


def _turned(interval: Interval) -> Interval:
    """The interval of the negative value."""
    low, high = -interval.high, -interval.low
    return replace(interval, estimate=-interval.estimate, low=low, high=high)


def _verdict(difference: Interval, figure: object, candidate: str, metric: Metric) -> str:
    if not _is_significant(difference):
        return f"{figure}: undecided on {metric.name}, difference {_text(difference)}"
    way = "better" if (difference.estimate > 0) == metric.greater_is_better else "worse"
    size = difference if difference.estimate > 0 else _turned(difference)
    return f"{figure}: {candidate} is {way} on {metric.name} by {_text(size)}"


class CalibrateKeywords(TypedDict, total=False):
    """The keywords of `calibrate`."""

    scale: ScaleArgument
    threshold: float | None
    label_bounds: tuple[float, float] | None
    errors: JudgeErrors | None
    correct: Correct | None
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
    label_bounds: tuple[float, float] | None = None,
    errors: JudgeErrors | None = None,
    correct: Correct | None = None,
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
    label_bounds : (float, float), optional
        The scale of the labels if it is not the metric's, such as ``(1, 5)``; they are converted.
    errors : JudgeErrors, optional
        How often the judge is right, counted on another set: for Rogan and Gladen's share.
    correct : see `rageval_report.scores.correctness`, optional
        If it has a threshold for the metric, that is the default of `threshold`.
    confidence_level : float
        The level of the intervals.
    n_resamples, seed : int
        For the intervals that resample: Krippendorff's alpha, and means without bounds.

    Returns
    -------
    Calibration
        One row per figure: ``part``, ``figure``, ``estimate``, ``ci_low``, ``ci_high``, ``n``,
        ``method``, ``verdict``. Its methods give the confusion matrix, the disagreements, and the
        difference of two pipelines.

    Notes
    -----
    The corrected mean is unbiased however bad the judge is, if the labelled queries are a random
    sample of all; a bad judge only makes its interval wide. How much agreement is enough, the
    agreement of people with each other says, and no word for a coefficient.

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
    chosen = scale_of(ratings, known, scale=scale, threshold=threshold, correct=correct)
    labels = chosen.agreed_labels(ratings.table)
    means = _means_of(ratings, chosen, known, plan)
    rows = _agreement_rows(ratings, chosen, labels, plan)
    notes = [*_weaknesses(ratings, chosen, labels, rows)]
    rows += agreement.people_rows(ratings, chosen, plan)
    if chosen.kind != "nominal":  # names have no mean
        notes += _weaknesses_of_mean(ratings, means, known)
        rows += _rows_of_means(ratings, known, means, confidence_level)
        rows += _corrected_shares(ratings, chosen, means.errors, errors, confidence_level, notes)
    notes += [*_coverage_notes(evaluation, known, ratings), *_scale_notes(ratings, chosen, labels)]
    settings: dict[str, object] = {
        "metric": known.name,
        "labels": ratings.raters,
        "scale": chosen.kind,
        "threshold": chosen.threshold,
        "categories": tuple(chosen.categories.tolist()) or None,
        "lam": "auto" if means.corrected is None else means.corrected.lam,
        "label_bounds": None if label_bounds is None else tuple(map(float, label_bounds)),
        "external_errors": None if errors is None else "{}/{},{}/{}".format(*astuple(errors)),
        **asdict(plan),
    }
    return Calibration(
        f"The judge of {known.name} against people: {evaluation.name}",
        pd.DataFrame(rows).drop(columns="notes", errors="ignore"),
        {name: value for name, value in settings.items() if value is not None},
        (*notes, *agreement.interval_notes(rows)),
        headline=("figure", "estimate", "ci_low", "ci_high", "n"),
        grouped_by="part",
        evaluation=evaluation,
        metric=known,
        ratings=ratings,
        scale=chosen,
        means=means,
        plan=plan,
    )


def _means_of(
    ratings: Ratings, scale: RatingScale, metric: Metric, plan: IntervalSettings
) -> JudgeMeans:
    """The means of the scores themselves, whatever the scale."""
    people, judge = ratings.labels[ratings.both], ratings.judge[ratings.both]
    others = ratings.judge[ratings.unlabelled]
    own: dict[str, Any] = {"bounds": metric.bounds, "confidence_level": plan.confidence_level}
    corrected = errors = None
    if len(people) >= 2 and others.size >= 2:
        corrected = ppi.ppi_mean(people, judge, others, **own)
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


def _agreement_rows(
    ratings: Ratings, scale: RatingScale, labels: FloatArray, plan: IntervalSettings
) -> list[FigureRow]:
    """The agreement of judge and people, with a sentence beside the leading measure."""
    is_rated = ratings.both & ~np.isnan(labels)
    if not is_rated.any():
        return []
    judge = scale.judge_categories(ratings.judge)[is_rated]
    rows = agreement.pair_rows(JUDGE_AND_PEOPLE, judge, labels[is_rated], scale, plan)
    by_name = {row["figure"]: row for row in rows}
    sentence, same = "judge and people", by_name.get("percent agreement")
    if same is not None:
        sentence += f" agree on {round(same['estimate'] * same['n'])} of {same['n']} queries"
    row = next(by_name[name] for name in _LEADING if name in by_name)
    estimate, low, high = (row[name] for name in ("estimate", "ci_low", "ci_high"))
    text = _text(Interval(estimate, low, high, math.nan, row["method"], plan.confidence_level))
    row["verdict"] = f"{sentence}{':' if same is None else ';'} {row['figure']} {text}"
    return rows


def _rows_of_means(
    ratings: Ratings, metric: Metric, means: JudgeMeans, level: float
) -> Iterator[FigureRow]:
    bias, name = means.bias, metric.name
    sentence = (
        f"no significant bias of the judge on {name}: judge minus people {_text(bias)}, "
        f"{ratings.n} queries"
    )
    if _is_significant(bias):
        way, size = ("higher", bias) if bias.low > 0 else ("lower", _turned(bias))
        sentence = f"the judge scores {name} {way} than people by {_text(size)}"
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
        sentence = (
            f"the mean of {name}, corrected using {corrected.n} labels, is {_text(corrected)}; "
            f"the judge alone says {number(means.naive.estimate)}"
        ) + ("" if math.isnan(worth) else f"; worth {worth:.0f} labels without a judge")
        yield figure(MEAN, CORRECTED, corrected, n_judged, sentence)


def _corrected_shares(
    ratings: Ratings,
    scale: RatingScale,
    own: JudgeErrors | None,
    external: JudgeErrors | None,
    level: float,
    notes: list[str],
) -> Iterator[FigureRow]:
    """Rogan and Gladen's shares; why there is none is added to the notes."""
    verdicts = scale.judge_categories(ratings.judge)
    # Errors counted on these queries correct the unlabelled ones, external errors all.
    for name, rates, used in (
        ("Rogan-Gladen", own, ratings.unlabelled),
        ("Rogan-Gladen, external", external, ratings.is_judged),
    ):
        if rates is not None and used.any():
            try:
                share = ppi.rogan_gladen(verdicts[used], rates, confidence_level=level)
            except DataError as exc:
                notes.append(f"no {name}: {exc}")
            else:
                yield figure(MEAN, name, share, int(used.sum()))


def _text(interval: Interval) -> str:
    if math.isnan(interval.low):
        return number(interval.estimate)
    limits = f"{number(interval.low)} to {number(interval.high)}"
    return f"{number(interval.estimate)} ({100 * interval.confidence_level:g} % CI {limits})"


# -- the notes


def _coverage_notes(evaluation: Scored, metric: Metric, ratings: Ratings) -> Iterator[str]:
    """Which queries were rated by whom."""
    only_people = ratings.is_labelled & ~ratings.is_judged
    text = f"{ratings.n} queries rated by both, {int(ratings.unlabelled.sum())} by the judge alone"
    yield text + (f", {int(only_people.sum())} by people alone" if only_people.any() else "")
    if only_people.any():
        states = states_frame(evaluation.scores[[metric.name]], evaluation.details)[metric.name]
        by_state = sorted(Counter(states.to_numpy()[only_people].tolist()).items())
        why = ", ".join(f"{n} {state}" for state, n in by_state)
        yield f"labelled but not scored ({why}): {named(ratings.ids[only_people])}"
    if n := len(ratings.strangers):
        are = counted(n, "labelled query is", "labelled queries are")
        yield f"{are} not in {evaluation.name!r}: {named(ratings.strangers)}"


def _scale_notes(ratings: Ratings, scale: RatingScale, labels: FloatArray) -> Iterator[str]:
    """How ratings were converted to categories."""
    if scale.threshold is not None:
        whose = "scores and labels" if scale.bins_labels else "the judge's scores"
        yield f"{whose} of at least {scale.threshold:g} count as 1, all others as 0"
    if len(ratings.raters) > 1:
        how = {"ordinal": "median", "continuous": "mean"}.get(scale.kind, "most frequent label")
        yield (
            f"{len(ratings.raters)} raters; people's label of a query is their {how}, "
            "in means and bias it is their mean"
        )
    if n := int((ratings.both & np.isnan(labels)).sum()):
        what = counted(n, "query", "queries")
        yield f"{what} without a label: the raters are evenly split"


def _weaknesses(
    ratings: Ratings, scale: RatingScale, labels: FloatArray, rows: Sequence[FigureRow]
) -> Iterator[str]:
    """What weakens the figures of agreement: few labels, rare categories."""
    if ratings.n < _FEW:
        yield f"only {ratings.n} queries are rated by both, so every figure here is rough"
    known = {row["figure"]: row["estimate"] for row in rows}
    measures = ("percent agreement", "Cohen's kappa", "Gwet's AC1")
    same, kappa, ac1 = (known.get(name, math.nan) for name in measures)
    people = labels[ratings.both & ~np.isnan(labels)]
    shares = np.array([(people == category).mean() for category in scale.categories])
    if same >= _AGREE and ac1 - kappa >= _BELOW and shares.max() >= _PREVALENT:
        yield (
            f"{shares.max():.0%} of people's labels are {scale.categories[shares.argmax()]:g}, "
            f"which makes kappa low ({number(kappa)}) although {same:.0%} agree; use Gwet's AC1 "
            f"({number(ac1)})"
        )


def _weaknesses_of_mean(ratings: Ratings, means: JudgeMeans, metric: Metric) -> Iterator[str]:
    corrected = means.corrected
    if corrected is None:
        yield "fewer than two queries are without a label: people's mean needs no correction"
        return
    people, judge = ratings.labels[ratings.both], ratings.judge[ratings.both]
    warning = rare_corrections(people, judge, corrected.lam)
    # With bounds the interval counts errors that the labels may have missed.
    if warning and metric.bounds is None:
        yield f"the corrected mean: {warning}"
    if means.labels_worth < ratings.n:
        yield (
            f"the corrected mean is worth {means.labels_worth:.0f} labels, fewer than the "
            f"{ratings.n} that were used: use people's mean"
        )
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
