"""What docs/stop_early.md shows runs as it stands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.stopping import STOP_RULES
from rageval_report.cli import rageval_report

pytestmark = pytest.mark.docs

PAGE = (Path(__file__).parent.parent / "docs" / "stop_early.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^rageval-report .*$", PAGE, re.MULTILINE)

# Other tests import a pipeline of the name on the page.
MODULE = "rag_of_the_page_on_stopping"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    rows = [
        f'{{"query_id": "q{n}", "question": "Is {n} right?", "relevant": ["d{n}"], '
        '"reference": "yes"}\n'
        for n in range(60)
    ]
    Path("queries.jsonl").write_text("".join(rows), encoding="utf-8")
    answered = (
        f'{{"query_id": "q{n}", "question": "Why?", "answer": "So.", "contexts": ["So."]}}\n'
        for n in range(30)
    )
    Path("answered.jsonl").write_text("".join(answered), encoding="utf-8")
    Path(f"{MODULE}.py").write_text(
        "def answer(question):\n"
        "    n = question.split()[1]\n"
        "    return {'answer': 'yes', 'retrieved': [f'd{n}']}\n",
        encoding="utf-8",
    )
    for day, share in enumerate((0.9, 0.9, 0.1), 1):
        rows = {"query_id": [f"{n}" for n in range(100)], "topic": ["law", "tax"] * 50}
        rows["faithfulness"] = [float(n < 100 * share) for n in range(100)]
        RAGPipelineEvaluation("rag", rows, metrics=["faithfulness"]).save(
            f"runs/{day}.json", created=f"2026-03-0{day}"
        )
    Path("old").mkdir()
    scores = {"query_id": [f"q{n}" for n in range(60)], "recall@5": [0.0, 1.0] * 30}
    RAGPipelineEvaluation("old", {**scores, "exact_match": [1.0] * 60}).save("old/scores.json")


def test_the_blocks_of_python_run():
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "stop_early.md", "exec"), names)


def test_the_commands_run():
    assert len(COMMANDS) >= 3
    for command in COMMANDS:
        words = shlex.split(command.replace("my_rag", MODULE))[1:]
        result = CliRunner().invoke(rageval_report, words)
        assert result.exit_code == (" history monitor " in command), (command, result.stderr)
    run = RAGPipelineEvaluation.load(None, "new/scores.json")
    assert run.n_queries < 60


def test_the_page_has_every_rule():
    assert all(f"`{name}(" in PAGE for name in STOP_RULES)
