"""Scores of traces against a gold set: precision of the answers, citations, refusals, recall.

The definitions are those of the scorer that WFGY's evaluation page describes: the figures are equal
for every valid gold set, and notes report what that scorer ignores silently.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, check_choice, named
from rageval_report.metrics.citation import citation_precision, citation_recall, citations_between
from rageval_report.metrics.trace_files import (
    GoldItem,
    TraceFile,
    TraceItem,
    TraceSource,
    read_gold,
    read_traces,
)
from rageval_report.metrics.trace_gates import DEFAULT_GATES, GATES, gate_table, parse_gates
from rageval_report.rankings.checks import check_cutoff
from rageval_report.types import BoolArray, FloatArray

# The one claim that the reference scorer takes for a refusal.
REFUSAL = "not in context"

# Shorter substrings are in too many claims to prove anything, so they never match.
_SHORTEST_SUBSTRING = 5
# The reference scorer's; gates are tested on the numbers before rounding, as it does.
_DECIMALS = 4

MissingTraces = Literal["answered", "refusal", "skip"]
_MISSING: tuple[MissingTraces, ...] = ("answered", "refusal", "skip")
UndefinedFigures = Literal["convention", "null"]
_UNDEFINED: tuple[UndefinedFigures, ...] = ("convention", "null")


@dataclass(frozen=True, eq=False)
class TraceScores:
    """The scores of traces against a gold set.

    Parameters
    ----------
    scores : DataFrame
        Index ``query_id``, one row per gold question; NaN if a metric does not apply to it.
        ``answered_precision`` (answerable, a substring contained, a citation hit; of the answered
        questions), ``answered_citation_hit`` (answerable and a citation hit; of the answered ones),
        ``hallucinated_answer`` (of the questions without an answer), ``false_refusal`` and
        ``full_recall@k`` (all gold among the first k; of the answerable ones),
        ``citation_precision`` and ``citation_recall``.
    details : DataFrame
        The same index: ``question``, ``answerable``, ``outcome`` ("answered", "refused",
        "skipped"), ``has_trace``, ``contained``, ``citation_hit``, ``answer``, ``relevant``,
        ``retrieved``, ``citations``.
    figures : dict of str to float
        ``precision``, ``chr``, ``under_refusal``, ``over_refusal``, ``recall@k``, unrounded; and
        ``chr_all``, the citation hits of all answers, including questions without an answer.
    counts : dict of str to int
        ``answered``, ``refused``, ``answerable``, ``unanswerable``, ``missing``.
    gates : DataFrame
        One row per gate: ``gate``, ``figure``, ``rule`` (">=" or "<="), ``threshold``, ``value``
        (unrounded), ``n`` (the number of questions), ``passed``.
    passed : bool
        Whether every gate holds; false if the gold set has no question.
    k : int
        The cutoff of the recall.
    missing : tuple of str
        Questions without a trace.
    notes : tuple of str
        What was ignored, or has a value by convention.
    """

    scores: pd.DataFrame
    details: pd.DataFrame
    figures: dict[str, float]
    counts: dict[str, int]
    gates: pd.DataFrame
    passed: bool
    k: int
    missing: tuple[str, ...]
    notes: tuple[str, ...]

    def report(self) -> dict[str, Any]:
        """The report for JSON: the keys of the reference scorer, null for an undefined figure.

        ``gate_results`` holds value, threshold and outcome of each gate, unrounded; figures are
        rounded to four places.
        """
        counts = {name: n for name, n in self.counts.items() if name != "missing"}
        figures = {gate.figure: self.figures[gate.figure] for gate in GATES.values()}
        rows = self.gates.to_dict("records")
        return {
            **counts,
            **{name: _or_none(value, _DECIMALS) for name, value in figures.items()},
            "k": self.k,
            "gates": {row["gate"]: row["threshold"] for row in rows},
            "pass": self.passed,
            "gate_results": {row["gate"]: _gate_result(row) for row in rows},
            "chr_all": _or_none(self.figures["chr_all"], _DECIMALS),
            "missing": self.counts["missing"],
            "missing_qids": list(self.missing),
            "notes": list(self.notes),
        }


def _or_none(value: float, decimals: int | None = None) -> float | None:
    if math.isnan(value):
        return None
    return value if decimals is None else round(value, decimals)


def _gate_result(row: Mapping[Any, Any]) -> dict[str, Any]:
    value = _or_none(float(row["value"]))
    return {"value": value, "threshold": row["threshold"], "passed": bool(row["passed"])}


def score_gold_and_traces(
    gold: TraceSource,
    trace: TraceSource,
    *,
    k: int = 5,
    gates: str | Mapping[str, float] | None = DEFAULT_GATES,
    missing: MissingTraces = "answered",
    undefined: UndefinedFigures = "convention",
    refusal_pattern: str | None = None,
) -> TraceScores:
    """Score the traces of a pipeline against a gold set.

    Parameters
    ----------
    gold, trace : path, or iterable of mappings
        JSON Lines files or their objects; see `trace_files.read_gold` and `read_traces`.
    k : int
        The cutoff of the recall, an integer >= 1.
    gates : str or mapping of str to float, optional
        The thresholds of "precision", "chr" and "recall" (at least) and "under" and "over" (at
        most), as a mapping or as ``"precision=0.80,under=0.05"``. Other figures are not tested.
    missing : {"answered", "refusal", "skip"}
        How a gold question without a trace counts: as an empty answer, as in the reference scorer;
        as a refusal; or in no figure.
    undefined : {"convention", "null"}
        The value of a figure that applies to no question: 1 or 0, as in the reference scorer, or
        NaN, with which no gate passes. Every figure of an empty gold set is NaN.
    refusal_pattern : str, optional
        A regular expression that is searched for in the claim, without case; if omitted, a claim is
        a refusal if it is "not in context", in upper or lower case.

    Raises
    ------
    ReaderError
        If a file cannot be read: its line and field.
    DataError
        If `k`, a gate or the pattern is not valid.
    UnknownNameError
        If a gate is not known, or `missing` or `undefined` has another value.

    Notes
    -----
    Precision and chr are over all answered questions; only answerable ones can be right. An answer
    to an answerable question is a hit if everything it cites was retrieved and some of it is gold;
    if there is no gold to cite, it is a hit if it cites nothing. Recall needs all gold of a
    question. Gates compare unrounded figures.

    Examples
    --------
    >>> gold = [{"qid": "a", "answerable": True, "gold_claim_substr": ["Paris"]}]
    >>> trace = [{"qid": "a", "answer_json": {"claim": "It is Paris.", "citations": []}}]
    >>> scored = score_gold_and_traces(gold, trace, gates={"precision": 0.8})
    >>> scored.figures["precision"], scored.passed
    (1.0, True)
    """
    check_choice("missing", missing, _MISSING)
    check_choice("undefined", undefined, _UNDEFINED)
    check_cutoff(k, least=1)
    thresholds = parse_gates(gates)
    items, traces = read_gold(gold), read_traces(trace)
    pairs = _GoldTraces.of(items, traces, missing, _refusal(refusal_pattern))
    scores = _scores(pairs, k)
    figures = _figures(scores, pairs, k, undefined)
    table = gate_table(thresholds, figures, scores, k)
    lost = tuple(qid for qid in items if qid not in traces.by_qid)
    return TraceScores(
        scores=scores,
        details=_details(pairs),
        figures=figures,
        counts=_counts(pairs, len(lost)),
        gates=table,
        # An empty gold set proves nothing; the reference scorer lets it pass.
        passed=bool(len(items)) and bool(table["passed"].all()),
        k=int(k),
        missing=lost,
        notes=_notes(items, traces, lost, missing, _conventions(scores, undefined, k)),
    )


# -- questions and traces


def _refusal(pattern: str | None) -> re.Pattern[str]:
    try:
        # The whole claim, as in the reference scorer: "not in context." with a full stop is an
        # answer.
        return re.compile(rf"\A{re.escape(REFUSAL)}\Z" if pattern is None else pattern, re.I)
    except (re.error, TypeError) as exc:
        raise DataError(
            f"refusal_pattern must be a regular expression; got {pattern!r}: {exc}"
        ) from exc


@dataclass(frozen=True, eq=False)
class _GoldTraces:
    """Each gold question beside its trace, an empty one if it has none."""

    gold: list[GoldItem]
    traces: list[TraceItem]
    has_trace: BoolArray
    answerable: BoolArray
    answered: BoolArray
    refused: BoolArray

    @classmethod
    def of(
        cls,
        items: Mapping[str, GoldItem],
        traces: TraceFile,
        missing: MissingTraces,
        refusal: re.Pattern[str],
    ) -> _GoldTraces:
        items_of_traces = [traces.by_qid.get(qid, TraceItem(qid)) for qid in items]
        has_trace = np.array([qid in traces.by_qid for qid in items], dtype=bool)
        is_refusal = [refusal.search(trace.claim) is not None for trace in items_of_traces]
        refused = np.where(has_trace, np.array(is_refusal, dtype=bool), missing == "refusal")
        is_counted = has_trace if missing == "skip" else np.ones_like(has_trace)
        answerable = np.array([item.answerable for item in items.values()], dtype=bool)
        gold = list(items.values())
        answered, refused = is_counted & ~refused, is_counted & refused
        return cls(gold, items_of_traces, has_trace, answerable, answered, refused)

    @property
    def is_counted(self) -> BoolArray:
        """The questions that count in the figures."""
        return self.answered | self.refused

    @property
    def has_substring(self) -> BoolArray:
        """Whether the claim contains one of the substrings; true if there are none."""
        pairs = zip(self.gold, self.traces, strict=True)
        contains = [_contains(trace.claim, item.substrings) for item, trace in pairs]
        return np.array(contains, dtype=bool)

    @property
    def hit(self) -> BoolArray:
        """Whether all that is cited was retrieved, and some of it is gold if there is gold."""
        pairs = zip(self.gold, self.traces, strict=True)
        return np.array([_is_hit(item, trace) for item, trace in pairs], dtype=bool)

    def has_full_recall(self, k: int) -> BoolArray:
        """Whether all gold is among the first k."""
        pairs = zip(self.gold, self.traces, strict=True)
        is_full = [set(item.citations) <= set(trace.retrieved[:k]) for item, trace in pairs]
        return np.array(is_full, dtype=bool)


def _contains(claim: str, substrings: tuple[str, ...]) -> bool:
    lowered = claim.lower()
    usable = [text.lower() for text in substrings if len(text.lower()) >= _SHORTEST_SUBSTRING]
    return not substrings or any(text in lowered for text in usable)


def _is_hit(item: GoldItem, trace: TraceItem) -> bool:
    cited = set(trace.citations)
    if not cited <= set(trace.retrieved):
        return False
    return bool(cited & set(item.citations)) if item.citations else not cited


# -- scores and figures


def _scores(pairs: _GoldTraces, k: int) -> pd.DataFrame:
    """One column per metric, whose mean is the figure; NaN if it does not apply to a question."""
    # Of answerable questions only, as the code of the reference scorer counts; `chr_all` follows
    # its text.
    hit = pairs.answerable & pairs.hit
    answerable = pairs.answerable & pairs.is_counted
    by_citation = citations_between(
        [list(trace.citations) for trace in pairs.traces],
        [dict.fromkeys(item.citations, 1.0) for item in pairs.gold],
    )
    columns = {
        "answered_precision": _among(pairs.answered, hit & pairs.has_substring),
        "answered_citation_hit": _among(pairs.answered, hit),
        "hallucinated_answer": _among(pairs.is_counted & ~pairs.answerable, pairs.answered),
        "false_refusal": _among(answerable, pairs.refused),
        f"full_recall@{k}": _among(answerable, pairs.has_full_recall(k)),
        "citation_precision": _among(pairs.answered, citation_precision(by_citation)),
        "citation_recall": _among(pairs.answered, citation_recall(by_citation)),
    }
    return pd.DataFrame(columns, index=_index(pairs), dtype=np.float64)


def _among(applies: BoolArray, values: BoolArray | FloatArray) -> FloatArray:
    return np.where(applies, values.astype(np.float64), np.nan)


def _index(pairs: _GoldTraces) -> pd.Index:
    return pd.Index([item.qid for item in pairs.gold], name="query_id", dtype=object)


def _figures(
    scores: pd.DataFrame, pairs: _GoldTraces, k: int, undefined: UndefinedFigures
) -> dict[str, float]:
    is_conventional = undefined == "convention" and len(scores) > 0
    figures = {}
    for gate in GATES.values():
        values = scores[gate.column_at(k)].dropna().to_numpy()
        empty = gate.by_convention if is_conventional else math.nan
        # A count over a count, as the reference scorer divides: a mean may differ in the last bit.
        figures[gate.figure] = float(values.sum()) / len(values) if len(values) else empty
    hits = pairs.hit[pairs.answered]
    figures["chr_all"] = float(hits.sum()) / len(hits) if len(hits) else math.nan
    return figures


def _counts(pairs: _GoldTraces, n_lost: int) -> dict[str, int]:
    return {
        "answered": int(pairs.answered.sum()),
        "refused": int(pairs.refused.sum()),
        "answerable": int((pairs.answerable & pairs.is_counted).sum()),
        "unanswerable": int((~pairs.answerable & pairs.is_counted).sum()),
        "missing": n_lost,
    }


def _details(pairs: _GoldTraces) -> pd.DataFrame:
    outcome = np.select([pairs.answered, pairs.refused], ["answered", "refused"], "skipped")
    columns = {
        "question": [item.question for item in pairs.gold],
        "answerable": pairs.answerable,
        "outcome": outcome.astype(object),
        "has_trace": pairs.has_trace,
        "contained": pairs.has_substring,
        "citation_hit": pairs.hit,
        "answer": [trace.claim for trace in pairs.traces],
        "relevant": [dict.fromkeys(item.citations, 1.0) for item in pairs.gold],
        "retrieved": [list(trace.retrieved) for trace in pairs.traces],
        "citations": [list(trace.citations) for trace in pairs.traces],
    }
    return pd.DataFrame(columns, index=_index(pairs))


# -- notes


def _conventions(scores: pd.DataFrame, undefined: UndefinedFigures, k: int) -> list[str]:
    empty = [gate for gate in GATES.values() if not scores[gate.column_at(k)].notna().any()]
    if not len(scores):
        return ["the gold set has no question: no figure is defined and no gate passes"]
    if undefined == "null":
        return [f"{gate.figure} is not defined: it applies to no question" for gate in empty]
    return [
        f"{gate.figure} is {gate.by_convention:g} by convention: it applies to no question"
        for gate in empty
    ]


def _notes(
    items: Mapping[str, GoldItem],
    traces: TraceFile,
    lost: tuple[str, ...],
    missing: MissingTraces,
    conventions: list[str],
) -> tuple[str, ...]:
    """What was ignored or has a value by convention, in sentences."""
    counted_as = {"answered": "as wrong answers", "refusal": "as refusals", "skip": "nowhere"}
    short = [
        qid
        for qid, item in items.items()
        if any(len(text) < _SHORTEST_SUBSTRING for text in item.substrings)
    ]
    unknown = [qid for qid in traces.by_qid if qid not in items]
    qids_by_note = {
        f"gold questions without a trace, counted {counted_as[missing]}": lost,
        f"gold substrings shorter than {_SHORTEST_SUBSTRING} characters, which never match": short,
        "traces of questions that are not in the gold set, ignored": unknown,
        "questions with several traces, of which the last counts": traces.repeated,
        "traces without retrieved_ids and answer_json, counted as empty answers": (traces.bare),
    }
    notes = [f"{what}: {len(qids)} ({named(qids)})" for what, qids in qids_by_note.items() if qids]
    if traces.absent:
        notes.append(f"no trace has {named(traces.absent)}: treated as empty")
    answerable = [item for item in items.values() if item.answerable]
    if answerable and not any(item.substrings for item in answerable):
        notes.append("no answerable question has 'gold_claim_substr': any claim counts as right")
    if traces.n_without_qid:
        notes.append(f"traces without a qid, ignored: {traces.n_without_qid}")
    return (*notes, *conventions)
