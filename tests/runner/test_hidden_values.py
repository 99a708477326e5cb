"""What a variable holds is hidden in answers; where that changed an answer, a doubt says so."""

from __future__ import annotations

import json

import pytest

from rageval_report.errors import DataError, is_doubt
from rageval_report.runner import RunConfig, collect_answers
from rageval_report.runner.targets import HttpSettings, HttpTarget, StreamSettings

ROWS = [{"query_id": name, "question": f"Why {name}?"} for name in "abc"]
CONFIG = RunConfig(concurrency=1, warm_up=0, table="jsonl")


@pytest.fixture
def run(says, tmp_path, monkeypatch):
    """Run against a server that gives one answer, with the variables TEAM and RAG_API_KEY."""
    monkeypatch.setenv("TEAM", "search")
    monkeypatch.setenv("RAG_API_KEY", "key-of-nobody-77")

    def start(body: bytes, **settings):
        says.body = body
        settings = {
            "body": {"q": "{question}", "team": "${TEAM}"},
            "headers": {"Authorization": "Bearer ${RAG_API_KEY}"},
            **settings,
        }
        resume = (tmp_path / "journal.jsonl").exists()
        with HttpTarget(HttpSettings(says.url, **settings)) as target:
            return collect_answers(ROWS, target, tmp_path, CONFIG, resume=resume)

    return start


def doubts_of(finished) -> list[str]:
    return [note for note in finished.notes if is_doubt(note)]


def test_a_value_in_an_answer_is_doubted_by_its_name(run, lines):
    finished = run(json.dumps({"answer": "Ask the search team."}).encode())
    [doubt] = doubts_of(finished)
    assert "3 of 3 replies contain what the environment variable TEAM holds" in doubt
    assert ": 'a', 'b', 'c'. " in doubt
    assert doubt.endswith("[hidden_values]")
    assert "search" not in doubt
    assert [row["answer"] for row in lines(finished.records)] == ["Ask the *** team."] * 3
    assert lines(finished.records)[0]["hidden_values"] == ["TEAM"]


def test_an_escaped_value_in_a_passage_is_doubted(run):
    passage = rb'{"id": "p1", "text": "the key-\u006ff-nobody-77"}'
    [doubt] = doubts_of(run(rb'{"answer": "So.", "retrieved": [' + passage + rb"]}"))
    assert "the environment variable RAG_API_KEY holds" in doubt


@pytest.mark.parametrize(
    "document",
    [
        {"answer": "Ask them.", "echo": {"team": "search"}},  # not a field that is scored
        {"answer": "*** three stars ***"},  # the answer's own
        {"answer": "Ask them."},
    ],
)
def test_an_answer_that_was_not_changed_is_not_doubted(run, document):
    assert doubts_of(run(json.dumps(document).encode())) == []


def test_a_value_that_is_divided_among_the_pieces_of_a_stream_is_doubted(run):
    body = b'data: {"delta": "Ask the sea"}\n\ndata: {"delta": "rch team."}\n\n'
    [doubt] = doubts_of(run(body, stream=StreamSettings()))
    assert "the environment variable TEAM holds" in doubt


def test_the_doubt_is_said_once_when_the_run_is_resumed(run):
    body = json.dumps({"answer": "Ask the search team."}).encode()
    first, again = run(body), run(body)
    assert again.n_new == 0
    assert doubts_of(again) == doubts_of(first)


@pytest.mark.parametrize("where", ["body", "headers", "url"])
def test_a_value_of_three_characters_is_refused(says, monkeypatch, where):
    monkeypatch.setenv("TEAM", "red")
    settings = {
        "body": {"body": {"q": "{question}", "team": "${TEAM}"}},
        "headers": {"headers": {"X-Team": "${TEAM}"}},
        "url": {"health_url": says.url + "?team=${TEAM}"},
    }[where]
    with pytest.raises(DataError, match=r"TEAM holds fewer than 4 characters.*write its value"):
        HttpTarget(HttpSettings(says.url, **settings))
