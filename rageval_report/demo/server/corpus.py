"""The documents of the reference server: a folder of texts, or the example documents."""

from __future__ import annotations

from collections import Counter
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
    """A text that the server can retrieve.

    Parameters
    ----------
    doc_id : str
        Its id.
    text : str
        The text.

    Examples
    --------
    >>> Document("d1", "The fee is 6 crowns.").doc_id
    'd1'
    """

    doc_id: str
    text: str


def read_documents(path: str | Path) -> list[Document]:
    r"""The documents of a folder, or of a JSON Lines file.

    Parameters
    ----------
    path : str or Path
        A folder of ``.txt`` and ``.md`` files, whose ids are their paths in the folder;
        or a JSON Lines file of objects with ``doc_id`` and ``text``.

    Raises
    ------
    DataError
        If there are no documents, or two have the same id.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "ferry.md").write_text("The ferry leaves at nine.\n")
    ...     read_documents(folder)
    [Document(doc_id='ferry.md', text='The ferry leaves at nine.\n')]
    """
    documents = _read_folder(Path(path)) if Path(path).is_dir() else _read_lines(path)
    if not documents:
        raise DataError(
            f"{path}: expected documents, e.g. {' or '.join(SUFFIXES)} files; found none"
        )
    repeated = sorted(
        doc_id for doc_id, n in Counter(document.doc_id for document in documents).items() if n > 1
    )
    if repeated:
        raise DataError(f"{path}: document ids must be unique; repeated: {named(repeated)}")
    return documents


def demo_documents() -> list[Document]:
    """The example documents: services of an invented island's council.

    Examples
    --------
    >>> len(demo_documents())
    24
    """
    with resources.as_file(_DATA / "documents.jsonl") as path:
        return _read_lines(path)


def demo_queries() -> list[dict[str, Any]]:
    """Questions about the example documents, with references and gold; some have no answer.

    Examples
    --------
    >>> demo_queries()[3]["question"]
    "Which form do I hand in to apply for a resident's ferry pass?"
    """
    with resources.as_file(_DATA / "queries.jsonl") as path:
        return [query for _, query in json_objects(Source(path))]


def _read_folder(folder: Path) -> list[Document]:
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    files = [path for path in paths if path.is_file()]
    return [Document(path.relative_to(folder).as_posix(), Source(path).text) for path in files]


def _read_lines(path: str | Path) -> list[Document]:
    source = Source(path)
    documents = []
    for line, row in json_objects(source):
        doc_id, text = row.get("doc_id"), row.get("text")
        if not isinstance(doc_id, str) or not isinstance(text, str):
            raise source.error("expected an object with the texts doc_id and text", line=line)
        documents.append(Document(doc_id, text))
    return documents
