"""Some rows of a table as ids, scores and details, converted as the table in memory is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pandas as pd

from rageval_report._registry import import_arrow_module, import_pyarrow
from rageval_report.errors import DataError, ReaderError, named
from rageval_report.scale.match_keys import MatchKeys, number_keys
from rageval_report.scale.pieces import ArrowSchema, ArrowTable, Piece, with_partition
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.table import score_table
from rageval_report.types import BoolArray, FloatArray

# The texts of an Arrow array, which has no types.
ArrowTexts: TypeAlias = Any

T = TypeVar("T")

_MOST_EXACT = 2.0**53
_FIRST_BEYOND_ASCII = 0x7F  # DEL, which is no sign either


@dataclass(frozen=True, eq=False)
class ScoreRows:
    """Some rows of a table.

    Parameters
    ----------
    scores : dict of str to ndarray of float64
        The scores by metric, NaN where unscored.
    ids : pyarrow.Array of str, optional
        The query ids, if they were read.
    cells : pyarrow.Table, optional
        The columns of details that were read, as they are in the file.
    states : DataFrame, optional
        Why cells of text hold no score, as columns of details.
    """

    scores: dict[str, FloatArray]
    ids: ArrowTexts = None
    cells: ArrowTable = None
    states: pd.DataFrame | None = None

    @classmethod
    def without_rows(cls, metrics: Sequence[str]) -> ScoreRows:
        """No rows of these metrics."""
        arrow = import_pyarrow()
        return cls(
            {name: np.empty(0) for name in metrics}, arrow.array([], type=arrow.large_string())
        )

    def __len__(self) -> int:
        if self.ids is not None:
            return len(self.ids)
        if self.scores:
            return len(next(iter(self.scores.values())))
        return 0 if self.cells is None else int(self.cells.num_rows)

    def slice(self, first: int, last: int) -> ScoreRows:
        """The rows from `first` to before `last`; nothing is copied."""
        return ScoreRows(
            {name: values[first:last] for name, values in self.scores.items()},
            None if self.ids is None else self.ids.slice(first, last - first),
            None if self.cells is None else self.cells.slice(first, last - first),
            None if self.states is None else self.states.iloc[first:last],
        )

    def take(self, rows: np.ndarray) -> ScoreRows:
        """The rows at these places, or where a mask is true."""
        places = np.flatnonzero(rows) if rows.dtype == bool else rows
        return ScoreRows(
            {name: values[places] for name, values in self.scores.items()},
            None if self.ids is None else self.ids.take(import_pyarrow().array(places)),
            None if self.cells is None else self.cells.take(import_pyarrow().array(places)),
            None if self.states is None else self.states.iloc[places],
        )

    def index(self) -> pd.Index:
        """The ids as an index of pandas."""
        return text_index(self.ids)


def text_index(ids: ArrowTexts) -> pd.Index:
    """Arrow texts as the index ``query_id``.

    Examples
    --------
    >>> import pyarrow
    >>> text_index(pyarrow.array(["q1", "q2"])).tolist()
    ['q1', 'q2']
    """
    texts: list[str] = ids.to_pylist()
    # Through a Series, whose type for texts differs between the versions of pandas.
    return pd.Index(pd.Series(texts, dtype="str"), name=QUERY_ID)


@dataclass(frozen=True)
class TableShape:
    """How the columns of a file become ids, scores and details.

    Parameters
    ----------
    id_column : str
        The column of ids.
    metric_columns : dict of str to str
        The column of each metric, by the metric's name.
    bounds : dict of str to (float, float)
        The bounds of metrics into which scores that lie slightly outside are moved.
    detail_names : dict of str to str
        The name of each other column among the details.
    keys : MatchKeys, optional
        What takes the place of the ids, where tables are put side by side by a text.
    """

    id_column: str
    metric_columns: dict[str, str]
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    detail_names: dict[str, str] = field(default_factory=dict)
    keys: MatchKeys | None = None

    @property
    def _columns_of_ids(self) -> list[str]:
        """The columns that the ids, or the keys in their place, are made of."""
        return [self.id_column, *([] if self.keys is None else [self.keys.column])]

    def _ids_of(self, piece: Piece) -> Callable[[ArrowTable], ArrowTexts]:
        """What reads the ids, or the keys in their place, of the parts of a piece in turn."""
        keys, n_before = self.keys, dict(piece.repeats)

        def read_ids(table: ArrowTable) -> ArrowTexts:
            return texts_of_ids(table.column(self.id_column))

        def read_keys(table: ArrowTable) -> ArrowTexts:
            if keys is None:
                return read_ids(table)
            texts = keys.texts(table.column(keys.column), lambda: read_ids(table))
            return number_keys(texts, n_before)

        return read_keys

    def rows(
        self,
        piece: Piece,
        metrics: Sequence[str],
        details: Sequence[str] = (),
        *,
        with_ids: bool = True,
    ) -> Iterator[ScoreRows]:
        """The rows of a piece part by part.

        Parameters
        ----------
        piece : Piece
            A part of the table.
        metrics : sequence of str
            The metrics to read.
        details : sequence of str
            The columns of details to read, by their names in the file.
        with_ids : bool
            Whether the ids are needed.

        Raises
        ------
        ReaderError
            If the file lacks a column, is damaged, or has a row without an id.
        """
        ids_of = self._ids_of(piece) if with_ids else None
        yield from (
            part
            for part in self._converted(
                piece,
                [*(self.metric_columns[name] for name in metrics), *details],
                lambda table: self._convert(table, metrics, details, ids_of),
                with_ids=with_ids,
            )
            if len(part)
        )

    def stored(
        self,
        piece: Piece,
        metrics: Sequence[str],
        details: Sequence[str],
        kinds: Sequence[Any],
        *,
        with_ids: bool = True,
    ) -> Iterator[ArrowTable]:
        """The rows of a piece part by part as an engine moves them: see `ScanTable.stored`."""
        columns = [*(self.metric_columns[name] for name in metrics), *details]
        names = [*([QUERY_ID] if with_ids else []), *map(str, range(len(columns)))]
        ids_of = self._ids_of(piece)

        def store(table: ArrowTable) -> ArrowTable:
            arrays = [ids_of(table)] if with_ids else []
            for name, kind in zip(metrics, kinds, strict=False):
                cells = table.column(self.metric_columns[name])
                if cells.type != kind:
                    cells = import_pyarrow().array(self._numbers(table, name)[0])
                arrays.append(cells)
            cast = zip(details, kinds[len(metrics) :], strict=True)
            arrays += [table.column(column).cast(kind) for column, kind in cast]
            return import_pyarrow().table(arrays, names)

        return self._converted(piece, columns, store, with_ids=with_ids)

    def of_stored(
        self,
        table: ArrowTable,
        metrics: Sequence[str],
        details: Sequence[str],
        ids: ArrowTexts = None,
    ) -> ScoreRows:
        """Rows of `stored`, converted.

        Parameters
        ----------
        table : pyarrow.Table
            The ids, the metrics and the details, in this order.
        metrics, details
            As in `stored`.
        ids : pyarrow.Array of str, optional
            The ids of a table that was stored without them.
        """
        if ids is None:
            ids = table.column(0).combine_chunks()
            if isinstance(ids, import_pyarrow().ChunkedArray):
                ids = ids.chunk(0)
            table = table.select(list(range(1, table.num_columns)))
        scores = {
            name: self._within_bounds(name, _to_float64(table.column(place)))
            for place, name in enumerate(metrics)
        }
        cells = table.select(list(range(len(metrics), table.num_columns)))
        return ScoreRows(scores, ids, cells.rename_columns(list(details)) if details else None)

    def _converted(
        self,
        piece: Piece,
        columns: Sequence[str],
        convert: Callable[[ArrowTable], T],
        *,
        with_ids: bool,
    ) -> Iterator[T]:
        """Parts of these columns; errors name the file."""
        stated = dict(piece.partition)
        wanted = dict.fromkeys((*columns, *(self._columns_of_ids if with_ids else [])))
        from_file = [column for column in wanted if column not in stated]
        for table in piece.read(from_file or [self.id_column]):
            lost = [column for column in from_file if column not in table.column_names]
            if lost:  # pyarrow reads the others, without a word
                raise ReaderError(
                    f"the columns {named(lost)} are missing; the file has changed since the scan "
                    "was opened",
                    path=piece.path,
                )
            whole = with_partition(table, [(n, v) for n, v in stated.items() if n in wanted])
            try:
                part = convert(whole)
            except ReaderError:
                raise
            except DataError as exc:
                raise ReaderError(str(exc), path=piece.path) from exc
            yield part

    def _convert(
        self,
        table: ArrowTable,
        metrics: Sequence[str],
        details: Sequence[str],
        ids_of: Callable[[ArrowTable], ArrowTexts] | None,
    ) -> ScoreRows:
        ids = None if ids_of is None else ids_of(table)
        scores: dict[str, FloatArray] = {}
        states: list[pd.DataFrame] = []
        for name in metrics:
            values, reasons = self._numbers(table, name)
            scores[name] = self._within_bounds(name, values)
            states += [] if reasons is None else [reasons]
        return ScoreRows(
            scores,
            ids,
            table.select(list(details)) if details else None,
            pd.concat(states, axis=1) if states else None,
        )

    def _numbers(self, table: ArrowTable, name: str) -> tuple[FloatArray, pd.DataFrame | None]:
        """The scores of a metric; of cells of text also the reasons why they hold none."""
        arrow = import_pyarrow()
        cells = table.column(self.metric_columns[name])
        types = arrow.types
        if types.is_null(cells.type):
            return np.full(len(cells), np.nan), None
        if types.is_floating(cells.type) or types.is_integer(cells.type):
            return _to_float64(cells), None
        try:
            return _to_float64(cells.cast(arrow.float64())), None
        except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError):
            return self._read_texts(table, name)

    def _read_texts(self, table: ArrowTable, name: str) -> tuple[FloatArray, pd.DataFrame | None]:
        """The scores in cells of text, read as those of a table in memory."""
        column = self.metric_columns[name]
        frame = pd.DataFrame(
            {
                QUERY_ID: [f"row {place}" for place in range(len(table))],
                column: pd.Series(table.column(column).to_pylist(), dtype=object),
            }
        )
        read = score_table(
            frame, metrics=[column], is_one_pipeline=True, unreadable="failed", totals="keep"
        )
        values: FloatArray = read.scores.iloc[:, 0].to_numpy()
        states = read.details.reset_index(drop=True)
        return values, states if len(states.columns) else None

    def _within_bounds(self, name: str, values: FloatArray) -> FloatArray:
        """The scores, moved to the bounds where they lie outside; the description allows it."""
        if name not in self.bounds or not len(values):
            return values
        low, high = self.bounds[name]
        if np.fmin.reduce(values) >= low and np.fmax.reduce(values) <= high:
            return values
        return np.clip(values, low, high)


def type_of_numbers(schemas: Sequence[ArrowSchema], column: str) -> Any:
    """The type in which the numbers of a column are moved: that of all files, or float64.

    Examples
    --------
    >>> import pyarrow
    >>> narrow, wide = (pyarrow.schema([("f1", pyarrow.type_for_alias(t))]) for t in ("f4", "f8"))
    >>> type_of_numbers([narrow, narrow], "f1"), type_of_numbers([narrow, wide], "f1")
    (DataType(float), DataType(double))
    """
    arrow = import_pyarrow()
    kinds = {_type_in(schema, column) for schema in schemas}
    kind = kinds.pop() if len(kinds) == 1 else None
    is_number = kind is not None and (
        arrow.types.is_integer(kind) or kind in (arrow.float32(), arrow.float64())
    )
    return kind if is_number else arrow.float64()


def type_of_cells(schemas: Sequence[ArrowSchema], column: str) -> Any:
    """The type in which the cells of a column are moved: that of all files, or texts."""
    kinds = {_type_in(schema, column) for schema in schemas}
    kind = kinds.pop() if len(kinds) == 1 else None
    return import_pyarrow().string() if kind is None else kind


def _type_in(schema: ArrowSchema, column: str) -> Any:
    """The type of a column; None if the folders state it."""
    return schema.field(column).type if column in schema.names else None


def _to_float64(cells: Any) -> FloatArray:
    values: FloatArray = cells.to_numpy()
    return values if values.dtype == np.float64 else values.astype(np.float64)


def texts_of_ids(column: Any) -> ArrowTexts:
    """The ids as one array of texts.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        Texts, integers, or floats without a fraction.

    Raises
    ------
    DataError
        If one is missing or blank, or they are of another type.

    Examples
    --------
    >>> import pyarrow
    >>> texts_of_ids(pyarrow.chunked_array([[1, 2]])).to_pylist()
    ['1', '2']
    """
    arrow = import_pyarrow()
    types = arrow.types
    if column.null_count:
        rows = np.flatnonzero(column.is_null().to_numpy())
        raise DataError(
            f"every row needs a query id; {column.null_count} rows have none, "
            f"the first ones of a part are {named(rows.tolist())}"
        )
    if types.is_floating(column.type):
        column = _whole_numbers(column)
    is_dictionary = types.is_dictionary(column.type)
    value_type = column.type.value_type if is_dictionary else column.type
    is_text = types.is_string(value_type) or types.is_large_string(value_type)
    if not (is_text or types.is_integer(value_type) or types.is_string_view(value_type)):
        raise DataError(f"query ids must be texts or integers; the file has {column.type}")
    texts = column.cast(arrow.large_string()).combine_chunks()
    if isinstance(texts, arrow.ChunkedArray):  # of no or several chunks, by the version
        texts = arrow.concat_arrays(texts.chunks) if texts.num_chunks else texts.chunk(0)
    _check_blanks(texts)
    return texts


def _whole_numbers(column: Any) -> Any:
    values = column.to_numpy()
    is_whole: BoolArray = (values == np.round(values)) & (np.abs(values) <= _MOST_EXACT)
    if not is_whole.all():
        raise DataError(f"query ids must be texts or integers; got {named(values[~is_whole])}")
    return import_pyarrow().chunked_array([values.astype(np.int64)])


def _check_blanks(texts: ArrowTexts) -> None:
    if _begin_with_signs(texts):
        return
    compute = import_arrow_module("compute")
    lengths = compute.binary_length(texts)
    is_blank = compute.or_(compute.equal(lengths, 0), compute.utf8_is_space(texts))
    if compute.any(is_blank).as_py():
        rows = np.flatnonzero(is_blank.to_numpy(zero_copy_only=False))
        raise DataError(
            f"every row needs a query id; rows {named(rows.tolist())} of a part, counted from 0, "
            "have a blank one"
        )


def _begin_with_signs(texts: ArrowTexts) -> bool:
    """Whether each text begins with a sign of ASCII that is no space, which most ids do."""
    _, offsets, data = texts.buffers()
    if not len(texts) or data is None:
        return not len(texts)
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    if not (ends[1:] > ends[:-1]).all():
        return False
    first = np.frombuffer(data, np.uint8)[ends[:-1]]
    return bool(first.min() > ord(" ")) and bool(first.max() < _FIRST_BEYOND_ASCII)
