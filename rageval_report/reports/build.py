"""The results of the analyses become a report of one evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rageval_report.analysis.arguments import Clusters, is_scan
from rageval_report.analysis.report import evaluation_report
from rageval_report.analysis.slices import slice_summary
from rageval_report.analysis.tables import table_of
from rageval_report.plots.subjects import is_scored, of_one_scale
from rageval_report.reports.pictures import Picture
from rageval_report.reports.query_table import QueryTable
from rageval_report.reports.report import (
    DEFAULT_LEVEL,
    LONGEST_OF_SOME,
    MeansSettings,
    Report,
    Section,
    answers_of,
    causes_of,
    check_longest,
    doubts_in,
    listed_runs,
    notes_of,
    origin_section,
    slice_columns_of,
    slice_picture,
    verdicts_of_evaluation,
    without_empty,
)
from rageval_report.reports.wording import Wording
from rageval_report.scores import Correct, Metric, Scored
from rageval_report.scores.correct import CorrectNotion, find_notion
from rageval_report.stats.means import QUARTILES


def report_evaluation(
    evaluation: Any,
    *,
    title: str | None = None,
    by: str | Iterable[str] | None = None,
    correct: Correct | CorrectNotion | None = None,
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
    evaluation : Scored, or EvaluationScan
        A pipeline's scores and details. Of a scan the page lists the worst queries.
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
        Of the tables of means, as in `rageval_report.analysis.report.summarise`.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> data = {"query_id": ["a", "b", "c"], "exact_match": [1, 0, 1]}
    >>> report = report_evaluation(RAGPipelineEvaluation("hybrid", data))
    >>> print(report.verdicts[0].text.partition(";")[0])
    correct: exact_match = 1
    """
    check_longest(longest_text)
    table = table_of(evaluation)
    notion = find_notion(table.sample, correct)
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
    names = list(dict.fromkeys(summary.frame["metric"]))
    (listed,), some_queries = listed_runs((evaluation,), names)
    if some_queries:
        longest_text = longest_text or LONGEST_OF_SOME
    causes = causes_of(evaluation, listed, notion, k, confidence_level)
    columns = slice_columns_of([table.sample], by)
    slices = [slice_summary(evaluation, column, metrics, **settings) for column in columns]
    cause_table = None if causes is None else causes[1]
    shown = [table.sample.metrics[name] for name in names]
    drawn: Any = evaluation.drawn() if is_scan(evaluation) else evaluation
    pages = tuple(map(slice_picture, slices)) if pictures else ()
    sections = (
        Section(
            *("metrics", "Metrics", (summary,)),
            _evaluation_pictures(drawn if pictures else None, shown),
        ),
        Section("causes", "Why queries fail", () if cause_table is None else (cause_table,)),
        Section("slices", "Slices", tuple(slices), pages, folded=True),
        origin_section((evaluation,)),
    )
    return Report(
        title=title or f"Evaluation of {evaluation.name}",
        subtitle=f"{table.n_queries:,} queries, {len(shown)} metrics",
        verdicts=(*doubts_in((evaluation,)), *verdicts_of_evaluation(summary, cause_table)),
        sections=without_empty(sections),
        queries=QueryTable(
            (listed,),
            tuple({0: metric} for metric in shown),
            tuple(name for name in columns if name in listed.details),
            () if notion is None else (answers_of(listed, notion),),
            (None if causes is None else causes[0],),
        ),
        notes=(
            *([some_queries] if some_queries else []),
            *notes_of((listed,), None if notion is None else (notion,), longest_text),
        ),
        longest_text=longest_text,
        wording=Wording.of((evaluation,), shown),
        some_queries=some_queries,
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
