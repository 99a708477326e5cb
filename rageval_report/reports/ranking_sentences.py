"""The sentences of a ranking: which pipeline is best, and which others may be as good."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.reports.sentences import (
    Headline,
    correction_name,
    correction_note,
    correction_text,
    counted,
    join_names,
    names_with_rest,
    number,
    with_commas,
)
from rageval_report.results import Answer
from rageval_report.scores.names import ShortNames, shorten_names
from rageval_report.scores.shown import DIRECTION_UNKNOWN

MOST_NOTES = 3
_MOST_LEADERS = 3
_MOST_NAMED = 6
# With more pipelines they are the rows of the printed table, with so many metrics beside them.
_MOST_COLUMNS, _MOST_METRICS = 4, 4


def standing_sentence(
    block: Any, standing: Any, interval: Any, settings: Mapping[str, object]
) -> str:
    """The verdict on the best pipeline of a metric, as a person can repeat it."""
    name, names = block.metric.name, block.names
    leader, n_first = standing.order[0], int((standing.ranks == 1).sum())
    rivals = standing.order[n_first:]
    counted_units = counted(block.n, "query", "queries")
    if block.units.are_clusters:
        counted_units += f" in {counted(block.n_units, 'cluster')}"
    level = f"{100 * interval.confidence_level:g} % CI"
    limits = f"{level} {number(interval.low)} to {number(interval.high)}, "
    shown_limits = "" if math.isnan(interval.low) else limits
    verb, beats = ("has", "beats") if n_first == 1 else ("share", "beat")
    opening = (
        f"{_listed([names[place] for place in standing.order[:n_first]])} {verb} the best {name} "
        f"(mean {number(interval.estimate)}, {shown_limits}{counted_units})"
    )
    if not rivals:
        return f"{opening}: their means are equal"
    beaten = [names[rival] for rival in rivals if standing.beats[leader, rival]]
    unbeaten = [names[rival] for rival in rivals if not standing.beats[leader, rival]]
    if not beaten:
        return f"{opening}, but {_listed(unbeaten)} may be as good"
    family, correction = settings["family_size"], correction_text(str(settings["correction"]))
    how = "" if family == 1 else f" ({correction}, {family} tests)"
    rest = f"; {_listed(unbeaten)} may be as good" if unbeaten else ""
    return f"{opening}, and {beats} {_listed(beaten)}{how}{rest}"


def _listed(names: list[str]) -> str:
    return f"{len(names)} pipelines" if len(names) > _MOST_NAMED else join_names(names)


def basis_of_ranking(
    frame: pd.DataFrame,
    settings: Mapping[str, object],
    apart: Collection[str],
    blocks: Mapping[str, Any],
) -> str:
    """How a ranking was tested: the test, the families of its correction, the missing scores."""
    test, correction = settings["test"], str(settings["correction"])
    text = f"{'sign-flip' if test == 'auto' else test} test of every pair"
    if any(block.units.are_clusters for block in blocks.values()):
        text += " of clusters"
    family, alpha = (
        int(str(settings["family_size"])),
        1.0 - float(str(settings["confidence_level"])),
    )
    if correction == "none":
        text += f"; {correction_note(correction, family, alpha, 'pairs')}"
    elif family > 1:
        quality = "quality " if apart and len(apart) < len(blocks) else ""
        text += f"; p adjusted for {family} {quality}tests ({correction_name(correction)})"
        text += f", {names_with_rest([*apart])} apart" if quality else ""
    missing = frame.groupby("metric", sort=False)["n_unscored"].sum()
    texts = [f"{n:,} {name}" for name, n in missing.sort_values(ascending=False).items() if n]
    return f"{text}. Missing scores: {names_with_rest(texts)}" if texts else text


@dataclass(frozen=True, eq=False)
class RankedPipelines:
    """Which pipelines are in front, and by how much."""

    frame: pd.DataFrame
    pipelines: tuple[str, ...]
    metrics: tuple[str, ...]
    names: ShortNames
    labels: Mapping[str, str]

    @classmethod
    def of(cls, ranking: Any, labels: Mapping[str, str] | None = None) -> RankedPipelines:
        """Those of a ranking."""
        everyone = list(dict.fromkeys(ranking.frame["pipeline"].astype(str)))
        tested = {n for n, pairs in ranking.tests.items() if np.isfinite(pairs.pvalue).any()}
        frame = ranking.frame[ranking.frame["metric"].isin(tested) & (ranking.frame["n"] > 0)]
        order = frame.groupby("pipeline", sort=False)["rank"].mean().sort_values(kind="stable")
        pipelines = tuple(dict.fromkeys([*order.index.astype(str), *everyone]))
        metrics = tuple(dict.fromkeys(frame["metric"]))
        return cls(frame, pipelines, metrics, shorten_names(pipelines), labels or {})

    @cached_property
    def _worse(self) -> frozenset[str]:
        return frozenset(self.frame.loc[self.frame["standing"] == "worse", "pipeline"])

    @property
    def in_front(self) -> tuple[str, ...]:
        """The pipelines that are shown to be worse than the best on no metric."""
        return tuple(name for name in self.pipelines if name not in self._worse)

    @property
    def behind(self) -> tuple[str, ...]:
        """The pipelines that are shown to be worse than the best on a metric."""
        return tuple(name for name in self.pipelines if name in self._worse)

    def label(self, metric: str) -> str:
        """What a metric is called."""
        return self.labels.get(metric, metric)

    @cached_property
    def equal_on(self) -> frozenset[str]:
        """The metrics of which all pipelines have the same mean, so that nobody leads on them."""
        is_best = self.frame["standing"] == "best"
        are_equal = is_best.groupby(self.frame["metric"]).all()
        return frozenset(are_equal.index[are_equal])

    def best_on(self, pipeline: str) -> list[str]:
        """The metrics of which a pipeline has the best mean, unless all have the same."""
        own = self.frame[(self.frame["pipeline"] == pipeline) & (self.frame["standing"] == "best")]
        return [self.label(name) for name in own["metric"] if name not in self.equal_on]

    def verdict(self, metric: str) -> str:
        """Which pipeline is best on a metric, or which may be, in a few words."""
        rows = self.frame[self.frame["metric"] == metric]
        if metric not in self.metrics:
            return "too few"
        if metric in self.equal_on:
            return "equal"
        if DIRECTION_UNKNOWN in set(rows["standing"]):
            return DIRECTION_UNKNOWN
        names = [self.names.of(name) for name in rows.loc[rows["standing"] != "worse", "pipeline"]]
        if len(names) == len(rows):
            return "undecided"
        if len(names) > 2:
            return f"{names[0]} or {len(names) - 1} more"
        return f"{names[0]} is best" if len(names) == 1 else " or ".join(names)

    def place(self, pipeline: str) -> str:
        """The standing of a pipeline over all metrics, in a few words."""
        own = self.frame[self.frame["pipeline"] == pipeline]
        worse = [self.label(name) for name in own.loc[own["standing"] == "worse", "metric"]]
        if worse:
            m = len(self.metrics)
            return f"worse on {len(worse)} of {m}" if m > 1 else "worse"
        if not self.is_anything_shown:
            return "undecided"
        return "leads" if pipeline == self.in_front[0] else "may be as good"

    @property
    def is_anything_shown(self) -> bool:
        """Whether any pipeline is shown to be better than another."""
        return bool((self.frame["beats"] > 0).any())

    @cached_property
    def text(self) -> str:
        """The answer in one sentence."""
        p, m = len(self.pipelines), counted(len(self.metrics), "metric")
        if not self.is_anything_shown:
            none = "Neither" if p == 2 else "None"
            return f"{none} of {p} pipelines is shown to be better than another."
        if not self.in_front:
            return self._split_text
        leader, *others = self.in_front
        short = self.names.of(leader)
        if others:
            rest = self.names.of(others[0]) if len(others) == 1 else f"{len(others)} others"
            return f"{short} leads, but {rest} may be as good."
        own = self.frame[self.frame["pipeline"] == leader]
        n_beaten = int((own["beats"] == p - 1).sum())
        if not n_beaten:
            return f"{short} leads: each of the others is worse on at least one metric."
        on = f"{n_beaten} of {m}" if len(self.metrics) > 1 else self.label(self.metrics[0])
        rest = "the other" if p == 2 else "all others"
        return f"{short} is best: better than {rest} on {on}."

    @property
    def _split_text(self) -> str:
        """Which pipeline has the best mean of which metrics, if each is worse on another."""
        best_on = {name: self.best_on(name) for name in self.pipelines}
        parts: list[str] = []
        said: set[str] = set()
        for name in sorted(best_on, key=lambda name: -len(best_on[name])):
            # Of pipelines that share a metric, the first one is named.
            metrics = [metric for metric in best_on[name] if metric not in said]
            said.update(metrics)
            if metrics:
                many = f"{len(metrics)} of {counted(len(self.metrics), 'metric')}"
                on = many if len(metrics) > _MOST_LEADERS else names_with_rest(metrics)
                parts.append(f"{self.names.of(name)} {'' if parts else 'leads '}on {on}")
        n_more = len(parts) - _MOST_LEADERS
        more = f", {counted(n_more, 'more', 'more')} on others" if n_more > 0 else ""
        return f"No single winner: {', '.join(parts[:_MOST_LEADERS])}{more}."


def printed_ranking(ranking: Any, ranked: RankedPipelines, notes: list[str]) -> Answer:
    """What is printed of a ranking: its answer, one table that ends with verdicts, its notes."""
    frame = ranking.frame
    order = pd.DataFrame({"metric": ranking.metrics})
    groups = [ranking.blocks[name].metric.group == "performance" for name in ranking.metrics]
    shown = frame.groupby("metric")["beats"].sum()
    order = order.assign(is_apart=groups, shown=[-shown[name] for name in ranking.metrics])
    metrics = order.sort_values(["is_apart", "shown"], kind="stable")["metric"].tolist()
    means = frame.set_index(["metric", "pipeline"])["mean"].unstack()  # noqa: PD010
    table = means.loc[metrics, list(ranked.pipelines)]
    headings: dict[str, str] = {}
    left_out = ""
    if len(ranked.pipelines) > _MOST_COLUMNS:
        left_out = ", ".join(map(ranked.label, metrics[_MOST_METRICS:]))
        table = table.T[metrics[:_MOST_METRICS]]
        table = table.assign(verdict=[ranked.place(name) for name in table.index])
        table.insert(0, "pipeline", [ranked.names.of(name) for name in table.index])
    else:
        headings = {name: ranked.names.of(name) for name in table}
        table = table.assign(verdict=[ranked.verdict(name) for name in metrics])
        table.insert(0, "metric", metrics)
    if left_out:
        notes = [*notes[: MOST_NOTES - 1], f"not in this table: {left_out}"]
    n = counted(int(frame["n"].max()), "query", "queries")
    return Answer(
        "",
        table.reset_index(drop=True).rename_axis(columns=None),
        {**ranking.settings, "headings": headings},
        tuple(notes),
        headline=tuple(table),
        answer=ranking.summary if not ranked.metrics else f"{ranking.summary[:-1]} ({n}).",
    )


def ranking_answer(ranking: Any) -> str:
    """The answer of a ranking in one sentence, in the metrics' own names."""
    return ranking_headline(ranking, is_short=True).text


def ranking_headline(
    ranking: Any, *, labels: Mapping[str, str] | None = None, is_short: bool = False
) -> Headline:
    """The answer of a ranking in plain sentences."""
    places, frame = RankedPipelines.of(ranking, labels), ranking.frame
    n, p = int(frame["n"].max()), len(places.pipelines)
    basis = [f"{p} pipelines", counted(n, "query", "queries")]
    basis += [counted(frame["metric"].nunique(), "metric"), "every pair compared"]
    if frame["n_unscored"].max():
        most = with_commas(int(frame["n_unscored"].max()))
        basis.append(f"up to {most} scores missing per metric")
    compared = " · ".join(basis)
    if not places.metrics:
        fewest = ranking.plan.fewest_units
        few = f"Too few queries to rank {p} pipelines: {n} in common, at least {fewest} are needed."
        return Headline(few, compared)
    details = () if is_short else (*_details(places), *_detectable(ranking, places))
    return Headline(places.text, compared, details)


def _details(places: RankedPipelines) -> Iterator[str]:
    if not places.in_front or not places.is_anything_shown:
        return
    m, (leader, *others) = len(places.metrics), places.in_front
    best = places.best_on(leader)
    if best:
        on = "every metric" if len(best) == m > 1 else f"{len(best)} of {counted(m, 'metric')}"
        yield f"Best mean on {on}."
    elif m > 1:
        yield "Best average place over all metrics, though the best mean on none."
    n_behind = len(places.behind)
    if others and n_behind:
        are = "is" if n_behind == 1 else "are"
        yield (
            f"{len(others)} of the other {len(places.pipelines) - 1} may be as good; {n_behind} "
            f"{are} worse than the best on at least one metric."
        )
    # Which of the pipelines in front costs the least, if it is not the leader.
    for metric, rows in places.frame.groupby("metric", sort=False):
        own = rows.set_index("pipeline")["mean"].reindex(list(places.in_front)).dropna()
        is_spent = not rows["greater_is_better"].iloc[0]
        if is_spent and len(own) > 1 and leader in own.index and own.idxmin() != leader:
            yield (
                f"Of the {len(places.in_front)} in front, {places.names.of(str(own.idxmin()))} has "
                f"the lowest {places.label(str(metric))} ({number(float(own.min()))} instead of "
                f"{number(float(own[leader]))})."
            )
            return


def _detectable(ranking: Any, places: RankedPipelines) -> Iterator[str]:
    """The smallest difference that these queries show on a metric between 0 and 1."""
    kinds = {name: ranking.blocks[name].metric.kind for name in places.metrics}
    shares = [name for name, kind in kinds.items() if kind in ("binary", "proportion")]
    pairs = ranking.pairs.frame
    open_pairs = pairs[~pairs["is_shown"].astype(bool) & pairs["metric"].isin(shares)]
    sizes = open_pairs["min_detectable_difference"].to_numpy(dtype=float)
    sizes = sizes[np.isfinite(sizes) & (sizes < 1.0)]
    if sizes.size:
        n = counted(int(ranking.frame["n"].max()), "query", "queries")
        yield (
            f"{n} can detect only differences above about {float(np.median(sizes)):.2g} between "
            "two pipelines."
        )
