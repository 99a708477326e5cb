"""plot: each kind into a file, the same bytes each time, without a window."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

OLD, BOTH = "old.csv", "old.csv new.csv"


KINDS = {
    "agreement": f"{BOTH} --metric exact_match",
    "box": OLD,
    "differences": f"{BOTH} --metric recall@5",
    "distribution": f"{OLD} --metric faithfulness --threshold 0.5 --percentiles 10,90",
    "forest": f"{BOTH} --scale own",
    "heat": BOTH,
    "leaderboard": BOTH,
    "monitor": f"{BOTH} --metric recall@5",
    "pareto": f"{BOTH} --metric recall@5 --metric faithfulness",
    "slices": f"{OLD} --by topic --metric recall@5",
    "strip": BOTH,
    "trends": f"{BOTH} --metric recall@5",
}


BEGINNINGS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_drawn(folder, run, kind):
    result = run(f"plot {KINDS[kind]} --kind {kind} -o out.png")
    assert (result.exit_code, result.stdout) == (0, ""), result.stderr
    assert result.stderr.splitlines()[-1] == "note: wrote out.png"
    assert Path("out.png").read_bytes().startswith(BEGINNINGS[".png"])


def test_a_picture_that_is_there_is_kept_unless_forced(folder, run, refused):
    Path("out.png").write_bytes(b"mine")
    assert "--force" in refused("plot old.csv --metric recall@5 -o out.png")
    assert Path("out.png").read_bytes() == b"mine"
    assert run("plot old.csv --metric recall@5 -o out.png --force").exit_code == 0


BAD = {
    "no output": ("plot old.csv", "Missing option '-o'"),
    "an unknown kind": ("plot old.csv --kind forrest -o a.png", "Did you mean 'forest'?"),
    "an unknown metric": ("plot old.csv --metric recal@5 -o a.png", "Did you mean 'recall@5'?"),
    "an unknown format": ("plot old.csv --metric em -o a.bmp", ".png"),
    "no second file": ("plot old.csv --kind forest -o a.png", "name a second file"),
    "a second file": ("plot old.csv new.csv --kind box -o a.png", "draws one pipeline"),
    "no groups": ("plot old.csv --kind slices -o a.png", "--by COLUMN"),
    "groups for another kind": ("plot old.csv --by topic -o a.png", "--by does not belong"),
    "a threshold for another kind": (
        "plot old.csv --kind box --threshold 1 -o a.png",
        "--threshold does not belong",
    ),
    "two metrics": (
        "plot old.csv new.csv --kind differences --metric em --metric recall@5 -o a.png",
        "at most 1 metric",
    ),
    "a threshold of text": ("plot old.csv --metric em --threshold p25 -o a.png", "'p25'"),
    "no metric": (
        "plot old.csv new.csv --kind differences -o a.png",
        "metric must name one of several",
    ),
    "no folder": ("plot old.csv --metric em -o old.csv/a.png", "old.csv/a.png cannot be written"),
}


@pytest.mark.parametrize(("command", "part"), BAD.values(), ids=BAD)
def test_bad_input_is_told_in_one_line(folder, refused, command, part):
    assert part in refused(command)
    assert not list(folder.glob("*.png"))


def test_no_display_is_asked_for(folder):
    code = (
        "import sys\n"
        "from rageval_report.cli import rageval_report\n"
        "rageval_report.main(['plot', 'old.csv', '--metric', 'em', '-o', 'a.png'],"
        " standalone_mode=False)\n"
        "import matplotlib.pyplot as plt\n"
        "assert not plt.get_fignums()\n"
    )
    environment = {"MPLBACKEND": "tkagg", "PATH": "", "HOME": str(folder)}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)  # the same package as in this process
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, cwd=folder)
    assert Path("a.png").exists()
