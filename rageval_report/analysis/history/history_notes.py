"""What must be said beside the table of a history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from rageval_report.analysis.history.changes import DatedRun, changes_told, fields_of
from rageval_report.analysis.history.steps import HistorySteps
from rageval_report.scores import Metric

_MOST_NOTED = 5


def history_notes(
    runs: Sequence[DatedRun],
    baseline: DatedRun,
    metrics: Sequence[Metric],
    steps: HistorySteps,
    settings: Mapping[str, object],
) -> Iterator[str]:
    """What a reader of a history must know: breaks, changes, what is missing, the family of tests.

    Parameters
    ----------
    runs, baseline, metrics
        What the history is of.
    steps : dict of (str, str, str) to HistoryStep
        Its tests.
    settings : mapping of str to object
        Its settings, with ``correction`` and ``family_size``.
    """
    if len(runs) == 1:
        yield "one run: there is nothing yet to hold it against"
    yield (
        f"change: against the run before; difference: against {baseline.name}; both over the "
        "queries that both runs scored"
    )
    yield from _unscored_notes(runs, metrics)
    yield from _break_notes(runs, metrics, steps)
    yield from _config_notes(runs)
    for metric in metrics:
        without = [run.name for run in runs if run.metric(metric) is None]
        if without:
            yield f"{metric.name} is not in {_few(without)}"
        if baseline.name in without and len(runs) > 1:
            yield f"{metric.name}: no change against the baseline {baseline.name}, which lacks it"
    if int(str(settings["family_size"])) > 1:
        yield _family_note(settings)


def _family_note(settings: Mapping[str, object]) -> str:
    if settings["correction"] == "none":
        return f"{settings['family_size']} tests without correction: some will be false alarms"
    return (
        f"p-values are adjusted ({settings['correction']}) over the {settings['family_size']} "
        "tests of this table; as a history grows they are more, and an early finding may go"
    )


def _unscored_notes(runs: Sequence[DatedRun], metrics: Sequence[Metric]) -> Iterator[str]:
    for metric in metrics:
        counts = {
            run.name: int(run.scores[mine.name].isna().sum())
            for run in runs
            if (mine := run.metric(metric))
        }
        told = [f"{name} {n}" for name, n in counts.items() if n]
        if told:
            yield f"{metric.name}: unscored queries, left out of the means: {_few(told)}"


def _break_notes(
    runs: Sequence[DatedRun], metrics: Sequence[Metric], steps: HistorySteps
) -> Iterator[str]:
    """Where lines break, told once for all metrics that do; what may break them, unknown."""
    by_text: dict[str, list[str]] = {}
    for (name, before, after), step in steps.items():
        if _are_neighbours(before, after, runs):
            if step.differs:
                told = f"{after} is not comparable with {before} as it stands: {step.differs}"
                by_text.setdefault(told, []).append(name)
            if step.unknown:
                told = f"whether {after} is comparable with {before} is unknown: {step.unknown}"
                by_text.setdefault(told, []).append(name)
    for told, names in by_text.items():
        yield told if len(names) == len(metrics) else f"{', '.join(names)}: {told}"
    if any(step.gold_set and step.row is not None for step in steps.values()):
        yield "where the gold set changed, tests take the queries that are the same in both runs"


def _are_neighbours(before: str, after: str, runs: Sequence[DatedRun]) -> bool:
    names = [run.name for run in runs]
    return names.index(after) == names.index(before) + 1


def _config_notes(runs: Sequence[DatedRun]) -> Iterator[str]:
    fields = fields_of(runs)
    if not fields:
        yield "no run tells how it was set up: what changed between runs is unknown"
        return
    changed = [
        f"{after.name} ({told})"
        for before, after in pairwise(runs)
        if (told := changes_told(before, after, fields))
    ]
    if changed:
        yield f"set-up changed, or is unknown, at {_few(changed)}"


def _few(told: Sequence[str]) -> str:
    more = len(told) - _MOST_NOTED
    shown = ", ".join(told[:_MOST_NOTED])
    return f"{shown} and {more} more" if more > 0 else shown
