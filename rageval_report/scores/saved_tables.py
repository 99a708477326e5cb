"""The description of an evaluation that stands beside its rows in CSV, JSON Lines and Parquet.

A table of numbers does not say which of them are scores, which way is better, or that a cell was
NaN and not None. The description does, so that a saved table reads back as the same evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import pandas as pd

from rageval_report.errors import DataError
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.run_file import (
    SavedFacts,
    SavedFile,
    described,
    distinct_columns,
    get_field,
    parse_head,
)
from rageval_report.scores.saved_columns import Medium, save_column
from rageval_report.scores.table import Scored

TABLE_FORMAT = "rageval_report table"
# The key of the description: in Parquet's metadata, and in the first row of JSON Lines.
TABLE_KEY = "rageval_report"
# The ending of the file that describes a table of delimited text.
COMPANION = ".meta.json"


@dataclass(frozen=True, eq=False)
class TableDescription(SavedFile):
    """What a saved table says about itself."""

    n_queries: int  # the number of rows when it was written; 0 if the file does not say
    delimiter: str  # of delimited text

    @property
    def columns(self) -> list[str]:
        """The columns of the file, in order."""
        return [QUERY_ID, *self.details, *self.metrics]

    @property
    def detail_names(self) -> dict[str, str]:
        """The details that have another name in the file, with the name in the evaluation."""
        pairs = ((column, saved.name) for column, saved in self.details.items())
        return {column: name for column, name in pairs if column != name}


def describe_table(
    evaluation: Scored, medium: Medium, **facts: Unpack[SavedFacts]
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The rows of an evaluation as a file holds them, and their description as JSON.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> run = RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "topic": [""], "recall": [0.5]})
    >>> rows, document = describe_table(run, "text")
    >>> list(rows), list(document["metrics"]), document["details"]["topic"]["exceptions"]
    (['query_id', 'topic', 'recall'], ['recall'], [['', ['a']]])
    """
    ids = [str(query_id) for query_id in evaluation.scores.index]
    columns: dict[str, pd.Series] = {QUERY_ID: pd.Series(ids, dtype=object)}
    details: dict[str, Any] = {}
    for name, column in columns_of_details(evaluation).items():
        cells, saved = save_column(evaluation.details[name], str(name), ids, medium)
        columns[column] = cells.reset_index(drop=True)
        details[column] = saved.to_document()
    scores = evaluation.scores.reset_index(drop=True)
    columns |= {str(name): cells for name, cells in scores.items()}
    document = {
        **described(evaluation, TABLE_FORMAT, **facts),
        "n_queries": len(ids),
        "id": QUERY_ID,
        "details": details,
    }
    return pd.DataFrame(columns), document


def columns_of_details(evaluation: Scored) -> dict[str, str]:
    """The column of each detail in a file; one that is named like another column gets an ending."""
    if QUERY_ID in evaluation.scores:
        raise DataError(f"a metric is named {QUERY_ID!r}, as the column of ids; rename it")
    names = [str(name) for name in evaluation.details]
    return distinct_columns(names, {QUERY_ID, TABLE_KEY, *map(str, evaluation.scores)})


def parse_table_description(document: object) -> TableDescription:
    """The description that `describe_table` made, parsed from JSON.

    Raises
    ------
    DataError
        If a newer version wrote it, or a part is missing or of another type.
    """
    if not isinstance(document, Mapping) or document.get("format") != TABLE_FORMAT:
        raise DataError(f'expected an object with "format": "{TABLE_FORMAT}"')
    head = parse_head(document, "details")
    if document.get("id") != QUERY_ID:
        raise DataError(f"id must be {QUERY_ID!r}; got {document.get('id')!r:.60}")
    if not head["metrics"]:
        raise DataError("metrics must have at least one entry")
    n_queries, delimiter = (
        get_field(document, name, kind) for name, kind in (("n_queries", int), ("delimiter", str))
    )
    return TableDescription(**head, n_queries=n_queries, delimiter=delimiter)
