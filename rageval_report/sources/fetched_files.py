"""Files and documents from elsewhere, kept for as long as somebody holds them."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path

from rageval_report.files.inputs import Contents
from rageval_report.files.source import Source
from rageval_report.sources.base import SourceAddress


class TemporaryFolder:
    """A folder that is removed when the last object that holds it is gone, or at the end.

    Examples
    --------
    >>> folder = TemporaryFolder()
    >>> path = folder.path
    >>> del folder
    >>> path.exists()
    False
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="rageval-"))
        # Not TemporaryDirectory: it warns if it is removed with its last holder.
        self._remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class FetchedFile(Source):
    """A file that was copied from an address.

    Parameters
    ----------
    path : Path
        The copy.
    folder : TemporaryFolder
        Holds the copy; it lasts as long as this object.
    address : SourceAddress
        The address that the user named, for the error about an empty file.
    name : str
        Where the file comes from, without passwords; for messages.
    stem : str, optional
        The name of the pipeline if the content does not state one; the name of the file if omitted.

    Raises
    ------
    ReaderError
        If the file is empty.
    """

    def __init__(
        self,
        path: Path,
        folder: TemporaryFolder,
        address: SourceAddress,
        *,
        name: str,
        stem: str | None = None,
    ):
        if not path.stat().st_size:
            raise address.error(f"{name} is empty")
        super().__init__(path)
        self.name = name
        self._folder_of_copy = folder
        self._stem = stem

    @property
    def stem(self) -> str:
        """The name of the pipeline if the content does not state one."""
        return self._stem or super().stem


class FetchedDocument(Source):
    """A JSON document that a server returned.

    Parameters
    ----------
    document : object
        Made of dicts, lists, texts, numbers and None.
    name : str
        Where it comes from, without passwords; for messages.
    stem : str
        The name of the pipeline if the document does not state one.
    notes : iterable of str
        Where the rows come from.
    """

    def __init__(self, document: object, *, name: str, stem: str, notes: Iterable[str] = ()):
        text = json.dumps(document, ensure_ascii=True)
        self._set_contents(Contents(name, stem, text.encode(), is_text=True))
        self._notes = list(notes)
