"""Each way of misbehaving once; the script beside this file asks as many questions as one likes."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

PATH = str(Path(__file__).parent / "hanging_commands.py")
SCRIPT = runpy.run_path(PATH)
# In a process of its own: others of this one may open and close files and threads meanwhile.
STRESS = """
import json, runpy, sys
outcomes = runpy.run_path(sys.argv[1])["stress"](int(sys.argv[2]), seed=3)
deeds = sorted({deed for deed, _ in outcomes.counts})
print(json.dumps([outcomes.faults, deeds, outcomes.counts.total()]))
"""


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_no_command_hangs_and_nothing_is_left():
    n = len(SCRIPT["DEEDS"])
    words = [sys.executable, "-c", STRESS, PATH, str(n)]
    printed = subprocess.run(words, capture_output=True, check=True, text=True).stdout
    faults, deeds, n_outcomes = json.loads(printed)
    assert faults == []
    assert deeds == sorted(SCRIPT["DEEDS"])
    assert n_outcomes == n


def test_an_outcome_that_is_not_allowed_would_be_noticed():
    outcomes = SCRIPT["Outcomes"]()
    outcomes.add("answers", "timeout", 1.0)
    outcomes.add("does not read", "timeout", 62.5)
    assert outcomes.faults == ["answers: timeout", "does not read: 61.5 s after the time-out"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_a_file_that_is_left_open_would_be_noticed():
    before = SCRIPT["open_files"]()
    ends = os.pipe()
    left = SCRIPT["open_files"]() - before
    for end in ends:
        os.close(end)
    assert sum(name.startswith("pipe:") for name in left.elements()) == 2
