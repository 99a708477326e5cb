"""Disks that are really full, or may not be written to: small ones, mounted for one process."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

MOUNTED = 'mount -t tmpfs -o "size=$1" none "$2" && exec "$3" -c "$4" "$2"'

ASKS = """
import subprocess, sys
from pathlib import Path
from rageval_report.errors import DataError
from rageval_report.runner import RunConfig, collect_answers

disk, folder = sys.argv[1], Path(sys.argv[1]) / "run"
rows = [{"query_id": f"q{n}", "question": f"What is {n}?"} for n in range(40)]

def answer(question):
    return question * 100

def go(table="jsonl", **options):
    try:
        print("done", collect_answers(rows, answer, folder, RunConfig(table=table), **options).n)
    except DataError as exc:
        print("told", exc)

def remount(options):
    subprocess.run(["mount", "-o", "remount," + options, disk], check=True)
"""


@pytest.fixture
def on_a_disk(tmp_path):
    """What a script prints that runs on a disk of its own, of this size."""
    tool = shutil.which("unshare")
    try_it = [tool or "", "-rm", "mount", "-t", "tmpfs", "none", str(tmp_path)]
    if tool is None or subprocess.run(try_it, capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be mounted here (unshare -rm mount -t tmpfs)")

    def found(size: str, script: str) -> list[str]:
        line = [tool, "-rm", "sh", "-c", MOUNTED, "sh", size, tmp_path, sys.executable]
        done = subprocess.run(
            [*map(str, line), ASKS + script], capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()

    return found


def test_a_disk_that_fills_up_keeps_whole_lines_and_the_run_goes_on_when_there_is_room(on_a_disk):
    told, kept, done, n_rows = on_a_disk(
        "24k",
        """
go()
text = (folder / "journal.jsonl").read_text()
print(text.endswith("\\n"), text.count("\\n") - 1)
remount("size=4m")
go(resume=True)
print((folder / "records.jsonl").read_text().count("\\n"))
""",
    )
    assert "No space left on device" in told
    assert "can be resumed" in told
    is_whole, n = kept.split()
    assert is_whole == "True"
    assert 0 < int(n) < 40
    assert (done, n_rows) == ("done 40", "40")


@pytest.mark.parametrize("table", ["jsonl", "parquet"])
def test_a_disk_that_is_full_when_the_records_are_written_keeps_every_answer(on_a_disk, table):
    told, there, done = on_a_disk(
        "4m",
        f"""
import rageval_report.runner.collecting as running
write = running.write_records

def with_a_full_disk(*args):
    free = Path(disk).joinpath("filler")
    try:
        with free.open("wb") as file:
            while file.write(b"x" * 4096):
                pass
    except OSError:
        pass
    return write(*args)

running.write_records = with_a_full_disk
go({table!r})
print(sorted(path.name for path in folder.iterdir()))
running.write_records = write
(Path(disk) / "filler").unlink()
go({table!r}, resume=True)
""",
    )
    assert told.startswith("told")
    assert "cannot be written" in told
    assert there == "['journal.jsonl']"  # no half file beside it
    assert done == "done 40"


def test_a_folder_that_may_not_be_written_to_is_told(on_a_disk):
    new, old = on_a_disk(
        "4m",
        """
remount("ro")
go()
remount("rw")
collect_answers(rows[:40], answer, folder, RunConfig(table="jsonl"))
remount("ro")
go(resume=True)
""",
    )
    for told in (new, old):
        assert told.startswith("told")
        assert told.endswith("cannot be written: Read-only file system")


def test_a_file_where_the_folder_should_be_is_told(tmp_path):
    (tmp_path / "file").write_text("here")
    script = ASKS.replace("rows = ", "folder = Path(disk) / 'file' / 'run'\nrows = ") + "go()"
    line = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert "cannot be written: Not a directory" in done.stdout
    assert json.dumps(done.stderr) == '""'
