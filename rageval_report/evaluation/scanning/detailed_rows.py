"""One row per query of one scan, or of two side by side: the first of them, and all in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from rageval_report._registry import import_arrow_module, import_parquet, import_pyarrow
from rageval_report.analysis.arguments import check_count
from rageval_report.analysis.evaluation_subset import EvaluationSubset
from rageval_report.analysis.haystack_reports import (
    HaystackReport,
    OutputFormat,
    check_kept_columns,
    comparative_detailed_frame,
    detailed_frame,
    format_report,
)
from rageval_report.errors import DataError, check_choice
from rageval_report.evaluation.scanning.cell_kinds import CellKind, as_kinds, kind_of, wider_kind
from rageval_report.evaluation.scanning.description import DescribedScan
from rageval_report.evaluation.scanning.part_files import folder_of_parts, write_part
from rageval_report.evaluation.scanning.part_states import PartEvaluation
from rageval_report.evaluation.scanning.scanned_pair import ScannedTables
from rageval_report.evaluation.scanning.tables_in_files import (
    check_table_path,
    schema_of_kinds,
    write_tables,
)
from rageval_report.scale.engines.base import Engine
from rageval_report.scale.pairs import PairedRows
from rageval_report.scale.pieces import ArrowSchema, ArrowTable
from rageval_report.scale.score_rows import ScoreRows
from rageval_report.scores.query_ids import QUERY_ID

MOST_DETAILED = 1000


@dataclass(frozen=True, eq=False)
class DetailedRows:
    """The number of queries, and the first rows of them.

    Parameters
    ----------
    n : int
        The number of all.
    rows : DataFrame
        The first of them.
    most : int
        How many are kept.
    by_id : bool
        Whether the first are those of the first ids, or those that stand first.
    kinds : dict of str to CellKind
        What the cells of columns are that the first rows of the table have as numbers.
    gaps : frozenset of str
        Those of these columns in which cells are missing.
    files : tuple of str
        Where all rows were written, part by part.
    """

    n: int
    rows: pd.DataFrame
    most: int
    by_id: bool
    kinds: Mapping[str, CellKind]
    gaps: frozenset[str]
    files: tuple[str, ...] = ()

    @property
    def types(self) -> dict[str, CellKind]:
        """The type of each of these columns in a file; numbers with gaps are as in memory."""
        return {
            name: "float64" if kind == "int64" and name in self.gaps else kind
            for name, kind in self.kinds.items()
        }

    def __add__(self, other: DetailedRows) -> DetailedRows:
        """Those of both parts."""
        frames = [part.rows for part in (self, other) if len(part.rows)] or [self.rows]
        rows = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
        if self.by_id:
            rows = rows.sort_values(QUERY_ID, kind="stable")
        names = dict.fromkeys((*self.kinds, *other.kinds))
        return replace(
            self,
            n=self.n + other.n,
            rows=rows.head(self.most),
            kinds={name: wider_kind(self.kinds.get(name), other.kinds.get(name)) for name in names},
            gaps=self.gaps | other.gaps,
            files=(*self.files, *other.files),
        )


@dataclass(frozen=True)
class RowsOfReport:
    """Makes the rows of a detailed report.

    Parameters
    ----------
    sides : tuple of PartEvaluation
        What makes evaluations of rows: one, or two for rows side by side.
    heads : tuple of EvaluationSubset
        No rows of the same tables, for parts that have none of one of them.
    keep : tuple of str
        The details that are shown of both.
    numbers : frozenset of str
        The columns of the report that the first rows have as numbers, or as true and false.
    most : int
        How many rows are kept.
    folder : str, optional
        Where all of them are written.
    """

    sides: tuple[PartEvaluation, ...]
    heads: tuple[EvaluationSubset, ...]
    keep: tuple[str, ...]
    numbers: frozenset[str]
    most: int
    folder: str | None = None

    def __call__(self, rows: ScoreRows | PairedRows) -> DetailedRows:
        """The rows of some queries."""
        if isinstance(rows, PairedRows):
            return self._side_by_side(rows)
        chosen = rows if self.folder else rows.slice(0, min(self.most, len(rows)))
        frame = detailed_frame(self.sides[0].of(chosen, with_ids=True))
        return self._kept(len(rows), frame, by_id=False)

    def _side_by_side(self, rows: PairedRows) -> DetailedRows:
        n = len(rows.before) + len(rows.only_before) + len(rows.only_after)
        chosen = rows if self.folder else _first_of(rows, self.most)
        first = self._joined(0, (chosen.before, chosen.only_before))
        second = self._joined(1, (chosen.after, chosen.only_after))
        frame = comparative_detailed_frame(first, second, self.keep)
        return self._kept(n, frame, by_id=True)

    def _joined(self, place: int, parts: Sequence[ScoreRows]) -> EvaluationSubset:
        """The evaluation of several parts of the rows of a table."""
        side = self.sides[place]
        every = [side.of(part, with_ids=True) for part in parts if len(part)]
        if len(every) < 2:
            return every[0] if every else self.heads[place]
        scores, details = (
            pd.concat([getattr(each, kind) for each in every]) for kind in ("scores", "details")
        )
        return EvaluationSubset(side.name, scores, details, every[0].metrics)

    def _kept(self, n: int, frame: pd.DataFrame, *, by_id: bool) -> DetailedRows:
        """The first rows of a frame, and what its cells are; all of it in a file."""
        looked_at = [name for name in self.numbers if name in frame]
        known = {name: kind_of(frame[name]) for name in looked_at}
        kinds = {name: kind for name, kind in known.items() if kind is not None}
        gaps = frozenset(name for name in looked_at if frame[name].hasnans)
        ordered = frame.sort_values(QUERY_ID, kind="stable") if by_id else frame
        # A copy, so that the part that is not kept does not stay in memory.
        kept = DetailedRows(n, ordered.head(self.most).copy(), self.most, by_id, kinds, gaps)
        if self.folder is None or not n:
            return kept
        table = import_pyarrow().Table.from_pandas(_without_categories(frame), preserve_index=False)
        return replace(kept, files=(write_part(self.folder, table),))


def _first_of(rows: PairedRows, most: int) -> PairedRows:
    """The rows of each kind with the first ids."""
    places = _first_places(rows.before, most)
    alone = (rows.only_before, rows.only_after)
    first, second = (part.take(_first_places(part, most)) for part in alone)
    return PairedRows(rows.before.take(places), rows.after.take(places), first, second)


def _first_places(rows: ScoreRows, most: int) -> Any:
    compute = import_arrow_module("compute")
    return compute.select_k_unstable(rows.ids, most, [(QUERY_ID, "ascending")]).to_numpy()


def _without_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """Categories as what they stand for, because each part of a table has its own."""
    names = [name for name in frame if isinstance(frame[name].dtype, pd.CategoricalDtype)]
    return frame.astype(dict.fromkeys(names, object)) if names else frame


# -- the reports


def detailed_report_of_scan(
    described: DescribedScan,
    engine: Engine,
    output_format: OutputFormat = "json",
    csv_file: str | Path | None = None,
    *,
    k: int = MOST_DETAILED,
    path: str | Path | None = None,
) -> HaystackReport:
    """The first rows of the report, and all in a file; see `EvaluationScan.detailed_report`.

    Parameters
    ----------
    described : DescribedScan
        The table, described by all rows.
    engine : Engine
        What reads it.
    output_format, csv_file, k, path
        As in `EvaluationScan.detailed_report`.
    """
    target, most = _check_arguments(output_format, csv_file, k, path)
    names = described.table.shape.detail_names
    side = PartEvaluation(described.head.name, described.metrics, names)
    head = _no_rows(described)
    shown = detailed_frame(head)
    tail = shown.columns[1 + head.details.shape[1] :]
    with folder_of_parts(target) as folder:
        partial = RowsOfReport((side,), (head,), (), _numbers_of(shown), most, folder)
        rows = engine.fold(described.table, partial, list(described.metrics), list(names))
        return _finish(rows, shown, list(map(str, tail)), output_format, target)


def comparative_report_of_scans(
    before: DescribedScan,
    after: DescribedScan,
    engine: Engine,
    keep_columns: Iterable[str] | None = None,
    output_format: OutputFormat = "json",
    csv_file: str | Path | None = None,
    *,
    k: int = MOST_DETAILED,
    path: str | Path | None = None,
) -> HaystackReport:
    """Two scans side by side; see `EvaluationScan.comparative_detailed_report`.

    Parameters
    ----------
    before, after : DescribedScan
        The tables, described by all rows.
    engine : Engine
        What reads them side by side.
    keep_columns, output_format, csv_file, k, path
        As in `EvaluationScan.comparative_detailed_report`.
    """
    target, most = _check_arguments(output_format, csv_file, k, path)
    keep = check_kept_columns(before.head, after.head, keep_columns)
    tables = ScannedTables(before, after, engine)
    first, second = map(_no_rows, tables.sides)
    shown = comparative_detailed_frame(first, second, keep)
    n_tail = 2 * len(keep) + first.scores.shape[1] + second.scores.shape[1]
    with folder_of_parts(target) as folder:
        partial = RowsOfReport(
            tables.parts, (first, second), tuple(keep), _numbers_of(shown), most, folder
        )
        rows = tables.fold_whole(partial)
        tail = list(map(str, shown.columns[len(shown.columns) - n_tail :]))
        return _finish(rows, shown, tail, output_format, target)


def _no_rows(described: DescribedScan) -> EvaluationSubset:
    """The columns of a table, without rows."""
    head = described.head
    return EvaluationSubset(
        head.name, head.scores.iloc[:0], head.details.iloc[:0], described.metrics
    )


def _check_arguments(
    output_format: str, csv_file: str | Path | None, k: int, path: str | Path | None
) -> tuple[Path | None, int]:
    """The file for all rows, and how many rows are returned."""
    check_choice("output_format", output_format, get_args(OutputFormat))
    most = check_count("k", k)
    # In memory, too, it is written with the CSV text only.
    if csv_file is not None and output_format == "csv":
        if path is not None:
            raise DataError("csv_file and path are both a file for all rows; give one of them")
        return Path(csv_file), most
    return check_table_path(path), most


def _numbers_of(shown: pd.DataFrame) -> frozenset[str]:
    """The columns that the first rows of the table have as numbers, or as true and false."""
    return frozenset(
        str(name) for name in shown if pd.api.types.is_numeric_dtype(shown[name].dtype)
    )


def _finish(
    rows: DetailedRows | None,
    shown: pd.DataFrame,
    tail: list[str],
    output_format: OutputFormat,
    target: Path | None,
) -> HaystackReport:
    """Write all rows, and return the first in the form that is asked for."""
    if rows is None:
        return format_report(shown, output_format)
    if target is not None:
        _join_parts(rows, tail, target)
    frame = as_kinds(rows.rows, rows.types)
    frame = frame[_in_order(map(str, frame.columns), tail)].reset_index(drop=True)
    frame.attrs["n"] = rows.n
    return format_report(frame, output_format)


def _in_order(names: Iterable[str], tail: list[str]) -> list[str]:
    """The details, those of later parts behind the others, and then the metrics."""
    return [*(name for name in names if name not in tail), *tail]


def _join_parts(rows: DetailedRows, tail: list[str], target: Path) -> None:
    """One file of all parts, put in its place when it is whole."""
    arrow, parquet = import_pyarrow(), import_parquet()
    schemas = [parquet.read_schema(part).remove_metadata() for part in rows.files]
    known = arrow.unify_schemas(schemas, promote_options="permissive")
    schema = arrow.schema([known.field(name) for name in _in_order(known.names, tail)])
    texts = (arrow.string(), arrow.large_string())  # in a CSV file every cell is one
    kinds = {
        name: kind
        for name, kind in rows.types.items()
        if kind != "text" and schema.field(name).type in texts
    }
    written = schema_of_kinds(schema, kinds)

    def tables() -> Iterator[ArrowTable]:
        for part in rows.files:
            parts = [schema.empty_table(), parquet.read_table(part)]
            table = arrow.concat_tables(parts, promote_options="permissive").select(schema.names)
            yield _of_kinds(table, written, kinds) if kinds else table.cast(written)

    write_tables(target, tables(), written)


def _of_kinds(table: ArrowTable, schema: ArrowSchema, kinds: Mapping[str, CellKind]) -> ArrowTable:
    """A part of the rows whose texts become numbers, as pandas reads them."""
    frame = as_kinds(table.to_pandas(), kinds)
    return import_pyarrow().Table.from_pandas(frame, schema=schema, preserve_index=False)
