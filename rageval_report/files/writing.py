"""Write files atomically: a file is written completely or not at all.

The content goes to a temporary file in the same folder. It is flushed to the disk, gets the
permissions of the file that it replaces, and is then renamed. A temporary file is locked while its
writer lives, so that the next writer in the folder can remove those of writers that were killed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rageval_report.errors import DataError

try:
    import fcntl
except ImportError:  # Windows: a file that is open there cannot be deleted, which does as well
    fcntl = None  # type: ignore[assignment]

OWNER_ONLY = 0o600
_BY_UMASK = 0o666  # the system takes the bits of the umask away
# ".hybrid.0123456789abcdef.rageval-tmp.csv"; the suffix is kept, because some writers choose the
# format by it.
_TEMPORARY = re.compile(r"\..*\.[0-9a-f]{16}\.rageval-tmp(\.[^.]*)?", re.DOTALL)
_LONGEST_STEM = 32  # of at most four bytes each: a name may have 255 bytes
# Where locks are not supported, a temporary file of this age has no writer any more.
_STALE_SECONDS = 86_400.0
_LOCK_SECONDS, _LOCK_PAUSE = 10.0, 0.01
# What systems without fsync on folders, or without locks, answer; a fault of the disk is not here.
_UNSUPPORTED = frozenset(
    getattr(errno, name)
    for name in ("EINVAL", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EBADF", "EACCES", "EPERM", "ENOLCK")
)
_NEEDS_FOLDER = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})

_tidied_folders: set[str] = set()
_tidying = threading.Lock()


def write_atomically(path: str | Path, content: str | bytes, *, private: bool = False) -> Path:
    """Write to a temporary file in the same folder, then rename it."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return write_with(path, lambda temporary: Path(temporary).write_bytes(data), private=private)


def write_with(path: str | Path, write: Callable[[str], object], *, private: bool = False) -> Path:
    """Let `write` fill a temporary file in the folder of `path`, then rename it."""
    try:
        if _is_stream(path):
            _write_to_stream(path, write)
        else:
            _replace(_resolve_link(path), write, private=private)
    except OSError as exc:
        raise DataError(f"{path} cannot be written: {exc.strerror or exc}") from exc
    return Path(path)


def open_private(path: str | Path) -> int:
    """Open a file to append to it, and return the descriptor; a new file is its owner's alone."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
    return os.open(path, flags | getattr(os, "O_BINARY", 0), OWNER_ONLY)


def write_whole(file: BinaryIO, data: bytes) -> None:
    """Write all the bytes to an unbuffered file, which may accept only a part of them at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) or 0 :]


@contextmanager
def locked_folder(folder: str | Path) -> Iterator[None]:
    """A context in which no other process of this library writes a group of files to the folder."""
    with _opened_folder(folder) as handle:
        if handle is not None:
            _lock(handle, _LOCK_SECONDS)
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


# -- the target


def _is_stream(path: str | Path) -> bool:
    """Whether the path is a device, a pipe or a socket, which must never be replaced by a file."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _write_to_stream(path: str | Path, write: Callable[[str], object]) -> None:
    with tempfile.TemporaryDirectory(prefix="rageval-") as folder:
        temporary = Path(folder) / (Path(path).name or "file")
        write(str(temporary))
        with temporary.open("rb") as content, Path(path).open("wb") as stream:
            shutil.copyfileobj(content, stream)


def _resolve_link(path: str | Path) -> Path:
    """The file that a symbolic link points to; the path itself if it is not a link."""
    if not Path(path).is_symlink():
        return Path(path)
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return target


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _replace(target: Path, write: Callable[[str], object], *, private: bool) -> None:
    new_folders = _make_folders(target.parent)
    _remove_stale(target.parent)
    # A file that is being written must never be easier to read than the one that it replaces.
    is_restricted = private or _status(target) is not None
    handle, temporary = _create_temporary(target, OWNER_ONLY if is_restricted else _BY_UMASK)
    try:
        write(temporary)
        _sync(handle)  # the file, whichever descriptor wrote it
        earlier = _status(target)
        if earlier is not None:
            _keep_access(handle, temporary, earlier)
        if fcntl is None:  # Windows does not rename a file that is open
            os.close(handle)
            handle = -1
        Path(temporary).replace(target)
    finally:
        Path(temporary).unlink(missing_ok=True)
        if handle >= 0:
            os.close(handle)
    for folder in (target.parent, *new_folders):
        sync_folder(folder)


def _make_folders(folder: Path) -> list[Path]:
    """Create the missing folders, and return those that have got a new name in them."""
    if folder.exists():  # if it is a file, creating the temporary file gives the clearer error
        return []
    missing = [folder, *(parent for parent in folder.parents if not parent.exists())]
    folder.mkdir(parents=True, exist_ok=True)
    return [new.parent for new in missing]


def _keep_access(handle: int, temporary: str, earlier: os.stat_result) -> None:
    """Give a new file the owner, the group and the permissions of the file that it replaces."""
    mode = stat.S_IMODE(earlier.st_mode)
    if hasattr(os, "fchown"):
        now = os.fstat(handle)
        if now.st_gid != earlier.st_gid:
            try:
                os.fchown(handle, -1, earlier.st_gid)
            except OSError:
                mode &= ~stat.S_IRWXG  # they were meant for another group
        if now.st_uid != earlier.st_uid:
            with contextlib.suppress(OSError):  # only root can give a file away
                os.fchown(handle, earlier.st_uid, -1)
    Path(temporary).chmod(mode)  # after the owner, because a new owner clears some bits


# -- temporary files


def _create_temporary(target: Path, mode: int) -> tuple[int, str]:
    """A new file in the folder of the target, locked by this process, and its name."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    while True:
        token = secrets.token_hex(8)
        name = f".{target.stem[:_LONGEST_STEM]}.{token}.rageval-tmp{target.suffix}"
        # In the same folder, because a rename is atomic only within one file system.
        temporary = target.parent / name
        try:
            handle = os.open(temporary, flags, mode)
        except FileExistsError:
            continue
        except OSError as exc:
            if exc.errno not in _NEEDS_FOLDER:
                raise
            reason = (
                f"{exc.strerror}; its folder must be writable, because a new file is made in it"
            )
            raise OSError(exc.errno, reason) from exc
        _lock(handle)
        # Before the lock, another writer could take the file for that of a killed one.
        if os.fstat(handle).st_nlink:
            return handle, str(temporary)
        os.close(handle)


def _remove_stale(folder: Path) -> None:
    """Remove temporary files of writers that were killed; once for each folder and process."""
    key = os.path.realpath(folder)
    with _tidying:
        if key in _tidied_folders:
            return
        _tidied_folders.add(key)
    # A folder that cannot be listed can be written to all the same.
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _TEMPORARY.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove_if_stale(entry)


def _remove_if_stale(entry: os.DirEntry[str]) -> None:
    status = entry.stat(follow_symlinks=False)
    is_ours = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    if not stat.S_ISREG(status.st_mode) or not is_ours:
        return
    if fcntl is None:
        Path(entry.path).unlink()  # Windows refuses it while the writer has it open
        return
    handle = os.open(entry.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # its writer lives
        return
    except OSError:
        if time.time() - status.st_mtime > _STALE_SECONDS:
            Path(entry.path).unlink()
    else:
        Path(entry.path).unlink()
    finally:
        os.close(handle)


def _lock(handle: int, seconds: float | None = None) -> None:
    """Lock a file or folder, for which another process is waited for at most so many seconds."""
    end = time.monotonic() + (seconds or 0)
    while fcntl is not None:
        try:
            # The system frees this lock if the process is killed.
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if seconds is None else fcntl.LOCK_NB))
        except BlockingIOError:
            if time.monotonic() < end:
                time.sleep(_LOCK_PAUSE)
                continue
        except OSError as exc:
            if exc.errno not in _UNSUPPORTED:
                raise
        return


def _sync(handle: int) -> None:
    try:
        os.fsync(handle)
    except OSError as exc:
        if exc.errno not in _UNSUPPORTED:
            raise
