"""The page of candidates beside a baseline: its headline and its sections."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Unpack

import pandas as pd

from rageval_report.analysis.arguments import is_scan
from rageval_report.analysis.breakdown import outcome_table
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
from rageval_report.reports.pictures import Picture
from rageval_report.reports.ranking_sentences import ranking_headline
from rageval_report.reports.report import (
    ContentKeywords,
    PageContent,
    Report,
    Section,
    origin_section,
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
from rageval_report.reports.views import (
    BECAME_RIGHT,
    BECAME_WRONG,
    BOTH_RIGHT,
    BOTH_WRONG,
    KNOWN_OUTCOMES,
    View,
    changed,
    slice_matrix,
    strip,
)
from rageval_report.reports.wording import Wording
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored
from rageval_report.scores.correct import describe_notions
from rageval_report.scores.names import ShortNames, shorten_names
from rageval_report.scores.shown import BETTER, EQUIVALENT, IDENTICAL, NOT_TESTED, UNDECIDED, WORSE
from rageval_report.stats.means import QUARTILES, interval_of_count

# Below it a comparison finds large differences only, and the headline says so.
_FEW_QUERIES = 30
_MOST_EXCEPTIONS, _MOST_CANDIDATES = 2, 3


# -- the headline


def comparison_headline(
    comparison: Comparison,
    slices: Iterable[Result] = (),
    *,
    labels: Mapping[str, str] | None = None,
) -> Headline:
    """The answer of a comparison in plain sentences, with short names of pipelines."""
    verdicts = comparison_verdicts(comparison, labels)
    groups, fewest = by_candidate(verdicts), comparison.plan.fewest_units
    names, alpha = shorten_names([verdicts[0].baseline, *groups]), alpha_of_result(comparison)
    if len(groups) == 1:
        details = tuple(filter(None, _pair_details(verdicts, fewest)))
    else:
        details = tuple(_details_of_several(groups, names))
    pairs = (own for by in slices for own in _exceptions(by, alpha, names, labels or {}))
    exceptions = [text for _, text in sorted(pairs, key=lambda pair: pair[0])]
    lines = exceptions[:_MOST_EXCEPTIONS]
    if more := len(exceptions) - len(lines):
        lines.append(f"The same holds for {counted(more, 'more group')}, see below.")
    basis = " · ".join(_basis(comparison, verdicts, names))
    return Headline(answer_of(verdicts, fewest), basis, details, tuple(lines))


def _pair_details(verdicts: Sequence[MetricVerdict], fewest: int) -> Iterator[str]:
    """The sizes of what is shown, and what is equivalent, undecided, or too small to see."""
    tested = [verdict for verdict in verdicts if verdict.shown != NOT_TESTED]
    if not tested:
        return
    for shown in (BETTER, WORSE):
        names = [f"{own.label} ({signed(own.difference)})" for own in of_shown(verdicts, shown)]
        if names:
            yield f"{shown.capitalize()} on {names_with_rest(names)}."
    if n := len(of_shown(verdicts, EQUIVALENT)):
        yield f"{counted(n, 'metric is', 'metrics are')} equivalent within your margins."
    if n := len(of_shown(verdicts, IDENTICAL)):
        yield f"{counted(n, 'metric is', 'metrics are')} equal on every query."
    yield undecided_text(of_shown(verdicts, UNDECIDED))
    if n := len(verdicts) - len(tested):
        has = counted(n, "metric has", "metrics have")
        yield f"{has} fewer than {fewest} queries in common, too few for a test."
    most = max(verdict.n for verdict in verdicts)
    if most < _FEW_QUERIES:
        sizes = [own.detectable for own in tested if own.is_share and own.detectable < 1.0]
        below = f"differences below about {size_text(min(sizes))} do not show" if sizes else ""
        what = below or "only large differences show"
        yield f"Only {counted(most, 'query', 'queries')}: {what}."


def _details_of_several(
    groups: Mapping[str, Sequence[MetricVerdict]], names: ShortNames
) -> Iterator[str]:
    """A line for each of the first candidates that differ from the baseline, the best first."""
    labels = {
        name: {shown: [own.label for own in of_shown(verdicts, shown)] for shown in (BETTER, WORSE)}
        for name, verdicts in groups.items()
    }
    best_first = sorted(groups, key=lambda name: best_first_key(groups[name]))
    differing = [name for name in best_first if any(labels[name].values())]
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
    candidates = [names.of(name) for name in by_candidate(verdicts)]
    noun = "candidate" if len(candidates) == 1 else "candidates"
    yield f"baseline {names.of(verdicts[0].baseline)}, {noun} {names_with_rest(candidates)}"
    common = [pairing.n_common for pairing in comparison.pairings]
    common = common or [own.n + own.n_dropped for own in verdicts]
    yield counted(max(common), "paired query", "paired queries")
    yield counted(len({verdict.metric for verdict in verdicts}), "metric")
    if alone := max((pairing.n_alone for pairing in comparison.pairings), default=0):
        yield f"{counted(alone, 'query', 'queries')} in only one run"
    if dropped := max(verdict.n_dropped for verdict in verdicts):
        yield f"up to {counted(dropped, 'score')} missing per metric"


def _exceptions(
    result: Result, alpha: float, names: ShortNames, labels: Mapping[str, str]
) -> Iterator[tuple[tuple[bool, float, float], str]]:
    """The groups that are shown to differ in the opposite direction, with what orders them."""
    by, frame = str(result.settings["by"]), result.frame
    total = with_commas(int(frame.groupby("metric")["n"].sum().max()))
    is_opposed = frame["difference"] * frame["overall_difference"] < 0
    opposed = frame[is_opposed & (frame["pvalue_adjusted"] <= alpha)]
    for (candidate, group), own in opposed.groupby(["candidate", by], sort=False):
        rows = frame[(frame["candidate"] == candidate) & (frame[by] == group)]
        first = own.sort_values(["pvalue_adjusted", "pvalue"], kind="stable").iloc[0]
        is_better = bool(first["improvement"] > 0)
        # Worse ones first.
        order = is_better, float(first["pvalue_adjusted"]), -abs(first["effect_size"])
        shown = (rows["pvalue_adjusted"] <= alpha) & ((rows["improvement"] > 0) == is_better)
        before, after = float(first["baseline_mean"]), float(first["candidate_mean"])
        yield (
            order,
            f"On {by} {first[by]} ({with_commas(int(rows['n'].max()))} of {total}) "
            f"{names.of(first['candidate'])} is {BETTER if is_better else WORSE} on "
            f"{int(shown.sum())} of {counted(rows['metric'].nunique(), 'metric')}: "
            f"{labels.get(str(first['metric']), first['metric'])} "
            f"{'rises' if after > before else 'falls'} from {number(before)} to {number(after)}.",
        )


# -- the report

FAMILIES = (
    "p-values are corrected within each table, not across tables: many groups were checked, so "
    "confirm findings on new queries"
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
    runs, metrics = _runs(comparison), _metrics_of(comparison)
    level = float(str(comparison.settings["confidence_level"]))
    wording = Wording.of(runs, [by_run[0] for by_run in metrics])
    content = PageContent.of(runs, [own[0].name for own in metrics], level, wording, options)
    correction = str(comparison.settings["correction"])
    correction = "holm" if correction == "westfall-young" else correction  # see `Comparison.slices`
    slices = tuple(comparison.slices(name, correction=correction) for name in content.columns)
    named, cluster_notes = _named_clusters(comparison, runs)
    means = (
        evaluation_report(
            run,
            notion,
            metrics=[known[place].name for known in metrics if place in known],
            clusters=named,
            percentiles=percentiles,
            interval=interval,
            confidence_level=level if confidence_level is None else confidence_level,
            n_resamples=n_resamples,
            seed=seed,
        )
        for place, (run, notion) in enumerate(zip(runs, content.by_run, strict=True))
    )
    sections = (
        _strip_section(comparison, wording),
        _changed_section(comparison, content, level),
        content.causes_section,
        _slices_section(comparison, slices, wording, pictures=pictures),
        Section("pipelines", "Each pipeline", tuple(means)),
        origin_section(runs),
    )
    queries = content.queries(metrics)
    are_scans = is_scan(runs[0])
    n = max(table_of(run).n_queries for run in runs) if are_scans else len(queries.ids)
    noun = "candidate" if len(runs) == 2 else "candidates"
    candidates = ", ".join(run.name for run in runs[1:])
    headline = comparison_headline(comparison, slices, labels=wording.labels)
    return Report(
        title=title or comparison.title,
        subtitle=f"baseline {runs[0].name}, {noun} {candidates}; {n:,} queries, "
        f"{len(metrics)} metrics",
        verdicts=(*content.verdicts, *verdicts_of_comparison(comparison, slices)),
        sections=without_empty(sections),
        queries=queries,
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


def _runs(comparison: Comparison) -> tuple[Scored, ...]:
    if not comparison.pairings:
        raise DataError("a report needs the pipelines; make the comparison with compare(...)")
    candidates = (pairing.candidate for pairing in comparison.pairings)
    return (comparison.pairings[0].baseline, *candidates)


def _metrics_of(comparison: Comparison) -> tuple[dict[int, Metric], ...]:
    """Each metric that was compared, as each of the runs knows it."""
    metrics: dict[str, dict[int, Metric]] = {}
    for place, pairing in enumerate(comparison.pairings, start=1):
        for ours, theirs in pairing.metrics:
            metrics.setdefault(ours.name, {0: ours})[place] = theirs
    return tuple(metrics.values())


def _named_clusters(
    comparison: Comparison, runs: Sequence[Scored]
) -> tuple[str | None, tuple[str, ...]]:
    """The column of clusters of the comparison; a note if it had labels by query instead."""
    named = comparison.settings.get("clusters")
    if named is None or all(str(named) in table_of(run).sample.details for run in runs):
        return None if named is None else str(named), ()
    return None, ("the intervals of each pipeline's own means assume independent queries",)


def _led_by_ranking(
    headline: Headline, runs: Sequence[Scored], comparison: Comparison, wording: Wording
) -> Headline:
    """The headline of three or more pipelines: their ranking's, then that beside the baseline."""
    plan, clusters = comparison.plan, None
    if len(runs) < 3 or (is_scan(runs[0]) and plan.units.are_clusters):
        return headline
    if plan.units.are_clusters:
        clusters = pd.Series(plan.units.codes, runs[0].scores.index)
    try:
        ranking = rank(
            *runs,
            metrics=list(dict.fromkeys(comparison.frame["metric"])),
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


# -- the sections


def _strip_section(comparison: Comparison, wording: Wording) -> Section:
    """Every metric: one strip per candidate, and the numbers behind it."""
    groups = by_candidate(comparison_verdicts(comparison, wording.labels)).values()
    metrics = {ours.name: ours for pairing in comparison.pairings for ours, _ in pairing.metrics}
    words = comparison.settings["confidence_level"], str(comparison.settings["correction"])
    fewest = comparison.plan.fewest_units
    strips = [
        strip(
            *(own, metrics, wording.names, words),
            pair_text(own, wording.names, fewest) if len(groups) > 1 else "",
        )
        for own in sorted(groups, key=best_first_key)
    ]
    numbers = "The numbers behind the verdicts: n, p, correction, and each in a sentence"
    key, heading = "comparison", "Every metric"
    return Section(key, heading, (comparison,), views=tuple(strips), numbers=numbers)


def _changed_section(comparison: Comparison, content: PageContent, level: float) -> Section:
    """The answers that became right and wrong; for one candidate with the queries."""
    runs, wording = content.runs, content.wording
    notions = () if content.notions is None or is_scan(runs[0]) else content.notions
    outcomes: list[pd.Series] = []
    counts: list[Mapping[str, int]] = []
    for run, notion in zip(runs[1:], notions[1:], strict=False):
        columns = _outcome_columns(runs[0], run)
        table = outcome_table(runs[0], run, notions[0], other_correct=notion)
        known = [pd.Series(columns[x], table[x].dropna()) for x in columns if x in table]
        outcomes.append(pd.concat(known))
        counts.append(Counter[str](outcomes[-1].tolist()))
    words = ", ".join(dict.fromkeys(notion.words for notion in notions))
    tables = [
        _outcome_result(
            (runs[0].name, run.name),
            own,
            {"confidence_level": level, "correct": words},
            describe_notions((runs[0], run), (notions[0], notion)),
        )
        for run, notion, own in zip(runs[1:], notions[1:], counts, strict=False)
    ]
    view = None
    if len(comparison.pairings) == 1 and not is_scan(runs[0]):
        outcome = outcomes[0] if outcomes else None
        view = changed(comparison.pairings[0], outcome, wording.with_titles(words), wording.names)
    numbers = "The numbers: which answers are right"
    views = (view,) if view else ()
    return Section("outcomes", "What changed", tuple(tables), views=views, numbers=numbers)


def _outcome_columns(baseline: Scored, candidate: Scored) -> dict[str, str]:
    """The columns of `outcome_table`, each with what it means."""
    a, b = baseline.name, candidate.name
    return {
        "both_correct": BOTH_RIGHT,
        f"only_{a}_correct": BECAME_WRONG,
        f"only_{b}_correct": BECAME_RIGHT,
        "both_incorrect": BOTH_WRONG,
        "unscored": "unknown",
        f"only_in_{a}": "only in the baseline",
        f"only_in_{b}": "only in the candidate",
    }


def _outcome_result(
    names: tuple[str, str], counts: Mapping[str, int], settings: Mapping[str, object], rule: str
) -> Result:
    """How many queries have each known outcome; the notes say the rule and count the others."""
    a, b = names
    level = float(str(settings["confidence_level"]))
    n_known = sum(counts.get(outcome, 0) for outcome in KNOWN_OUTCOMES)
    rows = []
    for name, outcome in (
        ("both right", BOTH_RIGHT),
        (f"only {a} right", BECAME_WRONG),
        (f"only {b} right", BECAME_RIGHT),
        ("both wrong", BOTH_WRONG),
    ):
        n = counts.get(outcome, 0)
        limits = (math.nan,) * 3
        if n_known:
            own = interval_of_count(n, n_known, level)
            limits = own.estimate, own.low, own.high
        rows.append((name, n, *limits))
    others = [
        (name, counts.get(outcome, 0))
        for name, outcome in (
            ("unknown", "unknown"),
            (f"only in {a}", "only in the baseline"),
            (f"only in {b}", "only in the candidate"),
        )
    ]
    others.sort(key=lambda pair: -pair[1])
    return Result(
        f"The answers of {a} and {b}",
        pd.DataFrame(rows, columns=["outcome", "n", "share", "ci_low", "ci_high"]),
        settings,
        (rule, *(f"{n:,} queries are {name}" for name, n in others if n)),
    )


def _slices_section(
    comparison: Comparison, slices: Sequence[Result], wording: Wording, *, pictures: bool
) -> Section:
    """The differences in each group; for one candidate as a matrix, which shows them all."""
    drawn: tuple[Picture | None, ...] = ()
    views: list[View] = []
    if len(comparison.pairings) == 1:
        overall = comparison_verdicts(comparison, wording.labels)
        views = [slice_matrix(own, overall, wording.names, wording.labels) for own in slices]
    elif pictures:
        drawn = tuple(map(slice_picture, slices))
    return Section(
        *("slices", "Does it hold everywhere?", tuple(slices), drawn),
        folded=True,
        views=tuple(views),
        numbers="The numbers",
    )
