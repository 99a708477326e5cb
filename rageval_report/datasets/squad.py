"""SQuAD 2: questions on paragraphs of Wikipedia, half of them without an answer."""

from __future__ import annotations

from typing import Any

from rageval_report.datasets.base import (
    Dataset,
    Record,
    Row,
    distinct,
    listed,
    mappings,
    needed,
    passage_id,
)
from rageval_report.datasets.tables import Hub, table_parts
from rageval_report.errors import DataError


def squad_rows(document: Any) -> list[Row]:
    """The rows of a SQuAD file, flat: a question each.

    Parameters
    ----------
    document : object
        The official JSON, or rows as the ``datasets`` library gives them.

    Raises
    ------
    DataError
        If it is neither.

    Examples
    --------
    >>> paragraph = {"context": "A is b.", "qas": [{"id": "1", "question": "What is A?"}]}
    >>> squad_rows({"data": [{"title": "A", "paragraphs": [paragraph]}]})[0]["title"]
    'A'
    """
    if isinstance(document, dict) and "question" in document:
        return [document]  # a file of JSON Lines with one line
    if isinstance(document, list):
        return mappings(document)
    if not isinstance(document, dict) or "data" not in document:
        raise DataError('expected the official JSON, an object with "data", or rows of questions')
    return [
        {**asked, "title": needed(article, "title", str), "context": paragraph.get("context")}
        for article in mappings(document["data"])
        for paragraph in mappings(needed(article, "paragraphs", list))
        for asked in mappings(needed(paragraph, "qas", list))
    ]


def squad_record(row: Row) -> Record:
    """The record of a question.

    All answers are references. A question without an answer has no gold: its paragraph is about
    the matter, but answers nothing; what annotators might have taken for one is a negative
    reference. The set states no type of the others.

    Parameters
    ----------
    row : mapping
        A row of `squad_rows`.
    """
    title, context = needed(row, "title", str), needed(row, "context", str)
    answers = distinct(_texts(row.get("answers")))
    answerable = not row.get("is_impossible", not answers)
    passage = passage_id(title, context)
    wrong = distinct(_texts(row.get("plausible_answers")))
    return {
        "query_id": needed(row, "id", str),
        "question": needed(row, "question", str).strip(),
        "reference": answers or None,
        "negative_reference": wrong or None,
        "answerable": answerable,
        "relevant": {passage: 1.0} if answerable else None,
        "query_type": None if answerable else "unanswerable",
        "domain": title,
        "passages": {passage: context},
    }


def _texts(cell: object) -> list[Any]:
    return [one.get("text") for one in mappings(listed(cell))]


SQUAD_V2 = Dataset(
    "squad_v2",
    "Questions on paragraphs of Wikipedia; half of those for testing have no answer",
    "CC BY-SA 4.0",
    "train 130,319; validation 11,873",
    table_parts(squad_rows, squad_record, Hub("rajpurkar/squad_v2", "squad_v2"), "validation"),
    homepage="https://rajpurkar.github.io/SQuAD-explorer/",
)
