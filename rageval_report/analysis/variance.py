"""Where the noise of a mean comes from: queries, runs of the pipeline, or judges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.analysis.agreement import votes_of
from rageval_report.analysis.noise import (
    common_queries,
    common_queries_note,
    metrics_in_all_runs,
    runs_title,
)
from rageval_report.errors import DataError, check_choice
from rageval_report.plots.drawn import Drawn
from rageval_report.reports.sentences import number, rounded_count
from rageval_report.results import Answer, Result, answer_of
from rageval_report.scores import Metric, Scored
from rageval_report.scores.states import VOTES
from rageval_report.stats.base import check_level
from rageval_report.stats.components import CrossedComponents, NoiseSource, crossed_components

_PLURALS = {"query": "queries", "run": "runs", "judge": "judges"}
_HALF = 0.5  # an interval that is half as wide is what a reader can see in a report
# More runs or judges than this are not a plan.
_MOST = {"query": 1_000_000, "run": 100, "judge": 20}


@dataclass(frozen=True, slots=True)
class Prices:
    """What one answer and one judgement cost, in any one unit; not both are 0."""

    answer: float = 1.0
    judgement: float = 1.0

    def __post_init__(self) -> None:
        for parameter, price in (("answer_cost", self.answer), ("judgement_cost", self.judgement)):
            if not (math.isfinite(price) and price >= 0.0):
                raise DataError(f"{parameter} must be a number >= 0; got {price}")
        if self.answer == self.judgement == 0.0:
            raise DataError("answer_cost or judgement_cost must be above 0; got 0 for both")

    def of(self, n: Mapping[str, int]) -> float:
        """What a design costs: every query answered in every run, and judged by every judge."""
        return n["query"] * n["run"] * (self.answer + n["judge"] * self.judgement)


@dataclass(frozen=True, eq=False, repr=False)
class Variance(Drawn):
    """The noise of each metric's mean by source: one row per metric."""

    own_plot = "noise"

    components: Mapping[str, CrossedComponents] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()
    prices: Prices = field(default_factory=Prices)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The mean of each metric, what moves it most, and what would make it more certain."""
        return tuple(self._sentence(row) for row in self.frame.to_dict("records"))

    def printed(self) -> Answer:
        """Where most noise comes from, the table, and at most three notes."""
        counts = self.frame["largest_source"].replace("", "nothing").value_counts()
        source, n = _in_words(str(counts.index[0])), len(self.frame)
        where = f"on {counts.iloc[0]} of {n} metrics" if n > 1 else f"of {self.frame['metric'][0]}"
        return answer_of(self, f"{self.title}: most of it {where} comes from {source}.")

    def _sentence(self, row: Mapping[Any, Any]) -> str:
        if not row["largest_source"]:
            return f"{row['metric']}: all scores of each query are equal, and so are the queries"
        level = f"{100 * float(str(self.settings['confidence_level'])):g} % CI"
        limits = f"{level} {number(row['ci_low'])} to {number(row['ci_high'])}"
        advice = "no number of queries, runs and judges that was tried halves the interval"
        designs = self._designs(row["metric"], _HALF)
        # The first of equal costs, because a change of one thing is easier than of several.
        best = min((own for own in designs if own["cost"] > 0), key=lambda d: d["cost"], default={})
        if best:
            queries, runs, judges = (
                f"{rounded_count(n)} {factor if n == 1 else plural}"
                for factor, plural in _PLURALS.items()
                for n in (best[f"n_{plural}"],)
            )
            advice = (
                f"an interval half as wide costs least with {queries}, {runs} and {judges} "
                f"({best['cost_ratio']:.1f} times the cost)"
            )
        return (
            f"{row['metric']}: mean {number(row['mean'])} ({limits}, all sources counted); "
            f"{100 * row['largest_share']:.0f} % of the uncertainty comes from "
            f"{_in_words(row['largest_source'])}; {advice}"
        )

    def sources(self) -> Result:
        """The variance that each source adds, to a score and to the mean."""
        rows = []
        for metric, parts in self.components.items():
            counted = parts.counted(self.fixed)
            of_score = sum(source.variance for source in parts.sources) or math.nan
            of_mean = sum(source.of_mean for source in counted) or math.nan
            for source in parts.sources:
                of_this = source.of_mean / of_mean if source in counted else math.nan
                row = {"metric": metric, "source": source.name, "sd": math.sqrt(source.variance)}
                row |= {"share": source.variance / of_score, "share_of_mean": of_this}
                rows.append({**row, "df": source.df, "is_counted": source in counted})
        note = (
            "a share of 0 with few degrees of freedom means little: two runs or two judges can be "
            "near each other by chance"
        )
        title = f"Sources of noise: {self.title}"
        return Result(title, pd.DataFrame(rows), self.settings, (note,), grouped_by="metric")

    def planning(self, width: float = _HALF) -> Result:
        """What makes the interval narrower, and what it costs."""
        if not 0.0 < width < 1.0:
            raise DataError(f"width must be between 0 and 1, such as 0.5; got {width}")
        rows = [design for metric in self.components for design in self._designs(metric, width)]
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

    def _designs(self, metric: str, width: float) -> list[dict[str, Any]]:
        """The fewest queries, runs or judges that reach the aim alone, and the cheapest mixture."""
        parts, fixed, prices = self.components[metric], self.fixed, self.prices
        now, aim = dict(parts.n), width * parts.standard_error_of(parts.n, fixed)
        if aim == 0:
            return []
        # Of a factor with one level the noise is unknown, so more of it promises nothing.
        free = [factor for factor in _PLURALS if factor not in fixed and now[factor] > 1]
        ways = {_PLURALS[factor]: _fewest(parts, now, factor, aim, fixed) for factor in free}
        # At least two levels, because with one the next evaluation could not show this noise.
        runs, judges = (
            range(2, _MOST[factor] + 1) if factor in free else (now[factor],)
            for factor in ("run", "judge")
        )
        mixtures = (
            _fewest(parts, {**now, "run": n_runs, "judge": n_judges}, "query", aim, fixed)
            for n_runs, n_judges in product(runs, judges)
        )
        ways["cheapest"] = min(filter(None, mixtures), key=prices.of, default=None)
        rows: list[dict[str, Any]] = []
        for change, n in ways.items():
            row: dict[str, Any] = {"metric": metric, "change": change}
            row |= {f"n_{plural}": n[own] if n else math.nan for own, plural in _PLURALS.items()}
            error = parts.standard_error_of(n, fixed) if n else math.nan
            cost = prices.of(n) if n else math.nan
            row |= {"standard_error": error, "cost": cost, "cost_ratio": cost / prices.of(now)}
            rows.append(row)
        return rows


def _fewest(
    parts: CrossedComponents, n: Mapping[str, int], factor: str, aim: float, fixed: Sequence[str]
) -> dict[str, int] | None:
    """The design with the fewest levels of a factor that reaches the aim; None if none does."""
    designs: list[Any] = [{**n, factor: count} for count in (1, math.inf)]
    of_single, rest = (parts.standard_error_of(design, fixed) ** 2 for design in designs)
    if aim**2 <= rest:
        return None
    # A quotient that is whole but for rounding must not be rounded up.
    count = max(2, math.ceil((of_single - rest) / (aim**2 - rest) - 1e-9))
    return {**n, factor: count} if count <= _MOST[factor] else None


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
    level, prices = check_level(confidence_level), Prices(answer_cost, judgement_cost)
    factors = (fixed,) if isinstance(fixed, str) else tuple(fixed)
    for factor in factors:
        # With the queries fixed, too, a mean would have no noise that an interval could show.
        check_choice("fixed", factor, ("run", "judge"))
    if not evaluations:
        raise DataError("expected evaluations: runs of one pipeline, or scores by several judges")
    for parameter, labels in (("runs", runs), ("judges", judges)):
        if labels is not None and len(labels) != len(evaluations):
            raise DataError(
                f"{parameter} must have one label per evaluation, {len(evaluations)} in all; got "
                f"{len(labels)}"
            )
    run_of = range(len(evaluations)) if runs is None else runs
    ids, components, rows = common_queries(evaluations), {}, []
    for own in metrics_in_all_runs(evaluations, metrics):
        cells = crossed_cells(evaluations, own, ids, run_of, judges)
        parts = components[own[0].name] = crossed_components(*cells)
        rows.append(_row(own[0], parts, factors, level))
    return Variance(
        runs_title("Noise of {names}", evaluations),
        pd.DataFrame(rows),
        {
            "answer_cost": prices.answer,
            "confidence_level": level,
            "fixed": "+".join(factors) or "none",
            "judgement_cost": prices.judgement,
        },
        (*common_queries_note(evaluations, ids), *_notes(components, factors)),
        headline=("metric", "n", "mean", "standard_error", "ci_low", "ci_high", "verdict"),
        components=components,
        fixed=factors,
        prices=prices,
    )


def crossed_cells(
    evaluations: Sequence[Scored],
    own: Sequence[Metric],
    ids: pd.Index,
    runs: Sequence[object],
    judges: Sequence[object] | None = None,
) -> tuple[np.ndarray, ...]:
    """The scores of a metric with query, run and judge; by default the judges of the details."""
    parts = []
    for place, (evaluation, metric) in enumerate(zip(evaluations, own, strict=True)):
        name = "" if judges is None else str(judges[place])
        table = evaluation.scores[[metric.name]].set_axis([name], axis=1)
        if judges is None and f"{metric.name}{VOTES}" in evaluation.details:
            table = votes_of(evaluation, metric)
        table = table.reindex(ids).reset_index(drop=True)
        cells = table.melt(ignore_index=False, var_name="judge", value_name="score")
        parts.append(cells.assign(query=cells.index, run=str(runs[place])))
    cells = pd.concat(parts, ignore_index=True)
    # Without judges the name of the judge is empty, and an empty text is not a valid label.
    cells["judge"] = "judge " + cells["judge"].astype(str)
    return tuple(cells[name].to_numpy() for name in ("score", "query", "run", "judge"))


def _in_words(source: str) -> str:
    """A source of noise as a sentence names it, such as "queries x judges"."""
    words = {**_PLURALS, "residual": "the rest"}
    return " x ".join(words.get(part, part) for part in source.split(" x "))


def _row(
    metric: Metric, parts: CrossedComponents, fixed: tuple[str, ...], level: float
) -> dict[str, object]:
    interval, counted = parts.interval(confidence_level=level, fixed=fixed), parts.counted(fixed)
    naive, total = parts.naive_standard_error, sum(source.of_mean for source in counted)
    largest: NoiseSource = max(counted, key=lambda source: source.of_mean)
    share = largest.of_mean / total if total else math.nan
    row: dict[str, object] = {"metric": metric.name, "title": metric.title, "n": parts.n["query"]}
    row |= {"n_runs": parts.n["run"], "n_judges": parts.n["judge"]}
    row |= {"n_scores": parts.n_scores, "n_missing": parts.n_missing, "mean": parts.mean}
    row |= {"standard_error": interval.standard_error, "ci_low": interval.low}
    row |= {"ci_high": interval.high, "df": parts.degrees_of_freedom(fixed)}
    row |= {"naive_standard_error": naive}
    row |= {"ratio": interval.standard_error / naive if naive > 0 else math.nan}
    row |= {"largest_source": largest.name if total else "", "largest_share": share}
    verdict = f"{100 * share:.0f} % from {_in_words(largest.name)}" if total else "no noise"
    return row | {"verdict": verdict}


def _notes(components: Mapping[str, CrossedComponents], fixed: tuple[str, ...]) -> Iterator[str]:
    missing = [f"{name} {parts.n_missing}" for name, parts in components.items() if parts.n_missing]
    if missing:
        yield f"combinations of query, run and judge without a score: {', '.join(missing)}"
    for factor, words in (("run", "one run"), ("judge", "one judge or none")):
        counts = {name: parts.n[factor] for name, parts in components.items()}
        few = [name for name, n in counts.items() if 1 < n < 4]
        single = [name for name, n in counts.items() if n == 1]
        levels = _PLURALS[factor]
        if few and factor not in fixed:
            yield (
                f"{_which(few, components)}fewer than 4 {levels}, so how much {levels} differ is "
                "hardly known, and the interval can be very wide or too narrow"
            )
        if single:
            yield (
                f"{_which(single, components)}the scores are from {words}; how much other "
                f"{levels} would differ is unknown, and not in the interval"
            )
    for name, parts in components.items():
        if parts.negative:
            yield (
                f"{name}: no noise of {', '.join(parts.negative)} shows (a negative estimate is "
                "read as 0)"
            )


def _which(names: Sequence[str], components: Mapping[str, CrossedComponents]) -> str:
    """The metrics that a note is about, unless it is about all of several."""
    return "" if len(names) == len(components) > 1 else f"{', '.join(names)}: "
