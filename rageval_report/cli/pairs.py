"""A baseline and its candidates, loaded from the files that the command line names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

import click

from rageval_report.cli.options import LoadingOptions
from rageval_report.cli.scans import ScanLoading
from rageval_report.cli.sources import Loading
from rageval_report.errors import doubts_of, is_doubt
from rageval_report.evaluation import RAGPipelineEvaluation

if TYPE_CHECKING:
    from rageval_report.scale.scan import EvaluationScan


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
    _check_several(baseline, evaluations)
    return evaluations


def open_pair(
    options: LoadingOptions,
    baseline: str,
    candidates: Sequence[str],
    metrics: Sequence[str] = (),
    *,
    refused: Iterable[str] = (),
) -> list[RAGPipelineEvaluation] | list[EvaluationScan]:
    """As `load_pair`, but scans where the files are read part by part.

    Parameters
    ----------
    options, baseline, candidates, metrics
        As there; the options are also `EngineOptions`.
    refused : iterable of str
        As in `ScanLoading.open`.
    """
    loading = ScanLoading(options, Loading.of(options))
    scans = loading.open([baseline, *candidates], metrics, refused=refused)
    if not scans:
        return load_pair(options, baseline, candidates, metrics)
    _check_several(baseline, scans)
    return scans


def _check_several(baseline: str, runs: Sequence[RAGPipelineEvaluation | EvaluationScan]) -> None:
    if len(runs) == 1:
        raise click.UsageError(
            f"Missing argument 'CANDIDATE...': {baseline} holds one pipeline, "
            f"{runs[0].name}; name the files to compare it with."
        )


class _WithNotes(Protocol):
    """An evaluation, or a scan."""

    @property
    def name(self) -> str:
        """The name of the pipeline."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Guesses and corrections that were made."""


def notes_of(evaluations: Sequence[_WithNotes]) -> list[str]:
    """The notes of all evaluations, each with the name of its pipeline; doubts are marked first."""
    others = [
        f"{evaluation.name}: {note}"
        for evaluation in evaluations
        for note in evaluation.notes
        if not is_doubt(note)
    ]
    return [*doubts_of(evaluations), *others]


def notes_of_pair(
    evaluations: Sequence[_WithNotes], baseline: str, candidates: Sequence[str]
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
