"""TREC runs and judgments, and BEIR's, read as columns; what cannot be read is named by its line.

Blank lines and lines that begin with # are passed over. A non-breaking space is part of an id.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from rageval_report.errors import ReaderError
from rageval_report.rankings.from_rows import Rows
from rageval_report.rankings.hits import Codes
from rageval_report.rankings.joined import Joined, Ties
from rageval_report.rankings.trec.bytes import Places, Text, text_of
from rageval_report.rankings.trec.columns import (
    Format,
    columns_of,
    number_or_none,
    scanner_for,
)
from rageval_report.rankings.trec.join import joined_tables
from rageval_report.rankings.trec.join_parts import Kept, joined_of, kept_of
from rageval_report.rankings.trec.kernels import compiled_match
from rageval_report.rankings.trec.lists import Table
from rageval_report.rankings.trec.parts import parts_of

_RUN = Format(
    "a TREC run", "query_id Q0 doc_id rank score tag", (0, 2, 4), "score", may_be_infinite=True
)
_QRELS = Format("TREC qrels", "query_id iteration doc_id relevance", (0, 2, 3), "relevance")
_BEIR = Format("BEIR qrels", "query-id corpus-id score", (0, 1, 2), "relevance", by_tabs=True)


def read_trec_run(path: str | Path) -> Rows:
    r"""The rows of a TREC run: six columns, query_id Q0 doc_id rank score tag.

    The column of ranks and the order of the lines are not asked for: scores decide.

    Parameters
    ----------
    path : str or Path
        The file, plain or gzipped.

    Raises
    ------
    ReaderError
        If it cannot be read: the file, the line, what was expected and what was found.

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
    return _rows(_run(path), _RUN.what)


def read_trec_qrels(path: str | Path) -> Rows:
    r"""The rows of judgments: TREC's four columns, or BEIR's three, split at tabs, with a header.

    Parameters
    ----------
    path : str or Path
        The file, plain or gzipped.

    Raises
    ------
    ReaderError
        If it cannot be read: the file, the line, what was expected and what was found.

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
    return _rows(_qrels(path), _QRELS.what)


def joined_files(
    run: str | Path, qrels: str | Path, *, ties: Ties, relevance_level: float
) -> Joined:
    r"""A run and its judgments, matched, from file to hit table; no id becomes an object.

    Parameters
    ----------
    run, qrels : str or Path
        The files, as `read_trec_run` and `read_trec_qrels` take them.
    ties : {"docid", "input", "error"}
        Which of equal scores goes first.
    relevance_level : float
        The lowest relevant grade.

    Raises
    ------
    ReaderError
        If a file cannot be read, or a document stands twice for a query.
    AlignmentError
        If they have no query in common.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run, qrels = Path(folder) / "run.txt", Path(folder) / "qrels.txt"
    ...     _ = run.write_text("q1 Q0 d7 1 0.9 bm25\nq1 Q0 d8 2 0.5 bm25\n")
    ...     _ = qrels.write_text("q1 0 d8 2\n")
    ...     joined = joined_files(run, qrels, ties="docid", relevance_level=1)
    >>> joined.query_ids, joined.hits.rank.tolist()
    (['q1'], [1])
    """
    judged = _qrels(qrels)
    kept = _kept_of(run, judged, by_id=ties == "docid")
    if kept is None:
        return joined_tables(_run(run), judged, ties=ties, relevance_level=relevance_level)
    del judged  # of its text nothing is needed any more
    return joined_of(kept, ties=ties, relevance_level=relevance_level)


def _kept_of(run: str | Path, qrels: Table, *, by_id: bool) -> Kept | None:
    """What is kept of a plain file whose queries stand together; of others None."""
    if not Path(run).is_file():
        return None
    scanner = scanner_for(Path(run).stat().st_size, _RUN)
    match = compiled_match() if scanner else None
    try:
        return kept_of(parts_of(run, _RUN, scanner), qrels, match, by_id=by_id)
    except (ReaderError, OSError):  # the other way names the line
        return None


def _run(path: str | Path) -> Table:
    text = text_of(path)
    return Table(text, columns_of(text, 0, _RUN))


def _qrels(path: str | Path) -> Table:
    text = text_of(path)
    start, line = _first_line(text)
    words = line.rstrip(b"\r\n").split(b"\t")
    if len(words) != len(_BEIR.places):
        return Table(text, columns_of(text, 0, _QRELS))
    has_header = number_or_none(words[-1]) is None
    return Table(text, columns_of(text, start + len(line) if has_header else start, _BEIR))


def _first_line(text: Text) -> tuple[int, bytes]:
    """The first line that says something, and where it starts."""
    start = 0
    while start < text.end:
        line = text.line_at(start)
        if line.strip() and not line.startswith(b"#"):
            return start, line
        start += len(line)
    return text.end, b""


# -- rows


def _rows(table: Table, what: str) -> Rows:
    """The rows with their ids, for a join with what is no file."""
    text, columns = table.text, table.columns
    lengths = np.diff(columns.block, append=len(table))
    query = _texts(text, columns.query_start, columns.query_length)
    doc = _texts(text, columns.doc_start, columns.doc_length)
    return Rows(np.repeat(query, lengths), doc, columns.value, what, text.path, _lines(table))


def _texts(text: Text, starts: Places, lengths: Places) -> NDArray[Any]:
    """Words as bytes of one width."""
    width = int(lengths.max(initial=1))
    padded = np.concatenate([text.data, np.zeros(width, np.uint8)])
    words = sliding_window_view(padded, width)[starts]
    words *= np.arange(width) < lengths[:, None]
    return words.view(f"S{width}").reshape(-1)


def _lines(table: Table) -> Codes:
    newlines = np.flatnonzero(table.text.data[: table.text.end] == ord("\n"))
    return np.searchsorted(newlines, table.columns.doc_start) + 1
