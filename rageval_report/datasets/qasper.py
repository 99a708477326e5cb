"""Qasper: questions about whole papers, each answered by several annotators."""

from __future__ import annotations

from collections.abc import Iterator

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
from rageval_report.records.cells import short_repr
from rageval_report.types import JsonObject

# The field that an answer of each kind fills.
_KINDS = (
    ("extractive_spans", "extractive"),
    ("free_form_answer", "abstractive"),
    ("yes_no", "boolean"),
)


def qasper_rows(document: object) -> list[JsonObject]:
    """The rows of a Qasper file, flat: one per question, with its paper's paragraphs.

    Parameters
    ----------
    document : JSON value
        The official JSON, an object of papers; or papers as the ``datasets`` library returns them.

    Raises
    ------
    DataError
        If the document is neither.
    """
    return [row for paper, content in _papers(document) for row in _paper_rows(paper, content)]


def _papers(document: object) -> list[tuple[str, JsonObject]]:
    if isinstance(document, dict) and "qas" in document:
        document = [document]  # a file of JSON Lines with one line
    if isinstance(document, list):
        return [(require_field(paper, "id", str), paper) for paper in to_mappings(document)]
    papers = document.items() if isinstance(document, dict) else ()
    pairs: list[tuple[str, JsonObject]]
    pairs = [(str(paper), content) for paper, content in papers if isinstance(content, dict)]
    if pairs and all("qas" in content for _, content in pairs):
        return pairs
    raise DataError('expected papers with "full_text" and "qas", as an object by id or as rows')


def _paper_rows(paper: str, content: JsonObject) -> Iterator[JsonObject]:
    texts = [
        text
        for section in to_mappings(content.get("full_text"))
        for text in distinct_texts(to_list(section.get("paragraphs")))
    ]
    passages = {passage_id(paper, text): text for text in texts}
    for question in to_mappings(content["qas"]):
        yield {**question, "paper": paper, "title": content.get("title"), "passages": passages}


def qasper_record(row: JsonObject) -> RecordFields:
    """The record of a question.

    The answer of each annotator is a reference, and the evidence of all who gave an answer is
    gold. A question has no answer if more annotators say so than gave one.

    Parameters
    ----------
    row : mapping
        A row of `qasper_rows`.
    """
    annotations = [_annotation(item) for item in to_list(row.get("answers"))]
    answers = [item for item in annotations if not item.get("unanswerable")]
    n_without = len(annotations) - len(answers)
    # Annotators disagree; on a tie there is an answer, because somebody found one.
    answerable = None if not annotations else len(answers) >= n_without
    paper = require_field(row, "paper", str)
    evidence = [text for item in answers for text in distinct_texts(to_list(item.get("evidence")))]
    gold = {passage_id(paper, text): text for text in evidence}
    kinds = distinct_texts(_kind(answer) for answer in answers)
    return {
        "query_id": require_field(row, "question_id", str),
        "question": require_field(row, "question", str).strip(),
        "reference": distinct_texts(_text(answer) for answer in answers) or None
        if answerable
        else None,
        "answerable": answerable,
        "relevant": dict.fromkeys(gold, 1.0) or None if answerable else None,
        "query_type": next(iter(kinds), None) if answerable else "unanswerable",
        "domain": "nlp papers",
        "document": paper,
        "title": row.get("title"),
        "n_annotators": len(annotations),
        "n_unanswerable": n_without,
        "passages": {**row["passages"], **gold},  # figures and tables are in no paragraph
    }


def _annotation(item: object) -> JsonObject:
    """The answer of an annotator, which the official file wraps in another object."""
    inner = item.get("answer", item) if isinstance(item, dict) else None
    if not isinstance(inner, dict):
        raise DataError(f"expected an answer as an object; got {short_repr(item)}")
    return inner


def _kind(answer: JsonObject) -> str:
    """The kind of the first field that has a value; False ("no") is a value too."""
    filled = (kind for name, kind in _KINDS if answer.get(name) not in (None, "", []))
    return next(filled, "")


def _text(answer: JsonObject) -> str:
    spans = distinct_texts(to_list(answer.get("extractive_spans")))
    if spans:
        return ", ".join(spans)
    if answer.get("yes_no") is not None and not answer.get("free_form_answer"):
        return "Yes" if answer["yes_no"] else "No"
    return str(answer.get("free_form_answer") or "")


# The repository itself needs a script, which the `datasets` library no longer runs.
_CONVERTED = "refs/convert/parquet"

QASPER = Dataset(
    "qasper",
    "Questions about whole papers on language processing, each answered by several annotators",
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
