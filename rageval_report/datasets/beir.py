"""BEIR: queries, a corpus and judgments, as a folder, a zip archive, or from the network."""

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
    Record,
    require_field,
    shown,
)
from rageval_report.datasets.row_sources import Hub, hub_rows
from rageval_report.errors import DataError, RagevalWarning, ReaderError, named
from rageval_report.files.archives import Archive, is_archive
from rageval_report.files.json_lines import json_objects
from rageval_report.files.source import Source
from rageval_report.files.strict_json import NotJSONError, parse_json

_CORPUS, _QUERIES = "corpus.jsonl", "queries.jsonl"
_SPLITS = ("test", "dev", "validation", "train")

# Where each value stands in a line of judgments: BEIR's three columns, TREC's four.
_PLACES = {3: (0, 1, 2), 4: (0, 2, 3)}


class BeirFiles(Protocol):
    """Where the files of a set stand."""

    @property
    def name(self) -> str:
        """What an error calls it."""

    def names(self) -> list[str]:
        """The files, as paths with slashes."""

    def objects(self, name: str) -> Iterator[dict[str, Any]]:
        """The objects of a file of JSON Lines."""

    def text(self, name: str) -> str:
        """The text of a file."""


@dataclass(frozen=True)
class BeirFolder:
    """A set unpacked in a folder."""

    path: Path

    @property
    def name(self) -> str:
        """What an error calls it."""
        return str(self.path)

    def names(self) -> list[str]:
        """The files, as paths with slashes."""
        files = (file for file in self.path.rglob("*") if file.is_file())
        return _without_metadata(file.relative_to(self.path).as_posix() for file in files)

    def objects(self, name: str) -> Iterator[dict[str, Any]]:
        """The objects of a file of JSON Lines, gzipped or not."""
        for _, one in json_objects(Source(self.path / name)):
            yield one

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
        """What an error calls it."""
        return str(self.path)

    def names(self) -> list[str]:
        """The files, as paths with slashes."""
        return _without_metadata(self.archive.names)

    def objects(self, name: str) -> Iterator[dict[str, Any]]:
        """The objects of a file of JSON Lines."""
        for number, line in enumerate(StringIO(self.text(name)), 1):
            if line.isspace():
                continue
            try:
                found = parse_json(line)
            except NotJSONError as exc:
                raise ReaderError(str(exc), f"{self.path}/{name}", number) from exc
            if not isinstance(found, dict):
                raise ReaderError("expected one JSON object a line", f"{self.path}/{name}", number)
            yield found

    def text(self, name: str) -> str:
        """The text of a file."""
        try:
            return self.archive.read(name).decode("utf-8-sig")
        except UnicodeDecodeError as exc:
            raise ReaderError("the member is no text in UTF-8", f"{self.path}/{name}") from exc


def _without_metadata(names: Iterable[str]) -> list[str]:
    """The names but for those that macOS adds to folders and archives."""
    return sorted(one for one in names if not f"/{one}".rpartition("/")[2].startswith("._"))


# -- the parts


def beir_parts(asked: DatasetRequest) -> list[DatasetPart]:
    """The queries that were judged, each with its judgments.

    Parameters
    ----------
    asked : DatasetRequest
        A folder, a zip archive, or a file of queries with ``qrels`` beside it; or the name of a
        subset, to be fetched.

    Raises
    ------
    ReaderError
        If no judgments are there, or a file is broken.
    """
    if asked.path is None:
        return [_fetched(asked)]
    place, queries = _place_of(asked.path)
    qrels_name = _qrels_name(place, asked.split)
    qrels = read_qrels(place.text(qrels_name), f"{place.name}/{qrels_name}")
    in_file = () if queries is None else place.objects(queries)
    texts = dict(_texts(in_file, f"{place.name}/{queries}"))
    if queries is None:
        told = f"{place.name}: no {_QUERIES} is there, so the records have no questions"
        warnings.warn(told, RagevalWarning, stacklevel=4)
    return [_part(place.name, texts, qrels)]


def _part(
    name: str, texts: Mapping[str, str], qrels: Mapping[str, dict[str, float]]
) -> DatasetPart:
    lost = [one for one in qrels if one not in texts] if texts else []
    if lost:
        told = f"{name}: {len(lost)} judged queries have no text: {named(lost)}"
        warnings.warn(told, RagevalWarning, stacklevel=5)
    return DatasetPart(name, list(qrels), partial(_record, texts=texts, qrels=qrels))


def _record(
    query_id: str, texts: Mapping[str, str], qrels: Mapping[str, dict[str, float]]
) -> Record:
    return {
        "query_id": query_id,
        "question": texts.get(query_id),
        "relevant": qrels[query_id],
    }


def _texts(rows: Iterable[Mapping[str, Any]], name: str) -> Iterator[tuple[str, str]]:
    for number, row in enumerate(rows, 1):
        try:
            yield _id_of(row), require_field(row, "text", str)
        except DataError as exc:
            raise ReaderError(f"entry {number}: {exc}", name) from exc


def _id_of(row: Mapping[str, Any]) -> str:
    given = row.get("_id", row.get("id"))
    if isinstance(given, bool) or not isinstance(given, str | int) or not str(given).strip():
        raise DataError(f"expected an '_id', a text; got {shown(given)}")
    return str(given)


def _fetched(asked: DatasetRequest) -> DatasetPart:
    hub = _hub(asked)
    texts = dict(_texts(hub_rows(hub("queries"), "queries"), f"{asked.title}, queries"))
    rows = hub_rows(Hub(f"BeIR/{asked.subset}-qrels"), asked.split or "test")
    qrels: dict[str, dict[str, float]] = {}
    for row in rows:
        graded = qrels.setdefault(str(row["query-id"]), {})
        graded[str(row["corpus-id"])] = float(row["score"])
    return _part(asked.title, texts, qrels)


def _hub(asked: DatasetRequest) -> partial[Hub]:
    if asked.subset is None:
        raise DataError(
            "expected the path of a folder or zip archive, or the name of a subset, as "
            "'beir/nfcorpus'"
        )
    return partial(Hub, f"BeIR/{asked.subset}")


def beir_corpus(asked: DatasetRequest) -> Iterator[tuple[str, str, str]]:
    """The id, title and text of each document.

    Parameters
    ----------
    asked : DatasetRequest
        As in `beir_parts`.

    Raises
    ------
    ReaderError
        If there is no corpus.
    """
    if asked.path is None:
        told = f"{asked.title}, corpus"
        rows: Iterable[Mapping[str, Any]] = hub_rows(_hub(asked)("corpus"), "corpus")
    else:
        place, _ = _place_of(asked.path)
        name = _named_like(place, _CORPUS)
        if name is None:
            raise ReaderError(f"expected a {_CORPUS}; found none", place.name)
        told, rows = f"{place.name}/{name}", place.objects(name)
    yield from _documents(rows, told)


def _documents(rows: Iterable[Mapping[str, Any]], name: str) -> Iterator[tuple[str, str, str]]:
    for number, row in enumerate(rows, 1):
        try:
            yield _id_of(row), str(row.get("title") or ""), require_field(row, "text", str)
        except DataError as exc:
            raise ReaderError(f"entry {number}: {exc}", name) from exc


# -- the files


def _place_of(path: Path) -> tuple[BeirFiles, str | None]:
    """Where the files stand, and which holds the queries."""
    if not path.is_dir():
        source = Source(path)
        if is_archive(source):
            archive: BeirFiles = BeirZip(path, Archive(source))
            return archive, _named_like(archive, _QUERIES)
        if not (path.parent / "qrels").is_dir():
            told = "expected judgments in a folder qrels beside this file, or a folder or zip"
            raise ReaderError(f"{told} archive of a BEIR set; found neither", path)
        return BeirFolder(path.parent), path.name
    folder = BeirFolder(path)
    return folder, _named_like(folder, _QUERIES)


def _named_like(place: BeirFiles, name: str) -> str | None:
    """The file of that name, beside the judgments where there are some, gzipped or not."""
    names = place.names()
    root = _root_of(names, place.name)
    wanted = (f"/{name}", f"/{name}.gz")
    found = [one for one in names if f"/{one}".endswith(wanted)]
    beside = [one for one in found if root is None or one.rpartition("/")[0] == root]
    return next(iter(beside or (found if len(found) == 1 else [])), None)


def _root_of(names: Iterable[str], place: str) -> str | None:
    """The folder of the set: the one that has judgments; None where no one has.

    Raises
    ------
    ReaderError
        If several sets lie there: files of one are not to be taken for another's.
    """
    roots = {f"/{one}".rpartition("/qrels/")[0] for one in names if "/qrels/" in f"/{one}"}
    if len(roots) > 1:
        told = named(sorted(one.lstrip("/") or "the folder itself" for one in roots))
        raise ReaderError(f"several sets lie here: {told}; give the path of one", place)
    return next(iter(roots)).lstrip("/") if roots else None


def _qrels_name(place: BeirFiles, split: str | None) -> str:
    names = place.names()
    _root_of(names, place.name)
    files = [one for one in names if "/qrels/" in f"/{one}"]
    splits = {Path(one).stem: one for one in files if one.endswith((".tsv", ".txt"))}
    wanted: Sequence[str] = _SPLITS if split is None else (split,)
    found = next((splits[one] for one in wanted if one in splits), None)
    if found is None:
        what = "judgments" if split is None else f"judgments of the split {split!r}"
        told = ", ".join(splits) or "none"
        raise ReaderError(f"expected {what} in qrels/<split>.tsv; found {told}", place.name)
    return found


def read_qrels(text: str, name: str) -> dict[str, dict[str, float]]:
    r"""The judgments by query, highest grades first, else in the order of the file.

    Parameters
    ----------
    text : str
        Lines of BEIR's three columns, with or without a header, or of TREC's four.
    name : str
        What an error calls the file.

    Raises
    ------
    ReaderError
        If a line has other columns, its grade is no number, or it contradicts another.

    Examples
    --------
    >>> read_qrels("query-id\tcorpus-id\tscore\nq\ta\t1\nq\tb\t2\n", "test.tsv")
    {'q': {'b': 2.0, 'a': 1.0}}
    """
    found: dict[str, dict[str, float]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        parts = line.split("\t") if "\t" in line else line.split()
        if not line.strip() or (number == 1 and _is_header(parts)):
            continue
        query, document, grade = _judgment(parts, name, number)
        if found.setdefault(query, {}).setdefault(document, grade) != grade:
            told = f"{document!r} is judged twice for {query!r}, with different grades"
            raise ReaderError(told, name, number)
    if not found:
        raise ReaderError("expected judgments; there are none", name)
    ranked = {query: sorted(grades.items(), key=_by_grade) for query, grades in found.items()}
    return {query: dict(pairs) for query, pairs in ranked.items()}


def _by_grade(pair: tuple[str, float]) -> float:
    return -pair[1]


def _is_header(parts: list[str]) -> bool:
    try:
        float(parts[-1])
    except ValueError:
        return True
    return False


def _judgment(parts: list[str], name: str, number: int) -> tuple[str, str, float]:
    places = _PLACES.get(len(parts))
    try:
        query, document, told = (parts[place].strip() for place in places or ())
        grade = float(told)
        if not math.isfinite(grade):
            raise ValueError(told)
        return query, document, grade
    except ValueError as exc:
        told = "expected query-id, corpus-id and score, or a line of TREC's qrels; got"
        raise ReaderError(f"{told} {json.dumps(parts)[:80]}", name, number) from exc


BEIR = Dataset(
    "beir",
    "Queries, a corpus and graded judgments: nfcorpus, arguana, and all others of its form",
    "of each set; the collection CC BY-SA 4.0",
    "by set, as nfcorpus: test 323 on 3,633 documents",
    beir_parts,
    beir_corpus,
    homepage="https://github.com/beir-cellar/beir",
)
