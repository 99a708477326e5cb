"""Gold and traces: answers held against a gold set, and the gates that they must pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from rageval_report.errors import DataError, GateError
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.metrics.trace_gates import DEFAULT_GATES
from rageval_report.metrics.traces import Missing, TraceScores, Undefined, score_gold_and_traces
from rageval_report.results import Result
from rageval_report.scoring.records import evaluation_of

Rows = str | Path | Iterable[Mapping[str, Any]]


@dataclass(frozen=True, eq=False, repr=False)
class TraceResult(Result):
    """The figures of a pipeline's traces and its gates; one row a figure.

    Parameters
    ----------
    title, frame, settings, notes, headline, grouped_by
        As in `Result`.
    scored : TraceScores
        Everything that was found, question by question.
    name : str
        The pipeline's name.
    """

    scored: TraceScores | None = None
    name: str = "trace"

    @property
    def passed(self) -> bool:
        """Whether every gate holds."""
        return self._scored.passed

    @property
    def evaluation(self) -> RAGPipelineEvaluation:
        """The questions as an evaluation: to be reported, drilled into, compared with another."""
        return evaluation_of(self.name, self._scored.scores, self._scored.details, self.notes)

    @property
    def _scored(self) -> TraceScores:
        if self.scored is None:
            raise DataError("this result holds no traces; make one with score_traces")
        return self.scored

    def report(self) -> dict[str, Any]:
        """The report for JSON, numbers as numbers, each gate with value, threshold and outcome."""
        return self._scored.report()

    def raise_for_failure(self) -> None:
        """Raise where a gate does not hold.

        Raises
        ------
        GateError
            It names the gates with their values.
        """
        failed = self._scored.gates[~self._scored.gates["passed"]]
        if not self.passed:
            told = [
                f"{gate}: {value:.4g} is not {rule} {threshold:g}"
                for gate, value, rule, threshold in zip(
                    failed["gate"],
                    failed["value"],
                    failed["rule"],
                    failed["threshold"],
                    strict=True,
                )
            ]
            raise GateError("; ".join(told) or "there is no question to hold a gate against")


def score_traces(
    gold: Rows,
    trace: Rows,
    k: int = 5,
    gates: str | Mapping[str, float] | None = None,
    *,
    missing: Missing = "answered",
    undefined: Undefined = "convention",
    refusal_pattern: str | None = None,
    name: str | None = None,
) -> TraceResult:
    """Score a pipeline's traces against a gold set, and hold its gates.

    Parameters
    ----------
    gold, trace : path, or iterable of mappings
        JSON Lines files or their objects.
    k : int
        The cutoff of the recall.
    gates : str or mapping of str to float, optional
        Thresholds of "precision", "chr", "recall" (at least), "under", "over" (at most); the
        shipped gates where not given.
    missing : {"answered", "refusal", "skip"}
        What a gold question without a trace is.
    undefined : {"convention", "null"}
        What a figure is where no question is of its kind: 1 or 0, or NaN.
    refusal_pattern : str, optional
        A regular expression that tells a refusal.
    name : str, optional
        The pipeline's name; the trace file's where not given.

    Returns
    -------
    TraceResult
        One row a figure: ``figure``, ``value``, ``gate``, ``rule``, ``threshold``, ``passed``.

    Raises
    ------
    ReaderError
        If a file has a fault: its line and field.
    DataError
        If a setting makes no sense.

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
    told = name or (Path(trace).stem if isinstance(trace, str | Path) else "trace")
    settings = {"k": scored.k, "missing": missing, "undefined": undefined}
    return TraceResult(
        f"Traces of {told}: {'passed' if scored.passed else 'failed'}",
        _figures(scored),
        settings,
        (_counted(scored), *scored.notes),
        scored=scored,
        name=told,
    )


def _figures(scored: TraceScores) -> pd.DataFrame:
    values = pd.DataFrame({"figure": scored.figures.keys(), "value": scored.figures.values()})
    gates = scored.gates.drop(columns="value")
    return values.merge(gates, on="figure", how="left")


def _counted(scored: TraceScores) -> str:
    return ", ".join(f"{name} {n}" for name, n in scored.counts.items())
