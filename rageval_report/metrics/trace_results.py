"""Traces are scored against a gold set, gates are evaluated, and patterns in the figures named."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, GateError, is_doubt, named
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.metrics.ranking_scores import metrics_in_dialect, tables_in_dialect
from rageval_report.metrics.scoring import build_evaluation
from rageval_report.metrics.traces import (
    DEFAULT_GATES,
    GATES,
    MissingTraces,
    TraceScores,
    TraceSource,
    UndefinedFigures,
    parse_gates,
    score_gold_and_traces,
)
from rageval_report.records.id_search import QueryIds, doubts_about_ids
from rageval_report.results import Result
from rageval_report.scores.catalogue.dialects import (
    DIALECT,
    WFGY,
    Dialect,
    DialectName,
    dialect_of_name,
)
from rageval_report.scores.guard import Doubt, notes_with_doubts
from rageval_report.stats.base import Interval
from rageval_report.stats.means import mean_interval
from rageval_report.types import BoolArray

# The reference scorer has no gate on recall; without the gold no answer can be right, so the
# threshold is that of precision.
_THRESHOLDS = {**parse_gates(DEFAULT_GATES), "recall": 0.8}

_COLUMNS = ("pattern", "because", "certainty", "n", "query_ids", "means", "look_at")


@dataclass(frozen=True)
class TracePattern:
    """A combination of figures that has a usual cause; see ``trace_patterns.toml``."""

    name: str
    failed: tuple[str, ...]
    passed: tuple[str, ...]
    concerns: tuple[str, ...]
    means: str
    look_at: str

    def is_in(self, figures: pd.DataFrame) -> bool:
        """Whether the figures are on the sides that the pattern is about."""
        is_failed, is_passed = figures["is_failed"], figures["is_passed"]
        return bool(is_failed[list(self.failed)].all() and is_passed[list(self.passed)].all())

    def of_questions(self, questions: pd.DataFrame) -> BoolArray:
        """The questions that show it."""
        shown = np.zeros(len(questions), dtype=bool)
        for words in (text.split(", ") for text in self.concerns):
            flags = [questions[word.removeprefix("not ")] ^ word.startswith("not ")
                     for word in words]  # fmt: skip
            shown |= np.logical_and.reduce(flags)
        return shown


def _read_patterns() -> dict[str, TracePattern]:
    text = resources.files("rageval_report.metrics").joinpath("trace_patterns.toml").read_text()
    return {entry["name"]: TracePattern(**entry) for entry in tomllib.loads(text)["pattern"]}


PATTERNS: dict[str, TracePattern] = _read_patterns()
"""The patterns by name, in the order in which they are shown."""


def diagnose(
    scored: TraceScores,
    intervals: Mapping[str, Interval],
    thresholds: Mapping[str, float] | None = None,
    name: str = "trace",
) -> Result:
    """The patterns in the figures of traces."""
    bars = {**_THRESHOLDS, **(thresholds or {})}
    figures = _sides_of(scored, intervals, bars)
    details = scored.details
    questions = pd.DataFrame(
        {
            "answerable": details["answerable"].astype(bool),
            "answered": details["outcome"].eq("answered"),
            "refused": details["outcome"].eq("refused"),
            "has_gold": scored.scores[GATES["recall"].column_at(scored.k)].eq(1.0),
            "cited": details["citation_hit"].astype(bool),
            "contained": details["contained"].astype(bool),
        }
    )
    rows: list[dict[str, object]] = []
    explained: set[str] = set()
    for pattern in PATTERNS.values():
        concerned = pattern.of_questions(questions)
        if not concerned.any() or not pattern.is_in(figures):
            continue
        explained |= {*pattern.failed}
        facts = figures.loc[[*pattern.failed, *pattern.passed]]
        rows.append(
            {
                "pattern": pattern.name,
                "because": "; ".join(facts["words"]),
                "certainty": "shown" if facts["is_shown"].all() else "may be chance",
                "n": int(concerned.sum()),
                "query_ids": [str(query_id) for query_id in details.index[concerned]],
                "means": pattern.means,
                "look_at": pattern.look_at,
            }
        )
    failed = figures[figures["is_failed"] & ~figures.index.isin(explained)]
    return Result(
        f"Diagnosis of {name}",
        pd.DataFrame(rows, columns=list(_COLUMNS)),
        {"thresholds": bars},
        (*map(_sentence, rows), *_rest(rows, failed["words"].tolist())),
        headline=("pattern", "because", "certainty", "n"),
    )


def _sides_of(
    scored: TraceScores, intervals: Mapping[str, Interval], bars: Mapping[str, float]
) -> pd.DataFrame:
    """On which side of its threshold each figure is, and whether its interval shows it."""
    rows = {}
    for name, gate in GATES.items():
        interval, bar = intervals.get(gate.figure), bars[name]
        if interval is None:  # a figure that applies to no question is on no side
            rows[name] = (False, False, False, "")
            continue
        value, low, high = scored.figures[gate.figure], interval.low, interval.high
        is_passed = value >= bar if gate.at_least else value <= bar
        is_shown = (low >= bar or high < bar) if gate.at_least else (high <= bar or low > bar)
        sign = gate.rule if is_passed else {">=": "<", "<=": ">"}[gate.rule]
        words = f"{gate.figure} {value:.3g} {sign} {bar:g}"
        rows[name] = (not is_passed, is_passed, bool(is_shown), words)
    columns = ["is_failed", "is_passed", "is_shown", "words"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _sentence(row: Mapping[str, object]) -> str:
    ids = row["query_ids"]
    listed = named(ids) if isinstance(ids, list) else ""
    return f"{row['pattern']}: {row['means']}. Look first at {row['look_at']}: {listed}"


def _rest(rows: list[dict[str, object]], words: list[str]) -> list[str]:
    if words:
        return [f"no pattern explains {'; '.join(words)}: read the questions that fail, one by one"]
    return [] if rows else ["no pattern: every figure is on the right side of its threshold"]


_HEADLINE = ("figure", "value", "ci_low", "ci_high", "n", "gate", "rule", "threshold", "passed")
# Traces are compared by equal ids, so advice on changes of their form does not apply.
_ALIKE = "Write the ids alike in gold_citations and in retrieved_ids"
_ADVICE = {
    "same_retrieved": "The pipeline may not get the question: look at what is sent to it",
    "no_retrieved": "Check the filter or the index of the pipeline, and whether traces have "
    "retrieved_ids",
}


@dataclass(frozen=True, eq=False, repr=False)
class TraceResult(Result):
    """The figures of the traces of a pipeline, with its gates; one row per figure."""

    scored: TraceScores | None = None
    name: str = "trace"
    intervals: dict[str, Interval] = field(default_factory=dict)
    thresholds: dict[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether all gates passed."""
        return self._scored.passed

    @property
    def evaluation(self) -> RAGPipelineEvaluation:
        """The questions as an evaluation, for reports and comparisons."""
        scored, known = self._scored, None
        scores, details = scored.scores, scored.details
        dialect = self.settings.get(DIALECT)
        if dialect is not None:
            names = [name.replace("{k}", str(scored.k)) for name in WFGY.names()]
            known = metrics_in_dialect(names, WFGY)
            scores, details = tables_in_dialect(scores, details, known)
        config = {} if dialect is None else {DIALECT: dialect}
        return build_evaluation(self.name, scores, details, self.notes, known=known, config=config)

    @property
    def diagnosis(self) -> Result:
        """The patterns in the figures, with a usual cause, what to look at first, and where."""
        return diagnose(self._scored, self.intervals, self.thresholds, self.name)

    @property
    def _scored(self) -> TraceScores:
        if self.scored is None:
            raise DataError("this result has no traces; create it with score_traces()")
        return self.scored

    def report(self) -> dict[str, Any]:
        """The report for JSON: the figures with intervals, the outcomes of gates, the patterns."""
        columns = self.frame.set_index("figure")[["n", "ci_low", "ci_high"]].astype({"n": object})
        intervals = {name: row for name, row in columns.to_dict("index").items() if row["n"]}
        patterns = self.diagnosis.frame.to_dict("records")
        return {**self._scored.report(), "intervals": intervals, "diagnosis": patterns}

    def raise_for_failure(self) -> None:
        """Raise an error if a gate failed."""
        failed = self._scored.gates[~self._scored.gates["passed"]]
        if not self.passed:
            messages = [
                f"{row.gate}: {row.value:.4g} is not {row.rule} {row.threshold:g}"
                for row in failed.itertuples()
            ]
            raise GateError("; ".join(messages) or "there is no question to evaluate a gate on")


def score_traces(
    gold: TraceSource,
    trace: TraceSource,
    k: int = 5,
    gates: str | Mapping[str, float] | None = None,
    *,
    missing: MissingTraces = "answered",
    undefined: UndefinedFigures = "convention",
    refusal_pattern: str | None = None,
    name: str | None = None,
    dialect: DialectName | None = None,
    strict: bool = False,
    allow: str | Iterable[str] = (),
) -> TraceResult:
    """Score the traces of a pipeline against a gold set, and evaluate gates.

    Parameters
    ----------
    gold, trace : path, or iterable of mappings
        JSON Lines files or their objects.
    k : int
        The cutoff of the recall.
    gates : str or mapping of str to float, optional
        Thresholds of "precision", "chr", "recall" (at least), "under", "over" (at most); if
        omitted, the shipped gates.
    missing : {"answered", "refusal", "skip"}
        How a gold question without a trace counts.
    undefined : {"convention", "null"}
        The value of a figure that no question contributes to: 1 or 0, or NaN.
    refusal_pattern : str, optional
        A regular expression that matches a refusal.
    name : str, optional
        The name of the pipeline; if omitted, the name of the trace file.
    dialect : {"wfgy"}, optional
        The system whose names the evaluation has, that of this scorer; its rules are the defaults
        of `missing`, `undefined` and `refusal_pattern`, and no others are allowed beside it.
    strict : bool
        Whether a doubt, such as gold ids that never meet retrieved ids, is an error; otherwise it
        is the first note.
    allow : str or iterable of str
        The checks whose doubts are ordinary notes.

    Returns
    -------
    TraceResult
        One row per figure: ``figure``, ``value``, ``n`` (the questions that it is about),
        ``ci_low`` and ``ci_high`` (the exact interval of a share at 95 %), ``gate``, ``rule``,
        ``threshold``, ``passed``. Its `diagnosis` names patterns of figures with a usual cause.

    Raises
    ------
    ReaderError
        If a file is not valid; the message names the line and the field.
    DataError
        If a setting makes no sense or contradicts `dialect`, or `strict` is true and there are
        doubts.

    Examples
    --------
    >>> gold = [{"qid": "a", "answerable": True, "gold_claim_substr": ["Paris"]}]
    >>> trace = [{"qid": "a", "answer_json": {"claim": "It is Paris.", "citations": []}}]
    >>> score_traces(gold, trace, gates={"precision": 0.8}).passed
    True
    """
    rules = _trace_dialect(dialect, missing, undefined, refusal_pattern)
    gates = DEFAULT_GATES if gates is None else gates
    scored = score_gold_and_traces(
        gold,
        trace,
        k=k,
        gates=gates,
        missing=missing,
        undefined=undefined,
        refusal_pattern=refusal_pattern,
    )
    pipeline = name or (Path(trace).stem if isinstance(trace, str | Path) else "trace")
    counts = ", ".join(f"{name} {n}" for name, n in scored.counts.items())
    notes = (*(() if rules is None else (rules.note,)), counts, *scored.notes)
    doubts = _doubts_about_traces(scored)
    if len(scored.scores):  # without a question there is no evaluation
        evaluation = build_evaluation(pipeline, scored.scores, scored.details)
        notes = (*notes, *filter(is_doubt, evaluation.notes))
    notes = notes_with_doubts(notes, doubts, strict=strict, allow=allow)
    settings: dict[str, object] = {"k": scored.k, "missing": missing, "undefined": undefined}
    if rules is not None:
        settings[DIALECT] = rules.name
    intervals = {
        figure: mean_interval(values.to_numpy(), bounds=(0.0, 1.0))
        for figure, values in _answers_to(scored).items()
        if len(values)
    }
    return TraceResult(
        f"Traces of {pipeline}: {'passed' if scored.passed else 'failed'}",
        _figure_table(scored, intervals),
        settings,
        notes,
        headline=_HEADLINE,
        scored=scored,
        name=pipeline,
        intervals=intervals,
        thresholds=parse_gates(gates),
    )


def _trace_dialect(
    name: DialectName | None, missing: str, undefined: str, refusal_pattern: str | None
) -> Dialect | None:
    """The dialect of the scorer of traces, with which no other rules go; None for None."""
    rules = dialect_of_name(name)
    if rules is None:
        return None
    if rules.name != WFGY.name:
        raise DataError(
            f'dialect must be "{WFGY.name}" for traces, whose scorer this is; got "{rules.name}", '
            f'whose metrics need records: score(records, ..., dialect="{rules.name}")'
        )
    options = {"missing": (missing, "answered"), "undefined": (undefined, "convention"),
               "refusal_pattern": (refusal_pattern, None)}  # fmt: skip
    for option, (value, rule) in options.items():
        if value != rule:
            usual = 'a claim "not in context"' if rule is None else f'{option}="{rule}"'
            raise DataError(
                f'{option}="{value}" contradicts dialect="{rules.name}", which has {usual}; leave '
                "out one of the two"
            )
    return rules


def _doubts_about_traces(scored: TraceScores) -> list[Doubt]:
    """The doubts about gold citations and retrieved ids."""
    details = scored.details
    with_trace = details[details["has_trace"].astype(bool)]
    queries = [
        QueryIds(str(query_id), tuple(map(str, gold)), tuple(map(str, retrieved)))
        for query_id, gold, retrieved in zip(
            with_trace.index, with_trace["relevant"], with_trace["retrieved"], strict=True
        )
    ]
    return [
        replace(doubt, advice=_ADVICE.get(doubt.check, _ALIKE))
        for doubt in doubts_about_ids(queries)
    ]


def _answers_to(scored: TraceScores) -> dict[str, pd.Series]:
    """The values whose share is each figure, of the questions that it is about."""
    answered = scored.details["outcome"] == "answered"
    columns = {gate.figure: scored.scores[gate.column_at(scored.k)] for gate in GATES.values()}
    columns["chr_all"] = scored.details.loc[answered, "citation_hit"]
    return {figure: column.dropna().astype(np.float64) for figure, column in columns.items()}


def _figure_table(scored: TraceScores, intervals: Mapping[str, Interval]) -> pd.DataFrame:
    rows = []
    for figure, values in _answers_to(scored).items():
        interval = intervals.get(figure)
        low, high = (interval.low, interval.high) if interval else (math.nan, math.nan)
        rows.append((figure, scored.figures[figure], len(values), low, high))
    frame = pd.DataFrame(rows, columns=["figure", "value", "n", "ci_low", "ci_high"])
    return frame.merge(scored.gates.drop(columns=["value", "n"]), on="figure", how="left")
