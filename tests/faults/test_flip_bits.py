"""A short, seeded part of the flips and cuts; `flip_bits` runs as many as you like."""

from __future__ import annotations

import runpy
from pathlib import Path
from random import Random

import pytest

SCRIPT = runpy.run_path(str(Path(__file__).parent / "flip_bits.py"))


@pytest.mark.parametrize("name", SCRIPT["KINDS"])
def test_no_damage_is_silent(name):
    counts, silent = SCRIPT["flip"](SCRIPT["KINDS"][name], 30, Random(1))
    assert silent == []
    assert counts["unchanged"] + counts["reported"] + counts["asked again"] == 30
    assert counts["unchanged"] < 30


def test_a_reader_that_believes_everything_is_found_out():
    # The check itself must be able to fail.
    def read(folder):
        return {"text": (folder / "a.txt").read_bytes()}, []

    believes = SCRIPT["Kind"](lambda folder: (folder / "a.txt").write_text("0.5"), "a.txt", read)
    counts, silent = SCRIPT["flip"](believes, 20, Random(1))
    assert counts["SILENT"] == len(silent) == 20
