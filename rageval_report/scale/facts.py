"""What descriptions of metrics depend on, of all rows: extremes, and values of each kind.

Metrics are described by the first rows of a table and by witnesses: rows that have the smallest and
the largest score, a score that is neither 0 nor 1, one that is not whole, one within 0 and 1. Any
rule that looks at the values of a column then sees what it would see in the whole column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rageval_report.scale.score_rows import ScoreRows
from rageval_report.types import BoolArray, FloatArray

# The kinds of values that decide what a column is. They follow `fit_scale` and `infer_metric`.
_KINDS: dict[str, Callable[[FloatArray], BoolArray]] = {
    "neither 0 nor 1": lambda part: (part != 0.0) & (part != 1.0) & ~np.isnan(part),
    "not whole": lambda part: (part != np.rint(part)) & ~np.isnan(part),
    "within 0 and 1": lambda part: (part > 0.0) & (part < 1.0),
    "one": lambda part: part == 1.0,
}
# The kinds that scores of 0 and 1 can be of: the others are not looked for.
_KINDS_OF_BITS = {"one": _KINDS["one"]}
_HEAD = 64


@dataclass(frozen=True)
class Witness:
    """A score with the id of its query."""

    value: float
    query_id: str


@dataclass(frozen=True)
class MetricFacts:
    """Facts about the scores of one metric.

    Parameters
    ----------
    witnesses : dict of str to Witness
        A score of each kind that occurs.
    """

    witnesses: Mapping[str, Witness]

    @classmethod
    def of(cls, values: FloatArray, rows: ScoreRows) -> MetricFacts:
        """The facts about the scores of some rows."""
        if not len(values):
            return cls({})
        places = {"lowest": int(values.argmin()), "highest": int(values.argmax())}
        if np.isnan(values[places["lowest"]]):  # the place of the first NaN
            if np.isnan(values).all():
                return cls({})
            places = {"lowest": int(np.nanargmin(values)), "highest": int(np.nanargmax(values))}
        low, high = (float(values[place]) for place in places.values())
        kinds = _KINDS_OF_BITS if _is_binary(values, low, high) else _KINDS
        for kind, is_of_kind in kinds.items():
            place = _first_place(values, is_of_kind)
            if place is not None:
                places[kind] = place
        return cls(
            {
                kind: Witness(float(values[place]), _id_at(rows, place))
                for kind, place in places.items()
            }
        )

    def __add__(self, other: MetricFacts) -> MetricFacts:
        """The facts about both parts; of equal extremes the first witness stays."""
        merged = {**other.witnesses, **self.witnesses}
        for kind, pick in (("lowest", min), ("highest", max)):
            known = [part.witnesses[kind] for part in (self, other) if kind in part.witnesses]
            if known:
                merged[kind] = pick(known, key=lambda witness: witness.value)
        return MetricFacts(merged)


def _id_at(rows: ScoreRows, place: int) -> str:
    return f"row {place}" if rows.ids is None else str(rows.ids[place].as_py())


def _is_binary(values: FloatArray, low: float, high: float) -> bool:
    """Whether every score is 0 or 1."""
    ends = {low, high}
    if not ends <= {0.0, 1.0} or not set(values[:_HEAD].tolist()) <= {0.0, 1.0}:
        return False
    n_bits = np.count_nonzero(values == 0.0) + np.count_nonzero(values == 1.0)
    return bool(n_bits == len(values))


def _first_place(values: FloatArray, is_of_kind: Callable[[FloatArray], BoolArray]) -> int | None:
    """The place of the first score of a kind; the first rows mostly have one."""
    for part in (values[:_HEAD], values):
        is_kind = is_of_kind(part)
        place = int(np.argmax(is_kind))
        if is_kind[place]:
            return place
    return None


@dataclass(frozen=True)
class TableFacts:
    """Facts about the scores of all metrics.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    metrics : dict of str to MetricFacts
        By the name of the metric.
    """

    n_rows: int
    metrics: Mapping[str, MetricFacts]

    @classmethod
    def of(cls, rows: ScoreRows) -> TableFacts:
        """The facts about some rows."""
        return cls(
            len(rows), {name: MetricFacts.of(values, rows) for name, values in rows.scores.items()}
        )

    def __add__(self, other: TableFacts) -> TableFacts:
        """The facts about both parts."""
        nothing = MetricFacts({})
        names = dict.fromkeys((*self.metrics, *other.metrics))
        return TableFacts(
            self.n_rows + other.n_rows,
            {
                name: self.metrics.get(name, nothing) + other.metrics.get(name, nothing)
                for name in names
            },
        )
