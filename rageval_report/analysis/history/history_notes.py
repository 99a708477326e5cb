"""The notes on a history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from rageval_report.analysis.history.changes import DatedRun, config_change_text, fields_of
from rageval_report.analysis.history.steps import HistorySteps
from rageval_report.errors import DOUBT, is_doubt
from rageval_report.scores import Metric

_MOST_NOTED = 5


def history_notes(
    runs: Sequence[DatedRun],
    baseline: DatedRun,
    metrics: Sequence[Metric],
    steps: HistorySteps,
    settings: Mapping[str, object],
) -> Iterator[str]:
    """What a reader of a history must know: breaks, changes, missing scores, the number of tests.

    Parameters
    ----------
    runs, baseline, metrics
        Those of the history.
    steps : dict of (str, str, str) to HistoryStep
        The tests.
    settings : mapping of str to object
        The settings, with ``correction`` and ``family_size``.
    """
    if len(runs) == 1:
        yield "only one run: there is nothing to compare it with yet"
    yield (
        f"change: from the previous run; difference: from {baseline.name}; both over the "
        "queries that both runs scored"
    )
    yield from _unscored_notes(runs, metrics)
    yield from _break_notes(runs, metrics, steps)
    yield from _config_notes(runs)
    for metric in metrics:
        without = [run.name for run in runs if run.metric(metric) is None]
        if without:
            yield f"{metric.name} is not in {_list_first(without)}"
        if baseline.name in without and len(runs) > 1:
            yield f"{metric.name}: no difference from the baseline {baseline.name}, which lacks it"
    if int(str(settings["family_size"])) > 1:
        yield _family_note(settings)


def doubts_of_runs(runs: Iterable[DatedRun]) -> tuple[str, ...]:
    """The doubts about the scores of runs, each once, with the names of the runs that have it.

    Parameters
    ----------
    runs : iterable of DatedRun
        The runs of a history.
    """
    names_by_doubt: dict[str, list[str]] = {}
    for run in runs:
        # Older evaluations, and those of other libraries, may have no notes.
        for doubt in filter(is_doubt, getattr(run.evaluation, "notes", ())):
            names = names_by_doubt.setdefault(doubt, [])
            names += [] if run.name in names else [run.name]
    return tuple(
        f"{DOUBT}{_list_first(names)}: {doubt[len(DOUBT) :]}"
        for doubt, names in names_by_doubt.items()
    )


def _family_note(settings: Mapping[str, object]) -> str:
    if settings["correction"] == "none":
        return f"{settings['family_size']} tests without correction: some will be false alarms"
    return (
        f"p-values are adjusted ({settings['correction']}) over the {settings['family_size']} "
        "tests of this table; as a history grows there are more, and an early finding may disappear"
    )


def _unscored_notes(runs: Sequence[DatedRun], metrics: Sequence[Metric]) -> Iterator[str]:
    for metric in metrics:
        counts = {run.name: run.n_unscored(mine) for run in runs if (mine := run.metric(metric))}
        unscored = [f"{name} {n}" for name, n in counts.items() if n]
        if unscored:
            yield f"{metric.name}: unscored queries, left out of the means: {_list_first(unscored)}"


def _break_notes(
    runs: Sequence[DatedRun], metrics: Sequence[Metric], steps: HistorySteps
) -> Iterator[str]:
    """Breaks in comparability, and possible ones, each once for all metrics."""
    metrics_by_note: dict[str, list[str]] = {}
    for (name, before, after), step in steps.items():
        if _are_neighbours(before, after, runs):
            if step.differs:
                note = f"{after} is not directly comparable with {before}: {step.differs}"
                metrics_by_note.setdefault(note, []).append(name)
            if step.unknown:
                note = f"whether {after} is comparable with {before} is unknown: {step.unknown}"
                metrics_by_note.setdefault(note, []).append(name)
    for note, names in metrics_by_note.items():
        yield note if len(names) == len(metrics) else f"{', '.join(names)}: {note}"
    if any(step.gold_set and step.row is not None for step in steps.values()):
        yield "where the gold set changed, tests use the queries that are the same in both runs"


def _are_neighbours(before: str, after: str, runs: Sequence[DatedRun]) -> bool:
    names = [run.name for run in runs]
    return names.index(after) == names.index(before) + 1


def _config_notes(runs: Sequence[DatedRun]) -> Iterator[str]:
    fields = fields_of(runs)
    if not fields:
        yield "no run has a configuration: what changed between runs is unknown"
        return
    changed = [
        f"{after.name} ({changes})"
        for before, after in pairwise(runs)
        if (changes := config_change_text(before, after, fields))
    ]
    if changed:
        yield f"the configuration changed, or is unknown, at {_list_first(changed)}"


def _list_first(names: Sequence[str]) -> str:
    """The first few names, and the number of the others."""
    more = len(names) - _MOST_NOTED
    shown = ", ".join(names[:_MOST_NOTED])
    return f"{shown} and {more} more" if more > 0 else shown
