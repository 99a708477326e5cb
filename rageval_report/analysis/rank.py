"""Several pipelines in order, metric by metric: the best, and those that may be as good."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from string import ascii_letters
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report._registry import load
from rageval_report.analysis import arguments, verdicts
from rageval_report.analysis.lineup import Lineup, ScoreBlock, choose_shared_metrics, line_up
from rageval_report.analysis.objectives import Aims, ObjectivesArgument, RankSettings
from rageval_report.analysis.pairing import MissingTreatment
from rageval_report.analysis.weighted import (
    BEST,
    MAY_BE_BEST,
    WORSE,
    ParetoFront,
    WeightedScores,
    pareto_front,
    weighted_scores,
)
from rageval_report.errors import MOST_NAMED, check_options, is_doubt
from rageval_report.plots.drawn import Drawn
from rageval_report.reports import ranking_sentences, sentences
from rageval_report.results import Result
from rageval_report.scores import Metric, resolver
from rageval_report.scores.catalogue.dialects import dialect_settings, note_on_dialects
from rageval_report.scores.shown import DIRECTION_UNKNOWN
from rageval_report.stats import planning
from rageval_report.stats.base import Interval
from rageval_report.stats.many_pairs import AllPairs, run_all_tests
from rageval_report.stats.pairs import Pairs, interval_of_test, paired_interval
from rageval_report.types import BoolArray

if TYPE_CHECKING:
    from rageval_report.reports.report import Report

_HEADLINE = (
    *("rank", "pipeline", "standing", "letters", "n", "mean", "ci_low", "ci_high", "beats"),
)
_PAIR_HEADLINE = (
    *("baseline", "candidate", "n", "baseline_mean", "candidate_mean", "difference"),
    *("ci_low", "ci_high", "pvalue_adjusted", "wins", "ties", "losses"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Drawn):
    """Pipelines in order: one row per metric and pipeline, the best of each metric first.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    lineup : Lineup
        The runs side by side.
    blocks : dict of str to ScoreBlock
        The scores by which the pipelines are ranked, for each metric.
    tests : dict of str to AllPairs
        The tests of all pairs on each metric; none for a metric that cannot be ranked.
    levels : dict of str to float
        For each metric with tests the level that the correction leaves to a pair not shown.
    plan : RankSettings
        The settings.
    key_notes : tuple of str
        The notes that are printed.

    Examples
    --------
    >>> from rageval_report.demo import demo_evaluations
    >>> ranking = rank(*demo_evaluations(), metrics=["recall@5", "latency_ms"])
    >>> ranking.metrics, round(ranking.alpha, 3)
    (('recall@5', 'latency_ms'), 0.05)
    >>> ranking.summary
    'No single winner: hybrid leads on recall@5, bm25 on latency_ms.'
    >>> ranking.pairs.frame[["metric", "difference", "is_shown"]].round(3)
           metric  difference  is_shown
    0    recall@5       0.126      True
    1  latency_ms     320.247      True
    """

    own_plot = "leaderboard"

    lineup: Lineup = field(kw_only=True)
    blocks: Mapping[str, ScoreBlock] = field(default_factory=dict)
    tests: Mapping[str, AllPairs] = field(default_factory=dict)
    levels: Mapping[str, float] = field(default_factory=dict)
    plan: RankSettings = field(default_factory=RankSettings)
    key_notes: tuple[str, ...] = ()

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics, in order."""
        return tuple(dict.fromkeys(self.frame["metric"]))

    @property
    def alpha(self) -> float:
        """The error rate that belongs to the confidence level."""
        return self.plan.alpha

    @property
    def summary(self) -> str:
        """Which pipeline is best, or which others may be as good, in one plain sentence."""
        return ranking_sentences.ranking_answer(self) if len(self.frame) else ""

    def printed(self) -> Result:
        """The answer, one table that ends with verdicts, and at most three notes.

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> rank(*demo_evaluations(), metrics="recall@5").printed().frame["verdict"].tolist()
        ['hybrid is best']
        """
        if not len(self.frame):
            return self
        ranked = ranking_sentences.RankedPipelines.of(self)
        doubts = [note for note in self.notes if is_doubt(note)]
        n_notes = max(0, ranking_sentences.MOST_NOTES - len(doubts))
        return ranking_sentences.printed_ranking(self, ranked, [*doubts, *self.key_notes[:n_notes]])

    def best(self, metric: str) -> tuple[str, ...]:
        """The pipelines with the best mean; several if their means are equal.

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> rank(*demo_evaluations(), metrics="recall@5").best("recall@5")
        ('hybrid',)
        """
        rows = self.of(metric)
        return tuple(rows.loc[rows["is_best"], "pipeline"])

    def of(self, metric: str) -> pd.DataFrame:
        """The rows of one metric, by any of its names, the best pipeline first.

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> ranking = rank(*demo_evaluations(), metrics="recall@5")
        >>> ranking.of("recall@5")[["pipeline", "mean", "letters"]].round(3)
          pipeline   mean letters
        0   hybrid  0.856       a
        1     bm25  0.730       b
        """
        name = resolver({name: self.blocks[name].metric for name in self.metrics})(metric)
        return self.frame[self.frame["metric"] == name].reset_index(drop=True)

    def groups(self, metric: str) -> list[tuple[str, ...]]:
        """The pipelines that share a letter, the best first; one group per letter.

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> rank(*demo_evaluations(), metrics="recall@5").groups("recall@5")
        [('hybrid',), ('bm25',)]
        """
        name = str(self.of(metric)["metric"].iloc[0])
        if name not in self.tests:
            return []
        standing = Standing(self.blocks[name], self.tests[name], self.alpha)
        names = [self.blocks[name].names[place] for place in standing.order]
        return [tuple(names[place] for place in group) for group in groups_of(standing.differs)]

    @cached_property
    def pairs(self) -> Result:
        """Every pair on every metric: difference with its interval, p before and after correction.

        One row per metric and pair: metric, baseline, candidate, n, baseline_mean, candidate_mean,
        difference, ci_low, ci_high, test, pvalue, pvalue_adjusted, wins, ties, losses,
        min_detectable_difference, is_shown. The intervals belong to the tests, and are not
        adjusted. The smallest detectable difference is that of the level that the correction leaves
        to a pair that is not shown.
        """
        blocks = (
            (self.blocks[name], pairs, self.levels[name]) for name, pairs in self.tests.items()
        )
        rows = [row for each in blocks for row in _pair_rows(*each, self.plan)]
        family = verdicts.CorrectionFamily.of(self.blocks[name].metric for name in self.tests)
        n_tests, correction = int(str(self.settings["family_size"])), self.settings["correction"]
        apart = f", those of {sentences.join_names(family.outside)} apart" if family.outside else ""
        note = f"p-values are adjusted ({correction}) over {n_tests} pairs{apart}"
        return Result(
            "All pairs of pipelines",
            pd.DataFrame(rows),
            self.settings,
            (note,) if correction != "none" and max(len(rows), n_tests) > 1 else (),
            headline=_PAIR_HEADLINE,
            grouped_by="metric" if len(self.tests) > 1 else "",
        )

    def weighted(
        self,
        weights: Mapping[str, float] | None = None,
        objectives: ObjectivesArgument = None,
    ) -> WeightedScores:
        """One score per pipeline from weighted objectives, and how much the order depends on them.

        Parameters
        ----------
        weights : mapping of str to float, optional
            By objective, or by metric; the default ones if omitted.
        objectives : mapping, optional
            What each objective is made of: an `Objective`, the names of metrics, or a text such as
            "p95(latency_ms), worst=5000, best=0"; see `rageval_report.analysis.objectives`.

        Returns
        -------
        WeightedScores
            Columns: rank, pipeline, standing ("best", "may be best": not shown to be worse than the
            best, "worse"), score, ci_low, ci_high, pvalue (beside the best, adjusted over all
            pairs), share_of_resamples (in which the pipeline has the highest score; ties are
            shared), and the contribution of each objective under its name.

        Notes
        -----
        The score is the weighted mean of the objectives that have data in every pipeline. If every
        objective is a mean over queries, each query contributes to the score, and a difference is
        tested as in `rageval_report.compare`. With a median, a percentile, or a mean beyond the
        worst value that counts, the test and the interval come from paired bootstrap resamples.

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> ranking = rank(*demo_evaluations(), n_resamples=99)
        >>> ranking.weighted({"recall@5": 1, "faithfulness": 2}).frame["pipeline"].tolist()
        ['hybrid', 'bm25']
        """
        return weighted_scores(Aims.of(self.lineup, self.plan, objectives, weights))

    def pareto(
        self,
        objectives: ObjectivesArgument = None,
        weights: Mapping[str, float] | None = None,
    ) -> ParetoFront:
        """The pipelines that no other one dominates, and how certain that is.

        One dominates another if it is better on at least one objective and worse on none.

        Parameters
        ----------
        objectives : mapping or iterable of str, optional
            The objectives. If omitted: quality (accuracy, faithfulness, citation and retrieval,
            weighted), cost and latency; the parts of quality one by one if not every pipeline has
            cost or latency.
        weights : mapping of str to float, optional
            What quality is made of.

        Returns
        -------
        ParetoFront
            Columns: pipeline, standing ("on the front", or "dominated" by another one on these
            queries), on_front, probability_on_front (the share of resamples of the queries),
            each objective with ``{objective}_ci_low`` and ``_high``, dominated_by and dominates.

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> front = rank(*demo_evaluations(), n_resamples=99).pareto()
        >>> front.frame["pipeline"].tolist()
        ['hybrid', 'bm25']
        """
        aims = Aims.of(self.lineup, self.plan, objectives, weights)
        return pareto_front(aims, as_quality=objectives is None)

    def report(self, **options: Unpack[arguments.RankingReportKeywords]) -> Report:
        """The report file: the leaderboard, what quality costs, every pair, and every query.

        Parameters
        ----------
        **options
            ``title``, ``by``, ``correct``, ``k``, ``pictures`` and ``longest_text``, as in
            `rageval_report.reports.report_ranking`.

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> rank(*demo_evaluations(), metrics="recall@5").report(pictures=False)
        Report('Ranking of bm25 and hybrid', 2 verdicts, 4 sections, 202 queries)
        """
        check_options("Ranking.report()", options, arguments.RankingReportKeywords.__annotations__)
        report: Report = load("rageval_report.reports:report_ranking")(self, **options)
        return report


def rank(
    *evaluations: arguments.EvaluationInput | arguments.Scanned,
    metrics: str | Iterable[str] | None = None,
    correction: str = "holm",
    confidence_level: float = 0.95,
    missing: MissingTreatment = "drop",
    n_resamples: int = 9999,
    seed: int = 0,
    on: str | None = None,
    test: str = "auto",
    clusters: arguments.Clusters | None = None,
) -> Ranking:
    """Rank several pipelines, metric by metric.

    Parameters
    ----------
    *evaluations : RAGPipelineEvaluation, str or PathLike; or scans
        At least two. A path, a folder, a glob or an address stands for all evaluations that
        `rageval_report.read_scores` reads from it: ``rank("runs/")``. Scans are those of
        `RAGPipelineEvaluation.scan`.
    metrics : str or iterable of str, optional
        The metrics; all that every pipeline has if omitted.
    correction : str
        "holm" over all pairs of all quality metrics, and over those of latency, cost and tokens;
        "bh", "by", "hochberg", "bonferroni", "none"; "westfall-young" is Holm's here.
    confidence_level : float
        The level of the intervals; one minus it is the error rate of the comparisons.
    missing : {"drop", "worst", "bounds"}
        "drop" leaves out, for all, a query that a pipeline did not score, and so does "bounds";
        "worst" gives it the worst possible score.
    n_resamples, seed : int
        For whatever draws at random: intervals of unbounded metrics below 500 queries, and the
        resamples of `Ranking.weighted` and `Ranking.pareto`.
    on : str, optional
        A column of texts, such as "question", that matches the queries if the ids differ.
    test : str
        "auto" as in `compare`; else a name of the table ``rageval_report.stats.TESTS``.
    clusters : str, Series or mapping, optional
        A detail column of the first pipeline, or labels by query id: queries with the same label
        are not independent, and count together in every test, interval and resample.

    Returns
    -------
    Ranking
        Columns: metric, pipeline, rank, n, n_unscored, mean, ci_low, ci_high, letters, is_best,
        standing ("best", "may be best": not shown to be worse, "worse"), beats and beaten_by
        (the number of pipelines it is shown to be better, worse than), ci_method, and the verdict
        of the metric beside its best pipeline.

    Notes
    -----
    A metric is ranked on the queries that all pipelines scored. Fewer than six of them, or of their
    clusters, are not tested: they are too few. Of two pipelines that share a letter no difference
    is shown, which does not make them equal. Each interval is that of one mean alone; the letters
    say whether two pipelines differ.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> easy = [0.31, 0.52, 0.13, 0.94, 0.45, 0.26, 0.77, 0.68, 0.05, 0.88]
    >>> runs = [
    ...     RAGPipelineEvaluation(name, {"query_id": list("abcdefghij"), "recall": scores})
    ...     for name, scores in {
    ...         "bm25": easy,
    ...         "dense": [score + 0.04 for score in easy],
    ...         "hybrid": [score + 0.05 - 0.01 * (score > 0.2) for score in easy],
    ...     }.items()
    ... ]
    >>> ranking = rank(*runs)
    >>> ranking.frame[["pipeline", "rank", "letters"]].values.tolist()
    [['hybrid', 1, 'a'], ['dense', 2, 'a'], ['bm25', 3, 'b']]
    """
    shown_clusters = arguments.clusters_setting(clusters)
    plan = RankSettings(
        *(confidence_level, n_resamples, seed, correction, test, missing),
        shown={**shown_clusters, **({} if on is None else {"on": on})},
    )
    lineup: Any  # of scans, it has the same names
    runs: Sequence[Any]
    read_notes: tuple[str, ...] = ()
    if runs := arguments.scans_among(evaluations, "rank()"):
        lineup = runs[0].line_up(runs, (metrics, missing, clusters, on))
    else:
        runs, read_notes = arguments.read_evaluations(evaluations)  # type: ignore[arg-type]
        lineup = line_up(runs, missing=missing, on=on, clusters=clusters)
    names = choose_shared_metrics(lineup.runs[0].metrics, lineup.metrics, metrics)
    family = verdicts.CorrectionFamily.of(
        replace(metric, name=name) for name in names for metric in lineup.metrics[name]
    )
    blocks = {name: lineup.block(name) for name in names}
    ranking = _RankedBlocks(blocks, lineup, plan, family).ranking()
    origin = {**dialect_settings(runs), **arguments.engine_setting(runs[0])}
    notes = (*note_on_dialects(runs), *read_notes, *lineup.notes, *ranking.notes)
    return replace(ranking, settings={**ranking.settings, **origin}, notes=notes)


@dataclass(frozen=True, eq=False)
class _RankedBlocks:
    """The scores of each metric and the settings, which become a ranking."""

    blocks: dict[str, ScoreBlock]
    lineup: Lineup
    plan: RankSettings
    family: verdicts.CorrectionFamily

    @cached_property
    def raw(self) -> dict[str, AllPairs]:
        """The tests of all pairs, not yet corrected; none of a metric that cannot be ranked."""
        tests, plan = dict[str, AllPairs](), self.plan
        for name, block in self.blocks.items():
            if len(block.names) > 1 and block.n > 0:
                pairs = run_all_tests(block.pairs, test=plan.test, **plan.draws)
                if block.n_units < plan.fewest_units:
                    pvalue = np.where((pairs.wins == 0) & (pairs.losses == 0), 1.0, np.nan)
                    none = ("none",) * pvalue.size
                    pairs = replace(pairs, pvalue=pvalue, pvalue_adjusted=pvalue, tests=none)
                tests[name] = pairs
        return tests

    @cached_property
    def corrected(self) -> tuple[dict[str, AllPairs], dict[str, float]]:
        """The tests with adjusted p-values, and the level that is left to a pair, by metric."""
        tests, plan = self.raw, self.plan
        if not tests:
            return tests, {}
        names = [name for name, pairs in tests.items() for _ in range(pairs.pvalue.size)]
        raw = np.concatenate([pairs.pvalue for pairs in tests.values()])

        family = self.family.tested(names, raw)
        adjusted = family.adjusted(plan.stepwise)
        ends = np.cumsum([pairs.pvalue.size for pairs in tests.values()])[:-1]
        split = zip(tests.items(), np.split(adjusted, ends), strict=True)
        levels = family.levels_left(plan.stepwise, plan.alpha).tolist()
        return (
            {name: replace(pairs, pvalue_adjusted=pvalues) for (name, pairs), pvalues in split},
            dict(zip(names, levels, strict=True)),
        )

    def settings(self, names: Iterable[str]) -> dict[str, object]:
        """The settings of the metrics of one family."""
        plan, pvalues = self.plan, [self.raw[name].pvalue for name in names if name in self.raw]
        return {
            "test": plan.test,
            "correction": plan.stepwise,
            "family_size": sum(int(np.isfinite(own).sum()) for own in pvalues),
            "confidence_level": plan.confidence_level,
            "missing": plan.missing,
            **plan.draws,
            **plan.shown,
        }

    def ranking(self) -> Ranking:
        """The pipelines in order, metric by metric."""
        blocks, lineup, (tests, levels) = self.blocks, self.lineup, self.corrected
        n, settings = len(lineup.names), self.settings(self.family.members)
        apart = self.settings(self.family.outside)
        rows = pd.DataFrame(
            row
            for name, block in blocks.items()
            for row in self._rows(block, apart if name in self.family.outside else settings)
        )
        listed = f"{n} pipelines" if n > 3 else sentences.join_names(lineup.names)
        basis = ranking_sentences.basis_of_ranking(rows, settings, self.family.outside, blocks)
        unknown = sentences.direction_notes(block.metric for block in blocks.values())
        key_notes = (*unknown, basis, *self._notes_on_luck())
        left_out = ((name, note) for name, own in blocks.items() for note in self._left_out(own))
        return Ranking(
            f"Ranking of {listed}",
            rows,
            settings,
            (*sentences.group_notes(left_out, len(blocks)), *key_notes),
            headline=_HEADLINE,
            grouped_by="metric" if len(blocks) > 1 else "",
            lineup=lineup,
            blocks=blocks,
            tests=tests,
            levels=levels,
            plan=self.plan,
            key_notes=key_notes,
        )

    def _row(self, block: ScoreBlock, name: str, **ranked: object) -> dict[str, object]:
        """A row of the table, of a pipeline that is not ranked as far as nothing else is said."""
        unscored = dict(zip(block.names, block.unscored.tolist(), strict=True))
        row: dict[str, object] = {"metric": block.metric.name, "pipeline": name, "rank": math.nan}
        row |= {"n": 0, "n_unscored": unscored.get(name, self.lineup.n_queries)}
        row |= dict.fromkeys(("mean", "ci_low", "ci_high"), math.nan)
        row |= {"letters": "", "is_best": False, "standing": "not ranked"}
        row |= {"beats": 0, "beaten_by": 0, "ci_method": "none", "title": block.metric.title}
        row |= {"greater_is_better": block.metric.greater_is_better, "verdict": None}
        return {**row, **ranked}

    def _rows(
        self, block: ScoreBlock, settings: Mapping[str, object]
    ) -> Iterator[dict[str, object]]:
        """The rows of one metric: the pipelines in order, then those that are not ranked."""
        tests, metric = self.corrected[0].get(block.metric.name), block.metric
        if tests is None:
            yield from (self._row(block, name) for name in self.lineup.names)
            return
        standing = Standing(block, tests, self.plan.alpha)
        is_known, order, beats = metric.direction_is_known, standing.order, standing.beats
        intervals = self._mean_intervals(block)
        first = ranking_sentences.standing_sentence(block, standing, intervals[order[0]], settings)
        if not is_known:
            first = f"{metric.name}: {sentences.direction_question(metric.name)}"
        for place, letters in zip(order, letters_of(standing.differs), strict=True):
            interval = intervals[place]
            yield self._row(
                *(block, block.names[place]),
                rank=int(standing.ranks[place]) if is_known else math.nan,
                n=block.n,
                mean=interval.estimate,
                ci_low=interval.low,
                ci_high=interval.high,
                letters=letters,
                is_best=is_known and bool(standing.ranks[place] == 1),
                standing=standing.word(place) if is_known else DIRECTION_UNKNOWN,
                beats=int(beats[place].sum()) if is_known else 0,
                beaten_by=int(beats[:, place].sum()) if is_known else 0,
                ci_method=interval.method,
                verdict=first if place == order[0] else None,
            )
        yield from (self._row(block, name) for name in block.empty)

    def _mean_intervals(self, block: ScoreBlock) -> list[Interval]:
        """The interval of the mean of each pipeline."""
        metric, plan = block.metric, self.plan
        if not block.units.are_clusters:
            return [arguments.interval_of_mean(metric, own, plan) for own in block.columns]
        return [
            arguments.interval_of_clusters(metric, own, block.error(place), plan)
            for place, own in enumerate(block.columns)
        ]

    # -- notes

    def _notes_on_luck(self) -> Iterator[str]:
        """That the best was chosen on these queries."""
        tested = [name for name, own in self.raw.items() if np.isfinite(own.pvalue).any()]
        n = max((len(self.blocks[name].names) for name in tested), default=0)
        if n:
            note = "the best was chosen on these queries, so its mean is too favourable"
            more = f"; to compare it with a baseline, use tried={n} or new queries"
            yield note + more if n > 2 else note

    def _left_out(self, block: ScoreBlock) -> Iterator[str]:
        """The queries and the pipelines that are left out on a metric."""
        n_common, n_units = self.lineup.n_queries, block.n_units
        fewest, n = self.plan.fewest_units, n_common - block.n_not_applicable
        if block.n_not_applicable:
            yield f"does not apply to {block.n_not_applicable} of {n_common} common queries"
        if block.empty:
            are = "is" if len(block.empty) == 1 else "are"
            yield f"not scored at all by {', '.join(block.empty)}, which {are} not ranked"
        left_out = n - block.n
        if left_out and block.names:
            order = np.argsort(-block.unscored, kind="stable")
            counts = [f"{block.names[p]}: {block.unscored[p]}" for p in order if block.unscored[p]]
            yield (
                f"{left_out} of {n} shared queries are left out: not scored everywhere "
                f"({sentences.join_names(counts, MOST_NAMED)})"
            )
        if 0 < n_units < fewest and len(block.names) > 1:
            yield f"too few {block.units.word} for a test: {n_units}; at least {fewest} are needed"
        if not left_out and self.lineup.missing == "worst" and block.unscored.any():
            yield from sentences.filled_notes(int(block.unscored.sum()))


# -- the order on one metric


class Standing:
    """The order of the pipelines on one metric, and which pairs are shown to differ."""

    def __init__(self, block: ScoreBlock, tests: AllPairs, alpha: float) -> None:
        sign = 1.0 if block.metric.greater_is_better else -1.0
        means, tie = sign * block.means, block.tie
        ahead = means[:, np.newaxis] - means > tie
        # Means that differ by rounding alone get the same key and keep the order of the caller.
        self.order: list[int] = np.argsort(-np.round(means / tie) * tie, kind="stable").tolist()
        self.ranks = 1 + ahead.sum(axis=0)
        is_shown = tests.matrix(tests.pvalue_adjusted <= alpha, diagonal=False)
        self.beats: BoolArray = is_shown & ahead

    @property
    def differs(self) -> BoolArray:
        """Whether each two pipelines are shown to differ, in order, the best first."""
        either = self.beats | self.beats.T
        return np.asarray(either[np.ix_(self.order, self.order)])

    def word(self, place: int) -> str:
        """The standing of a column: "best", "may be best", or "worse" if shown to be worse."""
        if self.ranks[place] == 1:
            return BEST
        return WORSE if self.beats[self.order[0], place] else MAY_BE_BEST


def groups_of(differs: npt.ArrayLike) -> list[tuple[int, ...]]:
    """The groups within which no difference is shown, by inserting and absorbing."""
    matrix: BoolArray = np.asarray(differs, dtype=bool)
    groups = [frozenset(range(len(matrix)))]
    for first, second in zip(*np.nonzero(np.triu(matrix, 1)), strict=True):
        both = {first, second}
        apart = {group - {pipeline} for group in groups if both <= group for pipeline in both}
        split = apart | {group for group in groups if not both <= group}
        groups = []
        # Largest first, so that a group can only be part of one that comes before it.
        for group in sorted(split, key=len, reverse=True):
            if not any(group <= larger for larger in groups):
                groups.append(group)
    return sorted(tuple(sorted(int(member) for member in group)) for group in groups)


def letters_of(differs: npt.ArrayLike) -> list[str]:
    """The letters of each member, the best first; beyond 52 groups numbers in brackets."""
    letters = [""] * len(np.asarray(differs))
    for place, group in enumerate(groups_of(differs)):
        for member in group:
            letters[member] += ascii_letters[place] if place < 52 else f"({place + 1})"
    return letters


# -- the tables


def _pair_rows(
    block: ScoreBlock, tests: AllPairs, level: float, plan: RankSettings
) -> Iterator[dict[str, object]]:
    metric, is_tested = block.metric, block.n_units >= plan.fewest_units
    wins, losses = tests.wins.tolist(), tests.losses.tolist()
    if not metric.greater_is_better:  # the tests count larger scores, a table of wins better ones
        wins, losses = losses, wins
    for place, (i, j, both) in enumerate(
        zip(tests.first.tolist(), tests.second.tolist(), block.pairs, strict=True)
    ):
        low = high = detectable = math.nan
        if is_tested:
            low, high = _difference_limits(both, metric, plan)
            planned = planning.PlannedTest.of(both.units, tests.tests[place])
            detectable = planned.detectable(both.n, alpha=level)
        yield {
            "metric": metric.name,
            "baseline": block.names[i],
            "candidate": block.names[j],
            "n": tests.n,
            "baseline_mean": both.side_means[0],
            "candidate_mean": both.side_means[1],
            "difference": float(tests.difference[place]),
            "ci_low": low,
            "ci_high": high,
            "test": tests.tests[place],
            "pvalue": float(tests.pvalue[place]),
            "pvalue_adjusted": float(tests.pvalue_adjusted[place]),
            "wins": wins[place],
            "ties": int(tests.ties[place]),
            "losses": losses[place],
            "min_detectable_difference": detectable,
            "is_shown": bool(tests.pvalue_adjusted[place] <= plan.alpha),
        }


def _difference_limits(pairs: Pairs, metric: Metric, plan: RankSettings) -> tuple[float, float]:
    """The interval of the difference, within the metric's range."""
    interval = paired_interval(pairs, method=interval_of_test(plan.test), **plan.keywords)
    widest = math.inf if metric.bounds is None else metric.bounds[1] - metric.bounds[0]
    return max(interval.low, -widest), min(interval.high, widest)
