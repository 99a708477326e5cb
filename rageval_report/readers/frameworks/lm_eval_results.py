"""What the results file of lm-eval says of the samples that the same run wrote beside it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rageval_report.errors import RagevalError
from rageval_report.files.source import Source
from rageval_report.types import JsonObject

# The time of the run closes the names of all the files that it wrote.
_TIME = re.compile(r"_(?P<time>\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d+)?)$")
# A results file is small; what is larger is none.
_LARGEST = 1 << 26


@dataclass(frozen=True)
class Results:
    """What is known of a task.

    Parameters
    ----------
    pipeline : str, optional
        The task and the model.
    directions : mapping of str to bool
        Whether more is better, by metric.
    n_samples : int, optional
        How many documents were evaluated.
    """

    pipeline: str | None = None
    directions: Mapping[str, bool] = field(default_factory=dict)
    n_samples: int | None = None

    def notes_on(self, n_documents: int) -> Iterator[str]:
        """What there is to say where the samples are fewer, or more, than were evaluated."""
        if self.n_samples is not None and self.n_samples != n_documents:
            yield (
                f"the file holds {n_documents} documents; the results beside it say that "
                f"{self.n_samples} were evaluated"
            )


def results_beside(source: Source, metrics: Collection[str]) -> tuple[Results, tuple[str, ...]]:
    """The results of the run, from the file of the same time in the samples' folder.

    Samples whose name bears no time take the only ``results*.json`` there is.

    Parameters
    ----------
    source : Source
        The samples.
    metrics : collection of str
        Their metrics, of which the results must know all.
    """
    found = [(path, one) for path in _candidates(source) if (one := _document(path)) is not None]
    if len(found) != 1:
        return Results(), ()
    [(path, document)] = found
    task = _task(source, document["higher_is_better"], metrics)
    if task is None:
        return Results(), (f"{path.name} beside the file is of another task, and is not used",)
    told = document["higher_is_better"][task]
    directions = {name: told[name] for name in metrics if isinstance(told.get(name), bool)}
    model = document.get("model_name")
    pipeline = f"{task}:{model}" if isinstance(model, str) and model else task
    note = f"directions and the pipeline's name are taken from {path.name} beside the file"
    return Results(pipeline, directions, _n_samples(document, task)), (note,)


def _candidates(source: Source) -> list[Path]:
    if source.is_standard_input:
        return []
    time = _TIME.search(source.stem)
    ending = "results*.json" if time is None else f"*_{time['time']}.json"
    try:
        paths = sorted(Path(source.name).parent.glob(ending))
        return [path for path in paths if path.is_file() and path.stat().st_size <= _LARGEST]
    except OSError:
        return []


def _document(path: Path) -> JsonObject | None:
    """The results in a file; None where it holds anything else."""
    try:
        document = Source(path).document_or_none()
    except RagevalError:
        return None
    if not isinstance(document, dict) or not isinstance(document.get("results"), dict):
        return None
    directions = document.get("higher_is_better")
    are_told = isinstance(directions, dict) and all(
        isinstance(one, dict) for one in directions.values()
    )
    return document if are_told else None


def _task(source: Source, directions: JsonObject, metrics: Collection[str]) -> str | None:
    """The task of the samples: the one that their name says, else the only one that fits."""
    named = f"{source.stem}_".removeprefix("samples_")
    fitting = [task for task in directions if set(metrics) <= set(directions[task])]
    by_name = [task for task in fitting if named.startswith(f"{task}_")]
    if by_name:
        return str(max(by_name, key=len))
    return str(fitting[0]) if len(fitting) == 1 else None


def _n_samples(document: JsonObject, task: str) -> int | None:
    counts = document.get("n-samples")
    told = counts.get(task) if isinstance(counts, dict) else None
    number = told.get("effective") if isinstance(told, dict) else None
    return number if isinstance(number, int) else None
