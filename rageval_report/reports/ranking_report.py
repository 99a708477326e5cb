"""The results of the analyses become a report of a ranking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rageval_report.analysis.arguments import is_scan
from rageval_report.analysis.effects import MainEffects
from rageval_report.analysis.lineup import Lineup, ScoreBlock
from rageval_report.analysis.rank import Ranking
from rageval_report.analysis.verdicts import MetricVerdict
from rageval_report.errors import DataError
from rageval_report.reports.common_sections import (
    LONGEST_OF_SOME,
    causes_section,
    check_longest,
    doubts_in,
    listed_runs,
    notes_of,
    origin_section,
    queries_of,
    slice_columns_of,
    without_empty,
)
from rageval_report.reports.parts import (
    ReportVerdict,
    Section,
    causes_of,
)
from rageval_report.reports.pictures import Picture
from rageval_report.reports.ranking_sentences import RankedPipelines, ranking_headline
from rageval_report.reports.report import Report
from rageval_report.reports.views.effects import Effects, effects_of
from rageval_report.reports.views.leaderboard import Leaderboard
from rageval_report.reports.views.pair_matrix import PairMatrix, pair_verdicts, pairs_document
from rageval_report.reports.views.widest_spread import WidestSpread
from rageval_report.reports.wording import Wording
from rageval_report.scores import Correct, Metric, Scored
from rageval_report.scores.correct import declare_all, shared_notions

_NO_FRONT = (
    "what quality costs (the Pareto front) and which setting matters need every score in memory; "
    "if the tables fit, rank(a.collect(), b.collect(), ...) shows them"
)


def report_ranking(
    ranking: Ranking,
    *,
    title: str | None = None,
    by: str | Iterable[str] | None = None,
    correct: Correct | None = None,
    k: int | None = None,
    pictures: bool = True,
    longest_text: int | None = None,
) -> Report:
    """The report of a ranking: which pipeline, what it costs, which setting matters, every pair.

    Parameters
    ----------
    ranking : Ranking
        What `rank` gives.
    title, by, correct, k, pictures, longest_text
        As in `rageval_report.reports.report_evaluation`. The columns of `by` filter the queries.

    Returns
    -------
    Report

    Raises
    ------
    DataError
        If the ranking was not made by `rank`, or an option has an impossible value.

    Examples
    --------
    >>> from rageval_report import rank
    >>> from rageval_report.demo import demo_evaluations
    >>> report = report_ranking(rank(*demo_evaluations()), pictures=False)
    >>> report.headline.text
    'No single winner: hybrid leads on 7 of 8 metrics, bm25 on Latency (ms).'
    """
    check_longest(longest_text)
    if ranking.lineup is None:
        raise DataError("a report needs the pipelines; make the ranking with rank(...)")
    lineup = ranking.lineup
    wording = Wording.of(lineup.runs, [known[0] for known in lineup.metrics.values()])
    ranked = RankedPipelines.of(ranking, wording.labels)
    by_name = {run.name: run for run in lineup.runs}
    # The best stands first, so that no pipeline becomes the baseline by its place in the alphabet.
    runs = tuple(by_name[name] for name in ranked.pipelines)
    level = float(str(ranking.settings["confidence_level"]))
    listed, some_queries = listed_runs(runs, ranking.metrics)
    if some_queries:
        longest_text = longest_text or LONGEST_OF_SOME
    are_scans = is_scan(runs[0])
    notions = shared_notions(listed, correct)
    by_run = notions or (None,) * len(runs)
    causes = [
        causes_of(run, part, notion, k, level)
        for run, part, notion in zip(runs, listed, by_run, strict=True)
    ]
    pairs = pair_verdicts(ranking, wording.labels)
    correction = str(ranking.settings["correction"])
    sections = (
        leaderboard_section(ranking, ranked),
        front_section(ranking, pictures=pictures),
        _effects_section(ranking, ranked, () if are_scans else runs),
        pairs_section(ranking, ranked, pairs),
        _spread_section(ranking, ranked, runs),
        causes_section(causes, runs, wording),
        origin_section(runs),
    )
    return Report(
        title=title or ranking.title,
        subtitle=(
            f"{len(runs)} pipelines, {lineup.n_queries:,} queries, {len(lineup.metrics)} metrics"
        ),
        verdicts=(
            *doubts_in(runs),
            *([] if notions is None or are_scans else [ReportVerdict(declare_all(runs, notions))]),
            *map(ReportVerdict, ranking.sentences),
        ),
        sections=without_empty(sections),
        queries=queries_of(
            listed,
            metrics_by_place(lineup, ranking.metrics, runs),
            slice_columns_of(listed, by),
            by_run,
            causes,
            wording,
            tuple(pairs_document(ranked, pairs, level=level, correction=correction)),
        ),
        notes=(
            *([some_queries] if some_queries else []),
            *([_NO_FRONT] if are_scans else []),
            *ranking.notes,
            *notes_of(listed, notions, longest_text),
        ),
        longest_text=longest_text,
        headline=ranking_headline(ranking, labels=wording.labels),
        wording=wording,
        some_queries=some_queries,
    )


def metrics_by_place(
    lineup: Lineup, shown: Sequence[str], runs: Sequence[Scored]
) -> tuple[dict[int, Metric], ...]:
    """Each metric as each run knows it, by the run's place on the page.

    Parameters
    ----------
    lineup : Lineup
        The pipelines in the order of the ranking's evaluations.
    shown : sequence of str
        The metrics that are ranked.
    runs : sequence of Scored
        The pipelines in the order of the page.
    """
    places = {run.name: place for place, run in enumerate(runs)}
    return tuple(
        {
            places[name]: metric
            for name, metric in sorted(
                zip(lineup.names, known, strict=True), key=lambda pair: places[pair[0]]
            )
        }
        for name, known in lineup.metrics.items()
        if name in shown
    )


def _described(ranking: Ranking) -> Mapping[str, Metric]:
    return {name: block.metric for name, block in (ranking.blocks or {}).items()}


def leaderboard_section(ranking: Ranking, ranked: RankedPipelines) -> Section:
    """Which pipeline is best on each metric."""
    views = (
        (Leaderboard.of(ranked, _described(ranking), level=ranking.settings["confidence_level"]),)
        if ranked.metrics
        else ()
    )
    return Section(
        "leaderboard",
        "Leaderboard",
        (ranking,),
        views=views,
        numbers="The numbers: means, intervals, ranks, letters, and each metric in a sentence",
    )


def _spread_section(ranking: Ranking, ranked: RankedPipelines, runs: Sequence[Scored]) -> Section:
    """The questions on which the pipelines differ most."""
    known = ranking.blocks or {}
    blocks = {name: block for name, block in known.items() if isinstance(block, ScoreBlock)}
    spread = (
        WidestSpread.of(ranked, blocks, ranking.lineup.ids, runs)
        if blocks and ranking.lineup
        else None
    )
    return Section(
        "spread", "Questions where the choice matters most", views=(spread,) if spread else ()
    )


def front_section(ranking: Ranking, *, pictures: bool) -> Section:
    """What quality costs, if the pipelines have a metric of cost or speed."""
    costs = [
        own
        for own in _described(ranking).values()
        if own.group == "performance" and not own.greater_is_better
    ]
    others = [own for own in _described(ranking).values() if own.group != "performance"]
    if not costs or not others or not ranking.tests:
        return Section("front", "What does quality cost?")
    try:
        front = ranking.pareto()
    except DataError:  # such as a metric whose values have no common scale
        return Section("front", "What does quality cost?")
    drawn = (
        (Picture("pareto", front, "Quality against cost: on the line, no other pipeline is ahead"),)
        if pictures and len(front.axes) > 1
        else ()
    )
    return Section(
        "front", "What does quality cost?", (front,), drawn, numbers="The numbers behind the front"
    )


def _effects_section(ranking: Ranking, ranked: RankedPipelines, runs: Sequence[Scored]) -> Section:
    """Which setting matters, if every combination of settings is there."""
    effects = effects_of(runs, ranked.names, ranking.settings, ranking.metrics) if runs else None
    return effects_section(effects, ranked)


def effects_section(effects: MainEffects | None, ranked: RankedPipelines) -> Section:
    """Which setting matters; empty if the effects are not known."""
    if effects is None or not ranked.metrics:
        return Section("effects", "Which setting matters?")
    return Section(
        "effects",
        "Which setting matters?",
        (effects,),
        views=(Effects.of(effects, ranked),),
        numbers="The numbers behind the effects",
    )


def pairs_section(
    ranking: Ranking, ranked: RankedPipelines, pairs: Sequence[Sequence[MetricVerdict]]
) -> Section:
    """Every pair of pipelines."""
    if not pairs or not ranked.metrics:
        return Section("pairs", "Compare any two")
    return Section(
        "pairs",
        "Compare any two",
        (ranking.pairs,),
        views=(PairMatrix.of(ranked, pairs),),
        numbers="The numbers of every pair",
    )
