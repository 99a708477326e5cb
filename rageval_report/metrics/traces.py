"""Gold and traces scored for shipping: precision of what was answered, citations, refusals, recall.

The definitions are those of the scorer that WFGY's evaluation page describes; its figures are kept
on every gold set that is sound, and what it passes over in silence is said in notes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rageval_report.errors import DataError, UnknownNameError, named
from rageval_report.metrics.citation import citation_precision, citation_recall, citations_between
from rageval_report.metrics.trace_files import (
    GoldItem,
    Rows,
    TraceItem,
    Traces,
    read_gold,
    read_traces,
)
from rageval_report.metrics.trace_gates import DEFAULT_GATES, GATES, gate_table, parsed_gates
from rageval_report.rankings.checks import check_cutoff

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

REFUSAL = "not in context"

# Shorter substrings are in too many claims to prove anything, so they never match.
_SHORTEST_SUBSTRING = 5
_DECIMALS = 4

Missing = Literal["answered", "refusal", "skip"]
_MISSING: tuple[Missing, ...] = ("answered", "refusal", "skip")
Undefined = Literal["convention", "null"]
_UNDEFINED: tuple[Undefined, ...] = ("convention", "null")


@dataclass(frozen=True, eq=False)
class TraceScores:
    """Gold and traces, scored.

    Parameters
    ----------
    scores : DataFrame
        Index ``query_id``, a row a gold question; NaN where a metric is not about the question.
        ``answered_precision`` (answerable, a substring found, a citation hit; of answered ones),
        ``answered_citation_hit`` (answerable and a citation hit; of answered ones),
        ``hallucinated_answer`` (of questions without an answer), ``false_refusal`` and
        ``full_recall@k`` (all gold among the first k; of answerable ones), and by the citation
        ``citation_precision`` and ``citation_recall``.
    details : DataFrame
        The same index: ``question``, ``answerable``, ``outcome`` ("answered", "refused",
        "skipped"), ``has_trace``, ``contained``, ``citation_hit``, ``answer``, ``relevant``,
        ``retrieved``, ``citations``.
    figures : dict of str to float
        ``precision``, ``chr``, ``under_refusal``, ``over_refusal``, ``recall@k``, unrounded; and
        ``chr_all``, the citation hits of all answers, also to questions without one.
    counts : dict of str to int
        ``answered``, ``refused``, ``answerable``, ``unanswerable``, ``missing``.
    gates : DataFrame
        A row a gate: ``gate``, ``figure``, ``rule`` (">=" or "<="), ``threshold``, ``value``
        (unrounded), ``n`` (the questions behind it), ``passed``.
    passed : bool
        Whether every gate holds; never for a gold set without a question.
    k : int
        The cutoff of the recall.
    missing : tuple of str
        Questions without a trace.
    notes : tuple of str
        What was ignored, or is so by convention.
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
        """The report for JSON: the keys of the reference, numbers as numbers, null where undefined.

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
    gold: Rows,
    trace: Rows,
    *,
    k: int = 5,
    gates: str | Mapping[str, float] | None = DEFAULT_GATES,
    missing: Missing = "answered",
    undefined: Undefined = "convention",
    refusal_pattern: str | None = None,
) -> TraceScores:
    """Score the traces of a pipeline against a gold set.

    Parameters
    ----------
    gold, trace : path, or iterable of mappings
        JSON Lines files or their objects; see `trace_files.read_gold` and `read_traces`.
    k : int
        The cutoff of the recall, from 1 up.
    gates : str or mapping of str to float, optional
        The thresholds of "precision", "chr" and "recall" (at least) and "under" and "over" (at
        most), as a mapping or as ``"precision=0.80,under=0.05"``. What is not named is not gated.
    missing : {"answered", "refusal", "skip"}
        What a gold question without a trace is: an answer without a word, as in the reference, a
        refusal, or left out of every figure.
    undefined : {"convention", "null"}
        What a figure is where no question is of its kind: 1 or 0, as in the reference, or NaN,
        with which no gate passes. In an empty gold set every figure is NaN.
    refusal_pattern : str, optional
        A regular expression, case ignored, that is searched for in the claim; otherwise a claim
        refuses if it is "not in context", upper or lower case.

    Raises
    ------
    ReaderError
        If a file has a fault: its line and field.
    DataError
        If `k`, a gate or the pattern makes no sense.
    UnknownNameError
        If a gate or an option has no such name.

    Notes
    -----
    Precision and chr are over all answered questions, right ones being answerable. An answer to an
    answerable question hits if all it cites was retrieved and some of it is gold; where there is no
    gold to cite, if it cites nothing. Recall asks for all of a question's gold. Gates compare
    unrounded figures.

    Examples
    --------
    >>> gold = [{"qid": "a", "answerable": True, "gold_claim_substr": ["Paris"]}]
    >>> trace = [{"qid": "a", "answer_json": {"claim": "It is Paris.", "citations": []}}]
    >>> scored = score_gold_and_traces(gold, trace, gates={"precision": 0.8})
    >>> scored.figures["precision"], scored.passed
    (1.0, True)
    """
    if missing not in _MISSING:
        raise UnknownNameError("way with missing traces", str(missing), _MISSING)
    if undefined not in _UNDEFINED:
        raise UnknownNameError("way with undefined figures", str(undefined), _UNDEFINED)
    if check_cutoff(k) < 1:
        raise DataError("k must be at least 1: recall@0 is 0 whatever was retrieved")
    thresholds = parsed_gates(gates)
    items, traces = read_gold(gold), read_traces(trace)
    pairs = _Pairs.of(items, traces, missing, _refusal(refusal_pattern))
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
        passed=bool(len(items)) and bool(table["passed"].all()),
        k=int(k),
        missing=lost,
        notes=_notes(items, traces, lost, missing, _conventions(scores, undefined, k)),
    )


# -- questions and traces


def _refusal(pattern: str | None) -> re.Pattern[str]:
    try:
        return re.compile(rf"\A{re.escape(REFUSAL)}\Z" if pattern is None else pattern, re.I)
    except (re.error, TypeError) as exc:
        raise DataError(f"{pattern!r} is no regular expression: {exc}") from exc


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Each gold question beside its trace, an empty one where there is none."""

    gold: list[GoldItem]
    traces: list[TraceItem]
    has_trace: Flags
    answerable: Flags
    answered: Flags
    refused: Flags

    @classmethod
    def of(
        cls,
        items: Mapping[str, GoldItem],
        traces: Traces,
        missing: Missing,
        refusal: re.Pattern[str],
    ) -> _Pairs:
        found = [traces.by_qid.get(qid, TraceItem(qid)) for qid in items]
        has_trace = np.array([qid in traces.by_qid for qid in items], dtype=bool)
        refused = np.array([refusal.search(one.claim) is not None for one in found], dtype=bool)
        refused = np.where(has_trace, refused, missing == "refusal")
        counted = has_trace if missing == "skip" else np.ones_like(has_trace)
        answerable = np.array([item.answerable for item in items.values()], dtype=bool)
        gold = list(items.values())
        return cls(gold, found, has_trace, answerable, counted & ~refused, counted & refused)

    @property
    def counted(self) -> Flags:
        """The questions that are in the figures."""
        return self.answered | self.refused

    @property
    def contained(self) -> Flags:
        """Whether the claim holds one of the substrings; true where there is none to hold."""
        pairs = zip(self.gold, self.traces, strict=True)
        return np.array([_contains(one.claim, item.substrings) for item, one in pairs], dtype=bool)

    @property
    def hit(self) -> Flags:
        """Whether all that is cited was retrieved, and some is gold where there is gold."""
        pairs = zip(self.gold, self.traces, strict=True)
        return np.array([_is_hit(item, one) for item, one in pairs], dtype=bool)

    def found_all(self, k: int) -> Flags:
        """Whether all gold is among the first k."""
        pairs = zip(self.gold, self.traces, strict=True)
        found = [set(item.citations) <= set(one.retrieved[:k]) for item, one in pairs]
        return np.array(found, dtype=bool)


def _contains(claim: str, substrings: tuple[str, ...]) -> bool:
    lowered = claim.lower()
    usable = [one.lower() for one in substrings if len(one.lower()) >= _SHORTEST_SUBSTRING]
    return not substrings or any(one in lowered for one in usable)


def _is_hit(item: GoldItem, one: TraceItem) -> bool:
    cited = set(one.citations)
    if not cited <= set(one.retrieved):
        return False
    return bool(cited & set(item.citations)) if item.citations else not cited


# -- scores and figures


def _scores(pairs: _Pairs, k: int) -> pd.DataFrame:
    """A column a metric, its mean the figure; NaN on questions that it is not about."""
    hit = pairs.answerable & pairs.hit
    solvable = pairs.answerable & pairs.counted
    by_citation = citations_between(
        [list(one.citations) for one in pairs.traces],
        [dict.fromkeys(item.citations, 1.0) for item in pairs.gold],
    )
    columns = {
        "answered_precision": _among(pairs.answered, hit & pairs.contained),
        "answered_citation_hit": _among(pairs.answered, hit),
        "hallucinated_answer": _among(pairs.counted & ~pairs.answerable, pairs.answered),
        "false_refusal": _among(solvable, pairs.refused),
        f"full_recall@{k}": _among(solvable, pairs.found_all(k)),
        "citation_precision": _among(pairs.answered, citation_precision(by_citation)),
        "citation_recall": _among(pairs.answered, citation_recall(by_citation)),
    }
    return pd.DataFrame(columns, index=_index(pairs), dtype=np.float64)


def _among(kind: Flags, values: Flags | Floats) -> Floats:
    return np.where(kind, values.astype(np.float64), np.nan)


def _index(pairs: _Pairs) -> pd.Index:
    return pd.Index([item.qid for item in pairs.gold], name="query_id", dtype=object)


def _figures(scores: pd.DataFrame, pairs: _Pairs, k: int, undefined: Undefined) -> dict[str, float]:
    is_conventional = undefined == "convention" and len(scores) > 0
    figures = {}
    for gate in GATES.values():
        known = scores[gate.column_at(k)].dropna().to_numpy()
        empty = gate.by_convention if is_conventional else math.nan
        # a count over a count, as the reference divides: a mean may differ in the last bit
        figures[gate.figure] = float(known.sum()) / len(known) if len(known) else empty
    hits = pairs.hit[pairs.answered]
    figures["chr_all"] = float(hits.sum()) / len(hits) if len(hits) else math.nan
    return figures


def _counts(pairs: _Pairs, n_lost: int) -> dict[str, int]:
    return {
        "answered": int(pairs.answered.sum()),
        "refused": int(pairs.refused.sum()),
        "answerable": int((pairs.answerable & pairs.counted).sum()),
        "unanswerable": int((~pairs.answerable & pairs.counted).sum()),
        "missing": n_lost,
    }


def _details(pairs: _Pairs) -> pd.DataFrame:
    outcome = np.select([pairs.answered, pairs.refused], ["answered", "refused"], "skipped")
    columns = {
        "question": [item.question for item in pairs.gold],
        "answerable": pairs.answerable,
        "outcome": outcome.astype(object),
        "has_trace": pairs.has_trace,
        "contained": pairs.contained,
        "citation_hit": pairs.hit,
        "answer": [one.claim for one in pairs.traces],
        "relevant": [dict.fromkeys(item.citations, 1.0) for item in pairs.gold],
        "retrieved": [list(one.retrieved) for one in pairs.traces],
        "citations": [list(one.citations) for one in pairs.traces],
    }
    return pd.DataFrame(columns, index=_index(pairs))


# -- notes


def _conventions(scores: pd.DataFrame, undefined: Undefined, k: int) -> list[str]:
    empty = [gate for gate in GATES.values() if not scores[gate.column_at(k)].notna().any()]
    if not len(scores):
        return ["the gold set holds no question: no figure is defined and no gate passes"]
    if undefined == "null":
        return [f"{gate.figure} is not defined: no question is of its kind" for gate in empty]
    return [
        f"{gate.figure} is {gate.by_convention:g} by convention: no question is of its kind"
        for gate in empty
    ]


def _notes(
    items: Mapping[str, GoldItem],
    traces: Traces,
    lost: tuple[str, ...],
    missing: Missing,
    conventions: list[str],
) -> tuple[str, ...]:
    """What was ignored or is so by convention, in sentences."""
    counted_as = {"answered": "as wrong answers", "refusal": "as refusals", "skip": "nowhere"}
    short = [
        qid
        for qid, item in items.items()
        if any(len(one) < _SHORTEST_SUBSTRING for one in item.substrings)
    ]
    unknown = [qid for qid in traces.by_qid if qid not in items]
    told = {
        f"gold questions without a trace, counted {counted_as[missing]}": lost,
        f"gold substrings of under {_SHORTEST_SUBSTRING} characters, which never match": short,
        "traces of questions that are not in the gold set, ignored": unknown,
        "questions with several traces, of which the last holds": traces.repeated,
        "traces without retrieved_ids and answer_json, taken for answers without a word": (
            traces.bare
        ),
    }
    notes = [f"{what}: {len(qids)} ({named(qids)})" for what, qids in told.items() if qids]
    if traces.absent:
        notes.append(f"no trace has {named(traces.absent)}: taken for empty")
    answerable = [item for item in items.values() if item.answerable]
    if answerable and not any(item.substrings for item in answerable):
        notes.append("no answerable question has 'gold_claim_substr': any claim will do")
    if traces.n_without_qid:
        notes.append(f"traces without a qid, ignored: {traces.n_without_qid}")
    return (*notes, *conventions)
