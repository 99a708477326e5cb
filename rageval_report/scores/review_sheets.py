"""Makes a sheet for people who check answers: questions, answers, and blank columns to fill in."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from rageval_report.scores.exact_values import plain_value
from rageval_report.scores.query_ids import QUERY_ID, first_named
from rageval_report.scores.table import Scored
from rageval_report.scores.texts import ANSWER, CONTEXTS, QUESTION, REFERENCE

BLANKS = ("answer_correct", "citations_correct", "faithfulness", "notes")

_TEXTS = {"question": QUESTION, "reference": REFERENCE, "answer": ANSWER, "contexts": CONTEXTS}
_CITATIONS = ("citations", "cited")

# A spreadsheet takes a cell that starts with one of these for a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_SEPARATOR = "\n---\n"


def review_sheet(evaluation: Scored) -> pd.DataFrame:
    """The sheet with one row per query.

    Parameters
    ----------
    evaluation : Scored
        The scores and texts of a pipeline.

    Returns
    -------
    DataFrame
        ``query_id``; ``question``, ``reference``, ``answer``, ``contexts`` and ``citations`` if the
        details have them; each metric as ``scored_<metric>``; and the blank columns
        ``answer_correct``, ``citations_correct``, ``faithfulness`` and ``notes`` for the reviewer.
        A text that a spreadsheet would take for a formula starts with an apostrophe.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> data = {"query_id": ["a"], "user_input": ["=1+1?"], "faithfulness": [0.5]}
    >>> review_sheet(RAGPipelineEvaluation("hybrid", data)).loc[0, "question"]
    "'=1+1?"
    """
    details = evaluation.details
    columns: dict[str, object] = {QUERY_ID: list(map(_escape_formula, evaluation.scores.index))}
    for name, names in (*_TEXTS.items(), ("citations", _CITATIONS)):
        column = first_named(map(str, details), names)
        if column is not None:
            columns[name] = [_escape_formula(_cell_text(cell)) for cell in details[column].tolist()]
    for name in evaluation.metrics:
        # The prefix keeps the machine's scores apart from the blank columns of the same name.
        columns[f"scored_{name}"] = evaluation.scores[name].to_numpy()
    return pd.DataFrame({**columns, **dict.fromkeys(BLANKS, "")})


def review_markdown(evaluation: Scored) -> str:
    """The sheet as a Markdown page: one section per query, with boxes to fill in.

    Parameters
    ----------
    evaluation : Scored
        The scores and texts of a pipeline.
    """
    sheet = review_sheet(evaluation)
    rows = sheet.to_dict("records")
    sections = (_section({str(name): cell for name, cell in row.items()}) for row in rows)
    return f"# Review of {evaluation.name}\n\n" + _SEPARATOR.join(sections)


def _section(row: dict[str, object]) -> str:
    return "\n".join(_lines(row)) + "\n"


def _lines(row: dict[str, object]) -> Iterator[str]:
    yield f"## {row[QUERY_ID]}"
    for name in (*_TEXTS, "citations"):
        if row.get(name):
            quoted = str(row[name]).replace("\n", "\n> ")
            yield f"\n**{name}**\n\n> {quoted}"
    scores = [
        f"{name.removeprefix('scored_')} {number:.3g}"
        for name, number in row.items()
        if name.startswith("scored_") and isinstance(number, float) and not np.isnan(number)
    ]
    yield f"\n**scores** {', '.join(scores) or 'none'}\n"
    yield from (f"- {name}: [ ]" for name in BLANKS)


def _cell_text(cell: object) -> str:
    plain = plain_value(cell)
    if isinstance(plain, list):
        return "\n".join(str(part) for part in plain)
    return "" if plain is None else str(plain)


def _escape_formula(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
