"""The documents of the reference server: a folder of texts, or those that are shipped."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from rageval_report.errors import DataError, named
from rageval_report.files.json_lines import json_objects
from rageval_report.files.source import Source

SUFFIXES = (".txt", ".md")

_DATA = resources.files(__name__.rpartition(".")[0]) / "data"


@dataclass(frozen=True)
class Document:
    """A text that can be found.

    Parameters
    ----------
    doc_id : str
        Its id.
    text : str
        What it says.
    """

    doc_id: str
    text: str


def read_documents(path: str | Path) -> list[Document]:
    r"""The documents of a folder, or of a JSON Lines file.

    Parameters
    ----------
    path : str or Path
        A folder of ``.txt`` and ``.md`` files, each a document whose id is its place in the folder;
        or a file of objects with ``doc_id`` and ``text``.

    Raises
    ------
    DataError
        If there is none, or two have one id.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "ferry.md").write_text("The ferry leaves at nine.\n")
    ...     read_documents(folder)
    [Document(doc_id='ferry.md', text='The ferry leaves at nine.\n')]
    """
    found = _of_folder(Path(path)) if Path(path).is_dir() else _of_lines(path)
    if not found:
        raise DataError(f"{path} holds no documents: files that end in {' or '.join(SUFFIXES)}")
    ids = [document.doc_id for document in found]
    if len(set(ids)) < len(ids):
        twice = sorted({one for one in ids if ids.count(one) > 1})
        raise DataError(f"{path}: two documents have one id: {named(twice)}")
    return found


def demo_documents() -> list[Document]:
    """The documents that are shipped: services of an invented island's council.

    Examples
    --------
    >>> len(demo_documents())
    24
    """
    with resources.as_file(_DATA / "documents.jsonl") as path:
        return _of_lines(path)


def demo_queries() -> list[dict[str, Any]]:
    """Questions about the shipped documents, with references and gold; some have no answer.

    Examples
    --------
    >>> demo_queries()[3]["question"]
    "Which form do I hand in to apply for a resident's ferry pass?"
    """
    with resources.as_file(_DATA / "queries.jsonl") as path:
        return [found for _, found in json_objects(Source(path))]


def _of_folder(folder: Path) -> list[Document]:
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    files = [path for path in paths if path.is_file()]
    return [Document(path.relative_to(folder).as_posix(), Source(path).text) for path in files]


def _of_lines(path: str | Path) -> list[Document]:
    source = Source(path)
    found = []
    for line, row in json_objects(source):
        one, text = row.get("doc_id"), row.get("text")
        if not isinstance(one, str) or not isinstance(text, str):
            raise source.error("expected an object with the texts doc_id and text", line=line)
        found.append(Document(one, text))
    return found
