"""Patterns in the figures of traces: the usual cause, what to look at, and which questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import pandas as pd

from rageval_report.errors import named
from rageval_report.metrics.trace_gates import DEFAULT_GATES, GATES, TraceGate, parse_gates
from rageval_report.metrics.traces import TraceScores
from rageval_report.results import Result
from rageval_report.stats.base import Interval
from rageval_report.types import BoolArray

# The reference scorer has no gate on recall; without the gold no answer can be right, so the
# threshold is that of precision.
_THRESHOLDS = {**parse_gates(DEFAULT_GATES), "recall": 0.8}

_COLUMNS = ("pattern", "because", "certainty", "n", "query_ids", "means", "look_at")


@dataclass(frozen=True, eq=False)
class _Questions:
    """What happened to each question, as masks."""

    answerable: BoolArray
    answered: BoolArray
    refused: BoolArray
    has_gold: BoolArray
    cited: BoolArray
    contained: BoolArray

    @classmethod
    def of(cls, scored: TraceScores) -> _Questions:
        details = scored.details
        recall = scored.scores[GATES["recall"].column_at(scored.k)]
        return cls(
            details["answerable"].to_numpy(dtype=bool),
            details["outcome"].eq("answered").to_numpy(dtype=bool),
            details["outcome"].eq("refused").to_numpy(dtype=bool),
            recall.eq(1.0).to_numpy(dtype=bool),
            details["citation_hit"].to_numpy(dtype=bool),
            details["contained"].to_numpy(dtype=bool),
        )


@dataclass(frozen=True)
class TracePattern:
    """A combination of figures that has a usual cause.

    Parameters
    ----------
    failed : tuple of str
        The gates whose figures are on the wrong side of their thresholds.
    passed : tuple of str
        The gates whose figures are on the right status.
    concerns : callable
        From the questions to a mask of those that show the pattern.
    means : str
        What it means.
    look_at : str
        What to look at first.
    """

    failed: tuple[str, ...]
    passed: tuple[str, ...]
    concerns: Callable[[_Questions], BoolArray] = field(repr=False)
    means: str
    look_at: str

    @property
    def gates(self) -> tuple[str, ...]:
        """All gates that it is about."""
        return (*self.failed, *self.passed)


PATTERNS: dict[str, TracePattern] = {
    "retrieval misses the gold": TracePattern(
        ("recall",),
        (),
        lambda q: q.answerable & (q.answered | q.refused) & ~q.has_gold,
        "passages that the answer needs are not among the first k, so that the answer cannot be "
        "right",
        "the retrieval: search the gold passages of these questions by hand; then the size of the "
        "chunks, the embedding model, and k",
    ),
    "right passages, wrong answers": TracePattern(
        ("precision",),
        ("chr",),
        lambda q: q.answerable & q.answered & q.cited & ~q.contained,
        "answers cite the gold and do not contain a gold text",
        "these answers beside their gold_claim_substr: either the model misreads the passage, or "
        "the gold texts are too narrow",
    ),
    "gold found and not cited": TracePattern(
        ("chr",),
        ("recall",),
        lambda q: q.answerable & q.answered & q.has_gold & ~q.cited,
        "the gold was retrieved, and the answers cite other passages, or none",
        "the instructions on citations in the prompt, and whether cited ids are written as "
        "retrieved ids are",
    ),
    "refusals with the gold at hand": TracePattern(
        ("over",),
        ("recall",),
        lambda q: q.answerable & q.refused & q.has_gold,
        "the gold was retrieved, and the pipeline refuses",
        "the instruction to refuse in the prompt, and thresholds on the scores of passages",
    ),
    "refusals because the gold is missing": TracePattern(
        ("over", "recall"),
        (),
        lambda q: q.answerable & q.refused & ~q.has_gold,
        "the gold was not retrieved, and the pipeline rightly refuses to guess",
        "the retrieval, not the prompt: these questions can be answered once the gold is found",
    ),
    "answers without a basis": TracePattern(
        ("under",),
        ("over",),
        lambda q: ~q.answerable & q.answered,
        "questions that the documents do not answer are answered",
        "the instruction to refuse in the prompt, and what these answers cite",
    ),
    "refusals of the wrong questions": TracePattern(
        ("under", "over"),
        (),
        lambda q: (~q.answerable & q.answered) | (q.answerable & q.refused),
        "questions without an answer are answered, and questions with an answer are refused",
        "the rule by which a claim counts as a refusal, and the labels answerable of the gold set",
    ),
}
"""The patterns by name, in the order in which they are shown."""


def diagnose(
    scored: TraceScores,
    intervals: Mapping[str, Interval],
    thresholds: Mapping[str, float] | None = None,
    name: str = "trace",
) -> Result:
    """The patterns in the figures of traces.

    Parameters
    ----------
    scored : TraceScores
        The figures and the questions.
    intervals : mapping of str to Interval
        By figure; figures that apply to no question have none, and are in no pattern.
    thresholds : mapping of str to float, optional
        By gate; the thresholds of the reference scorer where it is silent, and 0.8 for recall.
    name : str
        The name of the pipeline.

    Returns
    -------
    Result
        One row per pattern: ``pattern``, ``because`` (its figures), ``certainty`` ("shown" if every
        interval excludes its threshold, else "may be chance"), ``n`` and ``query_ids`` (the
        questions that show it), ``means``, ``look_at``.
    """
    bars = {**_THRESHOLDS, **(thresholds or {})}
    statuses = {
        gate: _FigureStatus.of(entry, bars[gate], scored, intervals)
        for gate, entry in GATES.items()
    }
    questions = _Questions.of(scored)
    rows: list[dict[str, object]] = []
    explained: set[str] = set()
    for pattern_name, pattern in PATTERNS.items():
        concerned = pattern.concerns(questions)
        if not concerned.any() or not _applies(pattern, statuses):
            continue
        explained |= {*pattern.failed}
        facts = [statuses[gate] for gate in pattern.gates]
        ids = [str(query_id) for query_id in scored.details.index[concerned]]
        rows.append(
            {
                "pattern": pattern_name,
                "because": "; ".join(status.words for status in facts),
                "certainty": "shown"
                if all(status.is_shown for status in facts)
                else "may be chance",
                "n": int(concerned.sum()),
                "query_ids": ids,
                "means": pattern.means,
                "look_at": pattern.look_at,
            }
        )
    failed = [
        status for gate, status in statuses.items() if status.is_failed and gate not in explained
    ]
    return Result(
        f"Diagnosis of {name}",
        pd.DataFrame(rows, columns=list(_COLUMNS)),
        {"thresholds": bars},
        (*map(_sentence, rows), *_rest(rows, failed)),
        headline=("pattern", "because", "certainty", "n"),
    )


@dataclass(frozen=True)
class _FigureStatus:
    """On which side of its threshold a figure is."""

    is_failed: bool
    is_passed: bool
    is_shown: bool
    words: str

    @classmethod
    def of(
        cls,
        gate: TraceGate,
        threshold: float,
        scored: TraceScores,
        intervals: Mapping[str, Interval],
    ) -> _FigureStatus:
        interval = intervals.get(gate.figure)
        if interval is None:
            return cls(is_failed=False, is_passed=False, is_shown=False, words="")
        value, low, high = scored.figures[gate.figure], interval.low, interval.high
        if gate.at_least:
            passes, shown = value >= threshold, low >= threshold or high < threshold
        else:
            passes, shown = value <= threshold, high <= threshold or low > threshold
        sign = gate.rule if passes else {">=": "<", "<=": ">"}[gate.rule]
        return cls(
            is_failed=not passes,
            is_passed=passes,
            is_shown=bool(shown),
            words=f"{gate.figure} {value:.3g} {sign} {threshold:g}",
        )


def _applies(pattern: TracePattern, statuses: Mapping[str, _FigureStatus]) -> bool:
    return all(statuses[gate].is_failed for gate in pattern.failed) and all(
        statuses[gate].is_passed for gate in pattern.passed
    )


def _sentence(row: Mapping[str, object]) -> str:
    ids = row["query_ids"]
    listed = named(ids) if isinstance(ids, list) else ""
    return f"{row['pattern']}: {row['means']}. Look first at {row['look_at']}: {listed}"


def _rest(rows: list[dict[str, object]], failed: Iterable[_FigureStatus]) -> list[str]:
    words = [status.words for status in failed]
    if words:
        return [f"no pattern explains {'; '.join(words)}: read the questions that fail, one by one"]
    return [] if rows else ["no pattern: every figure is on the right side of its threshold"]
