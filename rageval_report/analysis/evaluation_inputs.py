"""Evaluations that a caller names by a path, a folder, a glob or an address."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, cast

from rageval_report._registry import load
from rageval_report.scores import Scored

# An evaluation, or what `rageval_report.read_scores` reads.
EvaluationInput = Scored | str | os.PathLike[str]


def read_evaluations(
    inputs: Iterable[EvaluationInput],
) -> tuple[tuple[Scored, ...], tuple[str, ...]]:
    """The evaluations, with every pipeline of a path in its place, and notes on what was read.

    Parameters
    ----------
    inputs : iterable of RAGPipelineEvaluation, str or PathLike
        Evaluations, and paths as for `rageval_report.read_scores`.

    Returns
    -------
    tuple
        The evaluations, and the notes that all pipelines of a path share: they say how several
        files were taken.

    Raises
    ------
    DataError
        If a path cannot be read.
    """
    evaluations: list[Scored] = []
    notes: dict[str, None] = {}
    for item in inputs:
        if not isinstance(item, str | os.PathLike):
            evaluations.append(item)
            continue
        # By name: the evaluation stands above this room, and only paths need it.
        read_scores: Any = load("rageval_report.evaluation:read_scores")
        runs = list(read_scores(item).values())
        evaluations += cast("list[Scored]", runs)
        notes |= dict.fromkeys(note for note in runs[0].notes if _is_shared(note, runs))
    return tuple(evaluations), tuple(notes)


def _is_shared(note: str, runs: list[Any]) -> bool:
    return len(runs) > 1 and all(note in run.notes for run in runs)
