"""Gates of scanned pipelines: figures from states, or from another pass over the files."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from rageval_report.analysis.comparing.pairing import require_bounds
from rageval_report.analysis.gates.columns import (
    GateColumn,
    GatedRun,
    GateSettings,
    Measurement,
    ScoresBeyond,
)
from rageval_report.analysis.gates.failing_queries import FailingRows
from rageval_report.errors import DataError
from rageval_report.evaluation.scanning.clustered import (
    SCORED,
    UNSCORED,
    AnswerStates,
    ClusteredColumn,
    ClusterReader,
    ShareStates,
    clustered_columns,
    share_of_clusters,
)
from rageval_report.evaluation.scanning.description import DescribedScan
from rageval_report.evaluation.scanning.matched_tables import ids_of_table_among
from rageval_report.evaluation.scanning.part_states import (
    CorrectInPart,
    PartEvaluation,
    ScoresInBrackets,
    columns_of_notion,
)
from rageval_report.evaluation.scanning.profile import ScanProfile, profile_of
from rageval_report.evaluation.scanning.single import column_of_state
from rageval_report.evaluation.scanning.worst import MOST_WORST
from rageval_report.scale.engines.base import Engine, PairedColumns
from rageval_report.scale.match_keys import add_texts
from rageval_report.scale.pairs import PairedRows
from rageval_report.scale.score_rows import ScoreRows
from rageval_report.scores import Metric
from rageval_report.scores.catalogue.dialects import percentile_method
from rageval_report.scores.correct import HOW_TO_SAY
from rageval_report.scores.correct_notion import (
    CorrectCounts,
    CorrectNotion,
    declare_counts,
    find_notion,
    why_unknown,
)
from rageval_report.scores.states import NOT_APPLICABLE
from rageval_report.scores.text_matching import lone_id
from rageval_report.stats.base import Interval
from rageval_report.stats.means.column_description import percentile_ranks
from rageval_report.stats.means.counted_share import interval_of_count
from rageval_report.stats.means.intervals import described_intervals
from rageval_report.stats.means.moments import Moments
from rageval_report.stats.means.quantiles import quantile_ranks
from rageval_report.stats.states.metric_state import MetricState
from rageval_report.stats.states.order_brackets import bracket_ranks, in_brackets
from rageval_report.types import FloatArray, IndexArray


@dataclass(frozen=True)
class CountBeyond:
    """Counts the scores beyond a threshold."""

    metric: str
    holds: ScoresBeyond

    def __call__(self, rows: ScoreRows) -> int:
        """The count of some rows; NaN is beyond nothing."""
        return int(np.count_nonzero(self.holds(rows.scores[self.metric])))


@dataclass(frozen=True)
class SelectInPart:
    """Selects queries of some rows, by a function of the run that they are."""

    parts: PartEvaluation
    settings: GateSettings
    select: Callable[[GatedRun], Any]

    def __call__(self, rows: ScoreRows) -> Any:
        """Those of some rows."""
        return self.select(GatedRun(self.parts.of(rows, with_ids=True), self.settings))


# Before an id that is not one of the baseline.
_LONE = "\x1f"


@dataclass(frozen=True)
class RowsOfCandidate:
    """Runs a function of the rows of a candidate, whose ids are those of the baseline.

    Parameters
    ----------
    partial : callable
        Takes `ScoreRows`.
    """

    partial: Callable[[ScoreRows], Any]

    def __call__(self, rows: PairedRows) -> Any:
        """The state of some rows, those that the baseline lacks included, with marked ids."""
        common = self.partial(replace(rows.after, ids=rows.before.ids))
        if not len(rows.only_after):
            return common
        lone = replace(rows.only_after, ids=add_texts(_LONE, rows.only_after.ids))
        return common + self.partial(lone)


@dataclass(frozen=True, eq=False)
class ScannedColumn(GateColumn):
    """One metric of a scanned pipeline.

    Parameters
    ----------
    metric, n, n_unscored, n_not_applicable, settings, percentile_method
        As in `GateColumn`.
    profile : ScanProfile
        What one pass over the table found.
    engine : Engine
        The engine of another pass, for scores that are known by sums only.
    reader : ClusterReader, optional
        What reads the table with its clusters.
    clusters : callable, optional
        Gives the sums by cluster; the files are read when it is first called.
    """

    profile: ScanProfile = field(kw_only=True)
    engine: Engine = field(kw_only=True)
    reader: ClusterReader | None = field(kw_only=True, default=None)
    clusters: Callable[[], ClusteredColumn] | None = field(kw_only=True, default=None)

    @cached_property
    def _worst(self) -> float | None:
        """The score of each query without one, with missing="worst"; None if these do not count."""
        if self.settings.missing != "worst" or not self.n_unscored:
            return None
        return require_bounds(self.metric)[0 if self.metric.greater_is_better else 1]

    @cached_property
    def _filled(self) -> FloatArray:
        """The worst score for each missing one, with missing="worst"."""
        return np.empty(0) if self._worst is None else np.full(self.n_unscored, self._worst)

    @property
    def n_clusters(self) -> int:
        """The number of clusters of the scored queries; 0 if each query counts by itself."""
        return 0 if self.clusters is None else int(self.clusters().scored.keys.size)

    @cached_property
    def state(self) -> MetricState:
        """The state of the scores, those for missing ones included."""
        state = self.profile.states[self.metric.name]
        return MetricState((state + MetricState.of(self._filled)).scores)

    @property
    def values(self) -> FloatArray:
        """The scores one by one; `DataError` if only their sums are known, or they are too many."""
        scores = self.state.scores
        if scores.values is not None:
            return scores.listed()
        return scores.counted().listed("this figure")

    @cached_property
    def moments(self) -> Moments:
        """Their number, mean, spread and extremes."""
        return self.state.moments

    def mean_interval(self) -> Interval:
        """Their mean with its interval."""
        settings = self.settings
        if self.clusters is not None and self.state.n:
            mean = self.clusters().mean(self.metric, self.moments, self._worst)
            return mean.interval(confidence_level=settings.confidence_level)
        return described_intervals(
            [column_of_state(self.metric, self.state)],
            confidence_level=settings.confidence_level,
            n_resamples=settings.n_resamples,
            seed=settings.seed,
        )[0]

    def share_interval(self, holds: ScoresBeyond) -> Interval:
        """The share of the scores that lie beyond a threshold, with its interval."""
        scores, level = self.state.scores, self.settings.confidence_level
        if self.clusters is not None and self.reader is not None:
            return self._share_of_clusters(self.clusters(), self.reader, holds)
        if scores.sums is None:
            counted = scores.counted()
            n_true = int(counted.counts[holds(counted.scores)].sum())
        else:
            name = self.metric.name
            table = self.profile.described.table
            counted_rows = self.engine.fold(table, CountBeyond(name, holds), [name], with_ids=False)
            n_true = (counted_rows or 0) + int(np.count_nonzero(holds(self._filled)))
        return interval_of_count(n_true, scores.n, level)

    def _share_of_clusters(
        self, clusters: ClusteredColumn, reader: ClusterReader, holds: ScoresBeyond
    ) -> Interval:
        name, table = self.metric.name, self.profile.described.table
        sums = reader.fold(table, ShareStates(name, holds), [name], [])
        if sums is None:
            return interval_of_count(0, 0, self.settings.confidence_level)
        if self._worst is not None:
            sums = sums + clusters.unscored.times(float(holds(np.array([self._worst]))[0]))
        return share_of_clusters(sums, self.settings.confidence_level)

    def unscored_interval(self) -> Interval:
        """The share of the queries without a score, with its interval."""
        if self.clusters is not None:
            known = self.clusters()
            sums = known.scored.times(0.0) + known.unscored.times(1.0)
            return share_of_clusters(sums, self.settings.confidence_level)
        n = self.n + self.n_unscored
        return interval_of_count(self.n_unscored, n, self.settings.confidence_level)

    @cached_property
    def _known_ranks(self) -> dict[int, float]:
        """Scores that were looked up, by rank."""
        return {}

    def at_ranks(self, ranks: IndexArray) -> FloatArray:
        """The scores at places of the sorted scores, counted from 0."""
        scores, places = self.state.scores, np.asarray(ranks)
        if scores.steps is not None:
            return scores.steps.at_ranks(places)
        if scores.values is not None:
            return np.asarray(np.sort(scores.listed())[places])
        self._look_up(places)
        return np.array([self._known_ranks[int(rank)] for rank in places.ravel()]).reshape(
            places.shape
        )

    def percentile(self, percentile: float) -> float:
        """A percentile of the scores; NaN if there are none."""
        if self.state.scores.sums is not None:
            # The ranks of the percentile and of its interval, in one pass.
            wanted = [percentile_ranks(self.state.n, (percentile,), self.percentile_method)]
            if 0 < percentile < 100:
                level = self.settings.confidence_level
                wanted.append(
                    quantile_ranks(self.state.n, percentile / 100, confidence_level=level)
                )
            self._look_up(np.concatenate(wanted))
        return super().percentile(percentile)

    def _look_up(self, ranks: IndexArray) -> None:
        known = self._known_ranks
        missing = np.array(sorted({*ranks.ravel().tolist()} - {*known}), dtype=np.intp)
        if not missing.size:
            return
        sums, name = self.state.scores.summed(), self.metric.name
        brackets = bracket_ranks(sums, missing)
        total = self.engine.fold(
            self.profile.described.table, ScoresInBrackets({name: brackets}), [name], with_ids=False
        )
        states = {} if total is None else total.states
        inside = [
            np.concatenate([states[name, place].joined(), bracket.select(self._filled)])
            for place, bracket in enumerate(brackets)
        ]
        values = in_brackets(brackets, inside)(missing)
        known.update(zip(missing.tolist(), values.tolist(), strict=True))


class ScannedRun(GatedRun):
    """A scanned pipeline, as rules take it.

    Parameters
    ----------
    profile : ScanProfile
        What one pass over the table found.
    engine : Engine
        What reads it again, where a rule needs it.
    settings : GateSettings
        The settings of the gate.
    reader : ClusterReader, optional
        What reads it with its clusters.
    """

    def __init__(
        self,
        profile: ScanProfile,
        engine: Engine,
        settings: GateSettings,
        reader: ClusterReader | None = None,
    ):
        super().__init__(profile.described.head, settings)
        object.__setattr__(self, "profile", profile)
        object.__setattr__(self, "engine", engine)
        object.__setattr__(self, "reader", reader)

    profile: ScanProfile
    engine: Engine
    reader: ClusterReader | None

    most_rows: ClassVar[int | None] = MOST_WORST

    def select_rows(self, select: Callable[[GatedRun], Any]) -> Any:
        """What a function selects of each part of the queries, added up; the files are read."""
        described = self.profile.described
        details = described.table.shape.detail_names
        return self.engine.fold(
            described.table,
            SelectInPart(self._parts, self.settings, select),
            list(described.metrics),
            list(details),
        )

    @property
    def _parts(self) -> PartEvaluation:
        described = self.profile.described
        return PartEvaluation(
            described.head.name, described.metrics, described.table.shape.detail_names
        )

    def column(self, metric: Metric) -> GateColumn:
        """One metric's scores, as figures take them."""
        profile = self.profile
        states: Mapping[str, int] = profile.unscored.states.get(metric.name, {})
        n_not_applicable = states.get(NOT_APPLICABLE, 0)
        state = profile.states[metric.name]
        clusters = None if self.reader is None else lambda: self._clusters[metric.name]
        return ScannedColumn(
            *(metric, state.n, state.n_unscored - n_not_applicable, n_not_applicable),
            self.settings,
            percentile_method(self.evaluation),
            profile=profile,
            engine=self.engine,
            reader=self.reader,
            clusters=clusters,
        )

    @cached_property
    def _clusters(self) -> dict[str, ClusteredColumn]:
        """The sums by cluster of all metrics."""
        if self.reader is None:
            return {}
        metrics = list(self.profile.described.metrics.values())
        return clustered_columns(self.profile, self.reader, metrics)

    @cached_property
    def _notion(self) -> CorrectNotion | None:
        return find_notion(self.evaluation, self.settings.correct)

    @cached_property
    def _correct_counts(self) -> CorrectCounts:
        """How many queries are correct; another pass if the rule is not that of the scan."""
        notion, profile = self._notion, self.profile
        if notion is None:
            head = self.evaluation
            why = why_unknown(head) or f"{head.name!r} has no metric of correct answers"
            raise DataError(f"{why}. {HOW_TO_SAY}")
        if profile.right is not None and notion == profile.notion:
            return profile.right
        described = profile.described
        columns = columns_of_notion(notion, described.table.shape.detail_names)
        counts = self.engine.fold(
            described.table,
            CorrectInPart(self._parts, notion),
            list(described.metrics),
            list(columns),
            with_ids=callable(notion.rule),
        )
        return counts or CorrectCounts(0, 0, 0)

    def correct_share(self) -> Measurement:
        """The share of correct answers, with its interval."""
        counts = self._correct_counts
        n = counts.n_correct + counts.n_incorrect
        if self.reader is not None and self._notion is not None:
            return self._correct_share_of_clusters(self.reader, self._notion, counts)
        n_judged = n + (counts.n_unscored if self.settings.missing == "worst" else 0)
        level = self.settings.confidence_level
        interval = interval_of_count(counts.n_correct, n_judged, level)
        return Measurement(interval.estimate, interval.low, interval.high, n, counts.n_unscored)

    def _correct_share_of_clusters(
        self, reader: ClusterReader, notion: CorrectNotion, counts: CorrectCounts
    ) -> Measurement:
        described, level = self.profile.described, self.settings.confidence_level
        columns = columns_of_notion(notion, described.table.shape.detail_names)
        parts = replace(self._parts, columns=columns)
        total = reader.fold(
            described.table, AnswerStates(parts, notion), list(described.metrics), columns
        )
        n = counts.n_correct + counts.n_incorrect
        if total is None:
            return Measurement(math.nan, n=n, n_unscored=counts.n_unscored)
        known, unknown = total.states[SCORED], total.states[UNSCORED]
        # An answer that nobody judged counts as wrong, and not as scored.
        sums = known + unknown if self.settings.missing == "worst" else known
        interval = share_of_clusters(sums, level)
        return Measurement(
            *(interval.estimate, interval.low, interval.high, n, counts.n_unscored),
            n_clusters=int(known.keys.size),
        )

    def declare_correct(self) -> str | None:
        """What is correct, and how many queries are; None if nothing says so."""
        if self._notion is None:
            return None
        return declare_counts(self.evaluation, self._notion, self._correct_counts)


class LaterScannedRun(ScannedRun):
    """A scanned pipeline whose files are read when a rule first asks for its scores.

    Parameters
    ----------
    described : DescribedScan
        The table.
    engine : Engine
        What reads it.
    settings : GateSettings
        The settings of the gate.
    reader : ClusterReader, optional
        What reads it with its clusters.
    matched_to : DescribedScan, optional
        The baseline, if its queries are matched by a text: their ids there are shown.
    """

    def __init__(
        self,
        described: DescribedScan,
        engine: Engine,
        settings: GateSettings,
        reader: ClusterReader | None = None,
        matched_to: DescribedScan | None = None,
    ):
        GatedRun.__init__(self, described.head, settings)
        object.__setattr__(self, "matched_to", matched_to)
        object.__setattr__(self, "described", described)
        object.__setattr__(self, "engine", engine)
        object.__setattr__(self, "reader", reader)

    described: DescribedScan
    matched_to: DescribedScan | None

    def select_rows(self, select: Callable[[GatedRun], Any]) -> Any:
        """As in `ScannedRun`, with the ids of the baseline."""
        baseline = self.matched_to
        if baseline is None:
            return super().select_rows(select)
        described = self.profile.described
        details = tuple(described.table.shape.detail_names)
        rows: FailingRows | None = self.engine.fold_pairs(
            baseline.table,
            described.table,
            RowsOfCandidate(SelectInPart(self._parts, self.settings, select)),
            PairedColumns((), tuple(described.metrics), (), details),
        )
        if rows is None or not len(rows.frame):
            return rows
        index = rows.frame.index.map(str)
        lone = {query_id for query_id in index if query_id.startswith(_LONE)}
        own_ids = {query_id: query_id.removeprefix(_LONE) for query_id in lone}
        taken = ids_of_table_among(baseline, own_ids.values())
        names = {
            query_id: lone_id(described.head.name, own, taken=own in taken)
            for query_id, own in own_ids.items()
        }
        return replace(rows, frame=rows.frame.rename(index=names))

    @cached_property
    def profile(self) -> ScanProfile:  # type: ignore[override]
        """What one pass over the table finds."""
        return profile_of(self.described, self.engine)
