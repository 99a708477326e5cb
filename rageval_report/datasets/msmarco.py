"""MS MARCO question answering: what people asked a search engine, with ten passages each."""

from __future__ import annotations

import json
from typing import Any

from rageval_report.datasets.base import (
    Dataset,
    Record,
    Row,
    distinct_texts,
    passage_id,
    require_field,
    to_list,
    to_mappings,
)
from rageval_report.datasets.row_sources import Hub, table_parts
from rageval_report.errors import DataError

_NO_ANSWER = "no answer present."
_NAMES = ("query_id", "query", "passages", "answers", "query_type", "wellFormedAnswers")


def msmarco_rows(document: Any) -> list[Row]:
    """The rows of an MS MARCO file: a query each.

    Parameters
    ----------
    document : object
        The official JSON, an object of columns; or rows.

    Raises
    ------
    DataError
        If it is neither.

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


def msmarco_record(row: Row) -> Record:
    """The record of a query; gold are the passages that an annotator selected, and no others.

    Parameters
    ----------
    row : mapping
        A row of `msmarco_rows`.
    """
    passages = [
        (require_field(one, "passage_text", str), one.get("is_selected") == 1)
        for one in to_mappings(row.get("passages"))
    ]
    ids = [passage_id("msmarco", text) for text, _ in passages]
    written = distinct_texts([*_texts(row.get("wellFormedAnswers")), *_texts(row.get("answers"))])
    answers = [one for one in written if one.strip().lower() != _NO_ANSWER]
    answerable = bool(answers) if written else None
    gold = {one: 1.0 for one, (_, selected) in zip(ids, passages, strict=True) if selected}
    told = row.get("query_type")
    return {
        "query_id": row.get("query_id"),
        "question": require_field(row, "query", str).strip(),
        "reference": answers or None,
        "answerable": answerable,
        "relevant": gold or None,
        "query_type": "unanswerable" if answerable is False else _lower(told),
        "domain": "web",
        "passages": dict(zip(ids, (text for text, _ in passages), strict=True)),
    }


def _texts(cell: object) -> list[Any]:
    """Answers; the official file writes an empty list as the text "[]"."""
    if isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except ValueError:
            return [cell]
    return to_list(cell)


def _lower(told: object) -> str | None:
    return told.lower() if isinstance(told, str) else None


MSMARCO = Dataset(
    "msmarco",
    "What people asked a search engine, with ten passages each and answers in words of their own",
    "non-commercial research (Microsoft's terms)",
    "train 808,731; validation 101,093; test 101,092 (v2.1)",
    table_parts(msmarco_rows, msmarco_record, Hub("microsoft/ms_marco", "v2.1"), "validation"),
    homepage="https://microsoft.github.io/msmarco/",
)
