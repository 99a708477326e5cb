"""Matches the queries of two evaluations whose ids differ by a text, such as the question."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pandas as pd

from rageval_report.errors import AlignmentError, UnknownNameError
from rageval_report.scores.correct import Correct
from rageval_report.scores.metric import Metric, normalise_name
from rageval_report.scores.query_ids import QUERY_ID, first_named, plain_text
from rageval_report.scores.table import Scored
from rageval_report.scores.texts import QUESTION

# A text, and how many queries before it have the same text.
TextKey: TypeAlias = tuple[str, int]


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
        matches the second. A query without a text matches none.

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
    return match_all(to, [evaluation], on)[0]


def match_all(first: Scored, others: Sequence[Scored], on: str) -> list[RenamedQueries]:
    """Evaluations with the query ids that the same texts have in the first one.

    A text that the first one lacks has the same id in all others, too.

    Parameters
    ----------
    first : Scored
        The evaluation whose ids are used.
    others : sequence of Scored
        Those to rename.
    on : str
        As in `match_queries`.

    Raises
    ------
    UnknownNameError, AlignmentError
        As `match_queries`.
    """
    ids = first.scores.index
    id_by_key = {key: own for key, own in zip(_text_keys(first, on), ids, strict=True) if key}
    keys_of_first, used = frozenset(id_by_key), set(ids)
    renamed = []
    for run in others:
        keys = _text_keys(run, on)
        if keys_of_first.isdisjoint(keys):
            raise no_common_text(on, first.name, run.name)
        new_ids = [
            id_by_key[key] if key in id_by_key else lone_id(run.name, own, taken=own in used)
            for key, own in zip(keys, run.scores.index, strict=True)
        ]
        id_by_key |= {key: own for key, own in zip(keys, new_ids, strict=True) if key}
        used.update(new_ids)
        renamed.append(_renamed(run, pd.Index(new_ids, name=QUERY_ID)))
    return renamed


def lone_id(name: str, own: str, *, taken: bool) -> str:
    """The id of a query whose text the first run lacks.

    Parameters
    ----------
    name : str
        The run that has it.
    own : str
        Its id there.
    taken : bool
        Whether another query has this id.

    Examples
    --------
    >>> lone_id("hybrid", "q1", taken=True), lone_id("hybrid", "x7", taken=False)
    ('hybrid:q1', 'x7')
    """
    return f"{name}:{own}" if taken else own


def no_common_text(on: str, first: str, second: str) -> AlignmentError:
    """The error for two runs that share no text."""
    return AlignmentError(f"on={on!r}: {first!r} and {second!r} have no text in common")


def _renamed(evaluation: Scored, index: pd.Index) -> RenamedQueries:
    return RenamedQueries(
        evaluation.name,
        evaluation.scores.set_axis(index, axis=0),
        evaluation.details.set_axis(index, axis=0),
        dict(evaluation.metrics),
        getattr(evaluation, "config", {}),
        getattr(evaluation, "correct_rule", None),
    )


def _text_keys(evaluation: Scored, on: str) -> list[TextKey | None]:
    """The key of each query; None without a text."""
    cells = evaluation.details[text_column(evaluation, on)].tolist()
    n_before: dict[str, int] = {}
    keys: list[TextKey | None] = []
    for text in map(matching_text, cells):
        if text is None:
            keys.append(None)
            continue
        keys.append((text, n_before.get(text, 0)))
        n_before[text] = n_before.get(text, 0) + 1
    return keys


def matching_text(cell: object) -> str | None:
    r"""The text by which a cell is matched; None if it has none.

    Examples
    --------
    >>> matching_text(" Why\u00a0so? "), matching_text(7.0), matching_text(float("nan"))
    ('Why so?', '7', None)
    """
    if isinstance(cell, float):
        # An empty cell makes floats of whole numbers, in one of the tables.
        whole = math.isfinite(cell) and cell.is_integer()
        return None if math.isnan(cell) else str(int(cell) if whole else cell)
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return None
    return plain_text(str(cell)) or None


def text_column(evaluation: Scored, on: str) -> str:
    """The column of details that has the texts.

    Parameters
    ----------
    evaluation, on
        As in `match_queries`.

    Raises
    ------
    UnknownNameError
        If there is none.
    """
    names = (
        (normalise_name(on), *QUESTION) if normalise_name(on) in QUESTION else (normalise_name(on),)
    )
    labels = [str(label) for label in evaluation.details]
    column = first_named(labels, names)
    if column is None:
        raise UnknownNameError(f"detail column of {evaluation.name!r}", on, labels)
    return column
