"""Decides what each column of a table is and why, and reads the numbers in the cells of metrics.

Names are asked first, cells after them; what the caller or the format of the file says outweighs
both.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from rageval_report.errors import (
    MOST_NAMED,
    ArgumentKindError,
    DataError,
    UnknownNameError,
    check_choice,
    describe_kind,
    named,
)
from rageval_report.scores.cells import (
    CellColumn,
    ParsedCells,
    ScoreRange,
    count_numbers,
    is_single_number,
    read_cells,
)
from rageval_report.scores.guard import Doubt
from rageval_report.scores.metric import WORDS, Catalogue, Metric, extremes_of, normalise_name
from rageval_report.scores.numerals import names_a_duration
from rageval_report.scores.query_ids import TEXTS, NoScoresError, cluster_noun, is_counter_name
from rageval_report.scores.states import state_column_kind, state_columns
from rageval_report.types import FloatArray

Role = Literal["id", "pipeline", "metric", "detail", "state", "reason", "weight"]
ROLES: tuple[Role, ...] = get_args(Role)
# States and reasons have the name of their metric, which a role would not say.
_STATABLE = tuple(role for role in ROLES if role not in ("state", "reason"))
Confidence = Literal["certain", "likely", "doubtful"]
Unreadable = Literal["raise", "failed"]

# The roles that a caller states, by column.
Roles = Mapping[str, Role]

# Why a column has its role, if somebody says so.
STATED = "roles= says so"
NAMED = "metrics= names it"
DESCRIBED = "it is described as a metric"
IN_FORMAT = "the format of the file says so"

# The number of cells, evenly spaced, that decide whether a column of texts holds numbers.
_SAMPLE = 1000
# Columns of fewer rows say too little: three grades may be 1, 2 and 3 by chance.
_FEWEST_ROWS = 10
# Seconds since 1970 reach this number in 2001; no usual score, length or cost does.
_EPOCH_SECONDS = 1e9
# Dates without separators, such as 20251103.
_FIRST_DATE, _LAST_DATE = 19_000_101, 21_000_000


@dataclass(frozen=True, slots=True)
class ColumnRole:
    """What a column of a table is, and why.

    "certain" if the caller, the format or a known name says so; "likely" if the name or the cells
    suggest it; "doubtful" if another reading is as good.
    """

    column: str
    role: Role
    confidence: Confidence
    why: str  # to be read after a colon


def check_roles(roles: Roles | None, columns: Iterable[str]) -> dict[str, Role]:
    """The roles that the caller states, each of a column of the table.

    Examples
    --------
    >>> check_roles({"model": "pipeline"}, ["model", "recall"])
    {'model': 'pipeline'}
    """
    if roles is None:
        return {}
    if not isinstance(roles, Mapping):
        raise DataError(
            "roles must be a mapping of columns to roles, such as {'model': 'pipeline'}; got "
            f"{roles!r}"
        )
    present = list(columns)
    for column, role in roles.items():
        if column not in present:
            raise UnknownNameError("column", str(column), present)
        check_choice(f"roles: the role of {column!r}", role, _STATABLE)
    ids = columns_with_role(roles, "id")
    if len(ids) > 1:
        raise DataError(
            f"roles: one column holds the query ids; got {ids[0]!r} and {ids[1]!r} as 'id'"
        )
    return dict(roles)


def columns_with_role(roles: Roles | None, role: Role) -> list[str]:
    """The columns that the caller gives a role."""
    return [column for column, stated in (roles or {}).items() if stated == role]


def count_roles(roles: Iterable[ColumnRole]) -> str:
    """How many columns became what, in one sentence; empty without columns.

    Examples
    --------
    >>> count_roles([
    ...     ColumnRole("qid", "id", "certain", "its name"),
    ...     ColumnRole("recall", "metric", "certain", "a known metric"),
    ...     ColumnRole("my_score", "metric", "likely", "it holds numbers"),
    ... ])
    "3 columns: 1 id, 2 metrics ('my_score' by its cells only)"
    """
    listed = list(roles)
    if not listed:
        return ""
    counts = Counter(role.role for role in listed)
    guessed = [r.column for r in listed if r.role == "metric" and r.confidence != "certain"]
    parts = [f"{n} {role}{'s' if n > 1 else ''}" for role in ROLES if (n := counts[role])]
    if guessed:
        whose = "its" if len(guessed) == 1 else "their"
        guesses = f" ({named(guessed)} by {whose} cells only)"
        parts = [part + guesses if " metric" in part else part for part in parts]
    noun = "column" if len(listed) == 1 else "columns"
    return f"{len(listed)} {noun}: {', '.join(parts)}"


def roles_frame(roles: Iterable[ColumnRole]) -> pd.DataFrame:
    """The roles as a table: column, role, confidence, why."""
    return pd.DataFrame(
        [(role.column, role.role, role.confidence, role.why) for role in roles],
        columns=["column", "role", "confidence", "why"],
    )


# -- what names and cells say

TEXT_MEANING = "texts"

# Words of the names of metrics.
_METRIC_WORDS = re.compile(
    r"(?i)score|rate|accura|qualit|relevan|correct|faithful|ground|complete|fluen|coheren|precision"
    r"|recall|similar|tox|bias|halluc|safe|clar|concise|tone|style|match|help|metric|judge|eval"
)
_MEANINGS = {meaning: "".join(lines.split()) for meaning, lines in WORDS["meanings"].items()}


def meaning_of(column: str) -> str | None:
    """What a column with this name holds if it is not a known metric, and not a score.

    Examples
    --------
    >>> [meaning_of(name) for name in ("gold_rank", "n_retrieved", "page_no", "my_quality")]
    ['a rank or a position', 'a count', 'a number of a part', None]
    """
    name = normalise_name(column)
    if name in TEXTS:
        return TEXT_MEANING
    if cluster_noun(column) is not None:
        return "groups of queries"
    # The module re keeps what it compiled; compiled on import, these would slow every script.
    return next((meaning for meaning, form in _MEANINGS.items() if re.search(form, name)), None)


def _meaning_of_numbers(cells: pd.Series) -> str | None:
    """What the cells of a column of numbers are, if they can hardly be scores."""
    # A few cells rule out nearly every column of scores, without a copy of the whole column.
    first = cells.iloc[:_SAMPLE].dropna().to_numpy(dtype=np.float64)
    if not len(first) or (first.min() < _EPOCH_SECONDS and len(np.unique(first)) < len(first)):
        return None
    low, high = extremes_of(numbers_of(cells))
    if low >= _EPOCH_SECONDS and high < math.inf:
        return "times or other numbers above a billion"
    if pd.api.types.is_bool_dtype(cells.dtype) or not (first == np.round(first)).all():
        return None
    if low >= _FIRST_DATE and high < _LAST_DATE:
        return "dates"
    are_counted = low in (0.0, 1.0) and high - low == len(cells) - 1 and cells.is_unique
    return "row numbers" if are_counted and len(first) >= _FEWEST_ROWS else None


def may_be_metric(cells: pd.Series, catalogue: Catalogue) -> bool:
    """Whether a column may be a metric, by its name and its cells."""
    known = catalogue.find(str(cells.name))
    if known is None and meaning_of(str(cells.name)) is not None:
        return False
    return _has_numeric_type(cells) or _looks_numeric(cells, known)


def _has_numeric_type(cells: pd.Series) -> bool:
    dtype = cells.dtype
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype)


def _looks_numeric(cells: pd.Series, known: Metric | None) -> bool:
    """Whether a column of another type holds scores, by its cells or its name."""
    present = cells.dropna()
    if not len(present):
        return known is not None
    # Evenly spaced, because files are often sorted.
    sample = present.iloc[:: math.ceil(len(present) / _SAMPLE)]
    are_durations = names_a_duration(str(cells.name))
    n_numbers, n_texts = count_numbers(sample, are_durations=are_durations)
    if known is not None:
        # Objects and lists do not make a column of a known name a metric.
        return n_numbers > 0 or any(
            isinstance(cell, str | timedelta) or is_single_number(cell) for cell in sample
        )
    if n_numbers == n_texts == 0:  # every cell of the sample failed: look at all cells
        n_numbers, n_texts = count_numbers(present, are_durations=are_durations)
    return n_numbers > 0 and n_numbers >= n_texts


def numbers_of(cells: pd.Series) -> FloatArray:
    """The cells as float64, NaN if empty; float64 cells are not copied."""
    if isinstance(cells.dtype, np.dtype):
        return cells.to_numpy(dtype=np.float64)
    return cells.to_numpy(dtype=np.float64, na_value=np.nan)


class _Decision(NamedTuple):
    """What a column is of which nobody said it, why, how sure that is, and a note."""

    role: Role
    why: str
    confidence: Confidence = "likely"
    note: str = ""


def _decide(cells: pd.Series, ids: pd.Series, catalogue: Catalogue) -> _Decision:
    """What a column is, by its name first and its cells after it."""
    label, is_number = str(cells.name), _has_numeric_type(cells)
    known, meaning = catalogue.find(label), meaning_of(label)
    if not normalise_name(label):
        return _Decision("detail", "it has no name")
    if meaning == TEXT_MEANING:
        return _Decision("detail", "a usual name of a column of texts", "certain")
    if known is None and meaning is not None:
        is_weight = meaning == "weights" and is_number
        return _Decision("weight" if is_weight else "detail", f"its name says {meaning}")
    # A column "run" of a table without repeated ids may well be a metric. The ids are asked
    # last, because hashing a large table's ids takes time and memory.
    if known is None and is_counter_name(label) and not ids.is_unique:
        return _Decision("detail", "it numbers the repeated rows of a query")
    if not is_number and not _looks_numeric(cells, known):
        note = f"column {label!r} has the name of a metric, but holds {_example(cells)}"
        return _Decision("detail", "it does not hold numbers", "certain", note if known else "")
    if known is None and is_number and catalogue.search(label) is None:
        # Without a number and without a known name nothing shows that it is a metric.
        if bool(cells.iloc[:1].isna().all() and cells.isna().all()):
            return _Decision("detail", "it is empty", note=f"column {label!r} is empty")
        meaning = _meaning_of_numbers(cells)
        if meaning is not None:
            note = (
                f"column {label!r} becomes a detail, because its cells are {meaning}. If it is a "
                f"metric, pass roles={{{label!r}: 'metric'}}"
            )
            return _Decision("detail", f"its cells are {meaning}", note=note)
    return _Decision("metric", "")


# -- all columns


@dataclass(frozen=True)
class MetricColumn:
    """A column that is a metric, with what its cells say besides the numbers."""

    cells: pd.Series  # numbers, named as in the table
    known: Metric | None  # the entry in the catalogue
    why: str = ""  # somebody says so; empty if nobody does
    are_shares: bool = False  # whether percent were read as shares of 1
    words: frozenset[str] = frozenset()  # that were read as scores
    are_objects: bool = False

    @property
    def is_listed(self) -> bool:
        """Whether the caller names it as a metric."""
        return self.why in (STATED, NAMED)

    @property
    def is_in_family(self) -> bool:
        """Whether its tests count in a correction: if it is known, or requested.

        Tokens and the like count only if the caller names them, whatever the format of the file
        lists.
        """
        is_known = self.why != "" if self.known is None else self.known.in_family
        return is_known or self.is_listed


@dataclass
class DividedColumns:
    """The columns of a table, divided into metrics and details, with the reason for each."""

    metrics: dict[str, MetricColumn] = field(default_factory=dict)  # by normalised name
    details: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # the guesses that were made
    states: dict[str, list[Any]] = field(default_factory=dict)  # why cells hold no number
    decided: list[ColumnRole] = field(default_factory=list)  # in the order of the table

    def add_detail(
        self, label: str, why: str, *, role: Role = "detail", confidence: Confidence = "certain"
    ) -> None:
        """Add a column that is not a metric."""
        self.details.append(label)
        self.decided.append(ColumnRole(label, role, confidence, why))

    def add_metric(self, column: MetricColumn) -> None:
        """Add a column as a metric; without a reason, its name or its cells are the reason."""
        label = str(column.cells.name)
        name = normalise_name(label)
        if not name:
            raise DataError(
                f"column {label!r} has no name that a metric can have; rename it, or leave it a "
                "detail"
            )
        if name in self.metrics:
            raise DataError(
                f"columns {self.metrics[name].cells.name!r} and {label!r} are both the metric "
                f"{name!r}; rename or drop one of them"
            )
        known = column.known and f"the known metric {column.known.title!r}"
        why = column.why or known or "it holds numbers, and its name is not known"
        confidence: Confidence = "certain" if column.why or known else "likely"
        self.decided.append(ColumnRole(label, "metric", confidence, why))
        self.metrics[name] = column


@dataclass(frozen=True)
class ColumnFacts:
    """What is said about the columns of a table before their names and cells are asked."""

    listed: Mapping[str, str]  # the metrics that somebody names or describes, and who does
    is_closed: bool = False  # whether all other columns are details
    bounds: Mapping[str, ScoreRange] = field(default_factory=dict)  # by normalised name
    roles: Roles = field(default_factory=dict)
    pipeline_columns: Collection[str] = ()
    pipeline_confidence: Confidence = "certain"
    unreadable: Unreadable = "raise"


def assign_roles(frame: pd.DataFrame, ids: pd.Series, facts: ColumnFacts) -> DividedColumns:
    """Decide what each column is: a metric, a detail, a state or reason, pipelines, or weights.

    Raises
    ------
    DataError
        If no column is a metric, or a cell of a metric holds text.
    UnknownNameError
        If a metric is named that does not exist.
    """
    roles, columns, catalogue = facts.roles, DividedColumns(), Catalogue()
    labels = list(frame.columns)
    resolve = resolver(labels, catalogue)
    listed = {resolve(name): why for name, why in facts.listed.items()}
    for label in labels:
        kind = state_column_kind(label, labels)
        if label in facts.pipeline_columns:
            why, confidence = "it names the pipeline of each row", facts.pipeline_confidence
            columns.add_detail(label, why, role="pipeline", confidence=confidence)
        elif roles.get(label) == "metric" or (label not in roles and label in listed):
            why = STATED if label in roles else listed[label]
            _read_metric(columns, frame[label], ids, facts, catalogue.search(label), why)
        elif label in roles:
            columns.add_detail(label, STATED, role=roles[label])
        elif kind is not None:
            why = f"it belongs to another column, by its name: {kind}s"
            columns.add_detail(label, why, role=kind)
        elif facts.is_closed:
            columns.add_detail(label, "it is not in the list of metrics")
        else:
            decision = _decide(frame[label], ids, catalogue)
            columns.notes += [decision.note] if decision.note else []
            if decision.role == "metric":
                _read_metric(columns, frame[label], ids, facts, catalogue.search(label))
            else:
                columns.add_detail(
                    label, decision.why, role=decision.role, confidence=decision.confidence
                )
    if not columns.metrics:
        raise NoScoresError(_no_metric_message(frame))
    if not facts.is_closed and not listed:
        columns.notes += _doubts_on_objects(columns)
    return columns


def _doubts_on_objects(columns: DividedColumns) -> list[str]:
    """A doubt if all metrics are objects with a score, and no name is one of a metric."""
    metrics = columns.metrics.values()
    names = [str(metric.cells.name) for metric in metrics]
    are_unknown = not any(metric.known or not metric.are_objects for metric in metrics)
    if len(names) < 2 or not are_unknown or any(map(_METRIC_WORDS.search, names)):
        return []
    return [Doubt.of("columns_of_pipelines", listed=named(names), first=names[:2]).note]


def _read_metric(
    columns: DividedColumns,
    cells: pd.Series,
    ids: pd.Series,
    facts: ColumnFacts,
    known: Metric | None,
    why: str = "",
) -> None:
    """Add a column as a metric, with its cells read as scores."""
    label = str(cells.name)
    if _has_numeric_type(cells):
        columns.add_metric(MetricColumn(cells, known, why))
        return
    stated = facts.bounds.get(normalise_name(label))
    column = CellColumn(label, ids.tolist(), stated, known.bounds if known else None)
    values = cells.tolist()
    parsed = read_cells(values, column)
    unread = column.list_texts({row: str(values[row]) for row in parsed.unread})
    is_text = bool(parsed.unread) and normalise_name(label) in TEXTS
    if is_text or (parsed.unread and facts.unreadable == "raise"):
        raise DataError(
            f"metric {label!r} must hold numbers; got {unread}. Make them numbers, leave them "
            "empty if there is no score, or name the columns that are metrics: metrics=[...]"
        )
    read = MetricColumn(
        *(pd.Series(parsed.numbers, name=label), known, why, parsed.are_shares),
        words=frozenset(parsed.words),
        are_objects=any(isinstance(value, Mapping) for value in values),
    )
    columns.add_metric(read)
    columns.states |= state_columns(label, parsed.states, parsed.reasons)
    if parsed.other_fields:
        columns.states[f"{label}_details"] = list(parsed.other_fields)
    columns.notes += parsed.notes
    columns.notes += _notes_on_words(label, values, parsed)
    if parsed.unread:
        columns.notes.append(
            f"{len(parsed.unread)} cells of {label!r} hold no score and count as failed: {unread}"
        )


def _notes_on_words(label: str, cells: list[Any], parsed: ParsedCells) -> Iterator[str]:
    """Notes on words that mean "unscored", and on words that were read as scores."""
    unread = set(parsed.unread)
    unscored = [row for row in np.flatnonzero(np.isnan(parsed.numbers)) if row not in unread]
    texts = [cells[row].strip() for row in unscored if isinstance(cells[row], str)]
    words = [text for text in texts if text]
    if words:
        quoted = named(sorted(set(words)), MOST_NAMED)
        yield f"{len(words)} cells of {label!r} say {quoted}: unscored"
    if parsed.words.keys() - {"true", "false"}:
        pairs = sorted(parsed.words.items())
        values = ", ".join(f"{word!r} is read as {number:g}" for word, number in pairs)
        yield f"{label!r}: {values}"


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
        if not isinstance(name, str):
            raise ArgumentKindError(f"expected the name of a metric; got {describe_kind(name)}")
        label = name if name in labels else spelled.get(normalise_name(name))
        if label is not None:
            return label
        known = catalogue or Catalogue()
        metric = known.find(name)
        pairs = ((label, known.find(label)) for label in labels if metric is not None)
        synonyms = [
            x for x, other in pairs if metric and other and other.known_as == metric.known_as
        ]
        if len(synonyms) > 1:
            raise DataError(f"{name!r} may mean any of {named(synonyms)}; use one of these names")
        if not synonyms:
            raise UnknownNameError("metric", name, labels)
        return synonyms[0]

    return resolve


def _no_metric_message(frame: pd.DataFrame) -> str:
    examples = [f"{label!r} ({_example(frame[label])})" for label in frame.columns[:8]]
    more = f" and {frame.shape[1] - 8} more" if frame.shape[1] > 8 else ""
    return (
        "no column holds scores: expected at least one column of numbers. Columns: "
        f"{', '.join(examples) + more if examples else 'only the ids'}. If the rows are records "
        "(questions, answers, documents), compute scores from them: "
        "score(read_records(path), metrics). If a column holds scores, name it with metrics=[...]"
    )


def _example(column: pd.Series) -> str:
    present = column.dropna()
    return f"such as {str(present.iloc[0])[:30]!r}" if len(present) else "empty"
