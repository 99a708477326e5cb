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
