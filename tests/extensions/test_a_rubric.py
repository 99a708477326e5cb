"""A rubric of one's own, added from outside, judges through Python and the command line."""

import json
import sys
import types
from importlib import metadata

import pytest
from click.testing import CliRunner

from rageval_report import score
from rageval_report.cli import rageval_report
from rageval_report.errors import UnknownNameError
from rageval_report.judges import CHATS, JUDGES, FunctionChat, Rubric, estimate, judge, prefer

ROWS = [
    {"query_id": "q1", "question": "Where?", "answer": "Here, please.", "reference": "There."},
    {"query_id": "q2", "question": "When?", "answer": "Go away.", "reference": "Go away."},
]
POLITENESS = Rubric("politeness", "Is it polite?", "How polite? {answer}", scale=(1, 5))
SHORTER = Rubric(
    "shorter", "Which is shorter?", "Which is shorter? {first} {second}", kind="preference"
)
SCORES = [1.0, 0.25]  # (5 - 1) / (5 - 1) and (2 - 1) / (5 - 1)


def chat(text):
    """A model that likes the word "please"."""
    return json.dumps({"reasoning": "as I see it", "score": 5 if "please" in text else 2})


def my_provider(model, *, base_url=None, api_key_env=None, **options):
    """A provider from outside: a function that returns a chat."""
    return FunctionChat(chat, model)


@pytest.fixture(params=["added", "offered"])
def own_rubric(request, monkeypatch):
    """A rubric that the package does not have, added by a line or offered by an entry point."""
    monkeypatch.setattr(JUDGES, "_entries", dict(JUDGES._entries))
    monkeypatch.setattr(JUDGES, "_distributions", {})
    if request.param == "added":
        JUDGES.add("politeness", POLITENESS)
        JUDGES.add("shorter", SHORTER)
        return
    plugin = types.ModuleType("plugin_of_rubrics")
    plugin.POLITENESS, plugin.SHORTER = POLITENESS, SHORTER
    monkeypatch.setitem(sys.modules, "plugin_of_rubrics", plugin)
    group, real = "rageval_report.judges", metadata.entry_points
    points = [
        metadata.EntryPoint(name, f"plugin_of_rubrics:{name.upper()}", group)
        for name in ("politeness", "shorter")
    ]
    monkeypatch.setattr(JUDGES, "_group", group)
    monkeypatch.setattr(
        metadata,
        "entry_points",
        lambda **wanted: points if wanted["group"] == group else real(**wanted),
    )


@pytest.fixture
def command(monkeypatch, tmp_path):
    """Run the command line on records.jsonl, with a provider from outside as the judge."""
    monkeypatch.setattr(CHATS, "_entries", dict(CHATS._entries))
    CHATS.add("mine", my_provider)
    monkeypatch.chdir(tmp_path)
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    (tmp_path / "records.jsonl").write_text(lines, encoding="utf-8")
    judged_by = ("--provider", "mine", "--model", "polite-1", "--no-cache")

    def run(*words):
        return CliRunner().invoke(rageval_report, [*words, *judged_by])

    return run


# -- through Python


@pytest.mark.usefixtures("own_rubric")
def test_score_judges_by_its_name_beside_computed_metrics():
    evaluation = score(ROWS, ["politeness", "exact_match"], chat=chat)
    assert evaluation.scores["politeness"].tolist() == SCORES
    assert evaluation.scores["exact_match"].tolist() == [0.0, 1.0]
    assert evaluation.details["politeness_reason"].tolist() == ["as I see it"] * 2
    assert evaluation.metrics["politeness"].description == "Is it polite?"


@pytest.mark.usefixtures("own_rubric")
def test_judge_and_estimate_know_its_name():
    assert judge(ROWS, "politeness", chat).scores["politeness"].tolist() == SCORES
    assert estimate(ROWS, "politeness", chat)["n_calls"].tolist() == [2]


@pytest.mark.usefixtures("own_rubric")
def test_a_comparing_rubric_is_found_by_its_name():
    first = prefer(ROWS[:1], [{**ROWS[0], "answer": "Here."}], lambda text: "2", rubric="shorter")
    assert (first.ties, first.settings["rubric"]) == (1, "shorter")


# -- through the command line


@pytest.mark.usefixtures("own_rubric")
def test_the_command_line_judges_by_it(command):
    result = command("judge", "records.jsonl", "--judge", "politeness", "--format", "json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert [(row["metric"], row["mean"]) for row in report["rows"]] == [("politeness", 0.625)]
    assert any(note.startswith("polite-1 was asked 2 times") for note in report["notes"])


@pytest.mark.usefixtures("own_rubric")
def test_a_pipeline_is_asked_and_judged_by_it_in_one_command(command, tmp_path, monkeypatch):
    (tmp_path / "rag_of_rubrics.py").write_text("def answer(question):\n    return 'Here, please.'")
    monkeypatch.setattr(sys, "path", [*sys.path])
    asked = ("eval", "--callable", "rag_of_rubrics:answer", "--records", "records.jsonl")
    result = command(*asked, "--judge", "politeness", "-o", "run")
    assert result.exit_code == 0, result.output
    run = json.loads((tmp_path / "run" / "scores.json").read_text(encoding="utf-8"))
    assert [query["scores"]["politeness"] for query in run["queries"]] == [1.0, 1.0]
    del sys.modules["rag_of_rubrics"]


# -- names that nobody knows


@pytest.mark.usefixtures("own_rubric")
def test_an_unknown_name_lists_it_among_the_known_ones(command):
    for ask in (lambda: judge(ROWS, "politenes", chat), lambda: score(ROWS, "politenes")):
        with pytest.raises(UnknownNameError, match="Did you mean 'politeness'"):
            ask()
    result = command("judge", "records.jsonl", "--judge", "politenes")
    assert result.exit_code == 2
    assert "Did you mean 'politeness'" in result.stderr
