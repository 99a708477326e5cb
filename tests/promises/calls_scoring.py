"""Scores made from rankings, records and traces, as five systems make them; golden sets."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pandas as pd
from promises import DATA, command, parsed
from views import attempts, inputs

import rageval_report as rr


def reviewed() -> dict[str, Any]:
    """A golden set after a sheet of decisions: accepted, edited, rejected, and not decided."""
    golden, sheet = DATA / "sets" / "golden.jsonl", Path("sheet.csv")
    command("golden", "review", golden, "-o", sheet, "--force")
    rows = list(csv.DictReader(io.StringIO(sheet.read_text("utf-8-sig"), newline="")))
    for row, decision in zip(rows, ("accept", "edit", "reject", "", "accept"), strict=False):
        row["decision"] = decision
    rows[1]["question"] = "How many kilometres is the Rhine long?"
    pd.DataFrame(rows).to_csv(sheet, index=False)
    words = ("--decisions", sheet, "--rejected", "rejected.jsonl", "--force")
    done = command("golden", "review", golden, *words, "-o", "reviewed.jsonl")
    return {**done, "files": [parsed(name) for name in ("reviewed.jsonl", "rejected.jsonl")]}


def known_metrics() -> dict[str, Any]:
    """The known metrics, with group, kind, direction and bounds."""
    fields = "group kind greater_is_better bounds".split()
    return {name: [getattr(rr.METRICS[name], field) for field in fields] for name in rr.METRICS}


CALLS = {
    **inputs("scoring"),
    "reviewed golden set": attempts({"review": reviewed}),
    "known metrics": known_metrics,
}
