"""A judged metric held against people's labels: agreement, bias, and the mean put right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from rageval_report._registry import load
from rageval_report.analysis.agreement.calibration_notes import (
    cautions,
    coverage_notes,
    scale_notes,
)
from rageval_report.analysis.agreement.calibration_tables import (
    confusion_table,
    disagreement_table,
    label_plan,
)
from rageval_report.analysis.agreement.calibration_verdicts import with_verdicts
from rageval_report.analysis.agreement.judged_differences import Side, difference_of
from rageval_report.analysis.agreement.means import (
    JudgeMeans,
    bias_figure,
    error_figures,
    mean_figures,
    means_of,
    share_figures,
)
from rageval_report.analysis.agreement.measures import (
    JUDGE_AND_PEOPLE,
    AgreementFigure,
    IntervalSettings,
    RatingPair,
    agreement_figures,
    interval_notes,
    people_figures,
)
from rageval_report.analysis.agreement.rating_scale import RatingScale, scale_of
from rageval_report.analysis.agreement.ratings import Bounds, Labels, People, Ratings, ratings_of
from rageval_report.analysis.arguments import choose_metrics
from rageval_report.results import Result
from rageval_report.scores import Correct, Metric, Scored
from rageval_report.stats.agreement.rogan_gladen import JudgeErrors
from rageval_report.stats.base import check_level, check_resamples, check_seed
from rageval_report.types import FloatArray

_HEADLINE = ("figure", "estimate", "ci_low", "ci_high", "n", "reading")
_LABELS = (25, 50, 100, 200, 400)


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Result):
    """A judge against people on one metric: one row a figure, in parts.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    evaluation : Scored
        Holds the judge's scores.
    metric : Metric
        What was judged.
    ratings : Ratings
        Scores and labels, query by query.
    scale : RatingScale
        The scale on which they are compared; its `kind` is "binary", "nominal", "ordinal" or
        "continuous".
    means : JudgeMeans
        Bias, means, the corrected mean and how many labels it is worth, as intervals.
    lam : float or "auto"
        The weight of the judge that was asked for.
    plan : IntervalSettings
        The settings of the intervals, as further tables need them.

    Notes
    -----
    The parts are "judge and people", "people with each other" (where there are several raters),
    "bias", "errors of the judge" (of yes and no), "mean of all queries".
    """

    evaluation: Scored = field(kw_only=True)
    metric: Metric = field(kw_only=True)
    ratings: Ratings = field(kw_only=True)
    scale: RatingScale = field(kw_only=True)
    means: JudgeMeans = field(kw_only=True)
    lam: float | str = field(kw_only=True)
    plan: IntervalSettings = field(kw_only=True)

    @property
    def errors(self) -> JudgeErrors | None:
        """How often the judge of yes and no is right; another calibration takes it as errors=."""
        return self.means.errors

    @property
    def pairs(self) -> pd.DataFrame:
        """The queries that both rated: ``judge``, ``people``, and the categories of both."""
        ratings, both = self.ratings, self.ratings.both
        return pd.DataFrame(
            {
                "judge": ratings.judge[both],
                "people": ratings.labels[both],
                "judge_category": self.scale.judged(ratings.judge)[both],
                "people_category": self.scale.agreed(ratings.table)[both],
            },
            index=ratings.ids[both].rename("query_id"),
        )

    def confusion(self) -> Result:
        """How often the judge gave what, where people gave what.

        Returns
        -------
        Result
            Index ``people``, a column ``judge <category>`` each, ``total``.

        Raises
        ------
        DataError
            If the ratings are continuous.
        """
        return confusion_table(self.evaluation, self.metric, self.ratings, self.scale)

    def disagreements(self) -> Result:
        """The queries on which judge and people differ, the largest difference first.

        Returns
        -------
        Result
            Index ``query_id``; ``people``, ``judge``, ``difference`` (judge minus people), each
            rater's label where there are several, then question, answer and the judge's reason as
            far as the details have them.
        """
        return disagreement_table(self.evaluation, self.metric, self.ratings, self.scale)

    def planning(self, labels: Iterable[int] | None = None) -> Result:
        """How sure the mean becomes with more labels, with the judge's help and without.

        Parameters
        ----------
        labels : iterable of int, optional
            Numbers of labels; 25, 50, 100, 200, 400, as far as there are queries, where not given.

        Returns
        -------
        Result
            One row a number: ``labels``, ``half_width_alone`` and ``half_width_corrected`` of the
            intervals, ``worth`` (so many labels without a judge would do the same).

        Raises
        ------
        DataError
            If a number is below 2, or above the number of queries that the judge scored.
        """
        most = int(self.ratings.judged.sum())
        counts = [one for one in _LABELS if one <= most] if labels is None else labels
        return label_plan(self.evaluation, self.metric, self.ratings, self.plan, counts)

    def difference(self, candidate: Calibration) -> Result:
        """Another pipeline against this one, put right by people's labels of both.

        Parameters
        ----------
        candidate : Calibration
            Of the same judge and metric; people labelled answers of both to the same queries.

        Returns
        -------
        Result
            A row each for the judge alone, people alone, and the corrected difference, candidate
            minus this one.

        Raises
        ------
        AlignmentError
            If fewer than two queries have labels of both.
        """
        one, other = (Side(side.evaluation.name, side.ratings) for side in (self, candidate))
        return difference_of(one, other, self.metric, self.lam, self.plan)

    def plot(self, kind: str = "agreement", *args: Any, **options: Any) -> Any:
        """Draw the calibration; see `rageval_report.plots`.

        Parameters
        ----------
        kind : str
            A name of the table ``rageval_report.plots.PLOTS``.
        *args, **options
            The plot's own; every plot takes ``ax=``.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return load("rageval_report.plots:plot")(self, kind, *args, **options)


def calibrate(
    evaluation: Scored,
    metric: str,
    people: People,
    label: Labels = None,
    *,
    scale: str = "auto",
    threshold: float | None = None,
    categories: Iterable[float] | None = None,
    label_bounds: Bounds | None = None,
    errors: JudgeErrors | None = None,
    correct: Correct | None = None,
    lam: float | str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Calibration:
    """Hold a judge against people: how far they agree, and what people would say of all queries.

    Parameters
    ----------
    evaluation : RAGPipelineEvaluation
        Holds the judge's scores, of many queries.
    metric : str
        The judged metric, by any of its names.
    people : RAGPipelineEvaluation, Series, DataFrame, or mapping
        People's labels of some of the queries, by query id: another evaluation (see `label`); one
        label a query; or a frame of several raters, a column each. Yes and no, pass and fail are
        1 and 0; what is empty was not rated.
    label : str or iterable of str, optional
        The columns of `people` that hold labels; several are several raters. Of an evaluation the
        metric of the same name where not given; of a frame all columns.
    scale : {"auto", "binary", "nominal", "ordinal", "continuous"}
        "auto" looks at the values: 0 and 1, up to ten steps, or numbers.
    threshold : float, optional
        The judge's scores from here on count as 1. Where people say yes or no and the judge gives
        numbers: what `correct` says, else the middle of the metric's bounds.
    categories : iterable of float, optional
        All that could be given, in order; those that occur where not given.
    label_bounds : (float, float), optional
        The scale of the labels where it is not the metric's, as ``(1, 5)``; they are moved to it.
    errors : JudgeErrors, optional
        How often the judge is right, counted on another set: for Rogan and Gladen's share.
    correct : see `rageval_report.scores.correctness`, optional
        Where it has a threshold for the metric, that is the default of `threshold`.
    lam : float or "auto"
        The weight of the judge in the corrected mean, as in `rageval_report.stats.ppi_mean`.
    confidence_level : float
        Of the intervals.
    n_resamples, seed : int
        For the intervals that resample: Krippendorff's alpha, and means without bounds.

    Returns
    -------
    Calibration
        One row a figure: ``part``, ``figure``, ``estimate``, ``ci_low``, ``ci_high``, ``n``,
        ``reading`` (a word for the estimate), ``source`` (whose word it is), ``method``,
        ``verdict``. Its methods give the confusion matrix, the queries of disagreement, how many
        labels are needed, and the difference of two pipelines.

    Raises
    ------
    DataError
        If labels are no numbers, or do not fit the metric or the scale.
    AlignmentError
        If no query has both a score and a label.
    UnknownNameError
        If the metric, a column of labels, or the scale is not known.

    Notes
    -----
    The corrected mean is unbiased however bad the judge is, if the labelled queries are a random
    sample of all; a bad judge only makes it wide. A word like "substantial" is a convention: look
    at the interval, and at how far people agree with each other.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> scores = {"query_id": list("abcdefgh"), "faithfulness": [1, 1, 0, 1, 1, 0, 1, 1]}
    >>> judged = RAGPipelineEvaluation("hybrid", scores)
    >>> found = calibrate(judged, "faithfulness", {"a": 1, "b": 0, "c": 0, "d": 1, "e": 1, "f": 0})
    >>> float(found.frame.set_index("figure").loc["Cohen's kappa", "estimate"]).__round__(3)
    0.667
    >>> found.disagreements().frame["difference"].to_dict()
    {'b': 1.0}
    """
    plan = IntervalSettings(
        check_level(confidence_level), check_resamples(n_resamples), check_seed(seed)
    )
    known = choose_metrics(evaluation, metric)[0]
    ratings = ratings_of(evaluation, known, people, label, label_bounds)
    on = scale_of(
        *(ratings, known),
        scale=scale,
        threshold=threshold,
        categories=categories,
        correct=correct,
    )
    agreed = on.agreed(ratings.table)
    means = means_of(ratings, on, known.bounds, plan, lam)
    figures = _agreement(ratings, on, agreed, plan)
    found, why_not = _of_means(ratings, on, means, errors, plan)
    figures += found
    notes = (
        *coverage_notes(evaluation, known, ratings),
        *scale_notes(ratings, on, agreed),
        *cautions(ratings, on, agreed, figures, means),
        *(*why_not, *interval_notes(figures)),
    )
    return Calibration(
        f"The judge of {known.name} against people: {evaluation.name}",
        pd.DataFrame([one.row() for one in with_verdicts(figures, known, means)]),
        {
            **_told(known, ratings, on),
            "lam": lam if means.corrected is None else means.corrected.lam,
            **_told_options(label_bounds, errors),
            **plan.told(),
        },
        notes,
        headline=_HEADLINE,
        grouped_by="part",
        evaluation=evaluation,
        metric=known,
        ratings=ratings,
        scale=on,
        means=means,
        lam=lam,
        plan=plan,
    )


def _agreement(
    ratings: Ratings, scale: RatingScale, agreed: FloatArray, plan: IntervalSettings
) -> list[AgreementFigure]:
    """Judge with people, and people with each other."""
    there = ratings.both & ~pd.isna(agreed)
    if not there.any():
        return list(people_figures(ratings, scale, plan))
    pair = RatingPair(scale.judged(ratings.judge)[there], agreed[there], scale, plan)
    return [
        *agreement_figures(JUDGE_AND_PEOPLE, pair),
        *people_figures(ratings, scale, plan),
    ]


def _of_means(
    ratings: Ratings,
    scale: RatingScale,
    means: JudgeMeans,
    errors: JudgeErrors | None,
    plan: IntervalSettings,
) -> tuple[list[AgreementFigure], list[str]]:
    """Bias, errors and means; of names there is no mean."""
    if scale.kind == "nominal":
        return [], []
    shares, why_not = share_figures(ratings, scale, means.errors, errors, plan)
    own = () if means.errors is None else error_figures(means.errors, plan)
    figures = [bias_figure(means, ratings.n), *own, *mean_figures(means, ratings), *shares]
    return figures, why_not


def _told(metric: Metric, ratings: Ratings, scale: RatingScale) -> dict[str, object]:
    """The settings that tell what was held against what."""
    told: dict[str, object] = {
        "metric": metric.name,
        "labels": ratings.raters,
        "scale": scale.kind,
    }
    if scale.threshold is not None:
        told["threshold"] = scale.threshold
    if scale.categories.size:
        told["categories"] = tuple(scale.categories.tolist())
    return told


def _told_options(label_bounds: Bounds | None, errors: JudgeErrors | None) -> dict[str, object]:
    told: dict[str, object] = {}
    if label_bounds is not None:
        told["label_bounds"] = tuple(map(float, label_bounds))
    if errors is not None:
        told["external_errors"] = (
            f"{errors.true_positives}/{errors.positives},{errors.true_negatives}/{errors.negatives}"
        )
    return told
