"""The report of pipelines, its parts, and what all kinds of reports share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict

import numpy as np
import pandas as pd
from markupsafe import Markup

from rageval_report._registry import Registry
from rageval_report.analysis.arguments import engine_setting, is_scan
from rageval_report.analysis.breakdown import breakdown, failure_causes
from rageval_report.analysis.report import EvaluationReport
from rageval_report.analysis.tables import table_of
from rageval_report.errors import DataError, doubts_of, is_doubt
from rageval_report.files.writing import check_free, write_atomically
from rageval_report.reports.cells import confidence, interval, number
from rageval_report.reports.pictures import Picture
from rageval_report.reports.query_table import ANSWERS, QueryTable, cell_text, slice_columns
from rageval_report.reports.sentences import Headline
from rageval_report.reports.views import View, causes_view
from rageval_report.reports.wording import NO_WORDING, Wording
from rageval_report.results import Result
from rageval_report.scores import Correct, Metric, Scored
from rageval_report.scores.correct import (
    CorrectNotion,
    answers_by,
    declare_all,
    shared_notions,
    why_unknown,
)
from rageval_report.scores.roles import ColumnRole, count_roles
from rageval_report.scores.run_file import query_set_hash
from rageval_report.stats.means import interval_of_count

Tone = Literal["worse", "better", "neutral"]
_TONES = ("worse", "better", "neutral")  # in the order in which a reader wants to see them


@dataclass(frozen=True)
class ReportVerdict:
    """A sentence of the report, and whether it speaks of something better or worse."""

    text: str
    tone: Tone = "neutral"


@dataclass(frozen=True, eq=False)
class Section:
    """Results and pictures under a heading."""

    key: str
    heading: str
    results: tuple[Result, ...] = ()
    pictures: tuple[Picture | None, ...] = ()
    folded: bool = False
    views: tuple[View, ...] = ()
    numbers: str = ""


# -- verdicts


def verdicts_of_comparison(
    comparison: Result, slices: Iterable[Result] = ()
) -> tuple[ReportVerdict, ...]:
    """The verdicts of a comparison and its slices: first what is worse, then what is better."""
    verdicts = chain.from_iterable(map(_result_verdicts, (comparison, *slices)))
    return tuple(sorted(verdicts, key=lambda verdict: _TONES.index(verdict.tone)))


def _result_verdicts(result: Result) -> Iterator[ReportVerdict]:
    alpha = 1.0 - float(str(result.settings["confidence_level"]))
    # Of slices only those that go against all queries have a sentence.
    rows: pd.DataFrame = getattr(result, "reversals", result.frame)
    columns = zip(rows["pvalue_adjusted"], rows["improvement"], strict=True)
    for text, (pvalue, gain) in zip(result.sentences, columns, strict=True):
        tone: Tone = "neutral" if not pvalue <= alpha else "better" if gain > 0 else "worse"
        yield ReportVerdict(text, tone)


def sentences_of_evaluation(report: EvaluationReport, causes: Result | None) -> Iterator[str]:
    """How many answers are right, the main cause of failures, and the mean of each metric."""
    level = report.settings["confidence_level"]
    if report.counts:
        right, wrong = report.counts["nr_correct_queries"], report.counts["nr_incorrect_queries"]
        share = ""
        if right + wrong:
            own = interval_of_count(right, right + wrong, float(str(level)))
            limits = f"{confidence(level)} {interval(own.low, own.high)}"
            share = f"; a share of {number(own.estimate)} ({limits})"
        yield report.correct + share
    if causes is not None:
        failing = causes.frame[(causes.frame["cause"] != "fine") & (causes.frame["n"] > 0)]
        for _, first in failing.sort_values("n", ascending=False, kind="stable").head(1).iterrows():
            n = int(failing["n"].sum())
            noun = "failure is" if n == 1 else "failures are"
            yield f"{first['n']:,} of {n:,} {noun} of {first['cause']}: {first['what']}"
    for _, row in report.frame.iterrows():
        n, total = int(row["n"]), int(row["n"] + row["n_unscored"])
        counted = f"{n:,} queries" if n == total else f"{n:,} of {total:,} queries scored"
        limits = f"{confidence(level)} {interval(row['ci_low'], row['ci_high'])}"
        yield (
            f"{row['title']}: mean {number(row['mean'])} ({limits}), {counted}"
            if n
            else f"{row['title']}: none of {total:,} queries is scored"
        )


# -- the report

Form: TypeAlias = Callable[["Report"], str]

FORMS: Registry[Form] = Registry(
    "kind of report file",
    {
        ".htm": "rageval_report.reports.page:page",
        ".html": "rageval_report.reports.page:page",
        ".md": "rageval_report.reports.page:markdown",
        ".txt": "rageval_report.reports.page:text",
    },
)


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """Verdicts, tables, pictures, slices and queries of one evaluation or comparison.

    Parameters
    ----------
    title : str
        The title above everything.
    subtitle : str
        What was evaluated, in one line.
    verdicts : tuple of ReportVerdict
        The conclusions, one sentence each.
    sections : tuple of Section
        Tables and pictures in order.
    queries : QueryTable
        Every query; only the HTML page shows them.
    notes : tuple of str
        What a reader must know about the whole report.
    longest_text : int, optional
        Longer texts of queries are cut on the page, with a note; no text is cut if omitted.
    headline : Headline, optional
        The answer, above everything; without one the page begins with the verdicts.
    wording : Wording, optional
        What the page calls metrics and pipelines; their own names if omitted.
    some_queries : str
        Which queries the page shows; empty if it shows all.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> data = {"query_id": ["a", "b", "c"], "exact_match": [1, 0, 1]}
    >>> report = RAGPipelineEvaluation("hybrid", data).report(pictures=False)
    >>> report.title, report.to_html()[:15]
    ('Evaluation of hybrid', '<!doctype html>')
    >>> report.to_markdown().splitlines()[0], report.to_text().splitlines()[0]
    ('# Evaluation of hybrid', 'Evaluation of hybrid')
    """

    title: str
    subtitle: str
    verdicts: tuple[ReportVerdict, ...]
    sections: tuple[Section, ...]
    queries: QueryTable
    notes: tuple[str, ...] = ()
    longest_text: int | None = None
    headline: Headline | None = None
    wording: Wording = NO_WORDING
    some_queries: str = ""

    def to_html(self) -> str:
        """One page that needs no other file, no network, and no server."""
        return FORMS[".html"](self)

    def to_markdown(self) -> str:
        """The verdicts and tables in Markdown."""
        return FORMS[".md"](self)

    def to_text(self) -> str:
        """The verdicts and tables as plain text."""
        return FORMS[".txt"](self)

    def save(self, path: str | Path, *, force: bool = True) -> Path:
        """Write the report; the suffix chooses the form.

        Parameters
        ----------
        path : str or Path
            Ends in .html, .htm, .md or .txt. Only the HTML page has queries and pictures.
        force : bool
            Whether an existing file is replaced, as pandas does; else it is an error.

        Examples
        --------
        >>> import tempfile
        >>> from rageval_report import RAGPipelineEvaluation
        >>> data = {"query_id": ["a", "b", "c"], "exact_match": [1, 0, 1]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = RAGPipelineEvaluation("hybrid", data).report(pictures=False)
        ...     report.save(f"{folder}/report.html").name
        'report.html'
        """
        form = FORMS[Path(path).suffix.lower() or str(path)]
        check_free(path, force=force)
        text = form(self)
        return write_atomically(path, text if text.endswith("\n") else f"{text}\n")

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        """The answer, and what the page holds, which is a file of its own."""
        answer = self.headline.sentences if self.headline else [own.text for own in self.verdicts]
        items = Markup("").join(Markup("<li>{}</li>").format(text) for text in answer[:5])
        size = f"{len(self.sections)} sections and {len(self.queries.ids):,} queries"
        page = f'A page of {size}: .save("report.html")'
        return Markup("<p><strong>{}</strong></p><ul>{}</ul><p>{}</p>").format(
            self.title, items, page
        )

    def __repr__(self) -> str:
        return (
            f"Report({self.title!r}, {len(self.verdicts)} verdicts, {len(self.sections)} sections, "
            f"{len(self.queries.ids)} queries)"
        )


# -- what a report is about

# Of a scan a page lists the worst queries of each metric, with texts cut to this length, so that it
# stays below five megabytes.
MOST_LISTED_QUERIES = 1000
LONGEST_OF_SOME = 300
_MOST_SLICES = 3  # columns, where the caller names none
_DEFAULT_K = 5  # the default of `breakdown`

_NO_RULE = (
    "which answers are right is not known, so outcomes and causes are not shown; pass correct=, "
    "for example correct=('faithfulness', 0.8)"
)


class ContentKeywords(TypedDict, total=False):
    """What a page shows of the queries; see `rageval_report.reports.report_evaluation`."""

    by: str | Iterable[str] | None
    correct: Correct | CorrectNotion | None
    k: int | None
    longest_text: int | None


def cutoff_of(run: Scored, k: int | None) -> int:
    """How many results the answer is made from: `k`, else 5, or the first cutoff of a metric."""
    known = [metric.known_as.partition("@") for metric in run.metrics.values()]
    cutoffs = [int(end) for stem, _, end in known if stem in ("hit", "recall") and end.isdigit()]
    usual = _DEFAULT_K if _DEFAULT_K in cutoffs or not cutoffs else cutoffs[0]
    return usual if k is None else k


@dataclass(frozen=True, eq=False)
class PageContent:
    """What the pages of pipelines share: runs, rules, causes, names, queries and notes."""

    runs: tuple[Scored, ...]
    listed: tuple[Scored, ...]
    some_queries: str
    longest_text: int | None
    notions: tuple[CorrectNotion, ...] | None
    causes: list[tuple[pd.Series, Result] | None]
    columns: list[str]
    wording: Wording

    @classmethod
    def of(
        cls,
        runs: tuple[Scored, ...],
        metrics: Iterable[str],
        level: float,
        wording: Wording,
        options: ContentKeywords,
        notion: CorrectNotion | None = None,
    ) -> PageContent:
        """The content of these pipelines; of several, the rules are made to be comparable."""
        longest, k, by = options.get("longest_text"), options.get("k"), options.get("by")
        if longest is not None and longest < 1:
            raise DataError(f"longest_text must be an integer >= 1; got {longest}")
        listed, some_queries = _listed_runs(runs, metrics)
        if some_queries:
            longest = longest or LONGEST_OF_SOME
        notions: tuple[CorrectNotion, ...] | None = None if notion is None else (notion,)
        if len(runs) > 1:
            notions = shared_notions(listed, options.get("correct"))
        sides = zip(runs, listed, notions or (None,) * len(runs), strict=True)
        causes = [_causes_of(*side, k, level) for side in sides]
        if by is None:
            columns = slice_columns(listed[0])[:_MOST_SLICES]
        else:
            columns = [by] if isinstance(by, str) else list(dict.fromkeys(by))
        return cls(runs, listed, some_queries, longest, notions, causes, columns, wording)

    @property
    def by_run(self) -> tuple[CorrectNotion | None, ...]:
        """What is correct in each run; None if it is not known."""
        return self.notions or (None,) * len(self.runs)

    @property
    def verdicts(self) -> tuple[ReportVerdict, ...]:
        """The doubts about the numbers first; then what is correct in several runs in memory."""
        runs = self.runs
        doubts = doubts_of(runs) if len(runs) > 1 else filter(is_doubt, _notes_in(runs[0]))
        verdicts = [ReportVerdict(note, "worse") for note in doubts]
        if self.notions is not None and len(runs) > 1 and not is_scan(runs[0]):
            verdicts.append(ReportVerdict(declare_all(runs, self.notions)))
        return tuple(verdicts)

    @property
    def causes_section(self) -> Section:
        """Why the queries of each pipeline fail, side by side."""
        sides = zip(self.runs, self.causes, strict=True)
        known = [(run.name, cause[1]) for run, cause in sides if cause]
        tables, names = tuple(table for _, table in known), [name for name, _ in known]
        if len(self.runs) == 1:
            return Section("causes", "Why queries fail", tables)
        views = (causes_view(tables, names, self.wording.names),) if known else ()
        numbers = "The numbers, and the causes that are not measured"
        return Section("causes", "Why queries fail", tables, views=views, numbers=numbers)

    def queries(
        self, metrics: tuple[dict[int, Metric], ...], pairs: tuple[dict[str, Any], ...] = ()
    ) -> QueryTable:
        """Every query, with the answers that are right and the causes."""
        answers = [
            None if notion is None else answers_of(run, notion)
            for run, notion in zip(self.listed, self.by_run, strict=True)
        ]
        causes = tuple(cause and cause[0] for cause in self.causes)
        columns = tuple(self.columns)
        return QueryTable(
            self.listed, metrics, columns, tuple(answers), causes, self.wording, pairs
        )

    def notes(self, *notes: str) -> tuple[str, ...]:
        """What a reader must know about the whole report, each note with its pipelines."""
        names: dict[str, list[str]] = {}
        for run in self.listed:
            for note in _notes_in(run):
                if not is_doubt(note):
                    names.setdefault(note, []).append(run.name)
        n, own_notes = len(self.listed), []
        for note, own in names.items():
            whose = f"all {n} pipelines: " if len(own) == n else f"{', '.join(own)}: "
            own_notes.append(note if n == 1 else whose + note)
        # That the rule for a correct answer is a guess, or why there is none.
        rules = [next(filter(None, map(why_unknown, self.listed)), _NO_RULE)]
        if self.notions is not None:
            rules = list(dict.fromkeys(notion.note for notion in self.notions if notion.note))
        cut = f"texts of queries are cut after {self.longest_text} characters"
        some = [self.some_queries] if self.some_queries else []
        return (*some, *notes, *own_notes, *rules, *([] if self.longest_text is None else [cut]))


def _notes_in(run: Scored) -> list[str]:
    """The notes of a run, and how many columns of its file became what."""
    # A run that was computed has no such columns.
    roles: Any = getattr(run, "roles", None)
    rows = [] if roles is None else roles.to_numpy().tolist()
    counts = [count_roles(ColumnRole(*row) for row in rows)] if rows else []
    return [*getattr(run, "notes", ()), *counts]


def _listed_runs(runs: tuple[Any, ...], metrics: Iterable[str]) -> tuple[tuple[Scored, ...], str]:
    """What a page lists: all queries, of large scans the worst of each; and a sentence about it."""
    if not is_scan(runs[0]):
        return runs, ""
    most = MOST_LISTED_QUERIES // len(runs)
    names = [name for name in metrics if all(name in run.metrics for run in runs)]
    ids = list(dict.fromkeys(i for run in runs for i in run.worst_ids(names, most)))
    listed = tuple(run.rows_of(ids) for run in runs)
    n_queries = max(run.n_queries for run in runs)
    n_listed = max(len(part.scores) for part in listed)
    sentence = (
        f"The page shows {n_listed:,} of {n_queries:,} queries: the {most} worst on each metric; "
        "tables and pictures are of all."
    )
    return listed, sentence if n_listed < n_queries else ""


def _causes_of(
    run: Scored, listed: Scored, notion: CorrectNotion | None, k: int | None, level: float
) -> tuple[pd.Series, Result] | None:
    """The causes of the listed queries, and the table of all; None without the metrics."""
    if notion is None or is_scan(run):
        return None
    cutoff = cutoff_of(run, k)
    try:
        causes = failure_causes(listed, k=cutoff, correct=notion)
    except DataError:
        # What the caller asked for must not be left out silently.
        if k is not None:
            raise
        return None
    return causes, breakdown(run, k=cutoff, correct=notion, confidence_level=level)


def answers_of(run: Scored, notion: CorrectNotion) -> pd.Series:
    """Whether the answer to each query is "right", "wrong" or "unknown"."""
    right = answers_by(run, notion)
    is_right = right.fillna(False).to_numpy(dtype=bool)
    labels = np.select([right.isna(), is_right], [ANSWERS[2], ANSWERS[0]], ANSWERS[1])
    return pd.Series(labels, index=right.index, dtype=object)


# -- sections of every report


def without_empty(sections: Iterable[Section]) -> tuple[Section, ...]:
    """The sections that have something to show."""
    return tuple(own for own in sections if own.results or own.pictures or own.views)


def slice_picture(slices: Result) -> Picture | None:
    """The picture of a table of slices; None if nothing in it has a value."""
    estimate = "difference" if "difference" in slices.frame else "mean"
    if not slices.frame[estimate].notna().any():
        return None
    return Picture("slices", slices, f"{slices.title}: a dot and an interval for each group")


def origin_section(runs: tuple[Scored, ...]) -> Section:
    """What the pipelines were asked, or from where they were read, and how they were set up."""
    columns: dict[str, list[Any]] = {
        "pipeline": [run.name for run in runs],
        "queries": [table_of(run).n_queries for run in runs],
    }
    if is_scan(first := runs[0]):
        frame = pd.DataFrame({**columns, "from": [getattr(run, "place", "") for run in runs]})
        query_sets = Result("What was read", frame, engine_setting(first))
    else:
        frame = pd.DataFrame({**columns, "query set": [query_set_hash(run) for run in runs]})
        notes = () if len(set(frame["query set"])) == 1 else ("the query sets differ",)
        query_sets = Result("What the pipelines were asked", frame, {}, notes)
    setup = _setup_table({run.name: getattr(run, "config", {}) for run in runs})
    return Section("made", "How it was made", (query_sets, *([setup] if setup else [])))


def _setup_table(configs: Mapping[str, Mapping[str, object]]) -> Result | None:
    """The settings of the pipelines side by side; None if no pipeline has any."""
    keys = list(dict.fromkeys(key for config in configs.values() for key in config))
    frame = pd.DataFrame({"setting": keys})
    for name, config in configs.items():
        frame[name] = [cell_text(config[key]) if key in config else "unknown" for key in keys]
    if len(configs) > 1 and keys:
        sides = frame[list(configs)].to_numpy().tolist()
        frame["same"] = ["yes" if len(set(side)) == 1 else "no" for side in sides]
    return Result("How the pipelines were set up", frame) if keys else None
