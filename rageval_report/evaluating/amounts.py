"""The costs and the timings of an evaluation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.judges import Judged
from rageval_report.metrics.performance import (
    Performance,
    performance_figures,
    performance_of,
)
from rageval_report.results import Result

_COLUMNS = ("part", "n", "n_known", "prompt_tokens", "completion_tokens", "cost_usd")
_FIELDS = ("latency_ms", "prompt_tokens", "completion_tokens", "cost_usd")
_PIPELINE = "pipeline"


@dataclass(frozen=True)
class StepSeconds:
    """How long the steps of an evaluation took.

    Parameters
    ----------
    asking, scoring : float
        Seconds to collect the answers, and to compute and judge.
    n_new : int
        The number of queries that were asked in this time; others were answered earlier.
    """

    asking: float
    scoring: float
    n_new: int


def amounts_of(evaluation: RAGPipelineEvaluation) -> Performance:
    """Latency, tokens and cost of each query of an evaluation, NaN if not known.

    Parameters
    ----------
    evaluation : RAGPipelineEvaluation
        A field that is a metric is among its scores, otherwise among its details.
    """
    fields = {
        name: table[name]
        for name in _FIELDS
        for table in (evaluation.details, evaluation.scores)
        if name in table
    }
    return performance_of(pd.DataFrame(fields, index=evaluation.scores.index))


def costs_result(evaluation: RAGPipelineEvaluation, judged: Judged | None) -> Result:
    """What the pipeline and the judge cost.

    Parameters
    ----------
    evaluation : RAGPipelineEvaluation
        The scores; ``cost_usd`` is a metric or a detail.
    judged : Judged, optional
        The verdicts.

    Returns
    -------
    Result
        Columns ``part``, ``n`` (queries, or calls of the judge that were not in its cache),
        ``n_known`` (those of known cost), ``prompt_tokens``, ``completion_tokens``, ``cost_usd``
        (the sum of the known costs, NaN if none is known).
    """
    rows = [_pipeline_row(amounts_of(evaluation)), *_judge_rows(judged)]
    return Result("Costs", pd.DataFrame(rows, columns=list(_COLUMNS)), {}, _notes_on(rows))


def _pipeline_row(amounts: Performance) -> dict[str, object]:
    known = ~np.isnan(amounts.cost_usd)
    return {
        "part": _PIPELINE,
        "n": len(known),
        "n_known": int(known.sum()),
        "prompt_tokens": _sum(amounts.prompt_tokens),
        "completion_tokens": _sum(amounts.completion_tokens),
        "cost_usd": _sum(amounts.cost_usd),
    }


def _judge_rows(judged: Judged | None) -> list[dict[str, object]]:
    if judged is None:
        return []
    return [
        {
            "part": f"judge: {row['judge']}",
            "n": row["n_calls"],
            "n_known": 0 if pd.isna(row["cost_usd"]) else row["n_calls"],
            **{name: row[name] for name in _FIELDS[1:]},
        }
        for row in judged.usage.to_dict("records")
    ]


def _sum(numbers: np.ndarray) -> float:
    known = numbers[~np.isnan(numbers)]
    return float(known.sum()) if len(known) else math.nan


def _notes_on(rows: list[dict[str, object]]) -> tuple[str, ...]:
    notes = []
    for row in rows:
        if row["n_known"] != row["n"]:
            notes.append(
                f"{row['part']}: the cost of {row['n_known']} of {row['n']} is known, and the sum "
                "is that of these"
                if row["n_known"]
                else f"{row['part']}: the cost is unknown"
            )
    return tuple(notes)


def timings_result(
    evaluation: RAGPipelineEvaluation, seconds: StepSeconds, settings: Mapping[str, object]
) -> Result:
    """Latencies and throughput of the pipeline, and the seconds of each step.

    Parameters
    ----------
    evaluation : RAGPipelineEvaluation
        The scores.
    seconds : StepSeconds
        How long the steps took.
    settings : mapping
        How many queries were asked at the same time.

    Returns
    -------
    Result
        Columns ``figure``, ``value``, ``n``, ``n_unscored``.
    """
    amounts = amounts_of(evaluation)
    n = len(amounts.latency_ms)
    # A run that was continued has its answers from several times.
    wall = seconds.asking if seconds.n_new == n and seconds.asking > 0 else None
    figures = performance_figures(amounts, wall_seconds=wall)
    if wall is None:
        figures = figures.drop(index="throughput_per_second")
    is_time = figures.index.str.startswith(("latency", "throughput"))
    steps = pd.DataFrame(
        {
            "value": [seconds.asking, seconds.scoring],
            "n": [seconds.n_new, n],
            "n_unscored": [0, 0],
        },
        index=pd.Index(["asking_seconds", "scoring_seconds"], name="figure"),
    )
    frame = pd.concat([figures[is_time], steps]).reset_index()
    return Result("Timings", frame, dict(settings))
