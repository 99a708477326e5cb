"""Public question sets become records: from a local path, or through the ``datasets`` library.

`DATASETS` is the table of known sets; `load_dataset` returns records, `load_corpus` the documents
that the questions are about.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rageval_report._registry import Registry, import_parquet, import_pyarrow, load
from rageval_report.errors import DataError, RagevalWarning, ReaderError, UnknownNameError, named
from rageval_report.files.source import Source, json_objects
from rageval_report.records.draws import (
    DrawKeys,
    count_unanswerable,
    draw_rows,
    equal_shares,
    number_of_content,
)
from rageval_report.records.table import record_table
from rageval_report.types import JsonObject

RecordFields = dict[str, Any]  # the fields of a record and its metadata, by name

# Stack levels from the warnings here to the line that called `load_dataset`.
_CALLER = 3


@dataclass(frozen=True)
class DatasetRequest:
    """Which data set a user wants, and from where; fetched from the network without a path."""

    name: str
    path: Path | None = None
    subset: str | None = None
    split: str | None = None

    @property
    def title(self) -> str:
        """The name, with the subset if there is one."""
        return f"{self.name}/{self.subset}" if self.subset else self.name


@dataclass(frozen=True)
class DatasetPart:
    """The questions of one file or subset: rows that become records only if they are sampled.

    Parameters
    ----------
    name : str
        What an error calls it: the file, or the subset.
    rows : sequence
        One row per question.
    record : callable
        Returns the record of a row: a dict of `rageval_report.records.FIELDS` and metadata.
    """

    name: str
    rows: Sequence[Any]
    record: Callable[[Any], RecordFields]

    def at(self, place: int) -> RecordFields:
        """The record of a row."""
        try:
            return self.record(self.rows[place])
        except DataError as exc:
            raise ReaderError(f"question {place} (counted from 0): {exc}", self.name) from exc


@dataclass(frozen=True)
class Dataset:
    """A data set that can be loaded.

    Parameters
    ----------
    name : str
        The name by which it is loaded.
    sentence : str
        What it contains.
    licence : str
        As its authors state it.
    size : str
        The number of questions per split.
    parts : callable
        Returns the parts that a request needs.
    corpus : callable, optional
        Returns (id, title, text) of every document, if the set has a separate corpus.
    subsets : tuple of str
        The names of its subsets; a subset is loaded as "name/subset".
    homepage : str
        A web page that describes it.

    Examples
    --------
    >>> from rageval_report.datasets import DATASETS
    >>> DATASETS["hotpotqa"].name, bool(DATASETS["hotpotqa"].licence)
    ('hotpotqa', True)
    """

    name: str
    sentence: str
    licence: str
    size: str
    parts: Callable[[DatasetRequest], list[DatasetPart]]
    corpus: Callable[[DatasetRequest], Iterator[tuple[str, str, str]]] | None = None
    subsets: tuple[str, ...] = ()
    homepage: str = ""


_SETS = "rageval_report.records.question_sets"
_NAMES = ("squad_v2", "hotpotqa", "msmarco", "qasper", "ragbench", "clapnq", "beir")
DATASETS: Registry[Dataset] = Registry(
    "data set",
    {
        **{name: f"{_SETS}:{name.upper()}" for name in _NAMES},
        "golden": "rageval_report.records.golden:GOLDEN",
    },
    group="rageval_report.datasets",
)


def load_dataset(
    name: str,
    path: str | Path | None = None,
    *,
    split: str | None = None,
    samples: int | None = None,
    unanswerable_ratio: float | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Load a data set as records.

    Parameters
    ----------
    name : str
        A name in `DATASETS`, with a subset if there are any: "ragbench/covidqa", "beir/nfcorpus".
    path : str or Path, optional
        A file or folder; for BEIR also a zip archive. If omitted, the set is fetched by the
        ``datasets`` library (extra ``datasets``).
    split : str, optional
        Such as "train", "validation" or "test"; if omitted, the one for testing.
    samples : int, optional
        How many questions to sample without replacement; all if omitted. They stay in the order of
        the set. If a set has subsets, the same number is taken from each.
    unanswerable_ratio : float, optional
        The share of questions without an answer, from 0 to 1, e.g. 0.3 to test whether a pipeline
        abstains; if omitted, as in the set. Without `samples`, as many questions as that share
        allows. The whole set is then read.
    seed : int
        The seed of the sampling.

    Returns
    -------
    DataFrame
        Records as `rageval_report.records.record_table` checks them: ``question``, ``reference``
        (all of them), ``negative_reference``, ``answerable``, ``relevant`` (ids of passages with
        grades; missing if nothing answers the question), and as far as the set has them
        ``query_type``, ``domain``, ``difficulty`` and ``passages`` (id to text of the passages
        that come with the question).

    Raises
    ------
    UnknownNameError
        If no data set, or no subset, has that name.
    ReaderError
        If the files at the path are not that data set.
    DataError
        If the set cannot be fetched, `samples` or `unanswerable_ratio` is out of range, or the set
        does not say which questions have an answer.
    MissingDependencyError
        If the set must be fetched, and the ``datasets`` library is not installed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "hotpot.json"
    ...     _ = path.write_text('[{"_id": "a", "question": "Who?", "answer": "Ann"}]')
    ...     load_dataset("hotpotqa", path).loc["a", "reference"]
    ['Ann']
    """
    dataset, request = _parse_request(name, path, split)
    if samples is not None and (isinstance(samples, bool) or samples < 1):
        raise DataError(f"samples must be an integer >= 1, or None; got {samples!r}")
    parts = [part for part in dataset.parts(request) if len(part.rows)]
    if not parts:
        raise DataError(f"{request.path or request.title}: expected questions; there are none")
    records = _drawn(parts, samples, unanswerable_ratio, np.random.default_rng(seed))
    return table_of_rows(_with_unique_ids(records))


def table_of_rows(rows: Sequence[RecordFields]) -> pd.DataFrame:
    """The table of records, without the fields that no row has."""
    filled = {key for row in rows for key, value in row.items() if value is not None}
    keys = [key for key in dict.fromkeys(key for row in rows for key in row) if key in filled]
    return record_table([{key: row.get(key) for key in keys} for row in rows])


def load_corpus(
    name: str,
    path: str | Path | None = None,
    *,
    split: str | None = None,
    ids: Collection[str] | None = None,
) -> pd.DataFrame:
    r"""The documents that the questions of a data set are about.

    Parameters
    ----------
    name, path, split
        As in `load_dataset`.
    ids : collection of str, optional
        Only these documents; the others of a large corpus are skipped, not kept in memory.

    Returns
    -------
    DataFrame
        Index ``doc_id``, columns ``title`` and ``text``, each document once, in the order of the
        set.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "corpus.jsonl").write_text('{"_id": "d1", "text": "Of mice"}\n')
    ...     load_corpus("beir", folder).loc["d1", "text"]
    'Of mice'
    """
    dataset, request = _parse_request(name, path, split)
    documents = dataset.corpus(request) if dataset.corpus else _passages(dataset, request)
    wanted = None if ids is None else set(ids)
    texts = {
        doc_id: (title, text)
        for doc_id, title, text in documents
        if wanted is None or doc_id in wanted
    }
    index = pd.Index(list(texts), name="doc_id", dtype=object)
    return pd.DataFrame(list(texts.values()), index=index, columns=["title", "text"], dtype=object)


def _passages(dataset: Dataset, request: DatasetRequest) -> Iterator[tuple[str, str, str]]:
    """The passages that come with the questions, for a set without a corpus."""
    for part in dataset.parts(request):
        for record in map(part.record, part.rows):
            title = str(record.get("title") or "")
            passages = record.get("passages") or {}
            yield from ((doc_id, title, text) for doc_id, text in passages.items())


def _parse_request(
    name: str, path: str | Path | None, split: str | None
) -> tuple[Dataset, DatasetRequest]:
    base_name, _, subset = str(name).partition("/")
    dataset = DATASETS[base_name]
    if subset and dataset.subsets and subset not in dataset.subsets:
        raise UnknownNameError(f"subset of {base_name}", subset, dataset.subsets)
    location = None if path is None else Path(path)
    if location is not None and str(location) != "-" and not location.exists():
        raise ReaderError("there is no such file or folder", location)
    return dataset, DatasetRequest(base_name, location, subset or None, split)


def _with_unique_ids(records: list[RecordFields]) -> list[RecordFields]:
    """Records with unique text ids; the second of two equal ids gets the suffix "#2"."""
    if all(record.get("query_id") is None for record in records):
        return [{key: row[key] for key in row if key != "query_id"} for row in records]
    seen: Counter[str] = Counter()
    for record in records:
        query_id = str(record["query_id"])
        seen[query_id] += 1
        n = seen[query_id]
        record["query_id"] = query_id if n == 1 else f"{query_id}#{n}"
    if repeated := [query_id for query_id, n in seen.items() if n > 1]:
        _warn(f"several questions have the same id, and get a number each: {named(repeated)}")
    return records


def _warn(message: str, stacklevel: int = _CALLER + 1) -> None:
    warnings.warn(message, RagevalWarning, stacklevel=stacklevel)


# -- lists


def dataset_list() -> pd.DataFrame:
    """The data sets that can be loaded.

    Returns
    -------
    DataFrame
        ``dataset``, ``questions`` (by split), ``licence``, ``subsets``, ``holds``, ``homepage``.

    Examples
    --------
    >>> dataset_list()["dataset"].tolist()[:2]
    ['squad_v2', 'hotpotqa']
    """
    columns = {
        "dataset": "name",
        "questions": "size",
        "licence": "licence",
        "subsets": "subsets",
        "holds": "sentence",
        "homepage": "homepage",
    }
    sets = DATASETS.loaded().values()
    table = {name: [getattr(known, field) for known in sets] for name, field in columns.items()}
    return pd.DataFrame({**table, "subsets": list(map(", ".join, table["subsets"]))})


def dataset_counts(records: pd.DataFrame) -> pd.DataFrame:
    """Counts of questions by type, domain, difficulty, and whether they have an answer.

    Parameters
    ----------
    records : DataFrame
        Records, as `load_dataset` returns them.

    Returns
    -------
    DataFrame
        ``by``, ``value``, ``n`` and ``share``. The first row counts all questions, the second
        those with gold, the third those with a reference. Missing values are counted too.

    Examples
    --------
    >>> frame = pd.DataFrame({"query_type": ["factoid", "summary", "factoid"]})
    >>> dataset_counts(frame)[["value", "n"]].to_numpy().tolist()[3:]
    [['factoid', 2], ['summary', 1]]
    """
    n = len(records)
    rows = [("all", "questions", n)]
    for column, label in (("relevant", "with gold"), ("reference", "with a reference")):
        rows.append(("all", label, int(records[column].notna().sum()) if column in records else 0))
    for column in ("query_type", "domain", "difficulty", "answerable"):
        if column in records:
            values = records[column].astype(object).where(records[column].notna(), "(not said)")
            counts = values.map(str).value_counts(sort=True)
            rows += [(column, str(value), int(count)) for value, count in counts.items()]
    frame = pd.DataFrame(rows, columns=["by", "value", "n"])
    return frame.assign(share=frame["n"] / n if n else float("nan"))


# -- draws


def _drawn(
    parts: Sequence[DatasetPart],
    samples: int | None,
    ratio: float | None,
    rng: np.random.Generator,
) -> list[RecordFields]:
    """The records that are drawn, in the order of the data set."""
    rows = [(part, place) for part in parts for place in range(len(part.rows))]
    if ratio is None:
        # The same number of questions from each part, as far as it has so many; all if None.
        ends = np.cumsum([len(part.rows) for part in parts])
        groups = np.split(np.arange(len(rows)), ends[:-1])
        if samples is not None and samples > len(rows):
            _warn(f"samples={samples}, but there are only {len(rows)} questions; all are used")
        sizes = equal_shares(list(map(len, groups)), len(rows) if samples is None else samples)
    else:
        # Questions of which a given share has no answer; those that do not say so are left out.
        flags = [part.at(place).get("answerable") for part, place in rows]
        groups = [np.array([flag is not None and bool(flag) is has_answer for flag in flags])
                  .nonzero()[0] for has_answer in (False, True)]  # fmt: skip
        sizes = list(_sizes_at_ratio(len(groups[0]), len(groups[1]), samples, ratio))
    drawn: list[int] = []
    keys = None
    for group, n in zip(groups, sizes, strict=True):
        if ratio is None and n == len(group):
            drawn += group.tolist()
            continue
        keys = np.concatenate([_row_keys(part) for part in parts]) if keys is None else keys
        drawn += group[draw_rows(keys[group], n, rng)].tolist()
    return [rows[place][0].at(rows[place][1]) for place in sorted(drawn)]


def _sizes_at_ratio(
    n_without: int, n_answerable: int, samples: int | None, ratio: float
) -> tuple[int, int]:
    """How many questions to sample without and with an answer: as requested, or the most."""
    count_unanswerable(1, ratio)  # checks the ratio
    available = n_without + n_answerable
    if not available:
        raise DataError(
            "no question says whether it has an answer, so none can be drawn by unanswerable_ratio"
        )
    if (ratio > 0 and not n_without) or (ratio < 1 and not n_answerable):
        raise DataError(
            f"cannot reach unanswerable_ratio={ratio:g}: {n_without} questions have no answer, "
            f"{n_answerable} have one"
        )
    # The most at which both kinds suffice.
    limits = (n_without / ratio if ratio > 0 else math.inf,
              n_answerable / (1 - ratio) if ratio < 1 else math.inf)  # fmt: skip
    most = math.floor(min(*limits, available) + 1e-9)
    n = most if samples is None else min(samples, most)
    if samples is not None and n < samples:
        at_ratio = f"at unanswerable_ratio={ratio:g}"
        _warn(
            f"samples={samples}, but {at_ratio} there are only {n} questions; all of them are used",
            stacklevel=_CALLER + 2,
        )
    without = min(count_unanswerable(n, ratio), n_without)
    return without, n - without


def _row_keys(part: DatasetPart) -> DrawKeys:
    """What the rows are ordered by before a draw: hashes of their content, not their positions."""
    if not isinstance(part.rows, list):
        return np.arange(len(part.rows), dtype=np.uint64)
    return np.fromiter(map(number_of_content, part.rows), dtype=np.uint64)


# -- sets whose questions are the rows of a table: a file, a folder, or the network

_PARQUET = b"PAR1"
_SUFFIXES = (".json", ".jsonl", ".parquet", ".json.gz", ".jsonl.gz")

# How file names call each split.
_SPLITS = {
    "train": ("train",),
    "validation": ("validation", "dev", "val"),
    "dev": ("dev", "validation", "val"),
    "test": ("test",),
}


@dataclass(frozen=True)
class Hub:
    """Where the ``datasets`` library finds a data set."""

    repository: str
    config: str | None = None
    revision: str | None = None
    is_nested: bool = False

    def rows(self, split: str) -> Sequence[Any]:
        """The rows of a split, from the network or from the library's cache."""
        fetch = load("datasets:load_dataset")
        try:
            rows: Sequence[Any] = fetch(
                self.repository, self.config, split=split, revision=self.revision
            )
        except (OSError, ValueError, RuntimeError) as exc:  # the bases of that library's errors
            place = self.repository if self.config is None else f"{self.repository}, {self.config}"
            raise DataError(
                f"the split {split!r} of {place} cannot be fetched: {_first_line(exc)}. Without a "
                "network, download a copy and pass its path"
            ) from exc
        return rows


# How the content of a file becomes rows, one per question, and a row a record.
RowsOf = Callable[[Any], list[JsonObject]]
RecordOf = Callable[[Any], RecordFields]


def table_parts(
    rows: RowsOf, record: RecordOf, hub: Hub, split: str, subsets: tuple[str, ...] = ()
) -> Callable[[DatasetRequest], list[DatasetPart]]:
    """A function that loads a set of one table, or of one per subset; `split` is the usual one."""

    def part(name: str, content: Any) -> DatasetPart:
        try:
            return DatasetPart(name, rows(content), record)
        except ReaderError:
            raise
        except DataError as exc:
            raise ReaderError(str(exc), name) from exc

    def parts(request: DatasetRequest) -> list[DatasetPart]:
        if request.subset is not None and not subsets:
            raise DataError(f"{request.name} has no subsets; got {request.subset!r}")
        chosen = (request.subset,) if request.subset else subsets
        if (root := request.path) is not None:
            folders = [root / subset for subset in chosen if (root / subset).is_dir()] or [root]
            files = [file for path in folders for file in _files_in(path, request.split)]
            return [part(str(file), _read_document(file)) for file in files]
        places = {f"{request.name}/{subset}": replace(hub, config=subset) for subset in chosen}
        fetched = {
            name: place.rows(request.split or split)
            for name, place in (places or {request.title: hub}).items()
        }
        # A nested row holds many questions, so rows and questions cannot be matched by number.
        return [
            part(name, list(table)) if hub.is_nested else DatasetPart(name, table, record)
            for name, table in fetched.items()
        ]

    return parts


def _files_in(path: Path, split: str | None) -> list[Path]:
    """The files of a split in a folder; all files, if they belong to one split."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.name.endswith(_SUFFIXES))
    if split is not None:
        words = _SPLITS.get(split, (split,))
        files = [file for file in files if any(word in file.name.lower() for word in words)]
    if not files:
        of_split = "" if split is None else f" of the split {split!r}"
        message = f"expected files{of_split} ending in {', '.join(_SUFFIXES)}; found none"
        raise ReaderError(message, path)
    # Train and test in one sample would not be the set that anybody else measures on.
    splits = {_split_of(file) for file in files}
    if len(splits) > 1:
        remedy = "pass split=, or the path of one file"
        raise ReaderError(f"files of several splits: {named(sorted(splits))}; {remedy}", path)
    return files


def _split_of(file: Path) -> str:
    name = file.name.lower()
    matches = (split for split, words in _SPLITS.items() if any(word in name for word in words))
    return next(matches, file.name)


def _read_document(path: Path) -> Any:
    """The content of a file: a JSON document, or a list of rows from JSON Lines or Parquet."""
    source = Source(path)
    if source.head.startswith(_PARQUET):
        arrow, parquet = import_pyarrow(), import_parquet()
        try:
            return parquet.read_table(path).to_pylist()
        except (arrow.ArrowException, OSError) as exc:
            raise ReaderError(f"the Parquet file cannot be read: {_first_line(exc)}", path) from exc
    if not source.starts_like_json:
        raise source.error(
            f"expected JSON, JSON Lines or Parquet; this looks like {source.looks_like}"
        )
    document = source.document_or_none()
    return [row for _, row in json_objects(source)] if document is None else document


def _first_line(exc: Exception) -> str:
    return next(iter(str(exc).splitlines()), type(exc).__name__).rstrip(".")
