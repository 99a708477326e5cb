"""Records become scores: each metric is computed from the view of the records that it needs.

A view is built once for all metrics that need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from tqdm import tqdm

from rageval_report.errors import DataError, UnknownNameError, check_choice
from rageval_report.metrics.views import VIEWS, Tools
from rageval_report.rankings.dialects import metrics_in_dialect
from rageval_report.records import record_table
from rageval_report.records.levels import LevelChoice
from rageval_report.scores import METRICS, Catalogue, Metric, normalise_name
from rageval_report.scores.catalogue.dialects import Dialect
from rageval_report.scores.states import ERROR, NOT_APPLICABLE, state_columns, states_of
from rageval_report.scoring.applicability import (
    PreparedRecords,
    RetrievalFacts,
    can_have_reference,
    has_relevant,
    prepare_records,
    reasons_without_gold,
    reasons_without_reference,
)
from rageval_report.types import BoolArray, FloatArray

Lacking = Literal["error", "unscored"]
Map = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]

_LACKING: tuple[Lacking, ...] = ("error", "unscored")


@runtime_checkable
class Selective(Protocol):
    """A view with metrics that do not apply to every query."""

    def applies(self, metric: str) -> BoolArray:
        """Whether the metric of that name applies to each query."""


@dataclass(frozen=True, eq=False)
class ScoredRecords:
    """The table of scores, and beside it the records.

    Parameters
    ----------
    scores : DataFrame
        Index ``query_id``, one float64 column per metric, named as requested; NaN where unscored.
    records : DataFrame
        The checked records, on the same index.
    states : DataFrame
        The same index: ``<metric>_state`` where a metric does not apply to every query.
    metrics : dict of str to Metric
        The description of each metric.
    facts : RetrievalFacts
        The level of ids, repeats, and questions without gold.
    tools : Tools
        With the rule for repeats that held.
    """

    scores: pd.DataFrame
    records: pd.DataFrame
    states: pd.DataFrame
    metrics: dict[str, Metric]
    facts: RetrievalFacts = field(default_factory=RetrievalFacts)
    tools: Tools = field(default_factory=Tools)


def score_records(
    records: object,
    metrics: str | Iterable[str],
    *,
    tools: Tools | None = None,
    lacking: Lacking = "error",
    map: Map | None = None,  # noqa: A002
    choices: Mapping[str, LevelChoice] | None = None,
) -> ScoredRecords:
    """Compute metrics from records.

    Parameters
    ----------
    records : frame, dict of lists, or list of dicts
        One row per query, as `rageval_report.records.record_table` takes it.
    metrics : str or iterable of str
        Names such as "recall@5", "ndcg@10", "exact_match", "citation_f1".
    tools : Tools, optional
        What some metrics need: a function that embeds texts, prices, the rule for refusals.
    lacking : {"error", "unscored"}
        What to do with a metric if the records lack a field that it needs: raise an error, or give
        a column without a score, not applicable to any query.
    map : callable, optional
        A replacement of the built-in ``map``, such as that of a pool of processes. It receives one
        job per metric.
    choices : mapping of str to LevelChoice, optional
        The level at which each view compares passages with gold, if other tables decide it too;
        else it is chosen from these records.

    Raises
    ------
    UnknownNameError
        If a metric is not known.
    DataError
        If a metric is not computed from records, or the records lack a field that it needs.

    Notes
    -----
    A query whose ranking is missing (not empty) has no retrieval score. Retrieval metrics do not
    apply to a query without relevant documents, nor to a question that has no answer.

    Examples
    --------
    >>> rows = [{"query_id": "q", "retrieved": ["a", "b"], "relevant": ["b"]}]
    >>> score_records(rows, ["recall@2", "mrr"]).scores.iloc[0].to_dict()
    {'recall@2': 1.0, 'mrr': 0.5}
    """
    check_choice("lacking", lacking, _LACKING)
    table = record_table(records, unretrieved_citations="keep")
    rules = (tools or Tools()).dialect
    requested = computable([metrics] if isinstance(metrics, str) else metrics, rules)
    without_fields = {} if lacking == "error" else lacking_fields(table, requested, rules)
    computed = {name: metric for name, metric in requested.items() if name not in without_fields}
    needs = {metric.needs for metric in computed.values()}
    prepared = prepare_records(table, needs, tools or Tools(), choices)
    # One view per need: ten metrics of rankings share one hit table.
    views = {
        need: _build_view(prepared.tables.get(need, table), need, computed, prepared.tools)
        for need in sorted(needs)
    }
    jobs = [
        # Names such as precision_at_5_exact have their cutoff within.
        (metric, views[metric.needs], cutoff_of(name if rules is None else metric.known_as))
        for name, metric in computed.items()
    ]
    results = (map or _map_with_bar)(_compute_metric, jobs)
    columns = dict.fromkeys(requested, np.full(len(table), np.nan))
    columns.update(zip(computed, results, strict=True))
    scores = pd.DataFrame(columns, index=table.index)
    if "rankings" in prepared.tables:
        _unscore_rankings(scores, computed, prepared)
    states = [
        _states(scores, table, computed, views, prepared),
        _states_without(without_fields, table.index),
    ]
    return ScoredRecords(
        scores, table, pd.concat(states, axis=1), requested, prepared.facts, prepared.tools
    )


def _unscore_rankings(
    scores: pd.DataFrame, metrics: dict[str, Metric], prepared: PreparedRecords
) -> None:
    """Without a ranking, or without relevant documents, there is no score: it is not 0."""
    table = prepared.tables["rankings"]
    unscored = table[["retrieved", "relevant"]].isna().any(axis=1).to_numpy()
    if prepared.tools.no_relevant == "skip":
        unscored = unscored | ~has_relevant(table, prepared.tools.relevance_level)
    ranked = [name for name, metric in metrics.items() if metric.needs == "rankings"]
    scores.loc[unscored, ranked] = np.nan


def lacking_fields(
    records: pd.DataFrame, names: Iterable[str], dialect: Dialect | None = None
) -> dict[str, tuple[str, ...]]:
    """The metrics that cannot be computed from records, and the fields that are missing.

    Parameters
    ----------
    records : DataFrame
        As `rageval_report.records.record_table` returns them.
    names : iterable of str
        Metrics that are computed from records.
    dialect : Dialect, optional
        The system whose names they are.

    Examples
    --------
    >>> records = record_table([{"query_id": "q", "answer": "Oslo.", "reference": "Oslo."}])
    >>> lacking_fields(records, ["exact_match", "recall@5"])
    {'recall@5': ('retrieved', 'relevant')}
    """
    missing = {
        name: tuple(field for field in VIEWS[metric.needs].fields if field not in records)
        for name, metric in computable(names, dialect).items()
    }
    return {name: fields for name, fields in missing.items() if fields}


def _states_without(missing: dict[str, tuple[str, ...]], index: pd.Index) -> pd.DataFrame:
    """The states of the metrics for which the records lack a field."""
    columns: dict[str, list[Any]] = {}
    for name, fields in missing.items():
        reason = f"the records have no {' and no '.join(fields)}"
        columns |= state_columns(name, [NOT_APPLICABLE] * len(index), [reason] * len(index))
    return pd.DataFrame(columns, index=index)


def computable(names: Iterable[str], dialect: Dialect | None = None) -> dict[str, Metric]:
    """The metrics of those names, if each can be computed from records.

    With a dialect they have its names and definitions.

    Raises
    ------
    UnknownNameError
        If a metric is not known; the message names the nearest one.
    DataError
        If a metric is known, but comes from a judge or from another framework, or the dialect has
        no such metric.
    """
    if dialect is not None:
        return metrics_in_dialect(names, dialect)
    catalogue = Catalogue()
    known: dict[str, Metric] = {}
    for name in names:
        metric = catalogue.search(name)
        if metric is None:
            METRICS.raise_if_broken(name)
            raise UnknownNameError("metric", name, computed_names())
        if metric.compute is None:
            raise DataError(
                f"{name!r} is not computed from records; these metrics are: "
                f"{', '.join(computed_names())}"
            )
        known[normalise_name(name)] = metric
    if not known:
        raise DataError("metrics must name at least one metric; got none")
    return known


def computed_names() -> list[str]:
    """The names of the metrics that are computed from records."""
    return [name for name, metric in METRICS.loaded().items() if metric.compute is not None]


def cutoff_of(name: str) -> int | None:
    """The cutoff in a metric's name, or None.

    Examples
    --------
    >>> cutoff_of("recall@5"), cutoff_of("bpref")
    (5, None)
    """
    cutoff = normalise_name(name).partition("@")[2]
    return int(cutoff) if cutoff.isdigit() else None


def _build_view(table: pd.DataFrame, need: str, metrics: dict[str, Metric], tools: Tools) -> object:
    view = VIEWS[need]
    missing = [field for field in view.fields if field not in table]
    if missing:
        names = [name for name, metric in metrics.items() if metric.needs == need]
        raise DataError(
            f"{', '.join(names)} cannot be computed: the records have no "
            f"{' and no '.join(missing)}; they have: {', '.join(map(str, table))}"
        )
    return view.build(table, tools)


def _states(
    scores: pd.DataFrame,
    table: pd.DataFrame,
    metrics: dict[str, Metric],
    views: dict[str, object],
    prepared: PreparedRecords,
) -> pd.DataFrame:
    """Why scores are missing, for the metrics that do not apply to every query."""
    failed = table[ERROR].notna().to_numpy() if ERROR in table else None
    columns: dict[str, list[Any]] = {}
    for name, metric in metrics.items():
        view = views[metric.needs]
        if metric.needs in prepared.tables:
            applies = _has_gold(prepared, metric.needs)
            states = states_of(scores[name], applies=applies, failed=failed)
            reasons = reasons_without_gold(table, applies | (states != NOT_APPLICABLE))
            columns |= state_columns(name, states, reasons)
        elif isinstance(view, Selective):
            applies = view.applies(metric.known_as)
            columns |= state_columns(name, states_of(scores[name], applies=applies, failed=failed))
        elif "reference" in VIEWS[metric.needs].fields:
            applies = can_have_reference(table)
            states = states_of(scores[name], applies=applies, failed=failed)
            columns |= state_columns(name, states, reasons_without_reference(applies))
    # As objects: a column of texts would make NaN of None.
    return pd.DataFrame(columns, index=scores.index, dtype=object)


def _has_gold(prepared: PreparedRecords, view: str) -> BoolArray:
    table = prepared.tables[view]
    if view == "citations":
        # A citation of any relevant grade is right; rankings count grades from 1 on.
        return has_relevant(table, least=np.nextafter(0.0, 1.0))
    if prepared.tools.no_relevant == "skip":
        return has_relevant(table, prepared.tools.relevance_level)
    return np.ones(len(table), bool)


def _compute_metric(job: tuple[Metric, object, int | None]) -> FloatArray:
    """The scores of one metric; at module level, so that a pool of processes can call it."""
    metric, view, cutoff = job
    function = metric.function()
    if function is None:  # computable() refuses such a metric
        raise DataError(f"{metric.name!r} is not computed from records")
    return np.asarray(function(view, cutoff), dtype=np.float64)


def _map_with_bar(function: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterable[Any]:
    """The built-in map, with a progress bar if standard error is a terminal and it takes long."""
    bar = tqdm(list(jobs), desc="metrics", leave=False, delay=2, disable=None)
    return [function(job) for job in bar]
