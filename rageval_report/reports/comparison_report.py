"""The page of candidates beside a baseline: its headline and its sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import pandas as pd

from rageval_report.analysis.arguments import is_scan
from rageval_report.analysis.compare import Comparison
from rageval_report.analysis.rank import rank
from rageval_report.analysis.report import evaluation_report
from rageval_report.analysis.tables import table_of
from rageval_report.analysis.verdicts import (
    MetricVerdict,
    alpha_of_result,
    answer_of,
    by_candidate,
    comparison_verdicts,
    of_shown,
    pair_text,
)
from rageval_report.errors import DataError, RagevalError
from rageval_report.reports.query_table import QueryTable
from rageval_report.reports.ranking_sentences import ranking_headline
from rageval_report.reports.report import (
    ContentKeywords,
    MeansSettings,
    PageContent,
    Report,
    Section,
    named_outcomes,
    origin_section,
    outcome_names,
    outcome_result,
    outcomes_of,
    slice_picture,
    verdicts_of_comparison,
    without_empty,
)
from rageval_report.reports.sentences import (
    Headline,
    counted,
    names_with_rest,
    number,
    signed,
    size_text,
    undecided_text,
    with_commas,
)
from rageval_report.reports.views.changed import Changed, plain_outcomes
from rageval_report.reports.views.strip import SliceMatrix, Strip
from rageval_report.reports.wording import Wording
from rageval_report.results import Result
from rageval_report.scores import Correct, Metric, Scored
from rageval_report.scores.correct import (
    CorrectNotion,
    describe_notions,
)
from rageval_report.scores.names import ShortNames, shorten_names
from rageval_report.scores.shown import BETTER, EQUIVALENT, IDENTICAL, NOT_TESTED, UNDECIDED, WORSE
from rageval_report.stats.means import QUARTILES

# Below it a comparison finds large differences only, and the headline says so.
_FEW_QUERIES = 30
_MOST_EXCEPTIONS = 2
_MOST_CANDIDATES = 3


def comparison_headline(
    comparison: Comparison,
    slices: Iterable[Result] = (),
    *,
    labels: Mapping[str, str] | None = None,
) -> Headline:
    """The answer of a comparison in plain sentences, with short names of pipelines."""
    verdicts = comparison_verdicts(comparison, labels)
    groups, fewest = by_candidate(verdicts), comparison.plan.fewest_units
    names = shorten_names([verdicts[0].baseline, *groups])
    if len(groups) == 1:
        details = tuple(filter(None, _pair_details(verdicts, fewest)))
    else:
        details = tuple(_details_of_several(groups, names))
    exceptions = sorted(
        (
            exception
            for result in slices
            for exception in _exceptions(result, alpha_of_result(comparison), names, labels or {})
        ),
        key=lambda exception: exception[0],
    )
    lines = [text for _, text in exceptions[:_MOST_EXCEPTIONS]]
    if more := len(exceptions) - len(lines):
        lines.append(f"The same holds for {counted(more, 'more group')}, see below.")
    basis = " · ".join(_basis(comparison, verdicts, names))
    return Headline(answer_of(verdicts, fewest), basis, details, tuple(lines))


def _pair_details(verdicts: Sequence[MetricVerdict], fewest: int) -> Iterator[str]:
    """The sizes of what is shown, and what is equivalent, undecided, or too small to see."""
    if all(verdict.shown == NOT_TESTED for verdict in verdicts):
        return
    for shown in (BETTER, WORSE):
        names = [f"{own.label} ({signed(own.difference)})" for own in of_shown(verdicts, shown)]
        if names:
            yield f"{shown.capitalize()} on {names_with_rest(names)}."
    for shown, end in (
        (EQUIVALENT, "equivalent within your margins"),
        (IDENTICAL, "equal on every query"),
    ):
        if n := len(of_shown(verdicts, shown)):
            yield f"{counted(n, 'metric is', 'metrics are')} {end}."
    yield undecided_text(of_shown(verdicts, UNDECIDED))
    if n := len(of_shown(verdicts, NOT_TESTED)):
        yield (
            f"{counted(n, 'metric has', 'metrics have')} fewer than {fewest} queries in common, "
            "too few for a test."
        )
    most = max(verdict.n for verdict in verdicts)
    if most >= _FEW_QUERIES:
        return
    start = f"Only {counted(most, 'query', 'queries')}"
    detectable = [
        own.detectable
        for own in verdicts
        if own.is_share and own.shown != NOT_TESTED and own.detectable < 1.0
    ]
    if detectable:
        yield f"{start}: differences below about {size_text(min(detectable))} do not show."
    else:
        yield f"{start}: only large differences show."


def _details_of_several(
    groups: Mapping[str, Sequence[MetricVerdict]], names: ShortNames
) -> Iterator[str]:
    """A line for each of the first candidates that differ from the baseline, the best first."""
    labels = {
        name: {shown: [own.label for own in of_shown(verdicts, shown)] for shown in (BETTER, WORSE)}
        for name, verdicts in groups.items()
    }
    counts = {name: (len(own[BETTER]), len(own[WORSE])) for name, own in labels.items()}
    best_first = sorted(groups, key=lambda name: best_first_key(groups[name]))
    differing = [name for name in best_first if any(counts[name])]
    for name in differing[:_MOST_CANDIDATES]:
        parts = [f"{shown} on {names_with_rest(own)}" for shown, own in labels[name].items() if own]
        yield f"{names.of(name)}: {', '.join(parts)}."
    if (more := len(differing) - _MOST_CANDIDATES) > 0:
        yield f"{more} more {'differs' if more == 1 else 'differ'}, see below."
    quiet = len(groups) - len(differing)
    if quiet and differing:
        yield f"No difference is shown for {counted(quiet, 'candidate')}."


def best_first_key(verdicts: Sequence[MetricVerdict]) -> tuple[int, int, int]:
    """Better on something only, then better and worse, then neither, then worse only."""
    better, worse = (len(of_shown(verdicts, shown)) for shown in (BETTER, WORSE))
    kind = int(worse > 0) if better else 2 + int(worse > 0)
    return kind, worse, -better


def _basis(
    comparison: Comparison, verdicts: Sequence[MetricVerdict], names: ShortNames
) -> Iterator[str]:
    candidates = list(by_candidate(verdicts))
    noun = "candidate" if len(candidates) == 1 else "candidates"
    shown = names_with_rest([names.of(name) for name in candidates])
    yield f"baseline {names.of(verdicts[0].baseline)}, {noun} {shown}"
    common = [pairing.n_common for pairing in comparison.pairings]
    yield counted(
        max(common or [own.n + own.n_dropped for own in verdicts]), "paired query", "paired queries"
    )
    yield counted(len({verdict.metric for verdict in verdicts}), "metric")
    if alone := max((pairing.n_alone for pairing in comparison.pairings), default=0):
        yield f"{alone} in one run only"
    if dropped := max(verdict.n_dropped for verdict in verdicts):
        yield f"up to {dropped} unscored on a metric"


def _exceptions(
    result: Result, alpha: float, names: ShortNames, labels: Mapping[str, str]
) -> Iterator[tuple[tuple[bool, float, float], str]]:
    """The groups that are shown to differ in the opposite direction, with what orders them."""
    by, frame = str(result.settings["by"]), result.frame
    total = int(frame.groupby("metric")["n"].sum().max())
    is_reversed = frame["reversal_pvalue_adjusted"] <= alpha
    for _, rows in frame[frame[by].isin(frame.loc[is_reversed, by])].groupby(
        ["candidate", by], sort=False
    ):
        opposed = rows[rows["reversal_pvalue_adjusted"] <= alpha]
        if not len(opposed):
            continue
        first = opposed.sort_values(["reversal_pvalue_adjusted", "pvalue"], kind="stable").iloc[0]
        order = (
            bool(first["improvement"] > 0),  # worse ones first
            float(first["reversal_pvalue_adjusted"]),
            -abs(float(first["effect_size"])),
        )
        metric = labels.get(str(first["metric"]), str(first["metric"]))
        yield order, _exception_text(rows, first, f"{by} {first[by]}", total, alpha, names, metric)


def _exception_text(
    rows: pd.DataFrame,
    first: pd.Series,
    group: str,
    total: int,
    alpha: float,
    names: ShortNames,
    metric: str,
) -> str:
    """One sentence: the group, on how many metrics the opposite is shown, and an example."""
    is_better = bool(first["improvement"] > 0)
    shown = rows["pvalue_adjusted"] <= alpha
    n_same = int((shown & ((rows["improvement"] > 0) == is_better)).sum())
    before, after = float(first["baseline_mean"]), float(first["candidate_mean"])
    return (
        f"On {group} ({with_commas(int(rows['n'].max()))} of {with_commas(total)}) "
        f"{names.of(first['candidate'])} is {BETTER if is_better else WORSE} on {n_same} of "
        f"{counted(rows['metric'].nunique(), 'metric')}: {metric} "
        f"{'rises' if after > before else 'falls'} from {number(before)} to {number(after)}."
    )


FAMILIES = (
    "p-values are corrected within each table, not across tables: looking through the slices is a "
    "search, so confirm on new queries what it shows"
)


def report_comparison(
    comparison: Comparison,
    *,
    title: str | None = None,
    pictures: bool = True,
    percentiles: Sequence[float] = QUARTILES,
    interval: str = "auto",
    confidence_level: float | None = None,
    n_resamples: int = 9999,
    seed: int = 0,
    **options: Unpack[ContentKeywords],
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

    Examples
    --------
    >>> from rageval_report import compare
    >>> from rageval_report.demo import demo_evaluations
    >>> comparison = compare(*demo_evaluations(), metrics=["recall@5", "latency_ms"])
    >>> report_comparison(comparison, pictures=False).headline.text
    'hybrid is better than bm25 on 1 of 2 metrics and worse on Latency (ms).'
    """
    runs, metrics = _runs(comparison), metrics_of_comparison(comparison)
    level = float(str(comparison.settings["confidence_level"]))
    wording = Wording.of(runs, [by_run[0] for by_run in metrics])
    content = PageContent.of(runs, _names_in(metrics, 0), level, wording, options)
    notions, correction = content.notions, str(comparison.settings["correction"])
    correction = "holm" if correction == "westfall-young" else correction  # see `Comparison.slices`
    slices = tuple(comparison.slices(name, correction=correction) for name in content.columns)
    outcomes = [] if notions is None or is_scan(runs[0]) else _outcomes(runs, notions)
    counts = _outcome_counts(runs, notions, options.get("correct"), outcomes)
    named, cluster_notes = named_clusters(comparison)
    settings: MeansSettings = {
        "interval": interval,
        "confidence_level": level if confidence_level is None else confidence_level,
        "n_resamples": n_resamples,
        "seed": seed,
        "clusters": named,
    }
    means = (
        evaluation_report(
            run, notion, metrics=_names_in(metrics, place), percentiles=percentiles, **settings
        )
        for place, (run, notion) in enumerate(zip(runs, content.by_run, strict=True))
    )
    sections = (
        strip_section(comparison, wording),
        _changed_section(comparison, notions, outcomes, counts, wording, level),
        content.causes_section,
        slices_section(comparison, slices, wording, pictures),
        Section("pipelines", "Each pipeline", tuple(means)),
        origin_section(runs),
    )
    headline = comparison_headline(comparison, slices, labels=wording.labels)
    return Report(
        title=title or comparison.title,
        subtitle=_subtitle(runs, metrics),
        verdicts=(*content.verdicts, *verdicts_of_comparison(comparison, slices)),
        sections=without_empty(sections),
        queries=content.queries(metrics),
        notes=(
            *content.notes(*comparison.notes),
            *((FAMILIES,) if slices else ()),
            *cluster_notes,
        ),
        longest_text=content.longest_text,
        headline=_led_by_ranking(headline, runs, comparison, wording),
        wording=wording,
        some_queries=content.some_queries,
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
    words = ", ".join(dict.fromkeys(notion.words for notion in notions or ()))
    tables = _outcome_tables(runs, notions, counts, level, words) if notions and counts else ()
    views: tuple[Changed, ...] = ()
    if len(comparison.pairings) == 1 and not is_scan(runs[0]):
        plain = [
            plain_outcomes(outcome, outcome_names(runs[0], run))
            for run, outcome in zip(runs[1:], outcomes, strict=False)
        ]
        of_words = wording.with_titles(words), wording.names
        changed = Changed.of(comparison.pairings[0], plain[0] if plain else None, *of_words)
        views = (changed,) if changed else ()
    numbers = "The numbers: which answers are right"
    return Section("outcomes", "What changed", tables, views=views, numbers=numbers)


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


def _outcomes(runs: Sequence[Scored], notions: Sequence[CorrectNotion]) -> list[pd.Series]:
    """For each candidate the outcome of every query beside the baseline."""
    candidates = zip(runs[1:], notions[1:], strict=True)
    return [outcomes_of(runs[0], run, notions[0], notion) for run, notion in candidates]


def _outcome_tables(
    runs: Sequence[Scored],
    notions: Sequence[CorrectNotion],
    counts: Sequence[Mapping[str, int]],
    level: float,
    words: str,
) -> tuple[Result, ...]:
    """How many answers of the baseline and of each candidate are right."""
    return tuple(
        outcome_result(
            f"The answers of {runs[0].name} and {run.name}",
            own,
            outcome_names(runs[0], run),
            {"confidence_level": level, "correct": words},
            (describe_notions((runs[0], run), (notions[0], notion)),),
        )
        for run, notion, own in zip(runs[1:], notions[1:], counts, strict=True)
    )
