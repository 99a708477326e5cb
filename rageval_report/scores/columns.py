"""Which columns of a table are metrics, and what numbers their cells hold."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, UnknownNameError, named
from rageval_report.scores.metric import Catalogue, Metric, normalised
from rageval_report.scores.texts import TEXTS

# More columns of numbers than this are hardly metrics: the table is transposed, or holds vectors.
MOST_METRICS = 1000

# Numbers that say something of the query or of the run, not how good an answer was.
_METADATA = frozenset(
    "answerable attempt chunk_overlap chunk_size doc_id epoch fold index is_answerable k level_0 "
    "n_contexts num_contexts order page position prompt_idx repetition row row_id seed test_idx "
    "timestamp top_k turn year".split()
)
_METADATA_PATTERN = re.compile(r"^unnamed|_id$|_idx$|_index$")

# How frameworks write that there is no score.
_UNSCORED_WORDS = frozenset(
    ("", "-", "(failed)", "error", "failed", "n/a", "na", "nan", "none", "null")
)
_WORDS = {"true": 1.0, "false": 0.0}


@dataclass
class Columns:
    """The columns of a table, parted.

    Parameters
    ----------
    sources : dict of str to Series
        The metrics' cells as numbers, by normalised name.
    known : dict of str to Metric or None
        What the catalogue says of each of them.
    details : list of str
        All other columns.
    notes : list of str
        What was guessed.
    """

    sources: dict[str, pd.Series] = field(default_factory=dict)
    known: dict[str, Metric | None] = field(default_factory=dict)
    details: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_metric(self, name: str, cells: pd.Series, known: Metric | None) -> None:
        """Take a column as a metric, unless its name is taken."""
        if name in self.sources:
            raise DataError(
                f"two columns are spelled like the metric {name!r}; rename or drop one of them"
            )
        self.sources[name] = cells
        self.known[name] = known


def classified(
    frame: pd.DataFrame, ids: pd.Series, *, id_column: str | None, wanted: list[str] | None
) -> Columns:
    """Part the columns into metrics and details.

    Parameters
    ----------
    frame : DataFrame
        The rows as given.
    ids : Series of str
        The query ids, to say where a cell is wrong.
    id_column : str, optional
        The column that the ids came from; it is neither metric nor detail.
    wanted : list of str, optional
        The metrics, where the caller names them; otherwise names and cells decide.

    Raises
    ------
    DataError
        If no column is a metric, more than a thousand are, or a metric's cell holds text.
    UnknownNameError
        If `wanted` names a column that is not there.
    """
    _check_columns(frame)
    columns = Columns()
    catalogue = Catalogue()
    asked = None if wanted is None else _asked(frame, wanted, catalogue)
    for column in frame.columns:
        if column == id_column:
            continue
        known = catalogue.find(str(column))
        if asked is None:
            _sort_in(columns, str(column), frame[column], known, ids)
        elif column in asked:
            cells = _numeric_cells(frame[column], str(column), ids, columns.notes)
            columns.add_metric(normalised(str(column)), cells, known)
        else:
            columns.details.append(column)
    if not columns.sources:
        raise DataError(_no_metric(frame, id_column))
    return columns


def _check_columns(frame: pd.DataFrame) -> None:
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()].unique().tolist()
        raise DataError(f"column names must be unique; seen more than once: {named(twice)}")
    n_numeric = sum(pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes)
    if n_numeric > MOST_METRICS:
        raise DataError(
            f"{n_numeric:,} columns hold numbers, where at most {MOST_METRICS:,} metrics are "
            "expected; is the table transposed, or does it hold vectors? Keep the columns that "
            "are metrics."
        )


def _asked(frame: pd.DataFrame, wanted: list[str], catalogue: Catalogue) -> set[str]:
    """The columns that the caller's names mean, by spelling or by alias."""
    resolve = resolver(frame.columns, catalogue)
    return {resolve(name) for name in wanted}


def resolver(columns: Iterable[object], catalogue: Catalogue | None = None) -> Callable[[str], str]:
    """A function from any name of a metric to the column that holds it.

    Examples
    --------
    >>> resolver(["reciprocal_rank", "recall@5"])("MRR")
    'reciprocal_rank'
    """
    catalogue = catalogue or Catalogue()
    spelled = {normalised(str(column)): str(column) for column in columns}

    def resolve(name: str) -> str:
        if name in spelled.values():
            return name
        direct = spelled.get(normalised(name))
        if direct is not None:
            return direct
        alike = [column for column in spelled.values() if _same(catalogue, name, column)]
        if len(alike) == 1:
            return alike[0]
        raise UnknownNameError("metric", name, spelled.values())

    return resolve


def _same(catalogue: Catalogue, name: str, column: str) -> bool:
    one, other = catalogue.find(name), catalogue.find(column)
    return one is not None and other is not None and one.known_as == other.known_as


def _no_metric(frame: pd.DataFrame, id_column: str | None) -> str:
    rest = [column for column in frame.columns if column != id_column]
    described = [f"{column} ({_example(frame[column])})" for column in rest]
    return (
        "no column holds scores: expected at least one column of numbers. Columns: "
        f"{named(described, 8) if described else 'none but the ids'}. "
        "Name the metrics with metrics=[...]."
    )


def _example(column: pd.Series) -> str:
    present = column.dropna()
    return f"as {str(present.iloc[0])[:30]!r}" if len(present) else "empty"


# -- one column


def _sort_in(
    columns: Columns, column: str, cells: pd.Series, known: Metric | None, ids: pd.Series
) -> None:
    name = normalised(column)
    if name in TEXTS or name in _METADATA or _METADATA_PATTERN.search(name):
        columns.details.append(column)
    elif pd.api.types.is_numeric_dtype(cells.dtype):
        _sort_in_numbers(columns, column, cells, known)
    elif _looks_numeric(cells, known):
        columns.add_metric(name, _numeric_cells(cells, column, ids, columns.notes), known)
    else:
        columns.details.append(column)


def _sort_in_numbers(columns: Columns, column: str, cells: pd.Series, known: Metric | None) -> None:
    if known is None and bool(cells.isna().all()):
        columns.details.append(column)
        columns.notes.append(f"column {column!r} is empty and is kept among the details")
        return
    columns.add_metric(normalised(column), cells, known)


def _looks_numeric(cells: pd.Series, known: Metric | None) -> bool:
    """Whether a column of other cells is meant as numbers: by its name, or by most of them.

    Texts whose cells are mostly numbers are taken for a metric, so that the few that are not raise
    instead of taking the column out of the report without a word.
    """
    sample = cells.dropna()
    if not len(sample):
        return known is not None
    if not all(
        isinstance(cell, str | bool | int | float | np.number) for cell in sample.iloc[:100]
    ):
        return False
    if known is not None:
        return True
    numbers = sample.map(_number_in)
    scored = numbers.notna().sum()
    return bool(scored and scored >= 0.5 * len(sample))


def _number_in(cell: object) -> float | None:
    """The number a cell holds; NaN for the words that say "unscored"; None for anything else."""
    if isinstance(cell, str):
        word = cell.strip().lower()
        if word in _UNSCORED_WORDS:
            return math.nan
        if word in _WORDS:
            return _WORDS[word]
        if "_" in word:  # float() takes "1_000" for a thousand
            return None
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def _numeric_cells(cells: pd.Series, column: str, ids: pd.Series, notes: list[str]) -> pd.Series:
    if pd.api.types.is_numeric_dtype(cells.dtype):
        return cells
    numbers = [math.nan if _is_missing(cell) else _number_in(cell) for cell in cells]
    wrong = [row for row, number in enumerate(numbers) if number is None]
    if wrong:
        raise DataError(_not_a_number(cells, column, ids, wrong))
    _note_words(cells, column, notes)
    return pd.Series(numbers, dtype=np.float64)


def _is_missing(cell: object) -> bool:
    return cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell))


def _not_a_number(cells: pd.Series, column: str, ids: pd.Series, wrong: list[int]) -> str:
    shown = ", ".join(f"{str(cells.iloc[row])[:40]!r} at {ids.iloc[row]!r}" for row in wrong[:5])
    more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
    return (
        f"metric {column!r} must hold numbers; got {shown}{more}. Make them numbers, leave them "
        "empty where there is no score, or name the columns that are metrics: metrics=[...]"
    )


def _note_words(cells: pd.Series, column: str, notes: list[str]) -> None:
    words = [cell for cell in cells if isinstance(cell, str)]
    unscored = [word for word in words if word.strip().lower() in _UNSCORED_WORDS]
    if any(word.strip() for word in unscored):
        notes.append(
            f"{len(unscored)} cells of {column!r} say {named(sorted(set(unscored)))}: unscored"
        )


def numbers_of(cells: pd.Series) -> np.ndarray:
    """The cells as float64, NaN where there is none; no copy where they are float64 already."""
    return cells.to_numpy(dtype=np.float64, na_value=np.nan)
