"""HotpotQA: questions whose answer takes two paragraphs of Wikipedia."""

from __future__ import annotations

from typing import Any

from rageval_report.datasets.base import Dataset, Record, Row, require_field, require_rows, to_list
from rageval_report.datasets.row_sources import Hub, table_parts
from rageval_report.errors import DataError

_TYPES = {"bridge": "multi_hop", "comparison": "comparison"}


def hotpot_rows(document: Any) -> list[Row]:
    """The rows of a HotpotQA file: a question each.

    Parameters
    ----------
    document : object
        The official JSON, a list; or rows as the ``datasets`` library gives them.

    Raises
    ------
    DataError
        If it is neither.
    """
    return require_rows(document, "question", 'a list of objects with "question" and "answer"')


def hotpot_record(row: Row) -> Record:
    """The record of a question; gold are the paragraphs that hold a supporting sentence.

    A paragraph's id is its title, which Wikipedia gives once. Without supporting facts, as in test
    files and simplified ones, there is no gold.

    Parameters
    ----------
    row : mapping
        A row of `hotpot_rows`.
    """
    facts = [_pair(one, "title", "sent_id") for one in to_list(row.get("supporting_facts"))]
    told = row.get("type")
    answer = row.get("answer")
    return {
        "query_id": row.get("_id", row.get("id")),
        "question": require_field(row, "question", str).strip(),
        "reference": [answer] if answer else None,
        "answerable": True,
        "relevant": {str(title): 1.0 for title, _ in facts} or None,
        "query_type": None if told is None else _TYPES.get(str(told), str(told)),
        "difficulty": row.get("level"),
        "domain": "wikipedia",
        "supporting_sentences": [[str(title), number] for title, number in facts] or None,
        "passages": _paragraphs(row.get("context")) or None,
    }


def _paragraphs(cell: object) -> dict[str, str]:
    pairs = [_pair(one, "title", "sentences") for one in to_list(cell)]
    return {str(title): "".join(map(str, to_list(parts))).strip() for title, parts in pairs}


def _pair(item: object, first: str, second: str) -> tuple[Any, Any]:
    """Two things that the official file has as a list, and the library as an object."""
    if isinstance(item, dict) and first in item and second in item:
        return item[first], item[second]
    if isinstance(item, list | tuple) and len(item) == 2:
        return item[0], item[1]
    raise DataError(f"expected a pair of {first} and {second}; got {item!r:.60}")


HOTPOTQA = Dataset(
    "hotpotqa",
    "Questions that take two paragraphs of Wikipedia, given among ten",
    "CC BY-SA 4.0",
    "train 90,447; validation 7,405",
    table_parts(hotpot_rows, hotpot_record, Hub("hotpotqa/hotpot_qa", "distractor"), "validation"),
    homepage="https://hotpotqa.github.io/",
)
