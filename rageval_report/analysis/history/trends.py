"""Runs of a pipeline in order of time: the trend of each metric, and what changed when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Unpack, cast

import pandas as pd

from rageval_report.analysis.arguments import Clusters, clusters_setting
from rageval_report.analysis.history.changes import DatedRun, fields_of, is_of_measurement, run_row
from rageval_report.analysis.history.history_notes import doubts_of_runs, history_notes
from rageval_report.analysis.history.steps import (
    BETTER,
    WORSE,
    HistoryStep,
    HistorySteps,
    run_tests,
)
from rageval_report.analysis.paired_metric import DEFAULT_PLAN, ComparisonPlan
from rageval_report.errors import DataError, UnknownNameError, explain_keywords_of
from rageval_report.plots import plot
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import HistoryPlot, MetricNames, PlotOptions
from rageval_report.reports.sentences import number
from rageval_report.results import Result
from rageval_report.scores import Metric, resolver
from rageval_report.stats.corrections import CORRECTIONS
from rageval_report.stats.pairs import PAIRED_INTERVALS, TESTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHOWN = (BETTER, WORSE)
_MOST_IN_TITLE = 2
_HEADLINE = ("run", "n", "mean", "ci_low", "ci_high", "change", "difference", "marks")


@explain_keywords_of
@dataclass(frozen=True, eq=False, repr=False)
class History(Result):
    """The trend of each metric over the runs of a pipeline: one row per metric and run.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    runs : tuple of DatedRun
        In order of time.
    origin : tuple of str
        Notes on the files of the runs: which were skipped, which times were guessed.
    """

    runs: tuple[DatedRun, ...] = ()
    origin: tuple[str, ...] = ()

    def changes(self) -> Result:
        """What changed from run to run: configuration and gold set.

        Returns
        -------
        Result
            One row per run: ``run``, ``created``, ``pipeline``, ``n_queries``, ``query_set``,
            ``gold_set`` (how it differs from that of the previous run), ``config`` (the fields
            that differ, or that one of the runs does not have).
        """
        fields = fields_of(self.runs)
        before = (None, *self.runs[:-1])
        rows = [run_row(old, new, fields) for old, new in zip(before, self.runs, strict=True)]
        notes = (*doubts_of_runs(self.runs), *self.origin)
        return Result("What changed from run to run", pd.DataFrame(rows), {}, notes)

    def plot(
        self,
        kind: HistoryPlot | Plot = "trends",
        *args: MetricNames,
        ax: Axes | None = None,
        **options: Unpack[PlotOptions],
    ) -> Axes:
        """Draw the history; see `rageval_report.plots`.

        Parameters
        ----------
        kind : str or Plot
            "trends", or an entry of ``rageval_report.plots.PLOTS``.
        *args : str or iterable of str
            The metrics, by any of their names.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if omitted.
        **options
            The options of the plot.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return plot(self, kind, *args, ax=ax, **options)


def trends(
    runs: Sequence[DatedRun],
    *,
    baseline: str | None = None,
    metrics: str | Iterable[str] | None = None,
    fixed: Iterable[str] | None = None,
    correction: str = "holm",
    plan: ComparisonPlan = DEFAULT_PLAN,
    clusters: Clusters | None = None,
) -> History:
    """The trend of each metric over runs in order of time.

    Parameters
    ----------
    runs : sequence of DatedRun
        The oldest first; their names differ.
    baseline : str, optional
        The run with which later ones are compared; the first one if omitted.
    metrics : str or iterable of str, optional
        The metrics, by any of their names; all that any run has if omitted.
    fixed : iterable of str, optional
        Fields of the configuration that must be equal for two runs to be compared; if omitted,
        those whose names mention a judge, an evaluator, a data set or a gold set.
    correction : str
        The correction of the p-values of all tests of the table.
    plan : ComparisonPlan
        Test, intervals, confidence level, seed.
    clusters : str, Series or mapping, optional
        A column of the details of every run, or labels by query id: queries that belong together.

    Returns
    -------
    History
        `rageval_report.run_history.runs.history` describes the columns.

    Raises
    ------
    DataError
        If there is no run, or two have the same name.
    UnknownNameError
        If the baseline, a metric, a field or a method is not known.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> ids = [f"q{i}" for i in range(8)]
    >>> runs = [
    ...     DatedRun.of(RAGPipelineEvaluation(name, {"query_id": ids, "exact_match": [value] * 8}))
    ...     for name, value in (("monday", 1), ("tuesday", 0))
    ... ]
    >>> trends(runs).frame[["run", "mean", "change"]].values.tolist()
    [['monday', 1.0, nan], ['tuesday', 0.0, -1.0]]
    >>> print(trends(runs).sentences[0].partition(" (")[0])
    tuesday is worse on exact_match by 1.000
    """
    _check_methods(plan, correction)
    baseline_run = _find_baseline(runs, baseline)
    chosen = _choose_metrics(runs, metrics)
    fixed_fields = _choose_fixed_fields(fixed, fields_of(runs))
    tests = run_tests(runs, baseline_run, chosen, fixed_fields, plan, correction, clusters)
    summaries = {run.name: _summary_rows(run, chosen, plan, clusters) for run in runs}
    rows = [
        row
        for metric in chosen
        for row in _history_rows(metric, runs, baseline_run, tests.steps, summaries)
    ]
    doubts = doubts_of_runs(runs)
    settings = {
        "baseline": baseline_run.name,
        "fixed": tuple(fixed_fields),
        # The plan of the tests, whose interval may have become t.
        **tests.plan.settings(),
        "correction": correction,
        "family_size": tests.family_size,
        **clusters_setting(clusters),
        **baseline_run.engine_setting(),
    }
    return History(
        _title(runs, baseline_run),
        pd.DataFrame(rows),
        settings,
        (
            *doubts,
            *history_notes(runs, baseline_run, chosen, tests.steps, settings),
            *baseline_run.cluster_notes(clusters),
        ),
        headline=_HEADLINE,
        grouped_by="metric",
        runs=tuple(runs),
    )


def _title(runs: Sequence[DatedRun], baseline: DatedRun) -> str:
    names = list(dict.fromkeys(run.evaluation.name for run in runs))
    of = f"{len(runs)} runs" if len(names) > _MOST_IN_TITLE else " and ".join(names)
    return f"History of {of}" + (f", against {baseline.name}" if len(runs) > 1 else "")


# -- the arguments


def _check_methods(plan: ComparisonPlan, correction: str) -> None:
    for what, name, known in (
        ("paired test", plan.test, ["auto", *TESTS]),
        ("interval of a paired difference", plan.interval, ["auto", *PAIRED_INTERVALS]),
        ("correction", correction, list(CORRECTIONS)),
    ):
        if name not in known:
            raise UnknownNameError(what, name, known)


def _find_baseline(runs: Sequence[DatedRun], baseline: str | None) -> DatedRun:
    if not runs:
        raise DataError("a history needs at least one run; got none")
    by_name = {run.name: run for run in runs}
    if len(by_name) < len(runs):
        names = [run.name for run in runs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"two runs are named {twice!r}; give each its own name")
    if baseline is not None and baseline not in by_name:
        raise UnknownNameError("run", baseline, by_name)
    return runs[0] if baseline is None else by_name[baseline]


def _choose_metrics(runs: Sequence[DatedRun], metrics: str | Iterable[str] | None) -> list[Metric]:
    """The metrics of all runs, each once, as the last run that has it knows it."""
    known: dict[str, Metric] = {}
    for run in reversed(runs):
        for metric in run.metrics.values():
            other_runs = (later for later in known.values() if later.name not in run.metrics)
            meanings = {later.known_as for later in other_runs}
            if metric.name not in known and metric.known_as not in meanings:
                known[metric.name] = metric
    if metrics is None:
        return list(known.values())
    resolve = resolver(known)
    requested = [metrics] if isinstance(metrics, str) else metrics
    return [replace(known[resolve(name)], in_family=True) for name in requested]


def _choose_fixed_fields(fixed: Iterable[str] | None, fields: Sequence[str]) -> list[str]:
    """The fields that must be equal; one that no run has is an error."""
    if fixed is None:
        return [field for field in fields if is_of_measurement(field)]
    names = [fixed] if isinstance(fixed, str) else list(fixed)
    for field in names:
        if field not in fields:
            raise UnknownNameError("field of the configuration of these runs", field, fields)
    return names


# -- the rows


def _summary_rows(
    run: DatedRun, metrics: Sequence[Metric], plan: ComparisonPlan, clusters: Clusters | None
) -> Mapping[str, pd.Series]:
    """The summary's row of each metric that the run has, by the metric's name in the history."""
    own = {metric.name: mine for metric in metrics if (mine := run.metric(metric))}
    if not own:
        return {}
    summary = run.summary([*own.values()], plan, clusters)
    rows = summary.frame.set_index("metric")
    return {name: cast("pd.Series", rows.loc[mine.name]) for name, mine in own.items()}


def _history_rows(
    metric: Metric,
    runs: Sequence[DatedRun],
    baseline: DatedRun,
    steps: HistorySteps,
    summaries: Mapping[str, Mapping[str, pd.Series]],
) -> Iterator[dict[str, object]]:
    """One row per run that has the metric."""
    with_metric = [run for run in runs if metric.name in summaries[run.name]]
    regression = _first_regression(metric, with_metric, baseline, steps)
    segment = 0
    for before, run in zip((None, *with_metric[:-1]), with_metric, strict=True):
        summary = summaries[run.name][metric.name]
        since_previous = None if before is None else steps[metric.name, before.name, run.name]
        since_baseline = steps.get((metric.name, baseline.name, run.name))
        # Lines are drawn within a segment only, so not across a break.
        segment += bool(since_previous and since_previous.differs)
        yield {
            "metric": metric.name,
            "title": metric.title,
            "run": run.name,
            "place": runs.index(run),
            "created": run.created,
            "query_set": run.short_query_set,
            "segment": segment,
            **{name: summary[name] for name in ("n", "n_unscored", "mean", "ci_low", "ci_high")},
            "previous": None if before is None else before.name,
            **_step_columns(since_previous, "change", "since_previous"),
            "baseline": baseline.name,
            **_step_columns(since_baseline, "difference", "since_baseline"),
            "first_regression": run is regression,
            "differs": _or_none(since_previous, "differs"),
            "unknown": _or_none(since_previous, "unknown"),
            "differs_from_baseline": _or_none(since_baseline, "differs"),
            "marks": _marks(since_previous, since_baseline, is_first=run is regression),
            "kind": metric.kind,
            "greater_is_better": metric.greater_is_better,
            "ci_method": summary["ci_method"],
            "verdict": _verdict(metric, with_metric, baseline, regression, steps)
            if run is with_metric[-1]
            else None,
        }


def _first_regression(
    metric: Metric, with_metric: Sequence[DatedRun], baseline: DatedRun, steps: HistorySteps
) -> DatedRun | None:
    for run in with_metric:
        step = steps.get((metric.name, baseline.name, run.name))
        if step is not None and step.outcome == WORSE:
            return run
    return None


_STEP_NUMBERS = ("n", "difference", "ci_low", "ci_high", "pvalue", "pvalue_adjusted")


def _step_columns(step: HistoryStep | None, what: str, outcome: str) -> dict[str, object]:
    """The numbers of a step, under their names in the table."""
    numbers = dict.fromkeys(_STEP_NUMBERS, float("nan")) if step is None else step.numbers
    return {
        f"{what}_n": 0 if step is None else numbers["n"],
        what: numbers["difference"],
        **{f"{what}_{part}": numbers[part] for part in _STEP_NUMBERS[2:]},
        outcome: None if step is None else step.outcome,
    }


def _marks(
    previous: HistoryStep | None, since: HistoryStep | None, *, is_first: bool
) -> str | None:
    """The marks of a row that a reader must not miss, the most serious first."""
    marks = []
    if since is not None and since.outcome in _SHOWN:
        marks.append(
            "first regression" if is_first else f"{since.outcome} than {since.before.name}"
        )
    if previous is not None:
        # If the previous run is the baseline, the mark against the baseline has said it already.
        is_marked = since is not None and since.before is previous.before
        if previous.outcome in _SHOWN and not is_marked:
            marks.append(f"{previous.outcome} than before")
        marks += [f"other {', '.join(previous.changed_fields)}"] if previous.changed_fields else []
        marks += ["perhaps not comparable"] if previous.unknown else []
    return "; ".join(marks) or None


def _or_none(step: HistoryStep | None, part: str) -> str | None:
    return None if step is None else getattr(step, part) or None


def _verdict(
    metric: Metric,
    with_metric: Sequence[DatedRun],
    baseline: DatedRun,
    regression: DatedRun | None,
    steps: HistorySteps,
) -> str | None:
    """How the last run compares with the baseline, since when, and where the metric fell between.

    None for a baseline alone.
    """
    last = steps.get((metric.name, baseline.name, with_metric[-1].name))
    if last is None:
        return None
    sentence = last.sentence(metric)
    if regression is last.after:
        sentence += f"; the first run that shows a regression against {baseline.name}"
    elif regression is not None:
        sentence += f"; a regression against {baseline.name} was first shown at {regression.name}"
    between = (
        steps[metric.name, before.name, after.name] for before, after in pairwise(with_metric)
    )
    falls = (
        step
        for step in between
        if step.outcome == WORSE
        and baseline is not step.before  # the sentence above is about these two
        and regression is not step.after
    )
    return sentence + "".join(
        f"; {step.after.name} is worse than {step.before.name} by "
        f"{number(abs(step.numbers['difference']))}"
        for step in falls
    )
