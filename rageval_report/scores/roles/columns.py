"""Decides what each column of a table is, and reads the numbers in the cells of the metrics."""

from __future__ import annotations

import math
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
from rageval_report.scores.column_scale import CellColumn, ScoreRange
from rageval_report.scores.dates import date_in_numbers, is_date
from rageval_report.scores.metric import Catalogue, Metric, normalise_name
from rageval_report.scores.numerals import names_a_time
from rageval_report.scores.query_ids import NoScoresError
from rageval_report.scores.roles.column_role import ColumnRole, Confidence, Role, Roles
from rageval_report.scores.roles.similar_names import similar_names_notes
from rageval_report.scores.roles.usual_names import (
    TEXT_MEANING,
    is_blank_name,
    is_counter_name,
    is_weight_name,
    meaning_of,
    meaning_of_numbers,
)
from rageval_report.scores.states import state_column_kind, state_columns

# A table with more columns of numbers than this is probably transposed, or holds vectors.
MOST_METRICS = 1000

# Why a column has its role, if somebody says so.
STATED = "roles= says so"
NAMED = "metrics= names it"
DESCRIBED = "it is described as a metric"
IN_FORMAT = "the format of the file says so"
_LISTED = (STATED, NAMED, DESCRIBED, IN_FORMAT)

Unreadable = Literal["raise", "failed"]

# The number of cells, evenly spaced, that decide whether a column of texts holds numbers.
_SAMPLE = 1000


@dataclass
class ColumnRoles:
    """The columns of a table, divided into metrics and details, with the reason for each.

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
    decided : list of ColumnRole
        What each column is and why, in the order of the table.
    renamed : dict of str to str
        The details that get another name, because they belong to a metric.
    """

    sources: dict[str, pd.Series] = field(default_factory=dict)
    known: dict[str, Metric | None] = field(default_factory=dict)
    details: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    states: dict[str, list[Any]] = field(default_factory=dict)
    scales: dict[str, tuple[float, float]] = field(default_factory=dict)
    shares: set[str] = field(default_factory=set)
    decided: list[ColumnRole] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)

    def add_detail(
        self, label: str, why: str, *, role: Role = "detail", confidence: Confidence = "certain"
    ) -> None:
        """Add a column that is not a metric."""
        self.details.append(label)
        self.decided.append(ColumnRole(label, role, confidence, why))

    def add_metric(
        self, label: str, cells: pd.Series, known: Metric | None, why: str | None = None
    ) -> None:
        """Add a column as a metric; without a reason `why`, its name or its cells are the reason.

        Raises
        ------
        DataError
            If its name is blank, or another column has the same normalised name.
        """
        name = normalise_name(label)
        if not name:
            raise DataError(
                f"column {label!r} has no name that a metric can have; rename it, or leave it a "
                "detail"
            )
        if name in self.sources:
            raise DataError(
                f"columns {self.sources[name].name!r} and {label!r} are both the metric {name!r}; "
                "rename or drop one of them"
            )
        self.sources[name] = cells
        self.known[name] = known
        self.decided.append(_metric_role(label, known, why))

    def is_in_family(self, name: str) -> bool:
        """Whether the tests of a metric count in a correction: if it is known, or requested.

        Tokens and the like count only if the caller names them, whatever the format of the file
        lists.
        """
        known = self.known[name]
        if known is not None and not known.in_family:
            return name in self.listed_by_caller
        return known is not None or name in self.listed

    @property
    def listed_by_caller(self) -> set[str]:
        """The metrics that the caller names, by normalised name."""
        return self._metrics_because(STATED, NAMED)

    @property
    def listed(self) -> set[str]:
        """The metrics that the caller or the format names, by normalised name."""
        return self._metrics_because(*_LISTED)

    def _metrics_because(self, *reasons: str) -> set[str]:
        return {
            normalise_name(role.column)
            for role in self.decided
            if role.role == "metric" and role.why in reasons
        }


def _metric_role(label: str, known: Metric | None, why: str | None) -> ColumnRole:
    if why is not None:
        return ColumnRole(label, "metric", "certain", why)
    if known is not None:
        return ColumnRole(label, "metric", "certain", f"the known metric {known.title!r}")
    return ColumnRole(label, "metric", "likely", "it holds numbers, and its name is not known")


def assign_roles(
    frame: pd.DataFrame,
    ids: pd.Series,
    *,
    id_column: str | None,
    only: Collection[str] | None = None,
    also: Collection[str] = (),
    bounds: Mapping[str, ScoreRange] | None = None,
    roles: Roles | None = None,
    pipeline_columns: Collection[str] = (),
    pipeline_confidence: Confidence = "certain",
    unreadable: Unreadable = "raise",
    by_caller: bool = True,
) -> ColumnRoles:
    """Decide what each column is: a metric, a detail, a state or reason, pipelines, or weights.

    Parameters
    ----------
    frame : DataFrame
        The rows; the column names are unique strings.
    ids : Series of str
        The query ids, for error messages.
    id_column : str, optional
        The column that the ids came from; it is neither a metric nor a detail.
    only : collection of str, optional
        All metrics, if the caller or the format lists them; if omitted, names and cells decide.
    also : collection of str
        Columns that are metrics because the caller or the file describes them.
    bounds : mapping of str to (float, float), optional
        The bounds that the caller or the file states, by normalised name.
    roles : mapping of str to str, optional
        The roles that the caller states, by column; they win over everything else.
    pipeline_columns : collection of str
        The columns that named the pipelines of the file.
    pipeline_confidence : {"certain", "likely", "doubtful"}
        How sure it is that these columns name pipelines.
    unreadable : {"raise", "failed"}
        What becomes of a metric's cell that holds neither a score nor a word for "unscored": an
        error, or a failed score.
    by_caller : bool
        Whether the caller lists the metrics in `only`; otherwise the format of the file does.

    Raises
    ------
    DataError
        If no column is a metric, more than a thousand are, a cell of a metric holds text, or two
        columns whose names differ only in case or white space may both hold the ids.
    UnknownNameError
        If `only` or `also` names a column that does not exist.
    """
    catalogue = Catalogue()
    stated = dict(roles or {})
    labels = [label for label in frame.columns if label != id_column]
    if only is None:
        _check_count(frame)
    listed = _find_columns(frame, labels, also if only is None else only, catalogue)
    columns = ColumnRoles()
    sorter = _ColumnSorter(columns, catalogue, ids, unreadable, bounds or {})
    for label in labels:
        if label in pipeline_columns:
            why = "it names the pipeline of each row"
            columns.add_detail(label, why, role="pipeline", confidence=pipeline_confidence)
        elif label in stated:
            sorter.add_stated(frame[label], stated[label])
        elif label in listed:
            sorter.add_metric(frame[label], _reason_of_list(only, by_caller=by_caller))
        elif (kind := state_column_kind(label, labels)) is not None:
            columns.add_detail(
                label, f"it belongs to another column, by its name: {kind}s", role=kind
            )
        elif only is None:
            sorter.add_column(frame[label])
        else:
            columns.add_detail(label, "it is not in the list of metrics")
    if not columns.sources:
        raise NoScoresError(_no_metric_message(frame[labels]))
    columns.notes += similar_names_notes(frame, id_column, {*stated, *listed})
    return columns


def attach_states(columns: ColumnRoles) -> None:
    """Give the columns that the caller calls states or reasons the names of their metrics.

    Raises
    ------
    DataError
        If it is not clear to which metric one belongs.
    """
    for role in columns.decided:
        if role.why != STATED or role.role not in ("state", "reason"):
            continue
        spelled = normalise_name(role.column)
        names = list(columns.sources)
        owners = names if len(names) == 1 else [n for n in names if spelled.startswith(f"{n}_")]
        if not owners:
            raise DataError(
                f"roles: column {role.column!r} is a {role.role}, but of which metric is not "
                f"clear; rename it to '<metric>_{role.role}', with one of {named(names)}"
            )
        # The longest name: "recall@5_note" belongs to "recall@5", not to "recall".
        columns.renamed[role.column] = f"{max(owners, key=len)}_{role.role}"


def _reason_of_list(only: Collection[str] | None, *, by_caller: bool) -> str:
    if only is None:
        return DESCRIBED
    return NAMED if by_caller else IN_FORMAT


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
            if may_be_metric(frame[label], catalogue) and state_column_kind(label, labels) is None
        ]
        near = get_close_matches(exc.name, labels, n=1)  # even if it does not look like a metric
        raise UnknownNameError("metric", exc.name, {*likely, *near} or labels) from None


def may_be_metric(cells: pd.Series, catalogue: Catalogue) -> bool:
    """Whether a column may be a metric, by its name and its cells.

    Examples
    --------
    >>> catalogue = Catalogue()
    >>> [may_be_metric(pd.Series([3, 4], name=name), catalogue) for name in ("recall", "n_found")]
    [True, False]
    """
    label = str(cells.name)
    if catalogue.find(label) is None and meaning_of(label) is not None:
        return False
    return _has_numeric_type(cells) or _looks_numeric(cells, catalogue.find(label))


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

    def add_stated(self, cells: pd.Series, role: Role) -> None:
        """Add a column with the role that the caller states."""
        if role == "metric":
            self.add_metric(cells, STATED)
        else:
            self.columns.add_detail(str(cells.name), STATED, role=role)

    def add_column(self, cells: pd.Series) -> None:
        """Add a column as a metric or as a detail, depending on its name and its cells."""
        label = str(cells.name)
        add_detail = self.columns.add_detail
        if is_blank_name(label):
            self._add_nameless(cells)
            return
        is_number = _has_numeric_type(cells)
        meaning = meaning_of(label)
        if meaning == TEXT_MEANING:
            add_detail(label, "a usual name of a column of texts")
        elif self.catalogue.find(label) is None and is_weight_name(label) and is_number:
            add_detail(label, "its name says weights", role="weight", confidence="likely")
        elif self.catalogue.find(label) is None and meaning is not None:
            add_detail(label, f"its name says {meaning}", confidence="likely")
        elif self._numbers_repeats(label):
            add_detail(label, "it numbers the repeated rows of a query", confidence="likely")
        elif is_number:
            self._add_numbers(cells)
        elif _looks_numeric(cells, self.catalogue.find(label)):
            self.add_metric(cells)
        else:
            add_detail(label, "it does not hold numbers")
            if self.catalogue.find(label) is not None:
                self.columns.notes.append(
                    f"column {label!r} has the name of a metric, but holds dates, lists or "
                    f"objects such as {_example(cells)[9:-1]}, and becomes a detail"
                )

    def _add_nameless(self, cells: pd.Series) -> None:
        label = str(cells.name)
        self.columns.add_detail(
            label, "it has no name, as the index of a table", confidence="likely"
        )
        self.columns.notes.append(
            f"column {label!r} {_example(cells)} has no name, so it is taken for an index and is a "
            "detail; if it is a metric, give it a name"
        )

    def _add_numbers(self, cells: pd.Series) -> None:
        label = str(cells.name)
        known = self.catalogue.search(label)
        if known is not None:
            self.columns.add_metric(label, cells, known)
            return
        # Without a number and without a known name nothing shows that it is a metric.
        if bool(cells.iloc[:1].isna().all() and cells.isna().all()):
            self.columns.add_detail(label, "it is empty", confidence="likely")
            self.columns.notes.append(f"column {label!r} is empty and becomes a detail")
            return
        date = date_in_numbers(label, numbers_of(cells))
        if date is not None:
            meaning: str | None = f"dates, such as {cells.dropna().iloc[0]} for {date}"
        else:
            meaning = meaning_of_numbers(cells)
        if meaning is None:
            self.columns.add_metric(label, cells, None)
            return
        self.columns.add_detail(label, f"its cells are {meaning}", confidence="likely")
        self.columns.notes.append(
            f"column {label!r} becomes a detail, because its cells are {meaning}. If it is a "
            f"metric, pass roles={{{label!r}: 'metric'}}"
        )

    def _numbers_repeats(self, label: str) -> bool:
        """Whether a column numbers the repeated rows of a query: by its name, if ids repeat."""
        return (
            is_counter_name(label)
            and self.catalogue.find(label) is None
            # A column "run" of a table without repeated ids may well be a metric. The ids are asked
            # last, because hashing a large table's ids takes time and memory.
            and not self.ids.is_unique
        )

    def add_metric(self, cells: pd.Series, why: str | None = None) -> None:
        """Add a column as a metric, with its cells read as scores."""
        label = str(cells.name)
        known = self.catalogue.search(label)
        if _has_numeric_type(cells):
            self.columns.add_metric(label, cells, known, why)
            return
        stated = self.bounds.get(normalise_name(label))
        catalogued = None if known is None else known.bounds
        column = CellColumn(label, self.ids.tolist(), stated, catalogued)
        values = cells.tolist()
        parsed = read_cells(values, column)
        check_parsed(parsed, values, column)
        if parsed.unread and self.unreadable == "raise":
            raise DataError(_not_numbers_message(cells, self.ids, parsed.unread))
        self.columns.add_metric(label, pd.Series(parsed.numbers, name=label), known, why)
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
