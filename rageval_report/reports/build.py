"""The results of the analyses become a report of one evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from rageval_report.analysis.cluster_labels import Clusters
from rageval_report.analysis.slices import slice_summary
from rageval_report.analysis.summary import EvaluationReport, evaluation_report
from rageval_report.errors import explain_keywords
from rageval_report.plots.subjects import is_scored, of_one_scale
from rageval_report.reports.common_sections import (
    DEFAULT_LEVEL,
    MeansSettings,
    check_longest,
    doubts_in,
    notes_of,
    origin_section,
    slice_columns_of,
    slice_picture,
    without_empty,
)
from rageval_report.reports.parts import (
    Section,
    answers_of,
    causes_of,
    verdicts_of_evaluation,
)
from rageval_report.reports.pictures import Picture
from rageval_report.reports.query_table import QueryTable
from rageval_report.reports.report import Report
from rageval_report.reports.wording import Wording
from rageval_report.results import Result
from rageval_report.scores import Correct, Metric, Scored
from rageval_report.scores.correct_notion import CorrectNotion, find_notion
from rageval_report.stats.means import QUARTILES


@explain_keywords
def report_evaluation(
    evaluation: Scored,
    *,
    title: str | None = None,
    by: str | Iterable[str] | None = None,
    correct: Correct | None = None,
    k: int | None = None,
    pictures: bool = True,
    longest_text: int | None = None,
    metrics: str | Iterable[str] | None = None,
    percentiles: Sequence[float] = QUARTILES,
    interval: str = "auto",
    confidence_level: float = DEFAULT_LEVEL,
    n_resamples: int = 9999,
    seed: int = 0,
    clusters: Clusters | None = None,
) -> Report:
    """The report of one pipeline.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores and details.
    title : str, optional
        The title of the report.
    by : str or iterable of str, optional
        The columns of details for the slices, none if it is empty; if omitted, up to three columns
        with few values.
    correct : see `rageval_report.scores.correctness`, optional
        What a correct answer is; if omitted, the evaluation's own rule, else what `correctness`
        chooses.
    k : int, optional
        How many results the answer was made from; if omitted, 5 or the first cutoff of its metrics.
    pictures : bool
        Whether the page has pictures.
    longest_text : int, optional
        Longer texts of queries are cut, with a note; no text is cut if omitted.
    metrics : str or iterable of str, optional
        By any of their names; all of them if omitted.
    percentiles, interval, confidence_level, n_resamples, seed, clusters
        Of the tables of means, as in `rageval_report.analysis.summary.summarise`.

    Returns
    -------
    Report

    Raises
    ------
    UnknownNameError
        If a metric or a column is not known.
    DataError
        If an option has an impossible value.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> data = {"query_id": ["a", "b", "c"], "exact_match": [1, 0, 1]}
    >>> report = report_evaluation(RAGPipelineEvaluation("hybrid", data))
    >>> print(report.verdicts[0].text.partition(";")[0])
    correct: exact_match = 1
    """
    check_longest(longest_text)
    notion = find_notion(evaluation, correct)
    settings: MeansSettings = {
        "interval": interval,
        "confidence_level": confidence_level,
        "n_resamples": n_resamples,
        "seed": seed,
        "clusters": clusters,
    }
    summary = evaluation_report(
        evaluation, notion, metrics=metrics, percentiles=percentiles, **settings
    )
    causes = causes_of(evaluation, notion, k, confidence_level)
    columns = slice_columns_of([evaluation], by)
    slices = {column: slice_summary(evaluation, column, metrics, **settings) for column in columns}
    parts = EvaluationParts(
        summary, notion, causes, slices, origin_section((evaluation,)), len(evaluation.scores)
    )
    drawn = evaluation if pictures else None
    return page_of_parts(evaluation, parts, drawn, title=title, longest_text=longest_text)


@dataclass(frozen=True, eq=False)
class EvaluationParts:
    """What the page of one pipeline shows of all of its queries.

    Parameters
    ----------
    summary : EvaluationReport
        The table of the metrics.
    notion : CorrectNotion, optional
        What a correct answer is.
    causes : (Series, Result), optional
        Why each query that is shown fails, and the table of causes.
    slices : mapping of str to Result
        The tables of slices, by their column.
    provenance : Section
        How the pipeline was made.
    n_queries : int
        The number of queries.
    """

    summary: EvaluationReport
    notion: CorrectNotion | None
    causes: tuple[pd.Series, Result] | None
    slices: Mapping[str, Result]
    provenance: Section
    n_queries: int


def page_of_parts(
    evaluation: Scored,
    parts: EvaluationParts,
    drawn: Scored | None,
    *,
    title: str | None = None,
    longest_text: int | None = None,
) -> Report:
    """The report of one pipeline, of parts that are computed.

    Parameters
    ----------
    evaluation : Scored
        The queries that the page shows.
    parts : EvaluationParts
        The tables.
    drawn : Scored, optional
        What the pictures draw; the page has none if omitted.
    title, longest_text
        As in `report_evaluation`.
    """
    summary, notion, causes = parts.summary, parts.notion, parts.causes
    table = None if causes is None else causes[1]
    shown = [evaluation.metrics[name] for name in dict.fromkeys(summary.frame["metric"])]
    slices = tuple(parts.slices.values())
    pictures = () if drawn is None else tuple(map(slice_picture, slices))
    sections = (
        Section("metrics", "Metrics", (summary,), _evaluation_pictures(drawn, shown)),
        Section("causes", "Why queries fail", () if table is None else (table,)),
        Section("slices", "Slices", slices, pictures, folded=True),
        parts.provenance,
    )
    return Report(
        title=title or f"Evaluation of {evaluation.name}",
        subtitle=f"{parts.n_queries:,} queries, {len(shown)} metrics",
        verdicts=(*doubts_in((evaluation,)), *verdicts_of_evaluation(summary, table)),
        sections=without_empty(sections),
        queries=QueryTable(
            (evaluation,),
            tuple({0: metric} for metric in shown),
            tuple(name for name in parts.slices if name in evaluation.details),
            () if notion is None else (answers_of(evaluation, notion),),
            (None if causes is None else causes[0],),
        ),
        notes=notes_of((evaluation,), None if notion is None else (notion,), longest_text),
        longest_text=longest_text,
        wording=Wording.of((evaluation,), shown),
    )


def _evaluation_pictures(evaluation: Scored | None, metrics: list[Metric]) -> tuple[Picture, ...]:
    if evaluation is None:
        return ()
    scored = [metric for metric in metrics if is_scored(evaluation, metric)]
    if not scored:
        return ()
    # If all metrics are drawn, the plot itself selects those of one scale, and says so.
    drawn, _ = of_one_scale(scored, named=False)
    names = {"metric": [metric.name for metric in drawn]}
    spread = Picture(
        "distribution",
        evaluation,
        f"How the scores of {evaluation.name} are spread, metric by metric",
        {} if len(scored) == len(evaluation.metrics) else names,
    )
    return (spread,)
