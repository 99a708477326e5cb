"""Matches the queries of two evaluations whose ids differ by a text, such as the question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from rageval_report.errors import AlignmentError, UnknownNameError
from rageval_report.scores.correct import Correct
from rageval_report.scores.metric import Metric, normalise_name
from rageval_report.scores.query_ids import QUERY_ID, first_named, plain_text
from rageval_report.scores.table import Scored
from rageval_report.scores.texts import QUESTION


@dataclass(frozen=True, eq=False)
class RenamedQueries:
    """An evaluation with the query ids of another one.

    Parameters
    ----------
    name : str
    scores, details : DataFrame
        As in `Scored`; a query that the other evaluation does not have keeps its own id.
    metrics : dict of str to Metric
    config : mapping
        The configuration of the pipeline.
    correct_rule : Correct, optional
        Its rule for a correct answer.
    """

    name: str
    scores: pd.DataFrame
    details: pd.DataFrame
    metrics: dict[str, Metric]
    config: Mapping[str, Any] = field(default_factory=dict)
    correct_rule: Correct | None = None


def match_queries(evaluation: Scored, to: Scored, on: str) -> RenamedQueries:
    """An evaluation with the query ids that the same texts have in another one.

    Parameters
    ----------
    evaluation, to : Scored
        The evaluation to rename, and the one whose ids are used.
    on : str
        The column of details to match by; "question" stands for all names that frameworks give
        that column. White space and Unicode forms are ignored; the second of two equal texts
        matches the second.

    Raises
    ------
    UnknownNameError
        If an evaluation has no such column.
    AlignmentError
        If no text occurs in both.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> ours = RAGPipelineEvaluation("a", {"query_id": ["q1"], "question": ["Why?"], "f1": [1]})
    >>> theirs = RAGPipelineEvaluation("b", {"id": ["x7"], "user_input": [" Why? "], "f1": [0]})
    >>> list(match_queries(theirs, ours, "question").scores.index)
    ['q1']
    """
    id_by_key = dict(zip(_text_keys(to, on), to.scores.index, strict=True))
    matches = [id_by_key.get(key) for key in _text_keys(evaluation, on)]
    if all(match is None for match in matches):
        raise AlignmentError(
            f"on={on!r}: {to.name!r} and {evaluation.name!r} have no text in common"
        )
    used = set(to.scores.index)
    ids = [
        match if match is not None else (f"{evaluation.name}:{own}" if own in used else own)
        for match, own in zip(matches, evaluation.scores.index, strict=True)
    ]
    index = pd.Index(ids, name=QUERY_ID)
    return RenamedQueries(
        evaluation.name,
        evaluation.scores.set_axis(index, axis=0),
        evaluation.details.set_axis(index, axis=0),
        dict(evaluation.metrics),
        getattr(evaluation, "config", {}),
        getattr(evaluation, "correct_rule", None),
    )


def _text_keys(evaluation: Scored, on: str) -> list[tuple[str, int]]:
    """The text of each query, and how many queries before it have the same text."""
    texts = evaluation.details[_text_column(evaluation, on)].astype(str).map(plain_text)
    return list(zip(texts, texts.groupby(texts).cumcount().tolist(), strict=True))


def _text_column(evaluation: Scored, on: str) -> str:
    names = (
        (normalise_name(on), *QUESTION) if normalise_name(on) in QUESTION else (normalise_name(on),)
    )
    labels = [str(label) for label in evaluation.details]
    column = first_named(labels, names)
    if column is None:
        raise UnknownNameError(f"detail column of {evaluation.name!r}", on, labels)
    return column
