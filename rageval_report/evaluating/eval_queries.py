"""The queries of eval: a file of records, or the questions of data sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from rageval_report.datasets import DATASETS, load_dataset
from rageval_report.errors import DataError
from rageval_report.evaluating.config import EvalConfig
from rageval_report.judges import Rubric
from rageval_report.readers.record_files import read_records
from rageval_report.records import FIELDS
from rageval_report.records.table import concatenate_rows
from rageval_report.runner import RunConfig
from rageval_report.runner.record_files import ANSWER_COLUMNS
from rageval_report.runner.query_source import queries_of
from rageval_report.scores.query_ids import check_known_ids

_LINES = (".jsonl", ".ndjson")

# The column with the texts that should be found: no pipeline may see them.
_GOLD_TEXTS = "passages"


@dataclass(frozen=True, eq=False)
class QuerySource:
    """The queries, and how they are asked.

    Parameters
    ----------
    queries : path, DataFrame or other table
        A file of lines is read line by line by the runner.
    run : RunConfig
        Without a number of samples if samples were drawn from data sets already.
    about : dict
        The origin of the queries, if they do not come from a file.
    """

    queries: object
    run: RunConfig
    about: dict[str, Any]


def query_source(config: EvalConfig) -> QuerySource:
    """The queries that the settings name.

    Raises
    ------
    DataError
        If they name none, or no query has one of the ids that they name.
    """
    if not config.query_ids:
        return _all_queries(config)
    every = _all_queries(replace(config, run=replace(config.run, samples=None)))
    ids = list(config.query_ids)
    about = {**every.run.about, "query_ids": ids}
    run = replace(every.run, about=about)
    return QuerySource(_named_queries(every.queries, ids), run, {**every.about, "query_ids": ids})


def _named_queries(queries: object, ids: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of the queries with these ids, in the order of all queries."""
    every = queries_of(queries)
    wanted = set(ids)
    rows = {
        query.query_id: {
            **query.other_fields,
            "query_id": query.query_id,
            "question": query.question,
        }
        for query in every
        if query.query_id in wanted
    }
    if len(rows) < len(wanted):
        check_known_ids(ids, {query.query_id for query in every})
    return list(rows.values())


def _all_queries(config: EvalConfig) -> QuerySource:
    run = config.run
    if config.datasets:
        names = _split_names(config.datasets)
        table = dataset_questions(names, split=config.split, samples=run.samples, seed=run.seed)
        origin = {"datasets": names, "samples_per_dataset": run.samples, "seed": run.seed}
        about = {**run.about, **origin, "split": config.split}
        # The sample was drawn from each data set; the runner must not draw again.
        return QuerySource(table, replace(run, samples=None, about=about), origin)
    if config.table is not None:
        return QuerySource(config.table, run, {})
    if run.records is None:
        raise DataError("queries must be a table or a file, or datasets must be named; got neither")
    if Path(run.records).suffix.lower() in _LINES:
        return QuerySource(run.records, run, {})
    return QuerySource(read_records(run.records), run, {})


def _split_names(texts: Sequence[str]) -> list[str]:
    """The names in texts that are joined by commas; a path that contains a comma stays whole."""
    return [
        part.strip()
        for text in texts
        for part in ([text] if Path(text.rpartition("=")[2]).exists() else text.split(","))
        if part.strip()
    ]


def dataset_questions(
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
        Records, with the name of the set in ``dataset``. If there are several sets, ids start with
        the name of their set, such as "squad_v2:56be", because two sets may use the same ids.

    Raises
    ------
    DataError
        If a set is named twice.
    """
    tables: dict[str, pd.DataFrame] = {}
    for text in names:
        name, path = _parse_dataset(text)
        is_golden = name == str(path)
        title = Path(name).stem if is_golden else name
        if title in tables:
            raise DataError(f"the data set {title!r} is named twice")
        table = load_dataset(
            "golden" if is_golden else name, path, split=split, samples=samples, seed=seed
        )
        tables[title] = table.drop(columns=_GOLD_TEXTS, errors="ignore").assign(dataset=title)
    if len(tables) == 1:
        return next(iter(tables.values()))
    for title, table in tables.items():
        # Ids of two data sets may be equal.
        table.index = (title + ":" + table.index.astype(str)).rename(table.index.name)
    return concatenate_rows(tables.values())


def _parse_dataset(text: str) -> tuple[str, Path | None]:
    """The name of a data set and its path; the name of a golden set is its path."""
    name, equals, path = text.partition("=")
    if equals and name.partition("/")[0] in DATASETS:
        return name.strip(), Path(path.strip())
    if text.partition("/")[0] not in DATASETS and Path(text).exists():
        return text, Path(text)
    return text, None


def check_gold(rubrics: Iterable[Rubric], queries: object) -> None:
    """Refuse rubrics that need a field that no query has, before anything is asked.

    Fields that the pipeline gives, such as contexts, are not known yet.

    Raises
    ------
    DataError
        If no query has the field.
    """
    answered = {*ANSWER_COLUMNS, "question", "query_id"}
    missing = {
        field: rubric.name for rubric in rubrics for field in rubric.needs if field not in answered
    }
    if not missing:
        return
    rows = queries_of(queries)
    for query in rows:
        for field in [name for name in missing if _has_field(query.other_fields, name)]:
            del missing[field]
        if not missing:
            return
    field, rubric_name = next(iter(missing.items()))
    raise DataError(
        f"{rubric_name} cannot be judged: the queries have no {field} (0 of {len(rows)})"
    )


def _has_field(row: Mapping[str, Any], field: str) -> bool:
    """Whether a query has a field, by any of its names."""
    return any(row.get(name) not in (None, "", []) for name in (field, *FIELDS.get(field, ())))
