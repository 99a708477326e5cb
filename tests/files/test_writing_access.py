"""What saving keeps of a file that was there: its permissions, its links; and what it leaves."""

import errno
import os
import stat
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from rageval_report.errors import DataError
from rageval_report.files import writing
from rageval_report.files.writing import (
    locked_folder,
    open_private,
    sync_folder,
    write_atomically,
    write_with,
)

fcntl = pytest.importorskip("fcntl", reason="locks of POSIX")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")


def mode_of(path):
    return stat.S_IMODE(Path(path).stat().st_mode)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(autouse=True)
def _new_process(monkeypatch):
    """Folders are tidied once in a process; each test is one."""
    monkeypatch.setattr(writing, "_tidied_folders", set())


# -- permissions


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o604, 0o664, 0o444, 0o400, 0o755])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "a.csv"
    path.write_text("before")
    path.chmod(mode)
    write_atomically(path, "after")
    assert (path.read_text(), mode_of(path)) == ("after", mode)


def test_the_temporary_file_is_never_easier_to_read_than_the_file_it_replaces(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("before")
    path.chmod(0o600)
    seen = []
    write_with(path, lambda name: seen.append(mode_of(name)))
    assert seen == [0o600]


def test_a_change_of_permissions_while_the_file_is_written_is_kept(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("before")
    path.chmod(0o644)
    write_with(path, lambda _: path.chmod(0o600))
    assert mode_of(path) == 0o600


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_new_file_that_is_private_is_its_owners_alone(tmp_path, umask):
    before = os.umask(umask)
    try:
        private = write_atomically(tmp_path / "run.json", "{}", private=True)
        shared = write_atomically(tmp_path / "a.csv", "x")
        handle = open_private(tmp_path / "journal.jsonl")
    finally:
        os.umask(before)
    os.close(handle)
    assert (mode_of(private), mode_of(tmp_path / "journal.jsonl")) == (0o600, 0o600)
    assert mode_of(shared) == 0o666 & ~umask


def test_the_umask_of_the_process_is_never_changed(tmp_path, monkeypatch):
    # For a moment every thread would make files that everybody can read.
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask was changed"))
    assert write_atomically(tmp_path / "a.csv", "x").read_text() == "x"


def test_bits_of_a_group_that_cannot_be_kept_are_dropped(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("before")
    path.chmod(0o664)
    earlier = path.stat()

    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", refuse)
    other = os.stat_result((*earlier[:5], earlier.st_gid + 1, *earlier[6:10]))
    monkeypatch.setattr(writing, "_status", lambda _: other)
    write_atomically(path, "after")
    assert mode_of(path) == 0o604


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_a_file_of_somebody_else_stays_theirs(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("before")
    os.chown(path, 12345, 23456)
    write_atomically(path, "after")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456)


# -- links, devices, folders


def test_a_symbolic_link_stays_a_link_and_its_target_is_replaced(tmp_path):
    target = tmp_path / "real" / "a.csv"
    target.parent.mkdir()
    target.write_text("before")
    target.chmod(0o600)
    link = tmp_path / "link.csv"
    link.symlink_to(Path("real", "a.csv"))
    assert write_atomically(link, "after") == link
    assert link.is_symlink()
    assert (target.read_text(), mode_of(target)) == ("after", 0o600)
    assert names_in(tmp_path / "real") == ["a.csv"]


def test_a_link_to_nothing_makes_the_file_that_it_points_to(tmp_path):
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "new" / "a.csv")
    write_atomically(link, "x")
    assert link.is_symlink()
    assert (tmp_path / "new" / "a.csv").read_text() == "x"


def test_links_in_a_circle_are_an_error(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(DataError, match="a cannot be written: Too many levels of symbolic links"):
        write_atomically(tmp_path / "a", "x")
    assert (tmp_path / "a").is_symlink()


def test_the_other_names_of_a_file_with_hard_links_keep_what_was_there(tmp_path):
    path, other = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_text("before")
    os.link(path, other)
    write_atomically(path, "after")
    assert (path.read_text(), other.read_text()) == ("after", "before")


def test_a_device_is_written_to_and_never_replaced():
    before = Path(os.devnull).stat().st_ino
    write_atomically(os.devnull, "x")
    assert Path(os.devnull).stat().st_ino == before
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_a_pipe_is_written_to_and_never_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    write_atomically(pipe, "x")
    reader.join()
    assert received == ["x"]
    assert names_in(tmp_path) == ["pipe"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_device_is_an_error():
    with pytest.raises(DataError, match="/dev/full cannot be written: No space left on device"):
        write_atomically("/dev/full", "x")


def test_a_folder_that_is_read_only_is_named_as_the_reason(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("before")

    def refuse(*_):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(writing.os, "open", refuse)
    message = r"a\.csv cannot be written: Read-only file system; its folder must be writable"
    with pytest.raises(DataError, match=message):
        write_atomically(tmp_path / "a.csv", "after")
    assert (tmp_path / "a.csv").read_text() == "before"


def test_a_file_of_the_longest_name_can_be_written(tmp_path):
    path = tmp_path / f"{'é' * 125}.csv"
    assert write_atomically(path, "x").read_text() == "x"


# -- on the disk before it says done


def test_the_file_is_flushed_before_the_rename_and_the_folders_after_it(tmp_path, monkeypatch):
    path, events = tmp_path / "runs" / "today" / "a.csv", []
    sync = os.fsync

    def watch(handle):
        place = Path(f"/proc/self/fd/{handle}").readlink()
        events.append((place.suffix or place.name, path.exists()))
        sync(handle)

    monkeypatch.setattr(writing.os, "fsync", watch)
    write_atomically(path, "x")
    assert events == [
        (".csv", False),
        ("today", True),
        ("runs", True),
        (tmp_path.name, True),
    ]


def fails_on(kind, error):
    sync = os.fsync

    def fail(handle):
        if kind(os.fstat(handle).st_mode):
            raise OSError(error, os.strerror(error))
        sync(handle)

    return fail


def test_a_system_that_cannot_flush_folders_is_no_error(tmp_path, monkeypatch):
    # As network drives answer.
    for error in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
        monkeypatch.setattr(writing.os, "fsync", fails_on(stat.S_ISDIR, error))
        assert write_atomically(tmp_path / "a.csv", str(error)).read_text() == str(error)


@pytest.mark.parametrize("kind", [stat.S_ISREG, stat.S_ISDIR])
def test_a_fault_of_the_disk_is_an_error(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(writing.os, "fsync", fails_on(kind, errno.EIO))
    with pytest.raises(DataError, match=r"a\.csv cannot be written: Input/output error"):
        write_atomically(tmp_path / "a.csv", "x")
    assert names_in(tmp_path) == ([] if kind is stat.S_ISREG else ["a.csv"])


def test_a_disk_that_is_full_when_the_file_is_flushed_keeps_what_was_there(tmp_path, monkeypatch):
    path = write_atomically(tmp_path / "a.csv", "before")
    monkeypatch.setattr(writing.os, "fsync", fails_on(stat.S_ISREG, errno.ENOSPC))
    with pytest.raises(DataError, match="No space left on device"):
        write_atomically(path, "after")
    assert path.read_text() == "before"
    assert names_in(tmp_path) == ["a.csv"]


def test_a_limit_on_the_size_of_files_keeps_what_was_there(tmp_path):
    # A full disk without a disk: the system refuses to let the file grow.
    path = tmp_path / "a.csv"
    path.write_text("before")
    program = textwrap.dedent(f"""
        import resource, signal
        from rageval_report.errors import DataError
        from rageval_report.files.writing import write_atomically
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            write_atomically({str(path)!r}, "x" * 10_000)
        except DataError as exc:
            print(exc)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "a.csv cannot be written: File too large" in done.stdout
    assert path.read_text() == "before"
    assert names_in(tmp_path) == ["a.csv"]


def test_a_folder_that_is_gone_cannot_be_flushed_and_is_no_error(tmp_path):
    assert sync_folder(tmp_path / "gone") is None


# -- temporary files of others


def killed_writer(path):
    """A process that is killed while it writes; it leaves a temporary file."""
    program = textwrap.dedent(f"""
        import os, signal
        from rageval_report.files.writing import write_with
        def write(name):
            open(name, "w").write("half")
            os.kill(os.getpid(), signal.SIGKILL)
        write_with({str(path)!r}, write)
    """)
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == -9


def test_the_next_run_removes_what_a_killed_writer_left(tmp_path):
    killed_writer(tmp_path / "a.csv")
    [left] = names_in(tmp_path)
    assert ".rageval-tmp" in left
    write_atomically(tmp_path / "b.csv", "x")
    assert names_in(tmp_path) == ["b.csv"]


def test_the_file_of_a_writer_that_lives_is_left_alone(tmp_path, monkeypatch):
    def write(name):
        Path(name).write_text("of the first")
        monkeypatch.setattr(writing, "_tidied_folders", set())
        write_atomically(tmp_path / "b.csv", "of the second")
        assert Path(name).exists()

    write_with(tmp_path / "a.csv", write)
    assert names_in(tmp_path) == ["a.csv", "b.csv"]
    assert (tmp_path / "a.csv").read_text() == "of the first"


@pytest.mark.parametrize(
    "name",
    [
        ".a.0123456789abcdef.csv",
        "a.0123456789abcdef.rageval-tmp.csv",
        ".a.0123456789abcdeg.rageval-tmp.csv",
        ".a.012345.rageval-tmp",
        ".rageval-tmp.csv",
    ],
)
def test_a_file_with_another_name_is_never_removed(tmp_path, name):
    (tmp_path / name).write_text("mine")
    write_atomically(tmp_path / "b.csv", "x")
    assert names_in(tmp_path) == sorted([name, "b.csv"])


STALE = ".a.0123456789abcdef.rageval-tmp.csv"


def test_a_link_or_a_folder_with_such_a_name_is_never_removed(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / STALE).symlink_to(tmp_path / "mine")
    folder = tmp_path / STALE.replace("a", "b", 1)
    folder.mkdir()
    write_atomically(tmp_path / "b.csv", "x")
    assert (tmp_path / STALE).is_symlink()
    assert folder.is_dir()
    assert (tmp_path / "mine").read_text() == "mine"


def test_the_file_of_another_user_is_never_removed(tmp_path, monkeypatch):
    (tmp_path / STALE).write_text("theirs")
    monkeypatch.setattr(writing.os, "geteuid", lambda: os.getuid() + 1)
    write_atomically(tmp_path / "b.csv", "x")
    assert STALE in names_in(tmp_path)


def test_without_locks_only_old_files_are_removed(tmp_path, monkeypatch):
    old, new = tmp_path / STALE, tmp_path / STALE.replace("a", "b", 1)
    for path in (old, new):
        path.write_text("half")
    os.utime(old, (0, 0))

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    write_atomically(tmp_path / "b.csv", "x")
    assert names_in(tmp_path) == sorted([new.name, "b.csv"])


def test_a_file_that_is_taken_away_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    lock, taken = writing._lock, []

    def slow(handle):
        if not taken:
            [path] = tmp_path.iterdir()
            path.unlink()
            taken.append(path)
        lock(handle)

    monkeypatch.setattr(writing, "_lock", slow)
    assert write_atomically(tmp_path / "a.csv", "x").read_text() == "x"
    assert taken
    assert names_in(tmp_path) == ["a.csv"]


# -- several writers


def test_many_writers_of_one_path_end_with_one_whole_file(tmp_path):
    path = tmp_path / "a.csv"
    texts = [str(writer) * 200_000 for writer in range(8)]
    threads = [threading.Thread(target=write_atomically, args=(path, text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in texts
    assert names_in(tmp_path) == ["a.csv"]


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


def test_a_folder_whose_lock_is_kept_is_used_without_it(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_LOCK_SECONDS", 0.0)
    with locked_folder(tmp_path), locked_folder(tmp_path):
        assert write_atomically(tmp_path / "a.csv", "x").read_text() == "x"
