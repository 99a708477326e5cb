"""A table in files, with what its columns are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rageval_report.errors import DataError, named
from rageval_report.scale.id_order import IdOrder
from rageval_report.scale.pieces import Piece
from rageval_report.scale.score_rows import ArrowTexts, ScoreRows, TableShape
from rageval_report.scale.unique_ids import repeated_ids


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
        repeated = repeated_ids(self._ids)
        if repeated:
            raise DataError(
                f"{self.name}: query ids must be unique; these appear more than once: "
                f"{named(repeated)}. A scan cannot average repeated rows; remove them, or load the "
                'table with duplicates="mean"'
            )

    def _ids(self) -> Iterator[ArrowTexts]:
        for rows in self.rows(()):
            yield rows.ids
