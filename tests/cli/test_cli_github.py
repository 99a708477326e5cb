from rageval_report import RAGPipelineEvaluation
from rageval_report.cli.deciding import annotation_lines

BAD = "mean(recall@5) >= 0.9"


def gated(*rules):
    data = {"query_id": list("abcd"), "recall": [0.5, 0.6, 0.7, 0.8]}
    return RAGPipelineEvaluation("v1", data).gate(*rules)


def test_a_gate_that_fails_is_an_error_and_one_that_barely_holds_a_warning():
    lines = annotation_lines(gated("min(recall) >= 0.6", "mean(recall) >= 0.6", "n(recall) >= 4"))
    assert [line.partition(" ")[0] for line in lines] == ["::error", "::warning"]
    assert lines[0].startswith("::error title=min(recall) >= 0.6::min(recall) is 0.5, not at least")


def test_no_more_are_written_than_are_shown():
    lines = annotation_lines(gated(*["n(recall) >= 9"] * 30))
    assert len(lines) == 10  # GitHub shows no more
    assert lines[-1] == "::error title=21 more gates::21 more gates: see the summary of this step"


def test_a_step_of_a_workflow_is_told(folder, run, monkeypatch):
    (folder / "summary.md").write_text("before\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    monkeypatch.setenv("GITHUB_OUTPUT", "output")
    result = run("gate", "old.csv", "--rule", BAD, "--format", "json")
    assert result.exit_code == 1
    assert result.stderr.startswith("::error title=mean(recall@5) >= 0.9::")
    assert result.stdout.startswith("{")
    summary = (folder / "summary.md").read_text()
    assert summary.startswith("before\n<!-- rageval-report gate -->\n### ❌ Gates of old: 1 of 1")
    assert (folder / "output").read_text() == "passed=false\nstate=failed\n"


def test_nothing_is_told_elsewhere(folder, run, monkeypatch):
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        monkeypatch.delenv(name, raising=False)
    before = set(folder.iterdir())
    assert run("gate", "old.csv", "--rule", BAD).stderr == ""
    assert set(folder.iterdir()) == before


def test_a_summary_that_cannot_be_written_changes_nothing_of_the_gate(folder, run, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "no/such/folder.md")
    result = run("gate", "old.csv", "--rule", "n(recall@5) == 8")
    assert result.exit_code == 0
    assert "note: no/such/folder.md cannot be written" in result.stderr
