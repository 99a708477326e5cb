"""Records and rankings become evaluations: `score`, `score_rankings`, and their common parts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from itertools import count
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import pandas as pd

from rageval_report import judges
from rageval_report.errors import DataError, UnknownNameError, check_choice
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.files.inputs import STANDARD_INPUT, FileInput, is_file, is_file_input
from rageval_report.files.source import Source
from rageval_report.judges.rubric import JUDGES, judge_of, rubrics_of
from rageval_report.metrics.joining import Ties
from rageval_report.metrics.performance import Prices, notes_on_costs
from rageval_report.metrics.ranking_scores import (
    DUPLICATE_DOCS,
    NO_RELEVANT,
    DuplicateDocs,
    NoRelevant,
    doubts_about_rankings,
    ranked_metrics,
    ranking_dialect,
    score_table_of_rankings,
    tables_in_dialect,
)
from rageval_report.metrics.record_guard import doubts_about_records, needed_fields
from rageval_report.metrics.record_scores import (
    Lacking,
    Map,
    ScoredRecords,
    Tools,
    computed_names,
    score_records,
    tools_in_dialect,
)
from rageval_report.metrics.refusal import RefusalRule
from rageval_report.metrics.similarity import Embed
from rageval_report.readers.ranking_files import (
    RankingFile,
    judgments_file,
    ranking_name,
    run_file,
)
from rageval_report.records import record_table
from rageval_report.records.id_changes import (
    MatchIds,
    match_record_ids,
    parse_changes,
)
from rageval_report.records.levels import LEVEL_OPTIONS, LevelOption
from rageval_report.scores import METRICS, Catalogue, Metric, score_table
from rageval_report.scores.catalogue.dialects import DIALECT, Dialect, DialectName
from rageval_report.scores.guard import Doubt, doubts_about_scores, notes_with_doubts
from rageval_report.scores.states import REASON, STATE, VOTES

if TYPE_CHECKING:
    from rageval_report.judges import Judged, JudgeOptions, Rubric


def build_evaluation(
    name: str,
    scores: pd.DataFrame,
    details: pd.DataFrame,
    notes: tuple[str, ...] = (),
    *,
    known: Mapping[str, Metric] | None = None,
    config: Mapping[str, Any] | None = None,
    created: datetime | date | str | None = None,
    doubts: Iterable[Doubt] = (),
    judged: Collection[str] = (),
    strict: bool = False,
    allow: str | Iterable[str] = (),
) -> RAGPipelineEvaluation:
    """An evaluation of computed scores and the details beside them."""
    rows = pd.concat([details.rename(columns=_free_names(details, scores)), scores], axis=1)
    # The constructor takes a list of metrics or descriptions of some; this call needs both.
    # Every row was scored, so a query may have any name.
    table = score_table(
        rows,
        known=known,
        only=[str(metric) for metric in scores],
        is_one_pipeline=True,
        totals="keep",
    )
    all_doubts = [*doubts, *doubts_about_scores(table.scores, table.metrics, judged=judged)]
    all_notes = notes_with_doubts((*notes, *table.notes), all_doubts, strict=strict, allow=allow)
    # The columns were computed, so there are no roles that anybody decided.
    content = replace(table, notes=all_notes, roles=())
    return RAGPipelineEvaluation.from_table(name, content, config=config, created=created)


def _free_names(details: pd.DataFrame, scores: pd.DataFrame) -> dict[Any, str]:
    """New names for the details that are named like scores."""
    used = {*map(str, details), *map(str, scores)}
    new_names: dict[Any, str] = {}
    for column in [label for label in details if label in scores]:
        first = f"{column}_given"
        candidates = (first if n == 1 else f"{first}_{n}" for n in count(1))
        new_names[column] = next(name for name in candidates if name not in used)
        used.add(new_names[column])
    return new_names


# Takes records and rubrics.
AskJudge: TypeAlias = "Callable[[object, list[Rubric]], Judged]"

_REPEATS = "_repeats"  # the ending of the column that counts a judge's repeats


@dataclass(frozen=True, eq=False)
class JudgedEvaluation:
    """An evaluation, and the result of the judging."""

    evaluation: RAGPipelineEvaluation
    judged: Judged | None = None

    @property
    def is_interrupted(self) -> bool:
        """Whether the user stopped the judging before it was complete."""
        return self.judged is not None and self.judged.is_interrupted


def score(
    records: object,
    metrics: str | Rubric | Iterable[str | Rubric],
    *,
    name: str = "pipeline",
    embed: Embed | None = None,
    prices: Prices | None = None,
    refusals: RefusalRule | None = None,
    level: LevelOption | None = None,
    duplicates: DuplicateDocs | None = None,
    no_relevant: NoRelevant | None = None,
    dialect: DialectName | None = None,
    map: Map | None = None,  # noqa: A002
    chat: object | None = None,
    judging: JudgeOptions | None = None,
    config: Mapping[str, Any] | None = None,
    created: datetime | date | str | None = None,
    match_ids: MatchIds = (),
    strict: bool = False,
    allow: str | Iterable[str] = (),
) -> RAGPipelineEvaluation:
    """Compute metrics from records, and let a chat model judge the answers.

    Parameters
    ----------
    records : frame, dict of lists, or list of dicts
        One row per query, as `rageval_report.records.record_table` takes it: question, reference,
        retrieved documents, answer.
    metrics : str, Rubric, or iterable of them
        Names of metrics such as "recall@5", "ndcg@10", "exact_match"; names of
        `rageval_report.judges.JUDGES` such as "faithfulness", also as other frameworks write them
        ("groundedness"); and rubrics of your own. The last two are judged by `chat`, and their
        columns follow the others.
    name : str
        The name of the pipeline.
    embed : callable, optional
        A function from a list of texts to one vector per text, for metrics of similarity.
    prices : mapping of str to Price, optional
        US dollars per million tokens by model, for ``cost_usd``; an unknown price is missing.
    refusals : RefusalRule, optional
        The rule that recognises a refusal; if omitted, the shipped phrases.
    level : {"auto", "chunk", "document"}, optional
        The level at which retrieved and cited passages are compared with the gold, if they carry
        the ids of document and chunk. "auto", which holds if omitted, is the level
        at which there is gold; a note says which that was.
    duplicates : {"error", "best", "keep"}, optional
        What to do with a passage that was retrieved twice for a query: raise an error; count it
        once, at its best rank, and close up the ranks below its repeats; or count it once and keep
        the ranks of its repeats, as Haystack's evaluators and ragbench do. If omitted, "best" for
        several chunks of one document that are counted at the level of documents, and "error" for
        everything else.
    no_relevant : {"skip", "zero"}, optional
        The retrieval score of a question without relevant documents, or without an answer: NaN,
        because retrieval metrics are not applicable to it (if omitted), or 0 as in trec_eval.
    dialect : {"datapizza", "haystack", "ragbench", "wfgy"}, optional
        The system whose names, denominators and rules for repeats, missing gold and percentiles
        hold, so that its numbers come out; see `rageval_report.scores.catalogue.dialects`. Metrics
        that the system does not have are refused; judges are not affected. The reports name the
        dialect.
    map : callable, optional
        A replacement of the built-in ``map``, such as that of a pool of processes.
    chat : Chat or callable, optional
        The chat model that judges, such as ``openai_chat("llama3.1", base_url=...)``, or a callable
        from text to text. Several in a list judge every record each; the score is their majority
        or their mean, and the details have each judge's scores.
    judging : mapping, optional
        The options of `rageval_report.judges.judge`, such as
        ``{"cache": "judges.sqlite", "max_cost": 2.0}``; the prices of the judge belong here too.
    config : mapping, optional
        The configuration of the pipeline; the judge is added under "judge".
    created : datetime or str, optional
        When the pipeline was run.
    match_ids : str or iterable of str
        Changes of form after which gold ids and retrieved ids are compared, such as "case",
        "extension", "prefix:docs/" or "retrieved:cut:#"; see
        `rageval_report.records.id_changes.match_record_ids`. A note says which.
    strict : bool
        Whether a doubt, such as gold ids that are never retrieved, is an error; otherwise it is the
        first note. Doubts about records are raised before a judge is asked.
    allow : str or iterable of str
        The checks whose doubts are no error and only ordinary notes; a name of
        ``rageval_report.scores.guard.CHECK_NAMES``.

    Returns
    -------
    RAGPipelineEvaluation
        Its details hold the records, the reasons why scores are missing, and the reasons that the
        judge gave.

    Raises
    ------
    UnknownNameError
        If a metric is not known.
    DataError
        If records are not valid, or lack a field that a metric needs, or a metric is judged and
        `chat` is omitted, or `strict` is true and there is a doubt, or an option contradicts
        `dialect`.
    JudgeError
        If no request to the chat model succeeds.

    Examples
    --------
    >>> rows = [{"query_id": "q1", "retrieved": ["a", "b"], "relevant": ["b"]}]
    >>> score(rows, ["recall@2", "mrr"]).get_aggregated_scores("mrr")
    0.5
    """
    return score_and_judge(
        records,
        metrics,
        name=name,
        tools=tools_in_dialect(
            dialect,
            embed=embed,
            prices=prices,
            refusals=refusals,
            duplicates=duplicates,
            level=level,
            no_relevant=no_relevant,
        ),
        map=map,
        chat=chat,
        judging=judging,
        config=config,
        created=created,
        match_ids=match_ids,
        strict=strict,
        allow=allow,
    ).evaluation


def score_and_judge(
    records: object,
    metrics: str | Rubric | Iterable[str | Rubric],
    *,
    name: str = "pipeline",
    tools: Tools | None = None,
    lacking: Lacking = "error",
    map: Map | None = None,  # noqa: A002
    chat: object | None = None,
    judging: JudgeOptions | None = None,
    config: Mapping[str, Any] | None = None,
    created: datetime | date | str | None = None,
    match_ids: MatchIds = (),
    notes: tuple[str, ...] = (),
    strict: bool = False,
    allow: str | Iterable[str] = (),
    ask_judge: AskJudge | None = None,
) -> JudgedEvaluation:
    """The evaluation of `score`, and beside it the result of the judging for reports."""
    tools = tools or Tools()
    if tools.duplicates is not None:
        check_choice("duplicates", tools.duplicates, DUPLICATE_DOCS)
    check_choice("level", tools.level, LEVEL_OPTIONS)
    check_choice("no_relevant", tools.no_relevant, NO_RELEVANT)
    computed, rubrics = check_metrics(metrics, chat or ask_judge, tools.dialect)
    if match_ids:
        table = record_table(records, unretrieved_citations="keep")
        records, match_note = match_record_ids(table, match_ids)
        notes = (match_note, *notes)
    # Metrics are computed first: they refuse wrong records before a judge is paid for them.
    scored = None
    if computed:
        scored = score_records(records, computed, tools=tools, lacking=lacking, map=map)
    checked = scored.records if scored else record_table(records, unretrieved_citations="keep")
    rules = tools.dialect
    doubts = doubts_about_records(checked, needed_fields(computed, rubrics, rules), tools)
    notes_with_doubts(notes, doubts, strict=strict, allow=allow)
    judged: Judged | None = None
    if rubrics:
        ask = ask_judge or partial(judges.judge, chat=chat, **(judging or {}))
        judged = ask(records, rubrics)
    parts = [part for part in (scored, judged) if part is not None]
    settings = {} if scored is None else scored.prepared.settings
    if match_ids:
        settings = {**settings, "match_ids": [str(change) for change in parse_changes(match_ids)]}
    # The descriptions of metrics that are not those of the catalogue.
    known = {**(scored.metrics if scored and rules else {}), **(judged.metrics if judged else {})}
    judged_notes = () if judged is None else judged.notes
    if judged is not None and rules is not None:
        judged_notes = (
            f'dialect: the metrics of the judge are our own; dialect="{rules.name}" decides only '
            f"their percentiles ({rules.percentile_method})",
            *judged_notes,
        )
    scoring_notes = () if scored is None else _notes_of(scored)
    evaluation = build_evaluation(
        name,
        pd.concat([part.scores for part in parts], axis=1),
        _join_details(parts, judged),
        (*notes, *scoring_notes, *judged_notes),
        known=known or None,
        config={
            **(config or {}),
            **({} if rules is None else {DIALECT: rules.name}),
            **({"retrieval": settings} if settings else {}),
            **({} if judged is None else {"judge": judged.settings}),
        },
        created=created,
        doubts=doubts,
        judged=() if judged is None else tuple(str(name) for name in judged.scores),
        strict=strict,
        allow=allow,
    )
    return JudgedEvaluation(evaluation, judged)


def check_metrics(
    metrics: str | Rubric | Iterable[str | Rubric],
    chat: object | None,
    dialect: Dialect | None = None,
) -> tuple[list[str], list[Rubric]]:
    """The result of `split_metrics`, after a check that a judge has a chat model."""
    computed, rubrics = split_metrics(metrics, dialect)
    if rubrics and chat is None:
        names = ", ".join(rubric.name for rubric in rubrics)
        raise DataError(
            f"metrics: {names} needs a judge. Pass the chat model that judges: "
            "score(..., chat=openai_chat(...))"
        )
    return computed, rubrics


_COST = "cost_usd"


def _notes_of(scored: ScoredRecords) -> tuple[str, ...]:
    """Notes on the level, on repeats, on questions without gold, and on prices."""
    tools, notes = scored.prepared.tools, scored.prepared.notes
    if tools.prices is not None and _COST in {m.known_as for m in scored.metrics.values()}:
        # With prices, where the costs come from.
        notes += notes_on_costs(scored.records, tools.prices, model=tools.model)
    return notes if tools.dialect is None else (tools.dialect.note, *notes)


def split_metrics(
    metrics: str | Rubric | Iterable[str | Rubric], dialect: Dialect | None = None
) -> tuple[list[str], list[Rubric]]:
    """The metrics that are computed from records, and the rubrics of those that are judged."""
    is_single = isinstance(metrics, str) or not isinstance(metrics, Iterable)
    requested: list[Any] = [metrics] if is_single else list(metrics)  # type: ignore[arg-type]
    if not requested:
        raise DataError("metrics must name at least one metric; got none")
    catalogue = Catalogue()
    names = [metric for metric in requested if isinstance(metric, str)]
    computed = [name for name in names if not _is_judged(name, catalogue, dialect)]
    judged = [metric for metric in requested if metric not in computed]
    return computed, rubrics_of(judged) if judged else []


def _is_judged(name: str, catalogue: Catalogue, dialect: Dialect | None) -> bool:
    """Whether a judge has that name, and no function computes the metric."""
    if dialect is not None and dialect.find(name) is not None:
        return False
    metric = catalogue.search(name)
    # A function costs nothing and gives the same value each time, so it goes before a judge.
    if metric is not None and metric.compute is not None:
        return False
    is_judged = judge_of(name) is not None
    if metric is None and not is_judged:
        METRICS.raise_if_broken(name)
        raise UnknownNameError("metric", name, [*computed_names(), *JUDGES])
    return is_judged


def _join_details(parts: Sequence[ScoredRecords | Judged], judged: Judged | None) -> pd.DataFrame:
    """Records and states, without the columns of an earlier scoring of the same metrics."""
    names = [str(name) for part in parts for name in part.scores]
    outdated = {f"{name}{ending}" for name in names for ending in (STATE, REASON, _REPEATS, VOTES)}
    if judged is not None:
        outdated.update(map(str, judged.scores))
    records = parts[0].records
    current = records.drop(columns=[column for column in records if column in outdated])
    return pd.concat([current, *(part.states for part in parts)], axis=1)


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
        As `rageval_report.metrics.ranking_scores.score_table_of_rankings` takes them: dicts, tidy
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
    options: dict[str, Any] = {"ties": ties, "relevance_level": relevance_level}
    options |= {"no_relevant": no_relevant, "duplicates": duplicates}
    known: dict[str, Metric] = {}
    config: dict[str, Any] = {}
    notes: list[str] = []
    if rules is not None:
        notes.append(rules.note)
        config[DIALECT] = rules.name
        options = rules.settle(**options)
        known = ranked_metrics(requested, rules)
        requested = list(dict.fromkeys(metric.known_as for metric in known.values()))
    source = Source(run) if _is_file(run) else None
    ranking = RankingFile(run) if source is None else run_file(source)
    judgments = judgments_file(Source(qrels)) if _is_file(qrels) else RankingFile(qrels)
    if match_ids:
        config["retrieval"] = {"match_ids": [str(change) for change in parse_changes(match_ids)]}
    ranked = score_table_of_rankings(
        ranking.content,
        judgments.content,
        requested,
        drop_self=drop_self,
        match_ids=match_ids,
        **{option: value for option, value in options.items() if value is not None},
    )
    scores, details = ranked.scores, ranked.details
    if rules is not None:
        scores, details = tables_in_dialect(scores, details, known)
    pipeline = name or (ranking_name(fspath(run)) if isinstance(run, str | PathLike) else "run")
    notes = [*notes, *(source.notes if source else ()), *ranking.notes]
    notes += [*(f"qrels: {note}" for note in judgments.notes), *ranked.notes]
    return build_evaluation(
        *(pipeline, scores, details, tuple(notes)),
        known=known or None,
        config=({} if ranking.tag is None else {"tag": ranking.tag}) | config,
        doubts=doubts_about_rankings(ranked.joined),
        strict=strict,
        allow=allow,
    )


def _is_file(source: RankingSource) -> TypeGuard[FileInput]:
    """Whether it is a file whose form can be recognised; a pipe could not be read a second time."""
    if not isinstance(source, str | PathLike):
        return is_file_input(source)
    return str(source) == STANDARD_INPUT or is_file(Path(source))
