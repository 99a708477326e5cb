import os
import stat
from pathlib import Path

import pytest

from rageval_report.errors import DataError
from rageval_report.files.writing import check_free, write_atomically, write_with


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_text_is_written_as_it_stands(tmp_path):
    path = write_atomically(tmp_path / "a.csv", "é🦶\r\n\n\rx")
    assert path == tmp_path / "a.csv"
    assert path.read_bytes() == "é🦶\r\n\n\rx".encode()


def test_bytes_are_written_as_they_stand(tmp_path):
    assert write_atomically(str(tmp_path / "a.bin"), b"\0\xff").read_bytes() == b"\0\xff"


def test_half_a_surrogate_pair_does_not_cost_the_file(tmp_path):
    path = write_atomically(tmp_path / "a.txt", "a\ud83db")
    assert path.read_text("utf-8", "surrogatepass") == "a\ud83db"


def test_a_file_that_is_there_is_replaced_whole(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a long text that was there before")
    write_atomically(path, "short")
    assert path.read_text() == "short"
    assert names_in(tmp_path) == ["a.txt"]


def test_a_writer_that_fails_leaves_what_was_there_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")

    def broken(temporary):
        Path(temporary).write_text("half a te")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_with(path, broken)
    assert path.read_text() == "before"
    assert names_in(tmp_path) == ["a.txt"]


def test_a_full_disk_is_told_with_the_path_and_leaves_nothing(tmp_path):
    def full(temporary):
        raise OSError(28, "No space left on device")

    with pytest.raises(DataError, match=r"a\.txt cannot be written: No space left on device"):
        write_with(tmp_path / "a.txt", full)
    assert names_in(tmp_path) == []


def test_the_temporary_name_keeps_the_suffix_and_the_folder(tmp_path):
    seen = []
    write_with(tmp_path / "a.parquet", lambda name: seen.append(Path(name)))
    assert seen[0].suffix == ".parquet"
    assert seen[0].parent == tmp_path


def test_folders_that_are_not_there_are_made(tmp_path):
    assert write_atomically(tmp_path / "runs" / "today" / "a.txt", "x").read_text() == "x"


def test_a_file_in_the_place_of_a_folder_is_told(tmp_path):
    (tmp_path / "no").write_text("mine")
    for path in ("no/a.txt", "no/further/a.txt"):
        with pytest.raises(DataError, match=r"a\.txt cannot be written: Not a directory"):
            write_atomically(tmp_path / path, "x")
    assert (tmp_path / "no").read_text() == "mine"


def test_what_is_there_is_not_free_unless_forced(tmp_path):
    check_free(tmp_path / "a.txt")
    (tmp_path / "a.txt").write_text("mine")
    with pytest.raises(DataError, match=r"exists already; .* force=True"):
        check_free(tmp_path / "a.txt")
    check_free(tmp_path / "a.txt", force=True)
    with pytest.raises(DataError, match="is a folder"):
        check_free(tmp_path, force=True)


def test_a_folder_in_the_place_of_the_file_is_told(tmp_path):
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(DataError, match=r"a\.txt cannot be written: "):
        write_atomically(tmp_path / "a.txt", "x")
    assert names_in(tmp_path) == ["a.txt"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_others_may_read_the_file_where_the_umask_lets_them(tmp_path):
    before = os.umask(0o027)
    try:
        path = write_atomically(tmp_path / "a.txt", "x")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
