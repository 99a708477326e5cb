"""Runs of a pipeline in order of time: the trend of each metric, and what changed when.

A run is compared with the one before it and with the baseline, on the queries that have the same
reference in both. A field of the configuration that a run does not have is unknown, never equal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import (
    Clusters,
    clusters_setting,
    engine_setting,
    unnamed_clusters,
)
from rageval_report.analysis.family import CorrectionFamily, correct_in_family
from rageval_report.analysis.paired_metric import DEFAULT_PLAN, ComparisonPlan, MetricComparison
from rageval_report.analysis.report import summarise
from rageval_report.analysis.runs import (
    UNKNOWN,
    DatedRun,
    FieldChange,
    config_changes,
    fields_of,
    measurement_changes,
    pair_of,
)
from rageval_report.errors import DOUBT, DataError, UnknownNameError, is_doubt
from rageval_report.plots.drawn import Drawn
from rageval_report.reports.sentences import counted, join_names, number, pvalue_text
from rageval_report.results import Result, answer_of
from rageval_report.scores import Metric, resolver
from rageval_report.stats.corrections import CORRECTIONS
from rageval_report.stats.pairs import PAIRED_INTERVALS, TESTS

BETTER, WORSE, UNDECIDED = "better", "worse", "undecided"
IDENTICAL, TOO_FEW, NOT_COMPARED = "identical", "too few", "not compared"
_ORDER = (WORSE, BETTER, UNDECIDED, TOO_FEW, IDENTICAL, NOT_COMPARED)  # what matters first
# With more tests than this, inverting each of them for its interval would take minutes.
MOST_INVERTED = 100
# Words in the name of a field that says how answers were measured, not how they were generated.
_OF_MEASUREMENT = frozenset(
    "judge judges evaluator evaluators grader dataset datasets split gold qrels testset".split()
)
_MOST_IN_TITLE, _MOST_NOTED, _SHORT_HASH = 2, 5, 8
_NUMBERS = ("ci_low", "ci_high", "pvalue", "pvalue_adjusted")


# -- the tests


@dataclass(frozen=True, eq=False)
class _Step:
    """One metric of two runs: what differs, and the test if the scores mean the same."""

    before: DatedRun
    after: DatedRun
    gold_set: str
    changes: list[FieldChange]
    row: MetricComparison | None
    pvalue: float = math.nan  # adjusted
    alpha: float = 0.05
    fewest_units: int = 0

    @property
    def differs(self) -> str:
        """The known changes that give the scores of the two different meanings."""
        known = (str(change) for change in self.changes if change.is_known)
        return "; ".join(filter(None, (self.gold_set, *known)))

    @property
    def unknown(self) -> str:
        """The possible changes: fields that are unknown in one of the runs."""
        return "; ".join(str(change) for change in self.changes if not change.is_known)

    @property
    def outcome(self) -> str:
        """The result of the test, in a word or two."""
        if self.row is None or self.row.test.n == 0:
            return NOT_COMPARED
        if not self.row.pairs.by_query.n_changed:
            return IDENTICAL
        if self.pvalue <= self.alpha:
            gains = (self.row.test.difference > 0) == self.row.metric.greater_is_better
            return BETTER if gains else WORSE
        return TOO_FEW if self.row.test.n < self.fewest_units else UNDECIDED


def _columns(step: _Step | None, what: str, outcome: str) -> dict[str, object]:
    """The numbers of a step under their names in the table; NaN if nothing was tested."""
    row, numbers = step and step.row, (math.nan,) * 5
    if step and row:
        test, interval = row.test, row.interval
        numbers = (test.difference, interval.low, interval.high, test.pvalue, step.pvalue)
    names = (what, *(f"{what}_{part}" for part in _NUMBERS))
    return {
        f"{what}_n": row.test.n if row else 0,
        **dict(zip(names, numbers, strict=True)),
        outcome: step.outcome if step else None,
    }


_Steps = dict[tuple[str, str, str], _Step]  # by metric, earlier run, later run


def _run_tests(
    runs: Sequence[DatedRun],
    baseline: DatedRun,
    metrics: Sequence[Metric],
    fixed: Sequence[str],
    plan: ComparisonPlan,
    clusters: Clusters | None,
) -> tuple[_Steps, ComparisonPlan]:
    """Each run against the one before it and against the baseline, and the settings."""
    wanted: list[tuple[Metric, DatedRun, DatedRun]] = []
    for metric in metrics:
        having = [run for run in runs if run.metric(metric)]
        pairs = dict.fromkeys(pairwise(having))
        if baseline in having:
            later = having[having.index(baseline) + 1 :]
            pairs |= dict.fromkeys((baseline, run) for run in later)
        wanted += [(metric, *pair) for pair in pairs]
    if plan.interval == "auto" and len(wanted) > MOST_INVERTED:
        plan = replace(plan, interval="t")
    # Two runs are paired once, not once per metric.
    metrics_by_pair: dict[tuple[DatedRun, DatedRun], list[Metric]] = {}
    for metric, before, after in wanted:
        metrics_by_pair.setdefault((before, after), []).append(metric)
    steps: _Steps = {}
    for (before, after), shared in metrics_by_pair.items():
        pair = pair_of(before, after)
        changes = {m.name: measurement_changes(before, after, m, fixed) for m in shared}
        comparable = {
            metric.name: (ours, theirs)
            for metric in shared
            if pair.n_same and not any(change.is_known for change in changes[metric.name])
            if (ours := before.metric(metric)) and (theirs := after.metric(metric))
        }
        tested = pair.compare([*comparable.values()], plan, clusters) if comparable else []
        rows = dict(zip(comparable, tested, strict=True))
        for name, own in changes.items():
            step = _Step(before, after, pair.gold_set, own, rows.get(name))
            steps[name, before.name, after.name] = step
    # In the order of the table, which is that of the metrics.
    keys = [(metric.name, before.name, after.name) for metric, before, after in wanted]
    return {key: steps[key] for key in keys}, plan


def _adjusted(
    steps: _Steps, metrics: Sequence[Metric], plan: ComparisonPlan, correction: str
) -> tuple[_Steps, int]:
    """The steps with their p-values corrected over the table, and the number of tests."""
    family, names = CorrectionFamily.of(metrics), [metric for metric, _, _ in steps]
    rows = [step.row for step in steps.values()]
    pvalues = np.array([math.nan if row is None else row.test.pvalue for row in rows])
    corrected = correct_in_family(family, names, pvalues, correction).tolist()
    alpha, fewest = plan.alpha, plan.fewest_units
    adjusted = {
        key: replace(step, pvalue=pvalue, alpha=alpha, fewest_units=fewest)
        for (key, step), pvalue in zip(steps.items(), corrected, strict=True)
    }
    return adjusted, family.size(names, pvalues)


# -- the result


@dataclass(frozen=True, eq=False, repr=False)
class History(Drawn):
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

    own_plot = "trends"

    runs: tuple[DatedRun, ...] = ()
    origin: tuple[str, ...] = ()

    @property
    def _last(self) -> pd.DataFrame:
        """The row of the last run of each metric that has a verdict."""
        return self.frame[self.frame["verdict"].notna()]

    @property
    def summary(self) -> str:
        """How the last run compares with the baseline, in one sentence."""
        last = self._last
        if last.empty:
            return ""
        parts = []
        for word in (WORSE, BETTER):
            names = last.loc[last["verdict"] == word, "metric"].tolist()
            if names:
                parts.append(f"{word} on {join_names(names, _MOST_NOTED)}")
        run, baseline = self.runs[-1].name, self.settings["baseline"]
        n = counted(len(last), "metric")
        if not parts:
            return f"{run} differs significantly from {baseline} on none of {n}."
        return f"Compared with {baseline}, {run} is {' and '.join(parts)} (of {n})."

    def printed(self) -> Result:
        """The last run against the baseline: a sentence, a row per metric, at most three notes."""
        last = self._last
        if last.empty:
            return self
        means = self.frame.pivot_table("mean", "metric", "run", dropna=False)
        shown = list(dict.fromkeys((self.settings["baseline"], *(r.name for r in self.runs[-3:]))))
        worse = self.frame[self.frame["first_regression"].astype(bool)]
        since = dict(zip(worse["metric"], worse["run"], strict=True))
        rows = []
        for row in last.to_dict("records"):
            own = {f"run {i}": means.loc[row["metric"]].get(shown[i]) for i in range(len(shown))}
            verdict = row["verdict"]
            if row["metric"] in since:
                earlier = f"{verdict}, worse at {since[row['metric']]}"
                verdict = f"worse since {since[row['metric']]}" if verdict == WORSE else earlier
            numbers = {name: row[f"difference_{name}"] for name in ("ci_low", "ci_high")}
            adjusted = row["difference_pvalue_adjusted"]
            head = {"metric": row["metric"], **own, "difference": row["difference"], **numbers}
            rows.append({**head, "pvalue_adjusted": adjusted, "verdict": verdict})
        frame = pd.DataFrame(rows)
        order = np.argsort([_ORDER.index(word) for word in last["verdict"]], kind="stable")
        columns = tuple(map(str, frame))
        headings = {f"run {i}": str(name) for i, name in enumerate(shown)}
        return answer_of(
            *(self, self.summary, frame.iloc[order]),
            columns=columns,
            grouped_by="",
            headings={**headings, "pvalue_adjusted": "p"},
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The last run against the baseline, one sentence per metric."""
        return tuple(self._sentence(row) for row in self._last.to_dict("records"))

    def _sentence(self, last: Mapping[Any, Any]) -> str:
        metric, run, baseline, word = (
            last[name] for name in ("metric", "run", "baseline", "verdict")
        )
        level = f"{100 * float(str(self.settings['confidence_level'])):g} % CI"
        limits = (last["difference_ci_low"], last["difference_ci_high"])
        size = abs(last["difference"])
        unit = ("cluster",) if "clusters" in self.settings else ("query", "queries")
        pairs = counted(int(last["difference_n"]), *unit)
        if word in (BETTER, WORSE):
            limits = limits if last["difference"] > 0 else (-limits[1], -limits[0])
            sentence = (
                f"{run} is {word} on {metric} than {baseline} by {number(size)} ({level} "
                f"{number(limits[0])} to {number(limits[1])}), adjusted p "
                f"{pvalue_text(last['difference_pvalue_adjusted'])}, {pairs}"
            )
        elif word == UNDECIDED:
            sentence = (
                f"{run}: {metric} is not significantly different from {baseline} "
                f"({number(last['difference'])}, {level} {number(limits[0])} to "
                f"{number(limits[1])}, {pairs})"
            )
        elif word == IDENTICAL:
            sentence = f"{run} and {baseline} are identical on {metric}"
        elif word == TOO_FEW:
            sentence = f"{run}: {pairs} are too few for a test of {metric}"
        else:
            why = last["differs_from_baseline"] or "no query is scored in both with one reference"
            sentence = f"{run} is not comparable with {baseline} on {metric}: {why}"
        rows = self.frame[self.frame["metric"] == metric]
        first = rows.loc[rows["first_regression"].astype(bool), "run"].tolist()
        if first and first[0] != run:
            sentence += f"; it was first worse at {first[0]}"
        falls = rows[(rows["since_previous"] == WORSE) & (rows["previous"] != baseline)]
        for fall in falls[~falls["run"].isin(first)].to_dict("records"):
            by = number(abs(fall["change"]))
            sentence += f"; {fall['run']} is worse than {fall['previous']} by {by}"
        return sentence

    def changes(self) -> Result:
        """What changed from run to run: configuration and gold set.

        Returns
        -------
        Result
            One row per run: ``run``, ``created``, ``pipeline``, ``n_queries``, ``query_set``,
            ``gold_set`` (how it differs from that of the previous run), ``config`` (the fields
            that differ, or that one of the runs does not have).
        """
        fields, rows = fields_of(self.runs), []
        for before, run in zip((None, *self.runs[:-1]), self.runs, strict=True):
            gold_set, config = None, None if fields else UNKNOWN
            if before is not None:
                gold_set = pair_of(before, run).gold_set.removeprefix("query set: ") or "the same"
                config = _changes_text(before, run, fields) or "the same" if fields else config
            moment = run.created
            rows.append(
                {
                    "run": run.name,
                    "created": moment and moment.isoformat(sep=" ", timespec="minutes"),
                    "pipeline": run.evaluation.name,
                    "n_queries": run.table.n_queries,
                    "query_set": run.query_set[:_SHORT_HASH],
                    "gold_set": gold_set,
                    "config": config,
                }
            )
        notes = (*_doubts(self.runs), *self.origin)
        return Result("What changed from run to run", pd.DataFrame(rows), {}, notes)


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
    """The history of runs in order of time; the parameters are those of `history`.

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
    >>> trends(runs).summary
    'Compared with monday, tuesday is worse on exact_match (of 1 metric).'
    """
    for what, name, known in (
        ("paired test", plan.test, ["auto", *TESTS]),
        ("interval of a paired difference", plan.interval, ["auto", *PAIRED_INTERVALS]),
        ("correction", correction, list(CORRECTIONS)),
    ):
        if name not in known:
            raise UnknownNameError(what, name, known)
    first = _find_baseline(runs, baseline)
    chosen = _choose_metrics(runs, metrics)
    fields = _choose_fields(fixed, fields_of(runs))
    steps, plan = _run_tests(runs, first, chosen, fields, plan, clusters)
    steps, n_tests = _adjusted(steps, chosen, plan, correction)
    summaries = {run.name: _means(run, chosen, plan, clusters) for run in runs}
    rows = [
        row for metric in chosen for row in _history_rows(metric, runs, first, steps, summaries)
    ]
    names = list(dict.fromkeys(run.evaluation.name for run in runs))
    of = f"{len(runs)} runs" if len(names) > _MOST_IN_TITLE else " and ".join(names)
    settings = {
        "baseline": first.name,
        "fixed": tuple(fields),
        **plan.settings(),
        "correction": correction,
        "family_size": n_tests,
        **clusters_setting(clusters),
        **engine_setting(first.evaluation),
    }
    return History(
        f"History of {of}" + (f", against {first.name}" if len(runs) > 1 else ""),
        pd.DataFrame(rows),
        settings,
        (
            *_doubts(runs),
            *_notes(runs, first, chosen, steps, correction, n_tests),
            *unnamed_clusters(first.evaluation, clusters),
        ),
        headline=("run", "n", "mean", "ci_low", "ci_high", "change", "difference", "marks"),
        grouped_by="metric",
        runs=tuple(runs),
    )


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
            others = (later for later in known.values() if later.name not in run.metrics)
            meanings = {later.known_as for later in others}
            if metric.name not in known and metric.known_as not in meanings:
                known[metric.name] = metric
    if metrics is None:
        return list(known.values())
    resolve = resolver(known)
    requested = [metrics] if isinstance(metrics, str) else metrics
    return [replace(known[resolve(name)], in_family=True) for name in requested]


def _choose_fields(fixed: Iterable[str] | None, fields: Sequence[str]) -> list[str]:
    """The fields that must be equal: those that say how answers were measured, or the caller's."""
    if fixed is None:
        words = {field: re.findall("[a-z]+", field.lower()) for field in fields}
        return [field for field in fields if not _OF_MEASUREMENT.isdisjoint(words[field])]
    names = [fixed] if isinstance(fixed, str) else list(fixed)
    for field in names:
        if field not in fields:
            raise UnknownNameError("field of the configuration of these runs", field, fields)
    return names


def _means(
    run: DatedRun, metrics: Sequence[Metric], plan: ComparisonPlan, clusters: Clusters | None
) -> dict[str, dict[Any, Any]]:
    """The mean of each metric that the run has with its interval, by the history's name."""
    own = {metric.name: mine.name for metric in metrics if (mine := run.metric(metric))}
    if not own:
        return {}
    summary = summarise(
        run.evaluation,
        metrics=[*own.values()],
        percentiles=(),
        confidence_level=plan.confidence_level,
        n_resamples=plan.n_resamples,
        seed=plan.seed,
        clusters=clusters,
    )
    rows: dict[Any, dict[Any, Any]] = summary.frame.set_index("metric").to_dict("index")
    return {name: rows[mine] for name, mine in own.items()}


def _history_rows(
    metric: Metric,
    runs: Sequence[DatedRun],
    baseline: DatedRun,
    steps: _Steps,
    summaries: Mapping[str, Mapping[str, Mapping[Any, Any]]],
) -> Iterator[dict[str, object]]:
    """One row per run that has the metric."""
    having = [run for run in runs if metric.name in summaries[run.name]]
    of_baseline = {run: steps.get((metric.name, baseline.name, run.name)) for run in having}
    worse = (run for run, step in of_baseline.items() if step and step.outcome == WORSE)
    regression, segment = next(worse, None), 0
    for before, run in zip((None, *having[:-1]), having, strict=True):
        mean = summaries[run.name][metric.name]
        previous = None if before is None else steps[metric.name, before.name, run.name]
        since = of_baseline[run]
        # Lines are drawn within a segment only, so not across a break.
        segment += bool(previous and previous.differs)
        yield {
            "metric": metric.name,
            "title": metric.title,
            "run": run.name,
            "place": runs.index(run),
            "created": run.created,
            "query_set": run.query_set[:_SHORT_HASH],
            "segment": segment,
            **{name: mean[name] for name in ("n", "n_unscored", "mean", "ci_low", "ci_high")},
            "previous": None if before is None else before.name,
            **_columns(previous, "change", "since_previous"),
            "baseline": baseline.name,
            **_columns(since, "difference", "since_baseline"),
            "first_regression": run is regression,
            "differs": (previous and previous.differs) or None,
            "unknown": (previous and previous.unknown) or None,
            "differs_from_baseline": (since and since.differs) or None,
            "marks": _marks(previous, since, is_first=run is regression),
            "kind": metric.kind,
            "greater_is_better": metric.greater_is_better,
            "ci_method": mean["ci_method"],
            "verdict": since.outcome if since and run is having[-1] else None,
        }


def _marks(previous: _Step | None, since: _Step | None, *, is_first: bool) -> str | None:
    """The marks of a row that a reader must not miss, the most serious first."""
    marks = []
    if since is not None and since.outcome in (BETTER, WORSE):
        mark = f"{since.outcome} than {since.before.name}"
        marks.append("first regression" if is_first else mark)
    if previous is not None:
        # If the previous run is the baseline, the mark against the baseline has said it already.
        is_marked = since is not None and since.before is previous.before
        if previous.outcome in (BETTER, WORSE) and not is_marked:
            marks.append(f"{previous.outcome} than before")
        fields = [change.field for change in previous.changes if change.is_known]
        fields = ["query set", *fields] if previous.gold_set else fields
        marks += [f"other {', '.join(fields)}"] if fields else []
        marks += ["perhaps not comparable"] if previous.unknown else []
    return "; ".join(marks) or None


# -- the notes


def _doubts(runs: Iterable[DatedRun]) -> Iterator[str]:
    """The doubts about the scores of runs, each once, with the names of the runs that have it."""
    names_by_doubt: dict[str, dict[str, None]] = {}
    for run in runs:
        # Older evaluations, and those of other libraries, may have no notes.
        for doubt in filter(is_doubt, getattr(run.evaluation, "notes", ())):
            names_by_doubt.setdefault(doubt, {})[run.name] = None
    for doubt, names in names_by_doubt.items():
        yield f"{DOUBT}{join_names([*names], _MOST_NOTED)}: {doubt[len(DOUBT) :]}"


def _notes(
    runs: Sequence[DatedRun],
    baseline: DatedRun,
    metrics: Sequence[Metric],
    steps: _Steps,
    correction: str,
    n_tests: int,
) -> Iterator[str]:
    """Breaks, changes, missing scores, the number of tests."""
    if len(runs) == 1:
        yield "only one run: there is nothing to compare it with yet"
    yield from _break_notes(runs, metrics, steps)
    for metric in metrics:
        without = [run.name for run in runs if run.metric(metric) is None]
        if without:
            yield f"{metric.name} is not in {join_names(without, _MOST_NOTED)}"
        if baseline.name in without and len(runs) > 1:
            yield f"{metric.name}: no difference from the baseline {baseline.name}, which lacks it"
    fields = fields_of(runs)
    changed = [
        f"{after.name} ({changes})"
        for before, after in pairwise(runs)
        if (changes := _changes_text(before, after, fields))
    ]
    if not fields:
        yield "no run has a configuration: what changed between runs is unknown"
    elif changed:
        yield f"the configuration changed, or is unknown, at {join_names(changed, _MOST_NOTED)}"
    if n_tests > 1 and correction == "none":
        yield f"{n_tests} tests without correction: some will be false alarms"
    elif n_tests > 1:
        yield (
            f"p-values are adjusted ({correction}) for {n_tests} tests; as a history grows there "
            "are more, and an early finding may disappear"
        )
    unscored = {
        metric.name: max(
            run.table.n_queries - run.table.column(mine).n
            for run in runs
            if (mine := run.metric(metric))
        )
        for metric in metrics
    }
    counts = [f"up to {n} of {name}" for name, n in unscored.items() if n]
    if counts:
        yield f"missing scores in a run, not in the means: {', '.join(counts)}"
    yield (
        f"change: from the previous run; difference: from {baseline.name}; both over the "
        "queries that both runs scored"
    )


def _break_notes(
    runs: Sequence[DatedRun], metrics: Sequence[Metric], steps: _Steps
) -> Iterator[str]:
    """Breaks in comparability, and possible ones, each once for all metrics."""
    neighbours = {(before.name, after.name) for before, after in pairwise(runs)}
    metrics_by_note: dict[str, list[str]] = {}
    for (name, before, after), step in steps.items():
        for change, text in (
            (step.differs, f"{after} is not directly comparable with {before}"),
            (step.unknown, f"whether {after} is comparable with {before} is unknown"),
        ):
            if change and (before, after) in neighbours:
                metrics_by_note.setdefault(f"{text}: {change}", []).append(name)
    for note, names in metrics_by_note.items():
        yield note if len(names) == len(metrics) else f"{', '.join(names)}: {note}"
    if any(step.gold_set and step.row is not None for step in steps.values()):
        yield "where the gold set changed, tests use the queries that are the same in both runs"


def _changes_text(before: DatedRun, after: DatedRun, fields: Sequence[str]) -> str:
    return "; ".join(map(str, config_changes(before.config, after.config, fields)))
