import json

import pytest
from click.testing import CliRunner

from rageval_report.cli import rageval_report

GOLD = [{"qid": "a", "answerable": True, "gold_claim_substr": ["Paris"]}]


def jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / "gold.jsonl", GOLD)
    jsonl(tmp_path / "good.jsonl", [{"qid": "a", "answer_json": {"claim": "It is Paris."}}])
    jsonl(tmp_path / "bad.jsonl", [{"qid": "a", "answer_json": {"claim": "It is Rome."}}])
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(rageval_report, ["score", "--gold", "gold.jsonl", *arguments])


def test_gates_that_hold_end_with_0(files):
    result = run("--trace", "good.jsonl", "--gates", "precision=0.8")
    assert result.exit_code == 0
    assert "passed" in result.stdout


def test_a_gate_that_fails_ends_with_1(files):
    result = run("--trace", "bad.jsonl", "--gates", "precision=0.8")
    assert result.exit_code == 1
    assert "failed" in result.stdout


def test_the_report_and_the_questions_are_written(files):
    result = run("--trace", "good.jsonl", "--report", "report.json", "--queries", "queries.csv")
    report = json.loads((files / "report.json").read_text(encoding="utf-8"))
    assert report["gate_results"]["precision"] == {"value": 1.0, "threshold": 0.8, "passed": True}
    assert (files / "queries.csv").read_text(encoding="utf-8").startswith("query_id,")
    assert "wrote report.json" in result.stderr


def test_a_gate_that_is_misspelt_ends_with_2_and_one_line(files):
    result = run("--trace", "good.jsonl", "--gates", "precison=0.8")
    assert result.exit_code == 2
    assert "Did you mean 'precision'" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_broken_line_is_told_by_file_and_line(files):
    (files / "bad.jsonl").write_text('{"qid": "a"\n', encoding="utf-8")
    result = run("--trace", "bad.jsonl")
    assert result.exit_code == 2
    assert "bad.jsonl, line 1" in result.stderr
