"""Several pipelines in order, metric by metric, with the groups that cannot be told apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from rageval_report._registry import load
from rageval_report.analysis.comparing.pairing import MissingTreatment
from rageval_report.analysis.ranking.letters import groups_of
from rageval_report.analysis.ranking.lineup import (
    Lineup,
    ScoreBlock,
    choose_shared_metrics,
    line_up,
)
from rageval_report.analysis.ranking.objectives import ObjectivesArgument, resolve_objectives
from rageval_report.analysis.ranking.pair_table import friedman_table, pair_table
from rageval_report.analysis.ranking.pareto import ParetoFront, pareto_front
from rageval_report.analysis.ranking.ranking_rows import ranking_notes, ranking_rows
from rageval_report.analysis.ranking.standing import Standing, alpha_of
from rageval_report.analysis.ranking.weighted import WeightedScores, weighted_scores
from rageval_report.errors import DataError
from rageval_report.results import Result
from rageval_report.scores import Scored, resolver
from rageval_report.stats.all_pairs import (
    WESTFALL_YOUNG,
    AllPairs,
    check_correction,
    pair_tests,
    shared_flips,
)
from rageval_report.stats.base import check_level, check_resamples, check_seed
from rageval_report.stats.corrections import adjust_pvalues

_HEADLINE = (
    *("rank", "pipeline", "standing", "letters", "n", "mean", "ci_low", "ci_high"),
    *("average_rank", "wins", "beats"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Result):
    """Pipelines in order: one row a metric and a pipeline, the best of each metric first.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    lineup : Lineup
        The runs side by side.
    blocks : dict of str to ScoreBlock
        The scores that each metric is ranked by.
    tests : dict of str to AllPairs
        The tests of all pairs on each metric; none for a metric that cannot be ranked.
    weights, objectives
        What `weighted` and `pareto` take where nothing else is said.
    """

    lineup: Lineup | None = None
    blocks: Mapping[str, ScoreBlock] | None = None
    tests: Mapping[str, AllPairs] | None = None
    weights: Mapping[str, float] | None = None
    objectives: ObjectivesArgument = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics, in order."""
        return tuple(dict.fromkeys(self.frame["metric"]))

    @property
    def alpha(self) -> float:
        """The error rate that belongs to the confidence level."""
        return alpha_of(self.settings)

    def best(self, metric: str) -> tuple[str, ...]:
        """The pipelines with the best mean; several if their means are equal."""
        rows = self.of(metric)
        return tuple(rows.loc[rows["is_best"], "pipeline"])

    def of(self, metric: str) -> pd.DataFrame:
        """The rows of one metric, by any of its names, the best pipeline first."""
        name = resolver({one: self._lineup.metrics[one][0] for one in self.metrics})(metric)
        return self.frame[self.frame["metric"] == name].reset_index(drop=True)

    def groups(self, metric: str) -> list[tuple[str, ...]]:
        """The pipelines that share a letter, the best first; a group a letter."""
        name = str(self.of(metric)["metric"].iloc[0])
        if name not in self._tests:
            return []
        standing = Standing.of(self._blocks[name], self._tests[name], self.alpha)
        groups = groups_of(standing.apart)
        return [tuple(standing.ordered[member] for member in group) for group in groups]

    @cached_property
    def pairs(self) -> Result:
        """Every pair on every metric: difference with its interval, p before and after correction.

        A row a metric and pair: metric, baseline, candidate, n, baseline_mean, candidate_mean,
        difference, ci_low, ci_high, test, pvalue, pvalue_adjusted, wins, ties, losses,
        min_detectable_difference, is_shown. The intervals belong to the tests, and are not
        adjusted.
        """
        return pair_table(self._blocks, self._tests, self.settings)

    @cached_property
    def friedman(self) -> Result:
        """Friedman's test by metric: metric, n, k, statistic, pvalue, concordance."""
        return friedman_table(self._blocks, self.alpha)

    def weighted(
        self,
        weights: Mapping[str, float] | None = None,
        objectives: ObjectivesArgument = None,
        **settings: Any,
    ) -> WeightedScores:
        """One score a pipeline from weighted objectives, and how far the order rests on them.

        Parameters
        ----------
        weights : mapping of str to float, optional
            By objective, or by metric; those of the ranking, else the default ones.
        objectives : mapping, optional
            What each objective is made of; see `rageval_report.analysis.ranking.objectives`.
        **settings
            ``n_resamples``, ``seed``, ``confidence_level``: those of the ranking otherwise.

        Returns
        -------
        WeightedScores
        """
        return weighted_scores(
            self._lineup, *self._aims(weights, objectives), **self._own(settings)
        )

    def pareto(
        self,
        objectives: ObjectivesArgument = None,
        weights: Mapping[str, float] | None = None,
        **settings: Any,
    ) -> ParetoFront:
        """The pipelines that no other one beats on all objectives, and how sure that is.

        Parameters
        ----------
        objectives : mapping or iterable of str, optional
            Which objectives; quality, cost and latency where nothing is said.
        weights : mapping of str to float, optional
            What quality is made of.
        **settings
            ``n_resamples``, ``seed``, ``confidence_level``: those of the ranking otherwise.

        Returns
        -------
        ParetoFront
        """
        weights, objectives = self._aims(weights, objectives)
        return pareto_front(self._lineup, objectives, weights, **self._own(settings))

    def plot(self, kind: str = "leaderboard", *args: Any, **options: Any) -> Any:
        """Draw the ranking; see `rageval_report.plots`.

        Parameters
        ----------
        kind : str
            A name of the table ``rageval_report.plots.PLOTS``: "leaderboard", "groups", "pareto".
        *args, **options
            The plot's own; every plot takes ``ax=``.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return load("rageval_report.plots:plot")(self, kind, *args, **options)

    def _aims(
        self, weights: Mapping[str, float] | None, objectives: ObjectivesArgument
    ) -> tuple[Mapping[str, float] | None, ObjectivesArgument]:
        """What is asked now; where nothing is, what was asked of the ranking."""
        if weights is None and objectives is None:
            return self.weights, self.objectives
        return weights, objectives

    def _own(self, settings: dict[str, Any]) -> dict[str, Any]:
        known = {key: self.settings[key] for key in ("n_resamples", "seed", "confidence_level")}
        return {**known, **settings}

    @property
    def _lineup(self) -> Lineup:
        if self.lineup is None:
            raise DataError("this ranking was not made by rank(), and knows no scores")
        return self.lineup

    @property
    def _blocks(self) -> Mapping[str, ScoreBlock]:
        return self.blocks or {}

    @property
    def _tests(self) -> Mapping[str, AllPairs]:
        return self.tests or {}


def rank(
    *evaluations: Scored,
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
) -> Ranking:
    """Rank several pipelines, metric by metric.

    Parameters
    ----------
    *evaluations : RAGPipelineEvaluation
        At least two.
    metrics : str or iterable of str, optional
        Which metrics; all that every pipeline has where nothing is asked.
    weights, objectives : mapping, optional
        What `Ranking.weighted` and `Ranking.pareto` take; checked here.
    correction : str
        "holm" over all pairs of all metrics; "westfall-young" (flips of sign that all pairs share),
        "bh", "by", "hochberg", "bonferroni", "none".
    confidence_level : float
        Of the intervals; one minus it is the error rate at which pipelines are told apart.
    missing : {"drop", "worst", "bounds"}
        A query that a pipeline did not score is left out for all; or takes the worst possible
        score; or is left out, and ``mean_lowest`` and ``mean_highest`` say how far such
        queries could move the mean.
    n_resamples, seed : int
        For what draws at random: "westfall-young", intervals of unbounded metrics below 500
        queries, and the resamples of `Ranking.weighted` and `Ranking.pareto`.
    on : str, optional
        A column of texts by which queries are matched where ids differ, as "question".
    test : str
        "auto" as in `compare`; else a name of the table ``rageval_report.stats.TESTS``.

    Returns
    -------
    Ranking
        Columns: metric, pipeline, rank, n, n_unscored, mean, ci_low, ci_high, letters, is_best,
        standing ("best", "may be best": not told apart from it, "worse"), average_rank (within
        queries, 1 is best), wins (queries on which it alone is best), beats and beaten_by (how many
        pipelines it is shown to be better, worse than), ci_method, and the verdict of the metric
        beside its best pipeline.

    Raises
    ------
    DataError
        If there are fewer than two pipelines, two of one name, or a setting makes no sense.
    AlignmentError
        If no query, or no metric, is in all of them.
    UnknownNameError
        If a metric, an objective or a setting is not known.

    Notes
    -----
    Everything of a metric stands on the queries that all pipelines scored. Two pipelines that share
    a letter cannot be told apart on them, which does not make them equal. The intervals are those
    of the means, each by itself: whether two pipelines differ is what the letters say.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> easy = [0.31, 0.52, 0.13, 0.94, 0.45, 0.26, 0.77, 0.68, 0.05, 0.88]
    >>> runs = [
    ...     RAGPipelineEvaluation(name, {"query_id": list("abcdefghij"), "recall": scores})
    ...     for name, scores in {
    ...         "bm25": easy,
    ...         "dense": [one + 0.04 for one in easy],
    ...         "hybrid": [one + 0.05 - 0.01 * (one > 0.2) for one in easy],
    ...     }.items()
    ... ]
    >>> ranking = rank(*runs)
    >>> ranking.frame[["pipeline", "rank", "letters"]].values.tolist()
    [['hybrid', 1, 'a'], ['dense', 2, 'a'], ['bm25', 3, 'b']]
    """
    check_correction(correction)
    level = check_level(confidence_level)
    drawn = {"n_resamples": check_resamples(n_resamples), "seed": check_seed(seed)}
    lineup = line_up(evaluations, missing=missing, on=on)
    names = choose_shared_metrics(lineup, metrics)
    if weights is not None or objectives is not None:
        resolve_objectives(
            lineup, objectives, weights
        )  # what makes no sense is told now, not later
    blocks = {name: lineup.block(name) for name in names}
    tests = {
        name: pair_tests(block.complete, test=test, **drawn)
        for name, block in blocks.items()
        if block.is_level
    }
    tests = _corrected(tests, blocks, correction, **drawn)
    settings = {
        "test": test,
        "correction": correction,
        "family_size": _family(tests),
        "confidence_level": level,
        "missing": missing,
        **drawn,
        **({} if on is None else {"on": on}),
    }
    rows = [
        row
        for name, block in blocks.items()
        for row in ranking_rows(block, tests.get(name), lineup, settings)
    ]
    return Ranking(
        f"Ranking of {_told_names(lineup.names)}",
        pd.DataFrame(rows),
        settings,
        (*lineup.notes, *ranking_notes(blocks, tests, lineup, settings)),
        headline=_HEADLINE,
        grouped_by="metric" if len(names) > 1 else "",
        lineup=lineup,
        blocks=blocks,
        tests=tests,
        weights=weights,
        objectives=objectives,
    )


def _told_names(names: Sequence[str]) -> str:
    if len(names) > 3:
        return f"{len(names)} pipelines"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _family(tests: Mapping[str, AllPairs]) -> int:
    return sum(pairs.pvalue.size for pairs in tests.values())


def _corrected(
    tests: dict[str, AllPairs],
    blocks: Mapping[str, ScoreBlock],
    correction: str,
    *,
    n_resamples: int,
    seed: int,
) -> dict[str, AllPairs]:
    """The tests of all metrics as one family."""
    if not tests:
        return tests
    if correction == WESTFALL_YOUNG:
        every = [blocks[name].values for name in tests]
        adjusted = shared_flips(every, n_resamples=n_resamples, seed=seed)
    else:
        ends = np.cumsum([pairs.pvalue.size for pairs in tests.values()])[:-1]
        family = np.concatenate([pairs.pvalue for pairs in tests.values()])
        adjusted = np.split(adjust_pvalues(family, correction), ends)
    return {
        name: replace(pairs, pvalue_adjusted=one)
        for (name, pairs), one in zip(tests.items(), adjusted, strict=True)
    }
