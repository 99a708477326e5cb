"""Doubts on the command line: on standard error, as errors with --strict, allowed with --allow."""

import json

import pytest


@pytest.fixture
def records(folder):
    rows = [
        {"query_id": f"q{i}", "relevant": [f"Doc{i}.md"], "retrieved": [f"doc{i}", f"doc{i + 1}"]}
        for i in range(12)
    ]
    (folder / "answered.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "answered.jsonl"


def test_a_doubt_is_on_standard_error_and_names_the_options(run, records):
    done = run("score", "--records", records, "--metric", "recall@2", "--quiet")
    assert done.exit_code == 0
    assert done.stderr.startswith("doubt: 0 of 12 gold ids (0%) were retrieved")
    assert "--match-ids case --match-ids extension" in done.stderr
    assert "Doubt: 0 of 12" in done.stdout
    words = ("--match-ids", "case", "--match-ids", "extension", "--strict", "--format", "json")
    done = run("score", "--records", records, "--metric", "recall@2", *words)
    assert done.exit_code == 0
    result = json.loads(done.stdout)
    assert result["rows"][0]["mean"] == 1.0
    assert result["notes"][0] == "ids are compared after case, extension"


def test_strict_is_exit_code_2_and_allow_takes_a_check_back(run, records):
    words = ("score", "--records", records, "--metric", "recall@2", "--strict")
    done = run(*words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "strict: 1 doubt about this evaluation (ids_differ)" in done.stderr
    done = run(*words, "--allow", "ids_differ")
    assert done.exit_code == 0
    assert "allowed by ids_differ" in done.stdout


def test_commands_that_read_scores_are_strict_too(run, folder):
    lines = ["query_id,recall@5,mrr", *(f"q{i},0,{i % 2}" for i in range(20))]
    (folder / "scores.csv").write_text("\n".join(lines) + "\n")
    done = run("report", "scores.csv", "--strict")
    assert done.exit_code == 2
    assert "scores.csv: strict: 1 doubt" in done.stderr
    done = run("report", "scores.csv", "--strict", "--allow", "constant_metric")
    assert done.exit_code == 0


def test_eval_names_the_path_that_a_pipeline_uses(run, folder):
    (folder / "my_rag.py").write_text(
        "def answer(question):\n"
        "    return {'answer': question, 'sources': [{'node_id': 'n1', 'text': 'a text'}]}\n"
    )
    rows = [{"query_id": f"q{i}", "question": f"{i}?", "relevant": ["n1"], "reference": "x"}
            for i in range(4)]  # fmt: skip
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("eval", "--callable", "my_rag:answer", "--records", "queries.jsonl")
    done = run(*words, "-o", "first")
    assert done.exit_code == 0, done.stderr
    assert "--path retrieved=sources.*.node_id --path contexts=sources.*.text" in done.stderr
    assert "Doubt: " in (folder / "first" / "report.html").read_text()
    assert run(*words, "-o", "strict", "--strict").exit_code == 2
    paths = ("--path", "retrieved=sources.*.node_id", "--metric", "recall@1", "--strict")
    done = run(*words, "-o", "second", *paths)
    assert done.exit_code == 0, done.stderr
