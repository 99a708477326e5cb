"""Each way of misbehaving once; the script beside this file asks as many questions as one likes."""

import os
import runpy
from pathlib import Path

import pytest

SCRIPT = runpy.run_path(str(Path(__file__).parent / "hanging_commands.py"))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_no_command_hangs_and_nothing_is_left():
    n = len(SCRIPT["DEEDS"])
    outcomes = SCRIPT["stress"](n, seed=3)
    assert outcomes.faults == []
    assert {deed for deed, _ in outcomes.counts} == set(SCRIPT["DEEDS"])
    assert outcomes.counts.total() == n


def test_an_outcome_that_is_not_allowed_would_be_noticed():
    outcomes = SCRIPT["Outcomes"]()
    outcomes.add("answers", "timeout", 1.0)
    outcomes.add("does not read", "timeout", 62.5)
    assert outcomes.faults == ["answers: timeout", "does not read: 61.5 s after the time-out"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_a_file_that_is_left_open_would_be_noticed():
    before = SCRIPT["open_files"]()
    reading, writing = os.pipe()
    try:
        left = SCRIPT["open_files"]() - before
        assert [name.startswith("pipe:") for name in left.elements()] == [True, True]
    finally:
        os.close(reading)
        os.close(writing)
    assert not SCRIPT["open_files"]() - before
