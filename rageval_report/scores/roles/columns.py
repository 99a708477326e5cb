"""Decides which columns of a table are metrics, and reads the numbers in their cells."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np
import pandas as pd

from rageval_report.errors import MOST_NAMED, DataError, UnknownNameError, named
from rageval_report.scores.cells import (
    ParsedCells,
    check_parsed,
    count_numbers,
    is_single_number,
    read_cells,
)
from rageval_report.scores.column_scale import Column, ScoreRange
from rageval_report.scores.dates import date_in_numbers, is_date
from rageval_report.scores.metric import Catalogue, Metric, normalise_name
from rageval_report.scores.numerals import names_a_time
from rageval_report.scores.states import is_state_column, state_columns
from rageval_report.scores.texts import TEXTS

# A table with more columns of numbers than this is probably transposed, or holds vectors.
MOST_METRICS = 1000

# Columns of numbers that describe the query or the run, and do not score an answer.
_METADATA = frozenset(
    "answerable attempt chunk_overlap chunk_size doc_id epoch fold index is_answerable k level_0 "
    "n_contexts num_contexts order page position prompt_idx repetition row row_id seed test_idx "
    "timestamp top_k turn year".split()
)
# The last word of a column that numbers the repeated rows of a query.
_COUNTER = re.compile(r"(^|_)(epoch|iteration|repeat|repetition|run|trial)(_(no|nr|number))?$")
_METADATA_PATTERN = re.compile(r"^unnamed|_id$|_idx$|_index$")

Unreadable = Literal["raise", "failed"]

# The number of cells, evenly spaced, that decide whether a column of texts holds numbers.
_SAMPLE = 1000


@dataclass
class ColumnRoles:
    """The columns of a table, divided into metrics and details.

    Parameters
    ----------
    sources : dict of str to Series
        The cells of each metric as numbers, by normalised name.
    known : dict of str to Metric or None
        The entry of each metric in the catalogue.
    details : list of str
        All other columns.
    notes : list of str
        The guesses that were made.
    states : dict of str to list
        The columns that say why cells hold no number.
    scales : dict of str to (float, float)
        The range of the scale that is written in the cells of a metric.
    shares : set of str
        The metrics with cells in percent, which are read as shares of 1.
    """

    sources: dict[str, pd.Series] = field(default_factory=dict)
    known: dict[str, Metric | None] = field(default_factory=dict)
    details: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    states: dict[str, list[Any]] = field(default_factory=dict)
    scales: dict[str, tuple[float, float]] = field(default_factory=dict)
    shares: set[str] = field(default_factory=set)

    def add_metric(self, label: str, cells: pd.Series, known: Metric | None) -> None:
        """Add a column as a metric.

        Raises
        ------
        DataError
            If another column has the same normalised name.
        """
        name = normalise_name(label)
        if name in self.sources:
            raise DataError(
                f"columns {self.sources[name].name!r} and {label!r} are both the metric {name!r}; "
                "rename or drop one of them"
            )
        self.sources[name] = cells
        self.known[name] = known


def assign_roles(
    frame: pd.DataFrame,
    ids: pd.Series,
    *,
    id_column: str | None,
    only: Collection[str] | None = None,
    also: Collection[str] = (),
    bounds: Mapping[str, ScoreRange] | None = None,
    unreadable: Unreadable = "raise",
) -> ColumnRoles:
    """Divide the columns into metrics and details.

    Parameters
    ----------
    frame : DataFrame
        The rows; the column names are unique strings.
    ids : Series of str
        The query ids, for error messages.
    id_column : str, optional
        The column that the ids came from; it is neither a metric nor a detail.
    only : collection of str, optional
        All metrics, if the caller lists them; if omitted, names and cells decide.
    also : collection of str
        Columns that are metrics because the caller describes them.
    bounds : mapping of str to (float, float), optional
        The bounds that the caller or the file states, by normalised name.
    unreadable : {"raise", "failed"}
        What becomes of a metric's cell that holds neither a score nor a word for "unscored": an
        error, or a failed score.

    Raises
    ------
    DataError
        If no column is a metric, more than a thousand are, or a cell of a metric holds text.
    UnknownNameError
        If `only` or `also` names a column that does not exist.
    """
    catalogue = Catalogue()
    labels = [label for label in frame.columns if label != id_column]
    if only is None:
        _check_count(frame)
    named_metrics = _find_columns(frame, labels, also if only is None else only, catalogue)
    columns = ColumnRoles()
    sorter = _ColumnSorter(columns, catalogue, ids, unreadable, bounds or {})
    for label in labels:
        if label in named_metrics:
            sorter.add_metric(frame[label])
        elif only is None and not is_state_column(label, labels):
            sorter.add_column(frame[label])
        else:
            columns.details.append(label)
    if not columns.sources:
        raise DataError(_no_metric_message(frame[labels]))
    return columns


def _find_columns(
    frame: pd.DataFrame, labels: list[str], names: Collection[str], catalogue: Catalogue
) -> set[str]:
    """The columns of these names; the error for an unknown name lists the likely metrics."""
    resolve = resolver(labels, catalogue)
    try:
        return {resolve(name) for name in names}
    except UnknownNameError as exc:
        likely = [
            label
            for label in labels
            if _may_be_metric(frame[label], catalogue) and not is_state_column(label, labels)
        ]
        near = get_close_matches(exc.name, labels, n=1)  # even if it does not look like a metric
        raise UnknownNameError("metric", exc.name, {*likely, *near} or labels) from None


def _may_be_metric(cells: pd.Series, catalogue: Catalogue) -> bool:
    label = str(cells.name)
    if _is_detail_name(normalise_name(label)):
        return False
    return _has_numeric_type(cells) or _looks_numeric(cells, catalogue.find(label))


def _is_detail_name(name: str) -> bool:
    """Whether a column of this name holds texts, or numbers that are not scores."""
    return name in TEXTS or name in _METADATA or bool(_METADATA_PATTERN.search(name))


def _check_count(frame: pd.DataFrame) -> None:
    n_numeric = sum(pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes)
    if n_numeric > MOST_METRICS:
        raise DataError(
            f"{n_numeric:,} columns hold numbers; expected at most {MOST_METRICS:,} metrics. Is "
            "the table transposed, or does it hold vectors? Keep the columns that are metrics, or "
            "name them: metrics=[...]"
        )


def resolver(columns: Iterable[object], catalogue: Catalogue | None = None) -> Callable[[str], str]:
    """A function that finds the column of a metric by any of the metric's names.

    Examples
    --------
    >>> resolver(["reciprocal_rank", "recall@5"])("MRR")
    'reciprocal_rank'
    """
    labels = [str(column) for column in columns]
    # Reversed, so that the first of two columns with one normal form is found.
    spelled = {normalise_name(label): label for label in reversed(labels)}

    def resolve(name: str) -> str:
        if name in labels:
            return name
        label = spelled.get(normalise_name(name))
        return _find_synonym(name, labels, catalogue or Catalogue()) if label is None else label

    return resolve


def _find_synonym(name: str, labels: list[str], catalogue: Catalogue) -> str:
    """The one column that holds the same metric under another name."""
    metric = catalogue.find(name)
    synonyms = []
    if metric is not None:
        pairs = ((label, catalogue.find(label)) for label in labels)
        synonyms = [label for label, other in pairs if other and other.known_as == metric.known_as]
    if len(synonyms) > 1:
        raise DataError(f"{name!r} may mean any of {named(synonyms)}; use one of these names")
    if not synonyms:
        raise UnknownNameError("metric", name, labels)
    return synonyms[0]


def _no_metric_message(frame: pd.DataFrame) -> str:
    examples = [f"{label!r} {_example(frame[label])}" for label in frame.columns[:8]]
    more = f" and {frame.shape[1] - 8} more" if frame.shape[1] > 8 else ""
    return (
        "no column holds scores: expected at least one column of numbers. Columns: "
        f"{', '.join(examples) + more if examples else 'only the ids'}. If the rows are records "
        "(questions, answers, documents), compute scores from them: "
        "score(read_records(path), metrics). If a column holds scores, name it with metrics=[...]"
    )


def _example(column: pd.Series) -> str:
    present = column.dropna()
    return f"(such as {str(present.iloc[0])[:30]!r})" if len(present) else "(empty)"


# -- one column


@dataclass(frozen=True)
class _ColumnSorter:
    """Sorts columns one by one into metrics and details."""

    columns: ColumnRoles
    catalogue: Catalogue
    ids: pd.Series
    unreadable: Unreadable
    bounds: Mapping[str, ScoreRange]

    def add_column(self, cells: pd.Series) -> None:
        """Add a column as a metric or as a detail, depending on its name and its cells."""
        label = str(cells.name)
        name = normalise_name(label)
        if _is_detail_name(name) or self._numbers_repeats(label):
            self.columns.details.append(label)
        elif _has_numeric_type(cells):
            _add_numbers(self.columns, cells, self.catalogue.search(label))
        elif _looks_numeric(cells, self.catalogue.find(label)):
            self.add_metric(cells)
        else:
            self.columns.details.append(label)
            if self.catalogue.find(label) is not None:
                self.columns.notes.append(
                    f"column {label!r} has the name of a metric, but holds dates, lists or "
                    f"objects such as {_example(cells)[9:-1]}, and becomes a detail"
                )

    def _numbers_repeats(self, label: str) -> bool:
        """Whether a column numbers the repeated rows of a query: by its name, if ids repeat."""
        return (
            bool(_COUNTER.search(normalise_name(label)))
            and self.catalogue.find(label) is None
            # A column "run" of a table without repeated ids may well be a metric. The ids are asked
            # last, because hashing a large table's ids takes time and memory.
            and not self.ids.is_unique
        )

    def add_metric(self, cells: pd.Series) -> None:
        """Add a column as a metric, with its cells read as scores."""
        label = str(cells.name)
        known = self.catalogue.search(label)
        if _has_numeric_type(cells):
            self.columns.add_metric(label, cells, known)
            return
        stated = self.bounds.get(normalise_name(label))
        catalogued = None if known is None else known.bounds
        column = Column(label, self.ids.tolist(), stated, catalogued)
        values = cells.tolist()
        parsed = read_cells(values, column)
        check_parsed(parsed, values, column)
        if parsed.unread and self.unreadable == "raise":
            raise DataError(_not_numbers_message(cells, self.ids, parsed.unread))
        self.columns.add_metric(label, pd.Series(parsed.numbers, name=label), known)
        self.columns.states |= state_columns(label, parsed.states, parsed.reasons)
        if parsed.other_fields:
            self.columns.states[f"{label}_details"] = parsed.other_fields
        if parsed.scale is not None:
            self.columns.scales[normalise_name(label)] = parsed.scale
        if parsed.are_shares:
            self.columns.shares.add(normalise_name(label))
        self.columns.notes += (*parsed.notes, *_parsing_notes(cells, parsed, self.ids))


def _has_numeric_type(cells: pd.Series) -> bool:
    dtype = cells.dtype
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype)


def _add_numbers(columns: ColumnRoles, cells: pd.Series, known: Metric | None) -> None:
    # Without a number and without a known name nothing shows that it is a metric.
    if known is None and bool(cells.isna().all()):
        columns.details.append(str(cells.name))
        columns.notes.append(f"column {cells.name!r} is empty and becomes a detail")
        return
    date = None if known is not None else date_in_numbers(str(cells.name), numbers_of(cells))
    if date is not None:
        columns.details.append(str(cells.name))
        columns.notes.append(
            f"column {cells.name!r} holds dates, such as {cells.dropna().iloc[0]} for {date}, and "
            "becomes a detail"
        )
        return
    columns.add_metric(str(cells.name), cells, known)


def _looks_numeric(cells: pd.Series, known: Metric | None) -> bool:
    """Whether a column of another type holds scores: many cells are numbers, or its name says so.

    A column of texts of which half are numbers counts as a metric. Its other cells then raise an
    error, where otherwise the whole column would be missing from the report without a note.
    """
    present = cells.dropna()
    if not len(present):
        return known is not None
    # Evenly spaced, because files are often sorted.
    sample = present.iloc[:: math.ceil(len(present) / _SAMPLE)]
    n_numbers, n_texts = count_numbers(sample)
    if known is not None:
        return n_numbers > 0 or any(_may_be_score(cell, str(cells.name)) for cell in sample)
    if n_numbers == n_texts == 0:  # every cell of the sample failed: look at all cells
        n_numbers, n_texts = count_numbers(present)
    return n_numbers > 0 and n_numbers >= n_texts


def _may_be_score(cell: object, name: str) -> bool:
    """Whether a cell of a known metric makes its column one: dates and lists do not."""
    if isinstance(cell, str):
        return names_a_time(name) or not is_date(cell)
    return isinstance(cell, timedelta) or is_single_number(cell)


def _not_numbers_message(cells: pd.Series, ids: pd.Series, rows: list[int]) -> str:
    return (
        f"metric {cells.name!r} must hold numbers; got {_list_cells(cells, ids, rows)}. Make them "
        "numbers, leave them empty if there is no score, or name the columns that are metrics: "
        "metrics=[...]"
    )


def _list_cells(cells: pd.Series, ids: pd.Series, rows: list[int]) -> str:
    first = rows[:MOST_NAMED]
    listed = ", ".join(f"{str(cells.iloc[row])[:40]!r} at {ids.iloc[row]!r}" for row in first)
    return f"{listed} and {len(rows) - len(first)} more" if len(rows) > len(first) else listed


def _parsing_notes(cells: pd.Series, parsed: ParsedCells, ids: pd.Series) -> list[str]:
    """Notes on words that were read as scores, and on cells that hold no score."""
    notes = []
    unread = set(parsed.unread)
    words = [
        cell.strip()
        for position, cell in enumerate(cells.tolist())
        if isinstance(cell, str)
        and cell.strip()
        and math.isnan(parsed.numbers[position])
        and position not in unread
    ]
    if words:
        quoted = named(sorted(set(words)))
        notes.append(f"{len(words)} cells of {cells.name!r} say {quoted}: unscored")
    if parsed.words.keys() - {"true", "false"}:
        pairs = sorted(parsed.words.items())
        values = ", ".join(f"{word!r} is read as {number:g}" for word, number in pairs)
        notes.append(f"{cells.name!r}: {values}")
    if parsed.unread:
        notes.append(
            f"{len(unread)} cells of {cells.name!r} hold no score and count as failed: "
            f"{_list_cells(cells, ids, parsed.unread)}"
        )
    return notes


def numbers_of(cells: pd.Series) -> np.ndarray:
    """The cells as float64, NaN if empty; float64 cells are not copied.

    Examples
    --------
    >>> numbers_of(pd.Series([1, None], dtype="Int64"))
    array([ 1., nan])
    """
    if isinstance(cells.dtype, np.dtype):
        return cells.to_numpy(dtype=np.float64)
    return cells.to_numpy(dtype=np.float64, na_value=np.nan)
