"""Scans side by side as the lineup of a ranking: its blocks are counted by `Sides`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from rageval_report.analysis.cluster_labels import Clusters, unnamed_clusters
from rageval_report.analysis.comparing.pairing import (
    MissingTreatment,
    notes_on_bounds,
    require_bounds,
    shared_metrics,
)
from rageval_report.analysis.ranking.lineup import (
    check_several,
    choose_shared_metrics,
    common_metrics,
    note_on_lone_metrics,
    note_on_lone_queries,
)
from rageval_report.analysis.ranking.ranked_columns import RankedColumns
from rageval_report.errors import AlignmentError, named
from rageval_report.scale.sides import Sides, grid_notes
from rageval_report.scale.tables import to_pandas
from rageval_report.scores import Metric
from rageval_report.scores.guard import doubts_of
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.stats.clusters import ClusteredStandardError
from rageval_report.stats.columns import Column
from rageval_report.stats.many_pairs import FriedmanResult
from rageval_report.stats.pairs import Pairs
from rageval_report.stats.units import Units
from rageval_report.types import IntArray

if TYPE_CHECKING:
    from rageval_report.scale.scan import EvaluationScan

# From this loss of the spread of ranks by ties on a note says so, as in memory.
_MOST_TIED = 0.1


@dataclass(frozen=True, eq=False)
class CountedLineup:
    """Scans side by side, with the names of a `Lineup`.

    Parameters
    ----------
    runs : sequence of EvaluationScan
        The pipelines.
    metrics : dict of str to tuple of Metric
        The metrics that all have, by the first one's name.
    chosen : list of str
        Those that are ranked.
    sides : Sides
        Their tables, with the metrics that are ranked.
    clusters : str, Series or mapping, optional
        As in `rank`.
    """

    runs: Sequence[EvaluationScan]
    metrics: dict[str, tuple[Metric, ...]]
    chosen: list[str]
    sides: Sides
    clusters: Clusters | None

    @classmethod
    def of(
        cls,
        runs: Sequence[EvaluationScan],
        metrics: str | Iterable[str] | None,
        missing: MissingTreatment,
        clusters: Clusters | None,
    ) -> CountedLineup:
        """The pipelines; one without any score of a common query is not ranked on a metric.

        Raises
        ------
        AlignmentError
            If no query, or no metric, is in all of them.
        """
        heads, tables = [run.head for run in runs], [run.table for run in runs]
        check_several([run.name for run in runs])
        for other in heads[1:]:
            shared_metrics(heads[0], other, None)  # or an error that names the two
        common = common_metrics(heads)
        chosen = choose_shared_metrics(heads[0].metrics, common, metrics)
        own = [common[name] for name in chosen]
        ranked = [
            [p for p, table in enumerate(tables) if known[p].name in table.ranges] for known in own
        ]
        sides = replace(Sides.of(tables, own, missing, clusters), ranked=ranked)
        n = sides.n_common
        if not n:
            raise AlignmentError(
                f"no query is in all {len(runs)} pipelines; of the ids, "
                + "; ".join(f"{head.name!r} has {named(head.scores.index, 3)}" for head in heads)
                + ". Rank fewer of them, or compare them two by two"
            )
        kept = [
            [p for p in places if sides.n_unscored(i, p) < n - sides.n(f"n{i}")]
            for i, places in enumerate(ranked)
        ]
        sides = sides if kept == ranked else replace(sides, ranked=kept)
        return cls(runs, common, chosen, sides, clusters)

    @property
    def names(self) -> tuple[str, ...]:
        """The pipelines."""
        return tuple(run.name for run in self.runs)

    @property
    def n_queries(self) -> int:
        """The number of queries that all have."""
        return self.sides.n_common

    @property
    def missing(self) -> MissingTreatment:
        """The treatment of an unscored query."""
        return self.sides.missing

    @property
    def ids(self) -> NoReturn:
        """Raises `DataError`: the queries are not in memory one by one."""
        raise self.runs[0].needs_memory("what shows every query of a ranking")

    def block(self, name: str) -> CountedBlock:
        """The scores of one metric on the queries that every pipeline scored."""
        if name not in self.chosen:
            raise self.runs[0].needs_memory(f"{name}, which was not ranked,")
        i = self.chosen.index(name)
        metric, ranked, sides = self.metrics[name][0], self.sides.scored(i), self.sides
        unscored = np.array([sides.n_unscored(i, p) for p in ranked], dtype=np.int64)
        if self.missing == "worst" and unscored.any():
            require_bounds(metric)
        return CountedBlock(
            metric,
            tuple(self.names[p] for p in ranked),
            unscored,
            tuple(own for p, own in enumerate(self.names) if p not in ranked),
            sides.n(f"n{i}"),
            sides.units,
            CountedColumns(sides, i, self.runs[0]),
        )

    def extreme_means(self, metric: Metric, pipeline: str) -> tuple[float, float]:
        """The mean of all common queries if missing scores were as low, or high, as they can be."""
        i, p = self.chosen.index(metric.name), self.names.index(pipeline)
        parts = [self.sides.column(f"{kind}{i}_{p}") for kind in "so"]
        total = sum(part.mean * part.n for part in parts if part.n)
        n, n_scored = self.n_queries, sum(part.n for part in parts)
        low, high = ((total + (n - n_scored) * end) / n for end in require_bounds(metric))
        return low, high

    @property
    def notes(self) -> tuple[str, ...]:
        """Doubts, clusters, and the queries and metrics that not all pipelines have."""
        heads = [run.head for run in self.runs]
        columns = [(name, self.block(name).columns.pairs) for name in self.chosen]
        return (
            *doubts_of(heads),
            *unnamed_clusters(self.runs[0], self.clusters),
            *self._lone_queries(),
            *note_on_lone_metrics(heads, self.metrics),
            *notes_on_bounds(heads, self.metrics.values()),
            *grid_notes({name: pairs[0].differences for name, pairs in columns if pairs}),
        )

    def _lone_queries(self) -> Iterator[str]:
        import narwhals as nw

        tables = [run.table for run in self.runs]
        if all(table.n_rows == self.n_queries for table in tables):
            return
        ids = [table.frame.select(QUERY_ID) for table in tables]
        every = to_pandas(nw.concat(ids).unique().select(nw.len().alias("n")))
        common = self.sides.rows.select(QUERY_ID)
        alone = [
            to_pandas(own.join(common, on=QUERY_ID, how="anti").sort(QUERY_ID).head(6))
            for own in ids
        ]
        shown = dict.fromkeys(str(i) for rows in alone for i in rows[QUERY_ID])
        yield note_on_lone_queries([*shown], int(every["n"].iloc[0]) - self.n_queries)


@dataclass(frozen=True, eq=False)
class CountedColumns(RankedColumns):
    """The scores of one metric on the queries that every pipeline scored, counted."""

    sides: Sides
    i: int
    first: EvaluationScan

    @cached_property
    def columns(self) -> list[Column]:
        """The scores of each pipeline."""
        return [self.sides.column(f"s{self.i}_{p}") for p in self.sides.scored(self.i)]

    @cached_property
    def pairs(self) -> list[Pairs]:
        """All pairs, in the order of `AllPairs`."""
        places = combinations(self.sides.scored(self.i), 2)
        return [self.sides.pairs(self.i, p, q) for p, q in places]

    @property
    def are_clusters(self) -> bool:
        """Whether queries belong together."""
        return self.sides.clusters is not None

    def error(self, place: int) -> ClusteredStandardError | None:
        """The standard error of the mean of a column by clusters."""
        return self.sides.error(f"s{self.i}_{self.sides.scored(self.i)[place]}")

    def alone_best(self, *, greater_is_better: bool) -> IntArray:
        """On how many queries each column is better than all others."""
        del greater_is_better  # the queries were counted by the direction of the metric
        return np.array([self.sides.n(f"w{self.i}_{p}") for p in self.sides.scored(self.i)])

    def friedman(self, *, greater_is_better: bool) -> FriedmanResult:
        """Friedman's test, from the wins of all pairs and the spread of the ranks."""
        from scipy.special import chdtrc

        if self.are_clusters:
            raise self.first.needs_memory("Friedman's test of clusters")
        k, n, sign = len(self.columns), self.n, 1.0 if greater_is_better else -1.0
        sums = np.zeros(k)
        for (first, second), pair in zip(combinations(range(k), 2), self.pairs, strict=True):
            lead = sign * (pair.wins - pair.losses) / 2
            sums[first] += lead
            sums[second] -= lead
        squares = self.sides.column(f"v{self.i}")
        spread = squares.mean * squares.n / 4
        statistic = (k - 1) * float(sums @ sums) / spread if spread else 0.0
        lost = 1.0 - spread / (n * k * (k * k - 1) / 12)
        note = (
            f"ties take {lost:.0%} of the spread of the ranks: Nemenyi's critical difference, made "
            "for ranks without ties, is too large; all_pairs_test compares means"
        )
        return FriedmanResult(
            statistic=statistic,
            pvalue=float(chdtrc(k - 1, statistic)),
            degrees_of_freedom=k - 1,
            n=n,
            concordance=statistic / (n * (k - 1)),
            average_ranks=sums / n + (k + 1) / 2,
            notes=(note,) if lost > _MOST_TIED else (),
        )


@dataclass(frozen=True, eq=False)
class CountedBlock:
    """One metric of scans; a `RankedBlock`."""

    metric: Metric
    names: tuple[str, ...]
    unscored: IntArray
    empty: tuple[str, ...]
    n_not_applicable: int
    units: Units
    columns: CountedColumns

    @property
    def values(self) -> Any:
        """Raises `DataError`: the scores are not in memory one by one."""
        raise self.columns.first.needs_memory("what resamples a ranking")

    complete = is_complete = values
