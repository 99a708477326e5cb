"""Where the noise of a mean comes from: queries, runs of the pipeline, or judges.

A mean over queries has an interval of its own, but another run or another judge would move it too.
`variance` splits the noise, gives the standard error that counts all of it, and says what makes the
interval half as wide for the least money: more queries, more runs or more judges.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Unpack

import numpy as np
import pandas as pd

from rageval_report.analysis.agreement.judges import votes_of
from rageval_report.analysis.repeating.designs import (
    Design,
    Prices,
    cheapest_design,
    one_factor_designs,
)
from rageval_report.analysis.repeating.shared_runs import (
    common_queries,
    common_queries_note,
    shared_metrics,
)
from rageval_report.errors import DataError, check_choice, explain_keywords
from rageval_report.plots import plot
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import MetricNames, NoisePlot, PlotOptions
from rageval_report.reports.sentences import number, rounded_count
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored
from rageval_report.scores.states import VOTES
from rageval_report.stats.base import check_level
from rageval_report.stats.components import FACTORS, CrossedComponents, crossed_components

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEADLINE = (
    *("metric", "n", "n_runs", "n_judges", "mean", "standard_error", "ci_low", "ci_high"),
    *("largest_source", "largest_share"),
)
_PLURALS = {"query": "queries", "run": "runs", "judge": "judges"}
_SOURCE_NAMES = {"query": "queries", "run": "runs", "judge": "judges", "residual": "the rest"}
# An interval that is half as wide is what a reader can see in a report.
_HALF = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class Variance(Result):
    """The noise of each metric's mean by source: one row per metric.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    components : mapping of str to CrossedComponents
        For each metric with scores enough.
    fixed : tuple of str
        The factors whose levels stay as they are.
    prices : Prices
        What an answer and a judgement cost.
    """

    components: Mapping[str, CrossedComponents] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()
    prices: Prices = field(default_factory=Prices)

    def sources(self) -> Result:
        """The variance that each source adds, to a score and to the mean.

        Returns
        -------
        Result
            One row per metric and source: ``metric``, ``source`` (``query``, ``run``, ``judge``,
            combinations such as ``query x judge``, and ``residual``), ``sd`` of a single score that
            it explains, ``share`` of the variance of a single score, ``share_of_mean`` of the
            variance of the mean, ``df`` (degrees of freedom), ``is_counted`` (False if it belongs
            to a fixed factor alone).
        """
        rows = [
            row
            for metric, components in self.components.items()
            for row in _source_rows(metric, components, self.fixed)
        ]
        notes = (
            "a share of 0 with few degrees of freedom means little: two runs or two judges can be "
            "near each other by chance",
        )
        return Result(
            f"Sources of noise: {self.title}", pd.DataFrame(rows), self.settings, notes,
            grouped_by="metric",
        )  # fmt: skip

    def planning(self, width: float = _HALF) -> Result:
        """What makes the interval narrower, and what it costs.

        Parameters
        ----------
        width : float
            The aim: the standard error as a share of the present one, between 0 and 1.

        Returns
        -------
        Result
            One row per metric and way: ``metric``, ``change`` (``queries``, ``runs`` or ``judges``
            alone, or ``cheapest`` for any combination), ``n_queries``, ``n_runs``, ``n_judges``
            (NaN if that change alone cannot reach the aim), ``standard_error``, ``cost`` and
            ``cost_ratio`` to the present design.

        Raises
        ------
        DataError
            If the width is not between 0 and 1.
        """
        if not 0.0 < width < 1.0:
            raise DataError(f"width must be between 0 and 1, such as 0.5; got {width}")
        rows = [
            {"metric": metric, **design.row()}
            for metric, components in self.components.items()
            for design in _designs(components, self.fixed, self.prices, width)
        ]
        notes = (
            f"cost: {self.prices.answer:g} per answer and {self.prices.judgement:g} per judgement",
            "the sources are estimates, so the numbers are too; they are least certain for runs "
            "and judges, of which there are few",
        )
        return Result(
            f"Ways to {width:g} times the standard error: {self.title}",
            pd.DataFrame(rows),
            {**self.settings, "width": width},
            notes,
            grouped_by="metric",
        )

    def plot(
        self,
        kind: NoisePlot | Plot = "noise",
        *args: MetricNames,
        ax: Axes | None = None,
        **options: Unpack[PlotOptions],
    ) -> Axes:
        """Draw the sources of noise; see `rageval_report.plots`.

        Parameters
        ----------
        kind : str or Plot
            "noise", or an entry of ``rageval_report.plots.PLOTS``.
        *args : str or iterable of str
            The metrics, by name.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if omitted.
        **options
            The options of the plot.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return plot(self, kind, *args, ax=ax, **options)


@explain_keywords
def variance(
    *evaluations: Scored,
    metrics: str | Iterable[str] | None = None,
    runs: Sequence[object] | None = None,
    judges: Sequence[object] | None = None,
    fixed: str | Iterable[str] = (),
    answer_cost: float = 1.0,
    judgement_cost: float = 1.0,
    confidence_level: float = 0.95,
) -> Variance:
    """Split the noise of a mean into that of queries, runs and judges, and count all of it.

    Parameters
    ----------
    *evaluations : RAGPipelineEvaluation
        Runs of one pipeline on the same queries. If several judges scored an evaluation, each of
        them counts by its name; queries and scores may be missing.
    metrics : str or iterable of str, optional
        The metrics; all that every evaluation has if omitted.
    runs : sequence, optional
        The run of each evaluation; if omitted, each evaluation is a run of its own. Give it if the
        answers of one run were judged several times: ``runs=[1, 1, 2, 2]``.
    judges : sequence, optional
        The judge of each evaluation, such as ``judges=["gpt", "claude", "gpt", "claude"]``; if
        omitted, the judges that the details name, or one.
    fixed : str or iterable of str
        ``"judge"`` or ``"run"``: the mean is about these very judges or runs, and others do not
        matter. Their own differences are then not counted.
    answer_cost, judgement_cost : float
        What one answer and one judgement cost, in any one unit; for `planning`.
    confidence_level : float
        The level of the intervals.

    Returns
    -------
    Variance
        One row per metric: ``metric``, ``title``, ``n`` (queries), ``n_runs``, ``n_judges``,
        ``n_scores``, ``n_missing`` (combinations without a score), ``mean``, ``standard_error``
        with all sources counted, ``ci_low``, ``ci_high``, ``df``, ``naive_standard_error`` (queries
        alone), ``ratio`` of the two, ``largest_source``, ``largest_share`` of the variance of the
        mean, ``verdict``.

    Raises
    ------
    DataError
        If there are neither two runs nor two judges, or a setting makes no sense.
    AlignmentError
        If no query, or no metric, is in all evaluations.
    UnknownNameError
        If a metric or a fixed factor is not known.

    Notes
    -----
    See `rageval_report.stats.crossed_components` for the estimates. The interval is the t interval
    with Satterthwaite's degrees of freedom. `repeats` is the special case of runs that have nothing
    in common, in which the runs and the rest are one source.

    References
    ----------
    .. [1] arXiv 2604.11581: standard errors of evaluations that leave out judges and runs are 40 to
           60 % too small.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> ids = ["a", "b", "c", "d"]
    >>> first = RAGPipelineEvaluation("hybrid", {"query_id": ids, "rating": [9.0, 5, 8, 4]})
    >>> again = RAGPipelineEvaluation("hybrid", {"query_id": ids, "rating": [7.0, 2, 7, 1]})
    >>> frame = variance(first, again).frame
    >>> round(float(frame["naive_standard_error"][0]), 2)
    1.39
    >>> round(float(frame["standard_error"][0]), 2)
    1.77
    """
    level, fixed_factors = check_level(confidence_level), _check_fixed(fixed)
    prices = Prices(answer_cost, judgement_cost)
    if not evaluations:
        raise DataError("expected evaluations: runs of one pipeline, or scores by several judges")
    labels = _Labels.of(evaluations, runs, judges)
    ids = common_queries(evaluations)
    shared = shared_metrics(evaluations, metrics)
    components: dict[str, CrossedComponents] = {}
    rows = []
    for own in shared:
        split = crossed_components(*_cells(evaluations, own, labels, ids))
        components[own[0].name] = split
        rows.append(_row(own[0], split, fixed_factors, level, prices))
    names = dict.fromkeys(run.name for run in evaluations)
    return Variance(
        f"Noise of {', '.join(names)}",
        pd.DataFrame(rows),
        _settings(fixed_factors, level, prices),
        tuple(_notes(evaluations, components, fixed_factors, ids)),
        headline=_HEADLINE,
        components=components,
        fixed=fixed_factors,
        prices=prices,
    )


def _check_fixed(fixed: str | Iterable[str]) -> tuple[str, ...]:
    factors = (fixed,) if isinstance(fixed, str) else tuple(fixed)
    for factor in factors:
        # With the queries fixed, too, a mean would have no noise that an interval could show.
        check_choice("fixed", factor, ("run", "judge"))
    return factors


def _settings(fixed: tuple[str, ...], level: float, prices: Prices) -> dict[str, object]:
    return {
        "answer_cost": prices.answer,
        "confidence_level": level,
        "fixed": "+".join(fixed) or "none",
        "judgement_cost": prices.judgement,
    }


# -- the cells


@dataclass(frozen=True)
class _Labels:
    """The run of each evaluation, and its judge if the caller names it."""

    runs: tuple[object, ...]
    judges: tuple[object, ...] | None

    @classmethod
    def of(
        cls,
        evaluations: Sequence[Scored],
        runs: Sequence[object] | None,
        judges: Sequence[object] | None,
    ) -> _Labels:
        n = len(evaluations)
        for parameter, labels in (("runs", runs), ("judges", judges)):
            if labels is not None and len(labels) != n:
                raise DataError(
                    f"{parameter} must have one label per evaluation, {n} in all; got {len(labels)}"
                )
        return cls(
            tuple(range(n)) if runs is None else tuple(runs),
            None if judges is None else tuple(judges),
        )


def _cells(
    evaluations: Sequence[Scored], own: Sequence[Metric], labels: _Labels, ids: pd.Index
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The scores of a metric with their query, run and judge."""
    tables = []
    for position, (evaluation, metric) in enumerate(zip(evaluations, own, strict=True)):
        table = _scores_by_judge(evaluation, metric, labels, position).reindex(ids)
        cells = table.reset_index(drop=True).melt(
            ignore_index=False, var_name="judge", value_name="score"
        )
        tables.append(cells.assign(query=cells.index, run=str(labels.runs[position])))
    cells = pd.concat(tables, ignore_index=True)
    return (
        cells["score"].to_numpy(dtype=np.float64),
        cells["query"].to_numpy(),
        cells["run"].to_numpy(dtype=object),
        # Without judges the name of the judge is empty, and an empty text is not a valid label.
        ("judge " + cells["judge"].astype(str)).to_numpy(dtype=object),
    )


def _scores_by_judge(
    evaluation: Scored, metric: Metric, labels: _Labels, position: int
) -> pd.DataFrame:
    """One column per judge: the one that is named, those of the details, or one without a name."""
    if labels.judges is not None:
        return evaluation.scores[[metric.name]].set_axis([str(labels.judges[position])], axis=1)
    if f"{metric.name}{VOTES}" in evaluation.details:
        return votes_of(evaluation, metric)
    return evaluation.scores[[metric.name]].set_axis([""], axis=1)


# -- the table


def _row(
    metric: Metric,
    components: CrossedComponents,
    fixed: tuple[str, ...],
    level: float,
    prices: Prices,
) -> dict[str, object]:
    interval = components.interval(confidence_level=level, fixed=fixed)
    naive = components.naive_standard_error
    source, share = _largest(components, fixed)
    return {
        "metric": metric.name,
        "title": metric.title,
        "n": components.n["query"],
        "n_runs": components.n["run"],
        "n_judges": components.n["judge"],
        "n_scores": components.n_scores,
        "n_missing": components.n_missing,
        "mean": components.mean,
        "standard_error": interval.standard_error,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "df": components.degrees_of_freedom(fixed),
        "naive_standard_error": naive,
        "ratio": interval.standard_error / naive if naive > 0 else math.nan,
        "largest_source": source,
        "largest_share": share,
        "verdict": _verdict(metric, components, fixed, level, prices),
    }


def _largest(components: CrossedComponents, fixed: tuple[str, ...]) -> tuple[str, float]:
    """The source that adds most to the variance of the mean, and its share."""
    counted = components.counted(fixed)
    total = sum(source.of_mean for source in counted)
    if total == 0:
        return "", math.nan
    most = max(counted, key=lambda source: source.of_mean)
    return most.name, most.of_mean / total


def _source_rows(
    metric: str, components: CrossedComponents, fixed: tuple[str, ...]
) -> list[dict[str, object]]:
    of_score = sum(source.variance for source in components.sources)
    counted = components.counted(fixed)
    of_mean = sum(source.of_mean for source in counted)
    return [
        {
            "metric": metric,
            "source": source.name,
            "sd": math.sqrt(source.variance),
            "share": source.variance / of_score if of_score > 0 else math.nan,
            "share_of_mean": source.of_mean / of_mean
            if of_mean > 0 and source in counted
            else math.nan,
            "df": source.df,
            "is_counted": source in counted,
        }
        for source in components.sources
    ]


def _designs(
    components: CrossedComponents, fixed: tuple[str, ...], prices: Prices, width: float
) -> list[Design]:
    aim = width * components.standard_error_of(components.n, fixed)
    if aim == 0:
        return []
    alone = one_factor_designs(components, aim, fixed, prices)
    return [*alone, cheapest_design(components, aim, fixed, prices)]


# -- the sentences


def _verdict(
    metric: Metric,
    components: CrossedComponents,
    fixed: tuple[str, ...],
    level: float,
    prices: Prices,
) -> str:
    interval = components.interval(confidence_level=level, fixed=fixed)
    source, share = _largest(components, fixed)
    if not source:
        return f"{metric.name}: all scores of each query are equal, and so are the queries"
    words = f"the noise of {_in_words(source)}"
    return (
        f"{metric.name}: mean {number(components.mean)} ({100 * level:g} % CI "
        f"{number(interval.low)} to {number(interval.high)}, all sources counted); "
        f"{100 * share:.0f} % of the uncertainty is {words}; "
        f"{_halving(components, fixed, prices)}"
    )


def _in_words(source: str) -> str:
    """A source as a sentence names it.

    Examples
    --------
    >>> _in_words("judge"), _in_words("query x judge"), _in_words("residual")
    ('judges', 'queries x judges', 'the rest')
    """
    return " x ".join(_SOURCE_NAMES[part] for part in source.split(" x "))


def _halving(components: CrossedComponents, fixed: tuple[str, ...], prices: Prices) -> str:
    """What halves the standard error for the least money, by one factor or by several."""
    designs = _designs(components, fixed, prices, _HALF)
    possible = [design for design in designs if math.isfinite(design.cost)]
    if not possible:
        return (
            "no number of queries, runs and judges that was tried makes the interval half as wide"
        )
    # The first of equal costs, because a change of one thing is easier than of several.
    best = min(possible, key=lambda design: design.cost)
    return (
        f"to make the interval about half as wide for the least money: {_design_text(best)} "
        f"({best.cost_ratio:.1f} times the cost)"
    )


def _design_text(design: Design) -> str:
    counts = {factor: rounded_count(design.n[factor]) for factor in FACTORS}
    parts = [
        f"{counts[factor]} {_PLURALS[factor] if design.n[factor] != 1 else factor}"
        for factor in FACTORS
    ]
    return f"{parts[0]}, {parts[1]} and {parts[2]}"


def _notes(
    evaluations: Sequence[Scored],
    components: Mapping[str, CrossedComponents],
    fixed: tuple[str, ...],
    ids: pd.Index,
) -> Iterable[str]:
    yield from common_queries_note(evaluations, ids)
    missing = {name: parts.n_missing for name, parts in components.items() if parts.n_missing}
    if missing:
        counts = ", ".join(f"{name} {n}" for name, n in missing.items())
        yield f"combinations of query, run and judge without a score: {counts}"
    for factor in ("run", "judge"):
        few = [name for name, parts in components.items() if 1 < parts.n[factor] < 4]
        levels = _PLURALS[factor]
        if few and factor not in fixed:
            yield (
                f"{', '.join(few)}: fewer than 4 {levels}, so how much {levels} differ is hardly "
                "known, and the interval can be very wide or too narrow"
            )
    single = {name: parts.n for name, parts in components.items() if 1 in parts.n.values()}
    for factor, words in (("run", "one run"), ("judge", "one judge or none")):
        names = [name for name, n in single.items() if n[factor] == 1]
        if names:
            yield (
                f"{', '.join(names)}: the scores are from {words}; how much other "
                f"{_PLURALS[factor]} would differ is unknown, and not in the interval"
            )
    for name, parts in components.items():
        if parts.negative:
            yield (
                f"{name}: no noise of {', '.join(parts.negative)} shows (a negative estimate is "
                "read as 0)"
            )
