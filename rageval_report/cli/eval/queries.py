"""The queries of eval: a file of records, or the questions of data sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import rageval_report
from rageval_report._registry import load
from rageval_report.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from rageval_report.cli.eval.config import EvalConfig
    from rageval_report.judges import Rubric
    from rageval_report.runner import RunConfig

_LINES = (".jsonl", ".ndjson")
_WING = "rageval_report.datasets"

# The texts of what should be found: no pipeline is shown them.
_GOLD_TEXTS = "passages"


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked, and how.

    Parameters
    ----------
    queries : path or DataFrame
        A file of lines is read line by line by the runner.
    run : RunConfig
        Without a number of samples where data sets were drawn from already.
    about : dict
        Where the queries come from, where that is not a file.
    """

    queries: str | pd.DataFrame
    run: RunConfig
    about: dict[str, Any]


def queries_of_config(config: EvalConfig) -> Asked:
    """The queries that the settings name.

    Raises
    ------
    UsageError
        If they name none.
    """
    run = config.run
    if config.datasets:
        drawn = {"samples_per_dataset": run.samples, "seed": run.seed}
        names = _parted(config.datasets)
        table = questions_of(names, split=config.split, samples=run.samples, seed=run.seed)
        about = {"datasets": names, "split": config.split, **drawn}
        asked = replace(run, samples=None, about={**run.about, **about})
        return Asked(table, asked, {"datasets": names, **drawn})
    if run.records is None:
        raise click.UsageError("Missing option '--records' or '--datasets'.")
    if Path(run.records).suffix.lower() in _LINES:
        return Asked(run.records, run, {})
    return Asked(rageval_report.read_records(run.records), run, {})


def _parted(told: Sequence[str]) -> list[str]:
    """The names, those that were joined by commas taken apart, but for a path with one in it."""
    return [
        part.strip()
        for one in told
        for part in ([one] if Path(one.rpartition("=")[2]).exists() else one.split(","))
        if part.strip()
    ]


def questions_of(
    names: Sequence[str], *, split: str | None = None, samples: int | None = None, seed: int = 0
) -> pd.DataFrame:
    """The questions of data sets as one table, without the texts that hold the answers.

    Parameters
    ----------
    names : sequence of str
        NAME, NAME=PATH, or the path of a golden set.
    split, samples, seed
        As for `rageval_report.datasets.load_dataset`, for each of them.

    Returns
    -------
    DataFrame
        Records, with the set's name in ``dataset``. Ids of several sets have the name before them,
        as "squad_v2:56be", for two sets may number their questions alike.

    Raises
    ------
    DataError
        If a set is named twice.
    """
    load_dataset = load(f"{_WING}:load_dataset")
    tables: dict[str, pd.DataFrame] = {}
    for told in names:
        name, place = _place(told)
        title = Path(name).stem if name == str(place) else name
        if title in tables:
            raise DataError(f"the data set {title!r} is named twice")
        kind = "golden" if name == str(place) else name
        found = load_dataset(kind, place, split=split, samples=samples, seed=seed)
        tables[title] = found.drop(columns=_GOLD_TEXTS, errors="ignore").assign(dataset=title)
    if len(tables) == 1:
        return next(iter(tables.values()))
    for title, table in tables.items():
        table.index = (title + ":" + table.index.astype(str)).rename(table.index.name)
    both: pd.DataFrame = load("pandas:concat")(tables.values())
    return both


def _place(told: str) -> tuple[str, Path | None]:
    """The name of a data set, and where it lies; a golden set goes by its path."""
    name, equals, place = told.partition("=")
    known = load(f"{_WING}:DATASETS")
    if equals and name.partition("/")[0] in known:
        return name.strip(), Path(place.strip())
    if told.partition("/")[0] not in known and Path(told).exists():
        return told, Path(told)
    return told, None


def check_gold(rubrics: Iterable[Rubric], queries: str | pd.DataFrame) -> None:
    """Refuse rubrics that need of the queries what none of them has, before anything is asked.

    What the pipeline gives, as its contexts, is not known yet.

    Raises
    ------
    DataError
        If no query has the field.
    """
    answered = {*load("rageval_report.runner.column_kinds:ANSWER_COLUMNS"), "question", "query_id"}
    wanting = {
        field: rubric.name for rubric in rubrics for field in rubric.needs if field not in answered
    }
    if not wanting:
        return
    asked = load("rageval_report.runner.query_source:queries_of")(queries)
    for query in asked:
        for field in [one for one in wanting if _holds(query.other_fields, one)]:
            del wanting[field]
        if not wanting:
            return
    field, name = next(iter(wanting.items()))
    raise DataError(f"{name} cannot be judged: the queries have no {field} (0 of {len(asked)})")


def _holds(given: dict[str, Any], field: str) -> bool:
    """Whether a query has a field, by any of its names."""
    names = (field, *load("rageval_report.records:FIELDS").get(field, ()))
    return any(given.get(name) not in (None, "", []) for name in names)
