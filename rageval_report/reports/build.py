"""What the analyses say becomes a report: of one evaluation, or of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import pandas as pd

from rageval_report.analysis.comparing.answer_outcomes import describe_correct_rules
from rageval_report.analysis.comparing.comparison import Comparison
from rageval_report.analysis.slices import slice_summary
from rageval_report.analysis.summary import evaluation_report
from rageval_report.errors import DataError
from rageval_report.plots.subjects import of_one_scale
from rageval_report.reports.parts import (
    ANSWERED,
    Section,
    answers_of,
    causes_of,
    outcome_names,
    outcome_result,
    outcomes_of,
    rule_of,
    rule_told,
    set_up,
    verdicts_of_comparison,
    verdicts_of_evaluation,
)
from rageval_report.reports.pictures import Picture
from rageval_report.reports.queries import QueryTable, slice_columns
from rageval_report.reports.report import Report
from rageval_report.results import Result
from rageval_report.scores import Correct, Metric, Scored
from rageval_report.scores.run_file import query_set_hash

MOST_SLICES = 3  # that are chosen unasked

_UNTOLD = (
    "which answers are right is not known, so outcomes and causes are not shown; say it with "
    "correct=, as correct=('faithfulness', 0.8)"
)

_FAMILIES = (
    "p-values are corrected within each table, not across tables: a look at the slices is a "
    "search, and what it finds wants new queries to confirm it"
)


def report_evaluation(
    evaluation: Scored,
    *,
    title: str | None = None,
    by: str | Iterable[str] | None = None,
    correct: Correct | None = None,
    k: int | None = None,
    pictures: bool = True,
    longest_text: int | None = None,
    **settings: Any,
) -> Report:
    """The report of one pipeline.

    Parameters
    ----------
    evaluation : Scored
        A pipeline's scores and details.
    title : str, optional
        Over the report.
    by : str or iterable of str, optional
        The columns of details for the slices; up to three with few values where nothing is said,
        none where it is empty.
    correct : see `rageval_report.scores.correctness`, optional
        What a correct answer is; the evaluation's own rule where not given.
    k : int, optional
        How many results the answer was made of; 5 where metrics are known at 5.
    pictures : bool
        Whether the page has pictures.
    longest_text : int, optional
        Longer texts of queries are cut, with a note.
    **settings
        ``metrics``, ``percentiles``, ``interval``, ``confidence_level``, ``n_resamples``, ``seed``
        as of `rageval_report.analysis.summary.summarise`.

    Returns
    -------
    Report

    Raises
    ------
    UnknownNameError
        If a metric or a column is not known.
    DataError
        If a rule or a setting makes no sense.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> data = {"query_id": ["a", "b", "c"], "exact_match": [1, 0, 1]}
    >>> report = report_evaluation(RAGPipelineEvaluation("hybrid", data))
    >>> print(report.verdicts[0].text.partition(";")[0])
    2 of 3 queries are answered correctly: 0.667 (95 % CI 0.208 to 0.939)
    """
    rule = rule_of(evaluation, correct)
    summary = evaluation_report(evaluation, rule, **settings)
    level = float(str(summary.settings["confidence_level"]))
    found = causes_of(evaluation, rule, k, level)
    columns = _columns([evaluation], by)
    kept = {name: value for name, value in settings.items() if name != "percentiles"}
    sliced = tuple(slice_summary(evaluation, one, **kept) for one in columns)
    shown = [evaluation.metrics[name] for name in dict.fromkeys(summary.frame["metric"])]
    answers = () if rule is None else (answers_of(evaluation, rule),)
    drawn = _pictures_of_evaluation(evaluation, shown) if pictures else ()
    sections = (
        Section("metrics", "Metrics", (summary,), drawn),
        Section("causes", "Why queries fail", () if found is None else (found[1],)),
        Section("slices", "Slices", sliced, _of_slices(sliced) if pictures else (), folded=True),
        _made((evaluation,)),
    )
    return Report(
        title=title or f"Evaluation of {evaluation.name}",
        subtitle=f"{len(evaluation.scores)} queries, {len(shown)} metrics",
        verdicts=verdicts_of_evaluation(
            summary,
            None if found is None else found[1],
            () if rule is None else describe_correct_rules([(evaluation, rule)]),
        ),
        sections=_filled(sections),
        queries=QueryTable(
            (evaluation,),
            tuple({0: metric} for metric in shown),
            tuple(columns),
            answers,
            (ANSWERED,) if answers else (),
            (None if found is None else found[0],),
        ),
        notes=_notes((evaluation,), known=rule is not None, longest=longest_text),
        longest_text=_checked(longest_text),
    )


def report_comparison(
    comparison: Comparison,
    *,
    title: str | None = None,
    by: str | Iterable[str] | None = None,
    correct: Correct | None = None,
    k: int | None = None,
    pictures: bool = True,
    longest_text: int | None = None,
    **settings: Any,
) -> Report:
    """The report of candidates beside a baseline.

    Parameters
    ----------
    comparison : Comparison
        What `compare` gives.
    title, by, correct, k, pictures, longest_text
        As in `report_evaluation`; `correct` holds for all pipelines, and each one's own rule where
        it is not given.
    **settings
        ``percentiles``, ``interval``, ``n_resamples``, ``seed`` of each pipeline's own table, as in
        `rageval_report.analysis.summary.summarise`.

    Returns
    -------
    Report
    """
    runs = _runs(comparison)
    level = float(str(comparison.settings["confidence_level"]))
    settings = {"confidence_level": level, **settings}
    rules = [rule_of(run, correct) for run in runs]
    known = [rule for rule in rules if rule is not None]
    is_known = len(known) == len(runs)
    found = [causes_of(run, rule, k, level) for run, rule in zip(runs, rules, strict=True)]
    columns = _columns(runs, by)
    correction = str(comparison.settings["correction"])
    step = "holm" if correction == "westfall-young" else correction
    sliced = tuple(comparison.slices(one, correction=step) for one in columns)
    outcomes = (
        [
            outcomes_of(runs[0], one, known[0], rule)
            for one, rule in zip(runs[1:], known[1:], strict=True)
        ]
        if is_known
        else []
    )
    names = [outcome_names(runs[0], one) for one in runs[1:]] if is_known else []
    metrics = _metrics(comparison)
    told = {"confidence_level": level, "correct": ", ".join(dict.fromkeys(map(rule_told, known)))}
    sections = (
        Section("comparison", "Comparison", (comparison,), _drawn(comparison, pictures)),
        Section(
            "outcomes", "Which answers are right", _outcomes(runs, known, outcomes, names, told)
        ),
        Section("causes", "Why queries fail", tuple(one[1] for one in found if one is not None)),
        Section("slices", "Slices", sliced, _of_slices(sliced) if pictures else (), folded=True),
        Section("pipelines", "Each pipeline", tuple(_summaries(runs, rules, metrics, settings))),
        _made(runs),
    )
    return Report(
        title=title or comparison.title,
        subtitle=_subtitle(runs, metrics),
        verdicts=verdicts_of_comparison(comparison, sliced),
        sections=_filled(sections),
        queries=QueryTable(
            runs,
            metrics,
            tuple(columns),
            tuple(outcomes),
            tuple(names),
            tuple(None if one is None else one[0] for one in found),
        ),
        notes=(
            *_notes(runs, known=is_known, longest=longest_text),
            *((_FAMILIES,) if sliced else ()),
        ),
        longest_text=_checked(longest_text),
    )


# -- what is compared


def _runs(comparison: Comparison) -> tuple[Scored, ...]:
    if not comparison.pairings:
        raise DataError("a report needs the pipelines; make the comparison with compare(...)")
    candidates = (pairing.candidate for pairing in comparison.pairings)
    return (comparison.pairings[0].baseline, *candidates)


def _metrics(comparison: Comparison) -> tuple[dict[int, Metric], ...]:
    """Each metric that was compared, as each of the runs knows it."""
    found: dict[str, dict[int, Metric]] = {}
    for place, pairing in enumerate(comparison.pairings, start=1):
        for ours, theirs in pairing.metrics:
            found.setdefault(ours.name, {0: ours})[place] = theirs
    return tuple(found.values())


def _summaries(
    runs: tuple[Scored, ...],
    rules: list[Correct | None],
    metrics: tuple[dict[int, Metric], ...],
    settings: dict[str, Any],
) -> Iterator[Result]:
    for place, (run, rule) in enumerate(zip(runs, rules, strict=True)):
        names = [known[place].name for known in metrics if place in known]
        yield evaluation_report(run, rule, metrics=names, **settings)


def _outcomes(
    runs: tuple[Scored, ...],
    rules: list[Correct],
    outcomes: list[pd.Series],
    names: list[tuple[str, ...]],
    settings: dict[str, object],
) -> tuple[Result, ...]:
    return tuple(
        outcome_result(
            f"The answers of {runs[0].name} and {run.name}",
            outcome,
            told,
            settings,
            describe_correct_rules([(runs[0], rules[0]), (run, rule)]),
        )
        for run, rule, outcome, told in zip(runs[1:], rules[1:], outcomes, names, strict=False)
    )


def _subtitle(runs: tuple[Scored, ...], metrics: tuple[dict[int, Metric], ...]) -> str:
    names = ", ".join(run.name for run in runs[1:])
    every = QueryTable(runs, ()).ids
    noun = "candidate" if len(runs) == 2 else "candidates"
    return f"baseline {runs[0].name}, {noun} {names}; {len(every)} queries, {len(metrics)} metrics"


# -- slices and pictures


def _columns(runs: Iterable[Scored], by: str | Iterable[str] | None) -> list[str]:
    if isinstance(by, str):
        return [by]
    if by is not None:
        return list(dict.fromkeys(by))
    first = next(iter(runs))
    return slice_columns(first)[:MOST_SLICES]


def _pictures_of_evaluation(evaluation: Scored, metrics: list[Metric]) -> tuple[Picture, ...]:
    scored = [metric for metric in metrics if evaluation.scores[metric.name].notna().any()]
    if not scored:
        return ()
    # Where all metrics are meant, the plot itself chooses those of one scale, and says so.
    drawn, _ = of_one_scale(scored, asked=False)
    names = {"metric": [metric.name for metric in drawn]}
    spread = Picture(
        "distribution",
        evaluation,
        f"How the scores of {evaluation.name} are spread, metric by metric",
        {} if len(scored) == len(evaluation.metrics) else names,
    )
    return (spread,)


def _drawn(comparison: Comparison, pictures: bool) -> tuple[Picture, ...]:
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


def _of_slices(sliced: tuple[Result, ...]) -> tuple[Picture | None, ...]:
    return tuple(map(_of_groups, sliced))


def _of_groups(sliced: Result) -> Picture | None:
    estimate = "difference" if "difference" in sliced.frame else "mean"
    if not sliced.frame[estimate].notna().any():
        return None
    return Picture("slices", sliced, f"{sliced.title}: a dot and an interval for each group")


# -- the end of the page


def _made(runs: tuple[Scored, ...]) -> Section:
    frame = pd.DataFrame(
        {
            "pipeline": [run.name for run in runs],
            "queries": [len(run.scores) for run in runs],
            "query set": [query_set_hash(run) for run in runs],
        }
    )
    notes = () if len(set(frame["query set"])) == 1 else ("the query sets differ",)
    asked = Result("What the pipelines were asked", frame, {}, notes)
    configured = set_up(runs)
    return Section("made", "How it was made", (asked, *([configured] if configured else [])))


def _filled(sections: Iterable[Section]) -> tuple[Section, ...]:
    return tuple(one for one in sections if one.results or one.pictures)


def _notes(runs: tuple[Scored, ...], *, known: bool, longest: int | None) -> tuple[str, ...]:
    read = chain.from_iterable(
        (f"{run.name}: {note}" if len(runs) > 1 else note for note in getattr(run, "notes", ()))
        for run in runs
    )
    cut = () if longest is None else (f"texts of queries are cut after {longest} characters",)
    return (*read, *(() if known else (_UNTOLD,)), *cut)


def _checked(longest: int | None) -> int | None:
    if longest is not None and longest < 1:
        raise DataError(f"longest_text must be at least 1; got {longest}")
    return longest
