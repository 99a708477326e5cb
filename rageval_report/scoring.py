"""Where the halves meet: records, rankings and traces become evaluations that can be reported."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from rageval_report.errors import UnknownNameError
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.metrics.cosines import Embed
from rageval_report.metrics.joining.inputs import DUPLICATES, Duplicates
from rageval_report.metrics.joining.joined import Ties
from rageval_report.metrics.performance import Prices
from rageval_report.metrics.rankings import NoRelevant, score_table_of_rankings
from rageval_report.metrics.refusal import RefusalRule
from rageval_report.metrics.views import Tools
from rageval_report.scorer import Map, score_records


def score(
    records: object,
    metrics: str | Iterable[str],
    *,
    name: str = "pipeline",
    embed: Embed | None = None,
    prices: Prices | None = None,
    refusals: RefusalRule | None = None,
    duplicates: Duplicates = "error",
    map: Map | None = None,  # noqa: A002
) -> RAGPipelineEvaluation:
    """Compute metrics from records: what was asked, expected, retrieved and answered.

    Parameters
    ----------
    records : frame, dict of lists, or list of dicts
        One row a query, as `rageval_report.records.record_table` takes it.
    metrics : str or iterable of str
        As "recall@5", "ndcg@10", "exact_match", "citation_f1".
    name : str
        The pipeline's name.
    embed : callable, optional
        A list of texts to a row of numbers each, for metrics of similarity.
    prices : mapping of str to Price, optional
        US dollars a million tokens by model, for ``cost_usd``; an unknown price is missing.
    refusals : RefusalRule, optional
        What tells a refusal; the shipped phrases where not given.
    duplicates : {"error", "best"}
        Whether a document that was retrieved twice for a query, as by two of its chunks, is
        refused, or counts once, where it ranks best.
    map : callable, optional
        As the built-in ``map``, or that of a pool of processes.

    Returns
    -------
    RAGPipelineEvaluation
        The records stand in its details.

    Raises
    ------
    UnknownNameError
        If a metric is not known.
    DataError
        If records are wrong, or lack a field that a metric needs.

    Examples
    --------
    >>> rows = [{"query_id": "q1", "retrieved": ["a", "b"], "relevant": ["b"]}]
    >>> score(rows, ["recall@2", "mrr"]).get_aggregated_scores("mrr")
    0.5
    """
    if duplicates not in DUPLICATES:
        raise UnknownNameError("rule for duplicates", str(duplicates), DUPLICATES)
    tools = Tools(embed, prices, refusals, duplicates)
    scored = score_records(records, metrics, tools=tools, map=map)
    details = pd.concat([scored.records, scored.states], axis=1)
    return evaluation_of(name, scored.scores, details)


def score_rankings(
    run: Any,
    qrels: Any,
    metrics: str | Iterable[str],
    *,
    name: str | None = None,
    ties: Ties = "docid",
    relevance_level: float = 1,
    no_relevant: NoRelevant = "zero",
    drop_self: bool = False,
    duplicates: Duplicates = "error",
) -> RAGPipelineEvaluation:
    """Score what was retrieved against what was judged relevant, as trec_eval does.

    Parameters
    ----------
    run, qrels : mapping, DataFrame or path
        As `rageval_report.metrics.rankings.score_table_of_rankings` takes them: dicts, tidy frames,
        TREC or BEIR files.
    metrics : str or iterable of str
        As "ndcg@10", "recall@5", "mrr".
    name : str, optional
        The pipeline's name; a run file's own where not given.
    ties : {"docid", "input", "error"}
        How documents of equal score stand.
    relevance_level : float
        The lowest grade that is relevant.
    no_relevant : {"zero", "skip"}
        What a query scores for which nothing is relevant: 0, or NaN.
    drop_self : bool
        Whether a retrieved document that bears its query's id is left out, as BEIR does for
        ArguAna, whose queries are documents of the corpus; the notes count them.
    duplicates : {"error", "best"}
        Whether a document that was retrieved twice for a query is refused, or counts once, where
        it ranks best.

    Returns
    -------
    RAGPipelineEvaluation
        With what was missing or ignored in its notes.

    Raises
    ------
    UnknownNameError
        If a metric is not known, or cannot be had from rankings.
    AlignmentError
        If run and judgments have no query in common.

    Examples
    --------
    >>> run = {"q1": {"a": 0.9, "b": 0.8}}
    >>> score_rankings(run, {"q1": {"b": 1}}, ["mrr"]).get_aggregated_scores("mrr")
    0.5
    """
    asked = [metrics] if isinstance(metrics, str) else list(metrics)
    ranked = score_table_of_rankings(
        run,
        qrels,
        asked,
        ties=ties,
        relevance_level=relevance_level,
        no_relevant=no_relevant,
        drop_self=drop_self,
        duplicates=duplicates,
    )
    told = name or (Path(run).stem if isinstance(run, str | Path) else "run")
    return evaluation_of(told, ranked.scores, ranked.details, ranked.notes)


def evaluation_of(
    name: str, scores: pd.DataFrame, details: pd.DataFrame, notes: tuple[str, ...] = ()
) -> RAGPipelineEvaluation:
    """Scores and what stands beside them, as an evaluation."""
    clash = {column: f"{column}_given" for column in details if column in scores}
    rows = pd.concat([details.rename(columns=clash), scores], axis=1)
    return RAGPipelineEvaluation(name, rows, metrics=[str(metric) for metric in scores]).noting(
        *notes
    )
