"""How each kind of file is checked: one function per kind, in the table `CHECKS`.

A check looks at the first bytes of a file, and at its name where these may be damaged, and returns
None if the file is of another kind.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from rageval_report._registry import import_parquet, import_pyarrow
from rageval_report.errors import DataError, ReaderError, named
from rageval_report.files.digests import (
    Line,
    LineNumbers,
    file_digest,
    is_whole,
    looks_sealed,
    open_line,
    separate_lines,
)
from rageval_report.files.json_lines import json_objects
from rageval_report.files.source import Source
from rageval_report.files.strict_json import NotJSONError, parse_json
from rageval_report.judges.cache import DAMAGE, check_rows
from rageval_report.judges.ledger import LEDGER_ENDING, check_runs, is_ledger
from rageval_report.runner.run_journal import is_without_digests, salt_of
from rageval_report.scores.run_file import FORMAT as RUN_FORMAT
from rageval_report.scores.run_file import damaged_queries
from rageval_report.scores.saved_tables import (
    COMPANION,
    DESCRIPTION_DIGEST,
    TABLE_FORMAT,
    TABLE_KEY,
    description_digest,
    digest_of,
    parse_table_description,
)

WHOLE, DAMAGED, UNPROTECTED = "whole", "damaged", "not protected"
_HEAD = 4096
_SQLITE = b"SQLite format 3\0"
_PARQUET = b"PAR1"
_RECORDS = ("records.jsonl", "records.parquet")


@dataclass(frozen=True)
class FileCheck:
    """What was found in one file.

    Parameters
    ----------
    kind : str
        What the file is, such as "journal of a run".
    n : int
        The number of entries that were checked: lines, rows or queries; 1 for a file with one
        digest.
    damage : tuple of str
        What is damaged, with its line, row or query.
    is_protected : bool
        Whether the file has digests.
    """

    kind: str
    n: int = 0
    damage: tuple[str, ...] = ()
    is_protected: bool = True

    @property
    def state(self) -> str:
        """One of "whole", "damaged", "not protected"."""
        return DAMAGED if self.damage else WHOLE if self.is_protected else UNPROTECTED


FileChecker: TypeAlias = Callable[[Path, bytes], FileCheck | None]


def check_file(path: Path) -> FileCheck:
    """Check a file as what it is.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "notes.txt")
    ...     _ = path.write_text("anything")
    ...     check_file(path).state
    'not protected'
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    for check in CHECKS:
        result = check(path, head)
        if result is not None:
            return result
    return FileCheck("file without digests", is_protected=False)


# -- databases


def _check_ledger(path: Path, head: bytes) -> FileCheck | None:
    is_ours = head.startswith(_SQLITE) and is_ledger(head)
    if not is_ours and not path.name.endswith(LEDGER_ENDING):
        return None
    is_protected, n, damage = check_runs(path)
    return FileCheck("ledger of a budget", n, tuple(damage), is_protected=is_protected)


def _check_cache(path: Path, head: bytes) -> FileCheck | None:
    if not head.startswith(_SQLITE) and path.suffix not in (".sqlite", ".sqlite3"):
        return None
    kind = "cache of judges"
    try:
        version, n, damage = check_rows(path)
    except DAMAGE as exc:
        return FileCheck(kind, 0, (f"the file cannot be read: {exc}",))
    if version is None:
        return FileCheck("database of another program", is_protected=False)
    return FileCheck(kind, n, tuple(damage), is_protected=version)


# -- journals


def _check_run_journal(path: Path, head: bytes) -> FileCheck | None:
    if b'"rageval_report journal"' not in head and path.name != "journal.jsonl":
        return None
    kind = "journal of a run"
    lines, is_cut = _lines(path)
    if not lines or (is_without_digests(lines[0].content)):
        return FileCheck(kind, len(lines), is_protected=False)
    opened = open_line(lines[0].content)
    if opened is None:
        problem = "line 1, which says what was asked, is damaged: resume the run to check the rest"
        return FileCheck(kind, 1, (problem,))
    numbers = LineNumbers()
    numbers.check(opened[1])
    n, damage = _check_lines(lines[1:], numbers, salt_of(json.loads(opened[0])))
    expected = _earlier_run(path.parent).get("journal_lines")
    missing = numbers.missing_until(expected) if type(expected) is int else None
    damage += [] if missing is None else [missing]
    return FileCheck(kind, n + 1, (*damage, *_cut(is_cut)))


def _check_reply_journal(path: Path, head: bytes) -> FileCheck | None:
    is_sealed = looks_sealed(head.partition(b"\n")[0]) or looks_sealed(head.partition(b"\n")[2])
    if b'"key": "' not in head or b'"reply": "' not in head:
        return None
    kind = "journal of replies"
    lines, is_cut = _lines(path)
    if not is_sealed:
        return FileCheck(kind, len(lines), is_protected=False)
    # A journal that an earlier version began has lines without digests at its start.
    first = next(n for n, line in enumerate(lines) if looks_sealed(line.content))
    numbers = LineNumbers()
    numbers.last = first
    n, damage = _check_lines(lines[first:], numbers, b"")
    if is_cut:
        numbers.count_damaged()
    return FileCheck(kind, n, (*damage, *_cut(is_cut)))


def _lines(path: Path) -> tuple[list[Line], bool]:
    """The lines of a file, and whether it ends in the middle of one."""
    lines: list[Line] = []
    place = 0
    with path.open("rb") as file:
        for number, content in enumerate(file, 1):
            if not content.endswith(b"\n"):
                return lines, True
            lines.append(Line(number, place, content))
            place += len(content)
    return lines, False


def _cut(is_cut: bool) -> tuple[str, ...]:
    return ("the last line is cut",) if is_cut else ()


def _check_lines(lines: list[Line], numbers: LineNumbers, salt: bytes) -> tuple[int, list[str]]:
    n, damage = 0, []
    for line in (part for whole in lines for part in separate_lines(whole, salt)):
        n += 1
        opened = open_line(line.content, salt)
        if opened is None:
            numbers.count_damaged()
            damage.append(f"{line.name} is damaged")
            continue
        problem = numbers.check(opened[1])
        if problem is not None:
            damage.append(problem)
    return n, damage


# -- documents


def _check_run_file(path: Path, head: bytes) -> FileCheck | None:
    if f'"{RUN_FORMAT}"'.encode() not in head:
        return None
    document, problem = _parse(path)
    if problem:
        return FileCheck("run file", 1, (problem,))
    queries = document.get("queries")
    queries = queries if isinstance(queries, list) else []
    try:
        rows = damaged_queries(document)
    except DataError:
        return FileCheck("run file", len(queries), ("what it says beside its queries is damaged",))
    if rows is None:
        return FileCheck("run file", len(queries), is_protected=False)
    damage = tuple(f"query {_id_of(queries[row])!r} is damaged" for row in rows)
    return FileCheck("run file", len(queries), damage)


def _id_of(query: object) -> object:
    return query.get("query_id") if isinstance(query, Mapping) else None


def _check_finished_run(path: Path, head: bytes) -> FileCheck | None:
    if path.name != "run.json" or b'"records": "records.' not in head:
        return None
    kind = "summary of a run"
    document, problem = _parse(path)
    if problem:
        return FileCheck(kind, 1, (problem,))
    whole = is_whole(document)
    if whole is None:
        return FileCheck(kind, 1, is_protected=False)
    return FileCheck(kind, 1, () if whole else ("it does not have its digest",))


def _check_records(path: Path, _head: bytes) -> FileCheck | None:
    if path.name not in _RECORDS:
        return None
    run = _earlier_run(path.parent)
    digest = run.get("records_digest")
    if run.get("records") != path.name or not isinstance(digest, str):
        return FileCheck("records of a run", is_protected=False)
    if file_digest(path) == digest:
        return FileCheck("records of a run", 1)
    problem = "it does not have the digest in run.json; resume the run to write it again"
    return FileCheck("records of a run", 1, (problem,))


def _check_description(path: Path, head: bytes) -> FileCheck | None:
    if f'"{TABLE_FORMAT}"'.encode() not in head or not path.name.endswith(COMPANION):
        return None
    kind = "description of a table"
    document, problem = _parse(path)
    if problem:
        return FileCheck(kind, 1, (problem,))
    if DESCRIPTION_DIGEST not in document:
        return FileCheck(kind, 1, is_protected=False)
    is_same = document[DESCRIPTION_DIGEST] == description_digest(document)
    return FileCheck(kind, 1, () if is_same else ("it does not have its digest",))


def _check_table(path: Path, _head: bytes) -> FileCheck | None:
    companion = path.with_name(path.name + COMPANION)
    if not companion.is_file():
        return None
    document, _ = _parse(companion)
    digest = document.get("digest")
    if document.get("format") != TABLE_FORMAT or not isinstance(digest, str):
        return None
    text = path.read_bytes()
    # A version control system may have changed the ends of the lines.
    if digest in (digest_of(text), digest_of(text.replace(b"\r\n", b"\n"))):
        return FileCheck("table of scores", 1)
    problem = f"it does not have the digest in {companion.name}: the table was damaged or changed"
    return FileCheck("table of scores", 1, (problem,))


def _check_jsonl_table(path: Path, head: bytes) -> FileCheck | None:
    if not head.lstrip().startswith(b"{") or not _mentions_description(path):
        return None
    kind = "table of scores"
    try:
        rows = [row for _, row in json_objects(Source(path))]
    except ReaderError as exc:
        return FileCheck(kind, 0, (str(exc),))
    documents = [row[TABLE_KEY] for row in rows if isinstance(row.get(TABLE_KEY), dict)]
    if len(documents) != 1:
        return FileCheck(kind, len(rows), (f"it has {len(documents)} descriptions, not one",))
    try:
        description = parse_table_description(documents[0])
    except DataError as exc:
        return FileCheck(kind, len(rows), (f"its description cannot be used: {exc}",))
    if description.row_digests is None:
        return FileCheck(kind, len(rows), is_protected=False)
    removed = description.removed_columns({name for row in rows for name in row})
    if removed:
        problem = f"its rows cannot be checked: the columns {named(removed)} were removed"
        return FileCheck(kind, len(rows), (problem,))
    changed = description.changed_rows(rows)
    damage = [f"query {query_id!r} is damaged, or was changed or added" for query_id in changed]
    if len(rows) < description.n_queries:
        n_missing = description.n_queries - len(rows)
        damage.append(f"{n_missing} of {description.n_queries} rows are missing")
    return FileCheck(kind, len(rows), tuple(damage))


def _mentions_description(path: Path) -> bool:
    marks = (f'"{TABLE_FORMAT}"'.encode(), f'"{DESCRIPTION_DIGEST}"'.encode())
    with path.open("rb") as file:
        return any(mark in line for line in file for mark in marks)


def _check_parquet_table(path: Path, head: bytes) -> FileCheck | None:
    if not head.startswith(_PARQUET) or TABLE_FORMAT.encode() not in path.read_bytes():
        return None
    kind = "table of scores"
    try:
        # Without the checksums of its pages, a changed number would be read like any other.
        table = import_parquet().read_table(path, page_checksum_verification=True)
        document = parse_json((table.schema.metadata or {})[TABLE_KEY.encode()].decode())
        description = parse_table_description(document)
    except (import_pyarrow().ArrowException, OSError, ValueError, KeyError, TypeError) as exc:
        first_line = str(exc).strip().partition("\n")[0]
        return FileCheck(kind, 0, (f"it cannot be read: {first_line:.120}",))
    # Another program that left out rows has written the pages anew, and may have kept the rest.
    is_ours = description.has_checksums and description.n_queries == len(table)
    return FileCheck(kind, len(table), is_protected=is_ours)


def _parse(path: Path) -> tuple[dict[str, Any], str]:
    """The object in a file, and what is wrong with it."""
    try:
        document = parse_json(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        return {}, "it is not UTF-8"
    except NotJSONError as exc:
        return {}, f"line {exc.line}: {exc}" if exc.line else str(exc)
    return (document, "") if isinstance(document, dict) else ({}, "it is not an object")


def _earlier_run(folder: Path) -> dict[str, Any]:
    """What a finished run says about its folder; nothing if the file is damaged."""
    path = folder / "run.json"
    document, _ = _parse(path) if path.is_file() else ({}, "")
    return document if is_whole(document) else {}


# The order matters where a name and a content say different things.
CHECKS: tuple[FileChecker, ...] = (
    _check_ledger,
    _check_cache,
    _check_run_journal,
    _check_run_file,
    _check_finished_run,
    _check_description,
    _check_records,
    _check_table,
    _check_parquet_table,
    _check_jsonl_table,
    _check_reply_journal,
)
