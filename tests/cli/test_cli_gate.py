import json
import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from rageval_report.analysis.gate_figures import FIGURES, PAIR_FIGURES

GOOD, BAD = "unscored(faithfulness) <= 20%", "mean(recall@5) >= 0.9"


PAGE = Path(__file__).parents[2] / "docs" / "ci.md"


@pytest.fixture(autouse=True)
def _outside_of_workflows(monkeypatch):
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def gate(folder, run):
    def gate_(*words, stdin=None):
        return run("gate", *words, stdin=stdin)

    return gate_


def test_undecided_gates_end_with_3_or_as_asked(gate):
    rule = "ci_low(recall@5) >= 0.5"
    result = gate("old.csv", "--rule", rule, "--junit", "gates.xml")
    assert result.exit_code == 3, result.stdout
    shown = " ".join(result.stdout.split())
    assert "the gate is undecided: too few queries to decide: ci_low(recall@5)" in shown
    assert "undecided rules count as failed: exit code 3" in " ".join(result.stderr.split())
    assert ET.parse("gates.xml").getroot().get("skipped") == "1"
    for policy in ("warn", "pass"):
        result = gate("old.csv", "--rule", rule, "--undecided", policy)
        assert result.exit_code == 0
        assert f"let pass (--undecided {policy})" in " ".join(result.stderr.split())
    # A rule that fails decides.
    assert gate("old.csv", "--rule", rule, "--rule", BAD, "--undecided", "pass").exit_code == 1


def test_a_gate_that_fails_ends_with_1_and_says_why(gate):
    result = gate("old.csv", "--rule", GOOD, "--rule", BAD)
    assert result.exit_code == 1
    assert result.stdout.startswith(
        "old fails 1 of 2 gates: mean(recall@5) is 0.625, not at least 0.9"
    )


def test_what_is_not_evaluated_ends_with_1(gate, folder):
    (folder / "empty.csv").write_text("query_id,recall@5,mrr\nq1,,1\nq2,,1\n")
    result = gate("empty.csv", "--rule", "mean(recall@5) >= 0")
    assert result.exit_code == 1
    assert "the gate is not evaluated: " in result.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("old.csv",), "Say what must hold: --rule"),
        (("old.csv", "--rule", "mean(recall@5) => 0.9"), "did you mean >=?"),
        (("old.csv", "--rule", "mean(recal) >= 0.9"), "Did you mean 'recall@5'?"),
        (("old.csv", "--rule", "losses(recall@5) <= 1"), "needs a baseline: --baseline FILE"),
        (("old.csv", "--rule", "mean(recall@5) >= 90"), "Did you mean 90%?"),
        (("old.csv", "--rule", "correct >= 0.9", "--correct", "f1"), "no metric is named 'f1'"),
        (("nowhere.csv", "--rule", GOOD), "nowhere.csv: there is no such file"),
        (("old.csv", "--gates", "nowhere.toml"), "nowhere.toml: cannot be read"),
        (("old.csv", "--gates", "old.csv"), "must end in .toml, .yaml, .yml"),
        (("old.csv", "--rule", GOOD, "--missing", "zero"), "'--missing'"),
        (("old.csv", "--rule", GOOD, "--confidence-level", "95"), "did you mean 0.95?"),
        (("old.csv", "--rule", GOOD, "--baseline", "old.csv"), "give each its own name"),
        (("old.csv", "--rule", GOOD, "--junit", "old.csv"), "replace it with --force"),
        (("old.csv", "--rule", GOOD, "--comment", "."), "is a folder"),
        (("old.csv", "--rule", GOOD, "--junit", "old.csv/gates.xml"), "cannot be written"),
        (("-", "--rule", GOOD, "--baseline", "-"), "standard input can be read once only"),
        (
            ("old.csv", "--rule", "mean(latency_ms) <= 900", "--missing", "worst", "--gates", "."),
            "must end in .toml",
        ),
    ],
)
def test_what_makes_no_sense_ends_with_2_and_one_line(folder, run, words, told):
    result = run("gate", *words)
    assert result.exit_code == 2, result.output
    *notes, last = result.stderr.splitlines()
    assert all(line.startswith("note: ") for line in notes)
    assert last.startswith("rageval-report: ")
    assert told in last


def test_the_wrong_character_is_pointed_at(gate):
    result = gate("old.csv", "--rule", "mean(recal@5) >= 0.9", "--quiet")
    rule, caret, _ = result.stderr.splitlines()
    assert rule == "note: mean(recal@5) >= 0.9"
    assert caret.index("^") == rule.index("recal@5")


def test_a_baseline_answers_what_needs_one(gate):
    result = gate(
        *("new.csv", "--baseline", "old.csv", "--format", "json"),
        *("--rule", "wins(recall@5) == 3", "--rule", "losses(exact_match) == 1"),
        *("--rule", "difference(latency_ms) <= 5"),
    )
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["title"], told["passed"]) == ("Gates of new against old", True)
    assert [row["value"] for row in told["rows"]] == [3, 1, 1]


def test_a_file_and_rules_are_asked_together(gate, folder):
    (folder / "gates.toml").write_text(f'rules = ["{GOOD}"]\nconfidence_level = 0.8\n')
    result = gate("old.csv", "--gates", "gates.toml", "--rule", BAD, "--format", "json")
    told = json.loads(result.stdout)
    assert [row["rule"] for row in told["rows"]] == [GOOD, BAD]
    assert told["settings"]["confidence_level"] == 0.8


def test_an_option_goes_before_the_file(gate, folder):
    (folder / "gates.toml").write_text(f'rules = ["{GOOD}"]\nmissing = "worst"\nseed = 3\n')
    result = gate("old.csv", "--gates", "gates.toml", "--missing", "drop", "--format", "json")
    settings = json.loads(result.stdout)["settings"]
    assert (settings["missing"], settings["seed"]) == ("drop", 3)


@pytest.mark.parametrize("baseline", [(), ("--baseline", "new.csv")])
def test_what_is_correct_can_be_said(gate, baseline):
    result = gate("old.csv", *baseline, "--rule", "correct == 0.625", "--correct", "recall@5>=0.75")
    assert result.exit_code == 1  # 4 of 8
    assert "correct is 0.5," in result.stdout


@pytest.mark.parametrize(
    ("words", "code", "failures"), [(("--rule", GOOD), 0, "0"), (("--rule", BAD), 1, "1")]
)
def test_junit_is_written_whether_or_not_gates_hold(gate, words, code, failures):
    result = gate("old.csv", *words, "--junit", "gates.xml")
    assert result.exit_code == code
    assert ET.parse("gates.xml").getroot().get("failures") == failures
    assert "wrote gates.xml" in result.stderr


def test_a_comment_has_the_failing_queries_with_their_texts(gate):
    gate("old.csv", "--rule", BAD, "--comment", "gates.md")
    told = Path("gates.md").read_text()
    assert "<details><summary>4 queries below 0.9 on recall@5" in told
    assert "What is five?" in told


def block(name):
    found = re.search(
        rf"<!-- {re.escape(name)} -->\n```\w+\n(.*?)```", PAGE.read_text("utf-8"), re.S
    )
    return found[1]


def commands(document):
    """The lines of a workflow that run us."""
    if isinstance(document, dict):
        return [line for part in document.values() for line in commands(part)]
    if isinstance(document, list):
        return [line for part in document for line in commands(part)]
    is_ours = isinstance(document, str) and document.startswith("rageval-report gate")
    return [document] if is_ours else []


@pytest.fixture
def project(demo_folder):
    (demo_folder / "hybrid.csv").rename("scores.csv")
    (demo_folder / "bm25.csv").rename("baseline.csv")
    for name in ("gates.toml", "gates.yaml"):
        (demo_folder / name).write_text(block(name))
    return demo_folder


@pytest.mark.parametrize("name", ["github", "gitlab"])
def test_the_jobs_of_the_page_run_as_they_stand(project, run, name):
    yaml = pytest.importorskip("yaml")
    [line] = commands(yaml.safe_load(block(name)))
    result = run(*line.split()[1:])
    assert result.exit_code == 0, result.output
    assert {"gates.xml", "gates.md"} <= {path.name for path in project.iterdir()}


def test_the_page_names_every_figure_and_every_setting():
    page = PAGE.read_text("utf-8")
    for name in (*FIGURES, *PAIR_FIGURES):
        assert re.search(rf"`{name}[(`]", page), name
    for name in ("seed", "n_resamples", "correct", *tomllib.loads(block("gates.toml"))):
        assert name in page
