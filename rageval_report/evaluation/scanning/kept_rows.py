"""The queries that a page shows of tables beyond memory: the worst of each metric."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from rageval_report._registry import import_arrow_module, import_pyarrow
from rageval_report.analysis.evaluation_subset import EvaluationSubset
from rageval_report.evaluation.scanning.cell_kinds import like_memory
from rageval_report.evaluation.scanning.description import DescribedScan
from rageval_report.evaluation.scanning.part_states import PartEvaluation
from rageval_report.evaluation.scanning.rank_states import AlignedScores
from rageval_report.evaluation.scanning.worst import MOST_WORST
from rageval_report.scale.aligned_rows import AlignedRows
from rageval_report.scale.mergeable import StateByName
from rageval_report.scale.pairs import PairedRows
from rageval_report.scale.score_rows import ArrowTexts, ScoreRows
from rageval_report.scores import Metric
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.stats.base import paired_differences
from rageval_report.types import FloatArray, IndexArray

# By which the rows of a metric are in order; the other columns begin with the number of a side.
_BADNESS = "badness"
# So many times as many rows as are kept are collected before the worst of them are looked for.
_MOST_UNSORTED = 2


@dataclass(frozen=True, eq=False)
class KeptRows:
    """The worst rows of a metric.

    Parameters
    ----------
    parts : tuple of DataFrame, index query_id
        Scores and details of each side, of some parts of a table.
    most : int
        How many are kept.
    """

    parts: tuple[pd.DataFrame, ...]
    most: int

    def __add__(self, other: KeptRows) -> KeptRows:
        """Those of both parts, sorted out once they are twice as many as are kept."""
        both = KeptRows((*self.parts, *other.parts), self.most)
        n_rows = sum(map(len, both.parts))
        return both if n_rows <= _MOST_UNSORTED * self.most else replace(both, parts=(both.rows(),))

    def rows(self) -> pd.DataFrame:
        """The worst first; equally bad ones in the order of their ids."""
        if len(self.parts) == 1:
            return self.parts[0]
        # Empty columns have no type, and would change that of the joined ones.
        filled = [part for part in self.parts if len(part)]
        if len(filled) < 2:
            return filled[0] if filled else self.parts[0]
        joined = pd.concat(filled)
        ids = joined.index.to_numpy(dtype=object)
        order = np.lexsort((ids, -joined[_BADNESS].to_numpy()))
        return joined.iloc[order[: self.most]]


@dataclass(frozen=True)
class WorstOfEach:
    """Selects the rows with the worst scores of each metric of one table.

    Parameters
    ----------
    parts : PartEvaluation
        What makes evaluations of rows.
    metrics : tuple of Metric
        The metrics.
    most : int
        How many rows are kept of each.
    """

    parts: PartEvaluation
    metrics: tuple[Metric, ...]
    most: int = MOST_WORST

    def __call__(self, rows: ScoreRows) -> StateByName:
        """The worst of some rows, by metric."""
        badness = {
            metric.name: rows.scores[metric.name] * (-1.0 if metric.greater_is_better else 1.0)
            for metric in self.metrics
        }
        return _worst_of_each(
            badness,
            rows.ids,
            self.most,
            lambda places: [self.parts.of(rows.take(places), with_ids=True)],
        )


@dataclass(frozen=True)
class WorseOfEach:
    """Selects the rows of two tables on which the candidate is worse by most, by metric.

    Parameters
    ----------
    sides : (PartEvaluation, PartEvaluation)
        What makes evaluations of rows.
    metrics : tuple of (Metric, Metric)
        Each metric as the first and as the second table knows it.
    most : int
        How many rows are kept of each.
    """

    sides: tuple[PartEvaluation, PartEvaluation]
    metrics: tuple[tuple[Metric, Metric], ...]
    most: int = MOST_WORST

    def __call__(self, rows: PairedRows) -> StateByName:
        """Those of some rows, by metric."""
        return self.select(rows, self.badness(rows))

    def badness(self, rows: PairedRows) -> dict[Hashable, FloatArray]:
        """How much worse the candidate is on each row, by metric; NaN where it is not."""
        return {
            ours.name: _losses(rows.before.scores[ours.name], rows.after.scores[theirs.name], ours)
            for ours, theirs in self.metrics
        }

    def select(self, rows: PairedRows, badness: Mapping[Any, FloatArray]) -> StateByName:
        """The worst rows by each of some columns.

        Parameters
        ----------
        rows : PairedRows
            Some rows.
        badness : mapping of hashable to ndarray of float
            Each column has one number per row, NaN for rows that are not kept.
        """
        return _worst_of_each(
            badness,
            rows.before.ids,
            self.most,
            lambda places: [
                side.of(part.take(places), with_ids=True)
                for side, part in zip(self.sides, (rows.before, rows.after), strict=True)
            ],
        )


@dataclass(frozen=True)
class WidestOfEach:
    """Selects the rows of several tables on which these differ most, by metric.

    Parameters
    ----------
    ranked : AlignedScores
        What takes the scores out of rows.
    most : int
        How many rows are kept of each metric.
    """

    ranked: AlignedScores
    most: int = MOST_WORST

    def __call__(self, rows: AlignedRows) -> StateByName:
        """Those of some rows, by metric."""
        return _worst_of_each(
            {name: self._spread(rows, name) for name in self.ranked.metrics},
            rows.common[0].ids,
            self.most,
            lambda places: [
                side.of(part.take(places), with_ids=True)
                for side, part in zip(self.ranked.sides, rows.common, strict=True)
            ],
        )

    def _spread(self, rows: AlignedRows, name: str) -> FloatArray:
        """The best score of each query less the worst one; NaN where all are equal."""
        scores = self.ranked.treated(
            self.ranked.scores(rows, name), name, self.ranked.applies(rows, name)
        )
        spread = np.asarray(np.ptp(scores, axis=1), dtype=np.float64)
        spread[~(spread > 0)] = np.nan
        return spread


def _losses(before: FloatArray, after: FloatArray, metric: Metric) -> FloatArray:
    """How much worse each query became; NaN where it did not."""
    complete = ~(np.isnan(before) | np.isnan(after))
    losses = np.full(before.size, np.nan)
    difference = paired_differences(before[complete], after[complete])
    losses[complete] = -difference if metric.greater_is_better else difference
    losses[~(losses > 0)] = np.nan
    return losses


def _worst_of_each(
    badness: Mapping[Any, FloatArray],
    ids: ArrowTexts,
    most: int,
    take: Callable[[IndexArray], Sequence[EvaluationSubset]],
) -> StateByName:
    """The worst rows by metric; the rows that any metric needs are taken once."""
    places = {name: _worst_places(column, ids, most) for name, column in badness.items()}
    union = np.unique(np.concatenate([np.empty(0, dtype=np.intp), *places.values()]))
    frame = _joined(take(union))
    return StateByName(
        {
            name: KeptRows((_chosen(frame, np.searchsorted(union, own), badness[name][own]),), most)
            for name, own in places.items()
        }
    )


def _chosen(frame: pd.DataFrame, places: IndexArray, badness: FloatArray) -> pd.DataFrame:
    return frame.iloc[places].assign(**{_BADNESS: badness})


def _worst_places(badness: FloatArray, ids: ArrowTexts, most: int) -> IndexArray:
    known = np.flatnonzero(~np.isnan(badness))
    if known.size > most:
        # Only rows as bad as the last one that is kept are put in the order of their ids.
        last = np.partition(badness[known], known.size - most)[known.size - most]
        known = known[badness[known] >= last]
    arrow, compute = import_pyarrow(), import_arrow_module("compute")
    table = arrow.table({_BADNESS: badness[known], QUERY_ID: ids.take(arrow.array(known))})
    # Of a metric of 0 and 1 most rows are equally bad, so not all of them are put in order.
    keys = [(_BADNESS, "descending"), (QUERY_ID, "ascending")]
    order = compute.select_k_unstable(table, most, keys).to_numpy()
    return np.asarray(known[order], dtype=np.intp)


def _joined(evaluations: Sequence[EvaluationSubset]) -> pd.DataFrame:
    """Scores and details of each side in one frame, with the number of the side before names."""
    index = evaluations[0].scores.index
    parts = [
        frame.set_axis(index, axis=0).add_prefix(f"{side}{kind}:")
        for side, evaluation in enumerate(evaluations)
        for kind, frame in (("score", evaluation.scores), ("detail", evaluation.details))
    ]
    return pd.concat(parts, axis=1)


def kept_evaluations(
    state: StateByName | None, scans: Sequence[DescribedScan]
) -> tuple[EvaluationSubset, ...]:
    """The kept rows of all metrics as an evaluation of each table.

    Parameters
    ----------
    state : StateByName, optional
        What `WorstOfEach`, `WorseOfEach` or `WidestOfEach` gave.
    scans : sequence of DescribedScan
        The tables.
    """
    frames = [] if state is None else [kept.rows() for kept in state.states.values()]
    rows = pd.concat(frames) if frames else pd.DataFrame()
    rows = rows[~rows.index.duplicated()].sort_index()
    return tuple(_evaluation_of(rows, side, scan) for side, scan in enumerate(scans))


def _evaluation_of(rows: pd.DataFrame, side: int, scan: DescribedScan) -> EvaluationSubset:
    scores, details = (_columns(rows, f"{side}{kind}:") for kind in ("score", "detail"))
    head = scan.head
    return EvaluationSubset(
        head.name,
        scores,
        like_memory(details, head.details),
        {name: metric for name, metric in head.metrics.items() if name in scores},
        head.config,
    )


def _columns(rows: pd.DataFrame, prefix: str) -> pd.DataFrame:
    names = [name for name in rows.columns if str(name).startswith(prefix)]
    return rows[names].rename(columns=lambda name: str(name).removeprefix(prefix))
