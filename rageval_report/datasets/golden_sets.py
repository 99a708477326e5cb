"""A golden set as a data set: its items become records."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from typing import Any, Literal, get_args

import pandas as pd

from rageval_report.datasets.base import Dataset, DatasetPart, DatasetRequest, RecordFields
from rageval_report.datasets.golden_items import GoldenItem, golden_list, read_golden
from rageval_report.errors import DataError, check_choice, explain_keywords
from rageval_report.records import FIELDS, record_table
from rageval_report.records.cells import is_missing
from rageval_report.scores.query_ids import QUERY_ID

GoldKind = Literal["auto", "ids", "spans", "texts", "documents"]

# The names of a record's fields, which metadata must not replace.
_RECORD_NAMES = frozenset(
    (QUERY_ID, *FIELDS, *(alias for aliases in FIELDS.values() for alias in aliases))
)


@explain_keywords
def golden_records(items: Iterable[GoldenItem], *, gold: GoldKind = "auto") -> pd.DataFrame:
    """The records of golden items, to ask a pipeline and score it.

    Parameters
    ----------
    items : iterable of GoldenItem
        The items.
    gold : {"auto", "ids", "spans", "texts", "documents"}
        What decides whether a retrieved chunk is relevant: ids; places in files, for which each
        retrieved chunk needs its place; exact texts, for which it needs its text; or the files of
        the spans as ids, for a pipeline that names the documents it retrieved. "auto" takes for
        each item the first of ids, spans and texts that it has.

    Returns
    -------
    DataFrame
        As `rageval_report.records.record_table` returns it, with metadata in columns of their own.

    Raises
    ------
    DataError
        If there is no item, or two have the same id.

    Examples
    --------
    >>> item = GoldenItem("a", "Who?", references=("Ann",), relevant={"d1": 1.0})
    >>> golden_records([item]).loc["a", "relevant"]
    {'d1': 1.0}
    """
    check_choice("gold", gold, get_args(GoldKind))
    rows = [_make_record(item, gold) for item in golden_list(items)]
    if not rows:
        raise DataError("expected golden items; there are none")
    keys = dict.fromkeys(key for row in rows for key in row)
    filled = [key for key in keys if any(row.get(key) is not None for row in rows)]
    return record_table([{key: row.get(key) for key in filled} for row in rows])


def _make_record(item: GoldenItem, gold: GoldKind) -> RecordFields:
    values: dict[str, Any] = {
        "ids": dict(item.relevant),
        "spans": [tuple(span) for span in item.relevant_spans],
        "texts": list(item.relevant_texts),
        "documents": {span.filename: 1.0 for span in item.relevant_spans},
    }
    # Ids first: they are compared exactly, spans and texts need a match.
    kind = next((name for name in values if values[name]), "ids") if gold == "auto" else gold
    metadata = {_free_name(key): value for key, value in item.metadata.items()}
    return {
        **metadata,
        QUERY_ID: item.query_id,
        "question": item.question,
        "reference": list(item.references) or None,
        "negative_reference": list(item.negative_references) or None,
        "answerable": item.answerable,
        "relevant": values[kind] or None if kind in ("ids", "documents") else None,
        "relevant_sections": list(item.relevant_sections) or None if kind == "ids" else None,
        "relevant_spans": values["spans"] or None if kind == "spans" else None,
        "relevant_texts": values["texts"] or None if kind == "texts" else None,
    }


def _free_name(key: str) -> str:
    return f"{key}_given" if key in _RECORD_NAMES else key


def records_text(records: pd.DataFrame) -> str:
    r"""Records as JSON Lines, without missing values.

    Examples
    --------
    >>> records_text(golden_records([GoldenItem("a", "Who?", ("Ann",))]))
    '{"query_id": "a", "question": "Who?", "reference": ["Ann"]}\n'
    """
    rows = records.astype(object).reset_index().to_dict("records")
    filled = ({key: cell for key, cell in row.items() if not is_missing(cell)} for row in rows)
    return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in filled)


def golden_parts(request: DatasetRequest) -> list[DatasetPart]:
    """The questions of a golden set.

    Parameters
    ----------
    request : DatasetRequest
        With the path of a file.

    Raises
    ------
    DataError
        If there is no path, or there is a subset or split.
    """
    if request.path is None:
        raise DataError("path is missing: a golden set is a file of yours, so give its path")
    if request.subset or request.split:
        raise DataError("a golden set has no subsets or splits; split it with split_golden")
    items = read_golden(request.path)
    return [DatasetPart(str(request.path), items, partial(_make_record, gold="auto"))]


GOLDEN = Dataset(
    "golden",
    "Your own questions, in JSON Lines: references, gold, what has no answer, where it comes from",
    "yours",
    "as many as you have",
    golden_parts,
)
