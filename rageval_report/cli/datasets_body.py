"""datasets list and datasets stats: the known data sets, and the questions of one."""

from __future__ import annotations

from pathlib import Path

from rageval_report.cli.datasets import DatasetsArguments, StatsArguments
from rageval_report.cli.output import Output
from rageval_report.datasets import DATASETS, dataset_counts, dataset_list, load_dataset
from rageval_report.results import Result

_LISTED = ("dataset", "questions", "licence")
_COUNTED = ("by", "value", "n", "share")


def list_sets(options: DatasetsArguments) -> None:
    """Write the table of data sets."""
    output = Output.of(options)
    frame = dataset_list()
    notes = tuple(
        f"subsets of {name}, as {name}/...: {subsets}"
        for name, subsets in zip(frame["dataset"], frame["subsets"], strict=True)
        if subsets
    )
    output.write({"datasets": Result("Data sets", frame, {}, notes, headline=_LISTED)})


def stats(options: StatsArguments) -> None:
    """Load a data set, and write the counts of its questions."""
    output = Output.of(options)
    name, location = options.name, options.location
    is_path = Path(name).exists() or Path(name).suffix.lower() in (".gz", ".json", ".jsonl")
    if name.partition("/")[0] not in DATASETS and location is None and is_path:
        name, location = "golden", Path(name)
    records = load_dataset(
        name,
        location,
        split=options.split,
        samples=options.samples,
        unanswerable_ratio=options.unanswerable_ratio,
        seed=options.seed,
    )
    settings = {
        "split": options.split,
        "samples": options.samples,
        "unanswerable_ratio": options.unanswerable_ratio,
        "seed": options.seed,
    }
    counts = Result(
        f"Questions of {name}",
        dataset_counts(records),
        {key: value for key, value in settings.items() if value is not None},
        headline=_COUNTED,
    )
    output.write({name: counts})
