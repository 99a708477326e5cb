"""What a data set is: where its questions come from, and how each becomes a record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from rageval_report.errors import DataError

Row = Mapping[str, Any]
Record = dict[str, Any]
T = TypeVar("T")

_SHOWN = 60
_ID_BYTES = 6


@dataclass(frozen=True)
class DatasetRequest:
    """What a user asked for.

    Parameters
    ----------
    name : str
        The data set's name.
    path : Path, optional
        A file or folder of its own; the network where None.
    subset : str, optional
        One of its subsets.
    split : str, optional
        As "train", "validation", "test".
    """

    name: str
    path: Path | None = None
    subset: str | None = None
    split: str | None = None

    @property
    def title(self) -> str:
        """The name with the subset."""
        return f"{self.name}/{self.subset}" if self.subset else self.name


@dataclass(frozen=True)
class DatasetPart:
    """Questions of one kind: a row each, turned into a record only if the row is drawn.

    Parameters
    ----------
    name : str
        What an error calls it: a file, or a subset.
    rows : sequence
        A row a question.
    record : callable
        Gives the record of a row, a dict of `rageval_report.records.FIELDS` and metadata.
    """

    name: str
    rows: Sequence[Any]
    record: Callable[[Any], Record]


@dataclass(frozen=True)
class Dataset:
    """A data set that can be loaded.

    Parameters
    ----------
    name : str
        The name it is loaded by.
    sentence : str
        What it holds.
    licence : str
        As its authors state it.
    size : str
        Questions by split.
    parts : callable
        Gives the parts that were asked for.
    corpus : callable, optional
        Gives (id, title, text) of every document, where the set has a corpus of its own.
    subsets : tuple of str
        Those that exist; a subset is asked for as "name/subset".
    homepage : str
        Where it is described.
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


def require_field(row: Row, name: str, kind: type[T]) -> T:
    """The value of a field that every row has.

    Raises
    ------
    DataError
        If it is not there, or something else.

    Examples
    --------
    >>> require_field({"question": "Who?"}, "question", str)
    'Who?'
    """
    if name not in row:
        raise DataError(f"expected a field {name!r}; found {', '.join(map(str, row)) or 'nothing'}")
    value = row[name]
    if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
        raise DataError(f"expected {name!r} to be a {kind.__name__}; got {shown(value)}")
    return value


def shown(value: object) -> str:
    """A value, short enough for an error."""
    told = repr(value)
    return told if len(told) <= _SHOWN else told[: _SHOWN - 3] + "..."


def to_list(cell: object) -> list[Any]:
    """The items of a list, however a file holds it; a mapping of lists becomes mappings.

    The ``datasets`` library turns a list of objects into an object of lists.

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
            raise DataError(f"expected lists of one length; got {shown(cell)}") from exc
    if isinstance(cell, list | tuple):
        return list(cell)
    raise DataError(f"expected a list; got {shown(cell)}")


def require_rows(document: Any, key: str, expected: str) -> list[Row]:
    """The rows of a file of one object a question: several, or one, as JSON Lines of one line are.

    Parameters
    ----------
    document : object
        What the file holds.
    key : str
        What every row has.
    expected : str
        What to say otherwise.

    Raises
    ------
    DataError
        If it is no row and no list of them.

    Examples
    --------
    >>> require_rows({"question": "Who?"}, "question", "questions")
    [{'question': 'Who?'}]
    """
    rows = [document] if isinstance(document, dict) else document
    if isinstance(rows, list) and all(key in row for row in to_mappings(rows)):
        return rows
    raise DataError(f"expected {expected}")


def to_mappings(cell: object) -> list[Row]:
    """The items of a list, all of them mappings.

    Raises
    ------
    DataError
        If one is something else.
    """
    items = to_list(cell)
    odd = [one for one in items if not isinstance(one, Mapping)]
    if odd:
        raise DataError(f"expected objects; got {shown(odd[0])}")
    return items


def distinct_texts(texts: Iterable[object]) -> list[str]:
    """The texts that are not blank, each once, in order.

    Examples
    --------
    >>> distinct_texts(["France", " ", "France", "Gaul"])
    ['France', 'Gaul']
    """
    return list(dict.fromkeys(one for one in texts if isinstance(one, str) and one.strip()))


def passage_id(source: str, text: str) -> str:
    """An id that a passage has wherever it appears: its source, and a digest of its text.

    Two passages of one source differ in it, and one passage has one id in every question, file and
    sample. Blanks and line ends make no difference.

    Examples
    --------
    >>> passage_id("Normans", "The Normans") == passage_id("Normans", " The  Normans ")
    True
    >>> passage_id("Normans", "The Normans")[:8]
    'Normans:'
    """
    plain = " ".join(text.split()).encode("utf-8", "surrogatepass")
    return f"{source}:{blake2b(plain, digest_size=_ID_BYTES).hexdigest()}"
