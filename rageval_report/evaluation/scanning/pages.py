"""The report page of scans: all tables and pictures, and the worst queries of each metric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from rageval_report.analysis.comparing.comparison import Comparison
from rageval_report.analysis.evaluation_subset import EvaluationSubset
from rageval_report.analysis.headlines.comparison_headline import comparison_headline
from rageval_report.analysis.headlines.ranking_headline import (
    RankedPipelines,
    pair_verdicts,
    ranking_headline,
)
from rageval_report.analysis.main_effects import MainEffects
from rageval_report.analysis.summary import EvaluationReport
from rageval_report.errors import DataError
from rageval_report.evaluation.scanning.causes import causes_of_kept, correct_counts
from rageval_report.evaluation.scanning.collected_scores import check_size
from rageval_report.evaluation.scanning.description import HeadEvaluation
from rageval_report.evaluation.scanning.drawn_scan import DrawnScan
from rageval_report.evaluation.scanning.kept_rows import WorstOfEach, kept_evaluations
from rageval_report.evaluation.scanning.page_changes import PageChanges
from rageval_report.evaluation.scanning.part_states import PartEvaluation
from rageval_report.evaluation.scanning.profile import ScanProfile
from rageval_report.evaluation.scanning.scanned_pair import ScannedPair
from rageval_report.evaluation.scanning.scanned_ranking import ScannedRanking
from rageval_report.evaluation.scanning.worst import MOST_WORST
from rageval_report.plots.subjects import of_one_scale
from rageval_report.reports.common_sections import (
    causes_section,
    check_longest,
    doubts_in,
    notes_of,
    queries_of,
    slice_columns_of,
    slice_picture,
    without_empty,
)
from rageval_report.reports.comparison_report import (
    FAMILIES,
    metrics_of_comparison,
    outcome_tables,
    outcomes_section,
    slices_section,
    strip_section,
    words_of,
)
from rageval_report.reports.parts import (
    ReportVerdict,
    Section,
    answers_of,
    setup_table,
    verdicts_of_comparison,
    verdicts_of_evaluation,
)
from rageval_report.reports.pictures import Picture
from rageval_report.reports.query_table import QueryTable
from rageval_report.reports.ranking_report import (
    effects_section,
    front_section,
    leaderboard_section,
    metrics_by_place,
    pairs_section,
)
from rageval_report.reports.report import Report
from rageval_report.reports.views.pair_matrix import pairs_document
from rageval_report.reports.wording import Wording
from rageval_report.results import Result
from rageval_report.scale.engines.base import Engine
from rageval_report.scores import Correct, Metric, Scored
from rageval_report.scores.correct_notion import CorrectNotion, declare_all_counts, shared_notions

# The characters of the texts of queries on a page, so that it stays below five megabytes.
MOST_CHARACTERS = 2_500_000
# The scores of queries on a page: 1,000 queries for each of ten metrics of three pipelines.
_MOST_SCORES = 300_000
_LENGTHS = (2000, 1000, 500, 250, 120, 60, 30)


def page_of_scan(
    profile: ScanProfile,
    engine: Engine,
    summary: EvaluationReport,
    slice_by: Callable[[str], Result],
    drawn: DrawnScan | None,
    *,
    title: str | None = None,
    by: str | Iterable[str] | None = None,
    k: int | None = None,
    longest_text: int | None = None,
) -> Report:
    """The page of one scanned pipeline.

    Parameters
    ----------
    profile : ScanProfile
        What one pass over the table found, with the rule for a correct answer.
    engine : Engine
        The engine of the pass that finds the worst queries, and of one for the causes of failures.
    summary : EvaluationReport
        The table of all metrics.
    slice_by : callable
        Gives the table of slices by a column.
    drawn : DrawnScan, optional
        What the picture of the distributions is drawn from; no pictures if omitted.
    title, by, k, longest_text : optional
        As in `rageval_report.reports.report_evaluation`.
    """
    check_longest(longest_text)
    described, head = profile.described, profile.described.head
    slices = [slice_by(column) for column in slice_columns_of([head], by)]
    shown = [head.metrics[name] for name in dict.fromkeys(summary.frame["metric"])]
    details = described.table.shape.detail_names
    parts = PartEvaluation(head.name, described.metrics, details)
    state = engine.fold(
        described.table, WorstOfEach(parts, tuple(shown)), list(described.metrics), list(details)
    )
    [kept] = kept_evaluations(state, [described])
    notion = profile.notion
    answers = () if notion is None else (answers_of(kept, notion),)
    longest = _longest_text([kept], longest_text)
    level = float(str(summary.settings["confidence_level"]))
    causes = causes_of_kept(profile, engine, kept, notion, k=k, confidence_level=level)
    of_each, table = causes or (None, None)
    sections = (
        Section("metrics", "Metrics", (summary,), _pictures(drawn, shown, profile)),
        Section("causes", "Why queries fail", () if table is None else (table,)),
        Section(
            "slices",
            "Slices",
            tuple(slices),
            tuple(map(slice_picture, slices)) if drawn else (),
            folded=True,
        ),
        _origin([profile], engine),
    )
    report = Report(
        title=title or f"Evaluation of {head.name}",
        subtitle=f"{profile.n_queries:,} queries, {len(shown)} metrics",
        verdicts=(*doubts_in((head,)), *verdicts_of_evaluation(summary, table)),
        sections=without_empty(sections),
        queries=QueryTable(
            (kept,),
            tuple({0: metric} for metric in shown),
            tuple(name for name in _columns_of(slices) if name in kept.details),
            answers,
            (of_each,),
        ),
        notes=notes_of((head,), None if notion is None else (notion,), longest),
        longest_text=longest,
    )
    return _with_queries_note(report, profile.n_queries, f"the {MOST_WORST} worst on each metric")


def page_of_compared(
    comparison: Comparison,
    pairs: Sequence[ScannedPair],
    profiles: Sequence[ScanProfile],
    summaries: Sequence[EvaluationReport],
    slice_by: Callable[[str], Result],
    *,
    title: str | None = None,
    by: str | Iterable[str] | None = None,
    correct: Correct | None = None,
    k: int | None = None,
    pictures: bool = True,
    longest_text: int | None = None,
    cluster_notes: Sequence[str] = (),
) -> Report:
    """The page of scanned candidates beside a scanned baseline.

    Parameters
    ----------
    comparison : Comparison
        The comparison, whose pairings name the runs and their metrics.
    pairs : sequence of ScannedPair
        The baseline beside each candidate.
    profiles : sequence of ScanProfile
        What one pass over each table found, the baseline's first.
    summaries : sequence of EvaluationReport
        The table of each pipeline.
    slice_by : callable
        Gives the table of slices by a column.
    title, by, correct, k, pictures, longest_text
        As in `rageval_report.reports.report_comparison`.
    cluster_notes : sequence of str
        That the means of each pipeline do not take the clusters of the comparison.
    """
    check_longest(longest_text)
    heads, engine = [profile.described.head for profile in profiles], pairs[0].tables.engine
    level = float(str(comparison.settings["confidence_level"]))
    rules = _PageRules.of(profiles, engine, correct)
    slices = [slice_by(column) for column in slice_columns_of([pairs[0].baseline], by)]
    metrics = metrics_of_comparison(comparison)
    changes = PageChanges.of(pairs, rules.notions, MOST_WORST)
    kept = changes.kept
    longest = _longest_text(kept, longest_text)
    wording = Wording.of(heads, [by_place[0] for by_place in metrics])
    causes = rules.causes([*kept, *heads[len(kept) :]], k, level)
    sections = (
        strip_section(comparison, wording),
        _outcomes_section(changes, heads, rules.notions, level, wording),
        causes_section(causes, heads, wording),
        slices_section(comparison, slices, wording, pictures),
        Section("pipelines", "Each pipeline", tuple(summaries)),
        _origin(profiles, engine),
    )
    report = Report(
        title=title or comparison.title,
        subtitle=_subtitle(heads, pairs[0].n_common, len(metrics)),
        verdicts=(
            *doubts_in(tuple(heads)),
            *rules.verdicts(),
            *verdicts_of_comparison(comparison, slices),
        ),
        sections=without_empty(sections),
        queries=queries_of(
            kept,
            tuple({0: ours, 1: theirs} for ours, theirs in pairs[0].metrics),
            tuple(name for name in _columns_of(slices) if name in kept[0].details),
            (rules.notions or (None,) * len(kept))[: len(kept)],
            causes[: len(kept)],
            wording,
        ),
        notes=(
            *comparison.notes,
            *notes_of(tuple(heads), rules.notions, longest),
            *((FAMILIES,) if slices else ()),
            *cluster_notes,
        ),
        longest_text=longest,
        headline=comparison_headline(comparison, slices, labels=wording.labels),
        wording=wording,
    )
    which = _shown_changes(heads[1].name, has_rule=rules.notions is not None)
    return _with_queries_note(report, pairs[0].n_common, which)


def _subtitle(heads: Sequence[HeadEvaluation], n_common: int, n_metrics: int) -> str:
    candidates = ", ".join(head.name for head in heads[1:])
    noun = "candidate" if len(heads) == 2 else "candidates"
    return (
        f"baseline {heads[0].name}, {noun} {candidates}; {n_common} common queries, "
        f"{n_metrics} metrics"
    )


def _shown_changes(candidate: str, *, has_rule: bool) -> str:
    """Which queries the page of a comparison shows."""
    kinds = "became wrong and right" if has_rule else "fell and rose most over all metrics"
    return (
        f"the {MOST_WORST} worst of {candidate} on each metric, and as many of those that {kinds}"
    )


def _outcomes_section(
    changes: PageChanges,
    heads: Sequence[HeadEvaluation],
    notions: tuple[CorrectNotion, ...] | None,
    level: float,
    wording: Wording,
) -> Section:
    """The answers that became right and wrong; of one candidate with the queries."""
    known = notions or ()
    tables = outcome_tables(heads, known, changes.counts, level) if known else ()
    view = changes.view(words_of(known), wording) if len(heads) == 2 else None
    return outcomes_section(tables, (view,) if view else ())


def page_of_ranked(
    ranking: ScannedRanking,
    *,
    title: str | None = None,
    by: str | Iterable[str] | None = None,
    correct: Correct | None = None,
    k: int | None = None,
    pictures: bool = True,
    longest_text: int | None = None,
) -> Report:
    """The page of ranked scans.

    Parameters
    ----------
    ranking : ScannedRanking
        What `rank` gives of scans.
    title, by, correct, k, pictures, longest_text
        As in `rageval_report.reports.report_ranking`.

    Raises
    ------
    DataError
        If the ranking was not made by `rank`.
    """
    check_longest(longest_text)
    lineup = ranking.scanned
    if lineup is None or ranking.engine is None or ranking.read_widest is None:
        raise DataError("a report needs the pipelines; make the ranking with rank(...)")
    wording = Wording.of(lineup.runs, [known[0] for known in lineup.metrics.values()])
    ranked = RankedPipelines.of(ranking, wording.labels)
    # The best stands first, as on the page of a ranking in memory.
    order = [lineup.names.index(name) for name in ranked.pipelines]
    heads = [lineup.runs[place] for place in order]
    profiles = [ranking.profiles[place] for place in order]
    most = _most_of_each(len(ranking.metrics), len(heads))
    read = ranking.read_widest(most)
    kept = tuple(read[place] for place in order)
    longest = _longest_text(kept, longest_text)
    rules = _PageRules.of(profiles, ranking.engine, correct)
    pairs = pair_verdicts(ranking, wording.labels)
    level = float(str(ranking.settings["confidence_level"]))
    correction = str(ranking.settings["correction"])
    document = pairs_document(ranked, pairs, level=level, correction=correction)
    causes = rules.causes(kept, k, level)
    sections = (
        leaderboard_section(ranking, ranked),
        front_section(ranking, pictures=pictures),
        effects_section(_read_effects(ranking, order, ranked), ranked),
        pairs_section(ranking, ranked, pairs),
        causes_section(causes, heads, wording),
        _origin(profiles, ranking.engine),
    )
    report = Report(
        title=title or ranking.title,
        subtitle=(
            f"{len(heads)} pipelines, {lineup.n_queries:,} queries, {len(lineup.metrics)} metrics"
        ),
        verdicts=(
            *doubts_in(tuple(heads)),
            *rules.verdicts(),
            *map(ReportVerdict, ranking.sentences),
        ),
        sections=without_empty(sections),
        queries=queries_of(
            kept,
            metrics_by_place(lineup, ranking.metrics, heads),
            tuple(name for name in slice_columns_of(heads, by) if name in kept[0].details),
            rules.notions or (None,) * len(kept),
            causes,
            wording,
            tuple(document),
        ),
        notes=(
            *ranking.notes,
            *_note_on_front(ranking, lineup.n_queries),
            *notes_of(tuple(heads), rules.notions, longest),
        ),
        longest_text=longest,
        headline=ranking_headline(ranking, labels=wording.labels),
        wording=wording,
    )
    which = f"the {most} of each metric on which the pipelines differ most"
    return _with_queries_note(report, lineup.n_queries, which)


def _read_effects(
    ranking: ScannedRanking, order: Sequence[int], ranked: RankedPipelines
) -> MainEffects | None:
    """Which setting matters; None without a grid of settings."""
    if ranking.read_effects is None or not ranked.metrics:
        return None
    return ranking.read_effects(order, ranked.names, ranking.settings)


@dataclass(frozen=True, eq=False)
class _PageRules:
    """What is correct in the pipelines of a page, and what follows from it.

    Parameters
    ----------
    profiles : sequence of ScanProfile
        The pipelines, in the order of the page.
    engine : Engine
        What reads them.
    notions : tuple of CorrectNotion, or None
        What is correct in each; None if nothing says so for all.
    """

    profiles: Sequence[ScanProfile]
    engine: Engine
    notions: tuple[CorrectNotion, ...] | None

    @classmethod
    def of(
        cls, profiles: Sequence[ScanProfile], engine: Engine, correct: Correct | None
    ) -> _PageRules:
        heads = [profile.described.head for profile in profiles]
        return cls(profiles, engine, shared_notions(heads, correct))

    def verdicts(self) -> tuple[ReportVerdict, ...]:
        """How many answers of each pipeline are correct."""
        if self.notions is None:
            return ()
        heads = [profile.described.head for profile in self.profiles]
        counts = [
            correct_counts(profile, self.engine, notion)
            for profile, notion in zip(self.profiles, self.notions, strict=True)
        ]
        return (ReportVerdict(declare_all_counts(heads, self.notions, counts)),)

    def causes(
        self, kept: Sequence[Scored], k: int | None, level: float
    ) -> list[tuple[pd.Series, Result] | None]:
        """Why queries of each pipeline fail: those that are shown, and the table of all."""
        notions = self.notions or (None,) * len(kept)
        return [
            causes_of_kept(profile, self.engine, run, notion, k=k, confidence_level=level)
            for profile, run, notion in zip(self.profiles, kept, notions, strict=True)
        ]


def _note_on_front(ranking: ScannedRanking, n_queries: int) -> tuple[str, ...]:
    """The note that the page has no front; none if the page has one."""
    try:
        check_size("a Pareto front", n_queries, ranking.profiles)
    except DataError as exc:
        return (f"the page has no Pareto front: {exc}",)
    return ()


def _most_of_each(n_metrics: int, n_pipelines: int) -> int:
    """How many queries of each metric are kept, so that a page does not hold too many scores."""
    return max(1, min(MOST_WORST, _MOST_SCORES // (n_metrics**2 * n_pipelines)))


def _pictures(
    drawn: DrawnScan | None, metrics: Sequence[Metric], profile: ScanProfile
) -> tuple[Picture, ...]:
    scored = [metric for metric in metrics if profile.states[metric.name].n]
    if drawn is None or not scored:
        return ()
    together, _ = of_one_scale(scored, named=False)
    names = [metric.name for metric in together]
    title = f"How the scores of {drawn.name} are spread, metric by metric"
    return (Picture("distribution", drawn, title, {"metric": names}),)


def _columns_of(slices: Sequence[Result]) -> Iterable[str]:
    return (str(table.settings["by"]) for table in slices)


def _origin(profiles: Sequence[ScanProfile], engine: Engine) -> Section:
    """What files the pipelines are, and how they were set up."""
    heads = [profile.described.head for profile in profiles]
    frame = pd.DataFrame(
        {
            "pipeline": [head.name for head in heads],
            "queries": [profile.n_queries for profile in profiles],
            "files": [len(profile.described.opened.files.files) for profile in profiles],
            "from": [profile.described.opened.files.name for profile in profiles],
        }
    )
    files = Result("What was read", frame, {"engine": engine.name})
    setup = setup_table(heads)
    return Section("made", "How it was made", (files, *([setup] if setup else [])))


def _with_queries_note(report: Report, n: int, which: str) -> Report:
    """The page with a note on which queries it shows, also above them if these are not all.

    Parameters
    ----------
    report : Report
        The page.
    n : int
        The number of all queries.
    which : str
        Which of them the page shows, if it does not show all.
    """
    n_shown = len(report.queries.ids)
    note = f"the page shows all {n:,} queries"
    if n_shown < n:
        note = (
            f"the page shows {n_shown:,} of {n:,} queries: {which}; tables and pictures are of all"
        )
    some = f"{note[0].upper()}{note[1:]}." if n_shown < n else ""
    return replace(report, notes=(note, *report.notes), some_queries=some)


def _longest_text(kept: Sequence[EvaluationSubset], longest: int | None) -> int | None:
    """The length to which texts are cut, so that the page stays below five megabytes."""
    lengths = [
        len(cell)
        for run in kept
        for _, column in run.details.items()
        for cell in dict.fromkeys(filter(_is_text, column.tolist()))
    ]
    for limit in (longest, *_LENGTHS):
        is_allowed = longest is None or (limit is not None and limit <= longest)
        if is_allowed and sum(min(n, limit or n) for n in lengths) <= MOST_CHARACTERS:
            return limit
    return _LENGTHS[-1]


def _is_text(cell: object) -> bool:
    return isinstance(cell, str)
