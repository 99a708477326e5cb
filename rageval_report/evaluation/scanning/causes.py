"""Why the queries of a scanned pipeline fail: how many of them for each cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import pandas as pd

from rageval_report.analysis.breakdown import (
    CauseCounts,
    RetrievalCounts,
    breakdown_of_counts,
    failure_causes,
    retrieval_counts,
    retrieval_table,
)
from rageval_report.errors import DataError
from rageval_report.evaluation.scanning.part_states import (
    CorrectInPart,
    PartEvaluation,
    columns_of_notion,
    columns_of_states,
)
from rageval_report.evaluation.scanning.profile import ScanProfile
from rageval_report.reports.parts import causes_of, cutoff_of
from rageval_report.results import Result
from rageval_report.scale.engines.base import Engine
from rageval_report.scale.mergeable import Mergeable
from rageval_report.scale.score_rows import ScoreRows
from rageval_report.scores import Correct, Scored
from rageval_report.scores.correct_notion import (
    CorrectCounts,
    CorrectNotion,
    find_notion,
    shared_notions,
)

S = TypeVar("S", bound=Mergeable)


@dataclass(frozen=True)
class CausesInPart:
    """Counts the queries by the cause of their failure.

    Parameters
    ----------
    parts : PartEvaluation
        What makes evaluations of rows, with the details that the rule needs.
    notion : CorrectNotion, optional
        What a correct answer is.
    k : int
        The number of results from which the answer was generated.
    """

    parts: PartEvaluation
    notion: CorrectNotion | None
    k: int

    def __call__(self, rows: ScoreRows) -> CauseCounts:
        """The counts of some rows."""
        evaluation = self.parts.of(rows, with_ids=_looks_at_ids(self.notion))
        return CauseCounts.of(evaluation, failure_causes(evaluation, k=self.k, correct=self.notion))


@dataclass(frozen=True)
class RetrievalInPart:
    """Counts the queries by retrieval passed or failed, and by the answer right or wrong."""

    parts: PartEvaluation
    notion: CorrectNotion | None
    k: int

    def __call__(self, rows: ScoreRows) -> RetrievalCounts:
        """The counts of some rows."""
        evaluation = self.parts.of(rows, with_ids=_looks_at_ids(self.notion))
        return retrieval_counts(evaluation, k=self.k, correct=self.notion)


def _looks_at_ids(notion: CorrectNotion | None) -> bool:
    """Whether the rule is a function of the caller, which may look at the ids."""
    return notion is not None and callable(notion.rule)


def breakdown_of_scan(
    profile: ScanProfile,
    engine: Engine,
    *,
    k: int = 5,
    correct: Correct | CorrectNotion | None = None,
    confidence_level: float = 0.95,
) -> Result:
    """The table of causes, as `rageval_report.analysis.breakdown.breakdown`.

    Parameters
    ----------
    profile : ScanProfile
        What one pass found.
    engine : Engine
        The engine of the pass that counts.
    k, correct, confidence_level
        As there.

    Raises
    ------
    DataError
        If there is neither ``hit@k`` nor ``recall@k``, or it is unknown what a correct answer is.
    """
    head = profile.described.head
    failure_causes(head, k=k, correct=correct)  # what is missing is reported before files are read
    notion = find_notion(head, correct)
    counts = _fold(profile, engine, notion, lambda parts: CausesInPart(parts, notion, k))
    return breakdown_of_counts(head, counts, k=k, correct=notion, confidence_level=confidence_level)


def retrieval_by_generation_of_scan(profile: ScanProfile, engine: Engine, *, k: int = 5) -> Result:
    """As `rageval_report.analysis.breakdown.retrieval_by_generation`; parameters as above."""
    head = profile.described.head
    retrieval_counts(head, k=k)
    notion = find_notion(head)
    counts = _fold(profile, engine, notion, lambda parts: RetrievalInPart(parts, notion, k))
    return retrieval_table(head, counts, k=k)


def correct_counts(profile: ScanProfile, engine: Engine, notion: CorrectNotion) -> CorrectCounts:
    """How many queries are correct; the files are read once more if the profile has another rule.

    Parameters
    ----------
    profile : ScanProfile
        What one pass found.
    engine : Engine
        The engine of another pass.
    notion : CorrectNotion
        What a correct answer is.
    """
    if profile.right is not None and profile.notion == notion:
        return profile.right
    return _fold(profile, engine, notion, lambda parts: CorrectInPart(parts, notion))


def with_notion(profile: ScanProfile, engine: Engine, notion: CorrectNotion | None) -> ScanProfile:
    """The profile with another rule for a correct answer, and how many queries are correct by it.

    Parameters
    ----------
    profile, engine, notion
        As in `correct_counts`; without a rule the profile stays as it is.
    """
    if notion is None or notion == profile.notion:
        return profile
    return replace(profile, notion=notion, right=correct_counts(profile, engine, notion))


def with_shared_notions(
    profiles: Sequence[ScanProfile], engine: Engine, correct: Correct | None
) -> list[ScanProfile]:
    """The profiles of several pipelines with the rules that a page has for all of them.

    Parameters
    ----------
    profiles : sequence of ScanProfile
        What one pass over each table found.
    engine : Engine
        The engine of another pass over the tables that have another rule.
    correct : see `rageval_report.scores.correctness`, optional
        The rule of the caller for all of them.
    """
    heads = [profile.described.head for profile in profiles]
    notions = shared_notions(heads, correct) or (None,) * len(profiles)
    return [
        with_notion(profile, engine, notion)
        for profile, notion in zip(profiles, notions, strict=True)
    ]


def causes_of_kept(
    profile: ScanProfile,
    engine: Engine,
    kept: Scored,
    notion: CorrectNotion | None,
    *,
    k: int | None,
    confidence_level: float,
) -> tuple[pd.Series, Result] | None:
    """The causes of some queries, and the table of all; None without the metrics.

    Parameters
    ----------
    profile, engine
        As in `breakdown_of_scan`.
    kept : Scored
        The queries that a page shows.
    notion, k, confidence_level
        As in `rageval_report.reports.parts.causes_of`, whose result this is.
    """
    first = causes_of(kept, notion, k, confidence_level)
    if first is None or notion is None:
        return None
    table = breakdown_of_scan(
        *(profile, engine),
        k=cutoff_of(kept, k),
        correct=notion,
        confidence_level=confidence_level,
    )
    return first[0], table


def _fold(
    profile: ScanProfile,
    engine: Engine,
    notion: CorrectNotion | None,
    partial_of: Callable[[PartEvaluation], Callable[[ScoreRows], S]],
) -> S:
    described = profile.described
    names = described.table.shape.detail_names
    details = [*columns_of_states(names), *(columns_of_notion(notion, names) if notion else ())]
    columns = tuple(dict.fromkeys(details))
    parts = PartEvaluation(described.head.name, described.metrics, names, columns)
    state = engine.fold(described.table, partial_of(parts), list(described.metrics), list(columns))
    if state is None:
        raise DataError(f"{described.head.name}: the table has no rows")
    return state
