"""Load a data set as records: read, sampled with a seed, checked."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from rageval_report.datasets.base import Dataset, DatasetRequest, RecordFields
from rageval_report.datasets.drawing import draw_by_ratio, draw_evenly
from rageval_report.datasets.registry import DATASETS
from rageval_report.errors import (
    DataError,
    RagevalWarning,
    ReaderError,
    UnknownNameError,
    explain_keywords,
    named,
)
from rageval_report.records import record_table


@explain_keywords
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
    _check_samples(samples)
    parts = [part for part in dataset.parts(request) if len(part.rows)]
    if not parts:
        raise DataError(f"{request.path or request.title}: expected questions; there are none")
    rng = np.random.default_rng(seed)
    if unanswerable_ratio is None:
        records = draw_evenly(parts, samples, rng)
    else:
        records = draw_by_ratio(parts, samples, unanswerable_ratio, rng)
    return record_table(_without_empty_columns(_with_unique_ids(records)))


@explain_keywords
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
    requested_ids = None if ids is None else set(ids)
    texts = {
        doc_id: (title, text)
        for doc_id, title, text in documents
        if requested_ids is None or doc_id in requested_ids
    }
    index = pd.Index(list(texts), name="doc_id", dtype=object)
    return pd.DataFrame(list(texts.values()), index=index, columns=["title", "text"], dtype=object)


def _passages(dataset: Dataset, request: DatasetRequest) -> Iterator[tuple[str, str, str]]:
    for part in dataset.parts(request):
        for row in part.rows:
            record = part.record(row)
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


def _check_samples(samples: int | None) -> None:
    if samples is not None and (isinstance(samples, bool) or samples < 1):
        raise DataError(f"samples must be an integer >= 1, or None; got {samples!r}")


def _with_unique_ids(records: list[RecordFields]) -> list[RecordFields]:
    """Records with unique text ids; the second of two equal ids gets the suffix "#2"."""
    if all(record.get("query_id") is None for record in records):
        return [{key: row[key] for key in row if key != "query_id"} for row in records]
    ids = [str(record["query_id"]) for record in records]
    seen: Counter[str] = Counter()
    for record, query_id in zip(records, ids, strict=True):
        seen[query_id] += 1
        n = seen[query_id]
        record["query_id"] = query_id if n == 1 else f"{query_id}#{n}"
    repeated = [query_id for query_id, n in seen.items() if n > 1]
    if repeated:
        message = f"several questions have the same id, and get a number each: {named(repeated)}"
        warnings.warn(message, RagevalWarning, stacklevel=3)
    return records


def _without_empty_columns(records: list[RecordFields]) -> list[RecordFields]:
    """Records without the fields that are missing in all of them."""
    filled = {key for row in records for key, value in row.items() if value is not None}
    keys = [key for key in dict.fromkeys(key for row in records for key in row) if key in filled]
    return [{key: row.get(key) for key in keys} for row in records]
