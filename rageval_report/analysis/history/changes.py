"""What changed from one run to another: its configuration, its gold set, how it was measured.

A field that a run does not have is unknown, and never assumed to be equal.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

import pandas as pd

from rageval_report.analysis.comparing.pairing import twin_of
from rageval_report.scores import Metric, Scored
from rageval_report.scores.run_file import plain_value, query_set, query_set_hash

UNKNOWN = "unknown"

# Words in the name of a field that says how answers were measured, not how they were generated.
_OF_MEASUREMENT = frozenset(
    "judge judges evaluator evaluators grader dataset datasets split gold qrels testset".split()
)
_WORDS = re.compile(r"[a-z]+")
_LONGEST = 40
_SHORT_HASH = 8


@dataclass(frozen=True, eq=False)
class DatedRun:
    """A run of a history: an evaluation with its own name, its time and its configuration.

    Parameters
    ----------
    name : str
        Unique in its history.
    evaluation : Scored
        The scores.
    created : datetime, optional
        The time of the run.
    config : mapping of str to object
        The configuration; unknown fields are absent. Names of nested fields contain dots.
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
            The evaluation's name if omitted.
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
        """The first characters of the hash, for tables."""
        return self.query_set[:_SHORT_HASH]

    @property
    def scores(self) -> pd.DataFrame:
        """One row per query, one column per metric."""
        return self.evaluation.scores

    @property
    def details(self) -> pd.DataFrame:
        """The other columns of the queries."""
        return self.evaluation.details

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


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field that differs between two runs, or that one of them does not have.

    Parameters
    ----------
    field : str
        Its name.
    before, after : str
        Its values as text; "unknown" if the run does not have it.
    is_known : bool
        Whether both runs have it.
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
    """The fields that differ between two configurations, or that one of them does not have.

    Parameters
    ----------
    before, after : mapping of str to object
        Two configurations.
    fields : iterable of str
        The fields to compare.

    Examples
    --------
    >>> changes = config_changes({"k": 5, "model": "a"}, {"k": 10}, ["k", "model", "seed"])
    >>> [str(change) for change in changes]
    ['k: 5 → 10', 'model: a → unknown', 'seed: unknown']
    """
    changes = []
    for field in fields:
        is_known = field in before and field in after
        if not is_known or before[field] != after[field]:
            old, new = _value_text(before, field), _value_text(after, field)
            changes.append(FieldChange(field, old, new, is_known))
    return changes


def _value_text(config: Mapping[str, Any], field: str) -> str:
    if field not in config:
        return UNKNOWN
    text = " ".join(str(config[field]).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def is_of_measurement(field: str) -> bool:
    """Whether a field says how answers were measured, judging by its name.

    Examples
    --------
    >>> is_of_measurement("judge_model"), is_of_measurement("retriever.model")
    (True, False)
    """
    return not _OF_MEASUREMENT.isdisjoint(_WORDS.findall(field.lower()))


def fields_of(runs: Iterable[DatedRun]) -> list[str]:
    """The fields of all runs, in the order of first appearance."""
    return list(dict.fromkeys(field for run in runs for field in run.config))


def measurement_changes(
    before: DatedRun, after: DatedRun, metric: Metric, fixed: Iterable[str]
) -> list[FieldChange]:
    """The changes that prevent a comparison on a metric, and those that may, being unknown.

    Parameters
    ----------
    before, after : DatedRun
        Two runs that both have the metric.
    metric : Metric
        The metric.
    fixed : iterable of str
        The fields of the configuration that must be equal for scores to mean the same.
    """
    changes = config_changes(before.config, after.config, fixed)
    ours, theirs = before.metric(metric), after.metric(metric)
    if ours is None or theirs is None:
        return changes
    if ours.greater_is_better != theirs.greater_is_better:
        changes.append(
            FieldChange("direction", _direction_text(ours), _direction_text(theirs), is_known=True)
        )
    if ours.bounds and theirs.bounds and tuple(ours.bounds) != tuple(theirs.bounds):
        changes.append(FieldChange("bounds", str(ours.bounds), str(theirs.bounds), is_known=True))
    return changes


def _direction_text(metric: Metric) -> str:
    return "higher is better" if metric.greater_is_better else "lower is better"


def query_set_change(before: DatedRun, after: DatedRun) -> str:
    """How the gold set changed, in words; empty if it is the same.

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
    """The ids of the queries that are in both runs with the same reference."""
    if before.query_set == after.query_set:
        return before.scores.index
    queries_after: Collection[str] = frozenset(query_set(after.evaluation))
    same = [query in queries_after for query in query_set(before.evaluation)]
    return before.scores.index[same]


def run_row(before: DatedRun | None, run: DatedRun, fields: Sequence[str]) -> dict[str, object]:
    """The row of a run in the table of changes.

    Parameters
    ----------
    before : DatedRun or None
        The previous run; None for the first.
    run : DatedRun
        The run.
    fields : sequence of str
        The fields of all runs.
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
        change = query_set_change(before, run).removeprefix("query set: ")
        row["gold_set"] = change or "the same"
        if fields:
            row["config"] = config_change_text(before, run, fields) or "the same"
    return row


def config_change_text(before: DatedRun, after: DatedRun, fields: Sequence[str]) -> str:
    """The changes of the configuration, on one line; empty if there are none."""
    return "; ".join(map(str, config_changes(before.config, after.config, fields)))
