"""The parts of a report: what each analysis says, under headings, in the order of a reader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from rageval_report.analysis.breakdown import breakdown, failure_causes
from rageval_report.analysis.comparing.answer_outcomes import correct_rule_of, outcome_table
from rageval_report.analysis.summary import EvaluationReport
from rageval_report.errors import DataError
from rageval_report.render.cells import confidence, interval, number
from rageval_report.reports.columns import told
from rageval_report.reports.pictures import Picture
from rageval_report.results import Result
from rageval_report.scores import Correct, Scored, correctness
from rageval_report.stats import mean_interval

Tone = Literal["better", "worse", "neutral"]
UNTOLD = "cannot be told"
ANSWERED = ("right", "wrong", UNTOLD)
_DEFAULT_K = 5


@dataclass(frozen=True)
class Verdict:
    """A sentence to repeat, and which way it points."""

    text: str
    tone: Tone = "neutral"


@dataclass(frozen=True, eq=False)
class Section:
    """Results and pictures under a heading.

    Parameters
    ----------
    key : str
        Its name in the page's address.
    heading : str
        What a reader sees.
    results : tuple of Result
        In order.
    pictures : tuple of Picture or None
        After the results; where they are folded, one for each of them.
    folded : bool
        Whether the page opens the first result only.
    """

    key: str
    heading: str
    results: tuple[Result, ...] = ()
    pictures: tuple[Picture | None, ...] = ()
    folded: bool = False


# -- verdicts


def verdicts_of_comparison(
    comparison: Result, sliced: Iterable[Result] = ()
) -> tuple[Verdict, ...]:
    """The sentences of a comparison, those first that show something.

    A group of queries that is shown to go the other way than the whole counts as showing something.
    """
    every = [*_told(comparison), *(one for slices in sliced for one in _told(slices))]
    return tuple(sorted(every, key=lambda one: ("worse", "better", "neutral").index(one.tone)))


def _told(result: Result) -> Iterator[Verdict]:
    alpha = 1.0 - float(str(result.settings["confidence_level"]))
    columns = (result.frame[name] for name in ("verdict", "pvalue_adjusted", "improvement"))
    for text, pvalue, gain in zip(*columns, strict=True):
        tone: Tone = "neutral" if not pvalue <= alpha else "better" if gain > 0 else "worse"
        if isinstance(text, str):
            yield Verdict(text, tone)


def verdicts_of_evaluation(
    report: EvaluationReport, causes: Result | None, rules: Sequence[str] = ()
) -> tuple[Verdict, ...]:
    """How many answers are right, why the others fail, and the mean of each metric."""
    return (
        *_correct_verdict(report, "".join(f"; {rule}" for rule in rules)),
        *(_cause_verdict(causes) if causes is not None else ()),
        *(Verdict(_mean_told(row, report.settings)) for _, row in report.frame.iterrows()),
    )


def _correct_verdict(report: EvaluationReport, rule: str) -> Iterator[Verdict]:
    if not report.counts:
        return
    right, wrong = report.counts["nr_correct_queries"], report.counts["nr_incorrect_queries"]
    level = float(str(report.settings["confidence_level"]))
    share = (
        mean_interval(
            np.repeat([1.0, 0.0], [right, wrong]), method="wilson", confidence_level=level
        )
        if right + wrong
        else None
    )
    if share is None:
        yield Verdict("no query can be told to be correct or not")
        return
    yield Verdict(
        f"{right} of {right + wrong} queries are answered correctly: {number(share.estimate)} "
        f"({confidence(level)} {interval(share.low, share.high)}){rule}"
    )


def _cause_verdict(causes: Result) -> Iterator[Verdict]:
    failing = causes.frame[(causes.frame["cause"] != "fine") & (causes.frame["n"] > 0)]
    if not len(failing):
        return
    n = int(failing["n"].sum())
    first = failing.sort_values("n", ascending=False, kind="stable").iloc[0]
    noun = "failure is" if n == 1 else "failures are"
    yield Verdict(f"{first['n']} of {n} {noun} of {first['cause']}: {first['what']}")


def _mean_told(row: pd.Series, settings: Mapping[str, object]) -> str:
    n, total = int(row["n"]), int(row["n"] + row["n_unscored"])
    counted = f"{n} queries" if n == total else f"{n} of {total} queries scored"
    if not n:
        return f"{row['title']}: nothing is scored, of {total} queries"
    title = confidence(settings.get("confidence_level"))
    return (
        f"{row['title']}: mean {number(row['mean'])} "
        f"({title} {interval(row['ci_low'], row['ci_high'])}), {counted}"
    )


# -- which answers are right


def rule_of(run: Scored, correct: Correct | None) -> Correct | None:
    """What a correct answer of a run is: as told, else as the run itself knows.

    Returns
    -------
    Correct or None
        None where nothing tells.
    """
    if correct is not None:
        correctness(run, correct)  # a rule that makes no sense is told now, not later
        return correct
    return correct_rule_of(run)


def rule_told(rule: Correct) -> str:
    """A rule for a signature; a function is told by its name, not by where it lies."""
    if isinstance(rule, Mapping):
        return ", ".join(f"{name}={threshold:g}" for name, threshold in rule.items())
    if isinstance(rule, tuple):
        return f"{rule[0]}={rule[1]:g}"
    return getattr(rule, "__name__", "a function") if callable(rule) else rule


def answers_of(run: Scored, rule: Correct) -> pd.Series:
    """Of each query "right", "wrong" or "cannot be told"."""
    right = correctness(run, rule)
    told_ = np.where(right.fillna(False).to_numpy(dtype=bool), ANSWERED[0], ANSWERED[1])
    return pd.Series(np.where(right.isna(), UNTOLD, told_), index=right.index, dtype=object)


def outcome_names(baseline: Scored, candidate: Scored) -> tuple[str, ...]:
    """The outcomes of two runs, in the order in which they are shown."""
    return (
        *("both right", f"only {baseline.name} right", f"only {candidate.name} right"),
        *("both wrong", UNTOLD, f"only in {baseline.name}", f"only in {candidate.name}"),
    )


def outcomes_of(
    baseline: Scored, candidate: Scored, rule: Correct, candidate_rule: Correct
) -> pd.Series:
    """The outcome of each query of two runs, by `outcome_table`."""
    table = outcome_table(baseline, candidate, rule, other_correct=candidate_rule)
    columns = (
        *("both_correct", f"only_{baseline.name}_correct", f"only_{candidate.name}_correct"),
        *("both_incorrect", "unscored", f"only_in_{baseline.name}", f"only_in_{candidate.name}"),
    )
    found = [
        pd.Series(name, index=table[column].dropna())
        for column, name in zip(columns, outcome_names(baseline, candidate), strict=True)
        if column in table
    ]
    return pd.concat(found)


def outcome_result(
    title: str,
    outcomes: pd.Series,
    names: Sequence[str],
    settings: Mapping[str, object],
    rules: Sequence[str] = (),
) -> Result:
    """How many queries have each outcome, of those that can be told; `rules` are noted first."""
    known = outcomes[outcomes.isin([name for name in names[:4] if name != UNTOLD])]
    rows = []
    for name in (one for one in names[:4] if one != UNTOLD):
        share = mean_interval(
            (known == name).to_numpy(dtype=float),
            method="wilson" if len(known) else "auto",
            confidence_level=float(str(settings["confidence_level"])),
        )
        rows.append((name, int((known == name).sum()), share.estimate, share.low, share.high))
    counts = outcomes[~outcomes.index.isin(known.index)].value_counts()
    return Result(
        title,
        pd.DataFrame(rows, columns=["outcome", "n", "share", "ci_low", "ci_high"]),
        settings,
        (*rules, *(f"{n} queries {_verb(str(name))}" for name, n in counts.items())),
    )


def _verb(outcome: str) -> str:
    return outcome if outcome == UNTOLD else f"are {outcome}"


# -- why queries fail


def cutoff_of(run: Scored, k: int | None) -> int:
    """After how many results the answer is made, where the metrics tell it: 5, else the first."""
    if k is not None:
        return k
    known = [metric.known_as.partition("@") for metric in run.metrics.values()]
    found = [int(end) for stem, _, end in known if stem in ("hit", "recall") and end.isdigit()]
    return _DEFAULT_K if _DEFAULT_K in found or not found else found[0]


def causes_of(
    run: Scored, rule: Correct | None, k: int | None, confidence_level: float
) -> tuple[pd.Series, Result] | None:
    """Why each query fails, and how many do; None where the metrics do not tell."""
    if rule is None:
        return None
    cutoff = cutoff_of(run, k)
    try:
        causes = failure_causes(run, k=cutoff, correct=rule)
    except DataError:
        if k is not None:
            raise
        return None
    counted = breakdown(run, k=cutoff, correct=rule, confidence_level=confidence_level)
    return causes, counted


# -- how it was made


def set_up(runs: Iterable[Scored]) -> Result | None:
    """How the pipelines were set up, side by side; unknown is told as such."""
    configs = {run.name: getattr(run, "config", {}) for run in runs}
    keys = dict.fromkeys(key for config in configs.values() for key in config)
    if not keys:
        return None
    columns: dict[str, list[Any]] = {"setting": list(keys)}
    for name, config in configs.items():
        columns[name] = [told(config[key]) if key in config else "unknown" for key in keys]
    if len(configs) > 1:
        sides = zip(*(columns[name] for name in configs), strict=True)
        columns["same"] = ["yes" if len(set(side)) == 1 else "no" for side in sides]
    return Result("How the pipelines were set up", pd.DataFrame(columns))
