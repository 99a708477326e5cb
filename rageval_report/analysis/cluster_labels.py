"""Which queries belong together: the clusters of a run, as labels, units, a setting and a note."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.analysis.scanned import is_scan
from rageval_report.errors import DataError, UnknownNameError, named
from rageval_report.scores import Scored
from rageval_report.scores.cluster_hint import cluster_hint
from rageval_report.stats.units import QUERIES, Units, are_missing
from rageval_report.types import BoolArray

Clusters = str | pd.Series | Mapping[str, object]


def resolve_units(
    run: Scored, clusters: Clusters | None, compared: BoolArray | None = None
) -> Units:
    """The unit of each row of a run: its cluster, or without clusters the query itself.

    Parameters
    ----------
    run : Scored
        The baseline, or the only run.
    clusters : str, Series or mapping, optional
        A detail column, or labels by query id.
    compared : ndarray of bool, optional
        The rows that need a label; all of them if omitted.

    Raises
    ------
    DataError
        If a query has no cluster.
    UnknownNameError
        If `clusters` names a column that the details do not have.
    """
    if clusters is None:
        return QUERIES
    codes, _ = pd.factorize(cluster_labels(run, clusters, compared))
    return Units(codes.astype(np.int64))


def cluster_labels(run: Scored, clusters: Clusters, compared: BoolArray | None = None) -> pd.Series:
    """The cluster of each row of a run, as text.

    Parameters
    ----------
    run, clusters, compared
        As for `resolve_units`.

    Raises
    ------
    DataError
        If a query has no cluster.
    UnknownNameError
        If `clusters` names a column that the details do not have.
    """
    ids = run.scores.index
    if isinstance(clusters, str):
        if clusters not in run.details:
            raise UnknownNameError("detail column", clusters, map(str, run.details.columns))
        labels = run.details[clusters]
    else:
        labels = pd.Series(clusters).reindex(ids)
    missing = are_missing(labels.to_numpy(dtype=object))
    without = missing if compared is None else missing & compared
    if without.any():
        raise DataError(
            f"clusters must have a label for every query; {named(ids[without])} have none"
        )
    # As texts, so that a column read as numbers and one read as texts give the same clusters.
    return labels.map(str)


def clusters_setting(clusters: Clusters | None) -> dict[str, object]:
    """The clusters as a setting of a result; labels by query would not fit into a signature."""
    if clusters is None:
        return {}
    return {"clusters": clusters if isinstance(clusters, str) else "given"}


def unnamed_clusters(run: Scored, clusters: object | None) -> tuple[str, ...]:
    """A note on a column that looks like clusters, if none were named."""
    if clusters is not None:
        return ()
    scan: Any = run
    hint = scan.cluster_hint() if is_scan(run) else cluster_hint(run)
    return () if hint is None else (hint,)
