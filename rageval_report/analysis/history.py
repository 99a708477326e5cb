"""Runs of a pipeline in the order of time: what changed, and the trend of each metric."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pandas as pd

from rageval_report.analysis import arguments, paired_metric, report, tables
from rageval_report.analysis.pairing import PairedRuns, Pairing, compared_rows, twin_of
from rageval_report.analysis.verdicts import CorrectionFamily
from rageval_report.errors import DataError, UnknownNameError, doubts_of
from rageval_report.plots.drawn import Drawn
from rageval_report.reports.sentences import correction_note, counted, direction_notes, join_names
from rageval_report.results import Result, answer_of
from rageval_report.scores import Metric, Scored
from rageval_report.scores.align import align, places_on_two_scales, range_text
from rageval_report.scores.run_file import query_set, query_set_hash
from rageval_report.scores.saved_columns import plain_value
from rageval_report.scores.shown import BETTER, DIRECTION_UNKNOWN, IDENTICAL, UNDECIDED, WORSE
from rageval_report.stats.corrections import CORRECTIONS

UNKNOWN = "unknown"
_LONGEST = 40


@dataclass(frozen=True, eq=False)
class DatedRun:
    """A run of a history: an evaluation with its own name, its time and its configuration."""

    name: str
    evaluation: Scored
    created: datetime | None
    config: Mapping[str, Any]
    query_set: str

    @classmethod
    def of(
        cls,
        evaluation: Any,
        *,
        name: str | None = None,
        created: datetime | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> Self:
        """A run from an evaluation, named like it if the name is omitted."""
        queries = evaluation.queries() if arguments.is_scan(evaluation) else evaluation
        flat = dict(_flat(config or {}))
        return cls(name or evaluation.name, evaluation, created, flat, query_set_hash(queries))

    @property
    def table(self) -> tables.PipelineTable:
        """The scores as columns."""
        return tables.table_of(self.evaluation)

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """The description of each metric."""
        return self.evaluation.metrics

    def metric(self, known: Metric) -> Metric | None:
        """A metric as this run knows it, by its name or else its meaning; None without it."""
        return twin_of(known, self.evaluation)


def _flat(config: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in config.items():
        # An empty mapping is a value of its own; without fields inside, its own would vanish.
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", plain_value(value)


def config_changes(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    fields: Iterable[str],
    *,
    of_both: bool = False,
) -> list[str]:
    """The fields that differ, or are unknown in one of them, unless only those of both count."""
    changes = []
    for field in fields:
        is_known = field in before and field in after
        is_same = is_known and before[field] == after[field]
        if not is_same and (is_known or not of_both):
            texts = (" ".join(str(own.get(field, UNKNOWN)).split()) for own in (before, after))
            short = [t if len(t) <= _LONGEST else f"{t[: _LONGEST - 1]}…" for t in texts]
            changes.append(f"{field}: {' → '.join(dict.fromkeys(short))}")
    return changes


def fields_of(runs: Iterable[DatedRun]) -> list[str]:
    """The fields of all runs, in the order of first appearance."""
    return list(dict.fromkeys(field for run in runs for field in run.config))


def measurement_changes(
    before: DatedRun, after: DatedRun, metric: Metric, fixed: Iterable[str]
) -> list[str]:
    """The changes that prevent a comparison on a metric."""
    changes = config_changes(before.config, after.config, fixed, of_both=True)
    ours, theirs = before.metric(metric), after.metric(metric)
    if ours is None or theirs is None:
        return changes
    ways = [f"{'higher' if own.greater_is_better else 'lower'} is better" for own in (ours, theirs)]
    if ways[0] != ways[1]:
        changes.append(f"direction: {' → '.join(ways)}")
    scores = before.table.sample.scores, after.table.sample.scores
    if ours.bounds and theirs.bounds and tuple(ours.bounds) != tuple(theirs.bounds):
        changes.append(f"bounds: {ours.bounds} → {theirs.bounds}")
    elif places_on_two_scales((ours, theirs), scores):
        changes.append(f"scale: {' → '.join(map(range_text, (ours, theirs), scores))}")
    return changes


# -- two runs on the queries that are the same in both


@dataclass(frozen=True, eq=False)
class SameQueries:
    """Two runs in memory on the queries that have the same id and the same reference in both."""

    before: DatedRun
    after: DatedRun

    @property
    def gold_set(self) -> str:
        """How the gold set changed, in words; empty if it is the same."""
        if self.before.query_set == self.after.query_set:
            return ""
        counts = zip(("added", "removed", "with another reference"), self._changes(), strict=True)
        return "query set: " + ", ".join(f"{n} {what}" for what, n in counts if n)

    @property
    def n_same(self) -> int:
        """The number of the queries that are the same."""
        return self._pairing.n_common

    def compare(
        self,
        metrics: Sequence[tuple[Metric, Metric]],
        plan: paired_metric.ComparisonPlan,
        clusters: arguments.Clusters | None,
    ) -> list[paired_metric.MetricComparison]:
        """The test of some metrics, as either run knows them."""
        pairing, own = self._paired(metrics, plan, clusters)
        return [paired_metric.MetricComparison.of(pairing, *pair, own) for pair in metrics]

    def _paired(
        self,
        metrics: Sequence[tuple[Metric, Metric]],
        plan: paired_metric.ComparisonPlan,
        clusters: arguments.Clusters | None,
    ) -> tuple[PairedRuns, paired_metric.ComparisonPlan]:
        """The pairs of some metrics, and the settings with the units of this pair of runs."""
        del metrics
        units = arguments.resolve_units(
            self.before.evaluation, clusters, compared_rows([self._pairing])
        )
        return self._pairing, replace(plan, units=units)

    def _changes(self) -> tuple[int, int, int]:
        """The number of queries that are new, gone, and kept with another reference."""
        ids, others = (run.evaluation.scores.index for run in (self.before, self.after))
        common = len(ids.intersection(others))
        return len(others) - common, len(ids) - common, common - len(self._same_ids)

    @cached_property
    def _same_ids(self) -> pd.Index:
        ids = self.before.evaluation.scores.index
        if self.before.query_set == self.after.query_set:
            return ids
        later = frozenset(query_set(self.after.evaluation))
        return ids[[query in later for query in query_set(self.before.evaluation)]]

    @cached_property
    def _pairing(self) -> Pairing:
        before, after = (
            arguments.EvaluationSubset(run.name, own.scores, own.details, dict(own.metrics))
            for run in (self.before, self.after)
            for own in (run.evaluation,)
        )
        alignment, same = align(before.scores.index, after.scores.index), self._same_ids
        if len(same) < len(alignment.ids):
            scores, details = after.scores.loc[same], after.details.loc[same]
            after = replace(after, scores=scores, details=details)
            alignment = align(before.scores.index, same)
        return Pairing(before, after, [], alignment)


def pair_of(before: DatedRun, after: DatedRun) -> SameQueries:
    """Two runs on the queries that are the same in both; scans pair by their engine."""
    scan: Any = before.evaluation
    return scan.run_beside(before, after) if arguments.is_scan(scan) else SameQueries(before, after)


TOO_FEW, NOT_COMPARED = "too few", "not compared"
# What matters first.
_ORDER = WORSE, BETTER, DIRECTION_UNKNOWN, UNDECIDED, TOO_FEW, IDENTICAL, NOT_COMPARED
# With more tests than this, inverting each of them for its interval would take minutes.
MOST_INVERTED = 100
# Words in the name of a field that says how answers were measured, not how they were generated.
_OF_MEASUREMENT = frozenset(
    "judge judges evaluator evaluators grader dataset datasets split gold qrels testset".split()
)
_MOST_IN_TITLE, _MOST_NOTED, _SHORT_HASH = 2, 5, 8
_NUMBERS = ("ci_low", "ci_high", "pvalue", "pvalue_adjusted")


@dataclass(frozen=True, eq=False, repr=False)
class History(Drawn):
    """The trend of each metric over the runs of a pipeline: one row per metric and run."""

    own_plot = "trends"

    runs: tuple[DatedRun, ...] = ()

    @property
    def _last(self) -> pd.DataFrame:
        """The row of the last run of each metric that has a verdict."""
        return self.frame[self.frame["verdict"].notna()]

    @property
    def _first_worse(self) -> dict[str, str]:
        """The run at which a metric was first worse than in the baseline, by metric."""
        worse = self.frame[self.frame["first_regression"].astype(bool)]
        return dict(zip(worse["metric"], worse["run"], strict=True))

    @property
    def summary(self) -> str:
        """How the last run compares with the baseline, in one sentence."""
        last = self._last
        if last.empty:
            return ""
        names = {word: last.loc[last["verdict"] == word, "metric"].tolist() for word in _ORDER[:3]}
        parts = [f"{word} on {join_names(own, _MOST_NOTED)}" for word, own in names.items() if own]
        run, baseline = self.runs[-1].name, self.settings["baseline"]
        n = counted(len(last), "metric")
        if not parts:
            return f"{run} differs significantly from {baseline} on none of {n}."
        return f"Compared with {baseline}, {run} is {' and '.join(parts)} (of {n})."

    def printed(self) -> Result:
        """The last run against the baseline: a sentence, a row per metric, at most three notes."""
        last = self._last.sort_values(
            "verdict", key=lambda words: words.map(_ORDER.index), kind="stable"
        )
        if last.empty:
            return self
        shown = list(dict.fromkeys((self.settings["baseline"], *(r.name for r in self.runs[-3:]))))
        means = self.frame.pivot_table("mean", "metric", "run", dropna=False)
        frame = means.reindex(last["metric"], columns=pd.Index(shown)).reset_index()
        frame.columns = pd.Index(["metric", *(f"run {place}" for place in range(len(shown)))])
        frame["difference"] = last["difference"].to_numpy()
        for name in ("ci_low", "ci_high", "pvalue_adjusted"):
            frame[name] = last[f"difference_{name}"].to_numpy()
        frame["verdict"] = [*map(self._dated_verdict, last["metric"], last["verdict"])]
        headings = {f"run {place}": str(name) for place, name in enumerate(shown)}
        return answer_of(
            *(self, self.summary, frame),
            columns=tuple(map(str, frame)),
            grouped_by="",
            headings={**headings, "pvalue_adjusted": "p"},
        )

    def _dated_verdict(self, metric: str, verdict: str) -> str:
        """The verdict, and since when the metric is or was worse."""
        since = self._first_worse.get(metric)
        if since is None:
            return verdict
        return f"worse since {since}" if verdict == WORSE else f"{verdict}, worse at {since}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """The last run against the baseline, metric by metric."""
        rows = self._last[["metric", "verdict"]].to_numpy().tolist()
        return tuple(f"{metric}: {self._dated_verdict(metric, word)}" for metric, word in rows)

    def changes(self) -> Result:
        """What changed from run to run: configuration and gold set."""
        fields, rows = fields_of(self.runs), []
        for before, run in zip((None, *self.runs[:-1]), self.runs, strict=True):
            gold_set, config = None, None if fields else UNKNOWN
            if before is not None:
                gold_set = pair_of(before, run).gold_set.removeprefix("query set: ") or "the same"
                config = _changes_text(before, run, fields) or "the same" if fields else config
            moment = run.created and run.created.isoformat(sep=" ", timespec="minutes")
            row = {"run": run.name, "created": moment, "pipeline": run.evaluation.name}
            counts = {"n_queries": run.table.n_queries, "query_set": run.query_set[:_SHORT_HASH]}
            rows.append({**row, **counts, "gold_set": gold_set, "config": config})
        return Result("What changed from run to run", pd.DataFrame(rows))


def trends(
    runs: Sequence[DatedRun],
    *,
    baseline: str | None = None,
    metrics: str | Iterable[str] | None = None,
    fixed: Iterable[str] | None = None,
    correction: str = "holm",
    plan: paired_metric.ComparisonPlan = paired_metric.DEFAULT_PLAN,
    clusters: arguments.Clusters | None = None,
) -> History:
    """The history of runs in order of time; the parameters are those of `history`."""
    if correction not in CORRECTIONS:
        raise UnknownNameError("correction", correction, list(CORRECTIONS))
    first, chosen = _find_baseline(runs, baseline), _choose_metrics(runs, metrics)
    fields = _choose_fields(fixed, fields_of(runs))
    pairs = [pair for metric in chosen for pair in _pairs_of(metric, runs, first)]
    if plan.interval == "auto" and len(pairs) > MOST_INVERTED:
        plan = replace(plan, interval="t")
    trend = _Trends(runs, first, chosen, pairs, fields, correction, plan, clusters)
    names = list(dict.fromkeys(run.evaluation.name for run in runs))
    doubts = dict.fromkeys(doubts_of(run.evaluation for run in runs))
    of = f"{len(runs)} runs" if len(names) > _MOST_IN_TITLE else " and ".join(names)
    return History(
        f"History of {of}" + (f", against {first.name}" if len(runs) > 1 else ""),
        pd.DataFrame([row for metric in chosen for row in trend.rows(metric)]),
        {
            "baseline": first.name,
            "fixed": tuple(fields),
            **plan.settings(),
            "correction": correction,
            "family_size": trend.tested[1],
            **arguments.clusters_setting(clusters),
            **arguments.engine_setting(first.evaluation),
        },
        (*doubts, *trend.notes(), *arguments.unnamed_clusters(first.evaluation, clusters)),
        headline=(
            *("run", "n", "mean", "ci_low", "ci_high", "change", "difference", "since_baseline"),
        ),
        grouped_by="metric",
        runs=tuple(runs),
    )


def _find_baseline(runs: Sequence[DatedRun], baseline: str | None) -> DatedRun:
    if not runs:
        raise DataError("a history needs at least one run; got none")
    by_name = {run.name: run for run in runs}
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
    chosen = arguments.pick(known, metrics)
    return [replace(each, in_family=True) for each in chosen] if metrics is not None else chosen


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


_Pair = tuple[Metric, DatedRun, DatedRun]


def _pairs_of(metric: Metric, runs: Sequence[DatedRun], baseline: DatedRun) -> Iterator[_Pair]:
    """Each run that has a metric after the one before it, and after the baseline."""
    having = [run for run in runs if run.metric(metric)]
    later = having[having.index(baseline) + 1 :] if baseline in having else []
    for pair in dict.fromkeys((*pairwise(having), *((baseline, run) for run in later))):
        yield metric, *pair


# -- the tests: a step is one metric of two runs, as a mapping of what differs and its numbers

_Step = dict[str, Any]
_NO_STEP: _Step = {
    **dict.fromkeys(("outcome", "differs")),
    **dict.fromkeys(("difference", *_NUMBERS), math.nan),
    "n": 0,
}


def _step(gold_set: str, changes: list[str], row: paired_metric.MetricComparison | None) -> _Step:
    """What differs, and the test if the scores mean the same; its outcome is not adjusted yet."""
    differs = "; ".join(filter(None, (gold_set, *changes))) or None
    step = {**_NO_STEP, "outcome": NOT_COMPARED, "differs": differs}
    if row is not None and row.test.n:
        gains = (row.test.difference > 0) == row.metric.greater_is_better
        numbers = (row.test.difference, row.interval.low, row.interval.high, row.test.pvalue)
        step |= dict(zip(("difference", *_NUMBERS), numbers, strict=False))
        word = BETTER if gains else WORSE
        word = word if row.metric.direction_is_known else DIRECTION_UNKNOWN
        word = word if row.pairs.by_query.n_changed else IDENTICAL
        step |= {"n": row.test.n, "outcome": word}
    return step


@dataclass(frozen=True, eq=False)
class _Trends:
    """The runs of a history, and how they are compared."""

    runs: Sequence[DatedRun]
    first: DatedRun
    metrics: Sequence[Metric]
    pairs: Sequence[_Pair]
    fixed: Sequence[str]
    correction: str
    plan: paired_metric.ComparisonPlan
    clusters: arguments.Clusters | None

    @cached_property
    def tested(self) -> tuple[dict[tuple[str, str, str], _Step], int]:
        """The steps by metric, earlier and later run; and the number of tests of quality."""
        compared: dict[tuple[str, str, str], _Step] = {}
        # Two runs are paired once, not once per metric.
        for before, after in dict.fromkeys(pair[1:] for pair in self.pairs):
            shared = [metric for metric, *pair in self.pairs if pair == [before, after]]
            for name, step in self._compare(before, after, shared):
                compared[name, before.name, after.name] = step
        keys = ((metric.name, before.name, after.name) for metric, before, after in self.pairs)
        ordered = {key: compared[key] for key in keys}
        pvalues = np.array([step["pvalue"] for step in ordered.values()], dtype=np.float64)
        family = CorrectionFamily.of(self.metrics).tested([name for name, _, _ in ordered], pvalues)
        corrected = family.adjusted(self.correction).tolist()
        for step, pvalue in zip(ordered.values(), corrected, strict=True):
            step["pvalue_adjusted"] = pvalue
            is_test = step["outcome"] in (BETTER, WORSE, DIRECTION_UNKNOWN)
            if is_test and not pvalue <= self.plan.alpha:
                few = step["n"] < self.plan.fewest_units
                step["outcome"] = TOO_FEW if few else UNDECIDED
        return ordered, family.size

    def _compare(
        self, before: DatedRun, after: DatedRun, metrics: Sequence[Metric]
    ) -> Iterator[tuple[str, _Step]]:
        """Each metric of two runs."""
        pair = pair_of(before, after)
        changes = {m.name: measurement_changes(before, after, m, self.fixed) for m in metrics}
        comparable = {
            metric.name: (ours, theirs)
            for metric in metrics
            if pair.n_same and not changes[metric.name]
            if (ours := before.metric(metric)) and (theirs := after.metric(metric))
        }
        common = ([*comparable.values()], self.plan, self.clusters)
        rows = dict(zip(comparable, pair.compare(*common) if comparable else [], strict=True))
        for name, own in changes.items():
            yield name, _step(pair.gold_set, own, rows.get(name))

    # -- the table

    @cached_property
    def means(self) -> dict[str, dict[str, dict[Any, Any]]]:
        """The mean of each metric with its interval, by run and by the history's name."""
        means: dict[str, dict[str, dict[Any, Any]]] = {}
        for run in self.runs:
            own = {m.name: mine.name for m in self.metrics if (mine := run.metric(m))}
            means[run.name] = {}
            if own:
                summary = report.summarise(
                    run.evaluation,
                    metrics=[*own.values()],
                    percentiles=(),
                    **self.plan.keywords,
                    clusters=self.clusters,
                )
                rows = summary.frame.set_index("metric").to_dict("index")
                means[run.name] = {name: rows[mine] for name, mine in own.items()}
        return means

    def rows(self, metric: Metric) -> Iterator[dict[str, object]]:
        """One row per run that has the metric."""
        having = [run for run in self.runs if metric.name in self.means[run.name]]
        steps = {
            run: self.tested[0].get((metric.name, self.first.name, run.name), _NO_STEP)
            for run in having
        }
        regression = next((r for r, since in steps.items() if since["outcome"] == WORSE), None)
        segment = 0
        for before, run in zip((None, *having[:-1]), having, strict=True):
            mean, since = self.means[run.name][metric.name], steps[run]
            key = (metric.name, before.name if before else "", run.name)
            previous = self.tested[0].get(key, _NO_STEP)
            # Lines are drawn within a segment only, so not across a break.
            segment += previous["differs"] is not None
            yield {
                "metric": metric.name,
                "title": metric.title,
                "run": run.name,
                "place": self.runs.index(run),
                "created": run.created,
                "query_set": run.query_set[:_SHORT_HASH],
                "segment": segment,
                **{name: mean[name] for name in ("n", "n_unscored", "mean", "ci_low", "ci_high")},
                "previous": None if before is None else before.name,
                **_columns(previous, "change"),
                "since_previous": previous["outcome"],
                "baseline": self.first.name,
                **_columns(since, "difference"),
                "since_baseline": since["outcome"],
                "first_regression": run is regression,
                "differs": previous["differs"],
                "differs_from_baseline": since["differs"],
                "kind": metric.kind,
                "greater_is_better": metric.greater_is_better,
                "ci_method": mean["ci_method"],
                "verdict": since["outcome"] if run is having[-1] else None,
            }

    # -- the notes

    def notes(self) -> Iterator[str]:
        """Breaks, changes, missing scores, the number of tests."""
        runs, (_, n_tests) = self.runs, self.tested
        if len(runs) == 1:
            yield "only one run: there is nothing to compare it with yet"
        yield from self._break_notes()
        yield from direction_notes(self.metrics)
        fields = fields_of(runs)
        texts = ((pair[1].name, _changes_text(*pair, fields)) for pair in pairwise(runs))
        changed = [f"{name} ({text})" for name, text in texts if text]
        if changed:
            yield f"the configuration changed, or is unknown, at {join_names(changed, _MOST_NOTED)}"
        if n_tests > 1:
            yield correction_note(self.correction, n_tests, self.plan.alpha)

    def _break_notes(self) -> Iterator[str]:
        """Breaks in comparability, each once for all metrics."""
        neighbours = {(before.name, after.name) for before, after in pairwise(self.runs)}
        notes = [
            (name, f"{after} is not directly comparable with {before}: {step['differs']}")
            for (name, before, after), step in self.tested[0].items()
            if step["differs"] and (before, after) in neighbours
        ]
        for text in dict.fromkeys(text for _, text in notes):
            names = [name for name, own in notes if own == text]
            yield text if len(names) == len(self.metrics) else f"{', '.join(names)}: {text}"
        if len({run.query_set for run in self.runs}) > 1:
            yield "where the gold set changed, tests use the queries that are the same in both runs"


def _columns(step: _Step, what: str) -> dict[str, object]:
    """The numbers of a step under their names in the table; NaN if nothing was tested."""
    numbers = {f"{what}_{name}": step[name] for name in _NUMBERS}
    return {f"{what}_n": step["n"], what: step["difference"], **numbers}


def _changes_text(before: DatedRun, after: DatedRun, fields: Sequence[str]) -> str:
    return "; ".join(config_changes(before.config, after.config, fields))
