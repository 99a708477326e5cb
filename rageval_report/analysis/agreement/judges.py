"""How far several judges of the same queries agree, and where they do not."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pandas as pd

from rageval_report.analysis.agreement.calibration_tables import text_columns
from rageval_report.analysis.agreement.measures import (
    AgreementFigure,
    IntervalSettings,
    RatingPair,
    agreement_figures,
    group_figures,
    interval_notes,
)
from rageval_report.analysis.agreement.rating_scale import RatingScale, scale_of_judges
from rageval_report.analysis.agreement.ratings import Ratings
from rageval_report.analysis.arguments import choose_metrics, kind_of_mean
from rageval_report.errors import DataError
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored
from rageval_report.scores.states import VOTES
from rageval_report.stats.base import check_level, check_resamples, check_seed
from rageval_report.stats.means import mean_interval

_ALL = "all judges"
# Scores that were converted from another scale carry rounding.
_SAME = 1e-9
_AGREEMENT_HEADLINE = ("metric", "part", "figure", "estimate", "ci_low", "ci_high", "n", "reading")


def votes_of(evaluation: Scored, metric: str | Metric) -> pd.DataFrame:
    """Each judge's scores of a metric that several judges scored.

    Parameters
    ----------
    evaluation : Scored
        Its details hold the scores in the column ``<metric>_judges``, as `score` and `judge` put
        them there.
    metric : str or Metric
        The judged metric, by any of its names.

    Returns
    -------
    DataFrame
        The index of the scores; one column per judge, NaN if it gave no score.

    Raises
    ------
    DataError
        If the metric was not scored by several judges.

    Examples
    --------
    >>> from rageval_report import score
    >>> from rageval_report.judges import ScriptedChat
    >>> rows = [{"query_id": "q", "question": "Where is Oslo?", "answer": "In Norway."}]
    >>> chats = [ScriptedChat([f"SCORE: {n}"], model=name) for n, name in ((5, "a"), (4, "b"))]
    >>> run = score(rows, "answer_relevancy", chat=chats)
    >>> votes_of(run, "answer_relevancy").loc["q"].to_dict()
    {'a': 1.0, 'b': 0.75}
    """
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


def judges_agreement(
    evaluation: Scored,
    metrics: str | Iterable[str] | None = None,
    *,
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Result:
    """How far several judges agree on each metric, and the mean of each.

    Parameters
    ----------
    evaluation : RAGPipelineEvaluation
        An evaluation whose metrics were scored by several judges.
    metrics : str or iterable of str, optional
        The judged metrics; if omitted, all that several judges scored.
    confidence_level, n_resamples, seed
        As in `rageval_report.calibrate`.

    Returns
    -------
    Result
        One row per metric, part and figure: ``metric``, ``part``, ``figure``, ``estimate``,
        ``ci_low``, ``ci_high``, ``n``, ``reading``, ``source``, ``method``. The parts are each
        judge (its mean), each pair of judges, and with three judges or more all of them together.
        Kappa, AC1 and AC2 are for yes and no and for steps, correlations for numbers, and
        Krippendorff's alpha for all.

    Raises
    ------
    DataError
        If no metric, or one that is named, was not scored by several judges.

    Examples
    --------
    >>> from rageval_report import score
    >>> from rageval_report.judges import Rubric, ScriptedChat
    >>> rubric = Rubric("is_polite", "Polite?", "Polite? {answer}", kind="yes_no")
    >>> rows = [{"query_id": n, "answer": n} for n in "abcd"]
    >>> said = {"strict": "YES YES NO NO", "kind": "YES YES YES NO"}
    >>> chats = [
    ...     ScriptedChat([f"VERDICT: {word}" for word in words.split()], model=name)
    ...     for name, words in said.items()
    ... ]
    >>> run = score(rows, rubric, chat=chats, judging={"concurrency": 1})
    >>> table = judges_agreement(run).frame.set_index(["part", "figure"])["estimate"]
    >>> float(table["strict and kind", "Cohen's kappa"]), float(table["strict", "mean score"])
    (0.5, 0.5)
    """
    settings = IntervalSettings(
        check_level(confidence_level), check_resamples(n_resamples), check_seed(seed)
    )
    rows: list[dict[str, object]] = []
    notes: list[str] = []
    for metric in _judged_metrics(evaluation, metrics):
        votes = votes_of(evaluation, metric)
        figures = list(_figures(votes, metric, settings))
        rows += [_row(metric, figure) for figure in figures]
        notes += [f"{metric.name}: {note}" for note in _notes(votes, figures)]
    return Result(
        f"Agreement of judges: {evaluation.name}",
        pd.DataFrame(rows),
        settings.as_dict(),
        tuple(notes),
        headline=_AGREEMENT_HEADLINE,
        grouped_by="metric",
    )


def _judged_metrics(evaluation: Scored, metrics: str | Iterable[str] | None) -> list[Metric]:
    if metrics is not None:
        return choose_metrics(evaluation, metrics)
    judged = [
        metric
        for metric in evaluation.metrics.values()
        if f"{metric.name}{VOTES}" in evaluation.details
    ]
    if not judged:
        raise DataError(
            f"no metric of {evaluation.name!r} was scored by several judges. Give a list of "
            "chats: score(..., chat=[first, second])"
        )
    return judged


def _row(metric: Metric, figure: AgreementFigure) -> dict[str, object]:
    row = figure.row()
    del row["verdict"]
    return {"metric": metric.name, **row}


def _figures(
    votes: pd.DataFrame, metric: Metric, settings: IntervalSettings
) -> Iterator[AgreementFigure]:
    table = votes.to_numpy()
    for judge in votes:
        yield _mean_figure(str(judge), votes[judge].dropna().to_numpy(), metric, settings)
    scale = _scale(votes, metric)
    for first, second in itertools.combinations(votes, 2):
        both = votes[[first, second]].dropna()
        if len(both):
            a, b = (scale.judge_categories(both[judge].to_numpy()) for judge in (first, second))
            pair = RatingPair(a, b, scale, settings)
            yield from agreement_figures(f"{first} and {second}", pair)
    has_several = (~np.isnan(table)).sum(axis=1) > 1
    if table.shape[1] > 2 and has_several.any():
        rated = np.column_stack([scale.judge_categories(column) for column in table[has_several].T])
        yield from group_figures(_ALL, rated, scale, settings)


def _mean_figure(
    judge: str, scores: np.ndarray, metric: Metric, settings: IntervalSettings
) -> AgreementFigure:
    interval = mean_interval(
        scores,
        bounds=metric.bounds,
        kind=kind_of_mean(metric),
        confidence_level=settings.confidence_level,
    )
    return AgreementFigure(judge, "mean score", interval, len(scores))


def _scale(votes: pd.DataFrame, metric: Metric) -> RatingScale:
    table = votes.to_numpy()
    judges = tuple(map(str, votes))
    ratings = Ratings(votes.index, table[:, 0], table[:, 1:], judges[1:], votes.index[:0])
    return scale_of_judges(ratings, metric)


def _notes(votes: pd.DataFrame, figures: list[AgreementFigure]) -> Iterator[str]:
    n_by_judge = votes.notna().sum()
    if (n_by_judge < len(votes)).any():
        counts = ", ".join(f"{judge} {n}" for judge, n in n_by_judge.items())
        yield f"of {len(votes)} queries, scored by {counts}; a pair counts where both scored"
    for first, second in itertools.combinations(votes, 2):
        if votes[[first, second]].dropna().empty:
            yield f"no query was scored by both {first} and {second}"
    yield from interval_notes(figures)


def judges_disagreements(evaluation: Scored, metrics: str | Iterable[str] | None = None) -> Result:
    """The queries on which several judges differ, the largest difference first.

    Parameters
    ----------
    evaluation, metrics
        As for `judges_agreement`.

    Returns
    -------
    Result
        Index ``query_id``, one row per metric and query: ``metric``, ``spread``, the difference
        of the highest and the lowest score, ``score``, the combined one, the score of each judge
        under its name, and the question, the answer and the judges' reasons if there are any.

    Examples
    --------
    >>> from rageval_report import score
    >>> from rageval_report.judges import ScriptedChat
    >>> rows = [{"query_id": n, "question": "Who?", "answer": n} for n in "xy"]
    >>> chats = [ScriptedChat(["SCORE: 5", f"SCORE: {n}"], model=f"judge-{n}") for n in (5, 1)]
    >>> run = score(rows, "answer_relevancy", chat=chats, judging={"concurrency": 1})
    >>> frame = judges_disagreements(run).frame
    >>> frame[["spread", "judge-5", "judge-1"]].loc["y"].to_dict()
    {'spread': 1.0, 'judge-5': 1.0, 'judge-1': 0.0}
    """
    tables, notes, judges = [], [], dict[str, None]()
    for metric in _judged_metrics(evaluation, metrics):
        votes = votes_of(evaluation, metric)
        judges.update(dict.fromkeys(map(str, votes)))
        spread = votes.max(axis=1) - votes.min(axis=1)
        differs = spread[spread > _SAME].sort_values(ascending=False, kind="stable").index
        n_compared = int((votes.notna().sum(axis=1) > 1).sum())
        notes.append(f"{metric.name}: judges differ on {len(differs)} of {n_compared} queries")
        head = pd.DataFrame(
            {"metric": metric.name, "spread": spread, "score": evaluation.scores[metric.name]}
        )
        texts = text_columns(evaluation, metric)
        tables.append(pd.concat([head, votes, texts], axis=1).loc[differs])
    frame = pd.concat(tables).rename_axis("query_id")
    texts_shown = [name for name in ("question", "reason") if name in frame]
    return Result(
        f"Where judges disagree: {evaluation.name}",
        frame,
        {"judges": ", ".join(judges)},
        tuple(notes),
        headline=("metric", "spread", *judges, *texts_shown),
    )
