"""A judged metric compared with people's labels: agreement, bias, and the corrected mean."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Unpack

import pandas as pd

from rageval_report.analysis.agreement.calibration_notes import (
    coverage_notes,
    reliability_notes,
    scale_notes,
)
from rageval_report.analysis.agreement.calibration_tables import (
    confusion_table,
    disagreement_table,
    label_plan,
)
from rageval_report.analysis.agreement.calibration_verdicts import add_verdicts
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
from rageval_report.analysis.agreement.rating_scale import RatingScale, ScaleArgument, scale_of
from rageval_report.analysis.agreement.ratings import LabelColumns, People, Ratings, ratings_of
from rageval_report.analysis.agreement.strata import Strata, groups_of, queries_to_label
from rageval_report.analysis.arguments import choose_metrics
from rageval_report.errors import explain_keywords, explain_keywords_of
from rageval_report.plots import plot
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import CalibrationPlot, MetricNames, PlotOptions
from rageval_report.results import Result
from rageval_report.scores import Correct, Metric, Scored
from rageval_report.stats.base import check_level, check_resamples, check_seed
from rageval_report.stats.prediction_powered import JudgeErrors
from rageval_report.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEADLINE = ("figure", "estimate", "ci_low", "ci_high", "n", "reading")
_LABELS = (25, 50, 100, 200, 400)


@explain_keywords_of
@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Result):
    """A judge compared with people on one metric: one row per figure, in parts.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    evaluation : Scored
        The evaluation with the judge's scores.
    metric : Metric
        The judged metric.
    ratings : Ratings
        Scores and labels, query by query.
    scale : RatingScale
        The scale on which they are compared; its `kind` is "binary", "nominal", "ordinal" or
        "continuous".
    means : JudgeMeans
        Bias, means, and the corrected mean, as intervals.
    lam : float or "auto"
        The weight of the judge, as passed to `calibrate`.
    plan : IntervalSettings
        The settings of the intervals, for further tables.

    Notes
    -----
    The parts are "judge and people", "people with each other" (if there are several raters),
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
        """How often the judge is right on yes and no; another calibration takes it as errors=."""
        return self.means.errors

    @property
    def pairs(self) -> pd.DataFrame:
        """The queries that both rated: ``judge``, ``people``, and the categories of both."""
        ratings, both = self.ratings, self.ratings.both
        return pd.DataFrame(
            {
                "judge": ratings.judge[both],
                "people": ratings.labels[both],
                "judge_category": self.scale.judge_categories(ratings.judge)[both],
                "people_category": self.scale.agreed_labels(ratings.table)[both],
            },
            index=ratings.ids[both].rename("query_id"),
        )

    def confusion(self) -> Result:
        """How often the judge gave each category, by the category that people gave.

        Returns
        -------
        Result
            Index ``people``, one column ``judge <category>`` per category, ``total``.

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
            rater's label if there are several, then question, answer and the judge's reason if the
            details have them.
        """
        return disagreement_table(self.evaluation, self.metric, self.ratings, self.scale)

    def planning(self, labels: Iterable[int] | None = None) -> Result:
        """The interval of the mean for larger numbers of labels, with the judge and without.

        Parameters
        ----------
        labels : iterable of int, optional
            Numbers of labels; if omitted, 25, 50, 100, 200, 400, as far as there are queries.

        Returns
        -------
        Result
            One row per number: ``labels``, ``half_width_alone`` and ``half_width_corrected`` of
            the intervals, ``worth`` (the number of labels that would do the same without a judge).

        Raises
        ------
        DataError
            If a number is below 2, or above the number of queries that the judge scored.
        """
        most = int(self.ratings.is_judged.sum())
        counts = [count for count in _LABELS if count <= most] if labels is None else labels
        return label_plan(self.evaluation, self.metric, self.ratings, self.plan, counts)

    def to_label(self, n: int, *, strata: Strata = "judge", seed: int = 0) -> Result:
        """The queries to label next, for the narrowest interval of the corrected mean.

        Parameters
        ----------
        n : int
            The number of queries to label.
        strata : str, Series or mapping
            The groups, as in `calibrate`.
        seed : int
            The seed of the random draw within each group.

        Returns
        -------
        Result
            Index ``query_id``; ``stratum``, ``judge``, and question and answer if the details have
            them. Calibrate with these labels and the same ``strata``: they are a random sample
            within each group, and no longer one of all queries.

        Raises
        ------
        DataError
            If `n` is below 1, or above the number of queries without a label.
        UnknownNameError
            If the details have no column of groups with this name.
        """
        corrected = self.means.corrected
        lam = 1.0 if corrected is None or math.isnan(corrected.lam) else corrected.lam
        return queries_to_label(
            self.evaluation,
            self.metric,
            self.ratings,
            groups_of(self.evaluation, self.ratings, strata),
            n,
            strata=strata if isinstance(strata, str) else "by query id",
            lam=lam,
            seed=seed,
        )

    def difference(self, candidate: Calibration) -> Result:
        """The difference of another pipeline from this one, corrected using labels of both.

        Parameters
        ----------
        candidate : Calibration
            A calibration of the same judge and metric; people labelled answers of both pipelines
            to the same queries.

        Returns
        -------
        Result
            One row each for the judge alone, people alone, and the corrected difference, candidate
            minus this one.

        Raises
        ------
        AlignmentError
            If fewer than two queries have labels of both.
        """
        baseline, other = (Side(side.evaluation.name, side.ratings) for side in (self, candidate))
        return difference_of(baseline, other, self.metric, self.lam, self.plan)

    def plot(
        self,
        kind: CalibrationPlot | Plot = "agreement",
        *args: MetricNames,
        ax: Axes | None = None,
        **options: Unpack[PlotOptions],
    ) -> Axes:
        """Draw the calibration; see `rageval_report.plots`.

        Parameters
        ----------
        kind : str or Plot
            "agreement", or an entry of ``rageval_report.plots.PLOTS``.
        *args : str or iterable of str
            The metrics that the plot takes.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if omitted.
        **options
            The options of the plot.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return plot(self, kind, *args, ax=ax, **options)


@explain_keywords
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

    Raises
    ------
    DataError
        If labels are not numbers, or do not fit the metric or the scale.
    AlignmentError
        If no query has both a score and a label.
    UnknownNameError
        If the metric, a column of labels, or the scale is not known.

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
    plan = IntervalSettings(
        check_level(confidence_level), check_resamples(n_resamples), check_seed(seed)
    )
    known = choose_metrics(evaluation, metric)[0]
    ratings = ratings_of(evaluation, known, people, label, label_bounds)
    rating_scale = scale_of(
        ratings,
        known,
        scale=scale,
        threshold=threshold,
        categories=categories,
        correct=correct,
    )
    labels = rating_scale.agreed_labels(ratings.table)
    groups = None if strata is None else groups_of(evaluation, ratings, strata)
    means = means_of(ratings, rating_scale, known, plan, lam, groups)
    figures = _agreement_figures(ratings, rating_scale, labels, plan)
    figures_of_means, share_notes = _figures_of_means(ratings, rating_scale, means, errors, plan)
    figures += figures_of_means
    notes = (
        *coverage_notes(evaluation, known, ratings),
        *scale_notes(ratings, rating_scale, labels),
        *reliability_notes(
            ratings,
            rating_scale,
            labels,
            figures,
            means,
            has_bounds=known.bounds is not None,
            is_stratified=groups is not None,
        ),
        *(*share_notes, *interval_notes(figures)),
    )
    return Calibration(
        f"The judge of {known.name} against people: {evaluation.name}",
        pd.DataFrame([figure.row() for figure in add_verdicts(figures, known, means)]),
        {
            **_scale_settings(known, ratings, rating_scale),
            # The weight that was used: "auto" would not say what moved the numbers.
            "lam": lam if means.corrected is None else means.corrected.lam,
            **_option_settings(label_bounds, errors, strata),
            **plan.as_dict(),
        },
        notes,
        headline=_HEADLINE,
        grouped_by="part",
        evaluation=evaluation,
        metric=known,
        ratings=ratings,
        scale=rating_scale,
        means=means,
        lam=lam,
        plan=plan,
    )


def _agreement_figures(
    ratings: Ratings, scale: RatingScale, labels: FloatArray, plan: IntervalSettings
) -> list[AgreementFigure]:
    """Judge with people, and people with each other."""
    is_rated = ratings.both & ~pd.isna(labels)
    if not is_rated.any():
        return list(people_figures(ratings, scale, plan))
    pair = RatingPair(
        scale.judge_categories(ratings.judge)[is_rated], labels[is_rated], scale, plan
    )
    return [
        *agreement_figures(JUDGE_AND_PEOPLE, pair),
        *people_figures(ratings, scale, plan),
    ]


def _figures_of_means(
    ratings: Ratings,
    scale: RatingScale,
    means: JudgeMeans,
    errors: JudgeErrors | None,
    plan: IntervalSettings,
) -> tuple[list[AgreementFigure], list[str]]:
    """Bias, errors and means, and notes; none of them for names, which have no mean."""
    if scale.kind == "nominal":
        return [], []
    shares, notes = share_figures(ratings, scale, means.errors, errors, plan)
    rates = () if means.errors is None else error_figures(means.errors, plan)
    figures = [bias_figure(means, ratings.n), *rates, *mean_figures(means, ratings), *shares]
    return figures, notes


def _scale_settings(metric: Metric, ratings: Ratings, scale: RatingScale) -> dict[str, object]:
    """The settings that say what was compared, on which scale."""
    settings: dict[str, object] = {
        "metric": metric.name,
        "labels": ratings.raters,
        "scale": scale.kind,
    }
    if scale.threshold is not None:
        settings["threshold"] = scale.threshold
    if scale.categories.size:
        settings["categories"] = tuple(scale.categories.tolist())
    return settings


def _option_settings(
    label_bounds: tuple[float, float] | None, errors: JudgeErrors | None, strata: Strata | None
) -> dict[str, object]:
    settings: dict[str, object] = {}
    if strata is not None:
        settings["strata"] = strata if isinstance(strata, str) else "by query id"
    if label_bounds is not None:
        settings["label_bounds"] = tuple(map(float, label_bounds))
    if errors is not None:
        settings["external_errors"] = (
            f"{errors.true_positives}/{errors.positives},{errors.true_negatives}/{errors.negatives}"
        )
    return settings
