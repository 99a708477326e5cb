"""The gates of the gold and trace scorer: which figures may be asked for, and whether they hold."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from rageval_report.errors import DataError, UnknownNameError

DEFAULT_GATES = "precision=0.80,chr=0.75,under=0.05,over=0.10"


@dataclass(frozen=True)
class Gate:
    """A figure that a gate may ask for.

    Parameters
    ----------
    figure : str
        Its name among the figures.
    column : str
        Its column among the scores: the figure is the column's mean.
    at_least : bool
        Whether the figure must reach the threshold, or may not exceed it.
    by_convention : float
        What the figure is where no question is of its kind.
    """

    figure: str
    column: str
    at_least: bool
    by_convention: float

    def column_at(self, k: int) -> str:
        """The column where the cutoff of the recall is `k`."""
        return f"{self.column}@{k}" if self.figure == "recall@k" else self.column


GATES: dict[str, Gate] = {
    "precision": Gate("precision", "answered_precision", True, 1.0),
    "chr": Gate("chr", "answered_citation_hit", True, 1.0),
    "under": Gate("under_refusal", "hallucinated_answer", False, 0.0),
    "over": Gate("over_refusal", "false_refusal", False, 0.0),
    "recall": Gate("recall@k", "full_recall", True, 0.0),
}
"""The figures by the names under which gates ask for them."""

_OTHER_NAMES = {gate.figure: name for name, gate in GATES.items()}


def parsed_gates(gates: str | Mapping[str, float] | None) -> dict[str, float]:
    """The thresholds by gate; blanks and the figures' own names are understood.

    Raises
    ------
    DataError
        If a threshold is no number from 0 to 1, or a gate stands there twice.
    UnknownNameError
        If there is no such gate.

    Examples
    --------
    >>> parsed_gates(" precision = 0.8, under_refusal=0.05,")
    {'precision': 0.8, 'under': 0.05}
    """
    found: dict[str, float] = {}
    for name, value in _gate_pairs(gates):
        key = re.sub(r"@\d+$", "@k", name.strip().lower())
        key = _OTHER_NAMES.get(key, key)
        if key not in GATES:
            raise UnknownNameError("gate", name.strip(), GATES)
        if key in found:
            raise DataError(f"the gate {key!r} stands there twice; give it one threshold")
        found[key] = _threshold(key, value)
    return found


def _gate_pairs(gates: str | Mapping[str, Any] | None) -> list[tuple[str, Any]]:
    if gates is None:
        return []
    if isinstance(gates, Mapping):
        return [(str(name), value) for name, value in gates.items()]
    if not isinstance(gates, str):
        raise DataError(f'gates must be a text, as "precision=0.80", or a mapping; got {gates!r}')
    parts = [part.partition("=") for part in gates.split(",") if part.strip()]
    return [(name, value) for name, _, value in parts]


def _threshold(name: str, value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if 0.0 <= number <= 1.0:
        return number
    raise DataError(
        f"the threshold of {name!r} must be a number from 0 to 1, as 0.8; got {value!r}"
    )


def gate_table(
    thresholds: Mapping[str, float], figures: Mapping[str, float], scores: pd.DataFrame, k: int
) -> pd.DataFrame:
    """A row a gate: what it asks for, what was found, and whether it holds.

    Parameters
    ----------
    thresholds : mapping of str to float
        As `parsed_gates` gives them.
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
        passed = value >= threshold if gate.at_least else value <= threshold  # never for NaN
        n = int(scores[gate.column_at(k)].notna().sum())
        rule = ">=" if gate.at_least else "<="
        rows.append((name, gate.figure, rule, threshold, value, n, passed))
    columns = ["gate", "figure", "rule", "threshold", "value", "n", "passed"]
    return pd.DataFrame(rows, columns=columns).astype({"passed": bool})
