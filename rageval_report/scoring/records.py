"""Where the halves meet: records, rankings and traces become evaluations that can be reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from rageval_report._registry import load
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.judges.rubrics import JUDGES, judge_of, rubrics_of
from rageval_report.metrics.cosines import Embed
from rageval_report.metrics.performance import Prices
from rageval_report.metrics.refusal import RefusalRule
from rageval_report.metrics.views import Tools
from rageval_report.rankings.inputs import DUPLICATE_DOCS, DuplicateDocs
from rageval_report.rankings.joined import Ties
from rageval_report.rankings.score_tables import NoRelevant, score_table_of_rankings
from rageval_report.scores import Catalogue, Metric, score_table
from rageval_report.scores.states import REASON, STATE
from rageval_report.scoring.compute import (
    Lacking,
    Map,
    ScoredRecords,
    computed_names,
    score_records,
)

if TYPE_CHECKING:
    from rageval_report.judges import Judged, Rubric

_JUDGING = "rageval_report.judges.judging"  # loaded only if something is judged
_REPEATS = "_repeats"  # the ending of the column of a judge's repeats


@dataclass(frozen=True, eq=False)
class WithJudged:
    """An evaluation, and what its judges said.

    Parameters
    ----------
    evaluation : RAGPipelineEvaluation
        All scores, computed and judged.
    judged : Judged, optional
        With what it took and how the repeats differ; None where nothing was judged.
    """

    evaluation: RAGPipelineEvaluation
    judged: Judged | None = None

    @property
    def is_interrupted(self) -> bool:
        """Whether the user ended the judging before it was done."""
        return self.judged is not None and self.judged.is_interrupted


def score(
    records: object,
    metrics: str | Rubric | Iterable[str | Rubric],
    *,
    name: str = "pipeline",
    embed: Embed | None = None,
    prices: Prices | None = None,
    refusals: RefusalRule | None = None,
    duplicates: DuplicateDocs = "error",
    map: Map | None = None,  # noqa: A002
    chat: object | None = None,
    judging: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    created: datetime | date | str | None = None,
) -> RAGPipelineEvaluation:
    """Compute metrics from records, and let a chat model judge them.

    Parameters
    ----------
    records : frame, dict of lists, or list of dicts
        One row a query, as `rageval_report.records.record_table` takes it: what was asked,
        expected, retrieved and answered.
    metrics : str, Rubric, or iterable of them
        As "recall@5", "ndcg@10", "exact_match"; those of `rageval_report.judges.JUDGES`, as
        "faithfulness", also as other frameworks call them, as "groundedness", and rubrics of your
        own are judged by `chat`, and stand behind the others.
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
    chat : Chat or callable, optional
        Who judges, as ``openai_chat("llama3.1", base_url=...)``, or a callable that takes a text
        and gives one.
    judging : mapping, optional
        How it is asked, as ``{"cache": "judges.sqlite", "max_cost": 2.0}``: the options of
        `rageval_report.judges.judge`. The prices of the judge stand here too.
    config : mapping, optional
        How the pipeline was set up; who judged is added under "judge".
    created : datetime or str, optional
        When the pipeline was run.

    Returns
    -------
    RAGPipelineEvaluation
        The records stand in its details, and beside them why a score is missing and what the judge
        said.

    Raises
    ------
    UnknownNameError
        If a metric is not known.
    DataError
        If records are wrong, or lack a field that a metric needs, or a metric is judged and there
        is no chat.
    JudgeError
        If the chat cannot be asked at all.

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
        tools=Tools(embed, prices, refusals, duplicates),
        map=map,
        chat=chat,
        judging=judging,
        config=config,
        created=created,
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
    judging: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    created: datetime | date | str | None = None,
) -> WithJudged:
    """As `score`, and beside the evaluation all that the judges said, for those who report on it.

    Parameters
    ----------
    records, metrics, name, map, chat, judging, config, created
        As for `score`.
    tools : Tools, optional
        What some metrics need: a function that embeds texts, prices, what tells a refusal.
    lacking : {"error", "unscored"}
        As for `rageval_report.scoring.compute.score_records`.

    Examples
    --------
    >>> rows = [{"query_id": "q", "answer": "In Oslo.", "reference": "In Oslo."}]
    >>> found = score_and_judge(rows, "exact_match")
    >>> found.evaluation.get_aggregated_scores("exact_match"), found.judged
    (1.0, None)
    """
    tools = checked_tools(tools)
    computed, rubrics = checked_metrics(metrics, chat)
    # What is computed comes first: records that it refuses shall not have been paid for.
    scored = None
    if computed:
        scored = score_records(records, computed, tools=tools, lacking=lacking, map=map)
    judged: Judged | None = None
    if rubrics:
        judged = load(f"{_JUDGING}:judge")(records, rubrics, chat, **dict(judging or {}))
    return with_judged(name, scored, judged, config=config, created=created)


def checked_tools(tools: Tools | None) -> Tools:
    """The tools, or those that are usual.

    Raises
    ------
    UnknownNameError
        If there is no such rule for duplicates.
    """
    tools = tools or Tools()
    if tools.duplicates not in DUPLICATE_DOCS:
        raise UnknownNameError("rule for duplicates", str(tools.duplicates), DUPLICATE_DOCS)
    return tools


def checked_metrics(
    metrics: str | Rubric | Iterable[str | Rubric], chat: object | None
) -> tuple[list[str], list[Rubric]]:
    """As `computed_and_judged`, if there is somebody to judge.

    Raises
    ------
    DataError
        If a metric is judged, and there is no chat.
    """
    computed, rubrics = computed_and_judged(metrics)
    if rubrics and chat is None:
        raise DataError(
            f"{', '.join(rubric.name for rubric in rubrics)} is for a judge: give the chat model "
            "that judges, as score(..., chat=openai_chat(...))"
        )
    return computed, rubrics


def with_judged(
    name: str,
    scored: ScoredRecords | None,
    judged: Judged | None,
    *,
    notes: tuple[str, ...] = (),
    config: Mapping[str, Any] | None = None,
    created: datetime | date | str | None = None,
) -> WithJudged:
    """What was computed and what was judged of the same records, one of them at least, as one."""
    parts = [part for part in (scored, judged) if part is not None]
    evaluation = evaluation_of(
        name,
        pd.concat([part.scores for part in parts], axis=1),
        _beside(parts[0].records, [part.states for part in parts], scored, judged),
        (*notes, *(() if judged is None else judged.notes)),
        known=None if judged is None else judged.metrics,
        config={**(config or {}), **({} if judged is None else {"judge": judged.settings})},
        created=created,
    )
    return WithJudged(evaluation, judged)


def computed_and_judged(
    metrics: str | Rubric | Iterable[str | Rubric],
) -> tuple[list[str], list[Rubric]]:
    """The metrics that are computed from records, and the rubrics of those that are judged.

    Parameters
    ----------
    metrics : str, Rubric, or iterable of them
        Rubrics, names of `rageval_report.judges.JUDGES`, and names of metrics.

    Raises
    ------
    UnknownNameError
        If a name is neither a metric's nor a judge's.
    DataError
        If there is none, or a judge is asked for twice.

    Examples
    --------
    >>> computed, rubrics = computed_and_judged(["recall@5", "faithfulness"])
    >>> computed, [rubric.name for rubric in rubrics]
    (['recall@5'], ['faithfulness'])
    """
    one_alone = isinstance(metrics, str) or not isinstance(metrics, Iterable)
    asked: list[Any] = [metrics] if one_alone else list(metrics)  # type: ignore[arg-type]
    if not asked:
        raise DataError("expected at least one metric; got none")
    catalogue = Catalogue()
    computed = [one for one in asked if isinstance(one, str) and not _is_judged(one, catalogue)]
    others = [one for one in asked if one not in computed]
    return computed, rubrics_of(others) if others else []


def _is_judged(name: str, catalogue: Catalogue) -> bool:
    """Whether a judge has that name, and no function computes it."""
    metric = catalogue.search(name)
    if metric is not None and metric.compute is not None:
        return False
    is_judged = judge_of(name) is not None
    if metric is None and not is_judged:
        raise UnknownNameError("metric", name, [*computed_names(), *JUDGES])
    return is_judged


def _beside(
    records: pd.DataFrame,
    states: list[pd.DataFrame],
    scored: ScoredRecords | None,
    judged: Judged | None,
) -> pd.DataFrame:
    """Records and states; what an earlier scoring said of the same metrics gives way."""
    names = [str(name) for part in (scored, judged) if part is not None for name in part.scores]
    old = {f"{name}{ending}" for name in names for ending in (STATE, REASON, _REPEATS)}
    if judged is not None:
        old.update(map(str, judged.scores))
    kept = records.drop(columns=[column for column in records if column in old])
    return pd.concat([kept, *states], axis=1)


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
    duplicates: DuplicateDocs = "error",
) -> RAGPipelineEvaluation:
    """Score what was retrieved against what was judged relevant, as trec_eval does.

    Parameters
    ----------
    run, qrels : mapping, DataFrame or path
        As `rageval_report.rankings.score_tables.score_table_of_rankings` takes them: dicts, tidy
        frames, TREC or BEIR files.
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
    name: str,
    scores: pd.DataFrame,
    details: pd.DataFrame,
    notes: tuple[str, ...] = (),
    *,
    known: Mapping[str, Metric] | None = None,
    config: Mapping[str, Any] | None = None,
    created: datetime | date | str | None = None,
) -> RAGPipelineEvaluation:
    """Scores and what stands beside them, as an evaluation.

    Parameters
    ----------
    name : str
        The pipeline's.
    scores, details : DataFrame
        On one index; a detail named like a score gets the ending "_given", and a number behind it
        where another detail has that name.
    notes : tuple of str
        What its reports tell.
    known : mapping of str to Metric, optional
        What is known of some metrics, as the direction of a rubric that no catalogue has.
    config, created
        How the pipeline was set up, and when it was run.

    Examples
    --------
    >>> scores = pd.DataFrame({"vagueness": [0.5]}, index=pd.Index(["q"], name="query_id"))
    >>> known = {"vagueness": Metric("vagueness", greater_is_better=False)}
    >>> told = evaluation_of("mine", scores, scores.iloc[:, :0], known=known)
    >>> told.metrics["vagueness"].greater_is_better
    False
    """
    rows = pd.concat([details.rename(columns=_renamed(details, scores)), scores], axis=1)
    # The constructor takes either which columns are metrics or what is known of some; here is both.
    table = score_table(rows, known=known, only=[str(metric) for metric in scores])
    return RAGPipelineEvaluation.from_table(
        name, table.with_notes(*notes), config=config, created=created
    )


def _renamed(details: pd.DataFrame, scores: pd.DataFrame) -> dict[Any, str]:
    """Free names for the details that are named like scores."""
    taken = {*map(str, details), *map(str, scores)}
    renamed: dict[Any, str] = {}
    for column in [one for one in details if one in scores]:
        first = f"{column}_given"
        names = (first if n == 1 else f"{first}_{n}" for n in count(1))
        renamed[column] = next(name for name in names if name not in taken)
        taken.add(renamed[column])
    return renamed
