"""Scores made from rankings, records and traces, as five systems make them; golden sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from promises import DATA, command, parsed
from views import attempts, inputs

import rageval_report as rr


def reviewed() -> dict[str, Any]:
    """A golden set after a page of decisions: accepted, edited, rejected, and not decided."""
    golden, page, review = DATA / "sets" / "golden.jsonl", Path("page.html"), Path("review.json")
    command("golden", "review", golden, "-o", page, "--force")
    data = json.loads(page.read_text("utf-8").partition('id="data">')[2].partition("</script>")[0])
    for row, decision in zip(
        data["items"], ("accept", "edit", "reject", "", "accept"), strict=False
    ):
        row["decision"] = decision
    data["items"][1]["question"] = "How many kilometres is the Rhine long?"
    review.write_text(json.dumps(data), "utf-8")
    words = ("--decisions", review, "--rejected", "rejected.jsonl", "--force")
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
