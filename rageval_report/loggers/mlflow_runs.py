"""Evaluations and comparisons saved as runs of MLflow, with which they read back equal."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from rageval_report.analysis.compare import Comparison
from rageval_report.errors import DataError
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.loggers.content import RunContent, content_of
from rageval_report.scores import Scored
from rageval_report.scores.write import save_scores
from rageval_report.sources.base import SavedContent, SourceAddress
from rageval_report.sources.mlflow_store import TRACKING, MlflowStore, mlflow_store
from rageval_report.sources.mlflow_tables import SCORES, SCORES_FOLDER
from rageval_report.sources.opening import address_of
from rageval_report.sources.optional_packages import optional_package

_SCHEME = "mlflow"
# The most that a server of MLflow takes in one request.
_METRICS_PER_REQUEST = 1000
_TAGS_PER_REQUEST = 100
_LONGEST_RUN_NAME = 250


def save_evaluation_run(
    evaluation: Scored, address: SourceAddress, content: SavedContent, overwrite: bool
) -> str:
    """Save an evaluation as a new run: its means with their intervals, its page, its scores."""
    _check_address(address, overwrite=overwrite)
    logged = content_of(cast("RAGPipelineEvaluation", evaluation))
    with tempfile.TemporaryDirectory() as folder:
        save_scores(
            *(evaluation, Path(folder, SCORES)),
            config=content.config,
            notes=content.notes,
            created=content.created,
            correct=content.correct,
            results=content.results,
        )
        return _log_run(address, logged, Path(folder))


def save_comparison(comparison: Comparison, address: str) -> str:
    """Save a comparison as a new run: differences, page, scores of all sides."""
    parsed = address_of(address)
    if parsed is None or parsed.scheme != _SCHEME:
        raise DataError(
            f"path: a comparison is saved to a file or to mlflow:/EXPERIMENT; got {address!r}"
        )
    _check_address(parsed, overwrite=False)
    sides = [comparison.pairings[0].baseline, *(pair.candidate for pair in comparison.pairings)]
    with tempfile.TemporaryDirectory() as folder:
        for number, side in enumerate(sides):
            path = Path(folder, SCORES_FOLDER, f"{number}.csv")
            cast("RAGPipelineEvaluation", side).save(path)
        return _log_run(parsed, content_of(comparison), Path(folder))


def _check_address(address: SourceAddress, *, overwrite: bool) -> None:
    address.check_parameters((TRACKING,))
    if not address.place:
        raise address.error("no experiment is named; expected mlflow:/EXPERIMENT")
    if overwrite:
        raise address.error("every save makes a new run, so overwrite=True replaces nothing")


def _log_run(address: SourceAddress, content: RunContent, folder: Path) -> str:
    """Log the numbers, the texts and the files; a failure leaves no run."""
    with mlflow_store(address) as store:
        experiment_id = store.experiment_id(address.place)
        if experiment_id is None:
            experiment_id = str(store.client.create_experiment(address.place))
        run = store.client.create_run(experiment_id, run_name=content.name[:_LONGEST_RUN_NAME])
        run_id = str(run.info.run_id)
        try:
            _log_content(store, run_id, content)
            # The scores last: a run that was cut off before has none, and is not read.
            store.client.log_artifacts(run_id, str(folder))
            store.client.set_terminated(run_id)
        except BaseException:
            store.client.delete_run(run_id)
            raise
    tracking = address.name.partition("?")[2]
    return f"runs:/{run_id}" + (f"?{tracking}" if tracking else "")


def _log_content(store: MlflowStore, run_id: str, content: RunContent) -> None:
    entities = optional_package("mlflow.entities")
    now = int(time.time() * 1000)
    metrics = [entities.Metric(name, number, now, 0) for name, number in content.numbers.items()]
    tags = [entities.RunTag(name, text) for name, text in content.texts.items()]
    for part in _parts(metrics, _METRICS_PER_REQUEST):
        store.client.log_batch(run_id, metrics=part)
    for part in _parts(tags, _TAGS_PER_REQUEST):
        store.client.log_batch(run_id, tags=part)
    for name, text in content.files.items():
        store.client.log_text(run_id, text, name)


def _parts(items: list[Any], size: int) -> Iterator[list[Any]]:
    return (items[start : start + size] for start in range(0, len(items), size))
