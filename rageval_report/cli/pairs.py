"""A baseline and its candidates, loaded from the files that the command line names."""

from __future__ import annotations

from collections.abc import Sequence

import click

from rageval_report.cli.options import LoadingOptions
from rageval_report.cli.sources import Loading
from rageval_report.evaluation import RAGPipelineEvaluation


def load_pair(
    options: LoadingOptions, baseline: str, candidates: Sequence[str], metrics: Sequence[str] = ()
) -> list[RAGPipelineEvaluation]:
    """The baseline, then its candidates; without candidates, the pipelines of the one file.

    Parameters
    ----------
    options : LoadingOptions
        How the files are read.
    baseline : str
        The FILE argument of the baseline.
    candidates : sequence of str
        Those of the candidates.
    metrics : sequence of str
        The metrics that are needed; all of them if empty.

    Raises
    ------
    click.UsageError
        If the one file holds one pipeline.
    """
    loading = Loading.of(options)
    if candidates:
        return loading.load_all([baseline, *candidates], metrics)
    evaluations = loading.load_every([baseline], metrics)
    if len(evaluations) == 1:
        raise click.UsageError(
            f"Missing argument 'CANDIDATE...': {baseline} holds one pipeline, "
            f"{evaluations[0].name}; name the files to compare it with."
        )
    return evaluations


def notes_of(evaluations: Sequence[RAGPipelineEvaluation]) -> list[str]:
    """The notes of all evaluations, each with the name of its pipeline."""
    return [f"{evaluation.name}: {note}" for evaluation in evaluations for note in evaluation.notes]


def notes_of_pair(
    evaluations: Sequence[RAGPipelineEvaluation], baseline: str, candidates: Sequence[str]
) -> list[str]:
    """The notes of all evaluations, and which of the pipelines in one file is the baseline.

    Parameters
    ----------
    evaluations : sequence of RAGPipelineEvaluation
        The baseline, then its candidates.
    baseline, candidates
        Their FILE arguments.
    """
    notes = notes_of(evaluations)
    if not candidates:
        notes.append(
            f"of the {len(evaluations)} pipelines in {baseline}, {evaluations[0].name} is the "
            "baseline"
        )
    return notes
