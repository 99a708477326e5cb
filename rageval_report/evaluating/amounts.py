"""The costs and the timings of an evaluation."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.judges import Judged
from rageval_report.metrics.performance import (
    Performance,
    Prices,
    check_prices,
    notes_on_costs,
    performance_figures,
    performance_of,
)
from rageval_report.results import Result

_COLUMNS = ("part", "n", "n_known", "prompt_tokens", "completion_tokens", "cost_usd")
_AMOUNTS = ("prompt_tokens", "completion_tokens", "cost_usd")
_FIELDS = (*_AMOUNTS, "latency_ms", "model", "error")
_STATED_SUFFIX = "_given"
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


def measured_records(evaluation: RAGPipelineEvaluation) -> pd.DataFrame:
    """Latency, tokens, cost and model of each query, as the pipeline stated them.

    Parameters
    ----------
    evaluation : RAGPipelineEvaluation
        If a metric has the name of a field, the field is among the details under another name.
    """
    details = evaluation.details
    fields = {
        field: details[name]
        for field in _FIELDS
        for name in (field, f"{field}{_STATED_SUFFIX}")
        if name in details
    }
    return pd.DataFrame(fields, index=evaluation.scores.index)


def costs_result(
    evaluation: RAGPipelineEvaluation,
    judged: Judged | None,
    prices: Prices | None = None,
    model: str | None = None,
) -> Result:
    """What the pipeline and the judge cost.

    Parameters
    ----------
    evaluation : RAGPipelineEvaluation
        The scores.
    judged : Judged, optional
        The verdicts.
    prices : mapping of str to Price, optional
        US dollars per million tokens sent and received, by the model of the pipeline.
    model : str, optional
        The model of the answers that do not name one.

    Returns
    -------
    Result
        Columns ``part``, ``n`` (queries, or calls of the judge that were not in its cache),
        ``n_known`` (those of known cost), ``prompt_tokens``, ``completion_tokens``, ``cost_usd``
        (the sum of the known costs, NaN if none is known).
    """
    records = measured_records(evaluation)
    pipeline = _pipeline_row(performance_of(records, prices, model=model))
    judges = _judge_rows(judged)
    notes = (*notes_on_costs(records, prices, model=model), *_notes_on(judges))
    settings = {"prices": {name: list(price) for name, price in check_prices(prices or {}).items()}}
    frame = pd.DataFrame([pipeline, *judges], columns=list(_COLUMNS))
    return Result("Costs", frame, settings, notes)


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
            "part": f"judge: {row['judge']}" + _model_of(row),
            "n": row["n_calls"],
            "n_known": 0 if pd.isna(row["cost_usd"]) else row["n_calls"],
            **{name: row[name] for name in _AMOUNTS},
        }
        for row in judged.usage.to_dict("records")
    ]


def _model_of(row: dict[Hashable, Any]) -> str:
    """Which of several judges it was."""
    return f" ({row['judge_model']})" if "judge_model" in row else ""


def _sum(numbers: np.ndarray) -> float:
    known = numbers[~np.isnan(numbers)]
    return float(known.sum()) if len(known) else math.nan


def _notes_on(rows: list[dict[str, object]]) -> tuple[str, ...]:
    return tuple(
        f"{row['part']}: the cost is unknown: the model that judges has no price"
        for row in rows
        if row["n"] and not row["n_known"]
    )


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
    amounts = performance_of(measured_records(evaluation))
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
