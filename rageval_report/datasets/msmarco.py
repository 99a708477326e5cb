"""MS MARCO question answering: queries of a search engine, each with ten passages."""

from __future__ import annotations

from typing import Any

from rageval_report.datasets.base import (
    Dataset,
    RecordFields,
    distinct_texts,
    passage_id,
    require_field,
    to_list,
    to_mappings,
)
from rageval_report.datasets.row_sources import Hub, table_parts
from rageval_report.errors import DataError
from rageval_report.files.strict_json import load_json
from rageval_report.types import JsonObject

# The set's own marker of unanswerable queries, in any case of letters.
_NO_ANSWER = "no answer present."
_NAMES = ("query_id", "query", "passages", "answers", "query_type", "wellFormedAnswers")


def msmarco_rows(document: object) -> list[JsonObject]:
    """The rows of an MS MARCO file: one per query.

    Parameters
    ----------
    document : JSON value
        The official JSON, an object of columns; or rows.

    Raises
    ------
    DataError
        If the document is neither.

    Examples
    --------
    >>> columns = {"query": {"0": "what is it"}, "query_id": {"0": 7}}
    >>> msmarco_rows(columns)
    [{'query_id': 7, 'query': 'what is it'}]
    """
    if isinstance(document, list):
        return to_mappings(document)
    if not isinstance(document, dict) or "query" not in document:
        raise DataError('expected the official JSON, an object with "query", or rows of queries')
    if not isinstance(document["query"], dict):
        return [document]  # a file of JSON Lines with one line
    columns = {name: document[name] for name in _NAMES if isinstance(document.get(name), dict)}
    return [
        {name: column[key] for name, column in columns.items() if key in column}
        for key in document["query"]
    ]


def msmarco_record(row: JsonObject) -> RecordFields:
    """The record of a query; gold are the passages that an annotator selected.

    Parameters
    ----------
    row : mapping
        A row of `msmarco_rows`.
    """
    passages = [
        (require_field(passage, "passage_text", str), passage.get("is_selected") == 1)
        for passage in to_mappings(row.get("passages"))
    ]
    ids = [passage_id("msmarco", text) for text, _ in passages]
    written = distinct_texts([*_texts(row.get("wellFormedAnswers")), *_texts(row.get("answers"))])
    answers = [answer for answer in written if answer.strip().lower() != _NO_ANSWER]
    answerable = bool(answers) if written else None
    gold = {doc_id: 1.0 for doc_id, (_, selected) in zip(ids, passages, strict=True) if selected}
    return {
        "query_id": row.get("query_id"),
        "question": require_field(row, "query", str).strip(),
        "reference": answers or None,
        "answerable": answerable,
        "relevant": gold or None,
        "query_type": "unanswerable" if answerable is False else _lower(row.get("query_type")),
        "domain": "web",
        "passages": dict(zip(ids, (text for text, _ in passages), strict=True)),
    }


def _texts(cell: object) -> list[Any]:
    """Answers; the official file writes an empty list as the text "[]"."""
    if isinstance(cell, str):
        try:
            cell = load_json(cell)
        except (ValueError, RecursionError):
            return [cell]
    return to_list(cell)


def _lower(value: object) -> str | None:
    return value.lower() if isinstance(value, str) else None


MSMARCO = Dataset(
    "msmarco",
    "Queries of a search engine, with ten passages each and answers written by annotators",
    "non-commercial research (Microsoft's terms)",
    "train 808,731; validation 101,093; test 101,092 (v2.1)",
    table_parts(msmarco_rows, msmarco_record, Hub("microsoft/ms_marco", "v2.1"), "validation"),
    homepage="https://microsoft.github.io/msmarco/",
)
