"""Records become an evaluation: metrics are computed, and a chat model judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from rageval_report import judges
from rageval_report.errors import DataError, UnknownNameError, check_choice
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.judges.rubric import JUDGES, judge_of, rubrics_of
from rageval_report.metrics.cosines import Embed
from rageval_report.metrics.performance import Prices, notes_on_costs
from rageval_report.metrics.refusal import RefusalRule
from rageval_report.metrics.views import Tools, tools_in_dialect
from rageval_report.rankings.inputs import DUPLICATE_DOCS, DuplicateDocs
from rageval_report.rankings.score_tables import NO_RELEVANT, NoRelevant
from rageval_report.records import record_table
from rageval_report.records.id_changes import MatchIds, match_record_ids, parse_changes
from rageval_report.records.levels import LEVEL_OPTIONS, LevelOption
from rageval_report.scores import METRICS, Catalogue, Metric
from rageval_report.scores.catalogue.dialects import DIALECT, Dialect, DialectName
from rageval_report.scores.guard import Doubt, notes_with_doubts
from rageval_report.scores.states import REASON, STATE, VOTES
from rageval_report.scoring.compute import (
    Lacking,
    Map,
    ScoredRecords,
    computed_names,
    score_records,
)
from rageval_report.scoring.evaluations import build_evaluation
from rageval_report.scoring.guard import doubts_about_records, needed_fields

if TYPE_CHECKING:
    from rageval_report.judges import Judged, JudgeOptions, Rubric

# Takes records and rubrics.
AskJudge: TypeAlias = "Callable[[object, list[Rubric]], Judged]"

_REPEATS = "_repeats"  # the ending of the column that counts a judge's repeats


@dataclass(frozen=True, eq=False)
class JudgedEvaluation:
    """An evaluation, and the result of the judging.

    Parameters
    ----------
    evaluation : RAGPipelineEvaluation
        All scores, computed and judged.
    judged : Judged, optional
        The verdicts with their cost and the differences between repeats; None if nothing was
        judged.
    """

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
        or their mean, and the method `judges_agreement` compares them.
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
    further: ScoredRecords | None = None,
    strict: bool = False,
    allow: str | Iterable[str] = (),
    ask_judge: AskJudge | None = None,
) -> JudgedEvaluation:
    """The evaluation of `score`, and beside it the result of the judging for reports.

    Parameters
    ----------
    records, metrics, name, map, chat, judging, config, created, match_ids, strict, allow
        As for `score`.
    notes : tuple of str
        Further notes for the reports; doubts among them are errors if `strict` is true.
    further : ScoredRecords, optional
        Scores of the same queries that were computed from other fields; their columns come first.
    tools : Tools, optional
        What some metrics need: a function that embeds texts, prices, the rule for refusals.
    lacking : {"error", "unscored"}
        As for `rageval_report.scoring.compute.score_records`.
    ask_judge : callable, optional
        Judges records by rubrics, instead of `chat` with `judging`.

    Examples
    --------
    >>> rows = [{"query_id": "q", "answer": "In Oslo.", "reference": "In Oslo."}]
    >>> result = score_and_judge(rows, "exact_match")
    >>> result.evaluation.get_aggregated_scores("exact_match"), result.judged
    (1.0, None)
    """
    tools = check_tools(tools)
    computed, rubrics = check_metrics(metrics, chat or ask_judge, tools.dialect)
    if match_ids:
        table = record_table(records, unretrieved_citations="keep")
        records, match_note = match_record_ids(table, match_ids)
        notes = (match_note, *notes)
    # Metrics are computed first: they refuse wrong records before a judge is paid for them.
    scored = None
    if computed:
        scored = score_records(records, computed, tools=tools, lacking=lacking, map=map)
    checked = (
        record_table(records, unretrieved_citations="keep") if scored is None else scored.records
    )
    doubts = doubts_about_records(checked, needed_fields(computed, rubrics, tools.dialect), tools)
    notes_with_doubts(notes, doubts, strict=strict, allow=allow)
    judged: Judged | None = None
    if rubrics:
        ask = ask_judge or partial(judges.judge, chat=chat, **(judging or {}))
        judged = ask(records, rubrics)
    return join_scores(
        *(name, scored, judged),
        rules=tools.dialect,
        further=further,
        notes=notes,
        config=config,
        created=created,
        match_ids=match_ids,
        doubts=doubts,
        strict=strict,
        allow=allow,
    )


def check_tools(tools: Tools | None) -> Tools:
    """The tools after a check, or the default tools.

    Raises
    ------
    UnknownValueError
        If `duplicates`, `level` or `no_relevant` has another value.
    """
    tools = tools or Tools()
    if tools.duplicates is not None:
        check_choice("duplicates", tools.duplicates, DUPLICATE_DOCS)
    check_choice("level", tools.level, LEVEL_OPTIONS)
    check_choice("no_relevant", tools.no_relevant, NO_RELEVANT)
    return tools


def check_metrics(
    metrics: str | Rubric | Iterable[str | Rubric],
    chat: object | None,
    dialect: Dialect | None = None,
) -> tuple[list[str], list[Rubric]]:
    """The result of `split_metrics`, after a check that a judge has a chat model.

    Raises
    ------
    DataError
        If a metric is judged and there is no chat model.
    """
    computed, rubrics = split_metrics(metrics, dialect)
    if rubrics and chat is None:
        names = ", ".join(rubric.name for rubric in rubrics)
        raise DataError(
            f"metrics: {names} needs a judge. Pass the chat model that judges: "
            "score(..., chat=openai_chat(...))"
        )
    return computed, rubrics


def join_scores(
    name: str,
    scored: ScoredRecords | None,
    judged: Judged | None,
    *,
    further: ScoredRecords | None = None,
    rules: Dialect | None = None,
    notes: tuple[str, ...] = (),
    config: Mapping[str, Any] | None = None,
    created: datetime | date | str | None = None,
    match_ids: MatchIds = (),
    doubts: Iterable[Doubt] = (),
    strict: bool = False,
    allow: str | Iterable[str] = (),
) -> JudgedEvaluation:
    """One evaluation of the computed and the judged scores of the same records."""
    parts = [part for part in (further, scored, judged) if part is not None]
    records = next(part.records for part in (scored, judged, further) if part is not None)
    settings = {} if scored is None else scored.facts.settings(scored.tools)
    if match_ids:
        settings = {**settings, "match_ids": [str(change) for change in parse_changes(match_ids)]}
    judged_notes = () if judged is None else (*_notes_on_judged(rules), *judged.notes)
    computed = [part for part in (scored, further) if part is not None]
    # Both may say where the ids were read.
    scoring_notes = dict.fromkeys(note for part in computed for note in _notes_of(part))
    evaluation = build_evaluation(
        name,
        pd.concat([part.scores for part in parts], axis=1),
        _join_details(records, parts, judged),
        (*notes, *scoring_notes, *judged_notes),
        known=_descriptions(scored, judged),
        config={
            **(config or {}),
            **({} if rules is None else {DIALECT: rules.name}),
            **({"retrieval": settings} if settings else {}),
            **({} if judged is None else {"judge": judged.settings}),
        },
        created=created,
        doubts=doubts,
        judged=() if judged is None else tuple(map(str, judged.scores)),
        strict=strict,
        allow=allow,
    )
    return JudgedEvaluation(evaluation, judged)


_COST = "cost_usd"

# The name once meant what is now abstention_recall.
_RAGBENCH_ACCURACY = "unanswerable_accuracy"
_NOTE_ON_ACCURACY = (
    f"{_RAGBENCH_ACCURACY} counts right refusals and right answers, of all questions, as ragbench "
    "does (it is abstention_accuracy); abstention_recall is the share of the questions without an "
    "answer that were refused"
)


def _notes_of(scored: ScoredRecords) -> tuple[str, ...]:
    """Notes on the level, on repeats, on questions without gold, and on a name."""
    notes = (*scored.facts.notes(scored.tools), *_notes_on_prices(scored))
    if scored.tools.dialect is not None:
        return (scored.tools.dialect.note, *notes)
    return (*notes, _NOTE_ON_ACCURACY) if _RAGBENCH_ACCURACY in scored.metrics else notes


def _notes_on_prices(scored: ScoredRecords) -> tuple[str, ...]:
    """With prices, where the costs come from."""
    tools = scored.tools
    if tools.prices is None or _COST not in {metric.known_as for metric in scored.metrics.values()}:
        return ()
    return notes_on_costs(scored.records, tools.prices, model=tools.model)


def _descriptions(scored: ScoredRecords | None, judged: Judged | None) -> dict[str, Metric] | None:
    """The descriptions of metrics that are not those of the catalogue."""
    in_dialect = scored is not None and scored.tools.dialect is not None
    known = {
        **(scored.metrics if scored is not None and in_dialect else {}),
        **({} if judged is None else judged.metrics),
    }
    return known or None


def _notes_on_judged(rules: Dialect | None) -> tuple[str, ...]:
    """A note on what a dialect says about judged metrics: their percentiles, and nothing else."""
    if rules is None:
        return ()
    return (
        f'dialect: the metrics of the judge are our own; dialect="{rules.name}" decides only their '
        f"percentiles ({rules.percentile_method})",
    )


def split_metrics(
    metrics: str | Rubric | Iterable[str | Rubric], dialect: Dialect | None = None
) -> tuple[list[str], list[Rubric]]:
    """The metrics that are computed from records, and the rubrics of those that are judged.

    Parameters
    ----------
    metrics : str, Rubric, or iterable of them
        Rubrics, names of `rageval_report.judges.JUDGES`, and names of metrics.
    dialect : Dialect, optional
        The system whose names the metrics may have.

    Raises
    ------
    UnknownNameError
        If a name is neither that of a metric nor that of a judge.
    DataError
        If there is none, or a judge is listed twice.

    Examples
    --------
    >>> computed, rubrics = split_metrics(["recall@5", "faithfulness"])
    >>> computed, [rubric.name for rubric in rubrics]
    (['recall@5'], ['faithfulness'])
    """
    is_single = isinstance(metrics, str) or not isinstance(metrics, Iterable)
    requested: list[Any] = [metrics] if is_single else list(metrics)  # type: ignore[arg-type]
    if not requested:
        raise DataError("metrics must name at least one metric; got none")
    catalogue = Catalogue()
    computed = [
        metric
        for metric in requested
        if isinstance(metric, str) and not _is_judged(metric, catalogue, dialect)
    ]
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


def _join_details(
    records: pd.DataFrame,
    parts: Sequence[ScoredRecords | Judged],
    judged: Judged | None,
) -> pd.DataFrame:
    """Records and states, without the columns of an earlier scoring of the same metrics."""
    names = [str(name) for part in parts for name in part.scores]
    outdated = {f"{name}{ending}" for name in names for ending in (STATE, REASON, _REPEATS, VOTES)}
    if judged is not None:
        outdated.update(map(str, judged.scores))
    current = records.drop(columns=[column for column in records if column in outdated])
    return pd.concat([current, *(part.states for part in parts)], axis=1)
