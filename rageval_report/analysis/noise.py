"""The noise of a mean: repeated runs of one pipeline, and several judges."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.analysis import agreement, pairing
from rageval_report.analysis.arguments import choose_metrics, kind_of_mean
from rageval_report.errors import AlignmentError, DataError, named
from rageval_report.reports.sentences import join_names, number, pvalue_text
from rageval_report.results import Answer, Result, answer_of
from rageval_report.scores import Correct, Metric, Scored, join_details, query_ids, states
from rageval_report.scores.correct import answers_by, describe_notions, shared_notions
from rageval_report.scores.saved_columns import plain_value
from rageval_report.stats import base, corrections
from rageval_report.stats.components import (
    CrossedComponents,
    VarianceComponents,
    crossed_components,
    variance_components,
)

# Runs are worthwhile until the standard error is within this share of its value without noise.
_TOLERANCE = 0.05
# If more runs than this would be worthwhile, queries hardly differ beyond the noise.
_MOST_WORTH = 100
_MOST_NAMED = 4
# The first letters of longer answers are enough, and comparing all of them would take minutes.
MOST_LETTERS = 5000
_CITATIONS = ("citations", "citation_ids", "cited_ids")
_REFUSALS = ("refused", "refusal", "abstained")
_OUTCOMES = ("refused", "answered", "skipped")  # of the scorer of traces


# -- what runs have in common


def common_queries(runs: Sequence[Scored]) -> pd.Index:
    """The ids of the queries that all runs have, in the order of the first."""
    ids = runs[0].scores.index
    for run in runs[1:]:
        ids = ids[ids.isin(run.scores.index)]
    if not len(ids):
        raise AlignmentError(
            f"no query id is in all {len(runs)} runs; ids of the first: "
            f"{named(runs[0].scores.index, 3)}, of the last: {named(runs[-1].scores.index, 3)}"
        )
    return ids


def common_queries_note(runs: Sequence[Scored], ids: pd.Index) -> list[str]:
    """The note on queries that only some runs have, if there are any."""
    longest = max(len(run.scores) for run in runs)
    note = f"{len(ids)} queries are in all runs, of up to {longest}; the others are left out"
    return [] if longest == len(ids) else [note]


def runs_title(text: str, runs: Sequence[Scored]) -> str:
    """A title with the number and the names of the runs."""
    return text.format(n=len(runs), names=", ".join(dict.fromkeys(run.name for run in runs)))


def metrics_in_all_runs(
    runs: Sequence[Scored], metrics: str | Iterable[str] | None
) -> list[tuple[Metric, ...]]:
    """Each metric that all runs have, or the ones that are named, as each run defines it."""
    shared = []
    for known in choose_metrics(runs[0], metrics):
        own = tuple(twin for run in runs if (twin := pairing.twin_of(known, run)))
        if len(own) == len(runs):
            shared.append(own)
        elif metrics is not None:
            raise AlignmentError(f"{known.name!r} is in only {len(own)} of {len(runs)} runs")
    if not shared:
        raise AlignmentError(f"no metric is in all {len(runs)} runs")
    return pairing.on_one_scale(runs, shared)


# -- the noise


@dataclass(frozen=True, eq=False, repr=False)
class Repeats(Result):
    """The noise in repeated runs of a pipeline: one row per metric."""

    runs: tuple[Scored, ...] = ()
    components: Mapping[str, VarianceComponents] = field(default_factory=dict)
    correct: Correct | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """The noise of each metric, and how many runs are worth their cost."""
        rows = zip(self.frame["metric"], self.frame["n_repeats"], strict=True)
        return tuple(f"{metric}: {self._sentence(metric, worth)}" for metric, worth in rows)

    def printed(self) -> Answer:
        """For how many metrics one run is enough, the table, and at most three notes."""
        worth, n = self.frame["n_repeats"], len(self.frame)
        names = self.frame.loc[worth > 1, "metric"].tolist()
        sentence = f"{self.title}: one run is enough for {int((worth == 1).sum())} of {n} metrics"
        if names:
            sentence += f"; noise matters for {join_names(names, _MOST_NAMED)}"
        return answer_of(self, f"{sentence}.")

    def _sentence(self, metric: str, worth: float) -> str:
        parts, level = self.components.get(metric), float(str(self.settings["confidence_level"]))
        if parts is None or parts.n < 2 or parts.within == 0:
            return _verdict(parts, worth)
        noise, limit = parts.sd_within, number(noise_limit(parts, level))
        limits = f"{number(noise.low)} to {number(noise.high)}"
        return (
            f"a query's score moves by {number(noise.estimate)} from run to run (SD, "
            f"{100 * level:g} % CI {limits}); means of two runs of {parts.n} queries differ by up "
            f"to {limit} by noise alone; {_verdict(parts, worth)}"
        )

    def stability(self) -> Result:
        """The agreement of the runs on each query, the least stable first."""
        return stability(self.runs, self.correct)


def repeats(
    *evaluations: Scored,
    metrics: str | Iterable[str] | None = None,
    correct: Correct | None = None,
    confidence_level: float = 0.95,
) -> Repeats:
    """Measure the noise in repeated runs of one pipeline.

    Parameters
    ----------
    *evaluations : RAGPipelineEvaluation
        Two or more runs of the same pipeline on the same queries; they may have the same name.
    metrics : str or iterable of str, optional
        The metrics; all that every run has if omitted.
    correct : see `rageval_report.scores.correctness`, optional
        What a correct answer is, for the stability of each query; if omitted, as in `correctness`.
    confidence_level : float
        The level of the intervals.

    Returns
    -------
    Repeats
        One row per metric: ``metric``, ``title``, ``n`` (queries scored in every run),
        ``n_dropped``, ``n_runs``, ``mean``, ``sd_within`` (the variation of one query's score from
        run to run) with its interval, ``sd_between`` (that between queries beyond it), ``icc`` with
        its interval, ``share_between`` and ``share_within`` of the variance, ``standard_error`` of
        the mean of one run, ``n_repeats`` (the number of worthwhile runs), ``run_effect_pvalue``
        and ``run_effect_pvalue_adjusted`` (Holm: whether whole runs are shifted), ``noise_limit``
        (the means of two runs differ by less, in the share of pairs that is the confidence level),
        ``verdict``.

    Notes
    -----
    One-way random effects of the queries that every run scored: the variance of a score is that
    between queries plus that within a query, and the intraclass correlation ICC(1,1) is the share
    of the former. The mean of n queries, each run m times, has the variance (between + within/m)/n:
    repeats reduce only the second part.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> ids = ["a", "b", "c", "d"]
    >>> first = RAGPipelineEvaluation("hybrid", {"query_id": ids, "rating": [9.0, 2, 5, 8]})
    >>> again = RAGPipelineEvaluation("hybrid", {"query_id": ids, "rating": [8.0, 3, 5, 8]})
    >>> frame = repeats(first, again).frame
    >>> float(frame["sd_within"][0]), round(float(frame["icc"][0]), 3)
    (0.5, 0.969)
    """
    level = base.check_level(confidence_level)
    if len(evaluations) < 2:
        raise DataError(
            "expected at least 2 runs of one pipeline, to measure how they differ; "
            f"got {len(evaluations)}"
        )
    ids, rows = common_queries(evaluations), []
    components: dict[str, VarianceComponents] = {}
    for own in metrics_in_all_runs(evaluations, metrics):
        metric, parts = own[0], None
        columns = [
            run.scores[mine.name].reindex(ids).to_numpy(dtype=np.float64)
            for run, mine in zip(evaluations, own, strict=True)
        ]
        table = np.column_stack(columns)
        table = table[~np.isnan(table).any(axis=1)]
        if len(table):
            bounds = metric.bounds if kind_of_mean(metric) != "real" else None  # a formality
            parts = variance_components(table, bounds=bounds, confidence_level=level)
            components[metric.name] = parts
        head = metric.name, metric.title, len(table), len(ids) - len(table)
        rows.append(head + _numbers(parts, level))
    frame = pd.DataFrame(rows, columns=_COLUMNS)
    pvalues = frame["run_effect_pvalue"].to_numpy(dtype=np.float64)
    frame["run_effect_pvalue_adjusted"] = corrections.adjust_pvalues(pvalues)
    worth = zip(map(components.get, frame["metric"]), frame["n_repeats"], strict=True)
    frame["verdict"] = [_verdict(parts, n) for parts, n in worth]
    return Repeats(
        runs_title("{n} runs of {names}", evaluations),
        frame,
        {"n_runs": len(evaluations), "confidence_level": level},
        (*common_queries_note(evaluations, ids), *_notes(frame, level)),
        headline=(
            *("metric", "n", "mean", "sd_within", "noise_limit"),
            *("icc", "icc_ci_low", "icc_ci_high", "verdict"),
        ),
        runs=tuple(evaluations),
        components=components,
        correct=correct,
    )


_COLUMNS = (
    *("metric", "title", "n", "n_dropped", "n_runs", "mean"),
    *("sd_within", "sd_within_ci_low", "sd_within_ci_high", "sd_between"),
    *("icc", "icc_ci_low", "icc_ci_high", "share_between", "share_within", "standard_error"),
    *("n_repeats", "run_effect_pvalue", "noise_limit"),
)


def _numbers(parts: VarianceComponents | None, level: float) -> tuple[float, ...]:
    """The numbers of a row from ``n_runs`` on; NaN if no query was scored in every run."""
    if parts is None:
        return (math.nan,) * (len(_COLUMNS) - 4)
    noise, icc, is_known = parts.sd_within, parts.icc, parts.n > 1
    return (
        *(parts.k, parts.mean, noise.estimate, noise.low, noise.high),
        math.sqrt(parts.between) if is_known else math.nan,
        *(icc.estimate, icc.low, icc.high, parts.share_between, 1.0 - parts.share_between),
        parts.standard_error() if is_known else math.nan,
        *(repeats_worth(parts.between, parts.within), parts.run_effect_pvalue),
        noise_limit(parts, level),
    )


def repeats_worth(between: float, within: float) -> float:
    """The fewest runs that bring the standard error near to its value without noise."""
    if math.isnan(between):
        return math.nan
    if within == 0:
        return 1.0
    if between == 0:
        return math.inf
    needed = within / between / ((1.0 + _TOLERANCE) ** 2 - 1.0)
    # A quotient that is whole but for rounding must not be rounded up.
    return float(max(1, math.ceil(needed - 1e-9)))


def noise_limit(parts: VarianceComponents, level: float) -> float:
    """The difference between the means of two runs by noise alone."""
    from scipy.special import ndtri

    # Twice, because both measurements have noise of their own.
    return float(ndtri(0.5 + level / 2.0)) * math.sqrt(2.0 * parts.within / parts.n)


def _verdict(parts: VarianceComponents | None, worth: float) -> str:
    if parts is None or parts.n < 2:
        return "not scored in every run" if parts is None else "only one query"
    if parts.within == 0:
        return "no noise"
    if worth > _MOST_WORTH:
        return "every repeat helps"
    return "one run is enough" if worth == 1 else f"worth {worth:.0f} runs"


def _notes(frame: pd.DataFrame, level: float) -> Iterator[str]:
    for row in frame[frame["run_effect_pvalue_adjusted"] <= 1.0 - level].to_dict("records"):
        pvalue = pvalue_text(row["run_effect_pvalue_adjusted"])
        yield f"{row['metric']}: whole runs are shifted (Holm-adjusted p {pvalue})"
    dropped = frame[frame["n_dropped"] > 0]
    if len(dropped):
        counts = map("{} {}".format, dropped["metric"], dropped["n_dropped"])
        yield f"queries left out because some run did not score them: {', '.join(counts)}"


# -- query by query


def stability(runs: Sequence[Scored], correct: Correct | None = None) -> Result:
    """The agreement of the runs on each query; see `Repeats.stability`."""
    ids = pd.Index(dict.fromkeys(i for run in runs for i in run.scores.index), name="query_id")
    n_runs = np.sum([ids.isin(run.scores.index) for run in runs], axis=0)
    frame, notes = pd.DataFrame({"n_runs": n_runs}, index=ids), []
    notions = shared_notions(runs, correct)
    if notions is None:
        notes.append("it is unknown what a correct answer is; pass correct=...")
    else:
        answers = [
            answers_by(run, notion).astype("Float64").reindex(ids).to_numpy(float, na_value=np.nan)
            for run, notion in zip(runs, notions, strict=True)
        ]
        table = pd.DataFrame(np.column_stack(answers), index=ids)
        share = table.mean(axis=1)
        # Filled forward, so that a run without a score neither is a flip nor hides one.
        flips = table.ffill(axis=1).diff(axis=1).abs().sum(axis=1)
        frame["share_correct"] = share
        frame["agreement"] = np.maximum(share, 1.0 - share)
        frame["flips"] = flips.astype("Int64").mask(share.isna())
        known = frame["agreement"].dropna()
        n_unknown = len(frame) - len(known)
        notes += [
            describe_notions(runs, notions),
            f"{int((known < 1).sum())} of {len(known)} queries are correct in some runs and "
            "incorrect in others"
            + (f"; {n_unknown} more are unscored in all runs" if n_unknown else ""),
        ]
    for name, (cells_of, measure) in _MEASURES.items():
        cells = [cells_of(run) for run in runs]
        if all(column is not None for column in cells):  # every run must have them
            columns = [map(plain_value, column.reindex(ids).tolist()) for column in cells]
            rows = zip(*columns, strict=True)
            frame[name] = [measure([cell for cell in row if cell is not None]) for row in rows]
    keys = [name for name in ("agreement", "answer_distance") if name in frame]
    if keys:
        frame = frame.sort_values(keys, ascending=[k == "agreement" for k in keys], kind="stable")
    return Result(
        runs_title("Stability of each query over {n} runs of {names}", runs),
        frame,
        {"n_runs": len(runs), "correct": "" if notions is None else notions[0].words},
        tuple(notes),
    )


def _details(run: Scored, names: Sequence[str]) -> pd.Series | None:
    """The first column of these names, of the details or of truth values taken for a metric."""
    cells = join_details(run.scores, run.details)
    name = query_ids.first_named(map(str, cells), names)
    return None if name is None else cells[name]


def _refusals(run: Scored) -> pd.Series | None:
    """Whether the run refused each question: a column, the outcome of a trace, or two scores."""
    known, outcome = _details(run, _REFUSALS), _details(run, ("outcome",))
    if known is not None:
        return known
    if outcome is not None and outcome.isin(_OUTCOMES).all():
        return outcome.map({"refused": True, "answered": False})
    return None


def _refusal_agreement(refusals: list[Any]) -> float:
    """The larger of the shares of runs that refuse and that answer."""
    share = sum(map(bool, refusals)) / len(refusals) if refusals else math.nan
    return max(share, 1.0 - share)


def _citation_stability(citations: list[Any]) -> float:
    """The share of documents cited by every run, of those cited by any; 1 if none is."""
    if len(citations) < 2:
        return math.nan
    cited = [
        set(
            map(str, cell)
            if isinstance(cell, list | tuple)
            else str(cell).replace(",", " ").split()
        )
        for cell in citations
    ]
    any_of = set().union(*cited)
    return len(set.intersection(*cited)) / len(any_of) if any_of else 1.0


def _answer_distance(answers: list[Any]) -> float:
    """The median edit distance over pairs of answers."""
    distances = [edit_distance(*pair) for pair in combinations(map(str, answers), 2)]
    return float(median(distances)) if distances else math.nan


_MEASURES: dict[str, tuple[Callable[[Scored], Any], Callable[[list[Any]], float]]] = {
    "refusal_agreement": (_refusals, _refusal_agreement),
    "citation_stability": (partial(_details, names=_CITATIONS), _citation_stability),
    "answer_distance": (partial(_details, names=query_ids.ANSWER), _answer_distance),
}


def edit_distance(first: str, second: str) -> float:
    """The Levenshtein distance over the length of the longer text: 0 for equal texts, at most 1."""
    first, second = first[:MOST_LETTERS], second[:MOST_LETTERS]
    if first == second:
        return 0.0
    # Row by row of the table of all beginnings; each is made from left to right last.
    letters, columns = np.array([*first], dtype="U1"), np.arange(len(first) + 1)
    row = columns
    for place, letter in enumerate(second, 1):
        least = np.append(place, np.minimum(row[:-1] + (letters != letter), row[1:] + 1))
        row = np.minimum.accumulate(least - columns) + columns
    return float(row[-1]) / max(len(first), len(second))


_PLURALS = {"query": "queries", "run": "runs", "judge": "judges"}


@dataclass(frozen=True, eq=False, repr=False)
class Variance(Result):
    """The noise of each metric's mean by source: one row per metric."""

    components: Mapping[str, CrossedComponents] = field(default_factory=dict)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The mean of each metric, and what moves it most."""
        return tuple(self._sentence(row) for row in self.frame.to_dict("records"))

    def printed(self) -> Answer:
        """Where most noise comes from, the table, and at most three notes."""
        counts = self.frame["largest_source"].replace("", "nothing").value_counts()
        source, n = _in_words(str(counts.index[0])), len(self.frame)
        where = f"on {counts.iloc[0]} of {n} metrics" if n > 1 else f"of {self.frame['metric'][0]}"
        return answer_of(self, f"{self.title}: most of it {where} comes from {source}.")

    def _sentence(self, row: Mapping[Any, Any]) -> str:
        if not row["largest_source"]:
            return f"{row['metric']}: all scores of each query are equal, and so are the queries"
        level = f"{100 * float(str(self.settings['confidence_level'])):g} % CI"
        limits = f"{level} {number(row['ci_low'])} to {number(row['ci_high'])}"
        return (
            f"{row['metric']}: mean {number(row['mean'])} ({limits}, all sources counted); "
            f"{100 * row['largest_share']:.0f} % of the uncertainty comes from "
            f"{_in_words(row['largest_source'])}"
        )

    def sources(self) -> Result:
        """The variance that each source adds, to a score and to the mean."""
        rows = []
        for metric, parts in self.components.items():
            of_score = sum(source.variance for source in parts.sources) or math.nan
            of_mean = sum(source.of_mean for source in parts.sources) or math.nan
            for source in parts.sources:
                row = {"metric": metric, "source": source.name, "sd": math.sqrt(source.variance)}
                row |= {"share": source.variance / of_score}
                row |= {"share_of_mean": source.of_mean / of_mean, "df": source.df}
                rows.append(row)
        note = (
            "a share of 0 with few degrees of freedom means little: two runs or two judges can be "
            "near each other by chance"
        )
        title = f"Sources of noise: {self.title}"
        return Result(title, pd.DataFrame(rows), self.settings, (note,), grouped_by="metric")


def variance(
    *evaluations: Scored,
    metrics: str | Iterable[str] | None = None,
    runs: Sequence[object] | None = None,
    judges: Sequence[object] | None = None,
    confidence_level: float = 0.95,
) -> Variance:
    """Split the noise of a mean into that of queries, runs and judges, and count all of it.

    Parameters
    ----------
    *evaluations : RAGPipelineEvaluation
        Runs of one pipeline on the same queries. If several judges scored an evaluation, each of
        them counts by its name; queries and scores may be missing.
    metrics : str or iterable of str, optional
        The metrics; all that every evaluation has if omitted.
    runs : sequence, optional
        The run of each evaluation; if omitted, each evaluation is a run of its own. Give it if the
        answers of one run were judged several times: ``runs=[1, 1, 2, 2]``.
    judges : sequence, optional
        The judge of each evaluation, such as ``judges=["gpt", "claude", "gpt", "claude"]``; if
        omitted, the judges that the details name, or one.
    confidence_level : float
        The level of the intervals.

    Returns
    -------
    Variance
        One row per metric: ``metric``, ``title``, ``n`` (queries), ``n_runs``, ``n_judges``,
        ``n_scores``, ``n_missing`` (combinations without a score), ``mean``, ``standard_error``
        with all sources counted, ``ci_low``, ``ci_high``, ``df``, ``naive_standard_error`` (queries
        alone), ``ratio`` of the two, ``largest_source``, ``largest_share`` of the variance of the
        mean, ``verdict``.

    Notes
    -----
    See `rageval_report.stats.crossed_components` for the estimates. The interval is the t interval
    with Satterthwaite's degrees of freedom. `repeats` is the special case of runs that have nothing
    in common, in which the runs and the rest are one source.

    References
    ----------
    .. [1] arXiv 2604.11581: standard errors of evaluations that leave out judges and runs are 40 to
           60 % too small.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> ids = ["a", "b", "c", "d"]
    >>> first = RAGPipelineEvaluation("hybrid", {"query_id": ids, "rating": [9.0, 5, 8, 4]})
    >>> again = RAGPipelineEvaluation("hybrid", {"query_id": ids, "rating": [7.0, 2, 7, 1]})
    >>> frame = variance(first, again).frame
    >>> round(float(frame["naive_standard_error"][0]), 2)
    1.39
    >>> round(float(frame["standard_error"][0]), 2)
    1.77
    """
    level = base.check_level(confidence_level)
    if not evaluations:
        raise DataError("expected evaluations: runs of one pipeline, or scores by several judges")
    for parameter, labels in (("runs", runs), ("judges", judges)):
        if labels is not None and len(labels) != len(evaluations):
            raise DataError(
                f"{parameter} must have one label per evaluation, {len(evaluations)} in all; got "
                f"{len(labels)}"
            )
    run_of = range(len(evaluations)) if runs is None else runs
    ids, components, rows = common_queries(evaluations), {}, []
    for own in metrics_in_all_runs(evaluations, metrics):
        cells = crossed_cells(evaluations, own, ids, run_of, judges)
        parts = components[own[0].name] = crossed_components(*cells)
        rows.append(_row(own[0], parts, level))
    return Variance(
        runs_title("Noise of {names}", evaluations),
        pd.DataFrame(rows),
        {"confidence_level": level},
        (*common_queries_note(evaluations, ids), *_notes_on_sources(components)),
        headline=("metric", "n", "mean", "standard_error", "ci_low", "ci_high", "verdict"),
        components=components,
    )


def crossed_cells(
    evaluations: Sequence[Scored],
    own: Sequence[Metric],
    ids: pd.Index,
    runs: Sequence[object],
    judges: Sequence[object] | None = None,
) -> tuple[np.ndarray, ...]:
    """The scores of a metric with query, run and judge; by default the judges of the details."""
    parts = []
    for place, (evaluation, metric) in enumerate(zip(evaluations, own, strict=True)):
        name = "" if judges is None else str(judges[place])
        table = evaluation.scores[[metric.name]].set_axis([name], axis=1)
        if judges is None and f"{metric.name}{states.VOTES}" in evaluation.details:
            table = agreement.votes_of(evaluation, metric)
        table = table.reindex(ids).reset_index(drop=True)
        cells = table.melt(ignore_index=False, var_name="judge", value_name="score")
        parts.append(cells.assign(query=cells.index, run=str(runs[place])))
    cells = pd.concat(parts, ignore_index=True)
    # Without judges the name of the judge is empty, and an empty text is not a valid label.
    cells["judge"] = "judge " + cells["judge"].astype(str)
    return tuple(cells[name].to_numpy() for name in ("score", "query", "run", "judge"))


def _in_words(source: str) -> str:
    """A source of noise as a sentence names it, such as "queries x judges"."""
    words = {**_PLURALS, "residual": "the rest"}
    return " x ".join(words.get(part, part) for part in source.split(" x "))


def _row(metric: Metric, parts: CrossedComponents, level: float) -> dict[str, object]:
    interval, sources = parts.interval(confidence_level=level), parts.sources
    naive, total = parts.naive_standard_error, sum(source.of_mean for source in sources)
    largest = max(sources, key=lambda source: source.of_mean)
    share = largest.of_mean / total if total else math.nan
    row: dict[str, object] = {"metric": metric.name, "title": metric.title, "n": parts.n["query"]}
    row |= {"n_runs": parts.n["run"], "n_judges": parts.n["judge"]}
    row |= {"n_scores": parts.n_scores, "n_missing": parts.n_missing, "mean": parts.mean}
    row |= {"standard_error": interval.standard_error, "ci_low": interval.low}
    row |= {"ci_high": interval.high, "df": parts.degrees_of_freedom()}
    row |= {"naive_standard_error": naive}
    row |= {"ratio": interval.standard_error / naive if naive > 0 else math.nan}
    row |= {"largest_source": largest.name if total else "", "largest_share": share}
    verdict = f"{100 * share:.0f} % from {_in_words(largest.name)}" if total else "no noise"
    return row | {"verdict": verdict}


def _notes_on_sources(components: Mapping[str, CrossedComponents]) -> Iterator[str]:
    missing = [f"{name} {parts.n_missing}" for name, parts in components.items() if parts.n_missing]
    if missing:
        yield f"combinations of query, run and judge without a score: {', '.join(missing)}"
    for factor in ("run", "judge"):
        counts = {name: parts.n[factor] for name, parts in components.items()}
        few = [name for name, n in counts.items() if 1 < n < 4]
        single = [name for name, n in counts.items() if n == 1]
        levels = _PLURALS[factor]
        if few:
            yield (
                f"{_which(few, components)}fewer than 4 {levels}, so how much {levels} differ is "
                "hardly known, and the interval can be very wide or too narrow"
            )
        if single:
            yield (
                f"{_which(single, components)}the scores are from one {factor}; how much other "
                f"{levels} would differ is not in the interval"
            )


def _which(names: Sequence[str], components: Mapping[str, CrossedComponents]) -> str:
    """The metrics that a note is about, unless it is about all of several."""
    return "" if len(names) == len(components) > 1 else f"{', '.join(names)}: "
