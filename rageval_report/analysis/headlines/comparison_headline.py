"""The headline of a comparison: whether the candidate is better, on what, and where it is not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, cast

import pandas as pd

from rageval_report.analysis.headlines.headline import Headline
from rageval_report.analysis.headlines.metric_verdicts import (
    MetricVerdict,
    counted,
    names_with_rest,
    of_shown,
    queries_text,
    signed,
    size_text,
    verdicts_of,
    with_commas,
)
from rageval_report.analysis.sentence_parts import number, rounded_count
from rageval_report.names.short_names import ShortNames, shorten_names
from rageval_report.results import Result
from rageval_report.scores.shown import (
    BETTER,
    EQUIVALENT,
    IDENTICAL,
    NOT_TESTED,
    UNDECIDED,
    WORSE,
    Shown,
)
from rageval_report.stats.units import FEWEST_UNITS

# Below it a comparison finds large differences only, and the headline says so.
_FEW_QUERIES = 30
_MOST_EXCEPTIONS = 2
_MOST_CANDIDATES = 3


class _Paired(Protocol):
    """What is used of the pairs of two runs."""

    @property
    def n_common(self) -> int:
        """The number of queries that both runs have."""

    @property
    def n_alone(self) -> int:
        """The number of queries that one run has alone."""


def comparison_headline(
    comparison: Result,
    slices: Iterable[Result] = (),
    *,
    labels: Mapping[str, str] | None = None,
) -> Headline:
    """The answer of a comparison in plain sentences.

    Parameters
    ----------
    comparison : Comparison
        What `rageval_report.compare` gives, of one candidate or several.
    slices : iterable of Result
        What ``comparison.slices(...)`` gives. A group is an exception if it and all other queries
        are shown to differ in opposite directions.
    labels : mapping of str to str, optional
        What metrics are called, by their names; the names themselves if omitted.

    Returns
    -------
    Headline
        With short names of pipelines.

    Examples
    --------
    >>> from rageval_report import compare
    >>> from rageval_report.demo import demo_evaluations
    >>> print(comparison_headline(compare(*demo_evaluations())).text)
    hybrid is better than bm25 on 3 of 8 metrics and worse on latency_ms.
    """
    verdicts = comparison_verdicts(comparison, labels)
    names = _names_of(verdicts)
    text, details = _answer(verdicts, fewest_of(comparison))
    exceptions = _exceptions(comparison, tuple(slices), names, labels or {})
    return Headline(text, _basis(comparison, verdicts, names), details, exceptions)


def comparison_answer(comparison: Result) -> str:
    """The headline of a comparison alone; empty if its rows have different baselines.

    Parameters
    ----------
    comparison : Comparison
        As in `comparison_headline`.

    Examples
    --------
    >>> from rageval_report import compare
    >>> from rageval_report.demo import demo_evaluations
    >>> comparison_answer(compare(*demo_evaluations(), metrics=["recall@5", "faithfulness"]))
    'hybrid is better than bm25 on 1 of 2 metrics; nothing is shown to be worse.'
    """
    if len(set(comparison.frame["baseline"])) != 1:
        return ""
    return _answer(comparison_verdicts(comparison), fewest_of(comparison))[0]


def comparison_verdicts(
    comparison: Result, labels: Mapping[str, str] | None = None
) -> list[MetricVerdict]:
    """The verdict of each row of a comparison; `labels` as in `comparison_headline`."""
    margin = comparison.settings.get("margin")
    return verdicts_of(
        comparison.frame,
        alpha=alpha_of_result(comparison),
        margins=cast("Mapping[str, float] | float | None", margin),
        labels=labels,
    )


def alpha_of_result(result: Result) -> float:
    """The error rate that belongs to the confidence level of a result."""
    return 1.0 - float(str(result.settings["confidence_level"]))


def fewest_of(comparison: Result) -> int:
    """The fewest queries that a comparison tests."""
    return int(getattr(getattr(comparison, "plan", None), "fewest_units", FEWEST_UNITS))


def _names_of(verdicts: Sequence[MetricVerdict]) -> ShortNames:
    return shorten_names([verdicts[0].baseline, *(verdict.candidate for verdict in verdicts)])


def _answer(verdicts: Sequence[MetricVerdict], fewest: int) -> tuple[str, tuple[str, ...]]:
    """The headline, and the sentences below it."""
    by_candidate: dict[str, list[MetricVerdict]] = {}
    for verdict in verdicts:
        by_candidate.setdefault(verdict.candidate, []).append(verdict)
    names = _names_of(verdicts)
    if len(by_candidate) > 1:
        return _of_several(by_candidate, verdicts[0].baseline, names)
    return pair_text(verdicts, names, fewest), _pair_details(verdicts, fewest)


# -- one candidate


def pair_text(
    verdicts: Sequence[MetricVerdict], names: ShortNames, fewest: int = FEWEST_UNITS
) -> str:
    """The headline of two pipelines.

    Parameters
    ----------
    verdicts : sequence of MetricVerdict
        At least one; all of the same two pipelines.
    names : ShortNames
        The short names of the two.
    fewest : int
        The fewest queries that are tested.
    """
    candidate, baseline = names.of(verdicts[0].candidate), names.of(verdicts[0].baseline)
    n_of = {shown: len(of_shown(verdicts, shown)) for shown in (BETTER, WORSE, EQUIVALENT)}
    n_identical = len(of_shown(verdicts, IDENTICAL))
    m = counted(len(verdicts), "metric")
    if all(verdict.shown == NOT_TESTED for verdict in verdicts):
        n = max(verdict.n for verdict in verdicts)
        return (
            f"Too few queries to compare {candidate} and {baseline}: {n} in common, at least "
            f"{fewest} are needed."
        )
    if n_of[BETTER]:
        start = f"{candidate} is better than {baseline} on {n_of[BETTER]} of {m}"
        return start + _but_worse(of_shown(verdicts, WORSE))
    if n_of[WORSE]:
        return f"{candidate} is worse than {baseline} on {n_of[WORSE]} of {m} and better on none."
    if n_identical == len(verdicts):
        return f"{candidate} and {baseline} have the same scores on every query."
    if n_of[EQUIVALENT] + n_identical == len(verdicts):
        on = f"all {m}" if len(verdicts) > 1 else verdicts[0].label
        return f"{candidate} and {baseline} are equivalent on {on}, within your margins."
    start = f"No difference is shown between {candidate} and {baseline}"
    if n_of[EQUIVALENT]:
        are = "is" if n_of[EQUIVALENT] == 1 else "are"
        return f"{start}; {n_of[EQUIVALENT]} of {m} {are} equivalent."
    return f"{start} on any of {m}." if len(verdicts) > 1 else f"{start} on {verdicts[0].label}."


def _but_worse(worse: Sequence[MetricVerdict]) -> str:
    if not worse:
        return "; nothing is shown to be worse."
    return f" and worse on {worse[0].label if len(worse) == 1 else len(worse)}."


def _pair_details(verdicts: Sequence[MetricVerdict], fewest: int) -> tuple[str, ...]:
    """The sizes of what is shown, and what is equivalent, undecided, or too small to see."""
    if all(verdict.shown == NOT_TESTED for verdict in verdicts):
        return ()
    sizes = [_sizes(of_shown(verdicts, shown), shown) for shown in (BETTER, WORSE)]
    n_equivalent = len(of_shown(verdicts, EQUIVALENT))
    n_identical, n_untested = (len(of_shown(verdicts, shown)) for shown in (IDENTICAL, NOT_TESTED))
    parts = (
        *sizes,
        f"{counted(n_equivalent, 'metric is', 'metrics are')} equivalent within your margins."
        if n_equivalent
        else "",
        f"{counted(n_identical, 'metric is', 'metrics are')} equal on every query."
        if n_identical
        else "",
        undecided_text(of_shown(verdicts, UNDECIDED)),
        f"{counted(n_untested, 'metric has', 'metrics have')} fewer than {fewest} queries in "
        "common, too few for a test."
        if n_untested
        else "",
        _few_queries_text(verdicts),
    )
    return tuple(part for part in parts if part)


def _sizes(verdicts: Sequence[MetricVerdict], shown: Shown) -> str:
    """Such as "Better on recall@5 (+0.126)."; empty if there are none."""
    if not verdicts:
        return ""
    names = [f"{verdict.label} ({signed(verdict.difference)})" for verdict in verdicts]
    return f"{shown.capitalize()} on {names_with_rest(names)}."


def undecided_text(verdicts: Sequence[MetricVerdict]) -> str:
    """How many metrics are undecided, and the queries that would show a useful difference.

    The number is planned for a useful difference, not for the one that was seen, from which it
    would be mostly noise.
    """
    if not verdicts:
        return ""
    are = counted(len(verdicts), "metric is", "metrics are")
    missing = [(verdict.missing_queries, verdict.n) for verdict in verdicts]
    known = [(size, n, present) for pair, present in missing if pair for size, n in [pair]]
    if not known:
        return f"{are} undecided."
    sizes = {size_text(size) for size, *_ in known}
    difference = f"a difference of {sizes.pop()}" if len(sizes) == 1 else "a useful difference"
    needed = _range_text([(n, present) for _, n, present in known])
    return f"{are} undecided: {needed} would show {difference}."


def _range_text(needed: Sequence[tuple[float, int]]) -> str:
    """The fewest and the most queries that undecided metrics need."""
    ordered = sorted(needed, key=lambda pair: (math.isnan(pair[0]), pair[0]))
    low, high = (queries_text(*pair) for pair in (ordered[0], ordered[-1]))
    if low == high or low.startswith("over"):
        return low
    if high.startswith("over"):
        return f"{low.removesuffix(' queries')} to {high}"
    most = with_commas(int(rounded_count(math.ceil(ordered[-1][0]))))
    return f"{low.removesuffix(' queries')} to {most} queries"


def _few_queries_text(verdicts: Sequence[MetricVerdict]) -> str:
    """That only large differences show, if the queries are few."""
    n = max(verdict.n for verdict in verdicts)
    if n >= _FEW_QUERIES:
        return ""
    start = f"Only {counted(n, 'query', 'queries')}"
    detectable = [
        verdict.detectable
        for verdict in verdicts
        if verdict.is_share and verdict.shown != NOT_TESTED and verdict.detectable < 1.0
    ]
    if not detectable:
        return f"{start}: only large differences show."
    return f"{start}: differences below about {size_text(min(detectable))} do not show."


# -- several candidates


def _of_several(
    by_candidate: Mapping[str, Sequence[MetricVerdict]], baseline: str, names: ShortNames
) -> tuple[str, tuple[str, ...]]:
    """The headline of several candidates beside one baseline."""
    n_shown = {
        name: (len(of_shown(own, BETTER)), len(of_shown(own, WORSE)))
        for name, own in by_candidate.items()
    }
    gains = [name for name, (better, worse) in n_shown.items() if better and not worse]
    mixed = [name for name, (better, worse) in n_shown.items() if better and worse]
    losses = [name for name, (better, worse) in n_shown.items() if worse and not better]
    text = _several_text(len(by_candidate), names.of(baseline), (gains, mixed, losses), names)
    order = sorted((*gains, *mixed, *losses), key=lambda name: n_shown[name][::-1], reverse=True)
    lines = [_candidate_text(names.of(name), by_candidate[name]) for name in order]
    if len(lines) > _MOST_CANDIDATES:
        lines = [
            *lines[:_MOST_CANDIDATES],
            _more_differ(len(lines) - _MOST_CANDIDATES),
        ]
    quiet = len(by_candidate) - len(order)
    if quiet and order:
        lines.append(f"No difference is shown for {counted(quiet, 'candidate')}.")
    return text, tuple(lines)


def _more_differ(n: int) -> str:
    return f"{n} more {'differs' if n == 1 else 'differ'}, see below."


def _several_text(
    k: int, baseline: str, groups: tuple[list[str], list[str], list[str]], names: ShortNames
) -> str:
    gains, mixed, losses = groups
    if not (gains or mixed or losses):
        return f"No difference is shown between {baseline} and any of its {k} candidates."
    if len(gains) == 1 and not mixed:
        rest = f"; {len(losses)} of {k} candidates are worse" if len(losses) > 1 else ""
        rest = f"; {names.of(losses[0])} is worse" if len(losses) == 1 else rest
        return f"{names.of(gains[0])} is better than {baseline} and worse on nothing{rest}."
    parts = [
        f"{_are(len(gains), k)} better than {baseline} and worse on nothing" if gains else "",
        f"{_are(len(mixed), k)} better than {baseline} on some metrics and worse on others"
        if mixed and not gains
        else f"{len(mixed)} {'is' if len(mixed) == 1 else 'are'} better on some metrics and worse "
        "on others"
        if mixed
        else "",
        f"{_are(len(losses), k)} worse than {baseline} and better on nothing"
        if losses and not (gains or mixed)
        else f"{len(losses)} {'is' if len(losses) == 1 else 'are'} worse"
        if losses
        else "",
    ]
    return f"{'; '.join(part for part in parts if part)}."


def _are(n: int, k: int) -> str:
    return f"{n} of {k} candidates {'is' if n == 1 else 'are'}"


def _candidate_text(name: str, verdicts: Sequence[MetricVerdict]) -> str:
    counts = [
        f"{shown} on {names_with_rest([verdict.label for verdict in of_shown(verdicts, shown)])}"
        for shown in (BETTER, WORSE)
        if of_shown(verdicts, shown)
    ]
    return f"{name}: {', '.join(counts)}."


# -- what it holds on


def _basis(comparison: Result, verdicts: Sequence[MetricVerdict], names: ShortNames) -> str:
    candidates = list(dict.fromkeys(verdict.candidate for verdict in verdicts))
    noun = "candidate" if len(candidates) == 1 else "candidates"
    shown = names_with_rest([names.of(name) for name in candidates])
    n_metrics = len({verdict.metric for verdict in verdicts})
    parts = [
        f"baseline {names.of(verdicts[0].baseline)}, {noun} {shown}",
        counted(n_paired(comparison, verdicts), "paired query", "paired queries"),
        counted(n_metrics, "metric"),
        *_left_out(comparison, verdicts),
    ]
    return " · ".join(parts)


def n_paired(comparison: Result, verdicts: Sequence[MetricVerdict]) -> int:
    """The number of queries that both pipelines have; of several candidates the largest."""
    pairings: Sequence[_Paired] = getattr(comparison, "pairings", ())
    sizes = [pairing.n_common for pairing in pairings]
    return max(sizes or [verdict.n + verdict.n_dropped for verdict in verdicts])


def _left_out(comparison: Result, verdicts: Sequence[MetricVerdict]) -> Iterable[str]:
    """The queries in one run only, and those that have no score."""
    pairings: Sequence[_Paired] = getattr(comparison, "pairings", ())
    alone = [pairing.n_alone for pairing in pairings]
    if any(alone):
        yield f"{max(alone)} in one run only"
    dropped = max(verdict.n_dropped for verdict in verdicts)
    if dropped:
        yield f"up to {dropped} unscored on a metric"


# -- where it does not hold


def _exceptions(
    comparison: Result,
    slices: Sequence[Result],
    names: ShortNames,
    labels: Mapping[str, str],
) -> tuple[str, ...]:
    """The groups that are shown to differ in the opposite direction, the gravest first."""
    exceptions = [
        exception
        for result in slices
        for exception in _exceptions_in(result, alpha_of_result(comparison), names, labels)
    ]
    exceptions.sort(key=lambda exception: exception[0])
    lines = [text for _, text in exceptions[:_MOST_EXCEPTIONS]]
    if len(exceptions) > _MOST_EXCEPTIONS:
        more = counted(len(exceptions) - _MOST_EXCEPTIONS, "more group", "more groups")
        lines.append(f"The same holds for {more}, see below.")
    return tuple(lines)


def _exceptions_in(
    result: Result, alpha: float, names: ShortNames, labels: Mapping[str, str]
) -> Iterable[tuple[tuple[bool, float, float], str]]:
    """The groups of one column, with what orders them: worse ones first, then by p-value."""
    by = str(result.settings["by"])
    frame = result.frame
    total = int(frame.groupby("metric")["n"].sum().max())
    is_reversed = frame["reversal_pvalue_adjusted"] <= alpha
    for _, rows in frame[frame[by].isin(frame.loc[is_reversed, by])].groupby(
        ["candidate", by], sort=False
    ):
        opposed = rows[rows["reversal_pvalue_adjusted"] <= alpha]
        if not len(opposed):
            continue
        first = opposed.sort_values(["reversal_pvalue_adjusted", "pvalue"], kind="stable").iloc[0]
        text = _exception_text(rows, first, (by, total), (alpha, names, labels))
        order = (
            bool(first["improvement"] > 0),
            float(first["reversal_pvalue_adjusted"]),
            -abs(float(first["effect_size"])),
        )
        yield order, text


def _exception_text(
    rows: pd.DataFrame,
    first: pd.Series,
    table: tuple[str, int],
    words: tuple[float, ShortNames, Mapping[str, str]],
) -> str:
    """One sentence: the group, on how many metrics the opposite is shown, and an example."""
    (by, total), (alpha, names, labels) = table, words
    is_better = bool(first["improvement"] > 0)
    shown = rows["pvalue_adjusted"] <= alpha
    n_same = int((shown & ((rows["improvement"] > 0) == is_better)).sum())
    before, after = float(first["baseline_mean"]), float(first["candidate_mean"])
    metric = labels.get(str(first["metric"]), str(first["metric"]))
    return (
        f"On {by} {first[by]} ({with_commas(int(rows['n'].max()))} of {with_commas(total)}) "
        f"{names.of(first['candidate'])} is {BETTER if is_better else WORSE} on {n_same} of "
        f"{counted(rows['metric'].nunique(), 'metric')}: {metric} "
        f"{'rises' if after > before else 'falls'} from {number(before)} to {number(after)}."
    )
