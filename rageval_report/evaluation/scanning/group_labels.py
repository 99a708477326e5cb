"""The groups of rows of a scanned table, with the labels that a table in memory gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from rageval_report._argument_kinds import describe_kind
from rageval_report._registry import import_arrow_module, import_pyarrow
from rageval_report.analysis.differing_groups import are_other_groups
from rageval_report.analysis.slice_pairs import order_of_groups
from rageval_report.analysis.slices import NO_GROUP
from rageval_report.errors import ArgumentKindError, DataError, UnknownNameError, named
from rageval_report.evaluation.scanning.description import DescribedScan
from rageval_report.scale.score_rows import ArrowTexts, ScoreRows
from rageval_report.scores.fingerprints import fingerprints_of
from rageval_report.stats.units import are_missing
from rageval_report.types import BoolArray, IntArray, WordArray

# A group has a state of each metric, which is kept in memory.
MOST_GROUPS = 10_000

GroupKind = Literal["integer", "number", "text"]


@dataclass(frozen=True)
class GroupColumn:
    """A column of details whose values are groups.

    Parameters
    ----------
    column : str
        Its name in the file.
    name : str
        Its name among the details.
    kind : {"integer", "number", "text"}
        What its cells are in memory: of a CSV file they are read as texts here.
    """

    column: str
    name: str
    kind: GroupKind

    @classmethod
    def of(cls, described: DescribedScan, name: str) -> GroupColumn:
        """The column of a table by its name among the details.

        Raises
        ------
        UnknownNameError
            If the details have no such column.
        """
        names = described.table.shape.detail_names
        columns = {str(detail): column for column, detail in names.items()}
        if name not in columns:
            raise UnknownNameError("detail column", name, columns)
        return cls(columns[name], name, _kind_of_texts(described.opened.head.column(columns[name])))

    @classmethod
    def find(cls, described: DescribedScan, name: str) -> GroupColumn | None:
        """The column as `of` gives it; None if the details have no such column."""
        names = map(str, described.table.shape.detail_names.values())
        return cls.of(described, name) if name in names else None

    def rows_by_group(self, rows: ScoreRows) -> Iterator[tuple[str, IntArray]]:
        """Each group of some rows, and the places of its rows.

        Raises
        ------
        DataError
            If there are too many groups.
        """
        if not len(rows):
            return
        places, texts = self._coded(rows)
        codes, groups = pd.factorize(np.array(texts.fill_null(NO_GROUP).to_pylist(), dtype=object))
        check_number(self.name, len(groups))
        codes = codes[places]
        # A part may have none of the rows of a group whose cells it knows.
        present = np.flatnonzero(np.bincount(codes, minlength=len(groups)))
        ends = np.cumsum(np.bincount(codes, minlength=len(groups))[present])[:-1]
        of_groups = np.split(np.argsort(codes, kind="stable"), ends)
        yield from zip([str(groups[place]) for place in present.tolist()], of_groups, strict=True)

    def texts(self, rows: ScoreRows) -> ArrowTexts:
        """The group of each of some rows, as Arrow texts; null without one."""
        places, texts = self._coded(rows)
        return texts.take(import_pyarrow().array(places))

    def counts(self, rows: ScoreRows) -> tuple[ArrowTexts, IntArray]:
        """The groups of some rows as Arrow texts, and the number of rows of each.

        A text may occur several times; rows without a group do not count.
        """
        places, texts = self._coded(rows)
        is_known = texts.is_valid()
        counts = np.bincount(places, minlength=len(texts))
        return texts.filter(is_known), counts[is_known.to_numpy(zero_copy_only=False)]

    def _coded(self, rows: ScoreRows) -> tuple[IntArray, ArrowTexts]:
        """The place of each row's cell among the distinct cells, and the texts of these."""
        arrow = import_pyarrow()
        cells = rows.cells.column(self.column)
        if arrow.types.is_dictionary(cells.type):
            cells = cells.cast(cells.type.value_type)
        if arrow.types.is_nested(cells.type):  # which Arrow does not compare
            return np.arange(len(cells)), self._texts(cells)
        coded = cells.dictionary_encode(null_encoding="encode").unify_dictionaries()
        if not coded.num_chunks:
            return np.empty(0, dtype=np.intp), arrow.array([], type=arrow.large_string())
        places = np.concatenate([chunk.indices.to_numpy() for chunk in coded.chunks])
        distinct = coded.chunk(0).dictionary
        is_text = arrow.types.is_string(distinct.type) or arrow.types.is_large_string(distinct.type)
        if is_text and self.kind == "text":  # as it is, without texts of Python
            return places.astype(np.intp), distinct.cast(arrow.large_string())
        return places.astype(np.intp), self._texts(arrow.chunked_array([distinct]))

    def _texts(self, cells: Any) -> ArrowTexts:
        arrow = import_pyarrow()
        return arrow.array(self._labels(cells).tolist(), type=arrow.large_string())

    def _labels(self, cells: Any) -> pd.Series:
        """The texts of cells; None without one."""
        types = import_pyarrow().types
        is_missing = cells.is_null().to_numpy()
        if types.is_integer(cells.type):
            # One by one, because pandas would make floats of a part with a missing cell.
            texts = pd.Series([str(cell) for cell in cells.to_pylist()], dtype=object)
        else:
            frame = import_pyarrow().table({"cells": cells}).to_pandas()
            column = frame["cells"]
            is_missing = is_missing | column.isna().to_numpy()
            texts = column.map(self._as_in_memory).astype(object)
        return texts.where(~is_missing, None)

    def _as_in_memory(self, cell: object) -> str:
        if self.kind == "text" or not isinstance(cell, str):
            return str(cell)
        try:
            return str(int(cell)) if self.kind == "integer" else str(float(cell))
        except ValueError:
            return cell


def count_differing_texts(ours: ArrowTexts, theirs: ArrowTexts) -> int:
    """The number of queries that both tables put into a group, but not into the same one.

    Parameters
    ----------
    ours, theirs : array of texts
        The groups of the same queries in either table; null without one.
    """
    is_other = import_arrow_module("compute").not_equal(ours, theirs)
    sides = (pd.Series(groups.filter(is_other).to_pylist()) for groups in (ours, theirs))
    return int(are_other_groups(*sides).sum())


@dataclass(frozen=True)
class ClusterColumn:
    """A column of details that says which queries belong together.

    Parameters
    ----------
    labels : GroupColumn
        The column.
    """

    labels: GroupColumn

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read, by their names in the files."""
        return (self.labels.column,)

    def keys(self, rows: ScoreRows) -> WordArray:
        """A hash of the label of each of some rows.

        Raises
        ------
        DataError
            If a row has no label.
        """
        if not len(rows):
            return np.empty(0, dtype=np.uint64)
        texts = self.labels.texts(rows)
        compute = import_arrow_module("compute")
        is_label = compute.not_equal(compute.utf8_trim_whitespace(texts), "")
        _check_labels(rows, ~is_label.fill_null(False).to_numpy(zero_copy_only=False))
        return fingerprints_of(texts)


@dataclass(frozen=True, eq=False)
class ClusterLabels:
    """Labels by query id that say which queries belong together.

    Parameters
    ----------
    ids : ndarray of uint64
        A hash of each query id, in ascending order.
    labels : ndarray of uint64
        A hash of the label of each.
    """

    ids: WordArray
    labels: WordArray

    @classmethod
    def of(cls, clusters: pd.Series | Mapping[str, object]) -> ClusterLabels:
        """The labels of a Series or of a mapping; those that are missing are left out."""
        labels = pd.Series(clusters, dtype=object)
        repeated = labels.index[labels.index.duplicated()]
        if len(repeated):
            raise DataError(
                f"clusters must have one label per query; {named(repeated.unique())} have several"
            )
        is_label = ~are_missing(labels.to_numpy())
        # Only a text can be the id of a query.
        is_label &= np.array([isinstance(query_id, str) for query_id in labels.index], dtype=bool)
        known = labels[is_label]
        arrow = import_pyarrow()
        ids, texts = (
            fingerprints_of(arrow.array(each, type=arrow.large_string()))
            for each in (known.index.tolist(), known.map(str).tolist())
        )
        order = np.argsort(ids)
        return cls(ids[order], texts[order])

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read: none."""
        return ()

    def keys(self, rows: ScoreRows) -> WordArray:
        """A hash of the label of each of some rows.

        Raises
        ------
        DataError
            If a row has no label.
        """
        if not len(rows):
            return np.empty(0, dtype=np.uint64)
        wanted = fingerprints_of(rows.ids)
        places = np.searchsorted(self.ids, wanted)
        places[places == self.ids.size] = 0
        is_missing = np.ones(wanted.size, bool) if not self.ids.size else self.ids[places] != wanted
        _check_labels(rows, is_missing)
        return self.labels[places]


ScanClusters: TypeAlias = ClusterColumn | ClusterLabels


def clusters_of(described: DescribedScan, clusters: object) -> ScanClusters | None:
    """What says which queries of a scanned table belong together; None if nothing does.

    Parameters
    ----------
    described : DescribedScan
        The table.
    clusters : str, Series or mapping, optional
        A detail column, or labels by query id.

    Raises
    ------
    UnknownNameError
        If the details have no such column.
    ArgumentKindError
        If it is something else.
    """
    if clusters is None:
        return None
    if isinstance(clusters, str):
        return ClusterColumn(GroupColumn.of(described, clusters))
    if isinstance(clusters, pd.Series | Mapping):
        return ClusterLabels.of(clusters)
    raise ArgumentKindError(
        "clusters must be the name of a detail column, or a Series or a dict of labels by query "
        f"id; got {describe_kind(clusters)}"
    )


def _check_labels(rows: ScoreRows, is_missing: BoolArray) -> None:
    if is_missing.any():
        ids = named(rows.ids.to_pylist()[place] for place in np.flatnonzero(is_missing))
        raise DataError(f"clusters must have a label for every query; {ids} have none")


def _kind_of_texts(cells: Any) -> GroupKind:
    """What the texts of the first rows of a column are in memory."""
    types = import_pyarrow().types
    if not (types.is_string(cells.type) or types.is_large_string(cells.type)):
        return "text"
    texts = [text for text in cells.to_pylist() if text is not None]
    try:
        numbers = pd.to_numeric(pd.Series(texts, dtype=object))
    except (ValueError, TypeError):
        return "text"
    # Numbers beside empty cells are floats in memory.
    is_whole = numbers.dtype.kind in "iu" and len(texts) == len(cells)
    return "integer" if is_whole else "number"


def check_number(by: str, n_groups: int) -> None:
    """Check that groups are not too many for a scan.

    Raises
    ------
    DataError
        If they are.
    """
    if n_groups > MOST_GROUPS:
        raise DataError(
            f"by={by!r} makes more than {MOST_GROUPS} groups, which is the most that a scan "
            "compares; choose a column with fewer values, or bring the scores into memory with "
            ".collect()"
        )


def ordered_groups(by: str, sizes: Mapping[str, int]) -> list[str]:
    """The groups in the order of a table.

    Parameters
    ----------
    by : str
        The name of the column.
    sizes : mapping of str to int
        The number of queries of each group.

    Raises
    ------
    DataError
        If they are too many, or every query is a group of its own.
    """
    check_number(by, len(sizes))
    if len(sizes) > 1 and sum(sizes.values()) == len(sizes):
        raise DataError(
            f"every query has its own value of {by!r}, so there are no groups to compare; "
            f"the first is {next(iter(sizes))[:40]!r}"
        )
    return order_of_groups(sizes)
