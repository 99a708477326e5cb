"""Traces are scored against a gold set, and gates are evaluated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, GateError, is_doubt
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
    score_gold_and_traces,
)
from rageval_report.records.id_search import QueryIds, doubts_about_ids
from rageval_report.results import Result
from rageval_report.scores.catalogue.dialects import (
    DIALECT,
    WFGY,
    DialectName,
    dialect_of_name,
)
from rageval_report.scores.guard import Doubt, notes_with_doubts
from rageval_report.stats.means import mean_interval

_HEADLINE = ("figure", "value", "ci_low", "ci_high", "n", "gate", "rule", "threshold", "passed")
# Traces are compared by equal ids, so advice on changes of their form does not apply.
_ALIKE = "Write the ids alike in gold_citations and in retrieved_ids"


@dataclass(frozen=True, eq=False, repr=False)
class TraceResult(Result):
    """The figures of the traces of a pipeline, with its gates; one row per figure."""

    scored: TraceScores | None = None
    name: str = "trace"

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
    def _scored(self) -> TraceScores:
        if self.scored is None:
            raise DataError("this result has no traces; create it with score_traces()")
        return self.scored

    def report(self) -> dict[str, Any]:
        """The report for JSON: the figures with intervals, the outcomes of gates."""
        columns = self.frame.set_index("figure")[["n", "ci_low", "ci_high"]].astype({"n": object})
        intervals = {name: row for name, row in columns.to_dict("index").items() if row["n"]}
        return {**self._scored.report(), "intervals": intervals}

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
        ``threshold``, ``passed``.

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
    rules = dialect_of_name(dialect)
    are_usual = (missing, undefined, refusal_pattern) == ("answered", "convention", None)
    if rules is not None and (rules.name != WFGY.name or not are_usual):
        raise DataError(
            f'dialect must be "{WFGY.name}" for traces, whose scorer this is, with its own '
            f'missing, undefined and refusals; got "{rules.name}". Other dialects need records'
        )
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
    return TraceResult(
        f"Traces of {pipeline}: {'passed' if scored.passed else 'failed'}",
        _figure_table(scored),
        settings,
        notes,
        headline=_HEADLINE,
        scored=scored,
        name=pipeline,
    )


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
        replace(doubt, advice=_ALIKE)
        for doubt in doubts_about_ids(queries)
        if doubt.check.startswith("ids_")
    ]


def _figure_table(scored: TraceScores) -> pd.DataFrame:
    """The figures with the exact intervals of their shares."""
    answered = scored.details["outcome"] == "answered"
    columns = {gate.figure: scored.scores[gate.column_at(scored.k)] for gate in GATES.values()}
    columns["chr_all"] = scored.details.loc[answered, "citation_hit"]
    rows = []
    for figure, column in columns.items():
        values = column.dropna().to_numpy(np.float64)
        low = high = math.nan
        if len(values):
            interval = mean_interval(values, bounds=(0.0, 1.0))
            low, high = interval.low, interval.high
        rows.append((figure, scored.figures[figure], len(values), low, high))
    frame = pd.DataFrame(rows, columns=["figure", "value", "n", "ci_low", "ci_high"])
    return frame.merge(scored.gates.drop(columns=["value", "n"]), on="figure", how="left")
