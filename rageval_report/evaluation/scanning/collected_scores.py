"""The scores of scanned pipelines in memory, without texts: what resampling cannot do without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from rageval_report.analysis.evaluation_subset import EvaluationSubset
from rageval_report.errors import DataError
from rageval_report.evaluation.scanning.cell_kinds import like_memory
from rageval_report.evaluation.scanning.part_states import (
    PartEvaluation,
    columns_of_notion,
    columns_of_states,
)
from rageval_report.evaluation.scanning.profile import ScanProfile
from rageval_report.scale.aligned_rows import AlignedRows, TableColumns
from rageval_report.scores import Correct

# 256 MB; 9,999 resamples of so many scores take minutes.
MOST_SCORES = 2**25


@dataclass(frozen=True, eq=False)
class CollectedEvaluation(EvaluationSubset):
    """All scores of a scan on some queries.

    Parameters
    ----------
    name, scores, details, metrics, config
        As in `EvaluationSubset`.
    correct_rule : see `rageval_report.scores.correctness`, optional
        The rule of the scan for a correct answer.
    """

    correct_rule: Correct | None = None


# The rows of all tables side by side, part by part: added, parts stand behind each other.
CollectedParts = tuple[tuple[EvaluationSubset, ...], ...]


@dataclass(frozen=True)
class RowsOfEach:
    """Keeps the rows of the queries that all tables have.

    Parameters
    ----------
    sides : tuple of PartEvaluation
        What makes evaluations of rows.
    """

    sides: tuple[PartEvaluation, ...]

    def __call__(self, rows: AlignedRows) -> CollectedParts:
        """Some rows."""
        sides = zip(self.sides, rows.common, strict=True)
        return (tuple(side.of(part, with_ids=True) for side, part in sides),)


def columns_of_scores(profile: ScanProfile) -> TableColumns:
    """All metrics, and the details that say why a score is missing, and which answer is right."""
    described = profile.described
    names = described.table.shape.detail_names
    details = columns_of_states(names)
    if profile.notion is not None:
        details = (*details, *columns_of_notion(profile.notion, names))
    return TableColumns(tuple(described.metrics), tuple(dict.fromkeys(details)))


def check_size(what: str, n_queries: int, profiles: Sequence[ScanProfile]) -> None:
    """Refuse tables with too many scores.

    Parameters
    ----------
    what : str
        What needs the scores, such as "weighted() of a ranking".
    n_queries : int
        The number of queries that all tables have.
    profiles : sequence of ScanProfile
        The tables.

    Raises
    ------
    DataError
        If there are too many.
    """
    n_scores = n_queries * sum(len(profile.described.metrics) for profile in profiles)
    if n_scores > MOST_SCORES:
        raise DataError(
            f"{what} draws resamples of the queries, which needs every score in memory: "
            f"{n_scores * 8 / 1e6:,.0f} MB, and at most {MOST_SCORES * 8 / 1e6:,.0f} MB are read. "
            "Rank files with fewer metrics, or with a part of the queries"
        )


def evaluations_of(
    parts: CollectedParts, profiles: Sequence[ScanProfile]
) -> tuple[CollectedEvaluation, ...]:
    """The evaluation of each table, of the rows that were kept.

    Parameters
    ----------
    parts : tuple
        What `RowsOfEach` gave.
    profiles : sequence of ScanProfile
        The tables.
    """
    evaluations = []
    for side, profile in enumerate(profiles):
        head = profile.described.head
        scores, details = (
            pd.concat([getattr(part[side], kind) for part in parts])
            for kind in ("scores", "details")
        )
        evaluations.append(
            CollectedEvaluation(
                head.name,
                scores,
                like_memory(details, head.details),
                head.metrics,
                head.config,
                head.correct_rule,
            )
        )
    return tuple(evaluations)
