"""Data sets in small, golden items, documents and a scripted chat."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rageval_report.judges.chats import ScriptedChat

BEIR_FILES = {
    "corpus.jsonl": '{"_id": "d1", "title": "Mice", "text": "Of mice."}\n'
    '{"_id": "d2", "title": "", "text": "Of men."}\n',
    "queries.jsonl": '{"_id": "q1", "text": "Of what?"}\n{"_id": "q9", "text": "Not judged?"}\n',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td2\t1\nq1\td1\t2\n",
    "qrels/dev.tsv": "query-id\tcorpus-id\tscore\nq9\td2\t1\n",
}


@pytest.fixture
def json_file(tmp_path: Path) -> Callable[..., Path]:
    """A file that holds a document as JSON, or rows as JSON Lines."""

    def written(document: Any, name: str = "set.json") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".jsonl"):
            path.write_text("".join(json.dumps(row) + "\n" for row in document))
        else:
            path.write_text(json.dumps(document))
        return path

    return written


@pytest.fixture
def beir_folder(tmp_path: Path) -> Path:
    """A BEIR set, unpacked."""
    folder = tmp_path / "tiny"
    for name, text in BEIR_FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


RIVERS = ("Seine", "Rhine", "Volga", "Tagus", "Oder", "Elbe", "Loire", "Danube")


def rivers() -> dict[str, str]:
    """A document a river: its length, and a paragraph that says nothing."""
    return {
        f"{river.lower()}.md": f"Of {river}.\n\nThe {river} is {n}00 miles long.\n\nThat is all.\n"
        for n, river in enumerate(RIVERS, 1)
    }


def river_model(text: str) -> str:
    """What a model would say that knows only what it is told."""
    context = re.search(r"<text>\n(.*)\n</text>", text, re.DOTALL)[1]
    names = [name for name in RIVERS if name in context]
    if "that the text does not answer" in text:
        return json.dumps({"question": f"Who was the first to swim the {names[0]}?"})
    if "takes both texts" in text:
        return json.dumps({"question": f"Is the {names[0]} longer than the {names[-1]}?"})
    if "Write one question" in text:
        return json.dumps({"question": f"How many miles long is the {names[0]}?"})
    if "answers to the question that are wrong" in text:
        return 'Here: {"answers": ["5 feet", "9 inches", "5 feet"]}'
    question = text.partition("Question: ")[2]
    lengths = re.findall(r"The (\w+) is (\d+ miles)", context)
    asked = [name for name in RIVERS if name in question]
    if "Who" in question or not set(asked) <= {name for name, _ in lengths}:
        return '```json\n{"answerable": false, "answer": "", "evidence": ""}\n```'
    told = [length for name, length in lengths if name in asked]
    evidence = f"{asked[0]} is {told[0]}"
    return json.dumps({"answerable": True, "answer": " and ".join(told), "evidence": evidence})


@pytest.fixture
def documents() -> dict[str, str]:
    """Texts of rivers by filename."""
    return rivers()


@pytest.fixture
def chat() -> ScriptedChat:
    """A chat that answers of rivers, and keeps what it was asked."""
    return ScriptedChat(lambda message: river_model(message.user), model="river-model")
