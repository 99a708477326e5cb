"""judge --stop-when: records are judged in a random order until a rule holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pandas as pd

from rageval_report.analysis.stopping import StopDecision, decide
from rageval_report.errors import DataError
from rageval_report.evaluating.scoring import Tell
from rageval_report.evaluating.staged_scoring import (
    NOTE_ON_ORDER,
    make_plan,
    notes_on_end,
    read_baseline,
)
from rageval_report.judges import Rubric, growing_judging
from rageval_report.judges.chats import Chat
from rageval_report.judges.options import JudgeOptions
from rageval_report.metrics.scoring import JudgedEvaluation, score_and_judge
from rageval_report.records.draws import draw_keys
from rageval_report.results import Result
from rageval_report.runner.staged_asking import asking_order


def judge_until(
    records: pd.DataFrame,
    rubrics: Sequence[Rubric],
    chats: Sequence[Chat],
    stop_when: Sequence[str],
    *,
    judging: JudgeOptions,
    baseline: object | None = None,
    looks: int | None = None,
    seed: int = 0,
    name: str = "pipeline",
    tell: Tell = lambda _text: None,
) -> tuple[JudgedEvaluation, Result]:
    """Judge records in a random order until a rule holds.

    Parameters
    ----------
    records : DataFrame
        The records, one row per query.
    rubrics : sequence of Rubric
        What is judged.
    chats : sequence of Chat
        The chat models that judge.
    stop_when : sequence of str
        The rules, as for `rageval_report.evaluate`.
    judging : mapping
        The options of `rageval_report.judges.judge`.
    baseline : path or RAGPipelineEvaluation, optional
        The run that the rules compare with.
    looks : int, optional
        The number of planned looks; at any time if omitted.
    seed : int
        The seed of the order.
    name : str
        The name of the pipeline.
    tell : callable
        Is called with each note as soon as it is known.

    Returns
    -------
    scored : JudgedEvaluation
        The judged records, in the order in which they were judged.
    stopping : Result
        One row per rule.

    Raises
    ------
    RuleError
        If a rule makes no sense; before anything is judged.
    DataError
        If there are no records.

    Examples
    --------
    >>> from rageval_report.judges import JUDGES, FunctionChat
    >>> rows = [{"query_id": str(n), "question": "Why?", "answer": "So."} for n in range(60)]
    >>> table = pd.DataFrame(rows).set_index("query_id")
    >>> chat = FunctionChat(lambda prompt: '{"reasoning": "Good.", "score": 5}', "always-5")
    >>> rubric = JUDGES["answer_relevancy"]
    >>> scored, stopping = judge_until(
    ...     table, [rubric], [chat], ["ci_low(answer_relevancy) >= 0.5"], judging={}
    ... )
    >>> scored.evaluation.n_queries, stopping.notes[-1]
    (10, 'saved 50 queries (83 %)')
    """
    if not len(records):
        raise DataError("records must have at least one row; got none")
    known = read_baseline(baseline)
    names = [rubric.name for rubric in rubrics]
    ids = [str(query_id) for query_id in records.index]
    plan = make_plan(stop_when, known, ids, len(records), looks, names, tell)
    shuffled = records.iloc[asking_order(draw_keys(ids), np.ones(len(ids), dtype=bool), seed)]
    settings = {"rules": [rule.text for rule in plan.rules], "order": "random", "seed": seed}
    with growing_judging(chats, **cast("dict[str, Any]", judging)) as growing:
        for size in plan.look_sizes:
            scored = score_and_judge(
                shuffled.iloc[:size],
                rubrics,
                name=name,
                ask_judge=growing.judge,
                notes=(NOTE_ON_ORDER,),
                config={"stopping": settings},
            )
            decision: StopDecision = decide(plan, scored.evaluation, known)
            if decision.may_stop or growing.is_stopped:
                break
    spent = float("nan") if scored.judged is None else scored.judged.usage["cost_usd"].sum()
    notes = notes_on_end(decision, size, len(records), seed, spent or float("nan"))
    for message in notes:
        tell(message)
    return scored, decision.with_notes(*notes)
