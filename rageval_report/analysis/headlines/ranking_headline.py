"""The headline of a ranking: which pipeline is best, and which others may be as good."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd

from rageval_report.analysis.ranking.standing import BEST, WORSE
from rageval_report.analysis.verdicts import MetricVerdict, pair_text, verdicts_of
from rageval_report.names.short_names import ShortNames, shorten_names
from rageval_report.reports.sentences import Headline, counted, names_with_rest, number, with_commas
from rageval_report.scores import Metric
from rageval_report.stats.units import fewest_units

if TYPE_CHECKING:
    from rageval_report.analysis.ranking.leaderboard import Ranking

_MOST_LEADERS = 3


def ranking_headline(ranking: Ranking, *, labels: Mapping[str, str] | None = None) -> Headline:
    """The answer of a ranking in plain sentences.

    Parameters
    ----------
    ranking : Ranking
        What `rageval_report.rank` gives.
    labels : mapping of str to str, optional
        What metrics are called, by their names; the names themselves if omitted.

    Returns
    -------
    Headline
        With short names of pipelines. The leader is the pipeline with the best average place over
        all metrics, of those that are shown to be worse than the best on none.

    Examples
    --------
    >>> from rageval_report import rank
    >>> from rageval_report.demo import demo_evaluations
    >>> print(ranking_headline(rank(*demo_evaluations())).text)
    No single winner: hybrid leads on 7 of 8 metrics, bm25 on latency_ms.
    """
    places = RankedPipelines.of(ranking, labels or {})
    if not places.metrics:
        return Headline(_too_few_text(ranking, places), _basis(ranking, places))
    details = (*_details(places), *_would_show(ranking, places))
    return Headline(_text(places), _basis(ranking, places), details)


def ranking_answer(ranking: Ranking) -> str:
    """The headline of a ranking alone, in the metrics' own names.

    Parameters
    ----------
    ranking : Ranking
        As in `ranking_headline`.
    """
    places = RankedPipelines.of(ranking, {})
    return _text(places) if places.metrics else _too_few_text(ranking, places)


@dataclass(frozen=True, eq=False)
class RankedPipelines:
    """Which pipelines are in front, and by how much.

    Parameters
    ----------
    frame : DataFrame
        The rows of the ranking that were tested.
    pipelines : tuple of str
        All of them, the best average place first.
    metrics : tuple of str
        The metrics with tests.
    names : ShortNames
        The short names of the pipelines.
    labels : mapping of str to str
        What metrics are called.
    """

    frame: pd.DataFrame
    pipelines: tuple[str, ...]
    metrics: tuple[str, ...]
    names: ShortNames
    labels: Mapping[str, str]

    @classmethod
    def of(cls, ranking: Ranking, labels: Mapping[str, str]) -> RankedPipelines:
        """Those of a ranking."""
        everyone = list(dict.fromkeys(ranking.frame["pipeline"].astype(str)))
        tests = ranking.tests or {}
        tested = {name for name, pairs in tests.items() if np.isfinite(pairs.pvalue).any()}
        frame = ranking.frame[ranking.frame["metric"].isin(tested) & (ranking.frame["n"] > 0)]
        order = frame.groupby("pipeline", sort=False)["rank"].mean()
        known = order.sort_values(kind="stable").index.astype(str).tolist()
        pipelines = (*known, *(name for name in everyone if name not in set(known)))
        metrics = tuple(dict.fromkeys(frame["metric"]))
        return cls(frame, pipelines, metrics, shorten_names(pipelines), labels)

    @cached_property
    def worse_on(self) -> dict[str, tuple[str, ...]]:
        """The metrics on which each pipeline is shown to be worse than the best."""
        worse = self.frame[self.frame["standing"] == WORSE]
        return {
            name: tuple(worse.loc[worse["pipeline"] == name, "metric"]) for name in self.pipelines
        }

    @property
    def in_front(self) -> tuple[str, ...]:
        """The pipelines that are shown to be worse than the best on no metric."""
        return tuple(name for name in self.pipelines if not self.worse_on[name])

    @property
    def behind(self) -> tuple[str, ...]:
        """The pipelines that are shown to be worse than the best on a metric."""
        return tuple(name for name in self.pipelines if self.worse_on[name])

    def label(self, metric: str) -> str:
        """What a metric is called."""
        return self.labels.get(metric, metric)

    @cached_property
    def equal_on(self) -> frozenset[str]:
        """The metrics of which all pipelines have the same mean, so that nobody leads on them."""
        is_best = self.frame["standing"] == BEST
        counts = is_best.groupby(self.frame["metric"]).sum()
        sizes = self.frame.groupby("metric").size()
        return frozenset(str(name) for name in self.metrics if counts[name] == sizes[name])

    def best_on(self, pipeline: str) -> list[str]:
        """The metrics of which a pipeline has the best mean, unless all have the same."""
        own = self.frame[(self.frame["pipeline"] == pipeline) & (self.frame["standing"] == BEST)]
        return [self.label(name) for name in own["metric"] if name not in self.equal_on]

    def beats_all_on(self, pipeline: str) -> int:
        """The number of metrics on which a pipeline is shown to be better than all others."""
        own = self.frame[self.frame["pipeline"] == pipeline]
        return int((own["beats"] == len(self.pipelines) - 1).sum())

    @property
    def is_anything_shown(self) -> bool:
        """Whether any pipeline is shown to be better than another."""
        return bool((self.frame["beats"] > 0).any())


def pair_verdicts(
    ranking: Ranking, labels: Mapping[str, str] | None = None
) -> list[list[MetricVerdict]]:
    """The verdicts of every pair of pipelines, in the order of `Ranking.pairs`.

    Parameters
    ----------
    ranking : Ranking
        What `rageval_report.rank` gives.
    labels : mapping of str to str, optional
        As in `ranking_headline`.

    Returns
    -------
    list of list of MetricVerdict
        One list per pair, with one verdict per metric.
    """
    if not ranking.tests:
        return []
    frame = ranking.pairs.frame
    metrics = {name: described_metric(ranking, name) for name in ranking.tests}
    frame = frame.assign(
        greater_is_better=frame["metric"].map(lambda name: metrics[name].greater_is_better),
        kind=frame["metric"].map(lambda name: metrics[name].kind),
    )
    pairs: dict[tuple[str, str], list[MetricVerdict]] = {}
    for verdict in verdicts_of(frame, alpha=ranking.alpha, labels=labels):
        pairs.setdefault((verdict.baseline, verdict.candidate), []).append(verdict)
    return list(pairs.values())


def described_metric(ranking: Ranking, name: str) -> Metric:
    """The description of a metric of a ranking."""
    return (ranking.blocks or {})[name].metric


def both_pair_texts(verdicts: Sequence[MetricVerdict], names: ShortNames) -> tuple[str, str]:
    """The headlines of a pair: of the second beside the first, and the other way round."""
    return pair_text(verdicts, names), pair_text([own.turned() for own in verdicts], names)


# -- the sentences


def _text(places: RankedPipelines) -> str:
    p, m = len(places.pipelines), counted(len(places.metrics), "metric")
    if not places.is_anything_shown:
        none = "Neither" if p == 2 else "None"
        return f"{none} of {p} pipelines is shown to be better than another."
    if not places.in_front:
        return _split_text(places)
    leader, *others = places.in_front
    short = places.names.of(leader)
    if not others:
        k = places.beats_all_on(leader)
        if k:
            on = f"{k} of {m}" if len(places.metrics) > 1 else places.label(places.metrics[0])
            others_text = "the other" if p == 2 else "all others"
            return f"{short} is best: shown to be better than {others_text} on {on}."
        return f"{short} leads: each other pipeline is shown to be worse on at least one metric."
    if len(others) == 1:
        return f"{short} leads, but {places.names.of(others[0])} may be as good."
    return f"{short} leads, but {len(others)} others may be as good."


def _split_text(places: RankedPipelines) -> str:
    """Which pipeline has the best mean of which metrics, if each is worse on another."""
    best_on = {name: places.best_on(name) for name in places.pipelines}
    leads: list[tuple[str, list[str]]] = []
    said: set[str] = set()
    for name in sorted(best_on, key=lambda name: -len(best_on[name])):
        # Of pipelines that share a metric, the first one is named.
        metrics = [metric for metric in best_on[name] if metric not in said]
        said.update(metrics)
        if metrics:
            leads.append((places.names.of(name), metrics))
    parts = []
    for position, (name, metrics) in enumerate(leads[:_MOST_LEADERS]):
        many = len(metrics) > _MOST_LEADERS
        on = (
            f"{len(metrics)} of {counted(len(places.metrics), 'metric')}"
            if many
            else names_with_rest(metrics)
        )
        parts.append(f"{name} {'leads ' if position == 0 else ''}on {on}")
    rest = len(leads) - _MOST_LEADERS
    more = f", {counted(rest, 'more', 'more')} on others" if rest > 0 else ""
    return f"No single winner: {', '.join(parts)}{more}."


def _too_few_text(ranking: Ranking, places: RankedPipelines) -> str:
    n = max((int(n) for n in ranking.frame["n"]), default=0)
    fewest = fewest_units(ranking.alpha)
    return (
        f"Too few queries to rank {len(places.pipelines)} pipelines: {n} in common, at least "
        f"{fewest} are needed."
    )


def _details(places: RankedPipelines) -> tuple[str, ...]:
    m = len(places.metrics)
    if not places.in_front or not places.is_anything_shown:
        return ()
    leader, *others = places.in_front
    best = places.best_on(leader)
    parts = []
    if best:
        on = "every metric" if len(best) == m > 1 else f"{len(best)} of {counted(m, 'metric')}"
        parts.append(f"Best mean on {on}.")
    elif m > 1:
        parts.append("Best average place over all metrics, though the best mean on none.")
    n_other, n_behind = len(places.pipelines) - 1, len(places.behind)
    if others and n_behind:
        others_are, behind_are = ("is" if n == 1 else "are" for n in (len(others), n_behind))
        parts.append(
            f"{len(others)} of the other {n_other} {others_are} not distinguishable from the best "
            f"on any metric; {n_behind} {behind_are} shown to be worse on at least one."
        )
    parts += _cheapest(places, leader)
    return tuple(parts)


def _cheapest(places: RankedPipelines, leader: str) -> list[str]:
    """Which of the pipelines in front costs the least, if it is not the leader."""
    spent = [
        metric
        for metric in places.metrics
        if not places.frame.loc[places.frame["metric"] == metric, "greater_is_better"].iloc[0]
    ]
    for metric in spent:
        rows = places.frame[places.frame["metric"] == metric].set_index("pipeline")["mean"]
        own = rows.reindex(list(places.in_front)).dropna()
        if len(own) > 1 and leader in own.index and own.idxmin() != leader:
            cheapest = str(own.idxmin())
            return [
                f"Of the {len(places.in_front)} in front, {places.names.of(cheapest)} has the "
                f"lowest {places.label(metric)} ({number(float(own.min()))} instead of "
                f"{number(float(own[leader]))})."
            ]
    return []


def _would_show(ranking: Ranking, places: RankedPipelines) -> list[str]:
    """The smallest difference that these queries show on a metric between 0 and 1."""
    shares = [
        name
        for name in places.metrics
        if described_metric(ranking, name).kind in ("binary", "proportion")
    ]
    pairs = ranking.pairs.frame
    open_pairs = pairs[~pairs["is_shown"].astype(bool) & pairs["metric"].isin(shares)]
    sizes = open_pairs["min_detectable_difference"].to_numpy(dtype=float)
    sizes = sizes[np.isfinite(sizes) & (sizes < 1.0)]
    n = int(cast("int", ranking.frame["n"].max()))
    if not sizes.size or math.isnan(float(np.median(sizes))):
        return []
    return [
        f"With {counted(n, 'query', 'queries')}, only differences beyond about "
        f"{float(np.median(sizes)):.2g} would show between two pipelines."
    ]


def _basis(ranking: Ranking, places: RankedPipelines) -> str:
    n = max((int(n) for n in ranking.frame["n"]), default=0)
    parts = [
        f"{len(places.pipelines)} pipelines",
        counted(n, "query", "queries"),
        counted(ranking.frame["metric"].nunique(), "metric"),
        "every pair compared",
    ]
    unscored = int(ranking.frame["n_unscored"].max())
    if unscored:
        parts.append(f"up to {with_commas(unscored)} unscored on a metric")
    return " · ".join(parts)
