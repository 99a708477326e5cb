"""The table of queries as a page carries it: ids, scores, states, reasons, texts, outcomes, causes.

Rows are all queries of all runs, the baseline's first. Everything is a column (see
`rageval_report.reports.columns`), so that ten thousand queries stay a few megabytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.analysis.breakdown import CAUSES, FINE, UNKNOWN
from rageval_report.reports.columns import (
    ABSENT,
    FloatArray,
    TextPool,
    coded_column,
    parted,
    rows_of,
    score_column,
    text_column,
)
from rageval_report.scores import Metric, Scored, normalise_name
from rageval_report.scores.states import (
    FAILED,
    MISSING,
    NOT_APPLICABLE,
    is_state_column,
    states_frame,
    unscored_reasons,
)
from rageval_report.scores.texts import ANSWER, CONTEXTS, QUESTION, REFERENCE

# Scored is the first, so that a query that a run does not have is simply missing.
_UNSCORED = (MISSING, FAILED, NOT_APPLICABLE)
_ROLES = (("question", QUESTION), ("reference", REFERENCE), ("answer", ANSWER))
_LISTS = ("contexts", CONTEXTS)
NOWHERE = "in neither run"  # a query of another candidate
_CAUSES = (*CAUSES, FINE, UNKNOWN)


@dataclass(frozen=True, eq=False)
class QueryTable:
    """What the page shows of each query.

    Parameters
    ----------
    runs : tuple of Scored
        The pipelines; of several the first is the baseline.
    metrics : tuple of dict of int to Metric
        Each metric as the runs know it, by the run's place; a run that lacks it is left out.
    slices : tuple of str
        The columns of details by which queries can be filtered.
    outcomes : tuple of Series of str
        The outcome of each query by its id: of one run alone whether the answer is right, of
        several for each candidate beside the baseline. Empty where nothing tells.
    outcome_names : tuple of str
        All outcomes there can be, in the order in which they are shown.
    causes : tuple of Series of str, or None
        For each run why its queries fail.
    """

    runs: tuple[Scored, ...]
    metrics: tuple[dict[int, Metric], ...]
    slices: tuple[str, ...] = ()
    outcomes: tuple[pd.Series, ...] = ()
    outcome_names: tuple[tuple[str, ...], ...] = ()
    causes: tuple[pd.Series | None, ...] = field(default=())

    @property
    def ids(self) -> pd.Index:
        """Every query id, the baseline's first."""
        every = self.runs[0].scores.index
        for run in self.runs[1:]:
            every = every.append(run.scores.index.difference(every, sort=False))
        return every

    def document(self, longest: int | None = None) -> dict[str, Any]:
        """Everything as plain lists and texts, for JSON.

        Parameters
        ----------
        longest : int, optional
            Longer texts are cut; kept whole where None.
        """
        pool, ids = TextPool(longest), self.ids
        places = [rows_of(run.scores.index, ids) for run in self.runs]
        return {
            "pipelines": [run.name for run in self.runs],
            "ids": [str(one) for one in ids],
            "metrics": [self._metric(known, places, pool) for known in self.metrics],
            "fields": list(self._fields(places, pool)),
            "slices": [self._slice(by, ids) for by in self.slices],
            "outcomes": [
                _named_column(outcome.reindex(ids).fillna(NOWHERE), (*names, NOWHERE))
                for outcome, names in zip(self.outcomes, self.outcome_names, strict=True)
            ],
            "causes": [
                None if one is None else _named_column(one.reindex(ids).fillna(UNKNOWN), _CAUSES)
                for one in self.causes
            ],
            "meaning": CAUSES,
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
            "title": first.title,
            "up": first.greater_is_better,
            "runs": [
                _scores(run, known[place], places[place], pool) if place in known else None
                for place, run in enumerate(self.runs)
            ],
        }

    # -- texts

    def _fields(self, places: Sequence[np.ndarray], pool: TextPool) -> Iterable[dict[str, Any]]:
        """Question, reference, answer and contexts in this order, then what else is known."""
        taken = [_by_role(run) for run in self.runs]
        for role in ("question", "reference", "answer", _LISTS[0]):
            names = [one.get(role) for one in taken]
            if any(names):
                yield self._field(role, role, names, places, pool)
        others = dict.fromkeys(
            name
            for run, roles in zip(self.runs, taken, strict=True)
            for name in _others(run, roles)
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
            return {"role": role, "title": title, "shared": _merged(columns)}
        return {"role": role, "title": title, "runs": columns}

    def _slice(self, by: str, ids: pd.Index) -> dict[str, Any]:
        told = pd.Series(index=ids, dtype=object)
        for run in self.runs:
            if by in run.details:
                told = told.where(told.notna(), run.details[by].astype(object).reindex(ids))
        labels = told.map(str).where(told.notna(), "(none)")
        codes, levels = pd.factorize(labels, sort=True)
        return {"name": by, **coded_column(codes, [str(level) for level in levels])}


def slice_columns(evaluation: Scored, most: int = 12) -> list[str]:
    """The columns of details that part the queries into a few groups.

    Parameters
    ----------
    evaluation : Scored
        A run.
    most : int
        No more groups than this.
    """
    taken = {*_by_role(evaluation).values()}
    return [
        name
        for name in _others(evaluation, {})
        if name not in taken and _is_grouping(evaluation.details[name], most)
    ]


def _is_grouping(column: pd.Series, most: int) -> bool:
    """A few short values that come again; a look at the first rows spares long columns."""
    for rows in (column.head(200), column):
        values = {str(value) for value in rows.dropna().tolist()}
        if len(values) > most or any(len(value) > 60 for value in values):
            return False
    return 2 <= len(values) <= len(column) / 2


def _by_role(run: Scored) -> dict[str, str]:
    """The columns of texts that have a part of their own, by that part."""
    found: dict[str, str] = {}
    by_name = {normalise_name(str(column)): str(column) for column in reversed(list(run.details))}
    for role, names in (*_ROLES, _LISTS):
        column = next((by_name[name] for name in names if name in by_name), None)
        if column is not None and column not in found.values():
            found[role] = column
    return found


def _others(run: Scored, roles: dict[str, str]) -> list[str]:
    """The details that neither have a part of their own nor tell of a score."""
    taken = {*roles.values()}
    return [
        str(name)
        for name in run.details
        if name not in taken and not is_state_column(str(name), list(run.metrics))
    ]


def _texts(column: pd.Series, rows: np.ndarray, role: str, pool: TextPool) -> list[Any]:
    cells: list[Any] = column.tolist()
    if role == _LISTS[0]:
        cells = [parted(cell) for cell in cells]
    placed = text_column(cells, pool)
    return _taken(placed, rows)


def _taken(placed: list[Any], rows: np.ndarray) -> list[Any]:
    if len(placed) == len(rows) and (rows == np.arange(len(rows))).all():
        return placed
    return [ABSENT if row < 0 else placed[row] for row in rows.tolist()]


def _agree(columns: Sequence[list[Any] | None]) -> bool:
    """Whether the runs never say different things of a query."""
    known = [column for column in columns if column is not None]
    merged = _merged(known)
    return all(
        cell in (ABSENT, both)
        for column in known
        for cell, both in zip(column, merged, strict=True)
    )


def _merged(columns: Sequence[list[Any] | None]) -> list[Any]:
    known = [column for column in columns if column is not None]
    if len(known) == 1:
        return known[0]
    return [
        next((cell for cell in cells if cell != ABSENT), ABSENT)
        for cells in zip(*known, strict=True)
    ]


def _scores(run: Scored, metric: Metric, rows: np.ndarray, pool: TextPool) -> dict[str, Any]:
    """One run's scores of a metric; of the unscored why; and what was said of any of them."""
    values = run.scores[metric.name].to_numpy()
    every: FloatArray = np.where(rows < 0, np.nan, values[rows])
    told: dict[str, Any] = score_column(every)
    if np.isnan(values).any():
        told["states"] = _states(run, metric, rows, every)
    reasons = unscored_reasons(run.details, metric.name)
    if reasons.notna().any():
        told["reasons"] = _taken(text_column(reasons.tolist(), pool), rows)
    return told


def _states(
    run: Scored, metric: Metric, rows: np.ndarray, every: FloatArray
) -> dict[str, list[int]]:
    """The rows of each state but the scored ones and the missing ones."""
    states = states_frame(run.scores[[metric.name]], run.details)[metric.name].to_numpy()
    told = np.where(rows < 0, MISSING, states[rows])
    unscored = np.isnan(every)
    found = {
        state: np.flatnonzero((told == state) & unscored).tolist()
        for state in _UNSCORED
        if state != MISSING
    }
    return {state: where for state, where in found.items() if where}


def _named_column(values: pd.Series, names: Sequence[str]) -> dict[str, Any]:
    places = {name: place for place, name in enumerate(names)}
    return coded_column([places[value] for value in values.tolist()], list(names))
