"""The command line as a process of its own: streams, exit codes, pipes, signals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Process = Callable[..., "subprocess.CompletedProcess[bytes]"]


COMMAND = (sys.executable, "-m", "rageval_report")


@pytest.fixture
def process(folder: Path) -> Process:
    def run(*words: str, **options: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([*COMMAND, *words], cwd=folder, capture_output=True, **options)

    return run


def test_results_and_notes_have_streams_of_their_own(process):
    result = process("report", "old.csv", "--format", "csv")
    assert (result.returncode, result.stdout[:7]) == (0, b"metric,")
    assert all(line.startswith(b"note: ") for line in result.stderr.splitlines())


def test_bad_data_exits_with_2_and_one_line(process):
    result = process("report", "nowhere.csv")
    assert (result.returncode, result.stdout) == (2, b"")
    assert result.stderr == b"rageval-report: nowhere.csv: there is no such file\n"


def test_a_file_can_be_piped_in(process, folder: Path):
    result = process("report", "-", "--format", "json", input=(folder / "old.csv").read_bytes())
    assert json.loads(result.stdout)["title"] == "Evaluation of stdin"


def test_a_reader_that_leaves_early_is_no_error(folder: Path):
    script = [*COMMAND, "report", "old.csv"]
    process = subprocess.Popen(script, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()  # as `head` does, but before the first line
    told = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), told) == (141, b"")


def test_a_terminal_that_cannot_show_a_letter_shows_its_escape(process, folder: Path):
    (folder / "zh.csv").write_text("query_id,recall,question\nq1,0,再現率?\nq2,1,no\n", "utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    words = ("failures", "zh.csv", "--metric", "recall", "--threshold", "0.5")
    result = process(*words, env=environment)
    assert (result.returncode, result.stderr) == (0, b"")
    assert rb"\u518d\u73fe\u7387?" in result.stdout
