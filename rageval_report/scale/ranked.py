"""Scans ranked: one pass over all tables side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, NoReturn, Unpack

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import (
    RankingReportKeywords,
    check_count,
    interval_of_mean,
    mean_limits,
)
from rageval_report.analysis.cluster_labels import clusters_setting
from rageval_report.analysis.comparing.pairing import (
    MISSING_TREATMENTS,
    MissingTreatment,
    notes_on_bounds,
    require_bounds,
    shared_metrics,
)
from rageval_report.analysis.ranking.keywords import RankingKeywords
from rageval_report.analysis.ranking.leaderboard import (
    RANKING_HEADLINE,
    Ranking,
    check_aims,
    ranking_title,
)
from rageval_report.analysis.ranking.lineup import (
    check_several,
    choose_shared_metrics,
    common_metrics,
    note_on_lone_metrics,
    note_on_lone_queries,
)
from rageval_report.analysis.ranking.ranked_blocks import LeaderboardPlan, rank_blocks
from rageval_report.analysis.ranking.ranked_columns import Drawing
from rageval_report.errors import AlignmentError, DataError, check_choice, check_options, named
from rageval_report.plots import plot_named
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import MetricNames, PlotOptions, RankingPlot
from rageval_report.scale.compared import (
    check_labels,
    check_names,
    cluster_hints,
    grid_note,
    refuse_options,
    with_clusters,
)
from rageval_report.scale.counted import Range
from rageval_report.scale.paired import (
    CLUSTER,
    ROWS,
    SUMMED,
    Counts,
    difference,
    range_of,
    side_by_side,
    tie_of,
    treated,
)
from rageval_report.scale.tables import ScannedTable, needs_memory, to_pandas
from rageval_report.scores import Metric
from rageval_report.scores.catalogue.dialects import dialect_settings, note_on_dialects
from rageval_report.scores.guard import doubts_of
from rageval_report.stats.base import Interval, check_level, check_resamples, check_seed
from rageval_report.stats.columns import Column
from rageval_report.stats.corrections import check_correction
from rageval_report.stats.many_pairs import AllPairs, FriedmanResult, run_all_tests
from rageval_report.stats.pairs import Pairs
from rageval_report.stats.units import QUERIES, Units, error_of_sums, interval_of_error
from rageval_report.types import FloatArray, IntArray

if TYPE_CHECKING:
    import narwhals as nw
    from matplotlib.axes import Axes

    from rageval_report.reports.report import Report
    from rageval_report.scale.counted import LazyTable

_ALL = Range(0.0, 0.0)
# From this loss of the spread of ranks by ties on a note says so, as in memory.
_MOST_TIED = 0.1


def rank_scans(
    tables: Sequence[ScannedTable], **options: Unpack[RankingKeywords]
) -> ScannedRanking:
    """The ranking of scanned pipelines, as that of evaluations in memory.

    Parameters
    ----------
    tables : sequence of ScannedTable
        The pipelines, of one engine.
    **options
        As in `rageval_report.rank`.

    Raises
    ------
    DataError
        If an option needs every score in memory.
    AlignmentError
        If no query, or no metric, is in all of them.
    """
    check_options("rank()", options, RankingKeywords.__annotations__)
    names, heads = [table.name for table in tables], [table.head for table in tables]
    check_several(names)
    check_names(names)
    plan = _plan(tables[0], options)
    for other in heads[1:]:
        shared_metrics(heads[0], other, None)  # or an error that names the two
    shared = common_metrics(heads)
    chosen = choose_shared_metrics(heads[0].metrics, shared, options.get("metrics"))
    aims = options.get("weights"), options.get("objectives"), options.get("margins")
    plan = replace(plan, margins=check_aims(heads, shared, *aims))
    first, clusters = with_clusters(tables[0], options.get("clusters"))
    metrics = {name: shared[name] for name in chosen}
    lineup = ScannedLineup.of([first, *tables[1:]], metrics, plan.missing, clusters)
    blocks = {name: ScannedBlock.of(lineup, place) for place, name in enumerate(metrics)}
    ranked = rank_blocks(
        blocks, lineup, metrics, plan, _no_flips, are_requested=options.get("metrics") is not None
    )
    return ScannedRanking(
        ranking_title(names),
        pd.DataFrame(ranked.rows),
        {**ranked.settings, **dialect_settings(heads), "engine": first.engine},
        (
            *note_on_dialects(heads),
            *doubts_of(heads),
            *cluster_hints(first, options.get("clusters")),
            *lineup.notes(),
            *note_on_lone_metrics(heads, shared),
            *notes_on_bounds(heads, shared.values()),
            *ranked.notes,
            *grid_note(
                {
                    name: block.columns.pairs[0].differences
                    for name, block in blocks.items()
                    if block.columns.pairs
                }
            ),
        ),
        headline=RANKING_HEADLINE,
        grouped_by="metric" if len(blocks) > 1 else "",
        blocks=blocks,
        tests=ranked.tests,
        weights=aims[0],
        objectives=aims[1],
        margins=aims[2],
        levels=ranked.levels,
        scanned=lineup,
    )


def _plan(table: ScannedTable, options: RankingKeywords) -> LeaderboardPlan:
    correction = check_correction(options.get("correction", "holm"))
    refuse_options(table, options.get("on"), correction)
    missing = options.get("missing", "drop")
    check_choice("missing", missing, MISSING_TREATMENTS)
    clusters = options.get("clusters")
    return LeaderboardPlan(
        options.get("test", "auto"),
        correction,
        check_level(options.get("confidence_level", 0.95)),
        missing,
        check_resamples(options.get("n_resamples", 9999)),
        check_seed(options.get("seed", 0)),
        tried=check_count("tried", options.get("tried", 1)),
        clusters=None if clusters is None else str(clusters_setting(clusters)["clusters"]),
    )


def _no_flips(names: Sequence[str], half_ties: Sequence[bool]) -> NoReturn:
    raise DataError(f"{len(half_ties)} flips of {len(names)} metrics need every score in memory")


@dataclass(frozen=True, eq=False)
class ScannedLineup:
    """Tables side by side; a `RankedLineup`.

    Parameters
    ----------
    tables : sequence of ScannedTable
        The pipelines.
    metrics : mapping of str to tuple of Metric
        The metrics that are ranked, as each pipeline knows them.
    missing : {"drop", "worst", "bounds"}
        The treatment of an unscored query.
    clusters : str, optional
        The column of the first table with the clusters.
    scored : sequence of sequence of int
        For each metric the places of the pipelines that have any score.
    """

    tables: Sequence[ScannedTable]
    metrics: Mapping[str, tuple[Metric, ...]]
    missing: MissingTreatment
    clusters: str | None
    scored: Sequence[Sequence[int]]

    @classmethod
    def of(
        cls,
        tables: Sequence[ScannedTable],
        metrics: Mapping[str, tuple[Metric, ...]],
        missing: MissingTreatment,
        clusters: str | None,
    ) -> ScannedLineup:
        """The pipelines; one without any score of a common query is not ranked on a metric."""
        places = range(len(tables))
        scored = [
            [place for place in places if known[place].name in tables[place].ranges]
            for known in metrics.values()
        ]
        lineup = cls(tables, metrics, missing, clusters, scored)
        counts = lineup.counts
        if not lineup.n_queries:
            raise AlignmentError(
                f"no query is in all {len(tables)} pipelines; of the ids, "
                + "; ".join(f"{own.name!r} has {_first_ids(own)}" for own in tables)
                + ". Rank fewer of them, or compare them two by two"
            )
        check_labels(lineup.rows, clusters)
        kept = [
            [place for place in own if counts.n(f"u{i}_{place}") < lineup.n_queries]
            for i, own in enumerate(scored)
        ]
        return lineup if kept == scored else replace(lineup, scored=kept)

    @property
    def names(self) -> tuple[str, ...]:
        """The pipelines."""
        return tuple(table.name for table in self.tables)

    @property
    def n_queries(self) -> int:
        """The number of queries that all have."""
        return self.counts.n(ROWS)

    @cached_property
    def rows(self) -> LazyTable:
        """The common queries."""
        details: list[dict[str, str]] = [{} for _ in self.tables]
        if self.clusters is not None:
            details[0][self.clusters] = CLUSTER
        return side_by_side(self.tables, list(self.metrics.values()), details)

    @cached_property
    def counts(self) -> Counts:
        """What one pass over all tables counts; with clusters it takes two."""
        import narwhals as nw

        metrics = list(self.metrics.values())
        raw = [nw.col(f"{i}_{place}") for i, own in enumerate(self.scored) for place in own]
        rows = self.rows.with_columns(*(each.name.suffix("_raw") for each in raw))
        known = set(rows.collect_schema().names())
        filled = [
            own if metric[0].bounds else []
            for metric, own in zip(metrics, self.scored, strict=True)
        ]
        rows = treated(rows, metrics, self.missing, filled)
        columns, ranges = [nw.lit(0.0).alias(ROWS)], {ROWS: _ALL}
        for i in range(len(metrics)):
            own, spreads = self._columns(i, has_states=f"na_{i}" in known)
            columns += [expression.alias(name) for name, expression in own.items()]
            ranges |= spreads
        keys = [CLUSTER] if self.clusters else []
        summed = [name for name in ranges if name[0] in "ds"] if keys else []
        n_rows = min(table.n_rows for table in self.tables)
        return Counts.of(rows.select(*keys, *columns), ranges, n_rows=n_rows, summed=summed)

    def _columns(self, i: int, *, has_states: bool) -> tuple[dict[str, nw.Expr], dict[str, Range]]:
        """The columns of a metric that are counted, and their ranges."""
        import narwhals as nw

        metric, places = list(self.metrics.values())[i], self.scored[i]
        own = {place: nw.col(f"{i}_{place}") for place in places}
        spread = {p: range_of(self.tables[p], metric[p], self.missing) for p in places}
        raw = {place: nw.col(f"{i}_{place}_raw") for place in places}
        gap = {place: raw[place].is_null() for place in places}
        found: dict[str, tuple[nw.Expr, Range]] = {
            f"u{i}_{p}": (nw.when(gap[p]).then(0.0), _ALL) for p in places
        }
        if has_states:
            found[f"na_{i}"] = (nw.col(f"na_{i}"), _ALL)
            applies = nw.col(f"na_{i}").is_null()
            found |= {f"g{i}_{p}": (nw.when(gap[p] & applies).then(0.0), _ALL) for p in places}
        if self.missing == "bounds":
            found |= {f"a{i}_{p}": (raw[p], spread[p]) for p in places}
        if len(places) > 1:
            is_complete = ~nw.any_horizontal(
                *(each.is_null() for each in own.values()), ignore_nulls=True
            )
            scores = {p: nw.when(is_complete).then(own[p]) for p in places}
            found |= {f"s{i}_{p}": (scores[p], spread[p]) for p in places}
            changes = {
                (p, q): difference(scores[p], scores[q], list(spread.values()))
                for p, q in combinations(places, 2)
            }
            found |= {
                f"d{i}_{p}_{q}": (change, spread[q].difference(spread[p]))
                for (p, q), change in changes.items()
            }
            found |= self._ranks(i, changes, better=metric[0].greater_is_better)
        columns = {name: expression for name, (expression, _) in found.items()}
        return columns, {name: own for name, (_, own) in found.items()}

    def _ranks(
        self, i: int, changes: Mapping[tuple[int, int], nw.Expr], *, better: bool
    ) -> dict[str, tuple[nw.Expr, Range]]:
        """On which queries each pipeline is alone the best, and how far the ranks spread."""
        import narwhals as nw

        places = self.scored[i]
        found, squares = {}, []
        for place in places:
            leads = []
            for (first, second), change in changes.items():
                if place in (first, second):
                    gain = change if (place == second) == better else -1.0 * change
                    leads.append(
                        nw.when(gain > 0).then(1.0).when(gain < 0).then(-1.0).otherwise(gain)
                    )
            # Twice the distance from the middle rank: those that are beaten less those that beat.
            lead = leads[0]
            for other in leads[1:]:
                lead = lead + other
            found[f"w{i}_{place}"] = (nw.when(lead == len(leads)).then(0.0), _ALL)
            squares.append(lead * lead)
        spread = squares[0]
        for other in squares[1:]:
            spread = spread + other
        most = float(len(places) ** 3)
        return {**found, f"v{i}": (spread, Range(0.0, most))}

    def extreme_means(self, metric: Metric, pipeline: str) -> tuple[float, float]:
        """The mean of all common queries if missing scores were as low, or high, as they can be."""
        i, place = list(self.metrics).index(metric.name), self.names.index(pipeline)
        column = self.counts.column(f"a{i}_{place}")
        total, n = column.mean * column.n, self.n_queries
        low, high = ((total + (n - column.n) * end) / n for end in require_bounds(metric))
        return low, high

    def notes(self) -> Iterator[str]:
        """The queries that not every pipeline has."""
        import narwhals as nw

        if all(table.n_rows == self.n_queries for table in self.tables):
            return
        ids = [table.frame.select("query_id") for table in self.tables]
        every = nw.concat(ids).unique().select(nw.len().alias("n"))
        n_alone = int(to_pandas(every)["n"].iloc[0]) - self.n_queries
        common = self.rows.select("query_id")
        alone = [
            to_pandas(own.join(common, on="query_id", how="anti").sort("query_id").head(6))
            for own in ids
        ]
        shown = dict.fromkeys(str(i) for rows in alone for i in rows["query_id"])
        yield note_on_lone_queries([*shown], n_alone)


def _first_ids(table: ScannedTable) -> str:
    return named(table.head.scores.index, 3)


@dataclass(frozen=True, eq=False)
class CountedColumns:
    """The scores of one metric on the queries that every pipeline scored; a `RankedColumns`.

    Parameters
    ----------
    counts : Counts
        What one pass found.
    place : int
        The place of the metric.
    pipelines : sequence of int
        The places of the pipelines.
    tie : float
        The largest difference between two scores that is only rounding.
    table : ScannedTable
        The first table.
    """

    counts: Counts
    place: int
    pipelines: Sequence[int]
    tie: float
    table: ScannedTable

    @cached_property
    def columns(self) -> list[Column]:
        """The scores of each pipeline."""
        return [self.counts.column(f"s{self.place}_{own}") for own in self.pipelines]

    @cached_property
    def pairs(self) -> list[Pairs]:
        """All pairs, in the order of `AllPairs`."""
        return [
            Pairs(
                *(self.columns[first], self.columns[second], self.counts.column(name)),
                clusters=self.counts.clusters(name),
            )
            for first, second in combinations(range(len(self.pipelines)), 2)
            for name in [f"d{self.place}_{self.pipelines[first]}_{self.pipelines[second]}"]
        ]

    @property
    def n(self) -> int:
        """The number of these queries."""
        return self.columns[0].n if self.columns else 0

    @property
    def n_units(self) -> int:
        """The number of their independent units."""
        return self.pairs[0].n if self.pairs else 0

    @cached_property
    def means(self) -> FloatArray:
        """The mean of each column."""
        return np.array([column.mean for column in self.columns])

    def alone_best(self, *, greater_is_better: bool) -> IntArray:
        """On how many queries each column is better than all others."""
        del greater_is_better  # the queries were counted by the direction of the metric
        return np.array([self.counts.n(f"w{self.place}_{own}") for own in self.pipelines])

    def mean_intervals(
        self, metric: Metric, confidence_level: float, drawing: Drawing
    ) -> Sequence[Interval]:
        """The interval of the mean of each column."""
        if self.counts.sums is None:
            return [
                interval_of_mean(metric, column, confidence_level=confidence_level, **drawing)
                for column in self.columns
            ]
        return [
            self._cluster_interval(metric, place, confidence_level)
            for place in range(len(self.columns))
        ]

    def _cluster_interval(self, metric: Metric, place: int, level: float) -> Interval:
        column = self.columns[place]
        sums = self.counts.sums_of(f"s{self.place}_{self.pipelines[place]}")
        limits = mean_limits(metric, column.minimum)
        is_bounded = limits is not None and math.isfinite(limits[1] - limits[0])
        spread = error_of_sums(sums.sums, sums.sizes, sums.counts)
        interval = interval_of_error(spread, level, limits if is_bounded else None)
        return replace(interval, estimate=column.mean)

    def pair(self, first: int, second: int) -> Pairs:
        """Two columns, by independent unit."""
        places = list(combinations(range(len(self.pipelines)), 2))
        return self.pairs[places.index((first, second))]

    def test_pairs(self, test: str, margin: float, drawing: Drawing) -> AllPairs:
        """The tests of all pairs, against a margin if it is above 0; not corrected."""
        return run_all_tests(self.pairs, test=test, margin=margin, **drawing)

    def friedman(self, *, greater_is_better: bool) -> FriedmanResult:
        """Friedman's test, from the wins of all pairs and the spread of the ranks."""
        from scipy.special import chdtrc

        if self.counts.sums is not None:
            raise needs_memory("Friedman's test of clusters", self.table)
        k, n, sign = len(self.pipelines), self.n, 1.0 if greater_is_better else -1.0
        sums = np.zeros(k)
        places = combinations(range(k), 2)
        for (first, second), pair in zip(places, self.pairs, strict=True):
            lead = sign * (pair.wins - pair.losses) / 2
            sums[first] += lead
            sums[second] -= lead
        squares = self.counts.column(f"v{self.place}")
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
class ScannedBlock:
    """One metric of scanned pipelines; a `RankedBlock`."""

    metric: Metric
    names: tuple[str, ...]
    unscored: IntArray
    empty: tuple[str, ...]
    n_not_applicable: int
    columns: CountedColumns
    units: Units = QUERIES

    @classmethod
    def of(cls, lineup: ScannedLineup, place: int) -> ScannedBlock:
        """The block of a metric, by its place."""
        known, ranked = list(lineup.metrics.values())[place], lineup.scored[place]
        counts = lineup.counts
        n_without = counts.n(f"na_{place}")
        letter = "g" if f"na_{place}" in counts.ranges else "u"
        unscored = np.array([counts.n(f"{letter}{place}_{own}") for own in ranked], dtype=np.int64)
        if lineup.missing == "worst" and unscored.any():
            require_bounds(known[0])
        spreads = [range_of(lineup.tables[own], known[own], lineup.missing) for own in ranked]
        return cls(
            known[0],
            tuple(lineup.names[own] for own in ranked),
            unscored,
            tuple(name for own, name in enumerate(lineup.names) if own not in ranked),
            n_without,
            CountedColumns(
                counts, place, ranked, tie_of(spreads) if spreads else 0.0, lineup.tables[0]
            ),
            QUERIES if lineup.clusters is None else SUMMED,
        )


@dataclass(frozen=True, eq=False, repr=False)
class ScannedRanking(Ranking):
    """Scanned pipelines in order; see `Ranking`.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by, blocks, tests, levels, margins
        As in `Ranking`; there is no lineup, which holds every score.
    scanned : ScannedLineup
        The tables side by side.
    """

    scanned: ScannedLineup | None = None

    @property
    def _lineup(self) -> NoReturn:
        raise self._needs_memory("weighted() or pareto() of a ranking")

    def _needs_memory(self, what: str) -> DataError:
        if self.scanned is None:
            return DataError("this Ranking has no scores; create it with rank()")
        return needs_memory(what, self.scanned.tables[0])

    def report(self, **options: Unpack[RankingReportKeywords]) -> Report:
        """Raises `DataError`: the page shows the scores of every query."""
        check_options("Ranking.report()", options, RankingReportKeywords.__annotations__)
        raise self._needs_memory("the page of a ranking (save() writes its tables)")

    def plot(
        self,
        kind: RankingPlot | Plot = "leaderboard",
        *args: MetricNames,
        ax: Axes | None = None,
        **options: Unpack[PlotOptions],
    ) -> Axes:
        """Draw the ranking; see `rageval_report.plots`.

        Parameters
        ----------
        kind : {"leaderboard", "heat", "groups"}
            Other plots need the scores in memory.
        *args, ax, **options
            As in `Ranking.plot`.
        """
        entry = plot_named(kind)
        if entry.name not in ("leaderboard", "heat", "groups"):
            raise self._needs_memory(f"plot {entry.name!r}")
        return super().plot(kind, *args, ax=ax, **options)
