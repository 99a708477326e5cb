"""Files without scores on the command line: the command in the message works on the file."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

COMMAND = re.compile(r"rageval-report (eval .*?) --url URL -o FOLDER; then pass FOLDER/scores.json")

SETS = {
    "hotpotqa": [
        {"_id": n, "question": f"{n}?", "answer": "Ann", "type": "bridge", "level": "easy",
         "supporting_facts": [["A", 0]], "context": [["A", ["s."]]]} for n in "abc"
    ],
    "clapnq": [
        {"id": n, "input": f"{n}?", "passages": [{"title": "A", "text": "x"}],
         "output": [{"answer": "Ann"}]} for n in "abc"
    ],
    "golden": [{"query_id": n, "question": f"{n}?", "references": ["Ann"]} for n in "abc"],
    "records": [{"query_id": n, "question": f"{n}?", "ground_truth": "Ann"} for n in "abc"],
    "questions": [{"query_id": n, "question": f"{n}?"} for n in "abc"],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "door_rag.py").write_text(
        "def answer(question):\n    return {'answer': 'Ann', 'retrieved': ['A']}\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    "command", ["report {}", "compare {} {}", "compare {} {} --metric recall@5"]
)
@pytest.mark.parametrize("kind", SETS)
def test_the_command_in_a_refusal_works_on_the_file(folder, run, command, kind):
    path = Path("my set.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in SETS[kind]))
    refused = run(*shlex.split(command.replace("{}", shlex.quote(str(path)))))
    assert refused.exit_code == 2
    assert "load_dataset" not in refused.stderr
    words = shlex.split(COMMAND.search(refused.stderr)[1])
    words += ["--callable", "door_rag:answer", "-o", "asked"]
    done = run(*words)
    assert done.exit_code == 0, done.stderr
    report = run("report", "asked/scores.json", "--format", "json")
    assert json.loads(report.stdout)["rows"][0]["n"] == 3


RECORDS = [
    {"query_id": n, "relevant": ["d"], "retrieved": ["d"], "reference": "x", "answer": "x"}
    for n in "abcdef"
]


@pytest.mark.parametrize("suffix", ["csv", "json"])
@pytest.mark.parametrize("metrics", [["recall@5"], ["recall@5", "exact_match"]])
def test_a_summary_of_score_names_the_table_of_queries(folder, run, suffix, metrics):
    """The summary has one row per metric; --queries FILE writes one row per query."""
    Path("r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in RECORDS))
    words = ["score", "--records", "r.jsonl"]
    words += [word for name in metrics for word in ("--metric", name)]
    assert run(*words, "-o", f"summary.{suffix}").exit_code == 0
    refused = run("compare", f"summary.{suffix}", f"summary.{suffix}")
    assert refused.exit_code == 2
    assert "a summary that rageval_report wrote, with one row per metric" in refused.stderr
    option, file = re.search(r"score with (--queries) (\S+);", refused.stderr).groups()
    assert run(*words, option, file).exit_code == 0
    compared = run("compare", f"a={file}", f"b={file}", "--format", "json")
    assert compared.exit_code == 0, compared.stderr


def test_a_summary_of_several_pipelines_is_refused_too(folder, run):
    for name in ("a", "b"):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in RECORDS))
    words = ["--metric", "recall@5", "--metric", "exact_match", "-o", "summary.csv"]
    assert run("score", "--records", "a.jsonl", "--records", "b.jsonl", *words).exit_code == 0
    refused = run("report", "summary.csv")
    assert refused.exit_code == 2
    assert "score with --queries" in refused.stderr
