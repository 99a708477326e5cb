"""What eval would ask, without asking: the queries, and the calls of the judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from rageval_report.cli.judge.setup import estimate_result, estimate_settings
from rageval_report.judges import Rubric, estimate
from rageval_report.judges.chats import Chat
from rageval_report.readers.record_files import read_records
from rageval_report.records import record_table
from rageval_report.results import Result
from rageval_report.runner.eval_queries import JUDGED, QuerySource
from rageval_report.runner.judge_setup import JudgeSetup
from rageval_report.runner.query_source import queries_of, sample_mask

_RECORDS = ("records.parquet", "records.jsonl")
_COUNTS = ("judge_model", "judge", "n_queries", "n_not_judged", "n_calls")
_UNKNOWN = ("n_cached", "prompt_tokens", "completion_tokens", "cost_usd", "max_cost_usd")

# A stand-in for the answer of a query that was not asked yet, so that calls can be counted.
_STAND_IN = {"answer": "An answer.", "contexts": ["A context."]}


def rehearse(
    queries: QuerySource,
    folder: Path,
    rubrics: Sequence[Rubric],
    chats: Sequence[Chat],
    setup: JudgeSetup,
) -> dict[str, Result]:
    """What would be asked of the pipeline, and of the judge if there is one.

    Parameters
    ----------
    queries : QuerySource
        The queries.
    folder : Path
        If it holds the answers of a run, the judge's tokens are estimated from them.
    rubrics : sequence of Rubric
        The rubrics that are named; if empty, those that are judged by default.
    chats : sequence of Chat
        The judges; empty if nothing is judged.
    setup : JudgeSetup
        How the judge is asked.
    """
    rows = _drawn_rows(queries)
    paths = [folder / name for name in _RECORDS]
    records = next((path for path in paths if path.exists()), None)
    results = {"pipeline": _pipeline_result(queries, len(rows), records)}
    if chats:
        results["judge"] = _judge_result(rows, records, rubrics, chats, setup)
    return results


def _drawn_rows(source: QuerySource) -> list[dict[str, Any]]:
    """The queries that are drawn, as rows."""
    queries = queries_of(source.queries)
    is_drawn = sample_mask(queries, source.run.samples, source.run.seed)
    return [
        {**query.other_fields, "query_id": query.query_id, "question": query.question}
        for query in queries
        if is_drawn[query.row]
    ]


def _pipeline_result(queries: QuerySource, n: int, records: Path | None) -> Result:
    row = {"target": queries.run.target_name, "n_queries": n, "warm_up": queries.run.warm_up}
    notes = ["nothing was asked"]
    if records is not None:
        notes.append(f"{records} holds answers: with --resume these are not asked again")
    return Result("The pipeline", pd.DataFrame([row]), queries.about, tuple(notes))


def _judge_result(
    rows: list[dict[str, Any]],
    records: Path | None,
    rubrics: Sequence[Rubric],
    chats: Sequence[Chat],
    setup: JudgeSetup,
) -> Result:
    table: object
    if records is not None:
        table = read_records(records, unretrieved_citations="keep")
    else:
        table = [{**row, **_STAND_IN} for row in rows]
    frame = estimate(
        table,
        list(rubrics) or _default_rubrics(table),
        chats,
        n_repeats=setup.repeats,
        cache=setup.cache(),
        prices=setup.prices(chats),
        retry_unusable=setup.section.retry_unusable,
    )
    if records is not None:
        return estimate_result(setup, chats, frame)
    return Result(
        "Estimate",
        frame.assign(**dict.fromkeys(_UNKNOWN, math.nan)),
        estimate_settings(setup, chats),
        (
            "there are no answers yet: calls are counted as if every query was answered from "
            "contexts; tokens and cost are known once FOLDER holds answers, such as those of a "
            "run with --samples 20 --no-judge",
        ),
        headline=tuple(name for name in _COUNTS if name in frame),
    )


def _default_rubrics(rows: object) -> list[str]:
    """The rubrics that are judged if none is named: those whose fields the rows have."""
    table = record_table(rows, unretrieved_citations="keep")
    names = {str(column) for column in table if table[column].notna().any()}
    return [rubric for fields, rubric in JUDGED if names.issuperset(fields)]
