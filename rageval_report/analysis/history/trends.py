"""Runs of a pipeline in the order of time: the trend of each metric, and what changed when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pandas as pd

from rageval_report._registry import load
from rageval_report.analysis.comparing.metric_comparison import DEFAULT_PLAN, ComparisonPlan
from rageval_report.analysis.history.changes import DatedRun, fields_of, is_of_measurement, run_row
from rageval_report.analysis.history.history_notes import history_notes
from rageval_report.analysis.history.steps import (
    BETTER,
    WORSE,
    HistoryStep,
    HistorySteps,
    test_steps,
)
from rageval_report.analysis.sentence_parts import number
from rageval_report.analysis.summary import summarise
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.results import Result
from rageval_report.scores import Metric, resolver
from rageval_report.stats import CORRECTIONS, PAIRED_INTERVALS, TESTS

_SHOWN = (BETTER, WORSE)
_MOST_IN_TITLE = 2
_HEADLINE = ("run", "n", "mean", "ci_low", "ci_high", "change", "difference", "marks")


@dataclass(frozen=True, eq=False, repr=False)
class History(Result):
    """The trend of each metric over the runs of a pipeline: one row a metric and a run.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    runs : tuple of DatedRun
        In the order of time.
    origin : tuple of str
        Where the runs come from: what was passed over, which times were guessed.
    """

    runs: tuple[DatedRun, ...] = ()
    origin: tuple[str, ...] = ()

    def changes(self) -> Result:
        """What changed from run to run: set-up and gold set.

        Returns
        -------
        Result
            One row a run: ``run``, ``created``, ``pipeline``, ``n_queries``, ``query_set``,
            ``gold_set`` (how it differs from that of the run before), ``config`` (the fields that
            differ, or that either run does not tell).
        """
        fields = fields_of(self.runs)
        before = (None, *self.runs[:-1])
        rows = [run_row(old, new, fields) for old, new in zip(before, self.runs, strict=True)]
        return Result("What changed from run to run", pd.DataFrame(rows), {}, self.origin)

    def plot(self, kind: str = "trends", *args: Any, **options: Any) -> Any:
        """Draw the history; see `rageval_report.plots`.

        Parameters
        ----------
        kind : str
            A name of the table ``rageval_report.plots.PLOTS``.
        *args, **options
            The plot's own; every plot takes ``ax=``.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return load("rageval_report.plots:plot")(self, kind, *args, **options)


def trends(
    runs: Sequence[DatedRun],
    *,
    baseline: str | None = None,
    metrics: str | Iterable[str] | None = None,
    fixed: Iterable[str] | None = None,
    correction: str = "holm",
    plan: ComparisonPlan = DEFAULT_PLAN,
) -> History:
    """The trend of each metric over runs that stand in the order of time.

    Parameters
    ----------
    runs : sequence of DatedRun
        The oldest first; their names differ.
    baseline : str, optional
        The run that later ones are held against; the first one where not given.
    metrics : str or iterable of str, optional
        By any of their names; all that any run has where nothing is asked.
    fixed : iterable of str, optional
        Fields of the set-up that must be equal for two runs to be compared; those whose names
        speak of a judge, an evaluator, a data set or a gold set where not given.
    correction : str
        Of the p-values, over all tests of the table.
    plan : ComparisonPlan
        Test, intervals, confidence level, seed.

    Returns
    -------
    History
        The columns are told in `rageval_report.run_history.runs.history`.

    Raises
    ------
    DataError
        If there is no run, or two have one name.
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
    pinned = _baseline_of(runs, baseline)
    chosen = _chosen_metrics(runs, metrics)
    fields = fields_of(runs)
    held = _held(fixed, fields)
    made = test_steps(runs, pinned, chosen, held, plan, correction)
    steps = made.steps
    summaries = {run.name: _summary(run, chosen, plan) for run in runs}
    rows = [row for one in chosen for row in _rows(one, runs, pinned, steps, summaries)]
    settings = {
        "baseline": pinned.name,
        "fixed": tuple(held),
        **made.plan.settings(),
        "correction": correction,
        "family_size": made.family_size,
    }
    return History(
        _title(runs, pinned),
        pd.DataFrame(rows),
        settings,
        tuple(history_notes(runs, pinned, chosen, steps, settings)),
        headline=_HEADLINE,
        grouped_by="metric",
        runs=tuple(runs),
    )


def _title(runs: Sequence[DatedRun], baseline: DatedRun) -> str:
    names = list(dict.fromkeys(run.evaluation.name for run in runs))
    told = f"{len(runs)} runs" if len(names) > _MOST_IN_TITLE else " and ".join(names)
    return f"History of {told}" + (f", against {baseline.name}" if len(runs) > 1 else "")


# -- what is asked


def _check_methods(plan: ComparisonPlan, correction: str) -> None:
    for what, name, known in (
        ("paired test", plan.test, ["auto", *TESTS]),
        ("interval of a paired difference", plan.interval, ["auto", *PAIRED_INTERVALS]),
        ("correction", correction, list(CORRECTIONS)),
    ):
        if name not in known:
            raise UnknownNameError(what, name, known)


def _baseline_of(runs: Sequence[DatedRun], baseline: str | None) -> DatedRun:
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


def _chosen_metrics(runs: Sequence[DatedRun], metrics: str | Iterable[str] | None) -> list[Metric]:
    """The metrics of all runs, each once, as the last run that has it knows it."""
    known: dict[str, Metric] = {}
    for run in reversed(runs):
        for metric in run.metrics.values():
            others = (one for one in known.values() if one.name not in run.metrics)
            if metric.name not in known and metric.known_as not in {o.known_as for o in others}:
                known[metric.name] = metric
    if metrics is None:
        return list(known.values())
    resolve = resolver(known)
    return [known[resolve(one)] for one in ([metrics] if isinstance(metrics, str) else metrics)]


def _held(fixed: Iterable[str] | None, fields: Sequence[str]) -> list[str]:
    """The fields that must be equal; one that no run tells is a slip of the pen."""
    if fixed is None:
        return [field for field in fields if is_of_measurement(field)]
    asked = [fixed] if isinstance(fixed, str) else list(fixed)
    for field in asked:
        if field not in fields:
            raise UnknownNameError("field of the configuration of these runs", field, fields)
    return asked


# -- what is told


def _summary(run: DatedRun, metrics: Sequence[Metric], plan: ComparisonPlan) -> Mapping[str, Any]:
    """The summary's row of each metric that the run has, by the metric's name in the history."""
    own = {metric.name: mine for metric in metrics if (mine := run.metric(metric))}
    if not own:
        return {}
    summary = summarise(
        run,
        metrics=[mine.name for mine in own.values()],
        percentiles=(),
        confidence_level=plan.confidence_level,
        n_resamples=plan.n_resamples,
        seed=plan.seed,
    )
    rows = summary.frame.set_index("metric")
    return {name: rows.loc[mine.name] for name, mine in own.items()}


def _rows(
    metric: Metric,
    runs: Sequence[DatedRun],
    baseline: DatedRun,
    steps: HistorySteps,
    summaries: Mapping[str, Mapping[str, Any]],
) -> Iterator[dict[str, object]]:
    """One row a run that has the metric."""
    having = [run for run in runs if metric.name in summaries[run.name]]
    regression = _first_regression(metric, having, baseline, steps)
    segment = 0
    for before, run in zip((None, *having[:-1]), having, strict=True):
        told = summaries[run.name][metric.name]
        since_previous = None if before is None else steps[metric.name, before.name, run.name]
        since_baseline = steps.get((metric.name, baseline.name, run.name))
        segment += bool(since_previous and since_previous.differs)
        yield {
            "metric": metric.name,
            "title": metric.title,
            "run": run.name,
            "place": runs.index(run),
            "created": run.created,
            "query_set": run.short_query_set,
            "segment": segment,
            **{name: told[name] for name in ("n", "n_unscored", "mean", "ci_low", "ci_high")},
            "previous": None if before is None else before.name,
            **_against(since_previous, "change", "since_previous"),
            "baseline": baseline.name,
            **_against(since_baseline, "difference", "since_baseline"),
            "first_regression": run is regression,
            "differs": _or_none(since_previous, "differs"),
            "unknown": _or_none(since_previous, "unknown"),
            "differs_from_baseline": _or_none(since_baseline, "differs"),
            "marks": _marks(since_previous, since_baseline, is_first=run is regression),
            "kind": metric.kind,
            "greater_is_better": metric.greater_is_better,
            "ci_method": told["ci_method"],
            "verdict": _verdict(metric, having, baseline, regression, steps)
            if run is having[-1]
            else None,
        }


def _first_regression(
    metric: Metric, having: Sequence[DatedRun], baseline: DatedRun, steps: HistorySteps
) -> DatedRun | None:
    for run in having:
        step = steps.get((metric.name, baseline.name, run.name))
        if step is not None and step.outcome == WORSE:
            return run
    return None


_NOTHING = ("n", "difference", "ci_low", "ci_high", "pvalue", "pvalue_adjusted")


def _against(step: HistoryStep | None, what: str, outcome: str) -> dict[str, object]:
    """The numbers of a step under the names that they have in the table."""
    numbers = dict.fromkeys(_NOTHING, float("nan")) if step is None else step.numbers
    return {
        f"{what}_n": 0 if step is None else numbers["n"],
        what: numbers["difference"],
        **{f"{what}_{part}": numbers[part] for part in _NOTHING[2:]},
        outcome: None if step is None else step.outcome,
    }


def _marks(
    previous: HistoryStep | None, since: HistoryStep | None, *, is_first: bool
) -> str | None:
    """What a reader who runs an eye down the table must not miss, the gravest first."""
    marks = []
    if since is not None and since.outcome in _SHOWN:
        marks.append(
            "first regression" if is_first else f"{since.outcome} than {since.before.name}"
        )
    if previous is not None:
        is_told = since is not None and since.before is previous.before
        if previous.outcome in _SHOWN and not is_told:
            marks.append(f"{previous.outcome} than before")
        marks += [f"other {', '.join(previous.differing)}"] if previous.differing else []
        marks += ["perhaps not comparable"] if previous.unknown else []
    return "; ".join(marks) or None


def _or_none(step: HistoryStep | None, part: str) -> str | None:
    return None if step is None else getattr(step, part) or None


def _verdict(
    metric: Metric,
    having: Sequence[DatedRun],
    baseline: DatedRun,
    regression: DatedRun | None,
    steps: HistorySteps,
) -> str | None:
    """What the last run shows against the baseline, since when, and where the metric fell between.

    Nothing is said of a baseline alone.
    """
    last = steps.get((metric.name, baseline.name, having[-1].name))
    if last is None:
        return None
    told = last.sentence(metric)
    if regression is last.after:
        told += f"; the first run that shows a regression against {baseline.name}"
    elif regression is not None:
        told += f"; a regression against {baseline.name} was first shown at {regression.name}"
    between = (steps[metric.name, one.name, other.name] for one, other in pairwise(having))
    untold = (one for one in between if baseline is not one.before and regression is not one.after)
    falls = (one for one in untold if one.outcome == WORSE)
    return told + "".join(
        f"; {one.after.name} is worse than {one.before.name} by "
        f"{number(abs(one.numbers['difference']))}"
        for one in falls
    )
