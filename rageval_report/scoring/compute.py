"""Records become scores: each metric is computed from the view of the records that it needs.

A view is built once for all metrics that need it. A new one is a function and a line in `VIEWS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from tqdm import tqdm

from rageval_report._registry import Registry, load
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.metrics.views import Tools
from rageval_report.records import record_table
from rageval_report.scores import METRICS, Catalogue, Metric, normalised
from rageval_report.scores.states import ERROR, NOT_APPLICABLE, states_of, with_states

View = Callable[[pd.DataFrame, Tools], Any]
Lacking = Literal["error", "unscored"]
Map = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]

VIEWS: Registry[View] = Registry(
    "view of the records",
    {
        "answer_similarities": "rageval_report.metrics.views:answer_similarities_view",
        "answers": "rageval_report.metrics.views:answers_view",
        "citations": "rageval_report.metrics.views:citations_view",
        "performance": "rageval_report.metrics.views:performance_view",
        "rankings": "rageval_report.metrics.views:rankings_view",
        "refusals": "rageval_report.metrics.views:refusals_view",
        "similarities": "rageval_report.metrics.views:similarities_view",
    },
)

# The fields that a view cannot do without, to say what is missing before anything is computed.
_FIELDS: dict[str, tuple[str, ...]] = {
    "answer_similarities": ("answer", "reference"),
    "answers": ("answer", "reference"),
    "citations": ("citations",),
    "rankings": ("retrieved", "relevant"),
    "refusals": ("answer", "answerable"),
    "similarities": ("contexts", "relevant_texts"),
}

_LACKING: tuple[Lacking, ...] = ("error", "unscored")


@runtime_checkable
class Selective(Protocol):
    """A view some of whose metrics are not about every query."""

    def applies(self, metric: str) -> np.ndarray:
        """Whether the metric of that name is about each query."""


@dataclass(frozen=True, eq=False)
class ScoredRecords:
    """What scoring gives: the table of scores, and beside it the records.

    Parameters
    ----------
    scores : DataFrame
        Index ``query_id``, one float64 column a metric, named as asked; NaN where unscored.
    records : DataFrame
        The checked records, on the same index.
    states : DataFrame
        The same index: ``<metric>_state`` where a metric is not about every query.
    metrics : dict of str to Metric
        What is known of each metric.
    """

    scores: pd.DataFrame
    records: pd.DataFrame
    states: pd.DataFrame
    metrics: dict[str, Metric]


def score_records(
    records: object,
    metrics: str | Iterable[str],
    *,
    tools: Tools | None = None,
    lacking: Lacking = "error",
    map: Map | None = None,  # noqa: A002
) -> ScoredRecords:
    """Compute metrics from records.

    Parameters
    ----------
    records : frame, dict of lists, or list of dicts
        One row a query, as `rageval_report.records.record_table` takes it.
    metrics : str or iterable of str
        As "recall@5", "ndcg@10", "exact_match", "citation_f1".
    tools : Tools, optional
        What some metrics need: a function that embeds texts, prices, what tells a refusal.
    lacking : {"error", "unscored"}
        What becomes of a metric where the records lack a field that it needs: an error, or a column
        without a score, not applicable to any query.
    map : callable, optional
        As the built-in ``map``, or that of a pool of processes: it gets one job a metric.

    Raises
    ------
    UnknownNameError
        If a metric is not known.
    DataError
        If a metric is not computed from records, or the records lack a field that it needs.

    Notes
    -----
    A query whose gold or whose ranking is missing, not empty, cannot be ranked: it is unscored.

    Examples
    --------
    >>> rows = [{"query_id": "q", "retrieved": ["a", "b"], "relevant": ["b"]}]
    >>> score_records(rows, ["recall@2", "mrr"]).scores.iloc[0].to_dict()
    {'recall@2': 1.0, 'mrr': 0.5}
    """
    if lacking not in _LACKING:
        raise UnknownNameError("way with what records lack", str(lacking), _LACKING)
    table = record_table(records, unretrieved_citations="keep")
    known = computable([metrics] if isinstance(metrics, str) else metrics)
    void = {} if lacking == "error" else lacking_fields(table, known)
    there = {name: metric for name, metric in known.items() if name not in void}
    needs = {metric.needs for metric in there.values()}
    views = {need: _view(table, need, there, tools or Tools()) for need in sorted(needs)}
    jobs = [
        (metric.compute, views[metric.needs], cutoff_of(name)) for name, metric in there.items()
    ]
    done = (map or _in_turn)(_computed, jobs)
    columns = dict.fromkeys(known, np.full(len(table), np.nan))
    columns.update(zip(there, done, strict=True))
    scores = pd.DataFrame(columns, index=table.index)
    ranked = [name for name, metric in there.items() if metric.needs == "rankings"]
    if ranked:
        scores.loc[table[["retrieved", "relevant"]].isna().any(axis=1), ranked] = np.nan
    states = pd.concat([_states(scores, table, there, views), _void(void, table.index)], axis=1)
    return ScoredRecords(scores, table, states, known)


def lacking_fields(records: pd.DataFrame, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The metrics that records cannot give, and the fields that these lack.

    Parameters
    ----------
    records : DataFrame
        As `rageval_report.records.record_table` gives them.
    names : iterable of str
        Metrics that are computed from records.

    Examples
    --------
    >>> records = record_table([{"query_id": "q", "answer": "Oslo.", "reference": "Oslo."}])
    >>> lacking_fields(records, ["exact_match", "recall@5"])
    {'recall@5': ('retrieved', 'relevant')}
    """
    needed = {name: _FIELDS.get(metric.needs, ()) for name, metric in computable(names).items()}
    found = {
        name: tuple(field for field in fields if field not in records)
        for name, fields in needed.items()
    }
    return {name: missing for name, missing in found.items() if missing}


def _void(void: dict[str, tuple[str, ...]], index: pd.Index) -> pd.DataFrame:
    """The states of metrics that the records lack a field for."""
    columns: dict[str, list[Any]] = {}
    for name, missing in void.items():
        why = f"the records have no {' and no '.join(missing)}"
        columns |= with_states(name, [NOT_APPLICABLE] * len(index), [why] * len(index))
    return pd.DataFrame(columns, index=index)


def computable(names: Iterable[str]) -> dict[str, Metric]:
    """The metrics of those names, if each can be computed from records.

    Raises
    ------
    UnknownNameError
        If a metric is not known; it names the nearest.
    DataError
        If a metric is known, but made by a judge or measured elsewhere.
    """
    catalogue = Catalogue()
    known: dict[str, Metric] = {}
    for name in names:
        metric = catalogue.find(name)
        if metric is None:
            raise UnknownNameError("metric", name, computed_names())
        if metric.compute is None:
            raise DataError(
                f"{name!r} is not computed from records; those that are: "
                f"{', '.join(computed_names())}"
            )
        known[normalised(name)] = metric
    if not known:
        raise DataError("expected at least one metric; got none")
    return known


def computed_names() -> list[str]:
    """The names of the metrics that are computed from records."""
    return [name for name in METRICS if METRICS[name].compute is not None]


def cutoff_of(name: str) -> int | None:
    """The cutoff in a metric's name, or None.

    Examples
    --------
    >>> cutoff_of("recall@5"), cutoff_of("bpref")
    (5, None)
    """
    cutoff = normalised(name).partition("@")[2]
    return int(cutoff) if cutoff.isdigit() else None


def _view(table: pd.DataFrame, need: str, known: dict[str, Metric], tools: Tools) -> Any:
    missing = [field for field in _FIELDS.get(need, ()) if field not in table]
    if missing:
        wanting = [name for name, metric in known.items() if metric.needs == need]
        raise DataError(
            f"{', '.join(wanting)} cannot be computed: the records have no "
            f"{' and no '.join(missing)}; fields that are there: {', '.join(map(str, table))}"
        )
    return VIEWS[need](table, tools)


def _states(
    scores: pd.DataFrame, table: pd.DataFrame, known: dict[str, Metric], views: dict[str, Any]
) -> pd.DataFrame:
    """Why scores are missing, of the metrics whose view knows what they are about."""
    failed = table[ERROR].notna().to_numpy() if ERROR in table else None
    columns: dict[str, list[Any]] = {}
    for name, metric in known.items():
        view = views[metric.needs]
        if isinstance(view, Selective):
            applies = view.applies(metric.known_as)
            columns |= with_states(name, states_of(scores[name], applies=applies, failed=failed))
    return pd.DataFrame(columns, index=scores.index)


def _computed(job: tuple[Any, Any, int | None]) -> np.ndarray:
    """One metric; a function of this module, so that a pool of processes can be handed it."""
    compute, view, cutoff = job
    function = load(compute) if isinstance(compute, str) else compute
    return np.asarray(function(view, cutoff), dtype=np.float64)


def _in_turn(function: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterable[Any]:
    """The built-in map, with a bar on standard error where somebody watches and it takes long."""
    bar = tqdm(list(jobs), desc="metrics", leave=False, delay=2, disable=None)
    return [function(job) for job in bar]
