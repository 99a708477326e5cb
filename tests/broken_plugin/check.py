"""A plug-in that cannot be loaded is named, and stops no other metric.

    python check.py     # where the package beside this file and rageval_report are installed

It ends with an AssertionError if the name is missing, or if another metric cannot be used.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from rageval_report import score
from rageval_report.errors import RagevalError

ROWS = [{"query_id": "q1", "answer": "There.", "reference": "There."}]
PACKAGE = "rageval-broken 1.0"


def message_of_score(metric: str) -> str:
    """The message of the error that scoring this metric raises; empty if it raises none."""
    try:
        score(ROWS, [metric])
    except RagevalError as raised:
        return str(raised)
    return ""


def main() -> None:
    """Ask for the metric in Python and on the command line, and for another one."""
    assert PACKAGE in message_of_score("broken_metric")
    assert score(ROWS, ["exact_match"]).get_aggregated_scores("exact_match") == 1.0
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder) / "records.jsonl"
        records.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
        words = ["score", "--records", str(records), "--metric", "broken_metric"]
        program = [sys.executable, "-m", "rageval_report", *words]
        done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done
    assert PACKAGE in done.stderr, done.stderr


if __name__ == "__main__":
    main()
