"""Columns whose names differ only in case or white space, of which one may be a leftover."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pandas as pd

from rageval_report.errors import DataError, named


def similar_names(labels: Iterable[str]) -> list[list[str]]:
    """The groups of names that are equal but for case and white space.

    Examples
    --------
    >>> similar_names(["Topic", "recall", "topic "])
    [['Topic', 'topic ']]
    """
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(" ".join(label.split()).casefold(), []).append(label)
    return [group for spelled, group in groups.items() if spelled and len(group) > 1]


def similar_names_notes(
    frame: pd.DataFrame, id_column: str | None, stated: Collection[str]
) -> list[str]:
    """A note on each group of columns with similar names, unless the caller says what they are.

    Two metrics with similar names have been refused before.

    Parameters
    ----------
    frame : DataFrame
        The table; its column names are unique texts.
    id_column : str or None
        The column that the ids are taken from.
    stated : collection of str
        The columns that the caller or the file says something about.

    Raises
    ------
    DataError
        If one of the columns holds the ids, and another one has other cells.

    Examples
    --------
    >>> frame = pd.DataFrame({"topic": ["law"], "Topic": ["tax"]})
    >>> similar_names_notes(frame, None, ())
    ["columns 'topic' and 'Topic' differ only in case or white space, and all are kept"]
    """
    notes = []
    for group in similar_names(frame.columns):
        if any(label in stated for label in group):
            continue
        if id_column in group:
            _check_ids(frame, id_column, [label for label in group if label != id_column])
        listed = " and ".join(map(repr, group))
        notes.append(f"columns {listed} differ only in case or white space, and all are kept")
    return notes


def _check_ids(frame: pd.DataFrame, id_column: str, others: Iterable[str]) -> None:
    """Refuse another column of ids with other cells: rows would be paired by the wrong one."""
    ids = frame[id_column].astype(str)
    for other in others:
        differing = (ids != frame[other].astype(str)).to_numpy()
        if differing.any():
            row = int(differing.argmax())
            raise DataError(
                f"columns {named([id_column, other])} differ only in case or white space, and may "
                f"both hold the query ids: row {row}, counted from 0, has {ids.iloc[row]!r} and "
                f"{str(frame[other].iloc[row])!r}. Rename or drop one of them, or say which it is: "
                f"roles={{{id_column!r}: 'id'}}"
            )
