"""The documents behind a golden set: their texts by name, and the passages to ask about."""

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
_LONGEST, _SHORTEST = 1500, 200  # characters of a passage


@dataclass(frozen=True)
class Passage:
    """A piece of a document.

    Parameters
    ----------
    span : Span
        Its place.
    text : str
        Its text.
    """

    span: Span
    text: str


class Documents(Mapping[str, str]):
    r"""Texts by name, from a folder or a mapping.

    Parameters
    ----------
    source : path or mapping of str to str
        A folder, whose text files are named by their relative paths, with slashes; one file; or
        texts by name.

    Raises
    ------
    ReaderError
        If the folder or file does not exist.

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
            raise ReaderError("there is no such folder or file of documents; check the path", path)
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
        """The file of a name, if it is inside the folder: a name may lead out of it."""
        if self._root is None or not name:
            return None
        try:
            # resolve follows links and "..", so that the check sees the real place.
            path = (self._root / name).resolve()
            is_inside = path.is_relative_to(self._root.resolve()) and path.is_file()
        except (OSError, ValueError):  # a name that no file can have
            return None
        return path if is_inside else None


def _files_in(folder: Path) -> list[str]:
    files = (file for file in folder.rglob("*") if file.is_file())
    texts = (file for file in files if file.suffix.lower() in _SUFFIXES)
    return sorted(file.relative_to(folder).as_posix() for file in texts)


def passages_of(
    documents: Mapping[str, str], *, longest: int = _LONGEST, shortest: int = _SHORTEST
) -> list[Passage]:
    r"""Documents, cut at blank lines into pieces of similar length.

    Parameters
    ----------
    documents : mapping of str to str
        Texts by name.
    longest : int
        Paragraphs are joined up to this many characters; a longer one is cut.
    shortest : int
        A piece with fewer characters is left out, unless its document has no other piece.

    Returns
    -------
    list of Passage
        In the order of the documents; ``text`` is exactly the text at ``span``.

    Raises
    ------
    DataError
        If not 1 <= `shortest` <= `longest`.

    Examples
    --------
    >>> [p.span.start for p in passages_of({"a": "One.\n\nTwo."}, longest=5, shortest=1)]
    [0, 6]
    """
    if not 1 <= shortest <= longest:
        raise DataError(
            f"shortest and longest must be 1 <= shortest <= longest; got {shortest} and {longest}"
        )
    return [
        passage
        for name in documents
        for passage in _long_enough(list(_cut(name, documents[name], longest)), shortest)
    ]


def _long_enough(passages: list[Passage], shortest: int) -> list[Passage]:
    # A document that is short as a whole keeps one passage.
    return [passage for passage in passages if len(passage.text) >= shortest] or passages[:1]


def _cut(name: str, text: str, longest: int) -> Iterator[Passage]:
    start = end = 0
    for low, high in _paragraphs(text, longest):
        if end > start and high - start > longest:  # the paragraph does not fit any more
            yield Passage(Span(name, start, end), text[start:end])
            start = low
        elif end == start:  # the first paragraph of a passage
            start = low
        end = high
    if end > start:
        yield Passage(Span(name, start, end), text[start:end])


def _paragraphs(text: str, longest: int) -> Iterator[tuple[int, int]]:
    """Start and end of each paragraph, without the blanks around it; long ones in pieces."""
    breaks = [(match.start(), match.end()) for match in _BREAK.finditer(text)]
    starts = [0, *(end for _, end in breaks)]
    ends = [*(start for start, _ in breaks), len(text)]
    for low, high in zip(starts, ends, strict=True):
        paragraph = text[low:high]
        first = low + len(paragraph) - len(paragraph.lstrip())
        last = low + len(paragraph.rstrip())
        while last - first > longest:
            blank = text.rfind(" ", first + 1, first + longest)
            cut = blank if blank > first else first + longest
            yield first, cut
            first = cut + (text[cut] == " ")
        if last > first:
            yield first, last
