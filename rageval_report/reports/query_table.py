"""The page's table of queries as compact columns of JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report.analysis.breakdown import CAUSES, FINE, UNKNOWN
from rageval_report.files.strict_json import load_json
from rageval_report.render.cell_text import is_missing, plain
from rageval_report.render.display import shorten
from rageval_report.reports.wording import NO_WORDING, Wording
from rageval_report.scores import Metric, Scored, normalise_name
from rageval_report.scores.query_ids import ANSWER, CONTEXTS, QUESTION, REFERENCE
from rageval_report.scores.states import (
    FAILED,
    MISSING,
    NOT_APPLICABLE,
    state_column_kind,
    states_frame,
    unscored_reasons,
)
from rageval_report.types import FloatArray

# All are one byte in UTF-8, and JSON escapes none of them.
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
DIGITS = 6  # of a score, significant ones
ABSENT = -1

_LARGEST = 1e15  # above it, and below its inverse, scaling by a power of ten loses digits
_LONGEST_REPR = 10_000  # of a value that JSON cannot write


class TextPool:
    """Every distinct text once, and its place in the list."""

    def __init__(self, longest: int | None = None):
        self._longest = longest
        self._places: dict[str, int] = {}
        self.n_cut = 0

    @property
    def texts(self) -> list[str]:
        """The texts in the order of their places."""
        if self._longest is None:
            return list(self._places)
        return [self._cut(text) for text in self._places]

    def place(self, text: str) -> int:
        """The place of a text, which is added if it is new."""
        return self._places.setdefault(text, len(self._places))

    def _cut(self, text: str) -> str:
        longest = self._longest or len(text)
        if len(text) <= longest:
            return text
        self.n_cut += 1
        return f"{text[:longest]}… [{len(text) - longest} more characters are left out]"


def score_column(values: FloatArray) -> dict[str, Any]:
    """Scores with six significant digits; null where unscored."""
    rounded = round_significant(values)
    levels, codes = np.unique(rounded, return_inverse=True)
    if len(levels) > len(LETTERS):
        return {"n": _nan_to_none(rounded)}
    return {"v": _nan_to_none(levels), "c": encode_letters(codes)}


def round_significant(values: FloatArray) -> FloatArray:
    """The numbers rounded to six significant digits."""
    size = np.abs(values)
    usual = (size < _LARGEST) & (size > 1 / _LARGEST)
    with np.errstate(divide="ignore", invalid="ignore"):
        decimals = DIGITS - 1 - np.floor(np.log10(np.where(usual, size, 1.0)))
    # Dividing by a whole power of ten gives the float nearest to the short decimal.
    scale = 10.0 ** np.abs(decimals)
    up = np.round(values * scale) / scale
    down = np.round(values / scale) * scale
    rounded: FloatArray = np.where(usual, np.where(decimals >= 0, up, down), values)
    return rounded


def coded_column(codes: Sequence[int] | npt.NDArray[np.intp], levels: list[Any]) -> dict[str, Any]:
    """A column of which each row has one of a few values."""
    if len(levels) > len(LETTERS):
        return {"v": levels, "c": [int(code) for code in codes]}
    return {"v": levels, "c": encode_letters(np.asarray(codes, dtype=np.intp))}


def encode_letters(codes: npt.NDArray[np.intp]) -> str:
    """Integers from 0 to 63 as a text of one letter each."""
    letters = np.frombuffer(LETTERS.encode(), dtype=np.uint8)
    return letters[codes].tobytes().decode()


def text_column(cells: Sequence[object], pool: TextPool) -> list[Any]:
    """The place of the text of each cell in the pool; a list of places if it holds several."""
    return [_cell_places(cell, pool) for cell in cells]


def _cell_places(cell: object, pool: TextPool) -> int | list[int]:
    if isinstance(cell, str):  # nearly every cell, so it comes first
        return pool.place(cell)
    if cell is None:
        return ABSENT
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, list | tuple):
        return [pool.place(part if isinstance(part, str) else cell_text(part)) for part in cell]
    return ABSENT if is_missing(plain(cell)) else pool.place(cell_text(cell))


def parse_list_cell(cell: object) -> object:
    """The list that a cell holds as JSON text, as CSV files have it; any other cell as it is."""
    if not (isinstance(cell, str) and cell[:1] == "[" and cell[-1:] == "]"):
        return cell
    try:
        parsed = load_json(cell)
    except (ValueError, RecursionError):
        return cell
    return parsed if parsed and all(isinstance(part, str | dict) for part in parsed) else cell


def cell_text(value: object) -> str:
    """A value as text: whole numbers without decimals, dicts and lists as JSON."""
    value = plain(value)
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if is_missing(value):
        return "–"
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST:
        return str(int(value))
    if isinstance(value, Mapping | list | tuple):
        return _json_text(value)
    return str(value)


def _json_text(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):  # keys of other types, circles, depth
        return str(value)[:_LONGEST_REPR]


def _nan_to_none(values: FloatArray) -> list[float | None]:
    missing = np.isnan(values)
    if not missing.any():
        numbers: list[float | None] = values.tolist()
        return numbers
    objects = values.astype(object)
    objects[missing] = None
    with_none: list[float | None] = objects.tolist()
    return with_none


def row_numbers(ids: pd.Index, page_ids: pd.Index) -> npt.NDArray[np.intp]:
    """The row of each id of the page among `ids`; -1 if it is not one of them."""
    return np.asarray(ids.get_indexer(page_ids), dtype=np.intp)


_ROLES = (("question", QUESTION), ("reference", REFERENCE), ("answer", ANSWER))
_LISTS = ("contexts", CONTEXTS)
ANSWERS = ("right", "wrong", "unknown")
NOWHERE = "absent"  # a query of another run
_CAUSES = (*CAUSES, FINE, UNKNOWN)


@dataclass(frozen=True, eq=False)
class QueryTable:
    """Everything that the page shows of each query."""

    runs: tuple[Scored, ...]
    metrics: tuple[dict[int, Metric], ...]
    slices: tuple[str, ...] = ()
    answers: tuple[pd.Series | None, ...] = ()
    causes: tuple[pd.Series | None, ...] = ()
    wording: Wording = NO_WORDING
    pairs: tuple[dict[str, Any], ...] = ()

    @property
    def ids(self) -> pd.Index:
        """Every query id, the baseline's first."""
        ids = self.runs[0].scores.index
        for run in self.runs[1:]:
            ids = ids.append(run.scores.index.difference(ids, sort=False))
        return ids

    def document(self, longest: int | None = None) -> dict[str, Any]:
        """Everything as plain lists and texts, for JSON."""
        pool, ids = TextPool(longest), self.ids
        places = [row_numbers(run.scores.index, ids) for run in self.runs]
        return {
            "pipelines": [run.name for run in self.runs],
            "short": [self.wording.names.of(run.name) for run in self.runs],
            "ids": [str(query_id) for query_id in ids],
            "metrics": [self._metric(known, places, pool) for known in self.metrics],
            "fields": list(self._fields(places, pool)),
            "slices": [self._slice(by, ids) for by in self.slices],
            "answers": [
                None
                if answer is None
                else _named_column(_where_present(answer, run, ids), (*ANSWERS, NOWHERE))
                for run, answer in zip(self.runs, self.answers, strict=False)
            ],
            "causes": [
                None
                if cause is None
                else _named_column(cause.reindex(ids).fillna(UNKNOWN), _CAUSES)
                for cause in self.causes
            ],
            "meaning": CAUSES,
            "pairs": list(self.pairs),
            "texts": pool.texts,
            "cut": pool.n_cut,
        }

    # -- metrics

    def _metric(
        self, known: dict[int, Metric], places: Sequence[np.ndarray], pool: TextPool
    ) -> dict[str, Any]:
        first = next(iter(known.values()))
        return {
            "name": first.name,
            "title": self.wording.labels.get(first.name, first.title),
            "width": _width(first),
            "up": first.greater_is_better,
            "runs": [
                _scores(run, known[place], places[place], pool) if place in known else None
                for place, run in enumerate(self.runs)
            ],
        }

    # -- texts

    def _fields(self, places: Sequence[np.ndarray], pool: TextPool) -> Iterable[dict[str, Any]]:
        """Question, reference, answer and contexts in this order, then the other details."""
        text_columns = [text_columns_of(run) for run in self.runs]
        for role in ("question", "reference", "answer", _LISTS[0]):
            names = [by_role.get(role) for by_role in text_columns]
            if any(names):
                yield self._field(role, role, names, places, pool)
        others = dict.fromkeys(
            name
            for run, by_role in zip(self.runs, text_columns, strict=True)
            for name in _other_details(run, by_role)
        )
        for name in others:
            names = [name if name in run.details else None for run in self.runs]
            yield self._field("other", name, names, places, pool)

    def _field(
        self,
        role: str,
        title: str,
        names: Sequence[str | None],
        places: Sequence[np.ndarray],
        pool: TextPool,
    ) -> dict[str, Any]:
        columns = [
            None if name is None else _texts(run.details[name], rows, role, pool)
            for run, name, rows in zip(self.runs, names, places, strict=True)
        ]
        if role in ("question", "reference", "other") and _agree(columns):
            return {"role": role, "title": title, "shared": _merge(columns)}
        return {"role": role, "title": title, "runs": columns}

    def _slice(self, by: str, ids: pd.Index) -> dict[str, Any]:
        values = pd.Series(index=ids, dtype=object)
        for run in self.runs:
            if by in run.details:
                values = values.where(values.notna(), run.details[by].astype(object).reindex(ids))
        labels = values.map(str).where(values.notna(), "(none)")
        codes, levels = pd.factorize(labels, sort=True)
        return {"name": by, **coded_column(codes, [str(level) for level in levels])}


def slice_columns(evaluation: Scored, most: int = 12) -> list[str]:
    """The columns of details that divide the queries into a few groups."""
    names = _other_details(evaluation, text_columns_of(evaluation))
    return [name for name in names if _is_grouping(evaluation.details[name], most)]


def _is_grouping(column: pd.Series, most: int) -> bool:
    """Whether a column has a few short values, most of which repeat."""
    for rows in (column.head(200), column):  # the first rows rule out nearly all columns of texts
        values = {str(value) for value in rows.dropna().tolist()}
        if len(values) > most or any(len(value) > 60 for value in values):
            return False
    return 2 <= len(values) <= len(column) / 2


def text_columns_of(run: Scored) -> dict[str, str]:
    """The columns of the question, the reference, the answer and the contexts, by that role."""
    columns: dict[str, str] = {}
    # Reversed, so that the first of several columns with the same normalised name wins.
    by_name = {normalise_name(str(column)): str(column) for column in reversed(list(run.details))}
    for role, names in (*_ROLES, _LISTS):
        column = next((by_name[name] for name in names if name in by_name), None)
        if column is not None and column not in columns.values():
            columns[role] = column
    return columns


def _other_details(run: Scored, text_columns: dict[str, str]) -> list[str]:
    """The details that are neither one of those texts nor the state of a score."""
    taken = {*text_columns.values()}
    return [
        str(name)
        for name in run.details
        if name not in taken and state_column_kind(str(name), list(run.metrics)) is None
    ]


def _texts(column: pd.Series, rows: np.ndarray, role: str, pool: TextPool) -> list[Any]:
    cells: list[Any] = column.tolist()
    if role == _LISTS[0]:
        cells = [parse_list_cell(cell) for cell in cells]
    return _select_rows(text_column(cells, pool), rows)


def _select_rows(cells: list[Any], rows: np.ndarray) -> list[Any]:
    """The cells of the page's rows; absent where the run does not have the query."""
    if len(cells) == len(rows) and (rows == np.arange(len(rows))).all():
        return cells
    return [ABSENT if row < 0 else cells[row] for row in rows.tolist()]


def _agree(columns: Sequence[list[Any] | None]) -> bool:
    """Whether no two runs have different cells for the same query."""
    known = [column for column in columns if column is not None]
    merged = _merge(known)
    return all(
        cell in (ABSENT, merged_cell)
        for column in known
        for cell, merged_cell in zip(column, merged, strict=True)
    )


def _merge(columns: Sequence[list[Any] | None]) -> list[Any]:
    known = [column for column in columns if column is not None]
    if len(known) == 1:
        return known[0]
    return [
        next((cell for cell in cells if cell != ABSENT), ABSENT)
        for cells in zip(*known, strict=True)
    ]


def _scores(run: Scored, metric: Metric, rows: np.ndarray, pool: TextPool) -> dict[str, Any]:
    """One run's scores of a metric, the states of unscored queries, and the reasons of scores."""
    values = run.scores[metric.name].to_numpy()
    page_values: FloatArray = np.where(rows < 0, np.nan, values[rows])
    column: dict[str, Any] = score_column(page_values)
    if np.isnan(values).any():
        column["states"] = _states(run, metric, rows, page_values)
    reasons = unscored_reasons(run.details, metric.name)
    if reasons.notna().any():
        column["reasons"] = _select_rows(text_column(reasons.tolist(), pool), rows)
    return column


def _states(
    run: Scored, metric: Metric, rows: np.ndarray, values: FloatArray
) -> dict[str, list[int]]:
    """The unscored rows of each state but "missing", which the page assumes of all others."""
    states = states_frame(run.scores[[metric.name]], run.details)[metric.name].to_numpy()
    page_states = np.where(rows < 0, MISSING, states[rows])
    unscored = np.isnan(values)
    rows_by_state = {
        state: np.flatnonzero((page_states == state) & unscored).tolist()
        for state in (FAILED, NOT_APPLICABLE)
    }
    return {state: numbers for state, numbers in rows_by_state.items() if numbers}


def _where_present(answer: pd.Series, run: Scored, ids: pd.Index) -> pd.Series:
    """The answers to the page's queries: a query that the run does not have is absent."""
    known = answer.reindex(ids)
    is_present = ids.isin(run.scores.index)
    return known.fillna(ANSWERS[-1]).where(is_present, NOWHERE)


def _width(metric: Metric) -> float | None:
    """The width of a metric's range; None without one."""
    if metric.bounds is None or not all(map(math.isfinite, metric.bounds)):
        return None
    return metric.bounds[1] - metric.bounds[0]


def _named_column(values: pd.Series, names: Sequence[str]) -> dict[str, Any]:
    places = {name: place for place, name in enumerate(names)}
    return coded_column([places[value] for value in values.tolist()], list(names))


_LONGEST_TEXTS = {"question": 240, "reference": 320, "answer": 320}


def query_texts(run: Scored, query_id: object) -> dict[str, str]:
    """The question, the reference and the answer of a query; "" where there is none."""
    columns, texts = text_columns_of(run), {}
    for role, longest in _LONGEST_TEXTS.items():
        column = columns.get(role)
        value = run.details[column].get(query_id) if column is not None else None
        text = "" if value is None else cell_text(value)
        texts[role] = "" if text == "–" else shorten(text, longest)
    return texts
