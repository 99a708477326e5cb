"""Blank scores of frameworks that write a blank if scoring failed, without a reason."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
import pandas as pd

from rageval_report.readers.cell_values import is_blank
from rageval_report.scores.cells import plain_number, read_cells
from rageval_report.scores.metric import Catalogue, normalise_name
from rageval_report.scores.query_ids import TEXTS
from rageval_report.scores.states import FAILED, MISSING, STATE


def mark_blank_scores(
    frame: pd.DataFrame, other_columns: Collection[str]
) -> tuple[pd.DataFrame, dict[str, int]]:
    """The frame with blank scores marked as failed, and their number by metric.

    The metrics are the columns of numbers with blanks, written NaN or not at all, and the columns
    of known metrics in which every cell is blank.

    Parameters
    ----------
    frame : DataFrame
        The table.
    other_columns : collection of str
        The columns that are not metrics.

    Examples
    --------
    >>> frame, n_failed = mark_blank_scores(pd.DataFrame({"sas": ["0.5", "nan"]}), [])
    >>> frame["sas_state"].tolist(), n_failed
    (['scored', 'failed'], {'sas': 1})
    """
    catalogue = Catalogue()
    columns: dict[str, np.ndarray] = {}
    counts = {}
    for name in map(str, frame):
        if name in other_columns or normalise_name(name) in TEXTS or f"{name}{STATE}" in frame:
            continue
        cells = frame[name]
        if not _may_hold_scores(cells, is_known=catalogue.find(name) is not None):
            continue
        read = read_cells(cells.tolist())
        # Ragas 0.4.3 and Haystack 3.4.0 write NaN if a judge failed, so here a blank is a failure.
        is_missing = read.states == MISSING
        if is_missing.any():
            states = np.where(is_missing, FAILED, read.states)
            columns |= {name: read.numbers, f"{name}{STATE}": states}
            counts[name] = int(is_missing.sum())
    return (frame.assign(**columns) if columns else frame), counts


def _may_hold_scores(cells: pd.Series, *, is_known: bool) -> bool:
    """Whether a column holds numbers and blanks; without a number it must be a known metric."""
    if pd.api.types.is_numeric_dtype(cells.dtype):
        # A column without any value is a metric that failed everywhere only if its name is one;
        # else it is a detail that nobody filled.
        return bool(cells.isna().any()) and (is_known or not bool(cells.isna().all()))
    has_number = False
    for cell in cells.tolist():
        if is_blank(cell):
            continue
        number = plain_number(cell) if isinstance(cell, str) else None
        if number is None:
            return False
        has_number = has_number or not math.isnan(number)
    return is_known or has_number
