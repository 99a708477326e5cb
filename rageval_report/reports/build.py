"""The results of the analyses become a report: of one evaluation, or of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TypedDict

import pandas as pd

from rageval_report.analysis.comparing.comparison import Comparison
from rageval_report.analysis.comparing.pairing import Clusters
from rageval_report.analysis.slices import slice_summary
from rageval_report.analysis.summary import evaluation_report
from rageval_report.errors import DataError, explain_keywords, is_doubt
from rageval_report.plots.subjects import of_one_scale
from rageval_report.reports.parts import (
    ANSWERS,
    ReportVerdict,
    Section,
    answers_of,
    causes_of,
    outcome_names,
    outcome_result,
    outcomes_of,
    setup_table,
    verdicts_of_comparison,
    verdicts_of_evaluation,
)
from rageval_report.reports.pictures import Picture
from rageval_report.reports.query_table import QueryTable, slice_columns
from rageval_report.reports.report import Report
from rageval_report.results import Result
from rageval_report.scores import Correct, Metric, Scored
from rageval_report.scores.correct_notion import (
    CorrectNotion,
    declare_all,
    describe_notions,
    find_notion,
    shared_notions,
    why_unknown,
)
from rageval_report.scores.guard import doubts_of
from rageval_report.scores.roles.column_role import ColumnRole, count_roles
from rageval_report.scores.run_file import query_set_hash
from rageval_report.stats.means.column_description import QUARTILES

MOST_SLICES = 3  # columns, where the caller names none

_NO_RULE = (
    "which answers are right is not known, so outcomes and causes are not shown; pass correct=, "
    "for example correct=('faithfulness', 0.8)"
)
_FAMILIES = (
    "p-values are corrected within each table, not across tables: looking through the slices is a "
    "search, so confirm on new queries what it shows"
)
_DEFAULT_LEVEL = 0.95


class _MeansSettings(TypedDict):
    """How means and their intervals are computed; the same in every table of a report."""

    interval: str
    confidence_level: float
    n_resamples: int
    seed: int
    clusters: Clusters | None


@explain_keywords
def report_evaluation(
    evaluation: Scored,
    *,
    title: str | None = None,
    by: str | Iterable[str] | None = None,
    correct: Correct | None = None,
    k: int | None = None,
    pictures: bool = True,
    longest_text: int | None = None,
    metrics: str | Iterable[str] | None = None,
    percentiles: Sequence[float] = QUARTILES,
    interval: str = "auto",
    confidence_level: float = _DEFAULT_LEVEL,
    n_resamples: int = 9999,
    seed: int = 0,
    clusters: Clusters | None = None,
) -> Report:
    """The report of one pipeline.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores and details.
    title : str, optional
        The title of the report.
    by : str or iterable of str, optional
        The columns of details for the slices, none if it is empty; if omitted, up to three columns
        with few values.
    correct : see `rageval_report.scores.correctness`, optional
        What a correct answer is; if omitted, the evaluation's own rule, else what `correctness`
        chooses.
    k : int, optional
        How many results the answer was made from; if omitted, 5 or the first cutoff of its metrics.
    pictures : bool
        Whether the page has pictures.
    longest_text : int, optional
        Longer texts of queries are cut, with a note; no text is cut if omitted.
    metrics : str or iterable of str, optional
        By any of their names; all of them if omitted.
    percentiles, interval, confidence_level, n_resamples, seed, clusters
        Of the tables of means, as in `rageval_report.analysis.summary.summarise`.

    Returns
    -------
    Report

    Raises
    ------
    UnknownNameError
        If a metric or a column is not known.
    DataError
        If an option has an impossible value.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> data = {"query_id": ["a", "b", "c"], "exact_match": [1, 0, 1]}
    >>> report = report_evaluation(RAGPipelineEvaluation("hybrid", data))
    >>> print(report.verdicts[0].text.partition(";")[0])
    correct: exact_match = 1
    """
    _check_longest(longest_text)
    notion = find_notion(evaluation, correct)
    settings: _MeansSettings = {
        "interval": interval,
        "confidence_level": confidence_level,
        "n_resamples": n_resamples,
        "seed": seed,
        "clusters": clusters,
    }
    summary = evaluation_report(
        evaluation, notion, metrics=metrics, percentiles=percentiles, **settings
    )
    causes = causes_of(evaluation, notion, k, confidence_level)
    columns = _slice_columns([evaluation], by)
    slices = tuple(slice_summary(evaluation, column, metrics, **settings) for column in columns)
    shown = [evaluation.metrics[name] for name in dict.fromkeys(summary.frame["metric"])]
    answers = () if notion is None else (answers_of(evaluation, notion),)
    sections = (
        Section(
            "metrics", "Metrics", (summary,), _evaluation_pictures(evaluation, shown, pictures)
        ),
        Section("causes", "Why queries fail", () if causes is None else (causes[1],)),
        _slices_section(slices, pictures),
        _origin_section((evaluation,)),
    )
    return Report(
        title=title or f"Evaluation of {evaluation.name}",
        subtitle=f"{len(evaluation.scores)} queries, {len(shown)} metrics",
        verdicts=(
            *_doubts((evaluation,)),
            *verdicts_of_evaluation(summary, None if causes is None else causes[1]),
        ),
        sections=_without_empty(sections),
        queries=QueryTable(
            (evaluation,),
            tuple({0: metric} for metric in shown),
            tuple(columns),
            answers,
            (ANSWERS,) if answers else (),
            (None if causes is None else causes[0],),
        ),
        notes=_notes((evaluation,), None if notion is None else (notion,), longest_text),
        longest_text=longest_text,
    )


@explain_keywords
def report_comparison(
    comparison: Comparison,
    *,
    title: str | None = None,
    by: str | Iterable[str] | None = None,
    correct: Correct | None = None,
    k: int | None = None,
    pictures: bool = True,
    longest_text: int | None = None,
    percentiles: Sequence[float] = QUARTILES,
    interval: str = "auto",
    confidence_level: float | None = None,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Report:
    """The report of candidates beside a baseline.

    Parameters
    ----------
    comparison : Comparison
        What `compare` gives.
    title, by, correct, k, pictures, longest_text
        As in `report_evaluation`; `correct` holds for all pipelines; if omitted, each has its own
        rule, else all have the same column.
    percentiles, interval, confidence_level, n_resamples, seed
        Of each pipeline's own table of means, as in `rageval_report.analysis.summary.summarise`;
        if `confidence_level` is omitted, it is that of the comparison.

    Returns
    -------
    Report
    """
    _check_longest(longest_text)
    runs = _runs(comparison)
    level = float(str(comparison.settings["confidence_level"]))
    notions = shared_notions(runs, correct)
    by_run = notions or (None,) * len(runs)
    causes = [causes_of(run, notion, k, level) for run, notion in zip(runs, by_run, strict=True)]
    columns = _slice_columns(runs, by)
    slices = _comparison_slices(comparison, columns)
    metrics = _metrics(comparison)
    outcomes = [] if notions is None else _outcomes(runs, notions)
    named, cluster_notes = _named_clusters(comparison)
    settings: _MeansSettings = {
        "interval": interval,
        "confidence_level": level if confidence_level is None else confidence_level,
        "n_resamples": n_resamples,
        "seed": seed,
        "clusters": named,
    }
    means = (
        evaluation_report(
            run, notion, metrics=_names_in(metrics, place), percentiles=percentiles, **settings
        )
        for place, (run, notion) in enumerate(zip(runs, by_run, strict=True))
    )
    sections = (
        Section(
            "comparison", "Comparison", (comparison,), _comparison_pictures(comparison, pictures)
        ),
        Section(
            "outcomes",
            "Which answers are right",
            () if notions is None else _outcome_tables(runs, notions, outcomes, level),
        ),
        Section("causes", "Why queries fail", tuple(cause[1] for cause in causes if cause)),
        _slices_section(slices, pictures),
        Section("pipelines", "Each pipeline", tuple(means)),
        _origin_section(runs),
    )
    return Report(
        title=title or comparison.title,
        subtitle=_subtitle(runs, metrics),
        verdicts=(
            *_doubts(runs),
            *([] if notions is None else [ReportVerdict(declare_all(runs, notions))]),
            *verdicts_of_comparison(comparison, slices),
        ),
        sections=_without_empty(sections),
        queries=QueryTable(
            runs,
            metrics,
            tuple(columns),
            tuple(outcomes),
            tuple(outcome_names(runs[0], run) for run in runs[1:] if notions),
            tuple(cause[0] if cause else None for cause in causes),
        ),
        notes=(
            *_notes(runs, notions, longest_text),
            *((_FAMILIES,) if slices else ()),
            *cluster_notes,
        ),
        longest_text=longest_text,
    )


# -- the comparison


def _runs(comparison: Comparison) -> tuple[Scored, ...]:
    if not comparison.pairings:
        raise DataError("a report needs the pipelines; make the comparison with compare(...)")
    candidates = (pairing.candidate for pairing in comparison.pairings)
    return (comparison.pairings[0].baseline, *candidates)


def _metrics(comparison: Comparison) -> tuple[dict[int, Metric], ...]:
    """Each metric that was compared, as each of the runs knows it."""
    metrics: dict[str, dict[int, Metric]] = {}
    for place, pairing in enumerate(comparison.pairings, start=1):
        for ours, theirs in pairing.metrics:
            metrics.setdefault(ours.name, {0: ours})[place] = theirs
    return tuple(metrics.values())


def _named_clusters(comparison: Comparison) -> tuple[str | None, tuple[str, ...]]:
    """The column of clusters of the comparison; a note if it had labels by query instead."""
    named = comparison.settings.get("clusters")
    if named is None:
        return None, ()
    column = str(named)
    if all(column in run.details for run in _runs(comparison)):
        return column, ()
    return None, ("the intervals of each pipeline's own means assume independent queries",)


def _names_in(metrics: Iterable[dict[int, Metric]], place: int) -> list[str]:
    """The names of the compared metrics in one of the runs."""
    return [by_run[place].name for by_run in metrics if place in by_run]


def _comparison_slices(comparison: Comparison, columns: Iterable[str]) -> tuple[Result, ...]:
    correction = str(comparison.settings["correction"])
    # Westfall and Young's correction needs the joint distribution of all tests; slices are tested
    # apart from each other.
    stepwise = "holm" if correction == "westfall-young" else correction
    return tuple(comparison.slices(column, correction=stepwise) for column in columns)


def _outcomes(runs: Sequence[Scored], notions: Sequence[CorrectNotion]) -> list[pd.Series]:
    """For each candidate the outcome of every query beside the baseline."""
    candidates = zip(runs[1:], notions[1:], strict=True)
    return [outcomes_of(runs[0], run, notions[0], notion) for run, notion in candidates]


def _outcome_tables(
    runs: Sequence[Scored],
    notions: Sequence[CorrectNotion],
    outcomes: Sequence[pd.Series],
    level: float,
) -> tuple[Result, ...]:
    words = ", ".join(dict.fromkeys(notion.words for notion in notions))
    settings = {"confidence_level": level, "correct": words}
    return tuple(
        outcome_result(
            f"The answers of {runs[0].name} and {run.name}",
            outcome,
            outcome_names(runs[0], run),
            settings,
            (describe_notions((runs[0], run), (notions[0], notion)),),
        )
        for run, notion, outcome in zip(runs[1:], notions[1:], outcomes, strict=True)
    )


def _subtitle(runs: tuple[Scored, ...], metrics: tuple[dict[int, Metric], ...]) -> str:
    names = ", ".join(run.name for run in runs[1:])
    n_queries = len(QueryTable(runs, ()).ids)
    noun = "candidate" if len(runs) == 2 else "candidates"
    return f"baseline {runs[0].name}, {noun} {names}; {n_queries} queries, {len(metrics)} metrics"


# -- slices and pictures


def _slice_columns(runs: Iterable[Scored], by: str | Iterable[str] | None) -> list[str]:
    if isinstance(by, str):
        return [by]
    if by is not None:
        return list(dict.fromkeys(by))
    return slice_columns(next(iter(runs)))[:MOST_SLICES]


def _evaluation_pictures(
    evaluation: Scored, metrics: list[Metric], pictures: bool
) -> tuple[Picture, ...]:
    scored = [metric for metric in metrics if evaluation.scores[metric.name].notna().any()]
    if not (pictures and scored):
        return ()
    # If all metrics are drawn, the plot itself selects those of one scale, and says so.
    drawn, _ = of_one_scale(scored, named=False)
    names = {"metric": [metric.name for metric in drawn]}
    spread = Picture(
        "distribution",
        evaluation,
        f"How the scores of {evaluation.name} are spread, metric by metric",
        {} if len(scored) == len(evaluation.metrics) else names,
    )
    return (spread,)


def _comparison_pictures(comparison: Comparison, pictures: bool) -> tuple[Picture, ...]:
    if not pictures or not comparison.frame["n"].gt(0).any():
        return ()
    return (
        Picture("forest", comparison, f"The improvements of {comparison.title}, with intervals"),
        Picture(
            "outcomes",
            comparison,
            f"On how many queries each metric is better, equal and worse: {comparison.title}",
        ),
    )


def _slices_section(slices: tuple[Result, ...], pictures: bool) -> Section:
    drawn = tuple(map(_slice_picture, slices)) if pictures else ()
    return Section("slices", "Slices", slices, drawn, folded=True)


def _slice_picture(slices: Result) -> Picture | None:
    estimate = "difference" if "difference" in slices.frame else "mean"
    if not slices.frame[estimate].notna().any():
        return None
    return Picture("slices", slices, f"{slices.title}: a dot and an interval for each group")


# -- the end of the page


def _origin_section(runs: tuple[Scored, ...]) -> Section:
    frame = pd.DataFrame(
        {
            "pipeline": [run.name for run in runs],
            "queries": [len(run.scores) for run in runs],
            "query set": [query_set_hash(run) for run in runs],
        }
    )
    notes = () if len(set(frame["query set"])) == 1 else ("the query sets differ",)
    query_sets = Result("What the pipelines were asked", frame, {}, notes)
    setup = setup_table(runs)
    return Section("made", "How it was made", (query_sets, *([setup] if setup else [])))


def _without_empty(sections: Iterable[Section]) -> tuple[Section, ...]:
    return tuple(section for section in sections if section.results or section.pictures)


def _doubts(runs: tuple[Scored, ...]) -> tuple[ReportVerdict, ...]:
    """The doubts about the numbers, which a reader must see before any other verdict."""
    notes = doubts_of(runs) if len(runs) > 1 else filter(is_doubt, getattr(runs[0], "notes", ()))
    return tuple(ReportVerdict(note, "worse") for note in notes)


def _notes(
    runs: tuple[Scored, ...], notions: Sequence[CorrectNotion] | None, longest: int | None
) -> tuple[str, ...]:
    own_notes = chain.from_iterable(
        (
            f"{run.name}: {note}" if len(runs) > 1 else note
            for note in getattr(run, "notes", ())
            if not is_doubt(note)
        )
        for run in runs
    )
    cut = () if longest is None else (f"texts of queries are cut after {longest} characters",)
    return (*own_notes, *_rule_notes(runs, notions), *cut, *_role_counts(runs))


def _rule_notes(runs: Sequence[Scored], notions: Sequence[CorrectNotion] | None) -> Iterable[str]:
    """That the rule for a correct answer is a guess, or why there is none."""
    if notions is None:
        return (next(filter(None, map(why_unknown, runs)), _NO_RULE),)
    return dict.fromkeys(notion.note for notion in notions if notion.note)


def _role_counts(runs: tuple[Scored, ...]) -> Iterator[str]:
    """How many columns of each file became what; runs that were computed have no such columns."""
    for run in runs:
        frame = getattr(run, "roles", None)
        if frame is not None and len(frame):
            counted = count_roles(ColumnRole(*row) for row in frame.to_numpy().tolist())
            yield counted if len(runs) == 1 else f"{run.name}: {counted}"


def _check_longest(longest: int | None) -> None:
    if longest is not None and longest < 1:
        raise DataError(f"longest_text must be an integer >= 1; got {longest}")
