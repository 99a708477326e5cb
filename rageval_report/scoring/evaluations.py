"""Builds evaluations from computed scores and the details beside them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime
from itertools import count
from typing import Any

import pandas as pd

from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.scores import Metric, score_table
from rageval_report.scores.guard import Doubt, doubts_about_scores, notes_with_doubts


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
    """An evaluation of computed scores and the details beside them.

    Parameters
    ----------
    name : str
        The name of the pipeline.
    scores, details : DataFrame
        On one index; a detail named like a score gets the ending "_given", followed by a number if
        another detail has that name.
    notes : tuple of str
        The notes of its reports.
    known : mapping of str to Metric, optional
        The description of some metrics, such as the direction of a rubric of the user.
    config, created
        The configuration of the pipeline, and when it was run.
    doubts : iterable of Doubt
        What the records or the rankings made doubtful; the doubts about the scores are added.
    judged : collection of str
        The metrics whose scores come from a judge.
    strict, allow
        As for `rageval_report.scores.guard.notes_with_doubts`.

    Raises
    ------
    DataError
        If `strict` is true and a doubt is not allowed.

    Examples
    --------
    >>> scores = pd.DataFrame({"vagueness": [0.5]}, index=pd.Index(["q"], name="query_id"))
    >>> known = {"vagueness": Metric("vagueness", greater_is_better=False)}
    >>> evaluation = build_evaluation("mine", scores, scores.iloc[:, :0], known=known)
    >>> evaluation.metrics["vagueness"].greater_is_better
    False
    """
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
