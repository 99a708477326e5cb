"""The command line run in a folder that holds the example data and some small files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rageval_report.cli import rageval_report
from rageval_report.demo import write_demo_files

Run = Callable[..., Result]

OLD = """\
query_id,question,topic,recall@5,faithfulness,exact_match,latency_ms
q1,What is one?,low,1,0.5,1,100
q2,What is two?,low,0,0.25,0,110
q3,What is three?,low,0.5,,1,120
q4,What is four?,high,1,1,0,130
q5,What is five?,high,0,0.75,1,140
q6,What is six?,high,0.5,0.5,0,150
q7,What is seven?,high,1,0.25,1,160
q8,What is eight?,high,1,1,0,170
"""
NEW = """\
query_id,question,topic,recall@5,faithfulness,exact_match,latency_ms
q2,What is two?,low,1,0.5,1,111
q3,What is three?,low,1,0.5,1,121
q4,What is four?,high,1,0.75,1,131
q5,What is five?,high,0.5,1,1,141
q6,What is six?,high,0.5,1,0,151
q7,What is seven?,high,1,0.5,0,161
q8,What is eight?,high,1,,1,171
q9,What is nine?,high,1,1,1,181
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with the small files old.csv and new.csv."""
    (tmp_path / "old.csv").write_text(OLD)
    (tmp_path / "new.csv").write_text(NEW)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def demo_folder(folder: Path) -> Path:
    """The same with bm25.csv and hybrid.csv, and a gold set with a trace that passes."""
    write_demo_files(folder)
    gold = {"qid": "a", "answerable": True, "gold_claim_substr": ["Paris"]}
    trace = {"qid": "a", "answer_json": {"claim": "It is Paris.", "citations": []}}
    for name, row in (("gold", gold), ("trace", trace)):
        (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def run() -> Run:
    """Run a command line, given as one text or as words."""

    def run_it(*words: str, stdin: str | bytes | None = None) -> Result:
        arguments = words[0].split() if len(words) == 1 else list(words)
        return CliRunner().invoke(rageval_report, arguments, input=stdin)

    return run_it


@pytest.fixture
def refused(run: Run) -> Callable[..., str]:
    """Run a command line that must be refused; what it says, one line without the prefix."""

    def refuse(*words: str, stdin: str | bytes | None = None) -> str:
        result = run(*words, stdin=stdin)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        *notes, last = result.stderr.splitlines()
        assert all(line.startswith("note: ") for line in notes)
        assert last.startswith("rageval-report: ")
        return last.removeprefix("rageval-report: ")

    return refuse
