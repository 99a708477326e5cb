"""The description of an evaluation that stands beside its rows in CSV, JSON Lines and Parquet.

A table of numbers does not say which of them are scores, which way is better, or that a cell was
NaN and not None. The description does, so that a saved table reads back as the same evaluation.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any

import pandas as pd

from rageval_report._version import __version__
from rageval_report.errors import DataError
from rageval_report.files.digests import canonical_json, digest_of_parts, document_digest
from rageval_report.scores.correct import Correct, correct_fields, parse_correct
from rageval_report.scores.exact_values import plain_value
from rageval_report.scores.metric import Catalogue, Metric
from rageval_report.scores.metric_fields import metric_fields, metric_from_fields
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.run_file import distinct_columns, parse_created, parse_results
from rageval_report.scores.saved_columns import (
    Medium,
    SavedColumn,
    changed_cells_notes,
    save_column,
)
from rageval_report.scores.table import Scored
from rageval_report.types import JsonObject

TABLE_FORMAT = "rageval_report table"
TABLE_FORMAT_VERSION = 1
# The version of tables whose formulas are neutralised, the only difference, and how they say so.
NEUTRALISED_VERSION = 2
NEUTRALISED = "neutralised"
# The key of the description: in Parquet's metadata, and in the first row of JSON Lines.
TABLE_KEY = "rageval_report"
# The key of the digest of the description; "digest" is that of the text beside it.
DESCRIPTION_DIGEST = "description_digest"
# The key of the digests of the rows of JSON Lines, which may be sorted or left out.
ROW_DIGESTS = "row_digests"
_DIGITS_PER_ROW = 16
_MOST_EXACT = 2**53  # beyond it, a float and an integer of the same value may be read differently
# The key that says that the pages of a Parquet file have checksums.
PAGE_CHECKSUMS = "page_checksums"
# The ending of the file that describes a table of delimited text.
COMPANION = ".meta.json"


@dataclass(frozen=True, eq=False)
class TableDescription:
    """What a saved table says about itself.

    Parameters
    ----------
    name : str
        The name of the pipeline.
    version : str
        The version of rageval_report that wrote it.
    n_queries : int
        The number of rows when it was written; 0 if the file does not say.
    metrics : dict of str to Metric
        By the column in the file.
    details : dict of str to SavedColumn
        By the column in the file.
    notes : tuple of str
        Guesses and corrections that were made when the rows were first read.
    config : dict
        The configuration of the pipeline.
    created : datetime, optional
        When the pipeline was run.
    correct : optional
        The rule for a correct answer.
    digest : str
        The digest of the text that it describes, of delimited text.
    delimiter : str
        The delimiter of that text.
    is_neutralised : bool
        Whether an apostrophe stands before each text that a spreadsheet would compute.
    row_digests : frozenset of str, optional
        The digests of the rows, of JSON Lines; None if the file has none.
    has_checksums : bool
        Whether the pages of the file have checksums, of Parquet.
    results : dict of str to dict
        Tables of the run, such as the weighted score, as ``Result.to_dict`` gave them.
    """

    name: str
    version: str
    n_queries: int
    metrics: dict[str, Metric]
    details: dict[str, SavedColumn]
    notes: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)
    created: datetime | None = None
    correct: Correct | None = None
    digest: str = ""
    delimiter: str = ""
    is_neutralised: bool = False
    row_digests: frozenset[str] | None = None
    has_checksums: bool = False
    results: dict[str, JsonObject] = field(default_factory=dict)

    def changed_rows(self, rows: Iterable[Mapping[str, Any]]) -> list[str]:
        """The ids of the rows that are not as they were written; rows may be left out or sorted."""
        if self.row_digests is None:
            return []
        columns = self.columns
        return [
            str(row.get(QUERY_ID))
            for row in rows
            if row_digest(row, columns) not in self.row_digests
        ]

    def removed_columns(self, present: Container[str]) -> list[str]:
        """The columns that the file had and has no more; without them no row has its digest."""
        return [name for name in self.columns if name not in present]

    @property
    def columns(self) -> list[str]:
        """The columns of the file, in order."""
        return [QUERY_ID, *self.details, *self.metrics]

    @property
    def detail_names(self) -> dict[str, str]:
        """The details that have another name in the file, with the name in the evaluation."""
        pairs = ((column, saved.name) for column, saved in self.details.items())
        return {column: name for column, name in pairs if column != name}


# -- writing


def describe_table(
    evaluation: Scored,
    medium: Medium,
    *,
    config: Mapping[str, Any] | None = None,
    notes: Iterable[str] = (),
    created: datetime | None = None,
    correct: Correct | None = None,
    results: Mapping[str, JsonObject] | None = None,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The rows of an evaluation as a file holds them, and their description as JSON.

    Parameters
    ----------
    evaluation : Scored
        The evaluation to save.
    medium : {"text", "json", "arrow"}
        What the file holds: texts, JSON values, or Parquet's types.
    config, notes, created, correct, results
        As for `rageval_report.scores.write.save_scores`.

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
    columns |= {
        str(name): cells.reset_index(drop=True) for name, cells in evaluation.scores.items()
    }
    document = {
        "format": TABLE_FORMAT,
        "format_version": TABLE_FORMAT_VERSION,
        "version": __version__,
        "name": evaluation.name,
        **({} if created is None else {"created": created.isoformat()}),
        "config": plain_value(dict(config or {})),
        **correct_fields(correct),
        "notes": list(notes),
        "n_queries": len(ids),
        "id": QUERY_ID,
        "metrics": {name: metric_fields(metric) for name, metric in evaluation.metrics.items()},
        "details": details,
        **({"results": dict(results)} if results else {}),
    }
    return pd.DataFrame(columns), document


def columns_of_details(evaluation: Scored) -> dict[str, str]:
    """The column of each detail in a file; one that is named like another column gets an ending.

    Raises
    ------
    DataError
        If a metric is named "query_id".

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> rows = {"query_id": ["a"], "Recall": [0.5], "recall": ["high"]}
    >>> columns_of_details(RAGPipelineEvaluation("hybrid", rows, metrics=["Recall"]))
    {'recall': 'recall_detail'}
    """
    if QUERY_ID in evaluation.scores:
        raise DataError(f"a metric is named {QUERY_ID!r}, as the column of ids; rename it")
    names = [str(name) for name in evaluation.details]
    return distinct_columns(names, {QUERY_ID, TABLE_KEY, *map(str, evaluation.scores)})


def digest_of(text: bytes) -> str:
    """The digest of a text, by which its description knows it.

    Examples
    --------
    >>> digest_of(b"query_id,recall")
    'blake2b:2e1d2e9ebf9ac419eb529edbca8ac706'
    """
    return "blake2b:" + blake2b(text, digest_size=16).hexdigest()


def row_digest(row: Mapping[str, Any], columns: Iterable[str]) -> str:
    """The digest of a row of JSON Lines, whatever the order of its members.

    Parameters
    ----------
    row : mapping
        The row, as JSON holds it. A member that is absent counts as null, and 1.0 as 1, because
        programs that sort or filter rows write them differently.
    columns : iterable of str
        The columns that are described; those that were added later do not count.

    Examples
    --------
    >>> row_digest({"recall": 1.0, "query_id": "a"}, ["query_id", "recall", "topic"])
    '68a80b4e14095900'
    """
    cells = [_plain_number(row.get(column)) for column in columns]
    return digest_of_parts([canonical_json(cells)]).hex()[:_DIGITS_PER_ROW]


def _plain_number(cell: Any) -> Any:
    if type(cell) is not float or not cell.is_integer() or abs(cell) > _MOST_EXACT:
        return cell
    # The sign of -0.0 would be lost.
    return int(cell) if cell or str(cell) == "0.0" else cell


def sealed_description(document: Mapping[str, Any]) -> dict[str, Any]:
    """The description of a table with its own digest as the last member.

    Examples
    --------
    >>> list(sealed_description({"name": "hybrid"}))
    ['name', 'description_digest']
    """
    return {**document, DESCRIPTION_DIGEST: description_digest(document)}


def description_digest(document: Mapping[str, Any]) -> str:
    """The digest of a description, without the member that holds it."""
    return document_digest(document, without=(DESCRIPTION_DIGEST,))


# -- reading


def parse_table_description(document: object) -> TableDescription:
    """The description that `describe_table` made.

    Parameters
    ----------
    document : object
        Parsed JSON.

    Raises
    ------
    DataError
        If a newer version wrote it, or it is damaged: the message says which.
    """
    if not isinstance(document, Mapping) or document.get("format") != TABLE_FORMAT:
        raise DataError(f'expected an object with "format": "{TABLE_FORMAT}"')
    format_version = document.get("format_version")
    version = str(document.get("version", "of a later version"))
    if type(format_version) is not int or format_version < 1:
        raise DataError(f"format_version must be an integer >= 1; got {format_version!r:.60}")
    is_neutralised = document.get("formulas") == NEUTRALISED
    if format_version > (NEUTRALISED_VERSION if is_neutralised else TABLE_FORMAT_VERSION):
        raise DataError(
            f"format version {format_version}, of rageval_report {version}, is newer than this "
            f"version {__version__} can read: update rageval_report"
        )
    if document.get(DESCRIPTION_DIGEST, "") not in ("", description_digest(document)):
        raise DataError("it is damaged, or was changed: it does not have its own digest")
    if document.get("id") != QUERY_ID:
        raise DataError(f"id must be {QUERY_ID!r}; got {document.get('id')!r:.60}")
    delimiter = _get(document, "delimiter", str)
    if delimiter not in ("", ",", "\t"):
        raise DataError(f"delimiter must be a comma or a tab; got {delimiter!r:.60}")
    catalogue = Catalogue()
    metrics = {
        name: metric_from_fields(name, fields, catalogue)
        for name, fields in _get(document, "metrics", dict).items()
    }
    if not metrics:
        raise DataError("metrics must have at least one entry")
    details = {
        column: SavedColumn.of_document(fields, column)
        for column, fields in _get(document, "details", dict).items()
    }
    correct, notes = parse_correct(document)
    return TableDescription(
        *(str(document.get("name") or "scores"), version, _get(document, "n_queries", int)),
        *(metrics, details),
        notes=(
            *map(str, _get(document, "notes", list)),
            *notes,
            *changed_cells_notes(details.values()),
        ),
        config=dict(_get(document, "config", dict)),
        created=parse_created(document.get("created")),
        correct=correct,
        digest=_get(document, "digest", str),
        delimiter=delimiter,
        is_neutralised=is_neutralised,
        row_digests=_parse_row_digests(document),
        has_checksums=_get(document, PAGE_CHECKSUMS, bool),
        results=parse_results(document),
    )


def _parse_row_digests(document: Mapping[str, Any]) -> frozenset[str] | None:
    if ROW_DIGESTS not in document:
        return None
    digits = _get(document, ROW_DIGESTS, str)
    starts = range(0, len(digits), _DIGITS_PER_ROW)
    return frozenset(digits[start : start + _DIGITS_PER_ROW] for start in starts)


def _get(document: Mapping[str, Any], name: str, kind: type) -> Any:
    value = document.get(name, kind())
    if type(value) is not kind:
        raise DataError(f"{name} has the wrong type: {value!r:.60}")
    return value
