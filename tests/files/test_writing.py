"""Files are written whole or not at all, and keep the permissions and links that were there."""

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from rageval_report.errors import DataError
from rageval_report.files import writing
from rageval_report.files.writing import (
    check_free,
    locked_folder,
    open_private,
    write_atomically,
    write_with,
)

on_posix = pytest.mark.skipif(os.name != "posix", reason="permissions and locks of POSIX")


def mode_of(path):
    return stat.S_IMODE(Path(path).stat().st_mode)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("before")
    return path


def test_texts_and_bytes_are_written_as_they_are(tmp_path):
    path = write_atomically(tmp_path / "runs" / "today" / "a.csv", "é🦶\r\n\n\rx")
    assert path.read_bytes() == "é🦶\r\n\n\rx".encode()
    assert write_atomically(str(tmp_path / "a.bin"), b"\0\xff").read_bytes() == b"\0\xff"
    half = write_atomically(tmp_path / "a.txt", "a\ud83db")
    assert half.read_text("utf-8", "surrogatepass") == "a\ud83db"
    long_name = write_atomically(tmp_path / f"{'é' * 125}.csv", "x")
    assert long_name.read_text() == "x"


def test_a_writer_that_fails_leaves_what_was_there_and_nothing_else(path):
    def broken(temporary):
        assert Path(temporary).suffix == ".csv"
        Path(temporary).write_text("half a te")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_with(path, broken)
    assert (path.read_text(), names_in(path.parent)) == ("before", ["a.csv"])


def test_what_cannot_be_written_is_named(path):
    def full(_):
        raise OSError(28, "No space left on device")

    folder = path.parent
    with pytest.raises(DataError, match=r"b\.txt cannot be written: No space left on device"):
        write_with(folder / "b.txt", full)
    with pytest.raises(DataError, match=r"b\.txt cannot be written: "):
        write_atomically(path / "further" / "b.txt", "x")
    (folder / "c.txt").mkdir()
    with pytest.raises(DataError, match=r"c\.txt cannot be written: "):
        write_atomically(folder / "c.txt", "x")
    assert names_in(folder) == ["a.csv", "c.txt"]


def test_a_file_that_exists_is_not_free_unless_forced(path):
    check_free(path.with_name("b.csv"))
    check_free(path, force=True)
    with pytest.raises(DataError, match=r"exists already; .* force=True"):
        check_free(path)
    with pytest.raises(DataError, match="is a folder"):
        check_free(path.parent, force=True)


# -- permissions, links, devices


@on_posix
@pytest.mark.parametrize("mode", [0o600, 0o664, 0o400])
def test_a_file_that_is_replaced_keeps_its_permissions(path, mode):
    path.chmod(mode)
    seen = []
    write_with(path, lambda name: seen.append(mode_of(name)))
    assert (seen, mode_of(path)) == ([0o600], mode)  # never easier to read while it is written


@on_posix
def test_a_new_file_follows_the_umask_and_a_private_one_is_its_owners(tmp_path):
    before = os.umask(0o027)
    try:
        private = write_atomically(tmp_path / "run.json", "{}", private=True)
        shared = write_atomically(tmp_path / "b.csv", "x")
        os.close(open_private(tmp_path / "journal.jsonl"))
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    modes = [mode_of(p) for p in (private, tmp_path / "journal.jsonl", shared)]
    assert modes == [0o600, 0o600, 0o640]


@on_posix
def test_a_link_stays_a_link_and_its_target_is_replaced(path):
    link, other = path.with_name("link.csv"), path.with_name("hard.csv")
    link.symlink_to(path.name)
    os.link(path, other)
    write_atomically(link, "after")
    assert (link.is_symlink(), path.read_text(), other.read_text()) == (True, "after", "before")


@on_posix
def test_a_pipe_is_written_to_and_never_replaced(tmp_path):
    pipe, received = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    write_atomically(pipe, "x")
    reader.join()
    assert (received, names_in(tmp_path)) == (["x"], ["pipe"])


# -- on the disk before it returns


def failing_fsync(kind, error):
    sync = os.fsync

    def fail(handle):
        if kind(os.fstat(handle).st_mode):
            raise OSError(error, os.strerror(error))
        sync(handle)

    return fail


def test_a_fault_of_the_disk_is_an_error_and_a_folder_without_fsync_is_none(path, monkeypatch):
    monkeypatch.setattr(writing.os, "fsync", failing_fsync(stat.S_ISDIR, errno.EINVAL))
    write_atomically(path, "network drives answer so")
    monkeypatch.setattr(writing.os, "fsync", failing_fsync(stat.S_ISREG, errno.ENOSPC))
    with pytest.raises(DataError, match="No space left on device"):
        write_atomically(path, "after")
    assert path.read_text() == "network drives answer so"
    assert names_in(path.parent) == ["a.csv"]


# -- temporary files of others, several writers


def test_many_writers_of_one_path_end_with_one_whole_file(path):
    texts = [str(writer) * 200_000 for writer in range(4)]
    threads = [threading.Thread(target=write_atomically, args=(path, text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in texts
    assert names_in(path.parent) == ["a.csv"]


@on_posix
def test_a_folder_is_locked_for_one_group_of_files_at_a_time(tmp_path):
    order = []

    def second():
        with locked_folder(tmp_path):
            order.append("second")

    thread = threading.Thread(target=second)
    with locked_folder(tmp_path):
        thread.start()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
