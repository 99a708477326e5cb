"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from rageval_report.errors import DataError


def write_atomically(path: str | Path, content: str | bytes) -> Path:
    """Write a file under a temporary name beside it, then rename it.

    Parameters
    ----------
    path : str or Path
        Where the file is to be; what stands there stays until the new one is whole.
    content : str or bytes
        Texts are written as UTF-8, line ends as they are.

    Raises
    ------
    DataError
        If the folder cannot be made or may not be written to, or the disk is full.
    """
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return write_with(path, lambda temporary: Path(temporary).write_bytes(data))


def write_with(path: str | Path, write: Callable[[str], object]) -> Path:
    """Let `write` fill a temporary file beside `path`, then rename it.

    Folders that are not there are made. The temporary name keeps the suffix, because some writers
    choose the format by it.
    """
    target = Path(path)
    try:
        if not target.parent.exists():  # where a file stands, the next line says it better
            target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.stem}.", suffix=target.suffix
        )
    except OSError as exc:
        raise DataError(f"{path} cannot be written: {exc.strerror}") from exc
    os.close(handle)
    try:
        write(temporary)
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(target)
    except OSError as exc:
        raise DataError(f"{path} cannot be written: {exc.strerror or exc}") from exc
    finally:
        Path(temporary).unlink(missing_ok=True)
    return target


def check_free(path: str | Path, *, force: bool = False) -> None:
    """Refuse to write over what is there.

    Parameters
    ----------
    path : str or Path
        Where a file is to be.
    force : bool
        Whether a file that is there may be replaced.

    Raises
    ------
    DataError
        If the path is a folder, or a file and `force` is not given.

    Examples
    --------
    >>> check_free(Path(__file__), force=True)
    >>> check_free(Path(__file__))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    rageval_report.errors.DataError: ... is there already, and is kept; replace it with force=True
    """
    target = Path(path)
    if target.is_dir():
        raise DataError(f"{path} is a folder; name a file in it")
    if target.exists() and not force:
        raise DataError(f"{path} is there already, and is kept; replace it with force=True")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
