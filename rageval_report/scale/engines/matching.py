"""Tables whose ids differ, put side by side by a text that both have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from rageval_report._registry import import_arrow_module, import_pyarrow
from rageval_report.scale.aligned_rows import AlignedRows, TableColumns
from rageval_report.scale.engines.base import Engine, PairedColumns
from rageval_report.scale.match_keys import MatchKeys, add_texts
from rageval_report.scale.mergeable import Partial, S
from rageval_report.scale.pairs import PairedRows, UnorderedIdsError
from rageval_report.scale.pieces import Piece
from rageval_report.scale.scan_table import ScanTable
from rageval_report.scale.score_rows import ArrowTexts, ScoreRows, texts_of_ids

# At the end of an id, so that ids in order stay in order.
_MARK = "\x1f"


@dataclass(frozen=True, eq=False)
class MatchedSide:
    """How the rows of one table are matched.

    Parameters
    ----------
    keys : MatchKeys
        What reads the texts.
    pieces : tuple of Piece
        The pieces of the table, as `number_repeats` gives them.
    """

    keys: MatchKeys
    pieces: tuple[Piece, ...]

    def of(self, table: ScanTable) -> ScanTable:
        """The table with keys in place of its ids."""
        return replace(table, pieces=self.pieces, shape=replace(table.shape, keys=self.keys))


class MatchingEngine:
    """Another engine that puts tables side by side by a text instead of the id.

    Functions of rows get the query ids again: `PairedRows` those of each table, `AlignedRows` those
    of the first table that has the text. If that is not the first of all, they are marked; see
    `split_lone`.

    Parameters
    ----------
    engine : Engine
        What reads the tables.
    on : str
        The column, as the caller named it.
    sides : sequence of MatchedSide
        How each table is matched, in the order in which they are put side by side.
    """

    def __init__(self, engine: Engine, on: str, sides: Sequence[MatchedSide]):
        self.engine, self.on, self.sides = engine, on, tuple(sides)

    @property
    def name(self) -> str:
        """The name of the other engine."""
        return self.engine.name

    def fold(
        self,
        table: ScanTable,
        partial: Partial[ScoreRows, S],
        metrics: Sequence[str],
        details: Sequence[str] = (),
        *,
        with_ids: bool = True,
    ) -> S | None:
        """As in `Engine`: one table needs no match."""
        return self.engine.fold(table, partial, metrics, details, with_ids=with_ids)

    def fold_pairs(
        self,
        before: ScanTable,
        after: ScanTable,
        partial: Partial[PairedRows, S],
        columns: PairedColumns,
    ) -> S | None:
        """As in `Engine`."""
        first, second = before.shape.id_column, after.shape.id_column
        with_ids = replace(
            columns,
            details=(*columns.details, first),
            details_after=(*columns.details_after, second),
        )
        tables = self._matched((before, after))
        pairs = PairsWithIds(partial, (first, second))
        try:
            return self.engine.fold_pairs(tables[0], tables[1], pairs, with_ids)
        except UnorderedIdsError as exc:
            self._raise_unordered(exc)

    def fold_aligned(
        self,
        tables: Sequence[ScanTable],
        partial: Partial[AlignedRows, S],
        columns: Sequence[TableColumns],
    ) -> S | None:
        """As in `Engine`."""
        id_columns = tuple(table.shape.id_column for table in tables)
        with_ids = [
            replace(chosen, details=(*chosen.details, column))
            for chosen, column in zip(columns, id_columns, strict=True)
        ]
        aligned = AlignedWithIds(partial, id_columns)
        try:
            return self.engine.fold_aligned(self._matched(tables), aligned, with_ids)
        except UnorderedIdsError as exc:
            self._raise_unordered(exc)

    def _matched(self, tables: Sequence[ScanTable]) -> list[ScanTable]:
        return [side.of(table) for side, table in zip(self.sides, tables, strict=True)]

    def _raise_unordered(self, exc: UnorderedIdsError) -> NoReturn:
        raise UnorderedIdsError(
            f"on={self.on!r}: engine {self.name!r} needs the texts of this column sorted, or in "
            "the same order, and they are not. Sort the files by this column, or use "
            "engine='join', which takes them in any order"
        ) from exc


@dataclass(frozen=True)
class PairsWithIds:
    """Runs a function of paired rows, which gets the ids of each table again.

    Parameters
    ----------
    partial : callable
        The function.
    id_columns : (str, str)
        The columns of ids, which were read as details.
    """

    partial: Callable[[PairedRows], Any]
    id_columns: tuple[str, str]

    def __call__(self, rows: PairedRows) -> Any:
        """What the function returns."""
        first, second = self.id_columns
        return self.partial(
            PairedRows(
                _with_ids(rows.before, first),
                _with_ids(rows.after, second),
                _with_ids(rows.only_before, first),
                _with_ids(rows.only_after, second),
            )
        )


@dataclass(frozen=True)
class AlignedWithIds:
    """Runs a function of aligned rows, which gets the ids of the first table that has each text.

    Parameters
    ----------
    partial : callable
        The function.
    id_columns : tuple of str
        The columns of ids, which were read as details.
    """

    partial: Callable[[AlignedRows], Any]
    id_columns: tuple[str, ...]

    def __call__(self, rows: AlignedRows) -> Any:
        """What the function returns."""
        common = [*map(_with_ids, rows.common, self.id_columns)]
        common = [replace(part, ids=common[0].ids) for part in common]
        own = [
            _marked(_with_ids(part, column), place)
            for place, (part, column) in enumerate(zip(rows.others, self.id_columns, strict=True))
        ]
        others = _with_first_ids(rows.others, own)
        return self.partial(AlignedRows(tuple(common), tuple(others), rows.n_others))


def _with_ids(rows: ScoreRows, column: str) -> ScoreRows:
    """The rows with the ids in place of keys."""
    if rows.cells is None:  # there are no rows
        return rows
    ids = texts_of_ids(rows.cells.column(column))
    cells = rows.cells.drop_columns([column])
    return replace(rows, ids=ids, cells=cells if cells.num_columns else None)


def split_lone(query_id: str) -> tuple[str, int]:
    r"""An id without its mark, and the place of the table whose id it is.

    Examples
    --------
    >>> split_lone("x7\x1f2"), split_lone("q1")
    (('x7', 2), ('q1', 0))
    """
    own, mark, place = query_id.rpartition(_MARK)
    return (own, int(place)) if mark and place.isdecimal() else (query_id, 0)


def _marked(rows: ScoreRows, place: int) -> ScoreRows:
    """The rows with ids that say whose they are, unless they are those of the first table."""
    if not place or not len(rows):
        return rows
    return replace(rows, ids=add_texts("", rows.ids, f"{_MARK}{place}"))


def _with_first_ids(keyed: Sequence[ScoreRows], own: Sequence[ScoreRows]) -> list[ScoreRows]:
    """The rows of each table with the ids of the first table that has their key."""
    compute = import_arrow_module("compute")
    named: list[ScoreRows] = []
    keys, ids = _no_texts(), _no_texts()
    for with_keys, with_ids in zip(keyed, own, strict=True):
        if not len(with_keys):
            named.append(with_ids)
            continue
        places = compute.index_in(with_keys.ids, value_set=keys)
        known = compute.coalesce(ids.take(places), with_ids.ids)
        named.append(replace(with_ids, ids=known))
        is_new = places.is_null()
        keys, ids = (
            import_pyarrow().concat_arrays([earlier, later.filter(is_new)])
            for earlier, later in ((keys, with_keys.ids), (ids, known))
        )
    return named


def _no_texts() -> ArrowTexts:
    arrow = import_pyarrow()
    return arrow.array([], type=arrow.large_string())
