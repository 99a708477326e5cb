"""TREC runs and judgments, and BEIR's, read as columns; an error names the file and the line.

Blank lines and lines that begin with # are skipped. A non-breaking space is part of an id.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from rageval_report.errors import ReaderError
from rageval_report.files.inputs import Contents, FileInput, is_file
from rageval_report.rankings.from_rows import IdRows, join_rows
from rageval_report.rankings.joined import Joined, Ties
from rageval_report.rankings.trec.bytes import (
    BOM,
    GZIP,
    PADDING,
    Places,
    Text,
    read_text,
    refuse_other_bytes,
)
from rageval_report.rankings.trec.join import RunHits, collect_hits, join_hits
from rageval_report.rankings.trec.kernels import Scanner, compiled_match
from rageval_report.rankings.trec.rank_kernel import compiled_rank
from rageval_report.rankings.trec.text_rows import (
    LineFormat,
    TextRows,
    columns_of_chunk,
    number_or_none,
    read_columns,
    scanner_for,
)
from rageval_report.scores.query_ids import first_named
from rageval_report.types import IntArray

_RUN = LineFormat(
    "a TREC run",
    "query_id Q0 doc_id rank score tag",
    (0, 2, 4),
    "score",
    may_be_infinite=True,
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
_BEIR_RUN = LineFormat(
    "a BEIR run", "query-id corpus-id score", (0, 1, 2), "score", by_tabs=True, may_be_infinite=True
)

# A header of three columns has at least one of these.
_HEADER_NAMES = (
    *("query_id", "qid", "q_id", "query", "topic", "topic_id"),
    *("corpus_id", "doc_id", "docno", "docid", "document_id", "doc", "document", "pid"),
    *("passage_id", "score", "relevance", "rel", "label", "grade", "judgment", "rank"),
)

# Bytes read at a time: a part and what is derived from it stay in the processor's cache.
_WIDTH = 1 << 20


def read_trec_run(path: FileInput | Contents | Text) -> IdRows:
    r"""The rows of a TREC run: six columns, query_id Q0 doc_id rank score tag.

    Scores decide the order; the column of ranks and the order of the lines are ignored.

    Parameters
    ----------
    path : str, PathLike, bytes, open file, or Text
        The file, plain or gzipped, or its contents.

    Raises
    ------
    ReaderError
        If it cannot be read: the file, the line, what was expected and what the line contains.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.txt"
    ...     _ = path.write_text("q1 Q0 d7 1 0.9 bm25\n\nq1 Q0 d8 2 0.5 bm25\n")
    ...     rows = read_trec_run(path)
    >>> rows.doc.tolist(), rows.value.tolist(), rows.line.tolist()
    ([b'd7', b'd8'], [0.9, 0.5], [1, 3])
    """
    text = _text_of(path)
    return _id_rows(TextRows(text, read_columns(text, 0, _RUN)), _RUN.what)


def read_beir_run(path: FileInput | Contents | Text) -> IdRows:
    r"""The rows of a run in BEIR's three columns, split at tabs, with or without a header.

    Parameters
    ----------
    path : str, PathLike, bytes, open file, or Text
        The file, plain or gzipped, or its contents.

    Raises
    ------
    ReaderError
        If it cannot be read: the file, the line, what was expected and what the line contains.

    Examples
    --------
    >>> from rageval_report.rankings.trec.bytes import text_of
    >>> rows = read_beir_run(text_of("run.tsv", b"q1\tthe doc\t0.9\n"))
    >>> rows.doc.tolist(), rows.value.tolist()
    ([b'the doc'], [0.9])
    """
    text = _text_of(path)
    return _id_rows(
        TextRows(text, read_columns(text, _after_header(text), _BEIR_RUN)), "a BEIR run"
    )


def read_trec_qrels(path: FileInput | Contents | Text) -> IdRows:
    r"""The rows of judgments: TREC's four columns, or BEIR's three, split at tabs, with a header.

    Parameters
    ----------
    path : str, PathLike, bytes, open file, or Text
        The file, plain or gzipped, or its contents.

    Raises
    ------
    ReaderError
        If it cannot be read: the file, the line, what was expected and what the line contains.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "test.tsv"
    ...     _ = path.write_text("query-id\tcorpus-id\tscore\nq1\td7\t2\n")
    ...     rows = read_trec_qrels(path)
    >>> rows.query.tolist(), rows.doc.tolist(), rows.value.tolist()
    ([b'q1'], [b'd7'], [2.0])
    """
    return _id_rows(_read_qrels(path), _QRELS.what)


def join_files(
    run: FileInput | Contents, qrels: FileInput | Contents, *, ties: Ties, relevance_level: float
) -> Joined:
    r"""A run file and a file of judgments, joined.

    A run whose queries stand together is read in parts and never held as a whole.

    Parameters
    ----------
    run, qrels : as `read_trec_run` takes it
        The files, as `read_trec_run` and `read_trec_qrels` take them.
    ties : {"docid", "input", "error"}
        Which of equal scores goes first.
    relevance_level : float
        The lowest relevant grade.

    Raises
    ------
    ReaderError
        If a file cannot be read, or a document appears twice for a query.
    AlignmentError
        If they have no query in common.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run, qrels = Path(folder) / "run.txt", Path(folder) / "qrels.txt"
    ...     _ = run.write_text("q1 Q0 d7 1 0.9 bm25\nq1 Q0 d8 2 0.5 bm25\n")
    ...     _ = qrels.write_text("q1 0 d8 2\n")
    ...     joined = join_files(run, qrels, ties="docid", relevance_level=1)
    >>> joined.query_ids, joined.hits.rank.tolist()
    (['q1'], [1])
    """
    judgments = _read_qrels(qrels)
    hits = _collect_in_parts(run, judgments, by_id=ties == "docid")
    if hits is None:
        rows = read_trec_run(run), _id_rows(judgments, _QRELS.what)
        return join_rows(*rows, ties=ties, relevance_level=relevance_level)
    del judgments  # frees the text, before the hit table takes memory
    return join_hits(hits, ties=ties, relevance_level=relevance_level)


def _collect_in_parts(run: FileInput | Contents, qrels: TextRows, *, by_id: bool) -> RunHits | None:
    """What is kept of a run whose queries stand together; None for any other run."""
    # A pipe can be read only once, and contents are in memory already.
    if not isinstance(run, str | Path) or not is_file(Path(run)):
        return None
    scanner = scanner_for(Path(run).stat().st_size, _RUN)
    match, rank = (compiled_match(), compiled_rank()) if scanner else (None, None)
    try:
        return collect_hits(_read_parts(run, _RUN, scanner), qrels, match, rank, by_id=by_id)
    except (ReaderError, OSError, EOFError, zlib.error):  # reading it as a whole names the line
        return None


def _read_parts(path: str | Path, form: LineFormat, scanner: Scanner | None) -> Iterator[TextRows]:
    """The rows of a file, some whole neighbouring queries at a time; all parts share one buffer.

    Yields
    ------
    TextRows
        Rows that are valid until the next are requested. Their text is only a part, so lines that
        an error names are not those of the file.

    Raises
    ------
    ReaderError
        If a line cannot be read.
    OSError, EOFError, zlib.error
        If the file cannot be read.
    """
    room, is_last = bytearray(_WIDTH + len(PADDING)), False
    with _open_plain_or_gzipped(path) as file:
        filled = _without_mark(room, file.readinto(memoryview(room)[: len(BOM)]))
        while not is_last:
            if filled >= len(room) - len(PADDING):  # one query fills it: the buffer is doubled
                room = room[:filled] + bytearray(filled + len(PADDING))
            n_read = file.readinto(memoryview(room)[filled : -len(PADDING)])
            filled, is_last = filled + n_read, not n_read
            if is_last:
                room[filled : filled + 1], filled = b"\n", filled + 1
            end = room.rfind(b"\n", 0, filled) + 1
            text = Text(str(path), np.frombuffer(room, np.uint8), end)
            refuse_other_bytes(text)
            columns = columns_of_chunk(text, 0, end, form, scanner)
            n_blocks = len(columns.block) - (not is_last)  # the last query may continue
            if n_blocks > 0:
                yield TextRows(text, columns.first_blocks(n_blocks))
            if not is_last and len(columns.block):
                end = int(columns.query_start[-1])
            rest = filled - end
            room[:rest], filled = room[end:filled], rest


def _open_plain_or_gzipped(path: str | Path) -> io.FileIO | gzip.GzipFile:
    with Path(path).open("rb") as file:
        is_gzipped = file.read(len(GZIP)) == GZIP
    return gzip.GzipFile(path) if is_gzipped else Path(path).open("rb", buffering=0)


def _without_mark(room: bytearray, n_read: int) -> int:
    """How many of the first bytes stay: none if they are a byte-order mark."""
    return 0 if room.startswith(BOM) else n_read


def _text_of(path: FileInput | Contents | Text) -> Text:
    return path if isinstance(path, Text) else read_text(path)


def _read_qrels(path: FileInput | Contents | Text) -> TextRows:
    text = _text_of(path)
    _, line = _first_line(text)
    # Three words at tabs are BEIR's form. A TREC file may use tabs too, but then has four.
    if len(_words_of(line)) != len(_BEIR.places):
        return TextRows(text, read_columns(text, 0, _QRELS))
    return TextRows(text, read_columns(text, _after_header(text), _BEIR))


def _words_of(line: bytes) -> list[bytes]:
    return line.rstrip(b"\r\n").split(b"\t")


def _after_header(text: Text) -> int:
    """Where the rows of three columns start."""
    start, line = _first_line(text)
    words = [word.decode() for word in _words_of(line)]
    # BEIR's own files have a header, others may not. A first row with a damaged number is no
    # header: it would be lost without a word.
    has_header = first_named(words, _HEADER_NAMES) is not None and (
        number_or_none(words[-1].encode()) is None
    )
    return start + len(line) if has_header else start


def _first_line(text: Text) -> tuple[int, bytes]:
    """The first line that is not skipped, and where it starts."""
    start = 0
    while start < text.end:
        line = text.line_at(start)
        if line.strip() and not line.startswith(b"#"):
            return start, line
        start += len(line)
    return text.end, b""


# -- rows with their ids, to be joined with what is not a file


def _id_rows(rows: TextRows, what: str) -> IdRows:
    text, columns = rows.text, rows.columns
    lengths = np.diff(columns.block, append=len(rows))
    query = _fixed_width(text, columns.query_start, columns.query_length)
    doc = _fixed_width(text, columns.doc_start, columns.doc_length)
    return IdRows(np.repeat(query, lengths), doc, columns.value, what, text.path, _lines(rows))


def _fixed_width(text: Text, starts: Places, lengths: Places) -> NDArray[np.bytes_]:
    """Words as bytes of one width."""
    width = int(lengths.max(initial=1))
    padded = np.concatenate([text.data, np.zeros(width, np.uint8)])
    words: NDArray[Any] = sliding_window_view(padded, width)[starts]
    # What follows a shorter word in the text must not become part of its id.
    words *= np.arange(width) < lengths[:, None]
    return words.view(f"S{width}").reshape(-1)


def _lines(rows: TextRows) -> IntArray:
    newlines = np.flatnonzero(rows.text.data[: rows.text.end] == ord("\n"))
    return np.searchsorted(newlines, rows.columns.doc_start) + 1
