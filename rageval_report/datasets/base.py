"""What a data set is: where its questions come from, and how they become records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from rageval_report.errors import DataError
from rageval_report.records.cells import short_repr
from rageval_report.types import JsonObject

# The fields of a record and its metadata, by name.
RecordFields = dict[str, Any]
T = TypeVar("T")

_ID_BYTES = 6


@dataclass(frozen=True)
class DatasetRequest:
    """Which data set a user wants, and from where.

    Parameters
    ----------
    name : str
        The name of the data set.
    path : Path, optional
        A local file or folder; fetched from the network if None.
    subset : str, optional
        One of its subsets.
    split : str, optional
        Such as "train", "validation" or "test".
    """

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


# -- rows


def require_field(row: JsonObject, name: str, kind: type[T]) -> T:
    """The value of a field that every row must have.

    Raises
    ------
    DataError
        If the field is missing, or its value has another type.

    Examples
    --------
    >>> require_field({"question": "Who?"}, "question", str)
    'Who?'
    """
    if name not in row:
        raise DataError(f"expected a field {name!r}; got {', '.join(map(str, row)) or 'no field'}")
    value = row[name]
    # True is an int in Python, but not a number in a data set.
    if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
        raise DataError(f"expected {name!r} to be a {kind.__name__}; got {short_repr(value)}")
    return value


def to_list(cell: object) -> list[Any]:
    """The items of a list; a mapping of lists becomes a list of mappings.

    The ``datasets`` library stores a list of objects as an object of lists.

    Examples
    --------
    >>> to_list({"title": ["A", "B"], "sent_id": [0, 3]})
    [{'title': 'A', 'sent_id': 0}, {'title': 'B', 'sent_id': 3}]
    >>> to_list(None), to_list(("a",))
    ([], ['a'])
    """
    if cell is None:
        return []
    if isinstance(cell, Mapping):
        names = list(cell)
        try:
            return [
                dict(zip(names, items, strict=True)) for items in zip(*cell.values(), strict=True)
            ]
        except (TypeError, ValueError) as exc:
            raise DataError(f"expected lists of equal length; got {short_repr(cell)}") from exc
    if isinstance(cell, list | tuple):
        return list(cell)
    raise DataError(f"expected a list; got {short_repr(cell)}")


def require_rows(document: object, key: str, expected: str) -> list[JsonObject]:
    """The rows of a file with one object per question; a single object counts as one row.

    Parameters
    ----------
    document : object
        The content of the file.
    key : str
        A field that every row must have.
    expected : str
        What an error says was expected.

    Raises
    ------
    DataError
        If the content is neither a row nor a list of rows.

    Examples
    --------
    >>> require_rows({"question": "Who?"}, "question", "questions")
    [{'question': 'Who?'}]
    """
    rows = [document] if isinstance(document, dict) else document
    if isinstance(rows, list) and all(key in row for row in to_mappings(rows)):
        return rows
    raise DataError(f"expected {expected}")


def to_mappings(cell: object) -> list[JsonObject]:
    """The items of a list, all of which must be mappings.

    Raises
    ------
    DataError
        If an item is not a mapping.
    """
    items = to_list(cell)
    others = [item for item in items if not isinstance(item, Mapping)]
    if others:
        raise DataError(f"expected objects; got {short_repr(others[0])}")
    return items


def distinct_texts(texts: Iterable[object]) -> list[str]:
    """The texts that are not blank, without repetitions, in order.

    Examples
    --------
    >>> distinct_texts(["France", " ", "France", "Gaul"])
    ['France', 'Gaul']
    """
    return list(dict.fromkeys(text for text in texts if isinstance(text, str) and text.strip()))


def passage_id(source: str, text: str) -> str:
    """An id made of the source of a passage and a digest of its text.

    A passage has the same id in every question, file and sample, and two passages of one source
    have different ids. Blanks and line ends make no difference.

    Examples
    --------
    >>> passage_id("Normans", "The Normans") == passage_id("Normans", " The  Normans ")
    True
    >>> passage_id("Normans", "The Normans")[:8]
    'Normans:'
    """
    # Blanks do not count, because copies of one passage differ in their line breaks.
    plain = " ".join(text.split()).encode("utf-8", "surrogatepass")
    return f"{source}:{blake2b(plain, digest_size=_ID_BYTES).hexdigest()}"
