"""Several pipelines in order, metric by metric, with groups that are not distinguishable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack, cast

import pandas as pd

from rageval_report.analysis.arguments import (
    Clusters,
    EvaluationInput,
    RankingReportKeywords,
    Scanned,
    check_count,
    clusters_setting,
    engine_setting,
    read_evaluations,
    scans_among,
)
from rageval_report.analysis.headlines.ranking_headline import ranking_answer
from rageval_report.analysis.pairing import MissingTreatment
from rageval_report.analysis.ranking.letters import groups_of
from rageval_report.analysis.ranking.lineup import (
    Lineup,
    ScoreBlock,
    choose_shared_metrics,
    line_up,
)
from rageval_report.analysis.ranking.margins import check_margins
from rageval_report.analysis.ranking.objective_definitions import ObjectivesArgument
from rageval_report.analysis.ranking.objectives import choose_objectives
from rageval_report.analysis.ranking.pareto import ParetoFront, pareto_front
from rageval_report.analysis.ranking.ranked_blocks import LeaderboardPlan, rank_blocks
from rageval_report.analysis.ranking.ranked_columns import RankedBlock
from rageval_report.analysis.ranking.ranking_tables import (
    friedman_table,
    pair_table,
)
from rageval_report.analysis.ranking.resampled_objectives import ResamplingSettings
from rageval_report.analysis.ranking.standing import RankingSettings, Standing, alpha_of
from rageval_report.analysis.ranking.weighted import WeightedScores, weighted_scores
from rageval_report.analysis.report_files import REPORTS
from rageval_report.errors import (
    DataError,
    check_options,
    explain_keywords,
    explain_keywords_of,
)
from rageval_report.plots import plot
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import MetricNames, PlotOptions, RankingPlot
from rageval_report.reports.sentences import join_names
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored, resolver
from rageval_report.scores.catalogue.dialects import dialect_settings, note_on_dialects
from rageval_report.stats.base import check_level, check_resamples, check_seed
from rageval_report.stats.corrections import check_correction, shared_flips
from rageval_report.stats.many_pairs import AllPairs
from rageval_report.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rageval_report.reports.report import Report

RANKING_HEADLINE = (
    *("rank", "pipeline", "standing", "letters", "n", "mean", "ci_low", "ci_high"),
    *("average_rank", "wins", "beats"),
)


@explain_keywords_of
@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Result):
    """Pipelines in order: one row per metric and pipeline, the best of each metric first.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    lineup : Lineup
        The runs side by side.
    blocks : dict of str to RankedBlock
        The scores by which the pipelines are ranked, for each metric.
    tests : dict of str to AllPairs
        The tests of all pairs on each metric; none for a metric that cannot be ranked.
    weights, objectives, margins
        The defaults of `weighted` and `pareto`.
    levels : dict of str to float
        For each metric with tests the level that the correction leaves to a pair not shown.

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
    >>> ranking.friedman.frame["metric"].tolist()
    ['recall@5', 'latency_ms']
    """

    lineup: Lineup | None = None
    blocks: Mapping[str, RankedBlock] | None = None
    tests: Mapping[str, AllPairs] | None = None
    weights: Mapping[str, float] | None = None
    objectives: ObjectivesArgument = None
    margins: Mapping[str, float] | None = None
    levels: Mapping[str, float] | None = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics, in order."""
        return tuple(dict.fromkeys(self.frame["metric"]))

    @property
    def alpha(self) -> float:
        """The error rate that belongs to the confidence level."""
        return alpha_of(self.settings)

    @property
    def summary(self) -> str:
        """Which pipeline is best, or which others may be as good, in one plain sentence."""
        return ranking_answer(self) if len(self.frame) else ""

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
        known = {name: self._blocks[name].metric for name in self.metrics}
        name = resolver(known)(metric)
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
        if name not in self._tests:
            return []
        standing = Standing.of(self._blocks[name], self._tests[name], self.alpha)
        groups = groups_of(standing.differs)
        return [tuple(standing.names_in_order[place] for place in group) for group in groups]

    @cached_property
    def pairs(self) -> Result:
        """Every pair on every metric: difference with its interval, p before and after correction.

        One row per metric and pair: metric, baseline, candidate, n, baseline_mean, candidate_mean,
        difference, ci_low, ci_high, test, margin, pvalue, pvalue_adjusted, wins, ties, losses,
        min_detectable_difference, is_shown. The intervals belong to the tests, and are not
        adjusted. With a margin the p-value is that of a difference beyond it, and the smallest
        detectable difference is that much larger. It is that of the level that the correction
        leaves to a pair that is not shown.
        """
        return pair_table(self._blocks, self._tests, self._settings, self.levels or {})

    @cached_property
    def friedman(self) -> Result:
        """Friedman's test by metric: metric, n, k, statistic, pvalue, concordance."""
        return friedman_table(self._blocks, self.alpha)

    def weighted(
        self,
        weights: Mapping[str, float] | None = None,
        objectives: ObjectivesArgument = None,
        *,
        margins: Mapping[str, float] | None = None,
        n_resamples: int | None = None,
        seed: int | None = None,
        confidence_level: float | None = None,
    ) -> WeightedScores:
        """One score per pipeline from weighted objectives, and how much the order depends on them.

        Parameters
        ----------
        weights : mapping of str to float, optional
            By objective, or by metric; if omitted, those of the ranking, else the default ones.
        objectives : mapping, optional
            What each objective is made of: an `Objective`, the names of metrics, or a text such as
            "p95(latency_ms), worst=5000, best=0"; see
            `rageval_report.analysis.ranking.objective_definitions`.
        margins : mapping of str to float, optional
            Differences that are too small to matter, by metric, objective, or "score" for the
            weighted score and "quality" for that of a front; if omitted, those of the ranking.
        n_resamples, seed, confidence_level : optional
            As in `rank`; if omitted, those of the ranking.

        Returns
        -------
        WeightedScores

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> ranking = rank(*demo_evaluations(), metrics=["recall@5", "faithfulness"])
        >>> scores = ranking.weighted({"recall@5": 1, "faithfulness": 2}, n_resamples=99)
        >>> scores.frame["pipeline"].tolist()
        ['hybrid', 'bm25']
        """
        return weighted_scores(
            self._lineup,
            *self._weights_and_objectives(weights, objectives),
            **self._resampling_settings(n_resamples, seed, confidence_level),
            correction=self._settings["correction"],
            margins=self.margins if margins is None else margins,
        )

    def pareto(
        self,
        objectives: ObjectivesArgument = None,
        weights: Mapping[str, float] | None = None,
        *,
        margins: Mapping[str, float] | None = None,
        n_resamples: int | None = None,
        seed: int | None = None,
        confidence_level: float | None = None,
    ) -> ParetoFront:
        """The pipelines that no other one dominates, and how certain that is.

        Parameters
        ----------
        objectives : mapping or iterable of str, optional
            The objectives; quality, cost and latency if omitted.
        weights : mapping of str to float, optional
            What quality is made of.
        margins : mapping of str to float, optional
            Differences that are too small to matter, by metric, objective, or "score" for the
            weighted score and "quality" for that of a front; if omitted, those of the ranking.
        n_resamples, seed, confidence_level : optional
            As in `rank`; if omitted, those of the ranking.

        Returns
        -------
        ParetoFront

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> front = rank(*demo_evaluations(), n_resamples=99).pareto()
        >>> front.frame["pipeline"].tolist()
        ['hybrid', 'bm25']
        """
        weights, objectives = self._weights_and_objectives(weights, objectives)
        settings = self._resampling_settings(n_resamples, seed, confidence_level)
        return pareto_front(
            self._lineup,
            objectives,
            weights,
            **settings,
            correction=self._settings["correction"],
            margins=self.margins if margins is None else margins,
        )

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
        kind : str or Plot
            "heat", "leaderboard", "groups", "pareto", or an entry of
            ``rageval_report.plots.PLOTS``.
        *args : str or iterable of str
            The metrics, by any of their names.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if omitted.
        **options
            The options of the plot.

        Returns
        -------
        matplotlib.axes.Axes

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from rageval_report.demo import demo_evaluations
        >>> ranking = rank(*demo_evaluations(), metrics="recall@5")
        >>> ranking.plot("leaderboard", ax=Figure().subplots()).get_title()
        'hybrid, bm25: Recall@5'
        """
        return plot(self, kind, *args, ax=ax, **options)

    def report(self, **options: Unpack[RankingReportKeywords]) -> Report:
        """The report file: the leaderboard, what quality costs, every pair, and every query.

        Parameters
        ----------
        **options
            ``title``, ``by``, ``correct``, ``k``, ``pictures`` and ``longest_text``, as in
            `rageval_report.reports.report_ranking`.

        Returns
        -------
        rageval_report.reports.Report
            Its ``save("report.html")`` writes the page.

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> rank(*demo_evaluations(), metrics="recall@5").report(pictures=False)
        Report('Ranking of bm25 and hybrid', 2 verdicts, 4 sections, 202 queries)
        """
        check_options("Ranking.report()", options, RankingReportKeywords.__annotations__)
        return REPORTS["ranking"](self, **options)

    def _weights_and_objectives(
        self, weights: Mapping[str, float] | None, objectives: ObjectivesArgument
    ) -> tuple[Mapping[str, float] | None, ObjectivesArgument]:
        """Those of the call; those of the ranking if the call has neither."""
        if weights is None and objectives is None:
            return self.weights, self.objectives
        return weights, objectives

    def _resampling_settings(
        self, n_resamples: int | None, seed: int | None, confidence_level: float | None
    ) -> ResamplingSettings:
        own = self._settings
        return {
            "n_resamples": own["n_resamples"] if n_resamples is None else n_resamples,
            "seed": own["seed"] if seed is None else seed,
            "confidence_level": (
                own["confidence_level"] if confidence_level is None else confidence_level
            ),
        }

    @property
    def _settings(self) -> RankingSettings:
        return cast("RankingSettings", self.settings)  # `rank` makes them

    @property
    def _lineup(self) -> Lineup:
        if self.lineup is None:
            raise DataError("this Ranking has no scores; create it with rank()")
        return self.lineup

    @property
    def _blocks(self) -> Mapping[str, RankedBlock]:
        return self.blocks or {}

    @property
    def _tests(self) -> Mapping[str, AllPairs]:
        return self.tests or {}


@explain_keywords
def rank(
    *evaluations: EvaluationInput | Scanned,
    metrics: str | Iterable[str] | None = None,
    weights: Mapping[str, float] | None = None,
    objectives: ObjectivesArgument = None,
    correction: str = "holm",
    confidence_level: float = 0.95,
    missing: MissingTreatment = "drop",
    n_resamples: int = 9999,
    seed: int = 0,
    on: str | None = None,
    test: str = "auto",
    margins: Mapping[str, float] | None = None,
    clusters: Clusters | None = None,
    tried: int = 1,
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
    weights, objectives : mapping, optional
        The defaults of `Ranking.weighted` and `Ranking.pareto`; checked here.
    correction : str
        "holm" over all pairs of all metrics; "westfall-young" (all pairs share the sign flips),
        "bh", "by", "hochberg", "bonferroni", "none".
    confidence_level : float
        The level of the intervals; one minus it is the error rate of the comparisons.
    missing : {"drop", "worst", "bounds"}
        "drop" leaves out, for all, a query that a pipeline did not score; "worst" gives it the
        worst possible score; "bounds" leaves it out, and ``mean_lowest`` and ``mean_highest`` say
        how far such queries could move the mean.
    n_resamples, seed : int
        For whatever draws at random: "westfall-young", intervals of unbounded metrics below 500
        queries, and the resamples of `Ranking.weighted` and `Ranking.pareto`.
    on : str, optional
        A column of texts, such as "question", that matches the queries if the ids differ.
    test : str
        "auto" as in `compare`; else a name of the table ``rageval_report.stats.TESTS``.
    margins : mapping of str to float, optional
        Differences that are too small to matter, such as ``{"latency_ms": 50}``: pipelines are
        shown to differ only beyond them, here, in `Ranking.pairs`, and in `Ranking.weighted` and
        `Ranking.pareto`, of which they are the default. With margins "westfall-young" is Holm's.
    clusters : str, Series or mapping, optional
        A detail column of the first pipeline, or labels by query id: queries with the same label
        are not independent, and count together in every test, interval and resample.
    tried : int
        The number of pipelines that were tried on these queries, if only the best of them are
        ranked. The correction then counts the pairs of all of them; "westfall-young" is Holm's.

    Returns
    -------
    Ranking
        Columns: metric, pipeline, rank, n, n_unscored, mean, ci_low, ci_high, letters, is_best,
        standing ("best", "may be best": not distinguishable from the best, "worse"), average_rank
        (within queries, 1 is best), wins (queries on which it alone is best), beats and beaten_by
        (the number of pipelines it is shown to be better, worse than), ci_method, and the verdict
        of the metric beside its best pipeline; then gain_of_noise, by which noise alone is expected
        to lift the mean of the best of as many equal pipelines.

    Raises
    ------
    DataError
        If there are fewer than two pipelines, two have the same name, or a setting makes no sense.
    AlignmentError
        If no query, or no metric, is in all of them.
    UnknownNameError
        If a metric, an objective or a setting is not known.

    Notes
    -----
    A metric is ranked on the queries that all pipelines scored. Fewer than six of them, or of their
    clusters, are not tested: they are too few to distinguish pipelines. Two pipelines that share a
    letter are not distinguishable on them, which does not make them equal. Each interval is that of
    one mean alone; the letters say whether two pipelines differ.

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
    check_correction(correction)
    level = check_level(confidence_level)
    n_draws, start = check_resamples(n_resamples), check_seed(seed)
    lineup: Any
    read_notes: tuple[str, ...] = ()
    if scans := scans_among(evaluations, "rank()"):
        runs = scans
        lineup = scans[0].line_up(scans, metrics, missing, clusters, on)
    else:
        runs, read_notes = read_evaluations(cast("tuple[EvaluationInput, ...]", evaluations))
        lineup = line_up(runs, missing=missing, on=on, clusters=clusters)
    names = choose_shared_metrics(lineup.runs[0].metrics, lineup.metrics, metrics)
    blocks = {name: lineup.block(name) for name in names}
    plan = LeaderboardPlan(
        test,
        correction,
        level,
        missing,
        n_draws,
        start,
        tried=check_count("tried", tried),
        margins=check_aims(lineup.runs, lineup.metrics, weights, objectives, margins),
        on=on,
        clusters=None if clusters is None else str(clusters_setting(clusters)["clusters"]),
    )
    ranked = rank_blocks(
        blocks,
        lineup,
        {name: lineup.metrics[name] for name in names},
        plan,
        _FlipsInMemory(blocks, n_draws, start),
    )
    return Ranking(
        ranking_title(lineup.names),
        pd.DataFrame(ranked.rows),
        {**ranked.settings, **dialect_settings(runs), **engine_setting(runs[0])},
        (*note_on_dialects(runs), *read_notes, *lineup.notes, *ranked.notes),
        headline=RANKING_HEADLINE,
        grouped_by="metric" if len(names) > 1 else "",
        lineup=lineup,
        blocks=blocks,
        tests=ranked.tests,
        weights=weights,
        objectives=objectives,
        margins=margins,
        levels=ranked.levels,
    )


def check_aims(
    runs: Sequence[Scored],
    metrics: Mapping[str, tuple[Metric, ...]],
    weights: Mapping[str, float] | None,
    objectives: ObjectivesArgument,
    margins: Mapping[str, float] | None,
) -> dict[str, float]:
    """The margins; a mistake in weights, objectives or margins is reported now, not later.

    Parameters
    ----------
    runs : sequence of Scored
        The pipelines; only their metrics are looked at.
    metrics : mapping of str to tuple of Metric
        The metrics that all have, as each knows them.
    weights, objectives, margins
        As in `rank`.
    """
    if weights is None and objectives is None and margins is None:
        return {}
    _, chosen = choose_objectives(runs, objectives, weights)
    return check_margins(margins, {name: known[0] for name, known in metrics.items()}, chosen)


def ranking_title(names: Sequence[str]) -> str:
    """The title of a ranking of these pipelines."""
    listed = f"{len(names)} pipelines" if len(names) > 3 else join_names(names)
    return f"Ranking of {listed}"


@dataclass(frozen=True, eq=False)
class _FlipsInMemory:
    """The correction by flips of signs that all pairs share."""

    blocks: Mapping[str, ScoreBlock]
    n_resamples: int
    seed: int

    def __call__(self, names: Sequence[str], half_ties: Sequence[bool]) -> list[FloatArray]:
        # With the rows that are left out, as NaN: metrics must have the same queries to share
        # flips.
        return shared_flips(
            [self.blocks[name].values for name in names],
            units=next(iter(self.blocks.values())).units,
            half_ties=half_ties,
            n_resamples=self.n_resamples,
            seed=self.seed,
        )
