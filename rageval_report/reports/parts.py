"""The parts of a report: the verdicts, and the results of the analyses under headings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, Protocol

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import is_scan
from rageval_report.analysis.breakdown import breakdown, failure_causes
from rageval_report.analysis.outcomes import outcome_table
from rageval_report.analysis.report import EvaluationReport
from rageval_report.errors import DataError
from rageval_report.render.cell_text import confidence, interval, number
from rageval_report.reports.page_columns import cell_text
from rageval_report.reports.pictures import Picture
from rageval_report.reports.query_table import ANSWERS
from rageval_report.results import Result
from rageval_report.scores import Scored
from rageval_report.scores.correct import CorrectNotion, answers_by
from rageval_report.stats.means import interval_of_count

Tone = Literal["better", "worse", "neutral"]
UNKNOWN_OUTCOME = ANSWERS[-1]
_TONES = ("worse", "better", "neutral")  # in the order in which a reader wants to see them
# The default of `breakdown`.
_DEFAULT_K = 5


@dataclass(frozen=True)
class ReportVerdict:
    """A sentence of the report, and whether it speaks of something better or worse."""

    text: str
    tone: Tone = "neutral"


class PageView(Protocol):
    """A part of a page that has a template of its own."""

    @property
    def template(self) -> str:
        """The name of the template, which is beside the module."""


@dataclass(frozen=True, eq=False)
class Section:
    """Results and pictures under a heading.

    Parameters
    ----------
    key : str
        Its id in the page, for addresses such as ``report.html#slices``.
    heading : str
        The heading above it.
    results : tuple of Result
        In order.
    pictures : tuple of Picture or None
        Shown after the results; if the section is folded, one per result.
    folded : bool
        Whether the page opens the first result only.
    views : tuple of PageView
        What the page draws in place of the results, which are then folded below it.
    numbers : str
        What the fold below the views is called.
    """

    key: str
    heading: str
    results: tuple[Result, ...] = ()
    pictures: tuple[Picture | None, ...] = ()
    folded: bool = False
    views: tuple[PageView, ...] = ()
    numbers: str = ""


# -- verdicts


def verdicts_of_comparison(
    comparison: Result, slices: Iterable[Result] = ()
) -> tuple[ReportVerdict, ...]:
    """The verdicts of a comparison and its slices: first what is worse, then what is better.

    A group of queries that differs in the other direction than the whole has its own verdict.
    """
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


def verdicts_of_evaluation(
    report: EvaluationReport, causes: Result | None
) -> tuple[ReportVerdict, ...]:
    """How many answers are right, the main cause of failures, and the mean of each metric."""
    return (
        *_correct_verdict(report),
        *(_cause_verdict(causes) if causes is not None else ()),
        *(
            ReportVerdict(_mean_sentence(row, report.settings))
            for _, row in report.frame.iterrows()
        ),
    )


def _correct_verdict(report: EvaluationReport) -> Iterator[ReportVerdict]:
    if not report.counts:
        return
    right, wrong = report.counts["nr_correct_queries"], report.counts["nr_incorrect_queries"]
    if not right + wrong:
        yield ReportVerdict(report.correct)
        return
    level = float(str(report.settings["confidence_level"]))
    share = interval_of_count(right, right + wrong, level)
    yield ReportVerdict(
        f"{report.correct}; a share of {number(share.estimate)} "
        f"({confidence(level)} {interval(share.low, share.high)})"
    )


def _cause_verdict(causes: Result) -> Iterator[ReportVerdict]:
    failing = causes.frame[(causes.frame["cause"] != "fine") & (causes.frame["n"] > 0)]
    if not len(failing):
        return
    n = int(failing["n"].sum())
    first = failing.sort_values("n", ascending=False, kind="stable").iloc[0]
    noun = "failure is" if n == 1 else "failures are"
    yield ReportVerdict(f"{first['n']:,} of {n:,} {noun} of {first['cause']}: {first['what']}")


def _mean_sentence(row: pd.Series, settings: Mapping[str, object]) -> str:
    n, total = int(row["n"]), int(row["n"] + row["n_unscored"])
    counted = f"{n:,} queries" if n == total else f"{n:,} of {total:,} queries scored"
    if not n:
        return f"{row['title']}: none of {total:,} queries is scored"
    title = confidence(settings.get("confidence_level"))
    return (
        f"{row['title']}: mean {number(row['mean'])} "
        f"({title} {interval(row['ci_low'], row['ci_high'])}), {counted}"
    )


# -- which answers are right


def answers_of(run: Scored, notion: CorrectNotion) -> pd.Series:
    """Whether the answer to each query is "right", "wrong" or "unknown"."""
    right = answers_by(run, notion)
    labels = np.where(right.fillna(False).to_numpy(dtype=bool), ANSWERS[0], ANSWERS[1])
    labels = np.where(right.isna(), UNKNOWN_OUTCOME, labels)
    return pd.Series(labels, index=right.index, dtype=object)


def outcome_names(baseline: Scored, candidate: Scored) -> tuple[str, ...]:
    """The outcomes of two runs, in the order in which they are shown."""
    return (
        *("both right", f"only {baseline.name} right", f"only {candidate.name} right"),
        *("both wrong", UNKNOWN_OUTCOME, f"only in {baseline.name}", f"only in {candidate.name}"),
    )


def outcomes_of(
    baseline: Scored, candidate: Scored, notion: CorrectNotion, candidate_notion: CorrectNotion
) -> pd.Series:
    """The outcome of each query of two runs, by `outcome_table`."""
    table = outcome_table(baseline, candidate, notion, other_correct=candidate_notion)
    parts = [
        pd.Series(name, index=table[column].dropna())
        for column, name in named_outcomes(baseline, candidate).items()
        if column in table
    ]
    return pd.concat(parts)


def named_outcomes(baseline: Scored, candidate: Scored) -> dict[str, str]:
    """The columns of `outcome_table`, each with its name in `outcome_names`."""
    columns = (
        *("both_correct", f"only_{baseline.name}_correct", f"only_{candidate.name}_correct"),
        *("both_incorrect", "unscored", f"only_in_{baseline.name}", f"only_in_{candidate.name}"),
    )
    return dict(zip(columns, outcome_names(baseline, candidate), strict=True))


def outcome_result(
    title: str,
    counts: Mapping[str, int],
    names: Sequence[str],
    settings: Mapping[str, object],
    rules: Sequence[str] = (),
) -> Result:
    """How many queries have each known outcome; the notes say the rules and count the others."""
    known = {name: counts.get(name, 0) for name in names[:4]}
    n_known = sum(known.values())
    level = float(str(settings["confidence_level"]))
    rows = [(name, n, *_share_of(n, n_known, level)) for name, n in known.items()]
    others = [(name, counts[name]) for name in names[4:] if counts.get(name)]
    others.sort(key=lambda pair: -pair[1])
    return Result(
        title,
        pd.DataFrame(rows, columns=["outcome", "n", "share", "ci_low", "ci_high"]),
        settings,
        (*rules, *(f"{n:,} queries are {name}" for name, n in others)),
    )


def _share_of(n: int, total: int, level: float) -> tuple[float, float, float]:
    """A share and its limits; NaN of nothing."""
    if not total:
        return math.nan, math.nan, math.nan
    share = interval_of_count(n, total, level)
    return share.estimate, share.low, share.high


# -- why queries fail


def cutoff_of(run: Scored, k: int | None) -> int:
    """How many results the answer is made from: `k`, else 5, or the first cutoff of a metric."""
    if k is not None:
        return k
    known = [metric.known_as.partition("@") for metric in run.metrics.values()]
    cutoffs = [int(end) for stem, _, end in known if stem in ("hit", "recall") and end.isdigit()]
    return _DEFAULT_K if _DEFAULT_K in cutoffs or not cutoffs else cutoffs[0]


def causes_of(
    run: Scored,
    listed: Scored,
    notion: CorrectNotion | None,
    k: int | None,
    confidence_level: float,
) -> tuple[pd.Series, Result] | None:
    """The causes of the listed queries, and the table of all; None without the metrics."""
    if notion is None or (is_scan(run) and callable(notion.rule)):
        return None
    cutoff = cutoff_of(run, k)
    try:
        causes = failure_causes(listed, k=cutoff, correct=notion)
    except DataError:
        # What the caller asked for must not be left out silently.
        if k is not None:
            raise
        return None
    return causes, breakdown(run, k=cutoff, correct=notion, confidence_level=confidence_level)


# -- how it was made


def setup_table(runs: Iterable[Scored]) -> Result | None:
    """The settings of the pipelines side by side; None if no pipeline has any."""
    configs = {run.name: getattr(run, "config", {}) for run in runs}
    keys = dict.fromkeys(key for config in configs.values() for key in config)
    if not keys:
        return None
    columns: dict[str, list[str]] = {"setting": list(keys)}
    for name, config in configs.items():
        columns[name] = [cell_text(config[key]) if key in config else "unknown" for key in keys]
    if len(configs) > 1:
        sides = zip(*(columns[name] for name in configs), strict=True)
        columns["same"] = ["yes" if len(set(side)) == 1 else "no" for side in sides]
    return Result("How the pipelines were set up", pd.DataFrame(columns))
