"""What docs/evaluate.md shows runs as it stands, against servers on this machine."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest

from rageval_report.demo.server import ExtractiveRag, ReferenceServer, demo_documents, demo_queries
from rageval_report.runner.eval_config import JudgeSection

pytestmark = pytest.mark.docs

PAGE = (Path(__file__).parents[3] / "docs" / "evaluate.md").read_text(encoding="utf-8")
[YAML] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = re.findall(r"^rageval-report .*$", PAGE, re.MULTILINE)
PIPELINE, JUDGE = "http://localhost:8001", "http://localhost:11434"


@pytest.fixture
def here(demo_folder, judge_server, monkeypatch):
    """A page's text with the servers of this test in the place of its own."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    lines = "".join(json.dumps(query) + "\n" for query in demo_queries())
    (demo_folder / "queries.jsonl").write_text(lines)
    (demo_folder / "baseline.jsonl").write_text(
        '{"query_id": "a", "question": "Where?", "answer": "There."}\n'
    )
    with ReferenceServer(ExtractiveRag(demo_documents())) as server:
        judge = f"http://127.0.0.1:{judge_server.server_port}"
        yield lambda text: text.replace(PIPELINE, server.url).replace(JUDGE, judge)


def test_the_file_is_whole_and_every_command_runs(demo_folder, run, here, judge_server):
    assert len(COMMANDS) >= 6
    (demo_folder / "eval.yaml").write_text(here(YAML))
    printed = {}
    for command in COMMANDS:
        result = run(*shlex.split(here(command))[1:])
        assert result.exit_code == 0, (command, result.stderr)
        printed[command] = " ".join(result.stdout.split())
    whole = printed["rageval-report eval --config eval.yaml -o run"]
    assert "Weighted score of hybrid" in whole
    assert "Noise of the judge" in whole
    assert "llama3.1 was asked" in whole
    dry = printed["rageval-report eval --config eval.yaml -o run --resume --dry-run"]
    assert "answer_correctness" in dry
    assert {one["model"] for one in judge_server.asked} == {"llama3.1"}


def test_the_blocks_of_python_run(demo_folder):
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "evaluate.md", "exec"), names)
    assert (demo_folder / "run.html").exists()
    assert (demo_folder / "run" / "scores.json").exists()


def test_every_key_of_the_judge_is_named():
    told = PAGE.partition("Of `judge`:")[2].partition("\n\n")[0]
    assert {one.name for one in fields(JudgeSection)} <= set(re.findall(r"`(\w+)`", told))
