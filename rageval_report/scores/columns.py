"""Which columns of a table are metrics, and what numbers their cells hold."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd

from rageval_report.errors import MOST_NAMED, DataError, UnknownNameError, named
from rageval_report.scores.cells import Cells, fraction_whole, read_cell, read_cells
from rageval_report.scores.metric import Catalogue, Metric, normalised
from rageval_report.scores.states import is_state_column, with_states
from rageval_report.scores.texts import TEXTS

# More columns of numbers than this are hardly metrics: the table is transposed, or holds vectors.
MOST_METRICS = 1000

# Numbers that say something of the query or of the run, not how good an answer was.
_METADATA = frozenset(
    "answerable attempt chunk_overlap chunk_size doc_id epoch fold index is_answerable k level_0 "
    "n_contexts num_contexts order page position prompt_idx repetition row row_id seed test_idx "
    "timestamp top_k turn year".split()
)
# Words at the end of a name that count the rows of a query, where a query has several.
_COUNTER = re.compile(r"(^|_)(epoch|iteration|repeat|repetition|run|trial)(_(no|nr|number))?$")
_METADATA_PATTERN = re.compile(r"^unnamed|_id$|_idx$|_index$")

# Words that are scores in a metric, and in a column that nobody knows say anything.
_AMBIGUOUS_WORDS = frozenset(("yes", "no"))
# Of how many parts a share like "4/5" is, where it is no date.
_WHOLES = frozenset((*range(1, 11), 100))

Unreadable = Literal["raise", "failed"]

# Whether a column of texts is meant as numbers is told from so many cells, evenly spaced.
_SAMPLE = 1000


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
    states : dict of str to list
        The columns that say why cells hold no number.
    scales : dict of str to (float, float)
        The range of the scale that the cells of a metric name.
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
        """Take a column as a metric, unless its name is taken."""
        name = normalised(label)
        if name in self.sources:
            raise DataError(
                f"two columns are spelled like the metric {name!r}, {self.sources[name].name!r} "
                f"and {label!r}; rename or drop one of them"
            )
        self.sources[name] = cells
        self.known[name] = known


def classified(
    frame: pd.DataFrame,
    ids: pd.Series,
    *,
    id_column: str | None,
    only: Collection[str] | None = None,
    also: Collection[str] = (),
    unreadable: Unreadable = "raise",
) -> Columns:
    """Part the columns into metrics and details.

    Parameters
    ----------
    frame : DataFrame
        The rows, their columns named by different texts.
    ids : Series of str
        The query ids, to say where a cell is wrong.
    id_column : str, optional
        The column that the ids came from; it is neither metric nor detail.
    only : collection of str, optional
        The metrics, where the caller names them all; otherwise names and cells decide.
    also : collection of str
        Metrics that the caller knows something about, and so are metrics.
    unreadable : {"raise", "failed"}
        What a metric's cell is that holds neither a score nor a word for none.

    Raises
    ------
    DataError
        If no column is a metric, more than a thousand are, or a metric's cell holds text.
    UnknownNameError
        If `only` or `also` names a column that is not there.
    """
    catalogue = Catalogue()
    labels = [label for label in frame.columns if label != id_column]
    if only is None:
        _check_count(frame)
    asked = _asked(frame, labels, also if only is None else only, catalogue)
    columns = Columns()
    door = _Door(columns, catalogue, ids, unreadable)
    for label in labels:
        if label in asked:
            door.take_metric(frame[label])
        elif only is None and not is_state_column(label, labels):
            door.sort_in(frame[label])
        else:
            columns.details.append(label)
    if not columns.sources:
        raise DataError(_no_metric(frame[labels]))
    return columns


def _asked(
    frame: pd.DataFrame, labels: list[str], names: Collection[str], catalogue: Catalogue
) -> set[str]:
    """The columns that are meant; an unknown name is met with those that may be metrics."""
    resolve = resolver(labels, catalogue)
    try:
        return {resolve(name) for name in names}
    except UnknownNameError as exc:
        likely = [
            label
            for label in labels
            if _may_be_metric(frame[label], catalogue) and not is_state_column(label, labels)
        ]
        near = get_close_matches(exc.name, labels, n=1)  # whatever it holds
        raise UnknownNameError("metric", exc.name, {*likely, *near} or labels) from None


def _may_be_metric(cells: pd.Series, catalogue: Catalogue) -> bool:
    label = str(cells.name)
    if _is_told_apart(normalised(label)):
        return False
    return _is_of_numbers(cells) or _looks_numeric(cells, catalogue.find(label))


def _is_told_apart(name: str) -> bool:
    """Whether a name is that of a text or of a number that is no score."""
    return name in TEXTS or name in _METADATA or bool(_METADATA_PATTERN.search(name))


def _check_count(frame: pd.DataFrame) -> None:
    n_numeric = sum(pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes)
    if n_numeric > MOST_METRICS:
        raise DataError(
            f"{n_numeric:,} columns hold numbers, where at most {MOST_METRICS:,} metrics are "
            "expected; is the table transposed, or does it hold vectors? Keep the columns that "
            "are metrics, or name them: metrics=[...]"
        )


def resolver(columns: Iterable[object], catalogue: Catalogue | None = None) -> Callable[[str], str]:
    """A function from any name of a metric to the column that holds it.

    Examples
    --------
    >>> resolver(["reciprocal_rank", "recall@5"])("MRR")
    'reciprocal_rank'
    """
    labels = [str(column) for column in columns]
    spelled = {normalised(label): label for label in reversed(labels)}

    def resolve(name: str) -> str:
        if name in labels:
            return name
        direct = spelled.get(normalised(name))
        return _alike(name, labels, catalogue or Catalogue()) if direct is None else direct

    return resolve


def _alike(name: str, labels: list[str], catalogue: Catalogue) -> str:
    """The one column that means the same metric."""
    meant = catalogue.find(name)
    alike = []
    if meant is not None:
        known = ((label, catalogue.find(label)) for label in labels)
        alike = [label for label, metric in known if metric and metric.known_as == meant.known_as]
    if len(alike) > 1:
        raise DataError(f"{name!r} may mean any of {named(alike)}; use one of these names")
    if not alike:
        raise UnknownNameError("metric", name, labels)
    return alike[0]


def _no_metric(frame: pd.DataFrame) -> str:
    shown = [f"{label!r} {_example(frame[label])}" for label in frame.columns[:8]]
    more = f" and {frame.shape[1] - 8} more" if frame.shape[1] > 8 else ""
    return (
        "no column holds scores: expected at least one column of numbers. Columns: "
        f"{', '.join(shown) + more if shown else 'none but the ids'}. If these are records, as "
        "questions, answers and documents, make scores of them: score(read_records(path), metrics)."
        " If a column holds scores, name it with metrics=[...]"
    )


def _example(column: pd.Series) -> str:
    present = column.dropna()
    return f"(as {str(present.iloc[0])[:30]!r})" if len(present) else "(empty)"


# -- one column


@dataclass(frozen=True)
class _Door:
    """Where columns come in, one by one, and are told apart."""

    columns: Columns
    catalogue: Catalogue
    ids: pd.Series
    unreadable: Unreadable

    def sort_in(self, cells: pd.Series) -> None:
        """Take a column for a metric or a detail, by its name and its cells."""
        label = str(cells.name)
        name = normalised(label)
        if _is_told_apart(name) or self._counts(label):
            self.columns.details.append(label)
        elif _is_of_numbers(cells):
            _sort_in_numbers(self.columns, cells, self.catalogue.search(label))
        elif _looks_numeric(cells, self.catalogue.find(label)):
            self.take_metric(cells)
        else:
            self.columns.details.append(label)

    def _counts(self, label: str) -> bool:
        """Whether a column counts the rows of a query, by its name and as ids are repeated."""
        return (
            bool(_COUNTER.search(normalised(label)))
            and self.catalogue.find(label) is None
            and not self.ids.is_unique
        )

    def take_metric(self, cells: pd.Series) -> None:
        """Read a column's cells as scores."""
        label = str(cells.name)
        known = self.catalogue.search(label)
        if _is_of_numbers(cells):
            self.columns.add_metric(label, cells, known)
            return
        read = read_cells(cells.tolist())
        if read.unread and self.unreadable == "raise":
            raise DataError(_not_a_number(cells, self.ids, read.unread))
        self.columns.add_metric(label, pd.Series(read.numbers, name=label), known)
        self.columns.states |= with_states(label, read.states, read.reasons)
        if read.scale is not None:
            self.columns.scales[normalised(label)] = read.scale
        if any(isinstance(cell, str) and cell.rstrip().endswith("%") for cell in cells):
            self.columns.shares.add(normalised(label))
        self.columns.notes += _notes_of(cells, read, self.ids)


def _is_of_numbers(cells: pd.Series) -> bool:
    dtype = cells.dtype
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype)


def _sort_in_numbers(columns: Columns, cells: pd.Series, known: Metric | None) -> None:
    if known is None and bool(cells.isna().all()):
        columns.details.append(str(cells.name))
        columns.notes.append(f"column {cells.name!r} is empty and is kept among the details")
        return
    columns.add_metric(str(cells.name), cells, known)


def _looks_numeric(cells: pd.Series, known: Metric | None) -> bool:
    """Whether a column that is not of numbers is meant as one: many cells are, or its name says so.

    Texts of which half are numbers are taken for a metric, so that those that are not raise instead
    of taking the column out of the report without a word.
    """
    present = cells.dropna()
    if not len(present):
        return known is not None
    sample = present.iloc[:: math.ceil(len(present) / _SAMPLE)]
    if not all(isinstance(cell, str | Real | Decimal | np.bool_) for cell in sample):
        return False
    if known is not None:
        return True
    n_numbers, n_texts = _tally(sample)
    if n_numbers == n_texts == 0:  # all of these failed: look at every cell
        n_numbers, n_texts = _tally(present)
    return n_numbers > 0 and n_numbers >= n_texts


def _tally(cells: pd.Series) -> tuple[int, int]:
    """How many cells hold numbers, and how many hold anything but numbers and "unscored"."""
    wholes = {fraction_whole(cell) for cell in cells if isinstance(cell, str)} - {None}
    may_be_shares = len(wholes) == 1 and wholes <= _WHOLES
    numbers = [_number_in(cell, may_be_share=may_be_shares) for cell in cells]
    n_texts = sum(number is None for number in numbers)
    return sum(number is not None and not math.isnan(number) for number in numbers), n_texts


def _number_in(cell: object, *, may_be_share: bool) -> float | None:
    """The number a cell holds; NaN where it says "unscored"; None for anything else."""
    read = read_cell(cell)
    if not read.is_read:
        return None
    if isinstance(cell, str) and not may_be_share and fraction_whole(cell) is not None:
        return None
    is_ambiguous = isinstance(cell, str) and cell.strip().lower() in _AMBIGUOUS_WORDS
    return None if is_ambiguous else read.number


def _not_a_number(cells: pd.Series, ids: pd.Series, wrong: list[int]) -> str:
    return (
        f"metric {cells.name!r} must hold numbers; got {_shown(cells, ids, wrong)}. Make them "
        "numbers, leave them empty where there is no score, or name the columns that are metrics: "
        "metrics=[...]"
    )


def _shown(cells: pd.Series, ids: pd.Series, wrong: list[int]) -> str:
    first = wrong[:MOST_NAMED]
    shown = ", ".join(f"{str(cells.iloc[row])[:40]!r} at {ids.iloc[row]!r}" for row in first)
    return f"{shown} and {len(wrong) - len(first)} more" if len(wrong) > len(first) else shown


def _notes_of(cells: pd.Series, read: Cells, ids: pd.Series) -> list[str]:
    """What was made of words, and which cells were neither scores nor words for none."""
    notes = []
    unread = set(read.unread)
    words = [
        cell.strip()
        for place, cell in enumerate(cells.tolist())
        if isinstance(cell, str)
        and cell.strip()
        and math.isnan(read.numbers[place])
        and place not in unread
    ]
    if words:
        told = named(sorted(set(words)))
        notes.append(f"{len(words)} cells of {cells.name!r} say {told}: unscored")
    if read.words.keys() - {"true", "false"}:
        told = ", ".join(f"{word!r} as {number:g}" for word, number in sorted(read.words.items()))
        notes.append(f"{cells.name!r}: {told}")
    if read.unread:
        notes.append(
            f"{len(unread)} cells of {cells.name!r} hold no score and count as failed: "
            f"{_shown(cells, ids, read.unread)}"
        )
    return notes


def numbers_of(cells: pd.Series) -> np.ndarray:
    """The cells as float64, NaN where there is none; no copy where they are float64 already.

    Examples
    --------
    >>> numbers_of(pd.Series([1, None], dtype="Int64"))
    array([ 1., nan])
    """
    if isinstance(cells.dtype, np.dtype):
        return cells.to_numpy(dtype=np.float64)
    return cells.to_numpy(dtype=np.float64, na_value=np.nan)
