"""A golden set as a data set: its items become records."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from typing import Any, Literal

import pandas as pd

from rageval_report.datasets.base import Dataset, DatasetPart, DatasetRequest, RecordFields
from rageval_report.datasets.golden_items import GoldenItem, read_golden
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.records import FIELDS as RECORD_FIELDS
from rageval_report.records import record_table
from rageval_report.records.cells import is_missing
from rageval_report.scores.query_ids import QUERY_ID

Gold = Literal["auto", "ids", "spans", "texts", "documents"]
_GOLD: tuple[Gold, ...] = ("auto", "ids", "spans", "texts", "documents")

# Names that mean a field of a record, so that metadata may not have them.
_TAKEN = frozenset(
    (QUERY_ID, *RECORD_FIELDS, *(name for also in RECORD_FIELDS.values() for name in also))
)


def golden_records(items: Iterable[GoldenItem], *, gold: Gold = "auto") -> pd.DataFrame:
    """The records of golden items, to ask a pipeline and score it.

    Parameters
    ----------
    items : iterable of GoldenItem
        The items.
    gold : {"auto", "ids", "spans", "texts", "documents"}
        What tells whether a retrieved chunk is relevant: ids, places in files, which need the
        place of each retrieved chunk, exact texts, which need its text, or the files of the spans
        as ids, for a pipeline that says which documents it found. "auto" takes for each item the
        first of ids, spans, texts that it has.

    Returns
    -------
    DataFrame
        As `rageval_report.records.record_table` gives it; metadata in columns of their own.

    Raises
    ------
    DataError
        If there is no item, or two have one id.

    Examples
    --------
    >>> item = GoldenItem("a", "Who?", references=("Ann",), relevant={"d1": 1.0})
    >>> golden_records([item]).loc["a", "relevant"]
    {'d1': 1.0}
    """
    if gold not in _GOLD:
        raise UnknownNameError("kind of gold", str(gold), _GOLD)
    rows = [_record(item, gold) for item in items]
    if not rows:
        raise DataError("expected golden items; there are none")
    keys = dict.fromkeys(key for row in rows for key in row)
    filled = [key for key in keys if any(row.get(key) is not None for row in rows)]
    return record_table([{key: row.get(key) for key in filled} for row in rows])


def _record(item: GoldenItem, gold: Gold) -> RecordFields:
    found: dict[str, Any] = {
        "ids": dict(item.relevant),
        "spans": [tuple(span) for span in item.relevant_spans],
        "texts": list(item.relevant_texts),
        "documents": {span.filename: 1.0 for span in item.relevant_spans},
    }
    kind = next((one for one in found if found[one]), "ids") if gold == "auto" else gold
    metadata = {_free(key): value for key, value in item.metadata.items()}
    return {
        **metadata,
        QUERY_ID: item.query_id,
        "question": item.question,
        "reference": list(item.references) or None,
        "negative_reference": list(item.negative_references) or None,
        "answerable": item.answerable,
        "relevant": found.get(kind) or None if kind in ("ids", "documents") else None,
        "relevant_spans": found["spans"] or None if kind == "spans" else None,
        "relevant_texts": found["texts"] or None if kind == "texts" else None,
    }


def _free(key: str) -> str:
    return f"{key}_given" if key in _TAKEN else key


def records_text(records: pd.DataFrame) -> str:
    r"""Records as JSON Lines; what a question lacks is left out of its line.

    Examples
    --------
    >>> records_text(golden_records([GoldenItem("a", "Who?", ("Ann",))]))
    '{"query_id": "a", "question": "Who?", "reference": ["Ann"]}\n'
    """
    rows = records.astype(object).reset_index().to_dict("records")
    told = ({key: one for key, one in row.items() if not is_missing(one)} for row in rows)
    return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in told)


def golden_parts(asked: DatasetRequest) -> list[DatasetPart]:
    """The questions of a golden set.

    Parameters
    ----------
    asked : DatasetRequest
        With the path of a file.

    Raises
    ------
    DataError
        If no path is given, or a subset or split is.
    """
    if asked.path is None:
        raise DataError("a golden set is a file of yours: give its path")
    if asked.subset or asked.split:
        raise DataError("a golden set has no subsets or splits; part it with split_golden")
    return [DatasetPart(str(asked.path), read_golden(asked.path), partial(_record, gold="auto"))]


GOLDEN = Dataset(
    "golden",
    "Your own questions, in JSON Lines: references, gold, what has no answer, where it comes from",
    "yours",
    "as many as you have",
    golden_parts,
)
