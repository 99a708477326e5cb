"""HotpotQA: questions whose answer needs two paragraphs of Wikipedia."""

from __future__ import annotations

from typing import Any

from rageval_report.datasets.base import Dataset, RecordFields, require_field, require_rows, to_list
from rageval_report.datasets.row_sources import Hub, table_parts
from rageval_report.errors import DataError
from rageval_report.records.cells import short_repr
from rageval_report.types import JsonObject

_TYPES = {"bridge": "multi_hop", "comparison": "comparison"}


def hotpot_rows(document: object) -> list[JsonObject]:
    """The rows of a HotpotQA file: one per question.

    Parameters
    ----------
    document : JSON value
        The official JSON, a list; or rows as the ``datasets`` library returns them.

    Raises
    ------
    DataError
        If the document is neither.
    """
    return require_rows(document, "question", 'a list of objects with "question" and "answer"')


def hotpot_record(row: JsonObject) -> RecordFields:
    """The record of a question; gold are the paragraphs with a supporting sentence.

    The id of a paragraph is its title, which is unique in Wikipedia. Without supporting facts, as
    in test files and simplified ones, there is no gold.

    Parameters
    ----------
    row : mapping
        A row of `hotpot_rows`.
    """
    facts = [_pair(fact, "title", "sent_id") for fact in to_list(row.get("supporting_facts"))]
    kind = row.get("type")
    answer = row.get("answer")
    return {
        "query_id": row.get("_id", row.get("id")),
        "question": require_field(row, "question", str).strip(),
        "reference": [answer] if answer else None,
        "answerable": True,
        "relevant": {str(title): 1.0 for title, _ in facts} or None,
        "query_type": None if kind is None else _TYPES.get(str(kind), str(kind)),
        "difficulty": row.get("level"),
        "domain": "wikipedia",
        "supporting_sentences": [[str(title), number] for title, number in facts] or None,
        "passages": _paragraphs(row.get("context")) or None,
    }


def _paragraphs(cell: object) -> dict[str, str]:
    pairs = [_pair(paragraph, "title", "sentences") for paragraph in to_list(cell)]
    return {str(title): "".join(map(str, to_list(sentences))).strip() for title, sentences in pairs}


def _pair(item: object, first: str, second: str) -> tuple[Any, Any]:
    """Two values: a list in the official file, an object in the ``datasets`` library."""
    if isinstance(item, dict) and first in item and second in item:
        return item[first], item[second]
    if isinstance(item, list | tuple) and len(item) == 2:
        return item[0], item[1]
    raise DataError(f"expected a pair of {first} and {second}; got {short_repr(item)}")


HOTPOTQA = Dataset(
    "hotpotqa",
    "Questions that need two paragraphs of Wikipedia, given among ten",
    "CC BY-SA 4.0",
    "train 90,447; validation 7,405",
    table_parts(hotpot_rows, hotpot_record, Hub("hotpotqa/hotpot_qa", "distractor"), "validation"),
    homepage="https://hotpotqa.github.io/",
)
