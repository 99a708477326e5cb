"""The identity of the queries of a scanned table, and which of two tables are the same queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from rageval_report._registry import import_pyarrow
from rageval_report.evaluation.scanning.description import DescribedScan
from rageval_report.scale.mergeable import Partial, StateByName
from rageval_report.scale.pairs import PairedRows
from rageval_report.scale.score_rows import ScoreRows
from rageval_report.scores.fingerprints import two_fingerprints
from rageval_report.scores.query_sets import (
    QuerySet,
    TwoWords,
    reference_column,
    reference_words,
    reference_words_of_texts,
)
from rageval_report.types import BoolArray


@dataclass(frozen=True)
class ReferenceColumn:
    """The column of references of a scanned table.

    Parameters
    ----------
    column : str
        Its name in the file.
    """

    column: str

    @classmethod
    def of(cls, described: DescribedScan) -> Self | None:
        """The column of a table; None without one."""
        names = {str(name): column for column, name in described.table.shape.detail_names.items()}
        name = reference_column(names)
        if name is None:
            return None
        return cls(names[name])

    def words(self, rows: ScoreRows) -> TwoWords:
        """Two numbers per reference of some rows, as those of a table in memory."""
        arrow = import_pyarrow()
        cells = rows.cells.column(self.column)
        if arrow.types.is_dictionary(cells.type):
            cells = cells.cast(arrow.large_string())
        if arrow.types.is_string(cells.type) or arrow.types.is_large_string(cells.type):
            return reference_words_of_texts(cells)
        return reference_words(cells.to_pylist())


@dataclass(frozen=True)
class QuerySetOfRows:
    """Makes the identity of the queries of some rows.

    Parameters
    ----------
    references : ReferenceColumn, optional
        The column of references.
    """

    references: ReferenceColumn | None

    def __call__(self, rows: ScoreRows) -> QuerySet:
        """The set of some rows."""
        words = None if self.references is None else self.references.words(rows)
        return QuerySet.of(two_fingerprints(rows.ids), words)


@dataclass(frozen=True)
class SameReferences:
    """Finds the queries whose references are the same in two tables.

    Parameters
    ----------
    before, after : ReferenceColumn, optional
        The column of references of either table.
    """

    before: ReferenceColumn | None
    after: ReferenceColumn | None

    @property
    def columns(self) -> tuple[Sequence[str], Sequence[str]]:
        """The columns to read of either table, by their names in the files."""
        first, second = (
            () if side is None else (side.column,) for side in (self.before, self.after)
        )
        return first, second

    def among(self, rows: PairedRows) -> BoolArray:
        """Whether each common query has the same reference on both sides."""
        if not len(rows.before) or (self.before is None and self.after is None):
            return np.ones(len(rows.before), dtype=bool)
        ours, theirs = _words(self.before, rows.before), _words(self.after, rows.after)
        same: BoolArray = (ours[0] == theirs[0]) & (ours[1] == theirs[1])
        return same


def _words(column: ReferenceColumn | None, rows: ScoreRows) -> TwoWords:
    return reference_words([None] * len(rows)) if column is None else column.words(rows)


@dataclass(frozen=True)
class QuerySetChange:
    """The numbers of queries of two tables, by what changed.

    Parameters
    ----------
    n_same : int
        Those with the same reference in both.
    n_edited : int
        Those with another reference.
    n_removed, n_added : int
        Those that the second, and that the first table lacks.
    """

    n_same: int
    n_edited: int
    n_removed: int
    n_added: int

    def __add__(self, other: QuerySetChange) -> QuerySetChange:
        """The counts of both parts."""
        return QuerySetChange(
            self.n_same + other.n_same,
            self.n_edited + other.n_edited,
            self.n_removed + other.n_removed,
            self.n_added + other.n_added,
        )


@dataclass(frozen=True)
class CountedQueries:
    """Counts the queries of two tables by what changed.

    Parameters
    ----------
    same : SameReferences
        Finds those that are the same.
    """

    same: SameReferences

    def __call__(self, rows: PairedRows) -> QuerySetChange:
        """The counts of some rows."""
        n_same = int(self.same.among(rows).sum())
        n_edited = len(rows.before) - n_same
        return QuerySetChange(n_same, n_edited, len(rows.only_before), len(rows.only_after))


@dataclass(frozen=True)
class OnSameQueries:
    """Makes states of the queries that have the same reference in two tables.

    Parameters
    ----------
    same : SameReferences
        Finds them.
    states : callable
        Makes the states.
    """

    same: SameReferences
    states: Partial[PairedRows, StateByName]

    def __call__(self, rows: PairedRows) -> StateByName:
        """The states of some rows."""
        is_same = self.same.among(rows)
        if is_same.all():
            return self.states(rows)
        return self.states(PairedRows.complete(rows.before.take(is_same), rows.after.take(is_same)))
