"""Makes a sheet for people who check answers: questions, answers, and blank columns to fill in."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from rageval_report.files.outgoing_text import inert_markdown, neutralise_formula
from rageval_report.scores.exact_values import plain_value
from rageval_report.scores.query_ids import QUERY_ID, first_named
from rageval_report.scores.table import Scored
from rageval_report.scores.texts import ANSWER, CONTEXTS, QUESTION, REFERENCE

BLANKS = ("answer_correct", "citations_correct", "faithfulness", "notes")

_TEXTS = {"question": QUESTION, "reference": REFERENCE, "answer": ANSWER, "contexts": CONTEXTS}
_CITATIONS = ("citations", "cited")

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
    return _sheet_of(evaluation, neutralise_formula)


def _sheet_of(evaluation: Scored, escape: Callable[[str], str]) -> pd.DataFrame:
    details = evaluation.details
    columns: dict[str, object] = {QUERY_ID: [escape(str(name)) for name in evaluation.scores.index]}
    for name, names in (*_TEXTS.items(), ("citations", _CITATIONS)):
        column = first_named(map(str, details), names)
        if column is not None:
            columns[name] = [escape(_cell_text(cell)) for cell in details[column].tolist()]
    for name in evaluation.metrics:
        # The prefix keeps the machine's scores apart from the blank columns of the same name.
        columns[escape(f"scored_{name}")] = evaluation.scores[name].to_numpy()
    return pd.DataFrame({**columns, **dict.fromkeys(BLANKS, "")})


def review_markdown(evaluation: Scored) -> str:
    """The sheet as a Markdown page: one section per query, with boxes to fill in.

    Parameters
    ----------
    evaluation : Scored
        The scores and texts of a pipeline.

    Returns
    -------
    str
        Texts of the data are inert: Markdown and HTML in them are shown as they are, and names,
        numbers and addresses do not become mentions, references or links.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> data = {"query_id": ["a"], "user_input": ["<b>Who?"], "faithfulness": [0.5]}
    >>> "&lt;b&gt;Who?" in review_markdown(RAGPipelineEvaluation("hybrid", data))
    True
    """
    rows = _sheet_of(evaluation, str).to_dict("records")
    sections = (_section({str(name): cell for name, cell in row.items()}) for row in rows)
    return f"# Review of {inert_markdown(evaluation.name)}\n\n" + _SEPARATOR.join(sections)


def _section(row: dict[str, object]) -> str:
    return "\n".join(_lines(row)) + "\n"


def _lines(row: dict[str, object]) -> Iterator[str]:
    yield f"## {inert_markdown(str(row[QUERY_ID]))}"
    for name in (*_TEXTS, "citations"):
        if row.get(name):
            lines = map(inert_markdown, str(row[name]).splitlines())
            yield f"\n**{name}**\n\n" + "\n".join(f"> {line}".rstrip() for line in lines)
    scores = [
        f"{inert_markdown(name.removeprefix('scored_'))} {number:.3g}"
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
