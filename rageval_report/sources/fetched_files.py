"""Files from elsewhere, copied to a temporary folder for as long as somebody holds them."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

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
