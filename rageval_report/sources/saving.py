"""Evaluations written to a file, or to an address in place of one."""

from __future__ import annotations

from pathlib import Path

from rageval_report.errors import DataError, MissingDependencyError, named
from rageval_report.scores import Scored
from rageval_report.scores.write import save_scores
from rageval_report.sources.base import SavedContent
from rageval_report.sources.opening import address_of
from rageval_report.sources.table import SOURCES


def save_evaluation(
    evaluation: Scored,
    path: str | Path,
    content: SavedContent,
    *,
    force: bool = True,
    neutralise_formulas: bool = False,
    overwrite: bool = False,
) -> Path | str:
    """Write an evaluation to a file or an address."""
    address = address_of(path)
    if address is None:
        return save_scores(
            *(evaluation, path),
            config=content.config,
            notes=content.notes,
            created=content.created,
            correct=content.correct,
            force=force,
            neutralise_formulas=neutralise_formulas,
            results=content.results,
        )
    save = SOURCES[address.scheme].save
    if save is None:
        writable = [name for name in SOURCES if _can_be_written(name)]
        raise DataError(
            f"{address.name}: scores can be read from {address.scheme}, but not written; save to a "
            f"file or to {named(writable, 10)}"
        )
    return save(evaluation, address, content, overwrite)


def _can_be_written(name: str) -> bool:
    """Whether scores can be saved to a source; not to one that lacks its package."""
    try:
        return SOURCES[name].save is not None
    except MissingDependencyError:
        return False
