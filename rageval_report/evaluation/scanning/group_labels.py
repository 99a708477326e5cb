"""The groups of rows of a scanned table, with the labels that a table in memory gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from rageval_report._registry import import_pyarrow
from rageval_report.analysis.slice_pairs import order_of_groups
from rageval_report.analysis.slices import NO_GROUP
from rageval_report.errors import DataError, UnknownNameError, named
from rageval_report.evaluation.scanning.description import DescribedScan
from rageval_report.scale.score_rows import ScoreRows
from rageval_report.scores.fingerprints import fingerprints_of
from rageval_report.types import IntArray, WordArray

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

    def rows_by_group(self, rows: ScoreRows) -> Iterator[tuple[str, IntArray]]:
        """Each group of some rows, and the places of its rows.

        Raises
        ------
        DataError
            If there are too many groups.
        """
        if not len(rows):
            return
        codes, groups = pd.factorize(self.labels(rows))
        check_number(self.name, len(groups))
        places = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
        yield from zip(map(str, groups), places, strict=True)

    def labels(self, rows: ScoreRows) -> pd.Series:
        """The group of each of some rows, as text; `NO_GROUP` without one."""
        return self._labels(rows.cells.column(self.column))

    def _labels(self, cells: Any) -> pd.Series:
        types = import_pyarrow().types
        is_missing = cells.is_null().to_numpy(zero_copy_only=False)
        if types.is_integer(cells.type):
            # One by one, because pandas would make floats of a part with a missing cell.
            texts = pd.Series([str(cell) for cell in cells.to_pylist()], dtype=object)
        else:
            frame = import_pyarrow().table({"cells": cells}).to_pandas()
            column = frame["cells"]
            is_missing = is_missing | column.isna().to_numpy()
            texts = column.map(self._as_in_memory).astype(object)
        return texts.mask(is_missing, NO_GROUP)

    def _as_in_memory(self, cell: object) -> str:
        if self.kind == "text" or not isinstance(cell, str):
            return str(cell)
        try:
            return str(int(cell)) if self.kind == "integer" else str(float(cell))
        except ValueError:
            return cell


@dataclass(frozen=True)
class ClusterColumn:
    """A column of details that says which queries belong together.

    Parameters
    ----------
    labels : GroupColumn
        The column.
    """

    labels: GroupColumn

    def keys(self, rows: ScoreRows) -> WordArray:
        """A hash of the label of each of some rows.

        Raises
        ------
        DataError
            If a row has no label.
        """
        if not len(rows):
            return np.empty(0, dtype=np.uint64)
        labels = self.labels.labels(rows)
        is_missing = ((labels == NO_GROUP) | (labels.str.strip() == "")).to_numpy(dtype=bool)
        if is_missing.any():
            ids = named(rows.ids.to_pylist()[place] for place in np.flatnonzero(is_missing))
            raise DataError(f"clusters must have a label for every query; {ids} have none")
        arrow = import_pyarrow()
        return fingerprints_of(arrow.array(labels.tolist(), type=arrow.large_string()))


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
