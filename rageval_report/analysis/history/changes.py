"""What changed from one run to another: its configuration, its gold set, how it was measured.

A field that a run does not tell is unknown, which is never taken for equal.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

import pandas as pd

from rageval_report.scores import Metric, Scored
from rageval_report.scores.run_file import plain_value, query_set, query_set_hash

UNKNOWN = "unknown"

# Words in the name of a field that tells how answers were measured, not how they were made.
_OF_MEASUREMENT = frozenset(
    "judge judges evaluator evaluators grader dataset datasets split gold qrels testset".split()
)
_WORDS = re.compile(r"[a-z]+")
_LONGEST = 40
_SHORT_HASH = 8


@dataclass(frozen=True, eq=False)
class DatedRun:
    """A run of a history: an evaluation under a name of its own, with its time and set-up.

    Parameters
    ----------
    name : str
        Unique in its history.
    evaluation : Scored
        The scores.
    created : datetime, optional
        When the pipeline was run.
    config : mapping of str to object
        How it was set up; what is not known is not there. Names of nested fields hold dots.
    query_set : str
        The hash of its query ids and references.
    """

    name: str
    evaluation: Scored
    created: datetime | None
    config: Mapping[str, Any]
    query_set: str

    @classmethod
    def of(
        cls,
        evaluation: Scored,
        *,
        name: str | None = None,
        created: datetime | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> Self:
        """A run from an evaluation.

        Parameters
        ----------
        evaluation : Scored
            The scores.
        name : str, optional
            The evaluation's where not given.
        created, config
            As in the class.

        Examples
        --------
        >>> from rageval_report import RAGPipelineEvaluation
        >>> scores = RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "recall": [0.5]})
        >>> DatedRun.of(scores, config={"retriever": {"top_k": 5}}).config
        {'retriever.top_k': 5}
        """
        return cls(
            name or evaluation.name,
            evaluation,
            created,
            dict(_flat(config or {})),
            query_set_hash(evaluation),
        )

    @property
    def short_query_set(self) -> str:
        """As much of the hash as people compare."""
        return self.query_set[:_SHORT_HASH]

    @property
    def scores(self) -> pd.DataFrame:
        """A row a query, a column a metric."""
        return self.evaluation.scores

    @property
    def details(self) -> pd.DataFrame:
        """Everything else that is known of the queries."""
        return self.evaluation.details

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What is known of each metric."""
        return self.evaluation.metrics

    def metric(self, known: Metric) -> Metric | None:
        """The run's own form of a metric, by its name or else its meaning; None without it."""
        by_meaning = {one.known_as: one for one in self.metrics.values()}
        return self.metrics.get(known.name) or by_meaning.get(known.known_as)


def _flat(config: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in config.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", plain_value(value)


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field of two runs that differs, or that one of them does not tell.

    Parameters
    ----------
    field : str
        Its name.
    before, after : str
        Its values as text; "unknown" where the run does not tell it.
    is_known : bool
        Whether both runs tell it.
    """

    field: str
    before: str
    after: str
    is_known: bool

    def __str__(self) -> str:
        if self.before == self.after == UNKNOWN:
            return f"{self.field}: {UNKNOWN}"
        return f"{self.field}: {self.before} → {self.after}"


def config_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], fields: Iterable[str]
) -> list[FieldChange]:
    """The fields that differ between two set-ups, and those that either does not tell.

    Parameters
    ----------
    before, after : mapping of str to object
        Two set-ups.
    fields : iterable of str
        The fields to look at, as all that any run of the history tells.

    Examples
    --------
    >>> changes = config_changes({"k": 5, "model": "a"}, {"k": 10}, ["k", "model", "seed"])
    >>> [str(change) for change in changes]
    ['k: 5 → 10', 'model: a → unknown', 'seed: unknown']
    """
    found = []
    for field in fields:
        is_known = field in before and field in after
        if not is_known or before[field] != after[field]:
            told = FieldChange(field, _told(before, field), _told(after, field), is_known)
            found.append(told)
    return found


def _told(config: Mapping[str, Any], field: str) -> str:
    if field not in config:
        return UNKNOWN
    told = " ".join(str(config[field]).split())
    return told if len(told) <= _LONGEST else f"{told[: _LONGEST - 1]}…"


def is_of_measurement(field: str) -> bool:
    """Whether a field tells, by its name, how answers were measured.

    Examples
    --------
    >>> is_of_measurement("judge_model"), is_of_measurement("retriever.model")
    (True, False)
    """
    return not _OF_MEASUREMENT.isdisjoint(_WORDS.findall(field.lower()))


def fields_of(runs: Iterable[DatedRun]) -> list[str]:
    """All fields that any of the runs tells, in the order of first mention."""
    return list(dict.fromkeys(field for run in runs for field in run.config))


def measurement_changes(
    before: DatedRun, after: DatedRun, metric: Metric, fixed: Iterable[str]
) -> list[FieldChange]:
    """What keeps two runs from being compared on a metric, and what may, being unknown.

    Parameters
    ----------
    before, after : DatedRun
        Two runs that both have the metric.
    metric : Metric
        The metric.
    fixed : iterable of str
        The fields of the set-up that must be equal for scores to mean the same.
    """
    changes = config_changes(before.config, after.config, fixed)
    ours, theirs = before.metric(metric), after.metric(metric)
    if ours is None or theirs is None:
        return changes
    if ours.greater_is_better != theirs.greater_is_better:
        changes.append(FieldChange("direction", _way(ours), _way(theirs), is_known=True))
    if ours.bounds and theirs.bounds and tuple(ours.bounds) != tuple(theirs.bounds):
        changes.append(FieldChange("bounds", str(ours.bounds), str(theirs.bounds), is_known=True))
    return changes


def _way(metric: Metric) -> str:
    return "higher is better" if metric.greater_is_better else "lower is better"


def query_set_change(before: DatedRun, after: DatedRun) -> str:
    """How the gold set changed, in words; empty where it is the same.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> runs = [
    ...     DatedRun.of(RAGPipelineEvaluation("hybrid", {"query_id": ids, "recall": [0.5, 1.0]}))
    ...     for ids in (["a", "b"], ["b", "c"])
    ... ]
    >>> query_set_change(*runs)
    'query set: 1 added, 1 removed'
    """
    if before.query_set == after.query_set:
        return ""
    ids, others = before.scores.index, after.scores.index
    common = len(ids.intersection(others))
    n_edited = common - len(common_queries(before, after))
    counts = {
        "added": len(others) - common,
        "removed": len(ids) - common,
        "with another reference": n_edited,
    }
    return "query set: " + ", ".join(f"{n} {what}" for what, n in counts.items() if n)


def common_queries(before: DatedRun, after: DatedRun) -> pd.Index:
    """The ids of the queries that both runs were asked and that had the same reference in both."""
    if before.query_set == after.query_set:
        return before.scores.index
    theirs: Collection[str] = frozenset(query_set(after.evaluation))
    same = [one in theirs for one in query_set(before.evaluation)]
    return before.scores.index[same]


def run_row(before: DatedRun | None, run: DatedRun, fields: Sequence[str]) -> dict[str, object]:
    """A run beside the one before it, as a row of a table.

    Parameters
    ----------
    before : DatedRun or None
        The run before it; None for the first.
    run : DatedRun
        The run.
    fields : sequence of str
        All fields that any run of the history tells.
    """
    moment = run.created
    row: dict[str, object] = {
        "run": run.name,
        "created": None if moment is None else moment.isoformat(sep=" ", timespec="minutes"),
        "pipeline": run.evaluation.name,
        "n_queries": len(run.scores),
        "query_set": run.short_query_set,
        "gold_set": None,
        "config": None if fields else UNKNOWN,
    }
    if before is not None:
        changed = query_set_change(before, run).removeprefix("query set: ")
        row["gold_set"] = changed or "the same"
        if fields:
            row["config"] = changes_told(before, run, fields) or "the same"
    return row


def changes_told(before: DatedRun, after: DatedRun, fields: Sequence[str]) -> str:
    """The changes of the set-up from one run to another on one line; empty where there is none."""
    return "; ".join(map(str, config_changes(before.config, after.config, fields)))
