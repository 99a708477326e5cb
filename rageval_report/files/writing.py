"""Write files atomically: a file is written completely or not at all.

The content goes to a temporary file in the same folder. It is flushed to the disk, gets the
permissions of the file that it replaces, and is then renamed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rageval_report.errors import DataError

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

OWNER_ONLY = 0o600
_BY_UMASK = 0o666  # the system takes the bits of the umask away
_LONGEST_STEM = 32  # of at most four bytes each: a name may have 255 bytes
_LOCK_SECONDS, _LOCK_PAUSE = 10.0, 0.01
# What systems without fsync on folders, or without locks, answer; a fault of the disk is not here.
_UNSUPPORTED = frozenset(
    getattr(errno, name)
    for name in ("EINVAL", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EBADF", "EACCES", "EPERM", "ENOLCK")
)
_NEEDS_FOLDER = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_OPTIONAL_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def write_atomically(path: str | Path, content: str | bytes, *, private: bool = False) -> Path:
    """Write to a temporary file in the same folder, then rename it."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return write_with(path, lambda temporary: Path(temporary).write_bytes(data), private=private)


def write_with(path: str | Path, write: Callable[[str], object], *, private: bool = False) -> Path:
    """Let `write` fill a temporary file in the folder of `path`, then rename it."""
    try:
        if _is_stream(path):
            with tempfile.TemporaryDirectory(prefix="rageval-") as folder:
                temporary = Path(folder) / (Path(path).name or "file")
                write(str(temporary))
                with temporary.open("rb") as content, Path(path).open("wb") as stream:
                    shutil.copyfileobj(content, stream)
        else:
            _replace(_resolve_link(path), write, private=private)
    except OSError as exc:
        raise DataError(f"{path} cannot be written: {exc.strerror or exc}") from exc
    return Path(path)


def open_private(path: str | Path) -> int:
    """Open a file to append to it, and return the descriptor; a new file is its owner's alone."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _OPTIONAL_FLAGS, OWNER_ONLY)


def write_whole(file: BinaryIO, data: bytes) -> None:
    """Write all the bytes to an unbuffered file, which may accept only a part of them at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) or 0 :]


@contextmanager
def locked_folder(folder: str | Path) -> Iterator[None]:
    """A context in which no other process of this library writes a group of files to the folder."""
    with _opened_folder(folder) as handle:
        end = time.monotonic() + _LOCK_SECONDS
        while handle is not None and fcntl is not None:
            try:
                # The system frees this lock if the process is killed.
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < end:
                    time.sleep(_LOCK_PAUSE)
                    continue
            except OSError as exc:
                if exc.errno not in _UNSUPPORTED:
                    raise
            break
        yield


def sync_folder(folder: str | Path) -> None:
    """Flush the names in a folder to the disk; some systems, e.g. Windows, cannot do it."""
    with _opened_folder(folder) as handle:
        if handle is not None:
            _sync(handle)


def check_free(path: str | Path, *, force: bool = False) -> None:
    """Check that a path can be written to without losing a file."""
    target = Path(path)
    if target.is_dir():
        raise DataError(f"{path} is a folder; give the path of a file in it")
    if target.exists() and not force:
        raise DataError(f"{path} exists already; replace it with force=True")


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


def _is_stream(path: str | Path) -> bool:
    """Whether the path is a device, a pipe or a socket, which must never be replaced by a file."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _resolve_link(path: str | Path) -> Path:
    """The file that a symbolic link points to; the path itself if it is not a link."""
    target = Path(os.path.realpath(path)) if Path(path).is_symlink() else Path(path)
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return target


def _replace(target: Path, write: Callable[[str], object], *, private: bool) -> None:
    new = [folder for folder in target.parents if not folder.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    earlier = target.stat() if target.exists() else None
    # A file that is being written must never be easier to read than the one that it replaces.
    mode = _BY_UMASK if earlier is None and not private else OWNER_ONLY
    # In the same folder, because a rename is atomic only within one file system; with the same
    # suffix, because some writers choose the format by it.
    token = f"{secrets.token_hex(8)}.rageval-tmp"
    temporary = target.parent / f".{target.stem[:_LONGEST_STEM]}.{token}{target.suffix}"
    try:
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | _OPTIONAL_FLAGS, mode)
    except OSError as exc:
        if exc.errno not in _NEEDS_FOLDER:
            raise
        reason = f"{exc.strerror}; its folder must be writable, because a new file is made in it"
        raise OSError(exc.errno, reason) from exc
    try:
        try:
            write(str(temporary))
            _sync(handle)  # the file, whichever descriptor wrote it
        finally:
            os.close(handle)
        if earlier is not None:
            _keep_access(temporary, earlier)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    for folder in (target.parent, *(folder.parent for folder in new)):
        sync_folder(folder)


def _keep_access(path: Path, earlier: os.stat_result) -> None:
    """Give a new file the owner, the group and the permissions of the file that it replaces."""
    mode, now = stat.S_IMODE(earlier.st_mode), path.stat()
    if now.st_gid != earlier.st_gid:
        try:
            os.chown(path, -1, earlier.st_gid)
        except OSError:
            mode &= ~stat.S_IRWXG  # they were meant for another group
    if now.st_uid != earlier.st_uid:
        with contextlib.suppress(OSError):  # only root can give a file away
            os.chown(path, earlier.st_uid, -1)
    path.chmod(mode)  # after the owner, because a new owner clears some bits


def _sync(handle: int) -> None:
    try:
        os.fsync(handle)
    except OSError as exc:
        if exc.errno not in _UNSUPPORTED:
            raise
