"""CLAP NQ: questions of people with one passage each, and answers of several sentences."""

from __future__ import annotations

from typing import Any

from rageval_report.datasets.base import (
    Dataset,
    Record,
    Row,
    distinct_texts,
    passage_id,
    require_field,
    require_rows,
    to_mappings,
)
from rageval_report.datasets.row_sources import Hub, table_parts


def clapnq_rows(document: Any) -> list[Row]:
    """The rows of a CLAP NQ file: a question each.

    Parameters
    ----------
    document : object
        Rows, or one row.

    Raises
    ------
    DataError
        If it is neither.
    """
    return require_rows(document, "passages", 'rows with "id", "input", "passages" and "output"')


def clapnq_record(row: Row) -> Record:
    """The record of a question; where every answer is blank there is none, and no gold.

    Parameters
    ----------
    row : mapping
        A row of `clapnq_rows`.
    """
    passages = {
        passage_id(str(one.get("title", "")), text): text
        for one in to_mappings(row["passages"])
        for text in [require_field(one, "text", str)]
    }
    outputs = row.get("output")
    answers = distinct_texts(one.get("answer") for one in to_mappings(outputs))
    answerable = None if outputs is None else bool(answers)
    return {
        "query_id": require_field(row, "id", str),
        "question": require_field(row, "input", str).strip(),
        "reference": answers or None,
        "answerable": answerable,
        "relevant": dict.fromkeys(passages, 1.0) if answerable else None,
        "query_type": "unanswerable" if answerable is False else None,
        "domain": "wikipedia",
        "passages": passages,
    }


CLAPNQ = Dataset(
    "clapnq",
    "Questions of people with a passage each; answers of several sentences, or none",
    "Apache-2.0; texts CC BY-SA 3.0",
    "4,946: train 3,745; dev 601; test 600",
    table_parts(clapnq_rows, clapnq_record, Hub("PrimeQA/clapnq", None), "validation"),
    homepage="https://github.com/primeqa/clapnq",
)
