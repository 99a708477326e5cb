"""The texts of one query, cut to the length that a card has room for."""

from __future__ import annotations

from rageval_report.render.display import shorten
from rageval_report.reports.page_columns import cell_text
from rageval_report.reports.query_table import text_columns_of
from rageval_report.scores import Scored

_LONGEST = {"question": 240, "reference": 320, "answer": 320}


def query_texts(run: Scored, query_id: object) -> dict[str, str]:
    """The question, the reference and the answer of a query; "" where there is none."""
    columns, texts = text_columns_of(run), {}
    for role, longest in _LONGEST.items():
        column = columns.get(role)
        value = run.details[column].get(query_id) if column is not None else None
        text = "" if value is None else cell_text(value)
        texts[role] = "" if text == "–" else shorten(text, longest)
    return texts
