"""What a file of rankings or judgments holds, recognised by its first lines, header or JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from rageval_report.files.encoding import head_text
from rageval_report.files.source import Source
from rageval_report.readers.table_files import header_of
from rageval_report.scores.metric import Catalogue, normalise_name

RankingSide = Literal["run", "judgments", "either", "neither"]
RankingForm = Literal["trec", "three columns", "table", "json", "means"]

_SAMPLE = 50

# The names of means that BEIR and others write, such as "NDCG@10".
_MEAN = re.compile(r"(NDCG|MAP|Recall|R_cap|P|MRR|Hole|Accuracy|Precision|R)@\d+", re.IGNORECASE)

# The names of columns, normalised, the surest first; as in `rankings.from_rows`, and some more.
QUERIES = ("query_id", "qid", "q_id", "query", "topic", "topic_id")
DOCUMENTS = ("doc_id", "docno", "docid", "corpus_id", "document_id", "doc", "pid", "passage_id")
GRADES = ("relevance", "rel", "label", "grade", "judgment")
SCORES = ("score", "sim", "similarity")
RANKS = ("rank", "position")
_BESIDE = ("iteration", "iter", "q0", "tag", "run", "run_id", "run_name", "system")


@dataclass(frozen=True)
class RankingKind:
    """What a file of rankings or judgments holds."""

    what: str
    side: RankingSide
    form: RankingForm


TREC_RUN = RankingKind("a TREC run", "run", "trec")
TREC_QRELS = RankingKind("TREC judgments", "judgments", "trec")
THREE_COLUMNS = RankingKind("rankings or judgments in three columns", "either", "three columns")
BEIR_TABLE = RankingKind("a table of judgments", "either", "three columns")
TABLE_OF_GRADES = RankingKind("a table of judgments", "judgments", "table")
TABLE_OF_RANKINGS = RankingKind("a table of rankings", "run", "table")
JSON_NUMBERS = RankingKind("rankings or judgments as JSON", "either", "json")
MEANS = RankingKind("BEIR's means over all queries", "neither", "means")


def sure_kind(source: Source) -> RankingKind | None:
    """The kind of a file that can be nothing but rankings, judgments or means; else None."""
    if source.starts_like_json:
        document = source.document_or_none()
        if _are_means(document):
            return MEANS
        return None if rows_of_numbers(document) else _kind_of_table(source)
    lines = [line.split() for line in first_lines(source)]
    # One line that cannot be read does not make it another file: its reader names that line.
    if lines and sum(map(_is_run_line, lines)) > len(lines) / 2:
        return TREC_RUN
    if lines and sum(map(_is_qrels_line, lines)) > len(lines) / 2:
        return TREC_QRELS
    return _kind_of_table(source)


def likely_kind(source: Source) -> RankingKind | None:
    """The kind of a file of which the user says that it holds rankings or judgments."""
    kind = sure_kind(source)
    if kind is not None:
        return kind
    if source.starts_like_json:
        document = source.document_or_none()
        return JSON_NUMBERS if _are_lists_of_documents(document) else None
    lines = first_lines(source)
    rows = lines[1:] or lines
    if rows and sum(map(_is_three_columns, rows)) * 2 > len(rows):
        return THREE_COLUMNS
    words = [line.split() for line in lines]
    if any(line[1:2] == ["Q0"] for line in words):
        return TREC_RUN  # lines with too few words: its reader says which
    # trec_eval ignores the second column, which may hold anything.
    if words and all(
        len(line) == 6 and line[3].isdigit() and _is_number(line[4]) for line in words
    ):
        return TREC_RUN
    return None


def first_lines(source: Source) -> list[str]:
    """The first lines that are not comments, without the last, which may be cut."""
    if not source.is_text:
        return []
    every = head_text(source.head).splitlines()
    lines = [line for line in every if line.strip() and not line.startswith("#")]
    return (lines[:-1] or lines)[:_SAMPLE]


def first_line_number(source: Source) -> int | None:
    """The number of the first line that is not a comment, from 1; None if the file is not text."""
    if not source.is_text:
        return None
    lines = head_text(source.head).splitlines()
    return next((n for n, line in enumerate(lines, 1) if line.strip() and line[0] != "#"), None)


def rows_of_numbers(document: object) -> Mapping[str, Mapping[str, float]]:
    """The document, if it is an object of objects of numbers; else an empty one."""
    if not isinstance(document, dict):
        return {}
    rows = document.values()
    are_rows = all(
        isinstance(row, dict) and row and all(map(is_json_number, row.values())) for row in rows
    )
    return document if are_rows else {}


def differ_in_documents(rows: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether no key is in all rows: queries have different documents, but the same measures."""
    keys = {frozenset(row) for row in islice(rows.values(), _SAMPLE)}
    return len(keys) > 1 and len(frozenset.intersection(*keys)) == 0


def _are_lists_of_documents(document: object) -> bool:
    """Whether it is ``{query: {document: number}}`` or ``{query: [document, ...]}``, or nearly."""
    if not isinstance(document, dict) or not document:
        return False
    # A query for which nothing was retrieved has an empty list.
    rows = [row for row in document.values() if row != {} and row != []]
    # One row that cannot be read does not make it another file: its reader names that row.
    if sum(map(_is_list_of_documents, rows)) * 2 <= len(rows):
        return False
    names = next(row for row in rows if _is_list_of_documents(row))
    catalogue = Catalogue()
    # A file of scores has measures where a ranking has documents.
    return not all(catalogue.search(str(name)) is not None for name in names)


def _is_list_of_documents(row: object) -> bool:
    if isinstance(row, dict):
        return sum(map(is_json_number, row.values())) * 2 > len(row)
    return isinstance(row, list) and all(is_document_id(doc) for doc in row)


def is_document_id(value: object) -> bool:
    """Whether a value of a JSON list can be the id of a document."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def _are_means(document: object) -> bool:
    """Whether these are BEIR's means, flat or in objects by measure."""
    if not isinstance(document, dict) or not document:
        return False
    parts = [part for part in document.values() if isinstance(part, dict)]
    flat = {name: value for name, value in document.items() if not isinstance(value, dict)}
    cells = [*flat.items(), *(item for part in parts for item in part.items())]
    return bool(cells) and all(
        _MEAN.fullmatch(str(name)) and is_json_number(value) for name, value in cells
    )


def is_json_number(value: object) -> bool:
    """Whether a value of a JSON document is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_run_line(words: list[str]) -> bool:
    return len(words) >= 6 and words[1].upper() == "Q0" and _is_number(words[4])


def _is_qrels_line(words: list[str]) -> bool:
    return len(words) == 4 and _is_number(words[3]) and (words[1] == "Q0" or _is_number(words[1]))


def _is_three_columns(line: str) -> bool:
    words = line.split("\t")
    return len(words) == 3 and _is_number(words[-1])


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _kind_of_table(source: Source) -> RankingKind | None:
    header = header_of(source)
    names = {normalise_name(name) for name in header}
    known = {*QUERIES, *DOCUMENTS, *GRADES, *SCORES, *RANKS, *_BESIDE}
    has_ids = names & {*QUERIES} and names & {*DOCUMENTS}
    if not (names <= known and has_ids and len(names) > 2):
        return None
    if names & {*GRADES}:
        return TABLE_OF_GRADES
    if _is_beir_header(header):
        # BEIR writes judgments so, and MTEB and others their rankings too.
        return BEIR_TABLE
    return TABLE_OF_RANKINGS


def _is_beir_header(header: Iterable[str]) -> bool:
    return [normalise_name(name) for name in header][1:] == ["corpus_id", "score"]
