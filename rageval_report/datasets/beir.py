"""BEIR: queries, a corpus and judgments, from a folder, a zip archive, or the network."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, Protocol

from rageval_report.datasets.base import (
    Dataset,
    DatasetPart,
    DatasetRequest,
    RecordFields,
    require_field,
)
from rageval_report.datasets.row_sources import Hub, hub_rows
from rageval_report.errors import DataError, RagevalWarning, ReaderError, named
from rageval_report.files.archives import Archive, is_archive
from rageval_report.files.json_lines import json_objects
from rageval_report.files.source import Source
from rageval_report.files.strict_json import NotJSONError, parse_json
from rageval_report.records.cells import short_repr

_CORPUS, _QUERIES = "corpus.jsonl", "queries.jsonl"
# The split that papers report comes first.
_SPLITS = ("test", "dev", "validation", "train")

# The columns of query, document and grade in a line of qrels: BEIR has three columns, TREC four.
_COLUMNS: dict[int, tuple[int, ...]] = {3: (0, 1, 2), 4: (0, 2, 3)}


class BeirFiles(Protocol):
    """The files of a set, in a folder or an archive."""

    @property
    def name(self) -> str:
        """How an error refers to it."""

    def names(self) -> list[str]:
        """The files, as relative paths with slashes."""

    def objects(self, name: str) -> Iterator[dict[str, Any]]:
        """The objects of a file of JSON Lines."""

    def text(self, name: str) -> str:
        """The text of a file."""


@dataclass(frozen=True)
class BeirFolder:
    """A set in a folder."""

    path: Path

    @property
    def name(self) -> str:
        """How an error refers to it."""
        return str(self.path)

    def names(self) -> list[str]:
        """The files, as relative paths with slashes."""
        files = (file for file in self.path.rglob("*") if file.is_file())
        return _without_metadata(file.relative_to(self.path).as_posix() for file in files)

    def objects(self, name: str) -> Iterator[dict[str, Any]]:
        """The objects of a file of JSON Lines, gzipped or not."""
        for _, document in json_objects(Source(self.path / name)):
            yield document

    def text(self, name: str) -> str:
        """The text of a file."""
        return Source(self.path / name).text


@dataclass(frozen=True)
class BeirZip:
    """A set in a zip archive; nothing is unpacked to the disk."""

    path: Path
    archive: Archive

    @property
    def name(self) -> str:
        """How an error refers to it."""
        return str(self.path)

    def names(self) -> list[str]:
        """The files, as relative paths with slashes."""
        return _without_metadata(self.archive.names)

    def objects(self, name: str) -> Iterator[dict[str, Any]]:
        """The objects of a file of JSON Lines."""
        for number, line in enumerate(StringIO(self.text(name)), 1):
            if line.isspace():
                continue
            try:
                document = parse_json(line)
            except NotJSONError as exc:
                raise ReaderError(str(exc), f"{self.path}/{name}", number) from exc
            if not isinstance(document, dict):
                raise ReaderError(
                    "expected one JSON object per line", f"{self.path}/{name}", number
                )
            yield document

    def text(self, name: str) -> str:
        """The text of a file."""
        try:
            return self.archive.read(name).decode("utf-8-sig")
        except UnicodeDecodeError as exc:
            raise ReaderError("the member is not text in UTF-8", f"{self.path}/{name}") from exc


def _without_metadata(names: Iterable[str]) -> list[str]:
    """The names without the files that macOS adds to folders and archives."""
    return sorted(name for name in names if not f"/{name}".rpartition("/")[2].startswith("._"))


# -- the parts


def beir_parts(request: DatasetRequest) -> list[DatasetPart]:
    """The judged queries, each with its judgments.

    Parameters
    ----------
    request : DatasetRequest
        With the path of a folder, a zip archive, or a file of queries next to a folder ``qrels``;
        or with the name of a subset, which is fetched.

    Raises
    ------
    ReaderError
        If there are no judgments, or a file is damaged.
    """
    if request.path is None:
        return [_fetch_part(request)]
    files, queries = _open_files(request.path)
    qrels_name = _qrels_name(files, request.split)
    qrels = read_qrels(files.text(qrels_name), f"{files.name}/{qrels_name}")
    query_rows = () if queries is None else files.objects(queries)
    texts = dict(_question_texts(query_rows, f"{files.name}/{queries}"))
    if queries is None:
        message = f"{files.name}: there is no {_QUERIES}, so the records have no questions"
        warnings.warn(message, RagevalWarning, stacklevel=4)
    return [_part(files.name, texts, qrels)]


def _part(
    name: str, texts: Mapping[str, str], qrels: Mapping[str, dict[str, float]]
) -> DatasetPart:
    without_text = [query_id for query_id in qrels if query_id not in texts] if texts else []
    if without_text:
        n = len(without_text)
        message = f"{name}: {n} judged queries have no text: {named(without_text)}"
        warnings.warn(message, RagevalWarning, stacklevel=5)
    return DatasetPart(name, list(qrels), partial(_record, texts=texts, qrels=qrels))


def _record(
    query_id: str, texts: Mapping[str, str], qrels: Mapping[str, dict[str, float]]
) -> RecordFields:
    return {
        "query_id": query_id,
        "question": texts.get(query_id),
        "relevant": qrels[query_id],
    }


def _question_texts(rows: Iterable[Mapping[str, Any]], name: str) -> Iterator[tuple[str, str]]:
    for number, row in enumerate(rows, 1):
        try:
            yield _id_of(row), require_field(row, "text", str)
        except DataError as exc:
            raise ReaderError(f"entry {number}: {exc}", name) from exc


def _id_of(row: Mapping[str, Any]) -> str:
    value = row.get("_id", row.get("id"))
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise DataError(f"expected an '_id' that is a text; got {short_repr(value)}")
    return str(value)


def _fetch_part(request: DatasetRequest) -> DatasetPart:
    hub = _hub(request)
    texts = dict(_question_texts(hub_rows(hub("queries"), "queries"), f"{request.title}, queries"))
    # On the Hugging Face hub the judgments are a repository of their own.
    rows = hub_rows(Hub(f"BeIR/{request.subset}-qrels"), request.split or "test")
    qrels: dict[str, dict[str, float]] = {}
    for row in rows:
        grades = qrels.setdefault(str(row["query-id"]), {})
        grades[str(row["corpus-id"])] = float(row["score"])
    return _part(request.title, texts, qrels)


def _hub(request: DatasetRequest) -> partial[Hub]:
    if request.subset is None:
        raise DataError(
            "expected the path of a folder or zip archive, or the name of a subset, e.g. "
            "'beir/nfcorpus'"
        )
    return partial(Hub, f"BeIR/{request.subset}")


def beir_corpus(request: DatasetRequest) -> Iterator[tuple[str, str, str]]:
    """The id, title and text of each document.

    Parameters
    ----------
    request : DatasetRequest
        As for `beir_parts`.

    Raises
    ------
    ReaderError
        If the set has no corpus.
    """
    if request.path is None:
        name = f"{request.title}, corpus"
        rows: Iterable[Mapping[str, Any]] = hub_rows(_hub(request)("corpus"), "corpus")
    else:
        files, _ = _open_files(request.path)
        corpus = _find_file(files, _CORPUS)
        if corpus is None:
            raise ReaderError(f"expected a {_CORPUS}; found none", files.name)
        name, rows = f"{files.name}/{corpus}", files.objects(corpus)
    yield from _documents(rows, name)


def _documents(rows: Iterable[Mapping[str, Any]], name: str) -> Iterator[tuple[str, str, str]]:
    for number, row in enumerate(rows, 1):
        try:
            yield _id_of(row), str(row.get("title") or ""), require_field(row, "text", str)
        except DataError as exc:
            raise ReaderError(f"entry {number}: {exc}", name) from exc


# -- the files


def _open_files(path: Path) -> tuple[BeirFiles, str | None]:
    """The files of a set, and the one that contains the queries."""
    if not path.is_dir():
        source = Source(path)
        if is_archive(source):
            archive: BeirFiles = BeirZip(path, Archive(source))
            return archive, _find_file(archive, _QUERIES)
        if not (path.parent / "qrels").is_dir():
            raise ReaderError(
                "expected a folder or zip archive of a BEIR set, or a file of queries next to a "
                "folder qrels; got none of these",
                path,
            )
        return BeirFolder(path.parent), path.name
    folder = BeirFolder(path)
    return folder, _find_file(folder, _QUERIES)


def _find_file(files: BeirFiles, name: str) -> str | None:
    """The path of a file, gzipped or not, preferably next to the judgments."""
    paths = files.names()
    root = _root_of(paths, files.name)
    matches = [path for path in paths if f"/{path}".endswith((f"/{name}", f"/{name}.gz"))]
    in_root = [path for path in matches if root is None or path.rpartition("/")[0] == root]
    return next(iter(in_root or (matches if len(matches) == 1 else [])), None)


def _root_of(paths: Iterable[str], name: str) -> str | None:
    """The folder of the set: the one with judgments; None if there are no judgments.

    Raises
    ------
    ReaderError
        If there are several sets, whose files must not be mixed.
    """
    roots = {f"/{path}".rpartition("/qrels/")[0] for path in paths if "/qrels/" in f"/{path}"}
    if len(roots) > 1:
        sets = named(sorted(root.lstrip("/") or "the folder itself" for root in roots))
        raise ReaderError(f"expected one set; found several: {sets}. Pass the path of one", name)
    return next(iter(roots)).lstrip("/") if roots else None


def _qrels_name(files: BeirFiles, split: str | None) -> str:
    paths = files.names()
    _root_of(paths, files.name)  # refuses several sets
    qrels = [path for path in paths if "/qrels/" in f"/{path}"]
    path_of = {Path(path).stem: path for path in qrels if path.endswith((".tsv", ".txt"))}
    preferred: Sequence[str] = _SPLITS if split is None else (split,)
    path = next((path_of[name] for name in preferred if name in path_of), None)
    if path is None:
        expected = "judgments" if split is None else f"judgments of the split {split!r}"
        names = ", ".join(path_of) or "none"
        raise ReaderError(f"expected {expected} in qrels/<split>.tsv; found {names}", files.name)
    return path


def read_qrels(text: str, name: str) -> dict[str, dict[str, float]]:
    r"""Judgments by query, the highest grades first, otherwise in the order of the file.

    Parameters
    ----------
    text : str
        Lines with BEIR's three columns, with or without a header, or with TREC's four.
    name : str
        How an error refers to the file.

    Raises
    ------
    ReaderError
        If a line has other columns, its grade is not a number, or it contradicts another line.

    Examples
    --------
    >>> read_qrels("query-id\tcorpus-id\tscore\nq\ta\t1\nq\tb\t2\n", "test.tsv")
    {'q': {'b': 2.0, 'a': 1.0}}
    """
    qrels: dict[str, dict[str, float]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        # Ids may contain blanks where tabs separate the columns.
        parts = line.split("\t") if "\t" in line else line.split()
        # BEIR's files have a header, TREC's have none.
        if not line.strip() or (number == 1 and _is_header(parts)):
            continue
        query, document, grade = _judgment(parts, name, number)
        if qrels.setdefault(query, {}).setdefault(document, grade) != grade:
            message = f"{document!r} is judged twice for {query!r}, with different grades"
            raise ReaderError(message, name, number)
    if not qrels:
        raise ReaderError("expected judgments; there are none", name)
    ranked = {query: sorted(grades.items(), key=_negated_grade) for query, grades in qrels.items()}
    return {query: dict(pairs) for query, pairs in ranked.items()}


def _negated_grade(pair: tuple[str, float]) -> float:
    return -pair[1]


def _is_header(parts: list[str]) -> bool:
    try:
        float(parts[-1])
    except ValueError:
        return True
    return False


def _judgment(parts: list[str], name: str, number: int) -> tuple[str, str, float]:
    columns = _COLUMNS.get(len(parts), ())
    try:
        query, document, score = (parts[column].strip() for column in columns)
        grade = float(score)
        if not math.isfinite(grade):
            raise ValueError(score)
        return query, document, grade
    except ValueError as exc:
        expected = "expected query-id, corpus-id and score, or a line of TREC qrels"
        raise ReaderError(f"{expected}; got {json.dumps(parts)[:80]}", name, number) from exc


BEIR = Dataset(
    "beir",
    "Queries, a corpus and graded judgments: nfcorpus, arguana, and all others in this format",
    "of each set; the collection CC BY-SA 4.0",
    "by set, as nfcorpus: test 323 on 3,633 documents",
    beir_parts,
    beir_corpus,
    homepage="https://github.com/beir-cellar/beir",
)
