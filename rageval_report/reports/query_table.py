"""The page's table of queries as compact columns of JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report.analysis.breakdown import CAUSES, FINE, UNKNOWN
from rageval_report.files.strict_json import load_json
from rageval_report.reports.cells import is_missing, plain, shorten
from rageval_report.reports.wording import NO_WORDING, Wording
from rageval_report.scores import Metric, Scored, normalise_name
from rageval_report.scores.query_ids import ANSWER, CONTEXTS, QUESTION, REFERENCE
from rageval_report.scores.states import (
    FAILED,
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

_LARGEST_INTEGER = 1e15
_LONGEST_REPR = 10_000  # of a value that JSON cannot write

ROLES = {"question": QUESTION, "reference": REFERENCE, "answer": ANSWER, "contexts": CONTEXTS}
ANSWERS = ("right", "wrong", "unknown")
NOWHERE = "absent"  # a query of another run
_CAUSES = (*CAUSES, FINE, UNKNOWN)


# -- columns


def score_column(values: FloatArray) -> dict[str, Any]:
    """Scores with six significant digits; null where unscored."""
    distinct, codes = np.unique(values, return_inverse=True)
    rounded = np.array([float(f"{value:.{DIGITS}g}") for value in distinct.tolist()])[codes]
    levels, codes = np.unique(rounded, return_inverse=True)
    if len(levels) > len(LETTERS):
        return {"n": _nan_to_none(rounded)}
    return coded_column(codes, _nan_to_none(levels))


def _nan_to_none(values: FloatArray) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]


def coded_column(codes: npt.ArrayLike, levels: Sequence[Any]) -> dict[str, Any]:
    """A column of which each row has one of a few values: one letter each, if they suffice."""
    places = np.asarray(codes, dtype=np.intp)
    if len(levels) > len(LETTERS):
        return {"v": [*levels], "c": places.tolist()}
    letters = np.frombuffer(LETTERS.encode(), dtype=np.uint8)
    return {"v": [*levels], "c": letters[places].tobytes().decode()}


def _named_column(values: pd.Series, names: Sequence[str]) -> dict[str, Any]:
    return coded_column([names.index(value) for value in values.tolist()], names)


def text_column(cells: Iterable[object], pool: dict[str, int]) -> list[Any]:
    """The place of the text of each cell in the pool; a list of places if it holds several."""
    return [_cell_places(cell, pool) for cell in cells]


def _cell_places(cell: object, pool: dict[str, int]) -> int | list[int]:
    if isinstance(cell, str):  # nearly every cell, so it comes first
        return pool.setdefault(cell, len(pool))
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, list | tuple):
        return [pool.setdefault(cell_text(part), len(pool)) for part in cell]
    return ABSENT if is_missing(plain(cell)) else pool.setdefault(cell_text(cell), len(pool))


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
    if isinstance(value, bool):
        return "yes" if value else "no"
    if is_missing(value):
        return "–"
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_INTEGER:
        return str(int(value))
    if isinstance(value, Mapping | list | tuple):
        try:
            return json.dumps(value, ensure_ascii=False, default=str)
        except (TypeError, ValueError, RecursionError):  # keys of other types, circles, depth
            return str(value)[:_LONGEST_REPR]
    return str(value)


# -- the table


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

    @cached_property
    def ids(self) -> pd.Index:
        """Every query id, the baseline's first."""
        ids: list[str] = [i for run in self.runs for i in run.scores.index]
        return pd.Index(list(dict.fromkeys(ids)))

    def document(self, longest: int | None = None) -> dict[str, Any]:
        """Everything as plain lists and texts, for JSON."""
        pool: dict[str, int] = {}  # every distinct text once, and its place in the list
        shown = {
            "pipelines": [run.name for run in self.runs],
            "short": [self.wording.names.of(run.name) for run in self.runs],
            "ids": [str(query_id) for query_id in self.ids],
            "metrics": [self._metric(known, pool) for known in self.metrics],
            "fields": list(self._fields(pool)),
            "slices": [self._slice(by) for by in self.slices],
            "answers": [
                None if own is None else self._answers(own, run)
                for own, run in zip(self.answers, self.runs, strict=False)
            ],
            "causes": [
                None
                if own is None
                else _named_column(own.reindex(self.ids, fill_value=UNKNOWN), _CAUSES)
                for own in self.causes
            ],
            "meaning": CAUSES,
            "pairs": list(self.pairs),
        }
        cut = [text for text in pool if longest is not None and len(text) > longest]
        texts = list(pool) if longest is None else [_cut(text, longest) for text in pool]
        return {**shown, "texts": texts, "cut": len(cut)}

    def _metric(self, known: dict[int, Metric], pool: dict[str, int]) -> dict[str, Any]:
        first = next(iter(known.values()))
        low, high = first.bounds or (-math.inf, math.inf)
        return {
            "name": first.name,
            "title": self.wording.labels.get(first.name, first.title),
            "width": high - low if math.isfinite(high - low) else None,
            "up": first.greater_is_better,
            "runs": [
                self._scores(run, known[place].name, pool) if place in known else None
                for place, run in enumerate(self.runs)
            ],
        }

    def _scores(self, run: Scored, name: str, pool: dict[str, int]) -> dict[str, Any]:
        """One run's scores of a metric, the states of unscored ones, and the reasons."""
        values = run.scores[name].reindex(self.ids).to_numpy()
        column = score_column(values)
        if run.scores[name].isna().any():
            # The page assumes of all others that they are missing.
            states = states_frame(run.scores[[name]], run.details)[name].reindex(self.ids)
            rows = {
                state: np.flatnonzero((states == state) & np.isnan(values)).tolist()
                for state in (FAILED, NOT_APPLICABLE)
            }
            column["states"] = {state: places for state, places in rows.items() if places}
        reasons = unscored_reasons(run.details, name)
        if reasons.notna().any():
            column["reasons"] = text_column(reasons.astype(object).reindex(self.ids), pool)
        return column

    def _fields(self, pool: dict[str, int]) -> Iterable[dict[str, Any]]:
        """Question, reference, answer and contexts in this order, then the other details."""
        by_role = [text_columns_of(run) for run in self.runs]
        for role in ROLES:
            names = [own.get(role) for own in by_role]
            if any(names):
                yield self._field(role, role, names, pool)
        for name in dict.fromkeys(name for run in self.runs for name in _other_details(run)):
            names = [name if name in run.details else None for run in self.runs]
            yield self._field("other", name, names, pool)

    def _field(
        self, role: str, title: str, names: Sequence[str | None], pool: dict[str, int]
    ) -> dict[str, Any]:
        columns: list[list[Any] | None] = []
        for run, name in zip(self.runs, names, strict=True):
            cells: Any = [] if name is None else run.details[name].astype(object).reindex(self.ids)
            parsed = map(parse_list_cell, cells) if role == "contexts" else cells
            columns.append(None if name is None else text_column(parsed, pool))
        if role in ("question", "reference", "other"):
            shared = _shared([column for column in columns if column is not None])
            if shared is not None:
                return {"role": role, "title": title, "shared": shared}
        return {"role": role, "title": title, "runs": columns}

    def _slice(self, by: str) -> dict[str, Any]:
        values = pd.Series(index=self.ids, dtype=object)
        for run in self.runs:
            if by in run.details:
                own = run.details[by].astype(object).reindex(self.ids)
                values = values.where(values.notna(), own)
        codes, levels = pd.factorize(values.map(str).where(values.notna(), "(none)"), sort=True)
        return {"name": by, **coded_column(codes, [str(level) for level in levels])}

    def _answers(self, answer: pd.Series, run: Scored) -> dict[str, Any]:
        """The answers to the page's queries; those of other runs are nowhere."""
        known = answer.reindex(self.ids).fillna(ANSWERS[-1])
        known = known.where(self.ids.isin(run.scores.index), NOWHERE)
        return _named_column(known, (*ANSWERS, NOWHERE))


def _cut(text: str, longest: int) -> str:
    more = len(text) - longest
    return text if more <= 0 else f"{text[:longest]}… [{more} more characters are left out]"


def _shared(columns: Sequence[list[Any]]) -> list[Any] | None:
    """The cells of all runs; None if two runs have different ones for the same query."""
    if len(columns) == 1:
        return columns[0]
    merged = []
    for cells in zip(*columns, strict=True):
        first, *others = [cell for cell in cells if cell != ABSENT] or [ABSENT]
        if any(cell != first for cell in others):
            return None
        merged.append(first)
    return merged


# -- the details of a run


def text_columns_of(run: Scored) -> dict[str, str]:
    """The columns of the question, the reference, the answer and the contexts, by that role."""
    columns: dict[str, str] = {}
    # Reversed, so that the first of several columns with the same normalised name wins.
    by_name = {normalise_name(str(column)): str(column) for column in reversed(list(run.details))}
    for role, names in ROLES.items():
        column = next((by_name[name] for name in names if name in by_name), None)
        if column is not None and column not in columns.values():
            columns[role] = column
    return columns


def _other_details(run: Scored) -> list[str]:
    """The details that are neither one of those texts nor the state of a score."""
    taken, metrics = text_columns_of(run).values(), list(run.metrics)
    names = map(str, run.details)
    return [x for x in names if x not in taken and state_column_kind(x, metrics) is None]


def slice_columns(evaluation: Scored, most: int = 12) -> list[str]:
    """The columns of details that divide the queries into a few groups."""
    names = _other_details(evaluation)
    return [name for name in names if _is_grouping(evaluation.details[name], most)]


def _is_grouping(column: pd.Series, most: int) -> bool:
    """Whether a column has a few short values, most of which repeat."""
    for rows in (column.head(200), column):  # the first rows rule out nearly all columns of texts
        values = {str(value) for value in rows.dropna().tolist()}
        if len(values) > most or any(len(value) > 60 for value in values):
            return False
    return 2 <= len(values) <= len(column) / 2


_LONGEST_TEXTS = {"question": 240, "reference": 320, "answer": 320}


def query_texts(run: Scored, query_id: object) -> dict[str, str]:
    """The question, the reference and the answer of a query; "" where there is none."""
    columns, texts = text_columns_of(run), {}
    for role, longest in _LONGEST_TEXTS.items():
        value = run.details[columns[role]].get(query_id) if role in columns else None
        text = "" if value is None else cell_text(value)
        texts[role] = "" if text == "–" else shorten(text, longest)
    return texts
