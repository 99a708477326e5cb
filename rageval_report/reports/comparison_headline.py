"""The headline of a page of a comparison: the answer, its sizes, and where it does not hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pandas as pd

from rageval_report.analysis.compare import Comparison
from rageval_report.analysis.verdicts import (
    MetricVerdict,
    alpha_of_result,
    answer_of,
    by_candidate,
    comparison_verdicts,
    of_shown,
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
from rageval_report.results import Result
from rageval_report.scores.names import ShortNames, shorten_names
from rageval_report.scores.shown import (
    BETTER,
    EQUIVALENT,
    IDENTICAL,
    NOT_TESTED,
    UNDECIDED,
    WORSE,
)

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
    """The answer of a comparison in plain sentences, with short names of pipelines.

    Parameters
    ----------
    comparison : Comparison
        What `rageval_report.compare` gives, of one candidate or several.
    slices : iterable of Result
        What ``comparison.slices(...)`` gives. A group is an exception if it and all other queries
        are shown to differ in opposite directions.
    labels : mapping of str to str, optional
        What metrics are called, by their names; the names themselves if omitted.

    Examples
    --------
    >>> from rageval_report import compare
    >>> from rageval_report.demo import demo_evaluations
    >>> print(comparison_headline(compare(*demo_evaluations())).text)
    hybrid is better than bm25 on 3 of 8 metrics and worse on latency_ms.
    """
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
        max(common or [own.n + own.n_dropped for own in verdicts]),
        "paired query",
        "paired queries",
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
