"""Traces of answers compared with a gold set (the scorer of WFGY), and gates on the figures."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from rageval_report.errors import (
    ArgumentKindError,
    DataError,
    ReaderError,
    UnknownNameError,
    check_choice,
    describe_kind,
    named,
)
from rageval_report.files.inputs import FileInput, is_file_input
from rageval_report.files.source import Source, json_objects
from rageval_report.metrics.checks import check_cutoff
from rageval_report.metrics.citation import citation_precision, citation_recall, citations_between

TraceSource = FileInput | Iterable[Mapping[str, Any]]
"""A JSON Lines file, gzipped or not, "-" for standard input; or a list of the objects."""

# The reference scorer takes both names.
_QIDS = ("qid", "q_id")
_RETRIEVED, _ANSWER = "retrieved_ids", "answer_json"
_MOST_CHARACTERS = 60  # of a value in a message


@dataclass(frozen=True)
class GoldItem:
    """The gold of one question."""

    question: str
    answerable: bool
    substrings: tuple[str, ...]
    citations: tuple[str, ...]


@dataclass(frozen=True)
class TraceItem:
    """What the pipeline retrieved and answered for one question."""

    retrieved: tuple[str, ...] = ()
    claim: str = ""
    citations: tuple[str, ...] = ()


@dataclass(frozen=True)
class TraceFile:
    """The traces by question, the number of lines without one, and the questions with several."""

    by_qid: dict[str, TraceItem]
    n_without_qid: int = 0
    repeated: tuple[str, ...] = ()


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_id(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


@dataclass(frozen=True)
class _ObjectLine:
    """One object and its place in the file."""

    content: Mapping[str, Any]
    number: int
    path: str | None

    def error(self, message: str) -> DataError:
        if self.path is not None:
            return ReaderError(message, self.path, self.number)
        return DataError(f"item {self.number}: {message}")

    def take(self, field: str, is_valid: Callable[[object], bool], expected: str) -> Any:
        """The value of a field; None if it is missing or null."""
        value = self.content.get(field)
        if value is not None and not is_valid(value):
            text = repr(value)
            text = text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 3] + "..."
            raise self.error(f"field {field!r} must be {expected}; got {text}")
        return value

    def text(self, field: str) -> str:
        return str(self.take(field, _is_text, "a text") or "")

    def qid(self) -> str | None:
        values = [self.take(field, _is_id, "a text or an integer") for field in _QIDS]
        return next((str(value) for value in values if value not in (None, "")), None)

    def items(
        self, field: str, what: str = "ids", is_valid: Callable[[object], bool] = _is_id
    ) -> tuple[str, ...]:
        """The ids or texts in a list, as texts; none if the field is missing or null."""

        def is_list(value: object) -> bool:
            return isinstance(value, list | tuple) and all(map(is_valid, value))

        return tuple(map(str, self.take(field, is_list, f"a list of {what}") or ()))


def read_gold(source: TraceSource) -> dict[str, GoldItem]:
    """Read a gold set."""
    items: dict[str, GoldItem] = {}
    lines: dict[str, int] = {}
    for line in _lines(source):
        qid, answerable = line.qid(), line.content.get("answerable")
        if qid is None:
            raise line.error("field 'qid' is missing: a gold question needs an id")
        if not isinstance(answerable, bool):
            raise line.error(f"field 'answerable' must be true or false; got {answerable!r:.60}")
        substrings = line.items("gold_claim_substr", "texts", _is_text)
        citations = line.items("gold_citations")
        item = GoldItem(line.text("question"), answerable, substrings, citations)
        if qid in items:
            raise line.error(f"field 'qid' must be unique; {qid!r} is already at {lines[qid]}")
        items[qid], lines[qid] = item, line.number
    return items


def read_traces(source: TraceSource) -> TraceFile:
    """Read the traces of a pipeline; of several traces of a question the last one counts."""
    by_qid: dict[str, TraceItem] = {}
    repeated: dict[str, None] = {}
    first = None
    has_fields = False
    n_without = 0
    for line in _lines(source):
        qid = line.qid()
        if qid is None:
            n_without += 1
            continue
        if qid in by_qid:
            repeated[qid] = None
        content = line.take(_ANSWER, lambda value: isinstance(value, Mapping), "an object")
        answer = _ObjectLine(content or {}, line.number, line.path)
        claim, cited = answer.text("claim").strip(), answer.items("citations")
        by_qid[qid] = TraceItem(line.items(_RETRIEVED), claim, cited)
        first = first or line
        has_fields |= not {_RETRIEVED, _ANSWER}.isdisjoint(line.content)
    # If no trace at all has the fields, they are most likely named otherwise, and every figure
    # would be 0.
    if first is not None and not has_fields:
        raise first.error(
            f"a trace must have {_RETRIEVED!r}, a list of ids, and {_ANSWER!r}, an object with "
            f"'claim' and 'citations'; got the keys {named(first.content, 12)}: rename them"
        )
    return TraceFile(by_qid, n_without, tuple(repeated))


def _lines(source: TraceSource) -> Iterator[_ObjectLine]:
    if is_file_input(source):
        file = Source(source, encoding="utf-8")
        yield from (_ObjectLine(row, number, file.name) for number, row in json_objects(file))
        return
    has_no_items = getattr(source, "ndim", None) == 0  # an array of one value
    if isinstance(source, Mapping) or not isinstance(source, Iterable) or has_no_items:
        raise ArgumentKindError(
            f"expected a path or a list with one mapping per question; got {describe_kind(source)}"
        )
    for number, content in enumerate(source, 1):
        if not isinstance(content, Mapping):
            raise DataError(f"item {number}: expected a mapping; got {type(content).__name__}")
        yield _ObjectLine(content, number, None)


# The defaults of the reference scorer (WFGY, eval_rag_precision_recall.md).
DEFAULT_GATES = "precision=0.80,chr=0.75,under=0.05,over=0.10"


class TraceGate(NamedTuple):
    """A figure that a gate can test."""

    figure: str
    column: str
    at_least: bool
    by_convention: float

    def column_at(self, k: int) -> str:
        """The column, if the cutoff of the recall is `k`."""
        return f"{self.column}@{k}" if self.figure == "recall@k" else self.column


GATES: dict[str, TraceGate] = {
    # The last number is the reference scorer's value if a figure applies to no question.
    "precision": TraceGate("precision", "answered_precision", True, 1.0),
    "chr": TraceGate("chr", "answered_citation_hit", True, 1.0),
    "under": TraceGate("under_refusal", "hallucinated_answer", False, 0.0),
    "over": TraceGate("over_refusal", "false_refusal", False, 0.0),
    "recall": TraceGate("recall@k", "full_recall", True, 0.0),
}
"""The figures by the names of their gates."""

_OTHER_NAMES = {gate.figure: name for name, gate in GATES.items()}


def parse_gates(gates: str | Mapping[str, float] | None) -> dict[str, float]:
    """The thresholds by gate; blanks and the names of the figures are accepted."""
    if isinstance(gates, str):
        parts = (part.partition("=") for part in gates.split(",") if part.strip())
        pairs: list[tuple[str, Any]] = [(name, value) for name, _, value in parts]
    elif gates is None or isinstance(gates, Mapping):
        pairs = [(str(name), value) for name, value in (gates or {}).items()]
    else:
        raise DataError(f'gates must be a text like "precision=0.80" or a mapping; got {gates!r}')
    thresholds: dict[str, float] = {}
    for name, value in pairs:
        key = re.sub(r"@\d+$", "@k", name.strip().lower())
        key = _OTHER_NAMES.get(key, key)
        if key not in GATES:
            raise UnknownNameError("gate", name.strip(), GATES)
        if key in thresholds:
            raise DataError(f"the gate {key!r} appears twice; give it one threshold")
        number = math.nan
        with suppress(TypeError, ValueError):
            number = math.nan if isinstance(value, bool) else float(value)
        if not 0.0 <= number <= 1.0:
            raise DataError(
                f"the threshold of {key!r} must be a number between 0 and 1, such as 0.8; got "
                f"{value!r}"
            )
        thresholds[key] = number
    return thresholds


def gate_table(
    thresholds: Mapping[str, float], figures: Mapping[str, float], scores: pd.DataFrame, k: int
) -> pd.DataFrame:
    """One row per gate: its threshold, the value of the figure, and whether it holds."""
    rows = []
    for name, threshold in thresholds.items():
        gate, value = GATES[name], figures[GATES[name].figure]
        passed = value >= threshold if gate.at_least else value <= threshold  # False for NaN
        rule, n = ">=" if gate.at_least else "<=", int(scores[gate.column_at(k)].notna().sum())
        rows.append((name, gate.figure, rule, threshold, value, n, passed))
    columns = ["gate", "figure", "rule", "threshold", "value", "n", "passed"]
    return pd.DataFrame(rows, columns=columns).astype({"passed": bool})


# The one claim that the reference scorer takes for a refusal.
REFUSAL = "not in context"

# Shorter substrings are in too many claims to prove anything, so they never match.
_SHORTEST_SUBSTRING = 5
# The reference scorer's; gates are tested on the numbers before rounding, as it does.
_DECIMALS = 4

_FLAGS = ("answerable", "has_trace", "contained", "citation_hit")
_DETAILS = (
    *("question", "answerable", "outcome", "has_trace", "contained", "citation_hit"),
    *("answer", "relevant", "retrieved", "citations"),
)

MissingTraces = Literal["answered", "refusal", "skip"]
_MISSING: tuple[MissingTraces, ...] = ("answered", "refusal", "skip")
UndefinedFigures = Literal["convention", "null"]
_UNDEFINED: tuple[UndefinedFigures, ...] = ("convention", "null")


@dataclass(frozen=True, eq=False)
class TraceScores:
    """The scores of traces against a gold set."""

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
        """The report for JSON: the keys of the reference scorer, null for an undefined figure."""
        counts = dict(self.counts)
        n_missing = counts.pop("missing")
        figures = {name: _or_none(round(value, _DECIMALS)) for name, value in self.figures.items()}
        chr_all = figures.pop("chr_all")
        rows = self.gates.set_index("gate")[["value", "threshold", "passed"]].to_dict("index")
        return {
            **counts,
            **figures,
            "k": self.k,
            "gates": {name: row["threshold"] for name, row in rows.items()},
            "pass": self.passed,
            "gate_results": {
                name: {**row, "value": _or_none(row["value"])} for name, row in rows.items()
            },
            "chr_all": chr_all,
            "missing": n_missing,
            "missing_qids": list(self.missing),
            "notes": list(self.notes),
        }


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


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
    """Score the traces of a pipeline against a gold set."""
    check_choice("missing", missing, _MISSING)
    check_choice("undefined", undefined, _UNDEFINED)
    check_cutoff(k, least=1)
    thresholds = parse_gates(gates)
    items, traces = read_gold(gold), read_traces(trace)
    details = _details(items, traces, missing, _refusal(refusal_pattern))
    scores = _scores(details, k)
    figures = _figures(scores, details, k, undefined)
    table = gate_table(thresholds, figures, scores, k)
    lost = tuple(qid for qid in items if qid not in traces.by_qid)
    return TraceScores(
        scores=scores,
        details=details,
        figures=figures,
        counts=_counts(details, len(lost)),
        gates=table,
        # An empty gold set proves nothing; the reference scorer lets it pass.
        passed=bool(len(items)) and bool(table["passed"].all()),
        k=int(k),
        missing=lost,
        notes=(
            *_notes(items, traces, lost, missing),
            *_notes_on_empty(scores, k, undefined),
        ),
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


def _details(
    items: Mapping[str, GoldItem],
    traces: TraceFile,
    missing: MissingTraces,
    refusal: re.Pattern[str],
) -> pd.DataFrame:
    """Each gold question beside its trace, an empty one if it has none."""
    rows = []
    for qid, item in items.items():
        trace = traces.by_qid.get(qid, TraceItem())
        has_trace = qid in traces.by_qid
        outcome = "refused" if refusal.search(trace.claim) else "answered"
        if not has_trace:
            outcome = {"answered": "answered", "refusal": "refused", "skip": "skipped"}[missing]
        rows.append(
            {
                "question": item.question,
                "answerable": item.answerable,
                "outcome": outcome,
                "has_trace": has_trace,
                "contained": _contains(trace.claim, item.substrings),
                "citation_hit": _is_hit(item, trace),
                "answer": trace.claim,
                "relevant": dict.fromkeys(item.citations, 1.0),
                "retrieved": list(trace.retrieved),
                "citations": list(trace.citations),
            }
        )
    index = pd.Index(list(items), name="query_id", dtype=object)
    frame = pd.DataFrame(rows, index=index, columns=list(_DETAILS))
    return frame.astype({"outcome": object, **dict.fromkeys(_FLAGS, bool)})


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


def _scores(details: pd.DataFrame, k: int) -> pd.DataFrame:
    """One column per metric, whose mean is the figure; NaN if it does not apply to a question."""
    answered, counted = details["outcome"] == "answered", details["outcome"] != "skipped"
    answerable, citations = details["answerable"], details["citations"].tolist()
    # Of answerable questions only, as the code of the reference scorer counts; `chr_all` follows
    # its text.
    hit = answerable & details["citation_hit"]
    is_full = [
        set(gold) <= set(ranking[:k])
        for gold, ranking in zip(details["relevant"], details["retrieved"], strict=True)
    ]
    by_citation = citations_between(citations, details["relevant"].tolist())
    columns: dict[str, tuple[pd.Series, Any]] = {
        "answered_precision": (answered, hit & details["contained"]),
        "answered_citation_hit": (answered, hit),
        "hallucinated_answer": (counted & ~answerable, answered),
        "false_refusal": (counted & answerable, details["outcome"] == "refused"),
        f"full_recall@{k}": (counted & answerable, is_full),
        "citation_precision": (answered, citation_precision(by_citation)),
        "citation_recall": (answered, citation_recall(by_citation)),
    }
    scores = {name: np.where(applies, np.asarray(values, np.float64), np.nan)
              for name, (applies, values) in columns.items()}  # fmt: skip
    return pd.DataFrame(scores, index=details.index)


def _figures(
    scores: pd.DataFrame, details: pd.DataFrame, k: int, undefined: UndefinedFigures
) -> dict[str, float]:
    is_conventional = undefined == "convention" and len(scores) > 0
    figures = {}
    for gate in GATES.values():
        values = scores[gate.column_at(k)].dropna().to_numpy()
        empty = gate.by_convention if is_conventional else math.nan
        # A count over a count, as the reference scorer divides: a mean may differ in the last bit.
        figures[gate.figure] = float(values.sum()) / len(values) if len(values) else empty
    hits = details.loc[details["outcome"] == "answered", "citation_hit"]
    figures["chr_all"] = float(hits.sum()) / len(hits) if len(hits) else math.nan
    return figures


def _counts(details: pd.DataFrame, n_lost: int) -> dict[str, int]:
    counted = details[details["outcome"] != "skipped"]
    return {
        "answered": int((counted["outcome"] == "answered").sum()),
        "refused": int((counted["outcome"] == "refused").sum()),
        "answerable": int(counted["answerable"].sum()),
        "unanswerable": int((~counted["answerable"]).sum()),
        "missing": n_lost,
    }


# -- notes


def _notes(
    items: Mapping[str, GoldItem],
    traces: TraceFile,
    lost: tuple[str, ...],
    missing: MissingTraces,
) -> tuple[str, ...]:
    """What was ignored, in sentences."""
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
    }
    notes = [f"{what}: {len(qids)} ({named(qids)})" for what, qids in qids_by_note.items() if qids]
    if traces.n_without_qid:
        notes.append(f"traces without a qid, ignored: {traces.n_without_qid}")
    return tuple(notes)


def _notes_on_empty(scores: pd.DataFrame, k: int, undefined: UndefinedFigures) -> list[str]:
    if not len(scores):
        return ["the gold set has no question: no figure is defined and no gate passes"]
    empty = [gate for gate in GATES.values() if not scores[gate.column_at(k)].notna().any()]
    return [
        f"{gate.figure} applies to no question"
        + (f"; it is {gate.by_convention:g} by convention" if undefined == "convention" else "")
        for gate in empty
    ]
