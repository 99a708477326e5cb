"""Several pipelines in order, metric by metric: the best, and those that may be as good."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from string import ascii_letters
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report._registry import load
from rageval_report.analysis import arguments, pairing, verdicts
from rageval_report.analysis.lineup import Lineup, ScoreBlock, choose_shared_metrics, line_up
from rageval_report.analysis.objectives import (
    Aims,
    ObjectivesArgument,
    RankSettings,
    check_margins,
    choose_objectives,
)
from rageval_report.analysis.weighted import (
    BEST,
    MAY_BE_BEST,
    WORSE,
    ParetoFront,
    WeightedScores,
    pareto_front,
    weighted_scores,
)
from rageval_report.errors import MOST_NAMED, DataError, check_options, is_doubt
from rageval_report.plots import plot
from rageval_report.plots.kinds import Plot
from rageval_report.plots.options import MetricNames, PlotOptions, RankingPlot
from rageval_report.reports import ranking_sentences, sentences
from rageval_report.results import Result
from rageval_report.scores import Metric, resolver
from rageval_report.scores.catalogue.dialects import dialect_settings, note_on_dialects
from rageval_report.scores.shown import DIRECTION_UNKNOWN
from rageval_report.stats import planning, pooling
from rageval_report.stats.base import Interval
from rageval_report.stats.corrections import WESTFALL_YOUNG, shared_flips, uses_midp
from rageval_report.stats.many_pairs import AllPairs, run_all_tests
from rageval_report.stats.pairs import Pairs, interval_of_test, paired_interval
from rageval_report.stats.units import fewest_units
from rageval_report.types import BoolArray, FloatArray, IndexArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rageval_report.reports.report import Report

_HEADLINE = (
    *("rank", "pipeline", "standing", "letters", "n", "mean", "ci_low", "ci_high"),
    *("average_rank", "wins", "beats"),
)
_PAIR_HEADLINE = (
    *("baseline", "candidate", "n", "baseline_mean", "candidate_mean", "difference"),
    *("ci_low", "ci_high", "pvalue_adjusted", "wins", "ties", "losses"),
)


class DrawKeywords(TypedDict, total=False):
    """The level of intervals and what draws at random; what is omitted is the ranking's."""

    n_resamples: int | None
    seed: int | None
    confidence_level: float | None


@dataclass(frozen=True)
class RankPlan(RankSettings):
    """The checked settings of a ranking; see `rank`."""

    test: str = "auto"
    missing: pairing.MissingTreatment = "drop"
    tried: int = 1
    on: str | None = None
    clusters: str | None = None
    weights: Mapping[str, float] | None = None
    objectives: ObjectivesArgument = None
    margins: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        arguments.check_count("tried", self.tried)

    @property
    def fewest_units(self) -> int:
        """The fewest queries, or clusters, that are tested."""
        return fewest_units(self.alpha)

    def shown(self, correction: str, family_size: int) -> dict[str, object]:
        """The settings of a result."""
        return {
            "test": self.test,
            "correction": correction,
            "family_size": family_size,
            "confidence_level": self.confidence_level,
            "missing": self.missing,
            **self.draws,
            **({} if self.on is None else {"on": self.on}),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Result):
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
    plan : RankPlan
        The settings, and the defaults of `weighted` and `pareto`.
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
    >>> ranking.friedman.frame["metric"].tolist()
    ['recall@5', 'latency_ms']
    """

    lineup: Lineup | None = None
    blocks: Mapping[str, ScoreBlock] = field(default_factory=dict)
    tests: Mapping[str, AllPairs] = field(default_factory=dict)
    levels: Mapping[str, float] = field(default_factory=dict)
    plan: RankPlan = field(default_factory=RankPlan)
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
        difference, ci_low, ci_high, test, margin, pvalue, pvalue_adjusted, wins, ties, losses,
        min_detectable_difference, is_shown. The intervals belong to the tests, and are not
        adjusted. With a margin the p-value is that of a difference beyond it, and the smallest
        detectable difference is that much larger. It is that of the level that the correction
        leaves to a pair that is not shown.
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

    @cached_property
    def friedman(self) -> Result:
        """Friedman's test by metric: metric, n, k, statistic, pvalue, concordance."""
        rows = []
        for name in self.tests:
            block = self.blocks[name]
            test = block.columns.friedman(greater_is_better=block.metric.greater_is_better)
            row = {"metric": name, "n": test.n, "k": len(block.names), "statistic": test.statistic}
            row |= {"degrees_of_freedom": test.degrees_of_freedom, "pvalue": test.pvalue}
            differ = "differ" if test.pvalue <= self.alpha else "are not shown to differ"
            verdict = f"the ranks of the {len(block.names)} pipelines {differ} on {name}"
            rows.append({**row, "concordance": test.concordance, "verdict": verdict})
        note = "a test of ranks within queries, not of means; with many ties it has little power"
        settings = {"test": "friedman", "alpha": self.alpha}
        return Result("Friedman's test", pd.DataFrame(rows), settings, (note,))

    def weighted(
        self,
        weights: Mapping[str, float] | None = None,
        objectives: ObjectivesArgument = None,
        *,
        margins: Mapping[str, float] | None = None,
        **settings: Unpack[DrawKeywords],
    ) -> WeightedScores:
        """One score per pipeline from weighted objectives, and how much the order depends on them.

        Parameters
        ----------
        weights : mapping of str to float, optional
            By objective, or by metric; if omitted, those of the ranking, else the default ones.
        objectives : mapping, optional
            What each objective is made of: an `Objective`, the names of metrics, or a text such as
            "p95(latency_ms), worst=5000, best=0"; see `rageval_report.analysis.objectives`.
        margins : mapping of str to float, optional
            Differences that are too small to matter, by metric (in its own unit), by objective
            (between 0 and 1), or "score" for the weighted score and "quality" for that of a front;
            if omitted, those of the ranking.
        n_resamples, seed, confidence_level : optional
            As in `rank`; if omitted, those of the ranking.

        Returns
        -------
        WeightedScores
            Columns: rank, pipeline, standing ("best", "may be best": not shown to be worse than the
            best, "worse"), score, ci_low, ci_high, share_of_resamples and share_of_weights (in
            which the pipeline has the highest score; ties, and differences up to the margin, are
            shared), share_of_weights_shown (under which it is shown to be better than every other),
            and the contribution of each objective under its name.

        Notes
        -----
        The score is the weighted mean of the objectives that have data in every pipeline. If every
        objective is a mean over queries, each query contributes to the score, and a difference is
        tested as in `rageval_report.compare`. With a median, a percentile, or a mean beyond the
        worst value that counts, the test and the interval come from paired bootstrap resamples.
        `share_of_weights` takes all weights to be equally likely (uniform on the simplex): exact
        for one and two objectives, from random weights for more.

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> ranking = rank(*demo_evaluations(), metrics=["recall@5", "faithfulness"])
        >>> scores = ranking.weighted({"recall@5": 1, "faithfulness": 2}, n_resamples=99)
        >>> scores.frame["pipeline"].tolist()
        ['hybrid', 'bm25']
        """
        return weighted_scores(self._aims(objectives, weights, margins, settings))

    def pareto(
        self,
        objectives: ObjectivesArgument = None,
        weights: Mapping[str, float] | None = None,
        *,
        margins: Mapping[str, float] | None = None,
        **settings: Unpack[DrawKeywords],
    ) -> ParetoFront:
        """The pipelines that no other one dominates, and how certain that is.

        One dominates another if it is better on at least one objective and worse on none. It is
        said to dominate only where each of these claims is shown [1]_.

        Parameters
        ----------
        objectives : mapping or iterable of str, optional
            The objectives. If omitted: quality (accuracy, faithfulness, citation and retrieval,
            weighted), cost and latency; the parts of quality one by one if not every pipeline has
            cost or latency.
        weights : mapping of str to float, optional
            What quality is made of.
        margins, n_resamples, seed, confidence_level : optional
            As in `weighted`.

        Returns
        -------
        ParetoFront
            Columns: pipeline, standing ("on the front"; "may be on the front": another pipeline is
            ahead on these queries, which is not shown to be more than chance; "dominated": that is
            shown), on_front (on these queries), probability_on_front (the share of resamples), each
            objective with ``{objective}_ci_low`` and ``_high``, and the names of those that are
            shown to dominate it and to be dominated by it, dominated_by and dominates.

        References
        ----------
        .. [1] Berger (1982). Multiparameter hypothesis testing and acceptance sampling.
           Technometrics 24(4).

        Examples
        --------
        >>> from rageval_report.demo import demo_evaluations
        >>> front = rank(*demo_evaluations(), n_resamples=99).pareto()
        >>> front.frame["pipeline"].tolist()
        ['hybrid', 'bm25']
        """
        aims = self._aims(objectives, weights, margins, settings)
        is_default = objectives is None and (weights is not None or self.plan.objectives is None)
        return pareto_front(aims, as_quality=is_default)

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
            "heat", "leaderboard", "pareto", or an entry of
            ``rageval_report.plots.PLOTS``.
        *args : str or iterable of str
            The metrics, by any of their names.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if omitted.
        **options
            The options of the plot.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from rageval_report.demo import demo_evaluations
        >>> ranking = rank(*demo_evaluations(), metrics="recall@5")
        >>> ranking.plot("leaderboard", ax=Figure().subplots()).get_title()
        'hybrid, bm25: Recall@5'
        """
        return plot(self, kind, *args, ax=ax, **options)

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

    def _aims(
        self,
        objectives: ObjectivesArgument,
        weights: Mapping[str, float] | None,
        margins: Mapping[str, float] | None,
        settings: DrawKeywords,
    ) -> Aims:
        """The objectives of a call; what it does not say is that of the ranking."""
        plan = self.plan
        if self.lineup is None:
            raise DataError("this Ranking has no scores; create it with rank()")
        if weights is None and objectives is None:
            weights, objectives = plan.weights, plan.objectives
        own: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
        plan = replace(plan, correction=str(self.settings["correction"]), **own)
        return Aims.of(
            *(self.lineup, plan, objectives, weights), plan.margins if margins is None else margins
        )


def rank(
    *evaluations: arguments.EvaluationInput | arguments.Scanned,
    metrics: str | Iterable[str] | None = None,
    weights: Mapping[str, float] | None = None,
    objectives: ObjectivesArgument = None,
    correction: str = "holm",
    confidence_level: float = 0.95,
    missing: pairing.MissingTreatment = "drop",
    n_resamples: int = 9999,
    seed: int = 0,
    on: str | None = None,
    test: str = "auto",
    margins: Mapping[str, float] | None = None,
    clusters: arguments.Clusters | None = None,
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
        "holm" over all pairs of all quality metrics, and over those of latency, cost and tokens;
        "westfall-young" (all pairs share the sign flips), "bh", "by", "hochberg", "bonferroni",
        "none".
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
        standing ("best", "may be best": not shown to be worse, "worse"), average_rank
        (within queries, 1 is best), wins (queries on which it alone is best), beats and beaten_by
        (the number of pipelines it is shown to be better, worse than), ci_method, and the verdict
        of the metric beside its best pipeline; then gain_of_noise, by which noise alone is expected
        to lift the mean of the best of as many equal pipelines.

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
    shown_clusters = (
        None if clusters is None else str(arguments.clusters_setting(clusters)["clusters"])
    )
    plan = RankPlan(
        *(confidence_level, n_resamples, seed, correction, test, missing, tried, on),
        *(shown_clusters, weights, objectives),
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
    if (weights, objectives, margins) != (None, None, None):
        # A mistake in weights, objectives or margins is reported now, not later.
        _, chosen = choose_objectives(lineup.runs, objectives, weights)
        known = {name: known_as[0] for name, known_as in lineup.metrics.items()}
        plan = replace(plan, margins=check_margins(margins, known, chosen))
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
    plan: RankPlan
    family: verdicts.CorrectionFamily

    @cached_property
    def margins(self) -> dict[str, float]:
        """The margins of the metrics that can be ranked."""
        return {name: self.plan.margins[name] for name in self.raw if name in self.plan.margins}

    @property
    def tried(self) -> int:
        """The number of pipelines that were tried, of which those at hand may be the best."""
        return max(self.plan.tried, len(self.lineup.names))

    @property
    def hidden(self) -> float:
        """The pairs with pipelines that are not ranked, for each pair that is."""
        n = len(self.lineup.names)
        return self.tried * (self.tried - 1) / (n * (n - 1)) - 1.0

    @cached_property
    def raw(self) -> dict[str, AllPairs]:
        """The tests of all pairs, not yet corrected; none of a metric that cannot be ranked."""
        return {
            name: self._tested(block)
            for name, block in self.blocks.items()
            if len(block.names) > 1 and block.columns.n > 0
        }

    def _tested(self, block: ScoreBlock) -> AllPairs:
        """All pairs on one metric; p is NaN if there are too few units for a test."""
        columns, plan = block.columns, self.plan
        is_too_few = columns.n_units < plan.fewest_units
        margin = 0.0 if is_too_few else plan.margins.get(block.metric.name, 0.0)
        pairs = run_all_tests(columns.pairs, test=plan.test, margin=margin, **plan.draws)
        if not is_too_few:
            return pairs
        pvalue = np.where((pairs.wins == 0) & (pairs.losses == 0), 1.0, np.nan)
        return replace(pairs, pvalue=pvalue, pvalue_adjusted=pvalue, tests=("none",) * pvalue.size)

    @property
    def correction(self) -> str:
        """The correction; the flips that all pairs share are of differences of 0 of all pairs."""
        is_stepwise = bool(self.margins) or self.tried > len(self.lineup.names)
        return self.plan.stepwise if is_stepwise else self.plan.correction

    @cached_property
    def corrected(self) -> tuple[dict[str, AllPairs], dict[str, float]]:
        """The tests with adjusted p-values, and the level that is left to a pair, by metric."""
        tests, plan, correction = self.raw, self.plan, self.correction
        if not tests:
            return tests, {}
        names = [name for name, pairs in tests.items() for _ in range(pairs.pvalue.size)]
        raw = np.concatenate([pairs.pvalue for pairs in tests.values()])

        def adjust(positions: IndexArray) -> FloatArray:
            if correction != WESTFALL_YOUNG:
                return verdicts.adjust_with_hidden(raw[positions], correction, self.hidden)
            chosen = list(dict.fromkeys(names[i] for i in positions))
            # With the rows that are left out, as NaN: metrics must have the same queries to share
            # flips. They are drawn, but no adjusted p-value is below the raw one; NaN is no test.
            drawn = shared_flips(
                [self.blocks[name].values for name in chosen],
                units=self.blocks[chosen[0]].units,
                half_ties=[uses_midp(test) for name in chosen for test in tests[name].tests],
                **plan.draws,
            )
            return np.asarray(np.maximum(np.concatenate(drawn), raw[positions]))

        family = self.family.tested(names, raw)
        ends = np.cumsum([pairs.pvalue.size for pairs in tests.values()])[:-1]
        split = zip(tests.items(), np.split(family.correct(adjust), ends), strict=True)
        levels = family.levels_left(correction, plan.alpha, self.hidden).tolist()
        return (
            {name: replace(pairs, pvalue_adjusted=pvalues) for (name, pairs), pvalues in split},
            dict(zip(names, levels, strict=True)),
        )

    def settings(self, names: Iterable[str]) -> dict[str, object]:
        """The settings of the metrics of one family."""
        pvalues = [self.raw[name].pvalue for name in names if name in self.raw]
        n_tests = sum(int(np.isfinite(own).sum()) for own in pvalues)
        return {
            **self.plan.shown(self.correction, round(n_tests * (1.0 + self.hidden))),
            **({"tried": self.tried} if self.tried > len(self.lineup.names) else {}),
            **({"margins": self.margins} if self.margins else {}),
            **({} if self.plan.clusters is None else {"clusters": self.plan.clusters}),
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
        return Ranking(
            f"Ranking of {listed}",
            rows,
            settings,
            (*self._notes(), *key_notes),
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
        n_unscored = unscored.get(name, self.lineup.n_queries)
        row: dict[str, object] = {"metric": block.metric.name, "pipeline": name, "rank": math.nan}
        row |= {"n": 0, "n_unscored": n_unscored}
        row |= dict.fromkeys(("mean", "ci_low", "ci_high"), math.nan)
        row |= {"letters": "", "is_best": False, "standing": "not ranked"}
        row |= {"average_rank": math.nan, "wins": 0, "beats": 0, "beaten_by": 0}
        row |= {"ci_method": "none", "title": block.metric.title}
        row |= {"greater_is_better": block.metric.greater_is_better}
        row |= {"verdict": None, "gain_of_noise": math.nan}
        if self.lineup.missing == "bounds":
            ends = self.lineup.extreme_means(block.metric, name)
            row |= dict(zip(("mean_lowest", "mean_highest"), ends, strict=True))
        return {**row, **ranked}

    def _rows(
        self, block: ScoreBlock, settings: Mapping[str, object]
    ) -> Iterator[dict[str, object]]:
        """The rows of one metric: the pipelines in order, then those that are not ranked."""
        tests, metric = self.corrected[0].get(block.metric.name), block.metric
        if tests is None:
            yield from (self._row(block, name) for name in self.lineup.names)
            return
        standing, columns = Standing(block, tests, self.plan.alpha), block.columns
        up, is_known = metric.greater_is_better, metric.direction_is_known
        order, beats, intervals = standing.order, standing.beats, self._mean_intervals(block)
        average, wins = _average_ranks(tests, up), columns.alone_best(greater_is_better=up)
        first = ranking_sentences.standing_sentence(block, standing, intervals[order[0]], settings)
        if not is_known:
            first = f"{metric.name}: {sentences.direction_question(metric.name)}"
        lift = self._gain_of_noise(metric.name)
        for place, letters in zip(order, letters_of(standing.differs), strict=True):
            interval = intervals[place]
            yield self._row(
                *(block, block.names[place]),
                rank=int(standing.ranks[place]) if is_known else math.nan,
                n=columns.n,
                mean=interval.estimate,
                ci_low=interval.low,
                ci_high=interval.high,
                letters=letters,
                is_best=is_known and bool(standing.ranks[place] == 1),
                standing=standing.word(place) if is_known else DIRECTION_UNKNOWN,
                average_rank=float(average[place]),
                wins=int(wins[place]),
                beats=int(beats[place].sum()) if is_known else 0,
                beaten_by=int(beats[:, place].sum()) if is_known else 0,
                ci_method=interval.method,
                verdict=first if place == order[0] else None,
                gain_of_noise=lift,
            )
        yield from (self._row(block, name) for name in block.empty)

    def _mean_intervals(self, block: ScoreBlock) -> list[Interval]:
        """The interval of the mean of each pipeline."""
        columns, metric = block.columns, block.metric
        if not columns.are_clusters:
            return [arguments.interval_of_mean(metric, own, self.plan) for own in columns.columns]
        return [
            arguments.interval_of_clusters(metric, own, columns.error(place), self.plan)
            for place, own in enumerate(columns.columns)
        ]

    def _gain_of_noise(self, name: str) -> float:
        """By how much noise alone lifts the mean of the best of as many equal pipelines."""
        tests, block = self.raw[name], self.blocks[name]
        largest = float(tests.standard_deviation.max(initial=0.0))
        if not largest > 0.0:
            return math.nan
        own_variance = float(np.mean((tests.standard_deviation / largest) ** 2)) / 2.0
        error = largest * math.sqrt(own_variance / tests.n_units)
        is_some = self.tried > len(self.lineup.names)
        return pooling.gain_of_noise(error, self.tried if is_some else len(block.names))

    # -- notes

    def _notes(self) -> Iterator[str]:
        """What was left out of each metric, and the margins."""
        notes = ((name, note) for name, own in self.blocks.items() for note in self._left_out(own))
        yield from sentences.group_notes(notes, len(self.blocks))
        if self.margins:
            sizes = (f"{name} {sentences.number(size)}" for name, size in self.margins.items())
            yield f"margins, beyond which a difference matters: {', '.join(sizes)}"

    def _notes_on_luck(self) -> Iterator[str]:
        """That the best was chosen on these queries, and what luck alone gives to it."""
        names = [name for name, own in self.raw.items() if np.isfinite(own.pvalue).any()]
        if not names:
            return
        lifts = {name: self._gain_of_noise(name) for name in names}
        known = [f"{sentences.number(lift)} on {name}" for name, lift in lifts.items() if lift > 0]
        is_some = self.tried > len(self.lineup.names)
        tried = self.tried if is_some else max(len(self.blocks[name].names) for name in names)
        note = "the best was chosen on these queries, so its mean is too favourable"
        if known:
            note += (
                f": by luck alone, the best of {tried} equal pipelines would look better by about "
                f"{known[0]}"
            )
        if tried > 2:
            note += f"; to compare it with a baseline, use tried={tried} or new queries"
        yield note

    def _left_out(self, block: ScoreBlock) -> Iterator[str]:
        """The queries and the pipelines that are left out on a metric."""
        n_common, n_units = self.lineup.n_queries, block.columns.n_units
        fewest, n = self.plan.fewest_units, n_common - block.n_not_applicable
        if block.n_not_applicable:
            yield f"does not apply to {block.n_not_applicable} of {n_common} common queries"
        if block.empty:
            are = "is" if len(block.empty) == 1 else "are"
            yield f"not scored at all by {', '.join(block.empty)}, which {are} not ranked"
        left_out = n - block.columns.n
        if left_out and block.names:
            order = np.argsort(-block.unscored, kind="stable")
            counts = [f"{block.names[p]}: {block.unscored[p]}" for p in order if block.unscored[p]]
            yield (
                f"{left_out} of {n} common queries are left out, as some pipeline did not score "
                f"them ({sentences.join_names(counts, MOST_NAMED)})"
            )
        if 0 < n_units < fewest and len(block.names) > 1:
            yield f"too few {block.units.word} for a test: {n_units}; at least {fewest} are needed"
        if not left_out and self.lineup.missing == "worst" and block.unscored.any():
            yield from sentences.filled_notes(int(block.unscored.sum()))


# -- the order on one metric


class Standing:
    """The order of the pipelines on one metric, and which pairs are shown to differ."""

    def __init__(self, block: ScoreBlock, tests: AllPairs, alpha: float) -> None:
        columns, sign = block.columns, 1.0 if block.metric.greater_is_better else -1.0
        means, tie = sign * columns.means, columns.tie
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


def _average_ranks(tests: AllPairs, greater_is_better: bool) -> FloatArray:
    """One more than the number of those ahead, a tie counting half: from the pairs alone."""
    second_ahead = (tests.wins if greater_is_better else tests.losses) + tests.ties / 2
    ranks = np.ones(int(tests.second.max()) + 1)
    np.add.at(ranks, tests.first, second_ahead / tests.n)
    np.add.at(ranks, tests.second, (tests.n - second_ahead) / tests.n)
    return ranks


def _pair_rows(
    block: ScoreBlock, tests: AllPairs, level: float, plan: RankPlan
) -> Iterator[dict[str, object]]:
    metric, margin = block.metric, plan.margins.get(block.metric.name, 0.0)
    is_tested = block.columns.n_units >= plan.fewest_units
    wins, losses = tests.wins.tolist(), tests.losses.tolist()
    if not metric.greater_is_better:  # the tests count larger scores, a table of wins better ones
        wins, losses = losses, wins
    for place, (i, j, both) in enumerate(
        zip(tests.first.tolist(), tests.second.tolist(), block.columns.pairs, strict=True)
    ):
        low = high = detectable = math.nan
        if is_tested:
            low, high = _difference_limits(both, metric, plan)
            planned = planning.PlannedTest.of(both.units, tests.tests[place])
            detectable = margin + planned.detectable(both.n, alpha=level)
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
            "margin": margin,
            "pvalue": float(tests.pvalue[place]),
            "pvalue_adjusted": float(tests.pvalue_adjusted[place]),
            "wins": wins[place],
            "ties": int(tests.ties[place]),
            "losses": losses[place],
            "min_detectable_difference": detectable,
            "is_shown": bool(tests.pvalue_adjusted[place] <= plan.alpha),
        }


def _difference_limits(pairs: Pairs, metric: Metric, plan: RankPlan) -> tuple[float, float]:
    """The interval of the difference, within the metric's range."""
    interval = paired_interval(pairs, method=interval_of_test(plan.test), **plan.keywords)
    widest = math.inf if metric.bounds is None else metric.bounds[1] - metric.bounds[0]
    return max(interval.low, -widest), min(interval.high, widest)
