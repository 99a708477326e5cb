"""The results of the analyses become a report of candidates beside a baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from rageval_report.analysis.arguments import is_scan
from rageval_report.analysis.compare import Comparison
from rageval_report.analysis.rank import rank
from rageval_report.analysis.report import evaluation_report
from rageval_report.analysis.tables import table_of
from rageval_report.analysis.verdicts import (
    by_candidate,
    comparison_verdicts,
    pair_text,
)
from rageval_report.errors import DataError, RagevalError
from rageval_report.reports.common_sections import (
    LONGEST_OF_SOME,
    MeansSettings,
    causes_section,
    check_longest,
    doubts_in,
    listed_runs,
    notes_of,
    origin_section,
    queries_of,
    slice_columns_of,
    slice_picture,
    without_empty,
)
from rageval_report.reports.comparison_headline import best_first_key, comparison_headline
from rageval_report.reports.parts import (
    ReportVerdict,
    Section,
    causes_of,
    named_outcomes,
    outcome_names,
    outcome_result,
    outcomes_of,
    verdicts_of_comparison,
)
from rageval_report.reports.query_table import QueryTable
from rageval_report.reports.ranking_sentences import ranking_headline
from rageval_report.reports.report import Report
from rageval_report.reports.sentences import Headline
from rageval_report.reports.views.changed import Changed, plain_outcomes
from rageval_report.reports.views.slice_matrix import SliceMatrix
from rageval_report.reports.views.strip import Strip
from rageval_report.reports.wording import Wording
from rageval_report.results import Result
from rageval_report.scores import Correct, Metric, Scored
from rageval_report.scores.correct import (
    CorrectNotion,
    declare_all,
    describe_notions,
    shared_notions,
)
from rageval_report.stats.means import QUARTILES

FAMILIES = (
    "p-values are corrected within each table, not across tables: looking through the slices is a "
    "search, so confirm on new queries what it shows"
)


def report_comparison(
    comparison: Comparison,
    *,
    title: str | None = None,
    by: str | Iterable[str] | None = None,
    correct: Correct | None = None,
    k: int | None = None,
    pictures: bool = True,
    longest_text: int | None = None,
    percentiles: Sequence[float] = QUARTILES,
    interval: str = "auto",
    confidence_level: float | None = None,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Report:
    """The report of candidates beside a baseline.

    Parameters
    ----------
    comparison : Comparison
        What `compare` gives.
    title, by, correct, k, pictures, longest_text
        As in `report_evaluation`; `correct` holds for all pipelines; if omitted, each has its own
        rule, else all have the same column.
    percentiles, interval, confidence_level, n_resamples, seed
        Of each pipeline's own table of means, as in `rageval_report.analysis.report.summarise`;
        if `confidence_level` is omitted, it is that of the comparison.

    Returns
    -------
    Report

    Examples
    --------
    >>> from rageval_report import compare
    >>> from rageval_report.demo import demo_evaluations
    >>> comparison = compare(*demo_evaluations(), metrics=["recall@5", "latency_ms"])
    >>> report_comparison(comparison, pictures=False).headline.text
    'hybrid is better than bm25 on 1 of 2 metrics and worse on Latency (ms).'
    """
    check_longest(longest_text)
    runs = _runs(comparison)
    level = float(str(comparison.settings["confidence_level"]))
    metrics = metrics_of_comparison(comparison)
    listed, some_queries = listed_runs(runs, _names_in(metrics, 0))
    if some_queries:
        longest_text = longest_text or LONGEST_OF_SOME
    notions = shared_notions(listed, correct)
    by_run = notions or (None,) * len(runs)
    causes = [
        causes_of(run, part, notion, k, level)
        for run, part, notion in zip(runs, listed, by_run, strict=True)
    ]
    columns = slice_columns_of(listed, by)
    slices = _comparison_slices(comparison, columns)
    are_scans = is_scan(runs[0])
    outcomes = [] if notions is None or are_scans else _outcomes(runs, notions)
    counts = _outcome_counts(runs, notions, correct, outcomes)
    settings, cluster_notes = _means_settings(
        comparison, level if confidence_level is None else confidence_level
    )
    settings |= {"interval": interval, "n_resamples": n_resamples, "seed": seed}
    means = (
        evaluation_report(
            run, notion, metrics=_names_in(metrics, place), percentiles=percentiles, **settings
        )
        for place, (run, notion) in enumerate(zip(runs, by_run, strict=True))
    )
    wording = Wording.of(runs, [by_run[0] for by_run in metrics])
    sections = (
        strip_section(comparison, wording),
        _changed_section(comparison, notions, outcomes, counts, wording, level),
        causes_section(causes, runs, wording),
        slices_section(comparison, slices, wording, pictures),
        Section("pipelines", "Each pipeline", tuple(means)),
        origin_section(runs),
    )
    doubts = doubts_in(runs)
    return Report(
        title=title or comparison.title,
        subtitle=_subtitle(runs, metrics),
        verdicts=(
            *doubts,
            *([] if notions is None or are_scans else [ReportVerdict(declare_all(runs, notions))]),
            *verdicts_of_comparison(comparison, slices),
        ),
        sections=without_empty(sections),
        queries=queries_of(listed, metrics, columns, by_run, causes, wording),
        notes=(
            *([some_queries] if some_queries else []),
            *comparison.notes,
            *notes_of(listed, notions, longest_text),
            *((FAMILIES,) if slices else ()),
            *cluster_notes,
        ),
        longest_text=longest_text,
        headline=_led_by_ranking(
            comparison_headline(comparison, slices, labels=wording.labels),
            runs,
            comparison,
            wording,
        ),
        wording=wording,
        some_queries=some_queries,
    )


# -- the sections


def _led_by_ranking(
    headline: Headline, runs: Sequence[Scored], comparison: Comparison, wording: Wording
) -> Headline:
    """The headline of three or more pipelines: their ranking's, then that beside the baseline."""
    plan, metrics = comparison.plan, dict.fromkeys(comparison.frame["metric"])
    if len(runs) < 3 or (is_scan(runs[0]) and plan.units.are_clusters):
        return headline
    clusters = (
        pd.Series(plan.units.codes, runs[0].scores.index) if plan.units.are_clusters else None
    )
    try:
        ranking = rank(
            *runs,
            metrics=[*metrics],
            correction=str(comparison.settings["correction"]),
            confidence_level=plan.confidence_level,
            missing=plan.missing,
            clusters=clusters,
            n_resamples=plan.n_resamples,
            seed=plan.seed,
        )
    except RagevalError:  # such as three pipelines that share queries only two by two
        return headline
    answer = ranking_headline(ranking, labels=wording.labels, is_short=True).text
    return replace(headline, text=answer, details=(headline.text, *headline.details))


def strip_section(comparison: Comparison, wording: Wording) -> Section:
    """Every metric: one strip per candidate, and the numbers behind it."""
    groups = by_candidate(comparison_verdicts(comparison, wording.labels))
    metrics = {ours.name: ours for pairing in comparison.pairings for ours, _ in pairing.metrics}
    are_several, fewest = len(groups) > 1, comparison.plan.fewest_units
    strips = tuple(
        Strip.of(
            own,
            metrics,
            wording.names,
            level=comparison.settings["confidence_level"],
            correction=str(comparison.settings["correction"]),
            heading=pair_text(own, wording.names, fewest) if are_several else "",
        )
        for own in sorted(groups.values(), key=best_first_key)
    )
    return Section(
        "comparison",
        "Every metric",
        (comparison,),
        views=strips,
        numbers="The numbers behind the verdicts: n, p, correction, and each in a sentence",
    )


def _changed_section(
    comparison: Comparison,
    notions: Sequence[CorrectNotion] | None,
    outcomes: Sequence[pd.Series],
    counts: Sequence[Mapping[str, int]],
    wording: Wording,
    level: float,
) -> Section:
    """The answers that became right and wrong; for one candidate with the queries."""
    runs = _runs(comparison)
    tables = outcome_tables(runs, notions, counts, level) if notions and counts else ()
    if is_scan(runs[0]):
        return outcomes_section(tables, ())
    plain = _plain_outcomes(runs, outcomes)
    words = words_of(notions or ())
    views: tuple[Changed, ...] = ()
    if len(comparison.pairings) == 1:
        changed = Changed.of(
            comparison.pairings[0],
            plain[0] if plain else None,
            wording.with_titles(words),
            wording.names,
        )
        views = (changed,) if changed else ()
    return outcomes_section(tables, views)


def _outcome_counts(
    runs: Sequence[Any],
    notions: Sequence[CorrectNotion] | None,
    correct: Correct | None,
    outcomes: Sequence[pd.Series],
) -> list[Mapping[str, int]]:
    """For each candidate the number of queries by outcome; none where that needs every row."""
    if not is_scan(runs[0]):
        return [Counter[str](outcome.tolist()) for outcome in outcomes]
    if notions is None or any(callable(notion.rule) for notion in notions):
        return []
    counts: list[Mapping[str, int]] = []
    for run in runs[1:]:
        names = named_outcomes(runs[0], run)
        n = runs[0].comparative_detailed_summary(run, correct, k=1).attrs["n"]
        counts.append({names[column]: n[column] for column in names if column in n})
    return counts


def outcomes_section(tables: tuple[Result, ...], views: tuple[Changed, ...]) -> Section:
    """The answers that became right and wrong."""
    return Section(
        "outcomes",
        "What changed",
        tables,
        views=views,
        numbers="The numbers: which answers are right",
    )


def slices_section(
    comparison: Comparison, slices: Sequence[Result], wording: Wording, pictures: bool
) -> Section:
    """The differences in each group; for one candidate as a matrix."""
    # A matrix shows what the pictures would.
    drawn = tuple(map(slice_picture, slices)) if pictures and len(comparison.pairings) > 1 else ()
    views: tuple[SliceMatrix, ...] = ()
    if len(comparison.pairings) == 1:
        overall = comparison_verdicts(comparison, wording.labels)
        views = tuple(
            SliceMatrix.of(result, overall, wording.names, wording.labels) for result in slices
        )
    return Section(
        "slices",
        "Does it hold everywhere?",
        tuple(slices),
        drawn,
        folded=True,
        views=views,
        numbers="The numbers",
    )


def _plain_outcomes(runs: Sequence[Scored], outcomes: Sequence[pd.Series]) -> tuple[pd.Series, ...]:
    """The outcomes in words that need no name: an answer became right, or wrong."""
    return tuple(
        plain_outcomes(outcome, outcome_names(runs[0], run))
        for run, outcome in zip(runs[1:], outcomes, strict=False)
    )


def _means_settings(comparison: Comparison, level: float) -> tuple[MeansSettings, tuple[str, ...]]:
    """How each pipeline's own means are computed, and a note if that differs from the whole."""
    named, notes = named_clusters(comparison)
    settings: MeansSettings = {
        "interval": "auto",
        "confidence_level": level,
        "n_resamples": 9999,
        "seed": 0,
        "clusters": named,
    }
    return settings, notes


def _subtitle(runs: tuple[Scored, ...], metrics: tuple[dict[int, Metric], ...]) -> str:
    names = ", ".join(run.name for run in runs[1:])
    n_queries = (
        max(table_of(run).n_queries for run in runs)
        if is_scan(runs[0])
        else len(QueryTable(runs, ()).ids)
    )
    noun = "candidate" if len(runs) == 2 else "candidates"
    return f"baseline {runs[0].name}, {noun} {names}; {n_queries:,} queries, {len(metrics)} metrics"


# -- the comparison


def _runs(comparison: Comparison) -> tuple[Scored, ...]:
    if not comparison.pairings:
        raise DataError("a report needs the pipelines; make the comparison with compare(...)")
    candidates = (pairing.candidate for pairing in comparison.pairings)
    return (comparison.pairings[0].baseline, *candidates)


def metrics_of_comparison(comparison: Comparison) -> tuple[dict[int, Metric], ...]:
    """Each metric that was compared, as each of the runs knows it."""
    metrics: dict[str, dict[int, Metric]] = {}
    for place, pairing in enumerate(comparison.pairings, start=1):
        for ours, theirs in pairing.metrics:
            metrics.setdefault(ours.name, {0: ours})[place] = theirs
    return tuple(metrics.values())


def named_clusters(comparison: Comparison) -> tuple[str | None, tuple[str, ...]]:
    """The column of clusters of the comparison; a note if it had labels by query instead."""
    named = comparison.settings.get("clusters")
    if named is None:
        return None, ()
    column = str(named)
    if all(column in table_of(run).sample.details for run in _runs(comparison)):
        return column, ()
    return None, ("the intervals of each pipeline's own means assume independent queries",)


def _names_in(metrics: Iterable[dict[int, Metric]], place: int) -> list[str]:
    """The names of the compared metrics in one of the runs."""
    return [by_run[place].name for by_run in metrics if place in by_run]


def _comparison_slices(comparison: Comparison, columns: Iterable[str]) -> tuple[Result, ...]:
    correction = correction_of_slices(comparison)
    return tuple(comparison.slices(column, correction=correction) for column in columns)


def correction_of_slices(comparison: Result) -> str:
    """The correction of the slices of a comparison: its own, or Holm's.

    Westfall and Young's correction needs the joint distribution of all tests; slices are tested
    apart from each other.
    """
    correction = str(comparison.settings["correction"])
    return "holm" if correction == "westfall-young" else correction


def _outcomes(runs: Sequence[Scored], notions: Sequence[CorrectNotion]) -> list[pd.Series]:
    """For each candidate the outcome of every query beside the baseline."""
    candidates = zip(runs[1:], notions[1:], strict=True)
    return [outcomes_of(runs[0], run, notions[0], notion) for run, notion in candidates]


def words_of(notions: Sequence[CorrectNotion]) -> str:
    """The rules for a right answer in words, each once."""
    return ", ".join(dict.fromkeys(notion.words for notion in notions))


def outcome_tables(
    runs: Sequence[Scored],
    notions: Sequence[CorrectNotion],
    counts: Sequence[Mapping[str, int]],
    level: float,
) -> tuple[Result, ...]:
    """How many answers of the baseline and of each candidate are right.

    Parameters
    ----------
    runs : sequence of Scored
        The pipelines, the baseline first.
    notions : sequence of CorrectNotion
        What is correct in each.
    counts : sequence of mapping of str to int
        For each candidate the number of queries by outcome.
    level : float
        The confidence level of the shares.
    """
    settings = {"confidence_level": level, "correct": words_of(notions)}
    return tuple(
        outcome_result(
            f"The answers of {runs[0].name} and {run.name}",
            own,
            outcome_names(runs[0], run),
            settings,
            (describe_notions((runs[0], run), (notions[0], notion)),),
        )
        for run, notion, own in zip(runs[1:], notions[1:], counts, strict=True)
    )
