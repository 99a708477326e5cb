"""Some of the queries of an evaluation, with what analyses need of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from rageval_report.scores import Metric


@dataclass(frozen=True, eq=False)
class EvaluationSubset:
    """Some of the queries of an evaluation."""

    name: str
    scores: pd.DataFrame
    details: pd.DataFrame
    metrics: dict[str, Metric]
    config: Mapping[str, Any] = field(default_factory=dict)
    """That of the evaluation, whose dialect holds for a part too."""
