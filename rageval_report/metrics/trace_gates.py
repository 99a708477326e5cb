"""The gates of the gold and trace scorer: the figures that they test, and whether they hold."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from rageval_report.errors import DataError, UnknownNameError

# The defaults of the reference scorer (WFGY, eval_rag_precision_recall.md).
DEFAULT_GATES = "precision=0.80,chr=0.75,under=0.05,over=0.10"


@dataclass(frozen=True)
class TraceGate:
    """A figure that a gate can test.

    Parameters
    ----------
    figure : str
        Its name among the figures.
    column : str
        Its column among the scores: the figure is the column's mean.
    at_least : bool
        Whether the figure must be at least the threshold, or at most.
    by_convention : float
        The value of the figure if it applies to no question.
    """

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
    """The thresholds by gate; blanks and the names of the figures are accepted.

    Raises
    ------
    DataError
        If a threshold is not a number between 0 and 1, or a gate appears twice.
    UnknownNameError
        If a gate is not known.

    Examples
    --------
    >>> parse_gates(" precision = 0.8, under_refusal=0.05,")
    {'precision': 0.8, 'under': 0.05}
    """
    thresholds: dict[str, float] = {}
    for name, value in _gate_pairs(gates):
        key = re.sub(r"@\d+$", "@k", name.strip().lower())
        key = _OTHER_NAMES.get(key, key)
        if key not in GATES:
            raise UnknownNameError("gate", name.strip(), GATES)
        if key in thresholds:
            raise DataError(f"the gate {key!r} appears twice; give it one threshold")
        thresholds[key] = _threshold(key, value)
    return thresholds


def _gate_pairs(gates: str | Mapping[str, float] | None) -> list[tuple[str, str | float]]:
    if gates is None:
        return []
    if isinstance(gates, Mapping):
        return [(str(name), value) for name, value in gates.items()]
    if not isinstance(gates, str):
        raise DataError(f'gates must be a text like "precision=0.80" or a mapping; got {gates!r}')
    parts = [part.partition("=") for part in gates.split(",") if part.strip()]
    return [(name, value) for name, _, value in parts]


def _threshold(name: str, value: str | float) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if 0.0 <= number <= 1.0:
        return number
    raise DataError(
        f"the threshold of {name!r} must be a number between 0 and 1, such as 0.8; got {value!r}"
    )


def gate_table(
    thresholds: Mapping[str, float], figures: Mapping[str, float], scores: pd.DataFrame, k: int
) -> pd.DataFrame:
    """One row per gate: its threshold, the value of the figure, and whether it holds.

    Parameters
    ----------
    thresholds : mapping of str to float
        As `parse_gates` returns them.
    figures : mapping of str to float
        The figures, unrounded; a gate on NaN does not hold.
    scores : DataFrame
        The columns behind the figures.
    k : int
        The cutoff of the recall.
    """
    rows = []
    for name, threshold in thresholds.items():
        gate, value = GATES[name], figures[GATES[name].figure]
        passed = value >= threshold if gate.at_least else value <= threshold  # False for NaN
        n = int(scores[gate.column_at(k)].notna().sum())
        rows.append((name, gate.figure, gate.rule, threshold, value, n, passed))
    columns = ["gate", "figure", "rule", "threshold", "value", "n", "passed"]
    return pd.DataFrame(rows, columns=columns).astype({"passed": bool})
