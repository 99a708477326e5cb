"""What an evaluation asks, and what it computes and judges if nothing is named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from rageval_report.datasets import DATASETS, load_dataset
from rageval_report.errors import DataError
from rageval_report.judges import Rubric
from rageval_report.metrics.record_scores import VIEWS, computable
from rageval_report.readers.record_files import read_records
from rageval_report.records import FIELDS
from rageval_report.records.table import concatenate_rows
from rageval_report.runner.collecting import ANSWER_COLUMNS
from rageval_report.runner.eval_config import EvalConfig, MetricGroups
from rageval_report.runner.query_source import queries_of
from rageval_report.scores.catalogue.dialects import DialectName, dialect_of_name
from rageval_report.scores.query_ids import check_known_ids

_LINES = (".jsonl", ".ndjson")
# The column with the texts that should be found: no pipeline may see them.
_GOLD_TEXTS = "passages"

# -- the default metrics: those whose fields the records have

_DEFAULTS: tuple[tuple[str, str], ...] = (
    ("relevant retrieved", "recall@5 ndcg@10 reciprocal_rank"),
    ("reference answer", "exact_match token_f1"),
    ("negative_reference answer", "negative_reference_hit"),
    ("relevant citations", "citation_f1"),
    ("answerable answer", "false_refusal hallucinated_answer"),
    ("latency_ms", "latency_ms"),
)
# What is judged if a judge is named but no rubric.
JUDGED: tuple[tuple[tuple[str, ...], str], ...] = (
    (("answer", "contexts"), "faithfulness"),
    (("answer", "reference"), "answer_correctness"),
    (("answer",), "answer_relevancy"),
)


def allowed_metrics(
    records: pd.DataFrame,
    groups: MetricGroups | None = None,
    dialect: DialectName | None = None,
) -> list[str]:
    """The metrics whose fields the records have: of a dialect, of groups, or the usual ones."""
    rules = dialect_of_name(dialect)
    if rules is not None:
        return [
            name
            for name, metric in computable(rules.default_names(), rules).items()
            if _has_fields(records, VIEWS[metric.needs].fields or (metric.known_as,))
        ]
    candidates = [(fields.split(), names.split()) for fields, names in _DEFAULTS]
    if groups is not None:
        candidates = groups.by_fields()
    return [name for fields, names in candidates if _has_fields(records, fields) for name in names]


def allowed_rubrics(records: pd.DataFrame) -> list[str]:
    """The rubrics of `JUDGED` whose fields the records have."""
    return [name for fields, name in JUDGED if _has_fields(records, fields)]


def _has_fields(records: pd.DataFrame, fields: Iterable[str]) -> bool:
    return all(name in records and records[name].notna().any() for name in fields)


# -- the queries


@dataclass(frozen=True, eq=False)
class QuerySource:
    """The queries, and how they are asked; `about` says where they come from."""

    queries: object
    config: EvalConfig
    about: dict[str, Any]


def query_source(config: EvalConfig) -> QuerySource:
    """The queries that the settings name."""
    if not config.query_ids:
        return _all_queries(config)
    every = _all_queries(replace(config, samples=None))
    ids = list(config.query_ids)
    queries = queries_of(every.queries)
    check_known_ids(ids, {query.query_id for query in queries})
    rows = [query.row_as_given for query in queries if query.query_id in ids]
    about = {**every.about, "query_ids": ids}
    return QuerySource(rows, replace(every.config, about={**config.about, **about}), about)


def _all_queries(config: EvalConfig) -> QuerySource:
    if config.datasets:
        names = _split_names(config.datasets)
        table = dataset_questions(
            names, split=config.split, samples=config.samples, seed=config.seed
        )
        origin = {
            "datasets": names,
            "samples_per_dataset": config.samples,
            "seed": config.seed,
        }
        about = {**config.about, **origin, "split": config.split}
        # The sample was drawn from each data set; the runner must not draw again.
        return QuerySource(table, replace(config, samples=None, about=about), origin)
    queries = config.queries
    if queries is None:
        raise DataError("queries must be a table or a file, or datasets must be named; got neither")
    if isinstance(queries, str | Path) and Path(queries).suffix.lower() not in _LINES:
        queries = read_records(queries)
    return QuerySource(queries, config, {})


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
    """The questions of data sets as one table, without the texts that hold the answers."""
    tables: dict[str, pd.DataFrame] = {}
    for text in names:
        name, _, place = text.partition("=")
        path: Path | None = None
        if place and name.partition("/")[0] in DATASETS:
            name, path = name.strip(), Path(place.strip())
        else:
            name = text
        title = name
        if path is None and name.partition("/")[0] not in DATASETS and Path(text).exists():
            title, name, path = Path(text).stem, "golden", Path(text)  # a golden set by its path
        if title in tables:
            raise DataError(f"the data set {title!r} is named twice")
        table = load_dataset(name, path, split=split, samples=samples, seed=seed)
        tables[title] = table.drop(columns=_GOLD_TEXTS, errors="ignore").assign(dataset=title)
    if len(tables) == 1:
        return next(iter(tables.values()))
    for title, table in tables.items():
        # Ids of two data sets may be equal.
        table.index = (title + ":" + table.index.astype(str)).rename(table.index.name)
    return concatenate_rows(tables.values())


def check_gold(rubrics: Iterable[Rubric], queries: object) -> None:
    """Refuse rubrics that need a field that no query has, before anything is asked."""
    answered = {*ANSWER_COLUMNS, "question", "query_id"}
    needs = {name: rubric.name for rubric in rubrics for name in rubric.needs}
    missing = {name: rubric for name, rubric in needs.items() if name not in answered}
    if not missing:
        return
    rows = queries_of(queries)
    for name, rubric in missing.items():
        if not any(_has_field(query.other_fields, name) for query in rows):
            raise DataError(
                f"{rubric} cannot be judged: the queries have no {name} (0 of {len(rows)})"
            )


def _has_field(row: Mapping[str, Any], field: str) -> bool:
    """Whether a query has a field, by any of its names."""
    return any(row.get(name) not in (None, "", []) for name in (field, *FIELDS.get(field, ())))
