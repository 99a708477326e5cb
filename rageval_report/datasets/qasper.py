"""Qasper: questions on whole papers, each answered by several annotators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rageval_report.datasets.base import (
    Dataset,
    Record,
    Row,
    distinct_texts,
    passage_id,
    require_field,
    to_list,
    to_mappings,
)
from rageval_report.datasets.row_sources import Hub, table_parts
from rageval_report.errors import DataError

# The kind of an answer, and what the field that shows it is called.
_KINDS = (
    ("extractive_spans", "extractive"),
    ("free_form_answer", "abstractive"),
    ("yes_no", "boolean"),
)


def qasper_rows(document: Any) -> list[Row]:
    """The rows of a Qasper file, flat: a question each, with its paper's paragraphs.

    Parameters
    ----------
    document : object
        The official JSON, an object of papers; or papers as the ``datasets`` library gives them.

    Raises
    ------
    DataError
        If it is neither.
    """
    return [row for paper, content in _papers(document) for row in _of_paper(paper, content)]


def _papers(document: Any) -> list[tuple[str, Row]]:
    if isinstance(document, dict) and "qas" in document:
        document = [document]  # a file of JSON Lines with one line
    if isinstance(document, list):
        return [(require_field(paper, "id", str), paper) for paper in to_mappings(document)]
    papers = document.items() if isinstance(document, dict) else ()
    found: list[tuple[str, Row]]
    found = [(str(paper), content) for paper, content in papers if isinstance(content, dict)]
    if found and all("qas" in content for _, content in found):
        return found
    raise DataError('expected papers with "full_text" and "qas", as an object by id or as rows')


def _of_paper(paper: str, content: Row) -> Iterator[Row]:
    texts = [
        text
        for section in to_mappings(content.get("full_text"))
        for text in distinct_texts(to_list(section.get("paragraphs")))
    ]
    passages = {passage_id(paper, text): text for text in texts}
    for asked in to_mappings(content["qas"]):
        yield {**asked, "paper": paper, "title": content.get("title"), "passages": passages}


def qasper_record(row: Row) -> Record:
    """The record of a question.

    Each annotator's answer is a reference, and the evidence of all who found an answer is gold. A
    question has no answer if more annotators say so than found one.

    Parameters
    ----------
    row : mapping
        A row of `qasper_rows`.
    """
    answers = [_answer(one) for one in to_list(row.get("answers"))]
    found = [one for one in answers if not one.get("unanswerable")]
    n_without = len(answers) - len(found)
    answerable = None if not answers else len(found) >= n_without
    paper = require_field(row, "paper", str)
    evidence = [text for one in found for text in distinct_texts(to_list(one.get("evidence")))]
    gold = {passage_id(paper, text): text for text in evidence}
    kinds = distinct_texts(_kind(one) for one in found)
    return {
        "query_id": require_field(row, "question_id", str),
        "question": require_field(row, "question", str).strip(),
        "reference": distinct_texts(_text(one) for one in found) or None if answerable else None,
        "answerable": answerable,
        "relevant": dict.fromkeys(gold, 1.0) or None if answerable else None,
        "query_type": next(iter(kinds), None) if answerable else "unanswerable",
        "domain": "nlp papers",
        "document": paper,
        "title": row.get("title"),
        "n_annotators": len(answers),
        "n_unanswerable": n_without,
        "passages": {**row["passages"], **gold},  # figures and tables are in no paragraph
    }


def _answer(one: object) -> Row:
    """An annotator's answer, which the official file wraps in an object of its own."""
    inner = one.get("answer", one) if isinstance(one, dict) else None
    if not isinstance(inner, dict):
        raise DataError(f"expected an answer as an object; got {one!r:.60}")
    return inner


def _kind(answer: Row) -> str:
    """The first field that says something; "no" says something too."""
    filled = (kind for name, kind in _KINDS if answer.get(name) not in (None, "", []))
    return next(filled, "")


def _text(answer: Row) -> str:
    spans = distinct_texts(to_list(answer.get("extractive_spans")))
    if spans:
        return ", ".join(spans)
    if answer.get("yes_no") is not None and not answer.get("free_form_answer"):
        return "Yes" if answer["yes_no"] else "No"
    return str(answer.get("free_form_answer") or "")


_CONVERTED = "refs/convert/parquet"  # the repository's own form needs code that is run no longer

QASPER = Dataset(
    "qasper",
    "Questions on whole papers of language research, each answered by several annotators",
    "CC BY 4.0",
    "5,049 on papers: train 888; validation 281; test 416",
    table_parts(
        qasper_rows,
        qasper_record,
        Hub("allenai/qasper", "qasper", _CONVERTED, is_nested=True),
        "validation",
    ),
    homepage="https://allenai.org/data/qasper",
)
