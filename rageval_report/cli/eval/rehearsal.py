"""What eval would ask, without asking anybody: the queries, and the calls of the judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rageval_report
from rageval_report._registry import load
from rageval_report.cli.eval.metrics import JUDGED
from rageval_report.cli.judge.judging import JUDGES, Judging, estimate_result

if TYPE_CHECKING:
    from rageval_report.cli.eval.queries import Asked
    from rageval_report.judges import Rubric
    from rageval_report.judges.chats.over_http import HttpChat
    from rageval_report.results import Result

_RECORDS = ("records.parquet", "records.jsonl")
_UNKNOWN = ("n_cached", "prompt_tokens", "completion_tokens", "cost_usd", "max_cost_usd")

# What stands for the answer of a query that was not asked yet, so that calls can be counted.
_STAND_IN = {"answer": "An answer.", "contexts": ["A context."]}


def rehearsed(
    asked: Asked,
    folder: Path,
    rubrics: Sequence[Rubric],
    chat: HttpChat | None,
    judging: Judging,
) -> dict[str, Result]:
    """What would be asked of the pipeline, and of the judge where there is one.

    Parameters
    ----------
    asked : Asked
        The queries.
    folder : Path
        If it holds the answers of a run, the judge's tokens are worked out from them.
    rubrics : sequence of Rubric
        Those that are named; else what a judge is asked without any.
    chat : HttpChat, optional
        The judge.
    judging : Judging
        How it is asked.
    """
    queries = _chosen(asked)
    there = next((folder / one for one in _RECORDS if (folder / one).exists()), None)
    results = {"pipeline": _pipeline(asked, len(queries), there)}
    if chat is not None:
        results["judge"] = _judge(queries, there, rubrics, chat, judging)
    return results


def _chosen(asked: Asked) -> list[dict[str, Any]]:
    """The queries that are drawn, as rows."""
    queries = load("rageval_report.runner.query_source:queries_of")(asked.queries)
    drawn = load("rageval_report.runner.query_source:sample_mask")
    mask = drawn(len(queries), asked.run.samples, asked.run.seed)
    return [
        {**one.other_fields, "query_id": one.query_id, "question": one.question}
        for one in queries
        if mask[one.row]
    ]


def _pipeline(asked: Asked, n: int, there: Path | None) -> Result:
    row = {"target": asked.run.target_name, "n_queries": n, "warm_up": asked.run.warm_up}
    notes = ["nothing was asked"]
    if there is not None:
        notes.append(f"{there} holds answers: with --resume these are not asked again")
    frame = load("pandas:DataFrame")([row])
    result: Result = load("rageval_report:Result")("The pipeline", frame, asked.about, tuple(notes))
    return result


def _judge(
    queries: list[dict[str, Any]],
    there: Path | None,
    rubrics: Sequence[Rubric],
    chat: HttpChat,
    judging: Judging,
) -> Result:
    if there is not None:
        rows: Any = rageval_report.read_records(there, unretrieved_citations="keep")
    else:
        rows = [{**one, **_STAND_IN} for one in queries]
    known = {"cache": judging.cache(), "prices": judging.prices(chat.model)}
    frame = load(f"{JUDGES}:estimate")(
        rows, list(rubrics) or _by_default(rows), chat, n_repeats=judging.repeats, **known
    )
    if there is not None:
        return estimate_result(judging, chat, frame)
    result: Result = load("rageval_report:Result")(
        "Estimate",
        frame.assign(**dict.fromkeys(_UNKNOWN, math.nan)),
        {"judge_model": chat.model, "n_repeats": judging.repeats},
        (
            "no answers are there yet: calls are counted as if every query was answered from "
            "contexts; tokens and cost are known once FOLDER holds answers, as those of a run with "
            "--samples 20 --no-judge",
        ),
        headline=("judge", "n_queries", "n_not_judged", "n_calls"),
    )
    return result


def _by_default(rows: Any) -> list[str]:
    """What is judged where no rubric is named: what the fields allow."""
    table = load("rageval_report.records:record_table")(rows, unretrieved_citations="keep")
    names = {str(one) for one in table if table[one].notna().any()}
    return [rubric for fields, rubric in JUDGED if names.issuperset(fields)]
