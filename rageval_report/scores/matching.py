"""Two runs whose ids differ are matched by what was asked."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from rageval_report.errors import AlignmentError, UnknownNameError
from rageval_report.scores.metric import Metric, normalised
from rageval_report.scores.query_ids import QUERY_ID, first_named, plain_text
from rageval_report.scores.table import Scored
from rageval_report.scores.texts import QUESTION


@dataclass(frozen=True, eq=False)
class Matched:
    """A run under another run's query ids.

    Parameters
    ----------
    name : str
    scores, details : DataFrame
        As in `Scored`; a query that the other run does not have keeps its own id.
    metrics : dict of str to Metric
    """

    name: str
    scores: pd.DataFrame
    details: pd.DataFrame
    metrics: dict[str, Metric]


def matched(run: Scored, to: Scored, on: str) -> Matched:
    """A run with the ids of the queries of another that ask the same.

    Parameters
    ----------
    run, to : Scored
        The run to rename, and the one whose ids are taken.
    on : str
        The column of details that says what was asked; "question" is found under any of the names
        that frameworks give it. Blanks and Unicode forms make no difference; the second of two
        equal texts matches the second.

    Raises
    ------
    UnknownNameError
        If a run has no such column.
    AlignmentError
        If no text is in both.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> ours = RAGPipelineEvaluation("a", {"query_id": ["q1"], "question": ["Why?"], "f1": [1]})
    >>> theirs = RAGPipelineEvaluation("b", {"id": ["x7"], "user_input": [" Why? "], "f1": [0]})
    >>> list(matched(theirs, ours, "question").scores.index)
    ['q1']
    """
    known = dict(zip(_keys(to, on), to.scores.index, strict=True))
    found = [known.get(key) for key in _keys(run, on)]
    if not any(one is not None for one in found):
        raise AlignmentError(f"{to.name!r} and {run.name!r} share no text of {on!r}")
    taken = set(to.scores.index)
    ids = [
        one if one is not None else (f"{run.name}:{own}" if own in taken else own)
        for one, own in zip(found, run.scores.index, strict=True)
    ]
    index = pd.Index(ids, name=QUERY_ID)
    return Matched(
        run.name,
        run.scores.set_axis(index, axis=0),
        run.details.set_axis(index, axis=0),
        dict(run.metrics),
    )


def _keys(run: Scored, on: str) -> list[tuple[str, int]]:
    """What each query asks, and the how-manieth it is that asks so."""
    texts = run.details[_column(run, on)].astype(str).map(plain_text)
    return list(zip(texts, texts.groupby(texts).cumcount().tolist(), strict=True))


def _column(run: Scored, on: str) -> str:
    names = (normalised(on), *QUESTION) if normalised(on) in QUESTION else (normalised(on),)
    column = first_named(map(str, run.details), names)
    if column is None:
        raise UnknownNameError(f"detail column of {run.name!r}", on, map(str, run.details))
    return column
