"""Rankings and judgments become an evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeGuard

import pandas as pd

from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.files.inputs import STANDARD_INPUT, FileInput, is_file, is_file_input
from rageval_report.files.source import Source
from rageval_report.rankings.dialects import ranked_metrics, ranking_dialect, tables_in_dialect
from rageval_report.rankings.inputs import DuplicateDocs
from rageval_report.rankings.joined import Ties
from rageval_report.rankings.ranking_ids import doubts_about_rankings, match_ranking_ids
from rageval_report.rankings.score_tables import NoRelevant, score_table_of_rankings
from rageval_report.readers.ranking_files import (
    RankingFile,
    judgments_file,
    ranking_name,
    run_file,
)
from rageval_report.records.id_changes import MatchIds, parse_changes
from rageval_report.scores import Metric
from rageval_report.scores.catalogue.dialects import DIALECT, DialectName
from rageval_report.scoring.evaluations import build_evaluation

# Dicts by query id, a tidy frame, or a TREC or BEIR file: its path, its bytes, or opened.
RankingSource = Mapping[Any, object] | pd.DataFrame | FileInput


def score_rankings(
    run: RankingSource,
    qrels: RankingSource,
    metrics: str | Iterable[str],
    *,
    name: str | None = None,
    ties: Ties | None = None,
    relevance_level: float | None = None,
    no_relevant: NoRelevant | None = None,
    drop_self: bool = False,
    duplicates: DuplicateDocs | None = None,
    dialect: DialectName | None = None,
    match_ids: MatchIds = (),
    strict: bool = False,
    allow: str | Iterable[str] = (),
) -> RAGPipelineEvaluation:
    """Score rankings against relevance judgments, as trec_eval does.

    Parameters
    ----------
    run, qrels : mapping, DataFrame, path, bytes, or open file
        As `rageval_report.rankings.score_tables.score_table_of_rankings` takes them: dicts, tidy
        frames, TREC or BEIR files; files may also be tables with named columns, or JSON.
    metrics : str or iterable of str
        Names such as "ndcg@10", "recall@5", "mrr".
    name : str, optional
        The name of the pipeline; if omitted, the name of the ranking file.
    ties : {"docid", "input", "error"}, optional
        The order of documents with equal scores; "docid" if omitted.
    relevance_level : float, optional
        The lowest grade that counts as relevant; 1 if omitted.
    no_relevant : {"skip", "zero"}, optional
        The score of a query without relevant documents: NaN, because retrieval metrics are not
        applicable to it (if omitted), or 0 as in trec_eval. A judged query that is missing from
        the run scores 0 if it has relevant documents.
    drop_self : bool
        Whether a retrieved document that has the id of its query is left out, as BEIR does for
        ArguAna, whose queries are documents of the corpus; a note counts them.
    duplicates : {"error", "best", "keep"}, optional
        What to do with a document that was retrieved twice for a query: raise an error (if
        omitted); count it once, at its best rank, and close up the ranks below its repeats; or
        count it once and keep the ranks of its repeats, as Haystack's evaluators and ragbench do.
    dialect : {"datapizza", "haystack"}, optional
        The system whose names and rules hold, as in `rageval_report.score`. The metrics of
        "ragbench" and "wfgy" need records.
    match_ids : str or iterable of str
        Changes of form after which judged ids and retrieved ids are compared, such as "case",
        "extension", "prefix:docs/" or "retrieved:cut:#"; see
        `rageval_report.records.id_changes.match_record_ids`. A note says which.
    strict : bool
        Whether a doubt, such as judged documents that are never retrieved, is an error; otherwise
        it is the first note.
    allow : str or iterable of str
        The checks whose doubts are no error and only ordinary notes; a name of
        ``rageval_report.scores.guard.CHECK_NAMES``.

    Returns
    -------
    RAGPipelineEvaluation
        Its notes name what was missing or ignored.

    Raises
    ------
    UnknownNameError
        If a metric is not known, or cannot be computed from rankings.
    AlignmentError
        If the ranking and the judgments have no query in common.
    DataError
        If `strict` is true and there is a doubt, or an option contradicts `dialect`.

    Examples
    --------
    >>> run = {"q1": {"a": 0.9, "b": 0.8}}
    >>> score_rankings(run, {"q1": {"b": 1}}, ["mrr"]).get_aggregated_scores("mrr")
    0.5
    """
    requested = [metrics] if isinstance(metrics, str) else list(metrics)
    rules = ranking_dialect(dialect)
    options: dict[str, Any] = {
        "ties": ties,
        "relevance_level": relevance_level,
        "no_relevant": no_relevant,
        "duplicates": duplicates,
    }
    known: dict[str, Metric] = {}
    if rules is not None:
        options = rules.settle(**options)
        known = ranked_metrics(requested, rules)
        requested = list(dict.fromkeys(metric.known_as for metric in known.values()))
    source = Source(run) if _is_file(run) else None
    ranking = RankingFile(run) if source is None else run_file(source)
    judgments = judgments_file(Source(qrels)) if _is_file(qrels) else RankingFile(qrels)
    run_content, judged_content = ranking.content, judgments.content
    match_notes: tuple[str, ...] = ()
    if match_ids:
        run_content, judged_content, match_note = match_ranking_ids(
            run_content, judged_content, match_ids
        )
        match_notes = (match_note,)
    ranked = score_table_of_rankings(
        run_content,
        judged_content,
        requested,
        drop_self=drop_self,
        **{option: value for option, value in options.items() if value is not None},
    )
    scores, details = ranked.scores, ranked.details
    if rules is not None:
        scores, details = tables_in_dialect(scores, details, known)
    pipeline = name or (ranking_name(fspath(run)) if isinstance(run, str | PathLike) else "run")
    notes = (
        *(() if rules is None else (rules.note,)),
        *match_notes,
        *(source.notes if source else ()),
        *ranking.notes,
        *(f"qrels: {note}" for note in judgments.notes),
        *ranked.notes,
    )
    config: dict[str, Any] = {} if ranking.tag is None else {"tag": ranking.tag}
    if rules is not None:
        config[DIALECT] = rules.name
    if match_ids:
        changes = [str(change) for change in parse_changes(match_ids)]
        config["retrieval"] = {"match_ids": changes}
    query_ids = list(ranked.scores.index)
    return build_evaluation(
        *(pipeline, scores, details, notes),
        known=known or None,
        config=config,
        doubts=doubts_about_rankings(run_content, judged_content, ranked.hits, query_ids),
        strict=strict,
        allow=allow,
    )


def _is_file(source: RankingSource) -> TypeGuard[FileInput]:
    """Whether it is a file whose form can be recognised; a pipe could not be read a second time."""
    if not isinstance(source, str | PathLike):
        return is_file_input(source)
    return str(source) == STANDARD_INPUT or is_file(Path(source))
