"""A folder in place of a file: the file of results that a framework keeps in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

from rageval_report.errors import ReaderError, named

T = TypeVar("T")

# The files of results in the run folders of frameworks, each with one row per query.
AZURE_RESULTS = ("eval_results.jsonl", "evaluation_results.json")
PER_INSTANCE_STATS, INTERMEDIATE_DATA = "per_instance_stats.json", "intermediate_data.json"
METRICS_RESULTS, ROLLOUTS = "metrics_results.json", "results.jsonl"
TRACES = "traces.jsonl"
# Azure, HELM, FlashRAG, Giskard, and verifiers before and from 0.2 on.
RESULT_FILES = (
    *(*AZURE_RESULTS, PER_INSTANCE_STATS, INTERMEDIATE_DATA),
    *(METRICS_RESULTS, ROLLOUTS, TRACES),
)


def results_file(value: T) -> T | Path:
    """The file of results in a run folder; anything but a folder as it is."""
    if not isinstance(value, str | os.PathLike):
        return value
    path = Path(value)
    try:
        if not path.is_dir():
            return value
        files = sorted(entry.name for entry in path.iterdir() if entry.is_file())
    except (OSError, ValueError):  # the error comes when the file is opened
        return value
    results = [name for name in files if name in RESULT_FILES]
    if len(results) == 1:
        return path / results[0]
    listed = named(results or files) or "no file"
    raise ReaderError(
        f"expected a file; this is a folder: give the path of a file in it; it contains {listed}",
        path=str(value),
    )
