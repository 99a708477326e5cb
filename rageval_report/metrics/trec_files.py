"""TREC runs and judgments, and BEIR's, read as rows; an error names the file and the line.

A regular file is cut into words as a whole. Anything else, be it a comment, a blank line or a
fault, is read line by line, which finds the line and names the fault. Blank lines and lines that
begin with # are skipped; a non-breaking space is part of an id.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from itertools import groupby
from math import isfinite, isnan

import numpy as np

from rageval_report.files.source import Source
from rageval_report.metrics.joining import IdRows
from rageval_report.scores.query_ids import first_named

# Bytes that are cut into words at a time: their memory is used again.
_CHUNK = 1 << 16
# A line is cut to the width of a terminal in messages.
_SHOWN = 80
_END = "\x00"  # stands for the end of a line, because it is in no text

# A header of three columns has at least one of these.
_HEADER_NAMES = (
    *("query_id", "qid", "q_id", "query", "topic", "topic_id"),
    *("corpus_id", "doc_id", "docno", "docid", "document_id", "doc", "document", "pid"),
    *("passage_id", "score", "relevance", "rel", "label", "grade", "judgment", "rank"),
)


@dataclass(frozen=True)
class LineFormat:
    """How a line is laid out: its columns, and the places of query, document and number."""

    what: str
    columns: str
    places: tuple[int, int, int]
    number: str
    by_tabs: bool = False
    advice: str = ""

    @property
    def n_columns(self) -> int:
        """How many columns a line has."""
        return len(self.columns.split())

    @property
    def is_run(self) -> bool:
        """Whether the numbers are scores, not grades."""
        return self.number == "score"


_RUN = LineFormat(
    "a TREC run",
    "query_id Q0 doc_id rank score tag",
    (0, 2, 4),
    "score",
    advice="If words follow the tag: awk '{print $1, $2, $3, $4, $5, $6}' FILE > NEW; if the tag "
    "is missing: awk '{print $0, \"run\"}' FILE > NEW; if an id contains a blank, write a table "
    "with the columns query_id, doc_id, score",
)
_QRELS = LineFormat(
    "TREC qrels",
    "query_id iteration doc_id relevance",
    (0, 2, 3),
    "relevance",
    advice="If the iteration is missing: awk '{print $1, 0, $2, $3}' FILE > NEW; if an id contains "
    "a blank, write a table with the columns query_id, doc_id, relevance",
)
_BEIR = LineFormat("BEIR qrels", "query-id corpus-id score", (0, 1, 2), "relevance", by_tabs=True)
_BEIR_RUN = LineFormat("a BEIR run", "query-id corpus-id score", (0, 1, 2), "score", by_tabs=True)


def read_trec_run(source: Source) -> Rows:
    """The rows of a TREC run; scores decide the order, not the ranks nor the order of the lines."""
    return _rows(source, _RUN)


def read_beir_run(source: Source) -> IdRows:
    """The rows of a run in BEIR's three columns, split at tabs, with or without a header."""
    return _rows_by_line(source, _BEIR_RUN)


def read_trec_qrels(source: Source) -> Rows:
    """The rows of judgments: TREC's four columns, or BEIR's three, with or without a header."""
    every = BytesIO(source.utf8)
    lines = (line for line in every if line.strip() and not line.startswith(b"#"))
    # Three words at tabs are BEIR's form. A TREC file may use tabs too, but then has four.
    is_beir = len(next(lines, b"").split(b"\t")) == _BEIR.n_columns
    return _rows(source, _BEIR if is_beir else _QRELS)


Rows = IdRows | dict[str, dict[str, float]]
"""The rows of a file; or its documents by query, if no document occurs twice."""


def _rows(source: Source, form: LineFormat) -> Rows:
    table = None if form.by_tabs else _regular_table(source.utf8, form)
    return _rows_by_line(source, form) if table is None else table


def _regular_table(data: bytes, form: LineFormat) -> dict[str, dict[str, float]] | None:
    """The documents of a file of which every line has the right number of words; else None."""
    if data.startswith(b"#") or b"\n#" in data:
        return None
    table: dict[str, dict[str, float]] = {}
    n_rows = start = 0
    while start < len(data):
        end = data.find(b"\n", start + _CHUNK) + 1 or len(data)
        columns = _columns(data[start:end].removesuffix(b"\n"), form)
        if columns is None:
            return None
        queries, docs, numbers = columns
        first = 0
        for query, group in groupby(queries):
            last = first + len(list(group))
            table.setdefault(query, {}).update(
                zip(docs[first:last], numbers[first:last], strict=True)
            )
            first = last
        n_rows, start = n_rows + first, end
    return table if sum(map(len, table.values())) == n_rows else None


def _columns(chunk: bytes, form: LineFormat) -> tuple[list[str], list[str], list[float]] | None:
    """Queries, documents and numbers of whole lines; None unless all lines are regular."""
    # Each line ends in a word of its own, which shows whether all have the same number of words.
    marked = chunk.replace(b"\n", b" \x00 ") + b" \x00"
    words = marked.decode().split() if marked.isascii() else [w.decode() for w in marked.split()]
    n = form.n_columns + 1
    ends = words[n - 1 :: n]
    if len(words) != n * len(ends) or not ends.count(_END) == len(ends) == marked.count(b"\x00"):
        return None
    query, doc, numbers = (words[place::n] for place in form.places)
    spelled = "".join(numbers)
    # Python's float reads 1_000 and digits of other scripts; C's strtod, which trec_eval uses, not.
    if "_" in spelled or not spelled.isascii():
        return None
    try:
        values = list(map(float, numbers))
    except ValueError:
        return None
    is_usable = not any(map(isnan, values)) if form.is_run else all(map(isfinite, values))
    return (query, doc, values) if is_usable else None


def _rows_by_line(source: Source, form: LineFormat) -> IdRows:
    """The rows of a file; the first line that cannot be read is an error."""
    rows: list[tuple[str, str, float, int]] = []
    is_first = True
    for number, line in enumerate(source.utf8.splitlines(), 1):
        if not line.strip() or line.startswith(b"#"):
            continue
        separated = line.split(b"\t") if form.by_tabs else line.split()
        words = [word.decode() for word in separated if word]
        # BEIR's own files have a header, others may not. A first row with a damaged number is no
        # header: it would be lost without a word.
        is_header = is_first and form.by_tabs and first_named(words, _HEADER_NAMES) is not None
        is_first = False
        if is_header and _number_of(words[-1]) is None:
            continue
        if fault := _fault(words, form):
            shown = line.decode()
            shown = repr(shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "...")
            message, advice = fault
            shown = f"{shown}. {advice}" if advice else shown
            raise source.error(f"{message}, in {shown}", number)
        query, doc, value = (words[place] for place in form.places)
        rows.append((query, doc, float(value), number))
    if not rows:
        raise source.error(f"expected {form.what} ({form.columns}); the file has no rows")
    queries, docs, values, lines = zip(*rows, strict=True)
    texts = np.array(queries, dtype=object), np.array(docs, dtype=object)
    return IdRows(*texts, np.array(values), form.what, source.name, np.array(lines))


def _fault(words: list[str], form: LineFormat) -> tuple[str, str] | None:
    """What is wrong with a line, and what to do."""
    if len(words) != form.n_columns:
        message = f"expected {form.n_columns} columns, {form.columns}; got {len(words)}"
        return message, form.advice
    word = words[form.places[-1]]
    value = _number_of(word)
    if value is None or not (value == value if form.is_run else np.isfinite(value)):
        return (
            f"the {form.number} must be a number; got {word!r}",
            f"Correct the line, or leave it out: a document without a {form.number} is one that "
            f"was not {'retrieved' if form.is_run else 'judged'}",
        )
    return None


def _number_of(word: str) -> float | None:
    """The number that a word spells, if any."""
    try:
        return float(word) if word.isascii() and "_" not in word else None
    except ValueError:
        return None
