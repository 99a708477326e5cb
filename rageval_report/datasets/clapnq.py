"""CLAP NQ: questions of users, each with one passage and an answer of several sentences."""

from __future__ import annotations

from rageval_report.datasets.base import (
    Dataset,
    RecordFields,
    distinct_texts,
    passage_id,
    require_field,
    require_rows,
    to_mappings,
)
from rageval_report.datasets.row_sources import Hub, table_parts
from rageval_report.types import JsonObject


def clapnq_rows(document: object) -> list[JsonObject]:
    """The rows of a CLAP NQ file: one per question.

    Parameters
    ----------
    document : JSON value
        Rows, or one row.

    Raises
    ------
    DataError
        If the document is neither.
    """
    return require_rows(document, "passages", 'rows with "id", "input", "passages" and "output"')


def clapnq_record(row: JsonObject) -> RecordFields:
    """The record of a question; if every answer is blank, the question has no answer and no gold.

    Parameters
    ----------
    row : mapping
        A row of `clapnq_rows`.
    """
    passages = {
        passage_id(str(passage.get("title", "")), text): text
        for passage in to_mappings(row["passages"])
        for text in [require_field(passage, "text", str)]
    }
    outputs = row.get("output")
    answers = distinct_texts(output.get("answer") for output in to_mappings(outputs))
    # A row without outputs does not say whether there is an answer.
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
    "Questions of users with one passage each; answers of several sentences, or none",
    "Apache-2.0; texts CC BY-SA 3.0",
    "4,946: train 3,745; dev 601; test 600",
    table_parts(clapnq_rows, clapnq_record, Hub("PrimeQA/clapnq", None), "validation"),
    homepage="https://github.com/primeqa/clapnq",
)
