"""Documents by name: the text behind a span or an id, and the passages to ask about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rageval_report.errors import DataError, ReaderError
from rageval_report.files.source import Source
from rageval_report.records.spans import Span

_SUFFIXES = (".txt", ".md", ".rst", ".text", ".markdown")
_BREAK = re.compile(r"\n[ \t]*\n\s*")
_LONGEST, _SHORTEST = 1500, 200


@dataclass(frozen=True)
class Passage:
    """A piece of a document.

    Parameters
    ----------
    span : Span
        Where it stands.
    text : str
        What stands there.
    """

    span: Span
    text: str


class Documents(Mapping[str, str]):
    r"""Texts by name: of a folder, or of a mapping.

    Parameters
    ----------
    source : path or mapping of str to str
        A folder, whose files of text are named as seen from it, with slashes; one file; or texts
        by name.

    Raises
    ------
    ReaderError
        If there is no such folder.

    Examples
    --------
    >>> Documents({"a.md": "One.\n\nTwo."})["a.md"]
    'One.\n\nTwo.'
    """

    def __init__(self, source: str | Path | Mapping[str, str]):
        self._texts: dict[str, str] = {}
        self._root: Path | None = None
        if isinstance(source, Mapping):
            self._texts = {str(name): str(text) for name, text in source.items()}
            self._names = list(self._texts)
            return
        path = Path(source)
        if not path.exists():
            raise ReaderError("there is no such folder or file of documents", path)
        self._root = path if path.is_dir() else path.parent
        self._names = _files_in(path) if path.is_dir() else [path.name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._texts or self._path_of(name) is not None)

    def __getitem__(self, name: str) -> str:
        if name not in self._texts:
            path = self._path_of(name)
            if path is None:
                raise KeyError(name)
            self._texts[name] = "" if path.stat().st_size == 0 else Source(path).text
        return self._texts[name]

    def _path_of(self, name: str) -> Path | None:
        """The file of that name, if it lies within the folder: a name is data, and may lead out."""
        if self._root is None or not name:
            return None
        try:
            path = (self._root / name).resolve()
            inside = path.is_relative_to(self._root.resolve()) and path.is_file()
        except (OSError, ValueError):  # a name that no file can have
            return None
        return path if inside else None


def _files_in(folder: Path) -> list[str]:
    files = (file for file in folder.rglob("*") if file.is_file())
    named = (file for file in files if file.suffix.lower() in _SUFFIXES)
    return sorted(file.relative_to(folder).as_posix() for file in named)


def passages_of(
    documents: Mapping[str, str], *, longest: int = _LONGEST, shortest: int = _SHORTEST
) -> list[Passage]:
    r"""Documents cut at blank lines into pieces of about one length.

    Parameters
    ----------
    documents : mapping of str to str
        Texts by name.
    longest : int
        Paragraphs are put together up to this many characters; a longer one is cut.
    shortest : int
        A piece with fewer characters is left out, unless its document has no other.

    Returns
    -------
    list of Passage
        In the order of the documents; ``text`` is what stands at ``span``, to the letter.

    Raises
    ------
    DataError
        If the lengths make no sense.

    Examples
    --------
    >>> [p.span.start for p in passages_of({"a": "One.\n\nTwo."}, longest=5, shortest=1)]
    [0, 6]
    """
    if not 1 <= shortest <= longest:
        raise DataError(f"expected 1 <= shortest <= longest; got {shortest} and {longest}")
    return [
        passage
        for name in documents
        for passage in _long_enough(list(_cut(name, documents[name], longest)), shortest)
    ]


def _long_enough(passages: list[Passage], shortest: int) -> list[Passage]:
    return [one for one in passages if len(one.text) >= shortest] or passages[:1]


def _cut(name: str, text: str, longest: int) -> Iterator[Passage]:
    start = end = 0
    for low, high in _paragraphs(text, longest):
        if end > start and high - start > longest:
            yield Passage(Span(name, start, end), text[start:end])
            start = low
        elif end == start:
            start = low
        end = high
    if end > start:
        yield Passage(Span(name, start, end), text[start:end])


def _paragraphs(text: str, longest: int) -> Iterator[tuple[int, int]]:
    """Where each paragraph begins and ends, without the blanks around it."""
    starts = [0, *(one.end() for one in _BREAK.finditer(text))]
    ends = [*(one.start() for one in _BREAK.finditer(text)), len(text)]
    for low, high in zip(starts, ends, strict=True):
        piece = text[low:high]
        first = low + len(piece) - len(piece.lstrip())
        last = low + len(piece.rstrip())
        while last - first > longest:
            blank = text.rfind(" ", first + 1, first + longest)
            middle = blank if blank > first else first + longest
            yield first, middle
            first = middle + (text[middle] == " ")
        if last > first:
            yield first, last
