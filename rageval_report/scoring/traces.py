"""Traces of answers are compared with a gold set, and gates are evaluated on the figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from rageval_report.errors import DataError, GateError, explain_keywords, is_doubt
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.metrics.trace_files import TraceSource
from rageval_report.metrics.trace_gates import DEFAULT_GATES
from rageval_report.metrics.traces import (
    MissingTraces,
    TraceScores,
    UndefinedFigures,
    score_gold_and_traces,
)
from rageval_report.records.id_doubts import doubts_about_ids
from rageval_report.records.id_search import QueryIds
from rageval_report.results import Result
from rageval_report.scores.guard import Doubt, notes_with_doubts
from rageval_report.scoring.evaluations import build_evaluation

_ALIKE = "Write the ids alike in gold_citations and in retrieved_ids"


@dataclass(frozen=True, eq=False, repr=False)
class TraceResult(Result):
    """The figures of the traces of a pipeline, with its gates; one row per figure.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    scored : TraceScores
        All scores, question by question.
    name : str
        The name of the pipeline.
    """

    scored: TraceScores | None = None
    name: str = "trace"

    @property
    def passed(self) -> bool:
        """Whether all gates passed."""
        return self._scored.passed

    @property
    def evaluation(self) -> RAGPipelineEvaluation:
        """The questions as an evaluation, for reports and comparisons."""
        return build_evaluation(self.name, self._scored.scores, self._scored.details, self.notes)

    @property
    def _scored(self) -> TraceScores:
        if self.scored is None:
            raise DataError("this result has no traces; create it with score_traces()")
        return self.scored

    def report(self) -> dict[str, Any]:
        """The report for JSON: figures as numbers, each gate with value, threshold and outcome."""
        return self._scored.report()

    def raise_for_failure(self) -> None:
        """Raise an error if a gate failed.

        Raises
        ------
        GateError
            The message names the failed gates with their values.
        """
        failed = self._scored.gates[~self._scored.gates["passed"]]
        if not self.passed:
            messages = [
                f"{gate}: {value:.4g} is not {rule} {threshold:g}"
                for gate, value, rule, threshold in zip(
                    failed["gate"],
                    failed["value"],
                    failed["rule"],
                    failed["threshold"],
                    strict=True,
                )
            ]
            raise GateError("; ".join(messages) or "there is no question to evaluate a gate on")


@explain_keywords
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
    strict : bool
        Whether a doubt, such as gold ids that never meet retrieved ids, is an error; otherwise it
        is the first note.
    allow : str or iterable of str
        The checks whose doubts are ordinary notes.

    Returns
    -------
    TraceResult
        One row per figure: ``figure``, ``value``, ``gate``, ``rule``, ``threshold``, ``passed``.

    Raises
    ------
    ReaderError
        If a file is not valid; the message names the line and the field.
    DataError
        If a setting makes no sense, or `strict` is true and there are doubts.

    Examples
    --------
    >>> gold = [{"qid": "a", "answerable": True, "gold_claim_substr": ["Paris"]}]
    >>> trace = [{"qid": "a", "answer_json": {"claim": "It is Paris.", "citations": []}}]
    >>> score_traces(gold, trace, gates={"precision": 0.8}).passed
    True
    """
    scored = score_gold_and_traces(
        gold,
        trace,
        k=k,
        gates=DEFAULT_GATES if gates is None else gates,
        missing=missing,
        undefined=undefined,
        refusal_pattern=refusal_pattern,
    )
    pipeline = name or (Path(trace).stem if isinstance(trace, str | Path) else "trace")
    notes = (_count_note(scored), *scored.notes)
    of_scores = filter(is_doubt, build_evaluation(pipeline, scored.scores, scored.details).notes)
    notes = notes_with_doubts(
        (*notes, *of_scores), _doubts_about_traces(scored), strict=strict, allow=allow
    )
    settings = {"k": scored.k, "missing": missing, "undefined": undefined}
    return TraceResult(
        f"Traces of {pipeline}: {'passed' if scored.passed else 'failed'}",
        _figure_table(scored),
        settings,
        notes,
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
    # Traces are compared by equal ids, so the advice on changes of form does not apply.
    return [replace(doubt, advice=_ALIKE) for doubt in doubts_about_ids(queries)]


def _figure_table(scored: TraceScores) -> pd.DataFrame:
    values = pd.DataFrame({"figure": scored.figures.keys(), "value": scored.figures.values()})
    gates = scored.gates.drop(columns="value")
    return values.merge(gates, on="figure", how="left")


def _count_note(scored: TraceScores) -> str:
    return ", ".join(f"{name} {n}" for name, n in scored.counts.items())
