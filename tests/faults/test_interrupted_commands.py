"""A few Ctrl-C at random moments; the script beside this file sends as many as one likes."""

import os
import runpy
from pathlib import Path

import pytest

SCRIPT = runpy.run_path(str(Path(__file__).parent / "interrupted_commands.py"))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_commands_that_are_interrupted_end_with_one_line_and_whole_files():
    outcomes = SCRIPT["stress"](4, seed=5, names=["compare", "eval", "serve", "help"])
    assert outcomes.faults == []
    assert outcomes.counts.total() == 4


@pytest.mark.parametrize(
    ("code", "stderr", "kind"),
    [
        (130, "rageval-report: interrupted\n", "interrupted"),
        (130, "note: x\nrageval-report: interrupted: kept in run\n", "interrupted"),
        (0, "", "finished"),
        (-2, "", "before"),
        (1, 'Traceback\n  File "<frozen site>"\nKeyboardInterrupt\n', "before"),
        (130, "", "fault"),
        (130, "rageval-report: interrupted\nrageval-report: interrupted\n", "fault"),
        (1, 'Traceback\n  File "/x/click/core.py", line 9, in invoke\nKeyboard...\n', "fault"),
        (2, "rageval-report: interrupted\n", "fault"),
    ],
)
def test_what_went_wrong_would_be_noticed(code, stderr, kind):
    assert SCRIPT["fault_of"](code, stderr)[0] == kind


def test_half_a_file_would_be_noticed(tmp_path):
    case = SCRIPT["Case"]((), files=("a.csv",), run="run")
    assert SCRIPT["wrong_files"](case, tmp_path, {"a.csv": b"x" * 100}) is None
    (tmp_path / "a.csv").write_text("x" * 50)
    assert "not whole" in SCRIPT["wrong_files"](case, tmp_path, {"a.csv": b"x" * 100})
    (tmp_path / "a.csv").unlink()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "journal.jsonl").write_text('{"row": 1}\n{"ro')
    assert "last line of the journal" in SCRIPT["wrong_files"](case, tmp_path, {})
