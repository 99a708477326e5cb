"""The commands on data sets: which are known, and what one holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rageval_report._registry import load
from rageval_report.cli.group import examples
from rageval_report.cli.options import output_options
from rageval_report.cli.output import Output

if TYPE_CHECKING:
    import pandas as pd

    from rageval_report.results import Result

_WING = "rageval_report.datasets"
_LISTED = ("dataset", "questions", "licence")
_COUNTED = ("by", "value", "n", "share")


@click.command(
    epilog=examples("rageval-report datasets", "rageval-report datasets --format markdown")
)
@output_options
def datasets(output: Output) -> None:
    """List the data sets that can be loaded, with licence and size."""
    frame = load(f"{_WING}:dataset_list")()
    subsets = [one for one in zip(frame["dataset"], frame["subsets"], strict=True) if one[1]]
    notes = tuple(f"subsets of {name}, as {name}/...: {told}" for name, told in subsets)
    result = load("rageval_report:Result")("Data sets", frame, {}, notes, headline=_LISTED)
    output.write({"datasets": result})


@click.command(
    epilog=examples(
        "rageval-report stats golden.jsonl",
        "rageval-report stats beir --path nfcorpus.zip --split test",
        "rageval-report stats golden.jsonl --format json",
    )
)
@click.argument("name", metavar="NAME_OR_PATH")
@click.option(
    "--path",
    "place",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Where the set lies.",
)
@click.option("--split", metavar="NAME", help="As train, validation, test.")
@click.option("--samples", type=int, metavar="N", help="Draw so many questions; all if not given.")
@click.option(
    "--unanswerable-ratio",
    type=float,
    metavar="SHARE",
    help="The share that has no answer, as 0.3; as in the set if not given.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="For what is drawn.")
@output_options
def stats(
    name: str,
    place: Path | None,
    split: str | None,
    samples: int | None,
    unanswerable_ratio: float | None,
    seed: int,
    output: Output,
) -> None:
    """Count the questions of a data set by type, domain, difficulty, answerable.

    NAME_OR_PATH is a name that `datasets` lists, as squad_v2 or ragbench/covidqa, or the path of a
    golden set. Without --path a set is fetched.
    """
    known = load(f"{_WING}:DATASETS")
    is_path = Path(name).exists() or Path(name).suffix.lower() in (".gz", ".json", ".jsonl")
    if name.partition("/")[0] not in known and place is None and is_path:
        name, place = "golden", Path(name)
    settings: dict[str, object] = {
        "split": split,
        "samples": samples,
        "unanswerable_ratio": unanswerable_ratio,
        "seed": seed,
    }
    records = load(f"{_WING}:load_dataset")(name, place, **settings)
    shown = {key: value for key, value in settings.items() if value is not None}
    output.write({name: _counted(name, records, shown)})


def _counted(name: str, records: pd.DataFrame, settings: dict[str, object]) -> Result:
    frame = load(f"{_WING}:dataset_counts")(records)
    found = load("rageval_report:Result")
    counted: Result = found(f"Questions of {name}", frame, settings, headline=_COUNTED)
    return counted
