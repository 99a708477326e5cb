"""Watches the runs of a folder, or evaluations, for scores that get worse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rageval_report.analysis.arguments import Clusters
from rageval_report.analysis.history.monitoring import Monitoring, monitor_batches
from rageval_report.errors import UnknownNameError, explain_keywords
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.run_history.runs import Store, runs_of_pipeline, to_store
from rageval_report.stats.base import check_probability

if TYPE_CHECKING:
    from rageval_report.scale.scan import EvaluationScan


@explain_keywords
def monitor(
    runs: str | Path | Store | Iterable[RAGPipelineEvaluation] | Iterable[EvaluationScan],
    *,
    reference: str | None = None,
    metrics: str | Iterable[str] | None = None,
    by: str | None = None,
    tolerance: float | Mapping[str, float] = 0.0,
    pipeline: str | None = None,
    alpha: float = 0.05,
    clusters: Clusters | None = None,
) -> Monitoring:
    """Watch scores of production, batch by batch, for means that are worse than in a reference run.

    Parameters
    ----------
    runs : str, Path, Store, or iterable of RAGPipelineEvaluation or of scans
        The reference and the batches: a folder of run files, evaluations, or scans of files larger
        than the memory, as for `rageval_report.history`, in the order of time.
    reference : str, optional
        The run that was good, by its name; runs before it are left out. If omitted, the first one.
    metrics : str or iterable of str, optional
        The metrics, by any of their names; if omitted, all of the reference that have bounds.
    by : str, optional
        A column of the details, such as "topic"; each of its groups is watched too.
    tolerance : float or mapping of str to float
        How much worse than the reference does not matter: one number, or one per metric.
    pipeline : str, optional
        Only the runs of this pipeline, by the name inside the files.
    alpha : float
        The probability of a false alarm in the whole life, of all metrics and groups together.
    clusters : str, Series or mapping, optional
        Queries that belong together and are not independent, such as those of a conversation: the
        name of a details column, which every run has, or a cluster label by query id. Each cluster
        then counts once, as the mean of its queries, and must be in one batch alone.

    Returns
    -------
    Monitoring
        One row per metric and slice: ``metric``, ``title``, ``slice`` ("all" has every query),
        ``alarm``, ``since`` (the batch since which the mean is worse), ``alarm_at``, ``n`` and
        ``mean`` (since then), ``reference_n``, ``reference_mean``, ``limit`` (a mean beyond it is
        worse), ``evidence``, ``needed``, ``verdict``. Its attribute `batches` has one row per
        metric, slice and batch.

    Raises
    ------
    UnknownNameError
        If no run has the name of the reference, or the reference lacks a metric or the column.
    DataError
        If there is no batch, no metric with bounds, a query without a cluster, or a cluster in
        several batches.

    Notes
    -----
    The batches need not have the same queries as the reference. The mean of the reference is
    uncertain too, so that the limit is an end of its interval, which takes half of `alpha`; the
    other half is for the batches. A new batch can be added and looked at whenever it comes: the
    alarm is false with a probability of at most `alpha` in the whole life, if the queries are
    independent. Scores that depend on each other, such as those of one conversation, break this,
    unless `clusters` names what they belong to: the means of whole clusters are independent and
    have the same bounds. The question is then about the mean of clusters' means, not about the mean
    over queries; if all clusters are equally large it is the same.

    Examples
    --------
    >>> def batch(day, score):
    ...     ids = [f"{day}-{n}" for n in range(60)]
    ...     rows = {"query_id": ids, "faithfulness": [score, 1.0] * 30}
    ...     return RAGPipelineEvaluation(f"day {day}", rows, created=f"2026-08-0{day}")
    >>> result = monitor([batch(1, 0.9), batch(2, 0.9), batch(3, 0.2), batch(4, 0.2)])
    >>> result.has_alarm, result.frame["since"].tolist(), result.frame["alarm_at"].tolist()
    (True, ['day 3'], ['day 3'])
    """
    store = to_store(runs)
    dated, notes = runs_of_pipeline(store, pipeline)
    names = [run.name for run in dated]
    if reference is not None and reference not in names:
        raise UnknownNameError("run", reference, names)
    first = 0 if reference is None else names.index(reference)
    chosen = [metrics] if isinstance(metrics, str) else metrics
    result = monitor_batches(
        dated[first],
        dated[first + 1 :],
        metrics=None if chosen is None else list(chosen),
        by=by,
        tolerance=tolerance,
        alpha=check_probability("alpha", alpha),
        clusters=clusters,
    )
    return result.with_notes(*store.notes, *notes)
