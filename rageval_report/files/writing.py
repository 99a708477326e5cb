"""Write files atomically: a file is written completely or not at all.

The content goes to a temporary file in the same folder, is flushed to the disk, gets the
permissions of the file that it replaces, and is then renamed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rageval_report.errors import DataError

try:
    import fcntl
except ImportError:  # Windows, where a folder cannot be locked
    fcntl = None  # type: ignore[assignment]

OWNER_ONLY = 0o600
_BY_UMASK = 0o666  # the system takes the bits of the umask away


def write_atomically(path: str | Path, content: str | bytes, *, private: bool = False) -> Path:
    """Write to a temporary file in the same folder, then rename it."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return write_with(path, lambda temporary: Path(temporary).write_bytes(data), private=private)


def write_with(path: str | Path, write: Callable[[str], object], *, private: bool = False) -> Path:
    """Let `write` fill a temporary file in the folder of `path`, then rename it."""
    try:
        if _is_stream(path):
            write(str(path))
        else:
            _replace(Path(os.path.realpath(path)), write, private=private)
    except OSError as exc:
        raise DataError(f"{path} cannot be written: {exc.strerror or exc}") from exc
    return Path(path)


def _is_stream(path: str | Path) -> bool:
    """Whether the path is a device, a pipe or a socket, which must never be replaced by a file."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _replace(target: Path, write: Callable[[str], object], *, private: bool) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    earlier = target.stat() if target.exists() else None
    # The suffix is kept, because some writers choose the format by it.
    temporary = target.parent / f".{secrets.token_hex(8)}.rageval-tmp{target.suffix}"
    # A file that is being written must never be easier to read than the one that it replaces.
    mode = OWNER_ONLY if private or earlier is not None else _BY_UMASK
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    try:
        write(str(temporary))
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if earlier is not None:
            temporary.chmod(stat.S_IMODE(earlier.st_mode))
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    with _opened_folder(target.parent) as handle, contextlib.suppress(OSError):
        if handle is not None:
            os.fsync(handle)


def open_private(path: str | Path) -> int:
    """Open a file to append to it, and return the descriptor; a new file is its owner's alone."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    return os.open(path, flags, OWNER_ONLY)


def write_whole(file: BinaryIO, data: bytes) -> None:
    """Write all the bytes to an unbuffered file, which may accept only a part of them at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) or 0 :]


@contextmanager
def locked_folder(folder: str | Path) -> Iterator[None]:
    """A context in which no other process of this library writes a group of files to the folder."""
    with _opened_folder(folder) as handle:
        if handle is not None and fcntl is not None:
            # The system frees this lock if the process is killed; network drives may have none.
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def _opened_folder(folder: str | Path) -> Iterator[int | None]:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows does not open folders; a folder may be writable, but not readable
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)


def check_free(path: str | Path, *, force: bool = False) -> None:
    """Check that a path can be written to without losing a file."""
    target = Path(path)
    if target.is_dir():
        raise DataError(f"{path} is a folder; give the path of a file in it")
    if target.exists() and not force:
        raise DataError(f"{path} exists already; replace it with force=True")
