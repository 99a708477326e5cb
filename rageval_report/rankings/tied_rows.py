"""Documents of equal score in frames and files, known by their rows."""

from __future__ import annotations

from dataclasses import dataclass

from rageval_report.rankings import order
from rageval_report.rankings.id_columns import IdColumn
from rageval_report.rankings.row_pairs import RowLists
from rageval_report.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class TiedRows:
    """The documents of a run, as `rageval_report.rankings.order.RankedDocuments` by rows.

    Parameters
    ----------
    lists : RowLists
        The rows of each query.
    column : IdColumn
        The document of each row.
    in_question : ndarray of shape (n,)
        The places of the documents in question in the lists.
    by_id : bool
        Whether of equal scores the later id goes first; otherwise the order of the rows decides.
    """

    lists: RowLists
    column: IdColumn
    in_question: IntArray
    by_id: bool

    def go_ahead(self, rows: IntArray, numbers: IntArray) -> BoolArray:
        """Whether documents of the run go ahead of others of equal score, pair by pair."""
        others = self.in_question[numbers]
        if self.by_id:
            return self.column.are_later(self.lists.rows(rows), self.lists.rows(others))
        return rows < others

    def ids(self, rows: IntArray) -> order.Objects:
        """The ids of documents of the run."""
        return self.column.objects(self.lists.rows(rows))

    def ids_in_question(self, numbers: IntArray) -> order.Objects:
        """The ids of documents in question."""
        return self.ids(self.in_question[numbers])


def n_tied_rows_ahead(
    scores: FloatArray,
    ordered: FloatArray,
    query: IntArray,
    rank: IntArray,
    documents: TiedRows,
    row_at: IntArray | None = None,
) -> IntArray:
    """How many documents of the same query and score go ahead of each one in question.

    Parameters
    ----------
    scores : ndarray
        The scores, query after query.
    ordered : ndarray
        The result of `rageval_report.rankings.order.from_the_best`.
    query, rank : ndarray of shape (n,)
        The queries of the documents in question, and how many documents score more.
    documents : TiedRows
        The documents.
    row_at : ndarray, optional
        The result of `rageval_report.rankings.order.rows_from_the_best`, if it is known already.
    """
    lengths = documents.lists.lengths
    if row_at is None:
        queries = order.queries_in_question(query, len(lengths))
        row_at = order.rows_from_the_best(scores, lengths, queries)
    low, high = order.equals_of(ordered, lengths, order.starts_of(lengths)[query] + rank)
    return order.n_equal_ahead(row_at, low, high, documents, by_id=documents.by_id)
