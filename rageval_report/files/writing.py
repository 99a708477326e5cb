"""Write files atomically: a file is written completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from rageval_report.errors import DataError


def write_atomically(path: str | Path, content: str | bytes) -> Path:
    """Write to a temporary file in the same folder, then rename it.

    Parameters
    ----------
    path : str or Path
        The target; a file that exists there is replaced only when the new one is complete.
    content : str or bytes
        A text is written as UTF-8, line ends unchanged.

    Raises
    ------
    DataError
        If the folder cannot be created or written to, or the disk is full.
    """
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return write_with(path, lambda temporary: Path(temporary).write_bytes(data))


def write_with(path: str | Path, write: Callable[[str], object]) -> Path:
    """Let `write` fill a temporary file in the folder of `path`, then rename it.

    Missing folders are created. The temporary name keeps the suffix, because some writers choose
    the format by it.
    """
    target = Path(path)
    try:
        if not target.parent.exists():  # if it is a file, mkstemp gives the clearer error
            target.parent.mkdir(parents=True, exist_ok=True)
        # In the same folder, because a rename is atomic only within one file system.
        handle, temporary = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.stem}.", suffix=target.suffix
        )
    except OSError as exc:
        raise DataError(f"{path} cannot be written: {exc.strerror}") from exc
    os.close(handle)
    try:
        write(temporary)
        # mkstemp makes files that only their owner can read.
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(target)
    except OSError as exc:
        raise DataError(f"{path} cannot be written: {exc.strerror or exc}") from exc
    finally:
        Path(temporary).unlink(missing_ok=True)
    return target


def check_free(path: str | Path, *, force: bool = False) -> None:
    """Check that a path can be written to without losing a file.

    Parameters
    ----------
    path : str or Path
        The target.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    DataError
        If the path is a folder, or if the file exists and `force` is false.

    Examples
    --------
    >>> check_free(Path(__file__), force=True)
    >>> check_free(Path(__file__))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    rageval_report.errors.DataError: ... exists already; replace it with force=True
    """
    target = Path(path)
    if target.is_dir():
        raise DataError(f"{path} is a folder; give the path of a file in it")
    if target.exists() and not force:
        raise DataError(f"{path} exists already; replace it with force=True")


def _umask() -> int:
    # The mask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
