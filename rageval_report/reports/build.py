"""The results of the analyses become the report of one evaluation, or of a ranking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from rageval_report.analysis.arguments import Clusters, MeanKeywords, is_scan
from rageval_report.analysis.lineup import ScoreBlock
from rageval_report.analysis.rank import Ranking
from rageval_report.analysis.report import evaluation_report
from rageval_report.analysis.slices import slice_summary
from rageval_report.analysis.tables import table_of
from rageval_report.analysis.verdicts import MetricVerdict
from rageval_report.errors import DataError
from rageval_report.plots.subjects import is_scored, of_one_scale
from rageval_report.reports.pictures import Picture
from rageval_report.reports.ranking_sentences import RankedPipelines, ranking_headline
from rageval_report.reports.ranking_views import (
    effects_of,
    effects_view,
    leaderboard,
    pair_matrix,
    pair_verdicts,
    pairs_document,
    widest_spread,
)
from rageval_report.reports.report import (
    ContentKeywords,
    PageContent,
    Report,
    ReportVerdict,
    Section,
    origin_section,
    sentences_of_evaluation,
    slice_picture,
    without_empty,
)
from rageval_report.reports.wording import NO_WORDING, Wording
from rageval_report.scores import Correct, Metric, Scored
from rageval_report.scores.correct import CorrectNotion, find_notion

DEFAULT_LEVEL = 0.95


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
    clusters: Clusters | None = None,
    **settings: Unpack[MeanKeywords],
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
    clusters, percentiles, interval, confidence_level, n_resamples, seed
        Of the tables of means, as in `rageval_report.analysis.report.summarise`.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> data = {"query_id": ["a", "b", "c"], "exact_match": [1, 0, 1]}
    >>> report = report_evaluation(RAGPipelineEvaluation("hybrid", data))
    >>> print(report.verdicts[0].text.partition(";")[0])
    correct: exact_match = 1
    """
    table, runs = table_of(evaluation), (evaluation,)
    notion = find_notion(table.sample, correct)
    summary = evaluation_report(evaluation, notion, metrics=metrics, clusters=clusters, **settings)
    names = list(dict.fromkeys(summary.frame["metric"]))
    options: ContentKeywords = {"by": by, "k": k, "longest_text": longest_text}
    level = settings.get("confidence_level", DEFAULT_LEVEL)
    content = PageContent.of(runs, names, level, NO_WORDING, options, notion)
    means: Any = {name: value for name, value in settings.items() if name != "percentiles"}
    slices = [
        slice_summary(evaluation, column, metrics, clusters=clusters, **means)
        for column in content.columns
    ]
    shown = [table.sample.metrics[name] for name in names]
    drawn = evaluation if pictures else None
    sections = (
        Section("metrics", "Metrics", (summary,), _spread_pictures(drawn, shown)),
        content.causes_section,
        Section(
            *("slices", "Slices", tuple(slices)),
            tuple(map(slice_picture, slices)) if pictures else (),
            folded=True,
        ),
        origin_section(runs),
    )
    causes = content.causes[0]
    sentences = sentences_of_evaluation(summary, None if causes is None else causes[1])
    return Report(
        title=title or f"Evaluation of {evaluation.name}",
        subtitle=f"{table.n_queries:,} queries, {len(shown)} metrics",
        verdicts=(*content.verdicts, *map(ReportVerdict, sentences)),
        sections=without_empty(sections),
        queries=content.queries(tuple({0: metric} for metric in shown)),
        notes=content.notes(),
        longest_text=content.longest_text,
        wording=Wording.of(runs, shown),
        some_queries=content.some_queries,
    )


def _spread_pictures(evaluation: Scored | None, metrics: list[Metric]) -> tuple[Picture, ...]:
    scored = [own for own in metrics if evaluation is not None and is_scored(evaluation, own)]
    if evaluation is None or not scored:
        return ()
    # If all metrics are drawn, the plot itself selects those of one scale, and says so.
    names = [metric.name for metric in of_one_scale(scored, named=False)[0]]
    options = {} if len(scored) == len(evaluation.metrics) else {"metric": names}
    caption = f"How the scores of {evaluation.name} are spread, metric by metric"
    return (Picture("distribution", evaluation, caption, options),)


# -- a ranking

_NO_FRONT = (
    "what quality costs (the Pareto front) and which setting matters need every score in memory; "
    "if the tables fit, rank(a.collect(), b.collect(), ...) shows them"
)


def report_ranking(
    ranking: Ranking,
    *,
    title: str | None = None,
    pictures: bool = True,
    **options: Unpack[ContentKeywords],
) -> Report:
    """The report of a ranking: which pipeline, what it costs, which setting matters, every pair.

    Parameters
    ----------
    ranking : Ranking
        What `rank` gives.
    title, by, correct, k, pictures, longest_text
        As in `rageval_report.reports.report_evaluation`. The columns of `by` filter the queries.

    Examples
    --------
    >>> from rageval_report import rank
    >>> from rageval_report.demo import demo_evaluations
    >>> report = report_ranking(rank(*demo_evaluations()), pictures=False)
    >>> report.headline.text
    'No single winner: hybrid leads on 7 of 8 metrics, bm25 on Latency (ms).'
    """
    lineup = ranking.lineup
    if lineup is None:
        raise DataError("a report needs the pipelines; make the ranking with rank(...)")
    wording = Wording.of(lineup.runs, [known[0] for known in lineup.metrics.values()])
    ranked = RankedPipelines.of(ranking, wording.labels)
    by_name = {run.name: run for run in lineup.runs}
    # The best stands first, so that no pipeline becomes the baseline by its place in the alphabet.
    runs = tuple(by_name[name] for name in ranked.pipelines)
    level, are_scans = float(str(ranking.settings["confidence_level"])), is_scan(runs[0])
    content = PageContent.of(runs, ranking.metrics, level, wording, options)
    pairs = pair_verdicts(ranking, wording.labels)
    metrics = tuple(
        {place: known[lineup.names.index(run.name)] for place, run in enumerate(runs)}
        for name, known in lineup.metrics.items()
        if name in ranking.metrics
    )
    document = pairs_document(ranked, pairs, (level, str(ranking.settings["correction"])))
    sizes = f"{lineup.n_queries:,} queries, {len(lineup.metrics)} metrics"
    return Report(
        title=title or ranking.title,
        subtitle=f"{len(runs)} pipelines, {sizes}",
        verdicts=(*content.verdicts, *map(ReportVerdict, ranking.sentences)),
        sections=without_empty(
            (
                *_ranking_sections(ranking, ranked, runs, pairs, pictures=pictures),
                content.causes_section,
                origin_section(runs),
            )
        ),
        queries=content.queries(metrics, tuple(document)),
        notes=content.notes(*([_NO_FRONT] if are_scans else []), *ranking.notes),
        longest_text=content.longest_text,
        headline=ranking_headline(ranking, labels=wording.labels),
        wording=wording,
        some_queries=content.some_queries,
    )


def _ranking_sections(
    ranking: Ranking,
    ranked: RankedPipelines,
    runs: Sequence[Scored],
    pairs: Sequence[Sequence[MetricVerdict]],
    *,
    pictures: bool,
) -> Iterable[Section]:
    """Which pipeline, what quality costs, which setting matters, every pair, where it matters."""
    known, level = ranking.blocks or {}, ranking.settings["confidence_level"]
    metrics = {name: block.metric for name, block in known.items()}
    yield Section(
        *("leaderboard", "Leaderboard", (ranking,)),
        views=(leaderboard(ranked, metrics, level),) if ranked.metrics else (),
        numbers="The numbers: means, intervals, ranks, letters, and each metric in a sentence",
    )
    yield from _front_section(ranking, metrics, pictures=pictures)
    in_memory = () if is_scan(runs[0]) else runs
    effects = effects_of(in_memory, ranked.names, ranking.settings, ranking.metrics)
    if in_memory and effects is not None and ranked.metrics:
        yield Section(
            *("effects", "Which setting matters?", (effects,)),
            views=(effects_view(effects, ranked),),
            numbers="The numbers behind the effects",
        )
    if pairs and ranked.metrics:
        yield Section(
            *("pairs", "Compare any two", (ranking.pairs,)),
            views=(pair_matrix(ranked, pairs),),
            numbers="The numbers of every pair",
        )
    blocks = {name: block for name, block in known.items() if isinstance(block, ScoreBlock)}
    ids = ranking.lineup.ids if blocks and ranking.lineup else None
    spread = None if ids is None else widest_spread(ranked, blocks, ids, runs)
    if spread:
        yield Section("spread", "Questions where the choice matters most", views=(spread,))


def _front_section(
    ranking: Ranking, metrics: Mapping[str, Metric], *, pictures: bool
) -> Iterable[Section]:
    """What quality costs, if the pipelines have a metric of cost or speed."""
    groups = [own.group == "performance" for own in metrics.values()]
    costs = [own for own in metrics.values() if own.group == "performance"]
    if all(own.greater_is_better for own in costs) or all(groups) or not ranking.tests:
        return
    try:
        front = ranking.pareto()
    except DataError:  # such as a metric whose values have no common scale
        return
    caption = "Quality against cost: on the line, no other pipeline is ahead"
    drawn = (Picture("pareto", front, caption),) if pictures and len(front.axes) > 1 else ()
    numbers = "The numbers behind the front"
    yield Section("front", "What does quality cost?", (front,), drawn, numbers=numbers)
