"""The sections and notes that reports of one pipeline and of several have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypedDict

import pandas as pd

from rageval_report.analysis.arguments import Clusters, engine_setting, is_scan
from rageval_report.analysis.tables import table_of
from rageval_report.errors import DataError, doubts_of, is_doubt
from rageval_report.reports.parts import ReportVerdict, Section, answers_of, setup_table
from rageval_report.reports.pictures import Picture
from rageval_report.reports.query_table import QueryTable, slice_columns
from rageval_report.reports.views.causes import Causes
from rageval_report.reports.wording import Wording
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored
from rageval_report.scores.correct import CorrectNotion, why_unknown
from rageval_report.scores.roles import ColumnRole, count_roles
from rageval_report.scores.run_file import query_set_hash

MOST_SLICES = 3  # columns, where the caller names none
DEFAULT_LEVEL = 0.95
# Of a scan a page lists the worst queries of each metric, with texts cut to this length, so that it
# stays below five megabytes.
MOST_LISTED_QUERIES = 1000
LONGEST_OF_SOME = 300

_NO_RULE = (
    "which answers are right is not known, so outcomes and causes are not shown; pass correct=, "
    "for example correct=('faithfulness', 0.8)"
)


class MeansSettings(TypedDict):
    """How means and their intervals are computed; the same in every table of a report."""

    interval: str
    confidence_level: float
    n_resamples: int
    seed: int
    clusters: Clusters | None


def slice_columns_of(runs: Iterable[Scored], by: str | Iterable[str] | None) -> list[str]:
    """The columns that divide the queries: those that are named, else a few that suit."""
    if isinstance(by, str):
        return [by]
    if by is not None:
        return list(dict.fromkeys(by))
    return slice_columns(next(iter(runs)))[:MOST_SLICES]


def slice_picture(slices: Result) -> Picture | None:
    """The picture of a table of slices; None if nothing in it has a value."""
    estimate = "difference" if "difference" in slices.frame else "mean"
    if not slices.frame[estimate].notna().any():
        return None
    return Picture("slices", slices, f"{slices.title}: a dot and an interval for each group")


def origin_section(runs: tuple[Scored, ...]) -> Section:
    """What the pipelines were asked, or from where they were read, and how they were set up."""
    first: Any = runs[0]
    columns: dict[str, list[Any]] = {
        "pipeline": [run.name for run in runs],
        "queries": [table_of(run).n_queries for run in runs],
    }
    if is_scan(first):
        frame = pd.DataFrame({**columns, "from": [getattr(run, "place", "") for run in runs]})
        query_sets = Result("What was read", frame, engine_setting(first))
    else:
        frame = pd.DataFrame({**columns, "query set": [query_set_hash(run) for run in runs]})
        notes = () if len(set(frame["query set"])) == 1 else ("the query sets differ",)
        query_sets = Result("What the pipelines were asked", frame, {}, notes)
    setup = setup_table(runs)
    return Section("made", "How it was made", (query_sets, *([setup] if setup else [])))


def listed_runs(runs: tuple[Any, ...], metrics: Iterable[str]) -> tuple[tuple[Scored, ...], str]:
    """What a page lists: all queries, of large scans the worst of each; and a sentence about it."""
    if not is_scan(runs[0]):
        return runs, ""
    most = MOST_LISTED_QUERIES // len(runs)
    names = [name for name in metrics if all(name in run.metrics for run in runs)]
    ids = list(dict.fromkeys(i for run in runs for i in run.worst_ids(names, most)))
    listed = tuple(run.rows_of(ids) for run in runs)
    n_queries = max(run.n_queries for run in runs)
    n_listed = max(len(part.scores) for part in listed)
    if n_listed >= n_queries:
        return listed, ""
    return listed, (
        f"The page shows {n_listed:,} of {n_queries:,} queries: the {most} worst on each metric; "
        "tables and pictures are of all."
    )


def queries_of(
    runs: tuple[Scored, ...],
    metrics: tuple[dict[int, Metric], ...],
    columns: Iterable[str],
    notions: Sequence[CorrectNotion | None],
    causes: Iterable[tuple[pd.Series, Result] | None],
    wording: Wording,
    pairs: tuple[dict[str, Any], ...] = (),
) -> QueryTable:
    """Every query of several pipelines, with the answers that are right and the causes."""
    return QueryTable(
        runs,
        metrics,
        tuple(columns),
        tuple(
            None if notion is None else answers_of(run, notion)
            for run, notion in zip(runs, notions, strict=True)
        ),
        tuple(cause[0] if cause else None for cause in causes),
        wording,
        pairs,
    )


def causes_section(
    causes: Sequence[tuple[pd.Series, Result] | None], runs: Sequence[Scored], wording: Wording
) -> Section:
    """Why the queries of each pipeline fail, side by side."""
    known = [(run.name, cause[1]) for run, cause in zip(runs, causes, strict=True) if cause]
    tables = tuple(table for _, table in known)
    views = (Causes.of(tables, [name for name, _ in known], wording.names),) if known else ()
    return Section(
        "causes",
        "Why queries fail",
        tables,
        views=views,
        numbers="The numbers, and the causes that are not measured",
    )


def without_empty(sections: Iterable[Section]) -> tuple[Section, ...]:
    """The sections that have something to show."""
    return tuple(
        section for section in sections if section.results or section.pictures or section.views
    )


def doubts_in(runs: tuple[Scored, ...]) -> tuple[ReportVerdict, ...]:
    """The doubts about the numbers, which a reader must see before any other verdict."""
    notes = doubts_of(runs) if len(runs) > 1 else filter(is_doubt, getattr(runs[0], "notes", ()))
    return tuple(ReportVerdict(note, "worse") for note in notes)


def notes_of(
    runs: tuple[Scored, ...], notions: Sequence[CorrectNotion] | None, longest: int | None
) -> tuple[str, ...]:
    """What a reader must know about the whole report, each note with the names of its pipelines."""
    names: dict[str, list[str]] = {}
    for run in runs:
        # How many columns of a file became what; a run that was computed has no such columns.
        roles: Any = getattr(run, "roles", None)
        rows = [] if roles is None else roles.to_numpy().tolist()
        counts = [count_roles(ColumnRole(*row) for row in rows)] if rows else []
        for note in (*getattr(run, "notes", ()), *counts):
            if not is_doubt(note):
                names.setdefault(note, []).append(run.name)
    notes = []
    for note, own in names.items():
        everyone = f"all {len(runs)} pipelines" if len(own) == len(runs) else ", ".join(own)
        notes.append(note if len(runs) == 1 else f"{everyone}: {note}")
    # That the rule for a correct answer is a guess, or why there is none.
    rules = [next(filter(None, map(why_unknown, runs)), _NO_RULE)]
    if notions is not None:
        rules = list(dict.fromkeys(notion.note for notion in notions if notion.note))
    cut = () if longest is None else (f"texts of queries are cut after {longest} characters",)
    return (*notes, *rules, *cut)


def check_longest(longest: int | None) -> None:
    """Complain of a length of texts that is not one."""
    if longest is not None and longest < 1:
        raise DataError(f"longest_text must be an integer >= 1; got {longest}")
