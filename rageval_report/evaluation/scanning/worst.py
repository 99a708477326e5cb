"""The queries on the wrong side of a threshold: the worst of them, and all in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from rageval_report._registry import import_arrow_module, import_pyarrow
from rageval_report.analysis.arguments import choose_metrics, is_percentile, threshold_value
from rageval_report.analysis.breakdown import check_cause, failure_causes
from rageval_report.analysis.evaluation_subset import EvaluationSubset
from rageval_report.analysis.thresholds import failures
from rageval_report.evaluation.scanning.cell_kinds import (
    as_kinds,
    kinds_of_parts,
    like_memory,
    texts_to_convert,
)
from rageval_report.evaluation.scanning.part_states import PartEvaluation
from rageval_report.evaluation.scanning.profile import ScanProfile, ranked_scores
from rageval_report.evaluation.scanning.tables_in_files import (
    check_table_path,
    schema_of_kinds,
    write_tables,
)
from rageval_report.results import Result
from rageval_report.scale.engines.base import Engine
from rageval_report.scale.pieces import ArrowTable
from rageval_report.scale.score_rows import ScoreRows
from rageval_report.scores import Metric, Scored
from rageval_report.scores.catalogue.dialects import note_on_percentiles, percentile_method
from rageval_report.scores.correct_notion import CorrectNotion, find_notion
from rageval_report.scores.query_ids import check_known_ids
from rageval_report.stats.means.column_description import (
    PercentileMethod,
    percentile_ranks,
    percentiles_by_rank,
)

MOST_WORST = 1000


@dataclass(frozen=True, eq=False)
class WorstRows:
    """The number of rows on the wrong side, and the worst of them.

    Parameters
    ----------
    n : int
        The number of all.
    rows : DataFrame
        The worst, the first one first.
    most : int
        How many are kept.
    column : str
        The metric.
    ascending : bool
        Whether the smallest score is the worst.
    named : frozenset of str
        The queries that the caller names and that the rows have, whatever their score.
    """

    n: int
    rows: pd.DataFrame
    most: int
    column: str
    ascending: bool
    named: frozenset[str] = frozenset()

    def __add__(self, other: WorstRows) -> WorstRows:
        """Those of both parts; of equal scores the earlier rows go first."""
        total = replace(self, n=self.n + other.n, named=self.named | other.named)
        both = [part.rows for part in (self, other) if len(part.rows)]
        if not both:
            return total
        rows = pd.concat(both) if len(both) > 1 else both[0]
        rows = rows.sort_values(self.column, ascending=self.ascending, kind="stable")
        return replace(total, rows=rows.head(self.most))


@dataclass(frozen=True)
class FailureCause:
    """One cause of failures.

    Parameters
    ----------
    name : str
        As in `rageval_report.analysis.breakdown.CAUSES`.
    k : int
        The number of results from which the answer was generated.
    notion : CorrectNotion, optional
        What a correct answer is.
    """

    name: str
    k: int
    notion: CorrectNotion | None

    @classmethod
    def of(cls, head: Scored, name: str, k: int) -> FailureCause:
        """The cause, if it is known of the first rows.

        Raises
        ------
        DataError
            If the metrics of causes are missing.
        UnknownNameError
            If no cause has this name.
        """
        failure_causes(head, k=k)
        return cls(check_cause(name), k, find_notion(head))

    def is_met(self, evaluation: Scored) -> pd.Series:
        """Whether each query fails for this cause."""
        return failure_causes(evaluation, k=self.k, correct=self.notion) == self.name


@dataclass(frozen=True)
class WorstInPart:
    """Selects the rows on the wrong side of a threshold, or those of them that are named."""

    parts: PartEvaluation
    metric: Metric
    threshold: float
    most: int
    ids: frozenset[str] | None = None
    cause: FailureCause | None = None

    def __call__(self, rows: ScoreRows) -> WorstRows:
        """The worst of some rows."""
        chosen = self._named(rows)
        listed = self._wrong(chosen)
        return WorstRows(
            len(listed),
            listed.head(self.most),
            self.most,
            self.metric.name,
            self.metric.greater_is_better,
            frozenset() if self.ids is None else frozenset(chosen.ids.to_pylist()),
        )

    def failures(self, rows: ScoreRows) -> pd.DataFrame:
        """All rows on the wrong side, the worst first."""
        return self._wrong(self._named(rows))

    def _named(self, rows: ScoreRows) -> ScoreRows:
        if self.ids is None:
            return rows
        wanted = import_pyarrow().array(sorted(self.ids), type=rows.ids.type)
        is_named = import_arrow_module("compute").is_in(rows.ids, value_set=wanted)
        return rows.take(is_named.to_numpy(zero_copy_only=False))

    def _wrong(self, rows: ScoreRows) -> pd.DataFrame:
        values = rows.scores[self.metric.name]
        is_better = self.metric.greater_is_better
        wrong = values < self.threshold if is_better else values > self.threshold
        selected = rows.take(wrong)
        evaluation = self.parts.of(selected, with_ids=True)
        only = None if self.cause is None else self.cause.is_met(evaluation)
        return failures(evaluation, self.metric.name, self.threshold, only).frame


def threshold_of(
    profile: ScanProfile,
    engine: Engine,
    metric: Metric,
    threshold: float | str,
    method: PercentileMethod,
) -> float:
    """A threshold as a number: itself, or a statistic of all scores."""
    state = profile.states[metric.name]
    nothing = np.empty(0)
    if not isinstance(threshold, str):
        return threshold_value(metric, nothing, threshold)
    if threshold.strip().lower() == "mean" and state.n:
        return state.moments.mean
    if not is_percentile(threshold) or not state.n:
        return threshold_value(metric, nothing, threshold)  # which refuses it
    spelled = threshold.strip().lower()
    percentile = 50.0 if spelled == "median" else float(spelled[1:])
    ranks = percentile_ranks(state.n, (percentile,), method)
    ranked = ranked_scores(profile, engine, {metric.name: ranks})[metric.name]
    return float(percentiles_by_rank(state.n, (percentile,), method, ranked.at_ranks)[0])


def failures_of_scan(
    profile: ScanProfile,
    engine: Engine,
    metric: str,
    threshold: float | str,
    *,
    k: int = MOST_WORST,
    method: PercentileMethod | None = None,
    query_ids: Iterable[str] | None = None,
    path: str | Path | None = None,
    cause: str | None = None,
    n_results: int = 5,
) -> Result:
    """The queries on the wrong side of a threshold: their number, and the k worst.

    Parameters
    ----------
    profile : ScanProfile
        What one pass found.
    engine : Engine
        The engine of the pass over the rows.
    metric, threshold, method
        As in `rageval_report.analysis.thresholds.failures`.
    k : int
        How many are in the table.
    query_ids : iterable of str, optional
        Only these queries; the threshold is computed from all.
    path : str or Path, optional
        A file for all of them, .parquet or .csv, in the order of the rows of the table.
    cause : str, optional
        Only the queries that fail for it.
    n_results : int
        The number of results from which the answer was generated.
    """
    target = check_table_path(path)
    head = profile.described.head
    known = choose_metrics(head, metric)[0]
    rule = method or percentile_method(head)
    cut = threshold_of(profile, engine, known, threshold, rule)
    shape = profile.described.table.shape
    parts = PartEvaluation(head.name, profile.described.metrics, shape.detail_names)
    ids = None if query_ids is None else list(dict.fromkeys(map(str, query_ids)))
    why = None if cause is None else FailureCause.of(head, cause, n_results)
    partial = WorstInPart(parts, known, cut, k, None if ids is None else frozenset(ids), why)
    names, details = list(profile.described.metrics), list(shape.detail_names)
    worst = engine.fold(profile.described.table, partial, names, details)
    only = [] if why is None else [f"only failures of {why.name}"]
    if ids is not None:
        check_known_ids(ids, frozenset() if worst is None else worst.named)
        only.append(f"only {len(ids)} named {'query' if len(ids) == 1 else 'queries'}")
    if target is not None:
        _write_all(profile, partial, target)
    nothing = EvaluationSubset(
        head.name, head.scores[:0], head.details[:0], dict(profile.described.metrics)
    )
    shown = failures(nothing, known.name, cut)
    frame = shown.frame if worst is None or not worst.n else like_memory(worst.rows, head.details)
    n_failed = 0 if worst is None else worst.n
    percentile_notes = note_on_percentiles(head, rule) if is_percentile(threshold) else ()
    rest = _note_on_rest(n_failed, len(frame), path)
    return replace(
        shown,
        frame=frame,
        settings={**shown.settings, "threshold_rule": str(threshold)}
        | ({"percentile_method": rule} if is_percentile(threshold) else {}),
        notes=(*_counts(profile, known, cut, n_failed), *percentile_notes, *only, *rest),
    )


def _counts(profile: ScanProfile, metric: Metric, cut: float, n_failed: int) -> Iterator[str]:
    state = profile.states[metric.name]
    side = "below" if metric.greater_is_better else "above"
    yield f"{n_failed} of {state.n} scored queries lie {side} {cut:.4g} on {metric.name}"
    if state.n_unscored:
        verb = "query is" if state.n_unscored == 1 else "queries are"
        yield f"{state.n_unscored} {verb} unscored on {metric.name}, and not listed"


def _note_on_rest(n_failed: int, n_shown: int, path: str | Path | None) -> tuple[str, ...]:
    if n_shown >= n_failed:
        return ()
    where = f"all are in {path}" if path else 'path="failures.parquet" writes all'
    return (f"the table has the {n_shown} worst; {where}",)


def _write_all(profile: ScanProfile, partial: WorstInPart, path: Path) -> None:
    """Write the failures part by part, and put the file in its place when it is whole."""
    described = profile.described
    names, details = list(described.metrics), list(described.table.shape.detail_names)

    def frames() -> Iterator[pd.DataFrame]:
        for rows in described.table.rows(names, details):
            yield partial.failures(rows).reset_index()

    first = next(frames())
    texts = texts_to_convert(first, described.head.details)
    kinds = kinds_of_parts(frames(), texts) if texts else {}
    arrow = import_pyarrow()
    schema = schema_of_kinds(arrow.Table.from_pandas(first).schema, kinds)

    def tables() -> Iterator[ArrowTable]:
        for frame in frames():
            if len(frame):
                table = arrow.Table.from_pandas(as_kinds(frame, kinds), preserve_index=False)
                yield table.cast(schema)

    write_tables(path, tables(), schema)
