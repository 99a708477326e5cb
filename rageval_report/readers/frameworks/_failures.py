"""Scores that are blank although the framework tried: they failed, whatever the reason was."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.scores.cells import plain_number, read_cells
from rageval_report.scores.metric import Catalogue, normalised
from rageval_report.scores.states import FAILED, MISSING, STATE
from rageval_report.scores.texts import TEXTS


def with_failures(
    frame: pd.DataFrame, passed_over: Collection[str]
) -> tuple[pd.DataFrame, dict[str, int]]:
    """The frame with the state of the blank scores, and how many each metric has.

    Columns of numbers are looked at, also where a blank one is written NaN, and columns of known
    metrics that are blank all over.

    Parameters
    ----------
    frame : DataFrame
        The table.
    passed_over : collection of str
        Columns that are no metrics.

    Examples
    --------
    >>> frame, n_failed = with_failures(pd.DataFrame({"sas": ["0.5", "nan"]}), [])
    >>> frame["sas_state"].tolist(), n_failed
    (['scored', 'failed'], {'sas': 1})
    """
    catalogue = Catalogue()
    columns: dict[str, Any] = {}
    counts = {}
    for name in map(str, frame):
        if name in passed_over or normalised(name) in TEXTS or f"{name}{STATE}" in frame:
            continue
        cells = frame[name]
        if not _may_hold_scores(cells, is_known=catalogue.find(name) is not None):
            continue
        read = read_cells(cells.tolist())
        is_blank = read.states == MISSING
        if is_blank.any():
            states = np.where(is_blank, FAILED, read.states)
            columns |= {name: read.numbers, f"{name}{STATE}": states}
            counts[name] = int(is_blank.sum())
    return (frame.assign(**columns) if columns else frame), counts


def _may_hold_scores(cells: pd.Series, *, is_known: bool) -> bool:
    """Whether a column holds numbers or blanks only, and if only blanks, is known as a metric."""
    if pd.api.types.is_numeric_dtype(cells.dtype):
        return bool(cells.isna().any()) and (is_known or not bool(cells.isna().all()))
    has_number = False
    for cell in cells.tolist():
        if _is_blank(cell):
            continue
        number = plain_number(cell) if isinstance(cell, str) else None
        if number is None:
            return False
        has_number = has_number or not math.isnan(number)
    return is_known or has_number


def _is_blank(cell: object) -> bool:
    return cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell))
