"""A table in files, with what its columns are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rageval_report.scale.id_order import IdOrder
from rageval_report.scale.pieces import ArrowTable, Piece
from rageval_report.scale.score_rows import (
    ArrowTexts,
    ScoreRows,
    TableShape,
    type_of_cells,
    type_of_numbers,
)
from rageval_report.scale.unique_ids import raise_if_repeated


@dataclass(frozen=True)
class ScanTable:
    """A table in files.

    Parameters
    ----------
    name : str
        The name of the pipeline, for messages.
    pieces : tuple of Piece
        The parts of its files, in order.
    shape : TableShape
        What its columns are.
    """

    name: str
    pieces: tuple[Piece, ...]
    shape: TableShape

    def rows(
        self, metrics: Sequence[str], details: Sequence[str] = (), *, with_ids: bool = True
    ) -> Iterator[ScoreRows]:
        """All rows part by part; arguments as in `TableShape.rows`."""
        for piece in self.pieces:
            yield from self.shape.rows(piece, metrics, details, with_ids=with_ids)

    @property
    def n_rows(self) -> float:
        """The number of rows; infinite if the files do not state it."""
        return sum(math.inf if piece.n_rows is None else piece.n_rows for piece in self.pieces)

    def stored(
        self, metrics: Sequence[str], details: Sequence[str] = (), *, with_ids: bool = True
    ) -> Iterator[ArrowTable]:
        """All rows part by part in the types of `stored_types`, with checked ids.

        Parameters
        ----------
        metrics, details, with_ids
            As in `TableShape.rows`.

        Returns
        -------
        iterator of pyarrow.Table
            The ids as texts, the metrics, and the details; converted by `TableShape.of_stored`.
        """
        kinds = self.stored_types(metrics, details)
        for piece in self.pieces:
            yield from self.shape.stored(piece, metrics, details, kinds, with_ids=with_ids)

    def stored_types(self, metrics: Sequence[str], details: Sequence[str] = ()) -> list[Any]:
        """The types in which an engine moves metrics and details.

        Numbers have the type of the files, so that single precision takes half the room; where the
        files differ, or have texts, a metric has double precision.
        """
        schemas = [piece.schema() for piece in {p.path: p for p in self.pieces}.values()]
        columns = [self.shape.metric_columns[name] for name in metrics]
        return [
            *(type_of_numbers(schemas, column) for column in columns),
            *(type_of_cells(schemas, column) for column in details),
        ]

    def check_ids(self, order: IdOrder | None = None) -> None:
        """Check that no id occurs twice.

        Parameters
        ----------
        order : IdOrder, optional
            The order of the ids, if they were read: ids in order are unique.

        Raises
        ------
        DataError
            If ids occur twice: up to five of them.
        """
        if order is not None and order.orders:
            return
        raise_if_repeated(self.name, self._ids)

    def _ids(self) -> Iterator[ArrowTexts]:
        for rows in self.rows(()):
            yield rows.ids
