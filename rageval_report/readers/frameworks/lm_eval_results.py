"""The results file of lm-eval, for the samples that the same run wrote into the same folder."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rageval_report.errors import RagevalError
from rageval_report.files.source import Source
from rageval_report.types import JsonObject

# The time of the run ends the names of all files that it wrote.
_TIME = re.compile(r"_(?P<time>\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d+)?)$")
# Results files are small; a larger file is something else.
_LARGEST = 1 << 26


@dataclass(frozen=True)
class TaskResults:
    """The facts about a task.

    Parameters
    ----------
    pipeline : str, optional
        The task and the model.
    directions : mapping of str to bool
        Whether higher is better, by metric.
    n_samples : int, optional
        The number of evaluated documents.
    """

    pipeline: str | None = None
    directions: Mapping[str, bool] = field(default_factory=dict)
    n_samples: int | None = None

    def notes_on(self, n_documents: int) -> Iterator[str]:
        """A note if the samples are fewer or more than the evaluated documents."""
        if self.n_samples is not None and self.n_samples != n_documents:
            yield (
                f"the file contains {n_documents} documents; the results in the same folder say "
                f"that {self.n_samples} were evaluated"
            )


def results_beside(source: Source, metrics: Collection[str]) -> tuple[TaskResults, tuple[str, ...]]:
    """The results of the run, from the file of the same time in the samples' folder.

    Samples without a time in their name use the only ``results*.json``.

    Parameters
    ----------
    source : Source
        The samples.
    metrics : collection of str
        Their metrics; the results must have a direction for each.
    """
    documents = [
        (path, document)
        for path in _candidates(source)
        if (document := _document(path)) is not None
    ]
    # Of several results it is not known which belong to these samples.
    if len(documents) != 1:
        return TaskResults(), ()
    [(path, document)] = documents
    task = _task(source, document["higher_is_better"], metrics)
    if task is None:
        return TaskResults(), (
            f"{path.name} in the same folder is for another task and is not used",
        )
    stored = document["higher_is_better"][task]
    directions = {name: stored[name] for name in metrics if isinstance(stored.get(name), bool)}
    model = document.get("model_name")
    pipeline = f"{task}:{model}" if isinstance(model, str) and model else task
    note = f"directions and the pipeline's name come from {path.name} in the same folder"
    return TaskResults(pipeline, directions, _n_samples(document, task)), (note,)


def _candidates(source: Source) -> list[Path]:
    if source.folder is None:
        return []
    time = _TIME.search(source.stem)
    ending = "results*.json" if time is None else f"*_{time['time']}.json"
    try:
        paths = sorted(source.folder.glob(ending))
        return [path for path in paths if path.is_file() and path.stat().st_size <= _LARGEST]
    except OSError:
        return []


def _document(path: Path) -> JsonObject | None:
    """The results in a file; None if it contains anything else."""
    try:
        document = Source(path).document_or_none()
    except RagevalError:
        return None
    if not isinstance(document, dict) or not isinstance(document.get("results"), dict):
        return None
    directions = document.get("higher_is_better")
    has_directions = isinstance(directions, dict) and all(
        isinstance(by_metric, dict) for by_metric in directions.values()
    )
    return document if has_directions else None


def _task(source: Source, directions: JsonObject, metrics: Collection[str]) -> str | None:
    """The task of the samples: the one in their name, else the only one with their metrics."""
    stem = f"{source.stem}_".removeprefix("samples_")
    fitting = [task for task in directions if set(metrics) <= set(directions[task])]
    by_name = [task for task in fitting if stem.startswith(f"{task}_")]
    if by_name:
        # The longest, because one task's name may begin another's: mmlu and mmlu_anatomy.
        return str(max(by_name, key=len))
    return str(fitting[0]) if len(fitting) == 1 else None


def _n_samples(document: JsonObject, task: str) -> int | None:
    counts = document.get("n-samples")
    task_counts = counts.get(task) if isinstance(counts, dict) else None
    number = task_counts.get("effective") if isinstance(task_counts, dict) else None
    return number if isinstance(number, int) else None
