"""Traces of answers compared with a gold set (the scorer of WFGY), and gates on the figures."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

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
_FIELDS = (_RETRIEVED, f"{_ANSWER}.claim", f"{_ANSWER}.citations")
_MOST_CHARACTERS = 60  # of a value in a message


@dataclass(frozen=True)
class GoldItem:
    """The gold of one question."""

    qid: str
    question: str
    answerable: bool
    substrings: tuple[str, ...]
    citations: tuple[str, ...]


@dataclass(frozen=True)
class TraceItem:
    """What the pipeline retrieved and answered for one question."""

    qid: str
    retrieved: tuple[str, ...] = ()
    claim: str = ""
    citations: tuple[str, ...] = ()


@dataclass(frozen=True)
class TraceFile:
    """The traces by question, and what was wrong with some lines."""

    by_qid: dict[str, TraceItem]
    n_without_qid: int = 0
    repeated: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


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

    def type_error(self, field: str, expected: str, value: object) -> DataError:
        text = repr(value)
        text = text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 3] + "..."
        return self.error(f"field {field!r} must be {expected}; got {text}")

    def take(self, field: str, kind: type | tuple[type, ...], expected: str, empty: Any) -> Any:
        """The value of a field; the empty one if the field is missing or null."""
        value = self.content.get(field)
        if value is not None and not isinstance(value, kind):
            raise self.type_error(field, expected, value)
        return value or empty

    def text(self, field: str) -> str:
        return str(self.take(field, str, "a text", ""))

    def qid(self) -> str | None:
        values = {field: self.content.get(field) for field in _QIDS}
        for field, value in values.items():
            if value is not None and not _is_id(value):
                raise self.type_error(field, "a text or an integer", value)
        return next((str(value) for value in values.values() if value not in (None, "")), None)

    def items(
        self, field: str, what: str = "ids", is_valid: Callable[[object], bool] = _is_id
    ) -> tuple[str, ...]:
        """The ids or texts in a list, as texts; none if the field is missing or null."""
        items = self.take(field, (list, tuple), f"a list of {what}", ())
        for place, item in enumerate(items):
            if not is_valid(item):
                raise self.type_error(f"{field}[{place}]", f"one of the {what} of a list", item)
        return tuple(map(str, items))


def read_gold(source: TraceSource) -> dict[str, GoldItem]:
    """Read a gold set."""
    items: dict[str, GoldItem] = {}
    lines: dict[str, int] = {}
    for line in _lines(source):
        item = _gold_item(line)
        if item.qid in items:
            raise line.error(
                f"field 'qid' must be unique; {item.qid!r} is already at {lines[item.qid]}"
            )
        items[item.qid], lines[item.qid] = item, line.number
    return items


def _gold_item(line: _ObjectLine) -> GoldItem:
    qid = line.qid()
    if qid is None:
        raise line.error("field 'qid' is missing: a gold question needs an id")
    answerable = line.content.get("answerable")
    if not isinstance(answerable, bool):
        raise line.type_error("answerable", "true or false", answerable)
    substrings = line.items("gold_claim_substr", "texts", lambda item: isinstance(item, str))
    return GoldItem(
        qid, line.text("question"), answerable, substrings, line.items("gold_citations")
    )


def read_traces(source: TraceSource) -> TraceFile:
    """Read the traces of a pipeline; of several traces of a question the last one counts."""
    by_qid: dict[str, TraceItem] = {}
    repeated: dict[str, None] = {}
    bare: dict[str, _ObjectLine] = {}
    present: set[str] = set()
    n_without = 0
    for line in _lines(source):
        qid = line.qid()
        if qid is None:
            n_without += 1
            continue
        if qid in by_qid:
            repeated[qid] = None
        answer = _ObjectLine(line.take(_ANSWER, Mapping, "an object", {}), line.number, line.path)
        claim, cited = answer.text("claim").strip(), answer.items("citations")
        by_qid[qid] = TraceItem(qid, line.items(_RETRIEVED), claim, cited)
        present |= {*line.content, *(f"{_ANSWER}.{name}" for name in answer.content)}
        # The last trace of a question counts, so an earlier bare one is forgiven.
        bare.pop(qid, None)
        if not {_RETRIEVED, _ANSWER} & line.content.keys():
            bare[qid] = line
    # If no trace at all has the fields, they are most likely named otherwise, and every figure
    # would be 0.
    if by_qid and len(bare) == len(by_qid):
        line = next(iter(bare.values()))
        raise line.error(
            f"a trace must have {_RETRIEVED!r}, a list of ids, and {_ANSWER!r}, an object with "
            f"'claim' and 'citations'; got the keys {named(line.content, 12)}: rename them"
        )
    absent = tuple(field for field in _FIELDS if field not in present) if by_qid else ()
    return TraceFile(by_qid, n_without, tuple(repeated), tuple(bare), absent)


# -- lines


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


@dataclass(frozen=True)
class TraceGate:
    """A figure that a gate can test."""

    figure: str
    column: str
    at_least: bool
    by_convention: float

    @property
    def rule(self) -> str:
        """How the figure is compared with the threshold."""
        return ">=" if self.at_least else "<="

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
    pairs: Iterable[tuple[str, Any]] = ()
    if isinstance(gates, str):
        parts = (part.partition("=") for part in gates.split(",") if part.strip())
        pairs = ((name, value) for name, _, value in parts)
    elif isinstance(gates, Mapping):
        pairs = ((str(name), value) for name, value in gates.items())
    elif gates is not None:
        raise DataError(f'gates must be a text like "precision=0.80" or a mapping; got {gates!r}')
    thresholds: dict[str, float] = {}
    for name, value in pairs:
        key = re.sub(r"@\d+$", "@k", name.strip().lower())
        key = _OTHER_NAMES.get(key, key)
        if key not in GATES:
            raise UnknownNameError("gate", name.strip(), GATES)
        if key in thresholds:
            raise DataError(f"the gate {key!r} appears twice; give it one threshold")
        thresholds[key] = _threshold(key, value)
    return thresholds


def _threshold(name: str, value: Any) -> float:
    with suppress(TypeError, ValueError):
        if not isinstance(value, bool) and 0.0 <= float(value) <= 1.0:
            return float(value)
    raise DataError(
        f"the threshold of {name!r} must be a number between 0 and 1, such as 0.8; got {value!r}"
    )


def gate_table(
    thresholds: Mapping[str, float], figures: Mapping[str, float], scores: pd.DataFrame, k: int
) -> pd.DataFrame:
    """One row per gate: its threshold, the value of the figure, and whether it holds."""
    rows = []
    for name, threshold in thresholds.items():
        gate, value = GATES[name], figures[GATES[name].figure]
        passed = value >= threshold if gate.at_least else value <= threshold  # False for NaN
        n = int(scores[gate.column_at(k)].notna().sum())
        rows.append((name, gate.figure, gate.rule, threshold, value, n, passed))
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


def _details(
    items: Mapping[str, GoldItem],
    traces: TraceFile,
    missing: MissingTraces,
    refusal: re.Pattern[str],
) -> pd.DataFrame:
    """Each gold question beside its trace, an empty one if it has none."""
    rows = []
    for qid, item in items.items():
        trace = traces.by_qid.get(qid, TraceItem(qid))
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
