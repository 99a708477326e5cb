"""A data set becomes records: loaded, drawn by seed, checked."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from rageval_report.datasets.base import Dataset, DatasetRequest, Record
from rageval_report.datasets.drawing import draw_by_ratio, draw_evenly
from rageval_report.datasets.registry import DATASETS
from rageval_report.errors import DataError, RagevalWarning, ReaderError, UnknownNameError, named
from rageval_report.records import record_table


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
        A name of `DATASETS`; with a subset where there are some, as "ragbench/covidqa" or
        "beir/nfcorpus".
    path : str or Path, optional
        A file or folder, for BEIR a zip archive too; fetched by the ``datasets`` library where not
        given, which the extra ``datasets`` brings.
    split : str, optional
        As "train", "validation", "test"; the one for testing where not given.
    samples : int, optional
        How many questions to draw, without replacement; all of them where not given. They stay in
        the order of the set. Of a set of subsets each gives as many as another.
    unanswerable_ratio : float, optional
        The share of the questions that shall have no answer, from 0 to 1, as 0.3 for testing
        whether a pipeline abstains; as the set has them where not given. With no `samples`, as
        many questions as there are at that share. The whole set is then read.
    seed : int
        For what is drawn.

    Returns
    -------
    DataFrame
        Records as `rageval_report.records.record_table` checks them: ``question``, ``reference``
        (all of them), ``negative_reference``, ``answerable``, ``relevant`` (ids of passages with
        grades; missing where nothing answers the question), and as far as the set has them
        ``query_type``, ``domain``, ``difficulty`` and ``passages`` (id to text of those that come
        with the question).

    Raises
    ------
    UnknownNameError
        If no data set, or no subset, has that name.
    ReaderError
        If what stands at the path is not that data set.
    DataError
        If it cannot be fetched, `samples` or `unanswerable_ratio` makes no sense, or the set does
        not say which questions have an answer.
    MissingDependencyError
        If it would be fetched, and the ``datasets`` library is not installed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "hotpot.json"
    ...     _ = path.write_text('[{"_id": "a", "question": "Who?", "answer": "Ann"}]')
    ...     load_dataset("hotpotqa", path).loc["a", "reference"]
    ['Ann']
    """
    known, asked = _asked(name, path, split)
    _check_samples(samples)
    parts = [part for part in known.parts(asked) if len(part.rows)]
    if not parts:
        raise DataError(f"{asked.path or asked.title}: no questions are there")
    rng = np.random.default_rng(seed)
    if unanswerable_ratio is None:
        drawn = draw_evenly(parts, samples, rng)
    else:
        drawn = draw_by_ratio(parts, samples, unanswerable_ratio, rng)
    return record_table(_without_empty_columns(_with_unique_ids(drawn)))


def load_corpus(
    name: str,
    path: str | Path | None = None,
    *,
    split: str | None = None,
    ids: Collection[str] | None = None,
) -> pd.DataFrame:
    r"""The documents that a data set's questions are asked of.

    Parameters
    ----------
    name, path, split
        As in `load_dataset`.
    ids : collection of str, optional
        Only these documents; the others of a large corpus are passed over and not held.

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
    known, asked = _asked(name, path, split)
    documents = known.corpus(asked) if known.corpus else _passages(known, asked)
    wanted = None if ids is None else set(ids)
    found = {
        one: (title, text) for one, title, text in documents if wanted is None or one in wanted
    }
    index = pd.Index(list(found), name="doc_id", dtype=object)
    return pd.DataFrame(list(found.values()), index=index, columns=["title", "text"], dtype=object)


def _passages(known: Dataset, asked: DatasetRequest) -> Iterator[tuple[str, str, str]]:
    for part in known.parts(asked):
        for row in part.rows:
            record = part.record(row)
            title = str(record.get("title") or "")
            yield from ((one, title, text) for one, text in (record.get("passages") or {}).items())


def _asked(name: str, path: str | Path | None, split: str | None) -> tuple[Dataset, DatasetRequest]:
    plain, _, subset = str(name).partition("/")
    known = DATASETS[plain]
    if subset and known.subsets and subset not in known.subsets:
        raise UnknownNameError(f"subset of {plain}", subset, known.subsets)
    place = None if path is None else Path(path)
    if place is not None and str(place) != "-" and not place.exists():
        raise ReaderError("there is no such file or folder", place)
    return known, DatasetRequest(plain, place, subset or None, split)


def _check_samples(samples: int | None) -> None:
    if samples is not None and (isinstance(samples, bool) or samples < 1):
        raise DataError(f"samples must be a whole number from 1 up, or None; got {samples!r}")


def _with_unique_ids(records: list[Record]) -> list[Record]:
    """Records whose ids are texts, each once; where a set gives one twice, the next gets "#2"."""
    if all(record.get("query_id") is None for record in records):
        return [{key: one[key] for key in one if key != "query_id"} for one in records]
    ids = [str(record["query_id"]) for record in records]
    seen: Counter[str] = Counter()
    for record, one in zip(records, ids, strict=True):
        seen[one] += 1
        record["query_id"] = one if seen[one] == 1 else f"{one}#{seen[one]}"
    twice = [one for one, n in seen.items() if n > 1]
    if twice:
        told = f"ids that stand for several questions get a number: {named(twice)}"
        warnings.warn(told, RagevalWarning, stacklevel=3)
    return records


def _without_empty_columns(records: list[Record]) -> list[Record]:
    """Records without the fields that none of them fills."""
    filled = {key for one in records for key, value in one.items() if value is not None}
    keys = [key for key in dict.fromkeys(key for one in records for key in one) if key in filled]
    return [{key: one.get(key) for key in keys} for one in records]
