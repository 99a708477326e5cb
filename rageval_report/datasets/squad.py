"""SQuAD 2: questions about paragraphs of Wikipedia, half of the dev set without an answer."""

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
from rageval_report.types import JsonObject


def squad_rows(document: object) -> list[JsonObject]:
    """The rows of a SQuAD file, flat: one per question.

    Parameters
    ----------
    document : JSON value
        The official JSON, or rows as the ``datasets`` library returns them.

    Raises
    ------
    DataError
        If the document is neither.

    Examples
    --------
    >>> paragraph = {"context": "A is b.", "qas": [{"id": "1", "question": "What is A?"}]}
    >>> squad_rows({"data": [{"title": "A", "paragraphs": [paragraph]}]})[0]["title"]
    'A'
    """
    if isinstance(document, dict) and "question" in document:
        return [document]  # a file of JSON Lines with one line
    if isinstance(document, list):
        return to_mappings(document)
    if not isinstance(document, dict) or "data" not in document:
        raise DataError('expected the official JSON, an object with "data", or rows of questions')
    return [
        {
            **question,
            "title": require_field(article, "title", str),
            "context": paragraph.get("context"),
        }
        for article in to_mappings(document["data"])
        for paragraph in to_mappings(require_field(article, "paragraphs", list))
        for question in to_mappings(require_field(paragraph, "qas", list))
    ]


def squad_record(row: JsonObject) -> RecordFields:
    """The record of a question.

    All answers are references. A question without an answer has no gold: its paragraph is about
    the subject but does not answer it; plausible but wrong answers are negative references. The
    set does not state the type of the other questions.

    Parameters
    ----------
    row : mapping
        A row of `squad_rows`.
    """
    title, context = require_field(row, "title", str), require_field(row, "context", str)
    answers = distinct_texts(_texts(row.get("answers")))
    answerable = not row.get("is_impossible", not answers)
    passage = passage_id(title, context)
    wrong = distinct_texts(_texts(row.get("plausible_answers")))
    return {
        "query_id": require_field(row, "id", str),
        "question": require_field(row, "question", str).strip(),
        "reference": answers or None,
        "negative_reference": wrong or None,
        "answerable": answerable,
        "relevant": {passage: 1.0} if answerable else None,
        "query_type": None if answerable else "unanswerable",
        "domain": title,
        "passages": {passage: context},
    }


def _texts(cell: object) -> list[Any]:
    return [item.get("text") for item in to_mappings(to_list(cell))]


SQUAD_V2 = Dataset(
    "squad_v2",
    "Questions about paragraphs of Wikipedia; half of the dev questions have no answer",
    "CC BY-SA 4.0",
    "train 130,319; validation 11,873",
    table_parts(squad_rows, squad_record, Hub("rajpurkar/squad_v2", "squad_v2"), "validation"),
    homepage="https://rajpurkar.github.io/SQuAD-explorer/",
)
