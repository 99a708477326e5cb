"""Dialects of rankings: the systems whose metrics need no more than a ranking and its judgments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from rageval_report.errors import DataError
from rageval_report.rankings.score_tables import VIEW
from rageval_report.scores.catalogue.dialects import Dialect, DialectName, dialect_of_name
from rageval_report.scores.metric import Metric
from rageval_report.scores.states import REASON, STATE

# The dialects whose metrics of rankings need no more than the first place of each document.
_OF_RANKINGS = ("datapizza", "haystack")


def ranking_dialect(name: DialectName | None) -> Dialect | None:
    """The dialect of that name, if its metrics can be computed from rankings alone; None for None.

    Raises
    ------
    UnknownNameError
        If no dialect has that name.
    DataError
        If its metrics need records.

    Examples
    --------
    >>> ranking_dialect("haystack").no_relevant
    'zero'
    """
    rules = dialect_of_name(name)
    if rules is not None and rules.name not in _OF_RANKINGS:
        raise DataError(
            f'dialect must be "datapizza" or "haystack" for rankings; got "{rules.name}", whose '
            "metrics need records: score(records, ..., "
            f'dialect="{rules.name}")'
        )
    return rules


def default_ranking_metrics(rules: Dialect) -> list[str]:
    """The metrics of rankings in the system's own configuration.

    Examples
    --------
    >>> from rageval_report.scores.catalogue.dialects import HAYSTACK
    >>> default_ranking_metrics(HAYSTACK)[:2]
    ['document_mrr', 'document_map']
    """
    names = ((name, rules.find(name)) for name in rules.default_names())
    return [name for name, metric in names if metric is not None and metric.needs == VIEW]


def ranked_metrics(names: Iterable[str], rules: Dialect) -> dict[str, Metric]:
    """The metrics of rankings under the names of a dialect.

    Raises
    ------
    DataError
        If no metric is named, or the dialect does not compute one from rankings.

    Examples
    --------
    >>> from rageval_report.scores.catalogue.dialects import DATAPIZZA
    >>> ranked_metrics(["recall@5"], DATAPIZZA)["recall_at_5_exact"].known_as
    'recall@5'
    """
    known = metrics_in_dialect(names, rules)
    for name, metric in known.items():
        if metric.needs != VIEW:
            raise DataError(f"metrics: {name!r} cannot be computed from rankings; pass records")
    return known


def metrics_in_dialect(names: Iterable[str], rules: Dialect) -> dict[str, Metric]:
    """The metrics of those names, with the names and definitions of a dialect.

    Raises
    ------
    DataError
        If no metric is named, or the dialect has no such metric.

    Examples
    --------
    >>> from rageval_report.scores.catalogue.dialects import RAGBENCH
    >>> list(metrics_in_dialect(["reciprocal_rank"], RAGBENCH))
    ['mrr']
    """
    known: dict[str, Metric] = {}
    for name in names:
        metric = rules.find(name)
        if metric is None:
            raise DataError(
                f'metrics: dialect="{rules.name}" has no metric {name!r}; it has: '
                f"{', '.join(rules.names())}. Score {name!r} without the dialect"
            )
        known[metric.name] = metric
    if not known:
        raise DataError("metrics must name at least one metric; got none")
    return known


def tables_in_dialect(
    scores: pd.DataFrame, details: pd.DataFrame, known: dict[str, Metric]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The scores and their states under the names of a dialect.

    Examples
    --------
    >>> from rageval_report.scores.catalogue.dialects import HAYSTACK
    >>> scores = pd.DataFrame({"reciprocal_rank": [0.5]})
    >>> known = ranked_metrics(["document_mrr"], HAYSTACK)
    >>> list(tables_in_dialect(scores, scores.iloc[:, :0], known)[0])
    ['document_mrr']
    """
    columns: dict[str, Any] = {name: scores[metric.known_as] for name, metric in known.items()}
    endings = [f"{column}{ending}" for column in scores for ending in (STATE, REASON)]
    kept = details.drop(columns=[column for column in endings if column in details])
    states = {
        f"{name}{ending}": details[f"{metric.known_as}{ending}"]
        for name, metric in known.items()
        for ending in (STATE, REASON)
        if f"{metric.known_as}{ending}" in details
    }
    renamed = pd.DataFrame(columns)
    return renamed, pd.concat([kept, pd.DataFrame(states, index=kept.index)], axis=1)
