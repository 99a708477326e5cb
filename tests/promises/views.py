"""What is looked at of evaluations, files and runs; calls that are written as data."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, ItemsView
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import stubs
from promises import DATA, command, parsed, plain, shared_data

import rageval_report as rr
from rageval_report import judges, metrics, stats

LONGEST = 60
# Sentences, and what depends on the day, the machine or the version.
LEFT_OUT = frozenset(
    "reading made_of finding provenance created created_at version schema_version format_version "
    "failure licence size source asked_at first_byte_ms".split()
)


def evaluation(run: rr.RAGPipelineEvaluation, *, details: bool = True) -> dict[str, Any]:
    """Scores, means, states and details; metrics by what they are known as, however spelled."""
    names = keys(run)
    columns = {key: plain(run.scores[name].tolist()) for name, key in names.items()}
    means = run.get_aggregated_scores()
    return {
        "name": run.name,
        "n_queries": run.n_queries,
        "query_ids": [query_id[:LONGEST] for query_id in run.scores.index],
        "mean": {key: float(means[name]) for name, key in names.items()},
        "n_unscored": {key: sum(map(math.isnan, cells)) for key, cells in columns.items()},
        "scores": columns,
        "spelled": list(run.scores),
        **(_details(run.details) if details else {}),
    }


def keys(run: rr.RAGPipelineEvaluation) -> dict[str, str]:
    """Of each column of scores, what the metric is known as; its own name if two are the same."""
    known = {name: _folded(run.metrics[name].known_as or name) for name in run.scores}
    twice = {key for key in known.values() if list(known.values()).count(key) > 1}
    return {name: _folded(name) if key in twice else key for name, key in known.items()}


def _folded(name: str) -> str:
    return re.sub("[ -]", "_", name.lower())


def _details(frame: pd.DataFrame) -> dict[str, Any]:
    """How often each state is there, how many reasons, and the first cell of all else."""
    seen: dict[str, Any] = {"states": {}, "n_reasons": {}, "details": {}}
    for name in map(str, frame):
        if name.endswith("_state"):
            seen["states"][_folded(name)] = frame[name].value_counts().to_dict()
        elif name.endswith("_reason"):
            seen["n_reasons"][_folded(name)] = int(frame[name].notna().sum())
        else:
            seen["details"][name] = _cell(frame[name].iloc[0])
    return seen


def _cell(value: Any) -> Any:
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return None if math.isnan(value) else float(value)
    return None if value is None else str(value)[:LONGEST]


def evaluated(run: Any) -> dict[str, Any]:
    """The parts of a run of `evaluate`, without what the clock decides."""
    records = run.records
    return {
        "evaluation": evaluation(run.evaluation, details=False),
        "records": records[[name for name in records if name != "latency_ms"]],
        "figures": sorted(run.timings.frame["figure"]),
        "judged": run.judged and judged(run.judged),
        **{name: getattr(run, name) for name in ("gates", "passed", "weighted", "costs")},
    }


def judged(verdicts: Any) -> dict[str, Any]:
    """Scores, states and votes of judges, what they cost, and how much they vary."""
    states = [name for name in verdicts.states if not str(name).endswith("_reason")]
    shown = {name: getattr(verdicts, name) for name in ("scores", "usage", "noise")}
    return {**shown, "states": verdicts.states[states]}


def looked_at(result: Any) -> Any:
    """What is recorded of a result."""
    match result:
        case rr.RAGPipelineEvaluation():
            return evaluation(result)
        case judges.Judged():
            return judged(result)
        case ItemsView():
            return dict(result)
        case dict() if any(isinstance(one, rr.RAGPipelineEvaluation) for one in result.values()):
            return {name: evaluation(run) for name, run in result.items()}
    return evaluated(result) if hasattr(result, "timings") else result


def attempt(call: Callable[[], Any]) -> Any:
    """What a call gives as plain data, or its error with the file that it names."""
    try:
        return _promised(plain(looked_at(call())))
    except (rr.RagevalError, TypeError) as error:
        seen = plain(error)
        if "/" in str(error).split()[0]:
            seen["parameter"] = ""  # it begins with a path
        return {**seen, "file": Path(str(getattr(error, "path", None) or "")).name}


def _promised(seen: Any) -> Any:
    if isinstance(seen, dict):
        kept = {name: item for name, item in seen.items() if name not in LEFT_OUT}
        rule = isinstance(kept.get("correct"), str)  # a sentence; elsewhere it is a number
        return {n: _promised(item) for n, item in kept.items() if not (rule and n == "correct")}
    return [_promised(item) for item in seen] if isinstance(seen, list) else seen


def attempts(table: dict[str, Callable[[], Any]]) -> Callable[[], dict[str, Any]]:
    """A call that makes several attempts."""
    return lambda: {name: attempt(call) for name, call in table.items()}


def folder(path: Path) -> dict[str, Any]:
    """What each file below a folder gives."""
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return {
        file.relative_to(path).as_posix(): attempt(partial(rr.read_scores, file))
        for file in files
        if not file.name.startswith(("LICENSE", "README"))
    }


# --- calls that are data: data/inputs/<subject>.json, a line each -------------------------------

DOORS = {"judges": judges, "metrics": metrics, "stats": stats, "command": command}


def inputs(subject: str) -> dict[str, Callable[[], Any]]:
    """The calls of a file of inputs: one for each group, which makes those of the group."""
    groups = json.loads((DATA / "inputs" / f"{subject}.json").read_text("utf-8"))
    return {
        group: attempts({name: partial(made, call) for name, call in table.items()})
        for group, table in groups.items()
    }


def made(call: dict[str, Any]) -> Any:
    """What a door gives: ``{"door": ..., "args": [...], "options": {...}, "then": {...}}``.

    ``then`` has attributes, one after the other; those with options are methods. ``files`` are
    written by the call.
    """
    first, *rest = call["door"].split(".")
    door = reduce(getattr, rest, DOORS.get(first) or getattr(rr, first))
    result = door(*argument(call.get("args", [])), **argument(call.get("options", {})))
    for name, options in call.get("then", {}).items():
        result = getattr(result, name)
        result = result if options is None else result(**argument(options))
    files = {name: parsed(name) for name in call.get("files", ()) if Path(name).exists()}
    return {"result": looked_at(result), "files": files} if files else result


def argument(value: Any) -> Any:
    """An argument as written: ``@file`` is one of the data, and ``{"$kind": ...}`` an object."""
    match value:
        case str() if value.startswith("@shared/"):
            first, _, rest = value.removeprefix("@shared/").partition("/")
            return str(shared_data(first) / rest)
        case str() if value.startswith("@"):
            return str(DATA / value[1:])
        case list():
            return [argument(item) for item in value]
        case dict() if len(value) == 1 and next(iter(value)) in KINDS:
            [(kind, content)] = value.items()
            return KINDS[kind](argument(content))
        case dict():
            return {name: argument(item) for name, item in value.items()}
    return value


KINDS: dict[str, Callable[[Any], Any]] = {
    "$bytes": str.encode,
    "$latin1": lambda text: text.encode("latin-1"),
    "$open": lambda path: io.BytesIO(Path(path).read_bytes()),
    "$frame": pd.DataFrame,
    "$polars": pl.DataFrame,
    "$arrow": pa.table,
    "$tuple": tuple,
    "$json": lambda path: json.loads(Path(path).read_text("utf-8")),
    "$renamed": lambda parts: pd.read_json(parts[0]).rename(columns=parts[1]),
    "$evaluation": lambda parts: rr.RAGPipelineEvaluation(*parts),
    "$rubric": lambda options: judges.Rubric(**options),
    "$reply": lambda parts: judges.Reply(*parts),
    "$chat": lambda parts: judges.ScriptedChat(parts[1], model=parts[0]),
    "$likes": lambda word: judges.ScriptedChat(partial(stubs.likes, word)),
    "$stub": lambda name: getattr(stubs, name),
}
