"""The queries on which a scanned candidate is worse, or better: the largest changes, or all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from rageval_report._registry import import_parquet, import_pyarrow
from rageval_report.analysis.arguments import check_count
from rageval_report.evaluation.scanning.cell_kinds import (
    as_kinds,
    kinds_of_parts,
    like_memory,
    texts_to_convert,
)
from rageval_report.evaluation.scanning.part_files import folder_of_parts, write_part
from rageval_report.evaluation.scanning.part_states import PartEvaluation
from rageval_report.evaluation.scanning.scanned_pair import ScannedTables
from rageval_report.evaluation.scanning.tables_in_files import (
    check_table_path,
    schema_of_kinds,
    write_tables,
)
from rageval_report.results import QueryFrame
from rageval_report.scale.pairs import PairedRows
from rageval_report.scale.pieces import ArrowTable
from rageval_report.scores import Metric, join_details
from rageval_report.scores.same_texts import same_texts
from rageval_report.stats.base import paired_differences

MOST_CHANGED = 1000
_DIFFERENCE = "difference"


@dataclass(frozen=True, eq=False)
class ChangedQueries:
    """The number of queries that changed in one direction, and those that changed most.

    Parameters
    ----------
    n : int
        The number of all.
    rows : DataFrame, index query_id
        The scores of both sides and their difference, the largest change first.
    details : (DataFrame, DataFrame)
        Their details in either table.
    unlike : frozenset of str
        The details that differ between the tables on any of all these queries.
    most : int
        How many rows are kept.
    files : tuple of str
        Where all of them were written, part by part.
    """

    n: int
    rows: pd.DataFrame
    details: tuple[pd.DataFrame, pd.DataFrame]
    unlike: frozenset[str]
    most: int
    files: tuple[str, ...] = ()

    def __add__(self, other: ChangedQueries) -> ChangedQueries:
        """Those of both parts."""
        total = replace(
            self,
            n=self.n + other.n,
            unlike=self.unlike | other.unlike,
            files=(*self.files, *other.files),
        )
        if not other.n:
            return total
        if not self.n:
            return replace(total, rows=other.rows, details=other.details)
        first, second = (
            pd.concat([ours, theirs])
            for ours, theirs in zip(self.details, other.details, strict=True)
        )
        joined = replace(total, rows=pd.concat([self.rows, other.rows]), details=(first, second))
        return joined.largest()

    def largest(self) -> ChangedQueries:
        """The same with the rows in order, and no more of them than are kept."""
        # By id where changes are equal, so that no division of the rows decides.
        ids = self.rows.index.to_numpy(dtype=object)
        order = np.lexsort((ids, -np.abs(self.rows[_DIFFERENCE].to_numpy())))[: self.most]
        first, second = (details.iloc[order] for details in self.details)
        return replace(self, rows=self.rows.iloc[order], details=(first, second))

    def shown_columns(self, names: tuple[str, str]) -> list[tuple[int, str, str]]:
        """The columns of details that a table shows: of which side, their names there and here."""
        before, after = (list(map(str, details.columns)) for details in self.details)
        shown: list[tuple[int, str, str]] = []
        for column in dict.fromkeys((*before, *after)):
            if column in self.unlike:
                shown += [(side, column, f"{name}_{column}") for side, name in enumerate(names)]
            else:
                shown.append((0 if column in before else 1, column, column))
        return shown

    def table(self, names: tuple[str, str]) -> pd.DataFrame:
        """The rows with their details: a column once if it agrees everywhere, else twice."""
        parts = {
            shown: self.details[side][column] for side, column, shown in self.shown_columns(names)
        }
        return QueryFrame(join_details(self.rows, pd.DataFrame(parts, index=self.rows.index)))


@dataclass(frozen=True)
class ChangesInPart:
    """Selects the queries that changed in one direction.

    Parameters
    ----------
    names : (str, str)
        The pipelines.
    metrics : (Metric, Metric)
        The metric as either table knows it.
    sides : (PartEvaluation, PartEvaluation)
        What makes evaluations of rows.
    better : bool
        Whether the candidate is better on them, or worse.
    most : int
        How many are kept.
    folder : str, optional
        Where all of them are written.
    """

    names: tuple[str, str]
    metrics: tuple[Metric, Metric]
    sides: tuple[PartEvaluation, PartEvaluation]
    better: bool
    most: int
    folder: str | None = None

    def __call__(self, rows: PairedRows) -> ChangedQueries:
        """Those of some rows."""
        every = self.select(rows)
        if self.folder is None or not every.n:
            return every.largest()
        return replace(every.largest(), files=(write_part(self.folder, _whole_rows(every)),))

    def select(self, rows: PairedRows) -> ChangedQueries:
        """All of some rows, in their order."""
        ours, theirs = self.metrics
        before, after = rows.before.scores[ours.name], rows.after.scores[theirs.name]
        complete = np.flatnonzero(~(np.isnan(before) | np.isnan(after)))
        # Without rounding noise, as wins and losses are counted.
        difference = paired_differences(before[complete], after[complete])
        wants_more = ours.greater_is_better == self.better
        has_changed = difference > 0 if wants_more else difference < 0
        places = complete[has_changed]
        selected = [
            side.of(part.take(places), with_ids=True)
            for side, part in zip(self.sides, (rows.before, rows.after), strict=True)
        ]
        index = selected[0].scores.index
        first, second = (each.details.set_axis(index, axis=0) for each in selected)
        unlike = [
            column
            for column in map(str, first.columns)
            if column in second and not same_texts(first[column], second[column])
        ]
        frame = pd.DataFrame(
            {
                f"{self.names[0]}_{ours.name}": before[places],
                f"{self.names[1]}_{ours.name}": after[places],
                _DIFFERENCE: difference[has_changed],
            },
            index=index,
        )
        return ChangedQueries(len(frame), frame, (first, second), frozenset(unlike), self.most)


def changed_queries(
    tables: ScannedTables,
    ours: Metric,
    theirs: Metric,
    *,
    better: bool,
    k: int = MOST_CHANGED,
    path: str | Path | None = None,
) -> pd.DataFrame:
    """The queries that changed most in one direction; see `ScannedComparison.regressions`.

    Parameters
    ----------
    tables : ScannedTables
        The tables, which are read once.
    ours, theirs : Metric
        The metric as the baseline and as the candidate knows it.
    better : bool
        Whether the candidate is better on them, or worse.
    k : int
        The most queries that the table has.
    path : str or Path, optional
        A file for all of them, .parquet or .csv.
    """
    most, target = check_count("k", k), check_table_path(path)
    details = [side.table.shape.detail_names for side in tables.sides]
    with folder_of_parts(target) as folder:
        partial = ChangesInPart(tables.names, (ours, theirs), tables.parts, better, most, folder)
        changed = tables.fold(partial, [(ours, theirs)], (tuple(details[0]), tuple(details[1])))
        if not changed.n:
            heads = [side.head.details.iloc[:0] for side in tables.sides]
            changed = replace(changed, details=(heads[0], heads[1]))
        if target is not None:
            heads = [side.head.details for side in tables.sides]
            _join_parts(changed, tables.names, (heads[0], heads[1]), target)
    # Numbers of CSV files are read as texts.
    before, after = (
        like_memory(details_of_side, side.head.details)
        for details_of_side, side in zip(changed.details, tables.sides, strict=True)
    )
    table = replace(changed, details=(before, after)).table(tables.names)
    table.attrs["n"] = changed.n
    return table


# -- all of them, in a file


def _whole_rows(changed: ChangedQueries) -> ArrowTable:
    """The rows with the details of both sides, whichever of them will be shown."""
    first, second = (
        details.add_prefix(f"{place}_") for place, details in enumerate(changed.details)
    )
    frame = pd.concat([changed.rows, first, second], axis=1).reset_index()
    return import_pyarrow().Table.from_pandas(frame, preserve_index=False)


def _join_parts(
    changed: ChangedQueries,
    names: tuple[str, str],
    heads: tuple[pd.DataFrame, pd.DataFrame],
    path: Path,
) -> None:
    """One file of all parts, put in its place when it is whole."""
    arrow, parquet = import_pyarrow(), import_parquet()
    if not changed.files:
        nothing = arrow.Table.from_pandas(changed.table(names).reset_index(), preserve_index=False)
        write_tables(path, [nothing], nothing.schema)
        return
    parts = [parquet.read_schema(part) for part in changed.files]
    schema = arrow.unify_schemas(parts, promote_options="permissive")
    n_scores = 1 + changed.rows.shape[1]
    scores = schema.names[:n_scores]
    sources = {name: name for name in scores}
    for side, column, shown in changed.shown_columns(names):
        sources[f"{side}_{column}"] = f"{shown}_detail" if shown in scores else shown
    columns = list(sources)

    def frames() -> Iterator[pd.DataFrame]:
        for part in changed.files:
            yield parquet.read_table(part, columns=columns).select(columns).to_pandas()

    details = pd.concat([head.add_prefix(f"{side}_") for side, head in enumerate(heads)])
    texts = texts_to_convert(next(frames()), details)
    kinds = kinds_of_parts(frames(), texts) if texts else {}
    stored = schema_of_kinds(arrow.schema([schema.field(name) for name in columns]), kinds)
    shown = arrow.schema([stored.field(name).with_name(sources[name]) for name in columns])

    def tables() -> Iterator[ArrowTable]:
        for frame in frames():
            table = arrow.Table.from_pandas(as_kinds(frame, kinds), preserve_index=False)
            yield table.cast(stored).rename_columns(shown.names)

    write_tables(path, tables(), shown)
