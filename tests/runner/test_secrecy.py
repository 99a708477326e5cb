"""What a black box is sent, read off the socket: the question, what is named, never the gold."""

from __future__ import annotations

import json

import pytest

from rageval_report.runner import RunConfig, collect_answers
from rageval_report.runner.targets import HttpSettings, HttpTarget

GOLD = {
    "references": ["GOLD-1"],
    "answers": ["GOLD-2"],
    "relevant": {"GOLD-3": 2},
    "relevant_texts": ["GOLD-4"],
    "answerable": "GOLD-5",
    "query_type": "GOLD-unanswerable",
    "difficulty": "GOLD-6",
    "passages": {"GOLD-7": "GOLD-8"},
    "metadata": {"query_type": "GOLD-9", "tenant": "north"},
    "provenance": {"source": "GOLD-10"},
    "answer_given": "GOLD-11",
    "a name that nobody thought of": "GOLD-12",
}
ROWS = [
    {"query_id": "a", "question": "Why?", **GOLD},
    {"query_id": "b", "question": "How?", **GOLD},
]


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({}, {"question": "Why?"}),
        (
            {"body": {"q": "{question}", "id": "{query_id}", "more": "{metadata}"}},
            {"q": "Why?", "id": "a", "more": {"tenant": "north"}},
        ),
    ],
)
def test_a_server_is_sent_what_the_template_names_and_no_gold(says, tmp_path, settings, sent):
    with HttpTarget(HttpSettings(says.url, **settings)) as target:
        collect_answers(ROWS, target, tmp_path, RunConfig(concurrency=1, warm_up=1, table="jsonl"))
    asked = [one for one in says.requests if one[2]]
    assert len(asked) == 3  # one to warm up
    assert json.loads(asked[0][2]) == sent
    assert "GOLD" not in str(says.requests)


# What is left of ``metadata`` may be sent.
@pytest.mark.parametrize("name", [one for one in GOLD if one.isidentifier() and one != "metadata"])
def test_a_template_that_names_gold_sends_nothing(says, tmp_path, name):
    settings = HttpSettings(says.url, body={"hint": f"{{{name}}}"})
    with HttpTarget(settings) as target, pytest.raises(KeyError, match="no field that may be sent"):
        collect_answers(ROWS, target, tmp_path, RunConfig(table="jsonl"))
    assert [one for one in says.requests if one[2]] == []


def test_what_the_pipeline_is_not_shown_stands_in_the_records(says, tmp_path, lines):
    with HttpTarget(HttpSettings(says.url)) as target:
        finished = collect_answers(ROWS, target, tmp_path, RunConfig(table="jsonl"))
    [row, _] = lines(finished.records)
    assert row["query_type"] == "GOLD-unanswerable"
    assert row["metadata"] == GOLD["metadata"]
